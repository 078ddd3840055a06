//! The loop of an activity trace (CS:APP section 9.1.2, homework problem 9.11), and competitors for its CPU.

use crate::{SysError, SysResult, clock, counter, cpu};
use std::os::fd::{AsFd, OwnedFd};
use tarebench_core::base::units::Nanos;
use tarebench_core::trace::activity::Gap;
use tarebench_core::trace::timeline::ClockPair;

/// Readings of the counter in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterReadings {
    /// Cycles from the first to the last reading.
    pub length: u64,
    /// The counter beside CLOCK_MONOTONIC: before the first reading, after the last one, and between.
    pub pairs: Vec<ClockPair>,
    /// How often the scheduler took the CPU away from the thread meanwhile, and page faults, by the kernel's count.
    pub counted: Option<ThreadCounts>,
    /// Steps over the threshold.
    pub gaps: Vec<Gap>,
    /// The trace ended early, as there was no more room for gaps.
    pub full: bool,
}

/// What the kernel counted of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Switches to another task, voluntary or not.
    pub switches: u64,
    /// Page faults, minor or major.
    pub faults: u64,
}

impl ThreadCounts {
    /// So far, of the calling thread (getrusage(2)).
    pub fn now() -> Option<ThreadCounts> {
        // SAFETY: all-zero is a valid rusage; getrusage writes to it.
        let u = unsafe {
            let mut u: libc::rusage = std::mem::zeroed();
            (libc::getrusage(libc::RUSAGE_THREAD, &mut u) == 0).then_some(u)?
        };
        let sum = |a: libc::c_long, b: libc::c_long| u64::try_from(a.saturating_add(b)).unwrap_or_default();
        Some(ThreadCounts { switches: sum(u.ru_nvcsw, u.ru_nivcsw), faults: sum(u.ru_minflt, u.ru_majflt) })
    }

    pub(crate) fn since(self, before: ThreadCounts) -> ThreadCounts {
        ThreadCounts {
            switches: self.switches.saturating_sub(before.switches),
            faults: self.faults.saturating_sub(before.faults),
        }
    }
}

/// Period in ns after which the two clocks are read together: the kernel's discipline may change the rate of one.
const PAIRS_APART: f64 = 1e8;

/// The counter beside CLOCK_MONOTONIC, in cycles since `first`: the closest of some tries.
pub(crate) fn paired(first: u64, tries: u32) -> ClockPair {
    let reading = || {
        let before = clock::monotonic();
        let count = counter::fenced();
        let within = clock::monotonic() - before;
        let cycles = count.wrapping_sub(first).cast_signed() as f64;
        ClockPair { cycles, clock: Nanos(before.0 + within.0 / 2), within }
    };
    (1..tries).map(|_| reading()).fold(reading(), |best, next| if next.within < best.within { next } else { best })
}

/// Reads the counter until `cycles` have passed and keeps each step over `threshold` cycles, at most `room` of them; `hz`
/// is about the counter's rate. The room is allocated and touched before; the loop makes no system call.
pub fn watch(cycles: u64, threshold: u64, room: usize, hz: f64) -> CounterReadings {
    // Not of zeros, which the kernel would give as pages that are not there yet.
    let mut gaps = vec![Gap { start: u64::MAX, duration: 0 }; room];
    let apart = (PAIRS_APART * 1e-9 * hz).max(1.0) as u64;
    let most = usize::try_from(cycles / apart).unwrap_or(0).min(1 << 16);
    let mut pairs = vec![ClockPair { cycles: f64::NAN, clock: Nanos(i64::MAX), within: Nanos::ZERO }; most + 2];
    let (mut free, mut unused) = (gaps.iter_mut(), pairs.iter_mut());
    let before = ThreadCounts::now();
    let first = counter::fenced();
    if let Some(pair) = unused.next() {
        *pair = paired(first, 20);
    }
    let first_reading = counter::fenced();
    let (mut last, mut paired_at) = (first_reading, first_reading);
    let mut full = false;
    while last.wrapping_sub(first_reading) < cycles {
        let now = counter::unfenced();
        let step = now.wrapping_sub(last);
        last = now;
        if step > threshold {
            let Some(gap) = free.next() else {
                full = true;
                break;
            };
            *gap = Gap { start: now.wrapping_sub(step).wrapping_sub(first_reading), duration: step };
            if now.wrapping_sub(paired_at) > apart
                && unused.len() > 1
                && let Some(pair) = unused.next()
            {
                *pair = paired(first, 1);
                paired_at = now;
                // That is no inactivity, unless it took far longer than two readings of a clock do.
                let after = counter::unfenced();
                if after.wrapping_sub(now) < threshold.saturating_mul(8) {
                    last = after;
                }
            }
        }
    }
    if let Some(pair) = unused.next() {
        *pair = paired(first, 20);
    }
    let counted = ThreadCounts::now().zip(before).map(|(after, before)| after.since(before));
    let (gaps_used, pairs_used) = (room - free.len(), most + 2 - unused.len());
    gaps.truncate(gaps_used);
    pairs.truncate(pairs_used);
    let offset = first_reading.wrapping_sub(first) as f64;
    pairs.iter_mut().for_each(|p| p.cycles -= offset);
    CounterReadings { length: last.wrapping_sub(first_reading), pairs, counted, gaps, full }
}

/// Steps between readings in a row, in cycles: what the threshold is derived from.
pub fn steps(n: usize) -> Vec<u64> {
    let mut steps = vec![1; n];
    let mut last = counter::unfenced();
    for step in &mut steps {
        let now = counter::unfenced();
        *step = now.wrapping_sub(last);
        last = now;
    }
    steps
}

/// Waits for the first step over `threshold` cycles and returns it: the book's `inactiveduration`.
pub fn inactive_duration(threshold: u64) -> u64 {
    let mut last = counter::unfenced();
    loop {
        let now = counter::unfenced();
        let step = now.wrapping_sub(last);
        if step > threshold {
            return step;
        }
        last = now;
    }
}

/// Processes that only compute, on one CPU. They end with this value, and with this process whatever ends it.
#[derive(Debug)]
pub struct Competitors(Vec<(libc::pid_t, OwnedFd)>);

impl Competitors {
    /// Starts `n` of them on the CPU `on`. To be called from a process with one thread.
    pub fn start(n: u32, on: u32) -> SysResult<Competitors> {
        Competitors::start_nice(n, on, 0)
    }

    /// The same with this much more niceness than the calling process has; the kernel counts their time apart if there is any.
    pub fn start_nice(n: u32, on: u32, nicer: i32) -> SysResult<Competitors> {
        let mut all = Competitors(Vec::new());
        let set = cpu::CpuSet::new(&[on])?;
        let parent = crate::process::own_pid();
        for _ in 0..n {
            // SAFETY: the child makes async-signal-safe calls only and never returns.
            match unsafe { libc::fork() } {
                -1 => return Err(SysError::last("start a competing process")),
                0 => compete(&set, parent, nicer),
                pid => match crate::pidfd::open(pid) {
                    Ok(pidfd) => all.0.push((pid, pidfd)),
                    Err(e) => {
                        // SAFETY: the child that was just started, not yet waited for.
                        unsafe {
                            libc::kill(pid, libc::SIGKILL);
                            libc::waitpid(pid, std::ptr::null_mut(), 0);
                        }
                        return Err(e);
                    }
                },
            }
        }
        Ok(all)
    }
}

/// Under which a competitor is seen.
const NAME: &std::ffi::CStr = c"tare-load";

/// The child: dies with its parent, moves to its CPU, computes.
fn compete(set: &cpu::CpuSet, parent: i32, nicer: i32) -> ! {
    // SAFETY: async-signal-safe calls with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        libc::sched_setaffinity(0, size_of_val(&set.0), &set.0);
        libc::nice(nicer);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
    let mut x = 0_u64;
    loop {
        x = std::hint::black_box(x.wrapping_add(1));
    }
}

impl Drop for Competitors {
    fn drop(&mut self) {
        for (pid, pidfd) in &self.0 {
            // One that others have reaped already is no child any more: then waiting does nothing.
            let _ = crate::pidfd::signal(pidfd.as_fd(), libc::SIGKILL);
            // SAFETY: no memory involved.
            unsafe { libc::waitpid(*pid, std::ptr::null_mut(), 0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_follow_each_other_inside_the_trace() {
        let w = watch(20_000_000, 2_000, 10_000, 1e9);
        assert!(w.length >= 20_000_000 && !w.full);
        assert!(w.pairs.len() >= 2 && w.pairs.is_sorted_by_key(|p| p.cycles) && w.pairs.is_sorted_by_key(|p| p.clock));
        assert!(w.pairs[0].cycles <= 0.0 && w.pairs.last().unwrap().cycles >= w.length as f64);
        assert!(w.counted.is_some());
        let mut at = 0;
        for g in &w.gaps {
            assert!(g.start >= at && g.duration > 2_000 && g.end() <= w.length);
            at = g.end();
        }
    }

    #[test]
    fn no_room_ends_it() {
        let w = watch(u64::MAX, 0, 3, 1e9);
        assert!(w.full && w.gaps.len() == 3);
    }

    #[test]
    fn the_first_inactive_period_is_over_the_threshold() {
        assert!(inactive_duration(500) > 500);
        assert_eq!(steps(100).len(), 100);
    }

    #[test]
    fn competitors_end_with_their_value() {
        let on = *cpu::allowed().unwrap().last().unwrap();
        let c = Competitors::start(2, on).unwrap();
        let pids = c.0.iter().map(|c| c.0).collect::<Vec<_>>();
        assert!(pids.iter().all(|p| crate::process::exists(*p)));
        drop(c);
        assert!(pids.iter().all(|p| !crate::process::exists(*p)));
    }
}
