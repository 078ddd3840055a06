//! aarch64: the virtual counter of the generic timer.

use core::arch::asm;

/// What [`fenced`] executes.
pub const FENCED: &str = "isb; mrs cntvct_el0; isb";

/// After all that is before it, before all that is after it.
#[inline(always)]
pub fn fenced() -> u64 {
    let t: u64;
    // SAFETY: Linux lets programs read the virtual counter (CNTKCTL_EL1.EL0VCTEN). No `nomem`, so that memory accesses stay
    // on their side.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) t, options(nostack)) };
    t
}

#[inline(always)]
pub fn unfenced() -> u64 {
    let t: u64;
    // SAFETY: as above.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) t, options(nomem, nostack)) };
    t
}

/// After all that is before it.
#[inline(always)]
pub fn after() -> u64 {
    let t: u64;
    // SAFETY: as above.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) t, options(nostack)) };
    t
}

/// The architecture demands one rate of it, in all states (Arm ARM, D12.1.2).
pub fn constant() -> Option<bool> {
    Some(true)
}
