//! The folder of the journal: where it is, who works in it, what is pending in it.

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;
use tarebench_sys::{clock, lock, process};

/// Why the machine was not tuned, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// There is no folder to keep the journal in.
    #[error("no folder for the journal: expected HOME or XDG_STATE_HOME to be set")]
    NoPlace,
    /// The journal could not be written, so that nothing was begun.
    #[error("the journal {path} cannot be written, so nothing was changed: {cause}")]
    NotJournalled {
        /// Which file or folder.
        path: PathBuf,
        /// The system's word.
        #[source]
        cause: io::Error,
    },
    /// The journal could not be continued; what had been set was put back.
    #[error("the journal {path} could not be continued ({cause}), so tuning stopped; {after}")]
    NotContinued {
        /// Which file.
        path: PathBuf,
        /// What became of the settings.
        after: String,
        /// The system's word.
        #[source]
        cause: io::Error,
    },
    /// The journal could not be read.
    #[error("the journal {path} cannot be read: {cause}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// The system's word.
        #[source]
        cause: io::Error,
    },
    /// The values are back, but the journal could not be removed or renewed.
    #[error("{done}, but the journal {path} cannot be changed: {cause}")]
    NotRemoved {
        /// What was done nevertheless.
        done: String,
        /// Which file.
        path: PathBuf,
        /// The system's word.
        #[source]
        cause: io::Error,
    },
    /// Another tare is at it.
    #[error("another tare tunes or restores this machine now: {holder} (lock {path})")]
    Held {
        /// Who, as far as it is known.
        holder: String,
        /// The lock's file.
        path: PathBuf,
    },
    /// A journal is there already.
    #[error("this machine was tuned before and not restored: {pending}")]
    Pending {
        /// What is known of it.
        pending: Box<Pending>,
    },
    /// A later tare wrote the journal.
    #[error("the journal {path} is of version {found}; expected at most version {known}: use the tare that wrote it")]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest that this tare knows.
        known: u64,
    },
    /// Asked to stop; what had been set was put back.
    #[error("interrupted while tuning; {after}")]
    Interrupted {
        /// What became of the settings.
        after: String,
    },
}

/// Who holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: i32,
    /// Its start time, which tells it from a later process of this number.
    pub start: Nanos,
    /// Boot id.
    pub boot: String,
    /// What it does, e.g. `tune`.
    pub what: String,
    /// Since when.
    pub since: Nanos,
}

impl Holder {
    fn is_alive(&self) -> bool {
        process::stat(self.pid).is_some_and(|s| s.start() == self.start)
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

/// The lock of a state folder, held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The name of its holder goes with the lock. The file stays: who removes it could remove another's.
        let _ = self.file.set_len(0);
    }
}

impl State {
    /// A folder that was named.
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

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Makes the folder, durably.
    pub(crate) fn make(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o755).create(&self.folder)?;
        self.folder.parent().map_or(Ok(()), sync_folder)
    }

    /// Takes the lock; who has it shall say what it does.
    ///
    /// # Errors
    /// [`TuneError::Held`], or if the folder cannot be written to.
    pub fn lock(&self, what: &str, boot: &str) -> Result<Lock, TuneError> {
        let path = self.lock_path();
        let failed = |cause| TuneError::NotJournalled { path: path.clone(), cause };
        self.make().map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644);
        let mut file = options.open(&path).map_err(failed)?;
        let taken = lock::try_exclusive(&file).map_err(|e| failed(io::Error::other(e.to_string())))?;
        if !taken {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let holder = serde_json::from_str::<Holder>(&text);
            let holder =
                holder.map_or_else(|_| "a process that has not said its name yet".to_owned(), |h| h.to_string());
            return Err(TuneError::Held { holder, path });
        }
        let pid = process::own_pid();
        let start = process::stat(pid).map_or(Nanos::ZERO, |s| s.start());
        let (boot, what) = (boot.to_owned(), what.to_owned());
        let holder = Holder { pid, start, boot, what, since: clock::realtime() };
        // Only a courtesy to others; a full disk must not prevent a restore.
        let text = serde_json::to_string(&holder).unwrap_or_default();
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Lock { file })
    }

    pub(crate) fn holder(&self) -> Option<Holder> {
        let text = std::fs::read_to_string(self.lock_path()).ok()?;
        serde_json::from_str::<Holder>(&text).ok().filter(Holder::is_alive)
    }
}

/// What is not put back yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The journal's file.
    pub path: PathBuf,
    /// Who works on it, if somebody does.
    pub holder: Option<Holder>,
    /// When it was begun, and how many changes it holds, if it can be read.
    pub what: Option<(Nanos, usize)>,
    /// Whether the tuning came to its end.
    pub complete: bool,
}

impl std::fmt::Display for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        if let Some(holder) = &self.holder {
            return write!(f, "{holder} works on it ({path})");
        }
        match self.what {
            None => write!(f, "{path} is there, though it cannot be read"),
            Some((since, n)) => {
                let how = if self.complete { "tuned" } else { "being tuned when tare was killed" };
                write!(f, "{how} at {}, {n} values to put back ({path})", clock::local_time(since))
            }
        }
    }
}

/// Makes a change of a folder's entries durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
