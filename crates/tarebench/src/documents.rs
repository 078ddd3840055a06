//! Shared by all measurements that are stored as documents: head, claim, place in the store.

use crate::run::session::{StorePlace, claimant, is_alive, new_uuid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::kbest::bench::Bench;
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::Host;
use tarebench_store::{Claimant, SqliteStore, Store, StoreError, StoredDocument, content};
use tarebench_sys::clock;

/// Why a document cannot be shown or resumed.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its content does not fit its kind.
    #[error("{id} cannot be read: {cause}")]
    Content {
        /// The document.
        id: Id,
        /// What is wrong.
        cause: String,
    },
    /// What is not kept cannot be resumed.
    #[error("{0} can only be resumed from a store")]
    NoStore(Id),
    /// Nothing is left to measure.
    #[error("{0} is finished")]
    Finished(Id),
    /// It was started on another machine.
    #[error("{id} was started on another machine ({machine}); samples of two machines cannot be mixed")]
    Elsewhere {
        /// The document.
        id: Id,
        /// Host name of that machine.
        machine: String,
    },
}

/// How to measure, beyond the plan.
#[derive(Clone, Debug, Default)]
pub struct MeasureOptions {
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
}

/// Why a measurement stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is complete.
    Finished,
    /// By a signal; the samples so far are stored.
    Interrupted(i32),
}

impl Stopped {
    /// The status of the document.
    pub fn status(self) -> Status {
        match self {
            Stopped::Finished => Status::Finished,
            Stopped::Interrupted(_) => Status::Interrupted,
        }
    }
}

/// Where a document is stored: in the user's store, or in memory until the measurement ends.
pub enum DocumentStore<'a> {
    /// The user's.
    Kept(&'a mut dyn Store),
    /// In memory.
    Memory(Box<dyn Store>),
}

impl DocumentStore<'_> {
    /// That of a measurement with this place.
    ///
    /// # Errors
    /// No store can be made in memory.
    pub fn at(place: &mut StorePlace) -> Result<DocumentStore<'_>, DocumentError> {
        Ok(match place.store() {
            Some(store) => DocumentStore::Kept(store),
            None => DocumentStore::Memory(Box::new(SqliteStore::in_memory()?)),
        })
    }

    /// The store.
    pub fn store(&mut self) -> &mut dyn Store {
        match self {
            DocumentStore::Kept(store) => &mut **store,
            DocumentStore::Memory(store) => &mut **store,
        }
    }

    /// Its number in the user's store; 0 if it is not stored.
    pub fn number(&self, id: Id) -> Id {
        match self {
            DocumentStore::Kept(_) => id,
            DocumentStore::Memory(_) => Id { number: 0, ..id },
        }
    }
}

/// The current conditions of this machine.
pub fn here() -> Conditions {
    let root = Path::new("/");
    Conditions::new(tarebench_host::host::describe(root), tarebench_host::factors::read(root))
}

/// Stored benchmarks.
///
/// # Errors
/// Those of the store; if the document does not hold benchmarks or is damaged.
pub fn bench(store: &dyn Store, id: Id) -> Result<(DocumentHead, Bench), DocumentError> {
    whole(store, id, DocumentKind::Bench, Bench::check)
}

/// A stored document that is expected to be of a kind, with its parts.
///
/// # Errors
/// Those of the store; if it is of another kind.
pub fn of_kind(store: &dyn Store, id: Id, kind: DocumentKind) -> Result<StoredDocument, DocumentError> {
    if id.kind != kind {
        let cause = format!("it is a {}, expected a {}", id.kind.noun(), kind.noun());
        return Err(DocumentError::Content { id, cause });
    }
    Ok(store.document(id)?)
}

/// A stored document without parts, of a kind with this check.
pub(crate) fn whole<T: DeserializeOwned, E: std::fmt::Display>(
    store: &dyn Store,
    id: Id,
    kind: DocumentKind,
    check: impl Fn(&T) -> Result<(), E>,
) -> Result<(DocumentHead, T), DocumentError> {
    let document = of_kind(store, id, kind)?;
    let bad = |cause: String| DocumentError::Content { id, cause };
    let found: T = serde_json::from_value(document.doc).map_err(|e| bad(e.to_string()))?;
    check(&found).map_err(|e| bad(e.to_string()))?;
    Ok((document.head, found))
}

/// Creates and claims a document, to which this process then adds parts.
pub fn begin<T>(
    store: &mut dyn Store,
    kind: DocumentKind,
    title: &str,
    first: &T,
    options: &MeasureOptions,
) -> Result<(Id, Claimant), DocumentError>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let conditions = here();
    let claim = claimant(conditions.host());
    let head = DocumentHead {
        kind,
        number: 0,
        uuid: new_uuid(),
        title: title.to_owned(),
        created: clock::realtime(),
        status: Status::Unfinished,
        tool: crate::VERSION.to_owned(),
        machine: conditions.host().name.clone(),
        conditions: Some(Box::new(conditions)),
        tags: options.tags.clone(),
    };
    let id = store.create_document(&head, &content(first)?)?;
    store.claim(id, &claim, &is_alive)?;
    Ok((id, claim))
}

/// Claims an unfinished document in order to resume it.
///
/// # Errors
/// Those of the store; if it is finished, or of another machine.
pub fn claim_for_resume(store: &mut dyn Store, id: Id) -> Result<(StoredDocument, Claimant), DocumentError> {
    let host = tarebench_host::host::describe(Path::new("/"));
    let claim = claimant(&host);
    // From here on no other process changes it.
    store.claim(id, &claim, &is_alive)?;
    let document = store.document(id)?;
    let refused = if document.head.status == Status::Finished {
        DocumentError::Finished(id)
    } else if !same_machine(&document.head, &host) {
        DocumentError::Elsewhere { id, machine: document.head.machine }
    } else {
        store.set_status(id, Status::Unfinished)?;
        let head = DocumentHead { status: Status::Unfinished, ..document.head };
        return Ok((StoredDocument { head, ..document }, claim));
    };
    store.release(id, &claim)?;
    Err(refused)
}

/// Compares the machines' identities, or their names for documents of an earlier tare, which stored no identity.
fn same_machine(head: &DocumentHead, host: &Host) -> bool {
    match head.identity() {
        Some(identity) => identity == host.machine,
        None => head.machine == host.name,
    }
}

/// Sets the status of a document and releases its claim.
pub fn end(store: &mut dyn Store, id: Id, status: Status, claim: &Claimant) -> Result<(), DocumentError> {
    store.set_status(id, status)?;
    store.release(id, claim)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_made_by_one_process_and_gone_on_with() {
        let mut store = SqliteStore::in_memory().unwrap();
        let options = MeasureOptions { tags: [("a".to_owned(), "b".to_owned())].into() };
        let (id, claim) = begin(&mut store, DocumentKind::Study, "clocks", &vec![1.5, 2.0], &options).unwrap();
        let (there, again) = claim_for_resume(&mut store, id).unwrap();
        assert_eq!((there.head.status, there.head.title.as_str()), (Status::Unfinished, "clocks"));
        assert_eq!((there.head.identity(), &there.head.tags), (Some(claim.host.as_str()), &options.tags));
        assert_eq!(there.head.fingerprint(), Some(here().fingerprint()));
        assert_eq!((store.claimant(id).unwrap().as_ref(), &again), (Some(&claim), &claim));
        end(&mut store, id, Status::Finished, &claim).unwrap();
        assert_eq!(store.claimant(id).unwrap(), None);
        assert!(matches!(claim_for_resume(&mut store, id), Err(DocumentError::Finished(_))));
        assert!(matches!(bench(&store, id), Err(DocumentError::Content { .. })));
        assert!(begin(&mut store, DocumentKind::Study, "", &f64::NAN, &options).is_err());
    }

    /// Another machine with the same name is not this one; without an identity, the name decides.
    #[test]
    fn machines_are_told_apart_by_their_identity() {
        let mut store = SqliteStore::in_memory().unwrap();
        let (id, claim) = begin(&mut store, DocumentKind::Study, "", &1, &MeasureOptions::default()).unwrap();
        end(&mut store, id, Status::Interrupted, &claim).unwrap();
        let ours = store.document(id).unwrap().head;
        let conditions = ours.conditions.clone().unwrap();
        let changed = |uuid: &str, host: Option<Host>, name: &str| DocumentHead {
            uuid: uuid.repeat(32),
            machine: name.to_owned(),
            conditions: host.map(|h| Box::new(Conditions::new(h, Vec::new()))),
            ..ours.clone()
        };
        let host = conditions.host().clone();
        let other = Host { machine: "0".repeat(16), ..host.clone() };
        let taken = |store: &mut dyn Store, head: &DocumentHead| {
            let id = store.create_document(head, &serde_json::json!(1)).unwrap();
            claim_for_resume(store, id).map(|(document, _)| document.head.status)
        };
        let named = host.name.clone();
        assert!(matches!(taken(&mut store, &changed("a", Some(other), &named)), Err(DocumentError::Elsewhere { .. })));
        assert_eq!(taken(&mut store, &changed("b", Some(host), "renamed")).unwrap(), Status::Unfinished);
        assert_eq!(taken(&mut store, &changed("c", None, &named)).unwrap(), Status::Unfinished);
        assert!(matches!(taken(&mut store, &changed("d", None, "far")), Err(DocumentError::Elsewhere { .. })));
    }
}
