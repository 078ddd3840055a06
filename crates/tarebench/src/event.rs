//! The events that a measurement reports while it runs.

use crate::builds::BuildNews;
use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::{GateStep, MeasuringStep};
use tarebench_core::run::data::Run;
use tarebench_run::runner::RunEvent;

/// An event of a measurement.
pub enum Event<'a> {
    /// An event of a run, or of a run that a profile is learned from.
    Run(&'a Run, RunEvent<'a>),
    /// The next step of a document with this number, 0 if it is not stored; without a number if it is no document.
    Step(Option<Id>, MeasuringStep),
    /// The next execution of a gate with this number, 0 if it is not stored.
    Gate(Option<Id>, GateStep<'a>),
    /// What happens while the builds of a gate are made.
    Build(BuildNews),
}

/// Receives the events. It is called between samples, phases and trials, never while one is measured.
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>);
