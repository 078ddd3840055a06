//! Killed at any moment, nothing that was reported as stored is lost.

use crate::children::child;
use crate::data;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;
use tarebench_store::{SqliteStore, Store, StoreError};

const KILLS: u64 = 50;

/// Kills a child that adds samples after `wait`; returns the positions that it said were stored.
fn kill_after(wait: Duration, database: &std::path::Path, uuid: u64) -> Vec<u32> {
    let mut child = child("children::child_adds_samples", database, &[uuid, 100_000, 100])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let added = |line: String| line.strip_prefix("added ").and_then(|n| n.parse().ok());
        out.lines().map_while(Result::ok).filter_map(added).collect::<Vec<u32>>()
    });
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn nothing_reported_is_lost_by_a_kill() {
    let (dir, shared) = data::place();
    let mut reported = 0;
    for round in 0..KILLS {
        // In one database of many runs, and each fifth time in a new one, so that its making is hit too.
        let path = if round % 5 == 0 { dir.path().join(format!("{round}.db")) } else { shared.clone() };
        let wait = Duration::from_micros(RandomState::new().hash_one(round) % 60_000);
        let said = kill_after(wait, &path, round);
        reported += said.len();
        if !path.exists() {
            assert!(said.is_empty());
            continue;
        }
        let store = SqliteStore::open(&path).unwrap();
        match store.resolve(&data::uuid(round.into())) {
            Ok(id) => {
                let there = store.samples(id).unwrap();
                assert!(there.len() >= said.len(), "{} of {} after {wait:?}", there.len(), said.len());
                for (seq, sample) in (0..).zip(&there) {
                    assert_eq!(*sample, data::sample(seq, 100));
                }
            }
            Err(StoreError::NoSuchRun { .. }) => assert!(said.is_empty(), "killed after {wait:?}"),
            Err(e) => panic!("{e}"),
        }
        drop(store);
        data::assert_sound(&path);
    }
    assert!(reported > 0, "no child lived long enough to store a sample");
    println!("{KILLS} kills, {reported} samples reported, none lost");
}
