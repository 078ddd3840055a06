//! `tare list`: the stored runs.

use super::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, StyleArgs, print};
use clap::Args;
use tarebench::render::list::{Row, table};
use tarebench::store::{RunFilter, SqliteStore, Store, StoreError};

/// List the stored runs
#[derive(Args)]
pub struct ListArgs {
    /// Only runs with this tag
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::plan::pair)]
    tag: Vec<(String, String)>,
    /// At most so many, the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let filter = RunFilter { tags: args.tag.iter().cloned().collect(), limit: Some(args.limit) };
    let runs = match SqliteStore::open_read_only(&args.store.path()?) {
        Ok(store) => store.runs(&filter)?,
        // Nothing was ever stored: an empty list, not an error.
        Err(StoreError::Missing { .. }) => Vec::new(),
        Err(e) => return Err(e.into()),
    };
    if args.json {
        print(&(serde_json::to_string_pretty(&runs).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    let rows: Vec<Row> = runs
        .into_iter()
        .map(|r| Row {
            id: r.id,
            created: output::local_time(r.created),
            status: r.status,
            programs: if r.programs.is_empty() { vec!["(recording of daemons)".to_owned()] } else { r.programs },
            samples: r.counted,
            tags: r.tags,
        })
        .collect();
    if rows.is_empty() {
        eprintln!("No runs are stored yet; `tare run -- PROG` makes one.");
        return Ok(Exit::Done);
    }
    print(&table(&rows, &args.style.show()?.style));
    Ok(Exit::Done)
}
