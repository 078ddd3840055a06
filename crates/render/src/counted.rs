//! Numbers that are no times and that programs are compared by: what they print, and what the kernel or the PMU counted.

use crate::printed;
use tarebench_core::run::report::counters::CounterSummary;
use tarebench_core::run::report::data::{ComparedNumber, Comparison, RunReport, SeriesReport};
use tarebench_core::sample::counters::Counter;
use tarebench_report::cell::Cell;

/// The counter of a program, if it has one.
pub(crate) fn summary(s: &SeriesReport, counter: Counter) -> Option<&CounterSummary> {
    s.counters.value()?.get(counter)
}

/// Whether this counter is an estimate in some sample of the program.
fn is_scaled(s: &SeriesReport, counter: Counter) -> bool {
    summary(s, counter).is_some_and(|c| c.scaled.is_some())
}

/// Name of a number that programs are compared by.
pub(crate) fn name_of(number: ComparedNumber<'_>) -> Cell {
    match number {
        ComparedNumber::Printed(name) => Cell::foreign(name),
        ComparedNumber::Counter(counter) => Cell::text(counter.name()),
    }
}

/// Mean and standard deviation of a number that programs are compared by; an estimate is marked.
pub(crate) fn mean(s: &SeriesReport, number: ComparedNumber<'_>) -> Option<Cell> {
    let cell = Cell::figure(printed::mean(s.figures(number)?));
    let scaled = matches!(number, ComparedNumber::Counter(counter) if is_scaled(s, counter));
    Some(if scaled { cell.and(" (scaled)") } else { cell })
}

/// What a comparison by a number rests on: `printed value`, `scaled count, executions alone`.
pub(crate) fn basis(report: &RunReport, c: &Comparison, number: ComparedNumber<'_>) -> &'static str {
    // What programs print or count in duets is not read.
    let alone = matches!(c.duets, Some(Ok(_)));
    let ComparedNumber::Counter(counter) = number else {
        return if alone { "printed value, executions alone" } else { "printed value" };
    };
    let scaled = [c.series, c.reference].into_iter().filter_map(|i| report.series.get(i as usize));
    match (scaled.into_iter().any(|s| is_scaled(s, counter)), alone) {
        (false, false) => "count",
        (false, true) => "count, executions alone",
        (true, false) => "count, scaled",
        (true, true) => "count, scaled, executions alone",
    }
}
