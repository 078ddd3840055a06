//! What the report of a run says of its probes.

use crate::common::{daemon, profile, run, sample};
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::quiet::correction::{QuietSample, fit_coefficients};
use tarebench_core::quiet::data::{NoQuietTime, PriorSource, ProbePlan};
use tarebench_core::quiet::knowledge::QuietKnowledge;
use tarebench_core::quiet::levels::LevelHistory;
use tarebench_core::quiet::prior::KnownCoefficients;
use tarebench_core::run::compared::program_identity;
use tarebench_core::run::data::Run;
use tarebench_core::run::report::build::{build, build_from, build_with};
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::report::findings::RemarkKind;
use tarebench_core::sample::data::{Phase, Sample};
use tarebench_core::sample::probes::{CpuProbes, GateRecord, PROBE_REVISION, ProbeCost, ProbeWake, SampleProbes};

const QUIET_TIME: f64 = 100e6;

fn probed(correct: bool) -> Run {
    let mut run = run(1);
    run.plan.probes = Some(ProbePlan { period: Nanos::from_millis(2), gate: None, correct });
    run
}

/// A program that follows the clock, which runs slower by these factors in turn.
fn clocked(index: u32, slow: f64, paused: i64) -> Sample {
    let pt = Nanos((QUIET_TIME * slow) as i64);
    let mut found = sample(0, index, pt, Vec::new());
    found.end.monotonic = Nanos(pt.0 + paused);
    let ticks = |k| if k == 7 || k == 8 { 9_000 } else { (20_000.0 * slow * (1.0 + 0.02 * f64::from(k))) as u32 };
    let wake = |i: i64| ProbeWake { at: Nanos::from_millis(2 * i), ticks: std::array::from_fn(|k| ticks(k as i32)) };
    let gate = GateRecord {
        waited: Nanos(3),
        stops: u32::from(paused > 0),
        paused: Nanos(paused),
        limit_reached: paused > 100_000_000,
    };
    let cpus =
        vec![CpuProbes { cpu: 0, wakes: (0..50).map(wake).collect(), kept_every: 1, watched: vec![], paused: vec![] }];
    let cost = ProbeCost { cpu: Nanos(70), wakes: 50, late: 1 };
    found.probes = Reading::Value(SampleProbes { revision: PROBE_REVISION, cpus, gate: Some(gate), cost });
    found
}

/// The first third is quiet, the others are slower by up to 30%.
fn samples(n: u32) -> Vec<Sample> {
    let slow =
        |i: u32| 1.0 + 0.003 * f64::from(i % 3) + if i.is_multiple_of(3) { 0.0 } else { 0.02 * f64::from(i % 14) };
    (0..n).map(|i| clocked(i, slow(i), 0)).collect()
}

fn corrected(report: &RunReport) -> &tarebench_core::quiet::data::QuietTime {
    report.series[0].quiet.as_ref().unwrap().as_ref().unwrap()
}

#[test]
fn the_quiet_time_from_the_runs_own_levels() {
    let (run, samples) = (probed(true), samples(12));
    let report = build(&run, &samples, None);
    let found = corrected(&report);
    assert!((found.value / QUIET_TIME - 1.0).abs() < 0.01, "{found:?}");
    assert!(found.uncorrected > 1.03 * QUIET_TIME && found.interval.contains(QUIET_TIME), "{found:?}");
    assert!((report.quiet_levels.as_ref().unwrap().latency / 20_000.0 - 1.0).abs() < 0.01);
    assert_eq!(report.states.as_ref().unwrap().wakes, 600);
    let summary = report.series[0].probes.unwrap();
    assert_eq!((summary.samples, summary.gated, summary.wakes, summary.late), (12, 12, 600, 12));
    // In any order.
    let reverse: Vec<Sample> = samples.iter().rev().cloned().collect();
    assert_eq!(build(&run, &reverse, None), report);
    let text = serde_json::to_string(&report).unwrap();
    // Numbers with decimals may differ in their last digit.
    let read: RunReport = serde_json::from_str(&text).unwrap();
    assert!((corrected(&read).value / found.value - 1.0).abs() < 1e-12);
    assert_eq!(
        (read.series[0].probes, &read.states.unwrap().span),
        (Some(summary), &report.states.as_ref().unwrap().span)
    );
    // Uncorrected figures stand beside it.
    assert!(report.series[0].pt.value().unwrap().mean > 1.03 * QUIET_TIME);
}

#[test]
fn what_is_known_comes_first() {
    let (run, samples) = (probed(true), samples(12));
    let mut history = LevelHistory::new(PROBE_REVISION);
    samples.iter().for_each(|s| history.add_sample(s).unwrap());
    let mut levels = history.levels().unwrap();
    let all: Vec<QuietSample<'_>> = samples.iter().filter_map(QuietSample::of).collect();
    let identity = program_identity(&run.plan, &run.plan.programs[0]);
    let none = KnownCoefficients::default();
    let fitted = fit_coefficients(&all, &levels, &none, &identity, Nanos(1)).unwrap();
    // A machine that was seen at twice the clock once.
    levels.latency /= 2.0;
    let known = QuietKnowledge { levels: Some(levels.clone()), history: Some(history), coefficients: vec![fitted] };
    let Ok(report) = build_with(&run, samples.as_slice(), None, &known);
    assert_eq!(report.quiet_levels, Some(levels));
    let found = corrected(&report);
    assert_eq!(found.prior, PriorSource::SameProgram);
    assert!((found.value / (QUIET_TIME / 2.0) - 1.0).abs() < 0.05, "{found:?}");
    let states = report.states.unwrap();
    assert_eq!(states.wakes, 600, "of the history, which has the run's already");
}

#[test]
fn refusals() {
    let quiet = |run: &Run, samples: &[Sample]| build(run, samples, None).series[0].quiet.clone();
    assert_eq!(quiet(&run(1), &[sample(0, 0, Nanos(5), Vec::new())]), None);
    assert_eq!(quiet(&probed(false), &samples(12)), Some(Err(NoQuietTime::NotAsked)));
    assert_eq!(quiet(&probed(true), &samples(3)), Some(Err(NoQuietTime::TooFew { samples: 3 })));
    assert_eq!(quiet(&probed(true), &[]), Some(Err(NoQuietTime::TooFew { samples: 0 })));
    let mut without = sample(0, 0, Nanos(5), Vec::new());
    without.probes = Reading::Absent(Absent::NoPermission("CAP_SYS_NICE".into()));
    let why = "not known: needs CAP_SYS_NICE".to_owned();
    assert_eq!(quiet(&probed(true), &[without]), Some(Err(NoQuietTime::NoProbes { why })));
    let mut few = samples(8);
    for s in &mut few {
        let Reading::Value(probes) = &mut s.probes else { unreachable!() };
        probes.cpus[0].wakes.truncate(5);
    }
    assert_eq!(quiet(&probed(true), &few), Some(Err(NoQuietTime::NeverQuiet)));
    // Warm-ups and failures do not count.
    let mut warm = samples(12);
    warm.iter_mut().take(8).for_each(|s| s.phase = Phase::Warmup);
    assert_eq!(quiet(&probed(true), &warm), Some(Err(NoQuietTime::TooFew { samples: 4 })));
    assert!(build(&run(1), &[], None).quiet_levels.is_none());
}

#[test]
fn pauses_are_in_the_elapsed_time_and_in_a_remark() {
    let run = probed(true);
    let mut samples = samples(12);
    samples[4] = clocked(4, 1.0, 90_000_000);
    samples[9] = clocked(9, 1.0, 900_000_000);
    assert_eq!((samples[4].paused(), samples[0].paused()), (Nanos(90_000_000), Nanos::ZERO));
    let Ok(report) = build_from(&run, samples.as_slice(), None);
    let kinds: Vec<&RemarkKind> = report.remarks.iter().map(|r| &r.kind).collect();
    assert!(kinds.contains(&&RemarkKind::Paused { samples: 2, of: 12, time: 990e6 }), "{kinds:?}");
    assert!(kinds.contains(&&RemarkKind::GateLimit { samples: vec![9], of: 12 }), "{kinds:?}");
    assert!(!kinds.iter().any(|k| matches!(k, RemarkKind::Waiting { .. })), "the pauses are no waiting: {kinds:?}");
    assert_eq!(samples[9].elapsed(), Nanos(1_000_000_000));
    // The correction is of the time without pauses: the program does not sleep.
    assert!((corrected(&report).value / QUIET_TIME - 1.0).abs() < 0.02);
    let none = build(&run, &self::samples(12), None);
    assert!(!none.remarks.iter().any(|r| matches!(r.kind, RemarkKind::Paused { .. } | RemarkKind::GateLimit { .. })));
}

/// Which cutoff holds depends on how long the program runs; 900 ms of pauses make no longer program of one of 100 ms.
#[test]
fn pauses_do_not_choose_the_cutoffs_of_check_one() {
    let run = probed(true);
    let limit = Some(Nanos(500_000_000));
    let cutoff = Cutoff { daemon: "cron".into(), short: 1e6, task_time_limit: limit, long: None, effect: None };
    let profile = profile(vec![cutoff]);
    let discarded = |paused: i64| {
        let mut samples: Vec<Sample> = (0..12).map(|i| clocked(i, 1.0, paused)).collect();
        let Reading::Value(daemons) = &mut samples[3].daemons else { unreachable!() };
        daemons.list.push(daemon("cron", Nanos(2_000_000)));
        let report = build(&run, &samples, Some(&profile));
        report.series[0].pt.value().unwrap().discarded_by_cutoff
    };
    assert_eq!((discarded(0), discarded(900_000_000)), (1, 1));
}

/// What an earlier tare measured is corrected by the levels that it saw, not by those of the present probes.
#[test]
fn probes_of_an_earlier_revision_have_levels_of_their_own() {
    let (run, mut old) = (probed(true), samples(12));
    let expected = build(&run, &old, None);
    for sample in &mut old {
        let Reading::Value(probes) = &mut sample.probes else { unreachable!() };
        probes.revision = PROBE_REVISION - 1;
    }
    let mut levels = expected.quiet_levels.clone().unwrap();
    levels.latency /= 2.0;
    let known = QuietKnowledge { levels: Some(levels), ..QuietKnowledge::default() };
    let Ok(report) = build_with(&run, old.as_slice(), None, &known);
    assert_eq!(report.quiet_levels.as_ref().unwrap().revision, PROBE_REVISION - 1);
    assert_eq!(corrected(&report), corrected(&expected));
    // Beside later ones they are left out.
    old.extend(samples(9).into_iter().map(|s| Sample { index: s.index + 12, seq: s.seq + 12, ..s }));
    let report = build(&run, &old, None);
    assert_eq!((corrected(&report).samples, report.quiet_levels.unwrap().revision), (9, PROBE_REVISION));
    old.reverse();
    assert_eq!(corrected(&build(&run, &old, None)).samples, 9);
}
