use super::*;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::PI;
use tarebench_core::statistics::random::{RandomPurpose, generator, shuffle, unit};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (-2.0 * unit(rng).ln()).sqrt() * (2.0 * PI * unit(rng)).cos()
}

/// A fleet that is simulated: the same programs on each machine, several runs of them, in hours.
struct SimulatedFleet {
    /// Logarithm of each machine's slowness.
    machines: Vec<f64>,
    runs: usize,
    programs: usize,
    samples: usize,
    /// Standard deviation between executions (layout), and between runs.
    executions: f64,
    between: f64,
    /// Machine that gets slower by this much from its first run to its last one.
    drift: Option<(usize, f64)>,
}

impl SimulatedFleet {
    fn alike(machines: usize, runs: usize) -> SimulatedFleet {
        let machines = vec![0.0; machines];
        SimulatedFleet { machines, runs, programs: 2, samples: 10, executions: 0.01, between: 0.003, drift: None }
    }

    fn with(mut self, machine: usize, slower: f64) -> SimulatedFleet {
        self.machines[machine] = slower;
        self
    }

    fn draw(&self, seed: u64) -> Vec<NodeRun> {
        let mut rng = generator(seed, RandomPurpose::Noise, 77);
        let mut all = Vec::new();
        for (m, slower) in self.machines.iter().enumerate() {
            for r in 0..self.runs {
                let along = r as f64 / (self.runs - 1).max(1) as f64;
                let drift = self.drift.filter(|(at, _)| *at == m).map_or(0.0, |(_, by)| by * along);
                let level = slower + drift + self.between * normal(&mut rng);
                for p in 0..self.programs {
                    let time =
                        |rng: &mut ChaCha8Rng| 1e8 * (p + 1) as f64 * (level + self.executions * normal(rng)).exp();
                    all.push(NodeRun {
                        machine: format!("n{m:03}"),
                        fingerprint: "f".to_owned(),
                        run: format!("{m}-{r}"),
                        started: Nanos(r as i64 * 3_600_000_000_000),
                        program: format!("p{p}"),
                        times: (0..self.samples).map(|_| time(&mut rng)).collect(),
                        added: Some(0.01),
                    });
                }
            }
        }
        all
    }

    fn report(&self, seed: u64) -> NodesReport {
        nodes(&self.draw(seed), Measure::Net)
    }

    /// Names that any sentence of the report has.
    fn named(&self, seed: u64) -> BTreeSet<String> {
        named(&self.report(seed).fleets[0])
    }
}

fn named(fleet: &NodeFleet) -> BTreeSet<String> {
    let odd = fleet.machines.iter().filter(|r| r.odd || r.differs).map(|r| r.machine.clone());
    let groups = fleet.groups.iter().flat_map(|g| g.slow.clone());
    odd.chain(fleet.drifting.clone()).chain(groups).collect()
}

fn just(name: &str) -> BTreeSet<String> {
    BTreeSet::from([name.to_owned()])
}

#[test]
fn one_of_a_hundred_is_found() {
    for (seed, executions) in [(1, 0.005), (2, 0.01), (3, 0.02)] {
        for slower in [0.03, -0.03] {
            let fleet = SimulatedFleet { executions, ..SimulatedFleet::alike(100, 5) }.with(37, slower);
            let report = fleet.report(seed);
            let [f] = report.fleets.as_slice() else { panic!("{report:?}") };
            assert_eq!(f.answer, OddAnswer::Yes(vec!["n037".to_owned()]), "{executions} {slower}");
            assert_eq!((named(f), report.machines, report.runs), (just("n037"), 100, 500));
            // It is the first row, and its interval has its ratio.
            let row = &f.machines[0];
            assert!(row.machine == "n037" && row.odd && row.differs, "{row:?}");
            assert!(row.interval.as_ref().unwrap().contains(slower.exp()) && (row.ratio.ln() - slower).abs() < 0.01);
            assert!(f.machines[1..].windows(2).all(|w| w[0].ratio >= w[1].ratio), "the others by their ratios");
            let spread = f.spread.runs.unwrap();
            assert!((0.0..0.007).contains(&spread), "between runs: {spread}");
            let found = f.spread.executions.unwrap();
            assert!((found / executions - 1.0).abs() < 0.2, "between executions: {found}");
            assert!(f.spread.machines.unwrap() < 0.002, "{:?}", f.spread);
            assert!((0.005..0.03).contains(&f.detectable.unwrap()), "{:?}", f.detectable);
        }
    }
}

#[test]
fn one_of_several_is_found() {
    for machines in [3, 5, 12] {
        let fleet = SimulatedFleet::alike(machines, 5).with(1, 0.03);
        let found = (0..40).filter(|seed| fleet.named(*seed) == just("n001")).count();
        assert!(found >= 36, "{machines} machines: {found} of 40");
    }
    // One run each, as on the idle nodes of a cluster: against the spread of the others.
    let fleet = SimulatedFleet::alike(60, 1).with(1, 0.05);
    let found = (0..40).filter(|seed| fleet.named(*seed) == just("n001")).count();
    assert!(found >= 36, "{found} of 40");
    assert!(fleet.report(1).fleets[0].single_runs);
}

#[test]
fn machines_that_are_alike_are_not_named() {
    let designs = [(100, 3), (20, 10), (10, 1), (40, 1), (8, 3), (4, 6), (3, 3), (2, 5)];
    for (machines, runs) in designs {
        let fleets = if machines > 50 { 60 } else { 200 };
        let fleet = SimulatedFleet::alike(machines, runs);
        let wrong: Vec<u64> = (0..fleets).filter(|seed| !fleet.named(*seed).is_empty()).collect();
        assert!(wrong.len() * 20 <= fleets as usize, "{machines} machines, {runs} runs: {} of {fleets}", wrong.len());
    }
}

/// Noise that differs between machines, and executions with a long tail.
#[test]
fn other_noise_is_no_odd_machine() {
    let mut rng = generator(5, RandomPurpose::Noise, 78);
    let wrong = (0..100).filter(|seed| {
        let mut runs = SimulatedFleet::alike(20, 4).draw(*seed);
        for r in &mut runs {
            let noisy = r.machine.ends_with('3');
            for t in &mut r.times {
                *t *= (-0.005 * unit(&mut rng).ln() + if noisy { 0.05 * normal(&mut rng) } else { 0.0 }).exp();
            }
        }
        !named(&nodes(&runs, Measure::Pt).fleets[0]).is_empty()
    });
    let wrong = wrong.count();
    assert!(wrong <= 5, "{wrong} of 100");
}

#[test]
fn two_groups_are_named_as_such() {
    for (n, slow) in [(20, 10), (30, 9), (100, 50)] {
        let mut fleet = SimulatedFleet::alike(n, 4);
        fleet.machines.iter_mut().take(slow).for_each(|m| *m = 0.04);
        let mut without_odd = 0;
        for seed in 0..10 {
            let report = fleet.report(seed);
            let f = &report.fleets[0];
            let OddAnswer::TwoGroups { odd } = &f.answer else { panic!("{n} {slow} {seed}: {:?}", f.answer) };
            without_odd += u32::from(odd.is_empty());
            let g = f.groups.as_ref().unwrap();
            assert_eq!((g.slow.len(), g.fast.len()), (slow, n - slow));
            assert!(g.slow.iter().all(|name| name[1..].parse::<usize>().unwrap() < slow));
            assert!((g.ratio.ln() - 0.04).abs() < 0.006, "{}", g.ratio);
        }
        assert!(without_odd >= 9, "{n} {slow}: {without_odd} of 10");
    }
    // An odd one in one of them.
    let mut fleet = SimulatedFleet::alike(40, 5).with(30, 0.1);
    fleet.machines.iter_mut().take(15).for_each(|m| *m = 0.04);
    let answers: Vec<OddAnswer> = (0..30).map(|seed| fleet.report(seed).fleets[0].answer.clone()).collect();
    let exact = answers.iter().filter(|a| **a == OddAnswer::TwoGroups { odd: vec!["n030".to_owned()] }).count();
    assert!(exact >= 27, "{answers:?}");
    let first = |a: &OddAnswer| matches!(a, OddAnswer::TwoGroups { odd } if odd[0] == "n030");
    assert!(answers.iter().all(first), "{answers:?}");
}

#[test]
fn a_machine_that_drifts_is_named() {
    let fleet = SimulatedFleet { drift: Some((4, 0.03)), ..SimulatedFleet::alike(20, 12) };
    let found = (0..40).filter(|seed| {
        let report = fleet.report(*seed);
        let f = &report.fleets[0];
        let row = f.machines.iter().find(|r| r.machine == "n004").unwrap();
        let drift = row.drift.as_ref().unwrap();
        let covers = drift.interval.contains(0.03_f64.exp()) && drift.span == Nanos(11 * 3_600_000_000_000);
        f.drifting == ["n004"] && named(f) == just("n004") && covers
    });
    let found = found.count();
    assert!(found >= 36, "{found} of 40");
    // A change of all machines is the fleet's, and no machine's.
    let mut runs = SimulatedFleet::alike(20, 12).draw(1);
    for r in &mut runs {
        let along = r.started.0 as f64 / (11.0 * 3_600e9);
        r.times.iter_mut().for_each(|t| *t *= (0.03 * along).exp());
    }
    let f = &nodes(&runs, Measure::Net).fleets[0];
    assert_eq!((f.drifting.len(), &f.answer), (0, &OddAnswer::No));
    assert!((f.common_drift.unwrap().ln() - 0.03).abs() < 0.005, "{:?}", f.common_drift);
}

#[test]
fn intervals_hold_together() {
    for (machines, runs) in [(30, 3), (12, 6), (5, 4), (2, 4), (20, 1)] {
        let mut rng = generator(6, RandomPurpose::Noise, 79);
        let covering = (0..200).filter(|seed| {
            let mut fleet = SimulatedFleet::alike(machines, runs);
            if runs > 1 {
                // Machines that truly differ.
                fleet.machines.iter_mut().for_each(|m| *m = 0.01 * normal(&mut rng));
            }
            let typical = median_of(fleet.machines.clone()).unwrap();
            let report = fleet.report(*seed);
            report.fleets[0].machines.iter().all(|row| {
                let truth = (fleet.machines[row.machine[1..].parse::<usize>().unwrap()] - typical).exp();
                let held = |i: &Option<Interval>| i.as_ref().is_some_and(|i| i.contains(truth));
                held(&row.interval) && row.programs.iter().all(|p| held(&p.interval))
            })
        });
        let covering = covering.count();
        assert!(covering >= 186, "{machines} machines, {runs} runs: {covering} of 200");
    }
}

#[test]
fn one_program_may_be_odd() {
    let mut runs = SimulatedFleet { programs: 6, ..SimulatedFleet::alike(30, 5) }.draw(8);
    for r in runs.iter_mut().filter(|r| r.machine == "n011" && r.program == "p2") {
        r.times.iter_mut().for_each(|t| *t *= 1.05);
    }
    let f = &nodes(&runs, Measure::Net).fleets[0];
    assert_eq!(f.answer, OddAnswer::Yes(vec!["n011".to_owned()]));
    let row = &f.machines[0];
    let differing: Vec<&str> = row.programs.iter().filter(|p| p.differs).map(|p| p.program.as_str()).collect();
    assert_eq!((row.ratio < 1.02, differing), (true, vec!["p2"]));
}

#[test]
fn few_machines_and_few_runs() {
    assert_eq!(nodes(&[], Measure::Pt).fleets.len(), 0);
    let answer = |machines, runs| SimulatedFleet::alike(machines, runs).report(2).fleets[0].answer.clone();
    assert_eq!(answer(1, 10), OddAnswer::Alone);
    assert_eq!((answer(2, 1), answer(2, 2), answer(7, 1)), (OddAnswer::TooFew, OddAnswer::TooFew, OddAnswer::TooFew));
    assert_eq!((answer(2, 5), answer(3, 5)), (OddAnswer::No, OddAnswer::No));
    let two = SimulatedFleet::alike(2, 5).with(1, 0.05).report(2);
    let f = &two.fleets[0];
    assert_eq!((&f.answer, f.machines[0].odd, f.machines[0].machine.as_str()), (&OddAnswer::TwoDiffer, false, "n001"));
    // Each is half of it away from the middle.
    assert!((f.machines[0].ratio.ln() - 0.025).abs() < 0.006 && f.machines[0].differs);
    let few = SimulatedFleet { samples: 1, ..SimulatedFleet::alike(5, 4) }.with(0, 0.1).report(2);
    assert_eq!(few.fleets[0].answer, OddAnswer::Yes(vec!["n000".to_owned()]));
    let wide =
        SimulatedFleet { machines: (0..20).map(|i| 0.005 * f64::from(i)).collect(), ..SimulatedFleet::alike(1, 6) };
    assert!(matches!(wide.report(4).fleets[0].answer, OddAnswer::Spread { differing } if differing > 8));
}

#[test]
fn programs_may_be_missing_and_fingerprints_differ() {
    let mut runs = SimulatedFleet::alike(12, 4).with(2, 0.05).draw(5);
    runs.retain(|r| r.machine != "n002" && r.machine != "n005" || r.program == "p1");
    let f = &nodes(&runs, Measure::Net).fleets[0];
    assert_eq!(named(f), just("n002"));
    let missing = |name: &str| f.machines.iter().find(|r| r.machine == name).unwrap().missing.clone();
    assert_eq!((missing("n005"), missing("n006").len()), (vec!["p0".to_owned()], 0));
    // Four machines with another CPU are slower, and one of them is odd among those; one machine got a new kernel.
    let mut fleet = SimulatedFleet::alike(20, 6).with(18, 0.26);
    fleet.machines[16] = 0.2;
    fleet.machines[17] = 0.2;
    fleet.machines[19] = 0.2;
    let mut runs = fleet.draw(6);
    for r in &mut runs {
        let new = r.machine == "n000" && r.started > Nanos(4 * 3_600_000_000_000);
        r.fingerprint = if r.machine.as_str() >= "n016" {
            "slow"
        } else if new {
            "new"
        } else {
            "fast"
        }
        .to_owned();
    }
    let report = nodes(&runs, Measure::Net);
    let all: Vec<(&str, usize)> = report.fleets.iter().map(|f| (f.fingerprint.as_str(), f.machines.len())).collect();
    assert_eq!(all, [("fast", 16), ("slow", 4), ("new", 1)]);
    assert_eq!((report.machines, report.changed.as_slice()), (20, ["n000".to_owned()].as_slice()));
    let answers: Vec<&OddAnswer> = report.fleets.iter().map(|f| &f.answer).collect();
    assert_eq!(answers, [&OddAnswer::No, &OddAnswer::Yes(vec!["n018".to_owned()]), &OddAnswer::Alone]);
    let to_first = report.fleets[1].ratio_to_first.unwrap();
    assert!((to_first.ln() - 0.2).abs() < 0.01 && report.fleets[0].ratio_to_first.is_none(), "{to_first}");
}

#[test]
fn a_report_is_the_same_after_json() {
    let report = SimulatedFleet { drift: Some((0, 0.05)), ..SimulatedFleet::alike(8, 7) }.with(3, 0.1).report(1);
    let text = serde_json::to_string(&report).unwrap();
    let back: NodesReport = serde_json::from_str(&text).unwrap();
    let names = |r: &NodesReport| r.fleets[0].machines.iter().map(|m| m.machine.clone()).collect::<Vec<_>>();
    assert_eq!((names(&back), &back.fleets[0].answer), (names(&report), &report.fleets[0].answer));
    // Numbers are read to within a unit of their last digit.
    assert!((back.fleets[0].machines[0].ratio / report.fleets[0].machines[0].ratio - 1.0).abs() < 1e-14);
    assert!(text.contains(r#""measure":"net""#) && text.contains(r#""answer":{"yes":["n003""#), "{text}");
}

/// Of an imported file: times that differ by more than a floating-point number can say.
#[test]
fn runs_that_differ_beyond_measure_have_a_report() {
    let run = |machine: &str, program: &str, at: i64, time: f64| NodeRun {
        machine: machine.to_owned(),
        fingerprint: "same".to_owned(),
        run: at.to_string(),
        started: Nanos(at),
        program: program.to_owned(),
        times: vec![time],
        added: None,
    };
    let runs = [run("a", "p", 0, 1.0), run("b", "q", 1, 1.0), run("b", "q", 2, 1e-135)];
    let text = serde_json::to_string(&nodes(&runs, Measure::Pt)).unwrap();
    assert!(serde_json::from_str::<NodesReport>(&text).is_ok(), "{text}");
}

fn any_run() -> BoxedStrategy<NodeRun> {
    let time = prop_oneof![
        4 => 1.0..1e12_f64,
        1 => proptest::num::f64::ANY,
        1 => proptest::sample::select(vec![0.0, -1.0, 1e-300, 1e300, 1.0, 1.0]),
    ];
    let times = proptest::collection::vec(time, 0..6).boxed();
    let at = prop_oneof![0..5_i64, any::<i64>()].boxed();
    (0..6_u8, 0..3_u8, 0..4_u8, at, 0..3_u8, times, proptest::option::of(proptest::num::f64::ANY))
        .prop_map(|(machine, fingerprint, run, started, program, times, added)| NodeRun {
            machine: machine.to_string(),
            fingerprint: (fingerprint / 2).to_string(),
            run: run.to_string(),
            started: Nanos(started),
            program: program.to_string(),
            times,
            added,
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_input_has_a_report(runs in proptest::collection::vec(any_run(), 0..40), seed in any::<u64>()) {
        let report = nodes(&runs, Measure::Pt);
        for f in &report.fleets {
            for r in &f.machines {
                prop_assert!(r.ratio.is_finite() && r.ratio > 0.0);
                prop_assert!(r.interval.as_ref().is_none_or(|i| i.low <= r.ratio && r.ratio <= i.high), "{:?}", r);
                prop_assert!(!r.odd || r.differs || f.groups.is_some());
            }
            prop_assert!(f.relevant >= 0.005 && f.spread.machines.is_none_or(f64::is_finite));
        }
        // JSON has no other numbers than finite ones.
        let text = serde_json::to_string(&report).unwrap();
        prop_assert!(serde_json::from_str::<NodesReport>(&text).is_ok(), "{}", text);
        // The order of the runs does not matter.
        let mut other = runs.clone();
        shuffle(&mut other, &mut generator(seed, RandomPurpose::Noise, 80));
        prop_assert_eq!(serde_json::to_string(&nodes(&other, Measure::Pt)).unwrap(), text);
    }
}
