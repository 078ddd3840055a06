//! Copies runs and other documents from one store to another: append-only, repeatable and checked.

use crate::contract::Store;
use crate::documents::StoredDocument;
use crate::error::StoreError;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::profile::data::Profile;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::RunPlan;
use tarebench_core::sample::data::Sample;

/// So much of a run is sent in one transaction: what was sent before the connection broke is not sent again.
const BATCH: usize = 256;
/// A sample counts as one more for each so many daemons that it lists.
const DAEMONS: usize = 16;
/// How often the whole is looked at again when another process adds to the same run at the same time.
const ROUNDS: u32 = 4;

/// Why something could not be copied. What was copied until then stays, and is not copied again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// One of the two stores.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The other store has something else under the same uuid.
    #[error("{what} is not the same in {} and {}: {how}", .from.display(), .to.display())]
    Differs {
        /// The part of it, with its uuid.
        what: String,
        from: PathBuf,
        to: PathBuf,
        /// What each store has.
        how: String,
    },
    /// It was finished when it was copied before, and has been made longer since.
    #[error("the run with uuid {uuid} is finished in {}, and this user may not make it longer there: {cause}", .to.display())]
    Finished { uuid: String, to: PathBuf, cause: Box<StoreError> },
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushProgress {
    /// Samples and duets that the other store has.
    pub there: u64,
    /// Samples and duets of the run.
    pub all: u64,
}

/// What was new in the other store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// All of it. Of a document, the number of its parts.
    New {
        samples: u64,
    },
    /// So many samples and duets, or parts of a document; 0 if only its status, notes or content were.
    Added {
        samples: u64,
    },
    AlreadyThere,
}

/// What the samples of a run are, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDigest {
    pub samples: u64,
    pub duets: u64,
    /// Of the JSON form of each sample, a line each, in the order of `seq`, and then of each duet: 64 hex digits.
    pub sha256: String,
}

/// Digests samples and duets one after another.
#[derive(Default)]
struct Digester {
    hash: Sha256,
    samples: u64,
    duets: u64,
    bad: Option<StoreError>,
}

impl Digester {
    fn line<T: Serialize>(&mut self, value: &T) {
        match serde_json::to_vec(value) {
            Ok(text) => {
                self.hash.update(text);
                self.hash.update(b"\n");
            }
            Err(e) => self.bad = Some(StoreError::Unstorable { what: "sample", cause: e.to_string() }),
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples += 1;
        self.line(sample);
    }

    fn duet(&mut self, duet: &Duet) {
        // A run without duets has the digest of its samples.
        self.duets += 1;
        self.line(duet);
    }

    fn finish(self) -> Result<RunDigest, StoreError> {
        match self.bad {
            Some(e) => Err(e),
            None => {
                Ok(RunDigest { samples: self.samples, duets: self.duets, sha256: hex::encode(self.hash.finalize()) })
            }
        }
    }
}

/// The digest of a run's samples and duets; one of them is in memory at a time.
///
/// # Errors
/// [`StoreError::NoSuch`].
pub fn digest(store: &dyn Store, run: i64) -> Result<RunDigest, StoreError> {
    let mut digester = Digester::default();
    store.each_sample(run, &mut |sample| digester.sample(&sample))?;
    store.each_duet(run, &mut |duet| digester.duet(&duet))?;
    digester.finish()
}

/// The positions of a run's samples and duets, which are counted together, and a digest of them.
struct Content {
    positions: BTreeSet<u32>,
    digest: RunDigest,
}

impl Content {
    /// Reads all of it; the digest is only of what is `among` these positions, if they are given.
    fn read(store: &dyn Store, run: i64, among: Option<&BTreeSet<u32>>) -> Result<Content, StoreError> {
        let (mut positions, mut digester) = (BTreeSet::new(), Digester::default());
        let counts = |seq: u32| among.is_none_or(|among| among.contains(&seq));
        store.each_sample(run, &mut |sample| {
            positions.insert(sample.seq);
            if counts(sample.seq) {
                digester.sample(&sample);
            }
        })?;
        store.each_duet(run, &mut |duet| {
            positions.insert(duet.seq);
            if counts(duet.seq) {
                digester.duet(&duet);
            }
        })?;
        Ok(Content { positions, digest: digester.finish()? })
    }
}

/// Copies a document of any kind, or adds what the other store does not have of it; returns its number there, and what was new.
///
/// Of a run, these are its samples, duets, slices and notes. Repeated after any failure, it goes on where it ended. A run that is
/// still measured is copied up to its last sample and stays unfinished there, until it is copied again. A document of another kind
/// that is finished is copied in one transaction.
///
/// # Errors
/// [`PushError::Differs`] if the content is not the same afterwards, or the other store has something else under the same uuid.
pub fn push(
    from: &dyn Store,
    id: Id,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<(Id, Pushed), PushError> {
    match id.kind {
        DocumentKind::Run => push_run(from, id.number, to, watch),
        _ => push_document(from, id, to),
    }
}

fn push_run(
    from: &dyn Store,
    run: i64,
    to: &mut dyn Store,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<(Id, Pushed), PushError> {
    // The status is read first: if it says that the run is finished, its samples are all there.
    let here = from.run(run)?;
    let sides =
        PushSides { from: from.path().to_owned(), to: to.path().to_owned(), uuid: here.uuid.clone(), kind: "run" };
    let (there, new) = match to.find_kind(DocumentKind::Run, &here.uuid)? {
        Some(there) => (there.number, false),
        None => begin(&here, to)?,
    };
    let mut found = to.run(there)?;
    same_run(&here, &found, &sides)?;
    let lengthened = found.status == Status::Finished && here.plan.runs != found.plan.runs;
    if found.status == Status::Finished && (here.status != Status::Finished || lengthened) {
        to.set_status(Id::run(there), Status::Unfinished).map_err(|e| sides.finished(e))?;
        found.status = Status::Unfinished;
    }
    if here.plan.runs != found.plan.runs {
        to.set_run_count(there, here.plan.runs)?;
    }
    let added = add_missing(from, run, to, there, &sides, watch)?;
    let mut changed = here.plan.runs != found.plan.runs;
    changed |= add_chunks(from, run, to, there, &sides)?;
    // Another process may have pushed the same meanwhile.
    let found = to.run(there)?;
    changed |= add_notes(&here, &found, to, there, &sides)?;
    if here.status != found.status {
        let set = to.set_status(Id::run(there), here.status);
        if set.is_err() && to.run(there)?.status != here.status {
            set?;
        }
        changed = true;
    }
    let pushed = match (new, added) {
        (true, samples) => Pushed::New { samples },
        (false, samples) if samples > 0 || changed => Pushed::Added { samples },
        _ => Pushed::AlreadyThere,
    };
    Ok((Id::run(there), pushed))
}

fn described(digest: &RunDigest) -> String {
    let short: String = digest.sha256.chars().take(12).collect();
    format!("{} samples and {} duets with digest {short}…", digest.samples, digest.duets)
}

/// The two stores and what is copied, for errors.
struct PushSides {
    from: PathBuf,
    to: PathBuf,
    uuid: String,
    kind: &'static str,
}

impl PushSides {
    fn differ(&self, part: &str, how: String) -> PushError {
        let what = format!("{part} of the {} with uuid {}", self.kind, self.uuid);
        PushError::Differs { what, from: self.from.clone(), to: self.to.clone(), how }
    }

    /// A user without the right to change a finished run cannot see it as one that could be changed.
    fn finished(&self, cause: StoreError) -> PushError {
        match cause {
            StoreError::NoSuch { .. } | StoreError::NotPermitted { .. } => {
                PushError::Finished { uuid: self.uuid.clone(), to: self.to.clone(), cause: Box::new(cause) }
            }
            e => PushError::Store(e),
        }
    }
}

/// Begins the run in the other store; whether it is new there. Until all is there, it is unfinished.
fn begin(here: &Run, to: &mut dyn Store) -> Result<(i64, bool), StoreError> {
    match to.begin_copied_run(&Run { status: Status::Unfinished, ..here.clone() }) {
        Ok(there) => Ok((there, true)),
        // Another process was faster, or this one's answer was lost.
        Err(StoreError::Duplicate { id, .. }) => Ok((id.number, false)),
        Err(e) => Err(e),
    }
}

/// Fails unless what both have is the same run: all but what changes while it is measured.
fn same_run(here: &Run, there: &Run, sides: &PushSides) -> Result<(), PushError> {
    let fixed = |run: &Run| Run {
        id: 0,
        status: Status::Unfinished,
        notes: Vec::new(),
        plan: RunPlan { runs: here.plan.runs, ..run.plan.clone() },
        ..run.clone()
    };
    if fixed(here) == fixed(there) {
        return Ok(());
    }
    let parts = [
        ("the plan", fixed(here).plan == fixed(there).plan),
        ("the machine", here.host == there.host && here.factors == there.factors),
    ];
    let what = parts.iter().find(|(_, same)| !same).map_or("the description", |(what, _)| what);
    Err(sides.differ(what, "it is another run".to_owned()))
}

/// Adds the samples and duets that are missing, until the other store has what this one had at the beginning, unchanged; returns how
/// many.
fn add_missing(
    from: &dyn Store,
    run: i64,
    to: &mut dyn Store,
    there: i64,
    sides: &PushSides,
    watch: &mut dyn FnMut(PushProgress),
) -> Result<u64, PushError> {
    let (mut added, mut wanted) = (0, None);
    for _ in 0..ROUNDS {
        // In this order, as the run may still be measured, and another process may push it as well.
        let theirs = Content::read(&*to, there, None)?;
        let mine = Content::read(from, run, Some(&theirs.positions))?;
        if mine.digest != theirs.digest {
            let how = format!("{} there are {} here", described(&theirs.digest), described(&mine.digest));
            return Err(sides.differ("a sample", how));
        }
        let (all, before) = (mine.positions.len() as u64, theirs.positions.len() as u64);
        watch(PushProgress { there: before, all });
        if wanted.get_or_insert(mine.positions).is_subset(&theirs.positions) {
            return Ok(added);
        }
        let mut sent = |n: u64| watch(PushProgress { there: before + n, all: all.max(before + n) });
        added += send_missing((from, run), (to, there), &theirs.positions, &mut sent)?;
    }
    Err(sides.differ("the number of samples", "another process changes it at the same time".to_owned()))
}

/// Sends what is not there; returns how many samples and duets.
fn send_missing(
    (from, run): (&dyn Store, i64),
    (to, id): (&mut dyn Store, i64),
    there: &BTreeSet<u32>,
    watch: &mut dyn FnMut(u64),
) -> Result<u64, StoreError> {
    let mut added = 0;
    let mut sent = |n: usize| {
        added += n as u64;
        watch(added);
    };
    let mut samples = Batch::new(there);
    let mut send = |batch: &[Sample]| to.add_samples(id, batch).map(|()| sent(batch.len()));
    let weight = |s: &Sample| 1 + s.daemons.value().map_or(0, |d| d.list.len() / DAEMONS);
    from.each_sample(run, &mut |sample| samples.add(sample.seq, weight(&sample), sample, &mut send))?;
    samples.finish(&mut send)?;
    let mut duets = Batch::new(there);
    let mut send = |batch: &[Duet]| to.add_duets(id, batch).map(|()| sent(batch.len()));
    from.each_duet(run, &mut |duet| duets.add(duet.seq, 1, duet, &mut send))?;
    duets.finish(&mut send)?;
    Ok(added)
}

/// What is missing, until it is enough for a transaction.
struct Batch<'a, T> {
    there: &'a BTreeSet<u32>,
    waiting: Vec<T>,
    weight: usize,
    /// After an error nothing more is sent.
    failed: Option<StoreError>,
}

impl<'a, T> Batch<'a, T> {
    fn new(there: &'a BTreeSet<u32>) -> Batch<'a, T> {
        Batch { there, waiting: Vec::new(), weight: 0, failed: None }
    }

    fn add(&mut self, seq: u32, weight: usize, item: T, send: &mut dyn FnMut(&[T]) -> Result<(), StoreError>) {
        if self.failed.is_some() || self.there.contains(&seq) {
            return;
        }
        self.waiting.push(item);
        self.weight += weight;
        if self.weight >= BATCH {
            self.send(send);
        }
    }

    fn send(&mut self, send: &mut dyn FnMut(&[T]) -> Result<(), StoreError>) {
        if self.failed.is_none() && !self.waiting.is_empty() {
            self.failed = match send(&self.waiting) {
                // Another process adds the same; the next round sees what is missing then.
                Ok(()) | Err(StoreError::DuplicateSample { .. }) => None,
                Err(e) => Some(e),
            };
        }
        self.waiting.clear();
        self.weight = 0;
    }

    fn finish(mut self, send: &mut dyn FnMut(&[T]) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.send(send);
        self.failed.map_or(Ok(()), Err)
    }
}

/// Adds the slices of a recording that are missing; whether there were any.
fn add_chunks(
    from: &dyn Store,
    run: i64,
    to: &mut dyn Store,
    there: i64,
    sides: &PushSides,
) -> Result<bool, PushError> {
    let (mine, theirs) = (from.chunks(run)?, to.chunks(there)?);
    if !mine.starts_with(&theirs) {
        return Err(sides.differ("the recording", format!("{} slices here, {} there", mine.len(), theirs.len())));
    }
    let missing = mine.get(theirs.len()..).unwrap_or_default();
    missing.iter().try_for_each(|chunk| to.add_chunk(there, chunk))?;
    Ok(!missing.is_empty())
}

/// Adds the notes that are missing; whether there were any.
fn add_notes(here: &Run, found: &Run, to: &mut dyn Store, there: i64, sides: &PushSides) -> Result<bool, PushError> {
    let (mine, theirs) = (&here.notes, &found.notes);
    // Another process may have pushed this run at a later time.
    if theirs.starts_with(mine) {
        return Ok(false);
    }
    if !mine.starts_with(theirs) {
        return Err(sides.differ("a note", format!("{} notes here, {} there", mine.len(), theirs.len())));
    }
    let missing = mine.get(theirs.len()..).unwrap_or_default();
    missing.iter().try_for_each(|note| to.add_note(there, note))?;
    Ok(!missing.is_empty())
}

fn push_document(from: &dyn Store, id: Id, to: &mut dyn Store) -> Result<(Id, Pushed), PushError> {
    let here = from.document(id)?;
    let (uuid, kind) = (here.head.uuid.clone(), id.kind.noun());
    let sides = PushSides { from: from.path().to_owned(), to: to.path().to_owned(), uuid, kind };
    let known = to.find_kind(id.kind, &sides.uuid)?;
    let begun = match known {
        Some(there) => Ok(there),
        None if here.head.status == Status::Finished => match import_new(from, id, to) {
            Ok(there) => return Ok((there, Pushed::New { samples: here.parts.len() as u64 })),
            Err(e) => Err(e),
        },
        None => to.create_document(&here.head, &here.doc),
    };
    let there = match begun {
        // Another process was faster, or this one's answer was lost.
        Err(StoreError::Duplicate { id, .. }) => id,
        begun => begun?,
    };
    let added = complete(&here, to, there, &sides)?;
    let pushed = match (known, added) {
        (None, Pushed::Added { samples }) => Pushed::New { samples },
        (None, _) => Pushed::New { samples: 0 },
        (Some(_), added) => added,
    };
    Ok((there, pushed))
}

/// A document of which all is there, in one transaction.
fn import_new(from: &dyn Store, id: Id, to: &mut dyn Store) -> Result<Id, StoreError> {
    let mut text = Vec::new();
    let unstorable = |e: std::io::Error| StoreError::Unstorable { what: "document", cause: e.to_string() };
    from.export(id, &mut text)?.map_err(unstorable)?;
    to.import(&mut text.as_slice())
}

/// Adds what is missing of a document that was not complete when it was copied before.
fn complete(here: &StoredDocument, to: &mut dyn Store, there: Id, sides: &PushSides) -> Result<Pushed, PushError> {
    let found = to.document(there)?;
    let ended = found.head.status == Status::Finished;
    if !here.parts.starts_with(&found.parts) || (ended && here.doc != found.doc) {
        let how = format!("{} parts here, {} there", here.parts.len(), found.parts.len());
        return Err(sides.differ("the content", how));
    }
    let missing = here.parts.get(found.parts.len()..).unwrap_or_default();
    for part in missing {
        to.append_part(there, part)?;
    }
    let changed = here.head.status != found.head.status || here.doc != found.doc;
    if changed && here.head.kind == DocumentKind::Profile && here.head.status == Status::Finished {
        let bad = |e: serde_json::Error| StoreError::Unstorable { what: "profile", cause: e.to_string() };
        let profile: Profile = serde_json::from_value(here.doc.clone()).map_err(bad)?;
        to.save_profile(&profile, Some(there), here.head.conditions.as_deref())?;
    } else if changed {
        to.set_document(there, here.head.status, &here.doc)?;
    }
    let samples = missing.len() as u64;
    Ok(if samples > 0 || changed { Pushed::Added { samples } } else { Pushed::AlreadyThere })
}
