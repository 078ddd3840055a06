//! A run, a profile or another document as a file, for `export` and `import`; and files of benchmarks.

use crate::documents::{DocumentPart, StoredDocument};
use crate::error::StoreError;
use crate::format::{
    ARCHIVE_FORMAT, ARCHIVE_VERSION, BENCH, DOCUMENT, DOCUMENT_FORMAT, PROFILE, PROFILE_FORMAT, PROFILE_VERSION, RUN,
    WITHOUT_PROBES,
};
use crate::rows::{is_uuid, typed_notes};
use crate::stream::{RunPiece, stream_run};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use tarebench_core::compare::duet::Duet;
use tarebench_core::compare::gate::Gate;
use tarebench_core::compare::stored::StoredComparison;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::kbest::bench::Bench;
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_core::sample::data::Sample;

/// The first [`Archive::version`] with typed notes.
pub(crate) const TYPED_NOTES: u32 = 3;

/// A run with all its samples, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// [`ARCHIVE_FORMAT`].
    pub format: String,
    /// [`crate::ARCHIVE_VERSION`] when it was written, or the earliest one that fits.
    pub version: u32,
    /// The run; its `id` is 0, because a number is valid only in its own store.
    pub run: Run,
    /// Its samples, by [`Sample::seq`].
    pub samples: Vec<Sample>,
    /// Its executions of two programs together, by [`Duet::seq`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duets: Vec<Duet>,
    /// The slices, if it is a recording ([`tarebench_core::run::plan::RunPurpose::Watch`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<RecordingChunk>,
}

/// Reads a file of benchmarks and checks it ([`Bench::check`]).
///
/// # Errors
/// [`StoreError::BadArchive`], also if reading fails or it is longer than [`crate::BENCH_LIMIT`]; [`StoreError::NewerArchive`].
pub fn read_bench(reader: &mut dyn Read) -> Result<Bench, StoreError> {
    let bench: Bench = BENCH.read(reader)?;
    bench.check().map_err(|e| BENCH.bad(e.to_string()))?;
    Ok(bench)
}

fn write_document<T: Serialize>(writer: &mut dyn Write, document: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, document)?;
    writer.write_all(b"\n")
}

impl Archive {
    /// A run with its samples, or with its recording; without duets.
    pub fn new(run: Run, samples: Vec<Sample>, recording: Vec<RecordingChunk>) -> Archive {
        let run = Run { id: 0, ..run };
        let version = version_of(&run);
        Archive { format: ARCHIVE_FORMAT.to_owned(), version, run, samples, duets: Vec::new(), recording }
    }

    /// Reads a document and checks it: known version, valid uuid, a unique position for each sample, and a series of
    /// the plan. It is held in memory; [`crate::Store::import`] holds one sample at a time.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails or it is longer than [`crate::RUN_LIMIT`]; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<Archive, StoreError> {
        let (mut found, mut samples, mut duets, mut recording) = (None, Vec::new(), Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let version = stream_run::<StoreError>(reader, &mut |piece| {
            match piece {
                RunPiece::Run(run) => found = Some(*run),
                RunPiece::Sample(sample) if !seen.insert(sample.seq) => return Err(same_number(sample.seq)),
                RunPiece::Sample(sample) => samples.push(*sample),
                RunPiece::Duet(duet) if !seen.insert(duet.seq) => return Err(same_number(duet.seq)),
                RunPiece::Duet(duet) => duets.push(*duet),
                RunPiece::Chunk(chunk) => recording.push(chunk),
            }
            Ok(())
        })?;
        let mut run = found.ok_or_else(|| RUN.bad("it holds no run"))?;
        run.notes = notes_of(version, run.notes);
        // Notes that have been typed would be dropped by a reader that takes them for those of an earlier version.
        let version = version.max(TYPED_NOTES);
        Ok(Archive { format: ARCHIVE_FORMAT.to_owned(), version, run, samples, duets, recording })
    }

    /// Writes the document, with a newline at its end.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut out = ArchiveWriter::new(writer, &self.run, self.version);
        let _ = self.samples.iter().try_for_each(|sample| out.sample(sample));
        let _ = self.duets.iter().try_for_each(|duet| out.duet(duet));
        out.finish(&self.recording)
    }
}

/// The earliest version of the format that fits a run: an earlier tare would not show that elapsed times contain pauses.
fn version_of(run: &Run) -> u32 {
    if run.plan.probes.is_some() { ARCHIVE_VERSION } else { WITHOUT_PROBES }
}

/// Writes an [`Archive`] in the order of its fields, a sample at a time: all of them need not be in memory. After the first error of
/// the writer nothing more is written.
pub(crate) struct ArchiveWriter<'a> {
    writer: &'a mut dyn Write,
    /// What comes before the next element of the list that is open.
    before: &'static str,
    has_duets: bool,
    done: io::Result<()>,
}

impl<'a> ArchiveWriter<'a> {
    /// Begins the document of a stored run.
    pub(crate) fn of_stored(writer: &'a mut dyn Write, run: Run) -> ArchiveWriter<'a> {
        let run = Run { id: 0, ..run };
        let version = version_of(&run);
        ArchiveWriter::new(writer, &run, version)
    }

    fn new(writer: &'a mut dyn Write, run: &Run, version: u32) -> ArchiveWriter<'a> {
        let mut out = ArchiveWriter { writer, before: "", has_duets: false, done: Ok(()) };
        out.done = out.begin(run, version);
        out
    }

    fn begin(&mut self, run: &Run, version: u32) -> io::Result<()> {
        write!(self.writer, r#"{{"format":"{ARCHIVE_FORMAT}","version":{version},"run":"#)?;
        serde_json::to_writer(&mut *self.writer, run)?;
        self.writer.write_all(br#","samples":["#)
    }

    /// Adds a sample; all of them come before the duets. `Break` after an error.
    pub(crate) fn sample(&mut self, sample: &Sample) -> ControlFlow<()> {
        self.element(sample)
    }

    /// Adds a duet. `Break` after an error.
    pub(crate) fn duet(&mut self, duet: &Duet) -> ControlFlow<()> {
        if !self.has_duets {
            (self.has_duets, self.before) = (true, r#"],"duets":["#);
        }
        self.element(duet)
    }

    fn element<T: Serialize>(&mut self, element: &T) -> ControlFlow<()> {
        if self.done.is_ok() {
            self.done = self.writer.write_all(self.before.as_bytes());
        }
        if self.done.is_ok() {
            self.done = serde_json::to_writer(&mut *self.writer, element).map_err(io::Error::from);
        }
        self.before = ",";
        if self.done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The first one of the writer.
    pub(crate) fn finish(self, recording: &[RecordingChunk]) -> io::Result<()> {
        self.done?;
        self.writer.write_all(b"]")?;
        if !recording.is_empty() {
            self.writer.write_all(br#","recording":"#)?;
            serde_json::to_writer(&mut *self.writer, recording)?;
        }
        self.writer.write_all(b"}\n")
    }
}

/// The notes of a run in an archive of this version, typed.
pub(crate) fn notes_of(version: u32, notes: Vec<Note>) -> Vec<Note> {
    if version >= TYPED_NOTES {
        return notes;
    }
    let texts = notes.into_iter().filter_map(|note| match note {
        Note::Text { key, text } => Some((key, text)),
        _ => None,
    });
    typed_notes(texts.collect())
}

/// Two samples of an archive have the same number.
pub(crate) fn same_number(seq: u32) -> StoreError {
    RUN.bad(format!("two samples have the number {seq}"))
}

/// A profile, with the samples that it is based on, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileArchive {
    /// `tare-profile`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    pub profile: Profile,
}

impl ProfileArchive {
    pub fn new(profile: Profile) -> ProfileArchive {
        ProfileArchive { format: PROFILE_FORMAT.to_owned(), version: PROFILE_VERSION, profile }
    }

    /// Reads a document and checks it.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<ProfileArchive, StoreError> {
        let archive: ProfileArchive = PROFILE.read(reader)?;
        check_profile(&archive.profile).map_err(|e| PROFILE.bad(e))?;
        Ok(archive)
    }

    /// Writes the document, with a newline at its end.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        write_document(writer, self)
    }
}

/// A profile's name must be distinguishable from a version and from a word of `--profile`.
fn check_profile(profile: &Profile) -> Result<(), String> {
    let Profile { name, version, .. } = profile;
    if name.is_empty() || *version == 0 {
        return Err("its profile has no name or no version".to_owned());
    }
    if name == "none" || name.starts_with('-') || name.contains('@') || name.chars().any(char::is_control) {
        return Err(format!(
            "its profile's name is {name:?}, expected no `-` at its start, no `@`, no control character, and not `none`"
        ));
    }
    Ok(())
}

/// What is stored as a whole is checked as a whole; of noise and studies, the parts are checked when they are shown.
fn check_content(kind: DocumentKind, doc: &Value) -> Result<(), String> {
    match kind {
        DocumentKind::Bench => {
            let bench = Bench::deserialize(doc).map_err(|e| format!("its benchmarks: {e}"))?;
            bench.check().map_err(|e| e.to_string())
        }
        DocumentKind::Comparison => {
            let comparison = StoredComparison::deserialize(doc).map_err(|e| format!("its comparison: {e}"))?;
            comparison.check().map_err(|e| e.to_string())
        }
        DocumentKind::Gate => {
            let gate = Gate::deserialize(doc).map_err(|e| format!("its gate: {e}"))?;
            gate.check().map_err(|e| e.to_string())
        }
        DocumentKind::Run | DocumentKind::Profile | DocumentKind::Study | DocumentKind::Noise => Ok(()),
    }
}

/// A document with its parts, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentArchive {
    /// `tare-document`.
    pub format: String,
    /// 3 for a comparison or a gate; 2 with conditions or tags and for a profile; else 1.
    pub version: u32,
    /// Its head; its `number` is 0, because a number is valid only in its own store.
    pub head: DocumentHead,
    pub doc: Value,
    /// Its parts, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DocumentPart>,
}

impl DocumentArchive {
    pub fn new(document: StoredDocument) -> DocumentArchive {
        let StoredDocument { head, doc, parts } = document;
        let head = DocumentHead { number: 0, ..head };
        // The earliest version that fits, so that an earlier tare can read the file.
        let version = match head.kind {
            DocumentKind::Comparison | DocumentKind::Gate => 3,
            DocumentKind::Profile => 2,
            _ if head.conditions.is_some() || !head.tags.is_empty() => 2,
            _ => 1,
        };
        DocumentArchive { format: DOCUMENT_FORMAT.to_owned(), version, head, doc, parts }
    }

    /// Reads a document and checks it: known version, uuid well formed, a profile finished and with a
    /// valid name; benchmarks, comparisons and gates by their own checks ([`Bench::check`], [`StoredComparison::check`],
    /// [`Gate::check`]).
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<DocumentArchive, StoreError> {
        let archive: DocumentArchive = DOCUMENT.read(reader)?;
        let head = &archive.head;
        if !is_uuid(&head.uuid) {
            return Err(DOCUMENT.bad(format!("its uuid is {:?}, expected 32 hex digits in lower case", head.uuid)));
        }
        if head.kind == DocumentKind::Run {
            return Err(DOCUMENT.bad(format!("it is of a run, expected the format {ARCHIVE_FORMAT:?}")));
        }
        if head.kind == DocumentKind::Profile {
            if head.status != Status::Finished {
                return Err(DOCUMENT.bad("its profile is not finished"));
            }
            let profile = Profile::deserialize(&archive.doc).map_err(|e| DOCUMENT.bad(format!("its profile: {e}")))?;
            check_profile(&profile).map_err(|e| DOCUMENT.bad(e))?;
        }
        check_content(head.kind, &archive.doc).map_err(|e| DOCUMENT.bad(e))?;
        Ok(archive)
    }

    /// Writes the document, with a newline at its end.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        write_document(writer, self)
    }
}
