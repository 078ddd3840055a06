//! Two halves of one program (section 6 of the report on program execution time, table 7, figures 21 to 28): whether what one half
//! takes says anything of the other.
//!
//! INC's loop is cut into two equal ones, each of which is timed by the program itself. Times that depend on the whole execution
//! (its layout in memory, the clock speed of those seconds) make the halves alike; what disturbs moments does not; and a half
//! that takes longer at the other's expense makes them differ. The report removes outliers from such data at five standard
//! deviations (its section 4), which it does not say again for table 7.

use crate::data::cells::StudyPreset;
use crate::data::correlation_rows::{growth_by, rows_by_size};
use crate::data::series::{StudyGap, StudyProgram, StudyRunPlan, StudySeries, StudyWork};
use crate::data::timing_row::SEED;
use serde::Serialize;
use tarebench_core::run::discards::RELAXED;
use tarebench_core::sample::data::Sample;
use tarebench_core::statistics::correlation::{CorrelationGrowth, RawAndTrimmed};
use tarebench_core::statistics::series::{Summary, Values, summary};

/// Names of the two values that the program prints, s.
pub const HALVES: [&str; 2] = ["first", "second"];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DualReport {
    /// Standard deviations beyond which a half is an outlier.
    pub s: f64,
    pub rows: Vec<DualRow>,
    /// How the correlation without outliers changes with the task length.
    pub growth: Option<CorrelationGrowth>,
    /// Programs that print no halves.
    pub without: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DualRow {
    pub condition: String,
    pub label: String,
    /// Task length, s.
    pub size: Option<f64>,
    /// First half (x) and second half (y) of each execution, ns.
    pub halves: RawAndTrimmed,
    pub first: Summary,
    pub second: Summary,
    /// Executions that did not print both.
    pub missing: u32,
}

/// INC in two halves of this task length together.
pub(crate) fn dual_inc(seconds: f64) -> StudyProgram {
    StudyProgram { label: format!("dual INC{seconds}"), work: StudyWork::Halves { seconds }, size: Some(seconds) }
}

/// A run of them.
pub(crate) fn dual_run(lengths: &[f64], samples: u32) -> StudyRunPlan {
    let programs = lengths.iter().copied().map(dual_inc).collect();
    StudyRunPlan { condition: String::new(), setting: None, programs, samples, warmup: 1 }
}

/// Three minutes; an hour; table 7, a run for each length.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    match preset {
        StudyPreset::Minutes => vec![dual_run(&[0.0625, 0.125, 0.25, 0.5], 150)],
        StudyPreset::Hour => vec![dual_run(&[0.25, 0.5, 1.0, 2.0], 800)],
        StudyPreset::Paper => {
            let lengths = (1..=12).map(|i| 2_f64.powi(i));
            lengths.map(|l| dual_run(&[l], if l > 2048.0 { 500 } else { 1000 })).collect()
        }
    }
}

/// Both halves of an execution, ns; `None` if it did not print them.
pub(crate) fn halves(sample: &Sample) -> Option<(f64, f64)> {
    let half = |name: &str| sample.metrics.iter().find(|m| m.name == name)?.number().map(|s| s * 1e9);
    let [first, second] = HALVES;
    Some((half(first)?, half(second)?))
}

/// The correlations of all series whose programs print their halves.
///
/// # Errors
/// [`StudyGap`] if none does, or too few executions did.
pub fn report(series: &[StudySeries<'_>]) -> Result<DualReport, StudyGap> {
    let what = "the times of two halves (metrics `first` and `second`)";
    let (rows, without) = rows_by_size(series, what, row, |r: &DualRow| r.size)?;
    let growth = growth_by(&rows, |r| Some((r.size?, r.halves.trimmed.as_ref().ok()?.clone())));
    Ok(DualReport { s: RELAXED, rows, growth, without })
}

/// `None` unless at least two executions printed both halves.
fn row(series: &StudySeries<'_>, condition: String, item: u64) -> Option<DualRow> {
    let pairs: Vec<(f64, f64)> = series.samples.iter().filter_map(|s| halves(s)).collect();
    if pairs.len() < 2 {
        return None;
    }
    let of_half = |pick: fn(&(f64, f64)) -> f64| summary(&Values::new(pairs.iter().map(pick)).ok()?);
    Some(DualRow {
        condition,
        label: series.program.label.clone(),
        size: series.size(),
        first: of_half(|p| p.0)?,
        second: of_half(|p| p.1)?,
        missing: u32::try_from(series.samples.len() - pairs.len()).unwrap_or(u32::MAX),
        halves: RawAndTrimmed::new(&pairs, RELAXED, SEED, item),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::base::reading::Reading;
    use tarebench_core::sample::data::MetricReading;
    use tarebench_core::statistics::random::normal;
    use tarebench_core::statistics::random::{RandomPurpose, generator};

    /// An execution that printed these, in s.
    pub(crate) fn printed(index: u32, first: f64, second: f64) -> Sample {
        let metric =
            |name: &str, s: f64| MetricReading { name: name.to_owned(), text: Reading::Value(format!("{s:.9}")) };
        let ns = ((first + second) * 1e9).round() as i64;
        let mut s = sample(index, f64::from(index) * 2.0, ns + 1000, ns);
        s.metrics = vec![metric(HALVES[0], first), metric(HALVES[1], second)];
        s
    }

    #[test]
    fn a_shared_part_makes_the_halves_alike() {
        let mut rng = generator(41, RandomPurpose::Order, 0);
        let mut spread = || normal(&mut rng);
        // A part of both halves, and one of each, of equal variance: correlation 1/2. Two extreme samples hide it.
        let samples: Vec<Sample> = (0..400)
            .map(|i| {
                let shared = spread();
                let (first, second) = (shared + spread(), shared + spread());
                let spike = if i % 200 == 7 { 1.0 } else { 0.0 };
                printed(i, 1.0 + first * 1e-3 + spike, 1.0 + second * 1e-3)
            })
            .collect();
        let (p, h) = (program("dual INC2", Some(2.0)), head("a"));
        let report = report(&[series("", &p, &h, &samples)]).unwrap();
        let row = &report.rows[0];
        assert_eq!((row.halves.removed, row.missing, row.halves.pairs.len()), (2, 0, 400));
        let (raw, trimmed) = (row.halves.raw.clone().unwrap(), row.halves.trimmed.clone().unwrap());
        assert!(raw.r < 0.2, "{raw:?}");
        assert!((trimmed.r - 0.5).abs() < 0.12 && trimmed.interval.low > 0.3, "{trimmed:?}");
        assert!((row.second.mean - 1e9).abs() < 1e6 && row.first.max > 1.9e9);
        assert_eq!(report.growth, None);
    }

    #[test]
    fn programs_without_halves() {
        let (p, q, h) = (program("dual INC1", Some(1.0)), program("INC1", Some(1.0)), head("a"));
        let mut samples: Vec<Sample> = (0..12).map(|i| printed(i, 0.5 + f64::from(i % 3) * 1e-3, 0.5)).collect();
        samples[4].metrics.pop();
        let plain: Vec<Sample> = (0..12).map(|i| sample(i, f64::from(i), 10, 9)).collect();
        let r = report(&[series("", &q, &h, &plain), series("", &p, &h, &samples)]).unwrap();
        assert_eq!((r.rows.len(), r.rows[0].missing, r.without.as_slice()), (1, 1, &["INC1".to_owned()][..]));
        assert!(r.rows[0].halves.raw.is_err(), "the second half does not vary");
        let gap = report(&[series("", &q, &h, &plain)]).unwrap_err();
        assert!(gap.to_string().starts_with("`INC1` has samples without the times of two halves"), "{gap}");
    }

    #[test]
    fn presets() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        let paper = plan(StudyPreset::Paper);
        let length = |i: usize| (paper[i].programs[0].label.as_str(), paper[i].samples);
        assert_eq!((paper.len(), length(0), length(11)), (12, ("dual INC2", 1000), ("dual INC4096", 500)));
    }
}
