//! `tare compare`: programs of stored runs against each other.

use crate::args::exports::Exports;
use crate::args::store::StoreArgs;
use crate::args::style::{ComparisonStyleArgs, Show};
use crate::args::values::pair;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::Args;
use tarebench::compare::stored::{StoredCompareError, StoredRequest, compare as compare_stored, head, keep};
use tarebench::core::compare::stored::{StoredComparison, StoredPlan};
use tarebench::core::compare::stored_report::report;
use tarebench::core::documents::head::{DocumentHead, DocumentKind};
use tarebench::render::compare::stored::json::json;
use tarebench::render::compare::stored::sheet;
use tarebench::report::screen::ScreenText;
use tarebench::report::style::{Paint, Style};
use tarebench::report::terminal::sheet_text;

/// Compare programs of stored runs, also of different runs and machines
///
/// A run as a whole is compared program by program. The state of a machine is not the same at two times: the interval of a
/// ratio of two runs holds what runs of one program differ by on this machine, as the store shows. Where both runs hold the same
/// reference program, their ratios to it are compared, which is far more exact. To find small differences, measure both
/// programs in one run: `tare run 'A' 'B'`.
#[derive(Args)]
#[command(after_help = "Examples:
  tare compare 12 15
  tare compare 12.gzip 15.gzip
  tare compare 12.1 12.2 --compare-by elapsed
  tare compare 12 15 --compare-by metric:rate
  tare compare tag:branch=main last --across-machines")]
pub struct CompareArgs {
    /// Runs, each by its number, `last`, four or more first digits of its uuid, or tag:KEY=VALUE (the newest with that tag);
    /// or programs in them, by label, number or file name: 12.gzip, 15.2
    #[arg(value_name = "RUN[.PROGRAM]", required = true)]
    names: Vec<String>,
    /// Compare the others with this one [default: the first]
    #[arg(long, value_name = "RUN[.PROGRAM]")]
    reference: Option<String>,
    /// Give a verdict although the machines differ: CPU model, microcode, kernel, governor, SMT, hypervisor or memory
    #[arg(long)]
    across_machines: bool,
    /// Do not store the comparison
    #[arg(long)]
    no_store: bool,
    /// Label the comparison, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
    #[command(flatten)]
    style: ComparisonStyleArgs,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    args.exports.check_kind(DocumentKind::Comparison)?;
    args.exports.check()?;
    let show = args.style.show()?.with_store(args.store.named());
    let plan = StoredPlan { measure: show.compared_by(), across_machines: args.across_machines };
    let request = StoredRequest { names: args.names.clone(), reference: args.reference.clone(), plan };
    let comparison = compare_stored(&*args.store.readable()?, &request).map_err(failure)?;
    let unkept = head(&comparison, &request, args.tag.iter().cloned().collect());
    let kept = if args.no_store { Ok(unkept.clone()) } else { store(args, &unkept, &comparison) };
    // It is shown also if it could not be stored.
    present(kept.as_ref().unwrap_or(&unkept), &comparison, &args.exports, &show)?;
    kept.map(|_| Exit::Done)
}

fn store(args: &CompareArgs, head: &DocumentHead, comparison: &StoredComparison) -> Result<DocumentHead, Failure> {
    let stored = args.store.writable().and_then(|mut store| Ok(keep(&mut *store, head, comparison)?));
    stored
        .map_err(|e| Failure { message: format!("the comparison was not stored: {}", e.message), ..e })
        .map_err(|e| e.hint("--no-store compares without storing the result"))
}

/// Prints a comparison and writes the requested files.
pub fn present(
    head: &DocumentHead,
    comparison: &StoredComparison,
    exports: &Exports,
    show: &Show,
) -> Result<(), Failure> {
    exports.check_kind(DocumentKind::Comparison)?;
    let report = report(comparison);
    if exports.json {
        print(&json(head, comparison, &report).map_err(Failure::system)?);
    } else if !show.is_quiet() && !exports.to_stdout() {
        let style = Style { more: None, ..show.style.clone() };
        let sheet = sheet::comparison(head, comparison, &report, &style.zone, String::new());
        print(&sheet_text(&sheet, &style));
        if head.number > 0 {
            print(&status(head, show));
        }
    }
    exports.write_comparison(head, comparison, &report)
}

/// The number of a stored comparison, and what shows all of it.
fn status(head: &DocumentHead, show: &Show) -> String {
    let mut page = ScreenText::new(&show.style);
    let mut said = format!("comparison {}", head.id());
    if !show.style.full {
        said += &format!("{}details: tare show {} --full{}", page.g.between, head.id(), show.db_option());
    }
    page.line(&[(Paint::Dim, said)]);
    format!("\n{}", page.finish())
}

fn failure(e: StoredCompareError) -> Failure {
    use StoredCompareError as E;
    let hint = match &e {
        E::Store(_) => None,
        E::NotARun(id) => Some(format!("`tare show {id}` prints it; `tare list --kind run` shows the stored runs")),
        E::NoTag(_) => Some("`tare list --tag KEY=VALUE` shows the runs with a tag".to_owned()),
        E::Recording(id) => Some(format!("`tare show {id}` prints what ran on the machine")),
        E::NoProgram { run, .. } => Some(format!("name one by its label or its number, e.g. {run}.1")),
        E::Ambiguous { run, numbers, .. } => {
            let all: Vec<String> = numbers.iter().map(|n| format!("{run}.{n}")).collect();
            Some(format!("name it by its number: {}", all.join(" or ")))
        }
        E::TooFew => {
            Some("`tare show RUN` compares the programs of one run; `tare list` shows the stored runs".to_owned())
        }
        E::SameRun(id) => Some(format!("`tare show {id}` compares the programs of one run")),
        E::SameProgram { .. } => Some("name two programs, or two runs".to_owned()),
        E::NoCounterpart { run, reference, .. } => Some(format!("name a program of each, e.g. {reference}.1 {run}.1")),
        E::NoReport { run, .. } => Some(format!("`tare show {run}` prints what was measured")),
        E::TooMany { .. } => Some("name some of the programs".to_owned()),
    };
    let failure = match e {
        E::Store(e) => e.into(),
        other => Failure::usage(other.to_string()),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
