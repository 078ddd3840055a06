//! Operating-system noise (ICS'05): what delays a phase of work, how often, and what that costs a job on n nodes, each phase of
//! which ends with the slowest.

use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};

/// One execution of a fixed piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPhase {
    pub start: Nanos,
    /// How long it took.
    pub duration: Nanos,
}

impl WorkPhase {
    pub fn end(&self) -> Nanos {
        self.start + self.duration
    }

    /// Phases that follow each other without a gap.
    pub fn back_to_back(start: Nanos, durations: impl IntoIterator<Item = Nanos>) -> Vec<WorkPhase> {
        let mut at = start;
        let phase = |duration| {
            let start = at;
            at += duration;
            WorkPhase { start, duration }
        };
        durations.into_iter().map(phase).collect()
    }
}

/// Phases, or events, that are not in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOrder {
    /// It begins before it may.
    #[error(
        "{what} number {index} (from 0) begins too early, expected them in order of time, and phases without overlap"
    )]
    TooEarly { what: &'static str, index: usize },
    /// It has a negative length.
    #[error("{what} number {index} (from 0) takes {} ns, expected at least 0", duration.0)]
    Negative { what: &'static str, index: usize, duration: Nanos },
}

/// Checks that phases are in the order of time, don't overlap and have no negative length.
pub(crate) fn in_order(phases: impl Iterator<Item = WorkPhase>) -> Result<(), BadOrder> {
    let mut from = Nanos(i64::MIN);
    for (index, phase) in phases.enumerate() {
        if phase.duration < Nanos::ZERO {
            return Err(BadOrder::Negative { what: "phase", index, duration: phase.duration });
        }
        if phase.start < from {
            return Err(BadOrder::TooEarly { what: "phase", index });
        }
        from = phase.end();
    }
    Ok(())
}

/// A duration as a whole number, 0 for a negative one.
pub(crate) fn count(duration: Nanos) -> u64 {
    u64::try_from(duration.0).unwrap_or(0)
}
