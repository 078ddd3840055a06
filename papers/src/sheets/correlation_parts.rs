//! Tables, figures and sentences of correlations, which several studies of samples share.

use crate::sheets::timing_parts::logarithmic;
use tarebench_core::statistics::correlation::{
    CorrelationError, CorrelationEstimate, CorrelationGrowth, NoCorrelation, RawAndTrimmed,
};
use tarebench_core::statistics::intervals::Interval;
use tarebench_report::cell::{Cell, Figure, Unit};
use tarebench_report::table::Table;
use tarebench_report::web::page::{Band, Join, PageAxis, PageCurve, PageFigure, PageQuantity};

/// What intervals of correlations are, for notes.
pub(crate) const INTERVALS: &str = "The 95 % intervals are on Fisher's scale. Their standard error is the larger one of Fisher's, with \
     the number of independent pairs that dependent samples are worth, and of a bootstrap of blocks of successive samples.";

/// A correlation with its interval of 95 %.
pub(crate) fn coefficient(r: f64, interval: &Interval) -> Cell {
    Cell::figure(Figure::new(Unit::Correlation, r).with_interval(&Ok(interval.clone())))
}

/// The correlation with its interval, or why there is none.
fn estimate_cell(found: &Result<CorrelationEstimate, NoCorrelation>) -> Cell {
    match found {
        Ok(e) => coefficient(e.r, &e.interval),
        Err(why) => no_correlation(why),
    }
}

pub(crate) fn no_correlation(why: &NoCorrelation) -> Cell {
    format!("none: {why}").into()
}

/// What an interval rests on, in a word.
fn rests_on(error: CorrelationError) -> &'static str {
    match error {
        CorrelationError::FisherZ => "Fisher",
        CorrelationError::BlockBootstrap => "bootstrap",
    }
}

/// Correlations of all pairs and without outliers, as tables 7 and 8 of the report on program execution time, with their intervals.
pub(crate) fn correlation_table(title: &str, note: &str, pairs: &str, rows: &[(String, &RawAndTrimmed)]) -> Table {
    let counted = format!(">{pairs}");
    let columns = [
        "program",
        "corr. coeff. [95%]",
        "without outliers [95%]",
        ">of ranks",
        counted.as_str(),
        ">outliers",
        "interval by",
    ];
    let mut table = Table::new(title, note, &columns);
    for (name, row) in rows {
        let known = row.raw.as_ref().ok();
        let cells = [
            Cell::foreign(name),
            estimate_cell(&row.raw),
            estimate_cell(&row.trimmed),
            Cell::of(Unit::Correlation, known.map(|e| e.rank)),
            Cell::count(row.pairs.len() as f64),
            Cell::count(row.removed),
            known.map_or("", |e| rests_on(e.rests_on)).into(),
        ];
        table.row(cells, Vec::new());
    }
    table
}

/// Points of a scatter plot, sorted as curves are.
pub(crate) fn points(title: &str, look: usize, all: impl IntoIterator<Item = (f64, f64)>) -> PageCurve {
    let mut all: Vec<(f64, f64)> = all.into_iter().collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (x, y) = all.into_iter().unzip();
    PageCurve { title: title.to_owned(), look, thin: false, join: Join::Points, x, y, band: None }
}

/// The scatter plot of all pairs, and one of those without outliers if there are any.
pub(crate) fn scatter_figures(id: &str, title: &str, axes: [&str; 2], pairs: &RawAndTrimmed) -> Vec<PageFigure> {
    let chosen = |retained: bool| pairs.pairs.iter().filter(move |p| p.retained == retained).map(|p| (p.x, p.y));
    let figure = |id: String, title: String, note: &str, curves: Vec<PageCurve>| PageFigure {
        id,
        title,
        note: note.to_owned(),
        x: PageAxis::linear(axes[0], PageQuantity::Time),
        y: PageAxis::linear(axes[1], PageQuantity::Time),
        curves,
    };
    let retained = points("retained", 0, chosen(true));
    let mut all = vec![retained.clone()];
    if pairs.removed > 0 {
        all.push(points("outliers", 1, chosen(false)));
    }
    let mut figures = vec![figure(id.to_owned(), title.to_owned(), "All pairs.", all)];
    if pairs.removed > 0 {
        let zoomed = format!("{title}, without outliers");
        figures.push(figure(format!("{id}-zoomed"), zoomed, "The same without outliers.", vec![retained]));
    }
    figures
}

/// Values in the order of execution.
pub(crate) fn sequence(title: &str, look: usize, values: impl IntoIterator<Item = f64>) -> PageCurve {
    let y: Vec<f64> = values.into_iter().collect();
    let x = (1..=y.len()).map(|n| n as f64).collect();
    PageCurve { title: title.to_owned(), look, thin: false, join: Join::Points, x, y, band: None }
}

/// Two sequences in one figure.
pub(crate) fn sequence_figure(id: String, title: String, y: &str, curves: Vec<PageCurve>) -> PageFigure {
    PageFigure {
        id,
        title,
        note: "In the order of execution.".to_owned(),
        x: PageAxis::counts("Execution"),
        y: PageAxis::linear(y, PageQuantity::Time),
        curves,
    }
}

/// From -1 to 1.
pub(crate) fn correlation_axis() -> PageAxis {
    PageAxis { shown: Some((-1.0, 1.0)), ..PageAxis::ratios("Correlation") }
}

/// A correlation by task length, with its interval; `None` without points. Task lengths in s.
pub(crate) fn correlation_curve<'a>(
    title: &str,
    look: usize,
    found: impl IntoIterator<Item = (f64, f64, &'a Interval)>,
) -> Option<PageCurve> {
    let mut found: Vec<(f64, f64, &Interval)> = found.into_iter().filter(|f| f.0 > 0.0).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bound = |pick: fn(&Interval) -> f64| found.iter().map(|f| Some(pick(f.2))).collect();
    let band = Band { title: "95 % interval", low: bound(|i| i.low), high: bound(|i| i.high) };
    let (x, y): (Vec<f64>, Vec<f64>) = found.iter().map(|f| (f.0 * 1e9, f.1)).unzip();
    let title = title.to_owned();
    (!x.is_empty()).then_some(PageCurve { title, look, thin: false, join: Join::Straight, x, y, band: Some(band) })
}

/// Correlations by task length; `None` without curves.
pub(crate) fn correlation_figure(id: &str, title: &str, curves: Vec<PageCurve>) -> Option<PageFigure> {
    (!curves.is_empty()).then(|| PageFigure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: "With 95 % intervals.".to_owned(),
        x: logarithmic("Task length", PageQuantity::Time),
        y: correlation_axis(),
        curves,
    })
}

/// The estimates that a curve by task length is made of.
pub(crate) fn known(
    size: Option<f64>,
    found: &Result<CorrelationEstimate, NoCorrelation>,
) -> Option<(f64, f64, &Interval)> {
    let e = found.as_ref().ok()?;
    Some((size?, e.r, &e.interval))
}

/// Which of these correlations differ from 0, and which are not told from it: one or two sentences. `what` begins them.
pub(crate) fn differing(what: &str, found: &[(String, f64, &Interval)]) -> Vec<Cell> {
    let (differ, open): (Vec<_>, Vec<_>) = found.iter().partition(|(_, _, i)| !i.contains(0.0));
    let sentence = |some: &[&(String, f64, &Interval)], said: &str| {
        let each = some.iter().enumerate().flat_map(|(i, (name, r, interval))| {
            let between = if i == 0 { "" } else { ", " };
            [between.into(), Cell::foreign(name), " ".into(), coefficient(*r, interval)]
        });
        (!some.is_empty()).then(|| each.fold(Cell::text(format!("{what} {said}: ")), Cell::and).and("."))
    };
    sentence(&differ, "differs from 0").into_iter().chain(sentence(&open, "is not distinguishable from 0")).collect()
}

/// How a correlation changes with the task length; `None` if that is not known.
pub(crate) fn change_sentence(what: &str, growth: Option<&CorrelationGrowth>) -> Option<Cell> {
    let g = growth?;
    let change = match (g.interval.low > 0.0, g.interval.high < 0.0) {
        (true, _) => "rises with the task length",
        (_, true) => "falls with the task length",
        _ => "shows no change with the task length beyond chance",
    };
    let over = format!(" for each doubling, on Fisher's scale, over {} programs.", g.sizes);
    Some(Cell::text(format!("{what} {change}: by ")).and(coefficient(g.per_doubling, &g.interval)).and(over))
}

/// Programs whose number of samples is so small that no sample can be an outlier.
pub(crate) fn too_few_to_trim(s: f64, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "So few samples have no outliers beyond {s} standard deviations, whatever they are: {}.",
            names.join(", ")
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn estimate(r: f64, reach: f64) -> CorrelationEstimate {
        CorrelationEstimate {
            pairs: 1000,
            r,
            rank: r / 2.0,
            interval: Interval { low: r - reach, high: r + reach, level: 0.95 },
            error: reach / 2.0,
            rests_on: CorrelationError::FisherZ,
            effective: 812.4,
        }
    }

    #[test]
    fn sentences_say_what_is_known() {
        let (wide, narrow) =
            (Interval { low: -0.1, high: 0.2, level: 0.95 }, Interval { low: 0.2, high: 0.4, level: 0.95 });
        let all = [("INC1".to_owned(), 0.05, &wide), ("INC2".to_owned(), 0.3, &narrow)];
        assert_eq!(
            differing("The correlation", &all),
            [
                "The correlation differs from 0: INC2 0.30 [0.20, 0.40].",
                "The correlation is not distinguishable from 0: INC1 0.05 [−0.10, 0.20]."
            ]
        );
        let growth = |low, high| CorrelationGrowth {
            sizes: 5,
            per_doubling: 0.1,
            interval: Interval { low, high, level: 0.95 },
        };
        let text = |g: &CorrelationGrowth| change_sentence("It", Some(g)).unwrap().plain();
        assert!(text(&growth(0.05, 0.15)).starts_with("It rises with the task length: by 0.10 [0.05, 0.15]"));
        assert!(text(&growth(-0.05, 0.25)).contains("no change"));
        assert_eq!(change_sentence("It", None), None);
    }

    #[test]
    fn points_are_in_order() {
        let c = points("a", 0, [(3.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        assert_eq!((c.x, c.y), (vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 1.0]));
        assert_eq!(correlation_curve("a", 0, []), None);
    }
}
