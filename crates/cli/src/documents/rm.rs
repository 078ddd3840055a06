//! `tare rm`: remove stored results of any kind.

use crate::args::store::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::stored;
use clap::Args;

/// Remove stored results of any kind, with their samples
#[derive(Args)]
pub struct RmArgs {
    /// Numbers or uuids of runs, or `last`; numbers of profiles (`p1`), noise (`n1`), studies (`s1`), benchmarks (`b1`),
    /// comparisons (`c1`), gates (`g1`); NAME@VERSION of a profile, or NAME for all its versions
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn rm(args: &RmArgs) -> Result<Exit, Failure> {
    stored::remove(&mut *args.store.writable()?, &args.runs)
}
