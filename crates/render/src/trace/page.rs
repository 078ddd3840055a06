//! The page of an activity trace: its timeline and the causes of its inactive periods.

use crate::trace::terminal::{Activity, doubts, explanation, reason};
use std::collections::HashMap;
use tarebench_core::base::reading::Reading;
use tarebench_core::trace::activity;
use tarebench_core::trace::explained::{Explained, ExplainedCause};
use tarebench_core::trace::timeline::CpuOccupant;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::table::Table;
use tarebench_report::web::page::{EventKind, Events, GapClass, Page, PageCause, PageKind, PageRemark, PageTimeline};

fn time(ns: f64) -> String {
    number::time(ns, None, true).unwrap_or_default()
}

pub fn trace(a: &Activity, foot: String) -> Page {
    let timeline = timeline(a);
    let mut remarks: Vec<PageRemark> = Vec::new();
    let mut remark = |warning: bool, text: String| remarks.push(PageRemark { warning, text: text.into() });
    match &a.explained {
        Reading::Value(e) => doubts(e).into_iter().for_each(|text| remark(true, text)),
        Reading::Absent(why) => {
            remark(true, format!("Kernel events: {why}. Causes are inferred from period and length."));
        }
    }
    if a.made.full {
        remark(true, "The trace ended early: the buffer for periods is full.".to_owned());
    }
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Trace,
        title: format!("Activity on CPU {}", a.made.cpu).into(),
        subtitle: "When a computing process had its CPU, and what else ran on it".to_owned().into(),
        facts: facts(a).into_iter().map(|(label, text)| (label, text.into())).collect(),
        remarks,
        overview: None,
        plots: Vec::new(),
        parts: Vec::new(),
        tables: vec![causes(&timeline)],
        timeline: Some(timeline),
        foot: foot.into(),
    }
}

fn facts(a: &Activity) -> Vec<(String, String)> {
    let s = &a.summary;
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let length = time(a.ns(a.trace.length() as f64));
    let active = s.active.and_then(number::percent).map_or_else(String::new, |p| format!("{p} of {length}"));
    let longest = s.longest.map_or_else(String::new, |l| format!(", the longest {}", time(a.ns(l as f64))));
    let mut facts = vec![
        fact("Active", active),
        fact("Inactive", format!("{} periods over {} cycles{longest}", s.gaps, a.made.threshold)),
        fact("Load", a.made.load.to_string()),
        fact("Counter", format!("{} MHz", number::fixed(a.trace.hz() / 1e6, 1).unwrap_or_default())),
    ];
    if let Some(t) = &s.tick {
        let every = time(a.ns(t.period));
        let cost = t.median_cost.map_or_else(String::new, |c| format!(", {} each in the median", time(a.ns(c))));
        facts.push(fact("Tick", format!("every {every}: {} a second{cost}", t.hz)));
    }
    facts
}

fn class(r: &ExplainedCause) -> GapClass {
    match r {
        ExplainedCause::Timer => GapClass::Timer,
        ExplainedCause::Interrupt { .. } => GapClass::Interrupt,
        ExplainedCause::Softirq { .. } => GapClass::Softirq,
        ExplainedCause::Preempted { .. } => GapClass::Task,
        ExplainedCause::Idle => GapClass::Idle,
        ExplainedCause::NoEvent | ExplainedCause::Stolen => GapClass::NoEvent,
        ExplainedCause::Unknown => GapClass::Unknown,
    }
}

/// The trace by column, for figures and the page.
pub(crate) fn timeline(a: &Activity) -> PageTimeline {
    let by_length = a.trace.causes(&a.summary);
    let gaps = a.trace.gaps();
    let (causes, cause) = match &a.explained {
        Reading::Value(e) => explained(a, e),
        Reading::Absent(_) => classified(a, &by_length),
    };
    let words = (0..gaps.len()).map(|i| {
        let own = explanation(a, &by_length, i);
        let title = cause.get(i).and_then(|c| causes.get(*c)).map_or("", |c| c.title.as_str());
        Some(own).filter(|w| !w.is_empty() && w != title)
    });
    let begins = |i: &usize| gaps.get(*i).map(|g| a.ns(g.start as f64));
    let ticks = match &a.explained {
        Reading::Value(e) => e.timers().map(|t| a.ns(t as f64)).collect(),
        Reading::Absent(_) => a.summary.tick.iter().flat_map(|t| &t.gaps).filter_map(begins).collect(),
    };
    PageTimeline {
        length: a.ns(a.trace.length() as f64),
        start: gaps.iter().map(|g| a.ns(g.start as f64)).collect(),
        duration: gaps.iter().map(|g| a.ns(g.duration as f64)).collect(),
        words: words.collect(),
        causes,
        cause,
        ticks,
        events: a.explained.value().map(|e| events(a, e)),
    }
}

fn explained(a: &Activity, e: &Explained) -> (Vec<PageCause>, Vec<usize>) {
    let cause = |s: &tarebench_core::trace::explained::CauseShare| PageCause {
        title: reason(&s.reason).plain(),
        class: class(&s.reason),
        gaps: s.gaps,
        time: a.ns(s.cycles as f64),
        share: s.share,
    };
    (e.causes.iter().map(cause).collect(), e.gaps.iter().map(|g| g.cause).collect())
}

/// By period and length.
fn classified(a: &Activity, causes: &[activity::InactivityCause]) -> (Vec<PageCause>, Vec<usize>) {
    const ALL: [(activity::InactivityCause, &str, GapClass); 3] = [
        (activity::InactivityCause::Tick, "timer interrupt", GapClass::Timer),
        (activity::InactivityCause::Switch, "another process", GapClass::Task),
        (activity::InactivityCause::Unknown, "unknown", GapClass::Unknown),
    ];
    let length = a.trace.length() as f64;
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut out: Vec<PageCause> = Vec::new();
    for (cause, title, class) in ALL {
        let of = a.trace.gaps().iter().zip(causes).filter(|(_, c)| **c == cause);
        let (gaps, cycles) = of.fold((0, 0.0), |(n, sum), (g, _)| (n + 1, sum + g.duration as f64));
        if gaps > 0 {
            place.insert(title, out.len());
            let share = (length > 0.0).then_some(cycles / length);
            out.push(PageCause { title: title.to_owned(), class, gaps, time: a.ns(cycles), share });
        }
    }
    let title = |c: &activity::InactivityCause| ALL.iter().find(|a| a.0 == *c).map_or("", |a| a.1);
    let of = causes.iter().map(|c| place.get(title(c)).copied().unwrap_or(0));
    (out, of.collect())
}

fn events(a: &Activity, e: &Explained) -> Events {
    let mut at: HashMap<(String, GapClass), usize> = HashMap::new();
    let mut out = Events { what: Vec::new(), kind: Vec::new(), start: Vec::new(), end: Vec::new() };
    for event in &e.events {
        let (title, class) = match &event.what {
            CpuOccupant::Timer => ("timer interrupt".to_owned(), GapClass::Timer),
            CpuOccupant::Interrupt { name } => (format!("interrupt {name}"), GapClass::Interrupt),
            CpuOccupant::Softirq { name } => (format!("softirq {name}"), GapClass::Softirq),
            CpuOccupant::Task(t) => (format!("{} (pid {})", t.name, t.pid), GapClass::Task),
            CpuOccupant::Idle => ("idle".to_owned(), GapClass::Idle),
        };
        let next = out.what.len();
        let kind = *at.entry((title.clone(), class)).or_insert(next);
        if kind == next {
            out.what.push(EventKind { title, class });
        }
        out.kind.push(kind);
        out.start.push(a.ns(event.start as f64));
        out.end.push(a.ns(event.end as f64));
    }
    out
}

fn causes(t: &PageTimeline) -> Table {
    let note = "Each inactive period has one cause: the other task that had the CPU; otherwise the timer interrupt, \
                otherwise another interrupt.";
    let mut table = Table::new("Causes of inactive periods", note, &["cause", "periods", "time", "share", "each"]);
    for c in &t.causes {
        let each = (c.gaps > 0).then(|| c.time / f64::from(c.gaps));
        let cells = [
            Cell::foreign(&c.title),
            Cell::count(c.gaps),
            Cell::time(c.time),
            Cell::of(Unit::Share, c.share),
            Cell::time(each),
        ];
        table.row(cells, Vec::new());
    }
    table
}
