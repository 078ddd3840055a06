//! Common mistakes of other tools' users: each works, or is refused with a sentence; none silently measures something
//! else.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempDir;

/// `tare` in the folder with these arguments, whose result is JSON of two quick samples.
fn measure(dir: &TempDir, args: &[&str]) -> Value {
    let mut c = tare(dir);
    c.current_dir(dir.path()).args(["run", "-r", "2", "-w", "0", "--json", "--no-account"]).args(args);
    json(&mut c, 0)
}

fn labels(document: &Value) -> Vec<&str> {
    programs(document).iter().map(|p| p["label"].as_str().expect("a label")).collect()
}

fn programs(document: &Value) -> &Vec<Value> {
    document["report"]["run"]["plan"]["programs"].as_array().expect("programs")
}

/// Checks that `tare` fails with this code and measures nothing; returns its standard error.
#[track_caller]
fn refused(dir: &TempDir, args: &[&str]) -> String {
    let mut c: Command = tare(dir);
    let out = run(c.current_dir(dir.path()).args(args), 2);
    assert_eq!(text(&out.stdout), "", "{args:?}");
    text(&out.stderr)
}

#[test]
fn a_string_with_an_operator_is_run_by_a_shell() {
    let _beside = shared();
    let dir = folder();
    for (script, syntax) in [
        ("echo a; echo b > made", "the operator `;`"),
        ("true && echo b > made", "the operator `&&`"),
        ("echo b > made", "the redirection `>`"),
        ("cp sourc* made", "the file name pattern `*`"),
        ("cp \"$PWD\"/source made", "the expansion `$PWD`"),
        ("X=made sh -c 'echo > $X'", "the assignment `X=`"),
        ("export X; env > made", "the shell's own command `export`"),
    ] {
        std::fs::write(dir.path().join("source"), "x").expect("write");
        let _ = std::fs::remove_file(dir.path().join("made"));
        let mut c = tare(&dir);
        c.current_dir(dir.path()).args(["run", "-r", "1", "-w", "0", "--no-account", script]);
        let out = run(&mut c, 0);
        assert!(dir.path().join("made").exists(), "{script} did not do its work");
        let said = text(&out.stderr);
        let word = if script.starts_with("export") { "the shell's own command `export`" } else { syntax };
        assert!(said.contains("/bin/sh runs") && said.contains(word) && said.lines().count() == 1, "{script}: {said}");
    }
}

#[test]
fn the_start_of_the_shell_is_shown_and_not_subtracted() {
    let _beside = shared();
    let dir = folder();
    let with = measure(&dir, &["true; true"]);
    let shell = |document: &serde_json::Value| {
        let notes = document["report"]["run"]["notes"].as_array().expect("notes");
        notes.iter().find(|n| n["kind"] == "shell").map(|n| n["starts"][0].clone())
    };
    let start = shell(&with).expect("a note");
    assert_eq!(start["shell"], serde_json::json!(["/bin/sh"]));
    assert!(start["elapsed"].as_array().is_some_and(|e| !e.is_empty()), "{start}");
    let out = text(&run(tare(&dir).args(["show", "--full"]), 0).stdout);
    assert!(out.contains("/bin/sh -c :") && out.contains("median of"), "{out}");
    let without = measure(&dir, &["true"]);
    assert!(shell(&without).is_none());
}

#[test]
fn words_are_given_to_the_program_as_they_are() {
    let _beside = shared();
    let dir = folder();
    for args in [&["true 'a; b' \"c | d\" {a,b}"][..], &["--", "true", ";", "$HOME"]] {
        let found = measure(&dir, args);
        assert!(programs(&found)[0]["command"].get("argv").is_some(), "{args:?}: {found:#}");
    }
}

#[test]
fn no_shell_refuses_what_needs_one() {
    let _beside = shared();
    let dir = folder();
    for no_shell in [&["-N"][..], &["-S", "none"], &["-S", "bash", "-S", "none"], &["--shell=bash", "-N"]] {
        let said = refused(&dir, &[&["run"], no_shell, &["echo a | cat"]].concat());
        assert!(said.contains("needs a shell") && said.contains("the operator `|`"), "{no_shell:?}: {said}");
    }
    let found = measure(&dir, &["-N", "-S", "bash", "true"]);
    assert_eq!(programs(&found)[0]["command"]["shell"]["shell"][0], "bash", "the last one wins");
}

#[test]
fn names_are_never_misassigned() {
    let _beside = shared();
    let dir = folder();
    let scan = ["-L", "x", "1,2"];
    let names_shown = |names: &[&str], programs: &[&str]| {
        let args: Vec<&str> =
            names.iter().flat_map(|n| ["-n", n]).chain(scan).chain(programs.iter().copied()).collect();
        labels(&measure(&dir, &args)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names_shown(&[], &["true {x}", "echo"]), ["true 1", "echo (x = 1)", "true 2", "echo (x = 2)"]);
    assert_eq!(names_shown(&["a", "b {x}"], &["true {x}", "echo"]), ["a (x = 1)", "b 1", "a (x = 2)", "b 2"]);
    assert_eq!(names_shown(&["a", "b", "c", "d"], &["true {x}", "echo"]), ["a", "b", "c", "d"]);
    for names in [1, 3, 5] {
        let names = ["-n", "a"].repeat(names);
        let said = refused(&dir, &[&["run"], names.as_slice(), &scan, &["true {x}", "echo"]].concat());
        assert!(said.contains("expected 2") && said.contains("or 4"), "{said}");
    }
    let said = refused(&dir, &["run", "-n", "a", "-n", "b", "true"]);
    assert!(said.contains("2 names (-n) for 1 program:"), "{said}");
}

#[test]
fn series_come_in_the_order_of_hyperfine() {
    let _beside = shared();
    let dir = folder();
    let found = measure(&dir, &["-L", "x", "1,2", "-L", "y", "a,b", "true {x}{y}", "echo {x}{y}"]);
    let expected = ["true 1a", "echo 1a", "true 2a", "echo 2a", "true 1b", "echo 1b", "true 2b", "echo 2b"];
    assert_eq!(labels(&found), expected);
}

#[test]
fn a_parameter_is_not_left_unreplaced_for_the_reference() {
    let _beside = shared();
    let dir = folder();
    let scan = |more: &[&str]| {
        let mut c = tare(&dir);
        c.args(["run", "--no-account", "-w0", "-r1", "-L", "branch", "a,b", "true {branch}"]).args(more);
        c
    };
    for (more, hint) in [
        (&["--reference", "true", "-s", "true {branch}"][..], "another value"),
        (&["--reference", "true", "-p", "true {branch}"], "once per program, the reference first"),
        (&["--reference", "true", "-c", "true {branch}"], "another value"),
        (&["--reference", "true {branch}"], "another value"),
    ] {
        let said = text(&run(&mut scan(more), 2).stderr);
        assert!(said.contains("uses {branch}, which has no value for the reference program"), "{more:?}: {said}");
        assert!(said.contains(hint), "{more:?}: {said}");
    }
    run(&mut scan(&["--reference", "true", "-p", "true", "-p", "true {branch}"]), 0);
}

#[test]
fn hooks_are_counted_with_the_reference() {
    let _beside = shared();
    let dir = folder();
    for option in ["prepare", "conclude"] {
        let hooks = |n: usize| (0..n).map(|i| format!("--{option}=true {i}")).collect::<Vec<_>>();
        let with = |n: usize, more: &[&str]| {
            let hooks = hooks(n);
            hooks.iter().map(String::as_str).chain(more.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
        };
        let args = with(3, &["--reference", "true r", "true a", "true b"]);
        let found = measure(&dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let given: Vec<&str> = programs(&found).iter().map(|p| p[option].as_str().expect("a hook")).collect();
        assert_eq!(given, ["true 0", "true 1", "true 2"]);
        let args = with(4, &["-L", "x", "1,2", "true {x}", "echo {x}"]);
        let found = measure(&dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let given: Vec<&str> = programs(&found).iter().map(|p| p[option].as_str().expect("a hook")).collect();
        assert_eq!(given, ["true 0", "true 1", "true 2", "true 3"], "one for each series");
        let args = with(2, &["--reference", "true r", "true a", "true b"]);
        let args: Vec<&str> = ["run"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let said = refused(&dir, &args);
        assert!(
            said.contains(&format!("--{option} is given 2 times for 3 programs, the reference among them")),
            "{said}"
        );
    }
}

#[test]
fn values_may_begin_with_a_hyphen() {
    let _beside = shared();
    let dir = folder();
    let found = measure(&dir, &["-L", "opt", "-O1,-O2", "-P", "n", "-1", "0", "echo {opt} {n}"]);
    assert_eq!(labels(&found), ["echo -O1 -1", "echo -O1 0", "echo -O2 -1", "echo -O2 0"]);
}

#[test]
fn a_program_that_cannot_be_started_is_found_before_the_first_sample() {
    let _beside = shared();
    let dir = folder();
    let file = |name: &str, content: &str, mode: u32| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).expect("write");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("chmod");
    };
    file("plain", "", 0o644);
    file("astray", "#! /no/such -x\n", 0o755);
    for (args, what, cure) in [
        (&["nosuchprogram"][..], "no such program on PATH", "spelling"),
        (&["./nosuchprogram"], "no such file", "spelling"),
        (&["/"], "it is a folder", "name a program in it"),
        (&["./plain"], "not executable", "chmod +x ./plain"),
        (&["astray"], "such a file in the working directory", "./astray"),
        (&["./astray"], "its interpreter `/no/such` (after `#!`) does not exist", "first line"),
        (&["--", "cd", "/tmp"], "no such program", "-S default 'cd /tmp'"),
        (&["--", "sleep 0"], "no such program", "tare run 'PROG ARGS'"),
        (&["sleep", "0"], "`0` cannot be started", "tare run -- sleep 0"),
        (&["-S", "nosuchshell", "true"], "`nosuchshell` cannot be started", "-S bash"),
    ] {
        // The first program would leave a trace if anything was run.
        let said = refused(&dir, &[&["run", "--conclude", "touch ran"], args].concat());
        assert!(said.contains(what) && said.contains(cure) && said.lines().count() == 2, "{args:?}: {said}");
        assert!(!dir.path().join("ran").exists(), "{args:?} was run");
    }
}

#[test]
fn a_setup_may_make_the_program() {
    let _beside = shared();
    let dir = folder();
    let make = "printf '#!/bin/sh\\n' > prog && chmod +x prog";
    let found = measure(&dir, &["-s", make, "./prog"]);
    assert_eq!(found["samples"].as_array().expect("samples").len(), 2);
    let mut c = tare(&dir);
    let out = run(c.current_dir(dir.path()).args(["run", "-r", "1", "-s", "true", "./other"]), 2);
    let said = text(&out.stderr);
    assert!(
        said.contains("could not be started") && said.contains("check that the setup or prepare command creates it"),
        "{said}"
    );
}

#[test]
fn without_a_command_programs_are_run() {
    let _beside = shared();
    let dir = folder();
    let path = dir.path().join("here");
    std::fs::write(&path, "#!/bin/sh\n").expect("write");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    for args in [
        &["true", "-r", "1"][..],
        &["-r", "1", "true"],
        &["-r", "1", "--", "true"],
        &["--", "true", "x"],
        &["true x", "true y", "-r", "1"],
        &["true; true", "-r1"],
        &["cd", "-r1"],
        &["./here", "-r1"],
        &["{x}", "-L", "x", "true", "-r1"],
    ] {
        let mut c = tare(&dir);
        run(c.current_dir(dir.path()).args(args), 0);
    }
    let mut c = tare(&dir);
    let stored = text(&run(c.current_dir(dir.path()).args(["list", "--json"]), 0).stdout);
    assert!(stored.contains("true"), "`list` is still a command: {stored}");
}

#[test]
fn a_mistyped_command_is_no_program() {
    let _beside = shared();
    let dir = folder();
    for args in [&["lsit"][..], &["lsit", "-r", "3"]] {
        let said = refused(&dir, args);
        assert!(said.contains("`lsit` is neither a command of tare nor a program on PATH"), "{said}");
        assert!(said.contains("did you mean `tare list`?"), "{said}");
    }
    assert!(refused(&dir, &["nosuchprogram"]).contains("neither a command"));
}
