//! The study of turbo mode and frequency scaling as tables and figures.

use crate::data::clock_speed::ClockSpeedReport;
use crate::sheets::conditions::{ConditionPlaces, comparison_sheet};
use tarebench_report::sheet::{Sheet, SheetRemark};

/// EMP figure 11, tables IV and V.
pub fn sheet(report: &ClockSpeedReport) -> Sheet {
    let places = ConditionPlaces {
        tables: "EMP tables IV and V",
        figure: "EMP figure 11",
        wanted: "turbo mode and frequency scaling on, and off",
    };
    let mut sheet = comparison_sheet(&report.comparison, &places);
    sheet.remarks.push(SheetRemark::information(
        "The paper switched both features off at once, in the firmware; here they are set one by one. For both at once, tune the \
         machine, measure a run, and make the study of stored runs.",
    ));
    sheet
}
