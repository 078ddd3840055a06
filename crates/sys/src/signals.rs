//! Ctrl-C and similar signals: blocked while tare works, delivered only while it waits.

use crate::{SysError, SysResult};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use tarebench_core::base::units::Nanos;

static CAUGHT: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);

/// Whether the signals are blocked by [`Signals`].
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Calls of a server that are being made, one within the other.
static CALLS: AtomicI32 = AtomicI32::new(0);
/// What such a call has left, in seconds, when a signal asks this process to end: nothing but its answer or the end of the connection
/// interrupts it.
const ANSWER: libc::c_uint = 5;
/// Whether nothing is measured any more ([`Signals::release`]), and what the result's printing and writing then has left, in seconds.
static RELEASED: AtomicBool = AtomicBool::new(false);
const RESULT: libc::c_uint = 1;

extern "C" fn on_signal(signal: libc::c_int) {
    CAUGHT.store(signal, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
    let left = match (CALLS.load(Ordering::Relaxed) > 0, RELEASED.load(Ordering::Relaxed)) {
        (true, _) => ANSWER,
        (_, true) => RESULT,
        _ => return,
    };
    // SAFETY: async-signal-safe.
    unsafe { libc::alarm(left) };
}

extern "C" fn on_alarm(_: libc::c_int) {
    const TEXT: &[u8] = b"tare: interrupted while it waited\n";
    // SAFETY: async-signal-safe calls.
    unsafe {
        libc::write(2, TEXT.as_ptr().cast(), TEXT.len());
        libc::_exit(130);
    }
}

fn heed_alarm() {
    // SAFETY: the handler makes async-signal-safe calls only.
    unsafe { libc::signal(libc::SIGALRM, on_alarm as extern "C" fn(libc::c_int) as usize) };
}

/// The signals that end a run, as a set.
fn ending() -> libc::sigset_t {
    // SAFETY: a valid set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in ENDING {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// A call of a server begins, during which a signal leaves this process a few seconds. Without [`Signals`] it ends at once anyway.
pub fn begin_call() {
    if !INSTALLED.load(Ordering::Relaxed) || CALLS.fetch_add(1, Ordering::Relaxed) > 0 {
        return;
    }
    heed_alarm();
    // SAFETY: valid, initialised structures.
    unsafe {
        if caught().is_some() {
            libc::alarm(ANSWER);
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, &ending(), std::ptr::null_mut());
    }
}

/// The call that began last has ended.
pub fn end_call() {
    if !INSTALLED.load(Ordering::Relaxed) || CALLS.fetch_sub(1, Ordering::Relaxed) > 1 {
        return;
    }
    // SAFETY: valid, initialised structures.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &ending(), std::ptr::null_mut());
        libc::alarm(0);
    }
}

extern "C" fn on_child(_: libc::c_int) {}

/// Forgets the signals that ended an earlier measurement of this process, so that it can make another one.
pub fn forget() {
    RELEASED.store(false, Ordering::Relaxed);
    CAUGHT.store(0, Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
}

/// Signals that end a run in an orderly way.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The signal that asked this process to end, also while such signals are blocked. For waits that cannot be interrupted, which look
/// for it now and then.
pub fn pending() -> Option<i32> {
    caught().or_else(|| {
        // SAFETY: a valid set to write to and to read.
        let is_pending = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigpending(&mut set);
            ENDING.map(|signal| libc::sigismember(&set, signal) == 1)
        };
        ENDING.into_iter().zip(is_pending).find_map(|(signal, pending)| pending.then_some(signal))
    })
}

/// The signal masks of a measuring process.
///
/// SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGCHLD are blocked except inside ppoll(2), so that none is lost
/// between a check and a wait, and none interrupts anything else.
pub struct Signals {
    /// The mask before, which programs are started with.
    pub(crate) original: libc::sigset_t,
    /// The mask while waiting for a program.
    pub(crate) waiting: libc::sigset_t,
    /// The mask between samples: Ctrl-Z stops tare there, never inside a sample, where it would delay the end stamp.
    between: libc::sigset_t,
}

impl Signals {
    /// Installs handlers and blocks the signals. A signal that was ignored from the start (nohup) stays ignored.
    pub fn install() -> SysResult<Signals> {
        // SAFETY: plain signal calls on valid, initialised structures; the handlers only store to atomics.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut original: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in ENDING {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
                libc::sigemptyset(&mut action.sa_mask);
                if libc::sigaction(signal, &action, std::ptr::null_mut()) != 0 {
                    return Err(SysError::last(format!("handle signal {signal}")));
                }
                libc::sigaddset(&mut set, signal);
            }
            // A handler, so that a child that stops itself wakes the wait.
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_child as extern "C" fn(libc::c_int) as usize;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut()) != 0 {
                return Err(SysError::last("handle SIGCHLD"));
            }
            libc::sigaddset(&mut set, libc::SIGCHLD);
            libc::sigaddset(&mut set, libc::SIGTSTP);
            if libc::sigprocmask(libc::SIG_BLOCK, &set, &mut original) != 0 {
                return Err(SysError::last("block signals"));
            }
            let mut waiting = original;
            for signal in ENDING.into_iter().chain([libc::SIGCHLD]) {
                if libc::sigismember(&set, signal) == 1 {
                    libc::sigdelset(&mut waiting, signal);
                }
            }
            INSTALLED.store(true, Ordering::Relaxed);
            let between = waiting;
            libc::sigaddset(&mut waiting, libc::SIGTSTP);
            Ok(Signals { original, waiting, between })
        }
    }

    /// When nothing is measured any more: from now on such a signal ends this process within a second, wherever it waits. One that has
    /// come before does not.
    pub fn release(self) {
        self.let_in();
        INSTALLED.store(false, Ordering::Relaxed);
        RELEASED.store(true, Ordering::Relaxed);
        heed_alarm();
        // SAFETY: a valid set.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.original, std::ptr::null_mut()) };
    }

    /// The signal that asked tare to end, if one was received.
    pub fn caught(&self) -> Option<i32> {
        self.let_in();
        caught()
    }

    /// How often such a signal was received: the second one means "at once".
    pub fn times(&self) -> i32 {
        COUNT.load(Ordering::Relaxed)
    }

    /// Delivers pending signals, without waiting.
    fn let_in(&self) {
        // SAFETY: no file descriptors, a zero time-out and a valid mask.
        unsafe {
            let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::ppoll(std::ptr::null_mut(), 0, &zero, &self.between);
        }
    }

    /// Waits until a file is readable, or its other end is gone; false if a signal asked tare to end before.
    pub(crate) fn wait_readable(&self, file: &std::fs::File) -> bool {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        loop {
            // SAFETY: one valid pollfd, no time-out, and a valid mask.
            let n = unsafe { libc::ppoll(&mut poll, 1, std::ptr::null(), &self.between) };
            if n > 0 {
                return true;
            }
            if self.caught().is_some() {
                return false;
            }
        }
    }

    /// Sleeps until a time on CLOCK_MONOTONIC, or until such a signal comes, which it returns. One call, unless Ctrl-Z
    /// or an orphan's end interrupts it.
    pub fn sleep_until(&self, deadline: Nanos) -> Option<i32> {
        loop {
            let left = deadline - crate::clock::monotonic();
            if left <= Nanos::ZERO || caught().is_some() {
                return self.caught();
            }
            let left = libc::timespec { tv_sec: left.0 / 1_000_000_000, tv_nsec: left.0 % 1_000_000_000 };
            // SAFETY: no file descriptors, a valid time-out and a valid mask.
            unsafe { libc::ppoll(std::ptr::null_mut(), 0, &left, &self.between) };
        }
    }

    /// Removes a pending SIGCHLD, so that it does not interrupt the next wait.
    pub(crate) fn drop_pending_child(&self) {
        // SAFETY: valid set, zero time-out, no siginfo wanted.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGCHLD);
            let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            while libc::sigtimedwait(&set, std::ptr::null_mut(), &zero) > 0 {}
        }
    }
}

/// The signal that asked this process to end, if a handler has seen one.
pub(crate) fn caught() -> Option<i32> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        s => Some(s),
    }
}
