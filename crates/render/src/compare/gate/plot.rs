//! Intervals as lines of text: zero and the threshold of each benchmark are marked, `├──●──┤` is an interval.

use crate::compare::gate::said::{signed, threshold};
use tarebench_core::compare::gate::{Gate, GateReport};
use tarebench_report::style::Glyphs;
use tarebench_report::text::columns;

/// Changes beyond so many times the largest threshold are drawn at the edge, so that the others can be told apart.
const FURTHEST: f64 = 10.0;

/// The signs of a plot.
struct PlotSigns {
    zero: char,
    threshold: char,
    line: char,
    low: char,
    high: char,
    point: char,
    /// It goes on to the left, to the right.
    beyond: [char; 2],
}

const UNICODE: PlotSigns =
    PlotSigns {
        zero: '│', threshold: '┊', line: '─', low: '├', high: '┤', point: '●', beyond: ['◂', '▸']
    };

const ASCII: PlotSigns =
    PlotSigns { zero: '|', threshold: ':', line: '-', low: '[', high: ']', point: 'o', beyond: ['<', '>'] };

/// A change with its interval and its threshold, all as shares.
struct PlottedChange {
    value: Option<f64>,
    bounds: Option<(f64, f64)>,
    threshold: f64,
}

/// Lines of a plot, each of at most so many columns, and below them its axis.
pub(crate) struct TextPlot {
    pub rows: Vec<String>,
    pub axis: String,
}

/// The plot of these benchmarks; `None` if nothing can be drawn in so many columns.
pub(crate) fn plot(
    gate: &Gate,
    report: &GateReport,
    order: &[usize],
    width: usize,
    unicode: bool,
    g: &Glyphs,
) -> Option<TextPlot> {
    let changes: Vec<PlottedChange> = order.iter().map(|place| plotted(gate, report, *place)).collect();
    if width < 16 || changes.iter().all(|c| c.value.is_none()) {
        return None;
    }
    let scale = PlotScale::over(&changes, width);
    let signs = if unicode { UNICODE } else { ASCII };
    let rows = changes.iter().map(|c| scale.row(c, &signs)).collect();
    Some(TextPlot { rows, axis: scale.axis(&changes, g) })
}

fn plotted(gate: &Gate, report: &GateReport, place: usize) -> PlottedChange {
    let b = report.benchmarks.get(place);
    let finite = |ratio: f64| Some(ratio - 1.0).filter(|change| change.is_finite());
    let interval = b.and_then(|b| b.interval.as_ref().ok());
    let limit = gate.plan.benchmarks.get(place).map(|b| b.threshold);
    PlottedChange {
        value: b.and_then(|b| b.ratio).and_then(finite),
        bounds: interval.and_then(|i| finite(i.low).zip(finite(i.high))),
        threshold: limit.filter(|t| (0.0..1e6).contains(t)).unwrap_or(0.0),
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
        let limit = changes.iter().map(|c| c.threshold).fold(0.0, f64::max);
        let limit = if limit > 0.0 { limit } else { 0.01 };
        let furthest = FURTHEST * limit;
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
        if c.threshold > 0.0 {
            put(self.column(c.threshold), signs.threshold);
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

    /// Labels at zero, at the threshold if all have the same, and at the ends, as far as they do not touch.
    fn axis(&self, changes: &[PlottedChange], g: &Glyphs) -> String {
        let mut common = changes.iter().map(|c| c.threshold).filter(|t| *t > 0.0);
        let first = common.next();
        let common = first.filter(|t| common.all(|other| other == *t));
        let decimals = if self.high - self.low < 0.02 { 2 } else { 1 };
        let label = |share: f64| format!("{} %", signed(share, decimals, g));
        let mut line = vec![' '; self.width];
        put_label(&mut line, self.column(0.0), "0");
        if let Some(t) = common {
            put_label(&mut line, self.column(t), &format!("+{}", threshold(t)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::gate::fixtures;
    use tarebench_report::style::Style;

    fn lines(unicode: bool, width: usize, (gate, report): &(Gate, GateReport)) -> Option<Vec<String>> {
        let style = Style { unicode, ..Style::default() };
        let order: Vec<usize> = (0..report.benchmarks.len()).collect();
        let plot = plot(gate, report, &order, width, unicode, &style.glyphs())?;
        Some(plot.rows.into_iter().chain([plot.axis]).collect())
    }

    #[test]
    fn intervals_stand_where_they_are() {
        // From -8.5 % to +4.9 % in 50 columns: zero is at column 31, the threshold of 2 % at column 38.
        let found = lines(true, 50, &fixtures::three()).unwrap();
        assert_eq!(found.len(), 4);
        let at = |line: &str, sign: char| line.chars().position(|c| c == sign);
        assert!(found[..3].iter().all(|line| at(line, '●').is_some()), "{found:#?}");
        let zero = at(&found[0], '│').unwrap();
        let limit = at(&found[0], '┊').unwrap();
        assert!(
            zero < limit && limit < at(&found[0], '├').unwrap(),
            "a regression is beyond the threshold: {found:#?}"
        );
        assert!(at(&found[2], '┤').unwrap() < zero, "an improvement is below zero: {found:#?}");
        assert!(found[3].contains('0') && found[3].contains("+2 %"), "{found:#?}");
        assert_eq!((zero, limit, at(&found[3], '0')), (31, 38, Some(31)));
    }

    #[test]
    fn without_unicode_it_is_ascii() {
        let found = lines(false, 40, &fixtures::every_verdict()).unwrap();
        assert!(found.iter().all(|l| l.is_ascii() && l.len() <= 40), "{found:#?}");
        assert!(found[0].contains('o') && found[0].contains('|') && found[0].contains(':'), "{found:#?}");
    }

    #[test]
    fn what_is_far_away_is_at_the_edge() {
        use tarebench_core::compare::gate::GateVerdict::{Improvement, Regression};
        let far = fixtures::benchmark("far", Regression, 9.0, 0.1);
        let near = fixtures::benchmark("near", Improvement, 0.97, 0.002);
        let left = fixtures::benchmark("left", Improvement, 0.3, 0.1);
        let found = lines(true, 60, &fixtures::gate_of(vec![far, near, left], Regression)).unwrap();
        assert!(found[0].ends_with('▸') && !found[0].contains('●'), "{found:#?}");
        assert!(found[1].contains('●'), "{found:#?}");
        assert!(found[2].starts_with('◂'), "{found:#?}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(
            lines(true, 60, &fixtures::gate_of(Vec::new(), tarebench_core::compare::gate::GateVerdict::Pass)).is_none()
        );
        assert!(lines(true, 10, &fixtures::three()).is_none());
        // Figures that are no numbers leave out what they are of, and nothing is wider than it may be.
        for width in [16, 33, 200] {
            let found = lines(true, width, &fixtures::hostile()).unwrap();
            assert!(found.iter().all(|l| columns(l) <= width), "{found:#?}");
        }
    }
}
