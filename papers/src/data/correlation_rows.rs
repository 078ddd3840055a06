//! What the studies of correlation share: a row for each series that has what they need, and how a correlation changes with the task
//! length.

use crate::data::series::{StudyGap, StudySeries};
use crate::data::timing_row::{condition_labels, long_enough};
use tarebench_core::statistics::correlation::{CorrelationEstimate, CorrelationGrowth, growth};

/// Rows by task length, and the labels of the series that have none. `what` is what these lack. `row` gets the series, its condition,
/// and the number of the first of two intervals.
///
/// # Errors
/// [`StudyGap`] if no series has a row, or if there are too few samples.
pub(crate) fn rows_by_size<R>(
    series: &[StudySeries<'_>],
    what: &str,
    row: impl Fn(&StudySeries<'_>, String, u64) -> Option<R>,
    size: impl Fn(&R) -> Option<f64>,
) -> Result<(Vec<R>, Vec<String>), StudyGap> {
    let usable = long_enough(series, 2)?;
    let labels = condition_labels(&usable);
    let (mut rows, mut without) = (Vec::new(), Vec::new());
    for ((s, condition), item) in usable.iter().zip(labels).zip(0_u64..) {
        match row(s, condition, item * 2) {
            Some(row) => rows.push(row),
            None => without.push(s.program.label.clone()),
        }
    }
    if rows.is_empty() {
        let label = without.into_iter().next().unwrap_or_default();
        return Err(StudyGap::Lacking { label, what: what.to_owned() });
    }
    rows.sort_by(|a, b| size(a).unwrap_or(0.0).total_cmp(&size(b).unwrap_or(0.0)));
    Ok((rows, without))
}

/// How the correlation that `pick` takes, with the task length, from each row changes with it.
pub(crate) fn growth_by<R>(
    rows: &[R],
    pick: impl Fn(&R) -> Option<(f64, CorrelationEstimate)>,
) -> Option<CorrelationGrowth> {
    let known: Vec<(f64, CorrelationEstimate)> = rows.iter().filter_map(pick).collect();
    growth(&known.iter().map(|(size, e)| (*size, e)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_samples::{head, program, sample, series};

    #[test]
    fn series_without_a_row_are_named() {
        let (one, two, four) = (program("INC1", Some(1.0)), program("INC2", Some(2.0)), program("INC4", Some(4.0)));
        let (h, samples) = (head("a"), [sample(0, 0.0, 10, 9), sample(1, 1.0, 10, 9)]);
        let all = [series("x", &four, &h, &samples), series("x", &two, &h, &samples), series("x", &one, &h, &samples)];
        let row = |s: &StudySeries<'_>, condition: String, item: u64| {
            (s.size()? > 1.5).then_some((s.size()?, condition, item))
        };
        let (rows, without) = rows_by_size(&all, "a size", row, |r| Some(r.0)).unwrap();
        assert_eq!(rows, [(2.0, "x".to_owned(), 2), (4.0, "x".to_owned(), 0)]);
        assert_eq!(without, ["INC1"]);
        let gap = StudyGap::Lacking { label: "INC1".to_owned(), what: "a size".to_owned() };
        assert_eq!(rows_by_size(&all[2..], "a size", row, |r| Some(r.0)), Err(gap));
    }
}
