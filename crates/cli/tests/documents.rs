//! Results of benchmarks from a file of the library to another machine's store.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{folder, json, run, shared, tare, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use tarebench::core::base::reading::{Absent, Reading};
use tarebench::core::base::units::Nanos;
use tarebench::core::documents::head as document;
use tarebench::core::documents::head::Status;
use tarebench::core::kbest::bench::{Bench, BenchMachine, BenchResult, FORMAT, VERSION};
use tarebench::core::kbest::clocks::ClockKind;
use tarebench::core::kbest::scheme::Parameters;
use tarebench::core::kbest::timing::{Cache, Timing, Trial};
use tarebench::store::{SqliteStore, Store};
use tempfile::TempDir;

const HOSTILE: &str = "sort\x1b]0;x\x07 \u{202e}|`<b>\n";

fn timing(counts: &[u64], cpu: Option<u64>) -> Timing {
    let trial = |count| Trial { count, cpu, ticks: None, preemptions: Some(0), waits: Some(0), core_cycles: None };
    Timing {
        clock: ClockKind::Counter,
        hz: 1e9,
        cache: Cache::Warm,
        repetitions: 1,
        parameters: Parameters::default(),
        compensation: Reading::Absent(Absent::NotAsked("no compensation was asked for".to_owned())),
        overhead: 30,
        less_overhead: false,
        apart: 0,
        trials: counts.iter().map(|c| trial(*c)).collect(),
    }
}

fn bench() -> Bench {
    let row = |name: &str, timing| BenchResult { name: name.to_owned(), timing };
    Bench {
        format: FORMAT.to_owned(),
        version: VERSION,
        tool: "0.1.0".to_owned(),
        name: "sorts".to_owned(),
        created: Nanos(1_700_000_000_000_000_000),
        machine: BenchMachine {
            name: "elsewhere".to_owned(),
            kernel: "6.1.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu: Reading::Value("a CPU".to_owned()),
            cpus: 2,
        },
        rows: vec![
            row(HOSTILE, timing(&[5_000_000, 5_000_100, 5_000_200], None)),
            row("sliced", timing(&[17_000_000; 3], Some(5_001_000))),
        ],
    }
}

fn file(dir: &TempDir, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join("bench.json");
    std::fs::write(&path, content).unwrap();
    path
}

fn import(dir: &TempDir, file: &Path) -> Command {
    let mut c = tare(dir);
    c.arg("import").arg(file);
    c
}

#[track_caller]
fn says(c: &mut Command, code: i32, words: &[&str]) -> String {
    let out = run(c, code);
    let said = text(&out.stdout) + &text(&out.stderr);
    assert!(words.iter().all(|w| said.contains(w)), "{c:?}: {words:?} in {said}");
    assert!(!said.chars().any(|c| c.is_control() && c != '\n') && !said.contains('\u{202e}'), "{said:?}");
    said
}

#[test]
fn from_a_file_to_another_store() {
    let _shared = shared();
    let dir = folder();
    let text_of_file = serde_json::to_string(&bench()).unwrap();
    let path = file(&dir, &text_of_file);
    says(&mut import(&dir, &path), 0, &["stored as b1"]);
    says(
        &mut import(&dir, &path),
        2,
        &["bench.json: the result of benchmarks with uuid", "already in the store", "as b1"],
    );

    // All kinds are in one list, the newest first.
    let listed = says(tare(&dir).arg("list"), 0, &["b1", "finished", "bench", "sorts", "elsewhere"]);
    assert!(!listed.contains(" run "), "{listed}");
    run(tare(&dir).args(["run", "-r", "2", "-w", "0", "--style", "none", "--tag", "a=b", "--", "true"]), 0);
    let listed = says(tare(&dir).arg("list"), 0, &["id  kind", "true", "a=b", "b1"]);
    assert!(listed.find("true").unwrap() < listed.find("b1").unwrap(), "{listed}");
    let listed = says(tare(&dir).args(["list", "--tag", "a=b"]), 0, &["true"]);
    assert!(!listed.contains("b1"), "{listed}");
    let entries = json(tare(&dir).args(["list", "--json"]), 0);
    let entries = entries.as_array().unwrap();
    assert_eq!((&entries[0]["id"], &entries[0]["kind"], &entries[0]["counted"]), (&1.into(), &"run".into(), &2.into()));
    assert_eq!((&entries[0]["title"], &entries[0]["programs"]), (&"true".into(), &serde_json::json!(["true"])));
    assert_eq!((&entries[1]["id"], &entries[1]["kind"]), (&"b1".into(), &"bench".into()));
    assert_eq!((&entries[1]["title"], &entries[1]["host"]), (&"sorts".into(), &"elsewhere".into()));
    assert!(entries.iter().all(|e| e["programs"].is_array() && e["tags"].is_object()));
    assert_eq!(entries.len(), 2);

    // To another store, where the number is another one.
    let document = json(tare(&dir).args(["show", "b1", "--json"]), 0);
    let archive = dir.path().join("b1.json");
    run(tare(&dir).args(["export", "b1", "-o"]).arg(&archive), 0);
    let elsewhere = folder();
    let mut other = bench();
    other.name = "other".to_owned();
    says(&mut import(&elsewhere, &file(&elsewhere, serde_json::to_string(&other).unwrap())), 0, &["b1"]);
    says(&mut import(&elsewhere, &archive), 0, &["stored as b2"]);
    says(&mut import(&elsewhere, &archive), 2, &["b1.json: ", "already in the store", "as b2"]);
    let copy = json(tare(&elsewhere).args(["show", "b2", "--json"]), 0);
    assert_eq!((&copy["bench"], &copy["report"]), (&document["bench"], &document["report"]));
    // The file that it came from is the same benchmarks.
    says(&mut import(&elsewhere, &path), 2, &["as b2"]);
    // A run's archive goes the same way.
    run(tare(&dir).args(["export", "1", "-o"]).arg(&archive), 0);
    says(&mut import(&elsewhere, &archive), 0, &["stored as run 1"]);

    says(tare(&dir).args(["rm", "b1", "b7"]), 2, &["there is no result of benchmarks b7"]);
    says(tare(&dir).args(["rm", "b1", "1"]), 0, &["removed b1", "removed run 1"]);
    says(tare(&dir).args(["show", "b1"]), 2, &["there is no result of benchmarks b1", "tare list"]);
    assert_eq!(json(tare(&dir).args(["list", "--json"]), 0), serde_json::json!([]));
    says(&mut import(&dir, &path), 0, &["stored as b2"]);
}

#[test]
fn benchmarks_are_shown_in_every_format() {
    let _shared = shared();
    let dir = folder();
    says(&mut import(&dir, &file(&dir, serde_json::to_string(&bench()).unwrap())), 0, &["stored as b1"]);
    let shown = [
        "sorts (b1): ",
        r"sort\x1b]0;x\x07 \u{202e}|`<b>\n",
        "5.0000 ms",
        "0.0040 %",
        "converged",
        "slice too short",
        "sliced: no time: not known: another process had the CPU in every trial, for at least 71%",
        "cycle counter, fenced",
        "warm",
    ];
    says(tare(&dir).args(["show", "b1"]), 0, &shown);
    says(tare(&dir).args(["show", "b1", "--style", "basic", "-u", "microsecond"]), 0, &["5000.0 us", " - "]);
    assert_eq!(says(tare(&dir).args(["show", "b1", "--style", "none"]), 0, &[]), "");
    let document = json(tare(&dir).args(["show", "b1", "--json"]), 0);
    assert_eq!((&document["format"], &document["id"]), (&"tare-bench-report".into(), &"b1".into()));
    assert_eq!(document["report"]["rows"][0]["time"]["value"], 5_000_000.0);
    assert!(document["report"]["rows"][1]["time"]["absent"].is_object());
    assert_eq!(serde_json::from_value::<Bench>(document["bench"].clone()).unwrap(), bench());
    says(
        tare(&dir).args(["show", "b1", "--export-csv", "-"]),
        0,
        &["benchmark,time_ns,spread", "sliced,,0,slice too short,0.7"],
    );
    says(tare(&dir).args(["show", "b1", "--export-samples", "-"]), 0, &["benchmark,trial,count", "sliced,2,17000000,"]);
    says(tare(&dir).args(["show", "b1", "--export-markdown", "-"]), 0, &["| benchmark | time |", "| `sliced` | – |"]);
    says(tare(&dir).args(["show", "b1", "--export-hyperfine", "-"]), 2, &["hyperfine's JSON format holds runs"]);
    says(tare(&dir).args(["show", "b1", "--sigma", "3"]), 2, &["--sigma applies to runs"]);
}

#[test]
fn what_is_refused_is_said_in_a_sentence() {
    let dir = folder();
    let good = serde_json::to_string(&bench()).unwrap();
    let refused = |content: &[u8], words: &[&str]| {
        let path = file(&dir, content);
        let said = says(&mut import(&dir, &path), 2, &[&["bench.json: "], words].concat());
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    refused(b"\xff\xfe\0", &["not a file that can be imported", "expected a JSON object"]);
    refused(
        br#"{"format":"tare-report","version":1}"#,
        &["\"tare-report\", expected \"tare-run\", \"tare-document\", \"tare-profile\" or"],
    );
    refused(good.replace("\"version\":1", "\"version\":7").as_bytes(), &["a file of benchmarks of version 7"]);
    refused(
        good.replace("\"hz\":1000000000.0", "\"hz\":1e999").as_bytes(),
        &["not a file of benchmarks (line 1, column"],
    );
    refused(good.replace("sliced", "s\x1bliced").as_bytes(), &["control character"]);
    let mut none = bench();
    none.rows[0].timing.trials.clear();
    refused(serde_json::to_string(&none).unwrap().as_bytes(), &["benchmark 1", "has no trial, expected at least one"]);
    let mut long = good.clone().into_bytes();
    long.resize(40 << 20, b' ');
    refused(&long, &["not a file of benchmarks: it is longer than 32 MiB"]);
    refused(good.replace("\"rows\":", &format!("\"rows\":{}", "[".repeat(1 << 20))).as_bytes(), &["line 1, column"]);

    says(&mut import(&dir, &dir.path().join("none.json")), 2, &["open ", "none.json"]);
    says(&mut import(&dir, Path::new("/dev/zero")), 2, &["/dev/zero: not a file that can be imported"]);
    let profile = file(&dir, br#"{"format":"tare-profile","version":1,"profile":{}}"#);
    says(&mut import(&dir, &profile), 2, &["not an archive of a profile", "missing field"]);
    assert_eq!(json(tare(&dir).args(["list", "--json"]), 0), serde_json::json!([]));
}

/// What cannot be resumed is refused with a reason, and what cannot be read is not shown as something else.
#[test]
fn what_is_no_run_and_what_cannot_be_read() {
    let dir = folder();
    let path = file(&dir, serde_json::to_string(&bench()).unwrap());
    run(&mut import(&dir, &path), 0);
    let refused = "b1 is a result of benchmarks, which cannot be resumed; runs, profiles, studies and gates can";
    says(tare(&dir).args(["resume", "b1"]), 2, &[refused, "`tare show b1`"]);
    let head = document::DocumentHead {
        kind: document::DocumentKind::Study,
        number: 0,
        uuid: "a".repeat(32),
        title: HOSTILE.to_owned(),
        created: Nanos(1),
        status: Status::Interrupted,
        tool: "0.1.0".to_owned(),
        machine: "box".to_owned(),
        conditions: None,
        tags: std::collections::BTreeMap::new(),
    };
    let mut store = SqliteStore::open(&dir.path().join("tare.db")).unwrap();
    store.create_document(&head, &serde_json::json!({"any": [1, 2.5]})).unwrap();
    let noise = document::DocumentHead { kind: document::DocumentKind::Noise, uuid: "b".repeat(32), ..head };
    store.create_document(&noise, &serde_json::json!({})).unwrap();
    drop(store);
    says(tare(&dir).arg("list"), 0, &["s1", "interrupted", "study", r"sort\x1b]0;x\x07"]);
    says(tare(&dir).args(["list", "--json"]), 0, &[r#""id": "s1""#, r"\u202e"]);
    // A study or a measurement of noise whose content is none is said to be so, also where a page is asked for.
    for (command, id) in [("show", "n1"), ("report", "n1"), ("show", "s1"), ("report", "s1")] {
        says(tare(&dir).args([command, id]), 4, &[&format!("{id} cannot be read"), "missing field"]);
    }
    says(tare(&dir).args(["resume", "n1"]), 2, &["n1 is a measurement of noise, which cannot be resumed"]);
    let archive = json(tare(&dir).args(["export", "s1"]), 0);
    assert_eq!((&archive["format"], &archive["doc"]), (&"tare-document".into(), &serde_json::json!({"any": [1, 2.5]})));
    says(tare(&dir).args(["rm", "s1"]), 0, &["removed s1"]);
}

/// A profile, noise and a study are listed, shown, exported, imported and removed as runs are, and say where they were made.
#[test]
fn every_kind_is_handled_alike() {
    let _shared = shared();
    let dir = folder();
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/profile_json/active.json");
    says(&mut import(&dir, Path::new(profile)), 0, &["stored as p1, profile p@1"]);
    let noise = ["noise", "--grain", "10us", "--phases", "50", "--calibrations", "10", "--no-explain"];
    run(tare(&dir).args(noise).args(["--tag", "a=b", "--style", "none"]), 0);
    run(tare(&dir).args(["run", "-r", "1", "-w", "0", "--style", "none", "--tag", "a=b", "--", "true"]), 0);
    let entries = |args: &[&str]| -> Vec<String> {
        let found = json(tare(&dir).args(["list", "--json"]).args(args), 0);
        found.as_array().unwrap().iter().map(|e| e["id"].to_string().replace('"', "")).collect()
    };
    assert_eq!(entries(&[]), ["1", "n1", "p1"]);
    assert_eq!(entries(&["--tag", "a=b"]), ["1", "n1"]);
    assert_eq!(entries(&["--kind", "profile"]), ["p1"]);
    assert_eq!(entries(&["-n", "1"]), ["1"]);

    let head = json(tare(&dir).args(["show", "n1", "--json"]), 0)["head"].clone();
    let of_run = json(tare(&dir).args(["show", "1", "--json"]), 0)["report"]["run"]["host"].clone();
    assert_eq!(head["conditions"]["host"]["machine"], of_run["machine"]);
    assert_eq!((&head["conditions"]["host"]["kernel"], &head["tags"]["a"]), (&of_run["kernel"], &"b".into()));
    let fingerprint = head["conditions"]["fingerprint"].as_str().unwrap();
    says(tare(&dir).args(["show", "n1"]), 0, &[of_run["kernel"].as_str().unwrap(), fingerprint]);

    let file = dir.path().join("archive.json");
    for (name, stored) in [("p1", "p1"), ("p", "p1"), ("p@1", "p1"), ("n1", "n1")] {
        let elsewhere = folder();
        run(tare(&dir).args(["export", name, "-o"]).arg(&file), 0);
        says(&mut import(&elsewhere, &file), 0, &[&format!("stored as {stored}")]);
        let again = run(tare(&elsewhere).args(["export", stored]), 0);
        assert_eq!(again.stdout, std::fs::read(&file).unwrap(), "{name}");
    }
    let shown = run(tare(&dir).args(["show", "p1"]), 0).stdout;
    for args in [&["show", "p"][..], &["show", "p@1"], &["profile", "show", "p1"]] {
        assert_eq!(text(&run(tare(&dir).args(args), 0).stdout), text(&shown), "{args:?}");
    }
    let page = dir.path().join("p.html");
    run(tare(&dir).args(["report", "p1", "-o"]).arg(&page), 0);
    assert!(std::fs::metadata(&page).unwrap().len() > 1000);
    says(tare(&dir).args(["resume", "p1"]), 2, &["p1 is finished", "`tare show p1`"]);
    says(tare(&dir).args(["resume", "1"]), 2, &["run 1 is finished", "`tare show 1`"]);
    says(tare(&dir).args(["rm", "p1", "p@2"]), 2, &["p@2"]);
    says(tare(&dir).args(["rm", "p", "n1"]), 0, &["removed 1 version of p", "removed n1"]);
    assert_eq!(entries(&[]), ["1"]);
}

/// Nothing is kept with `--db none`; the result is shown all the same.
#[test]
fn without_a_store_every_measurement_has_its_result() {
    let _shared = shared();
    let dir = folder();
    let none = |args: &[&str]| {
        let mut c = tare(&dir);
        c.args(args).args(["--db", "none"]);
        c
    };
    let study = ["study", "interval-counting", "--rounds", "1", "--loads", "1", "--longest", "5ms", "--json"];
    let shown = json(&mut none(&study), 0);
    assert_eq!((&shown["head"]["number"], shown["parts"].as_array().map(Vec::len)), (&0.into(), Some(1)));
    let noise = ["noise", "--grain", "10us", "--phases", "50", "--calibrations", "10", "--no-explain", "--json"];
    assert_eq!(json(&mut none(&noise), 0)["head"]["number"], 0);
    let out = run(&mut none(&["profile", "--short", "5msx40"]), 0);
    let (shown, said) = (text(&out.stdout), text(&out.stderr));
    assert!(shown.contains("40 ") && said.contains("the profile is not kept (--db none)"), "{shown}{said}");
    assert!(!said.contains("tare profile resume"), "{said}");
    says(&mut none(&["profile", "resume"]), 2, &["there is no store"]);
    assert_eq!(json(tare(&dir).args(["list", "--json"]), 0), serde_json::json!([]));
}

/// A study says where it was made, and is not resumed on a machine that only has the same name.
#[test]
fn a_study_is_of_its_machine() {
    let _shared = shared();
    let dir = folder();
    let study = ["study", "interval-counting", "--rounds", "1", "--loads", "1", "--longest", "5ms", "--json"];
    let made = json(tare(&dir).args(study).args(["--tag", "a=b"]), 0);
    let host = &made["head"]["conditions"]["host"];
    let fingerprint = made["head"]["conditions"]["fingerprint"].as_str().unwrap();
    says(tare(&dir).args(["show", "s1"]), 0, &[host["kernel"].as_str().unwrap(), fingerprint]);
    says(tare(&dir).args(["list", "--tag", "a=b"]), 0, &["s1", "a=b"]);
    says(tare(&dir).args(["resume", "s1"]), 2, &["s1 is finished"]);

    let file = dir.path().join("s1.json");
    run(tare(&dir).args(["export", "s1", "-o"]).arg(&file), 0);
    let archive = std::fs::read_to_string(&file).unwrap();
    let elsewhere = folder();
    let moved = archive
        .replace(host["machine"].as_str().unwrap(), &"0".repeat(16))
        .replace("\"status\":\"finished\"", "\"status\":\"interrupted\"");
    assert_ne!(moved, archive);
    std::fs::write(&file, moved).unwrap();
    says(&mut import(&elsewhere, &file), 0, &["stored as s1"]);
    let refused = ["s1 was started on another machine", host["name"].as_str().unwrap()];
    says(tare(&elsewhere).args(["resume", "s1"]), 2, &refused);
    says(tare(&elsewhere).args(["study", "resume"]), 2, &refused);
    // On this machine it is resumed: nothing was left to measure.
    let here = archive.replace("\"status\":\"finished\"", "\"status\":\"interrupted\"");
    std::fs::write(&file, here).unwrap();
    says(tare(&elsewhere).args(["rm", "s1"]), 0, &["removed s1"]);
    says(&mut import(&elsewhere, &file), 0, &["stored as s2"]);
    let shown = json(tare(&elsewhere).args(["resume", "s2", "--json"]), 0);
    assert_eq!((&shown["head"]["status"], &shown["parts"]), (&"finished".into(), &made["parts"]));
}
