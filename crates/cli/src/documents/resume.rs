//! `tare resume`: resumes an interrupted or killed run, profile, study or gate.

use crate::args::exports::Exports;
use crate::args::store::{StoreArgs, StoredId};
use crate::args::style::{Show, StyleArgs};
use crate::compare::gate;
use crate::elsewhere::studies;
use crate::exit::{Exit, Failure};
use crate::machine::tune::TuneAround;
use crate::profile;
use crate::progress::Display;
use crate::pushed::PushAtEnd;
use crate::run::command::finish;
use crate::run::imported;
use clap::Args;
use tarebench::core::documents::head::{DocumentKind, Id, Status};
use tarebench::documents::DocumentError;
use tarebench::run::session;
use tarebench::run::session::{ImportTrust, StorePlace};
use tarebench::store::Store;
use tarebench::sys::signals::Signals;

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

impl ResumeArgs {
    fn trust(&self) -> ImportTrust {
        imported::trust(self.trust_imported)
    }
}

pub fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named_file());
    let push = PushAtEnd::of(&args.store)?;
    let store = args.store.local()?;
    let exit = match args.what.resolve(&*store)? {
        Id { kind: DocumentKind::Run, number: id } => run(args, store, id, &show),
        id => document(args, store, id, &show),
    }?;
    push.end(exit, show.is_quiet())
}

fn document(args: &ResumeArgs, store: Box<dyn Store>, id: Id, show: &Show) -> Result<Exit, Failure> {
    match id.kind {
        DocumentKind::Profile => {
            if args.exports.json_only(id.kind)? {
                let hint = format!("`tare show {id} --json` prints it when it is finished");
                return Err(Failure::usage("--json cannot be used to resume a profile").hint(hint));
            }
            let head = store.document(id)?.head;
            if head.status == Status::Finished {
                return Err(DocumentError::Finished(id).into());
            }
            profile::learn::resume_named(head.title, store, args.trust(), &args.tuning, show)
        }
        DocumentKind::Study => {
            let json = args.exports.json_only(id.kind)?;
            (studies()?.resume)(store, id, args.trust(), args.tuning.machine(), json, show)
        }
        DocumentKind::Gate => gate::resume(store, id, args.exports.json_only(id.kind)?, show),
        DocumentKind::Noise | DocumentKind::Bench | DocumentKind::Run | DocumentKind::Comparison => {
            Err(not_resumable(id))
        }
    }
}

fn not_resumable(id: Id) -> Failure {
    let text = format!("{id} is a {}, which cannot be resumed; runs, profiles, studies and gates can", id.kind.noun());
    Failure::usage(text).hint(format!("`tare show {id}` prints what was measured"))
}

fn run(args: &ResumeArgs, store: Box<dyn Store>, id: i64, show: &Show) -> Result<Exit, Failure> {
    let stored = store.run(id)?;
    imported::check(session::imported_plan(&*store, id)?.into_iter().collect(), args.trust(), show)?;
    let mut display = Display::new(show);
    let mut place = StorePlace::Store(store);
    let signals = Signals::install().map_err(Failure::system)?;
    args.tuning.compare(&stored.notes);
    let tuned = args.tuning.begin(&signals)?;
    let measured = session::resume(id, &mut place, args.trust(), &signals, &mut |e| display.on(e));
    drop(display);
    let restored = TuneAround::end(tuned);
    signals.release();
    let exit = finish(&measured?, &place, show, &args.exports)?;
    restored.map(|()| exit)
}
