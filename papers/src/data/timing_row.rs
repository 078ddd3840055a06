//! Statistics of one series: the rows of EMP's and the report's tables.

use crate::data::series::{StudyGap, StudySeries};
use serde::Serialize;
use tarebench_core::statistics::intervals::{Interval, NoInterval, mean_interval, median_interval};
use tarebench_core::statistics::series::{Summary, Values, summary};
use tarebench_core::statistics::spread::robust_spread;

/// Seed of the intervals of all studies: the same samples always give the same interval.
pub(crate) const SEED: u64 = 1;

/// Times of one program, all of its samples, none discarded; times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingRow {
    pub label: String,
    /// As [`StudySeries::size`], s for INC.
    pub size: Option<f64>,
    pub summary: Summary,
    /// [`robust_spread`].
    pub robust_spread: Option<f64>,
    /// Of the mean, by bootstrap.
    pub mean_interval: Result<Interval, NoInterval>,
    /// Of the median, by order statistics.
    pub median_interval: Result<Interval, NoInterval>,
}

impl TimingRow {
    /// The row of these times of the series. `item` distinguishes the intervals of a report. `None` without any time.
    pub(crate) fn new(series: &StudySeries<'_>, times: &Values, item: u64) -> Option<TimingRow> {
        Some(TimingRow {
            label: series.program.label.clone(),
            size: series.size(),
            summary: summary(times)?,
            robust_spread: robust_spread(times),
            // Without check 2.
            mean_interval: mean_interval(times, 0.0, SEED, item),
            median_interval: median_interval(times),
        })
    }

    /// Task length and standard deviation, for a curve.
    pub fn deviation_by_size(&self) -> Option<(f64, f64)> {
        self.size.zip(self.summary.std_dev)
    }
}

/// The series that have at least so many samples.
///
/// # Errors
/// [`StudyGap`] if there is none.
pub(crate) fn long_enough<'b, 'a>(
    series: &'b [StudySeries<'a>],
    needed: usize,
) -> Result<Vec<&'b StudySeries<'a>>, StudyGap> {
    let usable: Vec<&StudySeries<'a>> = series.iter().filter(|s| s.samples.len() >= needed).collect();
    if !usable.is_empty() {
        return Ok(usable);
    }
    match series.iter().max_by_key(|s| s.samples.len()) {
        Some(s) if !s.samples.is_empty() => {
            Err(StudyGap::TooFewSamples { label: s.program.label.clone(), found: s.samples.len(), needed })
        }
        _ => Err(StudyGap::NoSamples),
    }
}

/// Process times of all samples, ns.
///
/// # Errors
/// [`StudyGap::NoProcessTime`] if one has none.
pub(crate) fn process_values(series: &StudySeries<'_>) -> Result<Values, StudyGap> {
    let times =
        series.process_times().ok_or_else(|| StudyGap::NoProcessTime { label: series.program.label.clone() })?;
    Ok(Values::from_nanos(times))
}

/// Elapsed times of all samples, ns.
pub(crate) fn elapsed_values(series: &StudySeries<'_>) -> Values {
    Values::from_nanos(series.elapsed())
}

/// What distinguishes the series: the condition, and the kernel and the machine where they differ. A series each.
pub(crate) fn condition_labels(series: &[&StudySeries<'_>]) -> Vec<String> {
    let kernel = |s: &StudySeries<'_>| s.head.conditions.as_deref().map(|c| c.host().kernel.clone());
    let differ = |text: &dyn Fn(&StudySeries<'_>) -> Option<String>| {
        series.windows(2).any(|pair| matches!(pair, [a, b] if text(a) != text(b)))
    };
    let kernels = differ(&kernel);
    let machines = differ(&|s| Some(s.head.machine.clone()));
    let label = |s: &&StudySeries<'_>| {
        let condition = Some(s.condition.to_owned()).filter(|c| !c.is_empty());
        // Conditions of stored runs may name the kernel already.
        let kernel = kernel(s).filter(|k| kernels && !s.condition.contains(k.as_str()));
        let machine = machines.then(|| s.head.machine.clone());
        [condition, kernel, machine].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    series.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_samples::{head, program, sample, series};

    #[test]
    fn a_row_of_all_samples() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let times = [10, 12, 11, 13, 14, 12, 100];
        let samples: Vec<_> = (0..).zip(times).map(|(i, t)| sample(i, f64::from(i), t + 5, t)).collect();
        let s = series("", &p, &h, &samples);
        let row = TimingRow::new(&s, &process_values(&s).unwrap(), 0).unwrap();
        assert_eq!((row.label.as_str(), row.size, row.summary.n), ("INC8", Some(8.0), 7));
        assert_eq!((row.summary.min, row.summary.max, row.summary.median), (10.0, 100.0, 12.0));
        assert!(row.mean_interval.unwrap().contains(row.summary.mean));
        assert_eq!(elapsed_values(&s).as_slice(), [15.0, 17.0, 16.0, 18.0, 19.0, 17.0, 105.0]);
    }

    #[test]
    fn too_short_series_are_left_out() {
        let (p, h) = (program("INC8", Some(8.0)), head("a"));
        let samples: Vec<_> = (0..3).map(|i| sample(i, 0.0, 10, 9)).collect();
        let all = [series("", &p, &h, &samples), series("", &p, &h, &samples[..1]), series("", &p, &h, &[])];
        assert_eq!(long_enough(&all, 2).unwrap().len(), 1);
        let gap = StudyGap::TooFewSamples { label: "INC8".to_owned(), found: 3, needed: 4 };
        assert_eq!(long_enough(&all, 4).unwrap_err(), gap);
        assert_eq!(long_enough(&all[2..], 1).unwrap_err(), StudyGap::NoSamples);
        assert_eq!(long_enough(&[], 1).unwrap_err(), StudyGap::NoSamples);
    }

    #[test]
    fn labels_say_what_differs() {
        let (p, a, b) = (program("INC1", Some(1.0)), head("a"), head("b"));
        let one = series("ntp off", &p, &a, &[]);
        let two = series("", &p, &b, &[]);
        assert_eq!(condition_labels(&[&one, &one]), ["ntp off", "ntp off"]);
        assert_eq!(condition_labels(&[&one, &two]), ["ntp off, a", "b"]);
        assert_eq!(condition_labels(&[&two]), [""]);
    }
}
