//! `tare resume`: resumes an interrupted or killed run, profile, study or gate.

use crate::args::exports::Exports;
use crate::args::store::{StoreArgs, StoredId};
use crate::args::style::StyleArgs;
use crate::documents::kinds::commands_of;
use crate::exit::{Exit, Failure};
use crate::kind::ResumeRequest;
use crate::machine::tune::TuneAround;
use crate::pushed::PushAtEnd;
use crate::run::imported;
use clap::Args;
use tarebench::core::documents::head::Id;

/// Resume an interrupted run, profile, study or gate
///
/// A resumed run starts with new warm-ups, since the caches are cold; the samples so far count. --tune and the exports
/// apply to runs; studies and gates accept --json only, a profile --tune only.
#[derive(Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    what: StoredId,
    /// Resume a run, profile or study that was imported: run the commands of its archive
    ///
    /// Without it, `tare resume` prints these commands and runs none of them.
    #[arg(long)]
    trust_imported: bool,
    #[command(flatten)]
    tuning: TuneAround,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named_file());
    let push = PushAtEnd::of(&args.store)?;
    let store = args.store.local()?;
    let id = args.what.resolve(&*store)?;
    let resume = commands_of(id.kind)?.resume.ok_or_else(|| not_resumable(id))?;
    let how = ResumeRequest {
        trust: imported::trust(args.trust_imported),
        tuning: &args.tuning,
        exports: &args.exports,
        show: &show,
    };
    let exit = resume(store, id, &how)?;
    push.end(exit, show.is_quiet())
}

fn not_resumable(id: Id) -> Failure {
    let text = format!("{id} is a {}, which cannot be resumed; runs, profiles, studies and gates can", id.kind.noun());
    Failure::usage(text).hint(format!("`tare show {id}` prints what was measured"))
}
