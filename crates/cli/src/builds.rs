//! What the command says of the builds of a gate.

use crate::exit::{Exit, Failure};
use std::path::Path;
use tarebench::builds::BuildNews;
use tarebench::builds::error::{BuildsError, short_id};
use tarebench::report::text::escape;

/// Prints what happens while they are made.
pub fn say(news: BuildNews) {
    let clean = |path: &Path| escape(&path.to_string_lossy()).into_owned();
    match news {
        BuildNews::Building { side, folder } => eprintln!("tare: building the {side} in {}", clean(&folder)),
        BuildNews::UsedAgain(commit) => {
            eprintln!("tare: the base {} was built by an earlier gate; that build is used again", short_id(&commit));
        }
        BuildNews::Submodules => eprintln!(
            "tare: the base has submodules, which a new work tree of git does not hold: let the build command fetch them \
             (git submodule update --init)"
        ),
        BuildNews::Waiting(tree) => {
            eprintln!("tare: waiting for another gate that uses the same base, {}", clean(&tree));
        }
        BuildNews::NothingChanged(revision) => eprintln!(
            "tare: warning: the base of `{}` is the commit of the head itself: nothing has changed",
            escape(&revision)
        ),
        BuildNews::SharedTarget => eprintln!(
            "tare: warning: CARGO_TARGET_DIR is set, so that both builds go to one folder; unset it for the gate"
        ),
    }
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
