//! What a series of blocks is worth whose neighbours are alike: how many times the variance of independent blocks its mean has.
//!
//! Of an autoregressive process of order one with the correlation ρ, the mean of n values has (1 + ρ) / (1 - ρ) times the variance of
//! n independent ones. The correlation is estimated, corrected for its bias of -(1 + 3ρ) / n (Kendall, 1954), and counts where it is
//! beyond what chance gives independent values in four of five series; then its own error is added to it, as too small a one would
//! make intervals too narrow. Outliers, which hide a correlation, are drawn in before.

use crate::statistics::blocks::lag_one;
use crate::statistics::series::Values;
use crate::statistics::signed_rank::middle;

/// Standard errors from which a correlation counts, in a test and for an interval.
const FROM: f64 = 0.8;
const CLEAR: f64 = 1.645;
/// Correlations beyond this count as this; of n values, those beyond 1 - [`UNSEEN`] / n, as more cannot be told from a drift.
const STRONGEST: f64 = 0.95;
const UNSEEN: f64 = 2.4;
/// Of this many values and fewer the correlation is hardly known: an autoregressive series with ρ = 0.5 passes for an independent one.
const UNKNOWN: f64 = 10.0;

/// One of so many values at either end counts as the next one.
const OUTLIER: usize = 20;

/// How the neighbours of a series depend on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockDependence {
    values: usize,
    /// Of neighbours; `None` where it is not beyond chance.
    pub correlation: Option<f64>,
    /// Variance of the mean relative to that of as many independent values, at least 1.
    pub variance: f64,
}

impl BlockDependence {
    /// Of values in the order of time, for a test that must not be wrong more often than it says.
    pub fn of(values: &Values) -> BlockDependence {
        BlockDependence::from_errors(values, FROM, 1.0)
    }

    /// The same where the correlation is clear, beyond what chance gives in 19 of 20 series: for an interval that need not be wider
    /// for series that look dependent by chance.
    pub fn clear(values: &Values) -> BlockDependence {
        BlockDependence::from_errors(values, CLEAR, 0.0)
    }

    /// From so many standard errors on, so many of them added.
    fn from_errors(values: &Values, from: f64, added: f64) -> BlockDependence {
        let n = values.len() as f64;
        let r = lag_one(&winsorized(values));
        // Of independent values the correlation has a standard error of 1/√n; the correction of its bias enlarges it.
        let known = (n > 3.0).then(|| ((n * r + 1.0) / (n - 3.0), n.sqrt() / (n - 3.0)));
        let counted = known.filter(|(r, error)| *r > from * error);
        let rho = counted.map_or(0.0, |(r, error)| (r + added * error).min(1.0 - UNSEEN / n).min(STRONGEST));
        let correlation = counted.map(|(r, _)| r.min(1.0));
        BlockDependence { values: values.len(), correlation, variance: (1.0 + rho) / (1.0 - rho) }
    }

    /// The same, with what a correlation that cannot be known yet may add: 1 + (10 / n)² times as much. With it a test at 1% by an
    /// autoregressive series with ρ = 0.5 is wrong in about 1% of the series, also if it looks at 10, 16, 24, … values.
    pub fn cautious(self) -> BlockDependence {
        BlockDependence { variance: self.variance * caution(self.values as f64), ..self }
    }

    /// As many independent values would be worth as much; at least 1.
    pub fn effective(&self) -> f64 {
        (self.values as f64 / self.variance).max(1.0)
    }

    /// [`Self::spread_out`] around the middle, Hodges and Lehmann's estimate.
    pub fn around_middle(&self, values: &Values) -> Values {
        middle(values).map_or_else(Values::default, |middle| self.spread_out(values, middle))
    }

    /// The values, moved away from `center` so that they spread as few independent ones would that are worth as much.
    pub fn spread_out(&self, values: &Values, center: f64) -> Values {
        let root = self.variance.sqrt();
        Values::new(values.as_slice().iter().map(|v| center + (v - center) * root)).unwrap_or_default()
    }
}

/// The values in their order, those at the ends drawn in (Winsorized).
fn winsorized(values: &Values) -> Vec<f64> {
    let sorted = values.sorted();
    let drawn = sorted.len() / OUTLIER;
    let last = sorted.len().checked_sub(drawn + 1);
    let Some((low, high)) = sorted.get(drawn).zip(last.and_then(|last| sorted.get(last))) else { return Vec::new() };
    values.as_slice().iter().map(|v| v.clamp(*low, *high)).collect()
}

/// What [`BlockDependence::cautious`] multiplies the variance of so many values by.
pub fn caution(values: f64) -> f64 {
    1.0 + (UNKNOWN / values).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, normal};

    fn autoregressive(seed: u64, n: usize, rho: f64) -> Values {
        let mut rng = generator(seed, RandomPurpose::Noise, 0);
        let mut x = normal(&mut rng);
        let mut next = || {
            x = rho * x + (1.0 - rho * rho).sqrt() * normal(&mut rng);
            x
        };
        Values::new((0..n).map(|_| next())).unwrap()
    }

    #[test]
    fn a_correlation_is_paid_for() {
        let d = BlockDependence::of(&autoregressive(1, 1_000, 0.5));
        // (1 + 0.5) / (1 - 0.5) = 3, and a little for the error of 0.03.
        assert!((d.correlation.unwrap() - 0.5).abs() < 0.1 && (2.4..4.2).contains(&d.variance), "{d:?}");
        assert!((d.effective() - 1_000.0 / d.variance).abs() < 1e-9);
        // One of forty values far away would hide it.
        let outliers = autoregressive(1, 1_000, 0.5);
        let outliers = outliers.as_slice().iter().enumerate().map(|(i, v)| if i % 40 == 7 { v * 100.0 } else { *v });
        let outliers: Vec<f64> = outliers.collect();
        assert!(lag_one(&outliers) < 0.1 && BlockDependence::of(&Values::new(outliers).unwrap()).variance > 2.0);
    }

    #[test]
    fn independent_values_cost_little() {
        let all: Vec<BlockDependence> =
            (0..400).map(|seed| BlockDependence::of(&autoregressive(seed, 60, 0.0))).collect();
        let counted = all.iter().filter(|d| d.correlation.is_some()).count();
        // About a fifth.
        assert!((50..120).contains(&counted), "{counted} of 400");
        let mean = all.iter().map(|d| d.variance).sum::<f64>() / 400.0;
        assert!((1.0..1.3).contains(&mean), "{mean}");
    }

    #[test]
    fn too_few_or_equal_values_have_none() {
        for values in [vec![], vec![1.0], vec![1.0, 2.0, 3.0], vec![5.0; 40]] {
            let d = BlockDependence::of(&Values::new(values.clone()).unwrap());
            assert_eq!((d.correlation, d.variance), (None, 1.0), "{values:?}");
        }
        let d = BlockDependence::of(&autoregressive(3, 10, 0.0)).cautious();
        assert!(d.variance >= 2.0 && d.effective() <= 5.0, "{d:?}");
    }

    #[test]
    fn values_are_moved_away_from_the_center() {
        let values = Values::new([1.0, 2.0, 4.0]).unwrap();
        let four_times = BlockDependence { values: 3, correlation: None, variance: 4.0 };
        assert_eq!(four_times.spread_out(&values, 2.0).as_slice(), [0.0, 2.0, 6.0]);
    }
}
