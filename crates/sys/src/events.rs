//! Counts of perf_event_open(2) of the programs that this process starts, from their exec on, with all their descendants.
//!
//! Each event is opened by itself: inherited ones cannot be read as a group before Linux 6.13. Where the CPU has fewer counters than there
//! are events, the kernel lets them take turns. Cycles and instructions take no turns (`pinned`): they are exact or absent.

use crate::perf;
use crate::{SysError, SysResult};
use std::io::Read;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::counters::{CounterEvent, EventCount, EventTimes, never_counted};

/// Which events can be opened here, and how: found once, so that a sample costs no call that fails.
pub struct EventSet {
    events: Vec<(CounterEvent, Result<CountMode, Absent>)>,
    /// Those that must not take turns have counters of their own.
    pinned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountMode {
    All,
    /// The user may not count in the kernel.
    UserOnly,
}

pub struct CountingEvents(Vec<(CounterEvent, OpenEvent)>);

/// In which mode an event is counted, with its descriptor; or why it is not.
type OpenEvent = Result<(CountMode, std::fs::File), Absent>;

/// Whether an event takes no turns, so that others that do cannot take its time.
fn is_pinned(event: CounterEvent) -> bool {
    use CounterEvent::{CyclesKernel, CyclesUser, InstructionsKernel, InstructionsUser};
    matches!(event, CyclesUser | CyclesKernel | InstructionsUser | InstructionsKernel)
}

fn flags(event: CounterEvent, mode: CountMode) -> u64 {
    let own = match event {
        CounterEvent::CyclesUser | CounterEvent::InstructionsUser => perf::EXCLUDE_KERNEL,
        CounterEvent::CyclesKernel | CounterEvent::InstructionsKernel => perf::EXCLUDE_USER,
        _ => 0,
    };
    let mode = if mode == CountMode::UserOnly { perf::EXCLUDE_KERNEL } else { 0 };
    perf::DISABLED | perf::INHERIT | perf::ENABLE_ON_EXEC | perf::EXCLUDE_HV | own | mode
}

/// `type` and `config` of `struct perf_event_attr`.
fn numbers(event: CounterEvent) -> (u32, u64) {
    match event {
        CounterEvent::TaskClock => (perf::SOFTWARE, perf::TASK_CLOCK),
        CounterEvent::PageFaults => (perf::SOFTWARE, 2),
        CounterEvent::ContextSwitches => (perf::SOFTWARE, 3),
        CounterEvent::CpuMigrations => (perf::SOFTWARE, 4),
        CounterEvent::CyclesUser | CounterEvent::CyclesKernel => (perf::HARDWARE, perf::CPU_CYCLES),
        CounterEvent::InstructionsUser | CounterEvent::InstructionsKernel => (perf::HARDWARE, perf::INSTRUCTIONS),
        CounterEvent::CacheReferences => (perf::HARDWARE, 2),
        CounterEvent::CacheMisses => (perf::HARDWARE, perf::CACHE_MISSES),
        CounterEvent::Branches => (perf::HARDWARE, 4),
        CounterEvent::BranchMisses => (perf::HARDWARE, 5),
    }
}

fn open(event: CounterEvent, mode: CountMode, pinned: bool) -> SysResult<std::fs::File> {
    let (kind, config) = numbers(event);
    let pinned = if pinned && is_pinned(event) { perf::PINNED } else { 0 };
    perf::open_of(0, kind, config, flags(event, mode) | pinned, perf::TIMES)
}

impl EventSet {
    /// Tries each of these events.
    pub fn probe(wanted: &[CounterEvent]) -> EventSet {
        let tried: Vec<(CounterEvent, Result<CountMode, SysError>)> = wanted.iter().map(|e| (*e, probe(*e))).collect();
        let hardware = |e: &CounterEvent| !e.is_software();
        let hardware_found = tried.iter().any(|(e, mode)| hardware(e) && mode.is_ok());
        // One that counts none of the wanted events is a PMU, too.
        let has_pmu = hardware_found || probe(CounterEvent::CyclesUser).is_ok();
        // Only beside an event that takes turns is it seen that a pinned one lost its counter.
        let pinned = tried.iter().any(|(e, mode)| hardware(e) && !is_pinned(*e) && mode.is_ok());
        let named = |(event, mode): (CounterEvent, Result<CountMode, SysError>)| {
            (event, mode.map_err(|e| absent(&e, event, has_pmu, paranoia())))
        };
        EventSet { events: tried.into_iter().map(named).collect(), pinned }
    }

    /// The events that cannot be counted, and why.
    pub fn missing(&self) -> impl Iterator<Item = (CounterEvent, &Absent)> {
        self.events.iter().filter_map(|(event, mode)| Some((*event, mode.as_ref().err()?)))
    }

    /// Opens all that can be opened: one call each, and a descriptor.
    pub fn open(&self) -> CountingEvents {
        let opened_event = |(event, mode): &(CounterEvent, Result<CountMode, Absent>)| {
            let opened = mode.clone().and_then(|mode| {
                open(*event, mode, self.pinned).map(|file| (mode, file)).map_err(|e| Absent::Failed(e.to_string()))
            });
            (*event, opened)
        };
        CountingEvents(self.events.iter().map(opened_event).collect())
    }

    /// What they have counted of a tree that has ended. Where cycles or instructions did not get counters of their own, they take
    /// turns from the next sample on.
    pub fn read(&mut self, opened: CountingEvents) -> Vec<(CounterEvent, Reading<EventCount>)> {
        let mut counts: Vec<(CounterEvent, Result<EventCount, Absent>)> = opened
            .0
            .into_iter()
            .map(|(event, opened)| (event, opened.and_then(|(mode, file)| read(mode, file))))
            .collect();
        if self.pinned && lost_counters(&mut counts) {
            self.pinned = false;
        }
        counts.into_iter().map(|(event, count)| (event, count.into())).collect()
    }
}

fn probe(event: CounterEvent) -> SysResult<CountMode> {
    let all = open(event, CountMode::All, false);
    // Context switches and migrations happen in the kernel: without it none would be counted.
    let in_user_mode = !matches!(
        event,
        CounterEvent::ContextSwitches
            | CounterEvent::CpuMigrations
            | CounterEvent::CyclesKernel
            | CounterEvent::InstructionsKernel
    );
    match all {
        Err(e) if in_user_mode && is_refused(&e) => {
            open(event, CountMode::UserOnly, false)?;
            // It counts the same either way.
            Ok(if event == CounterEvent::TaskClock { CountMode::All } else { CountMode::UserOnly })
        }
        opened => opened.map(|_| CountMode::All),
    }
}

fn is_refused(e: &SysError) -> bool {
    matches!(e.errno(), Some(libc::EACCES | libc::EPERM))
}

/// `kernel.perf_event_paranoid`.
fn paranoia() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// Why an event cannot be counted.
fn absent(e: &SysError, event: CounterEvent, has_pmu: bool, paranoia: Option<i32>) -> Absent {
    match e.errno() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if has_pmu && !event.is_software() => {
            Absent::NotSupported("the PMU of this CPU does not count it".to_owned())
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if !event.is_software() => {
            Absent::NotSupported("no PMU (performance monitoring unit)".to_owned())
        }
        Some(libc::EACCES | libc::EPERM) => {
            // In user mode up to 2, which Debian and Ubuntu raise above it; in the kernel up to 1.
            let most = match event {
                CounterEvent::ContextSwitches | CounterEvent::CpuMigrations => 1,
                CounterEvent::CyclesKernel | CounterEvent::InstructionsKernel => 1,
                _ => 2,
            };
            Absent::NoPermission(match paranoia {
                Some(found) if found > most => {
                    format!("kernel.perf_event_paranoid of {most} or less (it is {found}), or CAP_PERFMON")
                }
                _ => "perf_event_open(2), which this system refuses".to_owned(),
            })
        }
        _ => e.absent("perf_event_open(2)"),
    }
}

fn read(mode: CountMode, mut file: std::fs::File) -> Result<EventCount, Absent> {
    let mut value = [0; 24];
    file.read_exact(&mut value).map_err(|e| Absent::Failed(SysError::io("read a counter", e).to_string()))?;
    let word = |at: usize| value.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes);
    let time = |at: usize| Nanos(i64::try_from(word(at)).unwrap_or(i64::MAX));
    let times = EventTimes { enabled: time(8), running: time(16) };
    if times.enabled == Nanos::ZERO {
        return Err(Absent::NotAsked("it was enabled at no time: the program did not start".to_owned()));
    }
    if times.running == Nanos::ZERO {
        return Err(never_counted());
    }
    Ok(EventCount { count: word(0), times: Reading::Value(times), user_only: mode == CountMode::UserOnly })
}

/// The kernel stops a pinned event for which no counter is free, in one task and without a word: it is then enabled for a shorter time
/// than one that takes turns. Makes the counts of those absent; whether there are any.
fn lost_counters(counts: &mut [(CounterEvent, Result<EventCount, Absent>)]) -> bool {
    let enabled = |count: &Result<EventCount, Absent>| count.as_ref().ok()?.times.value().map(|t| t.enabled.0);
    let by_turns = counts.iter().filter(|(e, _)| !e.is_software() && !is_pinned(*e));
    let Some(whole) = by_turns.filter_map(|(_, count)| enabled(count)).max() else { return false };
    let mut lost = false;
    for (_, count) in counts.iter_mut().filter(|(e, _)| is_pinned(*e)) {
        // Both are enabled at the same moments, by the same clock.
        let short = enabled(count).map_or(count.is_err(), |time| whole.saturating_sub(time) > whole / 10_000);
        if short {
            *count = Err(never_counted_all_the_time());
            lost = true;
        }
    }
    lost
}

fn never_counted_all_the_time() -> Absent {
    Absent::Lost("the CPU had no counter for it for a part of the time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(enabled: i64, running: i64) -> Result<EventCount, Absent> {
        let times = EventTimes { enabled: Nanos(enabled), running: Nanos(running) };
        Ok(EventCount { count: 5, times: Reading::Value(times), user_only: false })
    }

    fn error(number: i32) -> SysError {
        SysError::io("perf_event_open", std::io::Error::from_raw_os_error(number))
    }

    #[test]
    fn the_reason_is_that_of_the_event_and_the_user() {
        let why = |n, event, pmu, paranoia| absent(&error(n), event, pmu, paranoia).to_string();
        let none = why(libc::ENOENT, CounterEvent::Branches, false, Some(2));
        assert!(none.contains("no PMU"), "{none}");
        let other = why(libc::ENOENT, CounterEvent::Branches, true, Some(2));
        assert!(other.contains("PMU of this CPU does not count it"), "{other}");
        let kernel = why(libc::EACCES, CounterEvent::CyclesKernel, true, Some(2));
        assert!(kernel.contains("kernel.perf_event_paranoid of 1 or less (it is 2)"), "{kernel}");
        let user = why(libc::EACCES, CounterEvent::PageFaults, false, Some(4));
        assert!(user.contains("of 2 or less (it is 4)"), "{user}");
        // As in a container, whose filter refuses the call.
        let filter = why(libc::EPERM, CounterEvent::PageFaults, false, Some(1));
        assert!(filter.contains("this system refuses") && !filter.contains("paranoid"), "{filter}");
    }

    #[test]
    fn a_pinned_event_that_was_stopped_has_no_count() {
        let mut counts = vec![
            (CounterEvent::TaskClock, count(1_000_900, 1_000_900)),
            (CounterEvent::CyclesUser, count(1_000_000, 1_000_000)),
            (CounterEvent::InstructionsUser, count(999_000, 999_000)),
            (CounterEvent::Branches, count(1_000_000, 400_000)),
        ];
        assert!(lost_counters(&mut counts));
        assert!(counts[1].1.is_ok() && matches!(counts[2].1, Err(Absent::Lost(_))) && counts[3].1.is_ok());
        // Without one that takes turns nothing tells.
        assert!(!lost_counters(&mut [(CounterEvent::CyclesUser, count(10, 10))]));
    }

    #[test]
    fn software_events_count_a_program_and_its_children() {
        let software: Vec<CounterEvent> = CounterEvent::ALL.into_iter().filter(|e| e.is_software()).collect();
        let mut set = EventSet::probe(&software);
        let mut measure = |script: &str| {
            let opened = set.open();
            assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
            set.read(opened)
        };
        let (one, many) = (measure("/bin/true"), measure("for i in 1 2 3 4 5 6 7 8; do /bin/true; done"));
        for ((event, one), (_, many)) in one.iter().zip(&many) {
            let (Reading::Value(one), Reading::Value(many)) = (one, many) else {
                let refused = matches!(one, Reading::Absent(Absent::NoPermission(_)));
                assert!(refused && !is_root(), "{event:?}: {one:?}");
                continue;
            };
            let times = *one.times.value().unwrap();
            assert!(times.enabled > Nanos::ZERO && times.running == times.enabled, "{event:?}: {times:?}");
            if matches!(event, CounterEvent::TaskClock | CounterEvent::PageFaults) {
                assert!(many.count > one.count && one.count > 0, "{event:?}: {one:?} {many:?}");
            }
        }
    }

    fn is_root() -> bool {
        // SAFETY: no arguments.
        unsafe { libc::geteuid() == 0 }
    }
}
