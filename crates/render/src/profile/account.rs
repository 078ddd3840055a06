//! What the account says of a machine's daemons: tables and a sentence.

use crate::profile::effect::change;
use tarebench_core::profile::by_account::AccountLesson;
use tarebench_core::profile::cutoffs::CutoffRow;
use tarebench_core::profile::data::GuardedEffect;
use tarebench_report::cell::Cell;
use tarebench_report::table::{Column, Table};

/// A time, in a column in which there may be none.
pub(crate) fn or_none(ns: Option<f64>) -> Cell {
    ns.map_or("none".into(), Cell::time)
}

/// Which times a daemon spoils.
fn guards(effect: &GuardedEffect) -> &'static str {
    let lengthens = effect.process_time.is_some_and(|p| p.lengthens);
    match (effect.waiting.is_some(), lengthens) {
        (true, true) => "ET by waiting; PT and net by CPU time",
        (true, false) => "ET by waiting",
        (false, true) => "ET, PT and net by CPU time",
        (false, false) => "nothing",
    }
}

/// What the cutoffs guard, of the daemons whose effect the account tells; without rows if there are none.
pub(crate) fn effects(rows: &[CutoffRow]) -> Table {
    let note = "By the account of the samples. A program waits for a daemon that has its CPU; this is in ET only. PT: by how much it \
                differs from that of the samples before and after.";
    let columns = ["daemon", ">waiting cutoff", ">cutoff then", "effect on PT [95%]", "guards"].map(Column::from);
    let mut t = Table::of("What the cutoffs guard", note, columns);
    for r in rows.iter().filter(|r| !r.bystander) {
        let Some(effect) = &r.cutoff.effect else { continue };
        let long = or_none(effect.waiting.and_then(|w| w.long));
        let cells = [
            Cell::foreign(&r.daemon),
            or_none(effect.waiting.and_then(|w| w.short)),
            r.cutoff.task_time_limit.map(|_| long).unwrap_or_default(),
            change(effect.process_time.as_ref()),
            guards(effect).into(),
        ];
        t.row(cells, Vec::new());
    }
    t
}

/// The daemons that the program waited for in few samples. `at`: positions of the samples with these numbers.
pub(crate) fn waits(lesson: &AccountLesson, part: &str, at: &dyn Fn(&[u32]) -> Vec<usize>) -> Table {
    let note = Cell::text("By the account: what INC waited for a daemon in the samples that it disturbed. Up to ")
        .and(Cell::time(lesson.limit))
        .and(" a sample, waiting for a daemon is normal here.");
    let columns =
        ["daemon", "times", ">median wait", ">shortest", ">otherwise at most", "effect on PT [95%]", "samples"];
    let mut t = Table::of(format!("Waiting for infrequent daemons, {part} part"), note, columns.map(Column::from));
    for e in &lesson.effects {
        let cells = [
            Cell::foreign(&e.daemon),
            Cell::count(e.samples.len() as u32),
            or_none(e.direct.map(|d| d.waited)),
            or_none(e.direct.map(|d| d.min.as_f64())),
            or_none(e.direct.map(|d| d.max.as_f64())),
            change(e.process_time.as_ref()),
            listed(&e.samples),
        ];
        t.row(cells, at(&e.samples));
    }
    t
}

pub(crate) fn listed(samples: &[u32]) -> Cell {
    Cell::text(samples.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
}

/// How the samples were judged.
pub(crate) fn sentence(lesson: &AccountLesson) -> Cell {
    let disturbed = lesson.disturbed().len();
    let found = match lesson.effects.len() {
        0 => "no daemon kept INC waiting longer than normal in a few samples".to_owned(),
        1 => format!("1 daemon disturbed {disturbed} samples"),
        n => format!("{n} daemons disturbed {disturbed} samples"),
    };
    let more = match lesson.unjudged {
        0 => String::new(),
        n => format!("; {n} others stood out and were not judged"),
    };
    Cell::text(format!("By the account of {} samples, {found}{more} (ET - PT is ", lesson.samples))
        .and(Cell::time(lesson.gap.median))
        .and(", the median).")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::profile::effects::RobustSpread;

    #[test]
    fn daemons_that_were_not_judged_are_counted() {
        let lesson = |unjudged| AccountLesson {
            samples: 60,
            gap: RobustSpread { median: 2e6, deviation: 1e5 },
            waiting: RobustSpread::default(),
            limit: 1e6,
            effects: Vec::new(),
            normal: Vec::new(),
            unjudged,
        };
        assert!(sentence(&lesson(59_000)).plain().contains("; 59000 others stood out and were not judged (ET - PT is"));
        assert!(!sentence(&lesson(0)).plain().contains("judged"));
    }
}
