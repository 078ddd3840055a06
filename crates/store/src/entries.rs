//! What is done alike with documents of all kinds. Runs have tables of their own, as their samples are added one by one.

use crate::claim::Claimant;
use crate::database::{Database, values};
use crate::documents;
use crate::documents::{DocumentFilter, DocumentSummary, StoredDocument};
use crate::error::{Fault, Inner, StoreError};
use crate::profiles;
use crate::rows;
use crate::runs;
use serde_json::Value;
use std::cmp::Reverse;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_core::profile::data::Profile;

fn is_run(id: Id) -> bool {
    id.kind == DocumentKind::Run
}

pub(crate) fn no_such(path: &Path, id: Id) -> StoreError {
    if is_run(id) { runs::no_such(path, id.number) } else { documents::no_such(path, id) }
}

/// What a transaction locks that changes a document by what it has read of it.
fn lock_of(id: Id) -> String {
    if is_run(id) { rows::lock_of(id.number) } else { documents::lock_of(id) }
}

/// Whether there is such a document.
pub(crate) fn exists(db: &dyn Database, id: Id) -> Inner<bool> {
    if is_run(id) { runs::exists(db, id.number) } else { documents::exists(db, id) }
}

/// Fails if there is no such document.
pub(crate) fn require(db: &dyn Database, path: &Path, id: Id) -> Inner<()> {
    if exists(db, id)? { Ok(()) } else { Err(no_such(path, id).into()) }
}

/// Fails if there is no such document, or its content is not JSON.
pub(crate) fn require_json(db: &dyn Database, path: &Path, id: Id) -> Inner<()> {
    if is_run(id) {
        let cause = "it is a run, which is stored sample by sample".to_owned();
        return Err(StoreError::Unstorable { what: "document", cause }.into());
    }
    require(db, path, id)
}

/// A document without its content.
pub(crate) fn head(db: &dyn Database, path: &Path, id: Id) -> Inner<DocumentHead> {
    let found = match is_run(id) {
        true => rows::select_run(db, id.number)?.map(|run| run.head()),
        false => documents::head_of(db, id)?,
    };
    found.ok_or_else(|| no_such(path, id).into())
}

/// A document with its content.
pub(crate) fn document(db: &dyn Database, path: &Path, id: Id) -> Inner<StoredDocument> {
    if !is_run(id) {
        return documents::select(db, id)?.ok_or_else(|| no_such(path, id).into());
    }
    let run = rows::select_run(db, id.number)?.ok_or_else(|| no_such(path, id))?;
    let unstorable = |e: serde_json::Error| StoreError::Unstorable { what: "run", cause: e.to_string() };
    Ok(StoredDocument { head: run.head(), doc: serde_json::to_value(&run).map_err(unstorable)?, parts: Vec::new() })
}

/// The documents that fit the filter, the newest first.
pub(crate) fn list(db: &dyn Database, filter: &DocumentFilter) -> Inner<Vec<DocumentSummary>> {
    match filter.kind {
        Some(DocumentKind::Run) => return runs::summaries(db, filter),
        Some(_) => return documents::summaries(db, filter),
        None => {}
    }
    let mut all = runs::summaries(db, filter)?;
    all.extend(documents::summaries(db, filter)?);
    // Those with the same time stay as they are.
    all.sort_by_key(|summary| Reverse(summary.head.created));
    all.truncate(filter.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
    Ok(all)
}

/// Changes the status of a document, and its content if one is given.
pub(crate) fn update(db: &dyn Database, path: &Path, id: Id, status: Status, doc: Option<&Value>) -> Inner<()> {
    if doc.is_some() {
        require_json(db, path, id)?;
    }
    let changed = match is_run(id) {
        true => rows::update_status(db, id.number, status)?,
        false => documents::update(db, id, status, doc)?,
    };
    // A server's user who may read it but not change it changes none.
    if changed == 0 { Err(no_such(path, id).into()) } else { Ok(()) }
}

/// Removes a document with all that belongs to it.
pub(crate) fn remove(db: &dyn Database, path: &Path, id: Id) -> Inner<()> {
    require(db, path, id)?;
    match is_run(id) {
        true => db.execute("DELETE FROM run WHERE id = ?1", values![id.number]).map(|_| ())?,
        false => documents::delete(db, id)?,
    }
    rows::remove_unused_hosts(db)
}

/// When a document was imported.
pub(crate) fn imported(db: &dyn Database, path: &Path, id: Id) -> Inner<Option<Nanos>> {
    let found = if is_run(id) { rows::imported(db, id.number)? } else { documents::imported(db, id)? };
    found.ok_or_else(|| no_such(path, id).into())
}

pub(crate) fn claimant(db: &dyn Database, id: Id) -> Inner<Option<Claimant>> {
    if is_run(id) { runs::select_claimant(db, id.number) } else { documents::select_claimant(db, id) }
}

/// Makes `by` the only one that may add to a document.
pub(crate) fn claim(
    db: &dyn Database,
    path: &Path,
    id: Id,
    by: &Claimant,
    alive: &dyn Fn(&Claimant) -> bool,
) -> Inner<()> {
    db.lock(&lock_of(id))?;
    require(db, path, id)?;
    match claimant(db, id)? {
        Some(holder) if holds(&holder, by, alive) => Err(StoreError::Claimed { id, by: holder }.into()),
        _ if is_run(id) => runs::insert_claim(db, id.number, by),
        _ => documents::insert_claim(db, id, by),
    }
}

/// Whether a claim by `holder` blocks `by`.
fn holds(holder: &Claimant, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> bool {
    if holder.host != by.host {
        return true;
    }
    holder != by && holder.boot == by.boot && alive(holder)
}

/// Releases a claim, if `by` has it.
pub(crate) fn release(db: &dyn Database, id: Id, by: &Claimant) -> Inner<()> {
    if is_run(id) { runs::delete_claim(db, id.number, by) } else { documents::delete_claim(db, id, by) }
}

/// The document that a user means.
pub(crate) fn find(db: &dyn Database, path: &Path, text: &str) -> Inner<Id> {
    let named = text.parse::<Id>().ok().filter(|id| !is_run(*id));
    if let Some(id) = named
        && exists(db, id)?
    {
        return Ok(id);
    }
    let none = match runs::resolve(db, path, text) {
        Ok(run) => return Ok(Id::run(run)),
        Err(e @ Fault::Store(StoreError::NoSuch { .. })) => e,
        Err(e) => return Err(e),
    };
    if let Some(id) = documents::of_uuid(db, text)? {
        return Ok(id);
    }
    match (profiles::number(db, text)?, named) {
        (Some(id), _) => Ok(id),
        (None, Some(id)) => Err(no_such(path, id).into()),
        (None, None) => Err(none),
    }
}

/// All versions of the profile that a user has named without a version, the earliest first; none for any other name.
pub(crate) fn versions(db: &dyn Database, path: &Path, text: &str) -> Inner<Vec<Id>> {
    let found = find(db, path, text)?;
    let (name, version) = Profile::parse_label(text);
    if found.kind != DocumentKind::Profile || text.parse() == Ok(found) || version.is_some() {
        return Ok(Vec::new());
    }
    profiles::versions(db, name)
}
