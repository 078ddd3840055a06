//! Copying stored results between stores: to the server and back.

use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_store::copy::{PushError, PushProgress, Pushed, digest, push};
use tarebench_store::{DocumentFilter, Store, StoreError};

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
    let mut all: Vec<Id> = store.list(&DocumentFilter::default())?.iter().map(|d| d.head.id()).collect();
    all.reverse();
    all.sort_by_key(|id| id.kind != DocumentKind::Run);
    Ok(all)
}

/// Copies one result, or adds what is missing of it; both stores have the same afterwards.
///
/// # Errors
/// A failure of one of the stores, or what differs.
pub fn deliver(
    from: &dyn Store,
    here: Id,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<Delivered, PushError> {
    let (there, pushed) = push(from, here, to, watch)?;
    let finished = to.head(there)?.status == Status::Finished;
    let samples = match here.kind {
        // Both have the same, and this one is mostly the local store.
        DocumentKind::Run => digest(from, here.number)?.samples,
        _ => 0,
    };
    Ok(Delivered { here, there, pushed, samples, finished })
}
