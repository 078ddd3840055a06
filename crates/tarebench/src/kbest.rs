//! The machine's clocks, and which to use for a measurement.

use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{ClockChoice, choose};
use tarebench_core::kbest::clocks::Clocks;
use tarebench_sys::{SysResult, mechanisms};

/// Cost and resolution of every timing mechanism of this machine; takes about a second.
///
/// # Errors
/// The system's.
pub fn clocks() -> SysResult<Clocks> {
    mechanisms::clocks(Path::new("/"))
}

/// Advice for code of this duration with `load` active processes on its CPU.
pub fn advise(clocks: &Clocks, duration: Nanos, load: u32) -> ClockChoice {
    // If it is not reported, a process runs at least from tick to tick.
    let slice = mechanisms::base_slice(Path::new("/"));
    choose(duration.as_f64(), load, slice, clocks)
}
