//! The text format of activity traces in a book (CS:APP figure 9.3): written, and read.

use crate::trace::activity::Activity;
use crate::trace::said::explanation;
use tarebench_core::trace::activity::{BadTrace, Gap, Trace};

/// The periods, one per line, as in the book; the cause of an inactive one at the end of its line.
pub fn text(a: &Activity) -> String {
    let trace = &a.trace;
    let ms = |cycles: u64| cycles as f64 / trace.hz() * 1e3;
    let line = |kind: char, i: usize, (start, duration): (u64, u64)| {
        format!("{kind}{i}\tTime\t{start}\t({:.2} ms),\tDuration\t{duration}\t({:.6} ms)", ms(start), ms(duration))
    };
    let causes = trace.causes(&a.summary);
    let mut out = String::new();
    for (i, active) in trace.active().enumerate() {
        out += &(line('A', i, active) + "\n");
        if let Some(gap) = trace.gaps().get(i) {
            out += &line('I', i, (gap.start, gap.duration));
            out += &match explanation(a, &causes, i).as_str() {
                "" => "\n".to_owned(),
                why => format!("\t{}\n", tarebench_report::text::escape(why)),
            };
        }
    }
    out
}

/// Text that is not a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseError {
    /// Which line, and what of it.
    #[error("line {line} is not a period, expected `I0 Time START (… ms), Duration CYCLES (… ms)`: {found:?}")]
    Line {
        /// From 1.
        line: usize,
        found: String,
    },
    /// The lines make no trace.
    #[error("{0}")]
    Trace(#[from] BadTrace),
}

/// Reads the text format. The rate of the counter is not in it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::Made;
    use proptest::prelude::*;
    use tarebench_core::base::reading::{Absent, Reading};

    /// CS:APP figure 9.3, as it is printed there.
    const FIGURE: &str = include_str!("../../tests/data/csapp_figure_9_3.tsv");
    /// The rate that the figure's milliseconds were computed with; the text rounds it to 549.9 MHz.
    const RATE: f64 = 549_920_534.0;

    fn unexplained(trace: Trace) -> Activity {
        let made = Made { cpu: 0, load: 1, threshold: 1, full: false };
        let why = Absent::NoPermission("CAP_BPF and CAP_PERFMON (run as root)".to_owned());
        Activity::new(trace, made, Reading::Absent(why))
    }

    #[test]
    fn the_books_figure_is_read_and_written_as_it_is_printed() {
        let trace = parse(FIGURE, RATE).unwrap();
        let s = trace.summary();
        let activity = unexplained(trace.clone());
        assert_eq!((trace.active().count(), trace.gaps().len()), (10, 10));
        assert_eq!((s.active.unwrap() * 1000.0).round(), 951.0);
        let ours = text(&activity);
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
        assert!(e.to_string().starts_with("line 2 is not a period"), "{e}");
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
            prop_assert_eq!(&parse(&text(&unexplained(trace.clone())), 2e9).unwrap(), &trace);
        }
    }
}
