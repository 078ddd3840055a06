//! A dot with its interval, as in the report's overview: a row of a table each, all on one scale.

use crate::pages::page::html::{Attribute, Html};
use tarebench_report::number::fixed;
use tarebench_report::svg::axis::{AxisQuantity, Range, ticks};

/// Part of the width that is left free at either end, per cent, so that a dot at the end is whole.
const MARGIN: f64 = 3.0;

/// What is drawn of a machine; in the unit of the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) value: f64,
    pub(crate) bounds: Option<(f64, f64)>,
    /// It differs from the others.
    pub(crate) odd: bool,
}

/// The range of all dots and their intervals, and of a value that is always shown.
pub(crate) fn range(dots: &[Dot], shown: f64) -> Range {
    let ends = dots.iter().flat_map(|dot| {
        let (low, high) = dot.bounds.unwrap_or((dot.value, dot.value));
        [dot.value, low, high]
    });
    let all = Range::over(ends.chain([shown])).unwrap_or(Range { low: shown, high: shown });
    all.of_span((all.span() * 1.04).max(1e-3))
}

/// The dot; `said` is what it shows, in words.
pub(crate) fn dot(html: &mut Html, range: Range, dot: Dot, reference: f64, said: &str) {
    let class = if dot.odd { "interval odd" } else { "interval" };
    html.element("svg", &[("class", class), ("height", "18"), ("role", "img"), ("aria-label", said)], |h| {
        let at = place(range, reference);
        line(h, "one", (&at, "0"), (&at, "18"));
        if let Some((low, high)) = dot.bounds {
            let (low, high) = (place(range, low), place(range, high));
            line(h, "bar", (&low, "9"), (&high, "9"));
            for end in [&low, &high] {
                line(h, "cap", (end, "5"), (end, "13"));
            }
        }
        let at = place(range, dot.value);
        h.element("circle", &[("class", "point"), ("cx", &at), ("cy", "9"), ("r", "4")], |_| {});
    });
}

/// The scale's labels.
pub(crate) fn scale(html: &mut Html, range: Range) {
    html.element("svg", &[("class", "scale"), ("height", "18"), ("aria-hidden", "true")], |h| {
        for tick in ticks(range, AxisQuantity::Percent, 4) {
            let at = place(range, tick.value);
            let attributes = [("x", at.as_str()), ("y", "13"), ("text-anchor", "middle")];
            h.line("text", &attributes, &format!("{} %", tick.label));
        }
    });
}

fn line(html: &mut Html, class: &'static str, from: (&str, &str), to: (&str, &str)) {
    let attributes: [Attribute<'_>; 5] = [("class", class), ("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
    html.element("line", &attributes, |_| {});
}

/// Where a value stands, in per cent of the width; what is beyond the scale at its end.
fn place(range: Range, value: f64) -> String {
    let share = (value - range.low) / range.span();
    let percent = MARGIN + share.clamp(0.0, 1.0) * (100.0 - 2.0 * MARGIN);
    // Not a number stands at the beginning.
    format!("{}%", fixed(percent, 2).unwrap_or_else(|| MARGIN.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_within_the_scale() {
        let dots = [
            Dot { value: 0.0, bounds: Some((-0.2, 0.3)), odd: false },
            Dot { value: 3.0, bounds: Some((2.8, 3.2)), odd: true },
            Dot { value: f64::NAN, bounds: None, odd: false },
        ];
        let r = range(&dots, 0.0);
        assert!(r.low < -0.2 && r.high > 3.2, "{r:?}");
        let places: Vec<f64> =
            [-9.0, -0.2, 0.0, 3.2, f64::INFINITY].map(|v| place(r, v).trim_end_matches('%').parse().unwrap()).into();
        assert!(places.is_sorted() && places[0] == MARGIN && places[4] == 100.0 - MARGIN, "{places:?}");
        assert_eq!(place(r, f64::NAN), "3%");
        let mut html = Html::new();
        dot(&mut html, r, dots[1], 0.0, "3 % slower");
        scale(&mut html, r);
        let text = format!("<p>{}</p>", html.finish());
        let document = roxmltree::Document::parse(&text).unwrap();
        let count = |tag: &str| document.descendants().filter(|n| n.has_tag_name(tag)).count();
        assert_eq!((count("line"), count("circle")), (4, 1));
        assert!(text.contains("class=\"interval odd\"") && count("text") >= 3, "{text}");
    }
}
