//! Errors of system calls: what was tried, on what, and what the system said.

use std::io;
use tarebench_core::base::reading::Absent;

/// A system call or a kernel file that failed.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    #[error("{what}: {cause}")]
    Call {
        /// What was tried, with its object.
        what: String,
        #[source]
        cause: io::Error,
    },
    /// A kernel file or message does not have the expected form.
    #[error("{what}: expected {expected}, found {found:?}")]
    Format {
        /// Which file or message.
        what: String,
        /// What was expected there.
        expected: &'static str,
        /// The beginning of what was found.
        found: String,
    },
}

/// Result of a system call.
pub type SysResult<T> = Result<T, SysError>;

impl SysError {
    /// From `errno`, right after a call.
    pub fn last(what: impl Into<String>) -> SysError {
        SysError::Call { what: what.into(), cause: io::Error::last_os_error() }
    }

    /// From an I/O error.
    pub fn io(what: impl Into<String>, cause: io::Error) -> SysError {
        SysError::Call { what: what.into(), cause }
    }

    /// From bytes that do not have the expected form.
    pub fn format(what: impl Into<String>, expected: &'static str, found: &[u8]) -> SysError {
        let head = &found[..found.len().min(80)];
        SysError::Format { what: what.into(), expected, found: String::from_utf8_lossy(head).into_owned() }
    }

    /// The error number, if the system gave one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            SysError::Call { cause, .. } => cause.raw_os_error(),
            SysError::Format { .. } => None,
        }
    }

    /// As the reason why a reading is absent; `needs` names the privilege that would help.
    pub fn absent(&self, needs: &str) -> Absent {
        match self.errno() {
            Some(libc::EPERM | libc::EACCES | libc::EROFS) => Absent::NoPermission(needs.to_owned()),
            Some(libc::ENOSYS | libc::ENODEV | libc::EOPNOTSUPP) => Absent::NotSupported(self.to_string()),
            _ => Absent::Failed(self.to_string()),
        }
    }
}
