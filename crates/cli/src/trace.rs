//! `tare trace`: when a process had its CPU, and what had it otherwise.

use crate::args::style::PlainStyleArgs;
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::progress::Display;
use crate::replace::write_text;
use clap::Args;
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::render::trace::activity::json;
use tarebench::render::trace::book::text;
use tarebench::render::trace::sheet;
use tarebench::report::terminal::sheet_text;
use tarebench::report::web::html as web;
use tarebench::sys::clock;
use tarebench::trace::{TraceError, TracePlan, measure};

/// Show when a computing process had its CPU, and what else ran on it
///
/// The process reads the cycle counter in a loop; a long step between two readings is an inactive period. The format is that of CS:APP
/// figure 9.3: A is an active period, I an inactive one, in cycles of the counter. The cause of an inactive period is at the end of its line:
/// as root from the kernel's trace events, else inferred from its period and length.
#[derive(Args)]
#[command(after_help = "Examples:
  tare trace --for 66ms
  tare trace --for 1s --load 2 --summary
  tare trace --for 90ms --svg trace.svg --html trace.html")]
pub struct TraceArgs {
    /// Length of the trace
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "100ms")]
    duration: Nanos,
    /// CPU to trace [default: the last one allowed]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// Number of active processes on the CPU, the traced one included
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    load: u32,
    /// Shortest step that counts as an inactive period [default: from the loop's own steps]
    #[arg(long, value_name = "CYCLES")]
    threshold: Option<u64>,
    /// Do not record kernel events; recording makes each interrupt about 1 us longer
    #[arg(long)]
    no_explain: bool,
    /// Write a figure as SVG, as CS:APP figure 9.4
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print only the summary, not each period
    #[arg(long, conflicts_with = "json")]
    summary: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
}

/// Maximum length: longer traces show nothing more, and the loop keeps a CPU busy.
const LONGEST: Nanos = Nanos::from_millis(600_000);

impl From<TraceError> for Failure {
    fn from(e: TraceError) -> Failure {
        match e {
            TraceError::Cpu { .. } => Failure::usage(e.to_string()),
            _ => Failure::system(e),
        }
    }
}

pub fn show(args: &TraceArgs) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    if args.duration > LONGEST || args.duration <= Nanos::ZERO {
        return Err(Failure::usage("--for must be more than 0 and at most 10 minutes")
            .hint("100ms covers 10 to 100 timer ticks"));
    }
    let plan = TracePlan {
        duration: args.duration,
        cpu: args.cpu,
        load: args.load,
        threshold: args.threshold,
        explain: !args.no_explain,
    };
    let mut display = Display::new(&show);
    let measured = measure(&plan, &mut |e| display.on(e));
    drop(display);
    let made = measured?.report();
    if args.json {
        print(&json(&made).map_err(Failure::system)?);
    } else {
        if !args.summary {
            print(&text(&made));
            print("\n");
        }
        print(&sheet_text(&sheet::trace(&made, &show.style.hints, String::new()), &show.style));
    }
    let foot = format!("tare {}, {}", tarebench::VERSION, crate::output::local_time(clock::realtime()));
    if let Some(file) = &args.svg {
        write(file, &tarebench::render::trace::figures::trace(&made, &foot))?;
    }
    if let Some(file) = &args.html {
        let page = sheet::trace(&made, &show.style.hints, foot).into_page();
        write(file, &web::html(&page).map_err(Failure::system)?)?;
    }
    Ok(Exit::Done)
}

/// A file as `tare report` writes it: an existing one is overwritten.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    write_text(file, text)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
