//! `tare report` of a measurement of noise, and `tare noise --html`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use serde_json::Value;
use std::path::Path;

/// The data in a page.
fn data(file: &Path) -> Value {
    let html = std::fs::read_to_string(file).unwrap();
    assert!(html.len() < 1_500_000, "{}", html.len());
    assert!(html.contains("default-src 'none'"), "nothing may be fetched");
    let (_, rest) = html.split_once("id=\"tare-data\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn figure<'a>(page: &'a Value, id: &str) -> &'a Value {
    let parts = page["parts"].as_array().unwrap();
    let found = parts.iter().flat_map(|p| p["figures"].as_array().unwrap()).find(|f| f["id"] == id);
    found.unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn noise_has_a_page_and_figures() {
    let _shared = shared();
    let dir = folder();
    let (html, again) = (dir.path().join("noise.html"), dir.path().join("again.html"));
    let args = ["noise", "--calibrations", "30", "--grain", "1us,100us", "--phases", "2000", "--json", "--html"];
    let shown = json(tare(&dir).args(args).arg(&html), 0);
    run(tare(&dir).args(["report", "n1", "-o"]).arg(&again), 0);
    for file in [&html, &again] {
        let page = data(file);
        assert_eq!((&page["format"], &page["kind"]), (&"tare-page".into(), &"noise".into()));
        assert!(page["title"].as_str().unwrap().starts_with("Noise n1: "));
        let ids: Vec<&str> = page["parts"].as_array().unwrap().iter().map(|p| p["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["all", "grain-1us", "grain-100us"]);
        assert_eq!(page["tables"][0]["rows"].as_array().unwrap().len(), 2);
        // The curves begin and end at what the terminal's table says.
        for (grain, id) in shown["grains"].as_array().unwrap().iter().zip(["grain-1us", "grain-100us"]) {
            let curve = &figure(&page, &format!("{id}-distribution"))["curves"][0];
            let x = curve["x"].as_array().unwrap();
            let row = &grain["rows"][0];
            assert_eq!((x.first(), x.last()), (Some(&row["min"]), Some(&row["max"])));
            assert_eq!(curve["y"].as_array().unwrap().last().unwrap().as_f64(), Some(1.0));
            assert!(x.len() < 500 && row["cdf"].as_array().unwrap().len() == x.len());
            let jobs = figure(&page, &format!("{id}-slowdown"))["curves"][0]["y"].as_array().unwrap().clone();
            assert_eq!(jobs[0], grain["jobs"][0]["slowdown"]["value"]);
        }
    }
    let figures = dir.path().join("figures");
    let said = run(tare(&dir).args(["report", "n1", "--svg"]).arg(&figures), 0);
    assert!(text(&said.stderr).contains("figures to"), "{}", text(&said.stderr));
    for name in ["survival.svg", "grain-1us-distribution.svg", "grain-100us-survival.svg", "grain-1us-slowdown.svg"] {
        let svg = std::fs::read_to_string(figures.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(svg.ends_with("</svg>\n") && svg.contains("class=\"curve\""), "{name}");
    }
}

#[test]
fn last_is_a_run_still() {
    let _shared = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-r", "1", "--style", "none", "--", "true"]), 0);
    run(tare(&dir).args(["noise", "--calibrations", "30", "--grain", "1us", "--phases", "20", "--style", "none"]), 0);
    let file = dir.path().join("page.html");
    run(tare(&dir).args(["report", "-o"]).arg(&file), 0);
    assert_eq!(data(&file)["kind"], "run");
    run(tare(&dir).args(["report", "n1", "-o"]).arg(&file), 0);
    assert_eq!(data(&file)["kind"], "noise");
    let out = run(tare(&dir).args(["report", "n7"]), 2);
    assert!(text(&out.stderr).contains("n7"), "{}", text(&out.stderr));
}
