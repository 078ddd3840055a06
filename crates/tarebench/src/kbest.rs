//! The machine's clocks, and which to use for a measurement.

use std::path::Path;
use std::time::Duration;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{ClockChoice, choose};
use tarebench_core::kbest::clocks::Clocks;
use tarebench_core::kbest::interval_counting::{ClockTickRate, clock_tick_rate};
use tarebench_sys::{SysResult, clock, mechanisms};

/// Cost and resolution of every timing mechanism of this machine; takes about a second.
pub fn clocks() -> SysResult<Clocks> {
    mechanisms::clocks(Path::new("/"))
}

/// The rate of the clock behind times(2), counted over a sleep (CS:APP homework problem 9.10); `None` if it cannot be read.
pub fn times_rate(sleep: Duration) -> Option<ClockTickRate> {
    let (began, first) = (clock::monotonic(), mechanisms::clock_ticks()?);
    std::thread::sleep(sleep);
    let (ended, last) = (clock::monotonic(), mechanisms::clock_ticks()?);
    clock_tick_rate(last.checked_sub(first)?, (ended - began).as_f64() / 1e9)
}

/// Advice for code of this duration with `load` active processes on its CPU.
pub fn advise(clocks: &Clocks, duration: Nanos, load: u32) -> ClockChoice {
    // If it is not reported, a process runs at least from tick to tick.
    let slice = mechanisms::base_slice(Path::new("/"));
    choose(duration.as_f64(), load, slice, clocks)
}
