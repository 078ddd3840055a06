//! What the tables of programs share: their order, measures and parameters.

use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::data::{ComparedNumber, Measure, MeasureReport, RunReport, SeriesReport};
use tarebench_report::grid;
use tarebench_report::number::{TimeScale, TimeUnit, unit};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Sort;
use tarebench_report::text;

/// Index of the program that others are compared with.
pub(crate) fn reference(report: &RunReport) -> Option<usize> {
    let by_comparison = report.comparisons.first().map(|c| c.reference as usize);
    by_comparison.or_else(|| report.series.iter().position(|s| s.program.reference))
}

/// Indices of the programs that are compared with each other: all but the control, which is the reference once more.
pub(crate) fn ranked(report: &RunReport) -> Vec<usize> {
    report.series.iter().enumerate().filter(|(_, s)| !s.program.control).map(|(i, _)| i).collect()
}

/// `n=1 m=2`.
pub(crate) fn parameters(page: &ScreenText<'_>, s: &SeriesReport) -> String {
    let assignment = |(k, v): (&String, &String)| format!("{}={}", page.style.show(k), page.style.show(v));
    let all: Vec<String> = s.program.parameters.iter().map(assignment).collect();
    all.join(" ")
}

/// The measure that orders: that of the comparisons, else PT, where all programs have it; else ET.
fn ordering(report: &RunReport) -> Measure {
    let chosen = report.comparisons.first().map_or(Measure::Pt, |c| c.measure);
    let mut measured = report.series.iter().filter(|s| s.et.value().is_some());
    if measured.all(|s| by_measure(s, chosen).value().is_some()) { chosen } else { Measure::Et }
}

/// What the programs print, or a counter, that they are compared by, if that was chosen.
pub(crate) fn by_number(report: &RunReport) -> Option<ComparedNumber<'_>> {
    report.comparisons.first()?.number()
}

/// What orders programs: the mean of the number that they are compared by, else that of a measure.
pub(crate) fn ordering_mean(report: &RunReport, s: &SeriesReport, measure: Measure) -> Option<f64> {
    match by_number(report) {
        Some(number) => s.figures(number).map(|f| f.mean),
        None => by_measure(s, measure).value().map(|m| m.mean),
    }
}

/// What is known of a measure.
pub(crate) fn by_measure(s: &SeriesReport, m: Measure) -> &Reading<MeasureReport> {
    match m {
        Measure::Pt => &s.pt,
        Measure::Et => &s.et,
        Measure::Net => &s.net,
    }
}

/// Indices of the series in the order of the table's rows; the control is the last one, whatever it takes.
pub(crate) fn order(report: &RunReport, sort: Sort) -> Vec<usize> {
    let mut rows = ranked(report);
    let controls = (0..report.series.len()).filter(|i| report.series[*i].program.control);
    let scan = report.series.iter().any(|s| !s.program.parameters.is_empty());
    let by_mean = match sort {
        Sort::Auto => !scan,
        Sort::Command => false,
        Sort::MeanTime => true,
    };
    if by_mean {
        let measure = ordering(report);
        let mean = |i: &usize| ordering_mean(report, &report.series[*i], measure).unwrap_or(f64::INFINITY);
        rows.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    }
    rows.extend(controls);
    rows
}

/// Mean and deviation, points below each other.
pub(crate) fn times(
    page: &ScreenText<'_>,
    rows: &[&SeriesReport],
    measure: Measure,
    deviation: bool,
) -> (TimeUnit, Vec<String>) {
    let found: Vec<Option<&MeasureReport>> = rows.iter().map(|s| by_measure(s, measure).value()).collect();
    let unit = unit(found.iter().flatten().map(|m| m.mean), page.style.unit);
    let scale = |m: &MeasureReport| TimeScale::of(m.mean, m.std_dev, Some(unit));
    let means: Vec<Option<String>> = found.iter().map(|m| m.and_then(|m| scale(m).value(m.mean))).collect();
    let mut cells = grid::at_point(&means, page.g.absent);
    if deviation {
        let deviations: Vec<Option<String>> =
            found.iter().map(|m| m.and_then(|m| m.std_dev.and_then(|d| scale(m).value(d)))).collect();
        if deviations.iter().any(Option::is_some) {
            let set = grid::at_point(&deviations, "");
            for ((cell, d), text) in cells.iter_mut().zip(&deviations).zip(set) {
                let sign = if d.is_some() { page.g.plus_minus } else { "" };
                let pad = " ".repeat(text::columns(page.g.plus_minus) - text::columns(sign));
                cell.push_str(&format!(" {sign}{pad} {text}"));
            }
        }
    }
    (unit, cells)
}

/// Process time, or elapsed time where there is none.
pub(crate) fn main(s: &SeriesReport) -> Option<&MeasureReport> {
    s.pt.value().or(s.et.value())
}
