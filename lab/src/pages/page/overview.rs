//! The first page of a lab: its campaigns, its machines, its queue, and what failed.

use crate::data::state::{CampaignState, CampaignSummary, LabMachine, LabMachineState, LabTask};
use crate::pages::page::html::{Html, href, query};
use crate::pages::page::rows::{number, table, text};
use crate::pages::page::shell::{LabFrame, live, shell};
use crate::pages::page::words::{age, campaign_state, engine, grouped, lasted, load, machine_state, state};
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::units::Nanos;
use tarebench_report::number::time_left as in_words;
use tarebench_report::words::plural;

/// Most characters of a failure's message in a list; its task's page has all of it.
const MESSAGE: usize = 400;

/// What the page is of.
#[derive(Clone, Debug)]
pub struct LabOverview<'a> {
    /// By the database's clock.
    pub now: Nanos,
    pub zone: &'a TimeZone,
    pub campaigns: &'a [CampaignProgress],
    /// Older campaigns that are not among these.
    pub more_campaigns: usize,
    pub machines: &'a [LabMachine],
    pub failures: &'a [LabFailure],
}

/// A campaign, and how long it still takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignProgress {
    pub summary: CampaignSummary,
    /// As [`crate::pages::page::left::time_left`] estimates it.
    pub left: Option<Nanos>,
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabFailure {
    /// Name of its campaign.
    pub campaign: String,
    pub task: LabTask,
}

/// The page.
pub fn overview(frame: &LabFrame<'_>, lab: &LabOverview<'_>) -> String {
    shell(frame, "Lab", "/", |h| {
        live(h, "summary", "At a glance", |h| summary(h, lab));
        live(h, "campaigns", "Campaigns", |h| campaigns(h, lab));
        live(h, "failures", "Failures", |h| failures(h, lab));
        live(h, "machines", "Machines", |h| machines(h, lab));
    })
}

fn summary(html: &mut Html, lab: &LabOverview<'_>) {
    let sum = |count: fn(&CampaignSummary) -> u64| {
        lab.campaigns.iter().map(|c| count(&c.summary)).fold(0, u64::saturating_add)
    };
    let open =
        lab.campaigns.iter().filter(|c| matches!(c.summary.state, CampaignState::Queued | CampaignState::Running));
    let alive = lab.machines.iter().filter(|m| m.state != LabMachineState::Gone).count();
    let queued = open.clone().map(|c| c.summary.waiting).fold(0, u64::saturating_add);
    html.line(
        "p",
        &[("class", "lead")],
        &format!(
            "{} waiting in the queue, {} running, {} of {} alive; {} in progress.",
            plural(queued, "task"),
            grouped(sum(|c| c.leased)),
            alive,
            plural(lab.machines.len() as u64, "machine"),
            plural(open.count() as u64, "campaign"),
        ),
    );
    html.raw("\n");
}

fn campaigns(html: &mut Html, lab: &LabOverview<'_>) {
    if lab.campaigns.is_empty() {
        html.raw("<p class=\"hint\">No campaign was submitted yet: <code>tare lab submit campaign.toml</code>.</p>\n");
        return;
    }
    let columns = [
        number("number"),
        text("campaign"),
        text("state"),
        text("tasks done"),
        text("time left"),
        number("failed"),
        number("samples"),
        text("submitted"),
        text("by"),
        text("engine"),
    ];
    let rows = lab.campaigns.iter().map(|c| {
        let s = &c.summary;
        let mut name = Html::new();
        name.link(&href("campaign", &s.id.to_string()), &s.name);
        vec![
            Html::of_text(&s.id.to_string()),
            name,
            state(campaign_state(s.state)),
            progress(s),
            Html::of_text(&c.left.and_then(|left| in_words(left.as_f64())).unwrap_or_default()),
            Html::of_text(&if s.failed > 0 { grouped(s.failed) } else { String::new() }),
            Html::of_text(&grouped(s.samples)),
            age(s.created, lab.now, lab.zone),
            Html::of_name(&s.owner),
            Html::of_text(engine(s.engine)),
        ]
    });
    table(html, "Campaigns, newest first", &columns, rows);
    if lab.more_campaigns > 0 {
        html.element("p", &[("class", "ways")], |h| {
            let all = format!("Show {}", plural(lab.more_campaigns as u64, "older campaign"));
            h.link(&query("/", &[("campaigns", "all")]), &all);
        });
    }
}

/// `12 of 30`, and a bar of what became of the tasks.
pub(crate) fn progress(s: &CampaignSummary) -> Html {
    let mut html = Html::new();
    html.text(&format!("{} of {}", grouped(s.done), grouped(s.tasks)));
    if s.tasks == 0 {
        return html;
    }
    let parts = [("done", s.done), ("leased", s.leased), ("failed", s.failed), ("cancelled", s.cancelled)];
    let words: Vec<String> = parts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    let percent = |n: u64| format!("{:.2}%", n as f64 / s.tasks as f64 * 100.0);
    let said = format!("{}; {} waiting", words.join(", "), s.waiting).replace("leased", "running");
    html.element(
        "svg",
        &[("class", "progress"), ("role", "img"), ("aria-label", said.trim_start_matches("; "))],
        |h| {
            h.raw("<rect class=\"all\" width=\"100%\" height=\"10\"/>");
            let mut before: u64 = 0;
            for (class, n) in parts.into_iter().filter(|(_, n)| *n > 0) {
                let (x, width) = (percent(before), percent(n));
                h.element("rect", &[("class", class), ("x", &x), ("width", &width), ("height", "10")], |_| {});
                before = before.saturating_add(n);
            }
        },
    );
    html
}

fn failures(html: &mut Html, lab: &LabOverview<'_>) {
    if lab.failures.is_empty() {
        html.raw("<p class=\"hint\">No task has failed.</p>\n");
        return;
    }
    let columns =
        [text("when"), text("campaign"), number("task"), text("machine"), number("attempts"), text("message")];
    let rows = lab.failures.iter().map(|f| {
        let (mut campaign, mut machine) = (Html::new(), Html::new());
        campaign.link(&query(&href("campaign", &f.task.campaign.to_string()), &[("state", "failed")]), &f.campaign);
        if let Some(name) = &f.task.machine {
            machine.link(&href("machine", name), name);
        }
        vec![
            f.task.ended.map(|at| age(at, lab.now, lab.zone)).unwrap_or_default(),
            campaign,
            Html::of_text(&f.task.id.to_string()),
            machine,
            Html::of_text(&f.task.attempts.to_string()),
            message(f.task.message.as_deref().unwrap_or("no message")),
        ]
    });
    table(html, "Tasks that failed, newest first", &columns, rows);
}

/// The beginning of a message.
fn message(text: &str) -> Html {
    let short: String = text.chars().take(MESSAGE).collect();
    let cut = if short.len() < text.len() { "…" } else { "" };
    Html::of_name(&format!("{short}{cut}"))
}

fn machines(html: &mut Html, lab: &LabOverview<'_>) {
    if lab.machines.is_empty() {
        html.raw("<p class=\"hint\">No machine has an agent yet: <code>tare lab agent --db URL</code>.</p>\n");
        return;
    }
    let columns = [
        text("machine"),
        text("state"),
        text("last heartbeat"),
        number("load"),
        number("task"),
        text("CPU"),
        text("fingerprint"),
        text("tags"),
    ];
    let rows = lab.machines.iter().map(|m| {
        let mut name = Html::new();
        name.link(&href("machine", &m.name), &m.name);
        vec![
            name,
            state(machine_state(m.state)),
            age(m.heartbeat, lab.now, lab.zone),
            Html::of_text(&load(m.load)),
            Html::of_text(&m.task.map(|t| t.to_string()).unwrap_or_default()),
            Html::of_name(&cpu(m)),
            Html::of_name(&m.fingerprint),
            tags(m),
        ]
    });
    table(html, "Machines", &columns, rows);
    let groups = groups(lab.machines);
    if groups > 1 {
        html.line(
            "p",
            &[("class", "hint")],
            &format!("The machines have {groups} different fingerprints: their times are not pooled."),
        );
    }
}

fn groups(machines: &[LabMachine]) -> usize {
    machines.iter().map(|m| m.fingerprint.as_str()).collect::<std::collections::BTreeSet<_>>().len()
}

/// `8 x Intel Xeon …`.
pub(crate) fn cpu(m: &LabMachine) -> String {
    match m.host.cpu.value() {
        Some(cpu) => format!("{} x {cpu}", m.host.cpus),
        None => plural(m.host.cpus, "CPU"),
    }
}

/// A label for each tag.
pub(crate) fn tags(m: &LabMachine) -> Html {
    let mut html = Html::new();
    for (key, value) in &m.tags {
        let text = if value.is_empty() { key.clone() } else { format!("{key}={value}") };
        html.element("span", &[("class", "tag")], |h| h.name(&text));
    }
    html
}

/// How long something took, or has taken so far.
pub(crate) fn took(from: Option<Nanos>, to: Option<Nanos>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => lasted(to - from),
        _ => String::new(),
    }
}
