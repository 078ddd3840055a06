//! `tare gate`: whether a change makes programs slower, for continuous integration.

use crate::args::store::StoreArgs;
use crate::args::style::{PlainStyleArgs, Show};
use crate::args::values::{cpu_list, duration, pair, share};
use crate::compare::gate_outputs::GateOutputs;
use crate::cores::say_shared;
use crate::exit::{Exit, Failure};
use crate::output::short;
use crate::progress::Display;
use crate::pushed::PushAtEnd;
use crate::run::command::say_shell;
use crate::run::startable;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tarebench::builds::sides::GateBase;
use tarebench::compare::gate::MeasuredGate;
use tarebench::compare::gate_request::{self, GateRequest, GateRequestError};
use tarebench::core::base::signal::Signal;
use tarebench::core::base::units::Nanos;
use tarebench::core::compare::gate::{GateReport, GateVerdict};
use tarebench::core::documents::head::Id;
use tarebench::core::statistics::intervals::FEWEST;
use tarebench::core::statistics::sequential::MOST_BLOCKS;
use tarebench::documents::Stopped;
use tarebench::report::text::escape;
use tarebench::run::session::StorePlace;
use tarebench::store::Store;
use tarebench::suite::{self, GateMeasure, Suite, SuiteCommandsError, SuiteConditions, SuiteOptions};
use tarebench::sys::signals::Signals;

/// What is compared, and how it is built.
#[derive(Args)]
#[command(next_help_heading = "Builds")]
struct GateBuildArgs {
    /// Compare with the commit at which this revision and HEAD have gone different ways (their merge base), in a work
    /// tree of its own
    #[arg(long, value_name = "REV", conflicts_with = "base_dir")]
    base: Option<String>,
    /// Compare with what is in this folder
    #[arg(long, value_name = "DIR")]
    base_dir: Option<PathBuf>,
    /// Shell command that builds, run in the folders of the head and of the base before anything is measured
    #[arg(long, value_name = "CMD")]
    build: Option<String>,
}

/// How it is decided.
#[derive(Args)]
#[command(next_help_heading = "Decision")]
struct GateRuleArgs {
    /// Largest slowdown that passes, e.g. 2% or 0.02 [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Time for measuring all benchmarks, without the builds: 90s, 10min; most goes to the undecided ones [default: until
    /// all are decided or have --max-blocks]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Nanos>,
    /// Most blocks of a benchmark; a pass needs at least 11 [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(i64::from(FEWEST)..=i64::from(MOST_BLOCKS)))]
    max_blocks: Option<u32>,
    /// What a gate is that could not decide: pass, with a warning, or fail, with exit code 6
    #[arg(long, value_enum, default_value_t = Inconclusive::Pass, value_name = "WHAT")]
    inconclusive: Inconclusive,
    /// Do not compare the base with itself in every block
    #[arg(long)]
    no_control: bool,
    /// Compare by this measure [default: CPU time in duets and of programs that use one CPU, else elapsed time]
    #[arg(long, value_enum)]
    measure: Option<GateMeasureArg>,
}

/// What programs are compared by.
#[derive(Clone, Copy, ValueEnum)]
enum GateMeasureArg {
    /// CPU time of all processes of the program
    Cpu,
    /// Elapsed time; without duets, and so less exact
    Elapsed,
}

impl From<GateMeasureArg> for GateMeasure {
    fn from(measure: GateMeasureArg) -> GateMeasure {
        match measure {
            GateMeasureArg::Cpu => GateMeasure::Cpu,
            GateMeasureArg::Elapsed => GateMeasure::Elapsed,
        }
    }
}

/// What an undecided gate counts as.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Inconclusive {
    Pass,
    Fail,
}

/// The programs; for benchmarks of which the suite file says nothing else.
#[derive(Args)]
#[command(next_help_heading = "Programs (a suite file may say more of each benchmark)")]
struct GateProgramArgs {
    /// Name of a benchmark; give it once per command [default: the command]
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Vec<String>,
    /// Command to run before the first execution of each build
    #[arg(short, long, value_name = "CMD")]
    setup: Option<String>,
    /// Command to run before each execution
    #[arg(short, long, value_name = "CMD")]
    prepare: Option<String>,
    /// Command to run after each execution
    #[arg(short = 'C', long, value_name = "CMD")]
    conclude: Option<String>,
    /// Command to run after the last execution of each build
    #[arg(short, long, value_name = "CMD")]
    cleanup: Option<String>,
    /// CPUs that the programs may use, e.g. 1,3-5; tare itself moves to the others
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Set a variable for the programs and hooks; only these variables are stored
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// Kill an execution after TIME; its benchmark has failed
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Nanos>,
    /// Label the gate and its runs, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
}

/// Decide whether a change makes programs slower, in continuous integration
///
/// The head is what is in the current folder, the base an earlier commit or another folder. Both are built, then measured
/// together, block by block, until it is decided whether the head is slower. The commands are started in the current
/// folder and in the corresponding folder of the base: name programs by their paths from there.
#[derive(Args)]
#[command(after_help = AFTER)]
pub struct GateArgs {
    /// A suite file, NAME.toml; or commands, each in one string
    #[arg(value_name = "SUITE.toml|COMMAND", required = true)]
    what: Vec<String>,
    #[command(flatten)]
    builds: GateBuildArgs,
    #[command(flatten)]
    rule: GateRuleArgs,
    #[command(flatten)]
    programs: GateProgramArgs,
    #[command(flatten)]
    outputs: GateOutputs,
    #[command(flatten)]
    style: PlainStyleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

const AFTER: &str = "Examples:
  tare gate --base origin/main --build 'make' './prog input'
  tare gate --base-dir ../old './prog input'
  tare gate tare.toml --base origin/main --budget 10min --inconclusive fail
  tare resume g1

A suite file:
  build = \"make\"
  threshold = \"2%\"
  [[benchmark]]
  name = \"sort\"
  command = \"./sort input.txt\"

In GitHub Actions the summary is also added to that of the job (GITHUB_STEP_SUMMARY).

Exit codes: 0 pass; 1 a program or a build failed; 2 usage error; 4 the store or the system failed; 5 a benchmark is slower; \
6 undecided, with --inconclusive fail; 130 interrupted.";

pub fn gate(args: &GateArgs) -> Result<Exit, Failure> {
    let gate = request(args)?.check()?;
    args.outputs.check()?;
    // The gate is in a file, whatever it is pushed to.
    let show = args.style.show()?.with_store(args.store.named_file());
    let push = PushAtEnd::of(&args.store)?;
    if !show.is_quiet() {
        say_shell(gate.by_shell());
        gate.benchmarks().iter().filter_map(|b| b.own.cpus.as_deref()).for_each(say_shared);
    }
    let mut place = args.store.place()?;
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(&show);
    let done = gate.measure(&mut place, &signals, &mut |e| display.on(e));
    signals.release();
    let exit = finish(done, display, &args.outputs, args.rule.inconclusive, &show)?;
    push.end(exit, show.is_quiet())
}

/// Resumes a stored gate. What could not be decided passes with a warning, as by default.
pub fn resume(store: Box<dyn Store>, id: Id, json: bool, show: &Show) -> Result<Exit, Failure> {
    let signals = Signals::install().map_err(Failure::system)?;
    let mut place = StorePlace::Store(store);
    let mut display = Display::new(show);
    let done = gate_request::resume(id, &mut place, &signals, &mut |e| display.on(e));
    signals.release();
    finish(done, display, &GateOutputs::only_json(json), Inconclusive::Pass, show)
}

fn request(args: &GateArgs) -> Result<GateRequest, Failure> {
    let suite = suite(args)?;
    Ok(GateRequest {
        base: base(args, &suite)?,
        suite,
        head: std::env::current_dir().map_err(|e| Failure::system(format!("working directory: {e}")))?,
        tags: args.programs.tag.iter().cloned().collect(),
    })
}

/// The suite, from its file or from the commands, with the options for what its benchmarks do not say.
fn suite(args: &GateArgs) -> Result<Suite, Failure> {
    let (builds, rule, programs) = (&args.builds, &args.rule, &args.programs);
    let suite = match args.what.as_slice() {
        [only] if only.ends_with(".toml") && !only.contains(char::is_whitespace) => {
            if !programs.name.is_empty() {
                return Err(Failure::usage("--name with a suite file, which names its benchmarks itself"));
            }
            suite::read(Path::new(only))?
        }
        commands => suite::of_commands(commands, &programs.name)?,
    };
    let conditions = SuiteConditions {
        threshold: rule.threshold,
        measure: rule.measure.map(Into::into),
        timeout: programs.timeout,
        cpus: programs.cpus.as_deref().map(cpu_list).transpose()?,
        env: programs.env.iter().cloned().collect(),
    };
    Ok(suite.with(SuiteOptions {
        conditions,
        setup: programs.setup.clone(),
        prepare: programs.prepare.clone(),
        conclude: programs.conclude.clone(),
        cleanup: programs.cleanup.clone(),
        build: builds.build.clone(),
        budget: rule.budget,
        max_blocks: rule.max_blocks,
        control: rule.no_control.then_some(false),
    }))
}

fn base(args: &GateArgs, suite: &Suite) -> Result<GateBase, Failure> {
    if let Some(folder) = &args.builds.base_dir {
        return Ok(GateBase::Folder(folder.clone()));
    }
    let none = || {
        Failure::usage("there is no base to compare with")
            .hint("name a revision with --base, e.g. --base origin/main, or a folder with --base-dir")
    };
    let revision = args.builds.base.as_ref().or(suite.base.as_ref());
    revision.cloned().map(GateBase::Revision).ok_or_else(none)
}

impl From<SuiteCommandsError> for Failure {
    fn from(e: SuiteCommandsError) -> Failure {
        match e {
            SuiteCommandsError::Names { names, commands } => {
                Failure::usage(format!("{names} names (-n) for {commands} commands: expected at most one for each"))
            }
            SuiteCommandsError::Twice(_) => Failure::usage(e.to_string()).hint("give each its own name with -n"),
        }
    }
}

impl From<GateRequestError> for Failure {
    fn from(e: GateRequestError) -> Failure {
        use GateRequestError as G;
        match e {
            G::Command(e) => e.into(),
            G::Builds(e) => e.into(),
            G::Gate(e) => e.into(),
            G::NotStartable { plan, cause } => startable::refused(&plan, &cause),
            G::Bad(_) | G::Cpu { .. } | G::Head { .. } => Failure::usage(e.to_string()),
            G::Cpus(_) => Failure::system(e),
        }
    }
}

/// Prints and writes the result, and says how the gate ended.
fn finish(
    done: Result<MeasuredGate, GateRequestError>,
    mut display: Display<'_>,
    outputs: &GateOutputs,
    inconclusive: Inconclusive,
    show: &Show,
) -> Result<Exit, Failure> {
    display.clear();
    let command = |id: Id| format!("resume with: `tare resume {id}{}`", show.db_option());
    let measured = done.map_err(|e| {
        let failure = Failure::from(e);
        // What to do about a store that is full is less than what to do about this gate.
        match display.id().filter(|_| failure.hint.is_none() || failure.exit == Exit::System) {
            Some(id) => failure.hint(format!("what was measured so far is stored; {}", command(id))),
            None => failure,
        }
    })?;
    let report = measured.report();
    outputs.write(&measured, &report, show)?;
    if let Stopped::Interrupted(signal) = measured.stopped {
        let message = format!("interrupted by {}", Signal(signal));
        let failure = Failure { exit: Exit::Interrupted, message, hint: None };
        return Err(match measured.head.number {
            0 => failure.hint("nothing was stored"),
            _ => failure.hint(command(measured.head.id())),
        });
    }
    say_failed(&measured);
    Ok(match report.verdict {
        GateVerdict::Pass | GateVerdict::Improvement => Exit::Done,
        GateVerdict::Regression => Exit::Regression,
        GateVerdict::Failed => Exit::ProgramFailed,
        GateVerdict::Inconclusive => {
            say_undecided(&measured, &report, inconclusive);
            if inconclusive == Inconclusive::Fail { Exit::Inconclusive } else { Exit::Done }
        }
    })
}

/// The benchmarks that could not be measured, each on one line.
fn say_failed(measured: &MeasuredGate) {
    let gate = &measured.gate;
    let all = gate.plan.benchmarks.iter().zip(&gate.measured);
    for (benchmark, text) in all.filter_map(|(b, m)| Some((b, m.failed.as_ref()?))) {
        eprintln!("tare: {} could not be measured: {}", escape(&short(&benchmark.name)), escape(text));
    }
}

/// An undecided gate is never silently a pass.
fn say_undecided(measured: &MeasuredGate, report: &GateReport, inconclusive: Inconclusive) {
    let undecided = report.benchmarks.iter().filter(|b| b.verdict == GateVerdict::Inconclusive);
    let (undecided, of) = (undecided.count(), report.benchmarks.len());
    let gate = &measured.gate;
    let unmeasured = gate.measured.iter().filter(|m| m.logs.is_empty() && m.failed.is_none()).count();
    let (kind, counts) = match inconclusive {
        Inconclusive::Pass => ("warning: ", "; this gate counts as passed, see --inconclusive"),
        Inconclusive::Fail => ("", ""),
    };
    eprintln!("tare: {kind}{undecided} of {of} benchmarks could not be decided{counts}");
    let differs = report.benchmarks.iter().any(|b| b.control.as_ref().is_some_and(|c| c.differs));
    match gate.plan.budget {
        Some(_) if unmeasured > 0 => {
            eprintln!("      the budget left no time for {unmeasured} of them: raise --budget")
        }
        _ if differs => eprintln!("      a base differs from itself: quiet the machine (`tare doctor`)"),
        Some(_) => eprintln!("      raise --budget or --threshold, or quiet the machine (`tare doctor`)"),
        None => eprintln!("      raise --max-blocks or --threshold, or quiet the machine (`tare doctor`)"),
    }
}
