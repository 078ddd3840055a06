//! The studies of CS:APP chapter 9: measured cell by cell.

use crate::commands::samples::PresetArg;
use crate::commands::stored::{StudyFiles, StudyOutput, failure, present};
use crate::data::cells::{Study, StudyPlan};
use crate::measure::error::StudyError;
use crate::measure::run as study;
use crate::measure::run::MeasuredStudy;
use crate::measure::stored::StoredStudy;
use clap::Args;
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::Id;
use tarebench::documents::{MeasureOptions, Stopped};
use tarebench::run::session::StorePlace;
use tarebench::store::Store;
use tarebench::sys::signals::Signals;
use tarebench_cli::args::style::Show;
use tarebench_cli::args::values::{duration, pair};
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::progress::Display;
use tarebench_cli::pushed::PushAtEnd;

/// What to measure.
#[derive(Args)]
pub struct StudyMeasure {
    /// Size: a few minutes, an hour, or the book's lengths and 30 rounds
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
    output: StudyOutput,
}

pub fn measure(which: Study, args: &StudyMeasure) -> Result<Exit, Failure> {
    let show = args.output.show_measured()?;
    let cpu = study::choose_cpu(args.cpu).map_err(failure)?;
    let mut plan = StudyPlan::new(which, args.preset.preset(), cpu);
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
    let push = PushAtEnd::of(&args.output.store)?;
    let mut place = args.output.store.place()?;
    let options = MeasureOptions { tags: args.tag.iter().cloned().collect() };
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(&show);
    let done = study::measure(&plan, &mut place, &options, &signals, &mut |e| display.on(e));
    signals.release();
    let exit = ended(done, display, &args.output.files, &show)?;
    push.end(exit, show.is_quiet())
}

/// Resumes a stored study.
pub fn resume(store: Box<dyn Store>, id: Id, files: &StudyFiles, show: &Show) -> Result<Exit, Failure> {
    let signals = Signals::install().map_err(Failure::system)?;
    let mut place = StorePlace::Store(store);
    let mut display = Display::new(show);
    let done = study::resume(id, &mut place, &signals, &mut |e| display.on(e));
    signals.release();
    ended(done, display, files, show)
}

fn ended(
    done: Result<MeasuredStudy, StudyError>,
    mut display: Display<'_>,
    files: &StudyFiles,
    show: &Show,
) -> Result<Exit, Failure> {
    display.clear();
    let measured = done.map_err(|e| match display.id() {
        Some(id) => failure(e).hint(format!("the measurements so far are stored; resume with: `tare resume {id}`")),
        None => failure(e),
    })?;
    let id = measured.study.head.id();
    present(&StoredStudy::Cells(Box::new(measured.study)), files, show)?;
    Ok(stopped(measured.stopped, id))
}

/// The exit code of a session, which says on standard error how to resume it.
fn stopped(stopped: Stopped, id: Id) -> Exit {
    match stopped {
        Stopped::Finished => return Exit::Done,
        Stopped::Interrupted(_) if id.number == 0 => eprintln!("tare: interrupted; nothing was stored"),
        Stopped::Interrupted(_) => eprintln!("tare: interrupted; resume with: tare resume {id}"),
    }
    Exit::Interrupted
}
