//! A campaign: its tasks, and what became of them.

use crate::data::campaign::Campaign;
use crate::data::state::{CampaignSummary, LabTask, LabTaskState};
use crate::pages::page::html::{Html, href, query};
use crate::pages::page::overview::{progress, took};
use crate::pages::page::rows::{facts, number, table, text};
use crate::pages::page::shell::{LabFrame, live, shell};
use crate::pages::page::words::{age, campaign_state, engine, grouped, state, task_state};
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::units::Nanos;
use tarebench_report::number::time_left as in_words;
use tarebench_report::words::plural;

/// Tasks on one page.
pub const TASKS: usize = 500;
/// Runs of a task that are linked; a task has one, seldom more.
const RUNS: usize = 8;

/// What the page is of.
#[derive(Clone, Debug)]
pub struct CampaignView<'a> {
    /// By the database's clock.
    pub now: Nanos,
    pub zone: &'a TimeZone,
    pub summary: &'a CampaignSummary,
    pub campaign: &'a Campaign,
    /// As it was submitted.
    pub toml: &'a str,
    /// Folder for archives of machines without a database, if there is one.
    pub folder: Option<&'a str>,
    pub tasks: &'a [LabTask],
    pub left: Option<Nanos>,
    /// Only tasks in this state are shown.
    pub only: Option<LabTaskState>,
    /// Which [`TASKS`] of them are shown, from 1 on.
    pub page: usize,
}

/// The page.
pub fn campaign(frame: &LabFrame<'_>, view: &CampaignView<'_>) -> String {
    let title = format!("Campaign {}: {}", view.summary.id, view.summary.name);
    let here = here(view, view.only, view.page);
    shell(frame, &title, &here, |h| {
        live(h, "summary", "Progress", |h| summary(h, view));
        live(h, "tasks", "Tasks", |h| tasks(h, view));
        h.element("section", &[("id", "definition")], |h| definition(h, view));
    })
}

/// The address of a state's tasks.
fn here(view: &CampaignView<'_>, only: Option<LabTaskState>, page: usize) -> String {
    let page = page.to_string();
    let mut questions = Vec::new();
    questions.extend(only.map(|state| ("state", state_key(state))));
    if page != "1" {
        questions.push(("page", page.as_str()));
    }
    query(&href("campaign", &view.summary.id.to_string()), &questions)
}

/// A state as addresses name it.
pub fn state_key(state: LabTaskState) -> &'static str {
    match state {
        LabTaskState::Waiting => "waiting",
        LabTaskState::Leased => "running",
        LabTaskState::Done => "done",
        LabTaskState::Failed => "failed",
        LabTaskState::Cancelled => "cancelled",
    }
}

/// The state that an address names.
pub fn state_of_key(key: &str) -> Option<LabTaskState> {
    STATES.into_iter().find(|state| state_key(*state) == key)
}

const STATES: [LabTaskState; 5] =
    [LabTaskState::Waiting, LabTaskState::Leased, LabTaskState::Done, LabTaskState::Failed, LabTaskState::Cancelled];

fn summary(html: &mut Html, view: &CampaignView<'_>) {
    let s = view.summary;
    let left = view.left.and_then(|left| in_words(left.as_f64())).unwrap_or_else(|| "–".to_owned());
    facts(
        html,
        vec![
            ("State", state(campaign_state(s.state))),
            ("Tasks done", progress(s)),
            ("Time left", Html::of_text(&left)),
            ("Failed", Html::of_text(&grouped(s.failed))),
            ("Samples", Html::of_text(&grouped(s.samples))),
            ("Submitted", age(s.created, view.now, view.zone)),
            ("By", Html::of_name(&s.owner)),
            ("Engine", Html::of_text(engine(s.engine))),
        ],
    );
    let id = s.id.to_string();
    html.element("p", &[("class", "ways")], |h| {
        h.link(&format!("{}/nodes", href("campaign", &id)), "Compare the machines");
        let tag = format!("lab.campaign={}", s.name);
        h.link(&query("/results", &[("tag", &tag)]), "Results");
        h.raw("<a href=\"#definition\">Definition</a>");
    });
    html.raw("\n");
}

fn tasks(html: &mut Html, view: &CampaignView<'_>) {
    states(html, view);
    let chosen: Vec<&LabTask> = view.tasks.iter().filter(|t| view.only.is_none_or(|only| t.state == only)).collect();
    if chosen.is_empty() {
        html.raw("<p class=\"hint\">There are no such tasks.</p>\n");
        return;
    }
    let shown = chosen.iter().skip((view.page.max(1) - 1).saturating_mul(TASKS)).take(TASKS);
    let columns = [
        number("task"),
        number("repetition"),
        text("state"),
        text("machine"),
        number("attempts"),
        number("samples"),
        text("started"),
        text("took"),
        text("results"),
        text("message"),
    ];
    table(html, "Tasks", &columns, shown.map(|task| row(task, view)));
    pages(html, view, chosen.len());
}

/// Links to the tasks of each state that has any.
fn states(html: &mut Html, view: &CampaignView<'_>) {
    html.element("p", &[("class", "ways")], |h| {
        let all = format!("all {}", grouped(view.tasks.len() as u64));
        choice(h, view, None, &all);
        for state in STATES {
            let n = view.tasks.iter().filter(|t| t.state == state).count();
            if n > 0 {
                choice(h, view, Some(state), &format!("{} {}", grouped(n as u64), task_state(state).0));
            }
        }
    });
    html.raw("\n");
}

fn choice(html: &mut Html, view: &CampaignView<'_>, only: Option<LabTaskState>, text: &str) {
    let to = here(view, only, 1);
    match only == view.only {
        true => html.element("a", &[("href", &to), ("aria-current", "true")], |h| h.line("strong", &[], text)),
        false => html.link(&to, text),
    }
}

fn row(t: &LabTask, view: &CampaignView<'_>) -> Vec<Html> {
    let mut machine = Html::new();
    if let Some(name) = t.machine.as_ref().or(t.agent.as_ref()) {
        machine.link(&href("machine", name), name);
    }
    vec![
        Html::of_text(&t.id.to_string()),
        Html::of_text(&(u64::from(t.repetition) + 1).to_string()),
        state(task_state(t.state)),
        machine,
        Html::of_text(&t.attempts.to_string()),
        Html::of_text(&samples(t)),
        starts(t, view),
        Html::of_text(&match t.state {
            LabTaskState::Leased => took(t.started, Some(view.now)),
            _ => took(t.started, t.ended),
        }),
        runs(t),
        remarks(t),
    ]
}

/// `12 of 100`.
pub(crate) fn samples(t: &LabTask) -> String {
    match t.progress {
        None => String::new(),
        Some(p) => match p.wanted {
            Some(wanted) => format!("{} of {}", grouped(p.done), grouped(wanted)),
            None => grouped(p.done),
        },
    }
}

fn starts(t: &LabTask, view: &CampaignView<'_>) -> Html {
    match (t.state, t.started) {
        (LabTaskState::Waiting, _) if t.not_before > view.now => age(t.not_before, view.now, view.zone),
        (_, Some(at)) => age(at, view.now, view.zone),
        (_, None) => Html::new(),
    }
}

/// Links to the reports of a task's runs, by the first digits of their uuids.
pub(crate) fn runs(t: &LabTask) -> Html {
    let mut html = Html::new();
    for uuid in t.runs.iter().take(RUNS) {
        let short: String = uuid.chars().take(8).collect();
        html.link(&href("run", uuid), &short);
        html.raw(" ");
    }
    if t.runs.len() > RUNS {
        html.text(&format!("and {} more", t.runs.len() - RUNS));
    }
    html
}

fn remarks(t: &LabTask) -> Html {
    let mut html = Html::new();
    if let Some(message) = &t.message {
        html.name(message);
        html.raw(" ");
    }
    if let Some(job) = &t.slurm {
        html.raw("Slurm job ");
        html.name(job);
        html.raw(" ");
    }
    if t.exclusive == Some(false) {
        html.raw("The node was shared with other jobs.");
    }
    html
}

fn pages(html: &mut Html, view: &CampaignView<'_>, tasks: usize) {
    let pages = tasks.div_ceil(TASKS);
    if pages < 2 {
        return;
    }
    html.element("p", &[("class", "ways")], |h| {
        h.text(&format!("Page {} of {pages} ({})", view.page, plural(tasks as u64, "task")));
        if view.page > 1 {
            h.link(&here(view, view.only, view.page.min(pages + 1) - 1), "Previous");
        }
        if view.page < pages {
            h.link(&here(view, view.only, view.page + 1), "Next");
        }
    });
}

fn definition(html: &mut Html, view: &CampaignView<'_>) {
    html.raw("<h2>Definition</h2>\n");
    let c = view.campaign;
    let programs = c
        .programs
        .iter()
        .map(|p| vec![p.label.as_deref().map(Html::of_name).unwrap_or_default(), Html::of_name(&p.command)]);
    table(html, "Programs", &[text("label"), text("program")], programs);
    if let Some(folder) = view.folder {
        facts(html, vec![("Folder", Html::of_name(folder))]);
    }
    html.raw("<details id=\"toml\"><summary>As submitted</summary>\n");
    html.element("div", &[("class", "frame")], |h| h.element("pre", &[], |h| lines(h, view.toml)));
    html.raw("</details>\n");
}

/// Text in lines: line feeds stay, all that is hidden is escaped.
fn lines(html: &mut Html, text: &str) {
    for line in text.lines() {
        html.text(&line.replace('\t', "    "));
        html.raw("\n");
    }
}
