//! Summary statistics of a series of numbers.
//!
//! Every result is bit-identical for every order of the same numbers: they are sorted before they are added up. Sums are of
//! differences from the median, so that a constant series has exactly its constant as mean and 0 as standard deviation.

use serde::{Deserialize, Serialize};

/// Magnitude from which a number is refused: squares of anything smaller cannot overflow.
const LIMIT: f64 = 1e150;

/// Numbers that may be computed with: all finite, and below 1e150 in magnitude. Any length, 0 included; order kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<f64>);

/// A number that is not finite (or at least 1e150 in magnitude).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("value number {index} is {value}; expected finite numbers below 1e150")]
pub struct NotFinite {
    /// Its place, from 0.
    pub index: usize,
    pub value: f64,
}

impl Values {
    /// Takes the numbers, in any unit, in the order given.
    ///
    /// # Errors
    /// [`NotFinite`] for the first one that is NaN, infinite or too large.
    pub fn new(numbers: impl IntoIterator<Item = f64>) -> Result<Values, NotFinite> {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        match numbers.iter().position(|v| v.is_nan() || v.abs() >= LIMIT) {
            None => Ok(Values(numbers)),
            Some(index) => Err(NotFinite { index, value: numbers.get(index).copied().unwrap_or(f64::NAN) }),
        }
    }

    /// From whole nanoseconds, which are always finite.
    pub fn from_nanos(times: impl IntoIterator<Item = crate::base::units::Nanos>) -> Values {
        Values(times.into_iter().map(crate::base::units::Nanos::as_f64).collect())
    }

    /// The numbers, in the order given.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those for which `keep` (by position; missing entries count as `false`) is set.
    pub fn only(&self, keep: &[bool]) -> Values {
        Values(self.0.iter().zip(keep).filter(|(_, k)| **k).map(|(v, _)| *v).collect())
    }

    /// The numbers in ascending order.
    pub fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// What is said of a series; in the unit of its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub n: usize,
    pub mean: f64,
    /// Median; of an even number of values, the middle of the two in the middle.
    pub median: f64,
    /// Standard deviation (n - 1); `None` for a single value.
    pub std_dev: Option<f64>,
    /// Standard deviation divided by mean (the papers' term); `None` without either, or if the mean is 0.
    pub relative_error: Option<f64>,
    pub min: f64,
    pub max: f64,
}

/// Summary statistics; `None` if there are no values.
pub fn summary(values: &Values) -> Option<Summary> {
    let sorted = values.sorted();
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let (mean, std_dev) = moments(&sorted)?;
    Some(Summary {
        n: sorted.len(),
        mean,
        median: median_of_sorted(&sorted)?,
        std_dev,
        relative_error: std_dev.filter(|_| mean != 0.0).map(|sd| sd / mean).filter(|r| r.is_finite()),
        min,
        max,
    })
}

/// Median in the unit of the values; `None` if there are none.
pub fn median(values: &Values) -> Option<f64> {
    median_of_sorted(&values.sorted())
}

/// Median of numbers in any order.
pub fn median_of(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    median_of_sorted(&numbers)
}

/// Median of ascending numbers.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(lower + (upper - lower) / 2.0)
}

/// Mean and standard deviation (n - 1) of ascending numbers; no deviation for a single one, nothing for none.
pub fn moments(sorted: &[f64]) -> Option<(f64, Option<f64>)> {
    let pivot = *sorted.get(sorted.len() / 2)?;
    let n = sorted.len() as f64;
    let shift = sorted.iter().map(|v| v - pivot).sum::<f64>() / n;
    if sorted.len() == 1 {
        return Some((pivot, None));
    }
    let squares: f64 = sorted.iter().map(|v| (v - pivot - shift).powi(2)).sum();
    Some((pivot + shift, Some((squares / (n - 1.0)).sqrt())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v(numbers: &[f64]) -> Values {
        Values::new(numbers.iter().copied()).unwrap()
    }

    #[test]
    fn known_values() {
        let s = summary(&v(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])).unwrap();
        assert_eq!((s.n, s.mean, s.median, s.min, s.max), (8, 5.0, 4.5, 2.0, 9.0));
        assert!((s.std_dev.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(s.relative_error.unwrap(), s.std_dev.unwrap() / 5.0);
        assert_eq!(summary(&v(&[])), None);
        let one = summary(&v(&[3.0])).unwrap();
        assert_eq!((one.mean, one.std_dev, one.relative_error), (3.0, None, None));
        assert_eq!(summary(&v(&[-1.0, 1.0])).unwrap().relative_error, None);
    }

    #[test]
    fn no_nan_and_no_infinity_enter() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
            let e = Values::new([1.0, bad, 2.0]).unwrap_err();
            assert_eq!(e.index, 1);
        }
    }

    #[test]
    fn keeps_nanoseconds_of_long_times() {
        // A textbook sum of squares loses every digit of this deviation.
        let s = summary(&v(&[1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0])).unwrap();
        assert_eq!((s.mean, s.std_dev), (1e15 + 2.0, Some(1.0)));
    }

    proptest! {
        #[test]
        fn any_bits_enter_only_if_finite(bits in proptest::collection::vec(any::<u64>(), 0..8)) {
            let numbers: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
            let ok = numbers.iter().all(|v| v.is_finite() && v.abs() < LIMIT);
            let values = Values::new(numbers);
            prop_assert_eq!(values.is_ok(), ok);
            if let Some(s) = values.ok().as_ref().and_then(summary) {
                prop_assert!([s.mean, s.median, s.min, s.max].iter().all(|v| v.is_finite()));
                prop_assert!(s.std_dev.is_none_or(f64::is_finite));
            }
        }

        #[test]
        fn order_does_not_matter(
            (a, b) in proptest::collection::vec(-1e12..1e12_f64, 1..40)
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            prop_assert_eq!(summary(&v(&a)), summary(&v(&b)));
        }

        #[test]
        fn constant_series(c in -1e15..1e15_f64, n in 2..300_usize) {
            let s = summary(&v(&vec![c; n])).unwrap();
            prop_assert_eq!((s.mean, s.median, s.std_dev), (c, c, Some(0.0)));
        }
    }
}
