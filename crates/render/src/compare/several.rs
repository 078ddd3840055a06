//! Three programs or more: a row for each.

use crate::compare::duets;
use crate::compare::names::{command, is_named, is_scan};
use crate::compare::rows;
use crate::compare::rows::{by_measure, main};
use crate::compare::sentence::{chosen, ratio_by, short, spelled, verdict_word};
use crate::counted;
use std::collections::BTreeSet;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::plan::RunCount;
use tarebench_core::run::report::data::{
    ComparedNumber, Comparison, Measure, MeasureRatio, RatioBasis, RunReport, SeriesReport,
};
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;

/// Columns between columns.
const GAP: usize = 2;
/// Narrowest column of names.
const NAME: usize = 10;
/// Widest heading of what programs print.
const HEADING: usize = 24;

/// The measure that the table is about, and the one beside it.
fn measures(report: &RunReport) -> (Measure, Measure) {
    let any_pt = report.series.iter().any(|s| s.pt.value().is_some());
    let automatic = if any_pt { Measure::Pt } else { Measure::Et };
    let first = report.comparisons.first().map_or(automatic, |c| c.measure);
    (first, if first == Measure::Et { Measure::Pt } else { Measure::Et })
}

/// Draws the table and how to read it.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let order = rows::order(report, page.style.sort);
    let (first, second) = measures(report);
    let number = rows::by_number(report);
    let mut columns = vec![name_column(page, report, &order, names)];
    if let Some(number) = number {
        columns.extend(number_columns(page, report, &order, number));
        columns.push(time_column(page, report, &order, first));
    } else {
        columns.extend(timed_columns(page, report, &order, first));
    }
    if report.series.iter().any(|s| by_measure(s, second).value().is_some()) {
        if report.comparisons.iter().any(|c| c.disagreeing().is_some()) {
            columns.push(ratios(page, report, &order, second));
            columns.push(verdicts(page, report, &order, |c| ratio_by(c, second).map(|r| verdict_cell(r.verdict))));
        }
        columns.push(time_column(page, report, &order, second));
    }
    columns.push(samples(report, &order));
    fit(page, &mut columns);
    commands(page, report, &order, names, &mut columns);
    grid::draw(page, &columns, 0, GAP);
    if !report.comparisons.is_empty() {
        match number {
            Some(number) => number_note(page, report, names, number),
            None => note(page, report, names, first),
        }
        duets::brief(page, report, names);
    }
}

/// The times by a measure, with their ratios if the programs are compared, and bars for a scan.
fn timed_columns(page: &ScreenText<'_>, report: &RunReport, order: &[usize], m: Measure) -> Vec<GridColumn> {
    let mut columns = vec![time_column(page, report, order, m)];
    let bar = is_scan(report).then(|| bars(page, report, order, m));
    if report.comparisons.is_empty() {
        columns.extend(bar);
    } else {
        columns.push(ratios(page, report, order, m));
        columns.extend(bar);
        columns.push(verdicts(page, report, order, |c| ratio_by(c, m).map(|r| verdict_cell(r.verdict))));
    }
    columns
}

/// The number that the programs are compared by: its means, their ratios, the verdicts.
fn number_columns(
    page: &ScreenText<'_>,
    report: &RunReport,
    order: &[usize],
    number: ComparedNumber<'_>,
) -> [GridColumn; 3] {
    let mean = |&i: &usize| counted::mean(&report.series[i], number, page.g.plus_minus);
    let means = order.iter().map(|i| GridCell::new(mean(i).unwrap_or_else(|| page.g.absent.to_owned())));
    let head =
        text::cut_middle(&counted::name_of(number, |n| page.style.show(n).into()), HEADING, page.g.dots).into_owned();
    let printed = |c: &Comparison| c.number().is_some().then(|| (chosen(c), ""));
    let word = |c: &Comparison| {
        let paint = if matches!(c.verdict, Verdict::Undecided) { Paint::Warn } else { Paint::Strong };
        c.number().is_some().then(|| GridCell::new(verdict_word(c)).paint(paint))
    };
    [
        GridColumn::new(head, Align::Right, means.collect()),
        ratio_column(page, report, order, "ratio [95%]".to_owned(), printed),
        verdicts(page, report, order, word),
    ]
}

/// Omits the last columns, then shortens names, until the table fits.
fn fit(page: &ScreenText<'_>, columns: &mut Vec<GridColumn>) {
    let over = |columns: &[GridColumn]| grid::total(columns, GAP).saturating_sub(page.width());
    let room = |columns: &[GridColumn]| columns[0].width().saturating_sub(over(columns));
    let readable = |columns: &[GridColumn]| {
        let room = room(columns);
        room >= columns[0].width().min(NAME) && shortened(page, &columns[0], room).1
    };
    while columns.len() > 3 && !readable(columns) {
        columns.pop();
    }
    if !readable(columns) && columns.len() > 2 {
        // The interval goes before the ratio does.
        for cell in &mut columns[2].cells {
            let end = cell.text.find(" [").unwrap_or(cell.text.len());
            cell.text.truncate(end);
        }
        columns[2].head = "ratio".to_owned();
    }
    let (cells, _) = shortened(page, &columns[0], room(columns).max(4));
    for (cell, text) in columns[0].cells.iter_mut().zip(cells) {
        cell.text = text;
    }
}

/// The cells of a column of names cut to a width, and whether names that differ still do: commands that differ in the middle are
/// cut at their ends.
fn shortened(page: &ScreenText<'_>, names: &GridColumn, width: usize) -> (Vec<String>, bool) {
    let distinct = |cells: &[String]| cells.iter().collect::<BTreeSet<_>>().len();
    let all: Vec<String> = names.cells.iter().map(|c| c.text.clone()).collect();
    let cut = |how: fn(&str, usize, &str) -> String| -> Vec<String> {
        all.iter().map(|t| how(t, width, page.g.dots)).collect()
    };
    let middle = cut(|t, width, mark| text::cut_middle(t, width, mark).into_owned());
    if distinct(&middle) == distinct(&all) {
        return (middle, true);
    }
    let end = cut(|t, width, mark| text::cut(t, width, mark).into_owned());
    let kept = distinct(&end) == distinct(&all);
    (if kept { end } else { middle }, kept)
}

fn name_column(page: &ScreenText<'_>, report: &RunReport, order: &[usize], names: &[String]) -> GridColumn {
    let cells = order.iter().map(|&i| GridCell::new(names.get(i).cloned().unwrap_or_default()).paint(Paint::Strong));
    let mut head = if is_scan(report) { "parameters" } else { "program" }.to_owned();
    if page.narrow() {
        head.truncate(NAME);
    }
    GridColumn::new(head, Align::Left, cells.collect())
}

fn time_column(page: &ScreenText<'_>, report: &RunReport, order: &[usize], m: Measure) -> GridColumn {
    let rows: Vec<&SeriesReport> = order.iter().map(|&i| &report.series[i]).collect();
    let (unit, cells) = rows::times(page, &rows, m, true);
    let head = format!("{} [{}]", short(m), unit.sign(page.style.unicode));
    GridColumn::new(head, Align::Right, cells.into_iter().map(GridCell::new).collect())
}

fn found(report: &RunReport, series: usize) -> Option<&Comparison> {
    report.comparisons.iter().chain(&report.control).find(|c| c.series as usize == series)
}

fn is_reference(report: &RunReport, series: usize) -> bool {
    rows::reference(report) == Some(series)
}

/// Whether some ratios rest on duets and others do not; these are marked then.
fn is_mixed(report: &RunReport) -> bool {
    let by_duets = |c: &Comparison| c.basis == RatioBasis::Duets;
    report.comparisons.iter().any(by_duets) && !report.comparisons.iter().all(by_duets)
}

/// Stands behind a ratio that rests on executions alone, where others rest on duets.
const ALONE: &str = "*";

fn ratios(page: &ScreenText<'_>, report: &RunReport, order: &[usize], m: Measure) -> GridColumn {
    let mixed = is_mixed(report);
    let mark = |c: &Comparison| match c.basis {
        RatioBasis::Alone if mixed && c.measure == m => ALONE,
        RatioBasis::Alone | RatioBasis::Duets => "",
    };
    let head = format!("{} ratio [95%]", short(m));
    ratio_column(page, report, order, head, |c| Some((ratio_by(c, m)?, mark(c))))
}

/// The ratios that are picked from the comparisons, each with its mark.
fn ratio_column(
    page: &ScreenText<'_>,
    report: &RunReport,
    order: &[usize],
    head: String,
    pick: impl Fn(&Comparison) -> Option<(MeasureRatio, &'static str)>,
) -> GridColumn {
    let absent = || page.g.absent.to_owned();
    let found: Vec<Option<(MeasureRatio, &str)>> = order.iter().map(|&i| found(report, i).and_then(&pick)).collect();
    let half = |r: &MeasureRatio| r.interval.as_ref().ok().map(|i| i.half_width());
    let decimals = |r: &MeasureRatio| number::ratio_decimals(r.ratio, half(r)).min(4);
    let text: Vec<Option<String>> = order
        .iter()
        .zip(&found)
        .map(|(&i, r)| match r {
            Some((r, mark)) => number::fixed(r.ratio, decimals(r)).map(|text| format!("{text}{mark}")),
            None => is_reference(report, i).then(|| "1".to_owned()),
        })
        .collect();
    let set = grid::at_point(&text, page.g.absent);
    let cell = |(text, r): (String, &Option<(MeasureRatio, &str)>)| match r {
        Some((r, _)) => {
            let show = |v: f64| number::fixed(v, decimals(r)).unwrap_or_else(absent);
            let interval =
                r.interval.as_ref().map_or(String::new(), |i| format!(" [{}, {}]", show(i.low), show(i.high)));
            GridCell::new(format!("{text}{interval}"))
        }
        None => GridCell::new(text),
    };
    GridColumn::new(head, Align::Left, set.into_iter().zip(&found).map(cell).collect())
}

fn verdict_cell(verdict: Verdict) -> GridCell {
    match verdict {
        Verdict::Faster => GridCell::new("faster").paint(Paint::Good),
        Verdict::Slower => GridCell::new("slower").paint(Paint::Bad),
        Verdict::Same => GridCell::new("same"),
        Verdict::Undecided => GridCell::new("undecided").paint(Paint::Warn),
    }
}

/// The verdicts that are picked from the comparisons.
fn verdicts(
    page: &ScreenText<'_>,
    report: &RunReport,
    order: &[usize],
    pick: impl Fn(&Comparison) -> Option<GridCell>,
) -> GridColumn {
    let cell = |&i: &usize| match found(report, i).and_then(&pick) {
        _ if report.series[i].program.control => GridCell::new("control").paint(Paint::Dim),
        Some(cell) => cell,
        None if is_reference(report, i) => GridCell::new("reference").paint(Paint::Dim),
        None => GridCell::new(page.g.absent),
    };
    GridColumn::new("", Align::Left, order.iter().map(cell).collect())
}

/// A bar for each mean, the largest over the whole width.
fn bars(page: &ScreenText<'_>, report: &RunReport, order: &[usize], m: Measure) -> GridColumn {
    let wide = if page.width() < 120 { 8 } else { 16 };
    let mean = |&i: &usize| by_measure(&report.series[i], m).value().map_or(0.0, |m| m.mean);
    let most = order.iter().map(mean).filter(|m| m.is_finite()).fold(0.0, f64::max);
    let cell = |i: &usize| {
        let share = mean(i) / most;
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        GridCell::new(bar(share, wide, page.style.unicode)).paint(Paint::Dim)
    };
    GridColumn::new("", Align::Left, order.iter().map(cell).collect())
}

fn bar(share: f64, wide: usize, unicode: bool) -> String {
    if !unicode {
        return "#".repeat((share * wide as f64).round() as usize);
    }
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * wide as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn samples(report: &RunReport, order: &[usize]) -> GridColumn {
    let cell = |&i: &usize| {
        let s = &report.series[i];
        let kept = main(s).map_or(0, |m| m.retained);
        let failed = s.failures.iter().filter(|f| f.is_counted() && !f.ignored).count();
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let warn = main(s).is_none_or(|m| !m.trustworthy) || !failed.is_empty();
        let text = if kept == s.counted { kept.to_string() } else { format!("{kept} of {}{failed}", s.counted) };
        GridCell::new(text).paint(if warn { Paint::Warn } else { Paint::Plain })
    };
    GridColumn::new("samples", Align::Left, order.iter().map(cell).collect())
}

/// The commands, if the first column shows other names and there is room for enough of each.
fn commands(
    page: &ScreenText<'_>,
    report: &RunReport,
    order: &[usize],
    names: &[String],
    columns: &mut Vec<GridColumn>,
) {
    let cell = |&i: &usize| {
        let command = command(page, &report.series[i]);
        let other = is_named(page, &report.series[i]) || names.get(i) != Some(&command);
        GridCell::new(if other { command } else { String::new() }).paint(Paint::Dim)
    };
    let mut column = GridColumn::new("command", Align::Left, order.iter().map(cell).collect());
    let room = page.width().saturating_sub(grid::total(columns, GAP) + GAP);
    if room < column.width().min(24) || column.cells.iter().all(|c| c.text.is_empty()) {
        return;
    }
    grid::shrink(&mut column, room, page.g.dots);
    columns.push(column);
}

fn number_note(page: &mut ScreenText<'_>, report: &RunReport, names: &[String], number: ComparedNumber<'_>) {
    let Some(c) = report.comparisons.first() else { return };
    let reference = names.get(c.reference as usize).map_or("", String::as_str);
    let pairs = || report.comparisons.iter().map(|c| c.pairs);
    let (least, most) = (pairs().min().unwrap_or(0), pairs().max().unwrap_or(0));
    let pairs = if least == most { most.to_string() } else { format!("{least} to {most}") };
    // What programs print or count in duets is not read.
    let in_duets = report.comparisons.iter().any(|c| matches!(c.duets, Some(Ok(_))));
    let alone = if in_duets { " of executions alone" } else { "" };
    let what = counted::name_of(number, |n| page.style.show(n).into());
    page.hang(&[], Paint::Dim, &format!("ratio: {what} relative to {reference}; medians of {pairs} pairs{alone}"));
}

fn note(page: &mut ScreenText<'_>, report: &RunReport, names: &[String], m: Measure) {
    let Some(c) = report.comparisons.first() else { return };
    let reference = names.get(c.reference as usize).map_or("", String::as_str);
    let pairs = |basis: RatioBasis| {
        let pairs = || report.comparisons.iter().filter(|c| c.basis == basis).map(|c| c.pairs);
        let (least, most) = (pairs().min()?, pairs().max()?);
        Some(if least == most { most.to_string() } else { format!("{least} to {most}") })
    };
    let mixed = report.comparisons.iter().any(|c| c.measure != m);
    let mixed = if mixed { " (elapsed time where there is none)" } else { "" };
    let (long, brief) = match (pairs(RatioBasis::Duets), pairs(RatioBasis::Alone)) {
        (Some(duets), None) => (format!("of {duets} duets"), format!("{duets} duets")),
        (Some(duets), Some(pairs)) => {
            (format!("of {duets} duets, {ALONE} of {pairs} pairs"), format!("{duets} duets, {ALONE} {pairs} pairs"))
        }
        (None, pairs) => {
            let pairs = pairs.unwrap_or_default();
            let how = if matches!(report.run.plan.runs, RunCount::Detect { .. }) { "of" } else { "medians of" };
            (format!("{how} {pairs} pairs"), format!("{pairs} pairs"))
        }
    };
    let text = format!("ratio: {} relative to {reference}{mixed}; {long}", spelled(m));
    let shorter = format!("ratio: to {reference}, {brief}");
    let fitting = if text::columns(&text) <= page.width() { text } else { shorter };
    page.hang(&[], Paint::Dim, &fitting);
}
