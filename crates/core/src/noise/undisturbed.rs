//! G, what a phase takes without noise, by which slowdowns are divided (ICS'05, section 2.4: E(Y)/G). It cannot be measured on a
//! machine that has noise, only chosen, and the choice decides the slowdown.
//!
//! The paper divides by the shortest phase where it can (section 3.2, table 2: 1060 / 668 = 1.6), because the most frequent one
//! already holds the noise that every phase meets. That presumes a constant clock speed: where the speed changes, the shortest
//! phase is one at the highest speed, and all others look slowed down.

use crate::noise::empirical::Distribution;
use serde::{Deserialize, Serialize};

/// What is taken for G.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndisturbedRule {
    /// The shortest phase, as in table 2.
    #[default]
    Minimum,
    /// The most frequent duration ([`mode`]).
    Mode,
    /// The length that the loop was calibrated to.
    Calibration,
}

impl UndisturbedRule {
    pub const ALL: [UndisturbedRule; 3] =
        [UndisturbedRule::Minimum, UndisturbedRule::Mode, UndisturbedRule::Calibration];
}

/// A value for G.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndisturbedGrain {
    pub rule: UndisturbedRule,
    /// Greater than 0.
    pub ns: f64,
}

/// The interval of the most frequent duration holds one of so many phases.
const TYPICAL: u64 = 10;

/// The most frequent duration: the mean of the phases in the shortest interval that holds a tenth of them; of several, the one with
/// most phases, then the lowest. In the unit of the durations. In cycles hardly two phases are equal, so the most frequent value
/// itself would be an accident.
pub fn mode(distribution: &Distribution) -> f64 {
    let counts: Vec<(u64, u64)> = distribution.counts().collect();
    let need = distribution.total().get().div_ceil(TYPICAL);
    let least = distribution.min();
    let mut best: Option<(u64, u64, f64)> = None;
    // Number and sum of the phases from the interval's first duration to before `next`, as excess over the shortest.
    let (mut inside, mut sum, mut next) = (0_u64, 0_u128, 0_usize);
    for (from, count) in &counts {
        while let Some((duration, more)) = counts.get(next).filter(|_| inside < need) {
            inside += more;
            sum += u128::from(duration - least) * u128::from(*more);
            next += 1;
        }
        if inside < need {
            break;
        }
        let last = next.checked_sub(1).and_then(|i| counts.get(i)).map_or(*from, |c| c.0);
        let (width, mean) = (last - from, least as f64 + sum as f64 / inside as f64);
        if best.is_none_or(|(narrowest, most, _)| width < narrowest || (width == narrowest && inside > most)) {
            best = Some((width, inside, mean));
        }
        inside -= count;
        sum -= u128::from(from - least) * u128::from(*count);
    }
    best.map_or(least as f64, |b| b.2)
}

/// All that can serve for G, of phases in units of `unit` ns and a calibrated length in ns: those greater than 0, in the order of
/// [`UndisturbedRule::ALL`].
pub fn undisturbed(distribution: &Distribution, unit: f64, calibrated: Option<f64>) -> Vec<UndisturbedGrain> {
    let length = |rule: UndisturbedRule| match rule {
        UndisturbedRule::Minimum => Some(distribution.min() as f64 * unit),
        UndisturbedRule::Mode => Some(mode(distribution) * unit),
        UndisturbedRule::Calibration => calibrated,
    };
    let grain = |rule| Some(UndisturbedGrain { rule, ns: length(rule).filter(|ns| ns.is_finite() && *ns > 0.0)? });
    UndisturbedRule::ALL.into_iter().filter_map(grain).collect()
}

/// The one of this kind, ns.
pub fn chosen(candidates: &[UndisturbedGrain], rule: UndisturbedRule) -> Option<f64> {
    candidates.iter().find(|c| c.rule == rule).map(|c| c.ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, below, generator};
    use proptest::prelude::*;

    fn counted(durations: &[u64]) -> Distribution {
        Distribution::new(durations.iter().copied()).unwrap()
    }

    #[test]
    fn the_most_frequent_duration() {
        assert_eq!(mode(&counted(&[7])), 7.0);
        assert_eq!(mode(&counted(&[5, 5, 5])), 5.0);
        // A tenth of twenty: two phases; the closest two, however short the others are.
        let mut all: Vec<u64> = (0..18).map(|i| 1_000 + 100 * i).collect();
        all.extend([2_050, 2_051]);
        assert_eq!(mode(&counted(&all)), 2_050.5);
        // Of equal widths, that with most phases.
        assert_eq!(mode(&counted(&[100, 200, 200, 300])), 200.0);
    }

    /// A machine that runs at its highest speed for a hundredth of the time: the shortest phase is none that it usually takes.
    #[test]
    fn on_a_machine_whose_speed_wanders_the_minimum_overstates_the_slowdown() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        let phases: Vec<u64> = (0..20_000)
            .map(|i| {
                let grain = if i % 100 == 0 { 70_000 } else { 100_000 };
                grain + u64::from(below(&mut rng, 300)) + if i % 1_000 == 7 { 20_000 } else { 0 }
            })
            .collect();
        let d = counted(&phases);
        let all = undisturbed(&d, 0.5, Some(50_100.0));
        assert_eq!(all.iter().map(|u| u.rule).collect::<Vec<_>>(), UndisturbedRule::ALL);
        let slowdown = |rule| d.summary().mean * 0.5 / chosen(&all, rule).unwrap();
        assert!(slowdown(UndisturbedRule::Minimum) > 1.4);
        assert!((slowdown(UndisturbedRule::Mode) - 1.0).abs() < 0.005);
        assert!((slowdown(UndisturbedRule::Calibration) - 1.0).abs() < 0.005);
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let rules =
            |d: &Distribution, calibrated| undisturbed(d, 1.0, calibrated).iter().map(|u| u.rule).collect::<Vec<_>>();
        let d = counted(&[0, 10, 10]);
        assert_eq!(rules(&d, None), [UndisturbedRule::Mode]);
        assert_eq!(rules(&d, Some(f64::NAN)), [UndisturbedRule::Mode]);
        assert_eq!(chosen(&undisturbed(&d, 1.0, None), UndisturbedRule::Calibration), None);
    }

    proptest! {
        #[test]
        fn the_mode_is_in_the_narrowest_interval(durations in proptest::collection::vec(0_u64..2_000, 1..300)) {
            let d = counted(&durations);
            let mode = mode(&d);
            let mut sorted = durations;
            sorted.sort_unstable();
            let need = sorted.len().div_ceil(10);
            let narrowest = sorted.windows(need).map(|w| w[need - 1] - w[0]).min().unwrap();
            let holds = |w: &[u64]| w[need - 1] - w[0] == narrowest && mode >= w[0] as f64 && mode <= w[need - 1] as f64;
            prop_assert!(sorted.windows(need).any(holds), "{} {:?}", mode, sorted);
        }
    }
}
