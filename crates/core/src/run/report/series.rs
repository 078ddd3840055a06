//! The report of one series: its statistics by measure, over the samples that both checks leave.

use crate::base::reading::{Absent, Reading};
use crate::base::units::Nanos;
use crate::profile::data::Cutoff;
use crate::profile::waits::family_waits;
use crate::run::data::Run;
use crate::run::discards::{Check, Cutoffs, DiscardReason, DiscardRule, EffectCheck, check};
use crate::run::notes;
use crate::run::protocol::RuleCounts;
use crate::run::report::counted::{GoodSample, SeriesCounts};
use crate::run::report::data::{Discard, IndependentIntervals, Measure, MeasureReport, SeriesReport};
use crate::run::report::grouping::{FamilyNames, KeptSamples, SamplePlace, count, place};
use crate::run::report::retained::RetainedSeries;
use crate::run::stopping::interval_item;
use crate::sample::data::{Phase, Sample};
use crate::statistics::dependence::dependence_in_blocks;
use crate::statistics::intervals::{Interval, mean_interval, median_interval};
use crate::statistics::limits::Limits;
use crate::statistics::series::{Values, summary};
use std::collections::{BTreeMap, HashMap};

/// Check 1 of a series: the samples in which a daemon ran or kept the program waiting longer than its cutoff.
pub(crate) struct FirstCheck {
    cutoffs: Cutoffs,
    /// The papers' rule, asked for or not.
    papers_asked: bool,
    spoiled: BTreeMap<SamplePlace, SpoiledSample>,
    /// Samples whose account told the effect of the daemons.
    by_effect: u32,
}

/// What check 1 says of a sample, by both rules.
struct SpoiledSample {
    papers: Option<DiscardReason>,
    /// `None` if its effect is not known.
    effect: Option<EffectCheck>,
}

impl FirstCheck {
    /// Task time is the median ET, without pauses. `None` if nothing is to be checked.
    pub fn new(series: &SeriesCounts, cutoffs: &[Cutoff], rule: Option<DiscardRule>) -> Option<FirstCheck> {
        let task = series.task_time()?;
        let cutoffs = Cutoffs::new(Some(cutoffs).filter(|c| !c.is_empty())?, task);
        let papers_asked = rule == Some(DiscardRule::Papers);
        Some(FirstCheck { cutoffs, papers_asked, spoiled: BTreeMap::new(), by_effect: 0 })
    }

    pub fn add(&mut self, sample: &Sample, run: &Run, names: &mut FamilyNames) {
        if sample.phase != Phase::Counted || !run.plan.ignore_failure.accepts(&sample.outcome) {
            return;
        }
        let list = sample.daemons.value().map_or(&[][..], |d| d.list.as_slice());
        let papers = self.cutoffs.furthest(list.iter().map(|d| (names.family(&d.name, d.kind), d.cpu)));
        let waits = Some(sample).filter(|_| self.cutoffs.know_effects()).and_then(family_waits);
        let effect = waits.map(|waits| {
            let mut longest: HashMap<String, Nanos> = HashMap::new();
            for d in list {
                let entry = longest.entry(names.family(&d.name, d.kind).to_string()).or_default();
                *entry = d.cpu.max(*entry);
            }
            self.cutoffs.by_effect(&waits, &longest)
        });
        self.by_effect += u32::from(effect.is_some());
        if papers.is_some() || effect.as_ref().is_some_and(|e| e.elapsed.is_some() || e.process_time.is_some()) {
            self.spoiled.insert(place(sample), SpoiledSample { papers, effect });
        }
    }

    /// Why a sample is discarded for a measure, if it is.
    fn reason(&self, at: SamplePlace, measure: Measure) -> Option<&DiscardReason> {
        let spoiled = self.spoiled.get(&at)?;
        match &spoiled.effect {
            Some(effect) if !self.papers_asked && measure == Measure::Et => effect.elapsed.as_ref(),
            Some(effect) if !self.papers_asked => effect.process_time.as_ref(),
            _ => spoiled.papers.as_ref(),
        }
    }

    /// What both rules discard; nothing where no sample's effect is known.
    pub fn counts(&self) -> Option<RuleCounts> {
        let all = || self.spoiled.values();
        let effect = |f: fn(&EffectCheck) -> bool| {
            let by_papers = |s: &&SpoiledSample| s.effect.as_ref().map_or(s.papers.is_some(), f);
            count(all().filter(by_papers).count())
        };
        (self.by_effect > 0).then(|| RuleCounts {
            papers: count(all().filter(|s| s.papers.is_some()).count()),
            effect_elapsed: effect(|e| e.elapsed.is_some()),
            effect_process_time: effect(|e| e.process_time.is_some()),
        })
    }
}

/// The statistics of a series by each measure.
pub(crate) struct SeriesStatistics {
    pt: MeasuredSeries,
    et: MeasuredSeries,
    net: MeasuredSeries,
}

impl SeriesStatistics {
    pub fn new(run: &Run, series: &SeriesCounts, check: Option<&FirstCheck>) -> SeriesStatistics {
        let measured = |measure| measure_series(run, series, measure, check);
        SeriesStatistics { pt: measured(Measure::Pt), et: measured(Measure::Et), net: measured(Measure::Net) }
    }

    /// The samples whose elapsed time was retained; all, if none was.
    pub fn retained(&mut self, series: &SeriesCounts) -> RetainedSeries {
        let (retained, passed) =
            (std::mem::take(&mut self.et.positions), std::mem::take(&mut self.et.passed_positions));
        let all = || series.good.iter().map(|s| s.seq).collect();
        RetainedSeries::new(if retained.is_empty() { all() } else { retained }, passed)
    }

    /// The report, when the retained samples have been summed.
    pub fn report(self, series: &mut SeriesCounts, mut retained: RetainedSeries) -> (SeriesReport, KeptSamples) {
        let SeriesStatistics { pt, et, net } = self;
        let (metrics, printed) = std::mem::take(&mut retained.metrics).report();
        let (counters, counted) = std::mem::take(&mut retained.counters).report();
        let report = SeriesReport {
            program: series.program.clone(),
            counted: series.counted,
            warmups: series.warmups,
            pt: pt.report,
            et: et.report,
            net: net.report,
            discards: pt.discards.into_iter().chain(et.discards).chain(net.discards).collect(),
            failures: series.failures(),
            daemons: series.daemons(),
            daemons_incomplete: series.daemons_incomplete(),
            survivors: series.survivors(),
            difference: retained.difference(),
            account: retained.account.report(),
            estimate: retained.estimate.report(),
            counters,
            resources: series.resources(),
            metrics,
            quiet: None,
            probes: None,
        };
        (report, KeptSamples { pt: pt.passed, et: et.passed, net: net.passed, metrics: printed, counters: counted })
    }
}

struct MeasuredSeries {
    report: Reading<MeasureReport>,
    discards: Vec<Discard>,
    /// Samples that check 1 leaves.
    passed: Vec<(u32, f64)>,
    passed_positions: Vec<u32>,
    /// Positions in the run of the retained samples.
    positions: Vec<u32>,
}

fn measure_series(run: &Run, series: &SeriesCounts, measure: Measure, first: Option<&FirstCheck>) -> MeasuredSeries {
    let time = |s: &GoodSample| match measure {
        Measure::Pt => s.pt,
        Measure::Et => Some(s.elapsed),
        Measure::Net => s.net,
    };
    let timed = || series.good.iter().filter_map(|s| Some((s, time(s)?)));
    let spoiled = |s: &GoodSample| first.and_then(|c| c.reason((s.index, s.seq), measure));
    let unspoiled = || timed().filter(|(s, _)| spoiled(s).is_none());
    let passed = Values::from_nanos(unspoiled().map(|(_, t)| t));
    let limits = Limits::new(&passed, run.plan.sigma);
    let (mut discards, mut kept, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    let mut samples = 0;
    for (sample, time) in timed() {
        samples += 1;
        let value = time.as_f64();
        let spoiled = spoiled(sample);
        let reason = match (check(value, spoiled.is_some(), limits), spoiled) {
            (Check::Cutoff, Some(reason)) => reason.clone(),
            (Check::Sigma(l), _) => DiscardReason::Sigma { value, low: l.low, high: l.high },
            _ => {
                kept.push((sample.block, value));
                positions.push(sample.seq);
                continue;
            }
        };
        discards.push(Discard { index: sample.index, measure, reason });
    }
    let report = match statistics(samples, &passed, &kept, run, (count(series.index), measure)) {
        Some(report) => Reading::Value(report),
        None => Reading::Absent(why_none(series, samples, measure)),
    };
    let passed = unspoiled().map(|(s, t)| (s.block, t.as_f64())).collect();
    MeasuredSeries { report, discards, passed, passed_positions: unspoiled().map(|(s, _)| s.seq).collect(), positions }
}

fn statistics(
    samples: usize,
    passed: &Values,
    kept: &[(u32, f64)],
    run: &Run,
    (series, measure): (u32, Measure),
) -> Option<MeasureReport> {
    let retained = Values::new(kept.iter().map(|k| k.1)).ok()?;
    let s = summary(&retained)?;
    let dependence = dependence_in_blocks(kept);
    let of_run = IndependentIntervals {
        mean: mean_interval(passed, run.plan.sigma, run.plan.seed, interval_item(series, measure)),
        median: median_interval(&retained),
    };
    let between_runs = notes::spread(&run.notes, series, measure);
    let of_many_runs = |interval: Interval, value: f64| {
        // No time is below 0.
        let possible = Interval { low: interval.low.max(0.0_f64.min(s.min)), ..interval };
        between_runs.iter().fold(possible, |i, b| b.widen(i, value))
    };
    let with_dependence = |i: Interval| match (dependence, s.std_dev) {
        (Some(d), Some(std_dev)) => d.widen(i, s.mean, std_dev, s.n),
        _ => i,
    };
    let mean = of_run.mean.clone().map(|i| of_many_runs(with_dependence(i), s.mean));
    let stretch = dependence.map_or(1.0, |d| d.stretch);
    let median = of_run.median.clone().map(|i| of_many_runs(i.stretched(s.median, stretch), s.median));
    Some(MeasureReport {
        samples: count(samples),
        discarded_by_cutoff: count(samples - passed.len()),
        discarded_by_sigma: count(passed.len() - kept.len()),
        retained: count(kept.len()),
        mean: s.mean,
        median: s.median,
        std_dev: s.std_dev,
        relative_error: s.relative_error,
        min: s.min,
        max: s.max,
        mean_interval: mean,
        median_interval: median,
        dependence,
        between_runs,
        independent: Some(of_run),
        trustworthy: 2 * kept.len() >= samples,
    })
}

fn why_none(series: &SeriesCounts, samples: usize, measure: Measure) -> Absent {
    let missing = match measure {
        Measure::Pt => series.no_process_time.get(),
        Measure::Et => None,
        Measure::Net => series.no_net_time.get(),
    };
    if samples > 0 {
        Absent::Lost(format!("all {samples} samples were discarded"))
    } else if let Some(why) = missing {
        why.clone()
    } else if series.counted == 0 {
        Absent::NotAsked("no counted sample was taken".to_owned())
    } else {
        Absent::Failed("no sample succeeded".to_owned())
    }
}
