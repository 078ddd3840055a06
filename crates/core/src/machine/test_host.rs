//! A machine for tests. Tests of other crates have this file, too: so it names this one from outside.

use tarebench_core::base::reading::Reading;
use tarebench_core::machine::data::Host;

/// A machine of which everything is known.
pub(crate) fn host() -> Host {
    let known = |t: &str| Reading::Value(t.to_owned());
    Host {
        name: "a".to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: "6.1.0".to_owned(),
        kernel_version: "#1 SMP".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: known("0x1"),
        cpus: 2,
        memory: Reading::Value(4 << 30),
        hypervisor: known("none"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(2.1e9),
    }
}
