//! Functions by which times grow with a size, and their least-squares fits c0 + c1 g(n) with no negative coefficient, also with another
//! c1 from a size on.
//!
//! A program that does nothing still takes a time, and none takes less for more work: without the intercept, or with a negative one,
//! the start of a program is taken for slower growth.

use serde::{Deserialize, Serialize};

/// A class of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    Constant,
    /// log n.
    Logarithm,
    /// √n.
    Root,
    /// n.
    Linear,
    /// n log n.
    LinearLog,
    /// n^1.5.
    ThreeHalves,
    /// n².
    Quadratic,
    /// n² log n.
    QuadraticLog,
    /// n³.
    Cubic,
    /// 2ⁿ.
    Exponential,
}

/// 2ⁿ beyond this size is no double; a program of that class does not end there either.
const LARGEST_EXPONENT: f64 = 1000.0;

impl Growth {
    /// All, the slowest first.
    pub const ALL: [Growth; 10] = [
        Growth::Constant,
        Growth::Logarithm,
        Growth::Root,
        Growth::Linear,
        Growth::LinearLog,
        Growth::ThreeHalves,
        Growth::Quadratic,
        Growth::QuadraticLog,
        Growth::Cubic,
        Growth::Exponential,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Growth::Constant => "1",
            Growth::Logarithm => "log n",
            Growth::Root => "√n",
            Growth::Linear => "n",
            Growth::LinearLog => "n log n",
            Growth::ThreeHalves => "n^1.5",
            Growth::Quadratic => "n²",
            Growth::QuadraticLog => "n² log n",
            Growth::Cubic => "n³",
            Growth::Exponential => "2ⁿ",
        }
    }

    /// The class of this name, in the usual ways of writing it on a keyboard: `n log n`, `nlogn`, `n^2`, `sqrt(n)`, `O(n)`.
    pub fn parse(text: &str) -> Option<Growth> {
        let lower = text.to_lowercase().replace("lg", "log").replace("ln", "log");
        let flat: String = lower.chars().filter(|c| !c.is_whitespace() && !"*·()".contains(*c)).collect();
        Some(match flat.strip_prefix('o').or_else(|| flat.strip_prefix('θ')).unwrap_or(&flat) {
            "1" | "constant" => Growth::Constant,
            "logn" | "log" => Growth::Logarithm,
            "√n" | "sqrtn" | "n^0.5" | "n^.5" | "n^1/2" => Growth::Root,
            "n" | "linear" => Growth::Linear,
            "nlogn" => Growth::LinearLog,
            "n^1.5" | "n^3/2" | "n√n" | "nsqrtn" => Growth::ThreeHalves,
            "n²" | "n^2" | "quadratic" => Growth::Quadratic,
            "n²logn" | "n^2logn" => Growth::QuadraticLog,
            "n³" | "n^3" | "cubic" => Growth::Cubic,
            "2ⁿ" | "2^n" | "exponential" => Growth::Exponential,
            _ => return None,
        })
    }

    /// Natural logarithm of g(n), minus infinity where g is 0; NaN where it has none (n below 1 for logarithms).
    pub fn log_at(self, n: f64) -> f64 {
        let log = n.ln();
        let log_log = if log == 0.0 { f64::NEG_INFINITY } else { log.ln() };
        match self {
            Growth::Constant => 0.0,
            Growth::Logarithm => log_log,
            Growth::Root => 0.5 * log,
            Growth::Linear => log,
            Growth::LinearLog => log + log_log,
            Growth::ThreeHalves => 1.5 * log,
            Growth::Quadratic => 2.0 * log,
            Growth::QuadraticLog => 2.0 * log + log_log,
            Growth::Cubic => 3.0 * log,
            Growth::Exponential => n * std::f64::consts::LN_2,
        }
    }

    /// g at these sizes, as shares of g at the largest of them, so that nothing overflows; `None` if it cannot be had at all of them.
    pub fn shares(self, sizes: &[f64]) -> Option<Vec<f64>> {
        let largest = sizes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self == Growth::Exponential && largest > LARGEST_EXPONENT {
            return None;
        }
        let top = self.log_at(largest);
        let shares: Vec<f64> = sizes.iter().map(|n| (self.log_at(*n) - top).exp()).collect();
        (top.is_finite() && shares.iter().all(|g| g.is_finite())).then_some(shares)
    }
}

/// A least-squares fit y = start + slope g, neither negative, with what is needed for its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthLine {
    pub start: f64,
    pub slope: f64,
    /// WeightedPoints sum of squared differences.
    pub residual: f64,
    /// Inverse of the normal matrix, of (start, slope): its three different entries; 0 for a coefficient that is held at 0.
    pub inverse: [f64; 3],
}

impl GrowthLine {
    pub fn at(&self, g: f64) -> f64 {
        self.start + self.slope * g
    }

    /// Variance of the line's value at g, in units of the residuals' variance.
    pub fn variance(&self, g: f64) -> f64 {
        let [start, both, slope] = self.inverse;
        start + 2.0 * both * g + slope * g * g
    }
}

/// A least-squares fit whose slope is larger from one point on: y = start + slope g, none negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteppedLine {
    /// Number of the first point of the larger slope.
    pub at: usize,
    pub start: f64,
    /// Before it, and from it on.
    pub slopes: [f64; 2],
    /// Weighted sum of squared differences.
    pub residual: f64,
    /// Variance of the start, in units of the residuals' variance; 0 if it is held at 0.
    start_variance: f64,
    sides: [StepSide; 2],
}

/// Weighted sums over the points on one side of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StepSide {
    weight: f64,
    g: f64,
    gg: f64,
    y: f64,
    gy: f64,
}

impl StepSide {
    fn new(points: &[(f64, f64, f64)]) -> Option<StepSide> {
        let sum = |value: fn(f64, f64) -> f64| points.iter().map(|(g, y, w)| w * value(*g, *y)).sum::<f64>();
        let side = StepSide {
            weight: sum(|_, _| 1.0),
            g: sum(|g, _| g),
            gg: sum(|g, _| g * g),
            y: sum(|_, y| y),
            gy: sum(|g, y| g * y),
        };
        (side.gg > 0.0).then_some(side)
    }

    /// What the points say of the start: its weight, and that times its value.
    fn of_start(&self) -> (f64, f64) {
        (self.weight - self.g * self.g / self.gg, self.y - self.g * self.gy / self.gg)
    }

    fn slope(&self, start: f64) -> f64 {
        (self.gy - start * self.g) / self.gg
    }
}

impl SteppedLine {
    pub fn value(&self, g: f64, above: bool) -> f64 {
        let [below, beyond] = self.slopes;
        self.start + g * if above { beyond } else { below }
    }

    /// Variance of the line's value at g, in units of the residuals' variance, if the place of the step is known.
    pub fn variance(&self, g: f64, above: bool) -> f64 {
        let [below, beyond] = self.sides;
        let side = if above { beyond } else { below };
        self.start_variance * (1.0 - g * side.g / side.gg).powi(2) + g * g / side.gg
    }

    /// Slope from the step on divided by that before it, above 1.
    pub fn factor(&self) -> f64 {
        let [below, beyond] = self.slopes;
        beyond / below
    }
}

/// Observations with their weights, of equal lengths.
#[derive(Clone, Copy)]
pub struct WeightedPoints<'a> {
    pub g: &'a [f64],
    pub y: &'a [f64],
    pub weight: &'a [f64],
}

impl WeightedPoints<'_> {
    fn sum(&self, of_point: impl Fn(f64, f64) -> f64) -> f64 {
        self.g.iter().zip(self.y).zip(self.weight).map(|((g, y), w)| w * of_point(*g, *y)).sum()
    }

    fn residual(&self, start: f64, slope: f64) -> f64 {
        self.sum(|g, y| (y - start - slope * g).powi(2))
    }

    pub fn constant(&self) -> Option<GrowthLine> {
        let total = self.sum(|_, _| 1.0);
        let start = self.sum(|_, y| y) / total;
        let line =
            GrowthLine { start, slope: 0.0, residual: self.residual(start, 0.0), inverse: [1.0 / total, 0.0, 0.0] };
        (start.is_finite() && line.residual.is_finite()).then_some(line)
    }

    fn without_start(&self) -> Option<GrowthLine> {
        let squares = self.sum(|g, _| g * g);
        let slope = self.sum(|g, y| g * y) / squares;
        let line =
            GrowthLine { start: 0.0, slope, residual: self.residual(0.0, slope), inverse: [0.0, 0.0, 1.0 / squares] };
        (squares > 0.0 && line.residual.is_finite()).then_some(line)
    }

    /// The best line with a larger slope from point `at` on, the points in order of g. The slope of each side is that of its points for a
    /// given start, so that only the start is to be sought. `None` if the slope does not become larger, or is not above 0.
    pub fn stepped(&self, at: usize) -> Option<SteppedLine> {
        let points: Vec<(f64, f64, f64)> =
            self.g.iter().zip(self.y).zip(self.weight).map(|((g, y), w)| (*g, *y, *w)).collect();
        let (below, above) = points.split_at_checked(at)?;
        let sides = [StepSide::new(below)?, StepSide::new(above)?];
        let (weight, value) =
            sides.iter().map(StepSide::of_start).fold((0.0, 0.0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
        let free = value / weight;
        let (start, start_variance) = if free > 0.0 { (free, 1.0 / weight) } else { (0.0, 0.0) };
        let slopes = sides.map(|side| side.slope(start));
        let mut line = SteppedLine { at, start, slopes, residual: 0.0, start_variance, sides };
        let square = |(i, (g, y, w)): (usize, &(f64, f64, f64))| w * (y - line.value(*g, i >= at)).powi(2);
        line.residual = points.iter().enumerate().map(square).sum();
        let [low, high] = slopes;
        (low > 0.0 && high > low && line.residual.is_finite()).then_some(line)
    }

    /// The best line with no negative coefficient: if the unrestricted one has one, the better of those at the bounds, as the sum of
    /// squares has no other minimum. `None` if g is the same at all points.
    pub fn line(&self) -> Option<GrowthLine> {
        let total = self.sum(|_, _| 1.0);
        let (mean_g, mean_y) = (self.sum(|g, _| g) / total, self.sum(|_, y| y) / total);
        let spread = self.sum(|g, _| (g - mean_g).powi(2));
        if spread.is_nan() || spread <= 0.0 {
            return None;
        }
        let slope = self.sum(|g, y| (g - mean_g) * (y - mean_y)) / spread;
        let start = mean_y - slope * mean_g;
        if start >= 0.0 && slope >= 0.0 {
            let residual = self.residual(start, slope);
            let inverse = [1.0 / total + mean_g * mean_g / spread, -mean_g / spread, 1.0 / spread];
            return residual.is_finite().then_some(GrowthLine { start, slope, residual, inverse });
        }
        let bounds = [self.constant(), self.without_start()];
        bounds.into_iter().flatten().min_by(|a, b| a.residual.total_cmp(&b.residual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_people_write_them() {
        for growth in Growth::ALL {
            assert_eq!(Growth::parse(growth.name()), Some(growth));
        }
        for (text, growth) in [
            ("O(n log n)", Growth::LinearLog),
            ("n*lg(n)", Growth::LinearLog),
            ("N^2", Growth::Quadratic),
            ("sqrt(n)", Growth::Root),
            ("2^n", Growth::Exponential),
            ("O(1)", Growth::Constant),
            ("n^2 log n", Growth::QuadraticLog),
        ] {
            assert_eq!(Growth::parse(text), Some(growth), "{text}");
        }
        for text in ["", "m", "n^4", "n log log n", "n!"] {
            assert_eq!(Growth::parse(text), None, "{text}");
        }
    }

    #[test]
    fn shares_of_the_largest_never_overflow() {
        let sizes = [1.0, 1e3, 1e9];
        for growth in Growth::ALL {
            let Some(shares) = growth.shares(&sizes) else {
                assert_eq!(growth, Growth::Exponential);
                continue;
            };
            assert_eq!(shares.last(), Some(&1.0), "{growth:?}");
            assert!(shares.iter().all(|g| (0.0..=1.0).contains(g)), "{growth:?}");
        }
        let logs = Growth::Logarithm.shares(&[1.0, 10.0, 100.0]).unwrap();
        assert!(logs[0] == 0.0 && (logs[1] - 0.5).abs() < 1e-12);
        assert_eq!(Growth::LinearLog.shares(&[0.5, 2.0]), None, "log n is negative there");
        assert_eq!(Growth::Exponential.shares(&[1.0, 1001.0]), None);
    }

    fn fitted(points: &[(f64, f64)]) -> GrowthLine {
        let (g, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let weight = vec![1.0; g.len()];
        WeightedPoints { g: &g, y: &y, weight: &weight }.line().unwrap()
    }

    #[test]
    fn no_coefficient_is_negative() {
        let line = fitted(&[(0.0, 3.0), (1.0, 5.0), (2.0, 7.0)]);
        assert!((line.start - 3.0).abs() < 1e-12 && (line.slope - 2.0).abs() < 1e-12 && line.residual < 1e-20);
        // Falling: the mean. From below the origin: through it, slope Σgy/Σg² = (3 + 10)/5.
        let line = fitted(&[(0.0, 3.0), (1.0, 2.0), (2.0, 1.0)]);
        assert!((line.start - 2.0).abs() < 1e-12 && line.slope == 0.0 && (line.residual - 2.0).abs() < 1e-12);
        let line = fitted(&[(1.0, 1.0), (2.0, 6.0)]);
        assert!(line.start == 0.0 && (line.slope - 2.6).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn a_step_of_the_slope() {
        let line = |y: [f64; 6], at: usize| {
            let g = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            WeightedPoints { g: &g, y: &y, weight: &[1.0; 6] }.stepped(at)
        };
        // 3 + 2 g, then 3 + 3 g.
        let found = line([5.0, 7.0, 9.0, 15.0, 18.0, 21.0], 3).unwrap();
        assert!((found.start - 3.0).abs() < 1e-12 && (found.factor() - 1.5).abs() < 1e-12, "{found:?}");
        assert!(found.residual < 1e-20 && (found.value(4.0, false) - 11.0).abs() < 1e-12);
        // A start below 0 is held at 0: 1 g, then 2 g.
        let through = line([1.0, 2.0, 3.0, 8.0, 10.0, 12.0], 3).unwrap();
        assert!(through.start == 0.0 && (through.factor() - 2.0).abs() < 1e-12, "{through:?}");
        assert_eq!(line([2.0, 4.0, 6.0, 4.0, 5.0, 6.0], 3), None, "it becomes smaller");
        assert_eq!(line([1.0; 6], 9), None);
    }

    /// Of a line through three points with unit weights: the textbook's (1/n + (g - ḡ)²/S).
    #[test]
    fn the_variance_of_the_line() {
        let line = fitted(&[(0.0, 3.0), (1.0, 5.1), (2.0, 7.0)]);
        for g in [0.0, 1.0, 3.0] {
            assert!((line.variance(g) - (1.0 / 3.0 + (g - 1.0) * (g - 1.0) / 2.0)).abs() < 1e-12);
        }
    }
}
