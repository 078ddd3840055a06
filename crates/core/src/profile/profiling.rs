//! EMPv5 as a whole (SEDONA step B): from the samples of a short and a long profiling run to the machine's cutoffs, with every table
//! between; and what a planned run can detect at all.

use crate::base::units::Nanos;
use crate::profile::by_account::{AccountLesson, account_lesson, infrequent_by_account, without_waits};
use crate::profile::clusters::{ClusterPlace, Clusters, FEWEST, FREQUENT, TooFew, clusters};
use crate::profile::cutoffs::{CutoffRow, Tables, cutoffs};
pub use crate::profile::data::DaemonRule;
use crate::profile::data::{Cutoff, Profile};
use crate::profile::dual::{FamilyExecutions, Observation, at_equal_process_time};
use crate::profile::long_running::{BYSTANDER, Infrequent, LongExecution, Normal, infrequent, long_running, normal};
use crate::profile::named::{Named, named};
use crate::statistics::periods::WatchedTime;
use crate::statistics::series::median_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An L-sample (a row of EMP tables IX, XIII).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LSample {
    /// Number of the sample.
    pub number: u32,
    /// When it started, since 1970.
    pub start: Nanos,
    pub elapsed: Nanos,
    /// Its daemons; empty where they are not known.
    pub executions: FamilyExecutions,
}

/// What one profiling run taught: steps 2 to 6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The dual-execution scatter plot (EMP figures 14, 15).
    pub clusters: Clusters,
    /// The same at equal process times ([`at_equal_process_time`]), where these are known. A sample in the arms of either is an
    /// L-sample: the first sees what a daemon does to the program's own work, too, the second is not blinded by the clock.
    pub waiting: Option<Clusters>,
    /// Daemons that lengthened their samples, taken together ([`named`]): these are L-samples, too. Empty by the papers' rule and
    /// with an account.
    pub named: Vec<Named>,
    /// The central cluster's daemons (EMP tables VIII, XII).
    pub normal: Vec<Normal>,
    /// The L-samples (EMP tables IX, XIII).
    pub l_samples: Vec<LSample>,
    /// Their long-running executions (EMP tables X, XIV).
    pub long_running: Vec<LongExecution>,
    /// The infrequent daemons (EMP tables XI, XV).
    pub infrequent: Vec<Infrequent>,
    /// Samples whose daemons are not known, or not all.
    pub incomplete: u32,
    /// What the account says; absent where there is none, and by the papers' rule. Its samples are L-samples too, and its daemons
    /// are the infrequent ones, with those that the plots find without what was waited for daemons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountLesson>,
}

impl Lesson {
    fn tables(&self) -> Tables<'_> {
        Tables { normal: &self.normal, infrequent: &self.infrequent, account: self.account.as_ref() }
    }
}

/// Steps 2 to 6, for the samples of one task length in any order.
///
/// # Errors
/// [`TooFew`] below 6 dual samples.
pub fn learn(observations: &[Observation], rule: DaemonRule) -> Result<Lesson, TooFew> {
    let account = (rule == DaemonRule::Explained).then(|| account_lesson(observations)).flatten();
    let lesson = learn_by_plots(observations, rule, account.as_ref())?;
    let Some(account) = account else { return Ok(lesson) };
    let mut infrequent = infrequent_by_account(&account, observations);
    // What the program did not wait for: interrupts that a daemon makes, a core that it shares.
    let rest = without_waits(observations).and_then(|o| learn_by_plots(&o, rule, None).ok());
    let unknown = |i: &Infrequent| account.effects.iter().all(|e| e.daemon != i.daemon);
    if let Some(lesson) = &rest {
        let noticeable = |i: &Infrequent| {
            let explains = i.explains.is_some_and(|e| e >= BYSTANDER);
            explains && i.samples.len() >= AGAIN && excess(lesson, &i.samples) > account.limit
        };
        infrequent.extend(lesson.infrequent.iter().filter(|i| unknown(i) && noticeable(i)).cloned());
    }
    infrequent.sort_by(|a, b| a.daemon.cmp(&b.daemon));
    Ok(Lesson { infrequent, account: Some(account), ..lesson })
}

/// Samples of a daemon that the account does not know as infrequent: one may be a coincidence.
const AGAIN: usize = 2;

/// Median excess of samples, in the plot that shows more of it, ns.
fn excess(lesson: &Lesson, numbers: &[u32]) -> f64 {
    let numbers: BTreeSet<u32> = numbers.iter().copied().collect();
    let in_plot = |plot: &Clusters| {
        let of = plot.halves().filter(|h| numbers.contains(&h.number)).map(|h| h.excess);
        median_of(of.collect()).unwrap_or(0.0)
    };
    let plots = [Some(&lesson.clusters), lesson.waiting.as_ref()].into_iter().flatten();
    plots.map(in_plot).fold(0.0, f64::max)
}

/// By the scatter plots. With an account, its disturbed samples are L-samples whatever the plots say.
fn learn_by_plots(
    observations: &[Observation],
    rule: DaemonRule,
    account: Option<&AccountLesson>,
) -> Result<Lesson, TooFew> {
    let by_elapsed = clusters(observations)?;
    let waiting = at_equal_process_time(observations).and_then(|o| clusters(&o).ok());
    let named = match (rule, account) {
        (DaemonRule::Papers, _) | (_, Some(_)) => Vec::new(),
        (DaemonRule::Explained, None) => {
            let plots: Vec<&Clusters> = [Some(&by_elapsed), waiting.as_ref()].into_iter().flatten().collect();
            named(observations, &plots)
        }
    };
    let disturbed = account.map(AccountLesson::disturbed).unwrap_or_default();
    let places = Places::of(&by_elapsed, waiting.as_ref(), &named, &disturbed);
    let central = places.at(ClusterPlace::Central, observations);
    let arms = places.at(ClusterPlace::Arm, observations);
    let mut watched: Vec<WatchedTime> = observations.iter().map(|o| (o.start, o.end())).collect();
    watched.sort();
    let normal = normal(&central);
    let share = |e: &LongExecution| match rule {
        DaemonRule::Papers => None,
        DaemonRule::Explained => {
            let (_, excess) = places.0.get(&e.number)?;
            (*excess > 0.0).then(|| e.cpu.as_f64() / excess)
        }
    };
    let infrequent = infrequent(&arms, &normal, &watched, central.len() + arms.len(), &share);
    let incomplete = observations.iter().filter(|o| o.incomplete).count();
    let sample = |o: &&Observation| LSample {
        number: o.number,
        start: o.start,
        elapsed: o.elapsed,
        executions: o.executions.value().cloned().unwrap_or_default(),
    };
    Ok(Lesson {
        l_samples: arms.iter().map(sample).collect(),
        long_running: long_running(&arms, &normal),
        infrequent,
        clusters: by_elapsed,
        waiting,
        named,
        normal,
        incomplete: u32::try_from(incomplete).unwrap_or(u32::MAX),
        account: None,
    })
}

/// Where every paired sample lies, and its excess there, ns.
struct Places(BTreeMap<u32, (ClusterPlace, f64)>);

impl Places {
    /// Of both plots: an arm of either, a named daemon's sample or a disturbed one, else a stretch of either, else the cluster.
    fn of(by_elapsed: &Clusters, waiting: Option<&Clusters>, named: &[Named], disturbed: &BTreeSet<u32>) -> Places {
        let rank = |p: ClusterPlace| match p {
            ClusterPlace::Central => 0,
            ClusterPlace::Stretch => 1,
            ClusterPlace::Arm => 2,
        };
        let mut places = BTreeMap::new();
        for h in [Some(by_elapsed), waiting].into_iter().flatten().flat_map(Clusters::halves) {
            let entry = places.entry(h.number).or_insert((h.place, h.excess));
            if rank(h.place) > rank(entry.0) {
                *entry = (h.place, h.excess);
            }
        }
        for (daemon, number) in named.iter().flat_map(|n| n.samples.iter().map(move |s| (n, s))) {
            if let Some(entry) = places.get_mut(number).filter(|(place, _)| *place != ClusterPlace::Arm) {
                // What noise hid of the excess is taken to be what the daemon usually adds.
                *entry = (ClusterPlace::Arm, entry.1.max(daemon.lengthened));
            }
        }
        for number in disturbed {
            if let Some(entry) = places.get_mut(number) {
                entry.0 = ClusterPlace::Arm;
            }
        }
        Places(places)
    }

    /// By number; of several samples with one number, all.
    fn at<'a>(&self, place: ClusterPlace, observations: &'a [Observation]) -> Vec<&'a Observation> {
        let here = |o: &&Observation| self.0.get(&o.number).is_some_and(|(p, _)| *p == place);
        let mut found: Vec<&Observation> = observations.iter().filter(here).collect();
        found.sort_by_key(|o| (o.number, o.start, o.elapsed));
        found
    }
}

impl Lesson {
    /// Where every paired sample lies, by its number, both plots taken together.
    pub fn places(&self) -> BTreeMap<u32, ClusterPlace> {
        let disturbed = self.account.as_ref().map(AccountLesson::disturbed).unwrap_or_default();
        let both = Places::of(&self.clusters, self.waiting.as_ref(), &self.named, &disturbed);
        both.0.into_iter().map(|(number, (place, _))| (number, place)).collect()
    }
}

/// Everything that a profile is based on: one computation for every table and plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// The run of the short task length (paper: INC128 × 800).
    pub short: Lesson,
    /// The run of the long one (paper: INC16384 × 40), if there was one.
    pub long: Option<Lesson>,
    /// The cutoffs and where they come from (EMP table XVI, SEDONA table 1).
    pub cutoffs: Vec<CutoffRow>,
}

impl Learned {
    /// Steps 7 and 8.
    pub fn new(short: Lesson, long: Option<Lesson>) -> Learned {
        let cutoffs = cutoffs(&short.tables(), long.as_ref().map(Lesson::tables).as_ref());
        Learned { short, long, cutoffs }
    }

    /// The cutoffs of a [`crate::profile::data::Profile`]: of the daemons that disturbed a sample.
    pub fn profile_cutoffs(&self) -> Vec<Cutoff> {
        self.cutoffs.iter().filter(|r| !r.bystander).map(|r| r.cutoff.clone()).collect()
    }
}

/// What a profiling run can find, given the number and length of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Time that all samples take together.
    pub total: Nanos,
    /// Shortest period of a daemon that is still infrequent to a sample: it disturbs 15% of them. A daemon that runs
    /// more often is found to be frequent and gets no cutoff.
    pub shortest: Nanos,
    /// Occurrences at the shortest period.
    pub occurrences: u32,
    /// Longest period that is certainly found, as three occurrences fall into the run whenever it starts.
    pub longest: Nanos,
    /// Longest period of which two occurrences do: "period (?)".
    pub longest_perhaps: Nanos,
    /// Longest period of which one occurrence does: the daemon is found, its period is not.
    pub longest_once: Nanos,
}

/// What `samples` samples of this length can find. The sample is taken to be undisturbed and to follow its predecessor at once.
///
/// # Errors
/// [`TooFew`] if nothing at all, as there are fewer than 6 pairs.
pub fn reach(samples: u32, length: Nanos) -> Result<Reach, TooFew> {
    let need = u32::try_from(FEWEST).unwrap_or(u32::MAX);
    if samples / 2 < need {
        return Err(TooFew { have: samples / 2, need });
    }
    let total = Nanos(length.0.saturating_mul(i64::from(samples)));
    let shortest = Nanos((length.as_f64() / FREQUENT).ceil() as i64);
    Ok(Reach {
        total,
        shortest,
        occurrences: (f64::from(samples) * FREQUENT) as u32,
        longest: Nanos(total.0 / 3),
        longest_perhaps: Nanos(total.0 / 2),
        longest_once: total,
    })
}

impl Profile {
    /// Every table of it, from its samples. A long part with too few samples is omitted.
    ///
    /// # Errors
    /// [`TooFew`] samples in the short part.
    pub fn learned(&self) -> Result<Learned, TooFew> {
        let long = self.long.as_ref().and_then(|part| learn(&part.observations, self.rule).ok());
        Ok(Learned::new(learn(&self.short.observations, self.rule)?, long))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_papers_runs_can_find() {
        let short = reach(800, Nanos::from_secs_f64(128.0)).unwrap();
        let hours = |n: Nanos| (n.secs() / 360.0).round() / 10.0;
        assert_eq!((hours(short.total), hours(short.longest), hours(short.longest_perhaps)), (28.4, 9.5, 14.2));
        assert_eq!((short.shortest.secs().round(), short.occurrences), (853.0, 120));
        let long = reach(40, Nanos::from_secs_f64(16_384.0)).unwrap();
        assert_eq!((hours(long.shortest), hours(long.longest), long.occurrences), (30.3, 60.7, 6));
    }

    #[test]
    fn extremes() {
        assert_eq!(reach(11, Nanos(1)), Err(TooFew { have: 5, need: 6 }));
        assert_eq!(reach(0, Nanos(i64::MIN)), Err(TooFew { have: 0, need: 6 }));
        for length in [i64::MIN, 0, 1, i64::MAX] {
            assert!(reach(u32::MAX, Nanos(length)).is_ok() && reach(12, Nanos(length)).is_ok());
        }
    }
}
