//! Gross = net + tare: where the elapsed time of a program went.

use crate::run::counters;
use tarebench_core::base::reading::Reading;
use tarebench_core::run::report::account::{AccountEntry, AccountReport, EntryKind, EstimateReport};
use tarebench_core::run::report::data::SeriesReport;
use tarebench_core::sample::daemons::TaskKind;
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::Paint;
use tarebench_report::text;
use tarebench_report::words::{Reasons, plural, time};

/// Draws the account, or what can be said without.
pub(crate) fn field(page: &mut ScreenText<'_>, s: &SeriesReport) {
    match &s.account {
        Reading::Value(a) => traced(page, a),
        Reading::Absent(why) => {
            let why = page.style.prose(&why.to_string());
            page.painted_field("account", Paint::Dim, &why);
            estimate(page, s.estimate.value());
        }
    }
    counters::section(page, s);
}

fn traced(page: &mut ScreenText<'_>, a: &AccountReport) {
    let net = a.elapsed.iter().find(|e| e.kind == EntryKind::Net).map_or(0.0, |e| e.time);
    let tare = a.gross - net;
    let share = number::percent(tare / a.gross).map_or_else(String::new, |p| format!(", {p} of it"));
    // A program with other tasks waits for them: that is its own doing.
    let sum = if a.other_tasks > 0.0 {
        format!("gross {}, as its main thread spent it", time(page, a.gross))
    } else {
        format!("gross {} = net {} + tare {}{share}", time(page, a.gross), time(page, net), time(page, tare))
    };
    page.painted_field("account", Paint::Strong, &sum);
    entries(page, &a.elapsed, a.gross);
    if a.other_tasks > 0.0 {
        let total: f64 = a.others.iter().map(|e| e.time).sum();
        let tasks = number::count(a.other_tasks).unwrap_or_default();
        let verb = if a.other_tasks == 1.0 { "task" } else { "tasks" };
        page.field("", &format!("its {tasks} other {verb}, summed over them: {}", time(page, total)));
        entries(page, &a.others, total);
    }
    remarks(page, a);
}

fn remarks(page: &mut ScreenText<'_>, a: &AccountReport) {
    if let Some((n, why)) = &a.incomplete {
        let why = page.style.prose(why);
        page.painted_field("", Paint::Warn, &format!("incomplete in {n} of {}: {why}", plural(a.samples, "sample")));
    }
    if a.open > 0 {
        let left = plural(a.open, "task");
        page.painted_field("", Paint::Warn, &format!("{left} still ran when the account was closed"));
    }
    if let Some(agreement) = a.agreement.filter(|r| (r - 1.0).abs() > 0.001 && page.style.account)
        && let Some(percent) = number::percent(agreement)
    {
        page.field("", &format!("the scheduler's own account is {percent} of the time traced on CPUs"));
    }
}

/// The words for an entry.
pub(crate) fn label(page: &ScreenText<'_>, e: &AccountEntry) -> String {
    let name = page.style.show(&e.name);
    match e.kind {
        EntryKind::Net => "net".to_owned(),
        EntryKind::Interrupt => format!("interrupts: {name}"),
        EntryKind::Softirq => format!("softirq: {name}"),
        EntryKind::Stolen => "stolen by the hypervisor".to_owned(),
        EntryKind::Throttled => {
            format!("throttled by the quota of cgroup {}", text::cut_middle(&name, 25, page.g.dots))
        }
        EntryKind::Preempted if e.task == Some(TaskKind::Partner) => "waited for its partner".to_owned(),
        EntryKind::Preempted => {
            let kind = match e.task {
                Some(TaskKind::Kernel) => " (kernel)",
                Some(TaskKind::Tare) => " (tare itself)",
                _ => "",
            };
            format!("waited for {}{kind}", text::cut_middle(&name, 25, page.g.dots))
        }
        EntryKind::Own => "waited for its own tasks".to_owned(),
        EntryKind::Waiting => "waited for a CPU".to_owned(),
        EntryKind::Blocked => match e.asleep() {
            Some(kind) if kind.name() != name => format!("asleep: {} ({name})", kind.name()),
            _ => format!("asleep: {name}"),
        },
        EntryKind::Launch => "launch, until exec".to_owned(),
        EntryKind::Reap => "reaping".to_owned(),
        EntryKind::Unattributed => "unattributed".to_owned(),
    }
}

/// The entries in columns.
fn entries(page: &mut ScreenText<'_>, entries: &[AccountEntry], whole: f64) {
    let rows: Vec<[String; 4]> = entries
        .iter()
        .map(|e| {
            let percent = if whole > 0.0 { number::percent(e.time / whole) } else { None };
            let count = e.count.and_then(number::count).map_or_else(String::new, |n| format!("{n}{}", page.g.times));
            [label(page, e), time(page, e.time), percent.unwrap_or_default(), count]
        })
        .collect();
    draw(page, &rows);
}

fn draw(page: &mut ScreenText<'_>, rows: &[[String; 4]]) {
    let width = |i: usize| rows.iter().map(|r| text::columns(&r[i])).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for row in rows {
        let pad = |i: usize| " ".repeat(widths[i] - text::columns(&row[i]));
        let [label, time, share, count] = row;
        let spans = vec![
            (Paint::Plain, format!("  {label}{}", pad(0))),
            (Paint::Plain, format!("  {}{time}", pad(1))),
            (Paint::Dim, format!("  {}{share}", pad(2))),
            (Paint::Dim, format!("  {}{count}", pad(3))),
        ];
        page.field_row("", spans);
    }
}

/// What can be said without tracing.
fn estimate(page: &mut ScreenText<'_>, e: Option<&EstimateReport>) {
    let Some(e) = e else { return };
    let mut reasons = Reasons::default();
    match &e.waited {
        Reading::Value(w) => {
            let throttled = e.throttled.value().filter(|t| **t > 0.0).map_or_else(String::new, |t| {
                format!(", up to {} of it throttled by the quota of its cgroup", time(page, t.min(*w)))
            });
            page.field("", &format!("estimate: the main thread waited {} for a CPU{throttled}", time(page, *w)));
        }
        Reading::Absent(why) => reasons.add("waiting", why),
    }
    match &e.interrupts {
        Reading::Value(counts) => {
            let mut all: Vec<(&String, f64)> = counts.iter().map(|(n, c)| (n, *c)).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let counted = |(name, count): &(&String, f64)| {
                format!("{} {}", number::count(*count).unwrap_or_default(), page.style.show(name))
            };
            let mut items: Vec<String> = all.iter().map(counted).collect();
            if items.is_empty() {
                items.push("none".to_owned());
            }
            if let Some(first) = items.first_mut() {
                *first = format!("interrupts on all CPUs, how many: {first}");
            }
            page.field_items("", &items);
        }
        Reading::Absent(why) => reasons.add("interrupts", why),
    }
    let lines = reasons.lines(page);
    page.field_lines("", &lines);
}
