//! `tare report`: pages and figures of stored results. The pages themselves are tested in a browser (`web/test`).
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use serde_json::Value;

/// The data in a page.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"tare-data\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_runs_page_has_every_sample_and_the_figures_of_the_terminal() {
    let _shared = shared();
    let dir = folder();
    let hostile = "</script><script>alert(1)</script>";
    run(tare(&dir).args(["run", "-r", "14", "--style", "none", "-n", hostile, "-n", "fails", "true", "false"]), 1);
    let file = dir.path().join("page.html");
    run(tare(&dir).args(["report", "-o"]).arg(&file), 0);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(html.len() < 1_500_000);
    assert!(html.contains("default-src 'none'"), "nothing may be fetched");
    let page = data(&html);
    let report = json(tare(&dir).args(["show", "--json"]), 0);
    let plot = &page["plots"][0];
    assert_eq!(plot["title"], hostile);
    let et: Vec<f64> = plot["measures"].as_array().unwrap().iter().find(|m| m["id"] == "et").unwrap()["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    let stored: Vec<f64> = report["samples"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["series"] == 0 && s["phase"] == "counted")
        .map(common::elapsed)
        .collect();
    assert_eq!(et, stored);
    // The entries of an account add up to the sample's elapsed time.
    if let Some(values) = plot["samples"]["account"]["values"].as_array() {
        for (i, whole) in et.iter().enumerate() {
            let known: Option<Vec<f64>> = values.iter().map(|v| v[i].as_f64()).collect();
            assert!(known.is_none_or(|k| k.iter().sum::<f64>() == *whole), "sample {i}");
        }
    }
    let failed = page["plots"][1]["samples"]["class"].as_array().unwrap();
    assert!(
        failed.iter().all(|c| page["plots"][1]["samples"]["classes"][c.as_u64().unwrap() as usize]["role"] == "failed")
    );
    // The same as figures, one of them for every view.
    let figures = dir.path().join("figures");
    run(tare(&dir).args(["report", "last", "--svg"]).arg(&figures), 0);
    let names: Vec<String> =
        std::fs::read_dir(&figures).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    for want in ["program-1-scatter.svg", "program-1-sequence.svg", "program-1-histogram.svg"] {
        assert!(names.iter().any(|n| n == want), "{names:?}");
    }
    let all: String = names.iter().map(|n| std::fs::read_to_string(figures.join(n)).unwrap()).collect();
    assert!(!all.contains("<script") && all.contains("&lt;script&gt;"), "names are text in figures, too");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let _shared = shared();
    let dir = folder();
    let says = |args: &[&str], code: i32, what: &str| {
        let out = run(tare(&dir).args(args), code);
        assert!(text(&out.stderr).contains(what), "{args:?}: {}", text(&out.stderr));
    };
    says(&["report"], 4, "there is no store");
    run(tare(&dir).args(["run", "-r", "1", "--style", "none", "--", "true"]), 0);
    says(&["report", "77"], 2, "no run");
    says(&["report", "--profile"], 2, "there is no profile");
    says(&["report", "--profile", "x"], 2, "there is no profile x");
    says(&["report", "1", "-o", "/nonexistent/page.html"], 4, "/nonexistent/page.html");
    says(&["report", "1", "--svg", "/proc/figures"], 4, "/proc/figures");
    // A page can be made from a single sample.
    let out = run(tare(&dir).args(["report", "-o", "-"]), 0);
    assert!(data(&text(&out.stdout))["plots"][0]["dual"].as_str().unwrap().contains("dual samples"));
}
