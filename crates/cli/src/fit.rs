//! `tare fit`: how a program's time grows with its size.

use crate::args::style::Show;
use crate::exit::{Exit, Failure};
use crate::output::{foot, print};
use crate::replace::write_text;
use crate::run::args::{OrderArg, RunArgs};
use crate::run::command::{Timed, conclude, timed};
use crate::stored::say_imported;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::fit::{GrowthMeasure, NoSizeFit, SizeFit, geometric_sizes, size_fit};
use tarebench::core::run::report::data::RunReport;
use tarebench::core::sample::counters::Counter;
use tarebench::core::statistics::complexity::{Expectation, FEWEST_SIZES};
use tarebench::core::statistics::growth::Growth;
use tarebench::render::fit::{json, said, sheet};
use tarebench::report::sheet::SheetNote;
use tarebench::report::terminal::sheet_text;
use tarebench::run::session::load;
use tarebench::sys::events::EventSet;

/// Find how the time of a program grows with the size of its input
///
/// Runs the program with several sizes, in random order, and finds which of c0 + c1 g(n) agree with the times, for g(n) of 1, log n,
/// √n, n, n log n, n^1.5, n², n² log n, n³ and 2ⁿ. The measurement is an ordinary run with a parameter, stored as such: every
/// option of `tare run` is valid.
#[derive(Args)]
#[command(after_help = AFTER,
          mut_arg("parameter_scan", |a| a.help("Replace {VAR} by whole numbers from MIN to MAX, in even ratios; --points says how many")),
          mut_arg("parameter_list", |a| a.help("Replace {VAR} by each of these sizes")),
          mut_arg("runs", |a| a.help("Counted executions of each size [default: 5]")),
          mut_arg("json", |a| a.help("Print the growth as JSON; --export-json writes the run")),
          mut_arg("order", |a| a.help("Order of the sizes [default: random]")))]
pub struct FitArgs {
    /// Number of sizes of -P
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(5..=1_000), help_heading = "Growth")]
    points: u32,
    /// What grows: a time, or the number of instructions
    #[arg(long, value_enum, value_name = "MEASURE", default_value_t = FitMeasure::Cpu, help_heading = "Growth")]
    by: FitMeasure,
    /// Test this class, e.g. 'n log n' or n^2: exit code 1 if the times reject it, 6 if they cannot tell it from others
    #[arg(long, value_name = "CLASS", value_parser = class, help_heading = "Growth")]
    expect: Option<Growth>,
    /// Measure nothing: use a stored run of one program with several values of a parameter
    #[arg(long, value_name = "RUN", conflicts_with_all = ["commands", "argv", "parameter_scan", "parameter_list"], help_heading = "Growth")]
    from: Option<String>,
    /// Write the figure, with the curve's 95% band, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Growth")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
}

const AFTER: &str = "Examples:
  tare fit './sort {n}' -P n 1000 1000000
  tare fit './sort {n}' -P n 1000 1000000 --points 12 --expect 'n log n'
  tare fit -L n 5,10,15,20,25,30 --by elapsed -- ./solve --size '{n}'
  tare fit './sort {n}' -P n 1000 1000000 --by instructions
  tare fit --from 12 --svg growth.svg

Exit codes: 0 success; 1 a program failed, or the times reject the class of --expect; 2 usage error; 4 the store or the \
system failed; 6 the times cannot tell, or too few sizes have what --by asks for, as where no hardware counts instructions; \
130 interrupted.";

#[derive(Clone, Copy, ValueEnum)]
enum FitMeasure {
    /// CPU time of all processes of the program
    Cpu,
    /// Elapsed time
    Elapsed,
    /// CPU time minus interrupt, softirq and steal time charged to the program
    Net,
    /// Instructions of all processes of the program, in user mode and in the kernel; needs a PMU (performance monitoring unit)
    Instructions,
}

impl FitMeasure {
    fn measure(self) -> GrowthMeasure {
        match self {
            FitMeasure::Cpu => GrowthMeasure::Pt,
            FitMeasure::Elapsed => GrowthMeasure::Et,
            FitMeasure::Net => GrowthMeasure::Net,
            FitMeasure::Instructions => GrowthMeasure::Instructions,
        }
    }
}

fn class(text: &str) -> Result<Growth, String> {
    let wrong = || "expected 1, log n, sqrt n, n, n log n, n^1.5, n^2, n^2 log n, n^3 or 2^n".to_owned();
    Growth::parse(text).ok_or_else(wrong)
}

pub fn fit(mut args: FitArgs) -> Result<Exit, Failure> {
    if let Some(from) = args.from.take() {
        return stored(&args, from);
    }
    check(&args.run)?;
    set_sizes(&mut args)?;
    check_counted(&args)?;
    let run = &mut args.run;
    run.count.order = run.count.order.or(Some(OrderArg::Random));
    let c = &mut run.count;
    if [c.runs, c.min_runs, c.max_runs].iter().all(Option::is_none) && c.precision.is_none() {
        c.runs = Some(5);
    }
    let Timed { measured, place, show, restored, push } = timed(&args.run)?;
    let report = measured.report(&place)?;
    let samples = measured.samples(&place);
    let shown = present(&args, &report, &show);
    args.run.exports.write(&report, &samples, &show.style)?;
    let ended = conclude(&measured, &report, &show)?;
    push.map_or(Ok(()), |to| to.push(&place, &measured, show.is_quiet()))?;
    restored?;
    if ended == Exit::Done { shown } else { Ok(ended) }
}

fn stored(args: &FitArgs, from: String) -> Result<Exit, Failure> {
    args.run.exports.check()?;
    let show = args.run.style.show()?.with_store(args.run.store.named());
    let store = args.run.store.readable()?;
    let named = store.find(&from)?;
    let Id { kind: DocumentKind::Run, number: id } = named else {
        return Err(Failure::usage("--from: expected a run").hint("`tare list` shows the stored runs"));
    };
    if !args.run.exports.json && !args.run.exports.to_stdout() {
        say_imported(&*store, named, &show)?;
    }
    let stored = load(&*store, id)?;
    let report = stored.report()?;
    let exit = present(args, &report, &show)?;
    args.run.exports.write(&report, &stored.samples, &show.style)?;
    Ok(exit)
}

/// Refuses what makes no sense with sizes.
fn check(run: &RunArgs) -> Result<(), Failure> {
    let refused = [
        (run.what.reference.is_some(), "--reference"),
        (run.what.control, "--control"),
        (run.what.parameter_step_size.is_some(), "--parameter-step-size"),
        (run.count.detect.is_some(), "--detect"),
        (run.self_check.is_some(), "--self-check"),
        (matches!(run.count.order, Some(OrderArg::Auto | OrderArg::Duet)), "--order auto or duet"),
    ];
    if let Some((_, option)) = refused.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!("{option} compares programs; `tare fit` runs one with several sizes")));
    }
    match run.what.commands.len() + usize::from(!run.argv.is_empty()) {
        1 => Ok(()),
        0 => Err(Failure::usage("no program to time").hint("tare fit 'PROG {n}' -P n 1000 1000000")),
        n => Err(Failure::usage(format!("{n} programs: expected one, with several sizes"))),
    }
}

/// Refuses instructions where they are not counted, before anything runs.
fn check_counted(args: &FitArgs) -> Result<(), Failure> {
    if args.by.measure() != GrowthMeasure::Instructions {
        return Ok(());
    }
    if args.run.conditions.no_account {
        return Err(Failure::usage("--by instructions: with --no-account, instructions are not counted"));
    }
    match EventSet::probe(Counter::Instructions.events()).missing().next() {
        None => Ok(()),
        Some((_, why)) => Err(Failure {
            exit: Exit::Inconclusive,
            message: format!("--by instructions: {why}"),
            hint: Some("--by cpu and --by net use times".to_owned()),
        }),
    }
}

/// Makes a list of the one parameter that is the size.
fn set_sizes(args: &mut FitArgs) -> Result<(), Failure> {
    let what = &args.run.what;
    let (name, sizes) = match (what.parameter_scan.as_slice(), what.parameter_list.as_slice()) {
        ([name, low, high], []) => (name.clone(), scanned(low, high, args.points)?),
        ([], [name, list]) => (name.clone(), list.clone()),
        _ => {
            let hint = "-P n 1000 1000000, or -L n 1000,3000,10000,30000,100000";
            return Err(Failure::usage("expected one parameter: the size").hint(hint));
        }
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    if let Some(wrong) = sizes.split(',').find(|text| number(text).is_none()) {
        return Err(Failure::usage(format!("`{wrong}` is not a size: expected a positive number")));
    }
    let mut different: Vec<f64> = sizes.split(',').filter_map(number).collect();
    different.sort_by(f64::total_cmp);
    if let Some(twice) = different.windows(2).find_map(|w| w.first().filter(|a| w.last() == Some(*a))) {
        return Err(Failure::usage(format!("the size {twice} is given twice")));
    }
    if different.len() < FEWEST_SIZES {
        let n = different.len();
        return Err(Failure::usage(format!(
            "{n} sizes: expected at least {FEWEST_SIZES}, better 6 over three decades"
        )));
    }
    if !uses(&args.run, &format!("{{{name}}}")) {
        return Err(Failure::usage(format!("neither the program nor a command around it has {{{name}}}")));
    }
    args.run.what.parameter_scan.clear();
    args.run.what.parameter_list = vec![name, sizes];
    Ok(())
}

/// The sizes of `-P`, joined by commas.
fn scanned(low: &str, high: &str, points: u32) -> Result<String, Failure> {
    let whole = |text: &str| -> Option<u64> {
        let value: f64 = text.trim().parse().ok()?;
        (value >= 1.0 && value == value.trunc() && value < 9e15).then_some(value as u64)
    };
    let sizes = whole(low).zip(whole(high)).and_then(|(low, high)| geometric_sizes(low, high, points));
    let wrong = || Failure::usage(format!("sizes from {low} to {high}: expected whole numbers, 1 ≤ MIN < MAX"));
    Ok(sizes.ok_or_else(wrong)?.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
}

fn uses(run: &RunArgs, parameter: &str) -> bool {
    let hooks = [&run.hooks.setup, &run.hooks.cleanup].into_iter().flatten().chain(&run.hooks.prepare);
    let mut texts = run.what.commands.iter().chain(hooks).chain(&run.hooks.conclude);
    texts.any(|t| t.contains(parameter)) || run.argv.iter().any(|word| word.to_string_lossy().contains(parameter))
}

/// Prints the growth and writes the figure; the exit code is that of the expectation.
fn present(args: &FitArgs, report: &RunReport, show: &Show) -> Result<Exit, Failure> {
    let measure = args.by.measure();
    let fit = size_fit(report, measure).map_err(|e| refused(&e, measure, report.run.id))?;
    let exports = &args.run.exports;
    if exports.json {
        print(&json::json(&fit, args.expect).map_err(Failure::system)?);
    } else if !show.is_quiet() && !exports.to_stdout() {
        let mut sheet = sheet::fit(&fit, args.expect);
        if fit.run > 0 {
            let details = format!("run {0}, details: tare show {0} --full{1}", fit.run, show.db_option());
            sheet.notes.push(SheetNote::new("", details));
        }
        print(&sheet_text(&sheet, &show.style));
    }
    write_figure(args, &fit)?;
    Ok(match args.expect.map(|growth| fit.complexity.expects(growth)) {
        None | Some(Expectation::Holds) => Exit::Done,
        Some(Expectation::Rejected) => Exit::NOT_AS_WANTED,
        Some(Expectation::Open) => Exit::Inconclusive,
    })
}

fn write_figure(args: &FitArgs, fit: &SizeFit) -> Result<(), Failure> {
    match (&args.svg, sheet::svg(fit, &foot())) {
        (Some(file), Some(picture)) => write_text(file, &picture),
        _ => Ok(()),
    }
}

fn refused(e: &NoSizeFit, measure: GrowthMeasure, run: i64) -> Failure {
    let why = said::refusal(e, measure);
    let message = match run {
        0 => format!("no growth is found: {why}"),
        id => format!("no growth is found in run {id}: {why}"),
    };
    match e {
        NoSizeFit::TooLittle(_) | NoSizeFit::Missing { .. } => {
            Failure { exit: Exit::Inconclusive, message, hint: None }
        }
        _ => Failure::usage(message),
    }
}
