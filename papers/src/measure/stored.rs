//! Stored studies of both kinds: those of CS:APP, measured cell by cell, and those of samples, measured run by run. Both are documents
//! of kind study; their plans name the study in different fields.

use crate::measure::error::StudyError;
use crate::measure::run;
use crate::measure::run::Studied;
use crate::measure::samples;
use crate::measure::samples::SampleStudied;
use serde_json::Value;
use tarebench::documents::of_kind;
use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_store::Store;

#[derive(Clone, Debug, PartialEq)]
pub enum StoredStudy {
    Cells(Box<Studied>),
    /// Of samples of programs.
    Samples(Box<SampleStudied>),
}

/// Whether a document of kind study is one of samples, by its content.
pub fn is_of_samples(doc: &Value) -> bool {
    doc.get("sample_study").is_some()
}

/// Whether a stored study is one of samples.
///
/// # Errors
/// Those of the store; if the document is of another kind.
pub fn has_samples(store: &dyn Store, id: Id) -> Result<bool, StudyError> {
    Ok(is_of_samples(&of_kind(store, id, DocumentKind::Study)?.doc))
}

/// A stored study, finished or not.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<StoredStudy, StudyError> {
    match has_samples(store, id)? {
        true => Ok(StoredStudy::Samples(Box::new(samples::load(store, id)?))),
        false => Ok(StoredStudy::Cells(Box::new(run::load(store, id)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::{Study, StudyPlan, StudyPreset};
    use crate::data::series::{SampleStudy, SampleStudyPlan};

    #[test]
    fn the_two_kinds_are_told_apart() {
        let cells = serde_json::to_value(StudyPlan::new(Study::Kbest, StudyPreset::Minutes, 0)).unwrap();
        let plan = SampleStudyPlan {
            sample_study: SampleStudy::EtPt,
            preset: StudyPreset::Hour,
            cpus: Vec::new(),
            seed: 1,
            runs: Vec::new(),
        };
        let samples = serde_json::to_value(&plan).unwrap();
        assert!(!is_of_samples(&cells) && is_of_samples(&samples));
        assert!(serde_json::from_value::<SampleStudyPlan>(cells).is_err());
        assert!(serde_json::from_value::<StudyPlan>(samples.clone()).is_err());
        assert_eq!(serde_json::from_value::<SampleStudyPlan>(samples).unwrap(), plan);
    }
}
