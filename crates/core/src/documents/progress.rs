//! How far a measurement is.

use crate::base::units::Nanos;

/// The step of a measurement that is next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasuringStep {
    /// The calibration of noise.
    Calibration,
    Phases {
        grain: Nanos,
        /// How long they should take.
        expected: Nanos,
    },
    /// A cell of a study, or an execution of one of its programs.
    Cells {
        /// Those that are measured.
        done: usize,
        of: usize,
        /// Time left, as those of the round before took it; `None` in the first round.
        left: Option<Nanos>,
    },
    /// A slice of a recording of daemons.
    Recorded {
        done: Nanos,
        /// All that is to be.
        total: Nanos,
        /// Length of a slice.
        interval: Nanos,
    },
    Trace {
        /// How long it takes.
        duration: Nanos,
    },
}

/// How far a gate is, before one of its executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateStep<'a> {
    /// Number of the benchmark that is measured, from 1.
    pub benchmark: usize,
    pub of: usize,
    pub name: &'a str,
    /// Blocks that are measured; 0 with `planned` 0: whether it suits duets is being found out.
    pub blocks: u32,
    /// Blocks after which there is the next look.
    pub planned: u32,
    /// Ratio head / base so far, and half the width of its interval.
    pub ratio: Option<(f64, Option<f64>)>,
    /// What is left of the time budget.
    pub left: Option<Nanos>,
}
