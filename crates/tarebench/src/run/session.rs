//! Measuring a plan, resuming a run, loading a stored run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tarebench_bpf::KernelTypes;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::{Factor, Host, Standing};
use tarebench_core::profile::data::Profile;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{DependentSetups, Order, Plan, ProfileChoice, Purpose, RunCount};
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::process_time::PtSource;
use tarebench_run::RunError;
use tarebench_run::account::AccountCollector;
use tarebench_run::daemons::DaemonCollector;
use tarebench_run::launch::ProcessLauncher;
use tarebench_run::machine::MachineSampler;
use tarebench_run::process_time::PtCollector;
use tarebench_run::runner::Runner;
pub use tarebench_run::runner::{Event, FailedCleanup, StopReason};
use tarebench_run::sample::Collectors;
use tarebench_store::{Claimant, SqliteStore, Store, StoreError};
use tarebench_sys::signals::Signals;
use tarebench_sys::{clock, process};

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
    /// The run cannot be resumed.
    #[error("{0}")]
    NotResumable(String),
    /// Every series would time the result of the last setup.
    #[error(transparent)]
    DependentSetups(#[from] DependentSetups),
}

/// Result of a session.
#[derive(Debug)]
pub struct Measured {
    /// The run.
    pub run: Run,
    /// All its samples, including those of earlier sessions.
    pub samples: Vec<Sample>,
    /// The profile whose cutoffs apply.
    pub profile: Option<Profile>,
    /// Why it ended.
    pub why: StopReason,
    /// The cleanup commands that failed, of this session.
    pub failed_cleanups: Vec<FailedCleanup>,
}

impl Measured {
    /// Its report.
    pub fn report(&self) -> RunReport {
        build(&self.run, &self.samples, self.profile.as_ref())
    }
}

/// Where runs are stored.
pub enum Place {
    /// In a store.
    Store(Box<SqliteStore>),
    /// Nowhere: they are only printed.
    Nowhere,
}

impl Place {
    pub(crate) fn store(&mut self) -> Option<&mut SqliteStore> {
        match self {
            Place::Store(s) => Some(s),
            Place::Nowhere => None,
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
    plan: &Plan,
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

fn find_profile(choice: &ProfileChoice, machine: &str, place: &mut Place) -> Result<Option<Profile>, SessionError> {
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

pub(crate) fn new_uuid() -> String {
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
    process::stat(c.pid).is_some_and(|s| s.start() == c.start)
}

/// Opens the collectors that the plan and this machine allow.
fn collectors(plan: &Plan, only: Option<PtSource>) -> Result<Collectors, SessionError> {
    process::become_subreaper().map_err(RunError::from)?;
    // Read once for both, and dropped before the first sample.
    let types = KernelTypes::read();
    let daemons = if plan.images {
        Reading::Value(DaemonCollector::open(&types).map_err(RunError::from)?)
    } else {
        Reading::Absent(Absent::NotAsked("snapshots of processes are switched off".into()))
    };
    let sees_exits = daemons.value().is_some_and(DaemonCollector::sees_exits);
    let account = if plan.account {
        Reading::Value(AccountCollector::open(&types))
    } else {
        Reading::Absent(Absent::NotAsked("tracing is switched off".into()))
    };
    Ok(Collectors { pt: PtCollector::probe(plan.leave_running, sees_exits, only), daemons, account })
}

/// How to measure, beyond the plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Use no better source of process time than this one.
    pub pt_source: Option<PtSource>,
    /// Notes to store with the run, e.g. `tuned`.
    pub notes: BTreeMap<String, String>,
}

/// Measures a plan.
///
/// # Errors
/// What prevents the first sample; what happens later is in [`Measured::why`].
pub fn measure(
    plan: Plan,
    place: &mut Place,
    options: Options,
    signals: &Signals,
    watch: &mut dyn FnMut(&Run, Event<'_>),
) -> Result<Measured, SessionError> {
    plan.check_order()?;
    // The source of process times is known once the collectors are open.
    let mut run = new_run(plan, PtSource::Wait4, Vec::new());
    let profile = find_profile(&run.plan.profile, &run.host.machine, place)?;
    check_required(&run.plan, &run.factors, profile.as_ref())?;
    let mut launcher = ProcessLauncher::new(&run.plan)?;
    let mut collectors = collectors(&run.plan, options.pt_source)?;
    run.pt_source = collectors.pt.source();
    run.pt_source_notes = collectors.pt.notes().to_vec();
    run.notes = options.notes;
    let claim = match place.store() {
        Some(store) => begin(&mut run, store)?,
        None => claimant(&run.host),
    };
    Ok(run_session(run, Vec::new(), profile, place, &claim, (&mut launcher, &mut collectors, signals), watch))
}

/// Claims an unfinished run to resume it, and notes the time and a reboot. `there` describes its samples so far.
pub(crate) fn claim_for_resume(store: &mut SqliteStore, id: i64, there: &str) -> Result<(Run, Claimant), SessionError> {
    let mut run = store.run(id)?;
    if run.status == Status::Finished {
        return Err(SessionError::NotResumable(format!("run {id} is finished; `tare show {id}` prints it")));
    }
    let now = tarebench_host::host::describe(Path::new("/"));
    if now.machine != run.host.machine {
        let text = format!(
            "run {id} was started on another machine ({}); samples of two machines cannot be mixed",
            run.host.name
        );
        return Err(SessionError::NotResumable(text));
    }
    let claim = claimant(&now);
    store.claim(id, &claim, &is_alive)?;
    if now.boot != run.host.boot || now.kernel != run.host.kernel {
        let note = format!("resumed after a reboot, with {there} stored; kernel {}", now.kernel);
        store.set_note(id, "reboot", &note)?;
        run.notes.insert("reboot".into(), note);
    }
    let note = format!("with {there} stored, at {} s since 1970", clock::realtime().0 / 1_000_000_000);
    store.set_note(id, "resumed", &note)?;
    run.notes.insert("resumed".into(), note);
    store.set_status(id, Status::Unfinished)?;
    run.status = Status::Unfinished;
    Ok((run, claim))
}

/// A new run of a plan, without samples.
pub(crate) fn new_run(plan: Plan, pt_source: PtSource, pt_source_notes: Vec<String>) -> Run {
    let root = Path::new("/");
    Run {
        id: 0,
        uuid: new_uuid(),
        created: clock::realtime(),
        tool: crate::VERSION.to_owned(),
        pt_source,
        pt_source_notes,
        plan,
        host: tarebench_host::host::describe(root),
        factors: tarebench_host::factors::read(root),
        status: Status::Unfinished,
        notes: BTreeMap::new(),
    }
}

/// Stores a new run and claims it.
pub(crate) fn begin(run: &mut Run, store: &mut SqliteStore) -> Result<Claimant, SessionError> {
    let claim = claimant(&run.host);
    run.id = store.begin_run(run)?;
    store.claim(run.id, &claim, &is_alive)?;
    Ok(claim)
}

/// Resumes a stored run where it stopped.
///
/// # Errors
/// If there is no such run, it is finished, another tare works on it, or it is of another machine.
pub fn resume(
    id: i64,
    place: &mut Place,
    signals: &Signals,
    watch: &mut dyn FnMut(&Run, Event<'_>),
) -> Result<Measured, SessionError> {
    let Some(store) = place.store() else {
        return Err(SessionError::NotResumable("a run can only be resumed from a store".into()));
    };
    if let Some(Purpose::Watch(w)) = store.run(id)?.plan.purpose {
        let text = format!("run {id} is a recording; resume it with `tare profile resume {}`", w.profile);
        return Err(SessionError::NotResumable(text));
    }
    store.run(id)?.plan.check_order()?;
    let samples = store.samples(id)?;
    let (run, claim) = claim_for_resume(store, id, &format!("{} samples", samples.len()))?;
    let profile = find_profile(&run.plan.profile, &run.host.machine, place)?;
    let mut launcher = ProcessLauncher::new(&run.plan)?;
    let mut collectors = collectors(&run.plan, Some(run.pt_source))?;
    if collectors.pt.source() != run.pt_source {
        let text = format!(
            "run {id} takes process times from {}, which is not available now; samples of two sources cannot be mixed",
            run.pt_source.name()
        );
        return Err(SessionError::NotResumable(text));
    }
    Ok(run_session(run, samples, profile, place, &claim, (&mut launcher, &mut collectors, signals), watch))
}

/// The machine's factors before and after every series, stored as they are read. In rounds the series overlap, so
/// that they share the readings before the first sample and after the last one.
struct Readings {
    sequential: bool,
    series: Option<u32>,
    /// The moment, in words, and the values; those of earlier sessions of this run first.
    taken: Vec<(String, Vec<Factor>)>,
    /// How many of them are of earlier sessions, and the changes in those.
    earlier: usize,
    earlier_changes: Option<String>,
}

impl Readings {
    fn of(run: &Run) -> Readings {
        let earlier = run.notes.get("readings").and_then(|text| serde_json::from_str(text).ok());
        let taken: Vec<_> = earlier.unwrap_or_default();
        Readings {
            sequential: run.plan.order == Order::Sequential,
            series: None,
            earlier: taken.len(),
            earlier_changes: run.notes.get("changed").cloned(),
            taken,
        }
    }

    fn take(&mut self, when: String) {
        let when = if self.earlier > 0 { format!("{when}, resumed") } else { when };
        self.taken.push((when, tarebench_host::factors::read(Path::new("/"))));
    }

    /// Whether a reading is due before a sample of this series.
    fn due(&mut self, series: u32) -> bool {
        let before = self.series.replace(series);
        self.sequential && before.is_some_and(|b| b != series)
    }

    /// The notes of a run: all readings, and in words the changes from one to the next within a session.
    fn notes(&self) -> BTreeMap<String, String> {
        let mut notes = BTreeMap::new();
        let session = self.taken.get(self.earlier..).unwrap_or_default();
        let pairs = session.iter().zip(session.iter().skip(1));
        let changes = pairs.flat_map(|((from, a), (to, b))| {
            let place = if session.len() > 2 { format!(" (from {from} to {to})") } else { String::new() };
            tarebench_host::factors::changes(a, b).into_iter().map(move |c| format!("{c}{place}"))
        });
        let changed: Vec<String> = self.earlier_changes.iter().cloned().chain(changes).collect();
        if !changed.is_empty() {
            notes.insert("changed".to_owned(), changed.join("; "));
        }
        if let Ok(text) = serde_json::to_string(&self.taken) {
            notes.insert("readings".to_owned(), text);
        }
        notes
    }

    /// Stores the readings so far with the run. If that fails, the store also refuses the next sample, with the reason.
    fn keep(&self, run: i64, place: &mut Place) -> Result<(), StoreError> {
        let Some(store) = place.store() else { return Ok(()) };
        self.notes().iter().try_for_each(|(key, value)| store.set_note(run, key, value))
    }
}

/// The part that a first and a later session share: the run loop with the store behind it.
fn run_session(
    mut run: Run,
    mut samples: Vec<Sample>,
    profile: Option<Profile>,
    place: &mut Place,
    claim: &Claimant,
    (launcher, collectors, signals): (&mut ProcessLauncher, &mut Collectors, &Signals),
    watch: &mut dyn FnMut(&Run, Event<'_>),
) -> Measured {
    let done = samples.clone();
    let plan = run.plan.clone();
    let (id, shown) = (run.id, run.clone());
    let mut readings = Readings::of(&run);
    readings.take("before the first sample".to_owned());
    let _ = readings.keep(id, place);
    let place = RefCell::new(place);
    let ending = {
        let mut sink = |sample: &Sample| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            samples.push(sample.clone());
            if let Some(store) = place.borrow_mut().store() {
                store.add_sample(id, sample)?;
            }
            Ok(())
        };
        let mut sampler = MachineSampler { plan: &plan, launcher, collectors, signals };
        let mut runner = Runner { plan: &plan, sampler: &mut sampler };
        runner.run(&done, &mut sink, &mut |e| {
            if let Event::Starting { slot } = &e
                && readings.due(slot.series)
            {
                readings.take(format!("before program {}", slot.series + 1));
                let _ = readings.keep(id, &mut place.borrow_mut());
            }
            watch(&shown, e);
        })
    };
    let place = place.into_inner();
    readings.take("after the last sample".to_owned());
    run.notes.extend(readings.notes());
    run.status = match &ending.why {
        StopReason::Finished => Status::Finished,
        StopReason::Interrupted(_) => Status::Interrupted,
        StopReason::NotKept(_) | StopReason::Failed(_) => Status::Unfinished,
    };
    if let Some(store) = place.store() {
        // If this fails, the run only stays marked unfinished, as after a kill.
        let mut readings = ["readings", "changed"].into_iter().filter_map(|k| Some((k, run.notes.get(k)?)));
        let noted = readings.try_for_each(|(k, v)| store.set_note(id, k, v));
        let marked = noted.and_then(|()| store.set_status(id, run.status)).and_then(|()| store.release(id, claim));
        // A store that refuses samples also refuses notes: one message is enough.
        if let Err(e) = marked
            && !matches!(ending.why, StopReason::NotKept(_))
        {
            watch(&run, Event::Warning(format!("the run's end could not be recorded: {e}")));
        }
    }
    Measured { run, samples, profile, why: ending.why, failed_cleanups: ending.failed_cleanups }
}

/// A stored run, with its samples and the profile that applies to it.
///
/// # Errors
/// The store's.
pub fn load(store: &SqliteStore, id: i64) -> Result<(Run, Vec<Sample>, Option<Profile>), StoreError> {
    let run = store.run(id)?;
    let samples = store.samples(id)?;
    let profile = match &run.plan.profile {
        ProfileChoice::No => None,
        ProfileChoice::Named(name) => store.profile(name)?,
        ProfileChoice::Newest => store.newest_profile(&run.host.machine)?,
    };
    Ok((run, samples, profile))
}
