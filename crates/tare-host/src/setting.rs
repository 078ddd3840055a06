//! What can be set on a machine: the one thing that factors name and that tune and restore carry out.

use serde::{Deserialize, Serialize};

/// Where a value lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Target {
    /// A file of procfs, sysfs or a cgroup, by its path below the root, without a leading slash. Its value is the
    /// content, trimmed; of files that offer a choice (`always [madvise] never`) the chosen word.
    File(String),
    /// A systemd unit, started (`active`) or stopped (`inactive`); never enabled or disabled.
    Unit(String),
}

/// A value to give to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The factor that asks for it.
    pub factor: String,
    /// Where.
    pub target: Target,
    /// The value.
    pub wanted: String,
    /// The change outlives a reboot (stopped units do not start by themselves in this boot, but do in the next: false).
    pub survives_reboot: bool,
}
