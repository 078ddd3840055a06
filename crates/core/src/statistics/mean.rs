//! The mean of a series with its interval and test by Student's t.
//!
//! Unlike the median, and the estimate of the signed rank, it follows a share of the values that lies elsewhere.

use crate::statistics::intervals::Interval;
use crate::statistics::series::{Values, moments};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its error, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanEstimate {
    pub mean: f64,
    /// Standard error; 0 where all values are alike.
    pub error: f64,
    values: usize,
}

impl MeanEstimate {
    /// Of values whose mean has `variance` times the variance of that of as many independent ones (1: they are independent). `None`
    /// of fewer than two.
    pub fn new(values: &Values, variance: f64) -> Option<MeanEstimate> {
        let (mean, deviation) = moments(&values.sorted())?;
        let error = deviation? * (variance / values.len() as f64).sqrt();
        Some(MeanEstimate { mean, error, values: values.len() })
    }

    fn freedom(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.values as f64 - 1.0).ok()
    }

    /// One-sided p value of "the mean is at most `limit`", and at least 2^-n: as if only the side was known on which each value lies,
    /// since values that are all alike may be those of one of two modes.
    pub fn probability_of_at_most(&self, limit: f64) -> f64 {
        let distance = self.mean - limit;
        let by_error = match self.freedom() {
            // The other tail, which keeps its digits where it is small.
            Some(t) if self.error > 0.0 => t.cdf(-distance / self.error),
            _ if distance > 0.0 => 0.0,
            _ => 1.0,
        };
        by_error.max(0.5_f64.powf(self.values as f64))
    }

    /// One-sided p value of "the mean is at least `limit`", likewise.
    pub fn probability_of_at_least(&self, limit: f64) -> f64 {
        MeanEstimate { mean: -self.mean, ..*self }.probability_of_at_most(-limit)
    }

    /// Interval with this level, e.g. 0.95; `None` without one between 0 and 1.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let half = self.freedom().filter(|_| level > 0.0 && level < 1.0)?.inverse_cdf((1.0 + level) / 2.0) * self.error;
        half.is_finite().then_some(Interval { low: self.mean - half, high: self.mean + half, level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, normal, unit};

    fn values(numbers: impl IntoIterator<Item = f64>) -> Values {
        Values::new(numbers).unwrap()
    }

    #[test]
    fn by_hand() {
        let five = MeanEstimate::new(&values([1.0, 2.0, 3.0, 4.0, 5.0]), 1.0).unwrap();
        // Standard error √(2.5 / 5); t of 4 degrees of freedom: 2.776.
        let interval = five.interval(0.95).unwrap();
        assert!((five.mean - 3.0).abs() < 1e-12 && (interval.high - 3.0 - 2.776_445 * 0.5_f64.sqrt()).abs() < 1e-5);
        // The same value four times as often as independent ones: twice the error.
        let twice = MeanEstimate::new(&values([1.0, 2.0, 3.0, 4.0, 5.0]), 4.0).unwrap();
        assert!((twice.interval(0.95).unwrap().half_width() / interval.half_width() - 2.0).abs() < 1e-9);
        assert!(MeanEstimate::new(&values([1.0]), 1.0).is_none() && MeanEstimate::new(&values([]), 1.0).is_none());
    }

    #[test]
    fn p_values_by_hand() {
        let five = MeanEstimate::new(&values([1.0, 2.0, 3.0, 4.0, 5.0]), 1.0).unwrap();
        assert!((five.probability_of_at_most(3.0) - 0.5).abs() < 1e-12);
        // t = 2.776: 2.5%, but five values have at least 1/32.
        let limit = 3.0 - 2.776_445 * 0.5_f64.sqrt();
        assert!((five.probability_of_at_most(limit) - 1.0 / 32.0).abs() < 1e-12);
        assert!((five.probability_of_at_least(limit) - 0.975).abs() < 1e-6);
        let alike = MeanEstimate::new(&values([1.0; 10]), 1.0).unwrap();
        assert_eq!((alike.probability_of_at_most(0.5), alike.probability_of_at_most(1.0)), (1.0 / 1_024.0, 1.0));
        assert!(alike.interval(0.95).is_some_and(|i| (i.low, i.high) == (1.0, 1.0)));
    }

    #[test]
    fn intervals_cover_as_they_say() {
        let two_modes = |rng: &mut _| 0.1 * normal(rng) + if unit(rng) < 0.25 { 0.75 } else { -0.25 };
        let heavy = |rng: &mut _| normal(rng) * if unit(rng) < 0.1 { 10.0 } else { 1.0 };
        let mut rng = generator(5, RandomPurpose::Noise, 0);
        for n in [16_u32, 60] {
            let covered = |draw: &mut dyn FnMut() -> f64| {
                let mut all = || values((0..n).map(|_| draw()));
                (0..1_000)
                    .filter(|_| MeanEstimate::new(&all(), 1.0).unwrap().interval(0.95).unwrap().contains(0.0))
                    .count()
            };
            // Three standard deviations of a count of 1,000 below 95% are 929. Where a quarter lies elsewhere, 16 values have none of
            // it in 1% of the series, and few of it in others.
            let found = [
                covered(&mut || normal(&mut rng)),
                covered(&mut || heavy(&mut rng)),
                covered(&mut || two_modes(&mut rng)),
            ];
            assert!(found[0] >= 929 && found[1] >= 929 && found[2] >= 890, "{n}: {found:?}");
        }
    }
}
