//! Stores of released versions: opened, brought up to date, and read as they were.

use crate::data::{assert_sound, place};
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;
use tarebench_core::documents::head::{Id, Kind, Status};
use tarebench_core::profile::data::Profile;
use tarebench_store::{Claimant, DocumentFilter, Part, RunFilter, SqliteStore, Store, StoreError, Stored, import};

/// How it was made is said in the file.
const V3: &str = include_str!("data/v3.sql");

fn v3(path: &Path) -> Connection {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(V3).unwrap();
    conn
}

fn id(text: &str) -> Id {
    text.parse().unwrap()
}

const DOCUMENTS: [&str; 3] = ["b1", "n1", "s1"];

/// What a released version wrote, by SQL alone.
fn written(conn: &Connection) -> (Vec<Value>, String) {
    let value = |sql: &str| -> Value {
        let text: String = conn.query_row(sql, [], |r| r.get(0)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let of = |kind| value(&format!("SELECT doc FROM document WHERE kind = '{kind}' AND id = 1"));
    let profile = conn.query_row("SELECT doc FROM profile", [], |r| r.get(0)).unwrap();
    (["bench", "noise", "study"].map(of).to_vec(), profile)
}

#[test]
fn a_store_of_version_3_keeps_what_it_holds() {
    let (_dir, path) = place();
    let conn = v3(&path);
    let (docs, profile) = written(&conn);
    let parts: Vec<i64> = ["bench", "noise", "study"]
        .map(|kind| {
            let sql = "SELECT count(*) FROM document_part WHERE kind = ?1";
            conn.query_row(sql, [kind], |r| r.get::<_, i64>(0)).unwrap()
        })
        .to_vec();
    drop(conn);

    // Read as it is, without a change.
    let before = std::fs::read(&path).unwrap();
    let old = SqliteStore::open_read_only(&path).unwrap();
    let runs: Vec<_> = [1, 2].map(|n| (old.run(n).unwrap(), old.samples(n).unwrap())).to_vec();
    let documents = DOCUMENTS.map(|n| old.document(id(n)).unwrap());
    assert_eq!(serde_json::to_value(old.profile("p").unwrap().unwrap()).unwrap(), parsed(&profile));
    assert_eq!(old.documents(&DocumentFilter::default()).unwrap().len(), 3);
    let tagged = DocumentFilter { tags: [("a".to_owned(), "b".to_owned())].into(), ..DocumentFilter::default() };
    assert_eq!(old.documents(&tagged).unwrap(), []);
    assert!(matches!(old.find("p"), Err(StoreError::NoSuchRun { .. })), "it has no number there");
    assert!(matches!(old.find("p1"), Err(StoreError::NoSuchDocument { .. })));
    drop(old);
    assert!(std::fs::read(&path).unwrap() == before, "reading has changed it");

    let mut store = SqliteStore::open(&path).unwrap();
    for (n, (run, samples)) in (1..).zip(&runs) {
        assert_eq!((&store.run(n).unwrap(), &store.samples(n).unwrap()), (run, samples));
        assert!(run.notes.contains_key("readings"));
    }
    assert_eq!([runs[0].0.status, runs[1].0.status], [Status::Finished, Status::Interrupted]);
    assert_eq!((runs[0].1.len(), runs[1].1.is_empty()), (2, false));
    let tags = RunFilter { tags: [("kind".to_owned(), "old".to_owned())].into(), limit: None };
    assert_eq!(store.runs(&tags).unwrap().len(), 1);
    for (n, name) in DOCUMENTS.iter().enumerate() {
        let found = store.document(id(name)).unwrap();
        assert_eq!((&found, &found.doc), (&documents[n], &docs[n]));
        assert_eq!(i64::try_from(found.parts.len()).unwrap(), parts[n]);
        assert_eq!((found.head.conditions, found.head.tags.len()), (None, 0), "not known then");
    }
    assert_eq!(documents.map(|d| d.head.status), [Status::Finished, Status::Finished, Status::Interrupted]);
    let p1 = store.document(id("p1")).unwrap();
    assert_eq!((p1.doc, p1.head.title.as_str(), p1.head.status), (parsed(&profile), "p@1", Status::Finished));
    assert_eq!(["p", "p@1", "p1"].map(|n| store.find(n).unwrap()), [Stored::Document(id("p1")); 3]);
    assert_eq!(store.profiles().unwrap(), [serde_json::from_str::<Profile>(&profile).unwrap()]);

    // Exported and imported, and used on.
    let mut other = SqliteStore::in_memory().unwrap();
    for name in ["b1", "n1", "s1", "p1"] {
        let mut text = Vec::new();
        store.export_document(id(name)).unwrap().write(&mut text).unwrap();
        assert_eq!(import(&mut other, &mut text.as_slice()).unwrap().to_string(), name);
        assert_eq!(other.document(id(name)).unwrap(), store.document(id(name)).unwrap());
    }
    for n in [1, 2] {
        let mut text = Vec::new();
        store.export(n).unwrap().write(&mut text).unwrap();
        assert_eq!(import(&mut other, &mut text.as_slice()).unwrap(), Stored::Run(n));
        assert_eq!(other.samples(n).unwrap(), store.samples(n).unwrap());
    }
    let by = Claimant { pid: 1, start: tarebench_core::base::units::Nanos(1), boot: "b".into(), host: "h".into() };
    store.claim_document(id("s1"), &by, &|_| true).unwrap();
    store.append_part(id("s1"), &Part { doc: Value::Null, blob: None }).unwrap();
    let saved =
        store.save_profile(&Profile { version: 0, ..store.profile("p").unwrap().unwrap() }, None, None).unwrap();
    assert_eq!((saved.id, saved.version), (Id { kind: Kind::Profile, number: 2 }, 2));
    drop(store);
    assert_sound(&path);
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A profile that is based on a stored run gets the conditions of that run; an unreadable one does not prevent the
/// opening.
#[test]
fn profiles_get_the_conditions_of_their_runs() {
    let (_dir, path) = place();
    let conn = v3(&path);
    conn.execute_batch(
        "UPDATE profile SET doc = json_set(doc, '$.short.runs', json_array((SELECT uuid FROM run WHERE id = 1)));
         INSERT INTO profile (name, version, created_ns, machine, doc) VALUES ('bad', 1, 0, 'm', '{not JSON')",
    )
    .unwrap();
    drop(conn);
    let store = SqliteStore::open(&path).unwrap();
    let run = store.run(1).unwrap();
    let conditions = store.document(store_id(&store, "p")).unwrap().head.conditions.unwrap();
    assert_eq!((conditions.host(), conditions.factors()), (&run.host, run.factors.as_slice()));
    assert_eq!(Some(conditions.fingerprint()), run.head().fingerprint());
    assert!(matches!(store.document(store_id(&store, "bad")), Err(StoreError::Corrupt { .. })));
    drop(store);
    assert_sound(&path);
}

fn store_id(store: &SqliteStore, name: &str) -> Id {
    match store.find(name).unwrap() {
        Stored::Document(id) => id,
        Stored::Run(id) => panic!("{name} is run {id}"),
    }
}
