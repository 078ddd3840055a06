//! A table of benchmarks for documents: Markdown, AsciiDoc, Org mode.

use crate::kbest::bench;
use crate::kbest::clocks;
use tarebench_core::kbest::report::{BenchReport, BenchRow};
use tarebench_report::markup::{ABSENT, Markup, MarkupTable};
use tarebench_report::number;
use tarebench_report::number::TimeUnit;
use tarebench_report::number::unit as middle_unit;

/// A table of benchmarks: time of one execution, spread, trials, repetitions, clock, standing. All times in `unit`, or in the
/// one that fits best. Absent values are `–`.
pub fn benchmarks(report: &BenchReport, unit: Option<TimeUnit>, markup: Markup) -> String {
    table(report, unit).write(markup)
}

fn table(report: &BenchReport, unit: Option<TimeUnit>) -> MarkupTable {
    let unit = middle_unit(report.rows.iter().filter_map(|r| r.time.value().copied()), unit);
    let time = format!("Time [{unit}]");
    let heads = ["Benchmark", &time, "Spread", "Trials", "Repetitions", "Clock", "Standing"];
    let row = |r: &BenchRow| {
        let absent = || ABSENT.to_owned();
        let spread = r.spread.value().copied();
        let time = r.time.value().and_then(|ns| bench::time(*ns, spread, Some(unit)));
        let cells = vec![
            time.map_or_else(absent, |(value, _)| value),
            spread.and_then(number::percent).unwrap_or_else(absent),
            r.trials.to_string(),
            r.repetitions.to_string(),
            clocks::name(r.clock).to_owned(),
            bench::standing(r.standing),
        ];
        (r.name.clone(), cells)
    };
    MarkupTable { heads: heads.map(str::to_owned).to_vec(), rows: report.rows.iter().map(row).collect() }
}
