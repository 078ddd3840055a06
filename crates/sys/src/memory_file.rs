//! Files that only this process has.

use crate::{SysError, SysResult};
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// An anonymous file in memory, closed on exec; where a filter refuses those, one without a name in the folder of temporary files.
pub fn memory_file() -> SysResult<File> {
    // SAFETY: a valid name; the new descriptor is ours.
    unsafe {
        let fd = libc::memfd_create(c"tare".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            let refused = SysError::last("make a file in memory");
            let mut nameless = File::options();
            nameless.read(true).write(true).custom_flags(libc::O_TMPFILE);
            return nameless.open(std::env::temp_dir()).map_err(|_| refused);
        }
        Ok(File::from_raw_fd(fd))
    }
}
