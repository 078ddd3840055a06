//! Submitting a campaign: to a lab's queue for its agents, or to Slurm.

use crate::data::campaign::{Campaign, CampaignError, MachineChoice};
use crate::data::state::{CampaignSummary, LabEngine, LabTask};
use crate::data::tasks::{LabTaskPlan, expand};
use crate::server::{Lab, LabError};
use crate::work::folder::{CampaignFolder, FolderError, LabFolder, TaskFile, read_json, write_json, write_whole};
use crate::work::hours::local_midnight;
use crate::work::slurm::{SlurmCommand, SlurmError, SlurmOptions, idle_nodes, jobs, sbatch, sbatch_arguments, script};
use std::path::PathBuf;
use tarebench::run::session::new_uuid;
use tarebench_sys::clock;

/// Why a campaign was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Slurm, before anything was submitted.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// No node is idle.
    #[error("no node is idle, so that there is none to distribute tasks to")]
    NoIdleNode,
    /// Slurm did not take the tasks of a campaign that is in the lab.
    #[error("campaign {campaign} is in the lab, but Slurm did not take all of its tasks: {cause}")]
    NotTaken {
        campaign: i64,
        /// Slurm's failure.
        cause: Box<SubmitError>,
    },
}

/// How Slurm is to run a campaign.
pub struct SlurmSubmit<'a> {
    /// The campaign's folder, on a file system that all nodes share.
    pub folder: &'a LabFolder,
    /// What the user asks of Slurm.
    pub options: &'a SlurmOptions,
    /// What a task starts.
    pub command: &'a SlurmCommand,
    /// One task on each idle node of this partition, or of the usual one.
    pub distribute: bool,
    /// The partition that the user names.
    pub partition: Option<&'a str>,
}

/// The tasks of a campaign, as of now.
pub fn plan(lab: &mut Lab, campaign: &Campaign) -> Result<Vec<LabTaskPlan>, SubmitError> {
    let machines = lab.machines()?;
    let now = clock::realtime();
    Ok(expand(campaign, &machines, now, local_midnight(now, &clock::zone()), &mut new_uuid)?)
}

/// Queues the tasks of a campaign for the agents of a lab.
pub fn to_agents(
    lab: &mut Lab,
    campaign: &Campaign,
    toml: &str,
    tasks: &[LabTaskPlan],
) -> Result<CampaignSummary, SubmitError> {
    Ok(lab.submit(campaign, LabEngine::Agents, toml, tasks, None)?)
}

/// The campaign with the nodes that Slurm has, where it asks for all machines, or is to be distributed.
///
/// # Errors
/// Slurm's; [`SubmitError::NoIdleNode`].
pub fn on_nodes(campaign: Campaign, how: &SlurmSubmit<'_>) -> Result<Campaign, SubmitError> {
    if !how.distribute && campaign.machines != MachineChoice::All {
        return Ok(campaign);
    }
    let nodes = idle_nodes(how.partition)?;
    if nodes.is_empty() {
        return Err(SubmitError::NoIdleNode);
    }
    Ok(Campaign { machines: MachineChoice::Names(nodes), ..campaign })
}

/// Submits the tasks of a campaign as array jobs of Slurm.
///
/// # Errors
/// [`SubmitError::NotTaken`] if the lab has the campaign, but not all of its tasks are in a job; others if nothing
/// was submitted.
pub fn to_slurm(
    lab: &mut Lab,
    campaign: &Campaign,
    toml: &str,
    tasks: &[LabTaskPlan],
    how: &SlurmSubmit<'_>,
) -> Result<CampaignSummary, SubmitError> {
    how.folder.create()?;
    let path = how.folder.path().display().to_string();
    let summary = lab.submit(campaign, LabEngine::Slurm, toml, tasks, Some(&path))?;
    let queued = lab.tasks(summary.id)?;
    let started = write_files(&summary, toml, tasks, &queued, how).and_then(|()| start_jobs(lab, tasks, &queued, how));
    match started {
        Ok(()) => Ok(summary),
        Err(cause) => Err(SubmitError::NotTaken { campaign: summary.id, cause: Box::new(cause) }),
    }
}

fn write_files(
    summary: &CampaignSummary,
    toml: &str,
    tasks: &[LabTaskPlan],
    queued: &[LabTask],
    how: &SlurmSubmit<'_>,
) -> Result<(), SubmitError> {
    let folder = how.folder;
    write_json(&submission_file(folder), &(how.options, how.command))?;
    folder.write_campaign(&CampaignFolder::new(summary.id, &summary.uuid, &summary.name))?;
    write_whole(&folder.path().join("campaign.toml"), &mut |out| out.write_all(toml.as_bytes()))?;
    for plan in tasks {
        let Some(task) = queued.iter().find(|t| t.ordinal == plan.ordinal) else { continue };
        let file = TaskFile::new(task.id, &summary.name, plan.clone());
        write_json(&folder.task(plan.ordinal), &file)?;
    }
    Ok(())
}

fn submission_file(folder: &LabFolder) -> PathBuf {
    folder.path().join("sbatch.json")
}

/// How a campaign's folder was submitted first.
pub fn submission(folder: &LabFolder) -> Result<(SlurmOptions, SlurmCommand), FolderError> {
    read_json(&submission_file(folder), "submission to Slurm")
}

/// Starts the array jobs for these tasks, whose files are in the folder.
///
/// # Errors
/// Slurm's, or the lab's; tasks of earlier jobs stay submitted.
pub fn start_jobs(
    lab: &mut Lab,
    tasks: &[LabTaskPlan],
    queued: &[LabTask],
    how: &SlurmSubmit<'_>,
) -> Result<(), SubmitError> {
    let zone = clock::zone();
    let text = script(how.command, how.folder);
    for (number, job) in jobs(tasks, clock::realtime()).iter().enumerate() {
        let file = how.folder.script(number);
        write_whole(&file, &mut |out| out.write_all(text.as_bytes()))?;
        let id = sbatch(&sbatch_arguments(job, how.options, how.folder, &zone), &file)?;
        for task in queued.iter().filter(|t| job.ordinals.contains(&t.ordinal)) {
            lab.set_slurm(task.id, &format!("{id}_{}", task.ordinal))?;
        }
    }
    Ok(())
}
