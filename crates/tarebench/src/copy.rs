//! Copying stored results between stores: to the server and back.

use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_store::copy::{PushError, PushProgress, Pushed, digest, push_document, push_run};
use tarebench_store::{DocumentFilter, NamedDocument, RunFilter, Store, StoreError};

/// A result that is now in another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number where it came from.
    pub here: NamedDocument,
    /// Its number where it is now.
    pub there: NamedDocument,
    /// What was new there.
    pub pushed: Pushed,
    /// Samples of a run that both stores have now; 0 of other documents.
    pub samples: u64,
    /// Whether it has ended; a run that is still measured is pushed again later.
    pub finished: bool,
}

/// All that a store has: runs, then other documents, the oldest first, as later ones may refer to earlier ones.
pub fn everything(store: &dyn Store) -> Result<Vec<NamedDocument>, StoreError> {
    let mut runs: Vec<NamedDocument> =
        store.runs(&RunFilter::default())?.iter().map(|run| NamedDocument::Run(run.id)).collect();
    let documents = store.documents(&DocumentFilter::default())?;
    let mut documents: Vec<NamedDocument> =
        documents.iter().map(|document| NamedDocument::Document(document.head.id())).collect();
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
    what: NamedDocument,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<Delivered, PushError> {
    match what {
        NamedDocument::Run(id) => deliver_run(from, id, to, watch),
        NamedDocument::Document(id) => deliver_document(from, id, to),
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
    Ok(Delivered { here: NamedDocument::Run(run), there: NamedDocument::Run(there), pushed, samples, finished })
}

fn deliver_document(from: &dyn Store, id: Id, to: &mut dyn Store) -> Result<Delivered, PushError> {
    let pushed = push_document(from, id, to)?;
    let head = from.document(id)?.head;
    let there = to.documents(&DocumentFilter { kind: Some(id.kind), ..DocumentFilter::default() })?;
    let there = there.iter().find(|d| d.head.uuid == head.uuid).map_or(id, |d| d.head.id());
    let finished = head.status == Status::Finished || id.kind == DocumentKind::Bench;
    let [here, there] = [id, there].map(NamedDocument::Document);
    Ok(Delivered { here, there, pushed, samples: 0, finished })
}
