//! A measurement of noise in words.

use tarebench_core::base::reading::Reading;
use tarebench_core::base::signal::Signal;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::attribution::Attribution;
use tarebench_core::noise::data::Heuristic;
use tarebench_core::noise::data::{Calibrated, KernelTick, Noise, NoisePlan, PhaseScheduling, PhasesEnd, Series};
use tarebench_core::noise::prediction::{Bounds, Expected};
use tarebench_core::noise::report::{Grain, NoiseRow, PhasePlace};
use tarebench_core::noise::subtraction::InterruptionKind;
use tarebench_core::noise::undisturbed::{UndisturbedRule, chosen};
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::trace::explained::ExplainedCause;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;

/// A length that was chosen: of a grain or a delay.
pub(crate) fn length(of: Nanos) -> Cell {
    Cell::of(Unit::ChosenTime, of.as_f64())
}

/// A mean time over an undisturbed one, with five digits: most of them are little above 1.
pub(crate) fn slowdown(value: impl Into<Option<f64>>) -> Cell {
    value.into().map(|value| Figure { digits: Some(value / 1e3), ..Figure::new(Unit::Ratio, value) }).into()
}

/// The slowdown of a job with its interval.
pub(crate) fn expected(e: &Expected) -> Cell {
    let Some(value) = e.value() else { return Cell::absent() };
    match e.bounds() {
        Some(Bounds { low, high: Some(high) }) => {
            Figure::new(Unit::Ratio, value).with_interval(&Ok(Interval { low, high, level: 0.95 })).into()
        }
        Some(Bounds { low, high: None }) => {
            let figure = |v| Cell::figure(Figure { digits: Some(value - low), ..Figure::new(Unit::Ratio, v) });
            figure(value).and(", at least ").and(figure(low))
        }
        None => slowdown(value),
    }
}

pub(crate) fn place(row: &NoiseRow) -> String {
    match row.place {
        PhasePlace::Cpu { cpu } => format!("CPU {cpu}"),
        PhasePlace::Node { .. } => "node".to_owned(),
    }
}

/// What slowdowns are divided by, in words.
pub(crate) fn undisturbed(rule: UndisturbedRule) -> &'static str {
    match rule {
        UndisturbedRule::Minimum => "the shortest phase",
        UndisturbedRule::Mode => "the most frequent duration",
        UndisturbedRule::Calibration => "the calibrated length",
    }
}

/// The same with its value: `the most frequent duration, 1.02 ms`.
pub(crate) fn divided_by(g: &Grain) -> Cell {
    match g.undisturbed.filter(|_| g.over != UndisturbedRule::Minimum) {
        Some(ns) => Cell::text(undisturbed(g.over)).and(", ").and(Cell::time(ns)),
        // Its value is in the table of durations.
        None => undisturbed(g.over).into(),
    }
}

/// How much longer the most frequent phase may be than the shortest one before slowdowns depend on which of them is the grain.
const WANDERS: f64 = 0.05;

/// Where the shortest phase is an exception, slowdowns that are divided by it say more of the clock speed than of noise.
fn overstated(g: &Grain) -> Option<Cell> {
    let by = |rule| chosen(&g.candidates, rule);
    let (shortest, mode) = (by(UndisturbedRule::Minimum)?, by(UndisturbedRule::Mode)?);
    (g.over == UndisturbedRule::Minimum && mode > shortest * (1.0 + WANDERS)).then(|| {
        let took = Cell::text("The most frequent phase of ").and(length(g.grain)).and(" took ");
        took.and(Cell::of(Unit::Share, mode / shortest - 1.0)).and(
            " more than the shortest one: if the clock speed changed, slowdowns divided by the shortest phase are too high.",
        )
    })
}

/// A large round number in short form: `10k`, `1M`.
pub(crate) fn short(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n >= 1_000 && n % 1_000 == 0 => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

/// What is subtracted from phases.
pub(crate) fn less(kind: Option<InterruptionKind>) -> &'static str {
    match kind {
        None => "nothing subtracted",
        Some(InterruptionKind::Tick) => "minus ticks",
        Some(InterruptionKind::Interrupt) => "minus ticks and other interrupts",
        Some(InterruptionKind::Preemption) => "minus ticks, other interrupts and other tasks",
        Some(InterruptionKind::Steal) => "minus these and steal time",
        Some(InterruptionKind::Entry) => "minus these and interrupt entry and exit",
    }
}

/// What a tick costs; `None` where no tick is known.
pub(crate) fn tick_cost(a: &Attribution) -> Option<Cell> {
    let t = a.tick.as_ref()?;
    let rest = match t.entry() {
        Nanos::ZERO => ".",
        _ => "; the rest is interrupt entry and exit overhead, which the last line subtracts for each interrupt.",
    };
    let longer = Cell::text("A tick makes a phase longer than the one before by ").and(Cell::time(t.longer));
    Some(longer.and(" in the median, of which ").and(Cell::time(t.recorded)).and(" are recorded").and(rest))
}

/// What is known besides the events: steal time and cache misses.
pub(crate) fn beside(s: &Series, a: &Attribution) -> [Cell; 2] {
    let seen = a.sources.iter().any(|s| s.reason == ExplainedCause::Stolen);
    let stolen = match &s.stolen {
        _ if seen => {
            let known = Cell::text(
                "The amount of steal time between two ticks or switches is known, but not when it was stolen. It is subtracted \
                 from the phases and interrupts that are longest for no other known reason.",
            );
            match a.hidden {
                Nanos::ZERO => known,
                hidden => known
                    .and(" ")
                    .and(Cell::time(hidden.as_f64()))
                    .and(" of it is unattributed: other tasks were running, or it came in short pieces."),
            }
        }
        Reading::Value(t) if *t == Nanos::ZERO => "The hypervisor reports no steal time.".into(),
        Reading::Value(t) => {
            Cell::text("About ").and(Cell::time(t.as_f64())).and(" of steal time; not subtracted from any phase.")
        }
        Reading::Absent(why) => format!("Steal time: {why}.").into(),
    };
    let each = |n: u64| {
        let each = Cell::of(Unit::Plain, n as f64 / a.phases.max(1) as f64);
        Cell::text(format!("{n}, ")).and(each).and(" per phase")
    };
    let misses = match (&s.l1_misses, &s.cache_misses) {
        (Reading::Absent(why), Reading::Absent(_)) => format!("Cache misses: {why}.").into(),
        (first, last) => {
            let misses = |r: &Reading<u64>| r.as_result().map_or_else(|why| why.to_string().into(), |n| each(*n));
            let first = Cell::text("Cache misses (figure 6): first level ").and(misses(first));
            first.and("; last level ").and(misses(last)).and(".")
        }
    };
    [stolen, misses]
}

pub(crate) fn heuristic(h: Heuristic) -> &'static str {
    match h {
        Heuristic::SecondDecile => "the mean of the second decile",
        Heuristic::Minimum => "the minimum",
        Heuristic::Mean => "the mean",
        Heuristic::Median => "the median",
    }
}

pub(crate) fn calibrated(c: &Calibrated, hz: f64) -> Cell {
    let ns = |units: f64| units * 1e9 / hz;
    let timed = format!(
        "{} ns per iteration: {} of {} timings of {} iterations each; reading the counter takes ",
        number::fixed(ns(c.calibration.per_iteration), 4).unwrap_or_default(),
        heuristic(c.calibration.heuristic),
        c.calibration.timings,
        c.iterations,
    );
    Cell::text(timed).and(Cell::time(ns(c.overhead))).and(" more")
}

/// The tick as the kernel is configured, to compare with the recorded events.
pub(crate) fn configured(tick: &KernelTick) -> String {
    let hz = match &tick.hz {
        Reading::Value(hz) => format!("HZ {hz}"),
        Reading::Absent(why) => format!("HZ {why}"),
    };
    let idle = match &tick.idle {
        Reading::Value(true) => "stopped on idle CPUs".to_owned(),
        Reading::Value(false) => "runs on idle CPUs".to_owned(),
        Reading::Absent(why) => format!("on idle CPUs: {why}"),
    };
    let full = match &tick.full {
        Reading::Value(cpus) if cpus.is_empty() => "runs on all busy CPUs (nohz_full is empty)".to_owned(),
        Reading::Value(cpus) => format!("stopped on CPUs that run a single task (nohz_full): {cpus:?}"),
        Reading::Absent(why) => format!("nohz_full: {why}"),
    };
    format!("{hz}; {idle}, {full}")
}

/// What the recorded events show of the tick on a busy CPU: from 0.9 of HZ on, the tick runs.
pub(crate) fn ticked(tick: Option<&KernelTick>, a: &Attribution) -> Option<String> {
    let (seen, hz) = (a.timer_hz?, *tick?.hz.value()?);
    let state = match seen / hz {
        r if r > 1.1 => "more than the tick: other timers also run",
        r if r >= 0.9 => "the tick runs",
        r if r > 0.1 => "fewer than the tick: it stops at times",
        _ => "tickless",
    };
    Some(format!("{} timer interrupts a second, HZ {hz}: {state}.", number::fixed(seen, 1).unwrap_or_default()))
}

pub(crate) fn scheduled(sched: PhaseScheduling) -> String {
    match sched {
        PhaseScheduling::Other => "default scheduler".to_owned(),
        PhaseScheduling::Fifo { priority } => format!("SCHED_FIFO, priority {priority}"),
    }
}

pub(crate) fn cpus(plan: &NoisePlan) -> String {
    let all: Vec<String> = plan.cpus.iter().map(u32::to_string).collect();
    match all.as_slice() {
        [one] => format!("CPU {one}"),
        _ => format!("CPUs {} at the same time", all.join(", ")),
    }
}

/// Why a series ended early, if it did.
fn ended(s: &Series) -> Option<Cell> {
    let how = match s.ended {
        PhasesEnd::Complete | PhasesEnd::TimeOver => return None,
        PhasesEnd::Interrupted { signal } => format!("were ended early by {}", Signal(signal)),
        PhasesEnd::TookTooLong => "took far longer than expected and were killed".to_owned(),
        PhasesEnd::Died => "were killed by another process or by the kernel's limit of real-time CPU time".to_owned(),
    };
    Some(Cell::text("The phases of ").and(length(s.grain)).and(format!(" on CPU {} {how}.", s.cpu)))
}

/// What makes a measurement doubtful.
pub(crate) fn doubts(noise: &Noise, grains: &[Grain]) -> Vec<Cell> {
    let mut all: Vec<Cell> = noise.phases.iter().filter_map(|p| ended(&p.series)).collect();
    if noise.phases.iter().any(|p| !p.series.locked) {
        all.push("The memory for durations could not be locked: some phases may include page faults.".into());
    }
    all.extend(grains.iter().filter_map(overstated));
    let by = || grains.iter().flat_map(|g| &g.attribution).filter_map(|a| a.by.value());
    let lost: u64 = by().fold(0, |sum, a| sum.saturating_add(a.lost));
    if lost > 0 {
        all.push(format!("{lost} kernel events were lost: their time is missing from the sums.").into());
    }
    let unreported: u64 = by().filter_map(|a| a.unreported).fold(0, u64::saturating_add);
    if unreported > 0 {
        let switches = format!("{unreported} switches to other tasks are unreported");
        all.push(format!("{switches}: the kernel counted them but recorded no event.").into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        assert_eq!((short(10), short(10_000), short(1_000_000)), ("10".into(), "10k".into(), "1M".into()));
        assert_eq!(slowdown(1.0005), "1.0005");
        assert_eq!(slowdown(12.345), "12.345");
        assert_eq!(slowdown(None), "–");
    }

    #[test]
    fn a_slowdown_without_an_upper_bound_says_so() {
        let read = |bounds| expected(&Expected::Extrapolated { value: 1.0203, bounds }).plain();
        assert_eq!(read(Bounds { low: 1.0153, high: Some(1.0253) }), "1.0203 [1.0153, 1.0253]");
        assert_eq!(read(Bounds { low: 1.0153, high: None }), "1.0203, at least 1.0153");
    }
}
