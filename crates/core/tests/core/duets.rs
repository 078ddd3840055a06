//! Reports of runs with duets, from data with a known answer.

use crate::common::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{AloneEvidence, AloneTimes, Duet, DuetSide, DuetWeight, NoDuet, TogetherEvidence};
use tarebench_core::compare::gang::{GangMeans, GangSlices, SwitchTimes};
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::blocks::RunBlocks;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::Order;
use tarebench_core::run::report::build::build_from;
use tarebench_core::run::report::data::{Comparison, Measure, RatioBasis, RunReport};
use tarebench_core::run::samples::Kept;
use tarebench_core::sample::account::{Account, Ledger, Preemptor, Share};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::{Outcome, Sample, Stamp};
use tarebench_core::sample::probes::{GateRecord, PROBE_REVISION, ProbeCost, SampleProbes};

const MS: i64 = 1_000_000;

fn stamp(ns: i64) -> Stamp {
    Stamp { monotonic: Nanos(ns), monotonic_raw: Nanos(ns), cycles: None }
}

/// It has taken `pt`, and ended at `end`.
fn side(series: u32, pt: Nanos, end: i64) -> DuetSide {
    let like = sample(series, 0, pt, vec![]);
    DuetSide {
        series,
        weight: DuetWeight::Nice(0),
        start: stamp(0),
        end: stamp(end),
        outcome: Outcome::Exited { code: 0 },
        process_times: like.process_times,
        together: Reading::Absent(Absent::NoPermission("a cgroup".to_owned())),
        account: like.account,
        usage: like.usage,
        survivors: vec![],
    }
}

/// Program 1 against the reference 0.
fn duet(index: u32, program: i64, reference: i64) -> Duet {
    let like = sample(0, 0, Nanos(1), vec![]);
    let end = program + reference;
    Duet {
        seq: 100 + index,
        index,
        cpu: 0,
        wall_clock: Nanos(0),
        sides: [side(1, Nanos(program), end), side(0, Nanos(reference), end - 10 * MS)],
        own: like.own,
        steal: Reading::Value(Nanos(0)),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: like.clock_shift,
        environment_padding: 0,
        slices: None,
        void: None,
    }
}

/// Alone, both take 100 ms; on a machine that gets slower, in pairs of which one is a little longer.
fn alone() -> Vec<Sample> {
    let one = |(series, index): (u32, u32)| {
        let pt = 100 * MS + i64::from(index) * 3 * MS + i64::from(series) * MS / 2;
        Sample { seq: 2 * index + series, ..sample(series, index, Nanos(pt), vec![]) }
    };
    (0..10).flat_map(|i| [(0, i), (1, i)]).map(one).collect()
}

fn duet_run() -> Run {
    let mut run = run(2);
    run.plan.order = Order::Auto;
    run
}

fn report(run: &Run, samples: &[Sample], duets: &[Duet]) -> RunReport {
    let Ok(report) = build_from(run, &Kept { samples, duets }, None);
    report
}

fn comparison(duets: &[Duet]) -> Comparison {
    report(&duet_run(), &alone(), duets).comparisons.remove(0)
}

/// Shares of the CPU follow the duets so far; one that was disturbed does not decide for the next one.
#[test]
fn shares_follow_the_median_of_the_duets() {
    let alone = AloneTimes { pt: Nanos(100 * MS), elapsed: Nanos(110 * MS), asleep: Some(0.0), memory: None };
    let mut together = TogetherEvidence::default();
    let ratio = |together: &TogetherEvidence| {
        let [program, reference] = together.corrected([alone, alone]);
        assert_eq!(reference, alone);
        (program.pt.as_f64() / reference.pt.as_f64(), program.elapsed.as_f64() / reference.pt.as_f64())
    };
    assert_eq!(ratio(&together), (1.0, 1.1));
    for (i, (program, expected)) in (0..).zip([(120, 1.2), (270, 1.8), (120, 1.2)]) {
        together.add(&duet(i, program * MS, 100 * MS));
        let (pt, elapsed) = ratio(&together);
        assert!((pt - expected).abs() < 1e-6 && (elapsed - 1.1 * expected).abs() < 1e-6, "{i}: {pt} {elapsed}");
    }
}

#[test]
fn the_verdict_rests_on_the_duets() {
    // Ratios 1.01 to 1.03, symmetric on the logarithmic scale.
    let of = |i: u32, ratio: f64| {
        duet(i, ((110 + i64::from(i) * 20) as f64 * MS as f64 * ratio) as i64, (110 + i64::from(i) * 20) * MS)
    };
    let ratios = [0.01_f64, 0.02, 0.03, 0.01, 0.02, 0.03, 0.02].map(f64::exp);
    let duets: Vec<Duet> = (0..).zip(ratios).map(|(i, r)| of(i, r)).collect();
    let c = comparison(&duets);
    assert_eq!((c.basis, c.measure, c.pairs, c.verdict), (RatioBasis::Duets, Measure::Pt, 7, Verdict::Slower));
    assert!((c.ratio.ln() - 0.02).abs() < 1e-6, "{}", c.ratio);
    let found = c.duets.clone().unwrap().unwrap();
    assert_eq!((found.used, found.left_out), (7, 0));
    assert!(found.interval.is_ok() && found.sign_interval.is_ok());
    // Spread 0.0082, seven duets: (2.447 + 1.943)·0.0082/√(7·0.955).
    assert!((found.detectable.unwrap() - 0.0140).abs() < 5e-4, "{:?}", found.detectable);
    // The program ended 10 ms later than the reference, of 220 ms and more.
    assert!(found.overlap.unwrap() > 0.9 && found.overlap.unwrap() < 1.0, "{:?}", found.overlap);
    // Alone 113.5 ms, together 170 ms, medians.
    assert!((found.inflation[1].unwrap() - (170.0 / 113.5 - 1.0)).abs() < 1e-9, "{:?}", found.inflation);
    // The duets' times reach from 110 to 230 ms, and those alone are around 113.5 ms.
    let interval = found.inflation_intervals[1].clone().unwrap();
    assert!(interval.contains(found.inflation[1].unwrap()) && interval.low > 0.0, "{interval:?}");
    // What executions alone leave open is no disagreement.
    assert!(c.disagreeing().is_none());
    // By elapsed time only executions alone count; by CPU time the duets again.
    let mut c = c;
    assert!(c.choose(Measure::Et));
    assert_eq!((c.basis, c.pairs), (RatioBasis::Alone, 10));
    assert!(c.choose(Measure::Pt));
    assert_eq!(c.basis, RatioBasis::Duets);
}

#[test]
fn duets_with_a_failure_are_left_out_and_named() {
    let mut duets: Vec<Duet> = (0..8).map(|i| duet(i, 120 * MS, 100 * MS)).collect();
    duets[3].sides[0].outcome = Outcome::Exited { code: 7 };
    duets[5].sides[1].process_times = absent();
    let r = report(&duet_run(), &alone(), &duets);
    let found = r.comparisons[0].duets.clone().unwrap().unwrap();
    assert_eq!((found.used, found.left_out), (6, 2));
    assert!((found.ratio - 1.2).abs() < 1e-9);
    let failures = &r.series[1].failures;
    assert!(matches!(failures.as_slice(), [f] if f.duet && f.index == 3 && !f.is_counted()), "{failures:?}");
    assert_eq!(r.series[0].failures, []);
    assert_eq!(r.series[1].counted, 10, "duets are no samples");
}

/// On the CPU for its process time, with so many interrupts charged to it, and so long held up by its partner.
fn with_account(mut d: Duet, interrupts: [i64; 2], lost: u64) -> Duet {
    for (side, interrupted) in d.sides.iter_mut().zip(interrupts) {
        let share = |ns: i64| Share { time: Nanos(ns), count: 1 };
        let ledger = |on_cpu: i64| Ledger {
            tasks: 1,
            on_cpu: share(on_cpu),
            stolen: Reading::Absent(Absent::NotAsked("a test".to_owned())),
            interrupts: BTreeMap::new(),
            softirqs: BTreeMap::new(),
            runtime: Nanos(on_cpu),
            preempted: share(0),
            woken: share(0),
            preemptors: vec![],
            blocked: BTreeMap::new(),
        };
        let mut main = ledger(side.process_time().unwrap().0);
        main.interrupts.insert("local timer".to_owned(), share(interrupted));
        main.preemptors = vec![
            Preemptor { name: Name::from("sh"), kind: Some(TaskKind::User), share: share(3 * MS) },
            Preemptor { name: Name::from(""), kind: Some(TaskKind::Partner), share: share(48 * MS) },
        ];
        main.blocked.insert("stopped".to_owned(), share(9 * MS));
        side.account = Reading::Value(Account {
            exec: Nanos(1),
            end: Nanos(2),
            outside: ledger(0),
            main,
            others: ledger(0),
            interrupts_charged: true,
            stolen_charged: false,
            lost,
            open: 0,
        });
    }
    d
}

#[test]
fn the_ratio_is_of_net_time_where_all_duets_have_it() {
    // The interrupts of both came to one of them.
    let net = |i: u32| with_account(duet(i, 126 * MS, 100 * MS), [6 * MS, 0], 0);
    let mut duets: Vec<Duet> = (0..7).map(net).collect();
    let found = comparison(&duets).duets.unwrap().unwrap();
    assert_eq!((found.measure, found.used), (Measure::Net, 7));
    assert!((found.ratio - 1.2).abs() < 1e-9, "{}", found.ratio);
    let process = found.process.unwrap();
    assert!(process.measure == Measure::Pt && (process.ratio - 1.26).abs() < 1e-9, "{process:?}");
    let account = found.accounts[0].unwrap();
    assert_eq!((account.net, account.partner, account.interrupts), (120e6, 48e6, 6e6));
    assert_eq!(account.stolen, None);
    // Of gangs, being stopped is waiting for the partner.
    assert_eq!(duets[0].sides[1].waited_for_partner(true), Some(Nanos(57 * MS)));
    let blocks = |duets: &[Duet]| {
        let mut all = RunBlocks::new(&duet_run().plan);
        duets.iter().for_each(|d| all.add_duet(&duet_run().plan, d));
        all.blocks(1, Measure::Pt).unwrap()
    };
    assert_eq!(blocks(&duets).measure, Measure::Net);
    // One without: all are by process time, as one estimate must not mix the two.
    duets[3] = with_account(duet(3, 126 * MS, 100 * MS), [6 * MS, 0], 1);
    let c = comparison(&duets);
    let found = c.duets.unwrap().unwrap();
    assert_eq!((found.measure, found.used, found.process), (Measure::Pt, 7, None));
    assert!((found.ratio - 1.26).abs() < 1e-9, "{}", found.ratio);
    let blocks = blocks(&duets);
    assert_eq!((blocks.measure, blocks.logs.len()), (Measure::Pt, 7));
    assert!(blocks.logs.iter().all(|log| (log.exp() - 1.26).abs() < 1e-9), "{:?}", blocks.logs);
}

#[test]
fn a_duet_of_an_earlier_version_has_no_account() {
    let d = duet(0, MS, MS);
    let mut stored = serde_json::to_value(&d).unwrap();
    for side in stored["sides"].as_array_mut().unwrap() {
        side.as_object_mut().unwrap().remove("account");
    }
    let read: Duet = serde_json::from_value(stored.clone()).unwrap();
    assert!(read.sides.iter().all(|s| s.account.value().is_none() && s.net_time().is_err()));
    assert_eq!(serde_json::to_value(&read).unwrap(), stored, "it is written as it was");
}

#[test]
fn too_few_duets_have_no_interval() {
    let duets: Vec<Duet> = (0..5).map(|i| duet(i, 120 * MS, 100 * MS)).collect();
    let c = comparison(&duets);
    assert_eq!((c.verdict, c.pairs), (Verdict::Undecided, 5));
    assert!(c.interval.is_err() && c.duets.unwrap().unwrap().detectable.is_none());
}

#[test]
fn why_there_are_no_duets_is_said() {
    let run = duet_run();
    let short: Vec<Sample> = (0..6).flat_map(|i| [0, 1].map(|s| sample(s, i, Nanos(5 * MS), vec![]))).collect();
    let c = report(&run, &short, &[]).comparisons.remove(0);
    assert_eq!(c.duets, Some(Err(NoDuet::TooShort { series: 1, pt: Nanos(5 * MS) })));
    assert_eq!(c.basis, RatioBasis::Alone);
    let mut rounds = duet_run();
    rounds.plan.order = Order::Random;
    assert_eq!(report(&rounds, &short, &[]).comparisons[0].duets, None);
}

/// That both did not fit into memory, or did not alternate, is neither a failure nor a result.
#[test]
fn duets_that_say_nothing_are_no_results() {
    let void = |why, outcome: Outcome| {
        let mut d = duet(0, 999 * MS, 100 * MS);
        d.void = Some(why);
        d.sides.iter_mut().for_each(|s| s.outcome = outcome.clone());
        d
    };
    let memory = NoDuet::Memory { needed: 3 << 30, available: 1 << 30 };
    let r = report(&duet_run(), &alone(), &[void(memory, Outcome::Interrupted)]);
    assert_eq!((r.comparisons[0].basis, &r.comparisons[0].duets), (RatioBasis::Alone, &Some(Err(memory))));
    assert!(r.series.iter().all(|s| s.failures.is_empty()), "{:?}", r.series[1].failures);
    let left = NoDuet::LeftGroup { series: 1 };
    let c = report(&duet_run(), &alone(), &[void(left, Outcome::Exited { code: 0 })]).comparisons.remove(0);
    assert_eq!((c.basis, c.duets), (RatioBasis::Alone, Some(Err(left))));
    // What there is from before counts, if it is enough.
    let mut duets: Vec<Duet> = (1..8).map(|i| duet(i, 120 * MS, 100 * MS)).collect();
    duets.push(Duet { seq: 200, ..void(memory, Outcome::Interrupted) });
    let found = comparison(&duets).duets.unwrap().unwrap();
    assert_eq!((found.used, found.left_out), (7, 0));
    assert_eq!(comparison(&duets[4..]).duets, Some(Err(memory)), "three have no interval");
    // Of two reasons the first one in time counts.
    let both = [Duet { seq: 300, ..void(left, Outcome::Exited { code: 0 }) }, void(memory, Outcome::Interrupted)];
    assert_eq!(comparison(&both).duets, Some(Err(memory)));
}

#[test]
fn gangs_are_summed_up_and_overlap_on_all_their_cpus() {
    let gang = |i: u32| {
        // 200 ms of CPU time each on two CPUs; the reference had ended 10 ms before the program.
        let mut d = duet(i, 200 * MS, 200 * MS);
        d.slices = Some(GangSlices {
            by: GangMeans::Freezer,
            cpus: vec![0, 1],
            ran: [Nanos(90 * MS), Nanos(100 * MS)],
            switches: 20 + i,
            stopping: Some(SwitchTimes { median: Nanos(60_000), largest: Nanos(i64::from(i) * 100_000) }),
            continuing: Some(SwitchTimes { median: Nanos(5_000), largest: Nanos(9_000) }),
            late: 0,
        });
        d
    };
    let duets: Vec<Duet> = (0..7).map(gang).collect();
    let found = comparison(&duets).duets.unwrap().unwrap();
    // In 10 ms two CPUs have 20 ms, of 400 ms in all.
    assert!((found.overlap.unwrap() - 0.95).abs() < 1e-9, "{:?}", found.overlap);
    let gangs = found.gangs.unwrap();
    assert_eq!((gangs.by, gangs.cpus, gangs.duets, gangs.switches), (GangMeans::Freezer, 2, 7, 23));
    assert_eq!(gangs.stopping.unwrap().largest, Nanos(600_000));
    let plain: Vec<Duet> = (0..7).map(|i| duet(i, 200 * MS, 200 * MS)).collect();
    let found = comparison(&plain).duets.unwrap().unwrap();
    assert!((found.overlap.unwrap() - 0.975).abs() < 1e-9 && found.gangs.is_none(), "{found:?}");
}

/// Alone, both work: the rounds answer.
#[test]
fn a_failure_in_duets_that_nobody_asked_for_leaves_the_rounds() {
    let failing = |count: u32| {
        let mut duets: Vec<Duet> = (0..count).map(|i| duet(i, 120 * MS, 100 * MS)).collect();
        duets.last_mut().unwrap().sides[1].outcome = Outcome::Exited { code: 9 };
        duets
    };
    let c = comparison(&failing(4));
    assert_eq!(c.duets, Some(Err(NoDuet::Fails { series: 0 })));
    assert_eq!((c.basis, c.pairs), (RatioBasis::Alone, 10));
    // Enough of them before it are a result.
    let c = comparison(&failing(7));
    assert_eq!((c.basis, c.pairs), (RatioBasis::Duets, 6));
    // Who asks for duets gets what there is.
    let mut run = duet_run();
    run.plan.order = Order::Duet;
    let c = report(&run, &alone(), &failing(4)).comparisons.remove(0);
    assert_eq!((c.basis, c.pairs), (RatioBasis::Duets, 3));
}

proptest! {
    /// An imported document may have any numbers.
    #[test]
    fn any_numbers_are_reported(numbers in proptest::collection::vec(any::<i64>(), 12), order in any::<bool>()) {
        let duets: Vec<Duet> = numbers.chunks(3).zip(0..).map(|(n, i)| {
            let mut d = duet(i, 1, 1);
            d.sides = [side((n[0] % 3) as u32, Nanos(n[1]), n[2]), side(n[2] as u32 % 3, Nanos(n[0]), n[1])];
            d.sides[0].together = Reading::Value(Nanos(n[2]));
            d.slices = (n[0] % 2 == 0).then(|| GangSlices {
                by: GangMeans::Signals,
                cpus: vec![n[1] as u32; 3],
                ran: [Nanos(n[1]), Nanos(n[2])],
                switches: n[2] as u32,
                stopping: Some(SwitchTimes { median: Nanos(n[0]), largest: Nanos(n[1]) }),
                continuing: None,
                late: n[1] as u32,
            });
            d.index = n[1] as u32;
            d
        }).collect();
        let mut run = duet_run();
        run.plan.order = if order { Order::Duet } else { Order::Auto };
        let r = report(&run, &alone(), &duets);
        for c in &r.comparisons {
            if let Some(Ok(d)) = &c.duets {
                prop_assert!(d.ratio.is_finite() && d.overlap.is_none_or(|o| (0.0..=1.0).contains(&o)));
            }
        }
    }

    #[test]
    fn the_order_of_duets_makes_no_difference(
        times in proptest::collection::vec((1..1_000_i64, 1..1_000_i64), 1..20), turn in 0..20_usize,
    ) {
        let duets: Vec<Duet> = times.iter().zip(0..).map(|((a, b), i)| duet(i, a * MS, b * MS)).collect();
        let mut turned = duets.clone();
        turned.rotate_left(turn % duets.len());
        prop_assert_eq!(report(&duet_run(), &alone(), &duets), report(&duet_run(), &alone(), &turned));
    }
}

/// What a gate paused for half of its time used its CPU for all of the rest.
#[test]
fn pauses_are_no_sleep() {
    let mut paused = sample(0, 0, Nanos(100 * MS), vec![]);
    paused.end = stamp(201 * MS);
    let times = |sample: &Sample| {
        let mut evidence = AloneEvidence::default();
        evidence.add(sample, true);
        evidence.times().unwrap()
    };
    assert!(times(&paused).asleep.unwrap() > 0.5);
    let gate = GateRecord { waited: Nanos(5 * MS), stops: 9, paused: Nanos(100 * MS), limit_reached: false };
    let cost = ProbeCost { cpu: Nanos(1), wakes: 1, late: 0 };
    paused.probes = Reading::Value(SampleProbes { revision: PROBE_REVISION, cpus: vec![], gate: Some(gate), cost });
    let found = times(&paused);
    assert_eq!(found.elapsed, Nanos(101 * MS));
    assert!(found.asleep.unwrap() < 0.02, "{found:?}");
}
