//! A run's table for documents: Markdown, AsciiDoc, Org mode.

use crate::compare::rows::{by_number, order as row_order, ranked};
use crate::counted;
use crate::run::metrics;
use tarebench_core::run::report::data::{
    ComparedNumber, Comparison, Measure, MeasureReport, RatioBasis, RunReport, SeriesReport,
};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::document;
use tarebench_report::markup::Markup;
use tarebench_report::number::TimeUnit;
use tarebench_report::number::unit as middle_unit;
use tarebench_report::style::Sort;
use tarebench_report::table::{Column, Table};

/// The run's table with hyperfine's columns, PT and net time: elapsed time, process time, net time, ratio.
///
/// All times in `unit`, or in the one that fits best. Absent values are `–`. The heading of the ratio names its measure, and the duets
/// if it rests on them; if only some do, their cells name them.
pub fn markup(report: &RunReport, markup: Markup, unit: Option<TimeUnit>, sort: Sort) -> String {
    let means = report.series.iter().filter_map(|s| s.et.value()).map(|m| m.mean);
    document::table(&table(report, sort), markup, Some(middle_unit(means, unit)))
}

/// Mean with its standard deviation.
fn mean(m: &MeasureReport) -> Cell {
    Cell::figure(Figure::new(Unit::Time, m.mean).with_spread(m.std_dev))
}

fn cells(report: &RunReport, s: &SeriesReport, index: usize) -> Vec<Cell> {
    let (et, pt) = (s.et.value(), s.pt.value());
    let end = |m: &MeasureReport, ns: f64| Cell::figure(Figure { digits: m.std_dev, ..Figure::new(Unit::Time, ns) });
    vec![
        Cell::foreign(&s.program.label),
        et.map(mean).into(),
        et.map(|m| end(m, m.min)).into(),
        et.map(|m| end(m, m.max)).into(),
        pt.map(mean).into(),
        s.net.value().map(mean).into(),
        relative(report, index).into(),
    ]
}

/// The time on the quiet machine with its 95% interval.
fn quiet_time(s: &SeriesReport) -> Option<Cell> {
    let q = s.quiet.as_ref()?.as_ref().ok()?;
    Some(Cell::figure(Figure::new(Unit::Time, q.value).with_interval(&Ok(q.interval.clone()))))
}

fn relative(report: &RunReport, index: usize) -> Option<Cell> {
    let Some(c) = report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == index) else {
        let reference = report.comparisons.first().map(|c| c.reference as usize);
        let itself = reference == Some(index) || ranked(report).len() == 1;
        return itself.then(|| Cell::of(Unit::Ratio, 1.0));
    };
    let ratio = Cell::figure(Figure::new(Unit::Ratio, c.ratio).with_interval(&c.interval));
    let mixed = by_duets(report).is_none();
    Some(if mixed && c.basis == RatioBasis::Duets { ratio.and(", duets") } else { ratio })
}

/// Whether the ratios rest on duets; `None` if some do and others do not.
fn by_duets(report: &RunReport) -> Option<bool> {
    let by_duets = |c: &Comparison| c.basis == RatioBasis::Duets;
    let all = || report.comparisons.iter().chain(&report.control);
    let any = all().any(by_duets);
    (!any || all().all(by_duets)).then_some(any)
}

/// What the ratios are of: ` (PT, duets)`.
fn basis(report: &RunReport) -> &'static str {
    let Some(m) = report.comparisons.first().map(|c| c.measure) else { return "" };
    if report.comparisons.iter().any(|c| c.measure != m) {
        return "";
    }
    match m {
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
    }
}

fn table(report: &RunReport, sort: Sort) -> Table {
    let sort = if sort == Sort::Auto { Sort::Command } else { sort };
    let relative = match by_number(report) {
        Some(number) => Cell::text("Relative (").and(counted::name_of(number)).and(")"),
        None => Cell::text(format!("Relative{}", basis(report))),
    };
    let times = ["Mean", "Min", "Max", "PT", "Net"].map(|head| Column::new(head).shared_unit());
    let mut columns = vec![Column::new("Command")];
    columns.extend(times);
    columns.push(Column::new(relative));
    let counter = by_number(report).filter(|n| matches!(n, ComparedNumber::Counter(_)));
    columns.extend(counter.map(|number| Column::new(counted::name_of(number))));
    let printed = metrics::names(report);
    columns.extend(printed.iter().map(|name| Column::new(Cell::foreign(*name))));
    let corrected = report.series.iter().any(|s| matches!(s.quiet, Some(Ok(_))));
    columns.extend(corrected.then(|| Column::new("Quiet").shared_unit()));
    let mut table = Table::of("", "", columns);
    for i in row_order(report, sort) {
        let s = &report.series[i];
        let mut cells = cells(report, s, i);
        cells.extend(counter.map(|number| Cell::from(counted::mean(s, number))));
        cells.extend(printed.iter().map(|name| Cell::from(counted::mean(s, ComparedNumber::Printed(name)))));
        cells.extend(corrected.then(|| Cell::from(quiet_time(s))));
        table.row(cells, Vec::new());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{fixtures, quiet_fixtures};
    use tarebench_report::style::ABSENT;

    fn ratios(report: &RunReport) -> (String, Vec<String>) {
        let t = table(report, Sort::Command);
        let cells = t.rows.iter().map(|row| row.cells.last().map(Cell::plain).unwrap_or_default());
        (t.columns.last().map(|c| c.title.plain()).unwrap_or_default(), cells.collect())
    }

    #[test]
    fn corrected_times_have_a_column_where_there_are_any() {
        let (head, cells) = ratios(&quiet_fixtures::two());
        assert_eq!(head, "Quiet");
        assert_eq!(cells, ["286.40 ms [285.90, 286.90]", ABSENT]);
        let mut refused = quiet_fixtures::two();
        refused.series.remove(0);
        refused.comparisons.clear();
        assert_ne!(ratios(&refused).0, "Quiet");
    }

    #[test]
    fn ratios_say_what_they_rest_on() {
        let (head, cells) = ratios(&fixtures::duets());
        assert_eq!(head, "Relative (PT, duets)");
        assert_eq!(cells, ["1.00", "1.0083 [1.0063, 1.0111]"]);
        let mut by_elapsed = fixtures::duets();
        by_elapsed.compare_by(Measure::Et).unwrap();
        let (head, cells) = ratios(&by_elapsed);
        assert_eq!((head.as_str(), cells[1].as_str()), ("Relative (ET)", "1.020 [0.990, 1.050]"));
        let (head, cells) = ratios(&fixtures::ten_with_duets());
        assert_eq!(head, "Relative (PT)");
        let named = cells.iter().filter(|c| c.ends_with(", duets")).count();
        assert_eq!((named, cells[4].as_str()), (8, "1.010 [0.950, 1.060]"), "{cells:?}");
        let (head, cells) = ratios(&fixtures::three());
        assert!(head == "Relative (PT)" && cells.iter().all(|c| !c.contains("duet")), "{cells:?}");
    }
}
