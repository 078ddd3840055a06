//! The report of a run, from made-up samples.

use tarebench_core::sample::daemons::Daemon;
use tarebench_core::sample::daemons::Daemons;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource, SourceCheck};

use crate::common::{absent, daemon, profile, run, sample};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::documents::head::Status;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::{Cutoff, Doubt};
use tarebench_core::profile::waits::family_waits;
use tarebench_core::run::data::Run;
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::plan::{IgnoreFailure, Order, ProfileChoice, RunCount};
use tarebench_core::run::protocol::{NoCheckOne, ProtocolReport};
use tarebench_core::run::report::account::EntryKind;
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::{Measure, RatioBasis, RunReport};
use tarebench_core::run::report::findings::{NameCount, Remark, RemarkKind as Kind};
use tarebench_core::run::report::metrics::NoMetricRatio;
use tarebench_core::run::schedule::{Acts, Slot, after_warmups, first_warmups};
use tarebench_core::sample::account::*;
use tarebench_core::sample::cgroup_limits::{CgroupLimits, OomKills};
use tarebench_core::sample::counters::{CounterEvent, EventCount, EventTimes};
use tarebench_core::sample::data::*;

fn ms(x: i64) -> Nanos {
    Nanos::from_millis(x)
}

/// `n` samples of a series around `base` ms, none of them an outlier.
fn series(series: u32, n: u32, base: i64) -> Vec<Sample> {
    (0..n).map(|i| sample(series, i, ms(base) + Nanos(i64::from(i % 4) * 100_000), vec![])).collect()
}

/// Whether the report has a remark of this form.
macro_rules! remarked {
    ($report:expr, $kind:pat $(if $guard:expr)?) => {
        $report.remarks.iter().any(|r| matches!(&r.kind, $kind $(if $guard)?))
    };
}

fn cutoff(name: &str, ns: f64) -> Cutoff {
    Cutoff { daemon: name.into(), short: ns, task_time_limit: None, long: None, effect: None }
}

#[test]
fn a_clean_run() {
    let run = run(1);
    let mut samples = series(0, 10, 100);
    let mut warmup = sample(0, 0, ms(900), vec![]);
    warmup.phase = Phase::Warmup;
    samples.push(warmup);
    let report = build(&run, &samples, Some(&profile(vec![])));
    let s = &report.series[0];
    assert_eq!((s.counted, s.warmups), (10, 1));
    let pt = s.pt.value().unwrap();
    assert_eq!((pt.samples, pt.retained, pt.discards()), (10, 10, "0".to_owned()));
    // 3 × 100.0, 3 × 100.1, 2 × 100.2, 2 × 100.3 ms
    assert!((pt.mean - 100.13e6).abs() < 1.0 && pt.max == 100.3e6 && pt.trustworthy);
    assert!(pt.mean_interval.as_ref().unwrap().contains(pt.mean));
    assert!((pt.median_interval.as_ref().unwrap().level - 1002.0 / 1024.0).abs() < 1e-12);
    assert_eq!(s.et.value().unwrap().samples, 10);
    assert!(report.remarks.is_empty(), "{:?}", report.remarks);
    assert_eq!((report.protocol.reached, report.profile), (6, Ok("prof@1".to_owned())));
    assert_eq!(s.resources.max_rss, Reading::Value(1009));
    assert_eq!(s.difference.tare, 1000.0);
    assert!(report.comparisons.is_empty());
}

#[test]
fn empty_input() {
    let mut none = run(0);
    assert!(build(&none, &[], None).series.is_empty());
    none.factors.clear();
    assert_eq!(build(&none, &[sample(3, 0, ms(1), vec![])], None).protocol.reached, 0);
    let report = build(&run(2), &[], Some(&profile(vec![cutoff("x", 1.0)])));
    assert_eq!(report.series.len(), 2);
    assert!(report.series[0].pt.value().is_none() && report.series[0].difference.daemons.value().is_none());
    assert!(remarked!(report, Kind::NoSamples));
    assert!(report.comparisons.is_empty());
    let strays = build(&run(1), &series(5, 2, 100), None);
    assert!(remarked!(strays, Kind::Strays { samples: 2 }));
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<RunReport>(&json).unwrap(), report);
}

#[test]
fn discards_name_their_reason() {
    let mut samples = series(0, 12, 100);
    samples[3] = sample(0, 3, ms(100), vec![daemon("updatedb", ms(5)), daemon("cron", ms(1))]);
    samples[7] = sample(0, 7, ms(140), vec![]);
    let report = build(&run(1), &samples, Some(&profile(vec![cutoff("updatedb", 4e6), cutoff("cron", 1e6)])));
    let s = &report.series[0];
    assert_eq!(s.pt.value().unwrap().discards(), "2 (=1+1)");
    let discards_of = |m| s.discards.iter().filter(|d| d.measure == m).collect::<Vec<_>>();
    assert_eq!((discards_of(Measure::Pt).len(), discards_of(Measure::Et).len()), (2, 2));
    let want = DiscardReason::Cutoff { daemon: "updatedb".into(), cpu: ms(5), cutoff: 4e6 };
    assert_eq!((discards_of(Measure::Pt)[0].index, &discards_of(Measure::Pt)[0].reason), (3, &want));
    assert!(matches!(discards_of(Measure::Pt)[1].reason, DiscardReason::Sigma { value: 140e6, .. }));
}

#[test]
fn without_a_profile_check_one_is_not_done() {
    let mut run = run(1);
    let report = build(&run, &series(0, 10, 100), None);
    assert_eq!(report.profile, Err(NoCheckOne::NoProfile));
    assert_eq!(report.protocol.reached, 4);
    run.plan.profile = ProfileChoice::No;
    assert_eq!(build(&run, &[], None).profile, Err(NoCheckOne::NotAsked));
    run.plan.profile = ProfileChoice::Named("x@2".into());
    assert_eq!(build(&run, &[], None).profile, Err(NoCheckOne::NoSuchProfile { name: "x@2".into() }));
    let mut samples = series(0, 10, 100);
    run.plan.images = false;
    for s in &mut samples {
        s.daemons = absent();
    }
    let report = build(&run, &samples, Some(&profile(vec![])));
    assert!(matches!(report.profile, Err(NoCheckOne::NoDaemons { .. })));
    assert_eq!(report.protocol.steps[4].standing, Standing::NotHeld);
    assert_eq!(report.series[0].daemons_incomplete, None);
    assert!(report.series[0].difference.daemons.value().is_none());
}

#[test]
fn everything_discarded() {
    let samples: Vec<Sample> = (0..10).map(|i| sample(0, i, ms(100), vec![daemon("bad", ms(9))])).collect();
    let report = build(&run(1), &samples, Some(&profile(vec![cutoff("bad", 1.0)])));
    let why = report.series[0].pt.absent().unwrap().to_string();
    assert_eq!(why, "lost: all 10 samples were discarded");
    assert_eq!(report.series[0].discards.len(), 20);
    assert!(
        remarked!(report, Kind::NoTime { measure: Measure::Pt, why } if why.to_string() == "lost: all 10 samples were discarded")
    );
    // Six of ten are discarded: some are left, but fewer than half.
    let some: Vec<Sample> =
        (0..10).map(|i| sample(0, i, ms(100), if i < 6 { vec![daemon("bad", ms(9))] } else { vec![] })).collect();
    let report = build(&run(1), &some, Some(&profile(vec![cutoff("bad", 1.0)])));
    assert!(!report.series[0].pt.value().unwrap().trustworthy);
    assert!(remarked!(report, Kind::NotTrustworthy { measure: Measure::Et, retained: 4, of: 10 }));
    assert!(
        remarked!(report, Kind::NoIntervals { retained: 4, needed: 6, measures } if measures[..] == [Measure::Pt, Measure::Et])
    );
}

#[test]
fn failures_count_only_if_accepted() {
    let mut samples = series(0, 10, 100);
    samples[0].outcome = Outcome::Exited { code: 3 };
    samples[1].outcome = Outcome::Signaled { signal: 9 };
    samples[2].outcome = Outcome::TimedOut { limit: ms(1) };
    let mut run = run(1);
    for (ignore, counts) in [
        (IgnoreFailure::No, 7),
        (IgnoreFailure::All, 9),
        (IgnoreFailure::Codes(vec![3]), 8),
        (IgnoreFailure::Codes(vec![137]), 8),
    ] {
        run.plan.ignore_failure = ignore;
        let report = build(&run, &samples, None);
        let s = &report.series[0];
        assert_eq!((s.counted, s.et.value().unwrap().samples, s.failures.len()), (10, counts, 3));
        assert_eq!(s.failures.iter().filter(|f| f.ignored).count() as u32, counts - 7);
        let accepted_ones = u64::from(counts) - 7;
        let first = Outcome::Exited { code: 3 };
        let kind = Kind::Failures { failed: 3, accepted: accepted_ones, of: 10, first };
        let remark = report.remarks.iter().find(|r| r.kind == kind);
        assert_eq!(remark.map(Remark::warning), Some(true), "{:?}", report.remarks);
    }
    for s in &mut samples {
        s.outcome = Outcome::Exited { code: 1 };
    }
    run.plan.ignore_failure = IgnoreFailure::All;
    let report = build(&run, &samples, None);
    let failures = report.remarks.iter().find(|r| matches!(r.kind, Kind::Failures { failed: 10, accepted: 10, .. }));
    assert_eq!(failures.map(Remark::warning), Some(false), "the user accepts them");
    run.plan.ignore_failure = IgnoreFailure::No;
    let report = build(&run, &samples, None);
    assert_eq!(report.series[0].pt, Reading::Absent(Absent::Failed("no sample succeeded".into())));
}

#[test]
fn daemons_are_folded_and_added_up() {
    let kernel = |name: &str, cpu| Daemon { kind: TaskKind::Kernel, born: false, ..daemon(name, cpu) };
    let mut own = daemon("tare", ms(50));
    own.kind = TaskKind::Tare;
    let mut samples = series(0, 4, 100);
    let lists = [
        vec![kernel("kworker/0:1-events", ms(2)), kernel("kworker/1:0", ms(3)), own.clone()],
        vec![kernel("kworker/0:2", ms(4)), daemon("sh", ms(1)), daemon("sh", Nanos(0))],
        vec![],
        vec![daemon("sh", Nanos(0))],
    ];
    for (s, list) in samples.iter_mut().zip(lists) {
        s.daemons = Reading::Value(Daemons {
            list,
            incomplete: (s.index == 2).then(|| Absent::Lost("overrun".into())),
            processes: 1,
            image_before: ms(1),
            image_after: ms(1),
        });
    }
    let report = build(&run(1), &samples, None);
    let s = &report.series[0];
    let summary_of = |f: &str| s.daemons.iter().find(|d| d.family == f).unwrap();
    let k = summary_of("kworker");
    assert_eq!((k.samples, k.total, k.max, k.mean, k.born), (2, ms(9), ms(5), 2.25e6, 0));
    assert_eq!((summary_of("sh").samples, summary_of("sh").born), (1, 3));
    assert_eq!(s.daemons[0].kind, TaskKind::Tare);
    assert_eq!(s.difference.daemons, Reading::Value(2.5e6));
    assert_eq!(s.daemons_incomplete, Some((1, "lost: overrun".into())));
    assert!(remarked!(report, Kind::DaemonsIncomplete { samples: 1, of: 4, why } if why == "lost: overrun"));
}

/// A ledger: on a CPU, of that interrupted and stolen, then waiting for `sh` and asleep.
fn ledger(on_cpu: i64, interrupted: i64, stolen: i64, waited: i64, asleep: i64) -> Ledger {
    let share = |ns: i64| Share { time: ms(ns), count: 1 };
    Ledger {
        tasks: 1,
        on_cpu: share(on_cpu),
        stolen: Reading::Value(share(stolen)),
        interrupts: [("local_timer".to_owned(), share(interrupted))].into(),
        softirqs: BTreeMap::new(),
        runtime: ms(on_cpu - stolen),
        preempted: share(waited),
        woken: Share::default(),
        preemptors: vec![Preemptor { name: "sh".into(), kind: Some(TaskKind::User), share: share(waited) }],
        blocked: [("futex".to_owned(), share(asleep))].into(),
    }
}

/// PT 100 ms, ET 101 ms: launch 1 ms, end 2 ms before the stamp.
fn accounted(index: u32) -> Sample {
    let mut s = sample(0, index, ms(100), vec![]);
    s.account = Reading::Value(Account {
        exec: ms(1),
        end: ms(99),
        outside: ledger(0, 0, 0, 0, 0),
        main: ledger(60, 4, 1, 30, 7),
        others: ledger(40, 2, 0, 10, 5),
        interrupts_charged: true,
        stolen_charged: false,
        lost: 0,
        open: 0,
    });
    s
}

fn changed(f: impl Fn(&mut Account)) -> Sample {
    let mut s = accounted(0);
    if let Reading::Value(a) = &mut s.account {
        f(a);
    }
    s
}

#[test]
fn net_time_is_without_what_the_kernel_charged() {
    // Interrupts of all ledgers; not the steal time, which this kernel leaves out.
    assert_eq!(accounted(0).net_time(), Ok(ms(94)));
    assert_eq!(changed(|a| a.stolen_charged = true).net_time(), Ok(ms(93)));
    assert_eq!(changed(|a| a.interrupts_charged = false).net_time(), Ok(ms(100)));
    // The task-clock has both in any case.
    let mut s = changed(|a| a.interrupts_charged = false);
    if let Reading::Value(p) = &mut s.process_times {
        (p.source, p.task_clock) = (PtSource::TaskClock, Reading::Value(ms(100)));
    }
    assert_eq!(s.net_time(), Ok(ms(93)));
    // What is not complete gives none.
    assert!(matches!(changed(|a| a.lost = 1).net_time(), Err(Absent::Lost(_))));
    assert!(sample(0, 0, ms(1), vec![]).net_time().is_err());
}

#[test]
fn the_account_adds_up_to_the_elapsed_time() {
    let s = accounted(0);
    assert_eq!((s.launch(), s.reap(), s.unattributed()), (Some(ms(1)), Some(ms(2)), Some(ms(1))));
    let samples: Vec<Sample> = (0..10).map(accounted).collect();
    let report = build(&run(1), &samples, None);
    let a = report.series[0].account.value().unwrap();
    let sum: f64 = a.elapsed.iter().map(|e| e.time).sum();
    assert!((sum - a.gross).abs() < 1.0 && a.gross == 101e6, "{sum} of {}", a.gross);
    let kinds: Vec<_> = a.elapsed.iter().map(|e| (e.kind, e.time / 1e6)).collect();

    let expected = [
        (EntryKind::Net, 55.0),
        (EntryKind::Preempted, 30.0),
        (EntryKind::Blocked, 7.0),
        (EntryKind::Interrupt, 4.0),
        (EntryKind::Reap, 2.0),
        (EntryKind::Stolen, 1.0),
        (EntryKind::Launch, 1.0),
        (EntryKind::Waiting, 0.0),
        (EntryKind::Unattributed, 1.0),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(a.elapsed[2].asleep(), Some(Asleep::Locks));
    assert_eq!((a.samples, a.other_tasks, a.agreement), (10, 1.0, Some(1.0)));
    assert_eq!(report.series[0].net.value().unwrap().mean, 94e6);
    assert!(
        remarked!(report, Kind::Unattributed { time, share: Some(share) } if *time == 1e6 && (share - 1.0 / 101.0).abs() < 1e-9),
        "1% is reported"
    );
    let mut partial = samples;
    partial[3] = changed(|a| a.lost = 2);
    partial[3].index = 3;
    let report = build(&run(1), &partial, None);
    assert!(remarked!(report, Kind::AccountIncomplete { samples: 1, of: 10, .. }));
    assert_eq!(report.series[0].net.value().unwrap().samples, 9);
}

#[test]
fn what_a_quota_took_is_not_booked_to_others() {
    let held = |index: u32, time: Nanos| {
        let mut s = accounted(index);
        let throttled = vec![(Name::new(*b"/box"), Share { time, count: 2 }), (Name::new(*b"/"), Share::default())];
        let oom_kills = OomKills { cgroup: Reading::Value(0), machine: Reading::Value(0), limit: None };
        s.cgroup_limits = Reading::Value(CgroupLimits { throttled, oom_kills });
        s
    };
    // 30 ms were waited for others.
    let samples: Vec<Sample> = (0..10).map(|i| held(i, ms(24))).collect();
    let report = build(&run(1), &samples, None);
    let a = report.series[0].account.value().unwrap();
    let of = |kind| a.elapsed.iter().find(|e| e.kind == kind).map(|e| (e.name.as_str(), e.time / 1e6));
    assert_eq!(of(EntryKind::Throttled), Some(("/box", 24.0)));
    assert_eq!(of(EntryKind::Preempted).map(|p| p.1), Some(6.0));
    let sum: f64 = a.elapsed.iter().map(|e| e.time).sum();
    assert!((sum - a.gross).abs() < 1.0, "{sum} of {}", a.gross);
    assert!(
        remarked!(report, Kind::Throttled { samples: 10, of: 10, time, cgroup } if *time == 240e6 && cgroup == "/box")
    );
    // Nobody learns from such samples what daemons do.
    assert!(family_waits(&accounted(0)).is_some_and(|w| !w.is_empty()) && family_waits(&samples[0]).is_none());
    // What was waited bounds it.
    let report = build(&run(1), &[held(0, ms(500))], None);
    let elapsed = &report.series[0].account.value().unwrap().elapsed;
    assert!(elapsed.iter().any(|e| e.kind == EntryKind::Throttled && e.time == 30e6), "{elapsed:?}");
}

/// Programs that burn alike and wait differently.
#[test]
fn a_difference_in_elapsed_time_alone_is_told() {
    let mut samples = series(0, 10, 100);
    samples.extend(series(1, 10, 100));
    for s in samples.iter_mut().filter(|s| s.series == 1) {
        s.end.monotonic += ms(50);
    }
    let report = build(&run(2), &samples, None);
    let c = &report.comparisons[0];
    let elapsed = c.by(Measure::Et).unwrap();
    assert_eq!((c.verdict, elapsed.verdict), (Verdict::Undecided, Verdict::Slower));
    assert!((elapsed.ratio - 1.5).abs() < 0.02);
    let same = |ratio: f64| ratio == elapsed.ratio;
    assert!(remarked!(report, Kind::ByElapsed { reference: 0, elapsed: Verdict::Slower, ratio, .. } if same(*ratio)));
    assert_eq!((c.measure, c.disagreeing()), (Measure::Pt, Some(elapsed)));
}

#[test]
fn the_measure_of_the_verdict_can_be_chosen() {
    let mut samples = series(0, 10, 100);
    samples.extend(series(1, 10, 100));
    for s in samples.iter_mut().filter(|s| s.series == 1) {
        s.end.monotonic += ms(50);
    }
    let automatic = build(&run(2), &samples, None);
    let mut report = automatic.clone();
    assert_eq!(report.compare_by(Measure::Net), Err(1), "these samples have no net time");
    assert_eq!(report, automatic);
    assert_eq!(report.compare_by(Measure::Et), Ok(()));
    let c = &report.comparisons[0];
    assert_eq!((c.measure, c.verdict, c.pairs), (Measure::Et, Verdict::Slower, 10));
    assert!((c.ratio - 1.5).abs() < 0.02 && c.interval.as_ref().unwrap().low > 1.4);
    assert_eq!(c.disagreeing().map(|r| (r.measure, r.verdict)), Some((Measure::Pt, Verdict::Undecided)));
    assert_eq!(c.ratios, automatic.comparisons[0].ratios, "all of them stay");
    assert_eq!(report.compare_by(Measure::Pt), Ok(()));
    assert_eq!(report, automatic);
}

/// Two equal programs, the second of which prints `factor` times the number of the first.
fn printing(factor: f64) -> Vec<Sample> {
    let mut samples = series(0, 10, 100);
    samples.extend(series(1, 10, 100));
    for s in &mut samples {
        let value = f64::from(s.index + 1) * if s.series == 1 { factor } else { 1.0 };
        s.metrics = vec![MetricReading { name: "rate".to_owned(), text: Reading::Value(value.to_string()) }];
    }
    samples
}

#[test]
fn the_verdict_can_be_that_of_what_programs_print() {
    let automatic = build(&run(2), &printing(2.0), None);
    assert_eq!(automatic.comparisons[0].verdict, Verdict::Undecided);
    let mut report = automatic.clone();
    assert_eq!(report.compare_by_metric("speed"), Err(NoMetricRatio::Absent { series: 0 }));
    assert_eq!(report, automatic);
    assert_eq!(report.compare_by_metric("rate"), Ok(()));
    let c = &report.comparisons[0];
    assert_eq!((c.by_metric.as_deref(), c.basis, c.verdict), (Some("rate"), RatioBasis::Alone, Verdict::Slower));
    assert!((c.ratio - 2.0).abs() < 1e-12 && c.interval.is_ok(), "{c:?}");
    assert_eq!((c.disagreeing(), &c.ratios), (None, &automatic.comparisons[0].ratios));
    assert_eq!(report.compare_by(Measure::Pt), Ok(()));
    assert_eq!(report, automatic);
    // A margin of practical equality is that of the run.
    let mut run = run(2);
    run.plan.margin = Some(0.5);
    let mut near = build(&run, &printing(1.1), None);
    assert_eq!(near.compare_by_metric("rate"), Ok(()));
    assert_eq!(near.comparisons[0].verdict, Verdict::Same);
}

#[test]
fn what_is_zero_or_negative_is_not_compared_by_its_ratio() {
    for factor in [0.0, -1.0] {
        let automatic = build(&run(2), &printing(factor), None);
        let mut report = automatic.clone();
        assert_eq!(report.compare_by_metric("rate"), Err(NoMetricRatio::NotPositive { series: 1 }), "{factor}");
        assert_eq!(report, automatic);
    }
    // One value is enough: the ratio of the others would be that of some executions.
    let mut samples = printing(2.0);
    samples[3].metrics[0].text = Reading::Value("0".to_owned());
    let refused = build(&run(2), &samples, None).compare_by_metric("rate");
    assert_eq!(refused, Err(NoMetricRatio::NotPositive { series: 0 }));
    // Values of different rounds have no ratio either.
    let mut samples = printing(2.0);
    samples.iter_mut().filter(|s| (s.index < 5) == (s.series == 0)).for_each(|s| s.metrics.clear());
    let refused = build(&run(2), &samples, None).compare_by_metric("rate");
    assert_eq!(refused, Err(NoMetricRatio::NoPairs { series: 1 }));
}

#[test]
fn programs_are_compared() {
    let mut run = run(3);
    run.plan.programs[1].reference = true;
    let mut samples = series(0, 10, 90);
    samples.extend(series(1, 10, 100));
    samples.extend(series(2, 10, 100));
    let report = build(&run, &samples, None);
    let (a, c) = (&report.comparisons[0], &report.comparisons[1]);
    assert_eq!((a.series, a.reference, a.measure, a.verdict, a.pairs), (0, 1, Measure::Pt, Verdict::Faster, 10));
    assert!((a.ratio - 0.9).abs() < 0.001 && a.paired_in_time);
    assert_eq!((c.ratio, c.verdict), (1.0, Verdict::Undecided));
    run.plan.order = Order::Sequential;
    let report = build(&run, &samples, None);
    assert!(!report.comparisons[0].paired_in_time && remarked!(report, Kind::Sequential));
    for s in samples.iter_mut().filter(|s| s.series == 0) {
        s.process_times = absent();
    }
    let report = build(&run, &samples, None);
    assert_eq!(report.comparisons[0].measure, Measure::Et);
    assert!(remarked!(report, Kind::NoProcessTime { missing: 10, of: 10, .. }));
    assert_eq!(report.protocol.steps[0].standing, Standing::NotHeld);
    let without: Vec<Sample> = samples.into_iter().filter(|s| s.series != 0 || s.index > 40).collect();
    assert_eq!(build(&run, &without, None).comparisons.len(), 1);
}

#[test]
fn remarks() {
    let mut run = run(1);
    run.status = Status::Interrupted;
    run.pt_source = PtSource::Wait4;
    run.pt_source_notes = vec!["no cgroup here".into()];
    run.plan.runs = RunCount::Adaptive { precision: 1e-9, min: 10, max: 10 };
    let mut samples = series(0, 10, 100);
    for s in &mut samples {
        s.end.monotonic = ms(300) + Nanos(i64::from(s.index % 2) * 2_000 - 1_000);
        s.steal = Reading::Value(ms(30));
    }
    let gone = |name: &str, fate| Survivor { pid: 1, name: Name::from(name), fate };
    samples[0].survivors = vec![gone("sleep", Fate::Ended), gone("x", Fate::CouldNotEnd("no".into()))];
    samples[1].survivors = vec![gone("sleep", Fate::Ended), gone("y", Fate::Left)];
    let mut p = profile(vec![]);
    p.machine = "other".into();
    let report = build(&run, &samples, Some(&p));
    let first = &report.remarks[0];
    let status = Status::Interrupted;
    assert_eq!((first.series, &first.kind), (None, &Kind::Incomplete { status, run: 7, counted: 10 }));
    let names_of = |name: &str, count| vec![NameCount { name: name.into(), count }];
    let source = Kind::Source { source: PtSource::Wait4, notes: vec!["no cgroup here".into()] };
    let (not_ended, ended, left) = (names_of("x", 1), names_of("sleep", 2), names_of("y", 1));
    for (series, warning, kind) in [
        (None, false, source),
        (None, true, Kind::Profile { profile: "prof@1".into(), doubt: Doubt::OtherMachine }),
        (Some(0), true, Kind::NotEnded { names: not_ended }),
        (Some(0), false, Kind::Ended { names: ended }),
        (Some(0), false, Kind::LeftRunning { names: left }),
    ] {
        let found = report.remarks.iter().find(|r| r.kind == kind);
        assert_eq!(found.map(|r| (r.series, r.warning())), Some((series, warning)), "{kind:?}: {:#?}", report.remarks);
    }
    assert!(remarked!(report, Kind::Waiting { ratio, accounted: false, .. } if (ratio - 3.0).abs() < 0.01));
    assert!(remarked!(report, Kind::Steal { share, .. } if (share - 0.025).abs() < 1e-9));
    let precision = |report: &RunReport| {
        let found = report.remarks.iter().find(|r| matches!(r.kind, Kind::Precision { samples: 10, .. }));
        found.map(Remark::warning)
    };
    assert_eq!(precision(&report), Some(true), "it is not reached");
    p.machine = "m".into();
    p.kernel = "older".into();
    let doubt = Doubt::OtherKernel { profile: "older".into(), run: run.host.kernel.clone() };
    let remark = Kind::Profile { profile: "prof@1".into(), doubt };
    assert!(build(&run, &samples, Some(&p)).remarks.iter().any(|r| r.kind == remark));
    run.plan.runs = RunCount::Adaptive { precision: 0.5, min: 10, max: 10 };
    assert_eq!(precision(&build(&run, &samples, None)), Some(false), "it is");
    run.plan.sigma = f64::NAN;
    let protocol = build(&run, &samples, None).protocol;
    let json = serde_json::to_string(&protocol).unwrap();
    assert_eq!(serde_json::from_str::<ProtocolReport>(&json).unwrap(), protocol, "s of no check 2 is none, not NaN");
    let json = serde_json::to_value(&report.remarks).unwrap();
    assert_eq!(
        json[0],
        serde_json::json!({"series": null, "kind": "incomplete", "status": "interrupted", "run": 7, "counted": 10})
    );
    assert_eq!(serde_json::from_value::<Vec<Remark>>(json).unwrap(), report.remarks);
}

#[test]
fn suspends_and_set_clocks_are_named_with_their_samples() {
    let mut samples = series(0, 10, 100);
    let shift =
        |suspended, stepped| Reading::Value(ClockShift { suspended: Nanos(suspended), stepped: Nanos(stepped) });
    samples[0].clock_shift = shift(999_999, -999_999);
    let unmarked = build(&run(1), &samples, None);
    assert!(!remarked!(unmarked, Kind::Suspended { .. } | Kind::ClockSet { .. }), "within the readings' resolution");
    samples[2].clock_shift = shift(61_000_000_000, 1_000_001);
    samples[5].clock_shift = shift(5_000_000_000, -2_000_000_000);
    samples[7].clock_shift = shift(0, i64::MIN);
    samples[7].phase = Phase::Warmup;
    let report = build(&run(1), &samples, None);
    for kind in
        [Kind::Suspended { samples: vec![2, 5], time: 66e9 }, Kind::ClockSet { samples: vec![2, 5], step: -2e9 }]
    {
        let remark = report.remarks.iter().find(|r| r.kind == kind);
        assert!(remark.is_some_and(|r| r.series == Some(0) && r.warning()), "{kind:?}: {:#?}", report.remarks);
    }
    assert_eq!(report.series[0].et.value().map(|m| m.retained), Some(9), "no sample is discarded for it");
}

#[test]
fn samples_of_earlier_versions_have_no_clock_shift() {
    let of_version = |shift: Option<serde_json::Value>| {
        let mut json = serde_json::to_value(sample(0, 0, ms(1), vec![])).unwrap();
        let fields = json.as_object_mut().unwrap();
        fields.remove("clock_shift");
        fields.extend(shift.map(|s| ("clock_shift".to_owned(), s)));
        json
    };
    let earlier: Sample = serde_json::from_value(of_version(None)).unwrap();
    assert!(matches!(earlier.clock_shift, Reading::Absent(Absent::NotAsked(_))), "absent is not zero");
    assert_eq!(serde_json::to_value(&earlier).unwrap(), of_version(None), "it is exported as it was");
    let shift = serde_json::json!({"value": {"suspended": 0, "stepped": 7}});
    let newer: Sample = serde_json::from_value(of_version(Some(shift.clone()))).unwrap();
    assert_eq!(newer.clock_shift.value(), Some(&ClockShift { suspended: Nanos(0), stepped: Nanos(7) }));
    assert_eq!(serde_json::to_value(&newer).unwrap(), of_version(Some(shift)));
}

/// Anything that may be in a store.
fn any_sample() -> impl Strategy<Value = Sample> {
    let times = prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), -5..5_i64, 0..1_000_000_000_i64];
    (0..4_u32, 0..6_u32, times.clone(), times, 0..6_u8, any::<bool>()).prop_map(|(series, index, pt, et, how, warm)| {
        let list = vec![daemon("a", Nanos(et)), daemon("kworker/0:1", Nanos(pt))];
        let mut s = sample(series, index, Nanos(pt), list);
        s.end.monotonic = Nanos(et);
        s.phase = if warm { Phase::Warmup } else { Phase::Counted };
        match how {
            0 => s.outcome = Outcome::Signaled { signal: 11 },
            1 => s.process_times = absent(),
            2 => s.daemons = absent(),
            3 => s.usage = absent(),
            4 => s.steal = Reading::Value(Nanos(pt)),
            _ => {}
        }
        s
    })
}

#[test]
fn a_resumed_run_may_have_any_numbers() {
    let alone = vec![Slot { series: 0, phase: Phase::Warmup, index: u32::MAX }];
    let done = Acts { alone, duets: vec![] };
    let plan = crate::common::plan(1);
    let slots = first_warmups(&plan, &done).chain(after_warmups(&plan, &done, 1));
    assert_eq!(slots.count(), 11, "a warm-up, and all counted samples");
}

/// A sample with such a number wherever it has one: an imported document may have any.
fn extreme_sample(seq: u32, numbers: &[i64]) -> Sample {
    let mut numbers = numbers.iter().copied().cycle();
    let mut number = || numbers.next().unwrap_or_default();
    let mut time = || Nanos(number());
    let mut list = vec![daemon("a", time()), daemon("a", time()), daemon("kworker/0:1", time())];
    list[2].interval_counted = Some(time());
    let mut s = sample(seq % 2, u32::MAX - seq, time(), list);
    (s.seq, s.wall_clock, s.own.cpu) = (seq, time(), time());
    for stamp in [&mut s.start, &mut s.end] {
        (stamp.monotonic, stamp.monotonic_raw) = (time(), time());
    }
    let cpu = CpuTime { user: time(), system: time(), total: time() };
    s.process_times = Reading::Value(ProcessTimes {
        source: PtSource::TaskClock,
        cgroup: Reading::Value(cpu),
        task_clock: Reading::Value(time()),
        exit_records: Reading::Value(time()),
        wait4: Reading::Value(cpu),
        check: SourceCheck::default(),
    });
    s.steal = Reading::Value(time());
    s.clock_shift = Reading::Value(ClockShift { suspended: time(), stepped: time() });
    let (exec, end) = (time(), time());
    let mut share = || Share { time: Nanos(number()), count: number() as u64 };
    let mut ledger = || Ledger {
        tasks: u64::MAX,
        on_cpu: share(),
        stolen: Reading::Value(share()),
        interrupts: [("local_timer".to_owned(), share()), ("NMI".to_owned(), share())].into(),
        softirqs: [("timer".to_owned(), share())].into(),
        runtime: share().time,
        preempted: share(),
        woken: share(),
        preemptors: vec![
            Preemptor { name: "sh".into(), kind: Some(TaskKind::User), share: share() },
            Preemptor { name: "".into(), kind: None, share: share() },
        ],
        blocked: [("futex".to_owned(), share()), ("read".to_owned(), share())].into(),
    };
    let (outside, main, others) = (ledger(), ledger(), ledger());
    let (interrupts_charged, stolen_charged) = (true, true);
    let account =
        Account { exec, end, outside, main, others, interrupts_charged, stolen_charged, lost: 0, open: u32::MAX };
    s.account = Reading::Value(account);
    let (waited, on_cpu) = (Reading::Value(share().time), Reading::Value(share().time));
    let interrupts = Reading::Value([("LOC".to_owned(), u64::MAX)].into());
    s.estimate = Reading::Value(Estimate { waited, on_cpu, interrupts });
    let mut count = |event| {
        let times = EventTimes { enabled: Nanos(number()), running: Nanos(number()) };
        (event, Reading::Value(EventCount { count: number() as u64, times: Reading::Value(times), user_only: false }))
    };
    s.counters = Reading::Value(CounterEvent::ALL.into_iter().map(&mut count).collect());
    s
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Debugging builds, which this is one of, and releases end at an overflow.
    #[test]
    fn no_times_are_too_large(
        numbers in proptest::collection::vec(
            prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(-1), Just(0), Just(i64::MAX / 2), Just(i64::MIN / 2)],
            1..60,
        ),
        n in 1..25_u32,
        cutoff_at in prop_oneof![Just(0.0), Just(2000.0), Just(f64::MAX)],
    ) {
        let samples: Vec<Sample> = (0..n).map(|seq| extreme_sample(seq, &numbers[seq as usize % numbers.len()..])).collect();
        let report = build(&run(2), &samples, Some(&profile(vec![cutoff("a", cutoff_at)])));
        let json = serde_json::to_string(&report).unwrap();
        prop_assert!(serde_json::from_str::<RunReport>(&json).is_ok(), "no time that JSON cannot hold: {}", json);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_samples_in_any_order(
        (a, b) in proptest::collection::vec(any_sample(), 0..40).prop_map(|mut all| {
            // Positions differ in a real run.
            for (seq, s) in all.iter_mut().enumerate() { s.seq = seq as u32; }
            all
        }).prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle())),
        sigma in prop_oneof![Just(2.0), Just(5.0), Just(0.0), Just(-1.0)],
        cut in prop_oneof![Just(f64::INFINITY), Just(-1.0), 0.0..1e9_f64],
    ) {
        let mut run: Run = run(3);
        run.plan.sigma = sigma;
        let p = profile(vec![cutoff("a", cut), cutoff("kworker", 10.0)]);
        let report = build(&run, &a, Some(&p));
        prop_assert_eq!(&report, &build(&run, &b, Some(&p)));
        for s in &report.series {
            for (measure, reading) in [(Measure::Pt, &s.pt), (Measure::Et, &s.et)] {
                let Some(m) = reading.value() else { continue };
                let listed = s.discards.iter().filter(|d| d.measure == measure).count() as u32;
                prop_assert_eq!(m.retained + m.discarded_by_cutoff + m.discarded_by_sigma, m.samples);
                prop_assert_eq!(m.discarded_by_cutoff + m.discarded_by_sigma, listed);
                prop_assert!(m.mean.is_finite() && m.min <= m.median && m.median <= m.max);
            }
        }
        let json = serde_json::to_string(&report).unwrap();
        prop_assert!(serde_json::from_str::<RunReport>(&json).is_ok());
    }
}
