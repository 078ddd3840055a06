//! A run as a document: what `export` writes and `import` reads.

use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use tare_core::run::Run;
use tare_core::sample::Sample;

/// [`Archive::format`] of every archive.
pub const ARCHIVE_FORMAT: &str = "tare-run";

/// [`Archive::version`] of the archives that this version of tare writes, and the latest that it reads.
pub const ARCHIVE_VERSION: u32 = 1;

/// A run with all its samples, as one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// [`ARCHIVE_FORMAT`].
    pub format: String,
    /// [`ARCHIVE_VERSION`].
    pub version: u32,
    /// The run; its `id` is 0, as a number means something in its own store only.
    pub run: Run,
    /// Its samples, by [`Sample::seq`].
    pub samples: Vec<Sample>,
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

impl Archive {
    /// A run and its samples.
    pub fn new(run: Run, samples: Vec<Sample>) -> Archive {
        let run = Run { id: 0, ..run };
        Archive { format: ARCHIVE_FORMAT.to_owned(), version: ARCHIVE_VERSION, run, samples }
    }

    /// Reads a document and checks it: known version, uuid well formed, each sample's place in the run its own and
    /// its series one of the plan's. The document is held in memory; there is no limit to its size but that.
    ///
    /// # Errors
    /// [`StoreError::BadArchive`], also if reading fails; [`StoreError::NewerArchive`].
    pub fn read(reader: &mut dyn Read) -> Result<Archive, StoreError> {
        let failed = |e: io::Error| bad(format!("cannot be read: {e}"));
        let mut text = Vec::new();
        // Looks at the beginning first: the rest of what is not a document may have no end.
        reader.take(4096).read_to_end(&mut text).map_err(failed)?;
        if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
            return Err(StoreError::BadArchive { line: 1, column: 1, cause: "expected a JSON object".to_owned() });
        }
        reader.read_to_end(&mut text).map_err(failed)?;
        let head: Head = serde_json::from_slice(&text).map_err(|e| json(&e))?;
        if head.format != ARCHIVE_FORMAT {
            return Err(bad(format!("its format is {:?}, expected {ARCHIVE_FORMAT:?}", head.format)));
        }
        if head.version > u64::from(ARCHIVE_VERSION) {
            return Err(StoreError::NewerArchive { found: head.version, known: ARCHIVE_VERSION });
        }
        let archive: Archive = serde_json::from_slice(&text).map_err(|e| json(&e))?;
        archive.check()?;
        Ok(archive)
    }

    /// Writes the document, with a newline at its end.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *writer, self)?;
        writer.write_all(b"\n")
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.version == 0 {
            return Err(bad("its version is 0"));
        }
        if !is_uuid(&self.run.uuid) {
            return Err(bad(format!("its uuid is {:?}, expected 32 hex digits in lower case", self.run.uuid)));
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

/// 32 hex digits in lower case.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
