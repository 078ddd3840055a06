//! When a series has enough samples, and a comparison enough blocks.
//!
//! A precision is that of what is printed: of the mean, and of the median, of the measure that the program is about
//! ([`PrecisionRule`]). Both are looked at after 10, 11, 12, … samples, then after 10% more each time, since every look is a chance to
//! stop by luck; their intervals allow for samples that resemble each other. The mean of a series that its own precision stopped is
//! within what was asked for in at least 90% of the series of each kind in `core/tests/core/intervals.rs`.
//! A comparison that goes on until a difference would be seen has intervals that hold at all its looks together
//! ([`crate::statistics::sequential`]), and keeps its level.

use crate::base::units::Nanos;
use crate::compare::duet::Duet;
use crate::compare::ratio::RatioBasis;
use crate::compare::simultaneous::{HEADLINE_ERROR, OTHER_ERROR};
use crate::run::blocks::{Blocks, RunBlocks};
use crate::run::plan::{Order, RunCount, RunPlan};
use crate::sample::data::Sample;
use crate::sample::measure::Measure;
use crate::statistics::dependence::dependence_in_blocks;
use crate::statistics::intervals::{Interval, NoInterval, mean_interval, median_interval};
use crate::statistics::limits::Limits;
use crate::statistics::sequential::SequentialDesign;
use crate::statistics::series::{Values, summary};
use serde::{Deserialize, Serialize};

/// Fewest samples of an adaptive series, unless the user's own maximum is smaller (EMP section 4.6 finds 10 sufficient).
pub const FLOOR: u32 = 10;

/// Whether to continue a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Continue,
    /// The fixed number is there.
    Complete,
    /// The precision is reached.
    Precise,
    /// The maximum is there, and the precision is not reached.
    Capped,
}

/// The times of a series by which its precision is decided, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrecisionRule {
    /// Elapsed times with the numbers of their blocks, ns.
    elapsed: Vec<(u32, f64)>,
    /// Process times, where they are known, likewise.
    process: Vec<(u32, f64)>,
}

/// Of the precision that is asked for, what a series must reach.
const CLEARLY: f64 = 0.85;

/// A program whose elapsed times are longer than its process times by more than this factor waits most of the time.
const WAITS: f64 = 1.5;

impl PrecisionRule {
    /// Adds a counted sample of this block that succeeded.
    pub fn add(&mut self, block: u32, elapsed: Nanos, process: Option<Nanos>) {
        self.elapsed.push((block, elapsed.as_f64()));
        self.process.extend(process.map(|t| (block, t.as_f64())));
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.elapsed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.elapsed.is_empty()
    }

    /// Process time, unless it is not known of all samples, or the program mostly waits: then elapsed time.
    pub fn measure(&self) -> Measure {
        let sum = |times: &[(u32, f64)]| times.iter().map(|t| t.1).sum::<f64>();
        let computes = sum(&self.elapsed) <= WAITS * sum(&self.process);
        if self.process.len() == self.elapsed.len() && computes { Measure::Pt } else { Measure::Et }
    }

    /// The larger of the relative half widths of the 95% intervals of mean and median, as the report of the run has them if check 1
    /// discards nothing and no other run is known; `None` below 6 values or if one of them is 0.
    pub fn reached(&self, plan: &RunPlan, series: u32) -> Option<f64> {
        self.reached_with(self.len(), plan, series)
    }

    /// The same of the first samples only.
    fn reached_with(&self, samples: usize, plan: &RunPlan, series: u32) -> Option<f64> {
        let measure = self.measure();
        let times = if measure == Measure::Pt { &self.process } else { &self.elapsed };
        let times = times.get(..samples)?;
        let passed = Values::new(times.iter().map(|t| t.1)).ok()?;
        let limits = Limits::new(&passed, plan.sigma);
        let kept: Vec<(u32, f64)> = times.iter().copied().filter(|t| limits.is_none_or(|l| l.holds(t.1))).collect();
        let retained = Values::new(kept.iter().map(|t| t.1)).ok()?;
        let dependence = dependence_in_blocks(&kept)?;
        let found = summary(&retained)?;
        let mean = mean_interval(&passed, plan.sigma, plan.seed, interval_item(series, measure)).ok()?;
        let mean = dependence.widen(mean, found.mean, found.std_dev?, found.n);
        let median = median_interval(&retained).ok()?.stretched(found.median, dependence.stretch);
        let share = |interval: Interval, of: f64| (of != 0.0).then_some(interval.half_width() / of.abs());
        Some(share(mean, found.mean)?.max(share(median, found.median)?))
    }
}

/// Tells the bootstraps of a run apart.
pub(crate) fn interval_item(series: u32, measure: Measure) -> u64 {
    3 * u64::from(series) + measure as u64
}

/// Decides about a series after `taken` counted samples. Failed samples count towards the maximum only, so the series of a program that
/// always fails ends. With [`RunCount::Detect`] all programs are decided about together ([`DetectRule`]), and a series has only its
/// maximum.
pub fn decide(plan: &RunPlan, runs: RunCount, series: u32, rule: &PrecisionRule, taken: u32) -> Decision {
    let (precision, min, max) = match runs {
        RunCount::Fixed(n) if taken < n => return Decision::Continue,
        RunCount::Fixed(_) => return Decision::Complete,
        RunCount::Detect { max, .. } if taken < max => return Decision::Continue,
        RunCount::Detect { .. } => return Decision::Capped,
        RunCount::Adaptive { precision, min, max } => (precision, min, max),
    };
    let enough = min.max(FLOOR).min(max) as usize;
    // Clearly, and without the last tenth as well: stopping looks for luck.
    let before = rule.len() - (rule.len() / 10).max(1).min(rule.len());
    let precise = |samples| rule.reached_with(samples, plan, series).is_some_and(|w| w < CLEARLY * precision);
    if rule.len() >= enough && precise(rule.len()) && precise(before) {
        Decision::Precise
    } else if taken >= max {
        Decision::Capped
    } else {
        Decision::Continue
    }
}

/// The same rule in samples, if `runs` is of blocks of so many executions of each program.
pub fn in_samples(runs: RunCount, executions: u32) -> RunCount {
    let samples = |blocks: u32| blocks.saturating_mul(executions);
    match runs {
        RunCount::Fixed(n) => RunCount::Fixed(samples(n)),
        // The floor is of blocks, too: the executions of one have the state of the machine in common.
        RunCount::Adaptive { precision, min, max } => {
            RunCount::Adaptive { precision, min: samples(min.max(FLOOR).min(max)), max: samples(max) }
        }
        RunCount::Detect { difference, max } => RunCount::Detect { difference, max: samples(max) },
    }
}

/// The number of values with which the next decision about a series is due, after one with `values`: with a tenth more.
pub fn next_decision(values: usize) -> usize {
    values + (values / 10).max(1)
}

/// Decides when a run with [`RunCount::Detect`] has enough blocks, from what it has so far: also after it was resumed.
#[derive(Clone, Debug)]
pub struct DetectRule {
    difference: f64,
    design: SequentialDesign,
    /// Of what decides nothing about the number of blocks.
    others: SequentialDesign,
    blocks: RunBlocks,
    reference: u32,
    /// There are no rounds to fall back to.
    only_duets: bool,
    /// The last decision and what it was made by.
    decided: Option<(Vec<Option<ProgramLook>>, bool)>,
}

/// What the decision about a program rests on; it is another one only when this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProgramLook {
    series: u32,
    basis: RatioBasis,
    /// That of duets changes when the first one has no net time.
    measure: Measure,
    looks: usize,
    ended: bool,
}

/// A program's blocks, and the interval of the log-ratio that holds at all looks together.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectInterval {
    pub blocks: Blocks,
    pub interval: Result<Interval, NoInterval>,
}

impl DetectRule {
    /// `None` for a plan with another number of samples.
    pub fn new(plan: &RunPlan) -> Option<DetectRule> {
        let RunCount::Detect { difference, max } = plan.runs else { return None };
        // The verdicts on all programs hold together, as elsewhere; here the level of each is known beforehand.
        let compared = plan.programs.iter().filter(|p| !p.control).count().saturating_sub(1).max(1) as f64;
        let other_measures = 2.0;
        Some(DetectRule {
            difference,
            design: SequentialDesign::new(max, 1.0 - HEADLINE_ERROR / compared),
            others: SequentialDesign::new(max, 1.0 - OTHER_ERROR / compared / other_measures),
            blocks: RunBlocks::new(plan),
            reference: plan.reference(),
            only_duets: plan.order == Order::Duet,
            decided: None,
        })
    }

    /// Adds an execution alone.
    pub fn add(&mut self, plan: &RunPlan, sample: &Sample) {
        self.blocks.add(plan, sample);
    }

    pub fn add_duet(&mut self, plan: &RunPlan, duet: &Duet) {
        self.blocks.add_duet(plan, duet);
    }

    /// The design that its intervals are of.
    pub fn design(&self) -> &SequentialDesign {
        &self.design
    }

    /// The design of the intervals by the other times of the programs.
    pub fn others(&self) -> &SequentialDesign {
        &self.others
    }

    /// The blocks by executions alone.
    pub fn rounds(&self, series: u32, measure: Measure) -> Option<Blocks> {
        self.blocks.rounds(series, measure)
    }

    /// What decides about a program: its duets, else its rounds by process time, or by elapsed time where that is not known.
    /// Duets that ended before they had an interval say less than the rounds, which go on.
    fn deciding(&self, series: u32) -> Option<Blocks> {
        let usable = |b: &Blocks| {
            let has_interval = self.design.local_level(b.logs.len()).is_some();
            b.basis == RatioBasis::Duets && (has_interval || !self.blocks.duets_ended(series))
        };
        let rounds = |measure| self.blocks.rounds(series, measure);
        let duets = self.blocks.blocks(series, Measure::Pt).filter(usable);
        duets.or_else(|| rounds(Measure::Pt)).or_else(|| rounds(Measure::Et))
    }

    /// What decides about a program, and its interval; `None` without blocks.
    pub fn interval(&self, series: u32) -> Option<DetectInterval> {
        let blocks = self.deciding(series)?;
        let interval = self.design.interval_of_series(&blocks.values());
        Some(DetectInterval { blocks, interval })
    }

    /// Whether the difference would be seen of each of these programs, if it was there. The reference is none of them; without any
    /// other, nothing more can be found.
    ///
    /// Called after each block, it decides anew when another look is reached.
    pub fn is_enough(&mut self, programs: &[u32]) -> bool {
        let looks: Vec<Option<ProgramLook>> =
            programs.iter().filter(|s| **s != self.reference).map(|series| self.look(*series)).collect();
        if let Some((before, decision)) = &self.decided
            && *before == looks
        {
            return *decision;
        }
        let decision = looks.iter().all(|look| look.is_some_and(|look| self.would_show(&look)));
        self.decided = Some((looks, decision));
        decision
    }

    fn look(&self, series: u32) -> Option<ProgramLook> {
        let blocks = self.deciding(series)?;
        let (looks, ended) = (self.design.looks_with(blocks.logs.len()), self.blocks.duets_ended(series));
        Some(ProgramLook { series, basis: blocks.basis, measure: blocks.measure, looks, ended })
    }

    fn would_show(&self, look: &ProgramLook) -> bool {
        // More blocks of such a program will not come.
        if look.ended && (self.only_duets || look.basis == RatioBasis::Duets) {
            return true;
        }
        let narrow = |i: &Interval| i.half_width() < self.difference;
        self.interval(look.series).is_some_and(|found| found.interval.as_ref().is_ok_and(narrow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(numbers: impl IntoIterator<Item = i64>) -> PrecisionRule {
        let mut rule = PrecisionRule::default();
        (0..).zip(numbers).for_each(|(block, ns)| rule.add(block, Nanos(ns), Some(Nanos(ns))));
        rule
    }

    fn decided(runs: RunCount, rule: &PrecisionRule, taken: u32) -> Decision {
        decide(&RunPlan::of(Vec::new()), runs, 0, rule, taken)
    }

    fn adaptive(precision: f64, min: u32, max: u32) -> RunCount {
        RunCount::Adaptive { precision, min, max }
    }

    #[test]
    fn fixed() {
        assert_eq!(decided(RunCount::Fixed(3), &rule([]), 2), Decision::Continue);
        assert_eq!(decided(RunCount::Fixed(3), &rule([]), 3), Decision::Complete);
        assert_eq!(decided(RunCount::Fixed(0), &rule([]), 0), Decision::Complete);
    }

    #[test]
    fn floor_and_bounds() {
        let same = |n| rule(std::iter::repeat_n(5, n));
        assert_eq!(decided(adaptive(0.01, 1, 100), &same(9), 9), Decision::Continue);
        assert_eq!(decided(adaptive(0.01, 1, 100), &same(10), 10), Decision::Precise);
        assert_eq!(decided(adaptive(0.01, 20, 100), &same(19), 19), Decision::Continue);
        assert_eq!(decided(adaptive(0.01, 20, 100), &same(20), 20), Decision::Precise);
        assert_eq!(decided(adaptive(0.01, 1, 7), &same(7), 7), Decision::Precise);
        assert_eq!(decided(adaptive(0.01, 1, 4), &same(4), 4), Decision::Capped);
        assert_eq!(decided(adaptive(0.01, 1, 30), &same(0), 30), Decision::Capped);
        assert_eq!(decided(adaptive(0.01, 9, 3), &same(3), 3), Decision::Capped);
    }

    #[test]
    fn blocks_of_several_executions() {
        let same = |n| rule(std::iter::repeat_n(5, n));
        let eight = |runs| in_samples(runs, 8);
        assert_eq!(eight(RunCount::Fixed(10)), RunCount::Fixed(80));
        assert_eq!(
            eight(RunCount::Detect { difference: 0.01, max: 200 }),
            RunCount::Detect { difference: 0.01, max: 1_600 }
        );
        // Ten blocks, not ten executions.
        assert_eq!(decided(eight(adaptive(0.01, 1, 100)), &same(79), 79), Decision::Continue);
        assert_eq!(decided(eight(adaptive(0.01, 1, 100)), &same(80), 80), Decision::Precise);
        assert_eq!(decided(eight(adaptive(0.01, 20, 100)), &same(152), 152), Decision::Continue);
        assert_eq!(decided(eight(adaptive(0.01, 1, 4)), &same(4), 32), Decision::Capped);
        assert_eq!(in_samples(RunCount::Fixed(u32::MAX), 32), RunCount::Fixed(u32::MAX));
        for runs in [adaptive(0.01, 20, 100), adaptive(0.01, 1, 4), adaptive(0.01, 9, 3)] {
            for n in 0..120_u32 {
                let by = |runs| decided(runs, &same(n as usize), n);
                assert_eq!(by(in_samples(runs, 1)), by(runs), "{n}");
            }
        }
    }

    #[test]
    fn decisions_are_few() {
        assert_eq!([0, 1, 10, 19, 20, 500].map(next_decision), [1, 2, 11, 20, 22, 550]);
        let decisions = std::iter::successors(Some(10), |n| Some(next_decision(*n))).take_while(|n| *n < 1_000_000);
        assert!(decisions.count() < 150);
    }

    #[test]
    fn goes_on_until_precise() {
        let noisy = |n: i64| rule((0..n).map(|i| 100 + i * 7 % 20));
        assert_eq!(decided(adaptive(0.001, 10, 50), &noisy(40), 40), Decision::Continue);
        assert_eq!(decided(adaptive(0.001, 10, 50), &noisy(50), 50), Decision::Capped);
        assert_eq!(decided(adaptive(0.2, 10, 50), &noisy(12), 12), Decision::Precise);
        assert_eq!(rule([0; 20]).reached(&RunPlan::of(Vec::new()), 0), None);
    }

    #[test]
    fn the_measure_that_the_program_is_about() {
        let measured = |elapsed: i64, process: Option<i64>| {
            let mut rule = PrecisionRule::default();
            (0..10).for_each(|block| rule.add(block, Nanos(elapsed), process.map(Nanos)));
            rule.measure()
        };
        assert_eq!(measured(100, Some(99)), Measure::Pt);
        assert_eq!(measured(100, Some(380)), Measure::Pt, "four CPUs");
        assert_eq!(measured(100, Some(2)), Measure::Et, "it sleeps");
        assert_eq!(measured(100, None), Measure::Et);
    }
}
