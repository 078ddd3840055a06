//! The account of a sample: gross = net + tare, nanosecond by nanosecond.
//!
//! EMP figure 3 and table IX name what runs beside a program; ICS'05 section 3 finds, by a kernel logger, that what is
//! left after interrupts are subtracted is constant; CS:APP 9.1 sees both from inside a program. Here the kernel is
//! asked for all of it while the program runs.

pub use crate::sample::calls::{Asleep, asleep, call_name};

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::sample::daemons::TaskKind;
use crate::sample::process_time::{ProcessTimes, PtSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A length of time and how many times it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub time: Nanos,
    pub count: u64,
}

impl std::ops::Add for Share {
    type Output = Share;
    fn add(self, other: Share) -> Share {
        Share { time: self.time + other.time, count: self.count.saturating_add(other.count) }
    }
}

impl<'a> std::iter::Sum<&'a Share> for Share {
    fn sum<I: Iterator<Item = &'a Share>>(iter: I) -> Share {
        iter.fold(Share::default(), |a, b| a + *b)
    }
}

/// A task that had a CPU which the program's tasks waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preemptor {
    /// Name of its process; empty if it is the program's own.
    pub name: Name,
    /// What it is; `None` if it is another task of the program.
    pub kind: Option<TaskKind>,
    /// What the program's tasks waited for it, summed over them, and how often one was pushed aside by it.
    pub share: Share,
}

/// Where the time of one or several tasks went; summed over the tasks (CPU-seconds).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub tasks: u64,
    /// On a CPU, everything included that interrupted it there; how often a CPU was given to one.
    pub on_cpu: Share,
    /// Of that, stolen by the hypervisor.
    pub stolen: Reading<Share>,
    /// Of that, interrupts, by name, net of what is nested in them.
    pub interrupts: BTreeMap<String, Share>,
    /// Of that, softirqs, by name, likewise.
    pub softirqs: BTreeMap<String, Share>,
    /// CPU time by the scheduler's own account (`sum_exec_runtime`), to compare with.
    pub runtime: Nanos,
    /// Runnable without a CPU, after it was taken away.
    pub preempted: Share,
    /// Runnable without a CPU, after waking up.
    pub woken: Share,
    /// Who had the CPU meanwhile, as far as it was not idle; within the two above.
    pub preemptors: Vec<Preemptor>,
    /// Asleep, by the system call ([`asleep`] gives its kind).
    pub blocked: BTreeMap<String, Share>,
}

impl Ledger {
    pub fn interrupted(&self) -> Nanos {
        self.interrupts.values().chain(self.softirqs.values()).map(|s| s.time).sum()
    }

    /// Stolen while it was on a CPU; nothing where that is not known.
    pub fn stolen(&self) -> Nanos {
        self.stolen.value().map_or(Nanos::ZERO, |s| s.time)
    }

    /// On a CPU, in its own code or in the kernel on its behalf.
    pub fn net(&self) -> Nanos {
        self.on_cpu.time - self.interrupted() - self.stolen()
    }

    /// Runnable without a CPU.
    pub fn waited(&self) -> Nanos {
        self.preempted.time + self.woken.time
    }

    /// Runnable without a CPU, while no known task had it.
    pub fn unnamed_wait(&self) -> Nanos {
        self.waited() - self.preemptors.iter().map(|p| p.share.time).sum()
    }

    pub fn asleep(&self) -> Nanos {
        self.blocked.values().map(|s| s.time).sum()
    }

    pub fn total(&self) -> Nanos {
        self.on_cpu.time + self.waited() + self.asleep()
    }
}

/// The account of one sample, traced in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// When the program's exec had succeeded, CLOCK_MONOTONIC.
    pub exec: Nanos,
    /// When the program had ended and woke tare, or its main thread left its CPU, CLOCK_MONOTONIC.
    pub end: Nanos,
    /// Its main process before exec and after its end.
    pub outside: Ledger,
    /// Its main thread in between.
    pub main: Ledger,
    /// Its other threads and all its descendants.
    pub others: Ledger,
    /// The kernel charges interrupts to the task that they interrupt (no CONFIG_IRQ_TIME_ACCOUNTING).
    pub interrupts_charged: bool,
    /// The kernel charges steal time to the task that had the CPU (no CONFIG_PARAVIRT_TIME_ACCOUNTING).
    pub stolen_charged: bool,
    /// Events that could not be kept; beyond 0 the account is not complete.
    pub lost: u64,
    /// Tasks of the program that had not ended when the account was closed.
    pub open: u32,
}

impl Account {
    /// Why the account is incomplete, if it is.
    pub fn incomplete(&self) -> Option<Absent> {
        let lost = || Absent::Lost(format!("{} trace events", self.lost));
        (self.lost > 0).then(lost)
    }

    /// Time on CPUs of all tasks as traced, without what the scheduler does not count.
    pub fn traced_runtime(&self) -> Nanos {
        let part = |l: &Ledger| {
            let stolen = if self.stolen_charged { Nanos::ZERO } else { l.stolen() };
            let interrupted = if self.interrupts_charged { Nanos::ZERO } else { l.interrupted() };
            l.on_cpu.time - stolen - interrupted
        };
        [&self.outside, &self.main, &self.others].into_iter().map(part).sum()
    }

    /// The part of the tree's process time that was not the program's own: interrupts and steal time, as far as
    /// `source` contains them.
    pub fn charged(&self, source: PtSource) -> Nanos {
        // The task-clock runs on through everything.
        let all = source == PtSource::TaskClock;
        let ledgers = [&self.outside, &self.main, &self.others];
        let part = |l: &Ledger| {
            let interrupted = if all || self.interrupts_charged { l.interrupted() } else { Nanos::ZERO };
            let stolen = if all || self.stolen_charged { l.stolen() } else { Nanos::ZERO };
            interrupted + stolen
        };
        // Before exec the task-clock does not count.
        ledgers.into_iter().skip(usize::from(all)).map(part).sum()
    }
}

/// Net time: process time minus interrupt, softirq and steal time charged to the program.
///
/// # Errors
/// Why one of the two is not known, or the account is incomplete.
pub fn net_time(process_times: &Reading<ProcessTimes>, account: &Reading<Account>) -> Result<Nanos, Absent> {
    let process_times = process_times.as_result().map_err(Clone::clone)?;
    // Of the same clock as what is subtracted.
    let pt = process_times.counted()?;
    let account = account.as_result().map_err(Clone::clone)?;
    match account.incomplete() {
        Some(why) => Err(why),
        None => Ok(pt - account.charged(process_times.source)),
    }
}

/// What can be said without tracing: estimates, none of which is of the program alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Runnable without a CPU: the main thread, by `/proc/PID/schedstat`.
    pub waited: Reading<Nanos>,
    /// On a CPU: the main thread, likewise.
    pub on_cpu: Reading<Nanos>,
    /// Interrupts on all CPUs during the sample, by name: how many, not how long (`/proc/interrupts`).
    pub interrupts: Reading<BTreeMap<String, u64>>,
}
