//! Opening a file with the rights of another user.

use crate::spawn::Identity;
use crate::{SysError, SysResult};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPurpose {
    /// To read it.
    Read,
    /// To append to it; it is created if there is none.
    Append,
}

/// Opens a file by the user ids of file accesses: what this user may not open is not opened,
/// whatever links its name leads through. A FIFO without another end does not hold this process up.
///
/// # Errors
/// The system's, also if this process may not take the user's rights.
pub fn open_as(user: &Identity, file: &Path, purpose: OpenPurpose) -> SysResult<OwnedFd> {
    let failed = |e| SysError::io(format!("open `{}`", file.display()), e);
    let name =
        CString::new(file.as_os_str().as_bytes()).map_err(|_| failed(std::io::ErrorKind::InvalidInput.into()))?;
    let flags = match purpose {
        OpenPurpose::Read => libc::O_RDONLY,
        OpenPurpose::Append => libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT,
    };
    let before = own_groups().map_err(failed)?;
    // SAFETY: system calls on valid memory, made raw, because glibc's wrapper would change the groups of all threads. The ids of
    // file accesses are this thread's; leaving 0 takes the capabilities of file accesses from it, and returning to it gives them back.
    let (opened, restored) = unsafe {
        let (gid, uid) = (libc::c_long::from(user.gid), libc::c_long::from(user.uid));
        let changed = libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) == 0;
        let old = (libc::syscall(libc::SYS_setfsgid, gid), libc::syscall(libc::SYS_setfsuid, uid));
        // A refusal shows only in what the next call finds.
        let changed = changed
            && libc::syscall(libc::SYS_setfsgid, -1_i64) == gid
            && libc::syscall(libc::SYS_setfsuid, -1_i64) == uid;
        let opened = match changed {
            true => libc::open(name.as_ptr(), flags | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY, 0o666),
            false => -1,
        };
        let error = if changed { std::io::Error::last_os_error() } else { std::io::ErrorKind::PermissionDenied.into() };
        libc::syscall(libc::SYS_setfsuid, old.1);
        libc::syscall(libc::SYS_setfsgid, old.0);
        let restored = libc::syscall(libc::SYS_setgroups, before.len(), before.as_ptr()) == 0
            && libc::syscall(libc::SYS_setfsuid, -1_i64) == old.1;
        (if opened < 0 { Err(error) } else { Ok(OwnedFd::from_raw_fd(opened)) }, restored)
    };
    if !restored {
        return Err(SysError::io("take back the own rights", std::io::ErrorKind::PermissionDenied.into()));
    }
    let opened = opened.map_err(failed)?;
    // Only the opening must not wait.
    // SAFETY: a valid descriptor.
    let cleared = unsafe {
        let status = libc::fcntl(opened.as_raw_fd(), libc::F_GETFL);
        status >= 0 && libc::fcntl(opened.as_raw_fd(), libc::F_SETFL, status & !libc::O_NONBLOCK) == 0
    };
    if cleared { Ok(opened) } else { Err(failed(std::io::Error::last_os_error())) }
}

fn own_groups() -> std::io::Result<Vec<libc::gid_t>> {
    // SAFETY: without room the call only counts; then there is room for as many as it counted.
    unsafe {
        let count = libc::getgroups(0, std::ptr::null_mut());
        let mut groups = vec![0; usize::try_from(count).map_err(|_| std::io::Error::last_os_error())?];
        let found = libc::getgroups(count, groups.as_mut_ptr());
        groups.truncate(usize::try_from(found).map_err(|_| std::io::Error::last_os_error())?);
        Ok(groups)
    }
}
