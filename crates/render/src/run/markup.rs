//! A run's table for documents: Markdown, AsciiDoc, Org mode.

use crate::compare::rows::{by_number, order as row_order, ranked};
use crate::counted;
use crate::printed;
use crate::run::metrics;
use tarebench_core::run::report::data::{
    ComparedNumber, Comparison, Measure, MeasureReport, RatioBasis, RunReport, SeriesReport,
};
use tarebench_report::markup::{ABSENT, Markup, MarkupTable};
use tarebench_report::number;
use tarebench_report::number::unit as middle_unit;
use tarebench_report::number::{TimeScale, TimeUnit};
use tarebench_report::style::Sort;

/// A GitHub-flavoured Markdown table with hyperfine's columns, PT and net time: elapsed time, process time, net time, ratio.
///
/// All times in `unit`, or in the one that fits best. Absent values are `–`. The heading of the ratio names its measure, and the duets
/// if it rests on them; if only some do, their cells name them.
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

/// The time on the quiet machine with its 95% interval.
fn quiet_time(s: &SeriesReport, unit: TimeUnit) -> Option<String> {
    let q = s.quiet.as_ref()?.as_ref().ok()?;
    let scale = TimeScale::of(q.value, Some(q.value * q.residual), Some(unit));
    let [value, low, high] = [q.value, q.interval.low, q.interval.high].map(|ns| scale.value(ns));
    Some(format!("{} ({} … {})", value?, low?, high?))
}

fn relative(report: &RunReport, index: usize) -> Option<String> {
    let Some(c) = report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == index) else {
        let reference = report.comparisons.first().map(|c| c.reference as usize);
        let itself = reference == Some(index) || ranked(report).len() == 1;
        return itself.then(|| "1.00".to_owned());
    };
    let half = c.interval.as_ref().ok().map(|i| (i.high - i.low) / 2.0);
    let decimals = number::ratio_decimals(c.ratio, half);
    let ratio = number::fixed(c.ratio, decimals)?;
    let ratio = match &c.interval {
        Ok(i) => match (number::fixed(i.low, decimals), number::fixed(i.high, decimals)) {
            (Some(low), Some(high)) => format!("{ratio} ({low} … {high})"),
            _ => ratio,
        },
        Err(_) => ratio,
    };
    let mixed = by_duets(report).is_none();
    Some(if mixed && c.basis == RatioBasis::Duets { format!("{ratio}, duets") } else { ratio })
}

/// Whether the ratios rest on duets; `None` if some do and others do not.
fn by_duets(report: &RunReport) -> Option<bool> {
    let by_duets = |c: &Comparison| c.basis == RatioBasis::Duets;
    let all = || report.comparisons.iter().chain(&report.control);
    let any = all().any(by_duets);
    (!any || all().all(by_duets)).then_some(any)
}

fn plain_name(number: ComparedNumber<'_>) -> String {
    match number {
        ComparedNumber::Printed(name) => printed::plain(name),
        ComparedNumber::Counter(counter) => counter.name().to_owned(),
    }
}

fn table(report: &RunReport, unit: Option<TimeUnit>, sort: Sort) -> MarkupTable {
    let sort = if sort == Sort::Auto { Sort::Command } else { sort };
    let means = report.series.iter().filter_map(|s| s.et.value()).map(|m| m.mean);
    let unit = middle_unit(means, unit);
    let by = match report.comparisons.first().map(|c| c.measure) {
        _ if by_number(report).is_some() => "",
        Some(m) if report.comparisons.iter().all(|c| c.measure == m) => match m {
            Measure::Pt | Measure::Net if by_duets(report) == Some(true) => {
                match report.comparisons.iter().filter(|c| c.net_duets()).count() {
                    0 => " (PT, duets)",
                    n if n == report.comparisons.len() => " (net, duets)",
                    _ => " (duets)",
                }
            }
            Measure::Pt => " (PT)",
            Measure::Et => " (ET)",
            Measure::Net => " (net)",
        },
        _ => "",
    };
    let mut heads = vec![
        "Command".to_owned(),
        format!("Mean [{unit}]"),
        format!("Min [{unit}]"),
        format!("Max [{unit}]"),
        format!("PT [{unit}]"),
        format!("Net [{unit}]"),
        by_number(report)
            .map_or_else(|| format!("Relative{by}"), |number| format!("Relative ({})", plain_name(number))),
    ];
    let counter = by_number(report).filter(|n| matches!(n, ComparedNumber::Counter(_)));
    heads.extend(counter.map(plain_name));
    let printed = metrics::names(report);
    heads.extend(printed.iter().map(|name| printed::plain(name)));
    let corrected = report.series.iter().any(|s| matches!(s.quiet, Some(Ok(_))));
    if corrected {
        heads.push(format!("Quiet [{unit}]"));
    }
    let row = |i: usize| {
        let s = &report.series[i];
        let mut cells = cells(report, s, i, unit);
        cells.extend(counter.map(|number| counted::mean(s, number, "±").unwrap_or_else(|| ABSENT.to_owned())));
        cells.extend(printed.iter().map(|name| printed::mean(s, name, "±").unwrap_or_else(|| ABSENT.to_owned())));
        if corrected {
            cells.push(quiet_time(s, unit).unwrap_or_else(|| ABSENT.to_owned()));
        }
        (s.program.label.clone(), cells)
    };
    MarkupTable { heads, rows: row_order(report, sort).into_iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{fixtures, quiet_fixtures};

    fn ratios(report: &RunReport) -> (String, Vec<String>) {
        let t = table(report, None, Sort::Command);
        let last = |cells: &[String]| cells.last().cloned().unwrap_or_default();
        (last(&t.heads), t.rows.iter().map(|(_, cells)| last(cells)).collect())
    }

    #[test]
    fn corrected_times_have_a_column_where_there_are_any() {
        let t = table(&quiet_fixtures::two(), None, Sort::Command);
        assert_eq!(t.heads.last().map(String::as_str), Some("Quiet [ms]"));
        let last: Vec<&str> = t.rows.iter().filter_map(|(_, cells)| Some(cells.last()?.as_str())).collect();
        assert_eq!(last, ["286.40 (285.90 … 286.90)", ABSENT]);
        let mut refused = quiet_fixtures::two();
        refused.series.remove(0);
        refused.comparisons.clear();
        assert!(!table(&refused, None, Sort::Command).heads.iter().any(|h| h.starts_with("Quiet")));
    }

    #[test]
    fn ratios_say_what_they_rest_on() {
        let (head, cells) = ratios(&fixtures::duets());
        assert_eq!(head, "Relative (PT, duets)");
        assert_eq!(cells, ["1.00", "1.0083 (1.0063 … 1.0111)"]);
        let mut by_elapsed = fixtures::duets();
        by_elapsed.compare_by(Measure::Et).unwrap();
        let (head, cells) = ratios(&by_elapsed);
        assert_eq!((head.as_str(), cells[1].as_str()), ("Relative (ET)", "1.020 (0.990 … 1.050)"));
        let (head, cells) = ratios(&fixtures::ten_with_duets());
        assert_eq!(head, "Relative (PT)");
        let named = cells.iter().filter(|c| c.ends_with(", duets")).count();
        assert_eq!((named, cells[4].as_str()), (8, "1.010 (0.950 … 1.060)"), "{cells:?}");
        let (head, cells) = ratios(&fixtures::three());
        assert!(head == "Relative (PT)" && cells.iter().all(|c| !c.contains("duet")), "{cells:?}");
    }
}
