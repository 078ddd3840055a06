//! Bands: where the values of a series gather, with empty ranges between.

use crate::statistics::series::{Values, median_of_sorted};
use crate::statistics::spread::robust_spread;
use serde::{Deserialize, Serialize};

/// An empty range of at least so many robust spreads separates two bands. Among a thousand normal values, the largest gap that is
/// not at an end is a small part of one.
const GAP: f64 = 2.0;
/// Fewest values of a band; fewer stand alone.
const LEAST: usize = 3;

/// A range in which values gather; in the unit of the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueBand {
    pub values: usize,
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// The bands of a series, from the lowest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueBands {
    pub bands: Vec<ValueBand>,
    /// Values that are in none.
    pub alone: usize,
    /// Width of an empty range that separates two.
    pub gap: f64,
}

impl ValueBands {
    /// The one with the most values: the lowest of several with as many.
    pub fn main(&self) -> Option<&ValueBand> {
        self.bands.iter().rev().max_by_key(|b| b.values)
    }
}

/// Splits the values at every empty range that is wider than twice their robust spread. `None` for fewer than three values, and
/// where at least half of them are equal, so that no width follows from them.
pub fn value_bands(values: &Values) -> Option<ValueBands> {
    let gap = GAP * robust_spread(values).filter(|s| values.len() >= LEAST && *s > 0.0)?;
    let sorted = values.sorted();
    let mut found = ValueBands { bands: Vec::new(), alone: 0, gap };
    for near in sorted.chunk_by(|a, b| b - a <= gap) {
        match (near.first(), median_of_sorted(near), near.last()) {
            (Some(low), Some(median), Some(high)) if near.len() >= LEAST => {
                found.bands.push(ValueBand { values: near.len(), low: *low, median, high: *high });
            }
            _ => found.alone += near.len(),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v(numbers: impl IntoIterator<Item = f64>) -> Values {
        Values::new(numbers).unwrap()
    }

    /// As EMP figure 2(a): a main band, a weaker one above, one execution far above both.
    #[test]
    fn two_bands_and_an_outlier() {
        let main = (0..200).map(|i| 8397.0 + f64::from(i % 9));
        let upper = (0..20).map(|i| 8600.0 + f64::from(i % 5));
        let b = value_bands(&v(main.chain(upper).chain([9200.0]))).unwrap();
        assert_eq!((b.bands.len(), b.alone), (2, 1));
        assert_eq!((b.bands[0].values, b.bands[0].low, b.bands[0].high), (200, 8397.0, 8405.0));
        assert_eq!((b.bands[1].values, b.bands[1].median), (20, 8602.0));
        assert_eq!(b.main(), Some(&b.bands[0]));
    }

    #[test]
    fn no_width_no_bands() {
        assert_eq!(value_bands(&v([1.0; 30])), None);
        assert_eq!(value_bands(&v([1.0, 2.0])), None);
        assert_eq!(value_bands(&v([])), None);
    }

    proptest! {
        #[test]
        fn every_value_has_one_place(numbers in proptest::collection::vec(0.0..1e9_f64, 0..60)) {
            let n = numbers.len();
            if let Some(b) = value_bands(&v(numbers)) {
                prop_assert_eq!(b.bands.iter().map(|b| b.values).sum::<usize>() + b.alone, n);
                for pair in b.bands.windows(2) {
                    prop_assert!(pair[1].low - pair[0].high > b.gap);
                }
            }
        }
    }
}
