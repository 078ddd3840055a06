//! Comparing until a difference would be seen: the blocks, the rule, what the report says; the control and the margin.

use crate::common::*;
use proptest::prelude::*;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::blocks::{Blocks, blocks};
use tarebench_core::compare::duet::{Duet, DuetSide, DuetWeight};
use tarebench_core::compare::ratio::{RatioBasis, Verdict};
use tarebench_core::compare::simultaneous::HEADLINE_ERROR;
use tarebench_core::run::data::Run;
use tarebench_core::run::plan::{Order, RunCount, RunPlan};
use tarebench_core::run::report::build::build_from;
use tarebench_core::run::report::data::{Measure, RunReport};
use tarebench_core::run::report::findings::RemarkKind as Kind;
use tarebench_core::run::samples::Kept;
use tarebench_core::run::stopping::DetectRule;
use tarebench_core::sample::data::{Outcome, Phase, Sample, Stamp};
use tarebench_core::statistics::sequential::SequentialDesign;

const MS: f64 = 1e6;

fn side(series: u32, pt: f64) -> DuetSide {
    let like = sample(series, 0, Nanos(pt as i64), vec![]);
    let stamp = |ns: i64| Stamp { monotonic: Nanos(ns), monotonic_raw: Nanos(ns), cycles: None };
    DuetSide {
        series,
        weight: DuetWeight::Nice(0),
        start: stamp(0),
        end: stamp(2 * pt as i64),
        outcome: Outcome::Exited { code: 0 },
        process_times: like.process_times,
        together: absent(),
        account: absent(),
        usage: like.usage,
        survivors: vec![],
    }
}

/// A program against the reference 0, which takes 100 ms.
fn duet(series: u32, index: u32, ratio: f64) -> Duet {
    let like = sample(0, 0, Nanos(1), vec![]);
    Duet {
        seq: 1_000 + 10 * index + series,
        index,
        cpu: 0,
        wall_clock: Nanos(0),
        sides: [side(series, 100.0 * MS * ratio), side(0, 100.0 * MS)],
        own: like.own,
        steal: Reading::Value(Nanos(0)),
        cgroup_limits: tarebench_core::sample::cgroup_limits::not_recorded(),
        clock_shift: like.clock_shift,
        environment_padding: 0,
        slices: None,
        void: None,
    }
}

fn alone(series: u32, index: u32, ratio: f64) -> Sample {
    Sample { seq: 10 * index + series, ..sample(series, index, Nanos((100.0 * MS * ratio) as i64), vec![]) }
}

fn detect_run(programs: usize, order: Order, difference: f64, max: u32) -> Run {
    let mut run = run(programs);
    (run.plan.order, run.plan.runs) = (order, RunCount::Detect { difference, max });
    run
}

/// Ratios around 1.02 whose logarithms spread by this much, about uniformly, and symmetrically.
fn spread(n: u32, width: f64) -> f64 {
    0.02_f64.exp() * (width * (f64::from(n * 7 % 11) / 10.0 - 0.5)).exp()
}

fn found(run: &Run, samples: &[Sample], duets: &[Duet], series: u32, measure: Measure) -> Option<Blocks> {
    let Ok(found) = blocks(run, &Kept { samples, duets }, series, measure);
    found
}

fn report(run: &Run, samples: &[Sample], duets: &[Duet]) -> RunReport {
    let Ok(report) = build_from(run, &Kept { samples, duets }, None);
    report
}

fn close(logs: &[f64], expected: &[f64]) -> bool {
    logs.len() == expected.len() && logs.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7)
}

#[test]
fn rounds_are_paired_and_failures_left_out() {
    let run = run(2);
    let ratios = [1.1, 1.2, 1.3, 1.4];
    let mut samples: Vec<Sample> = (0..4).map(|i| alone(0, i, 1.0)).collect();
    samples.extend(ratios.iter().zip(0..).map(|(r, i)| alone(1, i, *r)));
    samples.reverse();
    let logs = ratios.map(f64::ln);
    let all = found(&run, &samples, &[], 1, Measure::Pt).unwrap();
    assert_eq!((all.basis, all.measure), (RatioBasis::Alone, Measure::Pt));
    assert!(close(&all.logs, &logs), "in the order of the rounds: {:?}", all.logs);
    assert!(close(&found(&run, &samples, &[], 1, Measure::Et).unwrap().logs, &logs));
    assert_eq!(found(&run, &samples, &[], 1, Measure::Net), None, "these have no net time");
    assert_eq!(found(&run, &samples, &[], 7, Measure::Pt), None);
    // A failure, a warm-up, a missing partner and a time that is not known have no pair.
    let at = |series: u32, index: u32| samples.iter().position(|s| (s.series, s.index) == (series, index)).unwrap();
    let (first, second, third) = (at(1, 0), at(0, 1), at(1, 2));
    samples[first].outcome = Outcome::Exited { code: 3 };
    samples[second].phase = Phase::Warmup;
    samples[third].process_times = absent();
    assert!(close(&found(&run, &samples, &[], 1, Measure::Pt).unwrap().logs, &logs[3..]));
    assert!(close(&found(&run, &samples, &[], 1, Measure::Et).unwrap().logs, &logs[2..]));
    samples.retain(|s| s.series == 1);
    assert_eq!(found(&run, &samples, &[], 1, Measure::Et), None);
}

/// A sample that check 2 discards still counts: it looks at each program for itself, and pairs are left out only as such.
#[test]
fn what_check_2_discards_is_a_block() {
    let mut samples: Vec<Sample> = (0..12).flat_map(|i| [alone(0, i, 1.0), alone(1, i, 1.0)]).collect();
    samples[23] = alone(1, 11, 3.0);
    let run = run(2);
    let report = report(&run, &samples, &[]);
    assert_eq!(report.series[1].pt.value().unwrap().discarded_by_sigma, 1);
    assert_eq!(report.comparisons[0].pairs, 12);
    assert_eq!(found(&run, &samples, &[], 1, Measure::Pt).unwrap().logs.len(), 12);
}

#[test]
fn duets_come_before_rounds() {
    let mut run = run(3);
    run.plan.order = Order::Auto;
    let samples: Vec<Sample> = (0..3).flat_map(|i| [alone(0, i, 1.0), alone(1, i, 2.0), alone(2, i, 3.0)]).collect();
    let mut duets: Vec<Duet> = [4, 2, 0].map(|i| duet(1, i, 1.0 + f64::from(i) / 10.0)).to_vec();
    let all = found(&run, &samples, &duets, 1, Measure::Et).unwrap();
    assert_eq!((all.basis, all.measure), (RatioBasis::Duets, Measure::Pt));
    assert!(close(&all.logs, &[0.0, 1.2_f64.ln(), 1.4_f64.ln()]), "{:?}", all.logs);
    assert_eq!(found(&run, &samples, &duets, 2, Measure::Et).unwrap().basis, RatioBasis::Alone);
    duets[1].sides[1].outcome = Outcome::Signaled { signal: 9 };
    assert!(close(&found(&run, &samples, &duets, 1, Measure::Et).unwrap().logs, &[0.0, 1.4_f64.ln()]));
    // Against another program than the reference.
    duets[0].sides[1].series = 2;
    assert!(close(&found(&run, &samples, &duets, 1, Measure::Et).unwrap().logs, &[0.0]));
}

/// Whether there are enough blocks after each number of them.
fn decisions(plan: &RunPlan, blocks: u32, ratio: impl Fn(u32, u32) -> f64) -> Vec<bool> {
    let mut rule = DetectRule::new(plan).unwrap();
    let programs: Vec<u32> = (0..plan.programs.len() as u32).collect();
    let mut decided = Vec::new();
    for n in 0..blocks {
        for series in 1..plan.programs.len() as u32 {
            if plan.order == Order::Duet {
                rule.add_duet(plan, &duet(series, n, ratio(series, n)));
            } else {
                rule.add(plan, &alone(series, n, ratio(series, n)));
            }
        }
        rule.add(plan, &alone(0, n, 1.0));
        decided.push(rule.is_enough(&programs));
    }
    decided
}

#[test]
fn it_stops_at_the_first_look_with_a_narrow_interval() {
    for order in [Order::Duet, Order::Rounds] {
        let plan = detect_run(2, order, 0.01, 200).plan;
        let first = decisions(&plan, 60, |_, n| spread(n, 0.02)).iter().position(|d| *d).unwrap() + 1;
        assert!(SequentialDesign::new(200, 0.95).looks().contains(&(first as u32)), "{first}");
        // A wider spread needs more; a narrow one has its first interval with ten blocks.
        let wider = decisions(&plan, 200, |_, n| spread(n, 0.08)).iter().position(|d| *d).unwrap() + 1;
        assert!(wider > first, "{wider} and {first}");
        assert_eq!(decisions(&plan, 12, |_, _| 1.5).iter().position(|d| *d), Some(9));
        assert!(decisions(&plan, 200, |_, n| spread(n, 0.5)).iter().all(|d| !d), "never");
    }
}

#[test]
fn all_programs_must_be_known_well_enough() {
    let plan = detect_run(3, Order::Duet, 0.01, 200).plan;
    let of_one = |n| spread(n, 0.08);
    let both = decisions(&plan, 200, |series, n| if series == 1 { 1.0 } else { of_one(n) });
    let single = decisions(&detect_run(2, Order::Duet, 0.01, 200).plan, 200, |_, n| of_one(n));
    assert_eq!(both, single);
    // Without anything to compare there is nothing to wait for.
    let mut rule = DetectRule::new(&plan).unwrap();
    assert!(rule.is_enough(&[]) && rule.is_enough(&[0]) && !rule.is_enough(&[0, 1]));
    assert!(DetectRule::new(&run(2).plan).is_none());
}

#[test]
fn duets_that_end_leave_the_decision_to_the_rounds() {
    let plan = detect_run(2, Order::Auto, 0.01, 200).plan;
    let mut rule = DetectRule::new(&plan).unwrap();
    let mut failed = duet(1, 2, 1.0);
    failed.sides[0].outcome = Outcome::Exited { code: 1 };
    for d in [duet(1, 0, 1.0), duet(1, 1, 1.0), failed] {
        rule.add_duet(&plan, &d);
    }
    for n in 0..10 {
        assert!(!rule.is_enough(&[0, 1]));
        rule.add(&plan, &alone(0, n, 1.0));
        rule.add(&plan, &alone(1, n, 1.5));
    }
    assert!(rule.is_enough(&[0, 1]));
    assert_eq!(rule.interval(1).unwrap().blocks.basis, RatioBasis::Alone);
}

#[test]
fn the_report_has_the_interval_that_stopped_it() {
    let run = detect_run(2, Order::Duet, 0.01, 200);
    let duets: Vec<Duet> = (0..24).map(|n| duet(1, n, spread(n, 0.02))).collect();
    let samples: Vec<Sample> = (0..3).flat_map(|i| [alone(0, i, 1.0), alone(1, i, 1.02)]).collect();
    let r = report(&run, &samples, &duets);
    let c = &r.comparisons[0];
    assert_eq!((c.basis, c.pairs, c.verdict), (RatioBasis::Duets, 24, Verdict::Slower));
    let logs = found(&run, &samples, &duets, 1, Measure::Pt).unwrap().values();
    let expected = SequentialDesign::new(200, 1.0 - HEADLINE_ERROR).interval(&logs).unwrap();
    let interval = c.interval.as_ref().unwrap();
    assert!((interval.low.ln() - expected.low).abs() < 1e-9 && (interval.high.ln() - expected.high).abs() < 1e-9);
    assert_eq!(interval.level, 1.0 - HEADLINE_ERROR);
    // Wider than that of a single look.
    let mut fixed = run.clone();
    fixed.plan.runs = RunCount::Fixed(24);
    let single = report(&fixed, &samples, &duets).comparisons[0].interval.clone().unwrap();
    assert!(interval.half_width() > single.half_width() * 1.1, "{interval:?} {single:?}");
    let kind = r.remarks.iter().map(|r| &r.kind).find(|k| matches!(k, Kind::Detect { .. })).unwrap();
    let Kind::Detect { asked, reached, basis, blocks, most, looks } = kind else { panic!("{kind:?}") };
    assert_eq!((*asked, *basis, *blocks, *most, *looks), (0.01, RatioBasis::Duets, 24, 200, 4));
    assert!((reached.unwrap() - expected.half_width()).abs() < 1e-12);
    // Before the first look with an interval there is none, and no verdict.
    let r = report(&run, &samples, &duets[..9]);
    assert!(r.comparisons[0].interval.is_err() && r.comparisons[0].verdict == Verdict::Undecided);
    let missed = r.remarks.iter().find(|r| matches!(r.kind, Kind::Detect { reached: None, .. })).unwrap();
    assert!(missed.warning());
}

#[test]
fn rounds_have_that_interval_too() {
    let run = detect_run(2, Order::Rounds, 0.01, 200);
    let samples: Vec<Sample> = (0..24).flat_map(|n| [alone(0, n, 1.0), alone(1, n, spread(n, 0.02))]).collect();
    let c = report(&run, &samples, &[]).comparisons.remove(0);
    assert_eq!((c.basis, c.measure, c.pairs, c.duets.is_none()), (RatioBasis::Alone, Measure::Pt, 24, true));
    let logs = found(&run, &samples, &[], 1, Measure::Pt).unwrap().values();
    let expected = SequentialDesign::new(200, 1.0 - HEADLINE_ERROR).interval(&logs).unwrap();
    assert!((c.interval.unwrap().low.ln() - expected.low).abs() < 1e-9);
    assert_eq!(c.ratios.iter().map(|r| r.measure).collect::<Vec<_>>(), [Measure::Et, Measure::Pt]);
}

#[test]
fn within_the_margin_programs_are_the_same() {
    let mut run = detect_run(2, Order::Duet, 0.01, 200);
    let duets: Vec<Duet> = (0..24).map(|n| duet(1, n, spread(n, 0.01))).collect();
    assert_eq!(report(&run, &[], &duets).comparisons.len(), 0, "there are no figures of the programs");
    let samples: Vec<Sample> = (0..10).flat_map(|i| [alone(0, i, 1.0), alone(1, i, 1.02)]).collect();
    let verdict = |run: &Run| report(run, &samples, &duets).comparisons[0].verdict;
    assert_eq!(verdict(&run), Verdict::Slower);
    run.plan.margin = Some(0.05);
    assert_eq!(verdict(&run), Verdict::Same);
    run.plan.margin = Some(0.015);
    assert_eq!(verdict(&run), Verdict::Slower);
    // By rounds, too.
    run.plan.runs = RunCount::Fixed(10);
    (run.plan.order, run.plan.margin) = (Order::Rounds, Some(0.05));
    assert_eq!(report(&run, &samples, &[]).comparisons[0].verdict, Verdict::Same);
}

/// Programs a and b, and a once more.
fn controlled(control: f64) -> (Run, Vec<Sample>) {
    let mut run = run(3);
    run.plan.programs[2].control = true;
    let wobble = |i: u32, series: u32| 1.0 + f64::from((i * 3 + series) % 5) / 1e4;
    let samples =
        (0..10).flat_map(|i| [(0, 1.0), (1, 1.2), (2, control)].map(|(s, r)| alone(s, i, r * wobble(i, s)))).collect();
    (run, samples)
}

#[test]
fn the_control_is_not_one_of_the_comparisons() {
    let (run, samples) = controlled(1.0);
    let r = report(&run, &samples, &[]);
    assert_eq!(r.comparisons.iter().map(|c| c.series).collect::<Vec<_>>(), [1]);
    let control = r.control.as_ref().unwrap();
    assert_eq!((control.series, control.reference, control.pairs), (2, 0, 10));
    assert!(control.interval.as_ref().unwrap().contains(1.0));
    let about = |r: &RunReport| {
        r.remarks.iter().filter(|r| matches!(r.kind, Kind::ControlDiffers { .. } | Kind::NotComparable)).count()
    };
    assert_eq!(about(&r), 0);
    let (run, samples) = controlled(1.01);
    let r = report(&run, &samples, &[]);
    assert_eq!(about(&r), 1);
    let differs = r.remarks.iter().find(|r| matches!(r.kind, Kind::ControlDiffers { reference: 0, .. })).unwrap();
    assert!(differs.warning());
    // Another measure is chosen for it, too.
    let mut r = r;
    assert_eq!(r.compare_by(Measure::Et), Ok(()));
    assert_eq!(r.control.unwrap().measure, Measure::Et);
    // A plan of an earlier version has none.
    let plan = serde_json::to_value(crate::common::plan(2)).unwrap();
    assert!(plan["programs"][0].get("control").is_none() && plan.get("margin").is_none());
    assert_eq!(serde_json::from_value::<RunPlan>(plan).unwrap(), crate::common::plan(2));
}

#[test]
fn the_number_of_blocks_is_stored_with_the_plan() {
    let plan = detect_run(2, Order::Duet, 0.01, 200).plan;
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["runs"], serde_json::json!({"detect": {"difference": 0.01, "max": 200}}));
    assert_eq!(serde_json::from_value::<RunPlan>(json).unwrap(), plan);
    assert_eq!(plan.max_runs(), 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// The order in which stored parts are read makes no difference, and neither does a decision on the way.
    #[test]
    fn a_resumed_run_decides_alike(
        ratios in proptest::collection::vec(0.97..1.03_f64, 1..40), cut in 0..40_usize, difference in 0.002..0.03_f64,
    ) {
        let plan = detect_run(2, Order::Duet, difference, 60).plan;
        let duets: Vec<Duet> = ratios.iter().zip(0..).map(|(r, i)| duet(1, i, *r)).collect();
        let mut whole = DetectRule::new(&plan).unwrap();
        let mut decided = Vec::new();
        for d in &duets {
            whole.add_duet(&plan, d);
            decided.push(whole.is_enough(&[0, 1]));
        }
        let cut = cut % duets.len();
        let mut resumed = DetectRule::new(&plan).unwrap();
        duets[..=cut].iter().rev().for_each(|d| resumed.add_duet(&plan, d));
        prop_assert_eq!(resumed.is_enough(&[0, 1]), decided[cut]);
        // Between looks nothing is decided anew.
        let looks = SequentialDesign::new(60, 0.95).looks().to_vec();
        let changes = decided.windows(2).zip(2_u32..).filter(|(w, _)| w[0] != w[1]).map(|(_, n)| n);
        for n in changes {
            prop_assert!(looks.contains(&n), "{n}");
        }
    }

    /// An imported plan may have any numbers.
    #[test]
    fn any_plan_is_reported(difference in any::<f64>(), margin in any::<f64>(), max in any::<u32>(), order in 0..5_u8) {
        let orders = [Order::Rounds, Order::Random, Order::Sequential, Order::Auto, Order::Duet];
        let mut run = detect_run(3, orders[usize::from(order)], difference, max);
        run.plan.margin = Some(margin);
        run.plan.programs.iter_mut().for_each(|p| p.control = true);
        let samples: Vec<Sample> = (0..8).flat_map(|i| [0, 1, 2].map(|s| alone(s, i, spread(i + s, 0.1)))).collect();
        let duets: Vec<Duet> = (0..8).map(|n| duet(1, n, spread(n, 0.02))).collect();
        let r = report(&run, &samples, &duets);
        prop_assert!(r.comparisons.is_empty() && r.control.is_some_and(|c| c.ratio.is_finite()));
    }
}
