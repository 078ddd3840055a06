//! What a report says of series that are not steady.

use crate::common::{run, sample};
use tarebench_core::base::units::Nanos;
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::{Measure, RunReport};
use tarebench_core::run::report::findings::{Remark, RemarkKind};
use tarebench_core::sample::data::{Outcome, Sample, SampleBlock};
use tarebench_core::statistics::steadiness::Unsteadiness;

/// 40 samples around 100 ms, the first `slow` of which take longer by a fifth.
fn warming_up(slow: u32) -> Vec<Sample> {
    let time = |i: u32| (if i < slow { 120_000_000 } else { 100_000_000 }) + i64::from(i * 25 % 41) * 50_017;
    (0..40).map(|i| sample(0, i, Nanos(time(i)), vec![])).collect()
}

fn unsteady(report: &RunReport) -> Vec<(Measure, bool, Unsteadiness)> {
    let found = report.remarks.iter().filter_map(|r| match &r.kind {
        RemarkKind::Unsteady { measure, blocks, found } => {
            assert_eq!((r.series, r.warning()), (Some(0), true));
            Some((*measure, *blocks, found.clone()))
        }
        _ => None,
    });
    found.collect()
}

#[test]
fn discarded_samples_count_and_failed_ones_do_not() {
    let report = build(&run(1), &warming_up(0), None);
    assert_eq!(unsteady(&report), []);
    // Check 2 discards a part of the warm-up; it is one all the same.
    let mut samples = warming_up(5);
    let report = build(&run(1), &samples, None);
    assert!(report.series[0].pt.value().unwrap().discarded_by_sigma > 0);
    let found = unsteady(&report);
    let [(Measure::Pt, false, Unsteadiness::WarmUp { samples: 5, first, later })] = found[..] else {
        panic!("{found:?}")
    };
    assert!((first / later - 1.2).abs() < 0.01, "{first} {later}");
    let json = serde_json::to_string(&report.remarks).unwrap();
    assert!(json.contains(r#""kind":"unsteady","measure":"pt","found":{"what":"warm_up","samples":5,"#), "{json}");
    assert_eq!(serde_json::from_str::<Vec<Remark>>(&json).unwrap(), report.remarks);
    samples[1].outcome = Outcome::Signaled { signal: 9 };
    // The first sample that is not of the warm-up has the same number, whatever failed before it.
    let found = unsteady(&build(&run(1), &samples, None));
    assert!(matches!(found[..], [(_, _, Unsteadiness::WarmUp { samples: 5, .. })]), "{found:?}");
}

#[test]
fn of_blocks_the_samples_are_counted() {
    let mut samples = warming_up(8);
    for s in &mut samples {
        s.block = Some(SampleBlock { number: s.index / 2, executions: 2 });
    }
    let found = unsteady(&build(&run(1), &samples, None));
    assert!(matches!(found[..], [(Measure::Pt, true, Unsteadiness::WarmUp { samples: 8, .. })]), "{found:?}");
}
