//! Step 6 of EMPv5, second part: how often a daemon comes, from the times at which it came.
//!
//! The papers read periods off sample numbers (EMP section 4.5.2: samples 75, 186, 298, … are 112 apart, and cover the whole run).
//! Here they come from the times themselves. A period has to explain two things: the distances between occurrences, as multiples
//! of it, and their absence everywhere else. Without the second, any two occurrences would make one: `grep`, `bash` and `sshd` of the
//! worked example came twice, 85 samples apart in a run of 800, and the papers rightly give them none, while `flush-9:0`, 559
//! apart, could not have come a third time.
//!
//! The period is the mean distance, which holds both for a daemon that keeps to a clock (cron) and for one that sleeps a while after
//! each execution and so loses its phase.

use crate::base::units::Nanos;
use crate::statistics::series::moments;
use serde::{Deserialize, Serialize};

/// Part of the period by which an occurrence may be off.
const TOLERANCE: f64 = 0.15;
/// Share of the distances that must be multiples of the period.
const REGULAR: f64 = 0.8;
/// Share of the occurrences that a period predicts that must be there.
const COVERED: f64 = 0.75;
/// Distances that are tried as periods.
const TRIED: usize = 64;

/// The time that was watched: from when to when a sample ran. In ascending order.
pub type WatchedTime = (Nanos, Nanos);

/// How often a daemon comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Periodicity {
    /// Three occurrences or more, at a regular distance.
    Period {
        period: Nanos,
        /// Standard deviation of the distances, each divided by the periods in it, ns; 0 for two equal distances.
        spread: f64,
        /// Occurrences that the period predicts in the time watched and that were not there.
        missed: u32,
    },
    /// Two occurrences, so far apart that no third was due: "period (?)".
    Perhaps { period: Nanos },
    /// No period is known.
    Unknown { why: NoPeriod },
}

/// Why no period is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoPeriod {
    /// It came once, or not at all.
    Once,
    /// The distances differ, or it stayed away when it was due.
    Irregular,
    /// It came nearly every other sample or more often: samples that are longer than half of a period do not see it.
    TooShort,
}

impl Periodicity {
    /// The period, certain or not.
    pub fn period(&self) -> Option<Nanos> {
        match self {
            Periodicity::Period { period, .. } | Periodicity::Perhaps { period } => Some(*period),
            Periodicity::Unknown { .. } => None,
        }
    }
}

/// What one candidate explains.
struct PeriodFit {
    period: f64,
    spread: f64,
    missed: u32,
    score: f64,
}

/// The period of a daemon. `occurrences`: when it came (middle of the sample that saw it), in any order; occurrences closer than
/// a sample are one execution that was cut in two. `watched`: when samples ran, ascending.
pub fn periodicity(occurrences: &[Nanos], watched: &[WatchedTime]) -> Periodicity {
    let length = typical_length(watched);
    let times = merged(occurrences, watched, length);
    let unknown = |why| Periodicity::Unknown { why };
    if times.len() < 2 {
        return unknown(NoPeriod::Once);
    }
    let distances: Vec<f64> = times.iter().zip(times.iter().skip(1)).map(|(a, b)| b - a).collect();
    let fits = candidates(&distances).into_iter().filter_map(|c| fit(c, &times, &distances, watched));
    let Some(best) = fits.reduce(|a, b| if b.score > a.score { b } else { a }) else {
        return unknown(NoPeriod::Irregular);
    };
    let period = Nanos(best.period.round() as i64);
    if best.period < 2.0 * length {
        return unknown(NoPeriod::TooShort);
    }
    match times.len() {
        // Of two, nothing may be missing: there is nothing else to go by.
        2 if best.missed > 0 => unknown(NoPeriod::Irregular),
        2 => Periodicity::Perhaps { period },
        _ => Periodicity::Period { period, spread: best.spread, missed: best.missed },
    }
}

/// Median length of the samples, ns.
fn typical_length(watched: &[WatchedTime]) -> f64 {
    let mut lengths: Vec<f64> = watched.iter().map(|(a, b)| (*b - *a).as_f64()).collect();
    lengths.sort_by(f64::total_cmp);
    crate::statistics::series::median_of_sorted(&lengths).unwrap_or(0.0)
}

/// Ascending times; those of neighbouring samples, or within one and a half of them, as one, at their mean.
fn merged(occurrences: &[Nanos], watched: &[WatchedTime], length: f64) -> Vec<f64> {
    let mut times: Vec<Nanos> = occurrences.to_vec();
    times.sort();
    let sample = |t: Nanos| watched.partition_point(|(start, _)| *start <= t);
    // A disturbed sample is longer than others, so that its middle may be far from the next one's; after a gap in the record,
    // neighbours are no longer near.
    let near = |a: &Nanos, b: &Nanos| {
        let apart = (*b - *a).as_f64();
        apart <= 1.5 * length || (sample(*b) - sample(*a) <= 1 && apart <= 6.0 * length)
    };
    let mean = |run: &[Nanos]| {
        let first = *run.first()?;
        Some(first.as_f64() + run.iter().map(|t| (*t - first).as_f64()).sum::<f64>() / run.len() as f64)
    };
    times.chunk_by(near).filter_map(mean).collect()
}

/// Distances that may be the period, largest first: those between neighbours and next neighbours (an occurrence between may not
/// be one of the periodic), and parts of them (occurrences between may have been missed).
fn candidates(distances: &[f64]) -> Vec<f64> {
    let next = distances.iter().zip(distances.iter().skip(1)).map(|(a, b)| a + b);
    let mut all: Vec<f64> = distances.iter().copied().chain(next).filter(|d| *d > 0.0).collect();
    all.sort_by(f64::total_cmp);
    let step = all.len().div_ceil(TRIED).max(1);
    let mut tried: Vec<f64> = all.iter().step_by(step).flat_map(|d| [*d, d / 2.0, d / 3.0]).collect();
    tried.sort_by(|a, b| b.total_cmp(a));
    tried.dedup();
    tried
}

/// How well a candidate explains the times; `None` if it doesn't.
fn fit(candidate: f64, times: &[f64], distances: &[f64], watched: &[WatchedTime]) -> Option<PeriodFit> {
    let periods = |d: f64| {
        let m = (d / candidate).round();
        Some(m).filter(|m| *m >= 1.0 && (d / candidate - m).abs() <= TOLERANCE)
    };
    let regular: Vec<(f64, f64)> = distances.iter().filter_map(|d| periods(*d).map(|m| (*d, m))).collect();
    let consistent = regular.len() as f64 / distances.len() as f64;
    let steps: f64 = regular.iter().map(|r| r.1).sum();
    if regular.is_empty() || consistent < REGULAR {
        return None;
    }
    let period = regular.iter().map(|r| r.0).sum::<f64>() / steps;
    let missed = missed(period, times, watched);
    let covered = times.len() as f64 / (times.len() as f64 + f64::from(missed));
    if covered < COVERED {
        return None;
    }
    let mut each: Vec<f64> = regular.iter().map(|(d, m)| d / m).collect();
    each.sort_by(f64::total_cmp);
    let spread = moments(&each).and_then(|m| m.1).unwrap_or(0.0);
    // The nearer to equal, the better among candidates that explain as much.
    Some(PeriodFit { period, spread, missed, score: consistent * covered / (1.0 + spread / period) })
}

/// Occurrences that were due while a sample ran, and were not there.
fn missed(period: f64, times: &[f64], watched: &[WatchedTime]) -> u32 {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return 0 };
    let (Some((begin, _)), Some((_, end))) = (watched.first(), watched.last()) else { return 0 };
    // An occurrence that is due as the record begins or ends may be just outside of it.
    let (begin, end) = (begin.as_f64() + TOLERANCE * period, end.as_f64() - TOLERANCE * period);
    let mut count = 0_u32;
    // The first n of the times from + k·step, k from 1: those in a watched interval.
    let mut due = |from: f64, step: f64, n: f64| {
        let (lowest, highest) = if step > 0.0 { (from, from + step * n) } else { (from + step * n, from) };
        let first = watched.partition_point(|(_, end)| end.as_f64() < lowest);
        let inside = watched.iter().skip(first).take_while(|(start, _)| start.as_f64() <= highest);
        let ks = |(start, end): &WatchedTime| {
            let (a, b) = ((start.as_f64() - from) / step, (end.as_f64() - from) / step);
            (a.min(b).ceil().max(1.0), a.max(b).floor().min(n))
        };
        let mut all: Vec<(f64, f64)> = inside.map(ks).collect();
        if step < 0.0 {
            all.reverse();
        }
        // One that is due at the end of an interval and the beginning of the next counts once.
        let mut counted = 0.0_f64;
        for (lowest, highest) in all {
            let more = (highest - lowest.max(counted + 1.0) + 1.0).max(0.0);
            count = count.saturating_add(more as u32);
            counted = counted.max(highest);
        }
    };
    for (a, b) in times.iter().zip(times.iter().skip(1)) {
        let gaps = ((b - a) / period).round();
        if gaps > 1.0 {
            due(*a, (b - a) / gaps, gaps - 1.0);
        }
    }
    due(*first, -period, ((first - begin) / period).floor().max(0.0));
    due(*last, period, ((end - last) / period).floor().max(0.0));
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    /// Samples of `length` seconds, back to back.
    fn watched(n: i64, length: i64) -> Vec<WatchedTime> {
        (0..n).map(|i| (secs(i * length), secs((i + 1) * length))).collect()
    }

    fn secs(s: i64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }

    fn middles(numbers: &[i64], length: i64) -> Vec<Nanos> {
        numbers.iter().map(|n| secs((n - 1) * length + length / 2)).collect()
    }

    #[test]
    fn the_papers_daemons() {
        let run = watched(800, 128);
        let found = |numbers: &[i64]| periodicity(&middles(numbers, 128), &run);
        for numbers in [[75, 186, 298, 410, 522, 634, 746], [104, 216, 328, 439, 551, 663, 775]] {
            let Periodicity::Period { period, spread, missed } = found(&numbers) else {
                panic!("{:?}", found(&numbers))
            };
            assert!((period.secs() / 128.0 - 111.83).abs() < 0.01 && spread < 1e11 && missed == 0, "{period:?}");
        }
        assert_eq!(found(&[75, 634]), Periodicity::Perhaps { period: secs(559 * 128) });
        assert_eq!(found(&[366, 451]), Periodicity::Unknown { why: NoPeriod::Irregular });
        assert_eq!(found(&[663]), Periodicity::Unknown { why: NoPeriod::Once });
        assert_eq!(found(&[]), Periodicity::Unknown { why: NoPeriod::Once });
        assert_eq!(periodicity(&middles(&[75, 634], 128), &[]), Periodicity::Perhaps { period: secs(559 * 128) });
    }

    #[test]
    fn misses_strangers_and_cut_executions() {
        let run = watched(1000, 10);
        let period_secs = |numbers: &[i64]| periodicity(&middles(numbers, 10), &run).period().map(|p| p.secs());
        let all: Vec<i64> = (0..10).map(|i| 50 + i * 100).collect();
        assert_eq!(period_secs(&all), Some(1000.0));
        let without: Vec<i64> = all.iter().copied().filter(|n| *n != 450 && *n != 750).collect();
        assert_eq!(period_secs(&without), Some(1000.0));
        let stranger: Vec<i64> = all.iter().copied().chain([615]).collect();
        assert!((period_secs(&stranger).unwrap() - 1000.0).abs() < 20.0);
        let cut: Vec<i64> = all.iter().flat_map(|n| [*n, n + 1]).collect();
        assert_eq!(period_secs(&cut), Some(1000.0));
    }

    #[test]
    fn a_gap_in_the_record_is_not_an_absence() {
        let mut run = watched(1000, 10);
        run.drain(320..680);
        let occurrences = middles(&[50, 150, 250, 750, 850, 950], 10);
        let Periodicity::Period { period, missed, .. } = periodicity(&occurrences, &run) else { panic!() };
        assert_eq!((period, missed), (secs(1000), 0));
    }

    #[test]
    fn random_times_rarely_have_a_period() {
        let mut rng = generator(5, RandomPurpose::Order, 0);
        let run = watched(800, 128);
        for (n, most) in [(3, 150), (5, 50), (10, 10), (20, 5)] {
            let mut periods = 0;
            for _ in 0..1000 {
                let numbers: Vec<i64> = (0..n).map(|_| i64::from(below(&mut rng, 800)) + 1).collect();
                periods += u32::from(matches!(periodicity(&middles(&numbers, 128), &run), Periodicity::Period { .. }));
            }
            assert!(periods <= most, "{n}: {periods} of 1000");
        }
    }

    proptest! {
        #[test]
        fn any_order_any_times(
            (a, b) in proptest::collection::vec(0..1_000_000_i64, 0..30)
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle())),
            n in 0..50_i64,
        ) {
            let times = |v: &[i64]| v.iter().map(|s| secs(*s)).collect::<Vec<_>>();
            let p = periodicity(&times(&a), &watched(n, 128));
            prop_assert_eq!(p, periodicity(&times(&b), &watched(n, 128)));
            prop_assert!(p.period().is_none_or(|p| p > Nanos::ZERO));
        }
    }

    /// A record of months with a period of a microsecond: what is missed is counted without going through each occurrence.
    #[test]
    fn a_long_record_takes_no_longer() {
        let year = 31_536_000_i64;
        let run = [(secs(0), secs(year)), (secs(2 * year), secs(3 * year))];
        let times: Vec<f64> = (0..2_000).map(|i| f64::from(i) * year as f64 * 1.5e6).collect();
        assert_eq!(missed(1e3, &times, &run), u32::MAX);
    }

    proptest! {
        /// As many as going through each time that is due finds.
        #[test]
        fn missed_are_those_due_in_a_sample(
            period in 2..90_u32, lengths in proptest::collection::vec((1..300_u32, 1..300_u32), 1..12),
            times in proptest::collection::vec(0..4_000_u32, 1..6),
        ) {
            let mut at = 0_i64;
            let mut run: Vec<WatchedTime> = Vec::new();
            for (gap, length) in lengths {
                // Odd bounds and even times: none is at a bound.
                run.push((Nanos(at + 2 * i64::from(gap) + 1), Nanos(at + 2 * i64::from(gap + length) + 1)));
                at += 2 * i64::from(gap + length);
            }
            let period = f64::from(2 * period);
            let mut times: Vec<f64> = times.iter().map(|t| f64::from(*t) * period).collect();
            times.sort_by(f64::total_cmp);
            times.dedup();
            let ran = |t: f64| run.iter().any(|(start, end)| t >= start.as_f64() && t <= end.as_f64());
            let (begin, end) = (run[0].0.as_f64() + TOLERANCE * period, run.last().unwrap().1.as_f64() - TOLERANCE * period);
            let (first, last) = (times[0], *times.last().unwrap());
            let lowest = if begin < first { (begin / period).ceil() as i64 } else { (first / period) as i64 };
            let highest = if end > last { (end / period).floor() as i64 } else { (last / period) as i64 };
            let all = (lowest..=highest).map(|k| k as f64 * period);
            let expected = all.filter(|t| !times.contains(t) && ran(*t)).count();
            prop_assert_eq!(missed(period, &times, &run) as usize, expected);
        }
    }
}
