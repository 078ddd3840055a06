//! `tare machine`: what probes have seen of this machine so far.

use crate::args::store::StoreArgs;
use crate::args::style::PlainStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::Args;
use tarebench::machine::{LearnedMachine, MachineRequest, forget_machine_states, machine, machine_states};
use tarebench::render::machine::states::{KnownMachine, json, sheet};
use tarebench::report::terminal::sheet_text;
use tarebench::run::session::StorePlace;

/// Show this machine's states, as probes have seen them: how often it is quiet, how far its clock wanders
///
/// The probes are those of `tare run --quiet` and `tare run --correct`. What they learn is of this machine in its present
/// conditions: with another kernel, microcode, governor or SMT setting it is learned again.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 success, also if nothing is known yet; 2 usage error; 4 the store or the system failed."
)]
pub struct MachineStatesArgs {
    /// Print JSON
    #[arg(long, conflicts_with = "forget")]
    json: bool,
    /// Forget all that probes have learned of this machine; stored runs stay as they are
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn states(args: &MachineStatesArgs) -> Result<Exit, Failure> {
    if args.forget {
        return forget(args);
    }
    let show = args.style.show()?.with_store(args.store.named());
    // That nothing was measured yet is one of the answers.
    let place = args.store.local_if_there()?.map_or(StorePlace::Nowhere, StorePlace::Store);
    let LearnedMachine { levels, states, programs, .. } = machine_states(&place)?;
    let machine = machine(&MachineRequest::default());
    let known = KnownMachine { machine: &machine, states: states.as_ref(), levels: levels.as_ref(), programs };
    if args.json {
        print(&json(&known).map_err(Failure::system)?);
    } else if !show.is_quiet() {
        print(&sheet_text(&sheet(&known, &show.style.hints, &show.style.zone), &show.style));
    }
    Ok(Exit::Done)
}

/// As `tare rm`: what is named is removed, and how much that was is reported.
fn forget(args: &MachineStatesArgs) -> Result<Exit, Failure> {
    let mut place = StorePlace::Store(args.store.local()?);
    match forget_machine_states(&mut place)? {
        0 => eprintln!("nothing was known of this machine"),
        1 => eprintln!("forgot 1 record of this machine"),
        n => eprintln!("forgot {n} records of this machine"),
    }
    Ok(Exit::Done)
}
