//! Why noise could not be measured.

use crate::documents::DocumentError;
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::calibration::NotCalibrated;
use tarebench_core::noise::detour::BadDetours;
use tarebench_core::noise::files::BadFile;
use tarebench_store::StoreError;
use tarebench_sys::error::SysError;
/// Reasons.
#[derive(Debug, thiserror::Error)]
pub enum NoiseError {
    /// The system's.
    #[error(transparent)]
    System(#[from] SysError),
    /// The store's.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// No counter.
    #[error("this CPU has no cycle counter that tare supports (x86-64 and aarch64 have one)")]
    NoCounter,
    /// The loop cannot be calibrated, or not for a grain.
    #[error("the loop cannot be calibrated: {0}")]
    Calibration(#[from] NotCalibrated),
    /// Not one of those that may be used.
    #[error("CPU {cpu} is not available; tare may use {allowed:?}")]
    Cpu {
        /// The one that was asked for.
        cpu: u32,
        /// Those that may be used.
        allowed: Vec<u32>,
    },
    /// A file of another tool.
    #[error(transparent)]
    File(#[from] FileError),
    /// The phases cannot be made real-time.
    #[error("{0}: real-time priorities are not permitted")]
    Priority(SysError),
    /// The cgroup of tare has no bandwidth for real-time tasks.
    #[error(
        "{error}: real-time priorities are not permitted: the cgroup has no real-time bandwidth ({} is 0)",
        file.display()
    )]
    Budget {
        /// The system's.
        error: SysError,
        /// The file with the bandwidth.
        file: std::path::PathBuf,
    },
}

impl From<StoreError> for NoiseError {
    fn from(e: StoreError) -> NoiseError {
        NoiseError::Document(e.into())
    }
}

/// A file that cannot be read as phases, or phases that cannot be written as a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Its lines.
    #[error(transparent)]
    Lines(#[from] BadFile),
    /// Its numbers.
    #[error(transparent)]
    Detours(#[from] BadDetours),
    /// No phase fits.
    #[error("the detours end after {} ns, before the end of the first phase of {} ns", end.0, grain.0)]
    NoPhase {
        /// The last detour's end, or the length that was given.
        end: Nanos,
        /// Length of a phase.
        grain: Nanos,
    },
    /// More phases than memory should have.
    #[error("{} ns are more than {MOST_PHASES} phases of {} ns: use a longer grain", end.0, grain.0)]
    TooMany {
        /// The last detour's end, or the length that was given.
        end: Nanos,
        /// Length of a phase.
        grain: Nanos,
    },
    /// A phase took no time.
    #[error("a phase took no time")]
    NoTime,
    /// Nothing to write.
    #[error("there are no phases of {what}; there are: {there}")]
    NoSuchPhases {
        /// What was asked for.
        what: String,
        /// What there is.
        there: String,
    },
}

/// Maximum number of phases that are made from detours: 400 MB.
pub(crate) const MOST_PHASES: i64 = 50_000_000;
