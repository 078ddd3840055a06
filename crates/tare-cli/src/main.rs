//! `tare`: gross time, less what the machine added, is net time.

/// As the standard one, which panics when standard error is full or gone: only the message is lost, not the exit code.
macro_rules! eprintln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

mod commands;
mod exit;
mod output;
mod plan;
mod progress;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = commands::Cli::parse();
    match commands::dispatch(cli) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(failure.exit as u8)
        }
    }
}
