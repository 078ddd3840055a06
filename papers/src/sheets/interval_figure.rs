//! CS:APP figure 9.8, with the book's axes: the error of interval counting over the time that the computation takes.

use crate::data::interval_points::{CLOSE, IntervalPoint, interval_accuracy};
use tarebench_report::number;
use tarebench_report::web::page::{Join, PageAxis, PageCurve, PageFigure, PageQuantity, PageScale};

/// The book's horizontal axis ends here, ns.
pub(crate) const UNTIL: f64 = 300e6;

fn axis(title: &str, quantity: PageQuantity, scales: &[PageScale], shown: (f64, f64)) -> PageAxis {
    PageAxis { title: title.to_owned(), quantity, scales: scales.to_vec(), floor: None, shown: Some(shown) }
}

/// Points of one load, each a measurement.
fn points(load: u32, look: usize, all: &[IntervalPoint]) -> PageCurve {
    let (x, y) = all.iter().filter(|p| p.load == load).map(|p| (p.expected, p.error)).unzip();
    PageCurve { title: format!("load {load}"), look, thin: false, join: Join::Points, x, y, band: None }
}

/// What the book says of long measurements, of these.
fn accuracy(all: &[IntervalPoint]) -> String {
    let percent = |v: f64| number::percent(v).unwrap_or_default();
    match interval_accuracy(all) {
        None => String::new(),
        Some(a) => format!(
            " Of the {} measurements of 100 ms and more, {} are within 10 % of T_c; their mean error is {} (the book: 4 %).",
            a.long,
            percent(a.close),
            percent(a.bias)
        ),
    }
}

/// A point for each measurement of `what`; `None` without any.
pub fn figure_9_8(id: &str, what: &str, all: &[IntervalPoint]) -> Option<PageFigure> {
    let mut loads: Vec<u32> = all.iter().map(|p| p.load).collect();
    loads.sort_unstable();
    loads.dedup();
    let longest = all.last()?.expected.max(UNTIL);
    let bound = |error: f64| PageCurve {
        title: "10 % error".to_owned(),
        look: loads.len(),
        thin: true,
        join: Join::Straight,
        x: vec![0.0, longest],
        y: vec![error, error],
        band: None,
    };
    let series = loads.iter().enumerate().map(|(look, load)| points(*load, look, all));
    Some(PageFigure {
        id: id.to_owned(),
        title: format!("{what}: each measurement (CS:APP figure 9.8)"),
        note: format!(
            "Error (T_m - T_c) / T_c of each measurement T_m, over T_c, the time that the computation takes on a machine of its own. \
             The axes show the book's ranges.{}",
            accuracy(all)
        ),
        x: axis("Expected CPU time", PageQuantity::Time, &[PageScale::Linear], (0.0, UNTIL)),
        y: axis("Error as a multiple of the expected time", PageQuantity::Ratio, &[PageScale::Linear], (-1.0, 1.0)),
        curves: series.chain([bound(CLOSE), bound(-CLOSE)]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_report::svg::figures::figure;

    #[test]
    fn a_point_for_each_measurement_and_the_books_axes() {
        let point = |load, ms: f64, error| IntervalPoint { load, expected: ms * 1e6, error };
        let all = [point(1, 5.0, 1.0), point(11, 20.0, -0.5), point(1, 120.0, 0.05), point(11, 400.0, 0.03)];
        let found = figure_9_8("interval-counting-book", "Interval counting", &all).unwrap();
        let curves: Vec<(&str, usize)> = found.curves.iter().map(|c| (c.title.as_str(), c.x.len())).collect();
        assert_eq!(curves, [("load 1", 2), ("load 11", 2), ("10 % error", 2), ("10 % error", 2)]);
        assert_eq!((found.x.shown, found.y.shown), (Some((0.0, 300e6)), Some((-1.0, 1.0))));
        assert!(
            found.note.contains("Of the 2 measurements of 100 ms and more, 100 % are within 10 %"),
            "{}",
            found.note
        );
        let svg = figure(&found, "box").unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        assert!(!svg.contains("NaN"), "{svg}");
        assert_eq!(figure_9_8("x", "x", &[]), None);
    }
}
