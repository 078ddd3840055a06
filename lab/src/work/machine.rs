//! This machine, as it announces itself to a lab.

use crate::data::state::{LabMachine, LabMachineState};
use crate::work::hours::load_average;
use std::collections::BTreeMap;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::conditions::fingerprint;

/// This machine under a name of the lab. Its owner and times are the server's to say.
pub fn describe(name: &str, tags: &BTreeMap<String, String>, state: LabMachineState, task: Option<i64>) -> LabMachine {
    let host = tarebench_host::host::describe(Path::new("/"));
    let factors = tarebench_host::factors::read(Path::new("/"));
    LabMachine {
        name: name.to_owned(),
        owner: String::new(),
        tags: tags.clone(),
        machine: host.machine.clone(),
        fingerprint: fingerprint(&host, &factors),
        host,
        factors,
        version: tarebench::VERSION.to_owned(),
        state,
        load: load(),
        first_seen: Nanos::ZERO,
        heartbeat: Nanos::ZERO,
        task,
        draining: false,
    }
}

/// Load average of the last minute, in runnable tasks.
pub(crate) fn load() -> Option<f64> {
    load_average(&std::fs::read_to_string("/proc/loadavg").ok()?)
}
