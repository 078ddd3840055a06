//! Intervals as lines of text: no change and the limit of each row are marked, `├──●──┤` is an interval.

use crate::form::Form;
use crate::number;
use crate::text;
use crate::text::columns;
use crate::web::page::{Overview, OverviewRow};

/// Changes beyond so many times the largest limit, if there is one, are drawn at the edge, so that the others can be told apart.
const FURTHEST: f64 = 10.0;
/// Most columns of a name beside the plot.
const BESIDE: usize = 24;
const GAP: usize = 2;
const WIDEST: usize = 64;

/// The signs of a plot.
struct PlotSigns {
    zero: char,
    limit: char,
    line: char,
    low: char,
    high: char,
    point: char,
    /// It goes on to the left, to the right.
    beyond: [char; 2],
}

const UNICODE: PlotSigns =
    PlotSigns { zero: '│', limit: '┊', line: '─', low: '├', high: '┤', point: '●', beyond: ['◂', '▸'] };

const ASCII: PlotSigns =
    PlotSigns { zero: '|', limit: ':', line: '-', low: '[', high: ']', point: 'o', beyond: ['<', '>'] };

/// A change with its interval and its limit, all as shares.
struct PlottedChange {
    value: Option<f64>,
    bounds: Option<(f64, f64)>,
    limit: f64,
}

/// Lines of a plot with the names of its rows beside them, and below them its axis.
pub struct TextPlot {
    pub labels: Vec<String>,
    pub rows: Vec<String>,
    pub axis: String,
}

/// The plot of the first rows' ratios in so many columns; `None` if nothing can be drawn in them.
pub fn plot(overview: &Overview, most: usize, width: usize, form: &Form) -> Option<TextPlot> {
    let shown = || overview.rows.iter().take(most);
    let changes: Vec<PlottedChange> = shown().map(plotted).collect();
    let name = |row: &OverviewRow| text::cut_middle(&row.title.write(form), BESIDE, form.glyphs().dots).into_owned();
    let labels: Vec<String> = shown().map(name).collect();
    let wide = labels.iter().map(|l| columns(l)).max().unwrap_or(0) + GAP;
    let room = width.saturating_sub(wide).min(WIDEST);
    if room < 16 || changes.iter().all(|c| c.value.is_none()) {
        return None;
    }
    let scale = PlotScale::over(&changes, room);
    let signs = if form.is_unicode() { UNICODE } else { ASCII };
    let pad = |label: String| format!("{label}{}", " ".repeat(wide.saturating_sub(columns(&label))));
    Some(TextPlot {
        labels: labels.into_iter().map(pad).collect(),
        rows: changes.iter().map(|c| scale.row(c, &signs)).collect(),
        axis: format!("{}{}", " ".repeat(wide), scale.axis(&changes, form)),
    })
}

/// The same as text.
pub fn drawn(overview: &Overview, most: usize, width: usize, form: &Form) -> Option<String> {
    let plot = plot(overview, most, width, form)?;
    let rows =
        plot.labels.iter().zip(&plot.rows).map(|(label, row)| format!("{}\n", format!("{label}{row}").trim_end()));
    Some(rows.chain([format!("{}\n", plot.axis)]).collect())
}

fn plotted(row: &OverviewRow) -> PlottedChange {
    let finite = |ratio: f64| Some(ratio - 1.0).filter(|change| change.is_finite());
    let bounds = row.ratio.as_ref().and_then(|r| r.bounds());
    PlottedChange {
        value: row.ratio.as_ref().and_then(|r| finite(r.value)),
        bounds: bounds.and_then(|i| finite(i.low).zip(finite(i.high))),
        limit: row.limit.map(|l| l - 1.0).filter(|t| (0.0..1e6).contains(t)).unwrap_or(0.0),
    }
}

/// From shares to columns.
struct PlotScale {
    low: f64,
    high: f64,
    width: usize,
}

impl PlotScale {
    fn over(changes: &[PlottedChange], width: usize) -> PlotScale {
        let limit = changes.iter().map(|c| c.limit).fold(0.0, f64::max);
        let (limit, furthest) = if limit > 0.0 { (limit, FURTHEST * limit) } else { (0.01, f64::INFINITY) };
        let ends =
            changes.iter().flat_map(|c| c.value.into_iter().chain(c.bounds.map(|b| b.0)).chain(c.bounds.map(|b| b.1)));
        let ends = ends.map(|v| v.clamp(-furthest, furthest)).chain([-limit, limit]);
        let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        let margin = (high - low) * 0.04;
        PlotScale { low: low - margin, high: high + margin, width }
    }

    /// Of a share within the scale.
    fn column(&self, share: f64) -> Option<usize> {
        let inside = (self.low..=self.high).contains(&share);
        inside.then(|| ((share - self.low) / (self.high - self.low) * (self.width - 1) as f64).round() as usize)
    }

    fn row(&self, c: &PlottedChange, signs: &PlotSigns) -> String {
        let mut cells = vec![' '; self.width];
        let last = self.width - 1;
        let mut put = |at: Option<usize>, sign: char| {
            if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
                *cell = sign;
            }
        };
        put(self.column(0.0), signs.zero);
        if c.limit > 0.0 {
            put(self.column(c.limit), signs.limit);
        }
        let [left, right] = signs.beyond;
        if let Some((low, high)) = c.bounds {
            let (from, to) = (self.column(low), self.column(high));
            let edge = |share: f64| if share < self.low { 0 } else { last };
            for at in from.unwrap_or_else(|| edge(low))..=to.unwrap_or_else(|| edge(high)) {
                put(Some(at), signs.line);
            }
            put(from, signs.low);
            put(to, signs.high);
            put(Some(0).filter(|_| low < self.low), left);
            put(Some(last).filter(|_| high > self.high), right);
        }
        match c.value {
            Some(v) if v < self.low => put(Some(0), left),
            Some(v) if v > self.high => put(Some(last), right),
            Some(v) => put(self.column(v), signs.point),
            None => {}
        }
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }

    /// Labels at zero, at the limit if all have the same, and at the ends, as far as they do not touch.
    fn axis(&self, changes: &[PlottedChange], form: &Form) -> String {
        let mut common = changes.iter().map(|c| c.limit).filter(|t| *t > 0.0);
        let first = common.next();
        let common = first.filter(|t| common.all(|other| other == *t));
        let decimals = if self.high - self.low < 0.02 { 2 } else { 1 };
        let label = |share: f64| {
            format!("{} %", form.signed(&number::percent_of_change(1.0 + share, decimals).unwrap_or_default(), true))
        };
        let mut line = vec![' '; self.width];
        put_label(&mut line, self.column(0.0), "0");
        if let Some(t) = common {
            put_label(&mut line, self.column(t), &format!("+{}", number::limit(t)));
        }
        put_label(&mut line, Some(self.width - 1), &label(self.high));
        put_label(&mut line, Some(0), &label(self.low));
        line.into_iter().collect::<String>().trim_end().to_owned()
    }
}

/// Writes a label around a column, within the line, unless it would touch another one.
fn put_label(line: &mut [char], at: Option<usize>, label: &str) {
    let Some(at) = at else { return };
    let wide = columns(label);
    let Some(most) = line.len().checked_sub(wide) else { return };
    let from = at.saturating_sub(wide / 2).min(most);
    let free = line.iter().skip(from.saturating_sub(1)).take(wide + 2).all(|c| *c == ' ');
    if free {
        line.iter_mut().skip(from).zip(label.chars()).for_each(|(cell, c)| *cell = c);
    }
}
