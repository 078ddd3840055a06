//! The user that programs run as, and which variables of tare's environment they inherit.

use crate::RunError;
use std::os::unix::ffi::OsStrExt;
use tarebench_core::run::plan::RunPlan;
use tarebench_sys::process;
use tarebench_sys::spawn::Identity;

/// Variables that another user's program inherits; also all `LC_` ones. As in sudo, a list of what is kept, because the
/// variables that hold a secret, a socket or a session of the first user cannot be listed.
const KEPT: [&[u8]; 8] = [b"PATH", b"LANG", b"LANGUAGE", b"TZ", b"TERM", b"COLORTERM", b"COLUMNS", b"LINES"];

/// The user of a plan: `USER`, or `USER:new-privileges`, with which set-user-ID programs keep their effect.
///
/// # Errors
/// If there is no such user.
pub fn of_plan(text: &str) -> Result<Identity, RunError> {
    let (name, new_privileges) = match text.split_once(':') {
        None => (text, false),
        Some((name, "new-privileges")) => (name, true),
        Some(_) => {
            return Err(RunError::Plan(format!("user `{text}`: expected USER or USER:new-privileges")));
        }
    };
    let user = process::user(name).map_err(|e| RunError::Plan(e.to_string()))?;
    Ok(Identity { new_privileges, ..user })
}

/// The environment of the programs of a plan, `KEY=value` each.
pub(crate) fn environment(plan: &RunPlan, identity: Option<&Identity>) -> Vec<Vec<u8>> {
    let pair = |k: &[u8], v: &[u8]| [k, b"=", v].concat();
    let mut all: Vec<(Vec<u8>, Vec<u8>)> =
        std::env::vars_os().map(|(k, v)| (k.as_bytes().to_vec(), v.as_bytes().to_vec())).collect();
    if let Some(user) = identity {
        all.retain(|(k, _)| KEPT.contains(&k.as_slice()) || k.starts_with(b"LC_"));
        let own =
            [(&b"HOME"[..], &user.home), (b"USER", &user.name), (b"LOGNAME", &user.name), (b"SHELL", &user.shell)];
        all.extend(own.map(|(k, v)| (k.to_vec(), v.clone())));
    }
    all.retain(|(k, _)| plan.env.iter().all(|(set, _)| set.as_bytes() != k.as_slice()));
    let set = plan.env.iter().map(|(k, v)| pair(k.as_bytes(), v.as_bytes()));
    all.iter().map(|(k, v)| pair(k, v)).chain(set).collect()
}
