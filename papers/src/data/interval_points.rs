//! Single measurements of CPU time by interval counting, as CS:APP figure 9.8 has them: the error (T_m - T_c) / T_c over T_c, the time
//! that the computation takes on a machine of its own.

use crate::data::cells::{CellData, StudyCell, StudyPart};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalPoint {
    /// Active processes on the CPU, the measured one included.
    pub load: u32,
    /// T_c, ns.
    pub expected: f64,
    /// (T_m - T_c) / T_c.
    pub error: f64,
}

impl IntervalPoint {
    /// T_m, ns.
    pub fn measured(&self) -> f64 {
        self.expected * (1.0 + self.error)
    }
}

/// The measurements of a study, of the CPU time in ns that `counted` takes from each; by T_c, ascending.
pub fn interval_points(parts: &[StudyPart], counted: impl Fn(&CellData) -> Option<u64>) -> Vec<IntervalPoint> {
    let point = |part: &StudyPart| {
        let StudyCell::Interval { load, .. } = part.cell else { return None };
        let CellData::Interval { line, repetitions, .. } = &part.seen else { return None };
        let repetitions = *repetitions as f64;
        let (expected, error) = (line.at(repetitions), line.error(repetitions, counted(&part.seen)? as f64));
        (expected > 0.0 && error.is_finite()).then_some(IntervalPoint { load, expected, error })
    };
    let mut points: Vec<IntervalPoint> = parts.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.expected.total_cmp(&b.expected));
    points
}

/// What the book says of its figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalAccuracy {
    /// Measurements with T_m of at least [`LONG`].
    pub long: u32,
    /// Their mean error; the book: 0.04.
    pub bias: f64,
    /// Share of them within [`CLOSE`] of T_c.
    pub close: f64,
}

/// ns: ten of the book's timer intervals, from which on it finds the error mostly below a tenth.
pub const LONG: f64 = 100e6;
/// The book's bound of usual errors.
pub const CLOSE: f64 = 0.1;

/// Of the long measurements; `None` without any.
pub fn interval_accuracy(points: &[IntervalPoint]) -> Option<IntervalAccuracy> {
    let long: Vec<f64> = points.iter().filter(|p| p.measured() >= LONG).map(|p| p.error).collect();
    let n = long.len() as f64;
    (n > 0.0).then(|| IntervalAccuracy {
        long: u32::try_from(long.len()).unwrap_or(u32::MAX),
        bias: long.iter().sum::<f64>() / n,
        close: long.iter().filter(|e| e.abs() <= CLOSE).count() as f64 / n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::kbest::interval_counting::{Mode, charged};
    use tarebench_core::statistics::fit::LineFit;
    use tarebench_core::statistics::random::{RandomPurpose, generator, unit};

    /// A computation of `repetitions` times 10 µs.
    fn part(load: u32, repetitions: u64, ticks: Option<u64>) -> StudyPart {
        let line = LineFit { slope: 1e4, intercept: 0.0, max_error: 0.0 };
        StudyPart {
            cell: StudyCell::Interval { load, length: repetitions as f64 * 1e4 },
            round: 0,
            seen: CellData::Interval { line, repetitions, ticks, times: 1, rusage: 1, cpu: 1 },
        }
    }

    fn ticks(seen: &CellData) -> Option<u64> {
        match seen {
            CellData::Interval { ticks, .. } => *ticks,
            _ => None,
        }
    }

    #[test]
    fn points_are_errors_over_the_expected_time() {
        let parts = [
            part(11, 4_000, Some(50_000_000)),
            part(1, 2_000, Some(10_000_000)),
            part(1, 1_000, None),
            StudyPart { cell: StudyCell::Equal, round: 0, seen: CellData::Equal { calls: Vec::new() } },
        ];
        let points = interval_points(&parts, ticks);
        let near = |p: &IntervalPoint, load, expected: f64, error: f64| {
            p.load == load && (p.expected - expected).abs() < 1e-3 && (p.error - error).abs() < 1e-12
        };
        assert_eq!(points.len(), 2);
        assert!(near(&points[0], 1, 20e6, -0.5) && near(&points[1], 11, 40e6, 0.25), "{points:?}");
        assert!((points[1].measured() - 50e6).abs() < 1e-3);
        assert_eq!(interval_accuracy(&points), None);
    }

    /// Section 9.2: a tick of 10 ms charges computations of random phase; interrupts take 4% of the CPU. Below 100 ms errors are
    /// large, from there on they are mostly below a tenth, with a bias of 0.04.
    #[test]
    fn the_books_figure() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        let parts: Vec<StudyPart> = (0..3_000)
            .map(|i| {
                let computed = 5.0 + 295.0 * f64::from(i) / 3_000.0;
                let start = 10.0 * unit(&mut rng);
                let segment = [(start + 10.0, start + 10.0 + computed * 1.04, Mode::User)];
                let ticks = charged(&segment, 10.0, 10.0).user;
                part(1, (computed * 100.0).round() as u64, Some(ticks * 10_000_000))
            })
            .collect();
        let points = interval_points(&parts, ticks);
        let accuracy = interval_accuracy(&points).unwrap();
        assert!((accuracy.bias - 0.04).abs() < 0.006 && accuracy.close > 0.9, "{accuracy:?}");
        let worst = |from: f64, to: f64| {
            let inside = points.iter().filter(|p| (from..to).contains(&p.expected));
            inside.map(|p| p.error.abs()).fold(0.0, f64::max)
        };
        assert!(worst(5e6, 20e6) > 0.8 && worst(200e6, 300e6) < 0.1);
    }
}
