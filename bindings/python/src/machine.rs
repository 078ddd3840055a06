//! The machine, and this process's place on it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarebench::documents::here;
use tarebench::sys::process;

/// The machine as a run's report describes it: name, cpu (None if unknown), kernel, architecture, cpus, machine (a hash that identifies
/// it) and fingerprint (equal where times can be compared).
#[pyfunction]
#[pyo3(name = "machine")]
pub fn this_machine(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let conditions = py.detach(here);
    let host = conditions.host();
    let found = PyDict::new(py);
    found.set_item("name", &host.name)?;
    found.set_item("cpu", host.cpu.value())?;
    found.set_item("kernel", &host.kernel)?;
    found.set_item("architecture", &host.architecture)?;
    found.set_item("cpus", host.cpus)?;
    found.set_item("machine", &host.machine)?;
    found.set_item("fingerprint", conditions.fingerprint())?;
    Ok(found)
}

/// Ids of the children of this process, those that have ended and were not waited for included.
#[pyfunction]
pub fn children(py: Python<'_>) -> Vec<i32> {
    py.detach(|| process::children(process::own_pid()))
}
