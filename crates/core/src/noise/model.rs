//! The noise law (ICS'05, section 2): a job on n nodes is delayed in a phase if any of its nodes is.
//!
//! The nodes are taken to be alike and independent of each other. Where they are not independent, the law is an upper bound
//! (section 2.3).

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

/// A number that is not a probability.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a probability, expected a number from 0 to 1")]
pub struct NotAProbability(pub f64);

impl Probability {
    /// # Errors
    /// [`NotAProbability`] below 0, above 1 and for NaN.
    pub fn new(p: f64) -> Result<Probability, NotAProbability> {
        if (0.0..=1.0).contains(&p) { Ok(Probability(p)) } else { Err(NotAProbability(p)) }
    }

    /// For what is a probability but for rounding.
    pub(crate) fn clamped(p: f64) -> Probability {
        Probability(p.clamp(0.0, 1.0))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = NotAProbability;
    fn try_from(p: f64) -> Result<Probability, NotAProbability> {
        Probability::new(p)
    }
}

impl From<Probability> for f64 {
    fn from(p: Probability) -> f64 {
        p.0
    }
}

/// 1 - (1 - s)^n without cancellation: from `log`, which is ln(1 - s).
pub(crate) fn any_of(log: f64, n: f64) -> f64 {
    -(n * log).exp_m1()
}

/// d_p(n) = 1 - (1 - p)^n (equation 1): the probability that a job on `n` nodes is delayed in a phase if each node is
/// with probability `p`. Exact to a few units in the last place for every p and n; the textbook form has lost every
/// digit at p = 1e-17.
pub fn delayed(p: Probability, n: NonZeroU64) -> Probability {
    Probability::clamped(any_of((-p.0).ln_1p(), n.get() as f64))
}

/// p n (equation 2), what d_p(n) is for small p; over 1 where it is no longer a probability.
pub fn linear(p: Probability, n: NonZeroU64) -> f64 {
    p.0 * n.get() as f64
}

/// By how much p n is over d_p(n) (equation 3); never negative, and below [`linear_excess_bound`].
pub fn linear_excess(p: Probability, n: NonZeroU64) -> f64 {
    let (x, nodes) = (linear(p, n), n.get() as f64);
    if x >= 0.5 {
        return x - delayed(p, n).0;
    }
    // The difference of two nearly equal numbers; instead, the binomial series from its second power on (equation 4), of which
    // each term is less than a quarter of the one before.
    let mut term = nodes * (nodes - 1.0) / 2.0 * p.0 * p.0;
    let (mut sum, mut k) = (term, 2.0);
    while term.abs() > sum * f64::EPSILON / 4.0 && k < nodes {
        term *= -p.0 * (nodes - k) / (k + 1.0);
        sum += term;
        k += 1.0;
    }
    sum
}

/// n² p² / 2, more than p n can be over d_p(n) (section 2.1).
pub fn linear_excess_bound(p: Probability, n: NonZeroU64) -> f64 {
    linear(p, n).powi(2) / 2.0
}

/// The largest p that keeps d_p(n) ≤ `alpha`: 1 - (1 - α)^(1/n), about α/n (section 2.2).
pub fn largest_p(alpha: Probability, n: NonZeroU64) -> Probability {
    Probability::clamped(any_of((-alpha.0).ln_1p(), 1.0 / n.get() as f64))
}

/// How many nodes a job may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "nodes", rename_all = "snake_case")]
pub enum MostNodes {
    /// One is too many.
    None,
    Nodes(NonZeroU64),
    /// As many as one likes: nothing is ever delayed, or nothing is asked; or beyond 2^53.
    Any,
}

/// The largest n with d_p(n) ≤ `alpha`. That d is computed in floating point is allowed for: 8 units in the last place.
pub fn largest_n(p: Probability, alpha: Probability) -> MostNodes {
    if p.0 == 0.0 || alpha.0 == 1.0 {
        return MostNodes::Any;
    }
    let within = |n: u64| {
        let d = NonZeroU64::new(n).map(|n| delayed(p, n).0);
        d.is_none_or(|d| d <= alpha.0 * (1.0 + 8.0 * f64::EPSILON))
    };
    let n = ((-alpha.0).ln_1p() / (-p.0).ln_1p()).floor();
    if n >= 2_f64.powi(53) {
        return MostNodes::Any;
    }
    // The quotient may be off by its rounding.
    let n = n as u64;
    let most = [n + 1, n, n.saturating_sub(1)].into_iter().find(|n| within(*n)).unwrap_or(0);
    NonZeroU64::new(most).map_or(MostNodes::None, MostNodes::Nodes)
}

/// A phase that takes one time or another (section 2.4), in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bernoulli {
    undisturbed: f64,
    disturbed: f64,
}

/// Durations that make no such phase.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a phase of {undisturbed}, or {disturbed} when it is disturbed: expected finite times, the first greater than 0, \
     the second not below the first"
)]
pub struct BadDurations {
    /// The first that was given.
    pub undisturbed: f64,
    /// The second.
    pub disturbed: f64,
}

impl Bernoulli {
    /// The paper's G and G'.
    pub fn new(undisturbed: f64, disturbed: f64) -> Result<Bernoulli, BadDurations> {
        if undisturbed > 0.0 && disturbed >= undisturbed && disturbed.is_finite() {
            Ok(Bernoulli { undisturbed, disturbed })
        } else {
            Err(BadDurations { undisturbed, disturbed })
        }
    }

    /// What a phase of a job on `n` nodes takes on average: G (1 - d) + G' d.
    pub fn expected(&self, p: Probability, n: NonZeroU64) -> f64 {
        self.undisturbed + delayed(p, n).0 * (self.disturbed - self.undisturbed)
    }

    /// The same divided by G. A lower bound of the true slowdown if the disturbed phases take G' or longer.
    pub fn slowdown(&self, p: Probability, n: NonZeroU64) -> f64 {
        self.expected(p, n) / self.undisturbed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn n(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    /// Section 2.2: 1 in 100 for a thousand nodes needs p = 1e-5; with p = 1e-5 it is below a tenth up to thousands of nodes.
    #[test]
    fn the_papers_probabilities() {
        assert!((delayed(p(1e-5), n(1000)).get() - 1e-2).abs() < 1e-4);
        assert!((largest_p(p(1e-2), n(1000)).get() / 1e-5 - 1.0).abs() < 0.01);
        assert!(delayed(p(1e-5), n(10_000)).get() < 0.1);
        assert!((delayed(p(1e-2), n(100)).get() - 0.63).abs() < 0.005);
        // Section 2.1: the difference is below 0.01 for p < 1/(7n).
        assert!(linear_excess(p(1.0 / 7000.0), n(1000)) < 0.0103);
    }

    /// Section 2.4, and section 3.2 with the shortest phase as the base ("about 2").
    #[test]
    fn the_papers_slowdowns() {
        let b = Bernoulli::new(1.0, 1.5).unwrap();
        assert!((b.slowdown(p(0.01), n(10)) - 1.05).abs() < 0.005);
        assert!((b.slowdown(p(0.01), n(100)) - 1.32).abs() < 0.005);
        assert!((b.expected(p(0.01), n(100)) / 0.668 - 2.0).abs() < 0.05);
    }

    /// Expected values from 60 digits of decimal arithmetic.
    #[test]
    fn no_digit_is_lost() {
        for (q, nodes, d) in [
            (1e-15, 1, 1e-15),
            (1e-15, 1_000_000_000, 9.999_995_000_001_67e-7),
            (1e-9, 1_000_000_000, 0.632_120_559_012_498_6),
            (1e-12, 1_000_000, 9.999_995_000_006_667e-7),
            (0.5, 3, 0.875),
        ] {
            let got = delayed(p(q), n(nodes)).get();
            assert!((got / d - 1.0).abs() < 2e-14, "{q} {nodes}: {got:e} {d:e}");
        }
        assert_eq!(delayed(p(1.0), n(1)).get(), 1.0);
        assert_eq!(delayed(p(0.0), n(u64::MAX)).get(), 0.0);
        assert_eq!(linear_excess(p(1e-15), n(1)), 0.0);
        assert!((linear_excess(p(1e-15), n(1_000_000_000)) / 5e-13 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn limits_of_nodes() {
        assert_eq!(largest_n(p(0.0), p(0.1)), MostNodes::Any);
        assert_eq!(largest_n(p(0.3), p(1.0)), MostNodes::Any);
        assert_eq!(largest_n(p(0.3), p(0.2)), MostNodes::None);
        assert_eq!(largest_n(p(0.3), p(0.0)), MostNodes::None);
        assert_eq!(largest_n(p(1.0), p(0.5)), MostNodes::None);
        assert_eq!(largest_n(p(0.3), p(0.3)), MostNodes::Nodes(n(1)));
        assert_eq!(largest_n(p(0.5), p(0.75)), MostNodes::Nodes(n(2)));
        assert_eq!(largest_n(p(1e-5), p(0.1)), MostNodes::Nodes(n(10_535)));
        assert_eq!(largest_n(p(1e-300), p(0.1)), MostNodes::Any);
    }

    #[test]
    fn bad_numbers_are_named() {
        for bad in [-0.1, 1.1, f64::INFINITY] {
            assert_eq!(Probability::new(bad), Err(NotAProbability(bad)));
        }
        assert!(Probability::new(f64::NAN).is_err());
        for (a, b) in [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(Bernoulli::new(a, b).is_err(), "{a} {b}");
        }
        assert!(Probability::try_from(1.5).is_err());
    }

    proptest! {
        /// Section 2.1. The paper divides the difference by p n where it writes d: relative to p n it is below 5% for p ≤
        /// 1/(10 n); relative to d itself it comes to 5.1% at that limit, and is below p n / (2 - p n).
        #[test]
        fn the_law_is_linear_for_small_p(nodes in 1..1_000_000_000_u64, part in 1e-6..0.1_f64) {
            let (nodes, q) = (n(nodes), p(part / nodes as f64));
            let (x, excess, d) = (linear(q, nodes), linear_excess(q, nodes), delayed(q, nodes).get());
            prop_assert!(excess >= 0.0 && excess <= linear_excess_bound(q, nodes));
            prop_assert!(excess / x < 0.05);
            prop_assert!(excess / d < 0.0509 && excess / d <= x / (2.0 - x) * (1.0 + 1e-12));
            prop_assert!((x - excess) / d - 1.0 < 1e-13);
        }

        #[test]
        fn the_bound_holds_for_any_p(nodes in 1..1_000_000_000_u64, log in -15.0..0.0_f64) {
            let (nodes, q) = (n(nodes), p(10_f64.powf(log)));
            let excess = linear_excess(q, nodes);
            let bound = linear_excess_bound(q, nodes);
            prop_assert!(excess >= -1e-15 && (excess <= bound || bound < 1e-300), "{excess} {bound}");
            let d = delayed(q, nodes);
            prop_assert!(d >= q || (d.get() / q.get() - 1.0).abs() < 1e-15);
            prop_assert!(delayed(q, nodes.saturating_add(1)) >= d);
        }

        #[test]
        fn largest_p_and_n_are_inverse(nodes in 1..1_000_000_000_u64, alpha in 1e-6..0.999_f64) {
            let (nodes, alpha) = (n(nodes), p(alpha));
            let q = largest_p(alpha, nodes);
            prop_assert!((delayed(q, nodes).get() / alpha.get() - 1.0).abs() < 1e-12);
            let MostNodes::Nodes(most) = largest_n(q, alpha) else { return Err(TestCaseError::fail("no number")) };
            prop_assert!(most.get().abs_diff(nodes.get()) <= 1);
            prop_assert!(delayed(q, most).get() <= alpha.get() * (1.0 + 1e-14));
            prop_assert!(delayed(q, n(most.get() + 2)) > alpha);
        }
    }
}
