//! `tare rm`: remove stored runs and other documents.

use crate::args::store::StoreArgs;
use crate::exit::{Exit, Failure};
use clap::Args;
use tarebench::store::{Store, Stored};

/// Remove stored runs, with their samples, benchmarks and studies
#[derive(Args)]
pub struct RmArgs {
    /// Numbers or uuids of runs, or `last`; numbers of benchmarks (`b1`) and studies (`s1`)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn rm(args: &RmArgs) -> Result<Exit, Failure> {
    let mut store = args.store.writable()?;
    // All are looked up before any is removed: a mistyped number removes nothing.
    let all: Vec<Stored> = args.runs.iter().map(|r| store.find(r)).collect::<Result<_, _>>()?;
    for one in all {
        match one {
            Stored::Run(id) => store.remove(id)?,
            Stored::Document(id) => store.remove_document(id)?,
        }
        eprintln!("removed {one}");
    }
    Ok(Exit::Done)
}
