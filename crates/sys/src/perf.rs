//! The software event task-clock of perf_event_open(2): CPU time of a tree, without privilege.

use crate::{SysError, SysResult};
use std::io::Read;
use std::os::fd::FromRawFd;
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::Nanos;

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

pub(crate) const HARDWARE: u32 = 0;
pub(crate) const CPU_CYCLES: u64 = 0;
pub(crate) const INSTRUCTIONS: u64 = 1;
pub(crate) const CACHE_MISSES: u64 = 3;
const HARDWARE_CACHE: u32 = 3;
/// Of PERF_TYPE_HW_CACHE: L1 data, reads, misses.
const L1_READ_MISSES: u64 = 1 << 16;
pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const TASK_CLOCK: u64 = 1;
pub(crate) const DISABLED: u64 = 1;
pub(crate) const INHERIT: u64 = 1 << 1;
/// Stopped, not multiplexed, where no counter is free.
pub(crate) const PINNED: u64 = 1 << 2;
pub(crate) const EXCLUDE_USER: u64 = 1 << 4;
pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(crate) const EXCLUDE_HV: u64 = 1 << 6;
pub(crate) const ENABLE_ON_EXEC: u64 = 1 << 12;
pub(crate) const TIMES: u64 = 3;
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
    pub fn read(&mut self) -> SysResult<Nanos> {
        let mut value = [0; 8];
        self.file.read_exact(&mut value).map_err(|e| SysError::io("read perf task-clock", e))?;
        Ok(Nanos(i64::from_ne_bytes(value)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLevel {
    /// The first, data that are loaded.
    First,
    Last,
}

impl CacheLevel {
    pub const ALL: [CacheLevel; 2] = [CacheLevel::First, CacheLevel::Last];
}

/// Cache misses of another thread, in user mode and in the kernel, from now on.
pub struct CacheMisses {
    file: std::fs::File,
}

impl CacheMisses {
    /// Starts to count those of a thread.
    ///
    /// # Errors
    /// ENOENT or EOPNOTSUPP where there is no PMU (most virtual machines), EACCES where `perf_event_paranoid` forbids
    /// to count in the kernel (above 1).
    pub fn of(tid: i32, level: CacheLevel) -> SysResult<CacheMisses> {
        let (kind, config) = match level {
            CacheLevel::First => (HARDWARE_CACHE, L1_READ_MISSES),
            CacheLevel::Last => (HARDWARE, CACHE_MISSES),
        };
        Ok(CacheMisses { file: open_of(tid, kind, config, EXCLUDE_HV, TIMES)? })
    }

    /// Counts so far, also after the thread's end; `None` if there never was a counter for it.
    pub fn read(&mut self) -> SysResult<Option<u64>> {
        read_scaled(&mut self.file)
    }
}

/// A count for the whole time that its event was enabled, given the part of it that it had a counter.
fn scaled(count: u64, enabled: u64, running: u64) -> Option<u64> {
    let whole = u128::from(count) * u128::from(enabled);
    u64::try_from(whole.checked_div(u128::from(running))?).ok()
}

/// An event opened with [`TIMES`].
fn read_scaled(file: &mut std::fs::File) -> SysResult<Option<u64>> {
    let mut value = [0; 24];
    file.read_exact(&mut value).map_err(|e| SysError::io("read a hardware counter", e))?;
    let word = |at: usize| value.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes);
    Ok(scaled(word(0), word(8), word(16)))
}

fn open_hardware(config: u64, flags: u64, read_format: u64) -> SysResult<std::fs::File> {
    open_of(0, HARDWARE, config, flags, read_format)
}

/// Of a thread; 0 is this one.
pub(crate) fn open_of(tid: i32, kind: u32, config: u64, flags: u64, read_format: u64) -> SysResult<std::fs::File> {
    let attr = Attr { kind, size: size_of::<Attr>() as u32, config, flags, read_format, ..Attr::default() };
    // SAFETY: `attr` is valid for its stated size; any CPU, no group.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &attr, tid, -1, -1, FD_CLOEXEC) as i32 };
    if fd < 0 {
        return Err(SysError::last("perf_event_open of a hardware counter"));
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { std::fs::File::from_raw_fd(fd) })
}

/// Why there is no hardware counter.
pub fn no_counter(e: &SysError) -> Absent {
    match e.errno() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            Absent::NotSupported("no PMU (performance monitoring unit)".to_owned())
        }
        _ => e.absent("kernel.perf_event_paranoid of 1 or less, to count in the kernel"),
    }
}

/// Whether hardware counters can be used: opens the event cpu-cycles for this process, user space only.
///
/// # Errors
/// ENOENT or EOPNOTSUPP where there is no PMU (most virtual machines), EACCES where `perf_event_paranoid` forbids it.
pub fn hardware_counters() -> SysResult<()> {
    open_hardware(CPU_CYCLES, DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV, 0).map(drop)
}

/// Core cycles of the calling thread in user mode, read by an instruction (`rdpmc`), without a system call.
#[cfg(target_arch = "x86_64")]
pub struct CoreCycles {
    _file: std::fs::File,
    page: *mut libc::c_void,
}

/// Bytes of the event's page that are mapped.
#[cfg(target_arch = "x86_64")]
const PAGE: usize = 4096;

#[cfg(target_arch = "x86_64")]
impl CoreCycles {
    /// Opens the event for the calling thread and maps its page (`struct perf_event_mmap_page`).
    ///
    /// # Errors
    /// As [`hardware_counters`]; ENOTSUP where the kernel does not let programs read the counter.
    pub fn open() -> SysResult<CoreCycles> {
        use std::os::fd::AsRawFd;
        let file = open_hardware(CPU_CYCLES, EXCLUDE_KERNEL | EXCLUDE_HV, 0)?;
        // SAFETY: a new shared mapping of an event's first page, for reading.
        let page =
            unsafe { libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if page == libc::MAP_FAILED {
            return Err(SysError::last("map the page of a hardware counter"));
        }
        let cycles = CoreCycles { _file: file, page };
        const CAP_USER_RDPMC: u64 = 1 << 2;
        if cycles.field::<u64>(40) & CAP_USER_RDPMC == 0 {
            let cause = std::io::Error::from_raw_os_error(libc::ENOTSUP);
            return Err(SysError::io("read a hardware counter by rdpmc", cause));
        }
        Ok(cycles)
    }

    /// A field of the page, which the kernel may change at any time.
    #[inline(always)]
    fn field<T: Copy>(&self, at: usize) -> T {
        // SAFETY: the page is mapped as long as this value lives, and all fields that are asked for lie in it, aligned.
        unsafe { self.page.cast::<u8>().add(at).cast::<T>().read_volatile() }
    }

    /// Cycles so far; `None` while the event has no counter. The sequence is that of `linux/perf_event.h`.
    #[inline]
    pub fn read(&self) -> Option<u64> {
        use std::sync::atomic::{Ordering, compiler_fence};
        loop {
            let lock: u32 = self.field(8);
            compiler_fence(Ordering::SeqCst);
            let (index, offset, width): (u32, i64, u16) = (self.field(12), self.field(16), self.field(48));
            // SAFETY: an index is given only while the kernel lets this thread read the counter.
            let count = index.checked_sub(1).map(|i| unsafe { rdpmc(i) });
            compiler_fence(Ordering::SeqCst);
            if self.field::<u32>(8) == lock {
                // The counter has `width` bits, and a sign.
                let unused = 64_u32.saturating_sub(u32::from(width)).min(63);
                return count.map(|c| offset.wrapping_add((c << unused) as i64 >> unused) as u64);
            }
        }
    }
}

/// # Safety
/// The kernel lets this thread read the counter; the instruction faults otherwise.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn rdpmc(counter: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller's.
    unsafe { core::arch::asm!("rdpmc", in("ecx") counter, out("eax") low, out("edx") high, options(nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(target_arch = "x86_64")]
impl Drop for CoreCycles {
    fn drop(&mut self) {
        // SAFETY: mapped in `open`, and nothing refers to it any more.
        unsafe { libc::munmap(self.page, PAGE) };
    }
}

/// On other architectures the counter is not read by programs.
#[cfg(not(target_arch = "x86_64"))]
pub struct CoreCycles;

#[cfg(not(target_arch = "x86_64"))]
impl CoreCycles {
    /// Not available.
    ///
    /// # Errors
    /// ENOTSUP.
    pub fn open() -> SysResult<CoreCycles> {
        let cause = std::io::Error::from_raw_os_error(libc::ENOTSUP);
        Err(SysError::io("read a hardware counter by an instruction", cause))
    }

    pub fn read(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_scaled_to_the_time_enabled() {
        assert_eq!(scaled(100, 50, 50), Some(100));
        assert_eq!(scaled(100, 60, 20), Some(300));
        assert_eq!(scaled(0, 0, 0), None, "never counted is not zero");
        assert_eq!(scaled(u64::MAX, 2, 1), None);
    }
}
