//! The study of successive samples as tables and figures.

use crate::data::successive::{SuccessiveReport, SuccessiveRow};
use crate::sheets::correlation_parts::{
    INTERVALS, coefficient, correlation_curve, correlation_figure, correlation_table, differing, range,
    scatter_figures, too_few_to_trim,
};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::named;
use tarebench_core::statistics::correlation::NoCorrelation;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::serial::SerialCorrelation;
use tarebench_report::table::Table;

/// Figures 29 to 32 of the report on program execution time.
pub fn sheet(report: &SuccessiveReport) -> StudySheet {
    let found: Vec<(String, f64, &Interval)> =
        report.rows.iter().filter_map(|r| r.trimmed.as_ref().ok().map(|t| (name(r), t.r, &t.interval))).collect();
    let answers =
        differing("The correlation of a sample's process time with the next one's, without outliers,", &found);
    let mut sections = vec![serial(report), odd_even(report)];
    sections.extend(report.rows.iter().enumerate().map(|(i, row)| program(i + 1, row)));
    StudySheet { answers, remarks: remarks(report), sections }
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

/// The correlation and its interval, or why there is none.
fn cells(found: &Result<SerialCorrelation, NoCorrelation>) -> [String; 2] {
    match found {
        Ok(s) => [coefficient(s.r), range(&s.interval)],
        Err(why) => [String::new(), format!("none: {why}")],
    }
}

fn serial(report: &SuccessiveReport) -> SheetSection {
    let title = "Correlation of a sample with the next one";
    let note = format!(
        "Of process times. Outliers are beyond {} standard deviations. The intervals are by Bartlett's formula. Correlations of \
         independent samples are within the distance by chance of 0 in 95 of 100 series.",
        report.s
    );
    let columns = [
        "program",
        ">samples",
        ">pairs",
        ">correlation",
        "95 % interval",
        ">without outliers",
        "95 % interval",
        ">outliers",
        ">by chance",
    ];
    let mut table = Table::new(title, note, &columns);
    for row in &report.rows {
        let (raw, trimmed) = (row.raw.as_ref().ok(), row.trimmed.as_ref().ok());
        let ([r, interval], [trimmed_r, trimmed_interval]) = (cells(&row.raw), cells(&row.trimmed));
        table.row(
            vec![
                name(row),
                row.samples.to_string(),
                raw.map(|s| s.pairs.to_string()).unwrap_or_default(),
                r,
                interval,
                trimmed_r,
                trimmed_interval,
                row.removed.to_string(),
                raw.map(|s| coefficient(s.chance)).unwrap_or_default(),
            ],
            Vec::new(),
        );
        table.values(vec![
            None,
            Some(f64::from(row.samples)),
            raw.map(|s| f64::from(s.pairs)),
            raw.map(|s| s.r),
            None,
            trimmed.map(|s| s.r),
            None,
            Some(f64::from(row.removed)),
            raw.map(|s| s.chance),
        ]);
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
    SheetSection {
        id: "successive-correlations".to_owned(),
        title: title.to_owned(),
        note: String::new(),
        tables: vec![table],
        figures: correlation_figure(
            "successive-correlations",
            "Correlation of successive samples by task length",
            curves.collect(),
        )
        .into_iter()
        .collect(),
    }
}

fn odd_even(report: &SuccessiveReport) -> SheetSection {
    let title = "Odd samples against the even ones that follow (the report's section 7)";
    let note = format!("Each sample is in one pair at most. {INTERVALS}");
    let rows: Vec<_> = report.rows.iter().map(|r| (name(r), &r.odd_even)).collect();
    SheetSection {
        id: "successive-pairs".to_owned(),
        title: title.to_owned(),
        note: String::new(),
        tables: vec![correlation_table(title, &note, "pairs", &rows)],
        figures: Vec::new(),
    }
}

fn program(number: usize, row: &SuccessiveRow) -> SheetSection {
    let name = name(row);
    let id = format!("successive-{number}");
    let title = format!("{name}: odd and even samples (the report's figures 29 to 32)");
    let axes = ["Process time of the odd sample", "Process time of the even sample"];
    let figures = scatter_figures(&id, &title, axes, &row.odd_even);
    SheetSection { id, title: name, note: String::new(), tables: Vec::new(), figures }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::successive::SuccessionBreaks;
    use crate::sheets::correlation_parts::tests::estimate;
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
            s.answers[0].ends_with("is not distinguishable from 0: INC1 (turbo off) 0.05 [-0.05, 0.15]."),
            "{:?}",
            s.answers
        );
        let table = &s.sections[0].tables[0];
        assert_eq!(table.rows[0].cells[1..5], ["300", "297", "0.20", "[0.10, 0.30]"]);
        assert_eq!(
            (table.rows[0].cells.len(), table.rows[0].numbers().len()),
            (table.columns.len(), table.columns.len())
        );
        assert!(
            s.remarks.iter().any(|r| r.ends_with("2 after a pause or a resumption of the run.")),
            "{:?}",
            s.remarks
        );
        assert_eq!((s.sections[2].figures.len(), s.sections[0].figures.len()), (1, 1));
    }
}
