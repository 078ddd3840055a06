//! Measurements of noise (ICS'05, section 3): what was asked for, what was measured, and how it is kept. What it comes to is
//! computed from these by [`crate::analysis::noise::report`].

pub mod blob;
pub mod bsp;

use crate::analysis::explained::Pair;
use crate::analysis::noise::Phase;
use crate::analysis::noise::calibration::{Calibration, Heuristic};
use crate::reading::Absent;
use crate::timeline::{Event, What};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How the phases are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Sched {
    /// The default scheduler.
    #[default]
    Other,
    /// SCHED_FIFO.
    Fifo {
        /// 1 to 98.
        priority: u8,
    },
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// On these CPUs at once.
    pub cpus: Vec<u32>,
    /// How.
    pub sched: Sched,
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
    /// With the kernel's record of the CPUs.
    pub explain: bool,
    /// Units of the cycle counter in a second.
    pub hz: f64,
}

/// The calibration; its timings are the blob ([`blob::durations`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// On which CPU.
    pub cpu: u32,
    /// Iterations in each timing.
    pub iterations: u64,
    /// What came of it, in units of the counter.
    pub calibration: Calibration,
    /// What is in each phase beside its iterations, in the same: the reading of the counter.
    pub overhead: f64,
}

impl Calibrated {
    /// What a phase of so many iterations should take, in units of the counter.
    pub fn time(&self, iterations: u64) -> f64 {
        self.calibration.time(iterations, self.overhead)
    }
}

/// How the phases of a CPU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ended {
    /// All were measured.
    Complete,
    /// The time was over.
    TimeOver,
    /// By a signal to tare.
    Interrupted {
        /// Which.
        signal: i32,
    },
    /// Real-time phases that took far longer than they should.
    TookTooLong,
    /// Somebody else ended the process.
    Died,
}

/// Phases on one CPU, back to back; their durations are the blob ([`blob::durations`]), in units of the counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Wanted length.
    pub grain: Nanos,
    /// Iterations of the loop in each.
    pub iterations: u64,
    /// On which CPU.
    pub cpu: u32,
    /// How it ended.
    pub ended: Ended,
    /// The counter, from the beginning of the first phase, beside CLOCK_MONOTONIC: before the first, after the last.
    pub pairs: Vec<Pair>,
    /// Switches to another task that the kernel counted; `None` if the process was killed.
    pub switches: Option<u64>,
    /// Page faults, likewise.
    pub faults: Option<u64>,
    /// The memory for the durations could not be paged out.
    pub locked: bool,
    /// Why there is no kernel's record of it; `None` if there is one.
    pub unexplained: Option<Absent>,
}

/// The kernel's record of the phases of one CPU; its events are the blob ([`blob::events`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of which grain.
    pub grain: Nanos,
    /// Of which CPU.
    pub cpu: u32,
    /// The thread that had the phases.
    pub own: i32,
    /// What events are of, by their number.
    pub whats: Vec<What>,
    /// All that was told from here on …
    pub from: Nanos,
    /// … until here is in the events, CLOCK_MONOTONIC.
    pub until: Nanos,
    /// Records that were lost.
    pub lost: u64,
    /// Switches that the kernel did not tell of, and that were found later.
    pub late: u64,
    /// Interrupts that the kernel does not tell of.
    pub missing: Vec<String>,
}

/// What is stored at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// The calibration, which comes first.
    Calibration(Calibrated),
    /// Phases.
    Phases(Series),
    /// The kernel's record of the phases before it.
    Kernel(Record),
}

/// Phases with their durations, and the kernel's record of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// What they are.
    pub series: Series,
    /// What each took, in units of the counter.
    pub durations: Vec<u64>,
    /// The kernel's record, with its events by their beginnings.
    pub kernel: Option<(Record, Vec<Event>)>,
}

/// A measurement of noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// What was asked for.
    pub plan: Plan,
    /// The calibration, and its timings in units of the counter.
    pub calibration: Option<(Calibrated, Vec<u64>)>,
    /// What is there of the phases.
    pub phases: Vec<Phases>,
}

impl Phases {
    /// The phases on CLOCK_MONOTONIC, by the pairs of readings; from 0 on, and by the counter's rate, without them.
    pub fn timed(&self, hz: f64) -> Vec<Phase> {
        let per_unit = 1e9 / hz;
        let (origin, per_unit) = match self.series.pairs.as_slice() {
            [a, .., b] if b.cycles > a.cycles && b.clock > a.clock => {
                let per_unit = (b.clock - a.clock).as_f64() / (b.cycles - a.cycles);
                (a.clock + Nanos((-a.cycles * per_unit).round() as i64), per_unit)
            }
            [a, ..] => (a.clock, per_unit),
            [] => (Nanos::ZERO, per_unit),
        };
        let at = |units: u64| origin + Nanos((units as f64 * per_unit).round() as i64);
        let (mut sum, mut start) = (0_u64, origin);
        let phase = |duration: &u64| {
            sum = sum.saturating_add(*duration);
            let end = at(sum);
            let phase = Phase { start, duration: end - start };
            start = end;
            phase
        };
        self.durations.iter().map(phase).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(durations: Vec<u64>, pairs: Vec<Pair>) -> Phases {
        let series = Series {
            grain: Nanos(1_000),
            iterations: 1,
            cpu: 0,
            ended: Ended::Complete,
            pairs,
            switches: None,
            faults: None,
            locked: true,
            unexplained: None,
        };
        Phases { series, durations, kernel: None }
    }

    #[test]
    fn phases_are_placed_on_the_kernels_clock_without_drift() {
        let pair = |cycles, clock| Pair { cycles, clock: Nanos(clock), within: Nanos(30) };
        // 2.5 units a nanosecond.
        let p = phases(vec![2_501; 1_000_000], vec![pair(-25.0, 1_000), pair(2_501e6, 1_000_401_010)]);
        let timed = p.timed(2e9);
        assert_eq!(timed[0].start, Nanos(1_010));
        assert_eq!(timed.last().unwrap().end(), Nanos(1_000_401_010));
        assert!(timed.windows(2).all(|w| w[0].end() == w[1].start));
        assert!(timed.iter().all(|p| (1_000..=1_001).contains(&p.duration.0)));
        assert_eq!(phases(vec![4], Vec::new()).timed(2e9), [Phase { start: Nanos(0), duration: Nanos(2) }]);
    }
}
