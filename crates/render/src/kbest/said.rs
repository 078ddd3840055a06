//! The sentences on benchmarks.

use crate::kbest::clocks;
use tarebench_core::base::reading::Absent;
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::report::BenchRow;
use tarebench_core::kbest::timing::{Cache, TimingStanding};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::words::plural;

/// How reliable a time is.
pub(crate) fn standing(s: TimingStanding) -> &'static str {
    match s {
        TimingStanding::Converged => "converged",
        TimingStanding::NotConverged => "not converged",
        TimingStanding::SliceTooShort { .. } => "slice too short",
        TimingStanding::TooShort => "too short for the clock",
    }
}

pub(crate) fn cache(c: Cache) -> Cell {
    match c {
        Cache::Warm => "warm".into(),
        Cache::Cold { bytes } => Cell::text("cold, ").and(Cell::of(Unit::Bytes, bytes as f64)),
    }
}

pub(crate) fn clock(kind: ClockKind, hz: f64) -> Cell {
    match kind {
        ClockKind::Counter | ClockKind::CounterUnfenced | ClockKind::CounterAfter | ClockKind::Rdpmc => {
            Cell::text(format!("{}, ", clocks::name(kind))).and(clocks::rate(hz))
        }
        _ => clocks::name(kind).into(),
    }
}

pub(crate) fn agreement(k: u32, epsilon: f64) -> Cell {
    match k {
        1 => "the fastest trial".into(),
        _ => Cell::text(format!("until the {k} fastest trials agree within ")).and(Cell::of(Unit::Limit, epsilon)),
    }
}

/// What is to be known of one benchmark, in the order of its weight; `None` if nothing is.
pub(crate) fn remark(r: &BenchRow) -> Option<Cell> {
    let mut said: Vec<Cell> = Vec::new();
    for (what, why) in [("time", r.time.absent()), ("spread", r.spread.absent()), ("empty trial", r.overhead.absent())]
    {
        said.extend(why.map(|why| Cell::text(format!("no {what}: {why}"))));
    }
    match r.standing {
        TimingStanding::NotConverged if r.spread.value().is_some() => {
            let fastest = if r.k == 1 { "the fastest".to_owned() } else { format!("the {} fastest", r.k) };
            let trials = plural(r.trials as u64, "trial");
            let text = Cell::text(format!("after {trials} {fastest} do not agree within "));
            said.push(text.and(Cell::of(Unit::Limit, r.epsilon)).and(": the time is an estimate"));
        }
        TimingStanding::TooShort => said.push(
            "the fastest trial is less than a hundred times as long as an empty one: repeat the code within a trial"
                .into(),
        ),
        _ => {}
    }
    match (r.interrupts.value(), r.interrupts.absent()) {
        (Some(ns), _) if *ns != 0.0 => {
            said.push(Cell::text("minus ").and(Cell::of(Unit::FineTime, *ns)).and(" of timer interrupts"));
        }
        (None, Some(why)) if !matches!(why, Absent::NotAsked(_)) => {
            said.push(format!("timer interrupts are not subtracted: {why}").into());
        }
        _ => {}
    }
    if let Some(ns) = r.overhead.value().filter(|_| r.less_overhead) {
        said.push(Cell::text("minus ").and(Cell::of(Unit::FineTime, *ns)).and(", the time of an empty trial"));
    }
    said.into_iter().reduce(|all, next| all.and("; ").and(next))
}
