//! The EMP versions, and which of them a measurement reaches (EMP table I, section 4.7).

use crate::base::reading::Absent;
use crate::base::units::Nanos;
use crate::machine::data::{Factor, Standing};
use crate::run::discards::DiscardRule;
use serde::{Deserialize, Serialize};

/// One step of the protocol and how it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolStep {
    /// 1 to 6, as in EMPv1 … EMPv6.
    pub version: u8,
    pub standing: Standing,
    pub finding: StepFinding,
}

/// What decided a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepFinding {
    /// Step 1: process time, and the machine's factors.
    ProcessTime {
        /// Why process time was not used, if it was not.
        missing: Option<NoProcessTime>,
        /// The factors that decided.
        factors: Vec<FactorFinding>,
    },
    /// Steps 2 to 4: the machine's factors.
    Factors {
        /// Those that decided; none if the step was not checked.
        factors: Vec<FactorFinding>,
    },
    /// Step 5: both checks.
    Outliers {
        check_one: CheckOne,
        /// s of the second, if it was done.
        sigma: Option<f64>,
    },
    /// Step 6: the number of samples.
    Size {
        /// Successful samples of the smallest series; `None` without any series.
        least: Option<u32>,
        /// Samples that each series needs.
        needed: u32,
    },
}

/// Factors of which the same was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorFinding {
    pub names: Vec<String>,
    pub standing: Standing,
    /// What was read ([`Factor::finding`]).
    pub finding: String,
    /// What to do by hand if they are not held: the first way.
    pub fix: Option<String>,
    /// tare can set the first of them on the machine that was measured on.
    pub settable: bool,
}

/// Why process time was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoProcessTime {
    NoSample,
    /// A sample has none.
    Absent {
        why: Absent,
    },
}

/// Why check 1 was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoCheckOne {
    /// The user asked for no profile.
    NotAsked,
    /// The store has no profile of this machine.
    NoProfile,
    /// The store has no profile of this name.
    NoSuchProfile {
        /// The name, with a version if one was given.
        name: String,
    },
    /// No sample has a list of daemons.
    NoDaemons {
        /// Why, of the first.
        why: Absent,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolReport {
    /// The six steps, in order.
    pub steps: Vec<ProtocolStep>,
    /// The highest version all of whose steps, and those before it, held; 0 if not even the first.
    pub reached: u8,
}

/// What is known of the first check of EMPv5, the daemons' cutoffs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOne {
    /// Done with the cutoffs of this profile.
    Done {
        /// The profile's name.
        profile: String,
        /// Counted samples whose list of daemons may miss some.
        incomplete: u32,
        /// What else is known of it.
        #[serde(default)]
        detail: CheckOneDetail,
    },
    NotDone(NoCheckOne),
}

/// How check 1 was done, and whether it could find something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOneDetail {
    /// What it went by.
    #[serde(default)]
    pub rule: DiscardRule,
    /// What either rule discards; `None` where no sample's account tells the effect of a daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<RuleCounts>,
    /// Daemons that have no cutoff at the task time of some program, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_cutoff: Vec<String>,
    /// The profile has cutoffs, but none at the task time of some program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finds_nothing: bool,
    /// A program takes longer than the longest samples that the profile was learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_short: Option<ShortProfile>,
}

impl CheckOneDetail {
    /// Whether check 1 could find every daemon that disturbs the samples.
    pub fn able(&self) -> bool {
        !self.finds_nothing && self.too_short.is_none()
    }
}

/// Samples discarded by check 1, of all programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCounts {
    /// By the papers' rule, for every time.
    pub papers: u32,
    /// By the effect: for elapsed time.
    pub effect_elapsed: u32,
    /// By the effect: for process time and net time.
    pub effect_process_time: u32,
}

impl std::ops::Add for RuleCounts {
    type Output = RuleCounts;
    fn add(self, other: RuleCounts) -> RuleCounts {
        RuleCounts {
            papers: self.papers.saturating_add(other.papers),
            effect_elapsed: self.effect_elapsed.saturating_add(other.effect_elapsed),
            effect_process_time: self.effect_process_time.saturating_add(other.effect_process_time),
        }
    }
}

/// A profile of samples that are shorter than a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortProfile {
    pub samples: Nanos,
    /// Median elapsed time of the longest program.
    pub task_time: Nanos,
}

/// What the protocol is assessed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence<'a> {
    /// The machine's factors, steps 1 to 4.
    pub factors: &'a [Factor],
    /// Whether every counted, successful sample has a process time; if not, why.
    pub process_time: Result<(), NoProcessTime>,
    pub check_one: CheckOne,
    /// s of the second check; it was done if this is above 0.
    pub sigma: f64,
    /// Counted, successful samples of each series.
    pub sizes: &'a [u32],
}

/// Fewest samples of a series (EMP section 4.6).
pub const ENOUGH_SAMPLES: u32 = 10;

/// How the six steps stand, and which version a measurement therefore reaches.
pub fn assess(evidence: &Evidence) -> ProtocolReport {
    let steps = vec![
        first(evidence),
        environment(evidence.factors, 2),
        environment(evidence.factors, 3),
        environment(evidence.factors, 4),
        outliers(evidence),
        size(evidence.sizes),
    ];
    let held = steps.iter().take_while(|s| s.standing == Standing::Held);
    let reached = held.last().map_or(0, |s| s.version);
    ProtocolReport { steps, reached }
}

fn first(evidence: &Evidence) -> ProtocolStep {
    let (standing, factors) = deciding(evidence.factors, 1);
    let missing = evidence.process_time.clone().err();
    let standing = if missing.is_some() { Standing::NotHeld } else { standing };
    ProtocolStep { version: 1, standing, finding: StepFinding::ProcessTime { missing, factors } }
}

fn environment(factors: &[Factor], version: u8) -> ProtocolStep {
    let (standing, factors) = deciding(factors, version);
    ProtocolStep { version, standing, finding: StepFinding::Factors { factors } }
}

/// A step that the machine's factors decide: not held if any is not, else unknown if any is, or if there is none. With the
/// factors that decided: those not held, then the unknown ones; all if all are held.
fn deciding(factors: &[Factor], step: u8) -> (Standing, Vec<FactorFinding>) {
    let of_step = || factors.iter().filter(|f| f.step == step);
    let any = |standing| of_step().any(|f| f.standing == standing);
    let standing = match () {
        () if any(Standing::NotHeld) => Standing::NotHeld,
        () if any(Standing::Unknown) => Standing::Unknown,
        () if of_step().next().is_none() => return (Standing::Unknown, Vec::new()),
        () => Standing::Held,
    };
    let mut found: Vec<FactorFinding> = Vec::new();
    let order =
        if standing == Standing::Held { &[Standing::Held][..] } else { &[Standing::NotHeld, Standing::Unknown] };
    for f in order.iter().flat_map(|s| of_step().filter(move |f| f.standing == *s)) {
        // Factors that say the same are named together.
        match found.iter_mut().find(|g| g.finding == f.finding && g.standing == f.standing) {
            Some(group) => group.names.push(f.name.clone()),
            None => found.push(FactorFinding {
                names: vec![f.name.clone()],
                standing: f.standing,
                finding: f.finding.clone(),
                fix: f
                    .fix
                    .as_ref()
                    .filter(|_| f.standing == Standing::NotHeld)
                    .and_then(|fix| fix.lines().next())
                    .map(str::to_owned),
                settable: f.settable,
            }),
        }
    }
    (standing, found)
}

fn outliers(evidence: &Evidence) -> ProtocolStep {
    let sigma = Some(evidence.sigma).filter(|s| *s > 0.0);
    let standing = match &evidence.check_one {
        CheckOne::NotDone(_) => Standing::NotHeld,
        // SEDONA does no check 2; EMPv5 does both.
        CheckOne::Done { .. } if sigma.is_none() => Standing::NotHeld,
        CheckOne::Done { detail, .. } if !detail.able() => Standing::NotHeld,
        CheckOne::Done { incomplete, .. } if *incomplete > 0 => Standing::Unknown,
        CheckOne::Done { .. } => Standing::Held,
    };
    let check_one = evidence.check_one.clone();
    ProtocolStep { version: 5, standing, finding: StepFinding::Outliers { check_one, sigma } }
}

fn size(sizes: &[u32]) -> ProtocolStep {
    let least = sizes.iter().min().copied();
    let standing = if least.is_some_and(|n| n >= ENOUGH_SAMPLES) { Standing::Held } else { Standing::NotHeld };
    ProtocolStep { version: 6, standing, finding: StepFinding::Size { least, needed: ENOUGH_SAMPLES } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(step: u8, standing: Standing) -> Factor {
        Factor::new(step, format!("f{step}"), standing, format!("found {step}"))
    }

    fn held() -> Vec<Factor> {
        (1..=4).map(|s| factor(s, Standing::Held)).collect()
    }

    fn evidence<'a>(factors: &'a [Factor], sizes: &'a [u32]) -> Evidence<'a> {
        let check_one = CheckOne::Done { profile: "p".to_owned(), incomplete: 0, detail: CheckOneDetail::default() };
        Evidence { factors, process_time: Ok(()), check_one, sigma: 2.0, sizes }
    }

    fn standings(e: &Evidence) -> Vec<Standing> {
        assess(e).steps.iter().map(|s| s.standing).collect()
    }

    #[test]
    fn everything_holds() {
        let factors = held();
        let report = assess(&evidence(&factors, &[10, 12]));
        assert_eq!(report.reached, 6);
        assert_eq!(report.steps.iter().map(|s| s.version).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert!(report.steps.iter().all(|s| s.standing == Standing::Held));
    }

    #[test]
    fn reached_stops_at_the_first_gap() {
        for gap in 1..=4_u8 {
            for standing in [Standing::NotHeld, Standing::Unknown] {
                let mut factors = held();
                factors.push(factor(gap, standing));
                let report = assess(&evidence(&factors, &[10]));
                assert_eq!(report.reached, gap - 1);
                assert_eq!(report.steps[usize::from(gap) - 1].standing, standing);
            }
        }
        let factors = held();
        assert_eq!(assess(&evidence(&factors, &[10, 9])).reached, 5);
        assert_eq!(assess(&evidence(&factors, &[])).reached, 5);
    }

    #[test]
    fn one_factor_not_held_outweighs_an_unknown_one() {
        let factors = [factor(3, Standing::Unknown), factor(3, Standing::NotHeld), factor(3, Standing::Held)];
        let report = assess(&evidence(&factors, &[10]));
        assert_eq!(report.steps[2].standing, Standing::NotHeld);
        let finding = |i: usize| match &report.steps[i].finding {
            StepFinding::Factors { factors } => {
                factors.iter().map(|f| (f.names.join(" "), f.standing)).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(finding(1), []);
        let (not_held, unknown) = (("f3".to_owned(), Standing::NotHeld), ("f3".to_owned(), Standing::Unknown));
        assert_eq!(finding(2), [not_held, unknown]);
        assert_eq!(report.steps[1].standing, Standing::Unknown);
    }

    #[test]
    fn process_time_and_profile_are_needed() {
        let factors = held();
        let mut e = evidence(&factors, &[10]);
        e.process_time = Err(NoProcessTime::NoSample);
        assert_eq!(standings(&e)[0], Standing::NotHeld);
        let mut e = evidence(&factors, &[10]);
        e.check_one = CheckOne::NotDone(NoCheckOne::NoProfile);
        let report = assess(&e);
        assert_eq!(report.reached, 4);
        let finding = StepFinding::Outliers { check_one: CheckOne::NotDone(NoCheckOne::NoProfile), sigma: Some(2.0) };
        assert_eq!(report.steps[4].finding, finding);
        let done = |incomplete, detail| CheckOne::Done { profile: "p".to_owned(), incomplete, detail };
        e.check_one = done(3, CheckOneDetail::default());
        assert_eq!(standings(&e)[4], Standing::Unknown);
        let short = ShortProfile { samples: Nanos(1), task_time: Nanos(2) };
        e.check_one = done(0, CheckOneDetail { too_short: Some(short), ..CheckOneDetail::default() });
        assert_eq!(standings(&e)[4], Standing::NotHeld);
        e.check_one = done(0, CheckOneDetail { finds_nothing: true, ..CheckOneDetail::default() });
        assert_eq!(standings(&e)[4], Standing::NotHeld);
        e.check_one = done(0, CheckOneDetail { without_cutoff: vec!["a".to_owned()], ..CheckOneDetail::default() });
        assert_eq!(standings(&e)[4], Standing::Held, "others have one, and it is named");
        e.check_one = done(3, CheckOneDetail::default());
        e.sigma = f64::NAN;
        assert_eq!(standings(&e)[4], Standing::NotHeld);
    }
}
