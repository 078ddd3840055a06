//! Expected time of a computation of r repetitions: the least-squares line T(r) = m r + b of short, undisturbed ones
//! (CS:APP section 9.4.3), which is the reference for the longer ones.

use serde::{Deserialize, Serialize};

/// A line through times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineFit {
    /// Time of one repetition, in the unit of the times.
    pub slope: f64,
    pub intercept: f64,
    /// Largest difference between a time and the line, as a share of the line there.
    pub max_error: f64,
}

impl LineFit {
    /// The time of `r` repetitions.
    pub fn at(&self, r: f64) -> f64 {
        self.slope * r + self.intercept
    }

    /// The error of a measurement of `r` repetitions, as a share of the line's value.
    pub fn error(&self, r: f64, measured: f64) -> f64 {
        (measured - self.at(r)) / self.at(r)
    }
}

/// The line through (repetitions, time) with the smallest sum of squared differences. `None` unless there are two different
/// numbers of repetitions and everything is finite.
pub fn fit(points: &[(f64, f64)]) -> Option<LineFit> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let xx = points.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
    let xy = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>();
    let slope = xy / xx;
    let line = LineFit { slope, intercept: my - slope * mx, max_error: 0.0 };
    let max_error = points.iter().map(|p| line.error(p.0, p.1).abs()).fold(0.0, f64::max);
    (xx > 0.0 && line.slope.is_finite() && line.intercept.is_finite() && max_error.is_finite())
        .then_some(LineFit { max_error, ..line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The book's own line, T(r) = 49273.4 r + 166 cycles, with its largest error of 0.04%.
    #[test]
    fn the_books_line() {
        let off = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let points: Vec<(f64, f64)> =
            (1..=10).zip(off).map(|(r, o)| (f64::from(r), 49273.4 * f64::from(r) + 166.0 + 15.0 * o)).collect();
        let f = fit(&points).unwrap();
        assert!((f.slope - 49273.4).abs() < 2.0 && (f.intercept - 166.0).abs() < 12.0, "{f:?}");
        assert!(f.max_error < 0.0004, "{f:?}");
        assert!((f.error(100.0, 1.01 * f.at(100.0)) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn no_line_through_nothing() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(1.0, 2.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(fit(&[(1.0, f64::NAN), (2.0, 3.0)]), None);
    }

    proptest! {
        #[test]
        fn exact_lines_are_found(m in 1.0..1e6_f64, b in 0.0..1e6_f64, n in 2..20_u32) {
            let points: Vec<(f64, f64)> = (1..=n).map(|r| (f64::from(r), m * f64::from(r) + b)).collect();
            let f = fit(&points).unwrap();
            prop_assert!((f.at(50.0) / (m * 50.0 + b) - 1.0).abs() < 1e-9 && f.max_error < 1e-9);
        }
    }
}
