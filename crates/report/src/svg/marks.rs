//! Symbols, colours and the legend.

use crate::svg::drawing::{Anchor, Drawing, INK, TEXT, escaped, fitted, push_px, px, text_width};
use crate::svg::frame::Frame;
use crate::web::page::{Class, PageRole, Symbol};
use std::collections::BTreeMap;

const ROW: f64 = 19.0;
const INDENT: f64 = 20.0;
const APART: f64 = 22.0;
/// Patterns of lines, so that they can be distinguished in print too.
const DASHES: [&str; 4] = ["7 4", "2 3", "9 3 2 3", "14 5"];

/// Okabe and Ito's colours, which people with impaired colour vision can distinguish.
pub fn colour(role: PageRole) -> &'static str {
    match role {
        PageRole::Good => "#0072b2",
        PageRole::Spoiled => "#d55e00",
        PageRole::Drift => "#cc79a7",
        PageRole::Other => "#009e73",
        PageRole::Failed => "#000000",
    }
}

pub fn rank(role: PageRole) -> u8 {
    match role {
        PageRole::Failed => 0,
        PageRole::Spoiled => 1,
        PageRole::Drift => 2,
        PageRole::Other => 3,
        PageRole::Good => 4,
    }
}

/// A symbol around the point where the pen is, all of about the same area.
pub fn glyph(symbol: Symbol, r: f64) -> String {
    let n = |k: f64| px(k * r);
    match symbol {
        Symbol::Circle => format!("m{} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", n(-1.0), r = n(1.0), d = n(2.0)),
        Symbol::Triangle => format!("m0 {}l{} {}h{}z", n(-1.3), n(1.2), n(2.1), n(-2.4)),
        Symbol::Diamond => format!("m0 {m}l{p} {p} {m} {p} {m} {m}z", m = n(-1.3), p = n(1.3)),
        Symbol::Cross => format!("m{m} {m}l{p} {p}m0 {q}l{q} {p}", m = n(-1.0), p = n(2.0), q = n(-2.0)),
        Symbol::Ring => glyph(Symbol::Circle, r),
        Symbol::Plus => format!("m{m} 0h{p}m{m} {m}v{p}", m = n(-1.2), p = n(2.4)),
        Symbol::Square => format!("m{m} {m}h{p}v{p}h{q}z", m = n(-0.9), p = n(1.8), q = n(-1.8)),
    }
}

fn look(class: &Class) -> String {
    let c = colour(class.role);
    match class.symbol {
        Symbol::Cross => format!("fill=\"none\" stroke=\"{c}\" stroke-width=\"1.3\""),
        _ => format!("fill=\"{c}\" fill-opacity=\"0.4\" stroke=\"{c}\" stroke-width=\"0.8\""),
    }
}

/// Points by class index: values of both axes.
pub type Points = BTreeMap<usize, Vec<(f64, f64)>>;

/// Draws points, the good ones below; each class is one path, with its name and count as its title.
pub fn points(d: &mut Drawing, frame: &Frame, classes: &[Class], points: &Points) {
    let known = points.iter().filter_map(|(index, at)| Some((classes.get(*index)?, at)));
    let mut order: Vec<(&Class, &Vec<(f64, f64)>)> = known.collect();
    order.sort_by_key(|(class, _)| std::cmp::Reverse(rank(class.role)));
    let r = match order.iter().map(|(_, at)| at.len()).sum() {
        0..=400 => 3.5,
        401..=4_000 => 2.5,
        _ => 1.8,
    };
    for (class, at) in order {
        let glyph = glyph(class.symbol, r);
        let mut path = String::with_capacity(at.len() * (glyph.len() + 16));
        for (x, y) in at {
            let (x, y) = frame.place(*x, *y);
            path.push('M');
            push_px(&mut path, x);
            path.push(' ');
            push_px(&mut path, y);
            path.push_str(&glyph);
        }
        let title = escaped(&counted(class, at.len()));
        d.put(&format!("<path class=\"points\" {} d=\"{path}\"><title>{title}</title></path>\n", look(class)));
    }
}

/// A class and the number of its members.
pub fn counted(class: &Class, count: usize) -> String {
    format!("{}: {count}", fitted(&class.title, 360.0, TEXT))
}

/// Colour and pattern of the line of this index.
pub fn dash(index: usize) -> String {
    let pattern = DASHES.get(index % DASHES.len()).copied().unwrap_or_default();
    format!(" stroke-width=\"1.3\" stroke-dasharray=\"{pattern}\"")
}

/// An entry of a legend.
pub enum LegendItem<'a> {
    /// Points of a class: how many.
    Points(&'a Class, usize),
    /// Bars of a class: how many samples.
    Bars(&'a Class, usize),
    /// A line, by its index.
    Line(usize, String),
    Thin(String),
}

impl LegendItem<'_> {
    fn text(&self) -> String {
        match self {
            LegendItem::Points(class, count) | LegendItem::Bars(class, count) => counted(class, *count),
            LegendItem::Line(_, text) | LegendItem::Thin(text) => fitted(text, 440.0, TEXT),
        }
    }

    fn mark(&self, d: &mut Drawing, x: f64, y: f64) {
        match self {
            LegendItem::Points(class, _) => {
                let (at_x, at_y) = (px(x + 7.0), px(y));
                d.put(&format!("<path {} d=\"M{at_x} {at_y}{}\"/>\n", look(class), glyph(class.symbol, 4.0)));
            }
            LegendItem::Bars(class, _) => d.rectangle((x + 1.0, y - 5.5), (11.0, 11.0), colour(class.role)),
            LegendItem::Line(index, _) => d.line((x - 10.0, y), (x + 14.0, y), INK, &dash(*index)),
            LegendItem::Thin(_) => d.line((x, y + 5.0), (x + 14.0, y - 5.0), INK, THIN),
        }
    }
}

/// A thin line's further attributes.
pub const THIN: &str = " stroke-width=\"0.7\" stroke-opacity=\"0.6\"";

/// Draws a legend in rows from `top`; returns its bottom, px.
pub fn legend(d: &mut Drawing, frame: &Frame, items: &[LegendItem<'_>], top: f64) -> f64 {
    d.put("<g class=\"legend\">\n");
    let (mut x, mut y) = (frame.left, top + ROW / 2.0);
    for item in items {
        let text = item.text();
        let wide = INDENT + text_width(&text, TEXT);
        if x > frame.left && x + wide > frame.right() + 12.0 {
            x = frame.left;
            y += ROW;
        }
        item.mark(d, x, y);
        d.text(x + INDENT, y + TEXT * 0.35, Anchor::Start, &text, INK);
        x += wide + APART;
    }
    d.put("</g>\n");
    y + ROW / 2.0
}
