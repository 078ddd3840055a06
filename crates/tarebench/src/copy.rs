//! Copying stored results between stores: to the server and back.

use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_store::copy::{PushError, PushProgress, Pushed, digest, push_document, push_run};
use tarebench_store::{DocumentFilter, RunFilter, Store, StoreError};

/// A result that is now in another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number where it came from.
    pub here: Id,
    /// Its number where it is now.
    pub there: Id,
    /// What was new there.
    pub pushed: Pushed,
    /// Samples of a run that both stores have now; 0 of other documents.
    pub samples: u64,
    /// Whether it has ended; a run that is still measured is pushed again later.
    pub finished: bool,
}

/// All that a store has: runs, then other documents, the oldest first, as later ones may refer to earlier ones.
pub fn everything(store: &dyn Store) -> Result<Vec<Id>, StoreError> {
    let mut runs: Vec<Id> = store.runs(&RunFilter::default())?.iter().map(|run| Id::run(run.id)).collect();
    let documents = store.documents(&DocumentFilter::default())?;
    let mut documents: Vec<Id> = documents.iter().map(|document| document.head.id()).collect();
    runs.reverse();
    documents.reverse();
    Ok(runs.into_iter().chain(documents).collect())
}

/// Copies one result, or adds what is missing of it; both stores have the same afterwards.
///
/// # Errors
/// A failure of one of the stores, or what differs.
pub fn deliver(
    from: &dyn Store,
    what: Id,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<Delivered, PushError> {
    match what {
        Id { kind: DocumentKind::Run, number: id } => deliver_run(from, id, to, watch),
        id => deliver_document(from, id, to),
    }
}

fn deliver_run(
    from: &dyn Store,
    run: i64,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<Delivered, PushError> {
    let pushed = push_run(from, run, to, watch)?;
    let there = to.resolve(&from.run(run)?.uuid)?;
    let finished = to.run(there)?.status == Status::Finished;
    // Both have the same, and this one is mostly the local store.
    let samples = digest(from, run)?.samples;
    Ok(Delivered { here: Id::run(run), there: Id::run(there), pushed, samples, finished })
}

fn deliver_document(from: &dyn Store, id: Id, to: &mut dyn Store) -> Result<Delivered, PushError> {
    let pushed = push_document(from, id, to)?;
    let head = from.document(id)?.head;
    let there = to.documents(&DocumentFilter { kind: Some(id.kind), ..DocumentFilter::default() })?;
    let there = there.iter().find(|d| d.head.uuid == head.uuid).map_or(id, |d| d.head.id());
    let finished = head.status == Status::Finished || id.kind == DocumentKind::Bench;
    Ok(Delivered { here: id, there, pushed, samples: 0, finished })
}
