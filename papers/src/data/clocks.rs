//! The same executions timed by several clocks (EMP section 5.1, figure 18, table XXV).
//!
//! The paper timed separate runs by each clock. Here every sample has all of them, so that they differ by nothing but the clock.

use crate::data::cells::StudyPreset;
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, TimingRow, condition_labels, long_enough, process_values};
use serde::Serialize;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::DocumentHead;
use tarebench_core::sample::data::{Sample, Stamp};
use tarebench_core::statistics::series::Values;
use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadPair, SpreadRatio, spread_ratio};

/// What an execution is timed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionClock {
    /// `clock_gettime(CLOCK_MONOTONIC)`, which gives the elapsed time; NTP slews it.
    Monotonic,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)`, never slewed.
    MonotonicRaw,
    /// The CPU's cycle counter (`rdtsc`), by its frequency.
    CycleCounter,
    /// Process time, as EMP.
    ProcessTime,
}

impl ExecutionClock {
    /// All of them, in the order of EMP table XXV.
    pub const ALL: [ExecutionClock; 4] = [
        ExecutionClock::Monotonic,
        ExecutionClock::MonotonicRaw,
        ExecutionClock::CycleCounter,
        ExecutionClock::ProcessTime,
    ];
}

/// Clocks against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClocksStudyReport {
    pub programs: Vec<ClocksProgram>,
}

/// One program by all clocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClocksProgram {
    pub label: String,
    /// What distinguishes it from others of the same name; mostly empty.
    pub condition: String,
    pub clocks: Vec<ClockTimes>,
}

/// The executions by one clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockTimes {
    pub clock: ExecutionClock,
    /// Absent if one of the samples has no such time.
    pub times: Reading<ClockStatistics>,
}

/// What one clock says of the executions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockStatistics {
    /// Row of EMP table XXV.
    pub row: TimingRow,
    /// Sum of all times divided by that of CLOCK_MONOTONIC, minus 1: for the clocks of elapsed time, how much faster the clock
    /// is.
    pub rate: f64,
    /// Robust spread of process time divided by that of this clock; `None` for process time itself.
    pub spread: Option<Result<SpreadRatio, NoSpreadRatio>>,
    /// In the order of execution, ns.
    pub executions: Vec<f64>,
}

/// INC8, 40 executions, as the paper; in an hour as many as fit.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    vec![match preset {
        StudyPreset::Minutes => inc_run("", &[2.0], 80),
        StudyPreset::Hour => inc_run("", &[8.0], 390),
        StudyPreset::Paper => inc_run("", &[8.0], 40),
    }]
}

/// # Errors
/// [`StudyGap`] without a series of at least two samples, or if samples have no process time.
pub fn report(series: &[StudySeries<'_>]) -> Result<ClocksStudyReport, StudyGap> {
    let usable = long_enough(series, 2)?;
    let labels = condition_labels(&usable);
    let mut programs = Vec::new();
    for ((series, condition), number) in usable.into_iter().zip(labels).zip(0..) {
        let process = process_values(series)?;
        let clocks = ExecutionClock::ALL.into_iter().zip(0..);
        let times = |(clock, item): (ExecutionClock, u64)| ClockTimes {
            clock,
            times: statistics(series, clock, &process, 10 * number + item).into(),
        };
        let clocks = clocks.map(times).collect();
        programs.push(ClocksProgram { label: series.program.label.clone(), condition, clocks });
    }
    Ok(ClocksStudyReport { programs })
}

fn statistics(
    series: &StudySeries<'_>,
    clock: ExecutionClock,
    process: &Values,
    item: u64,
) -> Result<ClockStatistics, Absent> {
    let times = match clock {
        ExecutionClock::ProcessTime => process.clone(),
        _ => elapsed_by(series, clock)?,
    };
    let monotonic: f64 = series.samples.iter().map(|s| s.elapsed().as_f64()).sum();
    let none = || Absent::Failed("the times have no sum above 0".to_owned());
    let rate = times.as_slice().iter().sum::<f64>() / monotonic - 1.0;
    let pair = SpreadPair { compared: process, reference: &times, paired: true };
    let is_other = clock != ExecutionClock::ProcessTime;
    Ok(ClockStatistics {
        row: TimingRow::new(series, &times, item).ok_or_else(none)?,
        rate: Some(rate).filter(|r| r.is_finite()).ok_or_else(none)?,
        spread: is_other.then(|| spread_ratio(&[pair], SEED, item)),
        executions: times.as_slice().to_vec(),
    })
}

/// Elapsed times by one of the clocks of a stamp, ns.
fn elapsed_by(series: &StudySeries<'_>, clock: ExecutionClock) -> Result<Values, Absent> {
    if clock == ExecutionClock::CycleCounter {
        let ns_per_cycle = 1e9 / frequency(series.head)?;
        let cycles = series.samples.iter().map(|s| cycles(s).map(|c| c * ns_per_cycle));
        let times = cycles.collect::<Result<Vec<f64>, Absent>>()?;
        return Values::new(times).map_err(|e| Absent::Failed(e.to_string()));
    }
    let at = |stamp: &Stamp| match clock {
        ExecutionClock::MonotonicRaw => stamp.monotonic_raw,
        _ => stamp.monotonic,
    };
    let times: Vec<Nanos> = series.samples.iter().map(|s| at(&s.end) - at(&s.start)).collect();
    Ok(Values::from_nanos(times))
}

/// Of the cycle counter, Hz, as it was measured when the run began.
fn frequency(head: &DocumentHead) -> Result<f64, Absent> {
    let conditions = head
        .conditions
        .as_deref()
        .ok_or_else(|| Absent::NotAsked("the run does not describe its machine".to_owned()))?;
    let hz = conditions.host().cycle_counter_hz.as_result().copied().map_err(Clone::clone)?;
    if hz.is_finite() && hz > 0.0 { Ok(hz) } else { Err(Absent::Failed(format!("a frequency of {hz} Hz was read"))) }
}

fn cycles(sample: &Sample) -> Result<f64, Absent> {
    let (Some(start), Some(end)) = (sample.start.cycles, sample.end.cycles) else {
        return Err(Absent::NotSupported("the CPU has no cycle counter that a program may read".to_owned()));
    };
    let passed = end.0.checked_sub(start.0);
    passed.map(|c| c as f64).ok_or_else(|| Absent::Failed("the cycle counter went backwards".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::condition_tables::tests::noisy;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::statistics::spread::SpreadVerdict;

    fn of_clock(report: &ClocksStudyReport, clock: ExecutionClock) -> Reading<ClockStatistics> {
        report.programs[0].clocks.iter().find(|c| c.clock == clock).unwrap().times.clone()
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        assert_eq!((paper[0].programs[0].label.as_str(), paper[0].samples), ("INC8", 40));
    }

    #[test]
    fn all_clocks_of_the_same_executions() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let pts = noisy(1, 60, 8.018e9, 1.6e6, 0);
        let waits = noisy(2, 60, 20e6, 5e6, 0);
        let mut samples: Vec<_> = (0..)
            .zip(pts.iter().zip(&waits))
            .map(|(i, (pt, wait))| sample(i, 9.0 * f64::from(i), pt.elapsed().0 + wait.elapsed().0, pt.elapsed().0))
            .collect();
        // A raw clock that is 100 ppm faster.
        for s in &mut samples {
            s.end.monotonic_raw = s.start.monotonic_raw + Nanos((s.elapsed().as_f64() * 1.0001) as i64);
        }
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let by = |clock| of_clock(&r, clock).value().cloned().unwrap();
        let monotonic = by(ExecutionClock::Monotonic);
        assert_eq!((monotonic.rate, monotonic.row.summary.n, monotonic.executions.len()), (0.0, 60, 60));
        assert!((by(ExecutionClock::MonotonicRaw).rate - 1e-4).abs() < 1e-8);
        let counter = by(ExecutionClock::CycleCounter);
        assert!(counter.rate.abs() < 1e-9 && (counter.row.summary.mean - monotonic.row.summary.mean).abs() < 1.0);
        let spread = monotonic.spread.unwrap().unwrap();
        assert_eq!(spread.verdict(), SpreadVerdict::Less, "{spread:?}");
        let process = by(ExecutionClock::ProcessTime);
        assert!(process.spread.is_none() && process.rate < 0.0);
        assert!((process.row.summary.relative_error.unwrap() / (1.6e6 / 8.018e9) - 1.0).abs() < 0.3);
    }

    #[test]
    fn a_clock_that_is_missing_is_absent() {
        let (p, mut h) = (program("INC8", Some(8.0)), head("a"));
        let mut samples = noisy(1, 20, 8e9, 1e6, 0);
        samples[7].end.cycles = None;
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        let counter = of_clock(&r, ExecutionClock::CycleCounter);
        assert!(matches!(counter.absent(), Some(Absent::NotSupported(_))), "{counter:?}");
        assert!(of_clock(&r, ExecutionClock::Monotonic).value().is_some());
        h.conditions = None;
        let r = report(&[series("", &p, &h, &samples)]).unwrap();
        assert!(matches!(of_clock(&r, ExecutionClock::CycleCounter).absent(), Some(Absent::NotAsked(_))));
    }
}
