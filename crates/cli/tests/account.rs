//! Gross = net + tare: the account of a sample against disturbances whose size is known.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::collections::BTreeMap;
use tarebench::core::base::reading::{Absent, Reading};
use tarebench::core::base::units::Nanos;
use tarebench::core::sample::account::{Account, Ledger};
use tarebench::core::sample::counters::CounterEvent;
use tarebench::core::sample::daemons::TaskKind;
use tarebench::core::sample::data::Sample;
use tempfile::TempDir;

const OPTIONS: &[&str] = &["run", "--json", "-w0", "--no-images"];

fn samples(document: &Value) -> Vec<Sample> {
    serde_json::from_value(document["samples"].clone()).expect("samples")
}

/// Measures `burner ARGS`.
fn measure(dir: &TempDir, options: &[&str], args: &[&str]) -> Vec<Sample> {
    let mut c = tare(dir);
    c.args(OPTIONS).args(options).arg("--").arg(burner()).args(args);
    samples(&json(&mut c, 0))
}

#[track_caller]
fn account(sample: &Sample) -> &Account {
    match &sample.account {
        Reading::Value(a) => {
            assert_eq!((a.lost, a.open), (0, 0));
            a
        }
        Reading::Absent(why) => panic!("no account: {why}"),
    }
}

/// Within 5% or 200 µs.
#[track_caller]
fn assert_entry(what: &str, found: f64, truth: f64) {
    assert!((found - truth).abs() <= allowed(truth), "{what}: {found} ns, truth {truth} ns, ± {} ns", allowed(truth));
}

fn allowed(truth: f64) -> f64 {
    (truth * 0.05).max(200e3)
}

/// The task with this pid, and all it starts, keeps to a CPU.
fn pin(pid: u32, cpu: usize) {
    // SAFETY: a valid, initialised set of its stated size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(pid as i32, size_of::<libc::cpu_set_t>(), &set), 0, "pin {pid}");
    }
}

fn waited_for(l: &Ledger, name: &str) -> (f64, u64) {
    let of_name = l.preemptors.iter().filter(|p| p.name.to_string() == name);
    of_name.fold((0.0, 0), |(t, n), p| (t + p.share.time.as_f64(), n + p.share.count))
}

fn named(shares: &BTreeMap<String, tarebench::core::sample::account::Share>, name: &str) -> (f64, u64) {
    shares.get(name).map_or((0.0, 0), |s| (s.time.as_f64(), s.count))
}

fn no_tracing() -> bool {
    if !is_root() {
        skip("needs root, for tracing in the kernel");
    }
    !is_root()
}

/// In 95% of the samples, unattributed time is at most 0.1% of the elapsed time or 20 µs.
#[track_caller]
fn assert_adds_up(samples: &[Sample]) {
    let rest = |s: &Sample| s.unattributed().expect("an account").as_f64().abs();
    let fits = |s: &&Sample| rest(s) <= (s.elapsed().as_f64() * 0.001).max(20e3);
    let good = samples.iter().filter(fits).count();
    let all: Vec<f64> = samples.iter().map(rest).collect();
    assert!(good * 100 >= samples.len() * 95, "unattributed, ns: {all:?}");
}

#[test]
fn the_entries_add_up_idle_and_among_competitors() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let count = rounds(60).to_string();
    assert_adds_up(&measure(&dir, &["-r20"], &["loop", &count]));
    let competitors: Vec<Child> = (0..3).map(|_| Child::start(&["loop", &rounds(20_000).to_string()], 1)).collect();
    let samples = measure(&dir, &["-r20", "--cpus", "1"], &["loop", &count]);
    drop(competitors);
    assert_adds_up(&samples);
    for s in &samples {
        let main = &account(s).main;
        let (waited, times) = waited_for(main, "burner");
        assert!(waited > 0.5 * main.net().as_f64() && times > 0, "three others on the CPU: {main:#?}");
    }
}

/// A burner in the background, on one CPU; ended when dropped.
struct Child(std::process::Child);

impl Child {
    fn start(args: &[&str], cpu: usize) -> Child {
        let child = std::process::Command::new(burner()).args(args).spawn().expect("a burner");
        pin(child.id(), cpu);
        Child(child)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that two others preempt: its samples, and the CPU time that the two report.
fn disturbed() -> (Vec<Sample>, [f64; 2]) {
    let dir = folder();
    let (mut moments, mut steady) = (Helper::start(b"t-moments"), Helper::start(b"t-steady"));
    for h in [&moments, &steady] {
        pin(h.pid(), 1);
    }
    let began = dir.path().join("began");
    let mut c = tare(&dir);
    c.args(OPTIONS).args(["-r1", "--cpus", "1", "--", burner(), "announced-loop"]).arg(&began);
    c.arg(rounds(1_200).to_string()).stdout(std::process::Stdio::piped());
    let child = c.spawn().expect("tare");
    until("the program runs", || began.exists());
    let mut used = [0.0; 2];
    for ((helper, bursts), used) in
        [(&mut moments, &[30, 20, 10][..]), (&mut steady, &[250][..])].into_iter().zip(&mut used)
    {
        let before = helper.cpu();
        for ms in bursts {
            std::thread::sleep(std::time::Duration::from_millis(40));
            helper.burn(*ms);
        }
        *used = helper.cpu() - before;
    }
    let out = child.wait_with_output().expect("tare");
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    (samples(&document), used)
}

/// Within 5% or 1 ms; what the hypervisor takes from the other is waited for, too, and not in the other's own figure.
#[test]
fn what_takes_the_cpu_is_named_with_its_time() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    for (i, name) in ["t-moments", "t-steady"].into_iter().enumerate() {
        comes_near(name, 0.05, || {
            let (all, used) = disturbed();
            assert_adds_up(&all);
            let main = &account(&all[0]).main;
            let (found, times) = waited_for(main, name);
            assert!(times > 0, "{name} took the CPU away");
            let kind = main.preemptors.iter().find(|p| p.name.to_string() == name).and_then(|p| p.kind);
            assert_eq!(kind, Some(TaskKind::User));
            (found, used[i])
        });
    }
}

#[test]
fn a_sleep_is_told_by_its_call() {
    let _lock = shared();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let all = measure(&dir, &["-r5"], &["sleep", "300"]);
    let mut shortest = f64::INFINITY;
    for s in &all {
        let (found, times) = named(&account(s).main.blocked, "clock_nanosleep");
        // The kernel wakes no task early, and any task late: while the hypervisor runs something else, no timer fires.
        assert!(found >= 300e6, "clock_nanosleep: {found} ns of 300 ms");
        shortest = shortest.min(found);
        assert_eq!(times, 1);
    }
    assert_entry("clock_nanosleep, the shortest of five", shortest, 300e6);
    assert_adds_up(&all);
}

/// The kernel's other tracer, as an independent witness: interrupts and softirqs in a separate instance.
struct Witness {
    mount: TempDir,
}

impl Witness {
    fn start() -> Witness {
        let mount = tempfile::tempdir().expect("a folder");
        run(std::process::Command::new("mount").args(["-t", "tracefs", "none"]).arg(mount.path()), 0);
        let witness = Witness { mount };
        std::fs::create_dir_all(witness.file("")).expect("an instance");
        witness.put("trace_clock", "mono");
        witness.put("buffer_size_kb", "8192");
        witness.put("events/irq_vectors/enable", "1");
        witness.put("events/irq/enable", "1");
        witness
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.mount.path().join("instances/tare-tests").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// Time, net of what is nested, and number, by tracepoint and what stands in its `vec=`, while this task had its CPU.
    fn of_task(&self, pid: u32) -> BTreeMap<String, (f64, u64)> {
        self.put("tracing_on", "0");
        let text = std::fs::read_to_string(self.file("trace")).expect("trace");
        let mut sums: BTreeMap<String, (f64, u64)> = BTreeMap::new();
        let mut open: BTreeMap<String, Vec<(String, f64, f64)>> = BTreeMap::new();
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            // `burner-123  [001] d.h..  12.345678: local_timer_entry: vector=236`
            let Some((before, after)) = line.split_once("] ") else { continue };
            let Some((task, cpu)) = before.rsplit_once('[') else { continue };
            let of_task = task.trim().rsplit('-').next().is_some_and(|p| p == pid.to_string());
            let mut words = after.split_whitespace().skip(1).map(|w| w.trim_end_matches(':'));
            let (Some(at), Some(event)) = (words.next().and_then(|w| w.parse::<f64>().ok()), words.next()) else {
                continue;
            };
            let vector = words.find(|w| w.starts_with("vec=")).unwrap_or_default();
            let stack = open.entry(cpu.to_owned()).or_default();
            if let Some(name) = event.strip_suffix("_entry").filter(|_| of_task) {
                stack.push((format!("{name}{vector}"), at, 0.0));
            } else if event.ends_with("_exit")
                && let Some((name, from, nested)) = stack.pop()
            {
                let whole = at - from;
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + (whole - nested) * 1e9, sum.1 + 1);
                if let Some(outer) = stack.last_mut() {
                    outer.2 += whole;
                }
            }
        }
        sums
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = std::fs::write(self.file("tracing_on"), "0");
        let _ = std::fs::write(self.file("events/enable"), "0");
        let _ = std::fs::remove_dir(self.file(""));
        let _ = std::process::Command::new("umount").arg(self.mount.path()).status();
    }
}

/// Pid that a burner reported with its truth.
fn told_pid(dir: &TempDir) -> u32 {
    let text = std::fs::read_to_string(dir.path().join("truth")).expect("the truth");
    text.split_whitespace().nth(1).and_then(|p| p.parse().ok()).expect("a pid")
}

#[test]
fn a_fast_timer_is_told_with_its_time_and_taken_out_of_net() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    // What the witness itself takes within an interrupt differs from one measurement to the next: the majority of three decides.
    let tries = [0; 3].map(|_| {
        let dir = folder();
        let witness = Witness::start();
        let all = measure(&dir, &["-r1", "--cpus", "1"], &["timer", "5000", "200"]);
        let seen = witness.of_task(told_pid(&dir));
        let a = account(&all[0]);
        let (time, times) = named(&a.main.interrupts, "local_timer");
        let (true_time, true_times) = seen["local_timer"];
        // Before its exec and after its end the witness sees some, too.
        assert!(times.abs_diff(true_times) <= 5 && times > 100, "{times} of {true_times}");
        let pt = all[0].process_time().expect("PT");
        let charged = if a.interrupts_charged { time } else { 0.0 };
        assert!((pt - all[0].net_time().expect("net time")).as_f64() >= charged, "PT has them, net time has not");
        assert_adds_up(&all);
        (time, true_time)
    });
    let near = tries.iter().filter(|(time, truth)| (time - truth).abs() <= allowed(*truth)).count();
    assert!(near >= 2, "the local timer's time and the witness's, ns: {tries:?}");
}

#[test]
fn softirqs_of_traffic_are_told_with_their_time() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let witness = Witness::start();
    let all = measure(&dir, &["-r1", "--cpus", "1"], &["loopback", "1000"]);
    let seen = witness.of_task(told_pid(&dir));
    let (time, times) = named(&account(&all[0]).main.softirqs, "NET_RX");
    // The third vector, include/linux/interrupt.h.
    let (true_time, true_times) = seen["softirqvec=3"];
    assert_entry("NET_RX", time, true_time);
    assert!(times.abs_diff(true_times) <= 5 && times > 100, "{times} of {true_times}");
    assert_adds_up(&all);
}

#[test]
fn a_forking_tree_and_threads_are_summed() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let charged = |a: &Account, l: &Ledger| {
        let interrupted = if a.interrupts_charged { l.interrupted().as_f64() } else { 0.0 };
        l.net().as_f64() + interrupted
    };
    // The parent's wait begins later than the child where a hypervisor steals its CPU in between.
    let (mut child, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let all = measure(&dir, &["-r1"], &["child-waited", "150"]);
        let a = account(&all[0]);
        let (burnt, _) = truth(&dir);
        assert_eq!(a.others.tasks, 1);
        assert_adds_up(&all);
        child.push((charged(a, &a.others) + charged(a, &a.main), burnt));
        waiting.push((named(&a.main.blocked, "wait4").0, a.others.total().as_f64()));
    }
    for (what, pairs) in [("the child", child), ("waiting for the child", waiting)] {
        let near = pairs.iter().filter(|(found, truth)| (found - truth).abs() <= allowed(*truth)).count();
        assert!(near >= 3, "{what}: found, truth (ns): {pairs:?}");
    }

    let all = measure(&dir, &["-r1", "--cpus", "0,1"], &["threads", "8", "60"]);
    let a = account(&all[0]);
    let (burnt, _) = truth(&dir);
    assert_eq!(a.others.tasks, 8);
    assert_entry("eight threads", charged(a, &a.others) + charged(a, &a.main), burnt);
    let own: f64 = a.others.preemptors.iter().filter(|p| p.kind.is_none()).map(|p| p.share.time.as_f64()).sum();
    let waited = a.others.waited().as_f64();
    assert!(own > 0.0 && waited > burnt, "eight on two CPUs wait for each other: {own}, {waited}");
    let unnamed = a.others.unnamed_wait().as_f64();
    assert!(unnamed.abs() < 0.05 * waited, "who had the CPUs is named: {unnamed} of {waited} is not");
    assert_adds_up(&all);
}

/// Exec by another thread than the first one swaps their ids; the program continues as its main thread.
#[test]
fn exec_by_another_thread_keeps_the_account() {
    let _lock = shared();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let count = rounds(80);
    let all = measure(&dir, &["-r5"], &["exec-by-thread", &count.to_string()]);
    assert_adds_up(&all);
    for s in &all {
        let a = account(s);
        let pt = s.process_time().expect("PT").as_f64();
        let traced = a.traced_runtime().as_f64();
        // The two do not subtract steal time at the same moments.
        let stolen: f64 = [&a.outside, &a.main, &a.others].into_iter().map(|l| l.stolen().as_f64()).sum();
        assert!((traced - pt).abs() < (0.02 * pt).max(500e3) + stolen, "{traced} of {pt}, {stolen} stolen");
        assert!(a.main.net().as_f64() > 0.5 * pt, "the loop is the main thread's: {:#?}", a.main);
        assert!(a.others.on_cpu.time.as_f64() > 18e6, "the thread before its exec: {:#?}", a.others);
    }
}

/// The process ends with its last thread; what the others do after the end of the first one is reported.
#[test]
fn a_process_may_outlive_its_first_thread() {
    let _lock = shared();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let all = measure(&dir, &["-r5"], &["first-ends", "60"]);
    assert_adds_up(&all);
    let computed = |s: &Sample| {
        let a = account(s);
        let (ended, _) = named(&a.main.blocked, "main thread ended");
        assert!(ended > 60e6, "{a:#?}");
        // The kernel's interrupts are in its own clock, too.
        let kernels =
            a.others.interrupts.values().chain(a.others.softirqs.values()).map(|s| s.time.as_f64()).sum::<f64>();
        a.others.net().as_f64() + kernels + a.others.stolen().as_f64()
    };
    // It has computed for 60 ms by that clock, which the hypervisor's share may be a part of.
    let times: Vec<f64> = all.iter().map(computed).collect();
    assert!(times.iter().filter(|t| **t > 58e6).count() >= 3, "{times:?}");
}

/// In another pid namespace ids mean other processes: there is no account, and the reason is reported.
#[test]
fn in_a_container_there_are_estimates_and_the_reason() {
    let _lock = shared();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let mut c = via(&dir, &["unshare", "--pid", "--fork", "--mount-proc"]);
    c.args(OPTIONS).args(["-r2", "--", burner(), "burn-self", "20"]);
    for s in samples(&json(&mut c, 0)) {
        let Reading::Absent(Absent::NotSupported(why)) = &s.account else { panic!("{:?}", s.account) };
        assert!(why.contains("pid namespace"), "{why}");
        assert!(s.estimate.value().is_some());
    }
}

/// A process that still computes when the program has ended is in the account until then, and in no later one.
#[test]
fn what_is_left_running_stays_in_its_own_account() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let mut c = tare(&dir);
    c.args(OPTIONS).args(["-r3", "--leave-running", "--", burner(), "leave-spinning", "60000", "100"]);
    let all = samples(&json(&mut c, 0));
    for survivor in all.iter().flat_map(|s| &s.survivors) {
        signal(survivor.pid as u32, libc::SIGKILL);
    }
    for (before, s) in all.iter().enumerate() {
        let Reading::Value(a) = &s.account else { panic!("{:?}", s.account) };
        assert_eq!((a.open, a.others.tasks, a.lost), (1, 1, 0));
        // With those of earlier samples on two CPUs it waits for a part of the time.
        let had = a.others.on_cpu.time + a.others.waited();
        assert!(had.as_f64() > 90e6, "sample {before}: {:#?}", a.others);
        assert!(a.others.net() > Nanos::ZERO && a.main.interrupted().as_f64() < 5e6, "{a:#?}");
    }
}

/// A crowd of threads waits on two CPUs: no more is named than was waited.
#[test]
fn a_crowd_of_threads_is_complete() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let all = measure(&dir, &["-r1"], &["crowd", "3000"]);
    let a = account(&all[0]);
    assert_eq!(a.others.tasks, 3_000);
    let (waited, unnamed) = (a.others.waited().as_f64(), a.others.unnamed_wait().as_f64());
    assert!(unnamed > -0.01 * waited, "{unnamed} of {waited}");
    assert_adds_up(&all);
}

/// The traced CPU time is that of the scheduler, except for steal time if the scheduler excludes it.
#[test]
fn the_schedulers_own_account_agrees() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let count = rounds(1_000).to_string();
    for args in [&["loop", &count][..], &["threads", "8", "150"]] {
        let all = measure(&dir, &["-r1"], args);
        let a = account(&all[0]);
        let ledgers = [&a.outside, &a.main, &a.others];
        let runtime: f64 = ledgers.iter().map(|l| l.runtime.as_f64()).sum();
        let stolen: f64 = ledgers.iter().map(|l| l.stolen().as_f64()).sum();
        let traced = a.traced_runtime().as_f64();
        // The scheduler may not assign all steal time correctly.
        assert!((runtime - traced).abs() <= 0.001 * traced + stolen, "{args:?}: {runtime}, {traced} traced, {stolen}");
    }
}

#[test]
fn fifty_thousand_tasks_one_after_the_other_are_all_there() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let all = measure(&dir, &["-r1"], &["short", "50000"]);
    let a = account(&all[0]);
    assert_eq!(a.others.tasks, 50_000);
    assert!(a.others.on_cpu.count >= 50_000, "each had a CPU: {:?}", a.others.on_cpu);
}

/// Without privilege: the reason, and the remaining estimates.
#[test]
fn without_privilege_there_are_estimates_and_the_reason() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to drop capabilities");
    }
    let dropped: &[&str] = &["capsh", "--drop=cap_bpf,cap_perfmon,cap_sys_admin", "--", "-c", "exec \"$@\"", "sh"];
    for before in [NOBODY, dropped] {
        let dir = folder();
        let mut c = via(&dir, before);
        c.args(OPTIONS).args(["-r1", "--", burner(), "burn-self", "80"]);
        let document = json(&mut c, 0);
        let all = samples(&document);
        let Reading::Absent(Absent::NoPermission(what)) = &all[0].account else {
            panic!("{before:?}: {:?}", all[0].account)
        };
        assert!(what.contains("CAP_BPF"), "{what}");
        assert!(matches!(all[0].net_time(), Err(Absent::NoPermission(_))), "absent, not PT");
        let estimate = all[0].estimate.value().expect("an estimate");
        assert!(estimate.waited.value().is_some(), "{estimate:?}");
        comes_near(&format!("schedstat {before:?}"), 0.05, || {
            let dir = folder();
            let mut c = via(&dir, before);
            let document = json(c.args(OPTIONS).args(["-r1", "--", burner(), "burn-self", "80"]), 0);
            let estimate = samples(&document)[0].estimate.value().expect("an estimate").clone();
            (estimate.on_cpu.value().expect("schedstat").as_f64(), truth(&dir).0)
        });
        let counts = estimate.interrupts.value().expect("/proc/interrupts");
        assert!(counts.values().any(|n| *n > 0), "{counts:?}");
        let said = text(&run(via(&dir, before).args(["show", "--full"]), 0).stdout);
        assert!(said.contains("CAP_BPF") && said.contains("  estimate "), "{said}");
    }
}

/// A setting of the kernel, restored at the end.
struct Setting(&'static str, String);

impl Setting {
    fn set(path: &'static str, value: &str) -> Setting {
        let old = std::fs::read_to_string(path).expect("the old value");
        std::fs::write(path, value).expect("the new value");
        Setting(path, old)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0, &self.1);
    }
}

#[test]
fn a_high_perf_event_paranoid_is_no_obstacle_without_a_word() {
    let _lock = alone();
    if !is_root() {
        return skip("needs root, to change a setting");
    }
    let _high = Setting::set("/proc/sys/kernel/perf_event_paranoid", "4");
    let dir = folder();
    let mut c = via(&dir, NOBODY);
    c.args(OPTIONS).args(["-r1", "--", burner(), "burn-self", "30"]);
    let all = samples(&json(&mut c, 0));
    assert!(matches!(&all[0].account, Reading::Absent(Absent::NoPermission(w)) if w.contains("CAP_BPF")));
    assert!(all[0].counters.absent().is_some() && all[0].process_time().is_ok(), "{:?}", all[0]);
    // Root is not concerned.
    assert!(measure(&dir, &["-r1"], &["burn-self", "10"])[0].account.value().is_some());
}

#[test]
fn without_bpf_the_reason_is_told() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, where BPF would be allowed");
    }
    let dir = folder();
    let mut c = via(&dir, &[burner(), "refusing", "bpf", "ENOSYS"]);
    c.args(OPTIONS).args(["-r1", "--", "true"]);
    let all = samples(&json(&mut c, 0));
    let Reading::Absent(Absent::NotSupported(why)) = &all[0].account else { panic!("{:?}", all[0].account) };
    assert!(why.contains("not implemented"), "{why}");
    assert!(all[0].estimate.value().is_some());
}

/// A kernel without type information, as one built without CONFIG_DEBUG_INFO_BTF.
#[test]
fn without_btf_the_reason_is_told() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a mount namespace");
    }
    let dir = folder();
    let hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"";
    let mut c = via(&dir, &["unshare", "-m", "sh", "-c", hide, "sh"]);
    c.args(OPTIONS).args(["-r1", "--", "true"]);
    let all = samples(&json(&mut c, 0));
    let Reading::Absent(Absent::NotSupported(why)) = &all[0].account else { panic!("{:?}", all[0].account) };
    assert!(why.contains("CONFIG_DEBUG_INFO_BTF"), "{why}");
    assert!(all[0].estimate.value().is_some());
}

#[test]
fn hardware_counts_are_there_or_their_absence_is_told() {
    let _lock = shared();
    let dir = folder();
    let all = measure(&dir, &["-r1"], &["burn-self", "50"]);
    match &all[0].counters {
        Reading::Value(c) => {
            let all = [CounterEvent::InstructionsUser, CounterEvent::CyclesUser].map(|e| c.get(e));
            assert!(all.iter().all(|e| e.as_ref().is_ok_and(|e| e.count > 0) || e.is_err()), "{c:?}");
            assert!(all.iter().any(Result::is_ok), "{c:?}");
        }
        Reading::Absent(Absent::NotSupported(why)) => assert!(why.contains("PMU"), "{why}"),
        Reading::Absent(why) => assert!(!is_root(), "{why}"),
    }
}

#[test]
fn no_account_is_made_if_none_is_wanted() {
    let _lock = shared();
    let dir = folder();
    let all = measure(&dir, &["-r1", "--no-account"], &["burn-self", "10"]);
    let not_asked =
        |r: &Reading<Account>| matches!(r, Reading::Absent(Absent::NotAsked(w)) if w == "tracing is switched off");
    assert!(not_asked(&all[0].account) && all[0].estimate.value().is_none(), "{:?}", all[0]);
}

#[test]
fn the_self_check_tells_what_tracing_costs_or_that_there_is_none() {
    let _lock = alone();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let said = text(&run(tare(&dir).args(["run", "--self-check=1"]), 0).stdout);
    let cost = |program: &str| {
        let lines = said.lines().filter(|l| l.split_whitespace().next() == Some(program));
        let figures = lines.map(|l| l.split_whitespace().skip(1).map(|n| n.parse().expect("a number")).collect());
        figures.collect::<Vec<Vec<u64>>>()
    };
    let switches = cost("account_switch");
    assert_eq!(switches.len(), 2, "both workloads: {said}");
    assert!(switches[1][0] > 20_000, "a switch for each way of the byte, or nearly: {said}");
    assert!(switches.iter().all(|s| s[1] > 0 && s[2] == 0), "{said}");
    let out = run(via(&dir, NOBODY).args(["run", "--self-check=1"]), 4);
    assert!(text(&out.stderr).contains("CAP_BPF"), "{}", text(&out.stderr));
}

/// Programs that cannot be started, are killed, or leave others running have what account there can be.
#[test]
fn unusual_ends_have_an_account_or_a_reason() {
    let _lock = shared();
    if no_tracing() {
        return;
    }
    let dir = folder();
    let mut c = tare(&dir);
    // With a setup command, which might make it, it is only found when it is started.
    c.args(OPTIONS).args(["-r1", "-i", "-s", "true", "--", "./no-such-program"]);
    let all = samples(&json(&mut c, 2));
    assert!(all[0].account.value().is_none());

    let mut c = tare(&dir);
    c.args(OPTIONS).args(["-r2", "-i", "--timeout", "0.1", "--", burner(), "never"]);
    for s in samples(&json(&mut c, 1)) {
        let (asleep, _) = named(&account(&s).main.blocked, "clock_nanosleep");
        assert!(asleep > 50e6, "{s:#?}");
    }

    let mut c = tare(&dir);
    c.args(OPTIONS).args(["-r2", "--leave-running", "--", burner(), "leave", "3"]);
    let document = json(&mut c, 0);
    for s in samples(&document) {
        let Reading::Value(a) = &s.account else { panic!("{:?}", s.account) };
        assert_eq!((a.open, a.others.tasks, a.lost), (3, 3, 0), "each sample has its own");
        for survivor in &s.survivors {
            signal(survivor.pid as u32, libc::SIGKILL);
        }
    }
}
