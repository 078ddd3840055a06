//! Measures by the book's protocol (CS:APP section 9.6): estimates the code's duration and the load, and chooses clock
//! and method.

use crate::{Kbest, KbestError};
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use tarebench_core::kbest::clock_choice::{ClockChoice, ClockMethod, choose};
use tarebench_core::kbest::clocks::{ClockKind, Clocks};
use tarebench_core::kbest::scheme::Parameters;
use tarebench_core::kbest::timing::Timing;
use tarebench_sys::{clock, cpu, mechanisms, procfs, thread};

/// A measurement, and why its clock and method were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenMeasurement {
    /// Clock, method and reasons.
    pub choice: ClockChoice,
    /// Active processes on the CPU that were assumed, this one included.
    pub load: u32,
    /// The result.
    pub timing: Timing,
}

/// Executions that the duration is estimated from.
const TRIES: u32 = 3;
/// From this duration on, in ns, one is enough, and a few trials.
const LONG: f64 = 1e9;

/// Measures with the clock and method that fit the code's duration and the load: active processes on its CPU, itself
/// included. With `None`, the current number on the machine.
///
/// # Errors
/// [`KbestError`].
pub fn auto<R>(load: Option<u32>, mut code: impl FnMut() -> R) -> Result<ChosenMeasurement, KbestError> {
    let load = load.unwrap_or_else(present_load).max(1);
    let duration = estimate(&mut code);
    let choice = choose(duration, load, mechanisms::base_slice(Path::new("/")), clocks()?);
    let kbest = Kbest::new();
    let settings = match choice.method {
        ClockMethod::RepeatedKBest | ClockMethod::KBest => kbest.clock(choice.clock),
        ClockMethod::CompensatedKBest => kbest.clock(choice.clock).compensated(true),
        ClockMethod::CpuKBest => kbest.clock(ClockKind::ThreadCpu),
        // Differences between launches cannot be seen from inside; a few executions give the CPU time.
        ClockMethod::Runs => kbest.clock(ClockKind::ThreadCpu).parameters(Parameters::new(3, 0.01, 10, 0)?),
    };
    let timing = settings.measure(code)?;
    Ok(ChosenMeasurement { choice, load, timing })
}

/// What the choice is based on; measured once.
fn clocks() -> Result<&'static Clocks, KbestError> {
    static CLOCKS: OnceLock<Clocks> = OnceLock::new();
    if let Some(clocks) = CLOCKS.get() {
        return Ok(clocks);
    }
    let clocks = mechanisms::some(&[ClockKind::Counter, ClockKind::MonotonicRaw, ClockKind::MonotonicCoarse])?;
    Ok(CLOCKS.get_or_init(|| clocks))
}

/// The fastest of some executions in ns; where another process had the CPU, at most its CPU time.
fn estimate<R>(code: &mut impl FnMut() -> R) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..TRIES {
        let (usage, began) = (thread::usage(), clock::monotonic_raw());
        black_box(code());
        let elapsed = (clock::monotonic_raw() - began).as_f64();
        let preempted = usage.zip(thread::usage()).filter(|(a, b)| b.preemptions > a.preemptions);
        let time = preempted.map_or(elapsed, |(a, b)| elapsed.min(b.cpu.saturating_sub(a.cpu) as f64));
        shortest = shortest.min(time);
        if elapsed > LONG {
            break;
        }
    }
    shortest
}

/// Active processes for each CPU that this thread may use, from `/proc/loadavg`.
fn present_load() -> u32 {
    let running = procfs::read_below(Path::new("/"), "proc/loadavg").and_then(|d| procfs::parse_running(&d));
    load_of(running.unwrap_or(1), cpu::allowed().map_or(1, |c| c.len()))
}

/// One if a CPU is free, more if other processes share one with it.
fn load_of(running: u64, cpus: usize) -> u32 {
    u32::try_from(running.div_ceil(cpus.max(1) as u64)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_a_cpu() {
        assert_eq!(load_of(1, 2), 1);
        assert_eq!(load_of(2, 2), 1);
        assert_eq!(load_of(5, 2), 3);
        assert_eq!(load_of(0, 0), 1);
    }

    #[test]
    fn short_code_is_repeated_and_long_code_among_others_measured_by_its_cpu_time() {
        let short = auto(Some(1), || (0..10_u64).fold(0, |a, b| black_box(a ^ b))).unwrap();
        assert_eq!(short.choice.method, ClockMethod::RepeatedKBest);
        assert!(short.timing.repetitions > 1);
        let long = auto(Some(3), || (0..10_000_000_u64).fold(0, |a, b| black_box(a ^ b))).unwrap();
        assert_eq!((long.choice.method, long.timing.clock), (ClockMethod::CpuKBest, ClockKind::ThreadCpu));
    }
}
