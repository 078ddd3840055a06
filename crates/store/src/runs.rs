//! The runs of a store: stored, imported, claimed, listed, found.

use crate::archive::{notes_of, same_number};
use crate::claim::Claimant;
use crate::database::{Database, SqlValue, values};
use crate::documents::{DocumentFilter, DocumentSummary};
use crate::error::{Fault, Inner, StoreError};
use crate::rows;
use crate::rows::is_uuid;
use crate::samples;
use crate::samples::SampleBatch;
use crate::stream::{RunPiece, stream_run};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::machine::data::{Factor, Host};
use tarebench_core::run::data::Run;

/// The shortest prefix of a uuid that [`crate::Store::find`] accepts.
const SHORTEST_PREFIX: usize = 4;

pub(crate) fn no_such(path: &Path, run: impl ToString) -> StoreError {
    StoreError::NoSuch { path: path.to_owned(), what: format!("run {:?}", run.to_string()) }
}

/// The time since 1970.
pub(crate) fn now() -> Nanos {
    // A clock before 1970 counts as 1970, and one after 2262 as the last time that can be stored.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Whether there is such a run.
pub(crate) fn exists(db: &dyn Database, run: i64) -> Inner<bool> {
    db.exists("SELECT 1 FROM run WHERE id = ?1", values![run])
}

/// Fails if there is no such run.
pub(crate) fn require(db: &dyn Database, path: &Path, run: i64) -> Inner<()> {
    if exists(db, run)? { Ok(()) } else { Err(no_such(path, run).into()) }
}

/// Stores a new run; returns its number.
pub(crate) fn insert_new(db: &dyn Database, path: &Path, run: &Run) -> Inner<i64> {
    if !is_uuid(&run.uuid) {
        let cause = format!("its uuid is {:?}, expected 32 hex digits in lower case", run.uuid);
        return Err(StoreError::Unstorable { what: "run", cause }.into());
    }
    let find = || db.optional("SELECT id FROM run WHERE uuid = ?1", values![&run.uuid], |r| r.get(0));
    let duplicate = |there| StoreError::Duplicate { path: path.to_owned(), uuid: run.uuid.clone(), id: Id::run(there) };
    if let Some(there) = find()? {
        return Err(duplicate(there).into());
    }
    match rows::insert_run(db, run)? {
        Some(id) => Ok(id),
        // Another process has stored it meanwhile.
        None => Err(find()?.map_or_else(|| no_such(path, &run.uuid), duplicate).into()),
    }
}

/// Stores the run of an archive, piece by piece.
pub(crate) fn import(db: &dyn Database, path: &Path, reader: &mut dyn Read) -> Inner<i64> {
    let (mut id, mut notes, mut waiting) = (0, Vec::new(), SampleBatch::new(0));
    let number_is_free = |fault| match fault {
        Fault::Store(StoreError::DuplicateSample { seq, .. }) => same_number(seq).into(),
        other => other,
    };
    let version = stream_run(reader, &mut |piece| -> Inner<()> {
        match piece {
            RunPiece::Run(mut run) => {
                notes = std::mem::take(&mut run.notes);
                id = insert_new(db, path, &run)?;
                waiting = SampleBatch::new(id);
                rows::mark_imported(db, id, now())
            }
            RunPiece::Sample(sample) => waiting.add(db, &sample).map_err(number_is_free),
            RunPiece::Duet(duet) => samples::insert_duets(db, id, &[*duet]).map_err(number_is_free),
            RunPiece::Chunk(chunk) => rows::insert_chunk(db, id, &rows::document("recording", &chunk)?),
        }
    })?;
    waiting.insert(db).map_err(number_is_free)?;
    notes_of(version, notes).iter().try_for_each(|note| rows::insert_note(db, id, note))?;
    Ok(id)
}

pub(crate) fn insert_claim(db: &dyn Database, run: i64, by: &Claimant) -> Inner<()> {
    db.execute(
        "INSERT INTO claim (run_id, pid, start_ns, boot, host) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (run_id) DO UPDATE SET pid = excluded.pid, start_ns = excluded.start_ns,
                                            boot = excluded.boot, host = excluded.host",
        values![run, by.pid, by.start.0, &by.boot, &by.host],
    )?;
    Ok(())
}

pub(crate) fn delete_claim(db: &dyn Database, run: i64, by: &Claimant) -> Inner<()> {
    db.execute(
        "DELETE FROM claim WHERE run_id = ?1 AND pid = ?2 AND start_ns = ?3 AND boot = ?4 AND host = ?5",
        values![run, by.pid, by.start.0, &by.boot, &by.host],
    )?;
    Ok(())
}

pub(crate) fn select_claimant(db: &dyn Database, run: i64) -> Inner<Option<Claimant>> {
    db.optional("SELECT pid, start_ns, boot, host FROM claim WHERE run_id = ?1", values![run], |r| {
        Ok(Claimant { pid: r.get(0)?, start: Nanos(r.get(1)?), boot: r.get(2)?, host: r.get(3)? })
    })
}

/// The part of a plan that a list shows.
#[derive(Deserialize)]
struct Labels {
    programs: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    label: String,
}

/// The part of what else is known of a run that a list shows.
#[derive(Deserialize)]
struct RunFactors {
    factors: Vec<Factor>,
}

/// The runs that fit the filter, the last one stored first.
pub(crate) fn summaries(db: &dyn Database, filter: &DocumentFilter) -> Inner<Vec<DocumentSummary>> {
    let (mut fits, mut given) = (String::from("true"), Vec::new());
    for (key, value) in &filter.tags {
        let n = given.len();
        fits.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM tag AS t WHERE t.run_id = run.id AND t.key = ?{} AND t.value = ?{})",
            n + 1,
            n + 2
        ));
        given.extend([SqlValue::from(key), SqlValue::from(value)]);
    }
    let mut last = String::from("ORDER BY run.id DESC");
    if let Some(limit) = filter.limit {
        last.push_str(&format!(" LIMIT {limit}"));
    }
    let sql = format!(
        "SELECT run.id, uuid, created_ns, status, plan, host.doc, rest, tool, {}, imported_ns
         FROM run JOIN host ON host.id = host_id WHERE {fits} {last}",
        db.counted()
    );
    let mut found = db.all(&sql, &given, |r| {
        let id: i64 = r.get(0)?;
        let plan: Labels = rows::parse(&r.str(4)?, || format!("the plan of run {id}"))?;
        let host: Host = rows::parse(&r.str(5)?, || format!("the host of run {id}"))?;
        let rest: RunFactors = rows::parse(&r.str(6)?, || format!("the rest of run {id}"))?;
        let programs: Vec<String> = plan.programs.into_iter().map(|p| p.label).collect();
        let head = DocumentHead {
            kind: DocumentKind::Run,
            number: id,
            uuid: r.get(1)?,
            title: Run::title(programs.iter().map(String::as_str)),
            created: Nanos(r.get(2)?),
            status: rows::status(&r.str(3)?)?,
            tool: r.get(7)?,
            machine: host.name.clone(),
            conditions: Some(Box::new(Conditions::new(host, rest.factors))),
            tags: BTreeMap::new(),
        };
        let (counted, imported) = (Some(r.get::<i64>(8)?.unsigned_abs()), r.maybe(9)?.map(Nanos));
        Ok(DocumentSummary { head, programs, counted, parts: 0, imported })
    })?;
    // Of all of them at once, as each statement may travel over a network.
    let sql =
        format!("SELECT run_id, key, value FROM tag WHERE run_id IN (SELECT run.id FROM run WHERE {fits} {last})");
    let mut tags: BTreeMap<i64, BTreeMap<String, String>> = BTreeMap::new();
    db.all(&sql, &given, |r| {
        tags.entry(r.get(0)?).or_default().insert(r.get(1)?, r.get(2)?);
        Ok(())
    })?;
    for summary in &mut found {
        summary.head.tags = tags.remove(&summary.head.number).unwrap_or_default();
    }
    Ok(found)
}

/// The run that a user means.
pub(crate) fn resolve(db: &dyn Database, path: &Path, text: &str) -> Inner<i64> {
    let none = || no_such(path, text).into();
    if text == "last" {
        return db.single("SELECT max(id) FROM run", &[], |r| r.maybe(0))?.ok_or_else(none);
    }
    // Only in the usual form of a number: a uuid may consist of decimal digits and begin with zeros.
    if let Ok(id) = text.parse::<i64>()
        && id.to_string() == text
        && exists(db, id)?
    {
        return Ok(id);
    }
    if text.len() < SHORTEST_PREFIX || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(none());
    }
    // `g` sorts after all hex digits: a range, so that the index is used.
    let sql = "SELECT id FROM run WHERE uuid >= ?1 AND uuid < ?1 || 'g' ORDER BY id LIMIT 10";
    let runs: Vec<i64> = db.all(sql, values![text.to_ascii_lowercase()], |r| r.get(0))?;
    match runs.as_slice() {
        [] => Err(none()),
        [one] => Ok(*one),
        _ => Err(StoreError::AmbiguousRun { text: text.to_owned(), runs }.into()),
    }
}
