//! Two axes and what is between them.

use crate::svg::axis::{Axis, widest};
use crate::svg::drawing::{Anchor, Drawing, EDGE, INK, TEXT, TOP, fitted};

const GRID: &str = "#e4e4e4";
const HAIR: &str = " stroke-width=\"0.8\"";

/// The area of a plot, px, and its axes.
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
}

impl Frame {
    /// Fills a drawing's width; as high as it is wide if `height` is `None`.
    pub fn new(drawing: &Drawing, x: Axis, y: Axis, height: Option<f64>) -> Frame {
        let left = left(&y);
        let width = across(drawing, &y);
        Frame { left, top: TOP, width, height: height.unwrap_or(width), x, y }
    }

    /// Where a value of each axis is, px.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let part = |axis: &Axis, v: f64| (v - axis.range.low) / axis.range.span();
        (self.left + part(&self.x, x) * self.width, self.bottom() - part(&self.y, y) * self.height)
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Grid, ticks, labels and titles. Returns the top of the next element, px.
    pub fn draw(&self, d: &mut Drawing) -> f64 {
        let (left, right, bottom) = (self.left, self.right(), self.bottom());
        d.put("<g class=\"x-axis\">\n");
        for tick in &self.x.ticks {
            let x = self.place(tick.value, self.y.range.low).0;
            d.line((x, self.top), (x, bottom), GRID, HAIR);
            d.line((x, bottom), (x, bottom + 5.0), INK, HAIR);
            d.text(x, bottom + 18.0, Anchor::Middle, &tick.label, INK);
        }
        d.put("</g>\n<g class=\"y-axis\">\n");
        for tick in &self.y.ticks {
            let y = self.place(self.x.range.low, tick.value).1;
            d.line((left, y), (right, y), GRID, HAIR);
            d.line((left - 5.0, y), (left, y), INK, HAIR);
            d.text(left - 8.0, y + TEXT * 0.35, Anchor::End, &tick.label, INK);
        }
        d.put("</g>\n");
        d.line((left, self.top), (left, bottom), INK, HAIR);
        d.line((left, bottom), (right, bottom), INK, HAIR);
        let middle = (left + right) / 2.0;
        d.text(middle, bottom + 38.0, Anchor::Middle, &fitted(&self.x.title, self.width, TEXT), INK);
        let y_title = fitted(&self.y.title, self.height + 2.0 * EDGE, TEXT);
        d.upwards(EDGE + TEXT * 0.8, (self.top + bottom) / 2.0, &y_title);
        bottom + 48.0
    }
}

/// Room beside a vertical axis: its title, its labels and its ticks.
fn left(y: &Axis) -> f64 {
    (EDGE + TEXT + 8.0 + widest(&y.ticks) + 8.0).ceil()
}

/// What remains of a drawing's width beside this vertical axis, px.
pub fn across(drawing: &Drawing, y: &Axis) -> f64 {
    // Half a label may stand out on the right.
    drawing.width - left(y) - EDGE - 12.0
}
