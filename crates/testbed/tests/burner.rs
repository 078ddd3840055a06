//! What `burner` says of itself is what the kernel counts. Having such a test, `cargo test` also compiles the program for all others.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use std::process::Command;

/// CPU time of the children that were waited for, ns.
fn children() -> f64 {
    // SAFETY: plain data, filled in by the kernel.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid address.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) }, 0);
    let ns = |t: libc::timeval| t.tv_sec as f64 * 1e9 + t.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[test]
fn it_burns_what_it_says() {
    let truth = std::env::temp_dir().join(format!("tare-burner-{}", std::process::id()));
    let before = children();
    let status = Command::new(env!("CARGO_BIN_EXE_burner"))
        .args(["burn-self", "100"])
        .env("BURNER_TRUTH", &truth)
        .status()
        .expect("start burner");
    let counted = children() - before;
    assert!(status.success());
    let said = std::fs::read_to_string(&truth).expect("what it says");
    std::fs::remove_file(&truth).expect("remove");
    let words: Vec<&str> = said.split_whitespace().collect();
    let burnt: f64 = words[2].parse().expect("nanoseconds");
    assert!(burnt >= 100e6, "{said}");
    // After it has said so it only ends.
    assert!((counted - burnt).abs() < 20e6, "{counted} ns were counted, {burnt} said");
}
