//! The two builds of a gate: both are made before anything is measured.

use crate::builds::error::BuildsError;
use crate::builds::git::{Repository, side};
use crate::builds::leftovers::{BuildMark, end_leftovers};
use crate::builds::worktree::{BuildPlace, HeldBase, build_base, cache, hold_again, tidy};
use crate::builds::{BuildNews, WatchBuilds};
use std::path::{Path, PathBuf};
use tarebench_core::compare::gate::{Gate, GateSide};
use tarebench_sys::signals::Signals;

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
    /// Where its programs are started.
    pub folder: PathBuf,
    /// What is stored of it.
    pub side: GateSide,
}

/// Both builds.
pub struct GateBuilds {
    /// What the head is compared with.
    pub base: BuiltSide,
    /// What is judged.
    pub head: BuiltSide,
    /// As long as this exists, no other tare removes the base.
    _held: Option<HeldBase>,
}

/// Makes both: the head in its folder, the base where it is. Without a command nothing is built.
///
/// # Errors
/// [`BuildsError`]; nothing was measured then.
pub fn make(
    base: &GateBase,
    head: &Path,
    command: Option<&str>,
    signals: &Signals,
    watch: WatchBuilds<'_>,
) -> Result<GateBuilds, BuildsError> {
    let folder = cache().ok();
    folder.iter().for_each(|f| end_leftovers(f));
    let mark = BuildMark::begin(folder.as_deref());
    let place = BuildPlace { command, mark: mark.value(), signals, watch };
    if shares_target(command) {
        watch(BuildNews::SharedTarget);
    }
    match base {
        GateBase::Revision(revision) => of_revision(revision, head, &place),
        GateBase::Folder(folder) => of_folder(folder, head, &place),
    }
}

fn of_revision(revision: &str, head: &Path, place: &BuildPlace<'_>) -> Result<GateBuilds, BuildsError> {
    let repository = Repository::find(head)?;
    // Before the head is built in vain.
    cache()?;
    let commit = repository.merge_base(revision)?;
    let side_of_head = side(head);
    if side_of_head.commit.as_ref() == Some(&commit) && !side_of_head.modified {
        (place.watch)(BuildNews::NothingChanged(revision.to_owned()));
    }
    place.build("head", head)?;
    let held = build_base(&repository, &commit, place)?;
    // An empty prefix would add a slash.
    let folder: PathBuf = held.tree.join(&repository.prefix).components().collect();
    let base = BuiltSide { side: repository.base(&commit, revision, &folder), folder };
    let head = BuiltSide { folder: head.to_owned(), side: side_of_head };
    Ok(GateBuilds { base, head, _held: Some(held) })
}

fn of_folder(folder: &Path, head: &Path, place: &BuildPlace<'_>) -> Result<GateBuilds, BuildsError> {
    let bad = |cause: String| BuildsError::BadFolder { folder: folder.to_owned(), cause };
    let base = folder.canonicalize().map_err(|e| bad(e.to_string()))?;
    if !base.is_dir() {
        return Err(bad("it is not a folder".to_owned()));
    }
    if base == head {
        return Err(BuildsError::SameFolder(folder.to_owned()));
    }
    let [of_base, of_head] = [base.as_path(), head].map(|f| BuiltSide { folder: f.to_owned(), side: side(f) });
    place.build("head", head)?;
    place.build("base", &base)?;
    Ok(GateBuilds { base: of_base, head: of_head, _held: None })
}

/// Whether cargo would put both builds into one folder.
fn shares_target(command: Option<&str>) -> bool {
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|t| Path::new(t).is_absolute());
    target.is_some() && command.is_some_and(|c| c.contains("cargo"))
}

/// Whether the builds of a gate that is resumed are those with which it began; holds the base.
///
/// # Errors
/// One of them is gone, or is another commit.
pub fn check_again(gate: &Gate, signals: &Signals, watch: WatchBuilds<'_>) -> Result<Option<HeldBase>, BuildsError> {
    if let Ok(folder) = cache() {
        end_leftovers(&folder);
    }
    let [base, head] = [&gate.plan.base, &gate.plan.head].map(|s| PathBuf::from(&s.folder));
    if let Ok(repository) = Repository::find(&head) {
        tidy(&repository);
    }
    let held = hold_again(&base, signals, watch)?;
    check_side("head", &gate.plan.head, &head)?;
    if held.is_none() {
        check_side("base", &gate.plan.base, &base)?;
    }
    Ok(held)
}

fn check_side(side_of_gate: &'static str, was: &GateSide, folder: &Path) -> Result<(), BuildsError> {
    let place = || was.folder.clone();
    if !folder.is_dir() {
        return Err(BuildsError::SideGone { side: side_of_gate, folder: place() });
    }
    let now = side(folder);
    if now.commit != was.commit || now.modified != was.modified {
        return Err(BuildsError::SideChanged { side: side_of_gate, folder: place() });
    }
    Ok(())
}
