//! The dual-execution scatter plot, one figure for each zoom level.

use crate::svg::about::About;
use crate::svg::axis::{Axis, AxisQuantity, Range, count_across, ticks};
use crate::svg::drawing::{Drawing, EDGE, INK};
use crate::svg::frame::{Frame, across};
use crate::svg::marks::{LegendItem, Points, THIN, legend, points, rank};
use crate::web::page::{PageDual, PageLevel, PageMeasure};

const WIDTH: f64 = 600.0;
const MARGIN: f64 = 0.05;
const TICKS: u32 = 8;
/// One range serves both axes unless this many times either's own, which would leave much of the square empty.
const SHARED: f64 = 1.25;

/// A pair whose positions, values and classes are all known.
struct ScatterPair {
    x: f64,
    y: f64,
    class: usize,
    level: u32,
}

/// Zoom levels that have pairs, and their figures.
pub(crate) fn figures(about: &About<'_>, dual: &PageDual) -> Vec<(usize, String)> {
    let Some(measure) = about.plot.measures.iter().find(|m| m.id == dual.measure) else { return Vec::new() };
    let pairs = pairs(about, dual, measure);
    let figure = |(zoom, level)| Some((zoom, figure(about, measure, &pairs, zoom, level)?));
    dual.levels.iter().enumerate().filter_map(figure).collect()
}

fn pairs(about: &About<'_>, dual: &PageDual, measure: &PageMeasure) -> Vec<ScatterPair> {
    let half = |at: usize| Some(((*measure.values.get(at)?)? as f64, about.class(at)?));
    let positions = dual.odd.iter().zip(&dual.even).zip(&dual.level);
    let pair = |((odd, even), level): ((&usize, &usize), &u32)| {
        let ((x, odd), (y, even)) = (half(*odd)?, half(*even)?);
        // The class of the worse half.
        let class = if rank(even.1.role) < rank(odd.1.role) { even.0 } else { odd.0 };
        Some(ScatterPair { x, y, class, level: *level })
    };
    positions.filter_map(pair).collect()
}

fn figure(
    about: &About<'_>,
    measure: &PageMeasure,
    pairs: &[ScatterPair],
    zoom: usize,
    level: &PageLevel,
) -> Option<String> {
    let mut by_class = Points::new();
    for p in pairs.iter().filter(|p| p.level as usize >= zoom) {
        by_class.entry(p.class).or_default().push((p.x, p.y));
    }
    let shown = || by_class.values().flatten();
    let count = shown().count();
    let x = Range::over(shown().map(|p| p.0))?.and(ordered(level.x));
    let y = Range::over(shown().map(|p| p.1))?.and(ordered(level.y));
    let below = format!("Dual-execution scatter plot, {}: {count} pairs", level.title);
    let mut d = Drawing::new(WIDTH, &about.plot.title, &below);
    let frame = frame(&d, measure, x, y);
    let under = frame.draw(&mut d);
    let diagonal = diagonal(&mut d, &frame);
    let classes = &about.plot.samples.classes;
    points(&mut d, &frame, classes, &by_class);
    let mut items: Vec<LegendItem<'_>> =
        by_class.iter().filter_map(|(c, at)| Some(LegendItem::Points(classes.get(*c)?, at.len()))).collect();
    if diagonal {
        items.push(LegendItem::Thin("both halves alike".to_owned()));
    }
    let bottom = legend(&mut d, &frame, &items, under);
    let description = format!(
        "{}. {} of the odd (x) and the even (y) half of each pair of samples, {count} pairs. {}",
        about.page, measure.title, about.plot.note
    );
    Some(d.finish(bottom + EDGE, &format!("{}: {below}", about.plot.title), &description))
}

fn ordered(ends: (i64, i64)) -> Range {
    let (a, b) = (ends.0 as f64, ends.1 as f64);
    Range { low: a.min(b), high: a.max(b) }
}

/// Both axes have the same span, and, where the ranges are much the same, the same ends.
fn frame(d: &Drawing, measure: &PageMeasure, x: Range, y: Range) -> Frame {
    let (shared, span) = (x.and(y), x.span().max(y.span()));
    let (x, y) = if shared.span() <= SHARED * span || span <= 0.0 {
        (shared.with_margin(MARGIN), shared.with_margin(MARGIN))
    } else {
        let wide = |r: Range| r.of_span(span * (1.0 + 2.0 * MARGIN)).with_margin(0.0);
        (wide(x), wide(y))
    };
    let quantity = AxisQuantity::Time(x.and(y).unit());
    let axis = |range, count, half: &str| Axis {
        range,
        ticks: ticks(range, quantity, count),
        title: quantity.title(&format!("{} of the {half} sample", measure.title)),
    };
    // The same step on both: ticks that fit across also fit upwards.
    let count = count_across(x, quantity, across(d, &axis(y, TICKS, "even")), TICKS);
    let (x_axis, y_axis) = (axis(x, count, "odd"), axis(y, count, "even"));
    Frame::new(d, x_axis, y_axis, None)
}

/// The line on which both halves took the same time; whether it crosses the frame.
fn diagonal(d: &mut Drawing, frame: &Frame) -> bool {
    let from = frame.x.range.low.max(frame.y.range.low);
    let to = frame.x.range.high.min(frame.y.range.high);
    if from < to {
        d.line(frame.place(from, from), frame.place(to, to), INK, THIN);
    }
    from < to
}
