//! The native module of the Python package `tarebench`: conversions between the two languages, and the calls that are timed. All
//! figures are computed by the crates below it.

#![warn(missing_docs)]

mod block;
mod calls;
mod error;
mod figures;
mod gate;
mod machine;
mod process;
mod run;
mod samples;
mod store;

use pyo3::prelude::*;

/// The native module of tarebench. Use the package: this module may change with any version.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::block::Measurement;
    #[pymodule_export]
    use crate::calls::kbest;
    #[pymodule_export]
    use crate::calls::time_calls;
    #[pymodule_export]
    use crate::error::TareError;
    #[pymodule_export]
    use crate::figures::compare_blocks;
    #[pymodule_export]
    use crate::figures::gate_verdicts;
    #[pymodule_export]
    use crate::figures::summarise;
    #[pymodule_export]
    use crate::gate::Gate;
    #[pymodule_export]
    use crate::gate::gate;
    #[pymodule_export]
    use crate::machine::children;
    #[pymodule_export]
    use crate::machine::this_machine;
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::run::measured_run;
    #[pymodule_export]
    use crate::samples::Samples;
    #[pymodule_export]
    use crate::store::Store;

    #[pymodule_export]
    use super::main;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The file of this process is the interpreter's: measuring its start as that of tare would be wrong.
        tarebench_cli::api::set_embedded();
        tarebench_lab::open_servers();
        tarebench_papers::know_studies();
        module.add("VERSION", tarebench::VERSION)
    }
}

/// Runs the command `tare`; `arguments` begin with its name. Returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    // Signals stay the command's, as in a process of its own.
    py.detach(move || tarebench_lab::main(arguments))
}
