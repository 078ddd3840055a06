//! How the kernel's tick is configured.

use std::path::Path;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::noise::data::KernelTick;
use tarebench_sys::clock;
use tarebench_sys::procfs::{parse_cpu_list, read_below};

/// The tick of the machine whose files are below `root`; its length is that of the kernel that runs.
pub fn tick(root: &Path) -> KernelTick {
    KernelTick { hz: hz(clock::tick()), idle: idle(root), full: full(root) }
}

fn hz(tick: Nanos) -> Reading<f64> {
    if tick > Nanos::ZERO {
        Reading::Value(1e9 / tick.as_f64())
    } else {
        Reading::Absent(Absent::NotSupported("the coarse clock has no resolution".to_owned()))
    }
}

/// From the kernel's list of timers (`.nohz`), which only root may read; else from its command line, if that says so.
fn idle(root: &Path) -> Reading<bool> {
    let text = |name| read_below(root, name).map(|t| String::from_utf8_lossy(&t).into_owned());
    let timers = text("proc/timer_list");
    if let Ok(timers) = &timers {
        // Before Linux 6.9 it was .nohz_mode, where 0 is no mode.
        let line = |l: &str| {
            let (name, value) = l.trim().split_once(':')?;
            matches!(name.trim(), ".nohz" | ".nohz_mode").then(|| value.trim() != "0")
        };
        if let Some(without) = timers.lines().find_map(line) {
            return Reading::Value(without);
        }
    }
    match text("proc/cmdline") {
        Ok(line) if line.split_whitespace().any(|w| w == "nohz=off") => Reading::Value(false),
        _ => Reading::Absent(match timers {
            Ok(_) => Absent::NotSupported("/proc/timer_list does not show it".to_owned()),
            Err(e) => e.absent("root, for /proc/timer_list"),
        }),
    }
}

fn full(root: &Path) -> Reading<Vec<u32>> {
    match read_below(root, "sys/devices/system/cpu/nohz_full") {
        // `(null)` is what kernels show that were not given the parameter.
        Ok(text) => Reading::Value(parse_cpu_list(&String::from_utf8_lossy(&text)).unwrap_or_default()),
        // A kernel without CONFIG_NO_HZ_FULL has no such file, and no such CPU.
        Err(e) if e.errno() == Some(libc::ENOENT) => Reading::Value(Vec::new()),
        Err(e) => Reading::Absent(e.absent("to read nohz_full")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> KernelTick {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = root.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        tick(root.path())
    }

    #[test]
    fn of_other_machines() {
        let list = |mode: &str| format!("Timer List Version: v0.10\ncpu: 0\n  .hres_active    : 1\n  {mode}\n");
        let tick_of = |files: &[(&str, &str)]| {
            let t = machine(files);
            (t.idle.value().copied(), t.full.value().cloned())
        };
        assert_eq!(tick_of(&[("proc/timer_list", &list(".nohz           : 1"))]), (Some(true), Some(vec![])));
        assert_eq!(tick_of(&[("proc/timer_list", &list(".nohz_mode      : 0"))]), (Some(false), Some(vec![])));
        assert_eq!(tick_of(&[("proc/cmdline", "quiet nohz=off\n")]), (Some(false), Some(vec![])));
        assert_eq!(tick_of(&[("proc/timer_list", &list(".nohz_mode      : 2"))]), (Some(true), Some(vec![])));
        assert_eq!(tick_of(&[("sys/devices/system/cpu/nohz_full", "(null)\n")]), (None, Some(vec![])));
        assert_eq!(tick_of(&[("sys/devices/system/cpu/nohz_full", "2-3,7\n")]), (None, Some(vec![2, 3, 7])));
    }

    #[test]
    fn this_kernel_has_a_rate() {
        let hz = *tick(Path::new("/")).hz.value().unwrap();
        assert!((24.0..=10_000.0).contains(&hz), "{hz}");
    }
}
