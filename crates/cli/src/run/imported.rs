//! Commands of imported runs: printed, and run only if the user trusts them.

use crate::args::style::Show;
use crate::exit::Failure;
use crate::output::local_time;
use tarebench::render::run::commands::commands;
use tarebench::run::session::{ImportTrust, ImportedPlan};

/// What `--trust-imported` stands for.
pub fn trust(given: bool) -> ImportTrust {
    if given { ImportTrust::Trust } else { ImportTrust::Refuse }
}

/// Prints everything that resuming would run of imported runs, on standard error, also if it is trusted; then refuses what is not.
pub fn check(plans: Vec<ImportedPlan>, trust: ImportTrust, show: &Show) -> Result<(), Failure> {
    for ImportedPlan { run, imported, plan } in &plans {
        eprintln!("tare: run {run} was imported on {}; resuming runs:", local_time(*imported));
        for line in commands(plan, &show.progress_style) {
            eprintln!("      {line}");
        }
    }
    Ok(trust.check(plans)?)
}
