//! The two builds that a gate compares: the head where it is, the base in a work tree of git or in a folder.

pub mod error;
pub mod git;
pub mod leftovers;
pub mod script;
pub mod sides;
pub mod worktree;

use crate::builds::error::short_id;
use std::fmt;
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

impl BuildNews {
    /// Whether the gate may not say what the user wants to know.
    pub fn is_warning(&self) -> bool {
        matches!(self, BuildNews::NothingChanged(_) | BuildNews::SharedTarget)
    }
}

impl fmt::Display for BuildNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildNews::Building { side, folder } => write!(f, "building the {side} in {}", folder.display()),
            BuildNews::UsedAgain(commit) => {
                write!(f, "the base {} was built by an earlier gate; that build is used again", short_id(commit))
            }
            BuildNews::Submodules => f.write_str(
                "the base has submodules, which a new work tree of git does not hold: let the build command fetch them \
                 (git submodule update --init)",
            ),
            BuildNews::Waiting(tree) => {
                write!(f, "waiting for another gate that uses the same base, {}", tree.display())
            }
            BuildNews::NothingChanged(revision) => {
                write!(f, "the base of `{revision}` is the commit of the head itself: nothing has changed")
            }
            BuildNews::SharedTarget => {
                f.write_str("CARGO_TARGET_DIR is set, so that both builds go to one folder; unset it for the gate")
            }
        }
    }
}

/// Is told of it.
pub type WatchBuilds<'a> = &'a dyn Fn(BuildNews);
