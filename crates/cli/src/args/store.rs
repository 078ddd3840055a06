//! Arguments that select a store and an entry in it.

use crate::exit::Failure;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tarebench::core::documents::head::Id;
use tarebench::run::session::{StorePlace, store_path};
use tarebench::store::{
    FinishedResults, SqliteStore, Store, StoreError, is_server, open_place, open_place_read_only, server_name,
};

/// Where runs are stored.
#[derive(Args)]
pub struct StoreArgs {
    /// Store of runs: a file, a PostgreSQL server (postgresql://USER@HOST/DATABASE), or `none` to store nothing
    /// [default: $XDG_DATA_HOME/tarebench/tare.db]
    #[arg(long, value_name = "FILE", env = "TARE_DB", global = true, help_heading = "Store",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    db: Option<PathBuf>,
    /// What this command has finished in the file that it measures into.
    #[arg(skip)]
    finished: FinishedResults,
}

impl StoreArgs {
    /// The file that the user named, if any.
    pub fn named(&self) -> Option<&Path> {
        // An empty TARE_DB counts as unset, as other variables do.
        self.db.as_deref().filter(|p| !p.as_os_str().is_empty())
    }

    /// The server that the user named, if it is one.
    pub fn server(&self) -> Option<&OsStr> {
        self.named().map(Path::as_os_str).filter(|name| is_server(name))
    }

    /// The file that the user named, if it is one.
    pub fn named_file(&self) -> Option<&Path> {
        self.named().filter(|name| !is_server(name.as_os_str()))
    }

    pub fn is_none(&self) -> bool {
        self.named().is_some_and(|p| p.as_os_str() == "none")
    }

    /// Where it is.
    fn path(&self) -> Result<PathBuf, Failure> {
        if self.is_none() {
            let what = "there is no store: --db or TARE_DB is `none`";
            return Err(Failure::usage(what).hint("give a file with --db FILE, or omit --db and unset TARE_DB"));
        }
        Ok(store_path(self.named())?)
    }

    /// The store to measure into, or none.
    pub fn place(&self) -> Result<StorePlace, Failure> {
        if self.is_none() {
            return Ok(StorePlace::Nowhere);
        }
        Ok(StorePlace::Store(self.local()?))
    }

    /// The file to measure into. If a server is named, it is the default file, as nothing may touch the network while a
    /// program is measured; [`crate::pushed::PushAtEnd`] copies from it.
    pub fn local(&self) -> Result<Box<dyn Store>, Failure> {
        Ok(Box::new(SqliteStore::open(&self.local_path()?)?.listing_finished(&self.finished)))
    }

    /// That file, opened for reading only.
    pub fn local_readable(&self) -> Result<Box<dyn Store>, Failure> {
        Ok(Box::new(SqliteStore::open_read_only(&self.local_path()?)?))
    }

    /// The same; `None` if nothing was ever stored there.
    pub fn local_if_there(&self) -> Result<Option<Box<dyn Store>>, Failure> {
        match SqliteStore::open_read_only(&self.local_path()?) {
            Ok(store) => Ok(Some(Box::new(store))),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn local_path(&self) -> Result<PathBuf, Failure> {
        match self.server() {
            Some(_) => Ok(store_path(None)?),
            None => self.path(),
        }
    }

    /// What was finished in the file of [`Self::local`] since the arguments were read.
    pub fn finished(&self) -> Vec<Id> {
        self.finished.all()
    }

    /// The store to write to; an error with `--db none`.
    pub fn writable(&self) -> Result<Box<dyn Store>, Failure> {
        Ok(open_place(self.path()?.as_os_str(), &environment)?)
    }

    /// The store, opened for reading only.
    pub fn readable(&self) -> Result<Box<dyn Store>, Failure> {
        Ok(open_place_read_only(self.path()?.as_os_str(), &environment)?)
    }

    /// The same; `None` if nothing was ever stored there.
    pub fn readable_if_there(&self) -> Result<Option<Box<dyn Store>>, Failure> {
        match open_place_read_only(self.path()?.as_os_str(), &environment) {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// A variable of the environment, as libpq takes it; an empty one counts as unset.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A store's name for messages and suggested commands: without the password of a server.
pub fn shown_name(name: &Path) -> String {
    if !is_server(name.as_os_str()) {
        return name.to_string_lossy().into_owned();
    }
    server_name(name.as_os_str(), &environment).map_or_else(|_| "URL".to_owned(), |name| name.shown)
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
    /// Its number in the store.
    pub fn resolve(&self, store: &dyn Store) -> Result<Id, Failure> {
        Ok(store.find(&self.what)?)
    }
}
