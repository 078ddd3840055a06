//! Series for the tests of the studies, built in code.

use crate::data::series::{StudyProgram, StudySeries, StudyWork};
use std::collections::BTreeMap;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::{Cycles, Nanos};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Host;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::data::{ClockShift, Outcome, OwnUse, Phase, Sample, Stamp, Usage};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck};

/// Frequency of the cycle counter of [`sample`] and of the machine of [`head`], Hz.
pub(crate) const COUNTER_HZ: f64 = 3e9;

/// A counted, successful execution that began `start_s` after the first stamp, with this elapsed and process time, ns, on an
/// otherwise idle machine. Its clocks agree.
pub(crate) fn sample(index: u32, start_s: f64, elapsed_ns: i64, pt_ns: i64) -> Sample {
    let at = |t: Nanos| Stamp { monotonic: t, monotonic_raw: t, cycles: u64::try_from(t.0 * 3).ok().map(Cycles) };
    let start = Nanos::from_secs_f64(start_s);
    let not_asked = || Absent::NotAsked("a test".to_owned());
    let pt = CpuTime { user: Nanos(pt_ns), system: Nanos::ZERO, total: Nanos(pt_ns) };
    Sample {
        series: 0,
        seq: index,
        index,
        phase: Phase::Counted,
        block: None,
        wall_clock: Nanos(1_763_689_000_000_000_000) + start,
        start: at(start),
        end: at(start + Nanos(elapsed_ns)),
        outcome: Outcome::Exited { code: 0 },
        process_times: Reading::Value(ProcessTimes {
            source: PtSource::Wait4,
            cgroup: Reading::Absent(not_asked()),
            task_clock: Reading::Absent(not_asked()),
            exit_records: Reading::Absent(not_asked()),
            wait4: Reading::Value(pt),
            check: SourceCheck::default(),
        }),
        usage: Reading::Value(Usage {
            max_rss: 4_194_304,
            minor_faults: 120,
            major_faults: 0,
            voluntary_switches: 1,
            involuntary_switches: 2,
        }),
        peak_memory: Reading::Value(4_194_304),
        daemons: Reading::Value(Daemons {
            list: Vec::new(),
            incomplete: None,
            processes: 100,
            image_before: Nanos(900_000),
            image_after: Nanos(910_000),
        }),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos(200_000), voluntary_switches: 2, involuntary_switches: 0 },
        steal: Reading::Value(Nanos::ZERO),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: Reading::Value(ClockShift { suspended: Nanos::ZERO, stepped: Nanos::ZERO }),
        account: Reading::Absent(not_asked()),
        estimate: Reading::Absent(not_asked()),
        counters: Reading::Absent(not_asked()),
        environment_padding: 100,
        metrics: Vec::new(),
        probes: tarebench_core::sample::data::not_probed(),
    }
}

/// INC of this many seconds; without a size, a program of a stored run.
pub(crate) fn program(label: &str, size: Option<f64>) -> StudyProgram {
    let work = size.map_or(StudyWork::Stored, |seconds| StudyWork::Inc { seconds });
    StudyProgram { label: label.to_owned(), work, size }
}

/// A finished run on the machine of this name, whose conditions are known and which has no factors.
pub(crate) fn head(name: &str) -> DocumentHead {
    let known = |t: &str| Reading::Value(t.to_owned());
    let host = Host {
        name: name.to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: "6.1.0".to_owned(),
        kernel_version: "#1 SMP".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: known("0x1"),
        cpus: 2,
        memory: Reading::Value(4 << 30),
        hypervisor: known("none"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(COUNTER_HZ),
    };
    DocumentHead {
        kind: DocumentKind::Run,
        number: 1,
        uuid: "0".repeat(32),
        title: name.to_owned(),
        created: Nanos(1_763_689_000_000_000_000),
        status: Status::Finished,
        tool: "tare 0.0.0".to_owned(),
        machine: name.to_owned(),
        conditions: Some(Box::new(Conditions::new(host, Vec::new()))),
        tags: BTreeMap::new(),
    }
}

/// All these samples, as those of one program under one condition.
pub(crate) fn series<'a>(
    condition: &'a str,
    program: &'a StudyProgram,
    head: &'a DocumentHead,
    samples: &'a [Sample],
) -> StudySeries<'a> {
    StudySeries { condition, program, head, samples: samples.iter().collect() }
}
