//! What every study of samples shows: its tables in the papers' columns, and its figures. The terminal, the page, SVG and CSV are made
//! of it.

use tarebench_report::table::Table;
use tarebench_report::web::page::PageFigure;

/// Tables and figures of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudySheet {
    /// Answers to the study's question, a sentence each, the most important first.
    pub answers: Vec<String>,
    /// What a reader has to know before believing them.
    pub remarks: Vec<String>,
    /// Sections, in order.
    pub sections: Vec<SheetSection>,
}

/// A table or figure of a paper, on this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetSection {
    /// Unique in the study, of letters, digits and dashes; the name of its SVG and CSV files.
    pub id: String,
    /// With the paper's number: `Process time by task length (EMP table VI)`.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// With [`Table::values`] set for each row, so that CSV has unrounded numbers.
    pub tables: Vec<Table>,
    pub figures: Vec<PageFigure>,
}
