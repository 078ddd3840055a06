//! The report of one series.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::profile::data::Cutoff;
use crate::run::data::Run;
use crate::run::discards::DiscardReason;
use crate::run::discards::{Check, Cutoffs, checks, task_time};
use crate::run::report::account;
use crate::run::report::data::{
    DaemonSummary, Discard, FailedSample, GrossDifference, Measure, MeasureReport, Resources, SeriesReport,
    SurvivorSummary,
};
use crate::run::report::grouping::FamilyNames;
use crate::run::report::grouping::KeptSamples;
use crate::run::report::grouping::SampleGroup;
use crate::run::report::grouping::count;
use crate::run::report::grouping::mean;
use crate::run::report::grouping::read;
use crate::sample::daemons::{Daemon, TaskKind};
use crate::sample::data::{Fate, Phase, Sample, Usage};
use crate::sample::process_time::CpuTime;
use crate::statistics::intervals::{mean_interval, median_interval};
use crate::statistics::series::{Values, summary};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

pub(crate) fn series_report<'a>(
    run: &Run,
    group: &SampleGroup<'a>,
    cutoffs: &[Cutoff],
    names: &mut FamilyNames<'a>,
) -> (SeriesReport, KeptSamples) {
    let spoiled = first_check(&group.good, cutoffs, names);
    let pt = measure(run, group, Measure::Pt, &spoiled);
    let et = measure(run, group, Measure::Et, &spoiled);
    let net = measure(run, group, Measure::Net, &spoiled);
    let retained = retained(&group.good, &et.kept);
    let report = SeriesReport {
        program: group.program.clone(),
        counted: count(group.counted.len()),
        warmups: count(group.warmups.len()),
        pt: pt.report,
        et: et.report,
        net: net.report,
        discards: pt.discards.into_iter().chain(et.discards).chain(net.discards).collect(),
        failures: failures(run, group),
        daemons: daemons(&group.good, names),
        daemons_incomplete: incomplete(run, &group.good),
        survivors: survivors(group),
        difference: difference(&retained),
        account: account::report(&retained, names),
        estimate: account::estimate(&retained),
        counters: account::counters(&retained),
        resources: resources(&group.good),
    };
    (report, KeptSamples { pt: pt.kept, et: et.kept, net: net.kept })
}

/// Check 1 of each sample. Task time is the median PT; without any PT, the median ET, which is never far too small.
fn first_check<'a>(good: &[&'a Sample], cutoffs: &[Cutoff], names: &mut FamilyNames<'a>) -> Vec<Option<DiscardReason>> {
    let times = Values::from_nanos(good.iter().filter_map(|s| s.process_time().ok()));
    let task = task_time(&times).or_else(|| task_time(&Values::from_nanos(good.iter().map(|s| s.elapsed()))));
    let (Some(task), false) = (task, cutoffs.is_empty()) else { return vec![None; good.len()] };
    let cutoffs = Cutoffs::new(cutoffs, task);
    let furthest = |s: &&'a Sample| {
        let daemons = s.daemons.value()?;
        cutoffs.furthest(daemons.list.iter().map(|d| (names.family(d), d.cpu)))
    };
    good.iter().map(furthest).collect()
}

struct MeasuredSeries {
    report: Reading<MeasureReport>,
    discards: Vec<Discard>,
    kept: Vec<(u32, f64)>,
}

fn measure(run: &Run, group: &SampleGroup, measure: Measure, spoiled: &[Option<DiscardReason>]) -> MeasuredSeries {
    let value = |s: &Sample| match measure {
        Measure::Pt => s.process_time(),
        Measure::Et => Ok(s.elapsed()),
        Measure::Net => s.net_time(),
    };
    let mut rows = Vec::new();
    let mut missing = None;
    for (sample, reason) in group.good.iter().zip(spoiled) {
        match value(sample) {
            Ok(time) => rows.push((sample.index, time, reason)),
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    let values = Values::from_nanos(rows.iter().map(|r| r.1));
    let flags: Vec<bool> = rows.iter().map(|r| r.2.is_some()).collect();
    let fates = checks(&values, &flags, run.plan.sigma);
    let (mut discards, mut kept) = (Vec::new(), Vec::new());
    for ((index, time, reason), fate) in rows.iter().zip(&fates) {
        let reason = match (fate, reason) {
            (Check::Cutoff, Some(reason)) => reason.clone(),
            (Check::Sigma(l), _) => DiscardReason::Sigma { value: time.as_f64(), low: l.low, high: l.high },
            _ => {
                kept.push((*index, time.as_f64()));
                continue;
            }
        };
        discards.push(Discard { index: *index, measure, reason });
    }
    let passed = values.only(&flags.iter().map(|f| !f).collect::<Vec<_>>());
    let kept_values = values.only(&fates.iter().map(|f| *f == Check::Retained).collect::<Vec<_>>());
    // Tells the bootstraps of a run apart.
    let item = 3 * group.index as u64 + measure as u64;
    let report = match statistics(&values, &passed, &kept_values, run, item) {
        Some(report) => Reading::Value(report),
        None => Reading::Absent(why_none(group, &rows, missing)),
    };
    MeasuredSeries { report, discards, kept }
}

fn statistics(all: &Values, passed: &Values, kept: &Values, run: &Run, item: u64) -> Option<MeasureReport> {
    let s = summary(kept)?;
    Some(MeasureReport {
        samples: count(all.len()),
        discarded_by_cutoff: count(all.len() - passed.len()),
        discarded_by_sigma: count(passed.len() - kept.len()),
        retained: count(kept.len()),
        mean: s.mean,
        median: s.median,
        std_dev: s.std_dev,
        relative_error: s.relative_error,
        min: s.min,
        max: s.max,
        mean_interval: mean_interval(passed, run.plan.sigma, run.plan.seed, item),
        median_interval: median_interval(kept),
        trustworthy: 2 * kept.len() >= all.len(),
    })
}

fn why_none<T>(group: &SampleGroup, rows: &[T], missing: Option<Absent>) -> Absent {
    if !rows.is_empty() {
        Absent::Lost(format!("all {} samples were discarded", rows.len()))
    } else if let Some(why) = missing {
        why
    } else if group.counted.is_empty() {
        Absent::NotAsked("no counted sample was taken".to_owned())
    } else {
        Absent::Failed("no sample succeeded".to_owned())
    }
}

fn failures(run: &Run, group: &SampleGroup) -> Vec<FailedSample> {
    let all = group.warmups.iter().chain(&group.counted).filter(|s| !s.outcome.success());
    let failed_sample = |s: &&Sample| FailedSample {
        index: s.index,
        warmup: s.phase == Phase::Warmup,
        outcome: s.outcome.clone(),
        ignored: run.plan.ignore_failure.accepts(&s.outcome),
    };
    all.map(failed_sample).collect()
}

#[derive(Default)]
struct Tally {
    samples: u32,
    total: Nanos,
    max: Nanos,
    born: u32,
    /// The sample that `inside` is of.
    at: usize,
    inside: Nanos,
}

impl Tally {
    fn add(&mut self, at: usize, daemon: &Daemon) {
        if self.at != at {
            (self.at, self.inside) = (at, Nanos::ZERO);
        }
        let had = self.inside > Nanos::ZERO;
        self.inside += daemon.cpu;
        self.samples += u32::from(!had && self.inside > Nanos::ZERO);
        self.total += daemon.cpu;
        self.max = self.max.max(self.inside);
        self.born = self.born.saturating_add(u32::from(daemon.born));
    }
}

fn daemons<'a>(good: &[&'a Sample], names: &mut FamilyNames<'a>) -> Vec<DaemonSummary> {
    let mut tallies: HashMap<(Rc<str>, TaskKind), Tally> = HashMap::new();
    let mut lists = 0_usize;
    for list in good.iter().filter_map(|s| s.daemons.value()) {
        lists += 1;
        for daemon in &list.list {
            tallies.entry((names.family(daemon), daemon.kind)).or_default().add(lists, daemon);
        }
    }
    let daemon_summary = |((family, kind), t): ((Rc<str>, TaskKind), Tally)| DaemonSummary {
        family: family.to_string(),
        kind,
        samples: t.samples,
        total: t.total,
        mean: t.total.as_f64() / lists as f64,
        max: t.max,
        born: t.born,
    };
    let mut all: Vec<DaemonSummary> = tallies.into_iter().map(daemon_summary).collect();
    all.sort_by(|a, b| {
        b.total.cmp(&a.total).then_with(|| a.family.cmp(&b.family)).then_with(|| (a.kind as u8).cmp(&(b.kind as u8)))
    });
    all
}

/// Samples whose daemons are not all known, with the first reason; nothing if they were not recorded.
fn incomplete(run: &Run, good: &[&Sample]) -> Option<(u32, String)> {
    let gap = |s: &&Sample| match &s.daemons {
        Reading::Value(d) => d.incomplete.clone(),
        Reading::Absent(why) => Some(why.clone()),
    };
    let gaps: Vec<Absent> = if run.plan.images { good.iter().filter_map(gap).collect() } else { Vec::new() };
    gaps.first().map(|first| (count(gaps.len()), first.to_string()))
}

fn survivors(group: &SampleGroup) -> Vec<SurvivorSummary> {
    let mut by_name: BTreeMap<String, SurvivorSummary> = BTreeMap::new();
    for survivor in group.warmups.iter().chain(&group.counted).flat_map(|s| &s.survivors) {
        let name = survivor.name.to_string();
        let new = SurvivorSummary { name: name.clone(), count: 0, left: 0, not_ended: 0 };
        let entry = by_name.entry(name).or_insert(new);
        entry.count += 1;
        match survivor.fate {
            Fate::Ended => {}
            Fate::Left => entry.left += 1,
            Fate::CouldNotEnd(_) => entry.not_ended += 1,
        }
    }
    by_name.into_values().collect()
}

/// The samples whose elapsed time was retained; all, if none was.
fn retained<'a>(good: &[&'a Sample], kept: &[(u32, f64)]) -> Vec<&'a Sample> {
    let kept: HashSet<u32> = kept.iter().map(|k| k.0).collect();
    let some: Vec<&Sample> = good.iter().filter(|s| kept.contains(&s.index)).copied().collect();
    if some.is_empty() { good.to_vec() } else { some }
}

fn difference(good: &[&Sample]) -> GrossDifference {
    let of_others = |s: &Sample| -> Result<f64, Absent> {
        let list = &read(&s.daemons)?.list;
        Ok(list.iter().filter(|d| d.kind != TaskKind::Tare).map(|d| d.cpu).sum::<Nanos>().as_f64())
    };
    GrossDifference {
        gross_less_pt: mean(good, |s| Ok((s.elapsed() - s.process_time()?).as_f64())),
        daemons: mean(good, of_others),
        tare: mean(good, |s| Ok(s.own.cpu.as_f64())).value().copied().unwrap_or(0.0),
        steal: mean(good, |s| read(&s.steal).map(|t| t.as_f64())),
    }
}

fn resources(good: &[&Sample]) -> Resources {
    let cpu = |part: fn(CpuTime) -> Nanos| {
        mean(good, |s| {
            let split = read(&s.process_times)?.split();
            let none = || Absent::NotSupported("no source splits the process time into user and system".to_owned());
            split.map(|c| part(c).as_f64()).ok_or_else(none)
        })
    };
    let usage = |part: fn(&Usage) -> u64| mean(good, |s| read(&s.usage).map(|u| part(u) as f64));
    let peaks = good.iter().filter_map(|s| s.peak_memory.value()).copied().max();
    let no_sample = || Absent::NotAsked("no successful sample".to_owned());
    let why = || good.iter().find_map(|s| s.peak_memory.absent().cloned()).unwrap_or_else(no_sample);
    let max_rss = peaks.ok_or_else(why).into();
    Resources {
        user: cpu(|c| c.user),
        system: cpu(|c| c.system),
        max_rss,
        voluntary_switches: usage(|u| u.voluntary_switches),
        involuntary_switches: usage(|u| u.involuntary_switches),
        major_faults: usage(|u| u.major_faults),
    }
}
