//! A table of final texts: drawn on a terminal, and written into the web page, from one computation.

use crate::grid;
use crate::grid::{Align, GridCell};
use crate::screen::ScreenText;
use crate::style::{Paint, Style};
use crate::text;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// What it is.
    pub title: String,
    /// Where it comes from, how to read it; may be empty.
    pub note: String,
    pub columns: Vec<Column>,
    /// Its rows, each with as many cells.
    pub rows: Vec<TableRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Aligned to the right, as numbers are.
    pub right: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableRow {
    pub cells: Vec<String>,
    /// Positions of the samples that it speaks of.
    pub samples: Vec<usize>,
    /// By cell, the number that it shows, in one unit for the whole column: tables of the page sort by it. Empty if no cell
    /// has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Option<f64>>,
}

impl Table {
    /// Without rows. A heading that begins with `>` is of a column aligned to the right.
    pub fn new(title: impl Into<String>, note: impl Into<String>, columns: &[&str]) -> Table {
        let column = |head: &&str| match head.strip_prefix('>') {
            Some(title) => Column { title: title.to_owned(), right: true },
            None => Column { title: (*head).to_owned(), right: false },
        };
        Table {
            title: title.into(),
            note: note.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<String>, samples: Vec<usize>) {
        self.rows.push(TableRow { cells, samples, values: Vec::new() });
    }

    /// The numbers that the cells of the last row show, in the base unit of their column (ns, bytes, 1 for shares).
    pub fn values(&mut self, values: Vec<Option<f64>>) {
        if let Some(row) = self.rows.last_mut() {
            row.values = values;
        }
    }
}

/// Rows shown of a table unless all are requested.
pub const ROWS: usize = 20;
/// Smallest width of a cell of text.
const LEAST: usize = 12;

/// Draws a table below its title; one without rows is omitted. Returns whether all rows were shown.
pub fn draw(page: &mut ScreenText<'_>, table: &Table) -> bool {
    if table.rows.is_empty() {
        return true;
    }
    let style: &Style = page.style;
    page.gap();
    page.title(&style.prose(&table.title));
    if !table.note.is_empty() {
        page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Dim, &style.prose(&table.note));
    }
    let shown = if style.full { table.rows.len() } else { table.rows.len().min(ROWS) };
    let mut columns: Vec<grid::GridColumn> = table
        .columns
        .iter()
        .enumerate()
        // An empty column only takes room from the others.
        .filter(|(i, _)| table.rows.iter().any(|r| r.cells.get(*i).is_some_and(|c| !c.is_empty())))
        .map(|(i, c)| {
            let cell = |r: &TableRow| GridCell::new(style.show(r.cells.get(i).map_or("", String::as_str)));
            let align = if c.right { Align::Right } else { Align::Left };
            grid::GridColumn::new(style.prose(&c.title), align, table.rows.iter().take(shown).map(cell).collect())
        })
        .collect();
    squeeze(&mut columns, page);
    grid::draw(page, &columns, 2, 2);
    if shown < table.rows.len() {
        page.line(&[(Paint::Dim, format!("  and {} more rows", table.rows.len() - shown))]);
    }
    shown == table.rows.len()
}

/// Cuts the widest columns of text until all fits.
fn squeeze(columns: &mut [grid::GridColumn], page: &ScreenText<'_>) {
    let room = page.width().saturating_sub(2);
    loop {
        let over = grid::total(columns, 2).saturating_sub(room);
        let widest = columns.iter_mut().filter(|c| c.align == Align::Left).max_by_key(|c| c.width());
        let Some(column) = widest.filter(|c| over > 0 && c.width() > LEAST) else { return };
        let width = column.width().saturating_sub(over).max(LEAST);
        let before = column.width();
        for cell in &mut column.cells {
            cell.text = text::cut(&cell.text, width, page.g.dots).into_owned();
        }
        if column.width() == before {
            return;
        }
    }
}
