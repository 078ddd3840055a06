//! How cells become text in one output: its signs, its units, and what it does with foreign text.

use crate::markup;
use crate::markup::Markup;
use crate::number::TimeUnit;
use crate::style::{Glyphs, Style};
use crate::text;

/// Where text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Terminal {
        unicode: bool,
    },
    Page,
    /// Sentences of a document.
    Markup(Markup),
    /// Cells of a table in a document.
    MarkupTable(Markup),
}

/// The rules of one output.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    medium: Medium,
    /// Chosen for all times.
    unit: Option<TimeUnit>,
    /// Columns of foreign text, beyond which it is cut in its middle, if it may be cut.
    most: Option<usize>,
}

impl Form {
    pub fn terminal(style: &Style) -> Form {
        let medium = Medium::Terminal { unicode: style.unicode };
        Form { medium, unit: style.unit, most: None }
    }

    pub fn page() -> Form {
        Form { medium: Medium::Page, unit: None, most: None }
    }

    /// Sentences of a document.
    pub fn markup(markup: Markup) -> Form {
        Form { medium: Medium::Markup(markup), unit: None, most: None }
    }

    /// The same for the cells of its tables.
    pub fn in_table(self) -> Form {
        match self.medium {
            Medium::Markup(markup) => Form { medium: Medium::MarkupTable(markup), ..self },
            Medium::Terminal { .. } | Medium::Page | Medium::MarkupTable(_) => self,
        }
    }

    /// With foreign text cut to so many columns, if any.
    pub fn cut_to(self, most: impl Into<Option<usize>>) -> Form {
        Form { most: most.into(), ..self }
    }

    /// With all times in this unit.
    pub fn in_unit(self, unit: Option<TimeUnit>) -> Form {
        Form { unit, ..self }
    }

    pub fn unit(&self) -> Option<TimeUnit> {
        self.unit
    }

    pub fn is_unicode(&self) -> bool {
        self.medium != Medium::Terminal { unicode: false }
    }

    pub fn glyphs(&self) -> Glyphs {
        Style { unicode: self.is_unicode(), ..Style::default() }.glyphs()
    }

    /// tare's own words.
    pub fn prose(&self, words: &str) -> String {
        match self.medium {
            Medium::Terminal { unicode: true } | Medium::Page => text::escape(words).into_owned(),
            Medium::Terminal { unicode: false } => text::spelled_ascii(&text::escape(words)),
            Medium::Markup(markup) | Medium::MarkupTable(markup) => markup::own(markup, words),
        }
    }

    /// Text of the user or the machine.
    pub fn foreign(&self, foreign: &str) -> String {
        let shown = match self.medium {
            Medium::Terminal { unicode: false } => text::escape_ascii(foreign),
            _ => text::escape(foreign),
        };
        let shown = match self.most {
            Some(most) => text::cut_middle(&shown, most, self.glyphs().dots),
            None => shown,
        };
        match self.medium {
            Medium::Terminal { .. } | Medium::Page => shown.into_owned(),
            Medium::Markup(markup) => markup::code(markup, &shown),
            Medium::MarkupTable(markup) => markup::code_in_table(markup, &shown),
        }
    }

    /// A number with this output's minus sign, and a plus sign where one is asked for; zero has none.
    pub fn signed(&self, number: &str, plus: bool) -> String {
        match number.strip_prefix('-') {
            Some(size) => format!("{}{size}", self.glyphs().minus),
            None if plus && number.bytes().any(|b| (b'1'..=b'9').contains(&b)) => format!("+{number}"),
            None => number.to_owned(),
        }
    }
}
