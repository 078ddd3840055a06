//! Errors of a measurement.

use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::scheme::BadParameters;
use tarebench_sys::SysError;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum KbestError {
    /// Invalid parameters of the scheme.
    #[error(transparent)]
    Parameters(#[from] BadParameters),
    /// A mechanism that cannot be used as a clock.
    #[error(
        "{0:?} cannot be used as a clock, expected Counter, MonotonicRaw, Monotonic, Gettimeofday, ThreadCpu, \
         ProcessCpu or Times"
    )]
    Clock(ClockKind),
    /// No repetition in a trial.
    #[error("0 repetitions in a trial, expected at least 1")]
    Repetitions,
    /// No memory for the buffer that empties the caches.
    #[error("cannot allocate {0} bytes to empty the caches: set a smaller size")]
    Memory(u64),
    /// The system's error.
    #[error(transparent)]
    System(#[from] SysError),
}
