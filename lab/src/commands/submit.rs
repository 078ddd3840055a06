//! `tare lab submit`: queues a campaign.

use crate::commands::database::LabDatabase;
use crate::commands::local::words;
use crate::data::campaign::Campaign;
use crate::data::state::CampaignSummary;
use crate::data::tasks::LabTaskPlan;
use crate::pages::{json, terminal};
use crate::postgres::PostgresPlace;
use crate::server::Lab;
use crate::work::campaign_file;
use crate::work::folder::LabFolder;
use crate::work::slurm::{SlurmCommand, SlurmOptions};
use crate::work::submit::{SlurmSubmit, on_nodes, plan as plan_tasks, to_agents, to_slurm};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tarebench::sys::clock;
use tarebench_cli::args::style::PlainStyleArgs;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::output::print;
use tarebench_cli::run::plan;

/// Queue a campaign: a file that names programs, machines and how often they are measured
///
/// A task is all programs with all values of their parameters, once, on one machine. `docs/lab.md` describes the file.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab submit campaign.toml
  tare lab submit campaign.toml --engine slurm --folder /shared/compressors --partition batch --time 2:00:00
  tare lab submit short.toml --engine slurm --folder /shared/odd --distribute")]
pub struct SubmitArgs {
    /// The campaign's file, in TOML
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What runs the tasks
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineArg::Agents)]
    engine: EngineArg,
    /// Show the tasks, and queue none of them
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    slurm: SlurmArgs,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    database: LabDatabase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// `tare lab agent` on each machine
    Agents,
    /// Array jobs of Slurm
    Slurm,
}

/// What Slurm is asked for.
#[derive(Args)]
#[command(next_help_heading = "Slurm (with --engine slurm)")]
struct SlurmArgs {
    /// Folder for the tasks and their results, on a file system that all nodes share; new or empty
    #[arg(long, value_name = "FOLDER", required_if_eq("engine", "slurm"))]
    folder: Option<PathBuf>,
    /// One task on each idle node, for finding the odd one
    #[arg(long)]
    distribute: bool,
    /// Do not push from the nodes: they leave archives, which `tare lab collect` imports
    #[arg(long)]
    archive: bool,
    /// As of sbatch
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// As of sbatch
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// As of sbatch
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,
    /// As of sbatch
    #[arg(long, value_name = "LIST")]
    constraint: Option<String>,
    /// As of sbatch: time limit of each task [default: the campaign's, and ten minutes]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Another option of sbatch, such as --sbatch=--mem=0; can be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
}

impl SlurmArgs {
    fn options(&self) -> SlurmOptions {
        let named = [
            ("account", &self.account),
            ("partition", &self.partition),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
            ("time", &self.time),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        SlurmOptions { options: named.chain(self.sbatch.iter().cloned()).collect(), has_time: self.time.is_some() }
    }

    /// Whether anything of it was given.
    fn any(&self) -> bool {
        let SlurmArgs { folder, distribute, archive, .. } = self;
        folder.is_some() || *distribute || *archive || !self.options().options.is_empty()
    }
}

pub fn submit(args: &SubmitArgs) -> Result<Exit, Failure> {
    let (campaign, toml) = campaign_file::read(&args.file).map_err(|e| Failure::usage(e.to_string()))?;
    if args.engine == EngineArg::Agents && args.slurm.any() {
        return Err(Failure::usage("--folder, --distribute, --archive and options of sbatch are for --engine slurm"));
    }
    let (mut lab, place) = args.database.open()?;
    match args.engine {
        EngineArg::Agents => {
            let tasks = tasks(&mut lab, &campaign)?;
            if args.dry_run {
                return shown(args, None, &campaign, &tasks);
            }
            let summary = to_agents(&mut lab, &campaign, &toml, &tasks)?;
            shown(args, Some(&summary), &campaign, &tasks)
        }
        EngineArg::Slurm => by_slurm(args, &mut lab, &place, campaign, &toml),
    }
}

/// The tasks; wrong options of `tare run` are found before anything is queued.
fn tasks(lab: &mut Lab, campaign: &Campaign) -> Result<Vec<LabTaskPlan>, Failure> {
    let tasks = plan_tasks(lab, campaign)?;
    // They differ in their tags only.
    if let Some(first) = tasks.first() {
        plan::build(&words(first)?)?;
    }
    Ok(tasks)
}

fn by_slurm(
    args: &SubmitArgs,
    lab: &mut Lab,
    place: &PostgresPlace,
    campaign: Campaign,
    toml: &str,
) -> Result<Exit, Failure> {
    let slurm = &args.slurm;
    // clap requires it with this engine.
    let folder = slurm.folder.as_deref().ok_or_else(|| Failure::usage("--engine slurm needs --folder FOLDER"))?;
    let (folder, options) = (LabFolder::at(folder)?, slurm.options());
    let tare = std::env::current_exe().map_err(|e| Failure::system(format!("find the command tare: {e}")))?;
    let push = (!slurm.archive).then(|| place.to_string());
    let command = SlurmCommand { tare: tare.display().to_string(), push };
    let how = SlurmSubmit {
        folder: &folder,
        options: &options,
        command: &command,
        distribute: slurm.distribute,
        partition: slurm.partition.as_deref(),
    };
    let campaign = on_nodes(campaign, &how)?;
    let tasks = tasks(lab, &campaign)?;
    if args.dry_run {
        return shown(args, None, &campaign, &tasks);
    }
    let summary = to_slurm(lab, &campaign, toml, &tasks, &how)?;
    shown(args, Some(&summary), &campaign, &tasks)
}

fn shown(
    args: &SubmitArgs,
    summary: Option<&CampaignSummary>,
    campaign: &Campaign,
    tasks: &[LabTaskPlan],
) -> Result<Exit, Failure> {
    let show = args.style.show()?;
    let text = match summary {
        Some(summary) if args.json => json::submitted(summary, tasks).map_err(Failure::system)?,
        Some(summary) => terminal::submitted(summary, campaign, tasks, clock::realtime(), &show.style),
        None if args.json => tarebench::report::json::pretty(&tasks).map_err(Failure::system)? + "\n",
        None => {
            let n = tasks.len();
            let words = tasks.first().map(|t| shell_words::join(&t.arguments)).unwrap_or_default();
            let words = tarebench::report::text::escape(&words);
            format!("{n} task{} would be queued, each: tare run {words}\n", if n == 1 { "" } else { "s" })
        }
    };
    print(&text);
    Ok(Exit::Done)
}
