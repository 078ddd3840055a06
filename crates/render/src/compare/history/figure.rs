//! A history as a figure in SVG: points with their intervals over the builds, the levels and where they change.

use crate::compare::history::said::{
    answers, build_name, counted, dated, day, shown_range, signed, title, with_interval,
};
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::history::{BenchmarkHistory, HistoryPoint};
use tarebench_report::style::{Glyphs, Style};
use tarebench_report::svg::axis::{Axis, AxisQuantity, AxisTick, Range, ticks};
use tarebench_report::svg::drawing::{Anchor, Drawing, EDGE, FAINT, INK, TEXT, escaped, fitted, push_px, px};
use tarebench_report::svg::frame::Frame;
use tarebench_report::svg::marks::{colour, glyph};
use tarebench_report::web::page::{PageRole, Symbol};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
/// Labels of builds below the figure.
const LABELS: usize = 6;

/// The figure; `None` if there is no build to draw.
pub(crate) fn figure(h: &BenchmarkHistory, zone: &TimeZone) -> Option<String> {
    let g = Style::default().glyphs();
    let (low, high) = shown_range(h)?;
    // The drawing escapes what it shows.
    let show = |text: &str| text.to_owned();
    let anchor = h.anchor.as_ref().map(|a| format!(", relative to {}", dated(a, zone, &show))).unwrap_or_default();
    let below = format!("{}{anchor}", counted(h));
    let mut d = Drawing::new(WIDTH, &title(h), &below);
    let frame = frame(&d, h, Range { low: low * 100.0, high: high * 100.0 });
    let bottom = frame.draw(&mut d);
    changes(&mut d, &frame, h, &g);
    bars(&mut d, &frame, h);
    levels(&mut d, &frame, h);
    for (place, point) in h.points.iter().enumerate() {
        draw(&mut d, &frame, place, point, zone, &g);
    }
    let end = legend(&mut d, h, bottom);
    let said: Vec<String> = answers(h, zone, &g, &show).into_iter().map(|a| a.text).collect();
    Some(d.finish(end + EDGE, &title(h), &format!("{below}: {}.", said.join("; "))))
}

fn frame(d: &Drawing, h: &BenchmarkHistory, range: Range) -> Frame {
    let percent = AxisQuantity::Percent;
    let y = Axis { range, ticks: ticks(range, percent, 6), title: percent.title("change of the time") };
    let n = h.points.len();
    let step = n.div_ceil(LABELS).max(1);
    let room = (WIDTH - 120.0) / LABELS as f64 - 8.0;
    let labelled = h.points.iter().enumerate().step_by(step);
    let labels =
        labelled.map(|(i, p)| AxisTick { value: i as f64, label: fitted(&build_name(&p.build), room, TEXT) }).collect();
    let x_range = Range { low: -0.5, high: n as f64 - 0.5 };
    Frame::new(d, Axis { range: x_range, ticks: labels, title: "builds in order of time".to_owned() }, y, Some(HEIGHT))
}

/// A share as it is drawn: in per cent, and at the edge if it is beyond. `None` for what is no number.
fn shown(frame: &Frame, ratio: f64) -> Option<f64> {
    let percent = (ratio - 1.0) * 100.0;
    (!percent.is_nan()).then(|| percent.clamp(frame.y.range.low, frame.y.range.high))
}

fn changes(d: &mut Drawing, frame: &Frame, h: &BenchmarkHistory, g: &Glyphs) {
    for change in &h.changes {
        let x = frame.place(change.after as f64 - 0.5, frame.y.range.low).0;
        d.line((x, frame.top), (x, frame.bottom()), INK, " stroke-width=\"1\" stroke-dasharray=\"5 4\"");
        let by = format!("{} %", signed(change.ratio - 1.0, 1, g));
        // The label of a change near the right end is on its left.
        let (at, anchor) = if x > frame.right() - 60.0 { (x - 4.0, Anchor::End) } else { (x + 4.0, Anchor::Start) };
        d.text(at, frame.top + TEXT, anchor, &by, INK);
    }
}

/// All intervals as one path.
fn bars(d: &mut Drawing, frame: &Frame, h: &BenchmarkHistory) {
    let mut path = String::new();
    for (place, point) in h.points.iter().enumerate() {
        let bounds = point.interval.as_ref().and_then(|i| shown(frame, i.low).zip(shown(frame, i.high)));
        let Some((low, high)) = bounds else { continue };
        let ((x, from), (_, to)) = (frame.place(place as f64, low), frame.place(place as f64, high));
        path.push('M');
        push_px(&mut path, x);
        path.push(' ');
        push_px(&mut path, from);
        path.push('V');
        push_px(&mut path, to);
    }
    if !path.is_empty() {
        let width = if h.points.len() > 200 { "0.8" } else { "1.4" };
        d.put(&format!(
            "<path class=\"intervals\" d=\"{path}\" fill=\"none\" stroke=\"{FAINT}\" stroke-opacity=\"0.6\" \
             stroke-width=\"{width}\"><title>95 % intervals</title></path>\n"
        ));
    }
}

fn levels(d: &mut Drawing, frame: &Frame, h: &BenchmarkHistory) {
    for level in &h.levels {
        let Some(percent) = shown(frame, level.ratio) else { continue };
        let from = frame.place(level.first as f64 - 0.5, percent);
        let to = frame.place(level.last as f64 + 0.5, percent);
        d.line(from, to, colour(PageRole::Spoiled), " class=\"level\" stroke-width=\"2\"");
    }
}

fn draw(d: &mut Drawing, frame: &Frame, place: usize, point: &HistoryPoint, zone: &TimeZone, g: &Glyphs) {
    let Some(percent) = shown(frame, point.ratio) else { return };
    let (x, y) = frame.place(place as f64, percent);
    let b = &point.build;
    let beyond = percent != (point.ratio - 1.0) * 100.0;
    let symbol = if beyond { Symbol::Diamond } else { Symbol::Circle };
    let fill = if point.other_machine { "#ffffff" } else { colour(PageRole::Good) };
    let said = with_interval(point.ratio, point.interval.as_ref(), g);
    let subject = b.subject.as_deref().map(|s| format!(": {s}")).unwrap_or_default();
    let name = fitted(&format!("{}, {}{subject}", build_name(b), day(b.time, zone)), 600.0, TEXT);
    let r = if frame.x.range.span() > 200.0 { 2.2 } else { 3.5 };
    d.put(&format!(
        "<path class=\"point\" d=\"M{} {}{}\" fill=\"{fill}\" stroke=\"{}\"><title>{}</title></path>\n",
        px(x),
        px(y),
        glyph(symbol, r),
        colour(PageRole::Good),
        escaped(&format!("{said}, {name}"))
    ));
}

/// Says what differs from a filled circle, if anything does; returns where it ends.
fn legend(d: &mut Drawing, h: &BenchmarkHistory, top: f64) -> f64 {
    if h.points.iter().all(|p| !p.other_machine) {
        return top;
    }
    let text = "filled: measured on the machine of the newest gate; open: on another one only";
    d.text(EDGE, top + TEXT, Anchor::Start, text, FAINT);
    top + TEXT + 4.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::history::fixtures;

    #[test]
    fn points_levels_and_changes_are_drawn() {
        let all = fixtures::report().benchmarks;
        let svg = figure(&all[0], &TimeZone::UTC).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |class: &str| document.descendants().filter(|n| n.attribute("class") == Some(class)).count();
        assert_eq!((count("point"), count("level"), count("intervals")), (20, 3, 1));
        let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        assert!(texts.contains(&"+2.0 %") && texts.contains(&"−1.0 %"), "{texts:?}");
        assert!(texts.iter().any(|t| t.starts_with("filled: ")), "{texts:?}");
        assert!(texts.iter().any(|t| t.contains("0000080, 2026-10-09: change 8")), "{texts:?}");
        // The levels are at the heights of their ratios: three, the second one the highest, which is the smallest
        // number.
        let heights: Vec<f64> = document
            .descendants()
            .filter(|n| n.attribute("class") == Some("level"))
            .map(|n| n.attribute("d").unwrap().split([' ', 'L']).nth(1).unwrap().parse().unwrap())
            .collect();
        assert!(heights[1] < heights[2] && heights[2] < heights[0], "{heights:?}");
        let svg = figure(&all[1], &TimeZone::UTC).unwrap();
        assert!(!svg.contains("filled: ") && !svg.contains("stroke-dasharray=\"5 4\""));
    }

    #[test]
    fn hostile_names_and_no_numbers() {
        for h in &fixtures::hostile().benchmarks {
            let svg = figure(h, &TimeZone::UTC).unwrap();
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!svg.contains("<script") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let mut none = fixtures::report().benchmarks.remove(0);
        none.points.clear();
        assert_eq!(figure(&none, &TimeZone::UTC), None);
    }
}
