//! Building what a gate compares.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tarebench_core::base::signal::Signal;
use tarebench_run::hooks::{self, HookContext, HookError};
use tarebench_sys::signals::Signals;

/// Why a script did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It failed: what it is, how, and the end of its output if that was not shown.
    #[error("{0}")]
    Failed(String),
    /// Tare was asked to end meanwhile.
    #[error("interrupted by {}", Signal(*.0))]
    Interrupted(i32),
}

/// Runs a script by `/bin/sh` in a folder, with these variables beside tare's own, and waits for it. Its output is shown on standard
/// error, or discarded if `show` is false. Its shell ends when tare ends, however that ends; `kind` names it in errors.
pub fn run_script(
    (kind, script): (&str, &str),
    folder: &Path,
    variables: &[(&str, OsString)],
    show: bool,
    signals: &Signals,
) -> Result<(), ScriptError> {
    let pair = |name: &[u8], value: &[u8]| [name, b"=", value].concat();
    let is_set = |name: &[u8]| name == b"PWD" || variables.iter().any(|(set, _)| set.as_bytes() == name);
    let inherited = std::env::vars_os().filter(|(name, _)| !is_set(name.as_bytes()));
    let mut env: Vec<Vec<u8>> = inherited.map(|(name, value)| pair(name.as_bytes(), value.as_bytes())).collect();
    env.extend(variables.iter().map(|(name, value)| pair(name.as_bytes(), value.as_bytes())));
    let place = HookContext { shell: &[], cwd: folder.as_os_str().as_bytes(), env: &env, show };
    hooks::run(kind, script, &place, signals).map_err(|e| match e {
        HookError::Failed(text) => ScriptError::Failed(text),
        HookError::Interrupted(signal) => ScriptError::Interrupted(signal),
    })
}
