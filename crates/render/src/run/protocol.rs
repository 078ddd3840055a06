//! The protocol's steps in words: what each requires, and why it holds or not.

use crate::kit::hints::{Hint, Hints};
use tarebench_core::run::protocol::{CheckOne, FactorFinding, NoCheckOne, NoProcessTime, ProtocolStep, StepFinding};

/// What a step requires, in a few words.
pub fn asks(step: &ProtocolStep) -> &'static str {
    match step.version {
        1 => "daemons off, PT used",
        2 => "NTP on",
        3 => "clock speed fixed",
        4 => "kernel current",
        5 => "outliers removed",
        6 => "10 samples or more",
        _ => "",
    }
}

/// Why a step holds or not; what is missing and how to get it.
pub fn finding(step: &ProtocolStep, hints: &Hints) -> String {
    match &step.finding {
        StepFinding::ProcessTime { missing: None, factors } => format!("CPU time used; {}", list(factors, hints)),
        StepFinding::ProcessTime { missing: Some(why), factors } => {
            let why = match why {
                NoProcessTime::NoSample => "no successful sample".to_owned(),
                NoProcessTime::Absent { why } => why.to_string(),
            };
            format!("CPU time is missing: {why}; {}", list(factors, hints))
        }
        StepFinding::Factors { factors } => list(factors, hints),
        StepFinding::Outliers { check_one, sigma } => format!("{}; {}", first(check_one, hints), second(*sigma, hints)),
        StepFinding::Size { least: None, .. } => "no samples".to_owned(),
        StepFinding::Size { least: Some(least), needed } if least >= needed => {
            format!("{least} or more in every series")
        }
        StepFinding::Size { least: Some(least), needed } => {
            let more = hints.aside(&Hint::Samples(*needed));
            format!("a series has {least} successful samples, {needed} are needed{more}")
        }
    }
}

fn list(factors: &[FactorFinding], hints: &Hints) -> String {
    if factors.is_empty() {
        return "not checked".to_owned();
    }
    let sentence = |f: &FactorFinding| {
        let tune = f.names.first().filter(|_| f.settable).and_then(|n| hints.phrase(&Hint::SetFactor(n.clone())));
        let fix = tune.as_ref().or(f.fix.as_ref()).map_or_else(String::new, |fix| format!(" ({fix})"));
        format!("{}: {}{fix}", f.names.join(", "), f.finding)
    };
    factors.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

fn first(check: &CheckOne, hints: &Hints) -> String {
    match check {
        CheckOne::NotDone(why) => format!("check 1 not done: {}", no_check_one(why, hints)),
        CheckOne::Done { profile, incomplete: 0 } => format!("check 1 done (profile {profile})"),
        CheckOne::Done { profile, incomplete } => format!(
            "check 1 done (profile {profile}), but in {incomplete} samples short-lived daemons may be missing; run as root \
             to record all"
        ),
    }
}

fn second(sigma: Option<f64>, hints: &Hints) -> String {
    match sigma {
        Some(s) => format!("check 2 done (s = {s})"),
        None => format!("check 2 not done: s is not greater than 0{}", hints.aside(&Hint::Sigma)),
    }
}

/// Why check 1 was not done, and what to do.
pub fn no_check_one(why: &NoCheckOne, hints: &Hints) -> String {
    match why {
        NoCheckOne::NotAsked => "no profile (`none` was given)".to_owned(),
        NoCheckOne::NoProfile => format!("no profile{}", hints.aside(&Hint::LearnProfile)),
        NoCheckOne::NoSuchProfile { name } => {
            format!("the store has no profile {name}{}", hints.aside(&Hint::ListProfiles))
        }
        NoCheckOne::NoDaemons { why } => format!("the samples have no lists of daemons ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::base::reading::Absent;
    use tarebench_core::machine::data::Standing;

    fn said(finding: StepFinding) -> String {
        let hints = Hints::new(|h| format!("{h:?}"));
        super::finding(&ProtocolStep { version: 1, standing: Standing::NotHeld, finding }, &hints)
    }

    #[test]
    fn factors_with_the_same_finding_are_named_together() {
        let factor = |names: &[&str], fix: Option<&str>| FactorFinding {
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            standing: Standing::NotHeld,
            finding: "on".to_owned(),
            fix: fix.map(str::to_owned),
            settable: fix.is_none(),
        };
        let factors = vec![factor(&["cron", "atd"], Some("stop it")), factor(&["ntp"], None)];
        assert_eq!(
            said(StepFinding::Factors { factors: factors.clone() }),
            "cron, atd: on (stop it); ntp: on (SetFactor(\"ntp\"))"
        );
        let why = Absent::Lost("all".to_owned());
        let missing = Some(NoProcessTime::Absent { why });
        let text = said(StepFinding::ProcessTime { missing, factors });
        assert_eq!(text, "CPU time is missing: lost: all; cron, atd: on (stop it); ntp: on (SetFactor(\"ntp\"))");
        let text = said(StepFinding::ProcessTime { missing: None, factors: Vec::new() });
        assert_eq!(text, "CPU time used; not checked");
    }

    #[test]
    fn both_checks_and_the_size() {
        let none = CheckOne::NotDone(NoCheckOne::NoProfile);
        let text = said(StepFinding::Outliers { check_one: none, sigma: Some(2.0) });
        assert_eq!(text, "check 1 not done: no profile (LearnProfile); check 2 done (s = 2)");
        let done = |incomplete| CheckOne::Done { profile: "p@1".to_owned(), incomplete };
        let text = said(StepFinding::Outliers { check_one: done(0), sigma: None });
        assert_eq!(text, "check 1 done (profile p@1); check 2 not done: s is not greater than 0 (Sigma)");
        let text = said(StepFinding::Outliers { check_one: done(3), sigma: Some(5.0) });
        assert!(text.contains("in 3 samples short-lived daemons may be missing"), "{text}");
        let size = |least| said(StepFinding::Size { least, needed: 10 });
        assert_eq!(size(Some(12)), "12 or more in every series");
        assert_eq!(size(Some(9)), "a series has 9 successful samples, 10 are needed (Samples(10))");
        assert_eq!(size(None), "no samples");
    }
}
