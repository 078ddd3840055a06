//! The published examples: EMP (Suh et al., 2016) section 4.5.2 and SEDONA (Suh, 2017) step C.

use crate::common::{daemon, profile, run, sample};
use crate::emp::{InfrequentDaemon, infrequent_daemons, l_samples};
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::Standing;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::DiscardReason;
use tarebench_core::run::discards::{Cutoffs, STRICT};
use tarebench_core::run::report::build::build;
use tarebench_core::run::report::data::Measure;
use tarebench_core::sample::data::Sample;
use tarebench_core::sample::families::family;

const TABLE_IX: &str = "emp-table-9";
const TABLE_XIII: &str = "emp-table-13";

/// Task times of INC128 and INC16384 (EMP tables XVIII and XIX).
const INC128: Nanos = Nanos::from_millis(128_250);
const INC16384: Nanos = Nanos::from_millis(16_415_804);

/// Step 8 for the short run, ms: the midpoint of the central cluster's maximum (0 if absent) and the L-samples' minimum.
fn short_cutoff(d: &InfrequentDaemon) -> f64 {
    (d.short.0.unwrap_or(0.0) + d.short.1) / 2.0
}

/// Step 8 for the long run, ms: as for the short one; for a daemon that only its central cluster has, maximum and two standard
/// deviations.
fn long_cutoff(d: &InfrequentDaemon) -> Option<f64> {
    match (d.long_cluster, d.long_min) {
        (cluster, Some(min)) => Some((cluster.map_or(0.0, |(max, _)| max) + min) / 2.0),
        (Some((max, sd)), None) => Some(max + 2.0 * sd),
        (None, None) => None,
    }
}

fn cutoff(d: &InfrequentDaemon, short: f64, long: Option<f64>) -> Cutoff {
    Cutoff {
        daemon: d.name.to_owned(),
        short: short * 1e6,
        task_time_limit: d.period.map(|h| Nanos::from_secs_f64(h * 3600.0 / 20.0)),
        long: long.map(|l| l * 1e6),
        effect: None,
    }
}

fn unrounded() -> Vec<Cutoff> {
    let cutoff_of = |d: &InfrequentDaemon| match d.period {
        Some(_) => cutoff(d, short_cutoff(d), long_cutoff(d)),
        None => cutoff(d, short_cutoff(d).max(long_cutoff(d).unwrap_or(0.0)), None),
    };
    infrequent_daemons().iter().map(cutoff_of).collect()
}

fn printed() -> Vec<Cutoff> {
    infrequent_daemons().iter().map(|d| cutoff(d, d.printed.0, d.period.map(|_| d.printed.1))).collect()
}

fn discarded(table: &str, cutoffs: &[Cutoff], task_time: Nanos) -> Vec<u32> {
    let cutoffs = Cutoffs::new(cutoffs, task_time);
    l_samples(table).into_iter().filter(|(_, d)| cutoffs.check(d).is_some()).map(|(n, _)| n).collect()
}

/// Table XVII, first row.
const FIFTEEN: [u32; 15] = [75, 104, 186, 216, 298, 328, 366, 410, 439, 522, 551, 634, 663, 746, 775];

#[test]
fn the_tables_give_the_printed_cutoffs() {
    for (d, c) in infrequent_daemons().iter().zip(unrounded()) {
        // The papers round halves up, and 1.5 ms to 2, 0.5 to 1, 63.5 to 64.
        assert_eq!((c.short / 1e6 + 0.5).floor(), d.printed.0, "{}", d.name);
        let long = c.long.unwrap_or(c.short);
        assert_eq!((long / 1e6 + 0.5).floor(), d.printed.1, "{}", d.name);
    }
    let grep = unrounded().into_iter().find(|c| c.daemon == "grep").unwrap();
    assert_eq!((grep.short, grep.long), (12.2e6, None));
    let check = unrounded().into_iter().find(|c| c.daemon == "rhn_check").unwrap();
    assert_eq!(check.task_time_limit, Some(Nanos::from_secs_f64(720.0)));
    assert_eq!(check.for_task_time(INC128), 281e6);
    assert_eq!(check.for_task_time(INC16384), 12_828e6);
}

#[test]
fn fifteen_of_sixteen_are_discarded() {
    assert_eq!(l_samples(TABLE_IX).len(), 16);
    assert_eq!(discarded(TABLE_IX, &printed(), INC128), FIFTEEN);
}

/// The published fifteen follow from the printed cutoffs only: that of bash is 0.5 ms before it is rounded up to 1, and sample
/// 451 has a bash of 1 ms. All others are the same either way.
#[test]
fn unrounded_only_bash_makes_a_difference() {
    let mut cutoffs = unrounded();
    let mut all = FIFTEEN.to_vec();
    all.insert(9, 451);
    assert_eq!(discarded(TABLE_IX, &cutoffs, INC128), all);
    let (_, daemons) = l_samples(TABLE_IX).into_iter().find(|(n, _)| *n == 451).unwrap();
    let reason = Cutoffs::new(&cutoffs, INC128).check(&daemons);
    let bash = |r: &DiscardReason| match r {
        DiscardReason::Cutoff { daemon, cpu, cutoff, .. } => {
            daemon == "bash" && *cpu == Nanos::from_millis(1) && *cutoff == 0.5e6
        }
        _ => false,
    };
    assert!(reason.as_ref().is_some_and(bash), "{reason:?}");
    cutoffs.iter_mut().find(|c| c.daemon == "bash").unwrap().short = 1e6;
    assert_eq!(discarded(TABLE_IX, &cutoffs, INC128), FIFTEEN);
}

#[test]
fn ten_and_sixteen_of_the_long_run_are_discarded() {
    assert_eq!(discarded(TABLE_XIII, &printed(), INC16384), [10, 16]);
    assert_eq!(discarded(TABLE_XIII, &unrounded(), INC16384), [10, 16]);
    let cutoffs = Cutoffs::new(&unrounded(), INC16384);
    for (_, daemons) in l_samples(TABLE_XIII) {
        let over = daemons.iter().filter(|d| d.cpu.as_f64() > cutoffs.of(&family(&d.name, d.kind)).unwrap_or(f64::MAX));
        let names: Vec<String> = over.map(|d| d.name.to_string()).collect();
        assert_eq!(names, ["flush-9:0", "jbd2/md0-8", "md0_raid1", "rhn_check"], "table XIV");
    }
}

/// Executions are judged one by one: sample 451's four greps are together over 12 ms, its four sshds over 23.
#[test]
fn sample_451_is_not_added_up() {
    let (_, daemons) = l_samples(TABLE_IX).into_iter().find(|(n, _)| *n == 451).unwrap();
    let sum = |name: &str| daemons.iter().filter(|d| d.name.to_string() == name).map(|d| d.cpu).sum::<Nanos>();
    assert!(sum("grep") > Nanos::from_millis(12) && sum("sshd") > Nanos::from_millis(23));
    assert_eq!(Cutoffs::new(&printed(), INC128).check(&daemons), None);
}

/// A whole run of 800 samples: the daemons are the paper's, the times are made up, within its limits. Five process times are
/// outliers, and the elapsed time of one of these: table XVIII has 20 (=15+5) and 16 (=15+1).
#[test]
fn table_xviii_counts_discards_for_each_measure() {
    let spoiled = l_samples(TABLE_IX);
    let outliers = [100, 300, 500, 600, 700];
    let spoiled_sample = |n: u32| -> Sample {
        let daemons = spoiled.iter().find(|(m, _)| *m == n).map(|(_, d)| d.clone()).unwrap_or_default();
        let usual = 128_246 + i64::from(n % 9);
        let (pt, et) = match n {
            500 => (128_260, 128_260),
            n if outliers.contains(&n) => (128_240, 128_250),
            _ => (usual, usual),
        };
        let mut s = sample(0, n - 1, Nanos::from_millis(pt), daemons);
        (s.end.monotonic, s.end.monotonic_raw) = (Nanos::from_millis(et), Nanos::from_millis(et));
        s
    };
    let all: Vec<Sample> = (1..=800).map(spoiled_sample).collect();
    let mut run = run(1);
    run.plan.sigma = STRICT;
    let report = build(&run, &all, Some(&profile(printed())));
    let (pt, et) = (report.series[0].pt.value().unwrap(), report.series[0].et.value().unwrap());
    assert_eq!((pt.discards(), et.discards()), ("20 (=15+5)".to_owned(), "16 (=15+1)".to_owned()));
    assert_eq!((pt.samples, pt.retained), (800, 780));
    assert_eq!((et.samples, et.retained), (800, 784));
    // The row of INC128's PT in the table, to its last digit: 128,250 ms, 2.6 ms, 2.0e-5.
    let xviii =
        crate::emp::rows("emp-table-18").iter().find(|r| r[0].text() == Some("INC128") && r[1].text() == Some("PT"));
    let xviii = xviii.unwrap();
    assert_eq!(crate::emp::text(&xviii[3]), pt.discards());
    assert!((pt.mean / 1e6 - crate::emp::number(&xviii[6])).abs() < 0.5, "{}", pt.mean);
    assert!((pt.std_dev.unwrap() / 1e6 - crate::emp::number(&xviii[7])).abs() < 0.05, "{:?}", pt.std_dev);
    assert!((pt.relative_error.unwrap() - crate::emp::number(&xviii[8])).abs() < 0.05e-5, "{:?}", pt.relative_error);
    let discarded = |measure: Measure, by_cutoff: bool| -> Vec<u32> {
        let discards = report.series[0].discards.iter().filter(|d| d.measure == measure);
        discards
            .filter(|d| matches!(d.reason, DiscardReason::Cutoff { .. }) == by_cutoff)
            .map(|d| d.index + 1)
            .collect()
    };
    assert_eq!((discarded(Measure::Pt, true), discarded(Measure::Et, true)), (FIFTEEN.to_vec(), FIFTEEN.to_vec()));
    assert_eq!((discarded(Measure::Pt, false), discarded(Measure::Et, false)), (outliers.to_vec(), vec![500]));
    assert_eq!(report.protocol.steps[4].standing, Standing::Held);
    assert_eq!(report.protocol.reached, 6);
}

/// SEDONA C-1 to C-3: ten runs, those with a daemon over its cutoff dropped, the mean of the rest. SEDONA has no check 2
/// (`--sigma none`, stored as 0): the last run, which that would discard, counts.
#[test]
fn sedona_step_c() {
    let pts: Vec<i64> = (0..10).map(|i| if i == 9 { 8_040 } else { 8_016 + i % 3 }).collect();
    let make = |i: u32| {
        let d = match i {
            3 => vec![daemon("rhn_check", Nanos::from_millis(562))],
            // At the cutoff is not over it.
            4 => vec![daemon("rhn_check", Nanos::from_millis(281))],
            _ => vec![],
        };
        sample(0, i, Nanos::from_millis(pts[i as usize]), d)
    };
    let all: Vec<Sample> = (0..10).map(make).collect();
    let mut run = run(1);
    run.plan.sigma = 0.0;
    let report = build(&run, &all, Some(&profile(unrounded())));
    let pt = report.series[0].pt.value().unwrap();
    assert_eq!(pt.discards(), "1 (=1+0)");
    let rest: i64 = pts.iter().sum::<i64>() - pts[3];
    assert!((pt.mean - rest as f64 * 1e6 / 9.0).abs() < 1e-3);
    run.plan.sigma = STRICT;
    let report = build(&run, &all, Some(&profile(unrounded())));
    assert_eq!(report.series[0].pt.value().unwrap().discards(), "2 (=1+1)");
}
