//! How far a measurement is.

use crate::base::units::Nanos;

/// The step of a measurement that is next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasuringStep {
    /// The calibration of noise.
    Calibration,
    /// Phases of noise.
    Phases {
        /// Of which grain.
        grain: Nanos,
        /// How long they should take.
        expected: Nanos,
    },
    /// A cell of a study.
    Cells {
        /// Cells that are measured.
        done: usize,
        /// All cells.
        of: usize,
        /// Time left, as those of the round before took it; `None` in the first round.
        left: Option<Nanos>,
    },
    /// A slice of a recording of daemons.
    Recorded {
        /// What is recorded.
        done: Nanos,
        /// All that is to be.
        total: Nanos,
        /// Length of a slice.
        interval: Nanos,
    },
    /// An activity trace.
    Trace {
        /// How long it takes.
        duration: Nanos,
    },
}
