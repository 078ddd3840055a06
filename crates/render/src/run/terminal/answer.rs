//! Which of two programs is faster, and by how much.

use crate::kit::number;
use crate::kit::screen::Page;
use crate::kit::style::Paint;
use crate::kit::text;
use crate::run::terminal::words::plural;
use tarebench_core::compare::ratio::Verdict;
use tarebench_core::run::report::data::{Comparison, Measure, MeasureRatio, RunReport};
use tarebench_core::statistics::intervals::NoInterval;

/// `elapsed time`, `CPU time`, `net time`.
pub(crate) fn spelled(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed time",
        Measure::Pt => "CPU time",
        Measure::Net => "net time",
    }
}

fn short(m: Measure) -> &'static str {
    match m {
        Measure::Et => "elapsed",
        Measure::Pt => "CPU",
        Measure::Net => "net",
    }
}

/// A ratio and its interval, turned so that the ratio is at least 1.
struct Turned {
    /// The reference is the faster one.
    reference_first: bool,
    ratio: String,
    interval: Option<String>,
}

/// Decimals that the width of the interval justifies; a ratio such as 51.3 or 1.003 keeps what tells it from 1.
fn figures(page: &Page<'_>, ratio: f64, interval: Option<(f64, f64)>) -> (String, Option<String>) {
    let decimals = number::ratio_decimals(ratio, interval.map(|(l, h)| (h - l) / 2.0)).min(4);
    let show = |v: f64| number::fixed(v, decimals).unwrap_or_else(|| page.g.absent.to_owned());
    (show(ratio), interval.map(|(low, high)| format!("[{}, {}]", show(low), show(high))))
}

fn turned(page: &Page<'_>, r: &MeasureRatio, reference_first: bool) -> Turned {
    let interval = r.interval.as_ref().ok();
    let (value, interval) = if reference_first {
        (r.ratio, interval.map(|i| (i.low, i.high)))
    } else {
        (1.0 / r.ratio, interval.map(|i| (1.0 / i.high, 1.0 / i.low)))
    };
    let (ratio, interval) = figures(page, value, interval);
    Turned { reference_first, ratio, interval }
}

fn primary(c: &Comparison) -> MeasureRatio {
    MeasureRatio {
        measure: c.measure,
        ratio: c.ratio,
        interval: c.interval.clone(),
        pairs: c.pairs,
        verdict: c.verdict,
    }
}

/// The sentence for one measure.
fn sentence(page: &Page<'_>, c: &Comparison, r: &MeasureRatio, names: &[String]) -> (String, Option<String>) {
    let name = |i: u32| names.get(i as usize).map_or("", String::as_str);
    let t = turned(page, r, r.ratio > 1.0);
    let (fast, slow) = match t.reference_first {
        true => (name(c.reference), name(c.series)),
        false => (name(c.series), name(c.reference)),
    };
    let (ratio, interval) = (t.ratio, t.interval);
    let text = match (&r.interval, r.verdict) {
        (Err(NoInterval::TooFew { .. }), _) => {
            format!("undecided, too few pairs: {fast} was {ratio} times as fast as {slow}")
        }
        (Ok(_), Verdict::Undecided) => {
            format!("no clear difference: {fast} was {ratio} times as fast as {slow}")
        }
        (Ok(_), _) => format!("{fast} is {ratio} times as fast as {slow}"),
    };
    (text, interval)
}

/// Draws the answer for a run of two programs.
pub(crate) fn section(page: &mut Page<'_>, report: &RunReport, names: &[String]) {
    let Some(c) = report.comparisons.first() else { return };
    let first = primary(c);
    match c.disagreeing() {
        Some(other) => disagreement(page, c, &first, other, names),
        None => agreement(page, c, &first, names),
    }
}

fn pairs(r: &MeasureRatio) -> String {
    match &r.interval {
        Err(NoInterval::TooFew { need, .. }) => format!("{} of {need} needed", plural(r.pairs, "pair")),
        Ok(_) => plural(r.pairs, "pair"),
    }
}

/// Sentence, interval and notes in one line if they fit; else the notes below, if need be without what is dispensable.
fn draw(page: &mut Page<'_>, lead: &str, answer: (String, Option<String>), notes: &str, dispensable: &str) {
    let (text, interval) = answer;
    let interval = interval.map_or_else(String::new, |i| format!("  {i}"));
    let whole = text::columns(lead) + text::columns(&text) + text::columns(&interval) + 3 + text::columns(notes);
    let head = (Paint::Plain, lead.to_owned());
    if whole <= page.width() {
        let notes = (Paint::Dim, format!("   {notes}"));
        page.line(&[head, (Paint::Strong, text), (Paint::Plain, interval), notes]);
        return;
    }
    page.hang(&[head], Paint::Strong, &text);
    let indent = (Paint::Plain, " ".repeat(text::columns(lead).max(2)));
    let rest = format!("{}   {notes}", interval.trim());
    let short = rest.replace(dispensable, "");
    let fits = text::columns(rest.trim()) + text::columns(&indent.1) <= page.width();
    page.hang(&[indent], Paint::Dim, if fits { rest.trim() } else { short.trim() });
}

fn agreement(page: &mut Page<'_>, c: &Comparison, first: &MeasureRatio, names: &[String]) {
    let answer = sentence(page, c, first, names);
    let mut notes = format!("{}, {}", spelled(first.measure), pairs(first));
    let others = [Measure::Et, Measure::Pt].into_iter().filter(|m| *m != first.measure);
    for other in others.filter_map(|m| c.by(m)) {
        let t = turned(page, other, first.ratio > 1.0);
        let interval = t.interval.map_or_else(String::new, |i| format!(" {i}"));
        notes.push_str(&format!(";  {}: {}{interval}", short(other.measure), t.ratio));
    }
    let dispensable = if first.interval.is_ok() { format!(", {}", pairs(first)) } else { String::new() };
    draw(page, "", answer, &notes, &dispensable);
}

/// Both measures, the larger difference first.
fn disagreement(page: &mut Page<'_>, c: &Comparison, a: &MeasureRatio, b: &MeasureRatio, names: &[String]) {
    let size = |r: &MeasureRatio| r.ratio.ln().abs();
    let order = if size(b) > size(a) { [b, a] } else { [a, b] };
    let lead = |r: &MeasureRatio| format!("by {}:", spelled(r.measure));
    let wide = order.iter().map(|r| lead(r).len()).max().unwrap_or(0);
    for r in order {
        let lead = format!("{:<wide$} ", lead(r));
        let lead = if page.narrow() { format!("{} ", lead.trim_end()) } else { lead };
        let answer = sentence(page, c, r, names);
        draw(page, &lead, answer, &pairs(r), "");
    }
}
