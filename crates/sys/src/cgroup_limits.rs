//! The kernel's counts of what the limits of this process's cgroups did: quotas of CPU time and lack of memory, cgroup v1 and v2.

use crate::cgroup::own_place;
use crate::limits::open_files;
use crate::procfs::{flat_keyed, parse_cgroup1_mount, parse_own_cgroup1, read_below};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::account::Share;
use tarebench_core::sample::cgroup_limits::{CgroupLimits, OomKills};

/// A file of counts that is read before and after each sample: `pread` of an open file takes 1 to 15 µs (Linux 6.18).
struct CountsFile {
    /// The cgroup, as its hierarchy names it.
    cgroup: Name,
    path: PathBuf,
    /// `None` if descriptors are few: it is then opened each time.
    kept: Option<File>,
}

/// With fewer descriptors than these, none is kept for counts.
const FEW: u64 = 64;

impl CountsFile {
    fn open(folder: &Path, name: &str, cgroup: &[u8]) -> Option<CountsFile> {
        let path = folder.join(name);
        let file = File::open(&path).ok()?;
        Some(CountsFile { cgroup: Name::new(cgroup), path, kept: (open_files() >= FEW).then_some(file) })
    }

    fn read(&self) -> Option<Vec<u8>> {
        // The kernel fills the buffer as far as it can (seq_file), and all of these files fit.
        let mut all = vec![0; 1 << 14];
        let length = match &self.kept {
            Some(file) => file.read_at(&mut all, 0),
            None => File::open(&self.path).and_then(|file| file.read_at(&mut all, 0)),
        };
        let length = length.ok()?;
        all.truncate(length);
        Some(all)
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.read().and_then(|data| flat_keyed(&data, key))
    }
}

/// The files that tell what the limits did: of the own cgroup first, then of its parents.
pub struct CgroupLimitFiles {
    /// `cpu.stat` of the cgroups that may have a quota.
    quotas: Vec<CountsFile>,
    /// What counts the processes of the own cgroup that were killed for lack of memory, and those below it.
    kills: Option<CountsFile>,
    /// How often a limit of memory was reached in each cgroup, and the key in the file; v1 has a number alone.
    reached: Vec<(CountsFile, Option<&'static str>)>,
    vmstat: Option<CountsFile>,
}

/// All counts at one time.
pub struct CgroupLimitCounts {
    throttled: Vec<Option<Share>>,
    kills: Option<u64>,
    reached: Vec<Option<u64>>,
    machine: Option<u64>,
}

/// The own folder of a hierarchy, with its name, and its parents as far as they are visible here.
fn upwards((folder, name): (PathBuf, Vec<u8>)) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let (mut folder, mut name) = (folder, name);
    loop {
        all.push((folder.clone(), name.clone()));
        let above = name.iter().rposition(|b| *b == b'/').filter(|_| name.len() > 1);
        match (above, folder.pop()) {
            (Some(at), true) => name.truncate(at.max(1)),
            _ => return all,
        }
    }
}

/// The own folder in the v1 hierarchy with this controller, and its name.
fn own_v1(root: &Path, controller: &str) -> Option<(PathBuf, Vec<u8>)> {
    let (top, mount) = parse_cgroup1_mount(&read_below(root, "proc/self/mountinfo").ok()?, controller)?;
    let name = parse_own_cgroup1(&read_below(root, "proc/self/cgroup").ok()?, controller)?;
    // In a container without a namespace of cgroups its own one is mounted.
    let below =
        name.strip_prefix(top.as_slice()).filter(|below| below.is_empty() || below.starts_with(b"/")).unwrap_or(&name);
    let relative = |path: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(path.strip_prefix(b"/").unwrap_or(path)));
    let named: &[u8] = if below.is_empty() { b"/" } else { below };
    Some((root.join(relative(&mount)).join(relative(below)), named.to_vec()))
}

impl CgroupLimitFiles {
    /// What there is of them.
    pub fn open(root: &Path) -> CgroupLimitFiles {
        let v1 = |controller: &str| own_v1(root, controller).map(upwards).unwrap_or_default();
        let v2 = own_place(root).ok().map(upwards).unwrap_or_default();
        let files = |of: &[(PathBuf, Vec<u8>)], name: &str| -> Vec<CountsFile> {
            of.iter().filter_map(|(folder, cgroup)| CountsFile::open(folder, name, cgroup)).collect()
        };
        // Without the controller, and in the root cgroup of v2, the file has no such count.
        let mut quotas = files(&v2, "cpu.stat");
        quotas.extend(files(&v1("cpu"), "cpu.stat"));
        quotas.retain(|f| f.count("nr_throttled").is_some());
        let memory = v1("memory");
        // In v2 a parent's count holds its children's, so that the nearest one will do; in v1 each has its own only.
        let mut kills = files(&v2, "memory.events");
        kills.extend(memory.first().and_then(|(folder, name)| CountsFile::open(folder, "memory.oom_control", name)));
        kills.retain(|f| f.count("oom_kill").is_some());
        let local = files(&v2, "memory.events.local").into_iter().map(|f| (f, Some("oom")));
        let numbers = files(&memory, "memory.failcnt").into_iter().map(|f| (f, None));
        CgroupLimitFiles {
            quotas,
            kills: kills.into_iter().next(),
            reached: local.chain(numbers).collect(),
            vmstat: CountsFile::open(&root.join("proc"), "vmstat", b""),
        }
    }

    /// All counts as they are now.
    pub fn read(&self) -> CgroupLimitCounts {
        let number = |data: Vec<u8>| std::str::from_utf8(data.trim_ascii()).ok()?.parse().ok();
        CgroupLimitCounts {
            throttled: self.quotas.iter().map(|f| throttled(&f.read()?)).collect(),
            kills: self.kills.as_ref().and_then(|f| f.count("oom_kill")),
            reached: self
                .reached
                .iter()
                .map(|(f, key)| key.map_or_else(|| number(f.read()?), |k| f.count(k)))
                .collect(),
            machine: self.vmstat.as_ref().and_then(|f| f.count("oom_kill")),
        }
    }

    /// What happened since then.
    pub fn since(&self, before: &CgroupLimitCounts) -> CgroupLimits {
        let now = self.read();
        let more = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let files = self.quotas.iter().zip(now.throttled.iter().zip(&before.throttled));
        let held = files.filter_map(|(f, (now, before))| {
            let (now, before) = ((*now)?, (*before)?);
            let share = Share { time: now.time - before.time, count: now.count.saturating_sub(before.count) };
            (share.time > Nanos::ZERO).then(|| (f.cgroup.clone(), share))
        });
        let files = self.reached.iter().zip(now.reached.iter().zip(&before.reached));
        let mut reached = files.filter(|(_, (now, before))| more(**now, **before).is_some_and(|n| n > 0));
        let count = |now, before, what: &str| match more(now, before) {
            Some(count) => Reading::Value(count),
            None => Reading::Absent(Absent::NotSupported(what.to_owned())),
        };
        let cgroup = count(now.kills, before.kills, "a cgroup with the memory controller");
        let machine = count(now.machine, before.machine, "oom_kill in /proc/vmstat (Linux 4.13)");
        let limit = reached.next().map(|((f, _), _)| f.cgroup.clone());
        CgroupLimits { throttled: held.collect(), oom_kills: OomKills { cgroup, machine, limit } }
    }
}

/// Time and periods for which a cgroup's tasks were held up, from `cpu.stat`.
fn throttled(cpu_stat: &[u8]) -> Option<Share> {
    let count = flat_keyed(cpu_stat, "nr_throttled")?;
    let v2 = flat_keyed(cpu_stat, "throttled_usec").map(|us| us.saturating_mul(1000));
    let ns = v2.or_else(|| flat_keyed(cpu_stat, "throttled_time"))?;
    Some(Share { time: Nanos(i64::try_from(ns).unwrap_or(i64::MAX)), count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine whose files are laid out below a folder.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn write(dir: &tempfile::TempDir, path: &str, text: &str) {
        fs::write(dir.path().join(path), text).unwrap();
    }

    #[test]
    fn quotas_and_kills_of_v2_are_those_of_all_parents() {
        let events = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n";
        let stat = "usage_usec 5\nnr_periods 1\nnr_throttled 1\nthrottled_usec 100\n";
        let dir = machine(&[
            ("proc/self/mountinfo", "30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/vmstat", "nr_free_pages 1\noom_kill 3\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
            ("sys/fs/cgroup/a/cpu.stat", stat),
            ("sys/fs/cgroup/a/b/cpu.stat", stat),
            ("sys/fs/cgroup/a/memory.events", events),
            ("sys/fs/cgroup/a/memory.events.local", events),
        ]);
        let files = CgroupLimitFiles::open(dir.path());
        let before = files.read();
        let nothing = files.since(&before);
        assert_eq!(nothing.longest_throttling(), None);
        assert_eq!((nothing.oom_kills.cgroup, nothing.oom_kills.machine), (Reading::Value(0), Reading::Value(0)));
        write(&dir, "sys/fs/cgroup/a/cpu.stat", "nr_periods 3\nnr_throttled 3\nthrottled_usec 2100\n");
        write(&dir, "sys/fs/cgroup/a/memory.events", "max 9\noom 1\noom_kill 2\n");
        write(&dir, "sys/fs/cgroup/a/memory.events.local", "max 9\noom 1\noom_kill 2\n");
        write(&dir, "proc/vmstat", "oom_kill 5\n");
        let found = files.since(&before);
        let share = Share { time: Nanos::from_millis(2), count: 2 };
        assert_eq!(found.throttled, [(Name::new(*b"/a"), share)]);
        let oom = found.out_of_memory().unwrap();
        assert_eq!((oom.kills, oom.in_cgroup, oom.limit.as_deref()), (2, true, Some("/a")));
    }

    #[test]
    fn quotas_and_kills_of_v1_are_in_hierarchies_of_their_own() {
        let stat = "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n";
        let dir = machine(&[
            (
                "proc/self/mountinfo",
                "30 1 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 31 1 0:2 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("proc/self/cgroup", "4:memory:/box/x\n2:cpu,cpuacct:/slow\n"),
            ("proc/vmstat", "oom_kill 0\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", stat),
            ("sys/fs/cgroup/cpu/slow/cpu.stat", stat),
            ("sys/fs/cgroup/memory/memory.failcnt", "0\n"),
            ("sys/fs/cgroup/memory/x/memory.failcnt", "0\n"),
            ("sys/fs/cgroup/memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
        ]);
        let files = CgroupLimitFiles::open(dir.path());
        let before = files.read();
        write(&dir, "sys/fs/cgroup/cpu/slow/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 7000\n");
        write(&dir, "sys/fs/cgroup/memory/memory.failcnt", "3\n");
        write(&dir, "proc/vmstat", "oom_kill 1\n");
        let found = files.since(&before);
        assert_eq!(found.throttled, [(Name::new(*b"/slow"), Share { time: Nanos(7000), count: 4 })]);
        assert_eq!(found.out_of_memory(), None, "it was killed elsewhere");
        write(&dir, "sys/fs/cgroup/memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
        let oom = files.since(&before).out_of_memory().unwrap();
        assert_eq!((oom.kills, oom.in_cgroup, oom.limit.as_deref()), (1, true, Some("/")));
    }

    #[test]
    fn without_cgroups_there_are_the_machines_kills_only() {
        let dir = machine(&[("proc/vmstat", "oom_kill 0\n")]);
        let files = CgroupLimitFiles::open(dir.path());
        let before = files.read();
        write(&dir, "proc/vmstat", "oom_kill 1\n");
        let found = files.since(&before);
        assert!(found.throttled.is_empty());
        assert!(!found.out_of_memory().unwrap().in_cgroup);
    }
}
