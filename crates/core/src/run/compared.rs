//! What of a run is stored with a comparison of programs of stored runs.

use crate::base::reading::Reading;
use crate::base::units::Nanos;
use crate::compare::ratio::RatioBasis;
use crate::compare::stored::{
    BlockMetric, BlockRatio, ComparedRun, PastMedian, PastRatio, PastRun, PastSeries, SeriesTimes, SideMetric,
    SideReference, StoredSide,
};
use crate::compare::stored_check::MOST_PRINTED;
use crate::machine::conditions::{Conditions, fingerprint};
use crate::machine::data::Factor;
use crate::run::blocks::{Blocks, RunBlocks};
use crate::run::data::Run;
pub use crate::run::identity::program_identity;
use crate::run::report::counters::{CounterRatio, CounterSummary};
use crate::run::report::data::{Comparison, DuetRatio, MeasureReport, RunReport, SeriesReport};
use crate::run::report::metrics::{MetricRatio, MetricSummary};
use crate::run::samples::SampleSource;
use crate::sample::data::{Phase, Sample};
use crate::sample::measure::Measure;
use crate::statistics::intervals::{Interval, NoInterval};
use crate::statistics::series::{Values, median};

/// Most programs of an earlier run that are looked at.
pub const MOST_PAST_SERIES: usize = 32;

const MEASURES: [Measure; 3] = [Measure::Et, Measure::Pt, Measure::Net];

/// A run that is compared, with these factors of its machine.
pub fn compared_run(run: &Run, factors: Vec<Factor>) -> ComparedRun {
    ComparedRun {
        run: run.id,
        uuid: run.uuid.clone(),
        created: run.created,
        status: run.status,
        conditions: Conditions::new(run.host.clone(), factors),
    }
}

/// A program of the run with this index in [`crate::compare::stored::StoredComparison::runs`]; `None` if the run has no such program.
pub fn side(run: u32, report: &RunReport, series: u32) -> Option<StoredSide> {
    let found = report.series.get(series as usize)?;
    let compared = report.comparisons.iter().find(|c| c.series == series && c.paired_in_time);
    Some(StoredSide {
        run,
        series,
        label: found.program.label.clone(),
        program: program_identity(&report.run.plan, &found.program),
        times: series_times(found),
        metrics: side_metrics(found),
        counters: side_counters(found),
        against: compared.and_then(|c| reference(report, c)),
    })
}

fn reference(report: &RunReport, comparison: &Comparison) -> Option<SideReference> {
    let reference = report.series.get(comparison.reference as usize)?;
    Some(SideReference {
        label: reference.program.label.clone(),
        program: program_identity(&report.run.plan, &reference.program),
        times: series_times(reference),
        ratios: block_ratios(comparison),
    })
}

/// The ratios of a comparison within a run: by each measure from executions alone, and by duets.
pub fn block_ratios(comparison: &Comparison) -> Vec<BlockRatio> {
    let alone = comparison.ratios.iter().map(|r| BlockRatio {
        measure: r.measure,
        basis: RatioBasis::Alone,
        ratio: r.ratio,
        interval: r.interval.clone(),
        pairs: r.pairs,
    });
    let duets = comparison.duets.iter().flatten().flat_map(duet_ratios);
    // A ratio without a finite logarithm compares nothing.
    alone.chain(duets).filter(|r| r.ratio.is_finite() && r.ratio > 0.0).collect()
}

/// By the measure of the duets, and by process time if that is another: other runs may have only this.
fn duet_ratios(duets: &DuetRatio) -> Vec<BlockRatio> {
    let block = |measure: Measure, ratio: f64, interval: &Result<Interval, NoInterval>, pairs: u32| BlockRatio {
        measure,
        basis: RatioBasis::Duets,
        ratio,
        interval: interval.clone(),
        pairs,
    };
    let chosen = block(duets.measure, duets.ratio, &duets.interval, duets.used);
    let process = duets.process.iter().map(|p| block(p.measure, p.ratio, &p.interval, p.pairs));
    std::iter::once(chosen).chain(process).collect()
}

/// The ratios of what both programs of a comparison within a run printed.
pub fn block_metrics(comparison: &Comparison) -> Vec<BlockMetric> {
    let metric = |r: &MetricRatio| BlockMetric {
        name: r.name.clone(),
        ratio: r.ratio,
        interval: r.interval.clone(),
        pairs: r.pairs,
    };
    comparison.metrics.iter().map(metric).filter(is_possible).take(MOST_PRINTED).collect()
}

/// Whether ratio and bounds are numbers that a ratio can be.
fn is_possible(r: &BlockMetric) -> bool {
    let possible = |v: f64| v.is_finite() && v > 0.0;
    possible(r.ratio) && r.interval.as_ref().ok().is_none_or(|i| possible(i.low) && possible(i.high))
}

/// The same of the counters of both.
pub fn block_counters(comparison: &Comparison) -> Vec<BlockMetric> {
    let block = |r: &CounterRatio| BlockMetric {
        name: r.counter.name().to_owned(),
        ratio: r.ratio,
        interval: r.interval.clone(),
        pairs: r.pairs,
    };
    comparison.counters.iter().map(block).filter(is_possible).collect()
}

fn side_metrics(series: &SeriesReport) -> Vec<SideMetric> {
    let metric = |m: &MetricSummary| {
        let f = m.figures.value()?;
        Some(SideMetric {
            name: m.name.clone(),
            samples: f.values,
            median: f.median,
            interval: f.median_interval.clone(),
            smallest: f.min,
        })
    };
    series.metrics.iter().filter_map(metric).take(MOST_PRINTED).collect()
}

fn side_counters(series: &SeriesReport) -> Vec<SideMetric> {
    let side = |c: &CounterSummary| {
        let f = c.figures.value()?;
        Some(SideMetric {
            name: c.counter.name().to_owned(),
            samples: f.values,
            median: f.median,
            interval: f.median_interval.clone(),
            smallest: f.min,
        })
    };
    series.counters.value().map_or_else(Vec::new, |all| all.counters.iter().filter_map(side).collect())
}

fn series_times(series: &SeriesReport) -> Vec<SeriesTimes> {
    let by = |measure: Measure, found: &Reading<MeasureReport>| {
        let m = found.value()?;
        Some(SeriesTimes { measure, samples: m.retained, median: m.median, interval: m.median_interval.clone() })
    };
    let all = [by(Measure::Et, &series.et), by(Measure::Pt, &series.pt), by(Measure::Net, &series.net)];
    all.into_iter().flatten().collect()
}

/// What another run of the store says of its programs, of the first [`MOST_PAST_SERIES`]. Every sample that succeeded counts: what is
/// discarded hardly moves a median.
pub fn past_run<S: SampleSource + ?Sized>(run: &Run, samples: &S) -> Result<PastRun, S::Error> {
    let plan = &run.plan;
    let mut blocks = RunBlocks::new(plan);
    // By program, then in the order of MEASURES, ns.
    let mut times: Vec<[Vec<f64>; 3]> = vec![Default::default(); plan.programs.len().min(MOST_PAST_SERIES)];
    samples.each(&mut |sample| {
        blocks.add(plan, sample);
        let good = sample.phase == Phase::Counted && plan.ignore_failure.accepts(&sample.outcome);
        let Some(lists) = times.get_mut(sample.series as usize).filter(|_| good) else { return };
        for (list, measure) in lists.iter_mut().zip(MEASURES) {
            list.extend(time(sample, measure));
        }
    })?;
    samples.each_duet(&mut |duet| blocks.add_duet(plan, duet))?;
    let reference = plan.programs.get(plan.reference() as usize).map(|p| program_identity(plan, p));
    let series = (0..).zip(plan.programs.iter().zip(times)).map(|(place, (program, times))| {
        let reference = reference.as_ref().filter(|_| place != plan.reference());
        PastSeries {
            program: program_identity(plan, program),
            medians: MEASURES.into_iter().zip(times).filter_map(past_median).collect(),
            ratios: reference.map_or_else(Vec::new, |base| past_ratios(&blocks, place, base)),
        }
    });
    Ok(PastRun {
        uuid: run.uuid.clone(),
        created: run.created,
        machine: run.host.machine.clone(),
        fingerprint: fingerprint(&run.host, &run.factors),
        series: series.collect(),
    })
}

fn past_median((measure, times): (Measure, Vec<f64>)) -> Option<PastMedian> {
    let found = median(&Values::new(times).ok()?);
    found.filter(|m| *m > 0.0).map(|median| PastMedian { measure, median })
}

fn past_ratios(blocks: &RunBlocks, series: u32, reference: &str) -> Vec<PastRatio> {
    let rounds = MEASURES.into_iter().filter_map(|measure| blocks.rounds(series, measure));
    let duets = [Measure::Net, Measure::Pt].into_iter().filter_map(|measure| blocks.duets(series, measure));
    let ratio = |b: Blocks| {
        let log = median(&b.values())?;
        Some(PastRatio { reference: reference.to_owned(), measure: b.measure, basis: b.basis, log })
    };
    rounds.chain(duets).filter_map(ratio).collect()
}

/// ns.
fn time(sample: &Sample, measure: Measure) -> Option<f64> {
    let time = match measure {
        Measure::Et => Some(sample.elapsed()),
        Measure::Pt => sample.process_time().ok(),
        Measure::Net => sample.net_time().ok(),
    };
    time.map(Nanos::as_f64)
}
