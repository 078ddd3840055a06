//! `tare history`: how benchmarks changed over commits.

use crate::args::store::StoreArgs;
use crate::args::style::TableStyleArgs;
use crate::exit::{Exit, Failure};
use crate::output::{foot, print};
use crate::replace::write_text;
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tarebench::builds::git::commit_id;
use tarebench::compare::history::gates;
use tarebench::core::base::date::midnight;
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::history::{HistoryGate, HistoryPlan, HistoryReport, NoAnchor, report};
use tarebench::render::compare::history::json::json;
use tarebench::render::compare::history::sheet;
use tarebench::render::compare::history::terminal::history_text;
use tarebench::report::csv;
use tarebench::report::web::html;
use tarebench::sys::clock;

/// Names in a message.
const NAMED: usize = 8;

/// Show how benchmarks changed over commits, from the gates of the store
///
/// Each gate measured two builds against each other. Their ratios are joined to the ratio of every build to one of
/// them, the anchor, which changes of the machine's state do not affect. Compare all commits with one build that you
/// keep (`tare gate --base-dir KEPT` or `--base v1.0`): errors add up where each commit is compared with the one before
/// it.
#[derive(Args)]
#[command(after_help = "Examples:
  tare history
  tare history sort --anchor v1.0 --page history.html
  tare history --suite nightly --since 2026-10-01 --csv")]
pub struct HistoryArgs {
    /// Names of benchmarks [default: all]
    #[arg(value_name = "BENCHMARK")]
    benchmarks: Vec<String>,
    /// Show ratios to this build: a commit, tag or branch; the name or folder that a gate gave it; or a gate (g3) for
    /// its head [default: the earliest base of three or more builds, else the earliest build]
    #[arg(long, value_name = "REV")]
    anchor: Option<String>,
    /// Only benchmarks of this suite
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Only builds from this day on, e.g. 2026-10-01
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["csv", "page"])]
    json: bool,
    /// Print CSV, a row for each build
    #[arg(long, conflicts_with = "page")]
    csv: bool,
    /// Write a self-contained HTML page instead; `-` is standard output
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    style: TableStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let mut show = args.style.show()?.with_store(args.store.named());
    let since = args.since.as_deref().map(day).transpose()?;
    let gates = match args.store.readable_if_there()? {
        Some(store) => gates(&*store)?,
        None => Vec::new(),
    };
    check_names(args, &gates)?;
    let plan = HistoryPlan {
        benchmarks: args.benchmarks.clone(),
        suite: args.suite.clone(),
        anchor: args.anchor.clone(),
        since,
    };
    let found = anchored(&gates, plan)?;
    if args.json {
        print(&json(&found, &show.style.zone).map_err(Failure::system)?);
    } else if args.csv {
        print(&csv::table(&sheet::exported(&found)).map_err(Failure::system)?);
    } else if let Some(file) = &args.page {
        let page = sheet::history(&found, &show.style.zone, &show.style.hints, foot()).into_page();
        write_page(file, &html::html(&page).map_err(Failure::system)?)?;
    } else if !show.is_quiet() {
        show.style.more = Some(format!("tare history --full{}", show.db_option()));
        print(&history_text(&found, &show.style));
    }
    Ok(Exit::Done)
}

fn day(text: &str) -> Result<Nanos, Failure> {
    let bad = || Failure::usage(format!("--since {text}: expected a day such as 2026-10-01"));
    midnight(text, &clock::zone()).ok_or_else(bad)
}

/// That there is something of what is asked for.
fn check_names(args: &HistoryArgs, gates: &[HistoryGate]) -> Result<(), Failure> {
    if gates.is_empty() {
        return Err(Failure::usage("no gates are stored, of which a history could be made")
            .hint("measure one with `tare gate --base REV 'PROG ARGS'`, or `tare import` those of another machine"));
    }
    let suites: BTreeSet<&str> = gates.iter().map(|g| g.gate.plan.suite.as_str()).collect();
    if let Some(suite) = args.suite.as_deref().filter(|s| !suites.contains(s)) {
        let named: BTreeSet<&str> = suites.into_iter().filter(|s| !s.is_empty()).collect();
        return Err(Failure::usage(format!("no gate has the suite `{suite}`")).hint(listed("suites", &named)));
    }
    let asked = |g: &&HistoryGate| args.suite.as_deref().is_none_or(|s| s == g.gate.plan.suite);
    let of_suite = gates.iter().filter(asked).flat_map(|g| &g.gate.plan.benchmarks);
    let names: BTreeSet<&str> = of_suite.map(|b| b.name.as_str()).collect();
    match args.benchmarks.iter().find(|b| !names.contains(b.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(Failure::usage(format!("no gate has the benchmark `{name}`")).hint(listed("benchmarks", &names)))
        }
    }
}

/// What there is instead.
fn listed(what: &str, names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return format!("the gates of the store have no {what}");
    }
    let some: Vec<String> = names.iter().take(NAMED).map(|n| format!("`{}`", crate::output::short(n))).collect();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    format!("there are the {what} {}{more}", some.join(", "))
}

/// The history with the anchor that git knows by this name here, else with the one that a gate called so.
fn anchored(gates: &[HistoryGate], plan: HistoryPlan) -> Result<HistoryReport, Failure> {
    let commit = plan.anchor.as_deref().and_then(|revision| commit_id(Path::new("."), revision));
    if commit.is_some()
        && let Ok(found) = report(gates, &HistoryPlan { anchor: commit, ..plan.clone() })
    {
        return Ok(found);
    }
    report(gates, &plan).map_err(|e| {
        let hint = match e {
            NoAnchor::Unknown(_) => {
                "give a commit that a gate measured, what the gate called it, the folder of a kept base, or a gate (g3) \
                 for its head; `tare list --kind gate` lists the gates"
            }
            NoAnchor::Several { .. } => "give the id of its commit",
        };
        Failure::usage(e.to_string()).hint(hint)
    })
}

fn write_page(file: &Path, text: &str) -> Result<(), Failure> {
    if file.as_os_str() == "-" {
        print(text);
        return Ok(());
    }
    write_text(file, text)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
