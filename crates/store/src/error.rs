//! Errors of a store: what failed, where, what was expected, and the cause.

use crate::claim::Claimant;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_core::documents::head::Id;

/// An error of a store. Each is one sentence; hints belong to the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no file, or an empty one: nothing was ever stored there.
    #[error("there is no store at {}", .path.display())]
    Missing { path: PathBuf },
    /// The environment names no folder for the store.
    #[error("no folder for the store: neither XDG_DATA_HOME nor HOME is an absolute path")]
    NoPlace,
    /// The file is something else, and was not touched.
    #[error("{} is not a database of tare: {cause}", .path.display())]
    NotADatabase {
        path: PathBuf,
        /// Why it is not one.
        cause: String,
    },
    /// A later version of tare has written the schema; nothing was written.
    #[error("the store {} has schema version {found}, this tare supports versions up to {known}", .path.display())]
    Newer {
        path: PathBuf,
        found: i64,
        /// The latest one known here.
        known: i64,
    },
    /// The schema is of an earlier version, and neither the file nor a copy of it can be brought up to date.
    #[error("the store {} has schema version {found} and cannot be brought to {known}: {cause}", .path.display())]
    Older { path: PathBuf, found: i64, known: i64, cause: String },
    /// It can only be read: because of its permissions, those of its folder, the file system, or how it was opened.
    #[error("cannot {doing}: the store {} can only be read: {cause}", .path.display())]
    ReadOnly { path: PathBuf, doing: &'static str, cause: String },
    /// A file of the store would become larger than this process may make one; everything stored before is intact.
    #[error("cannot {doing}: the store {} may not grow: {cause}", .path.display())]
    TooLarge { path: PathBuf, doing: &'static str, cause: String },
    /// The disk is full, or the quota is used up; everything stored before is intact.
    #[error("cannot {doing}: the disk that holds the store {} is full: {cause}", .path.display())]
    Full { path: PathBuf, doing: &'static str, cause: String },
    /// Another process kept the database locked for longer than the time limit.
    #[error("cannot {doing}: another process has kept the store {} locked for {waited_s} s", .path.display())]
    Busy {
        path: PathBuf,
        doing: &'static str,
        /// The time limit, seconds.
        waited_s: u64,
    },
    /// A live process is adding to this document.
    #[error("{} is being measured by process {} on {}", .id.phrase(), .by.pid, .by.host)]
    Claimed { id: Id, by: Claimant },
    /// Nothing has this number, uuid, prefix or name.
    #[error("there is no {what} in the store {}", .path.display())]
    NoSuch {
        path: PathBuf,
        /// What was asked for, as `study s1`; a run, or what may be one, in quotes: `run "12"`.
        what: String,
    },
    /// A prefix fits several runs.
    #[error("{text:?} matches the uuids of several runs: {}", list(.runs))]
    AmbiguousRun {
        text: String,
        /// The numbers of the first few of them.
        runs: Vec<i64>,
    },
    /// A document with this uuid is already there.
    #[error("the {} with uuid {uuid} is already in the store {} as {}", .id.kind.noun(), .path.display(), .id.phrase())]
    Duplicate {
        path: PathBuf,
        uuid: String,
        /// The document that has it.
        id: Id,
    },
    /// The run already has a sample at this position.
    #[error("run {run} already has a sample number {seq}")]
    DuplicateSample {
        run: i64,
        /// [`tarebench_core::sample::data::Sample::seq`].
        seq: u32,
    },
    /// A profile of this name is already there.
    #[error("there is already a profile {name:?} in the store {}", .path.display())]
    DuplicateProfile { path: PathBuf, name: String },
    /// The value could not be read back unchanged, so it was not stored.
    #[error("cannot store this {what}: {cause}")]
    Unstorable {
        /// `run`, `sample`, `profile`, `document`; also the `document` of any of these that is too long for the database.
        what: &'static str,
        cause: String,
    },
    /// The content of the file is invalid.
    #[error("not {what}{}: {cause}", place(*.line, *.column))]
    BadArchive {
        /// The expected content, e.g. `an archive of a run`.
        what: &'static str,
        /// Line of the document, from 1; 0 if the fault has no place.
        line: usize,
        /// Column, from 1; 0 if the fault has no place.
        column: usize,
        cause: String,
    },
    /// The file was written by a later version of tare.
    #[error("{what} of version {found}, this tare supports versions up to {known}")]
    NewerArchive {
        /// The content, e.g. `an archive of a run`.
        what: &'static str,
        found: u64,
        /// The latest one known here.
        known: u32,
    },
    /// The database is damaged, or was changed by another program.
    #[error("the store {} is damaged: cannot read {what}: {cause}", .path.display())]
    Corrupt {
        path: PathBuf,
        /// The part that was being read.
        what: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The system refused an operation on a file or folder.
    #[error("cannot {doing} {}: {cause}", .path.display())]
    Io { path: PathBuf, doing: &'static str, cause: std::io::Error },
    /// The text that names a server, a file that it refers to, or a certificate cannot be used.
    #[error("the PostgreSQL server cannot be used as a store: {cause}")]
    BadPlace {
        /// What is wrong, with the place; never a password.
        cause: String,
    },
    /// No connection to the server, or none to its database.
    #[error("cannot connect to {}: {cause}", .path.display())]
    Unreachable {
        /// Its URL, without a password.
        path: PathBuf,
        /// The system's or the server's words.
        cause: String,
    },
    /// The server refused the user or the password.
    #[error("the server of {} refused the login: {cause}", .path.display())]
    LoginRefused {
        /// Its URL, without a password.
        path: PathBuf,
        /// The server's words.
        cause: String,
    },
    /// The user of the database lacks a right.
    #[error("cannot {doing} in the store {}: the database user lacks a permission: {cause}", .path.display())]
    NotPermitted {
        /// Its URL, without a password.
        path: PathBuf,
        doing: &'static str,
        /// The server's words.
        cause: String,
    },
    /// The connection broke while it was used. The store connects again at its next use.
    #[error("cannot {doing}: the server closed the connection to the store {}: {cause}", .path.display())]
    Disconnected {
        /// Its URL, without a password.
        path: PathBuf,
        doing: &'static str,
        /// The system's or the server's words.
        cause: String,
    },
    /// Others changed the same at the same time, also when it was tried again.
    #[error("cannot {doing} in the store {}: others are changing the same data: {cause}", .path.display())]
    Conflict {
        /// Its URL, without a password.
        path: PathBuf,
        doing: &'static str,
        /// The server's words.
        cause: String,
    },
    /// Any other failure of a server.
    #[error("cannot {doing} in the store {}: the server says: {cause}", .path.display())]
    Server {
        /// Its URL, without a password.
        path: PathBuf,
        doing: &'static str,
        /// The server's words.
        cause: String,
    },
    /// Any other failure of SQLite.
    #[error("cannot {doing} in the store {}: {cause}", .path.display())]
    Sqlite { path: PathBuf, doing: &'static str, cause: rusqlite::Error },
}

impl StoreError {
    /// Whether it may pass by itself, so that what failed may be tried again, over a new connection.
    pub fn is_passing(&self) -> bool {
        use StoreError as E;
        matches!(
            self,
            E::Unreachable { .. }
                | E::Disconnected { .. }
                | E::Conflict { .. }
                | E::Busy { .. }
                | E::Full { .. }
                | E::ReadOnly { .. }
        )
    }
}

fn list(runs: &[i64]) -> String {
    let words: Vec<String> = runs.iter().map(i64::to_string).collect();
    words.join(", ")
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" (line {line}, column {column})") }
}

/// The result of a part of an operation.
pub type Inner<T> = Result<T, Fault>;

/// An error inside a transaction, without the store and the operation.
pub enum Fault {
    /// SQLite's.
    Sql(rusqlite::Error),
    /// A server's.
    Server(ServerFault, String),
    /// A column has not the expected type.
    Row(String),
    /// A stored document or name cannot be read.
    Bad {
        what: String,
        cause: String,
    },
    Store(StoreError),
}

/// What went wrong at a server; its own words stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    Unreachable,
    LoginRefused,
    NotPermitted,
    Disconnected,
    /// The transaction may be tried again.
    Conflict,
    /// A standby, or a transaction for reading.
    ReadOnly,
    Full,
    /// It waited for a lock for too long.
    Busy,
    /// A value that the server cannot store.
    Unstorable,
    /// A page that the server cannot read.
    Corrupt,
    Other,
}

impl From<rusqlite::Error> for Fault {
    fn from(e: rusqlite::Error) -> Fault {
        Fault::Sql(e)
    }
}

impl From<StoreError> for Fault {
    fn from(e: StoreError) -> Fault {
        Fault::Store(e)
    }
}

/// The store and the operation of an error.
#[derive(Clone, Copy)]
pub struct ErrorContext<'a> {
    pub path: &'a Path,
    /// What was tried, as a verb and its object.
    pub doing: &'static str,
    /// Whether the store was opened for writing, so that a check of the disk may write a file.
    pub writable: bool,
}

impl ErrorContext<'_> {
    pub fn complete(self, fault: Fault) -> StoreError {
        match fault {
            Fault::Store(e) => e,
            Fault::Bad { what, cause } => self.corrupt(what, cause),
            Fault::Row(cause) => self.corrupt(format!("a row (to {})", self.doing), cause),
            Fault::Server(fault, cause) => self.server(fault, cause),
            Fault::Sql(e) => self.sql(e),
        }
    }

    fn server(self, fault: ServerFault, cause: String) -> StoreError {
        use ServerFault as F;
        let (path, doing) = (self.path.to_owned(), self.doing);
        match fault {
            F::Unreachable => StoreError::Unreachable { path, cause },
            F::LoginRefused => StoreError::LoginRefused { path, cause },
            F::NotPermitted => StoreError::NotPermitted { path, doing, cause },
            F::Disconnected => StoreError::Disconnected { path, doing, cause },
            F::Conflict => StoreError::Conflict { path, doing, cause },
            F::ReadOnly => StoreError::ReadOnly { path, doing, cause },
            F::Full => StoreError::Full { path, doing, cause },
            F::Busy => StoreError::Busy { path, doing, waited_s: BUSY_TIMEOUT.as_secs() },
            F::Unstorable => StoreError::Unstorable { what: "document", cause },
            F::Corrupt => self.corrupt(format!("its pages (to {doing})"), cause),
            F::Other => StoreError::Server { path, doing, cause },
        }
    }

    /// The system's error on this file.
    pub fn io(self, cause: std::io::Error) -> StoreError {
        use std::io::ErrorKind as K;
        let (path, doing) = (self.path.to_owned(), self.doing);
        match cause.kind() {
            K::FileTooLarge => {
                let limit = "the limit of the size of a file is reached (`ulimit -f`)";
                StoreError::TooLarge { path, doing, cause: limit.to_owned() }
            }
            K::StorageFull | K::QuotaExceeded => StoreError::Full { path, doing, cause: cause.to_string() },
            K::ReadOnlyFilesystem => StoreError::ReadOnly { path, doing, cause: cause.to_string() },
            K::PermissionDenied if self.writable => StoreError::ReadOnly { path, doing, cause: cause.to_string() },
            _ => StoreError::Io { path, doing, cause },
        }
    }

    fn corrupt(self, what: String, cause: String) -> StoreError {
        StoreError::Corrupt { path: self.path.to_owned(), what, cause }
    }

    /// SQLite's error. The disk is checked to find the system error, because SQLite reports only "I/O error".
    pub fn sql(self, e: rusqlite::Error) -> StoreError {
        use rusqlite::Error as E;
        use rusqlite::ErrorCode as C;
        let (path, doing) = (self.path.to_owned(), self.doing);
        match &e {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
            | E::InvalidColumnType(..) => {
                return self.corrupt(format!("a row (to {doing})"), e.to_string());
            }
            _ => {}
        }
        match e.sqlite_error_code() {
            Some(C::DatabaseBusy | C::DatabaseLocked) => {
                StoreError::Busy { path, doing, waited_s: BUSY_TIMEOUT.as_secs() }
            }
            Some(C::DiskFull) => StoreError::Full { path, doing, cause: e.to_string() },
            Some(C::ReadOnly) => StoreError::ReadOnly { path, doing, cause: e.to_string() },
            Some(C::NotADatabase) => StoreError::NotADatabase { path, cause: e.to_string() },
            Some(C::DatabaseCorrupt) => self.corrupt(format!("its pages (to {doing})"), e.to_string()),
            Some(C::TooBig) => StoreError::Unstorable { what: "document", cause: e.to_string() },
            Some(C::SystemIoFailure | C::CannotOpen | C::PermissionDenied) if self.writable => {
                match probe(self.path).map_err(|cause| self.io(cause)) {
                    Err(
                        told @ (StoreError::Full { .. } | StoreError::TooLarge { .. } | StoreError::ReadOnly { .. }),
                    ) => told,
                    _ => StoreError::Sqlite { path, doing, cause: e },
                }
            }
            // SQLite has not opened it, so there is no lock that closing it here could drop.
            Some(C::CannotOpen) => match std::fs::File::open(self.path) {
                Err(cause) => self.io(cause),
                Ok(_) => StoreError::Sqlite { path, doing, cause: e },
            },
            _ => StoreError::Sqlite { path, doing, cause: e },
        }
    }
}

/// Tries to write beside the database, to get the system's error; removes the file.
fn probe(database: &Path) -> std::io::Result<()> {
    use std::io::Write;
    let folder = database.parent().unwrap_or(Path::new("."));
    let path = folder.join(format!(".tare-probe-{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    // The size of SQLite's shared-memory file, which is the first to be refused on a full disk.
    let written = file.write_all(&[0xa5; 64 * 1024]).and_then(|()| file.sync_all());
    // As large as SQLite's files, with a hole.
    let sizes = ["", "-wal"].map(|end| {
        let mut name = database.as_os_str().to_owned();
        name.push(end);
        std::fs::metadata(name).map_or(0, |m| m.len())
    });
    let largest = sizes.into_iter().max().unwrap_or(0).saturating_add(1 << 20);
    let written = written.and_then(|()| file.set_len(largest));
    drop(file);
    std::fs::remove_file(&path)?;
    written
}

/// How long an operation waits for another process's transaction.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// And when this process was asked to end.
pub const WAIT_AT_END: Duration = Duration::from_secs(2);
