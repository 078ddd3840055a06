//! The databases that the tests run on. The lab's tests run the same ones on a PostgreSQL server, with a module of this name of their own.

use crate::data;
use std::ffi::OsString;
use std::path::Path;
use tarebench_store::{SqliteStore, Store, StoreError, open_place, open_place_read_only};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
}

/// All of them.
pub fn backends() -> Vec<Backend> {
    vec![Backend::Sqlite]
}

/// A database of a kind, which is empty at first, and ends with this value.
pub struct Place {
    /// As a user names it.
    pub name: OsString,
    _folder: tempfile::TempDir,
}

impl Backend {
    /// A new place, with no store at it yet.
    pub fn place(self) -> Place {
        let (folder, path) = data::place();
        Place { name: path.into(), _folder: folder }
    }

    /// An empty store for one case of many of a test.
    pub fn empty(self) -> Box<dyn Store> {
        self.store()
    }

    /// A new store that is used by one process only.
    pub fn store(self) -> Box<dyn Store> {
        Box::new(SqliteStore::in_memory().unwrap())
    }
}

/// Opens a store as the command does.
pub fn open(name: &OsString) -> Result<Box<dyn Store>, StoreError> {
    open_place(name, &|_| None)
}

impl Place {
    pub fn open(&self) -> Box<dyn Store> {
        open(&self.name).unwrap()
    }

    pub fn open_read_only(&self) -> Box<dyn Store> {
        open_place_read_only(&self.name, &|_| None).unwrap()
    }

    /// Runs statements beside the store.
    pub fn run_sql(&self, sql: &str) {
        rusqlite::Connection::open(&self.name).unwrap().execute_batch(sql).unwrap();
    }

    /// The number that a query gives.
    pub fn number(&self, sql: &str) -> i64 {
        let conn = rusqlite::Connection::open(&self.name).unwrap();
        conn.query_row(sql, [], |r| r.get(0)).unwrap()
    }

    /// That the database is in order, as far as it can be checked.
    pub fn assert_sound(&self) {
        data::assert_sound(Path::new(&self.name));
    }
}
