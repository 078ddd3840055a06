//! Process time of the program's tree, and where it was read.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};

/// Where a process time came from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PtSource {
    /// `cpu.stat` of a cgroup v2 leaf that holds the whole tree.
    Cgroup,
    /// perf software event task-clock, inherited by the tree, enabled on exec. It reads the CPU's clock while a task has
    /// the CPU, so it contains steal time, which the scheduler's account excludes where the kernel was
    /// built with CONFIG_PARAVIRT_TIME_ACCOUNTING (`update_rq_clock_task`, kernel/sched/core.c).
    TaskClock,
    /// Exit records of the tree's processes, by eBPF or taskstats.
    ExitRecords,
    /// `wait4`: the program and the descendants that were waited for.
    Wait4,
}

impl PtSource {
    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            PtSource::Cgroup => "cgroup v2 cpu.stat",
            PtSource::TaskClock => "perf task-clock",
            PtSource::ExitRecords => "exit records",
            PtSource::Wait4 => "wait4",
        }
    }

    /// What it misses, if anything.
    pub fn misses(self) -> Option<&'static str> {
        match self {
            PtSource::Cgroup => None,
            PtSource::TaskClock => Some(
                "the time before exec, and programs that change privilege (setuid), for which the kernel stops \
                 counting; it includes steal time",
            ),
            PtSource::ExitRecords => {
                Some("up to one timer tick per thread that ended before its process (per process, without eBPF)")
            }
            PtSource::Wait4 => Some(
                "descendants that no process waited for: those that outlived the program, or whose parent ignores \
                      SIGCHLD",
            ),
        }
    }
}

/// User and system time as the kernel divides them, and their exact sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel on the program's behalf.
    pub system: Nanos,
    /// Together; from the scheduler's clock, so not always the sum of two rounded figures.
    pub total: Nanos,
}

/// Process time of the whole tree, from every source that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessTimes {
    /// The source that this run reports; the same in all its samples.
    pub source: PtSource,
    /// From the sample's cgroup (resolution 1 µs).
    pub cgroup: Reading<CpuTime>,
    /// From the perf event (resolution 1 ns).
    pub task_clock: Reading<Nanos>,
    /// Sum over the tree's exit records (understates each process by up to a tick).
    pub exit_records: Reading<Nanos>,
    /// From wait4, of the program and of orphans that tare reaped (resolution 1 µs).
    pub wait4: Reading<CpuTime>,
}

impl ProcessTimes {
    /// PT by the run's source.
    pub fn total(&self) -> Result<Nanos, Absent> {
        let r = match self.source {
            PtSource::Cgroup => self.cgroup.as_result().map(|c| c.total),
            PtSource::TaskClock => self.task_clock.as_result().copied(),
            PtSource::ExitRecords => self.exit_records.as_result().copied(),
            PtSource::Wait4 => self.wait4.as_result().map(|c| c.total),
        };
        r.map_err(Clone::clone)
    }

    /// User and system time: from the cgroup, else from wait4.
    pub fn split(&self) -> Option<CpuTime> {
        self.cgroup.value().or(self.wait4.value()).copied()
    }
}
