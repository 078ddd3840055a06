//! The part of `tare` that a larger program has: `tare-lab`, with the lab and stores on PostgreSQL servers.
//!
//! `tare` starts it in its own place for whatever needs it, as git does with its commands.

use crate::exit::{Exit, Failure};
use clap::{ArgMatches, Args};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tarebench::store::is_server;
use tarebench::sys::spawn::resolve;
use tarebench::sys::stdio::go_on_as;

/// The program.
const PROGRAM: &str = "tare-lab";
/// The options that may name a server.
const STORES: [&str; 4] = ["db", "push", "to", "from"];
/// The commands whose output names all others.
const OF_ALL: [&str; 2] = ["completions", "man"];

/// A command that a larger program has; it takes the place of the one of the same name here.
#[derive(Clone, Copy)]
pub struct Addition {
    /// Its arguments.
    pub command: fn() -> clap::Command,
    /// Runs it.
    pub run: fn(&ArgMatches) -> Result<Exit, Failure>,
}

/// The arguments of a command that only the larger program has: it reads them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct ElsewhereArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Goes on as the larger program if these arguments need it, or tell of it. Returns only if they do not.
///
/// # Errors
/// The program is needed and cannot be started.
pub fn go_on(arguments: &[OsString], matches: &ArgMatches) -> Result<(), Failure> {
    let tells_of_it = matches.subcommand_name().is_some_and(|name| OF_ALL.contains(&name));
    if !tells_of_it && matches.subcommand_name() != Some("lab") && !names_a_server(matches) {
        return Ok(());
    }
    match file() {
        Some(file) => {
            let e = go_on_as(Command::new(&file).args(arguments.iter().skip(1)));
            Err(Failure::system(format!("cannot start {}: {e}", file.display())))
        }
        None if tells_of_it => Ok(()),
        None => Err(not_here()),
    }
}

/// That the larger program is missing.
pub fn not_here() -> Failure {
    let what = "`tare lab` and stores on a PostgreSQL server need the program tare-lab, which is neither beside tare nor on PATH";
    Failure::usage(what).hint("install it with: `cargo install tarebench-lab`; --db FILE selects a file")
}

fn names_a_server(matches: &ArgMatches) -> bool {
    let named = |option: &str| match matches.try_get_raw(option) {
        Ok(Some(mut values)) => values.any(is_server),
        // Not an option of this command.
        _ => false,
    };
    STORES.into_iter().any(named) || matches.subcommand().is_some_and(|(_, inner)| names_a_server(inner))
}

/// The file beside this program's, or the first one on PATH.
fn file() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|file| file.is_file());
    beside.or_else(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        resolve(PROGRAM.as_bytes(), path.as_bytes(), Path::new(".")).ok()
    })
}
