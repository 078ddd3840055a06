//! Comparisons of stored runs.

use crate::compare::compare_command::present;
use crate::exit::Failure;
use crate::kind::{DocumentPage, KindCommands, PageError, ShowRequest};
use crate::output::foot;
use tarebench::compare::stored::load;
use tarebench::core::compare::stored_report::report;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::render::compare::stored;
use tarebench::report::hints::Hints;
use tarebench::store::Store;
use tarebench::sys::clock;

pub const COMMANDS: KindCommands =
    KindCommands { kind: DocumentKind::Comparison, show, page, resume: None, has_sigma: false, unfinished: None };

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let (head, mut comparison) = load(store, id)?;
    comparison.plan.measure = how.show.compared_by().or(comparison.plan.measure);
    present(&head, &comparison, how.exports, how.show)
}

fn page(store: &dyn Store, id: Id, _: &Hints) -> Result<DocumentPage, PageError> {
    let (head, comparison) = load(store, id)?;
    Ok(stored::sheet::comparison(&head, &comparison, &report(&comparison), &clock::zone(), foot()).into_page().into())
}
