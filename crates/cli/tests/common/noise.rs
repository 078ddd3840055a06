//! What the tests of `tare noise` share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use super::common::{is_root, skip, tare, text};
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

pub const SHORT: [&str; 3] = ["noise", "--calibrations", "30"];

pub fn noise(dir: &TempDir) -> Command {
    let mut c = tare(dir);
    c.args(SHORT);
    c
}

pub fn cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    let range = |r: &str| {
        let (a, b) = r.split_once('-').unwrap_or((r, r));
        a.parse::<u32>().unwrap()..=b.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

pub fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is no number"))
}

/// Needs root, and a kernel or cgroup that allows real-time tasks.
pub fn fifo_allowed(dir: &TempDir) -> bool {
    if !is_root() {
        skip("real-time priorities need root");
        return false;
    }
    let out = noise(dir).args(["--grain", "10us", "--phases", "10", "--sched", "fifo:1"]).output().unwrap();
    if out.status.code() == Some(4) && text(&out.stderr).contains("real-time priorities are not permitted") {
        skip(&text(&out.stderr));
        return false;
    }
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    true
}

pub fn children(pid: u32) -> Vec<u32> {
    let all = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    all.split_whitespace().map(|p| p.parse().unwrap()).collect()
}

pub fn policy(pid: u32) -> i32 {
    // SAFETY: no memory involved.
    unsafe { libc::sched_getscheduler(pid as i32) & !libc::SCHED_RESET_ON_FORK }
}
