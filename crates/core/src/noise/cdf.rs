//! The cumulative distribution of measured phases with head and tail, in as many points as a picture shows (ICS'05, figures 3
//! to 5).

use crate::noise::empirical::Distribution;
use serde::{Deserialize, Serialize};

/// Points for each power of ten of the odds, at most.
const ODDS_A_DECADE: f64 = 12.0;
/// And of the delay relative to the shortest.
const DELAYS_A_DECADE: f64 = 12.0;

/// A point of a cumulative distribution. Neither share is ever 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CdfPoint {
    /// A duration that was measured, ns.
    pub duration: f64,
    /// Share of the phases that took no longer: the head, down to one phase.
    pub at_most: f64,
    /// Share of the phases that took no less: the tail, the survival function.
    pub at_least: f64,
}

/// The distribution in few points, ascending; `unit` in ns. All of them were measured, the shortest and the longest are among
/// them. An omitted point differs from the point before it by a fifth at most, in its delay relative to the shortest
/// and in the odds of a longer one: a few hundred points, however many phases.
pub fn points(distribution: &Distribution, unit: f64) -> Vec<CdfPoint> {
    let total = distribution.total().get();
    let (min, max) = (distribution.min(), distribution.max());
    let (more_odds, more_delay) = (10_f64.powf(1.0 / ODDS_A_DECADE), 10_f64.powf(1.0 / DELAYS_A_DECADE));
    let before = std::iter::once(total).chain(distribution.steps().iter().map(|s| s.above));
    let (mut odds_from, mut delay_from) = (0.0, 0.0);
    let mut all = Vec::new();
    for (step, at_least) in distribution.steps().iter().zip(before) {
        let at_most = total - step.above;
        // Infinite for the longest.
        let odds = at_most as f64 / step.above as f64;
        let delay = (step.duration - min) as f64;
        if odds < odds_from && delay < delay_from && step.duration != max {
            continue;
        }
        (odds_from, delay_from) = (odds * more_odds, delay * more_delay);
        all.push(CdfPoint {
            duration: step.duration as f64 * unit,
            at_most: at_most as f64 / total as f64,
            at_least: at_least as f64 / total as f64,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(durations: &[u64]) -> Distribution {
        Distribution::new(durations.iter().copied()).unwrap()
    }

    #[test]
    fn few_durations_are_told_exactly() {
        let all = points(&of(&[7, 3, 3, 5]), 2.0);
        let told: Vec<_> = all.iter().map(|p| (p.duration, p.at_most, p.at_least)).collect();
        assert_eq!(told, [(6.0, 0.5, 1.0), (10.0, 0.75, 0.5), (14.0, 1.0, 0.25)]);
        assert_eq!(points(&of(&[9]), 1.0), [CdfPoint { duration: 9.0, at_most: 1.0, at_least: 1.0 }]);
    }

    #[test]
    fn many_phases_make_few_points_with_head_and_tail() {
        // A hundred thousand different durations, the last of them far away.
        let mut durations: Vec<u64> = (0..100_000).map(|i| 1_000_000 + 3 * i).collect();
        durations.push(40_000_000_000);
        let all = points(&of(&durations), 1.0);
        assert!((100..300).contains(&all.len()), "{}", all.len());
        let (first, last) = (all[0], all[all.len() - 1]);
        assert_eq!((first.duration, last.duration), (1_000_000.0, 40_000_000_000.0));
        assert_eq!((first.at_least, last.at_most), (1.0, 1.0));
        // The shortest ten and the longest ten phases are distinguished on log scales.
        assert!(all.iter().filter(|p| p.at_most < 11.0 / 100_001.0).count() >= 5);
        assert!(all.iter().filter(|p| p.at_least < 11.0 / 100_001.0).count() >= 5);
    }

    proptest! {
        #[test]
        fn points_are_of_the_distribution(
            durations in proptest::collection::vec(prop_oneof![0_u64..50, 0_u64..5_000_000_000], 1..400),
        ) {
            let d = of(&durations);
            let all = points(&d, 1.0);
            let n = durations.len() as f64;
            prop_assert!(all.windows(2).all(|w| w[0].duration < w[1].duration && w[0].at_most < w[1].at_most));
            for p in &all {
                let count = |f: &dyn Fn(f64) -> bool| durations.iter().filter(|d| f(**d as f64)).count() as f64 / n;
                prop_assert_eq!(p.at_most, count(&|d| d <= p.duration));
                prop_assert_eq!(p.at_least, count(&|d| d >= p.duration));
            }
            prop_assert_eq!(all[0].duration, d.min() as f64);
            prop_assert_eq!(all[all.len() - 1].duration, d.max() as f64);
            // No step is lost that a picture would show.
            for w in all.windows(2) {
                let odds = |p: &CdfPoint| p.at_most / (1.0 - p.at_most);
                let skipped = d.steps().iter().filter(|s| {
                    let at = s.duration as f64;
                    at > w[0].duration && at < w[1].duration
                });
                for s in skipped {
                    let at_most = 1.0 - s.above as f64 / n;
                    prop_assert!(at_most / (1.0 - at_most) <= odds(&w[0]) * 1.22);
                }
            }
        }
    }
}
