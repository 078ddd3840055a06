//! The book's plain functions (CS:APP figures 9.9, 9.10, 9.20): a counter and a timer that are started and read, one of each for a
//! thread.

use crate::KbestError;
use std::cell::Cell;
use std::sync::OnceLock;
use tarebench_core::base::units::Nanos;
use tarebench_sys::{clock, counter as cycles, mechanisms};

/// For how long the counter's rate is measured.
const SPAN: Nanos = Nanos::from_millis(50);

thread_local! {
    static COUNTER: Cell<u64> = const { Cell::new(0) };
    static TIMER: Cell<u64> = const { Cell::new(0) };
}

/// The current cycle counter, read after all preceding and before all following instructions.
#[inline(always)]
pub fn read() -> u64 {
    cycles::fenced()
}

/// Starts the calling thread's counter.
pub fn start_counter() {
    COUNTER.set(cycles::fenced());
}

/// Cycles since [`start_counter`].
pub fn get_counter() -> f64 {
    let now = cycles::fenced();
    now.wrapping_sub(COUNTER.get()) as f64
}

/// Starts the calling thread's timer, by gettimeofday(2).
pub fn start_timer() {
    TIMER.set(mechanisms::gettimeofday().unwrap_or(0));
}

/// Seconds since [`start_timer`]; below 0 if the clock was set back since.
pub fn get_timer() -> f64 {
    let now = mechanisms::gettimeofday().unwrap_or(0);
    now.wrapping_sub(TIMER.get()) as i64 as f64 * 1e-6
}

/// Rate of the counter in Hz, against CLOCK_MONOTONIC_RAW; measured once, for 50 ms.
///
/// # Errors
/// If there is no counter, or it does not advance.
pub fn hz() -> Result<f64, KbestError> {
    static HZ: OnceLock<f64> = OnceLock::new();
    if let Some(hz) = HZ.get() {
        return Ok(*hz);
    }
    let hz = measured_hz(SPAN)?;
    Ok(*HZ.get_or_init(|| hz))
}

/// The same, measured again, over this time: the book's `mhz`, without sleeping, so that the CPU's and the kernel's
/// timer do not matter (homework problem 9.12).
///
/// # Errors
/// As [`hz`].
pub fn measured_hz(span: Nanos) -> Result<f64, KbestError> {
    if cycles::PRESENT { Ok(clock::cycle_counter_hz(span)?) } else { Ok(1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_and_a_timer_agree() {
        start_counter();
        start_timer();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (timer, counter) = (get_timer(), get_counter());
        let ratio = counter / hz().unwrap() / timer;
        assert!(timer >= 0.0199 && (0.98..1.5).contains(&ratio), "{timer} s, {ratio}");
    }
}
