//! On which machine, and in which state of it, something was measured.

use crate::base::hash::fnv64;
use crate::base::reading::Reading;
use crate::machine::data::{Factor, Host};
use serde::{Deserialize, Serialize};

/// A machine as it was described when something was measured, and the factors of its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Described")]
pub struct Conditions {
    host: Host,
    /// [`fingerprint`] of the two others; computed again when it is read.
    fingerprint: String,
    /// State of the machine before the first measurement.
    factors: Vec<Factor>,
}

/// What of [`Conditions`] is read; the fingerprint follows from it.
#[derive(Deserialize)]
struct Described {
    host: Host,
    factors: Vec<Factor>,
}

impl From<Described> for Conditions {
    fn from(d: Described) -> Conditions {
        Conditions::new(d.host, d.factors)
    }
}

impl Conditions {
    /// Of a machine and its factors.
    pub fn new(host: Host, factors: Vec<Factor>) -> Conditions {
        let fingerprint = fingerprint(&host, &factors);
        Conditions { host, fingerprint, factors }
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Equal for measurements whose times can be compared ([`fingerprint`]).
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// State of the machine before the first measurement.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }
}

/// The factors of the CPU's speed that stay as they are unless they are set.
pub(crate) const LASTING: [&str; 3] = ["governor", "turbo", "smt"];

/// A hash of what makes times comparable, 16 hex digits: CPU model and microcode, number of CPUs, memory, architecture,
/// kernel, hypervisor, clock source, frequency governor, turbo, SMT. The machine's identity and name are not in it: two
/// equal machines have one fingerprint. Memory counts in steps of 64 MiB, as a kernel's own share varies by some MB.
pub fn fingerprint(host: &Host, factors: &[Factor]) -> String {
    let text = |r: &Reading<String>| r.value().cloned().unwrap_or_default();
    let memory = host.memory.value().map(|m| (m >> 26).to_string()).unwrap_or_default();
    let mut parts = vec![
        text(&host.cpu),
        text(&host.microcode),
        host.cpus.to_string(),
        memory,
        host.architecture.clone(),
        host.kernel.clone(),
        host.kernel_version.clone(),
        text(&host.hypervisor),
        text(&host.clock_source),
    ];
    let state = |name: &str| factors.iter().find(|f| f.name == name).and_then(|f| f.value.clone()).unwrap_or_default();
    parts.extend(LASTING.into_iter().map(state));
    // The length keeps "ab", "c" from being "a", "bc".
    let bytes: Vec<u8> =
        parts.iter().flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.bytes())).collect();
    format!("{:016x}", fnv64(&bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::reading::Absent;
    use crate::machine::data::Standing;
    pub(crate) use crate::machine::test_host::host;

    pub(crate) fn factor(name: &str, value: &str) -> Factor {
        Factor { value: Some(value.to_owned()), ..Factor::new(1, name, Standing::Held, "") }
    }

    #[test]
    fn a_fingerprint_is_of_what_times_depend_on() {
        let same = fingerprint(&host(), &[]);
        assert_eq!((same.len(), u64::from_str_radix(&same, 16).is_ok()), (16, true));
        // Stable: stored data of different versions of tare are compared by it.
        assert_eq!(same, "a105a3f8583580d0");
        let other = Host {
            name: "z".to_owned(),
            machine: "2".repeat(16),
            boot: Reading::Value("c".to_owned()),
            cycle_counter_hz: Reading::Value(2.2e9),
            memory: Reading::Value((4 << 30) + 5_000_000),
            ..host()
        };
        assert_eq!(fingerprint(&other, &[factor("load-average", "3")]), same);
        let changed = [
            Host { cpu: Reading::Value("b CPU".to_owned()), ..host() },
            Host { microcode: Reading::Value("0x2".to_owned()), ..host() },
            Host { microcode: Reading::Absent(Absent::NotAsked(String::new())), ..host() },
            Host { cpus: 3, ..host() },
            Host { memory: Reading::Value(8 << 30), ..host() },
            Host { architecture: "aarch64".to_owned(), ..host() },
            Host { kernel: "6.1.1".to_owned(), ..host() },
            Host { hypervisor: Reading::Value("KVM".to_owned()), ..host() },
            Host { clock_source: Reading::Value("hpet".to_owned()), ..host() },
        ];
        let mut all: Vec<String> = changed.iter().map(|h| fingerprint(h, &[])).collect();
        all.extend(["governor", "turbo", "smt"].map(|name| fingerprint(&host(), &[factor(name, "on")])));
        all.push(same);
        let n = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), n, "two of them are equal");
    }
}
