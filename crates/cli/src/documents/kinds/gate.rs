//! Gates.

use crate::compare::gate;
use crate::exit::{Exit, Failure};
use crate::kind::{DocumentPage, KindCommands, PageError, ResumeRequest, ShowRequest};
use crate::output::{foot, print};
use tarebench::compare::gate::load;
use tarebench::core::compare::gate_rule::report;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::render::compare::gate::json::json;
use tarebench::render::compare::gate::sheet;
use tarebench::report::hints::Hints;
use tarebench::report::terminal::sheet_text;
use tarebench::store::Store;
use tarebench::sys::clock;

pub const COMMANDS: KindCommands = KindCommands {
    kind: DocumentKind::Gate,
    show,
    page: stored_page,
    resume: Some(resume),
    has_sigma: false,
    unfinished: None,
};

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let ShowRequest { exports, show, .. } = how;
    exports.check_kind(id.kind)?;
    let (head, gate) = load(store, id)?;
    let report = report(&gate);
    if exports.json {
        print(&json(&head, &gate, &report).map_err(Failure::system)?);
    } else if !show.is_quiet() && !exports.to_stdout() {
        let mut style = show.style.clone();
        style.more = (!style.full).then(|| format!("tare show {id} --full{}", show.db_option()));
        print(&sheet_text(&sheet::gate(&head, &gate, &report, &style.zone, String::new()), &style));
    }
    exports.write_gate(&head, &gate, &report)
}

fn stored_page(store: &dyn Store, id: Id, _: &Hints) -> Result<DocumentPage, PageError> {
    let (head, gate) = load(store, id)?;
    Ok(sheet::gate(&head, &gate, &report(&gate), &clock::zone(), foot()).into_page().into())
}

fn resume(store: Box<dyn Store>, id: Id, how: &ResumeRequest<'_>) -> Result<Exit, Failure> {
    gate::resume(store, id, how.exports.json_only(id.kind)?, how.show)
}
