//! The first reading of a run's samples: what is counted and summed over all of a series, and the times that decide which of
//! them are retained.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::compare::duet::{Duet, DuetSide};
use crate::run::data::Run;
use crate::run::discards::task_time;
use crate::run::plan::Program;
use crate::run::report::data::{DaemonSummary, FailedSample, Resources, SurvivorSummary};
use crate::run::report::grouping::{
    FamilyNames, FirstFound, Mean, SamplePlace, TimeSum, count, no_sample, place, read,
};
use crate::sample::cgroup_limits::{CgroupLimits, OutOfMemory};
use crate::sample::daemons::{Daemon, Daemons, TaskKind};
use crate::sample::data::{ClockShift, Fate, Outcome, Phase, Sample, Survivor, Usage};
use crate::sample::process_time::{ProcessTimes, Shortfall};
use crate::statistics::series::Values;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The times of a counted sample that succeeded, or whose failure is accepted.
#[derive(Clone, Copy)]
pub(crate) struct GoodSample {
    pub index: u32,
    pub block: u32,
    pub seq: u32,
    pub elapsed: Nanos,
    /// Of that, paused by a gate.
    pub paused: Nanos,
    pub pt: Option<Nanos>,
    pub net: Option<Nanos>,
}

/// All samples of a run, by series.
pub(crate) struct RunCounts<'a> {
    run: &'a Run,
    pub series: Vec<SeriesCounts<'a>>,
    /// Executions of each program that a block holds, where it holds several.
    pub in_block: Option<u32>,
    /// Samples of programs that the plan does not have.
    pub strays: u64,
}

impl<'a> RunCounts<'a> {
    pub fn new(run: &'a Run) -> RunCounts<'a> {
        let series = run.plan.programs.iter().enumerate().map(|(i, p)| SeriesCounts::new(i, p)).collect();
        RunCounts { run, series, in_block: None, strays: 0 }
    }

    pub fn add(&mut self, sample: &Sample, names: &mut FamilyNames) {
        match self.series.get_mut(sample.series as usize) {
            Some(series) => {
                self.in_block = self.in_block.max(sample.block.map(|block| block.executions));
                series.add(sample, self.run, names);
            }
            None => self.strays += 1,
        }
    }

    /// Adds what became of both programs of a duet.
    pub fn add_duet(&mut self, duet: &Duet) {
        for side in &duet.sides {
            match self.series.get_mut(side.series as usize) {
                Some(series) => series.add_side(side, duet, self.run),
                None => self.strays += 1,
            }
        }
    }

    /// Puts the samples in order, when all are added.
    pub fn sort(&mut self) {
        for series in &mut self.series {
            series.good.sort_unstable_by_key(|s| (s.index, s.seq));
            series.failures.sort_unstable_by_key(|(at, f)| (!f.warmup, f.duet, *at));
            series.clock_shifts.sort_unstable_by_key(|s| s.0);
        }
    }
}

/// Samples that a quota of CPU time held up: how many, for how long in all at most, and the cgroup of the first.
#[derive(Default)]
pub(crate) struct ThrottledSamples {
    pub samples: u32,
    pub time: TimeSum,
    pub cgroup: FirstFound<String>,
}

/// The lack of memory that may have ended a failed execution. Elsewhere on the machine it ends what SIGKILL has ended.
fn killed_by(outcome: &Outcome, limits: &Reading<CgroupLimits>) -> Option<OutOfMemory> {
    const SIGKILL: i32 = 9;
    let killed = matches!(outcome, Outcome::Signaled { signal: SIGKILL });
    limits.value()?.out_of_memory().filter(|oom| oom.in_cgroup || killed)
}

/// The samples of one series.
pub(crate) struct SeriesCounts<'a> {
    pub index: usize,
    pub program: &'a Program,
    pub warmups: u32,
    pub counted: u32,
    /// By number, when sorted.
    pub good: Vec<GoodSample>,
    /// Warm-ups first, by number, when sorted.
    failures: Vec<(SamplePlace, FailedSample)>,
    pub no_process_time: FirstFound<Absent>,
    pub no_net_time: FirstFound<Absent>,
    /// Samples in which the run's source saw less of the program than wait4, which stands in for it, with the first of them.
    pub replaced: (u32, FirstFound<Shortfall>),
    /// Samples whose main process ended in another cgroup, with that of the first.
    pub moved: (u32, FirstFound<String>),
    /// Samples that a quota held up.
    pub throttled: ThrottledSamples,
    /// Samples in which processes were killed for lack of memory, with the first.
    pub out_of_memory: (u32, FirstFound<OutOfMemory>),
    daemons: DaemonTally,
    survivors: BTreeMap<String, SurvivorSummary>,
    resources: ResourceTally,
    /// Counted samples in which the machine was suspended or its clock set, by number, when sorted.
    pub clock_shifts: Vec<(SamplePlace, ClockShift)>,
    /// Elapsed and stolen time of the samples whose steal time is known.
    pub stolen: (TimeSum, TimeSum),
}

impl<'a> SeriesCounts<'a> {
    fn new(index: usize, program: &'a Program) -> SeriesCounts<'a> {
        SeriesCounts {
            index,
            program,
            warmups: 0,
            counted: 0,
            good: Vec::new(),
            failures: Vec::new(),
            no_process_time: FirstFound::default(),
            no_net_time: FirstFound::default(),
            replaced: (0, FirstFound::default()),
            moved: (0, FirstFound::default()),
            throttled: ThrottledSamples::default(),
            out_of_memory: (0, FirstFound::default()),
            daemons: DaemonTally::default(),
            survivors: BTreeMap::new(),
            resources: ResourceTally::default(),
            clock_shifts: Vec::new(),
            stolen: (TimeSum::default(), TimeSum::default()),
        }
    }

    fn add(&mut self, sample: &Sample, run: &Run, names: &mut FamilyNames) {
        let counts = sample.phase == Phase::Counted;
        let number = if counts { &mut self.counted } else { &mut self.warmups };
        *number = number.saturating_add(1);
        sample.survivors.iter().for_each(|s| self.add_survivor(s));
        let accepted = run.plan.ignore_failure.accepts(&sample.outcome);
        if !sample.outcome.success() {
            let (index, outcome) = (sample.index, sample.outcome.clone());
            let out_of_memory = killed_by(&outcome, &sample.cgroup_limits);
            let failure =
                FailedSample { index, warmup: !counts, duet: false, outcome, ignored: accepted, out_of_memory };
            self.failures.push((place(sample), failure));
        }
        let shift = sample.clock_shift.value().filter(|s| s.suspend().is_some() || s.step().is_some());
        if let Some(shift) = shift.filter(|_| counts) {
            self.clock_shifts.push((place(sample), *shift));
        }
        if counts && accepted {
            self.add_good(sample, run, names);
        }
    }

    fn add_side(&mut self, side: &DuetSide, duet: &Duet, run: &Run) {
        side.survivors.iter().for_each(|s| self.add_survivor(s));
        // Of a duet that did not take place nothing was started.
        let started = duet.void.is_none() || side.outcome != Outcome::Interrupted;
        if started && !side.outcome.success() {
            let (index, outcome) = (duet.index, side.outcome.clone());
            let ignored = run.plan.ignore_failure.accepts(&outcome);
            let out_of_memory = killed_by(&outcome, &duet.cgroup_limits);
            let failure = FailedSample { index, warmup: false, duet: true, outcome, ignored, out_of_memory };
            self.failures.push(((index, duet.seq), failure));
        }
    }

    fn add_good(&mut self, sample: &Sample, run: &Run, names: &mut FamilyNames) {
        let at = place(sample);
        let (elapsed, pt, net) = (sample.elapsed(), sample.process_time(), sample.net_time());
        let known = |time: Result<Nanos, Absent>, missing: &mut FirstFound<Absent>| {
            time.map_err(|why| missing.offer(at, || why)).ok()
        };
        let pt = known(pt, &mut self.no_process_time);
        let net = known(net, &mut self.no_net_time);
        let (index, block, seq) = (sample.index, sample.block_number(), sample.seq);
        self.good.push(GoodSample { index, block, seq, elapsed, paused: sample.paused(), pt, net });
        if let Reading::Value(times) = &sample.process_times {
            self.check_source(at, times);
        }
        if let Reading::Value(limits) = &sample.cgroup_limits {
            self.check_limits(at, limits);
        }
        self.daemons.add(at, &sample.daemons, run.plan.images, names);
        self.resources.add(at, sample);
        if let Reading::Value(steal) = &sample.steal {
            self.stolen.0.add(elapsed);
            self.stolen.1.add(*steal);
        }
    }

    fn check_limits(&mut self, at: SamplePlace, limits: &CgroupLimits) {
        if let Some((cgroup, share)) = limits.longest_throttling() {
            self.throttled.samples = self.throttled.samples.saturating_add(1);
            self.throttled.time.add(share.time);
            self.throttled.cgroup.offer(at, || cgroup.to_string());
        }
        if let Some(oom) = limits.out_of_memory() {
            self.out_of_memory.0 = self.out_of_memory.0.saturating_add(1);
            self.out_of_memory.1.offer(at, || oom);
        }
    }

    fn check_source(&mut self, at: SamplePlace, times: &ProcessTimes) {
        if times.check.replaced.is_some()
            && let Some(short) = times.run_shortfall()
        {
            self.replaced.0 = self.replaced.0.saturating_add(1);
            self.replaced.1.offer(at, || short);
        }
        if let Reading::Value(Some(to)) = &times.check.moved_to {
            self.moved.0 = self.moved.0.saturating_add(1);
            self.moved.1.offer(at, || to.to_string());
        }
    }

    fn add_survivor(&mut self, survivor: &Survivor) {
        let name = survivor.name.to_string();
        let new = SurvivorSummary { name: name.clone(), count: 0, left: 0, not_ended: 0 };
        let entry = self.survivors.entry(name).or_insert(new);
        entry.count += 1;
        match survivor.fate {
            Fate::Ended => {}
            Fate::Left => entry.left += 1,
            Fate::CouldNotEnd(_) => entry.not_ended += 1,
        }
    }

    pub fn failures(&self) -> Vec<FailedSample> {
        self.failures.iter().map(|(_, failure)| failure.clone()).collect()
    }

    pub fn survivors(&self) -> Vec<SurvivorSummary> {
        self.survivors.values().cloned().collect()
    }

    pub fn resources(&mut self) -> Resources {
        std::mem::take(&mut self.resources).report()
    }

    pub fn daemons(&self) -> Vec<DaemonSummary> {
        self.daemons.report()
    }

    /// Samples whose daemons are not all known, with the first reason; nothing if they were not recorded.
    pub fn daemons_incomplete(&self) -> Option<(u32, String)> {
        self.daemons.gap.get().map(|first| (self.daemons.gaps, first.to_string()))
    }

    /// Whether the daemons of any sample are known.
    pub fn has_daemons(&self) -> bool {
        self.daemons.lists > 0
    }

    /// Why the first sample without daemons has none.
    pub fn no_daemons(&self) -> Option<&Absent> {
        self.daemons.absent.get()
    }
}

/// The daemons of a series.
#[derive(Default)]
struct DaemonTally {
    by_family: HashMap<(Rc<str>, TaskKind), FamilyTally>,
    /// Samples whose daemons are known.
    lists: u32,
    absent: FirstFound<Absent>,
    /// Samples whose daemons are not all known.
    gaps: u32,
    gap: FirstFound<Absent>,
}

#[derive(Default)]
struct FamilyTally {
    samples: u32,
    total: TimeSum,
    max: Nanos,
    born: u32,
    /// The list that `inside` is of.
    at: u32,
    inside: Nanos,
}

impl FamilyTally {
    fn add(&mut self, at: u32, daemon: &Daemon) {
        if self.at != at {
            (self.at, self.inside) = (at, Nanos::ZERO);
        }
        let had = self.inside > Nanos::ZERO;
        self.inside += daemon.cpu;
        self.samples += u32::from(!had && self.inside > Nanos::ZERO);
        self.total.add(daemon.cpu);
        self.max = self.max.max(self.inside);
        self.born = self.born.saturating_add(u32::from(daemon.born));
    }
}

impl DaemonTally {
    fn add(&mut self, at: SamplePlace, daemons: &Reading<Daemons>, recorded: bool, names: &mut FamilyNames) {
        let gap = match daemons {
            Reading::Value(found) => {
                self.lists = self.lists.saturating_add(1);
                for daemon in &found.list {
                    let key = (names.family(&daemon.name, daemon.kind), daemon.kind);
                    self.by_family.entry(key).or_default().add(self.lists, daemon);
                }
                found.incomplete.as_ref()
            }
            Reading::Absent(why) => {
                self.absent.offer(at, || why.clone());
                Some(why)
            }
        };
        if let Some(why) = gap.filter(|_| recorded) {
            self.gaps = self.gaps.saturating_add(1);
            self.gap.offer(at, || why.clone());
        }
    }

    fn report(&self) -> Vec<DaemonSummary> {
        let daemon_summary = |((family, kind), t): (&(Rc<str>, TaskKind), &FamilyTally)| DaemonSummary {
            family: family.to_string(),
            kind: *kind,
            samples: t.samples,
            total: t.total.nanos(),
            mean: t.total.as_f64() / f64::from(self.lists),
            max: t.max,
            born: t.born,
        };
        let mut all: Vec<DaemonSummary> = self.by_family.iter().map(daemon_summary).collect();
        all.sort_by(|a, b| {
            b.total
                .cmp(&a.total)
                .then_with(|| a.family.cmp(&b.family))
                .then_with(|| (a.kind as u8).cmp(&(b.kind as u8)))
        });
        all
    }
}

#[derive(Default)]
struct ResourceTally {
    user: Mean,
    system: Mean,
    voluntary_switches: Mean,
    involuntary_switches: Mean,
    major_faults: Mean,
    peak: Option<u64>,
    no_peak: FirstFound<Absent>,
}

impl ResourceTally {
    fn add(&mut self, at: SamplePlace, sample: &Sample) {
        let none = || Absent::NotSupported("no source splits the process time into user and system".to_owned());
        let cpu = read(&sample.process_times).and_then(|p| p.split().ok_or_else(none));
        self.user.add_time(at, cpu.clone().map(|c| c.user));
        self.system.add_time(at, cpu.map(|c| c.system));
        let usage = |part: fn(&Usage) -> u64| read(&sample.usage).map(|u| i128::from(part(u)));
        self.voluntary_switches.add(at, usage(|u| u.voluntary_switches));
        self.involuntary_switches.add(at, usage(|u| u.involuntary_switches));
        self.major_faults.add(at, usage(|u| u.major_faults));
        match &sample.peak_memory {
            Reading::Value(peak) => self.peak = self.peak.max(Some(*peak)),
            Reading::Absent(why) => self.no_peak.offer(at, || why.clone()),
        }
    }

    fn report(self) -> Resources {
        let no_peak = self.no_peak.into_inner();
        Resources {
            user: self.user.reading(),
            system: self.system.reading(),
            max_rss: self.peak.ok_or_else(|| no_peak.unwrap_or_else(no_sample)).into(),
            voluntary_switches: self.voluntary_switches.reading(),
            involuntary_switches: self.involuntary_switches.reading(),
            major_faults: self.major_faults.reading(),
        }
    }
}

impl SeriesCounts<'_> {
    /// Task time: the median ET, without pauses, in which no daemon disturbs the program.
    pub fn task_time(&self) -> Option<Nanos> {
        task_time(&Values::from_nanos(self.good.iter().map(|s| s.elapsed - s.paused)))
    }

    /// Number of the samples that are good.
    pub fn size(&self) -> u32 {
        count(self.good.len())
    }
}
