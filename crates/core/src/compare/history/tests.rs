//! Histories of made-up gates.

use super::*;
use crate::compare::gate::{CorrectedSide, CorrectedSides, GatePlan};
use crate::compare::ratio::RatioBasis;
use crate::statistics::random::{RandomPurpose, generator, normal, unit};
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

const DAY: i64 = 86_400_000_000_000;

/// The commit of a day: its id begins with the number of the day.
fn commit(day: i64) -> GateSide {
    GateSide {
        folder: "/src".to_owned(),
        commit: Some(format!("{day:04}{}", "a".repeat(36))),
        name: None,
        committed: Some(Nanos(day * DAY)),
        subject: Some(format!("change {day}")),
        modified: false,
    }
}

/// A benchmark with this logarithm: ten blocks at equal distances around it, whose standard error is about 0.1%.
fn measured(log: f64) -> MeasuredBenchmark {
    let logs = (0..10).map(|i| log + 0.004 * (f64::from(i) - 4.5) / 4.5).collect();
    MeasuredBenchmark { basis: RatioBasis::Duets, measure: Some(Measure::Net), logs, ..MeasuredBenchmark::default() }
}

fn benchmark(name: &str) -> GateBenchmark {
    GateBenchmark {
        name: name.to_owned(),
        command: format!("./{name} input"),
        threshold: 0.02,
        weight: 1.0,
        measure: None,
        budget: None,
    }
}

fn gate(number: i64, base: GateSide, head: GateSide, log: f64) -> HistoryGate {
    let plan = GatePlan {
        suite: String::new(),
        base,
        head,
        benchmarks: vec![benchmark("sort")],
        budget: None,
        max_blocks: 54,
        control: false,
        family_error: 0.01,
    };
    HistoryGate {
        number,
        created: Nanos((1_000 + number) * DAY),
        machine: "m".to_owned(),
        fingerprint: Some("f".to_owned()),
        gate: Gate { plan, measured: vec![measured(log)] },
    }
}

fn history(gates: &[HistoryGate], plan: &HistoryPlan) -> BenchmarkHistory {
    let mut found = report(gates, plan).unwrap().benchmarks;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn all(gates: &[HistoryGate]) -> BenchmarkHistory {
    history(gates, &HistoryPlan::default())
}

/// Something between -0.2 and 0.2%, different for neighbours.
fn wobble(i: i64) -> f64 {
    (i * 37 % 11 - 5) as f64 * 0.0004
}

/// Gates of the commits 1 to `n` against commit 0, with a step of 2% at commit 25.
fn stepped(n: i64) -> Vec<HistoryGate> {
    let log = |i: i64| wobble(i) + if i < 25 { 0.0 } else { 0.02 };
    (1..=n).map(|i| gate(i, commit(0), commit(i), log(i))).collect()
}

#[test]
fn a_step_is_found_between_its_commits() {
    let found = all(&stepped(40));
    assert_eq!((found.name.as_str(), found.suite.as_str(), found.commands), ("sort", "", 1));
    assert_eq!((found.points.len(), found.measure, found.anchor_replaced), (41, Some(Measure::Net), false));
    assert_eq!(found.anchor.as_ref().unwrap().subject.as_deref(), Some("change 0"));
    let [change] = &found.changes[..] else { panic!("{:?}", found.changes) };
    assert_eq!((change.before, change.after, change.machine_changed), (24, 25, false));
    assert!((change.ratio - 0.02_f64.exp()).abs() < 0.001 && change.interval.contains(0.02_f64.exp()), "{change:?}");
    assert!(change.interval.half_width() < 0.002);
    let [before, after] = &found.levels[..] else { panic!("{:?}", found.levels) };
    assert_eq!((before.first, before.last, after.first, after.last), (0, 24, 25, 40));
    assert!(before.interval.contains(1.0) && (after.ratio - 1.02).abs() < 0.001);
    // The wobble is more than the blocks show.
    assert!((0.0003..0.003).contains(&found.between_gates), "{}", found.between_gates);
    let detectable = found.detectable.unwrap();
    assert!((0.002..0.02).contains(&detectable), "{detectable}");
    assert_eq!((found.points[0].interval.as_ref(), found.points[0].ratio), (None, 1.0));
    assert_eq!((&found.points[3].gates, found.points[0].gates.len()), (&vec![3], 40));
    assert!((found.points[30].ratio.ln() - 0.02 - wobble(30)).abs() < 1e-9);
    // The order in which gates are given does not matter.
    let mut reversed = stepped(40);
    reversed.reverse();
    assert_eq!(all(&reversed), found);
}

/// A machine that cannot trace the kernel knows process times only. Where interrupts take more of one build's time, its ratio of process
/// times is another one than that of net times: all of one history are of the same time.
#[test]
fn gates_with_and_without_net_time_are_joined_by_process_time() {
    // By net time no build differs; by process time all but the base are longer by 2%. From gate 20 on, no net time is known.
    let both = |i: i64| {
        let mut gate = gate(i, commit(0), commit(i), wobble(i));
        if let [m] = &mut gate.gate.measured[..] {
            let process = measured(wobble(i) + 0.02).logs;
            if i < 20 {
                m.process_logs = process;
            } else {
                (m.logs, m.measure) = (process, Some(Measure::Pt));
            }
        }
        gate
    };
    let mixed: Vec<HistoryGate> = (1..=40).map(both).collect();
    let found = all(&mixed);
    assert_eq!((found.measure, found.only_net, found.points.len()), (Some(Measure::Pt), 0, 41));
    assert!((found.points[5].ratio.ln() - 0.02 - wobble(5)).abs() < 1e-9);
    // All differ from the base, by the same.
    assert!(found.changes.is_empty(), "{:?}", found.changes);
    // The newest gate decides nothing: it knows net time, the others do not.
    let mut newest = gate(41, commit(0), commit(41), 0.0);
    newest.gate.measured[0].process_logs = measured(0.02).logs;
    let with_net = all(&[mixed.clone(), vec![newest.clone()]].concat());
    assert_eq!((with_net.measure, with_net.only_net), (Some(Measure::Pt), 0));
    // One of an earlier version has no process times: that is counted.
    newest.gate.measured[0].process_logs.clear();
    let earlier = all(&[mixed.clone(), vec![newest]].concat());
    assert_eq!((earlier.measure, earlier.only_net, earlier.points.len()), (Some(Measure::Pt), 1, 42));
    // Where all know it, net time it is.
    let net = all(&mixed[..19]);
    assert_eq!((net.measure, net.only_net), (Some(Measure::Net), 0));
    assert!((net.points[5].ratio.ln() - wobble(5)).abs() < 1e-9);
}

/// Corrected times of which the ratio has this logarithm and a standard error of about 0.07%.
fn corrected(log: f64) -> CorrectedSides {
    let side = |value: f64| {
        let interval = Interval { low: value * 0.999, high: value * 1.001, level: LEVEL };
        CorrectedSide { value, interval, uncorrected: value * 1.2 }
    };
    CorrectedSides { base: side(1e8), head: side(1e8 * log.exp()) }
}

/// Of programs that were measured alone, one after the other, the machine changed more than the program: only the corrected times
/// show the step.
#[test]
fn corrected_times_take_the_place_of_rounds() {
    let noise = |i: i64| (i * 13 % 7 - 3) as f64 * 0.03;
    let rounds = |basis: RatioBasis| -> Vec<HistoryGate> {
        let mut gates = stepped(40);
        for (i, g) in (1..).zip(&mut gates) {
            let m = &mut g.gate.measured[0];
            m.corrected = Some(corrected(wobble(i) + if i < 25 { 0.0 } else { 0.02 }));
            (m.basis, m.measure) = (basis, Some(Measure::Pt));
            m.logs.iter_mut().for_each(|log| *log += noise(i));
        }
        gates
    };
    let found = all(&rounds(RatioBasis::Alone));
    assert_eq!((found.corrected, found.points.len()), (40, 41));
    assert!((found.points[30].ratio.ln() - 0.02 - wobble(30)).abs() < 1e-9);
    let [change] = &found.changes[..] else { panic!("{:?}", found.changes) };
    assert_eq!((change.before, change.after), (24, 25));
    // Duets need no correction.
    let found = all(&rounds(RatioBasis::Duets));
    assert_eq!(found.corrected, 0);
    assert!((found.points[30].ratio.ln() - 0.02 - wobble(30) - noise(30)).abs() < 1e-9);
}

/// The base changes at commit 20, which was measured against the old one; nothing else changes.
#[test]
fn an_overlap_joins_two_bases() {
    let of_second = |i: i64| gate(i, commit(20), commit(i), wobble(i) - 0.05);
    let mut gates: Vec<HistoryGate> = (1..20).map(|i| gate(i, commit(0), commit(i), wobble(i))).collect();
    gates.push(gate(20, commit(0), commit(20), 0.05));
    gates.extend((21..=40).map(of_second));
    let found = all(&gates);
    // Commit 20 is one spike, which all others are measured against.
    assert_eq!((found.points.len(), &found.changes, found.apart.len()), (41, &Vec::new(), 0));
    assert!((found.points[20].ratio.ln() - 0.05).abs() < 1e-9);
    assert!((found.points[30].ratio.ln() - wobble(30)).abs() < 1e-9);
    // The error of the overlap is in all that follow.
    let width = |i: usize| found.points[i].interval.as_ref().unwrap().half_width();
    assert!(width(30) > 1.3 * width(10), "{} {}", width(30), width(10));
    // Without the overlap, there are two histories; the larger one is shown.
    gates.remove(19);
    let found = all(&gates);
    assert_eq!((found.points.len(), found.apart.len()), (21, 1));
    assert_eq!((found.apart[0].builds, found.apart[0].newest.subject.as_deref()), (20, Some("change 19")));
    let other = HistoryPlan { anchor: Some(commit(3).commit.unwrap()), ..HistoryPlan::default() };
    let found = history(&gates, &other);
    assert_eq!((found.points.len(), found.apart[0].builds), (20, 21));
    assert_eq!(found.points[3].ratio, 1.0);
}

#[test]
fn several_gates_of_one_build_are_joined() {
    let mut gates = stepped(10);
    gates.push(gate(11, commit(0), commit(5), wobble(5) + 0.004));
    let found = all(&gates);
    assert_eq!(found.points.len(), 11);
    assert!((found.points[5].ratio.ln() - wobble(5) - 0.002).abs() < 1e-9);
    assert_eq!(found.points[5].gates, [5, 11]);
    // The other way round is the same measurement.
    gates[10] = gate(11, commit(5), commit(0), -wobble(5) - 0.004);
    assert!((all(&gates).points[5].ratio.ln() - wobble(5) - 0.002).abs() < 1e-9);
}

#[test]
fn builds_are_told_apart() {
    let folder = |folder: &str, name: Option<&str>| GateSide {
        folder: folder.to_owned(),
        name: name.map(str::to_owned),
        ..GateSide::default()
    };
    let modified = |day: i64| GateSide { modified: true, ..commit(day) };
    // A kept build in a folder, against heads of which nothing is known: each is another one.
    let mut gates: Vec<HistoryGate> =
        (1..=4).map(|i| gate(i, folder("/kept", None), folder("/src", None), 0.01)).collect();
    let found = all(&gates);
    assert_eq!(found.points.len(), 5);
    assert_eq!(
        found.points.iter().map(|p| p.build.gate).collect::<Vec<_>>(),
        [None, Some(1), Some(2), Some(3), Some(4)]
    );
    assert!(found.points.iter().all(|p| !p.build.committed));
    // The same folder on another machine is another one.
    gates[3].machine = "other".to_owned();
    assert_eq!((all(&gates).points.len(), all(&gates).apart.len()), (4, 1));
    // Names are the user's word for what a build is.
    let named: Vec<HistoryGate> =
        (1..=4).map(|i| gate(i, folder("/kept", Some("v1")), folder("/src", Some("v2")), 0.01)).collect();
    assert_eq!(all(&named).points.len(), 2);
    assert_eq!(all(&named).points[1].gates, [1, 2, 3, 4]);
    // What was changed since its commit is known only to be something else.
    let changed: Vec<HistoryGate> = (1..=4).map(|i| gate(i, commit(0), modified(7), 0.01)).collect();
    let found = all(&changed);
    assert_eq!(found.points.len(), 5);
    assert!(found.points[1].build.modified && found.points[1].build.commit.is_some());
    assert_eq!(found.points[1].build.time, Nanos(1_001 * DAY));
}

/// Ratios of `few` commits, and of another benchmark that knows 30, with the same deviation from gate to gate; the first ones of both.
fn beside_another(few: i64, between: f64, item: u64) -> Vec<BenchmarkHistory> {
    let mut rng = generator(71, RandomPurpose::Noise, item);
    let mut gates: Vec<HistoryGate> =
        (1..=30).map(|i| gate(i, commit(0), commit(i), between * normal(&mut rng))).collect();
    for g in &mut gates {
        let (mut other, mut log) = (benchmark("other"), between * normal(&mut rng));
        std::mem::swap(&mut other, &mut g.gate.plan.benchmarks[0]);
        if g.number <= few {
            g.gate.plan.benchmarks.push(other);
            g.gate.measured.push(measured(std::mem::take(&mut log)));
        }
    }
    report(&gates, &HistoryPlan::default()).unwrap().benchmarks
}

#[test]
fn few_builds_take_the_spread_of_other_benchmarks() {
    let [other, sort] = &beside_another(4, 0.005, 0)[..] else { panic!("two benchmarks") };
    assert_eq!((other.points.len(), other.between_source), (31, BetweenSource::Builds));
    assert_eq!((sort.points.len(), sort.between_source), (5, BetweenSource::OtherBenchmarks { benchmarks: 1 }));
    assert!(sort.between_gates == other.between_gates && sort.between_gates > 0.003, "{}", sort.between_gates);
    // Alone, what is common: ± 1% of duets in 95 of 100 cases, ± 3% of rounds.
    let alone = all(&stepped(4));
    assert_eq!(alone.between_source, BetweenSource::Assumed);
    assert!((alone.between_gates * Z - 1.01_f64.ln()).abs() < 1e-12, "{}", alone.between_gates);
    let mut rounds = stepped(4);
    rounds.iter_mut().for_each(|g| g.gate.measured[0].basis = RatioBasis::Alone);
    assert!((all(&rounds).between_gates * Z - 1.03_f64.ln()).abs() < 1e-12);
    // What earlier builds say counts, though only the newest are shown.
    let since = HistoryPlan { since: Some(Nanos(38 * DAY)), ..HistoryPlan::default() };
    let newest = history(&stepped(40), &since);
    assert_eq!((newest.points.len(), newest.between_source), (3, BetweenSource::Builds));
}

/// Bars of two to four commits, whose truth is the anchor's, beside a benchmark of 30 with the same deviation of 0.5%; without that
/// deviation they held half of the time.
#[test]
fn bars_of_few_builds_hold() {
    let (mut bars, mut held) = (0, 0);
    for item in 1..=150 {
        let found = beside_another(2 + item % 3, 0.005, item as u64);
        for interval in found[1].points.iter().filter_map(|p| p.interval.as_ref()) {
            bars += 1;
            held += usize::from(interval.contains(1.0));
        }
    }
    assert!(bars == 450 && held * 100 >= bars * 93, "{held} of {bars}");
}

#[test]
fn what_is_not_used_is_counted() {
    let mut gates = stepped(6);
    gates[0].gate.measured[0].failed = Some("it crashed".to_owned());
    gates[1].gate.measured[0].logs.truncate(5);
    gates[2].gate.plan.head = commit(0);
    gates[3].gate.measured[0].measure = Some(Measure::Et);
    gates[4].gate.measured[0].measure = Some(Measure::Pt);
    let found = all(&gates);
    assert_eq!(found.not_used, NotUsed { failed: 1, few_blocks: 1, same_build: 1, other_measure: 1 });
    // The commit that was measured by elapsed time only is no group of its own.
    assert_eq!((found.points.len(), found.apart.len(), found.detectable), (3, 0, None));
    gates[0].gate.measured.clear();
    gates[5].gate.measured[0].logs = vec![f64::NAN; 10];
    assert_eq!(all(&gates).not_used, NotUsed { failed: 0, few_blocks: 2, same_build: 1, other_measure: 1 });
    let nothing = report(&[], &HistoryPlan::default()).unwrap();
    assert_eq!((nothing.gates, nothing.benchmarks.len()), (0, 0));
    gates.truncate(1);
    assert_eq!(report(&gates, &HistoryPlan::default()).unwrap().benchmarks.len(), 0);
}

#[test]
fn other_machines_are_marked() {
    let mut gates = stepped(40);
    for gate in &mut gates[..24] {
        gate.fingerprint = Some("old".to_owned());
    }
    let found = all(&gates);
    assert!(found.points[1..25].iter().all(|p| p.other_machine));
    // The base was measured on both.
    assert!(!found.points[0].other_machine && found.points[25..].iter().all(|p| !p.other_machine));
    assert!(found.changes[0].machine_changed);
}

#[test]
fn anchors_are_found_by_what_names_them() {
    let mut gates = stepped(8);
    gates[4].gate.plan.head.name = Some("v1.5".to_owned());
    gates.push(gate(9, commit(0), GateSide { folder: "/kept".to_owned(), ..GateSide::default() }, 0.1));
    let anchored = |name: &str| {
        let plan = HistoryPlan { anchor: Some(name.to_owned()), ..HistoryPlan::default() };
        report(&gates, &plan).map(|mut r| r.benchmarks.remove(0).anchor.unwrap().subject.unwrap_or_default())
    };
    assert_eq!(anchored("0003").as_deref(), Ok("change 3"));
    assert_eq!(anchored("0003AAA").as_deref(), Ok("change 3"));
    assert_eq!(anchored("v1.5").as_deref(), Ok("change 5"));
    assert_eq!(anchored("g9").as_deref(), Ok(""));
    for unknown in ["0099", "003", "g3", "", "/src", "v1"] {
        assert_eq!(anchored(unknown), Err(NoAnchor::Unknown(unknown.to_owned())));
    }
    gates[5].gate.plan.head.name = Some("v1.5".to_owned());
    let plan = HistoryPlan { anchor: Some("v1.5".to_owned()), ..HistoryPlan::default() };
    let several = report(&gates, &plan).unwrap_err();
    assert_eq!(several.to_string(), "\"v1.5\" names 2 builds");
    // Relative to it, and no sooner than a base that was kept.
    let plan = HistoryPlan { anchor: Some("0003".to_owned()), ..HistoryPlan::default() };
    assert!((history(&gates, &plan).points[0].ratio.ln() + wobble(3)).abs() < 1e-9);
    // Without a kept base, it is the earliest build.
    let chain: Vec<HistoryGate> = (1..8).map(|i| gate(i, commit(i - 1), commit(i), 0.0)).collect();
    assert_eq!(all(&chain).anchor.unwrap().subject.as_deref(), Some("change 0"));
    // An earlier commit that was measured against the kept one does not take its place.
    let kept: Vec<HistoryGate> = (0..8).filter(|i| *i != 4).map(|i| gate(i, commit(4), commit(i), 0.0)).collect();
    assert_eq!(all(&kept).anchor.unwrap().subject.as_deref(), Some("change 4"));
}

#[test]
fn suites_names_and_dates_choose() {
    let mut gates = stepped(40);
    for g in &mut gates {
        g.gate.plan.benchmarks.push(benchmark("other"));
        g.gate.measured.push(measured(0.0));
    }
    let mut elsewhere = stepped(40);
    for g in &mut elsewhere {
        g.gate.plan.suite = "suite".to_owned();
        g.number += 100;
    }
    gates.extend(elsewhere);
    let names = |plan: &HistoryPlan| {
        let found = report(&gates, plan).unwrap().benchmarks;
        found.into_iter().map(|b| format!("{}/{}", b.suite, b.name)).collect::<Vec<_>>()
    };
    assert_eq!(names(&HistoryPlan::default()), ["/other", "/sort", "suite/sort"]);
    assert_eq!(names(&HistoryPlan { suite: Some("suite".to_owned()), ..HistoryPlan::default() }), ["suite/sort"]);
    let other = HistoryPlan { benchmarks: vec!["other".to_owned()], ..HistoryPlan::default() };
    assert_eq!(names(&other), ["/other"]);
    // Positions need the builds before the date; changes before it are not of interest.
    let late = HistoryPlan { since: Some(Nanos(30 * DAY)), suite: Some("suite".to_owned()), ..HistoryPlan::default() };
    let found = history(&gates, &late);
    assert_eq!((found.points.len(), found.changes.len()), (11, 0));
    assert!((found.levels[0].ratio - 1.02).abs() < 0.002);
    assert_eq!(found.anchor.unwrap().subject.as_deref(), Some("change 0"));
    let never = HistoryPlan { since: Some(Nanos(i64::MAX)), suite: Some("suite".to_owned()), ..HistoryPlan::default() };
    let found = history(&gates, &never);
    assert_eq!((found.points.len(), found.levels.len(), found.detectable), (0, 0, None));
}

/// From the blocks on: ten of each gate with a noise of 0.6%, and 0.2% between gates. Each gate's error is 0.28%, of
/// which 0.19% are from its blocks; steps of 2% are seven errors.
#[test]
fn histories_are_found_from_blocks() {
    let mut rng = generator(35, RandomPurpose::Noise, 0);
    let mut normal = || Normal::new(0.0, 1.0).unwrap().inverse_cdf(unit(&mut rng));
    let (mut invented, mut hits) = (0, 0);
    for round in 0..40_i64 {
        let step_at = if round % 2 == 0 { i64::MAX } else { 20 + round / 2 };
        let mut noisy = |i: i64| {
            let log = 0.002 * normal() + if i < step_at { 0.0 } else { 0.02 };
            let mut g = gate(i, commit(0), commit(i), 0.0);
            g.gate.measured[0].logs = (0..10).map(|_| log + 0.006 * normal()).collect();
            g
        };
        let gates: Vec<HistoryGate> = (1..=60).map(&mut noisy).collect();
        let found = all(&gates).changes;
        let near =
            found.iter().filter(|c| (c.after as i64 - step_at).abs() <= 3 && (c.ratio - 1.02).abs() < 0.005).count();
        hits += near;
        invented += found.len() - near;
    }
    assert!(hits >= 19 && invented <= 1, "{hits} of 20 found, {invented} invented");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever gates there are, each usable result is in one group, and all figures are finite.
    #[test]
    fn any_gates_have_a_history(
        pairs in proptest::collection::vec((0..12_i64, 0..12_i64, -50.0..50.0_f64, 0.0..1.0_f64), 0..40),
    ) {
        let made = |(i, (base, head, log, spread)): (usize, &(i64, i64, f64, f64))| {
            let mut g = gate(i as i64, commit(*base), commit(*head), 0.0);
            g.gate.measured[0].logs = (0..8).map(|k| log + spread * f64::from(k)).collect();
            g
        };
        let gates: Vec<HistoryGate> = pairs.iter().enumerate().map(made).collect();
        let found = report(&gates, &HistoryPlan::default()).unwrap();
        prop_assert_eq!(found.gates, pairs.len());
        for b in &found.benchmarks {
            let builds = b.points.len() + b.apart.iter().map(|a| a.builds).sum::<usize>();
            let mut all: Vec<i64> = pairs.iter().filter(|p| p.0 != p.1).flat_map(|p| [p.0, p.1]).collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(builds, all.len());
            prop_assert!(b.points.iter().all(|p| p.ratio.is_finite() && p.ratio > 0.0));
            prop_assert!(b.points.windows(2).all(|w| w[0].build.time <= w[1].build.time));
            prop_assert_eq!(b.levels.len(), if b.points.is_empty() { 0 } else { b.changes.len() + 1 });
            prop_assert_eq!(b.not_used.same_build, pairs.iter().filter(|p| p.0 == p.1).count());
        }
    }
}
