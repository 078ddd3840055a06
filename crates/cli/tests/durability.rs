//! What the store holds after a kill, on a full disk, and where it may not be written to.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Numbers below `most`, the same in every run of the test.
fn random(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

fn samples_of<'a>(document: &'a Value, phase: &str) -> Vec<&'a Value> {
    let all = document["samples"].as_array().expect("samples");
    all.iter().filter(|s| s["phase"] == phase).collect()
}

#[test]
fn killed_at_any_moment_every_complete_sample_is_there_and_resume_finishes() {
    killed(16, 42);
}

#[test]
#[ignore = "slow: a hundred kills, each with a resumption (make slow)"]
fn killed_at_any_of_a_hundred_moments_every_complete_sample_is_there() {
    killed(100, 43);
}

/// Killed at so many moments: the store opens, holds every sample that was complete (the next one's prepare command has
/// started), and resuming leads to exactly the requested counts.
fn killed(times: u32, mut state: u64) {
    let _lock = shared();
    let mut seen = [0; 2];
    for round in 0..times {
        let dir = folder();
        let log = dir.path().join("log");
        let prepare = format!("echo x >> {}", log.display());
        let mut c = tare(&dir);
        c.args(["run", "-w1", "-r8", "-p", &prepare, "true 1", "true 2"]);
        let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start");
        // Half of them at any time since the start, half of them at any time of a sample.
        if round % 2 == 0 {
            std::thread::sleep(Duration::from_micros(random(&mut state, 400_000)));
        } else {
            let lines = random(&mut state, 17) as usize;
            until("so many samples", || std::fs::read_to_string(&log).is_ok_and(|t| t.lines().count() > lines));
            std::thread::sleep(Duration::from_micros(random(&mut state, 15_000)));
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        // The prepare command of sample n runs only when all before it are durable.
        let begun = std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        let list = run(tare(&dir).args(["list", "--json"]), 0);
        let runs: Value = serde_json::from_slice(&list.stdout).expect("JSON");
        if runs.as_array().is_none_or(Vec::is_empty) {
            assert_eq!(begun, 0, "round {round}: samples were begun, and there is no run");
            seen[0] += 1;
            continue;
        }
        let document = json(tare(&dir).args(["show", "--json"]), 0);
        let there = document["samples"].as_array().expect("samples").len();
        assert!(there + 1 >= begun && there <= 18, "round {round}: {there} samples, {begun} begun");
        let finished = document["report"]["run"]["status"] == "finished";
        let resumed = tare(&dir).args(["resume", "--json"]).output().expect("resume");
        if finished {
            assert_eq!(resumed.status.code(), Some(2), "round {round}: {}", text(&resumed.stderr));
        } else {
            seen[1] += 1;
            assert_eq!(resumed.status.code(), Some(0), "round {round}: {}", text(&resumed.stderr));
        }
        let document = json(tare(&dir).args(["show", "--json"]), 0);
        assert_eq!(document["report"]["run"]["status"], "finished");
        let counted = samples_of(&document, "counted");
        for series in 0..2 {
            let mut indices: Vec<u64> = counted
                .iter()
                .filter(|s| s["series"] == series)
                .map(|s| s["index"].as_u64().expect("an index"))
                .collect();
            indices.sort_unstable();
            assert_eq!(indices, (0..8).collect::<Vec<_>>(), "round {round}, program {series}");
        }
        let mut seqs: Vec<u64> = document["samples"]
            .as_array()
            .expect("samples")
            .iter()
            .map(|s| s["seq"].as_u64().expect("a number"))
            .collect();
        seqs.sort_unstable();
        seqs.dedup();
        assert_eq!(Some(seqs.len()), document["samples"].as_array().map(Vec::len), "round {round}: numbers are unique");
    }
    eprintln!("killed before there was a run: {}, in it: {}", seen[0], seen[1]);
    assert!(seen[1] >= times * 2 / 5, "too few of the kills hit a run: {seen:?}");
}

/// A run that another tare works on is not resumed beside it.
#[test]
fn a_run_in_progress_is_not_resumed() {
    let _lock = shared();
    let dir = folder();
    let inside = Inside::start(&dir, &["run", "-w0", "-r1", "--json"]);
    let out = run(tare(&dir).args(["resume"]), 4).stderr;
    let out = text(&out);
    inside.finish();
    assert!(!out.is_empty() && !out.contains("panicked"), "{out}");
}

/// Runs a script with a small file system at `$1`, in a separate mount namespace, so that nothing of it remains.
fn on_small_disk(dir: &tempfile::TempDir, script: &str) -> std::process::Output {
    let place = dir.path().join("disk");
    std::fs::create_dir_all(&place).expect("mkdir");
    let script = format!("mount -t tmpfs -o size=300k none {0} || exit 77; {script}", place.display());
    let mut c = Command::new("unshare");
    c.args(["--mount", "sh", "-c", &script])
        .env("DISK", &place)
        .env("TARE", TARE)
        .env("TARE_DB", place.join("tare.db"));
    c.output().expect("unshare")
}

fn is_one_sentence(stderr: &str) -> bool {
    stderr.lines().filter(|l| l.starts_with("tare:")).count() == 1
        && stderr.lines().count() <= 3
        && !stderr.contains("panicked")
}

#[test]
fn a_full_disk_ends_the_run_with_one_sentence_and_what_was_measured() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to mount");
    }
    let dir = folder();
    let out = on_small_disk(&dir, "$TARE run -w0 -r2000 -- true");
    if out.status.code() == Some(77) {
        return skip("cannot mount");
    }
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(4), "{stderr}");
    assert!(is_one_sentence(&stderr), "{stderr}");
    assert!(stderr.contains("full") && stderr.contains("tare.db"), "{stderr}");
    assert!(stdout.contains("CPU"), "the samples so far are printed: {stdout}");
    // Full from the start.
    let out = on_small_disk(&dir, "head -c 1M /dev/zero > $DISK/fill 2>/dev/null; $TARE run -w0 -r2 -- true");
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{stderr}");
    assert!(is_one_sentence(&stderr), "{stderr}");
    // With room again, it is resumed.
    let script = "$TARE run -w0 -r1500 -- true >/dev/null 2>&1; \
                  mount -o remount,size=20m $DISK; $TARE resume --json";
    let out = on_small_disk(&dir, script);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(samples_of(&document, "counted").len(), 1500);
}

#[test]
fn a_store_that_may_not_be_written_to_is_refused_in_one_sentence() {
    let _lock = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
    if !is_root() {
        return skip("needs root, to mount");
    }
    let script = format!(
        "mount --bind {0} {0} && mount -o remount,ro,bind {0} || exit 77; $TARE show >/dev/null || exit 78; \
         $TARE run -w0 -r1 -- true",
        dir.path().display()
    );
    let mut c = Command::new("unshare");
    c.args(["--mount", "sh", "-c", &script]).env("TARE", TARE).env("TARE_DB", dir.path().join("tare.db"));
    let out = c.output().expect("unshare");
    if out.status.code() == Some(77) {
        return skip("cannot mount");
    }
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{stderr}");
    assert!(is_one_sentence(&stderr) && stderr.contains("--db"), "{stderr}");
    // As another user, whom the folder does not belong to.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    // A store is its user's alone; this one is shown to others.
    std::fs::set_permissions(dir.path().join("tare.db"), std::fs::Permissions::from_mode(0o644)).expect("chmod");
    let out = run(via(&dir, NOBODY).args(["run", "-w0", "-r1", "--", "true"]), 4);
    assert!(is_one_sentence(&text(&out.stderr)), "{}", text(&out.stderr));
    run(via(&dir, NOBODY).args(["show"]), 0);
    // Without a store, tare still measures.
    let mut c = via(&dir, NOBODY);
    let out = run(c.args(["run", "-w0", "-r1", "--db", "none", "--", "true"]), 0);
    assert!(text(&out.stdout).contains("CPU"));
}
