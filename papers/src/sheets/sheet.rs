//! What the sheets of all studies have in common.

use tarebench_core::documents::head::DocumentHead;
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::sheet::{Item, Section, Sheet, SheetRemark};
use tarebench_report::table::Table;
use tarebench_report::web::page::{PageFigure, PageKind};

/// Answers to a study's question, the most important first, what a reader has to know before believing them, and its sections, whose ids
/// name the files of figures and tables. Its title and facts are for the caller to set.
pub(crate) fn study_sheet(
    answers: impl IntoIterator<Item: Into<Cell>>,
    remarks: impl IntoIterator<Item: Into<Cell>>,
    sections: impl IntoIterator<Item = Section>,
) -> Sheet {
    Sheet {
        answers: answers.into_iter().map(Into::into).collect(),
        remarks: remarks.into_iter().map(SheetRemark::information).collect(),
        sections: sections.into_iter().collect(),
        ..Sheet::new(PageKind::Study, "")
    }
}

/// The items of a section.
pub(crate) fn figures_and_tables(
    figures: impl IntoIterator<Item = PageFigure>,
    tables: impl IntoIterator<Item = Table>,
) -> Vec<Item> {
    figures.into_iter().map(Item::from).chain(tables.into_iter().map(Item::from)).collect()
}

/// `Study s3: ntp (minutes)`.
pub(crate) fn study_title(head: &DocumentHead) -> Cell {
    let id = if head.number == 0 { String::new() } else { format!(" {}", head.id()) };
    Cell::text(format!("Study{id}: ")).and(Cell::foreign(&head.title))
}

/// A median with the smallest and the largest value.
pub(crate) fn ranged(unit: Unit, median: impl Into<Option<f64>>, range: Option<(f64, f64)>) -> Cell {
    let figure = median.into().map(|median| Figure::new(unit, median));
    let range = range.map(|(low, high)| Ok(Interval { low, high, level: 1.0 }));
    figure.map(|figure| range.iter().fold(figure, Figure::with_interval)).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A table of a section that has rows.
    pub(crate) fn table(section: &Section, place: usize) -> &Table {
        section.tables().nth(place).unwrap()
    }

    /// A figure of a section that has points.
    pub(crate) fn figure(section: &Section, place: usize) -> &PageFigure {
        section.figures().nth(place).unwrap()
    }

    /// Every row of every table has as many cells as the table has columns.
    pub(crate) fn rows_fit(sheet: &Sheet) {
        for table in sheet.sections.iter().flat_map(Section::tables) {
            assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()), "{table:?}");
        }
    }

    /// The remarks as they are read.
    pub(crate) fn remarks(sheet: &Sheet) -> Vec<String> {
        sheet.remarks.iter().map(|remark| remark.cell.plain()).collect()
    }
}
