//! The samples of a run by series, and what several parts of its report need.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::run::data::Run;
use crate::run::plan::Program;
use crate::sample::daemons::{Daemon, TaskKind};
use crate::sample::data::{Phase, Sample};
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

/// The samples of one series, by number.
pub(crate) struct SampleGroup<'a> {
    pub index: usize,
    pub program: &'a Program,
    pub warmups: Vec<&'a Sample>,
    pub counted: Vec<&'a Sample>,
    /// Counted ones that succeeded, or whose failure is accepted.
    pub good: Vec<&'a Sample>,
}

/// All samples of a run.
pub(crate) struct Grouped<'a> {
    pub series: Vec<SampleGroup<'a>>,
    /// Samples of programs that the plan does not have.
    pub strays: usize,
}

impl<'a> Grouped<'a> {
    pub fn new(run: &'a Run, samples: &'a [Sample]) -> Grouped<'a> {
        let empty = |(index, program)| SampleGroup {
            index,
            program,
            warmups: Vec::new(),
            counted: Vec::new(),
            good: Vec::new(),
        };
        let mut series: Vec<SampleGroup> = run.plan.programs.iter().enumerate().map(empty).collect();
        let mut strays = 0;
        for sample in samples {
            match (series.get_mut(sample.series as usize), sample.phase) {
                (None, _) => strays += 1,
                (Some(group), Phase::Warmup) => group.warmups.push(sample),
                (Some(group), Phase::Counted) => group.counted.push(sample),
            }
        }
        for group in &mut series {
            group.warmups.sort_by_key(|s| (s.index, s.seq));
            group.counted.sort_by_key(|s| (s.index, s.seq));
            let accepted = |s: &&&Sample| run.plan.ignore_failure.accepts(&s.outcome);
            group.good = group.counted.iter().filter(accepted).copied().collect();
        }
        Grouped { series, strays }
    }
}

/// Retained samples of a series: number and time in ns.
#[derive(Default)]
pub(crate) struct KeptSamples {
    pub pt: Vec<(u32, f64)>,
    pub et: Vec<(u32, f64)>,
    pub net: Vec<(u32, f64)>,
}

/// Families of names met before: a run has few names and many daemons.
#[derive(Default)]
pub(crate) struct FamilyNames<'a>(HashMap<(&'a Name, TaskKind), Rc<str>>);

impl<'a> FamilyNames<'a> {
    pub fn family(&mut self, daemon: &'a Daemon) -> Rc<str> {
        self.of(&daemon.name, daemon.kind)
    }

    pub fn of(&mut self, name: &'a Name, kind: TaskKind) -> Rc<str> {
        self.0.entry((name, kind)).or_insert_with(|| family(name, kind).into()).clone()
    }
}

/// Mean over the samples that have the reading; without any, the first one's reason.
pub(crate) fn mean<'a>(good: &[&'a Sample], read: impl Fn(&'a Sample) -> Result<f64, Absent>) -> Reading<f64> {
    let (mut sum, mut n, mut first) = (0.0, 0.0, None);
    for sample in good {
        match read(sample) {
            Ok(v) => (sum, n) = (sum + v, n + 1.0),
            Err(why) => first = first.or(Some(why)),
        }
    }
    if n > 0.0 {
        return Reading::Value(sum / n);
    }
    Reading::Absent(first.unwrap_or_else(|| Absent::NotAsked("no successful sample".to_owned())))
}

pub(crate) fn read<T>(reading: &Reading<T>) -> Result<&T, Absent> {
    reading.as_result().map_err(Clone::clone)
}
