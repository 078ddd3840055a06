//! `tare show`: a stored result of any kind.

use crate::args::exports::Exports;
use crate::args::store::{StoreArgs, StoredId};
use crate::args::style::StyleArgs;
use crate::documents::kinds::commands_of;
use crate::exit::{Exit, Failure};
use crate::kind::ShowRequest;
use crate::stored::say_imported;
use clap::Args;

/// Print a stored result: of a run, a profile, noise, a study, benchmarks, a comparison, or a gate
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    what: StoredId,
    /// Discard at S standard deviations instead of the run's value, or none; the stored run does not change
    #[arg(long, value_name = "S", value_parser = crate::args::values::sigma)]
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
    let id = args.what.resolve(&*store)?;
    if !args.exports.json && !args.exports.to_stdout() {
        say_imported(&*store, id, &show)?;
    }
    let commands = commands_of(id.kind)?;
    if args.sigma.is_some() && !commands.has_sigma {
        return Err(Failure::usage(format!("--sigma applies to runs only; {id} is a {}", id.kind.noun())));
    }
    (commands.show)(&*store, id, &ShowRequest { sigma: args.sigma, exports: &args.exports, show: &show })?;
    Ok(Exit::Done)
}
