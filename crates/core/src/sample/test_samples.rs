//! A sample for tests, built in code. Tests of other crates have this file, too: so it names this one from outside.

use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::{Cycles, Nanos};
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::data::{ClockShift, Outcome, OwnUse, Phase, Sample, Stamp, Usage};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck};

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
