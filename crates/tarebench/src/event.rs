//! What the watcher of a measurement is told.

use tarebench_core::documents::head::Id;
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_core::run::data::Run;
use tarebench_run::runner::RunEvent;

/// What happens in a measurement.
pub enum Event<'a> {
    /// In a run, or in one that a profile is learned from.
    Run(&'a Run, RunEvent<'a>),
    /// A step is next of a document with this number, 0 if it is not kept; without one if it is no document.
    Step(Option<Id>, MeasuringStep),
}

/// Watches a measurement. It is called between what is measured, never meanwhile.
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>);
