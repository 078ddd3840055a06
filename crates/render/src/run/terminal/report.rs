//! The report on a terminal.

use crate::run::hints::hints_of_run;
use crate::run::sheet;
use crate::run::terminal::brief;
use tarebench_core::run::report::data::RunReport;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;

/// Draws a run for a terminal. Ends with a newline; no line is wider than `style.width` (at least 40).
pub fn run_report(report: &RunReport, style: &Style) -> String {
    if style.full {
        return sheet_text(&sheet::run(report, None, &style.hints, &style.zone, String::new()), style);
    }
    let style = &Style { hints: hints_of_run(&style.hints, &report.run.plan), ..style.clone() };
    let mut page = ScreenText::new(style);
    brief::draw(&mut page, report);
    page.finish()
}
