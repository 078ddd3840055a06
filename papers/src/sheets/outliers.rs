//! The study of outliers as tables and figures.

use crate::data::checked::{CheckedTimes, SampleFate};
use crate::data::outliers::{NORMAL_DISCARDED, NORMAL_LEFT, OutlierSeries, OutlierStages, OutliersReport};
use crate::sheets::checked_parts::{discards, first_check_remarks, histogram_figure, share};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::{STATISTICS, named, statistics};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity};

/// EMP figure 16 and table XIX; the report's table 6, figures 2 to 11.
pub fn sheet(report: &OutliersReport) -> Sheet {
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
    study_sheet(answers(report), remarks, sections)
}

fn name(series: &OutlierSeries) -> String {
    named(&series.label, &series.condition)
}

fn answers(report: &OutliersReport) -> Vec<Cell> {
    let known: Vec<_> = report.series.iter().filter_map(|s| Some((s, s.process.discarded.as_ref()?))).collect();
    let above = known.iter().filter(|(_, i)| i.low > NORMAL_DISCARDED).count();
    let normal = number::percent(NORMAL_DISCARDED).unwrap_or_default();
    let mut answers = Vec::new();
    if !known.is_empty() {
        let all = known.len();
        let begin = "the strict checks discard more process times than of undisturbed normal ones";
        let end = "the 95 % intervals of the others contain that share or are below it.";
        answers.push(format!("In {above} of {all} programs {begin} ({normal}); {end}").into());
    }
    if let Some((s, interval)) = known.last() {
        let strict = &s.process.strict;
        let discarded = share(strict.discarded() as f64 / strict.samples as f64, interval);
        let begin = Cell::text(format!("{}: the strict checks discard ", name(s)));
        answers.push(begin.and(discarded).and(" of the process times."));
    }
    answers
}

fn before(report: &OutliersReport) -> Section {
    let columns: Vec<&str> = ["program", ">samples"].into_iter().chain(STATISTICS).chain([">relative error"]).collect();
    let mut table = Table::new("PT of all samples", "", &columns);
    for s in &report.series {
        let summary = &s.process.before;
        let head = [Cell::foreign(name(s)), Cell::count(summary.n as f64)].into_iter();
        let error = Cell::of(Unit::Share, summary.relative_error);
        table.row(head.chain(statistics(summary)).chain([error]), Vec::new());
    }
    section("before", "PT of all samples, before the checks (EMP table VI, report table 3)", "", table)
}

fn section(id: &str, title: &str, note: &str, table: Table) -> Section {
    Section::new(id, title, note, [table])
}

fn after(report: &OutliersReport, id: &str, title: &str, stage: fn(&OutlierStages) -> &CheckedTimes) -> Section {
    let columns: Vec<&str> =
        ["program", ">num. of outl."].into_iter().chain(STATISTICS).chain([">s.d. of that before"]).collect();
    let mut table = Table::new(title, "Outliers: discarded by either check (= by check 1 + by check 2).", &columns);
    for s in &report.series {
        let times = stage(&s.process);
        let left = times.summary.std_dev.zip(s.process.before.std_dev).map(|(a, b)| a / b).filter(|r| r.is_finite());
        let head = [Cell::foreign(name(s)), discards(times, &s.first_check)].into_iter();
        table.row(head.chain(statistics(&times.summary)).chain([Cell::of(Unit::Share, left)]), Vec::new());
    }
    section(id, title, "", table)
}

fn deviations(report: &OutliersReport) -> Section {
    let columns = ["program", ">samples", ">EMPv4", ">EMPv5-relaxed", ">EMPv5-strict"];
    let mut table = Table::new("Standard deviations of PT", "", &columns);
    for s in &report.series {
        let found = [&s.process.before, &s.process.relaxed.summary, &s.process.strict.summary];
        let head = [Cell::foreign(name(s)), Cell::count(s.process.before.n as f64)].into_iter();
        table.row(head.chain(found.map(|summary| Cell::time(summary.std_dev))), Vec::new());
    }
    section("deviations", "Standard deviation by protocol (report table 6)", "", table)
}

fn elapsed(report: &OutliersReport) -> Section {
    let columns = ["program", ">num. of outl.", ">std. dev. before", ">std. dev. after", ">relative error after"];
    let mut table = Table::new("ET before and after both checks, 2 s.d.", "", &columns);
    for s in &report.series {
        let (before, strict) = (&s.elapsed.before, &s.elapsed.strict);
        let cells = [
            Cell::foreign(name(s)),
            discards(strict, &s.first_check),
            Cell::time(before.std_dev),
            Cell::time(strict.summary.std_dev),
            Cell::of(Unit::Share, strict.summary.relative_error),
        ];
        table.row(cells, Vec::new());
    }
    section("elapsed", "Elapsed time (EMP table XVIII)", "", table)
}

fn executions(report: &OutliersReport) -> Section {
    let figures = report.series.iter().enumerate().flat_map(|(i, s)| {
        let all = fate_figure(format!("executions-{}-before", i + 1), format!("{} by EMPv4", name(s)), s, true);
        let rest = fate_figure(format!("executions-{}-after", i + 1), format!("{} by EMPv5", name(s)), s, false);
        [all, rest]
    });
    Section::new(
        "executions",
        "PT by execution, before and after the checks (EMP figure 16)",
        "A point for each execution, in their order; what the strict checks discard is marked. The vertical axes differ.",
        figures,
    )
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
        x: PageAxis::counts("Execution"),
        y: PageAxis::linear("Process time", PageQuantity::Time),
        curves: fates.iter().enumerate().filter_map(curve).collect(),
    }
}

fn histograms(report: &OutliersReport) -> Section {
    let figures = report.series.iter().enumerate().flat_map(|(i, s)| {
        let stages = [
            ("before", "EMPv4", &s.process.histogram_before),
            ("relaxed", "EMPv5-relaxed", &s.process.histogram_relaxed),
            ("strict", "EMPv5-strict", &s.process.histogram_strict),
        ];
        stages.into_iter().filter_map(move |(id, protocol, histogram)| {
            histogram_figure(
                format!("histograms-{}-{id}", i + 1),
                format!("PT of {} by {protocol}", name(s)),
                histogram,
            )
        })
    });
    Section::new(
        "histograms",
        "Histograms of PT before and after the checks (report figures 2 to 11)",
        "The axes and the widths of the bins differ.",
        figures,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::histogram::TimeHistogram;
    use crate::sheets::checked_parts::tests::{checked_with, inc128};
    use crate::sheets::sheet::tests::{figure, rows_fit};
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
        let strict = &sheet.sections[1].tables().next().unwrap();
        let expected = ["INC128", "20 (=15+5)", "128.2450 s", "128.2550 s", "128.2500 s ± 0.0026", "100 %"];
        assert_eq!(strict.rows[0].cells, expected);
        rows_fit(&sheet);
        assert!(sheet.answers[0].plain().starts_with("In 0 of 1 programs"), "{:?}", sheet.answers);
        assert!(sheet.answers[1].plain().contains("2.5 % [1.6, 3.9]"), "{:?}", sheet.answers);
        assert!(super::sheet(&report((0.05, 0.09))).answers[0].plain().starts_with("In 1 of 1 programs"));
    }

    #[test]
    fn discarded_executions_are_marked_and_then_gone() {
        let sheet = sheet(&report((0.016, 0.039)));
        let (before, after) = (figure(&sheet.sections[5], 0), figure(&sheet.sections[5], 1));
        let titles: Vec<&str> = before.curves.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["retained", "discarded by check 1", "discarded by check 2"]);
        assert_eq!((before.curves[1].x.as_slice(), after.curves.len()), (&[2.0][..], 1));
        assert_eq!(after.curves[0].x, [1.0, 3.0]);
        assert_eq!(sheet.sections[6].figures().count(), 3);
    }
}
