//! The line that says how far a measurement is; drawn while no program runs.

use crate::number;
use crate::number::TimeScale;
use crate::style::Style;
use crate::text;
use tarebench_core::base::units::Nanos;
use tarebench_core::documents::head::Id;

/// How much of a measurement is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    /// Executions, cells: so many of so many; of at most so many if it may end earlier.
    Count {
        done: u64,
        total: u64,
        /// The measurement may end earlier.
        adaptive: bool,
    },
    /// A recording of a given length.
    Time { done: Nanos, total: Nanos },
}

/// How far a measurement is: any kind of measurement gives what it knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressParts<'a> {
    pub id: Option<Id>,
    /// How much is done.
    pub done: Option<Done>,
    /// Mean and standard deviation so far of the program that comes next, ns.
    pub estimate: Option<(f64, Option<f64>)>,
    pub failures: u64,
    /// Time that the rest will take, ns.
    pub remaining: Option<f64>,
    /// What comes next: a program's label, a phase.
    pub next: &'a str,
}

/// Cells of the bar.
const BAR: usize = 16;

/// One line without its newline, at most `style.width` columns; parts are left out where it is narrow.
pub fn line(p: &ProgressParts<'_>, style: &Style) -> String {
    let width = style.width.max(10);
    let g = style.glyphs();
    let mut parts = Vec::new();
    parts.extend(p.done.map(|done| amount(done, style)));
    parts.extend(p.estimate.and_then(|(mean, sd)| estimate(mean, sd, style)));
    if p.failures > 0 {
        parts.push(format!("{} failed", p.failures));
    }
    parts.extend(p.remaining.and_then(number::time_left).map(|left| format!("{left} left")));
    let mut text = String::new();
    for part in parts {
        let longer = if text.is_empty() { part } else { format!("{text}  {part}") };
        if text.is_empty() || text::columns(&longer) <= width {
            text = longer;
        }
    }
    let with_bar = p.done.map(|done| format!("{} {text}", bar(share(done), style)));
    text = with_bar.filter(|t| text::columns(t) + 14 <= width).unwrap_or(text);
    let id = p.id.filter(|id| id.number > 0).map(|id| format!("{id}  {text}"));
    text = id.filter(|t| text::columns(t) <= width).unwrap_or(text);
    let between = if text.is_empty() { "" } else { "  " };
    let room = width.saturating_sub(text::columns(&text) + between.len());
    if room >= 6 && !p.next.is_empty() {
        let next = style.show(p.next);
        text = format!("{text}{between}{}", text::cut_middle(&next, room, g.dots));
    }
    text::cut(text.trim_end(), style.width.max(1), g.dots).into_owned()
}

fn amount(done: Done, style: &Style) -> String {
    match done {
        Done::Count { done, total, adaptive } => format!("{done}/{}{total}", if adaptive { "max " } else { "" }),
        Done::Time { done, total } => {
            let long = |t| number::long_time(t, style.unicode);
            format!("{} of {}", long(done), long(total))
        }
    }
}

fn share(done: Done) -> f64 {
    let (done, total) = match done {
        Done::Count { done, total, .. } => (done as f64, total as f64),
        Done::Time { done, total } => (done.as_f64(), total.as_f64()),
    };
    if total > 0.0 { done / total } else { 0.0 }
}

fn estimate(mean: f64, sd: Option<f64>, style: &Style) -> Option<String> {
    let scale = TimeScale::of(mean, sd, style.unit);
    let sd = sd.and_then(|s| scale.value(s)).map(|s| format!(" {} {s}", style.glyphs().plus_minus));
    Some(format!("{}{} {}", scale.value(mean)?, sd.unwrap_or_default(), scale.unit.sign(style.unicode)))
}

fn bar(share: f64, style: &Style) -> String {
    let full = ((share * BAR as f64).floor() as usize).min(BAR);
    let (on, off) = if style.unicode { ("━", "─") } else { ("#", ".") };
    format!("{}{}", on.repeat(full), off.repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::documents::head::DocumentKind;

    fn sample() -> ProgressParts<'static> {
        ProgressParts {
            done: Some(Done::Count { done: 7, total: 30, adaptive: false }),
            estimate: Some((812.4e6, Some(3.12e6))),
            remaining: Some(18.3e9),
            next: "sort big.txt",
            ..ProgressParts::default()
        }
    }

    fn at(p: &ProgressParts<'_>, width: usize) -> String {
        line(p, &Style { width, ..Style::default() })
    }

    #[test]
    fn widths() {
        assert_eq!(at(&sample(), 100), "━━━───────────── 7/30  812.4 ± 3.1 ms  19 s left  sort big.txt");
        assert_eq!(at(&sample(), 50), "7/30  812.4 ± 3.1 ms  19 s left  sort big.txt");
        assert_eq!(at(&sample(), 40), "7/30  812.4 ± 3.1 ms  19 s left  sor…txt");
        for width in 1..120 {
            assert!(text::columns(&at(&sample(), width)) <= width.max(10));
        }
    }

    #[test]
    fn every_kind_of_measurement() {
        let noise = ProgressParts {
            id: Some(Id { kind: DocumentKind::Noise, number: 3 }),
            remaining: Some(59.2e9),
            next: "phases of 1.00 ms",
            ..ProgressParts::default()
        };
        assert_eq!(at(&noise, 80), "n3  60 s left  phases of 1.00 ms");
        let calibrating = ProgressParts { next: "calibration", ..ProgressParts::default() };
        assert_eq!(at(&calibrating, 80), "calibration");
        let recording = ProgressParts {
            done: Some(Done::Time { done: Nanos(30_000_000_000), total: Nanos(120_000_000_000) }),
            remaining: Some(90e9),
            next: "a snapshot every 1.00 s",
            ..ProgressParts::default()
        };
        assert_eq!(at(&recording, 80), "━━━━──────────── 30.0 s of 2.0 min  90 s left  a snapshot every 1.00 s");
        let adaptive =
            ProgressParts { done: Some(Done::Count { done: 0, total: 0, adaptive: true }), ..ProgressParts::default() };
        assert_eq!(at(&adaptive, 20), "0/max 0");
        assert_eq!(at(&ProgressParts::default(), 80), "");
    }

    #[test]
    fn hostile_labels() {
        let p = ProgressParts { next: "\x1b[2J\n", ..sample() };
        assert!(!at(&p, 100).chars().any(char::is_control));
    }
}
