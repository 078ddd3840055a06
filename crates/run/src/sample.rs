//! One sample: snapshot, clocks, start, wait, clocks, snapshot, difference (EMP figure 6).

use crate::RunError;
use crate::account::AccountCollector;
use crate::daemons::{DaemonCollector, Roles, own_pid};
use crate::launch::{LaunchedExecution, ProcessLauncher};
use crate::probes::ProbeCollector;
use crate::process_time::{ExecutionTimes, PtCollector};
use crate::sampler::SampleRequest;
use std::collections::HashSet;
use std::os::fd::BorrowedFd;
use std::path::Path;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::account::{Account, Estimate};
use tarebench_core::sample::counters::Counters;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::data::{Fate, Outcome, OwnUse, Phase, Sample, Survivor, Usage};
use tarebench_core::sample::probes::SampleProbes;
use tarebench_core::sample::process_time::CpuTime;
use tarebench_sys::cgroup::Leaf;
use tarebench_sys::cgroup_limits::{CgroupLimitCounts, CgroupLimitFiles};
use tarebench_sys::procfs::{parse_steal, read_below};
use tarebench_sys::signals::Signals;
use tarebench_sys::spawn::{Launch, spawn};
use tarebench_sys::{SysError, clock, pidfd, process, wait};

/// Everything that observes a sample.
pub struct Collectors {
    pub pt: PtCollector,
    /// Daemons; absent if no snapshots are taken.
    pub daemons: Reading<DaemonCollector>,
    /// Accounts; absent if none are wanted.
    pub account: Reading<AccountCollector>,
    /// What the limits of tare's cgroups do.
    pub limits: CgroupLimitFiles,
    /// Probes beside the program; absent if none are wanted.
    pub probes: Reading<ProbeCollector>,
}

/// Takes one sample; `leave_running` keeps leftover processes. The second value is the signal that asked tare to end
/// during the sample.
///
/// # Errors
/// Only what makes further measuring pointless.
pub fn take(
    launcher: &mut ProcessLauncher,
    collectors: &mut Collectors,
    request: &SampleRequest<'_>,
    leave_running: bool,
    signals: &Signals,
) -> Result<(Sample, Option<i32>), RunError> {
    let mut tree = Tree::before(launcher.helpers());
    let (steal_before, limits_before) = arm(collectors, &mut tree, leave_running, signals)?;
    let Collectors { pt, daemons, account, limits, probes } = collectors;
    let mut end_tree = |main: i32, force: bool| {
        if let Reading::Value(probes) = &*probes {
            probes.release();
        }
        match pt.leaf() {
            Some(leaf) => end_held(leaf, main, force),
            None => tree.signal(main, force),
        }
    };
    let own_peak = wait::own_peak_memory();
    let execution =
        launcher.execute(request.slot.series as usize, request.environment, pt.folder(), &mut end_tree, signals)?;
    let (steal_after, cgroup_limits) = (steal(), limits.since(&limits_before));
    if let Reading::Value(account) = account {
        account.ended();
    }
    let probes = probed(probes, &execution);

    let mut members = pt.leaf().map(Leaf::processes).transpose()?;
    if let Some(members) = &mut members {
        members.extend(tree.escaped(execution.pid, members));
    }
    let cgroup = pt.leaf().and_then(Leaf::id);
    let mut roles = Roles {
        main: execution.pid,
        own: own_pid(),
        helpers: tree.helpers.clone(),
        members,
        cgroup,
        adopts_all: tree.is_alone(),
    };
    let (observed, alive) = observe(daemons, &roles, &execution, &tree)?;
    let meanwhile = execution.orphans.iter().filter(|o| !tree.outsiders.contains(&o.0)).map(|o| o.1);
    let mut orphans: Vec<CpuTime> = meanwhile.collect();
    let survivors = settle_survivors(pt.leaf(), &tree, alive.clone(), leave_running, &mut orphans);
    tree.reap(&mut orphans);
    roles.members = roles.members.map(|_| alive.iter().map(|a| a.0).collect());
    let (exit_records, peak) = match daemons {
        Reading::Value(d) => d.tree(&roles)?,
        Reading::Absent(a) => (Reading::Absent(a.clone()), Reading::Absent(a.clone())),
    };
    let accounts = accounts(account, &execution);
    let peak_memory = peak_memory(peak, &execution.usage, own_peak);
    let started = execution.pid.is_some();
    let process_times = match started {
        true => Reading::Value(pt.harvest(ExecutionTimes {
            series: request.slot.series,
            counted: request.slot.phase == Phase::Counted,
            exit_records,
            wait4: with_orphans(&execution.cpu, &orphans),
            orphans: orphans.iter().map(|o| o.total).sum(),
            switches: execution.usage.value().map_or(0, Usage::switches),
            until_exec: execution.until_exec,
            last_cgroup: execution.last_cgroup,
        })),
        false => Reading::Absent(Absent::NotAsked("the program was not started".into())),
    };
    let sample = Sample {
        series: request.slot.series,
        seq: request.seq,
        index: request.slot.index,
        phase: request.slot.phase,
        block: None,
        wall_clock: execution.wall_clock,
        start: execution.start,
        end: execution.end,
        outcome: execution.outcome,
        process_times,
        usage: execution.usage,
        peak_memory,
        daemons: observed,
        survivors,
        own: execution.own,
        steal: steal_after.and_then(|a| Ok(a - steal_before?)).into(),
        clock_shift: execution.clock_shift,
        cgroup_limits: Reading::Value(cgroup_limits),
        account: accounts.0,
        estimate: accounts.1,
        counters: accounts.2,
        environment_padding: request.padding,
        metrics: Vec::new(),
        probes,
    };
    Ok((sample, execution.interrupted))
}

/// A wait before a start up to this long leaves the snapshot of daemons as it is.
const SHORT_WAIT: Nanos = Nanos::from_millis(5);

/// Makes the collectors ready, so that the next process is the program; returns the steal time and what limits did so far.
fn arm(
    Collectors { pt, daemons, account, limits, probes }: &mut Collectors,
    tree: &mut Tree,
    leave_running: bool,
    signals: &Signals,
) -> Result<(Result<Nanos, Absent>, CgroupLimitCounts), RunError> {
    if let Reading::Value(daemons) = daemons {
        daemons.arm()?;
    }
    pt.make_ready()?;
    if let Reading::Value(account) = account {
        account.prepare();
    }
    tree.helpers.extend(warm(pt.folder(), signals));
    if let Reading::Value(probes) = probes {
        let began = clock::monotonic();
        probes.arm(pt.leaf(), leave_running, signals);
        // A child of tare, perhaps a new one.
        tree.outsiders.extend(probes.helper());
        tree.helpers.extend(probes.helper());
        // What others did while the start waited is not the sample's. After a short wait the kernel's paths are still warm.
        if clock::monotonic() - began > SHORT_WAIT
            && let Reading::Value(daemons) = daemons
        {
            daemons.arm()?;
        }
    }
    let before = (steal(), limits.read());
    pt.arm()?;
    if let Reading::Value(account) = account {
        account.start();
    }
    Ok(before)
}

/// The record of a sample whose program was not started, as a hook before it failed.
pub fn not_taken(request: &SampleRequest<'_>, error: String) -> Sample {
    let absent = || Absent::NotAsked("the program was not started".into());
    let now = LaunchedExecution::nothing();
    Sample {
        series: request.slot.series,
        seq: request.seq,
        index: request.slot.index,
        phase: request.slot.phase,
        block: None,
        wall_clock: now.wall_clock,
        start: now.start,
        end: now.end,
        outcome: Outcome::HookFailed { error },
        process_times: Reading::Absent(absent()),
        usage: Reading::Absent(absent()),
        peak_memory: Reading::Absent(absent()),
        daemons: Reading::Absent(absent()),
        survivors: Vec::new(),
        own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
        steal: Reading::Absent(absent()),
        clock_shift: Reading::Absent(absent()),
        cgroup_limits: Reading::Absent(absent()),
        account: Reading::Absent(absent()),
        estimate: Reading::Absent(absent()),
        counters: Reading::Absent(absent()),
        environment_padding: request.padding,
        metrics: Vec::new(),
        probes: tarebench_core::sample::data::not_probed(),
    }
}

/// Starts and reaps a trivial program until that is no faster than the time before, so that every sample finds the
/// kernel's paths for starting one warm.
///
/// EMP measures with warm caches (section 4). Snapshots and the store's commit before a sample cool them: without this,
/// `true` took some 5% longer than in a loop that does nothing else. It runs in the sample's cgroup, as joining one is part
/// of the path; the readings before the sample are taken when it has ended. Returns the programs' ids; they are not
/// daemons.
fn warm(cgroup: Option<BorrowedFd<'_>>, signals: &Signals) -> Vec<i32> {
    const MOST: usize = 6;
    let mut pids = Vec::new();
    let mut last = Nanos(i64::MAX);
    while pids.len() < MOST {
        let began = clock::monotonic();
        let Some(pid) = start_and_reap(cgroup, signals) else { break };
        let took = clock::monotonic() - began;
        pids.push(pid);
        // At least three: the first two may both be slow, on different CPUs.
        if pids.len() >= 3 && took.0 > last.0 - last.0 / 50 {
            break;
        }
        last = took;
    }
    pids
}

fn start_and_reap(cgroup: Option<BorrowedFd<'_>>, signals: &Signals) -> Option<i32> {
    let mut launch = Launch::new(Path::new("/bin/true"), [&b"true"[..]], []).ok()?;
    launch.start_at_once();
    let child = spawn(&launch, cgroup, signals).ok()?;
    wait::wait(&child, None, signals, &mut |_| {});
    wait::reap(child.pid, true).ok()?.map(|r| r.pid)
}

/// The account by tracing, the estimate without, and the hardware's counts, when the tree has ended.
fn accounts(
    collector: &mut Reading<AccountCollector>,
    execution: &LaunchedExecution,
) -> (Reading<Account>, Reading<Estimate>, Reading<Counters>) {
    match collector {
        Reading::Value(c) => (c.stop(execution.pid), c.estimate(&execution.schedstat), c.counters(&execution.cpu)),
        Reading::Absent(why) => {
            (Reading::Absent(why.clone()), Reading::Absent(why.clone()), Reading::Absent(why.clone()))
        }
    }
}

/// What the probes have measured of an execution that has ended.
fn probed(collector: &mut Reading<ProbeCollector>, execution: &LaunchedExecution) -> Reading<SampleProbes> {
    let probes = match collector {
        Reading::Value(probes) => probes.harvest(execution.start.monotonic, execution.end.monotonic),
        Reading::Absent(why) => Reading::Absent(why.clone()),
    };
    match (&execution.pid, &probes) {
        (None, Reading::Value(_)) => Reading::Absent(Absent::NotAsked("the program was not started".into())),
        _ => probes,
    }
}

pub(crate) fn steal() -> Result<Nanos, Absent> {
    let read = read_below(Path::new("/"), "proc/stat").and_then(|d| parse_steal(&d));
    read.map_err(|e| e.absent("a readable /proc/stat"))
}

/// The snapshot after and the difference; who of the tree is alive.
#[allow(clippy::type_complexity)]
fn observe(
    daemons: &mut Reading<DaemonCollector>,
    roles: &Roles,
    execution: &LaunchedExecution,
    tree: &Tree,
) -> Result<(Reading<Daemons>, Vec<(i32, Name)>), SysError> {
    match daemons {
        Reading::Value(collector) => {
            let (observed, difference) = collector.harvest(roles, execution.own.cpu)?;
            Ok((Reading::Value(observed), difference.survivors))
        }
        Reading::Absent(absent) => {
            let pids = roles.members.clone().unwrap_or_else(|| tree.descendants(execution.pid));
            let named = |pid: i32| Some((pid, Name::new(process::stat(pid)?.comm.as_bytes())));
            Ok((Reading::Absent(absent.clone()), pids.into_iter().filter_map(named).collect()))
        }
    }
}

/// Peak memory by the exit records; without them by wait4, if that is above what the child had of tare before its exec.
fn peak_memory(by_exits: Reading<u64>, usage: &Reading<Usage>, own_peak: u64) -> Reading<u64> {
    match (by_exits, usage) {
        (Reading::Value(bytes), _) => Reading::Value(bytes),
        (_, Reading::Value(u)) if u.max_rss > own_peak => Reading::Value(u.max_rss),
        (Reading::Absent(why), Reading::Value(_)) => {
            let bound = format!(
                "it is below {} MiB, the memory of tare, which the value of wait4 includes",
                own_peak.div_ceil(1 << 20)
            );
            Reading::Absent(match why {
                Absent::NotAsked(_) => Absent::NotAsked(format!("exit records are read with snapshots only; {bound}")),
                _ => Absent::NoPermission(format!("CAP_NET_ADMIN (run as root); {bound}")),
            })
        }
        (_, Reading::Absent(a)) => Reading::Absent(a.clone()),
    }
}

fn with_orphans(main: &Reading<CpuTime>, orphans: &[CpuTime]) -> Reading<CpuTime> {
    main.clone().map(|main| {
        orphans.iter().fold(main, |sum, o| CpuTime {
            user: sum.user + o.user,
            system: sum.system + o.system,
            total: sum.total + o.total,
        })
    })
}

const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;
const SIGCONT: i32 = 18;

/// How long the processes of a tree are asked to end; SIGKILL comes next, for those that were not asked, too.
const ASKING: Nanos = Nanos(1_000_000_000);
/// How long a tree is looked through: one that grows as fast is never seen whole.
const SEARCHING: Nanos = Nanos(2_000_000_000);
/// How long leftover processes are killed at most, and how often.
const KILLING: Nanos = Nanos(10_000_000_000);
const KILLING_ROUNDS: u32 = 200;

pub(crate) fn end_leaf(leaf: &Leaf, force: bool) {
    if force {
        let _ = leaf.kill_all();
    } else {
        leaf.signal_all(SIGTERM);
        // A stopped process acts on SIGTERM only when it continues.
        leaf.signal_all(SIGCONT);
    }
}

/// As [`end_leaf`], and the main process, which may have left it.
pub(crate) fn end_held(leaf: &Leaf, main: i32, force: bool) {
    let left = !leaf.holds(main);
    end_leaf(leaf, force);
    if left {
        let signals: &[i32] = if force { &[SIGKILL] } else { &[SIGTERM, SIGCONT] };
        // Not reaped before the end: its pid is not reused.
        signals.iter().for_each(|signal| drop(process::kill(main, *signal)));
    }
}

/// The program's tree as seen through parents, for machines where it has no separate cgroup.
pub(crate) struct Tree {
    /// Children that tare had before.
    outsiders: HashSet<i32>,
    helpers: Vec<i32>,
}

impl Tree {
    pub(crate) fn before(helpers: Vec<i32>) -> Tree {
        Tree { outsiders: process::children(own_pid()).into_iter().collect(), helpers }
    }

    /// Living descendants: of the main process, and of orphans that came to tare.
    pub(crate) fn descendants(&self, main: Option<i32>) -> Vec<i32> {
        let adopted =
            process::children(own_pid()).into_iter().filter(|c| !self.outsiders.contains(c) && Some(*c) != main);
        let roots = adopted.chain(main.into_iter().flat_map(process::children)).collect();
        let mut found = all_below(roots, clock::monotonic() + SEARCHING, process::children);
        found.retain(|pid| is_running(*pid));
        found
    }

    pub(crate) fn signal(&self, main: i32, force: bool) {
        let signals: &[i32] = if force { &[SIGKILL] } else { &[SIGTERM, SIGCONT] };
        let until = clock::monotonic() + ASKING;
        for signal in signals {
            // Whether one still is of the tree takes a look at all above it.
            for pid in while_time(self.descendants(Some(main)), (!force).then_some(until)) {
                let _ = pidfd::signal_if(pid, *signal, || process::descends(pid, own_pid()));
            }
            // Not reaped before the end: its pid is not reused.
            let _ = process::kill(main, *signal);
        }
    }

    /// Reaps orphans of the program that have come to tare and ended; their CPU time goes to `into`.
    pub(crate) fn reap(&self, into: &mut Vec<CpuTime>) {
        while let Ok(Some(reaped)) = wait::reap(-1, false) {
            if !self.outsiders.contains(&reaped.pid) {
                into.push(reaped.cpu);
            }
        }
    }

    /// Whether all orphans that come to tare are the program's: a hook has left no background process, whose orphans would come, too.
    fn is_alone(&self) -> bool {
        self.outsiders.iter().all(|pid| self.helpers.contains(pid))
    }

    /// Orphans of the program that have left its cgroup: where others may come to tare, those of its process group or session.
    fn escaped(&self, main: Option<i32>, members: &[i32]) -> Vec<i32> {
        let of_program =
            |pid: &i32| process::stat(*pid).is_some_and(|s| Some(s.pgrp) == main || Some(s.session) == main);
        let members: HashSet<i32> = members.iter().copied().collect();
        let all = self.descendants(None).into_iter();
        all.filter(|pid| !members.contains(pid) && main.is_some())
            .filter(|pid| self.is_alone() || of_program(pid))
            .collect()
    }
}

/// These processes and all below them, each once and before those below it, as far as they are seen by a time.
fn all_below(roots: Vec<i32>, until: Nanos, children: impl Fn(i32) -> Vec<i32>) -> Vec<i32> {
    let (mut found, mut seen, mut queue) = (Vec::new(), HashSet::new(), roots);
    while let Some(pid) = queue.pop() {
        if seen.insert(pid) {
            found.push(pid);
            if clock::monotonic() < until {
                queue.extend(children(pid));
            }
        }
    }
    found
}

/// Processes one after the other, until the time is over.
fn while_time(pids: Vec<i32>, until: Option<Nanos>) -> impl Iterator<Item = i32> {
    pids.into_iter().take_while(move |_| until.is_none_or(|u| clock::monotonic() < u))
}

/// Whether a process is there and not a zombie.
fn is_running(pid: i32) -> bool {
    process::stat(pid).is_some_and(|s| !s.has_ended())
}

/// Kills the processes that `left` lists until there are none; returns the error for the one that could not be killed. `reap`
/// collects those that have ended.
fn end_all(
    reap: &mut dyn FnMut(),
    left: &dyn Fn() -> Vec<i32>,
    (rounds, time): (u32, Nanos),
) -> Result<(), (i32, String)> {
    let began = clock::monotonic();
    for round in 0.. {
        let left = left();
        let Some(first) = left.first() else { return Ok(()) };
        let took = clock::monotonic() - began;
        if round >= rounds || took > time {
            return Err((*first, format!("it is still there after {:.0} s", took.secs())));
        }
        // As tare adopts orphans, all that is left of the tree descends from it.
        let end = |pid: i32| pidfd::signal_if(pid, SIGKILL, || process::descends(pid, own_pid()));
        let results: Vec<_> = left.iter().map(|pid| (pid, end(*pid))).collect();
        if let Some((pid, Err(e))) = results.iter().find(|r| r.1.is_err())
            && results.iter().all(|r| r.1.is_err())
        {
            return Err((**pid, e.to_string()));
        }
        process::sleep(std::time::Duration::from_millis(1));
        reap();
        process::sleep(std::time::Duration::from_millis(4));
    }
    Ok(())
}

/// Kills leftover processes, unless they are to be kept.
pub(crate) fn settle_survivors(
    leaf: Option<&Leaf>,
    tree: &Tree,
    alive: Vec<(i32, Name)>,
    leave: bool,
    orphans: &mut Vec<CpuTime>,
) -> Vec<Survivor> {
    if alive.is_empty() {
        return Vec::new();
    }
    let named = |fate: &dyn Fn(i32) -> Fate| {
        alive.iter().map(|(pid, name)| Survivor { pid: *pid, name: name.clone(), fate: fate(*pid) }).collect()
    };
    if leave {
        return named(&|_| Fate::Left);
    }
    let limits = (KILLING_ROUNDS, KILLING);
    let mut reap = || tree.reap(orphans);
    let result = match leaf {
        Some(leaf) => leaf.kill_all().map_err(|e| (0, e.to_string())).and_then(|()| {
            end_all(&mut reap, &|| alive.iter().map(|a| a.0).filter(|p| is_running(*p)).collect(), limits)
        }),
        None => end_all(&mut reap, &|| tree.descendants(None), limits),
    };
    match result {
        Ok(()) => named(&|_| Fate::Ended),
        Err((_, why)) => named(&|pid| if process::exists(pid) { Fate::CouldNotEnd(why.clone()) } else { Fate::Ended }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_tree_is_seen_once_and_from_the_top() {
        // A chain, and many beside it; 7 is named by two parents, as a process that was moved while its tree was read.
        let children = |pid: i32| -> Vec<i32> {
            match pid {
                1 => (100_000..200_000).chain([2, 7]).collect(),
                2..10 => vec![pid + 1],
                _ => Vec::new(),
            }
        };
        let began = Instant::now();
        let found = all_below(vec![1], Nanos(i64::MAX), children);
        assert!(began.elapsed() < Duration::from_secs(2), "the time grows with the square of the tree");
        assert_eq!((found.len(), found.iter().collect::<HashSet<_>>().len()), (100_010, 100_010));
        let at = |pid: i32| found.iter().position(|p| *p == pid);
        assert!(at(1) < at(2) && at(2) < at(3) && at(7) < at(8));
        // When the time is over, no more are looked for.
        assert_eq!(all_below(vec![1, 2], Nanos::ZERO, children), [2, 1]);
    }

    #[test]
    fn asking_a_large_tree_to_end_has_an_end() {
        let until = clock::monotonic() + Nanos::from_millis(50);
        let slowly = |_: &i32| std::thread::sleep(Duration::from_millis(5));
        let asked = while_time((0..100).collect(), Some(until)).inspect(slowly).count();
        assert!(asked < 50, "{asked}");
        assert_eq!(while_time((0..100).collect(), None).count(), 100, "all are killed");
    }

    #[test]
    fn killing_has_an_end_though_each_round_takes_long() {
        // Process 1 is none of tare's, so it gets no signal.
        let large = || {
            std::thread::sleep(Duration::from_millis(30));
            vec![1]
        };
        let (began, mut reaped) = (Instant::now(), 0);
        let (pid, why) = end_all(&mut || reaped += 1, &large, (200, Nanos::from_millis(300))).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(3) && reaped > 0, "{:?}, {reaped}", began.elapsed());
        assert!(pid == 1 && why.starts_with("it is still there after"), "{pid}: {why}");
        assert!(end_all(&mut || {}, &|| vec![1], (2, KILLING)).is_err(), "the rounds are limited, too");
        assert!(end_all(&mut || {}, &Vec::<i32>::new, (2, KILLING)).is_ok());
    }
}
