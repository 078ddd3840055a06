//! How one quantity grows with another: the slope of their logarithms.

use crate::statistics::intervals::{Interval, LEVEL};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The least-squares line through (ln x, ln y): y grows as x to the power of its slope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogGrowth {
    /// 1: in proportion; 0.5: as the spread of a sum of independent parts; 0: not at all.
    pub slope: f64,
    /// 95%, by Student's t of what is left about the line: it contains the error of the points and that the growth is not
    /// exactly a power. `None` for two points, which any line passes through.
    pub interval: Option<Interval>,
    /// y of the line where x is 1.
    pub at_one: f64,
    /// Points that the line is through.
    pub points: usize,
}

/// The growth of y with x from points (x, y). Those with an x or y that is not above 0 are left out, as they have no logarithm.
/// `None` for fewer than two different x.
pub fn log_growth(points: &[(f64, f64)]) -> Option<LogGrowth> {
    let has_logarithm = |v: f64| v > 0.0 && v.is_finite();
    let usable = points.iter().filter(|(x, y)| has_logarithm(*x) && has_logarithm(*y));
    let logs: Vec<(f64, f64)> = usable.map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let xx = logs.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
    if logs.len() < 2 || xx <= 1e-12 {
        return None;
    }
    let slope = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / xx;
    let left = logs.iter().map(|p| (p.1 - my - slope * (p.0 - mx)).powi(2)).sum::<f64>();
    let freedom = n - 2.0;
    let student = (logs.len() > 2).then(|| StudentsT::new(0.0, 1.0, freedom).ok()).flatten();
    let interval = student.map(|t| {
        let reach = t.inverse_cdf(f64::midpoint(1.0, LEVEL)) * (left / freedom / xx).sqrt();
        Interval { low: slope - reach, high: slope + reach, level: LEVEL }
    });
    Some(LogGrowth { slope, interval, at_one: (my - slope * mx).exp(), points: logs.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;

    /// Standard deviations of EMP tables II, III and VI, from 1 s on by doubling; the slopes are computed by hand from these.
    #[test]
    fn the_papers_tables() {
        let six = [0.7, 1.4, 1.6, 1.8, 1.9, 1.9, 2.3, 2.3, 3.3, 9.4, 11.4, 11.2, 26.0, 21.0, 40.4];
        let tables: [(&[f64], f64, f64); 3] = [
            (&[23.6, 38.0, 43.5, 72.4], 0.504_662, 0.315_703),
            (&[3.6, 6.4, 9.9, 15.4], 0.691_994, 0.145_642),
            (&six, 0.385_528, 0.067_803),
        ];
        for (deviations, slope, reach) in tables {
            let points: Vec<(f64, f64)> = (0..).map(|i| 2f64.powi(i)).zip(deviations.iter().copied()).collect();
            let g = log_growth(&points).unwrap();
            assert!((g.slope - slope).abs() < 1e-5, "{g:?}");
            assert!((g.interval.unwrap().half_width() - reach).abs() < 1e-5);
        }
    }

    #[test]
    fn two_points_have_no_interval() {
        let g = log_growth(&[(1.0, 3.0), (4.0, 6.0)]).unwrap();
        assert!((g.slope - 0.5).abs() < 1e-12 && (g.at_one - 3.0).abs() < 1e-9);
        assert_eq!((g.interval, g.points), (None, 2));
    }

    #[test]
    fn what_has_no_logarithm_is_left_out() {
        let g = log_growth(&[(1.0, 1.0), (2.0, 2.0), (4.0, 0.0), (0.0, 5.0), (8.0, f64::NAN)]).unwrap();
        assert_eq!(g.points, 2);
        assert!((g.slope - 1.0).abs() < 1e-12);
        assert_eq!(log_growth(&[]), None);
        assert_eq!(log_growth(&[(1.0, 1.0)]), None);
        assert_eq!(log_growth(&[(2.0, 1.0), (2.0, 3.0)]), None);
    }

    #[test]
    fn the_interval_covers() {
        let mut rng = generator(5, RandomPurpose::Order, 0);
        let hits = (0..300).filter(|_| {
            let mut noisy = |x: f64| {
                let normal = (-2.0 * unit(&mut rng).ln()).sqrt() * (std::f64::consts::TAU * unit(&mut rng)).cos();
                (x, x.powf(0.7) * (0.2 * normal).exp())
            };
            let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].map(&mut noisy).to_vec();
            log_growth(&points).unwrap().interval.unwrap().contains(0.7)
        });
        let hits = hits.count();
        assert!((270..=298).contains(&hits), "{hits}");
    }

    proptest! {
        #[test]
        fn powers_are_found(slope in -2.0..3.0_f64, at_one in 1e-3..1e6_f64, n in 3..12_i32) {
            let points: Vec<(f64, f64)> = (0..n).map(|i| 2f64.powi(i)).map(|x| (x, at_one * x.powf(slope))).collect();
            let g = log_growth(&points).unwrap();
            prop_assert!((g.slope - slope).abs() < 1e-9 && (g.at_one / at_one - 1.0).abs() < 1e-6);
            prop_assert!(g.interval.unwrap().half_width() < 1e-6);
        }
    }
}
