//! Waiting for a program without a wake-up in between.

use crate::signals::{Signals, caught};
use crate::spawn::Child;
use crate::{SysError, SysResult};
use std::os::fd::AsRawFd;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::data::Usage;
use tarebench_core::sample::process_time::CpuTime;

/// Why the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The program has ended and can be reaped.
    Ended,
    /// The time limit has passed.
    TimedOut,
    /// Tare was asked to end.
    Signal(i32),
    /// The program was stopped by this signal.
    Stopped(i32),
}

/// Sleeps until the child has ended, `deadline` (on CLOCK_MONOTONIC) has passed, a signal has come or the child has stopped.
///
/// One ppoll(2): the process is not woken for anything else, except by orphans of the program that it adopts (if it is
/// a subreaper) and that end. Those are reaped, as the program's user may have used up its processes, and handed to
/// `orphan`. Returns before the child itself is reaped.
pub fn wait(child: &Child, deadline: Option<Nanos>, signals: &Signals, orphan: &mut dyn FnMut(Reaped)) -> Woken {
    wait_any(&[child], &[], deadline, signals, orphan).1
}

/// As [`wait`], for several children, none of which has been reaped; the number is that of the child that has ended or stopped,
/// else 0. `others` are children of tare that are not orphans.
pub fn wait_any(
    children: &[&Child],
    others: &[i32],
    deadline: Option<Nanos>,
    signals: &Signals,
    orphan: &mut dyn FnMut(Reaped),
) -> (usize, Woken) {
    let poll_of = |child: &&Child| libc::pollfd { fd: child.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = children.iter().map(poll_of).collect();
    let mains: Vec<i32> = children.iter().map(|c| c.pid).chain(others.iter().copied()).collect();
    loop {
        let left = deadline.map(|d| {
            let left = (d - crate::clock::monotonic()).max(Nanos::ZERO);
            libc::timespec { tv_sec: left.0 / 1_000_000_000, tv_nsec: left.0 % 1_000_000_000 }
        });
        let left = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: so many valid pollfds, a valid or null time limit, a valid mask.
        match unsafe { libc::ppoll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, left, &signals.waiting) } {
            0 => return (0, Woken::TimedOut),
            n if n > 0 => return (polls.iter().position(|p| p.revents != 0).unwrap_or(0), Woken::Ended),
            _ => {
                if let Some(signal) = caught() {
                    return (0, Woken::Signal(signal));
                }
                let found = children.iter().enumerate().find_map(|(i, child)| Some((i, stopped(child)?)));
                if let Some((i, signal)) = found {
                    return (i, Woken::Stopped(signal));
                }
                reap_orphans(&mains, orphan);
            }
        }
    }
}

/// Reaps children that have ended, up to the first of `mains`.
fn reap_orphans(mains: &[i32], orphan: &mut dyn FnMut(Reaped)) {
    loop {
        // SAFETY: all-zero is a valid siginfo, and waitid only writes to it; WNOWAIT leaves the state as it is.
        let pid = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            if libc::waitid(libc::P_ALL, 0, &mut info, flags) == 0 { info.si_pid() } else { 0 }
        };
        if pid == 0 || mains.contains(&pid) {
            return;
        }
        match reap(pid, false) {
            Ok(Some(reaped)) => orphan(reaped),
            _ => return,
        }
    }
}

/// The signal that the child is stopped by, if it is.
fn stopped(child: &Child) -> Option<i32> {
    // SAFETY: all-zero is a valid siginfo, and waitid only writes to it; WNOWAIT leaves the state as it is.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
        let r = libc::waitid(libc::P_PID, child.pid as libc::id_t, &mut info, flags);
        (r == 0 && info.si_pid() == child.pid).then(|| info.si_status())
    }
}

/// Whether the child is stopped now.
pub fn is_stopped(child: &Child) -> bool {
    stopped(child).is_some()
}

/// The signal by which the child is stopped now, if it is.
pub fn stop_signal(child: &Child) -> Option<i32> {
    stopped(child)
}

/// Whether the child has ended, without waiting.
pub fn has_ended(child: &Child) -> bool {
    let mut poll = libc::pollfd { fd: child.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd, no waiting.
    unsafe { libc::poll(&mut poll, 1, 0) > 0 }
}

/// How a reaped process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// With an exit status.
    Exited(i32),
    Signaled(i32),
}

/// A process that was reaped.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    pub pid: i32,
    pub ended: ProcessEnd,
    /// CPU time of it and of all descendants that were waited for.
    pub cpu: CpuTime,
    /// The rest of its rusage.
    pub usage: Usage,
}

/// Collects a child that has ended; `pid` -1 for any. `None` if none has.
///
/// # Errors
/// The system's (ECHILD counts as none).
pub fn reap(pid: i32, block: bool) -> SysResult<Option<Reaped>> {
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: all-zero is a valid rusage; wait4 writes to both.
        let (r, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid, &mut status, flags, &mut usage), usage)
        };
        if r < 0 {
            let error = SysError::last(format!("wait for process {pid}"));
            match error.errno() {
                Some(libc::EINTR) => continue,
                Some(libc::ECHILD) => return Ok(None),
                _ => return Err(error),
            }
        }
        if r == 0 {
            return Ok(None);
        }
        let ended = if libc::WIFSIGNALED(status) {
            ProcessEnd::Signaled(libc::WTERMSIG(status))
        } else {
            ProcessEnd::Exited(libc::WEXITSTATUS(status))
        };
        return Ok(Some(Reaped { pid: r, ended, cpu: cpu_time(&usage), usage: other_usage(&usage) }));
    }
}

/// Drains the signals that reaping left pending, so that the next wait sleeps.
pub fn settle(signals: &Signals) {
    signals.drop_pending_child();
}

fn nanos(t: libc::timeval) -> Nanos {
    Nanos(t.tv_sec * 1_000_000_000 + t.tv_usec * 1_000)
}

fn cpu_time(u: &libc::rusage) -> CpuTime {
    let (user, system) = (nanos(u.ru_utime), nanos(u.ru_stime));
    CpuTime { user, system, total: user + system }
}

fn other_usage(u: &libc::rusage) -> Usage {
    let n = |v: libc::c_long| u64::try_from(v).unwrap_or(0);
    Usage {
        max_rss: n(u.ru_maxrss) * 1024,
        minor_faults: n(u.ru_minflt),
        major_faults: n(u.ru_majflt),
        voluntary_switches: n(u.ru_nvcsw),
        involuntary_switches: n(u.ru_nivcsw),
    }
}

/// Context switches of this process so far: voluntary, involuntary.
pub fn own_switches() -> (i64, i64) {
    // SAFETY: all-zero is a valid rusage; getrusage writes to it.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    };
    (u.ru_nvcsw, u.ru_nivcsw)
}

/// Peak resident memory of this process so far, bytes.
pub fn own_peak_memory() -> u64 {
    // SAFETY: as above.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    };
    other_usage(&u).max_rss
}
