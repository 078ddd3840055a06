//! Stored studies, for the commands that take documents of any kind.

use crate::commands::resume::resume_stored;
use crate::commands::samples::StudyResume;
use crate::commands::stored;
use crate::commands::stored::{StudyFiles, load, present};
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::report::hints::Hints;
use tarebench::store::Store;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::kind::{DocumentPage, KindCommands, PageError, ResumeRequest, ShowRequest};

pub const COMMANDS: KindCommands =
    KindCommands { kind: DocumentKind::Study, show, page, resume: Some(resume), has_sigma: false, unfinished: None };

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let json = how.exports.json_only(id.kind)?;
    present(&load(store, id)?, &StudyFiles::only_json(json), how.show)
}

fn page(store: &dyn Store, id: Id, _: &Hints) -> Result<DocumentPage, PageError> {
    let (page, figures) = stored::page(&load(store, id)?)?;
    Ok(DocumentPage { figures: Some(figures), ..page.into() })
}

fn resume(store: Box<dyn Store>, id: Id, how: &ResumeRequest<'_>) -> Result<Exit, Failure> {
    let files = StudyFiles::only_json(how.exports.json_only(id.kind)?);
    let (trust, machine) = (how.trust, how.tuning.machine());
    resume_stored(store, id, &StudyResume { trust, machine, files: &files, show: how.show })
}
