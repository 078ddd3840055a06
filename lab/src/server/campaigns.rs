//! Campaigns and their tasks, for those who submit and watch them.

use crate::data::campaign::{Campaign, MachineChoice};
use crate::data::state::{CampaignState, CampaignSummary, LabEngine, LabProgress, LabTask, LabTaskState};
use crate::data::tasks::LabTaskPlan;
use crate::server::connection::{Lab, Question};
use crate::server::error::LabError;
use postgres::Row;
use std::time::{Duration, Instant};
use tarebench_core::base::units::Nanos;
use tarebench_store::error::StoreError;

/// The shortest prefix of a uuid that names a campaign.
const SHORTEST_PREFIX: usize = 4;

/// All states, by their names in the database.
pub(crate) const TASK_STATES: [(LabTaskState, &str); 5] = [
    (LabTaskState::Waiting, "waiting"),
    (LabTaskState::Leased, "leased"),
    (LabTaskState::Done, "done"),
    (LabTaskState::Failed, "failed"),
    (LabTaskState::Cancelled, "cancelled"),
];

const ENGINES: [(LabEngine, &str); 2] = [(LabEngine::Agents, "agents"), (LabEngine::Slurm, "slurm")];

/// Campaigns with the numbers of their tasks; `$1` is a number, or NULL for all.
const SUMMARIES: &str = "SELECT c.id, c.uuid, c.name, c.owner, c.engine, c.created_ns, c.paused, c.cancelled, t.tasks, t.waiting,
        t.leased, t.done, t.failed, t.cancelled, t.samples
    FROM lab_campaign AS c CROSS JOIN LATERAL (
        SELECT count(*) AS tasks, count(*) FILTER (WHERE state = 'waiting') AS waiting,
            count(*) FILTER (WHERE state = 'leased') AS leased, count(*) FILTER (WHERE state = 'done') AS done,
            count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
            coalesce(sum(coalesce(samples, lab_task.done)), 0)::bigint AS samples
        FROM lab_task WHERE campaign = c.id) AS t
    WHERE $1::bigint IS NULL OR c.id = $1 ORDER BY c.id DESC";

/// Tasks; a condition follows.
const TASKS: &str =
    "SELECT id, campaign, ordinal::bigint, repetition::bigint, not_before_ns, coalesce(machine, agent), state,
        attempts::bigint, agent, lease_ends_ns, done, wanted, started_ns, ended_ns, message, runs, slurm, exclusive
    FROM lab_task WHERE";

/// The tasks of a campaign as the columns that a function takes.
#[derive(Default)]
struct TaskColumns<'a> {
    uuids: Vec<&'a str>,
    ordinals: Vec<i32>,
    repetitions: Vec<i32>,
    not_before: Vec<i64>,
    machines: Vec<Option<&'a str>>,
    names: Vec<Option<String>>,
    tags: Vec<Option<String>>,
    retries: Vec<i32>,
    plans: Vec<String>,
}

impl<'a> TaskColumns<'a> {
    fn new(tasks: &'a [LabTaskPlan]) -> Result<TaskColumns<'a>, serde_json::Error> {
        let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let mut columns = TaskColumns::default();
        for task in tasks {
            let (names, tags) = match &task.fits {
                MachineChoice::All | MachineChoice::Count(_) => (None, None),
                MachineChoice::Names(names) => (Some(serde_json::to_string(names)?), None),
                MachineChoice::Tags { tags, count: _ } => (None, Some(serde_json::to_string(tags)?)),
            };
            columns.uuids.push(&task.uuid);
            columns.ordinals.push(number(task.ordinal));
            columns.repetitions.push(number(task.repetition));
            columns.not_before.push(task.not_before.0);
            columns.machines.push(task.machine.as_deref());
            columns.names.push(names);
            columns.tags.push(tags);
            columns.retries.push(number(task.retries));
            columns.plans.push(serde_json::to_string(task)?);
        }
        Ok(columns)
    }
}

impl Lab {
    /// Queues a campaign with its tasks. Repeated with the same tasks, as after a lost answer, it changes nothing and returns the
    /// campaign of the first time.
    ///
    /// # Errors
    /// [`LabError::NoTasks`], [`LabError::TaskElsewhere`]; [`StoreError::NotPermitted`] without the role `tare_admin`.
    pub fn submit(
        &mut self,
        campaign: &Campaign,
        engine: LabEngine,
        toml: &str,
        tasks: &[LabTaskPlan],
        folder: Option<&str>,
    ) -> Result<CampaignSummary, LabError> {
        if tasks.is_empty() {
            return Err(LabError::NoTasks { campaign: campaign.name.clone() });
        }
        let unstorable = |e: serde_json::Error| StoreError::Unstorable { what: "campaign", cause: e.to_string() };
        let doc = serde_json::to_string(campaign).map_err(unstorable)?;
        let columns = TaskColumns::new(tasks).map_err(unstorable)?;
        let TaskColumns { uuids, ordinals, repetitions, not_before, machines, names, tags, retries, plans } = &columns;
        let engine = ENGINES.iter().find(|(e, _)| *e == engine).map_or("agents", |(_, name)| name);
        let sql = "SELECT lab_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let values: [&(dyn postgres::types::ToSql + Sync); 14] = [
            &campaign.name,
            &engine,
            &doc,
            &toml,
            &folder,
            uuids,
            ordinals,
            repetitions,
            not_before,
            machines,
            names,
            tags,
            retries,
            plans,
        ];
        let question = Question { doing: "submit the campaign", sql, values: &values, subject: &campaign.name };
        let id: i64 = self.ask_single(&question)?;
        self.summary(id)
    }

    /// The campaigns, the newest first.
    pub fn campaigns(&mut self) -> Result<Vec<CampaignSummary>, LabError> {
        self.summaries(None)
    }

    /// A campaign by its number.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn summary(&mut self, campaign: i64) -> Result<CampaignSummary, LabError> {
        self.summaries(Some(campaign))?.pop().ok_or_else(|| self.no_such_campaign(campaign))
    }

    fn no_such_campaign(&self, campaign: impl ToString) -> LabError {
        LabError::NoSuchCampaign { path: self.path().to_owned(), campaign: campaign.to_string() }
    }

    fn summaries(&mut self, campaign: Option<i64>) -> Result<Vec<CampaignSummary>, LabError> {
        let question = Question { doing: "list the campaigns", sql: SUMMARIES, values: &[&campaign], subject: "" };
        let rows = self.ask(&question)?;
        rows.iter().map(|row| self.campaign_row(row)).collect()
    }

    fn campaign_row(&self, row: &Row) -> Result<CampaignSummary, LabError> {
        let doing = "list the campaigns";
        let engine: String = self.column(doing, row, 4)?;
        let known = ENGINES.iter().find(|(_, name)| *name == engine);
        let (engine, _) =
            known.ok_or_else(|| self.unreadable(doing, "a campaign's engine", format!("it is {engine:?}")))?;
        let count = |column| self.count(doing, row, column);
        let (tasks, waiting, leased) = (count(8)?, count(9)?, count(10)?);
        let (paused, cancelled): (bool, bool) = (self.column(doing, row, 6)?, self.column(doing, row, 7)?);
        let state = match (waiting + leased, cancelled, paused) {
            (_, true, _) => CampaignState::Cancelled,
            (0, false, _) => CampaignState::Finished,
            (_, false, true) => CampaignState::Paused,
            (_, false, false) if waiting == tasks => CampaignState::Queued,
            _ => CampaignState::Running,
        };
        Ok(CampaignSummary {
            id: self.column(doing, row, 0)?,
            uuid: self.column(doing, row, 1)?,
            name: self.column(doing, row, 2)?,
            owner: self.column(doing, row, 3)?,
            engine: *engine,
            created: Nanos(self.column(doing, row, 5)?),
            state,
            tasks,
            waiting,
            leased,
            done: count(11)?,
            failed: count(12)?,
            cancelled: count(13)?,
            samples: count(14)?,
        })
    }

    /// The campaign that a user means: a number, a name (the newest campaign of it), a uuid, or the first four or more digits of one;
    /// if several fit, the first of these.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`], [`LabError::AmbiguousCampaign`].
    pub fn find_campaign(&mut self, text: &str) -> Result<CampaignSummary, LabError> {
        if let Ok(id) = text.parse::<i64>()
            && id.to_string() == text
            && let Some(found) = self.summaries(Some(id))?.pop()
        {
            return Ok(found);
        }
        if text.contains('\0') {
            return Err(self.no_such_campaign(text));
        }
        let doing = "find the campaign";
        let named = "SELECT id FROM lab_campaign WHERE name = $1 ORDER BY id DESC LIMIT 1";
        let rows = self.ask(&Question { doing, sql: named, values: &[&text], subject: text })?;
        if let Some(row) = rows.first() {
            return self.summary(self.column(doing, row, 0)?);
        }
        if text.len() < SHORTEST_PREFIX || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(self.no_such_campaign(text));
        }
        let sql = "SELECT id FROM lab_campaign WHERE left(uuid, length($1)) = $1 ORDER BY id LIMIT 10";
        let prefix = text.to_ascii_lowercase();
        let rows = self.ask(&Question { doing, sql, values: &[&prefix], subject: text })?;
        let campaigns: Vec<i64> = rows.iter().map(|row| self.column(doing, row, 0)).collect::<Result<_, _>>()?;
        match campaigns.as_slice() {
            [] => Err(self.no_such_campaign(text)),
            [id] => self.summary(*id),
            _ => Err(LabError::AmbiguousCampaign { text: text.to_owned(), campaigns }),
        }
    }

    /// A campaign as it was submitted, its file, and its folder.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn campaign(&mut self, id: i64) -> Result<(Campaign, String, Option<String>), LabError> {
        let doing = "read the campaign";
        let sql = "SELECT doc, toml, folder FROM lab_campaign WHERE id = $1";
        let rows = self.ask(&Question { doing, sql, values: &[&id], subject: "" })?;
        let row = rows.first().ok_or_else(|| self.no_such_campaign(id))?;
        let doc: String = self.column(doing, row, 0)?;
        let campaign = serde_json::from_str(&doc).map_err(|e| self.unreadable(doing, &format!("campaign {id}"), e))?;
        Ok((campaign, self.column(doing, row, 1)?, self.column(doing, row, 2)?))
    }

    /// The tasks of a campaign, in their order.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn tasks(&mut self, campaign: i64) -> Result<Vec<LabTask>, LabError> {
        let sql = format!("{TASKS} campaign = $1 ORDER BY ordinal, id");
        let rows = self.ask(&Question { doing: "list the tasks", sql: &sql, values: &[&campaign], subject: "" })?;
        if rows.is_empty() {
            self.summary(campaign)?;
        }
        rows.iter().map(|row| self.task_row(row)).collect()
    }

    /// The task of a number or uuid.
    ///
    /// # Errors
    /// [`LabError::NoSuchTask`].
    pub fn find_task(&mut self, text: &str) -> Result<LabTask, LabError> {
        let sql = format!("{TASKS} id = $1 OR uuid = $2");
        let id = text.parse::<i64>().ok().filter(|id| id.to_string() == text);
        let uuid = text.replace('\0', "");
        let question = Question { doing: "find the task", sql: &sql, values: &[&id, &uuid], subject: text };
        let rows = self.ask(&question)?;
        let row = rows.first().ok_or_else(|| self.no_such_task(text))?;
        self.task_row(row)
    }

    fn no_such_task(&self, task: impl ToString) -> LabError {
        LabError::NoSuchTask { path: self.path().to_owned(), task: task.to_string() }
    }

    fn task_row(&self, row: &Row) -> Result<LabTask, LabError> {
        let doing = "list the tasks";
        let state: String = self.column(doing, row, 6)?;
        let known = TASK_STATES.iter().find(|(_, name)| *name == state);
        let (state, _) = known.ok_or_else(|| self.unreadable(doing, "a task's state", format!("it is {state:?}")))?;
        let number = |column| Ok::<_, LabError>(u32::try_from(self.count(doing, row, column)?).unwrap_or(u32::MAX));
        let time = |column| Ok::<_, LabError>(self.column::<Option<i64>>(doing, row, column)?.map(Nanos));
        let samples = |column| -> Result<Option<u64>, LabError> {
            Ok(self.column::<Option<i64>>(doing, row, column)?.map(|n| n.max(0).unsigned_abs()))
        };
        let wanted = samples(11)?;
        Ok(LabTask {
            id: self.column(doing, row, 0)?,
            campaign: self.column(doing, row, 1)?,
            ordinal: number(2)?,
            repetition: number(3)?,
            not_before: Nanos(self.column(doing, row, 4)?),
            machine: self.column(doing, row, 5)?,
            state: *state,
            attempts: number(7)?,
            agent: self.column(doing, row, 8)?,
            lease_ends: time(9)?,
            progress: samples(10)?.map(|done| LabProgress { done, wanted }),
            started: time(12)?,
            ended: time(13)?,
            message: self.column(doing, row, 14)?,
            runs: self.column(doing, row, 15)?,
            slurm: self.column(doing, row, 16)?,
            exclusive: self.column(doing, row, 17)?,
        })
    }

    /// What a task does.
    ///
    /// # Errors
    /// [`LabError::NoSuchTask`].
    pub fn task_plan(&mut self, task: i64) -> Result<LabTaskPlan, LabError> {
        let doing = "read the task";
        let sql = "SELECT plan FROM lab_task WHERE id = $1";
        let rows = self.ask(&Question { doing, sql, values: &[&task], subject: "" })?;
        let row = rows.first().ok_or_else(|| self.no_such_task(task))?;
        let plan: String = self.column(doing, row, 0)?;
        serde_json::from_str(&plan).map_err(|e| self.unreadable(doing, &format!("task {task}"), e))
    }

    /// Cancels the waiting tasks of a campaign; returns how many. Those that are held end when their machines are heard of next, or
    /// when their leases end.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn cancel(&mut self, campaign: i64) -> Result<u64, LabError> {
        self.changed_tasks("cancel the campaign", "SELECT lab_cancel($1)", campaign)
    }

    /// Lets all failed and cancelled tasks of a campaign wait again, as if they had never been tried; returns how many.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn retry(&mut self, campaign: i64) -> Result<u64, LabError> {
        self.changed_tasks("retry the campaign", "SELECT lab_retry($1)", campaign)
    }

    fn changed_tasks(&mut self, doing: &'static str, sql: &str, campaign: i64) -> Result<u64, LabError> {
        let changed: i64 =
            self.ask_single(&Question { doing, sql, values: &[&campaign], subject: &campaign.to_string() })?;
        Ok(changed.max(0).unsigned_abs())
    }

    /// Holds the waiting tasks of a campaign back, or no longer. Those that run go on.
    ///
    /// # Errors
    /// [`LabError::NoSuchCampaign`].
    pub fn pause(&mut self, campaign: i64, paused: bool) -> Result<(), LabError> {
        let (doing, subject) = ("pause the campaign", campaign.to_string());
        let sql = "SELECT lab_pause($1, $2)";
        self.ask(&Question { doing, sql, values: &[&campaign, &paused], subject: &subject })?;
        Ok(())
    }

    /// Stores which job of Slurm a task is, as `4711_3`.
    ///
    /// # Errors
    /// [`LabError::NoSuchTask`].
    pub fn set_slurm(&mut self, task: i64, job: &str) -> Result<(), LabError> {
        let (doing, subject) = ("store the task's job", task.to_string());
        let sql = "SELECT lab_set_slurm($1, $2)";
        self.ask(&Question { doing, sql, values: &[&task, &job], subject: &subject })?;
        Ok(())
    }

    /// Stores what Slurm says of a task; returns whether that is news. A task that is done stays so. With
    /// [`LabTaskState::Done`] its runs are those in the lab's store that have its tag `lab.task` and were pushed by its holder, or
    /// imported by the same user.
    ///
    /// # Errors
    /// [`LabError::NoSuchTask`]; [`LabError::RunsMissing`] if there is no finished run.
    pub fn slurm_state(
        &mut self,
        task: i64,
        state: LabTaskState,
        message: Option<&str>,
        exclusive: Option<bool>,
    ) -> Result<bool, LabError> {
        let name = TASK_STATES.iter().find(|(s, _)| *s == state).map_or("waiting", |(_, name)| name);
        let (sql, subject) = ("SELECT lab_slurm_state($1, $2, $3, $4)", task.to_string());
        let message = message.map(|text| text.replace('\0', "\u{fffd}"));
        let values: [&(dyn postgres::types::ToSql + Sync); 4] = [&task, &name, &message, &exclusive];
        let question = Question { doing: "store the task's state", sql, values: &values, subject: &subject };
        self.ask_single(&question).map_err(|e| match e {
            LabError::RunsMissing { runs, .. } => LabError::RunsMissing { task, runs },
            other => other,
        })
    }

    /// How many changes the queue has seen: a page that has shown version `version` is current if this returns the same. Heartbeats of
    /// machines and their load are no changes.
    pub fn changes_since(&mut self, version: i64) -> Result<i64, LabError> {
        let sql = "SELECT greatest(changes, $1) FROM lab_state";
        self.ask_single(&Question { doing: "look for changes", sql, values: &[&version], subject: "" })
    }

    /// Waits until the queue has changed since `version`, at most so long; returns its version then.
    pub fn wait_for_change(&mut self, version: i64, at_most: Duration) -> Result<i64, LabError> {
        use postgres::fallible_iterator::FallibleIterator;
        let doing = "wait for changes";
        let ends = Instant::now() + at_most;
        self.ask(&Question { doing, sql: "LISTEN tare_lab", values: &[], subject: "" })?;
        loop {
            let now = self.changes_since(version)?;
            let left = ends.saturating_duration_since(Instant::now());
            if now != version || left.is_zero() {
                return Ok(now);
            }
            let heard = self.client().notifications().timeout_iter(left).next();
            heard.map_err(|e| crate::server::raised::lab_error(self.path(), doing, "", e))?;
        }
    }
}
