//! A run: what was asked for, on which machine, in which state.

use crate::plan::Plan;
use crate::reading::Reading;
use crate::sample::PtSource;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// A stable identity that does not give away the machine id: a hash of it, 16 hex digits.
    pub machine: String,
    /// Boot id, to tell a reboot.
    pub boot: Reading<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Kernel version, as `uname -v`.
    pub kernel_version: String,
    /// Architecture, as `uname -m`.
    pub architecture: String,
    /// Distribution's pretty name.
    pub distribution: Reading<String>,
    /// CPU model.
    pub cpu: Reading<String>,
    /// CPUs online.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory: Reading<u64>,
    /// Hypervisor, if the machine is virtual; `Value("none")` if it is not.
    pub hypervisor: Reading<String>,
    /// Kernel clock source.
    pub clock_source: Reading<String>,
    /// Cycle counter's frequency in Hz, measured against CLOCK_MONOTONIC_RAW.
    pub cycle_counter_hz: Reading<f64>,
}

/// How a factor of the protocol stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As the protocol wants it.
    Held,
    /// Not as it wants it.
    NotHeld,
    /// Cannot be told here.
    Unknown,
}

/// One observed factor of the machine's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The EMP step that it decides, 1 to 4; 0 if it decides none.
    pub step: u8,
    /// Short name, e.g. `ntp`.
    pub name: String,
    /// As found.
    pub standing: Standing,
    /// What was read, in words.
    pub finding: String,
    /// What was read, for comparing with a later reading; its form is the factor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What to do, if it is not as wanted; other ways to the same end on further lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Factor {
    /// A factor without a value to compare.
    pub fn new(step: u8, name: impl Into<String>, standing: Standing, finding: impl Into<String>) -> Factor {
        Factor { step, name: name.into(), standing, finding: finding.into(), value: None, fix: None }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Begun and not ended: in progress, or killed.
    Unfinished,
    /// Ended by the user; can be resumed.
    Interrupted,
    /// All samples are there.
    Finished,
}

/// A run, without its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number in its store; 0 if it was not stored.
    pub id: i64,
    /// Identity across stores, 32 hex digits.
    pub uuid: String,
    /// When it began, since 1970.
    pub created: Nanos,
    /// Version of tare.
    pub tool: String,
    /// What was asked.
    pub plan: Plan,
    /// Where.
    pub host: Host,
    /// Where process times come from.
    pub pt_source: PtSource,
    /// Why better sources were not used, best first.
    pub pt_source_notes: Vec<String>,
    /// State of the machine before the first sample.
    pub factors: Vec<Factor>,
    /// Where it stands.
    pub status: Status,
    /// Facts for later readers (e.g. `resumed`, `reboot`), with times.
    pub notes: BTreeMap<String, String>,
}
