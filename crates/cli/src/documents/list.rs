//! `tare list`: lists the stored results.

use crate::args::store::StoreArgs;
use crate::args::style::PlainStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::output::print;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::Status;
use tarebench::core::documents::head::{DocumentHead, DocumentKind, Id};
use tarebench::render::documents::list::{DocumentRow, table};
use tarebench::render::kit::json;
use tarebench::store::{DocumentFilter, DocumentSummary, RunFilter, RunSummary, Store, StoreError};

/// List stored results: runs, profiles, noise measurements, studies, benchmarks, comparisons and gates
#[derive(Args)]
pub struct ListArgs {
    /// Show only entries with this tag
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::args::values::pair)]
    tag: Vec<(String, String)>,
    /// Show only entries of this kind
    #[arg(long, value_name = "KIND", value_parser = kind_parser())]
    kind: Option<DocumentKind>,
    /// Show at most N, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

fn kind_parser() -> impl TypedValueParser<Value = DocumentKind> {
    let names = PossibleValuesParser::new(DocumentKind::ALL.map(DocumentKind::name));
    names.try_map(|name| DocumentKind::named(&name).ok_or("not a kind"))
}

/// A run or another document in JSON: runs as they always were, others with a `kind` and a text as `id`.
#[derive(Serialize)]
#[serde(untagged)]
enum ListEntry<'a> {
    Run(&'a RunSummary),
    Document(DocumentEntry<'a>),
}

#[derive(Serialize)]
struct DocumentEntry<'a> {
    id: Id,
    kind: DocumentKind,
    uuid: &'a str,
    created: Nanos,
    status: Status,
    title: &'a str,
    tool: &'a str,
    parts: u64,
    host: &'a str,
    machine: Option<&'a str>,
    fingerprint: Option<&'a str>,
    /// For readers that expect these fields in every entry.
    programs: [&'static str; 0],
    tags: &'a BTreeMap<String, String>,
    imported: Option<Nanos>,
}

impl DocumentEntry<'_> {
    fn of(summary: &DocumentSummary) -> DocumentEntry<'_> {
        let DocumentSummary { head, parts, imported } = summary;
        // Names all fields, so that a new field cannot be forgotten.
        let DocumentHead { kind, number: _, uuid, title, created, status, tool, machine, conditions: _, tags } = head;
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
            machine: head.identity(),
            fingerprint: head.fingerprint(),
            programs: [],
            tags,
            imported: *imported,
        }
    }
}

/// Stored results of any kind.
enum Listed {
    Run(RunSummary),
    Document(DocumentSummary),
}

impl Listed {
    fn created(&self) -> Nanos {
        match self {
            Listed::Run(run) => run.created,
            Listed::Document(document) => document.head.created,
        }
    }

    fn entry(&self) -> ListEntry<'_> {
        match self {
            Listed::Run(run) => ListEntry::Run(run),
            Listed::Document(document) => ListEntry::Document(DocumentEntry::of(document)),
        }
    }

    fn row(self) -> DocumentRow {
        let created = output::local_time(self.created());
        match self {
            Listed::Run(r) => DocumentRow {
                id: Id { kind: DocumentKind::Run, number: r.id },
                created,
                status: r.status,
                titles: if r.programs.is_empty() { vec!["(recording of daemons)".to_owned()] } else { r.programs },
                samples: Some(r.counted),
                machine: r.host,
                tags: r.tags,
            },
            Listed::Document(DocumentSummary { head, .. }) => DocumentRow {
                id: head.id(),
                created,
                status: head.status,
                titles: vec![head.title],
                samples: None,
                machine: head.machine,
                tags: head.tags,
            },
        }
    }
}

/// The newest of all kinds; those with the same start time are in the order of the store.
fn find(args: &ListArgs, store: &dyn Store) -> Result<Vec<Listed>, StoreError> {
    let tags: BTreeMap<String, String> = args.tag.iter().cloned().collect();
    let kind = args.kind;
    let mut all = Vec::new();
    if kind.is_none_or(|k| k == DocumentKind::Run) {
        let runs = store.runs(&RunFilter { tags: tags.clone(), limit: Some(args.limit) })?;
        all.extend(runs.into_iter().map(Listed::Run));
    }
    if kind != Some(DocumentKind::Run) {
        let documents = store.documents(&DocumentFilter { kind, tags, limit: Some(args.limit) })?;
        all.extend(documents.into_iter().map(Listed::Document));
    }
    all.sort_by_key(|l| Reverse(l.created()));
    all.truncate(usize::try_from(args.limit).unwrap_or(usize::MAX));
    Ok(all)
}

pub fn list(args: &ListArgs) -> Result<Exit, Failure> {
    // No store yet: an empty list, not an error.
    let all = match args.store.readable_if_there()? {
        Some(store) => find(args, &*store)?,
        None => Vec::new(),
    };
    if args.json {
        let entries: Vec<ListEntry> = all.iter().map(Listed::entry).collect();
        print(&(json::pretty(&entries).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        let what = if args.kind.is_some() || !args.tag.is_empty() { "such " } else { "" };
        eprintln!("No {what}results are stored yet; create one with `tare run -- PROG`.");
        return Ok(Exit::Done);
    }
    let rows: Vec<DocumentRow> = all.into_iter().map(Listed::row).collect();
    print(&table(&rows, &args.style.show()?.style));
    Ok(Exit::Done)
}
