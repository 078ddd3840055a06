//! Looking at a measurement again and again while it grows, with one probability of error for all looks together.
//!
//! A measurement that ends when its interval is narrow enough, or when its verdict is clear, has been looked at several
//! times. Each look is another chance for the interval to miss the truth: with 95% each, one of ten misses in 24% of
//! the series. Here the error is shared out among the looks in advance. By a look at n of at most N values it is the
//! part ln(1 + (e − 1)·n/N) of the whole, the spending function of Lan and DeMets (Biometrika, 1983) that resembles
//! Pocock's boundaries. What each look may use follows from the joint distribution of all of them, that of a Brownian
//! motion, by the recursion of Armitage, McPherson and Rowe (J. R. Stat. Soc. A, 1969). An interval at each look with
//! the level that this leaves holds at all looks together, whatever made the measurement stop (repeated confidence
//! intervals: Jennison and Turnbull, J. R. Stat. Soc. B, 1989).
//!
//! The intervals and tests are those of the signed rank ([`crate::statistics::signed_rank`]). Few values have few
//! possible rank sums: a look uses the largest possible error that it may, and what it leaves over is left to the later
//! looks.

use crate::statistics::block_dependence::BlockDependence;
use crate::statistics::intervals::{FEWEST, Interval, NoInterval};
use crate::statistics::series::Values;
use crate::statistics::signed_rank::{attained, fewest, location};
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::{E, PI, SQRT_2};

/// Most blocks of a design, larger caps count as this one: the signed rank uses all of so many values, and looks beyond
/// would not be related as the recursion assumes.
pub const MOST_BLOCKS: u32 = 1_000;

/// Numbers of blocks at which a sequential measurement looks at its results: 6, 10, 16, 24, 36, 54, 81, … (half as many
/// again), the last one is `cap`, or [`MOST_BLOCKS`]. Empty for a cap of 0.
pub fn looks(cap: u32) -> Vec<u32> {
    let cap = cap.min(MOST_BLOCKS);
    let next = |n: &u32| {
        Some(match *n {
            0..10 => 10,
            10..16 => 16,
            n => n + n.div_ceil(2),
        })
    };
    let mut all: Vec<u32> = std::iter::successors(Some(FEWEST), next).take_while(|n| *n < cap).collect();
    all.extend(Some(cap).filter(|cap| *cap > 0));
    all
}

/// A sequential measurement: at how many blocks it looks, and with which level at each look.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialDesign {
    level: f64,
    looks: Vec<u32>,
    /// Level of the interval at each look; `None` where so few values have none that may be used.
    local: Vec<Option<f64>>,
}

impl SequentialDesign {
    /// The design with at most `cap` blocks and this level of all its intervals together, e.g. 0.95. Without a level
    /// between 0 and 1 it has no intervals.
    pub fn new(cap: u32, level: f64) -> SequentialDesign {
        let error = if level > 0.0 && level < 1.0 { 1.0 - level } else { 0.0 };
        let looks = looks(cap);
        let stages = stages(&looks);
        let mut spending = Spending::new(Sides::Both);
        let mut local = Vec::with_capacity(stages.len());
        for (i, stage) in stages.iter().enumerate() {
            let ideal = spending.ideal(stage, error / 2.0);
            let at = 1.0 - 2.0 * above(ideal);
            // What is really attained with so many values is less than the look may use; the rest is not spent.
            let real = if ideal < FURTHEST { attained(stage.blocks as usize, at) } else { None };
            local.push(real.map(|_| at));
            let bound = real.map_or(FURTHEST, |level| bound_with((1.0 - level) / 2.0));
            spending.spend(stage, bound, stages.get(i + 1));
        }
        SequentialDesign { level, looks, local }
    }

    /// Level of all its intervals together.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The numbers of blocks.
    pub fn looks(&self) -> &[u32] {
        &self.looks
    }

    /// How many looks there were when there are so many values.
    pub fn looks_with(&self, values: usize) -> usize {
        self.looks.iter().filter(|n| **n as usize <= values).count()
    }

    /// The last look with an interval when there are so many values, and its level, which is higher than that of the
    /// design.
    pub fn local_level(&self, values: usize) -> Option<(u32, f64)> {
        let reached = self.looks.iter().zip(&self.local).take(self.looks_with(values));
        reached.filter_map(|(n, level)| level.map(|level| (*n, level))).next_back()
    }

    /// Repeated confidence interval of the location (signed rank) after these values, in order of time. It uses as many
    /// values as the largest look has of which there are enough. It holds at all looks together, whatever made the
    /// measurement stop, so that its level is that of the design.
    ///
    /// # Errors
    /// [`NoInterval::TooFew`] before the first look that has an interval.
    pub fn interval(&self, values: &Values) -> Result<Interval, NoInterval> {
        let too_few =
            || NoInterval::TooFew { have: u32::try_from(values.len()).unwrap_or(u32::MAX), need: self.need() };
        let (blocks, level) = self.local_level(values.len()).ok_or_else(too_few)?;
        let found = first(values, blocks).and_then(|values| location(&values, level)).ok_or_else(too_few)?;
        let interval = found.interval?;
        Ok(Interval { level: self.level, ..interval })
    }

    /// The same of values whose neighbours may be alike: where they clearly are, they count as fewer ([`BlockDependence::clear`]).
    ///
    /// # Errors
    /// As [`Self::interval`].
    pub fn interval_of_series(&self, values: &Values) -> Result<Interval, NoInterval> {
        let used = self.local_level(values.len()).and_then(|(blocks, _)| first(values, blocks));
        self.interval(&used.map_or_else(|| values.clone(), |used| BlockDependence::clear(&used).around_middle(&used)))
    }

    /// Values of the first look with an interval; if no look has one, what a single look would need.
    pub fn need(&self) -> u32 {
        let found = self.looks.iter().zip(&self.local).find(|(_, level)| level.is_some()).map(|(n, _)| *n);
        found.unwrap_or_else(|| u32::try_from(fewest(self.level)).unwrap_or(u32::MAX))
    }
}

/// Smallest p value of a single look that is told from 0: the errors of rounding are of this size.
const LEAST: f64 = 1e-15;
/// Relative error of an adjusted p value.
const TOLERANCE: f64 = 1e-6;

/// One-sided p value adjusted for the looks: the smallest one-sided error at which the design with this cap rejects at one
/// of the looks so far, of which there are `have` values. `local` gives the p value of a look with so many values by
/// itself, of which one that is no number counts as 1. 1 without values or before the first look.
///
/// The boundaries are one-sided here, and what a look with few values cannot use is lost rather than left to later
/// looks: only then does a smaller error never reject more than a larger one (with a larger error, more is spent at
/// each look, of a motion of which less has not crossed yet, so that every bound is nearer). The p value is a little
/// larger for it.
pub fn adjusted_p(cap: u32, have: usize, local: impl Fn(u32) -> Option<f64>) -> f64 {
    let local = |stage: &LookStage| local(stage.blocks).map(|p| if p.is_nan() { 1.0 } else { p.max(LEAST) });
    let reached = stages(&looks(cap)).into_iter().take_while(|stage| stage.blocks as usize <= have);
    let (stages, found): (Vec<LookStage>, Vec<f64>) = reached.filter_map(|s| local(&s).map(|p| (s, p))).unzip();
    // A look rejects at most with the error spent so far, and at least with what is spent at this look.
    let before = std::iter::once(0.0).chain(stages.iter().map(|s| s.share));
    let range =
        stages.iter().zip(before).zip(&found).fold((f64::INFINITY, f64::INFINITY), |range, ((s, before), p)| {
            (range.0.min(p / s.share), range.1.min(p / (s.share - before)))
        });
    if range.0.is_nan() || range.0 >= 1.0 {
        return 1.0;
    }
    // The logarithm of the look's error above its p value, at the look where that is largest: not negative if the
    // design rejects.
    let excess = |error: f64| {
        let bounds = one_sided_bounds(&stages, error.exp());
        bounds.iter().zip(&found).map(|(b, p)| (above(*b) / p).ln()).fold(f64::NEG_INFINITY, f64::max)
    };
    let highest = (range.1 * (1.0 + 1e-4)).min(1.0);
    smallest_root(excess, [(range.0 * (1.0 - 1e-4)).ln(), highest.ln()]).map_or(1.0, |error| error.exp().min(1.0))
}

/// The bounds at the looks, upwards only, of a design that spends this error.
fn one_sided_bounds(stages: &[LookStage], error: f64) -> Vec<f64> {
    let mut spending = Spending::new(Sides::Upper);
    let bound = |(i, stage): (usize, &LookStage)| {
        let bound = spending.ideal(stage, error);
        spending.spend(stage, bound, stages.get(i + 1));
        bound
    };
    stages.iter().enumerate().map(bound).collect()
}

/// Where a rising function changes its sign, from the side where it is not negative; `None` if it is negative at the
/// upper end. (Regula falsi, by the Illinois method.)
fn smallest_root(function: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2]) -> Option<f64> {
    let (mut below, mut over) = (function(low), function(high));
    if over < 0.0 {
        return None;
    }
    if below >= 0.0 {
        return Some(low);
    }
    let mut raised = None;
    for _ in 0..60 {
        if high - low < TOLERANCE {
            break;
        }
        let at = (low * over - high * below) / (over - below);
        let found = function(at);
        if found < 0.0 {
            (low, below) = (at, found);
            over /= if raised.replace(true) == Some(true) { 2.0 } else { 1.0 };
        } else {
            (high, over) = (at, found);
            below /= if raised.replace(false) == Some(false) { 2.0 } else { 1.0 };
            if found < TOLERANCE {
                break;
            }
        }
    }
    Some(high)
}

fn first(values: &Values, n: u32) -> Option<Values> {
    Values::new(values.as_slice().iter().take(n as usize).copied()).ok()
}

/// A look, as the recursion sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LookStage {
    blocks: u32,
    /// How much is known: the square of the correlation of two looks is the quotient of theirs.
    information: f64,
    /// Share of the error that is spent up to this look.
    share: f64,
}

fn stages(looks: &[u32]) -> Vec<LookStage> {
    let most = looks.last().map_or(1.0, |n| f64::from(*n));
    let stage = |n: &u32| LookStage { blocks: *n, information: information(*n), share: spent(f64::from(*n) / most) };
    looks.iter().map(stage).collect()
}

/// Share of the error that is spent when this share of the blocks is there.
fn spent(share: f64) -> f64 {
    ((E - 1.0) * share).ln_1p()
}

/// What the signed-rank statistic of n values knows: nearly 2n. Given the ranks of m values among themselves, rank r
/// among all n is r·(n + 1)/(m + 1) on average; therefore the squared correlation of both statistics is, exactly, m(2m
/// + 1)/(m + 1) divided by the same for n.
fn information(n: u32) -> f64 {
    let n = f64::from(n);
    n * (2.0 * n + 1.0) / (n + 1.0)
}

/// Furthest bound: nothing is above it.
const FURTHEST: f64 = 9.0;
/// Where the grid ends that has no bound.
const REACH: f64 = 8.0;

/// Probability that a standard normal variable is above `bound`.
fn above(bound: f64) -> f64 {
    erfc(bound / SQRT_2) / 2.0
}

/// The bound with this probability above it.
fn bound_with(probability: f64) -> f64 {
    (SQRT_2 * erfc_inv(2.0 * probability)).clamp(-FURTHEST, FURTHEST)
}

fn density(at: f64) -> f64 {
    (-at * at / 2.0).exp() / (2.0 * PI).sqrt()
}

/// On which sides there are bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sides {
    Upper,
    /// The same distance on both.
    Both,
}

/// Error that is spent look by look.
struct Spending {
    sides: Sides,
    motion: Motion,
    spent: f64,
}

impl Spending {
    fn new(sides: Sides) -> Spending {
        Spending { sides, motion: Motion::start(), spent: 0.0 }
    }

    /// The bound at this look by which its share of `error` is spent on one side, together with what was spent before.
    fn ideal(&self, stage: &LookStage, error: f64) -> f64 {
        self.motion.bound(stage.information, error * stage.share - self.spent)
    }

    /// Uses a bound at this look.
    fn spend(&mut self, stage: &LookStage, bound: f64, next: Option<&LookStage>) {
        self.spent += self.motion.beyond(stage.information, bound).0;
        let region = match self.sides {
            Sides::Upper => [-REACH, bound.min(REACH)],
            Sides::Both => [-bound.min(REACH), bound.min(REACH)],
        };
        if let Some(next) = next {
            self.motion = self.motion.advance(stage.information, region, next.information);
        }
    }
}

/// A Brownian motion that has not crossed a bound yet, at a look: its standardised values on a grid, and the
/// probability of each.
struct Motion {
    information: f64,
    masses: Vec<(f64, f64)>,
}

impl Motion {
    /// Before the first look.
    fn start() -> Motion {
        Motion { information: 0.0, masses: vec![(0.0, 1.0)] }
    }

    /// Mean of the next look's value divided by this one's, and the deviation around it.
    fn step(&self, information: f64) -> (f64, f64) {
        let share = self.information / information;
        (share.sqrt(), (1.0 - share).sqrt())
    }

    /// Probability of being above the bound at the next look, without having crossed one before; and the density there.
    fn beyond(&self, information: f64, bound: f64) -> (f64, f64) {
        let (slope, spread) = self.step(information);
        self.masses.iter().fold((0.0, 0.0), |sum, (at, mass)| {
            let distance = (bound - slope * at) / spread;
            (sum.0 + mass * above(distance), sum.1 + mass * density(distance) / spread)
        })
    }

    /// The bound that is crossed upwards at the next look, and not before, with this probability.
    fn bound(&self, information: f64, probability: f64) -> f64 {
        if probability.is_nan() || probability <= 0.0 {
            return FURTHEST;
        }
        // The logarithm of the probability is concave, so that Newton's method comes down to the bound from one that is too far:
        // that which ignores that a bound may have been crossed before, or that of a motion which is as high as it can be, with
        // everything that is left. Soon after the look before, nothing at all is above the first of them.
        let (slope, spread) = self.step(information);
        let highest = self.masses.last().map_or(0.0, |(at, _)| slope * at);
        let alone = bound_with(probability);
        let mut bound = alone.min(highest + spread * alone);
        for _ in 0..50 {
            let (beyond, density) = self.beyond(information, bound);
            if beyond <= 0.0 || density <= 0.0 {
                break;
            }
            let before = bound;
            bound = (bound + (beyond / probability).ln() * beyond / density).clamp(-FURTHEST, FURTHEST);
            if (bound - before).abs() < 1e-10 {
                break;
            }
        }
        bound
    }

    /// The motion at the next look, if it is within the region there; `after` is the information of the look after that
    /// one.
    fn advance(&self, information: f64, [low, high]: [f64; 2], after: f64) -> Motion {
        let (slope, spread) = self.step(information);
        // By Simpson's rule. Its grid is to be fine in comparison with the spread of the following step.
        let finest = (0.35 * (after / information - 1.0).sqrt()).min(0.15);
        let width = (high - low).max(0.0);
        let pairs = (width / finest / 2.0).ceil().clamp(4.0, 400.0);
        let distance = width / (2.0 * pairs);
        let last = 2 * pairs as u32;
        let mass = |i: u32| {
            let at = low + f64::from(i) * distance;
            let weight = match i {
                0 => 1.0,
                i if i == last => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let density: f64 = self.masses.iter().map(|(z, mass)| mass * density((at - slope * z) / spread)).sum();
            (at, weight * distance / 3.0 * density / spread)
        };
        Motion { information, masses: (0..=last).map(mass).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use crate::statistics::signed_rank::probability_of_at_most;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;

    /// Of the signed rank: "the location is at most `limit`".
    fn adjusted_p(cap: u32, values: &Values, limit: f64) -> f64 {
        super::adjusted_p(cap, values.len(), |n| Some(probability_of_at_most(limit, &first(values, n)?)))
    }

    fn values(numbers: impl IntoIterator<Item = f64>) -> Values {
        Values::new(numbers).unwrap()
    }

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        -bound_with(unit(rng))
    }

    /// Symmetric about 0: normal, with heavy tails (t with 3 degrees of freedom), with two modes.
    fn draw(rng: &mut ChaCha8Rng, kind: u64) -> f64 {
        match kind {
            0 => normal(rng),
            1 => {
                let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                normal(rng) / (squares / 3.0).sqrt()
            }
            _ => normal(rng) * 0.1 + if unit(rng) < 0.5 { 1.0 } else { -1.0 },
        }
    }

    /// Looks at equal distances.
    fn equally_spaced(looks: u32) -> Vec<LookStage> {
        let stage =
            |k: u32| LookStage { blocks: k, information: f64::from(k), share: spent(f64::from(k) / f64::from(looks)) };
        (1..=looks).map(stage).collect()
    }

    fn two_sided_bounds(stages: &[LookStage], error: f64) -> Vec<f64> {
        let mut spending = Spending::new(Sides::Both);
        let mut bounds = Vec::new();
        for (i, stage) in stages.iter().enumerate() {
            let bound = spending.ideal(stage, error / 2.0);
            spending.spend(stage, bound, stages.get(i + 1));
            bounds.push(bound);
        }
        bounds
    }

    #[test]
    fn looks_grow_by_half() {
        assert_eq!(looks(200), [6, 10, 16, 24, 36, 54, 81, 122, 183, 200]);
        assert_eq!((looks(0), looks(1), looks(6), looks(7)), (vec![], vec![1], vec![6], vec![6, 7]));
        assert_eq!(looks(16), [6, 10, 16]);
        assert_eq!(looks(u32::MAX).last(), Some(&MOST_BLOCKS));
        for cap in 0..1_200 {
            assert!(looks(cap).windows(2).all(|w| w[0] < w[1]), "{cap}");
        }
    }

    /// The constants of Lan and DeMets (1983) for five looks at equal distances and 5%, as tables and programs have
    /// them since.
    #[test]
    fn bounds_are_the_published_ones() {
        let published = [2.438, 2.427, 2.410, 2.397, 2.386];
        let found = two_sided_bounds(&equally_spaced(5), 0.05);
        assert!(found.iter().zip(published).all(|(a, b)| (a - b).abs() < 2e-3), "{found:?}");
        // Hardly any motion crosses both bounds, so that those of one side with half of the error are nearly the same.
        let upper = one_sided_bounds(&equally_spaced(5), 0.025);
        assert!(found.iter().zip(&upper).all(|(a, b)| (a - b).abs() < 2e-3), "{upper:?}");
        // A single look has the quantile of the normal distribution.
        assert!((two_sided_bounds(&equally_spaced(1), 0.05)[0] - 1.959_964).abs() < 1e-5);
    }

    /// Brownian motions themselves: those that cross are as many as the error says.
    #[test]
    fn as_many_cross_as_may() {
        let stages = equally_spaced(5);
        let bounds = two_sided_bounds(&stages, 0.05);
        let mut rng = generator(3, RandomPurpose::Noise, 0);
        let (mut first, mut all) = (0, 0);
        for _ in 0..40_000 {
            let mut at = 0.0;
            let crossed = stages.iter().zip(&bounds).position(|(stage, bound)| {
                at += normal(&mut rng);
                (at / stage.information.sqrt()).abs() > *bound
            });
            first += u32::from(crossed == Some(0));
            all += u32::from(crossed.is_some());
        }
        // Expected 2,000 and 591, with standard deviations of 44 and 24; four of them.
        assert!((1_824..=2_176).contains(&all), "{all}");
        assert!((495..=687).contains(&first), "{first}");
    }

    #[test]
    fn no_more_error_is_spent_than_there_is() {
        for cap in [6, 7, 10, 11, 24, 25, 54, 200, 931, 1_000] {
            let design = SequentialDesign::new(cap, 0.95);
            let local: f64 = design.local.iter().flatten().map(|level| 1.0 - level).sum();
            // The sum of the local errors bounds the whole from above; one look alone has at most all of it.
            assert!(local > 0.03 && design.local.iter().flatten().all(|l| *l >= 0.95 - 1e-9), "{cap}: {design:?}");
        }
        // With six values the smallest two-sided error is 1/32, which is more than a design of 200 blocks has for that
        // look.
        assert_eq!(SequentialDesign::new(200, 0.95).local[0], None);
        assert_eq!(SequentialDesign::new(200, 0.95).local_level(9), None);
        assert_eq!(SequentialDesign::new(200, 0.95).local_level(15).map(|l| l.0), Some(10));
        assert!(SequentialDesign::new(6, 0.95).local[0].is_some());
    }

    #[test]
    fn without_a_look_there_is_no_interval() {
        let design = SequentialDesign::new(200, 0.95);
        let ten = values((0..10).map(f64::from));
        let of_nine = values((0..9).map(f64::from));
        assert_eq!(design.interval(&of_nine), Err(NoInterval::TooFew { have: 9, need: 10 }));
        assert!(design.interval(&ten).is_ok_and(|i| i.level == 0.95 && i.contains(4.5)));
        // What came after the last look is not used yet.
        let more = values((0..10).map(f64::from).chain([1e6; 5]));
        assert_eq!(design.interval(&more), design.interval(&ten));
        for cap in [0, 1, 5] {
            let none = SequentialDesign::new(cap, 0.95).interval(&ten);
            assert_eq!(none, Err(NoInterval::TooFew { have: 10, need: 6 }), "{cap}");
        }
        for level in [f64::NAN, 0.0, 1.0, -1.0, 2.0] {
            assert!(SequentialDesign::new(200, level).interval(&values((0..200).map(f64::from))).is_err(), "{level}");
        }
    }

    /// 5% of 650 series are 32.5, with a standard deviation of 5.6: three of them more are 49. The signed ranks have
    /// the same joint distribution whatever the values are drawn from, so that all kinds together are one sample, too:
    /// 97.5 and 9.6.
    #[test]
    fn intervals_hold_at_all_looks_together() {
        let design = SequentialDesign::new(54, 0.95);
        let (mut all, mut naive) = (0, 0);
        for (kind, narrow) in [(0, 0.45), (1, 0.6), (2, 0.4)] {
            let mut rng = generator(21, RandomPurpose::Noise, kind);
            let (mut ever, mut at_the_end) = (0, 0);
            for _ in 0..650 {
                let series: Vec<f64> = (0..54).map(|_| draw(&mut rng, kind)).collect();
                let so_far = |n: &u32| values(series.iter().take(*n as usize).copied());
                let intervals: Vec<Interval> =
                    design.looks().iter().filter_map(|n| design.interval(&so_far(n)).ok()).collect();
                ever += u32::from(intervals.iter().any(|i| !i.contains(0.0)));
                let stopped = intervals.iter().find(|i| i.half_width() < narrow).or(intervals.last());
                at_the_end += u32::from(!stopped.unwrap().contains(0.0));
                let single = |n: &u32| location(&so_far(n), 0.95).unwrap().interval.unwrap().contains(0.0);
                naive += u32::from(!design.looks().iter().all(single));
            }
            assert!(ever <= 49 && at_the_end <= ever, "kind {kind}: {ever} and {at_the_end} of 650");
            all += ever;
        }
        assert!((50..=126).contains(&all), "{all} of 1,950");
        // That the looks matter: intervals of 95% each miss far more often.
        assert!(naive > 150, "{naive} of 1,950");
    }

    #[test]
    fn adjusted_p_values_are_as_rare_as_they_say() {
        let mut rng = generator(22, RandomPurpose::Noise, 0);
        let series = 800;
        let found: Vec<f64> =
            (0..series).map(|_| adjusted_p(24, &values((0..24).map(|_| normal(&mut rng))), 0.0)).collect();
        for level in [0.01, 0.05, 0.2, 0.5] {
            let (expected, below) = (f64::from(series) * level, found.iter().filter(|p| **p <= level).count() as f64);
            let deviation = (expected * (1.0 - level)).sqrt();
            assert!(below <= expected + 3.0 * deviation, "{below} at {level}");
            // What six values cannot use is lost, but not more than that.
            assert!(level < 0.2 || below >= expected / 2.0, "{below} at {level}");
        }
    }

    #[test]
    fn p_values_at_the_edges() {
        assert_eq!(adjusted_p(200, &values([]), 0.0), 1.0);
        assert_eq!(adjusted_p(200, &values([1.0; 5]), 0.0), 1.0);
        assert_eq!(adjusted_p(0, &values([1.0; 50]), 0.0), 1.0);
        assert_eq!(super::adjusted_p(200, 50, |_| Some(f64::NAN)), 1.0);
        assert_eq!(super::adjusted_p(200, 50, |_| None), 1.0);
        // A single look spends everything: the p value of six values that are all above is 1/64.
        let six = values((1..=6).map(f64::from));
        assert!((adjusted_p(6, &six, 0.0) - 1.0 / 64.0).abs() < 1e-6);
        assert_eq!(adjusted_p(6, &six, 10.0), 1.0);
        // Clear differences, with many values, have tiny ones; and the opposite none.
        let many = values((0..200).map(|i| 1.0 + f64::from(i % 7) / 100.0));
        let p = adjusted_p(200, &many, 0.0);
        assert!(p > 0.0 && p < 1e-9, "{p}");
        assert_eq!(adjusted_p(200, &many, 2.0), 1.0);
    }

    #[test]
    fn interval_and_p_value_agree() {
        let mut rng = generator(23, RandomPurpose::Noise, 0);
        let design = SequentialDesign::new(36, 0.95);
        for shift in [0.0, 0.3, 0.6, 1.2, 3.0] {
            let all = values((0..36).map(|_| normal(&mut rng) + shift));
            let (p, interval) = (adjusted_p(36, &all, 0.0), design.interval(&all).unwrap());
            // The p value of any look so far counts, the interval is that of the last one.
            assert!(interval.low <= 0.0 || p < 0.04, "{p} {interval:?}");
        }
    }

    /// A cap just above the look before it: one more block changes the motion little, and the bound with it.
    #[test]
    fn two_looks_may_be_close_to_each_other() {
        for (cap, error) in [(276, 0.2988), (276, 0.05), (82, 0.4), (123, 0.01), (414, 0.3), (11, 0.3)] {
            let stages = stages(&looks(cap));
            for bounds in [one_sided_bounds(&stages, error), two_sided_bounds(&stages, error)] {
                let [.., before, last] = bounds[..] else { panic!("{bounds:?}") };
                assert!((before - 0.01..before + 0.35).contains(&last), "{cap}, {error}: {bounds:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn p_values_rise_with_the_limit_and_fall_with_the_evidence(
            all in proptest::collection::vec(-3.0..4.0_f64, 6..40), cap in 6..60_u32,
            (low, high) in (-2.0..2.0_f64, 0.001..2.0_f64), cut in 0..40_usize,
        ) {
            let (few, all) = (values(all.iter().take(cut).copied()), values(all));
            let p = adjusted_p(cap, &all, low);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!(p <= adjusted_p(cap, &all, low + high) * (1.0 + 1e-5));
            prop_assert!(p <= adjusted_p(cap, &few, low) * (1.0 + 1e-5), "another look is another chance");
        }

        #[test]
        fn larger_errors_have_nearer_bounds(cap in 6..400_u32, error in 1e-9..0.5_f64, more in 1.02..2.0_f64) {
            let stages = stages(&looks(cap));
            let (a, b) = (one_sided_bounds(&stages, error), one_sided_bounds(&stages, error * more));
            prop_assert!(a.iter().zip(&b).all(|(a, b)| *b <= a + 1e-6), "{a:?} {b:?}");
        }

        #[test]
        fn the_reverse_is_the_negative(all in proptest::collection::vec(-1e6..1e6_f64, 0..80), cap in 0..100_u32) {
            let design = SequentialDesign::new(cap, 0.95);
            let (a, b) = (design.interval(&values(all.clone())), design.interval(&values(all.iter().map(|v| -v))));
            match (a, b) {
                (Ok(a), Ok(b)) => prop_assert!((a.low + b.high).abs() < 1e-9 && (a.high + b.low).abs() < 1e-9),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
