//! The pages of stored results, the same that `tare report`, `tare compare` and `tare history` write.

use crate::commands::serve::trouble::Trouble;
use tarebench::compare::history::gates;
use tarebench::compare::stored::{StoredRequest, compare, head};
use tarebench::core::compare::history::{HistoryPlan, report as history_report};
use tarebench::core::compare::stored::StoredPlan;
use tarebench::core::compare::stored_report;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::render::compare::history::sheet;
use tarebench::render::compare::stored;
use tarebench::report::hints::Hints;
use tarebench::report::web::html;
use tarebench::store::Store;
use tarebench::sys::clock;
use tarebench_cli::args::hints::hints;
use tarebench_cli::documents::kinds::page;
use tarebench_cli::output;

/// Runs that may be compared at once.
const COMPARED: usize = 20;

/// The page of a run, a profile or another document, as a self-contained file.
pub fn report(store: &dyn Store, what: Id, db: &str) -> Result<String, Trouble> {
    let found = page(store, what, &hints(db))?;
    html::html(&found.page).map_err(|e| Trouble::Failed(e.to_string()))
}

/// The page of a comparison of stored runs, or programs in them, with the address under which it can be found again.
pub fn comparison(store: &dyn Store, names: &[String]) -> Result<String, Trouble> {
    if names.len() > COMPARED {
        return Err(Trouble::Wrong(format!("{} runs are named, expected {COMPARED} at most", names.len())));
    }
    let plan = StoredPlan { measure: None, across_machines: false };
    let request = StoredRequest { names: names.to_vec(), reference: None, plan };
    let found = compare(store, &request)?;
    let head = head(&found, &request, std::collections::BTreeMap::new());
    let report = stored_report::report(&found);
    let mut page = stored::sheet::comparison(&head, &found, &report, &clock::zone(), output::foot()).into_page();
    page.facts.push(("link to share".to_owned(), link(store, names)?.into()));
    html::html(&page).map_err(|e| Trouble::Failed(e.to_string()))
}

/// The comparison's address with the runs' uuids: `last` and `tag:…` may mean other runs tomorrow.
fn link(store: &dyn Store, names: &[String]) -> Result<String, Trouble> {
    let lasting: Vec<String> = names.iter().map(|name| lasting(store, name)).collect::<Result<_, _>>()?;
    let questions: Vec<String> =
        lasting.iter().map(|name| form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>()).collect();
    Ok(format!("/compare?run={}", questions.join("&run=")))
}

/// A name with its run's uuid in place of its number.
fn lasting(store: &dyn Store, name: &str) -> Result<String, Trouble> {
    let (run, program) = match name.split_once('.') {
        Some((run, program)) => (run, Some(program)),
        None => (name, None),
    };
    // Other names stay as they are: a label may hold periods, a tag colons.
    let Ok(Some(id)) = store.find_kind(DocumentKind::Run, run) else { return Ok(name.to_owned()) };
    let uuid = store.head(id)?.uuid;
    Ok(program.map_or_else(|| uuid.clone(), |program| format!("{uuid}.{program}")))
}

/// The page of the history of benchmarks.
pub fn history(store: &dyn Store, benchmarks: Vec<String>, suite: Option<String>) -> Result<String, Trouble> {
    let gates = gates(store)?;
    let plan = HistoryPlan { benchmarks, suite, anchor: None, since: None };
    let found = history_report(&gates, &plan).map_err(|e| Trouble::Wrong(e.to_string()))?;
    let page = sheet::history(&found, &clock::zone(), &Hints::default(), output::foot()).into_page();
    html::html(&page).map_err(|e| Trouble::Failed(e.to_string()))
}
