//! The builds of base revisions: work trees of git in a folder of the user's cache, which are used again.
//!
//! Each repository has a folder, with one entry for each base commit and build command: the work tree `COMMIT-HASH`, the lock
//! `COMMIT-HASH.lock`, and `COMMIT-HASH.built`, which is written when the build has succeeded. An entry is used and changed only
//! by the process that holds its lock, and the lock of a process that is killed is free: an entry without `.built` that nobody holds
//! was left half made, and is removed at the next start.

use crate::builds::error::{BuildsError, refused};
use crate::builds::git::Repository;
use crate::builds::leftovers;
use crate::builds::script::{ScriptError, run_script};
use crate::builds::{BuildNews, WatchBuilds};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tarebench_core::base::hash::fnv64;
use tarebench_sys::signals::Signals;
use tarebench_sys::{lock, process};

/// Entries of a repository that are kept.
const KEPT: usize = 3;
const LOCK: &str = ".lock";
const BUILT: &str = ".built";

/// The folder of all builds of this user.
///
/// # Errors
/// If the environment names none.
pub fn cache() -> Result<PathBuf, BuildsError> {
    let folder = |variable: &str| process::own_folder(variable).map(PathBuf::from).filter(|f| f.is_absolute());
    let caches = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    Ok(caches.ok_or(BuildsError::NoCache)?.join("tare/gate"))
}

/// A base that was built; no other tare changes or removes it as long as this exists.
pub struct HeldBase {
    /// The work tree.
    pub tree: PathBuf,
    _lock: File,
}

/// How a build is made.
pub struct BuildPlace<'a> {
    /// The command for the shell; without one nothing is built.
    pub command: Option<&'a str>,
    /// What its processes carry in their environment ([`leftovers::VARIABLE`]).
    pub mark: &'a str,
    /// What ends them.
    pub signals: &'a Signals,
    /// Is told what happens.
    pub watch: WatchBuilds<'a>,
}

impl BuildPlace<'_> {
    /// Runs the command in a folder.
    ///
    /// # Errors
    /// [`BuildsError::Failed`], [`BuildsError::Interrupted`].
    pub fn build(&self, side: &'static str, folder: &Path) -> Result<(), BuildsError> {
        let Some(command) = self.command else { return Ok(()) };
        (self.watch)(BuildNews::Building { side, folder: folder.to_owned() });
        let variables = [(leftovers::VARIABLE, OsString::from(self.mark))];
        run_script(("build", command), folder, &variables, true, self.signals).map_err(|e| match e {
            ScriptError::Failed(cause) => BuildsError::Failed { side, folder: folder.to_owned(), cause },
            ScriptError::Interrupted(signal) => BuildsError::Interrupted(signal),
        })
    }
}

/// Builds a base commit, or uses an earlier build of it by the same command. Programs are built and started in the folder that
/// corresponds to `repository.prefix`.
///
/// # Errors
/// One sentence; exit code 1 if the build fails.
pub fn build_base(repository: &Repository, commit: &str, place: &BuildPlace<'_>) -> Result<HeldBase, BuildsError> {
    let builds = RepositoryBuilds { folder: folder_of(&cache()?, repository), repository };
    builds.make_folder()?;
    builds.remove_half_made();
    let command = [place.command.unwrap_or_default().as_bytes(), b"\0", repository.prefix.as_os_str().as_bytes()];
    let entry = BaseEntry { folder: &builds.folder, name: format!("{commit}-{:016x}", fnv64(&command.concat())) };
    let held = entry.wait_for_lock(place.signals, place.watch)?;
    let tree = entry.tree();
    if entry.is_whole(&repository.prefix) {
        if place.command.is_some() {
            (place.watch)(BuildNews::UsedAgain(commit.to_owned()));
        }
    } else {
        builds.remove(&entry);
        builds.check_out(&tree, commit, place)?;
        let start = tree.join(&repository.prefix);
        if !start.is_dir() {
            return Err(BuildsError::NoSuchFolder { commit: commit.to_owned(), folder: repository.prefix.clone() });
        }
        if repository.has_submodules(commit) {
            (place.watch)(BuildNews::Submodules);
        }
        place.build("base", &start)?;
    }
    // Its time is that of the last use.
    let marked = std::fs::write(entry.file(BUILT), format!("{}\n", place.command.unwrap_or_default()));
    marked.map_err(refused(format!("write {}", entry.file(BUILT).display())))?;
    builds.remove_old(&entry.name);
    Ok(HeldBase { tree, _lock: held })
}

/// Removes what killed gates have left half made of a repository's builds.
pub fn tidy(repository: &Repository) {
    if let Ok(cache) = cache() {
        RepositoryBuilds { folder: folder_of(&cache, repository), repository }.remove_half_made();
    }
}

/// Takes hold of the base of a gate that is resumed, if that is one of these builds; `None` if it is another folder.
///
/// # Errors
/// One sentence if it is gone.
pub fn hold_again(folder: &Path, signals: &Signals, watch: WatchBuilds<'_>) -> Result<Option<HeldBase>, BuildsError> {
    let Ok(cache) = cache() else { return Ok(None) };
    let Ok(below) = folder.strip_prefix(&cache) else { return Ok(None) };
    let mut parts = below.components().map(|c| c.as_os_str().to_string_lossy().into_owned());
    let (Some(repository), Some(name)) = (parts.next(), parts.next()) else { return Ok(None) };
    let repository = cache.join(repository);
    let entry = BaseEntry { folder: &repository, name };
    let gone = || BuildsError::BaseGone(folder.to_owned());
    if !folder.is_dir() {
        return Err(gone());
    }
    let held = entry.wait_for_lock(signals, watch)?;
    let prefix: PathBuf = below.components().skip(2).collect();
    if !entry.is_whole(&prefix) {
        return Err(gone());
    }
    Ok(Some(HeldBase { tree: entry.tree(), _lock: held }))
}

/// The folder of a repository's builds: all its work trees share it.
fn folder_of(cache: &Path, repository: &Repository) -> PathBuf {
    cache.join(format!("{:016x}", fnv64(repository.common.as_os_str().as_bytes())))
}

/// The builds of a repository.
struct RepositoryBuilds<'a> {
    folder: PathBuf,
    repository: &'a Repository,
}

impl RepositoryBuilds<'_> {
    fn make_folder(&self) -> Result<(), BuildsError> {
        // Programs of the repository are in it.
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(refused(format!("make folder {}", self.folder.display())))
    }

    /// Names of the entries, whole or not.
    fn entries(&self) -> Vec<BaseEntry<'_>> {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = files.filter_map(|f| f.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.map(|n| n.trim_end_matches(LOCK).trim_end_matches(BUILT).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| BaseEntry { folder: &self.folder, name }).collect()
    }

    fn remove_half_made(&self) {
        for entry in self.entries().iter().filter(|e| e.last_use().is_none()) {
            if let Ok(Some(held)) = entry.try_lock() {
                self.remove(entry);
                entry.remove_lock(held);
            }
        }
    }

    /// Removes all but the newest, unless another process uses them; `own` is used now.
    fn remove_old(&self, own: &str) {
        let mut all: Vec<(SystemTime, BaseEntry<'_>)> =
            self.entries().into_iter().filter_map(|e| Some((e.last_use()?, e))).collect();
        all.sort_by_key(|(at, entry)| std::cmp::Reverse((entry.name == own, *at)));
        for (_, entry) in all.into_iter().skip(KEPT) {
            if let Ok(Some(held)) = entry.try_lock() {
                self.remove(&entry);
                entry.remove_lock(held);
            }
        }
    }

    /// Removes an entry but for its lock, which this process holds.
    fn remove(&self, entry: &BaseEntry<'_>) {
        // First, so that a kill leaves a half-made entry, not a wrong one.
        let _ = std::fs::remove_file(entry.file(BUILT));
        let tree = entry.tree();
        if tree.symlink_metadata().is_ok() {
            self.repository.remove_work_tree(&tree);
            remove_with_patience(&tree);
        }
        self.repository.prune();
    }

    /// Makes the work tree.
    fn check_out(&self, tree: &Path, commit: &str, place: &BuildPlace<'_>) -> Result<(), BuildsError> {
        // Hooks of the repository are for the user's own work trees.
        let script =
            "exec git -c core.hooksPath=/dev/null worktree add --detach \"$TARE_GATE_TREE\" \"$TARE_GATE_COMMIT\"";
        let variables = [
            (leftovers::VARIABLE, OsString::from(place.mark)),
            ("TARE_GATE_TREE", tree.as_os_str().to_owned()),
            ("TARE_GATE_COMMIT", OsString::from(commit)),
        ];
        run_script(("checkout", script), &self.repository.top, &variables, false, place.signals).map_err(|e| match e {
            ScriptError::Failed(cause) => BuildsError::NotCheckedOut { commit: commit.to_owned(), cause },
            ScriptError::Interrupted(signal) => BuildsError::Interrupted(signal),
        })
    }
}

/// A base with a build command.
struct BaseEntry<'a> {
    folder: &'a Path,
    name: String,
}

impl BaseEntry<'_> {
    fn tree(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}{ending}", self.name))
    }

    /// When it was built or used last; `None` if it was not built.
    fn last_use(&self) -> Option<SystemTime> {
        std::fs::metadata(self.file(BUILT)).and_then(|m| m.modified()).ok()
    }

    /// Whether it was built, and has the folder in which programs are started.
    fn is_whole(&self, prefix: &Path) -> bool {
        self.last_use().is_some() && self.tree().join(prefix).is_dir()
    }

    /// Locks it without waiting; `None` if another process has it.
    fn try_lock(&self) -> io::Result<Option<File>> {
        let path = self.file(LOCK);
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            if !lock::try_exclusive(&file).map_err(io::Error::other)? {
                return Ok(None);
            }
            // Another process may have removed the file between opening and locking it.
            let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
            if std::fs::metadata(&path).is_ok_and(|now| file.metadata().is_ok_and(|own| same(&own, &now))) {
                return Ok(Some(file));
            }
        }
    }

    fn wait_for_lock(&self, signals: &Signals, watch: WatchBuilds<'_>) -> Result<File, BuildsError> {
        let mut said = false;
        loop {
            if let Some(held) = self.try_lock().map_err(refused(format!("lock {}", self.file(LOCK).display())))? {
                return Ok(held);
            }
            if !std::mem::replace(&mut said, true) {
                watch(BuildNews::Waiting(self.tree()));
            }
            process::sleep(Duration::from_millis(100));
            if let Some(signal) = signals.caught() {
                return Err(BuildsError::Interrupted(signal));
            }
        }
    }

    /// Removes the lock's file, which is locked until then.
    fn remove_lock(&self, held: File) {
        let _ = std::fs::remove_file(self.file(LOCK));
        drop(held);
    }
}

/// Removes a folder; what is left of a killed build may still write into it.
fn remove_with_patience(folder: &Path) {
    for _ in 0..100 {
        match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => process::sleep(Duration::from_millis(20)),
            _ => return,
        }
    }
}
