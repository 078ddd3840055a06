//! How far E[max of n] may be from what was measured: a bootstrap that draws blocks of successive phases.
//!
//! Phases are not independent: a tick comes once in a number of them, a daemon delays several in a row, a clock drifts.
//! Drawn one by one they would be. So the measurement is cut into 100 blocks of equal length, and whole blocks are
//! drawn. A block must be longer than what ties its phases together, or the interval is wrong: too wide for ticks (a
//! block either has one or has none, where in truth they come evenly), too narrow for bursts. So blocks should be as
//! long as can be, and what limits them is only that the spread of blocks must be known from their number: 100 give it
//! to 7%. (The lengths that theory gives for the smallest error, of the order of m^(1/3), are 100 phases of a million:
//! at a grain of 1 µs, far less than the period of a tick of 250 Hz. A hundredth is 10 ms.)
//!
//! What a resample needs is only how many phases each block has in each class of durations, and their sum. The classes are as
//! fine as it takes: each of the longest phases has its own, and no class holds more than a twentieth of the phases that are
//! longer, or 0.5% of all, unless by a single duration. So a resample costs some 100 × 500 additions, however many phases
//! there are.

use crate::noise::empirical::Distribution;
use crate::noise::model::any_of;
use crate::noise::tail;
use crate::noise::tail::Weighted;
use crate::statistics::random::{RandomPurpose, below, generator};
use rand_chacha::ChaCha8Rng;
use std::num::NonZeroU64;

/// Blocks, if there are enough phases.
const BLOCKS: u32 = 100;
/// Fewest phases in a block.
const SHORTEST: u32 = 10;
const FEWEST: u32 = 20;
/// So far from the shortest, classes are looked up. (There are fewer than 2^16 of them, see [`edges`].)
const NEAR: u64 = 1 << 20;
/// Fewest phases for an interval.
pub(crate) const ENOUGH: u32 = SHORTEST * FEWEST;
pub(crate) const RESAMPLES: usize = 1_000;

/// Phases in blocks, counted by classes of durations.
pub(crate) struct PhaseBlocks {
    /// Per block, a row of all classes.
    rows: Vec<ClassCounts>,
    /// Shortest phase of all, from which sums count.
    least: u64,
    /// The first class over the tail's threshold, and the threshold.
    tail: Option<(usize, f64)>,
}

/// Per class: how many phases, and what they are over the shortest in all.
type ClassCounts = Vec<(f64, f64)>;

impl PhaseBlocks {
    /// Of phases in the order of time, with their distribution; `None` if they are too few. Durations over `threshold` have
    /// separate classes.
    pub(crate) fn new(phases: &[u64], distribution: &Distribution, threshold: Option<u64>) -> Option<PhaseBlocks> {
        let m = phases.len();
        let number = (m / SHORTEST as usize).min(BLOCKS as usize);
        if number < FEWEST as usize {
            return None;
        }
        let edges = edges(distribution, threshold);
        let least = distribution.min();
        let class_of = |duration: u64| edges.partition_point(|e| *e < duration);
        // Most phases are little longer than the shortest: their classes are looked up.
        let near: Vec<u16> = (least..=distribution.max().min(least.saturating_add(NEAR)))
            .take(m)
            .map(|d| u16::try_from(class_of(d)).unwrap_or(u16::MAX))
            .collect();
        let class_of = |duration: u64| {
            let near = usize::try_from(duration.saturating_sub(least)).ok().and_then(|i| near.get(i));
            near.map_or_else(|| class_of(duration), |class| usize::from(*class))
        };
        let rows = (0..number).map(|b| {
            let mut row = vec![(0.0, 0.0); edges.len()];
            for phase in phases.get(b * m / number..(b + 1) * m / number).unwrap_or_default() {
                if let Some(class) = row.get_mut(class_of(*phase)) {
                    class.0 += 1.0;
                    class.1 += phase.saturating_sub(least) as f64;
                }
            }
            row
        });
        let tail = threshold.map(|t| (edges.partition_point(|e| *e <= t), t.saturating_sub(least) as f64));
        Some(PhaseBlocks { rows: rows.collect(), least, tail })
    }

    pub(crate) fn number(&self) -> usize {
        self.rows.len()
    }

    /// All blocks, once each.
    pub(crate) fn all(&self) -> Resample {
        self.of(0..self.rows.len())
    }

    /// As many blocks as there are, drawn at random.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Resample {
        let number = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.of((0..number).map(|_| below(rng, number) as usize))
    }

    /// Resamples from a seed.
    pub(crate) fn resamples(&self, number: usize, seed: u64, item: u64) -> impl Iterator<Item = Resample> + '_ {
        let mut rng = generator(seed, RandomPurpose::Noise, item);
        (0..number).map(move |_| self.draw(&mut rng))
    }

    fn of(&self, blocks: impl Iterator<Item = usize>) -> Resample {
        let mut sums = vec![(0.0, 0.0); self.rows.first().map_or(0, Vec::len)];
        for row in blocks.filter_map(|b| self.rows.get(b)) {
            for (sum, class) in sums.iter_mut().zip(row) {
                sum.0 += class.0;
                sum.1 += class.1;
            }
        }
        Resample::new(&sums, self.least as f64, self.tail)
    }
}

/// The largest duration of each class, ascending.
fn edges(distribution: &Distribution, threshold: Option<u64>) -> Vec<u64> {
    let total = distribution.total().get() as f64;
    let steps = distribution.steps();
    let before = |i: usize| i.checked_sub(1).and_then(|i| steps.get(i)).map_or(distribution.total().get(), |s| s.above);
    let mut edges = Vec::new();
    // Phases over the class that is being made, from the top downwards.
    let mut over: Option<u64> = None;
    for (i, step) in steps.iter().enumerate().rev() {
        let start = match over {
            Some(start) if threshold != Some(step.duration) => start,
            _ => {
                edges.push(step.duration);
                step.above
            }
        };
        let size = (before(i) - start) as f64;
        let full = size >= (start as f64 / 20.0).min(total / 200.0);
        over = Some(start).filter(|_| !full);
    }
    edges.reverse();
    edges
}

/// A drawn sample: the mean duration of each class, the share of phases in longer ones, and its tail.
pub(crate) struct Resample {
    /// Over the shortest phase.
    means: Vec<f64>,
    /// ln(1 - the share that is in later classes).
    logs: Vec<f64>,
    least: f64,
    tail: Option<FittedTail>,
}

/// A tail over the threshold.
struct FittedTail {
    /// Over the shortest phase.
    threshold: f64,
    share: f64,
    shape: f64,
    scale: f64,
}

impl Resample {
    fn new(sums: &[(f64, f64)], least: f64, tail: Option<(usize, f64)>) -> Resample {
        let total: f64 = sums.iter().map(|s| s.0).sum();
        let mut above = total;
        let (means, logs) = sums
            .iter()
            .filter(|s| s.0 > 0.0)
            .map(|(count, sum)| {
                above -= count;
                (sum / count, (-above / total).ln_1p())
            })
            .unzip();
        let tail = tail.and_then(|(first, threshold)| {
            let over = sums.get(first..).unwrap_or_default().iter().filter(|s| s.0 > 0.0);
            let over: Vec<Weighted> = over.map(|(count, sum)| (sum / count - threshold, *count)).collect();
            let share = over.iter().map(|o| o.1).sum::<f64>() / total;
            let (shape, scale) = tail::fit(&over)?;
            Some(FittedTail { threshold, share, shape, scale })
        });
        Resample { means, logs, least, tail }
    }

    /// E[max of n].
    pub(crate) fn expected_max(&self, n: NonZeroU64) -> f64 {
        self.up_to(n, f64::INFINITY)
    }

    fn up_to(&self, n: NonZeroU64, limit: f64) -> f64 {
        let n = n.get() as f64;
        let uncertain = self.logs.partition_point(|l| n * l < -40.0);
        let means = self.means.get(uncertain..).unwrap_or_default();
        let logs = self.logs.get(uncertain..).unwrap_or_default();
        let gaps = means.iter().zip(means.iter().skip(1)).zip(logs);
        let gaps = gaps.map(|((a, b), log)| (b.min(limit) - a.min(limit)) * any_of(*log, n));
        self.least + means.first().map_or(0.0, |m| m.min(limit)) + gaps.sum::<f64>()
    }

    /// The same with the fitted tail; infinite if that has no mean, `None` if there is no tail.
    pub(crate) fn extrapolated(&self, n: NonZeroU64) -> Option<f64> {
        let tail = self.tail.as_ref()?;
        let over = tail::expected_excess(tail.shape, tail.scale, tail.share, n);
        Some(over.map_or(f64::INFINITY, |over| self.up_to(n, tail.threshold) + over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::unit;
    use proptest::prelude::*;

    fn n(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    fn phases(m: u32) -> Vec<u64> {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        (0..m).map(|_| 100_000 + (-5_000.0 * unit(&mut rng).ln()) as u64).collect()
    }

    /// All blocks together are the distribution itself, but for the classes.
    #[test]
    fn classes_are_fine_enough() {
        let phases = phases(200_000);
        let d = Distribution::new(phases.iter().copied()).unwrap();
        let t = tail::tail(&d).unwrap();
        let blocks = PhaseBlocks::new(&phases, &d, Some(t.threshold)).unwrap();
        let all = blocks.all();
        assert!((300..700).contains(&all.means.len()), "{}", all.means.len());
        for nodes in [1_u64, 2, 10, 100, 1_000, 20_000] {
            let (exact, classes) = (d.expected_max(n(nodes)) - 1e5, all.expected_max(n(nodes)) - 1e5);
            assert!((classes / exact - 1.0).abs() < 1e-4, "{nodes}: {exact} {classes}");
        }
        for nodes in [20_000_u64, 1_000_000] {
            let exact = t.expected_max(&d, n(nodes)).unwrap() - 1e5;
            let classes = all.extrapolated(n(nodes)).unwrap() - 1e5;
            assert!((classes / exact - 1.0).abs() < 2e-3, "{nodes}: {exact} {classes}");
        }
    }

    #[test]
    fn too_few_phases() {
        let phases = phases(199);
        let d = Distribution::new(phases.iter().copied()).unwrap();
        assert!(PhaseBlocks::new(&phases, &d, None).is_none());
    }

    proptest! {
        #[test]
        fn every_phase_has_its_class(phases in proptest::collection::vec(0..3_000_u64, 200..400), cut in 0..3_000_u64) {
            let d = Distribution::new(phases.iter().copied()).unwrap();
            let cut = d.quantile(cut as f64 / 3000.0);
            let edges = edges(&d, Some(cut));
            prop_assert!(edges.is_sorted_by(|a, b| a < b) && edges.contains(&cut));
            prop_assert_eq!(edges.last(), Some(&d.max()));
            let blocks = PhaseBlocks::new(&phases, &d, Some(cut)).unwrap();
            let mean = phases.iter().sum::<u64>() as f64 / phases.len() as f64;
            prop_assert!((blocks.all().expected_max(NonZeroU64::MIN) - mean).abs() < 1e-6);
            for r in blocks.resamples(3, 1, 1) {
                prop_assert!(r.expected_max(n(1000)) <= d.max() as f64 + 1e-6);
            }
        }
    }
}
