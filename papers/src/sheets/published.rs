//! Values that the papers printed, as tables beside this machine's.

use crate::data::published::{PublishedCell, PublishedColumn, PublishedTable, of};
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::sheet::{Section, Sheet};
use tarebench_report::style::Style;
use tarebench_report::table::{Column, Table};
use tarebench_report::terminal::sheet_text;
use tarebench_report::web::page::PageKind;

/// The counterparts of a command: `study scaling`.
pub fn published_tables(command: &str) -> Vec<Table> {
    of(command).iter().map(table).collect()
}

/// The same as a section; `None` if the papers printed nothing.
pub fn published_section(command: &str) -> Option<Section> {
    section(published_tables(command))
}

/// The papers' values alone, below what is printed of this machine.
pub fn published_text(tables: &[Table], style: &Style) -> String {
    let sections = section(tables.to_vec()).into_iter().collect::<Vec<Section>>();
    let full = Style { full: true, ..style.clone() };
    let text = sheet_text(&Sheet { sections, ..Sheet::new(PageKind::Study, "") }, &full);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn section(tables: Vec<Table>) -> Option<Section> {
    let note = "As the papers printed them, on their machines.";
    (!tables.is_empty()).then(|| Section::new("published", "Published values", note, tables))
}

fn table(published: &PublishedTable) -> Table {
    let title = format!("{} {}: {}", published.paper, published.place, published.caption);
    // A column is of numbers if one of its cells is.
    let number = |i: usize| published.rows.iter().any(|r| matches!(r.get(i), Some(PublishedCell::Number(_))));
    let column = |(i, column)| Column { right: number(i), ..Column::new(heading(column)) };
    let columns = published.columns.iter().enumerate().map(column);
    let mut table = Table::of(title, published.notes.join(" "), columns);
    for row in &published.rows {
        table.row(row.iter().map(cell), Vec::new());
    }
    table
}

fn heading(column: &PublishedColumn) -> String {
    match column.unit.as_str() {
        "" => column.title.clone(),
        unit => format!("{}, {unit}", column.title),
    }
}

fn cell(cell: &PublishedCell) -> Cell {
    match cell {
        PublishedCell::Number(n) => Cell::of(Unit::Exact, *n),
        PublishedCell::Text(text) => Cell::text(text),
        PublishedCell::Empty => Cell::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_table_says_where_it_is_from() {
        let column = |title: &str, unit: &str| PublishedColumn { title: title.to_owned(), unit: unit.to_owned() };
        let published = PublishedTable {
            id: "emp-table-0".to_owned(),
            paper: "EMP".to_owned(),
            place: "table 0".to_owned(),
            caption: "Process time of INC.".to_owned(),
            counterpart: vec!["study scaling".to_owned()],
            columns: vec![column("program", ""), column("mean", "ms"), column("found", "")],
            rows: vec![
                vec![
                    PublishedCell::Text("INC8".to_owned()),
                    PublishedCell::Number(8022.5),
                    PublishedCell::Text("16 (=15+1)".to_owned()),
                ],
                vec![PublishedCell::Text("INC16".to_owned()), PublishedCell::Empty, PublishedCell::Number(2.0)],
            ],
            notes: vec!["Rounded.".to_owned()],
        };
        let t = table(&published);
        assert_eq!(
            (t.title.plain().as_str(), t.note.plain().as_str()),
            ("EMP table 0: Process time of INC.", "Rounded.")
        );
        let heads: Vec<(String, bool)> = t.columns.iter().map(|c| (c.title.plain(), c.right)).collect();
        let expected = [("program", false), ("mean, ms", true), ("found", true)];
        assert_eq!(heads, expected.map(|(head, right)| (head.to_owned(), right)));
        assert_eq!(t.rows[0].cells, ["INC8", "8022.5", "16 (=15+1)"]);
        assert_eq!(t.rows[1].numbers(), [None, None, Some(2.0)]);
        assert!(published_section("no such command").is_none());
    }
}
