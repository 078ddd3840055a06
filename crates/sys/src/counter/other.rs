//! CPUs whose counter tare does not know: CLOCK_MONOTONIC_RAW in its place, in nanoseconds.

use crate::clock::monotonic_raw;

/// What [`fenced`] executes.
pub const FENCED: &str = "clock_gettime(CLOCK_MONOTONIC_RAW)";

#[inline(always)]
pub fn fenced() -> u64 {
    monotonic_raw().0 as u64
}

#[inline(always)]
pub fn unfenced() -> u64 {
    fenced()
}

#[inline(always)]
pub fn after() -> u64 {
    fenced()
}

pub fn constant() -> Option<bool> {
    None
}
