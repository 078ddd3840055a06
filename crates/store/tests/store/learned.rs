//! What is learned of machines: merged, bounded, kept when runs are removed, forgotten when that is asked for.

use crate::backends::backends;
use crate::children::child;
use crate::data::{run, sample, uuid};
use std::process::Stdio;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;
use tarebench_core::machine::data::{Factor, Standing};
use tarebench_core::quiet::data::{FEATURES, KnownLevel, QuietCoefficients, QuietLevels};
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::sample::probes::{
    CpuProbes, GateRecord, PROBE_KINDS, PROBE_REVISION, ProbeCost, ProbeWake, SampleProbes,
};
use tarebench_store::{Archive, MachineKey, SqliteStore, Store, StoreError};

pub fn key(machine: &str, fingerprint: &str) -> MachineKey {
    MachineKey { machine: machine.to_owned(), fingerprint: fingerprint.to_owned() }
}

/// Wake-ups whose ticks differ by `n`.
fn probes(n: u32) -> SampleProbes {
    let wake = |i: u32| ProbeWake { at: Nanos(i64::from(i) * 2_000_000), ticks: [1_000 + 10 * n + i; PROBE_KINDS] };
    SampleProbes {
        revision: PROBE_REVISION,
        cpus: vec![CpuProbes {
            cpu: 1,
            wakes: (0..50).map(wake).collect(),
            kept_every: 1,
            watched: Vec::new(),
            paused: Vec::new(),
        }],
        gate: Some(GateRecord { waited: Nanos(5), stops: n, paused: Nanos(6), limit_reached: n.is_multiple_of(2) }),
        cost: ProbeCost { cpu: Nanos(7), wakes: 50, late: 1 },
    }
}

pub fn history(n: u32) -> LevelHistory {
    let mut history = LevelHistory::new(PROBE_REVISION);
    history.add(&probes(n), Nanos(1_700_000_000_000_000_000 + i64::from(n))).unwrap();
    history
}

fn merged(all: impl IntoIterator<Item = u32>) -> LevelHistory {
    let mut out = LevelHistory::new(PROBE_REVISION);
    all.into_iter().for_each(|n| out.merge(&history(n)).unwrap());
    out
}

fn fit(program: &str, clock: f64) -> QuietCoefficients {
    let mut coefficients = [0.0; FEATURES];
    coefficients[0] = clock;
    QuietCoefficients {
        revision: PROBE_REVISION,
        program: program.to_owned(),
        samples: 20,
        fitted: Nanos(3),
        coefficients,
        residual: 1.0 / 3.0,
        seen: [(-0.1, 0.2); FEATURES],
        covariance: Some(Box::new([[1.0 / 7.0; FEATURES]; FEATURES])),
        level: Some(Box::new(KnownLevel {
            log_time: 18.4,
            variance: 1e-4,
            covariance: [-1e-3; FEATURES],
            levels: QuietLevels {
                revision: PROBE_REVISION,
                learned: Nanos(2),
                wakes: 50,
                latency: 24_000.0,
                levels: [0.5; PROBE_KINDS],
            },
        })),
    }
}

/// Coefficient of the clock of each program.
fn clocks(store: &dyn Store, of: &MachineKey, before: Option<u128>) -> Vec<(String, f64)> {
    let before = before.map(uuid);
    let found = store.coefficients(of, PROBE_REVISION, before.as_deref()).unwrap();
    found.into_iter().map(|f| (f.program, f.coefficients[0])).collect()
}

#[test]
fn levels_are_merged_by_machine_conditions_and_revision() {
    for backend in backends() {
        let mut store = backend.store();
        let here = key("m", "f");
        assert_eq!(store.level_history(&here, PROBE_REVISION).unwrap(), None);
        for n in [1, 2, 3] {
            store.merge_level_history(&here, &history(n)).unwrap();
        }
        assert_eq!(store.level_history(&here, PROBE_REVISION).unwrap(), Some(merged([1, 2, 3])));
        for (other, revision) in
            [(key("n", "f"), PROBE_REVISION), (key("m", "g"), PROBE_REVISION), (here.clone(), PROBE_REVISION + 1)]
        {
            assert_eq!(store.level_history(&other, revision).unwrap(), None, "{other:?}");
        }
        store.merge_level_history(&here, &LevelHistory::new(PROBE_REVISION + 1)).unwrap();
        assert_eq!(store.level_history(&here, PROBE_REVISION).unwrap(), Some(merged([1, 2, 3])));
    }
}

/// A changed kernel or CPU makes other levels, a rename does not.
#[test]
fn the_key_of_a_run_is_its_machine_in_its_conditions() {
    let plain = run(1);
    let of = MachineKey::of(&plain);
    assert_eq!(of.machine, plain.host.machine);
    assert_eq!(Some(of.fingerprint.as_str()), plain.head().fingerprint());
    let mut renamed = plain.clone();
    renamed.host.name = "other".to_owned();
    assert_eq!(MachineKey::of(&renamed), of);
    let mut changed = [plain.clone(), plain.clone(), plain.clone(), plain.clone()];
    changed[0].host.kernel = "6.99".to_owned();
    changed[1].host.cpu = Reading::Value("another CPU".to_owned());
    changed[2].host.machine = "0".repeat(16);
    changed[3].factors = vec![Factor { value: Some("off".to_owned()), ..Factor::new(1, "smt", Standing::Held, "") }];
    assert!(changed.iter().all(|run| MachineKey::of(run) != of));
}

#[test]
fn only_the_histories_that_were_added_to_last_are_kept() {
    for backend in backends() {
        let mut store = backend.store();
        let of = |n: u32| key("m", &format!("{n:016x}"));
        for n in 0..64 {
            store.merge_level_history(&of(n), &history(n)).unwrap();
        }
        // The oldest one is used again.
        store.merge_level_history(&of(0), &history(100)).unwrap();
        store.merge_level_history(&of(64), &history(64)).unwrap();
        let found = |n: u32| store.level_history(&of(n), PROBE_REVISION).unwrap();
        assert_eq!((found(0), found(1), found(2)), (Some(merged([0, 100])), None, Some(history(2))));
        assert_eq!(found(64), Some(history(64)));
    }
}

/// A run is corrected by what was known before it, whatever is learned later.
#[test]
fn coefficients_are_those_before_the_run() {
    for backend in backends() {
        let mut store = backend.store();
        let here = key("m", "f");
        let pair = |program: &str, clock| (program.to_owned(), clock);
        assert_eq!(clocks(&*store, &here, None), []);
        store.save_coefficients(&here, &uuid(1), &fit("gzip", 0.1)).unwrap();
        store.save_coefficients(&here, &uuid(1), &fit("awk", 0.7)).unwrap();
        store.save_coefficients(&here, &uuid(2), &fit("gzip", 0.2)).unwrap();
        assert_eq!(clocks(&*store, &here, None), [pair("awk", 0.7), pair("gzip", 0.2)]);
        assert_eq!(clocks(&*store, &here, Some(9)), [pair("awk", 0.7), pair("gzip", 0.2)]);
        assert_eq!(clocks(&*store, &here, Some(2)), [pair("awk", 0.7), pair("gzip", 0.1)]);
        assert_eq!(clocks(&*store, &here, Some(1)), []);
        // A run that was made longer replaces its own fits, which are then the newest.
        store.save_coefficients(&here, &uuid(1), &fit("gzip", 0.3)).unwrap();
        store.save_coefficients(&here, &uuid(1), &fit("awk", 0.8)).unwrap();
        assert_eq!(clocks(&*store, &here, None), [pair("awk", 0.8), pair("gzip", 0.3)]);
        assert_eq!(clocks(&*store, &here, Some(1)), [pair("gzip", 0.2)]);
        // Four of a program are kept.
        for n in 3..=6 {
            store.save_coefficients(&here, &uuid(n), &fit("gzip", n as f64)).unwrap();
        }
        assert_eq!(clocks(&*store, &here, Some(4)), [pair("awk", 0.8), pair("gzip", 3.0)]);
        assert_eq!(clocks(&*store, &here, Some(3)), [pair("awk", 0.8)]);
        for other in [key("n", "f"), key("m", "g")] {
            assert_eq!(clocks(&*store, &other, None), [], "{other:?}");
        }
        assert_eq!(store.coefficients(&here, PROBE_REVISION + 1, None).unwrap(), []);
    }
}

#[test]
fn coefficients_are_bounded_and_finite() {
    for backend in backends() {
        let mut store = backend.store();
        let here = key("m", "f");
        for n in 0..1_002_u32 {
            store.save_coefficients(&here, &uuid(1), &fit(&format!("{n:016x}"), 0.1)).unwrap();
        }
        let kept = clocks(&*store, &here, None);
        assert_eq!((kept.len(), kept[0].0.as_str()), (1_000, "0000000000000002"));
        let refused = |r: Result<(), StoreError>| assert!(matches!(r, Err(StoreError::Unstorable { .. })), "{r:?}");
        refused(store.save_coefficients(&here, &uuid(1), &fit("x", f64::NAN)));
        refused(store.save_coefficients(&here, "no uuid", &fit("x", 1.0)));
        assert_eq!(clocks(&*store, &here, None), kept);
    }
}

#[test]
fn removing_a_run_forgets_nothing() {
    for backend in backends() {
        let mut store = backend.store();
        let id = store.begin_run(&run(1)).unwrap();
        store.add_sample(id, &sample(0, 1)).unwrap();
        let of = MachineKey::of(&store.run(id).unwrap());
        store.merge_level_history(&of, &history(1)).unwrap();
        store.save_coefficients(&of, &run(1).uuid, &fit("gzip", 0.1)).unwrap();
        store.remove(Id::run(id)).unwrap();
        assert_eq!(store.level_history(&of, PROBE_REVISION).unwrap(), Some(history(1)));
        assert_eq!(clocks(&*store, &of, None).len(), 1);
    }
}

/// In all conditions, and of this machine only; also what is damaged.
#[test]
fn a_machine_is_forgotten_when_that_is_asked_for() {
    for backend in backends() {
        let place = backend.place();
        let mut store = place.open();
        let keys = [key("m", "f"), key("m", "g"), key("n", "f")];
        for of in &keys {
            store.merge_level_history(of, &history(1)).unwrap();
            store.save_coefficients(of, &uuid(1), &fit("gzip", 0.1)).unwrap();
        }
        place.run_sql("UPDATE level_history SET doc = '{' WHERE fingerprint = 'g'");
        place.run_sql("UPDATE quiet_coefficients SET doc = '[]' WHERE fingerprint = 'g'");
        let damaged = |r: Result<(), StoreError>| assert!(matches!(r, Err(StoreError::Corrupt { .. })), "{r:?}");
        damaged(store.level_history(&keys[1], PROBE_REVISION).map(|_| ()));
        damaged(store.coefficients(&keys[1], PROBE_REVISION, None).map(|_| ()));
        damaged(store.merge_level_history(&keys[1], &history(2)));
        assert_eq!(store.forget_machine_states("m").unwrap(), 4);
        assert_eq!(store.forget_machine_states("m").unwrap(), 0);
        for (of, known) in keys.iter().zip([false, false, true]) {
            assert_eq!(store.level_history(of, PROBE_REVISION).unwrap().is_some(), known);
            assert_eq!(clocks(&*store, of, None).len(), usize::from(known));
        }
        store.merge_level_history(&keys[1], &history(2)).unwrap();
        assert_eq!(store.level_history(&keys[1], PROBE_REVISION).unwrap(), Some(history(2)));
        drop(store);
        place.assert_sound();
    }
}

#[test]
fn a_store_that_was_opened_for_reading_learns_nothing() {
    for backend in backends() {
        let place = backend.place();
        place.open().merge_level_history(&key("m", "f"), &history(1)).unwrap();
        let mut store = place.open_read_only();
        let refused = |r: Result<(), StoreError>| assert!(matches!(r, Err(StoreError::ReadOnly { .. })), "{r:?}");
        refused(store.merge_level_history(&key("m", "f"), &history(2)));
        refused(store.save_coefficients(&key("m", "f"), &uuid(1), &fit("gzip", 0.1)));
        refused(store.forget_machine_states("m").map(|_| ()));
        assert_eq!(store.level_history(&key("m", "f"), PROBE_REVISION).unwrap(), Some(history(1)));
    }
}

/// Of histories that each of them merges.
const MERGES: u32 = 10;

/// Each reads what another has just written, in one transaction.
#[test]
fn processes_that_learn_at_once_lose_nothing() {
    for backend in backends() {
        let place = backend.place();
        let writers = 4_u32;
        let children: Vec<_> = (0..writers)
            .map(|w| {
                let arguments = [u64::from(w * MERGES), u64::from(MERGES)];
                let mut command = child("children::child_learns", &place.name, &arguments);
                command.stdout(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let found = place.open().level_history(&key("m", "f"), PROBE_REVISION).unwrap();
        assert_eq!(found, Some(merged(0..writers * MERGES)));
        place.assert_sound();
    }
}

#[test]
fn a_run_with_probes_is_exported_and_imported() {
    for backend in backends() {
        let mut asked = run(1);
        asked.plan.probes =
            Some(tarebench_core::quiet::data::ProbePlan { period: Nanos(2_000_000), gate: None, correct: true });
        let mut store = backend.store();
        let id = store.begin_run(&asked).unwrap();
        let mut probed = sample(0, 2);
        probed.probes = Reading::Value(probes(3));
        store.add_sample(id, &probed).unwrap();
        store.merge_level_history(&MachineKey::of(&asked), &history(1)).unwrap();
        let mut text = Vec::new();
        store.export(Id::run(id), &mut text).unwrap().unwrap();
        assert_eq!(Archive::read(&mut text.as_slice()).unwrap().samples, [probed.clone()]);
        let mut other = backend.store();
        let there = other.import(&mut text.as_slice()).unwrap().number;
        assert_eq!((other.samples(there).unwrap(), other.run(there).unwrap().plan), (vec![probed], asked.plan.clone()));
        // A file may claim any machine.
        assert_eq!(other.level_history(&MachineKey::of(&asked), PROBE_REVISION).unwrap(), None);
    }
}

/// The documents with probes that the fuzz targets begin with are read as they are, whatever their figures.
#[test]
fn seeds_with_probes_are_imported() {
    let probed = include_bytes!("../../../../fuzz/seeds/archive_json/probed.json");
    let hostile = include_bytes!("../../../../fuzz/seeds/archive_json/hostile_probes.json");
    for (text, probed) in [(probed.as_slice(), 10), (hostile.as_slice(), 9)] {
        let mut store = SqliteStore::in_memory().unwrap();
        let run = store.import(&mut &*text).unwrap().number;
        let samples = store.samples(run).unwrap();
        assert_eq!(samples.iter().filter(|s| s.probes.value().is_some()).count(), probed);
        let mut all = LevelHistory::new(PROBE_REVISION);
        let of = MachineKey::of(&store.run(run).unwrap());
        for sample in &samples {
            let mut own = LevelHistory::new(PROBE_REVISION);
            if own.add_sample(sample).is_ok() {
                all.add_sample(sample).unwrap();
                store.merge_level_history(&of, &own).unwrap();
            }
        }
        assert_eq!(store.level_history(&of, PROBE_REVISION).unwrap(), Some(all));
    }
}
