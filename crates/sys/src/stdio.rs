//! Standard output as it was when the process was started.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process was started (`>&-` in a shell).
///
/// Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream, so that what is written there is lost
/// without an error; so the descriptor is checked before that.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Goes on as another program, which finds standard output as this one did. Returns only if it cannot be started.
pub fn go_on_as(command: &mut Command) -> std::io::Error {
    if stdout_was_closed() {
        // SAFETY: no memory involved.
        unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    command.exec()
}

extern "C" fn look() {
    // SAFETY: no memory involved.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the C library calls the functions of this section once, before `main`; `look` needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;
