//! By how much one series of values lies above another one: the interval of Wilcoxon's rank-sum test.
//!
//! Its bounds are two of the ordered differences of each value of the one and each of the other (Hollander, Wolfe and Chicken,
//! Nonparametric Statistical Methods, section 4.3). It holds for independent values whose distributions differ by a shift only.

use crate::statistics::intervals::{Interval, NoInterval};
use statrs::distribution::{ContinuousCDF, Normal};

/// Most values of a series; of more, as many are taken at equal distances.
const MOST: usize = 300;
/// Most values of a series for which the distribution of the rank sum is computed exactly.
const EXACT: usize = 25;

/// Interval of the shift from `below` to `above`, of at least this level, in the unit of the values, which must be finite.
///
/// # Errors
/// [`NoInterval::TooFew`] if even the smallest and the largest difference do not have the level; counts are of both series together.
pub fn shift_interval(above: &[f64], below: &[f64], level: f64) -> Result<Interval, NoInterval> {
    let used = |all: &[f64]| all.iter().copied().step_by(all.len().div_ceil(MOST).max(1)).collect::<Vec<f64>>();
    let (above, below) = (used(above), used(below));
    let mut differences: Vec<f64> = above.iter().flat_map(|a| below.iter().map(move |b| a - b)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let rank = critical_rank(above.len(), below.len(), (1.0 - level) / 2.0);
    let low = rank.and_then(|rank| differences.get(rank));
    let high = rank.and_then(|rank| differences.iter().rev().nth(rank));
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let too_few = || NoInterval::TooFew { have: small(above.len() + below.len()), need: small(fewest(level)) };
    low.zip(high).map(|(low, high)| Interval { low: *low, high: *high, level }).ok_or_else(too_few)
}

/// Fewest values of both series together, if they are as many of each.
fn fewest(level: f64) -> usize {
    let enough = (1..=EXACT).find(|n| critical_rank(*n, *n, (1.0 - level) / 2.0).is_some());
    2 * enough.unwrap_or(EXACT)
}

/// The largest place from 0 of an ordered difference below which the shift is with at most the probability `tail`.
fn critical_rank(n: usize, m: usize, tail: f64) -> Option<usize> {
    if n.max(m) > EXACT {
        let (a, b) = (n as f64, m as f64);
        let deviation = (a * b * (a + b + 1.0) / 12.0).sqrt();
        let normal = Normal::new(0.0, 1.0).ok()?;
        let rank = (a * b / 2.0 + normal.inverse_cdf(tail) * deviation - 0.5).floor();
        return (rank >= 0.0).then_some(rank as usize);
    }
    let ways = ways(n, m);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let within = |way: &&f64| {
        below += **way;
        // Rounded, so that 1 of 20 orders is 5%.
        below <= tail * all * (1.0 + 1e-9)
    };
    ways.iter().take_while(within).count().checked_sub(1)
}

/// In how many orders of n and m values so many pairs are in the wrong order, from 0 on: the Gaussian binomial coefficients.
fn ways(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    if let Some(first) = ways.first_mut() {
        *first = 1.0;
    }
    // Times (1 - x^(n + i)) / (1 - x^i); all are whole numbers below 2^53.
    for i in 1..=m {
        for at in (n + i..ways.len()).rev() {
            let less = ways.get(at - n - i).copied().unwrap_or(0.0);
            ways.iter_mut().skip(at).take(1).for_each(|way| *way -= less);
        }
        for at in i..ways.len() {
            let more = ways.get(at - i).copied().unwrap_or(0.0);
            ways.iter_mut().skip(at).take(1).for_each(|way| *way += more);
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, normal};

    #[test]
    fn by_hand() {
        // 3 of 5 values: 10 orders.
        assert_eq!(ways(2, 3), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        // 3 and 3 values are in one of 20 orders: 10% at best.
        assert_eq!(
            shift_interval(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.95),
            Err(NoInterval::TooFew { have: 6, need: 8 })
        );
        let i = shift_interval(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.9).unwrap();
        assert_eq!((i.low, i.high), (1.0, 5.0));
        // 3 against 12: 1 of 455 orders has no pair in the wrong order, 4 of 455 have two at most, 7 have three.
        assert_eq!(critical_rank(3, 12, 4.0 / 455.0), Some(2));
        assert_eq!(critical_rank(3, 12, 6.9 / 455.0), Some(3 - 1));
        assert_eq!(critical_rank(3, 12, 7.0 / 455.0), Some(3));
        assert!(shift_interval(&[], &[1.0], 0.95).is_err());
    }

    /// The table of Mann and Whitney for 5% of both sides: 23 for 10 and 10 values, of which the next is out.
    #[test]
    fn the_published_limits() {
        assert_eq!(critical_rank(10, 10, 0.025), Some(23));
        assert_eq!(critical_rank(5, 8, 0.025), Some(6));
        assert_eq!(critical_rank(20, 20, 0.025), Some(127));
        // The approximation is the same within a rank.
        assert!(critical_rank(26, 10, 0.025).unwrap().abs_diff(74) <= 1);
    }

    #[test]
    fn the_shift_is_in_its_interval() {
        let mut rng = generator(51, RandomPurpose::Noise, 0);
        for (n, m) in [(3, 12), (10, 12), (40, 30)] {
            let mut draw = |n: usize, at: f64| (0..n).map(|_| at + normal(&mut rng)).collect::<Vec<f64>>();
            let covers = |_| shift_interval(&draw(n, 1.0), &draw(m, 0.0), 0.95).unwrap().contains(1.0);
            let hits = (0..1_000).map(covers).filter(|c| *c).count();
            assert!(hits >= 930, "{n} and {m} values: {hits} of 1000");
        }
    }
}
