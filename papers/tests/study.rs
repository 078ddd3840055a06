//! `tare study`: measured bit by bit, killed, gone on with, shown.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "../../crates/cli/tests/common/mod.rs"]
mod common;

use common::{folder, json, run, shared, signal, tare, text, until};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn parts(dir: &TempDir) -> usize {
    let out = tare(dir).args(["study", "show", "s1", "--json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    document["parts"].as_array().map_or(0, Vec::len)
}

/// Processes that only compute, under a load.
fn competitors() -> usize {
    let names = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| std::fs::read(e.path().join("comm")).ok());
    names.filter(|name| name == b"tare-load\n").count()
}

#[test]
#[ignore = "slow: a whole study (make slow)"]
fn a_killed_study_goes_on_and_a_finished_one_is_shown() {
    let _shared = shared();
    let dir = folder();
    run(tare(&dir).args(["study", "show"]), 4);
    let mut child = tare(&dir).args(["study", "caching"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while parts(&dir) < 2 {
        assert!(began.elapsed() < Duration::from_secs(120), "nothing was kept");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Another process does not measure it, too.
    let out = run(tare(&dir).args(["study", "resume", "s1"]), 4);
    assert!(text(&out.stderr).contains("s1"), "{}", text(&out.stderr));
    child.kill().unwrap();
    child.wait().unwrap();
    // No competitor of a killed study keeps computing.
    until("its competitors end", || competitors() == 0);
    let kept = parts(&dir);
    assert!((2..10).contains(&kept), "{kept}");

    // After an interruption it prints how to resume.
    let child = tare(&dir).args(["study", "resume"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    signal(child.id(), libc::SIGINT);
    let out = child.wait_with_output().unwrap();
    assert!(parts(&dir) >= kept);
    if out.status.code() != Some(0) {
        assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
        assert!(text(&out.stderr).contains("tare resume s1"), "{}", text(&out.stderr));
        run(tare(&dir).args(["study", "resume", "s1"]), 0);
    }
    let document = json(tare(&dir).args(["show", "s1", "--json"]), 0);
    assert_eq!(document["head"]["status"], "finished");
    let measured = document["parts"].as_array().unwrap();
    assert_eq!(measured.len(), 10);
    // Each cell in each of two rounds, none twice.
    let mut cells: Vec<String> = measured.iter().map(|p| format!("{} {}", p["cell"], p["round"])).collect();
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), 10);

    let figures = dir.path().join("figures");
    let out = run(tare(&dir).args(["study", "show", "s1", "--svg"]).arg(&figures), 0);
    for says in ["10 of 10 cells", "figures 9.11, 9.12", "figure 9.13", "practice problem 9.6"] {
        assert!(text(&out.stdout).contains(says), "{}", text(&out.stdout));
    }
    // A long and a short procedure, each on two scales.
    assert_eq!(std::fs::read_dir(&figures).unwrap().count(), 4);
    assert!(document["published"].is_null());
    let beside = json(tare(&dir).args(["study", "show", "s1", "--published", "--json"]), 0);
    let titles: Vec<&str> =
        beside["published"].as_array().unwrap().iter().map(|t| t["title"].as_str().unwrap()).collect();
    assert!(titles.iter().any(|t| t.starts_with("CS:APP figure 9.13")), "{titles:?}");
    assert!(text(&run(tare(&dir).arg("list"), 0).stdout).contains("caching (minutes)"));
    run(tare(&dir).args(["study", "resume", "s1"]), 2);
    run(tare(&dir).args(["study", "show", "s9"]), 2);
    run(tare(&dir).args(["study", "show", "x"]), 2);
    run(tare(&dir).args(["show", "s1", "--export-csv", "-"]), 2);
    run(tare(&dir).args(["study", "caching", "--cpu", "4000"]), 2);
    run(tare(&dir).args(["rm", "s1"]), 0);
    run(tare(&dir).args(["study", "show"]), 2);
}
