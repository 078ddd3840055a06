//! When the timer interrupted during a trace, and which of the interrupts came while the traced process had no CPU (CS:APP practice
//! problem 9.2): those are not in the trace, and are found by interpolation between the ones that are.

use crate::trace::activity::{ActivityTick, Trace};
use serde::{Deserialize, Serialize};

/// How far a tick may come after the end of an inactive period and still count as inside, as a share of its period: the scheduler
/// gives the CPU back at ticks.
const LATE: f64 = 0.03;
/// Most ticks that are listed: those of a day at 1000 a second.
const MOST: f64 = 1e8;

/// How a tick shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", content = "gap", rename_all = "snake_case")]
pub enum TickSight {
    /// It interrupted the process, and began the inactive period at this position.
    Active(usize),
    /// It came within the inactive period at this position.
    Inactive(usize),
    /// It should have interrupted the process, and did not.
    Unseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceTick {
    /// Cycles from the beginning of the trace.
    pub at: f64,
    pub sight: TickSight,
}

/// All timer interrupts of a trace, in the order of time.
pub fn ticks(trace: &Trace, tick: &ActivityTick) -> Vec<TraceTick> {
    let begun = |i: &usize| Some((*i, trace.gaps().get(*i)?.start as f64));
    let known: Vec<(usize, f64)> = tick.gaps.iter().filter_map(begun).collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return Vec::new() };
    let (period, length) = (tick.period, trace.length() as f64);
    if !(period > 0.0 && length / period < MOST) {
        return Vec::new();
    }
    let estimated = |at: f64| TraceTick { at, sight: sight(trace, at, period) };
    // Before the first that is seen, nearest first.
    let before = (1..).map(|k| first.1 - f64::from(k) * period).take_while(|at| *at >= 0.0);
    let mut all: Vec<TraceTick> = before.map(estimated).collect();
    all.reverse();
    for (i, (gap, at)) in known.iter().enumerate() {
        if let Some((_, from)) = i.checked_sub(1).and_then(|i| known.get(i)) {
            let steps = ((at - from) / period).round().max(1.0) as u32;
            all.extend((1..steps).map(|k| estimated(from + (at - from) * f64::from(k) / f64::from(steps))));
        }
        all.push(TraceTick { at: *at, sight: TickSight::Active(*gap) });
    }
    let after = (1..).map(|k| last.1 + f64::from(k) * period).take_while(|at| *at <= length);
    all.extend(after.map(estimated));
    all
}

/// What a tick met of which only the time is known.
fn sight(trace: &Trace, at: f64, period: f64) -> TickSight {
    let after = trace.gaps().partition_point(|g| g.start as f64 <= at);
    let over = after.checked_sub(1).and_then(|i| Some((i, trace.gaps().get(i)?)));
    match over.filter(|(_, g)| g.end() as f64 + LATE * period > at) {
        Some((i, _)) => TickSight::Inactive(i),
        None => TickSight::Unseen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::Gap;
    use proptest::prelude::*;

    /// CS:APP figure 9.5: start and duration of the inactive periods I48 to I55, in cycles.
    const FIGURE_9_5: [(u64, u64); 8] = [
        (196739065, 247557),
        (197845193, 8297),
        (202210927, 5718758),
        (209976803, 7153),
        (213154606, 5726129),
        (224098278, 5718135),
        (232175694, 7096),
        (235042017, 5718793),
    ];
    /// Start of A48, which the figure has at 349.40 ms.
    const FROM: u64 = 191514104;
    const CYCLES_A_MS: f64 = 191514104.0 / 349.40;

    fn trace(gaps: impl Iterator<Item = (u64, u64)>, hz: f64) -> Trace {
        let gaps: Vec<Gap> = gaps.map(|(start, duration)| Gap { start, duration }).collect();
        let length = gaps.last().map_or(0, Gap::end);
        Trace::new(hz, length, gaps).unwrap()
    }

    /// Practice problem 9.2: five ticks interrupted the process, four came while another one had the CPU.
    #[test]
    fn problem_9_2() {
        let trace = trace(FIGURE_9_5.iter().map(|(s, d)| (s - FROM, *d)), 549.9e6);
        let found = ticks(&trace, &trace.summary().tick.unwrap());
        let at = |is: fn(&TickSight) -> bool| {
            let ms = found.iter().filter(|t| is(&t.sight)).map(|t| (t.at + FROM as f64) / CYCLES_A_MS);
            ms.map(|ms| (ms * 100.0).round() / 100.0).collect::<Vec<f64>>()
        };
        let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.05);
        let active = at(|s| matches!(s, TickSight::Active(_)));
        assert!(near(&active, &[358.93, 368.91, 388.88, 408.85, 428.81]), "{active:?}");
        let inactive = at(|s| matches!(s, TickSight::Inactive(_)));
        assert!(near(&inactive, &[378.90, 398.86, 418.83, 438.80]), "{inactive:?}");
        let gaps: Vec<TickSight> =
            found.iter().map(|t| t.sight).filter(|s| matches!(s, TickSight::Inactive(_))).collect();
        assert_eq!(gaps, [2, 4, 5, 7].map(TickSight::Inactive));
        assert_eq!(found.len(), 9);
        // The other process runs for a whole interval; this one loses the start of each of its own to the interrupt.
        let summary = trace.summary();
        let longest_active = trace.active().map(|(_, d)| d).max().unwrap();
        assert!(summary.longest.unwrap() > longest_active);
        assert!((summary.active.unwrap() - 0.53).abs() < 0.001);
    }

    #[test]
    fn without_a_tick_there_is_none() {
        let trace = trace([(100, 5), (200, 5)].into_iter(), 1e6);
        let none = ActivityTick { hz: 100, period: 50.0, gaps: vec![], expected: 0, min_cost: None, median_cost: None };
        assert!(ticks(&trace, &none).is_empty());
        assert!(ticks(&trace, &ActivityTick { period: 0.0, gaps: vec![0], ..none.clone() }).is_empty());
        // Of a tick at 100 and 200: those before and between are not seen.
        let found = ticks(&trace, &ActivityTick { gaps: vec![0, 1], ..none });
        let sights: Vec<(f64, TickSight)> = found.iter().map(|t| (t.at, t.sight)).collect();
        let unseen = |at| (at, TickSight::Unseen);
        let seen = |at, gap| (at, TickSight::Active(gap));
        assert_eq!(sights, [unseen(0.0), unseen(50.0), seen(100.0, 0), unseen(150.0), seen(200.0, 1)]);
    }

    proptest! {
        /// Whatever gaps are called ticks, the list is ascending and inside the trace.
        #[test]
        fn ticks_are_in_the_order_of_time(steps in proptest::collection::vec((1_u64..5_000, 0_u64..3_000), 1..60), period in 100.0..4_000.0_f64) {
            let mut at = 0;
            let gaps: Vec<(u64, u64)> = steps.iter().map(|(active, inactive)| {
                at += active;
                let gap = (at, *inactive);
                at += inactive;
                gap
            }).collect();
            let trace = trace(gaps.into_iter(), 1e6);
            let tick = ActivityTick {
                hz: 100,
                period,
                gaps: (0..steps.len()).step_by(3).collect(),
                expected: 0,
                min_cost: None,
                median_cost: None,
            };
            let found = ticks(&trace, &tick);
            prop_assert!(found.is_sorted_by(|a, b| a.at <= b.at));
            prop_assert!(found.iter().all(|t| t.at >= 0.0 && t.at <= trace.length() as f64));
        }
    }
}
