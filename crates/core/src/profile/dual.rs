//! Steps 1 and 2 of EMPv5: what is known of each sample of a profiling run, and its dual samples.
//!
//! Two successive samples, odd and even, are one point of the dual-execution scatter plot (EMP section 4.5.1, steps 1 and 2;
//! SEDONA B-1 and B-2). A daemon that runs rarely disturbs one half of a pair and hardly ever both.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::profile::waits::{FamilyWaits, family_waits};
use crate::sample::data::Sample;
use crate::sample::families::family;
use crate::statistics::series::median_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// CPU times of every execution (process) by daemon family. Executions of one family are kept apart, since each is held against
/// a cutoff by itself.
pub type FamilyExecutions = BTreeMap<String, Vec<Nanos>>;

/// One sample of a profiling run: its elapsed time, and what else ran meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Number in the run, from 1, in the order of execution.
    pub number: u32,
    /// CLOCK_REALTIME at its start, since 1970; in real time, so that a period is seen over a reboot.
    pub start: Nanos,
    pub elapsed: Nanos,
    /// Process time, where there is one: a virtual sample has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_time: Option<Nanos>,
    /// The daemons with CPU time inside the sample.
    pub executions: Reading<FamilyExecutions>,
    /// Whether `executions` may lack some.
    pub incomplete: bool,
    /// What the program waited for each daemon; `None` without a complete account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<FamilyWaits>,
}

impl Observation {
    /// From a stored sample. Executions without CPU time are omitted: they disturbed nothing.
    pub fn of(sample: &Sample) -> Observation {
        let mut incomplete = true;
        let executions = sample.daemons.clone().map(|daemons| {
            incomplete = daemons.incomplete.is_some();
            let mut by_family = FamilyExecutions::new();
            for d in daemons.list.iter().filter(|d| d.cpu > Nanos::ZERO) {
                by_family.entry(family(&d.name, d.kind)).or_default().push(d.cpu);
            }
            by_family
        });
        let (number, start) = (sample.index.saturating_add(1), sample.wall_clock);
        let process_time = sample.process_time().ok();
        let waits = family_waits(sample);
        Observation { number, start, elapsed: sample.elapsed(), process_time, executions, incomplete, waits }
    }

    /// When it ended, in real time.
    pub fn end(&self) -> Nanos {
        self.start + self.elapsed
    }

    /// Every execution as (family, CPU time); nothing where the daemons are not known.
    pub fn each(&self) -> impl Iterator<Item = (&str, Nanos)> {
        let known = self.executions.value();
        known.into_iter().flatten().flat_map(|(family, times)| times.iter().map(|t| (family.as_str(), *t)))
    }
}

/// The samples as they would be if each had taken the same process time: ET minus PT, plus the median PT. The remaining
/// differences are waiting, mostly for daemons; a varying clock speed, which on a shared machine may move ET by more
/// than any daemon does, is in PT and so is gone. `None` unless every sample has a PT.
pub fn at_equal_process_time(observations: &[Observation]) -> Option<Vec<Observation>> {
    let mut times: Vec<Nanos> = observations.iter().map(|o| o.process_time).collect::<Option<_>>()?;
    times.sort();
    let median = *times.get(times.len() / 2)?;
    let without_process_time =
        |o: &Observation| Some(Observation { elapsed: o.elapsed - o.process_time? + median, ..o.clone() });
    observations.iter().map(without_process_time).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualExecution<'a> {
    /// The one with the odd number: x of the plot.
    pub odd: &'a Observation,
    /// The one with the even number: y of the plot.
    pub even: &'a Observation,
}

/// The samples of a run, in pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duals<'a> {
    /// All samples, by number.
    pub samples: Vec<&'a Observation>,
    /// Dual samples, by number; positions in `samples` of the odd half (the even one follows it).
    pub at: Vec<usize>,
    /// Positions in `samples` of those without a partner: the other one failed or was not made.
    pub unpaired: Vec<usize>,
}

impl Duals<'_> {
    /// The dual samples, by number.
    pub fn pairs(&self) -> impl Iterator<Item = DualExecution<'_>> {
        self.at
            .iter()
            .filter_map(|i| Some(DualExecution { odd: self.samples.get(*i)?, even: self.samples.get(i + 1)? }))
    }
}

/// Usual pauses up to which the end of one sample and the start of the next belong together.
const TOGETHER: f64 = 3.0;
/// Pause that is no gap, however short the samples are, ns.
const PAUSE: f64 = 5e8;

/// Longest time from the end of a sample to the start of the next at which the two are neighbours in time, ns. A resume or a
/// reboot in between takes longer.
fn longest_pause(samples: &[&Observation]) -> f64 {
    let next = samples.iter().zip(samples.iter().skip(1));
    let pauses = next.map(|(a, b)| (b.start - a.end().max(a.start)).as_f64().max(0.0)).collect();
    TOGETHER * median_of(pauses).unwrap_or(0.0) + PAUSE
}

/// Pairs sample 1 with 2, 3 with 4 and so on, by number, whatever the order of `observations`, if they are also neighbours in
/// time. Of several samples with one number, at most one is paired.
pub fn pair(observations: &[Observation]) -> Duals<'_> {
    let mut samples: Vec<&Observation> = observations.iter().collect();
    samples.sort_by_key(|o| (o.number, o.start, o.elapsed));
    let longest = longest_pause(&samples);
    let (mut at, mut unpaired, mut i) = (Vec::new(), Vec::new(), 0);
    while let Some(first) = samples.get(i) {
        let follows = |s: &&&Observation| {
            let pause = s.start - first.end().max(first.start);
            first.number % 2 == 1 && s.number.checked_sub(1) == Some(first.number) && pause.as_f64() <= longest
        };
        let partner = samples.get(i + 1).filter(follows);
        if partner.is_some() {
            at.push(i)
        } else {
            unpaired.push(i)
        }
        i += if partner.is_some() { 2 } else { 1 };
    }
    Duals { samples, at, unpaired }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(numbers: &[u32]) -> Vec<Observation> {
        let observation = |n: &u32| Observation {
            number: *n,
            start: Nanos(i64::from(*n)),
            elapsed: Nanos(1),
            process_time: None,
            executions: Reading::Value(FamilyExecutions::new()),
            incomplete: false,
            waits: None,
        };
        numbers.iter().map(observation).collect()
    }

    fn pairs(numbers: &[u32]) -> Vec<(u32, u32)> {
        pair(&numbered(numbers)).pairs().map(|d| (d.odd.number, d.even.number)).collect()
    }

    #[test]
    fn odd_with_even() {
        assert_eq!(pairs(&[4, 3, 2, 1]), [(1, 2), (3, 4)]);
        assert_eq!(pairs(&[2, 3, 5, 6, 7]), [(5, 6)]);
        assert_eq!(pairs(&[1, 1, 2, 2]), [(1, 2)]);
        assert_eq!(pairs(&[]), []);
        assert_eq!(pairs(&[u32::MAX, 0]), []);
        assert_eq!(pair(&numbered(&[2, 3, 5, 6, 7])).unpaired, [0, 1, 4]);
    }

    /// Of samples a second apart, those around a pause of a minute are no pair; a long sample is no pause.
    #[test]
    fn no_pair_over_a_gap() {
        let secs = |s: f64| Nanos::from_secs_f64(s);
        let mut all = numbered(&[1, 2, 3, 4, 5, 6, 7, 8]);
        for (o, start) in all.iter_mut().zip([0.0, 1.0, 2.0, 62.0, 63.0, 64.0, 65.0, 95.0]) {
            (o.start, o.elapsed) = (secs(start), secs(0.9));
        }
        all[6].elapsed = secs(29.9);
        let numbers: Vec<u32> = pair(&all).pairs().map(|d| d.odd.number).collect();
        assert_eq!(numbers, [1, 5, 7]);
        assert_eq!(pair(&all).unpaired, [2, 3]);
    }

    proptest! {
        #[test]
        fn each_sample_once(numbers in proptest::collection::vec(0..40_u32, 0..60)) {
            let all = numbered(&numbers);
            let duals = pair(&all);
            prop_assert_eq!(duals.at.len() * 2 + duals.unpaired.len(), numbers.len());
            prop_assert!(duals.pairs().all(|d| d.odd.number % 2 == 1 && d.odd.number + 1 == d.even.number));
        }
    }
}
