//! The lock that a task of a lab and a user's own measurements share, so that an agent does not measure beside a user.
//!
//! The agent takes it exclusively before it starts a task, a user's `tare run` shared. It is an agreement: who cannot
//! take it as a user measures all the same. The file is opened for reading only, which flock(2) allows, so that it
//! needs no rights beyond those: whoever made it, all users can hold it. Any user can so keep agents from starting
//! tasks, but no process waits.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The file, in a folder that every user may write to and that is empty after a boot.
pub const LOCK_FILE: &str = "/run/lock/tare.lock";

/// The lock; it is held until this is dropped, or its process ends.
#[derive(Debug)]
pub struct MachineLock {
    /// `None`: the machine has no such lock.
    _file: Option<File>,
}

/// Who asks for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// A user's own measurement, beside those of other users.
    User,
    /// A task of a lab, alone.
    Task,
}

/// Takes the lock without waiting; `None` if it is held by another in a way that excludes this one. A machine where
/// there can be no such file has no such lock, and gives it to everybody.
pub fn take(mode: LockMode) -> Option<MachineLock> {
    take_file(Path::new(LOCK_FILE), mode)
}

fn take_file(path: &Path, mode: LockMode) -> Option<MachineLock> {
    let Some(file) = open_file(path) else { return Some(MachineLock { _file: None }) };
    let operation = match mode {
        LockMode::User => FlockOperation::NonBlockingLockShared,
        LockMode::Task => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        match flock(&file, operation) {
            Ok(()) => return Some(MachineLock { _file: Some(file) }),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return None,
            Err(_) => return Some(MachineLock { _file: None }),
        }
    }
}

/// The file, made if it is missing. Another kind of file, or a link, may have been put there by anybody.
fn open_file(path: &Path) -> Option<File> {
    // A FIFO would make open(2) wait. Without O_CREAT for a file that is there: fs.protected_regular refuses that for
    // other users' files.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let existing = || open(path, flags, Mode::empty());
    let opened = match existing() {
        Err(Errno::NOENT) => match open(path, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644)) {
            Ok(new) => {
                let new = File::from(new);
                // Whatever the umask is: others must be able to open it.
                let _ = new.set_permissions(std::fs::Permissions::from_mode(0o644));
                return Some(new);
            }
            // Another process was faster.
            Err(_) => existing(),
        },
        other => other,
    };
    let file = File::from(opened.ok()?);
    file.metadata().is_ok_and(|m| m.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_share_it_and_a_task_has_it_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tare.lock");
        let (first, second) = (take_file(&path, LockMode::User), take_file(&path, LockMode::User));
        assert!(first.is_some() && second.is_some());
        assert!(take_file(&path, LockMode::Task).is_none());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        drop((first, second));
        // A process that another test has forked meanwhile holds the file open, too, until it ends.
        let task = (0..1_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            take_file(&path, LockMode::Task)
        });
        assert!(task.is_some());
        assert!(take_file(&path, LockMode::User).is_none() && take_file(&path, LockMode::Task).is_none());
    }

    #[test]
    fn what_is_no_file_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        // Nothing is made at the link's end, and nobody is kept from measuring.
        let held = [take_file(&link, LockMode::Task), take_file(&link, LockMode::Task)];
        assert!(held.iter().all(Option::is_some) && !target.exists());
        assert!(take_file(dir.path(), LockMode::Task).is_some());
        assert!(take_file(Path::new("/nowhere/lock"), LockMode::Task).is_some());
    }
}
