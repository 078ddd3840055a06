//! The studies of CS:APP chapter 9 on this machine, cell by cell. Each cell is durable when it has been measured, so that a study
//! can be interrupted and resumed.

use crate::data::cells::{StudyPart, StudyPlan};
use crate::data::report::{StudyReport, build};
use crate::measure::cells::StudyBench;
use crate::measure::error::StudyError;
use tarebench::documents;
use tarebench::documents::{DocumentError, DocumentStore, MeasureOptions, Stopped};
use tarebench::event::{Event, Watch};
use tarebench::run::session::StorePlace;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_store::{Store, content};
use tarebench_sys::signals::Signals;
use tarebench_sys::{clock, cpu, topology};

#[derive(Clone, Debug, PartialEq)]
pub struct Studied {
    pub head: DocumentHead,
    /// What was asked for.
    pub plan: StudyPlan,
    /// What is there of it.
    pub parts: Vec<StudyPart>,
}

impl Studied {
    /// What it comes to.
    pub fn report(&self) -> StudyReport {
        build(&self.plan, &self.parts)
    }
}

/// The CPU that a study is on unless one is asked for: the last that may be used.
///
/// # Errors
/// Those of the system; if the requested CPU may not be used.
pub fn choose_cpu(asked: Option<u32>) -> Result<u32, StudyError> {
    let allowed = topology::reachable()?;
    match asked.or(cpu::allowed()?.last().copied()) {
        Some(cpu) if allowed.contains(&cpu) => Ok(cpu),
        other => Err(StudyError::Cpu { cpu: other.unwrap_or(0), allowed }),
    }
}

/// Result of a session.
#[derive(Debug)]
pub struct MeasuredStudy {
    /// The study, including the cells of earlier sessions.
    pub study: Studied,
    pub stopped: Stopped,
}

impl MeasuredStudy {
    /// What it comes to.
    pub fn report(&self) -> StudyReport {
        self.study.report()
    }
}

/// Measures what the plan says; `watch` is called before each cell.
///
/// # Errors
/// [`StudyError`]; the measured cells are kept.
pub fn measure(
    plan: &StudyPlan,
    place: &mut StorePlace,
    options: &MeasureOptions,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredStudy, StudyError> {
    let mut document_store = DocumentStore::at(place)?;
    let title = format!("{} ({})", plan.study.name(), plan.preset.name());
    let (id, claim) = documents::begin(document_store.store(), DocumentKind::Study, &title, plan, options)?;
    let named = document_store.number(id);
    let done = session(document_store.store(), id, plan, 0, signals, &mut |p| watch(Event::Step(Some(named), p)));
    let mut measured = finished(document_store.store(), id, &claim, done)?;
    measured.study.head.number = named.number;
    Ok(measured)
}

/// Resumes a study where it ended.
///
/// # Errors
/// [`StudyError`]; also if it is finished, of another machine, or another process measures it.
pub fn resume(
    id: Id,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredStudy, StudyError> {
    let store = place.store().ok_or(DocumentError::NoStore(id))?;
    let (document, claim) = documents::claim_for_resume(store, id)?;
    let done = match read_plan(id, document.doc) {
        Ok(plan) => session(store, id, &plan, document.parts.len(), signals, &mut |p| watch(Event::Step(Some(id), p))),
        Err(e) => Err(e),
    };
    finished(store, id, &claim, done)
}

fn finished(
    store: &mut dyn Store,
    id: Id,
    claim: &tarebench_store::Claimant,
    done: Result<Stopped, StudyError>,
) -> Result<MeasuredStudy, StudyError> {
    let stopped = finish_document(store, id, claim, done)?;
    Ok(MeasuredStudy { study: load(store, id)?, stopped })
}

/// Sets the status of a study after a session, and releases it.
pub(crate) fn finish_document(
    store: &mut dyn Store,
    id: Id,
    claim: &tarebench_store::Claimant,
    done: Result<Stopped, StudyError>,
) -> Result<Stopped, StudyError> {
    let status = done.as_ref().map_or(Status::Interrupted, |stopped| stopped.status());
    let marked = documents::end(store, id, status, claim);
    let stopped = done?;
    marked?;
    Ok(stopped)
}

fn session(
    store: &mut dyn Store,
    id: Id,
    plan: &StudyPlan,
    from: usize,
    signals: &Signals,
    watch: &mut dyn FnMut(MeasuringStep),
) -> Result<Stopped, StudyError> {
    let allowed = cpu::allowed()?;
    choose_cpu(Some(plan.cpu))?;
    cpu::confine(&[plan.cpu])?;
    let done = cells(store, id, plan, from, signals, watch);
    cpu::confine(&allowed)?;
    done
}

fn cells(
    store: &mut dyn Store,
    id: Id,
    plan: &StudyPlan,
    from: usize,
    signals: &Signals,
    watch: &mut dyn FnMut(MeasuringStep),
) -> Result<Stopped, StudyError> {
    let (of, round) = (plan.parts(), plan.cells().len());
    let mut bench = StudyBench::new(plan.cpu)?;
    let mut ends = vec![clock::monotonic()];
    for (n, (cell, at)) in (from..).map_while(|n| Some((n, plan.part(n)?))) {
        if let Some(signal) = signals.caught() {
            return Ok(Stopped::Interrupted(signal));
        }
        // A whole round contains all loads and lengths.
        let last = ends.last().zip(ends.len().checked_sub(round + 1).and_then(|i| ends.get(i)));
        let left = last.map(|(now, then)| Nanos(((*now - *then).as_f64() / round as f64 * (of - n) as f64) as i64));
        watch(MeasuringStep::Cells { done: n, of, left });
        let part = bench.measure(cell, at)?;
        store.append_part(id, &tarebench_store::DocumentPart { doc: content(&part)?, blob: None })?;
        ends.push(clock::monotonic());
    }
    watch(MeasuringStep::Cells { done: of, of, left: None });
    Ok(Stopped::Finished)
}

/// Most active processes of a study.
pub const MOST_ACTIVE: u32 = 100;
/// Most rounds of a study.
pub const MOST_ROUNDS: u32 = 10_000;

fn read_plan(id: Id, doc: serde_json::Value) -> Result<StudyPlan, StudyError> {
    let bad = |cause: String| StudyError::from(DocumentError::Content { id, cause });
    let plan: StudyPlan = serde_json::from_value(doc).map_err(|e| bad(e.to_string()))?;
    // Resuming it starts as many processes and takes as many rounds.
    if plan.loads.iter().any(|n| !(1..=MOST_ACTIVE).contains(n)) || plan.rounds > MOST_ROUNDS {
        let cause = format!("expected 1 to {MOST_ACTIVE} active processes and at most {MOST_ROUNDS} rounds");
        return Err(bad(cause));
    }
    Ok(plan)
}

/// A stored study, finished or not.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<Studied, StudyError> {
    let document = documents::of_kind(store, id, DocumentKind::Study)?;
    let bad = |cause: String| DocumentError::Content { id, cause };
    let parts = document.parts.into_iter().map(|p| serde_json::from_value(p.doc)).collect::<Result<_, _>>();
    let parts = parts.map_err(|e| bad(e.to_string()))?;
    Ok(Studied { head: document.head, plan: read_plan(id, document.doc)?, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resuming an imported study starts as many processes, and as many rounds, as it says.
    #[test]
    fn a_stored_study_starts_a_limited_number_of_processes() {
        let read = |loads: &[u32], rounds: u32| {
            let doc = serde_json::json!({"study": "kbest", "preset": "minutes", "cpu": 0, "rounds": rounds, "loads": loads,
                "longest": 1e6});
            read_plan(Id { kind: DocumentKind::Study, number: 1 }, doc).map(|plan| plan.loads)
        };
        assert_eq!(read(&[1, MOST_ACTIVE], MOST_ROUNDS).unwrap(), [1, MOST_ACTIVE]);
        for (loads, rounds) in
            [(vec![1, MOST_ACTIVE + 1], 1), (vec![0], 1), (vec![u32::MAX], 1), (vec![1], MOST_ROUNDS + 1)]
        {
            let said = read(&loads, rounds).unwrap_err().to_string();
            assert!(said.contains("expected 1 to 100 active processes and at most 10000 rounds"), "{said}");
        }
    }
}
