//! Sessions of made-up samples, in a store in memory.

use super::*;
use serde_json::json;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::data::{Outcome, OwnUse, Stamp, not_probed};
use tarebench_core::sample::probes::{CpuProbes, ProbeCost, ProbeKind, ProbeWake, SampleProbes};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck};
use tarebench_store::SqliteStore;

const MS: i64 = 1_000_000;
/// Process time on the quiet machine, and wake-ups in it.
const QUIET: i64 = 100 * MS;
const WAKES: u32 = 40;
const SAMPLES: u32 = 30;

fn run(n: u32, probed: bool) -> Run {
    let program = json!({
        "label": "prog", "command": { "argv": ["./prog"] }, "parameters": {}, "prepare": null, "conclude": null,
        "setup": null, "cleanup": null, "cwd": "/", "reference": false,
    });
    let plan = json!({
        "programs": [program], "order": "sequential", "seed": 1, "warmup": 1, "runs": { "fixed": SAMPLES }, "max_time": null,
        "timeout": null, "ignore_failure": "no", "sigma": 2.0, "profile": "no", "output": "null", "input": "null",
        "cpus": [1], "sched": null, "cwd": "/", "env": [], "user": null, "leave_running": false, "images": false,
        "account": false, "tags": {}, "require": [],
        "probes": probed.then(|| json!({ "period": 2_000_000, "correct": true })),
    });
    let root = Path::new("/");
    Run {
        id: 0,
        uuid: format!("{n:032x}"),
        created: Nanos(1_700_000_000_000_000_000),
        tool: "0.0.0".to_owned(),
        plan: serde_json::from_value(plan).unwrap(),
        host: tarebench_host::host::describe_at_once(root),
        pt_source: PtSource::Wait4,
        pt_source_notes: Vec::new(),
        factors: tarebench_host::factors::read(root),
        status: Status::Unfinished,
        notes: Vec::new(),
    }
}

/// By how much the core's clock was slower during a sample: on a quiet machine in every second one.
fn slowdown(index: u32) -> f64 {
    if index.is_multiple_of(2) { 1.0 } else { 1.0 + 0.01 * f64::from(1 + index % 13) }
}

/// What the clock does not set stays as it is; each wake-up differs a little.
fn probes(slowdown: f64) -> SampleProbes {
    let wake = |i: u32| {
        let tick = |kind: ProbeKind| {
            let memory = matches!(kind, ProbeKind::MemoryLatency | ProbeKind::MemoryThroughput);
            let quiet = 4_000.0 * f64::from(1 + kind as u32);
            (quiet * if memory { 1.0 } else { slowdown }) as u32 + i % 3
        };
        ProbeWake { at: Nanos(i64::from(i) * 2 * MS), ticks: ProbeKind::ALL.map(tick) }
    };
    let wakes = (0..WAKES).map(wake).collect();
    let cpu = CpuProbes { cpu: 1, wakes, kept_every: 1, watched: Vec::new(), paused: Vec::new() };
    let cost = ProbeCost { cpu: Nanos(MS), wakes: u64::from(WAKES), late: 0 };
    SampleProbes { revision: PROBE_REVISION, cpus: vec![cpu], gate: None, cost }
}

fn sample(index: u32, probed: bool) -> Sample {
    let slowdown = slowdown(index);
    let pt = Nanos((QUIET as f64 * slowdown) as i64 + i64::from(index % 5) * 10_000);
    let start = Nanos(i64::from(index) * 1_000 * MS);
    let stamp = |at: Nanos| Stamp { monotonic: at, monotonic_raw: at, cycles: None };
    let absent = || Absent::NotAsked(String::new());
    let process_times = ProcessTimes {
        source: PtSource::Wait4,
        cgroup: Reading::Absent(absent()),
        task_clock: Reading::Absent(absent()),
        exit_records: Reading::Absent(absent()),
        wait4: Reading::Value(CpuTime { user: pt, system: Nanos::ZERO, total: pt }),
        check: SourceCheck::default(),
    };
    Sample {
        series: 0,
        seq: index,
        index,
        phase: Phase::Counted,
        block: None,
        wall_clock: Nanos(1_700_000_000_000_000_000 + start.0),
        start: stamp(start),
        end: stamp(start + pt),
        outcome: Outcome::Exited { code: 0 },
        process_times: Reading::Value(process_times),
        usage: Reading::Absent(absent()),
        peak_memory: Reading::Absent(absent()),
        daemons: Reading::Absent(absent()),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
        steal: Reading::Value(Nanos::ZERO),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: Reading::Absent(absent()),
        account: Reading::Absent(absent()),
        estimate: Reading::Absent(absent()),
        counters: Reading::Absent(absent()),
        environment_padding: 0,
        metrics: Vec::new(),
        probes: if probed { Reading::Value(probes(slowdown)) } else { not_probed() },
    }
}

/// Stores these samples of a run, as a session of it does.
fn session(store: &mut dyn Store, run: &Run, indices: std::ops::Range<u32>) -> QuietLearner {
    let mut learner = QuietLearner::first(run);
    for index in indices {
        let sample = sample(index, run.plan.probes.is_some());
        store.add_sample(run.id, &sample).unwrap();
        learner.see(&sample);
    }
    learner
}

fn begun(store: &mut dyn Store, n: u32, probed: bool) -> Run {
    let run = run(n, probed);
    Run { id: store.begin_run(&run).unwrap(), ..run }
}

fn finished(run: &Run) -> Run {
    Run { status: Status::Finished, ..run.clone() }
}

fn wakes(store: &dyn Store, run: &Run) -> Option<u64> {
    store.level_history(&MachineKey::of(run), PROBE_REVISION).unwrap().map(|h| h.wakes())
}

fn clocks(store: &dyn Store, run: &Run) -> Vec<f64> {
    let found = store.coefficients(&MachineKey::of(run), PROBE_REVISION, None).unwrap();
    found.iter().map(|c| c.coefficients[ProbeKind::Latency as usize]).collect()
}

#[test]
fn a_run_teaches_the_machine_and_later_runs() {
    let mut store = SqliteStore::in_memory().unwrap();
    let first = begun(&mut store, 1, true);
    assert_eq!(QuietLearner::first(&first).levels(&first, Some(&store)).unwrap(), None);
    let learner = session(&mut store, &first, 0..SAMPLES);
    learner.keep(&mut finished(&first), &mut store).unwrap();
    assert_eq!(wakes(&store, &first), Some(u64::from(SAMPLES * WAKES)));
    let [clock] = clocks(&store, &first)[..] else { panic!("{:?}", clocks(&store, &first)) };
    assert!((0.8..1.2).contains(&clock), "{clock}");
    let levels = QuietLearner::first(&first).levels(&first, Some(&store)).unwrap().unwrap();
    assert!((levels.latency / 4_000.0 - 1.0).abs() < 0.01, "{levels:?}");
    // Not by what was fitted to itself.
    let of_first = known(&store, &first).unwrap();
    assert_eq!((of_first.coefficients, of_first.levels.as_ref()), (Vec::new(), Some(&levels)));
    let second = begun(&mut store, 2, true);
    assert_eq!(known(&store, &second).unwrap().coefficients.len(), 1);
    // Where nothing is stored, nothing is known.
    assert_eq!(QuietLearner::first(&second).levels(&second, None).unwrap(), None);
}

/// What is learned later changes no result.
#[test]
fn a_result_stays_the_same() {
    let mut store = SqliteStore::in_memory().unwrap();
    let first = begun(&mut store, 1, true);
    session(&mut store, &first, 0..SAMPLES).keep(&mut finished(&first), &mut store).unwrap();
    let second = begun(&mut store, 2, true);
    session(&mut store, &second, 0..SAMPLES).keep(&mut finished(&second), &mut store).unwrap();
    let second = store.run(second.id).unwrap();
    let before = known(&store, &second).unwrap();
    assert_eq!(before.coefficients.len(), 1, "that of the first run");
    store.forget_machine_states(&second.host.machine).unwrap();
    let after = known(&store, &second).unwrap();
    assert!(after.history.is_none() && after.levels.is_some());
    assert_eq!((after.levels, after.coefficients), (before.levels, before.coefficients));
}

/// Each sample counts once, however often the run is resumed, and the run has one fit, of all its samples.
#[test]
fn a_resumed_run_adds_what_is_new() {
    let mut store = SqliteStore::in_memory().unwrap();
    let run = begun(&mut store, 1, true);
    let mut interrupted = Run { status: Status::Interrupted, ..run.clone() };
    session(&mut store, &run, 0..10).keep(&mut interrupted, &mut store).unwrap();
    assert_eq!((wakes(&store, &run), clocks(&store, &run).len()), (Some(u64::from(10 * WAKES)), 0));
    session(&mut store, &run, 10..20).keep(&mut finished(&run), &mut store).unwrap();
    assert_eq!((wakes(&store, &run), clocks(&store, &run).len()), (Some(u64::from(20 * WAKES)), 1));
    // Made longer.
    session(&mut store, &run, 20..30).keep(&mut finished(&run), &mut store).unwrap();
    assert_eq!((wakes(&store, &run), clocks(&store, &run).len()), (Some(u64::from(30 * WAKES)), 1));
    let found = store.coefficients(&MachineKey::of(&run), PROBE_REVISION, None).unwrap();
    assert_eq!(found[0].samples, 30, "no sample counts twice");
    let resumed = QuietLearner::resumed(&run);
    assert_eq!(resumed.of, MachineKey::of(&run), "the machine is the same");
}

/// What was measured after a new kernel was started is of another state, and not fitted together with what was before.
#[test]
fn a_new_kernel_is_another_state() {
    let mut store = SqliteStore::in_memory().unwrap();
    let mut run = run(1, true);
    run.host.kernel = "1.0-earlier".to_owned();
    run.id = store.begin_run(&run).unwrap();
    let before = session(&mut store, &run, 0..10);
    before.keep(&mut run.clone(), &mut store).unwrap();
    let mut after = QuietLearner::resumed(&run);
    assert_eq!(after.levels(&run, Some(&store)).unwrap(), None);
    (10..20).for_each(|index| after.see(&sample(index, true)));
    after.keep(&mut finished(&run), &mut store).unwrap();
    assert_eq!((wakes(&store, &run), clocks(&store, &run).len()), (Some(u64::from(10 * WAKES)), 0));
    let now = store.level_history(&here(), PROBE_REVISION).unwrap().map(|h| h.wakes());
    assert_eq!(now, Some(u64::from(10 * WAKES)));
}

#[test]
fn a_run_without_probes_learns_and_knows_nothing() {
    let mut store = SqliteStore::in_memory().unwrap();
    let probed = begun(&mut store, 1, true);
    session(&mut store, &probed, 0..SAMPLES).keep(&mut finished(&probed), &mut store).unwrap();
    let plain = begun(&mut store, 2, false);
    session(&mut store, &plain, 0..SAMPLES).keep(&mut finished(&plain), &mut store).unwrap();
    assert_eq!(wakes(&store, &plain), Some(u64::from(SAMPLES * WAKES)));
    assert_eq!(clocks(&store, &plain).len(), 1);
    let known = known(&store, &plain).unwrap();
    assert!(known.levels.is_none() && known.history.is_none() && known.coefficients.is_empty());
    assert_eq!(QuietLearner::first(&plain).levels(&plain, Some(&store)).unwrap(), None);
}

/// The same program twice in a run: its fit has the samples of both.
#[test]
fn a_program_that_is_there_twice_is_fitted_once() {
    let mut store = SqliteStore::in_memory().unwrap();
    let mut run = run(1, true);
    run.plan.programs.push(run.plan.programs[0].clone());
    run.id = store.begin_run(&run).unwrap();
    let mut learner = QuietLearner::first(&run);
    for seq in 0..40 {
        let sample = Sample { series: seq % 2, seq, ..sample(seq / 2, true) };
        store.add_sample(run.id, &sample).unwrap();
        learner.see(&sample);
    }
    learner.keep(&mut finished(&run), &mut store).unwrap();
    let found = store.coefficients(&MachineKey::of(&run), PROBE_REVISION, None).unwrap();
    assert_eq!(found.iter().map(|c| c.samples).collect::<Vec<_>>(), [40]);
}

/// Whoever measures is told, and has its samples.
#[test]
fn a_store_that_cannot_be_written_to_is_an_error_of_learning_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tare.db");
    let mut store = SqliteStore::open(&path).unwrap();
    let run = begun(&mut store, 1, true);
    let learner = session(&mut store, &run, 0..SAMPLES);
    drop(store);
    let mut store = SqliteStore::open_read_only(&path).unwrap();
    assert!(matches!(learner.keep(&mut finished(&run), &mut store), Err(StoreError::ReadOnly { .. })));
    assert_eq!(store.samples(run.id).unwrap().len(), SAMPLES as usize);
    assert_eq!(wakes(&store, &run), None);
}
