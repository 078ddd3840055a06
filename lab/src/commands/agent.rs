//! `tare lab agent`: runs the tasks of a lab on this machine.

use crate::commands::database::LabDatabase;
use crate::commands::local::LocalMeasurer;
use crate::commands::news::agent_line;
use crate::work::agent::{AgentEnd, AgentPlan, run};
use crate::work::campaign_values::parse_time;
use crate::work::hours::AgentHours;
use crate::work::task::TaskEnd;
use clap::Args;
use std::path::PathBuf;
use tarebench::core::base::units::Nanos;
use tarebench::run::session::{ImportTrust, store_path};
use tarebench::sys::signals::Signals;
use tarebench_cli::args::style::PlainStyleArgs;
use tarebench_cli::args::values::pair;
use tarebench_cli::exit::{Exit, Failure};

/// Run the tasks of a lab on this machine, one at a time
///
/// Takes a task that this machine fits, measures it as `tare run` does into the local store, pushes the result, and
/// takes the next. No connection is open while a program is measured. Whoever may submit campaigns to the lab runs
/// commands on this machine, as the user of this process. SIGTERM or Ctrl-C ends the sample in progress; its task is
/// given back and can be resumed.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab agent --db postgresql://node1@db.example/lab
  tare lab agent --tag rack=1 --max-load 0.5 --hours 20:00-06:00
  tare lab agent --once")]
pub struct AgentArgs {
    /// Name of the machine in the lab [default: its host name]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// What campaigns may choose the machine by; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
    /// How long a task belongs to this machine without a sign of life between two samples; longer than any sample
    #[arg(long, value_name = "TIME", value_parser = lab_time, default_value = "5m")]
    lease: Nanos,
    /// Time between two looks at the queue while there is nothing to do
    #[arg(long, value_name = "TIME", value_parser = lab_time, default_value = "15s")]
    poll: Nanos,
    /// Start no task while the load average of the last minute is above X
    #[arg(long, value_name = "X", value_parser = load)]
    max_load: Option<f64>,
    /// Start tasks in these hours only, in local time; one that was started is not stopped at their end
    #[arg(long, value_name = "FROM-TO")]
    hours: Option<AgentHours>,
    /// Take one task at most, and end; exit code 1 if it fails
    #[arg(long)]
    once: bool,
    /// The local store to measure into [default: $XDG_DATA_HOME/tarebench/tare.db]
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    local: Option<PathBuf>,
    #[command(flatten)]
    database: LabDatabase,
    #[command(flatten)]
    style: PlainStyleArgs,
}

fn lab_time(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(str::to_owned)
}

fn load(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| "expected a load such as 0.5".to_owned())
}

pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    let place = args.database.place()?;
    let show = args.style.show()?;
    let quiet = show.is_quiet();
    let local = store_path(args.local.as_deref())?;
    let plan = AgentPlan {
        name: args.name.clone(),
        tags: args.tag.iter().cloned().collect(),
        lease: args.lease,
        poll: args.poll,
        max_load: args.max_load,
        hours: args.hours,
        once: args.once,
        local: local.clone(),
    };
    // Before any task: a store that cannot be written to fails each.
    tarebench::store::SqliteStore::open(&local)?;
    let signals = Signals::install().map_err(Failure::system)?;
    let mut measurer = LocalMeasurer { local, trust: ImportTrust::Refuse, style: show.progress_style };
    let mut measure =
        |work: crate::work::task::LabWork<'_>, signals: &Signals, between: crate::work::task::BetweenSamples<'_>| {
            measurer.measure(work, signals, between)
        };
    let end = run(&plan, &place, &signals, &mut measure, &mut |news| {
        if !quiet {
            eprintln!("tare: {}", agent_line(&news));
        }
    })?;
    match end {
        AgentEnd::Signal(_) => Ok(Exit::Interrupted),
        AgentEnd::Once(None) => {
            if !quiet {
                eprintln!("tare: no task waits for this machine");
            }
            Ok(Exit::Done)
        }
        AgentEnd::Once(Some(end)) => Ok(exit_of(&end)),
    }
}

/// The exit code of a command that ran one task.
pub fn exit_of(end: &TaskEnd) -> Exit {
    match end {
        TaskEnd::Done { .. } | TaskEnd::Cancelled | TaskEnd::Lost => Exit::Done,
        TaskEnd::Failed(_) => Exit::ProgramFailed,
        TaskEnd::GivenBack(_) => Exit::Interrupted,
        TaskEnd::NotDelivered { .. } => Exit::System,
    }
}
