//! What the kernel counts for the calling thread: CPU time and switches, and the timer interrupts of its CPU.

use crate::procfs::parse_int;
use crate::{SysError, SysResult, clock};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Counts of the calling thread so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time, ns.
    pub cpu: u64,
    /// Involuntary context switches (`ru_nivcsw`).
    pub preemptions: u64,
    /// Voluntary context switches (`ru_nvcsw`).
    pub waits: u64,
}

/// Reads them: two system calls, about a microsecond. `None` if the kernel does not report it.
pub fn usage() -> Option<ThreadUsage> {
    // SAFETY: all-zero is a valid rusage, and it is valid for writing.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &mut u) == 0).then_some(u)?
    };
    let cpu = u64::try_from(clock::gettime(libc::CLOCK_THREAD_CPUTIME_ID)?.0).ok()?;
    Some(ThreadUsage { cpu, preemptions: u64::try_from(u.ru_nivcsw).ok()?, waits: u64::try_from(u.ru_nvcsw).ok()? })
}

/// The CPU that the calling thread is on.
pub fn cpu() -> Option<u32> {
    // SAFETY: without preconditions.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Reads how many timer interrupts a CPU has had, from `/proc/interrupts`: `LOC` on x86-64, `arch_timer` on arm64. Reading it
/// allocates nothing.
pub struct Ticks {
    file: File,
    buffer: Vec<u8>,
}

impl Ticks {
    /// Opens the file.
    ///
    /// # Errors
    /// The system's, and if there is no such line.
    pub fn open(root: &Path) -> SysResult<Ticks> {
        let path = root.join("proc/interrupts");
        let what = || path.display().to_string();
        let file = File::open(&path).map_err(|e| SysError::io(what(), e))?;
        let text = std::fs::read(&path).map_err(|e| SysError::io(what(), e))?;
        if !text.split(|b| *b == b'\n').any(is_timer) {
            let expected = "a line of local timer interrupts: LOC or arch_timer";
            return Err(SysError::format(what(), expected, &text));
        }
        // The numbers may become longer.
        Ok(Ticks { file, buffer: vec![1; text.len() * 2 + 4096] })
    }

    /// Number so far on this CPU. `None` if the line no longer exists.
    pub fn read(&mut self, cpu: u32) -> Option<u64> {
        let mut filled = 0;
        while let Some(free) = self.buffer.get_mut(filled..).filter(|f| !f.is_empty()) {
            match self.file.read_at(free, filled as u64).ok()? {
                0 => break,
                n => filled += n,
            }
        }
        on_cpu(self.buffer.get(..filled)?, cpu)
    }
}

fn is_timer(line: &[u8]) -> bool {
    let label = line.trim_ascii_start();
    label.starts_with(b"LOC:") || line.trim_ascii_end().ends_with(b"arch_timer")
}

/// The count of one CPU; columns are those of the CPUs that are online.
fn on_cpu(text: &[u8], cpu: u32) -> Option<u64> {
    let mut lines = text.split(|b| *b == b'\n');
    let head = lines.next()?;
    let names = head.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let column = names.map(|w| w.strip_prefix(b"CPU").and_then(parse_int::<u32>)).position(|c| c == Some(cpu))?;
    let line = lines.find(|l| is_timer(l))?;
    let counts = line.split(|b| *b == b':').nth(1)?;
    parse_int(counts.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).nth(column)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_takes_cpu_time() {
        let a = usage().unwrap();
        let until = clock::monotonic() + tarebench_core::base::units::Nanos::from_millis(2);
        while clock::monotonic() < until {}
        let b = usage().unwrap();
        assert!(b.cpu > a.cpu && b.preemptions >= a.preemptions && b.waits >= a.waits);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(usage().unwrap().waits > b.waits);
    }

    #[test]
    fn the_local_timer_of_one_cpu() {
        let intel = b"            CPU0       CPU2       \n   1:          9          8   IO-APIC   1-edge      i8042\n \
                      LOC:      20738      17482   Local timer interrupts\n";
        assert_eq!([0, 1, 2].map(|c| on_cpu(intel, c)), [Some(20738), None, Some(17482)]);
        let arm = b"           CPU0       CPU1       \n 11:       5500       5600     GICv3  27 Level     arch_timer\n";
        assert_eq!([0, 1].map(|c| on_cpu(arm, c)), [Some(5500), Some(5600)]);
        assert_eq!(on_cpu(b"", 0), None);
        assert_eq!(on_cpu(b"CPU0\nLOC", 0), None);
        assert_eq!(on_cpu(b"CPU0\nLOC: x", 0), None);
    }

    #[test]
    fn this_cpu_has_had_some() {
        let mut t = Ticks::open(Path::new("/")).unwrap();
        let on = cpu().unwrap();
        let a = t.read(on).unwrap();
        assert!(a > 0 && t.read(on).unwrap() >= a);
        assert_eq!(t.read(100_000), None);
        let empty = tempfile::tempdir().unwrap();
        assert!(Ticks::open(empty.path()).is_err());
    }
}
