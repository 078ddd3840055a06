//! The study of a suite of real programs as tables.

use crate::data::programs::ProgramQuality;
use crate::data::suite::{AverageSpread, SuiteReport};
use crate::sheets::programs::{against, answers, remarks, spreads, table_section};
use crate::sheets::sheet::study_sheet;
use crate::sheets::timing_parts::named_cell;
use tarebench_core::statistics::series::Summary;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::table::Table;

/// EMP table XXVI; SEDONA table 3.
pub fn sheet(report: &SuiteReport) -> Sheet {
    study_sheet(
        answers(&report.verdict),
        remarks(&report.programs),
        vec![
            emp(report),
            sedona(report),
            against(&report.programs, "against", "SEDONA against plain elapsed time, with intervals"),
            spreads(&report.programs, "spread", "All protocols"),
        ],
    )
}

/// Standard deviation and relative error of ET and PT.
fn emp(report: &SuiteReport) -> Section {
    let columns =
        ["benchmark", ">mean ET", ">mean PT", ">std. dev. ET", ">std. dev. PT", ">rel. error ET", ">rel. error PT"];
    let mut table = Table::new("ET and PT by EMP", "After both checks at 2 s.d.", &columns);
    for p in &report.programs {
        add(&mut table, p, [&p.elapsed.summary, &p.process.summary]);
    }
    average(&mut table, [&report.averages.elapsed, &report.averages.process]);
    table_section("emp", "Real programs by EMP (EMP table XXVI)", table)
}

/// Execution time, standard deviation and relative error of ORG and SEDONA.
fn sedona(report: &SuiteReport) -> Section {
    let columns = [
        "benchmark",
        ">time ORG (ET)",
        ">time SED. (PT)",
        ">std. dev. ORG",
        ">std. dev. SED.",
        ">rel. error ORG",
        ">rel. error SED.",
    ];
    let note = "ORG: elapsed time of all samples. SED.: process time after check 1.";
    let mut table = Table::new("ORG and SEDONA", note, &columns);
    for p in &report.programs {
        add(&mut table, p, [&p.plain, &p.sedona.summary]);
    }
    average(&mut table, [&report.averages.plain, &report.averages.sedona]);
    table_section("sedona", "Real programs by SEDONA (SEDONA table 3)", table)
}

fn add(table: &mut Table, program: &ProgramQuality, ways: [&Summary; 2]) {
    let mean = |s: &Summary| Cell::figure(Figure { digits: s.std_dev, ..Figure::new(Unit::Time, s.mean) });
    let head = [named_cell(&program.label, &program.condition)].into_iter().chain(ways.map(mean));
    let spreads = ways.map(|s| Cell::time(s.std_dev)).into_iter();
    table.row(head.chain(spreads).chain(ways.map(|s| Cell::of(Unit::Share, s.relative_error))), Vec::new());
}

fn average(table: &mut Table, ways: [&AverageSpread; 2]) {
    let head = [Cell::text("averages"), Cell::empty(), Cell::empty()].into_iter();
    let spreads = ways.map(|a| Cell::time(a.std_dev)).into_iter();
    table.row(head.chain(spreads).chain(ways.map(|a| Cell::of(Unit::Share, a.relative_error))), Vec::new());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::suite::SuiteAverages;
    use crate::sheets::programs::tests::{quality, verdict};
    use crate::sheets::sheet::tests::{rows_fit, table};

    /// The averages of SEDONA table 3: 852 and 815 ms, 3e-3 and 2e-3.
    #[test]
    fn tables_in_the_papers_columns() {
        let average = |ms: f64, error| AverageSpread { std_dev: Some(ms * 1e6), relative_error: Some(error) };
        let averages =
            SuiteAverages { plain: average(852.0, 3e-3), sedona: average(815.0, 2e-3), ..SuiteAverages::default() };
        let report = SuiteReport { programs: vec![quality("gcc", None)], averages, verdict: verdict() };
        let sheet = sheet(&report);
        let [gcc, last] = table(&sheet.sections[1], 0).rows.as_slice() else { panic!("{:?}", sheet.sections[1]) };
        assert_eq!(gcc.cells, ["gcc", "128.2500 s", "128.2500 s", "2.60 ms", "2.60 ms", "0.0020 %", "0.0020 %"]);
        assert_eq!(last.cells, ["averages", "", "", "852 ms", "815 ms", "0.30 %", "0.20 %"]);
        assert_eq!(sheet.sections[0].tables().next().unwrap().rows[1].cells[1..], ["", "", "–", "–", "–", "–"]);
        rows_fit(&sheet);
    }
}
