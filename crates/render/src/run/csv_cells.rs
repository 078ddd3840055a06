//! Cells of CSV with the names of their columns.

use tarebench_core::run::report::metrics::MetricFigures;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::csv::{cell, number};

/// A column's name, and its cell in a row.
pub(crate) type NamedCell = (String, String);

/// Cells whose names are fixed.
pub(crate) fn named<const N: usize>(cells: [(&str, String); N]) -> Vec<NamedCell> {
    cells.map(|(name, cell)| (name.to_owned(), cell)).to_vec()
}

/// An estimate and its interval: `ratio`, `ratio_low`, `ratio_high`.
pub(crate) fn estimate(name: &str, found: Option<(f64, &Result<Interval, NoInterval>)>) -> [NamedCell; 3] {
    let bounds = found.and_then(|(_, interval)| interval.as_ref().ok());
    [
        (name.to_owned(), cell(found, |(value, _)| number(value))),
        (format!("{name}_low"), cell(bounds, |i| number(i.low))),
        (format!("{name}_high"), cell(bounds, |i| number(i.high))),
    ]
}

/// Mean, standard deviation and median of what a program prints or counts.
pub(crate) fn figures(name: &str, f: Option<&MetricFigures>) -> Vec<NamedCell> {
    let mut cells = vec![
        (format!("{name}_mean"), cell(f, |f| number(f.mean))),
        (format!("{name}_stddev"), cell(f.and_then(|f| f.std_dev), number)),
    ];
    cells.extend(estimate(&format!("{name}_median"), f.map(|f| (f.median, &f.median_interval))));
    cells
}
