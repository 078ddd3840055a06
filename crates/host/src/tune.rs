//! Quieting the machine: the old values are journalled, then each value is set and read back.

use crate::access::{Access, command, label, same};
use crate::coupled::companions;
use crate::factors::{is_ntp_script, is_ntp_unit};
use crate::freeze;
use crate::freeze::FreezePlan;
use crate::journal;
use crate::journal::{Change, Journal, JournalRecord, ValueChange, line_of};
use crate::restore::{Restored, restore_locked};
use crate::setting::{Setting, Target, ValueError};
use crate::state::{Lock, Pending, State, TuneError};
use serde::Serialize;
use std::io;
use std::time::Duration;
use tarebench_core::base::reading::Absent;
use tarebench_core::run::notes::{TunedValue, Tuning};
use tarebench_sys::guard::Guard;

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct TuneRequest {
    /// The values to give.
    pub settings: Vec<Setting>,
    /// Freeze other processes, too.
    pub freeze: Option<freeze::FreezeChoice>,
}

/// Where a setting stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Stand {
    /// It would be set.
    Planned,
    Set,
    /// It was set, and reads back as another value.
    SetAs {
        /// What is read back.
        value: String,
    },
    /// It is already as recommended.
    AsWanted,
    /// This machine does not have it.
    NotHere {
        why: String,
    },
    /// It cannot be set.
    Refused {
        why: String,
    },
}

/// A setting, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TuneItem {
    /// The factor that asks for it.
    pub factor: String,
    pub target: Target,
    /// The value before, if it can be read.
    pub old: Option<String>,
    /// The value to give.
    pub wanted: String,
    /// The command that does the same by hand.
    pub command: String,
    #[serde(flatten)]
    pub stand: Stand,
    #[serde(skip)]
    survives_reboot: bool,
}

impl TuneItem {
    /// Name of the target.
    pub fn label(&self) -> String {
        label(&self.target)
    }
}

/// What was done, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TuneReport {
    pub items: Vec<TuneItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<freeze::FreezeReport>,
}

impl TuneReport {
    /// How many values were set.
    pub fn set(&self) -> usize {
        self.items.iter().filter(|i| matches!(i.stand, Stand::Set | Stand::SetAs { .. })).count()
    }

    /// How many values were refused; a refused freeze counts as one.
    pub fn refused(&self) -> usize {
        let frozen = self.freeze.as_ref().map_or(0, |f| f.refused.len());
        self.items.iter().filter(|i| matches!(i.stand, Stand::Refused { .. })).count() + frozen
    }

    /// Whether there is something to restore.
    pub fn changed(&self) -> bool {
        self.set() > 0 || self.freeze.as_ref().is_some_and(|f| f.processes > 0)
    }

    /// For the run that is measured while the machine is tuned.
    pub fn tuning(&self) -> Tuning {
        let set = |i: &&TuneItem| matches!(i.stand, Stand::Set | Stand::SetAs { .. });
        let value = |i: &TuneItem| TunedValue { name: i.label(), old: i.old.clone(), new: i.wanted.clone() };
        Tuning { summary: self.summary(), values: self.items.iter().filter(set).map(value).collect() }
    }

    pub fn summary(&self) -> String {
        let mut text = match self.set() {
            0 => "nothing was set".to_owned(),
            1 => "1 value set".to_owned(),
            n => format!("{n} values set"),
        };
        let as_wanted = self.items.iter().filter(|i| i.stand == Stand::AsWanted).count();
        if as_wanted > 0 {
            text += &format!(", {as_wanted} already as recommended");
        }
        if let Some(n) = self.freeze.as_ref().map(|f| f.processes).filter(|n| *n > 0) {
            text += &format!(", {n} processes frozen");
        }
        if self.refused() > 0 {
            text += &format!(", {} refused", self.refused());
        }
        text
    }
}

/// Reads what would be changed, in the order of the settings; a target that is named twice is taken once.
pub fn plan(access: &Access, settings: &[Setting]) -> Vec<TuneItem> {
    let mut items: Vec<TuneItem> = Vec::new();
    for s in settings {
        if items.iter().any(|i| i.target == s.target) {
            continue;
        }
        let read = access.allowed(&s.target).and_then(|()| named(s)).and_then(|()| access.read(&s.target));
        let (old, stand) = match read {
            Ok(v) if same(&s.target, &v, &s.wanted) => (Some(v), Stand::AsWanted),
            Ok(v) => (Some(v), Stand::Planned),
            Err(e) if e.is_missing() => (None, Stand::NotHere { why: e.to_string() }),
            Err(e) => (None, Stand::Refused { why: e.to_string() }),
        };
        let command = command(&s.target, &s.wanted);
        let (factor, target, wanted) = (s.factor.clone(), s.target.clone(), s.wanted.clone());
        items.push(TuneItem { factor, target, old, wanted, command, stand, survives_reboot: s.survives_reboot });
    }
    items
}

/// An NTP daemon is switched by its own factor only, whatever a file of settings says.
fn named(setting: &Setting) -> Result<(), ValueError> {
    match &setting.target {
        Target::Unit(name) if is_ntp_unit(name) => {}
        Target::Script(name) if is_ntp_script(name) => {}
        _ => return Ok(()),
    }
    match setting.factor.as_str() {
        "ntp" => Ok(()),
        _ => Err(ValueError::Protected {
            what: label(&setting.target),
            why: "only the factor ntp switches it".to_owned(),
        }),
    }
}

/// What would be done; nothing is changed.
pub fn dry_run(access: &Access, request: &TuneRequest) -> TuneReport {
    let freeze = request.freeze.as_ref().map(|c| freeze::plan(access, c));
    TuneReport { items: plan(access, &request.settings), freeze: freeze.map(|f| freeze_report(&f)) }
}

fn freeze_report(planned: &Result<FreezePlan, Absent>) -> freeze::FreezeReport {
    match planned {
        Ok(plan) => plan.report(),
        Err(why) => freeze::FreezeReport { refused: vec![why.to_string()], ..freeze::FreezeReport::default() },
    }
}

/// A tuned machine. Dropping this restores it; [`Tuned::keep`] leaves it tuned.
#[derive(Debug)]
pub struct Tuned {
    access: Access,
    state: State,
    report: TuneReport,
    guard: Option<Guard>,
    /// There is a journal to restore.
    armed: bool,
    lock: Option<Lock>,
    freeze_limit: Duration,
}

enum Stop {
    Journal(io::Error),
    Interrupted,
}

impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Stop {
        Stop::Journal(e)
    }
}

/// Sets what can be set. What is refused is reported item by item, and the rest continues.
///
/// `interrupted` is called between any two settings; if it returns true, everything is restored.
///
/// # Errors
/// If another tare process holds the lock, there is a journal already, or none can be written: then nothing was
/// changed.
pub fn tune(
    access: Access,
    state: State,
    request: &TuneRequest,
    interrupted: &dyn Fn() -> bool,
) -> Result<Tuned, TuneError> {
    let boot = access.boot();
    let lock = state.lock("tune", &boot)?;
    if journal::load(&state)?.is_some() {
        let unknown = Pending { path: state.journal(), holder: None, what: None, complete: false };
        let pending = Pending::check(&state).map_or(unknown, |p| Pending { holder: None, ..p });
        return Err(TuneError::Pending { pending: Box::new(pending) });
    }
    let items = plan(&access, &request.settings);
    let freezing = request.freeze.as_ref().map(|c| freeze::plan(&access, c));
    let freeze = freezing.as_ref().map(freeze_report);
    let report = TuneReport { items, freeze };
    let freeze_limit = request.freeze.as_ref().map_or(freeze::FreezeChoice::LIMIT, |c| c.limit);
    let mut tuned = Tuned { access, state, report, guard: None, armed: false, lock: Some(lock), freeze_limit };
    let freezing = freezing.and_then(Result::ok);
    let changes = tuned.changes(freezing.as_ref());
    if changes.is_empty() {
        return Ok(tuned);
    }
    let mut journal = Journal::create(&tuned.state, &boot, &changes, &tuned.access.steps)
        .map_err(|cause| TuneError::NotJournalled { path: tuned.state.journal(), cause })?;
    tuned.armed = true;
    let path = journal.path().clone();
    match tuned.apply(&mut journal, &changes, freezing.as_ref(), interrupted) {
        Ok(()) => Ok(tuned),
        Err(Stop::Journal(cause)) => Err(TuneError::NotContinued { path, after: tuned.undo(), cause }),
        Err(Stop::Interrupted) => Err(TuneError::Interrupted { after: tuned.undo() }),
    }
}

impl Tuned {
    pub fn report(&self) -> &TuneReport {
        &self.report
    }

    /// All that will be changed, and what may change with it. The latter comes first, as values are restored in
    /// reverse order.
    fn changes(&self, freezing: Option<&FreezePlan>) -> Vec<Change> {
        let planned: Vec<&TuneItem> = self.report.items.iter().filter(|i| i.stand == Stand::Planned).collect();
        let mut with: Vec<(Target, &str)> = Vec::new();
        for item in &planned {
            for target in companions(self.access.root(), &item.target) {
                if planned.iter().all(|i| i.target != target) && with.iter().all(|(t, _)| *t != target) {
                    with.push((target, &item.factor));
                }
            }
        }
        let readable = with.into_iter().filter_map(|(target, factor)| {
            let old = self.access.read(&target).ok()?;
            let factor = factor.to_owned();
            Some(Change::Value(ValueChange { factor, target, old, new: None, survives_reboot: false }))
        });
        let wanted = planned.iter().map(|i| {
            Change::Value(ValueChange {
                factor: i.factor.clone(),
                target: i.target.clone(),
                old: i.old.clone().unwrap_or_default(),
                new: Some(i.wanted.clone()),
                survives_reboot: i.survives_reboot,
            })
        });
        readable.chain(wanted).chain(freezing.into_iter().flat_map(FreezePlan::changes)).collect()
    }

    fn apply(
        &mut self,
        journal: &mut Journal,
        changes: &[Change],
        freezing: Option<&FreezePlan>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), Stop> {
        let index_of = |target: &Target| {
            changes.iter().position(|c| matches!(c, Change::Value(v) if v.target == *target)).map(line_of)
        };
        for item in self.report.items.iter_mut().filter(|i| i.stand == Stand::Planned) {
            if interrupted() {
                return Err(Stop::Interrupted);
            }
            item.stand = set(&self.access, item);
            let record = match &item.stand {
                Stand::Refused { .. } => index_of(&item.target).map(|index| JournalRecord::Refused { index }),
                Stand::SetAs { value } => {
                    index_of(&item.target).map(|index| JournalRecord::Seen { index, value: value.clone() })
                }
                _ => None,
            };
            if let Some(record) = record {
                journal.add(&record, &self.access.steps)?;
            }
        }
        if let (Some(plan), Some(report)) = (freezing, self.report.freeze.as_mut()) {
            let limit = freeze::Limit { length: self.freeze_limit, journal: journal.path().clone() };
            self.guard = freeze::apply(&self.access, plan, &limit, report, interrupted);
            if interrupted() {
                return Err(Stop::Interrupted);
            }
        }
        self.see_side_effects(journal, changes)?;
        if self.report.set() == 0 && freezing.is_none() {
            // Nothing holds but refusals: there is nothing to restore.
            journal::remove(&self.state, &self.access.steps)?;
            self.armed = false;
            return Ok(());
        }
        Ok(journal.add(&JournalRecord::Complete, &self.access.steps)?)
    }

    /// Values that changed together with another one, or after they had been set.
    fn see_side_effects(&self, journal: &mut Journal, changes: &[Change]) -> Result<(), Stop> {
        for (i, change) in changes.iter().enumerate() {
            let Change::Value(v) = change else { continue };
            let Ok(value) = self.access.read(&v.target) else { continue };
            let known = same(&v.target, &value, &v.old) || v.new.as_ref().is_some_and(|n| same(&v.target, &value, n));
            let said = self.report.items.iter().any(
                |item| matches!(&item.stand, Stand::SetAs { value: seen } if item.target == v.target && *seen == value),
            );
            if !known && !said {
                journal.add(&JournalRecord::Seen { index: line_of(i), value }, &self.access.steps)?;
            }
        }
        Ok(())
    }

    /// Restores everything; returns a sentence for an error.
    fn undo(mut self) -> String {
        match self.put_back(false) {
            Ok(restored) => restored.summary(),
            Err(e) => e.to_string(),
        }
    }

    fn put_back(&mut self, force: bool) -> Result<Restored, TuneError> {
        if !std::mem::take(&mut self.armed) {
            return Ok(Restored::default());
        }
        let done = restore_locked(&self.access, &self.state, crate::restore::How { force, ..Default::default() });
        if let (Ok(_), Some(guard)) = (&done, self.guard.take()) {
            guard.dismiss();
        }
        done
    }

    /// Restores everything.
    ///
    /// # Errors
    /// If the journal cannot be read or removed; values that could not be restored are in the report.
    pub fn restore(mut self) -> Result<Restored, TuneError> {
        self.put_back(false)
    }

    /// Leaves the machine tuned; `tare restore` restores it. What is frozen continues when the limit has passed.
    pub fn keep(mut self) -> TuneReport {
        if !self.report.changed() {
            // All was refused: the remains of the attempt (an empty cgroup) are removed with the journal.
            let _ = self.put_back(false);
        }
        self.armed = false;
        if let Some(guard) = self.guard.take() {
            guard.keep();
        }
        self.lock = None;
        std::mem::take(&mut self.report)
    }

    /// Before a measurement: closes connections.
    pub fn rest(&mut self) {
        self.access.rest();
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        // On a panic or an early return. What cannot be restored stays in the journal, and the next command reports it.
        let _ = self.put_back(false);
    }
}

/// Sets one value and reads it back.
fn set(access: &Access, item: &TuneItem) -> Stand {
    let old = item.old.as_deref().unwrap_or_default();
    let written = access.write(&item.target, &item.wanted);
    match (written, access.read(&item.target)) {
        (_, Ok(v)) if same(&item.target, &v, &item.wanted) => Stand::Set,
        (Err(e), Ok(v)) if same(&item.target, &v, old) => Stand::Refused { why: e.to_string() },
        (Ok(()), Ok(v)) if same(&item.target, &v, old) => {
            Stand::Refused { why: format!("{} did not change and still is {v}", item.label()) }
        }
        (_, Ok(value)) => Stand::SetAs { value },
        // Whether it was set is not known; it stays in the journal as if it was.
        (Err(e), Err(_)) => Stand::Refused { why: e.to_string() },
        (Ok(()), Err(_)) => Stand::Set,
    }
}
