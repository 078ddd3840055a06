//! The study of two halves of one program as tables and figures.

use crate::data::dual::{DualReport, DualRow};
use crate::sheets::correlation_parts::{
    INTERVALS, change_sentence, correlation_curve, correlation_figure, correlation_table, differing, known,
    scatter_figures, sequence, sequence_figure, too_few_to_trim,
};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::named;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::series::Summary;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// Table 7 and figures 21 to 28 of the report on program execution time.
pub fn sheet(report: &DualReport) -> Sheet {
    let what = "The correlation of the two halves' times, without outliers,";
    let found: Vec<(String, f64, &Interval)> = report
        .rows
        .iter()
        .filter_map(|r| known(Some(0.0), &r.halves.trimmed).map(|(_, value, interval)| (name(r), value, interval)))
        .collect();
    let mut answers = differing(what, &found);
    answers.extend(change_sentence(what, report.growth.as_ref()));
    let mut sections = vec![correlations(report), halves(report)];
    sections.extend(report.rows.iter().enumerate().map(|(i, row)| program(i + 1, row)));
    study_sheet(answers, remarks(report), sections)
}

fn name(row: &DualRow) -> String {
    named(&row.label, &row.condition)
}

fn remarks(report: &DualReport) -> Vec<String> {
    let mut remarks = vec![
        "Of twenty intervals of 95 %, one excludes 0 by chance alone.".to_owned(),
        "A positive correlation means that an execution is slow or fast as a whole, a negative one that one half gains what the \
         other loses."
            .to_owned(),
    ];
    if !report.without.is_empty() {
        remarks.push(format!("No times of halves were printed by: {}.", report.without.join(", ")));
    }
    let missing = report.rows.iter().filter(|r| r.missing > 0);
    let missing: Vec<String> = missing.map(|r| format!("{} of {}", r.missing, name(r))).collect();
    if !missing.is_empty() {
        remarks.push(format!("Executions without both times are left out: {}.", missing.join(", ")));
    }
    let few: Vec<String> = report.rows.iter().filter(|r| !r.halves.can_remove).map(name).collect();
    remarks.extend(too_few_to_trim(report.s, &few));
    remarks
}

fn correlations(report: &DualReport) -> Section {
    let title = "Correlation of two halves (the report's table 7)";
    let note = format!("A pair is an outlier if one half is beyond {} standard deviations. {INTERVALS}", report.s);
    let rows: Vec<_> = report.rows.iter().map(|r| (name(r), &r.halves)).collect();
    let raw = correlation_curve("all", 0, report.rows.iter().filter_map(|r| known(r.size, &r.halves.raw)));
    let trimmed =
        correlation_curve("without outliers", 1, report.rows.iter().filter_map(|r| known(r.size, &r.halves.trimmed)));
    let curves = raw.into_iter().chain(trimmed).collect();
    Section::new(
        "dual-correlations",
        title,
        "",
        figures_and_tables(
            correlation_figure("dual-correlations", "Correlation of two halves by task length", curves),
            [correlation_table(title, &note, "samples", &rows)],
        ),
    )
}

/// Mean and spread of each half.
fn halves(report: &DualReport) -> Section {
    let title = "Times of the halves";
    let columns = ["program", ">first, mean ± s.d.", ">second, mean ± s.d."];
    let mut table = Table::new(title, "Elapsed times.", &columns);
    for row in &report.rows {
        let half = |s: &Summary| Figure::new(Unit::Time, s.mean).with_spread(s.std_dev).into();
        table.row([Cell::foreign(name(row)), half(&row.first), half(&row.second)], Vec::new());
    }
    Section::new("dual-halves", title, "", [table])
}

/// Scatter plots and sequences of one program.
fn program(number: usize, row: &DualRow) -> Section {
    let name = name(row);
    let id = format!("dual-{number}");
    let axes = ["First half", "Second half"];
    let mut figures =
        scatter_figures(&id, &format!("{name}: the two halves (the report's figures 21 to 24)"), axes, &row.halves);
    let curves = vec![
        sequence("first half", 0, row.halves.pairs.iter().map(|p| p.x)),
        sequence("second half", 1, row.halves.pairs.iter().map(|p| p.y)),
    ];
    let title = format!("{name}: halves in the order of execution (the report's figures 25 to 28)");
    figures.push(sequence_figure(format!("{id}-sequence"), title, "Time of a half", curves));
    Section::new(id, name, "", figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheets::correlation_parts::tests::estimate;
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use tarebench_core::statistics::correlation::{CorrelatedPair, NoCorrelation, RawAndTrimmed};

    pub(crate) fn pairs(raw: f64, trimmed: f64) -> RawAndTrimmed {
        let pair = |x: f64, retained| CorrelatedPair { x, y: x / 2.0, retained };
        RawAndTrimmed {
            pairs: vec![pair(2e9, true), pair(1e9, true), pair(9e9, false)],
            raw: Ok(estimate(raw, 0.06)),
            trimmed: Ok(estimate(trimmed, 0.05)),
            removed: 1,
            can_remove: true,
        }
    }

    #[test]
    fn the_reports_columns() {
        let summary = Summary {
            n: 3,
            mean: 1e9,
            median: 1e9,
            std_dev: Some(2e6),
            relative_error: Some(0.002),
            min: 1e9,
            max: 1e9,
        };
        let row = |label: &str, size, halves| DualRow {
            condition: String::new(),
            label: label.to_owned(),
            size: Some(size),
            halves,
            first: summary.clone(),
            second: summary.clone(),
            missing: 0,
        };
        let few = RawAndTrimmed {
            raw: Err(NoCorrelation::TooFewPairs { have: 3, need: 10 }),
            trimmed: Err(NoCorrelation::TooFewPairs { have: 2, need: 10 }),
            can_remove: false,
            ..pairs(0.0, 0.0)
        };
        let report = DualReport {
            s: 5.0,
            rows: vec![row("dual INC2", 2.0, pairs(0.3, 0.5)), row("dual INC4", 4.0, few)],
            growth: None,
            without: vec!["INC1".to_owned()],
        };
        let s = sheet(&report);
        assert_eq!(s.answers.len(), 1);
        assert!(s.answers[0].plain().ends_with("differs from 0: dual INC2 0.50 [0.45, 0.55]."), "{:?}", s.answers);
        let table = &s.sections[0].tables().next().unwrap();
        let cells = &table.rows[0].cells;
        assert_eq!(cells[..3], ["dual INC2", "0.30 [0.24, 0.36]", "0.50 [0.45, 0.55]"]);
        assert_eq!(table.rows[1].cells[1], "none: 3 pairs, 10 needed");
        rows_fit(&s);
        // Scatter plots of all and zoomed, and the sequences.
        let program = &s.sections[2];
        assert_eq!((program.id.as_str(), program.figures().count()), ("dual-1", 3));
        assert_eq!(program.figures().next().unwrap().curves[0].x, [1e9, 2e9]);
        assert!(remarks(&s).iter().any(|r| r.contains("dual INC4")) && remarks(&s).iter().any(|r| r.contains("INC1")));
    }
}
