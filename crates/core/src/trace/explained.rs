//! What the inactive periods of an activity trace were, by the recorded kernel events of that time (CS:APP 9.1.2 had
//! only period and length).
//!
//! The trace is in cycles of the counter, the record in CLOCK_MONOTONIC; readings of both at the same moments, before,
//! after and during the trace, map one to the other, linearly between neighbours.

use crate::base::units::Nanos;
use crate::sample::daemons::TaskKind;
use crate::sample::families::family;
use crate::statistics::series::median_of_sorted;
use crate::trace::activity::{ActivityTick, Gap, Trace, timer_tick};
use crate::trace::timeline::ClockPair;
use crate::trace::timeline::{CpuEvent, CpuOccupant, TraceTask};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The pairs do not map one clock to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the counter and CLOCK_MONOTONIC were not read together at least twice, at different times")]
pub struct BadPairs;

/// From CLOCK_MONOTONIC to cycles of the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockMap(Vec<ClockPair>);

impl ClockMap {
    /// Between the first and the last pair those are used that are about as close as the closest.
    pub fn new(pairs: &[ClockPair]) -> Result<ClockMap, BadPairs> {
        let closest = pairs.iter().map(|p| p.within).min().ok_or(BadPairs)?;
        let last = pairs.len() - 1;
        let good = |i: usize, p: &ClockPair| i == 0 || i == last || p.within.0 <= closest.0.saturating_mul(4);
        let mut kept: Vec<ClockPair> = Vec::with_capacity(pairs.len());
        for (i, p) in pairs.iter().enumerate().filter(|(i, p)| good(*i, p)) {
            let later = kept.last().is_none_or(|k| p.clock > k.clock && p.cycles > k.cycles);
            match later && p.cycles.is_finite() {
                true => kept.push(*p),
                false if i == 0 || i == last => return Err(BadPairs),
                false => {}
            }
        }
        if kept.len() < 2 { Err(BadPairs) } else { Ok(ClockMap(kept)) }
    }

    /// A moment in cycles from the beginning of the trace; before the first and after the last pair as beside them.
    pub fn cycles(&self, at: Nanos) -> f64 {
        let next = self.0.partition_point(|p| p.clock <= at).clamp(1, self.0.len() - 1);
        let (Some(a), Some(b)) = (self.0.get(next - 1), self.0.get(next)) else { return f64::NAN };
        let share = (at - a.clock).as_f64() / (b.clock - a.clock).as_f64();
        a.cycles + share * (b.cycles - a.cycles)
    }
}

/// What the kernel recorded of the CPU of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecording {
    pub events: Vec<CpuEvent>,
    /// Everything reported from here on …
    pub from: Nanos,
    /// … until here is in the events.
    pub until: Nanos,
    /// Records that were lost.
    pub lost: u64,
    /// Switches that the kernel did not report, and that were found later.
    pub late: u64,
    /// Interrupts that the kernel does not report.
    pub missing: Vec<String>,
    /// The thread that made the trace.
    pub own: i32,
    /// How often the kernel says that it switched away from the thread within the trace.
    pub switches: Option<u64>,
    /// Its page faults within the trace.
    pub faults: Option<u64>,
}

/// What an inactive period was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExplainedCause {
    /// The local timer's interrupt, and what came at once after it.
    Timer,
    Interrupt {
        name: String,
    },
    /// A softirq, without an interrupt before it.
    Softirq {
        name: String,
    },
    /// Another task had the CPU.
    Preempted {
        /// The task's family (`kworker`), in the escaped text form of a name.
        name: String,
        /// The kernel's or a user's.
        by: TaskKind,
    },
    /// Nobody had it: the process was held back (by the `cpu.max` of its cgroup).
    Idle,
    /// A hypervisor had it, and reported so afterwards.
    Stolen,
    /// The kernel reported nothing in it, or only in a small part: the hypervisor had the CPU, or the firmware (SMI).
    NoEvent,
    Unknown,
}

/// What one inactive period was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Position among the causes.
    pub cause: usize,
    /// The task that had the CPU, for the longest time if there were several.
    pub task: Option<TraceTask>,
    /// Timer interrupts in it.
    pub timers: u32,
    /// How much of it is in what the kernel reported, cycles.
    pub reported: u64,
}

/// A cause and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    pub reason: ExplainedCause,
    pub gaps: u32,
    /// Their time, cycles.
    pub cycles: u64,
    /// Of the whole trace; `None` for one of no length.
    pub share: Option<f64>,
}

/// An event of the kernel's, in cycles from the beginning of the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceEvent {
    #[serde(flatten)]
    pub what: CpuOccupant,
    pub start: i64,
    pub end: i64,
    /// Self time, excluding nested interruptions.
    pub own: u64,
    /// Both ends were reported.
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    pub gaps: Vec<Explanation>,
    /// What took most time comes first.
    pub causes: Vec<CauseShare>,
    /// What the kernel reported, but for the traced thread's own time.
    pub events: Vec<TraceEvent>,
    /// Interrupts and softirqs within active time: shorter than the threshold, or displaced by the clocks.
    pub outside: u32,
    /// Records that were lost, at the end.
    pub lost: u64,
    /// Switches that the kernel did not report, and that were found by later events.
    pub late: u64,
    /// Switches away from the thread that the kernel counted but did not report. Periods without an event may be
    /// theirs.
    pub unreported: Option<u64>,
    /// Page faults of the thread, which are no event here. Periods without an event may be theirs.
    pub faults: Option<u64>,
    /// Interrupts that this kernel does not report.
    pub missing: Vec<String>,
    /// The tick by the timer's interrupts, if they are regular.
    pub tick: Option<ActivityTick>,
}

impl Explained {
    /// What an inactive period was.
    pub fn reason(&self, gap: usize) -> &ExplainedCause {
        let cause = self.gaps.get(gap).and_then(|g| self.causes.get(g.cause));
        cause.map_or(&ExplainedCause::Unknown, |c| &c.reason)
    }

    /// Timer interrupts, in cycles from the beginning of the trace.
    pub fn timers(&self) -> impl Iterator<Item = i64> + '_ {
        self.events.iter().filter(|e| e.what == CpuOccupant::Timer).map(|e| e.start)
    }
}

/// The time around the reported events may be this many times as long as usual before it counts as the hypervisor's.
const UNUSUAL: f64 = 10.0;

/// Says what each inactive period was.
pub fn explain(trace: &Trace, recording: &TraceRecording, pairs: &[ClockPair]) -> Result<Explained, BadPairs> {
    let map = ClockMap::new(pairs)?;
    let (events, own_ends) = placed(trace, recording, &map);
    let (members, outside) = assign(trace.gaps(), &events);
    let (from, until) = (map.cycles(recording.from), map.cycles(recording.until));
    let covered = |g: &Gap| g.start as f64 >= from && g.end() as f64 <= until;
    let mut met: Vec<GapContents> = trace
        .gaps()
        .iter()
        .zip(&members)
        .map(|(gap, of)| if covered(gap) { meet(gap, of, &events) } else { GapContents::unknown() })
        .collect();
    find_unusual(trace.gaps(), &mut met);
    let (gaps, causes) = tally(trace, met);
    let unreported = recording.switches.map(|n| n.saturating_sub(own_ends));
    let tick = tick_of(trace, &gaps, &causes, &members, &events);
    Ok(Explained {
        gaps,
        causes,
        events,
        outside,
        lost: recording.lost,
        late: recording.late,
        unreported,
        faults: recording.faults,
        missing: recording.missing.clone(),
        tick,
    })
}

/// The events within the trace, but for the thread's own time; and how often that ended there.
fn placed(trace: &Trace, recording: &TraceRecording, map: &ClockMap) -> (Vec<TraceEvent>, u64) {
    let length = trace.length() as f64;
    let (mut events, mut own_ends) = (Vec::new(), 0);
    for e in &recording.events {
        let (start, end) = (map.cycles(e.start), map.cycles(e.end));
        if matches!(&e.what, CpuOccupant::Task(t) if t.tid == recording.own) {
            own_ends += u64::from(end >= 0.0 && end <= length && e.end < recording.until);
            continue;
        }
        if end >= 0.0 && start <= length {
            let per_ns = if e.end > e.start { (end - start) / (e.end - e.start).as_f64() } else { 0.0 };
            events.push(TraceEvent {
                what: e.what.clone(),
                start: start.round() as i64,
                end: end.round() as i64,
                own: (e.own.as_f64() * per_ns).round() as u64,
                complete: e.complete,
            });
        }
    }
    (events, own_ends)
}

/// How much of an event lies in a gap, cycles.
fn overlap(gap: &Gap, e: &TraceEvent) -> i64 {
    let (start, end) = (gap.start.min(i64::MAX as u64).cast_signed(), gap.end().min(i64::MAX as u64).cast_signed());
    end.min(e.end).saturating_sub(start.max(e.start))
}

/// The events of each gap, and how many interrupts lie in none. As the thread runs between two gaps, an event is of one
/// gap only: of that with the most of it; one whose end was not reported, of the first.
fn assign(gaps: &[Gap], events: &[TraceEvent]) -> (Vec<Vec<usize>>, u32) {
    let mut members = vec![Vec::new(); gaps.len()];
    let mut outside = 0;
    for (n, e) in events.iter().enumerate() {
        let first = gaps.partition_point(|g| i64::try_from(g.end()).unwrap_or(i64::MAX) <= e.start);
        let touched =
            gaps.iter().enumerate().skip(first).map_while(|(i, g)| Some((i, overlap(g, e))).filter(|o| o.1 > 0));
        let of = if e.complete {
            // The first of equals.
            touched
                .fold(None, |best: Option<(usize, i64)>, o| if best.is_none_or(|b| o.1 > b.1) { Some(o) } else { best })
        } else {
            touched.take(1).next()
        };
        match of.and_then(|(i, _)| members.get_mut(i)) {
            Some(members) => members.push(n),
            None => outside += u32::from(e.what.interrupts() && e.start >= 0),
        }
    }
    (members, outside)
}

/// What a gap has met.
struct GapContents {
    reason: ExplainedCause,
    task: Option<TraceTask>,
    timers: u32,
    reported: u64,
    /// All reported events in it have both ends, so the rest is known to be without an event.
    complete: bool,
}

impl GapContents {
    fn unknown() -> GapContents {
        GapContents { reason: ExplainedCause::Unknown, task: None, timers: 0, reported: 0, complete: false }
    }
}

fn meet(gap: &Gap, members: &[usize], events: &[TraceEvent]) -> GapContents {
    let of: Vec<&TraceEvent> = members.iter().filter_map(|i| events.get(*i)).collect();
    // They are sorted by their beginnings; what lies within another one counts once.
    let (mut reported, mut reached) = (0, i64::MIN);
    for e in &of {
        let (start, end) = (e.start.max(reached), e.end);
        reported += overlap(gap, &TraceEvent { start, end, ..(*e).clone() }).max(0).unsigned_abs();
        reached = reached.max(end);
    }
    let timers = of.iter().filter(|e| e.what == CpuOccupant::Timer).count();
    let mut by: HashMap<&TraceTask, i64> = HashMap::new();
    for e in &of {
        if let CpuOccupant::Task(task) = &e.what {
            *by.entry(task).or_default() += overlap(gap, e);
        }
    }
    let longest = by.iter().max_by_key(|(task, time)| (**time, std::cmp::Reverse(task.tid))).map(|(task, _)| *task);
    let most = |pick: fn(&CpuOccupant) -> Option<&String>| {
        let known = of.iter().filter_map(|e| Some((pick(&e.what)?, e.own)));
        known.max_by_key(|(_, own)| *own).map(|(name, _)| name.clone())
    };
    let interrupt = || most(|w| if let CpuOccupant::Interrupt { name } = w { Some(name) } else { None });
    let softirq = || most(|w| if let CpuOccupant::Softirq { name } = w { Some(name) } else { None });
    let reason = if let Some(task) = longest {
        ExplainedCause::Preempted { name: family(&task.name, task.by), by: task.by }
    } else if of.iter().any(|e| e.what == CpuOccupant::Idle) {
        ExplainedCause::Idle
    } else if timers > 0 {
        ExplainedCause::Timer
    } else if let Some(name) = interrupt() {
        ExplainedCause::Interrupt { name }
    } else if let Some(name) = softirq() {
        ExplainedCause::Softirq { name }
    } else {
        ExplainedCause::NoEvent
    };
    GapContents {
        reason,
        task: longest.cloned(),
        timers: u32::try_from(timers).unwrap_or(u32::MAX),
        reported,
        complete: of.iter().all(|e| e.complete),
    }
}

/// A gap most of which the kernel does not report, and far more than usual, was the hypervisor's: the events in it had
/// waited for its end. Usual is the entry and exit overhead, which a hypervisor makes longer.
fn find_unusual(gaps: &[Gap], met: &mut [GapContents]) {
    let beyond = |(gap, met): (&Gap, &GapContents)| gap.duration.saturating_sub(met.reported) as f64;
    let reported =
        |met: &GapContents| !matches!(met.reason, ExplainedCause::NoEvent | ExplainedCause::Unknown) && met.complete;
    let mut all: Vec<f64> = gaps.iter().zip(met.iter()).filter(|(_, m)| reported(m)).map(beyond).collect();
    all.sort_by(f64::total_cmp);
    let Some(usual) = median_of_sorted(&all) else { return };
    for (gap, met) in gaps.iter().zip(met).filter(|(_, m)| reported(m)) {
        let rest = beyond((gap, met));
        if rest > met.reported as f64 && rest > UNUSUAL * usual {
            met.reason = ExplainedCause::NoEvent;
            met.task = None;
        }
    }
}

fn tally(trace: &Trace, met: Vec<GapContents>) -> (Vec<Explanation>, Vec<CauseShare>) {
    let mut at: HashMap<ExplainedCause, usize> = HashMap::new();
    let mut causes: Vec<CauseShare> = Vec::new();
    let mut gaps = Vec::with_capacity(met.len());
    for (gap, met) in trace.gaps().iter().zip(met) {
        let cause = *at.entry(met.reason).or_insert_with_key(|reason| {
            causes.push(CauseShare { reason: reason.clone(), gaps: 0, cycles: 0, share: None });
            causes.len() - 1
        });
        if let Some(c) = causes.get_mut(cause) {
            c.gaps += 1;
            c.cycles += gap.duration;
        }
        gaps.push(Explanation { cause, task: met.task, timers: met.timers, reported: met.reported });
    }
    let length = trace.length();
    let share = |part: u64| if length == 0 { None } else { Some(part as f64 / length as f64) };
    let mut order: Vec<usize> = (0..causes.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(causes.get(*i).map_or(0, |c| c.cycles)));
    let mut place = vec![0; order.len()];
    for (to, from) in order.iter().enumerate() {
        place.get_mut(*from).into_iter().for_each(|p| *p = to);
    }
    gaps.iter_mut().for_each(|g| g.cause = place.get(g.cause).copied().unwrap_or(0));
    let sorted = order.iter().filter_map(|i| causes.get(*i).cloned());
    (gaps, sorted.map(|c| CauseShare { share: share(c.cycles), ..c }).collect())
}

/// The tick by the timer's interrupts: the kernel reports them also while another task has the CPU.
fn tick_of(
    trace: &Trace,
    gaps: &[Explanation],
    causes: &[CauseShare],
    members: &[Vec<usize>],
    events: &[TraceEvent],
) -> Option<ActivityTick> {
    let reason = |g: &Explanation| causes.get(g.cause).map(|c| &c.reason);
    let unseen: Vec<Gap> = (trace.gaps().iter().zip(gaps))
        .filter(|(_, g)| matches!(reason(g), Some(ExplainedCause::NoEvent | ExplainedCause::Unknown)))
        .map(|(gap, _)| *gap)
        .collect();
    let timers = events.iter().filter(|e| e.what == CpuOccupant::Timer && e.start >= 0);
    let starts: Vec<u64> = timers.map(|e| e.start.unsigned_abs()).collect();
    let tick = timer_tick(trace.hz(), trace.length(), &starts, &unseen)?;
    let ticks: Vec<u64> = tick.gaps.iter().filter_map(|i| starts.get(*i).copied()).collect();
    // A gap begins with a tick if that is its first event.
    let begins = |i: &usize| {
        let first = members.get(*i).and_then(|m| m.iter().find_map(|n| events.get(*n)));
        first.is_some_and(|e| {
            e.what == CpuOccupant::Timer && ticks.binary_search(&e.start.max(0).unsigned_abs()).is_ok()
        })
    };
    let begun: Vec<usize> = (0..gaps.len()).filter(begins).collect();
    let alone = begun.iter().filter(|i| gaps.get(**i).and_then(reason) == Some(&ExplainedCause::Timer));
    let mut costs: Vec<f64> = alone.filter_map(|i| trace.gaps().get(*i)).map(|g| g.duration as f64).collect();
    costs.retain(|d| *d < tick.period / 10.0);
    costs.sort_by(f64::total_cmp);
    Some(ActivityTick {
        gaps: begun,
        min_cost: costs.first().map(|c| *c as u64),
        median_cost: median_of_sorted(&costs),
        ..tick
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::name::Name;
    use proptest::prelude::*;

    /// A cycle is half a nanosecond, and the trace begins at 1 s.
    fn pairs() -> Vec<ClockPair> {
        let pair =
            |cycles: f64| ClockPair { cycles, clock: Nanos(1_000_000_000 + (cycles / 2.0) as i64), within: Nanos(30) };
        vec![pair(-1_000.0), pair(80_000_000.0)]
    }

    fn at(cycles: i64) -> Nanos {
        Nanos(1_000_000_000 + cycles / 2)
    }

    fn event(what: CpuOccupant, start: i64, end: i64) -> CpuEvent {
        CpuEvent { what, start: at(start), end: at(end), own: at(end) - at(start), complete: true }
    }

    fn task(name: &str, by: TaskKind, tid: i32) -> CpuOccupant {
        CpuOccupant::Task(TraceTask { name: Name::from(name), by, pid: tid, tid })
    }

    fn own(start: i64, end: i64) -> CpuEvent {
        event(task("tare", TaskKind::User, 5), start, end)
    }

    fn recording(mut events: Vec<CpuEvent>) -> TraceRecording {
        events.sort_by_key(|e| e.start);
        TraceRecording {
            events,
            from: at(-500),
            until: at(40_000_000),
            lost: 0,
            late: 0,
            missing: Vec::new(),
            own: 5,
            switches: Some(1),
            faults: Some(0),
        }
    }

    fn trace(gaps: &[(u64, u64)]) -> Trace {
        let gaps = gaps.iter().map(|(start, end)| Gap { start: *start, duration: end - start }).collect();
        Trace::new(2e9, 30_000_000, gaps).unwrap()
    }

    fn reasons(e: &Explained) -> Vec<&ExplainedCause> {
        (0..e.gaps.len()).map(|i| e.reason(i)).collect()
    }

    #[test]
    fn each_cause_is_told() {
        let t = trace(&[
            (1_000, 9_000),
            (20_000, 26_000),
            (30_000, 34_000),
            (50_000, 90_000),
            (100_000, 160_000),
            (200_000, 300_000),
            (400_000, 404_000),
        ]);
        let softirq = |name: &str| CpuOccupant::Softirq { name: name.to_owned() };
        let eth = CpuOccupant::Interrupt { name: "eth0 (IRQ 24)".to_owned() };
        let e = explain(
            &t,
            &recording(vec![
                event(CpuOccupant::Timer, 2_000, 6_000),
                event(softirq("TIMER"), 6_200, 8_000),
                event(eth.clone(), 21_000, 22_000),
                event(softirq("NET_RX"), 22_200, 25_000),
                event(softirq("RCU"), 31_000, 33_000),
                own(0, 51_000),
                event(task("kworker/1:2", TaskKind::Kernel, 77), 51_000, 60_000),
                event(task("a)b <script>", TaskKind::User, 78), 60_000, 88_000),
                event(CpuOccupant::Timer, 70_000, 72_000),
                own(88_000, 102_000),
                event(CpuOccupant::Idle, 102_000, 158_000),
                own(158_000, 50_000_000),
                // Too short for the threshold.
                event(eth, 350_000, 350_100),
            ]),
            &pairs(),
        )
        .unwrap();
        let name = |s: &str| s.to_owned();
        assert_eq!(
            reasons(&e),
            [
                &ExplainedCause::Timer,
                &ExplainedCause::Interrupt { name: name("eth0 (IRQ 24)") },
                &ExplainedCause::Softirq { name: name("RCU") },
                &ExplainedCause::Preempted { name: name("a)b <script>"), by: TaskKind::User },
                &ExplainedCause::Idle,
                &ExplainedCause::NoEvent,
                &ExplainedCause::NoEvent,
            ]
        );
        assert_eq!(e.gaps.iter().map(|g| g.timers).collect::<Vec<_>>(), [1, 0, 0, 1, 0, 0, 0]);
        assert_eq!(e.gaps.iter().map(|g| g.reported).collect::<Vec<_>>(), [5_800, 3_800, 2_000, 37_000, 56_000, 0, 0]);
        assert_eq!(e.gaps[3].task.as_ref().map(|t| t.tid), Some(78), "the longest");
        assert_eq!((e.outside, e.unreported), (1, Some(0)));
        let first = &e.causes[0];
        assert_eq!((&first.reason, first.gaps, first.cycles), (&ExplainedCause::NoEvent, 2, 104_000));
        assert!((first.share.unwrap() - 104_000.0 / 30e6).abs() < 1e-12);
        assert_eq!(e.causes.iter().map(|c| c.gaps).sum::<u32>(), 7);
        assert!(e.causes.is_sorted_by(|a, b| a.cycles >= b.cycles));
    }

    #[test]
    fn a_gap_that_is_mostly_beyond_what_the_kernel_tells_is_the_hypervisors() {
        // The interrupts of 2 µs lie in gaps of 3 µs, but for one of 5 ms, and one that is a little longer than usual.
        let mut gaps: Vec<(u64, u64)> = (0..8).map(|i| (1_000_000 * i + 500, 1_000_000 * i + 6_500)).collect();
        gaps[5].1 += 4_000;
        gaps.push((15_000_000, 25_000_000));
        let timers = (0..8).map(|i| event(CpuOccupant::Timer, 1_000_000 * i + 1_000, 1_000_000 * i + 5_000));
        let last = event(CpuOccupant::Timer, 24_995_000, 24_999_000);
        let e = explain(&trace(&gaps), &recording(timers.chain([last]).collect()), &pairs()).unwrap();
        let all = reasons(&e);
        assert!(all[..8].iter().all(|r| **r == ExplainedCause::Timer), "{all:?}");
        assert_eq!(*all[8], ExplainedCause::NoEvent);
        assert_eq!((e.gaps[8].timers, e.gaps[8].reported), (1, 4_000), "and its contents are kept");
    }

    /// The kernel leaves the switch back out: the task is found gone at the next interrupt only.
    #[test]
    fn a_task_whose_end_was_not_told_has_one_gap_only() {
        let lost_end = CpuEvent { complete: false, ..event(task("b", TaskKind::User, 9), 10_500, 60_500) };
        let timer = event(CpuOccupant::Timer, 60_500, 63_000);
        let t = trace(&[(10_000, 40_000), (50_000, 52_000), (60_000, 64_000)]);
        let e = explain(&t, &recording(vec![lost_end, timer]), &pairs()).unwrap();
        let b = ExplainedCause::Preempted { name: "b".to_owned(), by: TaskKind::User };
        assert_eq!(reasons(&e), [&b, &ExplainedCause::NoEvent, &ExplainedCause::Timer]);
    }

    #[test]
    fn what_was_not_recorded_is_not_known() {
        let t = trace(&[(1_000, 9_000), (20_000_000, 20_009_000)]);
        let mut r = recording(vec![event(CpuOccupant::Timer, 2_000, 6_000)]);
        r.until = at(10_000_000);
        r.lost = 12;
        r.switches = None;
        let e = explain(&t, &r, &pairs()).unwrap();
        assert_eq!(reasons(&e), [&ExplainedCause::Timer, &ExplainedCause::Unknown]);
        assert_eq!((e.lost, e.unreported), (12, None));
        r.from = at(5_000);
        assert_eq!(reasons(&explain(&t, &r, &pairs()).unwrap()), [&ExplainedCause::Unknown, &ExplainedCause::Unknown]);
    }

    /// Nearly all of the time belongs to another process, so the gaps show a tick now and then; the kernel reports
    /// each.
    #[test]
    fn a_mostly_preempted_trace_has_its_tick() {
        let period = 8_000_000; // 4 ms
        let ticks: Vec<i64> = (0..200).map(|i| 1_000_000 + i * period).collect();
        let mut gaps = Vec::new();
        let mut events = Vec::new();
        for (i, tick) in ticks.iter().enumerate() {
            events.push(event(CpuOccupant::Timer, *tick, tick + 8_000));
            if i % 20 == 0 {
                let (from, to) = (tick + 40_000, tick + 20 * period - 1_000_000);
                gaps.push((from.unsigned_abs(), to.unsigned_abs()));
                events.push(event(task("b", TaskKind::User, 9), from + 500, to - 500));
            }
        }
        let gaps = gaps.into_iter().map(|(start, end)| Gap { start, duration: end - start }).collect();
        let t = Trace::new(2e9, 200 * 8_000_000, gaps).unwrap();
        assert_eq!(t.summary().tick, None);
        let mut r = recording(events);
        r.until = at(2_000_000_000);
        let tick = explain(&t, &r, &pairs()).unwrap().tick.unwrap();
        assert_eq!(tick.hz, 250);
        assert!((tick.period / period as f64 - 1.0).abs() < 1e-6, "{}", tick.period);
    }

    #[test]
    fn clocks_are_mapped_between_neighbours() {
        let pair = |cycles: f64, ns: i64, within: i64| ClockPair { cycles, clock: Nanos(ns), within: Nanos(within) };
        // A pair that was interrupted is omitted, unless it is the first or last.
        let map = ClockMap::new(&[
            pair(0.0, 100, 30),
            pair(200.0, 200, 40),
            pair(999.0, 250, 5_000),
            pair(500.0, 300, 9_000),
        ])
        .unwrap();
        let cycles_at = |ns: i64| map.cycles(Nanos(ns));
        assert_eq!(
            [cycles_at(50), cycles_at(100), cycles_at(150), cycles_at(250), cycles_at(300), cycles_at(400)],
            [-100.0, 0.0, 100.0, 350.0, 500.0, 800.0]
        );
        for bad in
            [&[][..], &[pair(0.0, 1, 1)], &[pair(0.0, 1, 1), pair(5.0, 1, 1)], &[pair(1.0, 1, 1), pair(f64::NAN, 2, 1)]]
        {
            assert_eq!(ClockMap::new(bad), Err(BadPairs));
        }
    }

    proptest! {
        /// Whatever was recorded, each gap has a cause, and the causes have the time of all gaps together.
        #[test]
        fn every_gap_has_one_cause(
            parts in proptest::collection::vec((1..100_000_u64, 1..100_000_u64), 0..40),
            events in proptest::collection::vec((0..5_usize, 0..8_000_000_i64, 0..300_000_i64, any::<bool>()), 0..60),
            until in 0..8_000_000_i64,
        ) {
            let (mut t, mut gaps) = (0, Vec::new());
            for (active, inactive) in parts {
                gaps.push(Gap { start: t + active, duration: inactive });
                t += active + inactive;
            }
            let trace = Trace::new(2e9, t, gaps).unwrap();
            let what = |n: usize| match n {
                0 => CpuOccupant::Timer,
                1 => CpuOccupant::Softirq { name: "RCU".to_owned() },
                2 => CpuOccupant::Interrupt { name: "x".to_owned() },
                3 => CpuOccupant::Idle,
                _ => task("b", TaskKind::User, 9),
            };
            let events = events.into_iter();
            let mut r = recording(
                events.map(|(n, start, d, complete)| CpuEvent { complete, ..event(what(n), start, start + d) }).collect(),
            );
            r.until = at(until);
            let e = explain(&trace, &r, &pairs()).unwrap();
            prop_assert_eq!(e.gaps.len(), trace.gaps().len());
            let mut sums = vec![(0, 0); e.causes.len()];
            for (g, gap) in e.gaps.iter().zip(trace.gaps()) {
                prop_assert!(g.reported <= gap.duration);
                prop_assert_eq!(g.reported > 0 || g.timers > 0, g.reported > 0);
                sums[g.cause].0 += 1;
                sums[g.cause].1 += gap.duration;
                if gap.end() as i64 > until + 1 {
                    prop_assert_eq!(&e.causes[g.cause].reason, &ExplainedCause::Unknown);
                }
            }
            let reported: Vec<(u32, u64)> = e.causes.iter().map(|c| (c.gaps, c.cycles)).collect();
            prop_assert_eq!(sums, reported);
            let share: f64 = e.causes.iter().filter_map(|c| c.share).sum();
            prop_assert!(share <= 1.0 + 1e-9);
        }
    }
}
