//! How much wider an interval must be for values that resemble their neighbours in time.
//!
//! The mean of n independent values varies by σ / √n. Successive executions of a program share the state of the machine: their mean
//! varies more, by the square root of 1 + 2 Σ (1 - k/n) ρ_k, with ρ_k the correlation of values k apart (Priestley, Spectral
//! Analysis and Time Series, 1981, section 5.3.2). That sum is taken in two ways, and the larger one counts:
//!
//! * as if ρ_k = ρ^k, an autoregressive process of order one. ρ is the correlation of neighbours, corrected for its bias of
//!   (1 + 3 ρ) / n (Kendall, 1954), plus 1 + 8/n of its standard errors (n at least 10): few values cannot show that they are independent, and the
//!   interval of such must be wider. That the values' own deviation is too small if they resemble each other is counted as well;
//! * from the measured ρ_k, until two successive ones cancel out (Geyer's initial positive sequence, Statistical Science 7, 1992), for
//!   resemblance that lasts longer than that of neighbours tells.
//!
//! Correlations are those of ranks, which outliers do not upset. Executions that a run takes in blocks (several short ones in a row)
//! share the state of their block: the deviation between the means of blocks counts if it says more.
//!
//! Checked in `core/tests/core/intervals.rs`: intervals of the mean and of the median that are stretched so hold in at least 93% of
//! independent normal, lognormal and bimodal series, of autoregressive ones up to ρ = 0.7, of series with spikes and of blocks, for
//! 10 to 100 values.

use crate::statistics::blocks::lag_one;
use crate::statistics::correlation::ranks;
use crate::statistics::intervals::{FEWEST, Interval, LEVEL};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Correlations of neighbours beyond this count as this.
const STRONGEST: f64 = 0.9;
/// Most distances at which values are compared.
const FARTHEST: usize = 500;

/// What resemblance of neighbours does to an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    /// Correlation of the ranks of successive values, -1 to 1.
    pub r: f64,
    /// So many times as wide as for independent values is an interval, at least 1.
    pub stretch: f64,
}

impl Dependence {
    /// The interval of the mean of `n` independent values with this standard deviation (n - 1), for values that depend on each other: what
    /// that adds to the variance of their mean is added. What the interval has on one side only, for outliers that were left out, stays as
    /// it is. (The deviation of values of which the outer ones were left out is too small, so that the nearer bound counts if it is
    /// further.)
    pub fn widen(&self, interval: Interval, mean: f64, std_dev: f64, n: usize) -> Interval {
        let n = n as f64;
        let nearer = (mean - interval.low).min(interval.high - mean);
        let reach = (quantile(n) * std_dev / n.sqrt()).max(nearer);
        let added = reach * (self.stretch.powi(2) - 1.0).max(0.0).sqrt();
        let (low, high) = (mean - (mean - interval.low).hypot(added), mean + (interval.high - mean).hypot(added));
        Interval { low, high, ..interval }
    }
}

/// Student's, of n values.
fn quantile(n: f64) -> f64 {
    StudentsT::new(0.0, 1.0, n - 1.0).map_or(2.0, |t| t.inverse_cdf(f64::midpoint(LEVEL, 1.0)))
}

/// Of values in the order of time; `None` for fewer than 6.
pub fn dependence(values: &[f64]) -> Option<Dependence> {
    if values.len() < FEWEST as usize {
        return None;
    }
    let ranks = ranks(values);
    let variance = neighbours(&ranks).max(long(&ranks));
    Some(Dependence { r: lag_one(&ranks), stretch: variance.max(1.0).sqrt() })
}

/// The same of values that were taken in blocks, whose numbers come with them; `None` for fewer than 6 values.
pub fn dependence_in_blocks(values: &[(u32, f64)]) -> Option<Dependence> {
    let plain: Vec<f64> = values.iter().map(|v| v.1).collect();
    let alone = dependence(&plain)?;
    let ranks = ranks(&plain);
    let numbered: Vec<(u32, f64)> = values.iter().map(|v| v.0).zip(ranks).collect();
    let means: Vec<f64> =
        numbered.chunk_by(|a, b| a.0 == b.0).map(|b| b.iter().map(|v| v.1).sum::<f64>() / b.len() as f64).collect();
    // Each value by itself.
    if means.len() == plain.len() {
        return Some(alone);
    }
    let n = plain.len() as f64;
    // One block does not tell how blocks differ: it is as uncertain as two that differ like the values.
    let Some(blocks) = Some(means.len() as f64).filter(|blocks| *blocks > 1.0) else {
        return Some(Dependence { stretch: alone.stretch * quantile(2.0) / quantile(n), ..alone });
    };
    let all: Vec<f64> = numbered.iter().map(|v| v.1).collect();
    let (within, between) = (variance(&all) / n, variance(&means) / blocks);
    let by_blocks = if within > 0.0 { (between / within).sqrt() * quantile(blocks) / quantile(n) } else { 1.0 };
    let of_means = dependence(&means).map_or(1.0, |d| d.stretch);
    Some(Dependence { stretch: alone.stretch.max(by_blocks * of_means), ..alone })
}

/// With n - 1.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// So many times as large as the deviation of values, in the order of time, is that of all that may follow: values that resemble
/// each other deviate less from their own mean. 1 for fewer than three values.
pub fn unseen_spread(values: &[f64]) -> f64 {
    if values.len() < 3 { 1.0 } else { process(&ranks(values)).1.sqrt().recip() }
}

/// How many times as large the variance of the mean is as the values' own deviation tells, if ρ_k = ρ^k.
fn neighbours(ranks: &[f64]) -> f64 {
    let (mean, deviation) = process(ranks);
    mean / deviation
}

/// Of an autoregressive process of order one: the variance of the mean relative to that of independent values, and the variance of
/// the values about their own mean relative to that about the true one.
fn process(ranks: &[f64]) -> (f64, f64) {
    let n = ranks.len() as f64;
    let r = lag_one(ranks);
    let r = r + (1.0 + 3.0 * r) / n;
    let error = ((1.0 - r * r).max(0.05) / n).sqrt();
    let rho = (r + (1.0 + 8.0 / n.max(10.0)) * error).clamp(0.0, STRONGEST);
    let (mut power, mut sum) = (1.0, 0.0);
    for k in 1..ranks.len().min(FARTHEST) {
        power *= rho;
        sum += (1.0 - k as f64 / n) * power;
    }
    let mean = 1.0 + 2.0 * sum;
    // Values that follow each other deviate less from their own mean.
    (mean, (1.0 - mean / n) / (1.0 - 1.0 / n))
}

/// The same from the measured correlations.
fn long(ranks: &[f64]) -> f64 {
    let n = ranks.len();
    let mean = (n as f64 + 1.0) / 2.0;
    let all: f64 = ranks.iter().map(|r| (r - mean).powi(2)).sum();
    if all <= 0.0 {
        return 1.0;
    }
    let at = |k: usize| {
        let products = ranks.iter().zip(ranks.iter().skip(k)).map(|(a, b)| (a - mean) * (b - mean));
        // Each is too small by about 1/n, as the mean is that of the same values.
        products.sum::<f64>() / all + if k == 0 { 0.0 } else { 1.0 / n as f64 }
    };
    let pairs = (0..(n / 3).min(FARTHEST)).step_by(2).map(|k| at(k) + at(k + 1));
    2.0 * pairs.take_while(|pair| *pair > 0.0).sum::<f64>() - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, normal};

    fn autoregressive(item: u64, n: usize, rho: f64) -> Vec<f64> {
        let mut rng = generator(71, RandomPurpose::Noise, item);
        let mut x = normal(&mut rng) / (1.0 - rho * rho).sqrt();
        let mut next = || {
            x = rho * x + normal(&mut rng);
            x
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn wider_the_more_neighbours_resemble_each_other() {
        let stretch = |n, rho| {
            let all: Vec<f64> = (0..20).map(|i| dependence(&autoregressive(i, n, rho)).unwrap().stretch).collect();
            all.iter().sum::<f64>() / 20.0
        };
        // The root of (1 + ρ) / (1 - ρ): 1, 1.73 and 2.38.
        for (rho, expected) in [(0.0, 1.0), (0.5, 1.73), (0.7, 2.38)] {
            let found = stretch(2_000, rho);
            assert!(found > 0.97 * expected && found < 1.15 * expected, "{rho}: {found}");
        }
        assert!(stretch(10, 0.0) > 1.4, "ten values do not show that they are independent");
    }

    #[test]
    fn nothing_to_see() {
        assert_eq!(dependence(&[1.0; 5]), None);
        let equal = dependence(&[7.0; 40]).unwrap();
        assert_eq!(equal.r, 0.0);
        assert!(equal.stretch < 1.4);
        // An order that alternates is no resemblance.
        let zigzag: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert_eq!(dependence(&zigzag).unwrap().stretch, 1.0);
    }

    #[test]
    fn what_blocks_share_counts() {
        let mut rng = generator(72, RandomPurpose::Noise, 0);
        // Six blocks of ten, which differ by far more than the values of one.
        let of_block: Vec<f64> = (0..6).map(|_| 10.0 * normal(&mut rng)).collect();
        let values: Vec<(u32, f64)> = (0..60).map(|i| (i / 10, of_block[i as usize / 10] + normal(&mut rng))).collect();
        let found = dependence_in_blocks(&values).unwrap();
        assert!(found.stretch > 3.2, "the root of 10, and a wider quantile: {found:?}");
        let alone: Vec<(u32, f64)> = values.iter().map(|v| v.1).zip(0..).map(|(v, i)| (i, v)).collect();
        let plain: Vec<f64> = values.iter().map(|v| v.1).collect();
        assert_eq!(dependence_in_blocks(&alone), dependence(&plain));
        let one = plain.iter().map(|v| (0, *v)).collect::<Vec<_>>();
        assert!(dependence_in_blocks(&one).unwrap().stretch > 6.0, "t of 2 values, 12.7, to that of 60, 2.0");
    }
}
