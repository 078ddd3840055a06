//! Documents beside runs: benchmarks, studies, measurements of noise.

use crate::backends::backends;
use crate::children::{asked, child};
use crate::data::{bench, head, place, profile, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::profile::data::Profile;
use tarebench_core::run::data::Run;
use tarebench_store::{
    Claimant, DocumentArchive, DocumentFilter, DocumentPart, ProfileArchive, SqliteStore, Store, StoreError,
    StoredDocument, content, read_bench,
};

fn id(text: &str) -> Id {
    text.parse().unwrap()
}

fn of(kind: DocumentKind, n: u128) -> DocumentHead {
    DocumentHead { kind, ..head(n) }
}

fn no_such<T: std::fmt::Debug>(r: Result<T, StoreError>) {
    assert!(matches!(r, Err(StoreError::NoSuch { .. })), "{r:?}");
}

#[test]
fn a_document_is_kept_whole() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let b1 = store.create_document(&head(1), &json!({"a": [0.1, null, u64::MAX]})).unwrap();
        assert_eq!(b1.to_string(), "b1");
        let parts = [
            DocumentPart { doc: json!(1), blob: None },
            DocumentPart { doc: json!({}), blob: Some(vec![0, 255, b'\'', 10]) },
            DocumentPart { doc: json!("\0\x1b"), blob: Some(Vec::new()) },
        ];
        for (seq, part) in (0..).zip(&parts) {
            assert_eq!(store.append_part(b1, part).unwrap(), seq);
        }
        drop(store);
        let store = place.open_read_only();
        let found = store.document(b1).unwrap();
        assert_eq!(found.head, DocumentHead { number: 1, ..head(1) });
        assert_eq!((found.doc, found.parts), (json!({"a": [0.1, null, u64::MAX]}), parts.to_vec()));
    }
}

#[test]
fn numbers_are_of_their_kind_and_not_given_twice() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let mut n = 0;
        let mut create = |store: &mut dyn Store, kind| {
            n += 1;
            store.create_document(&of(kind, n), &json!(n)).unwrap().to_string()
        };
        let made = [DocumentKind::Bench, DocumentKind::Study, DocumentKind::Bench, DocumentKind::Noise]
            .map(|k| create(&mut *store, k));
        assert_eq!(made, ["b1", "s1", "b2", "n1"]);
        store.remove(id("b2")).unwrap();
        store.remove(id("b1")).unwrap();
        drop(store);
        let mut store = place.open();
        assert_eq!([create(&mut *store, DocumentKind::Bench), create(&mut *store, DocumentKind::Study)], ["b3", "s2"]);
        // What failed took no number.
        assert!(matches!(
            store.create_document(&of(DocumentKind::Study, 2), &json!(0)),
            Err(StoreError::Duplicate { .. })
        ));
        assert_eq!(create(&mut *store, DocumentKind::Study), "s3");
    }
}

#[test]
fn changes_need_their_document() {
    for backend in backends() {
        let mut store = backend.store();
        let (b1, part) = (id("b1"), DocumentPart { doc: json!(1), blob: None });
        let by = process(1, "b", "h");
        no_such(store.append_part(b1, &part));
        no_such(store.set_status(b1, Status::Finished));
        no_such(store.document(b1));
        no_such(store.remove(b1));
        no_such(store.export(b1, &mut Vec::new()));
        no_such(store.claim(b1, &by, &|_| true));
        store.create_document(&head(1), &json!(1)).unwrap();
        store.set_status(b1, Status::Interrupted).unwrap();
        let found = store.document(b1).unwrap();
        assert_eq!((found.head.status, found.doc), (Status::Interrupted, json!(1)));
        store.set_document(b1, Status::Finished, &json!([2])).unwrap();
        let found = store.document(b1).unwrap();
        assert_eq!((found.head.status, found.doc), (Status::Finished, json!([2])));
        no_such(store.document(id("s1")));
        match store.create_document(&head(1), &json!(1)).unwrap_err() {
            StoreError::Duplicate { id, uuid, .. } => assert_eq!((id, uuid), (b1, head(1).uuid)),
            e => panic!("{e}"),
        }
        let nameless = DocumentHead { uuid: "ABC".to_owned(), ..head(2) };
        assert!(matches!(store.create_document(&nameless, &json!(1)), Err(StoreError::Unstorable { .. })));
        assert!(matches!(content(&f64::NAN), Err(StoreError::Unstorable { .. })));
        assert_eq!(content(&vec![0.1 + 0.2, f64::MIN_POSITIVE]).unwrap(), json!([0.1 + 0.2, f64::MIN_POSITIVE]));
    }
}

#[test]
fn documents_are_listed_newest_first_by_kind() {
    for backend in backends() {
        let mut store = backend.store();
        for (kind, n) in
            [(DocumentKind::Bench, 5), (DocumentKind::Study, 9), (DocumentKind::Bench, 3), (DocumentKind::Noise, 1)]
        {
            store.create_document(&of(kind, n), &json!(1)).unwrap();
        }
        store.append_part(id("s1"), &DocumentPart { doc: json!(1), blob: Some(vec![1]) }).unwrap();
        let listed = |kind, limit| -> Vec<String> {
            let found = store.list(&DocumentFilter { kind, limit, ..DocumentFilter::default() }).unwrap();
            found.into_iter().map(|d| format!("{}/{}", d.head.id(), d.parts)).collect()
        };
        assert_eq!(listed(None, None), ["s1/1", "b1/0", "b2/0", "n1/0"]);
        assert_eq!(listed(None, Some(2)), ["s1/1", "b1/0"]);
        assert_eq!(listed(Some(DocumentKind::Bench), None), ["b1/0", "b2/0"]);
        assert_eq!(listed(Some(DocumentKind::Bench), Some(0)), [""; 0]);
    }
}

#[test]
fn a_document_is_found_by_what_a_user_says() {
    for backend in backends() {
        let mut store = backend.store();
        no_such(store.find("b1"));
        store.begin_run(&run(0xb123_4567 << 96)).unwrap();
        assert_eq!(store.find("b123").unwrap(), Id::run(1));
        for n in 1..=123 {
            store.create_document(&head(n), &json!(1)).unwrap();
        }
        assert_eq!(store.find("b123").unwrap(), id("b123"));
        assert_eq!(store.find(&head(7).uuid).unwrap(), id("b7"));
        let of_kind = |kind, text: &str| store.find_kind(kind, text).unwrap();
        assert_eq!(of_kind(DocumentKind::Bench, "b123"), Some(id("b123")));
        assert_eq!([of_kind(DocumentKind::Run, "b123"), of_kind(DocumentKind::Bench, "b124")], [None; 2]);
        assert_eq!(["b1234", "last", "1"].map(|t| store.find(t).unwrap()), [Id::run(1); 3]);
        no_such(store.find("b124"));
        no_such(store.find("s1"));
        for text in ["2", "B1", "b01", "", "x1"] {
            assert!(matches!(store.find(text), Err(StoreError::NoSuch { .. })), "{text}");
        }
    }
}

/// Listed, read, marked and removed as others are; only its content is added in another way.
#[test]
fn a_run_is_a_document() {
    for backend in backends() {
        let mut store = backend.store();
        let stored = store.begin_run(&run(1)).map(Id::run).unwrap();
        let created = run(1).created;
        let near = |n: u128, at: i64| DocumentHead { created: Nanos(created.0 + at), ..head(n) };
        store.create_document(&near(2, 1), &json!(1)).unwrap();
        store.create_document(&near(3, -1), &json!(1)).unwrap();
        let listed = |kind, limit| -> Vec<String> {
            let all = store.list(&DocumentFilter { kind, limit, ..DocumentFilter::default() }).unwrap();
            all.iter().map(|d| d.head.id().to_string()).collect()
        };
        assert_eq!((listed(None, None), listed(None, Some(2))), (words("b1 1 b2"), words("b1 1")));
        assert_eq!(listed(Some(DocumentKind::Run), None), ["1"]);
        let found = store.document(stored).unwrap();
        assert_eq!((&found.head, found.parts.len()), (&store.head(stored).unwrap(), 0));
        assert_eq!(found.head, store.run(1).unwrap().head());
        assert_eq!(serde_json::from_value::<Run>(found.doc).unwrap(), store.run(1).unwrap());
        assert_eq!(store.head(id("b1")).unwrap(), store.document(id("b1")).unwrap().head);
        store.set_status(stored, Status::Interrupted).unwrap();
        assert_eq!(store.head(stored).unwrap().status, Status::Interrupted);
        let part = DocumentPart { doc: json!(1), blob: None };
        assert!(matches!(store.append_part(stored, &part), Err(StoreError::Unstorable { .. })));
        let set = store.set_document(stored, Status::Finished, &json!(1));
        assert!(matches!(set, Err(StoreError::Unstorable { .. })));
        store.remove(stored).unwrap();
        no_such(store.head(stored));
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_removed_document_leaves_nothing_behind() {
    let (_dir, path) = place();
    let mut store = SqliteStore::open(&path).unwrap();
    for n in 1..=2 {
        let id = store.create_document(&head(n), &json!("x".repeat(100_000))).unwrap();
        store.append_part(id, &DocumentPart { doc: json!(1), blob: Some(vec![7; 500_000]) }).unwrap();
        store.claim(id, &process(1, "b", "h"), &|_| true).unwrap();
    }
    let looking = rusqlite::Connection::open(&path).unwrap();
    let number = |sql: &str| -> i64 { looking.query_row(sql, [], |r| r.get(0)).unwrap() };
    let before = number("PRAGMA page_count");
    store.remove(id("b1")).unwrap();
    assert!(number("PRAGMA page_count") < before * 2 / 3);
    store.remove(id("b2")).unwrap();
    for table in ["document", "document_part", "document_claim"] {
        assert_eq!(number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

fn process(pid: i32, boot: &str, host: &str) -> Claimant {
    Claimant { pid, start: Nanos(7), boot: boot.to_owned(), host: host.to_owned() }
}

#[test]
fn a_claim_keeps_others_out_until_its_process_is_gone() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let mut other = place.open();
        let s1 = store.create_document(&of(DocumentKind::Study, 1), &json!(1)).unwrap();
        let (one, two) = (process(1, "b", "h"), process(2, "b", "h"));
        assert_eq!(store.claimant(s1).unwrap(), None);
        store.claim(s1, &one, &|_| true).unwrap();
        match other.claim(s1, &two, &|_| true).unwrap_err() {
            StoreError::Claimed { id, by } => assert_eq!((id, &by), (s1, &one)),
            e => panic!("{e}"),
        }
        other.release(s1, &two).unwrap();
        assert_eq!(other.claimant(s1).unwrap().as_ref(), Some(&one));
        other.claim(s1, &two, &|c| c.pid != 1).unwrap();
        store.release(s1, &one).unwrap();
        assert_eq!(store.claimant(s1).unwrap().as_ref(), Some(&two));
        // A document's claim is not that of the run of its number.
        let run = store.begin_run(&run(1)).unwrap();
        store.claim(Id::run(run), &one, &|_| true).unwrap();
        other.release(s1, &two).unwrap();
        assert_eq!(store.claimant(s1).unwrap(), None);
        assert_eq!(store.claimant(Id::run(run)).unwrap(), Some(one));
    }
}

/// Adds parts without an end, and says `added SEQ` after each.
#[test]
fn child_appends_parts() {
    let Some((database, _)) = asked() else { return };
    let mut store = SqliteStore::open(&database).unwrap();
    let id = store.create_document(&of(DocumentKind::Noise, 1), &json!(1)).unwrap();
    for seq in 0..100_000_u32 {
        store.append_part(id, &part(seq)).unwrap();
        writeln!(std::io::stdout(), "added {seq}").unwrap();
    }
}

fn part(seq: u32) -> DocumentPart {
    DocumentPart { doc: json!(seq), blob: Some(seq.to_le_bytes().repeat(1_000)) }
}

#[test]
fn parts_that_were_reported_survive_a_kill() {
    let mut reported = 0;
    for round in 0..8 {
        let (_dir, path) = place();
        let mut child = child("documents::child_appends_parts", &path, &[])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            lines.filter_map(|l| l.strip_prefix("added ")?.parse().ok()).collect::<Vec<u32>>()
        });
        std::thread::sleep(Duration::from_millis(20 + round * 17));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = reader.join().unwrap();
        reported += said.len();
        if said.is_empty() {
            continue;
        }
        let there = SqliteStore::open(&path).unwrap().document(id("n1")).unwrap().parts;
        assert!(there.len() >= said.len());
        assert!((0..).zip(&there).all(|(seq, p)| *p == part(seq)));
        crate::data::assert_sound(&path);
    }
    assert!(reported > 0, "no child lived long enough to store a part");
}

fn archive(document: StoredDocument) -> Vec<u8> {
    let mut out = Vec::new();
    DocumentArchive::new(document).write(&mut out).unwrap();
    out
}

fn of_bench() -> Vec<u8> {
    let part = DocumentPart { doc: json!({"n": 1}), blob: Some(vec![0, 171, 255]) };
    archive(StoredDocument { head: head(1), doc: content(&bench()).unwrap(), parts: vec![part] })
}

fn file_of_bench() -> String {
    serde_json::to_string(&bench()).unwrap()
}

#[test]
fn a_file_of_benchmarks_becomes_a_document() {
    for backend in backends() {
        let mut store = backend.store();
        let text = file_of_bench();
        let stored = store.import(&mut text.as_bytes()).unwrap();
        assert_eq!((stored, stored.to_string().as_str()), (id("b1"), "b1"));
        let found = store.document(id("b1")).unwrap();
        assert_eq!(serde_json::from_value::<tarebench_core::kbest::bench::Bench>(found.doc).unwrap(), bench());
        assert_eq!((found.head.title.as_str(), found.head.status), ("sorts", Status::Finished));
        assert_eq!((found.head.created, found.head.machine.as_str()), (bench().created, "box"));
        // The same again, written in another way, is the same.
        let pretty = serde_json::to_string_pretty(&bench()).unwrap();
        let e = store.import(&mut pretty.as_bytes()).unwrap_err();
        assert!(matches!(e, StoreError::Duplicate { .. }), "{e}");
        assert!(e.to_string().contains("already in the store") && e.to_string().ends_with("as b1"), "{e}");
        let mut other = bench();
        other.created = Nanos(5);
        assert_eq!(store.import(&mut serde_json::to_string(&other).unwrap().as_bytes()).unwrap().to_string(), "b2");
    }
}

#[test]
fn one_import_takes_every_kind_of_file() {
    for backend in backends() {
        let mut store = backend.store();
        let id = store.begin_run(&run(1)).unwrap();
        let mut of_run = Vec::new();
        store.export(Id::run(id), &mut of_run).unwrap().unwrap();
        let mut other = backend.store();
        assert_eq!(other.import(&mut of_run.as_slice()).unwrap(), Id::run(1));
        assert_eq!(other.import(&mut of_bench().as_slice()).unwrap().to_string(), "b1");
        assert_eq!(other.import(&mut file_of_bench().as_bytes()).unwrap().to_string(), "b2");
        assert!(matches!(other.import(&mut of_run.as_slice()), Err(StoreError::Duplicate { .. })));
        assert!(matches!(other.import(&mut of_bench().as_slice()), Err(StoreError::Duplicate { .. })));
        let mut of_profile = Vec::new();
        ProfileArchive::new(profile("box", "m", 1)).write(&mut of_profile).unwrap();
        assert_eq!(other.import(&mut of_profile.as_slice()).unwrap().to_string(), "p1");
        assert!(matches!(other.import(&mut of_profile.as_slice()), Err(StoreError::DuplicateProfile { .. })));
        assert_eq!(other.profile("box@1").unwrap(), Some(profile("box", "m", 1)));
    }
}

fn described(kind: DocumentKind, n: u128, tags: &[(&str, &str)]) -> DocumentHead {
    let Run { host, factors, .. } = run(n);
    DocumentHead {
        conditions: Some(Box::new(Conditions::new(host, factors))),
        tags: tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..of(kind, n)
    }
}

/// A description is stored once, however many documents and runs are of it, and goes with the last of them.
#[test]
fn conditions_and_tags_are_kept_and_found() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let given = described(DocumentKind::Noise, 1, &[("a", "b"), ("empty", "")]);
        let n1 = store.create_document(&given, &json!(1)).unwrap();
        let s1 = store.create_document(&described(DocumentKind::Study, 2, &[("a", "c")]), &json!(1)).unwrap();
        store.create_document(&head(3), &json!(1)).unwrap();
        let id = store.begin_run(&run(4)).unwrap();
        assert_eq!(store.document(n1).unwrap().head, DocumentHead { number: 1, ..given.clone() });
        assert_eq!(store.document(n1).unwrap().head.identity(), Some(run(4).host.machine.as_str()));
        let tagged = |store: &dyn Store, tags: &[(&str, &str)]| -> Vec<String> {
            let tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            let filter = DocumentFilter { tags, ..DocumentFilter::default() };
            store.list(&filter).unwrap().iter().map(|d| d.head.id().to_string()).collect()
        };
        assert_eq!(tagged(&*store, &[("a", "b")]), ["n1"]);
        assert_eq!(tagged(&*store, &[("a", "b"), ("empty", "")]), ["n1"]);
        assert_eq!(
            tagged(&*store, &[("a", "b"), ("a", "c")]).len(),
            1,
            "the last value of a key is the one that counts"
        );
        assert_eq!(tagged(&*store, &[("a", "")]), [""; 0]);
        assert_eq!(tagged(&*store, &[]).len(), 4);
        // Through a file.
        let mut other = backend.store();
        let text = archive(store.document(n1).unwrap());
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap()["version"], 2);
        assert_eq!(other.import(&mut text.as_slice()).unwrap(), n1);
        assert_eq!(other.document(n1).unwrap(), store.document(n1).unwrap());
        assert_eq!(tagged(&*other, &[("a", "b")]), ["n1"]);

        let hosts = || place.number("SELECT count(*) FROM host");
        assert_eq!(hosts(), 1);
        store.remove(Id::run(id)).unwrap();
        store.remove(n1).unwrap();
        assert_eq!((hosts(), tagged(&*store, &[("a", "b")])), (1, Vec::new()));
        assert!(store.document(s1).unwrap().head.conditions.is_some());
        store.remove(s1).unwrap();
        assert_eq!(hosts(), 0);
    }
}

/// It follows from the rest, whatever a file says.
#[test]
fn a_fingerprint_is_computed_anew_when_it_is_read() {
    let given = described(DocumentKind::Noise, 1, &[]).conditions.unwrap();
    let mut json = serde_json::to_value(&given).unwrap();
    assert_eq!(json["fingerprint"], given.fingerprint());
    json["fingerprint"] = "forged".into();
    assert_eq!(serde_json::from_value::<Conditions>(json).unwrap(), *given);
}

/// A profile is one document under its number, its name, and its name with its version.
#[test]
fn profiles_are_documents() {
    for backend in backends() {
        let mut store = backend.store();
        let conditions = described(DocumentKind::Profile, 1, &[]).conditions.unwrap();
        let mut saved = |version, begun| {
            let given = Profile { version, ..profile("box", "m", i64::from(version)) };
            store.save_profile(&given, begun, Some(&conditions)).unwrap()
        };
        assert_eq!((saved(0, None).version, saved(0, None).id), (1, id("p2")));
        let found = ["p1", "p2", "box", "box@1", "box@2"].map(|text| store.find(text).unwrap().to_string());
        assert_eq!(found, ["p1", "p2", "p2", "p1", "p2"]);
        assert!(matches!(store.find("box@3"), Err(StoreError::NoSuch { .. })));
        let head = store.document(id("p2")).unwrap().head;
        assert_eq!(
            (head.title.as_str(), head.status, &head.conditions),
            ("box@2", Status::Finished, &Some(conditions))
        );
        // Exported and imported, it has its name there.
        let mut other = backend.store();
        let text = archive(store.document(id("p2")).unwrap());
        assert_eq!(other.import(&mut text.as_slice()).unwrap().to_string(), "p1");
        assert_eq!(other.profile("box").unwrap(), store.profile("box@2").unwrap());
        assert!(matches!(other.import(&mut text.as_slice()), Err(StoreError::DuplicateProfile { .. })));
        // Removed by number or by name, it is gone under both.
        store.remove(id("p2")).unwrap();
        assert_eq!(store.profile("box").unwrap().unwrap().version, 1);
        assert_eq!(store.versions("box").unwrap(), [id("p1")]);
        store.remove(id("p1")).unwrap();
        no_such(store.document(id("p1")));
        assert_eq!(store.profiles().unwrap(), []);

        // One that is being learned has no name yet, and keeps its number, tags and beginning.
        let begun = DocumentHead {
            status: Status::Unfinished,
            title: "box".to_owned(),
            ..described(DocumentKind::Profile, 9, &[("a", "b")])
        };
        let p3 = store.create_document(&begun, &json!({"name": "box"})).unwrap();
        assert_eq!((p3, store.profile("box").unwrap()), (id("p3"), None));
        assert!(matches!(store.set_status(p3, Status::Finished), Err(StoreError::Unstorable { .. })));
        store.set_status(p3, Status::Interrupted).unwrap();
        let unfinished = archive(store.document(p3).unwrap());
        assert!(other.import(&mut unfinished.as_slice()).unwrap_err().to_string().contains("not finished"));
        let saved = store.save_profile(&Profile { version: 0, ..profile("box", "m", 5) }, Some(p3), None).unwrap();
        assert_eq!((saved.id, saved.version), (p3, 1));
        let head = store.document(p3).unwrap().head;
        assert_eq!(head, DocumentHead { number: 3, status: Status::Finished, title: "box@1".to_owned(), ..begun });
        assert_eq!(store.find("box@1").unwrap(), p3);
    }
}

#[test]
fn profiles_whose_names_cannot_be_used_are_refused() {
    for name in ["", "none", "a@b", "a\x1b", "-rf", "--db=x"] {
        let mut text = Vec::new();
        ProfileArchive::new(profile(name, "m", 1)).write(&mut text).unwrap();
        let mut store = SqliteStore::in_memory().unwrap();
        let e = store.import(&mut text.as_slice()).unwrap_err();
        assert!(matches!(e, StoreError::BadArchive { .. }), "{name:?}: {e}");
        assert_eq!(store.profiles().unwrap(), []);
    }
    let run = DocumentHead { kind: DocumentKind::Run, ..head(1) };
    let mut store = SqliteStore::in_memory().unwrap();
    assert!(matches!(store.create_document(&run, &json!(1)), Err(StoreError::Unstorable { .. })));
}

/// Comparisons and gates are checked when they are imported, and exported as they were.
#[test]
fn comparisons_and_gates_go_through_files() {
    for backend in backends() {
        const GATE: &str = include_str!("../../../../fuzz/seeds/compare_json/gate.json");
        const MEDIANS: &str = include_str!("../../../../fuzz/seeds/compare_json/medians.json");
        let others = [
            include_str!("../../../../fuzz/seeds/compare_json/ratios.json"),
            include_str!("../../../../fuzz/seeds/compare_json/same_run.json"),
            include_str!("../../../../fuzz/seeds/compare_json/across.json"),
        ];
        for (text, id) in [(GATE, "g1"), (MEDIANS, "c1")].into_iter().chain(others.map(|text| (text, "c1"))) {
            let mut store = backend.store();
            assert_eq!(store.import(&mut text.as_bytes()).unwrap().to_string(), id);
            let written: Value =
                serde_json::from_slice(&archive(store.document(id.parse().unwrap()).unwrap())).unwrap();
            let given: Value = serde_json::from_str(text).unwrap();
            assert_eq!((&written["version"], &written["doc"]), (&3.into(), &given["doc"]));
        }
        let wrong = |text: &str, from: &str, to: &str, words: &[&str]| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            refused(changed.as_bytes(), words);
        };
        wrong(GATE, "\"max_blocks\":54", "\"max_blocks\":0", &["not an archive of a document", "a cap of blocks"]);
        wrong(GATE, "\"threshold\":0.02", "\"threshold\":-1", &["benchmark 1 (\"slower\") has a threshold"]);
        wrong(GATE, "\"logs\":[", "\"logs\":[99,", &["benchmark 1 (\"slower\") has a ratio"]);
        wrong(GATE, "\"plan\":{", "\"plan\":1,\"x\":{", &["its gate: "]);
        wrong(MEDIANS, "\"reference\":0", "\"reference\":1", &["pair 1 has the same program twice"]);
        wrong(MEDIANS, "\"reference\":0", "\"reference\":7", &["pair 1 has an index"]);
        wrong(MEDIANS, "\"log\":0.001", "\"log\":1e9", &["run of the history 1 has a time or a ratio"]);
        wrong(MEDIANS, "\"version\":3", "\"version\":4", &["an archive of a document of version 4"]);
    }
}

/// Checks that it is refused with one sentence that contains these words, and that nothing is stored.
#[track_caller]
fn refused(text: &[u8], words: &[&str]) {
    let mut store = SqliteStore::in_memory().unwrap();
    let e = store.import(&mut &*text).unwrap_err();
    assert!(matches!(e, StoreError::BadArchive { .. } | StoreError::NewerArchive { .. }), "{e:?}");
    let said = e.to_string();
    assert!(words.iter().all(|w| said.contains(w)), "{words:?} in {said}");
    assert!(said.len() < 400 && !said.contains('\n'), "{said}");
    assert!(store.list(&DocumentFilter::default()).unwrap().is_empty());
    assert!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().is_empty());
}

#[test]
fn files_that_are_wrong() {
    let expected = "expected \"tare-run\", \"tare-document\", \"tare-profile\" or \"tare-bench\"";
    refused(b"", &["not a file that can be imported (line 1, column 1): expected a JSON object"]);
    refused(b"[1]", &["expected a JSON object"]);
    refused(b"\x7fELF\xff\xfe", &["expected a JSON object"]);
    refused(b"{}", &["no \"format\"", expected]);
    refused(b"{\"format\":", &["no \"format\""]);
    refused(br#"{"format":"tare-report","version":1}"#, &["its format is \"tare-report\"", expected]);
    refused(&[b"{".to_vec(), vec![b' '; 3 << 20]].concat(), &["no \"format\""]);

    let good = file_of_bench();
    let wrong = |from: &str, to: &str, words: &[&str]| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        refused(changed.as_bytes(), words);
    };
    wrong("\"version\":1", "\"version\":2", &["a file of benchmarks of version 2", "supports versions up to 1"]);
    wrong("\"version\":1", "\"version\":0", &["not a file of benchmarks", "its version is 0"]);
    wrong("\"repetitions\":100", "\"repetitions\":0", &["benchmark 1 (\"a\\u{1b}[31m\\n\")", "no execution"]);
    wrong("\"repetitions\":100", "\"repetitions\":1e99", &["line 1, column"]);
    wrong("\"repetitions\":100", "\"repetitions\":-1", &["line 1, column"]);
    wrong("\"hz\":2299999999.1234565", "\"hz\":0", &["a clock whose rate"]);
    wrong("\"hz\":2299999999.1234565", "\"hz\":NaN", &["line 1, column"]);
    wrong("\"hz\":2299999999.1234565", "\"hz\":1e999", &["number out of range"]);
    wrong("\"hz\":2299999999.1234565", "\"hz\":null", &["line 1, column"]);
    wrong("\"k\":3", "\"k\":0", &["K is 0"]);
    wrong("\"most\":30", "\"most\":2", &["at most 2 trials"]);
    wrong("\"clock\":\"counter\"", "\"clock\":\"sundial\"", &["sundial"]);
    wrong("\"count\":5000", "\"count\":18446744073709551616", &["line 1, column"]);
    let none = Value::Array(Vec::new());
    let mut empty = serde_json::to_value(bench()).unwrap();
    empty["rows"][1]["timing"]["trials"] = none.clone();
    refused(empty.to_string().as_bytes(), &["benchmark 2 (\"b\") has no trial"]);
    empty["rows"] = none;
    refused(empty.to_string().as_bytes(), &["it has no benchmarks"]);

    refused(&good.as_bytes()[..good.len() - 1], &["not a file of benchmarks", "EOF"]);
    refused(good.replace("sorts", "s\u{1}rts").as_bytes(), &["control character"]);
    let mut invalid = good.clone().into_bytes();
    let at = good.find("sorts").unwrap();
    invalid[at] = 0xff;
    refused(&invalid, &["not a file of benchmarks", "invalid"]);
    for deep in ["[", "{\"x\":"] {
        let nested = deep.repeat(1_000_000);
        refused(good.replacen("\"rows\":", &format!("\"rows\":{nested}"), 1).as_bytes(), &["line 1, column"]);
        refused(format!("{{\"format\":\"tare-bench\",\"version\":1,\"x\":{nested}").as_bytes(), &["line 1, column"]);
        refused(
            format!("{{\"format\":\"tare-document\",\"version\":1,\"doc\":{nested}").as_bytes(),
            &["line 1, column"],
        );
    }
    // What has no end.
    struct Endless<'a>(&'a [u8], u8);
    impl std::io::Read for Endless<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                out.fill(self.1);
                return Ok(out.len());
            }
            self.0.read(out)
        }
    }
    for (begin, rest) in [("", b'\0'), ("{", b' '), (r#"{"format":"tare-bench","version":1,"#, b' ')] {
        let e = SqliteStore::in_memory().unwrap().import(&mut Endless(begin.as_bytes(), rest)).unwrap_err();
        assert!(matches!(e, StoreError::BadArchive { .. }), "{e}");
    }
    assert!(matches!(read_bench(&mut b"{}".as_slice()), Err(StoreError::BadArchive { .. })));
}

#[test]
fn archives_of_documents_that_are_wrong() {
    let good = String::from_utf8(of_bench()).unwrap();
    SqliteStore::in_memory().unwrap().import(&mut good.as_bytes()).unwrap();
    let wrong = |from: &str, to: &str, words: &[&str]| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        refused(changed.as_bytes(), words);
    };
    wrong("\"version\":1", "\"version\":9", &["an archive of a document of version 9"]);
    wrong(&head(1).uuid, "no uuid", &["not an archive of a document", "\"no uuid\""]);
    wrong("\"kind\":\"bench\"", "\"kind\":\"poem\"", &["poem"]);
    wrong("\"blob\":\"00abff\"", "\"blob\":\"00abf\"", &["blob", "line 1"]);
    wrong("\"blob\":\"00abff\"", "\"blob\":\"00abfx\"", &["blob"]);
    wrong("\"repetitions\":100", "\"repetitions\":0", &["benchmark 1"]);
    wrong("\"rows\":", "\"rowes\":", &["its benchmarks: missing field `rows`"]);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".*", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_and_archives(
        n in any::<u128>(), title in ".*", created in any::<i64>(), doc in json_value(),
        parts in proptest::collection::vec((json_value(), proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9))), 0..4),
    ) {
        let given = DocumentHead { kind: DocumentKind::Study, title, created: Nanos(created), ..head(n) };
        let parts: Vec<DocumentPart> = parts.into_iter().map(|(doc, blob)| DocumentPart { doc, blob }).collect();
        for backend in backends() {
        let mut store = backend.empty();
        let id = store.create_document(&given, &doc).unwrap();
        for part in &parts {
            store.append_part(id, part).unwrap();
        }
        let stored = StoredDocument { head: DocumentHead { number: 1, ..given.clone() }, doc: doc.clone(), parts: parts.clone() };
        prop_assert_eq!(&store.document(id).unwrap(), &stored);
        let text = archive(stored.clone());
        let mut other = backend.empty();
        let copy = other.import(&mut text.as_slice()).unwrap();
        prop_assert_eq!(copy, id);
        prop_assert_eq!(other.document(id).unwrap(), stored);
        prop_assert_eq!(archive(other.document(id).unwrap()), text);
    }
    }

    #[test]
    fn a_file_with_changed_bytes(
        of_document in any::<bool>(), cut in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = if of_document { of_bench() } else { file_of_bench().into_bytes() };
        let mut store = SqliteStore::in_memory().unwrap();
        prop_assert!(store.import(&mut &bytes[..cut.index(bytes.len() - 1)]).is_err());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let stored = store.import(&mut bytes.as_slice());
        let there = store.list(&DocumentFilter::default()).unwrap().len();
        prop_assert_eq!(there, usize::from(stored.is_ok()));
    }
}
