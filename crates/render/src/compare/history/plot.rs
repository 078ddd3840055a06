//! A history as lines of text: points with their intervals over the builds, the levels and where they change.

use crate::compare::history::said::{build_name, change, day, shown_range};
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::history::BenchmarkHistory;
use tarebench_report::form::Form;
use tarebench_report::number;
use tarebench_report::screen::StyledSpan;
use tarebench_report::style::Paint;
use tarebench_report::text::{columns, cut};

/// Lines of the plot itself.
const ROWS: usize = 11;
/// Fewest columns beside the labels.
const NARROWEST: usize = 16;
/// Most columns of one build.
const WIDEST_BUILD: usize = 4;

/// The signs of a plot.
struct HistorySigns {
    point: char,
    /// Measured on another machine.
    elsewhere: char,
    bar: char,
    level: char,
    change: char,
    axis: char,
    mark: char,
    /// Beyond the upper, the lower end.
    beyond: [char; 2],
}

const UNICODE: HistorySigns = HistorySigns {
    point: '●',
    elsewhere: '○',
    bar: '│',
    level: '─',
    change: '┊',
    axis: '┤',
    mark: '▲',
    beyond: ['▴', '▾'],
};

const ASCII: HistorySigns = HistorySigns {
    point: 'o',
    elsewhere: 'x',
    bar: '|',
    level: '-',
    change: ':',
    axis: '|',
    mark: '^',
    beyond: ['^', 'v'],
};

/// What a plot is drawn with.
pub(crate) struct HistoryCanvas<'a> {
    /// Columns of the whole plot.
    pub width: usize,
    pub form: Form,
    pub zone: &'a TimeZone,
}

/// The cells of the plot, row by row from the top.
struct PlotCells {
    cells: Vec<Vec<(Paint, char)>>,
    low: f64,
    high: f64,
    /// Columns of one build; 1 if there are more builds than columns.
    each: usize,
    width: usize,
    builds: usize,
}

impl PlotCells {
    fn new((low, high): (f64, f64), room: usize, builds: usize) -> PlotCells {
        let each = (room / builds.max(1)).clamp(1, WIDEST_BUILD);
        let width = room.min(each * builds);
        PlotCells { cells: vec![vec![(Paint::Plain, ' '); width]; ROWS], low, high, each, width, builds }
    }

    fn column(&self, build: usize) -> usize {
        match self.builds <= self.width {
            true => build * self.each + self.each / 2,
            false => build * self.width / self.builds,
        }
    }

    /// Of a share, as far as it is shown.
    fn row(&self, share: f64) -> Option<usize> {
        let inside = (self.low..=self.high).contains(&share);
        inside.then(|| ((self.high - share) / (self.high - self.low) * (ROWS - 1) as f64).round() as usize)
    }

    fn put(&mut self, row: usize, column: usize, paint: Paint, sign: char) {
        if let Some(cell) = self.cells.get_mut(row).and_then(|r| r.get_mut(column)) {
            *cell = (paint, sign);
        }
    }

    fn levels(&mut self, h: &BenchmarkHistory, signs: &HistorySigns) {
        for level in &h.levels {
            let Some(row) = self.row(level.ratio - 1.0) else { continue };
            let first = self.column(level.first).saturating_sub(self.each / 2);
            for column in first..=self.column(level.last) + self.each / 2 {
                self.put(row, column, Paint::Title, signs.level);
            }
        }
        for change in &h.changes {
            let column = self.column(change.after).saturating_sub(self.each / 2);
            for row in 0..ROWS {
                self.put(row, column, Paint::Warn, signs.change);
            }
        }
    }

    fn points(&mut self, h: &BenchmarkHistory, signs: &HistorySigns) {
        let [above, below] = signs.beyond;
        for (i, point) in h.points.iter().enumerate() {
            let column = self.column(i);
            if let Some(interval) = &point.interval {
                let (low, high) = ((interval.low - 1.0).max(self.low), (interval.high - 1.0).min(self.high));
                if let Some((from, to)) = self.row(high).zip(self.row(low)) {
                    (from..=to).for_each(|row| self.put(row, column, Paint::Dim, signs.bar));
                }
            }
        }
        // Above all bars, where several builds share a column.
        for (i, point) in h.points.iter().enumerate() {
            let (column, share) = (self.column(i), point.ratio - 1.0);
            let sign = if point.other_machine { signs.elsewhere } else { signs.point };
            match self.row(share) {
                Some(row) => self.put(row, column, Paint::Strong, sign),
                None if share > self.high => self.put(0, column, Paint::Strong, above),
                None if share < self.low => self.put(ROWS - 1, column, Paint::Strong, below),
                None => {}
            }
        }
    }
}

/// Cells as pieces of one colour each.
fn spans(cells: &[(Paint, char)]) -> Vec<StyledSpan> {
    cells
        .chunk_by(|a, b| a.0 == b.0)
        .filter_map(|c| Some((c.first()?.0, c.iter().map(|(_, sign)| *sign).collect())))
        .collect()
}

/// The lines of the plot; `None` if nothing can be drawn in so many columns.
pub(crate) fn plot(h: &BenchmarkHistory, canvas: &HistoryCanvas<'_>) -> Option<Vec<Vec<StyledSpan>>> {
    let (low, high) = shown_range(h)?;
    let step = (high - low) / (ROWS - 1) as f64;
    let decimals = number::decimals_for(step * 100.0, 1).min(4);
    let label = |row: usize| match row % 5 {
        0 => {
            let share = number::percent_of_change(1.0 + high - step * row as f64, decimals).unwrap_or_default();
            format!("{} %", canvas.form.signed(&share, true))
        }
        _ => String::new(),
    };
    let labels: Vec<String> = (0..ROWS).map(label).collect();
    let wide = labels.iter().map(|l| columns(l)).max().unwrap_or(0);
    let room = canvas.width.checked_sub(wide + 2).filter(|room| *room >= NARROWEST)?;
    let signs = if canvas.form.is_unicode() { UNICODE } else { ASCII };
    let mut cells = PlotCells::new((low, high), room, h.points.len());
    cells.levels(h, &signs);
    cells.points(h, &signs);
    let mut lines = Vec::with_capacity(ROWS + 2);
    for (label, row) in labels.iter().zip(&cells.cells) {
        let axis = if label.is_empty() { signs.bar } else { signs.axis };
        let label = format!("{}{label} {axis}", " ".repeat(wide - columns(label)));
        let mut line = vec![(Paint::Dim, label)];
        line.extend(spans(row));
        lines.push(line);
    }
    let indent = " ".repeat(wide + 2);
    lines.extend(marks(h, &cells, &signs, canvas, room).map(|line| vec![(Paint::Warn, indent.clone() + &line)]));
    lines.push(vec![(Paint::Dim, indent + &ends(h, cells.width.max(room.min(48)), canvas))]);
    Some(lines)
}

/// Below the plot: where the changes are, and by how much as far as there is room.
fn marks(
    h: &BenchmarkHistory,
    cells: &PlotCells,
    signs: &HistorySigns,
    canvas: &HistoryCanvas<'_>,
    room: usize,
) -> Option<String> {
    let mut line = String::new();
    for (i, c) in h.changes.iter().enumerate() {
        let at = cells.column(c.after).saturating_sub(cells.each / 2);
        let Some(gap) = at.checked_sub(columns(&line)) else { continue };
        line += &" ".repeat(gap);
        line.push(signs.mark);
        let label = format!(" {}", change(c.ratio, None).write(&canvas.form));
        let next =
            h.changes.get(i + 1).map_or(room, |next| cells.column(next.after).saturating_sub(cells.each / 2 + 1));
        if columns(&line) + columns(&label) <= next.min(room) {
            line += &label;
        }
    }
    (!line.is_empty()).then_some(line)
}

/// Below it, the first and the last build with their dates, within so many columns.
fn ends(h: &BenchmarkHistory, width: usize, canvas: &HistoryCanvas<'_>) -> String {
    let dots = canvas.form.glyphs().dots;
    let end = |dates: bool, place: usize| {
        let Some(point) = h.points.get(place) else { return String::new() };
        let name = canvas.form.foreign(&build_name(&point.build));
        let name = cut(&name, width / 4, dots).into_owned();
        if dates { format!("{name} {}", day(point.build.time, canvas.zone)) } else { name }
    };
    let last = h.points.len().saturating_sub(1);
    if last == 0 {
        return cut(&end(true, 0), width, dots).into_owned();
    }
    let whole = |dates: bool| {
        let (first, last) = (end(dates, 0), end(dates, last));
        let gap = width.checked_sub(columns(&first) + columns(&last)).filter(|gap| *gap >= 2)?;
        Some(format!("{first}{}{last}", " ".repeat(gap)))
    };
    whole(true).or_else(|| whole(false)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;
    use tarebench_report::style::Style;

    fn lines(h: &BenchmarkHistory, width: usize, unicode: bool) -> Option<Vec<String>> {
        let style = Style { unicode, ..Style::default() };
        let canvas = HistoryCanvas { width, form: Form::terminal(&style), zone: &TimeZone::UTC };
        let line = |spans: Vec<StyledSpan>| spans.into_iter().map(|(_, text)| text).collect::<String>();
        Some(plot(h, &canvas)?.into_iter().map(line).collect())
    }

    fn at(line: &str, sign: char) -> Vec<usize> {
        line.chars().enumerate().filter(|(_, c)| *c == sign).map(|(i, _)| i).collect()
    }

    #[test]
    fn points_stand_on_their_levels() {
        let h = &fixtures::report().benchmarks[0];
        let found = lines(h, 100, true).unwrap();
        assert_eq!(found.len(), ROWS + 2);
        let all = |sign: char| found[..ROWS].iter().map(|l| at(l, sign).len()).sum::<usize>();
        // Each build has a sign of its own; the anchor and the seven after it were measured elsewhere.
        assert_eq!((all('●'), all('○')), (12, 8), "{found:#?}");
        let rows = |sign: char| (0..ROWS).filter(|r| !at(&found[*r], sign).is_empty()).collect::<Vec<_>>();
        // Slower is higher: those before the change are below all those after it.
        assert!(rows('○').first() > rows('●').last(), "{found:#?}");
        // Both changes are marked below, where the second level begins after eight of twenty builds of four columns.
        let (marks, left) = (&found[ROWS], columns("+0.0 % ┤"));
        assert_eq!(at(marks, '▲'), [left + 32, left + 64], "{found:#?}");
        assert!(marks.contains("▲ +2.0 %") && marks.contains("▲ −1.0 %"), "{found:#?}");
        assert!(
            found[ROWS + 1].trim().starts_with("0000000 2026-10-01") && found[ROWS + 1].ends_with("0000130 2026-10-20")
        );
        let signs = [0, ROWS - 1].map(|row: usize| found[row].trim_start().chars().next());
        assert_eq!(signs, [Some('+'), Some('−')], "{found:#?}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for report in [fixtures::report(), fixtures::hostile()] {
            for h in &report.benchmarks {
                for (width, unicode) in [(26, true), (40, true), (41, false), (60, false), (140, true)] {
                    let found = lines(h, width, unicode).unwrap();
                    assert!(found.iter().all(|l| columns(l) <= width), "{width}: {found:#?}");
                    assert!(unicode || found.iter().all(|l| l.is_ascii()), "{found:#?}");
                    assert!(!found.iter().any(|l| l.contains(char::is_control)), "{found:#?}");
                }
                assert_eq!(lines(h, 20, true), None);
            }
        }
    }

    #[test]
    fn many_builds_share_columns_and_far_points_are_at_the_edge() {
        let mut h = fixtures::report().benchmarks.remove(0);
        h.points = (0..500).map(|i| h.points[i / 25].clone()).collect();
        h.levels.truncate(1);
        h.levels[0].last = 499;
        h.changes[0].after = 200;
        h.changes.truncate(1);
        let found = lines(&h, 80, true).unwrap();
        assert!(found.iter().all(|l| columns(l) <= 80) && found.iter().any(|l| columns(l) == 80), "{found:#?}");
        let mut h = fixtures::report().benchmarks.remove(1);
        h.points[3].ratio = 2.0;
        h.points[4].ratio = 0.5;
        let found = lines(&h, 80, true).unwrap();
        assert_eq!((at(&found[0], '▴').len(), at(&found[ROWS - 1], '▾').len()), (1, 1), "{found:#?}");
        h.points.truncate(1);
        h.levels.clear();
        assert!(lines(&h, 80, true).unwrap()[ROWS].contains("0000000 2026-10-01"));
    }
}
