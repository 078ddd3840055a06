//! Settings of the kernel that change others with them, which must be restored, too.

use crate::setting::Target;
use std::path::Path;

const CPU: &str = "sys/devices/system/cpu";

/// Files of all CPUs, `cpuN/<rest>`, that exist.
fn of_all_cpus(root: &Path, files: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(CPU)).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let mut cpus: Vec<u32> = names.filter_map(|n| n.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    cpus.iter().flat_map(|n| files.iter().map(move |f| format!("{CPU}/cpu{n}/{f}"))).collect()
}

/// Values that may change when the target is written. The reader omits those that do not exist.
pub(crate) fn companions(root: &Path, target: &Target) -> Vec<Target> {
    let Target::File(name) = target else { return Vec::new() };
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let beside = |files: &[&str]| files.iter().filter(|f| **f != file).map(|f| format!("{folder}/{f}")).collect();
    let limits = ["cpufreq/scaling_max_freq", "cpufreq/scaling_min_freq"];
    let names: Vec<String> = match file {
        // kernel/watchdog.c: `watchdog` stands for both detectors; 1 turns on the one that was off, too.
        "watchdog" | "soft_watchdog" | "nmi_watchdog" if folder.ends_with("sys/kernel") => {
            beside(&["watchdog", "soft_watchdog", "nmi_watchdog"])
        }
        // drivers/cpufreq: a change of boost resets each policy's maximum to the hardware's.
        "boost" | "no_turbo" => of_all_cpus(root, &limits),
        // drivers/cpufreq/intel_pstate.c, amd-pstate.c: the governor `performance` overrides the energy preference.
        "scaling_governor" => beside(&["energy_performance_preference"]),
        // kernel/cpu.c: siblings go offline, or come online.
        "control" if folder.ends_with("cpu/smt") => of_all_cpus(root, &["online"]),
        _ => Vec::new(),
    };
    names.into_iter().map(Target::File).collect()
}

/// Whether reading it may change it. Up to Linux 6.12, kernel/watchdog.c (proc_watchdog_common) takes what it reports for
/// what is wanted: who reads `soft_watchdog` while `watchdog` is 0 turns it off for good, and a 1 to one of the two has no
/// effect. Only if each is written, and none is read in between, all are as before.
pub(crate) fn is_lost_when_read(target: &Target) -> bool {
    let Target::File(name) = target else { return false };
    let file = name.trim_start_matches('/').strip_prefix("proc/sys/kernel/");
    file.is_some_and(|file| matches!(file, "watchdog" | "soft_watchdog" | "nmi_watchdog"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_detectors_hang_on_the_watchdog() {
        let companions_of = |name: &str| companions(Path::new("/nowhere"), &Target::File(name.into()));
        let file = |name: &str| Target::File(name.into());
        let both = [file("proc/sys/kernel/soft_watchdog"), file("proc/sys/kernel/nmi_watchdog")];
        assert_eq!(companions_of("proc/sys/kernel/watchdog"), both);
        assert!(companions_of("proc/sys/vm/swappiness").is_empty());
        assert!(companions_of("sys/devices/system/cpu/cpufreq/boost").is_empty());
    }
}
