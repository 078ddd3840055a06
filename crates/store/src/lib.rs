//! The store of runs, profiles and other documents: exact observations, durable sample by sample.
//!
//! [`Store`] is the interface; [`SqliteStore`] stores everything in one SQLite database; stores on a server come from another crate,
//! over [`backend`] and [`with_servers`]; [`open_place`] takes what a user has named. No derived figure of a run is stored:
//! a [`Sample`](tarebench_core::sample::data::Sample) that is read equals the one that was written, and every figure is recomputed from it. What was learned of a machine
//! over many runs ([`Store::level_history`]) is stored beside them.
#![forbid(unsafe_code)]

mod archive;
pub mod backend;
mod claim;
mod contract;
pub mod copy;
pub mod database;
mod documents;
mod entries;
pub mod error;
mod format;
mod import;
mod learned;
mod named;
mod open;
mod profiles;
mod rows;
mod runs;
mod samples;
mod schema;
mod sqlite;
mod sqlite_database;
mod stream;
mod weight;

pub use crate::archive::{Archive, DocumentArchive, ProfileArchive, read_bench};
pub use crate::claim::Claimant;
pub use crate::contract::{Result, Store};
pub use crate::documents::{DocumentFilter, DocumentPart, DocumentSummary, StoredDocument, content};
pub use crate::error::StoreError;
pub use crate::format::{ARCHIVE_FORMAT, ARCHIVE_VERSION, BENCH_LIMIT, DOCUMENT_LIMIT, PROFILE_LIMIT, RUN_LIMIT};
pub use crate::learned::MachineKey;
pub use crate::named::{
    Environment, ServerName, ServerStores, has_servers, is_server, open_place, open_place_read_only, server_name,
    with_servers,
};
pub use crate::open::{default_path, end_waits_when};
pub use crate::profiles::Saved;
pub use crate::sqlite::{FinishedResults, SqliteStore};
