//! Whatever is in a file, opening and reading it ends in a result or an error.

use crate::data::{place, run, sample};
use proptest::prelude::*;
use std::path::Path;
use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_store::{Archive, DocumentFilter, SqliteStore, Store, StoreError};

/// Reads all there is; says whether all of it was well.
fn read_all(store: &dyn Store) -> Result<usize, StoreError> {
    let mut samples = 0;
    for summary in store.list(&DocumentFilter::of_kind(DocumentKind::Run))? {
        let run = summary.head.number;
        store.run(run)?;
        samples += store.samples(run)?.len();
    }
    Ok(samples)
}

fn database(path: &Path) -> Vec<u8> {
    let mut store = SqliteStore::open(path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    for seq in 0..10 {
        store.add_sample(id, &sample(seq, 100)).unwrap();
    }
    drop(store);
    std::fs::read(path).unwrap()
}

#[test]
fn a_truncated_database() {
    let (dir, path) = place();
    let whole = database(&path);
    let mut cuts: Vec<usize> = (0..whole.len()).step_by(whole.len() / 40).collect();
    cuts.extend([1, 15, 16, 17, 50, 99, 100, 101, 511, 512, 4095, 4096, 4097, whole.len() - 1]);
    for cut in cuts {
        let cut_path = dir.path().join(format!("{cut}.db"));
        std::fs::write(&cut_path, &whole[..cut]).unwrap();
        for store in [SqliteStore::open_read_only(&cut_path), SqliteStore::open(&cut_path)] {
            match store.and_then(|s| read_all(&s)) {
                // The last page may be one that is not read.
                Ok(n) => assert!(n == 10 || cut == 0, "{n} samples of a file cut at {cut}"),
                Err(e) => assert!(
                    matches!(
                        e,
                        StoreError::Corrupt { .. } | StoreError::NotADatabase { .. } | StoreError::Missing { .. }
                    ),
                    "cut at {cut}: {e:?}"
                ),
            }
        }
    }
}

#[test]
fn a_changed_row() {
    for sql in [
        "UPDATE sample SET doc = '{' WHERE seq = 3",
        "UPDATE sample SET doc = x'ff' WHERE seq = 3",
        "UPDATE sample SET doc = cast(x'ff' AS TEXT) WHERE seq = 3",
        "UPDATE sample SET seq = -1 WHERE seq = 9",
        "DELETE FROM daemon WHERE seq = 3 AND ordinal = 50",
        "UPDATE daemon SET name = '\\q' WHERE seq = 3",
        "UPDATE daemon SET pid = 1 << 40 WHERE seq = 3",
        "UPDATE run SET plan = '[]'",
        "UPDATE run SET status = 'done'",
        "UPDATE host SET doc = ''",
        "DROP TABLE tag",
    ] {
        let (_dir, path) = place();
        database(&path);
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
        let _ = conn.execute_batch(sql);
        drop(conn);
        match read_all(&SqliteStore::open(&path).unwrap()) {
            Err(StoreError::Corrupt { .. } | StoreError::Sqlite { .. }) => {}
            // A STRICT table does not take a blob for a text.
            Ok(10) if sql.contains("= x'ff'") => {}
            other => panic!("{sql}: {other:?}"),
        }
    }
}

/// A writer that has no room ends the reading, before the damage; else the damage ends the writing.
#[test]
fn an_archive_of_a_changed_row() {
    let (_dir, path) = place();
    database(&path);
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("UPDATE sample SET doc = '{' WHERE seq = 3", []).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let mut short = [0; 10];
    let e = store.export(Id::run(1), &mut short.as_mut_slice()).unwrap().unwrap_err();
    assert_eq!(e.kind(), std::io::ErrorKind::WriteZero);
    assert!(matches!(store.export(Id::run(1), &mut Vec::new()), Err(StoreError::Corrupt { .. })));
}

fn document() -> Vec<u8> {
    let mut out = Vec::new();
    Archive::new(run(1), vec![sample(0, 2), sample(1, 0)], Vec::new()).write(&mut out).unwrap();
    out
}

/// Imports into an empty store; a refused file stores nothing.
fn import(document: &[u8]) -> Result<Id, StoreError> {
    let mut store = SqliteStore::in_memory().unwrap();
    let result = store.import(&mut &*document);
    let there = store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len();
    assert_eq!(there, usize::from(result.is_ok()));
    if let Err(e) = &result {
        assert!(matches!(e, StoreError::BadArchive { .. } | StoreError::NewerArchive { .. }), "{e:?}");
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_database_with_changed_bytes(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        thread_local!(static WHOLE: Vec<u8> = database(&place().1));
        let mut bytes = WHOLE.with(Clone::clone);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (_dir, path) = place();
        std::fs::write(&path, bytes).unwrap();
        let _ = SqliteStore::open_read_only(&path).and_then(|s| read_all(&s));
        if let Ok(mut store) = SqliteStore::open(&path) {
            let _ = read_all(&store);
            let _ = store.add_sample(1, &sample(10, 10));
            let _ = store.remove(Id::run(1));
        }
    }

    #[test]
    fn any_bytes_as_an_archive(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(import(&bytes).is_err());
    }

    #[test]
    fn an_archive_with_changed_bytes(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
        let mut bytes = document();
        prop_assert!(import(&bytes[..cut.index(bytes.len() - 1)]).is_err());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = import(&bytes);
    }
}

#[test]
fn archives_that_are_wrong() {
    let good = String::from_utf8(document()).unwrap();
    import(good.as_bytes()).unwrap();
    let uuid = run(1).uuid;
    let wrong = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        import(changed.as_bytes()).unwrap_err()
    };
    assert!(matches!(wrong("\"version\":5", "\"version\":7"), StoreError::NewerArchive { found: 7, known: 6, .. }));
    for (from, to) in [
        ("tare-run", "tare-walk"),
        ("\"version\":5", "\"version\":0"),
        ("\"version\":5", "\"version\":-1"),
        (uuid.as_str(), "no uuid"),
        ("\"seq\":1", "\"seq\":0"),
        ("\"series\":1", "\"series\":2"),
        ("\"seed\":18446744073709551615", "\"seed\":18446744073709551616"),
        ("\"sigma\":2.0", "\"sigma\":1e999"),
    ] {
        assert!(matches!(wrong(from, to), StoreError::BadArchive { .. }), "{to}");
    }
    match import(b"{\n  \"format\": \"tare-run\",\n  \"version\": 1,\n  \"run\": 5}").unwrap_err() {
        StoreError::BadArchive { line, .. } => assert_eq!(line, 4),
        e => panic!("{e}"),
    }
    // A later version is reported even if the rest is not readable.
    let later = br#"{"format": "tare-run", "version": 7, "run": {"new": [1]}}"#;
    assert!(matches!(import(later), Err(StoreError::NewerArchive { found: 7, .. })));
    assert!(import("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(import(format!("{{\"run\":{}", "[".repeat(1_000_000)).as_bytes()).is_err());
    let mut endless = std::io::repeat(0);
    assert!(SqliteStore::in_memory().unwrap().import(&mut endless).is_err());
}

#[test]
fn an_archive_that_is_already_there() {
    let mut store = SqliteStore::in_memory().unwrap();
    store.import(&mut document().as_slice()).unwrap();
    match store.import(&mut document().as_slice()).unwrap_err() {
        StoreError::Duplicate { id, uuid, .. } => assert_eq!((id, uuid), (Id::run(1), run(1).uuid)),
        e => panic!("{e}"),
    }
}
