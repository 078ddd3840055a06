//! `tare lab task`: runs one task of a campaign's folder, as Slurm starts it.

use crate::commands::agent::exit_of;
use crate::commands::database::place;
use crate::commands::local::LocalMeasurer;
use crate::commands::news::task_line;
use crate::postgres::PostgresPlace;
use crate::work::folder::LabFolder;
use crate::work::slurm_task::{
    NodeStore, SlurmTaskEnd, SlurmTaskError, SlurmTaskPlace, node_exclusive, node_folder, node_name, run,
};
use crate::work::task::{BetweenSamples, LabWork, TaskEnd};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use tarebench::report::text::escape;
use tarebench::run::session::ImportTrust;
use tarebench::sys::signals::Signals;
use tarebench_cli::args::style::PlainStyleArgs;
use tarebench_cli::exit::{Exit, Failure};

/// Run one task of a campaign's folder, as Slurm starts it
///
/// Measures into a store on the node, then pushes; or leaves an archive in the folder, which `tare lab collect`
/// imports. SIGTERM ends the sample in progress and leaves an archive of what there is, from which the task is
/// resumed if it is started on this node again.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab task /shared/compressors 3 --push postgresql://node@db.example/lab
  tare lab task /shared/compressors 3

Exit codes: 0 success; 1 the task failed; 2 usage error; 4 the store or the system failed; 130 interrupted.")]
pub struct LabTaskArgs {
    /// The campaign's folder
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Number of the task in the folder, from 0
    #[arg(value_name = "N")]
    number: u32,
    /// Push to this lab; if it cannot be reached, leave an archive
    #[arg(long, value_name = "URL")]
    push: Option<OsString>,
    #[command(flatten)]
    style: PlainStyleArgs,
}

pub fn task(args: &LabTaskArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let folder = LabFolder::at(&args.folder)?;
    let file = folder.read_task(args.number)?;
    let lab = args.push.as_ref().map(place).transpose()?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // Before signals are blocked, which a command of Slurm would inherit.
    let exclusive = node_exclusive(&variable);
    let node = node_name(&variable);
    let mut store = NodeStore::make(node_folder(&variable, args.number))?;
    let signals = Signals::install().map_err(Failure::system)?;
    let mut measurer =
        // An interrupted attempt's archive is as trustworthy as the task's file beside it.
        LocalMeasurer { local: store.file(), trust: ImportTrust::Trust, style: show.progress_style.clone() };
    let mut measure =
        |work: LabWork<'_>, signals: &Signals, between: BetweenSamples<'_>| measurer.measure(work, signals, between);
    // Slurm starts a task that failed no more: that is done here.
    for attempt in 0..=file.plan.retries {
        let place = SlurmTaskPlace { folder: &folder, store: &mut store, lab: lab.as_ref(), node: &node, exclusive };
        let end = run(&file, place, &signals, &mut measure, &mut |news| {
            if !show.is_quiet() {
                eprintln!("tare: {}", task_line(&news));
            }
        })?;
        let again = matches!(end, SlurmTaskEnd::Task(TaskEnd::Failed(_))) && attempt < file.plan.retries;
        if !show.is_quiet() {
            eprintln!("tare: task {}: {}", args.number, escape(&said(&end, lab.as_ref())));
        }
        if !again {
            return Ok(exit(&end));
        }
    }
    Ok(Exit::ProgramFailed)
}

fn said(end: &SlurmTaskEnd, lab: Option<&PostgresPlace>) -> String {
    match end {
        SlurmTaskEnd::Task(end) => end.to_string(),
        SlurmTaskEnd::AlreadyDone => "it is done already".to_owned(),
        SlurmTaskEnd::Archived(path) => {
            let why = if lab.is_some() { "the lab was not reached, or did not take it" } else { "there is no --push" };
            format!("done: its archive is {}, as {why}; `tare lab collect` imports it", path.display())
        }
        SlurmTaskEnd::Interrupted(path) => format!("interrupted: what there is of it is in {}", path.display()),
    }
}

fn exit(end: &SlurmTaskEnd) -> Exit {
    match end {
        SlurmTaskEnd::Task(end) => exit_of(end),
        SlurmTaskEnd::AlreadyDone | SlurmTaskEnd::Archived(_) => Exit::Done,
        SlurmTaskEnd::Interrupted(_) => Exit::Interrupted,
    }
}

impl From<SlurmTaskError> for Failure {
    fn from(e: SlurmTaskError) -> Failure {
        match e {
            SlurmTaskError::Store(e) => e.into(),
            SlurmTaskError::Folder(e) => e.into(),
            SlurmTaskError::Local { .. } => {
                Failure::system(e).hint("set TMPDIR to a folder on the node that only you can write to")
            }
        }
    }
}
