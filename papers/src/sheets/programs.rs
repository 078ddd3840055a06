//! The study of SORT, MATC and MATR as tables and figures, and what it shares with that of suites.

use crate::data::programs::{ProgramQuality, ProgramsReport, QualityVerdict};
use crate::sheets::checked_parts::{discards, first_check_remarks};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::{logarithmic, named, named_cell, ratio};
use tarebench_core::statistics::deviations::DeviationRatio;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageCurve, PageFigure, PageQuantity};

/// EMP figure 19; SEDONA figure 1.
pub fn sheet(report: &ProgramsReport) -> Sheet {
    let mut sections = vec![
        spreads(&report.programs, "spread", "Standard deviation and relative error (EMP figure 19, SEDONA figure 1)"),
        against(&report.programs, "against", "SEDONA against plain elapsed time (SEDONA figure 1)"),
    ];
    sections.extend(families(&report.programs).into_iter().map(|family| by_size(&report.programs, &family)));
    study_sheet(answers(&report.verdict), remarks(&report.programs), sections)
}

/// What the spreads of all programs say.
pub(crate) fn answers(verdict: &QualityVerdict) -> Vec<Cell> {
    let counted = match verdict.compared {
        0 => "No program has enough samples with a spread to compare SEDONA's process time with plain elapsed time."
            .to_owned(),
        all => format!(
            "SEDONA's process time has a smaller standard deviation than plain elapsed time in {} of {all} programs, a larger one \
             in {}; of the others these samples show no difference (5 % for all of them together).",
            verdict.smaller, verdict.larger
        ),
    };
    let over = verdict.estimate.zip(verdict.ratio.as_ref()).map(|(estimate, interval)| {
        Cell::text("Over the programs, its standard deviation is ")
            .and(ratio(estimate, interval))
            .and(" times that of elapsed time (95 %).")
    });
    [counted.into()].into_iter().chain(over).collect()
}

pub(crate) fn remarks(programs: &[ProgramQuality]) -> Vec<String> {
    let mut remarks = first_check_remarks(programs.iter().map(|p| &p.first_check));
    remarks.push(
        "EMP's columns are after both checks, which always lowers a spread; SEDONA discards by check 1 only, and ORG nothing. \
         Therefore SEDONA is compared with ORG."
            .to_owned(),
    );
    remarks
}

/// Standard deviation and relative error in each way.
pub(crate) fn spreads(programs: &[ProgramQuality], id: &str, title: &str) -> Section {
    let columns = [
        "program",
        ">samples",
        ">outl. ET",
        ">outl. PT",
        ">std. dev. ORG",
        ">std. dev. ET",
        ">std. dev. PT",
        ">std. dev. SEDONA",
        ">rel. error ORG",
        ">rel. error ET",
        ">rel. error PT",
        ">rel. error SEDONA",
    ];
    let note = "ORG: elapsed time of all samples. ET, PT: EMP, after both checks at 2 s.d. SEDONA: \
                process time after check 1.";
    let mut table = Table::new("Spread by protocol", note, &columns);
    for p in programs {
        let summaries = [&p.plain, &p.elapsed.summary, &p.process.summary, &p.sedona.summary];
        let head = [
            named_cell(&p.label, &p.condition),
            Cell::count(p.plain.n as f64),
            discards(&p.elapsed, &p.first_check),
            discards(&p.process, &p.first_check),
        ];
        let spreads = summaries.map(|s| Cell::time(s.std_dev)).into_iter();
        let errors = summaries.map(|s| Cell::of(Unit::Share, s.relative_error));
        table.row(head.into_iter().chain(spreads).chain(errors), Vec::new());
    }
    table_section(id, title, table)
}

/// Ratios with their intervals.
pub(crate) fn against(programs: &[ProgramQuality], id: &str, title: &str) -> Section {
    let columns = ["program", "std. dev., SEDONA / ORG", "rel. error, SEDONA / ORG", ">p of equal std. dev."];
    let note = "With 95 % intervals by the jackknife. A ratio below 1: SEDONA's result spreads less.";
    let mut table = Table::new("Ratios of spreads", note, &columns);
    for p in programs {
        let chance = p.deviation.as_ref().and_then(|r| r.p);
        let cells = [
            named_cell(&p.label, &p.condition),
            ratio_cell(p.deviation.as_ref()),
            ratio_cell(p.relative_error.as_ref()),
            Cell::of(Unit::Chance, chance),
        ];
        table.row(cells, Vec::new());
    }
    table_section(id, title, table)
}

fn ratio_cell(found: Option<&DeviationRatio>) -> Cell {
    match found {
        None => "no spread".into(),
        Some(DeviationRatio { ratio: value, interval: Some(i), .. }) => ratio(*value, i),
        Some(r) => Cell::of(Unit::Ratio, r.ratio).and(" (no interval)"),
    }
}

pub(crate) fn table_section(id: &str, title: &str, table: Table) -> Section {
    Section::new(id, title, "", [table])
}

/// In their order of appearance.
fn families(programs: &[ProgramQuality]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for p in programs.iter().filter(|p| p.size.is_some()) {
        if !found.iter().any(|f| f == p.family()) {
            found.push(p.family().to_owned());
        }
    }
    found
}

/// Figures of one family: standard deviation and relative error over the size.
fn by_size(programs: &[ProgramQuality], family: &str) -> Section {
    let mut members: Vec<&ProgramQuality> =
        programs.iter().filter(|p| p.family() == family && p.size.is_some()).collect();
    members.sort_by(|a, b| a.size.unwrap_or(0.0).total_cmp(&b.size.unwrap_or(0.0)));
    let id: String = family.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    type Spread = fn(&ProgramQuality) -> [Option<f64>; 4];
    let deviations: Spread =
        |p| [p.plain.std_dev, p.elapsed.summary.std_dev, p.process.summary.std_dev, p.sedona.summary.std_dev];
    let errors: Spread = |p| {
        let process = [p.process.summary.relative_error, p.sedona.summary.relative_error];
        [p.plain.relative_error, p.elapsed.summary.relative_error, process[0], process[1]]
    };
    let shown = [
        ("deviation", "Standard deviation", PageQuantity::Time, deviations),
        ("error", "Relative error", PageQuantity::Ratio, errors),
    ];
    let figures = shown.into_iter().filter_map(|(what, title, quantity, spread)| {
        let mut conditions: Vec<&str> = Vec::new();
        for p in &members {
            if !conditions.contains(&p.condition.as_str()) {
                conditions.push(&p.condition);
            }
        }
        let ways = ["ORG", "ET", "PT", "SEDONA"].into_iter().enumerate();
        let names = conditions.iter().flat_map(|c| ways.clone().map(move |(way, name)| (*c, way, name))).enumerate();
        let curve = |(look, (condition, way, name)): (usize, (&str, usize, &str))| {
            let point = |p: &&ProgramQuality| {
                let y = spread(p).into_iter().nth(way).flatten().filter(|y| *y > 0.0)?;
                Some((p.size.filter(|x| *x > 0.0)?, y))
            };
            let of_condition = members.iter().copied().filter(|p| p.condition == condition);
            let (x, y): (Vec<f64>, Vec<f64>) = of_condition.filter_map(|p| point(&p)).unzip();
            let title = named(name, condition);
            (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: None })
        };
        let curves: Vec<PageCurve> = names.filter_map(curve).collect();
        (!curves.is_empty()).then(|| PageFigure {
            id: format!("by-size-{id}-{what}"),
            title: format!("{family}: {}", title.to_lowercase()),
            note: String::new(),
            x: logarithmic("Size", PageQuantity::Count),
            y: logarithmic(title, quantity),
            curves,
        })
    });
    Section::new(format!("by-size-{id}"), format!("{family} by size (EMP figure 19)"), "", figures)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sheets::checked_parts::tests::{checked_with, inc128};
    use crate::sheets::sheet::tests::rows_fit;
    use tarebench_core::statistics::intervals::Interval;

    pub(crate) fn quality(label: &str, size: Option<f64>) -> ProgramQuality {
        let ratio = DeviationRatio {
            ratio: 0.5,
            interval: Some(Interval { low: 0.4, high: 0.6, level: 0.95 }),
            p: Some(0.001),
        };
        ProgramQuality {
            label: label.to_owned(),
            condition: String::new(),
            size,
            first_check: checked_with(10),
            plain: inc128(0, 0).summary,
            elapsed: inc128(15, 1),
            process: inc128(15, 5),
            sedona: inc128(15, 0),
            deviation: Some(ratio),
            relative_error: None,
        }
    }

    pub(crate) fn verdict() -> QualityVerdict {
        QualityVerdict { compared: 3, smaller: 2, larger: 0, ratio: None, estimate: Some(0.5) }
    }

    #[test]
    fn a_figure_for_each_family_and_a_row_for_each_size() {
        let programs =
            vec![quality("SORT 200", Some(200.0)), quality("SORT 100", Some(100.0)), quality("MATC 128", Some(128.0))];
        let sheet = sheet(&ProgramsReport { programs, verdict: verdict() });
        let ids: Vec<&str> = sheet.sections.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["spread", "against", "by-size-sort", "by-size-matc"]);
        let figure = &sheet.sections[2].figures().next().unwrap();
        assert_eq!((figure.curves.len(), figure.curves[0].x.as_slice()), (4, &[100.0, 200.0][..]));
        rows_fit(&sheet);
        let ratios = &sheet.sections[1].tables().next().unwrap().rows[0].cells;
        assert_eq!(ratios[1..3], ["0.500 [0.400, 0.600]".to_owned(), "no spread".to_owned()]);
        assert!(sheet.answers[0].plain().contains("in 2 of 3 programs, a larger one in 0"), "{:?}", sheet.answers);
        assert_eq!(sheet.answers.len(), 1, "no estimate without its interval");
    }

    #[test]
    fn nothing_to_compare_is_said() {
        let none = QualityVerdict { compared: 0, smaller: 0, larger: 0, ratio: None, estimate: None };
        assert!(answers(&none)[0].plain().starts_with("No program has enough samples"));
    }
}
