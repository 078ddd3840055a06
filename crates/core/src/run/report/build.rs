//! Computes the report of a run from its samples.

use crate::compare::ratio::{compare, verdict};
use crate::profile::data::Profile;
use crate::run::data::Run;
use crate::run::plan::{Order, ProfileChoice};
use crate::run::protocol::{CheckOne, Evidence, NoCheckOne, NoProcessTime, assess};
use crate::run::report::data::{Comparison, Measure, MeasureRatio, RunReport, SeriesReport};
use crate::run::report::grouping::count;
use crate::run::report::grouping::reference;
use crate::run::report::grouping::{FamilyNames, Grouped, KeptSamples};
use crate::run::report::remarks;
use crate::run::report::remarks::RemarkContext;
use crate::run::report::series::series_report;
use crate::sample::data::Sample;

/// Everything that is said of a run.
///
/// `samples` may be in any order, and be any part of the run's, none included; the order makes no difference. Samples
/// of a program that the plan does not have are omitted, with a remark. Warm-ups and samples that failed (and were not
/// to be accepted, [`crate::run::plan::IgnoreFailure`]) count in no statistics. `profile` is the one whose cutoffs
/// check 1 applies; without it, or if no sample has its daemons, the report says that check 1 was not done. Time and
/// memory grow linearly with samples and daemons (but for sorting).
pub fn build(run: &Run, samples: &[Sample], profile: Option<&Profile>) -> RunReport {
    let grouped = Grouped::new(run, samples);
    let used = applicable(run, &grouped, profile);
    let cutoffs = used.as_ref().map_or(&[][..], |p| p.cutoffs.as_slice());
    let mut names = FamilyNames::default();
    let (mut series, mut kept) = (Vec::new(), Vec::new());
    for group in &grouped.series {
        let (report, retained) = series_report(run, group, cutoffs, &mut names);
        series.push(report);
        kept.push(retained);
    }
    let comparisons = comparisons(run, &kept);
    let sizes: Vec<u32> = grouped.series.iter().map(|g| count(g.good.len())).collect();
    let protocol = assess(&Evidence {
        factors: &run.factors,
        process_time: process_time_used(&grouped),
        check_one: check_one(&used, &series),
        sigma: run.plan.sigma,
        sizes: &sizes,
    });
    let remarks = remarks::all(&RemarkContext {
        run,
        grouped: &grouped,
        series: &series,
        comparisons: &comparisons,
        kept: &kept,
        profile: used.as_ref().ok().copied(),
    });
    let profile = used.map(Profile::label);
    RunReport { run: run.clone(), series, comparisons, protocol, profile, remarks }
}

/// The profile, or why its cutoffs cannot be applied.
fn applicable<'a>(run: &Run, grouped: &Grouped, profile: Option<&'a Profile>) -> Result<&'a Profile, NoCheckOne> {
    let profile = profile.ok_or_else(|| match &run.plan.profile {
        ProfileChoice::No => NoCheckOne::NotAsked,
        ProfileChoice::Named(name) => NoCheckOne::NoSuchProfile { name: name.clone() },
        ProfileChoice::Newest => NoCheckOne::NoProfile,
    })?;
    let seen = grouped.series.iter().flat_map(|g| &g.good).any(|s| s.daemons.value().is_some());
    let first = grouped.series.iter().flat_map(|g| &g.good).find_map(|s| s.daemons.absent());
    match first {
        Some(why) if !seen => Err(NoCheckOne::NoDaemons { why: why.clone() }),
        _ => Ok(profile),
    }
}

fn check_one(used: &Result<&Profile, NoCheckOne>, series: &[SeriesReport]) -> CheckOne {
    match used {
        Err(why) => CheckOne::NotDone(why.clone()),
        Ok(p) => CheckOne::Done {
            profile: p.label(),
            incomplete: series.iter().filter_map(|s| s.daemons_incomplete.as_ref()).map(|(n, _)| n).sum(),
        },
    }
}

fn process_time_used(grouped: &Grouped) -> Result<(), NoProcessTime> {
    let mut any = false;
    for sample in grouped.series.iter().flat_map(|g| &g.good) {
        sample.process_time().map_err(|why| NoProcessTime::Absent { why })?;
        any = true;
    }
    if any { Ok(()) } else { Err(NoProcessTime::NoSample) }
}

fn comparisons(run: &Run, kept: &[KeptSamples]) -> Vec<Comparison> {
    let reference = reference(run);
    let Some(base) = kept.get(reference) else { return Vec::new() };
    let others = kept.iter().enumerate().filter(|(i, _)| *i != reference);
    let comparison = |(i, program): (usize, &KeptSamples)| {
        let ratios = ratios(program, base);
        let by = |m| ratios.iter().find(|r: &&MeasureRatio| r.measure == m);
        let found = by(Measure::Pt).or_else(|| by(Measure::Et))?.clone();
        Some(Comparison {
            series: count(i),
            reference: count(reference),
            measure: found.measure,
            ratio: found.ratio,
            verdict: found.verdict,
            interval: found.interval,
            pairs: found.pairs,
            paired_in_time: run.plan.order != Order::Sequential,
            ratios,
        })
    };
    others.filter_map(comparison).collect()
}

fn ratios(program: &KeptSamples, base: &KeptSamples) -> Vec<MeasureRatio> {
    let sides = [
        (Measure::Et, &program.et, &base.et),
        (Measure::Pt, &program.pt, &base.pt),
        (Measure::Net, &program.net, &base.net),
    ];
    let ratio = |(measure, times, reference): (Measure, &Vec<_>, &Vec<_>)| {
        let r = compare(times, reference)?;
        let verdict = verdict(&r.interval);
        Some(MeasureRatio { measure, ratio: r.ratio, interval: r.interval, pairs: r.pairs, verdict })
    };
    sides.into_iter().filter_map(ratio).collect()
}
