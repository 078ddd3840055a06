//! Probes: threads that wake up on the program's CPUs while it runs and time short pieces of exactly fixed work, by which the state
//! of the machine is known at that moment; and the gate, which pauses the program while that state is a busy one.
//!
//! Between samples the threads sleep without any wake-up. In a wake-up they allocate nothing and make no system calls other than
//! those of the probe of system calls, of the gate's files, and their sleep. The memory is there once in a process, from the first
//! probes on.

mod buffers;
mod gate;
mod kernels;
mod places;
mod records;
mod thread;

use crate::cgroup::Freezer;
use crate::signals::{Signals, caught};
use crate::{SysError, clock};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use tarebench_core::base::reading::Absent;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::probes::{
    CpuProbes, GateRule, GateWake, PROBE_REVISION, ProbeCost, ProbeWake, SampleProbes,
};

use gate::{GateMachine, lower_mode};
use records::{ThinnedRecords, WakeRecords};
use thread::{ProbeLane, ProbeShared};

/// Wake-ups, 1 ms apart, that the gate's level is learned from where nothing is known.
const LEARNING: u32 = 300;
/// The start of a program is waited for so much longer than the gate's limit, if the thread that decides does not get its CPU.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// The gate of a sample.
pub struct SampleGate {
    pub rule: GateRule,
    /// issue / latency on a quiet machine, on each of the CPUs.
    pub quiet: Vec<f64>,
    /// Of the cgroup that the program will be in.
    pub freezer: Freezer,
}

/// The threads that probe, one on each CPU. They end with this value.
pub struct ProbeThreads {
    lanes: Vec<ProbeLane>,
    shared: Arc<ProbeShared>,
    /// A sample is being taken.
    armed: bool,
    waits: Option<Nanos>,
}

impl ProbeThreads {
    /// Starts them.
    ///
    /// # Errors
    /// If there are no probes for this CPU, the CPUs may not be used, or a real-time priority is not permitted.
    pub fn start(cpus: &[u32]) -> Result<ProbeThreads, Absent> {
        if let Some(why) = kernels::missing() {
            return Err(Absent::NotSupported(why));
        }
        if cpus.is_empty() {
            return Err(Absent::NotAsked("no CPUs were named for the probes".to_owned()));
        }
        let shared = Arc::new(ProbeShared::new().map_err(|e| e.absent("another descriptor"))?);
        let lane = |(index, cpu): (usize, &u32)| ProbeLane::start(index, *cpu, &shared);
        let lanes = cpus.iter().enumerate().map(lane).collect::<Result<_, _>>()?;
        Ok(ProbeThreads { lanes, shared, armed: false, waits: None })
    }

    /// The lower mode of issue / latency on each CPU, by 300 wake-ups in 300 ms, all CPUs at once. What was busy all the time counts
    /// as quiet then. `None` if too little was measured.
    pub fn learn(&mut self) -> Option<Vec<f64>> {
        self.stop();
        for lane in &mut self.lanes {
            lane.learn(&self.shared, LEARNING);
        }
        let mode = |lane: &mut ProbeLane| {
            let records = lane.finish()?;
            let ratio = records.paused.kept().iter().map(|w| f64::from(w.issue) / f64::from(w.latency));
            lower_mode(ratio.collect())
        };
        // All are waited for, also if one of them fails.
        let modes: Vec<Option<f64>> = self.lanes.iter_mut().map(mode).collect();
        modes.into_iter().collect()
    }

    /// Begins to probe: all probes run every `period`. With a gate, the two that it goes by run once more in between, as long as it
    /// may pause the program; and every ms while it is paused, or waits for its start, all others not at all. With a gate, the
    /// program is to be started when [`ProbeThreads::wait_for_quiet`] returns.
    pub fn arm(&mut self, gate: Option<SampleGate>, period: Nanos) {
        self.stop();
        self.waits = gate.as_ref().map(|g| g.rule.limit);
        let machine = |g: SampleGate| (GateMachine::new(g.rule, g.quiet, clock::monotonic()), g.freezer);
        let command = self.shared.begin(gate.map(machine));
        self.armed = true;
        for lane in &mut self.lanes {
            lane.begin(period, command);
        }
    }

    /// Sleeps until the gate lets the program start, the limit is reached, or a signal asks tare to end.
    pub fn wait_for_quiet(&self, signals: &Signals) {
        let Some(limit) = self.waits else { return };
        let until = clock::monotonic() + limit + PATIENCE;
        // One that came earlier does not wake it.
        while caught().is_none() {
            let left = (until - clock::monotonic()).max(Nanos::ZERO);
            let time = libc::timespec { tv_sec: left.0 / 1_000_000_000, tv_nsec: left.0 % 1_000_000_000 };
            let mut poll = libc::pollfd { fd: self.shared.may_start().as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd, a valid time limit, a valid mask.
            let r = unsafe { libc::ppoll(&mut poll, 1, &time, &signals.waiting) };
            match r {
                0 => break,
                r if r > 0 => return,
                // A signal, perhaps of a child.
                _ => {}
            }
        }
        self.shared.start_anyway();
    }

    /// Ends a pause; from now on the program is not paused again. Before it is asked to end, as what is frozen does not act on
    /// signals.
    pub fn release(&self) {
        self.shared.release();
    }

    fn stop(&mut self) {
        self.shared.release();
        if std::mem::take(&mut self.armed) {
            self.shared.finish();
            for lane in &mut self.lanes {
                lane.finish();
            }
        }
    }

    /// Stops probing; what was measured from a program's start to its end, on CLOCK_MONOTONIC. Nothing is paused then. The error is
    /// that of the gate, if the program could not be paused or continued.
    pub fn finish(&mut self, start: Nanos, end: Nanos) -> (SampleProbes, Option<SysError>) {
        self.stop();
        let mut cost = ProbeCost { cpu: Nanos::ZERO, wakes: 0, late: 0 };
        let mut cpus = Vec::with_capacity(self.lanes.len());
        for lane in &mut self.lanes {
            let cpu = lane.cpu;
            if let Some(records) = lane.kept() {
                add_cost(&mut cost, records, start, end);
                cpus.push(within(cpu, records, start, end));
            }
        }
        let mut seat = self.shared.seat();
        let gate = seat.machine.take().map(|machine| machine.record());
        (SampleProbes { revision: PROBE_REVISION, cpus, gate, cost }, seat.failed.take())
    }
}

impl Drop for ProbeThreads {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The wake-ups of a sample, with times relative to its start; those before the start are of the wait for it.
fn within(cpu: u32, records: &WakeRecords, start: Nanos, end: Nanos) -> CpuProbes {
    let is_in = |at: Nanos| at >= start && at <= end;
    let wakes = records.running.kept().iter().filter(|w| is_in(w.at));
    let wakes = wakes.map(|w| ProbeWake { at: w.at - start, ..*w }).collect();
    let since_start = |w: &GateWake| GateWake { at: w.at - start, ..*w };
    let watched = records.watched.kept().iter().filter(|w| is_in(w.at)).map(since_start).collect();
    let paused = records.paused.kept().iter().filter(|w| w.at <= end).map(since_start).collect();
    CpuProbes { cpu, wakes, kept_every: records.running.every(), watched, paused }
}

fn add_cost(cost: &mut ProbeCost, records: &WakeRecords, start: Nanos, end: Nanos) {
    fn outside<T: Copy>(r: &ThinnedRecords<T>, is_out: impl Fn(&T) -> bool) -> u64 {
        // Of those that are kept; each stands for so many.
        let kept = u64::try_from(r.kept().iter().filter(|w| is_out(w)).count()).unwrap_or(0);
        kept.saturating_mul(u64::from(r.every()))
    }
    let is_out = |at: Nanos| at < start || at > end;
    let running = records.running.seen().saturating_sub(outside(&records.running, |w| is_out(w.at)));
    let looks = [&records.watched, &records.paused].map(|r| r.seen().saturating_sub(outside(r, |w| is_out(w.at))));
    cost.wakes = looks.into_iter().fold(cost.wakes.saturating_add(running), u64::saturating_add);
    cost.late = cost.late.saturating_add(records.late);
    cost.cpu += records.cpu;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cpu, process};
    use std::time::Duration;

    /// Threads on these CPUs; none where there are no probes, or real-time priorities are not permitted.
    fn threads(cpus: &[u32]) -> Option<ProbeThreads> {
        match ProbeThreads::start(cpus) {
            Ok(threads) => Some(threads),
            Err(Absent::NotSupported(_)) if kernels::missing().is_some() => None,
            Err(why) if process::effective_uid() != 0 => {
                assert!(matches!(why, Absent::NoPermission(_) | Absent::NotSupported(_)), "{why}");
                None
            }
            Err(why) => panic!("{why}"),
        }
    }

    /// Scheduling policies of this process's threads of this name.
    fn policies() -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let named = tasks.filter(|t| std::fs::read(t.path().join("comm")).is_ok_and(|c| c == b"tare-probe\n"));
        let ids = named.filter_map(|t| t.file_name().to_str()?.parse::<i32>().ok());
        ids.map(crate::sched::policy_of).collect()
    }

    /// One test, as it counts the threads of the process.
    #[test]
    fn threads_wake_up_while_a_sample_is_taken_and_end() {
        let all = cpu::allowed().unwrap();
        let Some(mut probes) = threads(&all) else { return };
        assert_eq!(policies(), vec![libc::SCHED_FIFO; all.len()]);
        let before = clock::monotonic();
        probes.arm(None, Nanos::from_millis(2));
        let start = clock::monotonic();
        std::thread::sleep(Duration::from_millis(100));
        let end = clock::monotonic();
        let (found, failed) = probes.finish(start, end);
        assert!(failed.is_none() && found.gate.is_none() && found.revision == PROBE_REVISION);
        assert_eq!(found.cpus.iter().map(|c| c.cpu).collect::<Vec<_>>(), all);
        let most = (end - before).0 / 2_000_000 + 2;
        for c in &found.cpus {
            // Stolen time makes it fewer.
            assert!(c.wakes.len() >= 5 && i64::try_from(c.wakes.len()).unwrap() <= most, "{}", c.wakes.len());
            assert!(c.wakes.iter().all(|w| w.at >= Nanos::ZERO && w.at <= end - start));
            assert!(c.wakes.windows(2).all(|p| p[0].at < p[1].at));
            assert!(c.wakes.iter().all(|w| w.ticks.iter().all(|t| *t > 0)));
            assert!(c.watched.is_empty() && c.paused.is_empty() && c.kept_every == 1);
        }
        assert!(found.cost.cpu > Nanos::ZERO && found.cost.cpu < end - before);
        assert!(found.cost.wakes >= 5 && found.cost.late <= found.cost.wakes);
        // Without a sample there is no wake-up.
        let waits = || -> Vec<u64> {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            let named = tasks.filter(|t| std::fs::read(t.path().join("comm")).is_ok_and(|c| c == b"tare-probe\n"));
            let switches = named.filter_map(|t| std::fs::read_to_string(t.path().join("status")).ok());
            let line =
                |s: String| s.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok());
            switches.filter_map(line).collect()
        };
        std::thread::sleep(Duration::from_millis(20));
        let asleep = waits();
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!((waits(), asleep.len()), (asleep, all.len()));
        // A second sample begins anew.
        probes.arm(None, Nanos::from_millis(4));
        let start = clock::monotonic();
        std::thread::sleep(Duration::from_millis(20));
        let (again, _) = probes.finish(start, clock::monotonic());
        assert!(again.cpus.iter().all(|c| c.wakes.len() < 10));
        let quiet = probes.learn().unwrap();
        assert!(quiet.len() == all.len() && quiet.iter().all(|q| (0.02..2.0).contains(q)), "{quiet:?}");
        // It ends also where a sample is being taken.
        probes.arm(None, Nanos::from_millis(4));
        drop(probes);
        // A thread that was waited for may be listed for a moment longer.
        let mut looks = 0..100;
        while !policies().is_empty() && looks.next().is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(policies(), Vec::<i32>::new());
        assert!(matches!(ProbeThreads::start(&[1_000_000]), Err(Absent::Failed(_))));
        assert!(matches!(ProbeThreads::start(&[]), Err(Absent::NotAsked(_))));
        assert_eq!(policies(), Vec::<i32>::new());
    }
}
