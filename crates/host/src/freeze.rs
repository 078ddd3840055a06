//! Freezing other processes by the cgroup v2 freezer (kernel: Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze).
//!
//! A cgroup is frozen whole if nothing in it must run. Where all processes are in the root cgroup, which cannot be
//! frozen, those that may stop are moved to a cgroup of tare, and back again.

use crate::access::{Access, Steps};
use crate::journal::{Change, JournalEntry, ValueChange};
use crate::protect;
use crate::setting::Target;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use tarebench_core::base::reading::Absent;
use tarebench_sys::guard::{Guard, GuardLimits};
use tarebench_sys::process;
use tarebench_sys::procfs::{flat_keyed, parse_cgroup2_mount, parse_own_cgroup2, parse_stat, read_below};

/// The leaf that processes are moved to.
const LEAF: &str = "tare-frozen";

/// Which processes may be frozen, and for how long.
#[derive(Clone, Debug)]
pub struct FreezeChoice {
    pub only: Option<Vec<i32>>,
    /// They continue when no sample was taken for this time.
    pub limit: Duration,
}

impl FreezeChoice {
    pub const LIMIT: Duration = Duration::from_secs(600);
}

impl Default for FreezeChoice {
    fn default() -> FreezeChoice {
        FreezeChoice { only: None, limit: FreezeChoice::LIMIT }
    }
}

/// How long processes stay frozen.
pub(crate) struct Limit {
    /// After the last sample.
    pub length: Duration,
    /// While this file exists.
    pub journal: std::path::PathBuf,
}

/// What is frozen, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FreezeReport {
    pub processes: usize,
    pub names: Vec<String>,
    /// Cgroups that are frozen.
    pub groups: Vec<String>,
    /// What could not be frozen, and why.
    pub refused: Vec<String>,
}

/// What will be frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezePlan {
    /// The hierarchy's root, below the root folder.
    mount: String,
    /// Cgroups to freeze whole, below the mount, with a leading slash.
    groups: Vec<String>,
    /// Processes to move, with their start times.
    moves: Vec<(i32, u64)>,
    names: Vec<String>,
    processes: usize,
}

struct FrozenProcess {
    pid: i32,
    ppid: i32,
    session: i32,
    terminal: i32,
    start: u64,
    name: String,
    cgroup: String,
}

/// A user process; nothing for kernel threads and those that have ended.
fn read(root: &Path, pid: i32) -> Option<FrozenProcess> {
    let data = read_below(root, &format!("proc/{pid}/stat")).ok()?;
    let stat = parse_stat(&data)?;
    if stat.kernel_thread || stat.has_ended() {
        return None;
    }
    // Fields 6 (session) and 7 (terminal) of proc(5); the name before them may hold anything.
    let rest = String::from_utf8_lossy(data.rsplit(|b| *b == b')').next()?).into_owned();
    let mut fields = rest.split_whitespace().skip(3);
    let (session, terminal) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let cgroup = parse_own_cgroup2(&read_below(root, &format!("proc/{pid}/cgroup")).ok()?)?;
    Some(FrozenProcess {
        pid,
        ppid: stat.ppid,
        session,
        terminal,
        start: stat.start_ticks,
        name: String::from_utf8_lossy(stat.comm.as_bytes()).into_owned(),
        cgroup: String::from_utf8_lossy(&cgroup).into_owned(),
    })
}

fn all(root: &Path) -> Vec<FrozenProcess> {
    let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| read(root, pid)).collect()
}

/// Beginnings of devices whose holder others wait for: file systems and disks made by programs (FUSE, CUSE, NBD, ublk, tcmu
/// by UIO), their memory (userfaultfd), watchdogs that restart the machine.
const DEVICES: [&[u8]; 7] =
    [b"/dev/fuse", b"/dev/cuse", b"/dev/nbd", b"/dev/ublk", b"/dev/uio", b"/dev/userfaultfd", b"/dev/watchdog"];

/// Holds a device whose silence has consequences.
fn holds_device(root: &Path, pid: i32) -> bool {
    let fds = std::fs::read_dir(root.join(format!("proc/{pid}/fd"))).into_iter().flatten().flatten();
    let links = fds.filter_map(|e| std::fs::read_link(e.path()).ok());
    links.into_iter().any(|l| {
        let link = l.as_os_str().as_bytes();
        DEVICES.iter().any(|d| link.starts_with(d)) || link == b"anon_inode:[userfaultfd]"
    })
}

/// systemd kills a service that does not report in time (sd_watchdog_enabled(3)).
fn has_watchdog(root: &Path, pid: i32) -> bool {
    let environment = read_below(root, &format!("proc/{pid}/environ")).unwrap_or_default();
    environment.split(|b| *b == 0).any(|v| v.starts_with(b"WATCHDOG_USEC=") && v != b"WATCHDOG_USEC=0")
}

/// Processes that may stop: not tare, its ancestors and descendants, their sessions and terminals, nor what keeps the
/// machine alive.
fn candidates(root: &Path, processes: &[FrozenProcess], own: i32, choice: &FreezeChoice) -> BTreeSet<i32> {
    let by_pid: BTreeMap<i32, &FrozenProcess> = processes.iter().map(|p| (p.pid, p)).collect();
    let mut line = Vec::new();
    let mut at = own;
    while let Some(p) = by_pid.get(&at).filter(|p| !line.contains(&p.pid)) {
        line.push(p.pid);
        at = p.ppid;
    }
    // The session of init is that of every process that init started without one: it spares none.
    let ancestors = || line.iter().filter(|p| **p != 1).filter_map(|p| by_pid.get(p));
    let sessions: BTreeSet<i32> = ancestors().map(|p| p.session).filter(|s| *s > 1).collect();
    let terminals: BTreeSet<i32> = ancestors().map(|p| p.terminal).filter(|t| *t != 0).collect();
    let descends = |p: &FrozenProcess| {
        let parents = std::iter::successors(Some(p.ppid), |pid| by_pid.get(pid).map(|p| p.ppid));
        parents.take(64).any(|pid| pid == own)
    };
    let may = |p: &&FrozenProcess| {
        p.pid != 1
            && choice.only.as_ref().is_none_or(|only| only.contains(&p.pid))
            && !line.contains(&p.pid)
            && !sessions.contains(&p.session)
            && !terminals.contains(&p.terminal)
            && !descends(p)
            && protect::process(&p.name).is_none()
            && !holds_device(root, p.pid)
            && !has_watchdog(root, p.pid)
    };
    processes.iter().filter(may).map(|p| p.pid).collect()
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Finds what may be frozen.
///
/// # Errors
/// The reason why nothing can be.
pub fn plan(access: &Access, choice: &FreezeChoice) -> Result<FreezePlan, Absent> {
    plan_for(access.root(), process::own_pid(), choice)
}

fn plan_for(root: &Path, own: i32, choice: &FreezeChoice) -> Result<FreezePlan, Absent> {
    let none = || Absent::NotSupported("freezing needs cgroup v2, which is not mounted".into());
    let mounts = read_below(root, "proc/self/mountinfo").map_err(|_| none())?;
    let mount = parse_cgroup2_mount(&mounts).ok_or_else(none)?;
    let mount = OsStr::from_bytes(&mount).to_string_lossy().trim_matches('/').to_owned();
    let processes = all(root);
    let free = candidates(root, &processes, own, choice);
    let spared = |group: &str| processes.iter().any(|p| is_below(&p.cgroup, group) && !free.contains(&p.pid));
    let guarded = |g: &str| g.split('/').any(|name| name.contains('.') && protect_group(name));
    let mut groups: BTreeSet<String> = BTreeSet::new();
    let already = |g: &str| {
        let freeze = read_below(root, &format!("{mount}{g}/cgroup.freeze"));
        freeze.is_ok_and(|f| f.first() != Some(&b'0'))
    };
    let (mut moves, mut frozen) = (Vec::new(), BTreeSet::new());
    for p in processes.iter().filter(|p| free.contains(&p.pid)) {
        if p.cgroup == "/" {
            moves.push((p.pid, p.start));
            frozen.insert(p.name.clone());
            continue;
        }
        // The topmost cgroup in which all may stop.
        let above = std::iter::successors(Some(p.cgroup.as_str()), |g| g.rsplit_once('/').map(|(above, _)| above));
        let top = above.take_while(|g| !g.is_empty() && !spared(g) && !guarded(g)).last();
        if let Some(top) = top.filter(|g| !already(g)) {
            groups.insert(top.to_owned());
            frozen.insert(p.name.clone());
        }
    }
    let inside = |p: &&FrozenProcess| groups.iter().any(|g| is_below(&p.cgroup, g));
    let count = processes.iter().filter(inside).count() + moves.len();
    // A group below another that is frozen needs no action.
    let outer: Vec<String> =
        groups.iter().filter(|g| !groups.iter().any(|o| o != *g && is_below(g, o))).cloned().collect();
    Ok(FreezePlan { mount, groups: outer, moves, names: frozen.into_iter().collect(), processes: count })
}

/// Cgroups of units that are never stopped are not frozen either. Sessions may be: the one that tare runs in holds
/// tare, hence is never frozen.
fn protect_group(name: &str) -> bool {
    let session = name.starts_with("session-") || name.starts_with("user@") || name.ends_with(".slice");
    !session && protect::unit(name, &[]).is_some()
}

impl FreezePlan {
    fn folder(&self, group: &str) -> String {
        format!("{}{}", self.mount, group.trim_end_matches('/'))
    }

    fn leaf(&self) -> String {
        self.folder(&format!("/{LEAF}"))
    }

    /// Cgroup folders to freeze, the leaf last.
    fn folders(&self) -> Vec<String> {
        let leaf = (!self.moves.is_empty()).then(|| self.leaf());
        self.groups.iter().map(|g| self.folder(g)).chain(leaf).collect()
    }

    /// Its entries in the journal.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        if !self.moves.is_empty() {
            changes.push(Change::Group { path: self.leaf() });
            let (from, to) = (self.folder("/"), self.leaf());
            changes.push(Change::Moved { processes: self.moves.clone(), from, to });
        }
        changes.extend(self.folders().iter().map(|f| {
            Change::Value(ValueChange {
                factor: "freeze".to_owned(),
                target: freezer(f),
                old: "0".to_owned(),
                new: Some("1".to_owned()),
                survives_reboot: false,
            })
        }));
        changes
    }

    pub fn report(&self) -> FreezeReport {
        let (names, groups) = (self.names.clone(), self.groups.clone());
        FreezeReport { processes: self.processes, names, groups, refused: Vec::new() }
    }
}

fn freezer(folder: &str) -> Target {
    Target::File(format!("{folder}/cgroup.freeze"))
}

/// Whether a target is the freezer of a cgroup, which may vanish with its processes.
pub(crate) fn is_freezer(target: &Target) -> bool {
    matches!(target, Target::File(name) if name.ends_with("/cgroup.freeze"))
}

/// Freezes; what could not be frozen is added to the report. The guard thaws when this process dies.
pub(crate) fn apply(
    access: &Access,
    plan: &FreezePlan,
    limit: &Limit,
    report: &mut FreezeReport,
    interrupted: &dyn Fn() -> bool,
) -> Option<Guard> {
    if !plan.moves.is_empty()
        && let Err(e) = gather(access, plan)
    {
        report.refused.push(e);
    }
    let folders: Vec<String> = plan.folders().into_iter().filter(|f| access.root().join(f).is_dir()).collect();
    let files: Vec<_> = folders.iter().map(|f| access.root().join(f).join("cgroup.freeze")).collect();
    // Nothing is frozen without the guard.
    let limits = GuardLimits { beyond: limit.length, while_exists: Some(limit.journal.clone()), own_cgroup: true };
    let guard = match Guard::start(&files, &limits) {
        Ok(guard) => guard,
        Err(e) => {
            report.refused.push(format!("freezing: {e}"));
            report.processes = 0;
            return None;
        }
    };
    for folder in &folders {
        if interrupted() {
            break;
        }
        if let Err(e) = access.write(&freezer(folder), "1") {
            report.refused.push(e.to_string());
        } else if !settled(access.root(), folder) {
            report.refused.push(format!("/{folder}: some of its processes do not stop"));
        }
    }
    Some(guard)
}

/// Moves the processes to the leaf.
fn gather(access: &Access, plan: &FreezePlan) -> Result<(), String> {
    let leaf = access.root().join(plan.leaf());
    match std::fs::create_dir(&leaf) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(format!("make cgroup {}: {e}", leaf.display()));
        }
        _ => access.steps.done(),
    }
    for (pid, start) in &plan.moves {
        if read(access.root(), *pid).is_some_and(|p| p.start == *start) {
            // A process may end before it is moved.
            let _ = std::fs::write(leaf.join("cgroup.procs"), pid.to_string());
            access.steps.done();
        }
    }
    Ok(())
}

/// Waits until all processes of a cgroup have stopped, which those that wait for a device do late.
fn settled(root: &Path, folder: &str) -> bool {
    for _ in 0..1000 {
        let events = read_below(root, &format!("{folder}/cgroup.events")).unwrap_or_default();
        if flat_keyed(&events, "frozen") != Some(0) {
            return true;
        }
        process::sleep(Duration::from_millis(1));
    }
    false
}

/// Moves processes back and removes the leaf, after it has been thawed. What cannot be done is said.
pub(crate) fn undo(access: &Access, entries: &[JournalEntry], boot: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for entry in entries.iter().rev().filter(|e| e.boot == boot) {
        match &entry.change {
            Change::Moved { from, to, .. } => {
                let ours = access.cgroup(from, LEAF).is_some() && access.cgroup(to, LEAF).is_some();
                if ours && let Err(e) = scatter(access.root(), from, to, &access.steps) {
                    notes.push(e);
                }
            }
            Change::Group { path } => {
                let Some(full) = access.cgroup(path, LEAF).filter(|f| f.ends_with(LEAF)) else { continue };
                if full.is_dir() && !removed(&full) {
                    notes.push(format!("the cgroup {} could not be removed", full.display()));
                }
                access.steps.done();
            }
            Change::Value(_) => {}
        }
    }
    notes
}

/// All processes of the leaf are moved back: those that were moved there, and their children.
fn scatter(root: &Path, from: &str, to: &str, steps: &Steps) -> Result<(), String> {
    let list = format!("{to}/cgroup.procs");
    let back = root.join(from).join("cgroup.procs");
    let mut last = String::new();
    for _ in 0..50 {
        let Ok(pids) = read_below(root, &list) else { return Ok(()) };
        let pids: Vec<i32> = pids.split(|b| *b == b'\n').filter_map(tarebench_sys::procfs::parse_int).collect();
        if pids.is_empty() {
            return Ok(());
        }
        for pid in pids {
            if let Err(e) = std::fs::write(&back, pid.to_string()) {
                last = format!("process {pid} could not be moved back to {}: {e}", back.display());
            }
            steps.done();
        }
        process::sleep(Duration::from_millis(1));
    }
    Err(last)
}

fn removed(folder: &Path) -> bool {
    (0..100).any(|_| {
        let done = std::fs::remove_dir(folder).is_ok();
        if !done {
            process::sleep(Duration::from_millis(2));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "/user.slice/user-1000.slice/session-2.scope";
    const USER: &str = "/user.slice/user-1000.slice/user@1000.service";

    fn put(root: &Path, path: &str, text: &str) {
        let full = root.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    fn process(root: &Path, pid: i32, ppid: i32, session: i32, name: &str, group: &str) {
        let flags = if ppid == 2 { 0x0020_8040 } else { 0 };
        let stat = format!("{pid} ({name}) S {ppid} {pid} {session} 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 7{pid} 0 0");
        put(root, &format!("proc/{pid}/stat"), &stat);
        put(root, &format!("proc/{pid}/cgroup"), &format!("0::{group}\n"));
    }

    fn desktop(root: &Path) {
        put(root, "proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put(root, "proc/self/cgroup", &format!("0::{OWN}\n"));
        process(root, 1, 0, 1, "systemd", "/init.scope");
        process(root, 9, 2, 0, "kswapd0", "/");
        process(root, 10, 1, 10, "sshd", "/system.slice/ssh.service");
        process(root, 11, 1, 11, "cron", "/system.slice/cron.service");
        process(root, 12, 1, 12, "chronyd", "/system.slice/chrony.service");
        process(root, 13, 1, 13, "helper", "/system.slice/lvm2-monitor.service");
        process(root, 20, 10, 20, "sshd", OWN);
        process(root, 21, 20, 21, "bash", OWN);
        process(root, 22, 21, 21, "tare", OWN);
        process(root, 30, 1, 30, "systemd", &format!("{USER}/init.scope"));
        process(root, 31, 30, 31, "gnome-shell", &format!("{USER}/session.slice/shell.service"));
        process(root, 32, 30, 32, "firefox (a)", &format!("{USER}/app.slice/app-firefox.scope"));
        process(root, 33, 32, 32, "Web Content", &format!("{USER}/app.slice/app-firefox.scope"));
        process(root, 34, 30, 34, "gvfsd-fuse", &format!("{USER}/app.slice/gvfs.service"));
        std::fs::create_dir_all(root.join("proc/34/fd")).unwrap();
        std::os::unix::fs::symlink("/dev/fuse", root.join("proc/34/fd/5")).unwrap();
        process(root, 50, 1, 50, "watched", "/system.slice/watched.service");
        put(root, "proc/50/environ", "PATH=/bin\0WATCHDOG_USEC=30000000\0");
        process(root, 51, 1, 51, "not-watched", "/system.slice/ordinary.service");
        put(root, "proc/51/environ", "MY_WATCHDOG_USEC=1\0WATCHDOG_USEC=0\0");
        process(root, 52, 1, 52, "disk-server", "/system.slice/disk.service");
        std::fs::create_dir_all(root.join("proc/52/fd")).unwrap();
        std::os::unix::fs::symlink("/dev/ublkc0", root.join("proc/52/fd/3")).unwrap();
        process(root, 53, 1, 53, "auditd", "/system.slice/audit.service");
        process(root, 54, 1, 54, "rsyslogd", "/system.slice/log.service");
        process(root, 55, 1, 55, "rbd-nbd", "/system.slice/rbd.service");
        process(root, 56, 1, 56, "tcmu-runner", "/system.slice/tcmu.service");
        process(root, 35, 30, 35, "indexer", &format!("{USER}/background.slice/tracker.service"));
        process(root, 40, 1, 40, "stray", "/");
        process(root, 41, 1, 21, "of-our-session", "/");
    }

    #[test]
    fn a_desktop_keeps_what_it_lives_by() {
        let dir = tempfile::tempdir().unwrap();
        desktop(dir.path());
        let plan = plan_for(dir.path(), 22, &FreezeChoice::default()).unwrap();
        let user = |g: &str| format!("{USER}/{g}");
        let expected = [
            "/system.slice/cron.service".to_owned(),
            "/system.slice/ordinary.service".to_owned(),
            user("app.slice/app-firefox.scope"),
            user("background.slice"),
        ];
        assert_eq!(plan.groups, expected);
        assert_eq!(plan.moves, [(40, 740)]);
        assert_eq!(plan.names, ["Web Content", "cron", "firefox (a)", "indexer", "not-watched", "stray"]);
        assert_eq!(plan.processes, 6);
        // One that another process has frozen already is not for tare to thaw.
        put(dir.path(), "sys/fs/cgroup/system.slice/cron.service/cgroup.freeze", "1\n");
        let again = plan_for(dir.path(), 22, &FreezeChoice::default()).unwrap();
        assert_eq!(again.groups, expected[1..]);
        let some =
            plan_for(dir.path(), 22, &FreezeChoice { only: Some(vec![32, 40]), ..FreezeChoice::default() }).unwrap();
        assert_eq!((some.groups.len(), some.processes), (0, 1), "a group is frozen whole or not at all");
    }

    /// Processes that differ from one that is frozen by a single rule each.
    #[test]
    fn each_rule_spares_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        desktop(root);
        let moved = || -> BTreeSet<i32> {
            plan_for(root, 22, &FreezeChoice::default()).unwrap().moves.iter().map(|m| m.0).collect()
        };
        assert_eq!(moved(), BTreeSet::from([40]));
        // The terminal of a process that tare descends from, and another one.
        process(root, 42, 1, 42, "on-our-terminal", "/");
        process(root, 43, 1, 43, "on-another", "/");
        assert_eq!(moved(), BTreeSet::from([40, 42, 43]));
        for (pid, terminal) in [(21, 34_816), (42, 34_816), (43, 34_817)] {
            let file = root.join(format!("proc/{pid}/stat"));
            let stat = std::fs::read_to_string(&file).unwrap();
            std::fs::write(file, stat.replacen(" 0 -1 ", &format!(" {terminal} -1 "), 1)).unwrap();
        }
        assert_eq!(moved(), BTreeSet::from([40, 43]));
        // What tare has started, in sessions of its own.
        process(root, 44, 22, 44, "of-tare", "/");
        process(root, 45, 44, 45, "below-it", "/");
        assert_eq!(moved(), BTreeSet::from([40, 43]));
        // Holders of devices, in the order of their numbers.
        let spared = ["fuse", "cuse", "nbd3", "ublkc0", "ublk-control", "uio1", "userfaultfd", "watchdog", "watchdog0"];
        let links = spared.map(|name| (format!("/dev/{name}"), true)).into_iter();
        let others = ["/dev/null", "/dev/sda", "/tmp/dev/fuse", "socket:[5]", "anon_inode:[eventfd]"];
        let links = links.chain([("anon_inode:[userfaultfd]".to_owned(), true)]);
        let links = links.chain(others.map(|name| (name.to_owned(), false)));
        for (pid, (link, spares)) in (60..).zip(links) {
            process(root, pid, 1, pid, "holder", "/");
            assert!(moved().contains(&pid), "{link}");
            std::fs::create_dir_all(root.join(format!("proc/{pid}/fd"))).unwrap();
            std::os::unix::fs::symlink(&link, root.join(format!("proc/{pid}/fd/3"))).unwrap();
            assert_eq!(moved().contains(&pid), !spares, "{link}");
        }
    }

    #[test]
    fn without_cgroup_v2_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(plan_for(dir.path(), 1, &FreezeChoice::default()), Err(Absent::NotSupported(_))));
    }
}
