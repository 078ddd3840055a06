//! The commands, a file each: its arguments and its function.

mod clocks;
mod completions;
mod doctor;
mod export;
mod inc;
mod list;
mod man;
mod noise;
mod noise_bsp;
mod profile;
mod report;
mod restore;
mod resume;
mod rm;
pub mod run;
mod self_check;
mod show;
mod study;
mod trace;
mod tune;
mod work;

use crate::exit::{Exit, Failure};
use clap::{Args, Parser, Subcommand};
use std::path::{Path, PathBuf};
use tarebench::core::document::{Id, Kind};
use tarebench::session::{Place, store_path};
use tarebench::store::{SqliteStore, Store, Stored};

/// Measures how long programs take, so that the figure can be trusted.
///
/// Gross time, less what the machine added (the tare: daemons, interrupts, hypervisor, waiting), is net time.
#[derive(Parser)]
#[command(name = "tare", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a program failed; 2 wrong usage; 3 the environment cannot do what was \
required; 4 the store or the system failed; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Inc(inc::IncArgs),
    Work(work::WorkArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
    Import(export::ImportArgs),
    Rm(rm::RmArgs),
    Resume(resume::ResumeArgs),
    Profile(Box<profile::ProfileArgs>),
    Report(report::ReportArgs),
    Clocks(clocks::ClocksArgs),
    Trace(trace::TraceArgs),
    Study(study::StudyArgs),
    Noise(Box<noise::NoiseArgs>),
    Doctor(doctor::DoctorArgs),
    Tune(tune::TuneArgs),
    Restore(restore::RestoreArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs the command that was asked for.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    if !matches!(
        cli.command,
        Command::Tune(_) | Command::Restore(_) | Command::Work(_) | Command::Completions(_) | Command::Man(_)
    ) {
        tune::warn_of_pending();
    }
    match cli.command {
        Command::Run(a) => run::run(*a),
        Command::Inc(a) => inc::inc(&a),
        Command::Work(a) => work::work(&a),
        Command::List(a) => list::list(&a),
        Command::Show(a) => show::show(&a),
        Command::Export(a) => export::export(&a),
        Command::Import(a) => export::import(&a),
        Command::Rm(a) => rm::rm(&a),
        Command::Resume(a) => resume::resume(&a),
        Command::Profile(a) => profile::profile(&a),
        Command::Report(a) => report::report(&a),
        Command::Clocks(a) => clocks::show(&a),
        Command::Trace(a) => trace::show(&a),
        Command::Study(a) => study::study(&a),
        Command::Noise(a) => noise::noise(&a),
        Command::Doctor(a) => doctor::doctor(&a),
        Command::Tune(a) => tune::tune(&a),
        Command::Restore(a) => restore::restore(&a),
        Command::Completions(a) => completions::completions(&a),
        Command::Man(a) => man::man(&a),
    }
}

/// Where runs are stored.
#[derive(Args)]
pub struct StoreArgs {
    /// Store of runs, or `none` to keep nothing [default: $XDG_DATA_HOME/tarebench/tare.db]
    #[arg(long, value_name = "FILE", env = "TARE_DB", global = true, help_heading = "Store")]
    db: Option<PathBuf>,
}

impl StoreArgs {
    /// The file that the user named, if any.
    pub fn named(&self) -> Option<&Path> {
        self.db.as_deref()
    }

    fn is_none(&self) -> bool {
        self.db.as_deref().is_some_and(|p| p.as_os_str() == "none")
    }

    /// Where the file is.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        if self.is_none() {
            let what = "there is no store to look into, as `none` was asked for (--db or TARE_DB)";
            return Err(Failure::usage(what).hint("name its file, or leave --db out and unset TARE_DB"));
        }
        Ok(store_path(self.db.as_deref())?)
    }

    /// To write to.
    pub fn place(&self) -> Result<Place, Failure> {
        if self.is_none() {
            return Ok(Place::Nowhere);
        }
        Ok(Place::Store(Box::new(self.writable()?)))
    }

    /// To write to, and it must be there.
    pub fn writable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open(&self.path()?)?)
    }

    /// To read from only.
    pub fn readable(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open_read_only(&self.path()?)?)
    }
}

/// Which run is meant.
#[derive(Args)]
pub struct RunId {
    /// Number of a run, `last`, or the first four or more digits of its uuid
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
}

impl RunId {
    /// Its number in the store.
    pub fn resolve(&self, store: &SqliteStore) -> Result<i64, Failure> {
        match store.find(&self.run)? {
            Stored::Run(id) => Ok(id),
            Stored::Document(id) => Err(no_run(id)),
        }
    }
}

/// A document where only a run will do.
pub fn no_run(id: Id) -> Failure {
    let text = format!("{id} is a {}, expected a run", id.kind.noun());
    let more =
        if id.kind == Kind::Study { format!(", `tare study resume {id}` goes on with it") } else { String::new() };
    Failure::usage(text).hint(format!("`tare show {id}` prints it{more}"))
}

/// Which run or other document is meant.
#[derive(Args)]
pub struct StoredId {
    /// Number of a run, `last`, or the first four or more digits of its uuid; or of benchmarks (`b1`), of a study (`s1`),
    /// of noise (`n1`)
    #[arg(value_name = "RUN", default_value = "last")]
    what: String,
}

impl StoredId {
    /// Its number in the store.
    pub fn resolve(&self, store: &SqliteStore) -> Result<Stored, Failure> {
        Ok(store.find(&self.what)?)
    }
}
