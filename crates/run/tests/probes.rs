//! Probes and the gate around real programs.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::quiet::data::{ProbePlan, QuietLevels};
use tarebench_core::run::plan::RunPlan;
use tarebench_core::run::schedule::Slot;
use tarebench_core::sample::data::{Outcome, Phase, Sample};
use tarebench_core::sample::probes::{GateRecord, GateRule, PROBE_KINDS, PROBE_REVISION, SampleProbes};
use tarebench_run::launch::ProcessLauncher;
use tarebench_run::probes::ProbeCollector;
use tarebench_run::process_time::PtCollector;
use tarebench_run::sample::{Collectors, take};
use tarebench_run::sampler::SampleRequest;
use tarebench_sys::cgroup_limits::CgroupLimitFiles;
use tarebench_sys::signals::Signals;
use tarebench_sys::{cpu, process};

const MS: i64 = 1_000_000;
const SIGKILL: i32 = 9;
/// The variable by which this program is told that it is the one to be killed, and what to run then.
const TO_BE_KILLED: &str = "TARE_TEST_PROBES_KILLED";

/// One at a time: waiting for a program collects all children of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are real-time priorities and cgroups; without root there need not be.
fn may_probe() -> bool {
    let may = process::effective_uid() == 0;
    if !may {
        assert!(std::env::var_os("TARE_NO_SKIP").is_none_or(|v| v != "1"), "must not be skipped: needs root");
        eprintln!("skipped: needs root");
    }
    may
}

fn last_cpu() -> u32 {
    *cpu::allowed().unwrap().last().unwrap()
}

/// A script as the only program, on the last CPU.
fn plan(script: &str, word: &str, timeout: Option<Nanos>) -> RunPlan {
    let plan = json!({
        "programs": [{
            "label": "sh", "command": { "argv": ["/bin/sh", "-c", script, word] }, "parameters": {}, "prepare": null,
            "conclude": null, "setup": null, "cleanup": null, "reference": false
        }],
        "order": "rounds", "seed": 1, "warmup": 0, "runs": { "fixed": 1 }, "max_time": null, "timeout": timeout,
        "ignore_failure": "no", "sigma": 2.0, "profile": "no", "output": "null", "input": "null", "cpus": [last_cpu()],
        "sched": null, "cwd": "/", "env": [], "user": null, "leave_running": false, "images": false, "account": false,
        "tags": {}, "require": []
    });
    serde_json::from_value(plan).expect("a plan")
}

/// A machine on which all wake-ups look busy: its quiet ratio is next to nothing.
fn always_busy() -> QuietLevels {
    QuietLevels { revision: PROBE_REVISION, learned: Nanos(1), wakes: 1, latency: 1.0, levels: [1e-6; PROBE_KINDS] }
}

fn probing(period: Nanos, gate: Option<GateRule>) -> Reading<ProbeCollector> {
    let wanted = ProbePlan { period, gate, correct: false };
    ProbeCollector::open(&wanted, &[last_cpu()], Some(&always_busy()))
}

/// Samples of a plan, one after the other.
fn samples(plan: &RunPlan, probes: Reading<ProbeCollector>, count: u32) -> Vec<Sample> {
    let signals = Signals::install().unwrap();
    let mut launcher = ProcessLauncher::new(plan).unwrap();
    let not_asked = || Absent::NotAsked("a test".to_owned());
    let mut collectors = Collectors {
        pt: PtCollector::probe(false, false, None),
        daemons: Reading::Absent(not_asked()),
        account: Reading::Absent(not_asked()),
        limits: CgroupLimitFiles::open(std::path::Path::new("/")),
        probes,
    };
    let mut sample = |index: u32| {
        let slot = Slot { series: 0, phase: Phase::Counted, index };
        let request = SampleRequest { slot, seq: index, environment: &[], padding: 0 };
        let (sample, signal) = take(&mut launcher, &mut collectors, &request, false, &signals).unwrap();
        assert_eq!(signal, None);
        sample
    };
    (0..count).map(&mut sample).collect()
}

fn of(sample: &Sample) -> &SampleProbes {
    sample.probes.value().unwrap_or_else(|| panic!("{:?}", sample.probes))
}

fn gate_of(sample: &Sample) -> &GateRecord {
    of(sample).gate.as_ref().expect("a gate")
}

fn elapsed(sample: &Sample) -> Nanos {
    sample.end.monotonic - sample.start.monotonic
}

/// Process time by the cgroup.
fn process_time(sample: &Sample) -> Nanos {
    let times = sample.process_times.value().unwrap();
    times.cgroup.value().unwrap_or_else(|| panic!("{times:?}")).total
}

/// Counts to this.
fn counts(to: u32) -> String {
    format!("i=0; while [ $i -lt {to} ]; do i=$((i+1)); done")
}

/// Threads of this process that probe.
fn probe_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter(|t| std::fs::read(t.path().join("comm")).is_ok_and(|c| c == b"tare-probe\n")).count()
}

#[test]
fn a_sample_has_a_wake_for_each_period() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let period = Nanos::from_millis(4);
    let taken = samples(&plan(&counts(300_000), "w", None), probing(period, None), 2);
    assert_eq!(probe_threads(), 0, "they end with the collector");
    for sample in &taken {
        let found = of(sample);
        let expected = elapsed(sample).as_f64() / period.as_f64();
        let [one] = &found.cpus[..] else { panic!("{found:?}") };
        assert_eq!(one.cpu, last_cpu());
        let seen = (one.wakes.len() * one.kept_every as usize) as f64;
        // Stolen time makes it fewer; thinning may leave out half of the last ones.
        assert!(seen > expected * 0.4 && seen < expected + 4.0, "{seen} {expected}");
        assert!(one.wakes.iter().all(|w| w.at >= Nanos::ZERO && w.at <= elapsed(sample)));
        assert!(one.paused.is_empty() && found.gate.is_none());
        assert!(found.cost.wakes as f64 > expected * 0.4 && found.cost.wakes as f64 <= expected + 4.0);
        assert!(found.cost.cpu > Nanos::ZERO && found.cost.cpu < elapsed(sample));
        // Its CPU time is tare's.
        assert!(sample.own.cpu >= found.cost.cpu - Nanos::from_millis(5));
    }
}

#[test]
fn a_busy_machine_is_waited_for_until_the_limit() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let limit = Nanos::from_millis(60);
    let rule = GateRule { busy: 1.12, stop_after: 1, continue_after: 3, limit };
    let taken = samples(&plan("exit 3", "w", None), probing(Nanos::from_millis(4), Some(rule)), 2);
    for sample in &taken {
        assert_eq!(sample.outcome, Outcome::Exited { code: 3 });
        let found = of(sample);
        let gate = gate_of(sample);
        assert!(
            gate.waited >= limit && gate.limit_reached && gate.stops == 0 && gate.paused == Nanos::ZERO,
            "{gate:?}"
        );
        let before = found.cpus[0].paused.iter().filter(|w| w.at < Nanos::ZERO).count();
        assert!(before > 5, "{before} looks before the start");
        assert!(found.cpus[0].wakes.iter().all(|w| w.at >= Nanos::ZERO));
    }
}

/// A rule by which a busy machine stops the program, but one look later it continues: it stands still for 1 ms again and again.
fn again_and_again(limit: Nanos) -> GateRule {
    GateRule { busy: 1.12, stop_after: 1, continue_after: 0, limit }
}

#[test]
fn pauses_are_in_the_elapsed_time_and_not_in_the_process_time() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let plan = plan(&counts(300_000), "w", None);
    let period = Nanos::from_millis(4);
    let plain = samples(&plan, probing(period, None), 1).remove(0);
    // One millisecond in three is a pause.
    let limit = Nanos(process_time(&plain).0 / 10);
    let gated = samples(&plan, probing(period, Some(again_and_again(limit))), 1).remove(0);
    assert_eq!(gated.outcome, Outcome::Exited { code: 0 });
    let gate = gate_of(&gated);
    assert!(gate.limit_reached && gate.paused + gate.waited >= limit && gate.stops > 2, "{gate:?}");
    // The last pause may be longer by what it takes to wake up.
    assert!(gate.paused < limit + limit, "{gate:?} {limit:?}");
    let not_running = elapsed(&gated) - process_time(&gated);
    assert!(not_running.as_f64() > gate.paused.as_f64() * 0.7, "{not_running:?} {gate:?}");
    let ratio = process_time(&gated).as_f64() / process_time(&plain).as_f64();
    assert!((0.4..2.5).contains(&ratio), "{ratio}");
    let [one] = &of(&gated).cpus[..] else { panic!("{gated:?}") };
    assert!(!one.paused.is_empty() && !one.wakes.is_empty());
    // While the gate could pause it, every second wake-up was of the two probes that the gate needs; then none.
    let last = one.watched.last().expect("wake-ups in between").at;
    let before = one.wakes.iter().filter(|w| w.at <= last).count();
    assert!(one.kept_every > 1 || one.watched.len().abs_diff(before) <= 1, "{} {before}", one.watched.len());
    assert!(one.wakes.len() > before, "it runs on when the limit is reached");
}

/// What the gate needs is looked at twice as often as the rest.
#[test]
fn a_gate_that_stays_open_has_a_look_between_two_wakes() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let period = Nanos::from_millis(4);
    // Nothing is as busy as that.
    let never = GateRule { busy: 1e12, stop_after: 1, continue_after: 1, limit: Nanos::from_millis(1_000) };
    let sample = samples(&plan(&counts(300_000), "w", None), probing(period, Some(never)), 1).remove(0);
    let [one] = &of(&sample).cpus[..] else { panic!("{sample:?}") };
    assert_eq!(gate_of(&sample).stops, 0);
    let expected = elapsed(&sample).as_f64() / period.as_f64();
    let seen = (one.wakes.len() * one.kept_every as usize) as f64;
    assert!(seen > expected * 0.4 && seen < expected + 4.0, "{seen} {expected}");
    if one.kept_every == 1 {
        assert!(one.watched.len().abs_diff(one.wakes.len()) <= 1, "{} {}", one.watched.len(), one.wakes.len());
        // In turn.
        let between = |pair: &[tarebench_core::sample::probes::ProbeWake]| {
            one.watched.iter().filter(|w| pair[0].at < w.at && w.at < pair[1].at).count()
        };
        assert!(one.wakes.windows(2).all(|pair| between(pair) == 1), "{one:?}");
    }
}

/// What is frozen does not act on SIGTERM.
#[test]
fn a_program_is_asked_to_end_while_it_is_paused() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let script = format!("trap 'echo ended > {}; exit 7' TERM; while :; do :; done", said.display());
    let limit = Nanos::from_millis(100_000);
    // The gate looks every 200 µs: it stands still five sixths of the time.
    let probes = probing(Nanos::from_micros(400), Some(again_and_again(limit)));
    let plan = plan(&script, "w", Some(Nanos::from_millis(150)));
    let taken = samples(&plan, probes, 3);
    for sample in &taken {
        assert!(matches!(sample.outcome, Outcome::TimedOut { .. }), "{:?}", sample.outcome);
        let gate = gate_of(sample);
        assert!(gate.stops > 0 && !gate.limit_reached && gate.paused < elapsed(sample), "{gate:?}");
    }
    assert_eq!(std::fs::read_to_string(&said).unwrap(), "ended\n", "it was not only killed");
}

/// The process that [`nothing_stands_still_when_tare_is_killed`] kills.
#[test]
#[ignore = "started by another test"]
fn is_killed() {
    let Ok(word) = std::env::var(TO_BE_KILLED) else { return };
    let script = "sh -c 'while :; do :; done' $0 & while :; do :; done";
    let probes = probing(Nanos::from_micros(400), Some(again_and_again(Nanos::from_millis(60_000))));
    samples(&plan(script, &word, Some(Nanos::from_millis(20_000))), probes, 1);
}

fn processes_with(word: &str) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let state = process::stat(*pid).map(|s| s.state);
        line.split(|b| *b == 0).any(|w| w == word.as_bytes()) && !matches!(state, None | Some(b'Z' | b'X'))
    };
    pids.filter(has).collect()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// At many moments, five sixths of which are in a pause.
#[test]
fn nothing_stands_still_when_tare_is_killed() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    for try_number in 0..6_u64 {
        let word = format!("tare-killed-{}-{try_number}", process::own_pid());
        let mut tare = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "is_killed", "--ignored"])
            .env(TO_BE_KILLED, &word)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let has_begun = || processes_with(&word).len() >= 2 || !Path::new(&format!("/proc/{}", tare.id())).exists();
        until("the program does not begin", has_begun);
        std::thread::sleep(Duration::from_micros(20_000 + 3_700 * try_number));
        process::kill(i32::try_from(tare.id()).unwrap(), SIGKILL).unwrap();
        assert!(!tare.wait().unwrap().success());
        until("a process is left", || processes_with(&word).is_empty());
    }
}

#[test]
fn without_a_cgroup_there_is_no_gate_and_the_probes_run() {
    let _alone = alone();
    if !may_probe() {
        return;
    }
    let mut probes = probing(Nanos::from_millis(4), Some(again_and_again(Nanos(MS))));
    let Reading::Value(collector) = &mut probes else { panic!("no probes") };
    assert_eq!(collector.gate_missing(), None);
    collector.prepare(None, false);
    assert_eq!(collector.helper(), None);
    assert!(matches!(collector.gate_missing(), Some(Absent::NoPermission(_))));
    let signals = Signals::install().unwrap();
    collector.arm(None, false, &signals);
    let start = tarebench_sys::clock::monotonic();
    std::thread::sleep(Duration::from_millis(40));
    let found = collector.harvest(start, tarebench_sys::clock::monotonic());
    assert!(found.value().is_some_and(|f| f.gate.is_none() && !f.cpus[0].wakes.is_empty()), "{found:?}");
}
