//! What other programs use of the command: the Python package.

use crate::args::hints;
use crate::args::style::db_option;
use crate::command_line::parse_run;
use crate::machine::tune::warn_of_pending;
use crate::own_program;
use crate::run::command::{Caller, timed_for};
use std::ffi::OsString;
use std::path::Path;
use tarebench::report::hints::Hints;

pub use crate::exit::{Exit, Failure};
pub use crate::run::command::Timed;

/// Measures as `tare run` does: `arguments` are the words after `run`. The samples are stored as they are taken; the result is not
/// printed. With `show_progress`, progress is drawn on standard error, and what the command says beside its result is written there.
///
/// The calling thread handles SIGINT, SIGTERM, SIGHUP and SIGQUIT while it measures: the first ends the run after what was
/// measured is stored ([`tarebench::run::session::StopReason::Interrupted`]). Handlers, the thread's signal mask and the process's
/// place as a child subreaper stay as the measurement left them: the caller restores them. Children of this process that end meanwhile
/// are reaped with the programs' own orphans.
///
/// # Errors
/// What prevents the first sample, with the command's sentence, hint and exit code; options that print or write the result.
pub fn run(arguments: Vec<OsString>, show_progress: bool) -> Result<Timed, Failure> {
    let args = parse_run(arguments)?;
    if args.self_check.is_some() {
        return Err(Failure::usage("--self-check measures tare, not programs: use the command `tare run`"));
    }
    if args.exports.any() {
        let what = "--json and --export-… write files: here the result is returned";
        return Err(Failure::usage(what).hint("use what the result offers, or `tare show` with the run's number"));
    }
    if args.push.is_some() || args.store.server().is_some() {
        let what = "--push, and --db with a server, push the run: here it is stored in a file";
        return Err(Failure::usage(what).hint("copy it with `tare push RUN --to URL`"));
    }
    if show_progress {
        warn_of_pending();
    }
    timed_for(&args, Caller::Library { show_progress })
}

/// The words of hints in remarks, which name the options of the command; `store` is named in them if it is not the default one.
pub fn hints(store: Option<&Path>) -> Hints {
    hints::hints(&db_option(store))
}

/// Declares that this process is another program, whose file is not the command: measurements that start the command itself as a
/// workload are refused from now on.
pub fn set_embedded() {
    own_program::set_embedded();
}
