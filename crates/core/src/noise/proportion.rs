//! How often something happened, with the exact interval of its probability (Clopper and Pearson, 1934).

use crate::noise::model::{Probability, any_of, delayed};
use crate::statistics::intervals::{Interval, LEVEL};
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;
use std::num::NonZeroU64;

/// A count out of a number of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proportion {
    count: u64,
    of: NonZeroU64,
}

/// More occurrences than trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} of {of}, expected at most {of}")]
pub struct MoreThanAll {
    pub count: u64,
    pub of: u64,
}

impl Proportion {
    pub fn new(count: u64, of: NonZeroU64) -> Result<Proportion, MoreThanAll> {
        if count <= of.get() { Ok(Proportion { count, of }) } else { Err(MoreThanAll { count, of: of.get() }) }
    }

    /// For a count that is known to be no more.
    pub(crate) fn counted(count: u64, of: NonZeroU64) -> Proportion {
        Proportion { count: count.min(of.get()), of }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn of(&self) -> NonZeroU64 {
        self.of
    }

    /// The share that was seen, the estimate of the probability.
    pub fn share(&self) -> Probability {
        Probability::clamped(self.count as f64 / self.of.get() as f64)
    }

    /// The 95% interval of the probability. Its coverage is at least that if the trials are independent. Phases hit by
    /// a strictly periodic tick vary less, so that it is wider than needed; phases that are delayed in bursts vary
    /// more, and it is too narrow.
    pub fn interval(&self) -> Interval {
        let side = (1.0 - LEVEL) / 2.0;
        let (k, m) = (self.count as f64, self.of.get() as f64);
        // Of the distribution of a count, the bounds leave 2.5% each: P(at least k) at the lower, P(at most k) at the upper.
        let low = match self.count {
            0 => 0.0,
            _ if k == m => (side.ln() / m).exp(),
            _ => solve(k / m / 100.0, k / m, |x| beta(k, m - k + 1.0, x) < side),
        };
        let high = match self.count {
            0 => any_of(side.ln(), 1.0 / m),
            _ if k == m => 1.0,
            _ => solve(k / m, (k / m * 10.0).min(1.0), |x| beta(m - k, k + 1.0, 1.0 - x) > side),
        };
        Interval { low, high, level: LEVEL }
    }

    /// The probability that a job on `n` nodes is delayed, d_p(n), with its interval, computed from that of p.
    pub fn job(&self, n: NonZeroU64) -> (Probability, Interval) {
        let p = self.interval();
        let d = |p: f64| delayed(Probability::clamped(p), n).get();
        (delayed(self.share(), n), Interval { low: d(p.low), high: d(p.high), level: p.level })
    }
}

/// Where `below` turns from true to false between two positive numbers.
fn solve(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz and Stegun 26.5.8), evaluated
/// from the front. For x below the mean, a / (a + b), where it converges; there it takes about √max(a, b) steps. (statrs
/// takes 140 steps at most, which is too few from counts of some ten thousand on.)
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let log = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The continued fraction 1 + d1/(1 + d2/(1 + ...)) as the product of the ratios of its neighbouring convergents.
    let (mut fraction, mut numerators, mut denominators) = (1.0, 1.0, 0.0);
    for step in 1..1_000_000 {
        let i = f64::from(step / 2);
        let part = if step % 2 == 1 {
            -(a + i) * (a + b + i) * x / ((a + 2.0 * i) * (a + 2.0 * i + 1.0))
        } else {
            i * (b - i) * x / ((a + 2.0 * i - 1.0) * (a + 2.0 * i))
        };
        denominators = 1.0 / (1.0 + part * denominators);
        numerators = 1.0 + part / numerators;
        let factor: f64 = numerators * denominators;
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (log.exp() / a / fraction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    fn of(count: u64, of: u64) -> Proportion {
        Proportion::new(count, NonZeroU64::new(of).unwrap()).unwrap()
    }

    /// P(Bin(m, p) = k), summed up over k.
    fn binomial(k: impl Iterator<Item = u64>, m: u64, p: f64) -> f64 {
        let ln = |k: f64| ln_gamma(m as f64 + 1.0) - ln_gamma(k + 1.0) - ln_gamma(m as f64 - k + 1.0);
        k.map(|k| k as f64).map(|k| (ln(k) + k * p.ln() + (m as f64 - k) * (-p).ln_1p()).exp()).sum()
    }

    /// By definition: the bounds leave 2.5% of a binomial distribution on either side.
    #[test]
    fn bounds_of_the_binomial_distribution() {
        for (k, m) in [
            (1, 2),
            (1, 10),
            (5, 10),
            (9, 10),
            (3, 1000),
            (500, 1000),
            (999, 1000),
            (150_000, 200_000),
            (7, 10_000_000),
        ] {
            let i = of(k, m).interval();
            assert!((1.0 - binomial(0..k, m, i.low) - 0.025).abs() < 1e-6, "{k} of {m}: {i:?}");
            assert!((binomial(0..k + 1, m, i.high) - 0.025).abs() < 1e-6, "{k} of {m}: {i:?}");
        }
        // None and all: (α/2)^(1/m).
        let none = of(0, 20).interval();
        assert!(none.low == 0.0 && (none.high - 0.168_433_5).abs() < 1e-6, "{none:?}");
        let all = of(20, 20).interval();
        assert!(all.high == 1.0 && (all.low - 0.831_566_5).abs() < 1e-6, "{all:?}");
    }

    /// Where the normal approximation is good, it is near; ten millions of phases are no trouble.
    #[test]
    fn large_counts() {
        for (k, m) in [(5_000_000_u64, 10_000_000_u64), (1_000_000, 10_000_000), (9_990_000, 10_000_000)] {
            let (i, share) = (of(k, m).interval(), k as f64 / m as f64);
            let normal = 1.959_964 * (share * (1.0 - share) / m as f64).sqrt();
            assert!((i.half_width() / normal - 1.0).abs() < 0.02, "{k} of {m}: {i:?} {normal}");
            assert!(((i.low + i.high) / 2.0 / share - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn covers_at_least_so_often() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        let hits = (0..500).filter(|_| {
            let count = (0..300).filter(|_| below(&mut rng, 100) == 0).count();
            of(count as u64, 300).interval().contains(0.01)
        });
        assert!(hits.count() >= 475);
    }

    #[test]
    fn a_job_of_n() {
        let (d, interval) = of(10, 1_000_000).job(NonZeroU64::new(1000).unwrap());
        assert!((d.get() - 0.00995).abs() < 1e-5 && interval.contains(d.get()));
        assert!((interval.low - 0.0048).abs() < 1e-4 && (interval.high - 0.0182).abs() < 1e-4, "{interval:?}");
        assert_eq!(Proportion::new(3, NonZeroU64::MIN), Err(MoreThanAll { count: 3, of: 1 }));
    }

    proptest! {
        #[test]
        fn contains_its_share((k, m) in (1..100_000_u64).prop_flat_map(|m| (0..=m, Just(m)))) {
            let p = of(k, m);
            let i = p.interval();
            prop_assert!(i.low >= 0.0 && i.high <= 1.0 && i.contains(p.share().get()), "{:?}", i);
            let mirror = of(m - k, m).interval();
            prop_assert!((mirror.low - (1.0 - i.high)).abs() < 1e-9 && (mirror.high - (1.0 - i.low)).abs() < 1e-9);
        }
    }
}
