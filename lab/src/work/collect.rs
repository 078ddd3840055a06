//! Collecting what tasks of Slurm have left in their campaign's folder, and what Slurm says of the others.

use crate::data::state::{LabTask, LabTaskState};
use crate::data::tasks::TASK_TAG;
use crate::postgres::PostgresPlace;
use crate::postgres::PostgresStore;
use crate::server::{Lab, LabError};
use crate::work::folder::{FolderError, LabFolder};
use crate::work::slurm_state::{SlurmKey, ask};
use crate::work::slurm_task::{NodeStore, SlurmTaskError};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tarebench::copy::deliver;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::run::session::new_uuid;
use tarebench_store::SqliteStore;
use tarebench_store::copy::PushError;
use tarebench_store::{Store, StoreError};

/// Why an archive was not collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folder for the store that archives are read into.
    #[error(transparent)]
    Local(#[from] SlurmTaskError),
    #[error("cannot {doing} {}: {cause}", .path.display())]
    Io {
        doing: &'static str,
        path: std::path::PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// It is another task's.
    #[error("{} is no run of this task: its tag {TASK_TAG} is {found}, expected {expected}", .path.display())]
    OtherTask {
        path: std::path::PathBuf,
        /// The task's uuid in the archive; `none` without one.
        found: String,
        /// The task's uuid.
        expected: String,
    },
}

#[derive(Debug, Default)]
pub struct Collected {
    /// Places of the tasks whose runs are now in the lab's store, and how many samples these have.
    pub done: Vec<(u32, u64)>,
    /// Places of tasks whose archives were not taken, and why.
    pub refused: Vec<(u32, CollectError)>,
    /// Tasks that have neither ended nor left an archive.
    pub left: u64,
}

/// Brings the archives of a campaign's tasks into the lab's store. What cannot be taken stays where it is.
///
/// # Errors
/// The lab's, if it cannot be asked at all.
pub fn collect(
    lab: &mut Lab,
    place: &PostgresPlace,
    folder: &LabFolder,
    tasks: &[LabTask],
) -> Result<Collected, LabError> {
    let mut collected = Collected::default();
    for task in tasks {
        let archive = folder.result(task.ordinal);
        match (task.state, archive.exists()) {
            (LabTaskState::Done | LabTaskState::Cancelled, false) => {}
            (_, false) => collected.left += u64::from(task.state != LabTaskState::Failed),
            (_, true) => match collect_task(lab, place, folder, task) {
                Ok(samples) => collected.done.push((task.ordinal, samples)),
                Err(CollectError::Lab(e)) if e.is_passing() => return Err(e),
                Err(e) => collected.refused.push((task.ordinal, e)),
            },
        }
    }
    Ok(collected)
}

fn collect_task(lab: &mut Lab, place: &PostgresPlace, folder: &LabFolder, task: &LabTask) -> Result<u64, CollectError> {
    let path = folder.result(task.ordinal);
    // The queue's word counts, not the folder's.
    let expected = lab.task_plan(task.id)?.uuid;
    let store = NodeStore::make(std::env::temp_dir().join(format!("tare-collect-{}", new_uuid())))?;
    let mut local = SqliteStore::open(&store.file())?;
    let run = read_archive(&mut local, &path)?;
    let found = local.run(run)?.plan.tags.get(TASK_TAG).cloned();
    if found.as_deref() != Some(expected.as_str()) {
        let found = found.unwrap_or_else(|| "none".to_owned());
        return Err(CollectError::OtherTask { path, found, expected });
    }
    let mut server = PostgresStore::open(place)?;
    let delivered = deliver(&local, Id::run(run), &mut server, &mut |_| {})?;
    let exclusive = folder.read_state(task.ordinal)?.and_then(|state| state.exclusive);
    lab.slurm_state(task.id, LabTaskState::Done, None, exclusive)?;
    let to = folder.collected(task.ordinal);
    std::fs::rename(&path, &to).map_err(|cause| CollectError::Io { doing: "move", path, cause })?;
    Ok(delivered.samples)
}

fn read_archive(store: &mut dyn Store, path: &Path) -> Result<i64, CollectError> {
    let opened = File::open(path).map_err(|cause| CollectError::Io { doing: "open", path: path.to_owned(), cause })?;
    match store.import(&mut BufReader::new(opened))? {
        Id { kind: DocumentKind::Run, number } => Ok(number),
        Id { kind, .. } => {
            let cause = format!("it is of a {}", kind.noun());
            Err(StoreError::BadArchive { what: "an archive of a run", line: 0, column: 0, cause }.into())
        }
    }
}

/// Takes over what Slurm says of tasks that have not ended. Returns what of it failed: states then stay as they are.
pub fn update_states(lab: &mut Lab, folder: &LabFolder, tasks: &[LabTask]) -> Result<Vec<String>, LabError> {
    let open = |task: &&LabTask| matches!(task.state, LabTaskState::Waiting | LabTaskState::Leased);
    let keyed: Vec<(SlurmKey, &LabTask)> =
        tasks.iter().filter(open).filter_map(|t| Some((key(t.slurm.as_deref()?)?, t))).collect();
    let jobs: BTreeSet<u64> = keyed.iter().map(|((job, _), _)| *job).collect();
    let answer = ask(&jobs);
    for (key, task) in keyed {
        let Some(said) = answer.tasks.get(&key) else { continue };
        match said.state {
            // A word of a later Slurm.
            None => {}
            Some(LabTaskState::Done) => lost_result(lab, folder, task)?,
            Some(state @ (LabTaskState::Failed | LabTaskState::Cancelled)) => {
                lab.slurm_state(task.id, state, Some(&said.message()), None)?;
            }
            Some(state) if state != task.state => {
                lab.slurm_state(task.id, state, None, None)?;
            }
            Some(_) => {}
        }
    }
    Ok(answer.failures)
}

/// A job that has completed has pushed its run or left an archive; if not, its task has failed.
fn lost_result(lab: &mut Lab, folder: &LabFolder, task: &LabTask) -> Result<(), LabError> {
    if folder.result(task.ordinal).exists() {
        return Ok(());
    }
    let said = folder.read_state(task.ordinal).ok().flatten();
    if said.as_ref().is_some_and(|state| state.pushed) {
        return Ok(());
    }
    let message = said.and_then(|state| state.failed);
    let message = message.unwrap_or_else(|| "its job completed without a result".to_owned());
    lab.slurm_state(task.id, LabTaskState::Failed, Some(&message), None)?;
    Ok(())
}

/// Job and place of `123_4`.
fn key(slurm: &str) -> Option<SlurmKey> {
    let (job, place) = slurm.split_once('_')?;
    Some((job.parse().ok()?, place.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_knows_its_job() {
        assert_eq!(key("123_4"), Some((123, 4)));
        assert_eq!([key("123"), key("a_4"), key("123_"), key("")], [None; 4]);
    }
}
