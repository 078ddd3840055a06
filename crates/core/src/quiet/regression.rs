//! Weighted ridge regression towards a prior, with the uncertainty of what it says.
//!
//! log PT = level + Σ bₖ xₖ + error, bₖ normal around their prior. The ridge's λ is (residual / prior deviation)²; as the residual
//! of few samples is itself uncertain, all that is said is averaged over a grid of residuals, each by its posterior probability
//! (as for Student's t, which is this average for a mean alone).

use crate::quiet::data::FEATURES;
use statrs::function::erf::erfc;

/// Residuals from the first to the last of the grid, as shares.
const RESIDUALS: (f64, f64) = (2e-4, 0.4);
const GRID: usize = 40;
/// Huber's limit in residual deviations.
const HUBER: f64 = 2.5;
/// Error of a correction as a share of it, by which samples with small ones count more.
const KAPPA: f64 = 0.1;
const ITERATIONS: usize = 20;
/// Below this, weights have settled.
const SETTLED: f64 = 1e-4;
/// By which factor variances were too small in simulations, of many samples and so much more of n: outliers that count less make
/// the residual seem smaller than it is.
const INFLATION: f64 = 1.2;
const FEW_INFLATION: f64 = 3.0;
/// The median absolute deviation of normal values, times this, is their standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

pub(crate) type Vector = [f64; FEATURES];
pub(crate) type Matrix = [Vector; FEATURES];

/// A sample: the logarithm of its time, and its features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub y: f64,
    pub x: Vector,
}

/// What is known before the samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    pub mean: Vector,
    /// Inverse of the covariance of the coefficients.
    pub precision: Matrix,
    /// The usual residual, and by which factor (as a logarithm) it is off.
    pub residual: f64,
    pub residual_factor: f64,
}

/// What the samples say.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub coefficients: Vector,
    pub covariance: Matrix,
    /// log PT with all features 0.
    pub level: f64,
    /// Weighted mean of the samples, and the sum of their weights.
    pub mean: Point,
    pub weight: f64,
    /// Of the residuals, each with its probability: mean and variance of the level.
    levels: Vec<(f64, f64, f64)>,
    pub residual: f64,
    /// What is left of each sample, in expected deviations.
    pub deviations: Vec<f64>,
    /// Error of the prediction of each sample by the others.
    pub held_out: Vec<f64>,
    /// What each sample is expected to leave, and by which factor its error is larger without itself.
    expected: Vec<f64>,
    alone: Vec<f64>,
}

pub(crate) fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The quadratic form x'Mx.
pub(crate) fn form(m: &Matrix, x: &Vector) -> f64 {
    m.iter().zip(x).map(|(row, x0)| x0 * dot(row, x)).sum()
}

/// Fits; `None` for no points or numbers that cannot be computed with.
pub(crate) fn fit(points: &[Point], prior: &Prior) -> Option<Fit> {
    let mut coefficients = prior.mean;
    let corrected = |b: &Vector| points.iter().map(|p| p.y - dot(&p.x, b)).collect::<Vec<f64>>();
    let mut level = middle(&mut corrected(&coefficients))?;
    let mut parameters = 1.0;
    let mut weights = vec![1.0; points.len()];
    for _ in 0..ITERATIONS {
        let residuals: Vec<f64> = corrected(&coefficients).into_iter().map(|z| z - level).collect();
        let new = ResidualSpread::new(points, &residuals, &coefficients, parameters).weights(&residuals);
        let change = new.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        weights = new;
        let found = posterior(points, &weights, prior)?;
        (coefficients, level, parameters) = (found.coefficients, found.level, found.parameters);
        if change < SETTLED {
            break;
        }
    }
    let found = posterior(points, &weights, prior)?;
    let alone = alone(points, &weights, &found);
    let residuals: Vec<f64> = corrected(&found.coefficients).into_iter().map(|z| z - found.level).collect();
    let x = found.sums.mean_x;
    let mean = Point { y: found.sums.mean_z + dot(&x, &prior.mean), x };
    let weight = found.sums.weight;
    let spread = ResidualSpread::new(points, &residuals, &found.coefficients, found.parameters);
    let mut fit = Fit {
        deviations: Vec::new(),
        held_out: Vec::new(),
        expected: spread.variances.iter().map(|v| spread.s * v.sqrt()).collect(),
        alone,
        coefficients: found.coefficients,
        covariance: found.covariance,
        level: found.level,
        mean,
        weight,
        levels: found.levels,
        residual: found.residual,
    };
    fit.predict(points);
    Some(fit)
}

impl Fit {
    /// The same without coefficients below 0, as none of what makes a probe slower makes a program faster: the coefficients are those
    /// that are the most likely if such ones are 0. Without that, chance in a few samples could correct a program that a probe says
    /// nothing of by more than it differs. `points` are those of the fit. The intervals remain as wide.
    pub fn without_negative(mut self, points: &[Point]) -> Fit {
        let mut covariance = self.covariance;
        loop {
            let least =
                (0..FEATURES).filter_map(|k| Some((k, *self.coefficients.get(k)?, *covariance.get(k)?.get(k)?)));
            let least = least.filter(|(_, b, variance)| *b < 0.0 && *variance > 0.0);
            let by_deviations = |(_, b, variance): &(usize, f64, f64)| b / variance.sqrt();
            let Some((k, b, variance)) = least.min_by(|a, b| by_deviations(a).total_cmp(&by_deviations(b))) else {
                break;
            };
            let Some(with) = covariance.get(k).copied() else { break };
            for ((other, row), c) in self.coefficients.iter_mut().zip(&mut covariance).zip(&with) {
                *other -= c / variance * b;
                row.iter_mut().zip(&with).for_each(|(v, d)| *v -= c / variance * d);
            }
            // It stays 0, whatever the others do.
            if let Some(own) = self.coefficients.get_mut(k) {
                *own = 0.0;
            }
            for (i, row) in covariance.iter_mut().enumerate() {
                row.iter_mut().enumerate().filter(|(j, _)| i == k || *j == k).for_each(|(_, v)| *v = 0.0);
            }
        }
        let level = self.mean.y - dot(&self.mean.x, &self.coefficients);
        self.levels.iter_mut().for_each(|(_, mean, _)| *mean += level - self.level);
        self.level = level;
        self.predict(points);
        self
    }

    /// What each point is from what it is expected to be, in two ways.
    fn predict(&mut self, points: &[Point]) {
        let left: Vec<f64> = points.iter().map(|p| p.y - self.level - dot(&p.x, &self.coefficients)).collect();
        self.deviations = left.iter().zip(&self.expected).map(|(r, e)| r.abs() / e).collect();
        self.held_out = left.iter().zip(&self.alone).map(|(r, factor)| r * factor).collect();
    }

    /// 95% interval of the level, if its error has this variance beside that of the fit.
    pub fn interval(&self, variance: f64) -> Option<(f64, f64)> {
        let inflation = INFLATION + FEW_INFLATION / self.held_out.len() as f64;
        let deviation = |own: f64| (inflation * own + variance).sqrt().max(1e-9);
        let spread = |(_, mean, own): &(f64, f64, f64)| (mean - self.level).abs() + 12.0 * deviation(*own);
        let reach = self.levels.iter().filter(|l| l.0 > 1e-12).map(spread).fold(0.0, f64::max);
        let below = |at: f64| {
            let part = |(p, mean, own): &(f64, f64, f64)| {
                p * 0.5 * erfc((mean - at) / (std::f64::consts::SQRT_2 * deviation(*own)))
            };
            self.levels.iter().map(part).sum::<f64>()
        };
        let quantile = |share: f64| {
            let (mut low, mut high) = (self.level - reach, self.level + reach);
            for _ in 0..60 {
                let half = low + (high - low) / 2.0;
                (low, high) = if below(half) < share { (half, high) } else { (low, half) };
            }
            low + (high - low) / 2.0
        };
        let found = (quantile(0.025), quantile(0.975));
        (found.0.is_finite() && found.1.is_finite()).then_some(found)
    }
}

/// How large residuals are expected to be.
struct ResidualSpread {
    /// Robust standard deviation: neither outliers nor the weights themselves decide it.
    s: f64,
    /// Of each sample, 1 + (κ·x·b/s)², in relation to the sample with the smallest correction.
    variances: Vec<f64>,
}

impl ResidualSpread {
    fn new(points: &[Point], residuals: &[f64], b: &Vector, parameters: f64) -> ResidualSpread {
        let n = points.len() as f64;
        let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        let freedom = (n / (n - parameters).max(1.0)).sqrt();
        let s = (NORMAL * middle(&mut sizes).unwrap_or(0.0) * freedom).max(RESIDUALS.0);
        let mut variances: Vec<f64> = points.iter().map(|p| 1.0 + (KAPPA * dot(&p.x, b) / s).powi(2)).collect();
        let least = variances.iter().copied().fold(f64::INFINITY, f64::min);
        variances.iter_mut().for_each(|v| *v /= least);
        ResidualSpread { s, variances }
    }

    /// Huber's, and less for samples with larger variances.
    fn weights(&self, residuals: &[f64]) -> Vec<f64> {
        let weight = |(r, variance): (&f64, &f64)| {
            let size = r.abs() / (self.s * variance.sqrt());
            (if size > HUBER { HUBER / size } else { 1.0 }) / variance
        };
        residuals.iter().zip(&self.variances).map(weight).collect()
    }
}

/// WeightedSums over the weighted samples, around their means.
struct WeightedSums {
    weight: f64,
    n: f64,
    mean_x: Vector,
    /// Of log PT less the prior's correction.
    mean_z: f64,
    xx: Matrix,
    xz: Vector,
    zz: f64,
}

fn sums(points: &[Point], weights: &[f64], prior: &Prior) -> WeightedSums {
    let weight: f64 = weights.iter().sum();
    let mut s = WeightedSums {
        weight,
        n: points.len() as f64,
        mean_x: [0.0; FEATURES],
        mean_z: 0.0,
        xx: [[0.0; FEATURES]; FEATURES],
        xz: [0.0; FEATURES],
        zz: 0.0,
    };
    let z = |p: &Point| p.y - dot(&p.x, &prior.mean);
    for (p, w) in points.iter().zip(weights) {
        s.mean_z += w / weight * z(p);
        s.mean_x.iter_mut().zip(&p.x).for_each(|(mean, x)| *mean += w / weight * x);
    }
    for (p, w) in points.iter().zip(weights) {
        let x = less(&p.x, &s.mean_x);
        let z = z(p) - s.mean_z;
        s.zz += w * z * z;
        for ((row, xz), xi) in s.xx.iter_mut().zip(&mut s.xz).zip(&x) {
            *xz += w * xi * z;
            row.iter_mut().zip(&x).for_each(|(sum, xj)| *sum += w * xi * xj);
        }
    }
    s
}

fn less(a: &Vector, b: &Vector) -> Vector {
    let mut found = *a;
    found.iter_mut().zip(b).for_each(|(a, b)| *a -= b);
    found
}

/// Averages over the grid of residuals.
struct Posterior {
    coefficients: Vector,
    level: f64,
    levels: Vec<(f64, f64, f64)>,
    residual: f64,
    /// Effective number, the level's included.
    parameters: f64,
    covariance: Matrix,
    sums: WeightedSums,
}

/// With one residual of the grid.
struct GridPoint {
    log_probability: f64,
    residual: f64,
    /// Of the coefficients, less the prior's.
    change: Vector,
    level: f64,
    variance: f64,
}

fn posterior(points: &[Point], weights: &[f64], prior: &Prior) -> Option<Posterior> {
    let s = sums(points, weights, prior);
    let step = (RESIDUALS.1 / RESIDUALS.0).ln() / (GRID - 1) as f64;
    let residual = |i: usize| RESIDUALS.0 * (step * i as f64).exp();
    let grid: Vec<GridPoint> = (0..GRID).filter_map(|i| grid_point(&s, prior, residual(i))).collect();
    let best = grid.iter().map(|g| g.log_probability).fold(f64::NEG_INFINITY, f64::max);
    let relative = |g: &GridPoint| (g.log_probability - best).exp();
    let total: f64 = grid.iter().map(relative).sum();
    if !total.is_finite() || total <= 0.0 {
        return None;
    }
    let (mut coefficients, mut level, mut log_residual) = (prior.mean, 0.0, 0.0);
    let mut levels = Vec::with_capacity(grid.len());
    for g in &grid {
        let p = relative(g) / total;
        coefficients.iter_mut().zip(&g.change).for_each(|(b, change)| *b += p * change);
        level += p * g.level;
        log_residual += p * g.residual.ln();
        levels.push((p, g.level, g.variance));
    }
    let residual = log_residual.exp();
    let covariance = inverse(&cholesky(&precision(&s, prior, residual))?);
    // The trace of the hat matrix.
    let used: f64 = s.xx.iter().zip(&covariance).map(|(a, b)| dot(a, b)).sum::<f64>() / residual.powi(2);
    Some(Posterior { coefficients, level, levels, residual, parameters: 1.0 + used, covariance, sums: s })
}

fn precision(s: &WeightedSums, prior: &Prior, residual: f64) -> Matrix {
    let mut found = prior.precision;
    for (row, xx) in found.iter_mut().zip(&s.xx) {
        row.iter_mut().zip(xx).for_each(|(v, xx)| *v += xx / residual.powi(2));
    }
    found
}

fn grid_point(s: &WeightedSums, prior: &Prior, residual: f64) -> Option<GridPoint> {
    let squared = residual.powi(2);
    let factor = cholesky(&precision(s, prior, residual))?;
    let half = forward(&factor, &s.xz.map(|v| v / squared));
    let change = backward(&factor, &half);
    let mean = forward(&factor, &s.mean_x);
    let determinant: f64 = (0..FEATURES).filter_map(|i| Some(factor.get(i)?.get(i)?.ln())).sum();
    let own = ((residual / prior.residual).ln() / prior.residual_factor).powi(2);
    let fit = (s.n - 1.0) * squared.ln() + s.zz / squared - dot(&half, &half) + 2.0 * determinant;
    let log_probability = -0.5 * (fit + own);
    let level = s.mean_z - dot(&s.mean_x, &change);
    let variance = squared / s.weight + dot(&mean, &mean);
    let found = GridPoint { log_probability, residual, change, level, variance };
    (log_probability.is_finite() && level.is_finite() && variance.is_finite()).then_some(found)
}

/// By which factor the error of each point is larger if the others predict it, in closed form: 1 / (1 - its leverage), with the
/// weights and the residual of all.
fn alone(points: &[Point], weights: &[f64], p: &Posterior) -> Vec<f64> {
    let squared = p.residual.powi(2);
    let factor = |(point, w): (&Point, &f64)| {
        let x = less(&point.x, &p.sums.mean_x);
        let leverage = w * (1.0 / p.sums.weight + form(&p.covariance, &x) / squared);
        1.0 / (1.0 - leverage).max(1e-3)
    };
    points.iter().zip(weights).map(factor).collect()
}

/// The lower factor; `None` unless positive definite.
#[allow(clippy::needless_range_loop, reason = "the indices of the formula")]
fn cholesky(m: &Matrix) -> Option<Matrix> {
    let mut l = [[0.0; FEATURES]; FEATURES];
    for i in 0..FEATURES {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = m[i][j] - sum;
            l[i][j] = if i > j {
                rest / l[j][j]
            } else if rest > 0.0 && rest.is_finite() {
                rest.sqrt()
            } else {
                return None;
            };
        }
    }
    Some(l)
}

/// Solves L v = b.
#[allow(clippy::needless_range_loop, reason = "the indices of the formula")]
fn forward(l: &Matrix, b: &Vector) -> Vector {
    let mut v = *b;
    for i in 0..FEATURES {
        let sum: f64 = (0..i).map(|k| l[i][k] * v[k]).sum();
        v[i] = (v[i] - sum) / l[i][i];
    }
    v
}

/// Solves L' v = b.
#[allow(clippy::needless_range_loop, reason = "the indices of the formula")]
fn backward(l: &Matrix, b: &Vector) -> Vector {
    let mut v = *b;
    for i in (0..FEATURES).rev() {
        let sum: f64 = (i + 1..FEATURES).map(|k| l[k][i] * v[k]).sum();
        v[i] = (v[i] - sum) / l[i][i];
    }
    v
}

fn inverse(l: &Matrix) -> Matrix {
    let mut found = [[0.0; FEATURES]; FEATURES];
    for (i, column) in found.iter_mut().enumerate() {
        let mut unit = [0.0; FEATURES];
        unit[i] = 1.0;
        *column = backward(l, &forward(l, &unit));
    }
    found
}

/// `None` unless positive definite.
pub(crate) fn inverted(m: &Matrix) -> Option<Matrix> {
    cholesky(m).map(|l| inverse(&l))
}

/// The median; `None` of none.
pub(crate) fn middle(numbers: &mut [f64]) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    let half = numbers.len() / 2;
    let upper = *numbers.get(half)?;
    if numbers.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *numbers.get(half.checked_sub(1)?)?;
    Some(lower + (upper - lower) / 2.0)
}

/// A mean of which outliers are limited.
pub(crate) struct HuberMean {
    pub level: f64,
    pub weights: Vec<f64>,
    /// Error of the prediction of each value by the others.
    pub held_out: Vec<f64>,
}

/// `None` for no values.
pub(crate) fn huber_mean(values: &[f64]) -> Option<HuberMean> {
    let mut level = middle(&mut values.to_vec())?;
    let mut sizes: Vec<f64> = values.iter().map(|v| (v - level).abs()).collect();
    let limit = HUBER * (NORMAL * middle(&mut sizes)?).max(RESIDUALS.0);
    let weight = |v: &f64, level: f64| (limit / (v - level).abs()).min(1.0);
    for _ in 0..ITERATIONS {
        let total: f64 = values.iter().map(|v| weight(v, level)).sum();
        level = values.iter().map(|v| weight(v, level) / total * v).sum();
    }
    let weights: Vec<f64> = values.iter().map(|v| weight(v, level)).collect();
    let total: f64 = weights.iter().sum();
    let error = |(v, w): (&f64, &f64)| (v - level) / (1.0 - w / total).max(1e-3);
    let held_out = values.iter().zip(&weights).map(error).collect();
    Some(HuberMean { level, weights, held_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quiet::simulation::random;
    use crate::statistics::random::normal;
    use crate::statistics::random::unit;

    fn prior(mean: f64, deviation: f64) -> Prior {
        let mut precision = [[0.0; FEATURES]; FEATURES];
        (0..FEATURES).for_each(|i| precision[i][i] = deviation.powi(-2));
        Prior { mean: [mean; FEATURES], precision, residual: 0.01, residual_factor: 1.5 }
    }

    /// log PT = 10 + 0.8 x₀ + 0.3 x₁ + error.
    fn points(n: usize, error: f64, item: u64) -> Vec<Point> {
        let mut rng = random(item);
        let mut point = || {
            let mut x = [0.0; FEATURES];
            (x[0], x[1]) = (0.3 * unit(&mut rng), 0.3 * unit(&mut rng));
            Point { y: 10.0 + 0.8 * x[0] + 0.3 * x[1] + error * normal(&mut rng), x }
        };
        (0..n).map(|_| point()).collect()
    }

    #[test]
    fn finds_known_coefficients() {
        let found = fit(&points(100, 0.005, 1), &prior(0.0, 0.5)).unwrap();
        assert!((found.coefficients[0] - 0.8).abs() < 0.03 && (found.coefficients[1] - 0.3).abs() < 0.03, "{found:?}");
        assert!((found.level - 10.0).abs() < 0.005 && (found.residual / 0.005 - 1.0).abs() < 0.3, "{found:?}");
        let (low, high) = found.interval(0.0).unwrap();
        assert!(low < found.level && found.level < high && high - low < 0.02, "{low} {high}");
        // Nothing was seen of the others.
        assert!(
            found.coefficients[5].abs() < 1e-9 && (form(&found.covariance, &unit_vector(5)).sqrt() - 0.5).abs() < 1e-6
        );
    }

    fn unit_vector(place: usize) -> Vector {
        let mut found = [0.0; FEATURES];
        found[place] = 1.0;
        found
    }

    #[test]
    fn without_variation_the_prior_stands_and_the_interval_says_so() {
        let same: Vec<Point> = points(1, 0.0, 2).into_iter().cycle().take(8).collect();
        let found = fit(&same, &prior(1.0, 0.5)).unwrap();
        assert!(found.coefficients.iter().all(|b| (b - 1.0).abs() < 1e-9), "{found:?}");
        let length = dot(&same[0].x, &same[0].x).sqrt();
        let (low, high) = found.interval(0.0).unwrap();
        assert!((high - low) / 2.0 > 1.9 * 0.5 * length, "{low} {high} {length}");
    }

    /// y falls with the second feature, which is nearly the first one: without it the first counts for both.
    #[test]
    fn no_coefficient_is_negative() {
        let alike = |p: &Point| {
            let mut p = *p;
            p.x[1] = p.x[0] + 0.1 * p.x[1];
            p.y = 10.0 + 0.8 * p.x[0] - 0.3 * p.x[1];
            p
        };
        let points: Vec<Point> = points(40, 0.0, 4).iter().map(alike).collect();
        let free = fit(&points, &prior(0.0, 0.5)).unwrap();
        assert!((free.coefficients[1] + 0.3).abs() < 0.01, "{free:?}");
        let found = free.clone().without_negative(&points);
        assert!(found.coefficients.iter().all(|b| *b >= 0.0) && found.coefficients[1] == 0.0, "{found:?}");
        // What the two did together, and the level with it: 0.8 - 0.3, and half of 0.1 · 0.3 · 0.3.
        assert!((found.coefficients[0] - 0.5).abs() < 0.05 && (found.level - 10.0).abs() < 0.01, "{found:?}");
        assert!(found.held_out.iter().zip(&free.held_out).all(|(a, b)| a.abs() >= b.abs()), "{found:?}");
        let (low, high) = found.interval(0.0).unwrap();
        assert!(low < found.level && found.level < high);
        let positive = fit(&points, &prior(1.0, 0.01)).unwrap();
        assert_eq!(positive.clone().without_negative(&points).coefficients, positive.coefficients);
    }

    #[test]
    fn outliers_hardly_count() {
        let mut spoiled = points(60, 0.005, 3);
        (0..6).for_each(|i| spoiled[10 * i].y += 0.5);
        let found = fit(&spoiled, &prior(0.0, 0.5)).unwrap();
        assert!((found.level - 10.0).abs() < 0.015 && (found.coefficients[0] - 0.8).abs() < 0.06, "{found:?}");
        assert!(found.deviations[0] > 10.0 && found.deviations[1] < 4.0, "{:?}", found.deviations);
    }

    /// Left out one by one and fitted again, with the prior of the samples that are left.
    #[test]
    fn held_out_errors_are_those_of_refits() {
        let all = points(15, 0.01, 4);
        let known = prior(0.5, 0.5);
        let found = fit(&all, &known).unwrap();
        for (i, held_out) in found.held_out.iter().enumerate() {
            let mut rest = all.clone();
            let left = rest.remove(i);
            let refit = fit(&rest, &known).unwrap();
            let error = left.y - refit.level - dot(&left.x, &refit.coefficients);
            assert!((error - held_out).abs() < 0.4 * error.abs().max(0.005), "{i}: {error} {held_out}");
        }
    }

    #[test]
    fn intervals_of_few_samples_are_those_of_student() {
        let known = Prior { residual_factor: 100.0, ..prior(0.0, 1e-6) };
        let mut rng = random(5);
        let inside = (0..400).filter(|_| {
            let all: Vec<Point> = (0..6).map(|_| Point { y: 0.01 * normal(&mut rng), x: [0.0; FEATURES] }).collect();
            let (low, high) = fit(&all, &known).unwrap().interval(0.0).unwrap();
            low < 0.0 && 0.0 < high
        });
        let share = inside.count() as f64 / 400.0;
        assert!(share >= 0.94, "{share}");
    }

    #[test]
    fn numbers_that_cannot_be_computed_with() {
        assert!(fit(&[], &prior(0.0, 0.5)).is_none());
        let mut wrong = points(6, 0.01, 6);
        wrong[0].y = f64::NAN;
        assert!(fit(&wrong, &prior(0.0, 0.5)).is_none());
        assert!(inverted(&[[0.0; FEATURES]; FEATURES]).is_none());
        assert!(huber_mean(&[]).is_none());
        assert!((huber_mean(&[1.0, 1.0, 1.0, 1.0, 9.0]).unwrap().level - 1.0).abs() < 0.01);
    }
}
