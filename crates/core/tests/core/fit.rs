//! Growth from the report of a run.

use crate::common::sample;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::fit::{GrowthMeasure, MissingSize, NoSizeFit, size_fit};
use tarebench_core::run::data::Run;
use tarebench_core::run::report::build::build;
use tarebench_core::sample::counters::{CounterEvent, EventCount};
use tarebench_core::sample::data::Sample;
use tarebench_core::statistics::growth::Growth;

/// A run of one program with these values of `n`, and three samples of each, of 1 ms + 2 ns n².
fn measured(values: &[&str]) -> (Run, Vec<Sample>) {
    let mut run = crate::common::run(values.len());
    for (program, value) in run.plan.programs.iter_mut().zip(values) {
        program.label = format!("prog {value}");
        program.parameters.insert("n".to_owned(), (*value).to_owned());
    }
    let mut samples = Vec::new();
    for (series, value) in (0..).zip(values) {
        let n: f64 = value.parse().unwrap_or(1.0);
        let time = Nanos((1e6 + 2.0 * n * n) as i64);
        samples.extend((0..3).map(|index| sample(series, index, time, Vec::new())));
    }
    (run, samples)
}

#[test]
fn the_growth_of_a_run() {
    let (run, samples) = measured(&["10", "1000", "100", "3000", "10000", "300", "30"]);
    let fit = size_fit(&build(&run, &samples, None), GrowthMeasure::Pt).unwrap();
    assert_eq!((fit.program.as_str(), fit.parameter.as_str()), ("prog 10000", "n"));
    assert_eq!(fit.complexity.agreeing, [Growth::Quadratic]);
    assert_eq!(fit.complexity.points.iter().map(|p| p.runs).collect::<Vec<_>>(), [3; 7]);
    assert!(fit.missing.is_empty());
}

#[test]
fn a_size_without_a_time_is_said_to_be_missing() {
    let (run, samples) = measured(&["10", "1000", "100", "3000", "10000", "300", "30"]);
    let without: Vec<Sample> = samples.into_iter().filter(|s| s.series != 4).collect();
    let fit = size_fit(&build(&run, &without, None), GrowthMeasure::Pt).unwrap();
    let why = Absent::NotAsked("no counted sample was taken".to_owned());
    assert_eq!((fit.missing, fit.complexity.points.len()), (vec![MissingSize { size: 10_000.0, why }], 6));
}

#[test]
fn the_reason_why_sizes_have_no_value_is_kept() {
    let (run, mut samples) = measured(&["10", "1000", "100", "3000", "10000"]);
    let lost = Absent::Lost("3 exit records".to_owned());
    for s in samples.iter_mut().filter(|s| s.series == 1) {
        s.process_times = Reading::Absent(lost.clone());
    }
    let refused = size_fit(&build(&run, &samples, None), GrowthMeasure::Pt).unwrap_err();
    let missing = vec![MissingSize { size: 1000.0, why: lost }];
    assert_eq!(refused, NoSizeFit::Missing { parameter: "n".to_owned(), have: 4, need: 5, missing });
}

#[test]
fn the_growth_of_instructions() {
    let sizes = ["10", "1000", "100", "3000", "10000", "300", "30"];
    let (run, mut samples) = measured(&sizes);
    let report = build(&run, &samples, None);
    let NoSizeFit::Missing { have: 0, missing, .. } = size_fit(&report, GrowthMeasure::Instructions).unwrap_err()
    else {
        panic!("nothing was counted")
    };
    assert_eq!((missing.len(), missing[0].size), (7, 10.0));
    for s in &mut samples {
        let n: u64 = sizes[s.series as usize].parse().unwrap();
        let (user, kernel) = (1_000 + 7 * n, 500 + u64::from(s.index));
        let count = |count| Reading::Value(EventCount::complete(count, Nanos(1)));
        let counted =
            [(CounterEvent::InstructionsUser, count(user)), (CounterEvent::InstructionsKernel, count(kernel))];
        s.counters = Reading::Value(counted.into_iter().collect());
    }
    let fit = size_fit(&build(&run, &samples, None), GrowthMeasure::Instructions).unwrap();
    assert_eq!((fit.measure, fit.complexity.simplest()), (GrowthMeasure::Instructions, Growth::Linear));
    let first = &fit.complexity.points[0];
    // Kernel: 500, 501, 502.
    assert_eq!((first.size, first.runs, first.mean, first.std_dev), (10.0, 3, 1571.0, Some(1.0)));
}

#[test]
fn what_has_no_sizes_is_refused() {
    let refused = |values: &[&str]| {
        let (run, samples) = measured(values);
        size_fit(&build(&run, &samples, None), GrowthMeasure::Pt).unwrap_err()
    };
    assert_eq!(refused(&["7"]), NoSizeFit::NoParameter);
    let wrong = NoSizeFit::NotANumber { parameter: "n".to_owned(), value: "x".to_owned() };
    assert_eq!(refused(&["1", "x"]), wrong);
    assert_eq!(refused(&["1", "2", "1"]), NoSizeFit::SeveralPrograms("1".to_owned()));
    assert!(matches!(refused(&["1", "2", "3", "4"]), NoSizeFit::TooLittle(_)));
    let (mut run, samples) = measured(&["1", "2", "3", "4", "5"]);
    for (i, program) in run.plan.programs.iter_mut().enumerate() {
        program.parameters.insert("m".to_owned(), i.to_string());
    }
    let several = size_fit(&build(&run, &samples, None), GrowthMeasure::Pt).unwrap_err();
    assert_eq!(several, NoSizeFit::SeveralParameters(vec!["m".to_owned(), "n".to_owned()]));
}
