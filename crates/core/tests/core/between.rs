//! The spread between runs of a program, from earlier runs.

use crate::common::run;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::stored::{PastMedian, PastRun, PastSeries};
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::between::spreads;
use tarebench_core::run::data::Run;
use tarebench_core::run::identity::program_identity;
use tarebench_core::run::notes::{BetweenRuns, Note, ProgramSpread, spread};
use tarebench_core::sample::measure::Measure;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::random::{RandomPurpose, generator, normal};

fn past(run: &Run, number: u32, median: f64) -> PastRun {
    let series = PastSeries {
        program: program_identity(&run.plan, &run.plan.programs[0]),
        medians: vec![PastMedian { measure: Measure::Pt, median }],
        ratios: Vec::new(),
    };
    PastRun {
        uuid: format!("{number}"),
        created: Nanos::from_millis(i64::from(number) * 60_000),
        machine: run.host.machine.clone(),
        fingerprint: fingerprint(&run.host, &run.factors),
        series: vec![series],
    }
}

#[test]
fn five_runs_tell() {
    let run = run(1);
    let history: Vec<PastRun> = (0..5).map(|i| past(&run, i, 1e9 * (1.0 + 0.01 * f64::from(i)))).collect();
    assert_eq!(spreads(&run, &history[..4]), []);
    let found = spreads(&run, &history);
    let [ProgramSpread { series: 0, measure: Measure::Pt, between }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(between.runs, 5);
    assert!((0.04..0.15).contains(&between.share), "{between:?}");
    let interval = between.widen(Interval { low: 99.0, high: 101.0, level: 0.95 }, 100.0);
    assert!(interval.low < 98.0 && interval.high > 102.0);
    assert_eq!(spread(&[Note::Spread { programs: found.clone() }], 0, Measure::Pt), Some(*between));
    assert_eq!(spread(&[Note::Spread { programs: found.clone() }], 0, Measure::Et), None);
    for share in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        let wrong = ProgramSpread { between: BetweenRuns { share, ..*between }, ..found[0] };
        assert_eq!(spread(&[Note::Spread { programs: vec![wrong] }], 0, Measure::Pt), None, "{share}");
    }
    let mut other = run.clone();
    other.host.machine = "another".to_owned();
    assert_eq!(spreads(&other, &history), []);
}

/// Of so many histories of runs, whose logarithms have this deviation and resemble the one before, in which the value of a run after
/// them is as near to that of many runs as was said.
fn held(earlier: u32, rho: f64, deviation: f64, histories: u32) -> u32 {
    let run = run(1);
    let mut rng = generator(81 + u64::from(earlier), RandomPurpose::Noise, (10.0 * rho) as u64);
    let holds = |_| {
        let mut state = normal(&mut rng);
        let mut next = || {
            state = rho * state + (1.0 - rho * rho).sqrt() * normal(&mut rng);
            1e9 * (deviation * state).exp()
        };
        let history: Vec<PastRun> = (0..earlier).map(|i| past(&run, i, next())).collect();
        let this = next();
        let point = Interval { low: this, high: this, level: 0.95 };
        spreads(&run, &history).first().is_some_and(|s| s.between.widen(point, this).contains(1e9))
    };
    (0..histories).map(holds).filter(|h| *h).count() as u32
}

#[test]
fn the_mean_of_many_runs_is_within() {
    for (earlier, rho) in [(5, 0.0), (12, 0.5), (20, 0.7)] {
        let held = held(earlier, rho, 0.02, 200);
        assert!(held >= 176, "{earlier} runs, correlation {rho}: {held} of 200");
    }
}

#[test]
#[ignore = "slow: 1,000 histories of each kind (make slow)"]
fn the_mean_of_many_runs_is_within_in_90_of_100_histories() {
    let mut short = Vec::new();
    for earlier in [5, 8, 12, 20, 40] {
        for rho in [0.0, 0.3, 0.5, 0.7] {
            for deviation in [0.003, 0.01, 0.05] {
                let held = held(earlier, rho, deviation, 1_000);
                println!("{earlier} earlier runs, correlation {rho}, deviation {deviation}: {held} of 1,000");
                if held < 900 {
                    short.push((earlier, rho, deviation, held));
                }
            }
        }
    }
    assert!(short.is_empty(), "{short:?}");
}
