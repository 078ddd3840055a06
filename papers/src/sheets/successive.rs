//! The study of successive samples as tables and figures.

use crate::data::successive::{SuccessiveReport, SuccessiveRow};
use crate::sheets::correlation_parts::{
    INTERVALS, coefficient, correlation_curve, correlation_figure, correlation_table, differing, no_correlation,
    scatter_figures, too_few_to_trim,
};
use crate::sheets::sheet::{figures_and_tables, study_sheet};
use crate::sheets::timing_parts::named;
use tarebench_core::statistics::correlation::NoCorrelation;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::serial::SerialCorrelation;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// Figures 29 to 32 of the report on program execution time.
pub fn sheet(report: &SuccessiveReport) -> Sheet {
    let found: Vec<(String, f64, &Interval)> =
        report.rows.iter().filter_map(|r| r.trimmed.as_ref().ok().map(|t| (name(r), t.r, &t.interval))).collect();
    let answers =
        differing("The correlation of a sample's process time with the next one's, without outliers,", &found);
    let mut sections = vec![serial(report), odd_even(report)];
    sections.extend(report.rows.iter().enumerate().map(|(i, row)| program(i + 1, row)));
    study_sheet(answers, remarks(report), sections)
}

fn name(row: &SuccessiveRow) -> String {
    named(&row.label, &row.condition)
}

fn remarks(report: &SuccessiveReport) -> Vec<String> {
    let mut remarks = vec![
        "Of twenty intervals of 95 %, one excludes 0 by chance alone.".to_owned(),
        "A machine whose speed drifts makes successive samples alike, too: a correlation does not say that one execution \
         changes the next one."
            .to_owned(),
    ];
    for row in &report.rows {
        let b = row.breaks;
        let kinds = [
            (b.other_executions, "where something else was executed in between or a sample is missing"),
            (b.pauses, "after a pause or a resumption of the run"),
            (b.restarts, "after a restart of the machine"),
        ];
        let parts = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}"));
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            remarks.push(format!("{}: samples that do not follow the one before: {}.", name(row), parts.join(", ")));
        }
    }
    let few: Vec<String> = report.rows.iter().filter(|r| !r.can_remove).map(name).collect();
    remarks.extend(too_few_to_trim(report.s, &few));
    remarks
}

fn cell(found: &Result<SerialCorrelation, NoCorrelation>) -> Cell {
    match found {
        Ok(s) => coefficient(s.r, &s.interval),
        Err(why) => no_correlation(why),
    }
}

fn serial(report: &SuccessiveReport) -> Section {
    let title = "Correlation of a sample with the next one";
    let note = format!(
        "Of process times. Outliers are beyond {} standard deviations. The intervals are by Bartlett's formula. Correlations of \
         independent samples are within the distance by chance of 0 in 95 of 100 series.",
        report.s
    );
    let columns =
        ["program", ">samples", ">pairs", "correlation [95%]", "without outliers [95%]", ">outliers", ">by chance"];
    let mut table = Table::new(title, note, &columns);
    for row in &report.rows {
        let raw = row.raw.as_ref().ok();
        let cells = [
            Cell::foreign(name(row)),
            Cell::count(row.samples),
            Cell::of(Unit::Count, raw.map(|s| f64::from(s.pairs))),
            cell(&row.raw),
            cell(&row.trimmed),
            Cell::count(row.removed),
            Cell::of(Unit::Correlation, raw.map(|s| s.chance)),
        ];
        table.row(cells, Vec::new());
    }
    let by_size = |pick: fn(&SuccessiveRow) -> &Result<SerialCorrelation, NoCorrelation>| {
        report.rows.iter().filter_map(move |r| {
            let found = pick(r).as_ref().ok()?;
            Some((r.size?, found.r, &found.interval))
        })
    };
    let curves = correlation_curve("all", 0, by_size(|r| &r.raw)).into_iter().chain(correlation_curve(
        "without outliers",
        1,
        by_size(|r| &r.trimmed),
    ));
    Section::new(
        "successive-correlations",
        title,
        "",
        figures_and_tables(
            correlation_figure(
                "successive-correlations",
                "Correlation of successive samples by task length",
                curves.collect(),
            ),
            [table],
        ),
    )
}

fn odd_even(report: &SuccessiveReport) -> Section {
    let title = "Odd samples against the even ones that follow (the report's section 7)";
    let note = format!("Each sample is in one pair at most. {INTERVALS}");
    let rows: Vec<_> = report.rows.iter().map(|r| (name(r), &r.odd_even)).collect();
    Section::new("successive-pairs", title, "", [correlation_table(title, &note, "pairs", &rows)])
}

fn program(number: usize, row: &SuccessiveRow) -> Section {
    let name = name(row);
    let id = format!("successive-{number}");
    let title = format!("{name}: odd and even samples (the report's figures 29 to 32)");
    let axes = ["Process time of the odd sample", "Process time of the even sample"];
    let figures = scatter_figures(&id, &title, axes, &row.odd_even);
    Section::new(id, name, "", figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::successive::SuccessionBreaks;
    use crate::sheets::correlation_parts::tests::estimate;
    use crate::sheets::sheet::tests::{remarks, rows_fit};
    use tarebench_core::statistics::correlation::{CorrelatedPair, RawAndTrimmed};

    #[test]
    fn breaks_and_columns() {
        let found = |r: f64| SerialCorrelation {
            values: 300,
            pairs: 297,
            r,
            interval: Interval { low: r - 0.1, high: r + 0.1, level: 0.95 },
            chance: 0.114,
        };
        let report = SuccessiveReport {
            s: 5.0,
            rows: vec![SuccessiveRow {
                condition: "turbo off".to_owned(),
                label: "INC1".to_owned(),
                size: Some(1.0),
                samples: 300,
                breaks: SuccessionBreaks { other_executions: 0, pauses: 2, restarts: 0 },
                raw: Ok(found(0.2)),
                trimmed: Ok(found(0.05)),
                removed: 1,
                can_remove: true,
                odd_even: RawAndTrimmed {
                    pairs: vec![CorrelatedPair { x: 1e9, y: 1.1e9, retained: true }],
                    raw: Ok(estimate(0.2, 0.1)),
                    trimmed: Ok(estimate(0.2, 0.1)),
                    removed: 0,
                    can_remove: true,
                },
            }],
        };
        let s = sheet(&report);
        assert!(
            s.answers[0].plain().ends_with("is not distinguishable from 0: INC1 (turbo off) 0.05 [−0.05, 0.15]."),
            "{:?}",
            s.answers
        );
        let table = &s.sections[0].tables().next().unwrap();
        assert_eq!(table.rows[0].cells[1..4], ["300", "297", "0.20 [0.10, 0.30]"]);
        rows_fit(&s);
        assert!(
            remarks(&s).iter().any(|r| r.ends_with("2 after a pause or a resumption of the run.")),
            "{:?}",
            s.remarks
        );
        assert_eq!((s.sections[2].figures().count(), s.sections[0].figures().count()), (1, 1));
    }
}
