//! One timed execution, with everything that was observed around it.

use crate::account::{Account, Counters, Estimate};
use crate::name::Name;
use crate::reading::{Absent, Reading};
use crate::units::{Cycles, Nanos};
use serde::{Deserialize, Serialize};

/// One instant on three clocks, read one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// CLOCK_MONOTONIC: slewed by NTP; elapsed time is taken from it.
    pub monotonic: Nanos,
    /// CLOCK_MONOTONIC_RAW: the same hardware, never slewed.
    pub monotonic_raw: Nanos,
    /// The cycle counter; `None` where the CPU has none that a program may read.
    pub cycles: Option<Cycles>,
}

/// Whether a sample counts towards the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Fills the caches; recorded, not counted (EMP section 4: the first measurement is thrown out).
    Warmup,
    /// Counts.
    Counted,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// By itself, with this exit status.
    Exited {
        /// Exit status, 0 to 255.
        code: i32,
    },
    /// By a signal.
    Signaled {
        /// Number of the signal.
        signal: i32,
    },
    /// Tare ended it, as it ran longer than allowed.
    TimedOut {
        /// The limit.
        limit: Nanos,
    },
    /// It stopped (SIGSTOP, SIGTTIN, …) and nobody continued it; tare ended it.
    Stopped {
        /// Number of the signal that stopped it.
        signal: i32,
    },
    /// It could not be started; both stamps are around the attempt.
    NotStarted {
        /// The system's message.
        error: String,
    },
    /// A hook before or after it failed.
    HookFailed {
        /// What failed and how.
        error: String,
    },
    /// The user interrupted tare while it ran.
    Interrupted,
}

impl Outcome {
    /// Exited with status 0.
    pub fn success(&self) -> bool {
        matches!(self, Outcome::Exited { code: 0 })
    }

    /// The status as a shell gives it: 128 + n for signal n; `None` if it never ran to an end of its own.
    pub fn shell_code(&self) -> Option<i32> {
        match self {
            Outcome::Exited { code } => Some(*code),
            Outcome::Signaled { signal } => Some(128 + signal),
            _ => None,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Exited { code: 0 } => write!(f, "ok"),
            Outcome::Exited { code } => write!(f, "exit status {code}"),
            Outcome::Signaled { signal } => write!(f, "killed by signal {signal}"),
            Outcome::TimedOut { limit } => write!(f, "ended after the time limit of {} s", limit.secs()),
            Outcome::Stopped { signal } => write!(f, "stopped by signal {signal} and not continued"),
            Outcome::NotStarted { error } => write!(f, "could not be started: {error}"),
            Outcome::HookFailed { error } => write!(f, "{error}"),
            Outcome::Interrupted => write!(f, "interrupted"),
        }
    }
}

/// Where a process time came from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PtSource {
    /// `cpu.stat` of a cgroup v2 leaf that holds the whole tree.
    Cgroup,
    /// perf software event task-clock, inherited by the tree, enabled on exec. It reads the CPU's clock while a task has
    /// the CPU, so that it contains stolen time, which the scheduler's own account leaves out where the kernel was
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
                "the time before exec, and programs that change privilege (setuid), which the kernel stops counting; \
                 it runs on while a hypervisor has the CPU",
            ),
            PtSource::ExitRecords => {
                Some("up to one timer tick per thread that ended before its process (per process, without eBPF)")
            }
            PtSource::Wait4 => {
                Some("descendants that nobody waited for and that outlived the program or whose parent ignores SIGCHLD")
            }
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

/// What `wait4` says of the program itself (and of the descendants that it waited for).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Peak resident memory, bytes, as wait4 has it: never below tare's own, which the kernel counts in until exec.
    pub max_rss: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Context switches by waiting.
    pub voluntary_switches: u64,
    /// Context switches by being preempted.
    pub involuntary_switches: u64,
}

/// What kind of task a daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A user process.
    User,
    /// A kernel thread.
    Kernel,
    /// Tare itself.
    Tare,
}

/// A task other than the program that used CPU time inside a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Process id.
    pub pid: i32,
    /// Start time since boot; with `pid` it identifies the process.
    pub start: Nanos,
    /// Command name as the kernel has it (at most 15 bytes, longer for kernel workers).
    pub name: Name,
    /// User process, kernel thread, tare.
    pub kind: TaskKind,
    /// CPU time inside the sample.
    pub cpu: Nanos,
    /// Whether `cpu` was read at the process's exit from a record that may understate it by up to one timer tick.
    #[serde(default)]
    pub tick_bound: bool,
    /// Tick-sampled (interval-counted) user + system time inside the sample, where known.
    pub interval_counted: Option<Nanos>,
    /// It began inside the sample.
    pub born: bool,
    /// It ended inside the sample.
    pub died: bool,
}

/// The daemons of one sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemons {
    /// Those with CPU time, or that were born or died inside the sample; largest first.
    pub list: Vec<Daemon>,
    /// `None` if every task that ran is in the list; otherwise what may be missing, and why.
    pub incomplete: Option<Absent>,
    /// Number of processes in the image after the sample.
    pub processes: u32,
    /// Time that the image before took.
    pub image_before: Nanos,
    /// Time that the image after took.
    pub image_after: Nanos,
}

/// A process of the program's tree that was alive when the program had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Process id.
    pub pid: i32,
    /// Command name.
    pub name: Name,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a survivor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Fate {
    /// Tare ended it.
    Ended,
    /// Left running, as asked (`--leave-running`).
    Left,
    /// Tare could not end it; the system's message.
    CouldNotEnd(String),
}

/// What tare itself used between the two stamps of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnUse {
    /// CPU time of tare (starting the program and waiting for it included).
    pub cpu: Nanos,
    /// Times that tare gave up the CPU by itself; one for the start (vfork), one for the wait.
    pub voluntary_switches: i64,
    /// Times that tare was preempted.
    pub involuntary_switches: i64,
}

/// One timed execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the series (program) in the run.
    pub series: u32,
    /// Position in the order of execution of the whole run, from 0.
    pub seq: u32,
    /// Number within the series and phase, from 0.
    pub index: u32,
    /// Warm-up or counted.
    pub phase: Phase,
    /// CLOCK_REALTIME just before the start, since 1970.
    pub wall_clock: Nanos,
    /// Just before the program starts.
    pub start: Stamp,
    /// Just after it has ended.
    pub end: Stamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Process time of its tree.
    pub process_times: Reading<ProcessTimes>,
    /// Faults, switches.
    pub usage: Reading<Usage>,
    /// Peak resident memory, bytes, of the largest single process of the tree.
    pub peak_memory: Reading<u64>,
    /// What else ran.
    pub daemons: Reading<Daemons>,
    /// What outlived the program.
    pub survivors: Vec<Survivor>,
    /// Tare's own use.
    pub own: OwnUse,
    /// CPU time that the hypervisor took from all CPUs meanwhile (`/proc/stat`, tick resolution).
    pub steal: Reading<Nanos>,
    /// Where its time went, traced in the kernel.
    pub account: Reading<Account>,
    /// What can be said of that without tracing.
    pub estimate: Reading<Estimate>,
    /// Hardware counts.
    pub counters: Reading<Counters>,
    /// Length of the random environment variable that shifts the stack, in bytes.
    pub environment_padding: u32,
}

impl Sample {
    /// Elapsed time (ET, gross): CLOCK_MONOTONIC, end less start.
    pub fn elapsed(&self) -> Nanos {
        self.end.monotonic - self.start.monotonic
    }

    /// Process time (PT) by the run's source.
    pub fn process_time(&self) -> Result<Nanos, Absent> {
        match &self.process_times {
            Reading::Value(p) => p.total(),
            Reading::Absent(a) => Err(a.clone()),
        }
    }
}
