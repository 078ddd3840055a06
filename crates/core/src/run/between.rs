//! How far the runs of a program differ from each other on a machine: what the samples of one run cannot tell.
//!
//! Memory layout, neighbours and clock speed are not the same in two runs, so that the mean of one run may be further from the mean of
//! many than its samples tell. How far is told by earlier runs of the program on the machine
//! ([`crate::compare::stored_floor`]: the spread of a difference of two runs, from the median of the pairs' differences, which a
//! change of the program in a few of them moves little); that of one run from the mean of all is smaller by the root of 2.
//!
//! Runs that follow each other within minutes share a state of the machine, and differ less than runs of many states. So the deviation
//! counts for as much more as runs that are so alike leave unseen ([`unseen_spread`]), and 1% counts beside it as that of one
//! more run.

use crate::base::units::Nanos;
use crate::compare::stored::PastRun;
use crate::compare::stored_floor::{FloorOf, FloorQuestion, FloorSource, floor};
use crate::machine::conditions::fingerprint;
use crate::run::data::Run;
use crate::run::identity::program_identity;
use crate::run::notes::{BetweenRuns, ProgramSpread};
use crate::sample::measure::Measure;
use crate::statistics::dependence::unseen_spread;
use crate::statistics::intervals::LEVEL;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest earlier runs of the program that tell the spread.
pub const FEWEST_RUNS: u32 = 5;

/// Deviation of a run that is assumed of every program, with the weight of one run.
const ASSUMED: f64 = 0.01;

/// From the floor of a difference between two of these runs (logarithms, in the order of time).
fn of_one_run(floor: f64, runs: &[f64]) -> f64 {
    let n = runs.len() as f64;
    let quantile =
        |freedom: f64| StudentsT::new(0.0, 1.0, freedom).map_or(2.0, |t| t.inverse_cdf(f64::midpoint(LEVEL, 1.0)));
    let deviation = floor.ln_1p() / std::f64::consts::SQRT_2 / quantile(n - 1.0) * unseen_spread(runs);
    let with_assumed = ((ASSUMED.powi(2) + (n - 1.0) * deviation.powi(2)) / n).sqrt();
    (with_assumed * quantile(n)).exp_m1()
}

/// Of all programs of a run, from earlier ones; nothing of those that have fewer than [`FEWEST_RUNS`].
pub fn spreads(run: &Run, history: &[PastRun]) -> Vec<ProgramSpread> {
    let conditions = fingerprint(&run.host, &run.factors);
    // Machines of the same kind have the same conditions.
    let mut here: Vec<PastRun> = history.iter().filter(|past| past.machine == run.host.machine).cloned().collect();
    here.sort_by_key(|past| past.created);
    let of_program = |(series, identity): (u32, String)| {
        [Measure::Et, Measure::Pt, Measure::Net].map(|measure| {
            let question = FloorQuestion {
                what: FloorOf::Times,
                measure,
                own: vec![(&identity, "")],
                fingerprints: [&conditions, &conditions],
                same_machine: true,
                apart: Nanos::ZERO,
                assumed: 0.0,
            };
            let found = floor(&here, &question);
            let FloorSource::SameProgram { runs, .. } = found.source else { return None };
            let between = BetweenRuns { runs, share: of_one_run(found.share, &medians(&here, &identity, measure)) };
            (runs >= FEWEST_RUNS).then_some(ProgramSpread { series, measure, between })
        })
    };
    let identities = run.plan.programs.iter().map(|p| program_identity(&run.plan, p));
    (0..).zip(identities).flat_map(of_program).flatten().collect()
}

/// Logarithms of the medians of a program, one for each run.
fn medians(history: &[PastRun], program: &str, measure: Measure) -> Vec<f64> {
    let of_run = |past: &PastRun| {
        let series = past.series.iter().find(|s| s.program == program)?;
        series.medians.iter().find(|m| m.measure == measure).map(|m| m.median.ln())
    };
    history.iter().filter_map(of_run).collect()
}
