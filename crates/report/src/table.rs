//! A table of cells, for every output.

use crate::cell::{Cell, CellContent};
use crate::form::Form;
use crate::number;
use crate::number::TimeUnit;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub title: Cell,
    /// Where it comes from, how to read it; may be empty.
    pub note: Cell,
    pub columns: Vec<Column>,
    /// Its rows, each with as many cells.
    pub rows: Vec<TableRow>,
}

/// Where something is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Always,
    /// On a terminal and in documents where everything is asked for; always on the page and in CSV.
    Full,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub title: Cell,
    /// Its name in CSV; the heading if it has none.
    pub key: &'static str,
    /// Aligned to the right; columns of figures are without being told.
    pub right: bool,
    /// Where there is no room for all columns, those with the highest number are left out first; 0: never.
    pub priority: u8,
    pub detail: Detail,
    /// All times in one unit, which stands in the heading.
    pub shared_unit: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableRow {
    pub cells: Vec<Cell>,
    /// Positions of the samples that it speaks of.
    pub samples: Vec<usize>,
}

impl Column {
    pub fn new(title: impl Into<Cell>) -> Column {
        Column { title: title.into(), ..Column::default() }
    }

    /// Its name in CSV.
    pub fn key(self, key: &'static str) -> Column {
        Column { key, ..self }
    }

    /// Left out where there is no room, those with the highest number first.
    pub fn priority(self, priority: u8) -> Column {
        Column { priority, ..self }
    }

    /// Shown where everything is asked for.
    pub fn full(self) -> Column {
        Column { detail: Detail::Full, ..self }
    }

    /// All times in one unit, which stands in the heading.
    pub fn shared_unit(self) -> Column {
        Column { shared_unit: true, ..self }
    }
}

impl From<&str> for Column {
    /// A heading that begins with `>` is of a column aligned to the right.
    fn from(head: &str) -> Column {
        match head.strip_prefix('>') {
            Some(title) => Column { right: true, ..Column::new(title) },
            None => Column::new(head),
        }
    }
}

impl TableRow {
    /// As the page shows its cells.
    pub fn plain(&self) -> Vec<String> {
        self.cells.iter().map(Cell::plain).collect()
    }

    /// The numbers that its cells show.
    pub fn numbers(&self) -> Vec<Option<f64>> {
        self.cells.iter().map(Cell::value).collect()
    }
}

impl Table {
    /// Without rows. A heading that begins with `>` is of a column aligned to the right.
    pub fn new(title: impl Into<Cell>, note: impl Into<Cell>, columns: &[&str]) -> Table {
        Table::of(title, note, columns.iter().map(|head| Column::from(*head)))
    }

    /// Without rows, of these columns.
    pub fn of(title: impl Into<Cell>, note: impl Into<Cell>, columns: impl IntoIterator<Item = Column>) -> Table {
        Table { title: title.into(), note: note.into(), columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>, samples: Vec<usize>) {
        self.rows.push(TableRow { cells: cells.into_iter().map(Into::into).collect(), samples });
    }

    /// The cells of a column.
    pub fn column(&self, place: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| row.cells.get(place))
    }

    /// Whether a column is aligned to the right: it was told to be, or holds nothing but figures without intervals.
    pub fn is_right(&self, place: usize) -> bool {
        let told = self.columns.get(place).is_some_and(|c| c.right);
        let is_number = |cell: &Cell| cell.as_figure().is_some_and(|f| f.interval.is_none());
        told || (self.holds_figures(place) && self.column(place).filter(|c| c.as_figure().is_some()).all(is_number))
    }

    /// Whether a column holds figures and nothing else, but for cells that are empty or absent.
    pub(crate) fn holds_figures(&self, place: usize) -> bool {
        let is_other = |cell: &Cell| {
            !cell.is_empty() && cell.as_figure().is_none() && !matches!(cell.content, CellContent::Absent(_))
        };
        !self.column(place).any(is_other) && self.column(place).any(|cell| cell.as_figure().is_some())
    }

    /// The unit in which all times of a column are written, if they have one.
    pub(crate) fn unit(&self, place: usize, form: &Form) -> Option<TimeUnit> {
        let shared = self.columns.get(place).is_some_and(|c| c.shared_unit);
        shared.then(|| number::unit(self.column(place).filter_map(Cell::value), form.unit()))
    }

    /// The heading of a column, with the unit that its times have in common.
    pub(crate) fn heading(&self, place: usize, form: &Form) -> String {
        let title = self.columns.get(place).map(|c| c.title.write(form)).unwrap_or_default();
        match self.unit(place, form) {
            Some(unit) => format!("{title} [{}]", unit.sign(form.is_unicode())),
            None => title,
        }
    }
}

impl Serialize for Table {
    /// As the page has it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = Form::page();
        // An empty column only takes room from the others.
        let is_shown = |place: &usize| self.rows.is_empty() || self.column(*place).any(|cell| !cell.is_empty());
        let places: Vec<usize> = (0..self.columns.len()).filter(is_shown).collect();
        let column = |i: &usize| PageColumn { title: self.heading(*i, &form), right: self.is_right(*i) };
        let columns: Vec<PageColumn> = places.iter().map(column).collect();
        let rows: Vec<PageRow<'_>> = self.rows.iter().map(|row| self.page_row(row, &places, &form)).collect();
        let mut table = serializer.serialize_struct("Table", 4)?;
        table.serialize_field("title", &self.title)?;
        table.serialize_field("note", &self.note)?;
        table.serialize_field("columns", &columns)?;
        table.serialize_field("rows", &rows)?;
        table.end()
    }
}

#[derive(Serialize)]
struct PageColumn {
    title: String,
    right: bool,
}

#[derive(Serialize)]
struct PageRow<'a> {
    cells: Vec<String>,
    samples: &'a [usize],
    /// By cell, the number that it shows, in one unit for the whole column: tables of the page sort by it. Empty if no cell has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Option<f64>>,
}

impl Table {
    fn page_row<'a>(&self, row: &'a TableRow, places: &[usize], form: &Form) -> PageRow<'a> {
        let empty = Cell::empty();
        let cell = |place: &usize| row.cells.get(*place).unwrap_or(&empty);
        let values: Vec<Option<f64>> = places.iter().map(|i| cell(i).value()).collect();
        PageRow {
            cells: places.iter().map(|i| cell(i).write_in(form, self.unit(*i, form))).collect(),
            samples: &row.samples,
            values: if values.iter().all(Option::is_none) { Vec::new() } else { values },
        }
    }
}
