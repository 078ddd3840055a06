//! The store in a SQLite database.

use crate::backend::StoreBackend;
use crate::contract::Result;
use crate::database::Database;
use crate::error::{ErrorContext, Inner, StoreError};
use crate::open;
use crate::schema::KNOWN;
use crate::sqlite_database::SqliteDatabase;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tarebench_core::documents::head::Id;

/// A store in one SQLite database, in write-ahead mode, each commit synced.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    writable: bool,
    finished: FinishedResults,
}

/// What was brought to its end through a store, in this order. Copies share one list.
#[derive(Clone, Debug, Default)]
pub struct FinishedResults(Arc<Mutex<Vec<Id>>>);

impl FinishedResults {
    /// All of them, each once.
    pub fn all(&self) -> Vec<Id> {
        self.list().clone()
    }

    fn add(&self, what: Id) {
        let mut list = self.list();
        if !list.contains(&what) {
            list.push(what);
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<Id>> {
        // A list is never half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SqliteStore {
    /// Opens a database for reading and writing; creates it, and its folder (mode 0700), if they are missing, and
    /// upgrades an earlier schema.
    ///
    /// # Errors
    /// [`StoreError::NotADatabase`], [`StoreError::Newer`] (in both cases nothing was written),
    /// [`StoreError::ReadOnly`], [`StoreError::Full`], [`StoreError::Busy`], [`StoreError::Corrupt`],
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<SqliteStore> {
        let (conn, path) = open::for_writing(path)?;
        Ok(SqliteStore { conn, path, writable: true, finished: FinishedResults::default() })
    }

    /// Opens a database for reading only, also where the file, its folder or the disk is read-only. Everything that
    /// would change it is refused with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::NotADatabase`], [`StoreError::Newer`], [`StoreError::Older`],
    /// [`StoreError::Busy`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn open_read_only(path: &Path) -> Result<SqliteStore> {
        let (conn, path) = open::for_reading(path)?;
        Ok(SqliteStore { conn, path, writable: false, finished: FinishedResults::default() })
    }

    /// A store in memory that ends with this value: for tests of users of a store.
    ///
    /// # Errors
    /// SQLite's.
    pub fn in_memory() -> Result<SqliteStore> {
        let (conn, path) = open::in_memory()?;
        Ok(SqliteStore { conn, path, writable: true, finished: FinishedResults::default() })
    }

    /// The same store, which adds what is finished through it to this list.
    #[must_use]
    pub fn listing_finished(mut self, list: &FinishedResults) -> SqliteStore {
        self.finished = list.clone();
        self
    }

    /// Gives the space of removed rows back to the file system.
    fn vacuum(&self) -> rusqlite::Result<()> {
        let mut statement = self.conn.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        // Each step frees a page.
        while rows.next()?.is_some() {}
        Ok(())
    }
}

impl StoreBackend for SqliteStore {
    fn place(&self) -> &Path {
        &self.path
    }

    fn is_own(&self) -> bool {
        true
    }

    fn read<T>(&self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T> {
        let at = ErrorContext { path: &self.path, doing, writable: self.writable };
        let inner = || {
            let tx = rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
            f(&SqliteDatabase(&tx))
        };
        inner().map_err(|fault| at.complete(fault))
    }

    /// Others that write wait until it is done: it need not be tried again.
    fn write<T>(&mut self, doing: &'static str, f: impl FnMut(&dyn Database) -> Inner<T>) -> Result<T> {
        self.write_once(doing, f)
    }

    fn write_once<T>(&mut self, doing: &'static str, f: impl FnOnce(&dyn Database) -> Inner<T>) -> Result<T> {
        let SqliteStore { conn, path, writable, .. } = self;
        let at = ErrorContext { path, doing, writable: *writable };
        if !*writable {
            let cause = "it was opened for reading only".to_owned();
            return Err(StoreError::ReadOnly { path: path.clone(), doing, cause });
        }
        let inner = || {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // A later tare may have upgraded it since this one opened it.
            let found = open::version(&tx)?;
            if found > KNOWN {
                return Err(StoreError::Newer { path: path.clone(), found, known: KNOWN }.into());
            }
            let out = f(&SqliteDatabase(&tx))?;
            tx.commit()?;
            Ok(out)
        };
        inner().map_err(|fault| at.complete(fault))
    }

    fn shrink(&self) {
        // What was removed is gone; whether the file shrinks now or after a later removal does not matter.
        let _ = self.vacuum();
    }

    fn finished(&self, what: Id) {
        self.finished.add(what);
    }
}
