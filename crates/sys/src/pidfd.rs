//! Signals to a process that may have ended, so that none reaches another process that has its pid by then.

use crate::{SysError, SysResult};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A descriptor of a process: it refers to this process, even if its pid is reused. Closed on exec.
///
/// # Errors
/// ESRCH if there is none; ENOSYS before Linux 5.3.
pub fn open(pid: i32) -> SysResult<OwnedFd> {
    // SAFETY: no memory involved; the new descriptor has no other owner.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return Err(SysError::last(format!("open process {pid}")));
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Sends a signal to it.
///
/// # Errors
/// ESRCH if it has been reaped.
pub fn signal(process: BorrowedFd<'_>, signal: i32) -> SysResult<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a valid descriptor; without siginfo it is as with kill(2).
    if unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, none, 0) } != 0 {
        return Err(SysError::last(format!("send signal {signal}")));
    }
    Ok(())
}

/// Waits for the end of a child and collects it, unless it has been collected.
pub fn reap(child: BorrowedFd<'_>) {
    // SAFETY: a valid descriptor; all-zero is a valid siginfo, and waitid only writes to it.
    let interrupted = || unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PIDFD, child.as_raw_fd() as libc::id_t, &mut info, libc::WEXITED) != 0
            && *libc::__errno_location() == libc::EINTR
    };
    while interrupted() {}
}

/// Sends a signal to the process with this pid if it is the intended one, which `is_meant` checks by the pid.
///
/// The process that has the pid during `is_meant` is the one of the descriptor; otherwise that one has ended, and the
/// signal reaches no process. Returns whether it was sent.
///
/// # Errors
/// The system's; none if the process is gone.
pub fn signal_if(pid: i32, number: i32, is_meant: impl Fn() -> bool) -> SysResult<bool> {
    let gone = |e: SysError| if e.errno() == Some(libc::ESRCH) { Ok(false) } else { Err(e) };
    match open(pid) {
        Err(e) => gone(e),
        Ok(_) if !is_meant() => Ok(false),
        Ok(process) => signal(process.as_fd(), number).map(|()| true).or_else(gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    /// A process with this pid, which no other has; only root can ask for one.
    fn with_pid(pid: i32) -> Option<Child> {
        (0..100).find_map(|_| {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
            let mut other = sleeper();
            if other.id() as i32 == pid {
                return Some(other);
            }
            other.kill().unwrap();
            other.wait().unwrap();
            None
        })
    }

    /// The intended process ends while it is looked at, and another one gets its pid.
    #[test]
    fn a_process_that_gets_the_pid_meanwhile_lives() {
        let (child, other) = (RefCell::new(sleeper()), RefCell::new(None));
        let pid = child.borrow().id() as i32;
        let replaced = || {
            child.borrow_mut().kill().unwrap();
            child.borrow_mut().wait().unwrap();
            *other.borrow_mut() = with_pid(pid);
            true
        };
        assert!(!signal_if(pid, 9, replaced).unwrap());
        let Some(mut other) = other.into_inner() else { return };
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(other.try_wait().unwrap().is_none(), "it was killed");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_signal_reaches_only_what_is_meant() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let fd = open(pid).unwrap();
        assert!(!signal_if(pid, 9, || false).unwrap());
        assert!(child.try_wait().unwrap().is_none(), "not meant, so it lives");
        assert!(signal_if(pid, 9, || true).unwrap());
        child.wait().unwrap();
        // Reaped: its pid is free, and names no process.
        assert_eq!(signal(fd.as_fd(), 9).unwrap_err().errno(), Some(libc::ESRCH));
        assert!(!signal_if(pid, 0, || unreachable!("there is no such process")).unwrap());
    }
}
