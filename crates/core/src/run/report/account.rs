//! The account of a series: means over its retained samples.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::run::report::grouping::{FamilyNames, FirstFound, Mean, TimeSum, place, read};
use crate::sample::account::{Ledger, Share};
use crate::sample::calls::asleep;
use crate::sample::cgroup_limits::{CgroupLimits, Waits};
use crate::sample::daemons::TaskKind;
use crate::sample::data::Sample;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an entry of an account is. In the order in which they are shown when they are equally large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// On a CPU, in the program's own code or in the kernel on its behalf.
    Net,
    /// Hard interrupts of this name.
    Interrupt,
    /// Softirqs of this name.
    Softirq,
    /// Stolen by the hypervisor.
    Stolen,
    /// Runnable, but the quota of CPU time of the cgroup of this name was used up.
    Throttled,
    /// Runnable, but another task of this name had the CPU.
    Preempted,
    /// Runnable, but another task of the program had the CPU.
    Own,
    /// Runnable, while no known task had the CPU.
    Waiting,
    /// Asleep in this system call.
    Blocked,
    /// From just before the start to the exec.
    Launch,
    /// From the end to when tare had noted it.
    Reap,
    /// Elapsed time less all others.
    Unattributed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountEntry {
    pub kind: EntryKind,
    /// Which: of an interrupt, softirq, cgroup, daemon family or system call; else empty.
    pub name: String,
    /// What a preemptor is; `None` for what is no task.
    pub task: Option<TaskKind>,
    /// Mean time per sample, ns.
    pub time: f64,
    /// Mean number per sample; `None` where nothing is counted.
    pub count: Option<f64>,
}

/// The account of a program: means per sample, over the samples retained for ET that have one. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountReport {
    /// Over how many samples.
    pub samples: u32,
    /// Mean elapsed time of these; `elapsed` adds up to it.
    pub gross: f64,
    /// How the elapsed time was spent, by the main thread: net first, then the tare, largest first.
    pub elapsed: Vec<AccountEntry>,
    /// How many other tasks the program had, mean.
    pub other_tasks: f64,
    /// How these spent their time, summed over them (CPU-seconds); empty if there were none.
    pub others: Vec<AccountEntry>,
    /// CPU time of all tasks by the scheduler's account, divided by the same as traced, without steal time
    /// where the scheduler does; 1 if they agree.
    pub agreement: Option<f64>,
    /// Samples whose account is not complete, and the first reason.
    pub incomplete: Option<(u32, String)>,
    /// Tasks that had not ended when the account was closed, most in a sample.
    pub open: u32,
}

/// Means per sample over the samples retained for ET, without tracing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimateReport {
    /// The main thread, runnable without a CPU, ns.
    pub waited: Reading<f64>,
    /// Of that at most, with its cgroup's quota of CPU time used up, ns; 0 if no quota was.
    pub throttled: Reading<f64>,
    /// Interrupts on all CPUs, by name: how many.
    pub interrupts: Reading<BTreeMap<String, f64>>,
}

/// Accounts of samples, summed.
#[derive(Default)]
pub(crate) struct AccountTally {
    samples: u32,
    absent: FirstFound<Absent>,
    gross: TimeSum,
    launch: TimeSum,
    reap: TimeSum,
    unattributed: TimeSum,
    main: Entries,
    others: Entries,
    other_tasks: u64,
    gaps: u32,
    gap: FirstFound<Absent>,
    traced: TimeSum,
    runtime: TimeSum,
    open: u32,
}

impl AccountTally {
    pub fn add(&mut self, sample: &Sample, names: &mut FamilyNames) {
        let a = match &sample.account {
            Reading::Value(account) => account,
            Reading::Absent(why) => return self.absent.offer(place(sample), || why.clone()),
        };
        self.samples = self.samples.saturating_add(1);
        self.gross.add(sample.elapsed());
        self.launch.add(sample.launch().unwrap_or_default());
        self.reap.add(sample.reap().unwrap_or_default());
        self.unattributed.add(sample.unattributed().unwrap_or_default());
        let [main, others] = sample.waits().unwrap_or_default();
        let cgroup = sample.cgroup_limits.value().and_then(CgroupLimits::longest_throttling);
        let cgroup = cgroup.map_or_else(String::new, |(name, _)| name.to_string());
        self.main.add(&a.main, &main, &cgroup, names);
        self.others.add(&a.others, &others, &cgroup, names);
        self.other_tasks = self.other_tasks.saturating_add(a.others.tasks);
        if let Some(why) = a.incomplete() {
            self.gaps = self.gaps.saturating_add(1);
            self.gap.offer(place(sample), || why);
        }
        self.traced.add(a.traced_runtime());
        [&a.outside, &a.main, &a.others].into_iter().for_each(|l| self.runtime.add(l.runtime));
        self.open = self.open.max(a.open);
    }

    pub fn report(self) -> Reading<AccountReport> {
        if self.samples == 0 {
            return self.absent.absent();
        }
        let n = f64::from(self.samples);
        let single = |kind, time: TimeSum| {
            let time = time.as_f64() / n;
            AccountEntry { kind, name: String::new(), task: None, time, count: None }
        };
        let mut elapsed = self.main.means(n);
        elapsed.push(single(EntryKind::Launch, self.launch));
        elapsed.push(single(EntryKind::Reap, self.reap));
        elapsed.push(single(EntryKind::Unattributed, self.unattributed));
        sort(&mut elapsed);
        let mut others = if self.other_tasks > 0 { self.others.means(n) } else { Vec::new() };
        sort(&mut others);
        Reading::Value(AccountReport {
            samples: self.samples,
            gross: self.gross.as_f64() / n,
            elapsed,
            other_tasks: self.other_tasks as f64 / n,
            others,
            agreement: (self.traced.as_f64() > 0.0).then(|| self.runtime.as_f64() / self.traced.as_f64()),
            incomplete: self.gap.get().map(|first| (self.gaps, first.to_string())),
            open: self.open,
        })
    }
}

#[derive(Default)]
struct Entries(BTreeMap<AccountKey, EntrySum>);

#[derive(Default)]
struct EntrySum {
    task: Option<TaskKind>,
    time: TimeSum,
    count: u64,
}

/// Kind, name, and kind of task.
type AccountKey = (EntryKind, String, Option<u8>);

impl Entries {
    fn put(&mut self, kind: EntryKind, name: &str, task: Option<TaskKind>, share: Share) {
        let entry = self.0.entry((kind, name.to_owned(), task.map(|t| t as u8))).or_default();
        entry.task = task;
        entry.time.add(share.time);
        entry.count = entry.count.saturating_add(share.count);
    }

    fn add(&mut self, l: &Ledger, divided: &Waits, cgroup: &str, names: &mut FamilyNames) {
        self.put(EntryKind::Net, "", None, Share { time: l.net(), count: l.on_cpu.count });
        for (name, share) in &l.interrupts {
            self.put(EntryKind::Interrupt, name, None, *share);
        }
        for (name, share) in &l.softirqs {
            self.put(EntryKind::Softirq, name, None, *share);
        }
        if let Reading::Value(share) = &l.stolen {
            self.put(EntryKind::Stolen, "", None, *share);
        }
        if divided.throttled.time > Nanos::ZERO {
            self.put(EntryKind::Throttled, cgroup, None, divided.throttled);
        }
        for p in &divided.preemptors {
            match p.kind {
                Some(kind) => self.put(EntryKind::Preempted, &names.family(&p.name, kind), Some(kind), p.share),
                None => self.put(EntryKind::Own, "", None, p.share),
            }
        }
        let waits = l.preempted.count.saturating_add(l.woken.count);
        self.put(EntryKind::Waiting, "", None, Share { time: divided.unnamed, count: waits });
        for (name, share) in &l.blocked {
            self.put(EntryKind::Blocked, name, None, *share);
        }
    }

    fn means(self, n: f64) -> Vec<AccountEntry> {
        let entry = |((kind, name, _), sum): (AccountKey, EntrySum)| {
            let count = Some(sum.count as f64 / n);
            AccountEntry { kind, name, task: sum.task, time: sum.time.as_f64() / n, count }
        };
        let empty = |e: &AccountEntry| {
            e.time == 0.0 && e.count == Some(0.0) && !matches!(e.kind, EntryKind::Net | EntryKind::Stolen)
        };
        self.0.into_iter().map(entry).filter(|e| !empty(e)).collect()
    }
}

/// Net first and the unattributed last, the largest first in between.
fn sort(entries: &mut [AccountEntry]) {
    let rank = |e: &AccountEntry| match e.kind {
        EntryKind::Net => 0,
        EntryKind::Unattributed => 2,
        _ => 1,
    };
    entries.sort_by(|a, b| {
        rank(a)
            .cmp(&rank(b))
            .then(b.time.total_cmp(&a.time))
            .then(a.kind.cmp(&b.kind))
            .then_with(|| a.name.cmp(&b.name))
    });
}

impl AccountEntry {
    /// Why a task slept, for [`EntryKind::Blocked`].
    pub fn asleep(&self) -> Option<crate::sample::calls::Asleep> {
        (self.kind == EntryKind::Blocked).then(|| asleep(&self.name))
    }
}

/// Estimates of samples, summed.
#[derive(Default)]
pub(crate) struct EstimateTally {
    samples: u32,
    absent: FirstFound<Absent>,
    waited: Mean,
    throttled: Mean,
    interrupts: BTreeMap<String, u64>,
    /// Samples whose interrupts are known.
    counted: u32,
    uncounted: FirstFound<Absent>,
}

impl EstimateTally {
    pub fn add(&mut self, sample: &Sample) {
        let at = place(sample);
        let estimate = match &sample.estimate {
            Reading::Value(estimate) => estimate,
            Reading::Absent(why) => return self.absent.offer(at, || why.clone()),
        };
        self.samples = self.samples.saturating_add(1);
        self.waited.add_time(at, read(&estimate.waited).copied());
        self.throttled.add_time(at, read(&sample.cgroup_limits).map(|_| sample.throttled().time));
        match &estimate.interrupts {
            Reading::Value(interrupts) => {
                self.counted = self.counted.saturating_add(1);
                for (name, count) in interrupts {
                    let sum = self.interrupts.entry(name.clone()).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            Reading::Absent(why) => self.uncounted.offer(at, || why.clone()),
        }
    }

    pub fn report(self) -> Reading<EstimateReport> {
        if self.samples == 0 {
            return self.absent.absent();
        }
        let mean = |(name, sum): (String, u64)| (name, sum as f64 / f64::from(self.counted));
        let interrupts = match self.counted {
            0 => self.uncounted.absent(),
            _ => Reading::Value(self.interrupts.into_iter().map(mean).collect()),
        };
        let (waited, throttled) = (self.waited.reading(), self.throttled.reading());
        Reading::Value(EstimateReport { waited, throttled, interrupts })
    }
}
