//! Values that the papers printed, as tables beside this machine's.

use crate::data::published::{PublishedCell, PublishedColumn, PublishedTable, of};
use crate::sheets::sheet::SheetSection;
use tarebench_report::table::Table;

/// The counterparts of a command: `study scaling`.
pub fn published_tables(command: &str) -> Vec<Table> {
    of(command).iter().map(table).collect()
}

/// The same as a section for files and the page; `None` if the papers printed nothing.
pub fn published_section(command: &str) -> Option<SheetSection> {
    let tables = published_tables(command);
    (!tables.is_empty()).then(|| SheetSection {
        id: "published".to_owned(),
        title: "Published values".to_owned(),
        note: "As the papers printed them, on their machines.".to_owned(),
        tables,
        figures: Vec::new(),
    })
}

fn table(published: &PublishedTable) -> Table {
    let title = format!("{} {}: {}", published.paper, published.place, published.caption);
    // A column is of numbers if one of its cells is.
    let number = |i: usize| published.rows.iter().any(|r| matches!(r.get(i), Some(PublishedCell::Number(_))));
    let heads: Vec<String> = published
        .columns
        .iter()
        .enumerate()
        .map(|(i, column)| format!("{}{}", if number(i) { ">" } else { "" }, heading(column)))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(title, published.notes.join(" "), &heads);
    for row in &published.rows {
        table.row(row.iter().map(cell), Vec::new());
        table.values(row.iter().map(PublishedCell::number).collect());
    }
    table
}

fn heading(column: &PublishedColumn) -> String {
    match column.unit.as_str() {
        "" => column.title.clone(),
        unit => format!("{}, {unit}", column.title),
    }
}

fn cell(cell: &PublishedCell) -> String {
    match cell {
        PublishedCell::Number(n) => n.to_string(),
        PublishedCell::Text(text) => text.clone(),
        PublishedCell::Empty => String::new(),
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
