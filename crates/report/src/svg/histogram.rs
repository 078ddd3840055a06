//! The histogram of a measure, stacked by class.

use crate::svg::about::About;
use crate::svg::axis::{Axis, AxisQuantity, Range, ticks, ticks_across};
use crate::svg::drawing::{Drawing, EDGE, escaped, push_px};
use crate::svg::frame::{Frame, across};
use crate::svg::marks::{LegendItem, colour, counted, legend};
use crate::web::page::{Class, PageMeasure};
use std::collections::BTreeMap;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// The most bins: more would be narrower than a pixel.
const MOST_BINS: u32 = 500;

/// Samples by class and bin.
type BinCounts = BTreeMap<usize, BTreeMap<usize, u32>>;

struct Bins {
    range: Range,
    number: usize,
    counts: BinCounts,
}

impl Bins {
    fn of(about: &About<'_>, measure: &PageMeasure) -> Option<Bins> {
        let range = Range::over(about.known(measure).map(|(_, _, value)| value))?;
        // Equal values stand in the middle of an otherwise empty histogram.
        let range = if range.span() > 0.0 { range } else { range.with_margin(0.0) };
        let number = measure.bins.clamp(1, MOST_BINS) as usize;
        let mut counts = BinCounts::new();
        for (_, class, value) in about.known(measure) {
            let part = (value - range.low) / range.span();
            let bin = ((part * number as f64) as usize).min(number - 1);
            *counts.entry(class).or_default().entry(bin).or_default() += 1;
        }
        Some(Bins { range, number, counts })
    }

    /// Samples in the fullest bin.
    fn most(&self) -> u32 {
        let mut all: BTreeMap<usize, u32> = BTreeMap::new();
        for (bin, count) in self.counts.values().flatten() {
            *all.entry(*bin).or_default() += count;
        }
        all.into_values().max().unwrap_or(0)
    }

    /// Where a bin begins.
    fn start(&self, bin: usize) -> f64 {
        self.range.low + self.range.span() * (bin as f64 / self.number as f64)
    }
}

/// The figure; `None` if there is no value.
pub(crate) fn figure(about: &About<'_>, measure: &PageMeasure) -> Option<String> {
    let bins = Bins::of(about, measure)?;
    let count = |of: &BTreeMap<usize, u32>| of.values().map(|n| *n as usize).sum::<usize>();
    let total: usize = bins.counts.values().map(count).sum();
    let below = format!("{}, histogram: {total} samples, {} bins", measure.title, bins.number);
    let mut d = Drawing::new(WIDTH, &about.plot.title, &below);
    let frame = frame(&d, measure, &bins);
    let under = frame.draw(&mut d);
    let classes = &about.plot.samples.classes;
    let mut items = Vec::new();
    let mut base = BTreeMap::new();
    for (class, of) in &bins.counts {
        let Some(class) = classes.get(*class) else { continue };
        bars(&mut d, &frame, &bins, class, of, &mut base);
        items.push(LegendItem::Bars(class, count(of)));
    }
    let bottom = legend(&mut d, &frame, &items, under);
    let description = format!(
        "{}. Histogram of {} of {total} samples in {} bins. {}",
        about.page, measure.title, bins.number, about.plot.note
    );
    Some(d.finish(bottom + EDGE, &format!("{}: {below}", about.plot.title), &description))
}

fn frame(d: &Drawing, measure: &PageMeasure, bins: &Bins) -> Frame {
    let x = bins.range.with_margin(0.02);
    let time = AxisQuantity::Time(x.unit());
    let y = Range { low: 0.0, high: f64::from(bins.most().max(1)) * 1.05 };
    let y = Axis { range: y, ticks: ticks(y, AxisQuantity::Count, 6), title: "samples".to_owned() };
    let ticks = ticks_across(x, time, across(d, &y), 8);
    Frame::new(d, Axis { range: x, ticks, title: time.title(measure.title) }, y, Some(HEIGHT))
}

/// Draws a class's bars on those below them, in `base`.
fn bars(
    d: &mut Drawing,
    frame: &Frame,
    bins: &Bins,
    class: &Class,
    of: &BTreeMap<usize, u32>,
    base: &mut BTreeMap<usize, u32>,
) {
    let mut path = String::new();
    for (bin, count) in of {
        let from = base.entry(*bin).or_default();
        let low = frame.place(bins.start(*bin), f64::from(*from));
        *from += count;
        let high = frame.place(bins.start(bin + 1), f64::from(*from));
        // Bars that are wide enough stand apart; an outline would hide low ones.
        let right = if high.0 - low.0 > 4.0 { high.0 - 0.6 } else { high.0 };
        for (command, value) in [("M", low.0), (" ", low.1), ("H", right), ("V", high.1), ("H", low.0)] {
            path.push_str(command);
            push_px(&mut path, value);
        }
        path.push('z');
    }
    let (fill, title) = (colour(class.role), escaped(&counted(class, of.values().map(|n| *n as usize).sum())));
    d.put(&format!(
        "<path class=\"bars\" fill=\"{fill}\" d=\"{path}\">\
         <title>{title}</title></path>\n"
    ));
}
