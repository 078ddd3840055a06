//! What a store does, whatever its database is: each operation is one transaction.

use crate::archive::{ArchiveWriter, DocumentArchive};
use crate::claim::Claimant;
use crate::contract::{Result, Store};
use crate::database::{Database, values};
use crate::documents;
use crate::documents::{DocumentFilter, DocumentPart, DocumentSummary, StoredDocument};
use crate::entries;
use crate::error::Inner;
use crate::import;
use crate::import::ImportedFile;
use crate::learned;
use crate::learned::MachineKey;
use crate::profiles;
use crate::profiles::Saved;
use crate::rows;
use crate::runs;
use crate::samples;
use serde_json::Value;
use std::io;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
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

/// Transactions of a store.
pub trait StoreBackend {
    /// Where the store is, for messages.
    fn place(&self) -> &Path;

    /// Whether it is a user's own store, rather than one of many users.
    fn is_own(&self) -> bool;

    /// Reads from a single state of the database.
    fn read<T>(&self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T>;

    /// Writes, all or nothing. Where others write at the same time, it may be tried again from the beginning.
    fn write<T>(&mut self, doing: &'static str, f: impl FnMut(&dyn Database) -> Inner<T>) -> Result<T>;

    /// The same for what can be done only once.
    fn write_once<T>(&mut self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T>;

    /// Gives the space of removed rows back, where the database does not do so by itself.
    fn shrink(&self) {}

    /// A run or document was brought to its end through this value.
    fn finished(&self, _: Id) {}
}

impl<B: StoreBackend> Store for B {
    fn path(&self) -> &Path {
        self.place()
    }

    fn list(&self, filter: &DocumentFilter) -> Result<Vec<DocumentSummary>> {
        self.read("list the documents", |db| entries::list(db, filter))
    }

    fn find(&self, text: &str) -> Result<Id> {
        self.read("find what was named", |db| entries::find(db, self.place(), text))
    }

    fn versions(&self, text: &str) -> Result<Vec<Id>> {
        self.read("find the versions", |db| entries::versions(db, self.place(), text))
    }

    fn head(&self, id: Id) -> Result<DocumentHead> {
        self.read("read the document", |db| entries::head(db, self.place(), id))
    }

    fn document(&self, id: Id) -> Result<StoredDocument> {
        self.read("read the document", |db| entries::document(db, self.place(), id))
    }

    fn imported(&self, id: Id) -> Result<Option<Nanos>> {
        self.read("read the time of import", |db| entries::imported(db, self.place(), id))
    }

    fn set_status(&mut self, id: Id, status: Status) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the status", |db| entries::update(db, &path, id, status, None))?;
        if status == Status::Finished {
            self.finished(id);
        }
        Ok(())
    }

    fn remove(&mut self, id: Id) -> Result<()> {
        let path = self.place().to_owned();
        self.write("remove the document", |db| entries::remove(db, &path, id))?;
        self.shrink();
        Ok(())
    }

    fn claim(&mut self, id: Id, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()> {
        let path = self.place().to_owned();
        self.write("claim the document", |db| entries::claim(db, &path, id, by, alive))
    }

    fn release(&mut self, id: Id, by: &Claimant) -> Result<()> {
        self.write("release the document", |db| entries::release(db, id, by))
    }

    fn claimant(&self, id: Id) -> Result<Option<Claimant>> {
        self.read("read the claim", |db| entries::claimant(db, id))
    }

    fn export(&self, id: Id, writer: &mut dyn Write) -> Result<io::Result<()>> {
        if id.kind != DocumentKind::Run {
            return Ok(DocumentArchive::new(self.document(id)?).write(writer));
        }
        let run = id.number;
        self.read("read the run", |db| {
            let found = rows::select_run(db, run)?.ok_or_else(|| runs::no_such(self.place(), run))?;
            let mut out = ArchiveWriter::of_stored(writer, found);
            samples::each_sample(db, run, &mut |sample| out.sample(&sample))?;
            samples::each_duet(db, run, &mut |duet| out.duet(&duet))?;
            Ok(out.finish(&rows::select_chunks(db, run)?))
        })
    }

    fn import(&mut self, reader: &mut dyn Read) -> Result<Id> {
        let path = self.place().to_owned();
        match import::file_in(reader)? {
            // The file is read within the transaction, so that memory need not hold it.
            ImportedFile::Run(mut whole) => {
                self.write_once("store the run", |db| runs::import(db, &path, &mut whole)).map(Id::run)
            }
            ImportedFile::Profile(profile) => self.write("store the profile", |db| {
                let saved = profiles::save(db, &path, &profile, None, None)?;
                documents::mark_imported(db, saved.id, runs::now())?;
                Ok(saved.id)
            }),
            ImportedFile::Document(archive) => self.write("store the document", |db| {
                let id = profiles::insert(db, &path, &archive.head, &archive.doc)?;
                documents::mark_imported(db, id, runs::now())?;
                archive.parts.iter().try_for_each(|part| documents::insert_part(db, id, part).map(|_| ()))?;
                Ok(id)
            }),
            ImportedFile::Bench(head, doc) => self.create_document(&head, &doc),
        }
    }

    fn set_document(&mut self, id: Id, status: Status, doc: &Value) -> Result<()> {
        let path = self.place().to_owned();
        self.write("change the document", |db| entries::update(db, &path, id, status, Some(doc)))?;
        if status == Status::Finished {
            self.finished(id);
        }
        Ok(())
    }

    fn begin_run(&mut self, run: &Run) -> Result<i64> {
        let path = self.place().to_owned();
        self.write("store the run", |db| runs::insert_new(db, &path, run))
    }

    fn begin_copied_run(&mut self, run: &Run) -> Result<i64> {
        let path = self.place().to_owned();
        let is_own = self.is_own();
        self.write("store the run", |db| {
            let id = runs::insert_new(db, &path, run)?;
            if is_own {
                rows::mark_imported(db, id, runs::now())?;
            }
            Ok(id)
        })
    }

    fn add_sample(&mut self, run: i64, sample: &Sample) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the sample", |db| {
            runs::require(db, &path, run)?;
            samples::insert_samples(db, run, std::slice::from_ref(sample))
        })
    }

    fn add_duet(&mut self, run: i64, duet: &Duet) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the duet", |db| {
            runs::require(db, &path, run)?;
            samples::insert_duets(db, run, std::slice::from_ref(duet))
        })
    }

    fn add_samples(&mut self, run: i64, samples: &[Sample]) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the samples", |db| {
            runs::require(db, &path, run)?;
            samples::insert_samples(db, run, samples)
        })
    }

    fn add_duets(&mut self, run: i64, duets: &[Duet]) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the duets", |db| {
            runs::require(db, &path, run)?;
            samples::insert_duets(db, run, duets)
        })
    }

    fn set_run_count(&mut self, run: i64, runs: RunCount) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the run's plan", |db| match rows::update_run_count(db, run, runs)? {
            0 => Err(runs::no_such(&path, run).into()),
            _ => Ok(()),
        })
    }

    fn add_note(&mut self, run: i64, note: &Note) -> Result<()> {
        let path = self.place().to_owned();
        self.write("store the note", |db| {
            runs::require(db, &path, run)?;
            rows::insert_note(db, run, note)
        })
    }

    fn run(&self, run: i64) -> Result<Run> {
        self.read("read the run", |db| {
            rows::select_run(db, run)?.ok_or_else(|| runs::no_such(self.place(), run).into())
        })
    }

    fn each_sample(&self, run: i64, visit: &mut dyn FnMut(Sample)) -> Result<()> {
        self.read("read the samples", |db| {
            runs::require(db, self.place(), run)?;
            samples::each_sample(db, run, &mut |sample| {
                visit(sample);
                ControlFlow::Continue(())
            })
        })
    }

    fn each_sample_alone(&self, run: i64, visit: &mut dyn FnMut(Sample)) -> Result<()> {
        self.read("read the samples", |db| {
            runs::require(db, self.place(), run)?;
            samples::each_sample_alone(db, run, visit)
        })
    }

    fn each_duet(&self, run: i64, visit: &mut dyn FnMut(Duet)) -> Result<()> {
        self.read("read the duets", |db| {
            runs::require(db, self.place(), run)?;
            samples::each_duet(db, run, &mut |duet| {
                visit(duet);
                ControlFlow::Continue(())
            })
        })
    }

    fn add_chunk(&mut self, run: i64, chunk: &RecordingChunk) -> Result<()> {
        let doc = rows::document("recording", chunk)?;
        let path = self.place().to_owned();
        self.write("store what ran", |db| {
            runs::require(db, &path, run)?;
            rows::insert_chunk(db, run, &doc)
        })
    }

    fn chunks(&self, run: i64) -> Result<Vec<RecordingChunk>> {
        self.read("read the recording", |db| {
            runs::require(db, self.place(), run)?;
            rows::select_chunks(db, run)
        })
    }

    fn save_profile(&mut self, profile: &Profile, begun: Option<Id>, conditions: Option<&Conditions>) -> Result<Saved> {
        let path = self.place().to_owned();
        let saved = self.write("store the profile", |db| profiles::save(db, &path, profile, begun, conditions))?;
        self.finished(saved.id);
        Ok(saved)
    }

    fn profile(&self, label: &str) -> Result<Option<Profile>> {
        let (name, version) = Profile::parse_label(label);
        let sql = "SELECT name, doc FROM profile WHERE name = ?1 AND (?2 IS NULL OR version = ?2)
                   ORDER BY version DESC LIMIT 1";
        self.read("read the profile", |db| Ok(profiles::select(db, sql, values![name, version])?.pop()))
    }

    fn newest_profile(&self, machine: &str) -> Result<Option<Profile>> {
        // A file may claim any machine and any time.
        let sql = "SELECT v.name, d.doc FROM profile_version AS v JOIN document AS d ON d.kind = v.kind AND d.id = v.id
                   WHERE v.machine = ?1 AND d.imported_ns IS NULL
                   ORDER BY v.created_ns DESC, v.name DESC, v.version DESC LIMIT 1";
        self.read("read the profile", |db| Ok(profiles::select(db, sql, values![machine])?.pop()))
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        let sql = "SELECT name, doc FROM profile ORDER BY created_ns DESC, name, version DESC";
        self.read("list the profiles", |db| profiles::select(db, sql, &[]))
    }

    fn level_history(&self, of: &MachineKey, revision: u32) -> Result<Option<LevelHistory>> {
        self.read("read the machine's levels", |db| learned::level_history(db, of, revision))
    }

    fn merge_level_history(&mut self, of: &MachineKey, new: &LevelHistory) -> Result<()> {
        self.write("store the machine's levels", |db| learned::merge_level_history(db, of, new))
    }

    fn coefficients(&self, of: &MachineKey, revision: u32, before: Option<&str>) -> Result<Vec<QuietCoefficients>> {
        self.read("read the programs' coefficients", |db| learned::coefficients(db, of, revision, before))
    }

    fn save_coefficients(&mut self, of: &MachineKey, run: &str, fit: &QuietCoefficients) -> Result<()> {
        self.write("store a program's coefficients", |db| learned::save_coefficients(db, of, run, fit))
    }

    fn forget_machine_states(&mut self, machine: &str) -> Result<u64> {
        let removed = self.write("forget the machine's levels", |db| learned::forget(db, machine))?;
        self.shrink();
        Ok(removed)
    }

    fn create_document(&mut self, head: &DocumentHead, doc: &Value) -> Result<Id> {
        let path = self.place().to_owned();
        let id = self.write("store the document", |db| profiles::insert(db, &path, head, doc))?;
        if head.status == Status::Finished {
            self.finished(id);
        }
        Ok(id)
    }

    fn append_part(&mut self, id: Id, part: &DocumentPart) -> Result<u64> {
        let path = self.place().to_owned();
        self.write("add to the document", |db| {
            entries::require_json(db, &path, id)?;
            documents::insert_part(db, id, part)
        })
    }
}
