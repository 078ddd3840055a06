//! The command `tare` as a library: the program `tare` and the Python package are thin layers over it.
//!
//! - [`process`] and [`main`]: the whole command, to which a larger program adds its own.
//! - [`api`]: measuring as `tare run` does, for other programs that show the result themselves.

/// Replaces the standard macro, which panics if standard error is full or closed: only the message is lost here, not
/// the exit code.
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

pub mod api;
pub mod args;
mod builds;
mod command_line;
mod compare;
mod completions;
mod cores;
pub mod documents;
pub mod elsewhere;
pub mod exit;
pub mod files;
mod fit;
pub mod inc;
mod kbest;
pub mod kind;
pub mod machine;
mod man;
mod noise;
pub mod output;
pub mod own_program;
pub mod profile;
pub mod progress;
pub mod pushed;
pub mod replace;
pub mod run;
pub mod stored;
mod trace;

use crate::command_line::{NotParsed, dispatch, parse};
use crate::elsewhere::Addition;
use crate::exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;
use tarebench::sys::signals;

/// As much as Linux gives by default.
const STACK_BYTES: usize = 8 << 20;

/// What a program does that is this command alone, or a larger one: calls `main` with the process's arguments, on a stack that suffices.
pub fn process(main: impl FnOnce(Vec<OsString>) -> u8) -> ExitCode {
    tarebench::sys::limits::prepare();
    let measure = || main(std::env::args_os().collect()).into();
    // On a stack of its own, as another thread would not be the one whose CPUs and signals are set.
    if tarebench::sys::limits::has_small_stack() { stacker::grow(STACK_BYTES, measure) } else { measure() }
}

/// Runs the command; `arguments` begin with its name, as those of a process. Results are printed, errors too. Returns the exit code.
/// A larger program adds commands of its own.
pub fn main(arguments: Vec<OsString>, added: &[Addition]) -> u8 {
    tarebench::store::end_waits_when(|| signals::pending().is_some());
    let ended = match parse(arguments, added) {
        Ok(parsed) => dispatch(parsed, added),
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
