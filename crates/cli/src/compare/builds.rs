//! The two builds of a gate: both are made before anything is measured.

use crate::compare::git::{Repository, side};
use crate::compare::leftovers::{BuildMark, end_leftovers};
use crate::compare::worktree::{BuildPlace, HeldBase, build_base, cache, hold_again, tidy};
use crate::exit::Failure;
use std::path::{Path, PathBuf};
use tarebench::core::compare::gate::{Gate, GateSide};
use tarebench::sys::signals::Signals;

/// What the head is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateBase {
    /// The commit from which this revision and HEAD have gone different ways.
    Revision(String),
    /// What is in this folder.
    Folder(PathBuf),
}

/// A build, and the folder in which its programs are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltSide {
    pub folder: PathBuf,
    pub side: GateSide,
}

/// Both builds.
pub struct GateBuilds {
    pub base: BuiltSide,
    pub head: BuiltSide,
    /// As long as this exists, no other tare removes the base.
    _held: Option<HeldBase>,
}

/// Makes both: the head in the current folder, the base where it is.
///
/// # Errors
/// One sentence; exit code 1 if a build fails.
pub fn make(base: &GateBase, command: Option<&str>, signals: &Signals) -> Result<GateBuilds, Failure> {
    let head = current_folder()?;
    let folder = cache().ok();
    folder.iter().for_each(|f| end_leftovers(f));
    let mark = BuildMark::begin(folder.as_deref());
    let place = BuildPlace { command, mark: mark.value(), signals };
    warn_of_shared_target(command);
    match base {
        GateBase::Revision(revision) => of_revision(revision, &head, &place),
        GateBase::Folder(folder) => of_folder(folder, &head, &place),
    }
}

fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|e| Failure::system(format!("working directory: {e}")))
}

fn of_revision(revision: &str, head: &Path, place: &BuildPlace<'_>) -> Result<GateBuilds, Failure> {
    let repository = Repository::find(head)?;
    // Before the head is built in vain.
    cache()?;
    let commit = repository.merge_base(revision)?;
    let side_of_head = side(head);
    if side_of_head.commit.as_ref() == Some(&commit) && !side_of_head.modified {
        let revision = tarebench::render::kit::text::escape(revision);
        eprintln!("tare: warning: the base of `{revision}` is the commit of the head itself: nothing has changed");
    }
    place.build("head", head)?;
    let held = build_base(&repository, &commit, place)?;
    // An empty prefix would add a slash.
    let folder: PathBuf = held.tree.join(&repository.prefix).components().collect();
    let base = BuiltSide { side: repository.base(&commit, revision, &folder), folder };
    let head = BuiltSide { folder: head.to_owned(), side: side_of_head };
    Ok(GateBuilds { base, head, _held: Some(held) })
}

fn of_folder(folder: &Path, head: &Path, place: &BuildPlace<'_>) -> Result<GateBuilds, Failure> {
    let bad = |what: String| Failure::usage(format!("--base-dir {}: {what}", folder.display()));
    let base = folder.canonicalize().map_err(|e| bad(e.to_string()))?;
    if !base.is_dir() {
        return Err(bad("it is not a folder".to_owned()));
    }
    if base == head {
        let hint = "start tare in the folder of the head, and name that of the base";
        return Err(bad("it is the folder of the head, too".to_owned()).hint(hint));
    }
    let [of_base, of_head] = [base.as_path(), head].map(|f| BuiltSide { folder: f.to_owned(), side: side(f) });
    place.build("head", head)?;
    place.build("base", &base)?;
    Ok(GateBuilds { base: of_base, head: of_head, _held: None })
}

/// Cargo would put both builds into one folder.
fn warn_of_shared_target(command: Option<&str>) {
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|t| Path::new(t).is_absolute());
    if target.is_some() && command.is_some_and(|c| c.contains("cargo")) {
        eprintln!(
            "tare: warning: CARGO_TARGET_DIR is set, so that both builds go to one folder; unset it for the gate"
        );
    }
}

/// Whether the builds of a gate that is resumed are those with which it began; holds the base.
///
/// # Errors
/// One sentence if one of them is gone or another commit.
pub fn check_again(gate: &Gate, signals: &Signals) -> Result<Option<HeldBase>, Failure> {
    if let Ok(folder) = cache() {
        end_leftovers(&folder);
    }
    let [base, head] = [&gate.plan.base, &gate.plan.head].map(|s| PathBuf::from(&s.folder));
    if let Ok(repository) = Repository::find(&head) {
        tidy(&repository);
    }
    let held = hold_again(&base, signals)?;
    check_side("head", &gate.plan.head, &head)?;
    if held.is_none() {
        check_side("base", &gate.plan.base, &base)?;
    }
    Ok(held)
}

fn check_side(name: &str, was: &GateSide, folder: &Path) -> Result<(), Failure> {
    let again = "start the gate again with `tare gate`";
    if !folder.is_dir() {
        let text = format!("the gate cannot be resumed: the {name} was in {}, which is gone", was.folder);
        return Err(Failure::usage(text).hint(again));
    }
    let now = side(folder);
    if now.commit != was.commit || now.modified != was.modified {
        let text = format!("the gate cannot be resumed: the {name} in {} is not the revision that it was", was.folder);
        return Err(Failure::usage(text).hint(again));
    }
    Ok(())
}
