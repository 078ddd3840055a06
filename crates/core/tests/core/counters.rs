//! The counters of programs in a report, and comparisons by them.

use crate::common::{run, sample};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::counters::{CounterSummary, CountersReport};
use tarebench_core::run::report::data::{ComparedNumber, RatioBasis, RunReport};
use tarebench_core::run::report::metrics::NoMetricRatio;
use tarebench_core::sample::counters::{Counter, CounterEvent, EventCount, EventTimes};
use tarebench_core::sample::data::Sample;

const TIME: Nanos = Nanos(1_000_000);

/// Ten samples of each of two programs, of which the second executes 1% more instructions; both wait for memory as long.
fn counted() -> Vec<Sample> {
    let counts = |series: u32, index: u32| {
        let user = 1_000_000 + 10_000 * u64::from(series) + u64::from(index % 3);
        let complete = |count| Reading::Value(EventCount::complete(count, TIME));
        let scaled = EventCount {
            count: 50,
            times: Reading::Value(EventTimes { enabled: TIME, running: Nanos(500_000 + i64::from(index)) }),
            user_only: false,
        };
        let no_event = Absent::NotSupported("the PMU of this CPU does not count it".into());
        vec![
            (CounterEvent::TaskClock, complete(1_000_000)),
            (CounterEvent::ContextSwitches, complete(0)),
            (CounterEvent::CyclesUser, complete(3_000_000)),
            (CounterEvent::CyclesKernel, complete(0)),
            (CounterEvent::InstructionsUser, complete(user)),
            (CounterEvent::InstructionsKernel, complete(500_000)),
            (CounterEvent::Branches, complete(1_000)),
            (CounterEvent::BranchMisses, Reading::Value(scaled)),
            (CounterEvent::CacheMisses, Reading::Absent(no_event)),
        ]
    };
    let one = |i: u32| {
        let (series, index) = (i % 2, i / 2);
        let mut s = sample(series, index, Nanos(10_000_000), Vec::new());
        s.seq = i;
        s.counters = Reading::Value(counts(series, index).into_iter().collect());
        s
    };
    (0..20).map(one).collect()
}

fn report() -> RunReport {
    build(&run(2), &counted(), None)
}

fn counters(report: &RunReport) -> &CountersReport {
    report.series[0].counters.value().unwrap()
}

fn summary(report: &RunReport, counter: Counter) -> &CounterSummary {
    counters(report).get(counter).unwrap()
}

#[test]
fn the_figures_of_counters() {
    let report = report();
    let f = summary(&report, Counter::InstructionsUser).figures.value().unwrap();
    assert_eq!((f.values, f.min, f.max, f.median), (10, 1_000_000.0, 1_000_002.0, 1_000_001.0));
    assert_eq!(summary(&report, Counter::Instructions).figures.value().unwrap().min, 1_500_000.0);
    let c = counters(&report);
    assert_eq!(c.clock_ghz, Reading::Value(3.0));
    assert!((c.per_cycle.value().unwrap() - 0.5).abs() < 1e-6, "{c:?}");
    assert!((c.kernel_share.value().unwrap() - 1.0 / 3.0).abs() < 1e-6, "{c:?}");
    // 50 in half of the time.
    assert!((c.branch_miss_rate.value().unwrap() - 0.1).abs() < 1e-4, "{c:?}");
}

#[test]
fn an_estimate_is_marked_and_what_is_absent_is_not_zero() {
    let report = report();
    let scaled = summary(&report, Counter::BranchMisses).scaled.unwrap();
    assert_eq!((scaled.samples, scaled.least), (10, 0.5));
    assert_eq!(summary(&report, Counter::Branches).scaled, None);
    let misses = summary(&report, Counter::CacheMisses);
    assert!(matches!(&misses.figures, Reading::Absent(Absent::NotSupported(_))), "{misses:?}");
    assert!(counters(&report).cache_miss_rate.absent().is_some());
    assert_eq!(summary(&report, Counter::ContextSwitches).figures.value().unwrap().max, 0.0);
}

#[test]
fn the_verdict_can_be_that_of_a_counter() {
    let automatic = report();
    let mut report = automatic.clone();
    assert_eq!(report.compare_by_number(ComparedNumber::Counter(Counter::InstructionsUser)), Ok(()));
    let c = &report.comparisons[0];
    assert_eq!((c.by_counter, c.basis, c.pairs), (Some(Counter::InstructionsUser), RatioBasis::Alone, 10));
    assert_eq!(c.verdict, Verdict::Slower);
    assert!((c.ratio - 1.01).abs() < 1e-5 && c.interval.is_ok(), "{c:?}");
    assert_eq!(c.disagreeing(), None);
    assert_eq!(report.compare_by_number(ComparedNumber::Counter(Counter::Cycles)), Ok(()));
    assert_eq!(report.comparisons[0].ratio, 1.0);
    let mut refused = |counter| report.compare_by_number(ComparedNumber::Counter(counter));
    assert_eq!(refused(Counter::ContextSwitches), Err(NoMetricRatio::NotPositive { series: 0 }));
    assert_eq!(refused(Counter::CacheMisses), Err(NoMetricRatio::Absent { series: 0 }));
    assert_eq!(refused(Counter::PageFaults), Err(NoMetricRatio::Absent { series: 0 }));
    assert_eq!(report.compare_by(automatic.comparisons[0].measure), Ok(()));
    assert_eq!(report, automatic);
}
