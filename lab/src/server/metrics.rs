//! Figures of a lab for a monitoring system.

use crate::data::state::{CampaignState, LabMachineState, LabTaskState};
use crate::server::campaigns::TASK_STATES;
use crate::server::connection::{Lab, Question};
use crate::server::error::LabError;
use crate::server::machines::{MACHINE_STATE, MACHINE_STATES};

/// How a lab stands. Each list names every state, also those that nothing is in.
#[derive(Clone, Debug, PartialEq)]
pub struct LabMetrics {
    /// Waiting tasks whose time has come, of campaigns that are not paused.
    pub queue: u64,
    /// Machines by what they do.
    pub machines: Vec<(LabMachineState, u64)>,
    /// Counted samples per minute that agents have reported in the last 5 minutes.
    pub samples_per_minute: f64,
    /// Attempts that have failed since the lab was made, lost leases included: a counter.
    pub failures: u64,
    /// Changes of the queue since the lab was made: a counter.
    pub changes: u64,
    pub tasks: Vec<(LabTaskState, u64)>,
    pub campaigns: Vec<(CampaignState, u64)>,
}

/// All states of a campaign.
const CAMPAIGN_STATES: [CampaignState; 5] = [
    CampaignState::Queued,
    CampaignState::Running,
    CampaignState::Paused,
    CampaignState::Cancelled,
    CampaignState::Finished,
];

impl Lab {
    pub fn metrics(&mut self) -> Result<LabMetrics, LabError> {
        let doing = "read the lab's figures";
        let sql = "SELECT
            (SELECT count(*) FROM lab_task AS t JOIN lab_campaign AS c ON c.id = t.campaign
                WHERE t.state = 'waiting' AND t.not_before_ns <= lab_now() AND NOT c.paused AND NOT c.cancelled),
            (SELECT coalesce(sum(samples), 0)::bigint FROM lab_rate WHERE slot > lab_now() / 10000000000 - 30),
            failures, changes FROM lab_state";
        let rows = self.ask(&Question { doing, sql, values: &[], subject: "" })?;
        let row = rows.first().ok_or_else(|| self.unreadable(doing, "the queue's state", "there is none"))?;
        let (queue, samples) = (self.count(doing, row, 0)?, self.count(doing, row, 1)?);
        let (failures, changes) = (self.count(doing, row, 2)?, self.count(doing, row, 3)?);
        let machines =
            self.counts(&format!("SELECT {MACHINE_STATE} AS s, count(*) FROM lab_machine AS m GROUP BY s"))?;
        let tasks = self.counts("SELECT state, count(*) FROM lab_task GROUP BY state")?;
        let found =
            |counts: &[(String, u64)], name: &str| counts.iter().find(|(s, _)| s == name).map_or(0, |(_, n)| *n);
        let listed = self.campaigns()?;
        let campaigns =
            CAMPAIGN_STATES.map(|state| (state, listed.iter().filter(|c| c.state == state).count() as u64)).into();
        Ok(LabMetrics {
            queue,
            machines: MACHINE_STATES.map(|(state, name)| (state, found(&machines, name))).into(),
            samples_per_minute: samples as f64 / 5.0,
            failures,
            changes,
            tasks: TASK_STATES.map(|(state, name)| (state, found(&tasks, name))).into(),
            campaigns,
        })
    }

    fn counts(&mut self, sql: &str) -> Result<Vec<(String, u64)>, LabError> {
        let doing = "read the lab's figures";
        let rows = self.ask(&Question { doing, sql, values: &[], subject: "" })?;
        rows.iter().map(|row| Ok((self.column(doing, row, 0)?, self.count(doing, row, 1)?))).collect()
    }
}
