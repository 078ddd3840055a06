//! The line that tells how far a run is; drawn between samples.

use crate::kit::number;
use crate::kit::number::Scale;
use crate::kit::style::Style;
use crate::kit::text;

/// What is known so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress<'a> {
    /// Label of the program that comes next.
    pub label: &'a str,
    /// It is a warm-up.
    pub warmup: bool,
    /// Executions done, of all programs.
    pub done: u64,
    /// Executions to do; at most so many if `adaptive`.
    pub total: u64,
    /// The run may end earlier.
    pub adaptive: bool,
    /// Mean and standard deviation so far of that program's PT (or ET), ns.
    pub estimate: Option<(f64, Option<f64>)>,
    /// Time that the rest will take, ns.
    pub remaining: Option<f64>,
    /// Failures so far.
    pub failures: u64,
}

/// Cells of the bar.
const BAR: usize = 16;

/// One line without its newline, at most `style.width` columns; parts are left out where it is narrow.
pub fn line(p: &Progress<'_>, style: &Style) -> String {
    let width = style.width.max(10);
    let g = style.glyphs();
    let max = if p.adaptive { "max " } else { "" };
    let count = format!("{}/{max}{}", p.done, p.total);
    let mut parts = Vec::new();
    if let Some((mean, sd)) = p.estimate {
        let scale = Scale::of(mean, sd, style.unit);
        let sd = sd.and_then(|s| scale.value(s)).map(|s| format!(" {} {s}", g.plus_minus));
        if let Some(mean) = scale.value(mean) {
            let unit = scale.unit.sign(style.unicode);
            parts.push(format!("{mean}{} {unit}", sd.unwrap_or_default()));
        }
    }
    if p.failures > 0 {
        parts.push(format!("{} failed", p.failures));
    }
    if let Some(left) = p.remaining.and_then(duration) {
        parts.push(format!("{left} left"));
    }
    let mut text = count;
    for part in parts {
        let longer = format!("{text}  {part}");
        if text::columns(&longer) <= width {
            text = longer;
        }
    }
    let with_bar = format!("{} {text}", bar(p, style));
    if text::columns(&with_bar) + 14 <= width {
        text = with_bar;
    }
    let room = width.saturating_sub(text::columns(&text) + 2);
    if room >= 6 {
        let label = style.show(p.label);
        let what = if p.warmup { format!("warm-up of {label}") } else { label };
        text = format!("{text}  {}", text::cut_middle(&what, room, g.dots));
    }
    text::cut(&text, style.width.max(1), g.dots).into_owned()
}

fn bar(p: &Progress<'_>, style: &Style) -> String {
    let share = if p.total == 0 { 0.0 } else { p.done as f64 / p.total as f64 };
    let full = ((share * BAR as f64).floor() as usize).min(BAR);
    let (on, off) = if style.unicode { ("━", "─") } else { ("#", ".") };
    format!("{}{}", on.repeat(full), off.repeat(BAR - full))
}

/// `8 s`, `3 min 20 s`, `2 h 05 min`.
fn duration(ns: f64) -> Option<String> {
    if !ns.is_finite() || ns < 0.0 {
        return None;
    }
    let secs = (ns / 1e9).ceil();
    Some(match secs {
        s if s < 120.0 => format!("{} s", number::fixed(s, 0)?),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), ((s % 3600.0) / 60.0).floor()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Progress<'static> {
        Progress {
            label: "sort big.txt",
            warmup: false,
            done: 7,
            total: 30,
            adaptive: false,
            estimate: Some((812.4e6, Some(3.12e6))),
            remaining: Some(18.3e9),
            failures: 0,
        }
    }

    #[test]
    fn widths() {
        let at = |width| line(&sample(), &Style { width, ..Style::default() });
        assert_eq!(at(100), "━━━───────────── 7/30  812.4 ± 3.1 ms  19 s left  sort big.txt");
        assert_eq!(at(50), "7/30  812.4 ± 3.1 ms  19 s left  sort big.txt");
        assert_eq!(at(40), "7/30  812.4 ± 3.1 ms  19 s left  sor…txt");
        for width in 1..120 {
            assert!(text::columns(&at(width)) <= width.max(10));
        }
    }

    #[test]
    fn hostile_labels_and_durations() {
        let p = Progress { label: "\x1b[2J\n", ..sample() };
        assert!(!line(&p, &Style::default()).chars().any(char::is_control));
        assert_eq!(duration(200.5e9).as_deref(), Some("3 min 21 s"));
        assert_eq!(duration(7500e9).as_deref(), Some("2 h 05 min"));
        assert_eq!(duration(f64::NAN), None);
    }
}
