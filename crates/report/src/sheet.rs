//! What a reader is told of a result, in every output: answers, facts, remarks, and sections of tables and figures.

use crate::cell::Cell;
use crate::table::{Detail, Table};
use crate::web::page::{Overview, Page, PageFigure, PageKind, PagePart, PageRemark, PageTimeline, Plot};
use crate::words::capital;

/// A result, ready for any writer. All of it is values; a writer makes the texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    pub kind: PageKind,
    /// What it is: the title of the page and of documents.
    pub title: Cell,
    pub subtitle: Cell,
    /// The result in sentences, each with its period or without one; the most important first. Without any, the title comes first on a
    /// terminal, too.
    pub answers: Vec<Cell>,
    /// What was measured, where and how.
    pub facts: Vec<SheetFact>,
    /// How figures are to be read; sentences.
    pub notes: Vec<SheetNote>,
    /// What a reader has to know before believing the answers; sentences.
    pub remarks: Vec<SheetRemark>,
    pub sections: Vec<Section>,
    /// Version and time, below the page.
    pub foot: Cell,
}

/// A label with what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetFact {
    /// Without a capital letter at its beginning.
    pub label: &'static str,
    pub cell: Cell,
    pub detail: Detail,
}

impl SheetFact {
    pub fn new(label: &'static str, cell: impl Into<Cell>) -> SheetFact {
        SheetFact { label, cell: cell.into(), detail: Detail::Always }
    }

    /// Shown where everything is asked for.
    pub fn full(label: &'static str, cell: impl Into<Cell>) -> SheetFact {
        SheetFact { detail: Detail::Full, ..SheetFact::new(label, cell) }
    }
}

/// A sentence on how to read figures, or of less weight than a remark.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetNote {
    /// What it is on, e.g. `control`; may be empty.
    pub label: &'static str,
    pub cell: Cell,
    /// [`Detail::Full`] is shown in documents, too.
    pub detail: Detail,
}

impl SheetNote {
    pub fn new(label: &'static str, cell: impl Into<Cell>) -> SheetNote {
        SheetNote { label, cell: cell.into(), detail: Detail::Always }
    }

    /// Not shown on a terminal, unless everything is asked for.
    pub fn full(label: &'static str, cell: impl Into<Cell>) -> SheetNote {
        SheetNote { detail: Detail::Full, ..SheetNote::new(label, cell) }
    }
}

/// A sentence that puts something in doubt, or says what is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetRemark {
    /// A warning; otherwise information.
    pub warning: bool,
    pub cell: Cell,
}

impl SheetRemark {
    pub fn warning(cell: impl Into<Cell>) -> SheetRemark {
        SheetRemark { warning: true, cell: cell.into() }
    }

    pub fn information(cell: impl Into<Cell>) -> SheetRemark {
        SheetRemark { warning: false, cell: cell.into() }
    }
}

/// Figures and tables that belong together. The one without a title is the result itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Unique in the sheet, of letters, digits and dashes.
    pub id: String,
    pub title: Cell,
    /// How to read it; sentences.
    pub note: Cell,
    pub detail: Detail,
    pub items: Vec<Item>,
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Table(Table),
    /// Curves over two axes. On a terminal those of the result itself are drawn, if both axes are logarithmic.
    Figure(PageFigure),
    /// Estimates with their intervals, a row each.
    Overview(Box<Overview>),
    /// The samples of one program. Tables of its section stand below it on the page.
    Samples(Box<Plot>),
    Timeline(Box<PageTimeline>),
}

impl From<Table> for Item {
    fn from(table: Table) -> Item {
        Item::Table(table)
    }
}

impl From<PageFigure> for Item {
    fn from(figure: PageFigure) -> Item {
        Item::Figure(figure)
    }
}

impl Section {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<Cell>,
        note: impl Into<Cell>,
        items: impl IntoIterator<Item: Into<Item>>,
    ) -> Section {
        let items = items.into_iter().map(Into::into).collect();
        Section { id: id.into(), title: title.into(), note: note.into(), detail: Detail::Always, items }
    }

    pub fn result(items: impl IntoIterator<Item = Item>) -> Section {
        Section { items: items.into_iter().collect(), ..Section::default() }
    }

    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.items.iter().filter_map(|item| match item {
            Item::Table(table) => Some(table).filter(|t| !t.rows.is_empty()),
            _ => None,
        })
    }

    /// Curves over two axes that have points.
    pub fn figures(&self) -> impl Iterator<Item = &PageFigure> {
        self.items.iter().filter_map(|item| match item {
            Item::Figure(figure) => Some(figure).filter(|f| f.has_points()),
            _ => None,
        })
    }

    pub fn overview(&self) -> Option<&Overview> {
        self.items.iter().find_map(|item| match item {
            Item::Overview(overview) => Some(overview.as_ref()),
            _ => None,
        })
    }
}

impl Sheet {
    /// Without anything but its title.
    pub fn new(kind: PageKind, title: impl Into<Cell>) -> Sheet {
        Sheet {
            kind,
            title: title.into(),
            subtitle: Cell::empty(),
            answers: Vec::new(),
            facts: Vec::new(),
            notes: Vec::new(),
            remarks: Vec::new(),
            sections: Vec::new(),
            foot: Cell::empty(),
        }
    }

    /// As the page has it, without sections that have nothing to show.
    pub fn into_page(self) -> Page {
        let mut page = Page {
            format: "tare-page",
            version: 1,
            kind: self.kind,
            title: self.title,
            subtitle: self.subtitle,
            facts: self.facts.into_iter().map(|f| (capital(f.label), f.cell)).collect(),
            remarks: self
                .remarks
                .into_iter()
                .map(|r| PageRemark { warning: r.warning, text: sentence(r.cell) })
                .collect(),
            overview: None,
            plots: Vec::new(),
            timeline: None,
            parts: Vec::new(),
            tables: Vec::new(),
            foot: self.foot,
        };
        for section in self.sections {
            section.onto(&mut page);
        }
        let notes = self.notes.into_iter().map(noted);
        match &mut page.overview {
            Some(overview) => {
                overview.answers = self.answers.into_iter().map(sentence).collect();
                overview.note = notes.fold(std::mem::take(&mut overview.note), Cell::and_sentence);
            }
            None => {
                let information = |text: Cell| PageRemark { warning: false, text };
                page.remarks.splice(0..0, self.answers.into_iter().map(sentence).map(information));
                page.remarks.extend(notes.map(information));
            }
        }
        page
    }
}

impl Section {
    fn onto(self, page: &mut Page) {
        let whole = self.title.is_empty();
        let first = page.plots.len();
        let mut part =
            PagePart { id: self.id, title: self.title, note: self.note, figures: Vec::new(), tables: Vec::new() };
        for item in self.items {
            match item {
                Item::Table(table) if table.rows.is_empty() => {}
                Item::Table(table) if whole => page.tables.push(table),
                Item::Table(table) => part.tables.push(table),
                Item::Figure(figure) if !figure.has_points() => {}
                Item::Figure(figure) => part.figures.push(figure.escaped()),
                Item::Overview(overview) => page.overview = Some(*overview),
                Item::Samples(plot) => page.plots.push(*plot),
                Item::Timeline(timeline) => page.timeline = Some(*timeline),
            }
        }
        match page.plots.get_mut(first) {
            Some(plot) if part.figures.is_empty() => plot.tables.append(&mut part.tables),
            _ if whole || (part.figures.is_empty() && part.tables.is_empty()) => {}
            _ => page.parts.push(part),
        }
    }
}

/// With its label before it, as a sentence.
pub(crate) fn noted(note: SheetNote) -> Cell {
    match note.label {
        "" => sentence(note.cell),
        label => sentence(Cell::text(format!("{label}: ")).and(note.cell)),
    }
}

/// With a capital letter at its beginning, if that is of tare's own words, and a period at its end.
pub fn sentence(cell: Cell) -> Cell {
    cell.capitalised().with_period()
}
