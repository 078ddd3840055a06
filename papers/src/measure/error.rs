//! Why a study could not be made.

use crate::data::series::{SampleStudy, StudyGap};
use tarebench::documents::DocumentError;
use tarebench::run::session::SessionError;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::run::plan::RunPlan;
use tarebench_host::state::TuneError;
use tarebench_kbest::KbestError;
use tarebench_store::StoreError;
use tarebench_sys::error::SysError;

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
    /// One of its runs could not be measured.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A setting of the machine could not be made or undone.
    #[error(transparent)]
    Tune(#[from] TuneError),
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
    /// The machine was not restored after a run.
    #[error("the machine is not fully restored: {0}")]
    NotRestored(String),
    /// A run of it stopped, not by the user.
    #[error("measuring stopped: {0}")]
    Stopped(String),
    /// The samples of stored runs do not answer its question.
    #[error("the study {study} cannot be computed from these runs: {gap}")]
    Gap { study: SampleStudy, gap: StudyGap },
    /// Its commands may have been written by somebody else, and the caller has not said that it trusts them.
    #[error("{} was imported, and the commands may have been written by somebody else", .0.study)]
    Imported(Box<ImportedStudy>),
}

/// What resuming an imported study would run.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedStudy {
    pub study: Id,
    /// When it was imported, since 1970.
    pub imported: Nanos,
    /// Its missing runs: their commands, their user, environment and files.
    pub plans: Vec<RunPlan>,
}

impl From<StoreError> for StudyError {
    fn from(e: StoreError) -> StudyError {
        StudyError::Document(e.into())
    }
}
