//! Opens the store that a user has named: a file, or a server.

use crate::contract::{Result, Store};
#[cfg(not(feature = "postgres"))]
use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresPlace, PostgresStore};
use crate::sqlite::SqliteStore;
use std::ffi::OsStr;
use std::path::Path;

/// Whether a name is that of a server: `postgresql://…`, `postgres://…`, or `service=…`. Every other one is that of a file.
pub fn is_server(name: &OsStr) -> bool {
    name.to_str().is_some_and(|text| ["postgresql://", "postgres://", "service="].iter().any(|s| text.starts_with(s)))
}

/// Opens a store for reading and writing; of a server, what the name does not say comes from the environment (`PGHOST`, …), which
/// is asked for by name.
///
/// # Errors
/// Those of [`SqliteStore::open`], or of [`crate::PostgresPlace::parse`] and [`crate::PostgresStore::open`].
pub fn open_place(name: &OsStr, environment: &dyn Fn(&str) -> Option<String>) -> Result<Box<dyn Store>> {
    match name.to_str().filter(|_| is_server(name)) {
        Some(text) => open_server(text, environment, true),
        None => Ok(Box::new(SqliteStore::open(Path::new(name))?)),
    }
}

/// Opens a store for reading only.
///
/// # Errors
/// Those of [`SqliteStore::open_read_only`], or of [`crate::PostgresPlace::parse`] and [`crate::PostgresStore::open_read_only`].
pub fn open_place_read_only(name: &OsStr, environment: &dyn Fn(&str) -> Option<String>) -> Result<Box<dyn Store>> {
    match name.to_str().filter(|_| is_server(name)) {
        Some(text) => open_server(text, environment, false),
        None => Ok(Box::new(SqliteStore::open_read_only(Path::new(name))?)),
    }
}

#[cfg(feature = "postgres")]
fn open_server(text: &str, environment: &dyn Fn(&str) -> Option<String>, write: bool) -> Result<Box<dyn Store>> {
    let place = PostgresPlace::parse(text, environment)?;
    Ok(match write {
        true => Box::new(PostgresStore::open(&place)?),
        false => Box::new(PostgresStore::open_read_only(&place)?),
    })
}

#[cfg(not(feature = "postgres"))]
fn open_server(_: &str, _: &dyn Fn(&str) -> Option<String>, _: bool) -> Result<Box<dyn Store>> {
    Err(StoreError::BadPlace { cause: "this program was built without PostgreSQL".to_owned() })
}
