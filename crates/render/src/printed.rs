//! Numbers that programs print of themselves, and their names: their unit is not known.

use tarebench_core::run::report::data::SeriesReport;
use tarebench_core::run::report::metrics::{MetricFigures, MetricSummary};
use tarebench_report::cell::{Cell, Figure, Unit};

pub(crate) fn summary<'a>(s: &'a SeriesReport, name: &str) -> Option<&'a MetricSummary> {
    s.metrics.iter().find(|m| m.name == name)
}

pub(crate) fn figures<'a>(s: &'a SeriesReport, name: &str) -> Option<&'a MetricFigures> {
    summary(s, name).and_then(|m| m.figures.value())
}

/// Mean and standard deviation.
pub(crate) fn mean(m: &MetricFigures) -> Figure {
    Figure::new(Unit::Plain, m.mean).with_spread(m.std_dev)
}

/// Mean and standard deviation, median and its interval, the smallest and the largest.
pub(crate) fn cells(unit: Unit, m: &MetricFigures) -> [Cell; 4] {
    let end = |v: f64| Cell::figure(Figure { digits: m.std_dev, ..Figure::new(unit, v) });
    let median = Figure::new(unit, m.median).with_interval(&m.median_interval);
    [Cell::figure(Figure { unit, ..mean(m) }), Cell::figure(median), end(m.min), end(m.max)]
}
