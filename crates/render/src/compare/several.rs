//! Three programs or more: a row for each.

use crate::compare::duets;
use crate::compare::names::{command, is_named, is_scan};
use crate::compare::rows;
use crate::compare::rows::{by_measure, main};
use crate::compare::sentence::{chosen, ratio_by, short, spelled, verdict_word, word};
use crate::counted;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::plan::RunCount;
use tarebench_core::run::report::data::{
    ComparedNumber, Comparison, Measure, MeasureRatio, MeasureReport, RatioBasis, RunReport, SeriesReport,
};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::form::Form;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::table::{Column, Table};
use tarebench_report::terminal_table;
use tarebench_report::text;

/// The measure that the table is about, and the one beside it.
fn measures(report: &RunReport) -> (Measure, Measure) {
    let any_pt = report.series.iter().any(|s| s.pt.value().is_some());
    let automatic = if any_pt { Measure::Pt } else { Measure::Et };
    let first = report.comparisons.first().map_or(automatic, |c| c.measure);
    (first, if first == Measure::Et { Measure::Pt } else { Measure::Et })
}

/// Draws the table and how to read it.
pub(crate) fn section(page: &mut ScreenText<'_>, report: &RunReport, names: &[String]) {
    let (first, second) = measures(report);
    terminal_table::draw(page, &table(page, report, names, [first, second]));
    if !report.comparisons.is_empty() {
        match rows::by_number(report) {
            Some(number) => number_note(page, report, names, number),
            None => note(page, report, names, first),
        }
        duets::brief(page, report, names);
    }
}

/// A column with its cell for a program.
type ProgramColumn<'a> = (Column, Box<dyn Fn(usize) -> Cell + 'a>);

fn table(page: &ScreenText<'_>, report: &RunReport, names: &[String], [first, second]: [Measure; 2]) -> Table {
    let compared = !report.comparisons.is_empty();
    let head = if is_scan(report) { "parameters" } else { "program" };
    let named = |i: usize| Cell::foreign(names.get(i).map_or("", String::as_str)).paint(Paint::Strong);
    let mut columns: Vec<ProgramColumn<'_>> = vec![(Column::new(head), Box::new(named))];
    let number = rows::by_number(report);
    if let Some(number) = number {
        let mean = move |i: usize| report.series.get(i).and_then(|s| counted::mean(s, number)).into();
        let ratio = |c: &Comparison| c.number().is_some().then(|| chosen(c));
        columns.push((Column::new(counted::name_of(number)), Box::new(mean)));
        columns.push((Column::new("ratio [95%]"), Box::new(move |i| ratio_cell(report, i, ratio))));
        columns.push((Column::new(""), Box::new(|i| verdict(report, i, number_verdict))));
        columns.push(time_column(report, first, 1));
    } else {
        columns.push(time_column(report, first, 0));
        columns.extend(compared.then(|| ratio_column(report, first, 0)));
        let bar = |i: usize| bar(page, report, i, first);
        columns.extend(is_scan(report).then(|| (Column::new("").priority(2), Box::new(bar) as _)));
        columns.extend(compared.then(|| verdict_column(report, first, 1)));
    }
    if report.series.iter().any(|s| by_measure(s, second).value().is_some()) {
        if report.comparisons.iter().any(|c| c.disagreeing().is_some()) {
            columns.extend([ratio_column(report, second, 3), verdict_column(report, second, 3)]);
        }
        columns.push(time_column(report, second, 3));
    }
    columns.push((Column::new("samples").priority(4), Box::new(|i| report.series.get(i).map(samples).into())));
    columns.push((Column::new("command").priority(5), Box::new(|i| command_cell(report, i, names))));
    let mut table = Table::of("", "", []);
    let (heads, cells): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    table.columns = heads;
    for i in rows::order(report, page.style.sort) {
        table.row(cells.iter().map(|cell| cell(i)), Vec::new());
    }
    table
}

fn time_column(report: &RunReport, m: Measure, priority: u8) -> ProgramColumn<'_> {
    let mean = |m: &MeasureReport| Figure::new(Unit::Time, m.mean).with_spread(m.std_dev);
    let cell = move |i: usize| report.series.get(i).and_then(|s| by_measure(s, m).value()).map(mean).into();
    (Column::new(short(m)).shared_unit().priority(priority), Box::new(cell))
}

fn ratio_column(report: &RunReport, m: Measure, priority: u8) -> ProgramColumn<'_> {
    let cell = move |i: usize| ratio_cell(report, i, |c| ratio_by(c, m));
    (Column::new(format!("{} ratio [95%]", short(m))).priority(priority), Box::new(cell))
}

fn verdict_column(report: &RunReport, m: Measure, priority: u8) -> ProgramColumn<'_> {
    let mixed = is_mixed(report);
    let pick = move |c: &Comparison| {
        let verdict = ratio_by(c, m)?.verdict;
        let mark = if mixed && c.basis == RatioBasis::Alone && c.measure == m { ALONE } else { "" };
        let paint = match verdict {
            Verdict::Faster => Paint::Good,
            Verdict::Slower => Paint::Bad,
            Verdict::Same => Paint::Plain,
            Verdict::Undecided => Paint::Warn,
        };
        Some(Cell::text(format!("{}{mark}", word(verdict))).paint(paint))
    };
    (Column::new("").priority(priority), Box::new(move |i| verdict(report, i, pick)))
}

fn number_verdict(c: &Comparison) -> Option<Cell> {
    let paint = if c.verdict == Verdict::Undecided { Paint::Warn } else { Paint::Strong };
    c.number().is_some().then(|| Cell::text(verdict_word(c)).paint(paint))
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

/// Stands behind the verdict of a ratio that rests on executions alone, where others rest on duets.
const ALONE: &str = "*";

/// The ratio that is picked from the comparison of a program.
fn ratio_cell(report: &RunReport, i: usize, pick: impl Fn(&Comparison) -> Option<MeasureRatio>) -> Cell {
    match found(report, i).and_then(pick) {
        Some(r) => Figure::new(Unit::Ratio, r.ratio).with_interval(&r.interval).into(),
        None if is_reference(report, i) => Cell::count(1),
        None => Cell::absent(),
    }
}

/// The verdict that is picked from the comparison of a program.
fn verdict(report: &RunReport, i: usize, pick: impl Fn(&Comparison) -> Option<Cell>) -> Cell {
    match found(report, i).and_then(pick) {
        _ if report.series.get(i).is_some_and(|s| s.program.control) => Cell::text("control").paint(Paint::Dim),
        Some(cell) => cell,
        None if is_reference(report, i) => Cell::text("reference").paint(Paint::Dim),
        None => Cell::absent(),
    }
}

/// A bar for a mean, the largest over the whole width.
fn bar(page: &ScreenText<'_>, report: &RunReport, i: usize, m: Measure) -> Cell {
    let wide = if page.width() < 120 { 8.0 } else { 16.0 };
    let mean = |s: &SeriesReport| by_measure(s, m).value().map_or(0.0, |m| m.mean);
    let most = report.series.iter().map(mean).filter(|m| m.is_finite()).fold(0.0, f64::max);
    let share = report.series.get(i).map_or(0.0, mean) / most;
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if !page.style.unicode {
        return Cell::text("#".repeat((share * wide).round() as usize)).paint(Paint::Dim);
    }
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * wide * 8.0).round() as usize;
    Cell::text(format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])).paint(Paint::Dim)
}

fn samples(s: &SeriesReport) -> Cell {
    let kept = main(s).map_or(0, |m| m.retained);
    let failed = s.failures.iter().filter(|f| f.is_counted() && !f.ignored).count();
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let warn = main(s).is_none_or(|m| !m.trustworthy) || !failed.is_empty();
    let text = if kept == s.counted { kept.to_string() } else { format!("{kept} of {}{failed}", s.counted) };
    Cell::text(text).paint(if warn { Paint::Warn } else { Paint::Plain })
}

/// The command, if the first column shows another name.
fn command_cell(report: &RunReport, i: usize, names: &[String]) -> Cell {
    let Some(s) = report.series.get(i) else { return Cell::empty() };
    let command = command(s);
    let other = is_named(s) || names.get(i).is_none_or(|name| command != *name);
    if other { command.paint(Paint::Dim) } else { Cell::empty() }
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
    let what = counted::name_of(number).write(&Form::terminal(page.style));
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
