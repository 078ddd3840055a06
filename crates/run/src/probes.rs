//! Probes around a sample, and the gate that pauses its program while the machine is busy.
//!
//! A paused program is frozen by its cgroup, whose files no process sees. Where it has no cgroup there is no gate: a program that is
//! stopped by a signal looks to its parent, and to tare's wait, as if it had stopped itself.

use std::path::PathBuf;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::quiet::data::{ProbePlan, QuietLevels};
use tarebench_core::sample::probes::{GateRule, PROBE_REVISION, ProbeKind, SampleProbes};
use tarebench_sys::cgroup::Leaf;
use tarebench_sys::probe::{ProbeThreads, SampleGate};
use tarebench_sys::signals::Signals;
use tarebench_sys::tree_guard::{TreeFate, TreeGuard};

/// The threads that probe, and what the gate needs.
pub struct ProbeCollector {
    threads: ProbeThreads,
    period: Nanos,
    /// The rule and the quiet ratio of issue to latency on each CPU; or why the program is not paused.
    gate: Result<(GateRule, Vec<f64>), Absent>,
    /// Ends what is paused when tare is killed, and the cgroup that it is for.
    guard: Option<(PathBuf, TreeGuard)>,
}

impl ProbeCollector {
    /// Starts a thread on each of these CPUs. Without `levels`, a gate learns from 300 ms of the machine as it is now: what is busy
    /// all of that time counts as quiet.
    pub fn open(plan: &ProbePlan, cpus: &[u32], levels: Option<&QuietLevels>) -> Reading<ProbeCollector> {
        let mut threads = match ProbeThreads::start(cpus) {
            Ok(threads) => threads,
            Err(why) => return Reading::Absent(why),
        };
        let gate = match plan.gate {
            None => Err(Absent::NotAsked("the program is only observed".into())),
            Some(rule) => {
                let known = levels.and_then(quiet_ratio).map(|ratio| vec![ratio; cpus.len()]);
                let learned = known.or_else(|| threads.learn());
                let none =
                    || Absent::Lost("the probes did not run often enough to know the machine's quiet state".into());
                learned.map(|quiet| (rule, quiet)).ok_or_else(none)
            }
        };
        Reading::Value(ProbeCollector { threads, period: plan.period, gate, guard: None })
    }

    /// Why programs are not paused, if they are not: known once it has been [prepared](ProbeCollector::prepare).
    pub fn gate_missing(&self) -> Option<&Absent> {
        self.gate.as_ref().err()
    }

    /// Makes ready for programs in this cgroup: with a gate, the guard is started, for the first one and for every other one.
    pub fn prepare(&mut self, leaf: Option<&Leaf>, leave_running: bool) {
        if self.gate.is_ok()
            && let Err(why) = self.start_guard(leaf, leave_running)
        {
            self.gate = Err(why);
        }
    }

    /// # Errors
    /// If there is no freezer, or no guard: without it nothing is paused.
    fn start_guard(&mut self, leaf: Option<&Leaf>, leave_running: bool) -> Result<(), Absent> {
        let leaf = leaf.ok_or_else(|| Absent::NoPermission(NEEDS.into()))?;
        if self.guard.as_ref().is_some_and(|(of, _)| of == leaf.path()) {
            return Ok(());
        }
        self.dismiss_guard();
        leaf.freezer().map_err(|e| e.absent(NEEDS))?;
        let fate = if leave_running { TreeFate::Continued } else { TreeFate::Killed };
        let guard = TreeGuard::start(&[leaf.path().to_owned()], fate).map_err(|e| e.absent(NEEDS))?;
        self.guard = Some((leaf.path().to_owned(), guard));
        Ok(())
    }

    fn dismiss_guard(&mut self) {
        if let Some((_, guard)) = self.guard.take() {
            guard.dismiss();
        }
    }

    /// The guard's process, a child of tare that sleeps, if there is one.
    pub fn helper(&self) -> Option<i32> {
        self.guard.as_ref().map(|(_, guard)| guard.pid())
    }

    /// Begins to probe; with a gate, returns when the machine is quiet, or the wait has taken as long as is allowed.
    pub fn arm(&mut self, leaf: Option<&Leaf>, leave_running: bool, signals: &Signals) {
        self.prepare(leaf, leave_running);
        let gate = match (&self.gate, leaf) {
            (Ok((rule, quiet)), Some(leaf)) => match leaf.freezer() {
                Ok(freezer) => Some(SampleGate { rule: *rule, quiet: quiet.clone(), freezer }),
                Err(e) => {
                    self.gate = Err(e.absent(NEEDS));
                    None
                }
            },
            _ => None,
        };
        self.threads.arm(gate, self.period);
        self.threads.wait_for_quiet(signals);
    }

    /// Ends a pause, for the rest of the execution: what is frozen does not act on signals.
    pub fn release(&self) {
        self.threads.release();
    }

    /// Right after the end of the program, which ran between these times on CLOCK_MONOTONIC.
    pub fn harvest(&mut self, start: Nanos, end: Nanos) -> Reading<SampleProbes> {
        let (probes, failed) = self.threads.finish(start, end);
        if let Some(e) = failed {
            self.gate = Err(e.absent(NEEDS));
        }
        Reading::Value(probes)
    }
}

impl Drop for ProbeCollector {
    fn drop(&mut self) {
        // Before the guard goes, which would end what stands still.
        self.threads.release();
        self.dismiss_guard();
    }
}

const NEEDS: &str =
    "permission to create a cgroup v2 folder with a freezer (root, or systemd-run --user --scope -p Delegate=yes)";

/// Quiet mode of issue / latency, if it is of these probes.
fn quiet_ratio(levels: &QuietLevels) -> Option<f64> {
    let place = ProbeKind::ALL.iter().position(|kind| *kind == ProbeKind::Issue)?;
    let ratio = levels.levels.get(place).copied()?;
    (levels.revision == PROBE_REVISION && ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::sample::probes::PROBE_KINDS;

    #[test]
    fn levels_of_other_probes_are_not_used() {
        let mut levels = QuietLevels {
            revision: PROBE_REVISION,
            learned: Nanos::ZERO,
            wakes: 1,
            latency: 1_000.0,
            levels: [0.25; PROBE_KINDS],
        };
        assert_eq!(quiet_ratio(&levels), Some(0.25));
        levels.revision += 1;
        assert_eq!(quiet_ratio(&levels), None);
        levels.revision = PROBE_REVISION;
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            levels.levels = [bad; PROBE_KINDS];
            assert_eq!(quiet_ratio(&levels), None);
        }
    }
}
