//! Counts of the program's tree by the kernel (software events) and the CPU (hardware events): raw, with the times that tell an estimate
//! from a count.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An event of perf_event_open(2) that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterEvent {
    /// CPU time, ns.
    TaskClock,
    ContextSwitches,
    CpuMigrations,
    PageFaults,
    /// Cycles in user mode.
    CyclesUser,
    CyclesKernel,
    /// Instructions in user mode.
    InstructionsUser,
    InstructionsKernel,
    Branches,
    BranchMisses,
    /// Accesses of the last-level cache.
    CacheReferences,
    CacheMisses,
}

impl CounterEvent {
    /// In the order in which they are opened: where the CPU has too few counters, the first ones are counted first.
    pub const ALL: [CounterEvent; 12] = [
        CounterEvent::TaskClock,
        CounterEvent::ContextSwitches,
        CounterEvent::CpuMigrations,
        CounterEvent::PageFaults,
        CounterEvent::CyclesUser,
        CounterEvent::CyclesKernel,
        CounterEvent::InstructionsUser,
        CounterEvent::InstructionsKernel,
        CounterEvent::Branches,
        CounterEvent::BranchMisses,
        CounterEvent::CacheReferences,
        CounterEvent::CacheMisses,
    ];

    /// Counted by the kernel, on every machine.
    pub fn is_software(self) -> bool {
        self <= CounterEvent::PageFaults
    }
}

/// For how long an event was to be counted, and for how long it was, summed over the tasks of the tree. The kernel lets events take
/// turns where the CPU has fewer counters than there are events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTimes {
    pub enabled: Nanos,
    pub running: Nanos,
}

/// What an event's counter read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCount {
    /// As counted, during [`EventTimes::running`].
    pub count: u64,
    /// Absent of samples of earlier versions, whose counts were scaled before they were stored.
    pub times: Reading<EventTimes>,
    /// The kernel was left out, as the user may not count there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_only: bool,
}

impl EventCount {
    /// Counted for the whole time.
    pub fn complete(count: u64, time: Nanos) -> EventCount {
        let times = Reading::Value(EventTimes { enabled: time, running: time });
        EventCount { count, times, user_only: false }
    }

    /// The share of the time in which it was counted, if that is not all of it: the value is scaled then, an estimate.
    pub fn scaled_from(&self) -> Option<f64> {
        let times = self.times.value().filter(|t| t.running < t.enabled)?;
        Some(times.running.as_f64() / times.enabled.as_f64())
    }

    /// The count, scaled to the whole time as perf does.
    ///
    /// # Errors
    /// If it was never counted: what there is then is not zero.
    pub fn value(&self) -> Result<f64, Absent> {
        match self.scaled_from() {
            None => Ok(self.count as f64),
            Some(share) if share > 0.0 && share < 1.0 => Ok(self.count as f64 / share),
            Some(_) => Err(never_counted()),
        }
    }
}

/// Why an event without a moment on a counter has no count.
pub fn never_counted() -> Absent {
    Absent::Lost("other events had the CPU's counters for the whole time".to_owned())
}

/// The counts of one execution, from exec on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCounters", into = "StoredCounters")]
pub struct Counters(BTreeMap<CounterEvent, Reading<EventCount>>);

impl FromIterator<(CounterEvent, Reading<EventCount>)> for Counters {
    fn from_iter<I: IntoIterator<Item = (CounterEvent, Reading<EventCount>)>>(all: I) -> Counters {
        Counters(all.into_iter().collect())
    }
}

impl Counters {
    /// An event's count.
    ///
    /// # Errors
    /// Why there is none.
    pub fn get(&self, event: CounterEvent) -> Result<&EventCount, Absent> {
        match self.0.get(&event) {
            Some(reading) => reading.as_result().map_err(Clone::clone),
            None => Err(Absent::NotAsked("the version of tare that took the sample did not count it".into())),
        }
    }
}

/// The same as it is stored: each reason once, with its events.
#[derive(Clone, Serialize, Deserialize)]
struct StoredCounters {
    #[serde(default)]
    counts: BTreeMap<CounterEvent, EventCount>,
    #[serde(default)]
    absent: Vec<AbsentEvents>,
    /// What earlier versions stored, scaled.
    #[serde(flatten, skip_serializing)]
    scaled: Option<ScaledCounts>,
}

#[derive(Clone, Serialize, Deserialize)]
struct AbsentEvents {
    why: Absent,
    events: Vec<CounterEvent>,
}

#[derive(Clone, Deserialize)]
struct ScaledCounts {
    cycles_user: u64,
    cycles_kernel: u64,
    instructions_user: u64,
    instructions_kernel: u64,
}

impl From<StoredCounters> for Counters {
    fn from(stored: StoredCounters) -> Counters {
        let StoredCounters { counts, absent, scaled } = stored;
        let absent = absent.into_iter().flat_map(|AbsentEvents { why, events }| {
            events.into_iter().map(move |event| (event, Reading::Absent(why.clone())))
        });
        let unknown = || {
            Reading::Absent(Absent::NotAsked(
                "the version of tare that took the sample stored the scaled count only".into(),
            ))
        };
        let earlier = scaled.into_iter().flat_map(|s| {
            [
                (CounterEvent::CyclesUser, s.cycles_user),
                (CounterEvent::CyclesKernel, s.cycles_kernel),
                (CounterEvent::InstructionsUser, s.instructions_user),
                (CounterEvent::InstructionsKernel, s.instructions_kernel),
            ]
        });
        let earlier = earlier.map(|(event, count)| (event, EventCount { count, times: unknown(), user_only: false }));
        let known = earlier.chain(counts).map(|(event, count)| (event, Reading::Value(count)));
        absent.chain(known).collect()
    }
}

impl From<Counters> for StoredCounters {
    fn from(all: Counters) -> StoredCounters {
        let mut stored = StoredCounters { counts: BTreeMap::new(), absent: Vec::new(), scaled: None };
        for (event, reading) in all.0 {
            match reading {
                Reading::Value(count) => {
                    stored.counts.insert(event, count);
                }
                Reading::Absent(why) => match stored.absent.iter_mut().find(|a| a.why == why) {
                    Some(same) => same.events.push(event),
                    None => stored.absent.push(AbsentEvents { why, events: vec![event] }),
                },
            }
        }
        stored
    }
}

/// A number of an execution that programs are compared by: an event, or both modes of one together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    Instructions,
    InstructionsUser,
    InstructionsKernel,
    Cycles,
    CyclesUser,
    CyclesKernel,
    Branches,
    BranchMisses,
    CacheReferences,
    CacheMisses,
    PageFaults,
    ContextSwitches,
    CpuMigrations,
    TaskClock,
}

impl Counter {
    pub const ALL: [Counter; 14] = [
        Counter::Instructions,
        Counter::InstructionsUser,
        Counter::InstructionsKernel,
        Counter::Cycles,
        Counter::CyclesUser,
        Counter::CyclesKernel,
        Counter::Branches,
        Counter::BranchMisses,
        Counter::CacheReferences,
        Counter::CacheMisses,
        Counter::PageFaults,
        Counter::ContextSwitches,
        Counter::CpuMigrations,
        Counter::TaskClock,
    ];

    /// As `perf stat` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Instructions => "instructions",
            Counter::InstructionsUser => "instructions:u",
            Counter::InstructionsKernel => "instructions:k",
            Counter::Cycles => "cycles",
            Counter::CyclesUser => "cycles:u",
            Counter::CyclesKernel => "cycles:k",
            Counter::Branches => "branches",
            Counter::BranchMisses => "branch-misses",
            Counter::CacheReferences => "cache-references",
            Counter::CacheMisses => "cache-misses",
            Counter::PageFaults => "page-faults",
            Counter::ContextSwitches => "context-switches",
            Counter::CpuMigrations => "cpu-migrations",
            Counter::TaskClock => "task-clock",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Counter> {
        Counter::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The events that it is the sum of.
    pub fn events(self) -> &'static [CounterEvent] {
        match self {
            Counter::Instructions => &[CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel],
            Counter::InstructionsUser => &[CounterEvent::InstructionsUser],
            Counter::InstructionsKernel => &[CounterEvent::InstructionsKernel],
            Counter::Cycles => &[CounterEvent::CyclesUser, CounterEvent::CyclesKernel],
            Counter::CyclesUser => &[CounterEvent::CyclesUser],
            Counter::CyclesKernel => &[CounterEvent::CyclesKernel],
            Counter::Branches => &[CounterEvent::Branches],
            Counter::BranchMisses => &[CounterEvent::BranchMisses],
            Counter::CacheReferences => &[CounterEvent::CacheReferences],
            Counter::CacheMisses => &[CounterEvent::CacheMisses],
            Counter::PageFaults => &[CounterEvent::PageFaults],
            Counter::ContextSwitches => &[CounterEvent::ContextSwitches],
            Counter::CpuMigrations => &[CounterEvent::CpuMigrations],
            Counter::TaskClock => &[CounterEvent::TaskClock],
        }
    }

    /// Of one execution.
    ///
    /// # Errors
    /// Why one of its events has no count.
    pub fn of(self, counters: &Counters) -> Result<CounterValue, Absent> {
        let mut sum = CounterValue { value: 0.0, counted: None, user_only: false };
        for event in self.events() {
            let count = counters.get(*event)?;
            sum.value += count.value()?;
            sum.user_only |= count.user_only;
            let least = |a: f64| count.scaled_from().map_or(a, |b| a.min(b));
            sum.counted = sum.counted.map(least).or(count.scaled_from());
        }
        Ok(sum)
    }
}

/// A counter of one execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterValue {
    /// Scaled to the whole time, where it was counted for a part of it only.
    pub value: f64,
    /// That part, below 1; of several events the least.
    pub counted: Option<f64>,
    /// Without what happened in the kernel.
    pub user_only: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(count: u64, enabled: i64, running: i64) -> EventCount {
        let times = Reading::Value(EventTimes { enabled: Nanos(enabled), running: Nanos(running) });
        EventCount { count, times, user_only: false }
    }

    #[test]
    fn a_count_is_scaled_to_the_time_enabled() {
        let all = count(1_000, 50, 50);
        assert_eq!((all.value(), all.scaled_from()), (Ok(1_000.0), None));
        let part = count(1_000, 80, 50);
        assert_eq!((part.value(), part.scaled_from()), (Ok(1_600.0), Some(0.625)));
        assert_eq!(count(0, 80, 0).value(), Err(never_counted()), "never counted is not zero");
        assert!(count(9, i64::MAX, i64::MIN).value().is_err());
        // Some kernels count the time of reading on one side only.
        assert_eq!(count(7, 50, 51).scaled_from(), None);
    }

    #[test]
    fn a_sum_is_as_good_as_its_worst_part() {
        let cycles_with = |kernel: Reading<EventCount>| {
            let user = Reading::Value(count(100, 80, 80));
            let all: Counters =
                [(CounterEvent::CyclesUser, user), (CounterEvent::CyclesKernel, kernel)].into_iter().collect();
            Counter::Cycles.of(&all)
        };
        let scaled = cycles_with(Reading::Value(count(10, 80, 20))).unwrap();
        assert_eq!((scaled.value, scaled.counted), (140.0, Some(0.25)));
        assert_eq!(cycles_with(Reading::Value(count(10, 80, 80))).unwrap().counted, None);
        // A part alone is not the whole.
        let why = Absent::NoPermission("x".into());
        assert_eq!(cycles_with(Reading::Absent(why.clone())).unwrap_err(), why);
        assert!(matches!(Counter::PageFaults.of(&Counters::default()), Err(Absent::NotAsked(_))));
    }

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        for counter in Counter::ALL {
            assert_eq!(Counter::named(counter.name()), Some(counter));
        }
        let events: Vec<CounterEvent> = Counter::ALL.into_iter().flat_map(|c| c.events().iter().copied()).collect();
        assert!(CounterEvent::ALL.iter().all(|e| events.contains(e)));
    }

    #[test]
    fn counts_are_stored_with_each_reason_once() {
        let none = || Reading::Absent(Absent::NotSupported("no PMU".into()));
        let all: Counters = CounterEvent::ALL
            .into_iter()
            .map(|e| (e, if e.is_software() { Reading::Value(count(5, 80, 80)) } else { none() }))
            .collect();
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text.matches("no PMU").count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), all);
    }

    #[test]
    fn counts_of_earlier_versions_are_known_without_their_times() {
        let text = r#"{"cycles_user":1,"cycles_kernel":2,"instructions_user":3,"instructions_kernel":4}"#;
        let all: Counters = serde_json::from_str(text).unwrap();
        assert_eq!(
            Counter::Instructions.of(&all).unwrap(),
            CounterValue { value: 7.0, counted: None, user_only: false }
        );
        assert!(all.get(CounterEvent::CyclesUser).unwrap().times.absent().is_some());
        assert!(Counter::Branches.of(&all).is_err());
        // Stored again, nothing changes.
        let again = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Counters>(&again).unwrap(), all);
    }
}
