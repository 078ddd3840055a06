//! Listing, finding, changing and removing.

use crate::backends::backends;
use crate::children::{asked, wrapped};
use crate::data::{place, profile, run, sample};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::{RecordedTask, RecordingChunk, Slice};
use tarebench_core::run::notes::{KeptBefore, Note};
use tarebench_core::run::plan::RunCount;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_store::{DocumentFilter, ProfileArchive, SqliteStore, Store, StoreError, default_path};

fn no_such_run<T: std::fmt::Debug>(r: Result<T, StoreError>) {
    assert!(matches!(r, Err(StoreError::NoSuch { .. })), "{r:?}");
}

#[test]
fn runs_are_listed_by_tag_and_number() {
    for backend in backends() {
        let mut store = backend.store();
        for n in 1..=3 {
            let mut run = run(n);
            run.plan.tags.insert("n".to_owned(), n.to_string());
            let id = store.begin_run(&run).unwrap();
            for seq in 0..2 + n as u32 {
                store.add_sample(id, &sample(seq, 1)).unwrap();
            }
        }
        store.set_status(Id::run(2), Status::Finished).unwrap();
        let all = store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap();
        assert_eq!(
            all.iter().map(|r| (r.head.number, r.counted)).collect::<Vec<_>>(),
            [3, 2, 1].map(|n| (n, Some(n as u64)))
        );
        let second = &all[1];
        assert_eq!((second.head.status, second.head.uuid.as_str()), (Status::Finished, run(2).uuid.as_str()));
        assert_eq!((second.programs.join(" "), second.head.machine.as_str()), ("true false".to_owned(), "box"));
        assert_eq!(second.head, store.run(2).unwrap().head());
        assert_eq!((second.head.created, second.head.tags["n"].as_str()), (Nanos(1_700_000_000_000_000_000), "2"));

        let tag = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let mut filter = DocumentFilter {
            tags: [tag("build", "a")].into(),
            limit: Some(2),
            ..DocumentFilter::of_kind(DocumentKind::Run)
        };
        assert_eq!(store.list(&filter).unwrap(), all[..2]);
        filter.tags.extend([tag("n", "1")]);
        assert_eq!(store.list(&filter).unwrap(), all[2..]);
        filter.tags.extend([tag("n", "x")]);
        assert_eq!(store.list(&filter).unwrap(), []);
    }
}

#[test]
fn a_run_is_found_by_what_a_user_says() {
    for backend in backends() {
        let mut store = backend.store();
        no_such_run(store.find("last"));
        for uuid in [0xabcd_0000_u128 << 96, 0xabcd_1000 << 96, 0x1234_5000 << 96, 0xffff_ffff << 96] {
            store.begin_run(&run(uuid)).unwrap();
        }
        let found = |store: &dyn Store, texts: &[&str]| -> Vec<i64> {
            texts.iter().map(|text| store.find(text).unwrap().number).collect()
        };
        assert_eq!(found(&*store, &["last", "2", "abcd1", "ABCD1", "1234", "ffff"]), [4, 2, 2, 2, 3, 4]);
        assert_eq!(found(&*store, &[&run(0xabcd_0000 << 96).uuid]), [1]);
        // Digits of a uuid are no number.
        assert_eq!(store.begin_run(&run(0x3)).unwrap(), 5);
        assert_eq!(found(&*store, &["0000", &run(0x3).uuid, "3"]), [5, 5, 3]);
        match store.find("abcd").unwrap_err() {
            StoreError::AmbiguousRun { runs, .. } => assert_eq!(runs, [1, 2]),
            e => panic!("{e}"),
        }
        for text in
            ["", "0", "-1", "6", "05", "+5", "99999999999999999999999", "abc", "Last", "abcd%", "'; --", "é", "fffff0"]
        {
            no_such_run(store.find(text));
        }
    }
}

fn note(key: &str, text: &str) -> Note {
    Note::Text { key: key.to_owned(), text: text.to_owned() }
}

#[test]
fn changes_need_their_run() {
    for backend in backends() {
        let mut store = backend.store();
        no_such_run(store.add_sample(1, &sample(0, 1)));
        no_such_run(store.set_status(Id::run(1), Status::Finished));
        no_such_run(store.set_run_count(1, RunCount::Fixed(3)));
        no_such_run(store.add_note(1, &note("a", "b")));
        no_such_run(store.remove(Id::run(1)));
        no_such_run(store.run(1));
        no_such_run(store.samples(1));
        no_such_run(store.export(Id::run(1), &mut Vec::new()));
        no_such_run(store.head(Id::run(1)));
        no_such_run(store.document(Id::run(1)));

        let id = store.begin_run(&run(1)).unwrap();
        let notes = [
            note("b", ""),
            Note::Resumed { at: Some(Nanos(1)), there: KeptBefore::Samples(3) },
            note("a", "x"),
            note("b", ""),
        ];
        for n in &notes {
            store.add_note(id, n).unwrap();
        }
        // After the one that it began with.
        assert_eq!(store.run(id).unwrap().notes, [&run(1).notes[..], &notes].concat());

        store.add_sample(id, &sample(0, 1)).unwrap();
        assert!(matches!(store.add_sample(id, &sample(0, 2)), Err(StoreError::DuplicateSample { run: 1, seq: 0 })));
        assert_eq!(store.samples(id).unwrap(), [sample(0, 1)]);
        match store.begin_run(&run(1)).unwrap_err() {
            StoreError::Duplicate { id: there, .. } => assert_eq!(there, Id::run(id)),
            e => panic!("{e}"),
        }
    }
}

#[test]
fn a_run_is_made_longer() {
    for backend in backends() {
        let mut store = backend.store();
        let (id, other) = (store.begin_run(&run(1)).unwrap(), store.begin_run(&run(2)).unwrap());
        store.add_sample(id, &sample(0, 1)).unwrap();
        let before = [id, other].map(|id| store.run(id).unwrap());
        store.set_run_count(id, RunCount::Fixed(24)).unwrap();
        // Nothing else changes.
        let mut expected = before;
        expected[0].plan.runs = RunCount::Fixed(24);
        assert_eq!([id, other].map(|id| store.run(id).unwrap()), expected);
        assert_eq!(store.samples(id).unwrap(), [sample(0, 1)]);
        let endless = RunCount::Adaptive { precision: f64::NAN, min: 1, max: 2 };
        assert!(matches!(store.set_run_count(id, endless), Err(StoreError::Unstorable { .. })));
        assert_eq!(store.run(id).unwrap().plan.runs, RunCount::Fixed(24));
    }
}

#[test]
fn what_cannot_be_read_back_is_not_stored() {
    for backend in backends() {
        let mut store = backend.store();
        let mut infinite = run(1);
        infinite.plan.sigma = f64::INFINITY;
        let mut nameless = run(1);
        nameless.uuid = "ABC".to_owned();
        for run in [infinite, nameless] {
            assert!(matches!(store.begin_run(&run), Err(StoreError::Unstorable { .. })));
        }
        assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap(), []);
    }
}

#[test]
fn a_removed_run_leaves_nothing_behind() {
    let (_dir, path) = place();
    let mut store = SqliteStore::open(&path).unwrap();
    for n in 1..=2 {
        let id = store.begin_run(&run(n)).unwrap();
        for seq in 0..10 {
            store.add_sample(id, &sample(seq, 1_000)).unwrap();
        }
    }
    let looking = rusqlite::Connection::open(&path).unwrap();
    let count =
        |table: &str| -> i64 { looking.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0)).unwrap() };
    let pages = || -> i64 { looking.query_row("PRAGMA page_count", [], |r| r.get(0)).unwrap() };
    let before = pages();
    store.remove(Id::run(2)).unwrap();
    assert_eq!((count("run"), count("sample"), count("daemon"), count("host")), (1, 10, 10_000, 1));
    assert!(pages() < before * 2 / 3, "{before} pages before, {} after", pages());
    store.remove(Id::run(1)).unwrap();
    for table in ["run", "sample", "daemon", "host", "tag", "run_note", "claim"] {
        assert_eq!(count(table), 0, "{table}");
    }
    assert_eq!(store.begin_run(&run(2)).unwrap(), 3, "a number is not given twice");
}

fn saved(store: &mut dyn Store, profile: &Profile) -> u32 {
    store.save_profile(profile, None, None).unwrap().version
}

#[test]
fn profiles_are_kept_by_name_version_and_machine() {
    for backend in backends() {
        let mut store = backend.store();
        let (a, b, c) = (profile("a", "m", 2), profile("b", "m", 1), profile("c", "other", 3));
        for p in [&a, &b, &c] {
            assert_eq!(saved(&mut *store, p), 1);
        }
        assert!(matches!(store.save_profile(&a, None, None), Err(StoreError::DuplicateProfile { .. })));
        assert_eq!(store.newest_profile("m").unwrap().as_ref(), Some(&a));
        assert_eq!(store.newest_profile("?").unwrap(), None);
        assert_eq!(store.profile("b").unwrap().as_ref(), Some(&b));
        assert_eq!(store.profiles().unwrap(), [c.clone(), a.clone(), b]);
        // The next version, and the one that is meant.
        assert_eq!(saved(&mut *store, &Profile { version: 0, created: Nanos(9), ..a.clone() }), 2);
        let version = |label: &str| store.profile(label).unwrap().map(|p| p.version);
        assert_eq!([version("a"), version("a@1"), version("a@2"), version("a@3")], [Some(2), Some(1), Some(2), None]);
        assert_eq!(store.newest_profile("m").unwrap().unwrap().label(), "a@2");
        assert_eq!(store.versions("a@2").unwrap(), []);
        store.remove(store.find("a@2").unwrap()).unwrap();
        no_such_run(store.find("a@2"));
        assert_eq!(saved(&mut *store, &Profile { version: 7, ..a }), 7);
        let versions = store.versions("a").unwrap();
        assert_eq!(versions.len(), 2);
        versions.into_iter().for_each(|id| store.remove(id).unwrap());
        no_such_run(store.versions("a"));
        assert_eq!(store.newest_profile("m").unwrap().unwrap().name, "b");
        // A profile as a document.
        let mut text = Vec::new();
        ProfileArchive::new(c.clone()).write(&mut text).unwrap();
        assert_eq!(ProfileArchive::read(&mut text.as_slice()).unwrap().profile, c);
        let later = String::from_utf8(text).unwrap().replacen("\"version\":1", "\"version\":9", 1);
        assert!(matches!(ProfileArchive::read(&mut later.as_bytes()), Err(StoreError::NewerArchive { found: 9, .. })));
    }
}

#[test]
fn a_recording_is_kept_in_order_and_travels_with_its_run() {
    for backend in backends() {
        let mut store = backend.store();
        let id = store.begin_run(&run(1)).unwrap();
        let chunk = |n: i64| RecordingChunk {
            tasks: vec![RecordedTask {
                pid: 1,
                start: Nanos(2),
                name: Name::new(b"<script>\xff"),
                kind: TaskKind::User,
            }],
            slices: vec![Slice { start: Nanos(n), length: Nanos(5), ran: vec![(0, Nanos(n))], incomplete: None }],
        };
        for n in [3, 1, 2] {
            store.add_chunk(id, &chunk(n)).unwrap();
        }
        let all = vec![chunk(3), chunk(1), chunk(2)];
        assert_eq!(store.chunks(id).unwrap(), all);
        assert!(matches!(store.add_chunk(99, &chunk(1)), Err(StoreError::NoSuch { .. })));
        assert!(matches!(store.chunks(99), Err(StoreError::NoSuch { .. })));
        let mut text = Vec::new();
        store.export(Id::run(id), &mut text).unwrap().unwrap();
        store.remove(Id::run(id)).unwrap();
        let again = store.import(&mut text.as_slice()).unwrap().number;
        assert_eq!(store.chunks(again).unwrap(), all);
        store.remove(Id::run(again)).unwrap();
        let wrong = String::from_utf8(text).unwrap().replacen("[0,3]", "[1,3]", 1);
        assert!(matches!(store.import(&mut wrong.as_bytes()), Err(StoreError::BadArchive { .. })));
    }
}

#[test]
fn the_place_follows_the_xdg_specification() {
    let at = |xdg: Option<&str>, home: Option<&str>| default_path(xdg.map(OsStr::new), home.map(OsStr::new)).ok();
    let home = Some(Path::new("/h/.local/share/tarebench/tare.db").to_owned());
    assert_eq!(at(Some("/d"), Some("/h")), Some(Path::new("/d/tarebench/tare.db").to_owned()));
    assert_eq!(at(None, Some("/h")), home);
    assert_eq!(at(Some(""), Some("/h")), home);
    assert_eq!(at(Some("relative"), Some("/h")), home);
    assert_eq!(at(None, None), None);
    assert_eq!(at(None, Some("")), None);
}

#[test]
fn others_may_not_look_into_it() {
    let (dir, _) = place();
    let path = dir.path().join("a/b #?%/tare.db");
    let mut store = SqliteStore::open(&path).unwrap();
    store.begin_run(&run(1)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir.path().join("a")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    let reader = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(reader.find("last").unwrap(), Id::run(1));
    assert_eq!(reader.path(), path);
}

/// Creates many databases beside the given one, and removes them.
#[test]
fn child_creates_stores() {
    let Some((database, _)) = asked() else { return };
    for _ in 0..200 {
        let mut store = SqliteStore::open(&database).unwrap();
        store.begin_run(&run(1)).unwrap();
        drop(store);
        std::fs::remove_file(&database).unwrap();
    }
}

/// Even with a umask that takes nothing away, no file of a database ever has a mode that lets others in.
#[test]
fn others_may_never_look_into_it() {
    let (dir, path) = place();
    let umask = ["sh", "-c", "umask 0; exec \"$0\" \"$@\""];
    let exe = std::env::current_exe().unwrap();
    let mut child = wrapped(&umask, &exe, "runs::child_creates_stores", &path).stdout(Stdio::null()).spawn().unwrap();
    let mut looks = 0_u64;
    while child.try_wait().unwrap().is_none() {
        for file in std::fs::read_dir(dir.path()).unwrap() {
            // It may be gone by now.
            if let Ok(file) = file.unwrap().path().metadata() {
                let mode = file.permissions().mode();
                assert_eq!(mode & 0o077, 0, "{mode:o}");
                looks += 1;
            }
        }
    }
    assert!(child.wait().unwrap().success() && looks > 1000, "{looks} looks");
}
