//! The machine's clocks, and which to use for what.

use std::path::Path;
use tare_core::analysis::clock_choice::{Choice, choose};
use tare_core::clocks::Clocks;
use tare_core::units::Nanos;
use tare_sys::{SysResult, mechanisms, procfs};

/// What every mechanism of this machine costs and resolves; takes about a second.
///
/// # Errors
/// The system's.
pub fn clocks() -> SysResult<Clocks> {
    mechanisms::clocks(Path::new("/"))
}

/// Advice for code of this duration among so many active processes on its CPU.
pub fn advise(clocks: &Clocks, duration: Nanos, load: u32) -> Choice {
    // Readable by root where debugfs is mounted; elsewhere a process runs from tick to tick at least.
    let slice = procfs::read_text_below(Path::new("/"), "sys/kernel/debug/sched/base_slice_ns");
    let slice = slice.ok().and_then(|s| s.trim().parse().ok());
    choose(duration.as_f64(), load, slice, clocks)
}
