//! What can be set on a machine: the one thing that factors name and that tune and restore carry out.

use serde::{Deserialize, Serialize};
use std::io;
use tarebench_core::base::reading::Absent;

/// Where a value lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Target {
    /// A file of procfs, sysfs or a cgroup, by its path below the root, without a leading slash. Its value is the
    /// content, trimmed; of files that offer a choice (`always [madvise] never`) the chosen word.
    File(String),
    /// A systemd unit, started (`active`) or stopped (`inactive`); never enabled or disabled.
    Unit(String),
    /// A service of a machine without systemd, by the name of its script in /etc/init.d; started (`active`) or stopped (`inactive`).
    Script(String),
}

/// A value to give to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The factor that asks for it.
    pub factor: String,
    pub target: Target,
    pub wanted: String,
    /// The change outlives a reboot (stopped units do not start by themselves in this boot, but do in the next: false).
    pub survives_reboot: bool,
}

/// Why a value could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// This kernel, or this machine, does not have it.
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{what}: {cause}")]
    Refused {
        /// What was tried, on what.
        what: String,
        #[source]
        cause: io::Error,
    },
    /// What was found is not a value that could be restored.
    #[error("{what} holds {found:?}: expected a single value")]
    Form {
        what: String,
        /// The beginning of what was found.
        found: String,
    },
    /// A unit or a path that tare does not change.
    #[error("{what} is not changed: {why}")]
    Protected { what: String, why: String },
    /// systemd cannot be reached.
    #[error("systemd: {0}")]
    NoSystemd(Absent),
    /// Services are not switched by scripts here.
    #[error("scripts of services: {0}")]
    NoScripts(Absent),
    /// A service's script failed.
    #[error("{what}: {cause}")]
    Script {
        /// What was tried: the script and its argument.
        what: String,
        cause: String,
    },
    #[error("{what}: {cause}")]
    Systemd {
        /// What was tried, on what.
        what: String,
        cause: String,
    },
}

impl ValueError {
    /// Whether there is nothing that could be read or written at all.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            ValueError::Missing(_) | ValueError::NoScripts(_) | ValueError::NoSystemd(Absent::NotSupported(_))
        )
    }
}
