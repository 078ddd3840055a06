//! Wrong input and output that cannot be written: a sentence and an exit code, never silence.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text, via};
use std::fs::File;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A `tare` whose standard output is a full disk.
fn on_a_full_disk<'a>(c: &'a mut Command, args: &[&str]) -> &'a mut Command {
    c.args(args).stdout(File::options().write(true).open("/dev/full").expect("/dev/full"))
}

fn stored(dir: &TempDir) {
    run(tare(dir).args(["run", "-r", "1", "-w", "0", "true"]), 0);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let _beside = shared();
    let dir = folder();
    stored(&dir);
    for args in [
        &["run", "-r", "1", "true"][..],
        &["run", "-r", "1", "--json", "true"],
        &["run", "-r", "1", "--export-markdown", "-", "true"],
        &["run", "-r", "1", "--export-csv", "-", "true"],
        &["list"],
        &["list", "--json"],
        &["show"],
        &["show", "--json"],
        &["export", "last"],
        &["doctor", "--only", "ntp"],
        &["completions", "bash"],
        &["work", "sort", "10"],
    ] {
        let mut c = tare(&dir);
        let out = run(on_a_full_disk(&mut c, args), 4);
        let said = text(&out.stderr);
        assert!(said.contains("write") && said.contains("No space left on device"), "{args:?}: {said}");
    }
}

#[test]
fn a_closed_output_is_an_error() {
    let _beside = shared();
    let dir = folder();
    stored(&dir);
    for args in ["run -r 1 true", "run -r 1 --json true", "list", "show --json", "export last", "completions bash"] {
        let mut c = via(&dir, &["sh", "-c", "exec \"$@\" >&-", "sh"]);
        let said = text(&run(c.args(args.split(' ')), 4).stderr);
        assert!(said.contains("write to standard output: it is closed"), "{args}: {said}");
    }
    let mut c = via(&dir, &["sh", "-c", "exec \"$@\" >&-", "sh"]);
    run(c.args(["run", "-r", "1", "--style", "none", "true"]), 0);
}

#[test]
fn a_failed_program_stays_reported_on_a_full_disk() {
    let _beside = shared();
    let dir = folder();
    let mut c = tare(&dir);
    let said = text(&run(on_a_full_disk(&mut c, &["run", "-r", "1", "false"]), 4).stderr);
    assert!(said.contains("exit status 1") && said.contains("No space left on device"), "{said}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let _beside = shared();
    let dir = folder();
    stored(&dir);
    for args in [&["list"][..], &["show", "--json"], &["export", "last"], &["completions", "zsh"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let out = run(tare(&dir).args(args).stdout(Stdio::from(writer)), 0);
        assert_eq!(text(&out.stderr), "", "{args:?}");
    }
}

#[test]
fn wrong_arguments_are_refused_with_a_sentence() {
    let _beside = shared();
    let dir = folder();
    for (args, what) in [
        (&["-S", "default", ""][..], "the command is an empty string"),
        (&["-N", ""], "the command is an empty string"),
        (&["   "], "the command is an empty string"),
        (&["-S", "", "true"], "--shell: expected"),
        (&["-S", "default", "echo 'a"], "Unterminated quoted string"),
        (&["-S", "bash", "if true"], "unexpected end of file"),
        (&["echo 'a"], "a quote is not closed in `echo 'a`"),
        (&["-L", "", "a,b", "true"], "`` is not a valid parameter name"),
        (&["-P", "t", "0", "1", "-D", "0.1x", "true"], "`0.1x` is not a number"),
        (&["-P", "t", "0", "1", "-D", "-1", "true"], "a positive step"),
        (&["-r", "-5", "true"], "-5 is not in 1..="),
        (&["-w", "-5", "true"], "invalid value '-5'"),
        (&["--sigma", "-1", "true"], "expected a positive number"),
        (&["--export-csv", "out", "--export-json", "out", "true"], "two exports go to one file"),
        (&["--export-csv", "out", "--export-json", "./out", "true"], "two exports go to one file"),
        (&["--export-csv", "-", "--json", "true"], "more than one export goes to standard output"),
    ] {
        let mut c = tare(&dir);
        let out = run(c.current_dir(dir.path()).arg("run").args(args), 2);
        let said = text(&out.stderr);
        assert!(said.contains(what), "{args:?}: {said}");
        assert_eq!(text(&out.stdout), "", "{args:?}");
    }
}

#[test]
fn steps_of_any_decimals_are_exact() {
    let _beside = shared();
    let dir = folder();
    let mut c = tare(&dir);
    c.args([
        "run",
        "-r",
        "1",
        "-w",
        "0",
        "--no-account",
        "--json",
        "-P",
        "t",
        "0",
        "1",
        "-D",
        "0.3333333333",
        "echo {t}",
    ]);
    let found = json(&mut c, 0);
    let programs = found["report"]["run"]["plan"]["programs"].as_array().expect("programs");
    let values: Vec<&str> = programs.iter().map(|p| p["parameters"]["t"].as_str().expect("a value")).collect();
    assert_eq!(values, ["0.0000000000", "0.3333333333", "0.6666666666", "0.9999999999"]);
}

#[test]
fn an_empty_name_of_the_store_is_none() {
    let _beside = shared();
    let dir = folder();
    run(tare(&dir).env("TARE_DB", "").args(["run", "-r", "1", "true"]), 0);
    assert!(dir.path().join("tarebench/tare.db").exists(), "the default store");
    let out = run(tare(&dir).env("TARE_DB", "").arg("list"), 0);
    assert!(text(&out.stdout).contains("true"), "{}", text(&out.stdout));
}

#[test]
fn failures_are_one_line_with_a_hint() {
    let _beside = shared();
    let dir = folder();
    for (args, which) in [
        (&["false"][..], "`false` failed in warm-up 1: exit status 1"),
        (&["-w", "0", "false"], "`false` failed in sample 1: exit status 1"),
        (&["--style", "none", "-w", "0", "false"], "`false` failed in sample 1: exit status 1"),
        (&["--style", "none", "false"], "`false` failed in warm-up 1: exit status 1"),
    ] {
        let said = text(&run(tare(&dir).args(["run", "-r", "1"]).args(args), 1).stderr);
        assert!(
            said.contains(which)
                && said.lines().count() == 1
                && said.contains("with -i")
                && said.contains("--show-output"),
            "{args:?}: {said}"
        );
    }
    let out = run(tare(&dir).args(["run", "-r", "1", "--style", "none", "-i", "false"]), 0);
    assert_eq!((text(&out.stdout), text(&out.stderr)), (String::new(), String::new()));
}

#[test]
fn help_shows_only_options_that_have_an_effect() {
    let dir = folder();
    let has = |command: &str, option: &str| text(&run(tare(&dir).args([command, "--help"]), 0).stdout).contains(option);
    for command in ["list", "clocks", "doctor", "trace", "noise"] {
        for option in ["--sort", "--account", "--time-unit"] {
            assert!(!has(command, option), "{command} {option}");
            let out = run(tare(&dir).args([command, option]), 2);
            assert!(text(&out.stderr).contains("unexpected argument"), "{command} {option}");
        }
        assert!(has(command, "--style"), "{command}");
    }
    for (command, expected) in [("noise", true), ("run", true), ("list", false), ("clocks", false)] {
        assert_eq!(has(command, "--full"), expected, "{command} --full");
    }
    assert!(has("run", "--sort") && has("run", "--account") && has("run", "--time-unit"));
}

/// `tare` alone, without the larger programs: what needs them says so, everything else goes on.
#[test]
fn what_needs_another_program_names_it() {
    let _beside = shared();
    let dir = folder();
    let alone = dir.path().join("tare");
    std::fs::copy(common::TARE, &alone).expect("a copy of the command");
    let call = |words: &[&str], code: i32| {
        let mut c = Command::new(&alone);
        c.args(words).env("TARE_DB", dir.path().join("tare.db")).env("PATH", dir.path());
        run(&mut c, code)
    };
    for (program, words) in [
        ("lab", &["lab", "status"][..]),
        ("lab", &["lab", "--help"]),
        ("lab", &["list", "--db", "postgresql://nobody@nowhere/lab"]),
        ("lab", &["run", "--push", "service=lab", "/bin/true"]),
        ("lab", &["pull", "1", "--from", "postgres://nobody@nowhere/lab"]),
        ("papers", &["study"]),
        ("papers", &["help", "study"]),
        ("papers", &["noise", "--published", "--for", "1s"]),
    ] {
        let said = text(&call(words, 2).stderr);
        let expected = [format!("need the program tare-{program}"), format!("cargo install tarebench-{program}")];
        assert!(expected.iter().all(|e| said.contains(e)), "{said}");
    }
    // The words of a measured program are its own.
    call(&["run", "-w0", "-r1", "--", "/bin/echo", "postgresql://nobody@nowhere/lab"], 0);
    let completions = text(&call(&["completions", "bash"], 0).stdout);
    assert!(completions.contains("lab"));
}
