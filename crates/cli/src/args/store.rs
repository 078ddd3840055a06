//! Arguments that select a store and an entry in it.

use crate::exit::Failure;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::{Path, PathBuf};
use tarebench::run::session::{StorePlace, store_path};
use tarebench::store::{NamedDocument, SqliteStore, Store};

/// Where runs are stored.
#[derive(Args)]
pub struct StoreArgs {
    /// Store of runs, or `none` to store nothing [default: $XDG_DATA_HOME/tarebench/tare.db]
    #[arg(long, value_name = "FILE", env = "TARE_DB", global = true, help_heading = "Store",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    db: Option<PathBuf>,
}

impl StoreArgs {
    /// The file that the user named, if any.
    pub fn named(&self) -> Option<&Path> {
        // An empty TARE_DB counts as unset, as other variables do.
        self.db.as_deref().filter(|p| !p.as_os_str().is_empty())
    }

    fn is_none(&self) -> bool {
        self.named().is_some_and(|p| p.as_os_str() == "none")
    }

    /// Where the file is.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        if self.is_none() {
            let what = "there is no store: --db or TARE_DB is `none`";
            return Err(Failure::usage(what).hint("give a file with --db FILE, or omit --db and unset TARE_DB"));
        }
        Ok(store_path(self.named())?)
    }

    /// The store to write to, or none.
    pub fn place(&self) -> Result<StorePlace, Failure> {
        if self.is_none() {
            return Ok(StorePlace::Nowhere);
        }
        Ok(StorePlace::Store(Box::new(self.writable()?)))
    }

    /// The store to write to; an error with `--db none`.
    pub fn writable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open(&self.path()?)?)
    }

    /// The store, opened for reading only.
    pub fn readable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open_read_only(&self.path()?)?)
    }
}

/// Which run or other document is meant.
#[derive(Args)]
pub struct StoredId {
    /// Number of a run, `last`, or at least the first four digits of its uuid; number of a profile (`p1`), noise
    /// (`n1`), a study (`s1`), benchmarks (`b1`), a comparison (`c1`), a gate (`g1`); or a profile's name, NAME or
    /// NAME@VERSION
    #[arg(value_name = "RUN", default_value = "last")]
    what: String,
}

impl StoredId {
    /// The entry of this name or number.
    pub fn of(what: String) -> StoredId {
        StoredId { what }
    }

    /// Its number in the store.
    pub fn resolve(&self, store: &SqliteStore) -> Result<NamedDocument, Failure> {
        Ok(store.find(&self.what)?)
    }
}
