//! A task that Slurm runs: measured into a store on the node, then pushed, or left in the campaign's folder as an
//! archive.

use crate::data::state::{LabMachineState, LabTaskState};
use crate::postgres::PostgresPlace;
use crate::server::{Lab, LabError, LeasedTask};
use crate::work::folder::{FolderError, LabFolder, TaskFile, TaskStateFile, write_json, write_whole};
use crate::work::lease::{LeaseClock, LeaseStop};
use crate::work::machine::describe;
use crate::work::needs::{self, NeedsFault};
use crate::work::slurm::output;
use crate::work::slurm_state::exclusive;
use crate::work::task::{
    LabMeasured, LabMeasurer, LabRunEnd, LabWork, TaskEnd, TaskPlace, TaskWatch, execute, newest_run,
};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::BufReader;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{Id, Status};
use tarebench_store::SqliteStore;
use tarebench_store::{Store, StoreError};
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// Lease of a task that Slurm runs, in ns: an hour. Slurm itself sees to it that no two nodes run it.
const LEASE: Nanos = Nanos(3_600_000_000_000);
/// How long to try to push before an archive is left, in ns: two minutes.
const PATIENCE: Nanos = Nanos(120_000_000_000);

/// Why a task could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum SlurmTaskError {
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The store on the node.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder on the node.
    #[error("cannot make the folder {} on this node: {cause}", .path.display())]
    Local {
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
}

/// How such a task ended.
#[derive(Debug, PartialEq, Eq)]
pub enum SlurmTaskEnd {
    /// As a task that the queue gave.
    Task(TaskEnd),
    /// Its run is in the lab's store since an earlier attempt.
    AlreadyDone,
    /// It is finished, and its archive is in the folder.
    Archived(PathBuf),
    /// It was interrupted, and can be resumed on this node from the archive in the folder.
    Interrupted(PathBuf),
}

/// The folder on this node for the store of a task: the job's own, else one of all users.
pub fn node_folder(variable: &dyn Fn(&str) -> Option<String>, ordinal: u32) -> PathBuf {
    let base =
        ["SLURM_TMPDIR", "TMPDIR"].into_iter().find_map(|name| variable(name).filter(|v| Path::new(v).is_absolute()));
    let job = variable("SLURM_JOB_ID").unwrap_or_else(|| std::process::id().to_string());
    let user = tarebench_sys::process::effective_uid();
    Path::new(base.as_deref().unwrap_or("/tmp")).join(format!("tare-lab-{user}-{job}-{ordinal}"))
}

/// Name of this node in the lab: that of Slurm, as several may be one machine for the kernel.
pub fn node_name(variable: &dyn Fn(&str) -> Option<String>) -> String {
    variable("SLURMD_NODENAME").unwrap_or_else(|| tarebench_sys::uname::uname().node)
}

/// Whether this job has its node alone; `None` if Slurm does not say. To be asked before signals are blocked.
pub fn node_exclusive(variable: &dyn Fn(&str) -> Option<String>) -> Option<bool> {
    let job = variable("SLURM_JOB_ID")?;
    exclusive(&output("scontrol", &["show", "job", "--oneliner", &job]).ok()?)
}

/// A store on the node; its folder is removed with this, unless it is kept.
pub struct NodeStore {
    folder: PathBuf,
    keep: bool,
}

impl NodeStore {
    /// Makes the folder, for this user only; that of an earlier attempt of the same job is used again.
    ///
    /// # Errors
    /// [`SlurmTaskError::Local`].
    pub fn make(folder: PathBuf) -> Result<NodeStore, SlurmTaskError> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let made = match DirBuilder::new().mode(0o700).create(&folder) {
            // In a folder of all users, it may be another's.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => folder.symlink_metadata().and_then(|m| {
                let own = m.is_dir() && m.uid() == tarebench_sys::process::effective_uid();
                let private = m.permissions().mode() & 0o077 == 0;
                if own && private { Ok(()) } else { Err(e) }
            }),
            other => other,
        };
        match made {
            Ok(()) => Ok(NodeStore { folder, keep: false }),
            Err(cause) => Err(SlurmTaskError::Local { path: folder, cause }),
        }
    }

    /// File of the store.
    pub fn file(&self) -> PathBuf {
        self.folder.join("tare.db")
    }
}

impl Drop for NodeStore {
    fn drop(&mut self) {
        if !self.keep {
            // If this fails, Slurm or the next boot removes it.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// What a task needs beside its plan.
pub struct SlurmTaskPlace<'a> {
    /// The campaign's folder.
    pub folder: &'a LabFolder,
    /// The store on the node.
    pub store: &'a mut NodeStore,
    /// The lab, if it is to be pushed to.
    pub lab: Option<&'a PostgresPlace>,
    /// Name of the node.
    pub node: &'a str,
    /// Whether the node is the task's alone, if that is known.
    pub exclusive: Option<bool>,
}

/// What the queue says of a task that Slurm has given to this node.
enum QueueAnswer {
    Given(Box<LeasedTask>),
    Done,
    Cancelled,
    /// The campaign is paused, or the node is drained.
    NotGiven,
}

/// Runs the task of a folder.
///
/// # Errors
/// If its files cannot be read or written, or the node's store cannot be made.
pub fn run(
    file: &TaskFile,
    place: SlurmTaskPlace<'_>,
    signals: &Signals,
    measure: LabMeasurer<'_>,
    watch: TaskWatch<'_>,
) -> Result<SlurmTaskEnd, SlurmTaskError> {
    let local = place.store.file();
    take_up(place.folder, file, &local)?;
    let asked = place.lab.map(|lab| (lab, ask_queue(lab, file, place.node)));
    let end = match asked {
        Some((lab, Ok(QueueAnswer::Given(task)))) => {
            let to =
                TaskPlace { local: &local, lab, lease: LEASE, patience: Some(PATIENCE), exclusive: place.exclusive };
            execute(&task, &to, signals, measure, watch)
        }
        // Slurm has started it once more.
        Some((_, Ok(QueueAnswer::Done))) => return Ok(SlurmTaskEnd::AlreadyDone),
        Some((_, Ok(QueueAnswer::Cancelled))) => return Ok(SlurmTaskEnd::Task(TaskEnd::Cancelled)),
        // Slurm has given it to this node, so it is measured.
        Some((_, Ok(QueueAnswer::NotGiven) | Err(_))) | None => alone(file, &local, signals, measure),
    };
    settle(file, place, &local, end)
}

fn ask_queue(place: &PostgresPlace, file: &TaskFile, node: &str) -> Result<QueueAnswer, LabError> {
    let mut lab = Lab::connect(place)?;
    lab.announce(&describe(node, &BTreeMap::new(), LabMachineState::Busy, Some(file.task)))?;
    if let Some(task) = lab.take_task(file.task, node, LEASE)? {
        return Ok(QueueAnswer::Given(Box::new(task)));
    }
    match lab.find_task(&file.task.to_string())?.state {
        LabTaskState::Done => return Ok(QueueAnswer::Done),
        LabTaskState::Cancelled => return Ok(QueueAnswer::Cancelled),
        // Another node had it and is gone, or Slurm would not have given it to this one; or it is tried again.
        LabTaskState::Leased | LabTaskState::Failed => {
            lab.slurm_state(file.task, LabTaskState::Waiting, None, None)?;
        }
        LabTaskState::Waiting => return Ok(QueueAnswer::NotGiven),
    }
    let task = lab.take_task(file.task, node, LEASE)?;
    Ok(task.map_or(QueueAnswer::NotGiven, |task| QueueAnswer::Given(Box::new(task))))
}

/// Imports what an interrupted attempt of the task has left, unless this node's store has it.
fn take_up(folder: &LabFolder, file: &TaskFile, local: &Path) -> Result<(), SlurmTaskError> {
    let mut store = SqliteStore::open(local)?;
    if newest_run(&store, &file.plan.uuid)?.is_some() {
        return Ok(());
    }
    if let Ok(archive) = File::open(folder.partial(file.plan.ordinal)) {
        // A damaged one is of no use; the task then begins anew.
        let _ = store.import(&mut BufReader::new(archive));
    }
    Ok(())
}

/// Measures without the queue.
fn alone(file: &TaskFile, local: &Path, signals: &Signals, measure: LabMeasurer<'_>) -> TaskEnd {
    let plan = &file.plan;
    match needs::check(&plan.needs, signals) {
        Ok(()) => {}
        Err(NeedsFault::Missing(what)) => return TaskEnd::Failed(what),
        Err(NeedsFault::Interrupted(signal)) => return TaskEnd::GivenBack(signal),
    }
    let now = clock::monotonic;
    let mut lease = LeaseClock::new(LEASE, plan.time_limit, &now);
    let mut between = |_| lease.between(&mut |_| None);
    let known = SqliteStore::open(local).and_then(|store| newest_run(&store, &plan.uuid)).ok().flatten();
    let resumed = match known {
        Some((run, Status::Finished)) => measure(LabWork::Judge(run), signals, &mut between).ok(),
        Some((run, _)) => measure(LabWork::Resume(plan, run), signals, &mut between).ok(),
        None => None,
    };
    let measured = match resumed {
        Some(measured) => Ok(measured),
        None => measure(LabWork::Measure(plan), signals, &mut between),
    };
    let stopped = lease.stopped();
    match measured {
        Ok(LabMeasured { run, ended: LabRunEnd::Finished }) => {
            TaskEnd::NotDelivered { run, cause: "the queue was not asked".to_owned() }
        }
        Ok(LabMeasured { ended: LabRunEnd::Failed(why), .. }) | Err(why) => TaskEnd::Failed(why),
        Ok(LabMeasured { ended: LabRunEnd::Interrupted, .. }) => match (stopped, signals.caught()) {
            (Some(LeaseStop::TimeLimit(limit)), _) => {
                TaskEnd::Failed(format!("it took longer than its time limit of {} s", limit.secs()))
            }
            (_, signal) => TaskEnd::GivenBack(signal.unwrap_or_default()),
        },
    }
}

/// Leaves in the campaign's folder what is not in the lab's store, and how the task ended.
fn settle(
    file: &TaskFile,
    place: SlurmTaskPlace<'_>,
    local: &Path,
    end: TaskEnd,
) -> Result<SlurmTaskEnd, SlurmTaskError> {
    let ordinal = file.plan.ordinal;
    let store = SqliteStore::open(local)?;
    let newest = newest_run(&store, &file.plan.uuid)?;
    let run = newest.map(|(id, _)| store.run(id)).transpose()?.map(|run| run.uuid);
    let mut state = TaskStateFile {
        task: file.task,
        node: place.node.to_owned(),
        at: clock::realtime(),
        run,
        finished: false,
        pushed: false,
        exclusive: place.exclusive,
        failed: None,
    };
    let mut archive = |path: PathBuf| -> Result<Option<PathBuf>, SlurmTaskError> {
        let Some((id, _)) = newest else { return Ok(None) };
        write_archive(&store, id, &path).inspect_err(|_| place.store.keep = true)?;
        Ok(Some(path))
    };
    let ended = match end {
        TaskEnd::NotDelivered { run, cause } => {
            state.finished = true;
            match archive(place.folder.result(ordinal))? {
                Some(path) => SlurmTaskEnd::Archived(path),
                None => SlurmTaskEnd::Task(TaskEnd::NotDelivered { run, cause }),
            }
        }
        end @ (TaskEnd::GivenBack(_) | TaskEnd::Lost) => match archive(place.folder.partial(ordinal))? {
            Some(path) => SlurmTaskEnd::Interrupted(path),
            None => SlurmTaskEnd::Task(end),
        },
        TaskEnd::Failed(why) => {
            state.failed = Some(why.clone());
            SlurmTaskEnd::Task(TaskEnd::Failed(why))
        }
        end => {
            state.finished = matches!(end, TaskEnd::Done { .. });
            state.pushed = state.finished;
            SlurmTaskEnd::Task(end)
        }
    };
    write_json(&place.folder.state(ordinal), &state)?;
    if state.finished {
        // What was there of an interrupted attempt is part of the run, or of no use.
        let _ = std::fs::remove_file(place.folder.partial(ordinal));
    }
    Ok(ended)
}

fn write_archive(store: &dyn Store, run: i64, path: &Path) -> Result<(), SlurmTaskError> {
    let mut failed = None;
    let written = write_whole(path, &mut |out| {
        store.export(Id::run(run), out).unwrap_or_else(|e| {
            let text = e.to_string();
            failed = Some(e);
            Err(std::io::Error::other(text))
        })
    });
    match failed {
        Some(e) => Err(e.into()),
        None => Ok(written?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_node_is_described_by_its_variables() {
        let variables = |known: &'static [(&'static str, &'static str)]| {
            move |name: &str| known.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        let own = variables(&[
            ("SLURM_TMPDIR", "/local/7"),
            ("TMPDIR", "/tmp/x"),
            ("SLURM_JOB_ID", "7"),
            ("SLURMD_NODENAME", "n3"),
        ]);
        let user = tarebench_sys::process::effective_uid();
        assert_eq!(node_folder(&own, 4), Path::new("/local/7").join(format!("tare-lab-{user}-7-4")));
        assert_eq!(node_name(&own), "n3");
        let relative = variables(&[("SLURM_TMPDIR", "here"), ("SLURM_JOB_ID", "7")]);
        assert!(node_folder(&relative, 0).starts_with("/tmp"));
        // Nobody is asked outside of a job.
        assert_eq!(node_exclusive(&variables(&[])), None);
    }

    #[test]
    fn a_store_on_the_node_is_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("store");
        let store = NodeStore::make(folder.clone()).unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(store.file().starts_with(&folder));
        drop(store);
        assert!(!folder.exists());
        // Somebody else's, or open to others.
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(NodeStore::make(folder.clone()), Err(SlurmTaskError::Local { .. })));
        std::fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(dir.path(), &folder).unwrap();
        assert!(NodeStore::make(folder).is_err());
    }
}
