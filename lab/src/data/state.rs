//! What a lab's queue knows: campaigns, tasks and machines. Times are counted since 1970, by the server's clock.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::{Factor, Host};

/// What runs a campaign's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabEngine {
    /// `tare lab agent` on each machine.
    Agents,
    /// An array job of Slurm.
    Slurm,
}

/// How a campaign stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// No task was started yet.
    Queued,
    /// A task was started, and some have not ended.
    Running,
    /// Its waiting tasks are held back.
    Paused,
    /// Its waiting tasks were cancelled.
    Cancelled,
    /// Every task has ended; some may have failed.
    Finished,
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabTaskState {
    /// For a machine, or for its time to come.
    Waiting,
    /// A machine runs it.
    Leased,
    /// Its runs are in the lab's store.
    Done,
    /// Its last attempt failed.
    Failed,
    /// It will not be run.
    Cancelled,
}

/// A campaign in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignSummary {
    /// Its number in this lab.
    pub id: i64,
    pub uuid: String,
    pub name: String,
    /// Role of the database's user who submitted it.
    pub owner: String,
    pub engine: LabEngine,
    /// When it was submitted.
    pub created: Nanos,
    pub state: CampaignState,
    /// All its tasks; the five numbers below add up to it.
    pub tasks: u64,
    pub waiting: u64,
    pub leased: u64,
    pub done: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// Counted samples of its tasks so far, as last reported.
    pub samples: u64,
}

/// A task of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabTask {
    /// Its number in this lab.
    pub id: i64,
    /// The number of its campaign.
    pub campaign: i64,
    /// Its place in the campaign, from 0 on.
    pub ordinal: u32,
    /// Which repetition it belongs to, from 0 on.
    pub repetition: u32,
    /// It is not started before this time.
    pub not_before: Nanos,
    /// The machine that it is for, or on which it was last leased; `None`: any that fits.
    pub machine: Option<String>,
    pub state: LabTaskState,
    /// How often it was started; drained and preempted attempts are not counted.
    pub attempts: u32,
    /// Name of the agent that holds or last held it.
    pub agent: Option<String>,
    /// When its lease ends without a further heartbeat.
    pub lease_ends: Option<Nanos>,
    /// How far its machine is with it.
    pub progress: Option<LabProgress>,
    /// Start of its latest attempt.
    pub started: Option<Nanos>,
    /// End of its latest attempt.
    pub ended: Option<Nanos>,
    /// Why its latest attempt failed.
    pub message: Option<String>,
    /// Uuids of its runs.
    pub runs: Vec<String>,
    /// Array job and task of Slurm, `4711_3`.
    pub slurm: Option<String>,
    /// Whether its node was its own, where Slurm said so.
    pub exclusive: Option<bool>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabProgress {
    /// Counted samples so far.
    pub done: u64,
    /// Counted samples wanted, if that is known.
    pub wanted: Option<u64>,
}

/// A machine of the lab, as its agent described it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabMachine {
    /// Its name in the lab.
    pub name: String,
    /// Role of the database's user whose agent runs on it.
    pub owner: String,
    /// What campaigns may choose it by.
    pub tags: BTreeMap<String, String>,
    /// A hash of the machine id, as in [`Host`].
    pub machine: String,
    /// As in [`tarebench_core::machine::conditions::fingerprint`].
    pub fingerprint: String,
    pub host: Host,
    /// State of the machine, when it was last announced.
    pub factors: Vec<Factor>,
    /// Version of its tare.
    pub version: String,
    pub state: LabMachineState,
    /// Load average of the last minute, in runnable tasks.
    pub load: Option<f64>,
    pub first_seen: Nanos,
    /// When its agent was last heard of.
    pub heartbeat: Nanos,
    /// Number of the task that it holds.
    pub task: Option<i64>,
    /// It takes no further tasks.
    pub draining: bool,
}

/// What a machine of the lab does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabMachineState {
    /// It waits for a task.
    Idle,
    /// It runs a task.
    Busy,
    /// It takes no further tasks.
    Draining,
    /// Its load is above the maximum of its agent.
    TooLoaded,
    /// The time is outside of its agent's hours.
    OutsideHours,
    /// No heartbeat for longer than its lease; computed by who reads it.
    Gone,
}
