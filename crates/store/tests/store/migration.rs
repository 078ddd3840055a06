//! Stores of released versions: opened, brought up to date, and read as they were.

use crate::data::{assert_sound, place};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::profile::data::Profile;
use tarebench_core::run::notes::{KeptBefore, Note, ReadingTime, readings};
use tarebench_store::{Claimant, DocumentFilter, DocumentPart, SqliteStore, Store, StoreError};

/// How it was made is said in the file.
pub const V3: &str = include_str!("data/v3.sql");

pub fn v3(path: &Path) -> Connection {
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
    let document = |kind| value(&format!("SELECT doc FROM document WHERE kind = '{kind}' AND id = 1"));
    let profile = conn.query_row("SELECT doc FROM profile", [], |r| r.get(0)).unwrap();
    (["bench", "noise", "study"].map(document).to_vec(), profile)
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
    let texts = [1, 2].map(|run| texts(&conn, run));
    assert!(texts.iter().all(|t| t.contains_key("readings")));
    drop(conn);

    // Opened for reading only, it is brought up to date as well.
    let old = SqliteStore::open_read_only(&path).unwrap();
    let runs: Vec<_> = [1, 2].map(|n| (old.run(n).unwrap(), old.samples(n).unwrap())).to_vec();
    let documents = DOCUMENTS.map(|n| old.document(id(n)).unwrap());
    assert_eq!(old.list(&DocumentFilter::default()).unwrap().len(), 6);
    assert_eq!(old.find("p").unwrap(), id("p1"));
    drop(old);

    let mut store = SqliteStore::open(&path).unwrap();
    for (n, (run, samples)) in (1_i64..).zip(&runs) {
        assert_eq!((&store.run(n).unwrap(), &store.samples(n).unwrap()), (run, samples));
        assert!(run.notes.iter().all(|note| matches!(note, Note::Reading(_))), "{:?}", run.notes);
        let when: Vec<ReadingTime> = readings(&run.notes).map(|r| r.when).collect();
        assert_eq!(when, [ReadingTime::BeforeFirst, ReadingTime::AfterLast]);
        assert!(readings(&run.notes).all(|r| r.factors.len() > 20));
    }
    assert_eq!([runs[0].0.status, runs[1].0.status], [Status::Finished, Status::Interrupted]);
    assert_eq!((runs[0].1.len(), runs[1].1.is_empty()), (2, false));
    let tags = DocumentFilter {
        tags: [("kind".to_owned(), "old".to_owned())].into(),
        ..DocumentFilter::of_kind(DocumentKind::Run)
    };
    assert_eq!(store.list(&tags).unwrap().len(), 1);
    for (n, name) in DOCUMENTS.iter().enumerate() {
        let found = store.document(id(name)).unwrap();
        assert_eq!((&found, &found.doc), (&documents[n], &docs[n]));
        assert_eq!(i64::try_from(found.parts.len()).unwrap(), parts[n]);
        assert_eq!((found.head.conditions, found.head.tags.len()), (None, 0), "not known then");
    }
    assert_eq!(documents.map(|d| d.head.status), [Status::Finished, Status::Finished, Status::Interrupted]);
    let p1 = store.document(id("p1")).unwrap();
    assert_eq!((p1.doc, p1.head.title.as_str(), p1.head.status), (parsed(&profile), "p@1", Status::Finished));
    assert_eq!(["p", "p@1", "p1"].map(|n| store.find(n).unwrap()), [id("p1"); 3]);
    assert_eq!(store.profiles().unwrap(), [serde_json::from_str::<Profile>(&profile).unwrap()]);

    // Exported and imported, and used on.
    let mut other = SqliteStore::in_memory().unwrap();
    for name in ["b1", "n1", "s1", "p1"] {
        let mut text = Vec::new();
        store.export(id(name), &mut text).unwrap().unwrap();
        assert_eq!(other.import(&mut text.as_slice()).unwrap().to_string(), name);
        assert_eq!(other.document(id(name)).unwrap(), store.document(id(name)).unwrap());
    }
    for n in [1, 2] {
        let mut text = Vec::new();
        store.export(Id::run(n), &mut text).unwrap().unwrap();
        assert_eq!(other.import(&mut text.as_slice()).unwrap(), Id::run(n));
        assert_eq!(other.samples(n).unwrap(), store.samples(n).unwrap());
    }
    let by = Claimant { pid: 1, start: Nanos(1), boot: "b".into(), host: "h".into() };
    store.claim(id("s1"), &by, &|_| true).unwrap();
    store.append_part(id("s1"), &DocumentPart { doc: Value::Null, blob: None }).unwrap();
    let saved =
        store.save_profile(&Profile { version: 0, ..store.profile("p").unwrap().unwrap() }, None, None).unwrap();
    assert_eq!((saved.id, saved.version), (Id { kind: DocumentKind::Profile, number: 2 }, 2));
    drop(store);
    assert_sound(&path);
}

/// The notes of a run, as they were stored then.
fn texts(conn: &Connection, run: i64) -> BTreeMap<String, String> {
    let mut statement = conn.prepare("SELECT key, value FROM note WHERE run_id = ?1").unwrap();
    statement.query_map([run], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// Every text that a released version noted is there afterwards: typed if it is as that version wrote it, else as it is.
#[test]
fn notes_become_typed_and_none_is_lost() {
    let (_dir, path) = place();
    let conn = v3(&path);
    conn.execute_batch(
        r#"INSERT INTO note VALUES (1, 'resumed', 'with 1 samples there, at 1700000000 s since 1970');
         INSERT INTO note VALUES (1, 'reboot', 'resumed after a reboot, with 1 samples there; kernel 6.9');
         INSERT INTO note VALUES (1, 'changed', 'ntp: on before, off after');
         INSERT INTO note VALUES (1, 'tuned', '1 value set');
         INSERT INTO note VALUES (1, 'tuned_values', 'turbo 0 → 1');
         INSERT INTO note VALUES (1, 'mine', '{not JSON');
         UPDATE note SET value = '[["now"]]' WHERE run_id = 2"#,
    )
    .unwrap();
    drop(conn);
    let mut store = SqliteStore::open(&path).unwrap();
    let text = |key: &str, text: &str| Note::Text { key: key.to_owned(), text: text.to_owned() };
    let notes = store.run(1).unwrap().notes;
    let kinds: Vec<&str> = notes.iter().map(Note::kind).collect();
    assert_eq!(kinds, ["tuned", "text", "text", "reading", "reading", "changed", "rebooted", "resumed"]);
    assert_eq!(&notes[1..3], [text("mine", "{not JSON"), text("tuned_values", "turbo 0 → 1")]);
    assert_eq!(notes[7], Note::Resumed { at: Some(Nanos(1_700_000_000_000_000_000)), there: KeptBefore::Samples(1) });
    assert_eq!(store.run(2).unwrap().notes, [text("readings", r#"[["now"]]"#)]);
    // New ones come after them.
    store.add_note(1, &text("new", "")).unwrap();
    assert_eq!(store.run(1).unwrap().notes, [notes, vec![text("new", "")]].concat());
    drop(store);
    assert_sound(&path);
}

/// An archive of version 1 has notes as texts; one that is written today has them typed, and is read back the same.
#[test]
fn an_archive_of_a_released_version_gets_typed_notes() {
    let old = include_bytes!("data/archive_v1.json");
    let text = String::from_utf8_lossy(old);
    assert!(text.contains(r#""version":1"#) && text.contains(r#""notes":{"#), "{text:.200}");
    let mut store = SqliteStore::in_memory().unwrap();
    let more = r#""notes":{"mine":"x","resumed":"with 2 samples there, at 5 s since 1970","#;
    let with_notes = text.replacen(r#""notes":{"#, more, 1);
    let run = store.import(&mut with_notes.as_bytes()).unwrap().number;
    let notes = store.run(run).unwrap().notes;
    assert!(readings(&notes).count() > 0, "{notes:?}");
    assert!(notes.contains(&Note::Text { key: "mine".to_owned(), text: "x".to_owned() }), "{notes:?}");
    assert!(
        notes.contains(&Note::Resumed { at: Some(Nanos(5_000_000_000)), there: KeptBefore::Samples(2) }),
        "{notes:?}"
    );
    let mut text = Vec::new();
    store.export(Id::run(run), &mut text).unwrap().unwrap();
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&written["version"], written["run"]["notes"].is_array()), (&5.into(), true));
    // Without a store between, too: found by fuzzing.
    let read = tarebench_store::Archive::read(&mut with_notes.as_bytes()).unwrap();
    let mut again = Vec::new();
    read.write(&mut again).unwrap();
    assert_eq!(tarebench_store::Archive::read(&mut again.as_slice()).unwrap().run.notes, notes);
    let mut other = SqliteStore::in_memory().unwrap();
    let there = other.import(&mut text.as_slice()).unwrap().number;
    assert_eq!(other.run(there).unwrap().notes, notes);
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
    let id = store.find(name).unwrap();
    assert_ne!(id.kind, DocumentKind::Run, "{name}");
    id
}
