//! Duets: two programs that run together on one CPU, where the kernel's scheduler alternates them every few milliseconds; programs
//! that use several CPUs are stopped and continued alternately ([`crate::compare::gang`]).
//!
//! Whatever the machine does meanwhile (its clock speed, hyper-thread siblings, caches, the hypervisor) is the same for both, so
//! that the ratio of their process times hardly varies where the times themselves do. Each holds the other up, so that a duet
//! says nothing of elapsed time. (Bulej et al., Duet benchmarking, ICPE'20, run two programs on two CPUs at once.)

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::compare::gang::GangSlices;
use crate::sample::account::{Account, Ledger, net_time};
use crate::sample::calls::{Asleep, asleep as kind_of_sleep};
use crate::sample::cgroup_limits::{self, CgroupLimits};
use crate::sample::daemons::TaskKind;
use crate::sample::data::{ClockShift, Outcome, OwnUse, Phase, Sample, Stamp, Survivor, Usage};
use crate::sample::process_time::ProcessTimes;
use crate::statistics::series::median_of;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One execution of two programs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Duet {
    /// Position in the order of execution of the whole run, from 0; samples and duets are counted together.
    pub seq: u32,
    /// The block, from 0.
    pub index: u32,
    /// The CPU on which they ran; with [`Self::slices`] the last of theirs.
    pub cpu: u32,
    /// CLOCK_REALTIME just before the first start, since 1970.
    pub wall_clock: Nanos,
    /// The program, then the reference.
    pub sides: [DuetSide; 2],
    /// What tare itself used meanwhile.
    pub own: OwnUse,
    /// Steal time of all CPUs.
    pub steal: Reading<Nanos>,
    /// Whether the machine was suspended or its clock set meanwhile.
    pub clock_shift: Reading<ClockShift>,
    /// What quotas and a lack of memory did meanwhile, to both.
    #[serde(default = "cgroup_limits::not_recorded", skip_serializing_if = "cgroup_limits::is_not_recorded")]
    pub cgroup_limits: Reading<CgroupLimits>,
    /// Length of the random environment variable that shifts the stacks, in bytes; the same for both.
    pub environment_padding: u32,
    /// How they took turns as gangs; absent where the scheduler alternated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<GangSlices>,
    /// Why this says nothing of the two programs, and there are no more duets of them, if so: it did not take place, or they did not
    /// alternate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<NoDuet>,
}

/// One of the programs of a duet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuetSide {
    /// Index of the program in the run.
    pub series: u32,
    /// Its share of the CPU while both run.
    pub weight: DuetWeight,
    /// Just before it was started.
    pub start: Stamp,
    /// Just after tare had noted its end.
    pub end: Stamp,
    pub outcome: Outcome,
    /// Process time of its tree.
    pub process_times: Reading<ProcessTimes>,
    /// What the tree had used of its process time when the other program's had ended; all of it, for the one that ended first.
    pub together: Reading<Nanos>,
    /// Where its time went, traced in the kernel; the other program is a preemptor of its own kind there.
    #[serde(default = "account_not_recorded", skip_serializing_if = "is_not_recorded")]
    pub account: Reading<Account>,
    pub usage: Reading<Usage>,
    /// Processes that were alive when it had ended.
    pub survivors: Vec<Survivor>,
}

/// Duets of earlier versions have no account.
fn account_not_recorded() -> Reading<Account> {
    Reading::Absent(Absent::NotAsked("the version of tare that made the duet did not record it".into()))
}

fn is_not_recorded(account: &Reading<Account>) -> bool {
    *account == account_not_recorded()
}

/// Where a program's time in a duet went, in short: ns, summed over its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetAccount {
    /// Process time minus interrupt, softirq and steal time charged to the program.
    pub net: f64,
    /// It waited for its partner: ready to run while the partner had its CPU, or stopped for the partner's turn.
    pub partner: f64,
    /// Interrupts and softirqs while it was on a CPU.
    pub interrupts: f64,
    /// Taken by the hypervisor while it was on a CPU; `None` where that is not known.
    pub stolen: Option<f64>,
}

/// How the CPU is shared, so that both programs end at about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum DuetWeight {
    Nice(i8),
    /// By `cpu.weight` of its cgroup, where that has the controller.
    Cgroup(u32),
}

/// A duet to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DuetSlot {
    /// Index of the program in the plan.
    pub series: u32,
    /// Index of the reference.
    pub reference: u32,
    /// Number of the block, from 0.
    pub index: u32,
}

impl DuetSide {
    /// Process time by the source in use.
    pub fn process_time(&self) -> Result<Nanos, Absent> {
        match &self.process_times {
            Reading::Value(p) => p.total(),
            Reading::Absent(why) => Err(why.clone()),
        }
    }

    /// Process time minus interrupt, softirq and steal time charged to the program, as [`Sample::net_time`]. In a duet the
    /// interrupts of both come to the same CPUs, and are charged to the one that happens to run.
    pub fn net_time(&self) -> Result<Nanos, Absent> {
        net_time(&self.process_times, &self.account)
    }

    /// What it waited for the other program, summed over its tasks: runnable while that had its CPU, or, of gangs, stopped.
    /// `None` without a complete account.
    pub fn waited_for_partner(&self, gangs: bool) -> Option<Nanos> {
        let account = self.account.value().filter(|a| a.incomplete().is_none())?;
        let waited = |ledger: &Ledger| -> Nanos {
            let partner = ledger.preemptors.iter().filter(|p| p.kind == Some(TaskKind::Partner));
            let stopped = ledger.blocked.iter().filter(|(call, _)| gangs && kind_of_sleep(call) == Asleep::Stopped);
            partner.map(|p| p.share.time).chain(stopped.map(|(_, share)| share.time)).sum()
        };
        Some(waited(&account.main) + waited(&account.others))
    }

    /// The account in short, where it is complete.
    pub fn short_account(&self, gangs: bool) -> Option<DuetAccount> {
        let account = self.account.value()?;
        let ledgers = [&account.outside, &account.main, &account.others];
        let known = ledgers.iter().all(|l| l.stolen.value().is_some());
        Some(DuetAccount {
            net: self.net_time().ok()?.as_f64(),
            partner: self.waited_for_partner(gangs)?.as_f64(),
            interrupts: ledgers.iter().map(|l| l.interrupted()).sum::<Nanos>().as_f64(),
            stolen: known.then(|| ledgers.iter().map(|l| l.stolen()).sum::<Nanos>().as_f64()),
        })
    }
}

impl Duet {
    /// Which one it is.
    pub fn slot(&self) -> DuetSlot {
        let [program, reference] = &self.sides;
        DuetSlot { series: program.series, reference: reference.series, index: self.index }
    }

    /// Share of the process time of both that was used while both ran, from 0 to 1; `None` where it is not known.
    ///
    /// Where the tree's time at the other's end could not be read, it had at least its process time less the time from that end to
    /// its own on all its CPUs: it cannot have used more CPU time than has passed.
    pub fn overlap(&self) -> Option<f64> {
        let [a, b] = &self.sides;
        let first = a.end.monotonic.min(b.end.monotonic);
        let cpus = self.slices.as_ref().map_or(1, |s| i64::try_from(s.cpus.len()).unwrap_or(i64::MAX).max(1));
        let (mut together, mut all) = (0.0, 0.0);
        for side in [a, b] {
            let pt = side.process_time().ok()?;
            let rest = (side.end.monotonic - first).max(Nanos::ZERO);
            let least = pt - Nanos(rest.0.saturating_mul(cpus));
            together += side.together.value().copied().unwrap_or(least).as_f64().clamp(0.0, pt.as_f64().max(0.0));
            all += pt.as_f64();
        }
        (all > 0.0).then(|| together / all)
    }
}

/// What an execution alone says about whether the program suits a duet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AloneTimes {
    pub pt: Nanos,
    pub elapsed: Nanos,
    /// Share of the elapsed time in which it was asleep, 0 to 1; what it waited for a CPU is no sleep. `None` if unknown.
    pub asleep: Option<f64>,
    /// Peak memory of its largest process, bytes. `None` if unknown.
    pub memory: Option<u64>,
}

impl AloneTimes {
    /// How many CPUs it uses: process time divided by elapsed time.
    pub fn cpus(&self) -> f64 {
        self.pt.as_f64() / self.elapsed.as_f64().max(1.0)
    }
}

/// The executions alone of one program from which it is decided once and for all, also when the run is resumed: the last
/// warm-up before the first counted sample, else that sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AloneEvidence {
    times: Option<AloneTimes>,
    complete: bool,
}

impl AloneEvidence {
    /// Takes the next sample, by position in the run; those that failed say nothing.
    pub fn add(&mut self, sample: &Sample, accepted: bool) {
        if self.complete {
            return;
        }
        let counted = sample.phase == Phase::Counted;
        if accepted
            && (!counted || self.times.is_none())
            && let Ok(pt) = sample.process_time()
        {
            let memory = sample.peak_memory.value().copied().or(sample.usage.value().map(|u| u.max_rss));
            let elapsed = sample.elapsed() - sample.paused();
            self.times = Some(AloneTimes { pt, elapsed, asleep: asleep(sample), memory });
        }
        self.complete = counted && self.times.is_some();
    }

    pub fn times(&self) -> Option<AloneTimes> {
        self.times
    }
}

/// How long a program takes relative to its reference, from their duets so far. One execution of each alone says little of that on
/// a machine whose speed changes between the two.
#[derive(Clone, Debug, Default)]
pub struct TogetherEvidence {
    /// Logarithms of the ratios of process times in the latest duets, at most [`LATEST`].
    logs: VecDeque<f64>,
}

/// Duets of which the median is taken.
const LATEST: usize = 11;

impl TogetherEvidence {
    /// Takes the next duet in which both programs did all of their work.
    pub fn add(&mut self, duet: &Duet) {
        let [program, reference] = &duet.sides;
        let (Ok(program), Ok(reference)) = (program.process_time(), reference.process_time()) else { return };
        if program > Nanos::ZERO && reference > Nanos::ZERO {
            self.logs.push_back((program.as_f64() / reference.as_f64()).ln());
            if self.logs.len() > LATEST {
                self.logs.pop_front();
            }
        }
    }

    /// The times of the program and of the reference alone; the program's are changed so that the ratio of the process times is the
    /// median of that in the duets, if there were any.
    pub fn corrected(&self, [mut program, reference]: [AloneTimes; 2]) -> [AloneTimes; 2] {
        if let Some(log) = median_of(self.logs.iter().copied().collect()) {
            let times = log.exp() * reference.pt.as_f64() / program.pt.as_f64().max(1.0);
            [program.pt, program.elapsed] =
                [program.pt, program.elapsed].map(|t| Nanos((t.as_f64() * times).round() as i64));
        }
        [program, reference]
    }
}

/// By the account; else by what the scheduler says of the main thread, if the program has no other. A program that a gate paused did
/// not sleep.
fn asleep(sample: &Sample) -> Option<f64> {
    let elapsed = (sample.elapsed() - sample.paused()).as_f64();
    if elapsed <= 0.0 {
        return None;
    }
    if let Some(account) = sample.account.value() {
        // Waiting for a child that is at work, as a shell does, is no sleep of the program's.
        let others = account.others.on_cpu.time + account.others.waited();
        let asleep = (account.main.asleep() - others - sample.paused()).max(Nanos::ZERO);
        return Some(asleep.as_f64() / elapsed);
    }
    let waited = sample.estimate.value().and_then(|e| e.waited.value().copied()).unwrap_or(Nanos::ZERO);
    let busy = sample.process_time().ok()? + waited;
    Some((1.0 - busy.as_f64() / elapsed).max(0.0))
}

/// Least process time for a duet: about ten slices of the scheduler.
pub const SHORTEST: Nanos = Nanos::from_millis(40);
/// Least elapsed time for gangs that take turns: about ten of their slices.
pub const SHORTEST_GANG: Nanos = Nanos::from_millis(75);
/// Longest process time of a program of which duets are made unasked, as they double the time that a block takes; of one that uses
/// several CPUs, elapsed time.
pub const LONGEST: Nanos = Nanos::from_millis(5_000);
/// Most of the elapsed time that a program may be asleep.
const ASLEEP: f64 = 0.1;
/// Process time above so much of the elapsed time: the program uses several CPUs.
const ONE_CPU: f64 = 1.1;

/// Why there are no duets of two programs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoDuet {
    /// No execution of a program alone succeeded.
    NotKnown { series: u32 },
    /// It takes less than [`SHORTEST`] of process time.
    TooShort { series: u32, pt: Nanos },
    /// It takes more than [`LONGEST`].
    TooLong { series: u32, pt: Nanos },
    /// It sleeps for so much of its elapsed time.
    Asleep { series: u32, share: f64 },
    /// It uses several CPUs (process time divided by elapsed time), and its tree cannot be stopped: there is neither a freezer of
    /// cgroups nor a process group of its own, as it reads tare's standard input.
    SeveralCpus { series: u32, cpus: f64 },
    /// Programs with a real-time priority do not alternate.
    RealTime,
    /// It failed when both ran together, though it works alone.
    Fails { series: u32 },
    /// One of them uses several CPUs, and this one takes less than [`SHORTEST_GANG`] of elapsed time.
    ShortGang { series: u32, elapsed: Nanos },
    /// Both together would need more memory than there is, bytes.
    Memory { needed: u64, available: u64 },
    /// A part of its tree has left the process group, by which alone it could be stopped.
    LeftGroup { series: u32 },
    /// A part of its tree has left its cgroup, by which it is alternated and its process time is known.
    LeftCgroup { series: u32 },
    /// It stops itself, and was stopped and continued by signals.
    StoppedItself { series: u32 },
}

/// How two programs are alternated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuetForm {
    /// By the scheduler, on one CPU.
    OneCpu,
    /// As gangs, as one of them uses several CPUs.
    Gangs,
}

/// How two programs that may use several CPUs are alternated, given what each takes alone.
pub fn duet_form(sides: [Option<AloneTimes>; 2]) -> DuetForm {
    let several = sides.iter().flatten().any(|times| times.cpus() > ONE_CPU);
    if several { DuetForm::Gangs } else { DuetForm::OneCpu }
}

/// Whether duets of these two programs are made unasked, given what each takes alone.
pub fn suit(sides: [(u32, Option<AloneTimes>); 2], form: DuetForm) -> Result<(), NoDuet> {
    for (series, times) in sides {
        let Some(times) = times else {
            return Err(NoDuet::NotKnown { series });
        };
        let AloneTimes { pt, elapsed, asleep, .. } = times;
        let several = times.cpus() > ONE_CPU;
        if pt < SHORTEST {
            return Err(NoDuet::TooShort { series, pt });
        }
        if form == DuetForm::Gangs && elapsed < SHORTEST_GANG {
            return Err(NoDuet::ShortGang { series, elapsed });
        }
        // Of one that uses several CPUs the main thread may only wait for the others.
        if let Some(share) = asleep.filter(|share| *share > ASLEEP && !several) {
            return Err(NoDuet::Asleep { series, share });
        }
        let time = if several { elapsed } else { pt };
        if time > LONGEST {
            return Err(NoDuet::TooLong { series, pt });
        }
    }
    Ok(())
}

/// By how many nice levels the first and the second program of a duet are to be lowered, so that both end at about the same
/// time: the shares are to be as their process times. The scheduler gives a task 1.25 times the share of one that is a level
/// lower (`sched_prio_to_weight`, kernel/sched/core.c).
pub fn nice_levels(pt: [Nanos; 2]) -> [i8; 2] {
    let [a, b] = pt.map(|t| t.as_f64().max(1.0));
    let levels = (a / b).log(1.25).round().clamp(-19.0, 19.0) as i8;
    // Without privilege a process can only be lowered.
    [levels.min(0).saturating_neg(), levels.max(0)]
}

/// The same as `cpu.weight`, which are 1 to 10,000: the shares are as the weights.
pub fn cgroup_weights(pt: [Nanos; 2]) -> [u32; 2] {
    let [a, b] = pt.map(|t| t.as_f64().max(1.0));
    // 100 is what a cgroup has that nobody has changed.
    [a, b].map(|t| (200.0 * t / (a + b)).round().clamp(1.0, 10_000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pt: i64, elapsed: i64, asleep: f64) -> Option<AloneTimes> {
        let (pt, elapsed) = (Nanos::from_millis(pt), Nanos::from_millis(elapsed));
        Some(AloneTimes { pt, elapsed, asleep: Some(asleep), memory: None })
    }

    #[test]
    fn programs_that_suit_a_duet() {
        let good = times(100, 105, 0.01);
        let with = |t| suit([(0, good), (1, t)], DuetForm::OneCpu);
        assert_eq!(with(good), Ok(()));
        // Waiting for a CPU is no sleep: half of the elapsed time went to another program.
        assert_eq!(with(times(100, 200, 0.0)), Ok(()));
        assert_eq!(with(None), Err(NoDuet::NotKnown { series: 1 }));
        assert_eq!(with(times(39, 40, 0.0)), Err(NoDuet::TooShort { series: 1, pt: Nanos::from_millis(39) }));
        assert_eq!(with(times(100, 200, 0.5)), Err(NoDuet::Asleep { series: 1, share: 0.5 }));
        assert_eq!(with(times(5_001, 5_100, 0.0)), Err(NoDuet::TooLong { series: 1, pt: Nanos::from_millis(5_001) }));
    }

    #[test]
    fn programs_that_use_several_cpus_are_gangs() {
        let (single, double) = (times(100, 105, 0.0), times(200, 100, 1.0));
        assert_eq!(duet_form([single, single]), DuetForm::OneCpu);
        assert_eq!(duet_form([single, double]), DuetForm::Gangs);
        assert_eq!(duet_form([double, None]), DuetForm::Gangs);
        // What a clock reading more or less makes of one CPU is not several.
        assert_eq!(duet_form([single, times(109, 100, 0.0)]), DuetForm::OneCpu);
        let with = |t| suit([(0, single), (1, t)], DuetForm::Gangs);
        // The main thread of such a program may only wait for the others.
        assert_eq!(with(double), Ok(()));
        assert_eq!(with(times(100, 200, 0.5)), Err(NoDuet::Asleep { series: 1, share: 0.5 }));
        let short = Nanos::from_millis(74);
        assert_eq!(with(times(148, 74, 1.0)), Err(NoDuet::ShortGang { series: 1, elapsed: short }));
        // Twice the time would be dear, not twice the CPU time.
        assert_eq!(with(times(9_000, 4_500, 1.0)), Ok(()));
        assert_eq!(with(times(11_000, 5_500, 1.0)), Err(NoDuet::TooLong { series: 1, pt: Nanos::from_millis(11_000) }));
    }

    #[test]
    fn the_longer_program_gets_the_larger_share() {
        let ms = |a, b| [Nanos::from_millis(a), Nanos::from_millis(b)];
        assert_eq!(nice_levels(ms(100, 100)), [0, 0]);
        assert_eq!(nice_levels(ms(100, 105)), [0, 0]);
        assert_eq!(nice_levels(ms(300, 100)), [0, 5]);
        assert_eq!(nice_levels(ms(100, 300)), [5, 0]);
        assert_eq!(nice_levels(ms(1, 1_000_000)), [19, 0]);
        assert_eq!(cgroup_weights(ms(100, 100)), [100, 100]);
        assert_eq!(cgroup_weights(ms(300, 100)), [150, 50]);
        assert_eq!(cgroup_weights(ms(1, 1_000_000)), [1, 200]);
    }
}
