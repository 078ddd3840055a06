//! What kinds of files there are, and how long they may be.

use crate::error::StoreError;
use crate::weight;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use tarebench_core::kbest::bench;

/// [`crate::Archive::format`] of every archive.
pub const ARCHIVE_FORMAT: &str = "tare-run";

/// The latest [`crate::Archive::version`] that this version of tare reads. Before 3, notes of the run are texts by a name; before 5,
/// every duet is a result; before 6, no program was paused while it was measured.
pub const ARCHIVE_VERSION: u32 = 6;

/// The version of a run without probes, which an earlier tare reads as it is.
pub(crate) const WITHOUT_PROBES: u32 = 5;

/// [`crate::ProfileArchive::format`].
pub(crate) const PROFILE_FORMAT: &str = "tare-profile";

/// The latest [`crate::ProfileArchive::version`] that is read; it is the one that is written.
pub(crate) const PROFILE_VERSION: u32 = 1;

/// [`crate::DocumentArchive::format`].
pub(crate) const DOCUMENT_FORMAT: &str = "tare-document";

/// The latest [`crate::DocumentArchive::version`] that is read.
pub(crate) const DOCUMENT_VERSION: u32 = 3;

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
    /// Maximum number of bytes that are read.
    pub limit: u64,
}

pub(crate) const RUN: ArchiveFormat =
    ArchiveFormat { what: "an archive of a run", format: ARCHIVE_FORMAT, known: ARCHIVE_VERSION, limit: RUN_LIMIT };
pub(crate) const PROFILE: ArchiveFormat = ArchiveFormat {
    what: "an archive of a profile",
    format: PROFILE_FORMAT,
    known: PROFILE_VERSION,
    limit: PROFILE_LIMIT,
};
pub(crate) const DOCUMENT: ArchiveFormat = ArchiveFormat {
    what: "an archive of a document",
    format: DOCUMENT_FORMAT,
    known: DOCUMENT_VERSION,
    limit: DOCUMENT_LIMIT,
};
pub(crate) const BENCH: ArchiveFormat =
    ArchiveFormat { what: "a file of benchmarks", format: bench::FORMAT, known: bench::VERSION, limit: BENCH_LIMIT };

/// Maximum size of a file of benchmarks, 32 MiB: about 400,000 trials.
pub const BENCH_LIMIT: u64 = 32 << 20;

/// Maximum size of an archive of a profile, 256 MiB.
pub const PROFILE_LIMIT: u64 = 256 << 20;

/// Maximum size of an archive of another document, 512 MiB: over 50 million phases of a measurement of noise.
pub const DOCUMENT_LIMIT: u64 = 512 << 20;

/// Maximum memory for the values of a file that is read as a whole, beside its texts: tens of thousands of a profile's samples,
/// each with the times of forty daemons, or eight million numbers.
const MEMORY_LIMIT: u64 = 512 << 20;

/// Maximum size of an archive of a run, 32 GiB: over a million samples with long lists of daemons. It is read sample by sample.
pub const RUN_LIMIT: u64 = 32 << 30;

impl ArchiveFormat {
    pub(crate) fn bad(&self, cause: impl Into<String>) -> StoreError {
        StoreError::BadArchive { what: self.what, line: 0, column: 0, cause: cause.into() }
    }

    pub(crate) fn json(&self, e: &serde_json::Error) -> StoreError {
        StoreError::BadArchive { what: self.what, line: e.line(), column: e.column(), cause: e.to_string() }
    }

    /// The first bytes of a file, which show whether it is a document, because one that is not may have no end.
    pub(crate) fn beginning(&self, reader: &mut dyn Read) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        reader.take(4096).read_to_end(&mut text).map_err(|e| self.bad(format!("cannot be read: {e}")))?;
        if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
            let (line, column, cause) = (1, 1, "expected a JSON object".to_owned());
            return Err(StoreError::BadArchive { what: self.what, line, column, cause });
        }
        Ok(text)
    }

    pub(crate) fn check_format(&self, found: &str) -> Result<(), StoreError> {
        match found == self.format {
            true => Ok(()),
            false => Err(self.bad(format!("its format is {found:?}, expected {:?}", self.format))),
        }
    }

    pub(crate) fn check_version(&self, found: u64) -> Result<(), StoreError> {
        match found {
            0 => Err(self.bad("its version is 0")),
            _ if found > u64::from(self.known) => {
                Err(StoreError::NewerArchive { what: self.what, found, known: self.known })
            }
            _ => Ok(()),
        }
    }

    /// The file is longer than the limit.
    pub(crate) fn too_long(&self) -> StoreError {
        self.bad(format!("it is longer than {} MiB", self.limit >> 20))
    }

    /// Reads a whole file, after its head has identified it.
    pub(crate) fn read<T: DeserializeOwned>(&self, reader: &mut dyn Read) -> Result<T, StoreError> {
        let mut text = self.beginning(reader)?;
        reader.take(self.limit).read_to_end(&mut text).map_err(|e| self.bad(format!("cannot be read: {e}")))?;
        if text.len() as u64 > self.limit {
            return Err(self.too_long());
        }
        let head: ArchiveHead = serde_json::from_slice(&text).map_err(|e| self.json(&e))?;
        self.check_format(&head.format)?;
        self.check_version(head.version)?;
        if !weight::fits(&text, MEMORY_LIMIT).map_err(|e| self.json(&e))? {
            return Err(self.bad(format!("it would take more than {} MiB of memory", MEMORY_LIMIT >> 20)));
        }
        serde_json::from_slice(&text).map_err(|e| self.json(&e))
    }
}
