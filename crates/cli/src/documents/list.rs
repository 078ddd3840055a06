//! `tare list`: lists the stored results.

use crate::args::store::StoreArgs;
use crate::args::style::PlainStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::output::print;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tarebench::core::documents::head::DocumentKind;
use tarebench::listed::ListEntry;
use tarebench::render::documents::list::{DocumentRow, table};
use tarebench::report::json;
use tarebench::store::{DocumentFilter, DocumentSummary};

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

/// The row of a stored document in a table.
pub fn row(summary: DocumentSummary) -> DocumentRow {
    let DocumentSummary { head, programs, counted, .. } = summary;
    DocumentRow {
        id: head.id(),
        created: output::local_time(head.created),
        status: head.status,
        titles: if programs.is_empty() { vec![head.title] } else { programs },
        samples: counted,
        machine: head.machine,
        tags: head.tags,
    }
}

pub fn list(args: &ListArgs) -> Result<Exit, Failure> {
    // No store yet: an empty list, not an error.
    let all = match args.store.readable_if_there()? {
        Some(store) => {
            let tags = args.tag.iter().cloned().collect();
            store.list(&DocumentFilter { kind: args.kind, tags, limit: Some(args.limit) })?
        }
        None => Vec::new(),
    };
    if args.json {
        let entries: Vec<ListEntry> = all.iter().map(ListEntry::new).collect();
        print(&(json::pretty(&entries).map_err(Failure::system)? + "\n"));
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        let what = if args.kind.is_some() || !args.tag.is_empty() { "such " } else { "" };
        eprintln!("No {what}results are stored yet; create one with `tare run -- PROG`.");
        return Ok(Exit::Done);
    }
    let rows: Vec<DocumentRow> = all.into_iter().map(row).collect();
    print(&table(&rows, &args.style.show()?.style));
    Ok(Exit::Done)
}
