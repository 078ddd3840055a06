//! Programs whose class is known, with and without a step such as a cache's, as they are measured: five executions of each size.

use super::{ComplexityWarning, Expectation, SizePoint, analyse};
use crate::statistics::growth::Growth;
use crate::statistics::random::{RandomPurpose, generator, normal};
use rand_chacha::ChaCha8Rng;

/// How a program's time grows: its class, and factors from sizes on.
#[derive(Clone, Copy, Debug)]
struct SimulatedGrowth {
    growth: Growth,
    steps: &'static [(f64, f64)],
}

const LINEAR: SimulatedGrowth = SimulatedGrowth { growth: Growth::Linear, steps: &[] };
/// A cache of 20,000 elements, beyond which each takes 1.3 times as long.
const CACHE: &[(f64, f64)] = &[(20_000.0, 1.3)];

impl SimulatedGrowth {
    fn with(growth: Growth, steps: &'static [(f64, f64)]) -> SimulatedGrowth {
        SimulatedGrowth { growth, steps }
    }

    /// 1 ms, and 100 ms for the largest of the sizes without the steps.
    fn time(&self, size: f64) -> f64 {
        let factor: f64 = self.steps.iter().filter(|(from, _)| size > *from).map(|(_, factor)| factor).product();
        1e6 + 1e8 * factor * (self.growth.log_at(size) - self.growth.log_at(1e6)).exp()
    }

    /// Ten sizes from 1,000 to 1,000,000; executions differ by this noise, and sizes by 1% besides.
    fn measured(&self, rng: &mut ChaCha8Rng, noise: f64) -> Vec<SizePoint> {
        const RUNS: u32 = 5;
        let point = |i: i32| {
            let size = (1e3 * 1000_f64.powf(f64::from(i) / 9.0)).round();
            let truth = self.time(size) * (1.0 + 0.01 * normal(rng));
            let times: Vec<f64> = (0..RUNS).map(|_| truth * (1.0 + noise * normal(rng))).collect();
            let mean = times.iter().sum::<f64>() / f64::from(RUNS);
            let squares: f64 = times.iter().map(|t| (t - mean).powi(2)).sum();
            SizePoint { size, runs: RUNS, mean, std_dev: Some((squares / f64::from(RUNS - 1)).sqrt()) }
        };
        (0..10).map(point).collect()
    }

    /// What `--expect CLASS` says of so many series: how often it holds, is rejected, is open.
    fn expects(&self, class: Growth, noise: f64, series: usize) -> [usize; 3] {
        let mut rng = generator(23, RandomPurpose::Noise, 0);
        let mut counts = [0; 3];
        for _ in 0..series {
            let found = analyse(&self.measured(&mut rng, noise)).unwrap().expects(class);
            let place = match found {
                Expectation::Holds => 0,
                Expectation::Rejected => 1,
                Expectation::Open => 2,
            };
            counts[place] += 1;
        }
        counts
    }
}

#[test]
fn the_step_of_a_cache_is_named() {
    let mut rng = generator(24, RandomPurpose::Noise, 0);
    let found = analyse(&SimulatedGrowth::with(Growth::Linear, CACHE).measured(&mut rng, 0.01)).unwrap();
    assert_eq!((found.agreeing.as_slice(), found.simplest()), (&[Growth::Linear][..], Growth::Linear));
    let step = found.step(Growth::Linear).unwrap();
    assert!((step.ratio - 1.3).abs() < 0.05 && step.after < 20_000.0 && step.from > 20_000.0, "{step:?}");
    assert!((step.factor - 100.0).abs() < 5.0 && (step.constant - 1e6).abs() < 1e5, "{step:?}");
    assert!(!found.warnings.contains(&ComplexityWarning::NoClass));
    // Its curve has the step.
    let near = |size: f64| found.curve.iter().min_by(|a, b| (a.size - size).abs().total_cmp(&(b.size - size).abs()));
    let (before, beyond) = (near(10_000.0).unwrap(), near(1e6).unwrap());
    assert!((beyond.time - 1e6) / beyond.size > 1.2 * (before.time - 1e6) / before.size, "{before:?} {beyond:?}");
    assert!(found.curve.iter().all(|p| p.low <= p.time && p.time <= p.high));
    // Without one there is none to name.
    let plain = analyse(&LINEAR.measured(&mut rng, 0.01)).unwrap();
    assert!(plain.step(Growth::Linear).is_none() && plain.class(Growth::Linear).unwrap().fits == Some(true));
}

/// Two caches and a third step are no class with one step: the data cannot tell.
#[test]
fn where_no_class_fits_nothing_is_rejected() {
    let steps = &[(3_000.0, 1.5), (20_000.0, 0.5), (200_000.0, 2.0)];
    let [_, rejected, open] = SimulatedGrowth::with(Growth::Linear, steps).expects(Growth::Linear, 0.01, 20);
    assert_eq!((rejected, open), (0, 20));
}

/// Noises, and of how many of 100 series a class must be told from all others. With 5%, n² and n² log n may both agree.
const NOISES: [(f64, usize); 3] = [(0.003, 95), (0.02, 95), (0.05, 80)];

/// A true class is hardly ever rejected, and n is rejected of programs that grow faster.
fn decide(series: usize) {
    let all = |growths: [Growth; 3]| {
        growths.into_iter().flat_map(|g| [&[][..], CACHE].map(|steps| SimulatedGrowth::with(g, steps)))
    };
    for (noise, least) in NOISES {
        for program in all([Growth::Linear, Growth::LinearLog, Growth::Quadratic]) {
            let [holds, rejected, open] = program.expects(program.growth, noise, series);
            println!("{program:?}, noise {noise}, expected: {holds} hold, {rejected} rejected, {open} open");
            assert!(holds * 100 >= least * series, "{program:?}, {noise}: {holds} hold");
            assert!(rejected <= 1 + series / 100, "{program:?}, {noise}: {rejected} rejected");
        }
        for program in all([Growth::LinearLog, Growth::ThreeHalves, Growth::Quadratic]) {
            let [holds, rejected, open] = program.expects(Growth::Linear, noise, series);
            println!("{program:?}, noise {noise}, n expected: {holds} hold, {rejected} rejected, {open} open");
            assert!(rejected * 100 >= 95 * series, "{program:?}, {noise}: {rejected} rejected");
            assert!(holds <= series / 100, "{program:?}, {noise}: {holds} hold");
        }
    }
}

#[test]
fn classes_are_told_apart_with_and_without_a_step() {
    decide(40);
}

#[test]
#[ignore = "slow: 1,000 series of each of 36 programs (make slow)"]
fn classes_of_many_series_are_told_apart() {
    decide(1_000);
}
