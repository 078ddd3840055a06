//! Hints for a run, by its plan.

use tarebench_core::base::hint::Hint;
use tarebench_core::machine::data::Standing;
use tarebench_core::run::plan::{Order, RunCount, RunPlan};
use tarebench_report::hints::Hints;

/// Whether this standing of a factor means that the machine's speed may change by what programs do not see: other guests, or a clock that
/// is free.
pub fn speed_may_vary(factor: &str, standing: Standing) -> bool {
    let of_speed = ["hypervisor", "steal", "turbo", "governor", "frequency"];
    standing == Standing::NotHeld && of_speed.contains(&factor)
}

/// Hints for a run of this plan. If it decides itself how many samples it takes, more of them are a matter of its cap; of
/// executions alone, duets have few whatever the cap is.
pub fn hints_of_run(hints: &Hints, plan: &RunPlan) -> Hints {
    let hints = &without_correction(hints, plan);
    let (most, detects) = match plan.runs {
        RunCount::Fixed(_) => return hints.clone(),
        RunCount::Adaptive { max, .. } => (max, false),
        RunCount::Detect { max, .. } => (max, true),
    };
    if hints.is_empty() {
        return hints.clone();
    }
    let words = hints.clone();
    let say = move |hint: &Hint| words.phrase(hint).unwrap_or_default();
    let in_duets = detects && matches!(plan.order, Order::Auto | Order::Duet);
    Hints::new(move |hint| match hint {
        Hint::Samples(n) if *n > most => say(&Hint::AtMost(*n)),
        Hint::Samples(_) if in_duets => say(&Hint::CompareAlone),
        Hint::Samples(_) => say(&Hint::AtMost(most.saturating_mul(4))),
        Hint::QuietMachine => say(&Hint::MoreForPrecision),
        other => say(other),
    })
}

/// A run with probes is not advised to use them.
fn without_correction(hints: &Hints, plan: &RunPlan) -> Hints {
    if hints.is_empty() || plan.probes.is_none() {
        return hints.clone();
    }
    let words = hints.clone();
    Hints::new(move |hint| {
        let hint = if *hint == Hint::SpeedChanges { &Hint::OtherTimeOrDuet } else { hint };
        words.phrase(hint).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_samples_are_the_cap_where_the_number_is_not_fixed() {
        let mut plan = crate::run::fixtures::two().run.plan;
        let hints = Hints::new(|hint| format!("{hint:?}"));
        let said = |plan: &RunPlan, hint| hints_of_run(&hints, plan).phrase(&hint).unwrap_or_default();
        assert_eq!(said(&plan, Hint::Samples(40)), "Samples(40)");
        assert_eq!(said(&plan, Hint::SpeedChanges), "SpeedChanges");
        plan.probes = crate::run::quiet_fixtures::one().run.plan.probes;
        assert_eq!(said(&plan, Hint::SpeedChanges), "OtherTimeOrDuet");
        plan.runs = RunCount::Detect { difference: 0.01, max: 200 };
        plan.order = Order::Rounds;
        assert_eq!(said(&plan, Hint::Samples(800)), "AtMost(800)");
        assert_eq!(said(&plan, Hint::Samples(10)), "AtMost(800)");
        plan.order = Order::Duet;
        assert_eq!(said(&plan, Hint::Samples(800)), "AtMost(800)");
        assert_eq!(said(&plan, Hint::Samples(10)), "CompareAlone");
        assert_eq!(said(&plan, Hint::QuietMachine), "MoreForPrecision");
        assert_eq!(said(&plan, Hint::Interleave), "Interleave");
        plan.runs = RunCount::Adaptive { precision: 0.01, min: 10, max: 500 };
        assert_eq!(said(&plan, Hint::Samples(10)), "AtMost(2000)");
        assert_eq!(hints_of_run(&Hints::default(), &plan).phrase(&Hint::Samples(10)), None);
    }
}
