//! `tare restore`: put back what `tare tune` changed.

use crate::exit::{Exit, Failure};
use crate::machine::tune::{MachineArgs, columns};
use crate::output::print;
use clap::Args;
use tarebench::host::restore;
use tarebench::host::restore::{How, Item, Outcome, Restored};
use tarebench::render::kit::text::shown;
use tarebench::sys::signals::Signals;

/// Put back exactly what was before `tare tune` or `tare run --tune`, after a kill or a power cut too
///
/// A value that somebody else has changed since is kept and reported: --force puts it back nevertheless, --forget
/// leaves it for good.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 all is as before, or there is nothing to put back; 1 something was kept, refused \
or not known; 2 wrong usage; 4 the journal cannot be read or removed."
)]
pub struct RestoreArgs {
    /// Overwrite what others have changed since
    #[arg(long)]
    force: bool,
    /// Leave what others have changed since, and forget what it was before
    #[arg(long, conflicts_with = "force")]
    forget: bool,
    /// Show what would be put back; change nothing
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
    // Ctrl-C waits until everything is back.
    let _signals = Signals::install().map_err(Failure::system)?;
    let how = How { force: args.force, forget: args.forget, dry_run: args.dry_run };
    let restored = restore::restore(&args.machine.access(), &state, how)?;
    if args.json {
        let text = serde_json::to_string_pretty(&restored).map_err(Failure::system)?;
        print(&format!("{text}\n"));
    } else {
        print(&table(&restored));
    }
    Ok(if restored.is_whole() { Exit::Done } else { Exit::PARTIAL })
}

fn table(restored: &Restored) -> String {
    let visible = |i: &&Item| i.outcome != Outcome::AsBefore;
    let rows: Vec<[String; 3]> = restored.items.iter().filter(visible).map(row).collect();
    let mut text = columns(&rows);
    for note in &restored.notes {
        text += &format!("{}\n", shown(note));
    }
    text += &format!("{}\n", restored.summary());
    let kept = restored.items.iter().any(|i| matches!(i.outcome, Outcome::Changed { .. }));
    if restored.pending && kept {
        text += "`tare restore --force` puts back what was kept, `tare restore --forget` leaves it\n";
    }
    text
}

fn row(i: &Item) -> [String; 3] {
    let old = &i.old;
    let what = match &i.outcome {
        Outcome::Planned => format!("would be put back to {old}"),
        Outcome::PutBack => format!("put back to {old}"),
        Outcome::AsBefore => format!("{old}, as before"),
        Outcome::Changed { value } => format!("kept at {value}, as somebody else changed it since; before: {old}"),
        Outcome::Refused { why } => format!("not put back to {old}: {why}"),
        Outcome::Gone => format!("no longer there; before: {old}"),
        Outcome::Rebooted => "set anew by the restart".to_owned(),
    };
    [i.factor.clone(), i.target.clone(), what].map(|t| shown(&t).into_owned())
}
