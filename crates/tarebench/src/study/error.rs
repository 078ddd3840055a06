//! Why a study could not be made.

use crate::documents::DocumentError;
use tarebench_kbest::KbestError;
use tarebench_store::StoreError;
use tarebench_sys::error::SysError;
/// Reasons.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The system's.
    #[error(transparent)]
    System(#[from] SysError),
    /// A measurement could not be made.
    #[error(transparent)]
    Kbest(#[from] KbestError),
    /// The store's.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// All short measurements are equal, or none is finite.
    #[error("no line fits the short measurements, so the expected time of the long ones is unknown")]
    Line,
    /// Not one of those that may be used.
    #[error("CPU {cpu} is not available; tare may use {allowed:?}")]
    Cpu {
        /// The one that was asked for.
        cpu: u32,
        /// Those that may be used.
        allowed: Vec<u32>,
    },
}

impl From<StoreError> for StudyError {
    fn from(e: StoreError) -> StudyError {
        StudyError::Document(e.into())
    }
}
