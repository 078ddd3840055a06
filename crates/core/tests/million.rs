//! The report of a run with a million samples, which are never all in memory. Alone in its program, as the peak of the memory
//! is the whole program's.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "core/common.rs"]
mod common;

use common::{daemon, profile, run, sample};
use std::convert::Infallible;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::report::build::build_from;
use tarebench_core::run::samples::SampleSource;
use tarebench_core::sample::account::{Account, Ledger, Preemptor, Share};
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::sample::data::Sample;

const DAEMONS: usize = 20;

/// The same sample so many times, each with another time and number.
struct Repeated(Sample, u32);

impl SampleSource for Repeated {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(&Sample)) -> Result<(), Infallible> {
        let mut sample = self.0.clone();
        for i in 0..self.1 {
            (sample.index, sample.seq) = (i, i);
            sample.end.monotonic = sample.start.monotonic + Nanos(1_000_000 + i64::from(i) * 7919 % 10_007);
            visit(&sample);
        }
        Ok(())
    }
}

/// With so many entries of each kind.
fn ledger(entries: usize) -> Ledger {
    let share = Share { time: Nanos(100), count: 3 };
    let named = |what: &str| (0..entries).map(|i| (format!("{what}{i}"), share)).collect();
    let preemptor = |i| Preemptor { name: Name::from(format!("task{i}").as_str()), kind: Some(TaskKind::User), share };
    Ledger {
        tasks: 1,
        on_cpu: Share { time: Nanos(900_000), count: 4 },
        stolen: Reading::Value(share),
        interrupts: named("irq"),
        softirqs: named("softirq"),
        runtime: Nanos(900_000),
        preempted: share,
        woken: share,
        preemptors: (0..entries).map(preemptor).collect(),
        blocked: named("call"),
    }
}

/// The process's peak of resident memory, MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_000
}

#[test]
fn a_hundred_thousand_samples_fit_in_a_tenth() {
    samples_fit(100_000, 30);
}

#[test]
#[ignore = "slow: two minutes without optimisation (make slow)"]
fn a_million_samples_fit_in_300_mb() {
    samples_fit(1_000_000, 300);
}

/// Their report needs at most so many MB beside what the program has before.
fn samples_fit(samples: u32, most: u64) {
    let before = peak();
    let list = (0..DAEMONS).map(|i| daemon(&format!("daemon{i}"), Nanos(1_000))).collect();
    let mut first = sample(0, 0, Nanos(1_000_000), list);
    first.account = Reading::Value(Account {
        exec: first.start.monotonic + Nanos(1_000),
        end: first.start.monotonic + Nanos(999_000),
        outside: ledger(0),
        main: ledger(5),
        others: ledger(0),
        interrupts_charged: true,
        stolen_charged: false,
        lost: 0,
        open: 0,
    });
    let cutoffs =
        vec![Cutoff { daemon: "daemon3".into(), short: 2_000.0, task_time_limit: None, long: None, effect: None }];
    let Ok(report) = build_from(&run(1), &Repeated(first, samples), Some(&profile(cutoffs)));
    let series = &report.series[0];
    let (et, account) = (series.et.value().unwrap(), series.account.value().unwrap());
    assert_eq!((series.counted, et.samples, series.daemons.len()), (samples, samples, DAEMONS));
    assert_eq!((series.daemons[0].samples, account.samples), (samples, et.retained));
    assert!(et.mean_interval.as_ref().unwrap().contains(et.mean));
    assert!(series.pt.value().is_some() && series.net.value().is_some());
    let peak = peak();
    assert!(peak - before <= most, "{peak} MB, {before} MB before");
}
