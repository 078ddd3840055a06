//! A run or a profile as a document: what `export` writes and `import` reads.

use crate::error::StoreError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use tare_core::profile::Profile;
use tare_core::recording::Chunk;
use tare_core::run::Run;
use tare_core::sample::Sample;

/// [`Archive::format`] of every archive.
pub const ARCHIVE_FORMAT: &str = "tare-run";

/// The latest [`Archive::version`] that this version of tare reads. It writes 1, or 2 for a run with a recording.
pub const ARCHIVE_VERSION: u32 = 2;

/// A run with all its samples, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// [`ARCHIVE_FORMAT`].
    pub format: String,
    /// 1, or 2 with a recording.
    pub version: u32,
    /// The run; its `id` is 0, as a number means something in its own store only.
    pub run: Run,
    /// Its samples, by [`Sample::seq`].
    pub samples: Vec<Sample>,
    /// What ran, if it is a recording ([`tare_core::plan::Purpose::Watch`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<Chunk>,
}

/// What is read first, to tell a later version from a fault.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

fn bad(cause: impl Into<String>) -> StoreError {
    StoreError::BadArchive { line: 0, column: 0, cause: cause.into() }
}

fn json(e: &serde_json::Error) -> StoreError {
    StoreError::BadArchive { line: e.line(), column: e.column(), cause: e.to_string() }
}

/// Reads a whole document, after its head says that it is one of these.
fn read_document<T: DeserializeOwned>(reader: &mut dyn Read, format: &str, known: u32) -> Result<T, StoreError> {
    let failed = |e: io::Error| bad(format!("cannot be read: {e}"));
    let mut text = Vec::new();
    // Looks at the beginning first: the rest of what is not a document may have no end.
    reader.take(4096).read_to_end(&mut text).map_err(failed)?;
    if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return Err(StoreError::BadArchive { line: 1, column: 1, cause: "expected a JSON object".to_owned() });
    }
    reader.read_to_end(&mut text).map_err(failed)?;
    let head: Head = serde_json::from_slice(&text).map_err(|e| json(&e))?;
    if head.format != format {
        return Err(bad(format!("its format is {:?}, expected {format:?}", head.format)));
    }
    if head.version > u64::from(known) {
        return Err(StoreError::NewerArchive { found: head.version, known });
    }
    if head.version == 0 {
        return Err(bad("its version is 0"));
    }
    serde_json::from_slice(&text).map_err(|e| json(&e))
}

fn write_document<T: Serialize>(writer: &mut dyn Write, document: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, document)?;
    writer.write_all(b"\n")
}

impl Archive {
    /// A run with its samples, or with its recording.
    pub fn new(run: Run, samples: Vec<Sample>, recording: Vec<Chunk>) -> Archive {
        let run = Run { id: 0, ..run };
        let version = if recording.is_empty() { 1 } else { 2 };
        Archive { format: ARCHIVE_FORMAT.to_owned(), version, run, samples, recording }
    }

    /// Reads a document and checks it: known version, uuid well formed, each sample's place in the run its own and
    /// its series one of the plan's. The document is held in memory; there is no limit to its size but that.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<Archive, StoreError> {
        let archive: Archive = read_document(reader, ARCHIVE_FORMAT, ARCHIVE_VERSION)?;
        archive.check()?;
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
            return Err(bad(format!("its uuid is {:?}, expected 32 hex digits in lower case", self.run.uuid)));
        }
        for chunk in &self.recording {
            let out = |task: u32| usize::try_from(task).is_ok_and(|t| t >= chunk.tasks.len());
            if let Some((task, _)) = chunk.slices.iter().flat_map(|s| &s.ran).find(|(t, _)| out(*t)) {
                return Err(bad(format!("the recording names process {task} of {}", chunk.tasks.len())));
            }
        }
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            if !seen.insert(sample.seq) {
                return Err(bad(format!("two samples have the number {}", sample.seq)));
            }
            if usize::try_from(sample.series).is_ok_and(|s| s >= self.run.plan.programs.len()) {
                let (seq, series, n) = (sample.seq, sample.series, self.run.plan.programs.len());
                return Err(bad(format!("sample {seq} is of series {series}, but there are {n} programs")));
            }
        }
        Ok(())
    }
}

/// [`ProfileArchive::format`].
const PROFILE_FORMAT: &str = "tare-profile";

/// The latest [`ProfileArchive::version`] that is read; it is the one that is written.
const PROFILE_VERSION: u32 = 1;

/// A profile, with the samples that it rests on, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileArchive {
    /// `tare-profile`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// The profile.
    pub profile: Profile,
}

impl ProfileArchive {
    /// Of a profile.
    pub fn new(profile: Profile) -> ProfileArchive {
        ProfileArchive { format: PROFILE_FORMAT.to_owned(), version: PROFILE_VERSION, profile }
    }

    /// Reads a document and checks it.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<ProfileArchive, StoreError> {
        let archive: ProfileArchive = read_document(reader, PROFILE_FORMAT, PROFILE_VERSION)?;
        if archive.profile.name.is_empty() || archive.profile.version == 0 {
            return Err(bad("its profile has no name or no version"));
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

/// 32 hex digits in lower case.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
