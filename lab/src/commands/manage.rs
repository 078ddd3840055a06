//! Commands that make a lab, show its state, and change what is queued.

use crate::commands::database::{LabDatabase, place};
use crate::commands::slurm;
use crate::data::state::LabEngine;
use crate::pages::{json, terminal};
use crate::server::{Lab, LabInit, LabInitStep};
use clap::Args;
use std::ffi::OsString;
use tarebench::report::json::pretty;
use tarebench::report::text::escape;
use tarebench_cli::args::style::TableStyleArgs;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::output::print;

/// Turn a PostgreSQL database into a lab, or bring it up to date
///
/// Creates the tables and the roles tare_reader, tare_agent and tare_admin, to be granted to the logins of people and
/// machines. Can be called again at any time; nothing is removed.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab init postgresql://owner@db.example/lab
  psql -c \"CREATE ROLE node1 LOGIN PASSWORD '…' IN ROLE tare_agent\" postgresql://owner@db.example/lab")]
pub struct LabInitArgs {
    /// The database; its user must be allowed to create tables and roles
    #[arg(value_name = "URL", env = "TARE_DB", hide_env_values = true)]
    url: OsString,
}

pub fn init(args: &LabInitArgs) -> Result<Exit, Failure> {
    let place = place(&args.url)?;
    let LabInit { schema, store, queue, roles } = Lab::init(&place)?;
    let said = |step: LabInitStep| match step {
        LabInitStep::Created => "created".to_owned(),
        LabInitStep::Migrated { from } => format!("brought up to date from version {from}"),
        LabInitStep::Current => "up to date".to_owned(),
    };
    let roles = if roles.is_empty() { "up to date".to_owned() } else { format!("created: {}", roles.join(", ")) };
    let (place, schema) = (place.to_string(), escape(&schema));
    print(&format!(
        "{} is a lab, in schema {schema}\n  tables of results: {}\n  tables of the queue: {}\n  roles: {roles}\n",
        escape(&place),
        said(store),
        said(queue)
    ));
    Ok(Exit::Done)
}

/// Show the campaigns of a lab, or one campaign with its tasks
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab status
  tare lab status compressors --full
  tare lab status 7 --json")]
pub struct LabStatusArgs {
    /// Number or name of a campaign (the newest of the name), or the first digits of its uuid [default: list all]
    #[arg(value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    database: LabDatabase,
}

pub fn status(args: &LabStatusArgs) -> Result<Exit, Failure> {
    let (mut lab, place) = args.database.open()?;
    let show = args.style.show()?;
    let mut style = show.style.clone();
    let now = lab.now()?;
    let db = format!(" --db {}", shell_words::quote(&place.to_string()));
    let text = match &args.campaign {
        None => {
            style.more = Some(format!("tare lab status --full{db}"));
            let all = lab.campaigns()?;
            if args.json { json::campaigns(&all) } else { Ok(terminal::campaigns(&all, now, &style)) }
        }
        Some(name) => {
            let found = lab.find_campaign(name)?;
            if found.engine == LabEngine::Slurm {
                slurm::update(&mut lab, found.id);
            }
            let summary = lab.summary(found.id)?;
            let (campaign, _, _) = lab.campaign(found.id)?;
            let tasks = lab.tasks(found.id)?;
            style.more = Some(format!("tare lab status {} --full{db}", found.id));
            if args.json {
                json::campaign(&summary, &campaign, &tasks, now)
            } else {
                Ok(terminal::campaign(&summary, &campaign, &tasks, now, &style))
            }
        }
    };
    print(&text.map_err(Failure::system)?);
    Ok(Exit::Done)
}

// Without a description: each command that has it has its own.
#[derive(Args)]
pub struct CampaignArgs {
    /// Number or name of a campaign (the newest of the name), or the first digits of its uuid
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub database: LabDatabase,
}

/// What a change did, in JSON.
#[derive(serde::Serialize)]
struct ChangedPart {
    campaign: i64,
    name: String,
    /// How many tasks were changed at once; `null` where none is counted.
    tasks: Option<u64>,
}

impl CampaignArgs {
    fn said(&self, changed: &ChangedPart, words: &str) -> Result<Exit, Failure> {
        if self.json {
            print(&(pretty(changed).map_err(Failure::system)? + "\n"));
        } else {
            print(&format!("campaign {} ({}): {words}\n", changed.campaign, escape(&changed.name)));
        }
        Ok(Exit::Done)
    }
}

fn tasks(n: u64) -> String {
    if n == 1 { "1 task".to_owned() } else { format!("{n} tasks") }
}

pub fn cancel(args: &CampaignArgs) -> Result<Exit, Failure> {
    let (mut lab, _) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    let n = lab.cancel(found.id)?;
    if found.engine == LabEngine::Slurm {
        slurm::control(&mut lab, found.id, slurm::SlurmWish::Cancel);
    }
    let words = format!("{} cancelled; those that run end after their sample", tasks(n));
    args.said(&ChangedPart { campaign: found.id, name: found.name, tasks: Some(n) }, &words)
}

pub fn pause(args: &CampaignArgs, paused: bool) -> Result<Exit, Failure> {
    let (mut lab, _) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    lab.pause(found.id, paused)?;
    if found.engine == LabEngine::Slurm {
        let wish = if paused { slurm::SlurmWish::Hold } else { slurm::SlurmWish::Release };
        slurm::control(&mut lab, found.id, wish);
    }
    let words = if paused { "paused; tasks that run are not stopped" } else { "no longer paused" };
    args.said(&ChangedPart { campaign: found.id, name: found.name, tasks: None }, words)
}

pub fn retry(args: &CampaignArgs) -> Result<Exit, Failure> {
    let (mut lab, _) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    let before = lab.tasks(found.id)?;
    let n = lab.retry(found.id)?;
    if found.engine == LabEngine::Slurm {
        slurm::start_again(&mut lab, found.id, &before)?;
    }
    let words = format!("{} wait again", tasks(n));
    args.said(&ChangedPart { campaign: found.id, name: found.name, tasks: Some(n) }, &words)
}

/// List the machines of a lab
#[derive(Args)]
pub struct LabMachinesArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    database: LabDatabase,
}

pub fn machines(args: &LabMachinesArgs) -> Result<Exit, Failure> {
    let (mut lab, place) = args.database.open()?;
    let all = lab.machines()?;
    let mut style = args.style.show()?.style;
    style.more = Some(format!("tare lab machines --full --db {}", shell_words::quote(&place.to_string())));
    let text = if args.json {
        json::machines(&all).map_err(Failure::system)?
    } else {
        terminal::machines(&all, lab.now()?, &style)
    };
    print(&text);
    Ok(Exit::Done)
}

/// Give no further tasks to a machine, or undo that
#[derive(Args)]
pub struct DrainArgs {
    /// Name of the machine
    #[arg(value_name = "NAME")]
    name: String,
    /// Let it take tasks again
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    database: LabDatabase,
}

pub fn drain(args: &DrainArgs) -> Result<Exit, Failure> {
    let (mut lab, _) = args.database.open()?;
    lab.drain(&args.name, !args.undo)?;
    let name = escape(&args.name);
    print(&match args.undo {
        true => format!("machine {name} takes tasks again\n"),
        false => format!(
            "machine {name} takes no further tasks; undo with: `tare lab drain --undo {}`\n",
            shell_words::quote(&name)
        ),
    });
    Ok(Exit::Done)
}
