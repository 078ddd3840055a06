//! Curves over two axes, each linear, logarithmic or by odds.

use crate::number;
use crate::number::TimeUnit;
use crate::svg::axis::{Axis, AxisQuantity as Of, AxisTick, Range, count_across, ticks};
use crate::svg::drawing::{Anchor, Drawing, EDGE, FAINT, INK, TEXT, escaped, fitted, push_px, px, text_width};
use crate::svg::frame::Frame;
use crate::web::page;
use crate::web::page::{Join, PageCurve, PageFigure, PageQuantity, PageScale};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
/// The most points that have room for symbols.
const MARKED: usize = 20;
/// No axis by odds has more nines than a share has digits.
const NINES: i32 = 12;

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
const ROW: f64 = 19.0;
const INDENT: f64 = 34.0;

fn look(index: usize) -> (&'static str, &'static str) {
    LOOKS.get(index % LOOKS.len()).copied().unwrap_or(("#000000", ""))
}

/// A symbol around the point where the pen is.
fn glyph(index: usize) -> &'static str {
    match index % 4 {
        0 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        1 => "m-3.2 -3.2h6.4v6.4h-6.4z",
        2 => "m0 -4.5l4.2 7.4h-8.4z",
        _ => "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
    }
}

/// Ticks at 1, 2, 5 times the powers of ten; fewer where they are many.
fn decades(range: Range, label: impl Fn(f64) -> String) -> Vec<AxisTick> {
    let all = |steps: &[f64]| {
        let powers = range.low.floor() as i32..=range.high.ceil() as i32;
        let values = powers.flat_map(|p| steps.iter().map(move |s| s * 10_f64.powi(p)));
        let inside = values.filter(|v| (range.low - 1e-9..=range.high + 1e-9).contains(&v.log10()));
        inside.map(|v| AxisTick { value: v.log10(), label: label(v) }).collect::<Vec<_>>()
    };
    let few = all(&[1.0, 2.0, 5.0]);
    if few.len() <= 10 { few } else { all(&[1.0]) }
}

/// How an axis places its values.
struct Spread<'a> {
    axis: &'a page::PageAxis,
    scale: PageScale,
}

impl Spread<'_> {
    fn place(&self, value: f64) -> f64 {
        let floor = self.axis.floor.unwrap_or(0.0);
        match self.scale {
            PageScale::Linear => value,
            PageScale::Log => value.max(floor).log10(),
            PageScale::Logit => {
                let p = value.clamp(floor, 1.0 - floor);
                (p / (1.0 - p)).log10()
            }
        }
    }

    /// Of what is shown, with its ticks; `None` if there is no value that has a place.
    fn axis(&self, values: impl Iterator<Item = f64>, room: f64, across: bool) -> Option<Axis> {
        let wide = if self.scale == PageScale::Linear { 0.0 } else { 0.3 };
        let range = match self.axis.shown {
            Some((low, high)) => Range::over([self.place(low), self.place(high)])?,
            None => Range::over(values.map(|v| self.place(v)))?,
        };
        let range = match (self.scale, self.axis.quantity) {
            (PageScale::Linear, PageQuantity::Share) => {
                range.and(Range { low: 0.0, high: 0.0 }).of_span(1e-9).with_margin_each(0.03)
            }
            (PageScale::Linear, PageQuantity::Time) => range.with_margin(0.03),
            (PageScale::Linear, _) => range.of_span(range.high.abs() * 1e-3).with_margin_each(0.04),
            _ => range.of_span(wide).with_margin_each(0.03),
        };
        let (ticks, title) = self.ticks(range, room, across);
        Some(Axis { range, ticks, title })
    }

    fn ticks(&self, range: Range, room: f64, across: bool) -> (Vec<AxisTick>, String) {
        let title = self.axis.title.clone();
        let quantity = self.axis.quantity;
        let all = match (self.scale, quantity) {
            (PageScale::Linear, PageQuantity::Time | PageQuantity::Count) => {
                let of = if quantity == PageQuantity::Time { Of::Time(range.unit()) } else { Of::Count };
                let wanted = if across { count_across(range, of, room, 10) } else { 6 };
                return (ticks(range, of, wanted), of.title(&title));
            }
            (PageScale::Linear, _) => {
                let step = linear_step(range.span());
                let (first, last) = ((range.low / step).ceil() as i64, (range.high / step).floor() as i64);
                let places = (first..=last).map(|i| i as f64 * step);
                places.map(|v| AxisTick { value: v, label: even(v, step, quantity) }).collect()
            }
            (PageScale::Log, _) => decades(range, |v| label(v, quantity)),
            (PageScale::Logit, _) => self.odds(range),
        };
        (all, title)
    }

    /// Powers of ten and their complements, and half.
    fn odds(&self, range: Range) -> Vec<AxisTick> {
        let low = (1..=NINES).rev().map(|k| 10_f64.powi(-k));
        let shares = low.clone().map(|p| (p, label(p, PageQuantity::Share))).chain([(0.5, "50 %".to_owned())]);
        let high = (1..=NINES).map(|k| {
            let decimals = usize::try_from(k - 2).unwrap_or(0);
            (1.0 - 10_f64.powi(-k), format!("{:.decimals$} %", 100.0 * (1.0 - 10_f64.powi(-k))))
        });
        let inside = |v: &f64| (range.low..=range.high).contains(v);
        let all = shares.chain(high).map(|(p, label)| AxisTick { value: (p / (1.0 - p)).log10(), label });
        all.filter(|t| inside(&t.value)).collect()
    }
}

/// A round number of its kind.
fn label(value: f64, quantity: PageQuantity) -> String {
    match quantity {
        PageQuantity::Time => {
            let unit = TimeUnit::of(value);
            format!("{} {}", (value / unit.nanos() * 1e6).round() / 1e6, unit.sign(true))
        }
        PageQuantity::Share if value < 9e-5 => format!("{value:.0e}"),
        PageQuantity::Share => format!("{} %", (value * 1e8).round() / 1e6),
        PageQuantity::Count if value >= 1e6 => format!("{}M", value / 1e6),
        PageQuantity::Count if value >= 1e4 => format!("{}k", value / 1e3),
        PageQuantity::Count | PageQuantity::Ratio => format!("{}", (value * 1e6).round() / 1e6),
    }
}

/// A multiple of a step.
fn even(value: f64, step: f64, quantity: PageQuantity) -> String {
    let (value, step, sign) =
        if quantity == PageQuantity::Share { (value * 100.0, step * 100.0, " %") } else { (value, step, "") };
    number::fixed(value, (-step.log10() - 1e-9).ceil().max(0.0) as usize).unwrap_or_default() + sign
}

/// The figure on the scale of this number of its vertical axis; `None` if nothing can be drawn.
pub fn figure(data: &PageFigure, below: &str, scale: usize) -> Option<String> {
    let x = Spread { axis: &data.x, scale: *data.x.scales.first()? };
    let y = Spread { axis: &data.y, scale: *data.y.scales.get(scale)? };
    let shown = |v: f64| data.x.shown.is_none_or(|(low, high)| (low..=high).contains(&v));
    let seen = || data.curves.iter().flat_map(|c| c.x.iter().zip(&c.y).filter(|(x, _)| shown(**x)));
    let bounds = data.curves.iter().filter_map(|c| c.band.as_ref()).flat_map(|b| b.low.iter().chain(&b.high)).flatten();
    // An interval may reach to 0, which has no place on a logarithmic scale; it does not widen it.
    let bounds = bounds.copied().filter(|_| y.scale == PageScale::Linear);
    let mut d = Drawing::new(WIDTH, &data.title, below);
    let x_axis = x.axis(seen().map(|(x, _)| *x), WIDTH - 120.0, true)?;
    let y_axis = y.axis(seen().map(|(_, y)| *y).chain(bounds), HEIGHT, false)?;
    let frame = Frame::new(&d, x_axis, y_axis, Some(HEIGHT));
    let bottom = frame.draw(&mut d);
    if y.scale == PageScale::Linear && seen().any(|(_, y)| *y < 0.0) {
        let (from, to) = (frame.place(frame.x.range.low, 0.0), frame.place(frame.x.range.high, 0.0));
        d.line(from, to, INK, " stroke-width=\"0.8\"");
    }
    for curve in &data.curves {
        band(&mut d, &frame, curve, &x, &y);
    }
    for curve in &data.curves {
        draw(&mut d, &frame, curve, &x, &y);
    }
    let end = legend(&mut d, &frame, &data.curves, bottom);
    let end = note(&mut d, &data.note, end);
    Some(d.finish(end + 12.0, &data.title, &format!("{} over {}. {}", data.y.title, data.x.title, data.note)))
}

type Spots = Vec<(f64, f64)>;

/// The corners of a curve between the ends of the horizontal axis, in what is drawn.
fn corners(curve: &PageCurve, frame: &Frame, x: &Spread<'_>, y: &Spread<'_>) -> Spots {
    let places = curve.x.iter().zip(&curve.y).map(|(a, b)| (x.place(*a), y.place(*b)));
    let mut all = Spots::new();
    for (a, b) in places.filter(|(a, b)| a.is_finite() && b.is_finite()) {
        if let Some((before, at)) = all.last().copied() {
            match curve.join {
                Join::Straight | Join::Points => {}
                Join::Before => all.push((a, at)),
                Join::After => all.push((before, b)),
            }
        }
        all.push((a, b));
    }
    cut(&all, frame.x.range)
}

/// What of a line is within a range of x.
fn cut(line: &[(f64, f64)], range: Range) -> Spots {
    let mut out = Spots::new();
    let inside = |x: f64| (range.low..=range.high).contains(&x);
    for (i, (x, y)) in line.iter().copied().enumerate() {
        if let Some((px, py)) = i.checked_sub(1).and_then(|before| line.get(before)).copied() {
            let mut ends: Vec<f64> = [range.low, range.high].into_iter().filter(|e| (px < *e) && (*e < x)).collect();
            ends.sort_by(f64::total_cmp);
            out.extend(ends.into_iter().map(|e| (e, py + (y - py) * (e - px) / (x - px))));
        }
        if inside(x) {
            out.push((x, y));
        }
    }
    out
}

fn path(frame: &Frame, spots: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (x, y) in spots {
        let (x, y) = frame.place(*x, y.clamp(frame.y.range.low, frame.y.range.high));
        out.push(if out.is_empty() { 'M' } else { 'L' });
        push_px(&mut out, x);
        out.push(' ');
        push_px(&mut out, y);
    }
    out
}

/// The intervals as an area; one without an upper bound reaches to the top.
fn band(d: &mut Drawing, frame: &Frame, curve: &PageCurve, x: &Spread<'_>, y: &Spread<'_>) {
    let Some(band) = &curve.band else { return };
    let bounds = curve.x.iter().zip(&band.low).zip(&band.high).filter_map(|((at, low), high)| {
        let top = high.map_or(frame.y.range.high, |h| y.place(h));
        Some((x.place(*at), y.place((*low)?).max(frame.y.range.low), top))
    });
    let (mut up, mut down) = (Spots::new(), Spots::new());
    for (at, low, high) in bounds.filter(|(at, ..)| at.is_finite()) {
        up.push((at, high));
        down.push((at, low));
    }
    if up.len() < 2 {
        return;
    }
    let outline = path(frame, &up.into_iter().chain(down.into_iter().rev()).collect::<Spots>());
    let (title, (colour, _)) = (escaped(&format!("{}: {}", curve.title, band.title)), look(curve.look));
    d.put(&format!(
        "<path class=\"band\" d=\"{outline}z\" fill=\"{colour}\" fill-opacity=\"0.14\"><title>{title}</title></path>\n"
    ));
}

fn stroke(curve: &PageCurve) -> String {
    let (colour, dash) = look(curve.look);
    let (width, dash) = if curve.thin { ("0.8", "1 3") } else { ("1.5", dash) };
    format!("stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"")
}

/// Whether its points have symbols.
fn is_marked(curve: &PageCurve) -> bool {
    curve.join == Join::Points || !curve.thin && curve.x.len() <= MARKED
}

fn draw(d: &mut Drawing, frame: &Frame, curve: &PageCurve, x: &Spread<'_>, y: &Spread<'_>) {
    let title = escaped(&curve.title);
    if curve.join != Join::Points {
        let line = path(frame, &corners(curve, frame, x, y));
        d.put(&format!(
            "<path class=\"curve\" d=\"{line}\" fill=\"none\" {}><title>{title}</title></path>\n",
            stroke(curve)
        ));
    }
    if !is_marked(curve) {
        return;
    }
    let mut symbols = String::new();
    let places = curve.x.iter().zip(&curve.y).map(|(a, b)| (x.place(*a), y.place(*b)));
    for (a, b) in places.filter(|(a, b)| b.is_finite() && (frame.x.range.low..=frame.x.range.high).contains(a)) {
        let (a, b) = frame.place(a, b);
        symbols += &format!("M{} {}{}", px(a), px(b), glyph(curve.look));
    }
    d.put(&format!("<path class=\"points\" d=\"{symbols}\" fill=\"#ffffff\" stroke=\"{}\"/>\n", look(curve.look).0));
}

fn legend(d: &mut Drawing, frame: &Frame, curves: &[PageCurve], top: f64) -> f64 {
    d.put("<g class=\"legend\">\n");
    let (mut x, mut y) = (frame.left, top + ROW / 2.0);
    for curve in curves.iter().filter(|c| !c.thin) {
        let name = fitted(&curve.title, 400.0, TEXT);
        let wide = INDENT + text_width(&name, TEXT);
        if x > frame.left && x + wide > frame.right() {
            x = frame.left;
            y += ROW;
        }
        if curve.join != Join::Points {
            d.put(&format!("<path d=\"M{} {}h28\" fill=\"none\" {}/>\n", px(x), px(y), stroke(curve)));
        }
        if is_marked(curve) {
            let (at_x, at_y, colour) = (px(x + 14.0), px(y), look(curve.look).0);
            d.put(&format!("<path d=\"M{at_x} {at_y}{}\" fill=\"#ffffff\" stroke=\"{colour}\"/>\n", glyph(curve.look)));
        }
        d.text(x + INDENT, y + TEXT * 0.35, Anchor::Start, &name, INK);
        x += wide + 22.0;
    }
    d.put("</g>\n");
    y + ROW / 2.0
}

/// A note in lines of the figure's width; returns where it ends.
fn note(d: &mut Drawing, text: &str, top: f64) -> f64 {
    let (room, mut y) = (WIDTH - 2.0 * EDGE, top);
    let mut line = String::new();
    let mut put = |line: &str, y: &mut f64| {
        *y += 16.0;
        d.text(EDGE, *y, Anchor::Start, line, FAINT);
    };
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if text_width(&longer, TEXT) > room && !line.is_empty() {
            put(&line, &mut y);
            word.clone_into(&mut line);
        } else {
            line = longer;
        }
    }
    if !line.is_empty() {
        put(&line, &mut y);
    }
    y
}

/// A round step that gives about six ticks.
fn linear_step(span: f64) -> f64 {
    let rough = span.max(1e-9) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(rough)
}

impl Range {
    /// With a share of the span more at each end.
    fn with_margin_each(self, share: f64) -> Range {
        let more = self.span() * share;
        Range { low: self.low - more, high: self.high + more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_have_round_ticks() {
        let labels = |low: f64, high: f64| {
            let ticks = decades(Range { low: low.log10(), high: high.log10() }, |v| format!("{v}"));
            ticks.into_iter().map(|t| t.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(1.0, 20.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(1.0, 1e5), ["1", "10", "100", "1000", "10000", "100000"]);
    }

    /// However many there are, and with no line between them.
    #[test]
    fn points_have_symbols_and_no_line() {
        let axis = |quantity| page::PageAxis {
            title: "t".to_owned(),
            quantity,
            scales: vec![PageScale::Linear],
            floor: None,
            shown: None,
        };
        let figure_of = |join, count: u32| {
            let curve = PageCurve {
                title: "<a duet>".to_owned(),
                look: 0,
                thin: false,
                join,
                x: (1..=count).map(f64::from).collect(),
                y: (1..=count).map(|i| 1.0 + 0.001 * f64::from(i % 7)).collect(),
                band: None,
            };
            let (x, y) = (axis(PageQuantity::Count), axis(PageQuantity::Ratio));
            let (title, note) = ("<t>".to_owned(), String::new());
            figure(&PageFigure { id: "f".to_owned(), title, note, x, y, curves: vec![curve] }, "", 0).unwrap()
        };
        let points = figure_of(Join::Points, 50);
        assert!(points.contains("class=\"points\"") && !points.contains("class=\"curve\""), "{points}");
        assert_eq!(points.matches(glyph(0)).count(), 50 + 1, "one in the legend");
        assert!(!points.contains("<a duet>"));
        let line = figure_of(Join::Straight, 50);
        assert!(line.contains("class=\"curve\"") && !line.contains("class=\"points\""));
    }
}
