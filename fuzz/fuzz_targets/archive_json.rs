//! Imported documents: what is read is written and stored without a change; anything else is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::probes::PROBE_REVISION;
use tarebench_store::{Archive, MachineKey, SqliteStore, Store};

fuzz_target!(|data: &[u8]| {
    let archive = match Archive::read(&mut &data[..]) {
        Ok(archive) => archive,
        Err(error) => return drop(error.to_string()),
    };
    let mut text = Vec::new();
    archive.write(&mut text).expect("memory takes it");
    let again = Archive::read(&mut &text[..]).expect("what was written can be read");
    assert_eq!(again, archive);

    let mut store = SqliteStore::in_memory().expect("a store in memory");
    let id = match store.import(&mut &data[..]) {
        Ok(id) => id,
        Err(error) => return drop(error.to_string()),
    };
    let mut text = Vec::new();
    store.export(id, &mut text).expect("what was imported can be exported").expect("memory takes it");
    let mut exported = Archive::read(&mut &text[..]).expect("what was exported can be read");
    // Both are as documents define them: samples by number, and no number of the store.
    let mut expected = Archive { version: exported.version, ..archive };
    expected.samples.sort_by_key(|s| s.seq);
    expected.duets.sort_by_key(|d| d.seq);
    expected.run.id = 0;
    exported.run.id = 0;
    assert_eq!(exported, expected);
    learns(&mut store, MachineKey::of(&expected.run), &expected.samples);
});

/// Whatever probes say, what is learned from them can be stored and merged.
fn learns(store: &mut SqliteStore, key: MachineKey, samples: &[Sample]) {
    let mut all = LevelHistory::new(PROBE_REVISION);
    for sample in samples {
        let mut own = LevelHistory::new(PROBE_REVISION);
        // Of another revision.
        if own.add_sample(sample).is_err() {
            continue;
        }
        all.add_sample(sample).expect("it has the revision");
        store.merge_level_history(&key, &own).expect("a history can be stored");
        assert_eq!(store.level_history(&key, PROBE_REVISION).expect("it can be read"), Some(all.clone()));
    }
    let _ = (all.levels(), all.states());
}
