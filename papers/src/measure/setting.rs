//! Brings the machine into the condition of a run, by the factors that `tare tune` sets.

use crate::data::series::StudyRunPlan;
use crate::measure::error::StudyError;
use std::path::{Path, PathBuf};
use tarebench_core::machine::data::Factor;
use tarebench_core::run::notes::Note;
use tarebench_host::access::Access;
use tarebench_host::factors;
use tarebench_host::factors::FactorMachine;
use tarebench_host::setting::Setting;
use tarebench_host::state::{Pending, State, TuneError};
use tarebench_host::tune;
use tarebench_host::tune::{Stand, TuneItem, TuneRequest, Tuned};
use tarebench_sys::signals::Signals;

/// How the machine is changed, and where its old values are journalled.
pub struct StudyMachine<'a> {
    /// What may be changed.
    pub access: &'a dyn Fn() -> Access,
    /// The folder of the journal; `None` if there is no place for it, and nothing can be changed.
    pub journal: Option<PathBuf>,
}

/// A machine in the condition of a run.
pub(crate) enum Condition {
    /// As it was: nothing had to be set.
    AsItIs,
    /// Set; restored by [`restore`].
    Tuned(Box<Tuned>),
    /// It cannot be set, in words.
    Impossible(String),
}

impl Condition {
    /// What is noted of the run.
    pub(crate) fn notes(&self) -> Vec<Note> {
        match self {
            Condition::Tuned(tuned) => vec![Note::Tuned(tuned.report().tuning())],
            Condition::AsItIs | Condition::Impossible(_) => Vec::new(),
        }
    }
}

/// What has to be set for a run; nothing if the machine is in its condition, or it has none.
///
/// # Errors
/// Why the factor cannot be set, in words.
fn wanted(machine: &FactorMachine, planned: &StudyRunPlan) -> Result<Vec<Setting>, String> {
    let Some((factor, value)) = &planned.setting else { return Ok(Vec::new()) };
    let refused = |why: &str| format!("{factor} cannot be set to {value}: {why}");
    let spec = factors::find(factor).ok_or_else(|| refused("there is no such factor"))?;
    let found = spec.read(machine);
    let settings = spec.settings(machine);
    // The clock stays synchronised for hours after its daemon was stopped: the unit decides, where there is one.
    if is_so(&found, value) && (factor != "ntp" || settings.is_empty()) {
        return Ok(Vec::new());
    }
    if settings.is_empty() {
        return Err(refused(&format!("this machine shows no control of it ({})", found.finding)));
    }
    let to = |setting: Setting| match changed(&setting, factor, value) {
        Some(wanted) => Ok(Setting { wanted, ..setting }),
        None => Err(refused("there is no such value")),
    };
    settings.into_iter().map(to).collect()
}

/// Whether a factor reads as a value of a study: `off`, `on`, or the factor's own.
fn is_so(found: &Factor, value: &str) -> bool {
    let Some(read) = found.value.as_deref() else { return false };
    match (found.name.as_str(), value) {
        ("ntp", "on") => read.starts_with("synchronised"),
        ("ntp", "off") => read == "not synchronised",
        _ => read == value,
    }
}

/// The value of a setting that brings a factor to `off`, `on`, or a value of its own. The table holds what tare recommends.
fn changed(setting: &Setting, factor: &str, value: &str) -> Option<String> {
    let recommended = match factor {
        "turbo" | "smt" => "off",
        _ => "on",
    };
    let opposite = |text: &str| match text {
        "0" => Some("1"),
        "1" => Some("0"),
        "on" => Some("off"),
        "off" => Some("on"),
        "active" => Some("inactive"),
        "inactive" => Some("active"),
        _ => None,
    };
    match value {
        "on" | "off" if value == recommended => Some(setting.wanted.clone()),
        "on" | "off" => opposite(&setting.wanted).map(str::to_owned),
        // A governor, say.
        other => Some(other.to_owned()),
    }
}

fn seen(access: &Access) -> FactorMachine {
    let root = access.root();
    let real = root == Path::new("/");
    let mut machine = if real { FactorMachine::now(root) } else { FactorMachine::from_files(root) };
    machine.units = access.units();
    machine
}

fn refusal(item: &TuneItem) -> Option<String> {
    match &item.stand {
        Stand::NotHere { why } | Stand::Refused { why } => {
            Some(format!("{} cannot be set to {}: {why}", item.factor, item.wanted))
        }
        Stand::SetAs { value } => Some(format!("{} was set to {} and reads {value}", item.factor, item.wanted)),
        Stand::Planned | Stand::Set | Stand::AsWanted => None,
    }
}

/// Brings the machine into the condition of a run. What cannot be set completely is restored at once.
///
/// # Errors
/// [`TuneError`]; then nothing is changed, or the journal holds what was.
pub(crate) fn bring_about(
    machine: &StudyMachine<'_>,
    planned: &StudyRunPlan,
    signals: &Signals,
) -> Result<Condition, StudyError> {
    if planned.setting.is_none() {
        return Ok(Condition::AsItIs);
    }
    // A killed session's settings would be taken for the machine as it is.
    if let Some(pending) = machine.journal.as_deref().and_then(|folder| Pending::check(&State::at(folder))) {
        return Err(TuneError::Pending { pending: Box::new(pending) }.into());
    }
    let access = (machine.access)();
    let settings = match wanted(&seen(&access), planned) {
        Ok(settings) if settings.is_empty() => return Ok(Condition::AsItIs),
        Ok(settings) => settings,
        Err(why) => return Ok(Condition::Impossible(why)),
    };
    let state = State::at(machine.journal.as_deref().ok_or(TuneError::NoPlace)?);
    let request = TuneRequest { settings, freeze: None };
    let mut tuned = tune::tune(access, state, &request, &|| signals.caught().is_some())?;
    if let Some(why) = tuned.report().items.iter().find_map(refusal) {
        restore(Condition::Tuned(Box::new(tuned)))?;
        return Ok(Condition::Impossible(why));
    }
    tuned.rest();
    Ok(Condition::Tuned(Box::new(tuned)))
}

/// Restores what was set.
///
/// # Errors
/// If the machine is not as before.
pub(crate) fn restore(condition: Condition) -> Result<(), StudyError> {
    let Condition::Tuned(tuned) = condition else { return Ok(()) };
    let restored = tuned.restore()?;
    if restored.is_whole() { Ok(()) } else { Err(StudyError::NotRestored(restored.summary())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::machine::data::Standing;
    use tarebench_host::setting::Target;

    fn setting(wanted: &str) -> Setting {
        Setting {
            factor: String::new(),
            target: Target::File("f".to_owned()),
            wanted: wanted.to_owned(),
            survives_reboot: false,
        }
    }

    #[test]
    fn the_table_holds_what_is_recommended() {
        // intel_pstate/no_turbo = 1 is turbo off, cpufreq/boost = 0 too.
        assert_eq!(changed(&setting("1"), "turbo", "off").as_deref(), Some("1"));
        assert_eq!(changed(&setting("1"), "turbo", "on").as_deref(), Some("0"));
        assert_eq!(changed(&setting("0"), "turbo", "on").as_deref(), Some("1"));
        assert_eq!(changed(&setting("active"), "ntp", "on").as_deref(), Some("active"));
        assert_eq!(changed(&setting("active"), "ntp", "off").as_deref(), Some("inactive"));
        assert_eq!(changed(&setting("performance"), "governor", "powersave").as_deref(), Some("powersave"));
        assert_eq!(changed(&setting("performance"), "governor", "off"), None);
    }

    #[test]
    fn a_factor_may_be_so_already() {
        let factor = |name: &str, value: &str| Factor {
            value: Some(value.to_owned()),
            ..Factor::new(2, name, Standing::Held, "")
        };
        assert!(is_so(&factor("ntp", "synchronised by chronyd"), "on"));
        assert!(!is_so(&factor("ntp", "synchronised by chronyd"), "off"));
        assert!(is_so(&factor("ntp", "not synchronised"), "off"));
        assert!(!is_so(&factor("ntp", "not synchronised by chronyd"), "off"));
        assert!(is_so(&factor("turbo", "off"), "off"));
        assert!(!is_so(&Factor::new(3, "turbo", Standing::Unknown, "no control"), "off"));
    }
}
