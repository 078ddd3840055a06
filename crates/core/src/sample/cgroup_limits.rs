//! What the limits of a program's cgroups did during a sample: quotas of CPU time (cgroup v1 `cpu.cfs_quota_us`, v2 `cpu.max`) and memory.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::sample::account::{Ledger, Preemptor, Share};
use serde::{Deserialize, Serialize};

/// By the kernel's counts of each cgroup: of all that ran in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// The cgroups whose quota of CPU time was used up: how long their tasks then waited on each CPU, summed over the CPUs, and in how
    /// many periods. The program's own cgroup first, then its parents.
    pub throttled: Vec<(Name, Share)>,
    /// Processes that the kernel killed for lack of memory.
    pub oom_kills: OomKills,
}

/// Processes that the kernel killed for lack of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OomKills {
    /// In the program's cgroup and below it.
    pub cgroup: Reading<u64>,
    /// On the whole machine.
    pub machine: Reading<u64>,
    /// The cgroup whose limit of memory was reached meanwhile; `None` if it was the machine's memory, or is not known.
    pub limit: Option<Name>,
}

/// How the kernel's counts tell a lack of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// How many processes were killed.
    pub kills: u64,
    /// In the program's cgroup; else somewhere on the machine.
    pub in_cgroup: bool,
    /// The cgroup whose limit was reached, where that is known.
    pub limit: Option<String>,
}

impl CgroupLimits {
    /// The quota that held the program up for longest, if one did.
    pub fn longest_throttling(&self) -> Option<&(Name, Share)> {
        self.throttled.iter().max_by_key(|(_, share)| share.time).filter(|(_, share)| share.time > Nanos::ZERO)
    }

    /// What was killed for lack of memory, if anything was. What was killed elsewhere while nothing of the program's cgroup was
    /// does not count.
    pub fn out_of_memory(&self) -> Option<OutOfMemory> {
        let limit = self.oom_kills.limit.as_ref().map(ToString::to_string);
        match (&self.oom_kills.cgroup, &self.oom_kills.machine) {
            (Reading::Value(kills), _) if *kills > 0 => Some(OutOfMemory { kills: *kills, in_cgroup: true, limit }),
            (Reading::Absent(_), Reading::Value(kills)) if *kills > 0 => {
                Some(OutOfMemory { kills: *kills, in_cgroup: false, limit })
            }
            _ => None,
        }
    }
}

/// Samples of earlier versions have no such reading.
pub fn not_recorded() -> Reading<CgroupLimits> {
    Reading::Absent(Absent::NotAsked("the version of tare that took the sample did not record it".into()))
}

pub(crate) fn is_not_recorded(limits: &Reading<CgroupLimits>) -> bool {
    *limits == not_recorded()
}

/// How the time that tasks were runnable without a CPU divides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// While the quota was used up: at most the time for which the kernel held the cgroup up.
    pub throttled: Share,
    pub preemptors: Vec<Preemptor>,
    /// While no known task had the CPU.
    pub unnamed: Nanos,
}

impl Waits {
    /// For the program's own tasks, or for all others.
    pub fn preempted(&self, own: bool) -> Nanos {
        self.preemptors.iter().filter(|p| p.kind.is_none() == own).map(|p| p.share.time).sum()
    }
}

impl Ledger {
    /// Divides the waits, with `throttled` as the time for which a quota held up each of the tasks.
    ///
    /// A task that is held up is runnable, and another one may have the CPU meanwhile, or none: the trace shows these, not the quota.
    /// What the quota explains is taken first from the waits in which no task had the CPU, then from the others in proportion. Not
    /// from waits for the program's own tasks: where one of them runs, its cgroup is not held up.
    pub fn waits(&self, throttled: Share) -> Waits {
        let mut waits =
            Waits { throttled: Share::default(), preemptors: self.preemptors.clone(), unnamed: self.unnamed_wait() };
        let others = waits.preempted(false);
        let idle = throttled.time.min(waits.unnamed).max(Nanos::ZERO);
        let rest = (throttled.time - idle).min(others).max(Nanos::ZERO);
        if idle + rest == Nanos::ZERO {
            return waits;
        }
        waits.unnamed = waits.unnamed - idle;
        // Cumulative shares, so that the parts add up to the nanosecond.
        let (mut seen, mut taken) = (Nanos::ZERO, Nanos::ZERO);
        for p in waits.preemptors.iter_mut().filter(|p| p.kind.is_some()) {
            seen += p.share.time;
            let until = i128::from(rest.0) * i128::from(seen.0) / i128::from(others.0.max(1));
            let part = Nanos(i64::try_from(until).unwrap_or(rest.0)) - taken;
            p.share.time = p.share.time - part;
            taken += part;
        }
        waits.throttled = Share { time: idle + rest, count: throttled.count };
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::daemons::TaskKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn ledger(own: i64, others: &[i64], unnamed: i64) -> Ledger {
        let share = |time: i64| Share { time: Nanos(time), count: 1 };
        let preemptor =
            |time: &i64| Preemptor { name: Name::new(b"x"), kind: Some(TaskKind::User), share: share(*time) };
        let mut preemptors: Vec<Preemptor> = others.iter().map(preemptor).collect();
        preemptors.push(Preemptor { name: Name::new(b""), kind: None, share: share(own) });
        Ledger {
            tasks: 1,
            on_cpu: share(1000),
            stolen: Reading::Value(Share::default()),
            interrupts: BTreeMap::new(),
            softirqs: BTreeMap::new(),
            runtime: Nanos(1000),
            preempted: share(own + others.iter().sum::<i64>()),
            woken: share(unnamed),
            preemptors,
            blocked: BTreeMap::new(),
        }
    }

    fn throttled(time: i64) -> Share {
        Share { time: Nanos(time), count: 3 }
    }

    #[test]
    fn a_quota_explains_idle_waits_first_and_never_those_for_own_tasks() {
        let l = ledger(50, &[300, 100], 200);
        assert_eq!(l.waits(Share::default()).unnamed, Nanos(200));
        let some = l.waits(throttled(150));
        assert_eq!((some.throttled, some.unnamed), (throttled(150), Nanos(50)));
        assert_eq!((some.preempted(false), some.preempted(true)), (Nanos(400), Nanos(50)));
        let more = l.waits(throttled(400));
        assert_eq!((more.throttled.time, more.unnamed), (Nanos(400), Nanos(0)));
        let times: Vec<i64> = more.preemptors.iter().map(|p| p.share.time.0).collect();
        assert_eq!(times, [150, 50, 50], "half of each");
        let all = l.waits(throttled(10_000));
        assert_eq!((all.throttled.time, all.preempted(false), all.preempted(true)), (Nanos(600), Nanos(0), Nanos(50)));
    }

    #[test]
    fn kills_elsewhere_are_not_the_programs() {
        let limits = |cgroup: Reading<u64>, machine| CgroupLimits {
            throttled: Vec::new(),
            oom_kills: OomKills { cgroup, machine: Reading::Value(machine), limit: None },
        };
        let unknown = || Reading::Absent(Absent::NotAsked("x".into()));
        assert_eq!(limits(Reading::Value(0), 2).out_of_memory(), None);
        assert_eq!(limits(unknown(), 0).out_of_memory(), None);
        assert!(!limits(unknown(), 2).out_of_memory().unwrap().in_cgroup);
        assert!(limits(Reading::Value(1), 2).out_of_memory().unwrap().in_cgroup);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(own in 0..1i64 << 40, others in proptest::collection::vec(0..1i64 << 40, 0..6), unnamed in 0..1i64 << 40,
            time in 0..1i64 << 42) {
            let l = ledger(own, &others, unnamed);
            let w = l.waits(throttled(time));
            let sum = w.throttled.time + w.preempted(true) + w.preempted(false) + w.unnamed;
            prop_assert_eq!(sum, l.waited());
            prop_assert!(w.throttled.time <= Nanos(time) && w.unnamed >= Nanos::ZERO);
            prop_assert!(w.preemptors.iter().all(|p| p.share.time >= Nanos::ZERO));
        }
    }
}
