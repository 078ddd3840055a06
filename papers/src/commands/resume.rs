//! Resuming a stored study of either kind.

use crate::commands::cells;
use crate::commands::samples;
use crate::commands::samples::StudyResume;
use crate::commands::stored::{StudyChoice, StudyOutput, failure};
use crate::measure::stored::has_samples;
use clap::Args;
use tarebench::core::documents::head::Id;
use tarebench::store::Store;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::machine::tune::MachineArgs;
use tarebench_cli::pushed::PushAtEnd;
use tarebench_cli::run::imported;

/// Selects a study to resume.
#[derive(Args)]
pub struct StudyResumeArgs {
    #[command(flatten)]
    what: StudyChoice,
    /// Resume a study that was imported: run the commands of its archive
    ///
    /// Without it, `tare study resume` prints these commands and runs none of them.
    #[arg(long)]
    trust_imported: bool,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    output: StudyOutput,
}

pub fn resume(args: &StudyResumeArgs) -> Result<Exit, Failure> {
    let show = args.output.show_measured()?;
    let push = PushAtEnd::of(&args.output.store)?;
    let store = args.output.store.local()?;
    let id = args.what.resolve(&*store)?;
    let how = StudyResume {
        trust: imported::trust(args.trust_imported),
        machine: &args.machine,
        files: &args.output.files,
        show: &show,
    };
    let exit = resume_stored(store, id, &how)?;
    push.end(exit, show.is_quiet())
}

/// Resumes a stored study.
pub fn resume_stored(store: Box<dyn Store>, id: Id, how: &StudyResume<'_>) -> Result<Exit, Failure> {
    match has_samples(&*store, id).map_err(failure)? {
        true => samples::resume(store, id, how),
        false => cells::resume(store, id, how.files, how.show),
    }
}
