//! What hyperfine's own integration and execution-order tests ask of it, asked of `tare run`: a case for each of them.
//!
//! The cases are those of hyperfine 1.20 by subject. What differs by design is listed in docs/hyperfine.md; a case that needs one of
//! these differences set aside says so by its arguments.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use tempfile::TempDir;

/// One case on the order of executions. An argument that begins with `@` is a command which adds what follows to a log.
struct Order {
    name: &'static str,
    args: &'static [&'static str],
    log: &'static str,
}

const fn order(name: &'static str, args: &'static [&'static str], log: &'static str) -> Order {
    Order { name, args, log }
}

/// With one block of samples for each program and without the warm-up, as hyperfine has them unless asked.
const ORDERS: &[Order] = &[
    order("two programs, once", &["--runs=1", "@a", "@b"], "a b"),
    order("two programs, twice", &["--runs=2", "@a", "@b"], "a a b b"),
    order("warm-ups", &["--runs=2", "--warmup=3", "@a"], "a a a a a"),
    order("setup before each series", &["--runs=2", "--setup", "@s", "@a", "@b"], "s a a s b b"),
    order("prepare before each sample", &["--runs=2", "--prepare", "@p", "@a", "@b"], "p a p a p b p b"),
    order("conclude after each sample", &["--runs=2", "--conclude", "@c", "@a", "@b"], "a c a c b c b c"),
    order(
        "prepare and warm-ups",
        &["--warmup=2", "--runs=1", "--prepare", "@p", "@a", "@b"],
        "p a p a p a p b p b p b",
    ),
    order(
        "conclude and warm-ups",
        &["--warmup=2", "--runs=1", "--conclude", "@c", "@a", "@b"],
        "a c a c a c b c b c b c",
    ),
    order("cleanup once after each series", &["--runs=2", "--cleanup", "@x", "@a", "@b"], "a a x b b x"),
    order(
        "setup, prepare, cleanup",
        &["--warmup=1", "--runs=2", "--setup", "@s", "--prepare", "@p", "@a", "@b", "--cleanup", "@x"],
        "s p a p a p a x s p b p b p b x",
    ),
    order(
        "setup, prepare, conclude, cleanup",
        &[
            "--warmup=1",
            "--runs=2",
            "--setup",
            "@s",
            "--prepare",
            "@p",
            "@a",
            "@b",
            "--conclude",
            "@c",
            "--cleanup",
            "@x",
        ],
        "s p a c p a c p a c x s p b c p b c p b c x",
    ),
    order("one parameter", &["--runs=2", "--parameter-list", "n", "1,2,3", "@a{n}"], "a1 a1 a2 a2 a3 a3"),
    order(
        "two parameters",
        &["--runs=2", "--parameter-list", "n", "1,2,3", "--parameter-list", "l", "x,y", "@a{n}{l}"],
        "a1x a1x a2x a2x a3x a3x a1y a1y a2y a2y a3y a3y",
    ),
    order("reference first", &["--runs=1", "--reference", "@r", "@a", "@b"], "r a b"),
    order(
        "reference first, with a parameter",
        &["--runs=2", "--reference", "@r", "--parameter-list", "n", "1,2,3", "@a{n}"],
        "r r a1 a1 a2 a2 a3 a3",
    ),
    order("reference that is a program, too", &["--runs=1", "--reference", "@a", "@a", "@b"], "a a b"),
    order(
        "setup, prepare, reference, conclude, cleanup",
        &[
            "--warmup=1",
            "--runs=2",
            "--setup",
            "@s",
            "--prepare",
            "@p",
            "--reference",
            "@r",
            "@a",
            "@b",
            "--conclude",
            "@c",
            "--cleanup",
            "@x",
        ],
        "s p r c p r c p r c x s p a c p a c p a c x s p b c p b c p b c x",
    ),
    order(
        "prepare and conclude for each program",
        &[
            "--warmup=1",
            "--runs=2",
            "--setup",
            "@s",
            "--cleanup",
            "@x",
            "-p",
            "@p1",
            "@a",
            "-C",
            "@c1",
            "-p",
            "@p2",
            "@b",
            "-C",
            "@c2",
        ],
        "s p1 a c1 p1 a c1 p1 a c1 x s p2 b c2 p2 b c2 p2 b c2 x",
    ),
    order(
        "prepare and conclude for each program and the reference",
        &[
            "--warmup=1",
            "--runs=2",
            "--setup",
            "@s",
            "--cleanup",
            "@x",
            "-p",
            "@p0",
            "--reference",
            "@r",
            "-C",
            "@c0",
            "-p",
            "@p1",
            "@a",
            "-C",
            "@c1",
            "-p",
            "@p2",
            "@b",
            "-C",
            "@c2",
        ],
        "s p0 r c0 p0 r c0 p0 r c0 x s p1 a c1 p1 a c1 p1 a c1 x s p2 b c2 p2 b c2 p2 b c2 x",
    ),
];

/// What was executed with these arguments, in order.
fn executed(dir: &TempDir, args: &[&str]) -> String {
    let log = dir.path().join("log");
    let _ = std::fs::remove_file(&log);
    let command = |a: &&str| match a.strip_prefix('@') {
        Some(what) => format!("echo {what} >> {}", log.display()),
        None => (*a).to_owned(),
    };
    run(tare(dir).args(["run", "--no-account"]).args(args.iter().map(command)), 0);
    let log = std::fs::read_to_string(log).expect("the log");
    log.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn executions_come_in_the_same_order() {
    let _beside = shared();
    let dir = folder();
    for case in ORDERS {
        let warmup: &[&str] = if case.args.iter().any(|a| a.starts_with("--warmup")) { &[] } else { &["--warmup=0"] };
        let args = [&["--order", "sequential"], warmup, case.args].concat();
        assert_eq!(executed(&dir, &args), case.log, "{}", case.name);
    }
}

#[test]
fn by_default_programs_are_interleaved_after_a_warm_up() {
    let _beside = shared();
    let dir = folder();
    assert_eq!(executed(&dir, &["--order=rounds", "--runs=2", "@a", "@b"]), "a b a b a b");
    // Each round has its own order; of short programs a round holds several executions.
    let log = executed(&dir, &["--runs=6", "@a", "@b"]);
    let words: Vec<&str> = log.split_whitespace().collect();
    assert_eq!(((words.len() - 2) % 12, &words[..2]), (0, &["a", "b"][..]), "{log}");
    assert!(words.len() >= 14 && words.chunks(2).all(|round| round == ["a", "b"] || round == ["b", "a"]), "{log}");
}

/// One case on a whole call.
struct Case {
    args: &'static [&'static str],
    code: i32,
    /// In standard output, each.
    out: &'static [&'static str],
    /// In standard error, each.
    err: &'static [&'static str],
}

const fn works(args: &'static [&'static str], out: &'static [&'static str]) -> Case {
    Case { args, code: 0, out, err: &[] }
}

const fn fails(args: &'static [&'static str], code: i32, err: &'static [&'static str]) -> Case {
    Case { args, code, out: &[], err }
}

const CASES: &[Case] = &[
    works(&["--runs=2", "echo dummy benchmark"], &[]),
    works(&["--runs=1", "echo dummy benchmark"], &[]),
    works(&["--runs=1", "--show-output", "--shell=none", "echo 'hello world' argument2"], &["hello world argument2"]),
    fails(&["--command-name=a", "--command-name=b", "echo a"], 2, &["2 names (-n) for 1 program"]),
    works(&["--runs=1", "--prepare=echo a", "--prepare=echo b", "echo a", "echo b"], &[]),
    works(
        &["--runs=1", "--prepare=true", "--prepare=true", "--prepare=true", "--reference=echo r", "echo a", "echo b"],
        &[],
    ),
    fails(
        &["--runs=1", "--prepare=true", "--prepare=true", "echo a", "echo b", "echo c"],
        2,
        &["--prepare is given 2 times"],
    ),
    fails(
        &["--runs=1", "--prepare=true", "--prepare=true", "--reference=echo r", "echo a", "echo b"],
        2,
        &["--prepare is given 2 times for 3 programs"],
    ),
    works(&["--runs=1", "--conclude=echo a", "--conclude=echo b", "echo a", "echo b"], &[]),
    works(
        &[
            "--runs=1",
            "--conclude=true",
            "--conclude=true",
            "--conclude=true",
            "--reference=echo r",
            "echo a",
            "echo b",
        ],
        &[],
    ),
    fails(
        &["--runs=1", "--conclude=true", "--conclude=true", "echo a", "echo b", "echo c"],
        2,
        &["--conclude is given 2 times"],
    ),
    fails(
        &["--runs=1", "--conclude=true", "--conclude=true", "--reference=echo r", "echo a", "echo b"],
        2,
        &["--conclude is given 2 times for 3 programs"],
    ),
    fails(
        &["--parameter-list", "x", "1,2,3", "--parameter-list", "x", "a,b,c", "echo test"],
        2,
        &["parameter `x` is given twice"],
    ),
    fails(&["--runs=1", "no-such-program-b5d957"], 2, &["`no-such-program-b5d957` cannot be started"]),
    fails(&["--shell=none", "--runs=1", "no-such-program-b5d957"], 2, &["`no-such-program-b5d957` cannot be started"]),
    fails(&["--shell=none", "--runs=1", "false"], 1, &["exit status 1"]),
    fails(&["--runs=1", "--setup=no-such-program-b5d957", "echo test"], 1, &["setup command", "not found"]),
    fails(&["--runs=1", "--cleanup=no-such-program-b5d957", "echo test"], 1, &["cleanup command", "not found"]),
    fails(&["--prepare=no-such-program-b5d957", "echo test"], 1, &["prepare command", "not found"]),
    fails(&["--conclude=no-such-program-b5d957", "echo test"], 1, &["conclude command", "not found"]),
    fails(&["false"], 1, &["exit status 1"]),
    works(&["--runs=1", "--ignore-failure", "false"], &[]),
    works(&["--runs=1", "--ignore-failure=1", "exit 1"], &[]),
    fails(&["--runs=1", "--ignore-failure=1", "exit 2"], 1, &["exit status 2"]),
    works(&["--runs=1", "--ignore-failure=1,2,3", "exit 1"], &[]),
    works(&["--runs=1", "--ignore-failure=1,2,3", "exit 2"], &[]),
    works(&["--runs=1", "--ignore-failure=1,2,3", "exit 3"], &[]),
    fails(&["--runs=1", "--ignore-failure=1,2,3", "exit 4"], 1, &["exit status 4"]),
    works(&["--runs=1", "--ignore-failure=all-non-zero", "exit 5"], &[]),
    works(
        &["--runs=1", "--show-output", "--shell", "echo 'custom_shell' '--shell-arg'", "echo benchmark"],
        &["custom_shell --shell-arg -c echo benchmark"],
    ),
    works(&["--runs=1", "--input=input.txt", "--show-output", "cat"], &["This text is part of a file"]),
    fails(&["--runs=1", "--input=no-such-file.txt", "--show-output", "cat"], 2, &["--input no-such-file.txt"]),
    works(&["--runs=1", "--reference=echo r", "--reference-name=refabc123", "echo a", "echo b"], &["refabc123"]),
    works(
        &["--runs=2", "--parameter-list", "branch", "master,feature", "echo test", "--export-csv", "-"],
        &["echo test (branch = master)", "echo test (branch = feature)"],
    ),
];

#[test]
fn calls_end_as_under_hyperfine() {
    let _beside = shared();
    let dir = folder();
    std::fs::write(dir.path().join("input.txt"), "This text is part of a file\n").expect("write");
    for case in CASES {
        let mut c = tare(&dir);
        let ended = run(c.current_dir(dir.path()).args(["run", "--no-account"]).args(case.args), case.code);
        for (found, expected) in [(text(&ended.stdout), case.out), (text(&ended.stderr), case.err)] {
            for part in expected {
                assert!(found.contains(part), "{:?}: expected `{part}` in: {found}", case.args);
            }
        }
    }
}

#[test]
fn output_is_shown_once_for_each_execution() {
    let _beside = shared();
    let dir = folder();
    let args =
        ["run", "--warmup=0", "--runs=2", "--command-name=dummy", "--show-output", "--style=none", "echo 4fd47015"];
    let out = run(tare(&dir).args(args), 0);
    assert_eq!(text(&out.stdout), "4fd47015\n4fd47015\n");
}

/// A Markdown table as cells.
fn markdown(dir: &TempDir, args: &[&str]) -> Vec<Vec<String>> {
    let fixed = ["run", "--no-account", "--style=none", "--export-markdown", "-", "-w0", "-r2"];
    let out = text(&run(tare(dir).args(fixed).args(args), 0).stdout);
    let cells = |l: &str| l.split('|').map(|c| c.trim().replace('`', "")).filter(|c| !c.is_empty()).collect();
    out.lines().filter(|l| l.starts_with('|') && !l.contains("---")).map(cells).collect()
}

#[test]
fn the_time_unit_is_the_one_asked_for() {
    let _beside = shared();
    let dir = folder();
    for (unit, sign) in [("millisecond", "[ms]"), ("microsecond", "[µs]"), ("second", "[s]")] {
        let table = markdown(&dir, &["--time-unit", unit, "true"]);
        assert!(table[0].iter().any(|c| c.contains(sign)), "{unit}: {table:?}");
    }
}

#[test]
fn tables_are_sorted_as_asked() {
    let _beside = shared();
    let dir = folder();
    // Far enough apart by process time on any machine.
    let (slow, quick) = ("sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'", "true");
    let rows = |sort: &str| {
        let table = markdown(&dir, &[sort, slow, quick]);
        table[1..].iter().map(|r| r[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(rows("--sort=mean-time"), [quick, slow]);
    assert_eq!(rows("--sort=auto"), [slow, quick], "markup keeps the order of the command line");
    assert_eq!(rows("--sort=command"), [slow, quick]);
    assert_eq!(markdown(&dir, &[slow, quick]).len(), 3, "each program once, and nothing else on standard output");
}

#[test]
fn programs_are_compared_with_the_reference() {
    let _beside = shared();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(["run", "--no-account", "--json", "-w0", "-r2", "--reference=true r", "true a", "true b"]);
    let found = json(&mut c, 0);
    let comparisons = found["report"]["comparisons"].as_array().expect("comparisons");
    let pairs: Vec<_> = comparisons.iter().map(|c| (c["series"].as_u64(), c["reference"].as_u64())).collect();
    assert_eq!(pairs, [(Some(1), Some(0)), (Some(2), Some(0))]);
}

#[test]
fn all_programs_of_a_scan_are_run() {
    let _beside = shared();
    let dir = folder();
    let scan = ["--parameter-scan", "t", "30", "45", "--parameter-step-size", "5", "echo {t}"];
    let labels = |args: &[&str]| {
        let mut c = tare(&dir);
        let found = json(c.args(["run", "--no-account", "--json", "-w0", "-r1"]).args(args), 0);
        let programs = found["report"]["run"]["plan"]["programs"].as_array().expect("programs").clone();
        programs.iter().map(|p| p["label"].as_str().expect("a label").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&scan), ["echo 30", "echo 35", "echo 40", "echo 45"]);
    let with = [&["--reference=echo 25"][..], &scan].concat();
    assert_eq!(labels(&with), ["echo 25", "echo 30", "echo 35", "echo 40", "echo 45"]);
}

#[test]
fn the_number_of_samples_is_fixed() {
    let _beside = shared();
    let dir = folder();
    for args in [&["true"][..], &["--prepare=true", "--conclude=true", "true"]] {
        let mut c = tare(&dir);
        let found = json(c.args(["run", "--no-account", "--json"]).args(args), 0);
        let counted = found["samples"].as_array().expect("samples").iter().filter(|s| s["phase"] == "counted").count();
        assert_eq!(counted, 10, "{args:?}");
    }
}

#[test]
fn what_was_measured_before_a_failure_is_exported() {
    let _beside = shared();
    let dir = folder();
    let file = dir.path().join("results.md");
    run(tare(&dir).args(["run", "--runs=1", "--export-markdown"]).arg(&file).args(["true", "false"]), 1);
    assert!(std::fs::read_to_string(file).expect("the table").contains("true"));
}
