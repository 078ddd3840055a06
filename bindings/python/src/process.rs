//! What a measurement changes of the process that it runs in, and its restoration.

use std::sync::{Mutex, TryLockError};
use tarebench_cli::api::Failure;

/// Held while a measurement runs: signals, and the place of a subreaper, belong to the whole process.
static MEASURING: Mutex<()> = Mutex::new(());

/// Makes a measurement, unless another thread makes one, and leaves the process as it was.
pub fn alone<T>(measure: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let _alone = match MEASURING.try_lock() {
        Ok(alone) => alone,
        Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let what = "another thread of this process measures: two measurements would disturb each other";
            return Err(Failure::usage(what).hint("wait until it has ended"));
        }
    };
    let _before = ProcessState::take();
    tarebench::sys::signals::forget();
    measure()
}

/// Signals that a measurement handles.
const HANDLED: [libc::c_int; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGCHLD];

/// Signal handlers, the calling thread's signal mask, and whether the process adopts orphans: as they were, and again when this is
/// dropped. On one thread only.
struct ProcessState {
    handlers: Vec<(libc::c_int, libc::sigaction)>,
    mask: Option<libc::sigset_t>,
    subreaper: Option<libc::c_int>,
}

impl ProcessState {
    /// Reads them. What cannot be read is not restored.
    fn take() -> ProcessState {
        let handler = |signal: libc::c_int| {
            // SAFETY: all-zero is a valid sigaction, and it is valid for writing; a null pointer changes nothing.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                (libc::sigaction(signal, std::ptr::null(), &mut old) == 0).then_some((signal, old))
            }
        };
        // SAFETY: all-zero is a valid sigset, and it is valid for writing; a null pointer changes nothing.
        let mask = unsafe {
            let mut old: libc::sigset_t = std::mem::zeroed();
            (libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut old) == 0).then_some(old)
        };
        let mut adopts: libc::c_int = 0;
        // SAFETY: the option writes one int.
        let read = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
        ProcessState {
            handlers: HANDLED.into_iter().filter_map(handler).collect(),
            mask,
            subreaper: (read == 0).then_some(adopts),
        }
    }
}

impl Drop for ProcessState {
    fn drop(&mut self) {
        for (signal, old) in &self.handlers {
            // SAFETY: a handler that was installed before, with its own mask and flags.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
        // After the handlers: a signal that is still pending is the earlier handler's.
        if let Some(mask) = &self.mask {
            // SAFETY: the mask that this thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
        }
        if let Some(adopts) = self.subreaper {
            // SAFETY: no memory involved.
            unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_long::from(adopts), 0, 0, 0) };
        }
    }
}
