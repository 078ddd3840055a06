//! Interval counting (CS:APP section 9.2): how an operating system that looks only at each timer interrupt who has the CPU charges
//! time. Linux charges a process exactly since 2.6.23; its CPU-wide counts in `/proc/stat` are still made so.

use serde::Serialize;

/// In which mode a process has the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    User,
    /// The kernel's on its behalf.
    Kernel,
}

/// Time that is charged to a process, in units of the timer's interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargedTime {
    /// Interrupts that came in user mode.
    pub user: u64,
    /// Interrupts that came in the kernel.
    pub kernel: u64,
}

/// What is charged to a process that has the CPU in these segments (start, end, mode; in any unit), where the timer interrupts at
/// `first` and every `interval` from then on. A segment has the interrupt at its end, not the one at its start.
pub fn charged(segments: &[(f64, f64, Mode)], first: f64, interval: f64) -> ChargedTime {
    let mut all = ChargedTime::default();
    if !(interval > 0.0 && interval.is_finite() && first.is_finite()) {
        return all;
    }
    for (start, end, mode) in segments {
        // Interrupts up to a time, itself included.
        let until = |t: f64| ((t - first) / interval).floor().max(-1.0) + 1.0;
        let ticks = (until(*end) - until(*start)).max(0.0) as u64;
        match mode {
            Mode::User => all.user += ticks,
            Mode::Kernel => all.kernel += ticks,
        }
    }
    all
}

/// What a segment can have taken to which `ticks` interrupts were charged: more than the first and less than the second, in
/// intervals (practice problem 9.4).
pub fn bounds(ticks: u64) -> (u64, u64) {
    (ticks.saturating_sub(1), ticks.saturating_add(1))
}

/// How long a process sleeps that is to be woken at the interrupt which is `ticks` from now: more than the first, up to the second,
/// in intervals (homework problem 9.12).
pub fn sleep_bounds(ticks: u64) -> (u64, u64) {
    (ticks.saturating_sub(1), ticks)
}

/// Rate of the clock behind times(2), whose return value counts its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockTickRate {
    /// Ticks that were counted.
    pub ticks: u64,
    /// How long, s.
    pub slept: f64,
    /// Ticks a second.
    pub estimate: f64,
    /// More than this: both readings are whole numbers of ticks.
    pub low: f64,
    pub high: f64,
}

/// By the ticks that passed during a sleep of `slept` seconds (homework problem 9.10); the longer the sleep, the narrower the bounds. `None`
/// if it did not sleep.
pub fn clock_tick_rate(ticks: u64, slept: f64) -> Option<ClockTickRate> {
    let (low, high) = bounds(ticks);
    let rate = |ticks: u64| ticks as f64 / slept;
    (slept > 0.0 && slept.is_finite()).then(|| ClockTickRate {
        ticks,
        slept,
        estimate: rate(ticks),
        low: rate(low),
        high: rate(high),
    })
}

/// Share of a CPU that interrupts take: `per_second` of them, of `cycles` cycles each, on a CPU of `hz` (practice
/// problem 9.1).
pub fn share(per_second: f64, cycles: f64, hz: f64) -> f64 {
    per_second * cycles / hz
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Practice problem 9.1: 100 users who type 100 words of 6 characters a minute, 100,000 cycles for each, at 1 GHz.
    #[test]
    fn keystrokes() {
        assert_eq!(share(100.0 * 100.0 * 6.0 / 60.0, 1e5, 1e9), 0.1);
    }

    /// By hand: the interrupts at 10 and 20 come in user mode, that at 30 in the kernel, that at 40 while another process has the CPU,
    /// that at 50 in user mode. (Practice problem 9.3 is of this kind; its sequence is a picture.)
    #[test]
    fn a_sequence_of_modes() {
        use Mode::{Kernel, User};
        let a = [(3.0, 24.0, User), (24.0, 31.0, Kernel), (45.0, 52.0, User)];
        assert_eq!(charged(&a, 10.0, 10.0), ChargedTime { user: 3, kernel: 1 });
        assert_eq!(charged(&a, 10.0, 0.0), ChargedTime::default());
    }

    /// Practice problem 9.4: 70 ms were charged at intervals of 10 ms.
    #[test]
    fn between_60_and_80() {
        assert_eq!(bounds(7), (6, 8));
        assert_eq!(bounds(0), (0, 1));
    }

    /// Practice problem 9.5: the trace of figure 9.3 is charged 70 ms of user time, at the interrupts that homework problem 9.9
    /// names; it was active for 63.7 ms. (In cycles; the true interval from problem 9.9 is 5,471,660 cycles.)
    #[test]
    fn figure_9_3_is_charged_more_than_it_was_active() {
        let active = [
            (0.0, 3726508.0),
            (4009131.0, 9198378.0),
            (9449987.0, 11700089.0),
            (11714205.0, 14670179.0),
            (14918679.0, 20142021.0),
            (20389134.0, 25613911.0),
            (25868251.0, 29546353.0),
            (29554492.0, 31085679.0),
            (31334039.0, 36557620.0),
        ];
        let segments: Vec<_> = active.iter().map(|(a, b)| (*a, *b, Mode::User)).collect();
        // The first interrupt, minus the few cycles by which the later ones came early.
        assert_eq!(charged(&segments, 3726508.0 - 500.0, 5_471_660.0), ChargedTime { user: 7, kernel: 0 });
        let ms = active.iter().map(|(a, b)| b - a).sum::<f64>() / 549.9e3;
        assert_eq!((ms * 10.0).round(), 637.0);
    }

    /// Homework problem 9.12: `sleep(2)` at 100 interrupts a second, after which 1000.0 MHz are computed.
    #[test]
    fn a_clock_rate_taken_over_a_sleep() {
        let (least, most) = sleep_bounds(200);
        assert_eq!((least, most), (199, 200));
        let cycles = 1000.0 * 2.0;
        let [slowest, fastest] = [most, least].map(|ticks| cycles / (ticks as f64 * 0.01));
        assert_eq!(slowest, 1000.0);
        assert!((fastest - 1005.025).abs() < 0.001);
    }

    /// Homework problem 9.10: two systems whose clocks differ by more than a factor of two, 100 and 1024 ticks a second (Linux, Alpha).
    #[test]
    fn a_clock_is_counted_over_a_sleep() {
        let linux = clock_tick_rate(200, 2.0).unwrap();
        assert_eq!((linux.estimate, linux.low, linux.high), (100.0, 99.5, 100.5));
        let alpha = clock_tick_rate(2_048, 2.0).unwrap();
        assert!(alpha.low / linux.high > 2.0 && alpha.estimate == 1_024.0);
        // A longer sleep narrows the bounds.
        let longer = clock_tick_rate(2_000, 20.0).unwrap();
        assert!(longer.high - longer.low < (linux.high - linux.low) / 9.0);
        assert_eq!((clock_tick_rate(1, 0.0), clock_tick_rate(1, f64::NAN)), (None, None));
    }

    proptest! {
        /// Whatever the phase, a segment took less than an interval more or less than it was charged.
        #[test]
        fn within_the_bounds(start in 0.0..100.0_f64, length in 0.0..100.0_f64, first in 0.0..10.0_f64) {
            let ticks = charged(&[(start + 20.0, start + 20.0 + length, Mode::User)], first, 10.0).user;
            let (least, most) = bounds(ticks);
            prop_assert!(length >= least as f64 * 10.0 - 1e-9 && length < most as f64 * 10.0 + 1e-9);
        }
    }
}
