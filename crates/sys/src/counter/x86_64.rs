//! x86-64: the time stamp counter.

use core::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

/// What [`fenced`] executes.
pub const FENCED: &str = "lfence; rdtsc; lfence";

/// After all that is before it, before all that is after it.
#[inline(always)]
pub fn fenced() -> u64 {
    // SAFETY: part of x86-64 (SSE2), without preconditions.
    unsafe {
        _mm_lfence();
        let t = _rdtsc();
        _mm_lfence();
        t
    }
}

#[inline(always)]
pub fn unfenced() -> u64 {
    // SAFETY: part of x86-64, without preconditions.
    unsafe { _rdtsc() }
}

/// After all that is before it (`rdtscp`).
#[inline(always)]
pub fn after() -> u64 {
    let mut cpu = 0;
    // SAFETY: in all x86-64 CPUs since 2008; writes to `cpu` only.
    unsafe { __rdtscp(&mut cpu) }
}

/// CPUID 8000_0007h, EDX bit 8: invariant TSC.
pub fn constant() -> Option<bool> {
    // SAFETY: cpuid is part of x86-64; the leaf is asked for only if there is one.
    #[allow(unused_unsafe, reason = "safe in later versions of core")]
    let (highest, leaf) = unsafe { (__cpuid(0x8000_0000).eax, 0x8000_0007) };
    if highest < leaf {
        return None;
    }
    #[allow(unused_unsafe, reason = "safe in later versions of core")]
    // SAFETY: the leaf is there.
    let edx = unsafe { __cpuid(leaf).edx };
    Some(edx & (1 << 8) != 0)
}
