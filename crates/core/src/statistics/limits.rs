//! Limits at a number of standard deviations around the mean.

use crate::statistics::series::{Values, moments};

/// Limits of check 2, in the unit of the values; a value on a limit is retained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// mean - s·sd.
    pub low: f64,
    /// mean + s·sd.
    pub high: f64,
}

impl Limits {
    /// Limits from the values that passed check 1. `None`, so that nothing is discarded, for fewer than 2 values, for values
    /// without spread, and unless `s` is above 0.
    pub fn new(passed: &Values, s: f64) -> Option<Limits> {
        Limits::of_sorted(&passed.sorted(), s)
    }

    pub fn of_sorted(sorted: &[f64], s: f64) -> Option<Limits> {
        let (mean, sd) = moments(sorted)?;
        let reach = sd.map(|sd| s * sd).filter(|r| *r > 0.0)?;
        Some(Limits { low: mean - reach, high: mean + reach })
    }

    pub fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }
}
