//! A run's table for documents: Markdown, AsciiDoc, Org mode.

use crate::compare::rows::order as row_order;
use crate::kit::markup::{ABSENT, Markup, MarkupTable};
use crate::kit::number;
use crate::kit::number::unit as middle_unit;
use crate::kit::number::{TimeScale, TimeUnit};
use crate::kit::style::Sort;
use tarebench_core::run::report::data::{Measure, MeasureReport, RunReport, SeriesReport};

/// A GitHub-flavoured Markdown table with hyperfine's columns, PT and net time: elapsed time, process time, net time, ratio.
///
/// All times in `unit`, or in the one that fits best. Absent values are `–`.
pub fn markdown(report: &RunReport, unit: Option<TimeUnit>, sort: Sort) -> String {
    table(report, unit, sort).write(Markup::Markdown)
}

/// An AsciiDoc table of the same content as [`markdown`].
pub fn asciidoc(report: &RunReport, unit: Option<TimeUnit>, sort: Sort) -> String {
    table(report, unit, sort).write(Markup::Asciidoc)
}

/// An Org mode table of the same content as [`markdown`].
pub fn orgmode(report: &RunReport, unit: Option<TimeUnit>, sort: Sort) -> String {
    table(report, unit, sort).write(Markup::Org)
}

fn cells(report: &RunReport, s: &SeriesReport, index: usize, unit: TimeUnit) -> Vec<String> {
    let absent = || ABSENT.to_owned();
    let scale = |m: &MeasureReport| TimeScale::of(m.mean, m.std_dev, Some(unit));
    let value = |m: &MeasureReport, v: f64| scale(m).value(v).unwrap_or_else(absent);
    let mean = |m: &MeasureReport| match m.std_dev {
        Some(d) => format!("{} ± {}", value(m, m.mean), value(m, d)),
        None => value(m, m.mean),
    };
    let (et, pt) = (s.et.value(), s.pt.value());
    vec![
        et.map_or_else(absent, mean),
        et.map_or_else(absent, |m| value(m, m.min)),
        et.map_or_else(absent, |m| value(m, m.max)),
        pt.map_or_else(absent, mean),
        s.net.value().map_or_else(absent, mean),
        relative(report, index).unwrap_or_else(absent),
    ]
}

fn relative(report: &RunReport, index: usize) -> Option<String> {
    let Some(c) = report.comparisons.iter().find(|c| c.series as usize == index) else {
        let reference = report.comparisons.first().map(|c| c.reference as usize);
        let itself = reference == Some(index) || report.series.len() == 1;
        return itself.then(|| "1.00".to_owned());
    };
    let half = c.interval.as_ref().ok().map(|i| (i.high - i.low) / 2.0);
    let decimals = number::ratio_decimals(c.ratio, half);
    let ratio = number::fixed(c.ratio, decimals)?;
    Some(match &c.interval {
        Ok(i) => match (number::fixed(i.low, decimals), number::fixed(i.high, decimals)) {
            (Some(low), Some(high)) => format!("{ratio} ({low} … {high})"),
            _ => ratio,
        },
        Err(_) => ratio,
    })
}

fn table(report: &RunReport, unit: Option<TimeUnit>, sort: Sort) -> MarkupTable {
    let sort = if sort == Sort::Auto { Sort::Command } else { sort };
    let means = report.series.iter().filter_map(|s| s.et.value()).map(|m| m.mean);
    let unit = middle_unit(means, unit);
    let by = match report.comparisons.first().map(|c| c.measure) {
        Some(m) if report.comparisons.iter().all(|c| c.measure == m) => match m {
            Measure::Pt => " (PT)",
            Measure::Et => " (ET)",
            Measure::Net => " (net)",
        },
        _ => "",
    };
    let heads = vec![
        "Command".to_owned(),
        format!("Mean [{unit}]"),
        format!("Min [{unit}]"),
        format!("Max [{unit}]"),
        format!("PT [{unit}]"),
        format!("Net [{unit}]"),
        format!("Relative{by}"),
    ];
    let row = |i: usize| {
        let s = &report.series[i];
        (s.program.label.clone(), cells(report, s, i, unit))
    };
    MarkupTable { heads, rows: row_order(report, sort).into_iter().map(row).collect() }
}
