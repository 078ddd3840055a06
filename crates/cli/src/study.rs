//! `tare study`: the studies of CS:APP chapter 9 on this machine.

use crate::args::store::StoreArgs;
use crate::args::style::{PlainStyleArgs, Show};
use crate::args::values::{duration, pair};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::progress::Display;
use crate::replace::write_text;
use crate::stored::say_imported;
use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::core::study::data::{Study, StudyPlan, StudyPreset};
use tarebench::documents::{MeasureOptions, Stopped};
use tarebench::render::kit::style::Style;
use tarebench::render::study::terminal::{figures, json, terminal};
use tarebench::run::session::StorePlace;
use tarebench::store::{DocumentFilter, NamedDocument, SqliteStore, Store};
use tarebench::study::error::StudyError;
use tarebench::study::run as study;
use tarebench::study::run::{MeasuredStudy, Studied};
use tarebench::sys::signals::Signals;

/// Repeat the experiments of CS:APP chapter 9 on this machine
///
/// Every measurement is stored as it is made. Resume an interrupted study with `tare resume`.
#[derive(Args)]
#[command(after_help = "Examples:
  tare study kbest
  tare study interval-counting --preset paper --svg figures
  tare study kbest --rounds 30 --loads 1,4 --longest 1ms
  tare resume s3
  tare study show s3 --json")]
pub struct StudyArgs {
    #[command(subcommand)]
    what: StudyCommand,
}

#[derive(Subcommand)]
enum StudyCommand {
    /// Error of K-best by length, load, K, compensation and clock (figures 9.14 to 9.19, 9.22)
    Kbest(StudyMeasure),
    /// Error of interval counting compared with exact CPU time (figure 9.8)
    IntervalCounting(StudyMeasure),
    /// Procedures under load, and with cold and warm caches (figures 9.11 to 9.13)
    Caching(StudyMeasure),
    /// Resume an interrupted study; `tare resume` does the same
    Resume(StoredStudy),
    /// Show a stored study
    Show(StoredStudy),
}

#[derive(Args)]
struct StudyMeasure {
    /// Size: a few minutes, or the book's lengths and 30 rounds
    #[arg(long, value_enum, default_value_t = PresetArg::Minutes)]
    preset: PresetArg,
    /// Rounds of all measurements [default: from the preset]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Numbers of active processes on the CPU, the measured one included, e.g. 1,4 [default: from the preset]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    loads: Vec<u32>,
    /// Longest length to measure
    #[arg(long, value_name = "TIME", value_parser = duration)]
    longest: Option<Nanos>,
    /// CPU to measure on [default: the last one allowed]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// Label the study, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct StoredStudy {
    /// Number of a study, e.g. s3 [default: the newest]
    #[arg(value_name = "STUDY")]
    id: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct OutputArgs {
    /// Print the observations and the tables as JSON
    #[arg(long)]
    json: bool,
    /// Write the figures as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum PresetArg {
    Minutes,
    Paper,
}

pub fn failure(e: StudyError) -> Failure {
    match e {
        StudyError::Cpu { .. } => Failure::usage(e.to_string()),
        StudyError::Document(e) => e.into(),
        other => Failure::system(other),
    }
}

pub fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    match &args.what {
        StudyCommand::Kbest(m) => measure(Study::Kbest, m),
        StudyCommand::IntervalCounting(m) => measure(Study::IntervalCounting, m),
        StudyCommand::Caching(m) => measure(Study::Caching, m),
        StudyCommand::Resume(s) => resume(s),
        StudyCommand::Show(s) => {
            let store = s.output.store.readable()?;
            let id = resolve(&store, s.id.as_deref())?;
            if !s.output.json {
                say_imported(&store, NamedDocument::Document(id), &s.output.style.show()?)?;
            }
            present(&store, id, &s.output)?;
            Ok(Exit::Done)
        }
    }
}

fn measure(which: Study, args: &StudyMeasure) -> Result<Exit, Failure> {
    let show = args.output.style.show()?;
    let preset = match args.preset {
        PresetArg::Minutes => StudyPreset::Minutes,
        PresetArg::Paper => StudyPreset::Paper,
    };
    let cpu = study::choose_cpu(args.cpu).map_err(failure)?;
    let mut plan = StudyPlan::new(which, preset, cpu);
    plan.rounds = args.rounds.unwrap_or(plan.rounds);
    plan.longest = args.longest.map_or(plan.longest, Nanos::as_f64);
    if !args.loads.is_empty() {
        plan.loads.clone_from(&args.loads);
        plan.loads.sort_unstable();
        plan.loads.dedup();
    }
    if plan.parts() == 0 {
        return Err(Failure::usage("--longest is shorter than the shortest length")
            .hint("10us is the shortest of kbest, 5ms that of interval-counting"));
    }
    let mut place = args.output.store.place()?;
    let options = MeasureOptions { tags: args.tag.iter().cloned().collect() };
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(&show);
    let done = study::measure(&plan, &mut place, &options, &signals, &mut |e| display.on(e));
    ended(done, display, args.output.json, args.output.svg.as_deref(), &show)
}

fn resume(args: &StoredStudy) -> Result<Exit, Failure> {
    let show = args.output.style.show()?;
    let store = args.output.store.writable()?;
    let id = resolve(&store, args.id.as_deref())?;
    resume_stored(store, id, args.output.json, args.output.svg.as_deref(), &show)
}

/// Resumes a stored study.
pub fn resume_stored(store: SqliteStore, id: Id, json: bool, svg: Option<&Path>, show: &Show) -> Result<Exit, Failure> {
    let signals = Signals::install().map_err(Failure::system)?;
    let mut place = StorePlace::Store(Box::new(store));
    let mut display = Display::new(show);
    let done = study::resume(id, &mut place, &signals, &mut |e| display.on(e));
    ended(done, display, json, svg, show)
}

fn ended(
    done: Result<MeasuredStudy, StudyError>,
    mut display: Display<'_>,
    json: bool,
    svg: Option<&Path>,
    show: &Show,
) -> Result<Exit, Failure> {
    display.clear();
    let measured = done.map_err(|e| match display.id() {
        Some(id) => failure(e).hint(format!("the measurements so far are stored; resume with: `tare resume {id}`")),
        None => failure(e),
    })?;
    print_found(&measured.study, json, &show.style)?;
    if let Some(folder) = svg {
        write(folder, &figures(&measured.report()))?;
    }
    match measured.stopped {
        Stopped::Finished => return Ok(Exit::Done),
        Stopped::Interrupted(_) if measured.study.head.number == 0 => {
            eprintln!("tare: interrupted; nothing was stored");
        }
        Stopped::Interrupted(_) => {
            eprintln!("tare: interrupted; resume with: tare resume {}", measured.study.head.id())
        }
    }
    Ok(Exit::Interrupted)
}

/// The given study, or the newest.
fn resolve(store: &SqliteStore, asked: Option<&str>) -> Result<Id, Failure> {
    if let Some(text) = asked {
        return text.parse().map_err(|e| Failure::usage(format!("{e}")).hint("`tare list` shows the stored studies"));
    }
    let filter = DocumentFilter { kind: Some(DocumentKind::Study), limit: Some(1), ..DocumentFilter::default() };
    let newest = store.documents(&filter)?;
    let none = || Failure::usage("no study is stored").hint("create one with: `tare study kbest`");
    newest.first().map(|d| d.head.id()).ok_or_else(none)
}

/// A stored study on standard output, and its figures.
fn present(store: &SqliteStore, id: Id, output: &OutputArgs) -> Result<(), Failure> {
    let found = print_study(store, id, output.json, &output.style.show()?.style)?;
    if let Some(folder) = &output.svg {
        write(folder, &figures(&found.report()))?;
    }
    Ok(())
}

/// A stored study on standard output.
pub fn print_study(store: &SqliteStore, id: Id, as_json: bool, style: &Style) -> Result<Studied, Failure> {
    let found = study::load(store, id).map_err(failure)?;
    print_found(&found, as_json, style)?;
    Ok(found)
}

fn print_found(found: &Studied, as_json: bool, style: &Style) -> Result<(), Failure> {
    let report = found.report();
    if as_json {
        print(&json(&found.head, &found.plan, &report, &found.parts).map_err(Failure::system)?);
    } else {
        print(&terminal(&found.head, &found.plan, &report, style));
    }
    Ok(())
}

fn write(folder: &Path, figures: &[(String, String)]) -> Result<(), Failure> {
    let failed = |what: &Path, e: std::io::Error| Failure::system(format!("write {}: {e}", what.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in figures {
        write_text(&folder.join(name), text)?;
    }
    eprintln!("wrote {} figures to {}", figures.len(), folder.display());
    Ok(())
}
