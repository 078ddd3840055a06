//! The account of a series: means over its retained samples.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::run::report::grouping::count;
use crate::run::report::grouping::{FamilyNames, mean, read};
use crate::sample::account::{Ledger, Share};
use crate::sample::calls::asleep;
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
    /// What.
    pub kind: EntryKind,
    /// Which: of an interrupt, softirq, daemon family or system call; else empty.
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
    /// Interrupts on all CPUs, by name: how many.
    pub interrupts: Reading<BTreeMap<String, f64>>,
}

/// Means per sample over the samples retained for ET.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountersReport {
    /// Cycles, user and kernel.
    pub cycles: f64,
    /// Instructions, user and kernel.
    pub instructions: f64,
    /// Share of the instructions that ran in the kernel.
    pub kernel_share: f64,
    /// Cycles per nanosecond of PT: the effective clock speed, GHz.
    pub clock_ghz: Option<f64>,
}

fn first_reason<T>(good: &[&Sample], of: impl Fn(&Sample) -> Option<Absent>) -> Reading<T> {
    let none = || Absent::NotAsked("no successful sample".to_owned());
    Reading::Absent(good.iter().find_map(|s| of(s)).unwrap_or_else(none))
}

pub(crate) fn report<'a>(good: &[&'a Sample], names: &mut FamilyNames<'a>) -> Reading<AccountReport> {
    let all: Vec<(&Sample, _)> = good.iter().filter_map(|s| Some((*s, s.account.value()?))).collect();
    if all.is_empty() {
        return first_reason(good, |s| s.account.absent().cloned());
    }
    let n = all.len() as f64;
    let per = |sum: Nanos| sum.as_f64() / n;
    let total = |of: &dyn Fn(&Sample) -> Nanos| per(all.iter().map(|(s, _)| of(s)).sum());
    let (mut main, mut others) = (Entries::default(), Entries::default());
    for (_, a) in &all {
        main.add(&a.main, names);
        others.add(&a.others, names);
    }
    let mut elapsed = main.means(n);
    let single = |kind, time| AccountEntry { kind, name: String::new(), task: None, time, count: None };
    elapsed.push(single(EntryKind::Launch, total(&|s| s.launch().unwrap_or_default())));
    elapsed.push(single(EntryKind::Reap, total(&|s| s.reap().unwrap_or_default())));
    elapsed.push(single(EntryKind::Unattributed, total(&|s| s.unattributed().unwrap_or_default())));
    sort(&mut elapsed);
    let other_tasks = all.iter().map(|(_, a)| a.others.tasks as f64).sum::<f64>() / n;
    let mut others = if other_tasks > 0.0 { others.means(n) } else { Vec::new() };
    sort(&mut others);
    let gaps: Vec<Absent> = all.iter().filter_map(|(_, a)| a.incomplete()).collect();
    let traced: Nanos = all.iter().map(|(_, a)| a.traced_runtime()).sum();
    let runtime: Nanos = all.iter().flat_map(|(_, a)| [&a.outside, &a.main, &a.others]).map(|l| l.runtime).sum();
    Reading::Value(AccountReport {
        samples: count(all.len()),
        gross: total(&Sample::elapsed),
        elapsed,
        other_tasks,
        others,
        agreement: (traced > Nanos::ZERO).then(|| runtime.as_f64() / traced.as_f64()),
        incomplete: gaps.first().map(|first| (count(gaps.len()), first.to_string())),
        open: all.iter().map(|(_, a)| a.open).max().unwrap_or(0),
    })
}

/// Sums by entry.
#[derive(Default)]
struct Entries(BTreeMap<AccountKey, (Option<TaskKind>, Share)>);

/// Kind, name, and kind of task.
type AccountKey = (EntryKind, String, Option<u8>);

impl Entries {
    fn put(&mut self, kind: EntryKind, name: &str, task: Option<TaskKind>, share: Share) {
        let entry = self.0.entry((kind, name.to_owned(), task.map(|t| t as u8))).or_insert((task, Share::default()));
        entry.1 = entry.1 + share;
    }

    fn add<'a>(&mut self, l: &'a Ledger, names: &mut FamilyNames<'a>) {
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
        for p in &l.preemptors {
            match p.kind {
                Some(kind) => self.put(EntryKind::Preempted, &names.of(&p.name, kind), Some(kind), p.share),
                None => self.put(EntryKind::Own, "", None, p.share),
            }
        }
        let waits = l.preempted.count.saturating_add(l.woken.count);
        self.put(EntryKind::Waiting, "", None, Share { time: l.unnamed_wait(), count: waits });
        for (name, share) in &l.blocked {
            self.put(EntryKind::Blocked, name, None, *share);
        }
    }

    fn means(self, n: f64) -> Vec<AccountEntry> {
        let entry = |((kind, name, _), (task, share)): (AccountKey, (Option<TaskKind>, Share))| {
            let count = Some(share.count as f64 / n);
            AccountEntry { kind, name, task, time: share.time.as_f64() / n, count }
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

pub(crate) fn estimate(good: &[&Sample]) -> Reading<EstimateReport> {
    let all: Vec<_> = good.iter().filter_map(|s| s.estimate.value()).collect();
    if all.is_empty() {
        return first_reason(good, |s| s.estimate.absent().cloned());
    }
    let known: Vec<_> = all.iter().filter_map(|e| e.interrupts.value()).collect();
    let mut interrupts: BTreeMap<String, f64> = BTreeMap::new();
    for (name, count) in known.iter().flat_map(|k| k.iter()) {
        *interrupts.entry(name.clone()).or_default() += *count as f64 / known.len() as f64;
    }
    let interrupts = match known.is_empty() {
        true => first_reason(good, |s| s.estimate.value()?.interrupts.absent().cloned()),
        false => Reading::Value(interrupts),
    };
    let waited = mean(good, |s| read(&s.estimate).and_then(|e| read(&e.waited)).map(|w| w.as_f64()));
    Reading::Value(EstimateReport { waited, interrupts })
}

pub(crate) fn counters(good: &[&Sample]) -> Reading<CountersReport> {
    let all: Vec<_> = good.iter().filter_map(|s| Some((s, s.counters.value()?))).collect();
    if all.is_empty() {
        return first_reason(good, |s| s.counters.absent().cloned());
    }
    let n = all.len() as f64;
    let sum =
        |of: &dyn Fn(&crate::sample::account::Counters) -> u64| all.iter().map(|(_, c)| of(c) as f64).sum::<f64>();
    let cycles = sum(&|c| c.cycles_user.saturating_add(c.cycles_kernel));
    let kernel = sum(&|c| c.instructions_kernel);
    let instructions = sum(&|c| c.instructions_user) + kernel;
    let pt: Option<f64> = all.iter().map(|(s, _)| s.process_time().ok().map(|t| t.as_f64())).sum();
    Reading::Value(CountersReport {
        cycles: cycles / n,
        instructions: instructions / n,
        kernel_share: if instructions > 0.0 { kernel / instructions } else { 0.0 },
        clock_ghz: pt.filter(|t| *t > 0.0).map(|t| cycles / t),
    })
}
