//! What is said of duets beside their ratio: what they can show, what they assume, why there are none.

use crate::kit::number;
use crate::kit::number::time;
use crate::kit::screen::ScreenText;
use crate::kit::style::Paint;
use crate::kit::words::plural;
use tarebench_core::compare::duet::NoDuet;
use tarebench_core::run::report::data::{Comparison, DuetRatio, RunReport};

/// Process time in duets that is longer than alone by so much gets a note: the programs disturb each other's caches.
const INFLATED: f64 = 0.05;
/// Programs that ran together for less of their process time get a note.
const APART: f64 = 0.8;

/// Draws the notes on the duets of a run.
pub(crate) fn notes(page: &mut ScreenText<'_>, report: &RunReport) {
    let names: Vec<String> = report.series.iter().map(|s| page.style.show(&s.program.label)).collect();
    let several = report.comparisons.len() > 1;
    for c in &report.comparisons {
        for text in sentences(c, &names, page.style.unicode) {
            let lead = if several { format!("{}: ", u64::from(c.series) + 1) } else { String::new() };
            page.hang(&[], Paint::Dim, &format!("{lead}{text}"));
        }
    }
}

/// The notes on one comparison.
pub(crate) fn sentences(c: &Comparison, names: &[String], unicode: bool) -> Vec<String> {
    match &c.duets {
        None => Vec::new(),
        Some(Err(why)) => vec![format!("no duets, the ratio is that of rounds: {}", reason(why, names, unicode))],
        Some(Ok(duets)) => of_duets(c, duets, names),
    }
}

fn of_duets(c: &Comparison, duets: &DuetRatio, names: &[String]) -> Vec<String> {
    let percent = |share: f64| number::percent(share).unwrap_or_default();
    let name = |i: u32| names.get(i as usize).map_or("", String::as_str);
    let mut all = Vec::new();
    if let Some(least) = duets.detectable {
        let duets = plural(duets.used, "duet");
        all.push(format!("smallest difference that {duets} would show with 95% power: {}", percent(least)));
    }
    if duets.left_out > 0 {
        all.push(format!("{} left out, as a program failed", plural(duets.left_out, "duet")));
    }
    for (series, inflation) in [c.series, c.reference].into_iter().zip(duets.inflation) {
        if let Some(longer) = inflation.filter(|share| *share > INFLATED) {
            let longer = percent(longer);
            all.push(format!(
                "the CPU time of {} is {longer} longer in duets than alone: they share the caches, and the ratio is that of \
                 programs that share them",
                name(series)
            ));
        }
    }
    if let Some(together) = duets.overlap.filter(|share| *share < APART) {
        all.push(format!("both ran together for only {} of their CPU time", percent(together)));
    }
    all
}

fn reason(why: &NoDuet, names: &[String], unicode: bool) -> String {
    let name = |i: &u32| names.get(*i as usize).map_or("", String::as_str);
    let cpu = |ns: i64| time(ns as f64, None, unicode).unwrap_or_default();
    match why {
        NoDuet::NotKnown { series } => format!("no execution of {} alone succeeded", name(series)),
        NoDuet::TooShort { series, pt } => {
            format!("{} takes {} of CPU time, and a duet needs 40 ms", name(series), cpu(pt.0))
        }
        NoDuet::TooLong { series, pt } => {
            format!("{} takes {} of CPU time, and duets would double the time to measure", name(series), cpu(pt.0))
        }
        NoDuet::Asleep { series, share } => format!(
            "{} sleeps for {} of its elapsed time, so that two would hardly alternate",
            name(series),
            number::percent(*share).unwrap_or_default()
        ),
        NoDuet::SeveralCpus { series, cpus } => {
            format!("{} uses {} CPUs, and a duet has one", name(series), number::fixed(*cpus, 1).unwrap_or_default())
        }
        NoDuet::RealTime => "programs with a real-time priority do not alternate".to_owned(),
    }
}
