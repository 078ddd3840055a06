//! The report of short programs, of which a block holds several executions.

use crate::common::{run, sample};
use tarebench_core::base::units::Nanos;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Order, RunCount};
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::Measure;
use tarebench_core::run::report::findings::RemarkKind;
use tarebench_core::run::schedule::{Act, schedule};
use tarebench_core::sample::data::{MetricReading, Outcome, Phase, Sample, SampleBlock};

const BLOCKS: u32 = 8;
const EXECUTIONS: u32 = 4;

fn short_run(programs: usize, runs: RunCount) -> Run {
    let mut run = run(programs);
    (run.plan.order, run.plan.sigma, run.plan.runs) = (Order::Auto, 0.0, runs);
    run
}

/// Programs of 2 ms, of which each takes a tenth longer than the one before it, on a machine that slows down by 1% with each execution.
fn slowing(run: &Run) -> Vec<Sample> {
    let slots = schedule(&run.plan, EXECUTIONS).filter_map(Act::alone).filter(|slot| slot.phase == Phase::Counted);
    let sample = |(seq, slot): (u32, tarebench_core::run::schedule::Slot)| {
        let time = 2e6 * 1.1_f64.powi(slot.series as i32) * 1.01_f64.powi(seq as i32);
        let mut s = sample(slot.series, slot.index, Nanos(time.round() as i64), vec![]);
        s.seq = seq;
        s.block = Some(SampleBlock { number: slot.index / EXECUTIONS, executions: EXECUTIONS });
        let text = tarebench_core::base::reading::Reading::Value(time.to_string());
        s.metrics = vec![MetricReading { name: "ns".to_owned(), text }];
        s
    };
    (0..).zip(slots).map(sample).collect()
}

#[test]
fn each_block_is_a_pair_in_which_a_drift_cancels() {
    for runs in [RunCount::Fixed(BLOCKS), RunCount::Detect { difference: 0.01, max: BLOCKS }] {
        let run = short_run(3, runs);
        let samples = slowing(&run);
        let report = build(&run, &samples, None);
        assert!(report.series.iter().all(|s| s.counted == BLOCKS * EXECUTIONS));
        for (c, truth) in report.comparisons.iter().zip([1.1, 1.21]) {
            for measure in [Measure::Et, Measure::Pt] {
                let ratio = c.by(measure).unwrap();
                assert_eq!(ratio.pairs, BLOCKS);
                assert!((ratio.ratio / truth - 1.0).abs() < 1e-5, "{runs:?} {measure:?}: {}", ratio.ratio);
            }
            assert!((c.metrics[0].ratio / truth - 1.0).abs() < 1e-9 && c.metrics[0].pairs == BLOCKS);
        }
        let remark = report.remarks.iter().find(|r| matches!(r.kind, RemarkKind::ShortBlocks { .. })).unwrap();
        assert_eq!(remark.kind, RemarkKind::ShortBlocks { executions: EXECUTIONS, programs: 3 });
        assert!(remark.series.is_none() && !remark.warning());
        // The samples may come in any order.
        let reversed: Vec<Sample> = samples.iter().rev().cloned().collect();
        assert_eq!(build(&run, &reversed, None), report);
    }
}

#[test]
fn a_discarded_execution_is_missing_in_its_block_only() {
    let run = short_run(2, RunCount::Fixed(BLOCKS));
    let mut samples = slowing(&run);
    samples[0].outcome = Outcome::Signaled { signal: 9 };
    let report = build(&run, &samples, None);
    assert_eq!(report.comparisons[0].by(Measure::Pt).unwrap().pairs, BLOCKS);
    let gone = samples[0].series;
    for s in samples.iter_mut().filter(|s| s.series == gone && s.block_number() == 0) {
        s.outcome = Outcome::Signaled { signal: 9 };
    }
    assert_eq!(build(&run, &samples, None).comparisons[0].by(Measure::Pt).unwrap().pairs, BLOCKS - 1);
}

/// What was stored before a block could hold several executions reads as blocks of one, and is written as it was.
#[test]
fn samples_of_earlier_versions_are_their_own_blocks() {
    let old = sample(1, 5, Nanos(2_000_000), vec![]);
    let text = serde_json::to_string(&old).unwrap();
    assert!(!text.contains("\"block\""), "{text}");
    let read: Sample = serde_json::from_str(&text).unwrap();
    assert_eq!((read.block, read.block_number()), (None, 5));
    let new = Sample { block: Some(SampleBlock { number: 1, executions: 4 }), ..old };
    let read: Sample = serde_json::from_str(&serde_json::to_string(&new).unwrap()).unwrap();
    assert_eq!((&read, read.block_number()), (&new, 1));
    // They have no remark.
    let run = short_run(2, RunCount::Fixed(2));
    let samples: Vec<Sample> = (0..4).map(|i| sample(i % 2, i / 2, Nanos(2_000_000), vec![])).collect();
    let remarks = build(&run, &samples, None).remarks;
    assert!(!remarks.iter().any(|r| matches!(r.kind, RemarkKind::ShortBlocks { .. })));
}
