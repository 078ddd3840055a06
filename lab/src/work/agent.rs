//! An agent: a process on a machine that asks a lab's queue for tasks and runs them, one at a time.

use crate::data::state::{LabMachine, LabMachineState};
use crate::postgres::PostgresPlace;
use crate::server::{Lab, LabError, LeasedTask};
use crate::work::hours::{AgentHours, time_of_day};
use crate::work::machine::{describe, load};
use crate::work::task::{LabMeasurer, ServerPauses, TaskEnd, TaskNews, TaskPlace, execute, jittered};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tarebench::machine_lock::{LockMode, take};
use tarebench_core::base::units::Nanos;
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// How often the machine is described again: ten minutes.
const DESCRIBED_EVERY: Nanos = Nanos(600_000_000_000);

/// How an agent works.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    /// Name of the machine in the lab; `None`: its host name.
    pub name: Option<String>,
    /// What campaigns may choose it by.
    pub tags: BTreeMap<String, String>,
    /// Length of a task's lease, in ns: longer than any sample.
    pub lease: Nanos,
    /// Time between two looks at the queue, in ns; each is up to a quarter longer or shorter.
    pub poll: Nanos,
    /// Load average of the last minute above which no task is started, in runnable tasks.
    pub max_load: Option<f64>,
    /// Hours in which tasks are started. One that was started in them is not stopped at their end.
    pub hours: Option<AgentHours>,
    /// Take one task at most, and end.
    pub once: bool,
    /// File of the local store.
    pub local: PathBuf,
}

/// What an agent does.
pub enum AgentNews<'a> {
    /// It asks this lab for tasks, under this name.
    Started {
        /// Name of the machine in the lab.
        name: &'a str,
    },
    /// It has taken a task.
    Took(&'a LeasedTask),
    Task(TaskNews<'a>),
    /// A task has ended.
    Ended(&'a LeasedTask, &'a TaskEnd),
    /// It starts no task for this reason, or does so again ([`LabMachineState::Idle`]).
    Standing(LabMachineState),
    /// A measurement of another user runs on the machine: no task is started.
    Occupied,
    /// The server cannot be reached; the next attempt is after the pause.
    Away {
        cause: &'a str,
        /// Its length, in ns.
        pause: Nanos,
    },
    /// The server can be reached again.
    Back,
}

/// How an agent ended.
#[derive(Debug)]
pub enum AgentEnd {
    Signal(i32),
    /// It was to take one task at most: how that ended, if there was one.
    Once(Option<TaskEnd>),
}

struct Agent<'a> {
    plan: &'a AgentPlan,
    place: &'a PostgresPlace,
    signals: &'a Signals,
    machine: LabMachine,
    /// When it was described, on the monotonic clock.
    described: Nanos,
    /// What was last reported.
    shown: Option<AgentShown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentShown {
    Standing(LabMachineState),
    Occupied,
}

/// Asks for tasks and runs them until a signal comes: the sample in progress then ends as that of `tare run` does,
/// and the task is given back.
///
/// # Errors
/// If the lab refuses this machine; if another agent has taken the name. An agent waits for a server that cannot be
/// reached, but not with [`AgentPlan::once`].
pub fn run(
    plan: &AgentPlan,
    place: &PostgresPlace,
    signals: &Signals,
    measure: LabMeasurer<'_>,
    watch: &mut dyn FnMut(AgentNews<'_>),
) -> Result<AgentEnd, LabError> {
    let mut agent = Agent::new(plan, place, signals);
    watch(AgentNews::Started { name: &agent.machine.name });
    let mut away: Option<ServerPauses> = None;
    loop {
        if let Some(signal) = signals.caught() {
            return Ok(agent.leave(AgentEnd::Signal(signal)));
        }
        let pause = match agent.turn(measure, watch) {
            Ok(AgentTurn::Task(end)) if plan.once => return Ok(agent.leave(AgentEnd::Once(Some(end)))),
            Ok(AgentTurn::Task(_)) => Nanos::ZERO,
            Ok(AgentTurn::Nothing) if plan.once => return Ok(agent.leave(AgentEnd::Once(None))),
            Ok(AgentTurn::Nothing | AgentTurn::NotNow) => {
                if away.take().is_some() {
                    watch(AgentNews::Back);
                }
                jittered(plan.poll, clock::realtime().0 as u64)
            }
            // Also if another agent has taken its name, or it may not do this any more.
            Err(e) if plan.once || !e.is_passing() => return Err(e),
            Err(e) => {
                let pause = away.get_or_insert_with(ServerPauses::new).next_pause();
                watch(AgentNews::Away { cause: &e.to_string(), pause });
                pause
            }
        };
        if pause > Nanos::ZERO && signals.sleep_until(clock::monotonic() + pause).is_some() {
            continue;
        }
    }
}

/// What one look at the queue led to.
enum AgentTurn {
    Task(TaskEnd),
    /// The queue has no task for this machine.
    Nothing,
    /// The queue was not asked, as no task may be started.
    NotNow,
}

impl<'a> Agent<'a> {
    fn new(plan: &'a AgentPlan, place: &'a PostgresPlace, signals: &'a Signals) -> Agent<'a> {
        let own = tarebench_sys::uname::uname().node;
        let name = plan.name.as_deref().unwrap_or(&own);
        let machine = describe(name, &plan.tags, LabMachineState::Idle, None);
        Agent { plan, place, signals, machine, described: clock::monotonic(), shown: None }
    }

    /// Looks at the queue once, and runs the task that it gives.
    fn turn(&mut self, measure: LabMeasurer<'_>, watch: &mut dyn FnMut(AgentNews<'_>)) -> Result<AgentTurn, LabError> {
        let zone = clock::zone();
        let standing = standing(self.plan, load(), time_of_day(clock::realtime(), &zone));
        if standing != LabMachineState::Idle {
            self.show(AgentShown::Standing(standing), watch);
            self.announce(standing, None)?;
            return Ok(AgentTurn::NotNow);
        }
        let Some(_lock) = take(LockMode::Task) else {
            self.show(AgentShown::Occupied, watch);
            self.announce(LabMachineState::Busy, None)?;
            return Ok(AgentTurn::NotNow);
        };
        self.announce(LabMachineState::Idle, None)?;
        // The connection is closed before anything is measured.
        let task = Lab::connect(self.place)?.take(&self.machine.name, self.plan.lease)?;
        let Some(task) = task else {
            self.show(AgentShown::Standing(LabMachineState::Idle), watch);
            return Ok(AgentTurn::Nothing);
        };
        watch(AgentNews::Took(&task));
        self.shown = None;
        // What the queue knows of the task says the same: if this fails, nothing is lost.
        let _ = self.announce(LabMachineState::Busy, Some(task.held.task));
        let place = TaskPlace {
            local: &self.plan.local,
            lab: self.place,
            lease: self.plan.lease,
            patience: None,
            exclusive: None,
        };
        let end = execute(&task, &place, self.signals, measure, &mut |news| watch(AgentNews::Task(news)));
        watch(AgentNews::Ended(&task, &end));
        Ok(AgentTurn::Task(end))
    }

    fn show(&mut self, shown: AgentShown, watch: &mut dyn FnMut(AgentNews<'_>)) {
        let usual = self.shown.is_none() && shown == AgentShown::Standing(LabMachineState::Idle);
        if self.shown.replace(shown) == Some(shown) || usual {
            return;
        }
        watch(match shown {
            AgentShown::Standing(standing) => AgentNews::Standing(standing),
            AgentShown::Occupied => AgentNews::Occupied,
        });
    }

    /// Tells the lab how this machine is.
    fn announce(&mut self, state: LabMachineState, task: Option<i64>) -> Result<(), LabError> {
        let now = clock::monotonic();
        if now - self.described > DESCRIBED_EVERY {
            self.machine = describe(&self.machine.name, &self.plan.tags, state, task);
            self.described = now;
        }
        let machine = LabMachine { state, task, load: load(), ..self.machine.clone() };
        Lab::connect(self.place)?.announce(&machine)?;
        Ok(())
    }

    /// The lab knows at once that this machine takes no more tasks.
    fn leave(&mut self, end: AgentEnd) -> AgentEnd {
        let _ = self.announce(LabMachineState::Gone, None);
        end
    }
}

/// Whether a task may be started at this load and time of day.
fn standing(plan: &AgentPlan, load: Option<f64>, time: (u8, u8)) -> LabMachineState {
    if plan.hours.is_some_and(|hours| !hours.contain(time)) {
        return LabMachineState::OutsideHours;
    }
    match (plan.max_load, load) {
        (Some(most), Some(load)) if load > most => LabMachineState::TooLoaded,
        _ => LabMachineState::Idle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> AgentPlan {
        AgentPlan {
            name: None,
            tags: BTreeMap::new(),
            lease: Nanos::from_millis(300_000),
            poll: Nanos::from_millis(15_000),
            max_load: None,
            hours: None,
            once: false,
            local: PathBuf::from("tare.db"),
        }
    }

    #[test]
    fn tasks_are_started_in_the_hours_and_below_the_load() {
        let any = plan();
        assert_eq!(standing(&any, Some(100.0), (12, 0)), LabMachineState::Idle);
        let choosy = AgentPlan { max_load: Some(0.5), hours: "20:00-06:00".parse().ok(), ..plan() };
        assert_eq!(standing(&choosy, Some(0.5), (20, 0)), LabMachineState::Idle);
        assert_eq!(standing(&choosy, None, (3, 0)), LabMachineState::Idle);
        assert_eq!(standing(&choosy, Some(0.51), (3, 0)), LabMachineState::TooLoaded);
        // The hours come first: outside of them, the load does not matter.
        assert_eq!(standing(&choosy, Some(9.0), (6, 0)), LabMachineState::OutsideHours);
    }
}
