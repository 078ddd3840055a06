//! Several writers at once.

use crate::backends::{Place, backends};
use crate::children::child;
use crate::data;
use std::process::Stdio;
use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_store::{Claimant, DocumentFilter, SqliteStore, Store, StoreError};

const SAMPLES: u32 = 40;

fn check(place: &Place, writers: u64) {
    let store = place.open();
    assert_eq!(store.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len() as u64, writers);
    for writer in 0..writers {
        let samples = store.samples(store.find(&data::uuid(writer.into())).unwrap().number).unwrap();
        let expected: Vec<_> = (0..SAMPLES).map(|seq| data::sample(seq, 20)).collect();
        assert!(samples == expected, "writer {writer}: {} samples", samples.len());
    }
    drop(store);
    place.assert_sound();
}

/// They also all make the database at the same time.
#[test]
fn processes_lose_nothing() {
    for backend in backends() {
        for writers in [2, 4] {
            let place = backend.place();
            let children: Vec<_> = (0..writers)
                .map(|w| {
                    child("children::child_adds_samples", &place.name, &[w, SAMPLES.into(), 20])
                        .stdout(Stdio::null())
                        .spawn()
                        .unwrap()
                })
                .collect();
            for mut child in children {
                assert!(child.wait().unwrap().success());
            }
            check(&place, writers);
        }
    }
}

#[test]
fn threads_lose_nothing() {
    for backend in backends() {
        for writers in [2, 4] {
            let place = backend.place();
            std::thread::scope(|scope| {
                for w in 0..writers {
                    let place = &place;
                    scope.spawn(move || {
                        let mut store = place.open();
                        let id = store.begin_run(&data::run(w.into())).unwrap();
                        for seq in 0..SAMPLES {
                            store.add_sample(id, &data::sample(seq, 20)).unwrap();
                        }
                    });
                }
            });
            check(&place, writers);
        }
    }
}

/// A file that a process closes takes the process's locks on it along. Without them, the next process that closes the
/// database believes that it is the last one, and removes the log that this one is writing to.
/// SQLite since 3.51 has a second guard against this, so the test holds the two together to it.
#[test]
fn opening_again_drops_no_locks() {
    let (_dir, path) = data::place();
    let mut store = SqliteStore::open(&path).unwrap();
    let id = store.begin_run(&data::run(1)).unwrap();
    // Kept open, because SQLite takes the locks again when it closes them.
    let _others = [SqliteStore::open(&path).unwrap(), SqliteStore::open_read_only(&path).unwrap()];
    let closed = child("children::child_opens_and_closes", &path, &[]).stdout(Stdio::null()).status().unwrap();
    assert!(closed.success());
    assert!(path.with_extension("db-wal").exists());
    store.add_sample(id, &data::sample(0, 3)).unwrap();
    let other = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(other.samples(id).unwrap(), [data::sample(0, 3)]);
    assert_eq!(other.samples(id).unwrap(), store.samples(id).unwrap());
}

fn process(pid: i32, boot: &str, host: &str) -> Claimant {
    Claimant { pid, start: tarebench_core::base::units::Nanos(7), boot: boot.to_owned(), host: host.to_owned() }
}

#[test]
fn a_claim_keeps_others_out_until_its_process_is_gone() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let mut other = place.open();
        let id = store.begin_run(&data::run(1)).unwrap();
        let (one, two) = (process(1, "b", "h"), process(2, "b", "h"));
        let (alive, dead) = (|_: &Claimant| true, |_: &Claimant| false);

        assert_eq!(store.claimant(Id::run(id)).unwrap(), None);
        store.claim(Id::run(id), &one, &alive).unwrap();
        store.claim(Id::run(id), &one, &alive).unwrap();
        match other.claim(Id::run(id), &two, &alive).unwrap_err() {
            StoreError::Claimed { id: there, by } => assert_eq!((there, &by), (Id::run(id), &one)),
            e => panic!("{e}"),
        }
        other.release(Id::run(id), &two).unwrap();
        assert_eq!(other.claimant(Id::run(id)).unwrap().as_ref(), Some(&one));

        other.claim(Id::run(id), &two, &|c| c.pid != 1).unwrap();
        assert_eq!(store.claimant(Id::run(id)).unwrap().as_ref(), Some(&two));
        store.release(Id::run(id), &one).unwrap();
        assert!(matches!(store.claim(Id::run(id), &one, &alive), Err(StoreError::Claimed { .. })));

        // After a boot, whatever has the number is another process.
        let reborn = process(2, "c", "h");
        store.claim(Id::run(id), &reborn, &alive).unwrap();
        // Processes of another machine cannot be checked.
        assert!(matches!(store.claim(Id::run(id), &process(2, "d", "g"), &dead), Err(StoreError::Claimed { .. })));
        store.release(Id::run(id), &reborn).unwrap();
        assert_eq!(store.claimant(Id::run(id)).unwrap(), None);
        assert!(matches!(store.claim(Id::run(id + 1), &one, &dead), Err(StoreError::NoSuch { .. })));
        store.claim(Id::run(id), &one, &alive).unwrap();
        store.remove(Id::run(id)).unwrap();
    }
}
