//! Which profiles are unfinished.

use super::*;
use std::time::Instant;
use tarebench_core::documents::head::Id;

/// Stores so many finished short parts of a profile.
fn learned_often(store: &mut dyn Store, name: &str, times: i64) {
    let short = TaskSeries { length: Nanos::from_millis(1), samples: 14 };
    let active = ActivePlan {
        name: name.to_owned(),
        short,
        long: None,
        inc: vec![Name::from("inc")],
        increments_per_second: 1e9,
        cpus: Vec::new(),
    };
    let first = session::new_run(plan(&active, short, Stage::Short, "attempt"), PtSource::ExitRecords, Vec::new());
    for _ in 0..times {
        let id = store.begin_run(&Run { uuid: session::new_uuid(), ..first.clone() }).unwrap();
        store.set_status(Id::run(id), Status::Finished).unwrap();
    }
}

#[test]
fn the_runs_of_a_name_are_read_once() {
    let mut store = SqliteStore::in_memory().unwrap();
    learned_often(&mut store, "often", 300);
    let began = Instant::now();
    latest(&store, "often").unwrap();
    let once = began.elapsed();
    let began = Instant::now();
    assert_eq!(unfinished(&store).unwrap(), Vec::<String>::new());
    let all = began.elapsed();
    // Again for each run, it would be some 300 times as long.
    assert!(all < once * 50, "{all:?} for all, {once:?} for one name");
}

#[test]
fn unfinished_profiles_are_named_once() {
    let mut store = SqliteStore::in_memory().unwrap();
    learned_often(&mut store, "done", 2);
    learned_often(&mut store, "open", 3);
    store.set_status(Id::run(5), Status::Interrupted).unwrap();
    store.set_status(Id::run(4), Status::Interrupted).unwrap();
    store.set_status(Id::run(3), Status::Interrupted).unwrap();
    assert_eq!(unfinished(&store).unwrap(), ["open"]);
}
