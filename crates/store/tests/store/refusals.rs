//! What is not tare's, or of a later tare, is refused and left as it is.

use crate::data::{head, place, run, sample};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_store::{DocumentFilter, SqliteStore, Store, StoreError};

/// Names and contents of all files of a folder.
fn contents(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap());
    entries.filter(|e| e.path().is_file()).map(|e| (e.file_name(), std::fs::read(e.path()).unwrap())).collect()
}

/// Both ways of opening fail, and the folder is as before.
fn refused(path: &Path) -> [StoreError; 2] {
    let before = contents(path.parent().unwrap());
    let errors = [SqliteStore::open(path).unwrap_err(), SqliteStore::open_read_only(path).unwrap_err()];
    assert!(contents(path.parent().unwrap()) == before, "files have changed");
    for e in &errors {
        assert!(e.to_string().contains(path.to_str().unwrap()) && !e.to_string().contains('\n'), "{e}");
    }
    errors
}

fn store_with_run(path: &Path) {
    let mut store = SqliteStore::open(path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    store.add_sample(id, &sample(0, 5)).unwrap();
}

#[test]
fn a_newer_schema() {
    let (_dir, path) = place();
    store_with_run(&path);
    for newer in [9, 99] {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", newer).unwrap();
        for e in refused(&path) {
            assert!(matches!(e, StoreError::Newer { found, known: 8, .. } if found == newer), "{e}");
            assert!(e.to_string().contains(&newer.to_string()) && e.to_string().contains('8'));
        }
    }
}

/// Takes from a store what versions 2 and 1 of its schema did not have.
fn to_version(path: &Path, version: i64) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "DROP VIEW profile;
         CREATE TABLE profile (name TEXT, version INTEGER, created_ns INTEGER, machine TEXT, doc TEXT)",
    )
    .unwrap();
    conn.execute_batch(
        "DROP TABLE run_note;
         CREATE TABLE note (run_id INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, key))",
    )
    .unwrap();
    for table in ["profile_version", "document_tag", "document_claim", "document_part", "document", "document_number"] {
        conn.execute_batch(&format!("DROP TABLE {table}")).unwrap();
    }
    conn.execute_batch(
        "ALTER TABLE run DROP COLUMN imported_ns; DROP TABLE duet; DROP TABLE level_history; DROP TABLE quiet_coefficients",
    )
    .unwrap();
    if version == 1 {
        conn.execute_batch("DROP TABLE recording").unwrap();
    }
    conn.pragma_update(None, "user_version", version).unwrap();
}

/// It is brought up to date, also when it is opened for reading only.
#[test]
fn an_earlier_schema() {
    for version in [1, 2] {
        let (_dir, path) = place();
        store_with_run(&path);
        to_version(&path, version);
        let reader = SqliteStore::open_read_only(&path).unwrap();
        assert_eq!(reader.samples(1).unwrap(), [sample(0, 5)]);
        let listed = reader.list(&DocumentFilter::default()).unwrap();
        assert_eq!(listed.iter().map(|d| d.head.id()).collect::<Vec<_>>(), [Id::run(1)]);
        let b1 = Id { kind: DocumentKind::Bench, number: 1 };
        assert!(matches!(reader.document(b1), Err(StoreError::NoSuch { .. })));
        assert!(matches!(reader.find("b1"), Err(StoreError::NoSuch { .. })));
        assert_eq!(reader.find("1").unwrap(), Id::run(1));
        assert_eq!(reader.claimant(b1).unwrap(), None);
        let mut store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.samples(1).unwrap(), [sample(0, 5)]);
        let id = store.create_document(&head(1), &serde_json::json!(1)).unwrap();
        // Who has had it open for reading sees it, too.
        assert_eq!(reader.document(id).unwrap(), store.document(id).unwrap());
        drop((store, reader));
        crate::data::assert_sound(&path);
    }
}

/// What cannot be brought up to date is refused with the reason, and not changed.
#[test]
fn an_earlier_schema_that_cannot_be_brought_up_to_date() {
    let (_dir, path) = place();
    store_with_run(&path);
    to_version(&path, 2);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE run_note (mine TEXT)").unwrap();
    let Err(e) = SqliteStore::open_read_only(&path) else { panic!("it was opened") };
    assert!(matches!(e, StoreError::Older { found: 2, known: 8, .. }), "{e:?}");
    assert!(e.to_string().contains("run_note already exists"), "{e}");
    let version: i64 = Connection::open(&path).unwrap().query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
    assert_eq!(version, 2);
}

/// The same while the version is still in the log only, as left by a killed process.
#[test]
fn a_newer_schema_in_the_log() {
    let (dir, path) = place();
    store_with_run(&path);
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let copy = dir.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for suffix in ["", "-wal"] {
        std::fs::copy(dir.path().join(format!("tare.db{suffix}")), copy.join(format!("tare.db{suffix}"))).unwrap();
    }
    let before = contents(&copy);
    let path = copy.join("tare.db");
    for e in [SqliteStore::open(&path).unwrap_err(), SqliteStore::open_read_only(&path).unwrap_err()] {
        assert!(matches!(e, StoreError::Newer { found: 99, .. }), "{e}");
    }
    // The index of the log (-shm) is no data, and may have been made.
    let mut after = contents(&copy);
    after.remove(&OsString::from("tare.db-shm"));
    assert!(after == before, "files have changed");
}

/// A later tare brings the schema forward while this one has the store open.
#[test]
fn a_newer_schema_meanwhile() {
    let (_dir, path) = place();
    let mut store = SqliteStore::open(&path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(store.add_sample(id, &sample(0, 1)), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn other_files() {
    let long = "no database, but longer than a page\n".repeat(1_000);
    for content in ["hello", "SQLite", "SQLite format 3", long.as_str(), "\0"] {
        let (_dir, path) = place();
        std::fs::write(&path, content).unwrap();
        for e in refused(&path) {
            assert!(matches!(e, StoreError::NotADatabase { .. }), "{e}");
        }
    }
    let (dir, _) = place();
    for path in [dir.path(), Path::new("/dev/null")] {
        for e in [SqliteStore::open(path).unwrap_err(), SqliteStore::open_read_only(path).unwrap_err()] {
            assert!(matches!(e, StoreError::NotADatabase { .. }), "{e}");
        }
    }
}

#[test]
fn other_programs_databases() {
    for sql in [
        "CREATE TABLE bookmarks (url TEXT)",
        "PRAGMA user_version = 70",
        "PRAGMA application_id = 7",
        "PRAGMA journal_mode = WAL; CREATE TABLE run (id INTEGER)",
    ] {
        let (_dir, path) = place();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        for e in refused(&path) {
            assert!(matches!(e, StoreError::NotADatabase { .. }), "{sql}: {e}");
        }
    }
}

#[test]
fn nothing_there() {
    let (dir, path) = place();
    assert!(matches!(SqliteStore::open_read_only(&path), Err(StoreError::Missing { .. })));
    assert!(contents(dir.path()).is_empty(), "reading makes no store");
    std::fs::write(&path, "").unwrap();
    assert!(matches!(SqliteStore::open_read_only(&path), Err(StoreError::Missing { .. })));
    store_with_run(&path);

    let below_a_file = path.join("x/tare.db");
    assert!(matches!(SqliteStore::open(&below_a_file), Err(StoreError::Io { .. })));
    assert!(SqliteStore::open_read_only(&below_a_file).is_err());
}

#[test]
fn writing_through_a_store_opened_for_reading() {
    let (_dir, path) = place();
    store_with_run(&path);
    let mut store = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(store.samples(1).unwrap(), [sample(0, 5)]);
    assert!(matches!(store.begin_run(&run(2)), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.remove(Id::run(1)), Err(StoreError::ReadOnly { .. })));
}
