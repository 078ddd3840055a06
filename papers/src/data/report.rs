//! The tables of the studies of CS:APP chapter 9, from their stored parts.

use crate::data::cells::{CellData, M, MOST_K, PATIENT, Study, StudyCell, StudyPart, StudyPlan};
use crate::data::interval_points::{IntervalPoint, interval_points};
use serde::{Deserialize, Serialize};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::kbest::clocks::ClockKind;
use tarebench_core::kbest::scheme::{KBest, Parameters};
use tarebench_core::kbest::timing::{Timing, TimingStanding};
use tarebench_core::statistics::series::{median_of, median_of_sorted};

/// Errors of measurements that ought to give the same, as shares of what the fit says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Active processes on the CPU.
    pub load: u32,
    /// Wanted length, ns.
    pub length: f64,
    /// Measurements that have a value.
    pub measured: u32,
    /// Median of their errors; `None` without any.
    pub median: Option<f64>,
    /// The smallest and the largest error.
    pub range: Option<(f64, f64)>,
    /// Of all measurements, those that say that the slice was too short.
    pub refused: u32,
    /// Of all measurements, those that converged.
    pub converged: u32,
    /// Median of what K-best says of itself, (vK - v1) / v1.
    pub claimed: Option<f64>,
    /// Median number of trials.
    pub trials: Option<f64>,
}

/// How the trials are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRule {
    /// Trials of this clock.
    pub clock: ClockKind,
    /// As if this were K.
    pub k: u32,
    /// As if no more trials than this were made, the book's M.
    pub most: u32,
    /// Less what timer interrupts took at least.
    pub compensated: bool,
    /// Without regard to who had the CPU, as the book's library.
    pub as_the_book: bool,
}

/// Errors by load and length, in the order in which the cells come.
pub fn kbest_errors(parts: &[StudyPart], rule: TrialRule) -> Vec<Errors> {
    let mut all: Vec<(Errors, Vec<TrialResult>)> = Vec::new();
    for part in parts {
        let (StudyCell::Kbest { load, length }, CellData::Kbest { line, repetitions, timings }) =
            (part.cell, &part.seen)
        else {
            continue;
        };
        let Some(timing) = timings.iter().find(|t| t.clock == rule.clock) else { continue };
        let Some(one) = evaluated(timing, rule, |ns| line.error(*repetitions as f64, ns)) else { continue };
        group(&mut all, load, length).push(one);
    }
    all.into_iter().map(|(errors, results)| summed(errors, &results)).collect()
}

struct TrialResult {
    error: Option<f64>,
    converged: bool,
    claimed: f64,
    trials: f64,
}

/// The trials as K-best with this K would have taken them, one after the other.
fn evaluated(timing: &Timing, rule: TrialRule, error: impl Fn(f64) -> f64) -> Option<TrialResult> {
    let mut timing = timing.clone();
    if !rule.compensated {
        timing.compensation = Reading::Absent(Absent::NotAsked("not compensated".to_owned()));
    }
    let p = timing.parameters;
    timing.parameters = Parameters::new(rule.k, p.epsilon(), rule.most, 0).ok()?;
    let mut k = KBest::new(timing.parameters);
    let times: Vec<f64> = timing.trials.iter().map(|t| timing.time(t)).collect();
    let used = times.iter().take_while(|time| {
        let more = !k.done();
        if more {
            k.add(**time);
        }
        more
    });
    let used = used.count();
    timing.trials.truncate(used);
    let outcome = timing.outcome()?;
    let refused = !rule.as_the_book && matches!(timing.standing(), TimingStanding::SliceTooShort { .. });
    Some(TrialResult {
        error: (!refused).then(|| error(outcome.value)),
        converged: outcome.converged,
        claimed: outcome.spread,
        trials: used as f64,
    })
}

fn group<T>(all: &mut Vec<(Errors, Vec<T>)>, load: u32, length: f64) -> &mut Vec<T> {
    let at = all.iter().position(|(e, _)| e.load == load && e.length == length).unwrap_or_else(|| {
        let none = Errors {
            load,
            length,
            measured: 0,
            median: None,
            range: None,
            refused: 0,
            converged: 0,
            claimed: None,
            trials: None,
        };
        all.push((none, Vec::new()));
        all.len() - 1
    });
    &mut all[at].1
}

fn summed(errors: Errors, results: &[TrialResult]) -> Errors {
    let known: Vec<f64> = results.iter().filter_map(|o| o.error).collect();
    let range =
        known.iter().fold(None, |r: Option<(f64, f64)>, e| Some(r.map_or((*e, *e), |r| (r.0.min(*e), r.1.max(*e)))));
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Errors {
        measured: count(known.len()),
        range,
        refused: count(results.len() - known.len()),
        converged: count(results.iter().filter(|o| o.converged).count()),
        claimed: median_of(results.iter().map(|o| o.claimed).collect()),
        trials: median_of(results.iter().map(|o| o.trials).collect()),
        median: median_of(known),
        ..errors
    }
}

/// A way to count CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuTimeCounting {
    /// At timer interrupts, CPU-wide.
    Ticks,
    /// times(2).
    Times,
    /// getrusage(2).
    Rusage,
    /// CLOCK_PROCESS_CPUTIME_ID.
    Cpu,
}

impl CpuTimeCounting {
    /// All of them, from the coarsest.
    pub const ALL: [CpuTimeCounting; 4] =
        [CpuTimeCounting::Ticks, CpuTimeCounting::Times, CpuTimeCounting::Rusage, CpuTimeCounting::Cpu];

    /// CPU time counted in this way, ns; `None` if it was not.
    fn ns(self, seen: &CellData) -> Option<u64> {
        let CellData::Interval { ticks, times, rusage, cpu, .. } = seen else { return None };
        match self {
            CpuTimeCounting::Ticks => *ticks,
            CpuTimeCounting::Times => Some(*times),
            CpuTimeCounting::Rusage => Some(*rusage),
            CpuTimeCounting::Cpu => Some(*cpu),
        }
    }
}

/// What CPU time is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The time that the computation should take, T(r): as the book, with all that made it slower.
    Expected,
    /// CLOCK_PROCESS_CPUTIME_ID: the error of counting alone.
    Exact,
}

/// Errors of CPU time counted in this way, by load and length.
pub fn interval_errors(parts: &[StudyPart], counted: CpuTimeCounting, against: Against) -> Vec<Errors> {
    let mut all: Vec<(Errors, Vec<TrialResult>)> = Vec::new();
    for part in parts {
        let (StudyCell::Interval { load, length }, CellData::Interval { line, repetitions, cpu, .. }) =
            (part.cell, &part.seen)
        else {
            continue;
        };
        let Some(ns) = counted.ns(&part.seen) else { continue };
        let error = match against {
            Against::Expected => line.error(*repetitions as f64, ns as f64),
            Against::Exact => ns as f64 / *cpu as f64 - 1.0,
        };
        let error = Some(error).filter(|e| e.is_finite());
        group(&mut all, load, length).push(TrialResult { error, converged: false, claimed: 0.0, trials: 1.0 });
    }
    all.into_iter()
        .map(|(errors, results)| Errors { claimed: None, trials: None, ..summed(errors, &results) })
        .collect()
}

/// Executions of a procedure under a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedExecutions {
    /// Active processes on the CPU.
    pub load: u32,
    /// Wanted length, ns.
    pub length: f64,
    /// Each in its order, ns.
    pub elapsed: Vec<f64>,
    /// The shortest of these, ns.
    pub shortest: f64,
    /// The longest of these, ns.
    pub longest: f64,
    /// The shortest of any load, ns.
    pub base: f64,
    /// The longest, over the shortest of any load.
    pub worst: f64,
    /// How many are within a tenth of the shortest of any load.
    pub near: u32,
}

/// Share within which an execution is as long as the shortest.
const NEAR: f64 = 0.1;

/// Figures 9.11 and 9.12.
pub fn executions(parts: &[StudyPart]) -> Vec<LoadedExecutions> {
    let mut all: Vec<LoadedExecutions> = Vec::new();
    for part in parts {
        let (StudyCell::Procedure { load, length }, CellData::Procedure { elapsed }) = (part.cell, &part.seen) else {
            continue;
        };
        match all.iter_mut().find(|e| e.load == load && e.length == length) {
            Some(e) => e.elapsed.extend(elapsed),
            None => {
                let (elapsed, none) = (elapsed.clone(), 0.0);
                let (shortest, longest, base) = (none, none, none);
                all.push(LoadedExecutions { load, length, elapsed, shortest, longest, base, worst: none, near: 0 });
            }
        }
    }
    let shortest = |length: f64| {
        let same = all.iter().filter(|e| e.length == length);
        same.flat_map(|e| &e.elapsed).copied().fold(f64::INFINITY, f64::min)
    };
    let bases: Vec<f64> = all.iter().map(|e| shortest(e.length)).collect();
    for (e, base) in all.iter_mut().zip(bases) {
        e.base = base;
        e.shortest = e.elapsed.iter().copied().fold(f64::INFINITY, f64::min);
        e.longest = e.elapsed.iter().copied().fold(0.0, f64::max);
        e.worst = e.longest / base;
        e.near = e.elapsed.iter().filter(|t| **t <= base * (1.0 + NEAR)).count() as u32;
    }
    all
}

/// Figure 9.13: medians and ranges of the six calls, and what they are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EqualCalls {
    pub sequences: u32,
    /// Median, smallest and largest of each call, ns.
    pub calls: [(f64, f64, f64); 6],
    pub misses: Misses,
}

/// Time of the cache misses of a call (practice problem 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misses {
    /// c: the call without any.
    pub none: f64,
    /// d: for the data.
    pub data: f64,
    /// p: for the procedure's instructions.
    pub procedure: f64,
    /// m: for the measuring code's instructions.
    pub measuring: f64,
}

/// From procA(b1), procA(b2), procA(b3), procA(b1), procB(b1), procB(b2): m + p + d + c, d + c, d + c, c, p + c, c.
pub fn misses(calls: [f64; 6]) -> Misses {
    let [a1, a2, a3, again, b1, _] = calls;
    let none = again;
    let data = (a2 + a3) / 2.0 - none;
    let procedure = b1 - none;
    Misses { none, data, procedure, measuring: a1 - procedure - data - none }
}

/// Figure 9.13 from all sequences; `None` without any.
pub fn equal_calls(parts: &[StudyPart]) -> Option<EqualCalls> {
    let mut all: [Vec<f64>; 6] = Default::default();
    for part in parts {
        let CellData::Equal { calls } = &part.seen else { continue };
        for sequence in calls {
            all.iter_mut().zip(sequence).for_each(|(of, ns)| of.push(*ns));
        }
    }
    let sequences = u32::try_from(all[0].len()).unwrap_or(u32::MAX);
    all.iter_mut().for_each(|of| of.sort_by(f64::total_cmp));
    let mut calls = [(0.0, 0.0, 0.0); 6];
    for (call, of) in calls.iter_mut().zip(&all) {
        *call = (median_of_sorted(of)?, *of.first()?, *of.last()?);
    }
    Some(EqualCalls { sequences, calls, misses: misses(calls.map(|c| c.0)) })
}

/// All that the tables and figures of a study show.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyReport {
    /// Cells that were measured.
    pub measured: usize,
    /// What the expected times are based on; `None` without any line.
    pub line_error: Option<LineError>,
    pub results: Results,
}

/// The largest relative errors of the lines that give the expected times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineError {
    pub median: f64,
    pub most: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Results {
    /// [`Study::Kbest`].
    Kbest(KbestResults),
    /// [`Study::IntervalCounting`]: one for each way to count.
    IntervalCounting(Vec<IntervalResult>),
    /// [`Study::Caching`].
    Caching {
        /// Figures 9.11 and 9.12.
        executions: Vec<LoadedExecutions>,
        /// Figure 9.13, if it was measured.
        equal_calls: Option<EqualCalls>,
    },
}

/// Errors of the same trials, evaluated in several ways; K = 3 except in `by_k`.
#[derive(Clone, Debug, PartialEq)]
pub struct KbestResults {
    /// As the book's library: M trials at most, not compensated, nothing refused.
    pub book: Vec<Errors>,
    /// The same, compensated for timer interrupts.
    pub compensated: Vec<Errors>,
    /// The same, refused where another process had the CPU in every trial.
    pub checked: Vec<Errors>,
    /// The same with more trials.
    pub patient: Vec<Errors>,
    /// By the thread's CPU time.
    pub thread_cpu: Vec<Errors>,
    pub gettimeofday: Vec<Errors>,
    /// As the book's library, for each K from 1 on.
    pub by_k: Vec<(u32, Vec<Errors>)>,
}

/// Errors of CPU time counted in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalResult {
    /// How it was counted.
    pub counted: CpuTimeCounting,
    /// Against the time that the computation should take.
    pub expected: Vec<Errors>,
    /// Against exact CPU time.
    pub exact: Vec<Errors>,
    /// Each measurement against the time that the computation should take (figure 9.8).
    pub points: Vec<IntervalPoint>,
}

/// Computes all that is shown of a study.
pub fn build(plan: &StudyPlan, parts: &[StudyPart]) -> StudyReport {
    let interval = |counted| IntervalResult {
        counted,
        expected: interval_errors(parts, counted, Against::Expected),
        exact: interval_errors(parts, counted, Against::Exact),
        points: interval_points(parts, |seen| counted.ns(seen)),
    };
    StudyReport {
        measured: parts.len(),
        line_error: line_error(parts),
        results: match plan.study {
            Study::Kbest => Results::Kbest(kbest_results(parts)),
            Study::IntervalCounting => {
                Results::IntervalCounting(CpuTimeCounting::ALL.into_iter().map(interval).collect())
            }
            Study::Caching => Results::Caching { executions: executions(parts), equal_calls: equal_calls(parts) },
        },
    }
}

fn kbest_results(parts: &[StudyPart]) -> KbestResults {
    let book = TrialRule { clock: elapsed_clock(parts), k: 3, most: M, compensated: false, as_the_book: true };
    let checked = TrialRule { compensated: true, as_the_book: false, ..book };
    let errors = |rule| kbest_errors(parts, rule);
    KbestResults {
        book: errors(book),
        compensated: errors(TrialRule { compensated: true, ..book }),
        checked: errors(checked),
        patient: errors(TrialRule { most: PATIENT, ..checked }),
        thread_cpu: errors(TrialRule { clock: ClockKind::ThreadCpu, ..book }),
        gettimeofday: errors(TrialRule { clock: ClockKind::Gettimeofday, compensated: true, ..book }),
        by_k: (1..=MOST_K).map(|k| (k, errors(TrialRule { k, ..book }))).collect(),
    }
}

/// The clock of elapsed time that was used: the first of a part's timings.
fn elapsed_clock(parts: &[StudyPart]) -> ClockKind {
    let first = parts.iter().find_map(|p| match &p.seen {
        CellData::Kbest { timings, .. } => timings.first().map(|t| t.clock),
        _ => None,
    });
    first.unwrap_or(ClockKind::Counter)
}

fn line_error(parts: &[StudyPart]) -> Option<LineError> {
    let errors = parts.iter().filter_map(|p| match &p.seen {
        CellData::Kbest { line, .. } | CellData::Interval { line, .. } => Some(line.max_error),
        _ => None,
    });
    let mut all: Vec<f64> = errors.collect();
    all.sort_by(f64::total_cmp);
    Some(LineError { median: *all.get(all.len() / 2)?, most: *all.last()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::kbest::timing::{Cache, Compensation, Trial};
    use tarebench_core::statistics::fit::LineFit;

    /// Practice problem 9.6, from the measurements of figure 9.13: c = 100, d = 33, p = 217, m = 49.
    #[test]
    fn the_books_misses() {
        let m = misses([399.0, 132.0, 134.0, 100.0, 317.0, 100.0]);
        assert_eq!((m.none, m.data, m.procedure, m.measuring), (100.0, 33.0, 217.0, 49.0));
    }

    fn part(load: u32, counts: &[u64], cpu: u64) -> StudyPart {
        let trial = |count| Trial {
            count,
            cpu: Some(cpu),
            ticks: Some(1),
            preemptions: Some(0),
            waits: Some(0),
            core_cycles: None,
        };
        let timing = Timing {
            clock: ClockKind::Counter,
            hz: 1e9,
            cache: Cache::Warm,
            repetitions: 1,
            parameters: Parameters::new(5, 0.001, 30, 0).unwrap(),
            compensation: Reading::Value(Compensation { cost: 1e4, period: 4e6 }),
            overhead: 30,
            less_overhead: false,
            apart: 0,
            trials: counts.iter().map(|c| trial(*c)).collect(),
        };
        let line = LineFit { slope: 1e6, intercept: 0.0, max_error: 0.0 };
        let seen = CellData::Kbest { line, repetitions: 5, timings: vec![timing] };
        StudyPart { cell: StudyCell::Kbest { load, length: 5e6 }, round: 0, seen }
    }

    fn rule(k: u32) -> TrialRule {
        TrialRule { clock: ClockKind::Counter, k, most: 30, compensated: false, as_the_book: false }
    }

    #[test]
    fn k_decides_how_many_trials_are_used() {
        let parts = [part(1, &[5_500_000, 5_010_000, 5_010_001, 5_010_002], 5_000_000)];
        // It took longer than its CPU time, which one trial alone shows.
        assert_eq!(kbest_errors(&parts, rule(1))[0].refused, 1);
        let one = &kbest_errors(&parts, TrialRule { as_the_book: true, ..rule(1) })[0];
        assert!((one.median.unwrap() - 0.1).abs() < 1e-9 && one.trials == Some(1.0) && one.converged == 1);
        let two = &kbest_errors(&parts, rule(2))[0];
        assert!((two.median.unwrap() - 0.002).abs() < 1e-9 && two.trials == Some(3.0));
        let five = &kbest_errors(&parts, rule(5))[0];
        assert_eq!((five.converged, five.trials), (0, Some(4.0)));
        let few = &kbest_errors(&parts, TrialRule { most: 2, as_the_book: true, ..rule(2) })[0];
        assert_eq!((few.trials, few.converged), (Some(2.0), 0));
        // Certainly one interrupt in 5 ms: 10 µs less.
        let less = &kbest_errors(&parts, TrialRule { compensated: true, ..rule(3) })[0];
        assert!(less.median.unwrap().abs() < 1e-9);
        assert!(kbest_errors(&parts, TrialRule { clock: ClockKind::ThreadCpu, ..rule(3) }).is_empty());
    }

    #[test]
    fn what_is_refused_has_no_error_but_the_books_has() {
        let parts = [part(4, &[17_000_000; 3], 5_000_000), part(4, &[5_000_000; 3], 5_000_000)];
        let e = &kbest_errors(&parts, rule(3))[0];
        assert_eq!((e.measured, e.refused, e.median), (1, 1, Some(0.0)));
        let book = &kbest_errors(&parts, TrialRule { as_the_book: true, ..rule(3) })[0];
        assert!(book.measured == 2 && (book.range.unwrap().1 - 2.4).abs() < 1e-9);
    }

    #[test]
    fn ways_to_count() {
        let line = LineFit { slope: 1e6, intercept: 0.0, max_error: 0.0 };
        let seen =
            CellData::Interval { line, repetitions: 10, ticks: None, times: 0, rusage: 10_010_000, cpu: 10_000_000 };
        let parts = [StudyPart { cell: StudyCell::Interval { load: 1, length: 1e7 }, round: 0, seen }];
        let median = |counted, against| interval_errors(&parts, counted, against).first().map(|e| e.median);
        assert_eq!(median(CpuTimeCounting::Ticks, Against::Expected), None);
        assert_eq!(median(CpuTimeCounting::Times, Against::Expected), Some(Some(-1.0)));
        assert_eq!(median(CpuTimeCounting::Cpu, Against::Expected), Some(Some(0.0)));
        assert!(median(CpuTimeCounting::Rusage, Against::Exact).flatten().is_some_and(|e| (e - 0.001).abs() < 1e-9));
    }

    #[test]
    fn executions_beside_the_shortest() {
        let part = |load, elapsed: &[f64]| StudyPart {
            cell: StudyCell::Procedure { load, length: 36e6 },
            round: 0,
            seen: CellData::Procedure { elapsed: elapsed.to_vec() },
        };
        let all = executions(&[part(1, &[36e6, 36.5e6]), part(4, &[36e6, 126e6]), part(1, &[37e6])]);
        assert_eq!((all[0].elapsed.len(), all[0].near, all[1].near), (3, 3, 1));
        assert_eq!((all[1].worst, all[1].base, all[1].shortest, all[1].longest), (3.5, 36e6, 36e6, 126e6));
    }

    #[test]
    fn medians_of_calls() {
        let call = |x: f64| [x + 100.0, x, x, x, x, x];
        let seen = CellData::Equal { calls: vec![call(1.0), call(2.0), call(3.0)] };
        let e = equal_calls(&[StudyPart { cell: StudyCell::Equal, round: 0, seen }]).unwrap();
        assert_eq!((e.sequences, e.calls[0], e.misses.measuring), (3, (102.0, 101.0, 103.0), 100.0));
        assert_eq!(equal_calls(&[]), None);
    }

    #[test]
    fn a_study_is_looked_at_in_every_way() {
        let plan = StudyPlan::new(Study::Kbest, crate::data::cells::StudyPreset::Minutes, 1);
        let parts = [part(4, &[17_000_000; 3], 5_000_000), part(4, &[5_000_000; 3], 5_000_000)];
        let report = build(&plan, &parts);
        assert_eq!((report.measured, report.line_error), (2, Some(LineError { median: 0.0, most: 0.0 })));
        let Results::Kbest(found) = report.results else { panic!("{:?}", report.results) };
        assert_eq!((found.book[0].refused, found.checked[0].refused, found.patient[0].refused), (0, 1, 1));
        assert_eq!(found.by_k.iter().map(|(k, _)| *k).collect::<Vec<_>>(), (1..=MOST_K).collect::<Vec<_>>());
        assert_eq!(found.by_k[2].1, found.book);
        assert!(found.thread_cpu.is_empty(), "there is no timing by that clock");
        assert_eq!(build(&plan, &[]).line_error, None);
    }
}
