//! What the runs of a program say together.
//!
//! A run's own samples tell how its time follows the probes as far as the machine changed while they ran. That it was slower as a whole
//! than earlier runs, in a slower state of the machine, tells more: the program's time on the quiet machine is the same. So the logarithm
//! of that time and the coefficients are known together, as a normal distribution, and every run adds an observation of both (a Kalman
//! filter). What a run adds is used by later ones only: its own time is not drawn towards that of the earlier ones.

use crate::quiet::data::{FEATURES, KnownLevel, QuietLevels};
use crate::quiet::prior::Start;
use crate::quiet::regression::{Fit, Matrix, Vector, dot, form, inverted};
use crate::sample::probes::ProbeKind;

/// By which share the time on the quiet machine differs from run to run, by what no probe sees.
const RUNS_DIFFER: f64 = 0.005;
/// A run further from what is expected, in standard deviations, is that of a program that was changed: its time is learned anew.
const CHANGED: f64 = 3.0;

/// Coefficients, their covariance, and the time on the quiet machine.
pub(crate) struct LearnedTime {
    pub coefficients: Vector,
    pub covariance: Matrix,
    pub level: KnownLevel,
}

/// What is known after a run, from the fit to its samples.
pub(crate) fn learned(fit: &Fit, start: &Start<'_>, levels: &QuietLevels) -> LearnedTime {
    let variance = fit.residual.powi(2) / fit.weight + RUNS_DIFFER.powi(2);
    let mean = fit.mean;
    let after = after_run(fit, start, levels);
    let added = after.and_then(|before| {
        let with_mean = of(&fit.covariance, &mean.x);
        let expected = before.log_time + dot(&mean.x, &fit.coefficients);
        let error = mean.y - expected;
        let spread =
            before.variance + 2.0 * dot(&mean.x, &before.covariance) + form(&fit.covariance, &mean.x) + variance;
        let gain = plus(&before.covariance, &with_mean, 1.0).map(|c| c / spread);
        let level_gain = (before.variance + dot(&mean.x, &before.covariance)) / spread;
        let mut covariance = fit.covariance;
        for (row, g) in covariance.iter_mut().zip(&gain) {
            row.iter_mut().zip(&gain).for_each(|(c, h)| *c -= spread * g * h);
        }
        let found = LearnedTime {
            coefficients: plus(&fit.coefficients, &gain, error),
            covariance,
            level: KnownLevel {
                log_time: before.log_time + level_gain * error,
                variance: before.variance - spread * level_gain.powi(2),
                covariance: plus(&before.covariance, &gain, -spread * level_gain),
                levels: levels.clone(),
            },
        };
        (error.abs() <= CHANGED * spread.sqrt() && found.is_one()).then_some(found)
    });
    added.unwrap_or_else(|| LearnedTime {
        coefficients: fit.coefficients,
        covariance: fit.covariance,
        level: KnownLevel {
            log_time: mean.y - dot(&mean.x, &fit.coefficients),
            variance: variance + form(&fit.covariance, &mean.x),
            covariance: of(&fit.covariance, &mean.x).map(|c| -c),
            levels: levels.clone(),
        },
    })
}

impl LearnedTime {
    /// A distribution, which rounding or a wrong document may make none.
    fn is_one(&self) -> bool {
        self.level.variance > 0.0
            && self.level.log_time.is_finite()
            && self.level.covariance.iter().chain(&self.coefficients).all(|v| v.is_finite())
            && inverted(&self.covariance).is_some()
    }
}

/// What was known of the time, with these levels and with what the run's samples say of the coefficients.
fn after_run(fit: &Fit, start: &Start<'_>, levels: &QuietLevels) -> Option<KnownLevel> {
    let before = start.same?.level.as_ref()?;
    let covariance = inverted(&start.prior.precision)?;
    let before = with_levels(before, &start.prior.mean, &covariance, levels)?;
    // How the time changes with the coefficients, as far as both are uncertain together.
    let slope = of(&start.prior.precision, &before.covariance);
    let moved = plus(&fit.coefficients, &start.prior.mean, -1.0);
    let less = form(&covariance, &slope) - form(&fit.covariance, &slope);
    Some(KnownLevel {
        log_time: before.log_time + dot(&slope, &moved),
        variance: before.variance - less,
        covariance: of(&fit.covariance, &slope),
        levels: levels.clone(),
    })
}

/// The same in relation to other quiet levels; `None` if a probe has one in one of them only.
fn with_levels(
    known: &KnownLevel,
    coefficients: &Vector,
    covariance: &Matrix,
    levels: &QuietLevels,
) -> Option<KnownLevel> {
    let mut change = [0.0; FEATURES];
    for (place, kind) in change.iter_mut().zip(ProbeKind::ALL) {
        let [before, after] = [&known.levels, levels].map(|l| l.levels[kind as usize]);
        let ratio = match kind {
            ProbeKind::Latency => known.levels.latency / levels.latency,
            _ if before == after => 1.0,
            _ => before / after,
        };
        if !(ratio.is_finite() && ratio > 0.0) {
            return None;
        }
        *place = ratio.ln();
    }
    let shift = of(covariance, &change);
    Some(KnownLevel {
        log_time: known.log_time - dot(coefficients, &change),
        variance: known.variance - 2.0 * dot(&change, &known.covariance) + dot(&change, &shift),
        covariance: plus(&known.covariance, &shift, -1.0),
        levels: levels.clone(),
    })
}

/// M x.
fn of(m: &Matrix, x: &Vector) -> Vector {
    std::array::from_fn(|i| m.get(i).map_or(0.0, |row| dot(row, x)))
}

/// a + factor · b.
fn plus(a: &Vector, b: &Vector, factor: f64) -> Vector {
    let mut sum = *a;
    sum.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
    sum
}
