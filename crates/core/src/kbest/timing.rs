//! What a measurement of a piece of code by K-best came to (CS:APP chapter 9): the raw trials, as the clock gave them, and what
//! was known about them. Times are computed from these, never stored.

use crate::base::reading::{Absent, Reading};
use crate::kbest::clocks::{ClockCounts, ClockKind};
use crate::kbest::scheme::{KBest, Parameters, SchemeOutcome};
use serde::{Deserialize, Serialize};

/// State of the caches at the beginning of each trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// As an uncounted execution left them.
    Warm,
    /// Emptied of data by writing and reading `bytes` bytes.
    Cold {
        /// Size of the buffer.
        bytes: u64,
    },
}

/// What is subtracted for each timer interrupt (CS:APP section 9.4.3, figure 9.16), in units of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compensation {
    /// The minimum cost of one in an activity trace, so that never too much is subtracted.
    pub cost: f64,
    /// From one to the next.
    pub period: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Units of the clock from before the first execution to after the last.
    pub count: u64,
    /// CPU time of the thread around it, ns: of the trial, its uncounted execution, and the readings themselves; so at least
    /// that of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// Timer interrupts of the CPU around it; `None` if they were not counted, or the thread changed its CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<u64>,
    /// Times that another process took the CPU around it (`ru_nivcsw`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
    /// Times that the thread waited around it (`ru_nvcsw`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<u64>,
    /// Cycles that the CPU core made for the thread in user mode, from a reading right before to one right after it; `None`
    /// where there is no such counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_cycles: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub clock: ClockKind,
    /// Its units in a second.
    pub hz: f64,
    /// State of the caches.
    pub cache: Cache,
    /// Executions in a trial, from 1.
    pub repetitions: u64,
    /// When the trials were to end.
    pub parameters: Parameters,
    /// What timer interrupts cost, if they were to be compensated for.
    pub compensation: Reading<Compensation>,
    /// The fastest of several trials of nothing, executed as often, in units of the clock.
    pub overhead: u64,
    /// Whether the times are to be without that.
    pub less_overhead: bool,
    /// From the beginning of a trial to that of the next one at least, ns.
    #[serde(default)]
    pub apart: u64,
    /// All trials in their order.
    pub trials: Vec<Trial>,
}

/// How reliable a measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum TimingStanding {
    /// The K fastest agree.
    Converged,
    /// They do not; the fastest is the best guess.
    NotConverged,
    /// The fastest trial took longer than the thread had a CPU in another one: in all trials another process had the
    /// CPU. The scheduler's slice is too short for this code with this number of processes, and the value is too long.
    SliceTooShort {
        /// Share of the fastest trial for which the thread had no CPU, at least.
        lacking: f64,
    },
    /// No trial lasted a hundred times as long as an empty one, and the code could not be repeated.
    TooShort,
}

/// Share of a trial for which the thread may lack the CPU before the value is called too long: interrupts alone stay below it.
pub const LACKING: f64 = 0.01;
/// A trial is too short for its clock if it is not this many times as long as an empty one.
pub const EMPTY_ONES: u64 = 100;

impl Timing {
    /// A trial's time in ns for one execution, minus what is to be subtracted.
    pub fn time(&self, trial: &Trial) -> f64 {
        self.net(trial) / self.hz * 1e9 / self.repetitions.max(1) as f64
    }

    /// A trial's time as it was, in ns for one execution.
    pub fn gross(&self, trial: &Trial) -> f64 {
        trial.count as f64 / self.hz * 1e9 / self.repetitions.max(1) as f64
    }

    /// The whole trial in units of the clock, minus what is to be subtracted.
    fn net(&self, trial: &Trial) -> f64 {
        let overhead = if self.less_overhead { self.overhead as f64 } else { 0.0 };
        trial.count as f64 - self.interrupts(trial) - overhead
    }

    /// Minimum time of the timer interrupts in a trial, in units of the clock. A trial of n periods certainly contains
    /// n interrupts, and perhaps one more; the fastest trials are those without that one. No more than were counted.
    pub fn interrupts(&self, trial: &Trial) -> f64 {
        let Some((c, counted)) = self.compensation.value().zip(trial.ticks) else { return 0.0 };
        let certain = (trial.count as f64 / c.period).floor();
        if certain.is_finite() { certain.min(counted as f64) * c.cost } else { 0.0 }
    }

    /// K-best over all trials, in ns for one execution. `None` without a trial.
    pub fn outcome(&self) -> Option<SchemeOutcome> {
        let mut k = KBest::new(self.parameters);
        self.trials.iter().for_each(|t| k.add(self.time(t)));
        k.outcome()
    }

    /// How reliable it is.
    pub fn standing(&self) -> TimingStanding {
        let Some(outcome) = self.outcome() else { return TimingStanding::NotConverged };
        let fastest = self.trials.iter().map(|t| t.count).min().unwrap_or(0);
        // CPU time was read around the trial, so that this is a bound.
        let cpu = self.trials.iter().filter_map(|t| t.cpu).min();
        let elapsed = fastest as f64 / self.hz * 1e9;
        let lacking = cpu.map_or(0.0, |cpu| 1.0 - cpu as f64 / elapsed);
        if self.clock.counts() == ClockCounts::Elapsed && lacking > LACKING {
            TimingStanding::SliceTooShort { lacking }
        } else if self.repetitions <= 1 && fastest < self.overhead.saturating_mul(EMPTY_ONES) {
            TimingStanding::TooShort
        } else if outcome.converged {
            TimingStanding::Converged
        } else {
            TimingStanding::NotConverged
        }
    }

    /// What it takes in ns for one execution, unless it is known to be too long.
    pub fn value(&self) -> Reading<f64> {
        match (self.outcome(), self.standing()) {
            (None, _) => Reading::Absent(Absent::NotAsked("no trial was made".to_owned())),
            (_, TimingStanding::SliceTooShort { lacking }) => Reading::Absent(Absent::Failed(format!(
                "another process had the CPU in every trial, for at least {:.0}% of the fastest: measure with the \
                 thread's CPU time",
                lacking * 100.0
            ))),
            (Some(outcome), _) => Reading::Value(outcome.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timing(counts: &[u64]) -> Timing {
        let one =
            |count| Trial { count, cpu: None, ticks: None, preemptions: Some(0), waits: Some(0), core_cycles: None };
        Timing {
            clock: ClockKind::Counter,
            hz: 1e9,
            cache: Cache::Warm,
            repetitions: 1,
            parameters: Parameters::default(),
            compensation: Reading::Absent(Absent::NotAsked("none".to_owned())),
            overhead: 30,
            less_overhead: false,
            apart: 0,
            trials: counts.iter().map(|c| one(*c)).collect(),
        }
    }

    #[test]
    fn the_fastest_that_agree() {
        let t = timing(&[10_000_000, 9_000_000, 9_000_100, 9_000_200]);
        assert_eq!((t.standing(), t.value()), (TimingStanding::Converged, Reading::Value(9e6)));
        assert_eq!(timing(&[9_000_000, 9_100_000, 9_200_000]).standing(), TimingStanding::NotConverged);
        assert_eq!(timing(&[]).value().value(), None);
    }

    #[test]
    fn for_one_execution_without_what_an_empty_trial_takes() {
        let mut t = timing(&[100_030; 3]);
        t.repetitions = 1000;
        assert_eq!(t.value(), Reading::Value(100.03));
        t.less_overhead = true;
        assert_eq!(t.value(), Reading::Value(100.0));
        assert_eq!(t.gross(&t.trials[0]), 100.03);
    }

    #[test]
    fn too_short_for_the_clock() {
        assert_eq!(timing(&[2999; 3]).standing(), TimingStanding::TooShort);
        assert_eq!(timing(&[3000; 3]).standing(), TimingStanding::Converged);
        let mut t = timing(&[2999; 3]);
        t.repetitions = 10;
        assert_eq!(t.standing(), TimingStanding::Converged);
    }

    /// 5 ms of computing with three others on the CPU, each for 4 ms at a time.
    #[test]
    fn a_slice_that_is_too_short_is_told() {
        let mut t = timing(&[17_000_000, 17_000_010, 17_000_020]);
        t.trials.iter_mut().for_each(|t| t.cpu = Some(5_001_000));
        assert!(matches!(t.standing(), TimingStanding::SliceTooShort { lacking } if (lacking - 0.7058).abs() < 0.001));
        assert_eq!(t.value().value(), None);
        // One trial that fits is enough.
        t.trials[1].count = 5_000_000;
        assert_eq!(t.standing(), TimingStanding::NotConverged);
        // With a clock of the thread's own CPU time nothing is lacking.
        t.trials[1].count = 17_000_010;
        t.clock = ClockKind::ThreadCpu;
        assert_eq!(t.standing(), TimingStanding::Converged);
    }

    #[test]
    fn timer_interrupts_are_never_overcompensated() {
        let mut t = timing(&[10_000_000; 3]);
        t.compensation = Reading::Value(Compensation { cost: 20_000.0, period: 4e6 });
        assert_eq!(t.interrupts(&t.trials[0]), 0.0, "none was counted");
        for (counted, certain) in [(0, 0.0), (1, 1.0), (2, 2.0), (3, 2.0)] {
            t.trials[0].ticks = Some(counted);
            assert_eq!(t.interrupts(&t.trials[0]), certain * 20_000.0);
        }
        assert_eq!(t.time(&t.trials[0]), 9_960_000.0);
        t.trials[0].count = 3_999_999;
        assert_eq!(t.interrupts(&t.trials[0]), 0.0, "it may have been before or after");
    }

    proptest! {
        #[test]
        fn any_figures_do_no_harm(
            counts in proptest::collection::vec((any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>()), 0..9),
            hz in any::<f64>(), cost in any::<f64>(), period in any::<f64>(), repetitions in any::<u64>()
        ) {
            let mut t = timing(&[]);
            (t.hz, t.repetitions, t.less_overhead) = (hz, repetitions, true);
            t.compensation = Reading::Value(Compensation { cost, period });
            t.trials = counts.into_iter()
                .map(|(count, cpu, ticks)| Trial { count, cpu, ticks, preemptions: None, waits: None, core_cycles: None }).collect();
            let _ = (t.outcome(), t.standing(), t.value());
        }
    }
}
