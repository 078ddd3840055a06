//! A profile by the account as a user reads it: on the terminal and in the page.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::{Profile, ProfilePart};
use tarebench_core::profile::dual::{FamilyExecutions, Observation};
use tarebench_core::profile::waits::FamilyWaits;
use tarebench_render::profile::sheet::profile;
use tarebench_report::hints::Hints;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;

const MS: i64 = 1_000_000;

/// 60 samples of 300 ms, under a clock that wanders; the program waited 250 ms for `zz` in every tenth.
fn example(daemon: &str) -> Profile {
    let observation = |i: u32| {
        let n = i64::from(i);
        let pt = 300 * MS + (n % 20 - 10).abs() * 6 * MS + n * 7919 % 1000 * 200;
        let usual = 40_000 + n * 911 % 20_000;
        let mut waits = FamilyWaits::from([("kworker".to_owned(), Nanos(usual))]);
        let mut executions = FamilyExecutions::from([("kworker".to_owned(), vec![Nanos(2 * usual)])]);
        if i % 10 == 5 {
            waits.insert(daemon.to_owned(), Nanos(250 * MS));
            executions.insert(daemon.to_owned(), vec![Nanos(252 * MS)]);
        }
        let waited: Nanos = waits.values().copied().sum();
        Observation {
            number: i + 1,
            start: Nanos(1_700_000_000_000_000_000 + n * 700 * MS),
            elapsed: Nanos(pt + 400_000 + n * 131 % 9_000) + waited,
            process_time: Some(Nanos(pt)),
            executions: Reading::Value(executions),
            incomplete: false,
            waits: Some(waits),
        }
    };
    let observations = (0..60).map(observation).collect();
    let short = ProfilePart { length: Nanos(300 * MS), runs: vec!["ab".repeat(16)], observations };
    let p = Profile { host: "build7".into(), short, ..Profile::of_cutoffs("build7", "m", "6.1", vec![]) };
    let cutoffs = p.learned().unwrap().profile_cutoffs();
    Profile { cutoffs, ..p }
}

#[test]
fn on_a_terminal() {
    let p = example("zz");
    let learned = p.learned().unwrap();
    let style = Style { full: true, width: 200, ..Style::default() };
    let sheet = profile(&p, &learned, &[], &Hints::default(), &TimeZone::UTC, String::new());
    let text = sheet_text(&sheet, &style);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "By the account of 60 samples, 1 daemon disturbed 6 samples",
        "What the cutoffs guard",
        "ET by waiting",
        "Waiting for infrequent daemons, short part",
        "125 ms",
        "250 ms",
        "6, 16, 26, 36, 46, 56",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let effect = p.cutoffs[0].effect.unwrap();
    assert_eq!(effect.waiting.unwrap().short, Some(125e6));
    assert!(!effect.process_time.unwrap().lengthens, "{effect:?}");
}

#[test]
fn in_the_page() {
    let p = example("<script>");
    let learned = p.learned().unwrap();
    let page = profile(&p, &learned, &[], &Hints::default(), &TimeZone::UTC, String::new()).into_page();
    let titles: Vec<String> = page.tables.iter().map(|t| t.title.plain()).collect();
    assert_eq!(titles, ["Cutoffs", "What the cutoffs guard"]);
    let waits = page.plots[0].tables.iter().find(|t| t.title.plain().starts_with("Waiting")).unwrap();
    assert_eq!(waits.rows[0].samples.len(), 6, "rows point to their samples");
}
