//! `tare show`: a stored result of any kind.

use crate::args::exports::Exports;
use crate::args::store::{StoreArgs, StoredId};
use crate::args::style::{Show, StyleArgs};
use crate::elsewhere::studies;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::stored::say_imported;
use clap::Args;
use tarebench::core::compare::gate_rule;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::kbest::report as bench;
use tarebench::documents;
use tarebench::noise::measure::reported;
use tarebench::render::compare::gate as gate_output;
use tarebench::render::kbest::bench::ShownBench;
use tarebench::run::session::load;
use tarebench::store::Store;

/// Print a stored result: of a run, a profile, noise, a study, benchmarks, a comparison, or a gate
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    what: StoredId,
    /// Discard at S standard deviations instead of the run's value, or none; the stored run does not change
    #[arg(long, value_name = "S", value_parser = crate::args::values::sigma)]
    sigma: Option<f64>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named());
    let store = args.store.readable()?;
    let named = args.what.resolve(&*store)?;
    if !args.exports.json && !args.exports.to_stdout() {
        say_imported(&*store, named, &show)?;
    }
    let id = match named {
        Id { kind: DocumentKind::Run, number: id } => id,
        id => return document(args, &show, &*store, id),
    };
    let mut stored = load(&*store, id)?;
    if let Some(sigma) = args.sigma {
        stored.run.plan.sigma = sigma;
    }
    let mut report = stored.report()?;
    show.compare(&mut report);
    show.report(&report, &stored.samples, &args.exports)?;
    args.exports.write(&report, &stored.samples, &show.style)?;
    Ok(Exit::Done)
}

fn document(args: &ShowArgs, show: &Show, store: &dyn Store, id: Id) -> Result<Exit, Failure> {
    if args.sigma.is_some() {
        return Err(Failure::usage(format!("--sigma applies to runs only; {id} is a {}", id.kind.noun())));
    }
    match id.kind {
        DocumentKind::Bench | DocumentKind::Run => {}
        DocumentKind::Profile => {
            let profile = crate::profile::result::stored(store, id)?;
            let json = args.exports.json_only(id.kind)?;
            crate::profile::result::present(&profile, json, show)?;
            return Ok(Exit::Done);
        }
        DocumentKind::Study => {
            (studies()?.show)(store, id, args.exports.json_only(id.kind)?, show)?;
            return Ok(Exit::Done);
        }
        DocumentKind::Noise => {
            let json = args.exports.json_only(id.kind)?;
            let (head, noise) = tarebench::noise::measure::load(store, id)?;
            crate::noise::result::print_noise(&head, &noise, &reported(&noise, &[]), json, &show.style)?;
            return Ok(Exit::Done);
        }
        DocumentKind::Comparison => {
            let (head, mut comparison) = tarebench::compare::stored::load(store, id)?;
            comparison.plan.measure = show.compared_by().or(comparison.plan.measure);
            crate::compare::compare_command::present(&head, &comparison, &args.exports, show)?;
            return Ok(Exit::Done);
        }
        DocumentKind::Gate => {
            print_gate(args, show, store, id)?;
            return Ok(Exit::Done);
        }
    }
    print_bench(args, show, store, id)
}

fn print_gate(args: &ShowArgs, show: &Show, store: &dyn Store, id: Id) -> Result<(), Failure> {
    args.exports.check_kind(id.kind)?;
    let (head, gate) = tarebench::compare::gate::load(store, id)?;
    let report = gate_rule::report(&gate);
    if args.exports.json {
        output::print(&gate_output::json::json(&head, &gate, &report).map_err(Failure::system)?);
    } else if !show.is_quiet() && !args.exports.to_stdout() {
        let mut style = show.style.clone();
        style.more = (!style.full).then(|| format!("tare show {id} --full{}", show.db_option()));
        output::print(&gate_output::terminal::gate_text(&gate, &report, &style));
    }
    args.exports.write_gate(&head, &gate, &report)
}

fn print_bench(args: &ShowArgs, show: &Show, store: &dyn Store, id: Id) -> Result<Exit, Failure> {
    let (head, bench) = documents::bench(store, id)?;
    let report = bench::build(&bench);
    let shown = ShownBench { head: &head, bench: &bench, report: &report };
    show.bench(&shown, &output::local_time(head.created), &args.exports)?;
    args.exports.write_bench(&shown, &show.style)?;
    Ok(Exit::Done)
}
