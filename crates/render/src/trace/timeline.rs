//! A trace by column, for its figure and the page.

use crate::trace::activity::Activity;
use crate::trace::said::{explanation, reason};
use std::collections::HashMap;
use tarebench_core::base::reading::Reading;
use tarebench_core::trace::activity;
use tarebench_core::trace::explained::{Explained, ExplainedCause};
use tarebench_core::trace::timeline::CpuOccupant;
use tarebench_report::web::page::{EventKind, Events, GapClass, PageCause, PageTimeline};

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

pub(crate) fn timeline(a: &Activity) -> PageTimeline {
    let by_length = a.trace.causes(&a.summary);
    let gaps = a.trace.gaps();
    let (causes, cause) = match &a.explained {
        Reading::Value(e) => explained(a, e),
        Reading::Absent(_) => classified(a, &by_length),
    };
    let words = (0..gaps.len()).map(|i| {
        let own = explanation(a, &by_length, i);
        let title = cause.get(i).and_then(|c| causes.get(*c)).map_or_else(String::new, |c| c.title.plain());
        Some(own).filter(|w| !w.is_empty() && *w != title)
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
        title: reason(&s.reason),
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
            out.push(PageCause { title: title.into(), class, gaps, time: a.ns(cycles), share });
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
