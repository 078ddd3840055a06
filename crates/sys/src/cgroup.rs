//! A cgroup v2 leaf that holds the program's tree: exact CPU time, membership, and a way to kill all of it.

use crate::procfs::{
    flat_keyed, parse_cgroup2_mount, parse_int, parse_own_cgroup1, parse_own_cgroup2, parse_stat, read_below,
};
use crate::{SysError, SysResult, pidfd, process};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::process_time::CpuTime;

/// Prefix of the leaves; the rest is `PID-STARTTICKS-N`, so that a later tare knows its owner.
const PREFIX: &str = "tare.";
/// Prefix of leaves whose processes are to live on.
const KEPT_PREFIX: &str = "tare-kept.";
/// Prefix of the cgroup that a tare lives in beside its leaves ([`crate::cpu_controller`]).
const OWN_PREFIX: &str = "tare-own.";

/// A folder of the v2 hierarchy, made for samples.
pub struct Leaf {
    path: PathBuf,
    /// As `/proc/PID/cgroup` names it.
    name: Vec<u8>,
    folder: File,
    cpu_stat: File,
    kept: bool,
    killed: Cell<bool>,
}

/// Folder of this process in the cgroup v2 hierarchy.
///
/// # Errors
/// ENOSYS if there is none mounted.
pub fn own_folder(root: &Path) -> SysResult<PathBuf> {
    own_place(root).map(|(folder, _)| folder)
}

/// Name of the cgroup beside its leaves that this process may move to.
pub(crate) fn own_part() -> String {
    format!("{OWN_PREFIX}{}-{}", process::own_pid(), own_start_ticks())
}

/// Folder of this process in the hierarchy, and the name of its cgroup: the one that it was started in.
pub(crate) fn own_place(root: &Path) -> SysResult<(PathBuf, Vec<u8>)> {
    let none = || SysError::io("find cgroup v2", std::io::Error::from_raw_os_error(libc::ENOSYS));
    let mount = parse_cgroup2_mount(&read_below(root, "proc/self/mountinfo")?).ok_or_else(none)?;
    let mut own = parse_own_cgroup2(&read_below(root, "proc/self/cgroup")?).ok_or_else(none)?;
    if let Some(above) = own.strip_suffix(own_part().as_bytes()).and_then(|above| above.strip_suffix(b"/")) {
        own = above.to_vec();
    }
    let below = |p: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(p.strip_prefix(b"/").unwrap_or(p)));
    Ok((root.join(below(&mount)).join(below(&own)), own))
}

/// Name of a process's cgroup in the v2 hierarchy; a zombie has the one in which it ended.
///
/// # Errors
/// If there is no such process, or no cgroup v2.
pub fn of_process(pid: i32) -> SysResult<Vec<u8>> {
    let path = format!("/proc/{pid}/cgroup");
    let data = std::fs::read(&path).map_err(|e| SysError::io(format!("read {path}"), e))?;
    parse_own_cgroup2(&data).ok_or_else(|| SysError::format(&path, "a line of cgroup v2", &data))
}

/// The file that gives this process's cgroup no time for real-time tasks, if that is so: a kernel with RT_GROUP_SCHED and cgroup v1.
/// (In cgroup v2 such a kernel gives it to the root cgroup only, and no file says so.)
pub fn without_realtime(root: &Path) -> Option<PathBuf> {
    let own = parse_own_cgroup1(&read_below(root, "proc/self/cgroup").ok()?, "cpu")?;
    let own = std::ffi::OsStr::from_bytes(own.strip_prefix(b"/").unwrap_or(&own));
    let file = |mount: &str| root.join(mount).join(own).join("cpu.rt_runtime_us");
    // Where distributions mount it.
    let files = ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"].map(file);
    files.into_iter().find(|f| std::fs::read(f).is_ok_and(|text| parse_int(text.trim_ascii()) == Some(0)))
}

fn own_start_ticks() -> u64 {
    let stat = std::fs::read("/proc/self/stat").unwrap_or_default();
    parse_stat(&stat).map_or(0, |s| s.start_ticks)
}

impl Leaf {
    /// Makes a leaf below this process's own cgroup. With `kept`, its processes survive tare.
    ///
    /// # Errors
    /// EACCES or EROFS without permission; ENOSYS without cgroup v2.
    pub fn make(kept: bool) -> SysResult<Leaf> {
        let (parent, above) = own_place(Path::new("/"))?;
        remove_stale(&parent);
        let prefix = if kept { KEPT_PREFIX } else { PREFIX };
        let (pid, start) = (process::own_pid(), own_start_ticks());
        let path = (0..u32::MAX)
            .map(|n| parent.join(format!("{prefix}{pid}-{start}-{n}")))
            .find_map(|path| match std::fs::create_dir(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => None,
                r => Some(
                    r.map(|()| path.clone()).map_err(|e| SysError::io(format!("make cgroup {}", path.display()), e)),
                ),
            })
            .unwrap_or_else(|| Err(SysError::io("make a cgroup", std::io::ErrorKind::AlreadyExists.into())))?;
        let open = |name: &str, flags: i32| {
            let file = path.join(name);
            let r = OpenOptions::new().read(true).custom_flags(flags).open(&file);
            r.map_err(|e| SysError::io(format!("open {}", file.display()), e))
        };
        let locked = |folder: File| match try_lock(&folder) {
            true => Ok(folder),
            false => Err(SysError::last(format!("lock {}", path.display()))),
        };
        let opened = open("", libc::O_DIRECTORY).and_then(locked).and_then(|folder| Ok((folder, open("cpu.stat", 0)?)));
        let name = name_below(&above, &path);
        match opened {
            Ok((folder, cpu_stat)) => Ok(Leaf { path, name, folder, cpu_stat, kept, killed: Cell::new(false) }),
            Err(e) => {
                let _ = std::fs::remove_dir(&path);
                Err(e)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its freezer.
    ///
    /// # Errors
    /// If it has none (before Linux 5.2), or it may not be used.
    pub fn freezer(&self) -> SysResult<Freezer> {
        Freezer::open(&self.path)
    }

    /// The folder, to start programs in.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Its number in the hierarchy: that of the inode, which the kernel uses, too.
    pub fn id(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        self.folder.metadata().ok().map(|m| m.ino())
    }

    /// CPU time of all processes that ever ran in it; resolution 1 µs.
    ///
    /// # Errors
    /// If the file cannot be read or has no such keys.
    pub fn cpu_time(&self) -> SysResult<CpuTime> {
        let mut buffer = [0; 1024];
        let what = || self.path.join("cpu.stat").display().to_string();
        let n = self.cpu_stat.read_at(&mut buffer, 0).map_err(|e| SysError::io(what(), e))?;
        let data = &buffer[..n];
        let field = |key| {
            flat_keyed(data, key)
                .and_then(|us| i64::try_from(us).ok())
                .map(Nanos::from_micros)
                .ok_or_else(|| SysError::format(what(), "usage_usec, user_usec and system_usec", data))
        };
        Ok(CpuTime { user: field("user_usec")?, system: field("system_usec")?, total: field("usage_usec")? })
    }

    /// Sets its share of the CPU beside its neighbours, 1 to 10,000; false where it has no CPU controller.
    ///
    /// # Errors
    /// If the controller refuses.
    pub fn set_weight(&self, weight: u32) -> SysResult<bool> {
        let path = self.path.join("cpu.weight");
        let written = OpenOptions::new().write(true).open(&path).and_then(|mut f| write!(f, "{weight}"));
        match written {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(SysError::io(format!("write {}", path.display()), e)),
        }
    }

    /// Processes in it; zombies are not among them.
    pub fn processes(&self) -> SysResult<Vec<i32>> {
        let path = self.path.join("cgroup.procs");
        let data = std::fs::read(&path).map_err(|e| SysError::io(format!("read {}", path.display()), e))?;
        Ok(data.split(|&b| b == b'\n').filter_map(parse_int).filter(|&p| p > 0).collect())
    }

    /// Kills all its processes, also frozen ones and those that are being forked, and waits until it is empty.
    ///
    /// # Errors
    /// If a process still exists after two seconds.
    pub fn kill_all(&self) -> SysResult<()> {
        self.killed.set(true);
        let kill = self.path.join("cgroup.kill");
        for round in 0..400 {
            let left = self.processes()?;
            if left.is_empty() {
                return Ok(());
            }
            // cgroup.kill exists since Linux 5.14; before that, by pid until there is none.
            let killed = OpenOptions::new().write(true).open(&kill).and_then(|mut f| f.write_all(b"1"));
            if killed.is_err() {
                self.signal_each(&left, libc::SIGKILL);
            }
            process::sleep(std::time::Duration::from_micros(if round < 20 { 100 } else { 5_000 }));
        }
        let left = self.processes()?;
        Err(SysError::format(
            format!("kill all processes of {}", self.path.display()),
            "no processes after 2 s",
            format!("{left:?}").as_bytes(),
        ))
    }

    /// Whether [`Leaf::kill_all`] was called. Such a leaf is not to be used again: some kernels (seen with 6.18) then
    /// kill whatever is cloned into it, as they compare its count of kills with that of the parent's cgroup.
    pub fn is_spent(&self) -> bool {
        self.killed.get()
    }

    /// Sends a signal to these processes, if they are still in it.
    fn signal_each(&self, pids: &[i32], signal: i32) {
        for pid in pids {
            let _ = pidfd::signal_if(*pid, signal, || self.holds(*pid));
        }
    }

    /// Whether the cgroup of this name is this one or below it, whose time counts here, too.
    pub fn has_below(&self, name: &[u8]) -> bool {
        name.strip_prefix(self.name.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// Whether a process is in it, not in a cgroup below. By the process, as the list of a large tree is long.
    pub fn holds(&self, pid: i32) -> bool {
        of_process(pid).is_ok_and(|name| name == self.name)
    }

    /// Sends a signal to every process in it.
    pub fn signal_all(&self, signal: i32) {
        self.signal_each(&self.processes().unwrap_or_default(), signal);
    }
}

/// Stops and continues all processes of a cgroup, whatever they do with signals; no process sees it
/// (kernel: Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze).
pub struct Freezer {
    freeze: File,
    events: File,
    path: PathBuf,
}

impl Freezer {
    fn open(path: &Path) -> SysResult<Freezer> {
        let open = |name: &str, how: &mut OpenOptions| {
            let file = path.join(name);
            how.open(&file).map_err(|e| SysError::io(format!("open {}", file.display()), e))
        };
        let freeze = open("cgroup.freeze", OpenOptions::new().write(true))?;
        let events = open("cgroup.events", OpenOptions::new().read(true))?;
        Ok(Freezer { freeze, events, path: path.to_owned() })
    }

    fn write(&self, text: &[u8]) -> SysResult<()> {
        // One write from the beginning: what else a file of the kernel takes as another request.
        let written = self.freeze.write_at(text, 0).map(|_| ());
        written.map_err(|e| SysError::io(format!("write {}", self.path.join("cgroup.freeze").display()), e))
    }

    /// Asks all processes to stop, which each does when it next returns to user mode.
    pub fn freeze(&self) -> SysResult<()> {
        self.write(b"1")
    }

    /// Lets all processes continue.
    pub fn thaw(&self) -> SysResult<()> {
        self.write(b"0")
    }

    /// Whether all of them stand still, zombies and an empty cgroup included. It is read, not waited for: the kernel notifies of
    /// changes every 10 ms at most (`CGROUP_FILE_NOTIFY_MIN_INTV`, kernel/cgroup/cgroup.c), which is longer than a slice.
    pub fn is_frozen(&self) -> SysResult<bool> {
        self.event("frozen")
    }

    /// Whether there is a process in it; zombies do not count.
    pub fn is_populated(&self) -> SysResult<bool> {
        self.event("populated")
    }

    fn event(&self, key: &str) -> SysResult<bool> {
        let mut buffer = [0; 256];
        let what = || self.path.join("cgroup.events").display().to_string();
        let n = self.events.read_at(&mut buffer, 0).map_err(|e| SysError::io(what(), e))?;
        let data = buffer.get(..n).unwrap_or_default();
        let expected = "lines `populated` and `frozen`";
        flat_keyed(data, key).map(|f| f == 1).ok_or_else(|| SysError::format(what(), expected, data))
    }
}

/// Name of the cgroup of a folder right below that of the cgroup `above`.
fn name_below(above: &[u8], folder: &Path) -> Vec<u8> {
    let last = folder.file_name().unwrap_or_default().as_bytes();
    [above.strip_suffix(b"/").unwrap_or(above), b"/", last].concat()
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if !self.kept {
            let _ = self.kill_all();
        }
        // A leaf with living processes stays; the kernel refuses to remove it.
        remove_with_patience(&self.path);
    }
}

fn remove_with_patience(path: &Path) {
    for _ in 0..20 {
        match std::fs::remove_dir(path) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => process::sleep(std::time::Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Whether the tare that made a leaf is alive; `None` if tare does not make such names.
fn owner_alive(name: &str) -> Option<bool> {
    let mut parts = name.split('-');
    let (pid, start) = (parts.next()?.parse::<i32>().ok()?, parts.next()?.parse::<u64>().ok()?);
    Some(process::is_alive(pid, |s| s.start_ticks == start))
}

/// Locks a leaf for as long as the file is open. Across pid namespaces only this shows whether its owner is alive: there
/// the pid in its name means nothing, or another process.
fn try_lock(folder: &File) -> bool {
    // SAFETY: a valid descriptor.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Ends and removes leftovers of a killed tare; kept leaves only when they are empty.
fn remove_stale(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else { continue };
        let after = |prefix| name.strip_prefix(prefix);
        let (rest, kept) = match (after(PREFIX), after(KEPT_PREFIX).or(after(OWN_PREFIX))) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            _ => continue,
        };
        if owner_alive(rest) != Some(false) {
            continue;
        }
        let path = entry.path();
        if !File::open(&path).is_ok_and(|folder| try_lock(&folder)) {
            continue;
        }
        if !kept {
            let _ = std::fs::write(path.join("cgroup.kill"), "1");
        }
        remove_with_patience(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_without_real_time_is_found() {
        let root = std::env::temp_dir().join(format!("tare-cgroup-{}", process::own_pid()));
        let group = root.join("sys/fs/cgroup/cpu,cpuacct/a/b");
        std::fs::create_dir_all(root.join("proc/self")).unwrap();
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(root.join("proc/self/cgroup"), "9:cpuset:/x\n2:cpu,cpuacct:/a/b\n0::/\n").unwrap();
        let file = group.join("cpu.rt_runtime_us");
        // Without RT_GROUP_SCHED there is none.
        assert_eq!(without_realtime(&root), None);
        std::fs::write(&file, "0\n").unwrap();
        assert_eq!(without_realtime(&root), Some(file.clone()));
        std::fs::write(&file, "950000\n").unwrap();
        assert_eq!(without_realtime(&root), None);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn names_of_leaves() {
        assert_eq!(name_below(b"/", Path::new("/sys/fs/cgroup/tare.1-2-3")), b"/tare.1-2-3");
        assert_eq!(name_below(b"/a/b", Path::new("/sys/fs/cgroup/a/b/tare.1-2-3")), b"/a/b/tare.1-2-3");
    }

    /// The list of all its processes is not read for each of them: here there is none.
    #[test]
    fn a_signal_reaches_members_only_whose_list_is_not_read() {
        let own = std::fs::read("/proc/self/cgroup").ok().and_then(|c| parse_own_cgroup2(&c));
        let Some(name) = own else { return };
        let dir = tempfile::tempdir().unwrap();
        let file = || File::open(dir.path()).unwrap();
        let leaf = |name: Vec<u8>| Leaf {
            path: dir.path().join("none"),
            name,
            folder: file(),
            cpu_stat: file(),
            kept: true,
            killed: Cell::new(true),
        };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pids = [child.id() as i32];
        leaf([&name[..], b"/below"].concat()).signal_each(&pids, libc::SIGKILL);
        process::sleep(std::time::Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none(), "it is not in that cgroup");
        leaf(name).signal_each(&pids, libc::SIGKILL);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_freezer_writes_and_reads_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        assert!(Freezer::open(dir.path()).is_err());
        std::fs::write(file("cgroup.freeze"), "-").unwrap();
        std::fs::write(file("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        let freezer = Freezer::open(dir.path()).unwrap();
        assert!(!freezer.is_frozen().unwrap() && freezer.is_populated().unwrap());
        freezer.freeze().unwrap();
        assert_eq!(std::fs::read_to_string(file("cgroup.freeze")).unwrap(), "1");
        std::fs::write(file("cgroup.events"), "populated 1\nfrozen 1\n").unwrap();
        assert!(freezer.is_frozen().unwrap());
        freezer.thaw().unwrap();
        assert_eq!(std::fs::read_to_string(file("cgroup.freeze")).unwrap(), "0");
        std::fs::write(file("cgroup.events"), "populated 0\n").unwrap();
        assert!(freezer.is_frozen().is_err() && !freezer.is_populated().unwrap());
    }

    /// A frozen process does not get on, and ends by SIGKILL all the same.
    #[test]
    fn a_frozen_leaf_stands_still() {
        // Only where cgroups can be made.
        let Ok(leaf) = Leaf::make(false) else { return };
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        std::fs::write(leaf.path.join("cgroup.procs"), child.id().to_string()).unwrap();
        let freezer = leaf.freezer().unwrap();
        freezer.freeze().unwrap();
        let began = std::time::Instant::now();
        while !freezer.is_frozen().unwrap() {
            assert!(began.elapsed().as_secs() < 10, "it does not stop");
        }
        // It counts as frozen just before it leaves its CPU.
        process::sleep(std::time::Duration::from_millis(10));
        let before = leaf.cpu_time().unwrap();
        process::sleep(std::time::Duration::from_millis(50));
        assert_eq!(leaf.cpu_time().unwrap(), before);
        freezer.thaw().unwrap();
        let began = std::time::Instant::now();
        while leaf.cpu_time().unwrap() == before {
            assert!(began.elapsed().as_secs() < 10, "it does not continue");
        }
        freezer.freeze().unwrap();
        leaf.kill_all().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_leaf_holds_what_was_moved_into_it() {
        // Only where cgroups can be made.
        let Ok(leaf) = Leaf::make(false) else { return };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(!leaf.holds(pid));
        std::fs::write(leaf.path.join("cgroup.procs"), pid.to_string()).unwrap();
        assert!(leaf.holds(pid) && leaf.processes().unwrap() == [pid]);
        leaf.signal_all(libc::SIGKILL);
        assert!(!child.wait().unwrap().success());
    }
}
