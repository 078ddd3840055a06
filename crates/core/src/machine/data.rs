//! The machine that was measured on, and the factors of its state.

use crate::base::reading::{Absent, Reading};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    /// A stable identity that does not reveal the machine id: a hash of it, 16 hex digits.
    pub machine: String,
    /// Boot id, to detect a reboot.
    pub boot: Reading<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Kernel version, as `uname -v`.
    pub kernel_version: String,
    /// Architecture, as `uname -m`.
    pub architecture: String,
    /// Distribution's pretty name.
    pub distribution: Reading<String>,
    pub cpu: Reading<String>,
    /// Revision of the CPU's microcode, as in `/proc/cpuinfo`.
    #[serde(default = "not_read")]
    pub microcode: Reading<String>,
    pub cpus: u32,
    /// Memory in bytes.
    pub memory: Reading<u64>,
    /// Hypervisor, if the machine is virtual; `Value("none")` if it is not.
    pub hypervisor: Reading<String>,
    pub clock_source: Reading<String>,
    /// Cycle counter's frequency in Hz, measured against CLOCK_MONOTONIC_RAW.
    pub cycle_counter_hz: Reading<f64>,
}

/// What descriptions have that were made before this was read.
fn not_read() -> Reading<String> {
    Reading::Absent(Absent::NotAsked("this version of tare did not read it".to_owned()))
}

/// How a factor of the protocol stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As the protocol wants it.
    Held,
    /// Not as it wants it.
    NotHeld,
    /// Unknown on this machine.
    Unknown,
}

/// One observed factor of the machine's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The EMP step that it decides, 1 to 4; 0 if it decides none.
    pub step: u8,
    /// Short name, e.g. `ntp`.
    pub name: String,
    pub standing: Standing,
    /// What was read, in words.
    pub finding: String,
    /// What was read, for comparing with a later reading; its form is the factor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What to do by hand, if it is not as wanted; other ways to the same end on further lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// It is not as wanted, and tare can set it on this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settable: bool,
}

impl Factor {
    /// A factor without a value to compare.
    pub fn new(step: u8, name: impl Into<String>, standing: Standing, finding: impl Into<String>) -> Factor {
        Factor { step, name: name.into(), standing, finding: finding.into(), value: None, fix: None, settable: false }
    }
}
