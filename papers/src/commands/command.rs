//! `tare study`: repeats the papers' experiments on this machine.

use crate::commands::cells;
use crate::commands::cells::StudyMeasure;
use crate::commands::compare::{StudyCompareArgs, compare};
use crate::commands::list::print_list;
use crate::commands::resume::{StudyResumeArgs, resume};
use crate::commands::samples::{SampleMeasure, study_samples};
use crate::commands::stored::{StudyChoice, StudyOutput, StudyPageArgs, load, present, write_page};
use crate::data::cells::Study;
use crate::data::series::SampleStudy;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use std::path::PathBuf;
use tarebench_cli::args::style::PlainStyleArgs;
use tarebench_cli::elsewhere::Addition;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::stored::say_imported;

/// Repeat the papers' experiments on this machine, or list them
///
/// Every measurement is stored as it is made. Resume an interrupted study with `tare resume`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  tare study
  tare study et-pt
  tare study scaling --from 12,15 --published
  tare study ntp --from '12=NTP off' '15=NTP on' --svg figures
  tare study suite programs.toml --preset hour
  tare study kbest --rounds 30 --loads 1,4 --longest 1ms
  tare resume s3
  tare study show s3 --json"
)]
pub struct StudyArgs {
    #[command(subcommand)]
    what: Option<StudyCommand>,
    /// Print the list of studies as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    style: PlainStyleArgs,
}

#[derive(Subcommand)]
enum StudyCommand {
    /// Elapsed and process time of INC by task length (EMP figures 2 and 9, tables II and III)
    EtPt(Box<SampleMeasure>),
    /// The NTP daemon off and on (EMP figure 10, table IV)
    Ntp(Box<SampleMeasure>),
    /// Turbo mode and frequency scaling off and on (EMP figure 11, table V)
    ClockSpeed(Box<SampleMeasure>),
    /// Process time by task length and by kernel (EMP figure 12, table VI; the report's table 3, figure 1)
    Scaling(Box<SampleMeasure>),
    /// Samples before and after the two checks (EMP figure 16, table XIX; the report's figures 2 to 11)
    Outliers(Box<SampleMeasure>),
    /// How many samples are enough (EMP tables XX to XXIV; the report's tables 4 and 6)
    SampleSize(Box<SampleMeasure>),
    /// Spread by version of the protocol and task length (EMP figure 17)
    Evolution(Box<SampleMeasure>),
    /// The same executions by several clocks (EMP figure 18, table XXV)
    Clocks(Box<SampleMeasure>),
    /// SORT, MATC and MATR by size (EMP figure 19; SEDONA figure 1)
    Programs(Box<SampleMeasure>),
    /// A list of real programs (EMP table XXVI; SEDONA table 3)
    Suite(Box<SuiteMeasure>),
    /// Process times with one mode or two (the report's figures 14, 15, 17 to 20)
    Histogram(Box<SampleMeasure>),
    /// Two halves of one program (the report's section 6)
    Dual(Box<SampleMeasure>),
    /// A sample and the next one (the report's section 7)
    Successive(Box<SampleMeasure>),
    /// Process time and that of the daemons (the report's section 8)
    Daemons(Box<SampleMeasure>),
    /// Daemons of the slowest sample (the report's tables 5, 9 to 12)
    Worst(Box<SampleMeasure>),
    /// What the variance of process time is made of (EMP section 8)
    Variance(Box<SampleMeasure>),
    /// Error of K-best by length, load, K, compensation and clock (CS:APP figures 9.14 to 9.19, 9.22)
    Kbest(StudyMeasure),
    /// Error of interval counting compared with exact CPU time (CS:APP figure 9.8)
    IntervalCounting(StudyMeasure),
    /// Procedures under load, and with cold and warm caches (CS:APP figures 9.11 to 9.13)
    Caching(StudyMeasure),
    /// Resume an interrupted study; `tare resume` does the same
    Resume(Box<StudyResumeArgs>),
    /// Show a stored study
    Show(ShownStudy),
    /// Compare studies of several machines or kernels (CS:APP figures 9.17 to 9.19)
    Compare(StudyCompareArgs),
    /// Write a stored study as a self-contained HTML page; `tare report` does the same
    Report(StudyPageArgs),
}

#[derive(Args)]
struct SuiteMeasure {
    /// List of programs (TOML, as for `tare gate`) [default: free programs from Debian packages]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    measure: SampleMeasure,
}

#[derive(Args)]
struct ShownStudy {
    #[command(flatten)]
    what: StudyChoice,
    #[command(flatten)]
    output: StudyOutput,
}

/// `tare study`, for a command that has all others.
pub const ADDITION: Addition = Addition { name: "study", command, run };

fn command() -> clap::Command {
    StudyArgs::augment_args(clap::Command::new("study"))
}

fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let args = StudyArgs::from_arg_matches(matches).map_err(|e| Failure::usage(e.to_string()))?;
    study(&args)
}

fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    let samples = |which, measure: &SampleMeasure| study_samples(which, measure, None);
    let Some(what) = &args.what else { return print_list(args.json, &args.style) };
    match what {
        StudyCommand::EtPt(m) => samples(SampleStudy::EtPt, m),
        StudyCommand::Ntp(m) => samples(SampleStudy::Ntp, m),
        StudyCommand::ClockSpeed(m) => samples(SampleStudy::ClockSpeed, m),
        StudyCommand::Scaling(m) => samples(SampleStudy::Scaling, m),
        StudyCommand::Outliers(m) => samples(SampleStudy::Outliers, m),
        StudyCommand::SampleSize(m) => samples(SampleStudy::SampleSize, m),
        StudyCommand::Evolution(m) => samples(SampleStudy::Evolution, m),
        StudyCommand::Clocks(m) => samples(SampleStudy::Clocks, m),
        StudyCommand::Programs(m) => samples(SampleStudy::Programs, m),
        StudyCommand::Suite(m) => study_samples(SampleStudy::Suite, &m.measure, m.file.as_deref()),
        StudyCommand::Histogram(m) => samples(SampleStudy::Histogram, m),
        StudyCommand::Dual(m) => samples(SampleStudy::Dual, m),
        StudyCommand::Successive(m) => samples(SampleStudy::Successive, m),
        StudyCommand::Daemons(m) => samples(SampleStudy::Daemons, m),
        StudyCommand::Worst(m) => samples(SampleStudy::Worst, m),
        StudyCommand::Variance(m) => samples(SampleStudy::Variance, m),
        StudyCommand::Kbest(m) => cells::measure(Study::Kbest, m),
        StudyCommand::IntervalCounting(m) => cells::measure(Study::IntervalCounting, m),
        StudyCommand::Caching(m) => cells::measure(Study::Caching, m),
        StudyCommand::Resume(s) => resume(s),
        StudyCommand::Show(s) => show(s),
        StudyCommand::Compare(s) => compare(s),
        StudyCommand::Report(s) => write_page(s),
    }
}

fn show(args: &ShownStudy) -> Result<Exit, Failure> {
    let shown = args.output.show()?;
    let store = args.output.store.readable()?;
    let id = args.what.resolve(&*store)?;
    if !args.output.files.json {
        say_imported(&*store, id, &shown)?;
    }
    present(&load(&*store, id)?, &args.output.files, &shown)?;
    Ok(Exit::Done)
}
