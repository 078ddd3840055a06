//! Passive profiling: what runs on the machine, slice by slice, with tare asleep in between.

use crate::RunError;
use crate::daemons::{DaemonCollector, Roles, own_pid};
use crate::runner::StopReason;
use std::collections::HashMap;
use tarebench_bpf::KernelTypes;
use tarebench_core::base::units::Nanos;
use tarebench_core::profile::recording::{RecordedTask, RecordingChunk, Slice};
use tarebench_core::sample::daemons::Daemons;
use tarebench_sys::clock;
use tarebench_sys::signals::Signals;

/// Share of a CPU that the snapshots may take.
const SHARE: f64 = 0.0005;
const SHORTEST: Nanos = Nanos(1_000_000_000);
/// Least interval that is used, whatever was asked for.
const LEAST: Nanos = Nanos(1_000_000);
/// Slices of this much time are stored together; at most these are lost if tare is killed.
const TOGETHER: Nanos = Nanos(10_000_000_000);

pub type SliceSink<'a> = dyn FnMut(&RecordingChunk) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

pub struct Watcher {
    collector: DaemonCollector,
}

impl Watcher {
    /// Opens what this machine and this user's privilege allow.
    ///
    /// # Errors
    /// If `/proc` cannot be read at all.
    pub fn open() -> Result<Watcher, RunError> {
        Ok(Watcher { collector: DaemonCollector::open(&KernelTypes::read())? })
    }

    /// Whether processes that begin and end between two snapshots are seen.
    pub fn sees_exits(&self) -> bool {
        self.collector.sees_exits()
    }

    /// The slice that costs no more than 0.05% of one CPU, for the snapshots, and is not below a second.
    pub fn affordable(&mut self) -> Result<Nanos, RunError> {
        // The first snapshot reads every process, the later ones only those that ran.
        self.collector.arm()?;
        let cost = |collector: &mut DaemonCollector| {
            let before = clock::own_cpu();
            collector.advance(&Roles::default(), Nanos::ZERO).map(|_| clock::own_cpu() - before)
        };
        let mut costs = Vec::new();
        for _ in 0..5 {
            costs.push(cost(&mut self.collector)?);
        }
        costs.sort();
        let typical = costs.get(2).copied().unwrap_or_default();
        let whole = (typical.as_f64() / SHARE / SHORTEST.as_f64()).ceil() as i64;
        Ok(Nanos(SHORTEST.0.saturating_mul(whole.max(1))))
    }

    /// Records for this time, in slices of `interval`. `watch` gets the time recorded, whenever some of it is stored.
    pub fn record(
        &mut self,
        length: Nanos,
        interval: Nanos,
        signals: &Signals,
        sink: &mut SliceSink<'_>,
        watch: &mut dyn FnMut(Nanos),
    ) -> StopReason {
        match self.slices(length, interval, signals, sink, watch) {
            Ok(why) => why,
            Err(e) => StopReason::Failed(e),
        }
    }

    fn slices(
        &mut self,
        length: Nanos,
        interval: Nanos,
        signals: &Signals,
        sink: &mut SliceSink<'_>,
        watch: &mut dyn FnMut(Nanos),
    ) -> Result<StopReason, RunError> {
        let mut chunk = Growing::default();
        self.collector.arm()?;
        // An imported recording may have any.
        let interval = interval.max(LEAST);
        let began = clock::monotonic();
        let (mut start, mut wall, mut own) = (began, clock::realtime(), clock::own_cpu());
        loop {
            // On a grid, so that late wake-ups do not add up; missed slices become one long one.
            let done = (start - began).0;
            let next = began + Nanos((done / interval.0 + 1).saturating_mul(interval.0));
            let signal = signals.sleep_until(next);
            let used = clock::own_cpu() - own;
            let (end, end_wall) = (clock::monotonic(), clock::realtime());
            own = clock::own_cpu();
            let daemons = self.collector.advance(&Roles { own: own_pid(), ..Roles::default() }, used)?;
            chunk.add(wall, end - start, daemons);
            (start, wall) = (end, end_wall);
            let over = signal.is_some() || end - began >= length;
            if over || chunk.covered >= TOGETHER {
                if let Err(e) = sink(&std::mem::take(&mut chunk).chunk) {
                    return Ok(StopReason::NotKept(e));
                }
                watch(end - began);
            }
            match signal {
                Some(signal) => return Ok(StopReason::Interrupted(signal)),
                None if over => return Ok(StopReason::Finished),
                None => {}
            }
        }
    }
}

/// A chunk and where each process is in it.
#[derive(Default)]
struct Growing {
    chunk: RecordingChunk,
    at: HashMap<RecordedTask, u32>,
    covered: Nanos,
}

impl Growing {
    fn add(&mut self, start: Nanos, length: Nanos, daemons: Daemons) {
        let mut ran = Vec::new();
        for d in daemons.list.into_iter().filter(|d| d.cpu != Nanos::ZERO) {
            let task = RecordedTask { pid: d.pid, start: d.start, name: d.name, kind: d.kind };
            let tasks = &mut self.chunk.tasks;
            let at = *self.at.entry(task).or_insert_with_key(|task| {
                tasks.push(task.clone());
                u32::try_from(tasks.len() - 1).unwrap_or(u32::MAX)
            });
            ran.push((at, d.cpu));
        }
        self.covered += length;
        self.chunk.slices.push(Slice { start, length, ran, incomplete: daemons.incomplete });
    }
}
