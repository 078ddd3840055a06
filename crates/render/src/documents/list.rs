//! The tables of stored runs and of other documents.

use crate::kit::grid;
use crate::kit::grid::{Align, Cell, Column};
use crate::kit::screen::Page;
use crate::kit::style::{Paint, Style};
use crate::kit::text;
use std::collections::BTreeMap;
use tarebench_core::documents::head::Head;
use tarebench_core::documents::head::Status;

/// One stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number in the store.
    pub id: i64,
    /// When it began, as the reader shall see it.
    pub created: String,
    /// Where it stands.
    pub status: Status,
    /// Labels of its programs.
    pub programs: Vec<String>,
    /// Samples stored.
    pub samples: u64,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// Draws stored runs, one per line, in the order given.
pub fn table(rows: &[Row], style: &Style) -> String {
    let mut page = Page::new(style);
    if rows.is_empty() {
        page.line(&[(Paint::Dim, "no stored runs".to_owned())]);
        return page.finish();
    }
    let cells = |f: &dyn Fn(&Row) -> Cell| rows.iter().map(f).collect::<Vec<_>>();
    let tags = |r: &Row| {
        let one = |(k, v): (&String, &String)| {
            if v.is_empty() { style.show(k) } else { format!("{}={}", style.show(k), style.show(v)) }
        };
        r.tags.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let sep = style.glyphs().between;
    let programs = |r: &Row| {
        let all: Vec<String> = r.programs.iter().map(|p| style.show(p)).collect();
        let count = if all.len() > 1 { format!("({}) ", all.len()) } else { String::new() };
        Cell::new(format!("{count}{}", all.join(sep)))
    };
    let mut columns = vec![
        Column::new("run", Align::Right, cells(&|r| Cell::new(r.id.to_string()).paint(Paint::Strong))),
        Column::new("began", Align::Left, cells(&|r| Cell::new(style.show(&r.created)))),
        Column::new("status", Align::Left, cells(&|r| status(r.status))),
        Column::new("samples", Align::Right, cells(&|r| Cell::new(r.samples.to_string()))),
        Column::new("programs", Align::Left, cells(&programs)),
        Column::new("tags", Align::Left, cells(&|r| Cell::new(tags(r)))),
    ];
    if rows.iter().all(|r| r.tags.is_empty()) {
        columns.pop();
    }
    if columns.len() > 5 && !squeeze(&mut columns, &page, &[(5, 20), (4, 32), (5, 10), (4, 16)]) {
        columns.pop();
    }
    squeeze(&mut columns, &page, &[(4, 16), (1, 16), (4, 8)]);
    grid::draw(&mut page, &columns, 0, 2);
    page.finish()
}

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// What it is.
    pub head: Head,
    /// When it began, as the reader shall see it.
    pub created: String,
}

/// Draws stored documents, one per line, in the order given; nothing if there are none.
pub fn documents(rows: &[DocumentRow], style: &Style) -> String {
    let mut page = Page::new(style);
    if rows.is_empty() {
        return page.finish();
    }
    let cells = |f: &dyn Fn(&DocumentRow) -> Cell| rows.iter().map(f).collect::<Vec<_>>();
    let mut columns = vec![
        Column::new("id", Align::Right, cells(&|r| Cell::new(r.head.id().to_string()).paint(Paint::Strong))),
        Column::new("began", Align::Left, cells(&|r| Cell::new(style.show(&r.created)))),
        Column::new("status", Align::Left, cells(&|r| status(r.head.status))),
        Column::new("kind", Align::Left, cells(&|r| Cell::new(r.head.kind.name()))),
        Column::new("title", Align::Left, cells(&|r| Cell::new(style.show(&r.head.title)))),
        Column::new("machine", Align::Left, cells(&|r| Cell::new(style.show(&r.head.machine)))),
    ];
    if !squeeze(&mut columns, &page, &[(4, 32), (5, 12), (4, 16)]) {
        columns.pop();
    }
    squeeze(&mut columns, &page, &[(4, 16), (1, 16), (4, 8)]);
    grid::draw(&mut page, &columns, 0, 2);
    page.finish()
}

fn status(s: Status) -> Cell {
    match s {
        Status::Finished => Cell::new("finished"),
        Status::Interrupted => Cell::new("interrupted").paint(Paint::Warn),
        Status::Unfinished => Cell::new("unfinished").paint(Paint::Warn),
    }
}

/// Cuts columns, each to its least width, until all fits; false if it does not.
fn squeeze(columns: &mut [Column], page: &Page<'_>, leasts: &[(usize, usize)]) -> bool {
    for &(at, least) in leasts {
        let over = grid::total(columns, 2).saturating_sub(page.width());
        if let Some(c) = columns.get_mut(at).filter(|_| over > 0) {
            let width = c.width().saturating_sub(over).max(least);
            for cell in &mut c.cells {
                cell.text = text::cut(&cell.text, width, page.g.dots).into_owned();
            }
        }
    }
    grid::total(columns, 2) <= page.width()
}
