//! Whether a fleet is two groups of machines: a gap in the middle of their levels, wider than it would be by chance.
//!
//! The gap between neighbours, divided by the spread within the two groups on its sides, is compared with the widest
//! one of as many normal numbers, and of as many with an exponential tail, drawn from a seed. Both groups have a share
//! of the machines, so that a few odd machines are no group.

use rand_chacha::ChaCha8Rng;
use std::f64::consts::PI;
use tarebench_core::statistics::random::{RandomPurpose, generator, unit};

/// Fewest machines of a group, and their smallest share of all.
const FEWEST: usize = 2;
const LEAST_SHARE: f64 = 0.15;
/// Probability of two groups where there is one.
const ERROR: f64 = 0.01;
/// Fleets that are drawn.
const DRAWN: u32 = 999;
/// Fewer of large fleets, so that the work stays bounded; still enough for the error.
const DRAWN_OF_MANY: u32 = 199;
const MANY: usize = 1_000;
/// Smallest spread within groups, of logarithms.
const LEAST_SPREAD: f64 = 1e-7;

/// Two groups of machines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FleetSplit {
    /// Of each machine, whether it belongs to the slower group.
    pub slow: Vec<bool>,
    /// Share of single groups with a gap as wide.
    pub p: f64,
}

/// A cut of ascending numbers.
#[derive(Clone, Copy, Debug)]
struct LevelGap {
    below: usize,
    /// Its width in deviations within the groups.
    width: f64,
}

/// The groups, if there are two whose means differ by at least `least`. All numbers must be finite.
pub(crate) fn split(deviations: &[f64], least: f64) -> Option<FleetSplit> {
    let mut sorted = deviations.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gap = widest(&sorted)?;
    let (fast, slow) = sorted.split_at(gap.below);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    if mean(slow) - mean(fast) < least {
        return None;
    }
    let n = sorted.len();
    let drawn = if n > MANY { DRAWN_OF_MANY } else { DRAWN };
    // A long tail has wider gaps.
    let p = share_as_wide(n, drawn, gap.width, 1, normal)?.max(share_as_wide(n, drawn, gap.width, 2, tailed)?);
    let limit = sorted.get(gap.below).copied()?;
    Some(FleetSplit { slow: deviations.iter().map(|d| *d >= limit).collect(), p })
}

/// The widest gap of ascending numbers with enough of them on both sides.
fn widest(sorted: &[f64]) -> Option<LevelGap> {
    let n = sorted.len();
    let fewest = FEWEST.max((LEAST_SHARE * n as f64).ceil() as usize);
    if n < 2 * fewest {
        return None;
    }
    let mean = sorted.iter().sum::<f64>() / n as f64;
    // Sums of what is below each place, and of its squares.
    let (mut sum, mut squares) = (vec![0.0], vec![0.0]);
    let (mut s, mut q) = (0.0, 0.0);
    for v in sorted {
        s += v - mean;
        q += (v - mean).powi(2);
        sum.push(s);
        squares.push(q);
    }
    let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
    let gap = |below: usize| {
        let (low, high) = (below as f64, (n - below) as f64);
        let first = at(&squares, below) - at(&sum, below).powi(2) / low;
        let second = q - at(&squares, below) - (s - at(&sum, below)).powi(2) / high;
        let within = ((first + second).max(0.0) / (n as f64 - 2.0)).sqrt();
        LevelGap { below, width: (at(sorted, below) - at(sorted, below - 1)) / within.max(LEAST_SPREAD) }
    };
    (fewest..=n - fewest).map(gap).max_by(|a, b| a.width.total_cmp(&b.width))
}

/// The share of drawn fleets with a gap as wide; `None` as soon as it cannot be below the error any more.
fn share_as_wide(n: usize, drawn: u32, width: f64, item: u64, draw: fn(&mut ChaCha8Rng) -> f64) -> Option<f64> {
    let mut rng = generator(1, RandomPurpose::Lab, item);
    // The fleet itself is one of them.
    let (mut as_wide, all) = (1.0, f64::from(drawn) + 1.0);
    for _ in 0..drawn {
        let mut fleet: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
        fleet.sort_by(f64::total_cmp);
        if widest(&fleet).is_some_and(|g| g.width >= width) {
            as_wide += 1.0;
        }
        if as_wide >= ERROR * all {
            return None;
        }
    }
    Some(as_wide / all)
}

/// An exponential number with a mean of 1.
fn tailed(rng: &mut ChaCha8Rng) -> f64 {
    -unit(rng).ln()
}

/// A standard normal number (Box and Muller, 1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (-2.0 * unit(rng).ln()).sqrt() * (2.0 * PI * unit(rng)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_groups_are_found() {
        let mut rng = generator(3, RandomPurpose::Noise, 0);
        // Of few machines, the gap must be wider.
        for (fast, slow, noise) in [(5, 5, 1e-3), (7, 3, 1e-3), (50, 50, 3e-3), (80, 20, 3e-3), (15, 85, 3e-3)] {
            let level = |i: usize| if i < fast { 0.0 } else { 0.03 };
            let levels: Vec<f64> = (0..fast + slow).map(|i| level(i) + noise * normal(&mut rng)).collect();
            let Some(found) = split(&levels, 0.005) else { panic!("{fast} and {slow}") };
            assert!((0..fast + slow).all(|i| found.slow[i] == (i >= fast)), "{fast} and {slow}");
            // The same difference, but too small to name.
            assert_eq!(split(&levels, 0.05), None);
        }
    }

    #[test]
    fn one_group_stays_one() {
        let mut rng = generator(4, RandomPurpose::Noise, 0);
        for n in [4, 6, 10, 30] {
            // Normal, flat, and exponential, with differences that are large enough to name.
            let shapes: [fn(&mut ChaCha8Rng) -> f64; 3] = [normal, unit, tailed];
            for (shape, draw) in shapes.into_iter().enumerate() {
                let fleets = (0..100).filter(|_| {
                    let levels: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
                    split(&levels, 0.005).is_some()
                });
                // 1 of 100 is expected; 6 would be a chance of 1 in 2,000.
                let wrong = fleets.count();
                assert!(wrong <= 5, "{n} machines, shape {shape}: {wrong} of 100");
            }
        }
        // Few odd machines are no group, and too few machines are none.
        let mut levels: Vec<f64> = (0..50).map(|i| 1e-4 * f64::from(i)).collect();
        levels.extend([0.5, 0.5, 0.5]);
        assert_eq!(split(&levels, 0.005), None);
        assert_eq!((split(&[], 0.0), split(&[0.0, 1.0, 2.0], 0.0)), (None, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_machine_has_a_group(levels in proptest::collection::vec(-700.0..700.0_f64, 0..12), same in 0..8_usize) {
            let mut levels = levels;
            levels.extend(std::iter::repeat_n(0.5, same));
            if let Some(found) = split(&levels, 0.0) {
                prop_assert_eq!(found.slow.len(), levels.len());
                prop_assert!(found.slow.contains(&true) && found.slow.contains(&false));
            }
        }
    }
}
