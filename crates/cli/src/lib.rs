//! The command `tare` as a library: the program `tare` and the Python package are thin layers over it.
//!
//! - [`main`]: the whole command.
//! - [`api`]: measuring as `tare run` does, for other programs that show the result themselves.

/// Replaces the standard macro, which panics if standard error is full or closed: only the message is lost here, not
/// the exit code.
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

pub mod api;
mod args;
mod command_line;
mod compare;
mod completions;
mod cores;
mod documents;
mod exit;
mod files;
mod fit;
mod inc;
mod kbest;
#[cfg(feature = "postgres")]
mod lab;
mod machine;
mod man;
mod noise;
mod output;
mod own_program;
mod profile;
mod progress;
mod pushed;
mod replace;
mod run;
mod stored;
mod study;
mod trace;

use crate::command_line::{NotParsed, dispatch, parse};
use crate::exit::Exit;
use std::ffi::OsString;
use tarebench::sys::signals;

/// Runs the command; `arguments` begin with its name, as those of a process. Results are printed, errors too. Returns the exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    tarebench::store::end_waits_when(|| signals::pending().is_some());
    #[cfg(feature = "postgres")]
    tarebench::store::around_calls(signals::begin_call, signals::end_call);
    let ended = match parse(arguments) {
        Ok(cli) => dispatch(cli),
        Err(NotParsed::Failure(failure)) => Err(failure),
        Err(NotParsed::Clap(e)) => {
            // A reader that is gone misses only the text, as when clap ends the process itself.
            let _ = e.print();
            return u8::try_from(e.exit_code()).unwrap_or(Exit::Usage as u8);
        }
    };
    let (exit, failure) = match ended {
        Ok(exit) => (exit, None),
        Err(failure) => (failure.exit, Some(failure)),
    };
    if let Some(failure) = failure {
        output::error(&failure);
    }
    match output::check_written() {
        Ok(()) => exit as u8,
        Err(not_written) => {
            output::error(&not_written);
            not_written.exit as u8
        }
    }
}
