//! What the user sees: style of the terminal, reports, exports, errors.

use crate::exit::Failure;
use std::io::Write;
use tarebench::core::base::units::Nanos;

/// Writes to standard output. A reader that has gone away (`tare show | head`) is no error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a failure: one sentence, and what to do.
pub fn error(failure: &Failure) {
    let clean = |text: &str| tarebench::render::kit::text::shown(text).into_owned();
    eprintln!("tare: {}", clean(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("      {}", clean(hint));
    }
}

/// A time since 1970 as a date in the machine's time zone.
pub fn local_time(t: Nanos) -> String {
    tarebench::sys::clock::local_time(t)
}

/// Version and time, for the foot of a page.
pub fn foot() -> String {
    format!("tare {}, report of {}", tarebench::VERSION, local_time(tarebench::sys::clock::realtime()))
}
