//! CPUs: which there are, and where this process may run.

use crate::{SysError, SysResult, procfs};
use std::path::Path;

/// A set of CPUs in the kernel's form.
#[derive(Clone, Copy)]
pub struct CpuSet(pub(crate) libc::cpu_set_t);

impl CpuSet {
    /// From CPU numbers.
    ///
    /// # Errors
    /// If one is beyond what the set can hold (1,023).
    pub fn new(cpus: &[u32]) -> SysResult<CpuSet> {
        // SAFETY: all-zero is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for &cpu in cpus {
            let n = cpu as usize;
            if n >= libc::CPU_SETSIZE as usize {
                return Err(SysError::format("list of CPUs", "CPU numbers below 1024", cpu.to_string().as_bytes()));
            }
            // SAFETY: `n` is below CPU_SETSIZE.
            unsafe { libc::CPU_SET(n, &mut set) };
        }
        Ok(CpuSet(set))
    }
}

/// CPUs that this process may use.
pub fn allowed() -> SysResult<Vec<u32>> {
    // SAFETY: all-zero is the empty set, and the call writes no more than its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) != 0 {
            return Err(SysError::last("sched_getaffinity"));
        }
        Ok((0..libc::CPU_SETSIZE as u32).filter(|&c| libc::CPU_ISSET(c as usize, &set)).collect())
    }
}

/// Bytes of a page of memory.
pub fn page_bytes() -> u64 {
    // SAFETY: no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Confines this process (its main thread) to these CPUs.
///
/// # Errors
/// The system's, e.g. when no CPU of the list is online.
pub fn confine(cpus: &[u32]) -> SysResult<()> {
    let set = CpuSet::new(cpus)?;
    // SAFETY: the set is valid for reading.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&set.0), &set.0) } != 0 {
        return Err(SysError::last(format!("run tare on CPUs {cpus:?}")));
    }
    Ok(())
}

/// Whether other tasks than this thread run, or are ready to, on any CPU; also where that cannot be read.
pub(crate) fn others_run() -> bool {
    let running = procfs::read_below(Path::new("/"), "proc/loadavg").and_then(|d| procfs::parse_running(&d));
    running.map_or(true, |n| n > 1)
}

/// Confines this thread to the CPU that it is on; returns the CPUs that it could use before. `None` if they were no
/// more, or the system refuses.
pub(crate) fn stay() -> Option<CpuSet> {
    // SAFETY: all-zero is the empty set, the calls read and write no more than its size, and the number is checked.
    unsafe {
        let mut before: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&before), &mut before) != 0 || libc::CPU_COUNT(&before) < 2 {
            return None;
        }
        let here = CpuSet::new(&[u32::try_from(libc::sched_getcpu()).ok()?]).ok()?;
        (libc::sched_setaffinity(0, size_of_val(&here.0), &here.0) == 0).then_some(CpuSet(before))
    }
}

/// Gives a thread (0: this one) back the CPUs that it had before [`stay`]. May be called by a vfork child.
pub(crate) fn leave(before: &CpuSet, thread: libc::pid_t) -> bool {
    // SAFETY: the set is valid for reading.
    unsafe { libc::sched_setaffinity(thread, size_of_val(&before.0), &before.0) == 0 }
}
