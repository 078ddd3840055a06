//! An advisory lock on an open file, which is released when its holder ends, however it ends.

use crate::{SysError, SysResult};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Takes the exclusive flock(2) of a file, without waiting. It is held until the file is closed; files that the
/// standard library opens are closed on exec, so no started program keeps it.
///
/// Gives `false` if another open file holds it.
///
/// # Errors
/// The system's, e.g. ENOLCK of a network file system.
pub fn try_exclusive(file: &File) -> SysResult<bool> {
    loop {
        // SAFETY: a valid descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EWOULDBLOCK) => return Ok(false),
            Some(libc::EINTR) => {}
            _ => return Err(SysError::last("lock a file")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::options().create(true).truncate(false).write(true).open(dir.path().join("lock")).unwrap();
        let (first, second) = (open(), open());
        assert!(try_exclusive(&first).unwrap());
        assert!(!try_exclusive(&second).unwrap());
        drop(first);
        // A process that another test has forked meanwhile holds the file open, too, until it ends.
        let free = || {
            (0..1_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                try_exclusive(&second).unwrap()
            })
        };
        assert!(try_exclusive(&second).unwrap() || free());
    }
}
