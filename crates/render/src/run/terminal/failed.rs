//! The programs that failed, one line for each.

use crate::kit::style::Style;
use crate::kit::text;
use crate::run::terminal::words::plural;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::data::Outcome;

/// Widest name of a program.
const NAME: usize = 60;

/// A program that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which program, in which execution, how.
    pub text: String,
    /// It ran and ended with a status that could be accepted.
    pub acceptable: bool,
}

/// The programs with failures that were not accepted; what the user interrupted did not fail.
pub fn failed(report: &RunReport, style: &Style) -> Vec<Failed> {
    let of = |s: &tarebench_core::run::report::data::SeriesReport| {
        let mut all = s.failures.iter().filter(|f| !f.ignored && f.outcome != Outcome::Interrupted);
        let first = all.next()?;
        let label = style.show(&s.program.label);
        let name = text::cut_middle(&label, NAME, style.glyphs().dots);
        let execution = if first.warmup { "warm-up" } else { "sample" };
        let number = u64::from(first.index) + 1;
        let outcome = style.prose(&first.outcome.to_string());
        let more = match all.count() {
            0 => String::new(),
            n => format!(" (and {})", plural(n as u64, "more failure")),
        };
        let acceptable = first.outcome.shell_code().is_some();
        Some(Failed { text: format!("`{name}` failed in {execution} {number}: {outcome}{more}"), acceptable })
    };
    report.series.iter().filter_map(of).collect()
}
