//! A gate as a user asks for it: the two builds are made, and each benchmark of a suite is measured in both.

use crate::builds::error::BuildsError;
use crate::builds::sides::{GateBase, GateBuilds, check_again, make};
use crate::builds::{BuildNews, WatchBuilds};
use crate::compare::gate::{self, GateError, MeasuredGate, PlannedGate};
use crate::documents::{DocumentError, MeasureOptions};
use crate::event::{Event, Watch};
use crate::programs::command::{ByShell, CommandError, ShellChoice};
use crate::programs::startable::{self, NotStartable};
use crate::run::session::StorePlace;
use crate::suite::{GateMeasure, Suite, SuiteBenchmark};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tarebench_core::base::name::Name;
use tarebench_core::compare::gate::{Gate, GateBenchmark, GatePlan, GateSide, MeasuredBenchmark};
use tarebench_core::compare::gate_check::BadGate;
use tarebench_core::documents::head::{Id, Status};
use tarebench_core::quiet::data::{PROBE_PERIOD, ProbePlan, QUIET_LIMIT};
use tarebench_core::run::plan::{Command, Order, ProfileChoice, Program, RunCount, RunPlan};
use tarebench_core::sample::probes::GateRule;
use tarebench_sys::signals::Signals;
use tarebench_sys::{SysError, topology};

/// Largest slowdown that passes, unless the suite says otherwise.
const THRESHOLD: f64 = 0.02;
/// Most blocks of a benchmark, unless the suite says otherwise.
const BLOCKS: u32 = 100;
/// Probability of calling any benchmark of an unchanged suite slower.
const FAMILY_ERROR: f64 = 0.01;

/// A gate that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRequest {
    /// At least one benchmark, the command that builds, and how it is decided. What it says of a base counts for nothing.
    pub suite: Suite,
    /// What the head is compared with.
    pub base: GateBase,
    /// Folder of the head: its benchmarks are started here, and those of the base in the corresponding folder.
    pub head: PathBuf,
    /// The user's labels, for the gate and its runs.
    pub tags: BTreeMap<String, String>,
}

/// Why a gate could not be made. A program that fails is no reason: it is a result of its benchmark.
#[derive(Debug, thiserror::Error)]
pub enum GateRequestError {
    /// The suite has no benchmark, or something in it that cannot be.
    #[error("there can be no such gate: {0}")]
    Bad(#[from] BadGate),
    /// A benchmark's command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A benchmark is to use a CPU that this process may not use.
    #[error("CPU {cpu} is not among the CPUs that may be used here: {allowed:?}")]
    Cpu {
        /// This one.
        cpu: u32,
        /// Those that may be used.
        allowed: Vec<u32>,
    },
    /// The CPUs cannot be known.
    #[error(transparent)]
    Cpus(#[from] SysError),
    /// The folder of the head cannot be used.
    #[error("the head {}: {cause}", .folder.display())]
    Head {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The builds.
    #[error(transparent)]
    Builds(#[from] BuildsError),
    /// A head cannot be started, as a misspelled program.
    #[error("{cause}")]
    NotStartable {
        /// How it was to be run.
        plan: Box<RunPlan>,
        /// Why not.
        cause: NotStartable,
    },
    /// Measuring.
    #[error(transparent)]
    Gate(#[from] GateError),
}

/// A gate that was checked as far as that can be done before anything is built.
#[derive(Clone, Debug)]
pub struct CheckedGate {
    request: GateRequest,
    /// How each benchmark is started.
    commands: Vec<Command>,
    by_shell: Vec<ByShell>,
}

/// Decides whether a change makes programs slower: makes both builds, and measures them together until every benchmark is decided, has
/// as many blocks as the suite allows, or the budget is spent. What was measured is stored in `place` while it is measured.
///
/// The build command's output goes to standard error. A thread that measures handles signals and adopts orphans, so that a process
/// makes one measurement at a time.
///
/// # Errors
/// [`GateRequestError`]; what was measured before is stored.
///
/// # Examples
///
/// ```no_run
/// use std::collections::BTreeMap;
/// use tarebench::builds::sides::GateBase;
/// use tarebench::compare::gate_request::GateRequest;
/// use tarebench::core::compare::gate::GateVerdict;
/// use tarebench::event::Event;
/// use tarebench::run::session::{StorePlace, store_path};
/// use tarebench::store::SqliteStore;
/// use tarebench::suite::{SuiteOptions, of_commands};
/// use tarebench::sys::signals::Signals;
///
/// let options = SuiteOptions { build: Some("make".to_owned()), ..SuiteOptions::default() };
/// let request = GateRequest {
///     suite: of_commands(&["./prog input".to_owned()], &[])?.with(options),
///     base: GateBase::Revision("origin/main".to_owned()),
///     head: ".".into(),
///     tags: BTreeMap::new(),
/// };
/// let mut place = StorePlace::Store(Box::new(SqliteStore::open(&store_path(None)?)?));
/// let signals = Signals::install()?;
/// let gate = tarebench::gate(request, &mut place, &signals, &mut |_: Event<'_>| {})?;
/// for benchmark in gate.report().benchmarks {
///     println!("{}: {:?}", benchmark.name, benchmark.verdict);
/// }
/// assert_ne!(gate.report().verdict, GateVerdict::Regression);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gate(
    request: GateRequest,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredGate, GateRequestError> {
    request.check()?.measure(place, signals, watch)
}

/// Resumes a stored gate where it ended, if both builds are as they were.
///
/// # Errors
/// [`GateRequestError`]; also if it is finished, of another machine, or another process measures it. An imported gate cannot be resumed.
pub fn resume(
    id: Id,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredGate, GateRequestError> {
    let store = place.store().ok_or(GateError::from(DocumentError::NoStore(id)))?;
    let (head, stored) = gate::load(store, id)?;
    if head.status == Status::Finished {
        return Err(GateError::from(DocumentError::Finished(id)).into());
    }
    if store.imported(id).map_err(GateError::from)?.is_some() {
        return Err(GateError::Imported(id).into());
    }
    let _held = watch_builds(watch, |news| check_again(&stored, signals, news))?;
    Ok(gate::resume(id, place, signals, watch)?)
}

/// Does something with the builds, whose news are events.
fn watch_builds<T>(watch: Watch<'_>, with: impl FnOnce(WatchBuilds<'_>) -> T) -> T {
    let watch = RefCell::new(watch);
    with(&|news: BuildNews| (watch.borrow_mut())(Event::Build(news)))
}

impl GateRequest {
    /// Finds what is wrong before anything is built, which may take long.
    ///
    /// # Errors
    /// [`GateRequestError::Bad`], [`GateRequestError::Command`], [`GateRequestError::Cpu`], [`GateRequestError::Head`].
    pub fn check(mut self) -> Result<CheckedGate, GateRequestError> {
        let suite = &mut self.suite;
        suite.benchmarks.iter_mut().for_each(|b| b.own = b.own.or(&suite.usual));
        let measured = vec![MeasuredBenchmark::default(); suite.benchmarks.len()];
        Gate { plan: plan(suite, [GateSide::default(), GateSide::default()]), measured }.check()?;
        let mut by_shell = Vec::new();
        let command = |b: &SuiteBenchmark| ShellChoice::Auto.command(&b.command, &mut by_shell);
        let commands = suite.benchmarks.iter().map(command).collect::<Result<_, _>>()?;
        let allowed = topology::reachable()?;
        let mut cpus = suite.benchmarks.iter().filter_map(|b| b.own.cpus.as_ref()).flatten();
        if let Some(&cpu) = cpus.find(|cpu| !allowed.contains(cpu)) {
            return Err(GateRequestError::Cpu { cpu, allowed });
        }
        let absolute = self.head.canonicalize();
        let head = absolute.map_err(|cause| GateRequestError::Head { folder: self.head.clone(), cause })?;
        Ok(CheckedGate { request: GateRequest { head, ..self }, commands, by_shell })
    }
}

impl CheckedGate {
    /// The benchmarks; each of them says all that it is measured by.
    pub fn benchmarks(&self) -> &[SuiteBenchmark] {
        &self.request.suite.benchmarks
    }

    /// The commands that a shell runs because of what is in them.
    pub fn by_shell(&self) -> &[ByShell] {
        &self.by_shell
    }

    /// Makes both builds, and measures them: see [`gate()`].
    ///
    /// # Errors
    /// [`GateRequestError`]; what was measured before is stored.
    pub fn measure(
        &self,
        place: &mut StorePlace,
        signals: &Signals,
        watch: Watch<'_>,
    ) -> Result<MeasuredGate, GateRequestError> {
        let GateRequest { suite, base, head, tags } = &self.request;
        let builds = watch_builds(watch, |news| make(base, head, suite.build.as_deref(), signals, news))?;
        let planned = self.planned(&builds);
        check_heads(&planned.runs)?;
        Ok(gate::measure(&planned, place, &MeasureOptions { tags: tags.clone() }, signals, watch)?)
    }

    fn planned(&self, builds: &GateBuilds) -> PlannedGate {
        let suite = &self.request.suite;
        let plan = plan(suite, [&builds.base, &builds.head].map(|built| built.side.clone()));
        let control = plan.control;
        let run = |(b, command)| RunPlan { tags: self.request.tags.clone(), ..run_plan(b, command, builds, control) };
        PlannedGate { plan, runs: suite.benchmarks.iter().zip(&self.commands).map(run).collect() }
    }
}

/// What is asked for of these two sides.
fn plan(suite: &Suite, [base, head]: [GateSide; 2]) -> GatePlan {
    let benchmark = |b: &SuiteBenchmark| GateBenchmark {
        name: b.name.clone(),
        command: b.command.clone(),
        threshold: b.own.threshold.unwrap_or(THRESHOLD),
        weight: b.weight,
        measure: b.own.measure.map(GateMeasure::measure),
        budget: b.budget,
    };
    GatePlan {
        suite: suite.name.clone(),
        base,
        head,
        benchmarks: suite.benchmarks.iter().map(benchmark).collect(),
        budget: suite.budget,
        max_blocks: suite.max_blocks.unwrap_or(BLOCKS),
        control: suite.control.unwrap_or(true),
        family_error: FAMILY_ERROR,
    }
}

/// How a benchmark is run: the base, the head, and the base again.
fn run_plan(benchmark: &SuiteBenchmark, command: &Command, builds: &GateBuilds, control: bool) -> RunPlan {
    let name = |folder: &Path| Name::new(folder.as_os_str().as_bytes());
    let program = |side: &str, folder: &Path| Program {
        prepare: benchmark.prepare.clone(),
        conclude: benchmark.conclude.clone(),
        setup: benchmark.setup.clone(),
        cleanup: benchmark.cleanup.clone(),
        cwd: Some(name(folder)),
        reference: side == "base",
        control: side == "base again",
        ..Program::new(format!("{} ({side})", benchmark.name), command.clone())
    };
    let (base, head) = (builds.base.folder.as_path(), builds.head.folder.as_path());
    let mut programs = vec![program("base", base), program("head", head)];
    programs.extend(control.then(|| program("base again", base)));
    let variable = |(key, value): (&String, &String)| (Name::new(key.as_bytes()), Name::new(value.as_bytes()));
    RunPlan {
        // Chosen by what the programs do.
        order: Order::Random,
        runs: RunCount::Fixed(1),
        timeout: benchmark.own.timeout,
        profile: ProfileChoice::No,
        cpus: benchmark.own.cpus.clone().unwrap_or_default(),
        cwd: name(head),
        env: benchmark.own.env.iter().map(variable).collect(),
        // The ratios of blocks rest on process times alone; the account takes time to begin.
        images: false,
        account: false,
        // Where there are no duets.
        probes: Some(ProbePlan { period: PROBE_PERIOD, gate: Some(GateRule::standard(QUIET_LIMIT)), correct: true }),
        ..RunPlan::of(programs)
    }
}

/// Refuses a head that cannot be started. A base that cannot may not have that benchmark yet.
fn check_heads(runs: &[RunPlan]) -> Result<(), GateRequestError> {
    runs.iter().try_for_each(|run| {
        let plan = RunPlan { programs: run.programs.iter().skip(1).take(1).cloned().collect(), ..run.clone() };
        startable::check(&plan).map_err(|cause| GateRequestError::NotStartable { plan: Box::new(plan), cause })
    })
}
