//! Process time of the program's tree, and where it was read.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use serde::{Deserialize, Serialize};

/// Where a process time came from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PtSource {
    /// `cpu.stat` of a cgroup v2 leaf that holds the whole tree.
    Cgroup,
    /// perf software event task-clock, inherited by the tree, enabled on exec. It reads the CPU's clock while a task has
    /// the CPU, so it contains steal time, which the scheduler's account excludes where the kernel was
    /// built with CONFIG_PARAVIRT_TIME_ACCOUNTING (`update_rq_clock_task`, kernel/sched/core.c).
    TaskClock,
    /// Exit records of the tree's processes, by eBPF or taskstats.
    ExitRecords,
    /// `wait4`: the program and the descendants that were waited for.
    Wait4,
}

impl PtSource {
    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            PtSource::Cgroup => "cgroup v2 cpu.stat",
            PtSource::TaskClock => "perf task-clock",
            PtSource::ExitRecords => "exit records",
            PtSource::Wait4 => "wait4",
        }
    }

    /// What it misses, if anything.
    pub fn misses(self) -> Option<&'static str> {
        match self {
            PtSource::Cgroup => None,
            PtSource::TaskClock => Some(
                "the time before exec, and programs that change privilege (setuid), for which the kernel stops \
                 counting; it includes steal time",
            ),
            PtSource::ExitRecords => {
                Some("up to one timer tick per thread that ended before its process (per process, without eBPF)")
            }
            PtSource::Wait4 => Some(
                "descendants that no process waited for: those that outlived the program, or whose parent ignores \
                      SIGCHLD",
            ),
        }
    }
}

/// User and system time as the kernel divides them, and their exact sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    pub user: Nanos,
    /// In the kernel on the program's behalf.
    pub system: Nanos,
    /// Together; from the scheduler's clock, so not always the sum of two rounded figures.
    pub total: Nanos,
}

/// Process time of the whole tree, from every source that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessTimes {
    /// The source that is reported; the same in all counted samples of a program.
    pub source: PtSource,
    /// From the sample's cgroup (resolution 1 µs).
    pub cgroup: Reading<CpuTime>,
    /// From the perf event (resolution 1 ns).
    pub task_clock: Reading<Nanos>,
    /// Sum over the tree's exit records (understates each process by up to a tick).
    pub exit_records: Reading<Nanos>,
    /// From wait4, of the program and of orphans that tare reaped (resolution 1 µs).
    pub wait4: Reading<CpuTime>,
    /// Whether the source has seen all of the program.
    #[serde(default, skip_serializing_if = "SourceCheck::is_default")]
    pub check: SourceCheck,
}

/// What is known of whether a source has seen all of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCheck {
    /// By how much the run's source may be below wait4 by its nature ([`allowance`]); samples of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Nanos>,
    /// The run's source, where it saw less than wait4 in the program's first sample, so that wait4 is the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<PtSource>,
    /// The cgroup in which the main process ended, if that is not the one in which it started.
    pub moved_to: Reading<Option<Name>>,
}

impl SourceCheck {
    fn is_default(&self) -> bool {
        *self == SourceCheck::default()
    }
}

impl Default for SourceCheck {
    /// Samples of earlier versions.
    fn default() -> SourceCheck {
        let why = "the version of tare that took the sample did not record it";
        SourceCheck { allowance: None, replaced: None, moved_to: Reading::Absent(Absent::NotAsked(why.into())) }
    }
}

/// A source that saw less of the program than wait4 did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    pub source: PtSource,
    /// What the source counted.
    pub counted: Nanos,
    /// What wait4 saw.
    pub seen: Nanos,
}

/// By how much a source may be below wait4 although it saw the whole program.
///
/// `until_exec`: how long the start took at most, as the task-clock counts from exec on and wait4 from the start. `switches`:
/// context switches of the tree, of which those of `orphans` (CPU time) are not known. The task-clock starts after the scheduler
/// has chosen the task and stops before it chooses the next one (`prepare_task_switch`, kernel/sched/core.c), while the
/// scheduler's account has no gap. Steal time only
/// makes the task-clock larger; cgroup and wait4 both lack it, as both are the scheduler's account.
pub fn allowance(source: PtSource, until_exec: Nanos, switches: u64, orphans: Nanos) -> Nanos {
    let rounding = Nanos::from_micros(2);
    let switches = i64::try_from(switches).unwrap_or(i64::MAX);
    match source {
        // Two readings of 1 us each.
        PtSource::Cgroup | PtSource::Wait4 => rounding,
        PtSource::TaskClock => {
            let fixed = until_exec + EXEC + rounding + Nanos(orphans.0 / SHARE);
            Nanos(SWITCH.0.saturating_mul(switches).saturating_add(fixed.0))
        }
        PtSource::ExitRecords => TICK + rounding,
    }
}

/// The longest part of a context switch that the task-clock lacks.
const SWITCH: Nanos = Nanos::from_micros(5);
/// The kernel lets the parent of a vfork go on before it enables the task-clock (`begin_new_exec`, fs/exec.c), and ends it before the
/// last part of a task's exit (`do_exit`, kernel/exit.c). On a busy machine with cold caches either takes tens of microseconds.
const EXEC: Nanos = Nanos::from_micros(200);
/// On a loaded machine these parts took up to half a millisecond (of 100 samples beside a compiler on two CPUs, Linux 6.18). Where the
/// task-clock has not even half of the time, that is not the reason.
const LOADED: Nanos = Nanos::from_micros(300);
/// And one part in so many of the CPU time.
const LOADED_SHARE: i64 = 100;
/// One part in so many of the CPU time, where the number of context switches is not known.
const SHARE: i64 = 10;
/// The longest tick: CONFIG_HZ of 100.
const TICK: Nanos = Nanos::from_millis(10);
/// A start, for samples that have no allowance.
const EARLIER: Nanos = Nanos::from_millis(1);

impl ProcessTimes {
    /// PT by the run's source, never below what wait4 saw; absent where the source has not seen all of the program.
    pub fn total(&self) -> Result<Nanos, Absent> {
        let counted = self.counted()?;
        Ok(match (self.source, self.wait4.value()) {
            // What its start, its end or a tick lack is known.
            (PtSource::TaskClock | PtSource::ExitRecords, Some(wait4)) => counted.max(wait4.total),
            _ => counted,
        })
    }

    /// What the run's source itself counted; absent where it has not seen all of the program.
    pub fn counted(&self) -> Result<Nanos, Absent> {
        match self.shortfall(self.source) {
            Some(short) => Err(Absent::Lost(format!(
                "{} counted {} ms of CPU time, wait4 saw {} ms",
                short.source.name(),
                short.counted.as_f64() / 1e6,
                short.seen.as_f64() / 1e6
            ))),
            None => self.by(self.source),
        }
    }

    /// PT by a source.
    fn by(&self, source: PtSource) -> Result<Nanos, Absent> {
        let r = match source {
            PtSource::Cgroup => self.cgroup.as_result().map(|c| c.total),
            PtSource::TaskClock => self.task_clock.as_result().copied(),
            PtSource::ExitRecords => self.exit_records.as_result().copied(),
            PtSource::Wait4 => self.wait4.as_result().map(|c| c.total),
        };
        r.map_err(Clone::clone)
    }

    /// A source that is below wait4 by more than its nature explains has not seen all of the program.
    pub fn shortfall(&self, source: PtSource) -> Option<Shortfall> {
        let (counted, seen) = (self.by(source).ok()?, self.wait4.value()?.total);
        let allowance = self.check.allowance.unwrap_or(EARLIER + Nanos(seen.0 / SHARE));
        let loaded = match source {
            PtSource::TaskClock if counted.0 >= seen.0 / 2 => LOADED + Nanos(seen.0 / LOADED_SHARE),
            _ => Nanos::ZERO,
        };
        (seen - counted > allowance + loaded).then_some(Shortfall { source, counted, seen })
    }

    /// The shortfall of the run's source, whether wait4 stands in for it or not.
    pub fn run_shortfall(&self) -> Option<Shortfall> {
        self.shortfall(self.check.replaced.unwrap_or(self.source))
    }

    /// User and system time: from the cgroup, else from wait4; from wait4 where the cgroup has not seen all of the program.
    pub fn split(&self) -> Option<CpuTime> {
        let cgroup = self.cgroup.value().filter(|_| self.shortfall(PtSource::Cgroup).is_none());
        cgroup.filter(|_| self.source != PtSource::Wait4).or(self.wait4.value()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(source: PtSource, counted: i64, seen: i64, check: SourceCheck) -> ProcessTimes {
        let none = || Absent::NotAsked("x".into());
        let cpu = |total: i64| CpuTime { user: Nanos(total), system: Nanos::ZERO, total: Nanos(total) };
        let mut times = ProcessTimes {
            source,
            cgroup: Reading::Absent(none()),
            task_clock: Reading::Absent(none()),
            exit_records: Reading::Absent(none()),
            wait4: Reading::Value(cpu(seen)),
            check,
        };
        match source {
            PtSource::Cgroup => times.cgroup = Reading::Value(cpu(counted)),
            PtSource::TaskClock => times.task_clock = Reading::Value(Nanos(counted)),
            PtSource::ExitRecords => times.exit_records = Reading::Value(Nanos(counted)),
            PtSource::Wait4 => {}
        }
        times
    }

    fn checked(source: PtSource, switches: u64) -> SourceCheck {
        let allowance = allowance(source, Nanos::from_micros(100), switches, Nanos::ZERO);
        SourceCheck { allowance: Some(allowance), ..SourceCheck::default() }
    }

    #[test]
    fn a_source_that_saw_less_than_wait4_has_no_value() {
        use PtSource as S;
        const MS: i64 = 1_000_000;
        let found = |source, counted, switches| times(source, counted, 20 * MS, checked(source, switches));
        let total = |source, counted, switches| found(source, counted, switches).total();
        // What the resolutions explain.
        assert_eq!(total(S::Cgroup, 20 * MS - 2_000, 0), Ok(Nanos(20 * MS - 2_000)));
        for (source, counted, switches) in
            [(S::TaskClock, 20 * MS - 802_000, 0), (S::TaskClock, 18 * MS, 1_000), (S::ExitRecords, 10 * MS, 0)]
        {
            assert_eq!(found(source, counted, switches).counted(), Ok(Nanos(counted)));
            assert_eq!(total(source, counted, switches), Ok(Nanos(20 * MS)), "the larger one");
        }
        // A short program, too, but no more than half of it.
        let short = |counted| times(S::TaskClock, counted, MS, checked(S::TaskClock, 0)).total();
        assert!(short(MS / 2).is_ok() && short(MS / 2 - 1).is_err());
        // A larger one has seen what nobody waited for.
        assert_eq!(total(S::Cgroup, 90 * MS, 0), Ok(Nanos(90 * MS)));
        // What they do not.
        for (source, counted) in [
            (S::Cgroup, 20 * MS - 3_000),
            (S::TaskClock, 3_360),
            (S::TaskClock, 20 * MS - 850_000),
            (S::ExitRecords, 9 * MS),
        ] {
            assert!(matches!(total(source, counted, 0), Err(Absent::Lost(_))), "{source:?} {counted}");
        }
    }

    #[test]
    fn wait4_stands_in_for_a_source_that_saw_less() {
        let mut found = times(PtSource::TaskClock, 3_360, 20_400_000, checked(PtSource::TaskClock, 2));
        let short = Shortfall { source: PtSource::TaskClock, counted: Nanos(3_360), seen: Nanos(20_400_000) };
        assert_eq!(found.run_shortfall(), Some(short));
        (found.source, found.check.replaced) = (PtSource::Wait4, Some(PtSource::TaskClock));
        assert_eq!(found.total(), Ok(Nanos(20_400_000)));
        assert_eq!(found.run_shortfall(), Some(short));
    }

    #[test]
    fn a_cgroup_that_lacks_the_program_does_not_split_its_time() {
        let found = times(PtSource::Cgroup, 600_000, 50_000_000, checked(PtSource::Cgroup, 0));
        assert_eq!(found.split().map(|c| c.total), Some(Nanos(50_000_000)));
        let found = times(PtSource::Cgroup, 60_000_000, 50_000_000, checked(PtSource::Cgroup, 0));
        assert_eq!(found.split().map(|c| c.total), Some(Nanos(60_000_000)));
    }

    #[test]
    fn samples_of_earlier_versions_are_checked_by_a_wide_measure() {
        let total = |counted: i64| times(PtSource::TaskClock, counted, 20_000_000, SourceCheck::default()).total();
        assert!(total(17_500_000).is_ok() && total(3_360).is_err());
        let text = serde_json::to_string(&times(PtSource::Cgroup, 1, 1, SourceCheck::default())).unwrap();
        assert!(!text.contains("check"), "{text}");
        let read: ProcessTimes = serde_json::from_str(&text).unwrap();
        assert_eq!(read.check, SourceCheck::default());
    }
}
