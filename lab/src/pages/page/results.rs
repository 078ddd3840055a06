//! Stored results, to be read and to be compared.

use crate::pages::page::html::{Html, href, query};
use crate::pages::page::rows::{number, table, text};
use crate::pages::page::shell::{LabFrame, live, shell};
use crate::pages::page::words::grouped;
use tarebench_core::documents::head::{DocumentKind, Status};
use tarebench_render::documents::list::DocumentRow;
use tarebench_report::words::plural;

/// Programs of a run that are named in its row.
const NAMED: usize = 6;

/// What the page is of.
#[derive(Clone, Debug)]
pub struct ResultsView<'a> {
    pub rows: &'a [DocumentRow],
    /// Only results with this tag, `KEY=VALUE`, are listed.
    pub tag: Option<&'a str>,
    /// There are more than these.
    pub more: bool,
    /// The page asks which runs are to be compared.
    pub to_compare: bool,
}

/// The page.
pub fn results(frame: &LabFrame<'_>, view: &ResultsView<'_>) -> String {
    let (title, path) = if view.to_compare { ("Compare", "/compare") } else { ("Results", "/results") };
    let tag: Vec<(&str, &str)> = view.tag.iter().map(|tag| ("tag", *tag)).collect();
    shell(frame, title, &query(path, &tag), |h| {
        if view.to_compare {
            h.raw("<p class=\"lead\">Choose two or more runs. The first one in the list is the reference.</p>\n");
        }
        h.element("form", &[("action", "/compare"), ("method", "get")], |h| {
            live(h, "results", "Newest first", |h| listed(h, view));
            h.raw("<button class=\"go\">Compare the chosen runs</button>\n");
        });
    })
}

fn listed(html: &mut Html, view: &ResultsView<'_>) {
    if let Some(tag) = view.tag {
        html.element("p", &[("class", "ways")], |h| {
            h.raw("<span>Results with the tag ");
            h.element("span", &[("class", "tag")], |h| h.name(tag));
            h.raw("</span> ");
            h.link("/results", "Show all");
        });
    }
    if view.rows.is_empty() {
        html.raw("<p class=\"hint\">Nothing is stored.</p>\n");
        return;
    }
    let columns = [
        text("compare"),
        text("result"),
        text("title"),
        text("machine"),
        number("samples"),
        text("began"),
        text("status"),
        text("tags"),
    ];
    table(html, "Stored results", &columns, view.rows.iter().map(row));
    if view.more {
        html.line("p", &[("class", "hint")], &format!("The newest {}.", plural(view.rows.len() as u64, "result")));
    }
}

fn row(r: &DocumentRow) -> Vec<Html> {
    vec![
        pick(r),
        link(r),
        titles(r),
        Html::of_name(&r.machine),
        Html::of_text(&r.samples.map(grouped).unwrap_or_default()),
        Html::of_text(&r.created),
        Html::of_text(match r.status {
            Status::Finished => "finished",
            Status::Interrupted => "interrupted",
            Status::Unfinished => "unfinished",
        }),
        tags(r),
    ]
}

/// A box to choose a run.
fn pick(r: &DocumentRow) -> Html {
    let mut html = Html::new();
    if r.id.kind == DocumentKind::Run {
        let number = r.id.number.to_string();
        let label = format!("Compare run {number}");
        html.element("label", &[("class", "pick")], |h| {
            h.open("input", &[("type", "checkbox"), ("name", "run"), ("value", &number), ("aria-label", &label)]);
        });
    }
    html
}

fn link(r: &DocumentRow) -> Html {
    let mut html = Html::new();
    let id = r.id.to_string();
    match r.id.kind {
        DocumentKind::Run => html.link(&href("run", &id), &format!("run {id}")),
        kind => html.link(&href("document", &id), &format!("{id}, {}", kind.name())),
    }
    html
}

fn titles(r: &DocumentRow) -> Html {
    let mut html = Html::new();
    for (place, title) in r.titles.iter().take(NAMED).enumerate() {
        html.raw(if place > 0 { " · " } else { "" });
        html.name(title);
    }
    if r.titles.len() > NAMED {
        html.text(&format!(" and {} more", r.titles.len() - NAMED));
    }
    html
}

/// Links to all results with the same tag.
fn tags(r: &DocumentRow) -> Html {
    let mut html = Html::new();
    for (key, value) in &r.tags {
        let question = format!("{key}={value}");
        let text = if value.is_empty() { key } else { &question };
        let to = query("/results", &[("tag", &question)]);
        html.element("a", &[("class", "tag"), ("href", &to)], |h| h.name(text));
    }
    html
}
