//! How many iterations of a loop make a phase of a wanted length (ICS'05, section 3.1).
//!
//! No loop takes a fixed time; one can only choose what of its times to calibrate. The paper takes the mean of the second
//! decile of 100,000 executions: below it are phases that were faster than usual for no known reason, above it those that
//! were disturbed.

use crate::noise::data::{Heuristic, PhaseCalibration};
use crate::statistics::series::{Values, median_of_sorted, moments};

/// Why there is no calibration, or no phase.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NotCalibrated {
    /// Of fewer than ten timings there is no second decile; of none, nothing.
    #[error("{have} timings, expected at least {need}")]
    TooFew { have: usize, need: usize },
    /// The loop took no time, or a negative one: the clock is too coarse for it, or it has no iterations.
    #[error("a loop of {iterations} iterations took {time}, expected both to be greater than 0")]
    NoTime {
        iterations: u64,
        /// What it took, in the unit of the timings.
        time: f64,
    },
    /// No number of iterations takes this time.
    #[error("a loop cannot take {grain}, as reading the clock takes {overhead}: expected a longer, finite grain")]
    Grain {
        grain: f64,
        /// What is not the loop's.
        overhead: f64,
    },
}

impl PhaseCalibration {
    /// From timings, in any unit, of a loop with given numbers of iterations.
    ///
    /// # Errors
    /// [`NotCalibrated::TooFew`], [`NotCalibrated::NoTime`].
    pub fn new(timings: &Values, iterations: u64, heuristic: Heuristic) -> Result<PhaseCalibration, NotCalibrated> {
        let sorted = timings.sorted();
        let n = sorted.len();
        let need = if heuristic == Heuristic::SecondDecile { 10 } else { 1 };
        let taken = match heuristic {
            Heuristic::SecondDecile => sorted.get(n / 10..n / 5).and_then(moments).map(|m| m.0),
            Heuristic::Minimum => sorted.first().copied(),
            Heuristic::Mean => moments(&sorted).map(|m| m.0),
            Heuristic::Median => median_of_sorted(&sorted),
        };
        let time = taken.filter(|_| n >= need).ok_or(NotCalibrated::TooFew { have: n, need })?;
        let per_iteration = time / iterations as f64;
        if per_iteration.is_finite() && per_iteration > 0.0 {
            Ok(PhaseCalibration { heuristic, timings: n, per_iteration })
        } else {
            Err(NotCalibrated::NoTime { iterations, time })
        }
    }

    /// Iterations of a phase that takes `grain`, of which `overhead` is for reading the clock and counted in every phase (0
    /// if it isn't): the nearest number, 1 at least.
    ///
    /// # Errors
    /// [`NotCalibrated::Grain`].
    pub fn iterations(&self, grain: f64, overhead: f64) -> Result<u64, NotCalibrated> {
        let iterations = ((grain - overhead) / self.per_iteration).round();
        if grain > overhead && iterations < 2_f64.powi(63) {
            Ok((iterations as u64).max(1))
        } else {
            Err(NotCalibrated::Grain { grain, overhead })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(timings: impl IntoIterator<Item = f64>, heuristic: Heuristic) -> Result<PhaseCalibration, NotCalibrated> {
        PhaseCalibration::new(&Values::new(timings).unwrap(), 1000, heuristic)
    }

    /// A hundred timings 1000, 1010, …: the second decile are the eleventh to the twentieth.
    #[test]
    fn what_is_taken() {
        let timings = (0..100).rev().map(|i| 1000.0 + 10.0 * f64::from(i));
        let taken = |h| of(timings.clone(), h).unwrap().per_iteration * 1000.0;
        assert!((taken(Heuristic::SecondDecile) - 1145.0).abs() < 1e-9);
        assert!((taken(Heuristic::Minimum) - 1000.0).abs() < 1e-9);
        assert!((taken(Heuristic::Mean) - 1495.0).abs() < 1e-9);
        assert!((taken(Heuristic::Median) - 1495.0).abs() < 1e-9);
        assert_eq!(Heuristic::default(), Heuristic::SecondDecile);
    }

    /// Neither a tenth of fast phases nor four fifths of disturbed ones move the second decile.
    #[test]
    fn both_ends_are_left_out() {
        let timings = (0..1000).map(|i| match i {
            0..100 => 500.0,
            100..200 => 1000.0,
            _ => 3000.0 + f64::from(i),
        });
        assert_eq!(of(timings, Heuristic::SecondDecile).unwrap().per_iteration, 1.0);
    }

    #[test]
    fn iterations_of_a_grain() {
        let c = of([250.0; 10], Heuristic::SecondDecile).unwrap();
        assert_eq!(c.iterations(1_000_000.0, 0.0), Ok(4_000_000));
        assert_eq!(c.iterations(1_000.0, 20.0), Ok(3_920));
        assert_eq!(c.iterations(0.01, 0.0), Ok(1));
        assert_eq!(c.time(3_920, 20.0), 1_000.0);
        for (grain, overhead) in
            [(0.0, 0.0), (20.0, 20.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0), (1e300, 0.0), (1.0, f64::NAN)]
        {
            assert!(matches!(c.iterations(grain, overhead), Err(NotCalibrated::Grain { .. })), "{grain} {overhead}");
        }
    }

    #[test]
    fn none() {
        assert_eq!(of([1.0; 9], Heuristic::SecondDecile), Err(NotCalibrated::TooFew { have: 9, need: 10 }));
        assert_eq!(of([], Heuristic::Mean), Err(NotCalibrated::TooFew { have: 0, need: 1 }));
        assert!(matches!(of([0.0], Heuristic::Minimum), Err(NotCalibrated::NoTime { .. })));
        let v = Values::new([5.0]).unwrap();
        assert_eq!(
            PhaseCalibration::new(&v, 0, Heuristic::Mean),
            Err(NotCalibrated::NoTime { iterations: 0, time: 5.0 })
        );
    }

    proptest! {
        #[test]
        fn within_the_timings(timings in proptest::collection::vec(1.0..1e9_f64, 10..300), grain in 1.0..1e12_f64) {
            let (low, high) = timings.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(*t), b.max(*t)));
            let mut order = Vec::new();
            for h in [Heuristic::Minimum, Heuristic::SecondDecile, Heuristic::Median, Heuristic::Mean] {
                let c = of(timings.iter().copied(), h).unwrap();
                let one = c.per_iteration * 1000.0;
                prop_assert!(one >= low * (1.0 - 1e-12) && one <= high * (1.0 + 1e-12));
                order.push(one);
                let n = c.iterations(grain, 0.0).unwrap();
                prop_assert!((c.time(n, 0.0) - grain).abs() <= c.per_iteration * 0.5000001 || n == 1);
            }
            prop_assert!(order[0] <= order[1] * (1.0 + 1e-12) && order[1] <= order[2] * (1.0 + 1e-12));
        }
    }
}
