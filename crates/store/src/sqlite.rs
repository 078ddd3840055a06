//! The store in a SQLite database.

use crate::archive::{Archive, ArchiveWriter, DocumentArchive, ProfileArchive, notes_of, same_number};
use crate::claim::Claimant;
use crate::contract::{Result, RunFilter, RunSummary, Store};
use crate::documents;
use crate::documents::{DocumentFilter, DocumentPart, DocumentSummary, NamedDocument, StoredDocument};
use crate::error::{ErrorContext, Fault, StoreError};
use crate::learned;
use crate::learned::MachineKey;
use crate::open;
use crate::profiles;
use crate::profiles::Saved;
use crate::rows;
use crate::rows::Inner;
use crate::rows::is_uuid;
use crate::schema::KNOWN;
use crate::stream::{RunPiece, stream_run};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params, params_from_iter};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::quiet::data::QuietCoefficients;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_core::run::plan::RunCount;
use tarebench_core::sample::data::Sample;

/// The shortest prefix of a uuid that [`Store::resolve`] accepts.
const SHORTEST_PREFIX: usize = 4;

/// A store in one SQLite database, in write-ahead mode, each commit synced.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    writable: bool,
}

impl SqliteStore {
    /// Opens a database for reading and writing; creates it, and its folder (mode 0700), if they are missing, and
    /// upgrades an earlier schema.
    ///
    /// # Errors
    /// [`StoreError::NotADatabase`], [`StoreError::Newer`] (in both cases nothing was written),
    /// [`StoreError::ReadOnly`], [`StoreError::Full`], [`StoreError::Busy`], [`StoreError::Corrupt`],
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<SqliteStore> {
        let (conn, path) = open::for_writing(path)?;
        Ok(SqliteStore { conn, path, writable: true })
    }

    /// Opens a database for reading only, also where the file, its folder or the disk is read-only. Everything that
    /// would change it is refused with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::NotADatabase`], [`StoreError::Newer`], [`StoreError::Older`],
    /// [`StoreError::Busy`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn open_read_only(path: &Path) -> Result<SqliteStore> {
        let (conn, path) = open::for_reading(path)?;
        Ok(SqliteStore { conn, path, writable: false })
    }

    /// A store in memory that ends with this value: for tests of users of a store.
    ///
    /// # Errors
    /// SQLite's.
    pub fn in_memory() -> Result<SqliteStore> {
        let (conn, path) = open::in_memory()?;
        Ok(SqliteStore { conn, path, writable: true })
    }

    /// The database's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads from a single state of the database.
    fn read<T>(&self, doing: &'static str, f: impl FnOnce(&Connection) -> Inner<T>) -> Result<T> {
        let at = ErrorContext { path: &self.path, doing, writable: self.writable };
        let inner = || {
            let tx = rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
            f(&tx)
        };
        inner().map_err(|fault| at.complete(fault))
    }

    /// Writes, all or nothing.
    fn write<T>(&mut self, doing: &'static str, f: impl FnOnce(&Connection) -> Inner<T>) -> Result<T> {
        let SqliteStore { conn, path, writable } = self;
        let at = ErrorContext { path, doing, writable: *writable };
        if !*writable {
            let cause = "it was opened for reading only".to_owned();
            return Err(StoreError::ReadOnly { path: path.clone(), doing, cause });
        }
        let inner = || {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // A later tare may have upgraded it since this one opened it.
            let found = open::version(&tx)?;
            if found > KNOWN {
                return Err(StoreError::Newer { path: path.clone(), found, known: KNOWN }.into());
            }
            let out = f(&tx)?;
            tx.commit()?;
            Ok(out)
        };
        inner().map_err(|fault| at.complete(fault))
    }

    /// Gives the space of removed rows back to the file system.
    fn shrink(&self) -> rusqlite::Result<()> {
        let mut statement = self.conn.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        // Each step frees a page.
        while rows.next()?.is_some() {}
        Ok(())
    }

    fn no_such_run(path: &Path, run: impl ToString) -> StoreError {
        StoreError::NoSuchRun { path: path.to_owned(), run: run.to_string() }
    }
}

/// The time since 1970.
fn now() -> Nanos {
    // A clock before 1970 counts as 1970, and one after 2262 as the last time that can be stored.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Fails if there is no such run.
fn require(conn: &Connection, path: &Path, run: i64) -> Inner<()> {
    match conn.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?.exists([run])? {
        true => Ok(()),
        false => Err(SqliteStore::no_such_run(path, run).into()),
    }
}

fn insert_new_run(tx: &Connection, path: &Path, run: &Run) -> Inner<i64> {
    if !is_uuid(&run.uuid) {
        let cause = format!("its uuid is {:?}, expected 32 hex digits in lower case", run.uuid);
        return Err(StoreError::Unstorable { what: "run", cause }.into());
    }
    let there = tx.query_row("SELECT id FROM run WHERE uuid = ?1", [&run.uuid], |r| r.get(0)).optional()?;
    if let Some(there) = there {
        let (path, uuid) = (path.to_owned(), run.uuid.clone());
        return Err(StoreError::Duplicate { path, uuid, run: there }.into());
    }
    rows::insert_run(tx, run)
}

/// Stores the run of an archive, piece by piece.
fn import_run(tx: &Connection, path: &Path, reader: &mut dyn Read) -> Inner<i64> {
    let (mut id, mut notes) = (0, Vec::new());
    let number_is_free = |fault| match fault {
        Fault::Store(StoreError::DuplicateSample { seq, .. }) => same_number(seq).into(),
        other => other,
    };
    let version = stream_run(reader, &mut |piece| -> Inner<()> {
        match piece {
            RunPiece::Run(mut run) => {
                notes = std::mem::take(&mut run.notes);
                id = insert_new_run(tx, path, &run)?;
                rows::mark_imported(tx, id, now())
            }
            RunPiece::Sample(sample) => rows::insert_sample(tx, id, &sample).map_err(number_is_free),
            RunPiece::Duet(duet) => rows::insert_duet(tx, id, &duet).map_err(number_is_free),
            RunPiece::Chunk(chunk) => rows::insert_chunk(tx, id, &rows::document("recording", &chunk)?),
        }
    })?;
    notes_of(version, notes).iter().try_for_each(|note| rows::insert_note(tx, id, note))?;
    Ok(id)
}

fn select_claimant(conn: &Connection, run: i64) -> Inner<Option<Claimant>> {
    let row = conn.query_row("SELECT pid, start_ns, boot, host FROM claim WHERE run_id = ?1", [run], |r| {
        Ok(Claimant { pid: r.get(0)?, start: Nanos(r.get(1)?), boot: r.get(2)?, host: r.get(3)? })
    });
    Ok(row.optional()?)
}

/// Whether a claim by `holder` blocks `by`.
fn holds(holder: &Claimant, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> bool {
    if holder.host != by.host {
        return true;
    }
    holder != by && holder.boot == by.boot && alive(holder)
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

fn summaries(conn: &Connection, filter: &RunFilter) -> Inner<Vec<RunSummary>> {
    let mut sql = String::from(
        "SELECT run.id, uuid, created_ns, status, plan, host.name,
                (SELECT count(*) FROM sample WHERE run_id = run.id AND phase = 'counted'), imported_ns
         FROM run JOIN host ON host.id = host_id WHERE true",
    );
    for _ in &filter.tags {
        sql.push_str(" AND EXISTS (SELECT 1 FROM tag WHERE run_id = run.id AND key = ? AND value = ?)");
    }
    sql.push_str(" ORDER BY run.id DESC");
    if let Some(limit) = filter.limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(filter.tags.iter().flat_map(|(k, v)| [k, v])))?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let id: i64 = r.get(0)?;
        let plan: Labels = rows::parse(&r.get::<_, String>(4)?, || format!("the plan of run {id}"))?;
        out.push(RunSummary {
            id,
            uuid: r.get(1)?,
            created: Nanos(r.get(2)?),
            status: rows::status(&r.get::<_, String>(3)?)?,
            programs: plan.programs.into_iter().map(|p| p.label).collect(),
            counted: r.get::<_, i64>(6)?.unsigned_abs(),
            tags: tags(conn, id)?,
            host: r.get(5)?,
            imported: r.get::<_, Option<i64>>(7)?.map(Nanos),
        });
    }
    Ok(out)
}

fn tags(conn: &Connection, run: i64) -> Inner<BTreeMap<String, String>> {
    rows::pairs(conn, "SELECT key, value FROM tag WHERE run_id = ?1", run)
}

fn resolve(conn: &Connection, path: &Path, text: &str) -> Inner<i64> {
    let none = || SqliteStore::no_such_run(path, text).into();
    if text == "last" {
        return conn.query_row("SELECT max(id) FROM run", [], |r| r.get::<_, Option<i64>>(0))?.ok_or_else(none);
    }
    // Only in the usual form of a number: a uuid may consist of decimal digits and begin with zeros.
    if let Ok(id) = text.parse::<i64>()
        && id.to_string() == text
        && conn.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?.exists([id])?
    {
        return Ok(id);
    }
    if text.len() < SHORTEST_PREFIX || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(none());
    }
    // `g` sorts after all hex digits: a range, so that the index is used.
    let mut statement =
        conn.prepare("SELECT id FROM run WHERE uuid >= ?1 AND uuid < ?1 || 'g' ORDER BY id LIMIT 10")?;
    let found = statement.query_map([text.to_ascii_lowercase()], |r| r.get(0))?;
    let runs: Vec<i64> = found.collect::<std::result::Result<_, _>>()?;
    match runs.as_slice() {
        [] => Err(none()),
        [one] => Ok(*one),
        _ => Err(StoreError::AmbiguousRun { text: text.to_owned(), runs }.into()),
    }
}

impl Store for SqliteStore {
    fn begin_run(&mut self, run: &Run) -> Result<i64> {
        let path = self.path.clone();
        self.write("store the run", |tx| insert_new_run(tx, &path, run))
    }

    fn add_sample(&mut self, run: i64, sample: &Sample) -> Result<()> {
        let path = self.path.clone();
        self.write("store the sample", |tx| {
            require(tx, &path, run)?;
            rows::insert_sample(tx, run, sample)
        })
    }

    fn add_duet(&mut self, run: i64, duet: &Duet) -> Result<()> {
        let path = self.path.clone();
        self.write("store the duet", |tx| {
            require(tx, &path, run)?;
            rows::insert_duet(tx, run, duet)
        })
    }

    fn set_status(&mut self, run: i64, status: Status) -> Result<()> {
        let path = self.path.clone();
        self.write("store the run's status", |tx| match rows::update_status(tx, run, status)? {
            0 => Err(SqliteStore::no_such_run(&path, run).into()),
            _ => Ok(()),
        })
    }

    fn set_run_count(&mut self, run: i64, runs: RunCount) -> Result<()> {
        let path = self.path.clone();
        self.write("store the run's plan", |tx| match rows::update_run_count(tx, run, runs)? {
            0 => Err(SqliteStore::no_such_run(&path, run).into()),
            _ => Ok(()),
        })
    }

    fn add_note(&mut self, run: i64, note: &Note) -> Result<()> {
        let path = self.path.clone();
        self.write("store the note", |tx| {
            require(tx, &path, run)?;
            rows::insert_note(tx, run, note)
        })
    }

    fn remove(&mut self, run: i64) -> Result<()> {
        let path = self.path.clone();
        self.write("remove the run", |tx| {
            require(tx, &path, run)?;
            tx.execute("DELETE FROM run WHERE id = ?1", [run])?;
            rows::remove_unused_hosts(tx)
        })?;
        // The run is gone; whether the file shrinks now or after a later removal does not matter.
        let _ = self.shrink();
        Ok(())
    }

    fn claim(&mut self, run: i64, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()> {
        let path = self.path.clone();
        self.write("claim the run", |tx| {
            require(tx, &path, run)?;
            if let Some(holder) = select_claimant(tx, run)?
                && holds(&holder, by, alive)
            {
                return Err(StoreError::Claimed { run, by: holder }.into());
            }
            tx.execute(
                "INSERT OR REPLACE INTO claim (run_id, pid, start_ns, boot, host) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![run, by.pid, by.start.0, by.boot, by.host],
            )?;
            Ok(())
        })
    }

    fn release(&mut self, run: i64, by: &Claimant) -> Result<()> {
        self.write("release the run", |tx| {
            tx.execute(
                "DELETE FROM claim WHERE run_id = ?1 AND pid = ?2 AND start_ns = ?3 AND boot = ?4 AND host = ?5",
                params![run, by.pid, by.start.0, by.boot, by.host],
            )?;
            Ok(())
        })
    }

    fn claimant(&self, run: i64) -> Result<Option<Claimant>> {
        self.read("read the claim", |conn| select_claimant(conn, run))
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>> {
        self.read("list the runs", |conn| summaries(conn, filter))
    }

    fn run(&self, run: i64) -> Result<Run> {
        self.read("read the run", |conn| {
            rows::select_run(conn, run)?.ok_or_else(|| SqliteStore::no_such_run(&self.path, run).into())
        })
    }

    fn each_sample(&self, run: i64, visit: &mut dyn FnMut(Sample)) -> Result<()> {
        self.read("read the samples", |conn| {
            require(conn, &self.path, run)?;
            rows::each_sample(conn, run, &mut |sample| {
                visit(sample);
                ControlFlow::Continue(())
            })
        })
    }

    fn each_duet(&self, run: i64, visit: &mut dyn FnMut(Duet)) -> Result<()> {
        self.read("read the duets", |conn| {
            require(conn, &self.path, run)?;
            rows::each_duet(conn, run, &mut |duet| {
                visit(duet);
                ControlFlow::Continue(())
            })
        })
    }

    fn resolve(&self, text: &str) -> Result<i64> {
        self.read("find the run", |conn| resolve(conn, &self.path, text))
    }

    fn export(&self, run: i64) -> Result<Archive> {
        self.read("read the run", |conn| {
            let found = rows::select_run(conn, run)?.ok_or_else(|| SqliteStore::no_such_run(&self.path, run))?;
            let mut samples = Vec::new();
            rows::each_sample(conn, run, &mut |sample| {
                samples.push(sample);
                ControlFlow::Continue(())
            })?;
            let mut duets = Vec::new();
            rows::each_duet(conn, run, &mut |duet| {
                duets.push(duet);
                ControlFlow::Continue(())
            })?;
            Ok(Archive { duets, ..Archive::new(found, samples, rows::select_chunks(conn, run)?) })
        })
    }

    fn write_archive(&self, run: i64, writer: &mut dyn Write) -> Result<io::Result<()>> {
        self.read("read the run", |conn| {
            let found = rows::select_run(conn, run)?.ok_or_else(|| SqliteStore::no_such_run(&self.path, run))?;
            let mut out = ArchiveWriter::of_stored(writer, found);
            rows::each_sample(conn, run, &mut |sample| out.sample(&sample))?;
            rows::each_duet(conn, run, &mut |duet| out.duet(&duet))?;
            Ok(out.finish(&rows::select_chunks(conn, run)?))
        })
    }

    fn import(&mut self, reader: &mut dyn Read) -> Result<i64> {
        let path = self.path.clone();
        // The file is read within the transaction, so that memory need not hold it.
        self.write("store the run", |tx| import_run(tx, &path, reader))
    }

    fn imported(&self, what: NamedDocument) -> Result<Option<Nanos>> {
        self.read("read the time of import", |conn| match what {
            NamedDocument::Run(run) => {
                rows::imported(conn, run)?.ok_or_else(|| SqliteStore::no_such_run(&self.path, run).into())
            }
            NamedDocument::Document(id) => documents::imported(conn, &self.path, id),
        })
    }

    fn add_chunk(&mut self, run: i64, chunk: &RecordingChunk) -> Result<()> {
        let doc = rows::document("recording", chunk)?;
        let path = self.path.clone();
        self.write("store what ran", |tx| {
            require(tx, &path, run)?;
            rows::insert_chunk(tx, run, &doc)
        })
    }

    fn chunks(&self, run: i64) -> Result<Vec<RecordingChunk>> {
        self.read("read the recording", |conn| {
            require(conn, &self.path, run)?;
            rows::select_chunks(conn, run)
        })
    }

    fn save_profile(&mut self, profile: &Profile, begun: Option<Id>, conditions: Option<&Conditions>) -> Result<Saved> {
        let path = self.path.clone();
        self.write("store the profile", |tx| profiles::save(tx, &path, profile, begun, conditions))
    }

    fn import_profile(&mut self, reader: &mut dyn Read) -> Result<Saved> {
        let profile = ProfileArchive::read(reader)?.profile;
        let path = self.path.clone();
        self.write("store the profile", |tx| {
            let saved = profiles::save(tx, &path, &profile, None, None)?;
            documents::mark_imported(tx, saved.id, now())?;
            Ok(saved)
        })
    }

    fn remove_profile(&mut self, label: &str) -> Result<u32> {
        let (name, version) = Profile::parse_label(label);
        let removed = self.write("remove the profile", |tx| {
            let sql = "DELETE FROM document WHERE kind = 'profile' AND id IN
                           (SELECT id FROM profile_version WHERE name = ?1 AND (?2 IS NULL OR version = ?2))";
            let removed = tx.execute(sql, params![name, version])?;
            rows::remove_unused_hosts(tx)?;
            Ok(u32::try_from(removed).unwrap_or(u32::MAX))
        })?;
        let _ = self.shrink();
        Ok(removed)
    }

    fn profile(&self, label: &str) -> Result<Option<Profile>> {
        let (name, version) = Profile::parse_label(label);
        let sql = "SELECT name, doc FROM profile WHERE name = ?1 AND (?2 IS NULL OR version = ?2)
                   ORDER BY version DESC LIMIT 1";
        self.read("read the profile", |conn| Ok(profiles::select(conn, sql, params![name, version])?.pop()))
    }

    fn newest_profile(&self, machine: &str) -> Result<Option<Profile>> {
        // A file may claim any machine and any time.
        let sql = "SELECT v.name, d.doc FROM profile_version AS v JOIN document AS d ON d.kind = v.kind AND d.id = v.id
                   WHERE v.machine = ?1 AND d.imported_ns IS NULL
                   ORDER BY v.created_ns DESC, v.name DESC, v.version DESC LIMIT 1";
        self.read("read the profile", |conn| Ok(profiles::select(conn, sql, [machine])?.pop()))
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        let sql = "SELECT name, doc FROM profile ORDER BY created_ns DESC, name, version DESC";
        self.read("list the profiles", |conn| profiles::select(conn, sql, []))
    }

    fn level_history(&self, of: &MachineKey, revision: u32) -> Result<Option<LevelHistory>> {
        self.read("read the machine's levels", |conn| learned::level_history(conn, of, revision))
    }

    fn merge_level_history(&mut self, of: &MachineKey, new: &LevelHistory) -> Result<()> {
        self.write("store the machine's levels", |tx| learned::merge_level_history(tx, of, new))
    }

    fn coefficients(&self, of: &MachineKey, revision: u32, before: Option<&str>) -> Result<Vec<QuietCoefficients>> {
        self.read("read the programs' coefficients", |conn| learned::coefficients(conn, of, revision, before))
    }

    fn save_coefficients(&mut self, of: &MachineKey, run: &str, fit: &QuietCoefficients) -> Result<()> {
        self.write("store a program's coefficients", |tx| learned::save_coefficients(tx, of, run, fit))
    }

    fn forget_machine_states(&mut self, machine: &str) -> Result<u64> {
        let removed = self.write("forget the machine's levels", |tx| learned::forget(tx, machine))?;
        let _ = self.shrink();
        Ok(removed)
    }

    fn create_document(&mut self, head: &DocumentHead, doc: &Value) -> Result<Id> {
        let path = self.path.clone();
        self.write("store the document", |tx| profiles::insert(tx, &path, head, doc))
    }

    fn append_part(&mut self, id: Id, part: &DocumentPart) -> Result<u64> {
        let path = self.path.clone();
        self.write("add to the document", |tx| {
            documents::require(tx, &path, id)?;
            documents::insert_part(tx, id, part)
        })
    }

    fn set_document(&mut self, id: Id, status: Status, doc: Option<&Value>) -> Result<()> {
        let path = self.path.clone();
        self.write("change the document", |tx| {
            documents::require(tx, &path, id)?;
            documents::update(tx, id, status, doc)
        })
    }

    fn document(&self, id: Id) -> Result<StoredDocument> {
        self.read("read the document", |conn| documents::select(conn, &self.path, id))
    }

    fn documents(&self, filter: &DocumentFilter) -> Result<Vec<DocumentSummary>> {
        self.read("list the documents", |conn| documents::summaries(conn, filter))
    }

    fn remove_document(&mut self, id: Id) -> Result<()> {
        let path = self.path.clone();
        self.write("remove the document", |tx| {
            documents::require(tx, &path, id)?;
            documents::delete(tx, id)?;
            rows::remove_unused_hosts(tx)
        })?;
        // The document is gone; whether the file shrinks now or after a later removal does not matter.
        let _ = self.shrink();
        Ok(())
    }

    fn claim_document(&mut self, id: Id, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()> {
        let path = self.path.clone();
        self.write("claim the document", |tx| {
            documents::require(tx, &path, id)?;
            match documents::select_claimant(tx, id)? {
                Some(holder) if holds(&holder, by, alive) => Err(StoreError::ClaimedDocument { id, by: holder }.into()),
                _ => documents::insert_claim(tx, id, by),
            }
        })
    }

    fn release_document(&mut self, id: Id, by: &Claimant) -> Result<()> {
        self.write("release the document", |tx| documents::delete_claim(tx, id, by))
    }

    fn document_claimant(&self, id: Id) -> Result<Option<Claimant>> {
        self.read("read the claim", |conn| documents::select_claimant(conn, id))
    }

    fn export_document(&self, id: Id) -> Result<DocumentArchive> {
        self.document(id).map(DocumentArchive::new)
    }

    fn import_document(&mut self, reader: &mut dyn Read) -> Result<Id> {
        let archive = DocumentArchive::read(reader)?;
        let path = self.path.clone();
        self.write("store the document", |tx| {
            let id = profiles::insert(tx, &path, &archive.head, &archive.doc)?;
            documents::mark_imported(tx, id, now())?;
            archive.parts.iter().try_for_each(|part| documents::insert_part(tx, id, part).map(|_| ()))?;
            Ok(id)
        })
    }

    fn find(&self, text: &str) -> Result<NamedDocument> {
        self.read("find what was named", |conn| {
            let named = text.parse::<Id>().ok().filter(|id| id.kind != DocumentKind::Run);
            if let Some(id) = named
                && documents::exists(conn, id)?
            {
                return Ok(NamedDocument::Document(id));
            }
            let none = match resolve(conn, &self.path, text) {
                Ok(run) => return Ok(NamedDocument::Run(run)),
                Err(e @ Fault::Store(StoreError::NoSuchRun { .. })) => e,
                Err(e) => return Err(e),
            };
            match (profiles::number(conn, text)?, named) {
                (Some(id), _) => Ok(NamedDocument::Document(id)),
                (None, Some(id)) => Err(documents::no_such(&self.path, id).into()),
                (None, None) => Err(none),
            }
        })
    }
}
