//! The tables of a study as files of CSV.

use crate::sheets::sheet::SheetSection;
use tarebench_report::csv;
use tarebench_report::error::RenderError;
use tarebench_report::table::Table;

/// A file name and the text of each table that has rows: the section's id, with a number from the second table on.
///
/// Numbers are not rounded, in the base unit of their column (ns, bytes, 1 for shares), where the table has them; other cells are as
/// they are shown.
pub fn csv_files(sections: &[SheetSection]) -> Result<Vec<(String, String)>, RenderError> {
    let mut files = Vec::new();
    for section in sections {
        let tables = section.tables.iter().filter(|t| !t.rows.is_empty());
        for (i, table) in tables.enumerate() {
            let name = if i == 0 { format!("{}.csv", section.id) } else { format!("{}-{}.csv", section.id, i + 1) };
            files.push((name, csv::table(table)?));
        }
    }
    Ok(files)
}

/// Tables that are not of a sheet, each as a section of its own, named after its place.
pub fn sections_of(tables: Vec<Table>, name: &str) -> Vec<SheetSection> {
    let section = |(i, table): (usize, Table)| SheetSection {
        id: format!("{name}-{}", i + 1),
        title: table.title.plain(),
        note: table.note.plain(),
        tables: vec![table],
        figures: Vec::new(),
    };
    tables.into_iter().enumerate().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_formulas_are_texts() {
        let mut table = Table::new("t", "", &["program", ">mean", ">share"]);
        table.row(vec!["=1+1".to_owned(), "1.23 ms".to_owned(), "5 %".to_owned()], Vec::new());
        table.values(vec![None, Some(1_234_567.5), None]);
        table.row(vec!["a,\"b\"".to_owned(), String::new()], Vec::new());
        let empty = Table::new("nothing", "", &["x"]);
        let section =
            SheetSection { id: "s".to_owned(), tables: vec![empty, table.clone(), table], ..SheetSection::default() };
        let files = csv_files(&[section]).unwrap();
        let names: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(names, ["s.csv", "s-2.csv"]);
        assert_eq!(files[0].1, "program,mean,share\n'=1+1,1234567.5,5 %\n\"a,\"\"b\"\"\",,\n");
    }
}
