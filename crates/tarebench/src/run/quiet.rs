//! What is known of a machine's quiet state before a run with probes, and what the run adds to it.
//!
//! It is learned from all runs that were measured on the machine into this store, whatever becomes of them: removing a run forgets
//! nothing, and importing one teaches nothing, as a file may claim any machine. A session that is killed adds nothing.

use std::path::Path;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::quiet::correction::{QuietSample, QuietSeries};
use tarebench_core::quiet::data::QuietLevels;
use tarebench_core::quiet::knowledge::QuietKnowledge;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::quiet::prior::KnownCoefficients;
use tarebench_core::run::data::Run;
use tarebench_core::run::identity::program_identity;
use tarebench_core::run::notes::Note;
use tarebench_core::sample::data::{Phase, Sample};
use tarebench_core::sample::probes::PROBE_REVISION;
use tarebench_store::{MachineKey, Store, StoreError};
use tarebench_sys::clock;

/// What a run is corrected with: what was kept with it when it was measured, so that its result stays the same; else what the store knows.
pub(crate) fn known(store: &dyn Store, run: &Run) -> Result<QuietKnowledge, StoreError> {
    let now = known_now(store, run)?;
    let kept = run.notes.iter().rev().find_map(|note| match note {
        Note::Quiet { known } => Some(known),
        _ => None,
    });
    Ok(kept.map_or(now.clone(), |kept| QuietKnowledge { history: now.history, ..QuietKnowledge::clone(kept) }))
}

/// What a store knows now: all levels of the run's machine in its conditions, and coefficients as they were before the run. Nothing if
/// the run has no probes.
fn known_now(store: &dyn Store, run: &Run) -> Result<QuietKnowledge, StoreError> {
    if run.plan.probes.is_none() {
        return Ok(QuietKnowledge::default());
    }
    let of = MachineKey::of(run);
    let history = store.level_history(&of, PROBE_REVISION)?;
    let levels = history.as_ref().and_then(LevelHistory::levels);
    let coefficients = store.coefficients(&of, PROBE_REVISION, Some(&run.uuid))?;
    Ok(QuietKnowledge { levels, history, coefficients })
}

/// The key of this machine as it is now.
pub(crate) fn here() -> MachineKey {
    let root = Path::new("/");
    let host = tarebench_host::host::describe_at_once(root);
    let fingerprint = fingerprint(&host, &tarebench_host::factors::read(root));
    MachineKey { machine: host.machine, fingerprint }
}

/// What the probes of one session see.
pub(crate) struct QuietLearner {
    /// Where it is measured.
    of: MachineKey,
    seen: LevelHistory,
}

impl QuietLearner {
    /// Of a run that begins on this machine.
    pub fn first(run: &Run) -> QuietLearner {
        QuietLearner { of: MachineKey::of(run), seen: LevelHistory::new(PROBE_REVISION) }
    }

    /// Of a run that is resumed: the machine may have another kernel since.
    pub fn resumed(run: &Run) -> QuietLearner {
        let of = if run.plan.probes.is_some() { here() } else { MachineKey::of(run) };
        QuietLearner { of, seen: LevelHistory::new(PROBE_REVISION) }
    }

    /// What the gate goes by: the levels that are known so far. `None` if the run has no probes.
    pub fn levels(&self, run: &Run, store: Option<&dyn Store>) -> Result<Option<QuietLevels>, StoreError> {
        let Some(store) = store.filter(|_| run.plan.probes.is_some()) else { return Ok(None) };
        Ok(store.level_history(&self.of, PROBE_REVISION)?.as_ref().and_then(LevelHistory::levels))
    }

    /// A sample was taken. Warm-ups and failures count: the machine is what is looked at.
    pub fn see(&mut self, sample: &Sample) {
        // What was measured now is of the present revision.
        let _ = self.seen.add_sample(sample);
    }

    /// Stores what was seen, and with the run what it is corrected by; and, once it has ended, how its programs follow the probes.
    pub fn keep(&self, run: &mut Run, store: &mut dyn Store) -> Result<(), StoreError> {
        if !self.seen.is_empty() {
            store.merge_level_history(&self.of, &self.seen)?;
            let programs: Vec<String> = run.plan.programs.iter().map(|p| program_identity(&run.plan, p)).collect();
            let note = Note::Quiet { known: Box::new(known_now(store, run)?.of_programs(&programs)) };
            store.add_note(run.id, &note)?;
            run.notes.push(note);
        }
        // Samples of two states of the machine, before and after a new kernel, have no common levels.
        let one_state = || MachineKey::of(run) == self.of;
        match run.plan.probes.is_some() && run.status == Status::Finished && one_state() {
            true => self.fit(run, store),
            false => Ok(()),
        }
    }

    /// Fits all samples of the run, also those of earlier sessions, starting from what was known before it.
    fn fit(&self, run: &Run, store: &mut dyn Store) -> Result<(), StoreError> {
        let QuietKnowledge { levels, mut coefficients, .. } = known_now(store, run)?;
        let Some(levels) = levels else { return Ok(()) };
        let mut all: Vec<QuietSeries> = run.plan.programs.iter().map(|_| QuietSeries::new(levels.clone())).collect();
        store.each_sample_alone(run.id, &mut |sample| {
            let counts = sample.phase == Phase::Counted && run.plan.ignore_failure.accepts(&sample.outcome);
            let series = all.get_mut(sample.series as usize).filter(|_| counts);
            if let (Some(series), Some(sample)) = (series, QuietSample::of(&sample)) {
                series.add(&sample);
            }
        })?;
        let fitted = clock::realtime();
        for (program, series) in run.plan.programs.iter().zip(all) {
            let identity = program_identity(&run.plan, program);
            // A program that is there twice is fitted by all of its samples.
            let known = KnownCoefficients::of_program(&coefficients, &identity);
            if let Some(fit) = series.coefficients(&known, &identity, fitted) {
                store.save_coefficients(&self.of, &run.uuid, &fit)?;
                coefficients.push(fit);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
