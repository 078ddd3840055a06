//! Short names for the programs of a run, no two alike.

use crate::compare::rows::parameters;
use crate::words::words_of;
use std::collections::BTreeSet;
use tarebench_core::run::plan::Command;
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_report::screen::ScreenText;
use tarebench_report::text;

/// Widest name.
const WIDEST: usize = 32;

/// Whether two texts are the same but for quotes and white space.
pub(crate) fn same_words(a: &str, b: &str) -> bool {
    let bare =
        |s: &str| -> String { s.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\')).collect() };
    bare(a) == bare(b)
}

/// Whether the programs differ by parameters (`-L`, `-P`).
pub(crate) fn is_scan(report: &RunReport) -> bool {
    report.series.len() > 1 && report.series.iter().all(|s| !s.program.parameters.is_empty())
}

/// Whether the label is the user's, not the command as typed.
pub(crate) fn is_named(page: &ScreenText<'_>, s: &SeriesReport) -> bool {
    !same_words(&words_of(page, s), &page.style.show(&s.program.label))
}

/// The command as typed, where the label is that; else its words.
pub(crate) fn command(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    if is_named(page, s) { words_of(page, s) } else { page.style.show(&s.program.label) }
}

/// The name that the user gave; else the program's file name; else the whole command.
fn short(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    let label = page.style.show(&s.program.label);
    match &s.program.command {
        Command::Argv(words) if !is_named(page, s) => {
            let first = words.first().map(|w| page.style.show_name(w)).unwrap_or_default();
            let file = first.rsplit('/').next().unwrap_or_default();
            if file.is_empty() { label } else { file.to_owned() }
        }
        _ => label,
    }
}

fn distinct(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

/// A name for each program, in their order: the shortest kind that distinguishes all of them.
pub(crate) fn names(page: &ScreenText<'_>, report: &RunReport) -> Vec<String> {
    let all = |name: &dyn Fn(&SeriesReport) -> String| -> Vec<String> {
        let cut = |s: &SeriesReport| text::cut_middle(&name(s), WIDEST, page.g.dots).trim().to_owned();
        report.series.iter().map(cut).collect()
    };
    let mut kinds = Vec::new();
    if is_scan(report) {
        // The control has the parameters of the reference.
        kinds.push(all(&|s| if s.program.control { page.style.show(&s.program.label) } else { parameters(page, s) }));
    }
    kinds.push(all(&|s| short(page, s)));
    kinds.push(all(&|s| page.style.show(&s.program.label)));
    let numbered = || (1..=report.series.len()).map(|n| format!("program {n}")).collect();
    kinds.into_iter().find(|k| distinct(k) && k.iter().all(|n| !n.is_empty())).unwrap_or_else(numbered)
}
