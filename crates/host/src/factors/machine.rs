//! What the readers of factors read from: files below a root, and what only calls and waiting show.

use crate::setting::{Setting, Target};
use std::cell::OnceCell;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_sys::clock;
use tarebench_sys::clock::ClockDiscipline;
use tarebench_sys::procfs::{parse_cpu_list, parse_stat, parse_steal, read_below};
use tarebench_sys::snapshot::{Snapshot, SnapshotReader};
use tarebench_sys::{perf, process};

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// Its name, at most 15 bytes.
    pub comm: String,
    pub kernel_thread: bool,
}

/// A process that used CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    pub pid: i32,
    pub comm: String,
    /// Its user, if known.
    pub uid: Option<u32>,
    /// Share of one CPU, 1 for all of it.
    pub share: f64,
}

/// A machine to read factors from. Every field that is no file can be filled in by tests.
pub struct FactorMachine {
    /// Folder that holds `proc` and `sys`.
    pub root: PathBuf,
    /// Kernel release, as `uname -r`.
    pub kernel: Reading<String>,
    /// Kernel version, as `uname -v`.
    pub kernel_version: Reading<String>,
    /// The clock's discipline.
    pub discipline: Reading<ClockDiscipline>,
    /// What reading each clock costs, in ns.
    pub clock_costs: Reading<Vec<(&'static str, f64)>>,
    /// CLOCK_REALTIME less CLOCK_BOOTTIME: it changes only when the clock is stepped, as both are slewed alike.
    pub epoch: Reading<Nanos>,
    /// The time since 1970.
    pub now: Reading<Nanos>,
    /// Whether hardware counters can be opened.
    pub hardware_counters: Reading<()>,
    /// Share of the CPUs' time that was steal time in the sampled period.
    pub steal: Reading<f64>,
    /// Processes that used more than a hundredth of a CPU over the sampled span.
    pub busy: Reading<Vec<Busy>>,
    /// systemd's units with their state (`active`, `inactive`).
    pub units: Reading<Vec<(String, String)>>,
    /// CPUs to measure on, if they are named.
    pub cpus: Option<Vec<u32>>,
    processes: OnceCell<Reading<Vec<Process>>>,
}

fn not_sampled() -> Absent {
    Absent::NotAsked("takes a second (tare doctor)".into())
}

impl FactorMachine {
    /// From files alone: what has no file is absent.
    pub fn from_files(root: &Path) -> FactorMachine {
        let file = |path: &str| text_of(root, path).into();
        let none = || Absent::NotAsked("read from files only".into());
        FactorMachine {
            root: root.to_owned(),
            kernel: file("proc/sys/kernel/osrelease"),
            kernel_version: file("proc/sys/kernel/version"),
            discipline: Reading::Absent(none()),
            clock_costs: Reading::Absent(none()),
            epoch: Reading::Absent(none()),
            now: Reading::Absent(none()),
            hardware_counters: Reading::Absent(none()),
            steal: Reading::Absent(not_sampled()),
            busy: Reading::Absent(not_sampled()),
            units: Reading::Absent(Absent::NotAsked("systemd was not queried".into())),
            cpus: None,
            processes: OnceCell::new(),
        }
    }

    /// As it is at this moment, without waiting.
    pub fn now(root: &Path) -> FactorMachine {
        let counters = perf::hardware_counters().map_err(|e| match e.errno() {
            Some(libc::ENOENT) => Absent::NotSupported("the kernel has no hardware counters".into()),
            _ => e.absent("a lower kernel.perf_event_paranoid (2 or less), or CAP_PERFMON"),
        });
        FactorMachine {
            discipline: clock::clock_discipline().map_err(|e| e.absent("permission to call adjtimex")).into(),
            clock_costs: Reading::Value(clock::read_costs()),
            epoch: Reading::Value(clock::realtime() - clock::boottime()),
            now: Reading::Value(clock::realtime()),
            hardware_counters: counters.into(),
            ..FactorMachine::from_files(root)
        }
    }

    /// As [`FactorMachine::now`], after recording steal time and processes for a period.
    pub fn watched(root: &Path, span: Duration) -> FactorMachine {
        let mut reader = SnapshotReader::of_this_machine().ok();
        let mut image = || reader.as_mut().and_then(|r| r.capture().ok());
        let steal = || read_below(root, "proc/stat").and_then(|t| parse_steal(&t));
        let (steal_before, began) = (steal(), clock::monotonic());
        let before = image();
        std::thread::sleep(span);
        let after = image();
        let (steal_after, took) = (steal(), clock::monotonic() - began);
        let busy = match (before, after) {
            (Some(a), Some(b)) => Reading::Value(busy_between(&a, &b, took)),
            _ => Reading::Absent(Absent::Failed("the processes could not be listed".into())),
        };
        let mut machine = FactorMachine::now(root);
        let cpus = machine.online().len().max(1) as f64;
        machine.steal = match (steal_before, steal_after) {
            (Ok(a), Ok(b)) => Reading::Value((b - a).0 as f64 / (took.0.max(1) as f64 * cpus)),
            (Err(e), _) | (_, Err(e)) => Reading::Absent(Absent::NotSupported(e.to_string())),
        };
        machine.busy = busy;
        machine
    }

    /// A file's text, trimmed, by its path without a leading slash.
    pub(crate) fn text(&self, path: &str) -> Result<String, Absent> {
        text_of(&self.root, path)
    }

    /// A file's number.
    pub(crate) fn number(&self, path: &str) -> Result<i64, Absent> {
        let text = self.text(path)?;
        text.parse().map_err(|_| Absent::Failed(format!("/{path} is `{}`, not a number", head(&text))))
    }

    /// The chosen word of a file such as `always [madvise] never`.
    pub(crate) fn choice(&self, path: &str) -> Result<String, Absent> {
        let text = self.text(path)?;
        let chosen = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']').map(str::to_owned));
        chosen.ok_or_else(|| Absent::Failed(format!("/{path} is `{}`; no value is selected", head(&text))))
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Names in a folder, sorted; none if it cannot be listed.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Numbers after a prefix in the names of a folder, sorted.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let digits = |n: &String| n.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = self.names(folder).iter().filter_map(digits).collect();
        numbers.sort_unstable();
        numbers
    }

    /// CPUs of a list file such as `online`; none if it is empty or missing.
    pub(crate) fn cpu_list(&self, path: &str) -> Vec<u32> {
        self.text(path).ok().and_then(|t| parse_cpu_list(&t)).unwrap_or_default()
    }

    /// CPUs that are online.
    pub(crate) fn online(&self) -> Vec<u32> {
        self.cpu_list("sys/devices/system/cpu/online")
    }

    /// CPUs to be kept quiet: those named, else those that the kernel isolates.
    pub(crate) fn quiet_cpus(&self) -> Vec<u32> {
        self.cpus.clone().unwrap_or_else(|| self.cpu_list("sys/devices/system/cpu/isolated"))
    }

    /// Frequency policies: the first CPU of each, and its folder.
    pub(crate) fn policies(&self) -> Vec<(u32, String)> {
        let cpu = "sys/devices/system/cpu";
        let policies = self.numbered(&format!("{cpu}/cpufreq"), "policy");
        policies.into_iter().map(|p| (p, format!("{cpu}/cpufreq/policy{p}"))).collect()
    }

    /// Flags of the first CPU; absent where there are none (Arm calls them features).
    pub(crate) fn cpu_flags(&self) -> Result<Vec<String>, Absent> {
        let info = self.text("proc/cpuinfo")?;
        let line = info.lines().find(|l| l.starts_with("flags"));
        let line =
            line.ok_or_else(|| Absent::NotSupported("/proc/cpuinfo has no flags on this architecture".into()))?;
        Ok(line.split_whitespace().skip(1).filter(|w| *w != ":").map(str::to_owned).collect())
    }

    /// Runs below a hypervisor: by the CPU's flag, or by the firmware's name where CPUs have no such flag.
    pub(crate) fn is_virtual(&self) -> bool {
        match self.cpu_flags() {
            Ok(flags) => flags.iter().any(|w| w == "hypervisor"),
            Err(_) => crate::host::hypervisor(&self.root, "").value().is_some_and(|v| v != "none"),
        }
    }

    /// Processes with their names.
    pub(crate) fn processes(&self) -> Result<&[Process], Absent> {
        let list = self.processes.get_or_init(|| list_processes(&self.root).into());
        list.as_result().map(Vec::as_slice).map_err(Clone::clone)
    }

    /// Names of the processes among these, sorted, each once; kernel threads are omitted.
    pub(crate) fn running_of(&self, names: &[&str]) -> Result<Vec<String>, Absent> {
        let all = self.processes()?.iter().filter(|p| !p.kernel_thread && names.contains(&p.comm.as_str()));
        let mut found: Vec<String> = all.map(|p| p.comm.clone()).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Names of this kind of units that are active and among these.
    pub(crate) fn active_units(&self, names: &[&str]) -> Result<Vec<String>, Absent> {
        let units = self.units.as_result().map_err(Clone::clone)?;
        let wanted = units.iter().filter(|(name, state)| state == "active" && names.contains(&name.as_str()));
        Ok(wanted.map(|(name, _)| name.clone()).collect())
    }

    /// A setting of a file, if the file is there.
    pub(crate) fn file_setting(&self, factor: &str, path: String, wanted: impl ToString) -> Option<Setting> {
        self.has(&path).then(|| Setting {
            factor: factor.to_owned(),
            target: Target::File(path),
            wanted: wanted.to_string(),
            survives_reboot: false,
        })
    }

    /// As [`Machine::file_setting`], as the only one of its factor.
    pub(crate) fn one_file(&self, factor: &str, path: &str, wanted: impl ToString) -> Vec<Setting> {
        self.file_setting(factor, path.to_owned(), wanted).into_iter().collect()
    }
}

fn head(text: &str) -> String {
    text.chars().take(40).collect()
}

fn text_of(root: &Path, path: &str) -> Result<String, Absent> {
    let data = read_below(root, path).map_err(|e| match e.errno() {
        Some(libc::ENOENT | libc::ENOTDIR) => Absent::NotSupported(format!("this machine has no /{path}")),
        _ => e.absent(&format!("permission to read /{path}")),
    })?;
    Ok(String::from_utf8_lossy(&data).trim().to_owned())
}

fn list_processes(root: &Path) -> Result<Vec<Process>, Absent> {
    let folder = root.join("proc");
    let entries = std::fs::read_dir(&folder).map_err(|e| Absent::Failed(format!("/proc cannot be listed: {e}")))?;
    let numeric = |e: &std::fs::DirEntry| e.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let process = |e: std::fs::DirEntry| {
        let stat = parse_stat(&std::fs::read(e.path().join("stat")).ok()?)?;
        let comm = String::from_utf8_lossy(stat.comm.as_bytes()).into_owned();
        Some(Process { pid: stat.pid, comm, kernel_thread: stat.kernel_thread })
    };
    let found: Vec<Process> = entries.flatten().filter(numeric).filter_map(process).collect();
    if found.is_empty() {
        return Err(Absent::NotSupported("/proc shows no process".into()));
    }
    Ok(found)
}

/// Processes that used more than a hundredth of a CPU between two snapshots, other than this one; the busiest first.
fn busy_between(before: &Snapshot, after: &Snapshot, took: Nanos) -> Vec<Busy> {
    let own = process::own_pid();
    let mut busy: Vec<Busy> = Vec::new();
    for e in after.entries.iter().filter(|e| e.pid != own) {
        let known = before.entries.iter().find(|b| b.pid == e.pid && b.start_ticks == e.start_ticks);
        let used = e.cpu - known.map_or(Nanos::ZERO, |b| b.cpu);
        let share = used.0 as f64 / took.0.max(1) as f64;
        if share >= 0.01 {
            let uid = std::fs::metadata(format!("/proc/{}", e.pid)).ok().map(|m| m.uid());
            let comm = String::from_utf8_lossy(e.comm.as_bytes()).into_owned();
            busy.push(Busy { pid: e.pid, comm, uid, share });
        }
    }
    busy.sort_by(|a, b| b.share.total_cmp(&a.share));
    busy
}

/// CPU numbers as the kernel writes them: `0-3,8`.
pub fn format_cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for c in sorted {
        match runs.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(c) => *end = c,
            _ => runs.push((c, c)),
        }
    }
    let range = |(a, b): (u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.into_iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(format_cpu_list(&[]), "");
        assert_eq!(format_cpu_list(&[3, 1, 2, 8, 8, 10, 11]), "1-3,8,10-11");
    }
}
