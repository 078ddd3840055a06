//! `tare fit`: programs whose growth is known.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{alone, burner, folder, json, run, shared, tare, text};
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

/// `tare fit 'burner ROLE {n}'`.
fn fit(dir: &TempDir, role: &str, sizes: [&str; 2]) -> Command {
    let mut c = tare(dir);
    c.args(["fit", "-r", "4", "--no-account", "--no-images", "--points", "9", "-P", "n"]).args(sizes);
    c.arg(format!("{} {role} {{n}}", burner()));
    c
}

fn agreeing(document: &Value) -> Vec<&str> {
    let all = document["fit"]["complexity"]["agreeing"].as_array().unwrap_or_else(|| panic!("{document:#}"));
    all.iter().map(|g| g.as_str().unwrap()).collect()
}

/// The program is measured until two of three measurements agree on whether it grows so: other work on the machine may bend a curve,
/// but not most of them.
#[track_caller]
fn grows(role: &str, sizes: [&str; 2], one_of: &[&str], power: (f64, f64)) {
    let _lock = alone();
    let dir = folder();
    let mut seen = Vec::new();
    let (mut like, mut unlike) = (0, 0);
    while like < 2 && unlike < 2 {
        let document = json(fit(&dir, role, sizes).arg("--json"), 0);
        let found = document["fit"]["complexity"]["power"]["power"].as_f64();
        let simplest = document["simplest"].as_str().unwrap_or_default().to_owned();
        let fits = one_of.contains(&simplest.as_str()) && found.is_some_and(|p| (power.0..=power.1).contains(&p));
        seen.push((simplest, found, agreeing(&document).join(", ")));
        if fits {
            like += 1;
        } else {
            unlike += 1;
        }
    }
    assert!(like > unlike, "{role}: expected {one_of:?} and a power in {power:?}, found {seen:?}");
}

#[test]
#[ignore = "slow: two or three measurements of 9 sizes (make slow)"]
fn insertion_sort_is_quadratic() {
    grows("insertion-sort", ["400", "25000"], &["quadratic", "quadratic_log"], (1.8, 2.2));
}

/// Where it leaves a cache, it takes longer for each element: a free power is above 1.
#[test]
#[ignore = "slow: two or three measurements of 9 sizes (make slow)"]
fn heap_sort_is_no_more_than_slightly_above_linear() {
    grows("heap-sort", ["3000", "1000000"], &["linear", "linear_log"], (0.95, 1.4));
}

#[test]
#[ignore = "slow: two or three measurements of 9 sizes (make slow)"]
fn the_product_of_matrices_is_cubic() {
    grows("matrix-product", ["40", "600"], &["cubic", "quadratic_log"], (2.6, 3.4));
}

#[test]
#[ignore = "slow: two or three measurements of 9 sizes (make slow)"]
fn binary_search_is_slower_than_any_root() {
    grows("binary-search", ["100", "100000000"], &["logarithm"], (0.0, 0.4));
}

/// φⁿ: no power, and among the classes only the exponential one comes near at large n.
#[test]
fn naive_fibonacci_grows_faster_than_any_power() {
    let _lock = alone();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(["fit", "-r", "3", "--no-account", "--no-images", "--json", "-L", "n", "20,22,24,26,28,30,32,34"]);
    let document = json(c.arg(format!("{} fibonacci {{n}}", burner())), 0);
    let slopes = document["fit"]["complexity"]["slopes"].as_array().unwrap();
    let last = slopes.last().unwrap()["slope"].as_f64().unwrap();
    // n ln φ at n = 33: 15.9, less while the start counts.
    assert!((9.0..20.0).contains(&last), "{document:#}");
    assert!(agreeing(&document).iter().all(|g| !["constant", "linear", "linear_log", "quadratic"].contains(g)));
}

#[test]
fn an_expected_class_is_a_test() {
    let _lock = alone();
    let dir = folder();
    let sizes = ["400", "12000"];
    let rejected = run(fit(&dir, "insertion-sort", sizes).args(["--expect", "n"]), 1);
    let said = text(&rejected.stdout);
    assert!(said.contains("expected n: the data reject it"), "{said}");
    // The stored run is an ordinary one, and is analysed again without measuring.
    let shown = json(tare(&dir).args(["show", "1", "--json"]), 0);
    assert_eq!(shown["report"]["run"]["plan"]["order"], "random");
    assert_eq!(shown["report"]["series"].as_array().unwrap().len(), 9);
    let svg = dir.path().join("growth.svg");
    let again = run(tare(&dir).args(["fit", "--from", "1", "--expect", "log n", "--svg"]).arg(&svg), 1);
    assert!(text(&again.stdout).contains("expected log n: the data reject it"));
    assert!(std::fs::read_to_string(svg).unwrap().contains("<svg"));
    let by = json(tare(&dir).args(["fit", "--from", "1", "--by", "elapsed", "--json"]), 0);
    assert_eq!((by["fit"]["measure"].as_str(), by["fit"]["run"].as_i64()), (Some("et"), Some(1)));
}

#[test]
fn what_does_not_grow_is_constant() {
    let _lock = alone();
    let dir = folder();
    let found = |_: i32| {
        let mut c = fit(&dir, "constant", ["10", "100000"]);
        let document: Value =
            serde_json::from_slice(&c.args(["--json", "--expect", "n^2"]).output().unwrap().stdout).unwrap();
        document["simplest"].as_str().unwrap_or_default().to_owned()
    };
    let mut all: Vec<String> = (0..2).map(found).collect();
    if all.iter().any(|g| g != "constant") {
        all.push(found(2));
    }
    assert!(all.iter().filter(|g| *g == "constant").count() >= 2, "{all:?}");
}

#[test]
fn instructions_need_hardware_that_counts_them() {
    let _lock = shared();
    let dir = folder();
    let by = ["--by", "instructions"];
    let mut c = tare(&dir);
    c.args(["fit", "-r", "1", "-w", "0", "--no-images", "--json", "-L", "n", "1,2,3,4,5", "true {n}"]).args(by);
    let out = c.output().unwrap();
    let said = text(&out.stderr);
    match out.status.code() {
        // Before anything runs, with the reason.
        Some(6) => {
            assert!(said.contains("--by instructions: not ") && said.contains("--by cpu"), "{said}");
            assert!(!dir.path().join("tare.db").exists(), "something ran");
        }
        Some(0) => {
            let document: Value = serde_json::from_slice(&out.stdout).unwrap();
            assert_eq!(document["fit"]["measure"], "instructions");
        }
        other => panic!("{other:?}: {said}"),
    }
    let run_sizes = ["run", "-r", "1", "-w", "0", "--no-account", "--no-images", "-L", "n", "1,2,3,4,5", "true {n}"];
    run(tare(&dir).args(run_sizes), 0);
    let out = run(tare(&dir).args(["fit", "--from", "last"]).args(by), 6);
    let said = text(&out.stderr);
    assert!(said.contains("no size has a known number of instructions: not measured: "), "{said}");
    let mut c = tare(&dir);
    c.args(["fit", "--no-account", "-L", "n", "1,2,3,4,5", "true {n}"]).args(by);
    assert!(text(&run(&mut c, 2).stderr).contains("--no-account"));
}

#[test]
fn wrong_uses_are_refused_before_anything_runs() {
    let _lock = shared();
    let dir = folder();
    for (args, said) in [
        (&["fit", "true {n}"][..], "expected one parameter"),
        (&["fit", "-P", "n", "10", "5", "true {n}"], "1 ≤ MIN < MAX"),
        (&["fit", "-P", "n", "0", "5", "true {n}"], "1 ≤ MIN < MAX"),
        (&["fit", "-L", "n", "1,2,3", "true {n}"], "3 sizes"),
        (&["fit", "-L", "n", "1,2,3,4,x", "true {n}"], "`x` is not a size"),
        (&["fit", "-P", "n", "10", "1000", "true"], "has {n}"),
        (&["fit", "-P", "n", "10", "1000", "true {n}", "false {n}"], "2 programs"),
        (&["fit", "-P", "n", "10", "1000", "--order", "duet", "true {n}"], "--order"),
        (&["fit", "-P", "n", "10", "1000", "--control", "true {n}"], "--control"),
        (&["fit", "-P", "n", "10", "1000"], "no program"),
        (&["fit", "-P", "n", "10", "1000", "--expect", "n!", "true {n}"], "n log n"),
    ] {
        let out = run(tare(&dir).args(args), 2);
        assert!(text(&out.stderr).contains(said), "{args:?}: {}", text(&out.stderr));
    }
    run(tare(&dir).args(["run", "-r", "1", "-w", "0", "--no-account", "true"]), 0);
    let out = run(tare(&dir).args(["fit", "--from", "1"]), 2);
    assert!(text(&out.stderr).contains("no parameter with several values"), "{}", text(&out.stderr));
    let help = text(&run(tare(&dir).args(["fit", "--help"]), 0).stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("in even ratios") && help.contains("6 the times cannot tell"), "{help}");
}
