//! What the tables of programs share: their order, measures and parameters.

use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::data::{ComparedNumber, Measure, MeasureReport, RunReport, SeriesReport};
use tarebench_report::cell::{Figure, Unit};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Sort;

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

/// `307 ms ± 39 [276, 334]`.
pub(crate) fn mean(m: &MeasureReport) -> Figure {
    Figure::new(Unit::Time, m.mean).with_spread(m.std_dev).with_interval(&m.mean_interval)
}

/// Process time, or elapsed time where there is none.
pub(crate) fn main(s: &SeriesReport) -> Option<&MeasureReport> {
    s.pt.value().or(s.et.value())
}
