//! `tare lab`: campaigns of measurements on many machines.

use crate::commands::serve::{ServeArgs, serve};
use crate::commands::{agent, manage, results, submit, task};
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use tarebench_cli::elsewhere::Addition;
use tarebench_cli::exit::{Exit, Failure};

/// Measure on many machines: queue campaigns in a PostgreSQL database, run them by agents or Slurm
///
/// A lab is a database with the results of all machines and a queue of tasks. Each machine measures into its own
/// store first; results are pushed after the run.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab init postgresql://owner@db.example/lab
  tare lab agent --db postgresql://node1@db.example/lab --tag rack=1
  tare lab submit campaign.toml --db postgresql://alice@db.example/lab
  tare lab status compressors
  tare lab results compressors --export runs
  tare lab nodes compressors

Exit codes: 0 success; 1 a task failed; 2 usage error; 4 the lab, a store or the system failed; 130 interrupted.")]
pub struct LabArgs {
    #[command(subcommand)]
    what: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Init(manage::LabInitArgs),
    Submit(Box<submit::SubmitArgs>),
    Status(manage::LabStatusArgs),
    /// End a campaign: waiting tasks at once, those that run after their sample
    Cancel(manage::CampaignArgs),
    /// Start no further tasks of a campaign
    Pause(manage::CampaignArgs),
    /// Start tasks of a paused campaign again
    Continue(manage::CampaignArgs),
    /// Run the failed and cancelled tasks of a campaign again
    Retry(manage::CampaignArgs),
    Results(results::LabResultsArgs),
    Nodes(results::LabNodesArgs),
    Agent(agent::AgentArgs),
    Machines(manage::LabMachinesArgs),
    Drain(manage::DrainArgs),
    Task(task::LabTaskArgs),
    /// Import the archives that tasks of Slurm have left in their campaign's folder
    ///
    /// Needed where the nodes cannot reach the lab's database. Can be called again; what was imported is in the folder `collected`.
    Collect(manage::CampaignArgs),
    Serve(ServeArgs),
}

/// `tare lab`, for the command that has all others.
pub const ADDITION: Addition = Addition { name: "lab", command, run };

fn command() -> clap::Command {
    LabArgs::augment_args(clap::Command::new("lab"))
}

fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let args = LabArgs::from_arg_matches(matches).map_err(|e| Failure::usage(e.to_string()))?;
    lab(args)
}

fn lab(args: LabArgs) -> Result<Exit, Failure> {
    match args.what {
        LabCommand::Init(a) => manage::init(&a),
        LabCommand::Submit(a) => submit::submit(&a),
        LabCommand::Status(a) => manage::status(&a),
        LabCommand::Cancel(a) => manage::cancel(&a),
        LabCommand::Pause(a) => manage::pause(&a, true),
        LabCommand::Continue(a) => manage::pause(&a, false),
        LabCommand::Retry(a) => manage::retry(&a),
        LabCommand::Results(a) => results::results(&a),
        LabCommand::Nodes(a) => results::nodes(&a),
        LabCommand::Agent(a) => agent::agent(&a),
        LabCommand::Machines(a) => manage::machines(&a),
        LabCommand::Drain(a) => manage::drain(&a),
        LabCommand::Task(a) => task::task(&a),
        LabCommand::Collect(a) => results::collect(&a),
        LabCommand::Serve(a) => serve(&a),
    }
}
