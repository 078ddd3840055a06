//! A machine's infrequent, long-running daemons and their cutoffs (EMPv5, SEDONA step B).

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The cutoff of one daemon: a sample with an execution over it is discarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cutoff {
    /// Daemon family (numbered kernel threads folded).
    pub daemon: String,
    /// CPU time over which a sample is spoiled, unrounded, in nanoseconds; for task times below `task_time_limit`
    /// or, without a limit, for all.
    pub short: f64,
    /// Task time from which `long` applies: 5% of the daemon's period.
    pub task_time_limit: Option<Nanos>,
    /// CPU time over which a sample is spoiled, from `task_time_limit` on; `None` where no run was long enough to tell, so that
    /// there is no cutoff from there on.
    pub long: Option<f64>,
}

impl Cutoff {
    /// The cutoff for a program of this task time, in nanoseconds; infinite if there is none.
    pub fn for_task_time(&self, task_time: Nanos) -> f64 {
        match (self.task_time_limit, self.long) {
            (Some(limit), long) if task_time >= limit => long.unwrap_or(f64::INFINITY),
            _ => self.short,
        }
    }
}

/// What was learned of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Name, unique in a store.
    pub name: String,
    /// When it was made, since 1970.
    pub created: Nanos,
    /// The machine it is of ([`crate::run::Host::machine`]).
    pub machine: String,
    /// Its kernel then.
    pub kernel: String,
    /// The cutoffs.
    pub cutoffs: Vec<Cutoff>,
}
