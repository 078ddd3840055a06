//! Runs as rows, and back.

use crate::database::{Database, RowInsert, SqlValue, values};
use crate::error::{Fault, Inner, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::{Factor, Host};
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::{Note, from_texts};
use tarebench_core::run::plan::{RunCount, RunPlan};
use tarebench_core::sample::process_time::PtSource;

pub(crate) fn bad(what: impl Into<String>, cause: impl ToString) -> Fault {
    Fault::Bad { what: what.into(), cause: cause.to_string() }
}

/// The JSON form of a value.
pub(crate) fn document<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Unstorable { what, cause: e.to_string() })
}

/// The same, for types with floats: JSON has no infinities and no NaN, and a value that cannot be read back is not
/// written.
pub(crate) fn exact<T: Serialize + DeserializeOwned + PartialEq>(
    what: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    let text = document(what, value)?;
    match serde_json::from_str::<T>(&text) {
        Ok(back) if back == *value => Ok(text),
        Ok(_) => Err(StoreError::Unstorable { what, cause: "it could not be read back unchanged".to_owned() }),
        Err(e) => Err(StoreError::Unstorable { what, cause: format!("it could not be read back: {e}") }),
    }
}

/// Reads a JSON form; `what` names its content.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Inner<T> {
    serde_json::from_str(text).map_err(|e| bad(what(), e))
}

pub(crate) fn status_text(status: Status) -> &'static str {
    match status {
        Status::Unfinished => "unfinished",
        Status::Interrupted => "interrupted",
        Status::Finished => "finished",
    }
}

pub(crate) fn status(text: &str) -> Inner<Status> {
    [Status::Unfinished, Status::Interrupted, Status::Finished]
        .into_iter()
        .find(|&s| status_text(s) == text)
        .ok_or_else(|| bad("a run's status", format!("it is {text:?}")))
}

/// The parts of a run without a separate column or table.
#[derive(PartialEq, Serialize, Deserialize)]
struct RunExtras {
    pt_source: PtSource,
    pt_source_notes: Vec<String>,
    factors: Vec<Factor>,
}

/// The number of a machine's description, which is stored once.
pub(crate) fn host_number(db: &dyn Database, host: &Host) -> Inner<i64> {
    let doc = exact("machine's description", host)?;
    // Without the column of the conflict: not every database can have an index of it, as it may be long.
    let sql = "INSERT INTO host (name, machine, doc) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    db.execute(sql, values![&host.name, &host.machine, &doc])?;
    db.single("SELECT id FROM host WHERE doc = ?1", values![&doc], |r| r.get(0))
}

/// Removes descriptions of machines that no stored run or document has.
pub(crate) fn remove_unused_hosts(db: &dyn Database) -> Inner<()> {
    let sql = "DELETE FROM host WHERE id NOT IN
                   (SELECT host_id FROM run UNION SELECT host_id FROM document WHERE host_id IS NOT NULL)";
    db.execute(sql, &[])?;
    Ok(())
}

/// Inserts a run; returns its number, or `None` if its uuid is there already.
pub(crate) fn insert_run(db: &dyn Database, run: &Run) -> Inner<Option<i64>> {
    // Names all fields, so that a new field cannot be forgotten.
    let Run { id: _, uuid, created, tool, plan, host, pt_source, pt_source_notes, factors, status, notes } = run;
    let rest = RunExtras { pt_source: *pt_source, pt_source_notes: pt_source_notes.clone(), factors: factors.clone() };
    let host_id = host_number(db, host)?;
    let id = db.optional(
        "INSERT INTO run (uuid, created_ns, status, tool, host_id, plan, rest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (uuid) DO NOTHING RETURNING id",
        values![uuid, created.0, status_text(*status), tool, host_id, exact("run", plan)?, exact("run", &rest)?],
        |r| r.get(0),
    )?;
    let Some(id) = id else { return Ok(None) };
    const TAGS: RowInsert = RowInsert { table: "tag", columns: &["run_id", "key", "value"], key: &[] };
    let tags: Vec<SqlValue> = plan.tags.iter().flat_map(|(k, v)| [SqlValue::from(id), k.into(), v.into()]).collect();
    db.insert(&TAGS, &tags)?;
    notes.iter().try_for_each(|note| insert_note(db, id, note))?;
    Ok(Some(id))
}

/// Changes a run's status; returns the number of changed runs.
pub(crate) fn update_status(db: &dyn Database, run: i64, status: Status) -> Inner<u64> {
    db.execute("UPDATE run SET status = ?2 WHERE id = ?1", values![run, status_text(status)])
}

/// Changes how many samples the plan of a run asks for; returns the number of changed runs.
pub(crate) fn update_run_count(db: &dyn Database, run: i64, runs: RunCount) -> Inner<u64> {
    db.lock(&lock_of(run))?;
    let stored = db.optional("SELECT plan FROM run WHERE id = ?1", values![run], |r| r.get::<String>(0))?;
    let Some(text) = stored else { return Ok(0) };
    let plan = RunPlan { runs, ..parse(&text, || format!("the plan of run {run}"))? };
    db.execute("UPDATE run SET plan = ?2 WHERE id = ?1", values![run, exact("run", &plan)?])
}

/// What a transaction locks that changes a run by what it has read of it.
pub(crate) fn lock_of(run: i64) -> String {
    format!("run {run}")
}

/// When a run was imported; the outer `None`: there is no such run.
pub(crate) fn imported(db: &dyn Database, run: i64) -> Inner<Option<Option<Nanos>>> {
    db.optional("SELECT imported_ns FROM run WHERE id = ?1", values![run], |r| Ok(r.maybe(0)?.map(Nanos)))
}

/// Marks a run as imported.
pub(crate) fn mark_imported(db: &dyn Database, run: i64, at: Nanos) -> Inner<()> {
    db.execute("UPDATE run SET imported_ns = ?2 WHERE id = ?1", values![run, at.0])?;
    Ok(())
}

pub(crate) fn insert_note(db: &dyn Database, run: i64, note: &Note) -> Inner<()> {
    db.lock(&lock_of(run))?;
    db.execute(
        "INSERT INTO run_note (run_id, seq, kind, doc)
         SELECT ?1, coalesce(max(seq), -1) + 1, ?2, ?3 FROM run_note WHERE run_id = ?1",
        values![run, note.kind(), exact("note", note)?],
    )?;
    Ok(())
}

/// The notes of a run, in their order.
fn select_notes(db: &dyn Database, run: i64) -> Inner<Vec<Note>> {
    db.all("SELECT seq, doc FROM run_note WHERE run_id = ?1 ORDER BY seq", values![run], |r| {
        let seq: i64 = r.get(0)?;
        parse(&r.str(1)?, || format!("note {seq} of run {run}"))
    })
}

/// Notes that versions up to 0.1 kept as texts, in their typed form.
pub(crate) fn typed_notes(texts: BTreeMap<String, String>) -> Vec<Note> {
    from_texts(texts, |readings| serde_json::from_str(readings).ok())
}

/// The same for the whole store, whose schema is then of version 4.
pub(crate) fn convert_notes(db: &dyn Database) -> Inner<()> {
    let mut by_run: BTreeMap<i64, BTreeMap<String, String>> = BTreeMap::new();
    db.all("SELECT run_id, key, value FROM note", &[], |r| {
        by_run.entry(r.get(0)?).or_default().insert(r.get(1)?, r.get(2)?);
        Ok(())
    })?;
    for (run, texts) in by_run {
        typed_notes(texts).iter().try_for_each(|note| insert_note(db, run, note))?;
    }
    Ok(())
}

/// Adds slices to a recording.
pub(crate) fn insert_chunk(db: &dyn Database, run: i64, doc: &str) -> Inner<()> {
    db.lock(&lock_of(run))?;
    db.execute(
        "INSERT INTO recording (run_id, seq, doc)
         SELECT ?1, coalesce(max(seq), -1) + 1, ?2 FROM recording WHERE run_id = ?1",
        values![run, doc],
    )?;
    Ok(())
}

/// The slices of a recording, in their order.
pub(crate) fn select_chunks(db: &dyn Database, run: i64) -> Inner<Vec<RecordingChunk>> {
    db.all("SELECT seq, doc FROM recording WHERE run_id = ?1 ORDER BY seq", values![run], |r| {
        let seq: i64 = r.get(0)?;
        parse(&r.str(1)?, || format!("part {seq} of the recording of run {run}"))
    })
}

/// A run, if there is one of this number.
pub(crate) fn select_run(db: &dyn Database, id: i64) -> Inner<Option<Run>> {
    let sql = "SELECT uuid, created_ns, status, tool, plan, rest, host.doc
               FROM run JOIN host ON host.id = host_id WHERE run.id = ?1";
    let found = db.optional(sql, values![id], |r| {
        let rest: RunExtras = parse(&r.str(5)?, || format!("the rest of run {id}"))?;
        Ok(Run {
            id,
            uuid: r.get(0)?,
            created: Nanos(r.get(1)?),
            tool: r.get(3)?,
            plan: parse(&r.str(4)?, || format!("the plan of run {id}"))?,
            host: parse(&r.str(6)?, || format!("the host of run {id}"))?,
            pt_source: rest.pt_source,
            pt_source_notes: rest.pt_source_notes,
            factors: rest.factors,
            status: status(&r.str(2)?)?,
            notes: Vec::new(),
        })
    })?;
    found.map(|run| Ok(Run { notes: select_notes(db, id)?, ..run })).transpose()
}

/// 32 hex digits in lower case.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
