//! The whole table of factors.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::FactorSpec;
use crate::factors::{clock_speed, daemons, isolation, kernel, load, memory, time, virtualization};
use crate::setting::Setting;
use std::path::Path;
use tarebench_core::machine::data::Factor;

/// The parts of the table, in its order.
const PARTS: &[&[FactorSpec]] = &[
    daemons::ROWS,
    time::ROWS,
    clock_speed::ROWS,
    kernel::ROWS,
    isolation::ROWS,
    memory::ROWS,
    virtualization::ROWS,
    load::ROWS,
];

pub fn table() -> impl Iterator<Item = &'static FactorSpec> {
    PARTS.iter().copied().flatten()
}

/// A row by its name.
pub fn find(name: &str) -> Option<&'static FactorSpec> {
    table().find(|f| f.name == name)
}

/// A name that is not in the table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no factor is called `{0}`")]
pub struct UnknownFactor(pub String);

/// The rows of these names, in the table's order; all if there are none.
///
/// # Errors
/// The first name that is not in the table.
pub fn select(names: &[String]) -> Result<Vec<&'static FactorSpec>, UnknownFactor> {
    if let Some(unknown) = names.iter().find(|n| find(n).is_none()) {
        return Err(UnknownFactor(unknown.clone()));
    }
    Ok(table().filter(|f| names.is_empty() || names.iter().any(|n| n == f.name)).collect())
}

/// What to set so that the machine is as wanted, in an order that works (and can be undone in reverse): of these
/// factors, or, without names, of all that are neither optional nor to be named. What already is as wanted may be among it.
///
/// # Errors
/// The first name that is not in the table.
pub fn settings(machine: &FactorMachine, only: &[String]) -> Result<Vec<Setting>, UnknownFactor> {
    let usual = |f: &FactorSpec| !f.optional && !f.only_when_named();
    let rows = select(only)?.into_iter().filter(|f| !only.is_empty() || usual(f));
    Ok(rows.flat_map(|f| f.settings(machine)).collect())
}

/// Reads all factors of the machine whose files are below `root`, without waiting; what has no file (the clocks, the
/// hardware counters) is the running machine's.
pub fn read(root: &Path) -> Vec<Factor> {
    read_all(&FactorMachine::now(root))
}

pub fn read_all(machine: &FactorMachine) -> Vec<Factor> {
    table().map(|f| f.read(machine)).collect()
}
