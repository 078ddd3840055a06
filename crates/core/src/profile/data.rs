//! A machine's infrequent, long-running daemons and their cutoffs (EMPv5, SEDONA step B).

use crate::base::units::Nanos;
use crate::profile::dual::Observation;
use serde::{Deserialize, Serialize};

/// The cutoff of one daemon: a sample with an execution over it is discarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cutoff {
    /// Daemon family (numbered kernel threads folded).
    pub daemon: String,
    /// CPU time over which a sample counts as disturbed, unrounded, in nanoseconds; for task times below
    /// `task_time_limit` or, without a limit, for all.
    pub short: f64,
    /// Task time from which `long` applies: 5% of the daemon's period.
    pub task_time_limit: Option<Nanos>,
    /// CPU time over which a sample counts as disturbed, from `task_time_limit` on; `None` where no run was long enough
    /// to show it, so there is no cutoff from there on.
    pub long: Option<f64>,
    /// What the daemon does to samples, where the account tells; without it, the cutoff guards every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<GuardedEffect>,
}

/// What a daemon does to samples: what its cutoffs guard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardedEffect {
    /// The direct effect, that the program waits for it, guards elapsed time alone; `None` if it keeps no program waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingCutoff>,
    /// The indirect effect, on the program's own work, concerns process time and net time too; `None` where it came too rarely to
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_time: Option<ProcessTimeEffect>,
}

/// Waiting for a daemon over which a sample's elapsed time is disturbed, ns, as [`Cutoff`] has CPU times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingCutoff {
    /// For task times below [`Cutoff::task_time_limit`] or, without a limit, for all; `None`: no cutoff.
    pub short: Option<f64>,
    /// From the limit on; `None`: no cutoff.
    pub long: Option<f64>,
}

/// By how much process time differs in samples that held a daemon from that of their neighbours in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTimeEffect {
    /// Part of the process time: 0.004 is 0.4% longer.
    pub change: f64,
    /// 95% interval of it; `None` with too few visits.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Visits of the daemon that were compared.
    pub visits: u32,
    /// Process time is longer, by a test with a small probability of a false alarm.
    pub lengthens: bool,
}

impl Cutoff {
    /// The cutoff for a program of this task time, in nanoseconds; infinite if there is none.
    pub fn for_task_time(&self, task_time: Nanos) -> f64 {
        match (self.task_time_limit, self.long) {
            (Some(limit), long) if task_time >= limit => long.unwrap_or(f64::INFINITY),
            _ => self.short,
        }
    }

    /// The waiting over which elapsed time is disturbed, for a program of this task time, ns; infinite if there is none.
    pub fn waiting_for_task_time(&self, task_time: Nanos) -> f64 {
        let Some(waiting) = self.effect.and_then(|e| e.waiting) else { return f64::INFINITY };
        let long = self.task_time_limit.is_some_and(|limit| task_time >= limit);
        let cutoff = if long { waiting.long } else { waiting.short };
        cutoff.unwrap_or(f64::INFINITY)
    }

    /// Whether some sample of a program of this task time can be discarded by it.
    pub fn applies_to(&self, task_time: Nanos) -> bool {
        self.for_task_time(task_time).is_finite() || self.waiting_for_task_time(task_time).is_finite()
    }
}

/// Which executions say something of their daemon, when a profile is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DaemonRule {
    /// All in L-samples, as in the papers.
    Papers,
    /// Those that kept the program waiting, where the account tells it. Of what it does not tell, those that took a noticeable part of
    /// what an L-sample took too long: such a sample is longer than the others, so that every daemon runs a little longer in it; and
    /// one of some microseconds that happened to run in a single L-sample would, by the papers' rule, discard every sample that it
    /// ever runs in.
    #[default]
    Explained,
}

impl DaemonRule {
    fn is_default(&self) -> bool {
        *self == DaemonRule::default()
    }
}

/// How the samples of a profile came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileMethod {
    /// INC was run, and each execution timed.
    Active,
    /// The machine was watched at its usual work, and samples were cut from the record ([`crate::profile::recording`]).
    Watched,
}

/// The samples of one task length (EMP section 4.5.1, steps 1 and 7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilePart {
    pub length: Nanos,
    /// The runs that they are of, by their uuids.
    pub runs: Vec<String>,
    /// What is known of each.
    pub observations: Vec<Observation>,
}

impl ProfilePart {
    /// Adds the samples of another part of this task length, renumbered so that its pairs stay pairs.
    pub fn append(&mut self, other: &ProfilePart) {
        let last = self.observations.iter().map(|o| o.number).max().unwrap_or(0);
        let offset = last.saturating_add(last % 2);
        self.runs.extend(other.runs.iter().filter(|r| !self.runs.contains(r)).cloned().collect::<Vec<_>>());
        let moved = other.observations.iter().cloned();
        self.observations.extend(moved.map(|o| Observation { number: o.number.saturating_add(offset), ..o }));
    }
}

const DAY: i64 = 86_400_000_000_000;
/// Age from which a profile is doubted: a month brings updates, and with them other daemons.
const OLD: Nanos = Nanos(30 * DAY);

/// Why the cutoffs of a profile may not fit a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// The profile is of another machine.
    OtherMachine,
    OtherKernel {
        /// The profile's.
        profile: String,
        /// The run's.
        run: String,
    },
    /// The numbers of CPUs differ.
    OtherCpus {
        /// The profile's.
        profile: u32,
        /// The run's.
        run: u32,
    },
    /// The profile is over a month old.
    Old { days: i64 },
}

/// What was learned of a machine. It holds the samples that it is based on, so every table can be made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub name: String,
    /// Version, from 1; unique in a store with the name. 0 before it is stored.
    pub version: u32,
    /// When it was made, since 1970.
    pub created: Nanos,
    /// The machine it is of ([`crate::machine::data::Host::machine`]).
    pub machine: String,
    /// That machine's name.
    pub host: String,
    pub kernel: String,
    pub cpus: u32,
    /// Version of tare that made it.
    pub tool: String,
    /// How its samples came about.
    pub method: ProfileMethod,
    /// The short task length (paper: INC128, 800 samples).
    pub short: ProfilePart,
    /// The long one (paper: INC16384, 40 samples), if there was one.
    pub long: Option<ProfilePart>,
    /// The cutoffs that `tool` computed from them, and that runs are held against.
    pub cutoffs: Vec<Cutoff>,
    #[serde(default, skip_serializing_if = "DaemonRule::is_default")]
    pub rule: DaemonRule,
}

impl Profile {
    /// Cutoffs alone, without the samples that they come from, as a paper's table has them.
    pub fn of_cutoffs(name: &str, machine: &str, kernel: &str, cutoffs: Vec<Cutoff>) -> Profile {
        Profile {
            name: name.to_owned(),
            version: 1,
            created: Nanos::ZERO,
            machine: machine.to_owned(),
            host: String::new(),
            kernel: kernel.to_owned(),
            cpus: 1,
            tool: String::new(),
            method: ProfileMethod::Active,
            short: ProfilePart { length: Nanos::ZERO, runs: Vec::new(), observations: Vec::new() },
            long: None,
            cutoffs,
            rule: DaemonRule::default(),
        }
    }

    /// Why its cutoffs may not fit a run made at a time on a machine; none if nothing speaks against it.
    pub fn doubts(&self, now: Nanos, machine: &str, kernel: &str, cpus: u32) -> Vec<Doubt> {
        if self.machine != machine {
            return vec![Doubt::OtherMachine];
        }
        let mut found = Vec::new();
        if self.kernel != kernel {
            found.push(Doubt::OtherKernel { profile: self.kernel.clone(), run: kernel.to_owned() });
        }
        if self.cpus != cpus {
            found.push(Doubt::OtherCpus { profile: self.cpus, run: cpus });
        }
        let age = now - self.created;
        if age > OLD {
            found.push(Doubt::Old { days: age.0 / DAY });
        }
        found
    }

    /// Elapsed time of the longest samples that it was learned from, the median of their part; `None` without samples.
    pub fn longest_samples(&self) -> Option<Nanos> {
        let parts = [Some(&self.short), self.long.as_ref()].into_iter().flatten();
        let median = |p: &ProfilePart| {
            let mut times: Vec<Nanos> = p.observations.iter().map(|o| o.elapsed).collect();
            times.sort();
            times.get(times.len() / 2).copied()
        };
        parts.filter_map(median).max()
    }

    /// Name and version: `build7@2`.
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Tells name and version apart: `build7@2` or `build7`.
    pub fn parse_label(text: &str) -> (&str, Option<u32>) {
        match text.rsplit_once('@').and_then(|(name, v)| Some((name, v.parse().ok()?))) {
            Some((name, version)) if !name.is_empty() => (name, Some(version)),
            _ => (text, None),
        }
    }
}
