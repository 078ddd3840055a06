//! How a report is drawn.

use crate::hints::Hints;
use crate::number::TimeUnit;
use crate::text;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::name::Name;

/// The order of the rows of tables that compare programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// On the terminal: fastest first, but parameter scans as given; in markup exports: as given.
    #[default]
    Auto,
    /// As given on the command line.
    Command,
    /// Smallest mean first: of PT, or of ET if a program has no PT.
    MeanTime,
}

/// How a report is drawn on a terminal. Pure data: the caller looks at the terminal and the environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Columns; below 40 is drawn as 40.
    pub width: usize,
    /// Use colours (SGR sequences).
    pub color: bool,
    /// The terminal shows UTF-8; otherwise only ASCII is written.
    pub unicode: bool,
    /// Everything: all daemons and discards, and each program's own section, however many there are.
    pub full: bool,
    /// All entries of the account.
    pub account: bool,
    /// Unit of all times; chosen from the values if `None`.
    pub unit: Option<TimeUnit>,
    /// Order of the rows of tables that compare programs.
    pub sort: Sort,
    /// Time zone of dates.
    pub zone: TimeZone,
    /// The command that shows what a shorter form omits; shown where something was omitted.
    pub more: Option<String>,
    /// The words of hints.
    pub hints: Hints,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            width: 100,
            color: false,
            unicode: true,
            full: false,
            account: false,
            unit: None,
            sort: Sort::Auto,
            zone: TimeZone::UTC,
            more: None,
            hints: Hints::default(),
        }
    }
}

/// The signs of the output, in Unicode or ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    pub plus_minus: &'static str,
    pub dots: &'static str,
    pub absent: &'static str,
    pub minus: &'static str,
    pub times: &'static str,
    pub dot: &'static str,
    pub between: &'static str,
    pub held: &'static str,
    pub not_held: &'static str,
    pub unknown: &'static str,
    pub warning: &'static str,
}

/// Stands for an unknown value in documents and pages.
pub const ABSENT: &str = "–";

const UNICODE: Glyphs = Glyphs {
    plus_minus: "±",
    dots: "…",
    absent: ABSENT,
    minus: "−",
    times: "×",
    dot: "·",
    between: " · ",
    held: "✓",
    not_held: "✗",
    unknown: "?",
    warning: "!",
};

const ASCII: Glyphs = Glyphs {
    plus_minus: "+-",
    dots: "..",
    absent: "-",
    minus: "-",
    times: "x",
    dot: "*",
    between: ", ",
    held: "+",
    not_held: "x",
    unknown: "?",
    warning: "!",
};

impl Glyphs {
    pub fn is_unicode(&self) -> bool {
        self.minus == UNICODE.minus
    }
}

/// What a piece of text is, for colouring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    #[default]
    Plain,
    Strong,
    Dim,
    Good,
    Bad,
    Warn,
    Title,
}

impl Paint {
    pub fn sgr(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Strong => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Good => Some("32"),
            Paint::Bad => Some("31"),
            Paint::Warn => Some("33"),
            Paint::Title => Some("1;36"),
        }
    }
}

impl Style {
    pub fn glyphs(&self) -> Glyphs {
        if self.unicode { UNICODE } else { ASCII }
    }

    pub fn columns(&self) -> usize {
        self.width.max(40)
    }

    /// A string of the user or the machine.
    pub fn show(&self, s: &str) -> String {
        if self.unicode { text::escape(s).into_owned() } else { text::escape_ascii(s).into_owned() }
    }

    /// A name: as [`Style::show`] where it is text.
    pub fn show_name(&self, name: &Name) -> String {
        match std::str::from_utf8(name.as_bytes()) {
            Ok(text) => self.show(text),
            Err(_) => self.show(&name.to_string()),
        }
    }

    /// Prose, which may be broken at white space.
    pub fn prose(&self, s: &str) -> String {
        let flat: Vec<_> = s.split_whitespace().collect();
        let flat = flat.join(" ");
        let flat = text::escape(&flat);
        if self.unicode { flat.into_owned() } else { text::spelled_ascii(&flat) }
    }
}
