//! `tare clocks`: the timing mechanisms, and which to use.

use crate::args::style::PlainStyleArgs;
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::Args;
use std::time::Duration;
use tarebench::core::base::units::Nanos;
use tarebench::kbest::{advise, clocks, times_rate};
use tarebench::render::kbest::clocks::{ClocksRequest, json, sheet};
use tarebench::report::terminal::sheet_text;

/// How long the ticks of times(2) are counted: its rate is then known to 4%.
const COUNTED: Duration = Duration::from_millis(500);

/// Show the resolution and cost of every timing mechanism; takes two seconds
#[derive(Args)]
pub struct ClocksArgs {
    /// Recommend a clock for code that takes about TIME, e.g. 5ms
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    duration: Option<Nanos>,
    /// Number of active processes on the CPU, the measured one included
    #[arg(long, value_name = "N", default_value_t = 1, requires = "duration", value_parser = clap::value_parser!(u32).range(1..))]
    load: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
}

pub fn show(args: &ClocksArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let found = clocks().map_err(Failure::system)?;
    let asked = args.duration.map(|duration| ClocksRequest { duration, load: args.load });
    let choice = asked.map(|a| advise(&found, a.duration, a.load));
    let advice = asked.as_ref().zip(choice.as_ref());
    let ticks = times_rate(COUNTED);
    if args.json {
        print(&json(&found, ticks.as_ref(), advice).map_err(Failure::system)?);
    } else {
        print(&sheet_text(&sheet(&found, ticks.as_ref(), advice), &show.style));
    }
    Ok(Exit::Done)
}
