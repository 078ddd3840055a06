//! A table of benchmarks for documents: Markdown, AsciiDoc, Org mode.

use crate::kbest::bench;
use crate::kbest::clocks;
use tarebench_core::kbest::report::BenchReport;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::document;
use tarebench_report::markup::Markup;
use tarebench_report::number::TimeUnit;
use tarebench_report::table::{Column, Table};

/// A table of benchmarks: time of one execution, spread, trials, repetitions, clock, standing. All times in `unit`, or in the
/// one that fits best. Absent values are `–`.
pub fn benchmarks(report: &BenchReport, unit: Option<TimeUnit>, markup: Markup) -> String {
    document::table(&table(report), markup, unit)
}

fn table(report: &BenchReport) -> Table {
    let heads = ["Benchmark", "Time", "Spread", "Trials", "Repetitions", "Clock", "Standing"];
    let column = |head: &str| if head == "Time" { Column::new(head).shared_unit() } else { Column::new(head) };
    let mut table = Table::of("", "", heads.map(column));
    for r in &report.rows {
        let spread = r.spread.value().copied();
        let time = r.time.value().map(|ns| Figure { digits: spread.map(|s| s * ns), ..Figure::new(Unit::Time, *ns) });
        let cells = [
            Cell::foreign(&r.name),
            time.into(),
            Cell::of(Unit::Share, spread),
            Cell::count(r.trials as u32),
            Cell::of(Unit::Count, r.repetitions as f64),
            clocks::name(r.clock).into(),
            bench::standing(r.standing).into(),
        ];
        table.row(cells, Vec::new());
    }
    table
}
