//! Comparing until a difference would be seen, the control, and the margin of practical equality, with real programs.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::process::Stdio;
use tempfile::TempDir;

fn burns(args: &str) -> String {
    format!("{} {args}", burner())
}

/// `tare run` of these programs, one string each.
fn compared(dir: &TempDir, options: &[&str], programs: &[String], code: i32) -> Value {
    let mut c = tare(dir);
    json(c.args(["run", "--json"]).args(options).args(programs), code)
}

/// The document's remarks of a kind.
fn remarks<'a>(document: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = document["report"]["remarks"].as_array().expect("remarks");
    all.iter().filter(|r| r["kind"] == kind).collect()
}

fn duets(dir: &TempDir) -> Vec<Value> {
    json(tare(dir).args(["export", "last"]), 0)["duets"].as_array().cloned().unwrap_or_default()
}

#[test]
fn it_stops_at_a_look() {
    let _lock = shared();
    let dir = folder();
    let work = rounds(60);
    let programs = [burns(&format!("loop {work}")), burns(&format!("loop {}", work + work / 50))];
    let d = compared(&dir, &["--detect", "3%", "--max-runs", "36"], &programs, 0);
    let plan = &d["report"]["run"]["plan"];
    assert_eq!((plan["order"].as_str(), &plan["runs"]["detect"]["max"]), (Some("duet"), &36.into()));
    let c = &d["report"]["comparisons"][0];
    let pairs = c["pairs"].as_u64().expect("pairs");
    assert!([10, 16, 24, 36].contains(&pairs), "{pairs}");
    assert_eq!((c["basis"].as_str(), duets(&dir).len() as u64), (Some("duets"), pairs));
    let interval = &c["interval"]["Ok"];
    let [low, high] = ["low", "high"].map(|b| interval[b].as_f64().expect("a bound"));
    // The machine may be too noisy, which the remark says then.
    let narrow = (high / low).ln() / 2.0 < 0.03;
    let found = remarks(&d, "detect");
    assert_eq!((found.len(), found[0]["warning"].as_bool()), (1, Some(!narrow)), "{found:?}");
    assert!(narrow || pairs == 36, "{pairs}");
    // On the terminal it is said once.
    let shown = text(&run(tare(&dir).args(["show", "last"]), 0).stdout);
    let said =
        if narrow { "when a difference of 3.0 % would be seen" } else { "A difference of 3.0 % may not be seen" };
    assert!(shown.replace('\n', " ").contains(said), "{shown}");
}

#[test]
fn rounds_are_compared_too() {
    let _lock = shared();
    let dir = folder();
    // Twice the work: seen at once, unless the machine is in turmoil.
    let programs = [burns("burn-self 20"), burns("burn-self 40")];
    let d = compared(&dir, &["--detect", "20%", "--order", "rounds", "--max-runs", "24"], &programs, 0);
    let c = &d["report"]["comparisons"][0];
    assert!([10, 16, 24].contains(&c["pairs"].as_u64().expect("pairs")), "{c}");
    assert_eq!((c["basis"].as_str(), c["verdict"].as_str()), (Some("alone"), Some("slower")), "{c}");
    assert_eq!(duets(&dir).len(), 0);
}

#[test]
fn an_interrupted_run_goes_on_by_the_same_rule() {
    let _lock = shared();
    let dir = folder();
    let programs = [burns("burn-self 45"), burns("burn-self 45")];
    let mut c = tare(&dir);
    // No interval is so narrow, so that it goes on to the maximum.
    c.args(["run", "--json", "--detect", "0.00001%", "--max-runs", "16"]).args(&programs);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    until("there are duets", || {
        let mut c = tare(&dir);
        let out = c.args(["export", "last"]).output().expect("export");
        serde_json::from_slice::<Value>(&out.stdout).is_ok_and(|a| a["duets"].as_array().is_some_and(|d| d.len() >= 4))
    });
    signal(child.id(), libc::SIGINT);
    assert_eq!(child.wait().expect("reap").code(), Some(130));
    let before = duets(&dir).len();
    assert!((4..16).contains(&before), "{before}");
    let d = json(tare(&dir).args(["resume", "last", "--json"]), 0);
    assert_eq!(d["report"]["comparisons"][0]["pairs"], 16);
    let mut blocks: Vec<u64> = duets(&dir).iter().map(|d| d["index"].as_u64().unwrap()).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, (0..16).collect::<Vec<_>>());
    let found = remarks(&d, "detect");
    assert_eq!((found[0]["warning"].as_bool(), found[0]["looks"].as_u64()), (Some(true), Some(3)), "{found:?}");
    // It is finished: there is nothing to resume.
    run(tare(&dir).args(["resume", "last"]), 2);
}

#[test]
fn what_cannot_be_detected_is_refused() {
    let dir = folder();
    for (args, expected) in [
        (&["--detect", "1%", "true"][..], "--detect compares programs, and there is only one"),
        (&["--detect", "1%", "--order", "sequential", "true", "true"][..], "cannot be used with --order sequential"),
        (&["--detect", "1%", "-s", "true {x}", "-L", "x", "1,2", "true"][..], "their setup commands differ"),
        (&["--detect", "1%", "-r", "20", "true", "true"][..], "cannot be used with"),
        (&["--detect", "1%", "--precision", "0.01", "true", "true"][..], "cannot be used with"),
        (&["--detect", "1%", "-m", "20", "true", "true"][..], "cannot be used with"),
        (&["--detect", "1%", "-M", "5", "true", "true"][..], "expected 6 to 1000 blocks"),
        (&["--detect", "1%", "-M", "1001", "true", "true"][..], "expected 6 to 1000 blocks"),
        (&["--detect", "1", "true", "true"][..], "expected a share such as 1% or 0.01"),
        (&["--detect=-1%", "true", "true"][..], "expected a share such as 1% or 0.01"),
        (&["--margin", "100%", "true", "true"][..], "expected a share such as 1% or 0.01"),
    ] {
        let out = run(tare(&dir).arg("run").args(args), 2);
        let said = text(&out.stderr).replace('\n', " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn the_control_stands_beside_the_programs() {
    let _lock = shared();
    let dir = folder();
    let programs = [burns("burn-self 10"), burns("burn-self 30")];
    let mut c = tare(&dir);
    c.args(["run", "--control", "--order", "rounds", "-r12", "-n", "short", "-n", "long"]).args(&programs);
    let markdown = dir.path().join("t.md");
    let said = text(&run(c.arg("--export-markdown").arg(&markdown), 0).stdout);
    assert_eq!(said.matches("control: short against itself: ").count(), 1, "{said}");
    assert!(said.contains("short is ") && said.contains("times as fast as long"), "{said}");
    let table = std::fs::read_to_string(&markdown).unwrap();
    assert!(table.trim_end().lines().last().is_some_and(|l| l.contains("short (control)")), "{table}");
    let d = json(tare(&dir).args(["show", "last", "--json"]), 0);
    let report = &d["report"];
    let labels: Vec<&str> =
        report["series"].as_array().unwrap().iter().filter_map(|s| s["program"]["label"].as_str()).collect();
    assert_eq!(labels, ["short", "long", "short (control)"]);
    assert_eq!(report["comparisons"].as_array().map(Vec::len), Some(1));
    let control = &report["control"];
    assert_eq!((&control["series"], &control["reference"]), (&2.into(), &0.into()));
    assert!((6..=12).contains(&control["pairs"].as_u64().unwrap()), "{control}");
    // The interval holds 1, or the report warns.
    let interval = &control["interval"]["Ok"];
    let holds = interval["low"].as_f64().unwrap() <= 1.0 && interval["high"].as_f64().unwrap() >= 1.0;
    assert_eq!(remarks(&d, "control_differs").len(), usize::from(!holds), "{control}");
}

#[test]
fn a_program_alone_has_a_control_in_every_order() {
    let _lock = shared();
    for order in ["rounds", "random", "sequential", "auto", "duet"] {
        let dir = folder();
        let d = compared(&dir, &["--control", "--order", order, "-r6"], &[burns("burn-self 42")], 0);
        let report = &d["report"];
        assert_eq!(report["comparisons"].as_array().map(Vec::len), Some(0), "{order}");
        let ratio = report["control"]["ratio"].as_f64().expect("a ratio");
        assert!((0.5..2.0).contains(&ratio), "{order}: {ratio}");
        let shown = text(&run(tare(&dir).args(["show", "last"]), 0).stdout);
        assert!(shown.contains("control: ") && !shown.contains("times as fast"), "{order}: {shown}");
    }
}

#[test]
fn programs_within_the_margin_are_called_the_same() {
    let _lock = shared();
    let dir = folder();
    let programs = [burns("burn-self 45"), burns("burn-self 45")];
    // Both end by their own clocks: half as much again is out of the question.
    let d = compared(&dir, &["--order", "duet", "-r8", "--margin", "50%"], &programs, 0);
    assert_eq!(d["report"]["comparisons"][0]["verdict"], "same");
    let shown = text(&run(tare(&dir).args(["show", "last"]), 0).stdout);
    assert!(shown.contains("no difference beyond 50%"), "{shown}");
    let d = compared(&dir, &["--order", "duet", "-r8"], &programs, 0);
    assert_ne!(d["report"]["comparisons"][0]["verdict"], "same");
}
