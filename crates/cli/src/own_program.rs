//! The file of the command itself, for measurements that start it as a workload.

use crate::exit::Failure;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set where the process is another program that has loaded the command as a library.
static EMBEDDED: AtomicBool = AtomicBool::new(false);

/// From now on, measurements that start the command itself are refused: this process is another program.
pub fn set_embedded() {
    EMBEDDED.store(true, Ordering::Relaxed);
}

/// Whether this process is another program.
pub fn is_embedded() -> bool {
    EMBEDDED.load(Ordering::Relaxed)
}

/// Refuses measurements that start the command itself, if this process is another program.
///
/// # Errors
/// A usage error that names the way out.
pub fn check() -> Result<(), Failure> {
    if is_embedded() {
        let what = "this measurement starts tare's own program, and here tare runs inside of another program";
        return Err(Failure::usage(what).hint("use the command that `cargo install tarebench-cli` installs"));
    }
    Ok(())
}

/// Path of the command.
///
/// # Errors
/// As [`check`], and if the file cannot be found.
pub fn path() -> Result<PathBuf, Failure> {
    check()?;
    std::env::current_exe().map_err(Failure::system)
}
