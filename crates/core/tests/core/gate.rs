//! How often a gate is wrong, and how many blocks it needs, by simulation: each gate is measured as the command measures it, look by
//! look, until it is decided or has 100 blocks.

use rand_chacha::ChaCha8Rng;
use tarebench_core::compare::gate::{
    BenchmarkReport, Gate, GateBenchmark, GatePlan, GateSide, GateVerdict, MeasuredBenchmark,
};
use tarebench_core::compare::gate_rule::{report, undecided};
use tarebench_core::statistics::random::{RandomPurpose, generator, normal, unit};
use tarebench_core::statistics::sequential::looks;

const CAP: u32 = 100;
const THRESHOLD: f64 = 0.02;
/// Standard deviation of most kinds of blocks, beside which half of the threshold is little: a bound that is far away is no test.
const SPREAD: f64 = 0.02;

/// What the logarithms of the blocks of equal programs are drawn from; the mean and the middle are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Blocks {
    /// Normal with this standard deviation.
    Normal(f64),
    /// One of ten is ten times as wide.
    Heavy,
    /// Two modes, 10 standard deviations on either side.
    TwoModes,
    /// Autoregressive of order one with this correlation.
    Alike(f64),
}

/// A gate of one benchmark with these blocks so far.
fn gate(logs: Vec<f64>) -> Gate {
    let benchmark = GateBenchmark {
        name: "b".to_owned(),
        command: "./prog".to_owned(),
        threshold: THRESHOLD,
        weight: 1.0,
        measure: None,
        budget: None,
    };
    let plan = GatePlan {
        suite: String::new(),
        base: GateSide::default(),
        head: GateSide::default(),
        benchmarks: vec![benchmark],
        budget: None,
        max_blocks: CAP,
        control: false,
        family_error: 0.01,
    };
    Gate { plan, measured: vec![MeasuredBenchmark { logs, ..MeasuredBenchmark::default() }] }
}

/// Measures it, from the first look at ten blocks on.
fn decided(series: &[f64]) -> BenchmarkReport {
    for look in looks(CAP).into_iter().filter(|n| *n >= 10) {
        let so_far = gate(series[..look as usize].to_vec());
        if undecided(&so_far).is_empty() {
            return report(&so_far).benchmarks.remove(0);
        }
    }
    panic!("it ends at the cap")
}

fn series(rng: &mut ChaCha8Rng, blocks: Blocks) -> Vec<f64> {
    let mut before = normal(rng);
    let mut draw = || match blocks {
        Blocks::Normal(spread) => spread * normal(rng),
        Blocks::Heavy => SPREAD * normal(rng) * if unit(rng) < 0.1 { 10.0 } else { 1.0 },
        Blocks::TwoModes => SPREAD * (normal(rng) + if unit(rng) < 0.5 { 10.0 } else { -10.0 }),
        Blocks::Alike(rho) => {
            before = rho * before + (1.0 - rho * rho).sqrt() * normal(rng);
            SPREAD * before
        }
    };
    (0..CAP).map(|_| draw()).collect()
}

/// So many gates of blocks to which `slower` adds what the change does.
fn gates(
    seed: u64,
    count: u32,
    blocks: Blocks,
    mut slower: impl FnMut(&mut ChaCha8Rng) -> f64,
) -> Vec<BenchmarkReport> {
    let mut rng = generator(seed, RandomPurpose::Noise, 0);
    let mut one = |_| {
        let logs: Vec<f64> = series(&mut rng, blocks).into_iter().map(|log| log + slower(&mut rng)).collect();
        decided(&logs)
    };
    (0..count).map(&mut one).collect()
}

fn count(all: &[BenchmarkReport], verdict: GateVerdict) -> usize {
    all.iter().filter(|b| b.verdict == verdict).count()
}

/// No pass has an interval that reaches the threshold; none that is slower has all of them below half of it.
fn intervals_agree(all: &[BenchmarkReport]) {
    for b in all {
        let mean = b.mean.as_ref().unwrap();
        let shown = [&b.interval, &mean.interval].map(|i| i.clone().unwrap());
        match b.verdict {
            GateVerdict::Pass | GateVerdict::Improvement => {
                assert!(shown.iter().all(|i| i.high < 1.0 + THRESHOLD), "{b:?}");
            }
            GateVerdict::Regression => assert!(shown.iter().any(|i| i.low > 1.0 + THRESHOLD / 2.0), "{b:?}"),
            GateVerdict::Inconclusive | GateVerdict::Failed => {}
        }
        assert!(shown[0].contains(b.ratio.unwrap()) && shown[1].contains(mean.ratio), "{b:?}");
    }
}

/// The largest count that so many gates with this probability have, but for one of a thousand such tests.
fn at_most(gates: u32, probability: f64) -> usize {
    let expected = f64::from(gates) * probability;
    (expected + 3.1 * (expected * (1.0 - probability)).sqrt() + 0.5) as usize
}

const KINDS: [Blocks; 5] =
    [Blocks::Normal(SPREAD), Blocks::Heavy, Blocks::TwoModes, Blocks::Alike(0.3), Blocks::Alike(0.5)];

/// Slower by half of the threshold: a regression in 1% at most. Slower by all of it: a pass in 5% at most.
fn errors_at_the_bounds(count_of_gates: u32) {
    for (seed, blocks) in (1..).zip(KINDS) {
        let half = gates(seed, count_of_gates, blocks, |_| (THRESHOLD / 2.0).ln_1p());
        let whole = gates(seed + 100, count_of_gates, blocks, |_| THRESHOLD.ln_1p());
        let (wrong, passed) = (count(&half, GateVerdict::Regression), count(&whole, GateVerdict::Pass));
        println!("{blocks:?}: of {count_of_gates}, {wrong} false regressions at t/2, {passed} passes at t");
        assert!(wrong <= at_most(count_of_gates, 0.01), "{blocks:?}: {wrong} of {count_of_gates}");
        assert!(passed <= at_most(count_of_gates, 0.05), "{blocks:?}: {passed} of {count_of_gates}");
        intervals_agree(&half);
        intervals_agree(&whole);
    }
}

/// A quarter of the executions is 10% slower.
fn a_share_of_slow_executions(count_of_gates: u32) {
    for (seed, spread) in [(11, 0.001), (12, 0.005), (13, 0.01)] {
        let slow = |rng: &mut ChaCha8Rng| if unit(rng) < 0.25 { 0.1_f64.ln_1p() } else { 0.0 };
        let all = gates(seed, count_of_gates, Blocks::Normal(spread), slow);
        let (passed, found) = (count(&all, GateVerdict::Pass), count(&all, GateVerdict::Regression));
        println!("s.d. {spread}: of {count_of_gates}, {passed} pass, {found} regressions");
        assert!(passed <= at_most(count_of_gates, 0.05) && count(&all, GateVerdict::Improvement) == 0, "{passed}");
        assert!(found * 5 >= all.len() || count_of_gates < 20, "{found}");
        intervals_agree(&all);
    }
}

#[test]
fn errors_at_the_bounds_are_rare() {
    errors_at_the_bounds(4);
}

#[test]
#[ignore = "slow: 1,000 gates of each kind of blocks (make slow)"]
fn errors_at_the_bounds_are_rare_in_a_thousand_gates() {
    errors_at_the_bounds(1_000);
}

#[test]
fn a_share_of_slow_executions_does_not_pass() {
    a_share_of_slow_executions(8);
}

#[test]
#[ignore = "slow: 1,000 gates of each spread (make slow)"]
fn a_share_of_slow_executions_does_not_pass_in_a_thousand_gates() {
    a_share_of_slow_executions(1_000);
}

/// How many blocks changes need, of normal blocks: the table of docs/gate.md.
#[test]
#[ignore = "slow: 300 gates of each change (make slow)"]
fn blocks_that_changes_need() {
    for spread in [0.003, 0.005, 0.01, 0.02] {
        for change in [0.0, 0.01, 0.02, 0.04_f64] {
            let all = gates(21, 300, Blocks::Normal(spread), |_| change.ln_1p());
            let blocks = all.iter().map(|b| f64::from(b.blocks)).sum::<f64>() / 300.0;
            let (passed, found) = (count(&all, GateVerdict::Pass), count(&all, GateVerdict::Regression));
            println!("s.d. {spread}, change {change}: {blocks:.1} blocks; {passed} pass, {found} regressions of 300");
            let expected = if change > 0.01 { found } else { passed };
            assert!(expected >= 280 || spread > 0.01 && change > 0.0 && expected >= 240, "{expected} of 300");
            intervals_agree(&all);
        }
    }
}
