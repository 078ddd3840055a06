//! Results of benchmarks.

use crate::exit::Failure;
use crate::kind::{DocumentPage, KindCommands, PageError, ShowRequest};
use crate::output::foot;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::kbest::report;
use tarebench::documents;
use tarebench::render::kbest::bench::ShownBench;
use tarebench::report::hints::Hints;
use tarebench::store::Store;
use tarebench::sys::clock;

pub const COMMANDS: KindCommands =
    KindCommands { kind: DocumentKind::Bench, show, page, resume: None, has_sigma: false, unfinished: None };

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let (head, bench) = documents::bench(store, id)?;
    let report = report::build(&bench);
    let shown = ShownBench { head: &head, bench: &bench, report: &report };
    how.show.bench(&shown, how.exports)?;
    how.exports.write_bench(&shown, &how.show.style)
}

fn page(store: &dyn Store, id: Id, _: &Hints) -> Result<DocumentPage, PageError> {
    let (head, bench) = documents::bench(store, id)?;
    let report = report::build(&bench);
    let shown = ShownBench { head: &head, bench: &bench, report: &report };
    Ok(tarebench::render::kbest::sheet::bench(&shown, &clock::zone(), foot()).into_page().into())
}
