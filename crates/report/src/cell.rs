//! What stands in a table or a sentence: a value with its unit, never its text. A writer makes the text.

use crate::form::Form;
use crate::number;
use crate::number::TimeScale;
use crate::style::Paint;
use crate::words::capital;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::fmt;
use tarebench_core::base::date;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::statistics::intervals::{Interval, NoInterval};

/// What a figure is of, and with it how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// ns, written in the unit in which it has one to three digits: `12.3 ms`.
    Time,
    /// ns, of what is too short to be timed alone (a mean of many executions, a share of one): may have decimals, `0.250 ns`.
    FineTime,
    /// ns, of a time that may be long: `3.2 h`.
    LongTime,
    /// ns, of a time that somebody chose: `1.5 µs`, with no digit more than it has.
    ChosenTime,
    /// A time divided by another one: `1.023`.
    Ratio,
    /// A ratio, written as a change: `+2.3 %`.
    Change,
    /// From 0 to 1: `12 %`.
    Share,
    /// From -1 to 1, with two decimals: `0.35`.
    Correlation,
    /// A share that somebody chose: `2 %`, with no digit more than it has.
    Limit,
    /// A probability: in per cent, or as a power of ten if it is small.
    Chance,
    /// How many, on average: `3`, `3.1`.
    Count,
    /// Of memory: `12.3 MiB`.
    Bytes,
    /// A number that somebody else wrote: with no digit more than it has.
    Exact,
    /// Of no unit, or of one that is not known: what a program prints.
    Plain,
}

/// A number with what is known of its spread, all in the base unit (ns, bytes, 1 for shares and ratios).
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub unit: Unit,
    pub value: f64,
    pub spread: Option<f64>,
    /// Of 95%, or why there is none.
    pub interval: Option<Result<Interval, NoInterval>>,
    /// By how much it may be off, where no spread or interval stands beside it: justifies its digits.
    pub digits: Option<f64>,
}

impl Figure {
    pub fn new(unit: Unit, value: f64) -> Figure {
        Figure { unit, value, spread: None, interval: None, digits: None }
    }

    /// With its interval, or the reason why there is none.
    pub fn with_interval(self, interval: &Result<Interval, NoInterval>) -> Figure {
        Figure { interval: Some(interval.clone()), ..self }
    }

    pub fn with_spread(self, spread: Option<f64>) -> Figure {
        Figure { spread, ..self }
    }

    /// The interval, if it has one whose ends are numbers.
    pub fn bounds(&self) -> Option<&Interval> {
        let interval = self.interval.as_ref()?.as_ref().ok()?;
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// What its digits are justified by.
    fn uncertainty(&self) -> Option<f64> {
        self.spread.or_else(|| self.bounds().map(Interval::half_width)).or(self.digits)
    }
}

/// What a cell holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CellContent {
    /// There is nothing to say.
    #[default]
    Empty,
    /// It is not known; why, if that is said elsewhere only: may be empty.
    Absent(String),
    /// tare's own words.
    Text(String),
    /// Text of the user or the machine: a name, a command, what a program printed.
    Foreign(String),
    Figure(Figure),
    /// A moment, ns since 1970, as it is written in a time zone.
    Date(Nanos, TimeZone),
    /// Several, one after the other: a sentence.
    Words(Vec<Cell>),
}

/// A value, and what it means for the reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub content: CellContent,
    pub paint: Paint,
}

impl Cell {
    fn new(content: CellContent) -> Cell {
        Cell { content, paint: Paint::Plain }
    }

    pub fn empty() -> Cell {
        Cell::default()
    }

    pub fn absent() -> Cell {
        Cell::new(CellContent::Absent(String::new()))
    }

    /// Not known, for a reason.
    pub fn absent_as(why: impl Into<String>) -> Cell {
        Cell::new(CellContent::Absent(why.into()))
    }

    pub fn text(text: impl Into<String>) -> Cell {
        Cell::new(CellContent::Text(text.into()))
    }

    pub fn foreign(text: impl Into<String>) -> Cell {
        Cell::new(CellContent::Foreign(text.into()))
    }

    pub fn figure(figure: Figure) -> Cell {
        Cell::new(CellContent::Figure(figure))
    }

    pub fn date(at: Nanos, zone: &TimeZone) -> Cell {
        Cell::new(CellContent::Date(at, zone.clone()))
    }

    /// Of this unit; absent without a value.
    pub fn of(unit: Unit, value: impl Into<Option<f64>>) -> Cell {
        value.into().map_or_else(Cell::absent, |value| Cell::figure(Figure::new(unit, value)))
    }

    /// A reading of this unit; absent with its reason.
    pub fn reading(unit: Unit, reading: &Reading<f64>) -> Cell {
        match reading {
            Reading::Value(value) => Cell::of(unit, *value),
            Reading::Absent(why) => Cell::absent_as(why.to_string()),
        }
    }

    /// In ns.
    pub fn time(ns: impl Into<Option<f64>>) -> Cell {
        Cell::of(Unit::Time, ns)
    }

    pub fn count(n: impl Into<f64>) -> Cell {
        Cell::of(Unit::Count, n.into())
    }

    /// A sentence of several pieces.
    pub fn words(pieces: impl IntoIterator<Item = Cell>) -> Cell {
        Cell::new(CellContent::Words(pieces.into_iter().collect()))
    }

    /// This one with another piece after it.
    pub fn and(self, next: impl Into<Cell>) -> Cell {
        let paint = self.paint;
        let mut pieces = match self.content {
            CellContent::Words(pieces) => pieces,
            CellContent::Empty => Vec::new(),
            content => vec![Cell { content, paint }],
        };
        pieces.push(next.into());
        Cell { content: CellContent::Words(pieces), paint }
    }

    pub fn paint(self, paint: Paint) -> Cell {
        Cell { paint, ..self }
    }

    /// This sentence and another one after it.
    pub fn and_sentence(self, next: Cell) -> Cell {
        match (self.is_empty(), next.is_empty()) {
            (true, _) => next,
            (false, true) => self,
            (false, false) => self.and(" ").and(next),
        }
    }

    /// With a capital letter at its beginning, if that is of tare's own words.
    pub(crate) fn capitalised(mut self) -> Cell {
        let first = match &mut self.content {
            CellContent::Words(pieces) => pieces.first_mut().map(|piece| &mut piece.content),
            content => Some(content),
        };
        if let Some(CellContent::Text(text)) = first {
            *text = capital(text);
        }
        self
    }

    /// With a period at its end, unless its last words have one.
    pub(crate) fn with_period(self) -> Cell {
        let last = match &self.content {
            CellContent::Words(pieces) => pieces.last().map(|piece| &piece.content),
            content => Some(content),
        };
        match last {
            Some(CellContent::Text(text)) if text.ends_with(['.', '!', '?']) => self,
            _ if self.is_empty() => self,
            _ => self.and("."),
        }
    }

    pub fn is_empty(&self) -> bool {
        match &self.content {
            CellContent::Empty => true,
            CellContent::Text(text) | CellContent::Foreign(text) => text.is_empty(),
            CellContent::Words(pieces) => pieces.iter().all(Cell::is_empty),
            CellContent::Absent(_) | CellContent::Figure(_) | CellContent::Date(..) => false,
        }
    }

    /// The number that tables are sorted by and that CSV has.
    pub fn value(&self) -> Option<f64> {
        match &self.content {
            CellContent::Figure(figure) => Some(figure.value).filter(|v| v.is_finite()),
            CellContent::Date(at, _) => Some(at.as_f64()),
            CellContent::Words(pieces) => match pieces.as_slice() {
                [first, ..] => first.value(),
                [] => None,
            },
            CellContent::Empty | CellContent::Absent(_) | CellContent::Text(_) | CellContent::Foreign(_) => None,
        }
    }

    pub fn as_figure(&self) -> Option<&Figure> {
        match &self.content {
            CellContent::Figure(figure) => Some(figure),
            _ => None,
        }
    }

    /// As it is read, with its interval.
    pub fn write(&self, form: &Form) -> String {
        self.write_in(form, None)
    }

    /// As the page and figures show it.
    pub fn plain(&self) -> String {
        self.write(&Form::page())
    }

    /// As [`Cell::write`]; with a unit, times are in it, and don't name it.
    pub(crate) fn write_in(&self, form: &Form, unit: Option<number::TimeUnit>) -> String {
        let parts = self.parts(form, unit);
        [Some(parts.text), parts.spread, parts.interval].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// As it is read, in its parts. With a unit, times are in it, and don't name it.
    pub(crate) fn parts(&self, form: &Form, unit: Option<number::TimeUnit>) -> CellParts {
        CellParts::from(match &self.content {
            CellContent::Empty => String::new(),
            CellContent::Absent(_) => form.glyphs().absent.to_owned(),
            CellContent::Text(text) => form.prose(text),
            CellContent::Foreign(text) => form.foreign(text),
            CellContent::Figure(figure) => return figure.parts(form, unit),
            CellContent::Date(at, zone) => date::date(*at, zone),
            CellContent::Words(pieces) => pieces.iter().map(|piece| piece.write(form)).collect(),
        })
    }
}

/// What tables align: `4.1 ms`, `± 0.3`, `[3.8, 4.4]`.
pub(crate) struct CellParts {
    pub text: String,
    pub spread: Option<String>,
    pub interval: Option<String>,
}

impl From<String> for CellParts {
    fn from(text: String) -> CellParts {
        CellParts { text, spread: None, interval: None }
    }
}

impl Figure {
    fn parts(&self, form: &Form, unit: Option<number::TimeUnit>) -> CellParts {
        let g = form.glyphs();
        let absent = || g.absent.to_owned();
        let scale = self.scale(form, unit);
        let number = |v: f64| scale.number(v).map(|t| form.signed(&t, self.unit == Unit::Change));
        let (value, suffix) = (number(self.value), scale.suffix(form, unit.is_some()));
        let Some(mut text) = value else { return absent().into() };
        // No time at all has no unit.
        let is_time = matches!(self.unit, Unit::Time | Unit::FineTime);
        if !(is_time && self.value == 0.0 && unit.or(form.unit()).is_none()) {
            text.push_str(&suffix);
        } else if self.spread.is_none() {
            "0".clone_into(&mut text);
        }
        let end = |v: f64| number(v).unwrap_or_else(absent);
        let spread = self.spread.and_then(|s| scale.spread(s)).map(|spread| format!("{} {spread}", g.plus_minus));
        CellParts { text, spread, interval: self.bounds().map(|i| format!("[{}, {}]", end(i.low), end(i.high))) }
    }

    /// As it is read, without its interval; and the interval, or why there is none.
    pub fn texts(&self, form: &Form) -> (String, String) {
        let parts = self.parts(form, None);
        let text = [Some(parts.text), parts.spread].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let why = || match &self.interval {
            Some(Err(why)) => why.to_string(),
            Some(Ok(_)) | None => String::new(),
        };
        (text, parts.interval.unwrap_or_else(why))
    }

    fn scale(&self, form: &Form, unit: Option<number::TimeUnit>) -> Scale {
        match self.unit {
            Unit::Time => Scale::Time(TimeScale::of(self.value, self.uncertainty(), unit.or(form.unit()))),
            Unit::FineTime => {
                let unit = unit.or(form.unit());
                match self.value.abs() {
                    // Coefficients of what grows fast are that small.
                    size if unit.is_none() && size > 0.0 && size < 0.01 => Scale::Own(self.unit, form.is_unicode()),
                    _ => Scale::Time(TimeScale::fine(self.value, self.uncertainty(), unit)),
                }
            }
            Unit::LongTime
            | Unit::ChosenTime
            | Unit::Limit
            | Unit::Chance
            | Unit::Count
            | Unit::Exact
            | Unit::Bytes => Scale::Own(self.unit, form.is_unicode()),
            Unit::Ratio => Scale::Decimals(number::ratio_decimals(self.value, self.uncertainty())),
            Unit::Correlation => Scale::Decimals(2),
            Unit::Change => {
                let half = self.uncertainty().map(|half| half * 100.0).filter(|half| *half > 0.0);
                Scale::Change(half.map_or(1, |half| number::decimals_for(half, 1).clamp(1, 4)))
            }
            Unit::Share => {
                let half = self.uncertainty().map(|half| half * 100.0).filter(|half| *half > 0.0);
                let least = number::decimals_for(self.value * 100.0, 2);
                Scale::Percent(half.map_or(least, |half| number::decimals_for(half, 1).max(least)).min(4))
            }
            Unit::Plain => {
                let bounds = self.bounds().map_or(0.0, |i| i.low.abs().max(i.high.abs()));
                Scale::Plain(number::PlainScale::new(self.value, self.uncertainty(), self.value.abs().max(bounds)))
            }
        }
    }
}

/// How the numbers of one figure are written.
enum Scale {
    Time(TimeScale),
    Decimals(usize),
    /// Of a ratio as a signed per cent.
    Change(usize),
    Percent(usize),
    Plain(number::PlainScale),
    /// Each number by itself, with its unit; with Unicode or without.
    Own(Unit, bool),
}

impl Scale {
    fn number(&self, value: f64) -> Option<String> {
        match self {
            Scale::Time(scale) => scale.value(value),
            Scale::Decimals(decimals) => number::fixed(value, *decimals),
            Scale::Change(decimals) => number::percent_of_change(value, *decimals),
            Scale::Percent(decimals) => number::fixed(value * 100.0, *decimals),
            Scale::Plain(scale) => Some(scale.value(value)),
            Scale::Own(..) if !value.is_finite() => None,
            Scale::Own(unit, unicode) => match unit {
                Unit::LongTime => Some(number::long_time(Nanos(value as i64), *unicode)),
                Unit::ChosenTime => Some(number::exact(Nanos(value as i64), *unicode)),
                Unit::Limit => Some(number::limit(value)),
                Unit::Chance => Some(number::chance(value)),
                Unit::Bytes => Some(number::bytes(value.max(0.0) as u64)),
                Unit::FineTime => Some(format!("{value:.2e} ns")),
                Unit::Exact => Some(value.to_string()),
                Unit::Count
                | Unit::Time
                | Unit::Ratio
                | Unit::Correlation
                | Unit::Change
                | Unit::Share
                | Unit::Plain => number::count(value),
            },
        }
    }

    fn spread(&self, value: f64) -> Option<String> {
        match self {
            Scale::Change(decimals) => number::fixed(value * 100.0, *decimals),
            _ => self.number(value),
        }
    }

    fn suffix(&self, form: &Form, shared: bool) -> String {
        match self {
            Scale::Time(scale) if !shared => format!(" {}", scale.unit.sign(form.is_unicode())),
            Scale::Change(_) | Scale::Percent(_) => " %".to_owned(),
            Scale::Time(_) | Scale::Decimals(_) | Scale::Plain(_) | Scale::Own(..) => String::new(),
        }
    }
}

impl fmt::Display for Cell {
    /// As [`Cell::plain`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.plain())
    }
}

impl PartialEq<&str> for Cell {
    /// Whether it reads so.
    fn eq(&self, text: &&str) -> bool {
        self.plain() == *text
    }
}

impl PartialEq<String> for Cell {
    /// Whether it reads so.
    fn eq(&self, text: &String) -> bool {
        self.plain() == *text
    }
}

impl From<&str> for Cell {
    /// tare's own words.
    fn from(text: &str) -> Cell {
        Cell::text(text)
    }
}

impl From<String> for Cell {
    /// tare's own words.
    fn from(text: String) -> Cell {
        Cell::text(text)
    }
}

impl From<Figure> for Cell {
    fn from(figure: Figure) -> Cell {
        Cell::figure(figure)
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Cell {
        cell.map_or_else(Cell::absent, Into::into)
    }
}

impl Serialize for Cell {
    /// As the page shows it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.plain())
    }
}

impl Serialize for Figure {
    /// As the page has it: numbers to draw, texts to read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (text, interval) = self.texts(&Form::page());
        let mut estimate = serializer.serialize_struct("Estimate", 5)?;
        estimate.serialize_field("value", &self.value)?;
        estimate.serialize_field("low", &self.bounds().map(|i| i.low))?;
        estimate.serialize_field("high", &self.bounds().map(|i| i.high))?;
        estimate.serialize_field("text", &text)?;
        estimate.serialize_field("interval", &interval)?;
        estimate.end()
    }
}
