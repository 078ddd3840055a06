//! This binary as another process.

use crate::backends::open;
use crate::data;
use crate::learned;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tarebench_store::SqliteStore;

const DATABASE: &str = "TARE_STORE_TEST_DATABASE";
const ARGUMENTS: &str = "TARE_STORE_TEST_ARGUMENTS";

/// A command that does what the test `name` does as a child, on this database.
pub fn child(name: &str, database: &(impl AsRef<OsStr> + ?Sized), arguments: &[u64]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_child(&mut command, name, database.as_ref(), arguments);
    command
}

/// The same after a wrapper such as `unshare --mount`, which starts `exe`.
pub fn wrapped(wrapper: &[&str], exe: &Path, name: &str, database: &Path) -> Command {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(exe);
    as_child(&mut command, name, database.as_os_str(), &[]);
    command
}

fn as_child(command: &mut Command, name: &str, database: &OsStr, arguments: &[u64]) {
    let words: Vec<String> = arguments.iter().map(u64::to_string).collect();
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(DATABASE, database)
        .env(ARGUMENTS, words.join(" "))
        .stdin(Stdio::null());
}

/// What [`child`] was given; `None` in the test run itself.
pub fn asked() -> Option<(PathBuf, Vec<u64>)> {
    let (name, arguments) = asked_by_name()?;
    Some((name.into(), arguments))
}

/// The same where it may be a server's database.
pub fn asked_by_name() -> Option<(OsString, Vec<u64>)> {
    let database = std::env::var_os(DATABASE)?;
    let arguments = std::env::var(ARGUMENTS).unwrap();
    Some((database, arguments.split_whitespace().map(|w| w.parse().unwrap()).collect()))
}

/// Arguments: the run's uuid as a number, how many samples, daemons in each. Says `added SEQ` after each.
#[test]
fn child_adds_samples() {
    let Some((database, arguments)) = asked_by_name() else {
        return;
    };
    let &[uuid, samples, daemons] = arguments.as_slice() else { panic!("{arguments:?}") };
    let mut store = open(&database).unwrap();
    let id = store.begin_run(&data::run(uuid.into())).unwrap();
    for seq in 0..samples as u32 {
        store.add_sample(id, &data::sample(seq, daemons as usize)).unwrap();
        // Not println: what it writes to may be a buffer of the test harness.
        writeln!(std::io::stdout(), "added {seq}").unwrap();
    }
}

/// Opens the database and closes it.
#[test]
fn child_opens_and_closes() {
    let Some((database, _)) = asked() else { return };
    drop(SqliteStore::open(&database).unwrap());
}

/// Adds to the levels of a machine. Arguments: the first history, how many.
#[test]
fn child_learns() {
    let Some((database, arguments)) = asked_by_name() else { return };
    let &[first, count] = arguments.as_slice() else { panic!("{arguments:?}") };
    let mut store = open(&database).unwrap();
    for n in first..first + count {
        store.merge_level_history(&learned::key("m", "f"), &learned::history(n as u32)).unwrap();
    }
}
