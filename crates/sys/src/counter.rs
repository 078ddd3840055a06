//! The CPU's cycle counter, read so that the code between two readings is all of what they enclose.
//!
//! x86-64: `rdtsc` may be executed before what stands before it, so it stands between two `lfence` (Intel SDM, RDTSC). aarch64: the
//! same with `isb` and `cntvct_el0` (Arm ARM, D12.1). One file for each, so that it can be read beside the manual.

use crate::{SysError, SysResult, clock, cpu};
use tarebench_core::base::units::Nanos;

#[cfg(target_arch = "aarch64")]
#[path = "counter/aarch64.rs"]
mod arch;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "counter/other.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "counter/x86_64.rs"]
mod arch;

pub use arch::{FENCED, after, fenced, unfenced};

/// Whether this machine has a counter that programs may read.
pub const PRESENT: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Whether the CPU reports that its counter has a constant rate, whatever the clock speed, and runs in sleep states.
/// `None` if it does not report it, as many hypervisors hide it.
pub fn constant() -> Option<bool> {
    arch::constant()
}

/// Largest difference between the counters of two of these CPUs, as far as readings on one after the other show: each CPU's
/// counter is read between two readings of CLOCK_MONOTONIC_RAW, the closest of many; counters that are in step differ by
/// no more than these pairs are apart. The thread's CPU affinity is restored.
///
/// # Errors
/// If the thread may not be moved.
pub fn apart(cpus: &[u32], hz: f64) -> SysResult<Nanos> {
    const TRIES: usize = 200;
    let before = cpu::allowed()?;
    let mut offsets = Vec::with_capacity(cpus.len());
    let origin = (clock::monotonic_raw(), fenced());
    let moved = cpus.iter().try_for_each(|cpu| {
        cpu::confine(&[*cpu])?;
        let reading = || {
            let a = clock::monotonic_raw();
            let count = fenced();
            let b = clock::monotonic_raw();
            let by_counter = count.wrapping_sub(origin.1) as i64 as f64 / hz * 1e9;
            let by_clock = (a.0 + (b.0 - a.0) / 2 - origin.0.0) as f64;
            (b - a, by_counter - by_clock)
        };
        offsets.extend((0..TRIES).map(|_| reading()).min_by_key(|(gap, _)| *gap));
        Ok::<(), SysError>(())
    });
    cpu::confine(&before)?;
    moved?;
    let (low, high) = offsets.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (_, o)| (l.min(*o), h.max(*o)));
    // Differences smaller than the distance of the readings cannot be measured.
    let told = offsets.iter().map(|(gap, _)| gap.as_f64()).fold(0.0, f64::max);
    Ok(Nanos((high - low).max(told).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_forward_whatever_the_fences() {
        if PRESENT {
            let mut last = fenced();
            for read in [unfenced, after, fenced] {
                for _ in 0..1000 {
                    let now = read();
                    assert!(now >= last);
                    last = now;
                }
            }
        }
    }

    #[test]
    fn cpus_count_in_step() {
        if PRESENT {
            let cpus = cpu::allowed().unwrap();
            let hz = clock::cycle_counter_hz(Nanos::from_millis(20)).unwrap();
            assert!(apart(&cpus, hz).unwrap() < Nanos::from_millis(1));
            assert_eq!(cpu::allowed().unwrap(), cpus);
        }
    }
}
