//! The machine on which a document was measured, in words.

use tarebench_core::documents::head::DocumentHead;

/// CPUs, kernel, hypervisor and fingerprint of the machine, where they are known. Text from the machine: to be escaped.
pub fn described(head: &DocumentHead) -> Option<String> {
    let conditions = head.conditions.as_deref()?;
    let host = conditions.host();
    let cpus = match (host.cpu.value(), host.cpus) {
        (Some(cpu), n) => format!("{n} x {cpu}"),
        (None, 1) => "1 CPU".to_owned(),
        (None, n) => format!("{n} CPUs"),
    };
    let hypervisor = host.hypervisor.value().filter(|h| *h != "none").map(|h| format!(", {h}")).unwrap_or_default();
    let fingerprint = conditions.fingerprint();
    Some(format!("{cpus}, Linux {} {}{hypervisor}; fingerprint {fingerprint}", host.kernel, host.architecture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tarebench_core::base::reading::{Absent, Reading};
    use tarebench_core::base::units::Nanos;
    use tarebench_core::documents::head::{DocumentKind, Status};
    use tarebench_core::machine::conditions::Conditions;
    use tarebench_core::machine::data::Host;

    fn head(cpu: Reading<String>, hypervisor: &str) -> DocumentHead {
        let known = |t: &str| Reading::Value(t.to_owned());
        let host = Host {
            name: "box".to_owned(),
            machine: "1".repeat(16),
            boot: known("b"),
            kernel: "6.1.0".to_owned(),
            kernel_version: "#1".to_owned(),
            architecture: "x86_64".to_owned(),
            distribution: known("Debian"),
            cpu,
            microcode: known("0x1"),
            cpus: 2,
            memory: Reading::Value(1 << 30),
            hypervisor: known(hypervisor),
            clock_source: known("tsc"),
            cycle_counter_hz: Reading::Value(1e9),
        };
        DocumentHead {
            kind: DocumentKind::Noise,
            number: 1,
            uuid: "1".repeat(32),
            title: String::new(),
            created: Nanos(1),
            status: Status::Finished,
            tool: String::new(),
            machine: "box".to_owned(),
            conditions: Some(Box::new(Conditions::new(host, Vec::new()))),
            tags: BTreeMap::new(),
        }
    }

    #[test]
    fn the_machine_is_said_as_far_as_it_is_known() {
        let known = head(Reading::Value("a CPU".to_owned()), "KVM");
        let expected = format!("2 x a CPU, Linux 6.1.0 x86_64, KVM; fingerprint {}", known.fingerprint().unwrap());
        assert_eq!(described(&known), Some(expected));
        let bare = head(Reading::Absent(Absent::NotAsked(String::new())), "none");
        assert!(described(&bare).unwrap().starts_with("2 CPUs, Linux 6.1.0 x86_64; fingerprint "));
        assert_eq!(described(&DocumentHead { conditions: None, ..bare }), None);
    }
}
