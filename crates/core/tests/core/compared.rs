//! What of a run is stored with a comparison of stored runs, from data with a known answer.

use crate::common::*;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::RatioBasis;
use tarebench_core::machine::conditions::fingerprint;
use tarebench_core::run::compared::{block_metrics, block_ratios, compared_run, past_run, program_identity, side};
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Command, Input, Order, RunPlan};
use tarebench_core::run::report::build::build;
use tarebench_core::run::samples::Kept;
use tarebench_core::sample::data::{MetricReading, Outcome, Sample};
use tarebench_core::sample::measure::Measure;

const MS: i64 = 1_000_000;

/// Program 1 takes twice as long as program 0; both drift.
fn samples() -> Vec<Sample> {
    let timed = |(series, index): (u32, u32)| {
        let pt = (100 + i64::from(index)) * MS * (1 + i64::from(series));
        Sample { seq: 2 * index + series, ..sample(series, index, Nanos(pt), vec![]) }
    };
    (0..9).flat_map(|i| [(0, i), (1, i)]).map(timed).collect()
}

#[test]
fn a_program_is_the_same_if_all_that_it_is_started_with_is() {
    let plan = plan(1);
    let identity = |plan: &RunPlan| program_identity(plan, &plan.programs[0]);
    let changed = |change: &dyn Fn(&mut RunPlan)| {
        let mut other = plan.clone();
        change(&mut other);
        identity(&other)
    };
    let same = identity(&plan);
    assert_eq!(same.len(), 16);
    assert_eq!(changed(&|p| p.programs[0].label = "another name".to_owned()), same);
    assert_eq!(changed(&|p| p.warmup = 9), same);
    let others = [
        changed(&|p| p.programs[0].command = Command::Argv(vec![Name::from("p"), Name::from("0")])),
        changed(&|p| p.programs[0].cwd = Some(Name::from("/tmp"))),
        changed(&|p| p.cwd = Name::from("/home")),
        changed(&|p| p.env = vec![(Name::from("A"), Name::from("B"))]),
        changed(&|p| p.user = Some("nobody".to_owned())),
        changed(&|p| p.input = Input::File(Name::from("numbers"))),
        same,
    ];
    for (i, one) in others.iter().enumerate() {
        assert!(others.iter().skip(i + 1).all(|other| other != one), "{i}");
    }
}

#[test]
fn a_side_has_what_its_program_printed() {
    let mut all = samples();
    for s in &mut all {
        let value = i64::from(s.index) - i64::from(s.series);
        s.metrics = vec![MetricReading { name: "left".to_owned(), text: Reading::Value(value.to_string()) }];
    }
    let report = build(&run(2), &all, None);
    let found = side(0, &report, 1).unwrap().metrics;
    let [metric] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((metric.name.as_str(), metric.samples, metric.median, metric.smallest), ("left", 9, 3.0, -1.0));
    assert!(metric.interval.as_ref().unwrap().contains(3.0));
    // Rounds in which a value is zero or negative have no ratio.
    let within = block_metrics(&report.comparisons[0]);
    assert_eq!((within.len(), within[0].name.as_str(), within[0].pairs), (1, "left", 7));
}

#[test]
fn a_side_has_its_times_and_its_reference() {
    let run = run(2);
    let report = build(&run, &samples(), None);
    let found = side(3, &report, 1).unwrap();
    assert_eq!((found.run, found.series, found.label.as_str()), (3, 1, "p1"));
    let pt = found.times.iter().find(|t| t.measure == Measure::Pt).unwrap();
    assert_eq!((pt.samples, pt.median), (9, 208.0 * MS as f64));
    assert!(pt.interval.as_ref().unwrap().contains(pt.median));
    let against = found.against.unwrap();
    assert_eq!((against.label.as_str(), &against.program), ("p0", &program_identity(&run.plan, &run.plan.programs[0])));
    assert!(against.ratios.iter().all(|r| r.basis == RatioBasis::Alone));
    let ratio = against.ratios.iter().find(|r| r.measure == Measure::Pt).unwrap();
    assert!((ratio.ratio - 2.0).abs() < 1e-12 && ratio.pairs == 9, "{ratio:?}");
    assert_eq!(block_ratios(&report.comparisons[0]), against.ratios);
    // The reference has none, and there is no third program.
    assert_eq!(side(0, &report, 0).unwrap().against, None);
    assert_eq!(side(0, &report, 2), None);
    // In a sequential run, a drift is a part of the ratio.
    let mut sequential = run.clone();
    sequential.plan.order = Order::Sequential;
    assert_eq!(side(0, &build(&sequential, &samples(), None), 1).unwrap().against, None);
    let compared = compared_run(&run, Vec::new());
    assert_eq!((compared.run, compared.conditions.host(), compared.conditions.factors().len()), (7, &run.host, 0));
}

#[test]
fn a_past_run_has_medians_and_ratios() {
    let run = run(2);
    let mut samples = samples();
    // One that failed counts nowhere.
    samples.push(Sample { seq: 99, outcome: Outcome::Exited { code: 1 }, ..sample(1, 9, Nanos(1), vec![]) });
    let read = |run: &Run, samples: &[Sample]| {
        let Ok(found) = past_run(run, &Kept { samples, duets: &[] });
        found
    };
    let found = read(&run, &samples);
    assert_eq!((&found.uuid, found.created), (&run.uuid, run.created));
    assert_eq!(found.fingerprint, fingerprint(&run.host, &run.factors));
    let [first, second] = found.series.as_slice() else { panic!("two programs") };
    let median = |series: &tarebench_core::compare::stored::PastSeries| {
        series.medians.iter().find(|m| m.measure == Measure::Pt).unwrap().median
    };
    assert_eq!((median(first), median(second)), (104.0 * MS as f64, 208.0 * MS as f64));
    assert_eq!(first.ratios, []);
    let ratio = second.ratios.iter().find(|r| r.measure == Measure::Pt).unwrap();
    assert_eq!((ratio.basis, &ratio.reference), (RatioBasis::Alone, &first.program));
    assert!((ratio.log - 2.0_f64.ln()).abs() < 1e-12);
    let none = read(&run, &[]);
    assert!(none.series.iter().all(|s| s.medians.is_empty() && s.ratios.is_empty()));
}
