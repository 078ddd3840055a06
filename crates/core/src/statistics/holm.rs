//! Holm's method: which of several hypotheses are rejected, if the probability of rejecting any true one is bounded.
//!
//! The smallest of m p values is compared with error / m, the next one with error / (m - 1), and so on, until one is too large. That
//! rejects all that a comparison of each with error / m rejects, and assumes no more: the p values may depend on each other in
//! any way (Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979).

/// Whether each hypothesis is rejected, in the order of the p values, at this error of the whole family. A p value that is no
/// number counts as 1.
pub fn holm(p_values: &[f64], error: f64) -> Vec<bool> {
    let known = p_values.iter().map(|p| if p.is_nan() { 1.0 } else { *p });
    let mut ascending: Vec<(usize, f64)> = known.enumerate().collect();
    ascending.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut rejected = vec![false; p_values.len()];
    for (rank, (place, p)) in ascending.into_iter().enumerate() {
        if p > error / (p_values.len() - rank) as f64 {
            break;
        }
        if let Some(rejected) = rejected.get_mut(place) {
            *rejected = true;
        }
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;

    #[test]
    fn rejects_step_by_step() {
        // 0.005 ≤ 0.05/4, 0.01 ≤ 0.05/3, but 0.03 > 0.05/2, so that 0.04 is not looked at, though it is below 0.05.
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        // The second one is compared with error / 1.
        assert_eq!(holm(&[0.001, 0.01], 0.01), [true, true]);
        assert_eq!(holm(&[0.006, 0.006], 0.01), [false, false]);
        assert_eq!(holm(&[0.01], 0.01), [true]);
        assert_eq!(holm(&[], 0.01), [false; 0]);
        assert_eq!(holm(&[f64::NAN, 0.001, -f64::NAN, 1.0], 0.01), [false, true, false, false]);
    }

    #[test]
    fn the_family_has_its_error() {
        let mut rng = generator(17, RandomPurpose::Noise, 0);
        let mut draw = |n: usize| (0..n).map(|_| unit(&mut rng)).collect::<Vec<f64>>();
        let wrong = (0..4_000).filter(|_| holm(&draw(10), 0.05).contains(&true)).count();
        // 4,000 · (1 - 0.995^10) = 196 are expected, with a standard deviation of 13.7; the bound is three of them above 200.
        assert!((150..=241).contains(&wrong), "{wrong} of 4,000");
    }

    proptest! {
        #[test]
        fn order_does_not_matter(
            (a, b) in proptest::collection::vec((0.0..0.02_f64, 0..1_000_u32), 0..20)
                .prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
        ) {
            let judged = |all: &[(f64, u32)]| {
                let p: Vec<f64> = all.iter().map(|p| p.0).collect();
                let mut named: Vec<(u64, u32, bool)> =
                    all.iter().zip(holm(&p, 0.05)).map(|((p, name), r)| (p.to_bits(), *name, r)).collect();
                named.sort_unstable();
                named
            };
            prop_assert_eq!(judged(&a), judged(&b));
        }

        #[test]
        fn between_the_single_tests_and_those_of_the_share(p in proptest::collection::vec(0.0..0.1_f64, 1..20)) {
            let share = 0.05 / p.len() as f64;
            for (p, rejected) in p.iter().zip(holm(&p, 0.05)) {
                prop_assert!(rejected || *p > share);
                prop_assert!(!rejected || *p <= 0.05);
            }
        }
    }
}
