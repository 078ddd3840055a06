//! What interrupted the phases of a CPU by the kernel's record: table 3, and the curves of figure 4, from which one kind
//! of interruption after the other is subtracted (ICS'05, section 3).

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::noise::cdf;
use crate::noise::cdf::CdfPoint;
use crate::noise::data::{Kernel, Phases};
use crate::noise::phase::{BadOrder, WorkPhase};
use crate::noise::subtraction;
use crate::noise::subtraction::{Interrupted, InterruptionKind, OverlongInterrupt, Parts, split};
use crate::sample::families::family;
use crate::trace::explained::ExplainedCause;
use crate::trace::timeline::{CpuEvent, CpuOccupant, Stolen};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Softirqs that begin so soon after the tick, or after one of its softirqs, are the tick's.
const AT_ONCE: Nanos = Nanos(5_000);
/// Share of the longest phases of a curve of figure 4 that its flatness leaves out.
const LONGEST: f64 = 0.001;

/// What interrupted the phases of a CPU (table 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterruptionSource {
    pub reason: ExplainedCause,
    pub count: u64,
    /// Its self time within phases, excluding nested interruptions.
    pub time: Nanos,
    /// Of the phases' time; `None` if they took none.
    pub share: Option<f64>,
}

/// Residual of the phases after subtracting some kinds of interruption (figure 4); ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// This kind and those before it are; `None`: nothing is.
    pub minus: Option<InterruptionKind>,
    pub mean: f64,
    pub std_dev: Option<f64>,
    pub min: f64,
    /// 99.9% of the phases have no more left.
    pub most: f64,
    pub max: f64,
    /// By how much `most` is over the shortest, as a share of it.
    pub span: Option<f64>,
    /// The curve, in a few hundred points at most.
    pub cdf: Vec<CdfPoint>,
}

/// The phases of one CPU by what interrupted them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Phases that the recorded kernel events cover.
    pub phases: usize,
    pub time: Nanos,
    pub sources: Vec<InterruptionSource>,
    /// With everything, then minus one kind after the other: steal time if there was any, interrupt entry and exit
    /// overhead if it is known.
    pub curves: Vec<Residual>,
    /// Steal time in this period by which no phase or interrupt is too long: it interrupted another task and is in its
    /// time, or in pieces of less than a microsecond, or before the first phase or after the last.
    pub hidden: Nanos,
    /// Timer interrupts a second; `None` if the phases took no time.
    pub timer_hz: Option<f64>,
    /// What a tick costs; `None` where too few phases have one alone.
    pub tick: Option<TickCost>,
    /// Records that were lost.
    pub lost: u64,
    /// Switches of the process that the kernel counted but did not report.
    pub unreported: Option<u64>,
}

/// What a tick costs the phase that it interrupts: the kernel records only what is between its trace points, not the
/// interrupt entry and exit overhead, which a hypervisor makes long, nor what it leaves in the caches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickCost {
    /// Phases with ticks and nothing else, after one of which the same holds and that has another number of ticks.
    pub phases: usize,
    /// By how much a tick more makes a phase longer than the phase before, median, ns.
    pub longer: f64,
    /// What of it is in the record, median, ns.
    pub recorded: f64,
}

impl TickCost {
    /// The part that is not recorded: entry and exit overhead; not negative.
    pub fn entry(&self) -> Nanos {
        Nanos((self.longer - self.recorded).max(0.0).round() as i64)
    }
}

pub(super) fn attribute(p: &Phases, hz: f64) -> Reading<Attribution> {
    let why = || p.series.unexplained.clone();
    let none = || Absent::NotAsked("no kernel events were recorded".to_owned());
    match &p.kernel {
        None => Reading::Absent(why().unwrap_or_else(none)),
        Some(kernel) => {
            let made = by_kernel(p, p.timed(hz), kernel);
            Reading::from(made.map_err(|e| Absent::Failed(e.to_string())))
        }
    }
}

fn by_kernel(
    p: &Phases,
    timed: impl Iterator<Item = WorkPhase> + Clone,
    Kernel { record, events, stolen }: &Kernel,
) -> Result<Attribution, BadOrder> {
    let (from, until) = (record.from, record.until);
    let phases = timed.skip_while(move |p| p.start < from).take_while(move |p| p.end() <= until);
    let start = phases.clone().next().map_or(Nanos::ZERO, |p| p.start);
    let over = |(n, shortest, _): (usize, Nanos, Nanos), p: WorkPhase| (n + 1, p.duration.min(shortest), p.end());
    let (covered, shortest, end) = phases.clone().fold((0, Nanos(i64::MAX), start), over);
    let own = |e: &&CpuEvent| matches!(&e.what, CpuOccupant::Task(t) if t.tid == record.own);
    let mut others = bounded(events.iter().filter(|e| !own(e)), phases.clone(), shortest)?;
    let stolen: Vec<Stolen> = stolen.iter().filter(|s| s.until > start && s.from < end).copied().collect();
    let kinds = subtraction_events(&others);
    let mut split = split(phases.clone(), &kinds)?;
    let long = long(&others, &kinds);
    let taken = split.steal(&stolen, shortest, &long);
    for (e, taken) in others.iter_mut().filter(|e| e.what.interrupts()).zip(&taken.interrupts) {
        e.own = e.own - *taken;
    }
    let tick = tick_cost(split.interrupted(), phases);
    split.enter(tick.map_or(Nanos::ZERO, |t| t.entry()), shortest);
    let time = end - start;
    let mut sources = sources(&others, start, end);
    if !stolen.is_empty() {
        sources.push((ExplainedCause::Stolen, stolen.len() as u64, split.total().steal));
    }
    let timers = sources.iter().find(|s| s.0 == ExplainedCause::Timer).map_or(0, |s| s.1);
    let known = |c: &subtraction::SubtractionCurve| match c.minus {
        Some(InterruptionKind::Steal) => !stolen.is_empty(),
        Some(InterruptionKind::Entry) => tick.is_some_and(|t| t.entry() > Nanos::ZERO),
        _ => true,
    };
    let away = events.iter().filter(own).filter(|e| e.end > start && e.end <= end).count() as u64;
    Ok(Attribution {
        phases: covered,
        time,
        sources: ranked(sources, time),
        curves: split.curves().filter(|c| known(c)).map(|c| left(&c)).collect(),
        hidden: taken.hidden,
        timer_hz: (time > Nanos::ZERO).then(|| timers as f64 / time.secs()),
        tick,
        lost: record.lost,
        unreported: p.series.switches.map(|n| n.saturating_sub(away)),
    })
}

/// Each interrupt and softirq, and by how much it took longer than half of its kind.
fn long(events: &[CpuEvent], kinds: &[subtraction::Interruption]) -> Vec<OverlongInterrupt> {
    let interrupts = || events.iter().zip(kinds).filter(|(e, _)| e.what.interrupts());
    let mut own: HashMap<&CpuOccupant, Vec<Nanos>> = HashMap::new();
    interrupts().for_each(|(e, _)| own.entry(&e.what).or_default().push(e.own));
    let middle = |mut all: Vec<Nanos>| {
        let at = all.len().saturating_sub(1) / 2;
        *all.select_nth_unstable(at).1
    };
    let usual: HashMap<&CpuOccupant, Nanos> = own.into_iter().map(|(what, all)| (what, middle(all))).collect();
    // Unknown if its end is unreported.
    let over = |e: &CpuEvent| usual.get(&e.what).filter(|_| e.complete).map_or(Nanos::ZERO, |usual| e.own - *usual);
    interrupts().map(|(e, k)| OverlongInterrupt { start: e.start, end: e.end, over: over(e), kind: k.kind }).collect()
}

/// The events, where tasks whose beginning or end was not reported take no more of a phase than it allows: that phase
/// did its work, too, which takes at least as long as the shortest one. (Some kernels leave switches out; what got the
/// CPU is then found by the next interrupt, milliseconds later.)
fn bounded<'a>(
    events: impl Iterator<Item = &'a CpuEvent> + Clone,
    phases: impl Iterator<Item = WorkPhase> + Clone,
    shortest: Nanos,
) -> Result<Vec<CpuEvent>, BadOrder> {
    let told = |e: &CpuEvent| e.complete || e.what.interrupts();
    if events.clone().all(told) {
        return Ok(events.cloned().collect());
    }
    let sure: Vec<CpuEvent> = events.clone().filter(|e| told(e)).cloned().collect();
    let sure = split(phases.clone(), &subtraction_events(&sure))?;
    let mut sure = sure.interrupted().iter().peekable();
    let mut phases = phases.enumerate().peekable();
    // The phase, and how much of it may still belong to another task.
    let mut current: Option<(usize, Nanos)> = None;
    let attributed = |e: &CpuEvent| {
        let mut e = e.clone();
        if told(&e) {
            return e;
        }
        while phases.next_if(|(_, p)| p.end() <= e.start).is_some() {}
        if let Some((index, phase)) = phases.peek().filter(|(_, p)| p.start <= e.start) {
            while sure.next_if(|i| i.phase < *index).is_some() {}
            let others = sure.peek().filter(|i| i.phase == *index).map_or(Nanos::ZERO, |i| i.parts.sum());
            let left = match current {
                Some((known, left)) if known == *index => left,
                _ => (phase.duration - shortest - others).max(Nanos::ZERO),
            };
            // At the end of a phase the process has the CPU: it reads the counter.
            let taken = (e.end.min(phase.end()) - e.start).min(left);
            current = Some((*index, left - taken));
            e.end = e.start + taken;
            e.own = e.own.min(taken);
        }
        e
    };
    Ok(events.map(attributed).collect())
}

/// Fewest phases for a median.
const FEWEST: usize = 10;

fn tick_cost(interrupted: &[Interrupted], phases: impl Iterator<Item = WorkPhase>) -> Option<TickCost> {
    let mut interrupted = interrupted.iter().peekable();
    let (mut longer, mut recorded) = (Vec::new(), Vec::new());
    // Of the last phase, if only ticks interrupted it: its length, how many there were, and their record.
    let mut before: Option<(Nanos, u32, Nanos)> = None;
    for (index, phase) in phases.enumerate() {
        let (parts, ticks) = match interrupted.next_if(|i| i.phase == index) {
            Some(i) => (i.parts, i.entries),
            None => (Parts::default(), 0),
        };
        let this = (parts.sum() == parts.tick).then_some((phase.duration, ticks, parts.tick));
        if let (Some(a), Some(b)) = (before, this)
            && a.1 != b.1
        {
            let more = f64::from(b.1) - f64::from(a.1);
            longer.push((b.0 - a.0).as_f64() / more);
            recorded.push((b.2 - a.2).as_f64() / more);
        }
        before = this;
    }
    let median = |all: &mut Vec<f64>| {
        all.sort_unstable_by(f64::total_cmp);
        all.get(all.len() / 2).filter(|_| all.len() >= FEWEST).copied()
    };
    Some(TickCost { phases: longer.len(), longer: median(&mut longer)?, recorded: median(&mut recorded)? })
}

fn left(curve: &subtraction::SubtractionCurve) -> Residual {
    let s = curve.left.summary();
    Residual {
        minus: curve.minus,
        mean: s.mean,
        std_dev: s.std_dev,
        min: s.min,
        most: curve.left.quantile(1.0 - LONGEST) as f64,
        max: s.max,
        span: curve.left.span(LONGEST),
        cdf: cdf::points(&curve.left, 1.0),
    }
}

/// The events by what is subtracted together: with a tick go the softirqs that come at once after it.
fn subtraction_events(events: &[CpuEvent]) -> Vec<subtraction::Interruption> {
    let mut ticked = Nanos(i64::MIN);
    let kind = |e: &CpuEvent| {
        let kind = match &e.what {
            CpuOccupant::Timer => InterruptionKind::Tick,
            CpuOccupant::Softirq { .. } if e.start <= ticked + AT_ONCE => InterruptionKind::Tick,
            CpuOccupant::Softirq { .. } | CpuOccupant::Interrupt { .. } => InterruptionKind::Interrupt,
            CpuOccupant::Task(_) | CpuOccupant::Idle => InterruptionKind::Preemption,
        };
        if kind == InterruptionKind::Tick {
            ticked = ticked.max(e.end);
        }
        let enters = matches!(e.what, CpuOccupant::Timer | CpuOccupant::Interrupt { .. });
        subtraction::Interruption { start: e.start, duration: (e.end - e.start).max(Nanos::ZERO), kind, enters }
    };
    events.iter().map(kind).collect()
}

/// What the events are of, how often, and for how long within a time.
fn sources(events: &[CpuEvent], from: Nanos, until: Nanos) -> Vec<(ExplainedCause, u64, Nanos)> {
    let mut all: HashMap<ExplainedCause, (u64, Nanos)> = HashMap::new();
    for e in events {
        let within = e.end.min(until) - e.start.max(from);
        if within < Nanos::ZERO || e.start >= until || e.end <= from {
            continue;
        }
        let reason = match &e.what {
            CpuOccupant::Timer => ExplainedCause::Timer,
            CpuOccupant::Interrupt { name } => ExplainedCause::Interrupt { name: name.clone() },
            CpuOccupant::Softirq { name } => ExplainedCause::Softirq { name: name.clone() },
            CpuOccupant::Task(t) => ExplainedCause::Preempted { name: family(&t.name, t.by), by: t.by },
            CpuOccupant::Idle => ExplainedCause::Idle,
        };
        let sum = all.entry(reason).or_default();
        sum.0 += 1;
        sum.1 += within.min(e.own);
    }
    all.into_iter().map(|(r, (n, t))| (r, n, t)).collect()
}

/// What took most first; equal ones in an order that is always the same.
fn ranked(mut sources: Vec<(ExplainedCause, u64, Nanos)>, whole: Nanos) -> Vec<InterruptionSource> {
    sources.sort_by_cached_key(|(reason, _, time)| (std::cmp::Reverse(*time), format!("{reason:?}")));
    let share = |part: Nanos| (whole > Nanos::ZERO).then(|| part.as_f64() / whole.as_f64());
    sources
        .into_iter()
        .map(|(reason, count, time)| InterruptionSource { reason, count, time, share: share(time) })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::name::Name;
    use crate::noise::data::{KernelRecord, PhasesEnd, Series};
    use crate::sample::daemons::TaskKind;
    use crate::trace::timeline::{ClockPair, TraceTask};

    const HZ: f64 = 2e9;

    /// Phases of a microsecond, from 1 ms on, of which some are longer: index and number of units.
    pub(in crate::noise) fn phases(cpu: u32, n: usize, longer: &[(usize, u64)]) -> Phases {
        let mut durations = vec![2_000; n];
        longer.iter().for_each(|(i, by)| durations[*i] += by);
        let sum: u64 = durations.iter().sum();
        let end = 1_000_000 + sum as i64 / 2;
        let pair = |cycles, clock| ClockPair { cycles, clock: Nanos(clock), within: Nanos(20) };
        let series = Series {
            grain: Nanos(1_000),
            iterations: 10,
            cpu,
            ended: PhasesEnd::Complete,
            pairs: vec![pair(0.0, 1_000_000), pair(sum as f64, end)],
            switches: Some(2),
            faults: Some(0),
            cache_misses: Reading::Value(0),
            l1_misses: Reading::Value(0),
            stolen: Reading::Value(Nanos::ZERO),
            locked: true,
            unexplained: None,
        };
        Phases { series, durations, kernel: None }
    }

    fn event(what: CpuOccupant, start: i64, end: i64, own: i64) -> CpuEvent {
        CpuEvent { what, start: Nanos(start), end: Nanos(end), own: Nanos(own), complete: true }
    }

    fn task(name: &str, tid: i32) -> CpuOccupant {
        CpuOccupant::Task(TraceTask { name: Name::from(name), by: TaskKind::User, pid: tid, tid })
    }

    fn record(own: i32) -> KernelRecord {
        KernelRecord {
            grain: Nanos(1_000),
            cpu: 0,
            own,
            whats: Vec::new(),
            from: Nanos(0),
            until: Nanos(1 << 40),
            lost: 0,
            late: 0,
            missing: Vec::new(),
        }
    }

    fn kernel(events: Vec<CpuEvent>, stolen: Vec<Stolen>) -> Kernel {
        Kernel { record: record(7), events, stolen }
    }

    fn attributed(p: &Phases) -> Attribution {
        let Reading::Value(a) = attribute(p, HZ) else { panic!("no attribution") };
        a
    }

    #[test]
    fn what_interrupted_is_summed_and_subtracted() {
        // A tick of 300 ns with its softirq of 200 in the phase 5; a task of 2 µs in phase 9.
        let mut p = phases(0, 20, &[(5, 1_000), (9, 4_000)]);
        let at = |phase: i64| 1_000_000 + phase * 1_000;
        let events = vec![
            event(task("own", 7), 0, at(9) + 1_000, 0),
            event(CpuOccupant::Timer, at(5) + 100, at(5) + 400, 300),
            event(CpuOccupant::Softirq { name: "TIMER".to_owned() }, at(5) + 400, at(5) + 600, 200),
            event(task("other", 8), at(9) + 1_000, at(9) + 3_000, 2_000),
            event(task("own", 7), at(9) + 3_000, at(90), 0),
        ];
        p.kernel = Some(kernel(events, Vec::new()));
        let a = attributed(&p);
        assert_eq!((a.phases, a.time, a.lost, a.unreported), (20, Nanos(22_500), 0, Some(1)));
        let sums: Vec<(u64, i64)> = a.sources.iter().map(|s| (s.count, s.time.0)).collect();
        assert_eq!(sums, [(1, 2_000), (1, 300), (1, 200)]);
        assert!(matches!(&a.sources[0].reason, ExplainedCause::Preempted { name, .. } if name == "other"));
        let max: Vec<(Option<InterruptionKind>, f64)> = a.curves.iter().map(|c| (c.minus, c.max)).collect();
        let flat = (Some(InterruptionKind::Preemption), 1_000.0);
        assert_eq!(
            max,
            [
                (None, 3_000.0),
                (Some(InterruptionKind::Tick), 3_000.0),
                (Some(InterruptionKind::Interrupt), 3_000.0),
                flat
            ]
        );
        assert_eq!(a.curves[3].span, Some(0.0));
        // One of the twenty phases is still longer after the ticks are subtracted.
        let points = |c: &Residual| c.cdf.iter().map(|p| (p.duration, p.at_least)).collect::<Vec<_>>();
        assert_eq!(points(&a.curves[0]), [(1_000.0, 1.0), (1_500.0, 0.1), (3_000.0, 0.05)]);
        assert_eq!(points(&a.curves[1]), [(1_000.0, 1.0), (3_000.0, 0.05)]);
        assert_eq!(points(&a.curves[3]), [(1_000.0, 1.0)]);
    }

    /// The kernel did not report when the other task left; this was found 50 phases later.
    #[test]
    fn a_task_whose_end_is_not_told_takes_no_more_than_its_phase_allows() {
        let mut p = phases(0, 100, &[(9, 4_000)]);
        let at = |phase: i64| 1_000_000 + phase * 1_000;
        let tick = event(CpuOccupant::Timer, at(9) + 100, at(9) + 300, 200);
        let first = CpuEvent { complete: false, ..event(task("other", 8), at(9) + 500, at(9) + 900, 400) };
        let late = CpuEvent { complete: false, ..event(task("other", 8), at(9) + 900, at(59), 48_100) };
        p.kernel = Some(kernel(vec![tick, first, late], Vec::new()));
        let a = attributed(&p);
        assert_eq!((a.sources[0].count, a.sources[0].time), (2, Nanos(1_800)));
        let flat = a.curves.last().unwrap();
        assert_eq!((flat.min, flat.max), (1_000.0, 1_000.0));
    }

    #[test]
    fn a_tick_costs_more_than_its_record() {
        let ticked: Vec<usize> = (0..20).map(|i| 5 + i * 10).collect();
        let longer: Vec<(usize, u64)> = ticked.iter().map(|i| (*i, 1_000)).collect();
        let mut p = phases(0, 220, &longer);
        let mut start = 1_000_000;
        let mut events = Vec::new();
        for (i, d) in p.durations.iter().enumerate() {
            if ticked.contains(&i) {
                events.push(event(CpuOccupant::Timer, start + 100, start + 300, 200));
            }
            start += *d as i64 / 2;
        }
        // Something else beside one of them.
        let beside = events[3].end.0;
        events.insert(4, event(CpuOccupant::Interrupt { name: "x".to_owned() }, beside, beside + 10, 10));
        p.kernel = Some(kernel(events, Vec::new()));
        let a = attributed(&p);
        // Each is longer than the one before, and than the one after.
        assert_eq!(a.tick, Some(TickCost { phases: 38, longer: 500.0, recorded: 200.0 }));
        // With that, everything is accounted for.
        let last = a.curves.last().unwrap();
        assert_eq!((last.minus, last.min, last.max), (Some(InterruptionKind::Entry), 1_000.0, 1_000.0));
        assert_eq!(a.curves.iter().rfind(|c| c.minus == Some(InterruptionKind::Preemption)).unwrap().max, 1_300.0);
        assert!(a.curves.iter().all(|c| c.minus != Some(InterruptionKind::Steal)));
    }

    /// The hypervisor took 40 µs between two ticks, and 3 µs while another task had the CPU; and 4 µs of a tick, which is longer than
    /// the others.
    #[test]
    fn what_a_hypervisor_took_is_subtracted_of_what_is_late() {
        let mut p = phases(0, 200, &[(20, 80_000), (100, 600), (120, 600), (150, 10_000), (180, 8_600)]);
        let mut starts = vec![1_000_000];
        p.durations.iter().for_each(|d| starts.push(starts[starts.len() - 1] + *d as i64 / 2));
        let at = |phase: usize| starts[phase];
        let tick = |phase, length| event(CpuOccupant::Timer, at(phase) + 100, at(phase) + 100 + length, length);
        let other = event(task("other", 8), at(150) + 100, at(150) + 5_100, 5_000);
        let events = vec![tick(100, 300), tick(120, 300), other, tick(180, 4_300)];
        let stolen = |from, until, time| Stolen { from: Nanos(from), until: Nanos(until), time: Nanos(time) };
        let all = vec![
            stolen(0, 999_000, 77),
            stolen(999_000, at(100), 40_000),
            stolen(at(100), at(160), 3_000),
            stolen(at(170), at(181), 4_000),
            stolen(at(200) + 1, at(200) + 900, 9),
        ];
        p.kernel = Some(kernel(events, all));
        let a = attributed(&p);
        let sources: Vec<_> = a.sources.iter().map(|s| (s.reason.clone(), s.count, s.time.0)).collect();
        assert_eq!(sources[0], (ExplainedCause::Stolen, 3, 44_000));
        assert_eq!(sources[2], (ExplainedCause::Timer, 3, 900));
        assert_eq!((a.hidden, sources.len()), (Nanos(3_000), 3));
        let max: Vec<_> = a.curves.iter().map(|c| (c.minus, c.max)).collect();
        assert_eq!(
            max[3..],
            [(Some(InterruptionKind::Preemption), 41_000.0), (Some(InterruptionKind::Steal), 1_000.0)]
        );
    }

    #[test]
    fn what_the_record_does_not_cover_is_left_out() {
        let mut p = phases(0, 20, &[]);
        let record = KernelRecord { from: Nanos(1_000_500), until: Nanos(1_010_000), ..record(7) };
        p.kernel = Some(Kernel { record, ..kernel(Vec::new(), Vec::new()) });
        assert_eq!(attributed(&p).phases, 9);
    }
}
