//! The exception of the package.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use tarebench_cli::api::Failure;

pyo3::create_exception!(
    tarebench,
    TareError,
    PyException,
    "What tare cannot do, in the command's words: `message`, `hint` (or None), and `exit_code`, that of the command."
);

/// The exception of a failure.
pub fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    let text = match &failure.hint {
        Some(hint) => format!("{}\n{hint}", failure.message),
        None => failure.message.clone(),
    };
    let error = TareError::new_err(text);
    match describe(py, &error, failure) {
        Ok(()) => error,
        Err(other) => other,
    }
}

fn describe(py: Python<'_>, error: &PyErr, failure: &Failure) -> PyResult<()> {
    let value = error.value(py);
    value.setattr("message", failure.message.as_str())?;
    value.setattr("hint", failure.hint.as_deref())?;
    value.setattr("exit_code", failure.exit as u8)
}
