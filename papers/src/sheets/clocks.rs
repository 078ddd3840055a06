//! The study of clocks as tables and figures.

use crate::data::clocks::{ClockStatistics, ClocksProgram, ClocksStudyReport, ExecutionClock};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::{ROBUST, execution_figure, named, spread_cell, spread_sentence, timing_table};
use tarebench_core::base::reading::Reading;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// What users call a clock.
fn clock_name(clock: ExecutionClock) -> &'static str {
    match clock {
        ExecutionClock::Monotonic => "clock_gettime(CLOCK_MONOTONIC)",
        ExecutionClock::MonotonicRaw => "clock_gettime(CLOCK_MONOTONIC_RAW)",
        ExecutionClock::CycleCounter => "cycle counter",
        ExecutionClock::ProcessTime => "process time (EMP)",
    }
}

/// The clocks of a program that have times.
fn known(program: &ClocksProgram) -> impl Iterator<Item = (ExecutionClock, &ClockStatistics)> {
    program.clocks.iter().filter_map(|c| Some((c.clock, c.times.value()?)))
}

/// EMP figure 18, table XXV.
pub fn sheet(report: &ClocksStudyReport) -> Sheet {
    let mut answers = Vec::new();
    for p in &report.programs {
        let process = format!("Process time of {}", named(&p.label, &p.condition));
        let spreads = known(p).filter_map(|(clock, s)| Some((clock, s.spread.as_ref()?)));
        answers.extend(spreads.map(|(clock, spread)| spread_sentence(&process, clock_name(clock), spread)));
    }
    let absent = report.programs.iter().flat_map(|p| p.clocks.iter().map(move |c| (p, c)));
    let absent = absent.filter_map(|(p, c)| match &c.times {
        Reading::Absent(why) => Some(format!("{}: no times by {}: {why}.", p.label, clock_name(c.clock))),
        Reading::Value(_) => None,
    });
    let remarks = std::iter::once(
        "The paper timed other executions by each clock, so that its differences are also those between executions. Here each \
         execution is timed by all of them."
            .to_owned(),
    );
    study_sheet(answers, remarks.chain(absent), vec![statistics(report), executions(report)])
}

fn statistics(report: &ClocksStudyReport) -> Section {
    let title = |p: &ClocksProgram| named(&p.label, &p.condition);
    let columns = ["clock", ">rate against the first", "robust spread of PT / that of the clock [95%]"];
    let mut tables = Vec::new();
    for p in &report.programs {
        let rows: Vec<_> = known(p).map(|(clock, s)| (clock_name(clock).to_owned(), &s.row)).collect();
        tables.push(timing_table(&title(p), ROBUST, &rows));
        let note = "Rate: the sum of all times by this clock, against that by the first. Of process time it is what ET has more.";
        let mut table = Table::new(format!("{}: clocks against each other", title(p)), note, &columns);
        for (clock, s) in known(p) {
            let spread = s.spread.as_ref().map(spread_cell).unwrap_or_default();
            table.row([Cell::text(clock_name(clock)), rate(s.rate), spread], Vec::new());
        }
        tables.push(table);
    }
    Section::new(
        "statistics",
        "The same executions by several clocks (EMP table XXV)",
        "All counted samples; none is discarded. The cycle counter's frequency is that which was measured when the run began.",
        tables,
    )
}

/// With the digits that it has: rates of clocks differ by little.
fn rate(rate: f64) -> Cell {
    Cell::figure(Figure { digits: Some(rate.abs() / 10.0), ..Figure::new(Unit::Change, 1.0 + rate) })
}

fn executions(report: &ClocksStudyReport) -> Section {
    let note = "A point for each execution, in their order; the vertical axes differ.";
    let mut figures = Vec::new();
    for p in &report.programs {
        for (clock, s) in known(p) {
            let title = format!("{} by {}", named(&p.label, &p.condition), clock_name(clock));
            let what = if clock == ExecutionClock::ProcessTime { "Process time" } else { "Elapsed time" };
            figures.push(execution_figure(&format!("executions-{}", figures.len()), &title, note, what, &s.executions));
        }
    }
    Section::new("executions", "Executions by each clock (EMP figure 18)", "", figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::clocks::ClockTimes;
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use crate::sheets::timing_parts::tests::inc8;
    use tarebench_core::base::reading::Absent;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_core::statistics::spread::SpreadRatio;

    #[test]
    fn rates_are_small() {
        let shown = [0.0, 1.2e-5, -4e-4, 0.0014, -0.003].map(rate);
        assert_eq!(shown, ["0.0 %", "+0.0012 %", "−0.040 %", "+0.14 %", "−0.30 %"]);
    }

    #[test]
    fn clocks_side_by_side() {
        let interval = Interval { low: 0.6, high: 0.8, level: 0.95 };
        let statistics = |spread| ClockStatistics { row: inc8(), rate: 0.0, spread, executions: vec![8.3e9, 8.4e9] };
        let clock = |clock, times| ClockTimes { clock, times };
        let clocks = vec![
            clock(
                ExecutionClock::Monotonic,
                Reading::Value(statistics(Some(Ok(SpreadRatio { ratio: 0.7, interval })))),
            ),
            clock(ExecutionClock::CycleCounter, Reading::Absent(Absent::NotSupported("no counter".to_owned()))),
            clock(ExecutionClock::ProcessTime, Reading::Value(statistics(None))),
        ];
        let program = ClocksProgram { label: "INC8".to_owned(), condition: String::new(), clocks };
        let sheet = sheet(&ClocksStudyReport { programs: vec![program] });
        rows_fit(&sheet);
        assert_eq!(
            sheet.answers,
            [
                "Process time of INC8: less spread than clock_gettime(CLOCK_MONOTONIC); the ratio of their robust spreads is \
              0.700 [0.600, 0.800]."
            ]
        );
        assert_eq!(remarks(&sheet)[1], "INC8: no times by cycle counter: not available: no counter.");
        assert_eq!((sheet.sections[0].tables().count(), sheet.sections[0].tables().nth(1).unwrap().rows.len()), (2, 2));
        assert_eq!(sheet.sections[1].figures().count(), 2);
    }
}
