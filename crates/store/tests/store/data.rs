//! Runs and samples to store: plain ones, and any.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::{Cycles, Nanos};
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind};
use tarebench_core::kbest::bench;
use tarebench_core::kbest::bench::{Bench, BenchMachine, BenchResult};
use tarebench_core::kbest::scheme::Parameters;
use tarebench_core::kbest::timing::{Cache, Compensation, Timing, Trial};
use tarebench_core::machine::data::Factor;
use tarebench_core::machine::data::Host;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::{Cutoff, Profile};
use tarebench_core::quiet::data::ProbePlan;
use tarebench_core::run::data::*;
use tarebench_core::run::notes::{Note, from_texts};
use tarebench_core::run::plan::*;
use tarebench_core::sample::account::{Account, Estimate, Ledger, Preemptor, Share};
use tarebench_core::sample::counters::{CounterEvent, Counters, EventCount, EventTimes};
use tarebench_core::sample::daemons::Daemon;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::*;
use tarebench_core::sample::probes::{
    CpuProbes, GateRecord, GateRule, GateWake, PROBE_KINDS, ProbeCost, ProbeWake, SampleProbes,
};
use tarebench_core::sample::process_time::CpuTime;
use tarebench_core::sample::process_time::ProcessTimes;
use tarebench_core::sample::process_time::{PtSource, SourceCheck};
use tarebench_store::{Archive, Store};

/// A folder with a path for a database in it.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tare.db");
    (dir, path)
}

pub fn uuid(n: u128) -> String {
    format!("{n:032x}")
}

pub fn program(label: &str) -> Program {
    Program::new(label.to_owned(), Command::Argv(vec![label.into(), Name::new(b"\xff -x".to_vec())]))
}

/// A run of two programs.
pub fn run(n: u128) -> Run {
    Run {
        id: 0,
        uuid: uuid(n),
        created: Nanos(1_700_000_000_000_000_000),
        tool: "0.1.0".to_owned(),
        plan: RunPlan {
            seed: u64::MAX,
            runs: RunCount::Adaptive { precision: 0.1 + 0.2, min: 5, max: 50 },
            timeout: Some(Nanos(5)),
            ignore_failure: IgnoreFailure::Codes(vec![1, 2]),
            output: Output::File("out".into()),
            cpus: vec![1],
            sched: Some(Sched::Nice(-5)),
            cwd: Name::new(b"/tmp/\xfe".to_vec()),
            env: vec![("A".into(), "b".into())],
            tags: [("build".to_owned(), "a".to_owned())].into(),
            require: vec!["v5".to_owned()],
            ..RunPlan::of(vec![program("true"), program("false")])
        },
        host: Host {
            name: "box".to_owned(),
            machine: "0123456789abcdef".to_owned(),
            boot: Reading::Value("b".to_owned()),
            kernel: "6.1.0".to_owned(),
            kernel_version: "#1 SMP".to_owned(),
            architecture: "x86_64".to_owned(),
            distribution: Reading::Absent(Absent::Failed("no /etc/os-release".to_owned())),
            cpu: Reading::Value("a CPU".to_owned()),
            microcode: Reading::Value("0x1".to_owned()),
            cpus: 2,
            memory: Reading::Value(u64::MAX),
            hypervisor: Reading::Value("none".to_owned()),
            clock_source: Reading::Value("tsc".to_owned()),
            cycle_counter_hz: Reading::Value(2_999_999_999.123_456_7),
        },
        pt_source: PtSource::Cgroup,
        pt_source_notes: vec!["a \0 in a note".to_owned()],
        factors: vec![Factor::new(1, "ntp", Standing::Held, "on")],
        status: Status::Unfinished,
        notes: vec![Note::Text { key: "resumed".to_owned(), text: "never".to_owned() }],
    }
}

/// What the file of a run holds, read from the store piece by piece.
pub fn archive(store: &dyn Store, run: i64) -> Archive {
    let mut duets = Vec::new();
    store.each_duet(run, &mut |duet| duets.push(duet)).unwrap();
    let (samples, recording) = (store.samples(run).unwrap(), store.chunks(run).unwrap());
    Archive { duets, ..Archive::new(store.run(run).unwrap(), samples, recording) }
}

/// A document of benchmarks, without its content.
pub fn head(n: u128) -> DocumentHead {
    DocumentHead {
        kind: DocumentKind::Bench,
        number: 0,
        uuid: uuid(n),
        title: "sorts\x1b[31m \0".to_owned(),
        created: Nanos(1_700_000_000_000_000_000 + i64::from(n as u32)),
        status: Status::Unfinished,
        tool: "0.1.0".to_owned(),
        machine: "box".to_owned(),
        conditions: None,
        tags: std::collections::BTreeMap::new(),
    }
}

/// Benchmarks of two pieces of code.
pub fn bench() -> Bench {
    let trial =
        |count| Trial { count, cpu: Some(7), ticks: None, preemptions: Some(0), waits: None, core_cycles: None };
    let row = |name: &str, counts: &[u64]| BenchResult {
        name: name.to_owned(),
        timing: Timing {
            clock: tarebench_core::kbest::clocks::ClockKind::Counter,
            hz: 2_299_999_999.123_456_7,
            cache: Cache::Cold { bytes: 1 << 26 },
            repetitions: 100,
            parameters: Parameters::new(3, 0.1 + 0.2, 30, 0).unwrap(),
            compensation: Reading::Value(Compensation { cost: 5_123.25, period: 9.2e6 }),
            overhead: 31,
            less_overhead: true,
            apart: 3_000_000,
            trials: counts.iter().map(|c| trial(*c)).collect(),
        },
    };
    Bench {
        format: bench::FORMAT.to_owned(),
        version: bench::VERSION,
        tool: "0.1.0".to_owned(),
        name: "sorts".to_owned(),
        created: Nanos(1_700_000_000_000_000_000),
        machine: BenchMachine {
            name: "box".to_owned(),
            kernel: "6.1.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu: Reading::Absent(Absent::Failed("no /proc".to_owned())),
            cpus: 2,
        },
        rows: vec![row("a\x1b[31m\n", &[u64::MAX, 5_000, 5_001]), row("b", &[70])],
    }
}

fn stamp(at: i64) -> Stamp {
    Stamp { monotonic: Nanos(at), monotonic_raw: Nanos(at + 1), cycles: Some(Cycles(u64::MAX)) }
}

/// A sample whose values follow from its position; the first of each series is a warm-up.
pub fn sample(seq: u32, daemons: usize) -> Sample {
    let daemon = |i: usize| Daemon {
        pid: i as i32,
        start: Nanos(i as i64 * 10_000_000),
        name: Name::new(format!("kworker/{i}:{seq}-events").into_bytes()),
        kind: TaskKind::Kernel,
        cpu: Nanos(1_234_567 + i as i64),
        tick_bound: false,
        interval_counted: Some(Nanos(4_000_000)),
        born: false,
        died: i.is_multiple_of(2),
    };
    Sample {
        series: seq % 2,
        seq,
        index: if seq < 2 { 0 } else { seq / 2 - 1 },
        phase: if seq < 2 { Phase::Warmup } else { Phase::Counted },
        block: None,
        wall_clock: Nanos(1_700_000_000_000_000_000 + i64::from(seq)),
        start: stamp(1_000),
        end: stamp(2_000_000),
        outcome: Outcome::Exited { code: 0 },
        process_times: Reading::Value(ProcessTimes {
            source: PtSource::TaskClock,
            cgroup: Reading::Absent(Absent::NoPermission("CAP_SYS_ADMIN".to_owned())),
            task_clock: Reading::Value(Nanos(1_999_001)),
            exit_records: Reading::Value(Nanos(1)),
            wait4: Reading::Absent(Absent::Failed("no child".to_owned())),
            check: SourceCheck::default(),
        }),
        usage: Reading::Absent(Absent::NotAsked("-".to_owned())),
        peak_memory: Reading::Value(7),
        daemons: Reading::Value(Daemons {
            list: (0..daemons).map(daemon).collect(),
            incomplete: None,
            processes: 200,
            image_before: Nanos(1),
            image_after: Nanos(2),
        }),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos(1), voluntary_switches: 2, involuntary_switches: 0 },
        steal: Reading::Value(Nanos(0)),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: Reading::Value(ClockShift { suspended: Nanos(0), stepped: Nanos(2_000_000_000) }),
        account: Reading::Absent(Absent::NotAsked("a test".into())),
        estimate: Reading::Absent(Absent::NotAsked("a test".into())),
        counters: Reading::Absent(Absent::NotSupported("no PMU".into())),
        environment_padding: 77,
        metrics: Vec::new(),
        probes: tarebench_core::sample::data::not_probed(),
    }
}

pub fn profile(name: &str, machine: &str, created: i64) -> Profile {
    let cutoff = Cutoff {
        daemon: "kworker".to_owned(),
        short: 1.0 / 3.0 * 1e9,
        task_time_limit: Some(Nanos(7)),
        long: Some(f64::MIN_POSITIVE),
        effect: None,
    };
    Profile { created: Nanos(created), ..Profile::of_cutoffs(name, machine, "6.1.0", vec![cutoff]) }
}

/// `PRAGMA integrity_check` and `foreign_key_check`.
pub fn assert_sound(path: &Path) {
    let conn = rusqlite::Connection::open(path).unwrap();
    let said: String = conn.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(said, "ok");
    assert!(!conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

// Boxed where many others contain it: the whole of a sample would otherwise need more than the stack of a test.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), ".*", Just("a\0\u{202e}\\\u{1f600}'\"".to_owned())].boxed()
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![vec(any::<u8>(), 0..20).prop_map(Name), text().prop_map(|s| Name::from(s.as_str()))]
}

fn nanos() -> impl Strategy<Value = Nanos> {
    prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), 0..1_000_000_i64].prop_map(Nanos)
}

fn absent() -> impl Strategy<Value = Absent> {
    prop_oneof![
        text().prop_map(Absent::NoPermission),
        text().prop_map(Absent::NotSupported),
        text().prop_map(Absent::Lost),
        text().prop_map(Absent::NotAsked),
        text().prop_map(Absent::Failed),
    ]
    .boxed()
}

fn reading<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![3 => value.prop_map(Reading::Value), 1 => absent().prop_map(Reading::Absent)].boxed()
}

fn any_stamp() -> impl Strategy<Value = Stamp> {
    (nanos(), nanos(), option::of(any::<u64>().prop_map(Cycles))).prop_map(|(monotonic, monotonic_raw, cycles)| Stamp {
        monotonic,
        monotonic_raw,
        cycles,
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        any::<i32>().prop_map(|code| Outcome::Exited { code }),
        any::<i32>().prop_map(|signal| Outcome::Signaled { signal }),
        nanos().prop_map(|limit| Outcome::TimedOut { limit }),
        any::<i32>().prop_map(|signal| Outcome::Stopped { signal }),
        (text(), any::<bool>()).prop_map(|(error, by_limit)| Outcome::NotStarted { error, by_limit }),
        text().prop_map(|error| Outcome::HookFailed { error }),
        Just(Outcome::Interrupted),
    ]
}

fn pt_source() -> impl Strategy<Value = PtSource> {
    proptest::sample::select(vec![PtSource::Cgroup, PtSource::TaskClock, PtSource::ExitRecords, PtSource::Wait4])
}

fn cpu_time() -> impl Strategy<Value = CpuTime> {
    (nanos(), nanos(), nanos()).prop_map(|(user, system, total)| CpuTime { user, system, total })
}

fn process_times() -> impl Strategy<Value = ProcessTimes> {
    (pt_source(), reading(cpu_time()), reading(nanos()), reading(nanos()), reading(cpu_time())).prop_map(
        |(source, cgroup, task_clock, exit_records, wait4)| ProcessTimes {
            source,
            cgroup,
            task_clock,
            exit_records,
            wait4,
            check: SourceCheck::default(),
        },
    )
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 5]>().prop_map(|[a, b, c, d, e]| Usage {
        max_rss: a,
        minor_faults: b,
        major_faults: c,
        voluntary_switches: d,
        involuntary_switches: e,
    })
}

fn daemon() -> impl Strategy<Value = Daemon> {
    let kind = proptest::sample::select(vec![TaskKind::User, TaskKind::Kernel, TaskKind::Tare]);
    (any::<i32>(), nanos(), name(), kind, nanos(), any::<[bool; 3]>(), option::of(nanos())).prop_map(
        |(pid, start, name, kind, cpu, [tick_bound, born, died], interval_counted)| Daemon {
            pid,
            start,
            name,
            kind,
            cpu,
            tick_bound,
            interval_counted,
            born,
            died,
        },
    )
}

fn daemons() -> impl Strategy<Value = Daemons> {
    (vec(daemon(), 0..8), option::of(absent()), any::<u32>(), nanos(), nanos()).prop_map(
        |(list, incomplete, processes, image_before, image_after)| Daemons {
            list,
            incomplete,
            processes,
            image_before,
            image_after,
        },
    )
}

fn survivor() -> impl Strategy<Value = Survivor> {
    let fate = prop_oneof![Just(Fate::Ended), Just(Fate::Left), text().prop_map(Fate::CouldNotEnd)];
    (any::<i32>(), name(), fate).prop_map(|(pid, name, fate)| Survivor { pid, name, fate })
}

fn share() -> impl Strategy<Value = Share> {
    (nanos(), any::<u64>()).prop_map(|(time, count)| Share { time, count })
}

fn shares() -> impl Strategy<Value = BTreeMap<String, Share>> {
    btree_map(text(), share(), 0..3)
}

/// On the heap, as samples of it would not fit on a test's stack.
fn ledger() -> BoxedStrategy<Ledger> {
    let kind = prop_oneof![Just(None), Just(Some(TaskKind::User)), Just(Some(TaskKind::Kernel))];
    let preemptor = (name(), kind, share()).prop_map(|(name, kind, share)| Preemptor { name, kind, share });
    let first = (any::<u64>(), share(), reading(share()), shares(), shares(), nanos());
    (first, share(), share(), vec(preemptor, 0..3), shares())
        .prop_map(|(f, preempted, woken, preemptors, blocked)| {
            let (tasks, on_cpu, stolen, interrupts, softirqs, runtime) = f;
            Ledger { tasks, on_cpu, stolen, interrupts, softirqs, runtime, preempted, woken, preemptors, blocked }
        })
        .boxed()
}

fn account() -> BoxedStrategy<Account> {
    (nanos(), nanos(), ledger(), ledger(), ledger(), any::<bool>(), any::<bool>(), any::<u64>(), any::<u32>())
        .prop_map(|(exec, end, outside, main, others, interrupts_charged, stolen_charged, lost, open)| Account {
            exec,
            end,
            outside,
            main,
            others,
            interrupts_charged,
            stolen_charged,
            lost,
            open,
        })
        .boxed()
}

fn estimate() -> impl Strategy<Value = Estimate> {
    let interrupts = reading(btree_map(text(), any::<u64>(), 0..3));
    (reading(nanos()), reading(nanos()), interrupts).prop_map(|(waited, on_cpu, interrupts)| Estimate {
        waited,
        on_cpu,
        interrupts,
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    let times = (nanos(), nanos()).prop_map(|(enabled, running)| EventTimes { enabled, running });
    let count = (any::<u64>(), reading(times), any::<bool>()).prop_map(|(count, times, user_only)| EventCount {
        count,
        times,
        user_only,
    });
    let all = proptest::collection::vec(reading(count), CounterEvent::ALL.len());
    all.prop_map(|all| CounterEvent::ALL.into_iter().zip(all).collect())
}

fn wake() -> impl Strategy<Value = ProbeWake> {
    (nanos(), any::<[u32; PROBE_KINDS]>()).prop_map(|(at, ticks)| ProbeWake { at, ticks })
}

fn gate_wake() -> impl Strategy<Value = GateWake> {
    (nanos(), any::<[u32; 2]>()).prop_map(|(at, [latency, issue])| GateWake { at, latency, issue })
}

fn gate_record() -> impl Strategy<Value = GateRecord> {
    (nanos(), any::<u32>(), nanos(), any::<bool>()).prop_map(|(waited, stops, paused, limit_reached)| GateRecord {
        waited,
        stops,
        paused,
        limit_reached,
    })
}

fn probes() -> BoxedStrategy<SampleProbes> {
    let cpu = (any::<[u32; 2]>(), vec(wake(), 0..4), vec(gate_wake(), 0..3), vec(gate_wake(), 0..3))
        .prop_map(|([cpu, kept_every], wakes, watched, paused)| CpuProbes { cpu, wakes, kept_every, watched, paused });
    let cost = (nanos(), any::<[u64; 2]>()).prop_map(|(cpu, [wakes, late])| ProbeCost { cpu, wakes, late });
    (any::<u32>(), vec(cpu, 0..3), option::of(gate_record()), cost)
        .prop_map(|(revision, cpus, gate, cost)| SampleProbes { revision, cpus, gate, cost })
        .boxed()
}

fn probe_plan() -> impl Strategy<Value = ProbePlan> {
    let busy = any::<f64>().prop_filter("finite", |f| f.is_finite());
    let rule = (busy, any::<[u32; 2]>(), nanos()).prop_map(|(busy, [stop_after, continue_after], limit)| GateRule {
        busy,
        stop_after,
        continue_after,
        limit,
    });
    (nanos(), option::of(rule), any::<bool>()).prop_map(|(period, gate, correct)| ProbePlan { period, gate, correct })
}

/// Any sample.
pub fn any_sample() -> impl Strategy<Value = Sample> {
    let block = option::of(any::<[u32; 2]>())
        .prop_map(|block| block.map(|[number, executions]| SampleBlock { number, executions }));
    let phase = (prop_oneof![Just(Phase::Warmup), Just(Phase::Counted)], block);
    let own = (nanos(), any::<i64>(), any::<i64>());
    let clock_shift = reading((nanos(), nanos()).prop_map(|(suspended, stepped)| ClockShift { suspended, stepped }));
    let metrics = vec((text(), reading(text())).prop_map(|(name, text)| MetricReading { name, text }), 0..3);
    let first = (0..2_u32, any::<u32>(), any::<u32>(), phase, nanos(), any_stamp(), any_stamp(), outcome());
    let second = (
        reading(process_times()),
        reading(usage()),
        reading(any::<u64>()),
        reading(daemons()),
        vec(survivor(), 0..3),
        own,
        reading(nanos()),
        (
            any::<u32>(),
            reading(account()).boxed(),
            reading(estimate()).boxed(),
            reading(counters()),
            clock_shift,
            metrics,
            prop_oneof![Just(not_probed()).boxed(), reading(probes()).boxed()],
        )
            .boxed(),
    );
    (first.boxed(), second.boxed()).prop_map(
        |(
            (series, seq, index, (phase, block), wall_clock, start, end, outcome),
            (process_times, usage, peak_memory, daemons, survivors, own, steal, last),
        )| Sample {
            series,
            seq,
            index,
            phase,
            block,
            wall_clock,
            start,
            end,
            outcome,
            process_times,
            usage,
            peak_memory,
            daemons,
            survivors,
            own: OwnUse { cpu: own.0, voluntary_switches: own.1, involuntary_switches: own.2 },
            steal,
            account: last.1,
            estimate: last.2,
            counters: last.3,
            environment_padding: last.0,
            cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
            clock_shift: last.4,
            metrics: last.5,
            probes: last.6,
        },
    )
}

/// Runs that differ in values that are hard to store: texts, names, readings and floats.
pub fn any_run() -> impl Strategy<Value = Run> {
    let finite = || any::<f64>().prop_filter("finite", |f| f.is_finite());
    let texts = || btree_map(text(), text(), 0..4);
    let status = prop_oneof![Just(Status::Unfinished), Just(Status::Interrupted), Just(Status::Finished)];
    let first = (any::<u128>(), nanos(), text(), status, texts(), texts(), vec(text(), 0..3), option::of(probe_plan()));
    let second =
        (finite(), finite(), vec((name(), name()), 0..3), name(), reading(text()), reading(finite()), pt_source());
    (first, second).prop_map(
        |(
            (id, created, tool, status, notes, tags, pt_source_notes, probes),
            (sigma, precision, env, cwd, cpu, hz, source),
        )| {
            let mut run = run(id);
            run.plan.probes = probes;
            (run.created, run.tool, run.status) = (created, tool, status);
            // Some of them as earlier versions wrote them.
            run.notes = from_texts(notes, |_| None);
            (run.pt_source, run.pt_source_notes) = (source, pt_source_notes);
            (run.plan.sigma, run.plan.env, run.plan.cwd, run.plan.tags) = (sigma, env, cwd, tags);
            run.plan.runs = RunCount::Adaptive { precision, min: 1, max: u32::MAX };
            (run.host.cpu, run.host.cycle_counter_hz) = (cpu, hz);
            run
        },
    )
}
