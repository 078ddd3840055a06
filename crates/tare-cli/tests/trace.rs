//! `tare trace` on this machine: the tick, competitors, injected preemptions.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{alone, burner, folder, json, run, shared, tare, text};
use serde_json::Value;
use std::process::{Command, Stdio};

fn traced(arguments: &[&str]) -> Value {
    let dir = folder();
    json(tare(&dir).args(["trace", "--json"]).args(arguments), 0)
}

/// The kernel's tick by its own word: CLOCK_MONOTONIC_COARSE moves with it.
fn kernel_hz() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is valid for writing.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut t) };
    1e9 / t.tv_nsec as f64
}

#[test]
fn the_tick_is_the_kernels() {
    let _alone = alone();
    let hz = kernel_hz().round();
    // A neighbour on the host may hide the ticks of a while.
    let ticks: Vec<Value> = (0..6).map(|_| traced(&["--for", "400ms"])["summary"]["tick"]["hz"].clone()).collect();
    assert!(ticks.iter().any(|t| t.as_f64() == Some(hz)), "{hz}: {ticks:?}");
    assert!(ticks.iter().all(|t| t.is_null() || t.as_f64() == Some(hz)), "another tick was seen: {ticks:?}");
}

#[test]
fn competitors_take_their_share() {
    let _alone = alone();
    let share = |load: &str| {
        let d = traced(&["--for", "1s", "--load", load]);
        d["summary"]["active"].as_f64().unwrap()
    };
    for (load, most) in [("2", 0.62), ("4", 0.4)] {
        let active = share(load);
        let wanted = 1.0 / load.parse::<f64>().unwrap();
        assert!(active < most && active > wanted * 0.4, "load {load}: active {active}");
    }
}

/// A process that takes the CPU for 3 ms every 50 ms, and is let run at once: its bursts are in the trace.
#[test]
fn injected_preemptions_are_found() {
    let _alone = alone();
    let cpu = json(tare(&folder()).args(["trace", "--json", "--for", "1ms"]), 0)["made"]["cpu"].to_string();
    let mut c = Command::new(burner());
    let mut other = c.args(["pulse", "t-pulse", &cpu, "50", "3", "0"]).stdin(Stdio::piped()).spawn().unwrap();
    let d = traced(&["--for", "2s", "--cpu", &cpu]);
    other.kill().unwrap();
    other.wait().unwrap();
    let hz = d["trace"]["hz"].as_f64().unwrap();
    let taken: f64 = d["trace"]["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["duration"].as_f64().unwrap() / hz)
        .filter(|s| *s > 0.5e-3)
        .sum();
    // 40 bursts of 3 ms, some of them in parts.
    assert!(taken > 0.6 * 0.12, "{taken} s in gaps over half a millisecond, injected 0.12 s");
}

#[test]
fn shown_as_in_the_book() {
    let _shared = shared();
    let dir = folder();
    let out = run(tare(&dir).args(["trace", "--for", "50ms"]), 0);
    let shown = text(&out.stdout);
    assert!(shown.starts_with("A0\tTime\t0\t(0.00 ms),\tDuration\t"), "{shown}");
    assert!(shown.contains("active") && shown.contains("inactive"), "{shown}");
    let out = run(tare(&dir).args(["trace", "--summary", "--for", "10ms"]), 0);
    assert!(!text(&out.stdout).contains("A0\t"));
}

#[test]
fn bad_requests_are_named() {
    let dir = folder();
    let out = run(tare(&dir).args(["trace", "--cpu", "1000"]), 2);
    assert!(text(&out.stderr).contains("CPU 1000 is not one that tare may use"), "{}", text(&out.stderr));
    for bad in [&["--for", "0"][..], &["--for", "2h"], &["--load", "0"], &["--threshold", "-1"]] {
        run(tare(&dir).arg("trace").args(bad), 2);
    }
}
