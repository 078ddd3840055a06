//! What programs printed of themselves: numbers without a unit that tare knows.

use crate::printed::{cells, figures, summary};
use crate::run::csv_cells;
use crate::run::csv_cells::NamedCell;
use tarebench_core::run::report::data::RunReport;
use tarebench_core::run::report::metrics::{MetricRatio, MetricSummary};
use tarebench_core::sample::data::Sample;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::csv::{cell, number as exact};
use tarebench_report::table::{Column, Table};
use tarebench_report::text;
use tarebench_report::words::{capital, plural};

/// The names of all metrics, in the order of the programs' own.
pub(crate) fn names(report: &RunReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.run.plan.metrics.iter().map(|m| m.name.as_str()).collect();
    for m in report.series.iter().flat_map(|s| &s.metrics) {
        if !names.contains(&m.name.as_str()) {
            names.push(&m.name);
        }
    }
    names
}

fn ratio_of<'a>(report: &'a RunReport, series: usize, name: &str) -> Option<&'a MetricRatio> {
    let mut all = report.comparisons.iter().chain(&report.control);
    let comparison = all.find(|c| c.series as usize == series)?;
    comparison.metrics.iter().find(|m| m.name == name)
}

/// Where programs ran together, too.
const ALONE: &str = "ratios of printed values are of executions alone: what programs print in duets is not read";

/// What is to be known of the ratios where programs ran together, too.
pub(crate) fn alone(report: &RunReport) -> Option<&'static str> {
    report.comparisons.iter().any(|c| matches!(c.duets, Some(Ok(_)))).then_some(ALONE)
}

/// The values of each program and their ratios to the reference, a row for each value and program; without rows if nothing was to be
/// printed.
pub(crate) fn table(report: &RunReport, titles: &[Cell]) -> Table {
    let note = "Numbers that the programs printed, of the samples whose elapsed time is retained. Ratios: medians of the pairs of \
                samples of the same round. What is better, tare cannot know.";
    let note = Cell::text(note).and(alone(report).map_or_else(String::new, |said| format!(" {}.", capital(said))));
    let columns = [
        Column::new("value"),
        Column::new("program"),
        Column::new("mean ± s.d."),
        Column::new("ratio [95%]").priority(1),
        Column::new("median [95%]").priority(2),
        Column::from(">min").priority(3),
        Column::from(">max").priority(3),
        Column::from(">samples").priority(4),
        Column::from(">pairs").priority(5),
    ];
    let mut t = Table::of("Printed values", note, columns);
    for name in names(report) {
        for (i, s) in report.series.iter().enumerate().filter(|(_, s)| summary(s, name).is_some()) {
            let title = if report.series.len() > 1 { titles.get(i).cloned().into() } else { Cell::empty() };
            let found = figures(s, name);
            let cells = found.map(|f| cells(Unit::Plain, f));
            let [mean, median, min, max] = cells.unwrap_or_else(|| std::array::from_fn(|_| Cell::absent()));
            let ratio = ratio_of(report, i, name);
            let pairs = ratio.map(|r| Cell::count(r.pairs)).unwrap_or_default();
            let ratio = ratio.map(|r| Figure::new(Unit::Ratio, r.ratio).with_interval(&r.interval));
            let ratio = if report.comparisons.is_empty() { Cell::empty() } else { ratio.into() };
            let count = Cell::count(found.map_or(0, |f| f.values));
            t.row([Cell::foreign(name), title, mean, ratio, median, min, max, count, pairs], Vec::new());
        }
    }
    t
}

/// Which samples have no value, and why the first of them has none.
pub(crate) fn missing(report: &RunReport, titles: &[Cell]) -> Vec<Cell> {
    let line = |m: &MetricSummary, i: usize| {
        let all = m.missing.saturating_add(m.figures.value().map_or(0, |f| f.values));
        let said = Cell::foreign(&m.name).and(format!(": absent in {} of {}", m.missing, plural(all, "sample")));
        let whose = titles.get(i).filter(|_| report.series.len() > 1);
        let said = whose.into_iter().fold(said, |said, title| said.and(" of ").and(title.clone()));
        m.why.iter().fold(said, |said, why| said.and(format!(": {why}")))
    };
    let of_name = |name: &str| {
        let all = report.series.iter().enumerate().filter_map(|(i, s)| Some((summary(s, name)?, i)));
        all.filter(|(m, _)| m.missing > 0).map(|(m, i)| line(m, i)).collect::<Vec<_>>()
    };
    names(report).into_iter().flat_map(of_name).collect()
}

/// The figures of a program's metric, empty where absent.
pub(crate) fn series_cells(report: &RunReport, series: usize, name: &str) -> Vec<NamedCell> {
    let key = format!("metric_{}", text::escape(name));
    let f = report.series.get(series).and_then(|s| figures(s, name));
    let mut row = csv_cells::figures(&key, f);
    row.extend([
        (format!("{key}_min"), cell(f, |f| exact(f.min))),
        (format!("{key}_max"), cell(f, |f| exact(f.max))),
        (format!("{key}_samples"), cell(f, |f| f.values.to_string())),
    ]);
    let ratio = ratio_of(report, series, name).map(|r| (r.ratio, &r.interval));
    row.extend(csv_cells::estimate(&format!("{key}_ratio"), ratio));
    row
}

/// What a sample printed, as it was printed.
pub(crate) fn sample_cells(sample: &Sample, names: &[&str]) -> Vec<String> {
    let found = |name: &str| sample.metrics.iter().find(|m| m.name == name).filter(|m| m.number().is_some());
    let text = |name: &&str| cell(found(name).and_then(|m| m.text.value()), String::clone);
    names.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::terminal::report::run_report;
    use crate::run::{csv, fixtures, markup};
    use tarebench_core::base::reading::Absent;
    use tarebench_core::base::reading::Reading;
    use tarebench_core::run::report::metrics::MetricFigures;
    use tarebench_core::run::report::metrics::MetricSummary;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_report::markup::Markup;
    use tarebench_report::style::{Sort, Style};

    fn printed(name: &str, mean: f64, missing: u32) -> MetricSummary {
        let figures = MetricFigures {
            values: 10 - missing,
            mean,
            std_dev: Some(mean / 100.0),
            median: mean,
            median_interval: Ok(Interval { low: mean * 0.99, high: mean * 1.01, level: 0.95 }),
            min: mean * 0.9,
            max: mean * 1.1,
        };
        let why = (missing > 0).then(|| Absent::Failed("`x` is not a number".to_owned()));
        MetricSummary { name: name.to_owned(), figures: Reading::Value(figures), missing, why }
    }

    fn two() -> RunReport {
        let mut report = fixtures::two();
        report.series[0].metrics = vec![printed("rate", 1234.5, 0)];
        report.series[1].metrics = vec![printed("rate", 2469.0, 2)];
        let interval = Ok(Interval { low: 1.98, high: 2.02, level: 0.95 });
        let ratio = MetricRatio { name: "rate".to_owned(), ratio: 2.0, interval, pairs: 8 };
        report.comparisons[0].metrics = vec![ratio];
        report
    }

    #[test]
    fn a_row_for_each_program() {
        for (full, width) in [(false, 140), (true, 140), (false, 40), (true, 60)] {
            let style = Style { full, width, ..Style::default() };
            let text = run_report(&two(), &style);
            let rows: Vec<&str> = text.lines().filter(|l| l.trim_start().starts_with("rate ")).collect();
            assert!(rows.len() >= 2, "{text}");
            assert!(rows[0].contains("1234 ± 12") || rows[0].contains("1235 ± 12"), "{text}");
            assert!(width < 140 || rows[1].contains("2.000 [1.980, 2.020]"), "{text}");
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("rate: absent in 2 of 10 samples of"), "{text}");
            assert!(flat.contains("`x` is not a number"), "{text}");
        }
    }

    #[test]
    fn programs_are_compared_by_it() {
        let mut report = two();
        assert_eq!(report.compare_by_metric("rate"), Ok(()));
        let text = run_report(&report, &Style { width: 140, ..Style::default() });
        assert!(text.contains(" has 2.000 times the rate of ") && text.contains("[1.980, 2.020]"), "{text}");
        assert!(text.contains("printed value, 8 pairs"), "{text}");
        let full = run_report(&report, &Style { width: 140, full: true, ..Style::default() });
        let flat = full.split_whitespace().collect::<Vec<_>>().join(" ");
        let how = "Ratio: rate, which the program prints, divided by that of ";
        assert!(flat.contains(how) && flat.contains("2.000 [1.980, 2.020] higher 8 pairs"), "{full}");
        let markdown = markup::markup(&report, Markup::Markdown, None, Sort::Command);
        assert!(markdown.contains("| Relative (`rate`) |") && markdown.contains("2.000 [1.980, 2.020]"), "{markdown}");
        let table = csv::series(&report).unwrap();
        assert!(table.contains(",metric:rate,alone,2,1.98,2.02,8,higher,"), "{table}");
    }

    #[test]
    fn several_programs_are_ordered_and_judged_by_it() {
        const NAME: &str = "a\u{1b}[31m|größe\u{202e}";
        let mut report = fixtures::three();
        for (s, mean) in report.series.iter_mut().zip([20.0, 10.0, 40.0]) {
            s.metrics = vec![printed(NAME, mean, 0)];
        }
        for (c, ratio) in report.comparisons.iter_mut().zip([0.5, 2.0]) {
            c.metrics = vec![fixtures::metric_ratio(NAME, ratio, ratio * 0.95, ratio * 1.05)];
            c.duets =
                Some(Ok(fixtures::duet_ratio(1.0083, 1.0063, 1.0111, tarebench_core::compare::ratio::Verdict::Slower)));
        }
        assert_eq!(report.compare_by_metric(NAME), Ok(()));
        let text = run_report(&report, &Style { width: 140, ..Style::default() });
        let verdict = |word: &str| text.lines().position(|l| l.contains(&format!(" {word} "))).expect(word);
        assert!(verdict("lower") < verdict("reference") && verdict("reference") < verdict("higher"), "{text}");
        assert!(text.contains("medians of 10 pairs of executions alone") && text.contains(ALONE), "{text}");
        for (width, unicode, full) in [(40, true, false), (60, false, true), (100, false, false), (140, true, true)] {
            let text = run_report(&report, &Style { width, unicode, full, ..Style::default() });
            for line in text.lines() {
                assert!(text::columns(line) <= width && !line.chars().any(char::is_control), "{line:?}");
                assert!(!line.contains('\u{202e}') && (unicode || line.is_ascii()), "{line:?}");
            }
        }
    }

    #[test]
    fn documents_and_tables_have_them() {
        let report = two();
        let table = csv::series(&report).unwrap();
        let mut lines = table.lines();
        let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
        let at = heads.iter().position(|h| *h == "metric_rate_mean").unwrap();
        let row: Vec<&str> = lines.nth(1).unwrap().rsplit(',').collect();
        assert_eq!(row[heads.len() - 1 - at], "2469", "{table}");
        let markdown = markup::markup(&report, Markup::Markdown, None, Sort::Command);
        assert!(markdown.contains("| `rate` |") && markdown.contains("2469 ± 25"), "{markdown}");
    }

    #[test]
    fn numbers_of_any_size_are_written() {
        let largest = |mean| cells(Unit::Plain, printed("m", mean, 0).figures.value().unwrap())[3].plain();
        for mean in [0.0, 3.5e20, 2.5e-7, 123_456.0] {
            let (shown, value) = (largest(mean), printed("m", mean, 0).figures.value().unwrap().max);
            assert!((shown.parse::<f64>().unwrap() - value).abs() <= 0.01 * value, "{mean}: {shown}");
            assert!(shown.len() <= 9, "{shown}");
        }
    }
}
