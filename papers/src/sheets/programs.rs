//! The study of SORT, MATC and MATR as tables and figures, and what it shares with that of suites.

use crate::data::programs::{ProgramQuality, ProgramsReport, QualityVerdict};
use crate::sheets::checked_parts::{discards, first_check_remarks, relative_error};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{logarithmic, ms, named, with_interval};
use tarebench_core::statistics::deviations::DeviationRatio;
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageCurve, PageFigure, PageQuantity};

/// EMP figure 19; SEDONA figure 1.
pub fn sheet(report: &ProgramsReport) -> StudySheet {
    let mut sections = vec![
        spreads(&report.programs, "spread", "Standard deviation and relative error (EMP figure 19, SEDONA figure 1)"),
        against(&report.programs, "against", "SEDONA against plain elapsed time (SEDONA figure 1)"),
    ];
    sections.extend(families(&report.programs).into_iter().map(|family| by_size(&report.programs, &family)));
    StudySheet { answers: answers(&report.verdict), remarks: remarks(&report.programs), sections }
}

/// What the spreads of all programs say.
pub(crate) fn answers(verdict: &QualityVerdict) -> Vec<String> {
    let mut answers = vec![match verdict.compared {
        0 => "No program has enough samples with a spread to compare SEDONA's process time with plain elapsed time."
            .to_owned(),
        all => format!(
            "SEDONA's process time has a smaller standard deviation than plain elapsed time in {} of {all} programs, a larger one \
             in {}; of the others these samples show no difference (5 % for all of them together).",
            verdict.smaller, verdict.larger
        ),
    }];
    if let (Some(estimate), Some(interval)) = (verdict.estimate, &verdict.ratio) {
        answers.push(format!(
            "Over the programs, its standard deviation is {} times that of elapsed time (95 %).",
            with_interval(estimate, interval)
        ));
    }
    answers
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
pub(crate) fn spreads(programs: &[ProgramQuality], id: &str, title: &str) -> SheetSection {
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
    let note = "Standard deviations in ms. ORG: elapsed time of all samples. ET, PT: EMP, after both checks at 2 s.d. SEDONA: \
                process time after check 1.";
    let mut table = Table::new("Spread by protocol", note, &columns);
    for p in programs {
        let summaries = [&p.plain, &p.elapsed.summary, &p.process.summary, &p.sedona.summary];
        let deviations = summaries.map(|s| s.std_dev);
        let errors = summaries.map(|s| s.relative_error);
        let head = [
            named(&p.label, &p.condition),
            p.plain.n.to_string(),
            discards(&p.elapsed, &p.first_check),
            discards(&p.process, &p.first_check),
        ];
        let cells = head.into_iter().chain(deviations.map(|sd| sd.map(ms).unwrap_or_default()));
        table.row(cells.chain(errors.map(relative_error)), Vec::new());
        let counts = [p.plain.n, p.elapsed.discarded(), p.process.discarded()].map(|n| Some(n as f64));
        table.values([None].into_iter().chain(counts).chain(deviations).chain(errors).collect());
    }
    table_section(id, title, table)
}

/// Ratios with their intervals.
pub(crate) fn against(programs: &[ProgramQuality], id: &str, title: &str) -> SheetSection {
    let columns = ["program", ">std. dev., SEDONA / ORG", ">rel. error, SEDONA / ORG", ">p of equal std. dev."];
    let note = "With 95 % intervals by the jackknife. A ratio below 1: SEDONA's result spreads less.";
    let mut table = Table::new("Ratios of spreads", note, &columns);
    for p in programs {
        let ratios = [&p.deviation, &p.relative_error].map(Option::as_ref);
        let chance = p.deviation.as_ref().and_then(|r| r.p);
        let head = [named(&p.label, &p.condition)];
        let cells =
            head.into_iter().chain(ratios.map(ratio_cell)).chain([chance.map(number::chance).unwrap_or_default()]);
        table.row(cells, Vec::new());
        table.values([None].into_iter().chain(ratios.map(|r| r.map(|r| r.ratio))).chain([chance]).collect());
    }
    table_section(id, title, table)
}

fn ratio_cell(ratio: Option<&DeviationRatio>) -> String {
    match ratio {
        None => "no spread".to_owned(),
        Some(DeviationRatio { ratio, interval: Some(i), .. }) => with_interval(*ratio, i),
        Some(r) => format!("{} (no interval)", number::fixed(r.ratio, 3).unwrap_or_default()),
    }
}

pub(crate) fn table_section(id: &str, title: &str, table: Table) -> SheetSection {
    SheetSection {
        id: id.to_owned(),
        title: title.to_owned(),
        note: String::new(),
        tables: vec![table],
        figures: Vec::new(),
    }
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
fn by_size(programs: &[ProgramQuality], family: &str) -> SheetSection {
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
            id: format!("{what}-{id}"),
            title: format!("{family}: {}", title.to_lowercase()),
            note: String::new(),
            x: logarithmic("Size", PageQuantity::Count),
            y: logarithmic(title, quantity),
            curves,
        })
    });
    SheetSection {
        id: format!("by-size-{id}"),
        title: format!("{family} by size (EMP figure 19)"),
        note: String::new(),
        tables: Vec::new(),
        figures: figures.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sheets::checked_parts::tests::{checked_with, inc128};
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
        let figure = &sheet.sections[2].figures[0];
        assert_eq!((figure.curves.len(), figure.curves[0].x.as_slice()), (4, &[100.0, 200.0][..]));
        for table in sheet.sections.iter().flat_map(|s| &s.tables) {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|r| r.cells.len() == columns && r.numbers().len() == columns), "{table:?}");
        }
        let ratios = &sheet.sections[1].tables[0].rows[0].cells;
        assert_eq!(ratios[1..3], ["0.500 [0.400, 0.600]".to_owned(), "no spread".to_owned()]);
        assert!(sheet.answers[0].contains("in 2 of 3 programs, a larger one in 0"), "{:?}", sheet.answers);
        assert_eq!(sheet.answers.len(), 1, "no estimate without its interval");
    }

    #[test]
    fn nothing_to_compare_is_said() {
        let none = QualityVerdict { compared: 0, smaller: 0, larger: 0, ratio: None, estimate: None };
        assert!(answers(&none)[0].starts_with("No program has enough samples"));
    }
}
