//! A machine, for tests.

use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::machine::data::Host;

pub(crate) fn host(name: &str) -> Host {
    let known = |t: &str| Reading::Value(t.to_owned());
    Host {
        name: name.to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: "6.1.0".to_owned(),
        kernel_version: "#1 SMP".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("Xeon 8375C"),
        microcode: Reading::Absent(Absent::NoPermission("root".to_owned())),
        cpus: 8,
        memory: Reading::Value(1 << 34),
        hypervisor: known("none"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(1e9),
    }
}
