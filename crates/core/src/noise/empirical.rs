//! The distribution of measured phases, and the exact expectation of the largest of n that are drawn from it (ICS'05,
//! section 2.4).
//!
//! Durations are whole numbers of one unit of the caller's choice, cycles or nanoseconds; results are in the same. Equal ones
//! are kept once with their count, so that ten million phases take the room, and later the time, of the different durations
//! among them.

use crate::noise::model::any_of;
use crate::noise::proportion::Proportion;
use crate::statistics::series::Summary;
use std::num::NonZeroU64;

/// Durations within so much of the shortest are counted in a table, without being sorted.
const NEAR: u64 = 1 << 20;
/// The slowest n-th part of the phases must have at least this many for the maximum of n to count as supported.
const SUPPORT: u64 = 10;
/// exp(-SURE) is no longer seen beside 1.
const SURE: f64 = 40.0;

/// Durations of phases, in one unit; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The different ones, ascending.
    steps: Vec<EmpiricalStep>,
    total: NonZeroU64,
}

/// A duration that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmpiricalStep {
    pub duration: u64,
    /// Phases that were longer.
    pub above: u64,
    /// ln of the share of phases that were not.
    log: f64,
}

impl Distribution {
    /// Of the durations in any order; `None` if there are none. They are gone through twice, in linear time unless most are
    /// over a million units longer than the shortest; these are sorted.
    pub fn new(durations: impl Iterator<Item = u64> + Clone) -> Option<Distribution> {
        let (total, least) = durations.clone().fold((0_u64, u64::MAX), |(n, least), d| (n + 1, least.min(d)));
        let total = NonZeroU64::new(total)?;
        let mut near = vec![0_u64; usize::try_from(total.get().saturating_mul(4).min(NEAR)).ok()?];
        let mut far = Vec::new();
        for d in durations {
            let place = usize::try_from(d.saturating_sub(least)).ok().and_then(|i| near.get_mut(i));
            match place {
                Some(count) => *count += 1,
                None => far.push(d),
            }
        }
        far.sort_unstable();
        let near = near.iter().zip(least..).filter(|(count, _)| **count > 0).map(|(count, d)| (d, *count));
        let far = far.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len() as u64)));
        Some(Distribution::counted(near.chain(far), total))
    }

    /// Of durations, ascending, with their counts; those that follow each other may be equal.
    fn counted(counts: impl Iterator<Item = (u64, u64)>, total: NonZeroU64) -> Distribution {
        let mut above = total.get();
        let mut steps: Vec<EmpiricalStep> = Vec::new();
        for (duration, count) in counts {
            above = above.saturating_sub(count);
            match steps.last_mut().filter(|last| last.duration == duration) {
                Some(last) => last.above = above,
                None => steps.push(EmpiricalStep { duration, above, log: 0.0 }),
            }
        }
        steps.iter_mut().for_each(|s| s.log = (-(s.above as f64) / total.get() as f64).ln_1p());
        Distribution { steps, total }
    }

    /// The same phases, of which some have another duration: each was `from`, which some phase must be, and is `to`. It takes the
    /// time of the different durations and of what is changed.
    #[must_use]
    pub fn changed(&self, from: impl Iterator<Item = u64>, to: impl Iterator<Item = u64>) -> Distribution {
        let sorted = |mut all: Vec<u64>| {
            all.sort_unstable();
            all.into_iter().peekable()
        };
        let (mut gone, mut come) = (sorted(from.collect()), sorted(to.collect()));
        let mut known = self.counts().peekable();
        let next = || {
            // What is new comes before what is known and not shorter.
            if let Some(new) = come.next_if(|new| known.peek().is_none_or(|(duration, _)| new < duration)) {
                return Some((new, 1));
            }
            let (duration, mut count) = known.next()?;
            while gone.next_if_eq(&duration).is_some() {
                count = count.saturating_sub(1);
            }
            Some((duration, count))
        };
        Distribution::counted(std::iter::from_fn(next).filter(|(_, count)| *count > 0), self.total)
    }

    /// The different durations, ascending, each with how many phases were longer: the curves of figures 3 and 5.
    pub fn steps(&self) -> &[EmpiricalStep] {
        &self.steps
    }

    pub fn total(&self) -> NonZeroU64 {
        self.total
    }

    pub fn min(&self) -> u64 {
        self.steps.first().map_or(0, |s| s.duration)
    }

    pub fn max(&self) -> u64 {
        self.steps.last().map_or(0, |s| s.duration)
    }

    /// Each different duration with its count.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let before = std::iter::once(self.total.get()).chain(self.steps.iter().map(|s| s.above));
        self.steps.iter().zip(before).map(|(s, before)| (s.duration, before - s.above))
    }

    /// The shortest duration that at least this share of the phases did not exceed. The shortest for 0 and below, the longest
    /// for 1 and above.
    pub fn quantile(&self, share: f64) -> u64 {
        let may_exceed = ((1.0 - share) * self.total.get() as f64 * (1.0 + 4.0 * f64::EPSILON)).floor();
        let at = self.steps.partition_point(|s| s.above as f64 > may_exceed);
        self.steps.get(at).map_or(self.max(), |s| s.duration)
    }

    /// By how much the longest are over the shortest, as a share of it, without the longest `without` of them all (a share):
    /// the flatness of a curve of figure 4. `None` if the shortest is 0.
    pub fn span(&self, without: f64) -> Option<f64> {
        let min = self.min();
        (min > 0).then(|| (self.quantile(1.0 - without) - min) as f64 / min as f64)
    }

    /// Table 2: mean, median, standard deviation, minimum, maximum.
    pub fn summary(&self) -> Summary {
        let (min, n) = (self.min(), self.total.get() as f64);
        let shift = self.counts().map(|(d, c)| (d - min) as f64 * c as f64).sum::<f64>() / n;
        let squares: f64 = self.counts().map(|(d, c)| ((d - min) as f64 - shift).powi(2) * c as f64).sum();
        let mean = min as f64 + shift;
        let std_dev = (n > 1.0).then(|| (squares / (n - 1.0)).sqrt());
        let upper = self.rank(self.total.get() / 2) as f64;
        let lower = self.rank((self.total.get() - 1) / 2) as f64;
        Summary {
            n: usize::try_from(self.total.get()).unwrap_or(usize::MAX),
            mean,
            median: lower + (upper - lower) / 2.0,
            std_dev,
            relative_error: std_dev.filter(|_| mean > 0.0).map(|s| s / mean),
            min: min as f64,
            max: self.max() as f64,
        }
    }

    /// The duration with `before` others before it in ascending order.
    fn rank(&self, before: u64) -> u64 {
        let at = self.steps.partition_point(|s| self.total.get() - s.above <= before);
        self.steps.get(at).map_or(self.max(), |s| s.duration)
    }

    /// How many phases took at least `duration`: p at a chosen duration, with its interval.
    pub fn at_least(&self, duration: u64) -> Proportion {
        let at = self.steps.partition_point(|s| s.duration < duration);
        let count = at.checked_sub(1).and_then(|i| self.steps.get(i)).map_or(self.total.get(), |s| s.above);
        Proportion::counted(count, self.total)
    }

    /// How many phases were delayed by at least so much, relative to the shortest.
    pub fn delayed_by(&self, delay: u64) -> Proportion {
        self.at_least(self.min().saturating_add(delay))
    }

    /// E[max of n] exactly, if the nodes' phases are drawn from this distribution independently: what a phase of a job on `n`
    /// nodes takes.
    ///
    /// As x₁ + Σ (x₍ᵢ₊₁₎ - xᵢ)·(1 - Fᵢⁿ) over the different durations, all of whose terms are positive, and 1 - Fⁿ without
    /// cancellation, it is right to about 12 digits for any n. Only the slowest 40/n-th of the phases make it, the others
    /// being certain to be exceeded, so the cost falls with n.
    pub fn expected_max(&self, n: NonZeroU64) -> f64 {
        self.expected_max_up_to(n, u64::MAX)
    }

    /// E[min(max of n, `limit`)].
    pub(crate) fn expected_max_up_to(&self, n: NonZeroU64, limit: u64) -> f64 {
        let n = n.get() as f64;
        let uncertain = self.steps.partition_point(|s| n * s.log < -SURE);
        let rest = self.steps.get(uncertain..).unwrap_or_default();
        let first = rest.first().map_or(self.max(), |s| s.duration).min(limit);
        let gap = |a: &EmpiricalStep, b: &EmpiricalStep| b.duration.min(limit).saturating_sub(a.duration) as f64;
        let gaps = rest.iter().zip(rest.iter().skip(1)).map(|(a, b)| gap(a, b) * any_of(a.log, n));
        first as f64 + gaps.sum::<f64>()
    }

    /// The largest n whose maximum these phases support. Beyond, it depends on fewer than ten of them, and on phases that are
    /// so rare that none was measured: a tenth of the phases.
    pub fn supported(&self) -> u64 {
        self.total.get() / SUPPORT
    }
}

/// Numbers of nodes from 1 to `most`, about `per_decade` in each decade, evenly spaced on a log scale, none twice.
pub fn node_counts(most: NonZeroU64, per_decade: NonZeroU64) -> Vec<NonZeroU64> {
    let step = 1.0 / per_decade.get() as f64;
    let last = (most.get() as f64).log10();
    let number = (last / step).ceil().min(1e6) as u32;
    let mut all: Vec<NonZeroU64> = (0..number)
        .filter_map(|i| NonZeroU64::new(10_f64.powf(f64::from(i) * step).round() as u64))
        .chain([most])
        .filter(|n| *n <= most)
        .collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use crate::statistics::series::{Values, summary};
    use proptest::prelude::*;

    fn d(durations: &[u64]) -> Distribution {
        Distribution::new(durations.iter().copied()).unwrap()
    }

    fn n(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    #[test]
    fn steps_and_quantiles() {
        let d = d(&[5, 3, 3, 900_000_000_000, 7, 3, 5, 4, 4, 3]);
        let counts: Vec<(u64, u64)> = d.counts().collect();
        assert_eq!(counts, [(3, 4), (4, 2), (5, 2), (7, 1), (900_000_000_000, 1)]);
        assert_eq!(d.steps().iter().map(|s| s.above).collect::<Vec<_>>(), [6, 4, 2, 1, 0]);
        assert_eq!(
            [-1.0, 0.0, 0.4, 0.41, 0.8, 0.9, 1.0, 2.0].map(|q| d.quantile(q)),
            [3, 3, 3, 4, 5, 7, 900_000_000_000, 900_000_000_000]
        );
        assert_eq!(d.span(0.1), Some(4.0 / 3.0));
        assert_eq!((d.at_least(0).count(), d.at_least(4).count(), d.at_least(6).count()), (10, 6, 2));
        assert_eq!((d.delayed_by(0).count(), d.delayed_by(4).count(), d.delayed_by(u64::MAX).count()), (10, 2, 0));
        assert_eq!(d.supported(), 1);
        assert_eq!(Distribution::new(std::iter::empty()), None);
    }

    #[test]
    fn of_two_durations_it_is_the_bernoulli_slowdown() {
        use crate::noise::model::{Bernoulli, Probability};
        let phases: Vec<u64> = (0..1000).map(|i| if i % 100 == 0 { 1500 } else { 1000 }).collect();
        let (d, b) = (d(&phases), Bernoulli::new(1000.0, 1500.0).unwrap());
        for nodes in [1, 2, 10, 100, 1_000, 1_000_000_000] {
            let law = b.expected(Probability::new(0.01).unwrap(), n(nodes));
            assert!((d.expected_max(n(nodes)) / law - 1.0).abs() < 1e-12, "{nodes}");
        }
        assert!((d.expected_max(n(100)) / 1000.0 - 1.32).abs() < 0.005);
    }

    /// Every way to draw three of four.
    #[test]
    fn all_draws_counted() {
        let values = [2_u64, 3, 7, 20];
        let mut sum = 0;
        for a in values {
            for b in values {
                sum += values.iter().map(|c| a.max(b).max(*c)).sum::<u64>();
            }
        }
        assert!((d(&values).expected_max(n(3)) - sum as f64 / 64.0).abs() < 1e-12);
        let capped = d(&values).expected_max_up_to(n(3), 7);
        assert!((capped - (sum as f64 - 37.0 * 13.0) / 64.0).abs() < 1e-12, "{capped}");
    }

    /// One phase of ten million is longer: the largest of n is n·1e-7 over, for small n, to nine digits.
    #[test]
    fn rare_delays_keep_their_digits() {
        let d = Distribution::new((0..10_000_000_u32).map(|i| if i == 77 { 2_000_000 } else { 1_000_000 })).unwrap();
        for nodes in [1_u64, 10, 1000] {
            let over = d.expected_max(n(nodes)) - 1e6;
            let x = nodes as f64 * 1e-7;
            let law = 1e6 * (x - x * x / 2.0 * (1.0 - 1.0 / nodes as f64) + x.powi(3) / 6.0);
            assert!((over / law - 1.0).abs() < 2e-9, "{nodes}: {over:e} {law:e}");
        }
        assert!((d.expected_max(n(1_000_000_000)) - 2e6).abs() < 1e-6);
    }

    /// Of 0, 1, … M - 1 once each, the maximum of n is M - 1 - Σ (i/M)^n.
    #[test]
    fn uniform() {
        let d = Distribution::new(0..100_000_u64).unwrap();
        for (nodes, share) in [(1_u64, 0.5), (2, 2.0 / 3.0), (9, 0.9), (99, 0.99)] {
            assert!((d.expected_max(n(nodes)) / 1e5 - share).abs() < 1e-5, "{nodes}");
        }
    }

    /// Drawn from it, n at a time, the mean of the maxima is within four standard errors.
    #[test]
    fn agrees_with_draws() {
        let mut rng = generator(3, RandomPurpose::Order, 0);
        let phases: Vec<u64> = (0..20_000)
            .map(|_| match below(&mut rng, 1000) {
                0 => 5_000 + u64::from(below(&mut rng, 90_000)),
                1..50 => 2_000 + u64::from(below(&mut rng, 300)),
                _ => 1_000 + u64::from(below(&mut rng, 20)),
            })
            .collect();
        let d = d(&phases);
        for (nodes, times) in [(1_u32, 50_000_u32), (30, 10_000), (1_000, 4_000), (20_000, 400)] {
            let maxima = (0..times).map(|_| {
                let drawn = (0..nodes).map(|_| phases[below(&mut rng, 20_000) as usize]).max().unwrap();
                drawn as f64
            });
            let s = summary(&Values::new(maxima.collect::<Vec<_>>()).unwrap()).unwrap();
            let error = s.std_dev.unwrap() / f64::from(times).sqrt();
            let expected = d.expected_max(n(u64::from(nodes)));
            assert!((s.mean - expected).abs() < 4.0 * error, "{nodes}: {} ± {error}, {expected}", s.mean);
        }
    }

    #[test]
    fn counts_of_nodes() {
        let counts = |most, per| node_counts(n(most), n(per)).iter().map(|n| n.get()).collect::<Vec<_>>();
        assert_eq!(counts(1, 10), [1]);
        assert_eq!(counts(1000, 1), [1, 10, 100, 1000]);
        assert_eq!(counts(20, 3), [1, 2, 5, 10, 20]);
        assert_eq!(counts(1_000_000, 10).last(), Some(&1_000_000));
        assert!(counts(1_000_000, 10).is_sorted_by(|a, b| a < b));
    }

    proptest! {
        #[test]
        fn a_changed_one_is_that_of_the_changed_durations(
            all in proptest::collection::vec((0..40_u64, 0..60_u64, any::<bool>()), 1..60),
        ) {
            let before = Distribution::new(all.iter().map(|a| a.0)).unwrap();
            let changes = || all.iter().filter(|a| a.2);
            let after = before.changed(changes().map(|a| a.0), changes().map(|a| a.1));
            let wanted = Distribution::new(all.iter().map(|a| if a.2 { a.1 } else { a.0 })).unwrap();
            prop_assert_eq!(after, wanted);
        }

        #[test]
        fn between_the_mean_and_the_longest(phases in proptest::collection::vec(0..5_000_000_u64, 1..60), nodes in 1..1_000_000_000_u64) {
            let d = d(&phases);
            let s = d.summary();
            prop_assert!((d.expected_max(n(1)) - s.mean).abs() <= s.mean * 1e-12);
            let (a, b) = (d.expected_max(n(nodes)), d.expected_max(n(nodes + 1)));
            prop_assert!(a >= s.mean * (1.0 - 1e-12) && b >= a * (1.0 - 1e-12) && b <= s.max * (1.0 + 1e-12));
            let limit = s.median as u64;
            prop_assert!(d.expected_max_up_to(n(nodes), limit) <= limit as f64 * (1.0 + 1e-12));
        }

        #[test]
        fn summaries_are_those_of_the_series(phases in proptest::collection::vec(0..5_000_000_u64, 1..60)) {
            let of_series = summary(&Values::new(phases.iter().map(|p| *p as f64)).unwrap()).unwrap();
            let s = d(&phases).summary();
            prop_assert_eq!((s.n, s.median, s.min, s.max), (of_series.n, of_series.median, of_series.min, of_series.max));
            prop_assert!((s.mean - of_series.mean).abs() <= 1e-9 * s.max);
            let (a, b) = (s.std_dev.unwrap_or(0.0), of_series.std_dev.unwrap_or(0.0));
            prop_assert!((a - b).abs() <= 1e-6 * s.max);
        }

        #[test]
        fn any_durations(phases in proptest::collection::vec(any::<u64>(), 1..40), share in -1.0..2.0_f64) {
            let d = d(&phases);
            prop_assert_eq!(d.counts().map(|c| c.1).sum::<u64>(), phases.len() as u64);
            prop_assert!(d.expected_max(n(1_000)).is_finite());
            let q = d.quantile(share);
            prop_assert!(phases.contains(&q));
            prop_assert!(phases.iter().filter(|p| **p <= q).count() as f64 >= share.min(1.0) * phases.len() as f64 - 1e-9);
        }
    }
}
