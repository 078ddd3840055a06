//! CSV: cells, tables and files.

use crate::cell::{Cell, CellContent};
use crate::error::RenderError;
use crate::form::Form;
use crate::table::Table;
use crate::text::escape;

pub fn write(rows: Vec<Vec<String>>) -> Result<String, RenderError> {
    let mut w = ::csv::WriterBuilder::new().from_writer(Vec::new());
    for r in rows {
        w.write_record(r)?;
    }
    let bytes = w.into_inner().map_err(|e| RenderError::Io(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text that tare did not write, e.g. a program's name, without hidden characters. Spreadsheets run a cell that begins with one of
/// these characters as a formula; after an apostrophe it is a text
/// (<https://owasp.org/www-community/attacks/CSV_Injection>). A number is none.
pub fn text(content: &str) -> String {
    let shown = escape(content);
    let formula = shown.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match formula && !content.parse().is_ok_and(f64::is_finite) {
        true => format!("'{shown}"),
        false => shown.into_owned(),
    }
}

pub fn secs(ns: f64) -> String {
    number(ns / 1e9)
}

pub fn number(v: f64) -> String {
    if v.is_finite() { v.to_string() } else { String::new() }
}

pub fn cell<T>(value: Option<T>, f: impl Fn(T) -> String) -> String {
    value.map(f).unwrap_or_default()
}

/// A table: numbers are not rounded, in the base unit of their column (ns, bytes, 1 for shares); an absent value is an empty cell. A
/// column whose figures have intervals or standard deviations is followed by columns of these.
pub fn table(table: &Table) -> Result<String, RenderError> {
    let places: Vec<ColumnPlace> = (0..table.columns.len()).map(|place| ColumnPlace::of(table, place)).collect();
    let mut rows = vec![places.iter().flat_map(ColumnPlace::heads).collect::<Vec<String>>()];
    for row in &table.rows {
        let empty = Cell::empty();
        rows.push(places.iter().flat_map(|p| p.cells(row.cells.get(p.place).unwrap_or(&empty))).collect());
    }
    write(rows)
}

/// A column, and what its figures have.
struct ColumnPlace {
    place: usize,
    name: String,
    spread: bool,
    interval: bool,
}

impl ColumnPlace {
    fn of(table: &Table, place: usize) -> ColumnPlace {
        let told = table.columns.get(place);
        let name = told.map_or_else(String::new, |c| match c.key {
            "" => text(&c.title.write(&Form::page())),
            key => key.to_owned(),
        });
        let any = |has: fn(&crate::cell::Figure) -> bool| table.column(place).filter_map(Cell::as_figure).any(has);
        ColumnPlace { place, name, spread: any(|f| f.spread.is_some()), interval: any(|f| f.interval.is_some()) }
    }

    fn heads(&self) -> Vec<String> {
        let further = [(self.spread, "_sd"), (self.interval, "_low"), (self.interval, "_high")];
        let further = further.iter().filter(|(has, _)| *has).map(|(_, end)| format!("{}{end}", self.name));
        [self.name.clone()].into_iter().chain(further).collect()
    }

    fn cells(&self, of: &Cell) -> Vec<String> {
        let value = match &of.content {
            CellContent::Figure(figure) => number(figure.value),
            CellContent::Absent(_) | CellContent::Empty => String::new(),
            CellContent::Foreign(foreign) => text(foreign),
            CellContent::Text(_) | CellContent::Words(_) | CellContent::Date(..) => text(&of.write(&Form::page())),
        };
        let figure = of.as_figure();
        let bounds = figure.and_then(|f| f.bounds());
        let mut cells = vec![value];
        if self.spread {
            cells.push(cell(figure.and_then(|f| f.spread), number));
        }
        if self.interval {
            cells.extend([cell(bounds.map(|i| i.low), number), cell(bounds.map(|i| i.high), number)]);
        }
        cells
    }
}
