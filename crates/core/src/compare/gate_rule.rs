//! The rule of a gate: from the ratios of its blocks to its verdicts.
//!
//! Let x be the logarithms of head / base of a benchmark's blocks, t its threshold (0.02: slower by 2%). Two locations of them are
//! tested, the middle (signed rank) and the mean, each at all looks: after 6, 10, 16, … blocks (`gate_evidence.rs`).
//!
//! | p value | of the hypothesis |
//! | --- | --- |
//! | `p_slower` | middle and mean are at most 1 + t/2 times as slow |
//! | `p_faster` | middle and mean are at most 1 + t/2 times as fast |
//! | `p_beyond` | middle or mean is at least 1 + t times as slow |
//!
//! 1. *Control.* Of the blocks' ratios base / base, the two-sided p value of "no difference" of the middle. Those for which Holm's
//!    method ([`holm`]) rejects it, at the family's error over all benchmarks, differ from themselves: whatever made them differ may
//!    have made the head differ from the base.
//! 2. *Failed* is a benchmark that could not be measured.
//! 3. *Inconclusive* is one whose control differs.
//! 4. *Regression*: Holm's method over `p_slower` of all benchmarks of the plan rejects at the family's error, and an interval lies
//!    above 1 + t/2. A benchmark that is not measured, or to which 2 or 3 applies, counts as p = 1.
//! 5. *Improvement*: the same with `p_faster`, and no interval reaches beyond 1 + t.
//! 6. *Pass*: neither, no interval reaches beyond 1 + t, and there are [`fewest_to_pass`] blocks.
//! 7. *Inconclusive*: all others.
//!
//! So, of changes that make nothing slower by more than half of its threshold, at most the family's share is called a regression,
//! however many benchmarks there are; and of benchmarks that are slower by the whole threshold, at most 5% pass. As the two bounds
//! differ, every program is decided if only it is measured for long enough. The intervals that are shown are those that decide.

use crate::base::units::Nanos;
use crate::compare::gate::{
    AlikeBlocks, BenchmarkReport, ControlReport, Gate, GateBenchmark, GateReport, GateVerdict, MeanRatio,
    MeasuredBenchmark,
};
use crate::compare::gate_evidence::{GateLook, LookedAt, within};
use crate::statistics::block_dependence::{BlockDependence, caution};
use crate::statistics::holm::holm;
use crate::statistics::intervals::{Interval, LEVEL, NoInterval};
use crate::statistics::mean::MeanEstimate;
use crate::statistics::sequential::{SequentialDesign, looks};
use crate::statistics::series::Values;
use crate::statistics::signed_rank::{detectable, location};
use statrs::distribution::{ContinuousCDF, Normal};
use std::cell::OnceCell;

/// Largest probability of passing a benchmark that is slower by its whole threshold, and of missing what is to be found.
const PASS_ERROR: f64 = 0.05;
/// A share of slow executions that a pass does not miss: a quarter.
const SLOW_SHARE: f64 = 0.25;
/// So many times the blocks of a test with a single look are what one with several looks needs, about: at 1% to 0.01% with seven
/// looks, the square of (3.4 + 1.6) / (3.1 + 1.6), and a little more at 5%.
const LOOKING: f64 = 1.25;
/// More blocks than this are not a number to wait for.
const ENDLESS: f64 = 1e6;

/// Fewest blocks of a pass, 11: of fewer none is slow with a probability of more than 5% if a quarter of the executions is.
pub fn fewest_to_pass() -> u32 {
    (PASS_ERROR.ln() / (1.0 - SLOW_SHARE).ln()).ceil() as u32
}

/// Everything that a gate says, from what was measured so far.
pub fn report(gate: &Gate) -> GateReport {
    let plan = &gate.plan;
    let design = SequentialDesign::new(plan.max_blocks, LEVEL);
    let (evidence, controls) = (evidence(gate, &design), controls(gate, &design));
    let rejections = rejections(gate, &evidence, &controls);
    let found = evidence.iter().zip(controls).zip(rejections);
    let mut benchmarks: Vec<BenchmarkReport> = plan
        .benchmarks
        .iter()
        .zip(found)
        .map(|(planned, ((e, control), rejected))| e.report(planned, control, rejected))
        .collect();
    for (report, measured) in benchmarks.iter_mut().zip(&gate.measured) {
        report.corrected = measured.corrected_ratio();
    }
    GateReport { verdict: suite_verdict(&benchmarks), mean_ratio: mean_ratio(gate, &benchmarks), benchmarks }
}

/// Benchmarks that more blocks could still decide, the one that has taken least time first; empty when all are decided or at the
/// cap.
///
/// Decided is what stays so whatever the other benchmarks give: a regression or improvement at the family's error divided by the
/// number of benchmarks, which Holm's method never asks for less than; a pass whose intervals leave no room for an improvement;
/// a control that differs. Time budgets are not looked at.
pub fn undecided(gate: &Gate) -> Vec<usize> {
    let plan = &gate.plan;
    let design = SequentialDesign::new(plan.max_blocks, LEVEL);
    // Blocks after the last look are not used.
    let most = design.looks().last().map_or(0, |n| *n as usize);
    let share = plan.family_error / plan.benchmarks.len().max(1) as f64;
    let all = evidence(gate, &design).into_iter().zip(controls(gate, &design)).enumerate();
    let open = all.filter(|(_, (e, control))| {
        let ended = e.failed || e.blocks.have() >= most || differs(control.as_ref());
        !ended && !e.is_settled(share)
    });
    let took = |place: usize| gate.measured.get(place).map_or(Nanos::ZERO, |m| m.took);
    let mut open: Vec<(Nanos, usize)> = open.map(|(place, _)| (took(place), place)).collect();
    open.sort_unstable();
    open.into_iter().map(|(_, place)| place).collect()
}

/// About how many blocks would decide a benchmark, all of them counted, if it goes on as it began: for a power of 95%, given the
/// spread of its blocks and the distance of middle and mean from the nearest bound that decides. A number of blocks after which
/// there is a look, unless it is beyond the cap. `None` where too little was measured to say so, or where no number helps.
pub fn blocks_needed(gate: &Gate, benchmark: usize) -> Option<u32> {
    let plan = &gate.plan;
    let values = finite(&gate.measured.get(benchmark)?.logs);
    let n = values.len() as f64;
    let (half, whole) = limits(plan.benchmarks.get(benchmark)?)?;
    let share = Some(plan.family_error / plan.benchmarks.len() as f64).filter(|share| *share > 0.0 && *share < 1.0)?;
    let normal = Normal::new(0.0, 1.0).ok()?;
    let quantiles = |error: f64| normal.inverse_cdf(1.0 - error) + normal.inverse_cdf(1.0 - PASS_ERROR);
    let variance = BlockDependence::of(&values).variance;
    let middle = location(&values, LEVEL)?.estimate;
    let mean = MeanEstimate::new(&within(&values, whole), variance)?;
    // What this many values show of a two-sided test, in units of its quantiles, shrinks with their root.
    let unit = detectable(&values, LEVEL)? / quantiles((1.0 - LEVEL) / 2.0) * variance.sqrt();
    let blocks = |(now, unit): (f64, f64), [least, most]: [f64; 2], error: f64| {
        let distance = (now - least).max(most - now);
        let by_spread = n * (unit * quantiles(error) / distance).powi(2) * LOOKING;
        // Of n signs, all alike have a probability of 2^-n.
        if distance > 0.0 { by_spread.max((1.0 / error).log2()) } else { f64::INFINITY }
    };
    let both = [(middle, unit), (mean.mean, mean.error)];
    let different = both.map(|known| blocks(known, [half, -half], share / 2.0));
    let passing = both.map(|known| blocks(known, [f64::INFINITY, whole], (1.0 - LEVEL) / 2.0));
    let passing = passing.into_iter().fold(f64::from(fewest_to_pass()), f64::max);
    let nearest = different.into_iter().fold(passing, f64::min);
    // Not a number is not below it either.
    let independent = (nearest < ENDLESS).then_some(nearest.ceil())?;
    let mut needed = independent.max(n + 1.0);
    while needed / caution(needed) < independent {
        needed += 1.0;
    }
    let needed = needed as u32;
    Some(looks(plan.max_blocks).into_iter().find(|look| *look >= needed).unwrap_or(needed))
}

/// What the blocks of a benchmark say by themselves.
struct BenchmarkEvidence<'a> {
    failed: bool,
    blocks: LookedAt<'a>,
    /// Of all blocks; none if one of them is no number.
    logs: Values,
    limits: Option<(f64, f64)>,
    /// `p_slower` and `p_faster`, once they are asked for, as they take long.
    slower: OnceCell<f64>,
    faster: OnceCell<f64>,
    /// Intervals of the logarithms, of the middle and of the mean, likewise.
    intervals: OnceCell<[Result<Interval, NoInterval>; 2]>,
}

impl<'a> BenchmarkEvidence<'a> {
    fn new(
        planned: &GateBenchmark,
        measured: &MeasuredBenchmark,
        design: &'a SequentialDesign,
    ) -> BenchmarkEvidence<'a> {
        let (logs, limits) = (finite(&measured.logs), limits(planned));
        let blocks = LookedAt::new(design, &logs, limits.map_or(f64::NAN, |(_, whole)| whole));
        let (slower, faster, intervals) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        BenchmarkEvidence { failed: measured.failed.is_some(), blocks, logs, limits, slower, faster, intervals }
    }

    fn intervals(&self) -> &[Result<Interval, NoInterval>; 2] {
        self.intervals.get_or_init(|| [self.blocks.middle_interval(), self.blocks.mean_interval()])
    }

    fn slower(&self) -> f64 {
        *self.slower.get_or_init(|| self.limits.map_or(1.0, |(half, _)| self.blocks.at_most(half).any()))
    }

    fn faster(&self) -> f64 {
        *self.faster.get_or_init(|| self.limits.map_or(1.0, |(half, _)| self.blocks.at_least(-half).any()))
    }

    /// Whether an interval lies above half of the threshold, and whether one lies as far below 1.
    fn apart(&self) -> (bool, bool) {
        let Some((half, _)) = self.limits else { return (false, false) };
        let any = |beyond: &dyn Fn(&Interval) -> bool| self.intervals().iter().flatten().any(beyond);
        (any(&|i| i.low > half), any(&|i| i.high < -half))
    }

    /// Both intervals end below the threshold.
    fn stays_below(&self) -> bool {
        let below = |whole: f64| self.intervals().iter().all(|i| i.as_ref().is_ok_and(|i| i.high < whole));
        self.limits.is_some_and(|(_, whole)| below(whole))
    }

    fn passes(&self) -> bool {
        let looked_at = self.blocks.last().map_or(0, |look| look.logs.len());
        looked_at >= fewest_to_pass() as usize && self.stays_below()
    }

    /// Its verdict stays as it is, with this share of the family's error.
    fn is_settled(&self, share: f64) -> bool {
        let (above, below) = self.apart();
        let improves = || below && self.stays_below() && self.faster() <= share;
        let no_improvement = |half: f64| self.intervals().iter().all(|i| i.as_ref().is_ok_and(|i| i.low > -half));
        let passes = || self.passes() && self.limits.is_some_and(|(half, _)| no_improvement(half));
        (above && self.slower() <= share) || improves() || passes()
    }

    fn report(
        &self,
        planned: &GateBenchmark,
        control: Option<ControlReport>,
        rejected: (bool, bool),
    ) -> BenchmarkReport {
        let (above, below) = self.apart();
        let verdict = match (rejected.0 && above, rejected.1 && below) {
            _ if self.failed => GateVerdict::Failed,
            _ if differs(control.as_ref()) => GateVerdict::Inconclusive,
            // At different looks, or of the middle and the mean.
            (true, true) => GateVerdict::Inconclusive,
            (true, false) => GateVerdict::Regression,
            (false, true) if self.stays_below() => GateVerdict::Improvement,
            (false, false) if self.passes() => GateVerdict::Pass,
            (false, _) => GateVerdict::Inconclusive,
        };
        let [middle, mean] = self.intervals().clone().map(of_ratio);
        let look = self.blocks.last();
        let alike = look.and_then(|look| {
            let correlation = look.dependence.correlation?;
            Some(AlikeBlocks { correlation, worth: look.dependence.effective() })
        });
        BenchmarkReport {
            name: planned.name.clone(),
            verdict,
            ratio: self.middle().map(f64::exp),
            detectable: look.and_then(|look| detectable(look.spread(), LEVEL)).map(f64::exp_m1),
            interval: middle,
            mean: self.mean(mean),
            blocks: u32::try_from(self.logs.len()).unwrap_or(u32::MAX),
            alike,
            p_slower: self.slower(),
            p_faster: self.faster(),
            p_beyond: self.limits.map_or(1.0, |(_, whole)| self.blocks.at_least(whole).all()),
            control,
            corrected: None,
        }
    }

    /// Of the blocks that the interval is of, so that the estimate lies within it; without an interval, of all.
    fn middle(&self) -> Option<f64> {
        match self.blocks.last() {
            Some(look) => Some(look.middle),
            None => location(&self.logs, LEVEL).map(|l| l.estimate),
        }
    }

    /// The mean, likewise; `None` of fewer than two blocks.
    fn mean(&self, interval: Result<Interval, NoInterval>) -> Option<MeanRatio> {
        let whole = self.limits?.1;
        let (logs, mean) = match self.blocks.last() {
            Some(GateLook { logs, mean, .. }) => (logs, mean.mean),
            None => (&self.logs, MeanEstimate::new(&within(&self.logs, whole), 1.0)?.mean),
        };
        let count = |is: &dyn Fn(f64) -> bool| {
            u32::try_from(logs.as_slice().iter().filter(|x| is(**x)).count()).unwrap_or(u32::MAX)
        };
        Some(MeanRatio {
            ratio: mean.exp(),
            interval,
            slow_blocks: count(&|x| x > whole),
            fast_blocks: count(&|x| x < -whole),
            of_blocks: count(&|_| true),
        })
    }
}

/// Of all benchmarks of the plan; what is missing was not measured.
fn evidence<'a>(gate: &Gate, design: &'a SequentialDesign) -> Vec<BenchmarkEvidence<'a>> {
    let nothing = MeasuredBenchmark::default();
    let measured = |place: usize| gate.measured.get(place).unwrap_or(&nothing);
    let planned = gate.plan.benchmarks.iter().enumerate();
    planned.map(|(i, b)| BenchmarkEvidence::new(b, measured(i), design)).collect()
}

/// Which benchmarks Holm's method calls slower, and which faster.
fn rejections(
    gate: &Gate,
    evidence: &[BenchmarkEvidence<'_>],
    controls: &[Option<ControlReport>],
) -> Vec<(bool, bool)> {
    let family = |p: fn(&BenchmarkEvidence<'_>) -> f64| {
        // One that is no regression whatever its blocks say takes no part of the error.
        let p = |(e, c): (&BenchmarkEvidence<'_>, &Option<ControlReport>)| match e.failed || differs(c.as_ref()) {
            true => 1.0,
            false => p(e),
        };
        holm(&evidence.iter().zip(controls).map(p).collect::<Vec<f64>>(), gate.plan.family_error)
    };
    family(|e| e.slower()).into_iter().zip(family(|e| e.faster())).collect()
}

/// The controls of all benchmarks of the plan. One that was not measured counts as p = 1, so that a control differs or not
/// whatever is measured of the others later.
fn controls(gate: &Gate, design: &SequentialDesign) -> Vec<Option<ControlReport>> {
    let control = |place: usize| {
        let logs = finite(&gate.measured.get(place)?.control_logs);
        let blocks = LookedAt::new(design, &logs, f64::NAN);
        let middle = blocks.last().map(|look| look.middle).or(location(&logs, LEVEL).map(|l| l.estimate))?;
        let p = blocks.at_most(0.0).middle.min(blocks.at_least(0.0).middle);
        let interval = of_ratio(blocks.middle_interval());
        Some(ControlReport { ratio: middle.exp(), interval, p: (2.0 * p).min(1.0), differs: false })
    };
    let mut all: Vec<Option<ControlReport>> = (0..gate.plan.benchmarks.len()).map(control).collect();
    let p: Vec<f64> = all.iter().map(|c| c.as_ref().map_or(1.0, |c| c.p)).collect();
    for (control, rejected) in all.iter_mut().zip(holm(&p, gate.plan.family_error)) {
        if let Some(control) = control {
            control.differs = rejected;
        }
    }
    all
}

fn differs(control: Option<&ControlReport>) -> bool {
    control.is_some_and(|c| c.differs)
}

/// The worst one. Of no benchmarks nothing is known.
fn suite_verdict(benchmarks: &[BenchmarkReport]) -> GateVerdict {
    let worst = [GateVerdict::Failed, GateVerdict::Regression, GateVerdict::Inconclusive];
    let found = worst.into_iter().find(|v| benchmarks.iter().any(|b| b.verdict == *v));
    let best = if benchmarks.is_empty() { GateVerdict::Inconclusive } else { GateVerdict::Pass };
    found.unwrap_or(best)
}

/// Of the benchmarks that were measured.
fn mean_ratio(gate: &Gate, benchmarks: &[BenchmarkReport]) -> Option<f64> {
    let measured = gate.plan.benchmarks.iter().zip(benchmarks).filter(|(_, b)| b.verdict != GateVerdict::Failed);
    let weighted = measured.filter_map(|(planned, b)| Some((planned.weight, b.ratio?.ln())));
    let (mut weights, mut sum) = (0.0, 0.0);
    for (weight, log) in weighted.filter(|(weight, _)| weight.is_finite() && *weight > 0.0) {
        weights += weight;
        sum += weight * log;
    }
    Some((sum / weights).exp()).filter(|mean| mean.is_finite())
}

/// Logarithms of 1 + half of the threshold and of 1 + the threshold; `None` if it is no threshold.
fn limits(planned: &GateBenchmark) -> Option<(f64, f64)> {
    let t = planned.threshold;
    (t.is_finite() && t >= 0.0).then(|| ((t / 2.0).ln_1p(), t.ln_1p()))
}

/// No values if any of them is no number: of such blocks nothing is known.
fn finite(logs: &[f64]) -> Values {
    Values::new(logs.iter().copied()).unwrap_or_default()
}

/// The interval of the ratio whose logarithm has this one.
fn of_ratio(interval: Result<Interval, NoInterval>) -> Result<Interval, NoInterval> {
    interval.map(|i| Interval { low: i.low.exp(), high: i.high.exp(), level: i.level })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::{GatePlan, GateSide};
    use crate::run::report::data::{Measure, RatioBasis};
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;

    const CAP: u32 = 24;

    fn planned(name: &str, threshold: f64) -> GateBenchmark {
        let (name, command) = (name.to_owned(), "./prog".to_owned());
        GateBenchmark { name, command, threshold, weight: 1.0, measure: None, budget: None }
    }

    fn measured(logs: &[f64]) -> MeasuredBenchmark {
        MeasuredBenchmark {
            basis: RatioBasis::Duets,
            measure: Some(Measure::Pt),
            logs: logs.to_vec(),
            took: Nanos(i64::try_from(logs.len()).unwrap() * 1_000),
            ..MeasuredBenchmark::default()
        }
    }

    /// With thresholds of 2%.
    fn gate(all: Vec<MeasuredBenchmark>) -> Gate {
        let plan = GatePlan {
            suite: "suite".to_owned(),
            base: GateSide::default(),
            head: GateSide::default(),
            benchmarks: (0..all.len()).map(|i| planned(&format!("b{i}"), 0.02)).collect(),
            budget: None,
            max_blocks: CAP,
            control: false,
            family_error: 0.01,
        };
        Gate { plan, measured: all }
    }

    /// So many blocks around this ratio, half of them above it and half below by as much.
    fn around(ratio: f64, blocks: u32, spread: f64) -> Vec<f64> {
        let place =
            |i: u32| f64::from(i / 2 + 1) / f64::from(blocks) * 2.0 * if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..blocks).map(|i| ratio.ln() + spread * place(i)).collect()
    }

    fn verdict_of(logs: &[f64]) -> GateVerdict {
        let found = report(&gate(vec![measured(logs)]));
        assert_eq!(
            found.verdict == GateVerdict::Pass,
            found.benchmarks[0].verdict != GateVerdict::Regression
                && found.benchmarks[0].verdict != GateVerdict::Inconclusive
        );
        found.benchmarks[0].verdict
    }

    #[test]
    fn ratios_that_are_known_well_have_their_verdict() {
        for (ratio, expected) in [
            (1.04, GateVerdict::Regression),
            // Above half of the threshold, though below the whole.
            (1.015, GateVerdict::Regression),
            (1.005, GateVerdict::Pass),
            (1.0, GateVerdict::Pass),
            (0.995, GateVerdict::Pass),
            (0.95, GateVerdict::Improvement),
        ] {
            assert_eq!(verdict_of(&around(ratio, CAP, 0.001)), expected, "{ratio}");
            assert_eq!(verdict_of(&[f64::ln(ratio); CAP as usize]), expected, "{ratio}, all alike");
        }
    }

    #[test]
    fn what_is_not_known_is_inconclusive() {
        for logs in [vec![], vec![0.04], vec![0.04; 5], around(1.04, CAP, 0.3), around(1.0, CAP, 0.3)] {
            assert_eq!(verdict_of(&logs), GateVerdict::Inconclusive, "{logs:?}");
        }
        let mut broken = around(1.0, CAP, 0.001);
        broken[3] = f64::NAN;
        let found = report(&gate(vec![measured(&broken)]));
        assert_eq!((found.verdict, found.mean_ratio), (GateVerdict::Inconclusive, None));
        assert_eq!((found.benchmarks[0].blocks, found.benchmarks[0].ratio), (0, None));
        let mut without_threshold = gate(vec![measured(&around(1.04, CAP, 0.001))]);
        without_threshold.plan.benchmarks[0].threshold = f64::NAN;
        assert_eq!(report(&without_threshold).verdict, GateVerdict::Inconclusive);
        assert_eq!(report(&gate(Vec::new())).verdict, GateVerdict::Inconclusive);
    }

    #[test]
    fn the_figures_are_those_of_the_blocks() {
        let found = report(&gate(vec![measured(&around(1.04, CAP, 0.002)), measured(&[])]));
        let [slow, none] = found.benchmarks.as_slice() else { panic!("{found:?}") };
        assert_eq!((slow.name.as_str(), slow.blocks, none.blocks), ("b0", CAP, 0));
        let (ratio, interval) = (slow.ratio.unwrap(), slow.interval.clone().unwrap());
        assert!((ratio - 1.04).abs() < 1e-9, "{ratio}");
        assert!(interval.contains(ratio) && interval.low > 1.038 && interval.high < 1.042, "{interval:?}");
        assert!((0.0..0.002).contains(&slow.detectable.unwrap()));
        assert!(slow.p_slower < 0.005 && slow.p_faster > 0.5 && slow.p_beyond > 0.5, "{slow:?}");
        assert_eq!((none.ratio, none.detectable, none.p_slower, none.p_beyond), (None, None, 1.0, 1.0));
        assert!(none.interval.is_err() && none.control.is_none());
        assert!((found.mean_ratio.unwrap() - 1.04).abs() < 1e-9);
    }

    #[test]
    fn blocks_after_the_last_look_change_nothing_yet() {
        let mut logs = around(1.0, 10, 0.004);
        let before = report(&gate(vec![measured(&logs)])).benchmarks.remove(0);
        logs.extend([0.5; 5]);
        let after = report(&gate(vec![measured(&logs)])).benchmarks.remove(0);
        assert_eq!((before.blocks, after.blocks), (10, 15));
        assert_eq!(BenchmarkReport { blocks: 10, ..after }, before);
    }

    /// As docs/gate.md and docs/python.md say.
    #[test]
    fn so_many_blocks_are_needed_at_least() {
        let verdicts = |ratio: f64| -> Vec<(u32, GateVerdict)> {
            let verdict = |blocks: u32| {
                let mut g = gate(vec![measured(&around(ratio, blocks, 0.001))]);
                g.plan.max_blocks = blocks;
                (blocks, report(&g).benchmarks[0].verdict)
            };
            (6..=12).map(verdict).collect()
        };
        for (blocks, verdict) in verdicts(1.5) {
            assert_eq!(verdict == GateVerdict::Regression, blocks >= 9, "{blocks} blocks: {verdict:?}");
        }
        for (blocks, verdict) in verdicts(1.0) {
            assert_eq!(verdict == GateVerdict::Pass, blocks >= fewest_to_pass(), "{blocks} blocks: {verdict:?}");
        }
        assert_eq!(fewest_to_pass(), 11);
    }

    #[test]
    fn a_share_of_slow_executions_moves_the_mean() {
        // Every fourth of 200 blocks is 10% slower.
        let mut logs = around(1.0, 200, 0.001);
        logs.iter_mut().step_by(4).for_each(|x| *x += 0.1_f64.ln_1p());
        let mut g = gate(vec![measured(&logs)]);
        g.plan.max_blocks = 200;
        let b = report(&g).benchmarks.remove(0);
        let (mean, middle) = (b.mean.clone().unwrap(), b.interval.clone().unwrap());
        assert_eq!(
            (b.verdict, mean.slow_blocks, mean.fast_blocks, mean.of_blocks),
            (GateVerdict::Regression, 50, 0, 200)
        );
        assert!(middle.low < 1.01 && mean.interval.unwrap().low > 1.01, "{b:?}");
        assert!((mean.ratio - (0.1_f64.ln_1p() / 4.0).exp()).abs() < 1e-3);
        // A single disturbed block counts for at most ten thresholds.
        let mut logs = around(1.0, 24, 0.001);
        logs[5] += 3.0;
        let b = report(&gate(vec![measured(&logs)])).benchmarks.remove(0);
        assert!(b.mean.as_ref().unwrap().ratio < 1.01 && b.verdict == GateVerdict::Inconclusive, "{b:?}");
    }

    #[test]
    fn blocks_that_are_alike_say_less() {
        // Four levels, each of six blocks.
        let logs: Vec<f64> = (0..24).map(|i| 0.004 * f64::from(i / 6) + 0.0005 * f64::from(i % 3)).collect();
        let b = report(&gate(vec![measured(&logs)])).benchmarks.remove(0);
        let alike = b.alike.unwrap();
        assert!(alike.correlation > 0.5 && alike.worth < 8.0, "{alike:?}");
        let mut mixed = logs.clone();
        let by = |i: usize| logs[i * 7 % 24];
        (0..24).for_each(|i| mixed[i] = by(i));
        let other = report(&gate(vec![measured(&mixed)])).benchmarks.remove(0);
        let width = |b: &BenchmarkReport| b.interval.as_ref().unwrap().half_width();
        assert!(other.alike.is_none() && width(&b) > 1.5 * width(&other), "{other:?}");
    }

    #[test]
    fn the_mean_has_weights() {
        let mut g = gate(vec![measured(&[0.1]), measured(&[0.4]), measured(&[]), measured(&[9.0])]);
        g.plan.benchmarks[1].weight = 3.0;
        g.measured[3].failed = Some("it failed".to_owned());
        let mean = report(&g).mean_ratio.unwrap();
        assert!((mean - f64::exp((0.1 + 3.0 * 0.4) / 4.0)).abs() < 1e-12, "{mean}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            g.plan.benchmarks.iter_mut().for_each(|b| b.weight = bad);
            assert_eq!(report(&g).mean_ratio, None, "{bad}");
        }
    }

    #[test]
    fn the_worst_verdict_is_that_of_the_suite() {
        let good = || measured(&around(1.0, CAP, 0.001));
        let slow = || measured(&around(1.1, CAP, 0.001));
        let failed = || MeasuredBenchmark { failed: Some("it crashed".to_owned()), ..slow() };
        let suite = |all: Vec<MeasuredBenchmark>| report(&gate(all)).verdict;
        assert_eq!(suite(vec![good(), measured(&around(0.9, CAP, 0.001))]), GateVerdict::Pass);
        assert_eq!(suite(vec![good(), measured(&[])]), GateVerdict::Inconclusive);
        assert_eq!(suite(vec![measured(&[]), slow(), good()]), GateVerdict::Regression);
        assert_eq!(suite(vec![slow(), failed(), good()]), GateVerdict::Failed);
        let found = report(&gate(vec![failed(), good()]));
        assert_eq!(found.benchmarks[0].verdict, GateVerdict::Failed);
        assert_eq!(found.benchmarks[0].blocks, CAP, "what was measured before it failed is shown");
        // Fewer results than benchmarks: the rest is not measured.
        let mut short = gate(vec![good(), good()]);
        short.measured.pop();
        assert_eq!(report(&short).benchmarks[1].verdict, GateVerdict::Inconclusive);
    }

    #[test]
    fn a_base_that_differs_from_itself_decides_nothing() {
        let slow = measured(&around(1.1, CAP, 0.001));
        let with = |control: Vec<f64>| {
            let spoiled = MeasuredBenchmark { control_logs: control, ..slow.clone() };
            gate(vec![spoiled, slow.clone()])
        };
        let calm = report(&with(around(1.0, CAP, 0.001)));
        let control = calm.benchmarks[0].control.as_ref().unwrap();
        assert!(!control.differs && control.p > 0.2 && (control.ratio - 1.0).abs() < 1e-9, "{control:?}");
        assert!(control.interval.as_ref().unwrap().contains(1.0));
        assert_eq!(calm.benchmarks[0].verdict, GateVerdict::Regression);
        assert!(calm.benchmarks[1].control.is_none());
        for differing in [1.05, 0.95] {
            let g = with(around(differing, CAP, 0.001));
            let found = report(&g);
            assert!(found.benchmarks[0].control.as_ref().unwrap().differs);
            assert_eq!(found.benchmarks[0].verdict, GateVerdict::Inconclusive);
            assert_eq!(found.benchmarks[1].verdict, GateVerdict::Regression);
            assert!(undecided(&g).is_empty());
        }
    }

    #[test]
    fn more_blocks_go_to_those_that_they_may_decide() {
        let open = |blocks: u32| measured(&around(1.0, blocks, 0.3));
        let all = vec![
            open(16),
            open(10),
            MeasuredBenchmark { failed: Some("it crashed".to_owned()), ..open(6) },
            open(CAP),
            measured(&around(1.1, CAP - 8, 0.0001)),
            measured(&around(0.9, CAP - 8, 0.0001)),
            measured(&around(1.0, CAP - 8, 0.0001)),
            measured(&[]),
        ];
        let g = gate(all);
        assert_eq!(undecided(&g), [7, 1, 0]);
        assert!(undecided(&gate(Vec::new())).is_empty());
        // The benchmarks of a gate that has only begun, in the order of the plan.
        let begun = Gate { measured: Vec::new(), ..g };
        assert_eq!(undecided(&begun), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn the_blocks_that_are_needed_follow_the_spread() {
        let mut g = gate(vec![measured(&around(1.0, 10, 0.04))]);
        g.plan.max_blocks = 1_000;
        let some = blocks_needed(&g, 0).unwrap();
        assert!(some > 10 && looks(1_000).contains(&some), "{some}");
        g.measured[0] = measured(&around(1.0, 10, 0.16));
        let more = blocks_needed(&g, 0).unwrap();
        // Sixteen times as many but for the steps between the looks, each of which is half as many again.
        assert!((8..=32).contains(&(more / some)), "{more} and {some}");
        g.plan.max_blocks = 12;
        assert!(blocks_needed(&g, 0).unwrap() > 12, "beyond the cap, too");
        for logs in [vec![], vec![0.1; 5]] {
            g.measured[0] = measured(&logs);
            assert_eq!(blocks_needed(&g, 0), None);
        }
        assert_eq!(blocks_needed(&g, 1), None);
        g.measured[0] = measured(&around(1.0, 10, 0.02));
        for bad in [0.0, -1.0, 7.0, f64::NAN] {
            g.plan.family_error = bad;
            assert_eq!(blocks_needed(&g, 0), None, "{bad}");
        }
    }

    /// Normal, or heavy-tailed: one of ten is ten times as wide.
    fn draw(rng: &mut ChaCha8Rng, heavy: bool) -> f64 {
        let normal = Normal::new(0.0, 1.0).unwrap().inverse_cdf(unit(rng));
        if heavy && unit(rng) < 0.1 { 10.0 * normal } else { normal }
    }

    /// Ten benchmarks of 24 blocks each, with a standard deviation of 0.5% (of most blocks), which are so many times as slow.
    fn suite(rng: &mut ChaCha8Rng, heavy: bool, ratio: f64) -> Gate {
        let mut logs = || (0..CAP).map(|_| ratio.ln() + 0.005 * draw(rng, heavy)).collect::<Vec<f64>>();
        gate((0..10).map(|_| measured(&logs())).collect())
    }

    /// Whether any benchmark of the suite is called a regression, and whether any is called an improvement.
    fn called(g: &Gate) -> (bool, bool) {
        let design = SequentialDesign::new(CAP, LEVEL);
        let found = rejections(g, &evidence(g, &design), &controls(g, &design));
        (found.iter().any(|r| r.0), found.iter().any(|r| r.1))
    }

    #[test]
    fn suites_without_a_difference_have_no_regression() {
        for heavy in [false, true] {
            let mut rng = generator(23, RandomPurpose::Noise, u64::from(heavy));
            let same: Vec<Gate> = (0..300).map(|_| suite(&mut rng, heavy, 1.0)).collect();
            // At most 1% of 300 suites are 3. The bounds of the rule are two deviations away from the truth, so that none is called.
            let all: Vec<(bool, bool)> = same.iter().map(called).collect();
            assert_eq!(all.iter().filter(|c| c.0 || c.1).count(), 0, "heavy: {heavy}");
            // What is counted here is what the report says.
            for g in same.iter().take(5) {
                let found = report(g);
                assert!(
                    found
                        .benchmarks
                        .iter()
                        .all(|b| !matches!(b.verdict, GateVerdict::Regression | GateVerdict::Improvement))
                );
                assert!(heavy || found.verdict == GateVerdict::Pass);
            }
        }
    }

    /// Where the bound of the rule is strict: everything is slower by half of the threshold.
    #[test]
    fn the_family_has_its_error_at_its_bound() {
        let mut wrong = 0;
        for heavy in [false, true] {
            let mut rng = generator(25, RandomPurpose::Noise, u64::from(heavy));
            wrong += (0..100).filter(|_| called(&suite(&mut rng, heavy, 1.01)).0).count();
        }
        // At most 1% of 200 suites are 2; a Poisson count with this mean is 8 or more with a probability of 0.1%.
        assert!(wrong <= 7, "{wrong} of 200");
    }

    #[test]
    fn a_slowdown_of_twice_the_threshold_is_found() {
        let mut rng = generator(29, RandomPurpose::Noise, 0);
        let all: Vec<BenchmarkReport> =
            (0..20).flat_map(|_| report(&suite(&mut rng, false, 1.04)).benchmarks).collect();
        let found = all.iter().filter(|b| b.verdict == GateVerdict::Regression).count();
        assert!(found * 100 >= all.len() * 95, "{found} of {}", all.len());
    }

    #[test]
    fn measuring_what_is_undecided_comes_to_an_end() {
        let mut rng = generator(31, RandomPurpose::Noise, 0);
        let ratios: [f64; 5] = [1.0, 1.04, 1.013, 0.97, 1.002];
        let mut g = gate(ratios.map(|_| measured(&[])).to_vec());
        let mut steps = 0;
        while let Some(next) = undecided(&g).first().copied() {
            let m = &mut g.measured[next];
            let look = looks(CAP).into_iter().find(|look| *look as usize > m.logs.len()).unwrap();
            m.logs.resize_with(look as usize, || ratios[next].ln() + 0.005 * draw(&mut rng, false));
            m.took = Nanos(i64::from(look));
            steps += 1;
            assert!(steps <= ratios.len() * looks(CAP).len());
        }
        let found = report(&g);
        assert_eq!(found.verdict, GateVerdict::Regression);
        assert_eq!(found.benchmarks[1].verdict, GateVerdict::Regression);
        assert_eq!(found.benchmarks[3].verdict, GateVerdict::Improvement);
        assert!(found.benchmarks[1].blocks < CAP, "it ended early");
    }

    /// Logarithms, threshold, whether there is a control.
    type AnyBenchmark = (Vec<f64>, f64, bool);

    fn any_benchmark() -> impl Strategy<Value = AnyBenchmark> {
        (proptest::collection::vec(-0.05..0.07_f64, 0..16), 0.001..0.1_f64, any::<bool>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_order_of_benchmarks_does_not_matter(
            (a, b) in proptest::collection::vec(any_benchmark(), 1..5)
                .prop_map(|all| all.into_iter().enumerate().collect::<Vec<_>>())
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            let judged = |all: &[(usize, AnyBenchmark)]| {
                let mut g = gate(all.iter().map(|(_, (logs, ..))| measured(logs)).collect());
                let empty = g.plan.benchmarks.iter_mut().zip(&mut g.measured);
                for ((i, (logs, threshold, control)), (b, m)) in all.iter().zip(empty) {
                    *b = planned(&format!("b{i}"), *threshold);
                    m.control_logs = if *control { logs.iter().map(|x| x / 2.0).collect() } else { Vec::new() };
                    // All differ, so that the order of what is undecided is one of time alone.
                    m.took = Nanos(i64::try_from(*i).unwrap_or(0));
                }
                let mut found = report(&g);
                found.benchmarks.sort_by(|a, b| a.name.cmp(&b.name));
                let open: Vec<String> = undecided(&g).into_iter().map(|i| g.plan.benchmarks[i].name.clone()).collect();
                (found, open)
            };
            let ((a, a_open), (b, b_open)) = (judged(&a), judged(&b));
            prop_assert_eq!(a_open, b_open);
            prop_assert_eq!((a.verdict, &a.benchmarks), (b.verdict, &b.benchmarks));
            // Sums in another order differ in their last digit.
            let means = (a.mean_ratio.unwrap_or(0.0), b.mean_ratio.unwrap_or(0.0));
            prop_assert!((means.0 - means.1).abs() < 1e-9);
        }

        #[test]
        fn the_reverse_of_a_regression_is_an_improvement(logs in proptest::collection::vec(-0.02..0.05_f64, 0..24)) {
            let reverse: Vec<f64> = logs.iter().map(|x| -x).collect();
            let (a, b) = (report(&gate(vec![measured(&logs)])), report(&gate(vec![measured(&reverse)])));
            let (a, b) = (&a.benchmarks[0], &b.benchmarks[0]);
            // The last digits of an estimate depend on the sign.
            let alike = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(b);
            prop_assert!(alike(a.p_slower, b.p_faster) && alike(a.p_faster, b.p_slower), "{a:?} {b:?}");
            let reaches = |b: &BenchmarkReport| {
                let intervals = [Some(&b.interval), b.mean.as_ref().map(|m| &m.interval)];
                intervals.into_iter().flatten().flatten().any(|i| i.high >= 1.02)
            };
            // What may be slower beyond the threshold is no improvement.
            let improves = b.verdict == GateVerdict::Improvement || reaches(b);
            prop_assert!(a.verdict != GateVerdict::Regression || improves, "{a:?} {b:?}");
            prop_assert!(b.verdict != GateVerdict::Improvement || a.verdict == GateVerdict::Regression);
            if let (Some(ratio), Ok(interval)) = (a.ratio, &a.interval) {
                prop_assert!(interval.contains(ratio));
            }
        }

        #[test]
        fn any_numbers_have_a_report(
            bits in proptest::collection::vec(any::<u64>(), 0..30), t in any::<f64>(), w in any::<f64>(),
        ) {
            let logs: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
            let mut g = gate(vec![measured(&logs), measured(&[0.0; 7])]);
            (g.plan.benchmarks[0].threshold, g.plan.benchmarks[0].weight) = (t, w);
            let found = report(&g);
            prop_assert_eq!(found.benchmarks.len(), 2);
            prop_assert!(undecided(&g).len() <= 2);
            prop_assert!(blocks_needed(&g, 0).is_none_or(|n| n < 1_000_001));
        }
    }
}
