//! `tare clocks` on this machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};

#[test]
fn every_mechanism_is_shown_with_its_cost() {
    let _shared = shared();
    let dir = folder();
    let document = json(tare(&dir).args(["clocks", "--json", "--for", "5ms", "--load", "3"]), 0);
    let mechanisms = document["clocks"]["mechanisms"].as_array().unwrap();
    let measured = |kind: &str| {
        let found = mechanisms.iter().find(|m| m["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        found["measured"]["value"].clone()
    };
    // A system call costs more than a reading in the program's own memory, and a file more than that.
    let latency = |kind: &str| measured(kind)["latency"].as_f64().unwrap();
    assert!(latency("monotonic") < latency("thread_cpu") && latency("thread_cpu") < latency("stat"));
    assert_eq!(document["choice"]["clock"], "thread_cpu");
    // Linux has 100 ticks of times(2) a second on every architecture that tare runs on, whatever the kernel's own tick.
    let bound = |name: &str| document["times"][name].as_f64().unwrap();
    // A hypervisor may keep one back.
    assert!(bound("low") < 101.0 && 99.0 < bound("high"), "{}", document["times"]);
    // The coarse clock shows the kernel's tick, one of those that Linux is built for.
    let tick = measured("monotonic_coarse")["resolution"].as_f64().unwrap();
    let near = |hz: f64| (tick / (1e9 / hz) - 1.0).abs() < 0.02;
    assert!([100.0, 250.0, 300.0, 1000.0].into_iter().any(near), "{tick} ns");
    let out = run(tare(&dir).args(["clocks", "--for", "100ns"]), 0);
    let shown = text(&out.stdout);
    assert!(shown.contains("K-best with the") && shown.contains("times in each trial"), "{shown}");
}

#[test]
fn a_load_needs_a_duration() {
    let dir = folder();
    for bad in
        [&["clocks", "--load", "3"][..], &["clocks", "--for", "soon"], &["clocks", "--for", "1ms", "--load", "0"]]
    {
        run(tare(&dir).args(bad), 2);
    }
}
