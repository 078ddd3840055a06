//! Tables of aligned columns.

use crate::screen::{ScreenText, StyledSpan};
use crate::style::Paint;
use crate::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// One cell: text that is final, and its colour.
#[derive(Clone, Debug, Default)]
pub struct GridCell {
    pub text: String,
    pub paint: Paint,
}

impl GridCell {
    pub fn new(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), paint: Paint::Plain }
    }

    pub fn paint(mut self, paint: Paint) -> GridCell {
        self.paint = paint;
        self
    }
}

impl From<StyledSpan> for GridCell {
    fn from((paint, text): StyledSpan) -> GridCell {
        GridCell { text, paint }
    }
}

/// A column: its heading, alignment, cells.
#[derive(Clone, Debug)]
pub struct GridColumn {
    pub head: String,
    pub align: Align,
    pub cells: Vec<GridCell>,
}

impl GridColumn {
    pub fn new(head: impl Into<String>, align: Align, cells: Vec<GridCell>) -> GridColumn {
        GridColumn { head: head.into(), align, cells }
    }

    pub fn width(&self) -> usize {
        let cells = self.cells.iter().map(|c| text::columns(&c.text)).max().unwrap_or(0);
        cells.max(text::columns(&self.head))
    }
}

/// Width of columns side by side, `gap` apart.
pub fn total(columns: &[GridColumn], gap: usize) -> usize {
    let cells: usize = columns.iter().map(GridColumn::width).sum();
    cells + gap * columns.len().saturating_sub(1)
}

/// Cuts the cells of a column in their middle.
pub fn shrink(column: &mut GridColumn, width: usize, mark: &str) {
    for c in &mut column.cells {
        c.text = text::cut_middle(&c.text, width, mark).into_owned();
    }
}

fn pad(s: &str, width: usize, align: Align) -> String {
    let space = " ".repeat(width.saturating_sub(text::columns(s)));
    match align {
        Align::Left => format!("{s}{space}"),
        Align::Right => format!("{space}{s}"),
    }
}

/// The lines of a table, its heading first.
pub fn draw(page: &mut ScreenText<'_>, columns: &[GridColumn], indent: usize, gap: usize) {
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(GridColumn::width).collect();
    let line = |cell: &dyn Fn(&GridColumn) -> GridCell| -> Vec<StyledSpan> {
        let mut spans = vec![(Paint::Plain, " ".repeat(indent))];
        for (i, c) in columns.iter().enumerate() {
            let GridCell { text, paint } = cell(c);
            if i > 0 {
                spans.push((Paint::Plain, " ".repeat(gap)));
            }
            spans.push((paint, pad(&text, widths[i], c.align)));
        }
        spans
    };
    page.line(&line(&|c| GridCell::new(c.head.clone()).paint(Paint::Dim)));
    for r in 0..rows {
        page.line(&line(&|c| c.cells.get(r).cloned().unwrap_or_default()));
    }
}

/// Pads numbers so that their points stand below each other; `None` stays as the sign for absent.
pub fn at_point(values: &[Option<String>], absent: &str) -> Vec<String> {
    let split = |s: &str| -> (usize, usize) {
        let whole = s.find('.').unwrap_or(s.len());
        (text::columns(&s[..whole]), text::columns(&s[whole..]))
    };
    let parts = || values.iter().flatten().map(|s| split(s));
    let left = parts().map(|p| p.0).max().unwrap_or(0);
    let right = parts().map(|p| p.1).max().unwrap_or(0);
    let set = |v: &Option<String>| match v {
        Some(s) => {
            let (l, r) = split(s);
            format!("{}{s}{}", " ".repeat(left - l), " ".repeat(right - r))
        }
        None => {
            let before = left.saturating_sub(1);
            let after = (left + right).saturating_sub(before + text::columns(absent));
            format!("{}{absent}{}", " ".repeat(before), " ".repeat(after))
        }
    };
    values.iter().map(set).collect()
}
