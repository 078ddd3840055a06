//! Steps 4 to 6 of EMPv5: which daemons are infrequent, and which of their executions are long-running.
//!
//! What the central cluster holds is normal (EMP tables VIII, XII). An execution in an L-sample that took more than that is
//! long-running (tables X, XIV); a daemon that the cluster does not know at all is infrequent, however short (tables XI, XV).
//! Everything is by execution: two short runs of `grep` are not one long one.

use crate::base::units::Nanos;
use crate::profile::dual::Observation;
use crate::statistics::periods::{Periodicity, WatchedTime, periodicity};
use crate::statistics::series::{Values, summary};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Standard deviations over the cluster's maximum from which an execution is long-running.
const DEVIATIONS: f64 = 2.0;

/// A daemon in the central cluster (EMP tables VIII, XII).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normal {
    pub daemon: String,
    pub executions: u32,
    pub max: Nanos,
    /// Standard deviation of their CPU times, ns; `None` for a single one.
    pub std_dev: Option<f64>,
}

impl Normal {
    /// CPU time over which an execution is long-running, ns: the maximum and two standard deviations. A single execution has none,
    /// and its limit is itself.
    pub fn limit(&self) -> f64 {
        self.max.as_f64() + DEVIATIONS * self.std_dev.unwrap_or(0.0)
    }
}

/// Step 4: the daemons of the samples in the central cluster, by name.
pub fn normal(central: &[&Observation]) -> Vec<Normal> {
    let mut times: BTreeMap<&str, Vec<Nanos>> = BTreeMap::new();
    for (daemon, cpu) in central.iter().flat_map(|o| o.each()) {
        times.entry(daemon).or_default().push(cpu);
    }
    let normal = |(daemon, times): (&str, Vec<Nanos>)| {
        Some(Normal {
            daemon: daemon.to_owned(),
            executions: u32::try_from(times.len()).unwrap_or(u32::MAX),
            max: times.iter().copied().max()?,
            std_dev: summary(&Values::from_nanos(times))?.std_dev,
        })
    };
    times.into_iter().filter_map(normal).collect()
}

/// An execution in an L-sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongExecution {
    pub daemon: String,
    /// Number of the sample.
    pub number: u32,
    /// Middle of the sample, since 1970: when it ran, within half of a sample.
    pub at: Nanos,
    pub cpu: Nanos,
}

fn executions<'a>(arms: &'a [&Observation]) -> impl Iterator<Item = LongExecution> + 'a {
    arms.iter().flat_map(|o| {
        let at = o.start + Nanos(o.elapsed.0 / 2);
        o.each().map(move |(daemon, cpu)| LongExecution { daemon: daemon.to_owned(), number: o.number, at, cpu })
    })
}

/// Step 5: executions in L-samples over the limit of a daemon that the central cluster has too (EMP tables X, XIV); by daemon, then
/// by sample.
pub fn long_running(arms: &[&Observation], normal: &[Normal]) -> Vec<LongExecution> {
    let limits: BTreeMap<&str, f64> = normal.iter().map(|n| (n.daemon.as_str(), n.limit())).collect();
    let over = |e: &LongExecution| limits.get(e.daemon.as_str()).is_some_and(|limit| e.cpu.as_f64() > *limit);
    sorted(executions(arms).filter(over))
}

/// Step 6, first part: executions of daemons that only L-samples have; by daemon, then by sample.
pub fn only_in_arms(arms: &[&Observation], normal: &[Normal]) -> Vec<LongExecution> {
    let known: BTreeSet<&str> = normal.iter().map(|n| n.daemon.as_str()).collect();
    sorted(executions(arms).filter(|e| !known.contains(e.daemon.as_str())))
}

fn sorted(executions: impl Iterator<Item = LongExecution>) -> Vec<LongExecution> {
    let mut all: Vec<LongExecution> = executions.collect();
    all.sort_by(|a, b| (&a.daemon, a.number, a.at, a.cpu).cmp(&(&b.daemon, b.number, b.at, b.cpu)));
    all
}

/// An infrequent daemon (EMP tables XI, XV).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Infrequent {
    pub daemon: String,
    /// Longest execution in the central cluster; `None` for a daemon that only L-samples have.
    pub max: Option<Nanos>,
    /// Shortest of its long-running executions, or of all if only L-samples have it.
    pub min: Nanos,
    /// Numbers of the L-samples that have such executions, ascending.
    pub samples: Vec<u32>,
    /// How often it comes.
    pub periodicity: Periodicity,
    /// Probability that a daemon that runs as often, but at any time, falls into L-samples only. Near 1, its name means
    /// little: it may just run rarely. `None` for a daemon that the central cluster has too.
    pub chance: Option<f64>,
    /// Largest share of an L-sample's excess over the trend that one of its executions took, where that is known: below
    /// [`BYSTANDER`] it happened to run, and something else disturbed the samples.
    pub explains: Option<f64>,
}

/// Share of an L-sample's excess below which an execution did not disturb it.
pub const BYSTANDER: f64 = 0.05;

/// What share of its sample's excess an execution took; `None` where that is not known.
pub type Explains<'a> = &'a dyn Fn(&LongExecution) -> Option<f64>;

/// Step 6: the daemons of long-running executions and those that only L-samples have, by name. `watched`: when samples ran,
/// ascending; `samples`: number of samples in the central cluster and the arms. Executions that explain too little count only
/// for a daemon that has no others.
pub fn infrequent(
    arms: &[&Observation],
    normal: &[Normal],
    watched: &[WatchedTime],
    samples: usize,
    explains: Explains<'_>,
) -> Vec<Infrequent> {
    let (long, only) = (long_running(arms, normal), only_in_arms(arms, normal));
    let max: BTreeMap<&str, Nanos> = normal.iter().map(|n| (n.daemon.as_str(), n.max)).collect();
    let groups = long.chunk_by(|a, b| a.daemon == b.daemon).chain(only.chunk_by(|a, b| a.daemon == b.daemon));
    let infrequent = |group: &[LongExecution]| {
        let shares: Vec<Option<f64>> = group.iter().map(explains).collect();
        let spoiled = |share: &Option<f64>| share.is_none_or(|s| s >= BYSTANDER);
        let any = shares.iter().any(spoiled);
        let kept = group.iter().zip(&shares).filter(|(_, share)| !any || spoiled(share)).map(|(e, _)| e);
        let group: Vec<&LongExecution> = kept.collect();
        let mut numbers: Vec<u32> = group.iter().map(|e| e.number).collect();
        numbers.dedup();
        let times: Vec<Nanos> = group.iter().map(|e| e.at).collect();
        let max = max.get(group.first()?.daemon.as_str()).copied();
        let chance = |k: usize| {
            let drawn = |i: usize| arms.len().saturating_sub(i) as f64 / samples.saturating_sub(i).max(1) as f64;
            (0..k).map(drawn).product::<f64>().min(1.0)
        };
        Some(Infrequent {
            daemon: group.first()?.daemon.clone(),
            max,
            min: group.iter().map(|e| e.cpu).min()?,
            periodicity: periodicity(&times, watched),
            chance: if max.is_none() { Some(chance(numbers.len())) } else { None },
            explains: shares.iter().flatten().copied().reduce(f64::max),
            samples: numbers,
        })
    };
    let mut all: Vec<Infrequent> = groups.filter_map(infrequent).collect();
    all.sort_by(|a, b| a.daemon.cmp(&b.daemon));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::{Absent, Reading};
    use crate::profile::dual::FamilyExecutions;
    use crate::statistics::periods::NoPeriod;

    fn ms(ms: i64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn observation(number: u32, list: &[(&str, i64)]) -> Observation {
        let mut executions = FamilyExecutions::new();
        for (name, cpu) in list {
            executions.entry((*name).to_owned()).or_default().push(ms(*cpu));
        }
        Observation {
            number,
            start: ms(i64::from(number) * 1000),
            elapsed: ms(1000),
            process_time: None,
            executions: Reading::Value(executions),
            incomplete: false,
            waits: None,
        }
    }

    #[test]
    fn by_execution() {
        let central = [observation(1, &[("a", 3), ("a", 1), ("b", 5)]), observation(2, &[("a", 2)])];
        let normal = normal(&central.iter().collect::<Vec<_>>());
        let [a, b] = &normal[..] else { panic!("{normal:?}") };
        assert_eq!((a.executions, a.max, a.std_dev), (3, ms(3), Some(1e6)));
        assert_eq!((b.executions, b.max, b.std_dev, b.limit()), (1, ms(5), None, 5e6));
        // 5 is at the limit of a, not over it; 3 and 4 are not added up.
        let arms = [observation(3, &[("a", 5), ("a", 3), ("a", 4), ("b", 6), ("c", 1), ("c", 2)])];
        let arms: Vec<&Observation> = arms.iter().collect();
        let long = long_running(&arms, &normal);
        assert_eq!(long.iter().map(|e| (e.daemon.as_str(), e.cpu)).collect::<Vec<_>>(), [("b", ms(6))]);
        let rare = infrequent(&arms, &normal, &[], 4, &|_| None);
        let figures = |i: &Infrequent| (i.daemon.clone(), i.max, i.min, i.chance);
        let want = [("b".to_owned(), Some(ms(5)), ms(6), None), ("c".to_owned(), None, ms(1), Some(0.25))];
        assert_eq!(rare.iter().map(figures).collect::<Vec<_>>(), want);
        assert!(rare.iter().all(|i| i.samples == [3]));
        assert_eq!(rare[0].periodicity, Periodicity::Unknown { why: NoPeriod::Once });
    }

    #[test]
    fn what_explains_nothing_counts_for_bystanders_only() {
        let central = [observation(1, &[("a", 1), ("b", 1)])];
        let normal = normal(&central.iter().collect::<Vec<_>>());
        let arms = [observation(3, &[("a", 2), ("a", 90), ("b", 2)]), observation(7, &[("a", 70)])];
        let arms: Vec<&Observation> = arms.iter().collect();
        let rare = infrequent(&arms, &normal, &[], 4, &|e| Some(e.cpu.millis() / 100.0));
        let figures = |i: &Infrequent| (i.daemon.clone(), i.min, i.samples.clone(), i.explains);
        let want = [("a".to_owned(), ms(70), vec![3, 7], Some(0.9)), ("b".to_owned(), ms(2), vec![3], Some(0.02))];
        assert_eq!(rare.iter().map(figures).collect::<Vec<_>>(), want);
    }

    #[test]
    fn unknown_daemons_are_none() {
        let mut lost = observation(1, &[("a", 1)]);
        lost.executions = Reading::Absent(Absent::Lost("events".into()));
        assert!(normal(&[&lost]).is_empty() && infrequent(&[&lost], &[], &[], 0, &|_| None).is_empty());
    }
}
