//! `tare`: gross time, less what the machine added, is net time.

/// As the standard one, which panics when standard error is full or gone: only the message is lost, not the exit code.
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

mod args;
mod command_line;
mod completions;
mod documents;
mod exit;
mod inc;
mod kbest;
mod machine;
mod man;
mod noise;
mod output;
mod profile;
mod progress;
mod run;
mod stored;
mod study;
mod trace;

use crate::command_line::{Cli, dispatch};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(failure.exit as u8)
        }
    }
}
