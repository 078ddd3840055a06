//! The profile by the account, on simulated machines whose daemons are known; and what check 1 makes of it.

use crate::common::{absent, daemon, profile, run, sample};
use crate::machine::Random;
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::{
    Cutoff, DaemonRule, GuardedEffect, ProcessTimeEffect, Profile, ProfilePart, WaitingCutoff,
};
use tarebench_core::profile::dual::Observation;
use tarebench_core::profile::profiling::{Learned, Lesson, learn};
use tarebench_core::run::discards::{DiscardReason, DiscardRule};
use tarebench_core::run::protocol::{CheckOne, CheckOneDetail, RuleCounts, StepFinding};
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::{Measure, RunReport};
use tarebench_core::sample::account::{Account, Ledger, Preemptor, Share};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::{Sample, Stamp};
use tarebench_core::statistics::periods::Periodicity;

/// Samples of the trial, and the time that each takes on a CPU, seconds.
const SAMPLES: u32 = 240;
const LENGTH: f64 = 0.3;
/// Between two samples, seconds.
const PAUSE: f64 = 0.17;

fn ledger(waits: &BTreeMap<String, f64>) -> Ledger {
    let preemptor = |(name, s): (&String, &f64)| Preemptor {
        name: Name::from(name.as_str()),
        kind: Some(TaskKind::User),
        share: Share { time: Nanos::from_secs_f64(*s), count: 1 },
    };
    Ledger {
        tasks: 1,
        on_cpu: Share::default(),
        stolen: absent(),
        interrupts: BTreeMap::new(),
        softirqs: BTreeMap::new(),
        runtime: Nanos::ZERO,
        preempted: Share { time: Nanos::from_secs_f64(waits.values().sum()), count: 1 },
        woken: Share::default(),
        preemptors: waits.iter().map(preemptor).collect(),
        blocked: BTreeMap::new(),
    }
}

/// A sample with an account: process time and other time besides waiting, in seconds; waits and CPU times by daemon.
fn accounted(
    index: u32,
    start: f64,
    times: (f64, f64),
    waits: &BTreeMap<String, f64>,
    cpu: &[(String, f64)],
) -> Sample {
    let list = cpu.iter().map(|(name, s)| daemon(name, Nanos::from_secs_f64(*s))).collect();
    let mut s = sample(0, index, Nanos::from_secs_f64(times.0), list);
    let elapsed = Nanos::from_secs_f64(times.0 + times.1 + waits.values().sum::<f64>());
    s.wall_clock = Nanos::from_secs_f64(1.7e9 + start);
    s.end = Stamp { monotonic: elapsed, monotonic_raw: elapsed, cycles: None };
    let none = BTreeMap::new();
    s.account = Reading::Value(Account {
        exec: Nanos::ZERO,
        end: elapsed,
        outside: ledger(&none),
        main: ledger(waits),
        others: ledger(&none),
        interrupts_charged: false,
        stolen_charged: false,
        lost: 0,
        open: 0,
    });
    s
}

/// When an injected daemon comes.
#[derive(Clone, Copy)]
enum When {
    /// Every so many seconds.
    Every(f64),
    /// In this share of the samples, at random.
    Share(f64),
}

#[derive(Clone, Copy)]
struct Injected {
    name: &'static str,
    when: When,
    /// CPU time that it takes from the program, seconds.
    takes: f64,
    /// It also runs shortly in a third of the samples.
    lasting: bool,
    /// Part by which it lengthens the program's process time.
    heats: f64,
}

const fn short_lived(name: &'static str, when: When, takes: f64) -> Injected {
    Injected { name, when, takes, lasting: false, heats: 0.0 }
}

/// The machine: how much its clock wanders, and whether other work comes and goes.
#[derive(Clone, Copy)]
struct Surroundings {
    wander: f64,
    company: bool,
}

const QUIET: Surroundings = Surroundings { wander: 0.0, company: false };
const TRIAL: Surroundings = Surroundings { wander: 0.3, company: true };

struct Trial {
    observations: Vec<Observation>,
    truth: BTreeMap<&'static str, BTreeSet<u32>>,
}

fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * random.uniform().ln()
}

/// What else the program waits for in a sample: kernel threads and a shell always, a compiler that comes and goes.
fn company(
    random: &mut Random,
    index: u32,
    busy: bool,
    waits: &mut BTreeMap<String, f64>,
    cpu: &mut Vec<(String, f64)>,
) {
    for (name, rate, mean) in [("kworker", 0.9, 60e-6), ("sshd", 0.4, 40e-6), ("systemd-journal", 0.1, 150e-6)] {
        if random.uniform() < rate {
            let wait = exponential(random, mean);
            waits.insert(name.to_owned(), wait);
            cpu.push((name.to_owned(), 2.0 * wait));
        }
    }
    if busy && (60..72).contains(&index) {
        let wait = 0.005 + exponential(random, 0.015);
        waits.insert("cc1".to_owned(), wait);
        cpu.push(("cc1".to_owned(), 2.0 * wait));
    }
    // On another CPU: it keeps nothing waiting.
    if busy && random.uniform() < 0.06 {
        cpu.push(("elsewhere".to_owned(), 0.05 * (1.0 + 0.1 * random.normal())));
    }
}

/// Positions of the samples that hold a daemon, of one that comes at random.
fn visits(d: &Injected, n: u32, random: &mut Random) -> BTreeSet<u32> {
    let When::Share(share) = d.when else { return BTreeSet::new() };
    let mut found = BTreeSet::new();
    while (found.len() as f64) < (share * f64::from(n)).round() {
        found.insert((random.uniform() * f64::from(n)) as u32);
    }
    found
}

fn trial(n: u32, daemons: &[Injected], around: Surroundings, seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let chosen: Vec<BTreeSet<u32>> = daemons.iter().map(|d| visits(d, n, &mut random)).collect();
    let mut next: Vec<f64> = daemons
        .iter()
        .map(|d| if let When::Every(every) = d.when { every * random.uniform() } else { f64::INFINITY })
        .collect();
    let (mut at, mut walk) = (0.0, 0.0);
    let mut result = Trial { observations: Vec::new(), truth: BTreeMap::new() };
    for index in 0..n {
        walk = 0.9 * walk + 0.1 * random.normal();
        let wave = (f64::from(index) / 37.0).sin() + 0.3 * walk;
        let mut pt = LENGTH * (1.0 + around.wander * wave / 1.5) * (1.0 + 0.001 * random.normal());
        let other = 0.3e-3 + exponential(&mut random, 50e-6);
        let (mut waits, mut cpu) = (BTreeMap::new(), Vec::new());
        company(&mut random, index, around.company, &mut waits, &mut cpu);
        for (i, d) in daemons.iter().enumerate() {
            let takes = d.takes * (1.0 + 0.05 * random.normal());
            let end = at + pt;
            let wait = if chosen[i].contains(&index) {
                takes
            } else if next[i] < end {
                // Begun in the pause, it has run for a while.
                let left = takes - (at - next[i]).max(0.0);
                if let When::Every(every) = d.when {
                    next[i] += every;
                }
                left
            } else {
                0.0
            };
            if wait > 0.01 {
                waits.insert(d.name.to_owned(), wait);
                cpu.push((d.name.to_owned(), takes));
                result.truth.entry(d.name).or_default().insert(index + 1);
                pt *= 1.0 + d.heats;
            } else if d.lasting && random.uniform() < 0.33 {
                let usual = 3e-4 * (1.0 + 0.1 * random.normal());
                waits.insert(d.name.to_owned(), usual);
                cpu.push((d.name.to_owned(), usual));
            }
        }
        let s = accounted(index, at, (pt, other), &waits, &cpu);
        at += s.elapsed().secs() + PAUSE;
        result.observations.push(Observation::of(&s));
    }
    result
}

fn names(l: &Lesson) -> Vec<&str> {
    l.infrequent.iter().map(|i| i.daemon.as_str()).collect()
}

fn found<'a>(l: &'a Lesson, name: &str) -> &'a tarebench_core::profile::by_account::DaemonEffect {
    l.account.as_ref().unwrap().effects.iter().find(|e| e.daemon == name).unwrap()
}

/// The trial of the specification: a short-lived process that takes 250 ms of the program's CPU every 7 s, among other work, while
/// the clock wanders by 30%.
#[test]
fn a_short_lived_process_in_company_is_found_with_its_period() {
    for seed in 0..10 {
        let t = trial(SAMPLES, &[short_lived("zz", When::Every(7.0), 0.25)], TRIAL, seed);
        let l = learn(&t.observations, DaemonRule::Explained).unwrap();
        assert_eq!(names(&l), ["zz"], "{seed}");
        let numbers: BTreeSet<u32> = found(&l, "zz").samples.iter().copied().collect();
        assert_eq!(numbers, t.truth["zz"], "{seed}");
        let Periodicity::Period { period, .. } = l.infrequent[0].periodicity else {
            panic!("{seed}: {:?}", l.infrequent[0])
        };
        assert!((period.secs() / 7.0 - 1.0).abs() < 0.03, "{seed}: {period:?}");
        let effect = found(&l, "zz");
        let direct = effect.direct.unwrap();
        assert!((direct.waited / 250e6 - 1.0).abs() < 0.2 && direct.max == Nanos::ZERO, "{direct:?}");
        assert!(!effect.process_time.unwrap().lengthens, "it cost process time nothing: {effect:?}");
        // The cutoff lies between nothing and what it takes, for waiting and for CPU time; it guards elapsed time.
        let cutoffs = Learned::new(l, None).profile_cutoffs();
        let waiting = cutoffs[0].effect.unwrap().waiting.unwrap().short.unwrap();
        assert!(waiting > 1e6 && waiting < 250e6 && cutoffs[0].short < 250e6, "{cutoffs:?}");
    }
}

#[test]
fn one_to_three_in_a_twentieth_to_a_seventh_of_the_samples() {
    let three = [
        short_lived("aa", When::Share(0.05), 0.25),
        Injected { lasting: true, ..short_lived("bb", When::Share(0.1), 0.12) },
        short_lived("cc", When::Share(0.15), 0.06),
    ];
    for around in [QUIET, TRIAL] {
        for count in 1..=3 {
            for first in 0..=(3 - count) {
                let daemons = &three[first..first + count];
                for seed in 0..5 {
                    let t = trial(SAMPLES, daemons, around, 100 + seed);
                    let l = learn(&t.observations, DaemonRule::Explained).unwrap();
                    let expected: Vec<&str> = daemons.iter().map(|d| d.name).collect();
                    assert_eq!(names(&l), expected, "{seed}");
                    for d in daemons {
                        let numbers: BTreeSet<u32> = found(&l, d.name).samples.iter().copied().collect();
                        assert_eq!(numbers, t.truth[d.name], "{}, {seed}", d.name);
                    }
                }
            }
        }
    }
}

/// Other work, a clock that wanders, a daemon on another CPU: nothing infrequent kept the program waiting.
#[test]
fn nothing_is_invented() {
    let mut found: Vec<String> = Vec::new();
    for seed in 0..100 {
        let around = Surroundings { wander: [0.0, 0.1, 0.3][seed as usize % 3], company: seed % 2 == 0 };
        let t = trial(SAMPLES, &[], around, 1000 + seed);
        let l = learn(&t.observations, DaemonRule::Explained).unwrap();
        found.extend(names(&l).iter().map(|n| format!("{seed}: {n}")));
    }
    assert!(found.is_empty(), "{found:?}");
}

/// A daemon that comes in every third sample is the machine's normal state, whatever it takes.
#[test]
fn a_frequent_daemon_is_normal() {
    for seed in 0..5 {
        let t = trial(SAMPLES, &[short_lived("often", When::Share(0.33), 0.03)], TRIAL, 2000 + seed);
        assert_eq!(names(&learn(&t.observations, DaemonRule::Explained).unwrap()), [""; 0], "{seed}");
    }
}

/// What it does to process time is seen under a wandering clock, by comparison with neighbours.
#[test]
fn the_indirect_effect_is_found() {
    let hot = Injected { heats: 0.08, ..short_lived("hot", When::Share(0.1), 0.1) };
    let cold = short_lived("cold", When::Share(0.08), 0.1);
    for seed in 0..5 {
        let t = trial(SAMPLES, &[hot, cold], Surroundings { wander: 0.3, company: false }, 3000 + seed);
        let l = learn(&t.observations, DaemonRule::Explained).unwrap();
        let effect = |name: &str| found(&l, name).process_time.unwrap();
        let (hot, cold) = (effect("hot"), effect("cold"));
        assert!(hot.lengthens && (hot.change - 0.08).abs() < 0.03, "{seed}: {hot:?}");
        assert!(hot.low.unwrap() < 0.08 && hot.high.unwrap() > 0.05, "{seed}: {hot:?}");
        assert!(!cold.lengthens, "{seed}: {cold:?}");
    }
}

/// Without an account, by the papers' rule, or with too few accounts, nothing of it is used.
#[test]
fn without_an_account_the_plots_decide() {
    let t = trial(SAMPLES, &[short_lived("zz", When::Every(7.0), 0.25)], QUIET, 7);
    assert_eq!(learn(&t.observations, DaemonRule::Papers).unwrap().account, None);
    let without = |every: usize| -> Vec<Observation> {
        let waits = |(i, o): (usize, &Observation)| o.waits.clone().filter(|_| i % every != 0);
        let each = t.observations.iter().enumerate();
        each.map(|(i, o)| Observation { waits: waits((i, o)), ..o.clone() }).collect()
    };
    assert!(learn(&without(5), DaemonRule::Explained).unwrap().account.is_none());
    assert!(learn(&without(50), DaemonRule::Explained).unwrap().account.is_some());
}

/// Profiles of earlier versions have neither waits nor rule nor effects; what is stored reads back.
#[test]
fn stored_profiles_read_back() {
    let t = trial(40, &[], QUIET, 3);
    let part = ProfilePart { length: Nanos(300_000_000), runs: vec![], observations: t.observations };
    let effect = GuardedEffect { waiting: Some(WaitingCutoff { short: Some(5e6), long: None }), process_time: None };
    let new = Cutoff { daemon: "a".into(), short: 1e6, task_time_limit: None, long: None, effect: Some(effect) };
    let old = Cutoff { effect: None, ..new.clone() };
    let given = Profile { short: part, rule: DaemonRule::Papers, ..profile(vec![new, old]) };
    let text = serde_json::to_string(&given).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), given);
    let mut value: serde_json::Value = serde_json::to_value(&given).unwrap();
    value.as_object_mut().unwrap().remove("rule");
    for o in value["short"]["observations"].as_array_mut().unwrap() {
        o.as_object_mut().unwrap().remove("waits");
    }
    value["cutoffs"][0].as_object_mut().unwrap().remove("effect");
    let earlier: Profile = serde_json::from_value(value).unwrap();
    assert_eq!((earlier.rule, earlier.cutoffs[0].effect), (DaemonRule::Explained, None));
    assert!(earlier.short.observations.iter().all(|o| o.waits.is_none()));
}

/// Twenty samples: in the fourth the program waited 250 ms for `zz`, which a profile knows.
fn run_with(lengthens: bool, discard: Option<DiscardRule>, account: bool) -> RunReport {
    let sample_of = |i: u32| {
        let mut waits = BTreeMap::from([("kworker".to_owned(), 50e-6)]);
        let mut cpu = vec![("kworker".to_owned(), 100e-6)];
        if i == 3 {
            waits.insert("zz".to_owned(), 0.25);
            cpu.push(("zz".to_owned(), 0.25));
        }
        let mut s = accounted(i, f64::from(i), (LENGTH + 1e-5 * f64::from(i % 5), 4e-4), &waits, &cpu);
        if !account {
            s.account = absent();
        }
        s
    };
    let samples: Vec<Sample> = (0..20).map(sample_of).collect();
    let process_time = ProcessTimeEffect { change: 0.004, low: Some(-0.016), high: Some(0.024), visits: 14, lengthens };
    let waiting = Some(WaitingCutoff { short: Some(100e6), long: None });
    let cutoff = Cutoff {
        daemon: "zz".into(),
        short: 120e6,
        task_time_limit: None,
        long: None,
        effect: Some(GuardedEffect { waiting, process_time: Some(process_time) }),
    };
    let mut run = run(1);
    run.plan.discard = discard;
    build(&run, &samples, Some(&profile(vec![cutoff])))
}

fn by_check_one(report: &RunReport, measure: Measure) -> Vec<u32> {
    let sigma = |r: &DiscardReason| matches!(r, DiscardReason::Sigma { .. });
    let of = report.series[0].discards.iter().filter(|d| d.measure == measure && !sigma(&d.reason));
    of.map(|d| d.index).collect()
}

fn detail(report: &RunReport) -> &CheckOneDetail {
    match &report.protocol.steps[4].finding {
        StepFinding::Outliers { check_one: CheckOne::Done { detail, .. }, .. } => detail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn samples_of_process_time_are_not_lost_to_waiting() {
    let report = run_with(false, None, true);
    assert_eq!((by_check_one(&report, Measure::Et), by_check_one(&report, Measure::Pt)), (vec![3], vec![]));
    let reason = &report.series[0].discards.iter().find(|d| d.measure == Measure::Et).unwrap().reason;
    let DiscardReason::Effect { daemon, waited, process_time, .. } = reason else { panic!("{reason:?}") };
    assert_eq!((daemon.as_str(), *waited), ("zz", Nanos(250_000_000)));
    assert_eq!(process_time.unwrap().visits, 14);
    let counts = RuleCounts { papers: 1, effect_elapsed: 1, effect_process_time: 0 };
    assert_eq!((detail(&report).rule, detail(&report).counts), (DiscardRule::Effect, Some(counts)));
    // A daemon that lengthens process time spoils it too.
    let report = run_with(true, None, true);
    assert_eq!((by_check_one(&report, Measure::Et), by_check_one(&report, Measure::Pt)), (vec![3], vec![3]));
    assert_eq!(by_check_one(&report, Measure::Net), [3]);
    // By the papers' rule, or without an account, for every time.
    for report in [run_with(false, Some(DiscardRule::Papers), true), run_with(false, None, false)] {
        assert_eq!((by_check_one(&report, Measure::Et), by_check_one(&report, Measure::Pt)), (vec![3], vec![3]));
        assert_eq!(detail(&report).rule, DiscardRule::Papers);
    }
    assert_eq!(detail(&run_with(false, Some(DiscardRule::Papers), true)).counts, Some(counts));
    assert_eq!(detail(&run_with(false, None, false)).counts, None);
}

/// EMPv5 is held only if check 1 could find something at this elapsed time.
#[test]
fn the_step_is_judged_by_what_check_one_can_find() {
    let samples: Vec<Sample> = (0..12)
        .map(|i| accounted(i, f64::from(i), (LENGTH, 1.0), &BTreeMap::new(), &[("cron".to_owned(), 1e-6)]))
        .collect();
    let with = |limit: i64, length: f64, others: Vec<Cutoff>| {
        let cutoff =
            Cutoff { daemon: "cron".into(), short: 1e9, task_time_limit: Some(Nanos(limit)), long: None, effect: None };
        let observation = Observation { elapsed: Nanos::from_secs_f64(length), ..Observation::of(&samples[0]) };
        let short = ProfilePart { length: Nanos(1), runs: vec![], observations: vec![observation] };
        let given = Profile { short, ..profile(others.into_iter().chain([cutoff]).collect()) };
        build(&run(1), &samples, Some(&given))
    };
    let standing = |r: &RunReport| r.protocol.steps[4].standing;
    // The program takes 1.3 s of the clock, 0.3 s of a CPU.
    let held = with(2_000_000_000, 1.3, vec![]);
    assert_eq!((standing(&held), detail(&held).without_cutoff.len()), (Standing::Held, 0));
    let none = with(1_000_000_000, 1.3, vec![]);
    assert_eq!((standing(&none), detail(&none).finds_nothing), (Standing::NotHeld, true));
    let other = Cutoff { daemon: "other".into(), short: 1e9, task_time_limit: None, long: None, effect: None };
    let named = with(1_000_000_000, 1.3, vec![other]);
    assert_eq!((standing(&named), detail(&named).without_cutoff.clone()), (Standing::Held, vec!["cron".to_owned()]));
    let short = with(2_000_000_000, 0.5, vec![]);
    assert_eq!(
        (standing(&short), detail(&short).too_short.unwrap().task_time),
        (Standing::NotHeld, Nanos(1_300_000_000))
    );
}
