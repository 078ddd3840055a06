//! CPUs: which there are, and where this process may run.

use crate::{SysError, SysResult};

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
///
/// # Errors
/// The system's.
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
