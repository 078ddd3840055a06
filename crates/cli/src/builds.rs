//! What the command says of the builds of a gate.

use crate::exit::{Exit, Failure};
use tarebench::builds::BuildNews;
use tarebench::builds::error::BuildsError;
use tarebench::report::text::escape;

/// Prints what happens while they are made.
pub fn say(news: &BuildNews) {
    let warning = if news.is_warning() { "warning: " } else { "" };
    eprintln!("tare: {warning}{}", escape(&news.to_string()));
}

const BUILD_IT: &str = "build the base yourself, and name its folder with --base-dir DIR";
const AGAIN: &str = "start the gate again with `tare gate`";

impl From<BuildsError> for Failure {
    fn from(e: BuildsError) -> Failure {
        use BuildsError as E;
        let hint = match &e {
            E::NoGit => Some(format!("install git; or {BUILD_IT}")),
            E::NoRepository(_) => Some(BUILD_IT.to_owned()),
            E::NoCache => Some(format!("set one of them; or {BUILD_IT}")),
            E::NoWorkTree(_) => Some("start tare in a work tree: `git worktree add FOLDER`".to_owned()),
            E::NoRevision { shallow: true, .. } => {
                Some("this clone is shallow: fetch more of it, e.g. with fetch-depth: 0 of actions/checkout".to_owned())
            }
            E::NoRevision { .. } => {
                Some("check its spelling with `git branch --all`, or fetch it with `git fetch`".to_owned())
            }
            E::NoCommonCommit { shallow: true, .. } => Some(
                "fetch its whole history: `git fetch --unshallow`, or fetch-depth: 0 of actions/checkout".to_owned(),
            ),
            E::NoCommonCommit { .. } => Some("name a revision that the head comes from".to_owned()),
            E::SameFolder(_) => Some("start tare in the folder of the head, and name that of the base".to_owned()),
            E::NoSuchFolder { .. } => Some("start tare in a folder that both revisions have".to_owned()),
            E::Failed { .. } => Some("its output is above; nothing was measured".to_owned()),
            E::BaseGone(_) | E::SideGone { .. } | E::SideChanged { .. } => Some(AGAIN.to_owned()),
            _ => None,
        };
        let exit = match &e {
            E::Failed { .. } => Exit::ProgramFailed,
            E::NotCheckedOut { .. } | E::Io { .. } => Exit::System,
            E::Interrupted(_) => Exit::Interrupted,
            _ => Exit::Usage,
        };
        Failure { exit, message: e.to_string(), hint }
    }
}
