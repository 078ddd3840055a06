//! One timed execution, with everything that was observed around it.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::signal::Signal;
use crate::base::units::{Cycles, Nanos};
use crate::sample::account::{Account, Estimate, Ledger, Share, net_time};
use crate::sample::cgroup_limits::{self, CgroupLimits, Waits};
use crate::sample::counters::Counters;
use crate::sample::daemons::Daemons;
use crate::sample::probes::SampleProbes;
use crate::sample::process_time::ProcessTimes;
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
    /// Fills the caches; recorded, not counted (EMP section 4: the first measurement is discarded).
    Warmup,
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
    Signaled {
        /// Number of the signal.
        signal: i32,
    },
    /// Tare ended it, as it ran longer than allowed.
    TimedOut { limit: Nanos },
    /// It stopped (SIGSTOP, SIGTTIN, …) and no process continued it; tare killed it.
    Stopped {
        /// Number of the signal that stopped it.
        signal: i32,
    },
    /// It could not be started; both stamps are around the attempt.
    NotStarted {
        /// The system's message.
        error: String,
        /// A limit was reached, of processes, open files, memory or arguments: the system's fault, not the program's.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_limit: bool,
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

    /// The status as a shell gives it: 128 + n for signal n; `None` if it never ended by itself.
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
            Outcome::Signaled { signal } => write!(f, "killed by {}", Signal(*signal)),
            Outcome::TimedOut { limit } => write!(f, "killed after the time limit of {} s", limit.secs()),
            Outcome::Stopped { signal } => write!(f, "stopped by {} and not continued", Signal(*signal)),
            Outcome::NotStarted { error, .. } => write!(f, "could not be started: {error}"),
            Outcome::HookFailed { error } => write!(f, "{error}"),
            Outcome::Interrupted => write!(f, "interrupted"),
        }
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

impl Usage {
    pub fn switches(&self) -> u64 {
        self.voluntary_switches.saturating_add(self.involuntary_switches)
    }
}

/// A process of the program's tree that was alive when the program had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub pid: i32,
    pub name: Name,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a survivor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Fate {
    Ended,
    /// Left running, because the plan says so.
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

/// By how much the machine's other clocks moved away from CLOCK_MONOTONIC, which gives the elapsed time, during a sample.
///
/// NTP slews CLOCK_REALTIME, CLOCK_BOOTTIME and CLOCK_MONOTONIC alike (clock_gettime(2)), so slewing does not show here, however
/// long the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockShift {
    /// By how much CLOCK_BOOTTIME advanced more than CLOCK_MONOTONIC, which stands still while the machine is suspended.
    pub suspended: Nanos,
    /// By how much CLOCK_REALTIME advanced more than CLOCK_BOOTTIME: it was set, or a leap second was inserted.
    pub stepped: Nanos,
}

impl ClockShift {
    /// Shifts up to this are those of the readings: the clocks are read one after the other, within this time or not at all.
    pub const RESOLUTION: Nanos = Nanos::from_millis(1);

    /// How long the machine was suspended, if it was.
    pub fn suspend(&self) -> Option<Nanos> {
        (self.suspended > Self::RESOLUTION).then_some(self.suspended)
    }

    /// By how much the clock was set forward (backward: negative), if it was.
    pub fn step(&self) -> Option<Nanos> {
        let step = self.stepped;
        (step > Self::RESOLUTION || step < Nanos::ZERO - Self::RESOLUTION).then_some(step)
    }
}

/// Samples of earlier versions have no such reading.
fn clock_shift_not_recorded() -> Reading<ClockShift> {
    Reading::Absent(Absent::NotAsked("the version of tare that took the sample did not record it".into()))
}

fn is_not_recorded(shift: &Reading<ClockShift>) -> bool {
    *shift == clock_shift_not_recorded()
}

/// A block that holds several executions of each program, as these are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleBlock {
    /// From 0.
    pub number: u32,
    /// Executions of each program that a complete block holds.
    pub executions: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the series (program) in the run.
    pub series: u32,
    /// Position in the order of execution of the whole run, from 0.
    pub seq: u32,
    /// Number within the series and phase, from 0.
    pub index: u32,
    pub phase: Phase,
    /// Its block, where a block holds several executions of each program; else the block is [`Self::index`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<SampleBlock>,
    /// CLOCK_REALTIME just before the start, since 1970.
    pub wall_clock: Nanos,
    /// Just before the program starts.
    pub start: Stamp,
    /// Just after it has ended.
    pub end: Stamp,
    pub outcome: Outcome,
    /// Process time of its tree.
    pub process_times: Reading<ProcessTimes>,
    pub usage: Reading<Usage>,
    /// Peak resident memory, bytes, of the largest single process of the tree.
    pub peak_memory: Reading<u64>,
    pub daemons: Reading<Daemons>,
    /// What outlived the program.
    pub survivors: Vec<Survivor>,
    /// Tare's own use.
    pub own: OwnUse,
    /// CPU time that the hypervisor took from all CPUs meanwhile (`/proc/stat`, tick resolution).
    pub steal: Reading<Nanos>,
    /// Whether the machine was suspended or its clock set meanwhile.
    #[serde(default = "clock_shift_not_recorded", skip_serializing_if = "is_not_recorded")]
    pub clock_shift: Reading<ClockShift>,
    /// What quotas and a lack of memory did meanwhile.
    #[serde(default = "cgroup_limits::not_recorded", skip_serializing_if = "cgroup_limits::is_not_recorded")]
    pub cgroup_limits: Reading<CgroupLimits>,
    /// Where its time went, traced in the kernel.
    pub account: Reading<Account>,
    /// What can be said of that without tracing.
    pub estimate: Reading<Estimate>,
    /// Counts of the kernel and of the PMU.
    pub counters: Reading<Counters>,
    /// Length of the random environment variable that shifts the stack, in bytes.
    pub environment_padding: u32,
    /// What the program printed of itself (`--metric`), in the order in which the plan names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricReading>,
    /// What probes on its CPU measured meanwhile.
    #[serde(default = "not_probed", skip_serializing_if = "is_not_probed")]
    pub probes: Reading<SampleProbes>,
}

/// Nobody asked for probes.
pub fn not_probed<T>() -> Reading<T> {
    Reading::Absent(Absent::NotAsked("no probes ran beside the program".into()))
}

fn is_not_probed(probes: &Reading<SampleProbes>) -> bool {
    *probes == not_probed()
}

/// A value that a program printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricReading {
    /// Name, as the user gave it.
    pub name: String,
    /// The number, as it was printed; it reads as a finite `f64`.
    pub text: Reading<String>,
}

impl MetricReading {
    pub fn number(&self) -> Option<f64> {
        self.text.value().and_then(|t| t.parse().ok()).filter(|n: &f64| n.is_finite())
    }
}

impl Sample {
    /// Number of the block of a counted sample, from 0.
    pub fn block_number(&self) -> u32 {
        self.block.map_or(self.index, |block| block.number)
    }

    /// Elapsed time (ET, gross): CLOCK_MONOTONIC, end less start. It contains the pauses of a gate, as nothing is subtracted from
    /// what a clock showed; process time and net time contain none.
    pub fn elapsed(&self) -> Nanos {
        self.end.monotonic - self.start.monotonic
    }

    /// How long a gate paused it while the machine was busy; no time without a gate.
    pub fn paused(&self) -> Nanos {
        let gate = self.probes.value().and_then(|p| p.gate.as_ref());
        gate.map_or(Nanos::ZERO, |gate| gate.paused)
    }

    /// Process time (PT) by the run's source.
    pub fn process_time(&self) -> Result<Nanos, Absent> {
        match &self.process_times {
            Reading::Value(p) => p.total(),
            Reading::Absent(a) => Err(a.clone()),
        }
    }
}

impl Sample {
    /// Net time: PT minus interrupt, softirq and steal time charged to the program.
    pub fn net_time(&self) -> Result<Nanos, Absent> {
        net_time(&self.process_times, &self.account)
    }

    /// For how long a quota of CPU time held the program's cgroup up, at most; the longest, if several did. Nothing where that is
    /// not known.
    pub fn throttled(&self) -> Share {
        let longest = self.cgroup_limits.value().and_then(CgroupLimits::longest_throttling);
        longest.map_or_else(Share::default, |(_, share)| *share)
    }

    /// How the time divides in which tasks were runnable without a CPU: of the main thread, and of the others together.
    pub fn waits(&self) -> Option<[Waits; 2]> {
        let account = self.account.value()?;
        let held = self.throttled();
        let divided = |ledger: &Ledger, tasks: u64| {
            let time = Nanos(held.time.0.saturating_mul(i64::try_from(tasks).unwrap_or(i64::MAX)));
            ledger.waits(Share { time, count: held.count })
        };
        Some([divided(&account.main, 1), divided(&account.others, account.others.tasks)])
    }

    /// From just before the start until the program's exec had succeeded.
    pub fn launch(&self) -> Option<Nanos> {
        self.account.value().map(|a| a.exec - self.start.monotonic)
    }

    /// From the program's end until tare had noted it.
    pub fn reap(&self) -> Option<Nanos> {
        self.account.value().map(|a| self.end.monotonic - a.end)
    }

    /// Elapsed time less everything that the account names.
    pub fn unattributed(&self) -> Option<Nanos> {
        let account = self.account.value()?;
        Some(self.elapsed() - self.launch()? - self.reap()? - account.main.total())
    }
}
