//! EMPv5 on simulated machines, whose daemons are known.

use crate::machine::{Comes, Daemon, Drift, LENGTH, Machine, Noise, SIGMA, Simulated};
use std::collections::BTreeSet;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::clusters::{ClusterPlace, Clusters, clusters};
use tarebench_core::profile::profiling::{DaemonRule, Learned, Lesson, learn};
use tarebench_core::statistics::periods::Periodicity;

/// Samples of the papers' short run.
const SAMPLES: u32 = 800;

/// Disturbs no sample noticeably: part of every machine here.
const HUM: Daemon = Daemon { name: "hum", comes: Comes::Random { rate: 3.0 }, takes: 0.05, varies: 0.3 };

fn rare(name: &'static str, every: f64, takes: f64) -> Daemon {
    Daemon { name, comes: Comes::Clock { every, jitter: 0.01 }, takes, varies: 0.02 }
}

fn machine(daemons: &[Daemon], drift: &[Drift]) -> Machine {
    Machine { daemons: daemons.iter().copied().chain([HUM]).collect(), drift: drift.to_vec(), ..Machine::quiet() }
}

fn numbers(c: &Clusters, place: ClusterPlace) -> BTreeSet<u32> {
    c.halves().filter(|h| h.place == place).map(|h| h.number).collect()
}

/// Found, wrongly found and missed L-samples.
#[derive(Default)]
struct Score {
    hits: usize,
    inventions: usize,
    misses: usize,
}

impl Score {
    fn add(&mut self, found: &BTreeSet<u32>, truth: &BTreeSet<u32>) {
        self.hits += found.intersection(truth).count();
        self.inventions += found.difference(truth).count();
        self.misses += truth.difference(found).count();
    }

    fn precision(&self) -> f64 {
        self.hits as f64 / (self.hits + self.inventions).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

fn all_but(s: &Simulated, without: &[&str]) -> BTreeSet<u32> {
    s.truth.iter().filter(|(name, _)| !without.contains(name)).flat_map(|(_, n)| n).copied().collect()
}

/// L-samples of three daemons over 40 machines; `takes` in standard deviations of the cluster that such machines have without them.
fn score(takes: f64, drift: &[Drift], more: &[Daemon], noise: Noise) -> Score {
    let mut score = Score::default();
    let quiet = |seed| clusters(&Machine { noise, ..machine(&[], drift) }.run(SAMPLES, seed).samples).unwrap().spread;
    let takes = takes * (0..5).map(quiet).sum::<f64>() / 5.0 / (SIGMA * 1e9);
    let daemons = [&[rare("a", 111.8, takes), rare("b", 67.3, takes), rare("c", 253.1, takes)], more].concat();
    for seed in 0..40 {
        let s = Machine { noise, ..machine(&daemons, drift) }.run(SAMPLES, seed);
        let c = clusters(&s.samples).unwrap();
        score.add(&numbers(&c, ClusterPlace::Arm), &all_but(&s, &["hum", "often"]));
    }
    score
}

#[test]
fn l_samples_are_found() {
    let often = |comes| Daemon { name: "often", comes, takes: 10.0, varies: 0.05 };
    type Case<'a> = (&'a str, f64, &'a [Drift], &'a [Daemon], Noise);
    let cases: &[Case] = &[
        ("steady", 5.0, &[], &[], Noise::Normal),
        ("coarse clock", 5.0, &[], &[], Noise::Rounded),
        ("ramp", 5.0, &[Drift::Ramp(100.0)], &[], Noise::Normal),
        ("wave", 5.0, &[Drift::Wave(20.0, 400.0)], &[], Noise::Normal),
        ("walk", 5.0, &[Drift::Walk(0.02)], &[], Noise::Normal),
        ("faster walk", 5.0, &[Drift::Walk(0.1)], &[], Noise::Normal),
        ("fast walk", 5.0, &[Drift::Walk(0.5)], &[], Noise::Normal),
        ("heavy tails", 30.0, &[], &[], Noise::Heavy),
        ("far out", 1000.0, &[Drift::Walk(0.1)], &[], Noise::Normal),
        ("frequent by chance", 30.0, &[], &[often(Comes::Share(0.3))], Noise::Normal),
        ("frequent by the clock", 30.0, &[], &[often(Comes::Clock { every: 3.7, jitter: 0.05 })], Noise::Normal),
    ];
    for (name, takes, drift, more, noise) in cases {
        let s = score(*takes, drift, more, *noise);
        println!("{name}: precision {:.3}, recall {:.3} of {}", s.precision(), s.recall(), s.hits + s.misses);
        assert!(s.precision() >= 0.95 && s.recall() >= 0.95, "{name}: {:.3} {:.3}", s.precision(), s.recall());
    }
}
fn names(l: &Lesson) -> Vec<&str> {
    l.infrequent.iter().map(|i| i.daemon.as_str()).collect()
}

#[test]
fn drift_is_no_daemon() {
    let drifts: [&[Drift]; 10] = [
        &[Drift::Walk(0.05)],
        &[Drift::Walk(0.3)],
        &[Drift::Walk(1.0)],
        &[Drift::Walk(3.0)],
        &[Drift::Ramp(50.0)],
        &[Drift::Ramp(-200.0)],
        &[Drift::Wave(30.0, 300.0)],
        &[Drift::Wave(10.0, 60.0)],
        &[Drift::Step(10.0)],
        &[Drift::Walk(0.2), Drift::Ramp(30.0), Drift::Wave(15.0, 500.0)],
    ];
    let (mut arms, mut told) = (0, 0);
    for (i, drift) in drifts.into_iter().enumerate() {
        for seed in 0..10 {
            let l =
                learn(&machine(&[], drift).run(SAMPLES, 1000 + 100 * i as u64 + seed).samples, DaemonRule::Explained)
                    .unwrap();
            assert!(l.infrequent.is_empty() && l.clusters.shape.frequent.is_none(), "{drift:?}: {:?}", l.infrequent);
            arms += l.clusters.shape.arms;
            told += u32::from(l.clusters.shape.drift.is_some());
        }
    }
    println!("100 series with nothing but drift: {arms} L-samples, drift told in {told}");
    assert!(arms <= 2 && told >= 90, "{arms} {told}");
}

/// Noise whose tails fall with the fourth power only (t with 4 degrees of freedom) makes L-samples of a few far ones,
/// which elapsed times alone cannot distinguish from a daemon's, and names no daemon for them.
#[test]
fn a_steady_machine_has_nothing() {
    for (noise, most) in [(Noise::Normal, 1), (Noise::Rounded, 1), (Noise::Heavy, 10)] {
        let (mut arms, mut told, mut inventions) = (0, 0, 0);
        for seed in 0..100 {
            let mut s = Machine { noise, ..machine(&[], &[]) }.run(SAMPLES, 5000 + seed);
            elsewhere(&mut s);
            let l = learn(&s.samples, DaemonRule::Explained).unwrap();
            let shape = l.clusters.shape;
            arms += u32::from(shape.arms > 0);
            told += u32::from(shape.drift.is_some() || shape.frequent.is_some() || shape.l_remains);
            inventions += l.infrequent.len();
        }
        println!("{noise:?}: {arms} of 100 with L-samples, {told} with drift, {inventions} daemons");
        assert!(arms <= most && told <= 4 && inventions == 0, "{noise:?}: {arms} {told} {inventions}");
    }
}

/// Daemons that run long on another CPU: in some samples, and disturb none.
fn elsewhere(s: &mut Simulated) {
    for (name, every, first) in [("other", 31, 7), ("rarer", 110, 40), ("rarest", 300, 99)] {
        for o in s.samples.iter_mut().skip(first).step_by(every) {
            let Reading::Value(executions) = &mut o.executions else { unreachable!() };
            executions.entry(name.to_owned()).or_default().push(Nanos((5.0 * SIGMA * 1e9) as i64));
        }
    }
}

/// With steal time as variable as the daemons are long, no sample stands out; the daemons do, together.
#[test]
fn what_noise_hides_is_found_by_name() {
    for takes in [1.5, 2.0, 3.0] {
        let daemons = [rare("a", 67.3, takes), rare("b", 42.7, takes)];
        let (mut found, mut inventions, mut alone, mut off, mut of) = (0, 0, 0, 0, 0);
        for seed in 0..40 {
            let machine = Machine { noise: Noise::Stolen, ..machine(&daemons, &[Drift::Walk(0.02)]) };
            let mut s = machine.run(SAMPLES, 7000 + seed);
            elsewhere(&mut s);
            let l = learn(&s.samples, DaemonRule::Explained).unwrap();
            for n in &l.named {
                let truth = s.truth.get(n.daemon.as_str()).filter(|_| n.daemon != "hum");
                found += u32::from(truth.is_some());
                inventions += u32::from(truth.is_none());
                of += truth.map_or(0, BTreeSet::len);
                off += truth.map_or(0, |t| t.symmetric_difference(&n.samples.iter().copied().collect()).count());
                assert!((n.lengthened / n.took - 1.0).abs() < 0.8, "{n:?}");
            }
            alone += l.clusters.shape.arms;
        }
        println!(
            "{takes} s.d.: {found} of 80 by name, {inventions} inventions, {off} of {of} samples off; {alone} L-samples by themselves"
        );
        assert!(inventions == 0 && found == 80 && off * 200 <= of, "{takes}: {inventions} {found} {off} of {of}");
    }
}

#[test]
fn daemons_are_found_with_their_periods() {
    let daemons = [
        rare("clock", 40.3, 30.0),
        rare("rare", 190.0, 8.0),
        Daemon { name: "sleeper", comes: Comes::Sleeps { every: 75.0, jitter: 0.03 }, takes: 100.0, varies: 0.2 },
    ];
    let (mut worst, mut off, mut of, mut inventions, mut errors) = (0.0_f64, 0, 0, 0, Vec::new());
    for seed in 0..40 {
        let s = machine(&daemons, &[Drift::Walk(0.05), Drift::Wave(10.0, 300.0)]).run(SAMPLES, 9000 + seed);
        let l = learn(&s.samples, DaemonRule::Explained).unwrap();
        inventions += names(&l).iter().filter(|n| daemons.iter().all(|d| d.name != **n)).count();
        for (name, every) in [("clock", 40.3), ("rare", 190.0), ("sleeper", 75.0)] {
            let found = l.infrequent.iter().find(|i| i.daemon == name).unwrap_or_else(|| panic!("{seed}: {name}"));
            let spacing = (s.samples[799].start - s.samples[0].start).secs() / 799.0;
            of += 1;
            match found.periodicity {
                Periodicity::Period { period, .. } => {
                    let error = (period.secs() / (every * spacing) - 1.0).abs();
                    errors.push(error);
                    worst = worst.max(error);
                }
                p => {
                    println!("{seed} {name}: {p:?} {:?}", found.samples);
                    off += 1;
                }
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    println!("periods: {off} of {of} not told, median error {:.2e}, worst {worst:.2e}", errors[errors.len() / 2]);
    println!("{inventions} inventions");
    assert_eq!(inventions, 0);
    assert!(worst < 0.02 && off * 20 <= of);
}

/// Frequent ones come in 15% to 40% of the samples, at random or at fixed times, and disturb as much as or more than
/// rare ones.
#[test]
fn frequent_daemons_are_not_infrequent() {
    let comes = [
        Comes::Share(0.15),
        Comes::Share(0.2),
        Comes::Share(0.4),
        Comes::Random { rate: 0.3 },
        Comes::Clock { every: 2.5, jitter: 0.05 },
        Comes::Clock { every: 3.7, jitter: 0.05 },
        Comes::Clock { every: 6.0, jitter: 0.02 },
    ];
    for (i, comes) in comes.into_iter().enumerate() {
        let (mut called, mut seen, mut found) = (0, 0, 0);
        for seed in 0..10 {
            let often = Daemon { name: "often", comes, takes: 12.0, varies: 0.05 };
            let s =
                machine(&[often, rare("rare", 97.0, 60.0)], &[Drift::Walk(0.05)]).run(SAMPLES, 100 * i as u64 + seed);
            let l = learn(&s.samples, DaemonRule::Explained).unwrap();
            called += u32::from(names(&l).contains(&"often"));
            found += u32::from(names(&l).contains(&"rare"));
            seen += u32::from(l.clusters.shape.frequent.is_some());
        }
        println!("case {i}: often called infrequent in {called}, frequent seen in {seen}, rare found in {found} of 10");
        assert_eq!((called, found), (0, 10), "case {i}");
    }
}

/// A neighbour that disturbs half an hour of samples is drift, not fifteen visits of a daemon.
#[test]
fn a_burst_is_a_stretch() {
    let mut s = machine(&[rare("rare", 97.0, 60.0)], &[]).run(SAMPLES, 3);
    for o in s.samples.iter_mut().skip(300).take(15) {
        o.elapsed += Nanos((10.0 * SIGMA * 1e9) as i64);
    }
    let l = learn(&s.samples, DaemonRule::Explained).unwrap();
    assert!(l.clusters.shape.drift.unwrap().stretched >= 13, "{:?}", l.clusters.shape);
    assert_eq!(names(&l), ["rare"]);
    assert_eq!(numbers(&l.clusters, ClusterPlace::Arm).difference(&s.truth["rare"]).count(), 0);
}

#[test]
fn both_runs_together() {
    let daemons = [rare("update", 50.0, 200.0), rare("check", 130.0, 40.0)];
    let short = learn(&machine(&daemons, &[]).run(SAMPLES, 1).samples, DaemonRule::Explained).unwrap();
    let cutoffs = Learned::new(short.clone(), None).profile_cutoffs();
    assert_eq!(cutoffs.iter().map(|c| c.daemon.as_str()).collect::<Vec<_>>(), ["check", "update"]);
    for (c, (takes, every)) in cutoffs.iter().zip([(40.0, 130.0), (200.0, 50.0)]) {
        assert!(c.short > 0.4 * takes * SIGMA * 1e9 && c.short < takes * SIGMA * 1e9);
        let limit = c.task_time_limit.unwrap();
        assert!((limit.secs() / (every * LENGTH / 20.0) - 1.0).abs() < 0.02);
        assert_eq!((c.long, c.for_task_time(limit)), (None, f64::INFINITY));
    }
    // In a long run both come into every sample, and are normal there.
    let often = daemons.map(|d| Daemon { comes: Comes::Random { rate: 3.0 }, ..d });
    let long = learn(&machine(&often, &[]).run(40, 2).samples, DaemonRule::Explained).unwrap();
    let both = Learned::new(short, Some(long)).profile_cutoffs();
    assert!(both.iter().all(|c| c.long.unwrap() > c.short), "{both:?}");
}
