//! The machine's factors: their values and recommendations; and the states that probes have seen it in.

use crate::run::quiet;
use crate::run::session::StorePlace;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::quiet::data::{MachineStates, QuietLevels};
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::sample::probes::PROBE_REVISION;
use tarebench_host::access::Access;
use tarebench_host::factors;
use tarebench_host::factors::{FactorMachine, FactorSpec};
use tarebench_render::machine::terminal::{FactorRow, FactorRule};
use tarebench_store::StoreError;

pub use tarebench_host::factors::UnknownFactor;

/// Time for which steal time and processes are watched.
pub const SPAN: Duration = Duration::from_secs(1);

/// The factors to read.
#[derive(Clone, Debug, Default)]
pub struct MachineRequest {
    /// Names of the factors; all if empty.
    pub only: Vec<String>,
    /// CPUs that will be measured on.
    pub cpus: Option<Vec<u32>>,
    /// A folder with another machine's files, the only source: values without a file are absent. This machine if
    /// `None`.
    pub root: Option<PathBuf>,
    /// D-Bus address of the bus that its systemd is on; the system's if `None`.
    pub bus: Option<String>,
}

/// A factor's rule.
pub fn rule(spec: &FactorSpec) -> FactorRule {
    FactorRule {
        group: spec.group.title().to_owned(),
        name: spec.name.to_owned(),
        step: spec.step,
        optional: spec.optional,
        wanted: spec.wanted.to_owned(),
        reason: spec.reason.to_owned(),
        source: spec.source.to_owned(),
        privilege: spec.privilege.words().to_owned(),
        settable: spec.settable(),
    }
}

/// All rules, in order.
pub fn rules() -> Vec<FactorRule> {
    factors::table().map(rule).collect()
}

/// Reads a machine's factors. For this one, this takes a second if one of them must be watched that long.
///
/// # Errors
/// The first name that is not in the table.
pub fn examine(request: &MachineRequest) -> Result<Vec<FactorRow>, UnknownFactor> {
    let chosen = factors::select(&request.only)?;
    let root = Path::new("/");
    let watch = chosen.iter().any(|f| ["steal", "busy-processes"].contains(&f.name));
    let mut machine = match &request.root {
        Some(other) => FactorMachine::from_files(other),
        None if watch => FactorMachine::watched(root, SPAN),
        None => FactorMachine::now(root),
    };
    machine.cpus.clone_from(&request.cpus);
    let access = Access::new(request.root.as_deref().unwrap_or(root));
    machine.units = match (&request.bus, &request.root) {
        (Some(address), _) => access.with_bus(address).units(),
        (None, None) => access.units(),
        (None, Some(_)) => machine.units,
    };
    Ok(chosen.into_iter().map(|f| FactorRow::new(rule(f), f.read(&machine))).collect())
}

/// One line that describes the machine.
pub fn machine(request: &MachineRequest) -> String {
    if let Some(other) = &request.root {
        return format!("files below {}", other.display());
    }
    let h = tarebench_host::host::describe(Path::new("/"));
    let cpu = match &h.cpu {
        Reading::Value(cpu) => format!("{} × {cpu}", h.cpus),
        Reading::Absent(_) => format!("{} CPUs", h.cpus),
    };
    format!("{}: {cpu}, Linux {} {}", h.name, h.kernel, h.architecture)
}

/// Identity of this machine, as in [`tarebench_core::machine::data::Host::machine`].
pub fn identity() -> String {
    tarebench_host::host::identity(std::path::Path::new("/"))
}

/// What probes beside programs have learned of this machine in its present conditions: with another kernel, microcode, governor or
/// SMT setting it is learned again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedMachine {
    /// The probes' times while nothing else runs; `None` before the first 50 wake-ups.
    pub levels: Option<QuietLevels>,
    /// How often it is quiet, and for how long; likewise.
    pub states: Option<MachineStates>,
    /// Number of programs of which it is known how their time follows the probes.
    pub programs: usize,
    /// When the newest of it was learned, since 1970; `None` if nothing was.
    pub learned: Option<Nanos>,
}

/// What is known of this machine; nothing where nothing is stored.
pub fn machine_states(place: &StorePlace) -> Result<LearnedMachine, StoreError> {
    let StorePlace::Store(store) = place else { return Ok(LearnedMachine::default()) };
    let here = quiet::here();
    let history = store.level_history(&here, PROBE_REVISION)?;
    let coefficients = store.coefficients(&here, PROBE_REVISION, None)?;
    let levels = history.as_ref().and_then(LevelHistory::levels);
    let fitted = coefficients.iter().map(|c| c.fitted).max();
    Ok(LearnedMachine {
        learned: levels.as_ref().map(|l| l.learned).max(fitted),
        states: history.as_ref().and_then(LevelHistory::states),
        programs: coefficients.len(),
        levels,
    })
}

/// Forgets all that probes have learned of this machine, in whatever conditions; returns how many records there were. Runs stay as
/// they are.
pub fn forget_machine_states(place: &mut StorePlace) -> Result<u64, StoreError> {
    place.store().map_or(Ok(0), |store| store.forget_machine_states(&identity()))
}
