//! Results of a campaign: its runs, its machines compared, and the archives that tasks of Slurm have left.

use crate::commands::database::LabDatabase;
use crate::commands::manage::CampaignArgs;
use crate::commands::slurm;
use crate::data::tasks::CAMPAIGN_TAG;
use crate::pages::{json, terminal};
use crate::postgres::PostgresStore;
use crate::work::collect::Collected;
use crate::work::nodes::compare_nodes;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tarebench::core::documents::head::DocumentKind;
use tarebench::listed::ListEntry;
use tarebench::render::documents::list::{DocumentRow, table};
use tarebench::report::json::pretty;
use tarebench::store::{DocumentFilter, DocumentSummary, Store};
use tarebench_cli::args::style::TableStyleArgs;
use tarebench_cli::documents::list::row;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::output::print;
use tarebench_cli::stored;

/// Show the runs of a campaign, or write them as files
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab results compressors
  tare lab results compressors --export runs
  tare show RUN --db postgresql://alice@db.example/lab")]
pub struct LabResultsArgs {
    /// Number or name of a campaign (the newest of the name), or the first digits of its uuid
    #[arg(value_name = "CAMPAIGN")]
    campaign: String,
    /// Folder to write each run to, as `tare export` does; created if missing
    #[arg(long, value_name = "FOLDER")]
    export: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    database: LabDatabase,
}

pub fn results(args: &LabResultsArgs) -> Result<Exit, Failure> {
    let (mut lab, place) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    let uuids: BTreeSet<String> = lab.tasks(found.id)?.into_iter().flat_map(|task| task.runs).collect();
    let store = PostgresStore::open_read_only(&place)?;
    // Another campaign may have the same name, and runs that are pushed need not count.
    let tags = BTreeMap::from([(CAMPAIGN_TAG.to_owned(), found.name.clone())]);
    let runs = store.list(&DocumentFilter { tags, ..DocumentFilter::of_kind(DocumentKind::Run) })?;
    let runs: Vec<DocumentSummary> = runs.into_iter().filter(|run| uuids.contains(&run.head.uuid)).collect();
    if let Some(folder) = &args.export {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::system(format!("make the folder {}: {e}", folder.display())))?;
        for run in &runs {
            stored::write(&store, run.head.id(), &folder.join(format!("run-{}.json", run.head.uuid)))?;
        }
    }
    if args.json {
        let entries: Vec<ListEntry> = runs.iter().map(ListEntry::new).collect();
        print(&(pretty(&entries).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        eprintln!("Campaign {} has no results yet; `tare lab status {}` shows its tasks.", found.id, found.id);
        return Ok(Exit::Done);
    }
    let rows: Vec<DocumentRow> = runs.into_iter().map(row).collect();
    print(&table(&rows, &args.style.show()?.style));
    Ok(Exit::Done)
}

/// Compare the machines of a campaign by the same work: which one is odd?
///
/// Each machine is compared with the typical one of those with the same fingerprint, by its runs; the intervals hold
/// for all machines together.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab nodes compressors
  tare lab nodes 7 --json")]
pub struct LabNodesArgs {
    /// Number or name of a campaign (the newest of the name), or the first digits of its uuid
    #[arg(value_name = "CAMPAIGN")]
    campaign: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    database: LabDatabase,
}

pub fn nodes(args: &LabNodesArgs) -> Result<Exit, Failure> {
    let (mut lab, place) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    let tasks = lab.tasks(found.id)?;
    let report = compare_nodes(&PostgresStore::open_read_only(&place)?, &tasks)?;
    let mut style = args.style.show()?.style;
    let db = shell_words::quote(&place.to_string()).into_owned();
    style.more = Some(format!("tare lab nodes {} --full --db {db}", found.id));
    let text = if args.json {
        json::nodes(&report, &style).map_err(Failure::system)?
    } else {
        terminal::nodes(&report, &style)
    };
    print(&text);
    Ok(Exit::Done)
}

/// What was collected, in JSON.
#[derive(serde::Serialize)]
struct CollectedPart {
    /// Place of each task whose run is in the lab now, and its samples.
    collected: Vec<(u32, u64)>,
    /// Place of each task whose archive was not taken, and why.
    refused: Vec<(u32, String)>,
    /// Tasks that have not ended.
    left: u64,
}

pub fn collect(args: &CampaignArgs) -> Result<Exit, Failure> {
    let (mut lab, place) = args.database.open()?;
    let found = lab.find_campaign(&args.campaign)?;
    let folder = slurm::folder(&mut lab, found.id)?;
    let tasks = lab.tasks(found.id)?;
    let Collected { done, refused, left } = crate::work::collect::collect(&mut lab, &place, &folder, &tasks)?;
    let refused: Vec<(u32, String)> = refused.into_iter().map(|(task, e)| (task, e.to_string())).collect();
    if args.json {
        let part = CollectedPart { collected: done, refused: refused.clone(), left };
        print(&(pretty(&part).map_err(Failure::system)? + "\n"));
    } else {
        let samples: u64 = done.iter().map(|(_, samples)| samples).sum();
        print(&format!("collected {} runs with {samples} samples; {left} tasks have not ended\n", done.len()));
    }
    match refused.as_slice() {
        [] => Ok(Exit::Done),
        [first, rest @ ..] => {
            rest.iter()
                .for_each(|(task, e)| tarebench_cli::output::error(&Failure::system(format!("task {task}: {e}"))));
            Err(Failure::system(format!("task {}: {}", first.0, first.1)))
        }
    }
}
