//! Times or counts over sizes as lines of text, both on logarithmic scales.

use crate::fit::said;
use tarebench_core::fit::GrowthMeasure;
use tarebench_core::statistics::complexity::Complexity;
use tarebench_report::text;

const ROWS: usize = 12;
const NARROWEST: usize = 20;
const WIDEST: usize = 72;

/// The lines of the plot: `o` measured means, the curve of the simplest class between them. Empty where there is nothing to draw.
pub(crate) fn lines(c: &Complexity, measure: GrowthMeasure, width: usize, unicode: bool) -> Vec<String> {
    let curve = || c.curve.iter().map(|p| (p.size, p.time));
    let measured = || c.points.iter().map(|p| (p.size, p.mean));
    let drawable = |(x, y): &(f64, f64)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite();
    let all: Vec<(f64, f64)> = curve().chain(measured()).filter(drawable).map(|(x, y)| (x.ln(), y.ln())).collect();
    let ends = |values: &dyn Fn(&(f64, f64)) -> f64| {
        let low = all.iter().map(values).fold(f64::INFINITY, f64::min);
        let high = all.iter().map(values).fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let (x, mut y) = (ends(&|p| p.0), ends(&|p| p.1));
    if all.is_empty() || x.1 <= x.0 {
        return Vec::new();
    }
    // What does not grow is a line in the middle, not noise over the whole height.
    let missing = (1.0 - (y.1 - y.0)).max(0.0) / 2.0;
    y = (y.0 - missing, y.1 + missing);
    let value = |ln: f64| said::amount(ln.exp(), measure, unicode);
    let (top, bottom) = (value(y.1), value(y.0));
    let gutter = text::columns(&top).max(text::columns(&bottom)) + 1;
    let columns = width.saturating_sub(gutter + 2).clamp(NARROWEST, WIDEST);
    let mut cells = vec![vec![' '; columns]; ROWS];
    let mut put = |(px, py): (f64, f64), sign: char| {
        let place =
            |v: f64, (low, high): (f64, f64), n: usize| ((v - low) / (high - low) * (n - 1) as f64).round() as usize;
        let row = ROWS - 1 - place(py.ln(), y, ROWS).min(ROWS - 1);
        let column = place(px.ln(), x, columns).min(columns - 1);
        if let Some(cell) = cells.get_mut(row).and_then(|r| r.get_mut(column)) {
            *cell = sign;
        }
    };
    let (dot, point) = if unicode { ('·', '●') } else { ('.', 'o') };
    curve().filter(drawable).for_each(|p| put(p, dot));
    measured().filter(drawable).for_each(|p| put(p, point));
    let axis = if unicode { '┤' } else { '|' };
    let label = |row: usize| match row {
        0 => top.as_str(),
        r if r == ROWS - 1 => bottom.as_str(),
        _ => "",
    };
    let pad = |label: &str| " ".repeat(gutter.saturating_sub(text::columns(label) + 1));
    let mut lines: Vec<String> = cells
        .iter()
        .enumerate()
        .map(|(i, row)| format!("{}{} {axis}{}", pad(label(i)), label(i), row.iter().collect::<String>().trim_end()))
        .collect();
    let (from, to) = (said::size(near_whole(x.0.exp())), said::size(near_whole(x.1.exp())));
    let between = (columns + 1).saturating_sub(text::columns(&from) + text::columns(&to));
    lines.push(format!("{}{from}{}{to}", " ".repeat(gutter), " ".repeat(between)));
    lines
}

/// Undoes the rounding of a logarithm.
fn near_whole(value: f64) -> f64 {
    if (value - value.round()).abs() < 1e-9 * value { value.round() } else { value }
}
