//! `tare show`: the result of a stored run.

use super::{RunId, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Exports, StyleArgs};
use clap::Args;
use tarebench::core::report::build;
use tarebench::session::load;

/// Print the result of a stored run
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    run: RunId,
    /// Discard at so many standard deviations, instead of the run's; nothing stored is changed
    #[arg(long, value_name = "S")]
    sigma: Option<f64>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named());
    let store = args.store.readable()?;
    let (mut run, samples, profile) = load(&store, args.run.resolve(&store)?)?;
    if let Some(sigma) = args.sigma {
        run.plan.sigma = crate::plan::check_sigma(sigma)?;
    }
    let report = build(&run, &samples, profile.as_ref());
    show.report(&report, &samples, &args.exports)?;
    args.exports.write(&report, &samples, &show)?;
    Ok(Exit::Done)
}
