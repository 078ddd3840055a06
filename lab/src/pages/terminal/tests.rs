use super::*;
use crate::data::state::{CampaignState, LabProgress};
use crate::pages::nodes_fixtures;
use crate::pages::page::fixtures;
use crate::pages::page::fixtures::{NOW, ago, task};
use tarebench_core::base::units::Nanos;
use tarebench_report::text::{columns, hidden};

fn eighty() -> Style {
    Style { width: 80, ..Style::default() }
}

#[test]
fn campaigns_in_a_list() {
    let finished = CampaignSummary {
        id: 2,
        name: "sorting of large files, every night".to_owned(),
        state: CampaignState::Finished,
        done: 1_200,
        tasks: 1_200,
        failed: 0,
        samples: 1_234_567,
        created: ago(86_400 * 9),
        ..fixtures::summary()
    };
    insta::assert_snapshot!(campaigns(&[fixtures::summary(), finished], NOW, &eighty()));
    assert_eq!(campaigns(&[], NOW, &eighty()), "no campaign was submitted\n");
}

#[test]
fn a_campaign_with_its_tasks() {
    let text = campaign(&fixtures::summary(), &fixtures::campaign(), &fixtures::tasks(), NOW, &eighty());
    insta::assert_snapshot!(text);
    // A paused campaign gets no further.
    let paused = CampaignSummary { state: CampaignState::Paused, ..fixtures::summary() };
    assert!(!campaign(&paused, &fixtures::campaign(), &fixtures::tasks(), NOW, &eighty()).contains("left"));
}

#[test]
fn equal_messages_are_shown_once() {
    let failed = |id, message: &str| LabTask { message: Some(message.to_owned()), ..task(id, LabTaskState::Failed) };
    let mut tasks: Vec<LabTask> = (20..30).map(|id| failed(id, "no space left")).collect();
    tasks.extend((30..37).map(|id| failed(id, &format!("message {id}"))));
    let shown = |full| {
        let style = Style { full, more: Some("tare lab status 3 --full".to_owned()), ..eighty() };
        campaign(&fixtures::summary(), &fixtures::campaign(), &tasks, NOW, &style)
    };
    let text = shown(false);
    assert!(text.contains("tasks 20, 21, 22, 23, 24, 25 and 4 more: no space left"), "{text}");
    assert!(text.contains("task 33: message 33") && !text.contains("message 34"), "{text}");
    assert!(text.contains("and 3 more messages"), "{text}");
    assert!(shown(true).contains("message 36"));
    tasks.extend((100..200).map(|id| task(id, LabTaskState::Waiting)));
    let text = campaign(
        &fixtures::summary(),
        &fixtures::campaign(),
        &tasks,
        NOW,
        &Style { more: Some("x".to_owned()), ..eighty() },
    );
    assert!(text.contains("and 97 more rows") && text.contains("all rows: x"), "{text}");
}

#[test]
fn what_was_submitted() {
    let text =
        submitted(&fixtures::summary(), &nodes_fixtures::named_campaign(), &nodes_fixtures::plans(), NOW, &eighty());
    insta::assert_snapshot!(text);
    let mut any = fixtures::campaign();
    any.machines = MachineChoice::Tags { tags: BTreeMap::from([("rack".to_owned(), "7".to_owned())]), count: Some(2) };
    any.repeat = CampaignRepeat::AtRandom { times: 10, within: Nanos(7 * 86_400_000_000_000), seed: 1 };
    any.parameters.insert("level".to_owned(), vec!["1".to_owned(), "9".to_owned()]);
    let text = submitted(&fixtures::summary(), &any, &[], NOW, &eighty());
    assert!(text.contains("any 2 with rack=7") && text.contains("10 times at random within 7.0 d"), "{text}");
    assert!(text.contains("2 programs, 4 with parameters"), "{text}");
}

#[test]
fn machines_in_a_list() {
    insta::assert_snapshot!(machines(&fixtures::machines(), NOW, &eighty()));
    let mut other = fixtures::machines();
    other[3].fingerprint = "b".repeat(16);
    let text = machines(&other, NOW, &eighty());
    assert!(text.contains("2 fingerprints") && text.contains("  bbbbbbbbbbbbbbbb  1: node04\n"), "{text}");
    assert_eq!(machines(&[], NOW, &eighty()), "no machine has announced itself\n");
}

#[test]
fn machines_compared() {
    for (name, report) in [
        ("nodes_odd", nodes_fixtures::odd()),
        ("nodes_alike", nodes_fixtures::alike()),
        ("nodes_groups", nodes_fixtures::groups()),
        ("nodes_fingerprints", nodes_fixtures::fingerprints()),
    ] {
        insta::assert_snapshot!(name, nodes(&report, &eighty()));
    }
    let nothing = crate::data::nodes::nodes(&[], tarebench_core::sample::measure::Measure::Pt);
    assert_eq!(nodes(&nothing, &eighty()), "no run with samples to compare\n");
}

#[test]
fn the_answer_is_first() {
    let first = |runs: &[crate::data::nodes::NodeRun]| {
        let report = crate::data::nodes::nodes(runs, tarebench_core::sample::measure::Measure::Pt);
        nodes(&report, &Style { width: 200, ..Style::default() }).lines().next().unwrap().to_owned()
    };
    let two = first(&nodes_fixtures::runs(2, &["a"], |m, _, _| 0.1 * m as f64));
    assert!(
        two.starts_with("node01 is 10") && two.contains(" % slower than node00 [") && two.contains("]; of two"),
        "{two}"
    );
    let faster = first(&nodes_fixtures::runs(9, &["a"], |m, _, _| if m == 2 { -0.1 } else { 0.0 }));
    assert!(
        faster.starts_with("node02 is odd: ") && faster.contains(" % faster than the typical machine [−"),
        "{faster}"
    );
    let one = first(&nodes_fixtures::runs(1, &["a"], |_, _, _| 0.0));
    assert_eq!(one, "node00 is the only machine of its kind: there is none to compare it with");
    let mut few = nodes_fixtures::runs(3, &["a"], |_, _, _| 0.0);
    few.retain(|r| r.run.ends_with("-0"));
    assert_eq!(first(&few), "Too few runs to tell a slow machine from a slow run: 3 machines, at most 1 run on each");
    let wide = first(&nodes_fixtures::runs(16, &["a"], |m, _, _| 0.01 * m as f64));
    assert!(wide.contains(" of 16 machines differ from the typical one, but none stands out"), "{wide}");
}

#[test]
fn hostile_names_and_narrow_terminals() {
    let summaries = [fixtures::hostile_summary(), fixtures::summary()];
    let tasks = vec![
        fixtures::hostile_task(),
        LabTask { progress: Some(LabProgress { done: 7, wanted: None }), ..task(9, LabTaskState::Leased) },
    ];
    let mut hostile = fixtures::campaign();
    hostile.machines = MachineChoice::Names(vec![fixtures::HOSTILE.repeat(50); 9]);
    hostile.programs[0].label = Some(fixtures::HOSTILE.repeat(50));
    for (width, unicode, full) in
        [(40, true, false), (40, false, true), (80, true, true), (80, false, false), (140, false, true)]
    {
        let style = Style { width, unicode, full, ..Style::default() };
        for text in [
            campaigns(&summaries, NOW, &style),
            campaign(&summaries[0], &hostile, &tasks, NOW, &style),
            submitted(&summaries[0], &hostile, &nodes_fixtures::plans(), NOW, &style),
            machines(&[fixtures::hostile_machine(), fixtures::machines().remove(0)], NOW, &style),
            nodes(&nodes_fixtures::hostile(), &style),
            nodes(&nodes_fixtures::fingerprints(), &style),
        ] {
            assert!(text.lines().all(|l| columns(l) <= width), "{width}: {text}");
            assert!(!text.chars().any(|c| c != '\n' && hidden(c)), "{}", text.escape_debug());
            assert!(unicode || text.is_ascii(), "{text}");
        }
    }
}
