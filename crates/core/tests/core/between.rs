//! The spread between runs of a program, from earlier runs.

use crate::common::run;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::stored::{PastMedian, PastRun, PastSeries};
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::between::spreads;
use tarebench_core::run::data::Run;
use tarebench_core::run::identity::program_identity;
use tarebench_core::run::notes::{Note, ProgramSpread, spread};
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
    assert!((0.02..0.1).contains(&between.share), "{between:?}");
    let interval = between.widen(Interval { low: 99.0, high: 101.0, level: 0.95 }, 100.0);
    assert!(interval.low < 98.0 && interval.high > 102.0);
    assert_eq!(spread(&[Note::Spread { programs: found.clone() }], 0, Measure::Pt), Some(*between));
    assert_eq!(spread(&[Note::Spread { programs: found.clone() }], 0, Measure::Et), None);
    let mut other = run.clone();
    other.host.machine = "another".to_owned();
    assert_eq!(spreads(&other, &history), []);
}

#[test]
fn the_mean_of_many_runs_is_within() {
    let run = run(1);
    let mut rng = generator(81, RandomPurpose::Noise, 0);
    let holds = |_| {
        let mut median = || 1e9 * (0.03 * normal(&mut rng)).exp();
        let history: Vec<PastRun> = (0..6).map(|i| past(&run, i, median())).collect();
        let this = median();
        let point = Interval { low: this, high: this, level: 0.95 };
        spreads(&run, &history).first().is_some_and(|s| s.between.widen(point, this).contains(1e9))
    };
    let held = (0..400).map(holds).filter(|h| *h).count();
    assert!(held >= 368, "{held} of 400");
}
