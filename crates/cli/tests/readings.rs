//! The machine's factors around a run: required, read before and after, compared.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod common;

use common::*;

/// A factor can be required by its name, like a step; one that does not hold is named, and nothing is measured.
#[test]
fn a_factor_can_be_required() {
    let dir = folder();
    let out = run(tare(&dir).args(["run", "-r1", "--require", "turbo", "--", "true"]), 3);
    let stderr = text(&out.stderr);
    assert!(stderr.contains("required but not reached: turbo"), "{stderr}");
    let out = run(tare(&dir).args(["run", "-r1", "--require", "no-such-factor", "--", "true"]), 2);
    assert!(text(&out.stderr).contains("tare doctor"), "{}", text(&out.stderr));
    run(tare(&dir).args(["run", "-r1", "--require", "swappiness", "--style", "none", "--", "true"]), 0);
}

/// A change that the program itself makes on the machine is reported, with both values, and stored with the run.
#[test]
fn a_change_of_the_machine_is_told() {
    if !is_root() {
        return skip("needs root, to change a setting");
    }
    let path = "/proc/sys/vm/swappiness";
    let Ok(old) = std::fs::read_to_string(path) else { return skip("needs vm.swappiness") };
    let other = if old.trim() == "37" { "38" } else { "37" };
    let dir = folder();
    let script = format!("echo {other} > {path}");
    let out = tare(&dir).args(["run", "-w0", "-r1", "--", "sh", "-c", &script]).output();
    std::fs::write(path, &old).expect("put back");
    let stdout = text(&out.expect("tare").stdout);
    let told = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("The machine changed during the measurement"), "{stdout}");
    assert!(told.contains(&format!("swappiness: {} before, {other} after", old.trim())), "{stdout}");
    let shown = text(&run(tare(&dir).args(["show"]), 0).stdout);
    assert!(shown.contains("swappiness"), "kept with the run: {shown}");
}

/// What was read before the first sample is there after a SIGKILL, and a later session adds its own.
#[test]
fn readings_survive_a_kill_and_are_added_to() {
    let dir = folder();
    let marker = dir.path().join("marker");
    let script = format!("[ -e {0} ] || {{ touch {0}; kill -9 $PPID; }}", marker.display());
    let out = tare(&dir).args(["run", "-w0", "-r2", "--leave-running", "--", "sh", "-c", &script]).output();
    assert!(!out.expect("tare").status.success(), "tare was not killed");
    // What was noted, and when factors were read.
    let when = |args: &[&str]| -> Vec<String> {
        let document = json(tare(&dir).args(args), 0);
        let notes = document["report"]["run"]["notes"].as_array().expect("notes").clone();
        let readings = || notes.iter().filter(|n| n["kind"] == "reading");
        assert!(readings().all(|r| r["factors"].as_array().is_some_and(|f| f.len() > 20)));
        let of_interest = notes.iter().filter(|n| n["kind"] != "changed");
        of_interest.map(|n| n["when"].as_str().or(n["kind"].as_str()).expect("a text").to_owned()).collect()
    };
    assert_eq!(when(&["show", "--json"]), ["before_first"]);
    let all = when(&["resume", "--json"]);
    assert_eq!(all, ["before_first", "resumed", "before_first", "after_last"]);
    assert_eq!(when(&["show", "--json"]), all);
}

/// The machine's clocks are read around each sample; nothing happened to them here.
#[test]
fn each_sample_says_how_far_the_clocks_moved_apart() {
    let dir = folder();
    let document = json(tare(&dir).args(["run", "-w0", "-r1", "--json", "--", "true"]), 0);
    let shift = &only_sample(&document)["clock_shift"]["value"];
    for clock in ["suspended", "stepped"] {
        let ns = shift[clock].as_i64();
        assert!(ns.is_some_and(|ns| ns.abs() < 1_000_000), "{clock}: {shift}");
    }
}

/// Clock number, by its kernel number, in ns.
fn clock(number: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid timespec to write to.
    assert_eq!(unsafe { libc::clock_gettime(number, &mut t) }, 0);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Sets CLOCK_REALTIME to what it would have been, when dropped.
struct ClockKept {
    ahead_of_monotonic: i64,
}

impl ClockKept {
    fn new() -> ClockKept {
        ClockKept { ahead_of_monotonic: clock(libc::CLOCK_REALTIME) - clock(libc::CLOCK_MONOTONIC) }
    }
}

impl Drop for ClockKept {
    fn drop(&mut self) {
        let now = clock(libc::CLOCK_MONOTONIC) + self.ahead_of_monotonic;
        let t = libc::timespec { tv_sec: now / 1_000_000_000, tv_nsec: now % 1_000_000_000 };
        // SAFETY: a valid timespec to read from.
        let set = unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &t) };
        assert_eq!(set, 0, "the clock could not be set back: it is 2 s fast");
    }
}

/// Only with TARE_SET_CLOCK, on a machine where nothing else depends on the date: it sets the clock forward by 2 s for less than a second.
#[test]
#[ignore = "slow: only where the clock may be set (make slow)"]
fn a_clock_that_is_set_inside_a_sample_is_reported() {
    if std::env::var_os("TARE_SET_CLOCK").is_none() {
        eprintln!("skipped: TARE_SET_CLOCK is not set");
        return;
    }
    let _alone = alone();
    let dir = folder();
    let script = "import time; time.clock_settime(time.CLOCK_REALTIME, time.time() + 2)";
    let kept = ClockKept::new();
    let out = tare(&dir).args(["run", "-w0", "-r1", "--", "python3", "-c", script]).output();
    drop(kept);
    let off = ClockKept::new().ahead_of_monotonic;
    let stdout = text(&out.expect("tare").stdout);
    assert!(stdout.contains("The machine's clock was set forward by 2.00 s during sample 1."), "{stdout}");
    let document = json(tare(&dir).args(["show", "--json"]), 0);
    let shift = &only_sample(&document)["clock_shift"]["value"];
    println!("{stdout}{shift}\nCLOCK_REALTIME is {off} ns ahead of CLOCK_MONOTONIC again");
    assert!(shift["suspended"].as_i64().is_some_and(|ns| ns.abs() < 1_000_000), "{shift}");
}
