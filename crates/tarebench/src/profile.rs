//! Learning a machine's daemons (EMPv5, SEDONA step B): by running INC, or by recording the machine during normal use.
//!
//! The measurements are ordinary stored runs, marked with a [`RunPurpose`]: a short part, then a long one, or a recording.
//! A profile is computed from them at the end, or at any time from the samples so far.

use crate::documents;
use crate::documents::{DocumentError, MeasureOptions as DocumentOptions};
use crate::event::{Event, Watch};
use crate::run::session;
use crate::run::session::{ImportTrust, ImportedPlan, RunOptions, SessionError, StopReason, StorePlace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use tarebench_core::base::name::Name;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_core::documents::progress::MeasuringStep;
use tarebench_core::machine::conditions::Conditions;
use tarebench_core::profile::clusters::{FEWEST, TooFew};
use tarebench_core::profile::data::{DaemonRule, Profile, ProfileMethod, ProfilePart};
use tarebench_core::profile::dual::Observation;
use tarebench_core::profile::profiling::Learned;
use tarebench_core::profile::recording::{RecordingChunk, covered, virtual_samples};
use tarebench_core::run::data::Run;
use tarebench_core::run::notes::KeptBefore;
use tarebench_core::run::plan::{
    Command, Learning, ProfileChoice, Program, RunCount, RunPlan, RunPurpose, Stage, Watching,
};
use tarebench_core::sample::data::Phase;
use tarebench_core::sample::process_time::PtSource;
use tarebench_run::watch::Watcher;
use tarebench_store::{Claimant, DocumentFilter, SqliteStore, Store};
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// The tag that finds the runs of a profile again.
pub const TAG: &str = "profile";

/// A number of executions of INC with one task length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSeries {
    /// Task length.
    pub length: Nanos,
    /// Samples.
    pub samples: u32,
}

/// How a profile is to be learned.
#[derive(Clone, Debug)]
pub enum ProfilePlan {
    /// By running INC.
    Active(ActivePlan),
    /// By watching the machine at its usual work.
    Passive(PassivePlan),
}

impl ProfilePlan {
    /// Name of the profile.
    pub fn name(&self) -> &str {
        match self {
            ProfilePlan::Active(plan) => &plan.name,
            ProfilePlan::Passive(plan) => &plan.name,
        }
    }
}

/// What INC is to do.
#[derive(Clone, Debug)]
pub struct ActivePlan {
    /// Name of the profile.
    pub name: String,
    /// The short part.
    pub short: TaskSeries,
    /// The long part.
    pub long: Option<TaskSeries>,
    /// The program that does a number of increments, which is appended to these words.
    pub inc: Vec<Name>,
    /// This machine's calibration.
    pub increments_per_second: f64,
    /// CPUs that INC may use; all if empty.
    pub cpus: Vec<u32>,
}

/// Plan for a recording.
#[derive(Clone, Debug)]
pub struct PassivePlan {
    /// Name of the profile.
    pub name: String,
    /// Its length.
    pub total: Nanos,
    /// Length of a slice; `None`: the shortest that costs little.
    pub interval: Option<Nanos>,
    /// Task lengths of the virtual samples, short and long.
    pub lengths: (Nanos, Option<Nanos>),
}

/// Why a profile cannot be learned.
#[derive(Debug, thiserror::Error)]
pub enum ProfilingError {
    /// The error of a run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The profile's document.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// What is not kept cannot be resumed.
    #[error("a profile can only be resumed from a store")]
    NoStore,
    /// There is no attempt under this name.
    #[error("there are no samples for a profile `{0}`")]
    Nothing(String),
    /// Only a recording can be cut into samples of another length.
    #[error("the profile `{0}` was measured with INC, so the lengths of its samples cannot be changed")]
    NoRecording(String),
    /// The measured samples are too few.
    #[error("the {0} part has {1}")]
    TooFew(&'static str, TooFew),
    /// Two profiles that cannot be merged.
    #[error("{0} and {1} cannot be merged: {2}")]
    Different(String, String, &'static str),
}

impl From<tarebench_store::StoreError> for ProfilingError {
    fn from(e: tarebench_store::StoreError) -> ProfilingError {
        ProfilingError::Session(e.into())
    }
}

/// How a session of learning ended.
#[derive(Debug)]
pub struct MeasuredProfile {
    /// Why it ended. The profile is made if all was measured.
    pub why: StopReason,
    /// Size of the part that was being measured, or of the recording: `340 samples`, `52 s`.
    pub there: String,
    /// The profile, stored unless nothing is kept.
    pub profile: Option<Profile>,
    /// Whether the profile, or what there is of it, is kept in the user's store.
    pub kept: bool,
}

impl MeasuredProfile {
    /// Every table of the profile, if it was made.
    ///
    /// # Errors
    /// If its short part has too few samples.
    pub fn report(&self) -> Result<Option<Learned>, ProfilingError> {
        self.profile.as_ref().map(learned).transpose()
    }
}

/// The document of a profile while it is being learned: its title is the profile's name.
struct ProfileDocument {
    id: Id,
    claim: Claimant,
}

/// The content of such a document.
#[derive(PartialEq, Serialize, Deserialize)]
struct Beginning {
    name: String,
}

impl ProfileDocument {
    fn new(store: &mut dyn Store, name: &str, options: &DocumentOptions) -> Result<ProfileDocument, ProfilingError> {
        let first = Beginning { name: name.to_owned() };
        let (id, claim) = documents::begin(store, DocumentKind::Profile, name, &first, options)?;
        Ok(ProfileDocument { id, claim })
    }

    /// The document of an earlier session, or a new one if an earlier tare started without one.
    fn again(store: &mut dyn Store, name: &str) -> Result<ProfileDocument, ProfilingError> {
        let filter = DocumentFilter { kind: Some(DocumentKind::Profile), ..DocumentFilter::default() };
        let open = |status: Status, title: &str| status != Status::Finished && title == name;
        let found = store.list(&filter)?.into_iter().find(|d| open(d.head.status, &d.head.title));
        match found {
            Some(summary) => {
                let id = summary.head.id();
                let (_, claim) = documents::claim_for_resume(store, id)?;
                Ok(ProfileDocument { id, claim })
            }
            None => ProfileDocument::new(store, name, &DocumentOptions::default()),
        }
    }

    /// Completes it, or sets its status; if nothing remains to resume, removes it.
    fn end(
        self,
        place: &mut StorePlace,
        name: &str,
        done: Result<MeasuredProfile, ProfilingError>,
    ) -> Result<MeasuredProfile, ProfilingError> {
        let store = need_store(place)?;
        let finished = |p: &MeasuredProfile| matches!(p.why, StopReason::Finished);
        match done {
            Ok(progressed) if finished(&progressed) => {
                let completed = from_runs(store, name, None, DaemonRule::default())
                    .and_then(|p| completed(store, p, Some(self.id)));
                match completed {
                    Ok(profile) => {
                        store.release(self.id, &self.claim)?;
                        Ok(MeasuredProfile { profile: Some(profile), ..progressed })
                    }
                    Err(e) => {
                        store.remove(self.id)?;
                        Err(e)
                    }
                }
            }
            other => {
                if other.is_err() && !unfinished(store)?.iter().any(|n| n == name) {
                    store.remove(self.id)?;
                } else {
                    documents::end(store, self.id, Status::Interrupted, &self.claim)?;
                }
                other
            }
        }
    }
}

fn need_store(place: &mut StorePlace) -> Result<&mut dyn Store, ProfilingError> {
    place.store().ok_or(ProfilingError::NoStore)
}

/// What the runs of a profile have in common.
fn blank(name: &str) -> RunPlan {
    RunPlan {
        runs: RunCount::Fixed(1),
        profile: ProfileChoice::No,
        // A recording has no program.
        account: false,
        tags: BTreeMap::from([(TAG.to_owned(), name.to_owned())]),
        ..RunPlan::of(Vec::new())
    }
}

fn inc(length: Nanos, words: Vec<Name>) -> Program {
    Program::new(label(length), Command::Argv(words))
}

fn label(length: Nanos) -> String {
    format!("INC of {} s", length.secs())
}

fn plan(request: &ActivePlan, shape: TaskSeries, stage: Stage, attempt: &str) -> RunPlan {
    let count = (request.increments_per_second * shape.length.secs()).round().max(1.0) as u64;
    let mut words = request.inc.clone();
    words.push(Name::from(count.to_string().as_str()));
    let learning = Learning {
        profile: request.name.clone(),
        attempt: attempt.to_owned(),
        stage,
        length: shape.length,
        then: request.long.filter(|_| stage == Stage::Short).map(|l| (l.length, l.samples)),
    };
    RunPlan {
        programs: vec![inc(shape.length, words)],
        runs: RunCount::Fixed(shape.samples),
        cpus: request.cpus.clone(),
        purpose: Some(RunPurpose::Learn(learning)),
        // What INC waited for each daemon; snapshots alone show what CPU time they used.
        account: true,
        ..blank(&request.name)
    }
}

/// Learns a profile: by running INC, the short part, then the long one; or by watching the machine. Without a store, what is
/// measured is held in memory, and nothing but the profile remains.
///
/// # Errors
/// What prevents the first sample or the recording, or the profile from being made of it.
pub fn measure(
    plan: &ProfilePlan,
    place: &mut StorePlace,
    options: &DocumentOptions,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    if place.store().is_none() {
        let mut memory = StorePlace::Store(Box::new(SqliteStore::in_memory()?));
        let measured = measure(plan, &mut memory, options, signals, watch)?;
        return Ok(MeasuredProfile { kept: false, ..measured });
    }
    let (begun, done) = match plan {
        ProfilePlan::Active(plan) => {
            let begun = ProfileDocument::new(need_store(place)?, &plan.name, options)?;
            (begun, parts(plan, place, signals, watch))
        }
        ProfilePlan::Passive(plan) => {
            let store = need_store(place)?;
            let (mut run, watcher) = recording(plan)?;
            let begun = ProfileDocument::new(store, &plan.name, options)?;
            let done = match session::begin(&mut run, store) {
                Ok(claim) => record(run, &claim, Nanos::ZERO, watcher, place, signals, watch),
                Err(e) => Err(e.into()),
            };
            (begun, done)
        }
    };
    begun.end(place, plan.name(), done)
}

fn parts(
    request: &ActivePlan,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    let attempt = session::new_uuid();
    let short = plan(request, request.short, Stage::Short, &attempt);
    let measured = session::measure(short, place, RunOptions::default(), signals, watch)?;
    if !matches!(measured.why, StopReason::Finished) {
        return Ok(MeasuredProfile { why: measured.why, there: counted(measured.taken), profile: None, kept: true });
    }
    let Some(shape) = request.long else { return Ok(measured_all(counted(measured.taken))) };
    let long = plan(request, shape, Stage::Long, &attempt);
    let measured = session::measure(long, place, RunOptions::default(), signals, watch)?;
    Ok(MeasuredProfile { why: measured.why, there: counted(measured.taken), profile: None, kept: true })
}

fn seconds(t: Nanos) -> String {
    format!("{:.0} s", t.secs())
}

fn counted(n: u64) -> String {
    format!("{n} samples")
}

/// All was measured; the profile is made at the end.
fn measured_all(there: String) -> MeasuredProfile {
    MeasuredProfile { why: StopReason::Finished, there, profile: None, kept: true }
}

/// Stores a profile; returns it with its version.
pub fn keep(store: &mut dyn Store, profile: Profile) -> Result<Profile, ProfilingError> {
    completed(store, profile, None)
}

fn completed(store: &mut dyn Store, profile: Profile, begun: Option<Id>) -> Result<Profile, ProfilingError> {
    let conditions = conditions(store, &profile)?;
    let saved = store.save_profile(&profile, begun, conditions.as_ref())?;
    Ok(Profile { version: saved.version, ..profile })
}

/// The conditions of the last run that the profile is based on and that is still stored.
fn conditions(store: &dyn Store, profile: &Profile) -> Result<Option<Conditions>, ProfilingError> {
    for uuid in profile.short.runs.iter().rev() {
        if let Ok(Some(id)) = store.find_kind(DocumentKind::Run, uuid) {
            let run = store.run(id.number)?;
            return Ok(Some(Conditions::new(run.host, run.factors)));
        }
    }
    Ok(None)
}

/// The runs of the latest attempt at a profile.
struct Attempt {
    short: Option<(Run, Learning)>,
    long: Option<(Run, Learning)>,
    recording: Option<(Run, Watching)>,
}

fn latest(store: &dyn Store, name: &str) -> Result<Attempt, ProfilingError> {
    let tags = BTreeMap::from([(TAG.to_owned(), name.to_owned())]);
    let mut found = Attempt { short: None, long: None, recording: None };
    let mut of: Option<String> = None;
    for summary in store.list(&DocumentFilter { tags, ..DocumentFilter::of_kind(DocumentKind::Run) })? {
        let run = store.run(summary.head.number)?;
        match run.plan.purpose.clone() {
            Some(RunPurpose::Watch(watching)) if of.is_none() => {
                found.recording = Some((run, watching));
                return Ok(found);
            }
            Some(RunPurpose::Learn(l)) if of.as_ref().is_none_or(|a| *a == l.attempt) => {
                of = Some(l.attempt.clone());
                match l.stage {
                    Stage::Short => found.short = Some((run, l)),
                    Stage::Long => found.long = Some((run, l)),
                }
            }
            _ => {}
        }
    }
    if of.is_none() {
        return Err(ProfilingError::Nothing(name.to_owned()));
    }
    Ok(found)
}

/// The profile of a document; `None` if it is not finished.
///
/// # Errors
/// The store's, or if the document is of another kind, or damaged.
pub fn load(store: &dyn Store, id: Id) -> Result<Option<Profile>, DocumentError> {
    let document = documents::of_kind(store, id, DocumentKind::Profile)?;
    if document.head.status != Status::Finished {
        return Ok(None);
    }
    let bad = |e: serde_json::Error| DocumentError::Content { id, cause: e.to_string() };
    serde_json::from_value(document.doc).map(Some).map_err(bad)
}

/// Names of unfinished profiles, the latest first.
pub fn unfinished(store: &dyn Store) -> Result<Vec<String>, ProfilingError> {
    let mut names: Vec<String> = Vec::new();
    let mut examined = HashSet::new();
    for summary in store.list(&DocumentFilter::of_kind(DocumentKind::Run))? {
        let Some(name) = summary.head.tags.get(TAG) else { continue };
        // All runs of a name are read together.
        if !examined.insert(name.clone()) {
            continue;
        }
        let Ok(attempt) = latest(store, name) else { continue };
        let open = |run: &Run| run.status != Status::Finished;
        let waiting = attempt.short.as_ref().is_some_and(|(run, l)| {
            open(run) || (l.then.is_some() && attempt.long.as_ref().is_none_or(|(run, _)| open(run)))
        });
        if waiting || attempt.recording.as_ref().is_some_and(|(run, _)| open(run)) {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// Resumes the latest attempt at a profile after an interruption, a kill or a reboot.
///
/// # Errors
/// If nothing was begun under this name, and as for [`measure`]; [`SessionError::Imported`].
pub fn resume(
    name: &str,
    place: &mut StorePlace,
    trust: ImportTrust,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    let store = need_store(place)?;
    let attempt = latest(store, name)?;
    trust.check(plans_of_imports(store, &attempt)?)?;
    let begun = ProfileDocument::again(store, name)?;
    let done = rest_of(attempt, place, trust, signals, watch);
    begun.end(place, name, done)
}

/// What [`resume`] would run of imported runs; nothing if all was measured here.
///
/// # Errors
/// If nothing was begun under this name; the store's.
pub fn imported_plans(store: &dyn Store, name: &str) -> Result<Vec<ImportedPlan>, ProfilingError> {
    plans_of_imports(store, &latest(store, name)?)
}

fn plans_of_imports(store: &dyn Store, attempt: &Attempt) -> Result<Vec<ImportedPlan>, ProfilingError> {
    if attempt.recording.is_some() {
        // It runs no programs.
        return Ok(Vec::new());
    }
    let mut plans: Vec<(i64, RunPlan)> = Vec::new();
    for (run, _) in [&attempt.short, &attempt.long].into_iter().flatten() {
        if run.status != Status::Finished {
            plans.push((run.id, run.plan.clone()));
        }
    }
    // The long part is made of the short one, which may be imported and finished.
    if let (None, Some((run, learning))) = (&attempt.long, &attempt.short)
        && let Some((length, samples)) = learning.then
    {
        plans.push((run.id, long_after(run.plan.clone(), learning.clone(), TaskSeries { length, samples })));
    }
    let mut imported = Vec::new();
    for (run, plan) in plans {
        if let Some(at) = store.imported(Id::run(run))? {
            imported.push(ImportedPlan { run, imported: at, plan });
        }
    }
    Ok(imported)
}

/// The missing part of an attempt.
fn rest_of(
    attempt: Attempt,
    place: &mut StorePlace,
    trust: ImportTrust,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    if let Some((run, _)) = attempt.recording {
        return resume_recording(run.id, place, signals, watch);
    }
    let then = attempt.short.as_ref().and_then(|(run, l)| Some((run.plan.clone(), l.clone(), l.then?)));
    let mut there = 0;
    for (run, _) in [attempt.short, attempt.long.clone()].into_iter().flatten() {
        if run.status == Status::Finished {
            continue;
        }
        let measured = session::resume(run.id, place, trust, signals, watch)?;
        there = measured.taken;
        if !matches!(measured.why, StopReason::Finished) {
            return Ok(MeasuredProfile { why: measured.why, there: counted(there), profile: None, kept: true });
        }
    }
    if let (None, Some((short, learning, (length, samples)))) = (&attempt.long, then) {
        let measured = session::measure(
            long_after(short, learning, TaskSeries { length, samples }),
            place,
            RunOptions::default(),
            signals,
            watch,
        )?;
        there = measured.taken;
        if !matches!(measured.why, StopReason::Finished) {
            return Ok(MeasuredProfile { why: measured.why, there: counted(there), profile: None, kept: true });
        }
    }
    Ok(measured_all(counted(there)))
}

/// The plan of the long part, from that of the short one: the same program, with more to do.
fn long_after(short: RunPlan, learning: Learning, shape: TaskSeries) -> RunPlan {
    let factor = shape.length.as_f64() / learning.length.as_f64();
    let mut plan = short;
    for program in &mut plan.programs {
        program.label = label(shape.length);
        if let Command::Argv(words) = &mut program.command
            && let Some(last) = words.last_mut()
        {
            let count: f64 = last.to_string().parse().unwrap_or(1.0);
            *last = Name::from(((count * factor).round() as u64).to_string().as_str());
        }
    }
    plan.runs = RunCount::Fixed(shape.samples);
    plan.purpose =
        Some(RunPurpose::Learn(Learning { stage: Stage::Long, length: shape.length, then: None, ..learning }));
    plan
}

/// The run of a recording, and what records.
fn recording(plan: &PassivePlan) -> Result<(Run, Watcher), ProfilingError> {
    let mut watcher = Watcher::open().map_err(SessionError::from)?;
    let interval = match plan.interval {
        Some(given) => given,
        None => watcher.affordable().map_err(SessionError::from)?,
    };
    let watching = Watching { profile: plan.name.clone(), interval, total: plan.total, lengths: plan.lengths };
    let plan = RunPlan { purpose: Some(RunPurpose::Watch(watching)), ..blank(&plan.name) };
    Ok((session::new_run(plan, PtSource::ExitRecords, Vec::new()), watcher))
}

fn resume_recording(
    id: i64,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    let store = need_store(place)?;
    let chunks = store.chunks(id)?;
    let there = covered(&chunks);
    let run = store.run(id)?;
    if run.status == Status::Finished {
        return Ok(measured_all(seconds(there)));
    }
    let (run, claim) = session::claim_for_resume(store, id, KeptBefore::Recorded(there))?;
    let watcher = Watcher::open().map_err(SessionError::from)?;
    record(run, &claim, there, watcher, place, signals, watch)
}

/// The part that a first and a later session of a recording share.
fn record(
    run: Run,
    claim: &tarebench_store::Claimant,
    there: Nanos,
    mut watcher: Watcher,
    place: &mut StorePlace,
    signals: &Signals,
    watch: Watch<'_>,
) -> Result<MeasuredProfile, ProfilingError> {
    let Some(RunPurpose::Watch(watching)) = run.plan.purpose.clone() else {
        let text = format!("run {} is not a recording", run.id);
        return Err(SessionError::NotResumable(text).into());
    };
    let store = need_store(place)?;
    let mut now = there;
    let mut recorded = |done: Nanos| {
        watch(Event::Step(None, MeasuringStep::Recorded { done, total: watching.total, interval: watching.interval }));
    };
    recorded(now);
    let left = watching.total - there;
    let why = if left > Nanos::ZERO {
        let mut sink = |chunk: &RecordingChunk| Ok(store.add_chunk(run.id, chunk)?);
        watcher.record(left, watching.interval, signals, &mut sink, &mut |n| {
            now = there + n;
            recorded(now);
        })
    } else {
        StopReason::Finished
    };
    let status = match &why {
        StopReason::Finished => Status::Finished,
        StopReason::Interrupted(_) => Status::Interrupted,
        StopReason::NotKept(_) | StopReason::Failed(_) => Status::Unfinished,
    };
    store.set_status(Id::run(run.id), status)?;
    store.release(Id::run(run.id), claim)?;
    Ok(MeasuredProfile { why, there: seconds(now), profile: None, kept: true })
}

/// The profile of the latest attempt of this name, from the samples so far; it is not stored.
/// `lengths`: other task lengths to cut a recording into. `rule`: by which daemons are found.
///
/// # Errors
/// If there is no attempt under this name, or it has too few samples.
pub fn from_runs(
    store: &dyn Store,
    name: &str,
    lengths: Option<(Nanos, Option<Nanos>)>,
    rule: DaemonRule,
) -> Result<Profile, ProfilingError> {
    let attempt = latest(store, name)?;
    if let Some((run, watching)) = attempt.recording {
        let chunks = store.chunks(run.id)?;
        let (short, long) = lengths.unwrap_or(watching.lengths);
        let part = |length: Nanos| ProfilePart {
            length,
            runs: vec![run.uuid.clone()],
            observations: virtual_samples(&chunks, length),
        };
        return profile(&run, (name, rule), ProfileMethod::Watched, part(short), long.map(part));
    }
    if lengths.is_some() {
        return Err(ProfilingError::NoRecording(name.to_owned()));
    }
    let part = |(run, learning): &(Run, Learning)| -> Result<ProfilePart, ProfilingError> {
        let mut observations = Vec::new();
        store.each_sample(run.id, &mut |s| {
            if s.phase == Phase::Counted && s.outcome.success() {
                observations.push(Observation::of(&s));
            }
        })?;
        Ok(ProfilePart { length: learning.length, runs: vec![run.uuid.clone()], observations })
    };
    let short = attempt.short.as_ref().ok_or_else(|| ProfilingError::Nothing(name.to_owned()))?;
    let long = attempt.long.as_ref().map(part).transpose()?;
    profile(&short.0, (name, rule), ProfileMethod::Active, part(short)?, long)
}

fn profile(
    run: &Run,
    (name, rule): (&str, DaemonRule),
    method: ProfileMethod,
    short: ProfilePart,
    long: Option<ProfilePart>,
) -> Result<Profile, ProfilingError> {
    let profile = Profile {
        name: name.to_owned(),
        version: 0,
        created: clock::realtime(),
        machine: run.host.machine.clone(),
        host: run.host.name.clone(),
        kernel: run.host.kernel.clone(),
        cpus: run.host.cpus,
        tool: crate::VERSION.to_owned(),
        method,
        short,
        long,
        cutoffs: Vec::new(),
        rule,
    };
    computed(profile)
}

/// Recomputes the cutoffs of a profile.
fn computed(profile: Profile) -> Result<Profile, ProfilingError> {
    let few = |e| ProfilingError::TooFew("short", e);
    let cutoffs = profile.learned().map_err(few)?.profile_cutoffs();
    Ok(Profile { cutoffs, ..profile })
}

/// One profile from the samples of several; it is not stored. All must be of one machine, made in the same way, with
/// the same task lengths; other lengths of the long part are also refused.
///
/// # Errors
/// [`ProfilingError::Different`].
pub fn merge(name: &str, profiles: &[Profile]) -> Result<Profile, ProfilingError> {
    let mut in_time: Vec<&Profile> = profiles.iter().collect();
    in_time.sort_by_key(|p| p.created);
    let Some((first, rest)) = in_time.split_first() else { return Err(ProfilingError::Nothing(name.to_owned())) };
    let mut merged = Profile { name: name.to_owned(), version: 0, created: clock::realtime(), ..(*first).clone() };
    for other in rest {
        let differ = |what| ProfilingError::Different(first.label(), other.label(), what);
        if other.machine != first.machine {
            return Err(differ("they were made on different machines"));
        }
        if other.method != first.method {
            return Err(differ("one was measured with INC, the other recorded"));
        }
        if other.rule != first.rule {
            return Err(differ("their daemons were found by different rules"));
        }
        if other.short.length != first.short.length {
            return Err(differ("their short task lengths differ"));
        }
        if other.short.runs.iter().any(|r| merged.short.runs.contains(r)) {
            return Err(differ("they contain the same run"));
        }
        merged.short.append(&other.short);
        match (&mut merged.long, &other.long) {
            (Some(long), Some(more)) if long.length != more.length => {
                return Err(differ("their long task lengths differ"));
            }
            (Some(long), Some(more)) => long.append(more),
            (long @ None, Some(more)) => *long = Some(more.clone()),
            (_, None) => {}
        }
        (merged.kernel, merged.cpus) = (other.kernel.clone(), other.cpus);
    }
    computed(merged)
}

/// Minimum number of samples of a part.
pub fn fewest() -> u32 {
    u32::try_from(2 * FEWEST).unwrap_or(u32::MAX)
}

/// Every table of a profile.
///
/// # Errors
/// If its short part has too few samples.
pub fn learned(profile: &Profile) -> Result<Learned, ProfilingError> {
    profile.learned().map_err(|e| ProfilingError::TooFew("short", e))
}

#[cfg(test)]
mod tests;
