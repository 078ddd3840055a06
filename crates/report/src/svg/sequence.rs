//! The samples of a measure in their order.

use crate::number::TimeScale;
use crate::svg::about::About;
use crate::svg::axis::{Axis, AxisQuantity, Range, ticks, ticks_across};
use crate::svg::drawing::{Drawing, EDGE, INK};
use crate::svg::frame::{Frame, across};
use crate::svg::marks::{LegendItem, Points, dash, legend, points};
use crate::web::page::{PageLine, PageMeasure};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// More lines than this hide the samples.
const MOST_LINES: usize = 12;

/// The figure; `None` if no sample can be drawn.
pub(crate) fn figure(about: &About<'_>, measure: &PageMeasure) -> Option<String> {
    let samples = &about.plot.samples;
    let mut by_class = Points::new();
    for (i, class, value) in about.known(measure) {
        let Some(number) = samples.number.get(i) else { continue };
        by_class.entry(class).or_default().push((f64::from(*number), value));
    }
    let shown = || by_class.values().flatten();
    let count = shown().count();
    let lines: Vec<&PageLine> = measure.lines.iter().filter(|l| drawable(l)).take(MOST_LINES).collect();
    let x = Range::over(shown().map(|p| p.0))?;
    let y = Range::over(shown().map(|p| p.1).chain(lines.iter().flat_map(|l| [Some(l.value), l.end]).flatten()))?;
    let below = format!("{} by sample: {count} samples", measure.title);
    let mut d = Drawing::new(WIDTH, &about.plot.title, &below);
    let frame = frame(&d, measure, x, y);
    let under = frame.draw(&mut d);
    points(&mut d, &frame, &samples.classes, &by_class);
    let mut items: Vec<LegendItem<'_>> =
        by_class.iter().filter_map(|(c, at)| Some(LegendItem::Points(samples.classes.get(*c)?, at.len()))).collect();
    for (i, line) in lines.iter().enumerate() {
        let (from, to) = match line.end {
            Some(end) => (frame.place(x.low, line.value), frame.place(x.high, end)),
            None => {
                let y = frame.place(x.low, line.value).1;
                ((frame.left, y), (frame.right(), y))
            }
        };
        d.line(from, to, INK, &dash(i));
        items.push(LegendItem::Line(i, format!("{}: {}", line.title, level(line, &frame))));
    }
    // Between this sample and the one before it.
    let places = measure.places.iter().map(|p| (p, f64::from(p.number) - 0.5));
    let inside = places.filter(|(_, at)| (x.low..=x.high).contains(at)).take(MOST_LINES);
    for (i, (place, at)) in inside.enumerate() {
        let at = frame.place(at, y.low).0;
        d.line((at, frame.top), (at, frame.bottom()), INK, &dash(lines.len() + i));
        items.push(LegendItem::Line(lines.len() + i, format!("{}: sample {}", place.title, place.number)));
    }
    let bottom = legend(&mut d, &frame, &items, under);
    let description =
        format!("{}. {} of {count} samples by their number, from 1. {}", about.page, measure.title, about.plot.note);
    Some(d.finish(bottom + EDGE, &format!("{}: {below}", about.plot.title), &description))
}

/// A line far from any time that can be stored would leave no room for the samples.
fn drawable(line: &PageLine) -> bool {
    [Some(line.value), line.end].into_iter().flatten().all(|v| v.is_finite() && v.abs() <= 1e19)
}

/// A line's values in the axis's unit, with as many digits as can be seen on it.
fn level(line: &PageLine, frame: &Frame) -> String {
    let range = frame.y.range;
    let text = |value: f64| {
        let scale = TimeScale::of(value, Some(range.span() * 0.01), Some(range.unit()));
        format!("{} {}", scale.value(value).unwrap_or_default(), scale.unit)
    };
    line.end.map_or_else(|| text(line.value), |end| format!("{} to {}", text(line.value), text(end)))
}

fn frame(d: &Drawing, measure: &PageMeasure, x: Range, y: Range) -> Frame {
    // Sample numbers are whole, so the smallest margin is a half.
    let x = Range { low: x.low - 0.5, high: x.high + 0.5 }.with_margin(0.01);
    let y = y.with_margin(0.06);
    let time = AxisQuantity::Time(y.unit());
    let y = Axis { range: y, ticks: ticks(y, time, 6), title: time.title(measure.title) };
    let ticks = ticks_across(x, AxisQuantity::Count, across(d, &y), 8);
    let numbers = ticks.into_iter().filter(|t| t.value >= 1.0).collect();
    Frame::new(d, Axis { range: x, ticks: numbers, title: "sample".to_owned() }, y, Some(HEIGHT))
}
