//! Runs of programs.

use crate::exit::{Exit, Failure};
use crate::kind::{DocumentPage, KindCommands, PageError, ResumeRequest, ShowRequest};
use crate::machine::tune::TuneAround;
use crate::output::foot;
use crate::progress::Display;
use crate::run::command::finish;
use crate::run::imported;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::run::report::duals::duals;
use tarebench::core::run::shown::ShownRun;
use tarebench::render::run::sheet::{self, DrawnSamples};
use tarebench::report::hints::Hints;
use tarebench::run::session;
use tarebench::run::session::StorePlace;
use tarebench::store::Store;
use tarebench::sys::clock;
use tarebench::sys::signals::Signals;

pub const COMMANDS: KindCommands =
    KindCommands { kind: DocumentKind::Run, show, page, resume: Some(resume), has_sigma: true, unfinished: None };

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let ShowRequest { sigma, exports, show } = how;
    let mut stored = session::load(store, id.number)?;
    if let Some(sigma) = *sigma {
        stored.run.plan.sigma = sigma;
    }
    let mut report = stored.report()?;
    show.compare(&mut report);
    show.report(&report, &stored.samples, exports)?;
    exports.write(&report, &stored.samples, &show.style)
}

fn page(store: &dyn Store, id: Id, hints: &Hints) -> Result<DocumentPage, PageError> {
    let stored = session::load(store, id.number)?;
    if stored.run.plan.programs.is_empty() {
        let text = format!("{} is a recording of the machine, without programs", id.phrase());
        return Err(Failure::usage(text).hint("`tare report --profile` shows what was learned from it").into());
    }
    let (report, shown) = (stored.report()?, ShownRun::read(&stored.run, &stored.samples)?);
    let found = duals(&stored.run, &shown);
    let drawn = DrawnSamples { shown: &shown, clusters: &found };
    Ok(sheet::run(&report, Some(drawn), hints, &clock::zone(), foot()).into_page().into())
}

fn resume(store: Box<dyn Store>, id: Id, how: &ResumeRequest<'_>) -> Result<Exit, Failure> {
    let ResumeRequest { trust, tuning, exports, show } = how;
    let stored = store.run(id.number)?;
    imported::check(session::imported_plan(&*store, id.number)?.into_iter().collect(), *trust, show)?;
    let mut display = Display::new(show);
    let mut place = StorePlace::Store(store);
    let signals = Signals::install().map_err(Failure::system)?;
    tuning.compare(&stored.notes);
    let tuned = tuning.begin(&signals)?;
    let measured = session::resume(id.number, &mut place, *trust, &signals, &mut |e| display.on(e));
    drop(display);
    let restored = TuneAround::end(tuned);
    signals.release();
    let exit = finish(&measured?, &place, show, exports)?;
    restored.map(|()| exit)
}
