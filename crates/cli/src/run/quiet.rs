//! `--quiet` and `--correct`: what the probes do.

use crate::exit::Failure;
use crate::run::args::{QuietArgs, RunArgs};
use tarebench::core::quiet::data::{PROBE_PERIOD, ProbePlan, QUIET_LIMIT};
use tarebench::core::run::plan::RunPlan;
use tarebench::core::sample::probes::GateRule;

/// What the arguments request.
///
/// # Errors
/// A sentence on the argument that goes with others only.
pub fn probes(args: &QuietArgs) -> Result<Option<ProbePlan>, Failure> {
    if !args.quiet && !args.correct {
        return match args.probe_period {
            Some(_) => Err(Failure::usage("--probe-period is for runs with --quiet or --correct")),
            None => Ok(None),
        };
    }
    let period = args.probe_period.unwrap_or(PROBE_PERIOD);
    let gate = args.quiet.then(|| GateRule::standard(args.quiet_limit.unwrap_or(QUIET_LIMIT)));
    Ok(Some(ProbePlan { period, gate, correct: !args.no_correct }))
}

/// Reports that programs may use one CPU only, though nobody asked for that: a parallel one takes longer there.
pub fn say_cpu(args: &RunArgs, plan: &RunPlan) {
    if let (Some(_), None, [cpu]) = (&plan.probes, &args.conditions.cpus, plan.cpus.as_slice()) {
        eprintln!("tare: the programs are kept to CPU {cpu}, which the probes watch; --cpus names others");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench::core::base::units::Nanos;

    fn args(quiet: bool, correct: bool) -> QuietArgs {
        QuietArgs { quiet, correct, no_correct: false, quiet_limit: None, probe_period: None }
    }

    #[test]
    fn the_options_make_the_plan() {
        assert_eq!(probes(&args(false, false)).unwrap(), None);
        let gated = probes(&args(true, false)).unwrap().unwrap();
        assert_eq!(gated.gate, Some(GateRule::standard(Nanos::from_millis(1_500))));
        assert!(gated.correct && gated.period == Nanos::from_millis(4));
        let only_corrected = probes(&args(false, true)).unwrap().unwrap();
        assert_eq!(only_corrected, ProbePlan { gate: None, ..gated });
        let only_gated = QuietArgs { no_correct: true, ..args(true, false) };
        assert_eq!(probes(&only_gated).unwrap(), Some(ProbePlan { correct: false, ..gated }));
        let limit = QuietArgs { quiet_limit: Some(Nanos(7)), ..args(true, false) };
        assert_eq!(probes(&limit).unwrap().and_then(|p| p.gate).map(|g| g.limit), Some(Nanos(7)));
    }

    #[test]
    fn a_period_goes_with_probes() {
        let alone = QuietArgs { probe_period: Some(Nanos::from_millis(4)), ..args(false, false) };
        assert!(probes(&alone).is_err());
    }
}
