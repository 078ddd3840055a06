//! Copying from store to store.

use crate::backends::{Backend, all_backends};
use crate::data;
use crate::data::sample;
use crate::queue::TestLab;
use serde_json::json;
use sha2::{Digest, Sha256};
use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::profile::data::Profile;
use tarebench_core::profile::recording::{RecordedTask, RecordingChunk, Slice};
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_core::run::plan::RunCount;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_lab::postgres::PostgresStore;
use tarebench_store::copy;
use tarebench_store::copy::{PushError, PushProgress, Pushed, digest};
use tarebench_store::{DocumentFilter, DocumentPart, SqliteStore, Store, StoreError, content};

pub fn duet(seq: u32) -> Duet {
    let of = sample(seq, 0);
    let side = |series: u32| {
        json!({
            "series": series,
            "weight": { "kind": "nice", "value": 3 },
            "start": of.start,
            "end": of.end,
            "outcome": of.outcome,
            "process_times": of.process_times,
            "together": { "value": seq },
            "account": of.account,
            "usage": of.usage,
            "survivors": [],
        })
    };
    serde_json::from_value(json!({
        "seq": seq,
        "index": seq,
        "cpu": 1,
        "wall_clock": of.wall_clock,
        "sides": [side(1), side(0)],
        "own": of.own,
        "steal": of.steal,
        "clock_shift": of.clock_shift,
        "environment_padding": 9,
    }))
    .unwrap()
}

fn note(key: &str) -> Note {
    Note::Text { key: key.to_owned(), text: "a \0 in a note".to_owned() }
}

fn chunk(n: i64) -> RecordingChunk {
    RecordingChunk {
        tasks: vec![RecordedTask { pid: 1, start: Nanos(2), name: Name::new(b"<script>\xff"), kind: TaskKind::User }],
        slices: vec![Slice { start: Nanos(n), length: Nanos(5), ran: vec![(0, Nanos(n))], incomplete: None }],
    }
}

/// A run of samples and duets, whose numbers are not all there.
fn filled(store: &mut dyn Store, samples: u32) -> i64 {
    let id = store.begin_run(&data::run(1)).unwrap();
    let some: Vec<_> = (0..samples).filter(|seq| seq % 7 != 3).map(|seq| sample(seq, (seq % 3) as usize * 9)).collect();
    store.add_samples(id, &some).unwrap();
    for seq in [3, 10] {
        store.add_duet(id, &duet(seq)).unwrap();
    }
    id
}

fn push(from: &dyn Store, run: i64, to: &mut dyn Store) -> Result<Pushed, PushError> {
    push_document(from, Id::run(run), to)
}

fn push_document(from: &dyn Store, id: Id, to: &mut dyn Store) -> Result<Pushed, PushError> {
    let (there, pushed) = copy::push(from, id, to, &mut |_| {})?;
    assert_eq!(to.head(there)?.uuid, from.head(id)?.uuid);
    Ok(pushed)
}

/// That both have the same, but for numbers.
fn assert_same(from: &dyn Store, to: &dyn Store, uuid: &str) {
    let number = |store: &dyn Store| store.find(uuid).unwrap().number;
    let [a, b] = [from, to].map(|store| data::archive(store, number(store)));
    assert_eq!(a, b);
    assert_eq!(digest(from, number(from)).unwrap(), digest(to, number(to)).unwrap());
}

#[test]
fn a_run_is_copied_once_between_any_two_stores() {
    for (from, to) in all_backends().into_iter().flat_map(|a| all_backends().into_iter().map(move |b| (a, b))) {
        let (mut here, mut there) = (from.store(), to.store());
        let id = filled(&mut *here, 400);
        here.add_chunk(id, &chunk(1)).unwrap();
        here.add_note(id, &note("second")).unwrap();
        here.set_status(Id::run(id), Status::Finished).unwrap();
        // Another run, so that numbers differ.
        there.begin_run(&data::run(5)).unwrap();
        let mut seen = Vec::new();
        let (_, pushed) = copy::push(&*here, Id::run(id), &mut *there, &mut |p| seen.push(p)).unwrap();
        let all = here.samples(id).unwrap().len() as u64 + 2;
        assert_eq!(pushed, Pushed::New { samples: all });
        assert_eq!(
            (seen[0], *seen.last().unwrap()),
            (PushProgress { there: 0, all }, PushProgress { there: all, all })
        );
        assert!(seen.len() > 3 && seen.is_sorted_by_key(|p| p.there), "in batches: {seen:?}");
        assert_same(&*here, &*there, &data::run(1).uuid);
        for _ in 0..2 {
            assert_eq!(push(&*here, id, &mut *there).unwrap(), Pushed::AlreadyThere);
        }
        assert_eq!(there.list(&DocumentFilter::of_kind(DocumentKind::Run)).unwrap().len(), 2);
        // And back.
        let mut third = SqliteStore::in_memory().unwrap();
        let there_id = there.find(&data::run(1).uuid).unwrap().number;
        assert_eq!(push(&*there, there_id, &mut third).unwrap(), Pushed::New { samples: all });
        assert_same(&*here, &third, &data::run(1).uuid);
    }
}

#[test]
fn the_digest_is_that_of_lines_of_json() {
    let mut store = SqliteStore::in_memory().unwrap();
    let id = filled(&mut store, 3);
    let mut hash = Sha256::new();
    for seq in 0..3 {
        hash.update(serde_json::to_string(&sample(seq, seq as usize * 9)).unwrap() + "\n");
    }
    for seq in [3, 10] {
        hash.update(serde_json::to_string(&duet(seq)).unwrap() + "\n");
    }
    let found = digest(&store, id).unwrap();
    assert_eq!((found.samples, found.duets, found.sha256.as_str()), (3, 2, hex(&hash.finalize()).as_str()));
    assert!(matches!(digest(&store, 9), Err(StoreError::NoSuch { .. })));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn a_run_that_is_still_measured_is_completed_later() {
    for backend in all_backends() {
        let (mut here, mut there) = (SqliteStore::in_memory().unwrap(), backend.store());
        let id = here.begin_run(&data::run(1)).unwrap();
        let status = |store: &dyn Store| store.head(store.find(&data::run(1).uuid).unwrap()).unwrap().status;
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::New { samples: 0 });
        here.add_sample(id, &sample(0, 2)).unwrap();
        here.add_sample(id, &sample(1, 2)).unwrap();
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::Added { samples: 2 });
        here.set_status(Id::run(id), Status::Interrupted).unwrap();
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::Added { samples: 0 });
        assert_eq!(status(&*there), Status::Interrupted);
        here.add_note(id, &note("resumed")).unwrap();
        here.set_status(Id::run(id), Status::Unfinished).unwrap();
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::Added { samples: 0 });
        here.add_duet(id, &duet(2)).unwrap();
        here.set_run_count(id, RunCount::Fixed(3)).unwrap();
        here.set_status(Id::run(id), Status::Finished).unwrap();
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::Added { samples: 1 });
        assert_same(&here, &*there, &data::run(1).uuid);
        assert_eq!(status(&*there), Status::Finished);
        // Made longer after its end.
        here.set_run_count(id, RunCount::Fixed(5)).unwrap();
        here.add_sample(id, &sample(3, 1)).unwrap();
        assert_eq!(push(&here, id, &mut *there).unwrap(), Pushed::Added { samples: 1 });
        assert_same(&here, &*there, &data::run(1).uuid);
    }
}

#[test]
fn a_finished_run_is_not_made_longer_by_an_agent() {
    let Some(lab) = TestLab::new() else { return };
    let mut here = SqliteStore::in_memory().unwrap();
    let id = filled(&mut here, 20);
    here.set_status(Id::run(id), Status::Finished).unwrap();
    let mut there = PostgresStore::open(&lab.user("agent", "tare_agent")).unwrap();
    push(&here, id, &mut there).unwrap();
    here.set_run_count(id, RunCount::Fixed(99)).unwrap();
    here.add_sample(id, &sample(50, 0)).unwrap();
    let before = digest(&there, 1).unwrap();
    let refused = push(&here, id, &mut there);
    assert!(matches!(refused, Err(PushError::Finished { .. })), "{refused:?}");
    assert_eq!((digest(&there, 1).unwrap(), there.run(1).unwrap().status), (before, Status::Finished));
    let mut there = PostgresStore::open(&lab.user("admin", "tare_admin")).unwrap();
    assert_eq!(push(&here, id, &mut there).unwrap(), Pushed::Added { samples: 1 });
    assert_same(&here, &there, &data::run(1).uuid);
}

#[test]
fn what_differs_is_found_and_not_added_to() {
    for backend in all_backends() {
        let mut here = SqliteStore::in_memory().unwrap();
        let id = filled(&mut here, 20);
        let differs = |here: &dyn Store, there: &mut dyn Store, part: &str| {
            let before = data::archive(there, 1);
            match push(here, 1, there) {
                Err(e @ PushError::Differs { .. }) => assert!(e.to_string().starts_with(part), "{e}"),
                other => panic!("{part}: {other:?}"),
            }
            assert_eq!(data::archive(there, 1), before);
        };
        // A sample that is not the one that was measured, and one that was never measured.
        for (seq, daemons) in [(0, 7), (700, 0)] {
            let mut there = backend.store();
            let other = there.begin_run(&data::run(1)).unwrap();
            there.add_sample(other, &sample(seq, daemons)).unwrap();
            differs(&here, &mut *there, "a sample");
        }
        let mut there = backend.store();
        let mut other = data::run(1);
        other.plan.seed = 5;
        there.begin_run(&other).unwrap();
        differs(&here, &mut *there, "the plan");
        let mut there = backend.store();
        let mut other = data::run(1);
        other.host.cpus = 99;
        there.begin_run(&other).unwrap();
        differs(&here, &mut *there, "the machine");
        let mut there = backend.store();
        there.begin_run(&Run { tool: "9".to_owned(), ..data::run(1) }).unwrap();
        differs(&here, &mut *there, "the description");
        assert!(matches!(push(&here, id + 1, &mut *there), Err(PushError::Store(StoreError::NoSuch { .. }))));
        for (mine, theirs) in [("a", "b"), ("", "b")] {
            let (mut here, mut there) = (SqliteStore::in_memory().unwrap(), backend.store());
            for (store, key) in [(&mut here as &mut dyn Store, mine), (&mut *there, theirs)] {
                let id = store.begin_run(&data::run(1)).unwrap();
                store.add_note(id, &note(key)).unwrap();
            }
            differs(&here, &mut *there, "a note");
        }
        let (mut here, mut there) = (SqliteStore::in_memory().unwrap(), backend.store());
        for (store, n) in [(&mut here as &mut dyn Store, 1), (&mut *there, 2)] {
            let id = store.begin_run(&data::run(1)).unwrap();
            store.add_chunk(id, &chunk(n)).unwrap();
        }
        differs(&here, &mut *there, "the recording");
    }
}

#[test]
fn several_processes_may_push_the_same_run() {
    let (dir, path) = data::place();
    let mut here = SqliteStore::open(&path).unwrap();
    let id = filled(&mut here, 700);
    here.set_status(Id::run(id), Status::Finished).unwrap();
    for backend in all_backends() {
        let place = backend.place();
        drop(place.open());
        let done: Vec<Pushed> = std::thread::scope(|scope| {
            let push = || {
                let here = SqliteStore::open(&path).unwrap();
                push_document(&here, Id::run(id), &mut *place.open()).unwrap()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(push)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let there = place.open();
        assert_same(&here, &*there, &data::run(1).uuid);
        let new = done.iter().filter(|p| matches!(p, Pushed::New { .. })).count();
        let added = |p: &Pushed| match p {
            Pushed::New { samples } | Pushed::Added { samples } => *samples,
            Pushed::AlreadyThere => 0,
        };
        let all = here.samples(id).unwrap().len() as u64 + 2;
        assert_eq!((new, done.iter().map(added).sum::<u64>()), (1, all), "{done:?}");
        place.assert_sound();
    }
    drop(dir);
}

/// A document grows in steps, and each is pushed.
#[test]
fn documents_are_copied_and_completed() {
    for backend in all_backends() {
        let (mut here, mut there) = (SqliteStore::in_memory().unwrap(), backend.store());
        let doc = content(&data::bench()).unwrap();
        // Another one of the same kind, so that numbers differ.
        there.create_document(&data::head(9), &doc).unwrap();
        let id = here.create_document(&data::head(1), &json!({ "at": 1.5 })).unwrap();
        let same = |here: &dyn Store, there: &dyn Store| {
            let uuid = here.document(id).unwrap().head.uuid;
            let filter = DocumentFilter { kind: Some(DocumentKind::Bench), ..DocumentFilter::default() };
            let found: Vec<_> = there.list(&filter).unwrap().into_iter().filter(|d| d.head.uuid == uuid).collect();
            assert_eq!(found.len(), 1);
            let [mut a, mut b] = [here.document(id).unwrap(), there.document(found[0].head.id()).unwrap()];
            (a.head.number, b.head.number) = (0, 0);
            assert_eq!(a, b);
        };
        let mut pushed = |here: &dyn Store| {
            let done = push_document(here, id, &mut *there).unwrap();
            same(here, &*there);
            assert_eq!(push_document(here, id, &mut *there).unwrap(), Pushed::AlreadyThere);
            done
        };
        assert_eq!(pushed(&here), Pushed::New { samples: 0 });
        let part = |n: u8| DocumentPart { doc: json!([n]), blob: Some(vec![n, 0, 255]) };
        (1..=3).for_each(|n| _ = here.append_part(id, &part(n)).unwrap());
        assert_eq!(pushed(&here), Pushed::Added { samples: 3 });
        here.append_part(id, &part(4)).unwrap();
        here.set_document(id, Status::Finished, &doc).unwrap();
        assert_eq!(pushed(&here), Pushed::Added { samples: 1 });
        here.set_document(id, Status::Finished, &json!({})).unwrap();
        assert!(matches!(push_document(&here, id, &mut *there), Err(PushError::Differs { .. })));
        let gone = push_document(&here, Id { number: 99, ..id }, &mut *there);
        assert!(matches!(gone, Err(PushError::Store(StoreError::NoSuch { .. }))));
    }
}

#[test]
fn profiles_are_copied_and_completed() {
    for backend in all_backends() {
        let (mut here, mut there) = (SqliteStore::in_memory().unwrap(), backend.store());
        let done = here.save_profile(&data::profile("a", "m", 5), None, None).unwrap();
        assert_eq!(push_document(&here, done.id, &mut *there).unwrap(), Pushed::New { samples: 0 });
        assert_eq!(push_document(&here, done.id, &mut *there).unwrap(), Pushed::AlreadyThere);
        assert_eq!(there.profile("a").unwrap(), here.profile("a").unwrap());
        // Pushed while it is still learned.
        let mut head = data::head(3);
        head.kind = DocumentKind::Profile;
        let begun = here.create_document(&head, &json!({})).unwrap();
        push_document(&here, begun, &mut *there).unwrap();
        assert_eq!(there.profile("b").unwrap(), None);
        let profile = Profile { version: 0, ..data::profile("b", "m", 6) };
        here.save_profile(&profile, Some(begun), None).unwrap();
        assert_eq!(push_document(&here, begun, &mut *there).unwrap(), Pushed::Added { samples: 0 });
        assert_eq!(there.profile("b@1").unwrap(), here.profile("b").unwrap());
        assert_eq!(push_document(&here, begun, &mut *there).unwrap(), Pushed::AlreadyThere);
        // Another machine's of the same name.
        let mut other = SqliteStore::in_memory().unwrap();
        let id = other.save_profile(&data::profile("a", "other", 1), None, None).unwrap().id;
        let refused = push_document(&other, id, &mut *there);
        assert!(matches!(refused, Err(PushError::Store(StoreError::DuplicateProfile { .. }))), "{refused:?}");
    }
    assert_eq!(Backend::Sqlite, all_backends()[0]);
}
