//! One program against another: the ratio of their times, from samples of the same round.
//!
//! Samples of the same round are neighbours in time, so that a drift of the machine is the same for both and cancels. The ratio
//! is the median of the pairs' log-ratios and its interval the sign test's, which no distribution upsets (statistics: nanobench's
//! `compare`; Kalibera and Jones, ISMM'13). Only pairs may be left out, by a rule that treats both sides alike: outliers of each
//! program for itself are not, as that makes equal programs with two modes differ.

use crate::statistics::dependence::dependence;
use crate::statistics::intervals::{Interval, LEVEL, NoInterval, median_interval_at};
use crate::statistics::series::{Values, median};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ratio of two programs' times.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// Median of program / reference; above 1 if the program is slower.
    pub ratio: f64,
    /// Sign-test interval, at least 95%.
    pub interval: Result<Interval, NoInterval>,
    pub pairs: u32,
    /// Pairs without a ratio, because a time in them is not greater than 0.
    pub without_ratio: u32,
}

/// The pairs of two programs' times of which there is a ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct TimePairs {
    /// Logarithms of program / reference, in the order of the pairs.
    logs: Values,
    without_ratio: u32,
    /// So many times as wide is their interval as that of independent pairs.
    stretch: f64,
}

impl TimePairs {
    /// From times of both with the numbers of their rounds, in any one unit and in any order. Times whose number the other side
    /// lacks are ignored; of several with one number, the first counts. `None` if no pair has a ratio.
    pub fn new(program: &[(u32, f64)], reference: &[(u32, f64)]) -> Option<TimePairs> {
        let mut by_index = BTreeMap::new();
        for (index, time) in reference {
            by_index.entry(*index).or_insert(*time);
        }
        let (mut logs, mut without_ratio) = (Vec::new(), 0);
        for (index, time) in program {
            let Some(other) = by_index.remove(index) else { continue };
            // The difference of logarithms is that of the reverse comparison with the sign changed, exactly.
            let log = time.ln() - other.ln();
            if *time > 0.0 && other > 0.0 && log.is_finite() {
                logs.push((*index, log));
            } else {
                without_ratio += 1;
            }
        }
        logs.sort_by_key(|(index, _)| *index);
        let logs = Values::new(logs.into_iter().map(|(_, log)| log)).ok().filter(|logs| !logs.is_empty())?;
        Some(TimePairs { logs, without_ratio, stretch: 1.0 })
    }

    /// Of programs whose order was the same in all rounds, or that ran one after the other: then successive pairs may have
    /// something in common. Where the order of each round was drawn at random, equal programs have ratios of either sign with equal
    /// chances, whatever the machine does, and the sign test holds.
    pub fn in_fixed_order(self) -> TimePairs {
        let stretch = dependence(self.logs.as_slice()).map_or(1.0, |d| d.stretch);
        TimePairs { stretch, ..self }
    }

    /// The ratio, with the interval of the sign test that has at least this level.
    pub fn ratio(&self, level: f64) -> Option<Ratio> {
        let log = median(&self.logs)?;
        let interval = median_interval_at(&self.logs, level).map(|i| i.stretched(log, self.stretch));
        Some(Ratio {
            ratio: log.exp(),
            interval: interval.map(|i| Interval { low: i.low.exp(), high: i.high.exp(), level: i.level }),
            pairs: u32::try_from(self.logs.len()).unwrap_or(u32::MAX),
            without_ratio: self.without_ratio,
        })
    }
}

/// The ratio of a single program, with its 95% interval: see [`TimePairs`].
pub fn compare(program: &[(u32, f64)], reference: &[(u32, f64)]) -> Option<Ratio> {
    TimePairs::new(program, reference)?.ratio(LEVEL)
}

/// Faster if the whole interval lies below 1, slower if above; undecided otherwise and without an interval.
pub fn verdict(interval: &Result<Interval, NoInterval>) -> Verdict {
    verdict_within(interval, None)
}

/// The same with a margin of practical equality, e.g. 0.01: programs are the same if the whole interval lies between 1 / (1 + margin)
/// and 1 + margin, also if it does not hold 1.
pub fn verdict_within(interval: &Result<Interval, NoInterval>, margin: Option<f64>) -> Verdict {
    let same = |i: &Interval| margin.is_some_and(|m| i.low >= 1.0 / (1.0 + m) && i.high <= 1.0 + m);
    match interval {
        Ok(i) if same(i) => Verdict::Same,
        Ok(i) if i.high < 1.0 => Verdict::Faster,
        Ok(i) if i.low > 1.0 => Verdict::Slower,
        _ => Verdict::Undecided,
    }
}

/// What a comparison rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatioBasis {
    /// Executions alone, paired by round.
    #[default]
    Alone,
    Duets,
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval lies below 1.
    Faster,
    /// The interval lies above 1.
    Slower,
    /// The interval lies within a margin that was stated to make no difference in practice.
    Same,
    /// None of these: the interval holds 1, or there are too few samples.
    Undecided,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    #[test]
    fn pairs_by_index() {
        let a = [(0, 10.0), (1, 20.0), (3, 40.0), (9, 1.0)];
        let b = [(3, 20.0), (1, 10.0), (0, 5.0), (2, 77.0)];
        let r = compare(&a, &b).unwrap();
        assert!((r.ratio - 2.0).abs() < 1e-12);
        assert_eq!((r.pairs, r.without_ratio), (3, 0));
        assert_eq!(r.interval, Err(NoInterval::TooFew { have: 3, need: 6 }));
        assert_eq!(verdict(&r.interval), Verdict::Undecided);
    }

    #[test]
    fn times_of_zero_have_no_ratio() {
        let r = compare(&[(0, 0.0), (1, 3.0), (2, 1.0)], &[(0, 1.0), (1, 1.0), (2, 0.0)]).unwrap();
        assert_eq!((r.pairs, r.without_ratio), (1, 2));
        assert_eq!(compare(&[(0, 0.0)], &[(0, 0.0)]), None);
        assert_eq!(compare(&[], &[]), None);
        assert_eq!(compare(&[(0, f64::NAN)], &[(0, f64::INFINITY)]), None);
    }

    #[test]
    fn verdicts() {
        let times = |f: f64| (0..10).map(|i| (i, f * (100.0 + f64::from(i % 3)))).collect::<Vec<_>>();
        let by = |f| verdict(&compare(&times(f), &times(1.0)).unwrap().interval);
        assert_eq!(by(0.9), Verdict::Faster);
        assert_eq!(by(1.1), Verdict::Slower);
        assert_eq!(by(1.0), Verdict::Undecided);
    }

    #[test]
    fn within_the_margin_programs_are_the_same() {
        let by = |low, high, margin| verdict_within(&Ok(Interval { low, high, level: 0.95 }), margin);
        assert_eq!(by(0.995, 1.004, None), Verdict::Undecided);
        assert_eq!(by(0.995, 1.004, Some(0.01)), Verdict::Same);
        assert_eq!(by(0.985, 1.004, Some(0.01)), Verdict::Undecided);
        assert_eq!(by(0.995, 1.011, Some(0.01)), Verdict::Undecided);
        // A difference that is certain, and too small to matter.
        assert_eq!(by(1.002, 1.004, Some(0.01)), Verdict::Same);
        assert_eq!((by(1.002, 1.02, Some(0.01)), by(0.9, 0.95, Some(0.01))), (Verdict::Slower, Verdict::Faster));
        // The reverse comparison has the same verdict: 1 / 1.01 is a bound, 0.99 is not.
        assert_eq!((by(1.0 / 1.01, 1.01, Some(0.01)), by(0.99, 1.0, Some(0.01))), (Verdict::Same, Verdict::Undecided));
        let too_few = Err(NoInterval::TooFew { have: 1, need: 6 });
        assert_eq!(verdict_within(&too_few, Some(0.5)), Verdict::Undecided);
        assert_eq!(by(0.9, 1.1, Some(f64::NAN)), Verdict::Undecided);
    }

    #[test]
    fn a_drift_is_not_a_difference() {
        // Two equal programs on a machine that slows down by 2% over 20 rounds; the second runs just after the first.
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let mut calls = 0;
        for _ in 0..1000 {
            let mut time = |i: u32, place: u32| {
                let noise =
                    (0..12).map(|_| f64::from(below(&mut rng, 1 << 20))).sum::<f64>() / f64::from(1 << 20) - 6.0;
                (i, 100.0 + 2.0 * f64::from(2 * i + place) / 40.0 + 0.5 * noise)
            };
            let (a, b): (Vec<_>, Vec<_>) = (0..20).map(|i| (time(i, 0), time(i, 1))).unzip();
            calls += u32::from(verdict(&compare(&a, &b).unwrap().interval) != Verdict::Undecided);
        }
        assert!(calls < 80, "{calls} of 1000");
    }

    proptest! {
        #[test]
        fn with_itself_it_is_one(times in proptest::collection::vec(1.0..1e12_f64, 1..50)) {
            let s: Vec<(u32, f64)> = (0..).zip(times).collect();
            let r = compare(&s, &s).unwrap();
            prop_assert_eq!(r.ratio, 1.0);
            prop_assert_eq!(verdict(&r.interval), Verdict::Undecided);
            if let Ok(i) = r.interval {
                prop_assert_eq!((i.low, i.high), (1.0, 1.0));
            }
        }

        #[test]
        fn the_reverse_is_the_reciprocal(pairs in proptest::collection::vec((1.0..1e9_f64, 1.0..1e9_f64), 1..40)) {
            let a: Vec<(u32, f64)> = (0..).zip(pairs.iter().map(|p| p.0)).collect();
            let b: Vec<(u32, f64)> = (0..).zip(pairs.iter().map(|p| p.1)).collect();
            let (ab, ba) = (compare(&a, &b).unwrap(), compare(&b, &a).unwrap());
            prop_assert!((ab.ratio * ba.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(ab.pairs, ba.pairs);
            if let (Ok(x), Ok(y)) = (ab.interval, ba.interval) {
                prop_assert!((x.low * y.high - 1.0).abs() < 1e-9);
                prop_assert!(x.contains(ab.ratio));
            }
        }

        #[test]
        fn order_of_samples_does_not_matter(
            (a, b) in proptest::collection::vec(1.0..1e9_f64, 1..30)
                .prop_map(|t| (0..).zip(t).collect::<Vec<(u32, f64)>>())
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            let reference: Vec<(u32, f64)> = (0..30).map(|i| (i, 5.0 + f64::from(i))).collect();
            prop_assert_eq!(compare(&a, &reference), compare(&b, &reference));
        }
    }
}
