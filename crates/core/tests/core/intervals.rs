//! Intervals and verdicts of whole reports, for series as machines give them: how often they hold.

use crate::common::{run, sample};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Order, RunCount};
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::{Comparison, MeasureReport};
use tarebench_core::run::stopping::{Decision, PrecisionRule, decide, next_decision};
use tarebench_core::sample::data::{Sample, SampleBlock};
use tarebench_core::statistics::limits::Limits;
use tarebench_core::statistics::random::{RandomPurpose, generator, normal, shuffle, unit};
use tarebench_core::statistics::series::Values;

/// What the times of a series do; relative to a mean of 100 ms, in parts of 1%.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Normal,
    Lognormal,
    /// One in five executions is slower by ten standard deviations.
    Bimodal,
    Autoregressive(f64),
    /// By 10 standard deviations, in 5% of the executions.
    Spikes,
    /// So many executions of a block have as much in common as they differ.
    Blocks(u32),
}

const SHAPES: [Shape; 10] = [
    Shape::Normal,
    Shape::Lognormal,
    Shape::Bimodal,
    Shape::Autoregressive(0.3),
    Shape::Autoregressive(0.5),
    Shape::Autoregressive(0.7),
    Shape::Spikes,
    Shape::Blocks(4),
    Shape::Blocks(8),
    Shape::Blocks(16),
];

type Rng = rand_chacha::ChaCha8Rng;

/// Deviations of `n` times, in the order of time.
fn draw(shape: Shape, n: u32, rng: &mut Rng) -> Vec<f64> {
    let mut state = match shape {
        Shape::Autoregressive(rho) => normal(rng) / (1.0 - rho * rho).sqrt(),
        _ => 0.0,
    };
    let mut one = |i: u32| match shape {
        Shape::Normal => normal(rng),
        Shape::Lognormal => (0.5 * normal(rng)).exp(),
        Shape::Bimodal => normal(rng) + if unit(rng) < 0.2 { 10.0 } else { 0.0 },
        Shape::Autoregressive(rho) => {
            state = rho * state + normal(rng);
            state
        }
        Shape::Spikes => normal(rng) + if unit(rng) < 0.05 { 10.0 } else { 0.0 },
        Shape::Blocks(length) => {
            if i.is_multiple_of(length) {
                state = normal(rng);
            }
            state + normal(rng)
        }
    };
    (0..n).map(&mut one).collect()
}

fn samples(shape: Shape, series: u32, deviations: &[f64]) -> Vec<Sample> {
    let block = |i: u32| match shape {
        Shape::Blocks(executions) => Some(SampleBlock { number: i / executions, executions }),
        _ => None,
    };
    let one = |(i, d): (u32, &f64)| {
        let time = Nanos((1e8 * (1.0 + 0.01 * d)) as i64);
        Sample { block: block(i), ..sample(series, i, time, vec![]) }
    };
    (0..).zip(deviations).map(one).collect()
}

fn reported(shape: Shape, n: u32, rng: &mut Rng) -> MeasureReport {
    let mut run = run(1);
    run.plan.seed = 7;
    build(&run, &samples(shape, 0, &draw(shape, n, rng)), None).series[0].et.value().unwrap().clone()
}

/// Of so many series, in which the intervals of the mean and of the median hold what means and medians of such runs are on average.
fn coverage(shape: Shape, n: u32, series: u32) -> [u32; 2] {
    let mut rng =
        generator(100 + u64::from(n), RandomPurpose::Noise, (SHAPES.iter().position(|s| *s == shape)).unwrap() as u64);
    let reports: Vec<MeasureReport> = (0..series).map(|_| reported(shape, n, &mut rng)).collect();
    let truth = |of: fn(&MeasureReport) -> f64| reports.iter().map(of).sum::<f64>() / f64::from(series);
    let (mean, median) = (truth(|r| r.mean), truth(|r| r.median));
    let holds = |found: &MeasureReport| {
        let within =
            |i: &Result<tarebench_core::statistics::intervals::Interval, _>, v| i.as_ref().is_ok_and(|i| i.contains(v));
        [within(&found.mean_interval, mean), within(&found.median_interval, median)]
    };
    let held: Vec<[bool; 2]> = reports.iter().map(holds).collect();
    [0, 1].map(|which| held.iter().filter(|h| h[which]).count() as u32)
}

#[test]
fn intervals_hold_for_series_as_machines_give_them() {
    for shape in [Shape::Normal, Shape::Autoregressive(0.7), Shape::Spikes, Shape::Blocks(8)] {
        for n in [16, 48] {
            let held = coverage(shape, n, 60);
            assert!(held.iter().all(|h| *h >= 51), "{shape:?}, {n} samples: {held:?} of 60");
        }
    }
}

#[test]
#[ignore = "slow: 1,000 series of each kind (make slow)"]
fn intervals_hold_in_93_of_100_series_of_every_kind() {
    let mut short = Vec::new();
    for shape in SHAPES {
        for n in [10, 12, 16, 20, 32, 48, 64, 100] {
            let held = coverage(shape, n, 1_000);
            println!("{shape:?}, {n} samples: mean {} and median {} of 1,000", held[0], held[1]);
            if held.iter().any(|h| *h < 930) {
                short.push((shape, n, held));
            }
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

/// Whether a run of equal programs, whose order in each round is drawn, calls one of them faster or slower than the first. The shape is
/// that of the machine: it has no memory of the program that runs.
fn false_verdict(shape: Shape, programs: u32, rounds: u32, order: Order, rng: &mut Rng) -> bool {
    let mut run = run(programs as usize);
    run.plan.order = order;
    let times = draw(shape, programs * rounds, rng);
    let mut all = Vec::new();
    for (index, round) in (0..).zip(times.chunks(programs as usize)) {
        let mut placed: Vec<u32> = (0..programs).collect();
        if order == Order::Random {
            shuffle(&mut placed, rng);
        }
        let one = |(series, d): (&u32, &f64)| sample(*series, index, Nanos((1e8 * (1.0 + 0.01 * d)) as i64), vec![]);
        all.extend(placed.iter().zip(round).map(one));
    }
    let report = build(&run, &all, None);
    let differs =
        |c: &Comparison| c.ratios.iter().any(|r| r.verdict != Verdict::Undecided) || c.verdict != Verdict::Undecided;
    report.comparisons.iter().any(differs)
}

fn false_verdicts(shape: Shape, programs: u32, rounds: u32, order: Order, runs: u32) -> u32 {
    let mut rng = generator(300 + u64::from(rounds), RandomPurpose::Order, u64::from(programs));
    (0..runs).map(|_| u32::from(false_verdict(shape, programs, rounds, order, &mut rng))).sum()
}

#[test]
fn equal_programs_are_rarely_called_different() {
    for (shape, programs, rounds) in
        [(Shape::Bimodal, 2, 100), (Shape::Autoregressive(0.7), 2, 50), (Shape::Normal, 8, 20)]
    {
        let wrong = false_verdicts(shape, programs, rounds, Order::Random, 60);
        assert!(wrong <= 8, "{shape:?}, {programs} programs, {rounds} rounds: {wrong} of 60");
    }
}

#[test]
#[ignore = "slow: 1,000 runs of each kind (make slow)"]
fn equal_programs_are_called_different_in_5_of_100_runs_at_most() {
    let mut many = Vec::new();
    let kinds = [(Order::Random, 2, 10), (Order::Random, 2, 100), (Order::Random, 10, 12), (Order::Rounds, 2, 30)];
    let mut check = |shape: Shape, (order, programs, rounds): (Order, u32, u32)| {
        let wrong = false_verdicts(shape, programs, rounds, order, 1_000);
        println!("{order:?}, {shape:?}, {programs} programs, {rounds} rounds: {wrong} of 1,000");
        // 5%, and twice the standard deviation of what is counted.
        if wrong > 64 {
            many.push((order, shape, programs, rounds, wrong));
        }
    };
    SHAPES.into_iter().flat_map(|s| kinds.map(|k| (s, k))).for_each(|(shape, kind)| check(shape, kind));
    check(Shape::Bimodal, (Order::Random, 2, 200));
    check(Shape::Autoregressive(0.7), (Order::Random, 2, 200));
    assert!(many.is_empty(), "{many:?}");
}

#[test]
fn a_difference_is_still_seen() {
    let mut rng = generator(310, RandomPurpose::Order, 0);
    let seen = |_| {
        let mut run = run(3);
        run.plan.order = Order::Random;
        let slower = |series: u32| if series == 2 { 1.03 } else { 1.0 };
        let all: Vec<Sample> = (0..3)
            .flat_map(|series| (0..20).map(move |index| (series, index)))
            .map(|(series, index)| {
                sample(series, index, Nanos((1e8 * slower(series) * (1.0 + 0.01 * normal(&mut rng))) as i64), vec![])
            })
            .collect();
        let report = build(&run, &all, None);
        let verdict = |series| report.comparisons.iter().find(|c| c.series == series).map(|c| c.verdict);
        verdict(2) == Some(Verdict::Slower) && verdict(1) == Some(Verdict::Undecided)
    };
    let found = (0..40).map(seen).filter(|s| *s).count();
    assert!(found >= 34, "3% at a spread of 1%, 20 rounds: {found} of 40");
}

/// The mean that the report prints.
fn mean_of(run: &Run, times: &[f64]) -> f64 {
    let passed = Values::new(times.iter().copied()).unwrap();
    let limits = Limits::new(&passed, run.plan.sigma);
    let kept: Vec<f64> = times.iter().copied().filter(|t| limits.is_none_or(|l| l.holds(*t))).collect();
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// A series that goes on until its precision is reached: how many samples it took, and whether its mean is as near to that of many.
fn stopped(precision: f64, draw: &mut dyn FnMut() -> f64, truth: f64) -> (u32, bool) {
    let runs = RunCount::Adaptive { precision, min: 10, max: 500 };
    let mut run = run(1);
    run.plan.runs = runs;
    let (mut rule, mut times, mut taken, mut due) = (PrecisionRule::default(), Vec::new(), 0, 0);
    loop {
        let time = Nanos((1e8 * draw()) as i64);
        rule.add(taken, time, Some(time));
        times.push(time.as_f64());
        taken += 1;
        if taken >= due || taken == 500 {
            due = next_decision(taken as usize) as u32;
            if decide(&run.plan, runs, 0, &rule, taken) != Decision::Continue {
                let mean = mean_of(&run, &times);
                return (taken, (mean / (1e8 * truth) - 1.0).abs() <= precision);
            }
        }
    }
}

/// Normal times of 2%, those of two modes of which 30% are 5% slower, and times that resemble each other.
fn precise(kind: u32, series: u32) -> (u32, u32) {
    let mut rng = generator(320, RandomPurpose::Noise, u64::from(kind));
    let one = |_| {
        let mut state = normal(&mut rng);
        let mut draw = || match kind {
            0 => 1.0 + 0.02 * normal(&mut rng),
            1 => 1.0 + 0.005 * normal(&mut rng) + if unit(&mut rng) < 0.3 { 0.05 } else { 0.0 },
            _ => {
                state = 0.5 * state + 0.75_f64.sqrt() * normal(&mut rng);
                1.0 + 0.02 * state
            }
        };
        stopped(0.01, &mut draw, if kind == 1 { 1.015 } else { 1.0 })
    };
    let all: Vec<(u32, bool)> = (0..series).map(one).collect();
    (all.iter().map(|s| s.0).sum::<u32>() / series, all.iter().filter(|s| s.1).count() as u32)
}

#[test]
fn a_precision_is_reached() {
    for kind in 0..3 {
        let (samples, within) = precise(kind, 30);
        assert!(within >= 24 && samples < 250, "{kind}: {within} of 30, {samples} samples");
    }
}

#[test]
#[ignore = "slow: 1,000 series of each kind (make slow)"]
fn a_precision_is_reached_in_90_of_100_series() {
    for kind in 0..3 {
        let (samples, within) = precise(kind, 1_000);
        println!("kind {kind}: {within} of 1,000 are within 1%, after {samples} samples");
        assert!(within >= 900);
    }
}
