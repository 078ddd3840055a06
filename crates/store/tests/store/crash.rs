//! Killed at any moment, nothing that was reported as stored is lost.

use crate::backends::{Backend, backends};
use crate::children::child;
use crate::data;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tarebench_store::StoreError;

const KILLS: u64 = 50;

/// Kills a child that adds samples after `wait`; returns the positions that it said were stored.
fn kill_after(wait: Duration, database: &OsString, uuid: u64) -> Vec<u32> {
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
    for backend in backends() {
        let shared = backend.place();
        let mut reported = 0;
        for round in 0..KILLS {
            // In one database of many runs, and each fifth time in a new one, so that its making is hit too.
            let own = (round % 5 == 0).then(|| backend.place());
            let place = own.as_ref().unwrap_or(&shared);
            let wait = Duration::from_micros(RandomState::new().hash_one(round) % 60_000);
            let said = kill_after(wait, &place.name, round);
            reported += said.len();
            if backend == Backend::Sqlite && !Path::new(&place.name).exists() {
                assert!(said.is_empty());
                continue;
            }
            let store = place.open();
            match store.find(&data::uuid(round.into())) {
                Ok(id) => {
                    let there = store.samples(id.number).unwrap();
                    assert!(there.len() >= said.len(), "{} of {} after {wait:?}", there.len(), said.len());
                    for (seq, sample) in (0..).zip(&there) {
                        assert_eq!(*sample, data::sample(seq, 100));
                    }
                }
                Err(StoreError::NoSuch { .. }) => assert!(said.is_empty(), "killed after {wait:?}"),
                Err(e) => panic!("{e}"),
            }
            drop(store);
            place.assert_sound();
        }
        assert!(reported > 0, "no child lived long enough to store a sample");
        println!("{KILLS} kills, {reported} samples reported, none lost");
    }
}
