//! The protocol's steps in words: what each requires, and why it holds or not.

use tarebench_core::base::hint::Hint;
use tarebench_core::run::discards::DiscardRule;
use tarebench_core::run::protocol::{
    CheckOne, CheckOneDetail, FactorFinding, NoCheckOne, NoProcessTime, ProtocolStep, StepFinding,
};
use tarebench_report::hints::Hints;
use tarebench_report::number::long_time;

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
        CheckOne::Done { profile, incomplete, detail } => {
            let mut said = format!("check 1 done{} (profile {profile})", rule(detail));
            if *incomplete > 0 {
                said.push_str(&format!(
                    ", but in {incomplete} samples short-lived daemons may be missing; run as root to record all"
                ));
            }
            said.push_str(&limits(detail, hints));
            said
        }
    }
}

fn rule(detail: &CheckOneDetail) -> &'static str {
    match (detail.rule, detail.counts) {
        (DiscardRule::Effect, _) => " by the daemons' effect",
        (DiscardRule::Papers, Some(_)) => " by the papers' rule",
        (DiscardRule::Papers, None) => "",
    }
}

/// What check 1 could not find.
fn limits(detail: &CheckOneDetail, hints: &Hints) -> String {
    let mut said = String::new();
    if let Some(short) = detail.too_short {
        let time = |t| long_time(t, true);
        said.push_str(&format!(
            ", but its samples of {} are shorter than the program's {}: a daemon may be infrequent to them and frequent to \
             it{}",
            time(short.samples),
            time(short.task_time),
            hints.aside(&Hint::LearnProfile)
        ));
    }
    if detail.finds_nothing {
        said.push_str(", but at this elapsed time no daemon has a cutoff");
    } else if !detail.without_cutoff.is_empty() {
        said.push_str(&format!("; no cutoff at this elapsed time: {}", detail.without_cutoff.join(", ")));
    }
    said
}

fn second(sigma: Option<f64>, hints: &Hints) -> String {
    match sigma {
        Some(s) => format!("check 2 done (s = {s})"),
        None => format!("check 2 not done: `none` was given{}", hints.aside(&Hint::Sigma)),
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
    use tarebench_core::base::units::Nanos;
    use tarebench_core::machine::data::Standing;
    use tarebench_core::run::protocol::{RuleCounts, ShortProfile};

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
        let with = |incomplete, detail| CheckOne::Done { profile: "p@1".to_owned(), incomplete, detail };
        let done = |incomplete| with(incomplete, CheckOneDetail::default());
        let text = said(StepFinding::Outliers { check_one: done(0), sigma: None });
        assert_eq!(text, "check 1 done (profile p@1); check 2 not done: `none` was given (Sigma)");
        let text = said(StepFinding::Outliers { check_one: done(3), sigma: Some(5.0) });
        assert!(text.contains("in 3 samples short-lived daemons may be missing"), "{text}");
        let detail = CheckOneDetail {
            rule: DiscardRule::Effect,
            counts: Some(RuleCounts { papers: 3, effect_elapsed: 2, effect_process_time: 0 }),
            without_cutoff: vec!["cron".to_owned()],
            finds_nothing: false,
            too_short: Some(ShortProfile { samples: Nanos(250_000_000), task_time: Nanos(2_000_000_000) }),
        };
        let text = said(StepFinding::Outliers { check_one: with(0, detail), sigma: Some(2.0) });
        let start = "check 1 done by the daemons' effect (profile p@1), but its samples of 250 ms are shorter than";
        assert!(text.starts_with(start) && text.contains("; no cutoff at this elapsed time: cron; check 2"), "{text}");
        let detail = CheckOneDetail { finds_nothing: true, ..CheckOneDetail::default() };
        let text = said(StepFinding::Outliers { check_one: with(0, detail), sigma: Some(2.0) });
        assert!(text.contains("no daemon has a cutoff"), "{text}");
        let size = |least| said(StepFinding::Size { least, needed: 10 });
        assert_eq!(size(Some(12)), "12 or more in every series");
        assert_eq!(size(Some(9)), "a series has 9 successful samples, 10 are needed (Samples(10))");
        assert_eq!(size(None), "no samples");
    }
}
