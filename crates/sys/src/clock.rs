//! Clocks and the cycle counter.

use crate::{SysError, SysResult};
use tarebench_core::base::date::{TimeZone, date};
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::{Cycles, Nanos};
use tarebench_core::sample::data::{ClockShift, Stamp};

/// Reads a clock by its kernel number.
pub(crate) fn gettime(clock: libc::clockid_t) -> Option<Nanos> {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that outlives the call.
    let r = unsafe { libc::clock_gettime(clock, &mut t) };
    (r == 0).then(|| Nanos(t.tv_sec * 1_000_000_000 + t.tv_nsec))
}

/// CLOCK_MONOTONIC, by the vDSO.
pub fn monotonic() -> Nanos {
    gettime(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

/// CLOCK_MONOTONIC_RAW, by the vDSO where the clock source allows it.
pub fn monotonic_raw() -> Nanos {
    gettime(libc::CLOCK_MONOTONIC_RAW).unwrap_or_default()
}

/// CLOCK_REALTIME, since 1970.
pub fn realtime() -> Nanos {
    gettime(libc::CLOCK_REALTIME).unwrap_or_default()
}

/// CLOCK_BOOTTIME: since boot, suspended time included; what process start times are given in.
pub fn boottime() -> Nanos {
    gettime(libc::CLOCK_BOOTTIME).unwrap_or_default()
}

/// How far two clocks are ahead of CLOCK_MONOTONIC at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffsets {
    boottime: Nanos,
    realtime: Nanos,
    /// The clocks were read within this time.
    within: Nanos,
}

/// One reading of the clocks that [`ClockOffsets`] compares.
fn offsets_once() -> Option<ClockOffsets> {
    let before = gettime(libc::CLOCK_MONOTONIC)?;
    let boottime = gettime(libc::CLOCK_BOOTTIME)?;
    let realtime = gettime(libc::CLOCK_REALTIME)?;
    let after = gettime(libc::CLOCK_MONOTONIC)?;
    let middle = Nanos(before.0 + (after.0 - before.0) / 2);
    Some(ClockOffsets { boottime: boottime - middle, realtime: realtime - middle, within: after - before })
}

/// Reads the clocks, again if something came between the readings: about 0.2 µs where they are read without a system call.
///
/// # Errors
/// If one of them cannot be read, or five times not within half of [`ClockShift::RESOLUTION`], so that two such readings together
/// are within all of it.
pub fn offsets() -> Result<ClockOffsets, Absent> {
    for _ in 0..5 {
        let read =
            offsets_once().ok_or_else(|| Absent::NotSupported("CLOCK_BOOTTIME and CLOCK_REALTIME".to_owned()))?;
        if read.within.0 <= ClockShift::RESOLUTION.0 / 2 {
            return Ok(read);
        }
    }
    Err(Absent::Failed("the clocks could not be read one right after the other".to_owned()))
}

impl ClockOffsets {
    /// By how much the clocks have moved away from CLOCK_MONOTONIC until a later moment.
    pub fn shift_until(self, later: ClockOffsets) -> ClockShift {
        let boottime = later.boottime - self.boottime;
        // A suspend is added to CLOCK_REALTIME, too.
        ClockShift { suspended: boottime, stepped: later.realtime - self.realtime - boottime }
    }
}

/// CPU time of this process, all its threads.
pub fn own_cpu() -> Nanos {
    gettime(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    gettime(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// CPU time of any process, threads that have ended included: the scheduler's exact account, to the nanosecond.
///
/// `None` if there is no such process (or the clock is denied). Needs no privilege. The clock's number is the
/// kernel ABI that clock_getcpuclockid(3) is based on: `~pid << 3 | CPUCLOCK_SCHED`.
pub fn process_cpu(pid: i32) -> Option<Nanos> {
    const CPUCLOCK_SCHED: i32 = 2;
    gettime((!pid).wrapping_shl(3) | CPUCLOCK_SCHED)
}

/// Length of the kernel's tick, 1/HZ: the resolution of CLOCK_MONOTONIC_COARSE, which moves with it.
pub fn tick() -> Nanos {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid timespec to write to.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut t) };
    Nanos(t.tv_sec * 1_000_000_000 + t.tv_nsec)
}

/// The machine's time zone, by `TZ` or /etc/localtime; UTC where neither names one.
pub fn zone() -> TimeZone {
    TimeZone::system()
}

/// A time since 1970 as a date in the machine's time zone.
pub fn local_time(t: Nanos) -> String {
    date(t, &zone())
}

/// The cycle counter, if user programs may read it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn cycles() -> Option<Cycles> {
    // SAFETY: rdtsc is part of x86-64 and has no preconditions; a kernel that traps it (PR_SET_TSC) is not expected.
    Some(Cycles(unsafe { core::arch::x86_64::_rdtsc() }))
}

/// The cycle counter, if user programs may read it.
#[cfg(target_arch = "aarch64")]
#[inline]
pub fn cycles() -> Option<Cycles> {
    let v: u64;
    // SAFETY: Linux lets user programs read the virtual counter.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) v, options(nomem, nostack)) };
    Some(Cycles(v))
}

/// The cycle counter, if user programs may read it.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub fn cycles() -> Option<Cycles> {
    None
}

/// Stamp just before a program starts: CLOCK_MONOTONIC is read last, nearest to the start.
#[inline]
pub fn stamp_before() -> Stamp {
    let monotonic_raw = monotonic_raw();
    let cycles = cycles();
    Stamp { monotonic_raw, cycles, monotonic: monotonic() }
}

/// Stamp just after a program has ended: CLOCK_MONOTONIC is read first, nearest to the end.
#[inline]
pub fn stamp_after() -> Stamp {
    let monotonic = monotonic();
    let cycles = cycles();
    Stamp { monotonic, cycles, monotonic_raw: monotonic_raw() }
}

/// A first reading of the cycle counter and of CLOCK_MONOTONIC_RAW, from which its frequency is known some time later.
#[derive(Clone, Copy, Debug)]
pub struct CounterRate(Option<(Nanos, Cycles)>);

impl CounterRate {
    pub fn begin() -> CounterRate {
        // The pair with the least time around the counter's reading, of five: an interrupt between the two is left out.
        let pair = |_| {
            let a = monotonic_raw();
            let c = cycles()?;
            let b = monotonic_raw();
            Some((b - a, (Nanos((a.0 + b.0) / 2), c)))
        };
        CounterRate((0..5).filter_map(pair).min_by_key(|r| r.0).map(|r| r.1))
    }

    /// Frequency in Hz, from a second reading. If `span` has not passed since the first one, waits for the rest of it.
    ///
    /// # Errors
    /// If there is no cycle counter, or it did not advance.
    pub fn hz(self, span: Nanos) -> SysResult<f64> {
        let none = || SysError::format("cycle counter", "a counter that advances", b"none");
        let (t0, c0) = self.0.ok_or_else(none)?;
        while monotonic_raw() - t0 < span {
            std::hint::spin_loop();
        }
        let (t1, c1) = CounterRate::begin().0.ok_or_else(none)?;
        if c1 <= c0 || t1 <= t0 {
            return Err(none());
        }
        Ok((c1.0 - c0.0) as f64 / (t1 - t0).secs())
    }
}

/// Frequency of the cycle counter in Hz against CLOCK_MONOTONIC_RAW, from two readings about `span` apart.
///
/// # Errors
/// If there is no cycle counter, or it did not advance.
pub fn cycle_counter_hz(span: Nanos) -> SysResult<f64> {
    CounterRate::begin().hz(span)
}

/// Cost of one reading of each clock, in ns: the best of five batches of 200, so that an interrupt does not count.
///
/// About 0.2 ms where the clocks are read without a system call.
pub fn read_costs() -> Vec<(&'static str, f64)> {
    fn cost(read: impl Fn()) -> f64 {
        const READS: u32 = 200;
        let batch = |_| {
            let t = monotonic();
            for _ in 0..READS {
                read();
            }
            (monotonic() - t).0 as f64 / f64::from(READS)
        };
        (0..5).map(batch).fold(f64::INFINITY, f64::min)
    }
    let cost_of = |clock: libc::clockid_t| {
        cost(|| {
            std::hint::black_box(gettime(clock));
        })
    };
    let mut costs = vec![
        ("CLOCK_MONOTONIC", cost_of(libc::CLOCK_MONOTONIC)),
        ("CLOCK_MONOTONIC_RAW", cost_of(libc::CLOCK_MONOTONIC_RAW)),
        ("CLOCK_PROCESS_CPUTIME_ID", cost_of(libc::CLOCK_PROCESS_CPUTIME_ID)),
    ];
    if cycles().is_some() {
        let counter = cost(|| {
            std::hint::black_box(cycles());
        });
        costs.push(("cycle counter", counter));
    }
    costs
}

/// State of the kernel's clock discipline, from `adjtimex`; reading it needs no privilege.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDiscipline {
    /// The clock counts as synchronised (STA_UNSYNC not set, state not TIME_ERROR).
    pub synchronised: bool,
    /// Offset, ns.
    pub offset: f64,
    /// Frequency correction, parts per million.
    pub frequency_ppm: f64,
    /// Estimated error, ns.
    pub estimated_error: Nanos,
    /// Status bits (STA_*).
    pub status: i32,
}

/// Reads the clock discipline.
///
/// # Errors
/// The system's, e.g. under a seccomp filter.
pub fn clock_discipline() -> SysResult<ClockDiscipline> {
    // SAFETY: all-zero is a valid timex; modes = 0 only reads.
    let mut t: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `t` is valid for writing.
    let state = unsafe { libc::adjtimex(&mut t) };
    if state < 0 {
        return Err(SysError::last("adjtimex"));
    }
    let unit = if t.status & libc::STA_NANO != 0 { 1.0 } else { 1000.0 };
    Ok(ClockDiscipline {
        synchronised: state != libc::TIME_ERROR && t.status & libc::STA_UNSYNC == 0,
        offset: t.offset as f64 * unit,
        frequency_ppm: t.freq as f64 / 65_536.0,
        estimated_error: Nanos(t.esterror.saturating_mul(1000)),
        status: t.status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_and_agree() {
        let a = stamp_before();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let b = stamp_after();
        let mono = b.monotonic - a.monotonic;
        let raw = b.monotonic_raw - a.monotonic_raw;
        assert!(mono >= Nanos::from_millis(5));
        assert!((mono.0 - raw.0).abs() < mono.0 / 50, "{mono:?} {raw:?}");
    }

    /// Clocks at these times since the machine was last suspended, had been suspended, and were set forward.
    fn offsets_at(suspended: Nanos, stepped: Nanos) -> ClockOffsets {
        let realtime = Nanos::from_millis(1_700_000_000_000) + suspended + stepped;
        ClockOffsets { boottime: suspended, realtime, within: Nanos(150) }
    }

    #[test]
    fn suspends_and_steps_are_told_apart() {
        let ms = Nanos::from_millis;
        let shift =
            |suspended, stepped| offsets_at(ms(7), ms(3)).shift_until(offsets_at(ms(7) + suspended, ms(3) + stepped));
        let found = |suspended, stepped| (shift(suspended, stepped).suspend(), shift(suspended, stepped).step());
        assert_eq!(found(ms(60_000), ms(0)), (Some(ms(60_000)), None), "a suspend moves both clocks");
        assert_eq!(found(ms(0), ms(2_000)), (None, Some(ms(2_000))));
        assert_eq!(found(ms(0), ms(-1_000)), (None, Some(ms(-1_000))), "a leap second");
        assert_eq!(found(ms(60_000), ms(-25)), (Some(ms(60_000)), Some(ms(-25))));
        assert_eq!(found(Nanos(999_999), Nanos(-999_999)), (None, None), "within the resolution");
    }

    #[test]
    fn other_clocks_stay_where_they_are() {
        let before = offsets().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let shift = before.shift_until(offsets().unwrap());
        assert_eq!((shift.suspend(), shift.step()), (None, None), "{shift:?}");
    }

    #[test]
    fn process_clock_of_self_counts_own_work() {
        let pid = std::process::id() as i32;
        let before = process_cpu(pid).unwrap();
        let t = own_cpu();
        while own_cpu() - t < Nanos::from_millis(3) {}
        let d = process_cpu(pid).unwrap() - before;
        assert!(d >= Nanos::from_millis(3), "{d:?}");
        assert_eq!(process_cpu(i32::MAX >> 3), None);
    }

    #[test]
    fn counter_frequency_is_stable() {
        let a = cycle_counter_hz(Nanos::from_millis(5)).unwrap();
        let b = cycle_counter_hz(Nanos::from_millis(5)).unwrap();
        assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
    }

    #[test]
    fn a_span_that_has_passed_is_not_waited_for() {
        let now = CounterRate::begin();
        let rate = now.hz(Nanos::from_millis(20)).unwrap();
        // As begun an hour before; if the rest were waited for, this would take an hour.
        let begun = CounterRate(now.0.map(|(t, c)| (t - Nanos::from_millis(3_600_000), c)));
        assert!(begun.hz(Nanos::from_millis(3_600_000)).unwrap() < rate / 2.0);
    }
}
