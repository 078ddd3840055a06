//! Process time of the program's tree, by the best source that this machine and user have, chosen once per run.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck, allowance};
use tarebench_sys::cgroup::Leaf;
use tarebench_sys::perf::TaskClock;
use tarebench_sys::{SysError, clock};

/// What is known of an execution beside the readings of [`PtCollector`].
pub struct ExecutionTimes {
    pub series: u32,
    /// A counted sample, or a duet.
    pub counted: bool,
    pub exit_records: Reading<Nanos>,
    /// Of the program and of orphans.
    pub wait4: Reading<CpuTime>,
    /// Of the orphans alone.
    pub orphans: Nanos,
    /// Context switches by wait4.
    pub switches: u64,
    /// How long the start took, where the task-clock may be in use.
    pub until_exec: Nanos,
    /// The cgroup that the main process ended in.
    pub last_cgroup: Reading<Name>,
}

/// Whether wait4 stands in for the run's source.
#[derive(Clone, Copy, Default)]
struct SeriesSource {
    by_wait4: bool,
    /// A counted sample has been taken: the others use the same source.
    settled: bool,
}

/// Reads process times around each sample.
pub struct PtCollector {
    source: PtSource,
    notes: Vec<String>,
    keep: bool,
    leaf: Option<Leaf>,
    clock: Option<TaskClock>,
    series: HashMap<u32, SeriesSource>,
    cgroup_before: Option<CpuTime>,
    clock_before: Option<Nanos>,
}

fn difference(after: CpuTime, before: CpuTime) -> CpuTime {
    CpuTime { user: after.user - before.user, system: after.system - before.system, total: after.total - before.total }
}

impl PtCollector {
    /// Probes the sources, best first. `keep`: leftover processes are left running. `sees_exits`: taskstats exit
    /// records are received. `only`: use no better source than this one.
    pub fn probe(keep: bool, sees_exits: bool, only: Option<PtSource>) -> PtCollector {
        let mut notes = Vec::new();
        let wanted = |s: PtSource| only.is_none_or(|o| o <= s);
        let mut leaf = None;
        if wanted(PtSource::Cgroup) {
            match Leaf::make(keep) {
                Ok(l) => leaf = Some(l),
                Err(e) => notes.push(format!("{}: {}", PtSource::Cgroup.name(), e.absent(CGROUP_NEEDS))),
            }
        }
        let mut clock = None;
        if leaf.is_none() && wanted(PtSource::TaskClock) {
            match TaskClock::open() {
                Ok(c) => clock = Some(c),
                Err(e) => notes.push(format!("{}: {}", PtSource::TaskClock.name(), e.absent(PERF_NEEDS))),
            }
        }
        if leaf.is_none() && clock.is_none() && wanted(PtSource::ExitRecords) && !sees_exits {
            notes.push(format!("{}: they are not received (see the list of daemons)", PtSource::ExitRecords.name()));
        }
        let source = if leaf.is_some() {
            PtSource::Cgroup
        } else if clock.is_some() {
            PtSource::TaskClock
        } else if sees_exits && wanted(PtSource::ExitRecords) {
            PtSource::ExitRecords
        } else {
            PtSource::Wait4
        };
        PtCollector {
            source,
            notes,
            keep,
            leaf,
            clock,
            series: HashMap::new(),
            cgroup_before: None,
            clock_before: None,
        }
    }

    /// The source in use.
    pub fn source(&self) -> PtSource {
        self.source
    }

    /// Why better sources are not used.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The cgroup that programs are to be started in.
    pub fn folder(&self) -> Option<BorrowedFd<'_>> {
        self.leaf.as_ref().map(Leaf::as_fd)
    }

    /// The leaf, to read it and to kill what is in it.
    pub fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// Makes sure of a cgroup that a program can be started in.
    ///
    /// # Errors
    /// If a new one is needed and cannot be made.
    pub fn make_ready(&mut self) -> Result<(), SysError> {
        // What was left running in the last leaf must not be charged to the next sample.
        let occupied = |l: &Leaf| self.keep && l.processes().is_ok_and(|p| !p.is_empty());
        if self.leaf.as_ref().is_some_and(|l| l.is_spent() || occupied(l)) {
            self.leaf = Some(Leaf::make(self.keep)?);
        }
        Ok(())
    }

    /// Readings before a sample.
    ///
    /// # Errors
    /// If the chosen source can no longer be read.
    pub fn arm(&mut self) -> Result<(), SysError> {
        self.cgroup_before = self.leaf.as_ref().map(settled).transpose()?;
        // A new one for each sample: what a hook or an earlier sample left running has inherited the last one.
        if self.clock.is_some() {
            self.clock = Some(TaskClock::open()?);
        }
        self.clock_before = self.clock.as_mut().map(TaskClock::read).transpose()?;
        Ok(())
    }

    /// What the tree has used since [`Self::arm`], while it runs; known with a cgroup only.
    pub fn so_far(&self) -> Reading<Nanos> {
        match (&self.leaf, self.cgroup_before) {
            (Some(leaf), Some(before)) => {
                leaf.cpu_time().map(|now| now.total - before.total).map_err(|e| e.absent(CGROUP_NEEDS)).into()
            }
            _ => Reading::Absent(Absent::NoPermission("a cgroup v2 folder for each program".into())),
        }
    }

    /// Readings after a sample, when the program's tree has ended.
    pub fn harvest(&mut self, of: ExecutionTimes) -> ProcessTimes {
        let not_used = |s: PtSource| Absent::NotAsked(format!("{} is used", s.name()));
        let cgroup = match (&self.leaf, self.cgroup_before) {
            (Some(leaf), Some(before)) => {
                stable(leaf).map(|after| difference(after, before)).map_err(|e| e.absent(CGROUP_NEEDS)).into()
            }
            _ => Reading::Absent(not_used(self.source)),
        };
        let task_clock = match (&mut self.clock, self.clock_before) {
            (Some(clock), Some(before)) => {
                clock.read().map(|after| after - before).map_err(|e| e.absent(PERF_NEEDS)).into()
            }
            _ => Reading::Absent(not_used(self.source)),
        };
        let allowance = allowance(self.source, of.until_exec, of.switches, of.orphans);
        let check = SourceCheck { allowance: Some(allowance), replaced: None, moved_to: self.moved_to(of.last_cgroup) };
        let (exit_records, wait4) = (of.exit_records, of.wait4);
        let mut times = ProcessTimes { source: self.source, cgroup, task_clock, exit_records, wait4, check };
        if self.by_wait4(of.series, of.counted, &times) {
            times.check.replaced = Some(self.source);
            times.source = PtSource::Wait4;
        }
        times
    }

    /// Whether wait4 stands in for the source. The first counted sample decides, and the warm-ups before it: all counted samples
    /// have one source.
    fn by_wait4(&mut self, series: u32, counted: bool, times: &ProcessTimes) -> bool {
        let series = self.series.entry(series).or_default();
        if !series.settled {
            series.by_wait4 |= times.shortfall(self.source).is_some();
            series.settled = counted;
        }
        series.by_wait4
    }

    fn moved_to(&self, last: Reading<Name>) -> Reading<Option<Name>> {
        match &self.leaf {
            Some(leaf) => last.map(|name| Some(name).filter(|name| !leaf.has_below(name.as_bytes()))),
            None => Reading::Absent(Absent::NotAsked("it was started in tare's own cgroup".into())),
        }
    }
}

const CGROUP_NEEDS: &str = "permission to create a cgroup v2 folder (root, or systemd-run --user --scope -p \
                            Delegate=yes)";
const PERF_NEEDS: &str = "kernel.perf_event_paranoid of 2 or less";

/// Reads `cpu.stat` until it does not change: a task that has just ended is charged for its last steps a moment later.
fn stable(leaf: &Leaf) -> Result<CpuTime, SysError> {
    let mut last = leaf.cpu_time()?;
    for _ in 0..20 {
        let now = leaf.cpu_time()?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}

/// As [`stable`], over 20 µs: what ran in the leaf just before the sample may still be ending on another CPU.
fn settled(leaf: &Leaf) -> Result<CpuTime, SysError> {
    let mut last = leaf.cpu_time()?;
    for _ in 0..50 {
        let until = clock::monotonic() + Nanos::from_micros(20);
        while clock::monotonic() < until {
            std::hint::spin_loop();
        }
        let now = leaf.cpu_time()?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}
