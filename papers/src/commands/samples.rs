//! The studies of samples: measured run by run, or computed from stored runs.

use crate::commands::stored::{StudyFiles, StudyOutput, failure, present};
use crate::data::cells::StudyPreset;
use crate::data::samples::plan;
use crate::data::series::{SampleStudy, SampleStudyPlan, StudyProgram, StudyRunPlan, StudyWork};
use crate::measure::error::StudyError;
use crate::measure::from_runs::{StudySource, from_runs};
use crate::measure::planned::StudyTools;
use crate::measure::samples as study;
use crate::measure::samples::{MeasuredSamples, SampleStudyOptions};
use crate::measure::setting::StudyMachine;
use crate::measure::stored::{StoredStudy, has_samples};
use crate::measure::suite_file;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tarebench::core::base::name::Name;
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head::{DocumentKind, Id};
use tarebench::documents::Stopped;
use tarebench::render::run::commands::commands;
use tarebench::report::text::escape;
use tarebench::run::session::{ImportTrust, StorePlace};
use tarebench::store::Store;
use tarebench::sys::signals::Signals;
use tarebench::written::read_text;
use tarebench_cli::args::style::Show;
use tarebench_cli::args::values::{cpu_list, duration, pair};
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::inc::command::calibration;
use tarebench_cli::machine::tune::MachineArgs;
use tarebench_cli::output::local_time;
use tarebench_cli::own_program;
use tarebench_cli::progress::Display;
use tarebench_cli::pushed::PushAtEnd;

/// How much to measure.
#[derive(Clone, Copy, ValueEnum)]
pub enum PresetArg {
    /// A few minutes
    Minutes,
    /// About an hour
    Hour,
    /// The paper's lengths and numbers of samples: hours to weeks
    Paper,
}

impl PresetArg {
    /// As studies have it.
    pub fn preset(self) -> StudyPreset {
        match self {
            PresetArg::Minutes => StudyPreset::Minutes,
            PresetArg::Hour => StudyPreset::Hour,
            PresetArg::Paper => StudyPreset::Paper,
        }
    }
}

/// What to measure, or the runs to compute a study from.
#[derive(Args)]
pub struct SampleMeasure {
    /// Lengths and numbers of samples; `tare study` lists how long each takes
    #[arg(long, value_enum, default_value_t = PresetArg::Minutes)]
    preset: PresetArg,
    /// Compute the study from stored runs, or from the runs of a stored study, instead of measuring
    ///
    /// A number of a run, `last`, the first digits of its uuid, or a study such as s3; RUN=CONDITION also names the condition
    /// that the run was made under, e.g. `12=turbo off`.
    #[arg(long, value_name = "RUN", value_delimiter = ',', num_args = 1..,
          conflicts_with_all = ["preset", "cpus", "seed", "samples", "longest"])]
    from: Vec<String>,
    /// CPUs that the programs may use, e.g. 1 or 0-3,8 [default: all]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Seed of the order of the programs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Counted samples of each program [default: from the preset]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    samples: Option<u32>,
    /// Leave out programs that take longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    longest: Option<Nanos>,
    /// Label the study, for `tare list --tag`
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    output: StudyOutput,
}

/// Measures or computes a study; `suite` is the file of [`SampleStudy::Suite`], if one is given.
pub fn study_samples(which: SampleStudy, args: &SampleMeasure, suite: Option<&Path>) -> Result<Exit, Failure> {
    if !args.from.is_empty() {
        return compute(which, args, &args.output.show()?);
    }
    let show = args.output.show_measured()?;
    let suite = if which == SampleStudy::Suite { programs(suite)? } else { Vec::new() };
    let asked = asked(which, args, &suite)?;
    let push = PushAtEnd::of(&args.output.store)?;
    let mut place = args.output.store.place()?;
    let access = || args.machine.access();
    let options = SampleStudyOptions {
        tags: tags(args),
        tools: tools(&asked.runs)?,
        machine: StudyMachine { access: &access, journal: journal(&args.machine) },
    };
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(&show);
    let done = study::measure(&asked, &mut place, &options, &signals, &mut |e| display.on(e));
    signals.release();
    let exit = ended(done, display, &args.output.files, &show)?;
    push.end(exit, show.is_quiet())
}

fn tags(args: &SampleMeasure) -> BTreeMap<String, String> {
    args.tag.iter().cloned().collect()
}

/// The plan of the preset, with the options' samples and lengths.
fn asked(which: SampleStudy, args: &SampleMeasure, suite: &[StudyProgram]) -> Result<SampleStudyPlan, Failure> {
    let mut runs = plan(which, args.preset.preset(), suite);
    for run in &mut runs {
        run.samples = args.samples.unwrap_or(run.samples);
        if let Some(longest) = args.longest {
            run.programs.retain(|p| p.work.expected_seconds().is_none_or(|s| s <= longest.secs()));
        }
    }
    runs.retain(|r| !r.programs.is_empty());
    if runs.is_empty() {
        let shortest = plan(which, args.preset.preset(), suite)
            .iter()
            .flat_map(|r| &r.programs)
            .filter_map(|p| p.work.expected_seconds())
            .min_by(f64::total_cmp);
        let hint = shortest.map(|s| format!("the shortest takes about {s} s"));
        let refused = Failure::usage("--longest leaves out all programs of this study");
        return Err(match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        });
    }
    let cpus = args.cpus.as_deref().map(cpu_list).transpose()?.unwrap_or_default();
    Ok(SampleStudyPlan { sample_study: which, preset: args.preset.preset(), cpus, seed: args.seed, runs })
}

/// The installed programs of a suite: of the file, or the open one. What is left out is named on standard error.
fn programs(file: Option<&Path>) -> Result<Vec<StudyProgram>, Failure> {
    let suite = match file {
        None => suite_file::open_suite().map_err(Failure::system)?,
        Some(file) => suite_file::parse(&read_text(file)?, file)?,
    };
    if !suite.ignored.is_empty() {
        eprintln!("tare: not used by studies, only by `tare gate`: {}", escape(&suite.ignored.join(", ")));
    }
    let (found, missing) = suite.installed();
    for program in &missing {
        eprintln!("tare: {}", escape(&program.to_string()));
    }
    if found.is_empty() {
        return Err(Failure::usage("no program of this suite is installed").hint("install the packages named above"));
    }
    Ok(found)
}

/// What starts the programs; INC is calibrated if a run needs it.
fn tools(runs: &[StudyRunPlan]) -> Result<StudyTools, Failure> {
    let needed = runs
        .iter()
        .flat_map(|r| &r.programs)
        .any(|p| matches!(p.work, StudyWork::Inc { .. } | StudyWork::Halves { .. }));
    let increments_per_second = match needed {
        true => {
            let folder = std::env::var_os("TARE_CALIBRATION");
            calibration(folder.as_deref().map(Path::new), false, false)?.increments_per_second
        }
        false => 1.0,
    };
    let exe = own_program::path()?;
    let cwd: PathBuf = std::env::current_dir().map_err(|e| Failure::system(format!("the current folder: {e}")))?;
    Ok(StudyTools {
        tare: vec![Name::new(exe.as_os_str().as_bytes())],
        increments_per_second,
        cwd: Name::new(cwd.as_os_str().as_bytes()),
    })
}

fn journal(machine: &MachineArgs) -> Option<PathBuf> {
    machine.state().ok().map(|state| state.folder().to_owned())
}

/// From stored runs.
fn compute(which: SampleStudy, args: &SampleMeasure, show: &Show) -> Result<Exit, Failure> {
    let mut store = args.output.store.writable()?;
    let sources = args.from.iter().map(|text| source(&*store, text)).collect::<Result<Vec<_>, _>>()?;
    let found = from_runs(&mut *store, &sources, which, tags(args)).map_err(failure)?;
    eprintln!("stored as {}", found.head.id());
    present(&StoredStudy::Samples(Box::new(found)), &args.output.files, show)?;
    Ok(Exit::Done)
}

/// `RUN` or `RUN=CONDITION`.
fn source(store: &dyn Store, text: &str) -> Result<StudySource, Failure> {
    let (name, condition) = match text.split_once('=') {
        Some((name, condition)) => (name, Some(condition.to_owned())),
        None => (text, None),
    };
    let stored = store.find(name)?;
    let usable = match stored.kind {
        DocumentKind::Run => true,
        DocumentKind::Study => has_samples(store, stored).map_err(failure)?,
        _ => false,
    };
    if !usable {
        let text = format!("--from {name}: expected a run or a study of samples of programs");
        return Err(Failure::usage(text).hint("`tare list` shows the stored runs and studies"));
    }
    Ok(StudySource { stored, condition })
}

/// What resuming a study takes, beyond its number.
pub struct StudyResume<'a> {
    pub trust: ImportTrust,
    pub machine: &'a MachineArgs,
    pub files: &'a StudyFiles,
    pub show: &'a Show,
}

/// Resumes a stored study of samples.
pub fn resume(store: Box<dyn Store>, id: Id, how: &StudyResume<'_>) -> Result<Exit, Failure> {
    let there = study::load(&*store, id).map_err(failure)?;
    let access = || how.machine.access();
    let options = SampleStudyOptions {
        tags: BTreeMap::new(),
        tools: tools(&there.plan.runs)?,
        machine: StudyMachine { access: &access, journal: journal(how.machine) },
    };
    if let Some(imported) = study::imported_study(&*store, id, &options.tools).map_err(failure)? {
        eprintln!("tare: {id} was imported on {}; resuming runs:", local_time(imported.imported));
        for line in imported.plans.iter().flat_map(|plan| commands(plan, &how.show.progress_style)) {
            eprintln!("      {line}");
        }
    }
    let mut place = StorePlace::Store(store);
    let signals = Signals::install().map_err(Failure::system)?;
    let mut display = Display::new(how.show);
    let done = study::resume(id, &mut place, &options, how.trust, &signals, &mut |e| display.on(e));
    signals.release();
    ended(done, display, how.files, how.show)
}

fn ended(
    done: Result<MeasuredSamples, StudyError>,
    mut display: Display<'_>,
    files: &StudyFiles,
    show: &Show,
) -> Result<Exit, Failure> {
    display.clear();
    let measured = done.map_err(|e| {
        let failed = failure(e);
        match display.id() {
            Some(id) if failed.hint.is_none() || failed.exit == Exit::System => {
                let db = show.db_option();
                failed.hint(format!("the measurements so far are stored; resume with: `tare resume {id}{db}`"))
            }
            _ => failed,
        }
    })?;
    let MeasuredSamples { study, stopped } = measured;
    let (id, failed, gap) = (study.head.id(), study.has_failures(), study.report().err());
    present(&StoredStudy::Samples(Box::new(study)), files, show)?;
    Ok(match (stopped, gap) {
        (Stopped::Interrupted(_), _) if id.number == 0 => {
            eprintln!("tare: interrupted; nothing was stored");
            Exit::Interrupted
        }
        (Stopped::Interrupted(_), _) => {
            eprintln!("tare: interrupted; resume with: tare resume {id}");
            Exit::Interrupted
        }
        (Stopped::Finished, _) if failed => {
            eprintln!("tare: some executions failed; `tare show` of the study's runs shows which");
            Exit::ProgramFailed
        }
        (Stopped::Finished, Some(gap)) => {
            eprintln!("tare: the study has no result: {}", escape(&gap.to_string()));
            Exit::Required
        }
        (Stopped::Finished, None) => Exit::Done,
    })
}
