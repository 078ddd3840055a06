//! A run, a profile or another document as a file, for `export` and `import`; and files of benchmarks.

use crate::documents::{DocumentPart, StoredDocument};
use crate::error::StoreError;
use crate::rows::{is_uuid, typed_notes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::io::{Read, Write};
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Status};
use tarebench_core::kbest::bench;
use tarebench_core::kbest::bench::Bench;
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::RecordingChunk;
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_core::sample::data::Sample;

/// [`Archive::format`] of every archive.
pub const ARCHIVE_FORMAT: &str = "tare-run";

/// The latest [`Archive::version`] that this version of tare reads, and the one that it writes. Before 3, notes of the run are texts by a name.
pub const ARCHIVE_VERSION: u32 = 3;

/// The first [`Archive::version`] with typed notes.
const TYPED_NOTES: u32 = 3;

/// A run with all its samples, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// [`ARCHIVE_FORMAT`].
    pub format: String,
    /// [`ARCHIVE_VERSION`] when it was written.
    pub version: u32,
    /// The run; its `id` is 0, because a number is valid only in its own store.
    pub run: Run,
    /// Its samples, by [`Sample::seq`].
    pub samples: Vec<Sample>,
    /// The slices, if it is a recording ([`tarebench_core::run::plan::Purpose::Watch`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<RecordingChunk>,
}

/// Read first, to distinguish a later version from a fault.
#[derive(Deserialize)]
struct ArchiveHead {
    format: String,
    version: u64,
}

/// A kind of file.
pub(crate) struct ArchiveFormat {
    /// What it is, in an error.
    pub what: &'static str,
    /// Its `format`.
    pub format: &'static str,
    /// The latest `version` that is read.
    known: u32,
    /// Maximum number of bytes that are read; `None`: no limit but memory.
    limit: Option<u64>,
}

pub(crate) const RUN: ArchiveFormat =
    ArchiveFormat { what: "an archive of a run", format: ARCHIVE_FORMAT, known: ARCHIVE_VERSION, limit: None };
pub(crate) const PROFILE: ArchiveFormat =
    ArchiveFormat { what: "an archive of a profile", format: PROFILE_FORMAT, known: PROFILE_VERSION, limit: None };
pub(crate) const DOCUMENT: ArchiveFormat =
    ArchiveFormat { what: "an archive of a document", format: DOCUMENT_FORMAT, known: DOCUMENT_VERSION, limit: None };
pub(crate) const BENCH: ArchiveFormat = ArchiveFormat {
    what: "a file of benchmarks",
    format: bench::FORMAT,
    known: bench::VERSION,
    limit: Some(BENCH_LIMIT),
};

/// Maximum size of a file of benchmarks, 32 MiB: about 400,000 trials.
pub const BENCH_LIMIT: u64 = 32 << 20;

impl ArchiveFormat {
    fn bad(&self, cause: impl Into<String>) -> StoreError {
        StoreError::BadArchive { what: self.what, line: 0, column: 0, cause: cause.into() }
    }

    fn json(&self, e: &serde_json::Error) -> StoreError {
        StoreError::BadArchive { what: self.what, line: e.line(), column: e.column(), cause: e.to_string() }
    }

    /// Reads a whole file, after its head has identified it.
    fn read<T: DeserializeOwned>(&self, reader: &mut dyn Read) -> Result<T, StoreError> {
        let failed = |e: io::Error| self.bad(format!("cannot be read: {e}"));
        let mut text = Vec::new();
        // Reads the beginning first, because a file that is not a document may have no end.
        reader.take(4096).read_to_end(&mut text).map_err(failed)?;
        if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
            let (line, column, cause) = (1, 1, "expected a JSON object".to_owned());
            return Err(StoreError::BadArchive { what: self.what, line, column, cause });
        }
        match self.limit {
            Some(limit) => reader.take(limit).read_to_end(&mut text),
            None => reader.read_to_end(&mut text),
        }
        .map_err(failed)?;
        if let Some(limit) = self.limit.filter(|l| text.len() as u64 > *l) {
            return Err(self.bad(format!("it is longer than {} MiB", limit >> 20)));
        }
        let head: ArchiveHead = serde_json::from_slice(&text).map_err(|e| self.json(&e))?;
        if head.format != self.format {
            return Err(self.bad(format!("its format is {:?}, expected {:?}", head.format, self.format)));
        }
        if head.version > u64::from(self.known) {
            return Err(StoreError::NewerArchive { what: self.what, found: head.version, known: self.known });
        }
        if head.version == 0 {
            return Err(self.bad("its version is 0"));
        }
        serde_json::from_slice(&text).map_err(|e| self.json(&e))
    }
}

/// Reads a file of benchmarks and checks it ([`Bench::check`]).
///
/// # Errors
/// [`StoreError::BadArchive`], also if reading fails or it is longer than [`BENCH_LIMIT`]; [`StoreError::NewerArchive`].
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
    /// A run with its samples, or with its recording.
    pub fn new(run: Run, samples: Vec<Sample>, recording: Vec<RecordingChunk>) -> Archive {
        let run = Run { id: 0, ..run };
        Archive { format: ARCHIVE_FORMAT.to_owned(), version: ARCHIVE_VERSION, run, samples, recording }
    }

    /// Reads a document and checks it: known version, valid uuid, a unique position for each sample, and a series of
    /// the plan. The document is held in memory, which alone limits its size.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<Archive, StoreError> {
        let mut archive: Archive = RUN.read(reader)?;
        archive.check()?;
        if archive.version < TYPED_NOTES {
            let texts = archive.run.notes.drain(..).filter_map(|note| match note {
                Note::Text { key, text } => Some((key, text)),
                _ => None,
            });
            archive.run.notes = typed_notes(texts.collect());
        }
        Ok(archive)
    }

    /// Writes the document, with a newline at its end.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        write_document(writer, self)
    }

    fn check(&self) -> Result<(), StoreError> {
        if !is_uuid(&self.run.uuid) {
            return Err(RUN.bad(format!("its uuid is {:?}, expected 32 hex digits in lower case", self.run.uuid)));
        }
        for chunk in &self.recording {
            let out = |task: u32| usize::try_from(task).is_ok_and(|t| t >= chunk.tasks.len());
            if let Some((task, _)) = chunk.slices.iter().flat_map(|s| &s.ran).find(|(t, _)| out(*t)) {
                return Err(RUN.bad(format!("the recording names process {task} of {}", chunk.tasks.len())));
            }
        }
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            if !seen.insert(sample.seq) {
                return Err(RUN.bad(format!("two samples have the number {}", sample.seq)));
            }
            if usize::try_from(sample.series).is_ok_and(|s| s >= self.run.plan.programs.len()) {
                let (seq, series, n) = (sample.seq, sample.series, self.run.plan.programs.len());
                return Err(RUN.bad(format!("sample {seq} is of series {series}, but there are {n} programs")));
            }
        }
        Ok(())
    }
}

/// [`ProfileArchive::format`].
const PROFILE_FORMAT: &str = "tare-profile";

/// The latest [`ProfileArchive::version`] that is read; it is the one that is written.
const PROFILE_VERSION: u32 = 1;

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
    ///
    /// # Errors
    /// Those of `writer`.
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
    if name == "none" || name.contains('@') || name.chars().any(char::is_control) {
        return Err(format!("its profile's name is {name:?}, expected no `@`, no control character, and not `none`"));
    }
    Ok(())
}

/// [`DocumentArchive::format`].
const DOCUMENT_FORMAT: &str = "tare-document";

/// The latest [`DocumentArchive::version`] that is read.
const DOCUMENT_VERSION: u32 = 2;

/// A document with its parts, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentArchive {
    /// `tare-document`.
    pub format: String,
    /// 2 with conditions or tags and for a profile, else 1.
    pub version: u32,
    /// Its head; its `number` is 0, because a number is valid only in its own store.
    pub head: DocumentHead,
    /// Its content.
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
        let first = head.conditions.is_none() && head.tags.is_empty() && head.kind != DocumentKind::Profile;
        let version = if first { 1 } else { DOCUMENT_VERSION };
        DocumentArchive { format: DOCUMENT_FORMAT.to_owned(), version, head, doc, parts }
    }

    /// Reads a document and checks it: known version, uuid well formed, a profile finished and with a
    /// valid name, and benchmarks checked by [`Bench::check`].
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
        if head.kind == DocumentKind::Bench {
            let bench = Bench::deserialize(&archive.doc).map_err(|e| DOCUMENT.bad(format!("its benchmarks: {e}")))?;
            bench.check().map_err(|e| DOCUMENT.bad(e.to_string()))?;
        }
        Ok(archive)
    }

    /// Writes the document, with a newline at its end.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        write_document(writer, self)
    }
}
