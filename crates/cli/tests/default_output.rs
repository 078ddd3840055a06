//! The default output on real programs: short, with both measures where they disagree.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};

/// A program that waits beside one that computes: less CPU time, more elapsed time, and both are said.
#[test]
fn a_program_that_waits_and_one_that_computes() {
    let _lock = shared();
    let dir = folder();
    let file = dir.path().join("zeros");
    std::fs::write(&file, vec![0; 3_000_000]).expect("a file");
    let burn = format!("sha256sum {}", file.display());
    run(tare(&dir).args(["run", "-w0", "-r10", "sleep 0.6", &burn]), 0);
    let shown = text(&run(tare(&dir).args(["show"]), 0).stdout);
    let (cpu, elapsed) = (shown.find("by CPU time:"), shown.find("by elapsed time:"));
    assert!(cpu.is_some() && elapsed.is_some(), "{shown}");
    assert!(shown.contains("sleep is ") && shown.contains("sha256sum is "), "{shown}");
    let verdict = |by: &str| {
        let document = json(tare(&dir).args(["show", "--json", "--compare-by", by]), 0);
        let c = &document["report"]["comparisons"][0];
        let ratios = c["ratios"].as_array().expect("ratios");
        assert!(ratios.iter().any(|r| r["measure"] == "et") && ratios.iter().any(|r| r["measure"] == "pt"), "{c:#}");
        c["verdict"].as_str().expect("a verdict").to_owned()
    };
    assert_eq!(verdict("elapsed"), "faster");
    assert_eq!(verdict("cpu"), "slower");
    let table = |by: &str| {
        let args = ["show", "--export-markdown", "-", "--sort", "mean-time", "--compare-by", by];
        text(&run(tare(&dir).args(args), 0).stdout)
    };
    let (elapsed, cpu) = (table("elapsed"), table("cpu"));
    assert!(elapsed.contains("Relative (ET)") && cpu.contains("Relative (PT)"), "{elapsed}{cpu}");
    let sleeps_first = |t: &str| t.find("sleep") < t.find("sha256sum");
    assert!(!sleeps_first(&elapsed) && sleeps_first(&cpu), "{elapsed}{cpu}");
}

#[test]
fn a_program_that_fails_is_one_line_on_standard_error() {
    let _lock = shared();
    let dir = folder();
    let out = run(tare(&dir).args(["run", "-w0", "-r2", "--style", "none", "sh -c 'exit 3'"]), 1);
    let said = text(&out.stderr);
    let lines: Vec<&str> = said.lines().filter(|l| l.contains("exit status 3")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("sample 1") && lines[0].contains("--show-output") && lines[0].contains("-i"), "{said}");
    let out = run(tare(&dir).args(["run", "-w0", "-r2", "--style", "none", "-i", "sh -c 'exit 3'"]), 0);
    assert!(!text(&out.stderr).contains("exit status"), "{}", text(&out.stderr));
}

/// In a warm-up, and wherever the output goes to a pipe; a sample's standard error is /dev/null.
#[test]
fn a_failing_program_has_its_last_words() {
    let _lock = shared();
    let dir = folder();
    let said = |options: &[&str], program: &str| {
        let out = run(tare(&dir).args(["run", "-r2", "--style", "none"]).args(options).arg(program), 1);
        let said = text(&out.stderr);
        let lines: Vec<String> = said.lines().filter(|l| l.contains(" failed in ")).map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "{said}");
        lines[0].clone()
    };
    let program = "sh -c 'echo read the grid >&2; echo no such grid >&2; exit 3'";
    let words = "exit status 3: read the grid / no such grid; see its output with --show-output";
    let line = said(&["-w1"], program);
    assert!(line.contains("failed in warm-up 1: ") && line.contains(words), "{line}");
    let line = said(&["-w0"], program);
    assert!(line.contains("failed in sample 1: exit status 3; see its output"), "{line}");
    let line = said(&["-w0", "--output", "pipe"], program);
    assert!(line.contains("failed in sample 1: ") && line.contains(words), "{line}");
    let file = dir.path().join("out");
    let line = said(&["-w1", "--output", &file.display().to_string()], program);
    assert!(line.contains(words), "{line}");
    // A leftover process that keeps the pipe is ended first; a signal is a failure, too.
    let line = said(&["-w1"], "sh -c 'sleep 100 & echo boom >&2; kill -9 $$'");
    assert!(line.contains("SIGKILL: boom;"), "{line}");
    // More than a pipe or a small file holds.
    let line = said(&["-w1"], "sh -c 'head -c 50000000 /dev/zero >&2; echo; echo the end >&2; exit 5'");
    assert!(line.contains("exit status 5") && line.contains("the end;"), "{line}");
}

/// A program of which nothing is known is not announced three times.
#[test]
fn a_program_without_a_sample_says_why() {
    let _lock = shared();
    let dir = folder();
    let out = run(tare(&dir).args(["run", "-r2", "sh -c 'exit 3'"]), 1);
    let said = text(&out.stdout);
    assert!(said.contains("  failed in warm-up 1: exit status 3\n"), "{said}");
    assert!(!said.contains("There is no counted sample"), "{said}");
}
