//! Tables, figures and sentences that several studies of samples share: statistics by program, times by execution, spreads.

use crate::data::timing_row::TimingRow;
use tarebench_core::statistics::intervals::Interval;
use tarebench_core::statistics::log_growth::LogGrowth;
use tarebench_core::statistics::series::Summary;
use tarebench_core::statistics::spread::{NoSpreadRatio, SpreadRatio, SpreadVerdict};
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

/// What a robust spread is, for notes.
pub(crate) const ROBUST: &str = "The robust spread is 1.48 times the median absolute deviation from the median, which is the \
                                 standard deviation of normal times; single outliers do not change it.";
/// What the slope of a growth is, for notes.
pub(crate) const SLOPES: &str = "A power of 1 is growth in proportion to the task length (a constant relative error), 0.5 that \
                                 of the sum of independent disturbances, 0 none.";

/// A program, and its condition if it has one.
pub(crate) fn named(label: &str, condition: &str) -> String {
    if condition.is_empty() { label.to_owned() } else { format!("{label} ({condition})") }
}

/// A program as tables have it.
pub(crate) fn named_cell(label: &str, condition: &str) -> Cell {
    Cell::foreign(named(label, condition))
}

/// Headings of [`statistics`].
pub(crate) const STATISTICS: [&str; 3] = [">minimum", ">maximum", ">mean ± s.d."];

/// Minimum, maximum and mean, with as many digits as the standard deviation justifies.
pub(crate) fn statistics(s: &Summary) -> [Cell; 3] {
    let time = |ns: f64| Cell::figure(Figure { digits: s.std_dev, ..Figure::new(Unit::Time, ns) });
    [time(s.min), time(s.max), Figure::new(Unit::Time, s.mean).with_spread(s.std_dev).into()]
}

/// Minimum, maximum, mean, standard deviation and relative error as in the papers' tables; then the robust spread and the median.
pub(crate) fn timing_table(title: &str, note: &str, rows: &[(String, &TimingRow)]) -> Table {
    let further = [">relative error", ">robust spread", "median [95%]"];
    let columns: Vec<&str> = ["program", ">samples"].into_iter().chain(STATISTICS).chain(further).collect();
    let mut table = Table::new(title, note, &columns);
    for (name, row) in rows {
        let s = &row.summary;
        let median = Cell::figure(Figure::new(Unit::Time, s.median).with_interval(&row.median_interval));
        let median = match &row.median_interval {
            Ok(_) => median,
            Err(why) => median.and(format!(" ({why})")),
        };
        let further = [Cell::of(Unit::Share, s.relative_error), Cell::time(row.robust_spread), median];
        let cells = [Cell::foreign(name), Cell::count(s.n as f64)].into_iter().chain(statistics(s)).chain(further);
        table.row(cells, Vec::new());
    }
    table
}

/// A ratio with its interval of 95 %.
pub(crate) fn ratio(value: f64, interval: &Interval) -> Cell {
    Cell::figure(Figure::new(Unit::Ratio, value).with_interval(&Ok(interval.clone())))
}

/// The ratio with its interval, or why there is none.
pub(crate) fn spread_cell(spread: &Result<SpreadRatio, NoSpreadRatio>) -> Cell {
    match spread {
        Ok(r) => ratio(r.ratio, &r.interval),
        Err(why) => format!("none: {why}").into(),
    }
}

/// What a ratio of spreads says of the first against the second.
pub(crate) fn spread_sentence(compared: &str, reference: &str, spread: &Result<SpreadRatio, NoSpreadRatio>) -> Cell {
    let verdict = match spread {
        Err(why) => return format!("{compared}: nothing can be said of its spread against {reference}: {why}.").into(),
        Ok(r) => r.verdict(),
    };
    let said = match verdict {
        SpreadVerdict::Less => format!("less spread than {reference}"),
        SpreadVerdict::More => format!("more spread than {reference}"),
        SpreadVerdict::Open => format!("these samples do not show whether it has less spread than {reference}"),
    };
    Cell::text(format!("{compared}: {said}; the ratio of their robust spreads is ")).and(spread_cell(spread)).and(".")
}

/// How something grows with task length; `None` if that is not known.
pub(crate) fn growth_sentence(what: &str, growth: Option<&LogGrowth>) -> Option<Cell> {
    let g = growth?;
    let (slope, rest) = match &g.interval {
        Some(i) => (ratio(g.slope, i), format!(" ({} programs).", g.points)),
        None => (Cell::of(Unit::Ratio, g.slope), "; two programs give no interval.".to_owned()),
    };
    Some(Cell::text(format!("{what} grows as the task length to the power of ")).and(slope).and(rest))
}

/// An axis that begins logarithmic.
pub(crate) fn logarithmic(title: &str, quantity: PageQuantity) -> PageAxis {
    PageAxis::scaled(title, quantity, &[PageScale::Log, PageScale::Linear])
}

/// A curve through points, whose task lengths (s) become ns; those that a logarithmic axis cannot hold are left out.
pub(crate) fn by_length(title: String, look: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Option<PageCurve> {
    let drawable = |(x, y): &(f64, f64)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite();
    let mut points: Vec<(f64, f64)> = points.into_iter().filter(drawable).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().map(|(seconds, y)| (seconds * 1e9, y)).unzip();
    (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: None })
}

/// Curves over the task length, both axes logarithmic; none without curves.
pub(crate) fn length_figure(
    id: &str,
    title: &str,
    note: &str,
    y: (&str, PageQuantity),
    curves: Vec<PageCurve>,
) -> Option<PageFigure> {
    (!curves.is_empty()).then(|| PageFigure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: logarithmic("Task length", PageQuantity::Time),
        y: logarithmic(y.0, y.1),
        curves,
    })
}

/// A point for each execution, by its number.
pub(crate) fn execution_figure(id: &str, title: &str, note: &str, y: &str, times: &[f64]) -> PageFigure {
    let x = (1..=times.len()).map(|n| n as f64).collect();
    let curve =
        PageCurve { title: y.to_owned(), look: 0, thin: false, join: Join::Points, x, y: times.to_vec(), band: None };
    PageFigure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: PageAxis::counts("Execution"),
        y: PageAxis::linear(y, PageQuantity::Time),
        curves: vec![curve],
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tarebench_core::statistics::intervals::NoInterval;

    /// EMP table III, INC8.
    pub(crate) fn inc8() -> TimingRow {
        let summary = Summary {
            n: 1000,
            mean: 8367e6,
            median: 8366e6,
            std_dev: Some(15.4e6),
            relative_error: Some(15.4 / 8367.0),
            min: 8322e6,
            max: 8500e6,
        };
        let none = NoInterval::TooFew { have: 2, need: 6 };
        let median = Interval { low: 8365e6, high: 8367e6, level: 0.95 };
        TimingRow {
            label: "INC8".to_owned(),
            size: Some(8.0),
            summary,
            robust_spread: Some(9.5e6),
            mean_interval: Err(none),
            median_interval: Ok(median),
        }
    }

    #[test]
    fn a_row_in_the_papers_columns() {
        let row = inc8();
        let table = timing_table("t", "", &[("INC8".to_owned(), &row)]);
        let cells = table.rows[0].plain();
        let expected =
            ["INC8", "1000", "8.322 s", "8.500 s", "8.367 s ± 0.015", "0.18 %", "9.50 ms", "8.3660 s [8.3650, 8.3670]"];
        assert_eq!(cells, expected);
        assert_eq!(table.rows[0].cells[4].as_figure().and_then(|f| f.spread), Some(15.4e6));
        assert_eq!(table.rows[0].cells.len(), table.columns.len());
    }

    #[test]
    fn claims_rest_on_their_interval() {
        let spread = |low: f64, high: f64| {
            Ok(SpreadRatio { ratio: f64::midpoint(low, high), interval: Interval { low, high, level: 0.95 } })
        };
        let says = |s| spread_sentence("PT", "ET", &s).plain();
        assert!(says(spread(0.2, 0.4)).starts_with("PT: less spread than ET;"));
        assert!(says(spread(1.2, 1.4)).starts_with("PT: more spread than ET;"));
        assert!(says(spread(0.8, 1.4)).starts_with("PT: these samples do not show whether"));
        let none = says(Err(NoSpreadRatio::TooFewValues { have: 4, need: 10 }));
        assert_eq!(none, "PT: nothing can be said of its spread against ET: 4 samples, 10 needed.");
        assert_eq!(spread_cell(&spread(0.2, 0.4)), "0.300 [0.200, 0.400]");
    }

    #[test]
    fn growth_with_and_without_an_interval() {
        let mut g = LogGrowth { slope: 0.5, interval: None, at_one: 1.0, points: 2 };
        let says = |g: &LogGrowth| growth_sentence("The standard deviation", Some(g)).unwrap().plain();
        assert!(says(&g).ends_with("to the power of 0.500; two programs give no interval."));
        (g.interval, g.points) = (Some(Interval { low: 0.4, high: 0.6, level: 0.95 }), 4);
        assert_eq!(
            says(&g),
            "The standard deviation grows as the task length to the power of 0.500 [0.400, 0.600] (4 programs)."
        );
        assert_eq!(growth_sentence("x", None), None);
    }

    #[test]
    fn curves_ascend() {
        let c = by_length("s.d.".to_owned(), 1, [(2.0, 5.0), (1.0, 3.0), (4.0, 0.0)]).unwrap();
        assert_eq!((c.x, c.y), (vec![1e9, 2e9], vec![3.0, 5.0]));
        assert_eq!(by_length("s.d.".to_owned(), 1, [(1.0, 0.0)]), None);
        assert_eq!(execution_figure("a", "b", "c", "PT", &[7.0, 8.0]).curves[0].x, [1.0, 2.0]);
    }
}
