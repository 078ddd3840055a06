//! What probes on the program's CPU measured while it ran: short pieces of exactly fixed work, by which the state of the machine is
//! known at that moment (clock, sibling hyper-thread, caches, memory).

use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};

/// Version of the probes' work. Ticks of different revisions are never compared. 2: the 64 MiB of the memory's probes lie in huge
/// pages, and all probes run every 4 ms, which what is evicted between two wake-ups depends on. 3: code and memory lie at the same
/// addresses in every process; twice as many independent additions; two branches for each random number. 4: twice as many
/// branches.
pub const PROBE_REVISION: u32 = 4;

/// A piece of work, and what it is sensitive to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// Dependent multiplications: the clock of the core.
    Latency,
    /// Independent address computations: the issue width, which a busy sibling hyper-thread halves.
    Issue,
    /// Independent loads from 4 KiB.
    Loads,
    /// Independent stores to 4 KiB.
    Stores,
    /// Branches that cannot be predicted.
    Branches,
    SystemCalls,
    /// Dependent loads from 32 KiB that were fetched just before: what the sibling evicts from the L1 cache.
    FirstLevel,
    /// Dependent loads from 64 MiB: latency of the shared cache and of the memory.
    MemoryLatency,
    /// Independent loads from 64 MiB: throughput of the shared cache and of the memory.
    MemoryThroughput,
    /// Lines that were in the cache after the last wake-up: what was evicted since. First pass only.
    Evicted,
    /// Jumps through 16 KiB of code. First pass only.
    Code,
}

pub const PROBE_KINDS: usize = 11;

impl ProbeKind {
    /// All, in the order in which they run and in which [`ProbeWake::ticks`] has them.
    pub const ALL: [ProbeKind; PROBE_KINDS] = [
        ProbeKind::Latency,
        ProbeKind::Issue,
        ProbeKind::Loads,
        ProbeKind::Stores,
        ProbeKind::Branches,
        ProbeKind::SystemCalls,
        ProbeKind::FirstLevel,
        ProbeKind::MemoryLatency,
        ProbeKind::MemoryThroughput,
        ProbeKind::Evicted,
        ProbeKind::Code,
    ];
}

/// One wake-up of all probes of a CPU while the program could run there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeWake {
    /// After the sample's start.
    pub at: Nanos,
    /// What each kind took, in ticks of the cycle counter, in the order of [`ProbeKind::ALL`]: the shorter of two passes.
    pub ticks: [u32; PROBE_KINDS],
}

/// A wake-up at which only what the gate goes by is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateWake {
    /// After the sample's start; negative before it.
    pub at: Nanos,
    /// Of [`ProbeKind::Latency`].
    pub latency: u32,
    /// Of [`ProbeKind::Issue`].
    pub issue: u32,
}

/// What was measured on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuProbes {
    /// Number of the CPU.
    pub cpu: u32,
    /// Of all probes, in the order of time.
    pub wakes: Vec<ProbeWake>,
    /// Every so many wake-ups are in [`CpuProbes::wakes`]: 1 for all. In a long sample older ones are thinned out evenly.
    pub kept_every: u32,
    /// Between those of all probes, while the program ran and the gate could pause it; thinned out likewise. None without a gate,
    /// and none in samples of revision 1, of which all wake-ups were of all probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<GateWake>,
    /// While the program was paused, or was about to be started; thinned out likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<GateWake>,
}

/// When the gate closes and opens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// A wake-up is busy if issue / latency exceeds its quiet ratio by this factor.
    pub busy: f64,
    /// The program is paused after so many busy wake-ups in succession.
    pub stop_after: u32,
    /// It continues after so many calm ones in succession.
    pub continue_after: u32,
    /// Longest pause in all of one execution, the wait before its start included; then it runs on.
    pub limit: Nanos,
}

/// What the gate did in one execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    /// How long the start waited for a quiet machine; not part of the sample.
    pub waited: Nanos,
    /// How often the program was paused.
    pub stops: u32,
    /// How long in all, from the decision to pause until the program could run again.
    pub paused: Nanos,
    /// The pauses used up what was allowed, and the program then ran whatever the machine's state.
    pub limit_reached: bool,
}

/// What the probes themselves cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// CPU time of the threads that probe, within the sample.
    pub cpu: Nanos,
    /// Wake-ups, those that were thinned out included.
    pub wakes: u64,
    /// Wake-ups while the program ran that came later than half of the time between two.
    pub late: u64,
}

/// The probes of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleProbes {
    /// [`PROBE_REVISION`] of what measured it.
    pub revision: u32,
    /// Of each CPU that was probed.
    pub cpus: Vec<CpuProbes>,
    /// What the gate did; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRecord>,
    pub cost: ProbeCost,
}
