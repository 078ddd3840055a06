//! Folding of kernel threads that exist once per CPU or by number into families.
//!
//! `kworker/0:1-events` and `kworker/u8:2-flush-253:0` are both `kworker`. A name that carries a device (`jbd2/md0-8`,
//! `flush-9:0`, `irq/24-eth0`) stays, since another device is another disturbance. User processes are never folded.

use crate::base::name::Name;
use crate::sample::daemons::TaskKind;

/// How the names of a kind of kernel thread are treated.
enum Fold {
    /// Stays, whatever follows the prefix.
    Keep,
    /// Becomes the family, whatever follows the prefix.
    Any(&'static str),
    /// Becomes the family if only digits follow the prefix (at least one).
    Number(&'static str),
}

/// By prefix; the first that fits decides. After the table: `NAME/DIGITS`, one thread per CPU, becomes `NAME`
/// (`ksoftirqd/3`, `migration/0`, `cpuhp/1`, `rcuop/2`, `rcuog/0`, `idle_inject/0`, `kblockd/0`, `watchdog/0`, …).
const TABLE: &[(&str, Fold)] = &[
    // Carry a device or an interrupt.
    ("irq/", Fold::Keep),
    ("jbd2/", Fold::Keep),
    ("flush-", Fold::Keep),
    ("mmcqd/", Fold::Keep),
    // Workers change their name with the work that they do.
    ("kworker/", Fold::Any("kworker")),
    // One for each memory node, SCSI host, or by counting.
    ("kswapd", Fold::Number("kswapd")),
    ("kcompactd", Fold::Number("kcompactd")),
    ("kpromoted", Fold::Number("kpromoted")),
    // The papers list kslowd000 and kslowd001 separately (the report's tables 11 and 12), and describe them as one. They are
    // threads of one pool (slow-work, Linux 2.6.30 to 2.6.35): which of them takes a job is chance, so apart they would be two
    // daemons with half the evidence each. The samples keep the single names.
    ("kslowd", Fold::Number("kslowd")),
    ("scsi_eh_", Fold::Number("scsi_eh")),
    ("scsi_tmf_", Fold::Number("scsi_tmf")),
    ("scsi_wq_", Fold::Number("scsi_wq")),
    ("vhost-", Fold::Number("vhost")),
    ("kdamond.", Fold::Number("kdamond")),
];

fn number(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}

/// The family of a task, in the escaped text form of [`Name`]; the name itself for all but numbered kernel threads.
pub fn family(name: &Name, kind: TaskKind) -> String {
    if kind != TaskKind::Kernel {
        return name.to_string();
    }
    let bytes = name.as_bytes();
    for (prefix, fold) in TABLE {
        let Some(rest) = bytes.strip_prefix(prefix.as_bytes()) else { continue };
        match fold {
            Fold::Keep => return name.to_string(),
            Fold::Any(family) => return (*family).to_owned(),
            Fold::Number(family) if number(rest) => return (*family).to_owned(),
            Fold::Number(_) => {}
        }
    }
    match bytes.iter().rposition(|b| *b == b'/').map(|slash| bytes.split_at(slash)) {
        Some((head, [_, rest @ ..])) if !head.is_empty() && number(rest) => Name::new(head).to_string(),
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernel_threads() {
        for (name, want) in [
            ("kworker/0:1-events", "kworker"),
            ("kworker/u8:2-flush-253:0", "kworker"),
            ("kworker/u8:2+flush-253:0", "kworker"),
            ("kworker/0:0H", "kworker"),
            ("ksoftirqd/3", "ksoftirqd"),
            ("migration/0", "migration"),
            ("cpuhp/1", "cpuhp"),
            ("rcuop/2", "rcuop"),
            ("rcuog/0", "rcuog"),
            ("rcu_preempt", "rcu_preempt"),
            ("idle_inject/0", "idle_inject"),
            ("irq/24-eth0", "irq/24-eth0"),
            ("irq/9", "irq/9"),
            ("jbd2/md0-8", "jbd2/md0-8"),
            ("flush-9:0", "flush-9:0"),
            ("md0_raid1", "md0_raid1"),
            ("xfsaild/sda1", "xfsaild/sda1"),
            ("kswapd0", "kswapd"),
            ("kswapd", "kswapd"),
            ("kcompactd0", "kcompactd"),
            ("kblockd/0", "kblockd"),
            ("kslowd000", "kslowd"),
            ("kslowd001", "kslowd"),
            ("scsi_eh_3", "scsi_eh"),
            ("scsi_eh_", "scsi_eh_"),
            ("kthreadd", "kthreadd"),
            ("/0", "/0"),
            ("", ""),
        ] {
            assert_eq!(family(&Name::from(name), TaskKind::Kernel), want, "{name}");
        }
    }

    #[test]
    fn user_processes_are_not_folded() {
        for name in ["kworker/0:1", "ksoftirqd/3", "kswapd0", "grep"] {
            assert_eq!(family(&Name::from(name), TaskKind::User), name);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_readable_text(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let f = family(&Name(bytes), TaskKind::Kernel);
            prop_assert!(Name::parse(&f).is_ok());
        }
    }
}
