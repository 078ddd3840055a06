//! What else ran during a sample.

use crate::base::name::Name;
use crate::base::reading::Absent;
use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};

/// What kind of task a daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    User,
    Kernel,
    Tare,
    /// The other program of a duet; only in the account of a program.
    Partner,
}

/// A task other than the program that used CPU time inside a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    pub pid: i32,
    /// Start time since boot; with `pid` it identifies the process.
    pub start: Nanos,
    /// Command name as the kernel has it (at most 15 bytes, longer for kernel workers).
    pub name: Name,
    /// User process, kernel thread, tare.
    pub kind: TaskKind,
    /// CPU time inside the sample.
    pub cpu: Nanos,
    /// Whether `cpu` was read at the process's exit from a record that may understate it by up to one timer tick.
    #[serde(default)]
    pub tick_bound: bool,
    /// Tick-sampled (interval-counted) user + system time inside the sample, where known.
    pub interval_counted: Option<Nanos>,
    /// It began inside the sample.
    pub born: bool,
    /// It ended inside the sample.
    pub died: bool,
}

/// The daemons of one sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemons {
    /// Those with CPU time, or that were born or died inside the sample; largest first.
    pub list: Vec<Daemon>,
    /// `None` if every task that ran is in the list; otherwise what may be missing, and why.
    pub incomplete: Option<Absent>,
    /// Number of processes in the snapshot after the sample.
    pub processes: u32,
    /// Time that the snapshot before took.
    pub image_before: Nanos,
    /// Time that the snapshot after took.
    pub image_after: Nanos,
}
