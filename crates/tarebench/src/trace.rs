//! Activity traces: when a process that only reads the cycle counter had its CPU.

use tare_core::analysis::activity::{BadTrace, Trace, threshold};
use tare_core::units::Nanos;
use tare_render::trace::Made;
use tare_sys::activity::{Competitors, steps, watch};
use tare_sys::{SysError, clock, counter, cpu};

/// What to trace.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// For how long.
    pub duration: Nanos,
    /// On which CPU; the last one that may be used if `None`.
    pub cpu: Option<u32>,
    /// Active processes there, the tracing one included (from 1).
    pub load: u32,
    /// Cycles over which a step is an inactive period; from the loop's own steps if `None`.
    pub threshold: Option<u64>,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system's.
    #[error(transparent)]
    System(#[from] SysError),
    /// No counter.
    #[error("this CPU has no cycle counter that tare knows; x86-64 and aarch64 have one")]
    NoCounter,
    /// Not one of those that may be used.
    #[error("CPU {cpu} is not one that tare may use here: {allowed:?}")]
    Cpu {
        /// The one that was asked for.
        cpu: u32,
        /// Those that may be used.
        allowed: Vec<u32>,
    },
    /// The counter went back.
    #[error("the readings make no trace: {0}")]
    Trace(#[from] BadTrace),
}

/// Room for inactive periods: 16 MiB.
const ROOM: usize = 1 << 20;
/// Steps that the threshold is taken from: some milliseconds, so that most meet no interrupt.
const STEPS: usize = 200_000;

/// Makes a trace. The calling thread is moved to the CPU meanwhile, and put back.
///
/// # Errors
/// [`TraceError`].
pub fn trace(request: &Request) -> Result<(Trace, Made), TraceError> {
    if !counter::PRESENT {
        return Err(TraceError::NoCounter);
    }
    let allowed = cpu::allowed()?;
    let on = request.cpu.or(allowed.last().copied()).unwrap_or(0);
    if !allowed.contains(&on) {
        return Err(TraceError::Cpu { cpu: on, allowed });
    }
    cpu::confine(&[on])?;
    let made = traced(request, on);
    cpu::confine(&allowed)?;
    made
}

fn traced(request: &Request, on: u32) -> Result<(Trace, Made), TraceError> {
    let hz = clock::cycle_counter_hz(Nanos::from_millis(100))?;
    let limit = request.threshold.or_else(|| threshold(&steps(STEPS))).unwrap_or(1_000);
    let competitors = Competitors::start(request.load.saturating_sub(1), on)?;
    let seen = watch((request.duration.secs() * hz) as u64, limit, ROOM);
    drop(competitors);
    let made = Made { cpu: on, load: request.load.max(1), threshold: limit, full: seen.full };
    Ok((Trace::new(hz, seen.length, seen.gaps)?, made))
}
