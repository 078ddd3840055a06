//! What the reader can do about something. Only the command knows its options, so it supplies the words.

use std::fmt;
use std::sync::Arc;
use tarebench_core::machine::data::Standing;
use tarebench_core::run::plan::{Order, RunCount, RunPlan};

/// Something that the reader can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Resume the run of this number.
    Resume(i64),
    /// Interleave the programs that are compared.
    Interleave,
    /// Compare the programs by executions alone, without duets.
    CompareAlone,
    /// Make duets of programs that have none unasked.
    MakeDuets,
    /// State that the programs' setup commands are independent.
    IndependentSetups,
    /// See what a failing program prints, or accept its failures.
    Failures,
    /// Quiet the machine and measure again, or take more samples.
    QuietMachine,
    /// Take at least this number of samples.
    Samples(u32),
    /// Let a measurement that decides itself how many samples it takes have up to this number.
    AtMost(u32),
    /// Let the number of samples grow further, or quiet the machine.
    MoreForPrecision,
    /// Let leftover processes continue to run.
    LeaveRunning,
    /// Make a profile of this machine.
    LearnProfile,
    /// List the profiles of the store.
    ListProfiles,
    /// See whether daemons that are missing from the profile of this name ran in recent runs.
    CheckProfile(String),
    /// Choose s of check 2.
    Sigma,
    /// Set the factor of this name.
    SetFactor(String),
    /// Set all factors that can be set, and undo it later.
    SetFactors,
    /// See what is recommended of each factor, and why.
    ExplainFactors,
    /// Omit shorter periods of a trace.
    Threshold,
    /// Connect groups of builds by a gate between them.
    ConnectBuilds,
    /// Let probes pause programs while the machine is busy, and correct their times.
    GateRun,
    /// The same, in a few words, after a run that did not.
    Quiet,
    /// Let probes run, so that the machine's states become known.
    LearnStates,
    /// Give tare what probes need.
    RunProbes,
    /// Name the CPUs that a program uses, so that all of them are probed.
    ProbeCpus,
    /// Compare by elapsed time.
    CompareElapsed,
    /// Measure at another time, or compare by duets, which need no quiet machine.
    OtherTimeOrDuet,
    /// Take more samples, or compare by duets.
    MoreSamplesOrDuet,
    /// Correct without pausing.
    WithoutGate,
    /// Allow longer pauses.
    LongerPauses,
}

/// Whether this standing of a factor means that the machine's speed changes by what programs do not see: other guests, or a clock that
/// is free.
pub fn speed_varies(factor: &str, standing: Standing) -> bool {
    let of_speed = ["hypervisor", "steal", "turbo", "governor", "frequency"];
    standing == Standing::NotHeld && of_speed.contains(&factor)
}

type HintWords = dyn Fn(&Hint) -> String + Send + Sync;

/// The words of hints, as the command gives them: a phrase such as ``resume with: `tare resume 3` ``, without a capital letter
/// at its beginning and without a period at its end. The default has no words, so that no hint is shown.
#[derive(Clone, Default)]
pub struct Hints(Option<Arc<HintWords>>);

impl Hints {
    /// Hints in the words of this function.
    pub fn new(words: impl Fn(&Hint) -> String + Send + Sync + 'static) -> Hints {
        Hints(Some(Arc::new(words)))
    }

    /// Hints for a run of this plan. If it decides itself how many samples it takes, more of them are a matter of its cap; of
    /// executions alone, duets have few whatever the cap is.
    pub fn of_run(&self, plan: &RunPlan) -> Hints {
        let (most, detects) = match plan.runs {
            RunCount::Fixed(_) => return self.clone(),
            RunCount::Adaptive { max, .. } => (max, false),
            RunCount::Detect { max, .. } => (max, true),
        };
        let Some(words) = self.0.clone() else { return self.clone() };
        let in_duets = detects && matches!(plan.order, Order::Auto | Order::Duet);
        Hints::new(move |hint| match hint {
            Hint::Samples(n) if *n > most => words(&Hint::AtMost(*n)),
            Hint::Samples(_) if in_duets => words(&Hint::CompareAlone),
            Hint::Samples(_) => words(&Hint::AtMost(most.saturating_mul(4))),
            Hint::QuietMachine => words(&Hint::MoreForPrecision),
            other => words(other),
        })
    }

    /// The phrase, if there are words.
    pub fn phrase(&self, hint: &Hint) -> Option<String> {
        self.0.as_ref().map(|words| words(hint))
    }

    /// A sentence to append to others, with a space before it; nothing without words.
    pub fn sentence(&self, hint: &Hint) -> String {
        let Some(phrase) = self.phrase(hint) else { return String::new() };
        let mut chars = phrase.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        format!(" {first}{}.", chars.as_str())
    }

    /// The phrase in parentheses, with a space before it; nothing without words.
    pub fn aside(&self, hint: &Hint) -> String {
        self.phrase(hint).map_or_else(String::new, |phrase| format!(" ({phrase})"))
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hints(…)" } else { "Hints(none)" })
    }
}

/// Equal if they are the same function.
impl PartialEq for Hints {
    fn eq(&self, other: &Hints) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_samples_are_the_cap_where_the_number_is_not_fixed() {
        let mut plan = crate::run::fixtures::two().run.plan;
        let hints = Hints::new(|hint| format!("{hint:?}"));
        let said = |plan: &RunPlan, hint| hints.of_run(plan).phrase(&hint).unwrap_or_default();
        assert_eq!(said(&plan, Hint::Samples(40)), "Samples(40)");
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
        assert_eq!(Hints::default().of_run(&plan).phrase(&Hint::Samples(10)), None);
    }

    #[test]
    fn phrases_become_sentences_and_asides() {
        let hints = Hints::new(|hint| match hint {
            Hint::Resume(id) => format!("resume with: `x {id}`"),
            _ => "é".to_owned(),
        });
        assert_eq!(hints.sentence(&Hint::Resume(7)), " Resume with: `x 7`.");
        assert_eq!(hints.sentence(&Hint::Sigma), " É.");
        assert_eq!(hints.aside(&Hint::Resume(7)), " (resume with: `x 7`)");
        let none = Hints::default();
        assert_eq!((none.sentence(&Hint::Sigma), none.aside(&Hint::Sigma)), (String::new(), String::new()));
        assert!(none == Hints::default() && hints == hints.clone() && hints != none);
    }
}
