//! The loop of an activity trace (CS:APP section 9.1.2, homework problem 9.11), and competitors for its CPU.

use crate::{SysError, SysResult, counter, cpu};
use tare_core::analysis::activity::Gap;

/// Readings of the counter in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Cycles from the first to the last reading.
    pub length: u64,
    /// Steps over the threshold.
    pub gaps: Vec<Gap>,
    /// The trace ended early, as there was no more room for gaps.
    pub full: bool,
}

/// Reads the counter until `cycles` have passed and keeps each step over `threshold` cycles, at most `room` of them. The room is
/// allocated and touched before; the loop makes no system call.
pub fn watch(cycles: u64, threshold: u64, room: usize) -> Watched {
    // Not of zeros, which the kernel would give as pages that are not there yet.
    let mut gaps = vec![Gap { start: u64::MAX, duration: 0 }; room];
    let mut free = gaps.iter_mut();
    let first = counter::fenced();
    let mut last = first;
    let mut full = false;
    while last.wrapping_sub(first) < cycles {
        let now = counter::unfenced();
        let step = now.wrapping_sub(last);
        if step > threshold {
            let Some(gap) = free.next() else {
                full = true;
                break;
            };
            *gap = Gap { start: last.wrapping_sub(first), duration: step };
        }
        last = now;
    }
    let used = room - free.len();
    gaps.truncate(used);
    Watched { length: last.wrapping_sub(first), gaps, full }
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
pub struct Competitors(Vec<libc::pid_t>);

impl Competitors {
    /// Starts so many on the CPU. To be called from a process with one thread.
    ///
    /// # Errors
    /// The system's.
    pub fn start(n: u32, on: u32) -> SysResult<Competitors> {
        Competitors::start_nice(n, on, 0)
    }

    /// The same with this much more niceness than the calling process has; the kernel counts their time apart if there is any.
    ///
    /// # Errors
    /// The system's.
    pub fn start_nice(n: u32, on: u32, nicer: i32) -> SysResult<Competitors> {
        let mut all = Competitors(Vec::new());
        let set = cpu::CpuSet::new(&[on])?;
        let parent = crate::process::own_pid();
        for _ in 0..n {
            // SAFETY: the child makes async-signal-safe calls only and never returns.
            match unsafe { libc::fork() } {
                -1 => return Err(SysError::last("start a competing process")),
                0 => compete(&set, parent, nicer),
                pid => all.0.push(pid),
            }
        }
        Ok(all)
    }
}

/// The child: dies with its parent, moves to its CPU, computes.
fn compete(set: &cpu::CpuSet, parent: i32, nicer: i32) -> ! {
    // SAFETY: async-signal-safe calls with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
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
        for pid in &self.0 {
            // SAFETY: children that were started here and not yet waited for.
            unsafe {
                libc::kill(*pid, libc::SIGKILL);
                libc::waitpid(*pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_follow_each_other_inside_the_trace() {
        let w = watch(20_000_000, 2_000, 10_000);
        assert!(w.length >= 20_000_000 && !w.full);
        let mut at = 0;
        for g in &w.gaps {
            assert!(g.start >= at && g.duration > 2_000 && g.end() <= w.length);
            at = g.end();
        }
    }

    #[test]
    fn no_room_ends_it() {
        let w = watch(u64::MAX, 0, 3);
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
        let pids = c.0.clone();
        assert!(pids.iter().all(|p| crate::process::exists(*p)));
        drop(c);
        assert!(pids.iter().all(|p| !crate::process::exists(*p)));
    }
}
