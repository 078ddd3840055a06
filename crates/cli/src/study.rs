//! `tare study`: the studies of CS:APP chapter 9 on this machine.

use crate::args::store::StoreArgs;
use crate::args::style::{Show, StyleArgs};
use crate::args::values::duration;
use crate::exit::{Exit, Failure};
use crate::output::print;
use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::Id;
use tarebench::core::study::data::{Plan, Preset, Study};
use tarebench::core::study::report::build;
use tarebench::render::kit::number;
use tarebench::render::kit::style::Style;
use tarebench::render::study::terminal::{figures, json, terminal};
use tarebench::store::{DocumentFilter, SqliteStore, Store};
use tarebench::study::error::StudyError;
use tarebench::study::run as study;
use tarebench::study::run::{Ended, Progress, Studied};
use tarebench::sys::signals::Signals;

/// Repeat the studies of CS:APP chapter 9 on this machine: their tables and figures
///
/// Each is kept measurement by measurement: interrupted, `tare study resume` goes on with it.
#[derive(Args)]
#[command(after_help = "Examples:
  tare study kbest
  tare study interval-counting --preset paper --svg figures
  tare study kbest --rounds 30 --loads 1,4 --longest 1ms
  tare study resume s3
  tare study show s3 --json")]
pub struct StudyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Error of K-best by length, load, K, compensation and clock (figures 9.14 to 9.19, 9.22)
    Kbest(Measure),
    /// Error of CPU time that is counted at timer interrupts, and exactly (figure 9.8)
    IntervalCounting(Measure),
    /// Procedures under load, and with cold and warm caches (figures 9.11 to 9.13)
    Caching(Measure),
    /// Go on with a study that was interrupted
    Resume(Stored),
    /// Show a stored study
    Show(Stored),
}

#[derive(Args)]
struct Measure {
    /// How much: some minutes, or the paper's lengths and thirty rounds
    #[arg(long, value_enum, default_value_t = PresetArg::Minutes)]
    preset: PresetArg,
    /// Rounds of all measurements, instead of the preset's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Active processes on the CPU, the measured one included, instead of the preset's: as 1,4
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    loads: Vec<u32>,
    /// Only lengths up to this one
    #[arg(long, value_name = "TIME", value_parser = duration)]
    longest: Option<Nanos>,
    /// On this CPU [default: the last one that may be used]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct Stored {
    /// Number of a study, as s3 [default: the newest]
    #[arg(value_name = "STUDY")]
    id: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct OutputArgs {
    /// As JSON: the observations and the tables
    #[arg(long)]
    json: bool,
    /// Folder for the figures as SVG
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum PresetArg {
    Minutes,
    Paper,
}

fn failure(e: StudyError) -> Failure {
    match e {
        StudyError::Cpu { .. } => Failure::usage(e.to_string()),
        StudyError::Document(e) => e.into(),
        other => Failure::system(other),
    }
}

pub fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Kbest(m) => measure(Study::Kbest, m),
        What::IntervalCounting(m) => measure(Study::IntervalCounting, m),
        What::Caching(m) => measure(Study::Caching, m),
        What::Resume(s) => resume(s),
        What::Show(s) => {
            let store = s.output.store.readable()?;
            let id = resolve(&store, s.id.as_deref())?;
            present(&store, id, &s.output)?;
            Ok(Exit::Done)
        }
    }
}

fn measure(which: Study, args: &Measure) -> Result<Exit, Failure> {
    let show = args.output.style.show()?;
    let preset = match args.preset {
        PresetArg::Minutes => Preset::Minutes,
        PresetArg::Paper => Preset::Paper,
    };
    let cpu = study::choose_cpu(args.cpu).map_err(failure)?;
    let mut plan = Plan::new(which, preset, cpu);
    plan.rounds = args.rounds.unwrap_or(plan.rounds);
    plan.longest = args.longest.map_or(plan.longest, Nanos::as_f64);
    if !args.loads.is_empty() {
        plan.loads.clone_from(&args.loads);
        plan.loads.sort_unstable();
        plan.loads.dedup();
    }
    if plan.parts() == 0 {
        return Err(Failure::usage("--longest leaves no length")
            .hint("10us is the shortest of kbest, 5ms that of interval-counting"));
    }
    let mut store = args.output.store.writable()?;
    let signals = Signals::install().map_err(Failure::system)?;
    let mut line = Line::new(&show);
    let done = study::begin(&mut store, &plan, &signals, &mut |id, p| line.draw(id, p));
    ended(&store, done, line, &args.output)
}

fn resume(args: &Stored) -> Result<Exit, Failure> {
    let show = args.output.style.show()?;
    let mut store = args.output.store.writable()?;
    let id = resolve(&store, args.id.as_deref())?;
    let signals = Signals::install().map_err(Failure::system)?;
    let mut line = Line::new(&show);
    let done = study::resume(&mut store, id, &signals, &mut |id, p| line.draw(id, p));
    ended(&store, done, line, &args.output)
}

fn ended(
    store: &SqliteStore,
    done: Result<(Id, Ended), StudyError>,
    mut line: Line,
    output: &OutputArgs,
) -> Result<Exit, Failure> {
    line.clear();
    let (id, ended) = done.map_err(|e| match line.id {
        Some(id) => failure(e).hint(format!("what was measured is kept: `tare study resume {id}`")),
        None => failure(e),
    })?;
    present(store, id, output)?;
    match ended {
        Ended::Finished => Ok(Exit::Done),
        Ended::Interrupted(_) => {
            eprintln!("tare: interrupted; `tare study resume {id}` goes on");
            Ok(Exit::Interrupted)
        }
    }
}

/// The study that is meant, or the newest.
fn resolve(store: &SqliteStore, asked: Option<&str>) -> Result<Id, Failure> {
    use tarebench::core::documents::head::Kind;
    if let Some(text) = asked {
        return text.parse().map_err(|e| Failure::usage(format!("{e}")).hint("`tare list` shows the stored studies"));
    }
    let filter = DocumentFilter { kind: Some(Kind::Study), limit: Some(1) };
    let newest = store.documents(&filter)?;
    let none = || Failure::usage("there is no stored study").hint("`tare study kbest` makes one");
    newest.first().map(|d| d.head.id()).ok_or_else(none)
}

/// A stored study on standard output, and its figures.
fn present(store: &SqliteStore, id: Id, output: &OutputArgs) -> Result<(), Failure> {
    let found = print_study(store, id, output.json, &output.style.show()?.style)?;
    if let Some(folder) = &output.svg {
        write(folder, &figures(&build(&found.plan, &found.parts)))?;
    }
    Ok(())
}

/// A stored study on standard output.
pub fn print_study(store: &SqliteStore, id: Id, as_json: bool, style: &Style) -> Result<Studied, Failure> {
    let found = study::load(store, id).map_err(failure)?;
    let report = build(&found.plan, &found.parts);
    if as_json {
        print(&json(&found.head, &found.plan, &report, &found.parts).map_err(Failure::system)?);
    } else {
        print(&terminal(&found.head, &found.plan, &report, style));
    }
    Ok(found)
}

fn write(folder: &Path, figures: &[(String, String)]) -> Result<(), Failure> {
    let failed = |what: &Path, e: std::io::Error| Failure::system(format!("write {}: {e}", what.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in figures {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(|e| failed(&file, e))?;
    }
    eprintln!("wrote {} figures to {}", figures.len(), folder.display());
    Ok(())
}

/// Progress on standard error, between measurements only.
struct Line {
    on: bool,
    unicode: bool,
    shown: bool,
    id: Option<Id>,
}

impl Line {
    fn new(show: &Show) -> Line {
        Line { on: show.progress, unicode: show.progress_style.unicode, shown: false, id: None }
    }

    fn draw(&mut self, id: Id, p: Progress) {
        self.id = Some(id);
        if self.on {
            let left = p.left.and_then(|l| number::time(l.as_f64(), None, self.unicode));
            let left = left.map_or(String::new(), |l| format!(", about {l} left"));
            eprint!("\r\x1b[K{id}: {} of {}{left}", p.done, p.of);
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            eprint!("\r\x1b[K");
        }
    }
}
