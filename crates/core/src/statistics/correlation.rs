//! Correlation of two series of times, raw and without outliers, with an interval that allows for what makes the textbook's too
//! narrow: samples that depend on their neighbours, and tails.
//!
//! The textbook's interval is Fisher's: atanh r is normal with a standard error of 1 / √(n - 3), for independent pairs of normal
//! numbers (Fisher, 1921). Neighbours that resemble each other in both series are worth fewer pairs, n (1 - a) / (1 + a) with a
//! the product of the two correlations between neighbours (Bartlett, 1935; Bretherton et al., Journal of Climate 12, 1999,
//! equation 31); that number is used instead of n. Tails are allowed for by a bootstrap of blocks of successive pairs
//! (Künsch, Annals of Statistics 17, 1989), whose standard deviation of atanh r is the standard error if it is the larger one.
//! Which of the two an interval rests on is part of it. Under rare, extreme values even that is too narrow for few pairs, as the
//! bootstrap cannot know of values that have not occurred; the rank correlation beside is not moved by them.

use crate::statistics::blocks::{block_length, draw_blocks, lag_one, resamples};
use crate::statistics::intervals::{Interval, LEVEL};
use crate::statistics::limits::Limits;
use crate::statistics::random::{RandomPurpose, generator};
use crate::statistics::series::Values;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest pairs for a correlation with an interval.
pub const FEWEST_PAIRS: u32 = 10;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 500;
/// Beyond this, a correlation counts as this on Fisher's scale, which has no place for 1.
const ALMOST_ONE: f64 = 1.0 - 1e-9;
/// Neighbours are never more alike than this.
const MOST_ALIKE: f64 = 0.99;

/// What the interval of a correlation rests on: the larger of two standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrelationError {
    /// Fisher's, with the number of independent pairs that these are worth.
    FisherZ,
    /// That of a bootstrap of blocks of successive pairs.
    BlockBootstrap,
}

/// A correlation with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelationEstimate {
    pub pairs: u32,
    /// Pearson's, -1 to 1.
    pub r: f64,
    /// Spearman's, of the ranks, -1 to 1.
    pub rank: f64,
    pub interval: Interval,
    /// Standard error of atanh r.
    pub error: f64,
    pub rests_on: CorrelationError,
    /// Independent pairs that these are worth.
    pub effective: f64,
}

/// Why there is no correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoCorrelation {
    #[error("{have} pairs, {need} needed")]
    TooFewPairs { have: u32, need: u32 },
    /// All values of a series are the same.
    #[error("one of the two does not vary")]
    NoSpread,
}

/// Pearson's correlation, -1 to 1; `None` where one of the two does not vary.
pub fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    pearson_at(pairs, 0..pairs.len())
}

/// As [`pearson`], of the pairs at these positions.
fn pearson_at(pairs: &[(f64, f64)], positions: impl Iterator<Item = usize> + Clone) -> Option<f64> {
    // Counted from the first pair, so that times of 10^13 ns keep their digits.
    let (px, py) = *pairs.first()?;
    let chosen = || positions.clone().filter_map(move |i| pairs.get(i)).map(move |(x, y)| (x - px, y - py));
    let (n, sx, sy) = chosen().fold((0.0, 0.0, 0.0), |(n, sx, sy), (x, y)| (n + 1.0, sx + x, sy + y));
    let (mx, my) = (sx / n, sy / n);
    let add = |(xx, yy, xy): (f64, f64, f64), (x, y): (f64, f64)| {
        let (x, y) = (x - mx, y - my);
        (xx + x * x, yy + y * y, xy + x * y)
    };
    let (xx, yy, xy) = chosen().fold((0.0, 0.0, 0.0), add);
    let r = xy / (xx.sqrt() * yy.sqrt());
    (xx > 0.0 && yy > 0.0 && r.is_finite()).then(|| r.clamp(-1.0, 1.0))
}

/// Spearman's correlation, that of the ranks, -1 to 1; `None` where one of the two does not vary.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let both: Vec<(f64, f64)> = ranks(&x).into_iter().zip(ranks(&y)).collect();
    pearson(&both)
}

/// Ranks from 1; equal values share the mean of theirs.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for same in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + (same.len() + 1) as f64 / 2.0;
        for (_, place) in same {
            if let Some(r) = ranks.get_mut(*place) {
                *r = rank;
            }
        }
        before += same.len();
    }
    ranks
}

/// Which values are within `s` standard deviations of the mean of all; in one pass, as the second check of EMPv5.
pub fn within(values: &[f64], s: f64) -> Vec<bool> {
    let limits = Values::new(values.iter().copied()).ok().and_then(|v| Limits::new(&v, s));
    values.iter().map(|v| limits.is_none_or(|l| l.holds(*v))).collect()
}

/// Whether this rule can discard any of `n` values at all: none of them is further than (n - 1) / √n standard deviations from
/// their mean.
pub fn can_discard(n: usize, s: f64) -> bool {
    (n as f64 - 1.0) / (n as f64).sqrt() > s
}

/// Two quantities of one execution, or of two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelatedPair {
    pub x: f64,
    pub y: f64,
    /// Neither is an outlier.
    pub retained: bool,
}

/// A correlation as the report on program execution time has it: of all pairs, and without outliers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawAndTrimmed {
    /// In the order of time.
    pub pairs: Vec<CorrelatedPair>,
    pub raw: Result<CorrelationEstimate, NoCorrelation>,
    pub trimmed: Result<CorrelationEstimate, NoCorrelation>,
    /// Pairs with an outlier.
    pub removed: u32,
    /// Whether there are enough pairs for the rule to remove any.
    pub can_remove: bool,
}

impl RawAndTrimmed {
    /// Of pairs in the order of time. An outlier is further than `s` standard deviations from the mean of its series; its
    /// partner is removed with it. `item` and the next one are those of the intervals' random numbers.
    pub fn new(pairs: &[(f64, f64)], s: f64, seed: u64, item: u64) -> RawAndTrimmed {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let keep: Vec<bool> = within(&x, s).into_iter().zip(within(&y, s)).map(|(x, y)| x && y).collect();
        let kept: Vec<(f64, f64)> = pairs.iter().zip(&keep).filter(|(_, k)| **k).map(|(p, _)| *p).collect();
        let pair = |((x, y), retained): (&(f64, f64), &bool)| CorrelatedPair { x: *x, y: *y, retained: *retained };
        RawAndTrimmed {
            pairs: pairs.iter().zip(&keep).map(pair).collect(),
            raw: correlation(pairs, seed, item),
            trimmed: correlation(&kept, seed, item.wrapping_add(1)),
            removed: u32::try_from(pairs.len() - kept.len()).unwrap_or(u32::MAX),
            can_remove: can_discard(pairs.len(), s),
        }
    }
}

/// The correlation of pairs in the order of time, with its interval; the same seed and item give the same one.
///
/// The interval is wider by 2 / n of itself than the error says. Coverage of the true correlation in series of normal numbers,
/// independent and autoregressive, n = 40 to 60: 95% and more; with 3% of values six times as spread, about 90% at n = 60.
///
/// # Errors
/// [`NoCorrelation`] below 10 pairs, and where one of the two does not vary.
pub fn correlation(pairs: &[(f64, f64)], seed: u64, item: u64) -> Result<CorrelationEstimate, NoCorrelation> {
    let have = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    if have < FEWEST_PAIRS {
        return Err(NoCorrelation::TooFewPairs { have, need: FEWEST_PAIRS });
    }
    let r = pearson(pairs).ok_or(NoCorrelation::NoSpread)?;
    let rank = spearman(pairs).ok_or(NoCorrelation::NoSpread)?;
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (lag_one(&x), lag_one(&y));
    // Neighbours that differ more than by chance would be worth more pairs than there are; that is not claimed.
    let alike = (x * y).clamp(0.0, MOST_ALIKE);
    let effective = (f64::from(have) * (1.0 - alike) / (1.0 + alike)).max(5.0);
    let fisher = 1.0 / (effective - 3.0).sqrt();
    let bootstrap = bootstrap_error(pairs, block_length(pairs.len(), x.abs().max(y.abs())), seed, item);
    let error = fisher.max(bootstrap);
    let rests_on = if bootstrap > fisher { CorrelationError::BlockBootstrap } else { CorrelationError::FisherZ };
    // Both errors are a little small for few pairs: at n = 40, 95% would be covered only just.
    let reach = t_quantile(effective - 2.0) * error * (1.0 + 2.0 / effective);
    let z = fisher_z(r);
    let interval = Interval { low: (z - reach).tanh(), high: (z + reach).tanh(), level: LEVEL }.reaching(r);
    Ok(CorrelationEstimate { pairs: have, r, rank, interval, error, rests_on, effective })
}

fn fisher_z(r: f64) -> f64 {
    r.clamp(-ALMOST_ONE, ALMOST_ONE).atanh()
}

/// The quantile of Student's t for a two-sided interval.
pub fn t_quantile(freedom: f64) -> f64 {
    let tail = (1.0 - LEVEL) / 2.0;
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(1.96, |t| -t.inverse_cdf(tail))
}

/// Standard deviation of atanh r over resamples; 0 if they have none.
fn bootstrap_error(pairs: &[(f64, f64)], length: usize, seed: u64, item: u64) -> f64 {
    let mut rng = generator(seed, RandomPurpose::Bootstrap, item);
    let mut positions = Vec::with_capacity(pairs.len());
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..resamples(pairs.len(), RESAMPLES) {
        draw_blocks(&mut rng, pairs.len(), length, &mut positions);
        drawn.extend(pearson_at(pairs, positions.iter().copied()).map(fisher_z));
    }
    let n = drawn.len() as f64;
    let mean = drawn.iter().sum::<f64>() / n;
    let squares: f64 = drawn.iter().map(|z| (z - mean).powi(2)).sum();
    if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 }
}

/// How a correlation changes with size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelationGrowth {
    /// Correlations that it is computed from.
    pub sizes: u32,
    /// Change of atanh r for each doubling of the size.
    pub per_doubling: f64,
    pub interval: Interval,
}

/// The weighted line through atanh r over log2 of the size. Where the points are further from it than their errors say, the
/// interval is wider by as much (Birge, Physical Review 40, 1932). `None` for fewer than three different sizes.
pub fn growth(found: &[(f64, &CorrelationEstimate)]) -> Option<CorrelationGrowth> {
    let known = found.iter().filter(|(size, e)| *size > 0.0 && size.is_finite() && e.error > 0.0);
    let points: Vec<(f64, f64, f64)> = known.map(|(size, e)| (size.log2(), fisher_z(e.r), e.error.powi(-2))).collect();
    let mut sizes: Vec<f64> = points.iter().map(|p| p.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 {
        return None;
    }
    let weight: f64 = points.iter().map(|p| p.2).sum();
    let mx = points.iter().map(|p| p.0 * p.2).sum::<f64>() / weight;
    let my = points.iter().map(|p| p.1 * p.2).sum::<f64>() / weight;
    let xx: f64 = points.iter().map(|p| p.2 * (p.0 - mx).powi(2)).sum();
    let slope = points.iter().map(|p| p.2 * (p.0 - mx) * (p.1 - my)).sum::<f64>() / xx;
    let freedom = points.len() as f64 - 2.0;
    let off: f64 = points.iter().map(|p| p.2 * (p.1 - my - slope * (p.0 - mx)).powi(2)).sum();
    let reach = t_quantile(freedom) * (off / freedom).sqrt().max(1.0) / xx.sqrt();
    let interval = Interval { low: slope - reach, high: slope + reach, level: LEVEL };
    let sizes = u32::try_from(points.len()).unwrap_or(u32::MAX);
    slope.is_finite().then_some(CorrelationGrowth { sizes, per_doubling: slope, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::normal;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;

    /// `n` pairs of correlation `r`, each series autoregressive with `phi`.
    fn simulated(rng: &mut ChaCha8Rng, n: usize, r: f64, phi: f64) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (0.0, 0.0);
        let mut next = || {
            let a = normal(rng);
            let b = r * a + (1.0 - r * r).sqrt() * normal(rng);
            (x, y) = (phi * x + a, phi * y + b);
            (x, y)
        };
        (0..n + 20).map(|_| next()).skip(20).collect()
    }

    #[test]
    fn known_values() {
        // Deviations of x: -2 -1 0 1 2, of y: -1.8 0.2 -0.8 1.2 1.2; xy 7, xx 10, yy 6.8.
        let pairs = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0), (5.0, 4.0)];
        assert!((pearson(&pairs).unwrap() - 7.0 / 68_f64.sqrt()).abs() < 1e-12);
        // Ranks of y: 1, 3, 2, 4.5, 4.5; xy 8.5, yy 9.5.
        assert!((spearman(&pairs).unwrap() - 8.5 / 95_f64.sqrt()).abs() < 1e-12);
        assert_eq!(pearson(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(pearson(&[]), None);
        let far: Vec<(f64, f64)> = (0..20).map(|i| (1e13 + f64::from(i), 1e13 - f64::from(i))).collect();
        assert!((pearson(&far).unwrap() + 1.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_and_no_spread() {
        let same: Vec<(f64, f64)> = (0..12).map(|i| (f64::from(i), 7.0)).collect();
        assert_eq!(correlation(&same, 1, 0), Err(NoCorrelation::NoSpread));
        let few = NoCorrelation::TooFewPairs { have: 9, need: 10 };
        assert_eq!(correlation(&same[..9], 1, 0), Err(few));
        assert_eq!(few.to_string(), "9 pairs, 10 needed");
    }

    #[test]
    fn a_known_correlation_is_in_its_interval() {
        let mut rng = generator(21, RandomPurpose::Order, 0);
        for (n, r, phi) in [(40, 0.0, 0.0), (40, 0.6, 0.0), (60, 0.3, 0.6), (60, -0.5, 0.8)] {
            let covers = |i: u64| correlation(&simulated(&mut rng, n, r, phi), 1, i).unwrap().interval.contains(r);
            let hits = (0..200).map(covers).filter(|c| *c).count();
            assert!(hits >= 188, "n {n}, r {r}, phi {phi}: {hits} of 200");
        }
    }

    #[test]
    fn dependent_samples_are_worth_fewer() {
        let mut rng = generator(22, RandomPurpose::Order, 0);
        let pairs = simulated(&mut rng, 400, 0.0, 0.9);
        let e = correlation(&pairs, 1, 0).unwrap();
        assert!(e.effective < 120.0 && e.interval.half_width() > 0.15, "{e:?}");
        let independent = correlation(&simulated(&mut rng, 400, 0.0, 0.0), 1, 0).unwrap();
        assert!(independent.effective > 350.0 && independent.interval.half_width() < 0.15, "{independent:?}");
        assert_eq!(correlation(&pairs, 1, 0), correlation(&pairs, 1, 0));
    }

    #[test]
    fn outliers_move_the_raw_correlation_only() {
        let mut rng = generator(23, RandomPurpose::Order, 0);
        let clean = simulated(&mut rng, 300, -0.5, 0.0);
        let mut spoiled = clean.clone();
        spoiled.extend([(60.0, 60.0), (55.0, 80.0)]);
        assert!(pearson(&spoiled).unwrap() > 0.8);
        assert!((spearman(&spoiled).unwrap() - spearman(&clean).unwrap()).abs() < 0.05);
        let both = RawAndTrimmed::new(&spoiled, 5.0, 1, 0);
        let retained = both.pairs.iter().filter(|p| p.retained).map(|p| (p.x, p.y));
        assert!(retained.eq(clean.iter().copied()) && both.removed == 2 && both.can_remove);
        // As if they had not been there.
        assert_eq!(both.trimmed, correlation(&clean, 1, 1));
        let e = both.trimmed.unwrap();
        assert!(e.r == pearson(&clean).unwrap() && e.interval.high < 0.0, "{e:?}");
        // With tails, the bootstrap's error is the larger one.
        assert_eq!(both.raw.unwrap().rests_on, CorrelationError::BlockBootstrap);
    }

    #[test]
    fn few_values_have_no_outliers() {
        // One of 26 is at most 4.9 standard deviations away, one of 27 at most 5.004.
        let with_one = |n: usize| (0..n).map(|i| if i == 0 { 1e9 } else { 1.0 }).collect::<Vec<f64>>();
        assert_eq!((can_discard(26, 5.0), can_discard(27, 5.0)), (false, true));
        assert!(within(&with_one(26), 5.0).iter().all(|k| *k));
        assert!(!within(&with_one(27), 5.0)[0]);
    }

    #[test]
    fn a_correlation_that_grows() {
        let estimate = |r: f64| CorrelationEstimate {
            pairs: 403,
            r,
            rank: r,
            interval: Interval { low: r - 0.1, high: r + 0.1, level: LEVEL },
            error: 0.05,
            rests_on: CorrelationError::FisherZ,
            effective: 403.0,
        };
        // atanh r is 0.2 per doubling, exactly.
        let all: Vec<CorrelationEstimate> = (1..=5).map(|i| estimate((0.2 * f64::from(i)).tanh())).collect();
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0];
        let found: Vec<(f64, &CorrelationEstimate)> = sizes.into_iter().zip(&all).collect();
        let g = growth(&found).unwrap();
        assert!((g.per_doubling - 0.2).abs() < 1e-9 && g.sizes == 5, "{g:?}");
        // 0.05 / √10 times t of 3 degrees of freedom.
        assert!((g.interval.half_width() - 3.182 * 0.05 / 10_f64.sqrt()).abs() < 1e-3, "{g:?}");
        assert_eq!(growth(&found[..2]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn always_between_minus_one_and_one(
            pairs in proptest::collection::vec((-1e12..1e12_f64, 0.0..1e3_f64), 10..40)
        ) {
            if let Ok(e) = correlation(&pairs, 1, 0) {
                prop_assert!(e.interval.low >= -1.0 && e.interval.high <= 1.0 && e.interval.contains(e.r));
                prop_assert!((-1.0..=1.0).contains(&e.rank));
                let swapped: Vec<(f64, f64)> = pairs.iter().map(|(x, y)| (*y, *x)).collect();
                prop_assert!((pearson(&swapped).unwrap() - e.r).abs() < 1e-9);
            }
        }
    }
}
