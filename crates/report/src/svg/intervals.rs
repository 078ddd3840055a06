//! The ratios of an overview with their intervals, a row each.

use crate::cell::{Cell, Figure};
use crate::number::fixed;
use crate::svg::axis::{AxisTick, Range};
use crate::svg::drawing::{Anchor, Drawing, EDGE, FAINT, INK, TEXT, TOP, escaped, fitted, px};
use crate::web::page::{Overview, OverviewRow, OverviewVerdict};

const WIDTH: f64 = 760.0;
const ROW: f64 = 24.0;
/// Room for the names on the left, for the figures on the right.
const NAMES: f64 = 190.0;
const FIGURES: f64 = 170.0;
/// More rows than these do not fit on a page.
const MOST: usize = 60;

/// The figure; `None` if no row has a ratio.
pub(crate) fn figure(page: &str, overview: &Overview) -> Option<String> {
    let all = overview.rows.iter().filter_map(|row| Some((row, row.ratio.as_ref()?)));
    let rows: Vec<(&OverviewRow, &Figure)> = all.take(MOST).collect();
    let ends = rows.iter().flat_map(|(row, e)| {
        [e.bounds().map(|i| i.low), Some(e.value), e.bounds().map(|i| i.high), row.limit].into_iter().flatten()
    });
    let range = Range::over(ends)?.and(Range { low: 1.0, high: 1.0 });
    let range = range.of_span((range.span() * 1.08).max(1e-4));
    let below = format!("Ratios with their 95% intervals: {} of {} rows", rows.len(), overview.rows.len());
    let mut d = Drawing::new(WIDTH, page, &below);
    let (left, right) = (EDGE + NAMES, WIDTH - EDGE - FIGURES);
    let x = |ratio: f64| left + (ratio - range.low) / range.span() * (right - left);
    let bottom = TOP + ROW * rows.len() as f64;
    for tick in ticks(range) {
        let at = x(tick.value);
        d.line((at, TOP), (at, bottom), "#dddddd", " stroke-width=\"0.8\"");
        d.text(at, bottom + TEXT + 4.0, Anchor::Middle, &tick.label, INK);
    }
    d.line((x(1.0), TOP), (x(1.0), bottom), INK, " stroke-width=\"1\"");
    for (i, (row, estimate)) in rows.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        d.text(EDGE, y + TEXT * 0.35, Anchor::Start, &fitted(&row.title.plain(), NAMES - 12.0, TEXT), INK);
        let figures = Cell::figure((*estimate).clone()).plain();
        d.text(right + 12.0, y + TEXT * 0.35, Anchor::Start, &fitted(&figures, FIGURES - 12.0, TEXT), FAINT);
        if let Some(limit) = row.limit {
            d.line((x(limit), y - 9.0), (x(limit), y + 9.0), FAINT, " stroke-width=\"1.2\" stroke-dasharray=\"3 2\"");
        }
        interval(&mut d, &x, y, row, estimate);
    }
    d.text((left + right) / 2.0, bottom + 38.0, Anchor::Middle, "ratio; dashed: the largest that is accepted", FAINT);
    let said = overview.answers.iter().map(Cell::plain).collect::<Vec<_>>().join(" ");
    Some(d.finish(bottom + 38.0 + EDGE, page, &format!("{below}. {said}")))
}

fn interval(d: &mut Drawing, x: &impl Fn(f64) -> f64, y: f64, row: &OverviewRow, e: &Figure) {
    let colour = colour(row.verdict);
    if let Some((low, high)) = e.bounds().map(|i| (i.low, i.high)) {
        let (from, to) = (x(low), x(high));
        d.line((from, y), (to, y), colour, " stroke-width=\"2\"");
        for at in [from, to] {
            d.line((at, y - 4.0), (at, y + 4.0), colour, " stroke-width=\"2\"");
        }
    }
    let title = escaped(&fitted(&row.title.plain(), 400.0, TEXT));
    let (at, y) = (px(x(e.value)), px(y));
    d.put(&format!("<circle cx=\"{at}\" cy=\"{y}\" r=\"3.5\" fill=\"{colour}\"><title>{title}</title></circle>\n"));
}

/// Okabe and Ito's colours.
fn colour(verdict: Option<OverviewVerdict>) -> &'static str {
    match verdict {
        Some(OverviewVerdict::Slower | OverviewVerdict::Regression | OverviewVerdict::Failed) => "#d55e00",
        Some(OverviewVerdict::Faster | OverviewVerdict::Improvement) => "#009e73",
        Some(OverviewVerdict::Undecided | OverviewVerdict::Inconclusive) => FAINT,
        _ => "#0072b2",
    }
}

/// Round ratios, about six.
fn ticks(range: Range) -> Vec<AxisTick> {
    let rough = range.span() / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(10.0 * power);
    let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
    let (first, last) = ((range.low / step).ceil() as i64, (range.high / step).floor() as i64);
    let tick = |i: i64| Some(AxisTick { value: i as f64 * step, label: fixed(i as f64 * step, decimals)? });
    (first..=last.min(first.saturating_add(20))).filter_map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Unit;
    use tarebench_core::statistics::intervals::Interval;

    fn row(title: &str, ratio: Option<(f64, f64, f64)>, limit: Option<f64>) -> OverviewRow {
        let estimate = |(value, low, high): (f64, f64, f64)| {
            Figure::new(Unit::Ratio, value).with_interval(&Ok(Interval { low, high, level: 0.95 }))
        };
        OverviewRow {
            title: Cell::foreign(title),
            plot: String::new(),
            mean: None,
            ratio: ratio.map(estimate),
            alone: None,
            basis: Cell::empty(),
            limit,
            verdict: Some(OverviewVerdict::Regression),
            samples: Cell::empty(),
        }
    }

    fn overview(rows: Vec<OverviewRow>) -> Overview {
        Overview {
            answers: vec!["<b>".into()],
            note: Cell::empty(),
            what: "benchmark",
            measure: "time",
            compared: true,
            rows,
            accounts: Vec::new(),
            duets: None,
        }
    }

    #[test]
    fn a_row_for_each_ratio() {
        let rows = vec![
            row("<script>&", Some((1.04, 1.03, 1.05)), Some(1.02)),
            row("none", None, Some(1.02)),
            row("fast", Some((0.97, 0.96, 0.98)), None),
        ];
        let svg = figure("Gate", &overview(rows)).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let circles: Vec<f64> = document
            .descendants()
            .filter(|n| n.has_tag_name("circle"))
            .map(|n| n.attribute("cx").unwrap().parse().unwrap())
            .collect();
        assert_eq!(circles.len(), 2);
        assert!(circles[0] > circles[1], "a larger ratio is further to the right: {circles:?}");
        let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        for says in ["<script>&", "fast", "1.00", "1.040 [1.030, 1.050]"] {
            assert!(texts.contains(&says), "{says}: {texts:?}");
        }
        assert_eq!(figure("Gate", &overview(vec![row("none", None, None)])), None);
        assert_eq!(figure("Gate", &overview(Vec::new())), None);
    }

    #[test]
    fn any_ratios_can_be_drawn() {
        for (value, low, high) in [(1.0, 1.0, 1.0), (1e6, 1e-6, 1e6), (f64::NAN, 0.9, 1.1), (5e-324, 0.0, f64::MAX)] {
            let svg = figure("Gate", &overview(vec![row("a", Some((value, low, high)), Some(value))]));
            let svg = svg.unwrap();
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!svg.contains("NaN") || svg.contains(">NaN ["), "{svg}");
        }
    }
}
