//! Which store, and what in it.

use crate::exit::Failure;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::{Path, PathBuf};
use tarebench::run::session::{Place, store_path};
use tarebench::store::{SqliteStore, Store, Stored};

/// Where runs are stored.
#[derive(Args)]
pub struct StoreArgs {
    /// Store of runs, or `none` to keep nothing [default: $XDG_DATA_HOME/tarebench/tare.db]
    #[arg(long, value_name = "FILE", env = "TARE_DB", global = true, help_heading = "Store",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    db: Option<PathBuf>,
}

impl StoreArgs {
    /// The file that the user named, if any.
    pub fn named(&self) -> Option<&Path> {
        // An empty TARE_DB is as none at all, as with other variables.
        self.db.as_deref().filter(|p| !p.as_os_str().is_empty())
    }

    fn is_none(&self) -> bool {
        self.named().is_some_and(|p| p.as_os_str() == "none")
    }

    /// Where the file is.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        if self.is_none() {
            let what = "there is no store to look into, as `none` was asked for (--db or TARE_DB)";
            return Err(Failure::usage(what).hint("name its file, or leave --db out and unset TARE_DB"));
        }
        Ok(store_path(self.named())?)
    }

    /// To write to.
    pub fn place(&self) -> Result<Place, Failure> {
        if self.is_none() {
            return Ok(Place::Nowhere);
        }
        Ok(Place::Store(Box::new(self.writable()?)))
    }

    /// To write to, and it must be there.
    pub fn writable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open(&self.path()?)?)
    }

    /// To read from only.
    pub fn readable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open_read_only(&self.path()?)?)
    }
}

/// Which run or other document is meant.
#[derive(Args)]
pub struct StoredId {
    /// Number of a run, `last`, or four or more first digits of its uuid; number of a profile (`p1`), noise (`n1`), a study
    /// (`s1`), benchmarks (`b1`); or a profile's name, NAME or NAME@VERSION
    #[arg(value_name = "RUN", default_value = "last")]
    what: String,
}

impl StoredId {
    /// What is named so.
    pub fn of(what: String) -> StoredId {
        StoredId { what }
    }

    /// Its number in the store.
    pub fn resolve(&self, store: &SqliteStore) -> Result<Stored, Failure> {
        Ok(store.find(&self.what)?)
    }
}
