//! Which clock, and how to use it, for a piece of code, given its expected duration and the number of active processes
//! on its CPU: the book's protocol (CS:APP section 9.6) with what is true of current kernels. The kernel charges a
//! process to the nanosecond now, not by ticks, so its CPU time serves from about a millisecond on, where the book
//! wanted a second.

use crate::kbest::clocks::{ClockKind, Clocks};
use crate::kbest::scheme::chance_undisturbed;
use serde::{Deserialize, Serialize};

/// Shortest time for which a CPU clock's own cost is well below 1%, if it costs a microsecond; below it, the counter.
pub const CPU_CLOCK_FROM: f64 = 1e6;
/// Share of the duration that reading the clock twice may take.
pub const COST: f64 = 0.01;
/// Period of the tick, ns, where the machine does not report it: CONFIG_HZ of 250.
const TICK: f64 = 4e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockMethod {
    /// Repeat the code inside of each trial, as a single one is too short for the clock; then K-best.
    RepeatedKBest,
    /// K-best with an elapsed clock.
    KBest,
    /// K-best with a clock of elapsed time, minus the minimum cost of the timer interrupts.
    CompensatedKBest,
    /// K-best with a clock of CPU time, as others have the CPU meanwhile.
    CpuKBest,
    /// Several runs as a separate program, by `tare run`: process time, daemons and outliers.
    Runs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockReason {
    /// Reading the clock would take more than 1% of the duration.
    TooShortForTheClock,
    /// It ends before others get the CPU in most trials, and before the next tick in many.
    FitsBetweenInterruptions,
    /// Several ticks fall into every trial, and nothing else.
    TicksInEveryTrial,
    /// Others get the CPU in many trials, or in all.
    OthersInTrials,
    /// Longer than a second: what differs between launches is more than what the clock adds.
    LaunchesDiffer,
    /// There is no cycle counter that can be used.
    NoCounter,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockChoice {
    pub clock: ClockKind,
    pub method: ClockMethod,
    /// Why, the most important first.
    pub reasons: Vec<ClockReason>,
    /// Executions in a trial.
    pub repetitions: u64,
    /// Between two ticks of the timer, ns.
    pub tick: f64,
    /// For how long a process runs before another one gets the CPU, ns.
    pub slice: f64,
    /// Probability that a trial is not interrupted by another process.
    pub undisturbed: f64,
    /// Trials that are needed on average for three undisturbed ones; `None` if there can be none.
    pub trials: Option<f64>,
}

/// Chooses for a duration in ns and a load: active processes on the CPU, the measured one included, as in the book (from 1).
/// `base_slice`: the scheduler's time slice, ns, if that is known. It acts only at ticks, so a process
/// runs from tick to tick at least.
pub fn choose(duration: f64, load: u32, base_slice: Option<f64>, clocks: &Clocks) -> ClockChoice {
    let tick = clocks.measured(ClockKind::MonotonicCoarse).and_then(|m| m.resolution).unwrap_or(TICK);
    let slice = base_slice.unwrap_or(0.0).max(tick);
    let counter = clocks.measured(ClockKind::Counter).filter(|_| clocks.constant.value() != Some(&false));
    let elapsed = if counter.is_some() { ClockKind::Counter } else { ClockKind::MonotonicRaw };
    let latency = clocks.measured(elapsed).map_or(50.0, |m| m.latency.max(m.resolution.unwrap_or(0.0)));
    let undisturbed = if load <= 1 { 1.0 } else { chance_undisturbed(duration, slice) };
    let (clock, method, reason) = if duration * COST < 2.0 * latency {
        (elapsed, ClockMethod::RepeatedKBest, ClockReason::TooShortForTheClock)
    } else if duration >= 1e9 {
        (ClockKind::ProcessCpu, ClockMethod::Runs, ClockReason::LaunchesDiffer)
    } else if load > 1 && duration >= CPU_CLOCK_FROM {
        (ClockKind::ThreadCpu, ClockMethod::CpuKBest, ClockReason::OthersInTrials)
    } else if duration >= tick {
        (elapsed, ClockMethod::CompensatedKBest, ClockReason::TicksInEveryTrial)
    } else {
        (elapsed, ClockMethod::KBest, ClockReason::FitsBetweenInterruptions)
    };
    let mut reasons = vec![reason];
    if counter.is_none() {
        reasons.push(ClockReason::NoCounter);
    }
    let repetitions = match method {
        // Enough that the clock takes 0.1%.
        ClockMethod::RepeatedKBest => (2.0 * latency / (0.1 * COST) / duration.max(0.1)).ceil() as u64,
        _ => 1,
    };
    let trials = Some(3.0 / undisturbed).filter(|t| t.is_finite());
    ClockChoice { clock, method, reasons, repetitions, tick, slice, undisturbed, trials }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::{Absent, Reading};
    use crate::kbest::clocks::{MeasuredClock, Mechanism, ReadingMethod};

    fn clocks(constant: bool) -> Clocks {
        let mechanism = |kind, latency| Mechanism {
            kind,
            measured: Reading::Value(MeasuredClock {
                way: ReadingMethod::Instruction,
                resolution: Some(1.0),
                latency,
                went_back: false,
            }),
        };
        Clocks {
            source: Reading::Absent(Absent::NotSupported("none".to_owned())),
            counter_hz: Reading::Value(2e9),
            constant: Reading::Value(constant),
            apart: Reading::Value(10.0),
            mechanisms: vec![mechanism(ClockKind::Counter, 20.0), mechanism(ClockKind::MonotonicRaw, 40.0)],
        }
    }

    fn chosen(duration: f64, load: u32) -> (ClockKind, ClockMethod) {
        let c = choose(duration, load, Some(2.8e6), &clocks(true));
        (c.clock, c.method)
    }

    #[test]
    fn by_duration_and_load() {
        assert_eq!(chosen(100.0, 1), (ClockKind::Counter, ClockMethod::RepeatedKBest));
        assert_eq!(chosen(100.0, 11), (ClockKind::Counter, ClockMethod::RepeatedKBest));
        assert_eq!(chosen(0.5e6, 1), (ClockKind::Counter, ClockMethod::KBest));
        assert_eq!(chosen(0.5e6, 4), (ClockKind::Counter, ClockMethod::KBest));
        assert_eq!(chosen(5e6, 1), (ClockKind::Counter, ClockMethod::CompensatedKBest));
        assert_eq!(chosen(5e6, 3), (ClockKind::ThreadCpu, ClockMethod::CpuKBest));
        assert_eq!(chosen(5e9, 1), (ClockKind::ProcessCpu, ClockMethod::Runs));
        assert_eq!(chosen(5e9, 9), (ClockKind::ProcessCpu, ClockMethod::Runs));
    }

    #[test]
    fn trials_and_repetitions() {
        let c = choose(2e6, 2, Some(2.8e6), &clocks(true));
        assert_eq!((c.slice, c.undisturbed, c.trials), (4e6, 0.5, Some(6.0)), "from tick to tick");
        let c = choose(2e6, 2, Some(8e6), &clocks(true));
        assert_eq!((c.slice, c.undisturbed, c.trials), (8e6, 0.75, Some(4.0)));
        assert_eq!(choose(2e6, 1, None, &clocks(true)).trials, Some(3.0));
        let c = choose(5e6, 2, None, &clocks(true));
        assert_eq!((c.undisturbed, c.trials), (0.0, None));
        // 2 readings of 20 ns are 0.1% of 40 µs.
        assert_eq!(choose(100.0, 1, None, &clocks(true)).repetitions, 400);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let _ = choose(odd, 0, Some(odd), &clocks(true));
        }
    }

    #[test]
    fn without_a_constant_counter() {
        let c = choose(0.5e6, 1, None, &clocks(false));
        assert_eq!((c.clock, c.reasons.len()), (ClockKind::MonotonicRaw, 2));
    }
}
