//! How far the runs of a program differ from each other on a machine: what the samples of one run cannot tell.
//!
//! Memory layout, neighbours and clock speed are not the same in two runs, so that the mean of one run may be further from the mean of
//! many than its samples tell. How far is told by earlier runs of the program on the machine
//! ([`crate::compare::stored_floor`]: the spread of a difference of two runs, from the median of the pairs' differences, which a
//! change of the program in a few of them moves little); that of one run from the mean of all is smaller by the root of 2.

use crate::base::units::Nanos;
use crate::compare::stored::PastRun;
use crate::compare::stored_floor::{FloorOf, FloorQuestion, FloorSource, floor};
use crate::machine::conditions::fingerprint;
use crate::run::data::Run;
use crate::run::identity::program_identity;
use crate::run::notes::{BetweenRuns, ProgramSpread};
use crate::sample::measure::Measure;

/// Fewest earlier runs of the program that tell the spread.
pub const FEWEST_RUNS: u32 = 5;

/// Of all programs of a run, from earlier ones; nothing of those that have fewer than [`FEWEST_RUNS`].
pub fn spreads(run: &Run, history: &[PastRun]) -> Vec<ProgramSpread> {
    let conditions = fingerprint(&run.host, &run.factors);
    // Machines of the same kind have the same conditions.
    let here: Vec<PastRun> = history.iter().filter(|past| past.machine == run.host.machine).cloned().collect();
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
            let share = (found.share.ln_1p() / std::f64::consts::SQRT_2).exp_m1();
            let between = BetweenRuns { runs, share };
            (runs >= FEWEST_RUNS).then_some(ProgramSpread { series, measure, between })
        })
    };
    let identities = run.plan.programs.iter().map(|p| program_identity(&run.plan, p));
    (0..).zip(identities).flat_map(of_program).flatten().collect()
}
