//! Archives of comparisons of stored runs and of gates: what is accepted is stored and exported without a change, and shown in every
//! form within the width and without control characters; anything else is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::date::TimeZone;
use tarebench_core::compare::gate::Gate;
use tarebench_core::compare::gate_rule;
use tarebench_core::compare::stored::StoredComparison;
use tarebench_core::compare::stored_report;
use tarebench_core::documents::head::{DocumentHead, DocumentKind};
use tarebench_render::compare::{gate, stored};
use tarebench_report::csv;
use tarebench_report::document;
use tarebench_report::markup::Markup;
use tarebench_report::style::Style;
use tarebench_report::svg::figures::figures;
use tarebench_report::terminal;
use tarebench_report::web::html;
use tarebench_report::web::page::Page;
use tarebench_store::{SqliteStore, Store};
use unicode_width::UnicodeWidthStr;

fuzz_target!(|data: &[u8]| {
    let mut store = SqliteStore::in_memory().expect("a store in memory");
    let id = match store.import(&mut &data[..]) {
        Ok(id) if id.kind == DocumentKind::Run => return,
        Ok(id) => id,
        Err(error) => return drop(error.to_string()),
    };
    let document = store.document(id).expect("what was imported can be read");
    let mut text = Vec::new();
    store.export(id, &mut text).expect("what was imported can be exported").expect("memory takes it");
    let mut other = SqliteStore::in_memory().expect("a store in memory");
    let copy = other.import(&mut &text[..]).expect("what was exported can be imported");
    assert_eq!(other.document(copy).expect("what was imported can be read"), document);
    match id.kind {
        DocumentKind::Comparison => {
            let found = serde_json::from_value(document.doc).expect("comparisons are checked");
            comparison(&document.head, &found);
        }
        DocumentKind::Gate => {
            let found = serde_json::from_value(document.doc).expect("gates are checked");
            of_gate(&document.head, &found);
        }
        _ => {}
    }
});

fn comparison(head: &DocumentHead, found: &StoredComparison) {
    let report = stored_report::report(found);
    let sheet = stored::sheet::comparison(head, found, &report, &TimeZone::UTC, String::new());
    fits(&|style| terminal::sheet_text(&sheet, style));
    stored::json::json(head, found, &report).expect("figures that are not finite are absent");
    let _ = csv::table(&stored::tables::exported(found, &report));
    let table = stored::tables::ratios(found, &report);
    for language in [Markup::Markdown, Markup::Asciidoc, Markup::Org, Markup::Latex] {
        let text = document::table(&table, language, None);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control character in {text:?}");
    }
    is_whole(&sheet.into_page());
}

fn of_gate(head: &DocumentHead, found: &Gate) {
    let report = gate_rule::report(found);
    let sheet = gate::sheet::gate(head, found, &report, &TimeZone::UTC, String::new());
    fits(&|style| terminal::sheet_text(&sheet, style));
    gate::json::json(head, found, &report).expect("figures that are not finite are absent");
    let text = document::document(&sheet);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control character in {text:?}");
    is_whole(&sheet.into_page());
}

fn fits(draw: &dyn Fn(&Style) -> String) {
    for (width, unicode, full) in [(40, true, false), (84, false, true), (113, true, true)] {
        let text = draw(&Style { width, unicode, full, ..Style::default() });
        for line in text.lines() {
            let columns = line.width();
            assert!(columns <= width, "{columns} columns, {width} wanted: {line:?}");
            assert!(!line.chars().any(char::is_control), "control character in {line:?}");
            assert!(unicode || line.is_ascii(), "not ASCII: {line:?}");
        }
    }
}

fn is_whole(page: &Page) {
    if let Ok(data) = html::data(page) {
        assert!(!data.contains('<'));
    }
    let _ = figures(page);
}
