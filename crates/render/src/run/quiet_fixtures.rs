//! Realistic reports and samples with probes, for the tests.

use crate::run::fixtures;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::quiet::data::{
    FEATURES, HeldOut, MachineStates, NoQuietTime, PROBE_PERIOD, PriorSource, ProbePlan, ProbesSummary, QUIET_LIMIT,
    QuietDoubt, QuietLevels, QuietTime, Shrinkage, SlowdownCause,
};
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::probes::{
    CpuProbes, GateRecord, GateRule, GateWake, PROBE_KINDS, PROBE_REVISION, ProbeCost, ProbeWake, SampleProbes,
};

/// Corrected by -2.6%.
pub fn quiet_time() -> QuietTime {
    let mut coefficients = [0.0; FEATURES];
    (coefficients[0], coefficients[1]) = (1.0, 0.35);
    QuietTime {
        value: 286.4e6,
        interval: fixtures::interval(285.9e6, 286.9e6),
        uncorrected: 294.1e6,
        samples: 10,
        parts: vec![
            (SlowdownCause::Clock, 0.0192),
            (SlowdownCause::Sibling, 0.007),
            (SlowdownCause::Kernel, 0.0),
            (SlowdownCause::Memory, 0.00002),
        ],
        residual: 0.0014,
        held_out: HeldOut { plain: 0.021, corrected: 0.0016 },
        prior: PriorSource::SameProgram,
        coefficients,
        reference: [0.0; FEATURES],
        branches: Shrinkage::default(),
        doubts: Vec::new(),
        left_out: 0,
        disturbed: Vec::new(),
    }
}

pub fn probes_summary() -> ProbesSummary {
    ProbesSummary {
        samples: 10,
        gated: 10,
        stops: 42,
        paused: Nanos::from_millis(1_360),
        waited: Nanos::from_millis(210),
        limit_reached: 1,
        cpu: Nanos::from_millis(21),
        wakes: 1_432,
        late: 3,
    }
}

pub fn levels() -> QuietLevels {
    let mut levels = [1.0; PROBE_KINDS];
    levels[1] = 0.5;
    QuietLevels {
        revision: PROBE_REVISION,
        learned: Nanos(1_763_689_000_000_000_000),
        wakes: 90_000,
        latency: 2_000.0,
        levels,
    }
}

pub fn states() -> MachineStates {
    MachineStates {
        quiet: 0.41,
        quiet_period: Some(38e6),
        busy_period: Some(52e6),
        clock: [0.99, 1.01, 1.07],
        wakes: 90_000,
        span: (Nanos(1_763_600_000_000_000_000), Nanos(1_763_689_000_000_000_000)),
        stolen: Some(0.0021),
    }
}

fn probed(mut r: RunReport) -> RunReport {
    r.run.plan.probes =
        Some(ProbePlan { period: PROBE_PERIOD, gate: Some(GateRule::standard(QUIET_LIMIT)), correct: true });
    r.run.plan.cpus = vec![1];
    r.quiet_levels = Some(levels());
    r.states = Some(states());
    for s in &mut r.series {
        s.probes = Some(probes_summary());
    }
    r
}

/// One program that was corrected.
pub fn one() -> RunReport {
    let mut r = fixtures::two();
    r.series.truncate(1);
    r.comparisons.clear();
    r.remarks.clear();
    let mut r = probed(r);
    r.series[0].quiet = Some(Ok(quiet_time()));
    r
}

/// Two programs: one with doubts, and one that was not corrected.
pub fn two() -> RunReport {
    let mut r = probed(fixtures::two());
    let doubts = vec![QuietDoubt::Memory { coefficients: 0.61 }, QuietDoubt::Steal { samples: 3 }];
    r.series[0].quiet = Some(Ok(QuietTime { doubts, ..quiet_time() }));
    r.series[1].quiet = Some(Err(NoQuietTime::MoreCpus { used: 1.94, probed: 1 }));
    r
}

/// Three programs: corrected, not corrected, and only gated.
pub fn three() -> RunReport {
    let mut r = probed(fixtures::three());
    r.series[0].quiet = Some(Ok(quiet_time()));
    r.series[1].quiet = Some(Err(NoQuietTime::NoProbes { why: "not known: needs \x1b[31mCAP_SYS_NICE".to_owned() }));
    r.series[2].quiet = Some(Err(NoQuietTime::NotAsked));
    r
}

/// The samples of `fixtures::samples`, of which the last has no probes. The machine is quiet in the first half of each, and 20%
/// slower, with a busy sibling, in the second.
pub fn samples() -> Vec<Sample> {
    let mut all = fixtures::samples();
    let last = all.len() - 1;
    for (i, sample) in all.iter_mut().enumerate().filter(|(i, _)| *i != last) {
        sample.probes = Reading::Value(probes(100 + i as i64));
    }
    all
}

/// So many wakes, 2 ms apart.
pub fn probes(wakes: i64) -> SampleProbes {
    let wake = |i: i64| {
        let busy = i >= wakes / 2;
        let mut ticks = [1_000; PROBE_KINDS];
        ticks[0] = if busy { 2_400 } else { 2_000 };
        ticks[1] = if busy { 2_400 } else { 1_000 };
        ProbeWake { at: Nanos::from_millis(2 * i + 1), ticks }
    };
    SampleProbes {
        revision: PROBE_REVISION,
        cpus: vec![CpuProbes {
            cpu: 1,
            wakes: (0..wakes).map(wake).collect(),
            kept_every: 1,
            watched: Vec::new(),
            paused: vec![GateWake { at: Nanos::from_millis(wakes), latency: 2_000, issue: 2_000 }],
        }],
        gate: Some(GateRecord {
            waited: Nanos::from_millis(3),
            stops: 2,
            paused: Nanos::from_millis(40),
            limit_reached: false,
        }),
        cost: ProbeCost { cpu: Nanos(1_900_000), wakes: wakes as u64, late: 1 },
    }
}
