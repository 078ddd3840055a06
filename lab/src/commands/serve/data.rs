//! What the pages need of the queue and the store.

use crate::commands::serve::trouble::Trouble;
use crate::data::campaign::Campaign;
use crate::data::state::{CampaignState, CampaignSummary, LabMachine, LabTask, LabTaskState};
use crate::pages::page::left::time_left;
use crate::pages::page::overview::{CampaignProgress, LabFailure};
use crate::server::Lab;
use std::collections::BTreeMap;
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::DocumentKind;
use tarebench::render::documents::list::DocumentRow;
use tarebench::store::{DocumentFilter, Store};
use tarebench_cli::documents::list::row;

/// Campaigns that have ended on the first page, unless all are asked for.
const ENDED: usize = 30;
/// Campaigns whose tasks are read for the first page.
const READ: usize = 20;
/// Failures on the first page.
const FAILURES: usize = 20;
/// Tasks on the page of a machine.
const TASKS: usize = 50;
/// Results on a page.
pub const RESULTS: u32 = 200;

/// What the first page needs.
pub struct LabBoard {
    pub version: i64,
    pub now: Nanos,
    pub campaigns: Vec<CampaignProgress>,
    pub more_campaigns: usize,
    pub machines: Vec<LabMachine>,
    pub failures: Vec<LabFailure>,
}

/// What the page of a campaign needs.
pub struct CampaignData {
    pub version: i64,
    pub now: Nanos,
    pub summary: CampaignSummary,
    pub campaign: Campaign,
    pub toml: String,
    pub folder: Option<String>,
    pub tasks: Vec<LabTask>,
    pub left: Option<Nanos>,
}

/// What the page of a machine needs.
pub struct MachineData {
    pub version: i64,
    pub now: Nanos,
    pub machine: LabMachine,
    pub tasks: Vec<(String, LabTask)>,
    pub alike: Vec<String>,
}

/// The counter of changes.
pub fn version(lab: &mut Lab) -> Result<i64, Trouble> {
    Ok(lab.changes_since(0)?)
}

/// For the first page; with all campaigns, or without the older ones that have ended.
pub fn board(lab: &mut Lab, all: bool) -> Result<LabBoard, Trouble> {
    // First, so that what changes meanwhile is shown again.
    let version = version(lab)?;
    let machines = lab.machines()?;
    let now = lab.now()?;
    let mut campaigns = lab.campaigns()?;
    let before = campaigns.len();
    if !all {
        let mut ended = 0;
        campaigns.retain(|c| {
            ended += usize::from(has_ended(c));
            !has_ended(c) || ended <= ENDED
        });
    }
    let more_campaigns = before - campaigns.len();
    let (mut read, mut shown, mut failures) = (0, Vec::new(), Vec::new());
    for summary in campaigns {
        let open = matches!(summary.state, CampaignState::Running | CampaignState::Queued);
        let mut left = None;
        if (open || summary.failed > 0) && read < READ {
            read += 1;
            let tasks = lab.tasks(summary.id)?;
            left = time_left(summary.state, &tasks, now);
            let failed = tasks.into_iter().filter(|t| t.state == LabTaskState::Failed);
            failures.extend(failed.map(|task| LabFailure { campaign: summary.name.clone(), task }));
        }
        shown.push(CampaignProgress { summary, left });
    }
    failures.sort_by_key(|f| std::cmp::Reverse(f.task.ended));
    failures.truncate(FAILURES);
    Ok(LabBoard { version, now, campaigns: shown, more_campaigns, machines, failures })
}

fn has_ended(c: &CampaignSummary) -> bool {
    matches!(c.state, CampaignState::Finished | CampaignState::Cancelled)
}

/// For the page of a campaign, by its number, name or uuid.
pub fn campaign(lab: &mut Lab, text: &str) -> Result<CampaignData, Trouble> {
    let version = version(lab)?;
    let summary = lab.find_campaign(text)?;
    let (campaign, toml, folder) = lab.campaign(summary.id)?;
    let tasks = lab.tasks(summary.id)?;
    let now = lab.now()?;
    let left = time_left(summary.state, &tasks, now);
    Ok(CampaignData { version, now, summary, campaign, toml, folder, tasks, left })
}

/// For the page of a machine.
pub fn machine(lab: &mut Lab, name: &str) -> Result<MachineData, Trouble> {
    let version = version(lab)?;
    let machines = lab.machines()?;
    let mut tasks: Vec<(String, LabTask)> = Vec::new();
    for campaign in lab.campaigns()?.into_iter().take(READ) {
        let all = lab.tasks(campaign.id)?.into_iter();
        let own = all.filter(|t| {
            t.started.is_some() && (t.agent.as_deref() == Some(name) || t.machine.as_deref() == Some(name))
        });
        tasks.extend(own.map(|t| (campaign.name.clone(), t)));
    }
    tasks.sort_by_key(|(_, t)| std::cmp::Reverse(t.started));
    tasks.truncate(TASKS);
    let now = lab.now()?;
    let no_such = || Trouble::NoSuch(format!("no machine of the lab has the name {name:?}"));
    let machine = machines.iter().find(|m| m.name == name).ok_or_else(no_such)?.clone();
    let alike = machines.iter().filter(|m| m.fingerprint == machine.fingerprint && m.name != name);
    let alike = alike.map(|m| m.name.clone()).collect();
    Ok(MachineData { version, now, machine, tasks, alike })
}

/// The newest results, all or those with a tag `KEY=VALUE`; runs only if they are to be compared. And whether there
/// are more.
pub fn results(store: &dyn Store, tag: Option<&str>, runs_only: bool) -> Result<(Vec<DocumentRow>, bool), Trouble> {
    let pair = |tag: &str| {
        tag.split_once('=').map_or_else(|| (tag.to_owned(), String::new()), |(k, v)| (k.to_owned(), v.to_owned()))
    };
    let tags: BTreeMap<String, String> = tag.map(pair).into_iter().collect();
    let kind = runs_only.then_some(DocumentKind::Run);
    let found = store.list(&DocumentFilter { kind, tags, limit: Some(RESULTS) })?;
    let more = found.len() >= RESULTS as usize;
    Ok((found.into_iter().map(row).collect(), more))
}
