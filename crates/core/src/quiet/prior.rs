//! Which coefficients a fit starts from.

use crate::base::units::Nanos;
use crate::quiet::data::{FEATURES, PriorSource, QuietCoefficients};
use crate::quiet::regression::{Matrix, Prior, Vector, inverted, middle};
use crate::sample::probes::ProbeKind;
use serde::{Deserialize, Serialize};

/// Coefficients further from 0 are none of a program.
const FURTHEST: f64 = 5.0;
/// By how much coefficients differ after a day or more, and by which factor their variance is larger then; after an hour by a
/// twenty-fourth of that. Within a session every run adds to what is known.
const SESSION: f64 = 0.05;
const INFLATION: f64 = 1.5;
const DAY: f64 = 86_400e9;
/// Of any coefficient: what is stored may be exact, or rounded.
const LEAST_VARIANCE: f64 = 1e-8;
/// Fewest other programs whose spread says how much programs differ.
const FEWEST_OTHERS: usize = 3;
/// The usual residual of an unknown program, and by which factor it is off, as a logarithm.
const RESIDUAL: (f64, f64) = (0.015, 1.5);
/// By which factor that of a known one is off.
const KNOWN_RESIDUAL: f64 = 0.7;

/// What is known of programs' coefficients on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownCoefficients {
    /// Of the same program.
    pub same: Option<QuietCoefficients>,
    pub others: Vec<QuietCoefficients>,
}

impl KnownCoefficients {
    /// Of all that is known, what is of use to a program.
    pub fn of_program(all: &[QuietCoefficients], program: &str) -> KnownCoefficients {
        let (same, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|c| c.program == program);
        KnownCoefficients { same: same.into_iter().max_by_key(|c| (c.fitted, c.samples)), others }
    }
}

/// The prior of a fit, and what it is from.
pub(crate) struct Start<'a> {
    pub prior: Prior,
    pub source: PriorSource,
    /// Those of the same program.
    pub same: Option<&'a QuietCoefficients>,
}

/// Coefficients of the same program count by their covariance, that is by the samples they were fitted to; else the median of other
/// programs'; else only the clock counts, with all the uncertainty of an unknown program. `now` is since 1970.
pub(crate) fn start(known: &KnownCoefficients, revision: u32, now: Nanos) -> Start<'_> {
    let same = known.same.as_ref().filter(|c| usable(c, revision));
    if let Some(same) = same
        && let Some(precision) = stored_precision(same, now)
    {
        let prior = Prior {
            mean: same.coefficients,
            precision,
            residual: same.residual.clamp(1e-3, 0.2),
            residual_factor: KNOWN_RESIDUAL,
        };
        return Start { prior, source: PriorSource::SameProgram, same: Some(same) };
    }
    let others: Vec<&QuietCoefficients> = known.others.iter().filter(|c| usable(c, revision)).collect();
    if others.is_empty() {
        let prior = prior(physical(), deviations());
        return Start { prior, source: PriorSource::Physical, same: None };
    }
    Start { prior: of_others(&others), source: PriorSource::OtherPrograms, same: None }
}

fn usable(c: &QuietCoefficients, revision: u32) -> bool {
    c.revision == revision
        && c.samples > 0
        && c.residual > 0.0
        && c.residual.is_finite()
        && c.coefficients.iter().all(|b| b.abs() <= FURTHEST)
}

fn prior(mean: Vector, deviation: Vector) -> Prior {
    let precision = inverted(&diagonal(deviation.map(|d| d.powi(2)))).unwrap_or([[0.0; FEATURES]; FEATURES]);
    Prior { mean, precision, residual: RESIDUAL.0, residual_factor: RESIDUAL.1 }
}

fn diagonal(values: Vector) -> Matrix {
    let mut found = [[0.0; FEATURES]; FEATURES];
    for (i, (row, value)) in found.iter_mut().zip(values).enumerate() {
        if let Some(place) = row.get_mut(i) {
            *place = value;
        }
    }
    found
}

/// Only the clock counts.
fn physical() -> Vector {
    let mut found = [0.0; FEATURES];
    found[ProbeKind::Latency as usize] = 1.0;
    found
}

/// How much programs differ: one that only computes follows the clock by 1, one that waits for memory by less than a half; of the other
/// probes a program follows any by 0 to 1.
fn deviations() -> Vector {
    let mut found = [0.4; FEATURES];
    for (deviation, kind) in found.iter_mut().zip(ProbeKind::ALL) {
        *deviation = match kind {
            ProbeKind::Latency => 0.45,
            // They vary by the factor 10, and what is evicted costs a program some per cent at most.
            ProbeKind::Evicted | ProbeKind::Code => 0.02,
            _ => 0.35,
        };
    }
    found
}

fn of_others(others: &[&QuietCoefficients]) -> Prior {
    let mut mean = physical();
    let mut deviation = deviations();
    for (i, (mean, deviation)) in mean.iter_mut().zip(&mut deviation).enumerate() {
        let mut all: Vec<f64> = others.iter().filter_map(|c| c.coefficients.get(i).copied()).collect();
        *mean = middle(&mut all).unwrap_or(*mean);
        let squares: f64 = all.iter().map(|b| (b - *mean).powi(2)).sum();
        if others.len() >= FEWEST_OTHERS {
            // What the others never met is not known of this program either: no less than the general spread.
            *deviation = (squares / all.len() as f64).sqrt().clamp(*deviation, 1.5 * *deviation);
        }
    }
    let mut residuals: Vec<f64> = others.iter().map(|c| c.residual).collect();
    let residual = middle(&mut residuals).unwrap_or(RESIDUAL.0).clamp(1e-3, 0.1);
    Prior { residual, ..prior(mean, deviation) }
}

/// From the covariance, which grows with time; `None` if it is none.
fn stored_precision(same: &QuietCoefficients, now: Nanos) -> Option<Matrix> {
    let passed = ((now - same.fitted).as_f64() / DAY).clamp(0.0, 1.0);
    let mut covariance = match &same.covariance {
        Some(stored) if stored.iter().flatten().all(|v| v.abs() <= FURTHEST) => **stored,
        Some(_) => return None,
        // As if one in ten samples had told something of it.
        None => diagonal(deviations().map(|d| d.powi(2) / (1.0 + f64::from(same.samples) / 10.0))),
    };
    for (i, row) in covariance.iter_mut().enumerate() {
        row.iter_mut().for_each(|v| *v *= 1.0 + passed * (INFLATION - 1.0));
        if let Some(place) = row.get_mut(i) {
            *place += passed * SESSION.powi(2) + LEAST_VARIANCE;
        }
    }
    inverted(&covariance)
}
