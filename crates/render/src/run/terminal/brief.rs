//! The default output: the programs, the answer, what matters, and where the rest is.

use crate::kit::screen::Page;
use crate::kit::style::Paint;
use crate::kit::text;
use crate::run::remarks;
use crate::run::terminal::names::names;
use crate::run::terminal::words::plural;
use crate::run::terminal::{account, answer, lines, several};
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Standing;
use tarebench_core::run::report::data::RunReport;

/// With more programs than this, each has a row instead of four lines.
const SECTIONS: usize = 2;
/// Warnings shown.
const WARNINGS: usize = 4;

/// Draws the default output.
pub(crate) fn draw(page: &mut Page<'_>, report: &RunReport) {
    let names = names(page, report);
    let count = report.series.len();
    if count > SECTIONS {
        several::section(page, report, &names);
    } else {
        lines::sections(page, report, &names);
        answer::section(page, report, &names);
    }
    accounts(page, report, &names);
    warnings(page, report, &names);
    status(page, report);
}

/// The accounts of all programs, if requested.
fn accounts(page: &mut Page<'_>, report: &RunReport, names: &[String]) {
    if !page.style.account {
        return;
    }
    for (s, name) in report.series.iter().zip(names).filter(|(s, _)| s.counted > 0) {
        page.gap();
        if report.series.len() > 1 {
            page.title(name);
        }
        account::field(page, s);
    }
    page.gap();
}

/// What a remark says, by its first sentence: the full output has what to do about it.
fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let sentence = |at: &usize| text[at + 2..].chars().next().is_some_and(char::is_uppercase);
    ends.into_iter().find(sentence).map_or(text, |at| &text[..=at])
}

/// Warnings, those that several programs share said once.
fn warnings(page: &mut Page<'_>, report: &RunReport, names: &[String]) {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for r in report.remarks.iter().filter(|r| r.warning()) {
        let text = page.style.prose(&remarks::text(r, &page.style.hints));
        let text = first_sentence(&text).to_owned();
        let whose = r.series.and_then(|i| names.get(i as usize)).filter(|_| report.series.len() > 1);
        match found.iter_mut().find(|(t, _)| *t == text) {
            Some((_, list)) => list.extend(whose.map(String::as_str)),
            None => found.push((text, whose.map(String::as_str).into_iter().collect())),
        }
    }
    for (text, whose) in found.iter().take(WARNINGS) {
        let whose = match whose.as_slice() {
            [] => String::new(),
            list if list.len() > 3 => format!("{} programs: ", list.len()),
            list => format!("{}: ", list.join(", ")),
        };
        let mark = (Paint::Warn, format!("{} ", page.g.warning));
        page.hang(&[mark], Paint::Warn, &format!("{whose}{text}"));
    }
    if let Some(rest) = found.len().checked_sub(WARNINGS).filter(|n| *n > 0) {
        let text = format!("{} and {}", page.g.dots, plural(rest as u64, "more warning"));
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Warn, &text);
    }
}

/// One line: which run, which protocol, where the details are.
fn status(page: &mut Page<'_>, report: &RunReport) {
    let run = &report.run;
    let state = match run.status {
        Status::Finished => "",
        Status::Unfinished => ", unfinished",
        Status::Interrupted => ", interrupted",
    };
    let run = if run.id > 0 { format!("run {}{state}", run.id) } else { format!("not stored{state}") };
    let p = &report.protocol;
    let held = p.steps.iter().filter(|s| s.standing == Standing::Held).count();
    let version = if p.reached == 0 { "no EMP version".to_owned() } else { format!("EMPv{}", p.reached) };
    let steps = format!("{version}, {held} of {} steps hold", p.steps.len());
    let sep = page.g.between;
    let more = page.style.more.as_deref().map(|m| page.style.prose(m)).filter(|_| report.run.id > 0);
    let line = |protocol: Option<&str>, before: &str| {
        let more = more.as_ref().map(|m| format!("{before}{m}"));
        let parts = [Some(run.clone()), protocol.map(str::to_owned), more];
        parts.into_iter().flatten().collect::<Vec<_>>().join(sep)
    };
    let forms =
        [line(Some(&steps), "details: "), line(Some(&version), "details: "), line(Some(&version), ""), line(None, "")];
    let fitting = forms.iter().find(|f| text::columns(f) <= page.width()).unwrap_or(&forms[3]);
    page.hang(&[], Paint::Dim, fitting);
}
