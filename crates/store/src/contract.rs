//! The interface of a store.

use crate::archive::{Archive, DocumentArchive};
use crate::claim::Claimant;
use crate::documents::{DocumentFilter, DocumentPart, DocumentSummary, StoredDocument};
use crate::error::StoreError;
use crate::learned::MachineKey;
use crate::profiles::Saved;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::io::{Read, Write};
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::{DocumentHead, Id, Status};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::quiet::data::QuietCoefficients;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_core::run::plan::RunCount;
use tarebench_core::sample::data::Sample;

/// The result of a store's operation.
pub type Result<T> = std::result::Result<T, StoreError>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only those that have all of these tags, with these values.
    pub tags: BTreeMap<String, String>,
    /// At most this number, the newest ones; `None`: all.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Number in this store.
    pub id: i64,
    /// Identity across stores, 32 hex digits.
    pub uuid: String,
    /// When it started, since 1970.
    pub created: Nanos,
    pub status: Status,
    /// Labels of its programs.
    pub programs: Vec<String>,
    /// Number of counted samples, without warm-ups.
    pub counted: u64,
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
    /// Name of the machine.
    pub host: String,
    /// When it was imported, since 1970; `None` if it was measured here, or imported by an earlier version.
    #[serde(default)]
    pub imported: Option<Nanos>,
}

/// Stores runs, their samples, profiles of machines, and other documents.
///
/// Every change is durable when its function returns, whole or not at all. Several processes may use one store at
/// once. Beside the errors named, every function may fail with those of the system and of the disk
/// ([`StoreError::Full`], [`StoreError::ReadOnly`], [`StoreError::Busy`], [`StoreError::Corrupt`], …); the store
/// can still be used after any of them.
pub trait Store {
    /// Where it is: the absolute path of a file, or the URL of a server without its password. For messages.
    fn path(&self) -> &Path;

    /// Stores a new run; returns its number. `run.id` is ignored.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if its uuid is already stored; [`StoreError::Unstorable`] if its uuid is not 32 hex
    /// digits in lower case or a figure is not finite.
    fn begin_run(&mut self, run: &Run) -> Result<i64>;

    /// The same for a run that is copied from another store. In a user's own store it is marked with the time, as an imported one
    /// ([`Store::imported`]): its commands may be another user's.
    fn begin_copied_run(&mut self, run: &Run) -> Result<i64>;

    /// Adds a sample. When this returns, the sample survives a crash of the machine.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::DuplicateSample`] if the run has one with its `seq`.
    fn add_sample(&mut self, run: i64, sample: &Sample) -> Result<()>;

    /// Adds an execution of two programs together, as durably as a sample.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::DuplicateSample`] if the run has a duet with its `seq`.
    fn add_duet(&mut self, run: i64, duet: &Duet) -> Result<()>;

    /// Adds samples in one transaction: all of them, or none.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::DuplicateSample`] if the run, or the list before it, has one with its `seq`.
    fn add_samples(&mut self, run: i64, samples: &[Sample]) -> Result<()>;

    /// Adds executions of two programs together in one transaction: all of them, or none.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::DuplicateSample`] if the run, or the list before it, has a duet with its `seq`.
    fn add_duets(&mut self, run: i64, duets: &[Duet]) -> Result<()>;

    /// Sets the status of a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn set_status(&mut self, run: i64, status: Status) -> Result<()>;

    /// Sets how many counted samples the plan of a run asks for, so that it can be made longer.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::Unstorable`] if a figure is not finite.
    fn set_run_count(&mut self, run: i64, runs: RunCount) -> Result<()>;

    /// Adds a note to a run, after those that are there.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn add_note(&mut self, run: i64, note: &Note) -> Result<()>;

    /// Removes a run with its samples. Its number is not given again. What was learned of its machine stays
    /// ([`Store::forget_machine_states`]).
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn remove(&mut self, run: i64) -> Result<()>;

    /// Makes `by` the only process that may add samples to a run, until it releases it or ends. This is an
    /// agreement: [`Store::add_sample`] does not check the caller.
    ///
    /// A claim of another process of the same machine is taken over if it is older than the last boot, or if `alive`
    /// returns false. Claims from other machines hold, because their processes cannot be checked from here.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::Claimed`] if another process has it.
    fn claim(&mut self, run: i64, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()>;

    /// Releases a claim; does nothing if `by` does not have it.
    fn release(&mut self, run: i64, by: &Claimant) -> Result<()>;

    /// The process that has claimed a run. It need not be alive.
    fn claimant(&self, run: i64) -> Result<Option<Claimant>>;

    /// The runs, the last one stored first.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>>;

    /// A run, without its samples.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn run(&self, run: i64) -> Result<Run>;

    /// The samples of a run, by `seq`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn samples(&self, run: i64) -> Result<Vec<Sample>> {
        let mut all = Vec::new();
        self.each_sample(run, &mut |sample| all.push(sample))?;
        Ok(all)
    }

    /// Visits the samples of a run, by `seq`; only one is in memory at a time.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; some samples may have been visited before an error.
    fn each_sample(&self, run: i64, visit: &mut dyn FnMut(Sample)) -> Result<()>;

    /// Visits the samples of a run as [`Store::each_sample`] does, without their lists of daemons, which are most of what a sample
    /// takes: [`Sample::daemons`] is absent.
    ///
    /// # Errors
    /// As of [`Store::each_sample`].
    fn each_sample_alone(&self, run: i64, visit: &mut dyn FnMut(Sample)) -> Result<()>;

    /// Visits the duets of a run, by `seq`; only one is in memory at a time.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; some duets may have been visited before an error.
    fn each_duet(&self, run: i64, visit: &mut dyn FnMut(Duet)) -> Result<()>;

    /// The number of the run that a user means: `last` (the last one stored), a number, a uuid, or the first four or
    /// more digits of one. Text that could be both a number and a prefix is the number, if there is such a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::AmbiguousRun`].
    fn resolve(&self, text: &str) -> Result<i64>;

    /// A run with its samples, as a document.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn export(&self, run: i64) -> Result<Archive>;

    /// Writes the same document, with one sample in memory at a time.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], as of [`Store::samples`] also after a part was written; inside, those of `writer`.
    fn write_archive(&self, run: i64, writer: &mut dyn Write) -> Result<io::Result<()>>;

    /// Stores the run of a document ([`Archive::read`]), marked with the time; returns its number here. The document is read within
    /// one transaction, a sample at a time, so that its size is not bounded by memory.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], [`StoreError::NewerArchive`], [`StoreError::Duplicate`].
    fn import(&mut self, reader: &mut dyn Read) -> Result<i64>;

    /// When a run or document was imported, since 1970, whatever its file says; `None` if it was measured here, or imported
    /// by an earlier version.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NoSuchDocument`].
    fn imported(&self, what: Id) -> Result<Option<Nanos>>;

    /// Adds slices to a recording ([`tarebench_core::run::plan::RunPurpose::Watch`]), after the stored ones.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn add_chunk(&mut self, run: i64, chunk: &RecordingChunk) -> Result<()>;

    /// The slices of a recording, in the order in which they were added.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`].
    fn chunks(&self, run: i64) -> Result<Vec<RecordingChunk>>;

    /// Stores a profile; one of version 0 gets the next one of its name. With `begun` it completes that document, which was
    /// created when learning started and keeps its conditions and tags; else it is a new document, with these
    /// conditions.
    ///
    /// # Errors
    /// [`StoreError::DuplicateProfile`]; [`StoreError::Unstorable`] if a figure is not finite; [`StoreError::NoSuchDocument`].
    fn save_profile(&mut self, profile: &Profile, begun: Option<Id>, conditions: Option<&Conditions>) -> Result<Saved>;

    /// Stores a profile from its file ([`crate::ProfileArchive::read`]).
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], [`StoreError::NewerArchive`], [`StoreError::DuplicateProfile`].
    fn import_profile(&mut self, reader: &mut dyn Read) -> Result<Saved>;

    /// Removes a profile: `NAME@VERSION`, or all versions of `NAME`; returns how many there were.
    fn remove_profile(&mut self, label: &str) -> Result<u32>;

    /// The profile that a user means: `NAME@VERSION`, or the latest version of `NAME`.
    fn profile(&self, label: &str) -> Result<Option<Profile>>;

    /// The newest profile of a machine that was not imported ([`tarebench_core::machine::data::Host::machine`]).
    fn newest_profile(&self, machine: &str) -> Result<Option<Profile>>;

    /// All profiles, every version, the newest first.
    fn profiles(&self) -> Result<Vec<Profile>>;

    /// The levels that probes of a revision ([`tarebench_core::sample::probes::PROBE_REVISION`]) had on a machine; `None` if none
    /// ran there yet.
    fn level_history(&self, of: &MachineKey, revision: u32) -> Result<Option<LevelHistory>>;

    /// Adds to what is stored of a machine's levels, in one transaction: processes that do so at once lose nothing of each other's.
    /// Only the histories that were added to last are kept, of a number of machines and conditions. What was learned belongs to no
    /// run: [`Store::remove`] leaves it, and [`Store::import`] adds nothing to it, as a file may claim any machine.
    ///
    /// # Errors
    /// [`StoreError::Unstorable`] if a figure is not finite.
    fn merge_level_history(&mut self, of: &MachineKey, new: &LevelHistory) -> Result<()>;

    /// The newest coefficients of each program on a machine, by program. Given the uuid of a run, those that were stored before any
    /// of its own: a run is not corrected by what was fitted to its own samples, or started from that, as it would confirm itself.
    fn coefficients(&self, of: &MachineKey, revision: u32, before: Option<&str>) -> Result<Vec<QuietCoefficients>>;

    /// Stores what was fitted to the samples of a run, named by its uuid, in place of an earlier fit of the same program and run. The
    /// newest fits of a program are kept, and of all programs a bounded number.
    ///
    /// # Errors
    /// [`StoreError::Unstorable`] if a figure is not finite, or the uuid is not 32 hex digits in lower case.
    fn save_coefficients(&mut self, of: &MachineKey, run: &str, fit: &QuietCoefficients) -> Result<()>;

    /// Removes all levels and coefficients of a machine ([`tarebench_core::machine::data::Host::machine`]), in whatever conditions they were
    /// learned, also what cannot be read; returns how many records there were.
    fn forget_machine_states(&mut self, machine: &str) -> Result<u64>;

    /// Stores a new document; returns its number. `head.number` is ignored; a number is not given twice.
    ///
    /// # Errors
    /// [`StoreError::DuplicateDocument`] if its uuid is already stored; [`StoreError::Unstorable`] if that is not 32
    /// hex digits in lower case.
    fn create_document(&mut self, head: &DocumentHead, doc: &Value) -> Result<Id>;

    /// Adds a part to a document; returns its position, from 0. When this returns, it survives a crash of the machine.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`].
    fn append_part(&mut self, id: Id, part: &DocumentPart) -> Result<u64>;

    /// Sets the status of a document, and replaces its content if `doc` is given. A profile is finished by
    /// [`Store::save_profile`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`]; [`StoreError::Unstorable`] for finishing a profile.
    fn set_document(&mut self, id: Id, status: Status, doc: Option<&Value>) -> Result<()>;

    /// A document with its parts.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`].
    fn document(&self, id: Id) -> Result<StoredDocument>;

    /// The documents, the last one started first.
    fn documents(&self, filter: &DocumentFilter) -> Result<Vec<DocumentSummary>>;

    /// Removes a document with its parts. Its number is not given again.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`].
    fn remove_document(&mut self, id: Id) -> Result<()>;

    /// Makes `by` the only process that may extend a document, as [`Store::claim`] does for a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`]; [`StoreError::ClaimedDocument`] if another process has it.
    fn claim_document(&mut self, id: Id, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()>;

    /// Releases a claim; does nothing if `by` does not have it.
    fn release_document(&mut self, id: Id, by: &Claimant) -> Result<()>;

    /// The process that has claimed a document. It need not be alive.
    fn document_claimant(&self, id: Id) -> Result<Option<Claimant>>;

    /// A document with its parts, to be written to a file.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDocument`].
    fn export_document(&self, id: Id) -> Result<DocumentArchive>;

    /// Stores a document from its file ([`DocumentArchive::read`]); returns its number here.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], [`StoreError::NewerArchive`], [`StoreError::DuplicateDocument`].
    fn import_document(&mut self, reader: &mut dyn Read) -> Result<Id>;

    /// The run or document that a user means: a document's number (`b1`), what [`Store::resolve`] takes, or a profile's name
    /// as [`Store::profile`] takes it. If several fit, the first of these.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::AmbiguousRun`], [`StoreError::NoSuchDocument`].
    fn find(&self, text: &str) -> Result<Id>;
}
