//! An activity trace in the book's text format (CS:APP figure 9.3) and as JSON; a parser of the text format.

use serde::Serialize;
use tarebench_core::base::hint::Hint;
use tarebench_core::base::reading::Reading;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::trace::activity::{ActivitySummary, BadTrace, Gap, InactivityCause, Trace};
use tarebench_core::trace::explained::{Explained, ExplainedCause};
use tarebench_core::trace::ticks::{TickSight, TraceTick, ticks};
use tarebench_core::trace::timeline::TraceTask;
use tarebench_report::cell::Cell;
use tarebench_report::error::RenderError;
use tarebench_report::form::Form;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};

/// Where a trace was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    /// On which CPU.
    pub cpu: u32,
    /// Active processes on it, the tracing one included.
    pub load: u32,
    /// A step of more cycles is an inactive period.
    pub threshold: u64,
    /// The trace ended early because the buffer was full.
    pub full: bool,
}

/// A trace, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The periods.
    pub trace: Trace,
    /// Their summary.
    pub summary: ActivitySummary,
    /// Where it was made.
    pub made: Made,
    /// What the inactive periods were by the recorded kernel events, or why there are none.
    pub explained: Reading<Explained>,
}

impl Activity {
    /// The tick is taken from the recorded kernel events, if any, because they show it at all times.
    pub fn new(trace: Trace, made: Made, explained: Reading<Explained>) -> Activity {
        let mut summary = trace.summary();
        if let Some(tick) = explained.value().and_then(|e| e.tick.clone()) {
            summary.tick = Some(tick);
        }
        Activity { trace, summary, made, explained }
    }

    /// All timer interrupts, those included that came while the process had no CPU; none if no tick was detected.
    fn ticks(&self) -> Vec<TraceTick> {
        self.summary.tick.as_ref().map_or_else(Vec::new, |tick| ticks(&self.trace, tick))
    }

    /// Converts cycles to nanoseconds.
    pub(crate) fn ns(&self, cycles: f64) -> f64 {
        cycles / self.trace.hz() * 1e9
    }
}

fn cause(c: InactivityCause) -> &'static str {
    match c {
        InactivityCause::Tick => "timer interrupt",
        InactivityCause::Switch => "another process",
        InactivityCause::Unknown => "",
    }
}

fn by_kernel(by: TaskKind) -> &'static str {
    match by {
        TaskKind::User => "",
        TaskKind::Kernel => " (kernel)",
        TaskKind::Tare => " (tare itself)",
        TaskKind::Partner => " (the other program)",
    }
}

/// The cause of an inactive period.
pub(crate) fn reason(r: &ExplainedCause) -> Cell {
    match r {
        ExplainedCause::Timer => "timer interrupt".into(),
        ExplainedCause::Interrupt { name } => Cell::text("interrupt ").and(Cell::foreign(name)),
        ExplainedCause::Softirq { name } => Cell::text("softirq ").and(Cell::foreign(name)),
        ExplainedCause::Preempted { name, by } => {
            Cell::text("preempted by ").and(Cell::foreign(name)).and(by_kernel(*by))
        }
        ExplainedCause::Idle => "throttled, the CPU was idle".into(),
        ExplainedCause::Stolen => "stolen by the hypervisor".into(),
        ExplainedCause::NoEvent => "no kernel event: hypervisor or SMI".into(),
        ExplainedCause::Unknown => "unknown".into(),
    }
}

/// The cause of one inactive period, from the kernel's events or else inferred from period and length.
pub(crate) fn explanation(a: &Activity, causes: &[InactivityCause], gap: usize) -> String {
    let Some(e) = a.explained.value() else {
        return causes.get(gap).map_or("", |c| cause(*c)).to_owned();
    };
    let found = e.gaps.get(gap);
    match (e.reason(gap), found.and_then(|g| g.task.as_ref())) {
        (ExplainedCause::Preempted { by, .. }, Some(TraceTask { name, pid, .. })) => {
            let kernel = if *by == TaskKind::Kernel { "kernel, " } else { "" };
            format!("preempted by {name} ({kernel}pid {pid})")
        }
        (ExplainedCause::NoEvent, _) if found.is_some_and(|g| g.reported > 0) => {
            "no kernel event for most of it: hypervisor or SMI".to_owned()
        }
        (other, _) => reason(other).plain(),
    }
}

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
        /// Its beginning.
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

/// The summary of a trace, shown below its periods.
pub fn summary(a: &Activity, style: &Style) -> String {
    let Activity { trace, summary: s, made, .. } = a;
    let u = style.unicode;
    let time = |cycles: f64| number::time(a.ns(cycles), None, u).unwrap_or_default();
    let mut page = ScreenText::new(style);
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
            if let Some(text) = hidden_ticks(&a.ticks()) {
                page.field("", &style.prose(&text));
            }
        }
        None => page.field("tick", "not detected"),
    }
    match &a.explained {
        Reading::Value(e) => explained(&mut page, a, e),
        Reading::Absent(why) => {
            let why = style.prose(&format!("{why}; causes are inferred from period and length"));
            page.painted_field("explained", Paint::Dim, &why);
        }
    }
    if made.full {
        let raise = style.hints.sentence(&Hint::Threshold);
        warn(&mut page, &format!("The trace ended early: the buffer for periods is full.{raise}"));
    }
    page.finish()
}

fn warn(page: &mut ScreenText<'_>, text: &str) {
    let text = page.style.prose(text);
    page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &text);
}

/// How many timer interrupts there were, if some of them are no period of their own (practice problem 9.2).
fn hidden_ticks(all: &[TraceTick]) -> Option<String> {
    let count = |is: fn(&TickSight) -> bool| all.iter().filter(|t| is(&t.sight)).count();
    let active = count(|s| matches!(s, TickSight::Active(_)));
    let inactive = count(|s| matches!(s, TickSight::Inactive(_)));
    let unseen = count(|s| matches!(s, TickSight::Unseen));
    let unseen = if unseen > 0 { format!(", {unseen} did not show") } else { String::new() };
    (active < all.len()).then(|| {
        format!("{} in all: {active} interrupted the process, {inactive} came while it had no CPU{unseen}", all.len())
    })
}

/// The most causes that the summary lists.
const LISTED: usize = 16;

/// Causes with count, time and share.
fn explained(page: &mut ScreenText<'_>, a: &Activity, e: &Explained) {
    let u = page.style.unicode;
    let rows = e.causes.iter().take(LISTED).map(|c| {
        let time = number::time(a.ns(c.cycles as f64), None, u).unwrap_or_default();
        let share = c.share.and_then(number::percent).unwrap_or_else(|| page.g.absent.to_owned());
        (reason(&c.reason).write(&Form::terminal(page.style)), format!("{}{}", c.gaps, page.g.times), time, share)
    });
    let rows: Vec<_> = rows.collect();
    let widest = |f: fn(&(String, String, String, String)) -> &String| {
        rows.iter().map(|r| tarebench_report::text::columns(f(r))).max().unwrap_or(0)
    };
    let (b, c, d) = (widest(|r| &r.1), widest(|r| &r.2), widest(|r| &r.3));
    let most = page.field_width().saturating_sub(b + c + d + 6).max(12);
    let first = widest(|r| &r.0).min(most);
    let left = |s: &str, wide: usize| {
        let cut = tarebench_report::text::cut(s, wide, page.g.dots).into_owned();
        let more = wide.saturating_sub(tarebench_report::text::columns(&cut));
        cut + &" ".repeat(more)
    };
    let right = |s: &str, wide: usize| " ".repeat(wide.saturating_sub(tarebench_report::text::columns(s)) + 2) + s;
    let lines: Vec<String> = rows
        .iter()
        .map(|(what, count, time, share)| left(what, first) + &right(count, b) + &right(time, c) + &right(share, d))
        .collect();
    for (i, line) in lines.into_iter().enumerate() {
        page.field_row(if i == 0 { "explained" } else { "" }, vec![(Paint::Plain, line)]);
    }
    if e.causes.len() > LISTED {
        page.field("", &format!("and {} more", e.causes.len() - LISTED));
    }
    for text in doubts(e) {
        warn(page, &text);
    }
}

/// What makes an explanation incomplete.
pub(crate) fn doubts(e: &Explained) -> Vec<String> {
    let mut all = Vec::new();
    if e.lost > 0 {
        all.push(format!("{} kernel events were lost: the causes of later inactive periods are unknown.", e.lost));
    }
    let may_be = "they may explain periods without a kernel event";
    if let Some(n) = e.unreported.filter(|n| *n > 0) {
        all.push(format!("{n} switches to other tasks are unreported: {may_be}."));
    }
    if let Some(n) = e.faults.filter(|n| *n > 0) {
        all.push(format!("The process had {n} page faults, which are not traced: {may_be}."));
    }
    all
}

#[derive(Serialize)]
struct TraceDocument<'a> {
    format: &'static str,
    version: u32,
    made: &'a Made,
    trace: &'a Trace,
    causes: Vec<InactivityCause>,
    summary: &'a ActivitySummary,
    ticks: Vec<TraceTick>,
    explained: &'a Reading<Explained>,
}

/// As JSON; `docs/trace.md` says what is in it.
pub fn json(a: &Activity) -> Result<String, RenderError> {
    let Activity { trace, summary, made, explained } = a;
    let causes = trace.causes(summary);
    let ticks = a.ticks();
    let document = TraceDocument { format: "tare-trace", version: 1, made, trace, causes, summary, ticks, explained };
    Ok(tarebench_report::json::pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tarebench_core::base::reading::Absent;

    /// CS:APP figure 9.3, as it is printed there.
    const FIGURE: &str = include_str!("../../tests/data/csapp_figure_9_3.tsv");
    /// The rate that the figure's milliseconds were computed with; the text rounds it to 549.9 MHz.
    const RATE: f64 = 549_920_534.0;

    /// The inactive periods of CS:APP figure 9.5: start and duration, cycles since the beginning.
    const INACTIVE: [(u64, u64); 8] = [
        (5_224_961, 247_557),
        (6_331_089, 8_297),
        (10_696_823, 5_718_758),
        (18_462_699, 7_153),
        (21_640_502, 5_726_129),
        (32_584_174, 5_718_135),
        (40_661_590, 7_096),
        (43_527_913, 5_718_793),
    ];

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

    /// Practice problem 9.2: figure 9.5 has nine timer interrupts, four of them while another process had the CPU.
    #[test]
    fn ticks_without_a_period_of_their_own_are_counted() {
        let gaps = INACTIVE.map(|(start, duration)| Gap { start, duration }).to_vec();
        let a = unexplained(Trace::new(549.9e6, gaps.last().unwrap().end(), gaps).unwrap());
        let shown = summary(&a, &Style::default());
        let line = "9 in all: 5 interrupted the process, 4 came while it had no CPU";
        assert!(shown.lines().any(|l| l.trim() == line), "{shown}");
        let document: serde_json::Value = serde_json::from_str(&json(&a).unwrap()).unwrap();
        let found: Vec<&str> =
            document["ticks"].as_array().unwrap().iter().map(|t| t["sight"]["found"].as_str().unwrap()).collect();
        assert_eq!((found.len(), found.iter().filter(|f| **f == "inactive").count()), (9, 4));
        assert_eq!(hidden_ticks(&[]), None);
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
