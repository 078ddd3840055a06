//! Machines whose level changes with time, against the fleet's own change.

use crate::data::levels::{RunLevel, sampling};
use crate::data::spread::{RunVariance, moderated, reach};
use tarebench_core::statistics::series::median_of;

/// Fewest runs of a machine for a line.
pub(crate) const FEWEST_RUNS: usize = 6;
/// Fewest machines of which the median is the fleet's own change.
const FEWEST_MACHINES: usize = 3;
/// Level of the intervals of all machines together. The error is small, since drift is only a second question.
pub(crate) const DRIFT_LEVEL: f64 = 0.99;

/// How a machine's level changes from its first run to its last one, apart from the fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelDrift {
    /// Change of the logarithm.
    pub change: f64,
    /// Half of its interval, simultaneous for all machines.
    pub half: f64,
    /// The interval excludes 0, and the change is relevant.
    pub drifts: bool,
    /// From the first run to the last one, in ns.
    pub span: f64,
}

/// The drift of a fleet.
#[derive(Clone, Debug)]
pub(crate) struct FleetDrifts {
    /// Of each machine; `None` for too few runs.
    pub machines: Vec<Option<LevelDrift>>,
    /// Change of the typical machine's logarithm per ns; 0 for fewer than three machines.
    pub slope: f64,
}

/// A line through a machine's runs.
struct RunLine {
    /// Change of the logarithm from the first run to the last one.
    change: f64,
    /// Standard error of that for a residual deviation of 1.
    error: f64,
    residual: RunVariance,
    /// Variance of a run by the spread of its samples.
    sampling: f64,
    span: f64,
}

/// The drifts of machines with at least [`FEWEST_RUNS`] runs; changes below `relevant` are not named.
pub(crate) fn fleet_drifts(machines: &[Vec<RunLevel>], relevant: f64) -> FleetDrifts {
    let lines: Vec<Option<RunLine>> = machines.iter().map(|runs| line(runs)).collect();
    let known: Vec<&RunLine> = lines.iter().flatten().collect();
    let slopes: Vec<f64> = known.iter().map(|l| l.change / l.span).collect();
    let common = if known.len() < FEWEST_MACHINES { None } else { median_of(slopes) };
    let slope = common.unwrap_or(0.0);
    let residuals: Vec<RunVariance> = known.iter().map(|l| l.residual).collect();
    let Some(spreads) = moderated(&residuals) else {
        return FleetDrifts { machines: vec![None; machines.len()], slope };
    };
    let mut spreads = spreads.into_iter();
    let tests = known.len();
    let judged = |line: &Option<RunLine>| {
        let line = line.as_ref()?;
        let spread = spreads.next()?.at_least(line.sampling);
        let change = line.change - slope * line.span;
        let half = reach(DRIFT_LEVEL, tests, spread.freedom) * spread.variance.sqrt() * line.error;
        let drifts = change.abs() > half && change.abs() >= relevant;
        Some(LevelDrift { change, half, drifts, span: line.span })
    };
    FleetDrifts { machines: lines.iter().map(judged).collect(), slope }
}

/// The line of least squares; `None` for too few runs, or all at one time.
fn line(runs: &[RunLevel]) -> Option<RunLine> {
    let first = runs.iter().map(|r| r.at.0).min()?;
    let last = runs.iter().map(|r| r.at.0).max()?;
    let span = last as f64 - first as f64;
    if runs.len() < FEWEST_RUNS || span <= 0.0 {
        return None;
    }
    let n = runs.len() as f64;
    // From 0 to 1, so that the slope is the change.
    let x = |r: &RunLevel| (r.at.0 as f64 - first as f64) / span;
    let (mx, my) = (runs.iter().map(x).sum::<f64>() / n, runs.iter().map(|r| r.level).sum::<f64>() / n);
    let xx: f64 = runs.iter().map(|r| (x(r) - mx).powi(2)).sum();
    let xy: f64 = runs.iter().map(|r| (x(r) - mx) * (r.level - my)).sum();
    let change = xy / xx;
    let squares: f64 = runs.iter().map(|r| (r.level - my - change * (x(r) - mx)).powi(2)).sum();
    let freedom = n - 2.0;
    let residual = RunVariance { variance: squares / freedom, freedom };
    let error = (1.0 / xx).sqrt();
    (change.is_finite() && error.is_finite()).then_some(RunLine {
        change,
        error,
        residual,
        sampling: sampling(runs),
        span,
    })
}
