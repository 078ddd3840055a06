//! Step 3 of EMPv5: the central cluster and the L-samples, found by an algorithm.
//!
//! The papers zoom into the dual-execution scatter plot by eye until the rest is round (EMP section 4.5.2, figure 14;
//! SEDONA figure 4). What the eye does there, and what replaces it here:
//!
//! 1. **It forgives drift.** A cloud that is stretched along the diagonal is one machine that changes its speed. So every sample is
//!    taken by its *excess* over the trend of its neighbours (`trend.rs`). The rest of drift, for example a burst of
//!    disturbance over three and more successive samples, shows as pairs that are high in both halves more often than
//!    by chance; such stretches are reported and are neither L-samples nor part of the cluster. So are samples at a
//!    step of the speed, which stand out from the neighbours on one side only.
//! 2. **It sees that the cloud is symmetric.** An arm lies above the cluster and has no counterpart below it. The
//!    spread is that of the cluster alone (from the median absolute deviation, then from what lies within 3 of these standard
//!    deviations, until nothing changes). A sample is high if samples that far out are fewer than [`FALSE_SHARE`] of those
//!    found there, were they of the cluster (Benjamini and Hochberg, 1995; Student's t, as the spread of few samples is uncertain).
//!    With 800 samples that is about 3.2 standard deviations. Arms that are far out say nothing of what lies at the cluster's edge, so
//!    the nearest L-samples must stand out by themselves too ([`NEXT_FALSE_SHARE`]). For any to be high, the furthest must be far more convincing
//!    ([`FALSE_ALARM`]): on a machine without infrequent daemons there is nothing, not a little. Where the cluster's lower tail is
//!    heavier than a normal distribution's, the arms begin no nearer than at twice the furthest sample below, and one must
//!    be at three times.
//! 3. **It sees whether there is anything top right.** Where a tenth of all samples is high and some pairs are so in both halves, or
//!    a seventh whatever the pairs, what makes them so is a frequent daemon: it belongs to the cluster, and the search
//!    continues above it.
//!
//! Both halves of a pair are L-samples only by chance, with two rare daemons in one pair.
//!
//! Zooming by ten at a time from everything to the bound of the cluster gives the levels that are shown. The rest is
//! then checked as the papers do by eye, but with numbers: whether an L remains (pairs with both halves in the
//! cluster's upper quarter fewer than independence predicts), a roundness and a symmetry.

use crate::base::units::Nanos;
use crate::profile::dual::{Observation, pair};
use crate::statistics::series::{median_of_sorted, moments};
use crate::statistics::trend::trend;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, DiscreteCDF, Hypergeometric, Poisson, StudentsT};

/// Fewest dual samples that are analysed; the papers' long run has 20.
pub const FEWEST: usize = 6;
/// Share of the L-samples that may belong to the cluster.
pub const FALSE_SHARE: f64 = 0.025;
/// The same share among the L-samples next to the cluster, within 2 standard deviations of the nearest.
pub const NEXT_FALSE_SHARE: f64 = 0.1;
/// Reaches of a heavy lower tail from which the arms begin, and of which the furthest must be. Even so, 7 of 100 simulated series
/// with tails of the fourth power (t, 4 degrees of freedom) have L-samples, most as their lower tail is lighter by chance.
const ARMS: f64 = 2.0;
const ALARM: f64 = 3.0;
/// How far the arms' beginning reaches, in standard deviations of the cluster.
const NEXT: f64 = 2.0;
/// Probability that L-samples are found at all where there are none.
pub const FALSE_ALARM: f64 = 0.001;
/// Share of high samples from which they are a frequent daemon's, whatever the pairs: one in every 7 samples.
pub const FREQUENT: f64 = 0.15;
/// The same with points at the top right: with this share, four in 400 pairs occur by chance.
pub(crate) const FREQUENT_TOGETHER: f64 = 0.1;
/// Probability below which pairs that are high in both halves no longer count as random.
const UNLIKELY: f64 = 0.001;
/// Neighbours on each side that an L-sample stands out from.
const SIDE: usize = 5;
/// Probability below which an L is said to remain.
const REMAINS: f64 = 0.01;

/// Why the plot cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "{have} dual samples (pairs of successive samples), expected at least {need}: too few to distinguish a cluster \
     from its arms"
)]
pub struct TooFew {
    /// Dual samples that there are.
    pub have: u32,
    /// Dual samples that are needed.
    pub need: u32,
}

/// Where a half of a dual sample lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterPlace {
    /// In the central cluster.
    Central,
    Arm,
    /// High, with most samples around it: drift of the machine; neither.
    Stretch,
}

/// One half of a dual sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Half {
    /// Number of the sample.
    pub number: u32,
    pub elapsed: Nanos,
    /// Elapsed time over the trend, ns.
    pub excess: f64,
    pub place: ClusterPlace,
}

/// One point of the dual-execution scatter plot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScatterPoint {
    /// x.
    pub odd: Half,
    /// y.
    pub even: Half,
    /// The deepest zoom level that shows it, from 0.
    pub level: u32,
}

/// One zoom level. Its members are the points whose `level` is at least its own number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoomLevel {
    /// Excess over the trend up to which it shows samples, ns.
    pub bound: f64,
    /// Number of points that it shows.
    pub members: u32,
    /// Smallest and largest elapsed time of its odd halves.
    pub x: (Nanos, Nanos),
    /// The same of its even halves.
    pub y: (Nanos, Nanos),
}

/// Pairs that are high in both halves, against independence of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Pairs that are high in the odd half.
    pub odd: u32,
    /// Pairs that are high in the even half.
    pub even: u32,
    /// Pairs that are high in both.
    pub both: u32,
    /// Number of those if the halves are independent.
    pub expected: f64,
    /// Probability of this number or fewer, if independent: small for an L.
    pub fewer: f64,
    /// Probability of this number or more, if independent: small for drift.
    pub more: f64,
}

/// A disturbance of so large a share of the samples that it belongs to the machine's normal state: points at the top
/// right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frequent {
    /// Share of the samples that are high, those of the arms included.
    pub share: f64,
    /// The median of their excess, ns.
    pub excess: f64,
    /// Pairs that are high in both halves.
    pub both: u32,
}

/// A change of the machine's speed: points along the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Correlation of the cluster's halves before the trend is taken off, -1 to 1.
    pub correlation: f64,
    /// From the lowest to the highest point of the trend, ns.
    pub range: f64,
    /// Samples in stretches that the trend does not follow.
    pub stretched: u32,
}

/// What the plot looks like. Drift and a frequent daemon may come with an L and with each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotShape {
    /// Number of L-samples; none: no L.
    pub arms: u32,
    /// Points at the top right, if there are more than two rare daemons cause by chance.
    pub frequent: Option<Frequent>,
    /// Points along the diagonal.
    pub drift: Option<Drift>,
    /// All high samples, before anything is taken for frequent.
    pub high: Together,
    /// The cluster's own upper quarter.
    pub cluster: Together,
    /// Whether the cluster still shows an L.
    pub l_remains: bool,
    /// Smaller divided by larger axis of the cluster without its trend: 1 for a circle, 0 for a line.
    /// `None` for a cluster without spread.
    pub roundness: Option<f64>,
    /// How the cluster's upper half compares with its lower (5% of the samples beyond each): 0 if equal, up to 1 if only the upper
    /// has a reach, down to -1. `None` for a cluster without spread.
    pub skew: Option<f64>,
}

/// The dual-execution scatter plot, taken apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// All points, by number.
    pub points: Vec<ScatterPoint>,
    /// Numbers of samples without a partner, which are not in the plot.
    pub unpaired: Vec<u32>,
    /// Zoom levels, from everything to the central cluster.
    pub levels: Vec<ZoomLevel>,
    /// Excess over which a sample is high, ns; `None` if none is.
    pub bound: Option<f64>,
    /// Standard deviation of the cluster without its trend, ns.
    pub spread: f64,
    /// Samples on each side that the trend was taken from; `None`: one line through all.
    pub half_width: Option<u32>,
    /// What it looks like.
    pub shape: PlotShape,
}

impl Clusters {
    /// Every half, by number of the pair, odd before even.
    pub fn halves(&self) -> impl Iterator<Item = &Half> {
        self.points.iter().flat_map(|p| [&p.odd, &p.even])
    }
}

/// A cluster of numbers, robustly: its middle, spread and size.
#[derive(Clone, Copy)]
struct Core {
    middle: f64,
    spread: f64,
    n: usize,
}

/// Standard deviation of the part of a normal distribution that lies within 3 standard deviations.
const CLIPPED: f64 = 0.986_58;

impl Core {
    /// Of ascending numbers, in ns; the spread is at least 1 ns, which is what the clock resolves.
    fn of(sorted: &[f64]) -> Option<Core> {
        let mut middle = median_of_sorted(sorted)?;
        let mut off: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
        off.sort_by(f64::total_cmp);
        let mut spread = 1.4826 * median_of_sorted(&off)?;
        if spread == 0.0 {
            // More than half are equal, as with a coarse clock: the spread is in the others, but not in the most distant.
            let inner = off.get(..off.len() - off.len() / 50).unwrap_or_default();
            spread = (inner.iter().map(|o| o * o).sum::<f64>() / inner.len().max(1) as f64).sqrt();
        }
        let mut n = sorted.len();
        for _ in 0..20 {
            let (low, high) = (middle - 3.0 * spread, middle + 3.0 * spread);
            let from = sorted.partition_point(|v| *v < low);
            let inside = sorted.get(from..sorted.partition_point(|v| *v <= high)).unwrap_or_default();
            let (Some(m), Some((_, Some(sd)))) = (median_of_sorted(inside), moments(inside)) else { break };
            let same = inside.len() == n && (sd / CLIPPED - spread).abs() <= 1e-9 * spread;
            (middle, spread, n) = (m, sd / CLIPPED, inside.len());
            if same || spread == 0.0 {
                break;
            }
        }
        Some(Core { middle, spread: spread.max(1.0), n })
    }

    fn z(&self, value: f64) -> f64 {
        (value - self.middle) / self.spread
    }
}

/// Above which value the numbers (ascending) are no longer of their cluster; `None` if all are.
pub(crate) fn edge(sorted: &[f64]) -> Option<f64> {
    let core = Core::of(sorted)?;
    let t = StudentsT::new(0.0, 1.0, core.n.saturating_sub(1).max(1) as f64).ok()?;
    let n = sorted.len() as f64;
    let mirror = mirrored(sorted, &core, |z| n * t.sf(z));
    let (mut found, mut convincing, mut beyond) = (None, false, 0);
    for (i, value) in sorted.iter().rev().enumerate() {
        let z = core.z(*value);
        let share = n * t.sf(z) / (i + 1) as f64;
        while sorted.get(sorted.len() - 1 - beyond).is_some_and(|v| core.z(*v) > z + NEXT) && beyond < i {
            beyond += 1;
        }
        let next = n * (t.sf(z) - t.sf(z + NEXT)) / (i + 1 - beyond) as f64;
        if z <= ARMS * mirror || z <= 2.0 || share > 0.5 {
            break;
        }
        convincing |= share <= FALSE_ALARM && z > ALARM * mirror;
        if share <= FALSE_SHARE && next <= NEXT_FALSE_SHARE {
            found = Some(i);
        }
    }
    let last = sorted.len().checked_sub(1)?;
    let first_high = last.checked_sub(found.filter(|_| convincing)?)?;
    let (high, below) = (*sorted.get(first_high)?, *sorted.get(first_high.checked_sub(1)?)?);
    Some(below + ((high - below) / 2.0).min(core.spread))
}

/// How far out, in standard deviations, the lower tail reaches: 0 for one that a normal distribution explains. `expected` gives the number of samples that it has beyond a distance.
fn mirrored(sorted: &[f64], core: &Core, expected: impl Fn(f64) -> f64) -> f64 {
    let far = 3.5;
    let below = sorted.partition_point(|v| core.z(*v) < -far);
    let chance = Poisson::new(expected(far)).map_or(1.0, |p| p.sf((below as u64).saturating_sub(1)));
    // One sample or two that were fast for once are not a tail.
    let heavy = below >= 3 && chance < REMAINS;
    sorted.first().filter(|_| heavy).map_or(0.0, |v| -core.z(*v))
}

/// Counts pairs that are high in both.
fn together(pairs: impl Iterator<Item = (bool, bool)>) -> Together {
    let (mut n, mut odd, mut even, mut both) = (0_u32, 0_u32, 0_u32, 0_u32);
    for (x, y) in pairs {
        n += 1;
        odd += u32::from(x);
        even += u32::from(y);
        both += u32::from(x && y);
    }
    let expected = if n == 0 { 0.0 } else { f64::from(odd) * f64::from(even) / f64::from(n) };
    let chance = Hypergeometric::new(n.into(), odd.into(), even.into());
    let fewer = chance.as_ref().map_or(1.0, |h| h.cdf(both.into()).clamp(0.0, 1.0));
    let more = match (&chance, both.checked_sub(1)) {
        (Ok(h), Some(less)) => (1.0 - h.cdf(less.into())).clamp(0.0, 1.0),
        _ => 1.0,
    };
    Together { odd, even, both, expected, fewer, more }
}

/// Marks the high samples: the bound, the frequent daemon if there is one, and the places.
struct HighSamples {
    bound: Option<f64>,
    frequent: Option<Frequent>,
    high: Together,
    places: Vec<ClusterPlace>,
}

/// `excess` is of all samples in the order of time; `at` are positions of the odd halves.
fn find(excess: &[f64], at: &[usize]) -> HighSamples {
    let mut sorted = excess.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut found = HighSamples {
        bound: None,
        frequent: None,
        high: together(std::iter::empty()),
        places: vec![ClusterPlace::Central; excess.len()],
    };
    let mut first = true;
    // Each round takes one frequent daemon into the cluster; a machine with more than that has no cluster.
    for _ in 0..5 {
        let bound = edge(&sorted);
        let high: Vec<bool> = excess.iter().map(|e| bound.is_some_and(|b| *e > b)).collect();
        let is = |i: usize| high.get(i).copied().unwrap_or(false);
        let pairs = together(at.iter().map(|i| (is(*i), is(i + 1))));
        if std::mem::take(&mut first) {
            found.high = pairs;
        }
        found.bound = bound;
        found.places = places(&high, pairs.more < UNLIKELY);
        let Some(bound) = bound else { return found };
        let arm = |i: usize| found.places.get(i) == Some(&ClusterPlace::Arm);
        let arms = together(at.iter().map(|i| (arm(*i), arm(i + 1))));
        let share = f64::from(arms.odd + arms.even) / (2 * at.len()).max(1) as f64;
        if share <= FREQUENT_TOGETHER || (share <= FREQUENT && arms.both < 2) {
            return found;
        }
        let above = sorted.partition_point(|e| *e <= bound);
        sorted.drain(..above);
        let median = median_of_sorted(&sorted).unwrap_or(bound);
        found.frequent.get_or_insert(Frequent { share, excess: median, both: arms.both });
    }
    found.bound = None;
    found.places.fill(ClusterPlace::Central);
    found
}

/// High samples are L-samples, except runs of three and more where the pairs show drift.
fn places(high: &[bool], drifts: bool) -> Vec<ClusterPlace> {
    let mut places = Vec::with_capacity(high.len());
    for run in high.chunk_by(|a, b| a == b) {
        let place = match run.first() {
            Some(true) if drifts && run.len() >= 3 => ClusterPlace::Stretch,
            Some(true) => ClusterPlace::Arm,
            _ => ClusterPlace::Central,
        };
        places.extend(std::iter::repeat_n(place, run.len()));
    }
    places
}

/// Takes high samples that stand out from one side only for what they are: a step of the machine's speed. A daemon's sample is
/// above the samples before it and above those after it, by half of the bound at least.
fn one_sided(times: &[f64], found: &mut HighSamples) {
    let Some(bound) = found.bound else { return };
    let places = found.places.clone();
    let level = |range: std::ops::Range<usize>| {
        let here = times.iter().zip(&places).skip(range.start).take(range.len());
        let mut others: Vec<f64> = here.filter(|(_, p)| **p != ClusterPlace::Arm).map(|(t, _)| *t).collect();
        others.sort_by(f64::total_cmp);
        median_of_sorted(&others).filter(|_| others.len() >= 3)
    };
    for (i, (time, place)) in times.iter().zip(&mut found.places).enumerate() {
        if *place == ClusterPlace::Arm {
            let sides = [level(i.saturating_sub(SIDE)..i), level(i + 1..i + 1 + SIDE)];
            if sides.into_iter().flatten().any(|l| time - l <= bound / 2.0) {
                *place = ClusterPlace::Stretch;
            }
        }
    }
}

/// Analyses the dual-execution scatter plot. The order of `observations` makes no difference; each has a different
/// number.
///
/// # Errors
/// [`TooFew`] below 6 dual samples.
pub fn clusters(observations: &[Observation]) -> Result<Clusters, TooFew> {
    let duals = pair(observations);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    if duals.at.len() < FEWEST {
        return Err(TooFew { have: count(duals.at.len()), need: count(FEWEST) });
    }
    let times: Vec<f64> = duals.samples.iter().map(|o| o.elapsed.as_f64()).collect();
    let trend = trend(&times);
    let excess: Vec<f64> = times.iter().zip(&trend.at).map(|(v, t)| v - t).collect();
    let mut found = find(&excess, &duals.at);
    one_sided(&times, &mut found);
    let half = |i: usize| {
        let (o, excess, place) = (duals.samples.get(i)?, *excess.get(i)?, *found.places.get(i)?);
        Some(Half { number: o.number, elapsed: o.elapsed, excess, place })
    };
    let mut points: Vec<ScatterPoint> =
        duals.at.iter().filter_map(|i| Some(ScatterPoint { odd: half(*i)?, even: half(i + 1)?, level: 0 })).collect();
    let levels = levels(&mut points, found.bound);
    let (core, shape) = shape(&points, &found, &trend.at);
    let unpaired = duals.unpaired.iter().filter_map(|i| duals.samples.get(*i).map(|o| o.number)).collect();
    let half_width = trend.half_width.map(count);
    Ok(Clusters { points, unpaired, levels, bound: found.bound, spread: core, half_width, shape })
}

fn reach(p: &ScatterPoint) -> f64 {
    p.odd.excess.max(p.even.excess)
}

/// Zoom levels by ten down to the cluster, omitting those that show as many points as the one before; sets the level of
/// each point.
fn levels(points: &mut [ScatterPoint], bound: Option<f64>) -> Vec<ZoomLevel> {
    let central = |p: &ScatterPoint| p.odd.place == ClusterPlace::Central && p.even.place == ClusterPlace::Central;
    let largest = points.iter().map(reach).fold(f64::NEG_INFINITY, f64::max);
    let mut levels: Vec<ZoomLevel> = Vec::new();
    let mut limit = largest;
    while let Some(bound) = bound.filter(|b| limit > *b) {
        push_level(&mut levels, points, limit, |p| reach(p) <= limit);
        limit = (limit / 10.0).max(bound);
        if limit <= bound {
            break;
        }
    }
    // A stretch may lie below the bound by its trend's fault, so the cluster goes by place, not by excess.
    let inner = points.iter().filter(|p| central(p)).map(reach).fold(f64::NEG_INFINITY, f64::max);
    push_level(&mut levels, points, bound.unwrap_or(inner), central);
    levels
}

fn push_level(
    levels: &mut Vec<ZoomLevel>,
    points: &mut [ScatterPoint],
    bound: f64,
    shows: impl Fn(&ScatterPoint) -> bool,
) {
    let members = points.iter().filter(|p| shows(p)).count();
    if members == 0 || levels.last().is_some_and(|l| l.members as usize == members) {
        return;
    }
    let number = u32::try_from(levels.len()).unwrap_or(u32::MAX);
    let empty = (Nanos(i64::MAX), Nanos(i64::MIN));
    let (mut x, mut y) = (empty, empty);
    for p in points.iter_mut().filter(|p| shows(p)) {
        p.level = number;
        x = (x.0.min(p.odd.elapsed), x.1.max(p.odd.elapsed));
        y = (y.0.min(p.even.elapsed), y.1.max(p.even.elapsed));
    }
    levels.push(ZoomLevel { bound, members: u32::try_from(members).unwrap_or(u32::MAX), x, y });
}

/// Variances and covariance of pairs; `None` without spread or below three pairs.
fn covariance(pairs: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let (n, (px, py)) = (pairs.len() as f64, *pairs.first().filter(|_| pairs.len() >= 3)?);
    // From the first pair, so that equal pairs have a spread of exactly 0.
    let mean = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(x, y)| f(x - px, y - py)).sum::<f64>() / n;
    let (mx, my) = (mean(&|x, _| x), mean(&|_, y| y));
    let (xx, yy) = (mean(&|x, _| (x - mx).powi(2)), mean(&|_, y| (y - my).powi(2)));
    let xy = mean(&|x, y| (x - mx) * (y - my));
    Some((xx, yy, xy)).filter(|_| xx > 0.0 && yy > 0.0)
}

/// Smaller divided by larger standard deviation along the axes of the cloud.
fn roundness(pairs: &[(f64, f64)]) -> Option<f64> {
    let (xx, yy, xy) = covariance(pairs)?;
    let (mean, off) = ((xx + yy) / 2.0, (((xx - yy) / 2.0).powi(2) + xy * xy).sqrt());
    Some(((mean - off).max(0.0) / (mean + off)).sqrt())
}

/// Correlation of pairs, if it is significant.
fn correlated(pairs: &[(f64, f64)]) -> Option<f64> {
    let (xx, yy, xy) = covariance(pairs)?;
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    let z = r.min(0.999_999).atanh() * (pairs.len() as f64 - 3.0).sqrt();
    // 3.1 standard deviations: a probability of 0.001 (Fisher's transformation).
    Some(r).filter(|_| z > 3.1)
}

/// The cluster's spread, and what the plot looks like.
fn shape(points: &[ScatterPoint], found: &HighSamples, trend: &[f64]) -> (f64, PlotShape) {
    let count = |place: ClusterPlace| {
        let of = points.iter().flat_map(|p| [p.odd.place, p.even.place]).filter(|p| *p == place).count();
        u32::try_from(of).unwrap_or(u32::MAX)
    };
    let central: Vec<&ScatterPoint> = points
        .iter()
        .filter(|p| p.odd.place == ClusterPlace::Central && p.even.place == ClusterPlace::Central)
        .collect();
    let excess: Vec<(f64, f64)> = central.iter().map(|p| (p.odd.excess, p.even.excess)).collect();
    let times: Vec<(f64, f64)> = central.iter().map(|p| (p.odd.elapsed.as_f64(), p.even.elapsed.as_f64())).collect();
    let mut sorted: Vec<f64> = excess.iter().flat_map(|(x, y)| [*x, *y]).collect();
    sorted.sort_by(f64::total_cmp);
    let quantile = |q: f64| sorted.get((q * sorted.len().saturating_sub(1) as f64).round() as usize).copied();
    let upper = quantile(0.75).unwrap_or(f64::INFINITY);
    let cluster = together(excess.iter().map(|(x, y)| (*x > upper, *y > upper)));
    let skew = quantile(0.05)
        .zip(quantile(0.5))
        .zip(quantile(0.95))
        .and_then(|((low, middle), high)| Some((high + low - 2.0 * middle) / (high - low)).filter(|s| s.is_finite()));
    let ends = trend.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(*t), b.max(*t)));
    let stretched = count(ClusterPlace::Stretch);
    let correlation = correlated(&times);
    let drift = Drift { correlation: correlation.unwrap_or(0.0), range: ends.1 - ends.0, stretched };
    let spread = moments(&sorted).and_then(|m| m.1).unwrap_or(0.0);
    let shape = PlotShape {
        arms: count(ClusterPlace::Arm),
        frequent: found.frequent,
        drift: Some(drift).filter(|d| correlation.is_some() || d.stretched > 0),
        high: found.high,
        cluster,
        l_remains: cluster.fewer < REMAINS,
        roundness: roundness(&excess),
        skew,
    };
    (spread, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::Reading;
    use crate::profile::dual::FamilyExecutions;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    fn run(times: impl IntoIterator<Item = i64>) -> Vec<Observation> {
        let observation = |(number, elapsed): (u32, i64)| Observation {
            number,
            start: Nanos(i64::from(number) * 1_000_000),
            elapsed: Nanos(elapsed),
            process_time: None,
            executions: Reading::Value(FamilyExecutions::new()),
            incomplete: false,
            waits: None,
        };
        (1..).zip(times).map(observation).collect()
    }

    /// About normal, of standard deviation 1,000 around a million.
    fn noise(n: u64) -> Vec<i64> {
        let mut rng = generator(4, RandomPurpose::Order, n);
        let mut normal = || (0..12).map(|_| i64::from(below(&mut rng, 1000))).sum::<i64>() - 5994;
        (0..n).map(|_| 1_000_000 + normal()).collect()
    }

    fn arms(times: &[i64]) -> Vec<u32> {
        let c = clusters(&run(times.iter().copied())).unwrap();
        c.halves().filter(|h| h.place == ClusterPlace::Arm).map(|h| h.number).collect()
    }

    #[test]
    fn too_few_to_tell() {
        let points = |n: u64| clusters(&run(noise(n))).map(|c| c.points.len());
        assert_eq!(points(0), Err(TooFew { have: 0, need: 6 }));
        assert_eq!(points(11), Err(TooFew { have: 5, need: 6 }));
        assert_eq!(points(13), Ok(6));
        assert_eq!(clusters(&run(noise(13))).unwrap().unpaired, [13]);
    }

    #[test]
    fn the_high_half_and_both_of_a_rare_pair() {
        let mut times = noise(200);
        for (i, added) in [(10, 50_000), (51, 20_000), (120, 900_000), (121, 30_000)] {
            times[i] += added;
        }
        assert_eq!(arms(&times), [11, 52, 121, 122]);
        let c = clusters(&run(times)).unwrap();
        assert_eq!((c.shape.arms, c.shape.high.both, c.shape.frequent, c.shape.drift), (4, 1, None, None));
        assert!(!c.shape.l_remains && (800.0..1200.0).contains(&c.spread));
    }

    #[test]
    fn zooms_by_ten_down_to_the_cluster() {
        let mut times = noise(200);
        for (i, added) in [(10, 35_000_000), (51, 600_000), (121, 30_000)] {
            times[i] += added;
        }
        let c = clusters(&run(times)).unwrap();
        assert_eq!(c.levels.iter().map(|l| l.members).collect::<Vec<_>>(), [100, 99, 98, 97]);
        assert!(c.levels.windows(2).all(|w| w[1].bound < w[0].bound && w[1].x.1 <= w[0].x.1 && w[1].y.1 <= w[0].y.1));
        for (number, level) in (0..).zip(&c.levels) {
            assert_eq!(c.points.iter().filter(|p| p.level >= number).count(), level.members as usize);
        }
    }

    #[test]
    fn equal_but_for_some() {
        let mut times = vec![5_000_000; 40];
        assert!(arms(&times).is_empty());
        times[7] += 2_000;
        assert_eq!(arms(&times), [8]);
        times[7] -= 4_000;
        assert!(arms(&times).is_empty(), "a fast one is no daemon");
    }

    #[test]
    fn a_step_has_one_side() {
        let step: Vec<i64> = noise(200).iter().enumerate().map(|(i, t)| t + if i >= 101 { 9_000 } else { 0 }).collect();
        assert!(arms(&step).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn order_does_not_matter(
            (a, b) in proptest::collection::vec(0..1_000_000_i64, 12..80)
                .prop_map(run).prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            prop_assert_eq!(clusters(&a), clusters(&b));
        }

        #[test]
        fn constants_have_no_arms(time in -1_000_000_000_000_000..1_000_000_000_000_000_i64, n in 12..100_usize) {
            let c = clusters(&run(vec![time; n])).unwrap();
            prop_assert_eq!((c.shape.arms, c.bound, c.levels.len()), (0, None, 1));
            prop_assert_eq!((c.shape.drift, c.shape.frequent, c.shape.roundness, c.shape.skew), (None, None, None, None));
        }

        #[test]
        fn any_times_give_finite_answers(times in proptest::collection::vec(any::<i64>(), 12..60)) {
            let c = clusters(&run(times.clone())).unwrap();
            prop_assert_eq!(c.points.len(), times.len() / 2);
            prop_assert!(c.halves().all(|h| h.excess.is_finite()) && c.spread.is_finite());
            prop_assert!(c.levels.iter().all(|l| l.bound.is_finite()) && c.bound.is_none_or(f64::is_finite));
            prop_assert!(c.shape.roundness.is_none_or(|r| (0.0..=1.0).contains(&r)));
            prop_assert!(c.shape.skew.is_none_or(|s| (-1.0..=1.0).contains(&s)));
            let t = c.shape.cluster;
            prop_assert!([t.expected, t.fewer, t.more].iter().all(|v| v.is_finite()));
        }

        /// Whatever is added to all samples, or whatever the unit, the L-samples are the same.
        #[test]
        fn only_differences_count(added in 0..1_000_000_000_i64, by in 1..50_i64, at in 0..200_usize) {
            let mut times = noise(200);
            times[at] += 100_000;
            let found = arms(&times);
            prop_assert!(found.contains(&(at as u32 + 1)));
            prop_assert_eq!(&found, &arms(&times.iter().map(|t| t * by + added).collect::<Vec<_>>()));
        }
    }
}
