//! Minimum cost of a timer interrupt on this machine, from an activity trace (CS:APP section 9.4.3).

use std::sync::OnceLock;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::kbest::timing::Compensation;
use tarebench_core::trace::activity::{Trace, threshold};
use tarebench_sys::activity::{steps, watch};
use tarebench_sys::counter;

/// Length of the trace in seconds: the book examined 100 periods of inactivity; this holds 125 ticks at 250 a second.
const LENGTH: f64 = 0.5;
/// Maximum number of traces, if other processes had the CPU too long for the tick to be seen.
const TRACES: u32 = 4;
/// Room for inactive periods.
const ROOM: usize = 1 << 16;
/// Number of steps that the threshold is computed from.
const STEPS: usize = 100_000;

/// Minimum cost and period in cycles of the counter; measured once, in half a second, or two if other processes disturb
/// it.
pub(crate) fn cost(counter_hz: f64) -> Reading<Compensation> {
    static COST: OnceLock<Reading<Compensation>> = OnceLock::new();
    let tries = || (1..TRACES).map(|_| traced(counter_hz)).find(|c| c.value().is_some());
    COST.get_or_init(|| tries().unwrap_or_else(|| traced(counter_hz))).clone()
}

fn traced(counter_hz: f64) -> Reading<Compensation> {
    let failed = |why: &str| Reading::Absent(Absent::Failed(why.to_owned()));
    if !counter::PRESENT {
        return Reading::Absent(Absent::NotSupported("no cycle counter to trace the timer interrupts with".to_owned()));
    }
    let Some(limit) = threshold(&steps(STEPS)) else { return failed("the counter did not advance") };
    let seen = watch((LENGTH * counter_hz) as u64, limit, ROOM, counter_hz);
    let trace = match Trace::new(counter_hz, seen.length, seen.gaps) {
        Ok(trace) => trace,
        Err(e) => return failed(&e.to_string()),
    };
    match trace.summary().tick.and_then(|t| Some((t.min_cost?, t.period))) {
        Some((cost, period)) => Reading::Value(Compensation { cost: cost as f64, period }),
        None => failed(
            "no timer tick was recorded in an activity trace of half a second: the CPU was not idle enough, or is \
             tickless",
        ),
    }
}
