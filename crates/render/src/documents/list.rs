//! The table of stored documents of every kind.

use std::collections::BTreeMap;
use tarebench_core::documents::head::{Id, Status};
use tarebench_report::grid;
use tarebench_report::grid::{Align, GridCell, GridColumn};
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    pub id: Id,
    /// When it began, as shown.
    pub created: String,
    pub status: Status,
    /// Labels of its programs, or its title.
    pub titles: Vec<String>,
    /// How many samples are stored, of a run.
    pub samples: Option<u64>,
    /// Name of its machine.
    pub machine: String,
    pub tags: BTreeMap<String, String>,
}

/// Draws stored documents, one per line, in the order given.
pub fn table(rows: &[DocumentRow], style: &Style) -> String {
    let mut page = ScreenText::new(style);
    if rows.is_empty() {
        page.line(&[(Paint::Dim, "nothing is stored".to_owned())]);
        return page.finish();
    }
    let cells = |f: &dyn Fn(&DocumentRow) -> GridCell| rows.iter().map(f).collect::<Vec<_>>();
    let tag = |(k, v): (&String, &String)| {
        if v.is_empty() { style.show(k) } else { format!("{}={}", style.show(k), style.show(v)) }
    };
    let tags = |r: &DocumentRow| r.tags.iter().map(tag).collect::<Vec<_>>().join(" ");
    let sep = style.glyphs().between;
    let titles = |r: &DocumentRow| {
        let all: Vec<String> = r.titles.iter().map(|p| style.show(p)).collect();
        let count = if all.len() > 1 { format!("({}) ", all.len()) } else { String::new() };
        GridCell::new(format!("{count}{}", all.join(sep)))
    };
    let samples = |r: &DocumentRow| GridCell::new(r.samples.map_or(String::new(), |n| n.to_string()));
    let mut columns = vec![
        GridColumn::new("id", Align::Right, cells(&|r| GridCell::new(r.id.to_string()).paint(Paint::Strong))),
        GridColumn::new("kind", Align::Left, cells(&|r| GridCell::new(r.id.kind.name()))),
        GridColumn::new("began", Align::Left, cells(&|r| GridCell::new(style.show(&r.created)))),
        GridColumn::new("status", Align::Left, cells(&|r| status(r.status))),
        GridColumn::new("samples", Align::Right, cells(&samples)),
        GridColumn::new("title", Align::Left, cells(&titles)),
        GridColumn::new("machine", Align::Left, cells(&|r| GridCell::new(style.show(&r.machine)))),
        GridColumn::new("tags", Align::Left, cells(&|r| GridCell::new(tags(r)))),
    ];
    if rows.iter().all(|r| r.tags.is_empty()) {
        columns.pop();
    }
    let over = |columns: &[GridColumn], page: &ScreenText<'_>| grid::total(columns, 2) > page.width();
    // A column with one machine for all rows says nothing.
    let mut machines: Vec<&str> = rows.iter().map(|r| r.machine.as_str()).collect();
    machines.dedup();
    if machines.len() == 1 && over(&columns, &page) {
        columns.remove(MACHINE);
    }
    let last = columns.len() - 1;
    squeeze(&mut columns, &page, &[(last, 20), (TITLE, 32), (last, 10), (TITLE, 16)]);
    while over(&columns, &page) && columns.len() > MACHINE {
        columns.pop();
    }
    let mut title = TITLE;
    if over(&columns, &page) && rows.iter().all(|r| r.samples.is_none()) {
        columns.remove(SAMPLES);
        title = SAMPLES;
    }
    squeeze(&mut columns, &page, &[(title, 16), (BEGAN, 16), (title, 8)]);
    grid::draw(&mut page, &columns, 0, 2);
    page.finish()
}

const BEGAN: usize = 2;
const SAMPLES: usize = 4;
const TITLE: usize = 5;
const MACHINE: usize = 6;

fn status(s: Status) -> GridCell {
    match s {
        Status::Finished => GridCell::new("finished"),
        Status::Interrupted => GridCell::new("interrupted").paint(Paint::Warn),
        Status::Unfinished => GridCell::new("unfinished").paint(Paint::Warn),
    }
}

/// Cuts columns, each down to its minimum width, until all fits.
fn squeeze(columns: &mut [GridColumn], page: &ScreenText<'_>, leasts: &[(usize, usize)]) {
    for &(at, least) in leasts {
        let over = grid::total(columns, 2).saturating_sub(page.width());
        if let Some(c) = columns.get_mut(at).filter(|_| over > 0) {
            let width = c.width().saturating_sub(over).max(least);
            for cell in &mut c.cells {
                cell.text = text::cut(&cell.text, width, page.g.dots).into_owned();
            }
        }
    }
}
