//! The two builds that a gate compares: the head where it is, the base in a work tree of git or in a folder.

pub mod error;
pub mod git;
pub mod leftovers;
pub mod script;
pub mod sides;
pub mod worktree;

use std::path::PathBuf;

/// What a user may want to know while builds are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildNews {
    /// The build of a side (`base`, `head`) begins in this folder. Its output goes to standard error.
    Building {
        /// Which one.
        side: &'static str,
        /// Where.
        folder: PathBuf,
    },
    /// The base of this commit was built by an earlier gate, whose build is used.
    UsedAgain(String),
    /// The base has submodules, which a new work tree of git does not hold.
    Submodules,
    /// Another gate uses the same base, in this folder.
    Waiting(PathBuf),
    /// The base of this revision is the head's own commit.
    NothingChanged(String),
    /// Both builds go to one folder, that of CARGO_TARGET_DIR.
    SharedTarget,
}

/// Is told of it.
pub type WatchBuilds<'a> = &'a dyn Fn(BuildNews);
