//! Gross = net + tare: the mean account as one bar.

use crate::number;
use crate::svg::about::About;
use crate::svg::axis::{Axis, AxisQuantity, Range, ticks_across};
use crate::svg::drawing::{Anchor, Drawing, EDGE, FAINT, INK, TEXT, TOP, escaped, fitted, px, text_width};
use crate::web::page::{PageAccount, PageEntry};

const WIDTH: f64 = 720.0;
const BAR: f64 = 44.0;
const ROW: f64 = 20.0;
const NET: &str = "#0072b2";
/// Colours of the tare's entries: Okabe and Ito's other colours, then greys.
const TARE: [&str; 9] =
    ["#d55e00", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#f0e442", "#000000", "#7f7f7f", "#bfbfbf"];

/// An entry's mean, ns, and colour.
struct BarSegment<'a> {
    entry: &'a PageEntry,
    mean: f64,
    colour: &'static str,
}

/// The figure; `None` if no sample has an account.
pub(crate) fn figure(about: &About<'_>, account: &PageAccount) -> Option<String> {
    let (samples, which) = samples(account)?;
    let parts = parts(account, &samples);
    let sum = |role: Option<&str>| -> f64 {
        parts.iter().filter(|p| role.is_none_or(|r| p.entry.role == r)).map(|p| p.mean).sum()
    };
    let (gross, net, tare) = (sum(None), sum(Some("net")), sum(Some("tare")));
    let below = format!(
        "Account: gross {} = net {} + tare {}; mean of {} {which}",
        time(gross),
        time(net),
        time(tare),
        samples.len()
    );
    let mut d = Drawing::new(WIDTH, &about.plot.title, &below);
    let under = bar(&mut d, &parts, gross);
    let bottom = table(&mut d, &parts, gross, under);
    let description = format!("{}. {below}. {}", about.page, about.plot.note);
    Some(d.finish(bottom + EDGE, &format!("{}: {below}", about.plot.title), &description))
}

fn time(ns: f64) -> String {
    number::time(ns, None, true).unwrap_or_default()
}

/// Positions of the retained samples that have an account, or of all if no retained one has.
fn samples(account: &PageAccount) -> Option<(Vec<usize>, &'static str)> {
    let longest = account.values.iter().map(Vec::len).max().unwrap_or(0);
    let has = |i: &usize| account.values.iter().any(|values| matches!(values.get(*i), Some(Some(_))));
    let retained: Vec<usize> = account.retained.iter().copied().filter(has).collect();
    let all: Vec<usize> = (0..longest).filter(has).collect();
    match (retained.is_empty(), all.is_empty()) {
        (false, _) => Some((retained, "retained samples")),
        (true, false) => Some((all, "samples, none of them retained")),
        (true, true) => None,
    }
}

/// The mean of each entry over the samples that have it; entries that no sample has are omitted.
fn parts<'a>(account: &'a PageAccount, samples: &[usize]) -> Vec<BarSegment<'a>> {
    let mut colours = TARE.iter().copied().cycle();
    let part = |(entry, values): (&'a PageEntry, &Vec<Option<i64>>)| {
        let colour = if entry.role == "net" { NET } else { colours.next().unwrap_or(INK) };
        let known = samples.iter().filter_map(|i| *values.get(*i)?);
        let (sum, count) = known.fold((0.0, 0u32), |(sum, count), v| (sum + v as f64, count + 1));
        (count > 0).then(|| BarSegment { entry, mean: sum / f64::from(count), colour })
    };
    account.entries.iter().zip(&account.values).filter_map(part).collect()
}

/// Per cent of the gross time; nothing where there is none.
fn share(mean: f64, gross: f64) -> String {
    if gross > 0.0 { number::percent(mean / gross).unwrap_or_default() } else { String::new() }
}

/// The bar over its axis. Returns the top of the next element, px.
fn bar(d: &mut Drawing, parts: &[BarSegment<'_>], gross: f64) -> f64 {
    let room = d.width - 2.0 * EDGE;
    // Negative times have no width.
    let total: f64 = parts.iter().map(|p| p.mean.max(0.0)).sum();
    let range = Range { low: 0.0, high: if total > 0.0 { total } else { 1.0 } };
    let across = |ns: f64| ns / range.high * room;
    let mut x = EDGE;
    d.put("<g class=\"bar\">\n");
    for p in parts {
        let wide = across(p.mean.max(0.0));
        let title = escaped(&format!("{}: {}", p.entry.title, time(p.mean)));
        let (left, width, colour) = (px(x), px(wide), p.colour);
        d.put(&format!(
            "<rect x=\"{left}\" y=\"{TOP}\" width=\"{width}\" height=\"{BAR}\" fill=\"{colour}\">\
             <title>{title}</title></rect>\n"
        ));
        let label = share(p.mean, gross);
        if text_width(&label, TEXT) + 10.0 < wide {
            let dark = matches!(p.colour, NET | "#000000" | "#d55e00" | "#7f7f7f" | "#009e73");
            let ink = if dark { "#ffffff" } else { INK };
            d.text(x + wide / 2.0, TOP + BAR / 2.0 + TEXT * 0.35, Anchor::Middle, &label, ink);
        }
        x += wide;
    }
    d.put("</g>\n");
    let quantity = AxisQuantity::Time(range.unit());
    let title = quantity.title("mean elapsed time of a sample");
    axis(d, &Axis { range, ticks: ticks_across(range, quantity, room, 8), title }, across)
}

fn axis(d: &mut Drawing, axis: &Axis, across: impl Fn(f64) -> f64) -> f64 {
    let base = TOP + BAR + 6.0;
    let room = d.width - 2.0 * EDGE;
    d.put("<g class=\"x-axis\">\n");
    d.line((EDGE, base), (EDGE + room, base), INK, " stroke-width=\"0.8\"");
    for tick in &axis.ticks {
        let x = EDGE + across(tick.value);
        d.line((x, base), (x, base + 5.0), INK, " stroke-width=\"0.8\"");
        // Labels at the ends stay inside the drawing.
        let half = text_width(&tick.label, TEXT) / 2.0;
        let inside = x.clamp(half + 2.0, (d.width - half - 2.0).max(half + 2.0));
        d.text(inside, base + 18.0, Anchor::Middle, &tick.label, INK);
    }
    d.put("</g>\n");
    d.text(EDGE + room / 2.0, base + 38.0, Anchor::Middle, &axis.title, INK);
    base + 54.0
}

/// Entries with their means and shares. Returns its bottom, px.
fn table(d: &mut Drawing, parts: &[BarSegment<'_>], gross: f64, top: f64) -> f64 {
    let (times, shares) = (420.0, 500.0);
    let mut y = top;
    d.put("<g class=\"legend\">\n");
    for p in parts {
        d.rectangle((EDGE + 1.0, y + 4.0), (12.0, 12.0), p.colour);
        let base = y + 14.0;
        let title = fitted(p.entry.title, times - EDGE - 100.0, TEXT);
        d.text(EDGE + 22.0, base, Anchor::Start, &title, INK);
        d.text(times, base, Anchor::End, &time(p.mean), INK);
        d.text(shares, base, Anchor::End, &share(p.mean, gross), FAINT);
        y += ROW;
    }
    d.put("</g>\n");
    y
}
