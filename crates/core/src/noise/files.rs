//! Files of noise as other tools write and read them: a number or two on each line, and comments from `#` on.
//!
//! - *Durations*: what each phase took, back to back; as FWQ has them.
//! - *Detours*: when each began, a tab, and how long it was, in ns; as netgauge's selfish benchmark writes and LogGOPSim reads them.
//! - *FTQ*: when each quantum began, a tab, and the work done in it.

use crate::base::units::Nanos;
use crate::noise::detour::{Detour, Detours, Ftq};
use std::fmt::Write;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFile {
    #[error("line {line}: {text:?} is not {expected}")]
    Line {
        /// From 1.
        line: usize,
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    #[error("there is no line with a number in it")]
    Empty,
}

/// Characters of a bad line that an error quotes.
const SHOWN: usize = 40;

/// The lines that are no comments, by number from 1, with what `read` makes of their columns.
fn lines<T>(
    text: &str,
    expected: &'static str,
    read: impl Fn(&mut std::str::SplitWhitespace) -> Option<T>,
) -> Result<Vec<T>, BadFile> {
    let mut all = Vec::new();
    for (i, whole) in text.lines().enumerate() {
        let line = whole.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut columns = line.split_whitespace();
        let value = read(&mut columns).filter(|_| columns.next().is_none());
        let bad = || BadFile::Line { line: i + 1, text: line.chars().take(SHOWN).collect(), expected };
        all.push(value.ok_or_else(bad)?);
    }
    if all.is_empty() { Err(BadFile::Empty) } else { Ok(all) }
}

/// A decimal number in thousandths of what it is in, if it has no more than three decimals that are not 0: nothing is rounded.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) {
        return None;
    }
    let (kept, rest) = decimals.split_at(decimals.len().min(3));
    if rest.bytes().any(|b| b != b'0') {
        return None;
    }
    let decimals: u64 = format!("{kept:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(decimals)
}

fn whole(text: &str) -> Option<u64> {
    thousandths(text).filter(|t| t % 1000 == 0).map(|t| t / 1000)
}

/// Unit of the durations in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationUnit {
    /// ns, or units of a counter: whole numbers.
    Whole,
    /// µs, with three decimals at most; read as ns.
    Micros,
}

/// What each phase took, a number on each line.
pub fn read_durations(text: &str, unit: DurationUnit) -> Result<Vec<u64>, BadFile> {
    match unit {
        DurationUnit::Whole => lines(text, "a whole number", |columns| whole(columns.next()?)),
        DurationUnit::Micros => {
            lines(text, "a number with at most three decimals", |columns| thousandths(columns.next()?))
        }
    }
}

/// Detours, begin and length in ns on each line. Some writers give ns with decimals: they are cut.
pub fn read_detours(text: &str) -> Result<Vec<Detour>, BadFile> {
    let ns = |text: &str| {
        let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
        text.parse::<f64>().ok().filter(|v| v.is_finite())?;
        whole.parse().ok().filter(|v: &i64| *v >= 0).map(Nanos)
    };
    lines(text, "a begin and a length in ns", |columns| {
        Some(Detour { start: ns(columns.next()?)?, duration: ns(columns.next()?)? })
    })
}

/// For LogGOPSim and whoever reads netgauge's files. The last line is a detour of no length at the end of the measurement, as the
/// simulator takes the last begin for the length of the trace; no line end follows it, which the simulator would take for a detour.
pub fn detour_lines(all: &Detours) -> String {
    let mut out = format!(
        "# Detours: phases of {} ns that took at least {} ns longer: start in ns, tab, length in ns\n",
        all.undisturbed.0, all.threshold.0
    );
    for d in &all.detours {
        // A String can always be written to.
        let _ = writeln!(out, "{}\t{}", (d.start - all.start).0, d.duration.0);
    }
    let _ = write!(out, "{}\t0", (all.end - all.start).0);
    out
}

/// Duration of each phase, in units of the counter.
pub fn duration_lines(durations: &[u64], hz: f64) -> String {
    let mut out = format!("# Duration of each phase, back to back, in units of which a second has {hz}\n");
    for d in durations {
        let _ = writeln!(out, "{d}");
    }
    out
}

/// Work done in fixed quanta of time.
pub fn ftq_lines(ftq: &Ftq) -> String {
    let mut out = format!("# Begin of each quantum of {} ns in ns, tab, work done in it in phases\n", ftq.quantum.0);
    for (i, work) in ftq.work.iter().enumerate() {
        let _ = writeln!(out, "{}\t{work}", ftq.quantum.0.saturating_mul(i64::try_from(i).unwrap_or(i64::MAX)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_exactly_or_refused() {
        assert_eq!(read_durations("# FWQ\n12\n\n 7 # fast\n9.000\n", DurationUnit::Whole).unwrap(), [12, 7, 9]);
        assert_eq!(read_durations("1.5\n0.001\n2\n", DurationUnit::Micros).unwrap(), [1_500, 1, 2_000]);
        let line = |line, text: &str, expected| Err(BadFile::Line { line, text: text.to_owned(), expected });
        assert_eq!(read_durations("1\n-2\n", DurationUnit::Whole), line(2, "-2", "a whole number"));
        assert_eq!(read_durations("1.5", DurationUnit::Whole), line(1, "1.5", "a whole number"));
        assert_eq!(read_durations("1 2", DurationUnit::Whole), line(1, "1 2", "a whole number"));
        assert_eq!(
            read_durations("0.0001", DurationUnit::Micros),
            line(1, "0.0001", "a number with at most three decimals")
        );
        assert_eq!(
            read_durations("99999999999999999999", DurationUnit::Whole),
            line(1, "99999999999999999999", "a whole number")
        );
        assert_eq!(read_durations("# none\n\n", DurationUnit::Whole), Err(BadFile::Empty));
        let long = read_durations(&"x".repeat(500), DurationUnit::Whole).unwrap_err();
        assert!(long.to_string().len() < 100, "{long}");
    }

    #[test]
    fn detours_are_read_as_they_are_written() {
        let detour = |start, duration| Detour { start: Nanos(start), duration: Nanos(duration) };
        let all = Detours {
            detours: vec![detour(1_050, 2_000), detour(9_000, 70)],
            start: Nanos(1_000),
            end: Nanos(20_000),
            undisturbed: Nanos(100),
            threshold: Nanos(50),
            below_threshold: Nanos(3),
        };
        let text = detour_lines(&all);
        assert!(text.ends_with("\n50\t2000\n8000\t70\n19000\t0") && text.starts_with("# Detours"), "{text}");
        assert_eq!(read_detours(&text).unwrap(), [detour(50, 2_000), detour(8_000, 70), detour(19_000, 0)]);
        assert_eq!(
            read_detours("5.75 1e3").unwrap_err().to_string(),
            "line 1: \"5.75 1e3\" is not a begin and a length in ns"
        );
        assert_eq!(read_detours("5.75\t100.2\r\n").unwrap(), [detour(5, 100)]);
        assert!(read_detours("-5\t1").is_err() && read_detours("5").is_err() && read_detours("NaN 1").is_err());
    }

    #[test]
    fn quanta_are_numbered_by_their_begin() {
        let ftq = Ftq { start: Nanos(7), quantum: Nanos(100), work: vec![2.5, 3.0] };
        assert!(ftq_lines(&ftq).ends_with("in phases\n0\t2.5\n100\t3\n"), "{}", ftq_lines(&ftq));
    }

    proptest! {
        #[test]
        fn durations_come_back(all in proptest::collection::vec(any::<u32>(), 1..50)) {
            let all: Vec<u64> = all.into_iter().map(u64::from).collect();
            prop_assert_eq!(read_durations(&duration_lines(&all, 1e9), DurationUnit::Whole).unwrap(), all);
        }

        #[test]
        fn any_text(text in "[0-9.#\t\n -]{0,60}") {
            let _ = (read_durations(&text, DurationUnit::Whole), read_durations(&text, DurationUnit::Micros), read_detours(&text));
        }
    }
}
