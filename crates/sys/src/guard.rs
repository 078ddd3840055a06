//! A process that outlives this one by a moment, to write what must be written when this one dies.

use crate::{SysError, SysResult};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

/// Most files that one guard serves.
const MOST: usize = 4096;

/// Writes `0` to files (`cgroup.freeze`) when this process ends without [`Guard::dismiss`], by SIGKILL too: a process
/// of its own waits for the end of a pipe that only this one holds.
#[derive(Debug)]
pub struct Guard {
    pipe: Option<File>,
}

impl Guard {
    /// Starts the guard. The files are opened here, so that it needs neither memory nor rights later.
    ///
    /// # Errors
    /// If a file cannot be opened or no process be made.
    pub fn start(files: &[PathBuf]) -> SysResult<Guard> {
        if files.len() > MOST {
            return Err(SysError::io("guard", std::io::ErrorKind::ArgumentListTooLong.into()));
        }
        let open = |p: &PathBuf| {
            let file = OpenOptions::new().write(true).open(p);
            file.map_err(|e| SysError::io(format!("open {}", p.display()), e))
        };
        let opened: Vec<File> = files.iter().map(open).collect::<SysResult<_>>()?;
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(SysError::last("make a pipe"));
        }
        // SAFETY: both were just made and belong to nobody else.
        let (read, write) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        let mut kept: Vec<RawFd> = opened.iter().map(AsRawFd::as_raw_fd).chain([read.as_raw_fd()]).collect();
        kept.sort_unstable();
        // Two forks: the guard becomes a child of init, so that a measurement, which ends what a program leaves behind
        // among its own children, does not see it.
        // SAFETY: the child makes only async-signal-safe calls (fork(2) is one on Linux) on memory that is its own copy.
        let middle = unsafe { libc::fork() };
        match middle {
            -1 => Err(SysError::last("fork the guard")),
            0 => {
                // SAFETY: as above; `kept` and `opened` are not touched by anybody else in this process.
                unsafe {
                    if libc::fork() == 0 {
                        wait_and_write(read.as_raw_fd(), &opened, &kept);
                    }
                    libc::_exit(0)
                }
            }
            _ => {
                let mut status = 0;
                // SAFETY: our own child, a valid place for its status.
                while unsafe { libc::waitpid(middle, &mut status, 0) } < 0
                    && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
                {}
                // SAFETY: the descriptor changes its owner.
                Ok(Guard { pipe: Some(unsafe { File::from_raw_fd(write.into_raw_fd()) }) })
            }
        }
    }

    /// Ends the guard; it writes nothing.
    pub fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            let _ = pipe.write_all(b"x");
        }
    }
}

/// The guard's whole life.
///
/// # Safety
/// Only in a freshly forked child.
unsafe fn wait_and_write(read: RawFd, files: &[File], kept: &[RawFd]) -> ! {
    // SAFETY: plain calls on valid arguments.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"tare-guard".as_ptr());
        // Nobody's Ctrl-C ends it, and it holds open nothing but what it needs: no lock, no terminal, no pipe.
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        let mut from = 0u32;
        for fd in kept {
            let fd = *fd as u32;
            if fd > from {
                close_between(from, fd - 1);
            }
            from = fd + 1;
        }
        close_between(from, u32::MAX);
        let mut byte = 0u8;
        loop {
            match libc::read(read, (&raw mut byte).cast(), 1) {
                0 => break,
                1 => libc::_exit(0),
                _ if *libc::__errno_location() == libc::EINTR => {}
                _ => break,
            }
        }
        for file in files {
            libc::write(file.as_raw_fd(), c"0\n".as_ptr().cast(), 2);
        }
        libc::_exit(0)
    }
}

/// # Safety
/// The descriptors must not be used afterwards.
unsafe fn close_between(first: u32, last: u32) {
    // SAFETY: by the caller. close_range is there since Linux 5.9, which this project's oldest kernel has.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn becomes(path: &PathBuf, wanted: &str) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if std::fs::read_to_string(path).unwrap().trim() == wanted {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn writes_when_nobody_dismisses_it() {
        let dir = tempfile::tempdir().unwrap();
        let files = [dir.path().join("a"), dir.path().join("b")];
        files.iter().for_each(|f| std::fs::write(f, "1\n").unwrap());
        let guard = Guard::start(&files).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "1\n");
        drop(guard);
        assert!(files.iter().all(|f| becomes(f, "0")));
        std::fs::write(&files[0], "1\n").unwrap();
        Guard::start(&files[..1]).unwrap().dismiss();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "1\n");
        assert!(Guard::start(&[dir.path().join("none")]).is_err());
    }
}
