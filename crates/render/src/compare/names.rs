//! Short names for the programs of a run, no two alike.

use crate::compare::rows::parameters;
use std::collections::BTreeSet;
use tarebench_core::base::name::Name;
use tarebench_core::run::plan::Command;
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_report::cell::Cell;
use tarebench_report::screen::ScreenText;
use tarebench_report::text;

const WIDEST: usize = 32;

/// Whether two texts are the same but for quotes and white space.
fn same_words(a: &str, b: &str) -> bool {
    let bare =
        |s: &str| -> String { s.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\')).collect() };
    bare(a) == bare(b)
}

/// Whether the programs differ by parameters (`-L`, `-P`).
pub(crate) fn is_scan(report: &RunReport) -> bool {
    report.series.len() > 1 && report.series.iter().all(|s| !s.program.parameters.is_empty())
}

/// A word or a path as text.
fn plain(name: &Name) -> String {
    std::str::from_utf8(name.as_bytes()).map_or_else(|_| name.to_string(), str::to_owned)
}

/// The command as a user would read it.
fn words(s: &SeriesReport) -> String {
    match &s.program.command {
        Command::Argv(words) => words.iter().map(plain).collect::<Vec<_>>().join(" "),
        Command::Shell { script, .. } => plain(script),
    }
}

/// Whether the label is the user's, not the command as typed.
pub(crate) fn is_named(s: &SeriesReport) -> bool {
    !same_words(&words(s), &s.program.label)
}

/// The command as typed, where the label is that; else its words.
pub(crate) fn command(s: &SeriesReport) -> Cell {
    Cell::foreign(if is_named(s) { words(s) } else { s.program.label.clone() })
}

/// The folder that a program runs in, if it is its own.
pub(crate) fn folder(s: &SeriesReport) -> Option<Cell> {
    s.program.cwd.as_ref().map(|folder| Cell::foreign(plain(folder)))
}

/// The name that the user gave; else the program's file name; else the whole command.
fn short(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    let label = page.style.show(&s.program.label);
    match &s.program.command {
        Command::Argv(words) if !is_named(s) => {
            let first = words.first().map(|w| page.style.show(&plain(w))).unwrap_or_default();
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
