//! Imports: marked as such, and read in bounded memory.

use crate::backends::{backends, open};
use crate::children::{asked, asked_by_name, child};
use crate::data::{head, place, profile, run, sample};
use serde_json::json;
use std::io::{Read, repeat};
use std::time::{SystemTime, UNIX_EPOCH};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_store::{DocumentFilter, ProfileArchive, SqliteStore, Store, StoreError};

fn now() -> Nanos {
    Nanos(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap())
}

/// The time of import is that of this store, whatever the file claims, and what was measured here has none.
#[test]
fn imports_are_marked_with_their_time() {
    for backend in backends() {
        let (mut here, mut there) = (backend.store(), backend.store());
        let run = here.begin_run(&run(1)).unwrap();
        here.add_sample(run, &sample(0, 2)).unwrap();
        let study = here.create_document(&DocumentHead { kind: DocumentKind::Study, ..head(2) }, &json!({})).unwrap();
        let own = here.save_profile(&profile("own", "m", 1), None, None).unwrap().id;
        for what in [Id::run(run), study, own] {
            assert_eq!(here.imported(what).unwrap(), None, "{what}");
        }
        assert!(here.list(&DocumentFilter::default()).unwrap().iter().all(|d| d.imported.is_none()));

        let mut files = [Vec::new(), Vec::new(), Vec::new()];
        here.export(Id::run(run), &mut files[0]).unwrap().unwrap();
        here.export(study, &mut files[1]).unwrap().unwrap();
        ProfileArchive::new(profile("other", "m", 1)).write(&mut files[2]).unwrap();
        let before = now();
        for file in &files {
            let claims = String::from_utf8_lossy(file).replacen('{', r#"{"imported":null,"imported_ns":null,"#, 1);
            let what = there.import(&mut claims.as_bytes()).unwrap();
            let at = there.imported(what).unwrap().unwrap();
            assert!(before <= at && at <= now(), "{what}: {at:?}");
        }
        let all = there.list(&DocumentFilter::default()).unwrap();
        let marks: Vec<Option<Nanos>> = all.into_iter().map(|d| d.imported).collect();
        assert!(marks.len() == 3 && marks.iter().all(|m| m.is_some_and(|at| at >= before)), "{marks:?}");
    }
}

/// A file may claim to be of this machine and newer than all others: it is used by its name only.
#[test]
fn an_imported_profile_is_never_chosen_by_itself() {
    for backend in backends() {
        let mut store = backend.store();
        let mut file = Vec::new();
        ProfileArchive::new(profile("claims", "m", i64::MAX)).write(&mut file).unwrap();
        store.import(&mut file.as_slice()).unwrap();
        assert_eq!(store.newest_profile("m").unwrap(), None);
        store.save_profile(&profile("own", "m", 1), None, None).unwrap();
        assert_eq!(store.newest_profile("m").unwrap().unwrap().name, "own");
        assert_eq!(store.profile("claims").unwrap().unwrap().name, "claims");
        assert_eq!(store.profiles().unwrap().len(), 2);
    }
}

#[test]
fn what_is_not_there_was_not_imported() {
    for backend in backends() {
        let store = backend.store();
        assert!(matches!(store.imported(Id::run(1)), Err(StoreError::NoSuch { .. })));
        let b1 = Id { kind: DocumentKind::Bench, number: 1 };
        assert!(matches!(store.imported(b1), Err(StoreError::NoSuch { .. })));
    }
}

/// The JSON of an archive of two samples, cut before, between and after them.
fn cut_archive() -> [String; 4] {
    let mut store = SqliteStore::in_memory().unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    store.add_sample(id, &sample(0, 2)).unwrap();
    store.add_sample(id, &sample(1, 2)).unwrap();
    let mut text = Vec::new();
    store.export(Id::run(id), &mut text).unwrap().unwrap();
    let text = String::from_utf8(text).unwrap();
    let [first, second] = [0, 1].map(|seq| serde_json::to_string(&sample(seq, 2)).unwrap());
    let (before, rest) = text.split_once(&first).unwrap();
    let (_, after) = rest.split_once(&second).unwrap();
    [before.to_owned(), first, second, after.to_owned()]
}

/// Imports an archive of 192 MiB, most of it white space between its 96 samples.
#[test]
fn child_imports_a_long_archive() {
    let Some((database, _)) = asked_by_name() else { return };
    let [before, first, _, after] = cut_archive();
    let mut store = open(&database).unwrap();
    let gap = || repeat(b' ').take(1 << 20);
    let mut text: Box<dyn Read> = Box::new(std::io::Cursor::new(before));
    for seq in 0..96 {
        let comma = if seq == 0 { "" } else { "," };
        let sample = first.replacen(r#""seq":0"#, &format!(r#""seq":{seq}"#), 1);
        text = Box::new(text.chain(gap()).chain(std::io::Cursor::new(comma.to_owned() + &sample)));
    }
    let id = store.import(&mut text.chain(std::io::Cursor::new(after))).unwrap();
    assert_eq!(store.samples(id.number).unwrap().len(), 96);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let (_, peak) = status.split_once("VmHWM:").unwrap();
    let kib: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kib < 96 << 10, "peak memory {kib} KiB");
}

#[test]
fn a_run_is_imported_in_bounded_memory() {
    for backend in backends() {
        let place = backend.place();
        let out = child("imports::child_imports_a_long_archive", &place.name, &[]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.contains("1 passed"), "{said}");
    }
}

/// A file that begins like this and has no end is refused, for this cause.
#[track_caller]
fn refused_as_too_long(beginning: &str, cause: &str) {
    let mut store = SqliteStore::in_memory().unwrap();
    let e = store.import(&mut beginning.as_bytes().chain(repeat(b'a'))).unwrap_err();
    assert!(matches!(e, StoreError::BadArchive { .. }) && e.to_string().contains(cause), "{beginning:.50}: {e}");
    assert!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().is_empty());
}

#[test]
fn what_is_too_long_is_refused_and_leaves_nothing() {
    let [before, first, ..] = cut_archive();
    refused_as_too_long(r#"{"format":"tare-profile","version":1,"profile":""#, "it is longer than 256 MiB");
    refused_as_too_long(r#"{"format":"tare-document","version":2,"doc":""#, "it is longer than 512 MiB");
    refused_as_too_long(&format!("{before}{first},\""), "longer than allowed");
}

#[test]
#[ignore = "slow: reads 320 MiB a byte at a time (make slow)"]
fn a_run_that_is_too_long_is_refused_and_leaves_nothing() {
    refused_as_too_long(r#"{"format":"tare-run","version":4,"run":""#, "longer than allowed");
    refused_as_too_long(r#"{"format":"tare-run","version":4,"more":""#, "longer than allowed");
}

/// Imports documents whose values would take over thirty times as much memory as their text.
#[test]
fn child_imports_swollen_documents() {
    if asked().is_none() {
        return;
    }
    let mut store = SqliteStore::in_memory().unwrap();
    let head = serde_json::to_string(&DocumentHead { kind: DocumentKind::Study, ..head(1) }).unwrap();
    let list = |element: &str, n: usize| {
        let elements = format!("{element},").repeat(n);
        format!(r#"{{"format":"tare-document","version":2,"head":{head},"doc":[{elements}0]}}"#)
    };
    for text in [list(r#"{"":0}"#, 1_000_000), list("0", 10_000_000), list("[[[]]]", 2_000_000)] {
        let e = store.import(&mut text.as_bytes()).unwrap_err();
        assert!(matches!(e, StoreError::BadArchive { .. }), "{e:?}");
        assert_eq!(e.to_string(), "not an archive of a document: it would take more than 512 MiB of memory");
    }
    assert!(store.list(&DocumentFilter::default()).unwrap().is_empty());
    // As many numbers as the largest real ones have are read.
    store.import(&mut list("0", 1_000_000).as_bytes()).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let (_, peak) = status.split_once("VmHWM:").unwrap();
    let kib: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kib < 320 << 10, "peak memory {kib} KiB");
}

#[test]
fn a_document_is_imported_in_bounded_memory() {
    let (_dir, path) = place();
    let out = child("imports::child_imports_swollen_documents", &path, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// The limit holds for every part of every file that is read as a whole.
#[test]
fn swollen_parts_are_refused() {
    let mut store = SqliteStore::in_memory().unwrap();
    let head = serde_json::to_string(&DocumentHead { kind: DocumentKind::Study, ..head(1) }).unwrap();
    let objects = format!("[{}0]", r#"{"":0},"#.repeat(900_000));
    let document = format!(r#"{{"format":"tare-document","version":2,"head":{head},"doc""#);
    for text in [
        format!(r#"{document}:0,"parts":[{{"doc":{objects}}}]}}"#),
        format!(r#"{{"format":"tare-profile","version":1,"profile":{objects}}}"#),
        format!(r#"{{"format":"tare-bench","version":1,"rows":{objects}}}"#),
    ] {
        let e = store.import(&mut text.as_bytes()).unwrap_err();
        assert!(e.to_string().ends_with(": it would take more than 512 MiB of memory"), "{e}");
    }
    // Binary data counts only as what it is.
    let blob = "00".repeat(4 << 20);
    let text = format!(r#"{document}:0,"parts":[{{"doc":0,"blob":"{blob}"}}]}}"#);
    store.import(&mut text.as_bytes()).unwrap();
}

/// A fault after a stored sample takes that back, too.
#[test]
fn a_fault_in_an_archive_leaves_nothing() {
    for backend in backends() {
        let mut store = backend.store();
        let [before, first, second, after] = cut_archive();
        let good = format!("{before}{first},{second}{after}");
        for (text, cause) in [
            (format!("{before}{first},{first}{after}"), "two samples have the number 0"),
            (format!("{before}{first}"), "EOF"),
            (format!("{before}{first}{after} x"), "trailing"),
            (format!("{before}{first},{}{after}", second.replacen(r#""series":1"#, r#""series":9"#, 1)), "series 9"),
            (good.replacen(r#""samples":["#, r#""samples":[],"samples":["#, 1), "duplicate field `samples`"),
            (good.replacen(r#""run":{"#, r#""samples":[],"run":{"#, 1), "before its run"),
            (good.replacen(r#""version":5,"#, "", 1), "missing field `version`"),
            (good.replacen(r#""version":5,"#, r#""version":0,"#, 1), "its version is 0"),
        ] {
            let e = store.import(&mut text.as_bytes()).unwrap_err();
            assert!(matches!(e, StoreError::BadArchive { .. }) && e.to_string().contains(cause), "{cause}: {e}");
            assert!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().is_empty(), "{cause}");
        }
        // The version may stand last, as in a file with sorted names.
        let last = good.replacen(r#""version":5,"#, "", 1);
        let last = format!("{},\"version\":3}}", last.trim_end().strip_suffix('}').unwrap());
        let id = store.import(&mut last.as_bytes()).unwrap().number;
        assert_eq!((store.samples(id).unwrap().len(), store.run(id).unwrap().notes), (2, run(1).notes));
    }
}
