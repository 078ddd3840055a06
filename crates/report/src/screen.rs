//! Lines of a report: nothing wider than the terminal, colours only where asked.

use crate::style::{Glyphs, Paint, Style};
use crate::text;

/// Width of the column of field names.
const GUTTER: usize = 14;

pub type StyledSpan = (Paint, String);

pub struct ScreenText<'a> {
    out: String,
    pub style: &'a Style,
    pub g: Glyphs,
}

impl<'a> ScreenText<'a> {
    pub fn new(style: &'a Style) -> ScreenText<'a> {
        ScreenText { out: String::new(), style, g: style.glyphs() }
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn width(&self) -> usize {
        self.style.columns()
    }

    /// Below this, tables of several columns make no sense.
    pub fn narrow(&self) -> bool {
        self.width() < 60
    }

    /// An empty line, unless there is one already or this is the beginning.
    pub fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Writes one line; what does not fit is cut.
    pub fn line(&mut self, spans: &[StyledSpan]) {
        let width = self.width();
        let last = spans.iter().rposition(|(_, s)| !s.trim_end().is_empty());
        let spans = &spans[..last.map_or(0, |l| l + 1)];
        let whole: usize = spans.iter().map(|(_, s)| text::columns(s)).sum();
        let mark = text::columns(self.g.dots);
        let mut room = width;
        let mut line = String::new();
        for (i, (paint, s)) in spans.iter().enumerate() {
            let s = if i + 1 == spans.len() { s.trim_end() } else { s };
            let wide = text::columns(s);
            let all = whole <= width || wide + mark <= room;
            if all {
                self.put(&mut line, *paint, s);
                room = room.saturating_sub(wide);
            } else {
                let cut = text::cut(s, room, self.g.dots);
                self.put(&mut line, *paint, &cut);
                break;
            }
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn put(&self, line: &mut String, paint: Paint, s: &str) {
        match paint.sgr().filter(|_| self.style.color && !s.trim().is_empty()) {
            Some(code) => {
                let inked = s.trim_end();
                line.push_str("\x1b[");
                line.push_str(code);
                line.push('m');
                line.push_str(inked);
                line.push_str("\x1b[0m");
                line.push_str(&s[inked.len()..]);
            }
            None => line.push_str(s),
        }
    }

    /// A line of text, wrapped, with `first` before its first line and as many spaces before the others.
    pub fn hang(&mut self, first: &[StyledSpan], paint: Paint, body: &str) {
        let indent: usize = first.iter().map(|(_, s)| text::columns(s)).sum();
        let room = self.width().saturating_sub(indent).max(16);
        let lines = text::wrap(body, room, self.g.dots);
        for (i, l) in lines.into_iter().enumerate() {
            let mut spans = if i == 0 { first.to_vec() } else { vec![(Paint::Plain, " ".repeat(indent))] };
            spans.push((paint, l));
            self.line(&spans);
        }
    }

    fn gutter(name: &str) -> StyledSpan {
        (Paint::Dim, format!("  {name:<w$}", w = GUTTER - 2))
    }

    /// A named field of prose.
    pub fn field(&mut self, name: &str, body: &str) {
        self.painted_field(name, Paint::Plain, body);
    }

    /// A named field of prose in a colour.
    pub fn painted_field(&mut self, name: &str, paint: Paint, body: &str) {
        self.hang(&[ScreenText::gutter(name)], paint, body);
    }

    /// A named field made of lines; the name stands before the first.
    pub fn field_lines(&mut self, name: &str, lines: &[String]) {
        for (i, l) in lines.iter().enumerate() {
            self.field(if i == 0 { name } else { "" }, l);
        }
    }

    /// A named field with an aligned line, which is cut, not wrapped.
    pub fn field_row(&mut self, name: &str, row: Vec<StyledSpan>) {
        let mut spans = vec![ScreenText::gutter(name)];
        spans.extend(row);
        self.line(&spans);
    }

    /// Columns to the right of field names.
    pub fn field_width(&self) -> usize {
        self.width() - GUTTER
    }

    /// A line that heads a section.
    pub fn title(&mut self, s: &str) {
        self.line(&[(Paint::Title, s.to_owned())]);
    }
}
