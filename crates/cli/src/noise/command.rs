//! `tare noise`: measures repeated phases of fixed work, what delays them, and what that costs jobs on many nodes.

use crate::args::store::StoreArgs;
use crate::args::values::{cpu_list, duration, pair};
use crate::cores::say_shared;
use crate::exit::{Exit, Failure};
use crate::noise::result::{NoiseResultArgs, PublishedNoise, failure, print_noise, write};
use crate::noise::{bsp, files, model, show};
use crate::progress::Display;
use crate::pushed::PushAtEnd;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tarebench::core::base::units::Nanos;
use tarebench::core::noise::data::Heuristic;
use tarebench::core::noise::data::{NoisePlan, PhaseScheduling, PhaseSource};
use tarebench::documents::{MeasureOptions, Stopped};
use tarebench::noise::measure::{MeasuredNoise, choose_cpus, failed, measure, rate, tick};
use tarebench::render::noise::figures::figure;
use tarebench::report::web::html as web;
use tarebench::sys::noise::HIGHEST;
use tarebench::sys::signals::Signals;

/// Measure what delays a fixed piece of work, and what that costs parallel jobs
///
/// Calibrates an empty loop, then runs phases of it back to back, each timed with the cycle counter (ICS'05, section 3). As
/// root it also records the kernel events that interrupted them. Without --for it measures a million phases of each grain:
/// 17 minutes for the default grain of 1 ms.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  tare noise --grain 100us --for 1min
  tare noise --sweep --for 10s --sched fifo:10
  tare noise --grain 1ms --cpus all --for 5min
  tare noise bsp --launch 'mpirun -n 2'
  tare noise --model p=1e-5,d=50us,grain=1ms --nodes 1000,100000
  tare noise show n1 n2 --html ticks.html
  tare noise export n1 --as detours -o detours.txt
  tare noise import detours.txt --as detours --grain 1ms --machine node7"
)]
pub struct NoiseArgs {
    #[command(subcommand)]
    command: Option<NoiseCommand>,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    model: model::ModelArgs,
}

#[derive(Subcommand)]
enum NoiseCommand {
    Bsp(bsp::BspArgs),
    Export(files::NoiseExportArgs),
    Import(files::NoiseImportArgs),
    Show(show::NoiseShowArgs),
}

#[derive(Args)]
struct MeasureArgs {
    /// Grains: lengths of undisturbed phases, 1us to 1s, e.g. 1us,10us [default: 1ms]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = duration)]
    grain: Vec<Nanos>,
    /// Measure the grains 1us, 10us, 100us, 1ms, 10ms, 100ms and 1s, each for 10 seconds unless --for or --phases is given
    #[arg(long, conflicts_with = "grain")]
    sweep: bool,
    /// Number of phases of each grain on each CPU [default: 1000000; with --for no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_PHASES))]
    phases: Option<u64>,
    /// Measure each grain for TIME
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    limit: Option<Nanos>,
    /// CPUs to measure at the same time, e.g. 1 or 0-3,8, or `all` [default: the last one allowed]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Scheduling policy: `other` (the default) or `fifo:PRIORITY` (real-time, 1 to 98)
    #[arg(long, value_name = "HOW", default_value = "other")]
    sched: String,
    /// Statistic used for calibration
    #[arg(long, value_enum, default_value_t = HeuristicArg::SecondDecile)]
    calibrate: HeuristicArg,
    /// Number of timings for calibration, each of a million iterations
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    calibrations: u64,
    /// Do not record kernel events; recording makes each interrupt about 1 us longer
    #[arg(long)]
    no_explain: bool,
    /// Label the measurement, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
    /// Write the share of phases over each delay as an SVG figure
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    result: NoiseResultArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum HeuristicArg {
    /// The mean between the 10th and the 20th percentile
    SecondDecile,
    /// The shortest
    Minimum,
    /// The mean
    Mean,
    /// The median
    Median,
}

/// 400 MB of the measuring process's memory, on each CPU.
const MOST_PHASES: u64 = 50_000_000;
const DEFAULT_PHASES: u64 = 1_000_000;
const GRAINS: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_millis(1_000);
const SWEPT: Nanos = Nanos::from_millis(10_000);
const LONGEST: Nanos = Nanos::from_millis(24 * 3_600_000);
fn sched(text: &str) -> Result<PhaseScheduling, Failure> {
    let priority = text.strip_prefix("fifo:").and_then(|p| p.parse().ok()).filter(|p| (1..=HIGHEST).contains(p));
    match (text, priority) {
        ("other", _) => Ok(PhaseScheduling::Other),
        (_, Some(priority)) => Ok(PhaseScheduling::Fifo { priority }),
        _ => Err(Failure::usage(format!("--sched {text}: expected other, or fifo:PRIORITY (1 to {HIGHEST})"))),
    }
}

fn plan(args: &MeasureArgs) -> Result<NoisePlan, Failure> {
    let grains = match (args.sweep, args.grain.as_slice()) {
        (true, _) => (0..7).map(|i| Nanos::from_micros(10_i64.pow(i))).collect(),
        (false, []) => vec![Nanos::from_millis(1)],
        (false, some) => some.to_vec(),
    };
    if grains.iter().any(|g| !GRAINS.contains(g)) {
        return Err(Failure::usage("--grain must be between 1us and 1s"));
    }
    let twice = grains.iter().enumerate().any(|(i, g)| grains.iter().take(i).any(|before| before == g));
    if twice {
        return Err(Failure::usage("--grain names the same length twice"));
    }
    if args.limit.is_some_and(|l| l > LONGEST) {
        return Err(Failure::usage("--for must be at most 24 hours"));
    }
    let (phases, limit) = match (args.phases, args.limit) {
        (None, None) if args.sweep => (MOST_PHASES, Some(SWEPT)),
        (phases, None) => (phases.unwrap_or(DEFAULT_PHASES), None),
        (phases, limit) => (phases.unwrap_or(MOST_PHASES), limit),
    };
    let sched = sched(&args.sched)?;
    let asked = match args.cpus.as_deref() {
        None => None,
        Some("all") => Some(tarebench::sys::cpu::allowed().map_err(Failure::system)?),
        Some(list) => Some(cpu_list(list)?),
    };
    let cpus = choose_cpus(asked).map_err(failure)?;
    say_shared(&cpus);
    let heuristic = match args.calibrate {
        HeuristicArg::SecondDecile => Heuristic::SecondDecile,
        HeuristicArg::Minimum => Heuristic::Minimum,
        HeuristicArg::Mean => Heuristic::Mean,
        HeuristicArg::Median => Heuristic::Median,
    };
    let explain = !args.no_explain;
    let hz = rate().map_err(failure)?;
    Ok(NoisePlan {
        source: PhaseSource::Measured,
        tick: Some(tick()),
        cpus,
        sched,
        grains,
        phases,
        limit,
        heuristic,
        calibrations: args.calibrations,
        explain,
        hz,
    })
}

pub fn noise(args: &NoiseArgs) -> Result<Exit, Failure> {
    match &args.command {
        None => match &args.model.model {
            None => args.model.check().and_then(|()| measured(&args.measure)),
            Some(text) => answered(text, args),
        },
        Some(NoiseCommand::Bsp(a)) => bsp::bsp(a),
        Some(NoiseCommand::Export(a)) => files::export(a),
        Some(NoiseCommand::Import(a)) => files::import(a),
        Some(NoiseCommand::Show(a)) => show::show(a),
    }
}

/// By the model, without a measurement.
fn answered(text: &str, args: &NoiseArgs) -> Result<Exit, Failure> {
    let asked = &args.measure.result;
    let show = asked.style.show()?;
    let published = PublishedNoise::asked(asked.published)?;
    model::print_model(text, &args.model, asked.json, show.is_quiet(), &show.style)?;
    if let Some(published) = published.filter(|_| !show.is_quiet()) {
        published.print(&show.style);
    }
    Ok(Exit::Done)
}

fn measured(args: &MeasureArgs) -> Result<Exit, Failure> {
    let asked = &args.result;
    let show = asked.style.show()?;
    let published = PublishedNoise::asked(asked.published)?;
    let plan = plan(args)?;
    for file in args.svg.iter().chain(&asked.html) {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        opened.map_err(|e| Failure::usage(format!("export file {}: {e}", file.display())))?;
    }
    let push = PushAtEnd::of(&args.store)?;
    let mut place = args.store.place()?;
    let options = MeasureOptions { tags: args.tag.iter().cloned().collect() };
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(&show);
    let done = measure(&plan, &mut place, &options, &signals, &mut |e| display.on(e));
    drop(display);
    signals.release();
    let measured = done.map_err(failure)?;
    let grains = measured.report_over(&asked.delays, asked.undisturbed.rule());
    let MeasuredNoise { head, noise: found, stopped } = measured;
    if asked.json || !show.is_quiet() {
        print_noise(&head, &found, &grains, asked.json, &show.style)?;
        if let Some(published) = &published {
            published.print(&show.style);
        }
    }
    if let Some((file, picture)) = args.svg.as_ref().zip(figure(&head, &grains)) {
        write(file, &picture)?;
    }
    if let Some(file) = &asked.html {
        let zone = tarebench::sys::clock::zone();
        let sheet = tarebench::render::noise::sheet::noise(&head, &found, &grains, &zone, crate::output::foot());
        let mut page = sheet.into_page();
        if let Some(published) = &published {
            published.add_to(&mut page);
        }
        write(file, &web::html(&page).map_err(Failure::system)?)?;
    }
    if let Stopped::Interrupted(_) = stopped {
        let kept = if head.number > 0 { "the phases so far are stored" } else { "nothing was stored" };
        eprintln!("tare: interrupted; {kept}");
        return Ok(Exit::Interrupted);
    }
    match failed(&found) {
        Some(series) => Err(Failure::system(format!("the measurement on CPU {} ended early", series.cpu))),
        None => push.end(Exit::Done, show.is_quiet()),
    }
}
