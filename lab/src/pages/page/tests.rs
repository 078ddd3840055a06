//! The pages as a reader of HTML sees them.

use crate::data::campaign::CampaignProgram;
use crate::data::state::{LabTask, LabTaskState};
use crate::pages::page::campaign::{CampaignView, TASKS, campaign};
use crate::pages::page::fixtures;
use crate::pages::page::fixtures::{HOSTILE, NOW};
use crate::pages::page::machine::{MachineView, machine};
use crate::pages::page::overview::{LabFailure, LabOverview, overview};
use crate::pages::page::problem::problem;
use crate::pages::page::results::{ResultsView, results};
use crate::pages::page::shell::LabFrame;
use std::collections::BTreeMap;
use tarebench_core::base::date::TimeZone;
use tarebench_core::documents::head::{DocumentKind, Id, Status};
use tarebench_render::documents::list::DocumentRow;

const FRAME: LabFrame<'static> =
    LabFrame { place: "postgresql://lab.example/tare", version: Some(41), foot: "tare 0.1.0, page of NOW" };
/// Elements that have no end tag.
const VOID: [&str; 3] = ["meta", "link", "input"];

/// An element's name and attributes, and the text in it and in what it contains.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) text: String,
}

/// Reads a page as strictly as it is written: every element is closed, every value is quoted, and no text holds an
/// angle bracket. Panics for anything else, as for an attribute that a script could stand in.
pub(crate) fn read(page: &str) -> Vec<Element> {
    let (mut done, mut open): (Vec<Element>, Vec<Element>) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    while let Some(at) = rest.find('<') {
        let text = unescaped(&rest[..at]);
        open.iter_mut().for_each(|e| e.text.push_str(&text));
        let end = rest.find('>').unwrap();
        let (tag, after) = (&rest[at + 1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().unwrap();
            assert_eq!(element.tag, name, "in {:?}", element.text);
            done.push(element);
            continue;
        }
        let element = element(tag.trim_end_matches('/'));
        match VOID.contains(&element.tag.as_str()) || tag.ends_with('/') {
            true => done.push(element),
            false => open.push(element),
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    done
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut element = Element { tag: name.to_owned(), ..Element::default() };
    while !rest.trim().is_empty() {
        let name_end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = rest[..name_end].to_owned();
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit()), "{tag}");
        assert!(!name.starts_with("on") && name != "style" && name != "srcdoc", "{tag}");
        rest = &rest[name_end..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let (inside, after) = quoted.split_once('"').unwrap();
            value = unescaped(inside);
            rest = after;
        }
        rest = rest.trim_start();
        if name == "href" || name == "src" || name == "action" {
            let local = value.starts_with('/') && !value.starts_with("//");
            assert!(local || value.starts_with('#') || value == "data:,", "{tag}");
        }
        assert_eq!(element.attributes.insert(name, value), None, "{tag}");
    }
    element
}

fn unescaped(text: &str) -> String {
    assert!(!text.contains(['>', '"']), "{text}");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

fn zone() -> &'static TimeZone {
    static ZONE: TimeZone = TimeZone::UTC;
    &ZONE
}

fn texts(page: &str, tag: &str) -> Vec<String> {
    read(page)
        .into_iter()
        .filter(|e| e.tag == tag)
        .map(|e| e.text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The cells of the rows of tables.
fn rows(page: &str) -> Vec<Vec<(String, String)>> {
    let mut rows = vec![Vec::new()];
    for element in read(page) {
        match element.tag.as_str() {
            "td" => {
                let label = element.attributes.get("data-label").unwrap().clone();
                rows.last_mut().unwrap().push((label, element.text));
            }
            "tr" => rows.push(Vec::new()),
            _ => {}
        }
    }
    rows.retain(|row: &Vec<_>| !row.is_empty());
    rows
}

fn cell(row: &[(String, String)], label: &str) -> String {
    row.iter().find(|(l, _)| l == label).map(|(_, text)| text.trim().to_owned()).unwrap()
}

/// That the escaped form of the hostile name is shown as text, and no character of it does anything.
fn is_harmless(page: &str) {
    let all = read(page);
    let shown =
        "<script>window.hacked = 1</script>\"'><img src=x onerror=alert(1)> \\u{202e}gnp\\u{200f}\\x1b[31m&amp;";
    assert!(all.iter().any(|e| e.tag == "bdi" && e.text.contains(shown)), "it is not shown");
    let scripts: Vec<_> = all.iter().filter(|e| e.tag == "script").collect();
    assert_eq!((scripts.len(), scripts[0].attributes["src"].as_str()), (1, "/app.js"));
    assert!(!all.iter().any(|e| ["img", "iframe", "object", "embed", "base", "style"].contains(&e.tag.as_str())));
    assert!(!page.contains(['\u{202e}', '\u{200f}', '\u{1b}']));
}

fn whole() -> String {
    let (campaigns, machines, failures) = ([fixtures::progress()], fixtures::machines(), [fixtures::failure()]);
    let lab = LabOverview {
        now: NOW,
        zone: zone(),
        campaigns: &campaigns,
        more_campaigns: 12,
        machines: &machines,
        failures: &failures,
    };
    overview(&FRAME, &lab)
}

#[test]
fn the_lab_at_a_glance() {
    let page = whole();
    let lead = &texts(&page, "p")[0];
    assert_eq!(lead, "1 task waiting in the queue, 1 running, 5 of 6 machines alive; 1 campaign in progress.");
    let rows = rows(&page);
    assert_eq!(rows.len(), 1 + 1 + 6);
    let campaign = |label| cell(&rows[0], label);
    assert_eq!(
        ["campaign", "state", "tasks done", "time left", "failed", "samples", "submitted"].map(campaign),
        ["gzip levels", "running", "1 of 5", "12 min 34 s", "1", "12,345", "15 min ago"]
    );
    assert!(cell(&rows[1], "message").starts_with("/data/in.dat: expected sha256"));
    let machine = |label| cell(&rows[3], label);
    assert_eq!(
        ["machine", "state", "last heartbeat", "load", "task", "CPU"].map(machine),
        ["node02", "measuring", "12 s ago", "0.25", "12", "8 x Xeon 8375C"]
    );
    let body = read(&page).into_iter().find(|e| e.tag == "body").unwrap();
    assert_eq!(body.attributes["data-version"], "41");
    assert!(texts(&page, "a").contains(&"Show 12 older campaigns".to_owned()), "{:?}", texts(&page, "a"));
    insta::assert_snapshot!("overview", page);
}

#[test]
fn an_empty_lab_says_what_to_do() {
    let lab = LabOverview { now: NOW, zone: zone(), campaigns: &[], more_campaigns: 0, machines: &[], failures: &[] };
    let page = overview(&FRAME, &lab);
    assert!(rows(&page).is_empty() && page.contains("tare lab submit") && page.contains("tare lab agent"));
}

fn view<'a>(
    summary: &'a crate::data::state::CampaignSummary,
    campaign: &'a crate::data::campaign::Campaign,
    tasks: &'a [LabTask],
) -> CampaignView<'a> {
    CampaignView {
        now: NOW,
        zone: zone(),
        summary,
        campaign,
        toml: "name = \"gzip levels\"\n\tmachines = \"all\"\n",
        folder: Some("/shared/campaign"),
        tasks,
        left: None,
        only: None,
        page: 1,
    }
}

#[test]
fn a_campaign_shows_its_tasks() {
    let (summary, defined, tasks) = (fixtures::summary(), fixtures::campaign(), fixtures::tasks());
    let page = campaign(&FRAME, &view(&summary, &defined, &tasks));
    let rows = rows(&page);
    let column = |label| rows.iter().take(5).map(|row| cell(row, label)).collect::<Vec<_>>();
    assert_eq!(column("state"), ["done", "running", "failed", "waiting", "cancelled"]);
    assert_eq!(column("samples"), ["100 of 100", "25 of 100", "", "", ""]);
    assert_eq!(column("took"), ["2 min", "30 s", "10 s", "", ""]);
    assert_eq!(column("started"), ["8 min ago", "30 s ago", "5 min ago", "in 2 h", ""]);
    assert_eq!(column("results")[0], "01234567 ffffffff");
    assert!(column("message")[1].contains("Slurm job 4711_3 The node was shared"), "{:?}", column("message"));
    let links: Vec<String> = read(&page).into_iter().filter_map(|e| e.attributes.get("href").cloned()).collect();
    for to in [
        "/run/0123456789abcdef0123456789abcdef",
        "/machine/node01",
        "/campaign/3/nodes",
        "/campaign/3?state=failed",
        "/results?tag=lab.campaign%3Dgzip%20levels",
    ] {
        assert!(links.iter().any(|l| l == to), "{to}: {links:?}");
    }
    insta::assert_snapshot!("campaign", page);
}

#[test]
fn tasks_are_chosen_by_state_and_by_page() {
    let (summary, defined) = (fixtures::summary(), fixtures::campaign());
    let mut tasks: Vec<LabTask> = (0..1_203).map(|i| fixtures::task(i, LabTaskState::Waiting)).collect();
    tasks[5].state = LabTaskState::Failed;
    let shown = |only, page| {
        let text = campaign(&FRAME, &CampaignView { only, page, ..view(&summary, &defined, &tasks) });
        (rows(&text).len() - defined.programs.len(), text)
    };
    assert_eq!(shown(None, 1).0, TASKS);
    let (n, last) = shown(None, 3);
    assert!(n == 203 && last.contains("Page 3 of 3") && last.contains(">Previous<") && !last.contains(">Next<"));
    assert_eq!(shown(Some(LabTaskState::Failed), 1).0, 1);
    // A page that is no longer there, and one that never was.
    assert_eq!((shown(None, 99).0, shown(None, usize::MAX).0, shown(None, 0).0), (0, 0, TASKS));
}

#[test]
fn a_machine_shows_what_it_is() {
    let m = fixtures::machine("node02", crate::data::state::LabMachineState::Busy);
    let tasks = [("gzip levels".to_owned(), fixtures::tasks().remove(1))];
    let page =
        machine(&FRAME, &MachineView { now: NOW, zone: zone(), machine: &m, tasks: &tasks, alike: &["node01", "a/b"] });
    let facts: BTreeMap<String, String> = texts(&page, "dt").into_iter().zip(texts(&page, "dd")).collect();
    assert_eq!((facts["State"].as_str(), facts["Memory"].as_str()), ("measuring", "16.0 GiB"));
    assert_eq!(facts["Microcode"], "not known: needs root");
    assert_eq!(facts["Fingerprint"], "a105a3f8583580d0");
    assert_eq!(facts["Tags"], "quietrack=7");
    assert!(page.contains("/machine/a%2Fb") && page.contains("not as recommended"));
    insta::assert_snapshot!("machine", page);
}

fn row(id: Id, title: &str) -> DocumentRow {
    DocumentRow {
        id,
        created: "2026-11-21 20:00:00 +00:00".to_owned(),
        status: Status::Finished,
        titles: vec![title.to_owned(), "xz".to_owned()],
        samples: Some(1_000),
        machine: title.to_owned(),
        tags: BTreeMap::from([(title.to_owned(), title.to_owned())]),
    }
}

#[test]
fn results_can_be_chosen_and_compared() {
    let all = [
        row(Id { kind: DocumentKind::Run, number: 12 }, "gzip"),
        row(Id { kind: DocumentKind::Gate, number: 3 }, HOSTILE),
    ];
    let page = results(&FRAME, &ResultsView { rows: &all, tag: Some(HOSTILE), more: true, to_compare: true });
    is_harmless(&page);
    let elements = read(&page);
    let boxes: Vec<_> = elements.iter().filter(|e| e.tag == "input").map(|e| e.attributes["value"].as_str()).collect();
    assert_eq!(boxes, ["12"], "runs only");
    let form = elements.iter().find(|e| e.tag == "form").unwrap();
    assert_eq!((form.attributes["method"].as_str(), form.attributes["action"].as_str()), ("get", "/compare"));
    assert!(page.contains("href=\"/run/12\"") && page.contains("href=\"/document/g3\""));
}

#[test]
fn hostile_names_are_text() {
    let (campaigns, machines) = (
        [crate::pages::page::overview::CampaignProgress { summary: fixtures::hostile_summary(), left: None }],
        [fixtures::hostile_machine()],
    );
    let failures = [LabFailure { campaign: HOSTILE.to_owned(), task: fixtures::hostile_task() }];
    let hostile_frame = LabFrame { place: HOSTILE, foot: HOSTILE, ..FRAME };
    let lab = LabOverview {
        now: NOW,
        zone: zone(),
        campaigns: &campaigns,
        more_campaigns: 0,
        machines: &machines,
        failures: &failures,
    };
    is_harmless(&overview(&hostile_frame, &lab));

    let mut defined = fixtures::campaign();
    defined.programs = vec![CampaignProgram {
        command: HOSTILE.to_owned(),
        label: Some(HOSTILE.to_owned()),
        ..CampaignProgram::default()
    }];
    let (summary, tasks) = (fixtures::hostile_summary(), [fixtures::hostile_task()]);
    let mut campaign_view = view(&summary, &defined, &tasks);
    campaign_view.toml = HOSTILE;
    campaign_view.folder = Some(HOSTILE);
    is_harmless(&campaign(&hostile_frame, &campaign_view));

    let tasks = [(HOSTILE.to_owned(), fixtures::hostile_task())];
    let alike = [HOSTILE];
    let machine_view = MachineView { now: NOW, zone: zone(), machine: &machines[0], tasks: &tasks, alike: &alike };
    is_harmless(&machine(&hostile_frame, &machine_view));

    is_harmless(&problem(&hostile_frame, HOSTILE, HOSTILE, "/campaign/1"));
}
