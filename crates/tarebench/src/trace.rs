//! Activity traces: when a process that only reads the cycle counter had its CPU, and what had it otherwise.

use crate::event::{Event, Watch};
use tarebench_bpf::timeline::{ROOM as ROOM_OF_EVENTS, Recorded, Timeline};
use tarebench_bpf::{KernelTypes, own_namespaces};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_core::trace::activity::{BadTrace, Trace, threshold};
use tarebench_core::trace::explained::{Explained, TraceRecording, explain};
use tarebench_render::trace::activity::{Activity, Made};
use tarebench_sys::activity::{Competitors, CounterReadings, steps, watch as watch_counter};
use tarebench_sys::{SysError, clock, counter, cpu, process, topology};

/// Plan of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TracePlan {
    /// For how long.
    pub duration: Nanos,
    /// The CPU; the last one that may be used if `None`.
    pub cpu: Option<u32>,
    /// Active processes on the CPU, the tracing one included (from 1).
    pub load: u32,
    /// Minimum length of an inactive period, in cycles; from the loop's own steps if `None`.
    pub threshold: Option<u64>,
    /// Record kernel events, if that is permitted.
    pub explain: bool,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system's.
    #[error(transparent)]
    System(#[from] SysError),
    /// No counter.
    #[error("this CPU has no cycle counter that tare supports (x86-64 and aarch64 have one)")]
    NoCounter,
    /// Not one of those that may be used.
    #[error("CPU {cpu} is not available; tare may use {allowed:?}")]
    Cpu {
        /// The one that was asked for.
        cpu: u32,
        /// Those that may be used.
        allowed: Vec<u32>,
    },
    /// The counter went back.
    #[error("the readings are not a valid trace: {0}")]
    Trace(#[from] BadTrace),
}

/// Room for inactive periods: 16 MiB.
const ROOM: usize = 1 << 20;
/// Steps from which the threshold is computed: some milliseconds, so that most contain no interrupt.
const STEPS: usize = 200_000;
/// Room for kernel events per second of the trace, and the maximum: 64 MiB of the kernel's memory.
const EVENTS_A_SECOND: f64 = 10_000.0;
const MOST_EVENTS: u32 = 1_000_000;

/// What was measured.
#[derive(Clone, Debug)]
pub struct MeasuredTrace {
    trace: Trace,
    made: Made,
    explained: Reading<Explained>,
}

impl MeasuredTrace {
    /// What it comes to.
    pub fn report(&self) -> Activity {
        Activity::new(self.trace.clone(), self.made.clone(), self.explained.clone())
    }
}

/// Makes a trace; `watch` is called before it. A trace is not stored, and a signal ends the process, as nothing can look for one
/// while the loop runs. The calling thread, which must be the process's only one, is moved to the CPU meanwhile, and put back.
///
/// # Errors
/// [`TraceError`]. That the kernel's record is not to be had is none: the result says why.
pub fn measure(plan: &TracePlan, watch: Watch<'_>) -> Result<MeasuredTrace, TraceError> {
    if !counter::PRESENT {
        return Err(TraceError::NoCounter);
    }
    let allowed = cpu::allowed()?;
    let on = plan.cpu.or(allowed.last().copied()).unwrap_or(0);
    let reachable = topology::reachable()?;
    if !reachable.contains(&on) {
        return Err(TraceError::Cpu { cpu: on, allowed: reachable });
    }
    watch(Event::Step(None, MeasuringStep::Trace { duration: plan.duration }));
    cpu::confine(&[on])?;
    let made = traced(plan, on);
    cpu::confine(&allowed)?;
    made
}

fn traced(plan: &TracePlan, on: u32) -> Result<MeasuredTrace, TraceError> {
    let hz = clock::cycle_counter_hz(Nanos::from_millis(100))?;
    let limit = plan.threshold.or_else(|| threshold(&steps(STEPS))).unwrap_or(1_000);
    let timeline = record(plan.explain, plan.duration, on);
    let competitors = Competitors::start(plan.load.saturating_sub(1), on)?;
    let seen = watch_counter((plan.duration.secs() * hz) as u64, limit, ROOM, hz);
    // First the record: that the competitors end is none of it.
    let recorded = timeline.and_then(|t| t.finish().map_err(|e| e.absent()));
    drop(competitors);
    let made = Made { cpu: on, load: plan.load.max(1), threshold: limit, full: seen.full };
    let trace = Trace::new(hz, seen.length, seen.gaps.clone())?;
    let explained = recorded.and_then(|r| explained(&trace, &seen, r));
    Ok(MeasuredTrace { trace, made, explained: Reading::from(explained) })
}

/// Starts recording the kernel events of a CPU, for about `duration`.
pub(crate) fn record(wanted: bool, duration: Nanos, on: u32) -> Result<Timeline, Absent> {
    if !wanted {
        return Err(Absent::NotAsked("recording of kernel events is switched off".to_owned()));
    }
    own_namespaces()?;
    let more = (duration.secs() * EVENTS_A_SECOND).max(0.0) as u32;
    let room = ROOM_OF_EVENTS.saturating_add(more).min(MOST_EVENTS);
    KernelTypes::read().and_then(|types| Timeline::start(&types, on, room)).map_err(|e| e.absent())
}

fn explained(trace: &Trace, seen: &CounterReadings, recorded: Recorded) -> Result<Explained, Absent> {
    let recording = TraceRecording {
        events: recorded.events,
        from: recorded.from,
        until: recorded.until,
        lost: recorded.lost,
        late: recorded.late,
        missing: recorded.missing.into_iter().map(str::to_owned).collect(),
        own: process::own_tid(),
        switches: seen.counted.map(|c| c.switches),
        faults: seen.counted.map(|c| c.faults),
    };
    explain(trace, &recording, &seen.pairs).map_err(|e| Absent::Failed(e.to_string()))
}
