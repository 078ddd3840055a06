//! The variance of each machine's runs, where there are few runs and many machines.
//!
//! The variance of two or three runs says little, and a common one hides a noisy machine. Each variance is therefore
//! moved towards the common one, the more the fewer runs it has and the more alike the machines' variances are (Smyth,
//! Linear models and empirical Bayes methods, Statistical Applications in Genetics and Molecular Biology 3, 2004,
//! section 6.2).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::digamma;

/// Fewest degrees of freedom of all machines together; with fewer, no machine can be told from its runs.
pub(crate) const LEAST_FREEDOM: f64 = 4.0;
/// Smallest variance of logarithms: a millionth of a time, squared.
const LEAST_VARIANCE: f64 = 1e-12;

/// The variance of a machine's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunVariance {
    pub variance: f64,
    /// Degrees of freedom, at least 0.
    pub freedom: f64,
}

impl RunVariance {
    /// At least this variance.
    pub(crate) fn at_least(self, variance: f64) -> RunVariance {
        RunVariance { variance: self.variance.max(variance), ..self }
    }
}

/// The variance of numbers with its n - 1 degrees of freedom.
pub(crate) fn spread_of(values: &[f64]) -> RunVariance {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let freedom = (n - 1.0).max(0.0);
    RunVariance { variance: if freedom > 0.0 { squares / freedom } else { 0.0 }, freedom }
}

/// Each variance, moved towards the common one; `None` if all together have fewer than [`LEAST_FREEDOM`].
pub(crate) fn moderated(own: &[RunVariance]) -> Option<Vec<RunVariance>> {
    let all: f64 = own.iter().map(|s| s.freedom).sum();
    if all < LEAST_FREEDOM {
        return None;
    }
    let known: Vec<&RunVariance> = own.iter().filter(|s| s.freedom > 0.0).collect();
    let pooled = known.iter().map(|s| s.variance * s.freedom).sum::<f64>() / all;
    let common = common(&known);
    let moved = |s: &RunVariance| match common {
        Some(c) => {
            let freedom = c.freedom + s.freedom;
            let variance = (c.variance * c.freedom + s.variance * s.freedom) / freedom;
            // What is known of the common variance comes from these runs only.
            RunVariance { variance: variance.max(LEAST_VARIANCE), freedom: freedom.min(all) }
        }
        None => RunVariance { variance: pooled.max(LEAST_VARIANCE), freedom: all },
    };
    Some(own.iter().map(moved).collect())
}

/// The common variance, and how many degrees of freedom it counts for; `None` if the variances do not differ by more
/// than by chance.
fn common(known: &[&RunVariance]) -> Option<RunVariance> {
    if known.len() < 2 {
        return known.first().map(|s| **s);
    }
    let n = known.len() as f64;
    let centred = |s: &&RunVariance| {
        let half = s.freedom / 2.0;
        s.variance.max(LEAST_VARIANCE).ln() - digamma(half) + half.ln()
    };
    let logs: Vec<f64> = known.iter().map(centred).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let seen = logs.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let by_chance = known.iter().map(|s| trigamma(s.freedom / 2.0)).sum::<f64>() / n;
    let half = (seen > by_chance).then(|| inverse_trigamma(seen - by_chance))?;
    Some(RunVariance { variance: (mean + digamma(half) - half.ln()).exp(), freedom: 2.0 * half })
}

/// The second derivative of the logarithm of the gamma function, for positive numbers (Abramowitz and Stegun, 6.4.6 and
/// 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x.max(1e-8), 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    sum + 1.0 / x + s / 2.0 + s / x * (1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s / 30.0)))
}

/// Where [`trigamma`], which falls, has this value; between 1e-4 and 1e6.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-4_f64.ln(), 1e6_f64.ln());
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if trigamma(middle.exp()) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    ((low + high) / 2.0).exp()
}

/// Half width of an interval, in standard errors, so that `tests` of them all hold with this level (Šidák).
pub(crate) fn reach(level: f64, tests: usize, freedom: f64) -> f64 {
    let each = level.powf(1.0 / tests.max(1) as f64);
    let tail = (1.0 - each) / 2.0;
    // Student's distribution is normal then, to more digits than its function has.
    if freedom > 1e5 {
        return Normal::new(0.0, 1.0).map_or(4.0, |n| -n.inverse_cdf(tail));
    }
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(4.0, |t| -t.inverse_cdf(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    #[test]
    fn known_values() {
        // π²/6, π²/2, and by the recurrence.
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-10);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-10);
        assert!((trigamma(3.0) - (PI * PI / 6.0 - 1.25)).abs() < 1e-10);
        for x in [0.01, 0.5, 3.0, 80.0, 5e4] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
        assert_eq!(spread_of(&[1.0, 3.0, 5.0]), RunVariance { variance: 4.0, freedom: 2.0 });
        assert_eq!(spread_of(&[7.0]), RunVariance { variance: 0.0, freedom: 0.0 });
        // qt(0.975, 4), qnorm(0.975), and qt(1 - 0.05 / 200, 10) of Bonferroni, to which Šidák's is close.
        assert!((reach(0.95, 1, 4.0) - 2.776_445).abs() < 1e-4);
        assert!((reach(0.95, 1, 1e6) - 1.959_964).abs() < 1e-4);
        assert!((reach(0.95, 100, 10.0) / 5.04 - 1.0).abs() < 0.02, "{}", reach(0.95, 100, 10.0));
    }

    #[test]
    fn few_runs_borrow_from_others() {
        let at = |variance: f64, freedom: f64| RunVariance { variance, freedom };
        assert_eq!(moderated(&[at(1.0, 1.0), at(2.0, 2.0)]), None);
        // As alike as by chance: one variance for all, also for a single run.
        let alike = moderated(&[at(1.0, 2.0), at(1.2, 2.0), at(0.8, 2.0), at(0.0, 0.0)]).unwrap();
        assert!(alike.iter().all(|s| (s.variance - 1.0).abs() < 1e-12 && s.freedom == 6.0), "{alike:?}");
        // One of them is noisy, with many runs: it keeps its variance.
        let mut own = vec![at(1.0, 40.0); 9];
        own.push(at(100.0, 40.0));
        let moved = moderated(&own).unwrap();
        assert!(moved[9].variance > 90.0 && moved[0].variance < 1.3, "{moved:?}");
        // A single machine has its own.
        assert_eq!(moderated(&[at(2.0, 5.0)]).unwrap()[0].variance, 2.0);
    }

    proptest! {
        #[test]
        fn never_negative_and_between_the_extremes(
            own in proptest::collection::vec((0.0..1e3_f64, 0..20_u32), 0..30)
        ) {
            let own: Vec<RunVariance> =
                own.into_iter().map(|(variance, f)| RunVariance { variance, freedom: f64::from(f) }).collect();
            for s in moderated(&own).unwrap_or_default() {
                prop_assert!(s.variance.is_finite() && s.variance > 0.0 && s.freedom > 0.0, "{:?}", s);
            }
        }
    }
}
