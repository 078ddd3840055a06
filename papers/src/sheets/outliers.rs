//! The study of outliers as tables and figures.

use crate::data::checked::{CheckedTimes, SampleFate};
use crate::data::outliers::{NORMAL_DISCARDED, NORMAL_LEFT, OutlierSeries, OutlierStages, OutliersReport};
use crate::sheets::checked_parts::{
    RowScale, discards, first_check_remarks, histogram_figure, relative_error, share_with_interval, statistics_values,
};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{linear, named};
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageCurve, PageFigure, PageQuantity};

/// EMP figure 16 and table XIX; the report's table 6, figures 2 to 11.
pub fn sheet(report: &OutliersReport) -> StudySheet {
    let mut remarks = first_check_remarks(report.series.iter().map(|s| &s.first_check));
    remarks.push(format!(
        "Discarding lowers every standard deviation, that of undisturbed times too: of independent normal times, check 2 at 2 s.d. \
         discards {} and leaves {:.0} % of the standard deviation. A lower one alone does not show that what was discarded was \
         disturbed.",
        number::percent(NORMAL_DISCARDED).unwrap_or_default(),
        100.0 * NORMAL_LEFT
    ));
    let sections = vec![
        before(report),
        after(report, "strict", "PT after both checks, 2 s.d. (EMP table XIX)", |s| &s.strict),
        after(report, "relaxed", "PT after both checks, 5 s.d. (EMPv5-relaxed of the report)", |s| &s.relaxed),
        deviations(report),
        elapsed(report),
        executions(report),
        histograms(report),
    ];
    StudySheet { answers: answers(report), remarks, sections }
}

fn name(series: &OutlierSeries) -> String {
    named(&series.label, &series.condition)
}

fn answers(report: &OutliersReport) -> Vec<String> {
    let known: Vec<_> = report.series.iter().filter_map(|s| Some((s, s.process.discarded.as_ref()?))).collect();
    let above = known.iter().filter(|(_, i)| i.low > NORMAL_DISCARDED).count();
    let normal = number::percent(NORMAL_DISCARDED).unwrap_or_default();
    let mut answers = Vec::new();
    if !known.is_empty() {
        answers.push(format!(
            "In {above} of {} programs the strict checks discard more process times than of undisturbed normal ones ({normal}); \
             the 95 % intervals of the others contain that share or are below it.",
            known.len()
        ));
    }
    if let Some((s, interval)) = known.last() {
        let strict = &s.process.strict;
        let share = strict.discarded() as f64 / strict.samples as f64;
        answers.push(format!(
            "{}: the strict checks discard {} of the process times.",
            name(s),
            share_with_interval(share, interval)
        ));
    }
    answers
}

fn before(report: &OutliersReport) -> SheetSection {
    let columns = ["program", ">samples", ">minimum", ">maximum", ">average", ">std. dev.", ">relative error"];
    let mut table = Table::new("PT of all samples", "Times in ms.", &columns);
    for s in &report.series {
        let summary = &s.process.before;
        let cells = [name(s), summary.n.to_string()].into_iter().chain(RowScale::new(summary).statistics(summary));
        table.row(cells.chain([relative_error(summary.relative_error)]), Vec::new());
        let values = [None, Some(summary.n as f64)].into_iter().chain(statistics_values(summary));
        table.values(values.chain([summary.relative_error]).collect());
    }
    section("before", "PT of all samples, before the checks (EMP table VI, report table 3)", "", table)
}

fn section(id: &str, title: &str, note: &str, table: Table) -> SheetSection {
    SheetSection {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        tables: vec![table],
        figures: Vec::new(),
    }
}

fn after(report: &OutliersReport, id: &str, title: &str, stage: fn(&OutlierStages) -> &CheckedTimes) -> SheetSection {
    let columns = ["program", ">num. of outl.", ">minimum", ">maximum", ">average", ">std. dev.", ">of that before"];
    let note = "Times in ms. Outliers: discarded by either check (= by check 1 + by check 2).";
    let mut table = Table::new(title, note, &columns);
    for s in &report.series {
        let times = stage(&s.process);
        let left = times.summary.std_dev.zip(s.process.before.std_dev).map(|(a, b)| a / b).filter(|r| r.is_finite());
        let statistics = RowScale::new(&times.summary).statistics(&times.summary);
        let cells = [name(s), discards(times, &s.first_check)].into_iter().chain(statistics);
        table.row(cells.chain([left.and_then(number::percent).unwrap_or_default()]), Vec::new());
        let values = [None, Some(times.discarded() as f64)].into_iter().chain(statistics_values(&times.summary));
        table.values(values.chain([left]).collect());
    }
    section(id, title, "", table)
}

fn deviations(report: &OutliersReport) -> SheetSection {
    let columns = ["program", ">samples", ">EMPv4", ">EMPv5-relaxed", ">EMPv5-strict"];
    let mut table = Table::new("Standard deviations of PT", "In ms.", &columns);
    for s in &report.series {
        let scale = RowScale::new(&s.process.before);
        let found = [s.process.before.std_dev, s.process.relaxed.summary.std_dev, s.process.strict.summary.std_dev];
        let cells = [name(s), s.process.before.n.to_string()].into_iter().chain(found.map(|sd| scale.cell(sd)));
        table.row(cells, Vec::new());
        table.values([None, Some(s.process.before.n as f64)].into_iter().chain(found).collect());
    }
    section("deviations", "Standard deviation by protocol (report table 6)", "", table)
}

fn elapsed(report: &OutliersReport) -> SheetSection {
    let columns = ["program", ">num. of outl.", ">std. dev. before", ">std. dev. after", ">relative error after"];
    let mut table = Table::new("ET before and after both checks, 2 s.d.", "Times in ms.", &columns);
    for s in &report.series {
        let (before, strict) = (&s.elapsed.before, &s.elapsed.strict);
        let scale = RowScale::new(&strict.summary);
        let cells = vec![
            name(s),
            discards(strict, &s.first_check),
            scale.cell(before.std_dev),
            scale.cell(strict.summary.std_dev),
            relative_error(strict.summary.relative_error),
        ];
        table.row(cells, Vec::new());
        let discarded = Some(strict.discarded() as f64);
        let summary = &strict.summary;
        table.values(vec![None, discarded, before.std_dev, summary.std_dev, summary.relative_error]);
    }
    section("elapsed", "Elapsed time (EMP table XVIII)", "", table)
}

fn executions(report: &OutliersReport) -> SheetSection {
    let figures = report.series.iter().enumerate().flat_map(|(i, s)| {
        let all = fate_figure(format!("executions-{}-before", i + 1), format!("{} by EMPv4", name(s)), s, true);
        let rest = fate_figure(format!("executions-{}-after", i + 1), format!("{} by EMPv5", name(s)), s, false);
        [all, rest]
    });
    SheetSection {
        id: "executions".to_owned(),
        title: "PT by execution, before and after the checks (EMP figure 16)".to_owned(),
        note: "A point for each execution, in their order; what the strict checks discard is marked. The vertical axes differ."
            .to_owned(),
        tables: Vec::new(),
        figures: figures.collect(),
    }
}

fn fate_figure(id: String, title: String, series: &OutlierSeries, discarded: bool) -> PageFigure {
    let fates: &[(SampleFate, &str)] = if discarded {
        &[
            (SampleFate::Retained, "retained"),
            (SampleFate::Cutoff, "discarded by check 1"),
            (SampleFate::Deviation, "discarded by check 2"),
        ]
    } else {
        &[(SampleFate::Retained, "retained")]
    };
    let curve = |(look, (fate, title)): (usize, &(SampleFate, &str))| {
        let of_fate = series.process.samples.iter().enumerate().filter(|(_, (_, f))| f == fate);
        let (x, y): (Vec<f64>, Vec<f64>) = of_fate.map(|(i, (time, _))| ((i + 1) as f64, *time)).unzip();
        let title = (*title).to_owned();
        (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Points, x, y, band: None })
    };
    PageFigure {
        id,
        title,
        note: String::new(),
        x: linear("Execution", PageQuantity::Count),
        y: linear("Process time", PageQuantity::Time),
        curves: fates.iter().enumerate().filter_map(curve).collect(),
    }
}

fn histograms(report: &OutliersReport) -> SheetSection {
    let figures = report.series.iter().enumerate().flat_map(|(i, s)| {
        let stages = [
            ("before", "EMPv4", &s.process.histogram_before),
            ("relaxed", "EMPv5-relaxed", &s.process.histogram_relaxed),
            ("strict", "EMPv5-strict", &s.process.histogram_strict),
        ];
        stages.into_iter().filter_map(move |(id, protocol, histogram)| {
            histogram_figure(format!("histogram-{}-{id}", i + 1), format!("PT of {} by {protocol}", name(s)), histogram)
        })
    });
    SheetSection {
        id: "histograms".to_owned(),
        title: "Histograms of PT before and after the checks (report figures 2 to 11)".to_owned(),
        note: "The axes and the widths of the bins differ.".to_owned(),
        tables: Vec::new(),
        figures: figures.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::histogram::TimeHistogram;
    use crate::sheets::checked_parts::tests::{checked_with, inc128};
    use tarebench_core::statistics::intervals::Interval;

    fn report(discarded: (f64, f64)) -> OutliersReport {
        let histogram = TimeHistogram { low: 128_245e6, width: 1e6, counts: vec![2, 1] };
        let stages = OutlierStages {
            before: inc128(0, 0).summary,
            strict: inc128(15, 5),
            relaxed: inc128(15, 0),
            discarded: Some(Interval { low: discarded.0, high: discarded.1, level: 0.95 }),
            samples: vec![
                (128_246e6, SampleFate::Retained),
                (128_493e6, SampleFate::Cutoff),
                (128_247e6, SampleFate::Retained),
                (128_255e6, SampleFate::Deviation),
            ],
            histogram_before: histogram.clone(),
            histogram_strict: histogram.clone(),
            histogram_relaxed: histogram,
        };
        let series = OutlierSeries {
            label: "INC128".to_owned(),
            condition: String::new(),
            size: Some(128.0),
            first_check: checked_with(10),
            process: stages.clone(),
            elapsed: stages,
        };
        OutliersReport { series: vec![series] }
    }

    #[test]
    fn tables_in_the_papers_columns() {
        let sheet = sheet(&report((0.016, 0.039)));
        let strict = &sheet.sections[1].tables[0];
        let expected = ["INC128", "20 (=15+5)", "128245.0", "128255.0", "128250.0", "2.6", "100 %"];
        assert_eq!(strict.rows[0].cells, expected);
        for table in sheet.sections.iter().flat_map(|s| &s.tables) {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|r| r.cells.len() == columns && r.numbers().len() == columns), "{table:?}");
        }
        assert!(sheet.answers[0].starts_with("In 0 of 1 programs"), "{:?}", sheet.answers);
        assert!(sheet.answers[1].contains("2.5 % [1.6 %, 3.9 %]"), "{:?}", sheet.answers);
        assert!(super::sheet(&report((0.05, 0.09))).answers[0].starts_with("In 1 of 1 programs"));
    }

    #[test]
    fn discarded_executions_are_marked_and_then_gone() {
        let sheet = sheet(&report((0.016, 0.039)));
        let [before, after] = sheet.sections[5].figures.as_slice() else { panic!("{:?}", sheet.sections[5]) };
        let titles: Vec<&str> = before.curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["retained", "discarded by check 1", "discarded by check 2"]);
        assert_eq!((before.curves[1].x.as_slice(), after.curves.len()), (&[2.0][..], 1));
        assert_eq!(after.curves[0].x, [1.0, 3.0]);
        assert_eq!(sheet.sections[6].figures.len(), 3);
    }
}
