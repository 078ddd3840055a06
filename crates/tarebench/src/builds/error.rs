//! Why there are no two builds to compare.

use std::io;
use std::path::PathBuf;
use tarebench_core::base::signal::Signal;

/// Why there are no two builds to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildsError {
    /// There is no git.
    #[error("git is not installed, and the base is taken from a git repository")]
    NoGit,
    /// The folder of the head is in no repository.
    #[error("{} is in no git repository, from which the base is taken", .0.display())]
    NoRepository(PathBuf),
    /// The folder of the head is in a repository without a work tree.
    #[error("{} is in a bare repository or in its .git folder, without files to build", .0.display())]
    NoWorkTree(PathBuf),
    /// Git's own words on a folder.
    #[error("git refuses {}: {cause}", .folder.display())]
    Git {
        /// The folder.
        folder: PathBuf,
        /// On one line.
        cause: String,
    },
    /// A repository without a commit.
    #[error("the repository {} has no commit yet", .0.display())]
    NoCommit(PathBuf),
    /// A revision that is empty or looks like an option.
    #[error("the base `{0}`: expected a revision such as origin/main or HEAD~1")]
    BadRevision(String),
    /// No such revision.
    #[error("there is no revision `{revision}` in {}", .top.display())]
    NoRevision {
        /// As it was named.
        revision: String,
        /// The work tree.
        top: PathBuf,
        /// Whether the clone has a part of the history only.
        shallow: bool,
    },
    /// The head does not come from where the base comes from.
    #[error("HEAD and `{revision}` have no common commit in {}{}", .top.display(), shallow_clone(*.shallow))]
    NoCommonCommit {
        /// As it was named.
        revision: String,
        /// The work tree.
        top: PathBuf,
        /// Whether the clone has a part of the history only.
        shallow: bool,
    },
    /// No place for builds.
    #[error("no folder for the build of the base: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoCache,
    /// The folder of the base cannot be used.
    #[error("the base {}: {cause}", .folder.display())]
    BadFolder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The folder of the base is that of the head.
    #[error("the base {}: it is the folder of the head, too", .0.display())]
    SameFolder(PathBuf),
    /// The base lacks the folder in which the head is built.
    #[error("the base {} has no folder {}", short_id(.commit), .folder.display())]
    NoSuchFolder {
        /// The base.
        commit: String,
        /// Below the work tree.
        folder: PathBuf,
    },
    /// The build command failed; its output was shown.
    #[error("the {side} could not be built in {}: {cause}", .folder.display())]
    Failed {
        /// Base or head.
        side: &'static str,
        /// Where.
        folder: PathBuf,
        /// How it ended.
        cause: String,
    },
    /// The work tree of the base cannot be made.
    #[error("the base {} could not be checked out: {cause}", short_id(.commit))]
    NotCheckedOut {
        /// The base.
        commit: String,
        /// How git ended.
        cause: String,
    },
    /// The build of the base of a gate that is resumed is gone.
    #[error("the build of the base in {} is gone", .0.display())]
    BaseGone(PathBuf),
    /// A side of a gate that is resumed is gone.
    #[error("the gate cannot be resumed: the {side} was in {folder}, which is gone")]
    SideGone {
        /// Base or head.
        side: &'static str,
        /// Where it was.
        folder: String,
    },
    /// A side of a gate that is resumed has changed.
    #[error("the gate cannot be resumed: the {side} in {folder} is not the revision that it was")]
    SideChanged {
        /// Base or head.
        side: &'static str,
        /// Where it is.
        folder: String,
    },
    /// The system refused something.
    #[error("{doing}: {cause}")]
    Io {
        /// What was tried, with its place.
        doing: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A signal asked tare to end meanwhile.
    #[error("interrupted by {} before anything was measured", Signal(*.0))]
    Interrupted(i32),
}

/// Digits of a commit's id in messages.
const SHORT: usize = 12;

/// The beginning of a commit's id.
pub fn short_id(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

fn shallow_clone(shallow: bool) -> &'static str {
    if shallow { ", which is a shallow clone" } else { "" }
}

/// What the system refused.
pub(crate) fn refused(doing: impl Into<String>) -> impl FnOnce(io::Error) -> BuildsError {
    let doing = doing.into();
    |cause| BuildsError::Io { doing, cause }
}
