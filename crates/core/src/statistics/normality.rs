//! Whether values may be normally distributed: the omnibus test K² of D'Agostino and Pearson.
//!
//! It combines how skewed the values are and how heavy their tails are, each transformed so that it is standard normal for normal
//! values (D'Agostino, Belanger and D'Agostino Jr., A suggestion for using powerful and informative tests of normality, The
//! American Statistician 44, 1990; the kurtosis after Anscombe and Glynn, Biometrika 70, 1983). Moments hardly notice a timer's
//! tick, where tests of the distribution function reject any rounded values.

use crate::statistics::series::Values;
use serde::{Deserialize, Serialize};

/// Fewest values for which both transformations are good.
pub const FEWEST_FOR_NORMALITY: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normality {
    /// √b1, the third moment over the cube of the deviation; 0 for a symmetric distribution.
    pub skewness: f64,
    /// b2, the fourth moment over the square of the variance; 3 for the normal distribution.
    pub kurtosis: f64,
    /// Z(√b1)² + Z(b2)²; chi-squared with two degrees of freedom for normal values.
    pub k_squared: f64,
    /// Probability of a K² like this or larger if the values were normal and independent.
    pub p: f64,
}

/// The test of these values; `None` below 20 values, or if they do not differ.
pub fn normality(values: &Values) -> Option<Normality> {
    let sorted = values.sorted();
    if sorted.len() < FEWEST_FOR_NORMALITY {
        return None;
    }
    let n = sorted.len() as f64;
    let pivot = *sorted.get(sorted.len() / 2)?;
    let mean = sorted.iter().map(|v| v - pivot).sum::<f64>() / n;
    let deviation = (sorted.iter().map(|v| (v - pivot - mean).powi(2)).sum::<f64>() / n).sqrt();
    if deviation <= 0.0 {
        return None;
    }
    let moment = |power: i32| sorted.iter().map(|v| ((v - pivot - mean) / deviation).powi(power)).sum::<f64>() / n;
    Some(of_moments(n, moment(3), moment(4)))
}

fn of_moments(n: f64, skewness: f64, kurtosis: f64) -> Normality {
    let k_squared = skewness_score(n, skewness).powi(2) + kurtosis_score(n, kurtosis).powi(2);
    Normality { skewness, kurtosis, k_squared, p: (-k_squared / 2.0).exp() }
}

/// Z(√b1) of `n` values.
fn skewness_score(n: f64, skewness: f64) -> f64 {
    let y = skewness * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let beta2 =
        3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0) / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w2 = (2.0 * (beta2 - 1.0)).sqrt() - 1.0;
    let alpha = (2.0 / (w2 - 1.0)).sqrt();
    (y / alpha).asinh() / (0.5 * w2.ln()).sqrt()
}

/// Z(b2) of `n` values.
fn kurtosis_score(n: f64, kurtosis: f64) -> f64 {
    let expected = 3.0 * (n - 1.0) / (n + 1.0);
    let variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0).powi(2) * (n + 3.0) * (n + 5.0));
    let x = (kurtosis - expected) / variance.sqrt();
    let beta1 = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
        * (6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0))).sqrt();
    let a = 6.0 + 8.0 / beta1 * (2.0 / beta1 + (1.0 + 4.0 / (beta1 * beta1)).sqrt());
    let ninth = 2.0 / (9.0 * a);
    let root = ((1.0 - 2.0 / a) / (1.0 + x * (2.0 / (a - 4.0)).sqrt())).cbrt();
    (1.0 - ninth - root) / ninth.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};

    /// The article's example: cholesterol of 62 people, √b1 = 1.02 and b2 = 4.58, gives Z = 3.14 (3.135 from these digits) and 2.21, K² = 14.75 and
    /// P = 0.0006, computed from more digits than it prints.
    #[test]
    fn the_articles_example() {
        let found = of_moments(62.0, 1.02, 4.58);
        assert!((skewness_score(62.0, 1.02) - 3.135).abs() < 0.02, "{found:?}");
        assert!((kurtosis_score(62.0, 4.58) - 2.21).abs() < 0.01, "{found:?}");
        assert!((found.k_squared - 14.75).abs() < 0.1 && (found.p - 0.0006).abs() < 0.0001, "{found:?}");
    }

    #[test]
    fn moments_of_known_values() {
        let values = Values::new((0..21).map(f64::from)).unwrap();
        let found = normality(&values).unwrap();
        // Of a discrete uniform distribution, b2 = 3/5 (3 n² - 7) / (n² - 1).
        assert!(found.skewness.abs() < 1e-12 && (found.kurtosis - 0.6 * (3.0 * 441.0 - 7.0) / 440.0).abs() < 1e-9);
        assert_eq!(normality(&Values::new([5.0; 50]).unwrap()), None);
        assert_eq!(normality(&Values::new((0..19).map(f64::from)).unwrap()), None);
    }

    #[test]
    fn rejects_normal_values_in_five_per_cent_and_skewed_ones_always() {
        let mut rng = generator(5, RandomPurpose::Noise, 910);
        let mut rejected = 0;
        let mut skewed = 0;
        for _ in 0..500 {
            let mut draw = || (-2.0 * unit(&mut rng).ln()).sqrt() * (2.0 * std::f64::consts::PI * unit(&mut rng)).cos();
            let normal: Vec<f64> = (0..60).map(|_| draw()).collect();
            let exponential = normal.iter().map(|z| z.exp());
            skewed += usize::from(normality(&Values::new(exponential).unwrap()).unwrap().p < 0.05);
            rejected += usize::from(normality(&Values::new(normal).unwrap()).unwrap().p < 0.05);
        }
        // 25 of 500 are expected, with a standard deviation of 5; the test is known to reject slightly more.
        assert!((8..=50).contains(&rejected), "{rejected} of 500");
        assert!(skewed >= 490, "{skewed} of 500");
    }
}
