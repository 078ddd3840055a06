//! The page of a stored result of any kind.

use crate::elsewhere::studies;
use crate::exit::Failure;
use crate::output::foot;
use std::path::Path;
use tarebench::compare::gate::GateError;
use tarebench::core::compare::{gate_rule, stored_report};
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::profile::data::Profile;
use tarebench::core::run::report::duals::duals;
use tarebench::core::run::shown::ShownRun;
use tarebench::documents;
use tarebench::documents::DocumentError;
use tarebench::render::compare::{gate, stored};
use tarebench::render::kbest::bench::ShownBench;
use tarebench::render::kit::hints::Hints;
use tarebench::render::kit::web::page::Page;
use tarebench::run::session;
use tarebench::store::{Store, StoreError};
use tarebench::sys::clock;

/// What has no page. `tare report` and `tare lab serve` have errors of their own.
pub trait PageError: From<StoreError> + From<DocumentError> + From<GateError> + From<Failure> {}

impl<E: From<StoreError> + From<DocumentError> + From<GateError> + From<Failure>> PageError for E {}

/// The page of a run, a profile or another document.
pub fn page<E: PageError>(store: &dyn Store, what: Id, hints: &Hints) -> Result<Page, E> {
    match what {
        Id { kind: DocumentKind::Run, number: id } => of_run(store, id, hints),
        id => of_document(store, id, hints),
    }
}

fn of_document<E: PageError>(store: &dyn Store, id: Id, hints: &Hints) -> Result<Page, E> {
    let (zone, foot) = (clock::zone(), foot());
    Ok(match id.kind {
        // A run is not stored as a document.
        DocumentKind::Run => return of_run(store, id.number, hints),
        DocumentKind::Study => (studies()?.page)(store, id)?.0,
        DocumentKind::Bench => {
            let (head, bench) = documents::bench(store, id)?;
            let report = tarebench::core::kbest::report::build(&bench);
            let shown = ShownBench { head: &head, bench: &bench, report: &report };
            tarebench::render::kbest::page::bench(&shown, &zone, foot)
        }
        DocumentKind::Comparison => {
            let (head, found) = tarebench::compare::stored::load(store, id)?;
            stored::page::comparison(&head, &found, &stored_report::report(&found), &zone, foot)
        }
        DocumentKind::Gate => {
            let (head, found) = tarebench::compare::gate::load(store, id)?;
            gate::page::gate(&head, &found, &gate_rule::report(&found), &zone, foot)
        }
        DocumentKind::Noise => {
            let (head, found) = tarebench::noise::measure::load(store, id)?;
            let grains = tarebench::noise::measure::reported(&found, &[]);
            tarebench::render::noise::page::noise(&head, &found, &grains, &zone, foot)
        }
        DocumentKind::Profile => of_profile(&crate::profile::result::stored(store, id)?, hints)?,
    })
}

fn of_run<E: PageError>(store: &dyn Store, id: i64, hints: &Hints) -> Result<Page, E> {
    let stored = session::load(store, id)?;
    if stored.run.plan.programs.is_empty() {
        let text = format!("run {id} is a recording of the machine, without programs");
        return Err(Failure::usage(text).hint("`tare report --profile` shows what was learned from it").into());
    }
    let (report, shown) = (stored.report()?, ShownRun::read(&stored.run, &stored.samples)?);
    let found = duals(&stored.run, &shown);
    Ok(tarebench::render::run::page::run(&report, &shown, &found, hints, &clock::zone(), foot()))
}

/// The page of a profile.
pub fn of_profile(profile: &Profile, hints: &Hints) -> Result<Page, Failure> {
    let learned = tarebench::profile::learned(profile)?;
    let host = tarebench::host::host::describe(Path::new("/"));
    let doubts = match profile.machine == host.machine {
        true => profile.doubts(clock::realtime(), &host.machine, &host.kernel, host.cpus),
        // Doubts are about measuring with the profile; on another machine it is only read.
        false => Vec::new(),
    };
    Ok(tarebench::render::profile::page::profile(profile, &learned, &doubts, hints, &clock::zone(), foot()))
}
