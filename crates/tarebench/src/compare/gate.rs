//! Whether a change makes programs slower: two builds of each program, measured together in blocks until that is decided.
//!
//! Each benchmark has a run of its own: the base (which is the reference), the head, and, as a control, the base again, each in its own
//! folder. A probe decides whether they are measured in duets or in rounds. After a first look at all benchmarks, those that are
//! undecided ([`tarebench_core::compare::gate_rule`]) are measured for longer, as long as the budget allows.
//!
//! What was measured is stored after each look. Killed at any moment, a gate loses the look in progress at most, whose samples are in
//! the benchmark's run, and which is completed when the gate is resumed.

use crate::compare::document::GateDocument;
pub use crate::compare::error::GateError;
use crate::compare::session::{GateHalt, GateSession};
use crate::documents;
use crate::documents::{DocumentError, MeasureOptions, Stopped};
use crate::event::{Event, Watch};
use crate::run::session::StorePlace;
use tarebench_core::compare::gate::{Gate, GatePlan, GateReport, MeasuredBenchmark};
use tarebench_core::compare::gate_rule;
use tarebench_core::documents::head::{DocumentHead, DocumentKind, Id, Status};
use tarebench_core::run::plan::RunPlan;
use tarebench_store::{Claimant, SqliteStore, Store};
use tarebench_sys::signals::Signals;

/// A gate to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedGate {
    /// What is asked for.
    pub plan: GatePlan,
    /// How each benchmark of the plan is run: its programs are the base, marked as the reference, the head, and the base again if the
    /// plan has a control. Order and number of samples are chosen by what is measured.
    pub runs: Vec<RunPlan>,
}

/// Result of a session.
#[derive(Debug)]
pub struct MeasuredGate {
    /// Head of its document; the number is 0 if it is not stored.
    pub head: DocumentHead,
    /// What was measured, including earlier sessions.
    pub gate: Gate,
    /// Why it ended.
    pub stopped: Stopped,
}

impl MeasuredGate {
    /// What it comes to.
    pub fn report(&self) -> GateReport {
        gate_rule::report(&self.gate)
    }
}

/// Measures what the request says, until every benchmark is decided, has as many blocks as the plan allows, or the budget is spent. A
/// program that fails makes its benchmark a failed one; the others are measured.
///
/// # Errors
/// [`GateError`]; what was measured is stored.
pub fn measure(
    request: &PlannedGate,
    place: &mut StorePlace,
    options: &MeasureOptions,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredGate, GateError> {
    let document = GateDocument::new(request.plan.clone(), request.runs.clone())?;
    let is_kept = place.store().is_some();
    // Runs can only be made longer in a store.
    let mut memory = StorePlace::Store(Box::new(SqliteStore::in_memory()?));
    let place = if is_kept { place } else { &mut memory };
    let store = place.store().ok_or(DocumentError::NoStore(UNKNOWN))?;
    let (id, claim) = documents::begin(store, DocumentKind::Gate, title(&request.plan), &document, options)?;
    let shown = if is_kept { id } else { UNKNOWN };
    let mut measured = session(place, (id, shown), &claim, document, signals, watch)?;
    if !is_kept {
        measured.head.number = 0;
        measured.gate.measured.iter_mut().for_each(forget_run);
    }
    Ok(measured)
}

/// Of what is not stored.
const UNKNOWN: Id = Id { kind: DocumentKind::Gate, number: 0 };

fn title(plan: &GatePlan) -> &str {
    match plan.benchmarks.first() {
        Some(only) if plan.suite.is_empty() => &only.name,
        _ => &plan.suite,
    }
}

fn forget_run(measured: &mut MeasuredBenchmark) {
    (measured.run, measured.run_uuid) = (None, None);
}

/// Resumes a gate where it ended. The builds must still be there, in the same folders; it is for the caller to know that they are the
/// same.
///
/// # Errors
/// [`GateError`]; also if it is finished, of another machine, or another process measures it. An imported gate cannot be resumed.
pub fn resume(id: Id, place: &mut StorePlace, signals: &Signals, watch: Watch<'_>) -> Result<MeasuredGate, GateError> {
    let store = place.store().ok_or(DocumentError::NoStore(id))?;
    if store.imported(id)?.is_some() {
        return Err(GateError::Imported(id));
    }
    let (stored, claim) = documents::claim_for_resume(store, id)?;
    match GateDocument::read(id, stored.doc) {
        Ok(document) => session(place, (id, id), &claim, document, signals, watch),
        Err(e) => {
            documents::end(store, id, Status::Interrupted, &claim)?;
            Err(e)
        }
    }
}

fn session(
    place: &mut StorePlace,
    (id, shown): (Id, Id),
    claim: &Claimant,
    document: GateDocument,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredGate, GateError> {
    let mut on = |event: Event<'_>| watch(event);
    let mut session = GateSession::new(place, (id, shown), document, signals, &mut on);
    let done = match session.run() {
        Ok(()) => Ok(Stopped::Finished),
        Err(GateHalt::Interrupted(signal)) => Ok(Stopped::Interrupted(signal)),
        Err(GateHalt::Error(e)) => Err(e),
    };
    let gate = session.document.gate;
    let status = done.as_ref().map_or(Status::Interrupted, |stopped| stopped.status());
    let store = place.store().ok_or(DocumentError::NoStore(id))?;
    let marked = documents::end(store, id, status, claim);
    let stopped = done?;
    marked?;
    Ok(MeasuredGate { head: store.document(id)?.head, gate, stopped })
}

/// A stored gate, finished or not.
///
/// # Errors
/// Those of the store; if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<(DocumentHead, Gate), GateError> {
    Ok(documents::whole(store, id, DocumentKind::Gate, Gate::check)?)
}
