//! Hooks end to end: which build each sample timed, which shell ran them, and what a failing one gives.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{folder, run, shared, tare, text};
use std::path::Path;
use tempfile::TempDir;

/// Two "branches" and a place where the setup builds one of them.
fn branches() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder();
    for name in ["a", "b"] {
        let file = dir.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\necho {name}\n")).expect("write");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    }
    dir
}

fn lines(dir: &TempDir, name: &str) -> Vec<String> {
    std::fs::read_to_string(dir.path().join(name)).expect("file").lines().map(str::to_owned).collect()
}

fn options(command: &mut std::process::Command, folder: &Path, more: &[&str]) {
    command.current_dir(folder).args(["run", "-w1", "-r2", "--db", "none", "--no-images", "--no-account"]).args(more);
}

#[test]
fn every_series_times_its_own_build() {
    let _lock = shared();
    let dir = branches();
    let mut command = tare(&dir);
    let more = ["-L", "branch", "a,b", "-s", "cp {branch} prog", "-c", "echo {branch} >> cleaned; rm prog"];
    options(&mut command, dir.path(), &more);
    let out = run(command.args(["--output", "said", "./prog"]), 0);
    assert_eq!(lines(&dir, "said"), ["a", "a", "a", "b", "b", "b"]);
    assert_eq!(lines(&dir, "cleaned"), ["a", "b"]);
    let said = text(&out.stderr);
    assert_eq!(
        said.lines().filter(|l| l.contains("one after the other, each after its own setup")).count(),
        1,
        "{said}"
    );
}

#[test]
fn an_order_that_times_the_last_build_is_refused() {
    let _lock = shared();
    let dir = branches();
    for order in ["rounds", "random", "auto", "duet"] {
        let mut command = tare(&dir);
        options(&mut command, dir.path(), &["--order", order, "-L", "branch", "a,b", "-s", "cp {branch} prog"]);
        let said = text(&run(command.args(["--output", "said", "./prog"]), 2).stderr);
        assert!(said.contains("--order sequential") && said.contains("--independent-setup"), "{said}");
        assert!(!dir.path().join("said").exists() && !dir.path().join("prog").exists());
    }
    // Builds in separate folders can be timed in rounds with --independent-setup.
    let mut command = tare(&dir);
    options(
        &mut command,
        dir.path(),
        &["--order", "rounds", "-L", "branch", "a,b", "-s", "cp {branch} prog-{branch}", "--independent-setup"],
    );
    run(command.args(["--output", "said", "./prog-{branch}"]), 0);
    assert_eq!(lines(&dir, "said"), ["a", "b", "a", "b", "a", "b"]);
    // One setup for all undoes nothing.
    let mut command = tare(&dir);
    options(&mut command, dir.path(), &["--order", "rounds", "-s", "cp a prog; cp b other"]);
    run(command.args(["--output", "both", "./prog", "./other"]), 0);
    assert_eq!(lines(&dir, "both"), ["a", "b", "a", "b", "a", "b"]);
}

#[test]
fn hooks_run_by_the_chosen_shell_and_see_the_iteration() {
    let _lock = shared();
    let dir = branches();
    let mut command = tare(&dir);
    let more = [
        "-S",
        "bash --norc",
        "-s",
        "[[ $BASH_VERSION ]] && echo setup >> log",
        "-p",
        "echo p $HYPERFINE_ITERATION >> log",
    ];
    options(&mut command, dir.path(), &more);
    run(command.arg("echo $TARE_ITERATION $HYPERFINE_ITERATION >> log"), 0);
    let expected = ["setup", "p warmup-0", "warmup-0 warmup-0", "p 0", "0 0", "p 1", "1 1"];
    assert_eq!(lines(&dir, "log"), expected);
    let mut command = tare(&dir);
    options(&mut command, dir.path(), &["-p", "[[ x ]]", "true"]);
    let refused = run(&mut command, 1);
    assert!(text(&refused.stdout).contains("[[") || text(&refused.stderr).contains("[["));
}

#[test]
fn a_failing_cleanup_gives_exit_code_1() {
    let _lock = shared();
    let dir = branches();
    let mut command = tare(&dir);
    options(&mut command, dir.path(), &["-c", "echo went wrong >&2; exit 3", "true"]);
    let out = run(&mut command, 1);
    let said = text(&out.stderr);
    assert!(said.contains("exit status 3") && said.contains("went wrong"), "{said}");
}

#[test]
fn each_program_has_its_own_output() {
    let _lock = shared();
    let dir = branches();
    let mut command = tare(&dir);
    let rounds = &["--order", "rounds", "--output", "first", "--output", "null", "--output", "third"];
    options(&mut command, dir.path(), rounds);
    run(command.args(["echo 1", "echo 2", "echo 3"]), 0);
    assert_eq!((lines(&dir, "first"), lines(&dir, "third")), (vec!["1".to_owned(); 3], vec!["3".to_owned(); 3]));
    let mut command = tare(&dir);
    options(&mut command, dir.path(), &["--output", "first", "--output", "null"]);
    let said = text(&run(command.args(["echo 1", "echo 2", "echo 3"]), 2).stderr);
    assert!(said.contains("--output is given 2 times for 3 programs"), "{said}");
}
