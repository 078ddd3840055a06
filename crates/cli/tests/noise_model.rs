//! `tare noise --model`, `tare noise show`, and the choice of the undisturbed grain.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;
#[path = "common/noise.rs"]
mod helpers;

use common::{folder, json, run, tare, text};
use helpers::number;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Standard output with its line breaks as spaces.
fn words(command: &mut Command) -> String {
    text(&run(command, 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// ICS'05 section 2.4, equation 5: p = 0.01, G = 1 ms, G' = 1.5 ms.
#[test]
fn the_model_answers_without_measuring() {
    let dir = folder();
    let model = ["noise", "--model", "p=0.01,d=500us,grain=1ms", "--nodes", "10,100", "--json"];
    let d = json(tare(&dir).args(model), 0);
    assert_eq!(d["format"], "tare-noise-model");
    let slowdown = |row: usize| number(&d["rows"][row]["slowdowns"][0]);
    assert!((slowdown(0) - 1.05).abs() < 0.005 && (slowdown(1) - 1.32).abs() < 0.005, "{d}");
    assert!((number(&d["rows"][1]["delayed"]) - 0.63).abs() < 0.005, "{d}");
    // Section 2.2: a thousand nodes bear p = 1e-5 at 1%.
    let d = json(tare(&dir).args(["noise", "--model", "p=1e-5", "--nodes", "1000", "--alpha", "1%", "--json"]), 0);
    assert!((number(&d["rows"][0]["largest_p"]) / 1e-5 - 1.0).abs() < 0.01, "{d}");
    assert!((1_000..=1_010).contains(&d["largest_n"]["nodes"].as_u64().unwrap()), "{d}");
    let shown = words(tare(&dir).args(["noise", "--model", "p=1e-6,d=1ms,grain=10us,grain=1ms"]));
    for says in ["without a measurement", "slowdown, G = 10 ", "slowdown, G = 1 ms", "1000000", "largest n"] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    let shown = words(tare(&dir).args(["noise", "--model", "p=1e-6", "--published", "--full"]));
    assert!(shown.contains("ICS'05 table 2:"), "{shown}");
}

#[test]
fn bad_questions_are_refused_in_one_sentence() {
    let dir = folder();
    for (question, says) in [
        ("p=2", "from 0 to 1"),
        ("d=1ms", "missing"),
        ("p=0.1,d=-1ms", "positive time"),
        ("p=0.1,grain=1ms", "needs d=TIME"),
        ("p=0.1,q=1", "none of"),
    ] {
        let said = text(&run(tare(&dir).args(["noise", "--model", question]), 2).stderr);
        assert!(said.contains(says) && said.trim_end().lines().count() == 1, "{question}: {said}");
    }
    for options in [["--nodes", "0"], ["--alpha", "2"]] {
        let said = text(&run(tare(&dir).args(["noise", "--model", "p=0.1"]).args(options), 2).stderr);
        assert!(said.contains("expected") && said.trim_end().lines().count() == 1, "{options:?}: {said}");
    }
    run(tare(&dir).args(["noise", "--model", "p=0.1", "--for", "1s"]), 2);
    run(tare(&dir).args(["noise", "--nodes", "7", "--for", "1s"]), 2);
}

/// Phases of 100 µs with a hundredth at a higher speed, and a delay of 1 ms in each two-hundredth.
fn imported(dir: &TempDir, name: &str, machine: &str) {
    let line = |i: u32| match i {
        i if i % 200 == 3 => 1_100_000,
        i if i % 100 == 50 => 60_000,
        i => 100_000 + i % 20,
    };
    let lines: String = (0..4_000).map(|i| format!("{}\n", line(i))).collect();
    let file = dir.path().join(name);
    std::fs::write(&file, lines).unwrap();
    let import = ["noise", "import", "--as", "durations", "--grain", "100us", "--machine", machine];
    run(tare(dir).args(import).arg(&file), 0);
}

fn slowdown(d: &Value) -> f64 {
    number(&d["grains"][0]["rows"][0]["slowdown"])
}

#[test]
fn slowdowns_are_divided_by_the_grain_that_is_asked_for() {
    let dir = folder();
    imported(&dir, "phases", "node7");
    let shown = |rule: &str| json(tare(&dir).args(["noise", "show", "n1", "--json", "--undisturbed", rule]), 0);
    let (minimum, mode) = (shown("minimum"), shown("mode"));
    assert_eq!(minimum, json(tare(&dir).args(["show", "n1", "--json"]), 0));
    assert_eq!((&minimum["grains"][0]["over"], &mode["grains"][0]["over"]), (&"minimum".into(), &"mode".into()));
    assert!((slowdown(&minimum) - 1.743).abs() < 0.01, "{}", slowdown(&minimum));
    assert!((slowdown(&mode) - 1.046).abs() < 0.01, "{}", slowdown(&mode));
    let said = words(tare(&dir).args(["noise", "show", "n1"]));
    assert!(said.contains("divided by the shortest phase") && said.contains("took 67 % more"), "{said}");
    let said = words(tare(&dir).args(["noise", "show", "n1", "--undisturbed", "mode"]));
    assert!(said.contains("the most frequent duration") && !said.contains("took 67 % more"), "{said}");
    let said = text(&run(tare(&dir).args(["noise", "show", "n1", "--undisturbed", "calibration"]), 2).stderr);
    assert!(said.contains("n1 has no calibration"), "{said}");
}

fn xml(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("</svg>"), "{}", file.display());
    text
}

#[test]
fn several_measurements_are_in_one_figure() {
    let dir = folder();
    imported(&dir, "first", "node7");
    imported(&dir, "second", "node8");
    let (figures, page) = (dir.path().join("figures"), dir.path().join("both.html"));
    let mut command = tare(&dir);
    command.args(["noise", "show", "n1", "n2", "--published", "--svg"]).arg(&figures).arg("--html").arg(&page);
    let shown = words(&mut command);
    for says in ["Noise n1, n2", "node7", "node8", "table 1", "table 2", "ICS'05 table 2:"] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    let svg = xml(&figures.join("grain-100us-distribution.svg"));
    assert!(svg.contains("n1: node7") && svg.contains("n2: node8"), "{svg}");
    xml(&figures.join("grain-100us-survival.svg"));
    assert!(std::fs::read_to_string(page).unwrap().contains("n2: node8"));
    let d = json(tare(&dir).args(["noise", "show", "n1", "n2", "--json"]), 0);
    assert_eq!(d["measurements"].as_array().unwrap().len(), 2);
    run(tare(&dir).args(["noise", "show", "n1", "n1"]), 2);
    run(tare(&dir).args(["noise", "show", "n1", "n9"]), 2);
}
