//! One task of a campaign: what it needs is checked, its programs are measured into the local store, and the result
//! is pushed.

use crate::data::state::LabProgress;
use crate::data::tasks::{LabTaskPlan, TASK_TAG};
use crate::postgres::PostgresPlace;
use crate::postgres::PostgresStore;
use crate::server::{HeldLease, Lab, LabError, LeaseAnswer, LeasedTask};
use crate::work::lease::{LabGo, LeaseClock, LeaseStop};
use crate::work::needs::{self, NeedsFault};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use tarebench::copy::deliver;
use tarebench_core::base::signal::Signal;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_store::copy::PushError;
use tarebench_store::{DocumentFilter, SqliteStore};
use tarebench_store::{Store, StoreError};
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// Lease while a build command runs, during which there is no heartbeat: an hour.
const BUILD_LEASE: Nanos = Nanos(3_600_000_000_000);
/// First and longest pause between two attempts to reach a server.
const PAUSES: (Nanos, Nanos) = (Nanos::from_millis(1_000), Nanos::from_millis(60_000));

/// Where a task is measured, and where its result goes.
#[derive(Clone, Copy)]
pub struct TaskPlace<'a> {
    /// File of the local store.
    pub local: &'a Path,
    pub lab: &'a PostgresPlace,
    /// Length of its lease, in ns.
    pub lease: Nanos,
    /// How long to try to push the result to a server that cannot be reached, in ns; `None`: until a signal.
    pub patience: Option<Nanos>,
    /// Whether the node was this task's alone, if that is known.
    pub exclusive: Option<bool>,
}

/// What the caller is asked to measure. How the arguments of `tare run` are read is the command's.
pub enum LabWork<'a> {
    /// The programs of this task, as a new run.
    Measure(&'a LabTaskPlan),
    /// What is missing of this run of the local store.
    Resume(&'a LabTaskPlan, i64),
    /// Nothing: how did this finished run end?
    Judge(i64),
}

/// Receives how far the run is after each sample; no further one is taken if it says so.
pub type BetweenSamples<'a> = &'a mut dyn FnMut(LabProgress) -> LabGo;

/// Measures. An error is what prevented the first sample.
pub type LabMeasurer<'a> = &'a mut dyn FnMut(LabWork<'_>, &Signals, BetweenSamples<'_>) -> Result<LabMeasured, String>;

/// A run of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabMeasured {
    /// Its number in the local store.
    pub run: i64,
    pub ended: LabRunEnd,
}

/// How a task's run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabRunEnd {
    /// All samples were taken.
    Finished,
    /// A program or the machine failed.
    Failed(String),
    /// By a signal, or because no further sample was wanted.
    Interrupted,
}

/// How a task ended on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// Its run is in the lab's store, and the task is done.
    Done {
        run: String,
        /// How many samples it has.
        samples: u64,
    },
    /// It failed, for this reason.
    Failed(String),
    /// It was given back after this signal; its samples so far stay in the local store.
    GivenBack(i32),
    Cancelled,
    /// Its lease had ended, and another machine has it. The samples so far stay in the local store.
    Lost,
    /// The result is in the local store, and could not be pushed.
    NotDelivered {
        /// The run's number there.
        run: i64,
        cause: String,
    },
}

/// What happens to a task.
pub enum TaskNews<'a> {
    /// A run that was begun before is to be resumed.
    Resuming {
        /// Its number in the local store.
        run: i64,
    },
    /// A run that was begun before cannot be resumed; a new one is made.
    NotResumed {
        /// Its number in the local store.
        run: i64,
        cause: &'a str,
    },
    /// The server cannot be reached; the next attempt is after the pause.
    Away {
        cause: &'a str,
        /// Its length, in ns.
        pause: Nanos,
    },
}

/// Receives what happens to a task.
pub type TaskWatch<'a> = &'a mut dyn FnMut(TaskNews<'_>);

/// Why there is no finished run.
enum TaskFault {
    Failed(String),
    /// A run whose program failed.
    FailedRun(i64, String),
    Interrupted(i32),
    Stopped(LeaseStop),
}

impl From<StoreError> for TaskFault {
    fn from(e: StoreError) -> TaskFault {
        TaskFault::Failed(e.to_string())
    }
}

/// Why a result is not in the lab's store.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error(transparent)]
    Push(#[from] PushError),
    /// The queue, or one of the stores.
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl From<StoreError> for DeliveryError {
    fn from(e: StoreError) -> DeliveryError {
        DeliveryError::Lab(e.into())
    }
}

impl DeliveryError {
    /// Whether a later attempt may succeed by itself.
    fn is_passing(&self) -> bool {
        match self {
            DeliveryError::Push(PushError::Store(e)) => e.is_passing(),
            DeliveryError::Push(_) => false,
            DeliveryError::Lab(e) => e.is_passing(),
        }
    }
}

/// Runs a leased task to its end.
pub fn execute(
    task: &LeasedTask,
    place: &TaskPlace<'_>,
    signals: &Signals,
    measure: LabMeasurer<'_>,
    watch: TaskWatch<'_>,
) -> TaskEnd {
    match measured(task, place, signals, measure, watch) {
        Ok(run) => delivered(task, place, run, signals, watch),
        Err(TaskFault::FailedRun(run, why)) => {
            // What was measured may explain the failure; without it, the message remains.
            let _ = push_only(place, run);
            tell(place, |lab| lab.fail(&task.held, &why));
            TaskEnd::Failed(why)
        }
        Err(TaskFault::Failed(why)) => {
            tell(place, |lab| lab.fail(&task.held, &why));
            TaskEnd::Failed(why)
        }
        Err(TaskFault::Stopped(LeaseStop::TimeLimit(limit))) => {
            let why = format!("it took longer than its time limit of {} s", limit.secs());
            tell(place, |lab| lab.fail(&task.held, &why));
            TaskEnd::Failed(why)
        }
        Err(TaskFault::Stopped(LeaseStop::Lost)) => TaskEnd::Lost,
        Err(TaskFault::Stopped(LeaseStop::Cancelled)) => {
            tell(place, |lab| lab.give_back(&task.held));
            TaskEnd::Cancelled
        }
        Err(TaskFault::Interrupted(signal)) => {
            tell(place, |lab| lab.give_back(&task.held));
            TaskEnd::GivenBack(signal)
        }
    }
}

/// Tells the queue how a task ended here. If that fails, the lease ends by itself, with the same result later.
fn tell(place: &TaskPlace<'_>, what: impl FnOnce(&mut Lab) -> Result<LeaseAnswer, LabError>) {
    let _ = Lab::connect(place.lab).and_then(|mut lab| what(&mut lab));
}

/// A finished run of the task in the local store: one that is there, one that is resumed, or a new one.
fn measured(
    task: &LeasedTask,
    place: &TaskPlace<'_>,
    signals: &Signals,
    measure: LabMeasurer<'_>,
    watch: TaskWatch<'_>,
) -> Result<i64, TaskFault> {
    let plan = &task.plan;
    let known = newest_run(&SqliteStore::open(place.local)?, &plan.uuid)?;
    if let Some((run, Status::Finished)) = known {
        let judged = measure(LabWork::Judge(run), signals, &mut |_| LabGo::Continue);
        if judged.is_ok_and(|m| m.ended == LabRunEnd::Finished) {
            return Ok(run);
        }
    }
    let now = clock::monotonic;
    let mut lease = LeaseClock::new(place.lease, plan.time_limit, &now);
    let beat = |held: &HeldLease, lease: Nanos, progress: Option<LabProgress>| {
        Lab::connect(place.lab).and_then(|mut lab| lab.heartbeat(held, lease, progress)).ok()
    };
    if plan.needs.build.is_some() {
        lease.beat(&mut |lease| beat(&task.held, lease.max(BUILD_LEASE), None));
    }
    needs::check(&plan.needs, signals).map_err(|e| match e {
        NeedsFault::Missing(what) => TaskFault::Failed(what),
        NeedsFault::Interrupted(signal) => TaskFault::Interrupted(signal),
    })?;
    if plan.needs.build.is_some() {
        lease.beat(&mut |lease| beat(&task.held, lease, None));
    }
    if let Some(stop) = lease.stopped() {
        return Err(TaskFault::Stopped(stop));
    }
    let mut between = |progress: LabProgress| lease.between(&mut |lease| beat(&task.held, lease, Some(progress)));
    let resumed = match known {
        Some((run, status)) if status != Status::Finished => {
            watch(TaskNews::Resuming { run });
            match measure(LabWork::Resume(plan, run), signals, &mut between) {
                Ok(measured) => Some(measured),
                // It began under other conditions, e.g. with another source of process times.
                Err(cause) => {
                    watch(TaskNews::NotResumed { run, cause: &cause });
                    None
                }
            }
        }
        _ => None,
    };
    let measured = match resumed {
        Some(measured) => measured,
        None => measure(LabWork::Measure(plan), signals, &mut between).map_err(TaskFault::Failed)?,
    };
    match (measured.ended, lease.stopped(), signals.caught()) {
        (LabRunEnd::Finished, ..) => Ok(measured.run),
        (LabRunEnd::Interrupted, Some(stop), _) => Err(TaskFault::Stopped(stop)),
        (LabRunEnd::Interrupted, None, Some(signal)) => Err(TaskFault::Interrupted(signal)),
        (LabRunEnd::Interrupted, None, None) => Err(TaskFault::Failed("it was interrupted".to_owned())),
        (LabRunEnd::Failed(why), ..) => Err(TaskFault::FailedRun(measured.run, why)),
    }
}

/// The newest run of a task in a store.
pub(crate) fn newest_run(store: &dyn Store, task: &str) -> Result<Option<(i64, Status)>, StoreError> {
    let tags = BTreeMap::from([(TASK_TAG.to_owned(), task.to_owned())]);
    let runs = store.list(&DocumentFilter { tags, limit: Some(1), ..DocumentFilter::of_kind(DocumentKind::Run) })?;
    Ok(runs.first().map(|run| (run.head.number, run.head.status)))
}

fn push_only(place: &TaskPlace<'_>, run: i64) -> Result<(), DeliveryError> {
    let local = SqliteStore::open(place.local)?;
    let mut server = PostgresStore::open(place.lab)?;
    deliver(&local, Id::run(run), &mut server, &mut |_| {})?;
    Ok(())
}

/// Pushes a finished run and ends its task; tries again while the server is away.
fn delivered(task: &LeasedTask, place: &TaskPlace<'_>, run: i64, signals: &Signals, watch: TaskWatch<'_>) -> TaskEnd {
    let began = clock::monotonic();
    let mut pauses = ServerPauses::new();
    loop {
        let cause = match deliver_once(task, place, run) {
            Ok(end) => return end,
            Err(e) => {
                let cause = e.to_string();
                if !e.is_passing() {
                    tell(place, |lab| lab.fail(&task.held, &cause));
                    return TaskEnd::NotDelivered { run, cause };
                }
                cause
            }
        };
        let pause = pauses.next_pause();
        let spent = clock::monotonic() - began;
        if place.patience.is_some_and(|patience| spent + pause > patience) {
            return TaskEnd::NotDelivered { run, cause };
        }
        watch(TaskNews::Away { cause: &cause, pause });
        if signals.sleep_until(clock::monotonic() + pause).is_some() {
            return TaskEnd::NotDelivered { run, cause };
        }
    }
}

fn deliver_once(task: &LeasedTask, place: &TaskPlace<'_>, run: i64) -> Result<TaskEnd, DeliveryError> {
    let local = SqliteStore::open(place.local)?;
    let delivered = {
        let mut server = PostgresStore::open(place.lab)?;
        deliver(&local, Id::run(run), &mut server, &mut |_| {})?
    };
    let uuid = local.run(run)?.uuid;
    let runs = std::slice::from_ref(&uuid);
    let mut lab = Lab::connect(place.lab)?;
    // This counts after the end of the lease, too, if nobody has taken the task since.
    Ok(match lab.finish(&task.held, runs, place.exclusive)? {
        LeaseAnswer::Held => TaskEnd::Done { run: uuid.clone(), samples: delivered.samples },
        LeaseAnswer::CancelWanted => TaskEnd::Cancelled,
        LeaseAnswer::Lost => TaskEnd::Lost,
    })
}

/// Growing pauses between attempts to reach a server, at random lengths, so that not all machines ask at once.
pub(crate) struct ServerPauses {
    next: Nanos,
}

impl ServerPauses {
    pub fn new() -> ServerPauses {
        ServerPauses { next: PAUSES.0 }
    }

    /// The next pause, in ns.
    pub fn next_pause(&mut self) -> Nanos {
        let pause = self.next;
        self.next = Nanos(pause.0.saturating_mul(2)).min(PAUSES.1);
        jittered(pause, clock::realtime().0 as u64 ^ (clock::monotonic().0 as u64).rotate_left(32))
    }
}

/// A time at random within a quarter of it, more or less; `random` are any bits that differ between processes.
pub(crate) fn jittered(time: Nanos, random: u64) -> Nanos {
    // The bits of a clock are mixed, as its last ones may always be the same (splitmix64).
    let mut z = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let share = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    Nanos((time.as_f64() * (0.75 + share / 2.0)) as i64)
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskEnd::Done { run, samples } => write!(f, "done: {samples} executions pushed, run {run}"),
            TaskEnd::Failed(why) => write!(f, "failed: {why}"),
            TaskEnd::GivenBack(signal) => write!(f, "given back after {}; its samples are kept here", Signal(*signal)),
            TaskEnd::Cancelled => f.write_str("cancelled; its samples are kept here"),
            TaskEnd::Lost => {
                f.write_str("lost: its lease had ended, and another machine has it; its samples are kept here")
            }
            TaskEnd::NotDelivered { run, cause } => write!(f, "not pushed: run {run} is kept here: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_differ() {
        let mut pauses = ServerPauses::new();
        let lengths: Vec<f64> = (0..10).map(|_| pauses.next_pause().secs()).collect();
        let expected = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0];
        for (length, expected) in lengths.iter().zip(expected) {
            assert!((0.75 * expected..=1.25 * expected).contains(length), "{lengths:?}");
        }
        let second = Nanos::from_millis(1_000);
        let some: Vec<f64> = (0..1_000).map(|i| jittered(second, i).secs()).collect();
        let mean = some.iter().sum::<f64>() / 1_000.0;
        assert!((0.98..1.02).contains(&mean), "{mean}");
        assert!(some.iter().any(|t| *t < 0.8) && some.iter().any(|t| *t > 1.2));
    }

    #[test]
    fn a_task_finds_its_own_newest_run() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("tare.db")).unwrap();
        assert_eq!(newest_run(&store, &"a".repeat(32)).unwrap(), None);
    }
}
