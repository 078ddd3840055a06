//! The study of the NTP daemon as tables and figures.

use crate::data::ntp::NtpReport;
use crate::sheets::conditions::{ConditionPlaces, comparison_sheet};
use tarebench_report::sheet::{Sheet, SheetRemark};

/// EMP figure 10, tables III and IV.
pub fn sheet(report: &NtpReport) -> Sheet {
    let places = ConditionPlaces {
        tables: "EMP tables III and IV",
        figure: "EMP figure 10",
        wanted: "the NTP daemon off, and on",
    };
    let mut sheet = comparison_sheet(&report.comparison, &places);
    sheet.remarks.push(SheetRemark::information(
        "A kernel counts as synchronised for hours after the daemon has stopped, and goes on with its last correction of the \
         clock's rate.",
    ));
    sheet
}
