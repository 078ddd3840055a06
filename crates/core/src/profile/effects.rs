//! What a daemon does to the samples that held it: how spread is taken, and the indirect effect.
//!
//! Spread is taken from the median and the median absolute deviation (MAD): a standard deviation is widened by the very
//! disturbances that are looked for. The indirect effect (caches, a shared core, heat) is what process time is longer by. The
//! machine's speed may vary by more than that, so each sample is compared with its neighbours in time, not with all others, and the
//! differences are judged by ranks (Wilcoxon's signed-rank test; Hodges and Lehmann's estimate).

use crate::profile::data::ProcessTimeEffect;
use crate::statistics::series::{Values, median_of};
use crate::statistics::signed_rank::{location, probability_of_at_most};
use serde::{Deserialize, Serialize};

/// Standard deviations in a MAD, for a normal distribution.
const NORMAL: f64 = 1.4826;
/// The deviation above, of an exponential distribution of mean 1: its MAD is the arsinh of 1/2.
const EXPONENTIAL: f64 = NORMAL * 0.481_211_825;
/// Part of the deviation by which that of one value may be wrong; it falls with the root of the number of values.
const UNCERTAIN: f64 = 2.0;
/// Neighbours on each side that a sample is compared with.
const SIDE: usize = 2;
/// Fewest visits that are compared.
const FEWEST_VISITS: usize = 3;
/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// Median and spread of values, robustly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RobustSpread {
    /// In the unit of the values.
    pub median: f64,
    /// 1.4826 MAD: the standard deviation, were the values normally distributed.
    pub deviation: f64,
}

impl RobustSpread {
    /// 0 and 0 without values.
    pub fn new(values: &[f64]) -> RobustSpread {
        let Some(median) = median_of(values.to_vec()) else { return RobustSpread::default() };
        let mad = median_of(values.iter().map(|v| (v - median).abs()).collect()).unwrap_or(0.0);
        RobustSpread { median, deviation: NORMAL * mad }
    }

    /// So many deviations over the median.
    pub fn above(&self, deviations: f64) -> f64 {
        self.median + deviations * self.deviation
    }
}

/// Deviations over the median that none of `values` values of each of `daemons` daemons exceeds but with the probability `alarm`, if
/// they are distributed exponentially: waits have tails as long as that, much longer than normal ones. More with few values, of
/// which the deviation is uncertain.
pub fn deviations(values: usize, daemons: usize, alarm: f64) -> f64 {
    let n = values.max(1) as f64;
    let tests = n * daemons.max(1) as f64;
    (tests / (2.0 * alarm)).ln().max(1.0) / EXPONENTIAL * (1.0 + UNCERTAIN / n.sqrt())
}

/// By how much process time differs in samples that held a daemon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indirect {
    /// The estimate and its interval; `lengthens` is not decided yet.
    pub effect: ProcessTimeEffect,
    /// Probability that a daemon without effect ranks as high.
    pub chance: f64,
}

/// The indirect effect on process times, ns, in the order of time. `held`: by position, the samples that held the daemon.
/// Successive ones are one visit, as they share their neighbours. `None` with fewer than three visits.
pub fn indirect(process_times: &[f64], held: &[bool]) -> Option<Indirect> {
    let is_held = |i: usize| held.get(i).copied().unwrap_or(false);
    let log = |i: usize| process_times.get(i).copied().filter(|t| *t > 0.0).map(f64::ln);
    let mean = |all: &[f64]| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
    let mut differences = Vec::new();
    let mut at = 0;
    while at < process_times.len() {
        let end = (at..process_times.len()).find(|i| !is_held(*i)).unwrap_or(process_times.len());
        if end > at {
            let visit: Vec<f64> = (at..end).filter_map(log).collect();
            let before: Vec<f64> = (0..at).rev().filter(|i| !is_held(*i)).take(SIDE).filter_map(log).collect();
            let after: Vec<f64> =
                (end..process_times.len()).filter(|i| !is_held(*i)).take(SIDE).filter_map(log).collect();
            // Neighbours on one side alone would take a drift of the clock for an effect.
            if let (Some(visit), Some(before), Some(after)) = (mean(&visit), mean(&before), mean(&after)) {
                differences.push(visit - f64::midpoint(before, after));
            }
        }
        at = end.max(at) + 1;
    }
    let visits = differences.len();
    let values = Values::new(differences).ok().filter(|_| visits >= FEWEST_VISITS)?;
    let found = location(&values, LEVEL)?;
    let part = |log: f64| log.exp_m1();
    let interval = found.interval.ok();
    let effect = ProcessTimeEffect {
        change: part(found.estimate),
        low: interval.as_ref().map(|i| part(i.low)),
        high: interval.as_ref().map(|i| part(i.high)),
        visits: u32::try_from(visits).unwrap_or(u32::MAX),
        lengthens: false,
    };
    Some(Indirect { effect, chance: probability_of_at_most(0.0, &values) })
}

impl Indirect {
    /// The effect, with process time said to be longer if that is a false alarm with at most this probability in so many tests.
    pub fn judged(self, tests: usize, alarm: f64) -> ProcessTimeEffect {
        let sure = self.chance * tests.max(1) as f64 <= alarm && self.effect.low.is_some_and(|low| low > 0.0);
        ProcessTimeEffect { lengthens: sure, ..self.effect }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};

    #[test]
    fn spread_ignores_a_third() {
        let mut values: Vec<f64> = (0..=20).map(f64::from).collect();
        assert_eq!(RobustSpread::new(&values), RobustSpread { median: 10.0, deviation: NORMAL * 5.0 });
        values.extend([1e9; 8]);
        let spread = RobustSpread::new(&values);
        assert!(spread.median <= 14.0 && spread.deviation < 15.0, "{spread:?}");
        assert_eq!(RobustSpread::new(&[]), RobustSpread::default());
    }

    /// Of exponential values, the share that is over the limit is as small as asked for.
    #[test]
    fn an_exponential_tail_stays_below() {
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let mut series = 0;
        for _ in 0..400 {
            let values: Vec<f64> = (0..250).map(|_| -unit(&mut rng).ln()).collect();
            let limit = RobustSpread::new(&values).above(deviations(values.len(), 1, 0.05));
            series += u32::from(values.iter().any(|v| *v > limit));
        }
        assert!(series <= 40, "5% of 400 series are 20: {series}");
    }

    /// A clock that changes its speed by a third hides an effect of 2% from a comparison with all, not from one with neighbours.
    #[test]
    fn neighbours_see_through_a_slow_clock() {
        let clock = |i: usize| 1.0 + 0.3 * (i as f64 / 40.0).sin();
        let held: Vec<bool> = (0..240).map(|i| i % 17 == 5).collect();
        let times: Vec<f64> = (0..240).zip(&held).map(|(i, h)| 3e8 * clock(i) * if *h { 1.02 } else { 1.0 }).collect();
        let found = indirect(&times, &held).unwrap();
        assert_eq!(found.effect.visits, 14);
        assert!((found.effect.change - 0.02).abs() < 0.002, "{found:?}");
        assert!(found.judged(3, 0.01).lengthens && found.effect.low.unwrap() > 0.015);
        let none: Vec<f64> = (0..240).map(|i| 3e8 * clock(i)).collect();
        assert!(!indirect(&none, &held).unwrap().judged(1, 0.01).lengthens);
        assert_eq!(indirect(&times, &[false; 240]), None);
    }
}
