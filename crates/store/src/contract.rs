//! The interface of a store.

use crate::claim::Claimant;
use crate::documents::{DocumentFilter, DocumentPart, DocumentSummary, StoredDocument};
use crate::error::StoreError;
use crate::learned::MachineKey;
use crate::profiles::Saved;
use serde_json::Value;
use std::io;
use std::io::{Read, Write};
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
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

/// Stores documents of all kinds, and what was learned of machines.
///
/// What every document has is read and changed alike, by its kind and number. The content of a run is added and read sample by
/// sample, that of other kinds as JSON, as a whole and in parts.
///
/// Every change is durable when its function returns, whole or not at all. Several processes may use one store at
/// once. Beside the errors named, every function may fail with those of the system and of the disk
/// ([`StoreError::Full`], [`StoreError::ReadOnly`], [`StoreError::Busy`], [`StoreError::Corrupt`], …); the store
/// can still be used after any of them.
pub trait Store {
    /// Where it is: the absolute path of a file, or the URL of a server without its password. For messages.
    fn path(&self) -> &Path;

    /// The documents that fit the filter, the newest first: runs in the order in which they were stored, others, and those of several
    /// kinds, by when they began.
    fn list(&self, filter: &DocumentFilter) -> Result<Vec<DocumentSummary>>;

    /// The document that a user means: a number (`b1`, `12`), `last` (the last run stored), a uuid, the first four or more digits of
    /// that of a run, or a profile's name as [`Store::profile`] takes it. If several fit, the first of these; text that could be both
    /// the number and a prefix of a run is the number, if there is such a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`], [`StoreError::AmbiguousRun`].
    fn find(&self, text: &str) -> Result<Id>;

    /// The same among the documents of a kind; `None` if it is none of them.
    ///
    /// # Errors
    /// [`StoreError::AmbiguousRun`].
    fn find_kind(&self, kind: DocumentKind, text: &str) -> Result<Option<Id>> {
        match self.find(text) {
            Ok(id) => Ok((id.kind == kind).then_some(id)),
            Err(StoreError::NoSuch { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// All versions of the profile that a user has named without a version, the earliest first; none for any other name.
    ///
    /// # Errors
    /// Those of [`Store::find`].
    fn versions(&self, text: &str) -> Result<Vec<Id>>;

    /// A document without its content.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn head(&self, id: Id) -> Result<DocumentHead>;

    /// A document with its content; of a run, without its samples.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn document(&self, id: Id) -> Result<StoredDocument>;

    /// When a document was imported, since 1970, whatever its file says; `None` if it was measured here, or imported by an earlier
    /// version.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn imported(&self, id: Id) -> Result<Option<Nanos>>;

    /// Sets the status of a document. A profile is finished by [`Store::save_profile`].
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::Unstorable`] for finishing a profile.
    fn set_status(&mut self, id: Id, status: Status) -> Result<()>;

    /// Removes a document with all that belongs to it. Its number is not given again. What was learned of its machine stays
    /// ([`Store::forget_machine_states`]).
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn remove(&mut self, id: Id) -> Result<()>;

    /// Makes `by` the only process that may add to a document, until it releases it or ends. This is an agreement:
    /// [`Store::add_sample`] and [`Store::append_part`] do not check the caller.
    ///
    /// A claim of another process of the same machine is taken over if it is older than the last boot, or if `alive`
    /// returns false. Claims from other machines hold, because their processes cannot be checked from here.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::Claimed`] if another process has it.
    fn claim(&mut self, id: Id, by: &Claimant, alive: &dyn Fn(&Claimant) -> bool) -> Result<()>;

    /// Releases a claim; does nothing if `by` does not have it.
    fn release(&mut self, id: Id, by: &Claimant) -> Result<()>;

    /// The process that has claimed a document. It need not be alive.
    fn claimant(&self, id: Id) -> Result<Option<Claimant>>;

    /// Writes a document with all that belongs to it: an [`crate::Archive`] of a run, of which only one sample is in memory at a time, a
    /// [`crate::DocumentArchive`] of other kinds.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; of a run also those of reading a sample, after a part was written; inside, those of `writer`.
    fn export(&self, id: Id, writer: &mut dyn Write) -> Result<io::Result<()>>;

    /// Stores a file: an archive of a run, of a profile or of another document, or results of benchmarks as `cargo bench` writes
    /// them; what it is shows in its content. It is marked with the time. A run is read within one transaction, a sample at a time, so
    /// that its size is not bounded by memory.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], [`StoreError::NewerArchive`], [`StoreError::DuplicateProfile`], [`StoreError::Duplicate`], also
    /// for a file of benchmarks with the same content.
    fn import(&mut self, reader: &mut dyn Read) -> Result<Id>;

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
    /// [`StoreError::NoSuch`]; [`StoreError::DuplicateSample`] if the run has one with its `seq`.
    fn add_sample(&mut self, run: i64, sample: &Sample) -> Result<()>;

    /// Adds an execution of two programs together, as durably as a sample.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::DuplicateSample`] if the run has a duet with its `seq`.
    fn add_duet(&mut self, run: i64, duet: &Duet) -> Result<()>;

    /// Adds samples in one transaction: all of them, or none.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::DuplicateSample`] if the run, or the list before it, has one with its `seq`.
    fn add_samples(&mut self, run: i64, samples: &[Sample]) -> Result<()>;

    /// Adds executions of two programs together in one transaction: all of them, or none.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::DuplicateSample`] if the run, or the list before it, has a duet with its `seq`.
    fn add_duets(&mut self, run: i64, duets: &[Duet]) -> Result<()>;

    /// Sets how many counted samples the plan of a run asks for, so that it can be made longer.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::Unstorable`] if a figure is not finite.
    fn set_run_count(&mut self, run: i64, runs: RunCount) -> Result<()>;

    /// Adds a note to a run, after those that are there.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn add_note(&mut self, run: i64, note: &Note) -> Result<()>;

    /// A run, without its samples.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn run(&self, run: i64) -> Result<Run>;

    /// The samples of a run, by `seq`.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn samples(&self, run: i64) -> Result<Vec<Sample>> {
        let mut all = Vec::new();
        self.each_sample(run, &mut |sample| all.push(sample))?;
        Ok(all)
    }

    /// Visits the samples of a run, by `seq`; only one is in memory at a time.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; some samples may have been visited before an error.
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
    /// [`StoreError::NoSuch`]; some duets may have been visited before an error.
    fn each_duet(&self, run: i64, visit: &mut dyn FnMut(Duet)) -> Result<()>;

    /// Adds slices to a recording ([`tarebench_core::run::plan::RunPurpose::Watch`]), after the stored ones.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn add_chunk(&mut self, run: i64, chunk: &RecordingChunk) -> Result<()>;

    /// The slices of a recording, in the order in which they were added.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn chunks(&self, run: i64) -> Result<Vec<RecordingChunk>>;

    /// Stores a profile; one of version 0 gets the next one of its name. With `begun` it completes that document, which was
    /// created when learning started and keeps its conditions and tags; else it is a new document, with these
    /// conditions.
    ///
    /// # Errors
    /// [`StoreError::DuplicateProfile`]; [`StoreError::Unstorable`] if a figure is not finite; [`StoreError::NoSuch`].
    fn save_profile(&mut self, profile: &Profile, begun: Option<Id>, conditions: Option<&Conditions>) -> Result<Saved>;

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

    /// Stores a new document that is no run; returns its number. `head.number` is ignored; a number is not given twice.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if its uuid is already stored; [`StoreError::Unstorable`] if that is not 32
    /// hex digits in lower case.
    fn create_document(&mut self, head: &DocumentHead, doc: &Value) -> Result<Id>;

    /// Adds a part to a document; returns its position, from 0. When this returns, it survives a crash of the machine.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`].
    fn append_part(&mut self, id: Id, part: &DocumentPart) -> Result<u64>;

    /// Sets the status and the content of a document that is no run. A profile is finished by [`Store::save_profile`].
    ///
    /// # Errors
    /// [`StoreError::NoSuch`]; [`StoreError::Unstorable`] for finishing a profile.
    fn set_document(&mut self, id: Id, status: Status, doc: &Value) -> Result<()>;
}
