//! What ran on a machine, slice by slice: the record of passive profiling, from which samples of any length are cut.

use crate::base::name::Name;
use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::profile::dual::{FamilyExecutions, Observation};
use crate::sample::daemons::TaskKind;
use crate::sample::families::family;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A process that ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordedTask {
    pub pid: i32,
    /// Since boot; with `pid` it identifies the process within a boot.
    pub start: Nanos,
    pub name: Name,
    pub kind: TaskKind,
}

/// What ran between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// CLOCK_REALTIME at its beginning, since 1970.
    pub start: Nanos,
    /// How long, by CLOCK_MONOTONIC.
    pub length: Nanos,
    /// Position of the process in [`RecordingChunk::tasks`] and its CPU time in this slice; none of zero.
    pub ran: Vec<(u32, Nanos)>,
    /// Why some may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Absent>,
}

/// Successive slices that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingChunk {
    /// Every process that ran in one of them.
    pub tasks: Vec<RecordedTask>,
    /// In the order of time.
    pub slices: Vec<Slice>,
}

/// Time that a recording covers.
pub fn covered(chunks: &[RecordingChunk]) -> Nanos {
    chunks.iter().flat_map(|c| &c.slices).map(|s| s.length).sum()
}

/// Median length of its slices; `None` if it has none.
pub fn typical_slice(chunks: &[RecordingChunk]) -> Option<Nanos> {
    let mut lengths: Vec<Nanos> = chunks.iter().flat_map(|c| &c.slices).map(|s| s.length).collect();
    lengths.sort();
    lengths.get(lengths.len() / 2).copied()
}

/// Virtual samples of a task length: successive slices, joined until they are as long. The rest before a gap in the
/// recording (tare was not running, the machine slept, the clock was set) is in no sample, and no pair spans a gap.
///
/// Such a sample has no program whose time could be measured; its elapsed time is its length and the CPU time of all that ran
/// in it, without tare: that of a program that had to wait for all of them.
pub fn virtual_samples(chunks: &[RecordingChunk], length: Nanos) -> Vec<Observation> {
    let Some(typical) = typical_slice(chunks) else { return Vec::new() };
    let mut made = Vec::new();
    let mut window = Window::default();
    let mut number = 0_u32;
    let mut end: Option<Nanos> = None;
    for (chunk, slice) in chunks.iter().flat_map(|c| c.slices.iter().map(move |s| (c, s))) {
        if end.is_some_and(|e| (slice.start - e).0.saturating_abs() > typical.0 / 2) {
            window = Window::default();
            number += number % 2;
        }
        end = Some(slice.start + slice.length);
        window.add(chunk, slice);
        // Half a slice early rather than half a slice late.
        if window.length + Nanos(typical.0 / 2) >= length {
            number += 1;
            made.push(std::mem::take(&mut window).observation(number));
        }
    }
    made
}

/// The slices of one virtual sample.
#[derive(Default)]
struct Window<'a> {
    start: Option<Nanos>,
    length: Nanos,
    ran: HashMap<(i32, Nanos), (&'a RecordedTask, Nanos)>,
    incomplete: Option<Absent>,
}

impl<'a> Window<'a> {
    fn add(&mut self, chunk: &'a RecordingChunk, slice: &Slice) {
        self.start.get_or_insert(slice.start);
        self.length += slice.length;
        if self.incomplete.is_none() {
            self.incomplete.clone_from(&slice.incomplete);
        }
        for (task, cpu) in &slice.ran {
            let Some(task) = chunk.tasks.get(*task as usize) else { continue };
            if task.kind == TaskKind::Tare {
                continue;
            }
            let known = self.ran.entry((task.pid, task.start)).or_insert((task, Nanos::ZERO));
            // A process that took another name is called by its last one.
            known.0 = task;
            known.1 += *cpu;
        }
    }

    fn observation(self, number: u32) -> Observation {
        let total: Nanos = self.ran.values().map(|r| r.1).sum();
        let mut executions = FamilyExecutions::new();
        for (task, cpu) in self.ran.values().filter(|r| r.1 > Nanos::ZERO) {
            executions.entry(family(&task.name, task.kind)).or_default().push(*cpu);
        }
        // The map is not ordered.
        executions.values_mut().for_each(|times| times.sort());
        Observation {
            number,
            start: self.start.unwrap_or_default(),
            elapsed: self.length + total,
            process_time: None,
            executions: Reading::Value(executions),
            incomplete: self.incomplete.is_some(),
            waits: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: i64 = 1_000_000_000;

    fn task(pid: i32, name: &str, kind: TaskKind) -> RecordedTask {
        RecordedTask { pid, start: Nanos(1), name: Name::from(name), kind }
    }

    fn slice(start: i64, ran: &[(u32, i64)]) -> Slice {
        let ran = ran.iter().map(|(t, c)| (*t, Nanos(*c))).collect();
        Slice { start: Nanos(start * S), length: Nanos(S), ran, incomplete: None }
    }

    fn chunk(slices: Vec<Slice>) -> RecordingChunk {
        let tasks = vec![
            task(1, "cron", TaskKind::User),
            task(2, "kworker/0:1", TaskKind::Kernel),
            task(3, "kworker/1:1", TaskKind::Kernel),
            task(4, "tare", TaskKind::Tare),
        ];
        RecordingChunk { tasks, slices }
    }

    #[test]
    fn slices_are_joined_by_process() {
        let first = chunk(vec![slice(0, &[(0, 5), (3, 900)]), slice(1, &[(0, 6), (1, 1)])]);
        let second = chunk(vec![slice(2, &[(2, 7)]), slice(3, &[(0, 9)])]);
        let all = virtual_samples(&[first, second], Nanos(2 * S));
        assert_eq!(all.iter().map(|o| (o.number, o.start.0)).collect::<Vec<_>>(), [(1, 0), (2, 2 * S)]);
        assert_eq!(all[0].elapsed, Nanos(2 * S + 12), "tare's own time does not count");
        let executions = |i: usize| all[i].executions.value().unwrap().clone();
        assert_eq!(
            executions(0),
            [("cron".to_owned(), vec![Nanos(11)]), ("kworker".to_owned(), vec![Nanos(1)])].into()
        );
        assert_eq!(executions(1), [("cron".to_owned(), vec![Nanos(9)]), ("kworker".to_owned(), vec![Nanos(7)])].into());
        let longer = virtual_samples(&[chunk((0..9).map(|i| slice(i, &[])).collect())], Nanos(4 * S));
        assert_eq!(longer.len(), 2);
    }

    #[test]
    fn no_sample_and_no_pair_spans_a_gap() {
        let times = [0, 1, 2, 100, 101, 102, 103];
        let all = virtual_samples(&[chunk(times.iter().map(|t| slice(*t, &[])).collect())], Nanos(2 * S));
        let got: Vec<_> = all.iter().map(|o| (o.number, o.start.0 / S)).collect();
        assert_eq!(got, [(1, 0), (3, 100), (4, 102)]);
    }

    #[test]
    fn what_may_be_missing_is_marked() {
        let mut slices: Vec<Slice> = (0..4).map(|i| slice(i, &[])).collect();
        slices[3].incomplete = Some(Absent::Lost("exits".into()));
        let all = virtual_samples(&[chunk(slices)], Nanos(2 * S));
        assert_eq!(all.iter().map(|o| o.incomplete).collect::<Vec<_>>(), [false, true]);
        assert!(virtual_samples(&[], Nanos(S)).is_empty());
    }

    #[test]
    fn no_slices_are_too_far_apart() {
        let extreme = |start: i64, length: i64| Slice { start: Nanos(start), length: Nanos(length), ..slice(0, &[]) };
        let slices = vec![extreme(i64::MIN, i64::MAX), extreme(i64::MAX, i64::MAX), extreme(i64::MIN, i64::MAX)];
        assert_eq!(virtual_samples(&[chunk(slices)], Nanos(i64::MAX)).len(), 3);
    }

    proptest! {
        #[test]
        fn every_nanosecond_once(
            cpu in proptest::collection::vec((0..5_u32, -3..1000_i64), 0..60), length in 1..10_i64
        ) {
            let slices = cpu.iter().enumerate().map(|(i, (t, c))| slice(i as i64, &[(*t, *c)])).collect::<Vec<_>>();
            let n = slices.len() as i64 / length * length;
            let all = virtual_samples(&[chunk(slices)], Nanos(length * S));
            prop_assert_eq!(all.len() as i64 * length, n);
            let expected: i64 = cpu.iter().take(n as usize).filter(|(t, _)| *t < 3).map(|(_, c)| *c).sum();
            let got: i64 = all.iter().map(|o| o.elapsed.0 - length * S).sum();
            prop_assert_eq!(got, expected);
        }
    }
}
