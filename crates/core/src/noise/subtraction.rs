//! What the phases took it for: their time split by what interrupted them, and the curves that are left as one kind after the
//! other is subtracted (ICS'05, figure 4, right). If the last is flat, everything is accounted for; what it still varies by
//! is indirect cost (caches), or was not traced.
//!
//! Interrupts and tasks are recorded with their begins and ends. Of steal time ([`Split::steal`]) it is known how much
//! it was, and between which moments; of interrupt entry and exit overhead ([`Split::enter`]), what it usually is.

use crate::base::units::Nanos;
use crate::noise::empirical::Distribution;
use crate::noise::phase::{BadOrder, WorkPhase, count, in_order};
use crate::trace::timeline::Stolen;
use serde::{Deserialize, Serialize};
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;

/// A hypervisor that preempts the CPU takes longer than this; a phase that is longer by less was not preempted by it.
const LEAST_STOLEN: Nanos = Nanos(1_000);

/// What interrupts a phase, in the order of subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptionKind {
    /// The timer tick.
    Tick,
    Interrupt,
    /// Another task had the CPU.
    Preemption,
    /// The hypervisor had it.
    Steal,
    /// Interrupt entry and exit overhead, which is not recorded: estimated.
    Entry,
}

impl InterruptionKind {
    /// All of them, in the order of subtraction.
    pub const ALL: [InterruptionKind; 5] = [
        InterruptionKind::Tick,
        InterruptionKind::Interrupt,
        InterruptionKind::Preemption,
        InterruptionKind::Steal,
        InterruptionKind::Entry,
    ];
}

/// An interruption, on the clock of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
    pub start: Nanos,
    /// How long it took, all included that was nested in it.
    pub duration: Nanos,
    pub kind: InterruptionKind,
    /// It has a separate kernel entry, as hardware interrupts do and softirqs do not.
    pub enters: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Timer ticks.
    pub tick: Nanos,
    pub interrupt: Nanos,
    pub preemption: Nanos,
    pub steal: Nanos,
    /// Ways into interrupts and out.
    pub entry: Nanos,
}

impl Parts {
    pub fn of(&self, kind: InterruptionKind) -> Nanos {
        match kind {
            InterruptionKind::Tick => self.tick,
            InterruptionKind::Interrupt => self.interrupt,
            InterruptionKind::Preemption => self.preemption,
            InterruptionKind::Steal => self.steal,
            InterruptionKind::Entry => self.entry,
        }
    }

    /// Of this kind and those before it.
    pub fn up_to(&self, kind: InterruptionKind) -> Nanos {
        InterruptionKind::ALL.into_iter().filter(|k| *k <= kind).map(|k| self.of(k)).sum()
    }

    pub fn sum(&self) -> Nanos {
        self.up_to(InterruptionKind::Entry)
    }

    fn add(&mut self, kind: InterruptionKind, time: Nanos) {
        match kind {
            InterruptionKind::Tick => self.tick += time,
            InterruptionKind::Interrupt => self.interrupt += time,
            InterruptionKind::Preemption => self.preemption += time,
            InterruptionKind::Steal => self.steal += time,
            InterruptionKind::Entry => self.entry += time,
        }
    }
}

/// A phase that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Which of the phases, from 0.
    pub phase: usize,
    pub duration: Nanos,
    /// For how long, never more than the phase took.
    pub parts: Parts,
    /// How many interrupts with a separate kernel entry it contains.
    pub entries: u32,
}

impl Interrupted {
    fn new(phase: usize, duration: Nanos) -> Interrupted {
        Interrupted { phase, duration, parts: Parts::default(), entries: 0 }
    }

    /// Its residual after this kind and those before it are subtracted.
    pub fn left(&self, minus: InterruptionKind) -> Nanos {
        self.duration - self.parts.up_to(minus)
    }
}

/// Phases, and what of each was not its own.
#[derive(Clone, Debug)]
pub struct Split<P> {
    phases: P,
    interrupted: Vec<Interrupted>,
    outside: Parts,
}

/// A curve of figure 4.
#[derive(Clone, Debug, PartialEq)]
pub struct SubtractionCurve {
    /// The kind that was subtracted last, after those before it; `None`: nothing was.
    pub minus: Option<InterruptionKind>,
    /// Residual of the phases, ns.
    pub left: Distribution,
}

/// Splits the time of the phases. `events` in the order of their starts; where they overlap, the time is that of the one that
/// began last, which interrupted the others: steal within a tick is steal, and a tick while another task runs is a tick. No
/// time counts twice. An event that spans several phases is split among them. Linear in the number of both; the phases are gone
/// through, not kept, as ten million take 160 MB.
///
/// # Errors
/// [`BadOrder`] of phases or events.
pub fn split<P: Iterator<Item = WorkPhase> + Clone>(phases: P, events: &[Interruption]) -> Result<Split<P>, BadOrder> {
    in_order(phases.clone())?;
    let mut charged = ChargedPhases {
        next: phases.clone().enumerate().peekable(),
        interrupted: Vec::new(),
        outside: Parts::default(),
    };
    // Events that have started, the innermost last, and the time up to which all is processed.
    let mut running: Vec<(Nanos, InterruptionKind)> = Vec::new();
    let mut at = Nanos(i64::MIN);
    for (index, event) in events.iter().enumerate() {
        if event.duration < Nanos::ZERO {
            return Err(BadOrder::Negative { what: "event", index, duration: event.duration });
        }
        if event.start < at {
            return Err(BadOrder::TooEarly { what: "event", index });
        }
        charged.run(&mut running, &mut at, event.start);
        at = event.start;
        if event.enters {
            charged.enter(at);
        }
        running.push((event.start + event.duration, event.kind));
    }
    charged.run(&mut running, &mut at, Nanos(i64::MAX));
    Ok(Split { phases, interrupted: charged.interrupted, outside: charged.outside })
}

/// What is dealt with, and the phases that may still be interrupted.
struct ChargedPhases<P: Iterator<Item = (usize, WorkPhase)>> {
    next: Peekable<P>,
    interrupted: Vec<Interrupted>,
    outside: Parts,
}

impl<P: Iterator<Item = (usize, WorkPhase)>> ChargedPhases<P> {
    /// Deals with the events that run, until a time.
    fn run(&mut self, running: &mut Vec<(Nanos, InterruptionKind)>, at: &mut Nanos, until: Nanos) {
        while let Some((end, kind)) = running.last().copied() {
            let to = end.min(until);
            if to > *at {
                self.charge(*at, to, kind);
                *at = to;
            }
            if end > until {
                return;
            }
            running.pop();
        }
    }

    /// Counts an entry in the phase of this moment, which is after all before it.
    fn enter(&mut self, at: Nanos) {
        while self.next.next_if(|(_, p)| p.end() <= at).is_some() {}
        if let Some(phase) = self.next.peek().copied().filter(|(_, p)| p.start <= at) {
            self.change(phase, |i| i.entries += 1);
        }
    }

    fn change(&mut self, (index, phase): (usize, WorkPhase), how: impl FnOnce(&mut Interrupted)) {
        match self.interrupted.last_mut().filter(|i| i.phase == index) {
            Some(known) => how(known),
            None => {
                let mut new = Interrupted::new(index, phase.duration);
                how(&mut new);
                self.interrupted.push(new);
            }
        }
    }

    /// Charges a stretch of time, which is after all before it, to the phases in it.
    fn charge(&mut self, from: Nanos, to: Nanos, kind: InterruptionKind) {
        let mut at = from;
        while let Some((index, phase)) = self.next.peek().copied().filter(|(_, p)| p.start < to) {
            let (start, end) = (at.max(phase.start), to.min(phase.end()));
            if end > start {
                self.outside.add(kind, start - at);
                self.change((index, phase), |i| i.parts.add(kind, end - start));
                at = end;
            }
            if phase.end() > to {
                return;
            }
            self.next.next();
        }
        self.outside.add(kind, to - at);
    }
}

/// An interrupt that took longer than such a one usually does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlongInterrupt {
    pub start: Nanos,
    pub end: Nanos,
    /// By how much it was longer.
    pub over: Nanos,
    /// What it was subtracted as.
    pub kind: InterruptionKind,
}

/// What a hypervisor may have held up.
struct Held {
    from: Nanos,
    until: Nanos,
    /// By so much it is longer than it should be, for no other reason.
    over: Nanos,
    what: PhasePosition,
}

#[derive(Clone, Copy)]
enum PhasePosition {
    Phase(usize, Nanos),
    Interrupt(usize),
}

impl Held {
    /// What of a time it can have been held up for.
    fn within(&self, s: &Stolen) -> Nanos {
        self.over.min(self.until.min(s.until) - self.from.max(s.from))
    }
}

/// Where else than in phases a hypervisor's time was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Of each of the interrupts, how much.
    pub interrupts: Vec<Nanos>,
    /// Unattributed steal time: it fell into other tasks or between the phases, or came in short pieces.
    pub hidden: Nanos,
}

impl<P: Iterator<Item = WorkPhase> + Clone> Split<P> {
    /// Subtracts what a hypervisor took: of those phases and interrupts in which it can have been that are longest for no other
    /// reason, of a phase as far as it is over the `shortest` one. The moments are not known, so this is what is likely. `long`
    /// in the order of their begins; what is taken of them still belongs to the phase. Of `stolen` stretches that overlap, as the
    /// kernel's never do, the later one begins where the earlier one ended.
    pub fn steal(&mut self, stolen: &[Stolen], shortest: Nanos, long: &[OverlongInterrupt]) -> Taken {
        let mut taken = Taken { interrupts: vec![Nanos::ZERO; long.len()], hidden: Nanos::ZERO };
        let mut known = self.interrupted.iter().peekable();
        let mut phases = self.phases.clone().enumerate().peekable();
        let mut interrupts = long.iter().enumerate().peekable();
        let mut window: VecDeque<Held> = VecDeque::new();
        let mut given: Vec<(usize, Nanos, Nanos)> = Vec::new();
        let mut before = Nanos(i64::MIN);
        for s in stolen {
            let s = &Stolen { from: s.from.max(before), ..*s };
            before = s.until.max(before);
            window.retain(|h| h.until > s.from);
            while let Some((index, phase)) = phases.next_if(|(_, p)| p.start < s.until) {
                while known.next_if(|i| i.phase < index).is_some() {}
                let other = known.peek().filter(|i| i.phase == index).map_or(Nanos::ZERO, |i| i.parts.sum());
                let over = phase.duration - shortest - other;
                if over >= LEAST_STOLEN && phase.end() > s.from {
                    window.push_back(Held {
                        from: phase.start,
                        until: phase.end(),
                        over,
                        what: PhasePosition::Phase(index, phase.duration),
                    });
                }
            }
            while let Some((index, l)) = interrupts.next_if(|(_, l)| l.start < s.until) {
                if l.over >= LEAST_STOLEN && l.end > s.from {
                    window.push_back(Held {
                        from: l.start,
                        until: l.end,
                        over: l.over,
                        what: PhasePosition::Interrupt(index),
                    });
                }
            }
            let longest = window.iter().enumerate().map(|(at, h)| (h.within(s), at));
            let mut longest: BinaryHeap<(Nanos, usize)> = longest.filter(|(over, _)| *over >= LEAST_STOLEN).collect();
            let mut rest = s.time.max(Nanos::ZERO);
            while let Some((over, at)) = longest.pop().filter(|_| rest > Nanos::ZERO) {
                let part = over.min(rest);
                rest = rest - part;
                if let Some(h) = window.get_mut(at) {
                    h.over = h.over - part;
                    match h.what {
                        PhasePosition::Phase(index, duration) => given.push((index, duration, part)),
                        PhasePosition::Interrupt(index) => {
                            taken.interrupts.get_mut(index).into_iter().for_each(|t| *t += part)
                        }
                    }
                }
            }
            taken.hidden += rest;
        }
        given.sort_unstable();
        self.give(given);
        self.instead(long, &taken.interrupts);
        taken
    }

    /// Of the phases with these interrupts, so much was the hypervisor's.
    fn instead(&mut self, long: &[OverlongInterrupt], taken: &[Nanos]) {
        let mut phases = self.phases.clone().enumerate().peekable();
        let mut interrupted = self.interrupted.iter_mut().peekable();
        for (l, mut time) in long.iter().zip(taken.iter().copied()).filter(|(_, time)| *time > Nanos::ZERO) {
            while phases.next_if(|(_, p)| p.end() <= l.start).is_some() {}
            // It may have continued in the following phases.
            while let Some((index, _)) = phases.peek().filter(|(_, p)| p.start < l.end && time > Nanos::ZERO) {
                while interrupted.next_if(|i| i.phase < *index).is_some() {}
                if let Some(i) = interrupted.peek_mut().filter(|i| i.phase == *index) {
                    let part = time.min(i.parts.of(l.kind));
                    i.parts.add(l.kind, Nanos(-part.0));
                    i.parts.add(InterruptionKind::Steal, part);
                    time = time - part;
                }
                if phases.peek().is_none_or(|(_, p)| p.end() > l.end) {
                    break;
                }
                phases.next();
            }
        }
    }

    /// Charges each interrupt its entry and exit overhead, as far as its phase is over the `shortest` one.
    pub fn enter(&mut self, each: Nanos, shortest: Nanos) {
        for i in self.interrupted.iter_mut().filter(|i| i.entries > 0) {
            let room = (i.duration - i.parts.sum() - shortest).max(Nanos::ZERO);
            i.parts.entry = room.min(Nanos(each.0.saturating_mul(i64::from(i.entries))));
        }
    }

    /// Adds the hypervisor's times to phases, which have their durations, both in the order of the phases.
    fn give(&mut self, given: Vec<(usize, Nanos, Nanos)>) {
        let mut all = Vec::with_capacity(self.interrupted.len() + given.len());
        let mut known = std::mem::take(&mut self.interrupted).into_iter().peekable();
        for (phase, duration, time) in given {
            while let Some(before) = known.next_if(|i| i.phase <= phase) {
                all.push(before);
            }
            if all.last().is_none_or(|i: &Interrupted| i.phase != phase) {
                all.push(Interrupted::new(phase, duration));
            }
            all.iter_mut().next_back().into_iter().for_each(|i| i.parts.add(InterruptionKind::Steal, time));
        }
        all.extend(known);
        self.interrupted = all;
    }

    /// The phases that were interrupted, in the order of time.
    pub fn interrupted(&self) -> &[Interrupted] {
        &self.interrupted
    }

    /// Events in no phase: before, after and between them.
    pub fn outside(&self) -> Parts {
        self.outside
    }

    /// All phases' time by kind.
    pub fn total(&self) -> Parts {
        self.interrupted.iter().fold(Parts::default(), |mut sum, i| {
            InterruptionKind::ALL.into_iter().for_each(|k| sum.add(k, i.parts.of(k)));
            sum
        })
    }

    /// The curves, from the phases' whole time to the last residual; empty without phases. Each is made when it is asked for,
    /// as it may be large.
    pub fn curves(&self) -> impl Iterator<Item = SubtractionCurve> + '_ {
        let whole = Distribution::new(self.phases.clone().map(|p| count(p.duration)));
        let from = || self.interrupted.iter().map(|i| count(i.duration));
        let less = move |whole: &Distribution, kind| {
            whole.changed(from(), self.interrupted.iter().map(|i| count(i.left(kind))))
        };
        std::iter::once(None).chain(InterruptionKind::ALL.into_iter().map(Some)).filter_map(move |minus| {
            let whole = whole.as_ref()?;
            Some(SubtractionCurve { minus, left: minus.map_or_else(|| whole.clone(), |kind| less(whole, kind)) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(start: i64, duration: i64, kind: InterruptionKind) -> Interruption {
        let enters = matches!(kind, InterruptionKind::Tick | InterruptionKind::Interrupt);
        Interruption { start: Nanos(start), duration: Nanos(duration), kind, enters }
    }

    fn stolen(from: i64, until: i64, time: i64) -> Stolen {
        Stolen { from: Nanos(from), until: Nanos(until), time: Nanos(time) }
    }

    /// Residual of every phase.
    fn left<P: Iterator<Item = WorkPhase> + Clone>(s: &Split<P>, minus: InterruptionKind) -> Vec<i64> {
        let mut all: Vec<i64> = s.phases.clone().map(|p| p.duration.0).collect();
        s.interrupted().iter().for_each(|i| all[i.phase] = i.left(minus).0);
        all
    }

    fn phases(start: i64, durations: &[i64]) -> Vec<WorkPhase> {
        WorkPhase::back_to_back(Nanos(start), durations.iter().map(|d| Nanos(*d)))
    }

    /// Phases from 0 on, each with the gap behind it; and events: begin, length, number of the kind.
    fn made(phases: &[(i64, i64)], events: &mut [(i64, i64, usize)]) -> (Vec<WorkPhase>, Vec<Interruption>) {
        let mut at = 0;
        let phase = |(d, gap): &(i64, i64)| {
            let phase = WorkPhase { start: Nanos(at), duration: Nanos(*d) };
            at += d + gap;
            phase
        };
        events.sort_by_key(|e| e.0);
        (
            phases.iter().map(phase).collect(),
            events.iter().map(|(s, d, k)| event(*s, *d, InterruptionKind::ALL[*k])).collect(),
        )
    }

    fn parts(tick: i64, interrupt: i64, preemption: i64, steal: i64) -> Parts {
        let (tick, interrupt, preemption) = (Nanos(tick), Nanos(interrupt), Nanos(preemption));
        Parts { tick, interrupt, preemption, steal: Nanos(steal), entry: Nanos::ZERO }
    }

    #[test]
    fn an_event_over_two_phases_is_split() {
        let p = phases(100, &[100, 100, 100]);
        let s = split(
            p.iter().copied(),
            &[
                event(90, 20, InterruptionKind::Tick),
                event(180, 50, InterruptionKind::Preemption),
                event(390, 20, InterruptionKind::Steal),
            ],
        )
        .unwrap();
        let by_phase: Vec<(usize, Parts)> = s.interrupted().iter().map(|i| (i.phase, i.parts)).collect();
        assert_eq!(by_phase, [(0, parts(10, 0, 20, 0)), (1, parts(0, 0, 30, 0)), (2, parts(0, 0, 0, 10))]);
        assert_eq!(s.outside(), parts(10, 0, 0, 10));
        assert_eq!(s.total(), parts(10, 0, 50, 10));
    }

    #[test]
    fn nested_time_counts_once_for_the_innermost() {
        let p = phases(0, &[1000]);
        let events = [
            event(100, 500, InterruptionKind::Preemption),
            event(200, 100, InterruptionKind::Tick),
            event(250, 20, InterruptionKind::Steal),
            event(590, 20, InterruptionKind::Interrupt),
        ];
        let s = split(p.iter().copied(), &events).unwrap();
        assert_eq!(s.total(), parts(80, 20, 390, 20));
        assert_eq!(left(&s, InterruptionKind::Steal), [490]);
        // Overlapping without being nested.
        let s = split(
            p.iter().copied(),
            &[event(0, 100, InterruptionKind::Tick), event(50, 100, InterruptionKind::Interrupt)],
        )
        .unwrap();
        assert_eq!(s.total(), parts(50, 100, 0, 0));
    }

    #[test]
    fn gaps_between_phases_are_outside() {
        let p = [phases(0, &[10])[0], phases(20, &[10])[0], phases(50, &[0])[0], phases(60, &[10])[0]];
        let s = split(p.iter().copied(), &[event(5, 60, InterruptionKind::Steal)]).unwrap();
        assert_eq!(
            s.interrupted().iter().map(|i| (i.phase, i.parts.steal.0)).collect::<Vec<_>>(),
            [(0, 5), (1, 10), (3, 5)]
        );
        assert_eq!(s.outside().steal, Nanos(40));
        assert_eq!(
            split(std::iter::empty(), &[event(5, 60, InterruptionKind::Tick)]).unwrap().outside().tick,
            Nanos(60)
        );
        assert_eq!(split(std::iter::empty(), &[]).unwrap().curves().count(), 0);
    }

    #[test]
    fn bad_orders_are_named() {
        let p = phases(0, &[10]);
        let late = [event(5, 1, InterruptionKind::Tick), event(4, 1, InterruptionKind::Tick)];
        assert_eq!(split(p.iter().copied(), &late).err(), Some(BadOrder::TooEarly { what: "event", index: 1 }));
        let negative = BadOrder::Negative { what: "event", index: 0, duration: Nanos(-1) };
        assert_eq!(split(p.iter().copied(), &[event(5, -1, InterruptionKind::Tick)]).err(), Some(negative));
        assert!(split([p[0], p[0]].into_iter(), &[]).is_err());
    }

    /// Figure 4: each curve is nearer to flat, and the last is: 1000 ns of work, a tick every 4 µs, network interrupts, a
    /// daemon.
    #[test]
    fn flat_once_all_is_subtracted() {
        let mut events: Vec<Interruption> =
            (0..2_000).map(|i| event(i * 4_000 + 1, 300, InterruptionKind::Tick)).collect();
        events.extend((0..300).map(|i| event(i * 26_321 + 900, 150 + i % 90, InterruptionKind::Interrupt)));
        events.extend((0..5).map(|i| event(i * 1_500_007 + 700_000, 60_000, InterruptionKind::Preemption)));
        events.extend((0..40).map(|i| event(i * 199_999 + 3_000, 2_000 + i, InterruptionKind::Steal)));
        events.sort_by_key(|e| e.start);
        // Work continues whenever no event runs.
        let (mut p, mut start, mut at, mut done) = (Vec::new(), 0, 0, 0);
        let busy_until =
            |t: i64| events.iter().take_while(|e| e.start.0 <= t).map(|e| e.start.0 + e.duration.0).max().unwrap_or(0);
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for e in &events {
            let (a, b) = (e.start.0, e.start.0 + e.duration.0);
            match merged.last_mut().filter(|m| m.1 >= a) {
                Some(m) => m.1 = m.1.max(b),
                None => merged.push((a, b)),
            }
        }
        assert_eq!(busy_until(5), 301);
        for (a, b) in merged {
            while at + (1000 - done) <= a {
                at += 1000 - done;
                p.push(WorkPhase { start: Nanos(start), duration: Nanos(at - start) });
                (start, done) = (at, 0);
            }
            done += a - at;
            at = b;
        }
        let s = split(p.iter().copied(), &events).unwrap();
        let curves: Vec<SubtractionCurve> = s.curves().collect();
        let spans: Vec<f64> = curves.iter().map(|c| c.left.span(0.0).unwrap()).collect();
        assert_eq!(curves.iter().map(|c| c.minus).collect::<Vec<_>>()[1..], InterruptionKind::ALL.map(Some));
        assert!(spans.is_sorted_by(|a, b| a >= b) && spans[0] > 50.0 && spans[3] > 1.0, "{spans:?}");
        assert_eq!((spans[4], curves[4].left.min()), (0.0, 1000));
    }

    /// Phases of 10 µs. One has a tick of 5 µs and was held up for 40 µs more, the next one for 30 µs; others were late by less than a
    /// hypervisor takes.
    #[test]
    fn a_hypervisors_time_goes_to_the_phases_that_are_late_for_no_other_reason() {
        let p = phases(0, &[10_000, 10_500, 55_000, 40_000, 10_900, 10_000]);
        let tick = [event(25_000, 5_000, InterruptionKind::Tick)];
        let given = |all: &[Stolen]| {
            let mut s = split(p.iter().copied(), &tick).unwrap();
            let taken = s.steal(all, Nanos(10_000), &[]);
            let given: Vec<_> = s.interrupted().iter().map(|i| (i.phase, i.parts.steal.0)).collect();
            (given, taken.hidden.0, left(&s, InterruptionKind::Steal))
        };
        let (steal, hidden, left) = given(&[stolen(5_000, 120_000, 69_000)]);
        assert_eq!((steal, hidden), (vec![(2, 40_000), (3, 29_000)], 0));
        assert_eq!(left, [10_000, 10_500, 10_000, 11_000, 10_900, 10_000]);
        // Steal time beyond their delays interrupted something else.
        let (steal, hidden, _) = given(&[stolen(5_000, 120_000, 90_000)]);
        assert_eq!((steal, hidden), (vec![(2, 40_000), (3, 30_000)], 20_000));
        // One after the other: what the first has taken is not there for the second, nor what is outside of the time.
        let (steal, hidden, _) = given(&[stolen(0, 40_000, 18_000), stolen(40_000, 120_000, 60_000)]);
        assert_eq!((steal, hidden), (vec![(2, 40_000), (3, 30_000)], 8_000));
        let (steal, hidden, _) = given(&[stolen(-9_000, 0, 5_000), stolen(200_000, 300_000, -7)]);
        assert_eq!((steal, hidden), (vec![(2, 0)], 5_000));
    }

    /// A tick of 30 µs, which usually takes 5, continues into the next phase.
    #[test]
    fn a_hypervisors_time_within_an_interrupt_is_not_the_interrupts() {
        let p = phases(0, &[10_000, 25_000, 25_000, 10_000]);
        let mut s = split(p.iter().copied(), &[event(20_000, 30_000, InterruptionKind::Tick)]).unwrap();
        let (start, end) = (Nanos(20_000), Nanos(50_000));
        let long = OverlongInterrupt { start, end, over: Nanos(25_000), kind: InterruptionKind::Tick };
        let taken = s.steal(&[stolen(10_000, 51_000, 21_000)], Nanos(10_000), &[long]);
        assert_eq!(taken, Taken { interrupts: vec![Nanos(21_000)], hidden: Nanos::ZERO });
        let parts: Vec<_> = s.interrupted().iter().map(|i| (i.phase, i.parts.tick.0, i.parts.steal.0)).collect();
        assert_eq!(parts, [(1, 0, 15_000), (2, 9_000, 6_000)]);
    }

    #[test]
    fn each_interrupt_has_its_way_in_and_out() {
        let p = phases(0, &[10_000, 10_000, 18_000, 14_000, 10_200]);
        let events = [
            event(25_000, 1_000, InterruptionKind::Tick),
            Interruption { enters: false, ..event(26_000, 1_000, InterruptionKind::Tick) },
            event(27_500, 1_000, InterruptionKind::Interrupt),
            // Where one phase ends another begins; and one without a residual.
            event(38_000, 1_000, InterruptionKind::Tick),
            event(52_100, 0, InterruptionKind::Tick),
        ];
        let mut s = split(p.iter().copied(), &events).unwrap();
        s.enter(Nanos(2_000), Nanos(10_000));
        let entries: Vec<_> = s.interrupted().iter().map(|i| (i.phase, i.entries, i.parts.entry.0)).collect();
        assert_eq!(entries, [(2, 2, 4_000), (3, 1, 2_000), (4, 1, 200)]);
        assert_eq!(left(&s, InterruptionKind::Entry), [10_000, 10_000, 11_000, 11_000, 10_000]);
    }

    /// Stretches that all overlap, as a damaged or malicious document may have, each with most of the phases.
    #[test]
    fn stretches_that_overlap_take_no_longer() {
        let n = 100_000_i64;
        let phases = (0..n)
            .map(|i| WorkPhase { start: Nanos(i * 200_000), duration: Nanos(if i == 0 { 1_000 } else { 200_000 }) });
        let all: Vec<Stolen> = (0..n).map(|i| stolen(i, n * 200_000, 1_000_000)).collect();
        let mut split = split(phases, &[]).unwrap();
        let taken = split.steal(&all, Nanos(1_000), &[]);
        assert_eq!(split.total().steal + taken.hidden, Nanos(n * 1_000_000));
    }

    proptest! {
        /// Every nanosecond of every event is in one part, of a phase or outside, as a count nanosecond by nanosecond gives it.
        #[test]
        fn as_counted_by_nanosecond(
            durations in proptest::collection::vec((0..30_i64, 0..5_i64), 0..12),
            mut events in proptest::collection::vec((0..200_i64, 0..60_i64, 0..4_usize), 0..12),
        ) {
            let (p, events) = made(&durations, &mut events);
            let s = split(p.iter().copied(), &events).unwrap();
            let (mut inside, mut outside) = (vec![Parts::default(); p.len()], Parts::default());
            for t in 0..300 {
                let owner = events.iter().rfind(|e| e.start.0 <= t && t < (e.start + e.duration).0);
                let phase = p.iter().position(|p| p.start.0 <= t && t < p.end().0);
                if let Some(e) = owner {
                    phase.map_or(&mut outside, |i| &mut inside[i]).add(e.kind, Nanos(1));
                }
            }
            prop_assert_eq!(s.outside(), outside);
            let mut found = vec![Parts::default(); p.len()];
            s.interrupted().iter().for_each(|i| found[i.phase] = i.parts);
            prop_assert_eq!(found, inside);
            prop_assert!(left(&s, InterruptionKind::Steal).into_iter().all(|left| left >= 0));
            prop_assert!(s.interrupted().is_sorted_by(|a, b| a.phase < b.phase));
            let entered = events.iter().filter(|e| e.enters && p.iter().any(|p| p.start <= e.start && e.start < p.end()));
            let entries: u32 = s.interrupted().iter().map(|i| i.entries).sum();
            prop_assert_eq!(entries as usize, entered.count());
            prop_assert!(s.interrupted().iter().all(|i| i.duration == p[i.phase].duration));
            for curve in s.curves() {
                let left = left(&s, curve.minus.unwrap_or(InterruptionKind::Entry)).into_iter().map(|l| l as u64);
                let whole = p.iter().map(|p| p.duration.0 as u64);
                let wanted = if curve.minus.is_some() { Distribution::new(left) } else { Distribution::new(whole) };
                prop_assert_eq!(Some(curve.left), wanted);
            }
        }

        /// Whatever steal time is recorded: none is added or lost, and no phase becomes shorter than the shortest by
        /// it.
        #[test]
        fn stolen_time_is_all_somewhere(
            durations in proptest::collection::vec((900..9_000_i64, 0..900_i64), 1..30),
            mut events in proptest::collection::vec((0..90_000_i64, 0..3_000_i64, 0..3_usize), 0..8),
            mut all in proptest::collection::vec((0..90_000_i64, 0..20_000_i64, 0..9_000_i64), 0..12),
            each in 0..4_000_i64,
        ) {
            let (p, events) = made(&durations, &mut events);
            all.sort();
            let all: Vec<Stolen> = all.iter().map(|(from, long, time)| stolen(*from, from + long, *time)).collect();
            let shortest = p.iter().map(|p| p.duration).min().unwrap();
            let before = split(p.iter().copied(), &events).unwrap();
            let floor: Vec<i64> = left(&before, InterruptionKind::Preemption).into_iter().map(|l| l.min(shortest.0)).collect();
            let whole: Nanos = all.iter().map(|s| s.time).sum();
            let mut after = before.clone();
            let taken = after.steal(&all, shortest, &[]);
            prop_assert_eq!(after.total().steal + taken.hidden, whole);
            prop_assert_eq!(left(&after, InterruptionKind::Preemption), left(&before, InterruptionKind::Preemption));
            let long = |e: &Interruption| OverlongInterrupt { start: e.start, end: e.start + e.duration, over: e.duration, kind: e.kind };
            let long: Vec<OverlongInterrupt> = events.iter().filter(|e| e.enters).map(long).collect();
            let mut after = before.clone();
            let taken = after.steal(&all, shortest, &long);
            after.enter(Nanos(each), shortest);
            let of_interrupts: Nanos = taken.interrupts.iter().copied().sum();
            // Of an interrupt between phases, or that was itself interrupted, less belongs to the phases.
            let inside = after.total().steal + taken.hidden;
            prop_assert!(inside <= whole && whole - inside <= of_interrupts);
            prop_assert!(long.iter().zip(&taken.interrupts).all(|(l, t)| *t <= l.over));
            prop_assert!(after.interrupted().is_sorted_by(|a, b| a.phase < b.phase));
            prop_assert!(after.interrupted().iter().all(|i| InterruptionKind::ALL.into_iter().all(|k| i.parts.of(k) >= Nanos::ZERO)));
            prop_assert!(left(&after, InterruptionKind::Entry).into_iter().zip(floor).all(|(left, floor)| left >= floor));
        }
    }
}
