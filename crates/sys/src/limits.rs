//! Limits that would be in tare's own way. The programs that it starts get the ones that it was started with.

use std::sync::OnceLock;

/// The limit of open files that this process was started with, if it was raised.
static OPEN_FILES: OnceLock<libc::rlimit> = OnceLock::new();

/// As many descriptors as tare may need at a time: most are those of its kernel programs.
const NEEDED: libc::rlim_t = 1024;

/// A stack that is smaller than this, bytes, may not suffice for tare.
const STACK: libc::rlim_t = 1 << 20;

extern "C" fn ignored(_: libc::c_int) {}

/// Raises the limit of open files as far as tare needs it, and lets writes beyond the limit of a file's size fail, rather than end this
/// process. What is not allowed stays as it is. To be called before anything else.
pub fn prepare() {
    // SAFETY: all-zero is valid for both structures; the calls read and write them. A handler, unlike SIG_IGN, is not inherited by
    // programs.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignored as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 || limit.rlim_cur >= NEEDED {
            return;
        }
        let all = libc::rlimit { rlim_cur: NEEDED, rlim_max: limit.rlim_max.max(NEEDED) };
        let allowed = libc::rlimit { rlim_cur: NEEDED.min(limit.rlim_max), rlim_max: limit.rlim_max };
        // The hard limit is root's to raise.
        if [all, allowed].iter().any(|l| libc::setrlimit(libc::RLIMIT_NOFILE, l) == 0) {
            let _ = OPEN_FILES.set(limit);
        }
    }
}

/// The limit that a program is to get instead of this process's.
pub(crate) fn open_files_before() -> Option<&'static libc::rlimit> {
    OPEN_FILES.get()
}

/// The limit of open files now.
pub fn open_files() -> u64 {
    // SAFETY: all-zero is a valid rlimit, which the call writes to.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur
    }
}

/// Whether this process's stack may be too small for it.
pub fn has_small_stack() -> bool {
    // SAFETY: all-zero is a valid rlimit, which the call writes to.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0 && limit.rlim_cur < STACK
    }
}
