//! Sources of variance that are put in, and found again.

use super::*;
use crate::data::dual::tests::printed;
use crate::data::inc::computing;
use crate::data::test_samples::{head, program, sample, series};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::account::{Account, Share};
use tarebench_core::sample::counters::{CounterEvent, EventCount};
use tarebench_core::sample::data::MetricReading;
use tarebench_core::statistics::random::below;
use tarebench_core::statistics::random::normal;

fn ledger(on_cpu: i64, interrupts: i64, stolen: i64, preempted: u64) -> Ledger {
    let none = Share::default();
    Ledger {
        tasks: 1,
        on_cpu: Share { time: Nanos(on_cpu), count: 1 },
        stolen: Reading::Value(Share { time: Nanos(stolen), count: 1 }),
        interrupts: BTreeMap::from([("timer".to_owned(), Share { time: Nanos(interrupts), count: 9 })]),
        softirqs: BTreeMap::new(),
        runtime: Nanos(on_cpu),
        preempted: Share { time: Nanos(0), count: preempted },
        woken: none,
        preemptors: Vec::new(),
        blocked: BTreeMap::new(),
    }
}

/// Standard deviations of what a sample is made of, ns.
#[derive(Clone, Copy, Default)]
struct Sources {
    own: f64,
    interrupts: f64,
    stolen: f64,
    preemption: f64,
}

fn made_of(rng: &mut ChaCha8Rng, index: u32, sources: Sources) -> Sample {
    let preempted = u64::from(below(rng, 7));
    let net = 1e9 + sources.own * normal(rng) + sources.preemption * preempted as f64;
    let interrupts = (5e7 + sources.interrupts * normal(rng)) as i64;
    let stolen = (5e7 + sources.stolen * normal(rng)) as i64;
    let pt = net as i64 + interrupts + stolen;
    let mut s = sample(index, f64::from(index) * 2.0, pt + 1000, pt);
    s.environment_padding = below(rng, 4096);
    s.account = Reading::Value(Account {
        exec: Nanos(0),
        end: Nanos(pt),
        outside: ledger(0, 0, 0, 0),
        main: ledger(pt, interrupts, stolen, preempted),
        others: ledger(0, 0, 0, 0),
        interrupts_charged: true,
        stolen_charged: true,
        lost: 0,
        open: 0,
    });
    s
}

fn many(seed: u64, n: u32, sources: Sources) -> Vec<Sample> {
    let mut rng = generator(seed, RandomPurpose::Order, 0);
    (0..n).map(|i| made_of(&mut rng, i, sources)).collect()
}

fn row_of(samples: &[Sample]) -> VarianceRow {
    let (p, h) = (program("INC1", Some(1.0)), head("a"));
    report(&[series("", &p, &h, samples)]).unwrap().rows.remove(0)
}

fn share(split: &VarianceSplit, cause: VarianceCause) -> KnownShare {
    split.shares.iter().find(|s| s.cause == cause).unwrap().share.value().unwrap().clone()
}

fn sum(split: &VarianceSplit) -> f64 {
    split.shares.iter().filter_map(|s| s.share.value()).map(|s| s.share).sum()
}

#[test]
fn sources_are_recovered() {
    // Variances, in 10^12 ns²: own 1, interrupts 4, stolen 9, preemptions 4 · 1.5² = 9 (0 to 6 of them: variance 4). Of 23.
    let sources = Sources { own: 1e6, interrupts: 2e6, stolen: 3e6, preemption: 1.5e6 };
    let row = row_of(&many(61, 600, sources));
    for (cause, truth) in [
        (VarianceCause::Interrupts, 4.0 / 23.0),
        (VarianceCause::Steal, 9.0 / 23.0),
        (VarianceCause::Preemptions, 9.0 / 23.0),
        (VarianceCause::Layout, 0.0),
        (VarianceCause::Unexplained, 1.0 / 23.0),
    ] {
        let s = share(&row.all, cause);
        let interval = s.interval.clone().unwrap();
        assert!((s.share - truth).abs() < 0.08, "{cause:?}: {s:?}, expected {truth}");
        assert!(interval.contains(s.share) && interval.half_width() < 0.12, "{cause:?}: {s:?}");
    }
    assert!((sum(&row.all) - 1.0).abs() < 1e-9, "{row:?}");
    assert_eq!(share(&row.all, VarianceCause::Steal).origin, ShareOrigin::Exact);
    // The same in every sample.
    assert_eq!(share(&row.all, VarianceCause::Faults).origin, ShareOrigin::Constant);
    let absent = |cause| row.all.shares.iter().find(|s| s.cause == cause).unwrap().share.absent().is_some();
    assert!(absent(VarianceCause::ClockSpeed) && absent(VarianceCause::PagePlacement));
    assert_eq!(row.all.shares.iter().map(|s| s.cause).collect::<Vec<_>>(), VarianceCause::ALL);
    assert!((row.all.std_dev - 23_f64.sqrt() * 1e6).abs() < 5e5 && (row.all.net_std_dev.unwrap() - 3.16e6).abs() < 4e5);
    assert!((row.all.charged_std_dev.unwrap() - 13_f64.sqrt() * 1e6).abs() < 4e5);
}

#[test]
fn intervals_hold_the_truth() {
    let sources = Sources { own: 2e6, interrupts: 2e6, stolen: 0.0, preemption: 0.0 };
    let covered = (0..40_u64).filter(|seed| {
        let samples = many(700 + *seed, 60, sources);
        let all: Vec<&Sample> = samples.iter().collect();
        let split = split(&all, true, 0).unwrap();
        assert!((sum(&split) - 1.0).abs() < 1e-9);
        share(&split, VarianceCause::Interrupts).interval.unwrap().contains(0.5)
    });
    let covered = covered.count();
    assert!(covered >= 34, "85% at least, 94% usually: {covered} of 40");
}

#[test]
fn the_parts_are_those_of_the_account() {
    for (source, interrupts_charged, stolen_charged) in [
        (PtSource::Wait4, true, true),
        (PtSource::Wait4, true, false),
        (PtSource::Wait4, false, false),
        (PtSource::TaskClock, false, false),
    ] {
        let mut s = many(62, 1, Sources::default()).remove(0);
        if let (Reading::Value(a), Reading::Value(p)) = (&mut s.account, &mut s.process_times) {
            (a.interrupts_charged, a.stolen_charged, p.source) = (interrupts_charged, stolen_charged, source);
            a.outside = ledger(500, 30, 20, 0);
        }
        let (interrupts, stolen) = charged(&s).unwrap();
        let both = interrupts + stolen.unwrap();
        assert_eq!(both, s.account.value().unwrap().charged(source).as_f64(), "{source:?}");
    }
}

#[test]
fn what_is_not_charged_is_no_part_of_it() {
    let mut samples = many(63, 60, Sources { own: 1e6, interrupts: 1e6, ..Sources::default() });
    for s in &mut samples {
        if let Reading::Value(a) = &mut s.account {
            (a.interrupts_charged, a.stolen_charged) = (false, false);
        }
    }
    let row = row_of(&samples);
    let interrupts = share(&row.all, VarianceCause::Interrupts);
    assert_eq!((interrupts.share, interrupts.origin, interrupts.interval), (0.0, ShareOrigin::NotCharged, None));
    assert!((sum(&row.all) - 1.0).abs() < 1e-9);
    // Stolen time is the same in all.
    assert_eq!(share(&row.all, VarianceCause::Steal).origin, ShareOrigin::Constant);
}

#[test]
fn without_an_account_the_rest_is_divided() {
    let mut samples = many(64, 200, Sources { own: 1e6, preemption: 1e6, ..Sources::default() });
    for s in &mut samples {
        let preempted = s.account.value().map_or(0, |a| a.main.preempted.count);
        s.account = Reading::Absent(Absent::NoPermission("CAP_BPF".to_owned()));
        if let Reading::Value(u) = &mut s.usage {
            u.involuntary_switches = preempted;
        }
    }
    let row = row_of(&samples);
    let interrupts = row.all.shares.iter().find(|s| s.cause == VarianceCause::Interrupts).unwrap();
    assert_eq!(interrupts.share.absent(), Some(&Absent::NoPermission("CAP_BPF".to_owned())));
    assert!((share(&row.all, VarianceCause::Preemptions).share - 0.8).abs() < 0.1, "{row:?}");
    assert_eq!((row.all.net_std_dev, row.all.charged_std_dev), (None, None));
    assert!((sum(&row.all) - 1.0).abs() < 1e-9);
}

#[test]
fn clock_speed_and_drift() {
    let mut rng = generator(65, RandomPurpose::Order, 0);
    // The clock wanders by 10% in waves of 100 samples; without counters that is drift.
    let mut wandering = |i: u32| {
        let length = 1.0 + 0.1 * (f64::from(i) / 16.0).sin();
        let pt = (3e8 * length + 1e6 * normal(&mut rng)) as i64;
        let mut s = sample(i, f64::from(i), pt + 1000, pt);
        s.environment_padding = 100 + i % 3;
        (s, 300_000_000_u64)
    };
    let both: Vec<(Sample, u64)> = (0..300).map(&mut wandering).collect();
    let plain: Vec<Sample> = both.iter().map(|(s, _)| s.clone()).collect();
    let row = row_of(&plain);
    assert!(share(&row.all, VarianceCause::Drift).share > 0.9, "{row:?}");
    let count = |(s, cycles): &(Sample, u64)| {
        let count = |count| Reading::Value(EventCount::complete(count, Nanos(1)));
        let counters = [(CounterEvent::CyclesUser, count(*cycles)), (CounterEvent::CyclesKernel, count(0))];
        Sample { counters: Reading::Value(counters.into_iter().collect()), ..s.clone() }
    };
    let counted: Vec<Sample> = both.iter().map(count).collect();
    let row = row_of(&counted);
    // Both say it, and so divide it.
    let (speed, drift) = (share(&row.all, VarianceCause::ClockSpeed), share(&row.all, VarianceCause::Drift));
    assert!(speed.share > 0.4 && speed.share + drift.share > 0.9, "{row:?}");
}

#[test]
fn halves_say_what_an_execution_shares() {
    let mut rng = generator(66, RandomPurpose::Order, 0);
    // Shared by both halves: variance of their sum (2 · 1)² = 4; of each alone: 1 + 1. Two thirds are between executions.
    let mut execution = |i: u32| {
        let shared = 1e-3 * normal(&mut rng);
        printed(i, 0.5 + shared + 1e-3 * normal(&mut rng), 0.5 + shared + 1e-3 * normal(&mut rng))
    };
    let samples: Vec<Sample> = (0..400).map(&mut execution).collect();
    let between = row_of(&samples).all.between.unwrap();
    assert!((between.share - 2.0 / 3.0).abs() < 0.1 && between.interval.unwrap().half_width() < 0.15);
    let mut silent = samples;
    silent.iter_mut().for_each(|s| s.metrics = Vec::<MetricReading>::new());
    assert_eq!(row_of(&silent).all.between, None);
}

#[test]
fn outliers_are_a_split_of_their_own() {
    let mut samples = many(67, 120, Sources { own: 1e6, interrupts: 1e6, ..Sources::default() });
    // One sample in which interrupts took a second.
    let mut rng = generator(68, RandomPurpose::Order, 0);
    let mut bad = made_of(&mut rng, 50, Sources { own: 1e6, ..Sources::default() });
    if let (Reading::Value(a), Reading::Value(p)) = (&mut bad.account, &mut bad.process_times) {
        a.main.interrupts.insert("disk".to_owned(), Share { time: Nanos(1_000_000_000), count: 1 });
        if let Reading::Value(t) = &mut p.wait4 {
            t.total += Nanos(1_000_000_000);
        }
    }
    samples[50] = bad;
    let row = row_of(&samples);
    assert!(share(&row.all, VarianceCause::Interrupts).share > 0.99 && row.removed == 1, "{row:?}");
    let trimmed = row.trimmed.unwrap();
    assert!((share(&trimmed, VarianceCause::Interrupts).share - 0.5).abs() < 0.2, "{trimmed:?}");
}

#[test]
fn gaps() {
    let (p, h) = (program("INC1", Some(1.0)), head("a"));
    let few = many(69, 29, Sources { own: 1e6, ..Sources::default() });
    let gap = StudyGap::TooFewSamples { label: "INC1".to_owned(), found: 29, needed: 30 };
    assert_eq!(report(&[series("", &p, &h, &few)]), Err(gap));
    let same: Vec<Sample> = (0..40).map(|i| sample(i, f64::from(i), 10, 9)).collect();
    assert!(matches!(report(&[series("", &p, &h, &same)]), Err(StudyGap::Lacking { .. })));
    // A few lost accounts cost these samples, not the account.
    let mut some = many(70, 60, Sources { own: 1e6, interrupts: 1e6, ..Sources::default() });
    if let Reading::Value(a) = &mut some[3].account {
        a.lost = 1;
    }
    let row = row_of(&some);
    assert_eq!((row.left_out, row.all.samples), (1, 59));
    assert_eq!(share(&row.all, VarianceCause::Interrupts).origin, ShareOrigin::Exact);
}

#[test]
fn presets() {
    assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
    assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
    let paper = plan(StudyPreset::Paper);
    assert_eq!((paper.len(), paper[0].samples, paper[7].samples, paper[14].samples), (15, 1000, 300, 40));
}
