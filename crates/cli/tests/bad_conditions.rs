//! `tare gate`, `compare`, `history`, `study` and `fit` with an output or a store on a full disk, and without privileges.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{NOBODY, TARE, folder, is_root, run, shared, skip, text, via};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Five sizes of a program that takes none of them.
const SIZES: &[&str] = &["-L", "n", "1,2,3,4,5", "true {n}"];
/// Two folders with the same program; a threshold that noise does not reach.
const GATE: &[&str] =
    &["gate", "--base-dir", "../old", "--max-blocks", "6", "--threshold", "80%", "--measure", "elapsed", "true"];

/// `tare` in the folder of a gate's head, started by another program, if one is named.
fn started(dir: &TempDir, before: &[&str], args: &[&str]) -> Command {
    let mut c = via(dir, before);
    c.args(args).current_dir(dir.path().join("new")).env("XDG_CACHE_HOME", dir.path().join("cache"));
    c.env_remove("GITHUB_STEP_SUMMARY");
    c
}

/// The folders of a gate.
fn builds() -> TempDir {
    let dir = folder();
    for side in ["old", "new"] {
        let side = dir.path().join(side);
        std::fs::create_dir(&side).unwrap();
        std::fs::set_permissions(side, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    dir
}

/// Two runs, 1 and 2, and a gate of run 3.
fn stored(dir: &TempDir, before: &[&str]) {
    for _ in 0..2 {
        let options = ["run", "--style", "none", "-w0", "-r6"];
        run(started(dir, before, &options).args(SIZES), 0);
    }
    run(&mut started(dir, before, GATE), 0);
}

/// The failures that are reported; warnings are none.
fn failures(stderr: &str) -> usize {
    let told = stderr.lines().filter(|l| l.starts_with("tare: ") && !l.starts_with("tare: warning"));
    assert!(!stderr.contains("panicked"), "{stderr}");
    told.count()
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_the_result_is_stored() {
    let _lock = shared();
    let dir = builds();
    stored(&dir, &[]);
    for args in [
        &["compare", "1.1", "2.1"][..],
        &["compare", "1.1", "2.1", "--json"],
        &["compare", "1.1", "2.1", "--no-store"],
        &["history"],
        &["history", "--json"],
        &["study"],
        &["study", "--json"],
        &["study", "histogram", "--from", "1"],
        &["study", "show", "s1"],
        &["study", "show", "s1", "--json"],
        &["fit", "--from", "1"],
        &["fit", "--from", "1", "--json"],
        &["fit", "-r", "3", "-L", "n", "1,2,3,4,5", "true {n}"],
        GATE,
    ] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let out = run(started(&dir, &[], args).stdout(full), 4);
        let said = text(&out.stderr);
        assert!(said.contains("write to standard output: No space left on device"), "{args:?}: {said}");
        assert_eq!(failures(&said), 1, "{args:?}: {said}");
    }
    let list = text(&run(&mut started(&dir, &[], &["list"]), 0).stdout);
    for id in ["c1 ", "c2 ", "s1 ", "g1 ", "g2 ", " 4 ", " 5 "] {
        assert!(list.lines().any(|l| l.starts_with(id)), "{id:?} is not in {list}");
    }
}

/// One command of a script: its exit code, standard error, standard output.
struct Step {
    code: String,
    stderr: String,
    stdout: String,
}

/// Runs a script with a small file system at `$DISK`, in a mount namespace of its own. In it, `step ARGS` runs tare in the folder of
/// the head. `None` if nothing can be mounted.
fn on_a_disk(dir: &TempDir, size: &str, script: &str) -> Option<Vec<Step>> {
    let disk = dir.path().join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let (out, err) = (dir.path().join("out"), dir.path().join("err"));
    let step = format!(
        "step() {{ $TARE \"$@\" > {out} 2> {err}; echo \"== $?\"; cat {err}; echo '-- '; cat {out}; }}",
        out = out.display(),
        err = err.display()
    );
    let mount = format!("mount -t tmpfs -o size={size} none $DISK || exit 77");
    let mut c = Command::new("unshare");
    c.args(["--mount", "sh", "-c", &format!("{mount}\n{step}\n{script}")]);
    c.current_dir(dir.path().join("new")).env("TARE", TARE).env("DISK", &disk).env("TARE_DB", disk.join("tare.db"));
    c.env("XDG_DATA_HOME", dir.path()).env("HOME", dir.path()).env("XDG_CACHE_HOME", dir.path().join("cache"));
    c.env_remove("GITHUB_STEP_SUMMARY");
    let done = c.output().expect("unshare");
    if done.status.code() == Some(77) {
        return None;
    }
    let all = text(&done.stdout);
    let step = |part: &str| {
        let (code, rest) = part.split_once('\n').unwrap_or((part, ""));
        let (stderr, stdout) = rest.split_once("-- \n").unwrap_or_else(|| panic!("{all}{}", text(&done.stderr)));
        Step { code: code.to_owned(), stderr: stderr.to_owned(), stdout: stdout.to_owned() }
    };
    Some(all.split("== ").skip(1).map(step).collect())
}

/// The steps, each with its expected exit code; a failure is one sentence that names the full disk.
#[track_caller]
fn check(steps: &[Step], codes: &[&str]) {
    let found: Vec<&str> = steps.iter().map(|s| s.code.as_str()).collect();
    let said: Vec<&str> = steps.iter().map(|s| s.stderr.as_str()).collect();
    assert_eq!(found, codes, "{said:#?}");
    for step in steps.iter().filter(|s| s.code == "4") {
        assert_eq!(failures(&step.stderr), 1, "{}", step.stderr);
        assert!(step.stderr.contains("full") && step.stderr.contains("tare.db"), "{}", step.stderr);
    }
}

const SETUP: &str = "$TARE run --style none -w0 -r6 -L n 1,2,3,4,5 'true {n}' || exit 1
    $TARE run --style none -w0 -r6 -L n 1,2,3,4,5 'true {n}' || exit 1
    $TARE gate --base-dir ../old --max-blocks 6 --threshold 80% --measure elapsed true > /dev/null 2>&1 || exit 1";

#[test]
fn a_store_on_a_full_disk_loses_nothing() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to mount");
    }
    let dir = builds();
    let script = format!(
        "{SETUP}
        head -c 32M /dev/zero > $DISK/fill 2> /dev/null
        step compare 1.1 2.1
        step history
        step study histogram --from 1
        step fit --from 1
        step fit -r 3 -L n 1,2,3,4,5 'true {{n}}'
        step gate --base-dir ../old --max-blocks 6 --measure elapsed true
        rm $DISK/fill
        step list
        step compare 1.1 2.1
        step study histogram --from 1"
    );
    let Some(steps) = on_a_disk(&dir, "8m", &script) else { return skip("cannot mount") };
    check(&steps, &["4", "0", "4", "0", "4", "4", "0", "0", "0"]);
    // The answer is there though it could not be stored.
    assert!(steps[0].stdout.contains(" of run 2 "), "{}", steps[0].stdout);
    assert!(steps[0].stderr.contains("the comparison was not stored"), "{}", steps[0].stderr);
    let list = &steps[6].stdout;
    assert!(list.lines().any(|l| l.starts_with("g1 ")), "{list}");
    for absent in ["c1 ", "s1 ", "g2 ", " 4 "] {
        assert!(!list.lines().any(|l| l.starts_with(absent)), "{absent:?} is in {list}");
    }
}

#[test]
fn a_disk_that_becomes_full_ends_a_measurement_that_is_resumed_later() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to mount");
    }
    let dir = builds();
    let script = "step fit -w0 -r40 -L n 1,2,3,4,5 'true {n}'
        mount -o remount,size=60m $DISK
        step resume 1 --style none
        step fit --from 1
        mount -o remount,size=$(($(du -sk $DISK | cut -f1) + 700))k $DISK
        step gate --base-dir ../old --max-blocks 60 --threshold 0.01% --measure elapsed true
        mount -o remount,size=60m $DISK
        step resume g1
        step show g1 --json";
    let Some(steps) = on_a_disk(&dir, "800k", script) else { return skip("cannot mount") };
    assert_eq!(steps.len(), 6);
    check(&steps[..4], &["4", "0", "0", "4"]);
    // By such a threshold, noise may make it slower.
    assert!(["0", "5"].contains(&steps[4].code.as_str()), "{}: {}", steps[4].code, steps[4].stderr);
    check(&steps[5..], &["0"]);
    assert!(steps[0].stderr.contains("tare resume 1"), "{}", steps[0].stderr);
    assert!(steps[3].stderr.contains("stored; resume with: `tare resume g1"), "{}", steps[3].stderr);
    let gate: serde_json::Value = serde_json::from_str(&steps[5].stdout).unwrap();
    assert_eq!(gate["head"]["status"], "finished");
    let blocks = gate["gate"]["measured"][0]["logs"].as_array().map_or(0, Vec::len);
    assert!((6..=60).contains(&blocks), "{blocks}");
}

#[test]
fn a_plain_user_can_use_them() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to become another user");
    }
    let dir = builds();
    stored(&dir, NOBODY);
    for (args, says) in [
        (&["compare", "1.1", "2.1"][..], " of run 2 "),
        (&["history"], "true"),
        (&["study", "histogram", "--from", "1"], "Study s1"),
        (&["study", "show", "s1"], "Study s1"),
        (&["fit", "--from", "1"], "CPU time"),
        (&["fit", "-r", "3", "-L", "n", "1,2,3,4,5", "true {n}"], "CPU time"),
        (GATE, "true"),
    ] {
        let out = run(&mut started(&dir, NOBODY, args), 0);
        assert!(text(&out.stdout).contains(says), "{args:?}: {}", text(&out.stdout));
    }
    // Without the right to trace there is no net time, and the reason is given.
    let out = run(&mut started(&dir, NOBODY, &["fit", "--by", "net", "--from", "1"]), 6);
    assert!(text(&out.stderr).contains("no size has a known net time: not "), "{}", text(&out.stderr));
    // What is its own belongs to it.
    assert!(owned_by_nobody(&dir.path().join("tare.db")));
}

fn owned_by_nobody(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|m| m.uid() == 65534)
}
