//! The machine's clocks, and which to use for what.

use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::kbest::clock_choice::{Choice, choose};
use tarebench_core::kbest::clocks::Clocks;
use tarebench_sys::{SysResult, mechanisms};

/// What every mechanism of this machine costs and resolves; takes about a second.
///
/// # Errors
/// The system's.
pub fn clocks() -> SysResult<Clocks> {
    mechanisms::clocks(Path::new("/"))
}

/// Advice for code of this duration among so many active processes on its CPU.
pub fn advise(clocks: &Clocks, duration: Nanos, load: u32) -> Choice {
    // Where it is not told, a process runs from tick to tick at least.
    let slice = mechanisms::base_slice(Path::new("/"));
    choose(duration.as_f64(), load, slice, clocks)
}
