//! Profiles of machines.

use crate::exit::{Exit, Failure};
use crate::kind::{DocumentPage, KindCommands, PageError, ResumeRequest, ShowRequest};
use crate::output::foot;
use crate::profile::learn;
use crate::profile::result::{present, stored, unfinished};
use std::path::Path;
use tarebench::core::documents::head::{DocumentKind, Id, Status};
use tarebench::core::profile::data::Profile;
use tarebench::documents::DocumentError;
use tarebench::report::hints::Hints;
use tarebench::store::Store;
use tarebench::sys::clock;

pub const COMMANDS: KindCommands = KindCommands {
    kind: DocumentKind::Profile,
    show,
    page,
    resume: Some(resume),
    has_sigma: false,
    unfinished: Some(unfinished),
};

fn show(store: &dyn Store, id: Id, how: &ShowRequest<'_>) -> Result<(), Failure> {
    let profile = stored(store, id)?;
    present(&profile, how.exports.json_only(id.kind)?, how.show)
}

fn page(store: &dyn Store, id: Id, hints: &Hints) -> Result<DocumentPage, PageError> {
    Ok(page_of(&stored(store, id)?, hints)?)
}

/// The page of a profile.
pub fn page_of(profile: &Profile, hints: &Hints) -> Result<DocumentPage, Failure> {
    let learned = tarebench::profile::learned(profile)?;
    let host = tarebench::host::host::describe(Path::new("/"));
    let doubts = match profile.machine == host.machine {
        true => profile.doubts(clock::realtime(), &host.machine, &host.kernel, host.cpus),
        // Doubts are about measuring with the profile; on another machine it is only read.
        false => Vec::new(),
    };
    let page = tarebench::render::profile::sheet::profile(profile, &learned, &doubts, hints, &clock::zone(), foot())
        .into_page();
    let label: String =
        profile.label().chars().map(|c| if c.is_alphanumeric() || c == '@' { c } else { '-' }).collect();
    Ok(DocumentPage { stem: Some(format!("profile-{label}")), ..page.into() })
}

fn resume(store: Box<dyn Store>, id: Id, how: &ResumeRequest<'_>) -> Result<Exit, Failure> {
    if how.exports.json_only(id.kind)? {
        let hint = format!("`tare show {id} --json` prints it when it is finished");
        return Err(Failure::usage("--json cannot be used to resume a profile").hint(hint));
    }
    let head = store.head(id)?;
    if head.status == Status::Finished {
        return Err(DocumentError::Finished(id).into());
    }
    learn::resume_named(head.title, store, how.trust, how.tuning, how.show)
}
