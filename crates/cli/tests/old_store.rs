//! A store that an earlier version wrote: what it holds is listed, shown and reported like what this version stores.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{NOBODY, folder, is_root, json, run, skip, tare, text, via};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// How it was made is said in the file.
const V3: &str = include_str!("../../store/tests/store/data/v3.sql");

fn v3() -> TempDir {
    let dir = folder();
    rusqlite::Connection::open(dir.path().join("tare.db")).unwrap().execute_batch(V3).unwrap();
    dir
}

/// The data in a page.
fn data(file: &Path) -> Value {
    let html = std::fs::read_to_string(file).unwrap();
    assert!(html.contains("default-src 'none'"), "nothing may be fetched");
    let (_, rest) = html.split_once("id=\"tare-data\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn every_kind_has_a_page_and_figures() {
    let dir = v3();
    let file = dir.path().join("page.html");
    for (id, kind) in [("1", "run"), ("n1", "noise"), ("s1", "study"), ("b1", "bench")] {
        run(tare(&dir).args(["report", id, "-o"]).arg(&file), 0);
        let page = data(&file);
        assert_eq!((&page["format"], &page["kind"]), (&"tare-page".into(), &kind.into()), "{id}");
    }

    let shown = json(tare(&dir).args(["show", "s1", "--json"]), 0);
    run(tare(&dir).args(["report", "s1", "-o"]).arg(&file), 0);
    let page = data(&file);
    assert!(page["title"].as_str().unwrap().starts_with("Study s1: interval-counting"), "{}", page["title"]);
    assert!(page["remarks"][0]["text"].as_str().unwrap().contains("not finished"), "{}", page["remarks"]);
    let parts = page["parts"].as_array().unwrap();
    let tables = shown["tables"].as_array().unwrap();
    // The last part has the book's values.
    assert_eq!((parts.len(), tables.len()), (5, 4));
    for (part, table) in parts.iter().zip(tables) {
        assert_eq!(part["tables"][0]["rows"], table["rows"], "the page has the figures of the terminal");
        assert!(!part["figures"][0]["curves"].as_array().unwrap().is_empty(), "{}", part["id"]);
    }

    let shown = json(tare(&dir).args(["show", "b1", "--json"]), 0);
    run(tare(&dir).args(["report", "b1", "-o"]).arg(&file), 0);
    let page = data(&file);
    let rows = shown["report"]["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(page["parts"][i]["title"], row["name"]);
        assert_eq!(page["tables"][0]["rows"][i]["values"][1], row["time"]["value"]);
        let drawn = page["parts"][i]["figures"][0]["curves"][0]["y"].as_array().unwrap();
        assert_eq!(drawn.len() as u64, row["trials"].as_u64().unwrap());
    }

    for (id, name) in [("s1", "interval-counting.svg"), ("b1", "benchmark-1-trials.svg")] {
        let figures = dir.path().join(id);
        let said = run(tare(&dir).args(["report", id, "--svg"]).arg(&figures), 0);
        assert!(text(&said.stderr).contains("figures to"), "{}", text(&said.stderr));
        assert!(std::fs::read_to_string(figures.join(name)).unwrap().ends_with("</svg>\n"), "{id}");
    }
}

/// All of it, whether the store can be brought up to date or only read.
#[test]
fn what_is_stored_is_listed_and_shown_from_the_start() {
    let dir = v3();
    let file = dir.path().join("tare.db");
    let before = std::fs::read(&file).unwrap();
    let check = |tare: &dyn Fn() -> std::process::Command| {
        let listed = json(tare().args(["list", "--json"]), 0);
        let mut ids: Vec<String> =
            listed.as_array().unwrap().iter().map(|e| e["id"].to_string().replace('"', "")).collect();
        ids.sort();
        assert_eq!(ids, ["1", "2", "b1", "n1", "p1", "s1"]);
        let shown = text(&run(tare().args(["show", "p1"]), 0).stdout);
        assert_eq!(text(&run(tare().args(["show", "p"]), 0).stdout), shown);
        let notes = json(tare().args(["show", "1", "--json"]), 0)["report"]["run"]["notes"].clone();
        assert_eq!((&notes[0]["kind"], &notes[0]["when"]), (&"reading".into(), &"before_first".into()));
    };
    if is_root() {
        use std::os::unix::fs::PermissionsExt;
        // A store is its user's alone; this one is shown to others, who may not change it.
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        check(&|| via(&dir, NOBODY));
        assert!(std::fs::read(&file).unwrap() == before, "reading has changed it");
    } else {
        skip("needs root, to become nobody");
    }
    check(&|| tare(&dir));
    assert!(std::fs::read(&file).unwrap() != before, "it is brought up to date");
    check(&|| tare(&dir));
}
