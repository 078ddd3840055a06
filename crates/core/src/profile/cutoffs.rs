//! Step 8 of EMPv5: the cutoffs (EMP section 4.5.2, tables XI, XV, XVI; SEDONA section 2.2, table 1).
//!
//! The protocol summary of EMP (section 4.5.1, step 8) sets the cutoff between the *averages* of the central cluster and of the
//! long-running executions; its worked example and SEDONA take the cluster's *maximum* and the *minimum* of the others. The two that
//! agree are followed. Nothing is rounded; the papers print whole milliseconds, halves rounded up.
//!
//! What the papers leave open: where only the long run knows a daemon as infrequent, its cutoff there is the only one, for
//! every task time; where a daemon with a period has no long cutoff, there is none from the limit on, since it runs too
//! often during a program of that length to discard every sample with it.

use crate::base::units::Nanos;
use crate::profile::by_account::{AccountLesson, DaemonEffect};
use crate::profile::data::{Cutoff, GuardedEffect, WaitingCutoff};
use crate::profile::long_running::{BYSTANDER, Infrequent, Normal};
use crate::statistics::periods::Periodicity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Part of the period that a program may take for the daemon to be infrequent to it.
pub const PART: i64 = 20;

/// What one profiling run says of the machine's daemons: step 8's input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tables<'a> {
    /// The central cluster's daemons (EMP tables VIII, XII).
    pub normal: &'a [Normal],
    /// The infrequent ones (EMP tables XI, XV).
    pub infrequent: &'a [Infrequent],
    /// What the account says of them, where there is one.
    pub account: Option<&'a AccountLesson>,
}

impl Tables<'_> {
    fn effect(&self, daemon: &str) -> Option<&DaemonEffect> {
        self.account?.effects.iter().find(|e| e.daemon == daemon)
    }

    /// The middle between the longest normal and the shortest disturbing wait for a daemon, ns.
    fn waiting(&self, daemon: &str) -> Option<f64> {
        let direct = self.effect(daemon)?.direct?;
        Some(Basis::Midpoint { max: Some(direct.max), min: direct.min }.cutoff())
    }

    /// The longest wait and two standard deviations, where the daemon disturbs nothing, ns.
    fn normal_waiting(&self, daemon: &str) -> Option<f64> {
        let of = self.account?.normal.iter().find(|n| n.daemon == daemon)?;
        Some(Basis::Normal { max: of.max, std_dev: of.std_dev }.cutoff())
    }
}

/// Where a cutoff comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Basis {
    /// The middle between the cluster's maximum (0 if it lacks the daemon) and the minimum of the long executions.
    Midpoint {
        /// The cluster's maximum.
        max: Option<Nanos>,
        /// The minimum of the long-running or only-in-L executions.
        min: Nanos,
    },
    /// The cluster's maximum and two standard deviations: infrequent in the short run, normal in the long one.
    Normal {
        /// The cluster's maximum.
        max: Nanos,
        /// Standard deviation there, ns; `None` for a single execution.
        std_dev: Option<f64>,
    },
}

impl Basis {
    /// The cutoff, ns.
    pub fn cutoff(&self) -> f64 {
        match self {
            Basis::Midpoint { max, min } => (max.map_or(0.0, Nanos::as_f64) + min.as_f64()) / 2.0,
            Basis::Normal { max, std_dev } => max.as_f64() + 2.0 * std_dev.unwrap_or(0.0),
        }
    }
}

/// A row of EMP table XVI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutoffRow {
    pub daemon: String,
    /// From the short run.
    pub short: Option<Basis>,
    /// From the long run.
    pub long: Option<Basis>,
    /// The short run's periodicity; the long run's if that has none.
    pub periodicity: Periodicity,
    pub cutoff: Cutoff,
    /// The daemon disturbed no sample noticeably ([`BYSTANDER`]): the papers' tables give it a cutoff nevertheless;
    /// here it is shown, and discards nothing.
    pub bystander: bool,
}

fn midpoint(tables: &Tables<'_>, daemon: &str) -> Option<Basis> {
    let of = tables.infrequent.iter().find(|i| i.daemon == daemon)?;
    Some(Basis::Midpoint { max: of.max, min: of.min })
}

fn periodicity(tables: &Tables<'_>, daemon: &str) -> Option<Periodicity> {
    tables.infrequent.iter().find(|i| i.daemon == daemon).map(|i| i.periodicity)
}

/// The cutoffs, by daemon: of every daemon that is infrequent in the short run or in the long one, if there was one.
pub fn cutoffs(short: &Tables<'_>, long: Option<&Tables<'_>>) -> Vec<CutoffRow> {
    let all = short.infrequent.iter().chain(long.into_iter().flat_map(|l| l.infrequent));
    let names: BTreeSet<&str> = all.map(|i| i.daemon.as_str()).collect();
    names.into_iter().filter_map(|daemon| row(daemon, short, long)).collect()
}

fn row(daemon: &str, short: &Tables<'_>, long: Option<&Tables<'_>>) -> Option<CutoffRow> {
    let in_short = midpoint(short, daemon);
    let normal = |l: &Tables<'_>| {
        let of = l.normal.iter().find(|n| n.daemon == daemon)?;
        Some(Basis::Normal { max: of.max, std_dev: of.std_dev })
    };
    let in_long = long.and_then(|l| midpoint(l, daemon).or_else(|| in_short.and_then(|_| normal(l))));
    // The papers keep the short run's period where the long run, in which few occurrences fit, does not contradict it.
    let both = [periodicity(short, daemon), long.and_then(|l| periodicity(l, daemon))];
    let known = both.iter().flatten().find(|p| p.period().is_some());
    let periodicity = *known.or(both.iter().flatten().next())?;
    let limit = periodicity.period().map(|p| Nanos(p.0 / PART));
    let tables = [Some(short), long].into_iter().flatten();
    let found = tables.flat_map(|t| t.infrequent).filter(|i| i.daemon == daemon);
    let bystander = found.clone().all(|i| i.explains.is_some_and(|e| e < BYSTANDER));
    let cutoff = match (in_short.map(|b| b.cutoff()), in_long.map(|b| b.cutoff()), limit) {
        (Some(short), long, Some(limit)) => (short, Some(limit), long),
        (Some(short), long, None) => (long.map_or(short, |l| l.max(short)), None, None),
        (None, long, _) => (long?, None, None),
    };
    let effect = guarded(daemon, short, long, cutoff.1);
    Some(CutoffRow {
        daemon: daemon.to_owned(),
        short: in_short,
        long: in_long,
        periodicity,
        bystander,
        cutoff: Cutoff {
            daemon: daemon.to_owned(),
            short: cutoff.0,
            task_time_limit: cutoff.1,
            long: cutoff.2,
            effect,
        },
    })
}

/// What the daemon's cutoffs guard: by the account of the parts that know it as infrequent. `None` where neither does, as the
/// scatter plots alone found it.
fn guarded(daemon: &str, short: &Tables<'_>, long: Option<&Tables<'_>>, limit: Option<Nanos>) -> Option<GuardedEffect> {
    let known = [short.effect(daemon), long.and_then(|l| l.effect(daemon))];
    if known.iter().all(Option::is_none) {
        return None;
    }
    let in_short = short.waiting(daemon);
    let in_long = long.and_then(|l| l.waiting(daemon).or_else(|| in_short.and_then(|_| l.normal_waiting(daemon))));
    let waiting = match (in_short, in_long, limit) {
        (None, None, _) => None,
        (short, long, Some(_)) => Some(WaitingCutoff { short, long }),
        (Some(short), Some(long), None) => Some(WaitingCutoff { short: Some(short.max(long)), long: None }),
        (short, long, None) => Some(WaitingCutoff { short: short.or(long), long: None }),
    };
    let measured = || known.iter().flatten().filter_map(|e| e.process_time);
    let process_time = measured().find(|p| p.lengthens).or_else(|| measured().next());
    Some(GuardedEffect { waiting, process_time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::by_account::{DirectEffect, NormalWait};
    use crate::profile::effects::RobustSpread;
    use crate::statistics::periods::NoPeriod;

    fn rare(daemon: &str, max: Option<i64>, min: i64, period: Option<i64>) -> Infrequent {
        let unknown = Periodicity::Unknown { why: NoPeriod::Once };
        Infrequent {
            daemon: daemon.into(),
            max: max.map(Nanos),
            min: Nanos(min),
            samples: vec![],
            periodicity: period.map_or(unknown, |p| Periodicity::Perhaps { period: Nanos(p) }),
            chance: None,
            explains: None,
        }
    }

    fn common(daemon: &str, max: i64, std_dev: Option<f64>) -> Normal {
        Normal { daemon: daemon.into(), executions: 2, max: Nanos(max), std_dev }
    }

    fn one(short: &[Infrequent], long: Option<(&[Normal], &[Infrequent])>) -> (f64, Option<Nanos>, Option<f64>) {
        let short = Tables { normal: &[], infrequent: short, account: None };
        let long = long.map(|(normal, infrequent)| Tables { normal, infrequent, account: None });
        let rows = cutoffs(&short, long.as_ref());
        assert_eq!(rows.len(), 1);
        (rows[0].cutoff.short, rows[0].cutoff.task_time_limit, rows[0].cutoff.long)
    }

    #[test]
    fn every_case() {
        let a = |max, min, period| [rare("a", max, min, period)];
        assert_eq!(one(&a(None, 10, None), None), (5.0, None, None));
        assert_eq!(one(&a(Some(4), 10, Some(200)), None), (7.0, Some(Nanos(10)), None));
        let normal = [common("a", 20, Some(1.5)), common("b", 1, None)];
        assert_eq!(one(&a(None, 10, None), Some((&normal, &[]))), (23.0, None, None));
        assert_eq!(one(&a(None, 100, None), Some((&normal, &[]))), (50.0, None, None));
        assert_eq!(one(&a(None, 10, Some(200)), Some((&normal, &[]))), (5.0, Some(Nanos(10)), Some(23.0)));
        assert_eq!(one(&a(None, 10, None), Some((&normal, &a(Some(20), 40, None)))), (30.0, None, None));
        assert_eq!(one(&a(None, 10, Some(200)), Some((&[], &[]))), (5.0, Some(Nanos(10)), None));
        // The long run alone.
        assert_eq!(one(&[], Some((&normal, &a(Some(20), 40, Some(200))))), (30.0, None, None));
        // The short run's period comes first, the long run's where there is no other.
        let long = a(Some(20), 40, Some(400));
        assert_eq!(one(&a(None, 10, Some(200)), Some((&normal, &long))), (5.0, Some(Nanos(10)), Some(30.0)));
        assert_eq!(one(&a(None, 10, None), Some((&normal, &long))), (5.0, Some(Nanos(20)), Some(30.0)));
    }

    #[test]
    fn bystanders() {
        let is_bystander = |explains: [Option<f64>; 2]| {
            let with = |explains| [Infrequent { explains, ..rare("a", None, 10, None) }];
            let (short, long) = (with(explains[0]), with(explains[1]));
            let tables = |infrequent| Tables { normal: &[], infrequent, account: None };
            cutoffs(&tables(&short), Some(&tables(&long)))[0].bystander
        };
        assert!(is_bystander([Some(0.04), Some(0.0)]));
        assert!(
            !is_bystander([Some(0.04), Some(0.06)]) && !is_bystander([Some(0.04), None]) && !is_bystander([None, None])
        );
    }

    fn lesson(waits: Option<(i64, i64)>) -> AccountLesson {
        let direct =
            |(min, max): (i64, i64)| DirectEffect { waited: 1.0, min: Nanos(min), max: Nanos(max), limit: 1.0 };
        let effect = |direct| DaemonEffect {
            daemon: "a".to_owned(),
            samples: vec![1],
            direct: Some(direct),
            process_time: None,
        };
        AccountLesson {
            samples: 20,
            gap: RobustSpread::default(),
            waiting: RobustSpread::default(),
            limit: 1.0,
            effects: waits.map(direct).map(effect).into_iter().collect(),
            normal: vec![NormalWait { daemon: "a".to_owned(), max: Nanos(80), std_dev: Some(2.0) }],
            unjudged: 0,
        }
    }

    /// Waits have cutoffs as CPU times have: between the longest normal and the shortest disturbing one.
    #[test]
    fn waiting_cutoffs() {
        let cutoff = |short: Option<(i64, i64)>, long: Option<Option<(i64, i64)>>, period| {
            let infrequent = [rare("a", None, 10, period)];
            let (short, long) = (lesson(short), long.map(lesson));
            let tables = |account| Tables { normal: &[], infrequent: &infrequent, account: Some(account) };
            let long = long.as_ref().map(tables);
            cutoffs(&tables(&short), long.as_ref())[0].cutoff.effect.map(|e| e.waiting.map(|w| (w.short, w.long)))
        };
        assert_eq!(cutoff(Some((30, 10)), None, None), Some(Some((Some(20.0), None))));
        assert_eq!(cutoff(Some((30, 10)), None, Some(200)), Some(Some((Some(20.0), None))));
        assert_eq!(cutoff(Some((30, 10)), Some(Some((60, 20))), Some(200)), Some(Some((Some(20.0), Some(40.0)))));
        assert_eq!(cutoff(Some((30, 10)), Some(Some((60, 20))), None), Some(Some((Some(40.0), None))));
        // Normal in the long part: the longest there and two standard deviations.
        assert_eq!(cutoff(Some((30, 10)), Some(None), Some(200)), Some(Some((Some(20.0), Some(84.0)))));
        assert_eq!(cutoff(None, Some(Some((60, 20))), None), Some(Some((Some(40.0), None))));
        assert_eq!(cutoff(None, Some(None), None), None, "by the plots alone");
    }

    #[test]
    fn nothing_known_nothing_cut_off() {
        let none = Tables { normal: &[common("a", 1, None)], infrequent: &[], account: None };
        assert!(cutoffs(&none, Some(&none)).is_empty());
    }
}
