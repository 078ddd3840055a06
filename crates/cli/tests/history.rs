//! The history of benchmarks over commits, from gates that were imported.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, tare, text};
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

const HOSTILE: &str = "sort\x1b]0;x\x07 \u{202e}<script>alert(1)</script>\n";
const DAY: i64 = 86_400_000_000_000;
/// 2026-10-01.
const FIRST: i64 = 1_790_812_800_000_000_000;

/// The commit of a day; its id begins with the number of the day.
fn commit(day: i64) -> Value {
    json!({
        "folder": "/src", "commit": format!("{day:04}{}", "e".repeat(36)), "name": null, "committed": FIRST + day * DAY,
        "subject": format!("change {day}"), "modified": false,
    })
}

/// Between -0.2 and 0.2 %, different for neighbours.
fn wobble(day: i64) -> f64 {
    (day * 37 % 11 - 5) as f64 * 0.0004
}

/// The archive of a gate with this logarithm of its ratio: ten blocks at equal distances around it.
fn gate(number: i64, base: Value, head: Value, name: &str, log: f64) -> Value {
    let logs: Vec<f64> = (0..10).map(|i| log + 0.004 * (f64::from(i) - 4.5) / 4.5).collect();
    let benchmark = json!({
        "name": name, "command": "./sort input", "threshold": 0.02, "weight": 1.0, "measure": null, "budget": null,
    });
    let measured = json!({
        "run": null, "run_uuid": null, "basis": "duets", "measure": "net", "no_duets": null, "logs": logs,
        "control_logs": [], "times": [], "failed": null, "took": 5,
    });
    json!({
        "format": "tare-document", "version": 3,
        "head": {
            "kind": "gate", "number": 0, "uuid": format!("{number:032x}"), "title": name,
            "created": FIRST + number * DAY,
            "status": "finished", "tool": "0.1.0", "machine": "box",
        },
        "doc": {
            "plan": {
                "suite": "", "base": base, "head": head, "benchmarks": [benchmark], "budget": null, "max_blocks": 54,
                "control": false, "family_error": 0.01,
            },
            "measured": [measured],
        },
        "parts": [],
    })
}

fn import(dir: &TempDir, archives: &[Value]) {
    let file = dir.path().join("gate.json");
    for archive in archives {
        std::fs::write(&file, archive.to_string()).unwrap();
        run(tare(dir).arg("import").arg(&file), 0);
    }
}

/// A store with the gates of the commits 1 to 30 against commit 0, and a step of 2 % at commit 18.
fn stepped() -> TempDir {
    let dir = folder();
    let log = |day: i64| wobble(day) + if day < 18 { 0.0 } else { 0.02 };
    let all: Vec<Value> = (1..=30).map(|day| gate(day, commit(0), commit(day), "sort", log(day))).collect();
    import(&dir, &all);
    dir
}

fn history(dir: &TempDir, args: &[&str]) -> Command {
    let mut c = tare(dir);
    c.arg("history").args(args).env("TZ", "UTC").env("COLUMNS", "100");
    c
}

/// What it says on standard error when it fails.
#[track_caller]
fn refused(dir: &TempDir, args: &[&str], words: &[&str]) {
    let out = run(&mut history(dir, args), 2);
    let said = text(&out.stderr);
    assert!(out.stdout.is_empty() && said.lines().count() <= 2, "{args:?}: {said}");
    assert!(words.iter().all(|w| said.contains(w)), "{args:?}: {words:?} in {said}");
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
}

#[test]
fn a_step_is_found_between_its_commits() {
    let dir = stepped();
    let shown = text(&run(&mut history(&dir, &[]), 0).stdout);
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("sort: +2.0 % [") || first.starts_with("sort: +2.1 % ["), "{shown}");
    assert!(first.ends_with("between 0017eee and 0018eee (2026-10-19)"), "{shown}");
    assert!(shown.contains('●') && shown.contains('▲') && shown.contains("30 gates"), "{shown}");
    assert!(shown.contains("relative to 0000eee (2026-10-01)"), "{shown}");
    let basic = text(&run(&mut history(&dir, &["sort", "--style", "basic"]), 0).stdout);
    assert!(basic.is_ascii() && basic.lines().all(|l| l.len() <= 100), "{basic}");
    assert_eq!(text(&run(&mut history(&dir, &["--style", "none"]), 0).stdout), "");

    let document = json(history(&dir, &["--json"]).arg("sort"), 0);
    assert_eq!((&document["format"], &document["report"]["gates"]), (&"tare-history".into(), &30.into()));
    let found = &document["report"]["benchmarks"][0];
    assert_eq!(found["points"].as_array().unwrap().len(), 31);
    let changes = found["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((&changes[0]["before"], &changes[0]["after"]), (&17.into(), &18.into()));
    assert!((changes[0]["ratio"].as_f64().unwrap() - 1.0202).abs() < 0.001, "{changes:?}");
    assert_eq!(found["points"][18]["build"]["subject"], "change 18");

    let table = text(&run(&mut history(&dir, &["--csv"]), 0).stdout);
    assert_eq!(table.lines().count(), 32, "{table}");
    assert!(table.lines().nth(1).unwrap().starts_with(",sort,1,0000eee"), "{table}");

    let page = dir.path().join("history.html");
    let out = run(history(&dir, &["--page"]).arg(&page), 0);
    assert!(out.stdout.is_empty() && text(&out.stderr).contains("wrote "));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("\"kind\":\"history\"") && page.contains("0018eee (2026-10-19)"), "{page}");
    let printed = text(&run(&mut history(&dir, &["--page", "-"]), 0).stdout);
    assert_eq!((printed.matches("\"id\":\"benchmark-1-builds\"").count(), printed.len()), (1, page.len()));
}

#[test]
fn the_anchor_the_suite_and_the_date_choose() {
    let dir = stepped();
    let points =
        |args: &[&str]| json(history(&dir, args).arg("--json"), 0)["report"]["benchmarks"][0]["points"].clone();
    let anchored = points(&["--anchor", "0018eee"]);
    assert_eq!(anchored[18]["ratio"], 1.0);
    assert!((anchored[0]["ratio"].as_f64().unwrap().ln() + 0.02 + wobble(18)).abs() < 1e-6, "{anchored:#}");
    assert_eq!(points(&["--since", "2026-10-21"]).as_array().unwrap().len(), 11);
    let late = text(&run(&mut history(&dir, &["--since", "2026-10-21"]), 0).stdout);
    assert!(late.starts_with("sort: 11 commits; a change is looked for from 20 builds on"), "{late}");
    refused(&dir, &["--anchor", "v7"], &["no gate measured a build \"v7\"", "tare list --kind gate"]);
    refused(&dir, &["--since", "soon"], &["--since soon: expected a day such as 2026-10-01"]);
    refused(&dir, &["parse"], &["no gate has the benchmark `parse`", "`sort`"]);
    refused(&dir, &["--suite", "nightly"], &["no gate has the suite `nightly`"]);
    refused(&dir, &["--suite", "\x1b[1m"], &["no gate has the suite"]);
}

#[test]
fn without_gates_it_says_what_to_do() {
    let dir = folder();
    refused(&dir, &[], &["no gates are stored", "tare gate --base REV"]);
    refused(&dir, &["--db", "none"], &["there is no store"]);
}

/// What is not connected is named, with what connects it; names are shown as text.
#[test]
fn other_builds_and_hostile_names() {
    let dir = folder();
    let mut all: Vec<Value> = (1..=8).map(|day| gate(day, commit(0), commit(day), HOSTILE, wobble(day))).collect();
    let mut kept = commit(0);
    kept["commit"] = Value::Null;
    kept["committed"] = Value::Null;
    kept["folder"] = HOSTILE.into();
    all.push(gate(9, kept, commit(9), HOSTILE, 0.0));
    import(&dir, &all);
    let shown = text(&run(&mut history(&dir, &[]), 0).stdout);
    assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("9 commits; a change is looked for from 20 builds on"), "{shown}");
    assert!(
        flat.contains("2 more builds in 1 group cannot be compared") && flat.contains("`tare gate --base COMMIT`"),
        "{shown}"
    );
    let page = text(&run(&mut history(&dir, &["--page", "-"]), 0).stdout);
    assert!(!page.contains("<script>alert") && page.contains("\\u003cscript\\u003ealert") && !page.contains('\x1b'));
    let table = text(&run(&mut history(&dir, &["--csv"]), 0).stdout);
    assert_eq!((table.lines().count(), table.contains('\x1b')), (10, false), "{table}");
}
