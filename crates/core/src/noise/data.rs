//! Measurements of noise (ICS'05, section 3): what was requested, what was measured, and how it is stored. The results
//! are computed from these by [`crate::noise::report`].

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::noise::phase::WorkPhase;
use crate::trace::timeline::ClockPair;
use crate::trace::timeline::{CpuEvent, CpuOccupant, Stolen};
use serde::{Deserialize, Serialize};

/// How the phases are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum PhaseScheduling {
    #[default]
    Other,
    Fifo {
        /// 1 to 98.
        priority: u8,
    },
}

/// Where phases are from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PhaseSource {
    #[default]
    Measured,
    /// Read from a file of another tool or machine; of the plan then only the grain and the unit are known.
    Imported {
        /// What the file has: `durations` or `detours`.
        form: String,
        file: String,
    },
}

/// The kernel's tick, as it is configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelTick {
    /// HZ: by the resolution of the kernel's coarse clock, which is a tick.
    pub hz: Reading<f64>,
    /// Whether idle CPUs are without it.
    pub idle: Reading<bool>,
    /// CPUs that are without it while a single task runs (`nohz_full`).
    pub full: Reading<Vec<u32>>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisePlan {
    /// Where the phases are from.
    #[serde(default)]
    pub source: PhaseSource,
    /// The tick; `None` of phases that were not measured here.
    #[serde(default)]
    pub tick: Option<KernelTick>,
    /// On these CPUs at once.
    pub cpus: Vec<u32>,
    pub sched: PhaseScheduling,
    /// Lengths of undisturbed phases, one after the other.
    pub grains: Vec<Nanos>,
    /// Most phases of a grain, on each CPU.
    pub phases: u64,
    /// Time for the phases of a grain; none begins later.
    pub limit: Option<Nanos>,
    /// What of the calibration's timings is taken.
    pub heuristic: Heuristic,
    /// Timings of the calibration.
    pub calibrations: u64,
    /// With the recorded kernel events of the CPUs.
    pub explain: bool,
    /// Units of the cycle counter in a second.
    pub hz: f64,
}

/// The calibration; its timings are the blob ([`crate::noise::blob::durations`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub cpu: u32,
    /// Iterations in each timing.
    pub iterations: u64,
    /// What came of it, in units of the counter.
    pub calibration: PhaseCalibration,
    /// What is in each phase beside its iterations, in the same: the reading of the counter.
    pub overhead: f64,
}

impl Calibrated {
    /// Expected duration of a phase of `iterations` iterations, in units of the counter.
    pub fn time(&self, iterations: u64) -> f64 {
        self.calibration.time(iterations, self.overhead)
    }
}

/// How the phases of a CPU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PhasesEnd {
    Complete,
    /// The time was over.
    TimeOver,
    /// By a signal to tare.
    Interrupted {
        signal: i32,
    },
    /// Real-time phases that took far longer than they should.
    TookTooLong,
    /// Somebody else ended the process.
    Died,
}

/// Phases on one CPU, back to back; their durations are the blob ([`crate::noise::blob::durations`]), in units of the counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub grain: Nanos,
    /// Iterations of the loop in each.
    pub iterations: u64,
    pub cpu: u32,
    pub ended: PhasesEnd,
    /// The counter, from the beginning of the first phase, beside CLOCK_MONOTONIC: before the first, after the last.
    pub pairs: Vec<ClockPair>,
    /// Switches to another task that the kernel counted; `None` if the process was killed.
    pub switches: Option<u64>,
    pub faults: Option<u64>,
    /// Cache misses in user mode and the kernel, of the last level, all phases together.
    pub cache_misses: Reading<u64>,
    /// The same of the first level, of loads.
    #[serde(default = "not_counted")]
    pub l1_misses: Reading<u64>,
    /// Steal time of this CPU during the measurement, as the kernel reports it: in whole ticks of 10 ms.
    pub stolen: Reading<Nanos>,
    /// The memory for the durations could not be paged out.
    pub locked: bool,
    /// Why there is no kernel's record of it; `None` if there is one.
    pub unexplained: Option<Absent>,
}

fn not_counted() -> Reading<u64> {
    Reading::Absent(Absent::NotAsked("the version of tare that measured did not count them".to_owned()))
}

/// The kernel's record of the phases of one CPU; its events are the blob ([`crate::noise::blob::events`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRecord {
    pub grain: Nanos,
    pub cpu: u32,
    /// The thread that had the phases.
    pub own: i32,
    /// What events are of, by their number.
    pub whats: Vec<CpuOccupant>,
    /// Everything reported from here on …
    pub from: Nanos,
    /// … until here is in the events, CLOCK_MONOTONIC.
    pub until: Nanos,
    /// Records that were lost.
    pub lost: u64,
    /// Switches that the kernel did not report, and that were found later.
    pub late: u64,
    /// Interrupts that the kernel does not report.
    pub missing: Vec<String>,
}

/// What is stored at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum NoisePart {
    /// The calibration, which comes first.
    Calibration(Calibrated),
    Phases(Series),
    /// The kernel's record of the phases before it.
    Kernel(KernelRecord),
    /// Steal time of a CPU during the measurement, as the kernel saw it ([`crate::noise::blob::stolen`]); it follows the recorded
    /// kernel events.
    Stolen {
        grain: Nanos,
        cpu: u32,
    },
    /// An HDR histogram (three digits, V2) of what the phases before it are over the calibrated length, in units of the
    /// counter; shorter ones count as 0. It is the blob.
    Histogram {
        grain: Nanos,
        cpu: u32,
        /// The calibrated length, in units of the counter.
        undisturbed: u64,
    },
}

/// Phases with their durations, and the recorded kernel events.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    pub series: Series,
    /// What each took, in units of the counter.
    pub durations: Vec<u64>,
    /// The kernel's record.
    pub kernel: Option<Kernel>,
}

/// The kernel's record of a CPU, with what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub record: KernelRecord,
    pub events: Vec<CpuEvent>,
    /// What the hypervisor took, in the order of the times at which the kernel saw it.
    pub stolen: Vec<Stolen>,
}

/// A measurement of noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// What was asked for.
    pub plan: NoisePlan,
    /// The calibration, and its timings in units of the counter.
    pub calibration: Option<(Calibrated, Vec<u64>)>,
    /// What is there of the phases.
    pub phases: Vec<Phases>,
}

impl Phases {
    /// The phases on CLOCK_MONOTONIC, by the pairs of readings; from 0 on, and by the counter's rate, without them.
    pub fn timed(&self, hz: f64) -> impl Iterator<Item = WorkPhase> + Clone + '_ {
        let per_unit = 1e9 / hz;
        let (origin, per_unit) = match self.series.pairs.as_slice() {
            [a, .., b] if b.cycles > a.cycles && b.clock > a.clock => {
                let per_unit = (b.clock - a.clock).as_f64() / (b.cycles - a.cycles);
                (a.clock + Nanos((-a.cycles * per_unit).round() as i64), per_unit)
            }
            [a, ..] => (a.clock, per_unit),
            [] => (Nanos::ZERO, per_unit),
        };
        // Rounds, as nothing is negative; the function that does is a call for each of ten million phases.
        let at = move |units: u64| origin + Nanos((units as f64 * per_unit + 0.5) as i64);
        // Sums of units are rounded, not single durations, so that nothing drifts.
        self.durations.iter().scan((0_u64, origin), move |(sum, start), duration| {
            *sum = sum.saturating_add(*duration);
            let end = at(*sum);
            let phase = WorkPhase { start: *start, duration: end - *start };
            *start = end;
            Some(phase)
        })
    }
}

/// What of the timings is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heuristic {
    /// The mean of those between the 10th and the 20th percentile: the paper's.
    #[default]
    SecondDecile,
    /// The shortest: as on a machine without noise.
    Minimum,
    /// The mean: the grain as a user would see it, with noise in it.
    Mean,
    Median,
}

/// What one iteration takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseCalibration {
    pub heuristic: Heuristic,
    /// How many timings there were.
    pub timings: usize,
    /// Time of an iteration, in the unit of the timings.
    pub per_iteration: f64,
}

impl PhaseCalibration {
    /// Duration of `iterations` iterations.
    pub fn time(&self, iterations: u64, overhead: f64) -> f64 {
        iterations as f64 * self.per_iteration + overhead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(durations: Vec<u64>, pairs: Vec<ClockPair>) -> Phases {
        let series = Series {
            grain: Nanos(1_000),
            iterations: 1,
            cpu: 0,
            ended: PhasesEnd::Complete,
            pairs,
            switches: None,
            faults: None,
            cache_misses: Reading::Value(0),
            l1_misses: Reading::Value(0),
            stolen: Reading::Value(Nanos::ZERO),
            locked: true,
            unexplained: None,
        };
        Phases { series, durations, kernel: None }
    }

    #[test]
    fn phases_are_placed_on_the_kernels_clock_without_drift() {
        let pair = |cycles, clock| ClockPair { cycles, clock: Nanos(clock), within: Nanos(30) };
        // 2.5 units a nanosecond.
        let p = phases(vec![2_501; 1_000_000], vec![pair(-25.0, 1_000), pair(2_501e6, 1_000_401_010)]);
        let timed: Vec<WorkPhase> = p.timed(2e9).collect();
        assert_eq!(timed[0].start, Nanos(1_010));
        assert_eq!(timed.last().unwrap().end(), Nanos(1_000_401_010));
        assert!(timed.windows(2).all(|w| w[0].end() == w[1].start));
        assert!(timed.iter().all(|p| (1_000..=1_001).contains(&p.duration.0)));
        let one = phases(vec![4], Vec::new());
        assert!(one.timed(2e9).eq([WorkPhase { start: Nanos(0), duration: Nanos(2) }]));
    }
}
