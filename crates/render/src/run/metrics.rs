//! What programs printed of themselves: numbers without a unit that tare knows.

use crate::printed::{MetricScale, figures, mean, summary};
use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::data::{RunReport, SeriesReport};
use tarebench_core::run::report::metrics::{MetricFigures, MetricRatio};
use tarebench_core::sample::data::Sample;
use tarebench_core::statistics::intervals::{Interval, NoInterval};
use tarebench_report::csv::{cell, number as exact};
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::table::Table;
use tarebench_report::text;
use tarebench_report::words::plural;

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

/// `1.020 [0.990, 1.050]`, without the interval if there is none.
fn ratio(r: &MetricRatio) -> String {
    let decimals = number::ratio_decimals(r.ratio, r.interval.as_ref().ok().map(Interval::half_width));
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_default();
    match &r.interval {
        Ok(i) => format!("{} [{}, {}]", show(r.ratio), show(i.low), show(i.high)),
        Err(_) => show(r.ratio),
    }
}

/// Where programs ran together, too.
const ALONE: &str = "ratios of printed values are of executions alone: what programs print in duets is not read";

/// Whether programs that are compared ran together.
fn with_duets(report: &RunReport) -> bool {
    report.comparisons.iter().any(|c| matches!(c.duets, Some(Ok(_))))
}

/// One row per metric and program.
struct MetricRows<'a> {
    rows: Vec<(&'a str, usize, &'a SeriesReport)>,
}

impl<'a> MetricRows<'a> {
    fn of(report: &'a RunReport) -> MetricRows<'a> {
        let mut rows = Vec::new();
        for name in names(report) {
            for (i, s) in report.series.iter().enumerate().filter(|(_, s)| summary(s, name).is_some()) {
                rows.push((name, i, s));
            }
        }
        MetricRows { rows }
    }

    fn column(&self, head: &str, align: Align, text: impl Fn(&str, usize, &SeriesReport) -> String) -> GridColumn {
        let cells = self.rows.iter().map(|row| GridCell::new(text(row.0, row.1, row.2))).collect();
        GridColumn::new(head, align, cells)
    }
}

/// Draws what the programs printed, as far as the plan asks for it.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, titles: &[String]) {
    let rows = MetricRows::of(report);
    if rows.rows.is_empty() {
        return;
    }
    let mut columns = columns(page, report, &rows, titles);
    // The last ones are omitted first; name, program and mean always stay.
    let least = if report.series.len() > 1 { 3 } else { 2 };
    while grid::total(&columns, 2) > page.width() && columns.len() > least {
        columns.pop();
    }
    let over = grid::total(&columns, 2).saturating_sub(page.width());
    if let Some(widest) = columns.iter_mut().take(least - 1).max_by_key(|c| c.width()).filter(|_| over > 0) {
        let width = widest.width().saturating_sub(over).max(6);
        grid::shrink(widest, width, page.g.dots);
    }
    page.gap();
    grid::draw(page, &columns, 0, 2);
    if with_duets(report) {
        page.hang(&[], Paint::Dim, ALONE);
    }
    let mark = (Paint::Warn, format!("{} ", page.g.warning));
    for line in missing(page, report, &rows, titles) {
        page.hang(std::slice::from_ref(&mark), Paint::Warn, &line);
    }
    page.gap();
}

fn columns(page: &ScreenText<'_>, report: &RunReport, rows: &MetricRows<'_>, titles: &[String]) -> Vec<GridColumn> {
    let (pm, dots) = (page.g.plus_minus, page.g.dots);
    let absent = || page.g.absent.to_owned();
    let scaled = |name: &str, s: &SeriesReport, text: &dyn Fn(MetricScale, &MetricFigures) -> String| {
        figures(s, name).map_or_else(absent, |m| text(MetricScale::of(m), m))
    };
    let mut columns = vec![rows.column("printed", Align::Left, |name, _, _| page.style.show(name))];
    if report.series.len() > 1 {
        let title = |i: usize| titles.get(i).map_or_else(absent, |t| text::cut_middle(t, 30, dots).into_owned());
        columns.push(rows.column("program", Align::Left, |_, i, _| title(i)));
    }
    let means =
        rows.column(&format!("mean {pm} s.d."), Align::Right, |name, _, s| mean(s, name, pm).unwrap_or_else(absent));
    columns.push(means);
    if !report.comparisons.is_empty() {
        let ratios = |name: &str, i: usize| ratio_of(report, i, name).map_or_else(absent, ratio);
        columns.push(rows.column("ratio [95%]", Align::Left, |name, i, _| ratios(name, i)));
    }
    columns.push(rows.column("median [95%]", Align::Right, |name, _, s| {
        scaled(name, s, &|scale, m| match &m.median_interval {
            Ok(i) => format!("{} [{}, {}]", scale.value(m.median), scale.value(i.low), scale.value(i.high)),
            Err(_) => scale.value(m.median),
        })
    }));
    columns.push(rows.column(&format!("min {dots} max"), Align::Right, |name, _, s| {
        scaled(name, s, &|scale, m| format!("{} {dots} {}", scale.value(m.min), scale.value(m.max)))
    }));
    columns.push(rows.column("samples", Align::Right, |name, _, s| scaled(name, s, &|_, m| m.values.to_string())));
    columns
}

/// Which samples have no value, and why the first of them has none.
fn missing(page: &ScreenText<'_>, report: &RunReport, rows: &MetricRows<'_>, titles: &[String]) -> Vec<String> {
    let line = |(name, i, s): &(&str, usize, &SeriesReport)| {
        let m = summary(s, name).filter(|m| m.missing > 0)?;
        let why = m.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let whose = if report.series.len() > 1 { titles.get(*i).map(|t| format!(" of {t}")) } else { None };
        let all = m.missing.saturating_add(m.figures.value().map_or(0, |f| f.values));
        let text =
            format!("{name}: absent in {} of {}{}{why}", m.missing, plural(all, "sample"), whose.unwrap_or_default());
        Some(page.style.prose(&text))
    };
    rows.rows.iter().filter_map(line).collect()
}

/// The values of one program, for the page.
pub(crate) fn table(s: &SeriesReport) -> Option<Table> {
    let heads = ["value", ">mean", ">s.d.", ">median", ">95% of the median", ">min", ">max", ">samples", ">absent in"];
    let note = "Numbers that the program printed, of the samples whose elapsed time is retained.";
    let mut t = Table::new("Printed values", note, &heads);
    for m in &s.metrics {
        let Reading::Value(f) = &m.figures else {
            let why = m.why.as_ref().map_or_else(String::new, ToString::to_string);
            let dash = || "–".to_owned();
            let cells = vec![m.name.clone(), dash(), dash(), dash(), why, dash(), dash(), "0".to_owned()];
            t.row(cells.into_iter().chain([m.missing.to_string()]), Vec::new());
            continue;
        };
        let scale = MetricScale::of(f);
        let interval = match &f.median_interval {
            Ok(i) => format!("{} to {}", scale.value(i.low), scale.value(i.high)),
            Err(why) => why.to_string(),
        };
        let cells = vec![
            m.name.clone(),
            scale.value(f.mean),
            f.std_dev.map_or("–".to_owned(), |sd| scale.value(sd)),
            scale.value(f.median),
            interval,
            scale.value(f.min),
            scale.value(f.max),
            f.values.to_string(),
            m.missing.to_string(),
        ];
        t.row(cells, Vec::new());
        let low = f.median_interval.as_ref().ok().map(|i| i.low);
        let counts = [f64::from(f.values), f64::from(m.missing)].map(Some);
        let numbers = [None, Some(f.mean), f.std_dev, Some(f.median), low, Some(f.min), Some(f.max)];
        t.values(numbers.into_iter().chain(counts).collect());
    }
    Some(t).filter(|t| !t.rows.is_empty())
}

/// The ratios to the reference, for the page.
pub(crate) fn ratios(report: &RunReport) -> Option<Table> {
    let heads = ["value", "program", "against", ">ratio", ">interval", ">pairs"];
    let mut note =
        "Medians of the ratios of samples of the same round, with their 95% intervals. What is better, tare cannot \
                    know."
            .to_owned();
    if with_duets(report) {
        note.push_str(" They are of executions alone: what programs print in duets is not read.");
    }
    let mut t = Table::new("Printed values compared", note, &heads);
    let name = |i: u32| report.series.get(i as usize).map_or("", |s| s.program.label.as_str());
    for c in report.comparisons.iter().chain(&report.control) {
        for m in &c.metrics {
            let decimals = number::ratio_decimals(m.ratio, m.interval.as_ref().ok().map(Interval::half_width));
            let show = |v: f64| number::fixed(v, decimals).unwrap_or_default();
            let interval = match &m.interval {
                Ok(i) => format!("{} to {}", show(i.low), show(i.high)),
                Err(why) => why.to_string(),
            };
            let cells =
                [m.name.as_str(), name(c.series), name(c.reference), &show(m.ratio), &interval, &m.pairs.to_string()];
            t.row(cells, Vec::new());
            let low = m.interval.as_ref().ok().map(|i| i.low);
            t.values(vec![None, None, None, Some(m.ratio), low, Some(f64::from(m.pairs))]);
        }
    }
    Some(t).filter(|t| !t.rows.is_empty())
}

/// What CSV has of each metric of a program, after `metric_NAME_`.
const COLUMNS: [&str; 11] = [
    "mean",
    "stddev",
    "median",
    "median_low",
    "median_high",
    "min",
    "max",
    "samples",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// The headings of [`series_cells`].
pub(crate) fn series_columns(names: &[&str]) -> Vec<String> {
    let of_name = |name: &&str| COLUMNS.map(|c| format!("metric_{}_{c}", text::escape(name)));
    names.iter().flat_map(of_name).collect()
}

/// The figures of a program's metrics, empty where absent.
pub(crate) fn series_cells(report: &RunReport, series: usize, names: &[&str]) -> Vec<String> {
    let of_name = |name: &&str| {
        let f = report.series.get(series).and_then(|s| figures(s, name));
        let r = ratio_of(report, series, name);
        let bound = |i: Option<&Result<Interval, NoInterval>>, low: bool| {
            let found = i.and_then(|i| i.as_ref().ok());
            cell(found, |i| exact(if low { i.low } else { i.high }))
        };
        let (median, interval) = (f.map(|f| &f.median_interval), r.map(|r| &r.interval));
        [
            cell(f, |f| exact(f.mean)),
            cell(f.and_then(|f| f.std_dev), exact),
            cell(f, |f| exact(f.median)),
            bound(median, true),
            bound(median, false),
            cell(f, |f| exact(f.min)),
            cell(f, |f| exact(f.max)),
            cell(f, |f| f.values.to_string()),
            cell(r, |r| exact(r.ratio)),
            bound(interval, true),
            bound(interval, false),
        ]
    };
    names.iter().flat_map(of_name).collect()
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
    use tarebench_core::run::report::metrics::MetricSummary;
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
            let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("rate ")).collect();
            assert_eq!(rows.len(), 2, "{text}");
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
        let how = "ratio: rate of the program divided by rate of program 1; median of 8 pairs, 95% sign-test interval";
        assert!(flat.contains(how) && flat.contains("2.000 [1.980, 2.020] higher"), "{full}");
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
        let scale = |mean| MetricScale::of(printed("m", mean, 0).figures.value().unwrap());
        assert_eq!(scale(0.0).value(0.0), "0");
        assert_eq!(scale(3.5e20).value(3.5e20), "3.500e20");
        assert_eq!(scale(2.5e-7).value(2.5e-7), "2.500e-7");
        assert_eq!(scale(123456.0).value(123456.0), "123456");
    }
}
