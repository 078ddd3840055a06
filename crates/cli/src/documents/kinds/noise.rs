//! Measurements of noise.

use crate::exit::Failure;
use crate::kind::{DocumentPage, KindCommands, PageError, ShowRequest};
use crate::noise::result::print_noise;
use crate::output::foot;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::noise::measure::{load, reported};
use tarebench::report::hints::Hints;
use tarebench::store::Store;
use tarebench::sys::clock;

pub const COMMANDS: KindCommands =
    KindCommands { kind: DocumentKind::Noise, show, page, resume: None, has_sigma: false, unfinished: None };

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let json = how.exports.json_only(id.kind)?;
    let (head, noise) = load(store, id)?;
    print_noise(&head, &noise, &reported(&noise, &[]), json, &how.show.style)
}

fn page(store: &dyn Store, id: Id, _: &Hints) -> Result<DocumentPage, PageError> {
    let (head, noise) = load(store, id)?;
    let grains = reported(&noise, &[]);
    Ok(tarebench::render::noise::sheet::noise(&head, &noise, &grains, &clock::zone(), foot()).into_page().into())
}
