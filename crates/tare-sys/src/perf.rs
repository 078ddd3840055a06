//! The software event task-clock of perf_event_open(2): CPU time of a tree, without privilege.

use crate::{SysError, SysResult};
use std::io::Read;
use std::os::fd::FromRawFd;
use tare_core::units::Nanos;

/// `struct perf_event_attr` up to PERF_ATTR_SIZE_VER0.
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    bp_type: u32,
    config1: u64,
}

const HARDWARE: u32 = 0;
const CPU_CYCLES: u64 = 0;
const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// A task-clock that sleeps in this process and counts in the programs that it starts, from their exec on, with
/// all their descendants, dead or alive, waited for or not.
pub struct TaskClock {
    file: std::fs::File,
}

impl TaskClock {
    /// Opens the event.
    ///
    /// # Errors
    /// EACCES where `perf_event_paranoid` forbids it, ENOSYS or ENOENT where there is no perf.
    pub fn open() -> SysResult<TaskClock> {
        let open = |flags| {
            let attr =
                Attr { kind: SOFTWARE, size: size_of::<Attr>() as u32, config: TASK_CLOCK, flags, ..Attr::default() };
            // SAFETY: `attr` is valid for its stated size; this process, any CPU, no group.
            unsafe { libc::syscall(libc::SYS_perf_event_open, &attr, 0, -1, -1, FD_CLOEXEC) as i32 }
        };
        let flags = DISABLED | INHERIT | ENABLE_ON_EXEC;
        // The task clock counts the same either way; unprivileged users may only open it with the kernel excluded.
        let fd = match open(flags) {
            -1 => open(flags | EXCLUDE_KERNEL | EXCLUDE_HV),
            fd => fd,
        };
        if fd < 0 {
            return Err(SysError::last("perf_event_open(task-clock)"));
        }
        // SAFETY: the descriptor is new and ours.
        Ok(TaskClock { file: unsafe { std::fs::File::from_raw_fd(fd) } })
    }

    /// CPU time counted so far, in all programs started since it was opened.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&mut self) -> SysResult<Nanos> {
        let mut value = [0; 8];
        self.file.read_exact(&mut value).map_err(|e| SysError::io("read perf task-clock", e))?;
        Ok(Nanos(i64::from_ne_bytes(value)))
    }
}

/// Whether hardware counters can be used: opens the event cpu-cycles for this process, user space only.
///
/// # Errors
/// ENOENT or EOPNOTSUPP where there is no PMU (most virtual machines), EACCES where `perf_event_paranoid` forbids it.
pub fn hardware_counters() -> SysResult<()> {
    let flags = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV;
    let attr = Attr { kind: HARDWARE, size: size_of::<Attr>() as u32, config: CPU_CYCLES, flags, ..Attr::default() };
    // SAFETY: `attr` is valid for its stated size; this process, any CPU, no group.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &attr, 0, -1, -1, FD_CLOEXEC) as i32 };
    if fd < 0 {
        return Err(SysError::last("perf_event_open(cpu-cycles)"));
    }
    // SAFETY: the descriptor is new and ours; closed at once.
    drop(unsafe { std::fs::File::from_raw_fd(fd) });
    Ok(())
}
