//! Opening a file with the rights of another user, or one that another may have put there.

use crate::spawn::Identity;
use crate::{SysError, SysResult};
use std::ffi::{CStr, CString};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPurpose {
    Read,
    /// To append to it; it is created if there is none.
    Append,
}

/// Opens a file by the user ids of file accesses: what this user may not open is not opened,
/// whatever links its name leads through. A FIFO without another end does not hold this process up.
///
/// What is something else for this process than for that user is refused: a terminal (`/dev/tty` is this process's), a file of
/// procfs and what its links to open files lead to (`/proc/self` is this process).
///
/// # Errors
/// The system's, also if this process may not take the user's rights; the refusals.
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
            true => open_plain(&name, flags),
            false => Err(std::io::ErrorKind::PermissionDenied.into()),
        };
        libc::syscall(libc::SYS_setfsuid, old.1);
        libc::syscall(libc::SYS_setfsgid, old.0);
        let restored = libc::syscall(libc::SYS_setgroups, before.len(), before.as_ptr()) == 0
            && libc::syscall(libc::SYS_setfsuid, -1_i64) == old.1;
        (opened, restored)
    };
    if !restored {
        return Err(SysError::io("take back the own rights", std::io::ErrorKind::PermissionDenied.into()));
    }
    let opened = opened.map_err(explained).and_then(passable).map_err(failed)?;
    // Only the opening must not wait.
    // SAFETY: a valid descriptor.
    let cleared = unsafe {
        let status = libc::fcntl(opened.as_raw_fd(), libc::F_GETFL);
        status >= 0 && libc::fcntl(opened.as_raw_fd(), libc::F_SETFL, status & !libc::O_NONBLOCK) == 0
    };
    if cleared { Ok(opened) } else { Err(failed(std::io::Error::last_os_error())) }
}

/// Opens a file without waiting and without the links of procfs to what processes have open: the kernel lets every thread follow
/// those of its own process, whatever its ids of file accesses.
fn open_plain(name: &CStr, flags: i32) -> std::io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: all-zero is a valid structure; the name and the structure are valid; the new descriptor has no other owner.
    unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = flags as u64;
        how.mode = if flags & libc::O_CREAT == 0 { 0 } else { 0o666 };
        how.resolve = libc::RESOLVE_NO_MAGICLINKS;
        let (place, size) = (std::ptr::from_ref(&how), std::mem::size_of::<libc::open_how>());
        let fd = libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, name.as_ptr(), place, size);
        if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd as i32)) }
    }
}

/// An error of [`open_plain`] in words, where the system's do not say what to do.
fn explained(e: std::io::Error) -> std::io::Error {
    match e.raw_os_error() {
        Some(libc::ELOOP) => std::io::Error::other(
            "its name leads through too many links, or through one of /proc to what a process has open; \
             expected the name of a file; with --user, name the file itself",
        ),
        // Every supported kernel has it. A plain open would follow those links.
        Some(libc::ENOSYS) => std::io::Error::other(
            "openat2(2) is not available here; expected a kernel with it and no filter of system calls that hides it; \
             leave out --user, or --input and --output",
        ),
        _ => e,
    }
}

/// Refuses a file that is another one for this process than for the user.
fn passable(file: OwnedFd) -> std::io::Result<OwnedFd> {
    // SAFETY: a valid descriptor, and a valid structure, which the call fills in.
    let (terminal, of_procfs) = unsafe {
        let mut system: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(file.as_raw_fd(), &mut system) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        (libc::isatty(file.as_raw_fd()) == 1, system.f_type as u64 == libc::PROC_SUPER_MAGIC as u64)
    };
    if terminal {
        return Err(std::io::Error::other(
            "it is a terminal; with --user, expected a file, a FIFO or another device; to give the program yours, use \
             --input inherit or --show-output",
        ));
    }
    if of_procfs {
        return Err(std::io::Error::other(
            "it is a file of /proc, which may be about tare's own process; with --user, expected a file elsewhere; copy it \
             to one",
        ));
    }
    Ok(file)
}

/// Whether a file can be opened for reading. A FIFO is not opened: its writer would take this process for the reader.
pub fn check_readable(file: &Path) -> std::io::Result<()> {
    if std::fs::metadata(file)?.file_type().is_fifo() {
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        // SAFETY: a C string.
        let readable = unsafe { libc::access(name.as_ptr(), libc::R_OK) == 0 };
        return if readable { Ok(()) } else { Err(std::io::Error::last_os_error()) };
    }
    let mut options = std::fs::File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file).map(drop)
}

/// The beginning of a regular file, at most so many bytes; `None` of anything else: opening a FIFO and reading a device could wait.
pub fn beginning(file: &Path, most: u64) -> Option<Vec<u8>> {
    let mut options = std::fs::File::options();
    let opened = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file).ok()?;
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    opened.take(most).read_to_end(&mut head).ok()?;
    Some(head)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tried(file: &Path, flags: i32) -> std::io::Result<OwnedFd> {
        let name = CString::new(file.as_os_str().as_bytes()).unwrap();
        open_plain(&name, flags).map_err(explained).and_then(passable)
    }

    fn make_fifo(file: &Path) {
        let name = CString::new(file.as_os_str().as_bytes()).unwrap();
        // SAFETY: a valid string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    }

    /// A pseudoterminal: one end, which keeps it alive, and the name of the other.
    fn terminal() -> (OwnedFd, String) {
        let mut name = [0u8; 64];
        // SAFETY: a new descriptor without another owner; a buffer of this length.
        let master = unsafe {
            let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
            assert!(fd >= 0, "{}", std::io::Error::last_os_error());
            assert_eq!(libc::grantpt(fd) | libc::unlockpt(fd), 0);
            assert_eq!(libc::ptsname_r(fd, name.as_mut_ptr().cast(), name.len()), 0);
            OwnedFd::from_raw_fd(fd)
        };
        (master, CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn ordinary_files_links_and_fifos_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        std::fs::write(place("file"), "x").unwrap();
        symlink(place("file"), place("link")).unwrap();
        symlink("/dev/null", place("null")).unwrap();
        make_fifo(&place("fifo"));
        for name in ["file", "link", "null", "fifo"] {
            tried(&place(name), libc::O_RDONLY).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        let append = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT;
        for name in ["file", "link", "null", "new"] {
            tried(&place(name), append).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert!(place("new").exists());
        assert_eq!(tried(&place("fifo"), append).unwrap_err().raw_os_error(), Some(libc::ENXIO), "nobody reads it");
    }

    #[test]
    fn terminals_and_this_processs_own_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (_master, terminal) = terminal();
        let file = std::fs::File::open(dir.path()).unwrap();
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        let cases = [
            (terminal.as_str(), "it is a terminal"),
            ("/proc/self/maps", "it is a file of /proc"),
            ("/proc/self/exe", "of /proc to what a process has open"),
            (open.as_str(), "of /proc to what a process has open"),
        ];
        for (n, (target, why)) in cases.into_iter().enumerate() {
            let link = dir.path().join(n.to_string());
            symlink(target, &link).unwrap();
            let said = tried(&link, libc::O_RDONLY).unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("expected"), "{target}: {said}");
        }
    }

    #[test]
    fn the_beginning_of_regular_files_only_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, fifo) = (dir.path().join("file"), dir.path().join("fifo"));
        std::fs::write(&file, "x".repeat(1000)).unwrap();
        assert_eq!(beginning(&file, 256).unwrap(), b"x".repeat(256));
        make_fifo(&fifo);
        // It returns although nobody writes to it.
        assert_eq!(beginning(&fifo, 256), None);
        assert_eq!(beginning(Path::new("/dev/zero"), 256), None);
        assert_eq!(beginning(&dir.path().join("none"), 256), None);
    }
}
