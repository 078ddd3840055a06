//! What is read around each trial, outside of the measured region.

use std::path::Path;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::kbest::timing::Trial;
use tarebench_sys::perf::CoreCycles;
use tarebench_sys::thread;
use tarebench_sys::thread::{ThreadUsage, Ticks};

/// Readers that stay open over all trials.
pub(crate) struct Probes {
    ticks: Option<Ticks>,
    cycles: Option<CoreCycles>,
}

/// Readings before or after a trial.
pub(crate) struct Before {
    usage: Option<ThreadUsage>,
    ticks: Option<(u32, u64)>,
}

impl Probes {
    /// With a count of timer interrupts if requested; the reason if there is none.
    pub(crate) fn open(count_ticks: bool) -> (Probes, Reading<()>) {
        let not_asked = Absent::NotAsked("compensation for timer interrupts is switched off".to_owned());
        let (ticks, why) = match count_ticks.then(|| Ticks::open(Path::new("/"))) {
            None => (None, Reading::Absent(not_asked)),
            Some(Ok(ticks)) => (Some(ticks), Reading::Value(())),
            Some(Err(e)) => (None, Reading::Absent(e.absent("read access to /proc/interrupts"))),
        };
        (Probes { ticks, cycles: CoreCycles::open().ok() }, why)
    }

    fn read_ticks(&mut self) -> Option<(u32, u64)> {
        let cpu = thread::cpu()?;
        Some((cpu, self.ticks.as_mut()?.read(cpu)?))
    }

    /// The cheap ones last, next to the trial.
    pub(crate) fn before(&mut self) -> Before {
        let ticks = self.read_ticks();
        Before { ticks, usage: thread::usage() }
    }

    /// Cycles of the core, right before or after the region.
    #[inline]
    pub(crate) fn core_cycles(&self) -> Option<u64> {
        self.cycles.as_ref()?.read()
    }

    /// The trial of `count` units, and `core_cycles`, with the events since `before`.
    pub(crate) fn after(&mut self, before: &Before, count: u64, core_cycles: Option<u64>) -> Trial {
        let usage = before.usage.zip(thread::usage());
        let ticks = before.ticks.zip(self.read_ticks());
        Trial {
            count,
            core_cycles,
            cpu: usage.map(|(a, b)| b.cpu.saturating_sub(a.cpu)),
            preemptions: usage.map(|(a, b)| b.preemptions.saturating_sub(a.preemptions)),
            waits: usage.map(|(a, b)| b.waits.saturating_sub(a.waits)),
            // Another CPU has a different count.
            ticks: ticks.filter(|(a, b)| a.0 == b.0).map(|(a, b)| b.1.saturating_sub(a.1)),
        }
    }
}
