//! The programs that failed, one line for each.

use crate::run::program::execution;
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::plan::Order;
use tarebench_core::run::report::data::{FailedSample, RunReport, SeriesReport};
use tarebench_core::sample::cgroup_limits::OutOfMemory;
use tarebench_core::sample::data::Outcome;
use tarebench_report::style::Style;
use tarebench_report::text;
use tarebench_report::words::plural;

/// Widest name of a program.
const NAME: usize = 60;

/// A program that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Index of its series.
    pub series: usize,
    /// Which program, in which execution, how.
    pub text: String,
    /// How its first failure ended.
    pub outcome: Outcome,
    /// Processes were killed for lack of memory in it.
    pub out_of_memory: bool,
    /// Its first failure was its first execution.
    pub at_once: bool,
}

/// How a lack of memory is told after what the system says of the program's end.
fn out_of_memory(style: &Style, oom: &OutOfMemory) -> String {
    let place = match &oom.limit {
        Some(limit) => format!("at the limit of cgroup {}", style.show(limit)),
        None if oom.in_cgroup => "in its cgroup".to_owned(),
        None => "on this machine".to_owned(),
    };
    format!(", as memory ran out {place} (the kernel killed {})", plural(oom.kills, "process"))
}

/// The programs with failures that were not accepted, with what is known of their `last_words`; what the user interrupted did not
/// fail. Nor does a failure count in a duet that nobody asked for: the program works alone, and the comparison says why there are
/// no duets.
pub fn failed(report: &RunReport, last_words: &[LastWords], style: &Style) -> Vec<Failed> {
    let failure = |(series, s): (usize, &SeriesReport)| {
        let unasked = |f: &FailedSample| f.duet && report.run.plan.order == Order::Auto;
        let counts = |f: &&FailedSample| !f.ignored && f.outcome != Outcome::Interrupted && !unasked(f);
        let mut all = s.failures.iter().filter(counts);
        let first = all.next()?;
        let label = style.show(&s.program.label);
        let name = text::cut_middle(&label, NAME, style.glyphs().dots);
        let execution = execution(first);
        let number = u64::from(first.index) + 1;
        let outcome = style.prose(&first.outcome.to_string());
        let more = match all.count() {
            0 => String::new(),
            n => format!(" (and {})", plural(n as u64, "more failure")),
        };
        let words = last_words.iter().find(|w| {
            !first.duet
                && (w.series as usize, w.warmup, w.index) == (series, first.warmup, first.index)
                && matches!(first.outcome, Outcome::Exited { .. } | Outcome::Signaled { .. })
        });
        let memory = first.out_of_memory.as_ref().map_or_else(String::new, |oom| out_of_memory(style, oom));
        let words = words.map_or_else(String::new, |w| format!(": {}", style.prose(w.text.trim_end_matches('.'))));
        let at_once = first.index == 0 && !first.duet && (first.warmup || report.run.plan.warmup == 0);
        let text = format!("`{name}` failed in {execution} {number}: {outcome}{memory}{more}{words}");
        let (outcome, out_of_memory) = (first.outcome.clone(), first.out_of_memory.is_some());
        Some(Failed { series, text, outcome, out_of_memory, at_once })
    };
    report.series.iter().enumerate().filter_map(failure).collect()
}
