//! `--quiet` and `--correct`: what the probes do, and what they exclude.

use crate::exit::Failure;
use crate::run::args::{QuietArgs, RunArgs};
use tarebench::core::base::units::Nanos;
use tarebench::core::quiet::data::{PROBE_PERIOD, ProbePlan, QUIET_LIMIT};
use tarebench::core::run::plan::{RunPlan, Sched};
use tarebench::core::sample::probes::GateRule;

/// The periods that are possible: more often, the probes would be most of what runs; more seldom, short programs would see none.
const PERIODS: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_millis(100)];

/// What the arguments request.
///
/// # Errors
/// A sentence on the argument that cannot be, or not together with probes.
pub fn probes(args: &QuietArgs, sched: Option<Sched>) -> Result<Option<ProbePlan>, Failure> {
    if !args.quiet && !args.correct {
        return match args.probe_period {
            Some(_) => Err(Failure::usage("--probe-period is for runs with --quiet or --correct")),
            None => Ok(None),
        };
    }
    let option = if args.quiet { "--quiet" } else { "--correct" };
    if let Some(Sched::Fifo(_)) = sched {
        let text = format!("{option} with --sched fifo: probes have the lowest real-time priority, and would not run");
        return Err(Failure::usage(text).hint("omit one of the two"));
    }
    let period = args.probe_period.unwrap_or(PROBE_PERIOD);
    let [shortest, longest] = PERIODS;
    if period < shortest || period > longest {
        return Err(Failure::usage("--probe-period: expected a time from 1ms to 100ms"));
    }
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

    fn args(quiet: bool, correct: bool) -> QuietArgs {
        QuietArgs { quiet, correct, no_correct: false, quiet_limit: None, probe_period: None }
    }

    #[test]
    fn the_options_make_the_plan() {
        assert_eq!(probes(&args(false, false), None).unwrap(), None);
        let gated = probes(&args(true, false), None).unwrap().unwrap();
        assert_eq!(gated.gate, Some(GateRule::standard(Nanos::from_millis(1_500))));
        assert!(gated.correct && gated.period == Nanos::from_millis(4));
        let only_corrected = probes(&args(false, true), None).unwrap().unwrap();
        assert_eq!(only_corrected, ProbePlan { gate: None, ..gated });
        let only_gated = QuietArgs { no_correct: true, ..args(true, false) };
        assert_eq!(probes(&only_gated, None).unwrap(), Some(ProbePlan { correct: false, ..gated }));
        let limit = QuietArgs { quiet_limit: Some(Nanos(7)), ..args(true, false) };
        assert_eq!(probes(&limit, None).unwrap().and_then(|p| p.gate).map(|g| g.limit), Some(Nanos(7)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let alone = QuietArgs { probe_period: Some(Nanos::from_millis(4)), ..args(false, false) };
        assert!(probes(&alone, None).is_err());
        for (ms, possible) in [(0, false), (1, true), (100, true), (101, false)] {
            let period = QuietArgs { probe_period: Some(Nanos::from_millis(ms)), ..args(false, true) };
            assert_eq!(probes(&period, None).is_ok(), possible, "{ms}");
        }
        assert!(probes(&args(true, false), Some(Sched::Fifo(1))).is_err());
        assert!(probes(&args(true, false), Some(Sched::Nice(5))).is_ok());
    }
}
