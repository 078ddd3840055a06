//! `tare list`: the stored runs, and what else is stored.

use crate::args::store::StoreArgs;
use crate::args::style::PlainStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::output::print;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::Status;
use tarebench::core::documents::head::{Head, Id, Kind};
use tarebench::render::documents::list::{DocumentRow, Row, documents, table};
use tarebench::render::kit::json;
use tarebench::store::{DocumentFilter, DocumentSummary, RunFilter, RunSummary, SqliteStore, Store, StoreError};

/// List the stored runs, benchmarks and studies
#[derive(Args)]
pub struct ListArgs {
    /// Only runs with this tag; benchmarks and studies have none
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::args::values::pair)]
    tag: Vec<(String, String)>,
    /// At most so many runs, and so many others, the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A run or another document in JSON: runs as they always were, others with a `kind` and a text as `id`.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Run(&'a RunSummary),
    Document(DocumentEntry<'a>),
}

#[derive(Serialize)]
struct DocumentEntry<'a> {
    id: Id,
    kind: Kind,
    uuid: &'a str,
    created: Nanos,
    status: Status,
    title: &'a str,
    tool: &'a str,
    parts: u64,
    host: &'a str,
    /// For readers that walk these of every entry.
    programs: [&'static str; 0],
    tags: BTreeMap<String, String>,
}

impl DocumentEntry<'_> {
    fn of(summary: &DocumentSummary) -> DocumentEntry<'_> {
        let DocumentSummary { head, parts } = summary;
        // All of it is named, so that a new field cannot be forgotten.
        let Head { kind, number: _, uuid, title, created, status, tool, machine } = head;
        DocumentEntry {
            id: head.id(),
            kind: *kind,
            uuid,
            created: *created,
            status: *status,
            title,
            tool,
            parts: *parts,
            host: machine,
            programs: [],
            tags: BTreeMap::new(),
        }
    }
}

pub fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let filter = RunFilter { tags: args.tag.iter().cloned().collect(), limit: Some(args.limit) };
    let (runs, others) = match SqliteStore::open_read_only(&args.store.path()?) {
        Ok(store) => {
            let all = DocumentFilter { kind: None, limit: Some(args.limit) };
            let others = if args.tag.is_empty() { store.documents(&all)? } else { Vec::new() };
            (store.runs(&filter)?, others)
        }
        // Nothing was ever stored: an empty list, not an error.
        Err(StoreError::Missing { .. }) => (Vec::new(), Vec::new()),
        Err(e) => return Err(e.into()),
    };
    if args.json {
        let documents = others.iter().map(|d| Entry::Document(DocumentEntry::of(d)));
        let entries: Vec<Entry> = runs.iter().map(Entry::Run).chain(documents).collect();
        print(&(json::pretty(&entries).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    if runs.is_empty() && others.is_empty() {
        eprintln!("No runs are stored yet; `tare run -- PROG` makes one.");
        return Ok(Exit::Done);
    }
    let style = args.style.show()?.style;
    let run = |r: RunSummary| Row {
        id: r.id,
        created: output::local_time(r.created),
        status: r.status,
        programs: if r.programs.is_empty() { vec!["(recording of daemons)".to_owned()] } else { r.programs },
        samples: r.counted,
        tags: r.tags,
    };
    let other = |d: DocumentSummary| DocumentRow { created: output::local_time(d.head.created), head: d.head };
    let rows: Vec<Row> = runs.into_iter().map(run).collect();
    let others: Vec<DocumentRow> = others.into_iter().map(other).collect();
    let tables =
        [(!rows.is_empty()).then(|| table(&rows, &style)), (!others.is_empty()).then(|| documents(&others, &style))];
    print(&tables.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    Ok(Exit::Done)
}
