//! Values that the programs print of themselves: their statistics in a series, and their ratios to the reference.
//!
//! They are numbers without a unit that tare knows, of the samples whose elapsed time is retained. Larger may be better or worse:
//! there is no verdict, only ratio and interval, unless the user compares the programs by it ([`RunReport::compare_by_metric`]).
//!
//! [`RunReport::compare_by_metric`]: crate::run::report::data::RunReport::compare_by_metric

use crate::base::reading::{Absent, Reading};
use crate::compare::ratio::Ratio;
use crate::run::report::grouping::{FirstFound, count, place};
use crate::sample::data::Sample;
use crate::statistics::dependence::dependence_in_blocks;
use crate::statistics::intervals::{Interval, NoInterval, median_interval};
use crate::statistics::series::{Values, summary};
use serde::{Deserialize, Serialize};

/// Magnitude from which a printed number takes no part in statistics: its square would overflow.
const LARGEST: f64 = 1e150;

/// A printed value over the retained samples of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// As the user called it.
    pub name: String,
    /// Absent if no retained sample printed it.
    pub figures: Reading<MetricFigures>,
    /// Retained samples without the value.
    pub missing: u32,
    /// Why the first of these has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Absent>,
}

/// Statistics of a printed value, in its own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFigures {
    /// Retained samples that have it.
    pub values: u32,
    pub mean: f64,
    /// Standard deviation (n - 1); `None` for a single value.
    pub std_dev: Option<f64>,
    pub median: f64,
    /// 95% interval of the median: order statistics, stretched for samples that resemble each other.
    pub median_interval: Result<Interval, NoInterval>,
    pub min: f64,
    pub max: f64,
}

/// Ratio of a printed value to that of the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRatio {
    pub name: String,
    /// Median of the ratios of samples of the same round, program / reference.
    pub ratio: f64,
    /// Sign-test interval of that ratio; those of all programs hold together with 95%.
    pub interval: Result<Interval, NoInterval>,
    /// Pairs used: both values are greater than 0.
    pub pairs: u32,
}

/// Why programs cannot be compared by what they print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMetricRatio {
    /// No retained sample of this program has the value.
    Absent { series: u32 },
    /// A retained sample of this program has a value that is zero or negative.
    NotPositive { series: u32 },
    /// In no round both this program and the reference have it.
    NoPairs { series: u32 },
}

/// The values of one name in a series: block, value.
pub(crate) type MetricValues = (String, Vec<(u32, f64)>);

/// Block, position in the run, and value.
pub(crate) type PlacedValue = (u32, u32, f64);

/// The printed values of the retained samples of a series, and of those by which programs are compared.
#[derive(Default)]
pub(crate) struct MetricsTally(Vec<NamedTally>);

#[derive(Default)]
struct NamedTally {
    name: String,
    values: Vec<PlacedValue>,
    compared: Vec<(u32, f64)>,
    missing: u32,
    why: FirstFound<Absent>,
}

impl MetricsTally {
    pub fn add(&mut self, sample: &Sample) {
        for reading in &sample.metrics {
            let Some(tally) = self.tally(&reading.name) else { continue };
            match reading.number().filter(|n| n.abs() < LARGEST) {
                Some(number) => tally.values.push((sample.block_number(), sample.seq, number)),
                None => {
                    tally.missing = tally.missing.saturating_add(1);
                    let refused = || Absent::Failed("a printed number is too large to compute with".to_owned());
                    tally.why.offer(place(sample), || reading.text.absent().cloned().unwrap_or_else(refused));
                }
            }
        }
    }

    /// Takes a sample by which programs are compared.
    pub fn compare(&mut self, sample: &Sample) {
        for reading in &sample.metrics {
            let number = reading.number().filter(|n| n.abs() < LARGEST);
            if let Some((number, tally)) = number.and_then(|n| Some((n, self.tally(&reading.name)?))) {
                tally.compared.push((sample.block_number(), number));
            }
        }
    }

    fn tally(&mut self, name: &str) -> Option<&mut NamedTally> {
        let at = self.0.iter().position(|t| t.name == name).unwrap_or_else(|| {
            self.0.push(NamedTally { name: name.to_owned(), ..NamedTally::default() });
            self.0.len() - 1
        });
        self.0.get_mut(at)
    }

    /// The statistics, and the values by which programs are compared, by block.
    pub fn report(self) -> (Vec<MetricSummary>, Vec<MetricValues>) {
        let report = |mut tally: NamedTally| {
            tally.compared.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let why = tally.why.get().cloned();
            let figures = match figures(&mut tally.values) {
                Some(figures) => Reading::Value(figures),
                None => tally.why.absent(),
            };
            let summary = MetricSummary { name: tally.name.clone(), figures, missing: tally.missing, why };
            (summary, (tally.name, tally.compared))
        };
        self.0.into_iter().map(report).unzip()
    }
}

/// Of values in any order.
pub(crate) fn figures(values: &mut [PlacedValue]) -> Option<MetricFigures> {
    values.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    let in_blocks: Vec<(u32, f64)> = values.iter().map(|(block, _, value)| (*block, *value)).collect();
    let values = Values::new(in_blocks.iter().map(|v| v.1)).ok()?;
    let s = summary(&values)?;
    let stretch = dependence_in_blocks(&in_blocks).map_or(1.0, |d| d.stretch);
    Some(MetricFigures {
        values: count(values.len()),
        mean: s.mean,
        std_dev: s.std_dev,
        median: s.median,
        median_interval: median_interval(&values).map(|i| i.stretched(s.median, stretch)),
        min: s.min,
        max: s.max,
    })
}

/// The ratios of the values that both programs print, in the program's order of names; `compare` gives that of two series of values.
pub(crate) fn metric_ratios(
    program: &[MetricValues],
    reference: &[MetricValues],
    compare: impl Fn(&[(u32, f64)], &[(u32, f64)]) -> Option<Ratio>,
) -> Vec<MetricRatio> {
    let ratio = |(name, values): &MetricValues| {
        let base = reference.iter().find(|r| r.0 == *name)?;
        let found = compare(values, &base.1)?;
        Some(MetricRatio { name: name.clone(), ratio: found.ratio, interval: found.interval, pairs: found.pairs })
    };
    program.iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ratio::compare;
    use crate::run::blocks::block_means;

    fn tallied(values: &[(u32, f64)]) -> NamedTally {
        let compared = values.to_vec();
        let values = (0..).zip(values).map(|(seq, (block, value))| (*block, seq, *value)).collect();
        NamedTally { name: "n".to_owned(), values, compared, ..NamedTally::default() }
    }

    fn compare_blocks(program: &[(u32, f64)], reference: &[(u32, f64)]) -> Option<Ratio> {
        compare(&block_means(program), &block_means(reference))
    }

    #[test]
    fn statistics_of_printed_values() {
        // Up and down by turns: no resemblance of neighbours.
        let value = |i: u32| f64::from(if i.is_multiple_of(2) { i / 2 } else { 9 - i / 2 });
        let values: Vec<(u32, f64)> = (0..10).rev().map(|i| (i, value(i))).collect();
        let (summaries, kept) = MetricsTally(vec![tallied(&values)]).report();
        let figures = summaries[0].figures.value().unwrap();
        assert_eq!((figures.values, figures.mean, figures.median), (10, 4.5, 4.5));
        assert_eq!((figures.min, figures.max), (0.0, 9.0));
        assert!((figures.std_dev.unwrap() - (82.5_f64 / 9.0).sqrt()).abs() < 1e-12);
        // Ten values: ranks 1 and 8 (from 0), 1002/1024.
        assert_eq!(figures.median_interval.as_ref().map(|i| (i.low, i.high)), Ok((1.0, 8.0)));
        assert_eq!(kept[0].1[0], (0, 0.0));
    }

    #[test]
    fn nothing_is_not_zero() {
        let mut tally = tallied(&[]);
        tally.missing = 2;
        tally.why.offer((0, 0), || Absent::Failed("no".to_owned()));
        let (summaries, _) = MetricsTally(vec![tally]).report();
        assert_eq!(summaries[0].figures, Reading::Absent(Absent::Failed("no".to_owned())));
        assert_eq!((summaries[0].missing, summaries[0].why.clone()), (2, Some(Absent::Failed("no".to_owned()))));
    }

    #[test]
    fn ratios_are_of_values_of_the_same_round() {
        let named =
            |name: &str, f: f64| (name.to_owned(), (0..8).map(|i| (i, f * f64::from(i + 1))).collect::<Vec<_>>());
        let ratios = metric_ratios(&[named("a", 3.0), named("b", 1.0)], &[named("a", 2.0)], compare_blocks);
        assert_eq!(ratios.len(), 1);
        assert!((ratios[0].ratio - 1.5).abs() < 1e-12 && ratios[0].pairs == 8 && ratios[0].interval.is_ok());
        // Several of a block are one value of it.
        let of_blocks =
            |f: f64| ("a".to_owned(), (0..8).map(|i| (i / 4, f * f64::from(1 << (i % 4)))).collect::<Vec<_>>());
        let ratios = metric_ratios(&[of_blocks(3.0)], &[of_blocks(2.0)], compare_blocks);
        assert!((ratios[0].ratio - 1.5).abs() < 1e-12 && ratios[0].pairs == 2);
        // Values of 0 have no ratio, and neither have values of different rounds.
        let zero = ("a".to_owned(), vec![(0, 0.0), (1, 1.0)]);
        let other = ("a".to_owned(), vec![(0, 1.0), (2, 1.0)]);
        assert!(metric_ratios(&[zero], &[other], compare_blocks).is_empty());
    }
}
