//! Real-time phases of `tare noise` on every CPU at once: the machine keeps running, and whatever happens to tare, no
//! real-time process remains.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/noise.rs"]
mod helpers;

use common::{alone, folder, is_root, json, lives, run, signal, skip, text, until};
use helpers::{children, cpus, fifo_allowed, noise, number, policy};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Of this process: the calling thread on one CPU.
fn pin(cpu: u32) {
    // SAFETY: a valid set of one CPU.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

#[test]
fn a_real_time_sweep_of_all_cpus_lets_others_go_on() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let done = AtomicBool::new(false);
    let gaps: Vec<Duration> = std::thread::scope(|scope| {
        let heart = |cpu: u32| {
            let done = &done;
            scope.spawn(move || {
                pin(cpu);
                let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                longest
            })
        };
        let hearts: Vec<_> = cpus().into_iter().map(heart).collect();
        let d =
            json(noise(&dir).args(["--sweep", "--for", "500ms", "--cpus", "all", "--sched", "fifo:50", "--json"]), 0);
        done.store(true, Ordering::Relaxed);
        assert_eq!(d["head"]["status"], "finished");
        let series = d["series"].as_array().unwrap();
        assert_eq!(series.len(), 7 * cpus().len());
        for s in series {
            let ended = s["ended"]["kind"].as_str().unwrap();
            assert!(["complete", "time_over"].contains(&ended) && s["phases"].as_u64().unwrap() > 0, "{s}");
        }
        hearts.into_iter().map(|h| h.join().unwrap()).collect()
    });
    // The longest that real-time phases of a grain can take without a break, and what a hypervisor takes; usually it is a second,
    // as the kernel keeps 50 ms of each for others.
    assert!(gaps.iter().all(|g| *g < Duration::from_secs(8)), "{gaps:?}");
    eprintln!("longest waits: {gaps:?}");
}

/// Real-time phases of a millisecond on all CPUs that run now; tare, and the processes.
fn running(dir: &TempDir, more: &[&str]) -> (Child, Vec<u32>) {
    let mut c = noise(dir);
    c.args(["--grain", "1ms", "--cpus", "all", "--sched", "fifo:50", "--no-explain"]).args(more);
    let child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let wanted = cpus().len();
    let mut found = Vec::new();
    until("real-time phases on all CPUs", || {
        found = children(child.id()).into_iter().filter(|p| policy(*p) == libc::SCHED_FIFO).collect();
        // Not those of the calibration, which is over sooner.
        std::thread::sleep(Duration::from_millis(300));
        found.len() == wanted && found.iter().all(|p| lives(*p))
    });
    (child, found)
}

#[test]
fn a_killed_tare_leaves_no_real_time_process() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let gone = || {
        let (mut child, found) = running(&dir, &["--phases", "600000"]);
        child.kill().unwrap();
        let killed = Instant::now();
        child.wait().unwrap();
        until("they are gone", || found.iter().all(|p| !lives(*p)));
        killed.elapsed()
    };
    // A hypervisor may hold it up, but not every time.
    let took: Vec<Duration> = (0..3).map(|_| gone()).collect();
    assert!(took.iter().any(|t| *t < Duration::from_secs(1)), "{took:?}");
}

#[test]
fn an_interrupt_keeps_what_all_cpus_have_measured() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let (child, found) = running(&dir, &["--phases", "600000", "--json"]);
    signal(child.id(), libc::SIGINT);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    assert!(found.iter().all(|p| !lives(*p)));
    let d: Value = serde_json::from_slice(&out.stdout).unwrap();
    let series = d["series"].as_array().unwrap();
    assert_eq!(series.len(), cpus().len());
    for s in series {
        assert_eq!(s["ended"]["kind"], "interrupted", "{s}");
        assert!((1..600_000).contains(&s["phases"].as_u64().unwrap()), "{s}");
    }
}

#[test]
fn a_tare_that_is_stopped_for_a_while_has_the_whole_measurement() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let (child, found) = running(&dir, &["--for", "4s", "--json"]);
    signal(child.id(), libc::SIGSTOP);
    // Until the phases are over: zombies, as tare cannot reap them.
    until("the phases have ended", || found.iter().all(|p| !lives(*p)));
    signal(child.id(), libc::SIGCONT);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let d: Value = serde_json::from_slice(&out.stdout).unwrap();
    for s in d["series"].as_array().unwrap() {
        let clock = |i: usize| number(&s["pairs"][i]["clock"]);
        match s["ended"]["kind"].as_str() {
            Some("time_over") => assert!(clock(1) - clock(0) >= 4e9, "{s}"),
            // There is room for a quarter more phases of a millisecond than should fit: a CPU that is faster than it was in the
            // calibration fills it.
            Some("complete") => assert!(s["phases"].as_u64().unwrap() >= 4_800, "{s}"),
            _ => panic!("{s}"),
        }
    }
}

#[test]
fn phases_that_somebody_kills_are_said_to_have_died() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let (child, found) = running(&dir, &["--for", "4s", "--json"]);
    signal(found[0], libc::SIGKILL);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("ended early"), "{}", text(&out.stderr));
    let d: Value = serde_json::from_slice(&out.stdout).unwrap();
    let first = &d["series"][0];
    assert_eq!(first["ended"]["kind"], "died");
    assert!(first["phases"].as_u64().unwrap() > 0, "what it measured is kept: {first}");
}

/// A folder of the cgroup v1 hierarchy `cpu`, which is removed in the end.
struct Group(std::path::PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cgroup_without_real_time_is_named() {
    let _alone = alone();
    let above = std::path::Path::new("/sys/fs/cgroup/cpu");
    if !is_root() || !above.join("cpu.rt_runtime_us").exists() {
        // Most kernels and distributions: nothing that TARE_NO_SKIP could ask for.
        eprintln!("skipped: no RT_GROUP_SCHED, or no cgroup v1");
        return;
    }
    let group = Group(above.join(format!("tare-test-{}", std::process::id())));
    if let Err(e) = std::fs::create_dir(&group.0) {
        return skip(&format!("{}: {e}", group.0.display()));
    }
    let file = group.0.join("cpu.rt_runtime_us");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), "0");
    let dir = folder();
    let mut c = noise(&dir);
    let procs = std::ffi::CString::new(group.0.join("cgroup.procs").to_str().unwrap()).unwrap();
    // SAFETY: async-signal-safe calls with valid arguments.
    unsafe {
        c.pre_exec(move || {
            let fd = libc::open(procs.as_ptr(), libc::O_WRONLY);
            if fd < 0 || libc::write(fd, c"0".as_ptr().cast(), 1) != 1 {
                return Err(std::io::Error::last_os_error());
            }
            libc::close(fd);
            Ok(())
        });
    }
    let out = run(c.args(["--phases", "10", "--sched", "fifo:1"]), 4);
    let said = text(&out.stderr);
    assert!(said.contains("real-time") && said.contains(file.to_str().unwrap()), "{said}");
    assert!(said.trim_end().lines().count() <= 2, "{said}");
}
