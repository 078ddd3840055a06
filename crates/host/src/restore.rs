//! Restores the values of the journal, in reverse order, and reads each value back.

use crate::access::{Access, label, same};
use crate::coupled;
use crate::freeze;
use crate::journal;
use crate::journal::{Change, Journal, JournalEntry, JournalHeader, JournalRecord, Loaded, ValueChange};
use crate::setting::Target;
use crate::setting::ValueError;
use crate::state::{State, TuneError};
use serde::Serialize;
use std::io;

/// How often values that change each other are written.
const PASSES: usize = 4;

/// How to treat what is not as tune left it.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Overwrite what others have changed since.
    pub force: bool,
    /// Keep what others have changed and what is refused, and drop the old value.
    pub forget: bool,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// What happened to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RestoreOutcome {
    /// It would be restored.
    Planned,
    /// It was restored, and reads back as such.
    PutBack,
    /// It is as it was before.
    AsBefore,
    /// Another process has changed it since; it was kept.
    Changed { value: String },
    /// It cannot be restored.
    Refused { why: String },
    /// The old value was accepted, and has no effect: writing it again would change nothing.
    Ineffective { why: String },
    /// It no longer exists.
    Gone,
    /// The machine has been rebooted since, which reset the value.
    Rebooted,
}

/// A value and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoreItem {
    /// The factor that had asked for the change.
    pub factor: String,
    /// Name of the target.
    pub target: String,
    /// The value before tuning.
    pub old: String,
    /// What happened to it.
    #[serde(flatten)]
    pub outcome: RestoreOutcome,
}

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// There was no journal.
    pub nothing: bool,
    pub items: Vec<RestoreItem>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// Something is still in the journal.
    pub pending: bool,
    /// The journal was damaged: not all that was in it is known.
    pub damaged: bool,
}

impl Restored {
    fn count(&self, of: impl Fn(&RestoreOutcome) -> bool) -> usize {
        self.items.iter().filter(|i| of(&i.outcome)).count()
    }

    /// Whether all is as it was before.
    pub fn is_whole(&self) -> bool {
        let open = |o: &RestoreOutcome| {
            matches!(
                o,
                RestoreOutcome::Changed { .. }
                    | RestoreOutcome::Refused { .. }
                    | RestoreOutcome::Ineffective { .. }
                    | RestoreOutcome::Gone
            )
        };
        !self.damaged && !self.pending && self.count(open) == 0
    }

    pub fn summary(&self) -> String {
        if self.nothing {
            return "nothing to restore".to_owned();
        }
        let mut parts = Vec::new();
        let mut part = |n: usize, text: &str| {
            if n > 0 {
                parts.push(format!("{n} {text}"));
            }
        };
        part(self.count(|o| *o == RestoreOutcome::PutBack), "restored");
        part(self.count(|o| *o == RestoreOutcome::Planned), "to restore");
        part(self.count(|o| *o == RestoreOutcome::AsBefore), "as before already");
        part(self.count(|o| matches!(o, RestoreOutcome::Changed { .. })), "changed by another process and kept");
        part(self.count(|o| matches!(o, RestoreOutcome::Refused { .. })), "refused");
        part(self.count(|o| matches!(o, RestoreOutcome::Ineffective { .. })), "without effect");
        part(self.count(|o| *o == RestoreOutcome::Gone), "no longer there");
        part(self.count(|o| *o == RestoreOutcome::Rebooted), "reset by the reboot");
        if parts.is_empty() {
            return "nothing had been changed".to_owned();
        }
        format!("values: {}", parts.join(", "))
    }
}

/// Restores what the journal of this folder holds.
///
/// # Errors
/// If another tare process holds the lock, or the journal cannot be read, is of a later version, or cannot be removed.
pub fn restore(access: &Access, state: &State, how: How) -> Result<Restored, TuneError> {
    if std::fs::symlink_metadata(state.journal()).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        return Ok(Restored { nothing: true, ..Restored::default() });
    }
    // On a disk that has become read-only the lock cannot be taken, but the values can be restored.
    let _lock = match state.lock("restore", &access.boot()) {
        Err(TuneError::NotJournalled { .. }) => None,
        taken => Some(taken?),
    };
    restore_locked(access, state, how)
}

/// A value to restore.
struct RestoreStep<'a> {
    entry: &'a JournalEntry,
    value: &'a ValueChange,
    outcome: RestoreOutcome,
    /// Tare set it, so tare may restore it.
    ours: bool,
}

/// The same, by who holds the lock.
pub(crate) fn restore_locked(access: &Access, state: &State, how: How) -> Result<Restored, TuneError> {
    let Some(loaded) = journal::load(state)? else {
        return Ok(Restored { nothing: true, ..Restored::default() });
    };
    let boot = access.boot();
    let mut done = Restored { damaged: !loaded.damaged.is_empty(), ..Restored::default() };
    let mut ways: Vec<RestoreStep> =
        loaded.changes.iter().rev().filter_map(|e| decide(access, e, &loaded, &boot, how)).collect();
    // A service would have to stop for its socket to start.
    ways.sort_by_key(|w| matches!(&w.value.target, Target::Unit(name) if name.ends_with(".service")));
    if how.dry_run {
        done.items = ways.iter().map(item).collect();
        return Ok(done);
    }
    // So that a restore that is killed is known to have started; without it (a full disk), only values that changed
    // along with others could be mistaken for another process's.
    if let Ok(mut journal) = Journal::open(state, &boot) {
        let _ = journal.add(&JournalRecord::Restoring, &access.steps);
    }
    let thawed =
        ways.iter().filter(|w| freeze::is_freezer(&w.value.target) && w.outcome == RestoreOutcome::AsBefore).count();
    if thawed > 0 && loaded.complete && !loaded.restoring {
        done.notes.push(format!(
            "{thawed} frozen cgroups ran again before this: tare had ended or was stopped, or took no sample for too long"
        ));
    }
    put_back(access, &mut ways);
    done.notes.extend(freeze::undo(access, &loaded.changes, &boot));
    done.items = ways.iter().map(item).collect();
    if ways.iter().any(|w| w.outcome == RestoreOutcome::Rebooted) {
        done.notes
            .push("the machine was rebooted since it was tuned; entries that a reboot resets were dropped".to_owned());
    }
    let left = |w: &&RestoreStep| match w.outcome {
        RestoreOutcome::Changed { .. } | RestoreOutcome::Refused { .. } => !how.forget,
        _ => false,
    };
    let mut left: Vec<&JournalEntry> = ways.iter().filter(left).map(|w| w.entry).collect();
    left.reverse();
    finish(access, state, &loaded, &left, &mut done)?;
    Ok(done)
}

fn item(w: &RestoreStep) -> RestoreItem {
    RestoreItem {
        factor: w.value.factor.clone(),
        target: label(&w.value.target),
        old: w.value.old.clone(),
        outcome: w.outcome.clone(),
    }
}

/// Whether tare may restore a value. Not a refused setting, nor a companion that did not change.
fn decide<'a>(
    access: &Access,
    entry: &'a JournalEntry,
    loaded: &Loaded,
    boot: &str,
    how: How,
) -> Option<RestoreStep<'a>> {
    let Change::Value(value) = &entry.change else { return None };
    let way = |outcome, ours| Some(RestoreStep { entry, value, outcome, ours });
    // Stopped units and services are restored even after a reboot: what was started by hand would not start by itself.
    let lasts = value.survives_reboot || matches!(value.target, Target::Unit(_) | Target::Script(_));
    if entry.boot != boot && !lasts {
        return way(RestoreOutcome::Rebooted, false);
    }
    let current = match access.read(&value.target) {
        Ok(v) => v,
        Err(_) if entry.refused => return None,
        Err(ValueError::Missing(_)) if freeze::is_freezer(&value.target) => return None,
        Err(ValueError::Missing(_)) => return way(RestoreOutcome::Gone, true),
        // What cannot be read may be another process's change, or something else: it is never written.
        Err(e) => return way(RestoreOutcome::Refused { why: e.to_string() }, false),
    };
    let is = |v: &String| same(&value.target, &current, v);
    if is(&value.old) {
        return if entry.refused { None } else { way(RestoreOutcome::AsBefore, true) };
    }
    if entry.refused {
        return None;
    }
    // A companion counts as tare's without having been seen if tare died before it could look, or while restoring.
    let unseen = value.new.is_none() && entry.seen.is_none() && !loaded.complete;
    let ours = value.new.as_ref().is_some_and(is)
        || entry.seen.as_ref().is_some_and(is)
        || unseen
        || value.new.is_none() && loaded.restoring;
    if ours || how.force {
        return way(RestoreOutcome::Planned, true);
    }
    way(RestoreOutcome::Changed { value: current }, false)
}

/// Writes the old values, in the order given. As some change others, or are refused until others are restored, those
/// that do not read back as they should are written again.
fn put_back(access: &Access, ways: &mut [RestoreStep]) {
    for pass in 0..PASSES {
        if pass > 0 {
            write_unread(access, ways);
        }
        let mut open = false;
        for w in ways.iter_mut().filter(|w| w.ours && !is_settled(w)) {
            w.outcome = put_back_one(access, w);
            open |= !matches!(w.outcome, RestoreOutcome::PutBack | RestoreOutcome::AsBefore);
        }
        // A later value may have changed an earlier one.
        let is = |w: &RestoreStep| access.read(&w.value.target).is_ok_and(|v| same(&w.value.target, &v, &w.value.old));
        if !open && ways.iter().filter(|w| w.ours).all(is) {
            return;
        }
    }
}

/// A unit or script that did not start when it was told to does not start the next time either: it may only exceed its
/// limit of starts.
fn is_settled(w: &RestoreStep) -> bool {
    let tried = matches!(w.outcome, RestoreOutcome::Refused { .. } | RestoreOutcome::Ineffective { .. });
    tried && !matches!(w.value.target, Target::File(_))
}

/// Writes the values that must not be read in between.
fn write_unread(access: &Access, ways: &mut [RestoreStep]) {
    for w in ways.iter_mut().filter(|w| w.ours && coupled::is_lost_when_read(&w.value.target)) {
        // Also those that read as before: what is wanted of them may not be. What is refused is found when it is read.
        let accepted = access.write(&w.value.target, &w.value.old).is_ok();
        if accepted && w.outcome != RestoreOutcome::AsBefore {
            w.outcome = RestoreOutcome::PutBack;
        }
    }
}

fn put_back_one(access: &Access, w: &RestoreStep) -> RestoreOutcome {
    let (target, old) = (&w.value.target, &w.value.old);
    let already = match &w.outcome {
        RestoreOutcome::PutBack => RestoreOutcome::PutBack,
        _ => RestoreOutcome::AsBefore,
    };
    match access.read(target) {
        Ok(v) if same(target, &v, old) => return already,
        Ok(_) => {}
        Err(ValueError::Missing(_)) => return RestoreOutcome::Gone,
        Err(e) => return RestoreOutcome::Refused { why: e.to_string() },
    }
    let written = access.write(target, old);
    match (written, access.read(target)) {
        (_, Ok(v)) if same(target, &v, old) => RestoreOutcome::PutBack,
        (Err(ValueError::Missing(_)), _) | (_, Err(ValueError::Missing(_))) => RestoreOutcome::Gone,
        (Err(e), _) | (Ok(()), Err(e)) => RestoreOutcome::Refused { why: e.to_string() },
        (Ok(()), Ok(v)) => RestoreOutcome::Ineffective { why: without_effect(target, old, &v) },
    }
}

/// What a reading says after the old value was accepted.
fn without_effect(target: &Target, old: &str, now: &str) -> String {
    match target {
        Target::File(_) => format!("the kernel reports {now} after {old} was written; the next boot sets it anew"),
        Target::Unit(name) if old == "active" => {
            format!("it was started and is inactive again; `systemctl status {name}` says why")
        }
        Target::Unit(_) | Target::Script(_) => format!("{} is {now} after it was set to {old}", label(target)),
    }
}

/// Removes the journal, or keeps its remaining entries. A damaged one is set aside.
fn finish(
    access: &Access,
    state: &State,
    loaded: &Loaded,
    left: &[&JournalEntry],
    done: &mut Restored,
) -> Result<(), TuneError> {
    let steps = &access.steps;
    let summary = done.summary();
    let failed = |cause| TuneError::NotRemoved { done: summary.clone(), path: state.journal(), cause };
    if !loaded.damaged.is_empty() {
        let aside = journal::set_aside(state, steps).map_err(failed)?;
        let lines: Vec<String> = loaded.damaged.iter().map(usize::to_string).collect();
        done.notes.push(format!(
            "the journal is damaged (line {}): the values on damaged lines were not restored; the journal is kept as \
             {}",
            lines.join(", "),
            aside.display()
        ));
    }
    if !left.is_empty() {
        let header = loaded.header.clone().unwrap_or_else(JournalHeader::now);
        Journal::keep(state, header, left, steps).map_err(failed)?;
        done.pending = true;
    } else if loaded.damaged.is_empty() {
        journal::remove(state, steps).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use crate::tune::{TuneRequest, tune};
    use std::path::Path;
    use tempfile::TempDir;

    const DETECTORS: [&str; 3] =
        ["proc/sys/kernel/watchdog", "proc/sys/kernel/soft_watchdog", "proc/sys/kernel/nmi_watchdog"];

    fn number(path: &Path) -> bool {
        std::fs::read_to_string(path).unwrap().trim() == "1"
    }

    fn put(path: &Path, on: bool) {
        std::fs::write(path, format!("{}\n", u8::from(on))).unwrap();
    }

    /// What somebody wants of a detector, which a kernel keeps beside what it reports.
    fn wish(root: &Path, name: &str) -> std::path::PathBuf {
        root.join(format!("{name}.wanted"))
    }

    /// kernel/watchdog.c of Linux 5.10 to 6.12: proc_watchdog_common, lockup_detector_update_enable.
    fn watchdogs(root: &Path, name: &str, written: Option<&str>) {
        if !DETECTORS.contains(&name) {
            return;
        }
        match written {
            None => return put(&wish(root, name), number(&root.join(name))),
            Some(value) => put(&wish(root, name), value == "1"),
        }
        let [all, soft, nmi] = DETECTORS.map(|name| number(&wish(root, name)));
        let [soft, nmi] = [all && soft, all && nmi];
        for (name, on) in DETECTORS.iter().zip([soft || nmi, soft, nmi]) {
            put(&root.join(name), on);
        }
    }

    /// A kernel that accepts what is written to the watchdog, and keeps it off.
    fn stuck(root: &Path, name: &str, _: Option<&str>) {
        if name == DETECTORS[0] {
            put(&root.join(name), false);
        }
    }

    fn machine(values: [bool; 3]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        for (name, on) in DETECTORS.iter().zip(values) {
            put(&dir.path().join(name), on);
            put(&wish(dir.path(), name), on);
        }
        dir
    }

    fn access(dir: &TempDir, kernel: fn(&Path, &str, Option<&str>)) -> Access {
        let mut access = Access::new(dir.path());
        access.kernel = Some(kernel);
        access
    }

    fn switch_off(dir: &TempDir, names: &[&str]) -> State {
        let state = State::at(&dir.path().join("state"));
        let setting = |name: &&str| Setting {
            factor: "watchdog".to_owned(),
            target: Target::File((*name).to_owned()),
            wanted: "0".to_owned(),
            survives_reboot: false,
        };
        let request = TuneRequest { settings: names.iter().map(setting).collect(), freeze: None };
        tune(access(dir, watchdogs), state.clone(), &request, &|| false).unwrap().keep();
        state
    }

    #[test]
    fn detectors_that_a_reader_turns_off_are_restored() {
        for values in [[true, true, false], [true, true, true], [true, false, true]] {
            for names in [&DETECTORS[..1], &[DETECTORS[0], DETECTORS[2]], &DETECTORS[1..]] {
                let dir = machine(values);
                let state = switch_off(&dir, names);
                assert!(names.iter().all(|name| !number(&dir.path().join(name))));
                let done = restore(&access(&dir, watchdogs), &state, How::default()).unwrap();
                assert_eq!(DETECTORS.map(|name| number(&dir.path().join(name))), values, "{names:?} {done:?}");
                assert!(done.is_whole(), "{done:?}");
                let count = done.count(|o| *o == RestoreOutcome::AsBefore);
                assert_eq!(count, values.iter().filter(|on| !**on).count(), "what was written is reported: {done:?}");
                assert!(!state.journal().exists());
            }
        }
    }

    #[test]
    fn a_value_without_effect_is_said_once() {
        let dir = machine([true, true, false]);
        let state = switch_off(&dir, &DETECTORS[..1]);
        let done = restore(&access(&dir, stuck), &state, How::default()).unwrap();
        let why = "the kernel reports 0 after 1 was written; the next boot sets it anew".to_owned();
        assert!(done.items.iter().any(|i| i.outcome == RestoreOutcome::Ineffective { why: why.clone() }), "{done:?}");
        assert!(!done.is_whole() && !done.pending, "{done:?}");
        assert!(!state.journal().exists());
    }
}
