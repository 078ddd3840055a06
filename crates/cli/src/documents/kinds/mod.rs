//! The table of kinds: what `show`, `report`, `export` and `resume` do with documents of each.

mod bench;
mod comparison;
mod gate;
mod noise;
pub mod profile;
mod run;

use crate::elsewhere;
use crate::exit::Failure;
use crate::kind::{DocumentPage, KindCommands, PageError};
use std::sync::OnceLock;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::report::hints::Hints;
use tarebench::store::Store;

const KINDS: [KindCommands; 6] =
    [run::COMMANDS, profile::COMMANDS, noise::COMMANDS, bench::COMMANDS, comparison::COMMANDS, gate::COMMANDS];

static ADDED: OnceLock<KindCommands> = OnceLock::new();

/// Has the commands of this process know another kind, from now on. The first call counts.
pub fn add_kind(added: KindCommands) {
    let _ = ADDED.set(added);
}

/// The entry of a kind. Goes on as the larger program that knows it, if this one does not.
///
/// # Errors
/// That program is missing, or cannot be started.
pub fn commands_of(kind: DocumentKind) -> Result<&'static KindCommands, Failure> {
    let found = KINDS.iter().chain(ADDED.get()).find(|k| k.kind == kind);
    found.ok_or_else(elsewhere::needed_for_studies)
}

/// The page of a stored document.
///
/// # Errors
/// Those of the store; if it is damaged, or has no page.
pub fn page(store: &dyn Store, id: Id, hints: &Hints) -> Result<DocumentPage, PageError> {
    (commands_of(id.kind)?.page)(store, id, hints)
}
