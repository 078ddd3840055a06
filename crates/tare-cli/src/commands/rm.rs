//! `tare rm`: remove stored runs.

use super::StoreArgs;
use crate::exit::{Exit, Failure};
use clap::Args;
use tarebench::store::Store;

/// Remove stored runs, with their samples
#[derive(Args)]
pub struct RmArgs {
    /// Numbers or uuids of runs, or `last`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn rm(args: &RmArgs) -> Result<Exit, Failure> {
    let mut store = args.store.writable()?;
    // All are looked up before any is removed: a mistyped number removes nothing.
    let ids: Vec<i64> = args.runs.iter().map(|r| store.resolve(r)).collect::<Result<_, _>>()?;
    for id in ids {
        store.remove(id)?;
        eprintln!("removed run {id}");
    }
    Ok(Exit::Done)
}
