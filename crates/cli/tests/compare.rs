//! Programs of stored runs against each other: real runs of a burner that takes so much CPU time by its own clock.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

const HOUR: i64 = 3_600_000_000_000;

/// Ten samples of each program, which is a name and milliseconds of CPU time. None is discarded, so that there is an interval, which
/// holds all but the extremes.
fn measure(dir: &TempDir, programs: &[(&str, u32)], tag: &str) {
    let mut c = tare(dir);
    c.args(["run", "--style", "none", "--order", "rounds", "-w0", "-r10", "--sigma", "100", "--tag", tag]);
    for (name, _) in programs {
        c.args(["-n", name]);
    }
    c.args(programs.iter().map(|(_, ms)| format!("{} burn-self {ms}", burner())));
    run(&mut c, 0);
}

/// Imports a run once more, as another run, with what `change` does to its archive.
fn again(dir: &TempDir, number: i64, change: &dyn Fn(&mut Value)) {
    let mut archive = json(tare(dir).args(["export", &number.to_string()]), 0);
    let uuid = archive["run"]["uuid"].as_str().unwrap().to_owned();
    // Another uuid: its digits in another order.
    archive["run"]["uuid"] = uuid.chars().rev().collect::<String>().into();
    change(&mut archive);
    let file = write(dir, &archive);
    run(tare(dir).arg("import").arg(file), 0);
}

fn write(dir: &TempDir, document: &Value) -> PathBuf {
    let file = dir.path().join("document.json");
    std::fs::write(&file, document.to_string()).unwrap();
    file
}

fn later(hours: i64) -> impl Fn(&mut Value) {
    move |archive: &mut Value| {
        let run = &mut archive["run"];
        run["created"] = (run["created"].as_i64().unwrap() + hours * HOUR).into();
        // Runs of one program with several uuids.
        let uuid = run["uuid"].as_str().unwrap().to_owned();
        run["uuid"] = format!("{hours:08x}{}", &uuid[8..]).into();
    }
}

fn compared(dir: &TempDir, args: &[&str]) -> Value {
    json(tare(dir).args(["compare", "--json", "--no-store"]).args(args), 0)
}

/// The ratio of the verdict of a pair.
fn chosen(document: &Value, pair: usize) -> &Value {
    let pair = &document["report"]["pairs"][pair];
    let ratios = pair["ratios"].as_array().unwrap();
    ratios.iter().find(|r| r["measure"] == pair["measure"]).unwrap()
}

fn ratio(document: &Value) -> f64 {
    chosen(document, 0)["ratio"].as_f64().unwrap()
}

#[track_caller]
fn says(dir: &TempDir, args: &[&str], code: i32, words: &[&str]) -> String {
    let out = run(tare(dir).args(args), code);
    let said = text(&out.stdout) + &text(&out.stderr);
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    said
}

#[test]
fn a_program_does_not_differ_from_itself_and_twice_the_work_does() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("quick", 20)], "a=1");
    measure(&dir, &[("quick", 20)], "a=2");
    measure(&dir, &[("slow", 40)], "a=3");
    let same = compared(&dir, &["1", "2"]);
    let found = chosen(&same, 0);
    assert_eq!((&found["measure"], &found["way"]["kind"]), (&"pt".into(), &"ratio_of_medians".into()));
    // Of CPU time that the program counts itself, a tenth does not get lost.
    assert_eq!(found["verdict"]["Ok"], "undecided");
    assert_eq!((&found["floor"]["share"], &found["floor"]["source"]["kind"]), (&0.1.into(), &"assumed".into()));
    for names in [["1", "3"], ["1.quick", "3.slow"], ["1.1", "last.burner"], ["tag:a=1", "tag:a=3.slow"]] {
        let d = compared(&dir, &names);
        assert!((1.7..2.3).contains(&ratio(&d)), "{names:?}: {}", ratio(&d));
        assert_eq!(chosen(&d, 0)["verdict"]["Ok"], "slower", "{names:?}");
    }
    let turned = compared(&dir, &["1", "3", "--reference", "3"]);
    assert_eq!(chosen(&turned, 0)["verdict"]["Ok"], "faster");
    assert!((ratio(&turned) * ratio(&compared(&dir, &["1", "3"])) - 1.0).abs() < 1e-9);
    let elapsed = compared(&dir, &["1", "3", "--compare-by", "elapsed"]);
    assert_eq!(elapsed["report"]["pairs"][0]["measure"], "et");
    let said = says(&dir, &["compare", "1", "3", "--no-store"], 0, &["10 % between runs is common"]);
    assert!(said.starts_with("slow of run 3 is ") && said.contains(" times as slow as quick of run 1"), "{said}");
    // Nothing of this was to be stored.
    assert_eq!(json(tare(&dir).args(["list", "--json", "--kind", "comparison"]), 0), serde_json::json!([]));
}

/// A run of one program that prints a number.
fn printing(dir: &TempDir, value: &str) {
    let mut c = tare(dir);
    c.args(["run", "--style", "none", "-w0", "-r10", "--sigma", "100", "--no-account", "--no-images"]);
    c.args(["--metric", "v=v=(.*)", "-n", "prints"]).arg(format!("sh -c 'echo v={value}'"));
    run(&mut c, 0);
}

#[test]
fn runs_are_compared_by_what_they_print() {
    let _lock = shared();
    let dir = folder();
    ["2", "3", "0"].iter().for_each(|value| printing(&dir, value));
    let by = ["--compare-by", "metric:v"];
    let d = compared(&dir, &[&["1", "2"][..], &by].concat());
    let found = chosen(&d, 0);
    assert_eq!(found["measure"], serde_json::json!({"metric": "v"}));
    assert_eq!((&found["way"]["kind"], &found["floor"]), (&"ratio_of_medians".into(), &Value::Null));
    assert!((ratio(&d) - 1.5).abs() < 1e-9, "{found:#}");
    assert_eq!(found["verdict"]["Ok"], "slower");
    let compare = ["compare", "1", "2", "--no-store"];
    let answer = "prints of run 2 has 1.50 [1.50, 1.50] times the v of prints of run 1";
    says(&dir, &[&compare[..], &by].concat(), 0, &[answer, "how far v differs from run to run is not known"]);
    // Nobody asked for it: it stands beside.
    let d = compared(&dir, &["1", "2"]);
    assert!(chosen(&d, 0)["measure"].is_string(), "{d:#}");
    let said = says(&dir, &compare, 0, &["Printed values"]);
    assert!(!said.contains("times the v"), "{said}");
    let zero = ["compare", "1", "3", "--no-store"];
    says(
        &dir,
        &[&zero[..], &by].concat(),
        0,
        &["cannot be compared by v: a value that one of them printed is zero or negative"],
    );
    says(&dir, &["compare", "1", "2", "--no-store", "--compare-by", "metric:w"], 0, &["by w: not both print it"]);
    // A stored comparison holds what was printed, and is shown by any measure.
    run(tare(&dir).args(["compare", "1", "2"]), 0);
    let shown = json(tare(&dir).args(["show", "c1", "--json", "--compare-by", "metric:v"]), 0);
    assert!((ratio(&shown) - 1.5).abs() < 1e-9, "{shown:#}");
    let table = dir.path().join("table.csv");
    run(tare(&dir).args(["show", "c1", "--export-csv"]).arg(&table), 0);
    assert!(std::fs::read_to_string(table).unwrap().contains(",metric:v,false,"));
}

#[test]
fn other_runs_of_the_program_show_how_far_runs_differ() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("quick", 20)], "a=1");
    for hours in 1..=4 {
        again(&dir, 1, &later(hours));
    }
    let found = compared(&dir, &["1", "2"]);
    let ratio = chosen(&found, 0);
    let floor = &ratio["floor"];
    assert_eq!(floor["source"], serde_json::json!({"kind": "same_program", "pairs": 3, "runs": 3}));
    // They are the same run: the least floor, and no difference at all.
    assert_eq!((floor["share"].as_f64(), ratio["ratio"].as_f64()), (Some(0.001), Some(1.0)));
    assert_eq!(ratio["verdict"]["Ok"], "undecided");
    // Of runs that are four hours apart, no two others say anything.
    let apart = compared(&dir, &["1", "5"]);
    assert_eq!(chosen(&apart, 0)["floor"]["source"]["kind"], "assumed");
}

#[test]
fn other_machines_get_no_verdict_unless_it_is_asked_for() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("quick", 20)], "a=1");
    measure(&dir, &[("slow", 40)], "a=2");
    again(&dir, 2, &|archive| archive["run"]["host"]["kernel"] = "9.9.9-other".into());
    let refused = compared(&dir, &["1", "3"]);
    assert_eq!(chosen(&refused, 0)["verdict"]["Err"], "other_machine");
    assert_eq!(refused["report"]["pairs"][0]["other_machine"], true);
    says(
        &dir,
        &["compare", "1", "3"],
        0,
        &["no verdict, as the machines differ", "! kernel: ", "9.9.9-other in run 3"],
    );
    let asked = compared(&dir, &["1", "3", "--across-machines"]);
    assert_eq!(chosen(&asked, 0)["verdict"]["Ok"], "slower");
    says(
        &dir,
        &["compare", "1", "3", "--across-machines"],
        0,
        &["! across machines: the ratio is that of the machines"],
    );
}

#[test]
fn with_the_same_reference_the_ratios_are_compared() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("ref", 20), ("prog", 30)], "a=1");
    measure(&dir, &[("ref", 20), ("prog", 45)], "a=2");
    let d = compared(&dir, &["1.prog", "2.prog"]);
    let found = chosen(&d, 0);
    let way = serde_json::json!({"kind": "ratio_of_ratios", "basis": "alone", "pairs": [10, 10]});
    assert_eq!(found["way"], way);
    assert_eq!((&found["floor"]["share"], &found["verdict"]["Ok"]), (&0.03.into(), &"slower".into()));
    assert!((1.35..1.65).contains(&ratio(&d)), "{}", ratio(&d));
    // The runs as a whole: each program with its counterpart.
    let both = compared(&dir, &["1", "2"]);
    let pairs: Vec<(&str, &str)> = both["report"]["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            let label = |side: &str| {
                let index = usize::try_from(p[side].as_u64().unwrap()).unwrap();
                both["comparison"]["sides"][index]["label"].as_str().unwrap()
            };
            (label("program"), label("reference"))
        })
        .collect();
    assert_eq!(pairs, [("ref", "ref"), ("prog", "prog")]);
    // Programs of one run, by its own blocks; also against another program than its reference.
    let own = json(tare(&dir).args(["show", "1", "--json"]), 0)["report"]["comparisons"][0].clone();
    let within = compared(&dir, &["1.ref", "1.prog"]);
    assert_eq!((ratio(&within), &chosen(&within, 0)["floor"]), (own["ratio"].as_f64().unwrap(), &Value::Null));
    assert_eq!(chosen(&within, 0)["way"]["kind"], "same_run");
    let turned = compared(&dir, &["1.prog", "1.ref"]);
    assert!((ratio(&turned) * ratio(&within) - 1.0).abs() < 1e-9);
}

#[test]
fn wrong_names_are_explained() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("quick", 5)], "a=1");
    measure(&dir, &[("other", 6), ("more", 7)], "a=2");
    let cases: [(&[&str], &[&str]); 10] = [
        (&["1"], &["one run or program is named, expected at least two"]),
        (&["1", "1"], &["run 1 is named twice"]),
        (&["1", "7"], &["there is no run \"7\""]),
        (&["1.x", "2"], &["run 1 has no program \"x\", expected \"quick\"", "1.1"]),
        (&["1", "2.3"], &["run 2 has no program \"3\", expected \"other\" or \"more\""]),
        (&["1", "2"], &["run 2 has no program of run 1", "1.1 2.1"]),
        (&["1", "tag:a=9"], &["no run is stored with tag:a=9", "tare list"]),
        (&["1", "p1"], &["p1 is a profile, expected a run or a program of one"]),
        (&["1", "2.more", "--export-samples", "x.csv"], &["a comparison cannot be exported in this format"]),
        (&["1", "2.more", "--db", "none"], &["there is no store"]),
    ];
    for (names, words) in cases {
        says(&dir, &[&["compare"][..], names].concat(), 2, words);
    }
    assert_eq!(json(tare(&dir).args(["list", "--json", "--kind", "comparison"]), 0), serde_json::json!([]));
}

#[test]
fn a_comparison_is_a_stored_result() {
    let _lock = shared();
    let dir = folder();
    measure(&dir, &[("quick", 20)], "a=1");
    measure(&dir, &[("slow", 40)], "a=2");
    let made = json(tare(&dir).args(["compare", "1", "2", "--json", "--tag", "x=y"]), 0);
    assert_eq!((&made["format"], &made["id"]), (&"tare-comparison".into(), &"c1".into()));
    let shown = json(tare(&dir).args(["show", "c1", "--json"]), 0);
    assert_eq!(shown, made);
    says(&dir, &["list", "--kind", "comparison"], 0, &["c1", "2 against 1", "x=y"]);
    says(&dir, &["show", "c1"], 0, &["slow of run 2 is ", "comparison c1"]);
    says(&dir, &["show", "c1", "--export-csv", "-"], 0, &["program,run,run_uuid", "slow,2,"]);
    says(&dir, &["show", "c1", "--export-markdown", "-"], 0, &["| `slow` of run 2 | `quick` of run 1 | CPU time |"]);
    says(&dir, &["show", "c1", "--export-hyperfine", "-"], 2, &["a comparison cannot be exported in this format"]);
    says(&dir, &["resume", "c1"], 2, &["c1 is a comparison, which cannot be resumed"]);
    let page = dir.path().join("page.html");
    run(tare(&dir).args(["report", "c1", "-o"]).arg(&page), 0);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"kind\":\"comparison\"") && html.contains("Comparison c1: 2 against 1"), "no page");
    let figures = dir.path().join("figures");
    run(tare(&dir).args(["report", "c1", "--svg"]).arg(&figures), 0);
    assert!(std::fs::read_to_string(figures.join("pair-1-intervals.svg")).unwrap().ends_with("</svg>\n"));

    // Without the runs, in another store.
    let archive = json(tare(&dir).args(["export", "c1"]), 0);
    assert_eq!((&archive["format"], &archive["version"]), (&"tare-document".into(), &3.into()));
    let elsewhere = folder();
    let file = write(&elsewhere, &archive);
    says(&elsewhere, &["import", file.to_str().unwrap()], 0, &["stored as c1"]);
    assert_eq!(json(tare(&elsewhere).args(["show", "c1", "--json"]), 0), made);
    // By another measure, which is stored as well.
    let elapsed = json(tare(&elsewhere).args(["show", "c1", "--json", "--compare-by", "elapsed"]), 0);
    assert_eq!(elapsed["report"]["pairs"][0]["measure"], "et");
    let refused = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut wrong = archive.clone();
        wrong["head"]["uuid"] = "f".repeat(32).into();
        change(&mut wrong);
        let file = write(&elsewhere, &wrong);
        says(&elsewhere, &["import", file.to_str().unwrap()], 2, words);
    };
    refused(&|d| d["doc"]["pairs"] = serde_json::json!([]), &["it has no pair of programs, expected at least one"]);
    refused(&|d| d["doc"]["sides"][0]["run"] = 9.into(), &["program 1 has an index of something that is not there"]);
    refused(&|d| d["doc"]["sides"][0]["times"][0]["median"] = (-1).into(), &["program 1 has a time"]);
    refused(&|d| d["doc"]["plan"] = Value::Null, &["its comparison: "]);
    says(&dir, &["rm", "c1"], 0, &["removed c1"]);
    says(&dir, &["show", "c1"], 2, &["there is no comparison c1"]);
}
