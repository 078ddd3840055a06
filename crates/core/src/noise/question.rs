//! What the model says without a measurement (ICS'05, section 2): of a chance p of a delay d in a phase of one node.

use crate::base::units::Nanos;
use crate::noise::empirical::node_counts;
use crate::noise::model::{Bernoulli, MostNodes, Probability, delayed, largest_n, largest_p, linear, linear_excess};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Largest of the default numbers of nodes.
const MOST_NODES: NonZeroU64 = NonZeroU64::MIN.saturating_add(999_999);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseQuestion {
    /// The chance that a phase of one node is delayed.
    pub p: Probability,
    /// By how much, G' - G; `None`: only how often is asked.
    pub delay: Option<Nanos>,
    /// Lengths of undisturbed phases, G; each greater than 0.
    pub grains: Vec<Nanos>,
    pub nodes: Vec<NonZeroU64>,
    /// The chance of a delay that a job can bear.
    pub alpha: Probability,
}

impl NoiseQuestion {
    /// The default numbers of nodes: powers of ten from 1 to a million.
    pub fn usual_nodes() -> Vec<NonZeroU64> {
        node_counts(MOST_NODES, NonZeroU64::MIN)
    }
}

/// What a number of nodes makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRow {
    pub nodes: NonZeroU64,
    /// d_p(n) (equation 1).
    pub delayed: f64,
    /// p n (equation 2), which above 1 is no probability.
    pub linear: f64,
    /// (p n - d_p(n)) / d_p(n); `None` where nothing is ever delayed.
    pub linear_error: Option<f64>,
    /// The largest p that keeps d_p(n) ≤ α (section 2.2).
    pub largest_p: f64,
    /// E(Y)/G of a phase that takes G or G' (equation 5), by grain.
    pub slowdowns: Vec<f64>,
}

/// Answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub question: NoiseQuestion,
    /// The largest n that keeps d_p(n) ≤ α.
    pub largest_n: MostNodes,
    /// By number of nodes.
    pub rows: Vec<ModelRow>,
    /// G'/G by grain, which no job exceeds, however large; none without a delay.
    pub limits: Vec<f64>,
}

/// A grain that is not longer than 0, or a delay below 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a grain of {} ns delayed by {} ns, expected a grain longer than 0 and a delay of at least 0", grain.0, delay.0)]
pub struct BadGrain {
    pub grain: Nanos,
    pub delay: Nanos,
}

pub fn answer(question: &NoiseQuestion) -> Result<ModelAnswer, BadGrain> {
    let (p, alpha) = (question.p, question.alpha);
    let mut laws = Vec::new();
    for (grain, delay) in question.delay.iter().flat_map(|d| question.grains.iter().map(move |g| (*g, *d))) {
        let bad = BadGrain { grain, delay };
        laws.push(Bernoulli::new(grain.as_f64(), grain.as_f64() + delay.as_f64()).map_err(|_| bad)?);
    }
    let certain = Probability::clamped(1.0);
    let row = |n: &NonZeroU64| {
        let d = delayed(p, *n).get();
        ModelRow {
            nodes: *n,
            delayed: d,
            linear: linear(p, *n),
            linear_error: (d > 0.0).then(|| linear_excess(p, *n) / d),
            largest_p: largest_p(alpha, *n).get(),
            slowdowns: laws.iter().map(|law| law.slowdown(p, *n)).collect(),
        }
    };
    Ok(ModelAnswer {
        largest_n: largest_n(p, alpha),
        rows: question.nodes.iter().map(row).collect(),
        limits: laws.iter().map(|law| law.slowdown(certain, NonZeroU64::MIN)).collect(),
        question: question.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(p: f64, delay: Option<i64>, grains: &[i64], nodes: &[u64]) -> NoiseQuestion {
        NoiseQuestion {
            p: Probability::new(p).unwrap(),
            delay: delay.map(Nanos),
            grains: grains.iter().copied().map(Nanos).collect(),
            nodes: nodes.iter().map(|n| NonZeroU64::new(*n).unwrap()).collect(),
            alpha: Probability::new(0.01).unwrap(),
        }
    }

    /// Section 2.4, equation 5: p = 0.01, G = 1 ms, G' = 1.5 ms.
    #[test]
    fn the_papers_example() {
        let a = answer(&question(0.01, Some(500_000), &[1_000_000], &[10, 100])).unwrap();
        let [ten, hundred] = a.rows.as_slice() else { panic!("{a:?}") };
        // The paper puts p n = 0.1 for d in the first; by d itself it is 1.0478.
        assert!((ten.slowdowns[0] - 1.05).abs() < 0.005 && (ten.linear - 0.1).abs() < 1e-12);
        assert!((hundred.slowdowns[0] - 1.32).abs() < 0.005 && (hundred.delayed - 0.63).abs() < 0.005);
        assert!((a.limits[0] - 1.5).abs() < 1e-12);
        // With the shortest phase of table 2 for G: about 2 (section 3.2).
        let over_minimum = (1_000.0 * (1.0 - hundred.delayed) + 1_500.0 * hundred.delayed) / 668.0;
        assert!((over_minimum - 2.0).abs() < 0.05);
    }

    /// Section 2.2: a thousand nodes bear p = 1e-5 at 1%.
    #[test]
    fn the_largest_p_and_n() {
        let a = answer(&question(1e-5, None, &[], &[1_000])).unwrap();
        assert!((a.rows[0].largest_p / 1e-5 - 1.0).abs() < 0.01);
        let MostNodes::Nodes(n) = a.largest_n else { panic!("{a:?}") };
        assert!((1_000..=1_010).contains(&n.get()), "{n}");
        assert!(a.limits.is_empty() && a.rows[0].slowdowns.is_empty());
        // Section 2.1: below 5% up to p = 1/(10 n).
        assert!(a.rows[0].linear_error.unwrap() < 0.05);
        assert_eq!(answer(&question(0.0, None, &[], &[7])).unwrap().rows[0].linear_error, None);
    }

    /// The finer the grain, the more the same delay costs.
    #[test]
    fn grains_differ_in_what_a_delay_costs() {
        let a = answer(&question(1e-3, Some(10_000), &[10_000, 100_000, 1_000_000], &[1_000_000])).unwrap();
        let rounded: Vec<f64> = a.rows[0].slowdowns.iter().map(|s| (s * 1e9).round() / 1e9).collect();
        assert_eq!(rounded, [2.0, 1.1, 1.01]);
        assert_eq!(NoiseQuestion::usual_nodes().len(), 7);
    }

    #[test]
    fn a_grain_that_is_none_is_refused() {
        for (grain, delay) in [(0, 5), (-1, 5), (5, -1)] {
            let bad = answer(&question(0.1, Some(delay), &[grain], &[1])).unwrap_err();
            assert_eq!((bad.grain.0, bad.delay.0), (grain, delay));
        }
    }
}
