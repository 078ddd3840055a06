//! The folder of a campaign that Slurm runs: its tasks, their results and states, on a shared file system.
//!
//! ```text
//! campaign.json       the campaign's number, uuid and name in the lab
//! campaign.toml       its file
//! sbatch.json         how it was submitted
//! task-N.json         a task's plan
//! job-K.sh            what sbatch was given
//! results/task-N.json an archive as of `tare export`
//! results/task-N.partial.json   the same of a run that was interrupted
//! state/task-N.json   how the task ended on its node
//! collected/          archives that are in the lab's store
//! ```

use crate::data::tasks::LabTaskPlan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;

/// Version of the files in a folder.
const VERSION: u32 = 1;
/// Longest file that is read, in bytes; archives are read piece by piece.
const LONGEST: u64 = 64 << 20;

/// What is wrong with a campaign's folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot {doing} {}: {cause}", .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A file's content.
    #[error("{} is no {what}: {cause}", .path.display())]
    Content { path: PathBuf, what: &'static str, cause: String },
    /// A later version of tare wrote it.
    #[error(
        "{} has version {found}, expected at most {VERSION}: use the version of tare that wrote it",
        .path.display()
    )]
    Newer { path: PathBuf, found: u32 },
}

/// The campaign whose folder it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignFolder {
    /// Version of the files in the folder.
    pub version: u32,
    /// The campaign's number in the lab.
    pub campaign: i64,
    pub uuid: String,
    pub name: String,
}

impl CampaignFolder {
    /// Of a campaign in a lab.
    pub fn new(campaign: i64, uuid: &str, name: &str) -> CampaignFolder {
        CampaignFolder { version: VERSION, campaign, uuid: uuid.to_owned(), name: name.to_owned() }
    }
}

/// A task in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFile {
    /// Version of the files in the folder.
    pub version: u32,
    /// The task's number in the lab.
    pub task: i64,
    /// Name of its campaign.
    pub campaign: String,
    pub plan: LabTaskPlan,
}

impl TaskFile {
    /// Of a task in a lab.
    pub fn new(task: i64, campaign: &str, plan: LabTaskPlan) -> TaskFile {
        TaskFile { version: VERSION, task, campaign: campaign.to_owned(), plan }
    }
}

/// How a task ended on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStateFile {
    /// The task's number in the lab.
    pub task: i64,
    /// Name of the node.
    pub node: String,
    /// When, since 1970, by the node's clock.
    pub at: Nanos,
    /// Uuid of its run, if there is one.
    pub run: Option<String>,
    /// Whether the run has all its samples.
    pub finished: bool,
    /// Whether it is in the lab's store; else an archive is in the folder.
    pub pushed: bool,
    /// Whether the node was this task's alone, if that is known.
    pub exclusive: Option<bool>,
    pub failed: Option<String>,
}

/// The files of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabFolder {
    path: PathBuf,
}

impl LabFolder {
    /// A folder that was named; relative ones are made absolute, as other machines start elsewhere.
    ///
    /// # Errors
    /// [`FolderError::Io`] without a working directory.
    pub fn at(path: &Path) -> Result<LabFolder, FolderError> {
        let absolute = std::path::absolute(path);
        let path = absolute.map_err(|cause| FolderError::Io { doing: "find", path: path.to_owned(), cause })?;
        Ok(LabFolder { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it for a new campaign; it must be empty or missing.
    pub fn create(&self) -> Result<(), FolderError> {
        let failed = |cause| FolderError::Io { doing: "make the folder", path: self.path.clone(), cause };
        for part in ["results", "state", "collected"] {
            std::fs::create_dir_all(self.path.join(part)).map_err(failed)?;
        }
        if self.path.join("campaign.json").exists() {
            let cause = io::Error::new(io::ErrorKind::AlreadyExists, "it is the folder of another campaign");
            return Err(failed(cause));
        }
        Ok(())
    }

    /// File of a task.
    pub fn task(&self, ordinal: u32) -> PathBuf {
        self.path.join(format!("task-{ordinal}.json"))
    }

    /// The batch script of the K-th job.
    pub fn script(&self, job: usize) -> PathBuf {
        self.path.join(format!("job-{job}.sh"))
    }

    /// Archive of a task's run.
    pub fn result(&self, ordinal: u32) -> PathBuf {
        self.path.join("results").join(format!("task-{ordinal}.json"))
    }

    /// Archive of a task's interrupted run.
    pub fn partial(&self, ordinal: u32) -> PathBuf {
        self.path.join("results").join(format!("task-{ordinal}.partial.json"))
    }

    /// Where an archive goes once it is in the lab's store.
    pub fn collected(&self, ordinal: u32) -> PathBuf {
        self.path.join("collected").join(format!("task-{ordinal}.json"))
    }

    /// How a task ended.
    pub fn state(&self, ordinal: u32) -> PathBuf {
        self.path.join("state").join(format!("task-{ordinal}.json"))
    }

    /// Writes what the folder is of.
    pub fn write_campaign(&self, campaign: &CampaignFolder) -> Result<(), FolderError> {
        write_json(&self.path.join("campaign.json"), campaign)
    }

    /// A task's file.
    pub fn read_task(&self, ordinal: u32) -> Result<TaskFile, FolderError> {
        let path = self.task(ordinal);
        let task: TaskFile = read_json(&path, "task of a campaign")?;
        if task.version > VERSION {
            return Err(FolderError::Newer { path, found: task.version });
        }
        Ok(task)
    }

    /// How a task ended; `None` if it has not.
    pub fn read_state(&self, ordinal: u32) -> Result<Option<TaskStateFile>, FolderError> {
        let path = self.state(ordinal);
        if !path.exists() {
            return Ok(None);
        }
        read_json(&path, "state of a task").map(Some)
    }
}

/// Writes a document by [`write_whole`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
    write_whole(path, &mut |out| {
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Writes a file beside its name, flushes it to the disk, and renames it: who reads it sees all of it or nothing.
pub fn write_whole(path: &Path, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<(), FolderError> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // Two nodes may have processes of the same number.
    let node = tarebench_sys::uname::uname().node;
    let temporary = path.with_file_name(format!(".{name}.{node}.{}.tmp", std::process::id()));
    let mut write = || {
        let file = File::create(&temporary)?;
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|cause| {
        // If this fails, a file remains that harms nobody.
        let _ = std::fs::remove_file(&temporary);
        FolderError::Io { doing: "write", path: path.to_owned(), cause }
    })
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, FolderError> {
    let failed = |cause| FolderError::Io { doing: "read", path: path.to_owned(), cause };
    let content = |cause: String| FolderError::Content { path: path.to_owned(), what, cause };
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > LONGEST {
        return Err(content(format!("it has {length} bytes, expected at most {} MiB", LONGEST >> 20)));
    }
    let text = std::fs::read(path).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|e| content(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> TaskStateFile {
        TaskStateFile {
            task: 7,
            node: "node1".to_owned(),
            at: Nanos(5),
            run: Some("a".repeat(32)),
            finished: true,
            pushed: false,
            exclusive: None,
            failed: None,
        }
    }

    #[test]
    fn files_are_written_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let folder = LabFolder::at(&dir.path().join("campaign")).unwrap();
        folder.create().unwrap();
        assert_eq!(folder.read_state(3).unwrap(), None);
        write_json(&folder.state(3), &state()).unwrap();
        assert_eq!(folder.read_state(3).unwrap(), Some(state()));
        let broken = write_whole(&folder.state(3), &mut |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        let message = broken.unwrap_err().to_string();
        assert!(message.contains("cannot write") && message.contains("the disk is full"), "{message}");
        // The old content is there, and no other file.
        assert_eq!(folder.read_state(3).unwrap(), Some(state()));
        assert_eq!(std::fs::read_dir(folder.state(3).parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_task_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = LabFolder::at(dir.path()).unwrap();
        assert!(matches!(folder.read_task(0), Err(FolderError::Io { .. })));
        std::fs::write(folder.task(0), "{\"version\":1,").unwrap();
        let message = folder.read_task(0).unwrap_err().to_string();
        assert!(message.contains("task-0.json is no task of a campaign"), "{message}");
        folder.create().unwrap();
        folder.write_campaign(&CampaignFolder::new(1, "u", "n")).unwrap();
        let message = folder.create().unwrap_err().to_string();
        assert!(message.contains("it is the folder of another campaign"), "{message}");
    }
}
