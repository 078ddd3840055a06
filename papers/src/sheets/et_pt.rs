//! The study of elapsed and process time as tables and figures.

use crate::data::et_pt::{EtPtProgram, EtPtReport};
use crate::data::timing_row::TimingRow;
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{
    ROBUST, SLOPES, by_length, execution_figure, growth_sentence, length_figure, ms, named, spread_cell,
    spread_sentence, timing_table,
};
use tarebench_core::statistics::bands::ValueBands;
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::PageQuantity;

/// EMP figures 2 and 9, tables II and III.
pub fn sheet(report: &EtPtReport) -> StudySheet {
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
    StudySheet { answers, remarks: Vec::new(), sections }
}

/// How many bands the longest program's times have.
fn bands_sentence(program: &EtPtProgram) -> Option<String> {
    let words = |bands: &ValueBands| {
        let noun = if bands.bands.len() == 1 { "band" } else { "bands" };
        format!("{} {noun} ({} of the times in none)", bands.bands.len(), bands.alone)
    };
    let (elapsed, process) = (program.elapsed_bands.as_ref()?, program.process_bands.as_ref()?);
    let label = &program.elapsed.label;
    Some(format!("ET of {label} forms {}; PT forms {}.", words(elapsed), words(process)))
}

fn executions(report: &EtPtReport) -> SheetSection {
    let longest = &report.longest;
    let note = "A point for each execution, in their order; the vertical axes differ.";
    let figure = |id: &str, what: &str, times: &[f64]| {
        execution_figure(id, &format!("{what} of {}", longest.label), note, what, times)
    };
    SheetSection {
        id: "executions".to_owned(),
        title: format!("ET and PT of {}, execution by execution (EMP figures 2 and 9)", longest.label),
        note: String::new(),
        tables: Vec::new(),
        figures: vec![
            figure("executions-et", "Elapsed time", &longest.elapsed),
            figure("executions-pt", "Process time", &longest.process),
        ],
    }
}

fn statistics(report: &EtPtReport, id: &str, title: &str, row: fn(&EtPtProgram) -> &TimingRow) -> SheetSection {
    let rows: Vec<_> = report.programs.iter().map(|p| (named(&row(p).label, &p.condition), row(p))).collect();
    SheetSection {
        id: id.to_owned(),
        title: title.to_owned(),
        note: String::new(),
        tables: vec![timing_table(title, &format!("All counted samples. {ROBUST}"), &rows)],
        figures: Vec::new(),
    }
}

fn difference(report: &EtPtReport) -> SheetSection {
    let columns = [
        "program",
        ">mean ET - mean PT",
        ">range of ET",
        ">range of PT",
        ">std. dev., PT / ET",
        ">robust spread, PT / ET",
    ];
    let mut table = Table::new("PT against ET", "Times in ms; the last column with its 95 % interval.", &columns);
    for p in &report.programs {
        let (et, pt) = (&p.elapsed.summary, &p.process.summary);
        let ranges = [et.max - et.min, pt.max - pt.min];
        let ratio = et.std_dev.zip(pt.std_dev).map(|(et, pt)| pt / et).filter(|r| r.is_finite());
        let deviations = ratio.and_then(|r| number::fixed(r, 3)).unwrap_or_default();
        let name = named(&p.elapsed.label, &p.condition);
        let cells = vec![name, ms(p.excess), ms(ranges[0]), ms(ranges[1]), deviations, spread_cell(&p.spread)];
        table.row(cells, Vec::new());
        let spread = p.spread.as_ref().ok().map(|s| s.ratio);
        table.values(vec![None, Some(p.excess), Some(ranges[0]), Some(ranges[1]), ratio, spread]);
    }
    SheetSection {
        id: "difference".to_owned(),
        title: "What PT leaves out of ET (EMP section 4.1)".to_owned(),
        note: "ET contains starting the program, waiting for a CPU and noticing its end. Both times are of the same executions, so \
               they are resampled together."
            .to_owned(),
        tables: vec![table],
        figures: Vec::new(),
    }
}

fn bands(report: &EtPtReport) -> SheetSection {
    let columns = ["program", "time", ">band", ">samples", ">lowest", ">median", ">highest"];
    let mut table = Table::new("Bands", "Times in ms.", &columns);
    for p in &report.programs {
        let name = named(&p.elapsed.label, &p.condition);
        for (what, found) in [("ET", &p.elapsed_bands), ("PT", &p.process_bands)] {
            let Some(found) = found else { continue };
            for (i, b) in found.bands.iter().enumerate() {
                let texts = [(i + 1).to_string(), b.values.to_string(), ms(b.low), ms(b.median), ms(b.high)];
                table.row([name.clone(), what.to_owned()].into_iter().chain(texts), Vec::new());
                let values = [b.values as f64, b.low, b.median, b.high].map(Some);
                table.values([None, None, Some((i + 1) as f64)].into_iter().chain(values).collect());
            }
            let alone = ["none".to_owned(), found.alone.to_string(), String::new(), String::new(), String::new()];
            table.row([name.clone(), what.to_owned()].into_iter().chain(alone), Vec::new());
            table.values(vec![None, None, None, Some(found.alone as f64), None, None, None]);
        }
    }
    SheetSection {
        id: "bands".to_owned(),
        title: "Bands of ET and PT (EMP figures 2 and 9)".to_owned(),
        note: "Bands are at least three times with no empty range wider than twice the robust spread between them. Weak bands, \
               whose times are further apart, are counted in no band."
            .to_owned(),
        tables: vec![table],
        figures: Vec::new(),
    }
}

fn growth(report: &EtPtReport) -> SheetSection {
    let title = "Standard deviation by task length";
    let points = |row: fn(&EtPtProgram) -> &TimingRow| {
        report.programs.iter().filter_map(|p| row(p).deviation_by_size()).collect::<Vec<_>>()
    };
    let curves = [("ET", points(|p| &p.elapsed)), ("PT", points(|p| &p.process))];
    let curves = curves.into_iter().enumerate().filter_map(|(look, (name, at))| by_length(name.to_owned(), look, at));
    let y = ("Standard deviation", PageQuantity::Time);
    SheetSection {
        id: "growth".to_owned(),
        title: format!("{title} (EMP section 4.1)"),
        note: SLOPES.to_owned(),
        tables: Vec::new(),
        figures: length_figure("growth", title, "", y, curves.collect()).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::et_pt::EtPtExecutions;
    use crate::sheets::conditions::tests::rows_fit;
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
            sheet.answers[0].starts_with("Process time (PT): less spread than elapsed time (ET)"),
            "{:?}",
            sheet.answers
        );
        assert_eq!(
            sheet.answers[1],
            "ET of INC8 forms 2 bands (1 of the times in none); PT forms 1 band (0 of the times in none)."
        );
        assert_eq!(sheet.answers.len(), 2);
        let difference = &sheet.sections[3].tables[0].rows[0];
        assert_eq!(difference.cells[..4], ["INC8", "30.0", "858", "178"]);
        assert_eq!(difference.cells[4..], ["0.213", "none: at least half of the values are equal"]);
        let bands = &sheet.sections[4].tables[0].rows;
        assert_eq!(bands.len(), 5);
        assert_eq!(bands[1].cells[..4], ["INC8", "ET", "2", "29"]);
        let names: Vec<&str> = sheet.sections.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(names, ["executions", "elapsed", "process", "difference", "bands", "growth"]);
    }
}
