//! Files of benchmarks and archives of documents: what is accepted is stored and exported without a change, and shown in
//! every form within the width and without control characters; anything else is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarebench_core::base::date::TimeZone;
use tarebench_core::documents::head::DocumentKind;
use tarebench_core::kbest::bench::Bench;
use tarebench_core::kbest::report::build;
use tarebench_render::kbest::bench::{ShownBench, json, trials};
use tarebench_render::kbest::sheet::{bench as sheet, table};
use tarebench_report::markup::Markup;
use tarebench_report::style::Style;
use tarebench_report::terminal::sheet_text;
use tarebench_report::{csv, document};
use tarebench_store::{SqliteStore, Store};
use unicode_width::UnicodeWidthStr;

fuzz_target!(|data: &[u8]| {
    let mut store = SqliteStore::in_memory().expect("a store in memory");
    let id = match store.import(&mut &data[..]) {
        // Archives of runs have a target of their own.
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

    if id.kind != DocumentKind::Bench {
        return;
    }
    let bench: Bench = serde_json::from_value(document.doc).expect("benchmarks are checked");
    let report = build(&bench);
    let shown = ShownBench { head: &document.head, bench: &bench, report: &report };
    for (width, unicode) in [(40, true), (84, false), (113, true)] {
        let style = Style { width, unicode, ..Style::default() };
        let text = sheet_text(&sheet(&shown, &TimeZone::UTC, String::new()), &style);
        for line in text.lines() {
            let columns = line.width();
            assert!(columns <= width, "{columns} columns, {width} wanted: {line:?}");
            assert!(!line.chars().any(char::is_control), "control character in {line:?}");
            assert!(unicode || line.is_ascii(), "not ASCII: {line:?}");
        }
    }
    json(&shown).expect("figures that are not finite are absent");
    let _ = csv::table(&table(&report));
    let _ = trials(&bench);
    for language in [Markup::Markdown, Markup::Asciidoc, Markup::Org] {
        let text = document::table(&table(&report), language, None);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control character in {text:?}");
    }
});
