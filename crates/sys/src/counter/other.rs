//! CPUs whose counter tare does not know: CLOCK_MONOTONIC_RAW in its place, in nanoseconds.

use crate::clock::monotonic_raw;

/// What [`fenced`] executes.
pub const FENCED: &str = "clock_gettime(CLOCK_MONOTONIC_RAW)";

/// Nanoseconds.
#[inline(always)]
pub fn fenced() -> u64 {
    monotonic_raw().0 as u64
}

/// Nanoseconds.
#[inline(always)]
pub fn unfenced() -> u64 {
    fenced()
}

/// Nanoseconds.
#[inline(always)]
pub fn after() -> u64 {
    fenced()
}

/// Nothing is known.
pub fn constant() -> Option<bool> {
    None
}
