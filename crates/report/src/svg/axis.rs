//! Ranges of values, units and round ticks.

use crate::number::{TimeUnit, fixed};
use crate::svg::drawing::{TEXT, text_width};

/// From the smallest to the largest value; never reversed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The range of all values; `None` if there is none.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Range> {
        let values = values.into_iter().filter(|v| v.is_finite());
        values.fold(None, |range: Option<Range>, v| {
            let r = range.unwrap_or(Range { low: v, high: v });
            Some(Range { low: r.low.min(v), high: r.high.max(v) })
        })
    }

    /// The range that includes both.
    pub fn and(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn span(self) -> f64 {
        self.high - self.low
    }

    fn largest(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Widened to this span (never narrowed), around the same middle.
    pub fn of_span(self, span: f64) -> Range {
        let more = ((span - self.span()) / 2.0).max(0.0);
        Range { low: self.low - more, high: self.high + more }
    }

    /// With a margin, so that it is never empty. If nothing is below zero, neither is the margin.
    pub fn with_margin(self, share: f64) -> Range {
        let largest = self.largest();
        // Closer values could not be distinguished by their ticks.
        let none = self.span() <= largest * 1e-12;
        let margin = if none { (largest * 0.01).max(1.0) } else { self.span() * share };
        let low = self.low - margin;
        Range { low: if self.low >= 0.0 { low.max(0.0) } else { low }, high: self.high + margin }
    }

    /// The unit for times in this range.
    pub fn unit(self) -> TimeUnit {
        TimeUnit::of(self.largest())
    }
}

/// A mark on an axis: the value, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisTick {
    pub value: f64,
    pub label: String,
}

/// An axis: what it spans, its ticks, and what it is.
#[derive(Clone, Debug)]
pub struct Axis {
    pub range: Range,
    pub ticks: Vec<AxisTick>,
    pub title: String,
}

/// What an axis shows: its step is at least one nanosecond, one whole number, or a millionth of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisQuantity {
    Time(TimeUnit),
    Count,
    Percent,
}

impl AxisQuantity {
    fn size(self) -> f64 {
        match self {
            AxisQuantity::Time(unit) => unit.nanos(),
            AxisQuantity::Count | AxisQuantity::Percent => 1.0,
        }
    }

    fn finest(self) -> i32 {
        match self {
            AxisQuantity::Time(unit) => unit.finest() as i32,
            AxisQuantity::Count => 0,
            AxisQuantity::Percent => 6,
        }
    }

    /// A title with the unit.
    pub fn title(self, what: &str) -> String {
        match self {
            AxisQuantity::Time(unit) => format!("{what} [{}]", unit.sign(true)),
            AxisQuantity::Count => what.to_owned(),
            AxisQuantity::Percent => format!("{what} [%]"),
        }
    }
}

/// Round ticks, about `wanted` of them: 1, 2 or 5 times a power of ten apart.
pub fn ticks(range: Range, quantity: AxisQuantity, wanted: u32) -> Vec<AxisTick> {
    let (low, high) = (range.low / quantity.size(), range.high / quantity.size());
    let raw = (high - low) / f64::from(wanted.max(1));
    if !raw.is_finite() || raw <= 0.0 {
        return Vec::new();
    }
    let (digit, power) = step(raw, -quantity.finest());
    // Multiples are divided by a power of ten, not multiplied with its inexact inverse.
    let value = |i: i64| {
        let whole = i as f64 * digit;
        if power < 0 { whole / 10f64.powi(-power) } else { whole * 10f64.powi(power) }
    };
    let apart = digit * 10f64.powi(power);
    // A little slack keeps a tick at the very end.
    let (first, last) = ((low / apart - 1e-6).ceil() as i64, (high / apart + 1e-6).floor() as i64);
    let decimals = usize::try_from(-power).unwrap_or(0);
    (first..=last.min(first.saturating_add(100)))
        .filter_map(|i| {
            let label = fixed(value(i), decimals)?.replace('-', "−");
            Some(AxisTick { value: value(i) * quantity.size(), label })
        })
        .collect()
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `raw`.
fn step(raw: f64, least: i32) -> (f64, i32) {
    let power = raw.log10().floor() as i32;
    let digit = raw / 10f64.powi(power);
    let (digit, power) = match digit {
        d if d <= 1.0 => (1.0, power),
        d if d <= 2.0 => (2.0, power),
        d if d <= 5.0 => (5.0, power),
        _ => (1.0, power + 1),
    };
    if power < least { (1.0, least) } else { (digit, power) }
}

/// As many ticks, up to `most`, as fit on a horizontal axis of `room` px.
pub fn ticks_across(range: Range, quantity: AxisQuantity, room: f64, most: u32) -> Vec<AxisTick> {
    ticks(range, quantity, count_across(range, quantity, room, most))
}

/// How many ticks [`ticks_across`] requests.
pub fn count_across(range: Range, quantity: AxisQuantity, room: f64, most: u32) -> u32 {
    let fits = |wanted: &u32| {
        let t = ticks(range, quantity, *wanted);
        (widest(&t) + 18.0) * t.len() as f64 <= room * 1.1
    };
    (2..=most).rev().find(fits).unwrap_or(1)
}

/// Width of the widest label, px.
pub fn widest(ticks: &[AxisTick]) -> f64 {
    ticks.iter().map(|t| text_width(&t.label, TEXT)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, quantity: AxisQuantity, wanted: u32) -> String {
        let all = ticks(Range { low, high }, quantity, wanted);
        all.iter().map(|t| t.label.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round() {
        let ms = AxisQuantity::Time(TimeUnit::Millisecond);
        assert_eq!(labels(0.0, 1e7, ms, 5), "0 2 4 6 8 10");
        assert_eq!(labels(812.35e6, 812.62e6, ms, 5), "812.4 812.5 812.6");
        assert_eq!(labels(-1e6, 1e6, ms, 4), "−1.0 −0.5 0.0 0.5 1.0");
        assert_eq!(labels(0.0, 3.4, AxisQuantity::Time(TimeUnit::Nanosecond), 9), "0 1 2 3");
        assert_eq!(labels(0.0, 2.2, AxisQuantity::Count, 5), "0 1 2");
        assert_eq!(
            labels(999_999_999.6, 1_000_000_001.2, AxisQuantity::Time(TimeUnit::Second), 5),
            "1.000000000 1.000000001"
        );
        assert_eq!(labels(3.0, 3.0, ms, 5), "");
    }

    #[test]
    fn ranges_are_never_empty() {
        assert_eq!(Range::over([f64::NAN]), None);
        let all = [(0.0, 0.0), (1e9, 1e9), (-5.0, -5.0), (9e18, 9.2e18), (-9.2e18, 9.2e18), (1e9, 1e9 + 1.0)];
        for (low, high) in all {
            let r = Range { low, high }.with_margin(0.05);
            assert!(r.low < r.high && r.low <= low && r.high >= high, "{r:?}");
            let t = ticks(r, AxisQuantity::Time(r.unit()), 6);
            assert!((1..9).contains(&t.len()), "{t:?}");
        }
    }
}
