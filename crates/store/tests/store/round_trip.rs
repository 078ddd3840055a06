//! Values that are read equal those that were written.

use crate::backends::backends;
use crate::data;
use crate::data::{any_run, any_sample, profile, run, sample};
use proptest::prelude::*;
use std::time::Instant;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSide, DuetWeight, NoDuet};
use tarebench_core::compare::gang::{GangMeans, GangSlices, SwitchTimes};
use tarebench_core::documents::head::Id;
use tarebench_core::run::data::Run;
use tarebench_store::{Archive, SqliteStore, Store, StoreError};

fn in_store(run: &Run, id: i64) -> Run {
    Run { id, ..run.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples(mut given in proptest::collection::vec(any_sample(), 1..4)) {
        given.sort_by_key(|s| s.seq);
        given.dedup_by_key(|s| s.seq);
        for backend in backends() {
        let mut store = backend.empty();
        let id = store.begin_run(&run(1)).unwrap();
        for sample in given.iter().rev() {
            store.add_sample(id, sample).unwrap();
        }
        prop_assert_eq!(&store.samples(id).unwrap(), &given);
        // Without their daemons everything else is the same.
        let mut alone = Vec::new();
        store.each_sample_alone(id, &mut |sample| alone.push(sample)).unwrap();
        prop_assert!(alone.iter().all(|s| s.daemons.value().is_none()));
        for (alone, given) in alone.iter_mut().zip(&given) {
            alone.daemons = given.daemons.clone();
        }
        prop_assert_eq!(&alone, &given);
}
    }

    #[test]
    fn runs_and_archives(given in any_run(), samples in proptest::collection::vec(any_sample(), 0..2)) {
        for backend in backends() {
        let mut store = backend.empty();
        let id = store.begin_run(&given).unwrap();
        prop_assert_eq!(store.run(id).unwrap(), in_store(&given, id));
        for sample in &samples {
            store.add_sample(id, sample).unwrap();
        }
        let mut document = Vec::new();
        let archive = data::archive(&*store, id);
        archive.write(&mut document).unwrap();
        prop_assert_eq!(&Archive::read(&mut document.as_slice()).unwrap(), &archive);
        // A sample at a time, it is the same text; and that of the fields in their order.
        let mut streamed = Vec::new();
        store.export(Id::run(id), &mut streamed).unwrap().unwrap();
        prop_assert_eq!(&streamed, &document);
        prop_assert_eq!(serde_json::to_string(&archive).unwrap() + "\n", String::from_utf8(document.clone()).unwrap());
        // An earlier tare does not know of pauses.
        let version = if given.plan.probes.is_some() { 6 } else { 5 };
        prop_assert_eq!(archive.version, version);

        let mut other = backend.empty();
        other.begin_run(&run(7)).unwrap();
        let copy = other.import(&mut document.as_slice()).unwrap().number;
        prop_assert_eq!(other.run(copy).unwrap(), in_store(&given, copy));
        prop_assert_eq!(&other.samples(copy).unwrap(), &samples);
        let mut again = Vec::new();
        data::archive(&*other, copy).write(&mut again).unwrap();
        prop_assert_eq!(again, document);
}
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
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
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
}

fn duet(seq: u32) -> Duet {
    let of = sample(seq, 0);
    let side = |series: u32| DuetSide {
        series,
        weight: if series == 0 { DuetWeight::Nice(3) } else { DuetWeight::Cgroup(57) },
        start: of.start,
        end: of.end,
        outcome: of.outcome.clone(),
        process_times: of.process_times.clone(),
        together: Reading::Value(Nanos(i64::from(seq))),
        account: of.account.clone(),
        usage: of.usage.clone(),
        survivors: of.survivors.clone(),
    };
    Duet {
        seq,
        index: seq,
        cpu: 1,
        wall_clock: of.wall_clock,
        sides: [side(1), side(0)],
        own: of.own,
        steal: of.steal,
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: of.clock_shift,
        environment_padding: 4095,
        slices: seq.is_multiple_of(2).then(|| GangSlices {
            by: GangMeans::Freezer,
            cpus: vec![0, 3],
            ran: [Nanos(70_000_000), Nanos(80_000_000)],
            switches: 21,
            stopping: Some(SwitchTimes { median: Nanos(60_000), largest: Nanos(900_000) }),
            continuing: None,
            late: 1,
        }),
        void: seq.is_multiple_of(2).then_some(NoDuet::Memory { needed: 3 << 30, available: 2 << 30 }),
    }
}

fn duets(store: &dyn Store, run: i64) -> Vec<Duet> {
    let mut all = Vec::new();
    store.each_duet(run, &mut |d| all.push(d)).unwrap();
    all
}

#[test]
fn duets_are_kept_exported_and_imported() {
    for backend in backends() {
        let mut store = backend.store();
        let mut asked = run(1);
        asked.plan.programs.resize(2, asked.plan.programs[0].clone());
        let id = store.begin_run(&asked).unwrap();
        store.add_sample(id, &sample(0, 1)).unwrap();
        let all = [duet(1), duet(4)];
        all.iter().for_each(|d| store.add_duet(id, d).unwrap());
        assert!(matches!(store.add_duet(id, &duet(4)), Err(StoreError::DuplicateSample { seq: 4, .. })));
        assert!(matches!(store.add_duet(id + 1, &duet(4)), Err(StoreError::NoSuch { .. })));
        assert_eq!(duets(&*store, id), all);
        assert_eq!(store.samples(id).unwrap().len(), 1, "a duet is no sample");
        let mut text = Vec::new();
        data::archive(&*store, id).write(&mut text).unwrap();
        let mut streamed = Vec::new();
        store.export(Id::run(id), &mut streamed).unwrap().unwrap();
        assert_eq!(streamed, text);
        // A writer that has no room for all of it.
        for room in [0, 10, text.len() / 2, text.len() - 1] {
            let mut short = vec![0; room];
            let e = store.export(Id::run(id), &mut short.as_mut_slice()).unwrap().unwrap_err();
            assert_eq!(e.kind(), std::io::ErrorKind::WriteZero);
            assert_eq!(short, text[..room]);
        }
        assert!(matches!(store.export(Id::run(id + 1), &mut Vec::new()), Err(StoreError::NoSuch { .. })));
        let mut other = backend.store();
        let there = other.import(&mut text.as_slice()).unwrap().number;
        assert_eq!(duets(&*other, there), all);
        assert_eq!(Archive::read(&mut text.as_slice()).unwrap().duets, all);
        // Of a program that the plan does not have.
        let bad = String::from_utf8(text).unwrap().replace(r#"{"series":1,"weight""#, r#"{"series":2,"weight""#);
        let mut third = backend.store();
        let e = third.import(&mut bad.as_bytes()).unwrap_err().to_string();
        assert!(e.contains("series 2, but there are 2 programs"), "{e}");
        store.remove(Id::run(id)).unwrap();
        assert!(matches!(store.each_duet(id, &mut |_| {}), Err(StoreError::NoSuch { .. })));
    }
}

/// All of a list, or nothing of it; in lists longer than what a statement takes.
#[test]
fn samples_and_duets_are_added_together() {
    for backend in backends() {
        let mut store = backend.store();
        let id = store.begin_run(&run(1)).unwrap();
        let samples: Vec<_> = (0..300).map(|seq| sample(seq, seq as usize % 5)).collect();
        let all: Vec<_> = (1_000..1_150).map(duet).collect();
        store.add_samples(id, &samples[..150]).unwrap();
        store.add_duets(id, &all[..70]).unwrap();
        // One that is there already, and one that is twice in the list.
        let twice = [&samples[150..], &samples[200..201]].concat();
        for (given, there) in [(&samples[149..], 149), (&samples[20..], 20), (&twice, 200)] {
            let e = store.add_samples(id, given).unwrap_err();
            assert!(matches!(e, StoreError::DuplicateSample { seq, .. } if seq == there), "{e:?}");
        }
        let e = store.add_duets(id, &all[69..]).unwrap_err();
        assert!(matches!(e, StoreError::DuplicateSample { seq: 1_069, .. }), "{e:?}");
        assert_eq!(store.samples(id).unwrap(), samples[..150]);
        assert_eq!(duets(&*store, id), all[..70]);
        store.add_samples(id, &samples[150..]).unwrap();
        store.add_duets(id, &all[70..]).unwrap();
        store.add_samples(id, &[]).unwrap();
        assert_eq!(store.samples(id).unwrap(), samples);
        assert_eq!(duets(&*store, id), all);
        assert_eq!(store.list(&Default::default()).unwrap()[0].counted, Some(298));
        assert!(matches!(store.add_samples(id + 1, &samples[..1]), Err(StoreError::NoSuch { .. })));
        assert!(matches!(store.add_duets(id + 1, &all[..1]), Err(StoreError::NoSuch { .. })));
    }
}
