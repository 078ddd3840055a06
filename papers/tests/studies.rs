//! The studies of samples: computed from stored runs, measured, killed, resumed, copied to another store.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "../../crates/cli/tests/common/mod.rs"]
mod common;

use common::{TARE, folder, json, run, shared, tare, text, until};
use serde_json::Value;
use std::process::Stdio;
use tempfile::TempDir;

const NAMES: [&str; 19] = [
    "et-pt",
    "ntp",
    "clock-speed",
    "scaling",
    "outliers",
    "sample-size",
    "evolution",
    "clocks",
    "programs",
    "suite",
    "histogram",
    "dual",
    "successive",
    "daemons",
    "worst",
    "variance",
    "interval-counting",
    "caching",
    "kbest",
];

/// A run of two lengths of INC.
fn inc_run(dir: &TempDir, samples: &str, names: [&str; 2]) {
    let of = |count: &str| format!("{TARE} inc --quiet --count {count}");
    let mut c = tare(dir);
    c.args(["run", "--order", "rounds", "-w1", "-r", samples, "-n", names[0], "-n", names[1]]);
    run(c.args([of("300000"), of("3000000")]), 0);
}

fn measured(dir: &TempDir, args: &[&str]) -> Value {
    json(tare(dir).arg("study").args(args).arg("--json"), 0)
}

/// Everything but the numbers that a store gives.
fn content(document: &Value) -> Value {
    let mut content = document.clone();
    content["head"]["number"] = Value::Null;
    content
}

fn samples(document: &Value) -> Vec<&Value> {
    let parts = document["parts"].as_array().unwrap();
    parts.iter().flat_map(|p| p["samples"].as_array().unwrap()).collect()
}

fn counted(document: &Value) -> usize {
    samples(document).iter().filter(|s| s["phase"] == "counted").count()
}

#[test]
fn studies_are_listed_with_paper_question_and_time() {
    let _shared = shared();
    let dir = folder();
    let list = text(&run(tare(&dir).args(["study", "--style", "basic"]), 0).stdout);
    let document = json(tare(&dir).args(["study", "--json"]), 0);
    let all = document.as_array().unwrap();
    assert_eq!(all.iter().map(|s| s["name"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    for study in all {
        let name = study["name"].as_str().unwrap();
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {list}");
        assert!(study["question"].as_str().unwrap().ends_with('?') && !study["paper"].as_str().unwrap().is_empty());
        let presets: Vec<&str> = study["times"].as_array().unwrap().iter().map(|t| t[0].as_str().unwrap()).collect();
        assert_eq!(presets, ["minutes", "hour", "paper"]);
        for time in study["times"].as_array().unwrap() {
            assert!(time[1]["executions"].as_u64().unwrap() > 0, "{name}: {time}");
            assert!(time[1]["seconds"].as_f64().unwrap() > 0.0 || name == "suite", "{name}: {time}");
        }
    }
    assert!(list.contains("minutes ") && list.contains("EMP: figures 2 and 9, tables II and III"), "{list}");
    run(tare(&dir).args(["study", "--json", "et-pt"]), 2);
    run(tare(&dir).args(["study", "no-such-study"]), 2);
}

#[test]
fn stored_runs_answer_several_questions() {
    let _shared = shared();
    let dir = folder();
    inc_run(&dir, "20", ["INC0.001", "INC0.01"]);
    let studies = ["et-pt", "scaling", "clocks", "outliers", "successive", "sample-size"];
    for study in studies {
        let made = measured(&dir, &[study, "--from", "last", "--tag", "a=b"]);
        assert_eq!((made["format"].as_str(), made["plan"]["sample_study"].as_str()), (Some("tare-study"), Some(study)));
        assert_eq!(
            (made["head"]["status"].as_str(), made["head"]["tags"]["a"].as_str()),
            (Some("finished"), Some("b"))
        );
        assert_eq!(counted(&made), 40, "{study}");
        assert!(!made["sections"].as_array().unwrap().is_empty() && made["report"].is_object(), "{study}");
        let id = format!("s{}", made["head"]["number"]);
        assert_eq!(json(tare(&dir).args(["show", &id, "--json"]), 0), made, "{study}");
        assert_eq!(json(tare(&dir).args(["study", "show", &id, "--json"]), 0), made, "{study}");
        let shown = text(&run(tare(&dir).args(["show", &id]), 0).stdout);
        let title = format!("Study {id}: {study} (of a stored run)");
        assert!(shown.starts_with(&title) && shown.contains("INC0.01"), "{shown}");
        // A study is a source of another one.
        let again = measured(&dir, &["et-pt", "--from", &id]);
        assert_eq!(again["parts"], made["parts"]);
        run(tare(&dir).args(["study", "resume", &id]), 2);
        run(tare(&dir).args(["rm", &id]), 0);
        run(tare(&dir).args(["show", &id]), 2);
    }
    let tagged = json(tare(&dir).args(["list", "--tag", "a=b", "--json"]), 0);
    assert_eq!(tagged.as_array().unwrap().len(), 0);
    // The run is still there.
    run(tare(&dir).args(["show", "1"]), 0);
}

#[test]
fn conditions_are_named_by_the_user_or_a_tag() {
    let _shared = shared();
    let dir = folder();
    inc_run(&dir, "6", ["INC0.001", "INC0.01"]);
    inc_run(&dir, "6", ["INC0.001", "INC0.01"]);
    let made = measured(&dir, &["ntp", "--from", "1=NTP off", "2=NTP on"]);
    let conditions: Vec<&str> =
        made["parts"].as_array().unwrap().iter().map(|p| p["condition"].as_str().unwrap()).collect();
    assert_eq!(conditions, ["NTP off", "NTP on"]);
    let out = run(tare(&dir).args(["study", "ntp", "--from", "1,99"]), 2);
    assert!(text(&out.stderr).contains("99"), "{}", text(&out.stderr));
    run(tare(&dir).args(["study", "ntp", "--from", "1", "--preset", "hour"]), 2);
    run(tare(&dir).args(["study", "ntp", "--from", "1", "--db", "none"]), 2);
    run(tare(&dir).args(["study", "et-pt", "--longest", "1ns"]), 2);
}

#[test]
fn samples_that_do_not_answer_the_question_are_refused() {
    let _shared = shared();
    let dir = folder();
    inc_run(&dir, "6", ["INC0.001", "INC0.01"]);
    let out = run(tare(&dir).args(["study", "dual", "--from", "1"]), 2);
    let said = text(&out.stderr);
    assert!(said.contains("the study dual cannot be computed from these runs") && said.contains("halves"), "{said}");
    assert!(said.contains("--from"), "{said}");
    assert!(json(tare(&dir).args(["list", "--kind", "study", "--json"]), 0).as_array().unwrap().is_empty());
}

#[test]
fn files_hold_every_table_and_figure() {
    let _shared = shared();
    let dir = folder();
    inc_run(&dir, "12", ["=1+1\u{1b}[2J", "<script>\u{202e}"]);
    let (svg, csv) = (dir.path().join("svg"), dir.path().join("csv"));
    let mut c = tare(&dir);
    c.args(["study", "et-pt", "--from", "1", "--published", "--svg"]).arg(&svg).arg("--csv").arg(&csv);
    let shown = text(&run(&mut c, 0).stdout);
    assert!(shown.contains("Published values") && shown.contains("EMP"), "{shown}");
    assert!(!shown.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    let read = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
        files.map(|f| (f.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(f).unwrap()))
    };
    let figures: Vec<(String, String)> = read(&svg).collect();
    assert!(!figures.is_empty());
    for (name, text) in &figures {
        assert!(name.ends_with(".svg") && text.contains("<svg") && !text.contains("<script>"), "{name}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
    }
    let tables: Vec<(String, String)> = read(&csv).collect();
    assert!(tables.iter().any(|(name, _)| name == "published.csv"), "{tables:?}");
    for (name, text) in &tables {
        let cells = text.lines().flat_map(|line| line.split(','));
        for cell in cells {
            assert!(!cell.trim_start_matches('"').starts_with('='), "{name}: {cell}");
        }
        assert!(!text.contains('\u{1b}'), "{name}");
    }
    // The page holds the same, with the published values, whether asked for or not.
    let page = dir.path().join("study.html");
    run(tare(&dir).args(["report", "s1", "-o"]).arg(&page), 0);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("Published values") && !html.contains('\u{202e}') && !html.contains('\u{1b}'));
    let other = dir.path().join("other.html");
    run(tare(&dir).args(["study", "report", "-o"]).arg(&other), 0);
    assert!(std::fs::read_to_string(&other).unwrap().contains("Published values"));
}

/// Short lengths of the study, few samples.
const TINY: [&str; 5] = ["scaling", "--samples", "8", "--longest", "200ms"];

#[test]
fn a_killed_study_is_resumed_and_measures_nothing_twice() {
    let _shared = shared();
    let dir = folder();
    let mut child = tare(&dir).arg("study").args(TINY).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let taken = || {
        let out = tare(&dir).args(["show", "1", "--json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        document["samples"].as_array().map_or(0, Vec::len)
    };
    until("samples are stored", || taken() >= 4);
    // Another process does not measure it, too.
    let out = run(tare(&dir).args(["study", "resume", "s1"]), 4);
    assert!(text(&out.stderr).contains("s1"), "{}", text(&out.stderr));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = json(tare(&dir).args(["show", "1", "--json"]), 0);
    let shown = text(&run(tare(&dir).args(["show", "s1"]), 0).stdout);
    assert!(shown.contains("The study is not finished"), "{shown}");
    assert!(text(&run(tare(&dir).arg("list"), 0).stdout).contains("scaling (minutes)"));

    // To another store: its commands are shown, and run only if they are trusted.
    let (export, other) = (dir.path().join("s1.json"), folder());
    run(tare(&dir).args(["export", "s1", "-o"]).arg(&export), 0);
    run(tare(&other).arg("import").arg(&export), 0);
    let out = run(tare(&other).args(["resume", "s1"]), 2);
    let said = text(&out.stderr);
    assert!(said.contains("inc --quiet --count") && said.contains("--trust-imported"), "{said}");
    assert!(json(tare(&other).args(["list", "--kind", "run", "--json"]), 0).as_array().unwrap().is_empty());

    run(tare(&dir).args(["resume", "s1"]), 0);
    let made = json(tare(&dir).args(["show", "s1", "--json"]), 0);
    assert_eq!(made["head"]["status"], "finished");
    assert_eq!((made["parts"].as_array().unwrap().len(), counted(&made)), (1, 16));
    // What was stored before the kill is part of it, unchanged, and the run is one.
    let places = |all: &[&Value]| all.iter().map(|s| format!("{} {}", s["seq"], s["wall_clock"])).collect::<Vec<_>>();
    let first: Vec<&Value> = before["samples"].as_array().unwrap().iter().collect();
    assert_eq!(places(&samples(&made))[..first.len()], places(&first));
    let runs = json(tare(&dir).args(["list", "--kind", "run", "--json"]), 0);
    assert_eq!(runs.as_array().unwrap().len(), 1);
    let uuid = made["head"]["uuid"].as_str().unwrap();
    assert_eq!((runs[0]["tags"]["study"].as_str(), runs[0]["tags"]["study-run"].as_str()), (Some(uuid), Some("0")));
    run(tare(&dir).args(["resume", "s1"]), 2);
}

#[test]
fn a_study_is_the_same_in_another_store() {
    let _shared = shared();
    let (dir, other) = (folder(), folder());
    let made = measured(&dir, &["scaling", "--samples", "4", "--longest", "70ms", "--tag", "k=v"]);
    assert_eq!(counted(&made), 4);
    let export = dir.path().join("s1.json");
    run(tare(&dir).args(["export", "s1", "-o"]).arg(&export), 0);
    run(tare(&other).arg("import").arg(&export), 0);
    let there = json(tare(&other).args(["show", "s1", "--json"]), 0);
    assert_eq!(content(&there), content(&made));
    assert!(text(&run(tare(&other).args(["show", "s1"]), 0).stdout).starts_with("s1 was imported on 20"));
    // A finished one has nothing to run.
    run(tare(&other).args(["resume", "s1"]), 2);
    run(tare(&other).args(["rm", "s1"]), 0);
    run(tare(&other).args(["study", "show"]), 2);
    run(tare(&dir).args(["rm", "s1"]), 0);
    // Its run is an ordinary one.
    run(tare(&dir).args(["show", "1"]), 0);
}

#[test]
fn nothing_is_stored_without_a_store() {
    let _shared = shared();
    let dir = folder();
    let made = measured(&dir, &["scaling", "--samples", "3", "--longest", "70ms", "--db", "none"]);
    assert_eq!((made["head"]["number"].as_i64(), counted(&made)), (Some(0), 3));
    assert!(json(tare(&dir).args(["list", "--json"]), 0).as_array().unwrap().is_empty());
}

/// What a program prints of its halves is read.
#[test]
fn halves_are_measured_by_what_they_print() {
    let _shared = shared();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(["study", "dual", "--samples", "3", "--json"]);
    let made = json(&mut c, 0);
    for sample in samples(&made) {
        let names: Vec<&str> =
            sample["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["first", "second"], "{sample:#}");
        for metric in sample["metrics"].as_array().unwrap() {
            let printed: f64 = metric["text"]["value"].as_str().unwrap().parse().unwrap();
            assert!(printed > 0.0, "{metric:#}");
        }
    }
}

#[test]
fn programs_of_a_file_are_a_suite() {
    let _shared = shared();
    let dir = folder();
    let file = dir.path().join("suite.toml");
    let benchmark = |name: &str, count: &str| {
        format!("[[benchmark]]\nname = '{name}'\ncommand = '{TARE} inc --quiet --count {count}'\n")
    };
    std::fs::write(&file, benchmark("short", "300000") + &benchmark("long", "3000000")).unwrap();
    let made = measured(&dir, &["suite", file.to_str().unwrap(), "--samples", "5"]);
    assert_eq!(counted(&made), 10);
    let labels: Vec<&str> =
        made["parts"][0]["programs"].as_array().unwrap().iter().map(|p| p["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["short", "long"]);
    std::fs::write(&file, "[[benchmark]]\nname = 'a'\n").unwrap();
    let out = run(tare(&dir).args(["study", "suite"]).arg(&file), 2);
    assert!(text(&out.stderr).contains("suite.toml"), "{}", text(&out.stderr));
    run(tare(&dir).args(["study", "suite", "no-such-file.toml"]), 2);
}
