//! The work of the probes, exactly fixed and in assembly, 0.3 to 5 µs each on current cores, together with the readings of the counter
//! around it. One file for each architecture, so that it can be read beside the manual.
//!
//! What a few hundred instructions take also depends on their addresses: a core finds branches, decoded instructions and lines of its
//! caches by them. By where the kernel loaded `tare`, some probes differed by 1 to 2% from one process to the next (KVM guest, EPYC),
//! as much as the machine itself does. So the work is copied to an address that is the same in every process.

#[cfg(target_arch = "aarch64")]
#[path = "kernels/aarch64.rs"]
mod arch;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "kernels/other.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "kernels/x86_64.rs"]
mod arch;

use super::places;
use std::sync::OnceLock;

pub use arch::missing;

/// A piece of work, by its place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProbeKernel {
    Latency,
    Issue,
    /// Independent loads from the page at `memory`.
    Loads,
    /// Independent stores to the page at `memory`.
    Stores,
    /// Branches by the bits of a generator, which is in `state` from one call to the next, so that no predictor can learn them. It is
    /// not zero.
    Branches,
    SystemCalls,
    /// A walk through a ring of `count` lines at `memory`, which are fetched before, untimed.
    FirstLevel,
    /// A walk of `count` steps along a chain of pointers: `state` is where it is.
    Chase,
    /// Independent loads from lines that a generator chooses, in `state`: of those at `memory`, with numbers up to `count`, a power of
    /// two less 1.
    Scatter,
    /// Jumps through 16 KiB of code.
    Code,
}

/// Bytes of the entry of a kernel.
const ENTRY: usize = 16;

/// What a kernel took, in ticks of the counter, and the state that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ProbeTime {
    pub ticks: u64,
    pub state: u64,
}

type Entry = unsafe extern "C" fn(state: u64, memory: *mut u64, count: u64) -> ProbeTime;

/// The code of all kernels, whole pages.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProbeCode {
    start: *const u8,
    end: *const u8,
}

// SAFETY: code, which nobody writes to.
unsafe impl Send for ProbeCode {}
// SAFETY: as above.
unsafe impl Sync for ProbeCode {}

impl ProbeCode {
    /// That of this process, at the address that it has in every process; where that cannot be had, where it was loaded.
    pub fn of_process() -> ProbeCode {
        static CODE: OnceLock<ProbeCode> = OnceLock::new();
        *CODE.get_or_init(|| {
            let loaded = arch::all();
            loaded.copied().unwrap_or(loaded)
        })
    }

    /// Executes a kernel once.
    ///
    /// # Safety
    /// There are probes for this CPU ([`missing`]), and the arguments are what the kernel needs.
    #[inline(never)]
    pub unsafe fn time(self, kernel: ProbeKernel, state: u64, memory: *mut u64, count: u64) -> ProbeTime {
        // SAFETY: by the caller; every kernel has an entry.
        unsafe {
            let entry = self.start.add(kernel as usize * ENTRY);
            std::mem::transmute::<*const u8, Entry>(entry)(state, memory, count)
        }
    }

    /// It refers to nothing outside itself, so that it runs wherever it is.
    fn copied(self) -> Option<ProbeCode> {
        let bytes = self.end.addr() - self.start.addr();
        let at = places::map(places::CODE, bytes).ok()?;
        // SAFETY: a fresh mapping of so many bytes; what is copied is code that can be read.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start, at.cast::<u8>(), bytes);
            // Never writable and executable at once.
            if at.addr() != places::CODE || libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                libc::munmap(at, bytes);
                return None;
            }
            Some(ProbeCode { start: at.cast(), end: at.cast::<u8>().add(bytes) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_lies_where_it_lies_in_every_process() {
        if missing().is_some() {
            return;
        }
        let (loaded, used) = (arch::all(), ProbeCode::of_process());
        assert_eq!((used.start.addr(), loaded.start.addr() % 4096, loaded.end.addr() % 4096), (places::CODE, 0, 0));
        // SAFETY: both are so many bytes of code.
        let [a, b] = [loaded, used]
            .map(|code| unsafe { std::slice::from_raw_parts(code.start, code.end.addr() - code.start.addr()) });
        assert!(a == b);
    }

    #[test]
    fn both_copies_do_the_same_work() {
        if missing().is_some() {
            return;
        }
        let mut page = [1_u64; 512];
        let mut ring = [0_u64; 8];
        ring[0] = ring.as_ptr().expose_provenance() as u64;
        for code in [arch::all(), ProbeCode::of_process()] {
            // SAFETY: a page, a ring of one line, two lines.
            unsafe {
                let time = |kernel, state, memory, count| code.time(kernel, state, memory, count);
                let page = page.as_mut_ptr();
                for kernel in [
                    ProbeKernel::Latency,
                    ProbeKernel::Issue,
                    ProbeKernel::Loads,
                    ProbeKernel::SystemCalls,
                    ProbeKernel::Code,
                ] {
                    assert!(time(kernel, 0, page, 0).ticks > 0, "{kernel:?}");
                }
                assert_eq!(time(ProbeKernel::Chase, ring[0], page, 5).state, ring[0]);
                assert_eq!(time(ProbeKernel::FirstLevel, 0, ring.as_mut_ptr(), 1).state, ring[0]);
                // 400 numbers of xorshift64, and 80 of Knuth's generator.
                let branched = (0..400).fold(5_u64, |x, _| {
                    let x = x ^ (x << 13);
                    let x = x ^ (x >> 7);
                    x ^ (x << 17)
                });
                assert_eq!(time(ProbeKernel::Branches, 5, page, 0).state, branched);
                let next = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                assert_eq!(time(ProbeKernel::Scatter, 5, page, 1).state, (0..80).fold(5, |x, _| next(x)));
                assert!(time(ProbeKernel::Stores, 0, page, 0).ticks > 0);
            }
            assert_eq!(page, [0; 512]);
            page = [1; 512];
        }
    }
}
