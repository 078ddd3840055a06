//! Output: reports, exports, errors.

use crate::exit::{Exit, Failure};
use std::borrow::Cow;
use std::io;
use std::io::{BufWriter, ErrorKind, Write};
use std::sync::OnceLock;
use tarebench::core::base::units::Nanos;

/// The first error of writing to standard output.
static NOT_WRITTEN: OnceLock<String> = OnceLock::new();

/// Writes to standard output. A reader that has ended (`tare show | head`) is not an error; another error is kept for
/// [`check_written`], so that measuring and storing continue.
pub fn print(text: &str) {
    print_pieces(|out| out.write_all(text.as_bytes()));
}

/// As [`print()`], for what is written piece by piece.
pub fn print_pieces(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    if let Err(e) = check_open() {
        let _ = NOT_WRITTEN.set(e.message);
        return;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match content(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            let _ = NOT_WRITTEN.set(format!("write to standard output: {e}"));
        }
        _ => {}
    }
}

/// Checks that all output could be written.
///
/// # Errors
/// Exit code 4, with the system's message.
pub fn check_written() -> Result<(), Failure> {
    match NOT_WRITTEN.get() {
        None => Ok(()),
        Some(message) => Err(Failure { exit: Exit::System, message: message.clone(), hint: None }),
    }
}

/// Refuses a standard output that was closed from the start, because output to it is lost without an error.
pub fn check_open() -> Result<(), Failure> {
    if tarebench::sys::stdio::stdout_was_closed() {
        return Err(Failure::system("write to standard output: it is closed"));
    }
    Ok(())
}

/// A command in a message: its beginning and its end, if it is long.
pub fn short(text: &str) -> Cow<'_, str> {
    const COLUMNS: usize = 60;
    tarebench::report::text::cut_middle(text, COLUMNS, "…")
}

/// Prints a failure: one sentence, and its hint.
pub fn error(failure: &Failure) {
    let clean = |text: &str| tarebench::report::text::escape(text).into_owned();
    eprintln!("tare: {}", clean(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("      {}", clean(hint));
    }
}

/// A name and the option of the store as the end of a suggested command: the name is one word for the shell, and no option for tare.
pub fn named(name: &str, db_option: &str) -> String {
    let word = shell_words::quote(&tarebench::report::text::escape(name)).into_owned();
    if name.starts_with('-') { format!("{db_option} -- {word}") } else { format!(" {word}{db_option}") }
}

/// A time since 1970 as a date in the machine's time zone.
pub fn local_time(t: Nanos) -> String {
    tarebench::sys::clock::local_time(t)
}

/// Version and time, for the foot of a page.
pub fn foot() -> String {
    format!("tare {}, report of {}", tarebench::VERSION, local_time(tarebench::sys::clock::realtime()))
}
