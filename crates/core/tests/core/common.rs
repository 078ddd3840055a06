//! Runs and samples for tests.
#![allow(dead_code)]

use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Factor;
use tarebench_core::machine::data::Host;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::{Cutoff, Profile};
use tarebench_core::run::data::*;
use tarebench_core::run::plan::*;
use tarebench_core::sample::daemons::Daemon;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::*;
use tarebench_core::sample::process_time::CpuTime;
use tarebench_core::sample::process_time::ProcessTimes;
use tarebench_core::sample::process_time::{PtSource, SourceCheck};

pub fn absent<T>() -> Reading<T> {
    Reading::Absent(Absent::NotAsked("test".to_owned()))
}

pub fn program(label: &str) -> Program {
    Program::new(label.to_owned(), Command::Argv(vec![Name::from(label)]))
}

pub fn plan(programs: usize) -> RunPlan {
    RunPlan { seed: 42, ..RunPlan::of((0..programs).map(|i| program(&format!("p{i}"))).collect()) }
}

pub fn run(programs: usize) -> Run {
    let factor = |step| Factor::new(step, format!("f{step}"), Standing::Held, "as wanted");
    Run {
        id: 7,
        uuid: "0".repeat(32),
        created: Nanos(0),
        tool: "test".into(),
        plan: plan(programs),
        host: Host {
            name: "h".into(),
            machine: "m".into(),
            boot: absent(),
            kernel: "k".into(),
            kernel_version: "v".into(),
            architecture: "x86_64".into(),
            distribution: absent(),
            cpu: absent(),
            microcode: Reading::Value("0x1".to_owned()),
            cpus: 4,
            memory: absent(),
            hypervisor: absent(),
            clock_source: absent(),
            cycle_counter_hz: absent(),
        },
        pt_source: PtSource::Cgroup,
        pt_source_notes: vec![],
        factors: (1..=4).map(factor).collect(),
        status: Status::Finished,
        notes: Vec::new(),
    }
}

pub fn daemon(name: &str, cpu: Nanos) -> Daemon {
    Daemon {
        pid: 1,
        start: Nanos(1),
        name: Name::from(name),
        kind: TaskKind::User,
        cpu,
        tick_bound: false,
        interval_counted: None,
        born: true,
        died: false,
    }
}

/// A successful counted sample; elapsed time is 1% above the process time, with 1 µs of tare's own.
pub fn sample(series: u32, index: u32, pt: Nanos, daemons: Vec<Daemon>) -> Sample {
    let stamp = |ns: i64| Stamp { monotonic: Nanos(ns), monotonic_raw: Nanos(ns), cycles: None };
    let cpu = CpuTime { user: pt, system: Nanos(0), total: pt };
    Sample {
        series,
        seq: index,
        index,
        phase: Phase::Counted,
        block: None,
        wall_clock: Nanos(0),
        start: stamp(0),
        end: stamp(pt.0.saturating_add(pt.0 / 100)),
        outcome: Outcome::Exited { code: 0 },
        process_times: Reading::Value(ProcessTimes {
            source: PtSource::Cgroup,
            cgroup: Reading::Value(cpu),
            task_clock: absent(),
            exit_records: absent(),
            wait4: absent(),
            check: SourceCheck::default(),
        }),
        usage: Reading::Value(Usage {
            max_rss: 1000 + u64::from(index),
            minor_faults: 1,
            major_faults: 2,
            voluntary_switches: 3,
            involuntary_switches: 4,
        }),
        peak_memory: Reading::Value(1000 + u64::from(index)),
        daemons: Reading::Value(Daemons {
            list: daemons,
            incomplete: None,
            processes: 100,
            image_before: Nanos(1),
            image_after: Nanos(1),
        }),
        survivors: vec![],
        own: OwnUse { cpu: Nanos(1000), voluntary_switches: 2, involuntary_switches: 0 },
        steal: Reading::Value(Nanos(0)),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: absent(),
        account: Reading::Absent(Absent::NotAsked("a test".into())),
        estimate: Reading::Absent(Absent::NotAsked("a test".into())),
        counters: Reading::Absent(Absent::NotSupported("no PMU".into())),
        environment_padding: 0,
        metrics: Vec::new(),
        probes: tarebench_core::sample::data::not_probed(),
    }
}

pub fn profile(cutoffs: Vec<Cutoff>) -> Profile {
    Profile { cpus: 4, ..Profile::of_cutoffs("prof", "m", "k", cutoffs) }
}
