//! An activity trace in the book's text format (CS:APP figure 9.3) and as JSON, and that format read back.

use crate::RenderError;
use crate::number;
use crate::page::Page;
use crate::style::{Paint, Style};
use serde::Serialize;
use tare_core::analysis::activity::{BadTrace, Cause, Gap, Summary, Trace};

/// Where a trace was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    /// On which CPU.
    pub cpu: u32,
    /// Active processes on it, the tracing one included.
    pub load: u32,
    /// Cycles over which a step is an inactive period.
    pub threshold: u64,
    /// The trace ended early for want of room.
    pub full: bool,
}

fn cause(c: Cause) -> &'static str {
    match c {
        Cause::Tick => "timer interrupt",
        Cause::Switch => "another process",
        Cause::Unknown => "",
    }
}

/// The periods, a line each, as in the book; what an inactive one was is at its end.
pub fn text(trace: &Trace, summary: &Summary) -> String {
    let ms = |cycles: u64| cycles as f64 / trace.hz() * 1e3;
    let line = |kind: char, i: usize, (start, duration): (u64, u64)| {
        format!("{kind}{i}\tTime\t{start}\t({:.2} ms),\tDuration\t{duration}\t({:.6} ms)", ms(start), ms(duration))
    };
    let causes = trace.causes(summary);
    let mut out = String::new();
    for (i, active) in trace.active().enumerate() {
        out += &(line('A', i, active) + "\n");
        if let Some((gap, why)) = trace.gaps().get(i).zip(causes.get(i)) {
            out += &line('I', i, (gap.start, gap.duration));
            out += &match cause(*why) {
                "" => "\n".to_owned(),
                why => format!("\t{why}\n"),
            };
        }
    }
    out
}

/// A line that is none of a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseError {
    /// Which line, and what of it.
    #[error("line {line} is no period, expected `I0 Time START (… ms), Duration CYCLES (… ms)`: {found:?}")]
    Line {
        /// From 1.
        line: usize,
        /// Its beginning.
        found: String,
    },
    /// The lines make no trace.
    #[error("{0}")]
    Trace(#[from] BadTrace),
}

/// Reads the text format. The rate of the counter is not in it.
///
/// # Errors
/// [`ParseError`].
pub fn parse(text: &str, hz: f64) -> Result<Trace, ParseError> {
    let (mut gaps, mut length) = (Vec::new(), 0_u64);
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let bad = || ParseError::Line { line: i + 1, found: line.chars().take(60).collect() };
        let mut words = line.split_whitespace();
        let kind = words.next().and_then(|w| w.chars().next()).filter(|c| matches!(c, 'A' | 'I')).ok_or_else(bad)?;
        let mut after = |word: &str| {
            words.find(|w| *w == word).and_then(|_| words.next()).and_then(|w| w.parse::<u64>().ok()).ok_or_else(bad)
        };
        let gap = Gap { start: after("Time")?, duration: after("Duration")? };
        length = length.max(gap.end());
        if kind == 'I' {
            gaps.push(gap);
        }
    }
    Ok(Trace::new(hz, length, gaps)?)
}

/// What the trace comes to, below its periods.
pub fn summary(trace: &Trace, s: &Summary, made: &Made, style: &Style) -> String {
    let u = style.unicode;
    let time = |cycles: f64| number::time(cycles / trace.hz() * 1e9, None, u).unwrap_or_default();
    let mut page = Page::new(style);
    page.title(&format!("Activity of a process on CPU {} at load {}", made.cpu, made.load));
    let active = s.active.and_then(number::percent).unwrap_or_else(|| page.g.absent.to_owned());
    page.field("active", &format!("{active} of {}", time(trace.length() as f64)));
    let longest = s.longest.map_or(String::new(), |l| format!(", the longest {}", time(l as f64)));
    page.field("inactive", &format!("{} periods over {} cycles{longest}", s.gaps, made.threshold));
    match &s.tick {
        Some(t) => {
            page.field("tick", &format!("every {}: {} a second", time(t.period), t.hz));
            if let Some((min, median)) = t.min_cost.zip(t.median_cost) {
                page.field("its cost", &format!("{} at least, {} in the median", time(min as f64), time(median)));
            }
        }
        None => page.field("tick", "none is seen"),
    }
    if made.full {
        let warning = style.prose("The trace ended early: there was no room for more periods. Raise the threshold.");
        page.hang(&[(Paint::Warn, "! ".to_owned())], Paint::Plain, &warning);
    }
    page.finish()
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    made: &'a Made,
    trace: &'a Trace,
    causes: Vec<Cause>,
    summary: &'a Summary,
}

/// As JSON.
///
/// # Errors
/// [`RenderError`].
pub fn json(trace: &Trace, summary: &Summary, made: &Made) -> Result<String, RenderError> {
    let causes = trace.causes(summary);
    Ok(crate::json::pretty(&Document { format: "tare-trace", version: 1, made, trace, causes, summary })? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CS:APP figure 9.3, as it is printed there.
    const FIGURE: &str = include_str!("../tests/data/csapp_figure_9_3.tsv");
    /// The rate that the figure's milliseconds were computed with; the text rounds it to 549.9 MHz.
    const RATE: f64 = 549_920_534.0;

    #[test]
    fn the_books_figure_is_read_and_written_as_it_is_printed() {
        let trace = parse(FIGURE, RATE).unwrap();
        let s = trace.summary();
        assert_eq!((trace.active().count(), trace.gaps().len()), (10, 10));
        assert_eq!((s.active.unwrap() * 1000.0).round(), 951.0);
        let ours = text(&trace, &s);
        let words = |t: &str| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (book, ours) in FIGURE.lines().zip(ours.lines()) {
            let (book, ours) = (words(book), words(ours));
            assert_eq!(book, ours[..book.len()], "the book's line");
        }
        assert_eq!(parse(&ours, RATE).unwrap(), trace);
    }

    #[test]
    fn other_lines_are_named() {
        let e = parse("A0 Time 0 (0 ms), Duration 5 (0 ms)\nhello", 1e9).unwrap_err();
        assert!(e.to_string().starts_with("line 2 is no period"), "{e}");
        assert!(parse("I0 Time x Duration 5", 1e9).is_err());
        assert!(matches!(parse("I0 Time 5 Duration 5\nI1 Time 3 Duration 1", 1e9), Err(ParseError::Trace(_))));
        assert_eq!(parse("", 1e9).unwrap().length(), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = parse(&text, 1e9);
        }

        #[test]
        fn written_and_read_it_is_the_same(parts in proptest::collection::vec((0..1_000_000_u64, 1..1_000_000_u64), 1..40)) {
            let (mut at, mut gaps) = (0, Vec::new());
            for (active, inactive) in parts {
                gaps.push(Gap { start: at + active, duration: inactive });
                at += active + inactive;
            }
            let trace = Trace::new(2e9, at, gaps).unwrap();
            prop_assert_eq!(&parse(&text(&trace, &trace.summary()), 2e9).unwrap(), &trace);
        }
    }
}
