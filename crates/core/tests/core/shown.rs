//! Which samples of a long run its page shows.

use crate::common::{run, sample};
use proptest::prelude::*;
use tarebench_core::base::units::Nanos;
use tarebench_core::run::shown::{ShownRun, ShownSeries};
use tarebench_core::sample::data::{Phase, Sample};

fn numbered(series: u32, index: u32) -> Sample {
    Sample { seq: index, ..sample(series, index, Nanos(1_000_000), Vec::new()) }
}

fn indices(series: &ShownSeries) -> Vec<u32> {
    series.samples().iter().map(|s| s.index).collect()
}

proptest! {
    #[test]
    fn what_is_shown_is_bounded_and_evenly_spaced(counted in 0_u32..3_000, most in 2_usize..200, backwards in any::<bool>()) {
        let mut samples: Vec<Sample> = (0..counted).map(|i| numbered(0, i)).collect();
        if backwards {
            samples.reverse();
        }
        let Ok(shown) = ShownRun::with_most(&run(1), samples.as_slice(), most);
        let series = shown.series(0).unwrap();
        let found = indices(series);
        prop_assert_eq!(series.counted(), u64::from(counted));
        prop_assert_eq!(series.is_part(), counted as usize > most);
        prop_assert!(found.len() <= most);
        // No more are left out than the halving needs: a pair more would do.
        prop_assert!(found.len() * 2 + 4 > most.min(counted as usize));
        let step = found.chunks(2).map(|pair| pair[0]).collect::<Vec<_>>();
        prop_assert!(step.windows(2).all(|w| w[1] - w[0] == step[1] - step[0]), "{:?}", step);
        for pair in found.chunks(2) {
            prop_assert!(pair[0] % 2 == 0 && pair.get(1).is_none_or(|second| *second == pair[0] + 1));
        }
    }
}

#[test]
fn each_series_has_its_share_and_warm_ups_are_not_shown() {
    let mut samples: Vec<Sample> = (0..40).map(|i| numbered(0, i)).chain((0..3).map(|i| numbered(1, i))).collect();
    samples.extend((0..5).map(|i| Sample { phase: Phase::Warmup, ..numbered(1, i) }));
    // Of no program of the plan, as a damaged archive may have.
    samples.push(numbered(7, 0));
    let Ok(shown) = ShownRun::with_most(&run(2), samples.as_slice(), 20);
    assert_eq!(indices(shown.series(0).unwrap()), [0, 1, 8, 9, 16, 17, 24, 25, 32, 33]);
    assert_eq!(indices(shown.series(1).unwrap()), [0, 1, 2]);
    assert!(shown.series(2).is_none() && !shown.series(1).unwrap().is_part());
}

/// As in a damaged archive.
#[test]
fn samples_of_one_number_are_bounded_too() {
    let samples = vec![numbered(0, u32::MAX); 100];
    let Ok(shown) = ShownRun::with_most(&run(1), samples.as_slice(), 10);
    assert!(shown.series(0).unwrap().samples().len() <= 10);
}
