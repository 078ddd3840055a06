//! What the machine added to a program's time, in one line.

use std::collections::BTreeMap;
use tarebench_core::run::report::account::{AccountEntry, AccountReport, EntryKind};
use tarebench_core::run::report::data::SeriesReport;
use tarebench_report::number;
use tarebench_report::number::{TimeScale, TimeUnit};
use tarebench_report::screen::ScreenText;
use tarebench_report::text;
use tarebench_report::words::{plural, time};

/// Widest name of an entry.
const WIDEST: usize = 16;
/// Entries below this share of the sum are omitted.
const LEAST: f64 = 0.01;

/// The name of an entry that the machine is the cause of; `None` for what the program does itself.
fn label(page: &ScreenText<'_>, e: &AccountEntry) -> Option<String> {
    let name = page.style.show(&e.name);
    let label = match e.kind {
        EntryKind::Net | EntryKind::Blocked | EntryKind::Own => return None,
        EntryKind::Interrupt if name == "local_timer" => "timer".to_owned(),
        EntryKind::Interrupt | EntryKind::Preempted => name,
        EntryKind::Softirq => format!("softirq {name}"),
        EntryKind::Stolen => "hypervisor".to_owned(),
        EntryKind::Throttled => "CPU quota".to_owned(),
        EntryKind::Waiting => "CPU wait".to_owned(),
        EntryKind::Launch => "launch".to_owned(),
        EntryKind::Reap => "reaping".to_owned(),
        EntryKind::Unattributed => "unattributed".to_owned(),
    };
    Some(text::cut_middle(&label, WIDEST, page.g.dots).into_owned())
}

/// The entries of all tasks that the machine is the cause of, the largest first, and their sum.
fn entries(page: &ScreenText<'_>, a: &AccountReport) -> (f64, Vec<(String, f64)>) {
    let mut by_label: BTreeMap<String, f64> = BTreeMap::new();
    for e in a.elapsed.iter().chain(&a.others) {
        if let Some(label) = label(page, e).filter(|_| e.time.is_finite()) {
            *by_label.entry(label).or_default() += e.time;
        }
    }
    let sum = by_label.values().sum();
    let mut all: Vec<(String, f64)> = by_label.into_iter().filter(|(_, t)| *t >= LEAST * sum && *t > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    (sum, all)
}

/// How long a program of one task slept; the main thread of others mostly waits for them.
fn asleep(page: &ScreenText<'_>, a: &AccountReport) -> Option<String> {
    let asleep: f64 = a.elapsed.iter().filter(|e| e.kind == EntryKind::Blocked).map(|e| e.time).sum();
    (a.other_tasks == 0.0 && asleep >= LEAST * a.gross).then(|| format!("asleep {}; ", time(page, asleep)))
}

/// `the machine added 14 ms: sh 6.4, hypervisor 2.1`, with as many entries as fit; `None` without an account.
pub(crate) fn text(page: &ScreenText<'_>, s: &SeriesReport, room: usize) -> Option<String> {
    let a = s.account.value()?;
    let (sum, all) = entries(page, a);
    if sum.is_nan() || sum <= 0.0 {
        return Some("the machine added nothing".to_owned()).filter(|t| text::columns(t) <= room);
    }
    let unit = page.style.unit.unwrap_or_else(|| TimeUnit::of(sum));
    let figure = |t: f64| {
        let value = t / unit.nanos();
        let decimals = number::decimals_for(value, 2).min(unit.finest()).min(3);
        TimeScale { unit, decimals }.value(t).unwrap_or_else(|| page.g.absent.to_owned())
    };
    let total = format!("{} {}", figure(sum), unit.sign(page.style.unicode));
    let tasks = match a.other_tasks {
        n if n > 0.0 && n < 1e6 => format!(" to its {}", plural(n.round() as u64 + 1, "task")),
        _ => String::new(),
    };
    let asleep = asleep(page, a).unwrap_or_default();
    let mut heads = vec![format!("{asleep}the machine added {total}{tasks}")];
    if !asleep.is_empty() {
        heads.push(format!("{asleep}machine +{total}"));
    }
    heads.extend([
        format!("the machine added {total}{tasks}"),
        format!("the machine added {total}"),
        format!("machine +{total}"),
    ]);
    let first = all.first().map_or(0, |(l, t)| text::columns(l) + figure(*t).len() + 3);
    let fits = |spare: usize| heads.iter().find(|h| text::columns(h) + spare <= room);
    let mut line = fits(first).or_else(|| fits(0))?.clone();
    for (i, (label, t)) in all.iter().enumerate() {
        let next = format!("{}{label} {}", if i == 0 { ": " } else { ", " }, figure(*t));
        if text::columns(&line) + text::columns(&next) > room {
            break;
        }
        line.push_str(&next);
    }
    Some(line)
}
