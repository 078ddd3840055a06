//! Opens a database of tare, and leaves other files unchanged.

use crate::error::{BUSY_TIMEOUT, ErrorContext, Fault, StoreError, WAIT_AT_END};
use crate::schema::{APPLICATION_ID, KNOWN, migrations};
use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Statements that a connection keeps prepared: more than the store has.
const STATEMENTS: usize = 128;

/// Owner of a database.
#[derive(Debug, PartialEq)]
enum Owner {
    /// Nobody: it is empty.
    Nobody,
    /// Tare's, with this schema version.
    Tare(i64),
    /// Another program's.
    Other,
}

/// Opens for reading and writing; creates the folder (mode 0700) and the file (mode 0600), brings the schema up to date.
pub(crate) fn for_writing(path: &Path) -> Result<(Connection, PathBuf), StoreError> {
    let path = absolute(path)?;
    let at = ErrorContext { path: &path, doing: "open", writable: true };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| at.io(e))?;
    }
    accept(&path, peek(at)?)?;
    create_private(&path).map_err(|e| at.io(e))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&path, flags).map_err(|e| at.sql(e))?;
    match set_up(&mut conn, at) {
        Ok(()) => Ok((conn, path)),
        Err(fault) => Err(at.complete(fault)),
    }
}

/// Creates the file if it is missing, at no time open to others, because it holds command lines. SQLite gives `-wal` and `-shm`,
/// which it creates later, the same mode, whatever the umask.
fn create_private(path: &Path) -> std::io::Result<()> {
    // An existing one is not opened here: closing it would drop the locks of this process's other connections (see `peek`).
    if !matches!(path.try_exists(), Ok(false)) {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    // The umask may have taken the owner's permissions.
    file.set_permissions(Permissions::from_mode(0o600))
}

/// A database in memory, for tests of users of a store.
pub(crate) fn in_memory() -> Result<(Connection, PathBuf), StoreError> {
    let path = PathBuf::from(":memory:");
    let at = ErrorContext { path: &path, doing: "open", writable: false };
    let mut conn = Connection::open_in_memory().map_err(|e| at.sql(e))?;
    set_up(&mut conn, at).map_err(|fault| at.complete(fault))?;
    Ok((conn, path))
}

/// What asks a process to end.
static ENDING: OnceLock<fn() -> bool> = OnceLock::new();

/// Waits for other processes' transactions end soon once this holds: a signal that is blocked, since tare must store what it has
/// measured.
pub fn end_waits_when(asked: fn() -> bool) {
    let _ = ENDING.set(asked);
}

/// Whether to try again, after a wait; `before`: how often it was waited before, without a break.
fn wait_for_others(before: i32) -> bool {
    const EACH: Duration = Duration::from_millis(10);
    let waited = EACH * before.unsigned_abs();
    let asked = ENDING.get().is_some_and(|asked| asked());
    if waited >= BUSY_TIMEOUT || (asked && waited >= WAIT_AT_END) {
        return false;
    }
    std::thread::sleep(EACH);
    true
}

fn set_up(conn: &mut Connection, at: ErrorContext) -> Result<(), Fault> {
    conn.busy_handler(Some(wait_for_others))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Until it is known to be tare's, closing must not move the write-ahead log into the file.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let owner = owner(conn)?;
    accept(at.path, Some(owner))?;
    if conn.is_readonly("main")? {
        let cause = "the file is write-protected".to_owned();
        return Err(StoreError::ReadOnly { path: at.path.to_owned(), doing: at.doing, cause }.into());
    }
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    conn.set_transaction_behavior(TransactionBehavior::Immediate);
    conn.pragma_update(None, "trusted_schema", false)?;
    // Takes effect only while the database is empty; lets the space of removed runs be freed.
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // SQLite does not wait for other processes when it changes the journal mode, so this loop does.
    retry(|| Ok(conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?))?;
    // FULL: each commit is synced to the disk, not only each checkpoint.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    retry(|| migrate(conn))
}

/// Brings the schema up to date. Another process may do so at the same time; the version in the file decides, not the
/// order.
fn migrate(conn: &mut Connection) -> Result<(), Fault> {
    use rusqlite_migration::Error as E;
    if version(conn)? == KNOWN {
        return Ok(());
    }
    match migrations().to_latest(conn) {
        Ok(()) => Ok(()),
        Err(_) if version(conn)? == KNOWN => Ok(()),
        Err(E::RusqliteError { err, .. }) => Err(err.into()),
        Err(e) => Err(Fault::Bad { what: "its schema".to_owned(), cause: e.to_string() }),
    }
}

fn retry(mut f: impl FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
    let begun = Instant::now();
    loop {
        match f() {
            Err(Fault::Sql(e))
                if matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
                    && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Opens for reading only. Writes nothing but, beside the database and where it can, SQLite's index of the write-ahead
/// log (`-shm`), by which it sees what others are writing; and it brings an earlier schema up to date, in the file, or where
/// that cannot be written to in a copy in memory.
pub(crate) fn for_reading(path: &Path) -> Result<(Connection, PathBuf), StoreError> {
    let path = absolute(path)?;
    let at = ErrorContext { path: &path, doing: "open", writable: false };
    if !at_rest(at)? && !has_log(&path) {
        return Err(StoreError::Missing { path });
    }
    accept(&path, peek(at)?)?;
    let usual = connect(&path, &ReadingWay::Usual).and_then(|conn| Ok((owner(&conn)?, conn)));
    let opened = match usual {
        // SQLite's error if the folder cannot be written to and `-wal` or `-shm` do not exist.
        Err(Fault::Sql(e))
            if matches!(
                e.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure)
            ) =>
        {
            let way = if has_log(&path) { ReadingWay::PrivateIndex } else { ReadingWay::Immutable };
            connect(&path, &way).and_then(|conn| Ok((owner(&conn)?, conn)))
        }
        other => other,
    };
    let (owner, conn) = opened.map_err(|fault| at.complete(fault))?;
    match owner {
        Owner::Nobody => Err(StoreError::Missing { path }),
        Owner::Tare(found) if found < KNOWN => {
            if let Ok((writable, _)) = for_writing(&path) {
                drop(writable);
                // Another process may have put an earlier one into its place meanwhile; that is not looked into again.
                let conn = connect(&path, &ReadingWay::Usual).map_err(|fault| at.complete(fault))?;
                if version(&conn).is_ok_and(|v| v == KNOWN) {
                    return Ok((conn, path));
                }
            }
            let older = |fault: Fault| match at.complete(fault) {
                e @ (StoreError::Busy { .. } | StoreError::Io { .. }) => e,
                e => StoreError::Older { path: path.clone(), found, known: KNOWN, cause: e.to_string() },
            };
            let conn = migrated_copy(&conn).map_err(older)?;
            Ok((conn, path))
        }
        owner => {
            accept(&path, Some(owner))?;
            Ok((conn, path))
        }
    }
}

/// A copy in memory of a store of an earlier schema, brought up to date.
fn migrated_copy(of: &Connection) -> Result<Connection, Fault> {
    let mut conn = Connection::open_in_memory()?;
    Backup::new(of, &mut conn)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    migrate(&mut conn)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// How to read without writing.
enum ReadingWay {
    /// With SQLite's locks and shared index of the write-ahead log.
    Usual,
    /// There is no log and none can be created: the file alone.
    Immutable,
    /// There is a log, but its index cannot be shared: index it in memory (exclusive mode), without locks, which a
    /// file that is open for reading only would refuse.
    PrivateIndex,
}

fn connect(path: &Path, way: &ReadingWay) -> Result<Connection, Fault> {
    let query = match way {
        ReadingWay::Usual => "mode=ro",
        ReadingWay::Immutable => "mode=ro&immutable=1",
        ReadingWay::PrivateIndex => "mode=ro&vfs=unix-none",
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri(path, query), flags)?;
    conn.busy_handler(Some(wait_for_others))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    if matches!(way, ReadingWay::PrivateIndex) {
        conn.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
    }
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// The path as SQLite's URI, with all special bytes escaped.
fn uri(path: &Path, query: &str) -> String {
    let mut out = String::from("file://");
    for &b in path.as_os_str().as_bytes() {
        if b.is_ascii_alphanumeric() || b"/-_.~".contains(&b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02x}"));
        }
    }
    out.push('?');
    out.push_str(query);
    out
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|m| m.len() > 0)
}

/// Makes the path absolute, because `:memory:` and the empty name have a special meaning in SQLite.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|cause| StoreError::Io { path: path.to_owned(), doing: "open", cause })
}

/// Refuses databases of other programs and of a later tare.
fn accept(path: &Path, owner: Option<Owner>) -> Result<(), StoreError> {
    let path = path.to_owned();
    match owner {
        Some(Owner::Other) => {
            Err(StoreError::NotADatabase { path, cause: "it is another program's SQLite database".to_owned() })
        }
        Some(Owner::Tare(found)) if found > KNOWN => Err(StoreError::Newer { path, found, known: KNOWN }),
        _ => Ok(()),
    }
}

/// Whether there is a file that is not empty.
fn at_rest(at: ErrorContext) -> Result<bool, StoreError> {
    let not = |cause: &str| StoreError::NotADatabase { path: at.path.to_owned(), cause: cause.to_owned() };
    match std::fs::metadata(at.path) {
        Ok(m) if !m.is_file() => Err(not("it is not a regular file")),
        // SQLite treats a file of one byte as empty.
        Ok(m) if m.len() == 1 => Err(not("it is one byte long")),
        Ok(m) => Ok(m.len() > 0),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(at.io(e)),
    }
}

/// Checks the file alone: opening it normally might write, by a recovery, a checkpoint, or files beside it.
/// `None`: the file alone is not enough, because the write-ahead log has a part of it.
///
/// SQLite reads it, because if other code of this process closed the file, that would drop the locks that the process's
/// other connections hold on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
fn peek(at: ErrorContext) -> Result<Option<Owner>, StoreError> {
    if !at_rest(at)? {
        return Ok(None);
    }
    let look = || {
        let conn = connect(at.path, &ReadingWay::Immutable)?;
        let application: i64 = conn.query_row("PRAGMA application_id", [], |r| r.get(0))?;
        match (application, version(&conn)?) {
            (APPLICATION_ID, version) => Ok(Some(Owner::Tare(version))),
            (0, 0) if has_log(at.path) => Ok(None),
            (0, 0) => Ok(Some(owner(&conn)?)),
            _ => Ok(Some(Owner::Other)),
        }
    };
    match look() {
        // While the log is being moved into it, and after a kill in between, the file alone looks damaged.
        Err(Fault::Sql(e)) if e.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(None),
        other => other.map_err(|fault| at.complete(fault)),
    }
}

/// The full check: with the write-ahead log, and for tables.
fn owner(conn: &Connection) -> Result<Owner, rusqlite::Error> {
    let (application, version, tables) = conn.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id),
                (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)",
        [],
        |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?, r.get::<_, i64>(2)?)),
    )?;
    Ok(match (application, version, tables) {
        (APPLICATION_ID, version, _) => Owner::Tare(version),
        (0, 0, 0) => Owner::Nobody,
        _ => Owner::Other,
    })
}

pub(crate) fn version(conn: &Connection) -> Result<i64, rusqlite::Error> {
    conn.query_row("PRAGMA user_version", [], |r| r.get(0))
}

/// Default place of the store: `tarebench/tare.db` below `$XDG_DATA_HOME` or, if that is unset
/// or not absolute (which the XDG base directory specification says to ignore), below `$HOME/.local/share`.
///
/// # Errors
/// [`StoreError::NoPlace`] if neither variable gives an absolute path.
pub fn default_path(xdg_data_home: Option<&OsStr>, home: Option<&OsStr>) -> Result<PathBuf, StoreError> {
    let absolute = |value: Option<&OsStr>| value.map(Path::new).filter(|p| p.is_absolute()).map(Path::to_owned);
    absolute(xdg_data_home)
        .or_else(|| absolute(home).map(|home| home.join(".local/share")))
        .map(|data| data.join("tarebench/tare.db"))
        .ok_or(StoreError::NoPlace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_only_a_path() {
        assert_eq!(uri(Path::new("/a b/?#%é"), "mode=ro"), "file:///a%20b/%3f%23%25%c3%a9?mode=ro");
    }

    #[test]
    fn every_commit_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, _) = for_writing(&dir.path().join("a/b/tare.db")).unwrap();
        let pragma = |name: &str| conn.query_row(&format!("PRAGMA {name}"), [], |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!((pragma("synchronous"), pragma("foreign_keys"), pragma("auto_vacuum")), (2, 1, 2));
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }
}
