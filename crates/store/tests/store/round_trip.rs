//! Values that are read equal those that were written.

use crate::data::{any_run, any_sample, place, profile, run, sample};
use proptest::prelude::*;
use std::time::Instant;
use tarebench_core::run::data::Run;
use tarebench_store::{Archive, SqliteStore, Store, StoreError};

fn in_store(run: &Run, id: i64) -> Run {
    Run { id, ..run.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples(mut given in proptest::collection::vec(any_sample(), 1..4)) {
        given.sort_by_key(|s| s.seq);
        given.dedup_by_key(|s| s.seq);
        let mut store = SqliteStore::in_memory().unwrap();
        let id = store.begin_run(&run(1)).unwrap();
        for sample in given.iter().rev() {
            store.add_sample(id, sample).unwrap();
        }
        prop_assert_eq!(store.samples(id).unwrap(), given);
    }

    #[test]
    fn runs_and_archives(given in any_run(), samples in proptest::collection::vec(any_sample(), 0..2)) {
        let mut store = SqliteStore::in_memory().unwrap();
        let id = store.begin_run(&given).unwrap();
        prop_assert_eq!(store.run(id).unwrap(), in_store(&given, id));
        for sample in &samples {
            store.add_sample(id, sample).unwrap();
        }
        let mut document = Vec::new();
        store.export(id).unwrap().write(&mut document).unwrap();
        prop_assert_eq!(Archive::read(&mut document.as_slice()).unwrap(), store.export(id).unwrap());

        let mut other = SqliteStore::in_memory().unwrap();
        other.begin_run(&run(7)).unwrap();
        let copy = other.import(&mut document.as_slice()).unwrap();
        prop_assert_eq!(other.run(copy).unwrap(), in_store(&given, copy));
        prop_assert_eq!(other.samples(copy).unwrap(), samples);
        let mut again = Vec::new();
        other.export(copy).unwrap().write(&mut again).unwrap();
        prop_assert_eq!(again, document);
    }

    #[test]
    fn profiles(short in any::<f64>(), long in proptest::option::of(any::<f64>())) {
        let mut given = profile("p", "m", 1);
        (given.cutoffs[0].short, given.cutoffs[0].long) = (short, long);
        let mut store = SqliteStore::in_memory().unwrap();
        if short.is_finite() && long.is_none_or(f64::is_finite) {
            store.save_profile(&given, None, None).unwrap();
            prop_assert_eq!(store.profile("p").unwrap(), Some(given));
        } else {
            let refused = matches!(store.save_profile(&given, None, None), Err(StoreError::Unstorable { .. }));
            prop_assert!(refused);
            prop_assert_eq!(store.profile("p").unwrap(), None);
        }
    }
}

#[test]
fn twenty_thousand_daemons() {
    let (_dir, path) = place();
    let mut store = SqliteStore::open(&path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    let samples: Vec<_> = (0..5).map(|seq| sample(seq, 20_000)).collect();
    for sample in &samples {
        let begun = Instant::now();
        store.add_sample(id, sample).unwrap();
        println!("20,000 daemons stored durably in {:?}", begun.elapsed());
    }
    let begun = Instant::now();
    assert!(store.samples(id).unwrap() == samples);
    println!("100,000 daemons read in {:?}", begun.elapsed());
}
