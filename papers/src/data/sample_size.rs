//! How many samples are enough: EMPv6 (EMP section 4.6, tables XX to XXIV; the report's tables 4 and 6, figures 12, 13 and 16).

use crate::data::cells::StudyPreset;
use crate::data::checked::{FirstCheckResult, checked, passed};
use crate::data::inc::inc_run;
use crate::data::series::{StudyGap, StudyRunPlan, StudySeries};
use crate::data::timing_row::{SEED, condition_labels, elapsed_values, long_enough, process_values};
use serde::Serialize;
use tarebench_core::profile::data::Cutoff;
use tarebench_core::run::discards::STRICT;
use tarebench_core::statistics::deviations::deviation_interval;
use tarebench_core::statistics::intervals::{Interval, mean_interval};
use tarebench_core::statistics::series::Values;

/// Condition of the series whose prefixes are compared.
pub const WHOLE_SERIES: &str = "whole series";
/// Condition of the second, independent series.
pub const CONFIRMATION: &str = "confirmation";
/// The 95% interval of the standard deviation of a prefix must lie within this factor of that of the whole series.
pub const SIZE_FACTOR: f64 = 2.0;
/// By how much the standard deviation of a prefix may differ from that of the whole series, as the papers compare them.
pub const PAPERS_TOLERANCE: f64 = 0.25;
/// The papers take no fewer, since the checks may discard some (EMP section 4.6.2).
pub const PAPERS_LEAST: usize = 10;
/// Sizes that are tried: those of EMP's tables, doubled on, and the report's.
const SIZES: [usize; 15] = [5, 10, 20, 40, 80, 100, 200, 400, 800, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

/// What EMPv6 finds for each program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleSizeReport {
    pub programs: Vec<SizedProgram>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizedProgram {
    pub label: String,
    /// As [`StudySeries::size`].
    pub size: Option<f64>,
    pub first_check: FirstCheckResult,
    pub process: SizeTable,
    pub elapsed: SizeTable,
}

/// One measure of a program by the number of samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeTable {
    /// Ascending; the last one is of the whole series.
    pub rows: Vec<SizeRow>,
    /// As the papers choose: the smallest size, 10 at least, from which on the standard deviation is within 25% of that of the
    /// whole series.
    pub by_papers: Option<usize>,
    /// The smallest size from which on the interval of the standard deviation lies within half and twice that of the whole
    /// series.
    pub recommended: Option<usize>,
    /// Whether another series of the recommended size agrees.
    pub confirmation: Result<SizeConfirmation, NoConfirmation>,
}

/// The first samples of a series, by EMPv5-strict; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    pub samples: usize,
    /// Discarded by check 1.
    pub by_cutoff: usize,
    /// Discarded by check 2, whose limits are of these samples alone.
    pub by_deviation: usize,
    pub mean: f64,
    /// `None` for fewer than 6 retained samples.
    pub mean_interval: Option<Interval>,
    /// `None` for a single sample.
    pub std_dev: Option<f64>,
    /// `None` for fewer than 6 retained samples, or equal ones.
    pub std_dev_interval: Option<Interval>,
    pub relative_error: Option<f64>,
}

/// A second series against the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeConfirmation {
    pub source: ConfirmedBy,
    pub row: SizeRow,
    /// What it is compared with: all samples that are not in it.
    pub against: SizeRow,
    /// Whether the means differ by no more than their 95% intervals allow.
    pub means_agree: bool,
    /// The same of the standard deviations.
    pub deviations_agree: bool,
}

impl SizeConfirmation {
    pub fn agrees(&self) -> bool {
        self.means_agree && self.deviations_agree
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmedBy {
    SecondRun,
    /// The last ones of the same series.
    LaterSamples,
}

/// Why nothing confirms a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoConfirmation {
    /// No size is recommended.
    NoSize,
    /// Too few samples are left for a second series.
    TooFew { have: usize, need: usize },
    /// Too few of them are retained for an interval, or they do not differ.
    NoInterval,
}

/// A long series, and a shorter one that confirms it. The paper's: 800 samples of INC128, then 300 of each length, 40 of the two
/// longest.
pub fn plan(preset: StudyPreset) -> Vec<StudyRunPlan> {
    let lengths = |from: i32, to: i32| (from..=to).map(|power| 2f64.powi(power)).collect::<Vec<_>>();
    match preset {
        StudyPreset::Minutes => {
            vec![inc_run(WHOLE_SERIES, &[0.125, 0.5], 200), inc_run(CONFIRMATION, &[0.125, 0.5], 80)]
        }
        StudyPreset::Hour => {
            vec![inc_run(WHOLE_SERIES, &[0.25, 1.0, 4.0], 400), inc_run(CONFIRMATION, &[0.25, 1.0, 4.0], 100)]
        }
        StudyPreset::Paper => vec![
            inc_run(WHOLE_SERIES, &[128.0], 800),
            inc_run(WHOLE_SERIES, &lengths(0, 6), 300),
            inc_run(WHOLE_SERIES, &lengths(8, 12), 300),
            inc_run(WHOLE_SERIES, &lengths(13, 14), 40),
            inc_run(CONFIRMATION, &lengths(0, 12), 40),
        ],
    }
}

/// Without cutoffs, so that check 1 discards nothing.
pub fn report(series: &[StudySeries<'_>]) -> Result<SampleSizeReport, StudyGap> {
    report_with(series, &[])
}

/// With the cutoffs of a profile of the machine. Series of the condition [`CONFIRMATION`] confirm those of the same program.
///
/// # Errors
/// [`StudyGap`] without a series of at least five samples, or if samples have no process time.
pub fn report_with(series: &[StudySeries<'_>], cutoffs: &[Cutoff]) -> Result<SampleSizeReport, StudyGap> {
    let used = long_enough(series, SIZES[0])?;
    let (second, mut first): (Vec<&StudySeries<'_>>, Vec<&StudySeries<'_>>) =
        used.iter().copied().partition(|s| s.condition == CONFIRMATION);
    if first.is_empty() {
        first = used;
    }
    let labels = condition_labels(&first);
    let sized = |(item, (s, condition)): (u64, (&&StudySeries<'_>, String))| {
        let same = |o: &&&StudySeries<'_>| {
            o.program == s.program && o.condition != s.condition && o.head.machine == s.head.machine
        };
        let other = second.iter().find(same);
        let condition = condition.strip_prefix(WHOLE_SERIES).unwrap_or(&condition).trim_start_matches(", ");
        let first_check = FirstCheckResult::new(s, cutoffs);
        let confirming = other.map(|o| (*o, FirstCheckResult::new(o, cutoffs)));
        let process = confirming
            .as_ref()
            .map(|(o, check)| Ok::<_, StudyGap>((process_values(o)?, &check.spoiled)))
            .transpose()?;
        let elapsed = confirming.as_ref().map(|(o, check)| (elapsed_values(o), &check.spoiled));
        let table = |values: &Values, other: Option<&(Values, &Vec<bool>)>, item: u64| {
            let other = other.map(|(values, spoiled)| CheckedSeries { values, spoiled, item: item + 1 });
            size_table(&CheckedSeries { values, spoiled: &first_check.spoiled, item }, other.as_ref())
        };
        Ok(SizedProgram {
            label: match condition {
                "" => s.program.label.clone(),
                other => format!("{} ({other})", s.program.label),
            },
            size: s.size(),
            process: table(&process_values(s)?, process.as_ref(), 4 * item),
            elapsed: table(&elapsed_values(s), elapsed.as_ref(), 4 * item + 2),
            first_check,
        })
    };
    let programs = (0..).zip(first.iter().zip(labels)).map(sized).collect::<Result<_, StudyGap>>()?;
    Ok(SampleSizeReport { programs })
}

/// One measure of a series.
struct CheckedSeries<'a> {
    values: &'a Values,
    spoiled: &'a [bool],
    /// Of its random numbers.
    item: u64,
}

impl CheckedSeries<'_> {
    /// The row of the samples from `from` to before `to`; `None` if none is left.
    fn row(&self, from: usize, to: usize) -> Option<SizeRow> {
        let within = |i: usize| i >= from && i < to;
        let values = self.values.only(&(0..self.values.len()).map(within).collect::<Vec<_>>());
        let spoiled: Vec<bool> = self.spoiled.iter().skip(from).take(to.saturating_sub(from)).copied().collect();
        let found = checked(&values, &spoiled, STRICT)?;
        let left = passed(&values, &spoiled);
        // Each length of each series has its own random numbers.
        let item = (self.item << 32) | u64::try_from(to).unwrap_or(0);
        Some(SizeRow {
            samples: found.samples,
            by_cutoff: found.by_cutoff,
            by_deviation: found.by_deviation,
            mean: found.summary.mean,
            mean_interval: mean_interval(&left, STRICT, SEED, item).ok(),
            std_dev: found.summary.std_dev,
            std_dev_interval: deviation_interval(&left, STRICT, SEED, item),
            relative_error: found.summary.relative_error,
        })
    }
}

fn size_table(series: &CheckedSeries<'_>, other: Option<&CheckedSeries<'_>>) -> SizeTable {
    let whole = series.values.len();
    let sizes = SIZES.into_iter().filter(|n| *n < whole).chain([whole]);
    let rows: Vec<SizeRow> = sizes.filter_map(|n| series.row(0, n)).collect();
    let whole = rows.last().and_then(|r| r.std_dev);
    let deviations: Vec<(usize, Option<f64>)> = rows.iter().map(|r| (r.samples, r.std_dev)).collect();
    let near = |(samples, interval): (usize, Option<&Interval>)| {
        let within = |i: &Interval| whole.is_some_and(|sd| i.low >= sd / SIZE_FACTOR && i.high <= sd * SIZE_FACTOR);
        (samples, interval.is_some_and(within))
    };
    let intervals = rows.iter().map(|r| (r.samples, r.std_dev_interval.as_ref()));
    let recommended = from_which_on(intervals.map(near));
    let confirmation = confirm(series, other, recommended);
    SizeTable { by_papers: papers_size(&deviations), recommended, confirmation, rows }
}

/// The smallest size from which on all are good; `None` if the largest one is not.
fn from_which_on(sizes: impl DoubleEndedIterator<Item = (usize, bool)>) -> Option<usize> {
    sizes.rev().take_while(|(_, good)| *good).last().map(|(size, _)| size)
}

/// The papers' choice from sizes and standard deviations, of which the last is that of the whole series.
pub fn papers_size(deviations: &[(usize, Option<f64>)]) -> Option<usize> {
    let whole = deviations.last()?.1.filter(|sd| *sd > 0.0)?;
    let near = |(size, sd): &(usize, Option<f64>)| {
        let within = sd.is_some_and(|sd| (sd / whole - 1.0).abs() <= PAPERS_TOLERANCE);
        (*size, within && *size >= PAPERS_LEAST)
    };
    from_which_on(deviations.iter().map(near))
}

fn confirm(
    series: &CheckedSeries<'_>,
    other: Option<&CheckedSeries<'_>>,
    size: Option<usize>,
) -> Result<SizeConfirmation, NoConfirmation> {
    let size = size.ok_or(NoConfirmation::NoSize)?;
    let whole = series.values.len();
    let (source, row, against) = match other {
        Some(o) if o.values.len() < size => {
            return Err(NoConfirmation::TooFew { have: o.values.len(), need: size });
        }
        Some(o) => (ConfirmedBy::SecondRun, o.row(0, size), series.row(0, whole)),
        // The size itself comes of the samples before.
        None if whole < 2 * size => {
            return Err(NoConfirmation::TooFew { have: whole.saturating_sub(size), need: size });
        }
        None => (ConfirmedBy::LaterSamples, series.row(whole - size, whole), series.row(0, whole - size)),
    };
    let (row, against) = row.zip(against).ok_or(NoConfirmation::NoInterval)?;
    let means = row.mean_interval.as_ref().zip(against.mean_interval.as_ref()).ok_or(NoConfirmation::NoInterval)?;
    let deviations = row.std_dev_interval.as_ref().zip(against.std_dev_interval.as_ref());
    let (a, b) = deviations.ok_or(NoConfirmation::NoInterval)?;
    let apart = (row.mean - against.mean).abs();
    let logarithmic = |i: &Interval| ((i.low * i.high).ln() / 2.0, (i.high / i.low).ln() / 2.0);
    let ((log_a, half_a), (log_b, half_b)) = (logarithmic(a), logarithmic(b));
    Ok(SizeConfirmation {
        source,
        // Of independent series, the half widths add up as standard errors do.
        means_agree: apart <= means.0.half_width().hypot(means.1.half_width()),
        deviations_agree: (log_a - log_b).abs() <= half_a.hypot(half_b),
        row,
        against,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::checked::tests::{cutoff, with_daemon};
    use crate::data::inc::computing;
    use crate::data::test_samples::{head, program, sample, series};
    use tarebench_core::sample::data::Sample;
    use tarebench_core::statistics::random::{RandomPurpose, generator, unit};

    fn noisy(item: u64, n: u32, deviation: f64) -> Vec<Sample> {
        let mut rng = generator(8, RandomPurpose::Noise, 960 + item);
        let mut time = || {
            let z = (-2.0 * unit(&mut rng).ln()).sqrt() * (2.0 * std::f64::consts::PI * unit(&mut rng)).cos();
            (1e9 + deviation * z) as i64
        };
        (0..n).map(|i| (i, time())).map(|(i, t)| sample(i, f64::from(i) * 2.0, t + 1_000, t)).collect()
    }

    /// EMP table XXI: of the deviations of 10 to 800 samples of INC128, ms, the paper chooses 10, for ET and PT.
    #[test]
    fn the_papers_choice_from_its_own_table() {
        let sizes = [10, 20, 30, 40, 100, 200, 400, 800];
        let elapsed = [2.7, 2.4, 2.7, 2.7, 2.5, 2.5, 2.5, 2.5];
        let process = [2.6, 2.4, 2.9, 2.7, 2.7, 2.5, 2.6, 2.6];
        for deviations in [elapsed, process] {
            let table: Vec<_> = sizes.into_iter().zip(deviations.map(Some)).collect();
            assert_eq!(papers_size(&table), Some(10));
        }
        // INC512 of table XXIII, whose 5 samples the paper calls different: 5.2 against 2.6.
        let table = [(5, 5.2), (10, 2.9), (20, 2.1), (40, 2.5), (75, 2.3), (150, 2.8), (300, 2.6)];
        assert_eq!(papers_size(&table.map(|(n, sd)| (n, Some(sd)))), Some(10));
        // INC1024 of ET, table XXIV: 247.7 of 5 samples, 4.9 of all.
        let table = [(5, 247.7), (10, 5.2), (20, 4.2), (40, 4.8), (75, 5.2), (150, 4.6), (300, 4.9)];
        assert_eq!(papers_size(&table.map(|(n, sd)| (n, Some(sd)))), Some(10));
        assert_eq!(papers_size(&[]), None);
        assert_eq!(papers_size(&[(5, Some(1.0))]), None);
    }

    #[test]
    fn prefixes_of_a_steady_series_and_their_confirmation() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let (first, second) = (noisy(0, 200, 1e6), noisy(1, 80, 1e6));
        let all = [series(WHOLE_SERIES, &p, &h, &first), series(CONFIRMATION, &p, &h, &second)];
        let found = report(&all).unwrap();
        assert_eq!(found.programs.len(), 1);
        let pt = &found.programs[0].process;
        assert_eq!(pt.rows.iter().map(|r| r.samples).collect::<Vec<_>>(), [5, 10, 20, 40, 80, 100, 200]);
        assert_eq!((pt.rows[0].mean_interval.clone(), pt.rows[0].std_dev_interval.clone()), (None, None));
        assert!(pt.recommended.is_some_and(|n| (10..=80).contains(&n)), "{:?}", pt.recommended);
        let confirmation = pt.confirmation.as_ref().unwrap();
        assert_eq!(confirmation.source, ConfirmedBy::SecondRun);
        assert_eq!(confirmation.row.samples, pt.recommended.unwrap());
        assert!(confirmation.agrees(), "{confirmation:?}");
    }

    #[test]
    fn a_slower_second_series_does_not_confirm() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let mut samples = noisy(2, 200, 1e6);
        samples.extend(noisy(3, 100, 1e6).into_iter().enumerate().map(|(i, s)| {
            let time = s.elapsed().0 + 20_000_000;
            sample(200 + i as u32, 400.0 + 2.0 * i as f64, time, time - 1_000)
        }));
        let all = [series("", &p, &h, &samples[..200]), series(CONFIRMATION, &p, &h, &samples[200..])];
        let confirmation = report(&all).unwrap().programs[0].process.confirmation.clone().unwrap();
        assert!(!confirmation.means_agree && confirmation.deviations_agree, "{confirmation:?}");
        // The later samples of the same series.
        let found = report(&[series("", &p, &h, &samples[..200])]).unwrap();
        let confirmation = found.programs[0].process.confirmation.clone().unwrap();
        assert_eq!(confirmation.source, ConfirmedBy::LaterSamples);
        assert_eq!(confirmation.row.samples + confirmation.against.samples, 200);
    }

    #[test]
    fn check_one_counts_by_prefix_and_too_few_are_said() {
        let (p, h) = (program("INC1", Some(1.0)), head("a"));
        let spoiled = |(i, s): (usize, Sample)| if i == 7 { with_daemon(s, "rhn_check", 50_000) } else { s };
        let samples: Vec<Sample> = noisy(4, 12, 1e6).into_iter().enumerate().map(spoiled).collect();
        let found = report_with(&[series("", &p, &h, &samples)], &[cutoff("rhn_check", 1_000.0)]).unwrap();
        let pt = &found.programs[0].process;
        assert_eq!(pt.rows.iter().map(|r| (r.samples, r.by_cutoff)).collect::<Vec<_>>(), [(5, 0), (10, 1), (12, 1)]);
        assert!(pt.confirmation.is_err(), "{:?}", pt.confirmation);
        let gap = StudyGap::TooFewSamples { label: "INC1".to_owned(), found: 4, needed: 5 };
        assert_eq!(report(&[series("", &p, &h, &samples[..4])]), Err(gap));
    }

    #[test]
    fn the_plans_take_as_long_as_they_say() {
        assert!((120.0..300.0).contains(&computing(&plan(StudyPreset::Minutes))));
        assert!((2400.0..3600.0).contains(&computing(&plan(StudyPreset::Hour))));
        assert_eq!(plan(StudyPreset::Paper)[0].samples, 800);
    }
}
