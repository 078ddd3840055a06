//! Errors of a lab: what failed, where, what was expected, and the cause.

use std::path::PathBuf;
use tarebench_store::error::StoreError;

/// An error of a lab's queue. Each is one sentence; hints belong to the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The connection, a right, or anything else that may happen to a store as well.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database has no queue.
    #[error("{} is not a lab: {cause}", .path.display())]
    NotALab {
        /// Its URL, without a password.
        path: PathBuf,
        /// The server's words.
        cause: String,
    },
    /// Another version of tare has written the queue's tables.
    #[error("the lab {} has version {found} of the queue, this tare expects version {known}", .path.display())]
    Version {
        /// Its URL, without a password.
        path: PathBuf,
        found: i64,
        /// The latest one known here.
        known: i64,
    },
    /// Users of the database may create objects in the lab's schema, which its functions would use with their owner's rights.
    #[error(
        "{} cannot be a lab: any user may create objects in its schema {schema}, and this user may not change that",
        .path.display()
    )]
    OpenSchema {
        /// Its URL, without a password.
        path: PathBuf,
        schema: String,
    },
    /// No campaign has this number, name, uuid or prefix.
    #[error("there is no campaign {campaign:?} in the lab {}", .path.display())]
    NoSuchCampaign {
        /// Its URL, without a password.
        path: PathBuf,
        /// As it was asked for.
        campaign: String,
    },
    /// A prefix fits several campaigns.
    #[error("{text:?} matches the uuids of several campaigns: {}", list(.campaigns))]
    AmbiguousCampaign {
        text: String,
        /// The numbers of the first few of them.
        campaigns: Vec<i64>,
    },
    /// No task has this number or uuid.
    #[error("there is no task {task:?} in the lab {}", .path.display())]
    NoSuchTask {
        /// Its URL, without a password.
        path: PathBuf,
        /// As it was asked for.
        task: String,
    },
    /// No agent of this name has announced itself.
    #[error("the lab {} knows no machine {machine:?}", .path.display())]
    NoSuchMachine {
        /// Its URL, without a password.
        path: PathBuf,
        machine: String,
    },
    /// Another user's agent has this name.
    #[error("the machine {machine:?} of the lab belongs to another user: {owner}")]
    NotYours {
        machine: String,
        /// Role of the database.
        owner: String,
    },
    /// Another process has announced itself under this name since.
    #[error("another agent has taken the name {machine:?}: two agents of a lab cannot have the same name")]
    Replaced { machine: String },
    /// The lab's store does not have the results of a task as finished runs with the task's tag, pushed by who holds it.
    #[error("task {task} cannot be finished: {}", missing(.runs))]
    RunsMissing {
        task: i64,
        /// Uuids; empty: no run was named.
        runs: Vec<String>,
    },
    /// A campaign without tasks cannot be submitted.
    #[error("the campaign {campaign:?} has no tasks")]
    NoTasks { campaign: String },
    /// A task with the same uuid belongs to another campaign.
    #[error(
        "the campaign {campaign:?} was not submitted: another campaign has a task with the uuid of one of its tasks"
    )]
    TaskElsewhere { campaign: String },
}

impl LabError {
    /// Whether it may pass by itself, so that what failed may be tried again, over a new connection.
    pub fn is_passing(&self) -> bool {
        matches!(self, LabError::Store(e) if e.is_passing())
    }
}

fn list(campaigns: &[i64]) -> String {
    let words: Vec<String> = campaigns.iter().map(i64::to_string).collect();
    words.join(", ")
}

fn missing(runs: &[String]) -> String {
    if runs.is_empty() {
        return "it has no finished run in the lab's store".to_owned();
    }
    format!("the lab's store has no finished run of it with the uuid {}", runs.join(", "))
}
