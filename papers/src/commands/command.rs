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

/// A command for each study, and those for stored ones.
fn command() -> clap::Command {
    let of_samples = SampleStudy::all().map(|study| {
        let command = clap::Command::new(study.name());
        let command = match study {
            SampleStudy::Suite => SuiteMeasure::augment_args(command),
            _ => SampleMeasure::augment_args(command),
        };
        command.about(study.entry().about.line())
    });
    let of_cells = Study::ALL
        .into_iter()
        .map(|study| StudyMeasure::augment_args(clap::Command::new(study.name())).about(study.about().line()));
    StudyArgs::augment_args(clap::Command::new("study").subcommands(of_samples).subcommands(of_cells))
}

fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    match matches.subcommand() {
        Some((name, given)) => match (SampleStudy::named(name), Study::ALL.into_iter().find(|s| s.name() == name)) {
            (Some(SampleStudy::Suite), _) => {
                let suite: SuiteMeasure = parsed(given)?;
                study_samples(SampleStudy::Suite, &suite.measure, suite.file.as_deref())
            }
            (Some(study), _) => study_samples(study, &parsed(given)?, None),
            (None, Some(study)) => cells::measure(study, &parsed(given)?),
            (None, None) => stored(&parsed(matches)?),
        },
        None => stored(&parsed(matches)?),
    }
}

fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|e| Failure::usage(e.to_string()))
}

fn stored(args: &StudyArgs) -> Result<Exit, Failure> {
    match &args.what {
        None => print_list(args.json, &args.style),
        Some(StudyCommand::Resume(s)) => resume(s),
        Some(StudyCommand::Show(s)) => show(s),
        Some(StudyCommand::Compare(s)) => compare(s),
        Some(StudyCommand::Report(s)) => write_page(s),
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
