//! One mode or two: a mixture of two normal distributions on the logarithmic scale against a single one.
//!
//! A mixture always fits better, so that four things are required before two modes are called: the Bayesian information criterion
//! prefers the mixture to a normal and to a flat distribution by more than 10 (Kass and Raftery, Bayes factors, JASA 90, 1995: very
//! strong evidence); Ashman's D is above 2 (Ashman, Bird and Zepf, Detecting bimodality in astronomical datasets, AJ 108, 1994); the
//! smaller component has at least 5% of the values, so that a few outliers are no mode; and the density has a valley below 70% of
//! the lower peak, by the mixture and by counts. The last one keeps skewed distributions out, for which the mixture is merely a
//! better curve.
//!
//! A timer's tick makes modes of its own, one for each multiple. Each value is therefore moved within its tick at random first, from
//! a seed.

use crate::statistics::random::{RandomPurpose, generator};
use crate::statistics::series::median_of_sorted;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::PI;

/// Fewest values for which two modes are looked for.
pub const FEWEST_FOR_MODES: usize = 100;
/// Smallest gain of the Bayesian information criterion, exclusive.
pub const LEAST_GAIN: f64 = 10.0;
/// Smallest D, exclusive.
pub const LEAST_SEPARATION: f64 = 2.0;
/// Smallest weight of a component.
pub const LEAST_WEIGHT: f64 = 0.05;
/// Highest valley, as a share of the lower peak, exclusive.
pub const HIGHEST_VALLEY: f64 = 0.7;
/// Shares of the values, in ascending order, at which the fits begin.
const STARTS: [f64; 9] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95];
/// Values that the first rounds are made with, and their number: enough to find the best start.
const FIRST_VALUES: usize = 1_000;
const FIRST_ROUNDS: usize = 40;
/// Rounds after that, at most.
const ROUNDS: usize = 500;
/// Places at which the density is looked at.
const GRID: u32 = 400;
/// Half of the width in which values are counted for the valley, in deviations of the narrower component.
const COUNTED: f64 = 0.35;
/// Random numbers of this are apart from those of other items.
const DITHER: u64 = 1 << 41;

/// Why two modes were not looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoMixture {
    /// Fewer than [`FEWEST_FOR_MODES`].
    #[error("{have} samples, expected at least {need}")]
    TooFew { have: usize, need: usize },
    /// Logarithms are of positive numbers only.
    #[error("a time is not above 0")]
    NotPositive,
    /// All are equal, or nearly.
    #[error("the times do not differ by more than the timer's tick")]
    NoSpread,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixtureComponent {
    /// Share of the values, 0 to 1.
    pub weight: f64,
    /// Median, in the unit of the values: the exponential of the mean of their logarithms.
    pub median: f64,
    /// Standard deviation of the logarithms; for small ones the relative error.
    pub deviation: f64,
}

/// The best mixture of two, and how much speaks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixtureFit {
    pub n: usize,
    /// Width within which each value was moved, in the unit of the values.
    pub tick: f64,
    /// The one with the smaller median first.
    pub components: [MixtureComponent; 2],
    /// By how much the criterion of a single normal or flat distribution, the better one, exceeds that of the mixture; negative if
    /// it is preferred.
    pub gain: f64,
    /// Ashman's D: √2 times the distance of the means over the root of the sum of the variances, of logarithms.
    pub separation: f64,
    /// Density in the valley over that of the lower peak, the higher one of the mixture's and of the counted.
    pub valley: f64,
}

impl MixtureFit {
    /// Whether each of the four requirements for two modes is met: gain, separation, weight, valley.
    pub fn met(&self) -> [bool; 4] {
        let [a, b] = &self.components;
        [
            self.gain > LEAST_GAIN,
            self.separation > LEAST_SEPARATION,
            a.weight.min(b.weight) >= LEAST_WEIGHT,
            self.valley < HIGHEST_VALLEY,
        ]
    }

    pub fn two_modes(&self) -> bool {
        self.met() == [true; 4]
    }

    /// Whether a value rather belongs to the component with the larger median.
    pub fn is_slow(&self, value: f64) -> bool {
        let score = |c: &MixtureComponent| {
            let z = ((value - c.median) / c.median).ln_1p() / c.deviation;
            c.weight.ln() - c.deviation.ln() - 0.5 * z * z
        };
        let [fast, slow] = &self.components;
        score(slow) > score(fast)
    }
}

/// The step of the values: the greatest common divisor of their differences. 0 if all are equal.
pub fn resolution(values: &[i64]) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let first = values.first().copied().unwrap_or(0);
    values.iter().fold(0, |step, v| divisor(step, v.abs_diff(first)))
}

/// Two normal distributions, of standardized logarithms.
#[derive(Clone, Copy, Debug)]
struct NormalPair {
    weight: [f64; 2],
    mean: [f64; 2],
    deviation: [f64; 2],
}

impl NormalPair {
    fn density(&self, x: f64) -> f64 {
        let part = |i: usize| {
            let z = (x - self.mean[i]) / self.deviation[i];
            self.weight[i] * (-0.5 * z * z).exp() / (self.deviation[i] * (2.0 * PI).sqrt())
        };
        part(0) + part(1)
    }

    fn ascending(self) -> NormalPair {
        let NormalPair { weight: [w, v], mean: [a, b], deviation: [s, t] } = self;
        if a <= b { self } else { NormalPair { weight: [v, w], mean: [b, a], deviation: [t, s] } }
    }

    fn lesser_weight(&self) -> f64 {
        self.weight[0].min(self.weight[1])
    }
}

/// The best mixture of two components for these values.
///
/// # Errors
/// [`NoMixture`]: below 100 values, for values that are not positive, and for values without spread.
pub fn mixture(values: &[f64], tick: f64, seed: u64, item: u64) -> Result<MixtureFit, NoMixture> {
    if values.len() < FEWEST_FOR_MODES {
        return Err(NoMixture::TooFew { have: values.len(), need: FEWEST_FOR_MODES });
    }
    let mut rng = generator(seed, RandomPurpose::Noise, DITHER + item);
    let mut dither = |v: &f64| v + tick * (f64::from(rng.next_u32()) / f64::from(u32::MAX) - 0.5);
    let mut dithered: Vec<f64> = values.iter().map(&mut dither).collect();
    dithered.sort_by(f64::total_cmp);
    if dithered.first().is_none_or(|v| *v <= 0.0 || !v.is_finite()) {
        return Err(NoMixture::NotPositive);
    }
    let median = median_of_sorted(&dithered).ok_or(NoMixture::NotPositive)?;
    // Around the median, as logarithms of nearly equal times differ in their last digits only.
    let logarithms: Vec<f64> = dithered.iter().map(|v| ((v - median) / median).ln_1p()).collect();
    let n = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / n;
    let deviation = (logarithms.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let spread = dithered.last().zip(dithered.first()).map_or(0.0, |(last, first)| last - first);
    if spread <= 2.0 * tick || deviation.is_nan() || deviation < 1e-12 {
        return Err(NoMixture::NoSpread);
    }
    let standard: Vec<f64> = logarithms.iter().map(|v| (v - mean) / deviation).collect();
    let (pair, likelihood) = best_pair(&standard);
    // A flat distribution is one, too, and two normal ones would describe it better than a single one does.
    let range = standard.last().zip(standard.first()).map_or(1.0, |(last, first)| last - first);
    let single = (-0.5 * n * ((2.0 * PI).ln() + 1.0)).max(-n * range.ln());
    let component = |i: usize| MixtureComponent {
        weight: pair.weight[i],
        median: median * (mean + deviation * pair.mean[i]).exp(),
        deviation: deviation * pair.deviation[i],
    };
    let width = pair.deviation[0].hypot(pair.deviation[1]);
    Ok(MixtureFit {
        n: values.len(),
        tick,
        components: [component(0), component(1)],
        // Five parameters against two.
        gain: 2.0 * (likelihood - single) - 3.0 * n.ln(),
        separation: std::f64::consts::SQRT_2 * (pair.mean[1] - pair.mean[0]) / width,
        valley: valley(&standard, &pair),
    })
}

/// The likeliest pair, and the logarithm of its likelihood; `sorted` are ascending.
///
/// A start whose smaller component keeps its 5% is preferred: else a few outliers would hide two modes behind them.
fn best_pair(sorted: &[f64]) -> (NormalPair, f64) {
    let step = sorted.len().div_ceil(FIRST_VALUES).max(1);
    let some: Vec<f64> = sorted.iter().copied().skip(step / 2).step_by(step).collect();
    let tried = STARTS.iter().map(|share| fitted(&some, split(&some, *share), FIRST_ROUNDS));
    let rank = |found: &(NormalPair, f64)| (found.0.lesser_weight() >= LEAST_WEIGHT, found.1);
    let better = |a: &(NormalPair, f64), b: &(NormalPair, f64)| {
        let ((a_keeps, a), (b_keeps, b)) = (rank(a), rank(b));
        a_keeps.cmp(&b_keeps).then(a.total_cmp(&b))
    };
    let start = tried.max_by(better).map_or_else(|| split(sorted, 0.5), |found| found.0);
    let (pair, likelihood) = fitted(sorted, start, ROUNDS);
    (pair.ascending(), likelihood)
}

/// A component for the lower values, and one for the others.
fn split(sorted: &[f64], share: f64) -> NormalPair {
    let at = ((sorted.len() as f64 * share) as usize).clamp(1, sorted.len().saturating_sub(1).max(1));
    let (low, high) = sorted.split_at(at.min(sorted.len()));
    let moments = |part: &[f64]| {
        let n = part.len().max(1) as f64;
        let mean = part.iter().sum::<f64>() / n;
        (mean, (part.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt().max(0.05))
    };
    let ((a, s), (b, t)) = (moments(low), moments(high));
    NormalPair { weight: [share, 1.0 - share], mean: [a, b], deviation: [s, t] }
}

/// Expectation and maximization (Dempster, Laird and Rubin, 1977) from a start, until it gains nothing.
fn fitted(values: &[f64], start: NormalPair, rounds: usize) -> (NormalPair, f64) {
    // A component may not shrink to a point, where the likelihood is infinite.
    let least = narrowest(values);
    let (mut pair, mut likelihood) = (start, f64::NEG_INFINITY);
    for _ in 0..rounds {
        let (next, found) = round(values, &pair, least);
        // The likelihood is that of the pair before the step.
        if found - likelihood < 1e-6 * values.len() as f64 {
            return (pair, found);
        }
        (pair, likelihood) = (next, found);
    }
    (pair, round(values, &pair, least).1)
}

/// A thousandth of the middle half of the values, or of their deviation, which is 1.
fn narrowest(sorted: &[f64]) -> f64 {
    let at = |part: usize| sorted.get(sorted.len() * part / 4).copied().unwrap_or(0.0);
    let quartiles = (at(3) - at(1)) / 1.349;
    1e-3 * if quartiles > 0.0 { quartiles.min(1.0) } else { 1.0 }
}

/// One step, and the likelihood before it.
fn round(values: &[f64], pair: &NormalPair, least: f64) -> (NormalPair, f64) {
    let constant: [f64; 2] =
        [0, 1].map(|i: usize| pair.weight[i].ln() - pair.deviation[i].ln() - 0.5 * (2.0 * PI).ln());
    // Weight, sum and sum of squares by component.
    let mut sums = [[0.0_f64; 3]; 2];
    let mut likelihood = 0.0;
    for x in values {
        let score = |i: usize| constant[i] - 0.5 * ((x - pair.mean[i]) / pair.deviation[i]).powi(2);
        let (a, b) = (score(0), score(1));
        let (most, odds) = (a.max(b), (-(a - b).abs()).exp());
        likelihood += most + odds.ln_1p();
        let lesser = odds / (1.0 + odds);
        let share = if a > b { [1.0 - lesser, lesser] } else { [lesser, 1.0 - lesser] };
        for (sum, w) in sums.iter_mut().zip(share) {
            sum[0] += w;
            sum[1] += w * x;
            sum[2] += w * x * x;
        }
    }
    let n = values.len() as f64;
    let mean = sums.map(|s| s[1] / s[0].max(1e-9));
    let deviation = |i: usize| (sums[i][2] / sums[i][0].max(1e-9) - mean[i] * mean[i]).max(least * least).sqrt();
    let weight = sums.map(|s| (s[0] / n).clamp(1e-9, 1.0));
    (NormalPair { weight, mean, deviation: [deviation(0), deviation(1)] }, likelihood)
}

/// Density in the valley between the means over that of the lower peak: of the mixture and of the values counted there, the higher
/// one; 1 without a valley.
fn valley(sorted: &[f64], pair: &NormalPair) -> f64 {
    let (from, to) = (pair.mean[0] - pair.deviation[0], pair.mean[1] + pair.deviation[1]);
    let place = |i: u32| from + (to - from) * f64::from(i) / f64::from(GRID);
    let between = |x: &f64| *x >= pair.mean[0] && *x <= pair.mean[1];
    let density = |a: &f64, b: &f64| pair.density(*a).total_cmp(&pair.density(*b));
    let Some(lowest) = (0..=GRID).map(place).filter(between).min_by(density) else { return 1.0 };
    let left = (0..=GRID).map(place).filter(|x| *x <= lowest).max_by(density).unwrap_or(lowest);
    let right = (0..=GRID).map(place).filter(|x| *x >= lowest).max_by(density).unwrap_or(lowest);
    let modelled = pair.density(lowest) / pair.density(left).min(pair.density(right));
    let half = COUNTED * pair.deviation[0].min(pair.deviation[1]);
    let counted = |x: f64| {
        let below = |limit: f64| sorted.partition_point(|v| *v < limit);
        (below(x + half) - below(x - half)) as f64
    };
    let peak = counted(left).min(counted(right));
    let seen = if peak > 0.0 { counted(lowest) / peak } else { 1.0 };
    modelled.max(seen).min(1.0)
}

/// Whether two kinds follow each other at random: the test of Wald and Wolfowitz (On a test whether two samples are from the same
/// population, Annals of Mathematical Statistics 11, 1940).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunsTest {
    /// Successions of one kind.
    pub runs: usize,
    /// How many are expected at random.
    pub expected: f64,
    /// Probability of a number as far from that, if the order were random.
    pub p: f64,
}

/// The test of kinds in their order; `None` if one of them occurs fewer than 5 times, where its normal approximation fails.
pub fn runs_test(kinds: &[bool]) -> Option<RunsTest> {
    let a = kinds.iter().filter(|k| **k).count();
    let b = kinds.len() - a;
    if a.min(b) < 5 {
        return None;
    }
    let runs = 1 + kinds.iter().zip(kinds.iter().skip(1)).filter(|(x, y)| x != y).count();
    let n = kinds.len() as f64;
    let expected = 2.0 * a as f64 * b as f64 / n + 1.0;
    let deviation = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
    // With the correction for whole numbers.
    let score = ((runs as f64 - expected).abs() - 0.5).max(0.0) / deviation;
    let normal = Normal::new(0.0, 1.0).ok()?;
    Some(RunsTest { runs, expected, p: (2.0 * normal.sf(score)).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{normal, unit};
    use rand_chacha::ChaCha8Rng;

    /// Series of 200 values that are called two modes, of 40.
    fn called_two(item: u64, tick: f64, draw: fn(&mut ChaCha8Rng) -> f64) -> usize {
        let mut rng = generator(9, RandomPurpose::Noise, 920 + item);
        let series = (0..40).filter(|i| {
            let ticks = |v: f64| if tick > 0.0 { (v / tick).round() * tick } else { v };
            let values: Vec<f64> = (0..200).map(|_| ticks(draw(&mut rng))).collect();
            mixture(&values, tick, 1, *i).unwrap().two_modes()
        });
        series.count()
    }

    #[test]
    fn one_component_is_one() {
        // 5% of 40 is 2.
        type Shape = (&'static str, f64, fn(&mut ChaCha8Rng) -> f64);
        let shapes: [Shape; 5] = [
            ("normal", 0.0, |rng| 1e9 + 1e6 * normal(rng)),
            ("skewed", 0.0, |rng| 1e9 * (0.3 * normal(rng)).exp()),
            ("a tail", 0.0, |rng| 1e9 - 1e6 * unit(rng).ln()),
            ("flat", 0.0, |rng| 1e9 + 1e6 * unit(rng)),
            ("ticks", 1e6, |rng| 1e9 + 1e6 * normal(rng)),
        ];
        for (item, (shape, tick, draw)) in (0..).zip(shapes) {
            let wrong = called_two(item, tick, draw);
            assert!(wrong <= 2, "{shape}: {wrong} of 40");
        }
    }

    #[test]
    fn two_components_are_found_where_they_are() {
        let mut rng = generator(10, RandomPurpose::Noise, 930);
        for (i, share) in [0.5, 0.8, 0.9].into_iter().enumerate() {
            let draw = |rng: &mut ChaCha8Rng| {
                let at = if unit(rng) < share { 1e9 } else { 1.1e9 };
                at * (1.0 + 0.01 * normal(rng))
            };
            let values: Vec<f64> = (0..600).map(|_| draw(&mut rng)).collect();
            let fit = mixture(&values, 1e3, 1, i as u64).unwrap();
            assert!(fit.two_modes(), "{share}: {fit:?}");
            let [fast, slow] = &fit.components;
            assert!((fast.median / 1e9 - 1.0).abs() < 0.003 && (slow.median / 1.1e9 - 1.0).abs() < 0.006, "{fit:?}");
            assert!((fast.weight - share).abs() < 0.07 && (fast.deviation - 0.01).abs() < 0.003, "{fit:?}");
            assert!(fit.is_slow(1.1e9) && !fit.is_slow(1e9));
        }
    }

    #[test]
    fn a_few_outliers_are_no_mode() {
        let mut rng = generator(11, RandomPurpose::Noise, 940);
        let mut values: Vec<f64> = (0..300).map(|_| 1e9 + 1e6 * normal(&mut rng)).collect();
        values.extend([1.5e9, 1.6e9, 1.7e9]);
        assert!(!mixture(&values, 0.0, 1, 0).unwrap().two_modes());
    }

    #[test]
    fn refusals_say_why() {
        let few = NoMixture::TooFew { have: 99, need: 100 };
        assert_eq!(mixture(&[1.0; 99], 0.0, 1, 0), Err(few));
        assert_eq!(mixture(&[7.0; 200], 0.0, 1, 0), Err(NoMixture::NoSpread));
        assert_eq!(mixture(&[7.0; 200], 1.0, 1, 0), Err(NoMixture::NoSpread));
        assert_eq!(mixture(&[0.0; 200], 0.0, 1, 0), Err(NoMixture::NotPositive));
    }

    #[test]
    fn the_step_of_values() {
        assert_eq!(resolution(&[4_000, 12_000, 8_000]), 4_000);
        assert_eq!(resolution(&[1, 5_001, 2_501]), 2_500);
        assert_eq!((resolution(&[]), resolution(&[9]), resolution(&[9, 9])), (0, 0, 0));
    }

    #[test]
    fn runs_of_a_kind() {
        // Two halves: 2 runs of 11 expected with a standard deviation of 2.176, so that z = 8.5 / 2.176 = 3.906.
        let halves: Vec<bool> = (0..20).map(|i| i < 10).collect();
        let found = runs_test(&halves).unwrap();
        assert_eq!((found.runs, found.expected), (2, 11.0));
        assert!((found.p - 9.4e-5).abs() < 0.1e-5, "{found:?}");
        let alternating: Vec<bool> = (0..40).map(|i| i % 2 == 0).collect();
        assert!(runs_test(&alternating).unwrap().p < 1e-6);
        assert_eq!(runs_test(&[true; 50]), None);
    }
}
