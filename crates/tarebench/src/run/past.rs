//! What other runs of a store say of their programs, and what is kept of that with a run.

use crate::run::samples::SamplesAlone;
use tarebench_core::compare::stored::PastRun;
use tarebench_core::compare::stored_check::MOST_PAST_RUNS;
use tarebench_core::documents::head::DocumentKind;
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::between::spreads;
use tarebench_core::run::compared::{past_run, program_identity};
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::Note;
use tarebench_store::{DocumentFilter, Store, StoreError};

/// After so many samples of other runs no more of these are read: that of a few long runs takes longer than everything else.
const ENOUGH_PAST_SAMPLES: u64 = 10_000;
/// Another run with more samples is not read.
const LARGEST_PAST_RUN: u64 = 50_000;
/// Most runs among which those of a program are looked for.
const MOST_LOOKED_AT: usize = 100;

/// What the newest runs but `except` (uuids) say of their programs, of those that `is_past` takes, at most so many. Runs that cannot be
/// read are left out.
pub(crate) fn past_runs(
    store: &dyn Store,
    except: &[&str],
    most: usize,
    is_past: &dyn Fn(&Run) -> bool,
) -> Result<Vec<PastRun>, StoreError> {
    let limit = u32::try_from(most + except.len()).ok();
    let newest = store.list(&DocumentFilter { limit, ..DocumentFilter::of_kind(DocumentKind::Run) })?;
    let mut found = Vec::new();
    let mut samples = 0;
    let others = newest.into_iter().filter(|s| !except.contains(&s.head.uuid.as_str()));
    let counted = others.map(|s| (s.head.number, s.counted.unwrap_or(0))).filter(|(_, counted)| *counted > 0);
    for (number, counted) in counted.take(most) {
        if samples >= ENOUGH_PAST_SAMPLES {
            break;
        }
        if counted > LARGEST_PAST_RUN {
            continue;
        }
        let past = store.run(number).and_then(|run| match run.plan.purpose.is_none() && is_past(&run) {
            true => past_run(&run, &SamplesAlone { store, run: number }).map(Some),
            false => Ok(None),
        });
        match past {
            Ok(past) => {
                samples += past.as_ref().map_or(0, |_| counted);
                found.extend(past);
            }
            // Another process has removed it, or it is damaged; it is not what was asked for.
            Err(StoreError::NoSuch { .. } | StoreError::Corrupt { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Keeps with a run that has ended how far earlier runs of its programs on this machine differ, so that its intervals stay the same
/// however many follow. Nothing, where too few are stored.
pub(crate) fn keep_spread(run: &mut Run, store: &mut dyn Store) -> Result<(), StoreError> {
    if run.plan.purpose.is_some() {
        return Ok(());
    }
    let conditions = fingerprint(&run.host, &run.factors);
    let identities = |run: &Run| run.plan.programs.iter().map(|p| program_identity(&run.plan, p)).collect::<Vec<_>>();
    let own = identities(run);
    let is_past = |other: &Run| {
        other.host.machine == run.host.machine
            && identities(other).iter().any(|program| own.contains(program))
            && fingerprint(&other.host, &other.factors) == conditions
    };
    let history = past_runs(store, &[&run.uuid], MOST_LOOKED_AT.min(MOST_PAST_RUNS), &is_past)?;
    let programs = spreads(run, &history);
    if !programs.is_empty() {
        let note = Note::Spread { programs };
        store.add_note(run.id, &note)?;
        run.notes.push(note);
    }
    Ok(())
}
