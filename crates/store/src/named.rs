//! Opens the store that a user has named: a file, or a server.

use crate::contract::{Result, Store};
use crate::error::StoreError;
use crate::sqlite::SqliteStore;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;

/// A variable of the environment by its name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Stores on servers, in a program that has them.
#[derive(Clone, Copy, Debug)]
pub struct ServerStores {
    /// Reads the name of a server, without connecting to it.
    pub name: fn(&str, Environment<'_>) -> Result<ServerName>,
    /// Connects to a server, for writing or for reading only.
    pub open: fn(&str, Environment<'_>, bool) -> Result<Box<dyn Store>>,
}

/// The name of a server, as messages have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName {
    pub shown: String,
    /// What of its settings is not used.
    pub warning: Option<String>,
}

static SERVERS: OnceLock<ServerStores> = OnceLock::new();

/// Has the names of servers opened by `servers`, in this process and from now on. The first call counts.
pub fn with_servers(servers: ServerStores) {
    let _ = SERVERS.set(servers);
}

/// Whether this process has stores on servers.
pub fn has_servers() -> bool {
    SERVERS.get().is_some()
}

/// Whether a name is that of a server: `postgresql://…`, `postgres://…`, or `service=…`. Every other one is that of a file.
pub fn is_server(name: &OsStr) -> bool {
    name.to_str().is_some_and(|text| ["postgresql://", "postgres://", "service="].iter().any(|s| text.starts_with(s)))
}

/// Reads the name of a server; what it does not say comes from the environment (`PGHOST`, …), which is asked for by name.
///
/// # Errors
/// [`StoreError::BadPlace`] if the name cannot be read, or if this program has no stores on servers.
pub fn server_name(name: &OsStr, environment: Environment<'_>) -> Result<ServerName> {
    let text = name.to_str().ok_or_else(|| StoreError::BadPlace { cause: "its name is not UTF-8 text".to_owned() })?;
    (servers()?.name)(text, environment)
}

/// Opens a store for reading and writing.
///
/// # Errors
/// Those of [`SqliteStore::open`], or of [`server_name`] and of the server.
pub fn open_place(name: &OsStr, environment: Environment<'_>) -> Result<Box<dyn Store>> {
    match name.to_str().filter(|_| is_server(name)) {
        Some(text) => (servers()?.open)(text, environment, true),
        None => Ok(Box::new(SqliteStore::open(Path::new(name))?)),
    }
}

/// Opens a store for reading only.
///
/// # Errors
/// Those of [`SqliteStore::open_read_only`], or of [`server_name`] and of the server.
pub fn open_place_read_only(name: &OsStr, environment: Environment<'_>) -> Result<Box<dyn Store>> {
    match name.to_str().filter(|_| is_server(name)) {
        Some(text) => (servers()?.open)(text, environment, false),
        None => Ok(Box::new(SqliteStore::open_read_only(Path::new(name))?)),
    }
}

fn servers() -> Result<&'static ServerStores> {
    let none = || StoreError::BadPlace { cause: "this program was built without PostgreSQL".to_owned() };
    SERVERS.get().ok_or_else(none)
}
