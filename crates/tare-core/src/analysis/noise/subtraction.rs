//! What the phases took it for: their time split by what interrupted them, and the curves that are left as one kind after the
//! other is subtracted (ICS'05, figure 4, right). If the last is flat, everything is accounted for; what it still varies by
//! is indirect cost (caches), or was not traced.

use super::empirical::Distribution;
use super::{BadOrder, Phase, count, in_order};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::iter::Peekable;

/// What interrupts a phase, in the order of subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The timer tick.
    Tick,
    /// Any other interrupt.
    Interrupt,
    /// Another task had the CPU.
    Preemption,
    /// The hypervisor had it.
    Steal,
}

impl Kind {
    /// All of them, in the order of subtraction.
    pub const ALL: [Kind; 4] = [Kind::Tick, Kind::Interrupt, Kind::Preemption, Kind::Steal];
}

/// An interruption, on the clock of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it began.
    pub start: Nanos,
    /// How long it took, all included that was nested in it.
    pub duration: Nanos,
    /// What it was.
    pub kind: Kind,
}

/// Time by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Timer ticks.
    pub tick: Nanos,
    /// Other interrupts.
    pub interrupt: Nanos,
    /// Other tasks.
    pub preemption: Nanos,
    /// The hypervisor.
    pub steal: Nanos,
}

impl Parts {
    /// Of one kind.
    pub fn of(&self, kind: Kind) -> Nanos {
        match kind {
            Kind::Tick => self.tick,
            Kind::Interrupt => self.interrupt,
            Kind::Preemption => self.preemption,
            Kind::Steal => self.steal,
        }
    }

    /// Of this kind and those before it.
    pub fn up_to(&self, kind: Kind) -> Nanos {
        Kind::ALL.into_iter().filter(|k| *k <= kind).map(|k| self.of(k)).sum()
    }

    /// Of all kinds.
    pub fn sum(&self) -> Nanos {
        self.up_to(Kind::Steal)
    }

    fn add(&mut self, kind: Kind, time: Nanos) {
        match kind {
            Kind::Tick => self.tick += time,
            Kind::Interrupt => self.interrupt += time,
            Kind::Preemption => self.preemption += time,
            Kind::Steal => self.steal += time,
        }
    }
}

/// A phase that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Which of the phases, from 0.
    pub phase: usize,
    /// For how long, never more than the phase took.
    pub parts: Parts,
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
pub struct Curve {
    /// The kind that was subtracted last, after those before it; `None`: nothing was.
    pub minus: Option<Kind>,
    /// What is left of the phases, ns.
    pub left: Distribution,
}

/// Splits the time of the phases. `events` in the order of their starts; where they overlap, the time is that of the one that
/// began last, which interrupted the others: steal within a tick is steal, and a tick while another task runs is a tick. No
/// time counts twice. An event that spans several phases is split among them. Linear in the number of both; the phases are gone
/// through, not kept, as ten million take 160 MB.
///
/// # Errors
/// [`BadOrder`] of phases or events.
pub fn split<P: Iterator<Item = Phase> + Clone>(phases: P, events: &[Event]) -> Result<Split<P>, BadOrder> {
    in_order(phases.clone())?;
    let mut charged =
        Charged { next: phases.clone().enumerate().peekable(), interrupted: Vec::new(), outside: Parts::default() };
    // Events that have begun, the innermost last, and the time up to which all is dealt with.
    let mut running: Vec<(Nanos, Kind)> = Vec::new();
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
        running.push((event.start + event.duration, event.kind));
    }
    charged.run(&mut running, &mut at, Nanos(i64::MAX));
    Ok(Split { phases, interrupted: charged.interrupted, outside: charged.outside })
}

/// What is dealt with, and the phases that may still be interrupted.
struct Charged<P: Iterator<Item = (usize, Phase)>> {
    next: Peekable<P>,
    interrupted: Vec<Interrupted>,
    outside: Parts,
}

impl<P: Iterator<Item = (usize, Phase)>> Charged<P> {
    /// Deals with the events that run, until a time.
    fn run(&mut self, running: &mut Vec<(Nanos, Kind)>, at: &mut Nanos, until: Nanos) {
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

    /// Charges a stretch of time, which is after all before it, to the phases in it.
    fn charge(&mut self, from: Nanos, to: Nanos, kind: Kind) {
        let mut at = from;
        while let Some((index, phase)) = self.next.peek().copied().filter(|(_, p)| p.start < to) {
            let (start, end) = (at.max(phase.start), to.min(phase.end()));
            if end > start {
                self.outside.add(kind, start - at);
                match self.interrupted.last_mut().filter(|i| i.phase == index) {
                    Some(known) => known.parts.add(kind, end - start),
                    None => {
                        let mut parts = Parts::default();
                        parts.add(kind, end - start);
                        self.interrupted.push(Interrupted { phase: index, parts });
                    }
                }
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

impl<P: Iterator<Item = Phase> + Clone> Split<P> {
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
            Kind::ALL.into_iter().for_each(|k| sum.add(k, i.parts.of(k)));
            sum
        })
    }

    /// What is left of every phase after this kind and those before it are subtracted, ns; never negative.
    pub fn left(&self, minus: Option<Kind>) -> impl Iterator<Item = Nanos> + Clone + '_ {
        let mut interrupted = self.interrupted.iter().peekable();
        self.phases.clone().enumerate().map(move |(index, phase)| {
            match (interrupted.next_if(|i| i.phase == index), minus) {
                (Some(i), Some(kind)) => phase.duration - i.parts.up_to(kind),
                _ => phase.duration,
            }
        })
    }

    /// The curves, from all of the phases' time to what is left at the end; empty without phases.
    pub fn curves(&self) -> Vec<Curve> {
        let minus = std::iter::once(None).chain(Kind::ALL.into_iter().map(Some));
        let curve = |minus| Some(Curve { minus, left: Distribution::new(self.left(minus).map(count))? });
        minus.filter_map(curve).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(start: i64, duration: i64, kind: Kind) -> Event {
        Event { start: Nanos(start), duration: Nanos(duration), kind }
    }

    fn phases(start: i64, durations: &[i64]) -> Vec<Phase> {
        Phase::back_to_back(Nanos(start), durations.iter().map(|d| Nanos(*d)))
    }

    fn parts(tick: i64, interrupt: i64, preemption: i64, steal: i64) -> Parts {
        Parts { tick: Nanos(tick), interrupt: Nanos(interrupt), preemption: Nanos(preemption), steal: Nanos(steal) }
    }

    #[test]
    fn an_event_over_two_phases_is_split() {
        let p = phases(100, &[100, 100, 100]);
        let s = split(
            p.iter().copied(),
            &[event(90, 20, Kind::Tick), event(180, 50, Kind::Preemption), event(390, 20, Kind::Steal)],
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
            event(100, 500, Kind::Preemption),
            event(200, 100, Kind::Tick),
            event(250, 20, Kind::Steal),
            event(590, 20, Kind::Interrupt),
        ];
        let s = split(p.iter().copied(), &events).unwrap();
        assert_eq!(s.total(), parts(80, 20, 390, 20));
        assert_eq!(s.left(Some(Kind::Steal)).collect::<Vec<_>>(), [Nanos(490)]);
        // Overlapping without being nested.
        let s = split(p.iter().copied(), &[event(0, 100, Kind::Tick), event(50, 100, Kind::Interrupt)]).unwrap();
        assert_eq!(s.total(), parts(50, 100, 0, 0));
    }

    #[test]
    fn gaps_between_phases_are_outside() {
        let p = [phases(0, &[10])[0], phases(20, &[10])[0], phases(50, &[0])[0], phases(60, &[10])[0]];
        let s = split(p.iter().copied(), &[event(5, 60, Kind::Steal)]).unwrap();
        assert_eq!(
            s.interrupted().iter().map(|i| (i.phase, i.parts.steal.0)).collect::<Vec<_>>(),
            [(0, 5), (1, 10), (3, 5)]
        );
        assert_eq!(s.outside().steal, Nanos(40));
        assert_eq!(split(std::iter::empty(), &[event(5, 60, Kind::Tick)]).unwrap().outside().tick, Nanos(60));
        assert_eq!(split(std::iter::empty(), &[]).unwrap().curves(), []);
    }

    #[test]
    fn bad_orders_are_named() {
        let p = phases(0, &[10]);
        let late = [event(5, 1, Kind::Tick), event(4, 1, Kind::Tick)];
        assert_eq!(split(p.iter().copied(), &late).err(), Some(BadOrder::TooEarly { what: "event", index: 1 }));
        let negative = BadOrder::Negative { what: "event", index: 0, duration: Nanos(-1) };
        assert_eq!(split(p.iter().copied(), &[event(5, -1, Kind::Tick)]).err(), Some(negative));
        assert!(split([p[0], p[0]].into_iter(), &[]).is_err());
    }

    /// Figure 4: each curve is nearer to flat, and the last is: 1000 ns of work, a tick every 4 µs, network interrupts, a
    /// daemon.
    #[test]
    fn flat_once_all_is_subtracted() {
        let mut events: Vec<Event> = (0..2_000).map(|i| event(i * 4_000 + 1, 300, Kind::Tick)).collect();
        events.extend((0..300).map(|i| event(i * 26_321 + 900, 150 + i % 90, Kind::Interrupt)));
        events.extend((0..5).map(|i| event(i * 1_500_007 + 700_000, 60_000, Kind::Preemption)));
        events.extend((0..40).map(|i| event(i * 199_999 + 3_000, 2_000 + i, Kind::Steal)));
        events.sort_by_key(|e| e.start);
        // Work goes on whenever no event runs.
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
                p.push(Phase { start: Nanos(start), duration: Nanos(at - start) });
                (start, done) = (at, 0);
            }
            done += a - at;
            at = b;
        }
        let s = split(p.iter().copied(), &events).unwrap();
        let curves = s.curves();
        let spans: Vec<f64> = curves.iter().map(|c| c.left.span(0.0).unwrap()).collect();
        assert_eq!(curves.iter().map(|c| c.minus).collect::<Vec<_>>()[1..], Kind::ALL.map(Some));
        assert!(spans.is_sorted_by(|a, b| a >= b) && spans[0] > 50.0 && spans[3] > 1.0, "{spans:?}");
        assert_eq!((spans[4], curves[4].left.min()), (0.0, 1000));
    }

    proptest! {
        /// Every nanosecond of every event is in one part, of a phase or outside, as a count nanosecond by nanosecond gives it.
        #[test]
        fn as_counted_by_nanosecond(
            durations in proptest::collection::vec((0..30_i64, 0..5_i64), 0..12),
            mut events in proptest::collection::vec((0..200_i64, 0..60_i64, 0..4_usize), 0..12),
        ) {
            let mut at = 0;
            let p: Vec<Phase> = durations.iter().map(|(d, gap)| {
                let phase = Phase { start: Nanos(at), duration: Nanos(*d) };
                at += d + gap;
                phase
            }).collect();
            events.sort_by_key(|e| e.0);
            let events: Vec<Event> = events.iter().map(|(s, d, k)| event(*s, *d, Kind::ALL[*k])).collect();
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
            prop_assert!(s.left(Some(Kind::Steal)).all(|left| left >= Nanos::ZERO));
            prop_assert_eq!(s.left(None).collect::<Vec<_>>(), p.iter().map(|p| p.duration).collect::<Vec<_>>());
        }
    }
}
