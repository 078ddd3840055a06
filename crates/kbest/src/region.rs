//! The measured region. Between the two readings of the clock there is the code and the loop around it, and nothing else: no
//! allocation, no lock, no system call, no branch but the loop's (docs/kbest.md shows the machine code).

use std::hint::black_box;
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_sys::{clock, counter, mechanisms, procfs};

/// Units of the clock from before the first of `n` executions to after the last.
#[inline(always)]
fn between<R>(now: impl Fn() -> u64, code: &mut impl FnMut() -> R, n: u64) -> u64 {
    let start = now();
    for _ in 0..n {
        black_box(code());
    }
    now().wrapping_sub(start)
}

/// With the cycle counter, which is nearly always the one. Not inlined, so that it is the same machine code for every trial.
#[inline(never)]
fn by_counter<R>(code: &mut impl FnMut() -> R, n: u64) -> u64 {
    between(counter::fenced, code, n)
}

/// The clock is chosen before the region starts.
pub(crate) fn region<R>(clock: ClockKind, code: &mut impl FnMut() -> R, n: u64) -> u64 {
    match clock {
        ClockKind::MonotonicRaw => between(|| clock::monotonic_raw().0 as u64, code, n),
        ClockKind::Monotonic => between(|| clock::monotonic().0 as u64, code, n),
        ClockKind::ThreadCpu => between(|| clock::thread_cpu().0 as u64, code, n),
        ClockKind::ProcessCpu => between(|| clock::own_cpu().0 as u64, code, n),
        ClockKind::Gettimeofday => between(|| mechanisms::gettimeofday().unwrap_or(0), code, n),
        ClockKind::Times => between(|| mechanisms::times().unwrap_or(0), code, n),
        _ => by_counter(code, n),
    }
}

/// Units of the clock in a second; `None` for a mechanism that cannot be used as a clock.
pub(crate) fn hz(clock: ClockKind, counter_hz: f64) -> Option<f64> {
    match clock {
        ClockKind::Counter => Some(counter_hz),
        ClockKind::MonotonicRaw | ClockKind::Monotonic | ClockKind::ThreadCpu | ClockKind::ProcessCpu => Some(1e9),
        ClockKind::Gettimeofday => Some(1e6),
        ClockKind::Times => Some(procfs::USER_HZ as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executes_so_often_and_counts_forward() {
        let counter_hz = 2e9;
        for kind in [
            ClockKind::Counter,
            ClockKind::MonotonicRaw,
            ClockKind::Monotonic,
            ClockKind::Gettimeofday,
            ClockKind::ThreadCpu,
        ] {
            let mut executed = 0_u64;
            let mut code = || {
                executed += 1;
                (0..1000).fold(0_u64, |a, b| black_box(a + b))
            };
            let long = region(kind, &mut code, 1000);
            assert!(long > 0 && region(kind, &mut code, 0) < long, "{kind:?}");
            assert_eq!(executed, 1000);
            assert!(hz(kind, counter_hz).is_some());
        }
        assert_eq!(hz(ClockKind::Rdpmc, counter_hz), None);
    }
}
