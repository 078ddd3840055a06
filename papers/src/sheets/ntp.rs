//! The study of the NTP daemon as tables and figures.

use crate::data::ntp::NtpReport;
use crate::sheets::conditions::{ConditionPlaces, comparison_sheet};
use crate::sheets::sheet::StudySheet;

/// EMP figure 10, tables III and IV.
pub fn sheet(report: &NtpReport) -> StudySheet {
    let places = ConditionPlaces {
        tables: "EMP tables III and IV",
        figure: "EMP figure 10",
        wanted: "the NTP daemon off, and on",
    };
    let mut sheet = comparison_sheet(&report.comparison, &places);
    sheet.remarks.push(
        "A kernel counts as synchronised for hours after the daemon has stopped, and goes on with its last correction of the \
         clock's rate."
            .to_owned(),
    );
    sheet
}
