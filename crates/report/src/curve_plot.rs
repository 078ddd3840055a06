//! Curves as lines of text, both axes logarithmic.

use crate::cell::{Cell, Unit};
use crate::form::Form;
use crate::text;
use crate::web::page::{Join, PageAxis, PageFigure, PageQuantity, PageScale};

const ROWS: usize = 12;
const NARROWEST: usize = 20;
const WIDEST: usize = 72;

/// The lines of a figure whose axes are both logarithmic at first: a sign for each of its points, other ones for those that are not
/// joined. Empty for other figures, and where there is nothing to draw.
pub(crate) fn lines(figure: &PageFigure, width: usize, form: &Form) -> Vec<String> {
    let (dot, point, axis) = if form.is_unicode() { ('·', '●', '┤') } else { ('.', 'o', '|') };
    let mut points: Vec<(f64, f64, char)> = Vec::new();
    for curve in &figure.curves {
        let sign = if curve.join == Join::Points { point } else { dot };
        points.extend(curve.x.iter().zip(&curve.y).map(|(x, y)| (*x, *y, sign)));
    }
    points.retain(|(x, y, _)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite());
    let ends = |value: fn(&(f64, f64, char)) -> f64| {
        points.iter().map(value).fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)))
    };
    let (x, y) = (ends(|p| p.0), ends(|p| p.1));
    let is_log = |axis: &PageAxis| axis.scales.first() == Some(&PageScale::Log);
    if x.0 >= x.1 || ![&figure.x, &figure.y].into_iter().all(is_log) {
        return Vec::new();
    }
    // What does not grow is a line in the middle, not noise over the whole height.
    let missing = (1.0 - (y.1 / y.0).ln()).max(0.0) / 2.0;
    let y = (y.0 / missing.exp(), y.1 * missing.exp());
    let (top, bottom) = (value(&figure.y, y.1, form), value(&figure.y, y.0, form));
    let gutter = text::columns(&top).max(text::columns(&bottom)) + 1;
    let columns = width.saturating_sub(gutter + 2).clamp(NARROWEST, WIDEST);
    let mut cells = vec![vec![' '; columns]; ROWS];
    let place = |v: f64, (low, high): (f64, f64), n: usize| {
        let share = (v / low).ln() / (high / low).ln();
        ((share * (n - 1) as f64).round() as usize).min(n - 1)
    };
    for (px, py, sign) in points {
        let row = cells.get_mut(ROWS - 1 - place(py, y, ROWS));
        if let Some(cell) = row.and_then(|row| row.get_mut(place(px, x, columns))) {
            *cell = sign;
        }
    }
    let label = |row: usize| match row {
        0 => top.as_str(),
        r if r == ROWS - 1 => bottom.as_str(),
        _ => "",
    };
    let line = |(i, row): (usize, &Vec<char>)| {
        let pad = " ".repeat(gutter.saturating_sub(text::columns(label(i)) + 1));
        format!("{pad}{} {axis}{}", label(i), row.iter().collect::<String>().trim_end())
    };
    let mut lines: Vec<String> = cells.iter().enumerate().map(line).collect();
    let (from, to) = (value(&figure.x, x.0, form), value(&figure.x, x.1, form));
    let between = (columns + 1).saturating_sub(text::columns(&from) + text::columns(&to));
    lines.push(format!("{}{from}{}{to}", " ".repeat(gutter), " ".repeat(between)));
    lines
}

/// A value of an axis.
fn value(axis: &PageAxis, value: f64, form: &Form) -> String {
    let unit = match axis.quantity {
        PageQuantity::Time => Unit::Time,
        PageQuantity::Count => Unit::Count,
        PageQuantity::Share => Unit::Share,
        PageQuantity::Ratio => Unit::Ratio,
    };
    // A point of a curve may be the rounded exponential of a logarithm.
    let whole = (value - value.round()).abs() < 1e-9 * value;
    Cell::of(unit, if whole { value.round() } else { value }).write(form)
}
