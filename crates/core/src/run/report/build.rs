//! Computes the report of a run from its samples.

use crate::base::units::Nanos;
use crate::compare::ratio::{compare, verdict_within};
use crate::profile::data::Profile;
use crate::quiet::knowledge::QuietKnowledge;
use crate::run::blocks::block_means;
use crate::run::data::Run;
use crate::run::discards::DiscardRule;
use crate::run::plan::{Order, ProfileChoice};
use crate::run::protocol::{CheckOne, CheckOneDetail, Evidence, NoCheckOne, NoProcessTime, ShortProfile, assess};
use crate::run::report::counted::{RunCounts, SeriesCounts};
use crate::run::report::counters::counter_ratios;
use crate::run::report::data::{Comparison, Measure, MeasureRatio, RatioBasis, RunReport, SeriesReport};
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
use crate::statistics::intervals::{Interval, NoInterval};
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

/// Each program against the reference, the control too.
fn comparisons(run: &Run, kept: &[KeptSamples], duets: &RunDuets<'_>, detect: Option<&DetectRule>) -> Vec<Comparison> {
    let reference = reference(run);
    let Some(base) = kept.get(reference) else { return Vec::new() };
    let others = kept.iter().enumerate().filter(|(i, _)| *i != reference);
    let comparison = |(i, program): (usize, &KeptSamples)| {
        let ratios = match detect {
            None => ratios(program, base, run.plan.margin),
            Some(rule) => repeated_ratios(rule, count(i), run.plan.margin),
        };
        let by = |m| ratios.iter().find(|r: &&MeasureRatio| r.measure == m);
        let found = by(Measure::Pt).or_else(|| by(Measure::Et))?.clone();
        let mut comparison = Comparison {
            series: count(i),
            reference: count(reference),
            measure: found.measure,
            by_metric: None,
            by_counter: None,
            basis: RatioBasis::Alone,
            ratio: found.ratio,
            verdict: found.verdict,
            interval: found.interval,
            pairs: found.pairs,
            paired_in_time: run.plan.order != Order::Sequential,
            ratios,
            duets: duets.ratio(i, [program, base], detect.map(DetectRule::design)),
            metrics: metric_ratios(&program.metrics, &base.metrics),
            counters: counter_ratios(&program.counters, &base.counters),
        };
        comparison.choose_duets();
        Some(comparison)
    };
    others.filter_map(comparison).collect()
}

/// Ratios of a measurement that was looked at while it grew: by all samples that count, as it was decided by them, with intervals
/// that hold at all looks together.
fn repeated_ratios(rule: &DetectRule, series: u32, margin: Option<f64>) -> Vec<MeasureRatio> {
    let ratio = |measure| {
        let logs = rule.rounds(series, measure)?.values();
        let estimate = location(&logs, rule.design().level())?.estimate;
        let interval = rule.design().interval(&logs).map(|i| i.reaching(estimate)).map(|i| Interval {
            low: i.low.exp(),
            high: i.high.exp(),
            level: i.level,
        });
        Some(measure_ratio(measure, estimate.exp(), interval, count(logs.len()), margin))
    };
    [Measure::Et, Measure::Pt, Measure::Net].into_iter().filter_map(ratio).collect()
}

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

fn ratios(program: &KeptSamples, base: &KeptSamples, margin: Option<f64>) -> Vec<MeasureRatio> {
    let sides = [
        (Measure::Et, &program.et, &base.et),
        (Measure::Pt, &program.pt, &base.pt),
        (Measure::Net, &program.net, &base.net),
    ];
    type Times = Vec<(u32, f64)>;
    let ratio = |(measure, times, reference): (Measure, &Times, &Times)| {
        let r = compare(&block_means(times), &block_means(reference))?;
        Some(measure_ratio(measure, r.ratio, r.interval, r.pairs, margin))
    };
    sides.into_iter().filter_map(ratio).collect()
}
