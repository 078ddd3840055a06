//! Lines with symbols over a logarithmic axis: errors by length.

use crate::kit::number;
use crate::kit::svg::axis::{Axis, Range, Tick};
use crate::kit::svg::drawing::{Anchor, Drawing, INK, TEXT, escaped, fitted, push_px, px, text_width};
use crate::kit::svg::frame::Frame;

/// A figure of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Title and what stands below it.
    pub heading: String,
    /// As above.
    pub below: String,
    /// Title of the horizontal axis.
    pub x: String,
    /// Whether that is of times in ns, logarithmic; else of whole numbers from 1.
    pub times: bool,
    /// Title of the vertical axis: shares, shown as per cent.
    pub y: String,
    /// Smallest share that is told apart, if the vertical axis is logarithmic: what is smaller, or negative, is drawn there.
    pub floor: Option<f64>,
    /// Name and points of each.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
/// Okabe and Ito's colours, with a dash and a symbol each, so that they are told apart in print, too.
const LOOKS: [(&str, &str); 8] = [
    ("#0072b2", ""),
    ("#d55e00", "7 4"),
    ("#009e73", "2 3"),
    ("#cc79a7", "9 3 2 3"),
    ("#000000", "14 5"),
    ("#56b4e9", "4 2"),
    ("#e69f00", "1 2 6 2"),
    ("#7f7f7f", "3 6"),
];
pub(crate) const ROW: f64 = 19.0;
pub(crate) const INDENT: f64 = 34.0;

pub(crate) fn look(index: usize) -> (&'static str, &'static str) {
    LOOKS.get(index % LOOKS.len()).copied().unwrap_or(("#000000", ""))
}

/// A symbol around the point where the pen is.
pub(crate) fn glyph(index: usize) -> &'static str {
    match index % 4 {
        0 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        1 => "m-3.2 -3.2h6.4v6.4h-6.4z",
        2 => "m0 -4.5l4.2 7.4h-8.4z",
        _ => "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
    }
}

/// Ticks at 1, 2, 5 times the powers of ten; fewer where they are many.
pub(crate) fn decades(range: Range, label: impl Fn(f64) -> String) -> Vec<Tick> {
    let all = |steps: &[f64]| {
        let powers = range.low.floor() as i32..=range.high.ceil() as i32;
        let values = powers.flat_map(|p| steps.iter().map(move |s| s * 10_f64.powi(p)));
        let inside = values.filter(|v| (range.low - 1e-9..=range.high + 1e-9).contains(&v.log10()));
        inside.map(|v| Tick { value: v.log10(), label: label(v) }).collect::<Vec<_>>()
    };
    let few = all(&[1.0, 2.0, 5.0]);
    if few.len() <= 10 { few } else { all(&[1.0]) }
}

fn share(value: f64) -> String {
    number::percent(value).unwrap_or_default()
}

/// The figure; `None` if there is nothing to draw.
pub fn figure(lines: &Lines) -> Option<String> {
    let up = |y: f64| match lines.floor {
        Some(floor) => y.max(floor).log10(),
        None => y,
    };
    let across = |x: f64| if lines.times { x.log10() } else { x };
    let place = |(x, y): &(f64, f64)| (across(*x), up(*y));
    let points =
        || lines.series.iter().flat_map(|(_, p)| p.iter().map(place)).filter(|(x, y)| x.is_finite() && y.is_finite());
    let (x, y) = (Range::over(points().map(|p| p.0))?, Range::over(points().map(|p| p.1))?);
    let x = x.of_span(0.3).with_margin_each(0.02);
    let y_ticks = |range: Range| match lines.floor {
        Some(_) => decades(range, share),
        None => {
            let step = linear_step(range.span());
            let first = (range.low / step).ceil() as i64;
            let last = (range.high / step).floor() as i64;
            (first..=last).map(|i| i as f64 * step).map(|v| Tick { value: v, label: share(v) }).collect()
        }
    };
    let y = match lines.floor {
        Some(floor) => Range { low: floor.log10(), high: y.high.max(floor.log10() + 1.0) }.with_margin_each(0.03),
        None => y.and(Range { low: 0.0, high: 0.0 }).of_span(0.01).with_margin_each(0.05),
    };
    let mut d = Drawing::new(WIDTH, &lines.heading, &lines.below);
    let label = |ns: f64| number::time(ns, None, true).unwrap_or_default();
    let x_ticks = if lines.times {
        decades(x, label)
    } else {
        let step = linear_step(x.span()).max(1.0);
        (1..)
            .map(|i| f64::from(i) * step)
            .take_while(|v| *v <= x.high)
            .map(|v| Tick { value: v, label: format!("{v}") })
            .collect()
    };
    let x = Axis { range: x, ticks: x_ticks, title: lines.x.clone() };
    let y = Axis { range: y, ticks: y_ticks(y), title: lines.y.clone() };
    let frame = Frame::new(&d, x, y, Some(HEIGHT));
    let bottom = frame.draw(&mut d);
    if lines.floor.is_none() {
        let (from, to) = (frame.place(frame.x.range.low, 0.0), frame.place(frame.x.range.high, 0.0));
        d.line(from, to, INK, " stroke-width=\"0.8\"");
    }
    for (i, (name, series)) in lines.series.iter().enumerate() {
        let (colour, dash) = look(i);
        let (mut path, mut symbols) = (String::new(), String::new());
        for (x, y) in series.iter().map(place).filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let (x, y) = frame.place(x, y);
            path.push(if path.is_empty() { 'M' } else { 'L' });
            push_px(&mut path, x);
            path.push(' ');
            push_px(&mut path, y);
            symbols += &format!("M{} {}{}", px(x), px(y), glyph(i));
        }
        d.put(&format!(
            "<g stroke=\"{colour}\"><title>{}</title><path d=\"{path}\" fill=\"none\" stroke-width=\"1.4\" \
             stroke-dasharray=\"{dash}\"/><path d=\"{symbols}\" fill=\"#ffffff\"/></g>\n",
            escaped(name)
        ));
    }
    let end = legend(&mut d, &frame, lines, bottom);
    let names: Vec<&str> = lines.series.iter().map(|s| s.0.as_str()).collect();
    let description = format!("{} over {}: {}", lines.y, lines.x, names.join(", "));
    Some(d.finish(end + 12.0, &lines.heading, &description))
}

fn legend(d: &mut Drawing, frame: &Frame, lines: &Lines, top: f64) -> f64 {
    let (mut x, mut y) = (frame.left, top + ROW / 2.0);
    for (i, (name, _)) in lines.series.iter().enumerate() {
        let name = fitted(name, 400.0, TEXT);
        let wide = INDENT + text_width(&name, TEXT);
        if x > frame.left && x + wide > frame.right() {
            x = frame.left;
            y += ROW;
        }
        let (colour, dash) = look(i);
        d.line((x, y), (x + 28.0, y), colour, &format!(" stroke-width=\"1.4\" stroke-dasharray=\"{dash}\""));
        let (at_x, at_y) = (px(x + 14.0), px(y));
        d.put(&format!("<path d=\"M{at_x} {at_y}{}\" fill=\"#ffffff\" stroke=\"{colour}\"/>\n", glyph(i)));
        d.text(x + INDENT, y + TEXT * 0.35, Anchor::Start, &name, INK);
        x += wide + 22.0;
    }
    y + ROW / 2.0
}

/// A round step that gives about six ticks.
pub(crate) fn linear_step(span: f64) -> f64 {
    let rough = span.max(1e-9) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(rough)
}

impl Range {
    /// With a share of the span more at each end.
    pub(crate) fn with_margin_each(self, share: f64) -> Range {
        let more = self.span() * share;
        Range { low: self.low - more, high: self.high + more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(floor: Option<f64>, points: &[(f64, f64)]) -> Lines {
        Lines {
            heading: "A <b>".to_owned(),
            below: String::new(),
            x: "length".to_owned(),
            times: true,
            y: "error".to_owned(),
            floor,
            series: vec![("one & two".to_owned(), points.to_vec()), ("none".to_owned(), Vec::new())],
        }
    }

    #[test]
    fn is_xml_whatever_is_drawn() {
        for floor in [None, Some(0.001)] {
            for points in [&[(1e4, 0.01)][..], &[(1e4, -0.5), (1e7, 30.0)], &[(0.0, 1.0), (1e5, f64::NAN), (1e5, 0.0)]]
            {
                let svg = figure(&lines(floor, points)).unwrap();
                let document = roxmltree::Document::parse(&svg).unwrap();
                assert!(document.descendants().any(|n| n.text() == Some("one & two")));
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
        assert_eq!(figure(&lines(None, &[])), None);
    }

    #[test]
    fn decades_have_round_ticks() {
        let labels = |low: f64, high: f64| {
            let ticks = decades(Range { low: low.log10(), high: high.log10() }, |v| format!("{v}"));
            ticks.into_iter().map(|t| t.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(1.0, 20.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(1.0, 1e5), ["1", "10", "100", "1000", "10000", "100000"]);
    }
}
