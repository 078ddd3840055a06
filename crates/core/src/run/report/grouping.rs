//! What several parts of a report need: sums over samples that come one at a time and in any order, and families of names.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::run::data::Run;
use crate::sample::counters::Counter;
use crate::sample::daemons::TaskKind;
use crate::sample::data::Sample;
use crate::sample::families::family;
use std::collections::HashMap;
use std::rc::Rc;

/// A length as the reports have it.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Index of the program that the others are compared with.
pub(crate) fn reference(run: &Run) -> usize {
    run.plan.programs.iter().position(|p| p.reference).unwrap_or(0)
}

/// Where a sample is in its series: its number, then its position in the run.
pub(crate) type SamplePlace = (u32, u32);

pub(crate) fn place(sample: &Sample) -> SamplePlace {
    (sample.index, sample.seq)
}

/// What the first sample of a series gives of those that give something.
#[derive(Clone, Debug)]
pub(crate) struct FirstFound<T>(Option<(SamplePlace, T)>);

impl<T> Default for FirstFound<T> {
    fn default() -> FirstFound<T> {
        FirstFound(None)
    }
}

impl<T> FirstFound<T> {
    pub fn offer(&mut self, at: SamplePlace, value: impl FnOnce() -> T) {
        if self.0.as_ref().is_none_or(|found| at < found.0) {
            self.0 = Some((at, value()));
        }
    }

    pub fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|found| &found.1)
    }

    pub fn into_inner(self) -> Option<T> {
        self.0.map(|found| found.1)
    }
}

/// Why a series without a successful sample has no value.
pub(crate) fn no_sample() -> Absent {
    Absent::NotAsked("no successful sample".to_owned())
}

impl FirstFound<Absent> {
    /// This reason, for a value that no sample has.
    pub fn absent<T>(self) -> Reading<T> {
        Reading::Absent(self.into_inner().unwrap_or_else(no_sample))
    }
}

/// A sum of times, exact, so that their order makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TimeSum(i128);

impl TimeSum {
    pub fn add(&mut self, time: Nanos) {
        self.0 += i128::from(time.0);
    }

    /// ns.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// At most what a time can be.
    pub fn nanos(self) -> Nanos {
        Nanos(i64::try_from(self.0).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX }))
    }
}

/// A mean of whole numbers, which are summed exactly, so that their order makes no difference; over the samples that have one.
#[derive(Default)]
pub(crate) struct Mean {
    sum: i128,
    n: u64,
    missing: FirstFound<Absent>,
}

impl Mean {
    pub fn add(&mut self, at: SamplePlace, value: Result<i128, Absent>) {
        match value {
            Ok(value) => (self.sum, self.n) = (self.sum + value, self.n + 1),
            Err(why) => self.missing.offer(at, || why),
        }
    }

    pub fn add_time(&mut self, at: SamplePlace, time: Result<Nanos, Absent>) {
        self.add(at, time.map(|t| i128::from(t.0)));
    }

    /// Without any value, the first sample's reason.
    pub fn reading(self) -> Reading<f64> {
        if self.n == 0 { self.missing.absent() } else { Reading::Value(self.sum as f64 / self.n as f64) }
    }
}

/// Samples of a series that check 1 leaves, in the order of their numbers: block and time in ns. Programs are compared by these: check 2
/// looks at each program for itself, and would leave out other executions of one than of another that is the same.
#[derive(Default)]
pub(crate) struct KeptSamples {
    pub pt: Vec<(u32, f64)>,
    pub et: Vec<(u32, f64)>,
    pub net: Vec<(u32, f64)>,
    /// Printed values, by name.
    pub metrics: Vec<(String, Vec<(u32, f64)>)>,
    pub counters: Vec<(Counter, Vec<(u32, f64)>)>,
}

/// Families of names met before: a run has few names and many daemons.
#[derive(Default)]
pub(crate) struct FamilyNames {
    user: HashMap<Name, Rc<str>>,
    kernel: HashMap<Name, Rc<str>>,
    tare: HashMap<Name, Rc<str>>,
}

impl FamilyNames {
    pub fn family(&mut self, name: &Name, kind: TaskKind) -> Rc<str> {
        let known = match kind {
            // A partner has no name.
            TaskKind::User | TaskKind::Partner => &mut self.user,
            TaskKind::Kernel => &mut self.kernel,
            TaskKind::Tare => &mut self.tare,
        };
        if let Some(found) = known.get(name) {
            return found.clone();
        }
        let new: Rc<str> = family(name, kind).into();
        known.insert(name.clone(), new.clone());
        new
    }
}

pub(crate) fn read<T>(reading: &Reading<T>) -> Result<&T, Absent> {
    reading.as_result().map_err(Clone::clone)
}
