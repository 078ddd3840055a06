//! The machines of a lab.

use crate::data::state::{LabMachine, LabMachineState};
use crate::server::connection::{Lab, Question};
use crate::server::error::LabError;
use postgres::Row;
use std::collections::BTreeMap;
use tarebench_core::base::units::Nanos;

/// All states, by their names in the database.
pub(crate) const MACHINE_STATES: [(LabMachineState, &str); 6] = [
    (LabMachineState::Idle, "idle"),
    (LabMachineState::Busy, "busy"),
    (LabMachineState::Draining, "draining"),
    (LabMachineState::TooLoaded, "too_loaded"),
    (LabMachineState::OutsideHours, "outside_hours"),
    (LabMachineState::Gone, "gone"),
];

/// What a machine does by the server's clock: what its agent said last counts least. A column's name is first.
pub(crate) const MACHINE_STATE: &str = "CASE
    WHEN m.state = 'gone' OR lab_now() - m.heartbeat_ns > m.lease_ns THEN 'gone'
    WHEN EXISTS (SELECT FROM lab_task AS t WHERE t.agent = m.name AND t.state = 'leased') THEN 'busy'
    WHEN m.draining THEN 'draining'
    ELSE m.state END";

impl Lab {
    /// Stores what an agent says of its machine; its name, its tags, what describes it, its state and its load count. The owner is the
    /// user of the database, and the times are the server's. A machine that is draining stays so until [`Lab::drain`] ends that.
    ///
    /// Each process is an agent of its own. One that announces itself under a name that another has takes its place.
    ///
    /// # Errors
    /// [`LabError::Replaced`] if another process has taken this one's place; [`LabError::NotYours`] if another user's agent has the
    /// name.
    pub fn announce(&mut self, machine: &LabMachine) -> Result<(), LabError> {
        let doing = "announce the machine";
        let unstorable = |e: serde_json::Error| tarebench_store::error::StoreError::Unstorable {
            what: "machine",
            cause: e.to_string(),
        };
        let doc = serde_json::to_string(machine).map_err(unstorable)?;
        let tags = serde_json::to_string(&machine.tags).map_err(unstorable)?;
        let state = MACHINE_STATES.iter().find(|(state, _)| *state == machine.state).map_or("idle", |(_, name)| name);
        let load = machine.load.filter(|load| load.is_finite());
        let instance = self.instance();
        let sql = "SELECT lab_announce($1, $2, $3, $4, $5, $6)";
        let values: [&(dyn postgres::types::ToSql + Sync); 6] = [&machine.name, &instance, &doc, &tags, &state, &load];
        self.ask(&Question { doing, sql, values: &values, subject: &machine.name })?;
        Ok(())
    }

    /// The machines, by name. A description that this tare cannot read is left out.
    pub fn machines(&mut self) -> Result<Vec<LabMachine>, LabError> {
        let sql = format!(
            "SELECT m.name, m.owner, m.doc, m.tags::text, {MACHINE_STATE}, m.load, m.draining, m.first_seen_ns, m.heartbeat_ns,
                    (SELECT min(t.id) FROM lab_task AS t WHERE t.agent = m.name AND t.state = 'leased')
             FROM lab_machine AS m ORDER BY m.name"
        );
        let rows = self.ask(&Question { doing: "list the machines", sql: &sql, values: &[], subject: "" })?;
        let mut machines = Vec::new();
        for row in &rows {
            machines.extend(self.machine(row)?);
        }
        Ok(machines)
    }

    fn machine(&self, row: &Row) -> Result<Option<LabMachine>, LabError> {
        let doing = "list the machines";
        // Any agent may store anything here, which must not hide the other machines.
        let Ok(described) = serde_json::from_str::<LabMachine>(&self.column::<String>(doing, row, 2)?) else {
            return Ok(None);
        };
        let tags: String = self.column(doing, row, 3)?;
        let Ok(tags) = serde_json::from_str::<BTreeMap<String, String>>(&tags) else { return Ok(None) };
        let state: String = self.column(doing, row, 4)?;
        let known = MACHINE_STATES.iter().find(|(_, name)| *name == state);
        let (state, _) =
            known.ok_or_else(|| self.unreadable(doing, "a machine's state", format!("it is {state:?}")))?;
        Ok(Some(LabMachine {
            name: self.column(doing, row, 0)?,
            owner: self.column(doing, row, 1)?,
            tags,
            state: *state,
            load: self.column(doing, row, 5)?,
            draining: self.column(doing, row, 6)?,
            first_seen: Nanos(self.column(doing, row, 7)?),
            heartbeat: Nanos(self.column(doing, row, 8)?),
            task: self.column(doing, row, 9)?,
            ..described
        }))
    }

    /// Lets a machine take no further tasks, or do so again.
    ///
    /// # Errors
    /// [`LabError::NoSuchMachine`]; [`LabError::NotYours`] for a user who is neither its owner nor an administrator.
    pub fn drain(&mut self, machine: &str, draining: bool) -> Result<(), LabError> {
        let sql = "SELECT lab_drain($1, $2)";
        self.ask(&Question { doing: "drain the machine", sql, values: &[&machine, &draining], subject: machine })?;
        Ok(())
    }

    /// Removes a machine from the list, until an agent announces itself under its name again, of whatever user. What it holds stays
    /// leased until then or until the lease ends.
    ///
    /// # Errors
    /// [`LabError::NoSuchMachine`].
    pub fn forget_machine(&mut self, machine: &str) -> Result<(), LabError> {
        let sql = "SELECT lab_forget_machine($1)";
        self.ask(&Question { doing: "remove the machine", sql, values: &[&machine], subject: machine })?;
        Ok(())
    }
}
