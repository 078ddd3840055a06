//! Histories whose truth is known: how often a change is invented, and how often one is found.

use crate::compare::change_points::levels;
use crate::compare::positions::{BuildPair, positions};
use crate::statistics::random::{RandomPurpose, below, generator, normal, unit};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Deviation between builds in all of these histories: 0.5%.
const BETWEEN: f64 = 0.005;
/// What a gate's own blocks show.
const OF_BLOCKS: f64 = 0.001;
/// Builds for which a layout lasts.
const LASTS: usize = 5;

/// How builds differ although the program does not change, in units of [`BETWEEN`].
#[derive(Clone, Copy, Debug)]
enum Unchanged {
    Normal,
    /// Student's t with 3 degrees of freedom, its middle half as wide as that of the normal one.
    Heavy,
    /// One build in 20 is off by 20 deviations.
    Outliers,
    /// Each build resembles the one before: autoregressive, with a correlation of 0.7.
    Wandering,
    /// Every five builds share a layout, whose effect is normal with this deviation, beside what is independent.
    Layouts(f64),
    /// Five builds in a row are off by so much, anywhere, ends included.
    Excursion(f64),
    /// Two layouts that follow each other every five builds, so much apart.
    Alternating(f64),
    /// Every five builds have one of two layouts by chance, so much apart.
    TwoModes(f64),
}

const KINDS: [Unchanged; 10] = [
    Unchanged::Normal,
    Unchanged::Heavy,
    Unchanged::Outliers,
    Unchanged::Wandering,
    Unchanged::Layouts(1.0),
    Unchanged::Layouts(2.0),
    Unchanged::Layouts(4.0),
    Unchanged::Excursion(4.0),
    Unchanged::Excursion(20.0),
    Unchanged::Alternating(4.0),
];

fn drawn(rng: &mut ChaCha8Rng, kind: Unchanged, n: usize) -> Vec<f64> {
    let first = below(rng, LASTS as u32) as usize;
    let blocks: Vec<f64> = (0..n / LASTS + 2).map(|_| normal(rng)).collect();
    let from = below(rng, (n + LASTS) as u32) as usize;
    let sign = normal(rng).signum();
    let mut before = normal(rng);
    let mut build = |i: usize| {
        let independent = normal(rng);
        let block = (i + first) / LASTS;
        match kind {
            Unchanged::Normal => independent,
            Unchanged::Heavy => StudentsT::new(0.0, 1.0, 3.0).unwrap().inverse_cdf(unit(rng)) / 1.134,
            Unchanged::Outliers => match unit(rng) {
                u if u < 0.025 => independent - 20.0,
                u if u < 0.05 => independent + 20.0,
                _ => independent,
            },
            Unchanged::Wandering => {
                before = 0.7 * before + 0.51_f64.sqrt() * independent;
                before
            }
            Unchanged::Layouts(spread) => independent + spread * blocks[block],
            Unchanged::Excursion(height) if (from..from + LASTS).contains(&(i + LASTS)) => independent + sign * height,
            Unchanged::Excursion(_) => independent,
            Unchanged::Alternating(apart) => independent + apart * (block % 2) as f64,
            Unchanged::TwoModes(apart) if blocks[block] > 0.0 => independent + apart,
            Unchanged::TwoModes(_) => independent,
        }
    };
    (0..n).map(&mut build).collect()
}

/// Where changes are found among `n` builds, each measured against one base.
fn found(rng: &mut ChaCha8Rng, kind: Unchanged, n: usize, truth: impl Fn(usize) -> f64) -> Vec<usize> {
    let noise = drawn(rng, kind, n);
    let pair = |(i, noise): (usize, &f64)| BuildPair {
        base: 0,
        head: i + 1,
        log: truth(i) + BETWEEN * noise + OF_BLOCKS * normal(rng),
        error: OF_BLOCKS,
    };
    let pairs: Vec<BuildPair> = noise.iter().enumerate().map(pair).collect();
    let order: Vec<usize> = (1..=n).collect();
    let series = positions(n + 1, 0, &pairs, &order, 0.0).series(0, &order);
    levels(&series.points, series.shared.as_deref()).changes.iter().map(|c| c.at).collect()
}

/// Of so many histories of a kind, with 6 to 60 builds each, how many show a change.
fn invented(kind: Unchanged, histories: usize) -> usize {
    let mut rng = generator(41, RandomPurpose::Noise, 0);
    let shows = |i: usize| !found(&mut rng, kind, 6 + i % 55, |_| 0.0).is_empty();
    (0..histories).map(shows).filter(|f| *f).count()
}

/// Of so many histories of independent builds, with a step of this height anywhere in the middle third, how many show it within three
/// builds of its place.
fn hits(kind: Unchanged, n: usize, height: f64, histories: usize) -> usize {
    let mut rng = generator(42, RandomPurpose::Noise, n as u64);
    let hit = |i: usize| {
        let at = n / 3 + below(&mut rng, (n / 3) as u32) as usize;
        let height = if i & 1 == 0 { height } else { -height };
        found(&mut rng, kind, n, |i| if i < at { 0.0 } else { height }).iter().any(|f| f.abs_diff(at) <= 3)
    };
    (0..histories).map(hit).filter(|found| *found).count()
}

/// Of 1%, 3 of 300 are expected, with a standard deviation of 1.7.
#[test]
fn unchanged_histories_show_no_change() {
    for kind in KINDS {
        let with = invented(kind, 300);
        assert!(with <= 6, "{kind:?}: {with} of 300");
    }
}

#[test]
fn a_step_of_four_deviations_is_found() {
    let found = hits(Unchanged::Normal, 40, 0.02, 100);
    assert!(found >= 95, "{found} of 100");
}

/// Every kind, 1,000 histories each. Two layouts that change by chance often look as a step does: no analysis tells these from a step.
#[test]
#[ignore = "slow: 10,000 histories and 3,000 steps (make slow)"]
fn histories_of_every_kind() {
    for kind in KINDS {
        let with = invented(kind, 1_000);
        println!("{kind:?}: {with} of 1,000 unchanged histories show a change");
        assert!(with <= 10, "{kind:?}: {with} of 1,000");
    }
    let with = invented(Unchanged::TwoModes(4.0), 1_000);
    println!("{:?}: {with} of 1,000 unchanged histories show a change", Unchanged::TwoModes(4.0));
    assert!(with <= 60, "{with} of 1,000");
    for (n, least) in [(24, 550), (30, 920), (60, 990)] {
        let found = hits(Unchanged::Normal, n, 0.02, 1_000);
        println!("steps of 2% among {n} builds: {found} of 1,000 found");
        assert!(found >= least, "{n} builds: {found} of 1,000");
    }
}
