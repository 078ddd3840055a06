//! How much each machine's level differs from that of the typical machine, from the levels of its runs. All levels are
//! logarithms.

use crate::data::spread::{RunVariance, moderated, reach, spread_of};
use tarebench_core::base::units::Nanos;
use tarebench_core::statistics::series::median_of;

/// Level of the intervals of all machines together.
pub(crate) const LEVEL: f64 = 0.95;
/// Smallest difference that is named: half a per cent.
pub(crate) const LEAST_RELEVANT: f64 = 0.005;
/// A difference is named beyond so many standard deviations between runs of one machine, and an odd machine beyond as
/// many of the machines.
pub(crate) const DEVIATIONS: f64 = 3.0;
/// Fewest machines whose own spread stands for that of runs, where each has a run only.
pub(crate) const FEWEST_ALONE: usize = 8;
/// Efficiency of the median absolute deviation for normal values.
const EFFICIENCY: f64 = 0.37;
/// The median absolute deviation of normal values, times this, is their standard deviation.
const TO_DEVIATION: f64 = 1.482_602_218_505_602;
/// Smallest standard error of a logarithm.
const LEAST_ERROR: f64 = 1e-6;
/// Standard deviations between what is found half of the time and what is found in nine of ten cases.
const POWER: f64 = 1.282;

/// A run on a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLevel {
    pub at: Nanos,
    /// Mean, over its programs, of the logarithm of the median time over that of the typical machine.
    pub level: f64,
    /// Variance that the level has by the spread of its samples.
    pub sampling: f64,
}

/// A machine's level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineLevel {
    /// Above that of the typical machine.
    pub deviation: f64,
    /// Half of its interval, simultaneous for all; `None` without an estimate of the spread of runs.
    pub half: Option<f64>,
    /// The interval excludes 0, and the deviation is relevant.
    pub differs: bool,
}

/// The levels of machines, in the order given.
#[derive(Clone, Debug)]
pub(crate) struct FleetLevels {
    pub machines: Vec<MachineLevel>,
    /// Standard deviation between runs of one machine, without that of their samples.
    pub runs: Option<f64>,
    /// Standard deviation of the machines' deviations, robust; `None` for a single one.
    pub apart: Option<f64>,
    /// The same without what runs add to it.
    pub between: Option<f64>,
    /// Smallest deviation that counts as a difference.
    pub relevant: f64,
    /// Deviation that would be named in nine of ten fleets; `None` without an estimate.
    pub detectable: Option<f64>,
    /// The spread of runs is that between the machines.
    pub from_fleet: bool,
}

/// What is known of the variance of a machine's runs.
struct KnownVariances {
    of: Vec<RunVariance>,
    from_fleet: bool,
}

/// Compares machines by their runs (at least one each); `tests` is the number of all intervals that shall hold
/// together.
pub(crate) fn fleet_levels(machines: &[Vec<RunLevel>], tests: usize) -> FleetLevels {
    let levels = |runs: &[RunLevel]| runs.iter().map(|r| r.level).collect::<Vec<f64>>();
    let own: Vec<RunVariance> = machines.iter().map(|runs| spread_of(&levels(runs))).collect();
    let medians: Vec<f64> = machines.iter().map(|runs| median_of(levels(runs)).unwrap_or(0.0)).collect();
    let typical = median_of(medians.clone()).unwrap_or(0.0);
    let deviations: Vec<f64> = medians.iter().map(|m| m - typical).collect();
    let apart = robust(&deviations);
    let runs = between_runs(machines, &own);
    let known = runs.unwrap_or(0.0).powi(2);
    // The samples of a noisy machine say so, also where its few runs lie together by chance.
    let bounded = |of: Vec<RunVariance>| {
        of.iter().zip(machines).map(|(s, runs)| s.at_least(sampling(runs) + known)).collect::<Vec<RunVariance>>()
    };
    let variances = match moderated(&own) {
        Some(of) => Some(KnownVariances { of: bounded(of), from_fleet: false }),
        None => apart.filter(|_| machines.len() >= FEWEST_ALONE).map(|sd| from_fleet(sd, machines.len())),
    };
    let relevant = LEAST_RELEVANT.max(DEVIATIONS * runs.unwrap_or(0.0));
    let errors = variances.as_ref().map(|v| errors(machines, v));
    let halves = errors.as_ref().zip(variances.as_ref()).map(|(errors, v)| {
        errors.iter().zip(&v.of).map(|(e, s)| e * reach(LEVEL, tests, s.freedom)).collect::<Vec<f64>>()
    });
    let judged = |(i, deviation): (usize, &f64)| {
        let half = halves.as_ref().and_then(|h| h.get(i).copied());
        let differs = half.is_some_and(|h| deviation.abs() > h && deviation.abs() >= relevant);
        MachineLevel { deviation: *deviation, half, differs }
    };
    let error = errors.and_then(median_of);
    let between = apart.map(|sd| (sd * sd - error.unwrap_or(0.0).powi(2)).max(0.0).sqrt());
    let needed = halves.clone().and_then(median_of).zip(error).map(|(half, error)| half + POWER * error);
    FleetLevels {
        machines: deviations.iter().enumerate().map(judged).collect(),
        runs,
        apart,
        between,
        relevant,
        detectable: needed.map(|n| n.max(relevant)),
        from_fleet: variances.is_some_and(|v| v.from_fleet),
    }
}

/// Standard deviation of deviations from their median, up to half of which may be outliers; `None` for fewer than two.
fn robust(deviations: &[f64]) -> Option<f64> {
    if deviations.len() < 2 {
        return None;
    }
    median_of(deviations.iter().map(|d| d.abs()).collect()).map(|mad| TO_DEVIATION * mad)
}

/// Variance of a machine's runs by the spread of their samples, the mean over its runs.
pub(crate) fn sampling(runs: &[RunLevel]) -> f64 {
    runs.iter().map(|r| r.sampling).sum::<f64>() / runs.len().max(1) as f64
}

/// Machines that are alike for the most part have the spread of single runs.
fn from_fleet(sd: f64, machines: usize) -> KnownVariances {
    let freedom = EFFICIENCY * (machines as f64 - 1.0);
    let one = RunVariance { variance: sd.max(LEAST_ERROR).powi(2), freedom };
    KnownVariances { of: vec![one; machines], from_fleet: true }
}

/// Variance of a median of n values, as a share of theirs; the larger bound of normal ones from 3 on.
pub(crate) fn of_median(n: usize) -> f64 {
    let n = n.max(1) as f64;
    if n > 2.0 { std::f64::consts::FRAC_PI_2 / n } else { 1.0 / n }
}

/// Standard error of each machine's deviation, that of the typical machine included.
fn errors(machines: &[Vec<RunLevel>], variances: &KnownVariances) -> Vec<f64> {
    let single = |(runs, v): (&Vec<RunLevel>, &RunVariance)| {
        let n = if variances.from_fleet { 1 } else { runs.len() };
        v.variance * of_median(n)
    };
    let squares: Vec<f64> = machines.iter().zip(&variances.of).map(single).collect();
    let (count, sum) = (squares.len() as f64, squares.iter().sum::<f64>());
    let all = |own: &f64| match squares.len() {
        // Of half of the difference.
        2 => sum / 4.0,
        1 => *own,
        n => own + of_median(n) * sum / count,
    };
    squares.iter().map(|own| all(own).sqrt().max(LEAST_ERROR)).collect()
}

/// Standard deviation between runs of one machine: the median of the machines' variances, less what the samples add.
fn between_runs(machines: &[Vec<RunLevel>], own: &[RunVariance]) -> Option<f64> {
    // The median of a variance is below its mean (Wilson and Hilferty, 1931).
    let mean = |s: &RunVariance| s.variance / (1.0 - 2.0 / (9.0 * s.freedom)).powi(3);
    let variance = median_of(own.iter().filter(|s| s.freedom > 0.0).map(mean).collect())?;
    let sampling = median_of(machines.iter().flatten().map(|r| r.sampling).collect()).unwrap_or(0.0);
    Some((variance - sampling).max(0.0).sqrt())
}
