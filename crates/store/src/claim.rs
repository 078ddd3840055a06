//! Claims: the process that may add to a stored document.

use serde::{Deserialize, Serialize};
use tarebench_core::base::units::Nanos;

/// A process that adds samples to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimant {
    pub pid: i32,
    /// When the process started, on any clock that does not change while the machine is up; with `pid` it identifies
    /// the process within a boot.
    pub start: Nanos,
    pub boot: String,
    /// The machine: a name that is its own, as stores may lie on shared disks.
    pub host: String,
}
