//! The parts of `tare` that larger programs have: `tare-papers` the studies, `tare-lab` these, the lab and stores on PostgreSQL servers.
//!
//! `tare` starts them in its own place for whatever needs them, as git does with its commands. What they add to the commands that
//! all have is in [`add_kind`](crate::documents::kinds::add_kind), [`PaperValues`], and the store's [`with_servers`](tarebench::store::with_servers).

use crate::exit::{Exit, Failure};
use crate::own_program;
use clap::{ArgMatches, Args};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tarebench::report::style::Style;
use tarebench::report::table::Table;
use tarebench::report::web::page::Page;
use tarebench::store::{has_servers, is_server};
use tarebench::sys::spawn::resolve;
use tarebench::sys::stdio::go_on_as;

/// A larger program, which has what is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Larger {
    /// `tare-papers`.
    Papers,
    /// `tare-lab`.
    Lab,
}

/// The options that may name a server.
const STORES: [&str; 4] = ["db", "push", "to", "from"];
/// The commands whose output names all others.
const OF_ALL: [&str; 2] = ["completions", "man"];

/// A command that a larger program has; it takes the place of the one of the same name here.
#[derive(Clone, Copy)]
pub struct Addition {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub command: fn() -> clap::Command,
    /// Runs it.
    pub run: fn(&ArgMatches) -> Result<Exit, Failure>,
}

/// What the commands of all programs do with the values that papers printed.
#[derive(Clone, Copy)]
pub struct PaperValues {
    /// The papers' counterparts of a command's tables.
    pub published: fn(&str) -> Vec<Table>,
    /// The same, as they are printed.
    pub published_text: fn(&[Table], &Style) -> String,
    /// Adds the papers' curves to the figures of a command's page.
    pub published_curves: fn(&str, &mut Page),
}

static PAPER_VALUES: OnceLock<PaperValues> = OnceLock::new();

/// Has the commands of this process know the papers' values, from now on. The first call counts.
pub fn with_paper_values(values: PaperValues) {
    let _ = PAPER_VALUES.set(values);
}

/// The papers' values. Goes on as the program that knows them, if this one does not.
///
/// # Errors
/// That program is missing, or cannot be started.
pub fn paper_values() -> Result<&'static PaperValues, Failure> {
    PAPER_VALUES.get().ok_or_else(needed_for_studies)
}

/// Goes on as the program that knows studies; returns why it cannot.
pub fn needed_for_studies() -> Failure {
    match own_program::is_embedded() {
        true => Larger::Papers.missing(),
        false => Larger::Papers.go_on(&std::env::args_os().collect::<Vec<_>>()),
    }
}

/// The arguments of a command that only a larger program has: it reads them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct ElsewhereArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Goes on as a larger program if these arguments need it, or tell of all commands. Returns only if they do not.
///
/// # Errors
/// The program is needed and cannot be started.
pub fn go_on(arguments: &[OsString], matches: &ArgMatches, added: &[Addition]) -> Result<(), Failure> {
    let here = |name: &str| added.iter().any(|a| a.name == name);
    let name = matches.subcommand_name().unwrap_or_default();
    let needed = match name {
        "lab" if !here(name) => Larger::Lab,
        _ if !has_servers() && names_a_server(matches) => Larger::Lab,
        "study" if !here(name) => Larger::Papers,
        _ if OF_ALL.contains(&name) => return told_by_the_largest(arguments, here("lab"), here("study")),
        _ => return Ok(()),
    };
    Err(needed.go_on(arguments))
}

/// Goes on as a larger program if these arguments ask for the help of a command that it has, `tare help lab`.
///
/// # Errors
/// The program cannot be started, or is missing.
pub fn help(arguments: &[OsString], added: &[Addition]) -> Result<(), Failure> {
    let [_, help, name, ..] = arguments else { return Ok(()) };
    if help != "help" || added.iter().any(|a| name == a.name) {
        return Ok(());
    }
    match name.to_str() {
        Some("lab") => Err(Larger::Lab.go_on(arguments)),
        Some("study") => Err(Larger::Papers.go_on(arguments)),
        _ => Ok(()),
    }
}

/// The program with most commands tells of them; if there is none but this one, it does.
fn told_by_the_largest(arguments: &[OsString], has_lab: bool, has_studies: bool) -> Result<(), Failure> {
    let larger = [(Larger::Lab, has_lab), (Larger::Papers, has_studies || has_lab)];
    match larger.into_iter().find(|(program, here)| !here && program.file().is_some()) {
        Some((program, _)) => Err(program.go_on(arguments)),
        None => Ok(()),
    }
}

impl Larger {
    fn name(self) -> &'static str {
        match self {
            Larger::Papers => "tare-papers",
            Larger::Lab => "tare-lab",
        }
    }

    /// Goes on as this program; returns why it cannot.
    fn go_on(self, arguments: &[OsString]) -> Failure {
        // The program of the lab has the studies, too.
        let file = self.file().or_else(|| Larger::Lab.file());
        let Some(file) = file else { return self.missing() };
        let e = go_on_as(Command::new(&file).args(arguments.iter().skip(1)));
        Failure::system(format!("cannot start {}: {e}", file.display()))
    }

    fn missing(self) -> Failure {
        let (what, package) = match self {
            Larger::Papers => ("studies, and the values that papers printed,", "tarebench-papers"),
            Larger::Lab => ("`tare lab` and stores on a PostgreSQL server", "tarebench-lab"),
        };
        let text = format!("{what} need the program {}, which is neither beside tare nor on PATH", self.name());
        Failure::usage(text).hint(format!("install it with: `cargo install {package}`"))
    }

    /// The file beside this program's, or the first one on PATH.
    fn file(self) -> Option<PathBuf> {
        let beside = std::env::current_exe().ok().map(|own| own.with_file_name(self.name()));
        beside.filter(|file| file.is_file()).or_else(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            resolve(self.name().as_bytes(), path.as_bytes(), Path::new(".")).ok()
        })
    }
}

fn names_a_server(matches: &ArgMatches) -> bool {
    let named = |option: &str| match matches.try_get_raw(option) {
        Ok(Some(mut values)) => values.any(is_server),
        // Not an option of this command.
        _ => false,
    };
    STORES.into_iter().any(named) || matches.subcommand().is_some_and(|(_, inner)| names_a_server(inner))
}
