//! What else ran during a sample: snapshots before and after, exits in between, their difference (EMP figures 5 and 6).

use crate::exits::{ExitSource, ProcessExit};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use tarebench_bpf::{BpfError, KernelTypes};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::daemons::{Daemon, Daemons, TaskKind};
use tarebench_sys::snapshot::{Snapshot, SnapshotEntry, SnapshotReader};
use tarebench_sys::topology::possible;
use tarebench_sys::{SysError, clock, process};

/// Which processes are tare's and the program's, for [`difference`].
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The program's main process; `None` if it was not started.
    pub main: Option<i32>,
    pub own: i32,
    /// Helper processes of tare.
    pub helpers: Vec<i32>,
    /// Living members of the sample's cgroup; `None` where the program has none, and its tree is known by the parents.
    pub members: Option<Vec<i32>>,
    /// Number of that cgroup.
    pub cgroup: Option<u64>,
    /// Orphans that come to tare are all the program's.
    pub adopts_all: bool,
}

/// The program's tree and all others, separately.
#[derive(Clone, Debug, Default)]
pub struct TreeDifference {
    pub daemons: Vec<Daemon>,
    /// Living processes of the program's tree: pid and name.
    pub survivors: Vec<(i32, Name)>,
    /// Sum over the tree's exits; `None` if there was none.
    pub tree_exits: Option<Nanos>,
    /// All pids of the tree.
    pub tree: HashSet<i32>,
}

/// The difference of two snapshots, given the exits between them.
///
/// `realtime_offset` is CLOCK_REALTIME minus CLOCK_BOOTTIME; tare's own entry gets `own_cpu` instead of its
/// difference, which would count the taking of the snapshots.
pub fn difference(
    before: &Snapshot,
    after: &Snapshot,
    exits: &[ProcessExit],
    roles: &Roles,
    own_cpu: Nanos,
    realtime_offset: Nanos,
) -> TreeDifference {
    let old: HashMap<i32, &SnapshotEntry> = before.entries.iter().map(|e| (e.pid, e)).collect();
    let new: HashMap<i32, &SnapshotEntry> = after.entries.iter().map(|e| (e.pid, e)).collect();
    let born = births(&old, exits);
    let tree = tree_of(&old, after, exits, &born, roles);
    let zombies = zombies(&old, &new, exits, &born);
    let scene = Scene { old, new, tree, zombies, roles };
    let mut out = TreeDifference::default();
    for e in &after.entries {
        scene.alive(e, own_cpu, &mut out);
    }
    let mut helpers = roles.helpers.clone();
    for (x, born) in exits.iter().zip(born) {
        if born
            && x.ppid == roles.own
            && let Some(i) = helpers.iter().position(|h| *h == x.pid)
        {
            // Tare's own; the same pid may occur again, for another process.
            helpers.swap_remove(i);
            continue;
        }
        scene.ended(x, born, realtime_offset, &mut out);
    }
    out.tree = scene.tree;
    out.daemons.retain(|d| d.cpu != Nanos::ZERO || d.born || d.died);
    out.daemons.sort_by(|a, b| b.cpu.cmp(&a.cpu).then(a.pid.cmp(&b.pid)));
    out
}

/// Lookup tables of [`difference`].
struct Scene<'a> {
    old: HashMap<i32, &'a SnapshotEntry>,
    new: HashMap<i32, &'a SnapshotEntry>,
    tree: HashSet<i32>,
    zombies: HashSet<i32>,
    roles: &'a Roles,
}

impl Scene<'_> {
    /// By its parent, too: a daemon may have been given the pid that a process of the tree had.
    fn in_tree(&self, pid: i32, ppid: i32) -> bool {
        let roles = self.roles;
        let member = Some(pid) == roles.main || roles.members.as_ref().is_some_and(|m| m.contains(&pid));
        member || (roles.members.is_none() && (ppid == roles.own || self.tree.contains(&ppid)))
    }

    /// It ended in another cgroup than that of the program, to which it belongs by its parent.
    fn has_left(&self, x: &ProcessExit) -> bool {
        let roles = self.roles;
        let adopted = x.ppid == roles.own && (Some(x.pid) == roles.main || roles.adopts_all);
        let member = roles.members.as_ref().is_some_and(|m| m.contains(&x.pid));
        let below = adopted || member || self.tree.contains(&x.ppid);
        x.member == Some(false) && below && self.tree.contains(&x.pid)
    }

    fn in_tree_by_parents(&self, x: &ProcessExit) -> bool {
        x.member.is_none() && self.in_tree(x.pid, x.ppid)
    }

    fn kind(&self, pid: i32, kernel: bool) -> TaskKind {
        match kernel {
            true => TaskKind::Kernel,
            false if pid == self.roles.own || self.roles.helpers.contains(&pid) => TaskKind::Tare,
            false => TaskKind::User,
        }
    }

    /// A process that is in the snapshot after.
    fn alive(&self, e: &SnapshotEntry, own_cpu: Nanos, out: &mut TreeDifference) {
        let was = self.old.get(&e.pid).filter(|o| o.start_ticks == e.start_ticks);
        if was.is_none() && self.tree.contains(&e.pid) && self.in_tree(e.pid, e.ppid) {
            if !self.zombies.contains(&e.pid) {
                out.survivors.push((e.pid, Name::new(e.comm.as_bytes())));
            }
            return;
        }
        let cpu = if e.pid == self.roles.own { own_cpu } else { e.cpu - was.map_or(Nanos::ZERO, |o| o.cpu) };
        let counted_before = was.map_or(Some(Nanos::ZERO), |o| o.interval_counted);
        out.daemons.push(Daemon {
            pid: e.pid,
            start: e.start(),
            name: Name::new(e.comm.as_bytes()),
            kind: self.kind(e.pid, e.kernel_thread),
            cpu,
            tick_bound: false,
            interval_counted: e.interval_counted.zip(counted_before).map(|(a, b)| a - b),
            born: was.is_none(),
            died: self.zombies.contains(&e.pid),
        });
    }

    /// A process that ended during the sample.
    fn ended(&self, x: &ProcessExit, born: bool, realtime_offset: Nanos, out: &mut TreeDifference) {
        if born && (x.member == Some(true) || self.has_left(x) || self.in_tree_by_parents(x)) {
            *out.tree_exits.get_or_insert(Nanos::ZERO) += x.cpu;
            return;
        }
        let was = self.old.get(&x.pid).filter(|_| !born).copied();
        if is_zombie(was, self.new.get(&x.pid).copied(), x) {
            return;
        }
        let counted_before = was.map_or(Some(Nanos::ZERO), |o| o.interval_counted);
        out.daemons.push(Daemon {
            pid: x.pid,
            start: was.map_or_else(|| x.began.since_boot(realtime_offset), |o| o.start()),
            name: Name::new(was.map_or(x.comm, |o| o.comm).as_bytes()),
            kind: self.kind(x.pid, x.kernel || was.is_some_and(|o| o.kernel_thread)),
            cpu: x.cpu - was.map_or(Nanos::ZERO, |o| o.cpu),
            tick_bound: x.tick_bound,
            interval_counted: x.interval_counted.zip(counted_before).map(|(a, b)| a - b),
            born: was.is_none(),
            died: true,
        });
    }
}

/// The process of this exit is still in the snapshot after: a zombie, whose clock is exact.
fn is_zombie(was: Option<&SnapshotEntry>, now: Option<&SnapshotEntry>, x: &ProcessExit) -> bool {
    match (was, now, x.began.start_ticks()) {
        (_, None, _) => false,
        (_, Some(n), Some(start)) => n.start_ticks == start,
        (Some(o), Some(n), None) => o.start_ticks == n.start_ticks,
        (None, Some(n), None) => n.comm == x.comm && n.cpu >= x.cpu && n.ppid == x.ppid,
    }
}

fn zombies(
    old: &HashMap<i32, &SnapshotEntry>,
    new: &HashMap<i32, &SnapshotEntry>,
    exits: &[ProcessExit],
    born: &[bool],
) -> HashSet<i32> {
    let zombie = |(x, born): (&ProcessExit, &bool)| {
        let was = old.get(&x.pid).filter(|_| !born).copied();
        is_zombie(was, new.get(&x.pid).copied(), x).then_some(x.pid)
    };
    exits.iter().zip(born).filter_map(zombie).collect()
}

/// Which exits are of processes that were born since the snapshot before: by their start where that is exact, else all
/// but the first of a pid that the snapshot has.
fn births(old: &HashMap<i32, &SnapshotEntry>, exits: &[ProcessExit]) -> Vec<bool> {
    let mut seen: HashSet<i32> = HashSet::new();
    let is_born = |x: &ProcessExit| match (old.get(&x.pid), x.began.start_ticks()) {
        (None, _) => true,
        (Some(o), Some(start)) => o.start_ticks != start,
        (Some(_), None) => !seen.insert(x.pid),
    };
    exits.iter().map(is_born).collect()
}

/// Pids of the program's tree: its main process and the members of its cgroup or, where that is not known, all that
/// were born inside the sample to one of these or, as orphans, to tare (which is a subreaper).
fn tree_of(
    old: &HashMap<i32, &SnapshotEntry>,
    after: &Snapshot,
    exits: &[ProcessExit],
    born: &[bool],
    roles: &Roles,
) -> HashSet<i32> {
    let members = exits.iter().zip(born).filter(|(x, born)| **born && x.member == Some(true)).map(|(x, _)| x.pid);
    let members = members.filter(|pid| !roles.helpers.contains(pid));
    let mut tree: HashSet<i32> = members.chain(roles.main).chain(roles.members.iter().flatten().copied()).collect();
    // Then the parents decide only about those that have left the cgroup.
    let known = roles.members.is_some() && exits.iter().all(|x| x.member.is_some());
    let is_born = |e: &&SnapshotEntry| old.get(&e.pid).is_none_or(|o| o.start_ticks != e.start_ticks);
    let alive = after.entries.iter().filter(|_| !known).filter(is_born).map(|e| (e.pid, e.ppid));
    let ended = exits.iter().zip(born).filter(|(_, born)| **born).map(|(x, _)| (x.pid, x.ppid));
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, ppid) in alive.chain(ended) {
        children.entry(ppid).or_default().push(pid);
    }
    let own = Some(roles.own).filter(|_| !known || roles.adopts_all);
    let mut queue: Vec<i32> = tree.iter().copied().chain(own).collect();
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if !roles.helpers.contains(&child) && tree.insert(child) {
                queue.push(child);
            }
        }
    }
    tree
}

/// Observes the daemons of every sample.
pub struct DaemonCollector {
    reader: SnapshotReader,
    exits: ExitSource,
    before: Snapshot,
}

impl DaemonCollector {
    /// Opens what this machine and this user's privilege allow.
    ///
    /// # Errors
    /// If `/proc` cannot be read at all.
    pub fn open(types: &Result<KernelTypes, BpfError>) -> Result<DaemonCollector, SysError> {
        let cpus = possible(Path::new("/"))?;
        Ok(DaemonCollector {
            reader: SnapshotReader::of_this_machine()?,
            exits: ExitSource::open(&cpus, types),
            before: Snapshot::default(),
        })
    }

    /// Whether exits are seen.
    pub fn sees_exits(&self) -> bool {
        self.exits.unseen().is_none()
    }

    /// The snapshot before the sample. What ended until then is dropped.
    pub fn arm(&mut self) -> Result<(), SysError> {
        self.exits.restart()?;
        self.before = self.reader.capture()?;
        Ok(())
    }

    /// The snapshot after the sample, and the results.
    pub fn harvest(&mut self, roles: &Roles, own_cpu: Nanos) -> Result<(Daemons, TreeDifference), SysError> {
        let (_, daemons, diff) = self.observe(roles, own_cpu)?;
        Ok((daemons, diff))
    }

    fn observe(&mut self, roles: &Roles, own_cpu: Nanos) -> Result<(Snapshot, Daemons, TreeDifference), SysError> {
        let after = self.reader.capture()?;
        self.exits.receive()?;
        let (exits, unseen) = self.exits.exits(roles.cgroup);
        let offset = clock::realtime() - clock::boottime();
        let mut diff = difference(&self.before, &after, &exits, roles, own_cpu, offset);
        let hidden = || Absent::NoPermission("root, because /proc hides other users' processes".into());
        let daemons = Daemons {
            list: std::mem::take(&mut diff.daemons),
            incomplete: unseen.or_else(|| (!self.reader.sees_all()).then(hidden)),
            processes: u32::try_from(after.entries.len()).unwrap_or(u32::MAX),
            image_before: self.before.took,
            image_after: after.took,
        };
        Ok((after, daemons, diff))
    }

    /// As [`DaemonCollector::harvest`], and the snapshot after becomes the one before the next slice: nothing falls
    /// between two.
    pub fn advance(&mut self, roles: &Roles, own_cpu: Nanos) -> Result<Daemons, SysError> {
        let (after, daemons, _) = self.observe(roles, own_cpu)?;
        self.exits.forget(&|pid, start| {
            let at = after.entries.binary_search_by_key(&pid, |e| e.pid).ok().and_then(|i| after.entries.get(i));
            at.is_some_and(|e| start.is_none_or(|s| s == e.start_ticks))
        });
        self.before = after;
        Ok(daemons)
    }

    /// Of the program's tree, when all of it has ended: CPU time by its exits since the snapshot before, and peak
    /// memory.
    ///
    /// # Errors
    /// If records cannot be received.
    pub fn tree(&mut self, roles: &Roles) -> Result<(Reading<Nanos>, Reading<u64>), SysError> {
        self.exits.receive()?;
        let (exits, unseen) = self.exits.exits(roles.cgroup);
        let d = difference(&self.before, &Snapshot::default(), &exits, roles, Nanos::ZERO, Nanos::ZERO);
        let missing = || Absent::Lost("the program's exit record".into());
        let cpu = match unseen {
            Some(absent) => Reading::Absent(absent),
            None => d.tree_exits.ok_or_else(missing).into(),
        };
        Ok((cpu, self.exits.peak_memory(&d.tree).into()))
    }
}

/// This process's id, for [`Roles`].
pub fn own_pid() -> i32 {
    process::own_pid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exits::Began;
    use tarebench_sys::procfs::Comm;

    fn entry(pid: i32, ppid: i32, start: u64, name: &str, cpu: i64) -> SnapshotEntry {
        let comm = Comm::new(name.as_bytes());
        SnapshotEntry {
            pid,
            ppid,
            start_ticks: start,
            comm,
            kernel_thread: false,
            cpu: Nanos(cpu),
            interval_counted: None,
        }
    }

    fn image(entries: &[SnapshotEntry]) -> Snapshot {
        Snapshot { entries: entries.to_vec(), took: Nanos::ZERO }
    }

    fn exit(pid: i32, ppid: i32, name: &str, cpu: i64) -> ProcessExit {
        ProcessExit {
            pid,
            ppid,
            comm: Comm::new(name.as_bytes()),
            cpu: Nanos(cpu),
            tick_bound: true,
            interval_counted: None,
            began: Began::Realtime(Nanos::ZERO),
            member: None,
            kernel: false,
        }
    }

    const OWN: i32 = 50;
    const MAIN: i32 = 60;

    fn roles() -> Roles {
        Roles { main: Some(MAIN), own: OWN, ..Roles::default() }
    }

    fn summary(d: &TreeDifference) -> Vec<(i32, String, i64, bool, bool)> {
        d.daemons.iter().map(|d| (d.pid, d.name.to_string(), d.cpu.0, d.born, d.died)).collect()
    }

    #[test]
    fn every_kind_of_daemon_appears_once() {
        let before = image(&[
            entry(1, 0, 1, "init", 5),
            entry(2, 1, 1, "idle", 9),
            entry(3, 1, 2, "ends", 100),
            entry(OWN, 1, 3, "tare", 7),
        ]);
        let after = image(&[
            entry(1, 0, 1, "init", 25),
            entry(2, 1, 1, "idle", 9),
            entry(OWN, 1, 3, "tare", 900),
            entry(70, 1, 9, "born", 30),
            entry(71, 1, 9, "zombie", 44),
        ]);
        let exits =
            [exit(3, 1, "ends", 140), exit(80, 1, "short", 11), exit(71, 1, "zombie", 40), exit(MAIN, OWN, "put", 999)];
        let d = difference(&before, &after, &exits, &roles(), Nanos(3), Nanos::ZERO);
        let expected = [
            (71, "zombie", 44, true, true),
            (3, "ends", 40, false, true),
            (70, "born", 30, true, false),
            (1, "init", 20, false, false),
            (80, "short", 11, true, true),
            (OWN, "tare", 3, false, false),
        ];
        assert_eq!(summary(&d), expected.map(|(p, n, c, b, x)| (p, n.to_string(), c, b, x)));
        assert_eq!(d.tree_exits, Some(Nanos(999)));
        assert_eq!(d.daemons.last().unwrap().kind, TaskKind::Tare);
    }

    #[test]
    fn a_reused_pid_is_two_processes() {
        let before = image(&[entry(3, 1, 2, "old", 100)]);
        let after = image(&[entry(3, 1, 77, "new", 20)]);
        let d = difference(&before, &after, &[exit(3, 1, "old", 130)], &roles(), Nanos::ZERO, Nanos::ZERO);
        assert_eq!(summary(&d), [(3, "old".into(), 30, false, true), (3, "new".into(), 20, true, false)]);
        // Used twice more and gone: three processes in all.
        let exits = [exit(3, 1, "old", 130), exit(3, 1, "second", 7), exit(3, 1, "third", 8)];
        let d = difference(&before, &image(&[]), &exits, &roles(), Nanos::ZERO, Nanos::ZERO);
        assert_eq!(summary(&d).iter().map(|s| s.2).collect::<Vec<_>>(), [30, 8, 7]);
    }

    #[test]
    fn the_programs_tree_is_never_a_daemon() {
        let before = image(&[entry(1, 0, 1, "init", 5), entry(OWN, 1, 1, "tare", 0)]);
        let after = image(&[
            entry(1, 0, 1, "init", 5),
            entry(OWN, 1, 1, "tare", 0),
            entry(90, OWN, 9, "orphan", 3),
            entry(91, 90, 9, "its child", 3),
        ]);
        let exits = [
            exit(62, 61, "grandchild", 5),
            exit(61, MAIN, "child", 6),
            exit(MAIN, OWN, "put", 7),
            exit(95, 1, "other", 8),
        ];
        let d = difference(&before, &after, &exits, &roles(), Nanos::ZERO, Nanos::ZERO);
        assert_eq!(summary(&d), [(95, "other".into(), 8, true, true)]);
        assert_eq!(d.tree_exits, Some(Nanos(18)));
        assert_eq!(d.survivors.iter().map(|s| s.0).collect::<Vec<_>>(), [90, 91]);
    }

    #[test]
    fn with_a_cgroup_its_members_alone_are_the_tree() {
        let before = image(&[entry(1, 0, 1, "init", 5), entry(70, 1, 2, "server", 1)]);
        // A hook's server is adopted by tare as an orphan; it forks inside the sample. The program's child was adopted
        // by init.
        let after = image(&[entry(1, 0, 1, "init", 5), entry(70, OWN, 2, "server", 1), entry(71, OWN, 9, "forked", 6)]);
        let member = |x: ProcessExit, m: bool, start: i64| ProcessExit {
            member: Some(m),
            began: Began::Boot(Nanos(start)),
            ..x
        };
        let exits = [
            member(exit(MAIN, OWN, "put", 7), true, 90_000_000),
            member(exit(61, 1, "escaped", 6), true, 90_000_000),
            member(exit(62, OWN, "other", 8), false, 90_000_000),
        ];
        let roles = Roles { members: Some(vec![]), cgroup: Some(1), ..roles() };
        let d = difference(&before, &after, &exits, &roles, Nanos::ZERO, Nanos::ZERO);
        assert_eq!(d.tree_exits, Some(Nanos(13)));
        assert_eq!(summary(&d).iter().map(|s| s.0).collect::<Vec<_>>(), [62, 71]);
        assert!(d.survivors.is_empty());
    }
}
