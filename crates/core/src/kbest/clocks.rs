//! Timing mechanisms of a machine: what each resolves, costs and counts (CS:APP section 9.5, figure 9.21).

use crate::base::reading::Reading;
use serde::{Deserialize, Serialize};

/// A way to read time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The CPU's counter between fences, so that nothing of the measured code is outside: `lfence; rdtsc; lfence`, `isb; mrs cntvct_el0`.
    Counter,
    /// The counter without fences.
    CounterUnfenced,
    /// `rdtscp`: waits for what is before it, not for what is after.
    CounterAfter,
    MonotonicRaw,
    Monotonic,
    MonotonicCoarse,
    Boottime,
    Realtime,
    RealtimeCoarse,
    Tai,
    /// gettimeofday(2).
    Gettimeofday,
    /// CLOCK_THREAD_CPUTIME_ID.
    ThreadCpu,
    /// CLOCK_PROCESS_CPUTIME_ID.
    ProcessCpu,
    /// getrusage(2), user and system time.
    Getrusage,
    /// clock(3).
    Clock,
    /// times(2), user and system time.
    Times,
    /// `/proc/self/schedstat`, time on a CPU.
    Schedstat,
    /// `/proc/self/stat`, user and system time.
    Stat,
    /// taskstats over netlink, `ac_utime` and `ac_stime`.
    Taskstats,
    /// A perf event's counter of cycles, read by an instruction (`rdpmc`).
    Rdpmc,
}

/// What a mechanism counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockCounts {
    /// Time that passes, whoever has the CPU.
    Elapsed,
    /// Time that this thread or process has a CPU.
    Cpu,
}

/// How it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingMethod {
    /// An instruction of the CPU.
    Instruction,
    /// A function of the kernel's in the program's own memory.
    Vdso,
    Call,
    /// Several: open file, read.
    File,
}

/// What may change its rate or its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// Nothing: as the hardware counts.
    Raw,
    /// The kernel's clock discipline speeds it up or slows it down (NTP); it never goes back.
    Slewed,
    /// That, and whoever may set the clock: it may go back.
    Stepped,
}

impl ClockKind {
    pub fn counts(self) -> ClockCounts {
        match self {
            ClockKind::ThreadCpu
            | ClockKind::ProcessCpu
            | ClockKind::Getrusage
            | ClockKind::Clock
            | ClockKind::Times
            | ClockKind::Schedstat
            | ClockKind::Stat
            | ClockKind::Taskstats
            | ClockKind::Rdpmc => ClockCounts::Cpu,
            _ => ClockCounts::Elapsed,
        }
    }

    /// What may change it.
    pub fn steering(self) -> Steering {
        match self {
            ClockKind::Realtime | ClockKind::RealtimeCoarse | ClockKind::Gettimeofday | ClockKind::Tai => {
                Steering::Stepped
            }
            ClockKind::Monotonic | ClockKind::MonotonicCoarse | ClockKind::Boottime => Steering::Slewed,
            _ => Steering::Raw,
        }
    }
}

/// A mechanism as it is on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mechanism {
    pub kind: ClockKind,
    /// What it costs and resolves.
    pub measured: Reading<MeasuredClock>,
}

/// What was measured of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredClock {
    /// How it is read here.
    pub way: ReadingMethod,
    /// Smallest step between two readings that differ, ns; `None` if it did not move while it was watched.
    pub resolution: Option<f64>,
    /// Time of one reading, ns.
    pub latency: f64,
    /// Whether a reading was ever below the one before it.
    pub went_back: bool,
}

/// The machine's clocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// The source of the kernel's clocks (`current_clocksource`).
    pub source: Reading<String>,
    /// Rate of the cycle counter, Hz.
    pub counter_hz: Reading<f64>,
    /// Whether the CPU says that its counter runs at one rate, whatever the clock speed and sleep states.
    pub constant: Reading<bool>,
    /// Largest difference between the counters of two CPUs that was seen, ns; no more than the readings themselves are apart.
    pub apart: Reading<f64>,
    /// The mechanisms, by what they cost.
    pub mechanisms: Vec<Mechanism>,
}

impl Clocks {
    /// What was measured of a mechanism, if it is there.
    pub fn measured(&self, kind: ClockKind) -> Option<&MeasuredClock> {
        self.mechanisms.iter().find(|m| m.kind == kind)?.measured.value()
    }
}
