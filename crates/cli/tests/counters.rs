//! Counts of the kernel and of the PMU (performance monitoring unit), against programs whose events are known.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{burner, folder, is_root, json, only_sample, run, shared, skip, tare, text, via};
use serde_json::Value;
use std::process::Command;
use tarebench::core::sample::counters::Counter;
use tarebench::sys::events::EventSet;
use tempfile::TempDir;

const NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

fn counting(dir: &TempDir, options: &[&str], words: &[&str]) -> Command {
    let mut c = tare(dir);
    c.args(["run", "--json", "-w0", "-r1", "--no-images", "--counters"]).args(options);
    c.arg("--").arg(burner()).args(words);
    c
}

fn count(sample: &Value, event: &str) -> f64 {
    let found = &sample["counters"]["value"]["counts"][event];
    let times = &found["times"]["value"];
    assert!(times["enabled"].as_i64() > Some(0) && times["enabled"] == times["running"], "{event}: {found}");
    found["count"].as_f64().unwrap_or_else(|| panic!("{event}: {}", sample["counters"]))
}

/// Whether software events can be counted here.
fn refused() -> bool {
    let refused = EventSet::probe(Counter::ContextSwitches.events()).missing().next().map(|(_, why)| why.to_string());
    refused.inspect(|why| skip(why)).is_some()
}

fn has_pmu() -> bool {
    EventSet::probe(Counter::Instructions.events()).missing().next().is_none()
}

#[test]
fn page_faults_and_context_switches_are_those_of_the_program() {
    let _lock = shared();
    if refused() {
        return;
    }
    let dir = folder();
    let faults =
        |pages: &str| count(only_sample(&json(&mut counting(&dir, &[], &["page-faults", pages]), 0)), "page_faults");
    let more = faults("3000") - faults("1000");
    assert!((more - 2000.0).abs() < 20.0, "{more} page faults of 2000 pages");
    let document = json(&mut counting(&dir, &[], &["sleeps", "100"]), 0);
    let sample = only_sample(&document);
    let switches = count(sample, "context_switches");
    // The kernel's own count has those before exec, too.
    let usage = |what: &str| sample["usage"]["value"][what].as_f64().unwrap();
    let kernel = usage("voluntary_switches") + usage("involuntary_switches");
    assert!((100.0..=kernel).contains(&switches), "{switches} of {kernel}");
    assert!(count(sample, "page_faults") <= usage("minor_faults") + usage("major_faults"), "{sample:#}");
    // From exec on, as the task-clock.
    let clock = count(sample, "task_clock");
    assert!(
        clock > 0.0 && clock <= sample["process_times"]["value"]["wait4"]["value"]["total"].as_f64().unwrap(),
        "{clock}"
    );
}

#[test]
fn without_a_pmu_the_kernels_events_are_counted_where_they_are_asked_for() {
    let _lock = shared();
    if has_pmu() {
        return skip("has a PMU");
    }
    let dir = folder();
    let document = json(tare(&dir).args(["run", "--json", "-r1", "-w0", "--no-images", "true"]), 0);
    let why = only_sample(&document)["counters"]["absent"]["detail"].as_str().unwrap().to_owned();
    assert!(why.contains("no PMU"), "{why}");
    if refused() {
        return;
    }
    let document = json(&mut counting(&dir, &[], &["sleeps", "1"]), 0);
    let missing = &only_sample(&document)["counters"]["value"]["absent"];
    assert_eq!(missing.as_array().map(Vec::len), Some(1), "one reason for all: {missing}");
    assert!(missing[0]["why"]["detail"].as_str().unwrap().contains("no PMU"), "{missing}");
    assert_eq!(missing[0]["events"].as_array().map(Vec::len), Some(8), "{missing}");
    let full = text(&run(tare(&dir).args(["show", "last", "--full"]), 0).stdout);
    assert!(full.contains("page-faults ") && full.contains("no PMU"), "{full}");
    let brief = text(&run(tare(&dir).args(["show", "last"]), 0).stdout);
    assert!(!brief.contains("page-faults"), "{brief}");
}

#[test]
fn programs_are_compared_by_a_counter() {
    let _lock = shared();
    if refused() {
        return;
    }
    let dir = folder();
    let programs = ["1000", "2000"].map(|n| format!("{} page-faults {n}", burner()));
    let mut c = tare(&dir);
    c.args(["run", "-w0", "-r8", "--order", "rounds", "--no-images", "--compare-by", "page-faults"]);
    let markdown = dir.path().join("table.md");
    c.args(["-n", "few", "-n", "many"]).arg("--export-markdown").arg(&markdown).args(&programs);
    let said = text(&run(&mut c, 0).stdout);
    assert!(said.contains("many has 1.") && said.contains(" times the page-faults of few"), "{said}");
    assert!(said.contains("] count, ") && said.contains(" pairs"), "{said}");
    let table = std::fs::read_to_string(markdown).unwrap();
    assert!(table.contains("| Relative (page-faults) | page-faults |"), "{table}");
    let shown = json(tare(&dir).args(["show", "last", "--json", "--compare-by", "page-faults"]), 0);
    let comparison = &shown["report"]["comparisons"][0];
    assert_eq!((&comparison["by_counter"], &comparison["verdict"]), (&"page_faults".into(), &"slower".into()));
    let figures = |series: usize| {
        let all = shown["report"]["series"][series]["counters"]["value"]["counters"].as_array().unwrap();
        let found = all.iter().find(|c| c["counter"] == "page_faults").unwrap();
        found["figures"]["value"]["mean"].as_f64().unwrap()
    };
    let more = figures(1) - figures(0);
    assert!((more - 1000.0).abs() < 20.0, "{more}");
    let ratio = comparison["ratio"].as_f64().unwrap();
    assert!((ratio - figures(1) / figures(0)).abs() < 0.02 * ratio, "{ratio}");
    for (option, holds) in
        [("--export-csv", "counter_page_faults_mean"), ("--export-samples", "counter_page_faults_enabled_ns")]
    {
        let out = text(&run(tare(&dir).args(["show", "last", option, "-"]), 0).stdout);
        assert!(out.contains(holds), "{option}: {out}");
    }
    // Stored runs, too: of one run by its rounds, and the same of its archive.
    let words = ["compare", "last.few", "last.many", "--compare-by", "page-faults"];
    let said = text(&run(tare(&dir).args(words), 0).stdout);
    assert!(said.contains("times the page-faults of"), "{said}");
    let archive = dir.path().join("run.json");
    run(tare(&dir).args(["export", "last", "-o"]).arg(&archive), 0);
    let other = folder();
    run(tare(&other).arg("import").arg(&archive), 0);
    let again = json(tare(&other).args(["show", "last", "--json", "--compare-by", "page-faults"]), 0);
    assert_eq!(again["report"]["comparisons"][0]["ratio"], comparison["ratio"]);
}

#[test]
fn a_counter_that_is_not_there_is_refused_before_anything_runs() {
    let _lock = shared();
    let dir = folder();
    let mark = dir.path().join("ran");
    let mut c = tare(&dir);
    c.args(["run", "-r1", "--no-account", "--compare-by", "page-faults", "--", "touch"]).arg(&mark);
    let said = text(&run(&mut c, 2).stderr);
    assert!(said.contains("--compare-by page-faults: with --no-account, nothing is counted"), "{said}");
    if !has_pmu() {
        let mut c = tare(&dir);
        c.args(["run", "-r1", "--compare-by", "instructions", "--", "touch"]).arg(&mark);
        let said = text(&run(&mut c, 6).stderr);
        assert!(said.contains("--compare-by instructions: not available: no PMU"), "{said}");
    }
    assert!(!mark.exists());
}

/// perf_event_open(2): context switches happen in the kernel, which such a user may not watch.
#[test]
fn a_user_who_may_not_count_in_the_kernel_has_no_zeros() {
    let _lock = shared();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if !is_root() || paranoid.trim() != "2" {
        return skip("needs root, to become another user, and kernel.perf_event_paranoid 2");
    }
    let dir = folder();
    let mut c = via(&dir, NOBODY);
    c.args(["run", "--json", "-w0", "-r1", "--no-images", "--counters", "--", burner(), "sleeps", "20"]);
    let document = json(&mut c, 0);
    let sample = only_sample(&document);
    let counters = &sample["counters"]["value"];
    assert_eq!(counters["counts"]["page_faults"]["user_only"], true, "{counters:#}");
    let why = counters["absent"].as_array().unwrap().iter().find(|a| a["why"]["reason"] == "no_permission").unwrap();
    assert!(why["why"]["detail"].as_str().unwrap().contains("of 1 or less (it is 2)"), "{why}");
    assert!(why["events"].as_array().unwrap().iter().any(|e| e == "context_switches"), "{why}");
}
