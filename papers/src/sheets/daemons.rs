//! The study of process time and the time of daemons as tables and figures.

use crate::data::daemons::{DaemonsReport, DaemonsRow};
use crate::sheets::correlation_parts::{
    INTERVALS, change_sentence, correlation_curve, correlation_figure, correlation_table, differing, known,
    scatter_figures, sequence, sequence_figure, too_few_to_trim,
};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::named;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// Table 8 and figures 33 to 39 of the report on program execution time.
pub fn sheet(report: &DaemonsReport) -> Sheet {
    let what = "The correlation of process time with the daemons' time";
    let found: Vec<(String, f64, &Interval)> = report
        .rows
        .iter()
        .filter_map(|r| known(Some(0.0), &r.times.raw).map(|(_, value, interval)| (name(r), value, interval)))
        .collect();
    let mut answers = differing(what, &found);
    answers.extend(change_sentence(what, report.growth.as_ref()));
    answers.extend(change_sentence("Without outliers, it", report.trimmed_growth.as_ref()));
    let mut sections = vec![correlations(report), daemon_times(report)];
    sections.extend(report.rows.iter().enumerate().map(|(i, row)| program(i + 1, row)));
    study_sheet(answers, remarks(report), sections)
}

fn name(row: &DaemonsRow) -> String {
    named(&row.label, &row.condition)
}

fn remarks(report: &DaemonsReport) -> Vec<String> {
    let mut remarks = vec![
        "Of twenty intervals of 95 %, one excludes 0 by chance alone.".to_owned(),
        "A longer execution meets more daemons: a correlation does not say which of the two is the cause.".to_owned(),
    ];
    if !report.without.is_empty() {
        remarks.push(format!("No process times or snapshots of all processes: {}.", report.without.join(", ")));
    }
    let counted = |count: fn(&DaemonsRow) -> u32| {
        let some = report.rows.iter().filter(|r| count(r) > 0);
        some.map(|r| format!("{} of {}", count(r), name(r))).collect::<Vec<String>>().join(", ")
    };
    let (missing, incomplete) = (counted(|r| r.missing), counted(|r| r.incomplete));
    if !missing.is_empty() {
        remarks.push(format!("Samples without process time or snapshot are left out: {missing}."));
    }
    if !incomplete.is_empty() {
        remarks.push(format!("Lists of daemons that may lack some: {incomplete}."));
    }
    let few: Vec<String> = report.rows.iter().filter(|r| !r.times.can_remove).map(name).collect();
    remarks.extend(too_few_to_trim(report.s, &few));
    remarks
}

fn correlations(report: &DaemonsReport) -> Section {
    let title = "Correlation of process time with the daemons' time (the report's table 8)";
    let note = format!(
        "The daemons' time is the CPU time of all other processes and kernel threads during a sample, without tare's. A sample is \
         an outlier if either time is beyond {} standard deviations. {INTERVALS}",
        report.s
    );
    let rows: Vec<_> = report.rows.iter().map(|r| (name(r), &r.times)).collect();
    let raw = correlation_curve("all", 0, report.rows.iter().filter_map(|r| known(r.size, &r.times.raw)));
    let trimmed =
        correlation_curve("without outliers", 1, report.rows.iter().filter_map(|r| known(r.size, &r.times.trimmed)));
    let curves = raw.into_iter().chain(trimmed).collect();
    let figure_title = "Correlation of process time with the daemons' time by task length";
    Section::new(
        "daemon-correlations",
        title,
        "",
        figures_and_tables(
            correlation_figure("daemon-correlations", figure_title, curves),
            [correlation_table(title, &note, "samples", &rows)],
        ),
    )
}

fn daemon_times(report: &DaemonsReport) -> Section {
    let title = "The daemons' time in a sample";
    let columns = ["program", ">median", ">mean ± s.d.", ">maximum"];
    let mut table = Table::new(title, "CPU time.", &columns);
    for row in &report.rows {
        let d = &row.daemons;
        let mean = Figure::new(Unit::Time, d.mean).with_spread(d.std_dev);
        table.row([Cell::foreign(name(row)), Cell::time(d.median), mean.into(), Cell::time(d.max)], Vec::new());
    }
    Section::new("daemon-times", title, "", [table])
}

/// Scatter plots and sequences of one program.
fn program(number: usize, row: &DaemonsRow) -> Section {
    let name = name(row);
    let id = format!("daemons-{number}");
    let axes = ["Process time", "The daemons' time"];
    let title = format!("{name} and daemons (the report's figures 33 to 39)");
    let mut figures = scatter_figures(&id, &title, axes, &row.times);
    // Each has an axis of its own: the daemons' time is small beside a program's.
    let pairs = &row.times.pairs;
    let times = vec![sequence("process time", 0, pairs.iter().map(|p| p.x))];
    let daemons = vec![sequence("daemons", 1, pairs.iter().map(|p| p.y))];
    figures.push(sequence_figure(format!("{id}-times"), format!("{name}: process time"), "Process time", times));
    figures.push(sequence_figure(
        format!("{id}-daemons"),
        format!("{name}: the daemons' time"),
        "The daemons' time",
        daemons,
    ));
    Section::new(id, name, "", figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheets::correlation_parts::tests::estimate;
    use crate::sheets::sheet::tests::remarks;
    use tarebench_core::statistics::correlation::{CorrelatedPair, RawAndTrimmed};
    use tarebench_core::statistics::series::Summary;

    #[test]
    fn the_reports_columns() {
        let daemons =
            Summary { n: 2, mean: 2e6, median: 1.5e6, std_dev: None, relative_error: None, min: 1e6, max: 3e6 };
        let row = DaemonsRow {
            condition: String::new(),
            label: "INC512".to_owned(),
            size: Some(512.0),
            times: RawAndTrimmed {
                pairs: vec![CorrelatedPair { x: 512e9, y: 2e6, retained: true }],
                raw: Ok(estimate(0.9, 0.05)),
                trimmed: Ok(estimate(0.6, 0.1)),
                removed: 0,
                can_remove: true,
            },
            daemons,
            missing: 0,
            incomplete: 4,
        };
        let report = DaemonsReport { s: 5.0, rows: vec![row], growth: None, trimmed_growth: None, without: Vec::new() };
        let s = sheet(&report);
        assert_eq!(
            s.answers,
            ["The correlation of process time with the daemons' time differs from 0: INC512 0.90 [0.85, 0.95]."]
        );
        assert_eq!(
            s.sections[0].tables().next().unwrap().rows[0].cells[..3],
            ["INC512", "0.90 [0.85, 0.95]", "0.60 [0.50, 0.70]"]
        );
        assert_eq!(s.sections[1].tables().next().unwrap().rows[0].cells, ["INC512", "1.50 ms", "2.00 ms", "3.00 ms"]);
        // One scatter plot, as there are no outliers, and two sequences.
        assert_eq!(s.sections[2].figures().count(), 3);
        assert!(remarks(&s).iter().any(|r| r.ends_with("4 of INC512.")), "{:?}", s.remarks);
    }
}
