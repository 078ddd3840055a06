//! A machine, for tests.

use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::machine::data::Host;

#[path = "../../../crates/core/src/machine/test_host.rs"]
mod test_host;

pub(crate) fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        cpu: Reading::Value("Xeon 8375C".to_owned()),
        microcode: Reading::Absent(Absent::NoPermission("root".to_owned())),
        cpus: 8,
        memory: Reading::Value(1 << 34),
        cycle_counter_hz: Reading::Value(1e9),
        ..test_host::host()
    }
}
