//! Gross = net + tare: where the elapsed time of a program went.

use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::account::{AccountEntry, AccountReport, EntryKind};
use tarebench_core::run::report::data::SeriesReport;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::table::Table;
use tarebench_report::words::plural;

/// Agreement with the scheduler's own account that is not worth a word.
const AGREES: f64 = 0.001;

/// The accounts of the main thread and of the other tasks; none without tracing.
pub(crate) fn tables(s: &SeriesReport) -> Vec<Table> {
    let Some(a) = s.account.value() else { return Vec::new() };
    let mut all = vec![table("Account", note(a), &a.elapsed, a.gross)];
    if a.other_tasks > 0.0 {
        let total: f64 = a.others.iter().map(|e| e.time).sum();
        let tasks = if a.other_tasks == 1.0 { " other task" } else { " other tasks" };
        let note = Cell::text("its ").and(Cell::count(a.other_tasks)).and(tasks).and(", summed over them: ");
        all.push(table("Account of its other tasks", note.and(Cell::time(total)), &a.others, total));
    }
    all
}

fn note(a: &AccountReport) -> Cell {
    let net = a.elapsed.iter().find(|e| e.kind == EntryKind::Net).map_or(0.0, |e| e.time);
    let (gross, tare) = (Cell::text("gross ").and(Cell::time(a.gross)), a.gross - net);
    // A program with other tasks waits for them: that is its own doing.
    let mut said = if a.other_tasks > 0.0 {
        gross.and(", as its main thread spent it")
    } else {
        let sum = gross.and(" = net ").and(Cell::time(net)).and(" + tare ").and(Cell::time(tare));
        sum.and(", ").and(Cell::of(Unit::Share, tare / a.gross)).and(" of it")
    };
    said = said.and(format!("; mean of {}", plural(a.samples, "sample")));
    if let Some((n, why)) = &a.incomplete {
        said = said.and(format!("; incomplete in {n} of {}: {why}", plural(a.samples, "sample")));
    }
    if a.open > 0 {
        said = said.and(format!("; {} still ran when the account was closed", plural(a.open, "task")));
    }
    match a.agreement.filter(|r| (r - 1.0).abs() > AGREES) {
        Some(agreement) => said
            .and("; the scheduler's own account is ")
            .and(Cell::of(Unit::Share, agreement))
            .and(" of the time traced on CPUs"),
        None => said,
    }
}

fn table(title: &str, note: Cell, entries: &[AccountEntry], whole: f64) -> Table {
    let mut t = Table::new(title, note, &["entry", ">time", ">share", ">times"]);
    for e in entries {
        let share = if whole > 0.0 { Cell::of(Unit::Share, e.time / whole) } else { Cell::empty() };
        let times = e.count.map(|n| Cell::of(Unit::Count, n)).unwrap_or_default();
        t.row([label(e), Cell::time(e.time), share, times], Vec::new());
    }
    t
}

/// The words for an entry.
fn label(e: &AccountEntry) -> Cell {
    let named = |what: &str| Cell::text(what).and(Cell::foreign(&e.name));
    match e.kind {
        EntryKind::Net => "net".into(),
        EntryKind::Interrupt => named("interrupts: "),
        EntryKind::Softirq => named("softirq: "),
        EntryKind::Stolen => "stolen by the hypervisor".into(),
        EntryKind::Throttled => named("throttled by the quota of cgroup "),
        EntryKind::Preempted if e.task == Some(TaskKind::Partner) => "waited for its partner".into(),
        EntryKind::Preempted => named("waited for ").and(match e.task {
            Some(TaskKind::Kernel) => " (kernel)",
            Some(TaskKind::Tare) => " (tare itself)",
            _ => "",
        }),
        EntryKind::Own => "waited for its own tasks".into(),
        EntryKind::Waiting => "waited for a CPU".into(),
        EntryKind::Blocked => match e.asleep() {
            Some(kind) if kind.name() != e.name => {
                Cell::text(format!("asleep: {} (", kind.name())).and(Cell::foreign(&e.name)).and(")")
            }
            _ => named("asleep: "),
        },
        EntryKind::Launch => "launch, until exec".into(),
        EntryKind::Reap => "reaping".into(),
        EntryKind::Unattributed => "unattributed".into(),
    }
}

/// Why there is no account, and what can be said without; nothing if there is one.
pub(crate) fn without(s: &SeriesReport) -> Vec<(&'static str, Cell)> {
    let Reading::Absent(why) = &s.account else { return Vec::new() };
    let mut all = vec![("account", Cell::text(why.to_string()))];
    let Some(e) = s.estimate.value() else { return all };
    all.push(match &e.waited {
        Reading::Value(waited) => {
            let said = Cell::text("the main thread waited ").and(Cell::time(*waited)).and(" for a CPU");
            let throttled = e.throttled.value().filter(|t| **t > 0.0).map(|t| Cell::time(t.min(*waited)));
            let quota = |t| Cell::text(", up to ").and(t).and(" of it throttled by the quota of its cgroup");
            ("estimate", throttled.map(quota).into_iter().fold(said, Cell::and))
        }
        Reading::Absent(why) => ("waiting", Cell::text(why.to_string())),
    });
    all.push(match &e.interrupts {
        Reading::Value(counts) => {
            let mut all: Vec<(&String, f64)> = counts.iter().map(|(n, c)| (n, *c)).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let counted = all.iter().enumerate().flat_map(|(i, (name, count))| {
                [Cell::text(if i > 0 { ", " } else { "" }), Cell::count(*count), " ".into(), Cell::foreign(*name)]
            });
            let none = all.is_empty().then(|| Cell::text("none"));
            ("interrupts on all CPUs", Cell::words(counted.chain(none)))
        }
        Reading::Absent(why) => ("interrupts", Cell::text(why.to_string())),
    });
    all
}
