//! Results beside runs and profiles: benchmarks, and what is made bit by bit as studies are.

use crate::run::session::{claimant, is_alive, new_uuid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{Head, Id, Kind};
use tarebench_core::kbest::bench::Bench;
use tarebench_store::{Claimant, Document, SqliteStore, Store, StoreError, content};
use tarebench_sys::clock;

/// What keeps a document from being shown or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its content is not what its kind has.
    #[error("{id} cannot be read: {cause}")]
    Content {
        /// The document.
        id: Id,
        /// What is wrong.
        cause: String,
    },
    /// There is nothing to go on with.
    #[error("{0} is finished")]
    Finished(Id),
    /// It was begun elsewhere.
    #[error("{id} was begun on another machine ({machine}); what is measured here cannot be mixed with it")]
    Elsewhere {
        /// The document.
        id: Id,
        /// Host name of that machine.
        machine: String,
    },
}

/// Stored benchmarks.
///
/// # Errors
/// The store's, or if the document is not of benchmarks, or damaged.
pub fn bench(store: &SqliteStore, id: Id) -> Result<(Head, Bench), DocumentError> {
    let document = store.document(id)?;
    let bad = |cause: String| DocumentError::Content { id, cause };
    if id.kind != Kind::Bench {
        return Err(bad(format!("it is a {}, expected a {}", id.kind.noun(), Kind::Bench.noun())));
    }
    let bench: Bench = read(id, document.doc)?;
    bench.check().map_err(|e| bad(e.to_string()))?;
    Ok((document.head, bench))
}

fn read<T: DeserializeOwned>(id: Id, doc: serde_json::Value) -> Result<T, DocumentError> {
    serde_json::from_value(doc).map_err(|e| DocumentError::Content { id, cause: e.to_string() })
}

/// Begins a document that this process makes bit by bit, and claims it.
///
/// # Errors
/// The store's.
pub fn begin<T>(store: &mut SqliteStore, kind: Kind, title: &str, first: &T) -> Result<(Id, Claimant), DocumentError>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let host = tarebench_host::host::describe(Path::new("/"));
    let head = Head {
        kind,
        number: 0,
        uuid: new_uuid(),
        title: title.to_owned(),
        created: clock::realtime(),
        status: Status::Unfinished,
        tool: crate::VERSION.to_owned(),
        machine: host.name.clone(),
    };
    let id = store.create_document(&head, &content(first)?)?;
    let claim = claimant(&host);
    store.claim_document(id, &claim, &is_alive)?;
    Ok((id, claim))
}

/// Claims a document that has not ended, to go on with it.
///
/// # Errors
/// The store's; if it is finished, or of another machine.
pub fn take_up(store: &mut SqliteStore, id: Id) -> Result<(Document, Claimant), DocumentError> {
    let host = tarebench_host::host::describe(Path::new("/"));
    let claim = claimant(&host);
    // From here on no other process changes it.
    store.claim_document(id, &claim, &is_alive)?;
    let document = store.document(id)?;
    let refused = if document.head.status == Status::Finished {
        DocumentError::Finished(id)
    } else if document.head.machine != host.name {
        DocumentError::Elsewhere { id, machine: document.head.machine }
    } else {
        store.set_document(id, Status::Unfinished, None)?;
        let head = Head { status: Status::Unfinished, ..document.head };
        return Ok((Document { head, ..document }, claim));
    };
    store.release_document(id, &claim)?;
    Err(refused)
}

/// Ends this process's work on a document.
///
/// # Errors
/// The store's.
pub fn end(store: &mut SqliteStore, id: Id, status: Status, claim: &Claimant) -> Result<(), DocumentError> {
    store.set_document(id, status, None)?;
    store.release_document(id, claim)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_made_by_one_process_and_gone_on_with() {
        let mut store = SqliteStore::in_memory().unwrap();
        let (id, claim) = begin(&mut store, Kind::Study, "clocks", &vec![1.5, 2.0]).unwrap();
        let (there, again) = take_up(&mut store, id).unwrap();
        assert_eq!((there.head.status, there.head.title.as_str()), (Status::Unfinished, "clocks"));
        assert_eq!((store.document_claimant(id).unwrap().as_ref(), &again), (Some(&claim), &claim));
        end(&mut store, id, Status::Finished, &claim).unwrap();
        assert_eq!(store.document_claimant(id).unwrap(), None);
        assert!(matches!(take_up(&mut store, id), Err(DocumentError::Finished(_))));
        assert!(matches!(bench(&store, id), Err(DocumentError::Content { .. })));
        assert!(begin(&mut store, Kind::Study, "", &f64::NAN).is_err());
    }
}
