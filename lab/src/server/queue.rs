//! What an agent does with the queue's tasks.

use crate::data::state::LabProgress;
use crate::data::tasks::LabTaskPlan;
use crate::server::connection::{Lab, Question};
use crate::server::error::LabError;
use postgres::Row;
use std::fmt;
use tarebench_core::base::units::Nanos;

/// What proves that a task was leased by whoever has this. The server has a digest of the secret only.
#[derive(Clone, PartialEq, Eq)]
pub struct HeldLease {
    /// Number of the task.
    pub task: i64,
    /// 32 hex digits.
    pub secret: String,
}

impl fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldLease").field("task", &self.task).finish_non_exhaustive()
    }
}

/// A task that a machine holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedTask {
    pub held: HeldLease,
    pub plan: LabTaskPlan,
    /// Name of its campaign.
    pub campaign: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When the lease ends without a heartbeat, since 1970, by the server's clock.
    pub ends: Nanos,
}

/// What the queue says to the holder of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// The holder's word counts: the lease was extended, or the task ended as the holder said, now or when it said so before.
    Held,
    /// The lease was extended, but the task is to end: give it back.
    CancelWanted,
    /// Another has the task, or the holder has ended its lease before. What was measured may still be pushed; it does not count.
    Lost,
}

const TAKEN: &str = "SELECT o_task, o_secret, o_plan, o_campaign, o_attempt::bigint, o_ends FROM";

impl Lab {
    /// Gives the machine a task: the one that it holds already, as its answer may have been lost (under a new secret, and no
    /// further attempt if the same process asks); else one that it has begun, else the oldest that it fits and whose time has come.
    /// Expired leases end before. `None`: there is none, or the machine is draining.
    ///
    /// # Errors
    /// [`LabError::NoSuchMachine`] if it has not announced itself, [`LabError::NotYours`], [`LabError::Replaced`].
    pub fn take(&mut self, machine: &str, lease: Nanos) -> Result<Option<LeasedTask>, LabError> {
        let sql = format!("{TAKEN} lab_take($1, $2, $3)");
        let instance = self.instance();
        let values: [&(dyn postgres::types::ToSql + Sync); 3] = [&machine, &instance, &lease.0];
        let rows = self.ask(&Question { doing: "take a task", sql: &sql, values: &values, subject: machine })?;
        rows.first().map(|row| self.leased(row)).transpose()
    }

    /// Gives the machine this task, if it is free or the machine holds it, and the machine holds no other; its time, its machine
    /// and its tags are not looked at, as something else has placed it there. `None` if it cannot have it.
    ///
    /// # Errors
    /// As [`Lab::take`]; [`LabError::NoSuchTask`].
    pub fn take_task(&mut self, task: i64, machine: &str, lease: Nanos) -> Result<Option<LeasedTask>, LabError> {
        let sql = format!("{TAKEN} lab_take_task($1, $2, $3, $4)");
        let instance = self.instance();
        let values: [&(dyn postgres::types::ToSql + Sync); 4] = [&task, &machine, &instance, &lease.0];
        let question = Question { doing: "take the task", sql: &sql, values: &values, subject: machine };
        let rows = self.ask(&question).map_err(|e| self.of_task(e, task))?;
        rows.first().map(|row| self.leased(row)).transpose()
    }

    /// Extends a lease from now on, and reports progress. A lease that has ended is extended, too, if nobody else has taken the
    /// task since.
    pub fn heartbeat(
        &mut self,
        held: &HeldLease,
        lease: Nanos,
        progress: Option<LabProgress>,
    ) -> Result<LeaseAnswer, LabError> {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let done = progress.map(|p| number(p.done));
        let wanted = progress.and_then(|p| p.wanted).map(number);
        let sql = "SELECT lab_heartbeat($1, $2, $3, $4, $5)";
        self.answer("extend the lease", sql, &[&held.task, &held.secret, &lease.0, &done, &wanted], held.task)
    }

    /// Ends a task with its results, which must be in the lab's store: finished runs with the tag `lab.task`, of the task's uuid, and
    /// pushed by the same user. After the end of the lease this counts as well, if nobody else has taken the task since. Runs
    /// that are pushed but not named here count for nothing.
    ///
    /// # Errors
    /// [`LabError::RunsMissing`]; the task is still held then.
    pub fn finish(
        &mut self,
        held: &HeldLease,
        runs: &[String],
        exclusive: Option<bool>,
    ) -> Result<LeaseAnswer, LabError> {
        let sql = "SELECT lab_finish($1, $2, $3, $4)";
        self.answer("finish the task", sql, &[&held.task, &held.secret, &runs, &exclusive], held.task)
    }

    /// Ends an attempt that failed. The task waits again if it may be tried again.
    pub fn fail(&mut self, held: &HeldLease, message: &str) -> Result<LeaseAnswer, LabError> {
        let sql = "SELECT lab_fail($1, $2, $3)";
        // The server cannot store this character.
        let message = message.replace('\0', "\u{fffd}");
        self.answer("report the failure", sql, &[&held.task, &held.secret, &message], held.task)
    }

    /// Ends an attempt that is not to count: the machine is wanted for something else, or the task is to end
    /// ([`LeaseAnswer::CancelWanted`]).
    pub fn give_back(&mut self, held: &HeldLease) -> Result<LeaseAnswer, LabError> {
        self.answer("give the task back", "SELECT lab_give_back($1, $2)", &[&held.task, &held.secret], held.task)
    }

    fn answer(
        &mut self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn postgres::types::ToSql + Sync)],
        task: i64,
    ) -> Result<LeaseAnswer, LabError> {
        let asked = self.ask_single::<String>(&Question { doing, sql, values, subject: "" });
        match asked.map_err(|e| self.of_task(e, task))?.as_str() {
            "held" => Ok(LeaseAnswer::Held),
            "cancel_wanted" => Ok(LeaseAnswer::CancelWanted),
            "lost" => Ok(LeaseAnswer::Lost),
            other => Err(self.unreadable(doing, "the queue's answer", format!("it is {other:?}"))),
        }
    }

    /// Names the task in an error of the queue.
    fn of_task(&self, e: LabError, number: i64) -> LabError {
        match e {
            LabError::NoSuchTask { path, .. } => LabError::NoSuchTask { path, task: number.to_string() },
            LabError::RunsMissing { runs, .. } => LabError::RunsMissing { task: number, runs },
            other => other,
        }
    }

    fn leased(&self, row: &Row) -> Result<LeasedTask, LabError> {
        let doing = "take a task";
        let task: i64 = self.column(doing, row, 0)?;
        let plan: String = self.column(doing, row, 2)?;
        let plan = serde_json::from_str(&plan).map_err(|e| self.unreadable(doing, &format!("task {task}"), e))?;
        Ok(LeasedTask {
            held: HeldLease { task, secret: self.column(doing, row, 1)? },
            plan,
            campaign: self.column(doing, row, 3)?,
            attempt: u32::try_from(self.count(doing, row, 4)?).unwrap_or(u32::MAX),
            ends: Nanos(self.column(doing, row, 5)?),
        })
    }
}
