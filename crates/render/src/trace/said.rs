//! Causes of inactive periods in words.

use crate::trace::activity::Activity;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_core::trace::activity::InactivityCause;
use tarebench_core::trace::explained::{Explained, ExplainedCause};
use tarebench_core::trace::ticks::{TickSight, TraceTick};
use tarebench_core::trace::timeline::TraceTask;
use tarebench_report::cell::Cell;

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

/// How many timer interrupts there were, if some of them are no period of their own (practice problem 9.2).
pub(crate) fn hidden_ticks(all: &[TraceTick]) -> Option<String> {
    let count = |is: fn(&TickSight) -> bool| all.iter().filter(|t| is(&t.sight)).count();
    let active = count(|s| matches!(s, TickSight::Active(_)));
    let inactive = count(|s| matches!(s, TickSight::Inactive(_)));
    let unseen = count(|s| matches!(s, TickSight::Unseen));
    let unseen = if unseen > 0 { format!(", {unseen} did not show") } else { String::new() };
    (active < all.len()).then(|| {
        format!("{} in all: {active} interrupted the process, {inactive} came while it had no CPU{unseen}", all.len())
    })
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
