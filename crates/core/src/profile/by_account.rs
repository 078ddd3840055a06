//! Beyond the papers: infrequent daemons by the account.
//!
//! The papers infer what a daemon did from elapsed time. The account tells it: how long the program waited for it in each sample,
//! whatever the clock did meanwhile. So no sample needs to stand out. A daemon is infrequent and long-running if it kept the program
//! waiting beyond what is normal, for that daemon and for waiting as a whole, in few samples:
//!
//! 1. **Waiting as a whole.** Over the median of what the program waited for all daemons, by so many robust deviations that exponential
//!    waits get there once in a thousand profiles; over three deviations of `ET - PT`, below which no disturbance can be noticed; and
//!    over half a percent of a sample or a millisecond.
//! 2. **The daemon itself.** Over its own median by as many deviations; unless it comes rarely and is long nearly whenever it
//!    comes, also over the median of the samples that have it at all, so that the tail of its usual waits is normal.
//! 3. **Few samples.** A fifth of them at most, and not mostly in stretches: three and more disturbed samples in a row are a piece
//!    of work that came and went.
//!
//! What is left of elapsed time without these waits is judged by the scatter plots, which see what daemons do in other ways.

use crate::base::units::Nanos;
use crate::profile::clusters::{FALSE_ALARM, FEWEST};
use crate::profile::daemon_values::{DaemonValues, ValuesByDaemon, add};
use crate::profile::data::ProcessTimeEffect;
use crate::profile::dual::Observation;
use crate::profile::effects::{RobustSpread, deviations, indirect};
use crate::profile::long_running::Infrequent;
use crate::statistics::periods::{WatchedTime, periodicity};
use crate::statistics::series::{Values, summary};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Part of the samples that must have an account.
const KNOWN: f64 = 0.9;
/// Largest share of disturbed samples of an infrequent daemon: of 240 samples, one that disturbs 15% ([`super::clusters::FREQUENT`])
/// disturbs 20% and more in 1 of 50 series.
pub const FEW: f64 = 0.2;
/// Deviations of `ET - PT` that a wait must exceed.
const NOTICED: f64 = 3.0;
/// Part of a sample that a wait must exceed, up to [`LEAST`].
const PART: f64 = 0.005;
/// Waiting that matters in samples of any length, ns.
const LEAST: f64 = 1e6;
/// Median waits of a daemon that comes often that a long one must exceed: two of the usual may fall together.
const LONG: f64 = 3.0;
/// Disturbed samples in a row that are a stretch.
const STRETCH: usize = 3;
/// The most daemons that are judged, those with the longest waits first: no machine has so many, but an imported document may.
const MOST_JUDGED: usize = 1_000;
/// Probability that process time is called longer although it is not, for a profile, where waiting already shows the daemon.
const INDIRECT_ALARM: f64 = 0.01;

/// What the program waited for a daemon in the samples that it disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectEffect {
    /// Median there, ns.
    pub waited: f64,
    pub min: Nanos,
    /// Longest in all other samples; 0 if there was none.
    pub max: Nanos,
    /// Waiting beyond which it is not normal, ns.
    pub limit: f64,
}

/// An infrequent daemon by the account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DaemonEffect {
    pub daemon: String,
    /// Numbers of the samples that it disturbed, in the order of time.
    pub samples: Vec<u32>,
    /// Waiting for it; `None` if it kept no sample waiting, but made process time longer.
    pub direct: Option<DirectEffect>,
    /// What process time was longer by; `None` with fewer than three visits.
    pub process_time: Option<ProcessTimeEffect>,
}

/// What the program normally waited for a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NormalWait {
    pub daemon: String,
    /// Longest wait in a sample that it did not disturb.
    pub max: Nanos,
    /// Standard deviation of such waits, ns; `None` for a single one.
    pub std_dev: Option<f64>,
}

/// What the account of a profiling run says of its daemons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountLesson {
    /// Samples with an account.
    pub samples: u32,
    /// `ET - PT`, ns.
    pub gap: RobustSpread,
    /// All waiting for daemons, a sample, ns.
    pub waiting: RobustSpread,
    /// Waiting for one daemon up to which it is normal for waiting as a whole, ns.
    pub limit: f64,
    /// The infrequent daemons, by name.
    pub effects: Vec<DaemonEffect>,
    /// The waits for each daemon in samples that it did not disturb, by name.
    pub normal: Vec<NormalWait>,
    /// Daemons that stood out but were not judged, because there were more than a thousand of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unjudged: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl AccountLesson {
    /// Numbers of all disturbed samples.
    pub fn disturbed(&self) -> BTreeSet<u32> {
        self.effects.iter().flat_map(|e| e.samples.iter().copied()).collect()
    }
}

/// The samples with an account, and what was waited for and executed in each, by daemon and position, ns.
struct Accounted<'a> {
    samples: Vec<&'a Observation>,
    gap: RobustSpread,
    process_times: Vec<f64>,
    waits: ValuesByDaemon<'a>,
    longest: ValuesByDaemon<'a>,
}

impl<'a> Accounted<'a> {
    fn new(observations: &'a [Observation]) -> Option<Accounted<'a>> {
        let known = |o: &&Observation| o.waits.is_some() && o.process_time.is_some();
        let mut samples: Vec<&Observation> = observations.iter().filter(known).collect();
        let enough = samples.len() >= 2 * FEWEST && samples.len() as f64 >= KNOWN * observations.len() as f64;
        if !enough {
            return None;
        }
        samples.sort_by_key(|o| (o.number, o.start, o.elapsed));
        let n = samples.len();
        let process_times: Vec<f64> = samples.iter().filter_map(|o| o.process_time).map(Nanos::as_f64).collect();
        let gaps: Vec<f64> = samples.iter().zip(&process_times).map(|(o, pt)| o.elapsed.as_f64() - pt).collect();
        let (mut waits, mut longest) = (ValuesByDaemon::new(), ValuesByDaemon::new());
        for (i, o) in samples.iter().enumerate() {
            for (daemon, wait) in o.waits.iter().flatten() {
                add(&mut waits, n, daemon, i, wait.as_f64());
            }
            for (daemon, cpu) in o.each() {
                add(&mut longest, n, daemon, i, cpu.as_f64());
            }
        }
        Some(Accounted { samples, gap: RobustSpread::new(&gaps), process_times, waits, longest })
    }

    /// What was waited for all daemons in each sample.
    fn all_waits(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.samples.len()];
        for (at, wait) in self.waits.values().flat_map(DaemonValues::there) {
            sums.get_mut(*at).into_iter().for_each(|sum| *sum += wait);
        }
        sums
    }

    /// The least that matters, ns.
    fn least(&self) -> f64 {
        let elapsed: Vec<f64> = self.samples.iter().map(|o| o.elapsed.as_f64()).collect();
        (PART * RobustSpread::new(&elapsed).median).clamp(0.0, LEAST)
    }

    fn few(&self, over: usize) -> bool {
        over as f64 <= FEW * self.samples.len() as f64
    }

    /// The limit beyond which values of a daemon are not normal for it, if few are beyond; `whole`: the least limit.
    fn limit(&self, values: &DaemonValues, daemons: usize, whole: f64) -> Option<f64> {
        let over = |limit: f64| values.over(limit).count();
        if over(whole) == 0 {
            return None;
        }
        let bound = |spread: RobustSpread, n: usize| spread.above(deviations(n, daemons, FALSE_ALARM));
        let all = whole.max(bound(values.spread(), self.samples.len()));
        let there = values.positive();
        // A daemon that is long whenever it comes has no usual time; of any other, what it usually takes is normal.
        let always_long = self.few(over(all)) && 2 * over(all) >= there.len();
        let limit = if always_long {
            all
        } else {
            let usual = RobustSpread::new(&there);
            all.max(bound(usual, there.len())).max(LONG * usual.median)
        };
        let some = over(limit) > 0 && self.few(over(limit)) && !values.mostly_stretches(limit, STRETCH);
        some.then_some(limit)
    }
}

/// A daemon that may be infrequent.
struct Suspect<'a> {
    daemon: &'a str,
    /// Positions of the samples that it disturbed, ascending.
    disturbed: Vec<usize>,
    /// Most in one of them, ns.
    longest: f64,
    direct: Option<DirectEffect>,
}

/// What the account says; `None` if too few samples have one.
pub fn account_lesson(observations: &[Observation]) -> Option<AccountLesson> {
    let accounted = Accounted::new(observations)?;
    let waiting = RobustSpread::new(&accounted.all_waits());
    let daemons = accounted.waits.len();
    let noticed = NOTICED * accounted.gap.deviation;
    let tail = waiting.above(deviations(accounted.samples.len(), 1, FALSE_ALARM));
    let whole = tail.max(noticed).max(accounted.least());
    let mut suspects: Vec<Suspect<'_>> = direct(&accounted, daemons, whole);
    let waited: BTreeMap<&str, &Suspect<'_>> = suspects.iter().map(|s| (s.daemon, s)).collect();
    let normal = accounted.waits.iter().filter_map(|(daemon, waits)| normal_wait(daemon, waits, waited.get(daemon)));
    let normal = normal.collect();
    let elsewhere = long_elsewhere(&accounted, &waited);
    suspects.extend(elsewhere);
    Some(AccountLesson {
        samples: u32::try_from(accounted.samples.len()).unwrap_or(u32::MAX),
        gap: accounted.gap,
        waiting,
        limit: whole,
        unjudged: u32::try_from(suspects.len().saturating_sub(MOST_JUDGED)).unwrap_or(u32::MAX),
        effects: effects(&accounted, suspects),
        normal,
    })
}

/// Daemons that kept the program waiting.
fn direct<'a>(accounted: &Accounted<'a>, daemons: usize, whole: f64) -> Vec<Suspect<'a>> {
    let suspect = |(daemon, waits): (&&'a str, &DaemonValues)| {
        let limit = accounted.limit(waits, daemons, whole)?;
        let (disturbed, long): (Vec<usize>, Vec<f64>) = waits.over(limit).unzip();
        let others = waits.positive().into_iter().filter(|w| *w <= limit);
        let direct = DirectEffect {
            waited: RobustSpread::new(&long).median,
            min: nanos(long.iter().copied().fold(f64::INFINITY, f64::min)),
            max: nanos(others.fold(0.0, f64::max)),
            limit,
        };
        let longest = long.iter().copied().fold(0.0, f64::max);
        Some(Suspect { daemon, disturbed, longest, direct: Some(direct) })
    };
    accounted.waits.iter().filter_map(suspect).collect()
}

/// Daemons that kept nothing waiting but ran long at times: on other CPUs, perhaps.
fn long_elsewhere<'a>(accounted: &Accounted<'a>, shown: &BTreeMap<&str, &Suspect<'_>>) -> Vec<Suspect<'a>> {
    let least = accounted.least();
    let daemons = accounted.longest.len();
    let suspect = |(daemon, times): (&&'a str, &DaemonValues)| {
        let limit = accounted.limit(times, daemons, least)?;
        let (disturbed, long): (Vec<usize>, Vec<f64>) = times.over(limit).unzip();
        let longest = long.into_iter().fold(0.0, f64::max);
        Some(Suspect { daemon, disturbed, longest, direct: None })
    };
    accounted.longest.iter().filter(|(daemon, _)| !shown.contains_key(**daemon)).filter_map(suspect).collect()
}

/// With the indirect effect of each; without those that have neither.
fn effects(accounted: &Accounted<'_>, mut suspects: Vec<Suspect<'_>>) -> Vec<DaemonEffect> {
    let tests = suspects.len();
    if tests > MOST_JUDGED {
        // Those that the program waited for come first; stable, so that of equal ones the first names are kept.
        suspects.sort_by(|a, b| b.direct.is_some().cmp(&a.direct.is_some()).then(b.longest.total_cmp(&a.longest)));
        suspects.truncate(MOST_JUDGED);
    }
    let effect = |s: Suspect<'_>| {
        let alarm = if s.direct.is_some() { INDIRECT_ALARM } else { FALSE_ALARM };
        let mut held = vec![false; accounted.samples.len()];
        for at in &s.disturbed {
            held.get_mut(*at).into_iter().for_each(|h| *h = true);
        }
        let process_time = indirect(&accounted.process_times, &held).map(|i| i.judged(tests, alarm));
        let shown = s.direct.is_some() || process_time.is_some_and(|p| p.lengthens);
        let samples = s.disturbed.iter().filter_map(|at| accounted.samples.get(*at)).map(|o| o.number).collect();
        shown.then(|| DaemonEffect { daemon: s.daemon.to_owned(), samples, direct: s.direct, process_time })
    };
    let mut all: Vec<DaemonEffect> = suspects.into_iter().filter_map(effect).collect();
    all.sort_by(|a, b| a.daemon.cmp(&b.daemon));
    all
}

fn normal_wait(daemon: &str, waits: &DaemonValues, suspect: Option<&&Suspect<'_>>) -> Option<NormalWait> {
    let disturbed = |i: usize| suspect.is_some_and(|s| s.disturbed.binary_search(&i).is_ok());
    let usual = waits.there().iter().filter(|(i, _)| !disturbed(*i)).map(|(_, wait)| *wait);
    let all = summary(&Values::new(usual).ok()?)?;
    Some(NormalWait { daemon: daemon.to_owned(), max: nanos(all.max), std_dev: all.std_dev })
}

fn nanos(ns: f64) -> Nanos {
    Nanos(ns.round() as i64)
}

/// The rows of EMP tables XI and XV of these daemons. A daemon's executions are the longest of each sample that it disturbed, against
/// the longest elsewhere that is shorter than these; of a daemon whose CPU time is not known, its wait is the least that it took.
pub fn infrequent_by_account(lesson: &AccountLesson, observations: &[Observation]) -> Vec<Infrequent> {
    let mut watched: Vec<WatchedTime> = observations.iter().map(|o| (o.start, o.end())).collect();
    watched.sort();
    lesson.effects.iter().filter_map(|e| row(e, observations, &watched)).collect()
}

fn row(effect: &DaemonEffect, observations: &[Observation], watched: &[WatchedTime]) -> Option<Infrequent> {
    let numbers: BTreeSet<u32> = effect.samples.iter().copied().collect();
    let executions =
        |o: &Observation| o.executions.value().and_then(|e| e.get(&effect.daemon)).cloned().unwrap_or_default();
    let took = |o: &Observation| {
        let wait = || o.waits.as_ref().and_then(|w| w.get(&effect.daemon)).copied();
        executions(o).into_iter().max().or_else(wait)
    };
    let (inside, outside): (Vec<&Observation>, Vec<&Observation>) =
        observations.iter().partition(|o| numbers.contains(&o.number));
    let min = inside.iter().filter_map(|o| took(o)).min()?;
    let max = outside.iter().flat_map(|o| executions(o)).filter(|cpu| *cpu < min).max();
    let times: Vec<Nanos> = inside.iter().map(|o| o.start + Nanos(o.elapsed.0 / 2)).collect();
    Some(Infrequent {
        daemon: effect.daemon.clone(),
        max,
        min,
        samples: effect.samples.clone(),
        periodicity: periodicity(&times, watched),
        chance: None,
        explains: None,
    })
}

/// The samples as they would be without any wait for a daemon: what is left for the scatter plots to judge. Samples without an
/// account are left out; `None` if there is none with one.
pub fn without_waits(observations: &[Observation]) -> Option<Vec<Observation>> {
    let without = |o: &Observation| {
        let waited: Nanos = o.waits.as_ref()?.values().copied().sum();
        Some(Observation { elapsed: o.elapsed - waited, ..o.clone() })
    };
    let all: Vec<Observation> = observations.iter().filter_map(without).collect();
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::reading::{Absent, Reading};

    /// A sample of a second; the program waited 10 ms for each of these.
    fn observation(number: u32, daemons: impl Iterator<Item = String>) -> Observation {
        let second = Nanos::from_millis(1_000);
        Observation {
            number,
            start: Nanos(i64::from(number) * 2 * second.0),
            elapsed: second,
            process_time: Some(second),
            executions: Reading::Absent(Absent::NotAsked("a test".to_owned())),
            incomplete: false,
            waits: Some(daemons.map(|name| (name, Nanos::from_millis(10))).collect()),
        }
    }

    /// An imported document may name other daemons in every sample. 60,000 of them in 1,500 samples would be a table of 720 MB.
    #[test]
    fn a_document_of_many_daemons_takes_no_more_memory_than_it_has_names() {
        let names =
            |sample: u32| (0..2_000).filter(move |_| sample % 50 == 7).map(move |i| format!("d{sample}-{i:04}"));
        let all: Vec<Observation> = (1..=1_500).map(|number| observation(number, names(number))).collect();
        let lesson = account_lesson(&all).unwrap();
        assert_eq!((lesson.effects.len(), lesson.unjudged), (MOST_JUDGED, 59_000));
        assert!(lesson.normal.is_empty(), "every one of them stood out");
        // Of equal ones the first by name.
        assert_eq!(
            (lesson.effects[0].daemon.as_str(), lesson.effects[0].samples.as_slice()),
            ("d1007-0000", &[1007][..])
        );
    }

    #[test]
    fn all_are_judged_on_a_machine_of_this_world() {
        let names = |sample: u32| (0..20).filter(move |_| sample % 50 == 7).map(move |i| format!("d{i}"));
        let all: Vec<Observation> = (1..=300).map(|number| observation(number, names(number))).collect();
        let lesson = account_lesson(&all).unwrap();
        assert_eq!((lesson.effects.len(), lesson.unjudged), (20, 0));
        assert_eq!(lesson.effects[0].samples, [7, 57, 107, 157, 207, 257]);
        assert_eq!(lesson.effects[0].direct.map(|d| (d.waited, d.max)), Some((1e7, Nanos::ZERO)));
    }
}
