//! The study of sample sizes as tables and figures.

use crate::data::sample_size::{
    ConfirmedBy, NoConfirmation, PAPERS_LEAST, PAPERS_TOLERANCE, SIZE_FACTOR, SampleSizeReport, SizeRow, SizeTable,
    SizedProgram,
};
use crate::sheets::checked_parts::{by_check, first_check_remarks};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::logarithmic;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Band, Join, PageCurve, PageFigure, PageQuantity};

/// A measure of a program.
type Measured = fn(&SizedProgram) -> &SizeTable;

const MEASURES: [(&str, &str, Measured); 2] = [("process", "PT", |p| &p.process), ("elapsed", "ET", |p| &p.elapsed)];

/// EMP tables XX to XXIV; the report's tables 4 and 6, figures 12, 13 and 16.
pub fn sheet(report: &SampleSizeReport) -> Sheet {
    let mut remarks = first_check_remarks(report.programs.iter().map(|p| &p.first_check));
    remarks.push(
        "The samples of a prefix are the first of the series, so that a machine that changes meanwhile makes short prefixes look \
         steadier than the series is."
            .to_owned(),
    );
    let mut sections = vec![recommended(report), confirmations(report)];
    for (id, what, table) in MEASURES {
        sections.push(across(report, id, what, table, Across::Discards));
        sections.push(across(report, id, what, table, Across::Deviations));
    }
    sections.push(details(report));
    sections.push(figures(report));
    study_sheet(report.programs.iter().map(answer), remarks, sections)
}

fn answer(program: &SizedProgram) -> String {
    let table = &program.process;
    let whole = table.rows.last().map_or(0, |r| r.samples);
    let label = &program.label;
    let Some(size) = table.recommended else {
        return format!(
            "{label}: no size up to {whole} is recommended; the interval of the standard deviation of PT is too wide, or there \
             is none."
        );
    };
    let found = match &table.confirmation {
        Ok(c) if c.agrees() => format!("{} agree with it", source(c.source)),
        Ok(c) => {
            format!("{} do not agree with it: {}", source(c.source), disagreement(c.means_agree, c.deviations_agree))
        }
        Err(why) => format!("this is not confirmed: {}", unconfirmed(why)),
    };
    format!(
        "{label}: {size} samples are enough for the standard deviation of PT to be within a factor of {SIZE_FACTOR} of that of \
         {whole} (95 %); {found}."
    )
}

fn source(source: ConfirmedBy) -> &'static str {
    match source {
        ConfirmedBy::SecondRun => "as many samples of a second run",
        ConfirmedBy::LaterSamples => "the last as many samples of the same series",
    }
}

fn disagreement(means_agree: bool, deviations_agree: bool) -> &'static str {
    match (means_agree, deviations_agree) {
        (false, false) => "mean and standard deviation differ by more than their intervals allow",
        (false, true) => "the means differ by more than their intervals allow",
        (true, false) => "the standard deviations differ by more than their intervals allow",
        (true, true) => "they agree",
    }
}

fn unconfirmed(why: &NoConfirmation) -> String {
    match why {
        NoConfirmation::NoSize => "no size is recommended".to_owned(),
        NoConfirmation::TooFew { have, need } => format!("{have} other samples, {need} needed"),
        NoConfirmation::NoInterval => "too few samples are retained, or they do not differ".to_owned(),
    }
}

fn recommended(report: &SampleSizeReport) -> Section {
    let columns = ["program", "measure", ">samples", ">recommended", ">as the papers choose"];
    let mut table = Table::new("Recommended numbers of samples", "", &columns);
    for program in &report.programs {
        for (_, what, measured) in MEASURES {
            let found = measured(program);
            let whole = found.rows.last().map(|r| r.samples);
            let numbers = [whole, found.recommended, found.by_papers];
            let count = |n: Option<usize>| n.map_or_else(|| "none".into(), |n| Cell::count(n as f64));
            let head = [Cell::foreign(&program.label), what.into()].into_iter();
            table.row(head.chain(numbers.map(count)), Vec::new());
        }
    }
    Section::new(
        "recommended",
        "Recommended sample size (EMP section 4.6)",
        format!(
            "Recommended: the smallest size from which on the 95 % interval of the standard deviation lies within a factor of \
             {SIZE_FACTOR} of that of all samples. As the papers choose: the smallest one, {PAPERS_LEAST} at least, from which on \
             the standard deviation itself is within {:.0} %, whatever chance did to it.",
            100.0 * PAPERS_TOLERANCE
        ),
        [table],
    )
}

fn confirmations(report: &SampleSizeReport) -> Section {
    let columns = ["program", "measure", ">samples", ">mean ± s.d.", ">against", "means", "deviations"];
    let mut table = Table::new("A second series of the recommended size", "", &columns);
    for program in &report.programs {
        for (_, what, measured) in MEASURES {
            let times = |row: &SizeRow| Figure::new(Unit::Time, row.mean).with_spread(row.std_dev).into();
            let agree = |yes: bool| Cell::text(if yes { "agree" } else { "differ" });
            let found = match &measured(program).confirmation {
                Ok(c) => [
                    Cell::count(c.row.samples as f64),
                    times(&c.row),
                    times(&c.against),
                    agree(c.means_agree),
                    agree(c.deviations_agree),
                ],
                Err(why) => [Cell::empty(), Cell::empty(), Cell::empty(), unconfirmed(why).into(), Cell::empty()],
            };
            table.row([Cell::foreign(&program.label), what.into()].into_iter().chain(found), Vec::new());
        }
    }
    Section::new(
        "confirmation",
        "Confirmation (EMP section 4.6.1, step 4)",
        "Two series agree if their means, and their standard deviations, differ by no more than the root of the sum of the \
               squares of the half widths of their 95 % intervals.",
        [table],
    )
}

/// What a table by size shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Across {
    Discards,
    Deviations,
}

/// A row for each program, a column for each size, as the papers have it: the whole series last.
fn across(report: &SampleSizeReport, id: &str, what: &str, measured: Measured, shown: Across) -> Section {
    let mut sizes: Vec<usize> =
        report.programs.iter().flat_map(|p| measured(p).rows.iter().map(|r| r.samples)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let heads: Vec<String> = sizes.iter().map(|n| format!(">{n}")).collect();
    let columns: Vec<&str> = std::iter::once("program").chain(heads.iter().map(String::as_str)).collect();
    let (kind, tables, note) = match shown {
        Across::Discards => (
            "discards",
            if id == "process" { "EMP tables XX and XXII" } else { "EMP table XX" },
            "Samples that both checks discard (= by check 1 + by check 2), by the number of samples; the limits of check 2 are of \
             these samples alone.",
        ),
        Across::Deviations => (
            "deviations",
            if id == "process" { "EMP tables XXI and XXIII, report tables 4 and 6" } else { "EMP table XXIV" },
            "Of the samples that both checks retain, by the number of samples.",
        ),
    };
    let title = match shown {
        Across::Discards => format!("Number of outliers in {what} by sample size"),
        Across::Deviations => format!("Standard deviation of {what} by sample size"),
    };
    let mut table = Table::new(title.as_str(), note, &columns);
    for program in &report.programs {
        let rows = &measured(program).rows;
        let at = |n: &usize| rows.iter().find(|r| r.samples == *n);
        let cells = sizes.iter().map(|n| at(n).map(|row| shown_cell(row, shown)).unwrap_or_default());
        table.row([Cell::foreign(&program.label)].into_iter().chain(cells), Vec::new());
    }
    Section::new(format!("{kind}-{id}"), format!("{title} ({tables})"), "", [table])
}

fn shown_cell(row: &SizeRow, shown: Across) -> Cell {
    match shown {
        Across::Discards => by_check(row.by_cutoff, row.by_deviation),
        Across::Deviations => Cell::time(row.std_dev),
    }
}

/// Everything by size, with intervals.
fn details(report: &SampleSizeReport) -> Section {
    let columns = ["program", "measure", ">samples", "mean [95%]", "std. dev. [95%]", ">relative error"];
    let mut table = Table::new("Mean and standard deviation by sample size", "", &columns);
    let with_interval = |value: Option<f64>, digits, interval: &Option<Interval>| match (value, interval) {
        (None, _) => Cell::absent(),
        (Some(ns), Some(i)) => Figure::new(Unit::Time, ns).with_interval(&Ok(i.clone())).into(),
        (Some(ns), None) => Cell::figure(Figure { digits, ..Figure::new(Unit::Time, ns) }).and(" (too few)"),
    };
    for program in &report.programs {
        for (_, what, measured) in MEASURES {
            for row in &measured(program).rows {
                let cells = [
                    Cell::foreign(&program.label),
                    what.into(),
                    Cell::count(row.samples as f64),
                    with_interval(Some(row.mean), row.std_dev, &row.mean_interval),
                    with_interval(row.std_dev, None, &row.std_dev_interval),
                    Cell::of(Unit::Share, row.relative_error),
                ];
                table.row(cells, Vec::new());
            }
        }
    }
    Section::new("details", "With intervals", "The intervals repeat both checks in each resample.", [table])
}

fn figures(report: &SampleSizeReport) -> Section {
    let figures = MEASURES.into_iter().filter_map(|(id, what, measured)| {
        let curves: Vec<PageCurve> =
            report.programs.iter().enumerate().filter_map(|(look, p)| curve(look, p, measured(p))).collect();
        (!curves.is_empty()).then(|| PageFigure {
            id: format!("by-size-{id}"),
            title: format!("Standard deviation of {what} by sample size"),
            note: "With 95 % intervals.".to_owned(),
            x: logarithmic("Samples", PageQuantity::Count),
            y: logarithmic("Standard deviation", PageQuantity::Time),
            curves,
        })
    });
    Section::new(
        "by-size",
        "Standard deviation over increasing sample size (report figures 12, 13 and 16)",
        "",
        figures,
    )
}

fn curve(look: usize, program: &SizedProgram, table: &SizeTable) -> Option<PageCurve> {
    let known: Vec<(&SizeRow, f64)> =
        table.rows.iter().filter_map(|r| Some((r, r.std_dev.filter(|s| *s > 0.0)?))).collect();
    let bound = |pick: fn(&Interval) -> f64| known.iter().map(|(r, _)| r.std_dev_interval.as_ref().map(pick)).collect();
    let band = Band { title: "95 % interval", low: bound(|i| i.low), high: bound(|i| i.high) };
    let (x, y): (Vec<f64>, Vec<f64>) = known.iter().map(|(r, sd)| (r.samples as f64, *sd)).unzip();
    let title = program.label.clone();
    (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: Some(band) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample_size::SizeConfirmation;
    use crate::sheets::checked_parts::tests::checked_with;
    use crate::sheets::sheet::tests::rows_fit;

    /// EMP tables XX and XXI, PT of INC128: 10 and 800 samples.
    fn table(confirmation: Result<SizeConfirmation, NoConfirmation>) -> SizeTable {
        let row = |samples: usize, by_cutoff, by_deviation| SizeRow {
            samples,
            by_cutoff,
            by_deviation,
            mean: 128_250e6,
            mean_interval: Some(Interval { low: 128_249e6, high: 128_251e6, level: 0.95 }),
            std_dev: Some(2.6e6),
            std_dev_interval: Some(Interval { low: 2.0e6, high: 3.4e6, level: 0.95 }),
            relative_error: Some(2e-5),
        };
        let rows = vec![row(10, 0, 0), row(800, 15, 5)];
        SizeTable { rows, by_papers: Some(10), recommended: Some(10), confirmation }
    }

    fn report(confirmation: Result<SizeConfirmation, NoConfirmation>) -> SampleSizeReport {
        let program = SizedProgram {
            label: "INC128".to_owned(),
            size: Some(128.0),
            first_check: checked_with(10),
            process: table(confirmation.clone()),
            elapsed: table(confirmation),
        };
        SampleSizeReport { programs: vec![program] }
    }

    #[test]
    fn tables_in_the_papers_columns() {
        let sheet = sheet(&report(Err(NoConfirmation::TooFew { have: 3, need: 10 })));
        let outliers = &sheet.sections[2].tables().next().unwrap();
        assert_eq!(outliers.columns.iter().map(|c| c.title.plain()).collect::<Vec<_>>(), ["program", "10", "800"]);
        assert_eq!(outliers.rows[0].cells, ["INC128", "0", "20 (=15+5)"]);
        let deviations = &sheet.sections[3];
        assert!(deviations.title.plain().contains("EMP tables XXI and XXIII"), "{}", deviations.title);
        assert_eq!(deviations.tables().next().unwrap().rows[0].cells, ["INC128", "2.60 ms", "2.60 ms"]);
        rows_fit(&sheet);
        let mut ids: Vec<&str> = sheet.sections.iter().map(|s| s.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), sheet.sections.len());
    }

    #[test]
    fn answers_say_what_is_confirmed() {
        let says = |c| sheet(&report(c)).answers.remove(0).plain();
        assert!(says(Err(NoConfirmation::NoSize)).contains("not confirmed: no size is recommended"));
        let row = table(Err(NoConfirmation::NoSize)).rows.remove(0);
        let confirmed = |means_agree| {
            let (row, against) = (row.clone(), row.clone());
            Ok(SizeConfirmation { source: ConfirmedBy::SecondRun, row, against, means_agree, deviations_agree: true })
        };
        assert!(says(confirmed(true)).ends_with("as many samples of a second run agree with it."));
        assert!(says(confirmed(false)).contains("do not agree with it: the means differ"));
    }
}
