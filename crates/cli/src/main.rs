//! `tare`: measures how long programs take; net time is gross time minus what the machine added.

/// Replaces the standard macro, which panics if standard error is full or closed: only the message is lost here, not
/// the exit code.
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

mod args;
mod command_line;
mod compare;
mod completions;
mod documents;
mod exit;
mod fit;
mod inc;
mod kbest;
mod machine;
mod man;
mod noise;
mod output;
mod profile;
mod progress;
mod replace;
mod run;
mod stored;
mod study;
mod trace;

use crate::command_line::{dispatch, parse};
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = parse(std::env::args_os().collect()).and_then(dispatch);
    let (exit, failure) = match ended {
        Ok(exit) => (exit, None),
        Err(failure) => (failure.exit, Some(failure)),
    };
    if let Some(failure) = failure {
        output::error(&failure);
    }
    match output::check_written() {
        Ok(()) => ExitCode::from(exit as u8),
        Err(not_written) => {
            output::error(&not_written);
            ExitCode::from(not_written.exit as u8)
        }
    }
}
