//! A machine of the lab: what it is, how it stands, and what it did last.

use crate::data::state::{LabMachine, LabMachineState, LabTask, LabTaskState};
use crate::pages::page::campaign::{runs, samples};
use crate::pages::page::html::{Html, href};
use crate::pages::page::overview::{cpu, tags, took};
use crate::pages::page::rows::{facts, number, table, text};
use crate::pages::page::shell::{LabFrame, live, shell};
use crate::pages::page::words::{age, lasted, load, machine_state, state, task_state};
use std::fmt::Display;
use tarebench_core::base::date::TimeZone;
use tarebench_core::base::reading::Reading;
use tarebench_core::base::units::Nanos;
use tarebench_core::machine::data::{Factor, Standing};
use tarebench_report::number::bytes;

/// What the page is of.
#[derive(Clone, Debug)]
pub struct MachineView<'a> {
    /// By the database's clock.
    pub now: Nanos,
    pub zone: &'a TimeZone,
    pub machine: &'a LabMachine,
    /// Its tasks, the newest first, each with the name of its campaign.
    pub tasks: &'a [(String, LabTask)],
    /// Names of other machines of the same fingerprint.
    pub alike: &'a [&'a str],
}

/// The page.
pub fn machine(frame: &LabFrame<'_>, view: &MachineView<'_>) -> String {
    let m = view.machine;
    shell(frame, &format!("Machine {}", m.name), &href("machine", &m.name), |h| {
        live(h, "state", "State", |h| standing(h, view));
        live(h, "tasks", "Recent tasks", |h| tasks(h, view));
        live(h, "facts", "What it is", |h| described(h, view));
        live(h, "factors", "State of the machine when it was last announced", |h| factors(h, &m.factors));
    })
}

fn standing(html: &mut Html, view: &MachineView<'_>) {
    let m = view.machine;
    let mut list = vec![
        ("State", state(machine_state(m.state))),
        ("Heartbeat", age(m.heartbeat, view.now, view.zone)),
        ("Load", Html::of_text(&load(m.load))),
        ("First seen", age(m.first_seen, view.now, view.zone)),
        ("tare", Html::of_name(&m.version)),
        ("Agent runs as", Html::of_name(&m.owner)),
    ];
    if let Some(task) = m.task {
        list.insert(1, ("Task", Html::of_text(&task.to_string())));
    }
    if m.draining {
        list.push(("Draining", Html::of_text("It takes no further tasks.")));
    }
    let tags = tags(m);
    if !tags.is_empty() {
        list.push(("Tags", tags));
    }
    facts(html, list);
    if m.state == LabMachineState::Gone {
        let silent = format!(
            "No heartbeat for {}: its agent ended, or cannot reach the database.",
            lasted(view.now - m.heartbeat)
        );
        html.line("p", &[("class", "hint")], &silent);
    }
}

fn tasks(html: &mut Html, view: &MachineView<'_>) {
    if view.tasks.is_empty() {
        html.raw("<p class=\"hint\">It has run no task of the newest campaigns.</p>\n");
        return;
    }
    let columns = [
        number("task"),
        text("campaign"),
        text("state"),
        number("samples"),
        text("started"),
        text("took"),
        text("results"),
        text("message"),
    ];
    let rows = view.tasks.iter().map(|(campaign, t)| {
        let mut name = Html::new();
        name.link(&href("campaign", &t.campaign.to_string()), campaign);
        let until = if t.state == LabTaskState::Leased { Some(view.now) } else { t.ended };
        vec![
            Html::of_text(&t.id.to_string()),
            name,
            state(task_state(t.state)),
            Html::of_text(&samples(t)),
            t.started.map(|at| age(at, view.now, view.zone)).unwrap_or_default(),
            Html::of_text(&took(t.started, until)),
            runs(t),
            t.message.as_deref().map(Html::of_name).unwrap_or_default(),
        ]
    });
    table(html, "Recent tasks", &columns, rows);
}

fn described(html: &mut Html, view: &MachineView<'_>) {
    let (m, host) = (view.machine, &view.machine.host);
    facts(
        html,
        vec![
            ("Host name", Html::of_name(&host.name)),
            ("CPU", Html::of_name(&cpu(m))),
            ("Microcode", reading(&host.microcode)),
            ("Memory", host.memory.value().map_or_else(|| reading(&host.memory), |n| Html::of_text(&bytes(*n)))),
            ("Kernel", Html::of_name(&format!("Linux {} {}", host.kernel, host.architecture))),
            ("Build", Html::of_name(&host.kernel_version)),
            ("Distribution", reading(&host.distribution)),
            ("Hypervisor", reading(&host.hypervisor)),
            ("Clock source", reading(&host.clock_source)),
            ("Machine id", Html::of_name(&m.machine)),
            ("Fingerprint", Html::of_name(&m.fingerprint)),
        ],
    );
    html.element("p", &[("class", "hint")], |h| match view.alike {
        [] => h.raw("No other machine of the lab has this fingerprint: its times are not pooled with theirs."),
        names => {
            h.raw("The same fingerprint have: ");
            for (place, name) in names.iter().enumerate() {
                h.raw(if place > 0 { ", " } else { "" });
                h.link(&href("machine", name), name);
            }
            h.raw(".");
        }
    });
    html.raw("\n");
}

/// What was read, or why it was not.
fn reading<T: Display>(reading: &Reading<T>) -> Html {
    match reading.as_result() {
        Ok(value) => Html::of_name(&value.to_string()),
        Err(why) => {
            let mut html = Html::new();
            html.line("span", &[("class", "absent")], &why.to_string());
            html
        }
    }
}

fn factors(html: &mut Html, factors: &[Factor]) {
    if factors.is_empty() {
        html.raw("<p class=\"hint\">Its agent reported none.</p>\n");
        return;
    }
    let rows = factors.iter().map(|f| {
        let word = match f.standing {
            Standing::Held => "as recommended",
            Standing::NotHeld => "not as recommended",
            Standing::Unknown => "not known",
        };
        vec![Html::of_name(&f.name), Html::of_text(word), Html::of_name(&f.finding)]
    });
    table(html, "Factors", &[text("factor"), text("stands"), text("found")], rows);
}
