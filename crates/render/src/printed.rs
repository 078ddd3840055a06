//! Numbers that programs print of themselves, and their names: their unit is not known.

use tarebench_core::run::report::data::SeriesReport;
use tarebench_core::run::report::metrics::{MetricFigures, MetricSummary};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::number;

/// How the numbers of one row are written.
#[derive(Clone, Copy)]
pub(crate) struct MetricScale {
    decimals: usize,
    /// With a power of ten, as they are very large or very small.
    power: bool,
}

impl MetricScale {
    pub fn of(m: &MetricFigures) -> MetricScale {
        let largest = [m.mean, m.min, m.max].into_iter().map(f64::abs).fold(0.0, f64::max);
        MetricScale::new(m.mean, m.std_dev, largest)
    }

    fn new(value: f64, spread: Option<f64>, largest: f64) -> MetricScale {
        let power = largest >= 1e12 || (largest > 0.0 && largest < 1e-4);
        MetricScale { decimals: number::decimals(value, spread).min(9), power }
    }

    pub fn value(self, v: f64) -> String {
        match self.power {
            true => format!("{v:.3e}"),
            false => number::fixed(v, self.decimals).unwrap_or_default(),
        }
    }
}

pub(crate) fn summary<'a>(s: &'a SeriesReport, name: &str) -> Option<&'a MetricSummary> {
    s.metrics.iter().find(|m| m.name == name)
}

pub(crate) fn figures<'a>(s: &'a SeriesReport, name: &str) -> Option<&'a MetricFigures> {
    summary(s, name).and_then(|m| m.figures.value())
}

/// Mean and standard deviation, as documents and tables have them.
pub(crate) fn mean(s: &SeriesReport, name: &str, plus_minus: &str) -> Option<String> {
    let m = figures(s, name)?;
    let scale = MetricScale::of(m);
    let mean = scale.value(m.mean);
    Some(m.std_dev.map_or(mean.clone(), |sd| format!("{mean} {plus_minus} {}", scale.value(sd))))
}

/// The same for every output.
pub(crate) fn mean_cell(s: &SeriesReport, name: &str) -> Option<Cell> {
    figures(s, name).map(|m| Cell::figure(figure(m)))
}

/// Mean and standard deviation.
pub(crate) fn figure(m: &MetricFigures) -> Figure {
    Figure::new(Unit::Plain, m.mean).with_spread(m.std_dev)
}
