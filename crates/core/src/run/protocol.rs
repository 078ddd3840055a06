//! The EMP versions, and which of them a measurement reaches (EMP table I, section 4.7).

use crate::machine::data::{Factor, Standing};
use serde::{Deserialize, Serialize};

/// One step of the protocol and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// 1 to 6, as in EMPv1 … EMPv6.
    pub version: u8,
    /// What the step asks for, in a few words.
    pub asks: String,
    /// How it stands.
    pub standing: Standing,
    /// Why, in words; what is missing and how to get it.
    pub finding: String,
}

/// All steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolReport {
    /// The six steps, in order.
    pub steps: Vec<Step>,
    /// The highest version all of whose steps, and those before it, held; 0 if not even the first.
    pub reached: u8,
}

/// What is known of the first check of EMPv5, the daemons' cutoffs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOne {
    /// Done with the cutoffs of this profile.
    Done {
        /// The profile's name.
        profile: String,
        /// Counted samples whose list of daemons may miss some.
        incomplete: u32,
    },
    /// Not done; why, in words.
    NotDone(String),
}

/// What the protocol is assessed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence<'a> {
    /// The machine's factors, steps 1 to 4.
    pub factors: &'a [Factor],
    /// Whether every counted, successful sample has a process time; if not, why.
    pub process_time: Result<(), String>,
    /// The first check.
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
    let step = |version, asks: &str, (standing, finding)| Step { version, asks: asks.to_owned(), standing, finding };
    let steps = vec![
        step(1, "daemons off, PT used", first(evidence)),
        step(2, "NTP on", environment(evidence.factors, 2)),
        step(3, "clock speed fixed", environment(evidence.factors, 3)),
        step(4, "kernel current", environment(evidence.factors, 4)),
        step(5, "outliers removed", outliers(evidence)),
        step(6, "10 samples or more", size(evidence.sizes)),
    ];
    let held = steps.iter().take_while(|s| s.standing == Standing::Held);
    let reached = held.last().map_or(0, |s| s.version);
    ProtocolReport { steps, reached }
}

fn first(evidence: &Evidence) -> (Standing, String) {
    let (standing, finding) = environment(evidence.factors, 1);
    match &evidence.process_time {
        Ok(()) => (standing, format!("process time used; {finding}")),
        Err(why) => (Standing::NotHeld, format!("process time is missing: {why}; {finding}")),
    }
}

/// A step that the machine's factors decide: not held if any is not, else unknown if any is, or if there is none.
fn environment(factors: &[Factor], step: u8) -> (Standing, String) {
    let of_step = || factors.iter().filter(|f| f.step == step);
    // Factors that say the same are named together.
    let list = |standing| {
        let mut said: Vec<(String, &Factor)> = Vec::new();
        for f in of_step().filter(|f| f.standing == standing) {
            match said.iter_mut().find(|(_, other)| other.finding == f.finding) {
                Some((names, _)) => *names = format!("{names}, {}", f.name),
                None => said.push((f.name.clone(), f)),
            }
        }
        // What to do about it: the first way.
        let fix = |f: &Factor| {
            let fix = f.fix.as_ref().filter(|_| standing == Standing::NotHeld).and_then(|fix| fix.lines().next());
            fix.map(|fix| format!(" ({fix})")).unwrap_or_default()
        };
        let texts = said.into_iter().map(|(names, f)| format!("{names}: {}{}", f.finding, fix(f)));
        texts.collect::<Vec<_>>().join("; ")
    };
    let any = |standing| of_step().any(|f| f.standing == standing);
    if any(Standing::NotHeld) {
        let unknown = if any(Standing::Unknown) { format!("; {}", list(Standing::Unknown)) } else { String::new() };
        (Standing::NotHeld, format!("{}{unknown}", list(Standing::NotHeld)))
    } else if any(Standing::Unknown) {
        (Standing::Unknown, list(Standing::Unknown))
    } else if of_step().next().is_none() {
        (Standing::Unknown, "not checked".to_owned())
    } else {
        (Standing::Held, list(Standing::Held))
    }
}

fn outliers(evidence: &Evidence) -> (Standing, String) {
    let (second_done, second) = if evidence.sigma > 0.0 {
        (true, format!("check 2 done (s = {})", evidence.sigma))
    } else {
        (false, format!("check 2 not done: s is {}, set --sigma to 2 or 5", evidence.sigma))
    };
    match &evidence.check_one {
        CheckOne::NotDone(why) => (Standing::NotHeld, format!("check 1 not done: {why}; {second}")),
        CheckOne::Done { profile, incomplete } => {
            let first = format!("check 1 done (profile {profile})");
            if !second_done {
                (Standing::NotHeld, format!("{first}; {second}"))
            } else if *incomplete > 0 {
                let gap = format!("in {incomplete} samples short-lived daemons may be unseen, run as root to see all");
                (Standing::Unknown, format!("{first}, but {gap}; {second}"))
            } else {
                (Standing::Held, format!("{first}; {second}"))
            }
        }
    }
}

fn size(sizes: &[u32]) -> (Standing, String) {
    match sizes.iter().min() {
        None => (Standing::NotHeld, "no samples".to_owned()),
        Some(least) if *least >= ENOUGH_SAMPLES => (Standing::Held, format!("{least} or more in every series")),
        Some(least) => {
            let text = format!(
                "a series has {least} successful samples, {ENOUGH_SAMPLES} are wanted: --runs {ENOUGH_SAMPLES}"
            );
            (Standing::NotHeld, text)
        }
    }
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
        let check_one = CheckOne::Done { profile: "p".to_owned(), incomplete: 0 };
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
        assert_eq!(report.steps[1].finding, "not checked");
        assert_eq!(report.steps[1].standing, Standing::Unknown);
    }

    #[test]
    fn process_time_and_profile_are_needed() {
        let factors = held();
        let mut e = evidence(&factors, &[10]);
        e.process_time = Err("not asked".to_owned());
        assert_eq!(standings(&e)[0], Standing::NotHeld);
        let mut e = evidence(&factors, &[10]);
        e.check_one = CheckOne::NotDone("no profile (tare profile)".to_owned());
        let report = assess(&e);
        assert_eq!(report.reached, 4);
        assert_eq!(report.steps[4].finding, "check 1 not done: no profile (tare profile); check 2 done (s = 2)");
        e.check_one = CheckOne::Done { profile: "p".to_owned(), incomplete: 3 };
        assert_eq!(standings(&e)[4], Standing::Unknown);
        e.sigma = f64::NAN;
        assert_eq!(standings(&e)[4], Standing::NotHeld);
    }
}
