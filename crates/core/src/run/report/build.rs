//! Computes the report of a run from its samples.

use crate::base::units::Nanos;
use crate::compare::duet::NoDuet;
use crate::compare::ratio::{Ratio, TimePairs, Verdict, verdict_within};
use crate::compare::simultaneous::{HEADLINE_ERROR, OTHER_ERROR, errors};
use crate::profile::data::Profile;
use crate::quiet::knowledge::QuietKnowledge;
use crate::run::blocks::block_means;
use crate::run::data::Run;
use crate::run::discards::DiscardRule;
use crate::run::plan::{Order, ProfileChoice};
use crate::run::protocol::{CheckOne, CheckOneDetail, Evidence, NoCheckOne, NoProcessTime, ShortProfile, assess};
use crate::run::report::counted::{RunCounts, SeriesCounts};
use crate::run::report::counters::counter_ratios;
use crate::run::report::data::{Comparison, DuetRatio, Measure, MeasureRatio, RatioBasis, RunReport, SeriesReport};
use crate::run::report::duets::RunDuets;
use crate::run::report::grouping::{FamilyNames, KeptSamples, count, reference};
use crate::run::report::metrics::metric_ratios;
use crate::run::report::quiet::RunQuiet;
use crate::run::report::remarks;
use crate::run::report::remarks::RemarkContext;
use crate::run::report::retained::RetainedSeries;
use crate::run::report::series::{FirstCheck, SeriesStatistics};
use crate::run::samples::SampleSource;
use crate::run::stopping::DetectRule;
use crate::sample::data::Sample;
use crate::statistics::intervals::{Interval, LEVEL, NoInterval};
use crate::statistics::signed_rank::location;

/// Everything that is said of a run whose samples are in memory; as [`build_from`].
pub fn build(run: &Run, samples: &[Sample], profile: Option<&Profile>) -> RunReport {
    let Ok(report) = build_from(run, samples, profile);
    report
}

/// Everything that is said of a run; as [`build_with`], with nothing known of the machine.
pub fn build_from<S: SampleSource + ?Sized>(
    run: &Run,
    samples: &S,
    profile: Option<&Profile>,
) -> Result<RunReport, S::Error> {
    build_with(run, samples, profile, &QuietKnowledge::default())
}

/// Everything that is said of a run.
///
/// `samples` may come in any order, and be any part of the run's, none included; the order makes no difference. Samples
/// of a program that the plan does not have are omitted, with a remark. Warm-ups and samples that failed (and were not
/// to be accepted, [`crate::run::plan::IgnoreFailure`]) count in no statistics. `profile` is the one whose cutoffs
/// check 1 applies; without it, or if no sample has its daemons, the report says that check 1 was not done. `known` is what
/// the times on the quiet machine start from; without levels these are learned from the samples.
///
/// The samples are read two or three times, one at a time: for the times and what all samples add to; with cutoffs, for the
/// daemons that spoil samples; for what the retained ones add to. Time grows linearly with samples and daemons (but for
/// sorting), memory by some 150 bytes a sample.
pub fn build_with<S: SampleSource + ?Sized>(
    run: &Run,
    samples: &S,
    profile: Option<&Profile>,
    known: &QuietKnowledge,
) -> Result<RunReport, S::Error> {
    let mut names = FamilyNames::default();
    let FirstReading { mut counted, duets, detect, mut quiet } = first_reading(run, samples, known, &mut names)?;
    let used = applicable(run, &counted, profile);
    let cutoffs = used.as_ref().map_or(&[][..], |p| p.cutoffs.as_slice());
    let mut checks: Vec<Option<FirstCheck>> =
        counted.series.iter().map(|s| FirstCheck::new(s, cutoffs, run.plan.discard)).collect();
    if checks.iter().any(Option::is_some) {
        samples.each(&mut |s| {
            if let Some(Some(check)) = checks.get_mut(s.series as usize) {
                check.add(s, run, &mut names);
            }
        })?;
    }
    let by_check = counted.series.iter().zip(&checks);
    let mut statistics: Vec<SeriesStatistics> =
        by_check.map(|(series, check)| SeriesStatistics::new(run, series, check.as_ref())).collect();
    let by_series = counted.series.iter().zip(&mut statistics);
    let mut retained: Vec<RetainedSeries> = by_series.map(|(series, found)| found.retained(series)).collect();
    samples.each(&mut |s| {
        if let Some(series) = retained.get_mut(s.series as usize) {
            series.add(s, &mut names);
        }
        quiet.correct(s);
    })?;
    let all = counted.series.iter_mut().zip(statistics).zip(retained);
    let (mut series, kept): (Vec<SeriesReport>, Vec<KeptSamples>) =
        all.map(|((series, statistics), retained)| statistics.report(series, retained)).unzip();
    let all = comparisons(run, &kept, &duets, detect.as_ref());
    let is_control = |c: &Comparison| run.plan.programs.get(c.series as usize).is_some_and(|p| p.control);
    let (controls, comparisons): (Vec<Comparison>, Vec<Comparison>) = all.into_iter().partition(is_control);
    let control = controls.into_iter().next();
    let sizes: Vec<u32> = counted.series.iter().map(SeriesCounts::size).collect();
    let protocol = assess(&Evidence {
        factors: &run.factors,
        process_time: process_time_used(&counted),
        check_one: check_one(&used, &series, &counted, &checks, run.plan.discard),
        sigma: run.plan.sigma,
        sizes: &sizes,
    });
    let remarks = remarks::all(&RemarkContext {
        run,
        counted: &counted,
        series: &series,
        comparisons: &comparisons,
        control: control.as_ref(),
        detect: detect.as_ref(),
        kept: &kept,
        profile: used.as_ref().ok().copied(),
        quiet: &quiet,
    });
    let profile = used.map(Profile::label);
    let (quiet_levels, states) = quiet.finish(&mut series);
    let run = run.clone();
    Ok(RunReport { run, series, comparisons, control, protocol, profile, remarks, quiet_levels, states })
}

/// What the first reading of the samples gives.
struct FirstReading<'a> {
    counted: RunCounts<'a>,
    duets: RunDuets<'a>,
    detect: Option<DetectRule>,
    quiet: RunQuiet<'a>,
}

fn first_reading<'a, S: SampleSource + ?Sized>(
    run: &'a Run,
    samples: &S,
    known: &'a QuietKnowledge,
    names: &mut FamilyNames,
) -> Result<FirstReading<'a>, S::Error> {
    let (mut counted, mut duets) = (RunCounts::new(run), RunDuets::new(run));
    let mut detect = DetectRule::new(&run.plan);
    let mut quiet = RunQuiet::new(run, known);
    samples.each(&mut |s| {
        counted.add(s, names);
        duets.add_alone(s);
        quiet.add(s);
        detect.iter_mut().for_each(|rule| rule.add(&run.plan, s));
    })?;
    samples.each_duet(&mut |d| {
        counted.add_duet(d);
        duets.add(d);
        detect.iter_mut().for_each(|rule| rule.add_duet(&run.plan, d));
    })?;
    counted.sort();
    quiet.learn();
    Ok(FirstReading { counted, duets, detect, quiet })
}

/// The profile, or why its cutoffs cannot be applied.
fn applicable<'a>(run: &Run, counted: &RunCounts, profile: Option<&'a Profile>) -> Result<&'a Profile, NoCheckOne> {
    let profile = profile.ok_or_else(|| match &run.plan.profile {
        ProfileChoice::No => NoCheckOne::NotAsked,
        ProfileChoice::Named(name) => NoCheckOne::NoSuchProfile { name: name.clone() },
        ProfileChoice::Newest => NoCheckOne::NoProfile,
    })?;
    let seen = counted.series.iter().any(SeriesCounts::has_daemons);
    match counted.series.iter().find_map(SeriesCounts::no_daemons) {
        Some(why) if !seen => Err(NoCheckOne::NoDaemons { why: why.clone() }),
        _ => Ok(profile),
    }
}

fn check_one(
    used: &Result<&Profile, NoCheckOne>,
    series: &[SeriesReport],
    counted: &RunCounts,
    checks: &[Option<FirstCheck>],
    asked: Option<DiscardRule>,
) -> CheckOne {
    let profile = match used {
        Err(why) => return CheckOne::NotDone(why.clone()),
        Ok(profile) => *profile,
    };
    let counts = checks.iter().flatten().filter_map(FirstCheck::counts).reduce(|a, b| a + b);
    let by_effect = counts.is_some() && asked != Some(DiscardRule::Papers);
    let times: Vec<Nanos> = counted.series.iter().filter_map(SeriesCounts::task_time).collect();
    let without = profile.cutoffs.iter().filter(|c| times.iter().any(|t| !c.applies_to(*t)));
    let nothing = |t: &Nanos| !profile.cutoffs.is_empty() && !profile.cutoffs.iter().any(|c| c.applies_to(*t));
    CheckOne::Done {
        profile: profile.label(),
        incomplete: series.iter().filter_map(|s| s.daemons_incomplete.as_ref()).map(|(n, _)| n).sum(),
        detail: CheckOneDetail {
            rule: if by_effect { DiscardRule::Effect } else { DiscardRule::Papers },
            counts,
            without_cutoff: without.map(|c| c.daemon.clone()).collect(),
            finds_nothing: times.iter().any(nothing),
            too_short: too_short(profile, &times),
        },
    }
}

/// Time by which a program may exceed the profile's samples: INC's time varies as well.
const LONGER: f64 = 1.1;

fn too_short(profile: &Profile, times: &[Nanos]) -> Option<ShortProfile> {
    let samples = profile.longest_samples()?;
    let task_time = times.iter().copied().max()?;
    let longer = task_time.as_f64() > LONGER * samples.as_f64();
    longer.then_some(ShortProfile { samples, task_time })
}

fn process_time_used(counted: &RunCounts) -> Result<(), NoProcessTime> {
    match counted.series.iter().find_map(|s| s.no_process_time.get()) {
        Some(why) => Err(NoProcessTime::Absent { why: why.clone() }),
        None if counted.series.iter().all(|s| s.good.is_empty()) => Err(NoProcessTime::NoSample),
        None => Ok(()),
    }
}

/// Each program against the reference, the control too. The verdicts on all programs but the control hold together
/// ([`crate::compare::simultaneous`]).
fn comparisons(run: &Run, kept: &[KeptSamples], duets: &RunDuets<'_>, detect: Option<&DetectRule>) -> Vec<Comparison> {
    let reference = reference(run);
    let Some(base) = kept.get(reference) else { return Vec::new() };
    let is_control = |i: usize| run.plan.programs.get(i).is_some_and(|p| p.control);
    let pair = |(i, program)| ProgramPair { run, series: i, kept: [program, base], duets, detect };
    let all: Vec<ProgramPair<'_>> = kept.iter().enumerate().filter(|(i, _)| *i != reference).map(pair).collect();
    let compared = all.iter().filter(|pair| !is_control(pair.series)).count();
    let (mut headlines, mut others) = (Vec::new(), Vec::new());
    for pair in all.iter().filter(|pair| !is_control(pair.series)) {
        headlines.extend(pair.headline().map(|basis| (pair, basis)));
        others.extend(pair.others().into_iter().map(|measure| (pair, RatioOf::Alone(measure))));
    }
    let decides = |(pair, of): &(&ProgramPair<'_>, RatioOf), error: f64| {
        pair.verdict(*of, 1.0 - error).is_some_and(|v| v != Verdict::Undecided)
    };
    let family = |all: &[(&ProgramPair<'_>, RatioOf)], error: f64| {
        let found = errors(all.len(), error, |i, error| all.get(i).is_some_and(|one| decides(one, error)));
        let levels = all.iter().zip(found).map(|((pair, of), error)| ((pair.series, *of), 1.0 - error));
        levels.collect::<Vec<((usize, RatioOf), f64)>>()
    };
    let mut levels = family(&headlines, HEADLINE_ERROR);
    let all_decided = headlines.iter().zip(&levels).all(|(one, (_, level))| decides(one, 1.0 - level));
    // What rejected hypotheses had is passed on.
    levels.extend(family(&others, if all_decided { HEADLINE_ERROR + OTHER_ERROR } else { OTHER_ERROR }));
    let comparison = |pair: &ProgramPair<'_>| {
        let level =
            |of: RatioOf| levels.iter().find(|(at, _)| *at == (pair.series, of)).map_or(LEVEL, |(_, level)| *level);
        // What programs print and count has a verdict only if it is asked for, one for each of them.
        let of_numbers = if is_control(pair.series) { LEVEL } else { 1.0 - (1.0 - LEVEL) / compared.max(1) as f64 };
        pair.comparison(count(reference), level, of_numbers)
    };
    all.iter().filter_map(comparison).collect()
}

/// What a ratio rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RatioOf {
    Duets,
    Alone(Measure),
}

/// A program and the reference.
struct ProgramPair<'a> {
    run: &'a Run,
    series: usize,
    /// Of the program and of the reference.
    kept: [&'a KeptSamples; 2],
    duets: &'a RunDuets<'a>,
    detect: Option<&'a DetectRule>,
}

impl ProgramPair<'_> {
    /// What the verdict is by: duets, else process time, else elapsed time.
    fn headline(&self) -> Option<RatioOf> {
        match self.duet_ratio(LEVEL) {
            Some(Ok(_)) => Some(RatioOf::Duets),
            _ => [Measure::Pt, Measure::Et].into_iter().find(|m| self.alone(*m, LEVEL).is_some()).map(RatioOf::Alone),
        }
    }

    /// The other ratios of times.
    fn others(&self) -> Vec<Measure> {
        let headline = self.headline();
        let other = |m: &Measure| headline != Some(RatioOf::Alone(*m)) && self.alone(*m, LEVEL).is_some();
        MEASURES.into_iter().filter(other).collect()
    }

    fn verdict(&self, of: RatioOf, level: f64) -> Option<Verdict> {
        match of {
            RatioOf::Duets => self.duet_ratio(level)?.ok().map(|d| d.verdict),
            RatioOf::Alone(measure) => self.alone(measure, level).map(|r| r.verdict),
        }
    }

    fn duet_ratio(&self, level: f64) -> Option<Result<DuetRatio, NoDuet>> {
        self.duets.ratio(self.series, self.kept, level, self.detect.map(DetectRule::design))
    }

    /// The ratio of executions alone. Of a measurement that was looked at while it grew it is by all samples that count, as it was
    /// decided by them, with an interval that holds at all looks together.
    fn alone(&self, measure: Measure, level: f64) -> Option<MeasureRatio> {
        let margin = self.run.plan.margin;
        if let Some(rule) = self.detect {
            let logs = rule.rounds(count(self.series), measure)?.values();
            let has_process_time = rule.rounds(count(self.series), Measure::Pt).is_some();
            let first = if has_process_time { Measure::Pt } else { Measure::Et };
            let is_headline = measure == first && !matches!(self.duet_ratio(level), Some(Ok(_)));
            let design = if is_headline { rule.design() } else { rule.others() };
            let estimate = location(&logs, design.level())?.estimate;
            let interval = design.interval(&logs).map(|i| i.reaching(estimate)).map(|i| Interval {
                low: i.low.exp(),
                high: i.high.exp(),
                level: i.level,
            });
            return Some(measure_ratio(measure, estimate.exp(), interval, count(logs.len()), margin));
        }
        let [times, reference] = self.kept.map(|kept| match measure {
            Measure::Et => &kept.et,
            Measure::Pt => &kept.pt,
            Measure::Net => &kept.net,
        });
        let r = self.paired(times, reference, level)?;
        Some(measure_ratio(measure, r.ratio, r.interval, r.pairs, margin))
    }

    fn paired(&self, program: &[(u32, f64)], reference: &[(u32, f64)], level: f64) -> Option<Ratio> {
        let pairs = TimePairs::new(&block_means(program), &block_means(reference))?;
        let pairs = if self.run.plan.order.is_random() { pairs } else { pairs.in_fixed_order() };
        pairs.ratio(level)
    }

    /// With these levels of its ratios of times, and this one of the ratios of what the programs print and count.
    fn comparison(&self, reference: u32, level: impl Fn(RatioOf) -> f64, of_numbers: f64) -> Option<Comparison> {
        let ratios: Vec<MeasureRatio> =
            MEASURES.into_iter().filter_map(|m| self.alone(m, level(RatioOf::Alone(m)))).collect();
        let by = |m| ratios.iter().find(|r: &&MeasureRatio| r.measure == m);
        let found = by(Measure::Pt).or_else(|| by(Measure::Et))?.clone();
        let compare = |program: &[(u32, f64)], reference: &[(u32, f64)]| self.paired(program, reference, of_numbers);
        let [program, base] = self.kept;
        let mut comparison = Comparison {
            series: count(self.series),
            reference,
            measure: found.measure,
            by_metric: None,
            by_counter: None,
            basis: RatioBasis::Alone,
            ratio: found.ratio,
            verdict: found.verdict,
            interval: found.interval,
            pairs: found.pairs,
            paired_in_time: self.run.plan.order != Order::Sequential,
            ratios,
            duets: self.duet_ratio(level(RatioOf::Duets)),
            metrics: metric_ratios(&program.metrics, &base.metrics, compare),
            counters: counter_ratios(&program.counters, &base.counters, compare),
        };
        comparison.choose_duets();
        Some(comparison)
    }
}

/// In the order in which their ratios are given.
const MEASURES: [Measure; 3] = [Measure::Et, Measure::Pt, Measure::Net];

fn measure_ratio(
    measure: Measure,
    ratio: f64,
    interval: Result<Interval, NoInterval>,
    pairs: u32,
    margin: Option<f64>,
) -> MeasureRatio {
    let verdict = verdict_within(&interval, margin);
    MeasureRatio { measure, ratio, interval, pairs, verdict }
}
