//! A lab on the terminal: campaigns, tasks, machines, and machines compared.

use crate::data::campaign::{Campaign, CampaignRepeat, MachineChoice};
use crate::data::nodes::{NodeFleet, NodeRow, NodesReport};
use crate::data::state::{CampaignSummary, LabMachine, LabTask, LabTaskState};
use crate::data::tasks::LabTaskPlan;
use crate::pages::page::left::time_left;
use crate::pages::page::words::{age_words, campaign_state, engine, grouped, lasted, machine_state, task_state};
use crate::pages::said::{answers, change, compared_time, fleet_remarks, fleet_title, remarks, spread};
use std::collections::{BTreeMap, BTreeSet};
use tarebench_core::base::date::date;
use tarebench_core::base::units::Nanos;
use tarebench_report::cell::{Cell, Unit};
use tarebench_report::number;
use tarebench_report::screen::ScreenText;
use tarebench_report::style::{Paint, Style};
use tarebench_report::table::Table;
use tarebench_report::terminal_table::draw;
use tarebench_report::text::cut_middle;
use tarebench_report::words::plural;

/// Most columns of a machine's name.
const NAME: usize = 24;
/// From this width on, tables have all their columns.
const WIDE: usize = 100;
/// Most messages of failed tasks, unless all are asked for.
const MESSAGES: usize = 5;
/// Most machines that are listed in a summary.
const LISTED: usize = 6;

/// All campaigns, in the order given.
pub fn campaigns(all: &[CampaignSummary], now: Nanos, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    if all.is_empty() {
        page.line(&[(Paint::Dim, "no campaign was submitted".to_owned())]);
        return page.finish();
    }
    let head = ["no.", "campaign", "state", ">done", ">failed", ">samples", "submitted", "by"];
    let wide = page.width() >= WIDE;
    let mut table = Table::new(plural(all.len() as u64, "campaign"), "", &head);
    for c in all {
        let failed = if c.failed > 0 { grouped(c.failed) } else { String::new() };
        let cells = vec![
            c.id.to_string(),
            c.name.clone(),
            campaign_state(c.state).0.to_owned(),
            format!("{}/{}", grouped(c.done), grouped(c.tasks)),
            failed,
            grouped(c.samples),
            age_words(c.created, now),
            if wide { c.owner.clone() } else { String::new() },
        ];
        table.row(cells, Vec::new());
    }
    more(&mut page, &table);
    page.finish()
}

/// Draws a table, and what shows the rest of it.
fn more(page: &mut ScreenText<'_>, table: &Table) {
    let style = page.style;
    if !draw(page, table)
        && let Some(command) = &style.more
    {
        page.hang(&[], Paint::Dim, &style.prose(&format!("all rows: {command}")));
    }
}

/// One campaign with its tasks, those that failed or run first, then those that wait.
pub fn campaign(
    summary: &CampaignSummary,
    campaign: &Campaign,
    tasks: &[LabTask],
    now: Nanos,
    style: &Style,
) -> String {
    let mut page = ScreenText::new(style);
    page.title(&format!("campaign {}: {}", summary.id, style.show(&summary.name)));
    page.field("state", &standing(summary, tasks, now));
    let submitted =
        format!("{} by {}, engine {}", date(summary.created, &style.zone), summary.owner, engine(summary.engine));
    page.field("submitted", &style.prose(&submitted));
    page.field("machines", &style.prose(&chosen(&campaign.machines)));
    page.field("repeated", &style.prose(&repeated(&campaign.repeat)));
    let mut ordered: Vec<&LabTask> = tasks.iter().collect();
    ordered.sort_by_key(|t| (rank(t.state), t.not_before, t.ordinal));
    let head = ["task", "state", "machine", ">samples", ">tries", ">took", "when"];
    let mut table = Table::new("tasks", "", &head);
    for t in &ordered {
        table.row(task_cells(t, now), Vec::new());
    }
    more(&mut page, &table);
    failures(&mut page, &ordered);
    page.finish()
}

/// What someone should look at comes first.
fn rank(state: LabTaskState) -> u8 {
    match state {
        LabTaskState::Failed => 0,
        LabTaskState::Leased => 1,
        LabTaskState::Waiting => 2,
        LabTaskState::Done => 3,
        LabTaskState::Cancelled => 4,
    }
}

fn standing(summary: &CampaignSummary, tasks: &[LabTask], now: Nanos) -> String {
    let counts = [
        (summary.failed, "failed"),
        (summary.leased, "running"),
        (summary.waiting, "waiting"),
        (summary.cancelled, "cancelled"),
    ];
    let others = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!(", {} {word}", grouped(n)));
    let others: String = others.collect();
    let left = time_left(summary.state, tasks, now).and_then(|t| number::time_left(t.as_f64()));
    let left = left.map(|l| format!("; about {l} left")).unwrap_or_default();
    let (done, all) = (grouped(summary.done), plural(summary.tasks, "task"));
    let samples = format!("{} {}", grouped(summary.samples), if summary.samples == 1 { "sample" } else { "samples" });
    format!("{}: {done} of {all} done{others}; {samples}{left}", campaign_state(summary.state).0)
}

fn task_cells(t: &LabTask, now: Nanos) -> Vec<String> {
    let samples = match t.progress.map(|p| (p.done, p.wanted)) {
        Some((done, Some(wanted))) => format!("{}/{}", grouped(done), grouped(wanted)),
        Some((done, None)) => grouped(done),
        None => String::new(),
    };
    let ended = t.ended.filter(|_| !matches!(t.state, LabTaskState::Leased | LabTaskState::Waiting));
    let took = t.started.filter(|_| t.attempts > 0).map(|s| lasted(ended.unwrap_or(now) - s));
    let took = took.filter(|_| ended.is_some() || t.state == LabTaskState::Leased);
    let when = match (t.state, ended) {
        (LabTaskState::Waiting, _) if t.not_before > now => age_words(t.not_before, now),
        (_, Some(ended)) => age_words(ended, now),
        _ => String::new(),
    };
    vec![
        t.id.to_string(),
        task_state(t.state).0.to_owned(),
        t.machine.clone().or_else(|| t.agent.clone()).unwrap_or_else(|| "any".to_owned()),
        samples,
        if t.attempts > 1 { t.attempts.to_string() } else { String::new() },
        took.unwrap_or_default(),
        when,
    ]
}

/// The messages of failed tasks; equal ones once.
fn failures(page: &mut ScreenText<'_>, tasks: &[&LabTask]) {
    let style = page.style;
    let mut by_message: Vec<(&str, Vec<i64>)> = Vec::new();
    for t in tasks.iter().filter(|t| t.state == LabTaskState::Failed) {
        let message = t.message.as_deref().unwrap_or("no message");
        match by_message.iter_mut().find(|(m, _)| *m == message) {
            Some((_, ids)) => ids.push(t.id),
            None => by_message.push((message, vec![t.id])),
        }
    }
    if !by_message.is_empty() {
        page.gap();
    }
    let most = if style.full { usize::MAX } else { MESSAGES };
    for (message, ids) in by_message.iter().take(most) {
        let first: Vec<String> = ids.iter().take(LISTED).map(i64::to_string).collect();
        let rest = ids.len().saturating_sub(LISTED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let which = format!("{} {}{rest}: ", if ids.len() == 1 { "task" } else { "tasks" }, first.join(", "));
        page.hang(
            &[(Paint::Bad, format!("{} ", page.g.warning))],
            Paint::Plain,
            &format!("{which}{}", style.prose(message)),
        );
    }
    if by_message.len() > most {
        page.line(&[(Paint::Dim, format!("  and {} more messages", by_message.len() - most))]);
    }
}

fn tags(tags: &BTreeMap<String, String>) -> String {
    let pair = |(k, v): (&String, &String)| if v.is_empty() { k.clone() } else { format!("{k}={v}") };
    tags.iter().map(pair).collect::<Vec<_>>().join(" ")
}

/// Which machines a campaign chooses; foreign text.
fn chosen(choice: &MachineChoice) -> String {
    match choice {
        MachineChoice::All => "all".to_owned(),
        MachineChoice::Count(n) => format!("any {n}"),
        MachineChoice::Tags { tags: wanted, count: None } => format!("all with {}", tags(wanted)),
        MachineChoice::Tags { tags: wanted, count: Some(n) } => format!("any {n} with {}", tags(wanted)),
        MachineChoice::Names(names) => {
            let rest = names.len().saturating_sub(LISTED);
            let first = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
            if rest > 0 { format!("{first} and {rest} more") } else { first }
        }
    }
}

fn repeated(repeat: &CampaignRepeat) -> String {
    match repeat {
        CampaignRepeat::Once => "once".to_owned(),
        CampaignRepeat::Times { times, every: None } => format!("{} in succession", plural(*times, "time")),
        CampaignRepeat::Times { times, every: Some(every) } => {
            format!("{}, every {}", plural(*times, "time"), number::long_time(*every, true))
        }
        CampaignRepeat::Nightly { nights, at: (hour, minute) } => {
            format!("{}, at {hour}:{minute:02}", plural(*nights, "night"))
        }
        CampaignRepeat::AtRandom { times, within, .. } => {
            format!("{} at random within {}", plural(*times, "time"), number::long_time(*within, true))
        }
    }
}

/// What was submitted: how many tasks, on which machines, when, and what each runs.
pub fn submitted(
    summary: &CampaignSummary,
    campaign: &Campaign,
    tasks: &[LabTaskPlan],
    now: Nanos,
    style: &Style,
) -> String {
    let mut page = ScreenText::new(style);
    page.title(&format!("campaign {}: {}", summary.id, style.show(&summary.name)));
    let named: BTreeSet<&String> = tasks.iter().filter_map(|t| t.machine.as_ref()).collect();
    let machines = if named.is_empty() { chosen(&campaign.machines) } else { named_machines(&named) };
    let times = u64::from(campaign.repeat.times());
    let all = format!("{}: {}", plural(tasks.len() as u64, "task"), plural(times, "repetition"));
    page.field("tasks", &style.prose(&format!("{all}, engine {}", engine(summary.engine))));
    page.field("machines", &style.prose(&machines));
    page.field("repeated", &style.prose(&repeated(&campaign.repeat)));
    if let (Some(first), Some(last)) =
        (tasks.iter().map(|t| t.not_before).min(), tasks.iter().map(|t| t.not_before).max())
    {
        let at = |t: Nanos| if t <= now { "now".to_owned() } else { date(t, &style.zone) };
        let text = if first == last { at(first) } else { format!("from {} to {}", at(first), at(last)) };
        page.field("not before", &style.prose(&text));
    }
    let programs = plural(campaign.programs.len() as u64, "program");
    let series = campaign.series();
    let each =
        if series == campaign.programs.len() { programs } else { format!("{programs}, {series} with parameters") };
    page.field("each task", &each);
    for p in campaign.programs.iter().take(LISTED) {
        let room = page.field_width();
        let name = cut_middle(&style.show(p.name()), room, page.g.dots).into_owned();
        page.field_row("", vec![(Paint::Dim, name)]);
    }
    if campaign.programs.len() > LISTED {
        page.field("", &format!("and {} more", campaign.programs.len() - LISTED));
    }
    page.finish()
}

fn named_machines(named: &BTreeSet<&String>) -> String {
    let first = named.iter().take(LISTED).map(|n| n.as_str()).collect::<Vec<_>>().join(", ");
    let rest = named.len().saturating_sub(LISTED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}: {first}{more}", named.len())
}

/// The machines of a lab, in the order given.
pub fn machines(all: &[LabMachine], now: Nanos, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    if all.is_empty() {
        page.line(&[(Paint::Dim, "no machine has announced itself".to_owned())]);
        return page.finish();
    }
    let head = ["machine", "state", "heard", ">load", ">task", "CPUs", "tags"];
    let mut table = Table::new(plural(all.len() as u64, "machine"), "", &head);
    for m in all {
        let unknown = || page.g.absent.to_owned();
        let cells = vec![
            m.name.clone(),
            machine_state(m.state).0.to_owned(),
            age_words(m.heartbeat, now),
            m.load.and_then(|l| number::fixed(l, 2)).unwrap_or_else(unknown),
            m.task.map(|t| t.to_string()).unwrap_or_default(),
            cpus(m, page.g.times),
            tags(&m.tags),
        ];
        table.row(cells, Vec::new());
    }
    more(&mut page, &table);
    let mut prints: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
    for m in all {
        prints.entry(m.fingerprint.as_str()).or_default().insert(&m.name);
    }
    page.gap();
    if prints.len() == 1 {
        page.hang(&[], Paint::Dim, "all have one fingerprint (CPU, kernel, settings)");
        return page.finish();
    }
    page.hang(&[], Paint::Dim, &format!("{} fingerprints (CPU, kernel, settings):", prints.len()));
    for (print, names) in prints {
        let first = [(Paint::Plain, format!("  {}  ", cut_middle(&style.show(print), NAME, page.g.dots)))];
        page.hang(&first, Paint::Plain, &style.prose(&named_machines(&names)));
    }
    page.finish()
}

/// `8 × Xeon 8375C`; foreign text.
fn cpus(m: &LabMachine, times: &str) -> String {
    match m.host.cpu.value() {
        Some(cpu) => format!("{} {times} {cpu}", m.host.cpus),
        None => m.host.cpus.to_string(),
    }
}

/// Is there an odd machine? The answer first, then one row for each machine.
pub fn nodes(report: &NodesReport, style: &Style) -> String {
    let mut page = ScreenText::new(style);
    let show =
        |text: &str| cut_middle(&style.show(text), NAME.min(style.columns() / 2), style.glyphs().dots).into_owned();
    if report.fleets.is_empty() {
        page.line(&[(Paint::Dim, "no run with samples to compare".to_owned())]);
    }
    for fleet in &report.fleets {
        if report.fleets.len() > 1 {
            page.gap();
            page.hang(&[], Paint::Title, &style.prose(&fleet_title(fleet, &page.g, &show)));
        }
        for sentence in answers(fleet, &page.g, &show) {
            let paint = if sentence.bad { Paint::Bad } else { Paint::Plain };
            page.hang(&[], paint, &style.prose(&sentence.text));
        }
    }
    for fleet in &report.fleets {
        if fleet.machines.len() > 1 || report.fleets.len() == 1 {
            rows(&mut page, report, fleet, &show);
        }
    }
    let general = remarks(report, &show);
    if !general.is_empty() {
        page.gap();
    }
    for remark in general {
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &style.prose(&remark));
    }
    page.finish()
}

fn rows(page: &mut ScreenText<'_>, report: &NodesReport, fleet: &NodeFleet, show: &dyn Fn(&str) -> String) {
    let style = page.style;
    let print =
        if report.fleets.len() > 1 { format!(", fingerprint {}", show(&fleet.fingerprint)) } else { String::new() };
    let title = format!("{} relative to the typical machine{print}", compared_time(report.measure));
    let head =
        ["", "machine", "difference [95%]", ">runs", ">samples", ">s.d. runs", ">s.d. exec.", ">added", ">drift"];
    let mut table = Table::new(title, "", &head);
    for row in &fleet.machines {
        table.row(node_cells(row, page), Vec::new());
    }
    more(page, &table);
    page.hang(&[(Paint::Plain, "  ".to_owned())], Paint::Dim, &style.prose(&spread(&fleet.spread, &page.g)));
    for remark in fleet_remarks(fleet, show) {
        page.hang(&[(Paint::Warn, format!("{} ", page.g.warning))], Paint::Plain, &style.prose(&remark));
    }
    let differing: Vec<&NodeRow> =
        fleet.machines.iter().filter(|m| m.programs.iter().any(|p| p.differs) || style.full).collect();
    let mut table = Table::new("programs", "", &["", "machine", "program", "difference [95%]"]);
    for (row, p) in differing.iter().flat_map(|row| row.programs.iter().map(move |p| (row, p))) {
        if p.differs || style.full {
            let mark = if p.differs { page.g.warning } else { "" };
            let by = change(p.ratio, p.interval.as_ref()).into();
            table.row([mark.into(), Cell::foreign(&row.machine), Cell::foreign(&p.program), by], Vec::new());
        }
    }
    more(page, &table);
}

fn node_cells(row: &NodeRow, page: &ScreenText<'_>) -> [Cell; 9] {
    let g = &page.g;
    let drifts = row.drift.as_ref().is_some_and(|d| d.drifts);
    let mark = match (row.odd || drifts, row.differs) {
        (true, _) => g.warning,
        (false, true) => g.dot,
        (false, false) => "",
    };
    let drift = row.drift.as_ref().map(|d| change(d.ratio, None).into()).unwrap_or_default();
    // Empty columns are not drawn.
    let from = |width: usize, cell: Cell| if page.width() >= width { cell } else { Cell::empty() };
    let share = |share: Option<f64>| Cell::of(Unit::Share, share);
    [
        mark.into(),
        Cell::foreign(cut_middle(&row.machine, NAME, g.dots)),
        change(row.ratio, row.interval.as_ref()).into(),
        row.runs.to_string().into(),
        from(WIDE, grouped(row.samples as u64).into()),
        from(60, share(row.runs_spread)),
        from(WIDE, share(row.executions_spread)),
        from(60, share(row.added)),
        from(60, drift),
    ]
}

#[cfg(test)]
mod tests;
