//! `tare restore`: restores what `tare tune` changed.

use crate::exit::{Exit, Failure};
use crate::machine::tune::{MachineArgs, columns};
use crate::output::print;
use clap::Args;
use tarebench::host::restore;
use tarebench::host::restore::{How, RestoreItem, RestoreOutcome, Restored};
use tarebench::report::json;
use tarebench::report::text::escape;
use tarebench::sys::signals::Signals;

/// Restore the settings that `tare tune` or `tare run --tune` changed
///
/// Also works after a kill or a power cut. A value that another process has changed since then is kept and reported:
/// --force restores it anyway, --forget drops it. --forget also drops what the system refuses to restore.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 success, also if there was nothing to restore; 1 a value was kept, refused, \
without effect or is unknown; 2 usage error; 4 the journal cannot be read or removed.")]
pub struct RestoreArgs {
    /// Also restore values that others have changed since
    #[arg(long)]
    force: bool,
    /// Drop values that others have changed since, or that are refused, from the journal, without restoring them
    #[arg(long, conflicts_with = "force")]
    forget: bool,
    /// Show what would be restored; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: MachineArgs,
}

pub fn restore(args: &RestoreArgs) -> Result<Exit, Failure> {
    let state = args.machine.state()?;
    // Ctrl-C waits until everything is restored.
    let _signals = Signals::install().map_err(Failure::system)?;
    let how = How { force: args.force, forget: args.forget, dry_run: args.dry_run };
    let restored = restore::restore(&args.machine.access(), &state, how)?;
    if args.json {
        let text = json::pretty(&restored).map_err(Failure::system)?;
        print(&format!("{text}\n"));
    } else {
        print(&table(&restored));
    }
    Ok(if restored.is_whole() { Exit::Done } else { Exit::PARTIAL })
}

fn table(restored: &Restored) -> String {
    let visible = |i: &&RestoreItem| i.outcome != RestoreOutcome::AsBefore;
    let rows: Vec<[String; 3]> = restored.items.iter().filter(visible).map(row).collect();
    let mut text = columns(&rows);
    for note in &restored.notes {
        text += &format!("{}\n", escape(note));
    }
    text += &format!("{}\n", restored.summary());
    let any = |of: fn(&RestoreOutcome) -> bool| restored.pending && restored.items.iter().any(|i| of(&i.outcome));
    if any(|o| matches!(o, RestoreOutcome::Changed { .. })) {
        text += "restore the kept values with `tare restore --force`, or drop them with `tare restore --forget`\n";
    }
    if any(|o| matches!(o, RestoreOutcome::Refused { .. })) {
        text += "the refused values stay in the journal: call `tare restore` again, or drop them with `tare restore --forget`\n";
    }
    text
}

fn row(i: &RestoreItem) -> [String; 3] {
    let old = &i.old;
    let what = match &i.outcome {
        RestoreOutcome::Planned => format!("would be restored to {old}"),
        RestoreOutcome::PutBack => format!("restored to {old}"),
        RestoreOutcome::AsBefore => format!("{old}, unchanged"),
        RestoreOutcome::Changed { value } => format!("kept at {value}, changed by another process since; was {old}"),
        RestoreOutcome::Refused { why } => format!("cannot be restored to {old}: {why}"),
        RestoreOutcome::Ineffective { why } => format!("not restored to {old}: {why}"),
        RestoreOutcome::Gone => format!("no longer exists; was {old}"),
        RestoreOutcome::Rebooted => "reset by the reboot".to_owned(),
    };
    [i.factor.clone(), i.target.clone(), what].map(|t| escape(&t).into_owned())
}
