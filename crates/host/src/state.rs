//! The folder of the journal: its path, the process that uses it, and what is pending in it.

use crate::folder::Folder;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;
use tarebench_sys::{clock, lock, process};

/// Why the machine was not tuned, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// There is no folder to keep the journal in.
    #[error("no folder for the journal: expected HOME or XDG_STATE_HOME to be set")]
    NoPlace,
    /// The journal could not be written, so nothing was started.
    #[error("the journal {path} cannot be written, so nothing was changed: {cause}")]
    NotJournalled {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The journal could not be continued; what had been set was restored.
    #[error("the journal {path} could not be continued ({cause}), so tuning stopped; {after}")]
    NotContinued {
        path: PathBuf,
        /// What happened to the settings.
        after: String,
        #[source]
        cause: io::Error,
    },
    /// The journal could not be read.
    #[error("the journal {path} cannot be read: {cause}")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The values are restored, but the journal could not be removed or rewritten.
    #[error("{done}, but the journal {path} cannot be changed: {cause}")]
    NotRemoved {
        /// What was done nevertheless.
        done: String,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Another tare process holds the lock.
    #[error("another tare process is tuning or restoring this machine: {holder} (lock {path})")]
    Held {
        /// Who, as far as it is known.
        holder: String,
        path: PathBuf,
    },
    /// There is a journal already.
    #[error("this machine was tuned before and not restored: {pending}")]
    Pending {
        /// What is known of it.
        pending: Box<Pending>,
    },
    /// A newer tare wrote the journal.
    #[error("the journal {path} has version {found}, expected at most {known}: use the version of tare that wrote it")]
    Newer {
        path: PathBuf,
        found: u64,
        /// The newest that this tare knows.
        known: u64,
    },
    /// Asked to stop; what had been set was restored.
    #[error("interrupted while tuning; {after}")]
    Interrupted {
        /// What happened to the settings.
        after: String,
    },
}

/// Who holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: i32,
    /// Its start time, which distinguishes it from a later process with this number.
    pub start: Nanos,
    pub boot: String,
    /// What it does, e.g. `tune`.
    pub what: String,
    pub since: Nanos,
}

impl Holder {
    fn is_alive(&self) -> bool {
        process::is_alive(self.pid, |s| s.start() == self.start)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} (tare {}) since {}", self.pid, self.what, clock::local_time(self.since))
    }
}

/// The folder of journal and lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    folder: PathBuf,
}

/// File of the lock: only its owner can open it, so no other user can hold it.
const LOCK: &str = "lock";
/// File beside it that says who holds it, for all to read.
const HOLDER: &str = "holder";
/// File of the journal.
pub(crate) const JOURNAL: &str = "journal";

/// The lock of a state folder, held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct Lock {
    folder: Folder,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The holder's file is removed with the lock. The lock's file stays: removing it could remove another process's
        // lock.
        let _ = self.folder.remove(HOLDER);
    }
}

impl State {
    /// A folder that was given.
    pub fn at(folder: &Path) -> State {
        State { folder: folder.to_owned() }
    }

    /// The usual folder: `/var/lib/tarebench` below the root for the superuser, else `$XDG_STATE_HOME/tarebench` or
    /// `~/.local/state/tarebench`.
    ///
    /// # Errors
    /// [`TuneError::NoPlace`].
    pub fn usual(
        root: &Path,
        superuser: bool,
        state_home: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<State, TuneError> {
        if superuser || root != Path::new("/") {
            return Ok(State::at(&root.join("var/lib/tarebench")));
        }
        let absolute = |p: &OsStr| Path::new(p).is_absolute().then(|| PathBuf::from(p));
        let base = state_home.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".local/state")));
        base.map(|b| State::at(&b.join("tarebench"))).ok_or(TuneError::NoPlace)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL)
    }

    /// The folder, opened; no other user can have written to it.
    pub(crate) fn open(&self) -> io::Result<Folder> {
        Folder::open(&self.folder)
    }

    /// The same, created if missing.
    pub(crate) fn make(&self) -> io::Result<Folder> {
        Folder::make(&self.folder)
    }

    /// Takes the lock; `what` says what its holder does.
    ///
    /// # Errors
    /// [`TuneError::Held`], or if the folder cannot be written to.
    pub fn lock(&self, what: &str, boot: &str) -> Result<Lock, TuneError> {
        let path = self.folder.join(LOCK);
        let failed = |cause| TuneError::NotJournalled { path: path.clone(), cause };
        let folder = self.make().map_err(failed)?;
        let file = folder.private(LOCK).map_err(failed)?;
        let taken = lock::try_exclusive(&file).map_err(|e| failed(io::Error::other(e.to_string())))?;
        if !taken {
            let holder =
                self.holder().map_or_else(|| "a process that has not written its id yet".to_owned(), |h| h.to_string());
            return Err(TuneError::Held { holder, path });
        }
        let pid = process::own_pid();
        let start = process::stat(pid).map_or(Nanos::ZERO, |s| s.start());
        let (boot, what) = (boot.to_owned(), what.to_owned());
        let holder = Holder { pid, start, boot, what, since: clock::realtime() };
        // Only a courtesy to others; a full disk must not prevent a restore.
        let text = serde_json::to_string(&holder).unwrap_or_default();
        let new = format!("{HOLDER}.new");
        let written = folder.create(&new, 0o644).and_then(|mut f| f.write_all(text.as_bytes()));
        let _ = written.and_then(|()| folder.rename(&new, HOLDER));
        Ok(Lock { folder, _file: file })
    }

    /// Who holds the lock, if that process is alive.
    pub(crate) fn holder(&self) -> Option<Holder> {
        let text = self.open().ok()?.read(HOLDER).ok()?;
        serde_json::from_slice::<Holder>(&text).ok().filter(Holder::is_alive)
    }
}

/// What is not restored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub path: PathBuf,
    /// The process that is using it, if any.
    pub holder: Option<Holder>,
    /// When it was started, and how many changes it holds, if it can be read.
    pub what: Option<(Nanos, usize)>,
    /// Whether the tuning finished.
    pub complete: bool,
}

impl std::fmt::Display for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        if let Some(holder) = &self.holder {
            return write!(f, "{holder} is using it ({path})");
        }
        match self.what {
            None => write!(f, "{path} exists, but cannot be read"),
            Some((since, n)) => {
                let how = if self.complete { "tuned" } else { "being tuned when tare was killed" };
                write!(f, "{how} at {}, {n} values to restore ({path})", clock::local_time(since))
            }
        }
    }
}
