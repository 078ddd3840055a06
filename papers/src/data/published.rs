//! Values that the papers printed, with their source. The data are JSON files, so that other programs can read them too.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A table or figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedTable {
    /// Unique, `emp-table-6`.
    pub id: String,
    /// Short name of the paper: `EMP`, `SEDONA`, `Report`, `ICS'05`, `CS:APP`.
    pub paper: String,
    /// Where in the paper: `table VI`, `figure 9.16`.
    pub place: String,
    /// What it shows, in our words, with the machine and kernel that it is of.
    pub caption: String,
    /// Commands whose result is its counterpart: `study scaling`.
    pub counterpart: Vec<String>,
    pub columns: Vec<PublishedColumn>,
    pub rows: Vec<Vec<PublishedCell>>,
    /// What a reader has to know: slips, rounding, what was read from a figure.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A column of a published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedColumn {
    pub title: String,
    /// Unit of its numbers; empty for text, counts and ratios.
    #[serde(default)]
    pub unit: String,
}

/// A value as it was printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublishedCell {
    Number(f64),
    /// A name, or a number with words: `16 (=15+1)`.
    Text(String),
    /// The paper left it empty.
    Empty,
}

/// The files, an array of tables each.
const FILES: [(&str, &str); 5] = [
    ("emp.json", include_str!("published/emp.json")),
    ("sedona.json", include_str!("published/sedona.json")),
    ("report.json", include_str!("published/report.json")),
    ("ics05.json", include_str!("published/ics05.json")),
    ("csapp.json", include_str!("published/csapp.json")),
];

/// What is wrong with the published tables.
#[derive(Debug, thiserror::Error)]
pub enum PublishedFlaw {
    #[error("{file}: {why}")]
    Json { file: &'static str, why: serde_json::Error },
    /// Row numbers start at 1.
    #[error("{id}, row {row}: {cells} cells, expected {columns}")]
    Width { id: String, row: usize, cells: usize, columns: usize },
    #[error("{id}, row {row}: a number is not finite")]
    NotFinite { id: String, row: usize },
    #[error("{id}: a table needs a place, a caption, a command, columns and rows")]
    Incomplete { id: String },
    #[error("{id}: two tables have this id")]
    SameId { id: String },
}

impl PublishedTable {
    /// The table, if every row is as wide as the columns, every number is finite, and nothing is missing.
    pub fn checked(self) -> Result<PublishedTable, PublishedFlaw> {
        let texts = [&self.id, &self.paper, &self.place, &self.caption];
        let missing = texts.iter().any(|t| t.is_empty());
        if missing || self.counterpart.is_empty() || self.columns.is_empty() || self.rows.is_empty() {
            return Err(PublishedFlaw::Incomplete { id: self.id });
        }
        for (i, cells) in self.rows.iter().enumerate() {
            let (id, row) = (self.id.clone(), i + 1);
            if cells.len() != self.columns.len() {
                return Err(PublishedFlaw::Width { id, row, cells: cells.len(), columns: self.columns.len() });
            }
            if cells.iter().any(|c| matches!(c, PublishedCell::Number(n) if !n.is_finite())) {
                return Err(PublishedFlaw::NotFinite { id, row });
            }
        }
        Ok(self)
    }

    /// The row whose first cell is the text `name`.
    pub fn row(&self, name: &str) -> Option<&[PublishedCell]> {
        self.rows.iter().find(|r| r.first().and_then(PublishedCell::text) == Some(name)).map(Vec::as_slice)
    }
}

impl PublishedCell {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            PublishedCell::Number(n) => Some(*n),
            PublishedCell::Text(_) | PublishedCell::Empty => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            PublishedCell::Text(t) => Some(t),
            PublishedCell::Number(_) | PublishedCell::Empty => None,
        }
    }
}

/// The tables of all files, checked.
fn parse() -> Result<Vec<PublishedTable>, PublishedFlaw> {
    let mut ids = BTreeSet::new();
    let mut tables = Vec::new();
    for (file, text) in FILES {
        let list: Vec<PublishedTable> = serde_json::from_str(text).map_err(|why| PublishedFlaw::Json { file, why })?;
        for table in list {
            let table = table.checked()?;
            if !ids.insert(table.id.clone()) {
                return Err(PublishedFlaw::SameId { id: table.id });
            }
            tables.push(table);
        }
    }
    Ok(tables)
}

/// Every published table, in the order of the papers. The files are part of the program, and a test reads them all: the list is
/// never empty.
pub fn all() -> &'static [PublishedTable] {
    static ALL: LazyLock<Vec<PublishedTable>> = LazyLock::new(|| parse().unwrap_or_default());
    &ALL
}

/// The tables whose counterpart is `command`, as in `study scaling`.
pub fn of(command: &str) -> Vec<PublishedTable> {
    all().iter().filter(|t| t.counterpart.iter().any(|c| c == command)).cloned().collect()
}

/// The table with this id.
pub fn by_id(id: &str) -> Option<&'static PublishedTable> {
    all().iter().find(|t| t.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cells::Study;
    use crate::data::series::SampleStudy;

    fn table(rows: Vec<Vec<PublishedCell>>) -> PublishedTable {
        let column = |title: &str| PublishedColumn { title: title.to_owned(), unit: String::new() };
        PublishedTable {
            id: "a".to_owned(),
            paper: "EMP".to_owned(),
            place: "table I".to_owned(),
            caption: "c".to_owned(),
            counterpart: vec!["profile".to_owned()],
            columns: vec![column("x"), column("y")],
            rows,
            notes: vec![],
        }
    }

    #[test]
    fn every_file_is_read() {
        let tables = parse().unwrap();
        assert_eq!(tables.len(), all().len());
        for (paper, least) in [("EMP", 26), ("SEDONA", 3), ("Report", 11), ("ICS'05", 3), ("CS:APP", 10)] {
            assert!(tables.iter().filter(|t| t.paper == paper).count() >= least, "{paper}");
        }
    }

    #[test]
    fn a_column_has_one_kind_of_cell() {
        for t in all() {
            for (i, column) in t.columns.iter().enumerate() {
                let numbers = t.rows.iter().filter(|r| r[i].number().is_some()).count();
                let texts = t.rows.iter().filter(|r| r[i].text().is_some()).count();
                // Discards have words only where there are any; the model's values are partly bounds.
                let mixed = ["emp-table-20", "ics05-model"].contains(&t.id.as_str());
                assert!(mixed || numbers == 0 || texts == 0, "{}: {}", t.id, column.title);
                assert!(numbers + texts > 0, "{}: {} is empty", t.id, column.title);
            }
        }
    }

    #[test]
    fn every_study_of_the_papers_has_published_values() {
        // Beyond the papers: nothing was published of the origin of the variance.
        let of_samples = SampleStudy::all().filter(|s| *s != SampleStudy::Variance).map(SampleStudy::name);
        for study in of_samples.chain(Study::ALL.into_iter().map(Study::name)) {
            assert!(!of(&format!("study {study}")).is_empty(), "{study}");
        }
        for command in ["profile", "noise", "trace", "clocks"] {
            assert!(!of(command).is_empty(), "{command}");
        }
        assert!(of("study variance").is_empty());
    }

    #[test]
    fn a_cell_is_read_as_it_was_printed() {
        let read: Vec<PublishedCell> = serde_json::from_str(r#"[1002, 0.7, "16 (=15+1)", null]"#).unwrap();
        let text = PublishedCell::Text("16 (=15+1)".to_owned());
        assert_eq!(read, [PublishedCell::Number(1002.0), PublishedCell::Number(0.7), text, PublishedCell::Empty]);
        let vi = by_id("emp-table-6").unwrap();
        assert_eq!(vi.row("INC8").unwrap()[2].number(), Some(8_022.0));
        assert_eq!(vi.row("INC3"), None);
    }

    #[test]
    fn flaws() {
        let number = || PublishedCell::Number(1.0);
        assert!(table(vec![vec![number(), number()]]).checked().is_ok());
        let narrow = table(vec![vec![number(), number()], vec![number()]]).checked();
        assert!(matches!(narrow, Err(PublishedFlaw::Width { row: 2, cells: 1, columns: 2, .. })), "{narrow:?}");
        let infinite = table(vec![vec![number(), PublishedCell::Number(f64::INFINITY)]]).checked();
        assert!(matches!(infinite, Err(PublishedFlaw::NotFinite { row: 1, .. })), "{infinite:?}");
        assert!(matches!(table(vec![]).checked(), Err(PublishedFlaw::Incomplete { .. })));
    }
}
