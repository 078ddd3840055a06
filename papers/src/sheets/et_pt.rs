//! The study of elapsed and process time as tables and figures.

use crate::data::et_pt::{EtPtProgram, EtPtReport};
use crate::data::timing_row::TimingRow;
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::{
    ROBUST, SLOPES, by_length, execution_figure, growth_sentence, length_figure, named, named_cell, spread_cell,
    spread_sentence, timing_table,
};
use tarebench_core::statistics::bands::ValueBands;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;
use tarebench_report::web::page::PageQuantity;

/// EMP figures 2 and 9, tables II and III.
pub fn sheet(report: &EtPtReport) -> Sheet {
    let mut answers =
        vec![spread_sentence("Process time (PT)", "elapsed time (ET) of the same executions", &report.pooled)];
    answers.extend(report.programs.last().and_then(bands_sentence));
    answers.extend(growth_sentence("The standard deviation of ET", report.elapsed_growth.as_ref()));
    answers.extend(growth_sentence("The standard deviation of PT", report.process_growth.as_ref()));
    let sections = vec![
        executions(report),
        statistics(report, "elapsed", "ET statistics (EMP table II)", |p| &p.elapsed),
        statistics(report, "process", "PT statistics (EMP table III)", |p| &p.process),
        difference(report),
        bands(report),
        growth(report),
    ];
    study_sheet(answers, [""; 0], sections)
}

/// How many bands the longest program's times have.
fn bands_sentence(program: &EtPtProgram) -> Option<Cell> {
    let words = |bands: &ValueBands| {
        let noun = if bands.bands.len() == 1 { "band" } else { "bands" };
        format!("{} {noun} ({} of the times in none)", bands.bands.len(), bands.alone)
    };
    let (elapsed, process) = (program.elapsed_bands.as_ref()?, program.process_bands.as_ref()?);
    let label = &program.elapsed.label;
    Some(format!("ET of {label} forms {}; PT forms {}.", words(elapsed), words(process)).into())
}

fn executions(report: &EtPtReport) -> Section {
    let longest = &report.longest;
    let note = "A point for each execution, in their order; the vertical axes differ.";
    let figure = |id: &str, what: &str, times: &[f64]| {
        execution_figure(id, &format!("{what} of {}", longest.label), note, what, times)
    };
    Section::new(
        "executions",
        format!("ET and PT of {}, execution by execution (EMP figures 2 and 9)", longest.label),
        "",
        [
            figure("executions-et", "Elapsed time", &longest.elapsed),
            figure("executions-pt", "Process time", &longest.process),
        ],
    )
}

fn statistics(report: &EtPtReport, id: &str, title: &str, row: fn(&EtPtProgram) -> &TimingRow) -> Section {
    let rows: Vec<_> = report.programs.iter().map(|p| (named(&row(p).label, &p.condition), row(p))).collect();
    Section::new(id, title, "", [timing_table(title, &format!("All counted samples. {ROBUST}"), &rows)])
}

fn difference(report: &EtPtReport) -> Section {
    let columns = [
        "program",
        ">mean ET - mean PT",
        ">range of ET",
        ">range of PT",
        ">std. dev., PT / ET",
        "robust spread, PT / ET [95%]",
    ];
    let mut table = Table::new("PT against ET", "", &columns);
    for p in &report.programs {
        let (et, pt) = (&p.elapsed.summary, &p.process.summary);
        let ratio = et.std_dev.zip(pt.std_dev).map(|(et, pt)| pt / et).filter(|r| r.is_finite());
        let cells = [
            named_cell(&p.elapsed.label, &p.condition),
            Cell::time(p.excess),
            Cell::time(et.max - et.min),
            Cell::time(pt.max - pt.min),
            Cell::of(Unit::Ratio, ratio),
            spread_cell(&p.spread),
        ];
        table.row(cells, Vec::new());
    }
    Section::new(
        "difference",
        "What PT leaves out of ET (EMP section 4.1)",
        "ET contains starting the program, waiting for a CPU and noticing its end. Both times are of the same executions, so \
               they are resampled together.",
        [table],
    )
}

fn bands(report: &EtPtReport) -> Section {
    let columns = ["program", "time", ">band", ">samples", ">lowest", ">median", ">highest"];
    let mut table = Table::new("Bands", "", &columns);
    for p in &report.programs {
        for (what, found) in [("ET", &p.elapsed_bands), ("PT", &p.process_bands)] {
            let Some(found) = found else { continue };
            let head = || [named_cell(&p.elapsed.label, &p.condition), what.into()].into_iter();
            for (i, b) in found.bands.iter().enumerate() {
                // Times of a band differ by little.
                let time = |ns| Cell::figure(Figure { digits: Some(b.high - b.low), ..Figure::new(Unit::Time, ns) });
                let counts = [i + 1, b.values].map(|n| Cell::count(n as f64));
                table.row(head().chain(counts).chain([b.low, b.median, b.high].map(time)), Vec::new());
            }
            let alone = ["none".into(), Cell::count(found.alone as f64)].into_iter();
            table.row(head().chain(alone).chain([(); 3].map(|()| Cell::empty())), Vec::new());
        }
    }
    Section::new(
        "bands",
        "Bands of ET and PT (EMP figures 2 and 9)",
        "Bands are at least three times with no empty range wider than twice the robust spread between them. Weak bands, \
               whose times are further apart, are counted in no band.",
        [table],
    )
}

fn growth(report: &EtPtReport) -> Section {
    let title = "Standard deviation by task length";
    let points = |row: fn(&EtPtProgram) -> &TimingRow| {
        report.programs.iter().filter_map(|p| row(p).deviation_by_size()).collect::<Vec<_>>()
    };
    let curves = [("ET", points(|p| &p.elapsed)), ("PT", points(|p| &p.process))];
    let curves = curves.into_iter().enumerate().filter_map(|(look, (name, at))| by_length(name.to_owned(), look, at));
    let y = ("Standard deviation", PageQuantity::Time);
    Section::new(
        "growth",
        format!("{title} (EMP section 4.1)"),
        SLOPES,
        length_figure("growth", title, "", y, curves.collect()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::et_pt::EtPtExecutions;
    use crate::sheets::sheet::tests::rows_fit;
    use crate::sheets::timing_parts::tests::inc8;
    use tarebench_core::statistics::bands::ValueBand;
    use tarebench_core::statistics::intervals::Interval;
    use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadRatio};

    /// The bands of EMP figure 2(a), and one of PT.
    fn report() -> EtPtReport {
        let band = |values, low: f64| ValueBand { values, low, median: low + 5e6, high: low + 10e6 };
        let mut elapsed = inc8();
        (elapsed.summary.mean, elapsed.summary.std_dev, elapsed.summary.max) = (8397e6, Some(72.4e6), 9180e6);
        let program = EtPtProgram {
            condition: String::new(),
            elapsed,
            process: inc8(),
            excess: 30e6,
            spread: Err(NoSpreadRatio::NoSpread),
            elapsed_bands: Some(ValueBands { bands: vec![band(270, 8390e6), band(29, 8600e6)], alone: 1, gap: 50e6 }),
            process_bands: Some(ValueBands { bands: vec![band(300, 8360e6)], alone: 0, gap: 20e6 }),
        };
        let interval = Interval { low: 0.2, high: 0.25, level: 0.95 };
        EtPtReport {
            programs: vec![program],
            pooled: Ok(SpreadRatio { ratio: 0.213, interval }),
            elapsed_growth: None,
            process_growth: None,
            longest: EtPtExecutions {
                label: "INC8".to_owned(),
                elapsed: vec![8.4e9, 8.6e9],
                process: vec![8.3e9, 8.3e9],
            },
        }
    }

    #[test]
    fn bands_and_differences() {
        let sheet = sheet(&report());
        rows_fit(&sheet);
        assert!(
            sheet.answers[0].plain().starts_with("Process time (PT): less spread than elapsed time (ET)"),
            "{:?}",
            sheet.answers
        );
        assert_eq!(
            sheet.answers[1],
            "ET of INC8 forms 2 bands (1 of the times in none); PT forms 1 band (0 of the times in none)."
        );
        assert_eq!(sheet.answers.len(), 2);
        let difference = &sheet.sections[3].tables().next().unwrap().rows[0];
        assert_eq!(difference.cells[..4], ["INC8", "30.0 ms", "858 ms", "178 ms"]);
        assert_eq!(difference.cells[4..], ["0.213", "none: at least half of the values are equal"]);
        let bands = &sheet.sections[4].tables().next().unwrap().rows;
        assert_eq!(bands.len(), 5);
        assert_eq!(bands[1].cells[..4], ["INC8", "ET", "2", "29"]);
        let names: Vec<&str> = sheet.sections.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(names, ["executions", "elapsed", "process", "difference", "bands", "growth"]);
    }
}
