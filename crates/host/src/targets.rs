//! The files that a setting may name, and the file system that each must be on.
//!
//! Tune and restore write to nothing else, whatever a journal or a file of settings says.

use std::path::{Component, Path};

const CPU: &str = "sys/devices/system/cpu";

/// Files of a cpufreq policy, reached by the policy or by its CPUs.
const POLICY: &[&str] =
    &["boost", "energy_performance_preference", "scaling_governor", "scaling_max_freq", "scaling_min_freq"];

/// Every file that a factor sets or that changes with one, without those of cpufreq; `*` stands for a number.
const FILES: &[&str] = &[
    "proc/irq/*/smp_affinity_list",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/perf_event_max_sample_rate",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/soft_watchdog",
    "proc/sys/kernel/timer_migration",
    "proc/sys/kernel/watchdog",
    "proc/sys/vm/compaction_proactiveness",
    "proc/sys/vm/swappiness",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/kernel/debug/sched/fair_server/cpu*/runtime",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

/// Magic numbers of statfs(2), from linux/magic.h.
const PROC: u64 = 0x9fa0;
const SYSFS: u64 = 0x6265_6572;
const DEBUGFS: u64 = 0x6462_6720;
const CGROUP2: u64 = 0x6367_7270;

/// Whether a path is one of plain names: no `..`, no leading slash.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|c| matches!(c, Component::Normal(_)))
}

/// The type of file system that a file must be on; `None` if no setting may name it. `cgroups` is where cgroup v2 is
/// mounted, without slashes around it.
pub(crate) fn file_system(name: &str, cgroups: Option<&str>) -> Option<u64> {
    if !is_plain(name) {
        return None;
    }
    if let Some(below) = cgroups.and_then(|mount| name.strip_prefix(mount)?.strip_prefix('/')) {
        return below.ends_with("/cgroup.freeze").then_some(CGROUP2);
    }
    let of_policy = || POLICY.iter().any(|file| policy(name).is_some_and(|f| f == *file));
    if !FILES.iter().any(|pattern| matches(pattern, name)) && !of_policy() {
        return None;
    }
    Some(match name {
        n if n.starts_with("proc/") => PROC,
        n if n.starts_with("sys/kernel/debug/") => DEBUGFS,
        _ => SYSFS,
    })
}

/// The file of a cpufreq policy that a path names.
fn policy(name: &str) -> Option<&str> {
    let (folder, file) = name.rsplit_once('/')?;
    let below = folder.strip_prefix(CPU)?.strip_prefix('/')?;
    (matches("cpufreq/policy*", below) || matches("cpu*/cpufreq", below)).then_some(file)
}

/// Whether a name is of a pattern in which `*` stands for a number.
fn matches(pattern: &str, name: &str) -> bool {
    let word_matches = |pattern: &str, word: &str| match pattern.split_once('*') {
        None => pattern == word,
        Some((before, after)) => {
            let number = word.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        }
    };
    pattern.split('/').count() == name.split('/').count()
        && pattern.split('/').zip(name.split('/')).all(|(p, w)| word_matches(p, w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_factors_set_has_a_file_system() {
        let kind_of = |name: &str| file_system(name, Some("sys/fs/cgroup"));
        assert_eq!(kind_of("proc/sys/vm/swappiness"), Some(PROC));
        assert_eq!(kind_of("proc/irq/24/smp_affinity_list"), Some(PROC));
        assert_eq!(kind_of("sys/devices/system/cpu/cpu12/cpufreq/scaling_governor"), Some(SYSFS));
        assert_eq!(kind_of("sys/devices/system/cpu/cpufreq/policy3/boost"), Some(SYSFS));
        assert_eq!(kind_of("sys/kernel/debug/sched/fair_server/cpu0/runtime"), Some(DEBUGFS));
        assert_eq!(kind_of("sys/fs/cgroup/system.slice/cron.service/cgroup.freeze"), Some(CGROUP2));
        for other in [
            "",
            "proc/sys/kernel/core_pattern",
            "proc/sys/kernel/modprobe",
            "proc/self/root/etc/passwd",
            "proc/self/mem",
            "proc/sysrq-trigger",
            "proc/irq/*/smp_affinity_list",
            "proc/irq/1/../../sys/vm/swappiness",
            "/proc/sys/vm/swappiness",
            "proc/sys/vm/swappiness/x",
            "sys/devices/system/cpu/cpu0/online",
            "sys/devices/system/cpu/cpu/cpufreq/boost",
            "sys/fs/cgroup/cgroup.procs",
            "sys/fs/cgroup/x/cgroup.kill",
            "sys/fs/cgroup/../../tmp/cgroup.freeze",
            "sys/power/state",
            "etc/passwd",
        ] {
            assert_eq!(kind_of(other), None, "{other}");
        }
        assert_eq!(file_system("sys/fs/cgroup/x/cgroup.freeze", None), None);
    }
}
