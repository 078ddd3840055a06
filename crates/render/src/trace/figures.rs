//! When a process had its CPU, as CS:APP figures 9.4 and 9.6: a bar with its inactive periods, triangles at timer interrupts.

use crate::trace::activity::Activity;
use crate::trace::timeline::timeline;
use std::collections::BTreeMap;
use tarebench_report::cell::Cell;
use tarebench_report::number;
use tarebench_report::number::TimeUnit;
use tarebench_report::svg::axis::{AxisQuantity, Range, ticks_across};
use tarebench_report::svg::drawing::{Anchor, Drawing, EDGE, FAINT, INK, TEXT, TOP, fitted, push_px, px, text_width};
use tarebench_report::svg::marks::glyph;
use tarebench_report::web::page::{GapClass, PageCause, PageTimeline, Symbol};

const WIDTH: f64 = 960.0;
/// Up to this length the trace is in one row, ns; a trace is always a little longer than requested.
const ONE_ROW: f64 = 102e6;
/// Smallest length of a row of a folded trace, ns.
const FOLDED: f64 = 100e6;
/// The most rows of a folded trace.
const ROWS: f64 = 40.0;
/// Heights of a row's parts, px: signs, bar, triangles, and what is between rows.
const SIGNS: f64 = 11.0;
const BAR: f64 = 16.0;
const TRIANGLES: f64 = 11.0;
const BETWEEN: f64 = 7.0;
/// Signs of one kind closer than this are drawn as one, px.
const APART: f64 = 6.0;
/// Smallest width of a period, px.
const LEAST: f64 = 0.8;
/// The most causes that are listed.
const LISTED: usize = 16;
const ACTIVE: &str = "#d3d9df";
const LEGEND_ROW: f64 = 19.0;

/// Colours of Okabe and Ito, which people with impaired colour vision can distinguish; in print the signs distinguish the classes.
fn look(class: GapClass) -> (&'static str, Symbol) {
    match class {
        GapClass::Timer => ("#e69f00", Symbol::Triangle),
        GapClass::Interrupt => ("#cc79a7", Symbol::Diamond),
        GapClass::Softirq => ("#56b4e9", Symbol::Circle),
        GapClass::Task => ("#d55e00", Symbol::Square),
        GapClass::Idle => ("#009e73", Symbol::Plus),
        GapClass::NoEvent => ("#000000", Symbol::Cross),
        GapClass::Unknown => ("#7f7f7f", Symbol::Ring),
    }
}

/// The rows that a trace is folded into.
struct Rows {
    /// ns.
    each: f64,
    count: usize,
    left: f64,
    width: f64,
}

impl Rows {
    fn of(length: f64) -> Rows {
        let (each, count) = if length <= ONE_ROW {
            (length.max(1.0), 1)
        } else {
            let each = round(FOLDED.max(length / ROWS));
            (each, (length / each).ceil() as usize)
        };
        let last = number::fixed(each * count as f64 / 1e6, 0).unwrap_or_default();
        let left = if count == 1 { EDGE } else { EDGE + text_width(&last, TEXT) + 10.0 };
        Rows { each, count, left, width: WIDTH - left - EDGE }
    }

    fn top(&self, row: usize) -> f64 {
        TOP + row as f64 * (SIGNS + BAR + TRIANGLES + BETWEEN)
    }

    fn bottom(&self) -> f64 {
        self.top(self.count) - BETWEEN
    }

    /// Row and place of a moment, px.
    fn place(&self, ns: f64) -> (usize, f64) {
        let row = ((ns / self.each) as usize).min(self.count.saturating_sub(1));
        (row, self.left + (ns - row as f64 * self.each) / self.each * self.width)
    }

    /// The parts of a period by row: row, left, width.
    fn parts(&self, start: f64, end: f64) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let (first, last) = (self.place(start).0, self.place(end).0);
        (first..=last).filter_map(move |row| {
            let from = (start / self.each - row as f64).max(0.0) * self.width;
            let to = (end / self.each - row as f64).min(1.0) * self.width;
            (to > from || (start == end && row == first)).then_some((row, self.left + from, to - from))
        })
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below it.
fn round(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|d| d * power).find(|v| *v >= value * 0.999_999).unwrap_or(10.0 * power)
}

/// The figure of a trace: each row is a stretch of time, in ms; `foot` names the tool and the date.
///
/// Short periods are drawn wider than they are, and overlapping signs are merged. The size is bounded by the
/// rows, not by the number of periods.
pub fn trace(a: &Activity, foot: &str) -> String {
    let t = timeline(a);
    let rows = Rows::of(t.length);
    let active = a.summary.active.and_then(number::percent).unwrap_or_default();
    let heading = format!("Activity of a process on CPU {} at load {}", a.made.cpu, a.made.load);
    let below = format!("active for {active} of {}; {} inactive periods", time(t.length), t.start.len());
    let mut d = Drawing::new(WIDTH, &heading, &below);
    bars(&mut d, &t, &rows);
    signs(&mut d, &t, &rows);
    labels(&mut d, &t, &rows);
    let under = axis(&mut d, &t, &rows);
    let bottom = legend(&mut d, &t, under);
    d.text(EDGE, bottom + TEXT, Anchor::Start, &fitted(foot, WIDTH - 2.0 * EDGE, TEXT), FAINT);
    let words = t.causes.iter().map(|c| format!("{}: {} of {}", c.title, c.gaps, time(c.time)));
    let words: Vec<String> = words.take(LISTED).collect();
    d.finish(bottom + TEXT + EDGE, &format!("{heading}: {below}"), &format!("{}. {foot}", words.join(". ")))
}

fn time(ns: f64) -> String {
    Cell::time(ns).plain()
}

fn class_of(t: &PageTimeline, gap: usize) -> GapClass {
    t.cause.get(gap).and_then(|c| t.causes.get(*c)).map_or(GapClass::Unknown, |c| c.class)
}

/// Active time, and over it the inactive periods, one path for each class and row.
fn bars(d: &mut Drawing, t: &PageTimeline, rows: &Rows) {
    d.put("<g class=\"active\">\n");
    for (row, x, wide) in rows.parts(0.0, t.length) {
        d.rectangle((x, rows.top(row) + SIGNS), (wide, BAR), ACTIVE);
    }
    d.put("</g>\n");
    // By class and row: the path, and the position that it has reached.
    let mut paths: BTreeMap<(GapClass, usize), (String, f64)> = BTreeMap::new();
    for (i, (start, duration)) in t.start.iter().zip(&t.duration).enumerate() {
        let class = class_of(t, i);
        for (row, x, wide) in rows.parts(*start, start + duration) {
            let (path, reached) = paths.entry((class, row)).or_insert_with(|| (String::new(), f64::NEG_INFINITY));
            let (from, to) = (x.max(*reached), x + wide.max(LEAST));
            // Already drawn.
            if to - from < 0.3 {
                continue;
            }
            let top = rows.top(row) + SIGNS;
            path.push('M');
            push_px(path, from);
            path.push(' ');
            push_px(path, top);
            path.push('H');
            push_px(path, to);
            path.push('v');
            push_px(path, BAR);
            path.push('H');
            push_px(path, from);
            path.push('z');
            *reached = to;
        }
    }
    for ((class, _), (path, _)) in paths {
        d.put(&format!("<path class=\"gaps\" fill=\"{}\" d=\"{path}\"/>\n", look(class).0));
    }
}

/// Triangles below the bar at timer interrupts, as in the book; above it the signs of all other causes.
fn signs(d: &mut Drawing, t: &PageTimeline, rows: &Rows) {
    let others = t.start.iter().enumerate().map(|(i, at)| (class_of(t, i), *at));
    let others = others.filter(|(class, _)| *class != GapClass::Timer);
    let all = t.ticks.iter().map(|at| (GapClass::Timer, *at)).chain(others);
    let mut paths: BTreeMap<GapClass, (String, usize, f64)> = BTreeMap::new();
    for (class, at) in all.filter(|(_, at)| *at >= 0.0 && *at <= t.length) {
        let (row, x) = rows.place(at);
        let (path, last_row, last) = paths.entry(class).or_insert_with(|| (String::new(), usize::MAX, 0.0));
        if *last_row == row && x - *last < APART {
            continue;
        }
        (*last_row, *last) = (row, x);
        let bar = rows.top(row) + SIGNS;
        let y = if class == GapClass::Timer { bar + BAR + TRIANGLES - 4.0 } else { bar - 5.0 };
        path.push('M');
        push_px(path, x);
        path.push(' ');
        push_px(path, y);
        path.push_str(&glyph(look(class).1, 3.0));
    }
    for (class, (path, ..)) in paths {
        d.put(&format!("<path class=\"signs\" {} d=\"{path}\"/>\n", ink(class)));
    }
}

fn ink(class: GapClass) -> String {
    let (colour, symbol) = look(class);
    match symbol {
        Symbol::Cross | Symbol::Plus | Symbol::Ring => {
            format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"")
        }
        // In the book they are grey.
        _ if class == GapClass::Timer => "fill=\"#7f7f7f\"".to_owned(),
        _ => format!("fill=\"{colour}\""),
    }
}

/// The cause of a long period, inside it.
fn labels(d: &mut Drawing, t: &PageTimeline, rows: &Rows) {
    for (i, (start, duration)) in t.start.iter().zip(&t.duration).enumerate() {
        let Some(cause) = t.cause.get(i).and_then(|c| t.causes.get(*c)) else { continue };
        let Some((row, x, wide)) = rows.parts(*start, start + duration).find(|p| p.2 > 46.0) else { continue };
        let title = cause.title.plain();
        let text = title.strip_prefix("preempted by ").unwrap_or(&title);
        let text = fitted(text, wide - 8.0, TEXT);
        let light = matches!(cause.class, GapClass::NoEvent | GapClass::Unknown | GapClass::Task | GapClass::Idle);
        let y = rows.top(row) + SIGNS + BAR / 2.0 + TEXT * 0.35;
        d.text(x + wide / 2.0, y, Anchor::Middle, &text, if light { "#ffffff" } else { INK });
    }
}

/// Time in ms: from the start of the trace for one row, from the start of each row for several. Returns the top of what
/// comes below, px.
fn axis(d: &mut Drawing, t: &PageTimeline, rows: &Rows) -> f64 {
    let quantity = AxisQuantity::Time(TimeUnit::Millisecond);
    let base = rows.bottom() + 2.0;
    let range = Range { low: 0.0, high: rows.each };
    d.put("<g class=\"x-axis\">\n");
    d.line((rows.left, base), (rows.left + rows.width, base), INK, " stroke-width=\"0.8\"");
    for tick in ticks_across(range, quantity, rows.width, 20) {
        let x = rows.left + tick.value / rows.each * rows.width;
        d.line((x, base), (x, base + 5.0), INK, " stroke-width=\"0.8\"");
        let half = text_width(&tick.label, TEXT) / 2.0;
        let inside = x.clamp(half + 2.0, (d.width - half - 2.0).max(half + 2.0));
        d.text(inside, base + 18.0, Anchor::Middle, &tick.label, INK);
    }
    d.put("</g>\n");
    if rows.count > 1 {
        d.put("<g class=\"y-axis\">\n");
        for row in 0..rows.count {
            let begins = number::fixed(row as f64 * rows.each / 1e6, 0).unwrap_or_default();
            let y = rows.top(row) + SIGNS + BAR / 2.0 + TEXT * 0.35;
            d.text(rows.left - 8.0, y, Anchor::End, &begins, INK);
        }
        d.put("</g>\n");
    }
    let title = if rows.count > 1 {
        let each = time(rows.each);
        format!("time [ms]; each row is {each} and starts at the time on its left")
    } else {
        format!("time [ms] from the start of the trace, which is {} long", time(t.length))
    };
    d.text(rows.left + rows.width / 2.0, base + 38.0, Anchor::Middle, &title, INK);
    base + 52.0
}

/// Causes with their colours and signs, number, time and share. Returns its bottom, px.
fn legend(d: &mut Drawing, t: &PageTimeline, top: f64) -> f64 {
    let (counts, times, shares) = (540.0, 640.0, 720.0);
    let mut y = top;
    d.put("<g class=\"legend\">\n");
    d.rectangle((EDGE + 1.0, y + 4.0), (12.0, 12.0), ACTIVE);
    d.text(EDGE + 40.0, y + 14.0, Anchor::Start, "active", INK);
    y += LEGEND_ROW;
    for c in t.causes.iter().take(LISTED) {
        entry(d, c, y, (counts, times, shares));
        y += LEGEND_ROW;
    }
    if t.causes.len() > LISTED {
        let more = format!("and {} more", t.causes.len() - LISTED);
        d.text(EDGE + 40.0, y + 14.0, Anchor::Start, &more, FAINT);
        y += LEGEND_ROW;
    }
    let triangle = glyph(Symbol::Triangle, 3.0);
    let (x, middle) = (px(EDGE + 7.0), px(y + 10.0));
    d.put(&format!("<path {} d=\"M{x} {middle}{triangle}\"/>\n", ink(GapClass::Timer)));
    let what =
        if t.events.is_some() { "timer interrupt, also while another process has the CPU" } else { "timer tick" };
    d.text(EDGE + 40.0, y + 14.0, Anchor::Start, &format!("{what}: {}", t.ticks.len()), INK);
    d.put("</g>\n");
    y + LEGEND_ROW + 4.0
}

fn entry(d: &mut Drawing, c: &PageCause, y: f64, (counts, times, shares): (f64, f64, f64)) {
    let (colour, symbol) = look(c.class);
    d.rectangle((EDGE + 1.0, y + 4.0), (12.0, 12.0), colour);
    if c.class != GapClass::Timer {
        let (x, middle) = (px(EDGE + 26.0), px(y + 10.0));
        d.put(&format!("<path {} d=\"M{x} {middle}{}\"/>\n", ink(c.class), glyph(symbol, 3.0)));
    }
    let base = y + 14.0;
    d.text(EDGE + 40.0, base, Anchor::Start, &fitted(&c.title.plain(), counts - EDGE - 110.0, TEXT), INK);
    d.text(counts, base, Anchor::End, &format!("{}×", c.gaps), INK);
    d.text(times, base, Anchor::End, &time(c.time), INK);
    let share = c.share.and_then(number::percent).unwrap_or_default();
    d.text(shares, base, Anchor::End, &share, FAINT);
}
