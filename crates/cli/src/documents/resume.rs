//! `tare resume`: go on with a run that was interrupted or killed.

use crate::args::exports::Exports;
use crate::args::store::{RunId, StoreArgs};
use crate::args::style::StyleArgs;
use crate::exit::{Exit, Failure};
use crate::machine::tune::TuneAround;
use crate::progress::Progress;
use crate::run::command::finish;
use clap::Args;
use tarebench::run::session;
use tarebench::run::session::Place;
use tarebench::store::Store;
use tarebench::sys::signals::Signals;

/// Go on with a run that was interrupted
///
/// Fresh warm-ups are made first, as the caches are cold again; what was measured before counts.
#[derive(Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    run: RunId,
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
    let show = args.style.show()?.with_store(args.store.named());
    let store = args.store.writable()?;
    let id = args.run.resolve(&store)?;
    let stored = store.run(id)?;
    let mut progress = Progress::new(&show, &stored.plan);
    let mut place = Place::Store(Box::new(store));
    let signals = Signals::install().map_err(Failure::system)?;
    args.tuning.compare(&stored.notes);
    let tuned = args.tuning.begin(&signals)?;
    let measured = session::resume(id, &mut place, &signals, &mut |run, e| progress.on(run, &e));
    drop(progress);
    let restored = TuneAround::end(tuned);
    let exit = finish(measured?, &show, &args.exports)?;
    restored.map(|()| exit)
}
