//! Where in the address space the code and the memory of the probes lie: at addresses that are the same in every process, as their times
//! depend on them. They are far from what the kernel uses by itself, and below 2³⁸, which every kernel has.

use std::io;

/// 64 GiB: above the heap of a program that is not relocated, below all else.
const FIRST: usize = 64 << 30;
pub const CODE: usize = FIRST;
/// The 64 MiB of the memory's probes.
pub const CHAIN: usize = FIRST + (1 << 30);
/// The memory of the first CPU's probes; that of the others follows.
const OWN: usize = FIRST + (2 << 30);
/// From one CPU's memory to the next one's.
const STEP: usize = 2 << 20;

/// The place of the memory of the `index`th CPU.
pub fn own(index: usize) -> usize {
    OWN + index * STEP
}

/// Maps fresh memory of this process alone there, or elsewhere if something is there.
///
/// # Errors
/// If there is none.
pub fn map(place: usize, bytes: usize) -> io::Result<*mut libc::c_void> {
    let any = std::ptr::null_mut();
    let fixed = libc::MAP_FIXED_NOREPLACE;
    // Before Linux 4.17 the flag is not known, and the address is a wish.
    for (address, flag) in [(std::ptr::without_provenance_mut(place), fixed), (any, 0)] {
        // SAFETY: a fresh mapping, which replaces none.
        let found = unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flag;
            libc::mmap(address, bytes, prot, flags, -1, 0)
        };
        if found != libc::MAP_FAILED {
            return Ok(found);
        }
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays() {
        let place = own(1000);
        let both = [map(place, 4096).unwrap(), map(place, 4096).unwrap()];
        assert!(both[0].addr() == place && both[1].addr() != place, "{both:?}");
        for at in both {
            // SAFETY: the mappings are ours.
            unsafe { libc::munmap(at, 4096) };
        }
    }
}
