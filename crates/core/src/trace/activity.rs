//! Activity traces (CS:APP section 9.1.2): when a program that only reads the cycle counter ran, and when it did not; and the
//! timer tick among the interruptions.

use crate::statistics::series::median_of_sorted;
use serde::{Deserialize, Serialize};

/// An inactive period, in cycles from the beginning of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The last reading before it.
    pub start: u64,
    /// To the first reading after it.
    pub duration: u64,
}

impl Gap {
    /// The first reading after it.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// A trace: inactive periods, with the active ones between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    hz: f64,
    length: u64,
    gaps: Vec<Gap>,
}

/// What makes no trace.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadTrace {
    /// The counter's rate.
    #[error("the counter's rate is {0} Hz, expected a finite number greater than 0")]
    Rate(f64),
    /// Overlapping, or not in the order of time.
    #[error("inactive period {0} begins before the previous one ended, or ends after the trace")]
    Order(usize),
}

impl Trace {
    /// Of a counter with `hz` cycles a second, `length` cycles long; the gaps in the order of time.
    pub fn new(hz: f64, length: u64, gaps: Vec<Gap>) -> Result<Trace, BadTrace> {
        if !(hz.is_finite() && hz > 0.0) {
            return Err(BadTrace::Rate(hz));
        }
        let mut at = 0;
        for (i, g) in gaps.iter().enumerate() {
            let end = g.start.checked_add(g.duration).filter(|e| *e <= length && g.start >= at);
            at = end.ok_or(BadTrace::Order(i))?;
        }
        Ok(Trace { hz, length, gaps })
    }

    /// Cycles a second.
    pub fn hz(&self) -> f64 {
        self.hz
    }

    /// Cycles from the first to the last reading.
    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The active periods (start, duration) in cycles: before each gap, and after the last one if the trace continues.
    pub fn active(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let starts = std::iter::once(0).chain(self.gaps.iter().map(Gap::end));
        let ends = self.gaps.iter().map(|g| g.start).chain(Some(self.length));
        let last = self.gaps.len();
        starts.zip(ends).enumerate().filter(move |(i, (from, to))| *i < last || to > from).map(|(_, (a, b))| (a, b - a))
    }

    /// What each gap was, as far as period and length show it. A gap of a tick's period and more, or of the rest of
    /// one, is another process's; the tick that ended the time slice started it.
    pub fn causes(&self, summary: &ActivitySummary) -> Vec<InactivityCause> {
        let mut causes = vec![InactivityCause::Unknown; self.gaps.len()];
        let Some(tick) = &summary.tick else { return causes };
        for i in &tick.gaps {
            causes.get_mut(*i).into_iter().for_each(|c| *c = InactivityCause::Tick);
        }
        for (gap, cause) in self.gaps.iter().zip(&mut causes) {
            if gap.duration as f64 >= SWITCH * tick.period {
                *cause = InactivityCause::Switch;
            }
        }
        causes
    }

    /// Summary of the trace.
    pub fn summary(&self) -> ActivitySummary {
        let inactive: u64 = self.gaps.iter().map(|g| g.duration).sum();
        let share = |part: u64| if self.length == 0 { None } else { Some(part as f64 / self.length as f64) };
        ActivitySummary {
            active: share(self.length - inactive),
            gaps: u32::try_from(self.gaps.len()).unwrap_or(u32::MAX),
            longest: self.gaps.iter().map(|g| g.duration).max(),
            tick: tick(self),
        }
    }
}

/// What an inactive period was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InactivityCause {
    /// The timer interrupt, and what came at once after it.
    Tick,
    /// Another process had the CPU.
    Switch,
    /// Another interrupt, a daemon, the hypervisor: the trace alone does not show which.
    Unknown,
}

/// Summary of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivitySummary {
    /// Share of the time that was active; `None` for a trace of no length.
    pub active: Option<f64>,
    /// Number of inactive periods.
    pub gaps: u32,
    /// The longest of them, in cycles.
    pub longest: Option<u64>,
    /// The timer tick, if one is seen.
    pub tick: Option<ActivityTick>,
}

/// The timer tick as it is seen in a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivityTick {
    /// Its rate, as kernels are built: 100, 250, 300 or 1000 a second.
    pub hz: u32,
    /// Its period by the counter, in cycles; where the counter's rate is not exactly known, this shows it.
    pub period: f64,
    /// Positions in the trace of the gaps that begin with a tick.
    pub gaps: Vec<usize>,
    /// Ticks that fell into a time when the program ran; each should have started a gap.
    pub expected: u32,
    /// Shortest of the gaps that are no longer than a tenth of a period, in cycles: what one tick costs at least.
    pub min_cost: Option<u64>,
    /// Median of the same, in cycles.
    pub median_cost: Option<f64>,
}

/// Rates that Linux is built for (kernel/Kconfig.hz, CONFIG_HZ), from the highest: the ticks of a high one lie on those of a low one, too.
const RATES: [u32; 4] = [1000, 300, 250, 100];
/// Least durations of the gaps that a tick is looked for among, seconds; a tick costs a microsecond and more.
const FLOORS: [f64; 4] = [2e-6, 1e-6, 0.5e-6, 0.0];
/// How far a tick may be late, as a share of its period.
const LATE: f64 = 0.03;
/// How far the counter's rate may be wrong.
const WRONG: f64 = 0.01;
/// Share of the expected ticks that must be there.
const SEEN: f64 = 0.8;
/// Share of a tick's period from which a gap is another process's: no interrupt takes this long.
const SWITCH: f64 = 0.5;
/// Most ticks that are followed: those of a day.
const MOST: f64 = 1e8;
/// Fewest ticks for a statement.
const FEWEST: usize = 5;
/// Fewest of them before which the program ran for most of a period, without another tick, and what most of it is.
const PROVEN: u32 = 3;
const MOST_OF: f64 = 0.75;

/// Looks for the tick: the highest rate whose ticks are nearly all there, each as the beginning of a gap. Short gaps (the hypervisor,
/// the loop's own) may be so many that by chance some begin near every tick; so it is searched among the longer ones
/// first.
fn tick(trace: &Trace) -> Option<ActivityTick> {
    RATES.into_iter().find_map(|hz| {
        FLOORS.into_iter().find_map(|floor| {
            let floor = (floor * trace.hz) as u64;
            let at: Vec<usize> =
                (0..trace.gaps.len()).filter(|i| trace.gaps.get(*i).is_some_and(|g| g.duration >= floor)).collect();
            let gaps = at.iter().filter_map(|i| trace.gaps.get(*i).copied()).collect();
            let longer = Trace { gaps, ..*trace };
            let comb = regular(&longer, &longer.gaps, hz)?;
            let gaps = comb.gaps.iter().filter_map(|i| at.get(*i).copied()).collect();
            Some(ActivityTick { gaps, ..comb })
        })
    })
}

/// The tick by the beginnings of timer interrupts that were reported, in cycles: they are there also where the program did not
/// have its CPU. One that should lie in one of the `unseen` periods came late, or not at all: the hypervisor had the CPU.
/// The result's `gaps` are positions among the interrupts, and its costs are not known.
pub(crate) fn timer_tick(hz: f64, length: u64, interrupts: &[u64], unseen: &[Gap]) -> Option<ActivityTick> {
    let gaps = interrupts.iter().map(|start| Gap { start: *start, duration: 0 }).collect();
    let reported = Trace { hz, length, gaps };
    let found = RATES.into_iter().find_map(|rate| regular(&reported, unseen, rate))?;
    Some(ActivityTick { min_cost: None, median_cost: None, ..found })
}

/// The comb of a rate, if it is there.
fn regular(trace: &Trace, hidden_by: &[Gap], hz: u32) -> Option<ActivityTick> {
    let (comb, proven) = comb(trace, hidden_by, trace.hz / f64::from(hz))?;
    let seen = comb.gaps.len() as f64 / f64::from(comb.expected.max(1));
    // By chance gaps would begin everywhere: their share near a tick is then that of the time near a tick.
    let by_chance = trace.gaps.len() as f64 * 2.0 * LATE;
    let found = comb.gaps.len() >= FEWEST && seen >= SEEN && comb.gaps.len() as f64 > 2.0 * by_chance;
    // If the program hardly ever ran for a period, nothing speaks against a rate that is too high.
    (found && proven >= PROVEN).then_some(ActivityTick { hz, ..comb })
}

/// The best comb of about this period through the beginnings of gaps: from each of the first gaps as a tick, stretched step by
/// step along the ticks that are found.
fn comb(trace: &Trace, hidden_by: &[Gap], nominal: f64) -> Option<(ActivityTick, u32)> {
    let origins = trace
        .gaps
        .iter()
        .take_while(|g| (g.start as f64) < 3.0 * nominal + trace.gaps.first().map_or(0.0, |f| f.start as f64));
    origins
        .take(200)
        .filter_map(|g| follow(trace, hidden_by, nominal, g.start as f64))
        .max_by_key(|(t, _)| t.gaps.len())
}

/// Follows a comb from one gap on. A tick inside of a gap is not seen, and not expected; nor is one that ended it, as the
/// scheduler gives the CPU back at ticks, too.
fn follow(trace: &Trace, hidden_by: &[Gap], nominal: f64, origin: f64) -> Option<(ActivityTick, u32)> {
    let (mut period, mut gaps, mut expected, mut proven) = (nominal, Vec::new(), 0_u32, 0_u32);
    let ends = |at: f64| {
        let over = hidden_by.partition_point(|g| (g.start as f64) < at).checked_sub(1).and_then(|i| hidden_by.get(i));
        over.map_or(f64::NEG_INFINITY, |g| g.end() as f64)
    };
    let length = trace.length as f64;
    if length / nominal > MOST {
        return None;
    }
    // The place of the last tick found, and its number from the origin.
    let (mut anchor, mut number, mut k) = (origin, 0.0, 0.0);
    loop {
        let at = anchor + (k - number) * period;
        if at > length {
            break;
        }
        // Before the period is known, the next tick may be off by what the counter's rate is.
        let wide = (LATE * nominal).max(WRONG * nominal * (k - number));
        let near = |g: &Gap| (g.start as f64 - at).abs();
        let after = trace.gaps.partition_point(|g| (g.start as f64) < at);
        let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten();
        let best =
            candidates.filter_map(|i| Some((i, trace.gaps.get(i)?))).min_by(|a, b| near(a.1).total_cmp(&near(b.1)));
        let hidden = ends(at) + LATE * nominal > at;
        match best.filter(|(_, g)| near(g) <= wide) {
            Some((i, g)) => {
                expected += 1;
                let before = at - MOST_OF * period;
                proven += u32::from(before >= 0.0 && ends(before) <= before);
                gaps.push(i);
                (anchor, number) = (g.start as f64, k);
                if k > 0.0 {
                    let measured = (anchor - origin) / k;
                    period = measured.clamp(nominal * (1.0 - WRONG), nominal * (1.0 + WRONG));
                }
            }
            None if hidden => {}
            None => expected += 1,
        }
        k += 1.0;
    }
    gaps.dedup();
    let short =
        gaps.iter().filter_map(|i| trace.gaps.get(*i)).map(|g| g.duration).filter(|d| (*d as f64) < period / 10.0);
    let mut costs: Vec<f64> = short.map(|d| d as f64).collect();
    costs.sort_by(f64::total_cmp);
    let tick = ActivityTick {
        hz: 0,
        period,
        expected,
        min_cost: costs.first().map(|c| *c as u64),
        median_cost: median_of_sorted(&costs),
        gaps,
    };
    Some((tick, proven))
}

/// The threshold above which the step between two readings is an inactive period, from steps of an undisturbed loop in cycles:
/// ten times the median, and above what 99 of 100 steps are by far. The loop's own steps differ by some cycles only, an
/// interrupt costs a thousand.
pub fn threshold(steps: &[u64]) -> Option<u64> {
    let mut sorted = steps.to_vec();
    sorted.sort_unstable();
    let at = |q: f64| sorted.get(((sorted.len().checked_sub(1)?) as f64 * q) as usize).copied();
    Some(at(0.5)?.saturating_mul(10).max(at(0.99)?.saturating_mul(3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CS:APP figure 9.3: start and duration of the inactive periods in cycles, at 549.9 MHz by the book's own estimate.
    const FIGURE_9_3: [(u64, u64); 10] = [
        (3726508, 275025),
        (4001533, 7598),
        (9198378, 251609),
        (11700089, 14116),
        (14670179, 248500),
        (20142021, 247113),
        (25613911, 254340),
        (29546353, 8139),
        (31085679, 248360),
        (36557620, 247395),
    ];
    /// CS:APP figure 9.5, from A48 on, its time taken as 0.
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

    fn trace(gaps: &[(u64, u64)], from: u64) -> Trace {
        let gaps: Vec<Gap> = gaps.iter().map(|(s, d)| Gap { start: s - from, duration: *d }).collect();
        let length = gaps.last().map_or(0, Gap::end);
        Trace::new(549.9e6, length, gaps).unwrap()
    }

    #[test]
    fn figure_9_3() {
        let t = trace(&FIGURE_9_3, 0);
        let s = t.summary();
        assert_eq!((s.gaps, t.active().count(), s.longest), (10, 10, Some(275025)));
        assert_eq!((s.active.unwrap() * 1000.0).round(), 951.0);
        assert_eq!((t.length() as f64 / t.hz() * 1e4).round(), 669.0, "66.9 ms");
        assert_eq!(t.active().nth(1), Some((4001533, 0)));
    }

    /// Homework problem 9.9: which periods the timer started, its minimum cost, and the true clock rate.
    #[test]
    fn homework_9_9() {
        let tick = trace(&FIGURE_9_3, 0).summary().tick.unwrap();
        assert_eq!((tick.hz, &tick.gaps[..]), (100, &[0, 2, 4, 5, 6, 8, 9][..]));
        assert_eq!(tick.min_cost, Some(247113));
        let true_rate = tick.period / 0.010;
        assert!((true_rate / 547.2e6 - 1.0).abs() < 0.0005, "{true_rate}");
    }

    /// Practice problem 9.2: the ticks that begin gaps; the others fell into the other process's time.
    #[test]
    fn figure_9_5() {
        let t = trace(&FIGURE_9_5, 191514104);
        let s = t.summary();
        assert_eq!((s.active.unwrap() * 1000.0).round(), 530.0);
        let tick = s.tick.unwrap();
        assert_eq!((tick.hz, &tick.gaps[..]), (100, &[0, 2, 4, 5, 7][..]));
        assert_eq!(tick.expected, 5);
    }

    #[test]
    fn what_makes_no_trace() {
        let gap = |start, duration| Gap { start, duration };
        assert!(matches!(Trace::new(0.0, 1, vec![]), Err(BadTrace::Rate(_))));
        assert!(matches!(Trace::new(f64::NAN, 1, vec![]), Err(BadTrace::Rate(_))));
        assert_eq!(Trace::new(1.0, 9, vec![gap(1, 5), gap(5, 1)]), Err(BadTrace::Order(1)));
        assert_eq!(Trace::new(1.0, 9, vec![gap(5, 5)]), Err(BadTrace::Order(0)));
        assert_eq!(Trace::new(1.0, u64::MAX, vec![gap(u64::MAX, 1)]), Err(BadTrace::Order(0)));
        let empty = Trace::new(1.0, 0, vec![]).unwrap();
        assert_eq!((empty.summary().active, empty.summary().tick, empty.active().count()), (None, None, 0));
    }

    #[test]
    fn thresholds() {
        assert_eq!(threshold(&[]), None);
        let mut steps = vec![20; 1000];
        steps[7] = 1_000_000;
        assert_eq!(threshold(&steps), Some(200));
        assert_eq!(threshold(&[u64::MAX]), Some(u64::MAX));
    }

    /// Ticks with a jitter of some microseconds, others at random, and a competitor that takes whole slices.
    fn made(hz: u32, seed: u64, others: usize, slice: Option<f64>) -> Trace {
        use crate::statistics::random::{RandomPurpose, below, generator};
        let mut rng = generator(seed, RandomPurpose::Order, u64::from(hz));
        let rate = 2.4e9;
        let period = rate / f64::from(hz) * 1.0005;
        let mut all: Vec<(f64, f64)> = (1..400)
            .map(|i| {
                (
                    period * (f64::from(i) - 0.3) + f64::from(below(&mut rng, 10_000)),
                    5e3 + f64::from(below(&mut rng, 9_000)),
                )
            })
            .collect();
        let length = 400.0 * period;
        all.extend((0..others).map(|_| (f64::from(below(&mut rng, 1 << 30)) / f64::from(1 << 30) * length, 3e3)));
        if let Some(slice) = slice {
            all.extend((0..40).map(|i| (f64::from(i) * 2.0 * slice * rate + period * 2.7, slice * rate)));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut gaps, mut at): (Vec<Gap>, u64) = (Vec::new(), 0);
        for (start, duration) in all {
            let start = start as u64;
            if start > at && (start as f64 + duration) < length {
                gaps.push(Gap { start, duration: duration as u64 });
                at = start + duration as u64;
            }
        }
        Trace::new(rate, length as u64, gaps).unwrap()
    }

    #[test]
    fn the_tick_is_told_among_other_things() {
        for hz in RATES {
            for seed in 0..10 {
                for (others, slice) in [(0, None), (100, None), (50, Some(0.013))] {
                    let t = made(hz, seed, others, slice);
                    let tick = t.summary().tick;
                    let tick = tick.unwrap_or_else(|| panic!("{hz} Hz, {others} others, {slice:?}, seed {seed}: none"));
                    let error = tick.period / (2.4e9 / f64::from(hz) * 1.0005) - 1.0;
                    assert!(
                        tick.hz == hz && error.abs() < 1e-4,
                        "{hz} Hz, {others}, {slice:?}: {} Hz, {error}",
                        tick.hz
                    );
                }
            }
        }
    }

    #[test]
    fn no_tick_is_invented() {
        for seed in 0..20 {
            let mut t = made(250, seed, 300, None);
            // The gaps other than the ticks came at random.
            t.gaps.retain(|g| g.duration == 3000);
            assert_eq!(t.summary().tick, None, "seed {seed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn anything_that_is_a_trace_has_a_summary(
            hz in 1.0..1e10_f64,
            parts in proptest::collection::vec((0..u64::MAX / 200, 0..u64::MAX / 200), 0..60)
        ) {
            let (mut at, mut gaps) = (0, Vec::new());
            for (active, inactive) in parts {
                gaps.push(Gap { start: at + active, duration: inactive });
                at += active + inactive;
            }
            let t = Trace::new(hz.max(at as f64 / 100.0), at, gaps).unwrap();
            let s = t.summary();
            prop_assert!(s.active.is_none_or(|a| (0.0..=1.0).contains(&a)));
            let active: u64 = t.active().map(|a| a.1).sum();
            prop_assert_eq!(active + t.gaps().iter().map(|g| g.duration).sum::<u64>(), t.length());
        }
    }
}
