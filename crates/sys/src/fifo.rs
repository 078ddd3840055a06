//! Opening a file that may be a FIFO: the other end may come late, or never, and a signal ends the wait.

use crate::signals::Signals;
use crate::{SysError, SysResult, clock};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use tarebench_core::base::units::Nanos;

/// How often it is tried to open a FIFO for writing: nothing tells when a reader comes (fifo(7)).
const EVERY: Nanos = Nanos::from_millis(10);

/// Opens a file as a shell's redirection does; the other end of a FIFO is waited for.
///
/// # Errors
/// The system's; EINTR if a signal asked tare to end meanwhile.
pub fn open(options: &mut OpenOptions, name: &[u8], signals: &Signals) -> SysResult<OwnedFd> {
    let path = Path::new(OsStr::from_bytes(name));
    let failed = |e| SysError::io(format!("open `{}`", path.display()), e);
    let interrupted = || failed(std::io::Error::from_raw_os_error(libc::EINTR));
    options.custom_flags(libc::O_NONBLOCK);
    let file = loop {
        match options.open(path) {
            // A FIFO that nobody reads.
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) && is_fifo(path) => {
                if signals.sleep_until(clock::monotonic() + EVERY).is_some() {
                    return Err(interrupted());
                }
            }
            opened => break opened.map_err(failed)?,
        }
    };
    // What was opened for reading has a writer once there is something to read, or one has come and gone.
    let reads = options_read(&file);
    if reads && file.metadata().is_ok_and(|m| m.file_type().is_fifo()) && !signals.wait_readable(&file) {
        return Err(interrupted());
    }
    // Only the opening must not wait.
    // SAFETY: a valid descriptor.
    let cleared = unsafe {
        let status = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        status >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, status & !libc::O_NONBLOCK) == 0
    };
    if cleared { Ok(file.into()) } else { Err(failed(std::io::Error::last_os_error())) }
}

fn is_fifo(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo())
}

/// Whether a file was opened for reading.
fn options_read(file: &File) -> bool {
    // SAFETY: a valid descriptor.
    let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    status >= 0 && status & libc::O_ACCMODE == libc::O_RDONLY
}
