//! `--metric`: numbers that programs print.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

/// A shell script that is measured three times; its document.
fn printed(dir: &TempDir, metrics: &[&str], script: &str) -> Value {
    let mut c = tare(dir);
    c.args(["run", "-r", "3", "--no-account", "--no-images", "--json"]);
    metrics.iter().for_each(|m| {
        c.args(["--metric", m]);
    });
    json(c.args(["--", "sh", "-c", script]), 0)
}

fn figures(document: &Value, metric: usize) -> &Value {
    &document["report"]["series"][0]["metrics"][metric]["figures"]["value"]
}

/// The reason why the first metric is absent.
fn reason(document: &Value) -> String {
    let metric = &document["report"]["series"][0]["metrics"][0];
    assert_eq!(metric["missing"], 3, "{metric:#}");
    metric["figures"]["absent"]["detail"].as_str().unwrap_or_else(|| panic!("{metric:#}")).to_owned()
}

#[test]
fn a_printed_number_is_stored_shown_and_exported() {
    let _lock = shared();
    let dir = folder();
    let document = printed(&dir, &["rate=rate: ([0-9.]+)", "bytes=[0-9]+ bytes"], "echo rate: 1; echo rate: 2.5");
    let rate = figures(&document, 0);
    assert_eq!((&rate["values"], rate["mean"].as_f64(), rate["max"].as_f64()), (&Value::from(3), Some(2.5), Some(2.5)));
    let samples = document["samples"].as_array().unwrap();
    assert!(samples.iter().all(|s| s["metrics"][0]["text"]["value"] == "2.5"), "{samples:#?}");
    // The second pattern matches nothing.
    let second = &document["report"]["series"][0]["metrics"][1];
    assert!(second["figures"]["absent"].is_object() && second["missing"] == 3, "{second:#}");
    let shown = text(&run(tare(&dir).args(["show", "1"]), 0).stdout);
    assert!(shown.lines().any(|l| l.starts_with("  rate ") && l.contains("2.50")), "{shown}");
    assert!(shown.contains("bytes: absent in 3 of 3 samples"), "{shown}");
    let full = text(&run(tare(&dir).args(["show", "1", "--full"]), 0).stdout);
    assert!(full.lines().any(|l| l.starts_with("  rate ")), "{full}");
    for (option, holds) in [("--export-csv", "metric_rate_mean"), ("--export-markdown", "| `rate` |")] {
        let out = text(&run(tare(&dir).args(["show", "1", option, "-"]), 0).stdout);
        assert!(out.contains(holds), "{option}: {out}");
    }
    let page = dir.path().join("page.html");
    run(tare(&dir).args(["report", "1", "-o"]).arg(&page), 0);
    assert!(std::fs::read_to_string(page).unwrap().contains("Printed values"));
    // An archive carries them.
    let archive = dir.path().join("run.json");
    run(tare(&dir).args(["export", "1", "-o"]).arg(&archive), 0);
    let other = folder();
    run(tare(&other).arg("import").arg(&archive), 0);
    let again = json(tare(&other).args(["show", "1", "--json"]), 0);
    assert_eq!(figures(&again, 0)["mean"].as_f64(), Some(2.5));
}

#[test]
fn standard_error_is_searched_where_standard_output_has_no_match() {
    let _lock = shared();
    let dir = folder();
    let document = printed(&dir, &["a=a=(\\d+)", "b=b=(\\d+)"], "echo a=1; echo a=2 b=3 >&2");
    assert_eq!(
        (figures(&document, 0)["mean"].as_f64(), figures(&document, 1)["mean"].as_f64()),
        (Some(1.0), Some(3.0))
    );
}

#[test]
fn what_is_no_finite_number_is_absent() {
    let _lock = shared();
    let dir = folder();
    let told = |script: &str| reason(&printed(&dir, &["v=v=(.*)"], script));
    assert!(told("true").contains("matches nothing"));
    assert_eq!(told("echo v=abc"), "`abc` is not a number");
    assert_eq!(told("echo v=inf"), "`inf` is not a finite number");
    assert_eq!(told("echo v=1e999"), "`1e999` is not a finite number");
    assert_eq!(told("echo v=1,234"), "`1,234` is not a number");
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let _lock = shared();
    let dir = folder();
    let document = printed(&dir, &["v=v=(\\d+)"], r"printf '\377\376v=7\n\300'");
    assert_eq!(figures(&document, 0)["mean"].as_f64(), Some(7.0));
    let broken = reason(&printed(&dir, &["w=w=(.*)\n"], r"printf 'w=\033[31m1\nv'"));
    assert!(broken.contains("is not a number"), "{broken}");
    // A pattern of bytes matches them; they are no number.
    let raw = reason(&printed(&dir, &["v=(?-u)v=(\\xff)"], r"printf 'v=\377\n'"));
    assert!(raw.contains("is not a number"), "{raw}");
    let shown = text(&run(tare(&dir).args(["show", "2"]), 0).stdout);
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn of_huge_output_the_end_is_searched() {
    let _lock = shared();
    let dir = folder();
    let zeros = "head -c 20000000 /dev/zero";
    let document = printed(&dir, &["v=v=(\\d+)"], &format!("echo v=1; {zeros}; echo v=2"));
    assert_eq!(figures(&document, 0)["mean"].as_f64(), Some(2.0));
    let before = reason(&printed(&dir, &["v=v=(\\d+)"], &format!("echo v=1; {zeros}")));
    assert!(before.contains("the last 16 MiB"), "{before}");
}

#[test]
fn a_file_keeps_its_content_and_each_sample_reads_its_own() {
    let _lock = shared();
    let dir = folder();
    let file = dir.path().join("out");
    let mut c = tare(&dir);
    c.args([
        "run",
        "-r",
        "3",
        "-w",
        "0",
        "--no-account",
        "--no-images",
        "--json",
        "--metric",
        "i=i=(\\d+)",
        "--output",
    ]);
    let document = json(c.arg(&file).args(["--", "sh", "-c", "echo i=$TARE_ITERATION"]), 0);
    let values: Vec<&Value> =
        document["samples"].as_array().unwrap().iter().map(|s| &s["metrics"][0]["text"]["value"]).collect();
    assert_eq!(values, ["0", "1", "2"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "i=0\ni=1\ni=2\n");
}

/// The sample is stored with what it printed; its last words are still told.
#[test]
fn a_program_that_fails_has_no_figures() {
    let _lock = shared();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(["run", "-r", "2", "-w", "0", "--no-account", "--no-images", "--metric", "v=v=(.*)"]);
    let out = run(c.args(["--", "sh", "-c", "echo v=3; echo no disk >&2; exit 3"]), 1);
    let all = format!("{}{}", text(&out.stdout), text(&out.stderr));
    assert!(all.contains("no disk"), "{all}");
    let document = json(tare(&dir).args(["show", "1", "--json"]), 0);
    assert!(document["report"]["series"][0].get("metrics").is_none(), "{document:#}");
    assert_eq!(document["samples"][0]["metrics"][0]["text"]["value"], "3");
    // Accepted failures count.
    let mut c = tare(&dir);
    c.args(["run", "-r", "2", "-i", "--no-account", "--no-images", "--json", "--metric", "v=v=(.*)"]);
    let document = json(c.args(["--", "sh", "-c", "echo v=3; exit 3"]), 0);
    assert_eq!(figures(&document, 0)["mean"].as_f64(), Some(3.0));
}

#[test]
fn programs_are_compared_by_what_they_print() {
    let _lock = shared();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(["run", "-r", "8", "--order", "rounds", "--no-account", "--no-images", "--json", "--sigma", "100"]);
    let document = json(c.args(["--metric", "v=v=(.*)", "sh -c 'echo v=2'", "sh -c 'echo v=3'"]), 0);
    let ratio = &document["report"]["comparisons"][0]["metrics"][0];
    assert!((ratio["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{ratio:#}");
    assert_eq!(ratio["pairs"], 8);
    assert!(ratio["interval"]["Ok"]["low"].as_f64().is_some_and(|l| (l - 1.5).abs() < 1e-9), "{ratio:#}");
}

/// Two programs that print a number, eight rounds, compared by it.
fn compared_by_it(dir: &TempDir, name: &str, values: [&str; 2]) -> Command {
    let mut c = tare(dir);
    c.args(["run", "-r", "8", "--order", "rounds", "--no-account", "--no-images", "--sigma", "100"]);
    c.arg("--metric").arg(format!("{name}=v=(.*)")).arg("--compare-by").arg(format!("metric:{name}"));
    c.args(["-n", "first", "-n", "second"]).args(values.map(|v| format!("sh -c 'echo v={v}'")));
    c
}

#[test]
fn the_verdict_can_be_by_what_programs_print() {
    let _lock = shared();
    let dir = folder();
    let file = dir.path().join("table.md");
    let mut c = compared_by_it(&dir, "a|b rate", ["2", "3"]);
    let said = text(&run(c.arg("--export-markdown").arg(&file), 0).stdout);
    assert!(said.contains("second has 1.50 times the a|b rate of first"), "{said}");
    assert!(said.contains("printed value"), "{said}");
    let table = std::fs::read_to_string(file).unwrap();
    assert!(table.contains(r"| Relative (`a\|b rate`) |") && table.contains("1.50 [1.50, 1.50]"), "{table}");
    // A stored run is shown by any measure, and by what it printed.
    let shown = json(tare(&dir).args(["show", "1", "--json", "--compare-by", "metric:a|b rate"]), 0);
    let comparison = &shown["report"]["comparisons"][0];
    assert_eq!((&comparison["by_metric"], &comparison["verdict"]), (&"a|b rate".into(), &"slower".into()));
    let shown = json(tare(&dir).args(["show", "1", "--json"]), 0);
    assert!(shown["report"]["comparisons"][0].get("by_metric").is_none(), "{shown:#}");
    let out = run(tare(&dir).args(["show", "1", "--compare-by", "metric:other"]), 0);
    let said = text(&out.stderr);
    assert!(said.contains("cannot be compared by other: no sample of it has the value"), "{said}");
}

#[test]
fn what_has_no_ratio_is_not_compared_by_it() {
    let _lock = shared();
    let dir = folder();
    for value in ["0", "-2"] {
        let out = run(&mut compared_by_it(&dir, "v", ["2", value]), 0);
        let said = text(&out.stderr);
        assert!(said.contains("`second` cannot be compared by v: one of its values is zero or negative"), "{said}");
        assert!(!text(&out.stdout).contains("times the v of"), "{}", text(&out.stdout));
    }
    let mark = dir.path().join("ran");
    for by in ["metric:w", "metric:", "speed"] {
        let mut c = tare(&dir);
        c.args(["run", "--metric", "v=v=(.*)", "--compare-by", by, "--", "touch"]);
        let said = text(&run(c.arg(&mark), 2).stderr);
        assert!(said.contains("--compare-by") && said.contains(by), "{said}");
    }
    assert!(!mark.exists());
}

#[test]
fn wrong_patterns_are_refused_before_anything_runs() {
    let _lock = shared();
    let dir = folder();
    let mark = dir.path().join("ran");
    for metrics in [&["v=("][..], &["novalue"], &["v=a", "v=b"], &["=a"], &["v=a{1000}{1000}{1000}"]] {
        let mut c = tare(&dir);
        c.arg("run");
        metrics.iter().for_each(|m| {
            c.args(["--metric", m]);
        });
        let said = text(&run(c.args(["--", "touch"]).arg(&mark), 2).stderr);
        assert!(!said.is_empty(), "{metrics:?}");
    }
    for output in ["inherit", "pipe"] {
        let mut c = tare(&dir);
        c.args(["run", "--output", output, "--metric", "v=a"]);
        let said = text(&run(c.args(["--", "touch"]).arg(&mark), 2).stderr);
        assert!(said.contains("--metric") && said.contains("--output"), "{said}");
    }
    assert!(!mark.exists());
}

#[test]
fn a_resumed_run_keeps_its_patterns() {
    let _lock = shared();
    let dir = folder();
    let mark = dir.path().join("stop");
    // The third execution interrupts tare.
    let script = format!(
        "echo v=5; if [ \"$TARE_ITERATION\" = 1 ] && [ ! -e {0} ]; then touch {0}; kill -INT $PPID; sleep 60; fi",
        mark.display()
    );
    let mut c = tare(&dir);
    c.args(["run", "-r", "4", "--no-account", "--no-images", "--metric", "v=v=(\\d+)"]);
    run(c.args(["--", "sh", "-c", &script]), 130);
    let document = json(tare(&dir).args(["resume", "--json"]), 0);
    let v = figures(&document, 0);
    assert!(v["values"].as_u64().is_some_and(|n| n >= 2) && v["mean"].as_f64() == Some(5.0), "{document:#}");
    let samples = document["samples"].as_array().unwrap();
    assert!(samples.iter().all(|s| s["metrics"][0]["text"]["value"] == "5"), "{samples:#?}");
}
