//! A process that outlives this one briefly, to end the programs that this one has stopped: a tree that is frozen or stopped when
//! this process is killed would stand still for ever.

use crate::{SysError, SysResult};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

const HOLD: u8 = b'h';
const RELEASE: u8 = b'r';
const DISMISSED: u8 = b'x';
/// Bytes of a message: what, and a number.
const MESSAGE: usize = 5;
/// Process groups that a guard holds at a time.
const GROUPS: usize = 2;

/// What becomes of the trees when this process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFate {
    Killed,
    /// They were to outlive it.
    Continued,
}

/// Ends (or continues) the trees that it is responsible for when this process ends without [`TreeGuard::dismiss`], by SIGKILL too: a separate
/// process waits for the end of a pipe that only this one holds. It sleeps until then.
#[derive(Debug)]
pub struct TreeGuard {
    pipe: Option<File>,
    child: libc::pid_t,
}

/// What the guard writes, opened before it is started: later it needs neither memory nor permissions.
struct GuardFiles {
    /// In this order: kill, then thaw, so that nothing runs in between.
    writes: Vec<(File, &'static [u8])>,
}

impl GuardFiles {
    fn open(cgroups: &[PathBuf], fate: TreeFate) -> SysResult<GuardFiles> {
        let to_write = |path: &Path| OpenOptions::new().write(true).open(path);
        let mut writes = Vec::new();
        for cgroup in cgroups.iter().filter(|_| fate == TreeFate::Killed) {
            // Since Linux 5.14; before that they are thawed, and the next tare ends them.
            if let Ok(file) = to_write(&cgroup.join("cgroup.kill")) {
                writes.push((file, &b"1"[..]));
            }
        }
        for cgroup in cgroups {
            let path = cgroup.join("cgroup.freeze");
            let file = to_write(&path).map_err(|e| SysError::io(format!("open {}", path.display()), e))?;
            writes.push((file, &b"0"[..]));
        }
        Ok(GuardFiles { writes })
    }
}

impl TreeGuard {
    /// Starts the guard of these cgroups, and of the process groups that it is told of later. It is a child of this process.
    ///
    /// # Errors
    /// If a file cannot be opened, or no process be made.
    pub fn start(cgroups: &[PathBuf], fate: TreeFate) -> SysResult<TreeGuard> {
        let files = GuardFiles::open(cgroups, fate)?;
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(SysError::last("make a pipe"));
        }
        let [read, write] = ends;
        // SAFETY: both were just made and have no other owner.
        let (read, write) = unsafe { (OwnedFd::from_raw_fd(read), OwnedFd::from_raw_fd(write)) };
        let writes: Vec<(RawFd, &[u8])> = files.writes.iter().map(|(file, text)| (file.as_raw_fd(), *text)).collect();
        let mut kept: Vec<RawFd> = writes.iter().map(|w| w.0).chain([read.as_raw_fd()]).collect();
        kept.sort_unstable();
        let signal = if fate == TreeFate::Killed { libc::SIGKILL } else { libc::SIGCONT };
        // SAFETY: the child makes only async-signal-safe calls on memory that is its own copy.
        let child = unsafe { libc::fork() };
        match child {
            -1 => Err(SysError::last("fork the guard")),
            // SAFETY: in a freshly forked child.
            0 => unsafe { guard(read.as_raw_fd(), &writes, signal, &kept) },
            _ => Ok(TreeGuard { pipe: Some(File::from(write)), child }),
        }
    }

    /// This process group is its concern, too.
    ///
    /// # Errors
    /// If the guard has been killed.
    pub fn hold(&mut self, group: i32) -> SysResult<()> {
        self.tell(HOLD, group)
    }

    /// This process group is no longer its concern: its leader has been reaped, and its number may be given again.
    ///
    /// # Errors
    /// If the guard has been killed.
    pub fn release(&mut self, group: i32) -> SysResult<()> {
        self.tell(RELEASE, group)
    }

    fn tell(&mut self, what: u8, group: i32) -> SysResult<()> {
        let [a, b, c, d] = group.to_ne_bytes();
        // One write, which a pipe keeps together.
        let written = self.pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&[what, a, b, c, d]));
        written.map_err(|e| SysError::io("tell the guard of the programs", e))
    }

    /// The process that guards: a child of this one.
    pub fn pid(&self) -> i32 {
        self.child
    }

    /// Ends the guard, which does nothing.
    pub fn dismiss(mut self) {
        let _ = self.tell(DISMISSED, 0);
    }
}

impl Drop for TreeGuard {
    /// Without [`TreeGuard::dismiss`] before, it ends the trees.
    fn drop(&mut self) {
        self.pipe = None;
        let mut status = 0;
        // SAFETY: our own child, a valid place for its status.
        while unsafe { libc::waitpid(self.child, &mut status, 0) } < 0 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return;
            }
        }
    }
}

/// The guard's main function. `kept` are the descriptors that it needs, in rising order.
///
/// # Safety
/// Only in a freshly forked child.
unsafe fn guard(read: RawFd, writes: &[(RawFd, &[u8])], signal: i32, kept: &[RawFd]) -> ! {
    let mut groups = [0_i32; GROUPS];
    // SAFETY: async-signal-safe calls on valid arguments.
    unsafe {
        // No Ctrl-C ends it, and it holds open only what it needs: no lock, no terminal, no pipe of another process.
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"tare-guard".as_ptr());
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        let mut from = 0_u32;
        for fd in kept {
            let Ok(fd) = u32::try_from(*fd) else { continue };
            if fd > from {
                libc::syscall(libc::SYS_close_range, from, fd - 1, 0);
            }
            from = fd + 1;
        }
        libc::syscall(libc::SYS_close_range, from, u32::MAX, 0);
        loop {
            let mut message = [0_u8; MESSAGE];
            if libc::read(read, message.as_mut_ptr().cast(), MESSAGE) != MESSAGE as isize {
                break;
            }
            let [what, number @ ..] = message;
            let group = i32::from_ne_bytes(number);
            match what {
                HOLD => groups.iter_mut().find(|g| **g == 0).into_iter().for_each(|g| *g = group),
                RELEASE => groups.iter_mut().filter(|g| **g == group).for_each(|g| *g = 0),
                _ => libc::_exit(0),
            }
        }
        for (file, text) in writes {
            libc::write(*file, text.as_ptr().cast(), text.len());
        }
        for group in groups.iter().filter(|g| **g > 1) {
            libc::kill(-*group, signal);
        }
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").process_group(0).spawn().unwrap()
    }

    fn stopped(child: &Child) -> i32 {
        let pid = child.id() as i32;
        process::kill(-pid, libc::SIGSTOP).unwrap();
        let began = Instant::now();
        while process::stat(pid).unwrap().state != b'T' {
            assert!(began.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(1));
        }
        pid
    }

    #[test]
    fn stopped_groups_are_killed_unless_it_is_dismissed() {
        let (mut held, mut released) = (sleeper(), sleeper());
        let (a, b) = (stopped(&held), stopped(&released));
        let mut guard = TreeGuard::start(&[], TreeFate::Killed).unwrap();
        guard.hold(a).unwrap();
        guard.hold(b).unwrap();
        guard.release(b).unwrap();
        drop(guard);
        // Dropping it waits for its end.
        assert!(!held.wait().unwrap().success());
        assert_eq!(process::stat(b).unwrap().state, b'T', "it was released");
        let mut guard = TreeGuard::start(&[], TreeFate::Killed).unwrap();
        guard.hold(b).unwrap();
        guard.dismiss();
        assert_eq!(process::stat(b).unwrap().state, b'T', "the guard was dismissed");
        let mut guard = TreeGuard::start(&[], TreeFate::Continued).unwrap();
        guard.hold(b).unwrap();
        drop(guard);
        let began = Instant::now();
        while process::stat(b).unwrap().state == b'T' {
            assert!(began.elapsed() < Duration::from_secs(10), "it does not continue");
        }
        released.kill().unwrap();
        released.wait().unwrap();
    }

    #[test]
    fn files_of_cgroups_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        // Before Linux 5.14 there is no cgroup.kill.
        std::fs::write(file("cgroup.freeze"), "1").unwrap();
        drop(TreeGuard::start(&[dir.path().to_owned()], TreeFate::Killed).unwrap());
        assert_eq!(std::fs::read_to_string(file("cgroup.freeze")).unwrap(), "0");
        for name in ["cgroup.freeze", "cgroup.kill"] {
            std::fs::write(file(name), "-").unwrap();
        }
        TreeGuard::start(&[dir.path().to_owned()], TreeFate::Killed).unwrap().dismiss();
        assert_eq!(std::fs::read_to_string(file("cgroup.freeze")).unwrap(), "-");
        drop(TreeGuard::start(&[dir.path().to_owned()], TreeFate::Killed).unwrap());
        let found = ["cgroup.freeze", "cgroup.kill"].map(|name| std::fs::read_to_string(file(name)).unwrap());
        assert_eq!(found, ["0", "1"]);
        for name in ["cgroup.freeze", "cgroup.kill"] {
            std::fs::write(file(name), "-").unwrap();
        }
        drop(TreeGuard::start(&[dir.path().to_owned()], TreeFate::Continued).unwrap());
        let found = ["cgroup.freeze", "cgroup.kill"].map(|name| std::fs::read_to_string(file(name)).unwrap());
        assert_eq!(found, ["0", "-"]);
        assert!(TreeGuard::start(&[file("none")], TreeFate::Killed).is_err());
    }
}
