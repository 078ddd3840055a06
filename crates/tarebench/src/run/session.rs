//! Measuring a plan, resuming a run, loading a stored run.

use crate::event::{Event, Watch};
use crate::run::past::keep_spread;
use crate::run::quiet;
use crate::run::quiet::QuietLearner;
use crate::run::samples::RunSamples;
use std::cell::{LazyCell, RefCell};
use std::path::{Path, PathBuf};
use tarebench_bpf::KernelTypes;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::Duet;
use tarebench_core::documents::head::{Id, Status};
use tarebench_core::machine::data::{Host, Standing};
use tarebench_core::profile::data::Profile;
use tarebench_core::quiet::data::QuietLevels;
use tarebench_core::quiet::knowledge::QuietKnowledge;
use tarebench_core::run::data::Run;
use tarebench_core::run::last_words::LastWords;
use tarebench_core::run::notes::{FactorChange, FactorReading, KeptBefore, Note, ReadingTime};
use tarebench_core::run::plan::{DependentSetups, Order, ProfileChoice, RunCount, RunPlan, RunPurpose};
use tarebench_core::run::report::build::build_with;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::samples::Kept;
use tarebench_core::sample::data::{Sample, not_probed};
use tarebench_core::sample::process_time::PtSource;
use tarebench_run::RunError;
use tarebench_run::account::AccountCollector;
use tarebench_run::daemons::DaemonCollector;
use tarebench_run::launch::ProcessLauncher;
use tarebench_run::machine::MachineSampler;
use tarebench_run::probes::ProbeCollector;
use tarebench_run::process_time::PtCollector;
use tarebench_run::runner::{Ending, RunPart, RunSoFar, Runner};
pub use tarebench_run::runner::{FailedCleanup, RunEvent, StopReason};
use tarebench_run::sample::Collectors;
use tarebench_store::{Claimant, Store, StoreError};
use tarebench_sys::cgroup_limits::CgroupLimitFiles;
use tarebench_sys::clock::{self, CounterRate};
use tarebench_sys::process;
use tarebench_sys::signals::Signals;

/// Why a session ended, apart from its samples.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A protocol step that was required does not hold.
    #[error("required but not reached: {0}")]
    Required(String),
    /// No such profile.
    #[error("there is no profile `{0}` in the store")]
    NoProfile(String),
    /// There is nothing to resume.
    #[error("run {0} is finished")]
    Finished(i64),
    /// It is resumed with its profile.
    #[error("run {run} is a recording for the profile {profile}")]
    Recording {
        /// The run.
        run: i64,
        /// Name of the profile.
        profile: String,
    },
    /// A run that cannot be resumed, for another reason.
    #[error("{0}")]
    NotResumable(String),
    /// Their commands may have been written by somebody else, and the caller has not said that it trusts them.
    #[error("{} imported, and the commands may have been written by somebody else", runs_were(.0))]
    Imported(Vec<ImportedPlan>),
    /// Every series would time the result of the last setup.
    #[error(transparent)]
    DependentSetups(#[from] DependentSetups),
}

/// What resuming an imported run would run.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedPlan {
    /// The run that it comes from.
    pub run: i64,
    /// When that was imported, since 1970.
    pub imported: Nanos,
    /// Its commands, their user, environment and files.
    pub plan: RunPlan,
}

/// Whether commands of imported runs may be run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImportTrust {
    /// Imported runs are not resumed.
    #[default]
    Refuse,
    /// The user has seen the commands and trusts them.
    Trust,
}

impl ImportTrust {
    /// Refuses plans of imported runs, if they are not trusted.
    ///
    /// # Errors
    /// [`SessionError::Imported`].
    pub fn check(self, plans: Vec<ImportedPlan>) -> Result<(), SessionError> {
        match self {
            ImportTrust::Refuse if !plans.is_empty() => Err(SessionError::Imported(plans)),
            ImportTrust::Refuse | ImportTrust::Trust => Ok(()),
        }
    }
}

fn runs_were(plans: &[ImportedPlan]) -> String {
    let mut numbers: Vec<String> = plans.iter().map(|p| p.run.to_string()).collect();
    numbers.dedup();
    match numbers.as_slice() {
        [only] => format!("run {only} was"),
        all => format!("runs {} were", all.join(" and ")),
    }
}

/// Result of a session.
#[derive(Debug)]
pub struct MeasuredRun {
    /// The run.
    pub run: Run,
    /// How many samples it has, including those of earlier sessions.
    pub taken: u64,
    /// Those that are not in the store.
    unstored: Vec<Sample>,
    /// The same of duets.
    unstored_duets: Vec<Duet>,
    /// The profile whose cutoffs apply.
    pub profile: Option<Profile>,
    /// Why it ended.
    pub why: StopReason,
    /// The cleanup commands that failed, of this session.
    pub failed_cleanups: Vec<FailedCleanup>,
    /// What programs wrote before they failed, as far as it is known, of this session.
    pub last_words: Vec<LastWords>,
}

impl MeasuredRun {
    /// Its samples, including those of earlier sessions; `place` is where it was measured into.
    pub fn samples<'a>(&'a self, place: &'a StorePlace) -> RunSamples<'a> {
        let stored = match place {
            StorePlace::Store(store) => Some((store.as_ref(), self.run.id)),
            StorePlace::Nowhere => None,
        };
        RunSamples::new(stored, Kept { samples: &self.unstored, duets: &self.unstored_duets })
    }

    /// Its report; `place` is where it was measured into.
    pub fn report(&self, place: &StorePlace) -> Result<RunReport, StoreError> {
        let known = match place {
            StorePlace::Store(store) => quiet::known(&**store, &self.run)?,
            StorePlace::Nowhere => QuietKnowledge::default(),
        };
        build_with(&self.run, &self.samples(place), self.profile.as_ref(), &known)
    }
}

/// Where runs are stored.
pub enum StorePlace {
    /// In a store.
    Store(Box<dyn Store>),
    /// Nowhere: they are only printed.
    Nowhere,
}

impl StorePlace {
    /// The store, if there is one.
    pub fn store(&mut self) -> Option<&mut dyn Store> {
        match self {
            StorePlace::Store(s) => Some(&mut **s),
            StorePlace::Nowhere => None,
        }
    }
}

/// The store's file: `path` if given, else the default place.
///
/// # Errors
/// If there is no home folder for it.
pub fn store_path(path: Option<&Path>) -> Result<PathBuf, StoreError> {
    match path {
        Some(p) => Ok(p.to_owned()),
        None => tarebench_store::default_path(
            tarebench_sys::process::own_folder("XDG_DATA_HOME").as_deref(),
            tarebench_sys::process::own_folder("HOME").as_deref(),
        ),
    }
}

/// Refuses a plan whose requirements do not hold: the protocol's steps `v1` to `v6`, and factors by their names.
///
/// # Errors
/// [`SessionError::Required`], naming what is missing.
fn check_required(
    plan: &RunPlan,
    factors: &[tarebench_core::machine::data::Factor],
    profile: Option<&Profile>,
) -> Result<(), SessionError> {
    for step in &plan.require {
        let number: u8 = step.strip_prefix('v').and_then(|n| n.parse().ok()).unwrap_or(0);
        let missing: Vec<String> = match number {
            1..=4 => factors
                .iter()
                .filter(|f| f.step == number && f.standing != Standing::Held)
                .map(|f| format!("{}: {}", f.name, f.finding))
                .collect(),
            5 if profile.is_none() => vec!["no profile of this machine in the store".to_owned()],
            6 => match plan.runs {
                RunCount::Fixed(n) if n < 10 => vec![format!("{n} samples requested, at least 10 are needed")],
                _ => Vec::new(),
            },
            0 => match factors.iter().find(|f| f.name == *step) {
                Some(f) if f.standing == Standing::Held => Vec::new(),
                Some(f) => vec![f.finding.clone()],
                None => vec!["there is no such factor".to_owned()],
            },
            _ => Vec::new(),
        };
        if !missing.is_empty() {
            return Err(SessionError::Required(format!("{step} ({})", missing.join("; "))));
        }
    }
    Ok(())
}

fn find_profile(
    choice: &ProfileChoice,
    machine: &str,
    place: &mut StorePlace,
) -> Result<Option<Profile>, SessionError> {
    let Some(store) = place.store() else {
        return match choice {
            ProfileChoice::Named(name) => Err(SessionError::NoProfile(name.clone())),
            _ => Ok(None),
        };
    };
    Ok(match choice {
        ProfileChoice::No => None,
        ProfileChoice::Newest => store.newest_profile(machine)?,
        ProfileChoice::Named(name) => Some(store.profile(name)?.ok_or_else(|| SessionError::NoProfile(name.clone()))?),
    })
}

/// A random uuid (version 4), as text.
pub fn new_uuid() -> String {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let hex: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    if hex.len() == 32 { hex } else { format!("{:016x}{:016x}", clock::realtime().0, process::own_pid()) }
}

pub(crate) fn claimant(host: &Host) -> Claimant {
    let pid = process::own_pid();
    Claimant {
        pid,
        start: process::stat(pid).map_or(Nanos::ZERO, |s| s.start()),
        boot: host.boot.value().cloned().unwrap_or_default(),
        host: host.machine.clone(),
    }
}

pub(crate) fn is_alive(c: &Claimant) -> bool {
    process::is_alive(c.pid, |s| s.start() == c.start)
}

/// Opens the collectors that the plan and this machine allow. `levels` are those of the quiet machine, as far as they are known.
fn collectors(
    plan: &RunPlan,
    only: Option<PtSource>,
    levels: Option<&QuietLevels>,
) -> Result<Collectors, SessionError> {
    process::become_subreaper().map_err(RunError::from)?;
    // Read once for both, if at all, and dropped before the first sample.
    let types = LazyCell::new(KernelTypes::read);
    let daemons = if plan.images {
        Reading::Value(DaemonCollector::open(&types).map_err(RunError::from)?)
    } else {
        Reading::Absent(Absent::NotAsked("snapshots of processes are switched off".into()))
    };
    let sees_exits = daemons.value().is_some_and(DaemonCollector::sees_exits);
    let account = if plan.account {
        Reading::Value(AccountCollector::open(&types, plan.counters))
    } else {
        Reading::Absent(Absent::NotAsked("tracing is switched off".into()))
    };
    let pt = PtCollector::probe(plan.leave_running, sees_exits, only);
    let mut probes = match &plan.probes {
        Some(wanted) => ProbeCollector::open(wanted, &plan.cpus, levels),
        None => not_probed(),
    };
    if let Reading::Value(probes) = &mut probes {
        probes.prepare(pt.leaf(), plan.leave_running);
    }
    Ok(Collectors { pt, daemons, account, limits: CgroupLimitFiles::open(Path::new("/")), probes })
}

/// How to measure, beyond the plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Use no better source of process time than this one.
    pub pt_source: Option<PtSource>,
    /// What is noted of the run before it begins, e.g. that the machine was tuned.
    pub notes: Vec<Note>,
    /// Identity of the run across stores, 32 hex digits, so that the caller can find it if this process is killed; `None`: a new one.
    pub uuid: Option<String>,
}

/// Measures a plan.
///
/// # Errors
/// What prevents the first sample; what happens later is in [`MeasuredRun::why`].
pub fn measure(
    plan: RunPlan,
    place: &mut StorePlace,
    options: RunOptions,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredRun, SessionError> {
    plan.check_order()?;
    // Where process times come from is known once the collectors are open.
    let rate = CounterRate::begin();
    let host = tarebench_host::host::describe_at_once(Path::new("/"));
    let mut run = new_run_on(host, plan, PtSource::Wait4, Vec::new());
    run.uuid = options.uuid.unwrap_or(run.uuid);
    let profile = find_profile(&run.plan.profile, &run.host.machine, place)?;
    check_required(&run.plan, &run.factors, profile.as_ref())?;
    let mut launcher = ProcessLauncher::new(&run.plan)?;
    let learner = QuietLearner::first(&run);
    let levels = learner.levels(&run, place.store().as_deref())?;
    let mut collectors = collectors(&run.plan, options.pt_source, levels.as_ref())?;
    run.pt_source = collectors.pt.source();
    run.pt_source_notes = collectors.pt.notes().to_vec();
    run.notes = options.notes;
    // What came before is part of the time that it takes.
    run.host.cycle_counter_hz = tarebench_host::host::counter_hz(rate);
    let claim = match place.store() {
        Some(store) => begin(&mut run, store)?,
        None => claimant(&run.host),
    };
    let so_far = RunSoFar::new(&run.plan);
    Ok(run_session(run, (0, so_far, learner), profile, place, &claim, (&mut launcher, &mut collectors, signals), watch))
}

/// Claims a stored run that has not ended, to resume it. Adds a note of the time and of `there`, what the run has so far, and
/// another one after a reboot.
pub(crate) fn claim_for_resume(
    store: &mut dyn Store,
    id: i64,
    there: KeptBefore,
) -> Result<(Run, Claimant), SessionError> {
    let mut run = store.run(id)?;
    let now = tarebench_host::host::describe(Path::new("/"));
    check_resumable(&run, &now)?;
    let claim = claimant(&now);
    store.claim(Id::run(id), &claim, &is_alive)?;
    let mut notes = Vec::new();
    if now.boot != run.host.boot || now.kernel != run.host.kernel {
        notes.push(Note::Rebooted { kernel: now.kernel, there });
    }
    notes.push(Note::Resumed { at: Some(clock::realtime()), there });
    notes.iter().try_for_each(|note| store.add_note(id, note))?;
    run.notes.extend(notes);
    store.set_status(Id::run(id), Status::Unfinished)?;
    run.status = Status::Unfinished;
    Ok((run, claim))
}

/// Refuses a run that is finished or of another machine.
fn check_resumable(run: &Run, now: &Host) -> Result<(), SessionError> {
    if run.status == Status::Finished {
        return Err(SessionError::Finished(run.id));
    }
    check_machine(run, now)
}

fn check_machine(run: &Run, now: &Host) -> Result<(), SessionError> {
    if now.machine != run.host.machine {
        let text = format!(
            "run {} was started on another machine ({}); samples of two machines cannot be mixed",
            run.id, run.host.name
        );
        return Err(SessionError::NotResumable(text));
    }
    Ok(())
}

/// What [`resume`] would run of a run that was imported; nothing if it was measured here.
///
/// # Errors
/// The store's; if the run cannot be resumed.
pub fn imported_plan(store: &dyn Store, id: i64) -> Result<Option<ImportedPlan>, SessionError> {
    let run = store.run(id)?;
    if let Some(RunPurpose::Watch(w)) = run.plan.purpose {
        return Err(SessionError::Recording { run: id, profile: w.profile });
    }
    run.plan.check_order()?;
    check_resumable(&run, &tarebench_host::host::describe(Path::new("/")))?;
    let imported = store.imported(Id::run(id))?;
    Ok(imported.map(|imported| ImportedPlan { run: id, imported, plan: run.plan }))
}

/// A new run of a plan, without samples.
pub(crate) fn new_run(plan: RunPlan, pt_source: PtSource, pt_source_notes: Vec<String>) -> Run {
    new_run_on(tarebench_host::host::describe(Path::new("/")), plan, pt_source, pt_source_notes)
}

fn new_run_on(host: Host, plan: RunPlan, pt_source: PtSource, pt_source_notes: Vec<String>) -> Run {
    Run {
        id: 0,
        uuid: new_uuid(),
        created: clock::realtime(),
        tool: crate::VERSION.to_owned(),
        pt_source,
        pt_source_notes,
        plan,
        host,
        factors: tarebench_host::factors::read(Path::new("/")),
        status: Status::Unfinished,
        notes: Vec::new(),
    }
}

/// Stores a new run and claims it.
pub(crate) fn begin(run: &mut Run, store: &mut dyn Store) -> Result<Claimant, SessionError> {
    let claim = claimant(&run.host);
    run.id = store.begin_run(run)?;
    store.claim(Id::run(run.id), &claim, &is_alive)?;
    Ok(claim)
}

/// Resumes a stored run where it stopped.
///
/// # Errors
/// If there is no such run, it is finished, another tare works on it, or it is of another machine;
/// [`SessionError::Imported`].
pub fn resume(
    id: i64,
    place: &mut StorePlace,
    trust: ImportTrust,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredRun, SessionError> {
    let store = place.store().ok_or_else(not_stored)?;
    trust.check(imported_plan(store, id)?.into_iter().collect())?;
    continue_run(id, place, signals, watch)
}

/// Makes a stored run longer: from now on its plan asks for `runs` counted samples of each program, and those that are missing are
/// measured as by [`resume`], whether the run has ended or not. For measurements that decide by what they have found so far.
///
/// The session begins with new warm-ups, as the caches are cold. Setup commands run again before the first sample of their
/// program, and cleanup commands at the end: what a setup makes need not last between sessions.
///
/// # Errors
/// As of [`resume`]; also if the run has more samples already, or was not made for timing programs. Imported runs are refused.
pub fn extend(
    id: i64,
    runs: RunCount,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredRun, SessionError> {
    let store = place.store().ok_or_else(not_stored)?;
    let run = store.run(id)?;
    let host = tarebench_host::host::describe(Path::new("/"));
    check_machine(&run, &host)?;
    if run.plan.purpose.is_some() {
        return Err(SessionError::NotResumable(format!("run {id} is a recording of the machine, not of programs")));
    }
    if let Some(imported) = store.imported(Id::run(id))? {
        return Err(SessionError::Imported(vec![ImportedPlan { run: id, imported, plan: run.plan }]));
    }
    let longer = RunPlan { runs, ..run.plan.clone() };
    if longer.max_runs() < run.plan.max_runs() {
        let (have, asked) = (run.plan.max_runs(), longer.max_runs());
        let text = format!("run {id} has {have} samples of each program: it cannot be shortened to {asked}");
        return Err(SessionError::NotResumable(text));
    }
    // From here on no other process measures it; the session takes over this process's own claim.
    store.claim(Id::run(id), &claimant(&host), &is_alive)?;
    store.set_run_count(id, runs)?;
    store.set_status(Id::run(id), Status::Unfinished)?;
    continue_run(id, place, signals, watch)
}

fn not_stored() -> SessionError {
    SessionError::NotResumable("a run can only be resumed from a store".into())
}

/// What is left of a stored run that may be measured.
fn continue_run(
    id: i64,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredRun, SessionError> {
    let store = place.store().ok_or_else(not_stored)?;
    let plan = store.run(id)?.plan;
    let (mut taken, mut so_far) = (0, RunSoFar::new(&plan));
    store.each_sample(id, &mut |sample| {
        taken += 1;
        so_far.add(&plan, &sample);
    })?;
    store.each_duet(id, &mut |duet| so_far.add_duet(&plan, &duet))?;
    let (run, claim) = claim_for_resume(store, id, KeptBefore::Samples(taken))?;
    let profile = find_profile(&run.plan.profile, &run.host.machine, place)?;
    let mut launcher = ProcessLauncher::new(&run.plan)?;
    let learner = QuietLearner::resumed(&run);
    let levels = learner.levels(&run, place.store().as_deref())?;
    let mut collectors = collectors(&run.plan, Some(run.pt_source), levels.as_ref())?;
    if collectors.pt.source() != run.pt_source {
        let text = format!(
            "run {id} takes process times from {}, which is not available now; samples of two sources cannot be mixed",
            run.pt_source.name()
        );
        return Err(SessionError::NotResumable(text));
    }
    let so_far = (taken, so_far, learner);
    Ok(run_session(run, so_far, profile, place, &claim, (&mut launcher, &mut collectors, signals), watch))
}

/// The machine's factors before and after every series, kept as they are read. In rounds the series lie in each
/// other, so that they share the readings before the first sample and after the last one.
struct Readings {
    sequential: bool,
    series: Option<u32>,
    last: Option<FactorReading>,
    /// Those of this session, and what changed from one to the next.
    notes: Vec<Note>,
}

impl Readings {
    fn new(plan: &RunPlan) -> Readings {
        Readings { sequential: plan.order == Order::Sequential, series: None, last: None, notes: Vec::new() }
    }

    /// Whether a reading is due before a sample of this series.
    fn due(&mut self, series: u32) -> bool {
        let before = self.series.replace(series);
        self.sequential && before.is_some_and(|b| b != series)
    }

    /// Reads the factors, and keeps with the run what was read and what has changed.
    fn take(&mut self, when: ReadingTime, run: i64, place: &mut StorePlace) -> Result<(), StoreError> {
        let factors = tarebench_host::factors::read(Path::new("/"));
        let changes = self.last.as_ref().map_or_else(Vec::new, |last| {
            let found = tarebench_host::factors::changes(&last.factors, &factors).into_iter();
            found.map(|change| FactorChange { between: Some((last.when, when)), ..change }).collect()
        });
        let reading = FactorReading { when, factors };
        self.last = Some(reading.clone());
        let changed = Some(changes).filter(|c| !c.is_empty()).map(|changes| Note::Changed { changes });
        let new: Vec<Note> = [Some(Note::Reading(reading)), changed].into_iter().flatten().collect();
        let kept = match place.store() {
            Some(store) => new.iter().try_for_each(|note| store.add_note(run, note)),
            None => Ok(()),
        };
        self.notes.extend(new);
        kept
    }
}

/// Why programs are not paused though the plan says so.
fn no_gate(plan: &RunPlan, collectors: &Collectors) -> Option<String> {
    plan.probes.as_ref()?.gate?;
    let why = collectors.probes.value()?.gate_missing()?;
    Some(format!("the programs are not paused while the machine is busy: {why}"))
}

/// The part that a first and a later session share: the run loop with the store behind it. Samples are kept in memory only
/// where no store has them.
fn run_session(
    mut run: Run,
    (mut taken, so_far, mut learner): (u64, RunSoFar, QuietLearner),
    profile: Option<Profile>,
    place: &mut StorePlace,
    claim: &Claimant,
    (launcher, collectors, signals): (&mut ProcessLauncher, &mut Collectors, &Signals),
    watch: Watch<'_>,
) -> MeasuredRun {
    let plan = run.plan.clone();
    let (mut unstored, mut unstored_duets) = (Vec::new(), Vec::new());
    let (id, shown) = (run.id, run.clone());
    let mut readings = Readings::new(&plan);
    // If this fails, the store refuses the first sample, too, and says why.
    let _ = readings.take(ReadingTime::BeforeFirst, id, place);
    if let Some(text) = no_gate(&plan, collectors) {
        watch(Event::Run(&shown, RunEvent::Warning(text)));
    }
    let place = RefCell::new(place);
    let ending = {
        let mut sink = |new: RunPart<'_>| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            if let RunPart::Sample(sample) = new {
                taken += 1;
                learner.see(sample);
            }
            let stored = place.borrow_mut().store().map(|store| match new {
                RunPart::Sample(sample) => store.add_sample(id, sample),
                RunPart::Duet(duet) => store.add_duet(id, duet),
            });
            match new {
                _ if matches!(stored, Some(Ok(()))) => {}
                RunPart::Sample(sample) => unstored.push(sample.clone()),
                RunPart::Duet(duet) => unstored_duets.push(duet.clone()),
            }
            Ok(stored.transpose().map(|_| ())?)
        };
        let mut sampler = MachineSampler::new(&plan, launcher, collectors, signals);
        let mut runner = Runner { plan: &plan, sampler: &mut sampler };
        runner.run(so_far, &mut sink, &mut |e| {
            if let RunEvent::Starting { slot } = &e
                && readings.due(slot.series)
            {
                let _ = readings.take(ReadingTime::BeforeProgram(slot.series + 1), id, &mut place.borrow_mut());
            }
            watch(Event::Run(&shown, e));
        })
    };
    let place = place.into_inner();
    let noted = readings.take(ReadingTime::AfterLast, id, place);
    run.notes.extend(readings.notes);
    run.status = match &ending.why {
        StopReason::Finished => Status::Finished,
        StopReason::Interrupted(_) => Status::Interrupted,
        StopReason::NotKept(_) | StopReason::Failed(_) => Status::Unfinished,
    };
    if let Some(store) = place.store() {
        // If this fails, the run merely stays marked unfinished, which is what it looks like after a kill, too.
        let marked = noted
            .and_then(|()| store.set_status(Id::run(id), run.status))
            .and_then(|()| store.release(Id::run(id), claim));
        // A store that refuses samples also refuses notes: one message is enough.
        if let Err(e) = marked
            && !matches!(ending.why, StopReason::NotKept(_))
        {
            watch(Event::Run(&run, RunEvent::Warning(format!("the run's end could not be recorded: {e}"))));
        }
        if let Err(e) = learner.keep(&mut run, store)
            && !matches!(ending.why, StopReason::NotKept(_))
        {
            let text = format!("what the probes saw of the machine could not be stored; no sample is lost: {e}");
            watch(Event::Run(&run, RunEvent::Warning(text)));
        }
        if let Err(e) = keep_spread(&mut run, store)
            && !matches!(ending.why, StopReason::NotKept(_))
        {
            let text = format!("the spread between earlier runs could not be stored; no sample is lost: {e}");
            watch(Event::Run(&run, RunEvent::Warning(text)));
        }
    }
    let Ending { why, failed_cleanups, last_words } = ending;
    MeasuredRun { run, taken, unstored, unstored_duets, profile, why, failed_cleanups, last_words }
}

/// A stored run.
pub struct StoredRun<'a> {
    /// The run.
    pub run: Run,
    /// Its samples.
    pub samples: RunSamples<'a>,
    /// The profile whose cutoffs apply.
    pub profile: Option<Profile>,
    /// What is known of the machine that it was measured on.
    known: QuietKnowledge,
}

impl StoredRun<'_> {
    /// Its report.
    pub fn report(&self) -> Result<RunReport, StoreError> {
        build_with(&self.run, &self.samples, self.profile.as_ref(), &self.known)
    }
}

/// A stored run, with the profile that applies to it.
pub fn load(store: &dyn Store, id: i64) -> Result<StoredRun<'_>, StoreError> {
    let run = store.run(id)?;
    let profile = match &run.plan.profile {
        ProfileChoice::No => None,
        ProfileChoice::Named(name) => store.profile(name)?,
        ProfileChoice::Newest => store.newest_profile(&run.host.machine)?,
    };
    let known = quiet::known(store, &run)?;
    Ok(StoredRun { run, samples: RunSamples::stored(store, id), profile, known })
}
