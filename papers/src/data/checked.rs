//! Statistics of a series before and after the two checks of EMPv5 (EMP section 4.5.1), for the studies that compare them.

use crate::data::series::StudySeries;
use serde::Serialize;
use tarebench_core::base::reading::Reading;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::{Check, Cutoffs, check, task_time};
use tarebench_core::statistics::limits::Limits;
use tarebench_core::statistics::series::{Summary, Values, summary};

/// Check 1 of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FirstCheckResult {
    /// Daemons that have a finite cutoff at this task time; 0: nothing could be checked.
    pub cutoffs: usize,
    /// Samples in which no daemons were recorded, so that they could not be checked. They are retained.
    pub unchecked: usize,
    /// By sample, whether a daemon ran longer than its cutoff.
    #[serde(skip)]
    pub(crate) spoiled: Vec<bool>,
}

impl FirstCheckResult {
    pub(crate) fn new(series: &StudySeries<'_>, cutoffs: &[Cutoff]) -> FirstCheckResult {
        let nothing = || FirstCheckResult { spoiled: vec![false; series.samples.len()], ..Default::default() };
        // A daemon comes by the clock, so that the elapsed time decides which cutoff holds; paused, the program meets none.
        let running = Values::from_nanos(series.samples.iter().map(|s| s.elapsed() - s.paused()));
        let Some(task) = task_time(&running) else { return nothing() };
        let finite = cutoffs.iter().filter(|c| c.for_task_time(task).is_finite()).count();
        if finite == 0 {
            return nothing();
        }
        let chosen = Cutoffs::new(cutoffs, task);
        let lists: Vec<_> = series.samples.iter().map(|s| s.daemons.value()).collect();
        FirstCheckResult {
            cutoffs: finite,
            unchecked: series.samples.iter().filter(|s| matches!(s.daemons, Reading::Absent(_))).count(),
            spoiled: lists.iter().map(|d| d.is_some_and(|d| chosen.check(&d.list).is_some())).collect(),
        }
    }

    /// Check 1 of the first samples only.
    pub(crate) fn first(&self, samples: usize) -> &[bool] {
        self.spoiled.get(..samples).unwrap_or(&self.spoiled)
    }
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleFate {
    Retained,
    /// Discarded by check 1.
    Cutoff,
    /// Discarded by check 2.
    Deviation,
}

/// Statistics of the samples that the checks leave; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedTimes {
    pub samples: usize,
    /// Discarded by check 1.
    pub by_cutoff: usize,
    /// Discarded by check 2.
    pub by_deviation: usize,
    pub summary: Summary,
}

impl CheckedTimes {
    pub fn discarded(&self) -> usize {
        self.by_cutoff + self.by_deviation
    }
}

/// What becomes of each value; `s` of 0: without check 2.
pub(crate) fn fates(values: &Values, spoiled: &[bool], s: f64) -> Vec<SampleFate> {
    let is_spoiled = |i: usize| spoiled.get(i).copied().unwrap_or(false);
    let limits = Limits::new(&passed(values, spoiled), s);
    let fate = |(i, value): (usize, &f64)| match check(*value, is_spoiled(i), limits) {
        Check::Retained => SampleFate::Retained,
        Check::Cutoff => SampleFate::Cutoff,
        Check::Sigma(_) => SampleFate::Deviation,
    };
    values.as_slice().iter().enumerate().map(fate).collect()
}

/// The values that check 1 leaves.
pub(crate) fn passed(values: &Values, spoiled: &[bool]) -> Values {
    let keep: Vec<bool> = (0..values.len()).map(|i| !spoiled.get(i).copied().unwrap_or(false)).collect();
    values.only(&keep)
}

/// The values that both checks leave.
pub(crate) fn retained(values: &Values, fates: &[SampleFate]) -> Values {
    values.only(&fates.iter().map(|f| *f == SampleFate::Retained).collect::<Vec<_>>())
}

/// The statistics after both checks; `None` if nothing is left.
pub(crate) fn checked(values: &Values, spoiled: &[bool], s: f64) -> Option<CheckedTimes> {
    let fates = fates(values, spoiled, s);
    let count = |wanted| fates.iter().filter(|f| **f == wanted).count();
    Some(CheckedTimes {
        samples: values.len(),
        by_cutoff: count(SampleFate::Cutoff),
        by_deviation: count(SampleFate::Deviation),
        summary: summary(&retained(values, &fates))?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::base::name::Name;
    use tarebench_core::base::units::Nanos;
    use tarebench_core::run::discards::STRICT;
    use tarebench_core::sample::daemons::{Daemon, TaskKind};
    use tarebench_core::sample::data::Sample;

    /// A cutoff for every task time.
    pub(crate) fn cutoff(daemon: &str, ns: f64) -> Cutoff {
        Cutoff { daemon: daemon.to_owned(), short: ns, task_time_limit: None, long: Some(ns), effect: None }
    }

    /// The sample with a daemon in it.
    pub(crate) fn with_daemon(mut sample: Sample, name: &str, cpu: i64) -> Sample {
        let daemon = Daemon {
            pid: 7,
            start: Nanos(1),
            name: Name::new(name),
            kind: TaskKind::User,
            cpu: Nanos(cpu),
            tick_bound: false,
            interval_counted: None,
            born: true,
            died: true,
        };
        if let Reading::Value(daemons) = &mut sample.daemons {
            daemons.list.push(daemon);
        }
        sample
    }

    #[test]
    fn both_checks_in_their_order() {
        // Table XVIII's form, 20 = 15 + 5, with numbers that are worked out by hand: 100 and 101 alternate, one is 110, and a daemon
        // made one 500, which check 2 must not see.
        let mut samples: Vec<Sample> = (0..20).map(|i| sample(i, f64::from(i), 200, 100 + i64::from(i % 2))).collect();
        samples.push(sample(20, 20.0, 200, 110));
        samples.push(with_daemon(sample(21, 21.0, 200, 500), "rhn_check", 9_000));
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let s = series("", &p, &h, &samples);
        let times = Values::from_nanos(s.process_times().unwrap());
        let first = FirstCheckResult::new(&s, &[cutoff("rhn_check", 8_000.0), cutoff("sshd", f64::INFINITY)]);
        assert_eq!((first.cutoffs, first.unchecked), (1, 0));
        let found = checked(&times, &first.spoiled, STRICT).unwrap();
        assert_eq!((found.samples, found.by_cutoff, found.by_deviation, found.discarded()), (22, 1, 1, 2));
        assert_eq!((found.summary.min, found.summary.max, found.summary.mean), (100.0, 101.0, 100.5));
        // Without cutoffs, 500 hides 110.
        let none = FirstCheckResult::new(&s, &[]);
        assert_eq!((none.cutoffs, none.spoiled.len()), (0, 22));
        let found = checked(&times, &none.spoiled, STRICT).unwrap();
        assert_eq!((found.by_cutoff, found.by_deviation, found.summary.max), (0, 1, 110.0));
        // Without check 2.
        assert_eq!(checked(&times, &first.spoiled, 0.0).unwrap().summary.max, 110.0);
        assert_eq!((first.first(3).len(), first.first(99).len()), (3, 22));
    }

    #[test]
    fn samples_without_daemons_are_not_checked() {
        let mut samples: Vec<Sample> = (0..4).map(|i| sample(i, 0.0, 200, 100)).collect();
        samples[2].daemons = Reading::Absent(tarebench_core::base::reading::Absent::NotAsked("a test".to_owned()));
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let first = FirstCheckResult::new(&series("", &p, &h, &samples), &[cutoff("x", 1.0)]);
        assert_eq!((first.cutoffs, first.unchecked), (1, 1));
    }
}
