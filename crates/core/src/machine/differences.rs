//! In what the conditions of two measurements differ.

use crate::base::reading::Reading;
use crate::machine::conditions::{Conditions, LASTING};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that both have, with different values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionDifference {
    pub what: ConditionKind,
    /// Of the first one; `None` if it is not known. Bytes of memory and numbers of CPUs are digits.
    pub first: Option<String>,
    /// Of the second one.
    pub second: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum ConditionKind {
    /// The machine's identity: another machine, which may be equal in everything else.
    Machine,
    CpuModel,
    Microcode,
    CpuCount,
    Memory,
    Architecture,
    Kernel,
    KernelVersion,
    Hypervisor,
    ClockSource,
    /// The factor of this name.
    Factor(String),
}

impl ConditionKind {
    /// Whether times are no longer comparable if it differs: it is part of the fingerprint
    /// ([`crate::machine::conditions::fingerprint`]).
    pub fn is_decisive(&self) -> bool {
        match self {
            ConditionKind::Machine => false,
            ConditionKind::Factor(name) => LASTING.contains(&name.as_str()),
            _ => true,
        }
    }
}

/// What differs, the machine first, then the factors in the order of the second one. A factor that one of them does not have is left
/// out: an earlier version of tare did not read it.
pub fn differences(first: &Conditions, second: &Conditions) -> Vec<ConditionDifference> {
    let text = |reading: &Reading<String>| reading.value().cloned();
    let (a, b) = (first.host(), second.host());
    let known = |text: &String| Some(text.clone());
    // In steps, as in the fingerprint: a kernel's own share varies by some MB.
    let step = |memory: &Reading<u64>| memory.value().map(|bytes| bytes >> 26);
    let bytes = |memory: &Reading<u64>| memory.value().map(u64::to_string);
    let memory = match step(&a.memory) == step(&b.memory) {
        true => (None, None),
        false => (bytes(&a.memory), bytes(&b.memory)),
    };
    let of_host = [
        (ConditionKind::Machine, (known(&a.machine), known(&b.machine))),
        (ConditionKind::CpuModel, (text(&a.cpu), text(&b.cpu))),
        (ConditionKind::Microcode, (text(&a.microcode), text(&b.microcode))),
        (ConditionKind::CpuCount, (Some(a.cpus.to_string()), Some(b.cpus.to_string()))),
        (ConditionKind::Memory, memory),
        (ConditionKind::Architecture, (known(&a.architecture), known(&b.architecture))),
        (ConditionKind::Kernel, (known(&a.kernel), known(&b.kernel))),
        (ConditionKind::KernelVersion, (known(&a.kernel_version), known(&b.kernel_version))),
        (ConditionKind::Hypervisor, (text(&a.hypervisor), text(&b.hypervisor))),
        (ConditionKind::ClockSource, (text(&a.clock_source), text(&b.clock_source))),
    ];
    let earlier: BTreeMap<&str, &Option<String>> =
        first.factors().iter().map(|f| (f.name.as_str(), &f.value)).collect();
    let of_factors = second.factors().iter().filter_map(|f| {
        let before = earlier.get(f.name.as_str())?;
        Some((ConditionKind::Factor(f.name.clone()), ((*before).clone(), f.value.clone())))
    });
    let differs = |(what, (first, second)): (ConditionKind, (Option<String>, Option<String>))| {
        (first != second).then_some(ConditionDifference { what, first, second })
    };
    of_host.into_iter().chain(of_factors).filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::Absent;
    use crate::machine::conditions::tests::{factor, host};
    use crate::machine::data::Host;

    /// Whatever changes the fingerprint is named as decisive, and nothing else is.
    #[test]
    fn what_changes_the_fingerprint_is_decisive() {
        let usual = Conditions::new(host(), vec![factor("governor", "performance"), factor("swap-use", "none")]);
        assert_eq!(differences(&usual, &usual), []);
        let known = |t: &str| Reading::Value(t.to_owned());
        type Change = fn(&mut Host);
        let changes: [(Change, ConditionKind); 10] = [
            (|h| h.machine = "2".repeat(16), ConditionKind::Machine),
            (|h| h.cpu = Reading::Absent(Absent::NotAsked(String::new())), ConditionKind::CpuModel),
            (|h| h.microcode = Reading::Value("0x2".to_owned()), ConditionKind::Microcode),
            (|h| h.cpus = 3, ConditionKind::CpuCount),
            (|h| h.memory = Reading::Value(8 << 30), ConditionKind::Memory),
            (|h| h.architecture.push('x'), ConditionKind::Architecture),
            (|h| h.kernel.push('x'), ConditionKind::Kernel),
            (|h| h.kernel_version.push('x'), ConditionKind::KernelVersion),
            (|h| h.hypervisor = Reading::Value("KVM".to_owned()), ConditionKind::Hypervisor),
            (|h| h.clock_source = Reading::Value("hpet".to_owned()), ConditionKind::ClockSource),
        ];
        for (change, what) in changes {
            let mut changed = host();
            change(&mut changed);
            let other = Conditions::new(changed, usual.factors().to_vec());
            let found = differences(&usual, &other);
            assert_eq!(found.iter().map(|d| &d.what).collect::<Vec<_>>(), [&what]);
            assert_eq!(what.is_decisive(), other.fingerprint() != usual.fingerprint(), "{what:?}");
        }
        // A name, a boot and some MB less are no conditions.
        let same = Host { name: "b".to_owned(), boot: known("c"), memory: Reading::Value((4 << 30) + 5), ..host() };
        assert_eq!(differences(&usual, &Conditions::new(same, usual.factors().to_vec())), []);
    }

    #[test]
    fn factors_that_both_have_are_compared() {
        let with = |factors: &[(&str, &str)]| {
            Conditions::new(host(), factors.iter().map(|(name, value)| factor(name, value)).collect())
        };
        let first = with(&[("governor", "performance"), ("ntp", "on"), ("gone", "1")]);
        let second = with(&[("ntp", "off"), ("governor", "powersave"), ("new", "1")]);
        let found = differences(&first, &second);
        let said: Vec<String> = found.iter().map(|d| format!("{:?} {:?} {:?}", d.what, d.first, d.second)).collect();
        assert_eq!(
            said,
            [r#"Factor("ntp") Some("on") Some("off")"#, r#"Factor("governor") Some("performance") Some("powersave")"#]
        );
        assert_eq!(found.iter().map(|d| d.what.is_decisive()).collect::<Vec<_>>(), [false, true]);
    }
}
