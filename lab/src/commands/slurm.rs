//! Campaigns that Slurm runs: what its commands say and do. Where they fail, that is reported once, and nothing of
//! the lab changes.

use crate::data::state::{LabTask, LabTaskState};
use crate::server::{Lab, LabError};
use crate::work::collect::update_states;
use crate::work::folder::LabFolder;
use crate::work::slurm::control as ask_slurm;
use crate::work::submit::{SlurmSubmit, SubmitError, start_jobs, submission};
use std::collections::BTreeSet;
use std::path::Path;
use tarebench::report::text::escape;
use tarebench_cli::exit::Failure;

/// What Slurm is to do with a campaign's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlurmWish {
    Cancel,
    Hold,
    Release,
}

/// The folder of a campaign that Slurm runs.
pub fn folder(lab: &mut Lab, campaign: i64) -> Result<LabFolder, Failure> {
    let (_, _, folder) = lab.campaign(campaign)?;
    let none =
        || Failure::usage(format!("campaign {campaign} has no folder: agents run it, who push what they measure"));
    Ok(LabFolder::at(Path::new(&folder.ok_or_else(none)?))?)
}

/// Takes over what Slurm says of a campaign's tasks.
pub fn update(lab: &mut Lab, campaign: i64) {
    let asked = folder(lab, campaign).and_then(|folder| {
        let tasks = lab.tasks(campaign)?;
        Ok(update_states(lab, &folder, &tasks)?)
    });
    match asked {
        Ok(failures) => failures.iter().for_each(|e| warn(&format!("states may be old: {e}"))),
        Err(e) => warn(&format!("states may be old: {}", e.message)),
    }
}

fn warn(text: &str) {
    eprintln!("tare: warning: {}", escape(text));
}

/// Asks Slurm to cancel, hold or release the jobs of a campaign's tasks that have not ended.
pub fn control(lab: &mut Lab, campaign: i64, wish: SlurmWish) {
    let asked = lab.tasks(campaign).map_err(Failure::from).and_then(|tasks| {
        let jobs = jobs(&tasks, wish);
        if jobs.is_empty() {
            return Ok(());
        }
        let list = jobs.into_iter().collect::<Vec<_>>().join(",");
        match wish {
            // It takes several as words.
            SlurmWish::Cancel => ask_slurm("scancel", &list.split(',').collect::<Vec<_>>()),
            SlurmWish::Hold => ask_slurm("scontrol", &["hold", &list]),
            SlurmWish::Release => ask_slurm("scontrol", &["release", &list]),
        }
        .map_err(Failure::system)
    });
    if let Err(e) = asked {
        warn(&format!("Slurm was not told: {}", e.message));
    }
}

/// The jobs of tasks, by number and place; tasks that run are told by the queue, and end after their sample.
fn jobs(tasks: &[LabTask], wish: SlurmWish) -> BTreeSet<String> {
    let told = |task: &&LabTask| match wish {
        SlurmWish::Cancel => matches!(task.state, LabTaskState::Waiting | LabTaskState::Cancelled),
        SlurmWish::Hold | SlurmWish::Release => task.state == LabTaskState::Waiting,
    };
    tasks.iter().filter(told).filter_map(|task| task.slurm.clone()).collect()
}

/// Submits the tasks that had failed or were cancelled, as they were submitted first.
pub fn start_again(lab: &mut Lab, campaign: i64, before: &[LabTask]) -> Result<(), Failure> {
    let folder = folder(lab, campaign)?;
    let (options, command) = submission(&folder)?;
    let ended: BTreeSet<i64> = before
        .iter()
        .filter(|task| matches!(task.state, LabTaskState::Failed | LabTaskState::Cancelled))
        .map(|task| task.id)
        .collect();
    let queued = lab.tasks(campaign)?;
    let again = queued.iter().filter(|task| ended.contains(&task.id) && task.state == LabTaskState::Waiting);
    let plans = again.map(|task| lab.task_plan(task.id)).collect::<Result<Vec<_>, LabError>>()?;
    let how = SlurmSubmit { folder: &folder, options: &options, command: &command, distribute: false, partition: None };
    start_jobs(lab, &plans, &queued, &how)?;
    Ok(())
}

impl From<SubmitError> for Failure {
    fn from(e: SubmitError) -> Failure {
        match e {
            SubmitError::Lab(e) => e.into(),
            SubmitError::Campaign(_) => Failure::usage(e.to_string()),
            SubmitError::Folder(e) => e.into(),
            SubmitError::NoIdleNode => Failure::system(e).hint("wait, or name the machines in the campaign's file"),
            SubmitError::Slurm(_) => Failure::system(e),
            SubmitError::NotTaken { campaign, .. } => {
                let hint = format!(
                    "`tare lab cancel {campaign}`, then `tare lab retry {campaign}`, submit all its tasks again"
                );
                Failure::system(e).hint(hint)
            }
        }
    }
}

impl From<crate::work::folder::FolderError> for Failure {
    fn from(e: crate::work::folder::FolderError) -> Failure {
        Failure::system(e)
    }
}
