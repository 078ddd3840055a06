//! A profile as a user reads it: on the terminal, in the page, as JSON.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::{Doubt, Profile, ProfileMethod, ProfilePart};
use tarebench_core::profile::dual::{FamilyExecutions, Observation};
use tarebench_core::profile::lacking::Lacking;
use tarebench_render::profile::sheet;
use tarebench_report::hints::Hints;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;
use tarebench_report::web::html as web;
use tarebench_report::web::page::{DualOrWhy, PageRole};

const MS: i64 = 1_000_000;

/// 60 samples of a second, of which every 14th contains a check of 90 ms; the clock speed drifts.
fn part(name: &str, length_ms: i64) -> ProfilePart {
    let observation = |i: u32| {
        let n = i64::from(i);
        let noise = (n * 7919 % 1000 - 500) * 2_000;
        let mut executions = FamilyExecutions::from([
            ("kworker".to_owned(), vec![Nanos(300_000 + n * 911 % 50_000), Nanos(20_000)]),
            ("systemd-journal".to_owned(), vec![Nanos(1_500_000 + n * 677 % 90_000)]),
        ]);
        let mut elapsed = length_ms * MS + noise;
        if i % 14 == 5 {
            executions.insert(name.to_owned(), vec![Nanos(90 * MS + noise)]);
            elapsed += 90 * MS;
        }
        Observation {
            number: i + 1,
            start: Nanos(1_700_000_000_000_000_000 + n * 1_050 * MS),
            elapsed: Nanos(elapsed),
            process_time: Some(Nanos(length_ms * MS + noise - 100_000 - n * 131 % 9_000)),
            executions: Reading::Value(executions),
            incomplete: i == 3,
            waits: None,
        }
    };
    ProfilePart {
        length: Nanos(length_ms * MS),
        runs: vec!["ab".repeat(16)],
        observations: (0..60).map(observation).collect(),
    }
}

fn example(daemon: &str) -> Profile {
    let empty = Profile::of_cutoffs("build7", "m", "6.1.0-18-amd64", vec![]);
    let made = Nanos(1_700_000_100_000_000_000);
    let short = part(daemon, 1000);
    let p = Profile { created: made, host: "build7".into(), cpus: 8, tool: "0.1.0".into(), short, ..empty };
    let cutoffs = p.learned().unwrap().profile_cutoffs();
    Profile { cutoffs, ..p }
}

fn shown(p: &Profile, style: &Style) -> String {
    let (learned, doubts) = (p.learned().unwrap(), [Doubt::Old { days: 31 }]);
    let style = Style { more: Some("tare profile show build7@1 --full".to_owned()), ..style.clone() };
    sheet_text(&sheet::profile(p, &learned, &doubts, &style.hints, &style.zone, String::new()), &style)
}

#[test]
fn on_a_terminal() {
    let p = example("apt-check");
    insta::assert_snapshot!("profile_100", shown(&p, &Style::default()));
    let full = Style { full: true, unicode: false, ..Style::default() };
    insta::assert_snapshot!("profile_full_ascii", shown(&p, &full));
    let narrow = Style { width: 60, ..Style::default() };
    let text = shown(&p, &narrow);
    assert!(text.lines().all(|l| l.chars().count() <= 60), "{text}");
    insta::assert_snapshot!(
        "profiles",
        sheet_text(
            &sheet::list(&[p.clone(), Profile { method: ProfileMethod::Watched, ..p.clone() }], &TimeZone::UTC),
            &Style { full: true, ..narrow }
        )
    );
    let missing = |daemon: &str, share| Lacking { daemon: daemon.into(), samples: 3, max: Nanos(20 * MS), share };
    let found = [missing("updater", 0.2), missing("tiny\u{1b}[2J", 0.0001)];
    insta::assert_snapshot!("lacking", sheet_text(&sheet::lacking(&p, &found), &Style::default()));
}

#[test]
fn the_page_says_the_same() {
    let p = example("<script>alert(1)</script>");
    let learned = p.learned().unwrap();
    let hints = Hints::new(|hint| format!("{hint:?}"));
    let doubts = [Doubt::OtherCpus { profile: 8, run: 4 }];
    let page = sheet::profile(&p, &learned, &doubts, &hints, &TimeZone::UTC, "foot".to_owned()).into_page();
    assert_eq!(page.remarks[0].text, "The profile build7@1 was made with 8 CPUs, the run with 4. LearnProfile.");
    let short = &page.plots[0];
    assert_eq!(page.plots.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(), ["short", "short-waiting"]);
    // The classes are those of the terminal's tables, and rows point to their samples.
    let spoiled: Vec<u32> = (0..60)
        .filter(|i| short.samples.classes[short.samples.class[*i]].role == PageRole::Spoiled)
        .map(|i| short.samples.number[i])
        .collect();
    assert_eq!(spoiled, [6, 20, 34, 48]);
    assert_eq!(learned.short.l_samples.iter().map(|s| s.number).collect::<Vec<_>>(), spoiled);
    let rare = short.tables.iter().find(|t| t.title.plain().starts_with("Infrequent")).unwrap();
    let numbers: Vec<u32> = rare.rows[0].samples.iter().map(|i| short.samples.number[*i]).collect();
    assert_eq!(numbers, spoiled);
    let DualOrWhy::Dual(dual) = &short.dual else { panic!("{:?}", short.dual) };
    assert_eq!((dual.odd.len(), dual.level.len(), dual.levels[0].members), (30, 30, 30));
    for (odd, even) in dual.odd.iter().zip(&dual.even) {
        assert_eq!(short.samples.number[*odd] + 1, short.samples.number[*even]);
    }
    // One file; a hostile name cannot end the script element that contains it.
    let html = web::html(&page).unwrap();
    let data = web::data(&page).unwrap();
    assert!(html.contains(&data) && !data.contains(['<', '>', '&']) && data.contains("\\u003cscript"));
    assert!(html.contains("<title>Profile build7@1 - tare</title>") && !html.contains("TARE-DATA"));
    let back: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(back["tables"][0]["rows"][0]["cells"][0], "<script>alert(1)</script>");
    assert!(html.len() < 1_500_000 + data.len());
}

#[test]
fn as_json() {
    let p = example("apt-check");
    let text = sheet::json(&p, &p.learned().unwrap()).unwrap();
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&v["format"], &v["version"]), (&"tare-profile-report".into(), &1.into()));
    assert_eq!(v["profile"]["cutoffs"][0]["daemon"], "apt-check");
}
