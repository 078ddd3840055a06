//! `tare noise` on this machine. A hypervisor may steal whatever it likes: the assertions still hold.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/noise.rs"]
mod helpers;

use common::{NOBODY, alone, folder, is_root, json, lives, run, shared, signal, skip, tare, text, until, via};
use helpers::{SHORT, children, cpus, fifo_allowed, noise, number, policy};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

fn ordered(row: &Value) {
    let [min, median, mean, max] = ["min", "median", "mean", "max"].map(|k| number(&row[k]));
    assert!(min > 0.0 && min <= median && median <= max && min <= mean && mean <= max, "{row}");
    assert!(number(&row["slowdown"]) >= 1.0 && number(&row["std_dev"]) >= 0.0, "{row}");
}

fn increasing(what: &str, all: impl Iterator<Item = f64>) {
    let all: Vec<f64> = all.collect();
    assert!(all.windows(2).all(|w| w[0] <= w[1] * (1.0 + 1e-12)), "{what}: {all:?}");
}

#[test]
fn phases_are_measured_kept_and_shown() {
    let _shared = shared();
    let dir = folder();
    let d = json(
        noise(&dir).args(["--grain", "1us,100us", "--phases", "3000", "--json", "--svg"]).arg(dir.path().join("n.svg")),
        0,
    );
    assert!(std::fs::read_to_string(dir.path().join("n.svg")).unwrap().contains("</svg>"));
    assert_eq!((&d["format"], &d["head"]["status"]), (&"tare-noise".into(), &"finished".into()));
    assert_eq!(d["series"].as_array().unwrap().iter().map(|s| s["phases"].as_u64().unwrap()).sum::<u64>(), 6_000);
    let grains = d["grains"].as_array().unwrap();
    assert_eq!(grains.len(), 2);
    for g in grains {
        let row = &g["rows"][0];
        ordered(row);
        assert_eq!(row["phases"], 3_000);
        // The calibrated length is near the requested one: to an iteration, and the cost of reading the counter.
        let (wanted, calibrated) = (number(&g["grain"]), number(&g["calibrated"]));
        assert!((calibrated - wanted).abs() < 0.01 * wanted + 10.0, "{wanted} {calibrated}");
        // A clock speed that doubled after the calibration would be needed.
        assert!(number(&row["min"]) > 0.4 * wanted, "{row}");
        let chances = g["chances"].as_array().unwrap();
        assert_eq!(chances.len(), 5);
        increasing("p falls with the delay", chances.iter().rev().map(|c| number(&c["p"])));
        for c in chances {
            let (p, low, high) = (number(&c["p"]), number(&c["interval"]["low"]), number(&c["interval"]["high"]));
            assert!(low <= p && p <= high && high > 0.0 && high <= 1.0, "{c}");
            increasing("d_p(n) rises with n", c["jobs"].as_array().unwrap().iter().map(|j| number(&j["chance"])));
        }
        let jobs = g["jobs"].as_array().unwrap();
        assert_eq!(
            jobs.iter().map(|j| j["nodes"].as_u64().unwrap()).collect::<Vec<_>>(),
            [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
        );
        // Summed in another order.
        let (job, mean) = (number(&jobs[0]["slowdown"]["value"]), number(&row["slowdown"]));
        assert!((job / mean - 1.0).abs() < 1e-9, "{job} {mean}");
        // 3,000 phases support 300 nodes.
        let kinds: Vec<&str> = jobs.iter().map(|j| j["slowdown"]["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[..3], ["measured"; 3]);
        assert!(kinds[3..].iter().all(|k| ["extrapolated", "unknown"].contains(k)), "{kinds:?}");
        increasing("slowdown rises with n", jobs[..3].iter().map(|j| number(&j["slowdown"]["value"])));
    }
    let shown = text(&run(tare(&dir).args(["show", "n1"]), 0).stdout);
    for says in
        ["Noise n1: 1us,100us on CPU", "table 2", "Grain 100", "Probability of a delay (figure 2)", "calibrated"]
    {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    assert_eq!(json(tare(&dir).args(["show", "n1", "--json"]), 0), d);
    assert!(text(&run(tare(&dir).arg("list"), 0).stdout).contains("1us,100us on CPU"));
    run(tare(&dir).args(["show", "n1", "--export-csv", "-"]), 2);
    // Another store reads the same from an archive.
    let file = dir.path().join("n1.json");
    run(tare(&dir).args(["export", "n1", "-o"]).arg(&file), 0);
    let other = folder();
    run(tare(&other).arg("import").arg(&file), 0);
    assert_eq!(json(tare(&other).args(["show", "n1", "--json"]), 0), d);
}

#[test]
fn a_hundred_thousand_phases_take_little_room() {
    let _shared = shared();
    let dir = folder();
    run(noise(&dir).args(["--grain", "5us", "--phases", "100000", "--no-explain"]), 0);
    let size = |f: &str| std::fs::metadata(dir.path().join(f)).map_or(0, |m| m.len());
    // 4 bytes a phase; an empty store takes some pages.
    let bytes = size("tare.db") + size("tare.db-wal");
    assert!(bytes <= 400_000 + 400_000, "{bytes}");
}

#[test]
fn cpus_are_measured_at_once() {
    let _alone = alone();
    let dir = folder();
    let all = cpus();
    let d = json(noise(&dir).args(["--grain", "50us", "--for", "300ms", "--cpus", "all", "--json"]), 0);
    let series = d["series"].as_array().unwrap();
    assert_eq!(series.iter().map(|s| s["cpu"].as_u64().unwrap() as u32).collect::<Vec<_>>(), all);
    // Each began before any ended.
    let clock = |s: &Value, i: usize| s["pairs"][i]["clock"].as_i64().unwrap();
    let last_begin = series.iter().map(|s| clock(s, 0)).max().unwrap();
    assert!(series.iter().all(|s| clock(s, 1) > last_begin));
    let rows = d["grains"][0]["rows"].as_array().unwrap();
    rows.iter().for_each(ordered);
    if all.len() > 1 {
        assert_eq!(rows.len(), all.len() + 1);
        let node = rows.last().unwrap();
        assert_eq!(node["place"]["kind"], "node");
        let most = rows[..all.len()].iter().map(|r| r["phases"].as_u64().unwrap()).min().unwrap();
        assert!(node["phases"].as_u64().unwrap() <= most);
    }
}

#[test]
fn the_kernel_says_what_interrupted() {
    let _alone = alone();
    let dir = folder();
    let d = json(noise(&dir).args(["--grain", "20us", "--for", "1s", "--json"]), 0);
    let by = &d["grains"][0]["attribution"][0]["by"]["value"];
    if by.is_null() {
        return skip(&d["grains"][0]["attribution"][0].to_string());
    }
    let sources = by["sources"].as_array().unwrap();
    let timer = sources.iter().find(|s| s["reason"]["kind"] == "timer").expect("timer interrupts within a second");
    assert!(timer["count"].as_u64().unwrap() >= 1 && number(&timer["time"]) > 0.0, "{timer}");
    let sum: f64 = sources.iter().map(|s| number(&s["time"])).sum();
    assert!(sum <= number(&by["time"]), "interruptions take no more than all: {sum} of {}", by["time"]);
    // What is subtracted makes the mean smaller, and no phase longer.
    let curves = by["curves"].as_array().unwrap();
    let minus: Vec<&str> = curves.iter().map(|c| c["minus"].as_str().unwrap_or("nothing")).collect();
    let stolen = sources.iter().any(|s| s["reason"]["kind"] == "stolen");
    let entry = !by["tick"].is_null() && number(&by["tick"]["longer"]) - number(&by["tick"]["recorded"]) >= 0.5;
    let more = [("steal", stolen), ("entry", entry)].into_iter().filter(|(_, known)| *known).map(|(kind, _)| kind);
    assert_eq!(minus, ["nothing", "tick", "interrupt", "preemption"].into_iter().chain(more).collect::<Vec<_>>());
    increasing("what is left", curves.iter().rev().map(|c| number(&c["mean"])));
    increasing("the longest", curves.iter().rev().map(|c| number(&c["max"])));
    let shown = text(&run(tare(&dir).args(["show", "n1"]), 0).stdout);
    assert!(shown.contains("timer interrupt") && shown.contains("figure 4"), "{shown}");
}

#[test]
fn real_time_phases_end_with_a_killed_tare() {
    let _alone = alone();
    let dir = folder();
    if !fifo_allowed(&dir) {
        return;
    }
    let mut c = noise(&dir);
    c.args(["--grain", "1ms", "--phases", "60000", "--sched", "fifo:5", "--no-explain"]);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut found = Vec::new();
    until("a real-time process", || {
        found = children(child.id()).into_iter().filter(|p| policy(*p) == libc::SCHED_FIFO).collect();
        !found.is_empty()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    until("it is gone", || found.iter().all(|p| !lives(*p)));
    // What was stored before can be shown.
    let d = json(tare(&dir).args(["show", "n2", "--json"]), 0);
    assert_eq!(d["head"]["status"], "unfinished");
}

#[test]
fn an_interrupted_measurement_keeps_its_phases() {
    let _shared = shared();
    let dir = folder();
    let mut c = noise(&dir);
    c.args(["--grain", "1ms", "--phases", "600000", "--no-explain"]);
    let child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Calibrated, some phases are on their way.
    until("the calibration is kept", || {
        let out = tare(&dir).args(["show", "n1", "--json"]).output().unwrap();
        let d: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        d["calibration"].is_object()
    });
    std::thread::sleep(Duration::from_millis(400));
    signal(child.id(), libc::SIGINT);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    let d = json(tare(&dir).args(["show", "n1", "--json"]), 0);
    assert_eq!(
        (&d["head"]["status"], &d["series"][0]["ended"]["kind"]),
        (&"interrupted".into(), &"interrupted".into())
    );
    let phases = d["series"][0]["phases"].as_u64().unwrap();
    assert!((1..600_000).contains(&phases), "{phases}");
    ordered(&d["grains"][0]["rows"][0]);
}

/// Two numbers on each line that is no comment.
fn pairs(text: &str) -> Vec<(i64, f64)> {
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let pair = |l: &str| {
        let (a, b) = l.split_once('\t').unwrap_or_else(|| panic!("{l:?} has no tab"));
        (a.parse().unwrap(), b.parse().unwrap())
    };
    lines.map(pair).collect()
}

#[test]
fn phases_are_written_for_other_tools_and_read_from_theirs() {
    let _shared = shared();
    let dir = folder();
    let d = json(noise(&dir).args(["--grain", "5us,20us", "--for", "500ms", "--no-explain", "--json"]), 0);
    let phases = d["series"][0]["phases"].as_u64().unwrap();
    let export = |more: &[&str]| text(&run(tare(&dir).args(["noise", "export", "n1", "--as"]).args(more), 0).stdout);
    let detours = export(&["detours"]);
    // The simulator takes a line end for one more detour.
    assert!(!detours.ends_with('\n'));
    let all = pairs(&detours);
    let ((end, nothing), found) = all.split_last().unwrap();
    // Half a second has ticks.
    assert!(!found.is_empty() && *nothing == 0.0 && *end > 400_000_000, "{all:?}");
    assert!(found.iter().all(|(start, length)| *start >= 0 && *length >= 1_000.0));
    assert!(found.windows(2).all(|w| w[1].0 as f64 >= w[0].0 as f64 + w[0].1), "they overlap");
    let quanta = pairs(&export(&["ftq", "--quantum", "10ms"]));
    let done: f64 = quanta.iter().map(|q| q.1).sum();
    assert!(quanta.len() >= 40 && done <= phases as f64 + 1e-6 && done > 0.9 * phases as f64, "{quanta:?}");
    assert!(export(&["hdr"]).contains(&format!("Total count    = {phases:>12}")));
    let fwq = dir.path().join("fwq.txt");
    run(tare(&dir).args(["noise", "export", "n1", "--as", "fwq", "-o"]).arg(&fwq), 0);
    // Read back it says the same, also if the machine is another.
    let hz = number(&d["plan"]["hz"]).to_string();
    let import =
        ["noise", "import", "--as", "durations", "--unit", "cycles", "--grain", "5us", "--machine", "far", "--json"];
    let again = json(tare(&dir).args(import).args(["--hz", &hz]).arg(&fwq), 0);
    assert_eq!(again["head"]["machine"], "far");
    for k in ["phases", "mean", "median", "min", "max"] {
        assert_eq!(again["grains"][0]["rows"][0][k], d["grains"][0]["rows"][0][k], "{k}");
    }
    assert_eq!(again["grains"][0]["jobs"], d["grains"][0]["jobs"]);
    let shown = text(&run(tare(&dir).args(["show", "n2"]), 0).stdout);
    assert!(shown.contains("durations in fwq.txt, of far"), "{shown}");
    // The detours delay phases of another length by as much.
    let file = dir.path().join("detours.txt");
    std::fs::write(&file, detours).unwrap();
    let d = json(tare(&dir).args(["noise", "import", "--as", "detours", "--grain", "1ms", "--json"]).arg(&file), 0);
    let row = &d["grains"][0]["rows"][0];
    let (mean, phases) = (number(&row["mean"]), number(&row["phases"]));
    let lost: f64 = found.iter().map(|f| f.1).sum();
    // All except the events in the phase that did not end; the mean is rounded.
    assert!(
        (mean - 1e6) * phases <= lost * (1.0 + 1e-9)
            && mean * (phases + 1.0) >= *end as f64 - found.iter().map(|f| f.1).fold(0.0, f64::max),
        "{row} {lost}"
    );
}

#[test]
fn bad_files_are_refused_with_their_line() {
    let dir = folder();
    let file = dir.path().join("bad.txt");
    let durations = ["--as", "durations"];
    let detours = ["--as", "detours", "--grain", "1ms"];
    for (content, how, says) in [
        (&b"1\n2\nthree\n"[..], &durations[..], "bad.txt: line 3: \"three\" is not a whole number"),
        (b"# nothing\n", &durations, "no line with a number"),
        (b"0\n5\n", &durations, "took no time"),
        (b"\xff\xfe\n", &durations, "line 1"),
        (b"5\n", &detours, "is not a begin and a length"),
        (b"5\t1\n4\t1\n", &detours, "order of time"),
        (b"5\t1\n", &detours, "before the end of the first phase"),
        (b"900000000000000000\t1\n", &detours, "use a longer grain"),
    ] {
        std::fs::write(&file, content).unwrap();
        let out = run(tare(&dir).args(["noise", "import"]).args(how).arg(&file), 2);
        let said = text(&out.stderr);
        assert!(said.contains(says) && said.trim_end().lines().count() == 1, "{says}: {said}");
    }
    for bad in [
        &["import", "--as", "durations", "/nonexistent"][..],
        &["import", "--as", "durations", "--unit", "cycles", "/dev/null"],
        &["import", "--as", "detours", "/dev/null"],
        &["import", "--as", "durations", "--length", "1s", "/dev/null"],
        &["export", "n9", "--as", "fwq"],
        &["export", "1", "--as", "fwq"],
    ] {
        run(tare(&dir).arg("noise").args(bad), 2);
    }
}

#[test]
fn nothing_is_kept_if_nothing_is_to_be() {
    let _shared = shared();
    let dir = folder();
    run(noise(&dir).args(["--grain", "10us", "--phases", "100", "--no-explain", "--db", "none"]), 0);
    assert!(!dir.path().join("tare.db").exists());
}

#[test]
fn without_privilege_it_says_what_is_missing() {
    let _shared = shared();
    if !is_root() {
        return skip("this test becomes another user");
    }
    let dir = folder();
    let d = json(via(&dir, NOBODY).args(SHORT).args(["--grain", "10us", "--phases", "1000", "--json"]), 0);
    assert_eq!(d["grains"][0]["attribution"][0]["by"]["absent"]["reason"], "no_permission", "{d}");
    let out = run(via(&dir, NOBODY).args(SHORT).args(["--phases", "10", "--sched", "fifo:1"]), 4);
    assert!(text(&out.stderr).contains("real-time"), "{}", text(&out.stderr));
}

#[test]
fn bad_requests_are_one_sentence() {
    let dir = folder();
    for (bad, says) in [
        (&["--grain", "1ns"][..], "1us and 1s"),
        (&["--grain", "2s"][..], "1us and 1s"),
        (&["--grain", "1ms,1ms"][..], "twice"),
        (&["--cpus", "4000"][..], "CPU 4000 is not available; tare may use"),
        (&["--cpus", "x"][..], "--cpus x"),
        (&["--sched", "fifo:99"][..], "1 to 98"),
        (&["--sched", "fifo"][..], "1 to 98"),
        (&["--for", "25h"][..], "24 hours"),
        (&["--svg", "/nonexistent/x"][..], "/nonexistent/x"),
    ] {
        let out = run(noise(&dir).args(bad), 2);
        let said = text(&out.stderr);
        assert!(said.contains(says) && said.trim_end().lines().count() <= 2, "{bad:?}: {said}");
    }
    for bad in [
        &["--phases", "0"][..],
        &["--phases", "-1"],
        &["--sweep", "--grain", "1ms"],
        &["--calibrations", "3"],
        &["--for", "0"],
    ] {
        run(tare(&dir).arg("noise").args(bad), 2);
    }
    assert!(!dir.path().join("tare.db").exists(), "nothing was begun");
}
