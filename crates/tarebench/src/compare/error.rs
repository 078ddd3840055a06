//! Why a gate could not be measured.

use crate::documents::DocumentError;
use crate::run::session::SessionError;
use tarebench_core::documents::head::Id;
use tarebench_run::RunError;
use tarebench_store::StoreError;

/// Reasons. A program that fails is none: it is a result of its benchmark.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The document, or the store.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// One of the runs.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A sample could not be stored.
    #[error("the last sample could not be stored; the gate stopped: {0}")]
    NotKept(Box<dyn std::error::Error + Send + Sync>),
    /// The machine cannot measure any more.
    #[error("measuring stopped: {0}")]
    Failed(RunError),
    /// Its commands may have been written by somebody else.
    #[error(
        "{0} was imported: its commands may have been written by somebody else, and their builds are not on this machine"
    )]
    Imported(Id),
    /// The request or the document contradicts itself.
    #[error("a gate of {benchmarks} benchmarks has runs for {runs} of them, each with the base and the head")]
    Runs {
        /// Benchmarks of the plan.
        benchmarks: usize,
        /// Those that can be run.
        runs: usize,
    },
}

impl From<StoreError> for GateError {
    fn from(e: StoreError) -> GateError {
        GateError::Document(e.into())
    }
}
