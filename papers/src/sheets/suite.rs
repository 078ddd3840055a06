//! The study of a suite of real programs as tables.

use crate::data::suite::SuiteReport;
use crate::sheets::checked_parts::relative_error;
use crate::sheets::programs::{against, answers, remarks, spreads, table_section};
use crate::sheets::sheet::{SheetSection, StudySheet};
use crate::sheets::timing_parts::{ms, named};
use tarebench_report::table::Table;

/// EMP table XXVI; SEDONA table 3.
pub fn sheet(report: &SuiteReport) -> StudySheet {
    StudySheet {
        answers: answers(&report.verdict),
        remarks: remarks(&report.programs),
        sections: vec![
            emp(report),
            sedona(report),
            against(&report.programs, "against", "SEDONA against plain elapsed time, with intervals"),
            spreads(&report.programs, "spread", "All protocols"),
        ],
    }
}

/// Standard deviation and relative error of ET and PT.
fn emp(report: &SuiteReport) -> SheetSection {
    let columns =
        ["benchmark", ">mean ET", ">mean PT", ">std. dev. ET", ">std. dev. PT", ">rel. error ET", ">rel. error PT"];
    let mut table = Table::new("ET and PT by EMP", "Times in ms, after both checks at 2 s.d.", &columns);
    for p in &report.programs {
        let (et, pt) = (&p.elapsed.summary, &p.process.summary);
        let times = [Some(et.mean), Some(pt.mean), et.std_dev, pt.std_dev];
        add(&mut table, named(&p.label, &p.condition), times, [et.relative_error, pt.relative_error]);
    }
    let (et, pt) = (&report.averages.elapsed, &report.averages.process);
    add(
        &mut table,
        "averages".to_owned(),
        [None, None, et.std_dev, pt.std_dev],
        [et.relative_error, pt.relative_error],
    );
    table_section("emp", "Real programs by EMP (EMP table XXVI)", table)
}

/// Execution time, standard deviation and relative error of ORG and SEDONA.
fn sedona(report: &SuiteReport) -> SheetSection {
    let columns = [
        "benchmark",
        ">time ORG (ET)",
        ">time SED. (PT)",
        ">std. dev. ORG",
        ">std. dev. SED.",
        ">rel. error ORG",
        ">rel. error SED.",
    ];
    let note = "Times in ms. ORG: elapsed time of all samples. SED.: process time after check 1.";
    let mut table = Table::new("ORG and SEDONA", note, &columns);
    for p in &report.programs {
        let (org, sed) = (&p.plain, &p.sedona.summary);
        let times = [Some(org.mean), Some(sed.mean), org.std_dev, sed.std_dev];
        add(&mut table, named(&p.label, &p.condition), times, [org.relative_error, sed.relative_error]);
    }
    let (org, sed) = (&report.averages.plain, &report.averages.sedona);
    let times = [None, None, org.std_dev, sed.std_dev];
    add(&mut table, "averages".to_owned(), times, [org.relative_error, sed.relative_error]);
    table_section("sedona", "Real programs by SEDONA (SEDONA table 3)", table)
}

fn add(table: &mut Table, name: String, times: [Option<f64>; 4], errors: [Option<f64>; 2]) {
    let cells = [name].into_iter().chain(times.map(|t| t.map(ms).unwrap_or_default()));
    table.row(cells.chain(errors.map(relative_error)), Vec::new());
    table.values([None].into_iter().chain(times).chain(errors).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::suite::{AverageSpread, SuiteAverages};
    use crate::sheets::programs::tests::{quality, verdict};

    /// The averages of SEDONA table 3: 852 and 815 ms, 3e-3 and 2e-3.
    #[test]
    fn tables_in_the_papers_columns() {
        let average = |ms: f64, error| AverageSpread { std_dev: Some(ms * 1e6), relative_error: Some(error) };
        let averages =
            SuiteAverages { plain: average(852.0, 3e-3), sedona: average(815.0, 2e-3), ..SuiteAverages::default() };
        let report = SuiteReport { programs: vec![quality("gcc", None)], averages, verdict: verdict() };
        let sheet = sheet(&report);
        let [gcc, last] = sheet.sections[1].tables[0].rows.as_slice() else { panic!("{:?}", sheet.sections[1]) };
        assert_eq!(gcc.cells, ["gcc", "128250", "128250", "2.60", "2.60", "2.0e-5", "2.0e-5"]);
        assert_eq!(last.cells, ["averages", "", "", "852", "815", "3.0e-3", "2.0e-3"]);
        assert_eq!(sheet.sections[0].tables[0].rows[1].cells[1..], ["", "", "", "", "", ""].map(str::to_owned));
        for table in sheet.sections.iter().flat_map(|s| &s.tables) {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|r| r.cells.len() == columns && r.numbers().len() == columns), "{table:?}");
        }
    }
}
