//! The time of starting a shell: the part of a sample that belongs to the shell, not to the script.

use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::notes::ShellStart;
use tarebench_core::run::plan::{Command, Output, RunPlan};
use tarebench_run::RunError;
use tarebench_run::launch::ProcessLauncher;
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// Maximum number of starts, after one that is not counted.
const STARTS: usize = 11;
/// Starts no new one after this time.
const BUDGET: Nanos = Nanos::from_millis(150);
/// Kills a start that takes longer.
const LIMIT: Nanos = Nanos::from_millis(5_000);

/// Measures the starts of each shell of the plan, as its programs are started: same environment, CPUs, scheduling and user.
///
/// A shell that fails on an empty script has no starts. Measuring stops when a signal asks tare to end.
///
/// # Errors
/// Those of starting any program of the plan.
pub fn shell_starts(plan: &RunPlan, signals: &Signals) -> Result<Vec<ShellStart>, RunError> {
    let mut found: Vec<ShellStart> = Vec::new();
    for program in &plan.programs {
        let Command::Shell { shell, .. } = &program.command else { continue };
        if found.iter().any(|f| f.shell == *shell) {
            continue;
        }
        let mut empty = program.clone();
        empty.output = None;
        empty.command = Command::Shell { shell: shell.clone(), script: Name::from(":") };
        let plan = RunPlan { programs: vec![empty], output: Output::Null, timeout: Some(LIMIT), ..plan.clone() };
        let elapsed = starts(&plan, signals)?;
        if !elapsed.is_empty() {
            found.push(ShellStart { shell: shell.clone(), elapsed });
        }
    }
    Ok(found)
}

fn starts(plan: &RunPlan, signals: &Signals) -> Result<Vec<Nanos>, RunError> {
    let launcher = ProcessLauncher::new(plan)?;
    let began = clock::monotonic();
    let mut elapsed = Vec::new();
    for i in 0..=STARTS {
        if signals.caught().is_some() || (i > 1 && clock::monotonic() - began > BUDGET) {
            break;
        }
        let done = launcher.execute(0, &[], None, &mut |pid, _| end(pid), signals)?;
        if !done.outcome.success() {
            return Ok(Vec::new());
        }
        if i > 0 {
            elapsed.push(done.end.monotonic - done.start.monotonic);
        }
    }
    elapsed.sort_unstable();
    Ok(elapsed)
}

fn end(pid: i32) {
    const SIGKILL: i32 = 9;
    let _ = tarebench_sys::process::kill(pid, SIGKILL);
}
