//! `tare profile` on this machine: injected daemons of known name, period and CPU time, kills, recordings, stored
//! profiles.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{alone, burner, folder, is_root, json, run, shared, skip, tare, text};
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that ends with the test.
struct Daemon(Child);

impl Daemon {
    fn start(args: &[&str]) -> Daemon {
        Daemon(Command::new(burner()).args(args).stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn profile(dir: &TempDir, args: &[&str]) -> Command {
    let mut c = tare(dir);
    c.arg("profile").args(args);
    c
}

/// The profile with every table.
fn shown(dir: &TempDir, label: &str) -> Value {
    json(&mut profile(dir, &["show", label, "--json"]), 0)
}

fn samples(document: &Value, part: &str) -> usize {
    document["profile"][part]["observations"].as_array().map_or(0, Vec::len)
}

/// The row of the cutoffs.
fn cutoff<'a>(document: &'a Value, daemon: &str) -> Option<&'a Value> {
    document["learned"]["cutoffs"].as_array()?.iter().find(|r| r["daemon"] == daemon && r["bystander"] == false)
}

/// A daemon's period in seconds.
fn period(row: &Value) -> Option<f64> {
    Some(row["periodicity"]["period"].as_f64()? / 1e9)
}

/// Three daemons at once on the program's CPU: one that runs often and at times long, one that runs only at times,
/// and one that is a new process at every run, as `rhn_check` is. Their periods have no common multiple.
#[test]
#[ignore = "slow: a minute of learning, up to three times (make slow)"]
fn injected_daemons_are_found_and_what_they_spoil_is_discarded() {
    if !is_root() {
        return skip("needs root, to see short-lived processes");
    }
    let _alone = alone();
    let dir = folder();
    run(tare(&dir).args(["inc", "--calibrate"]), 0);
    // Name, period in seconds, usual and long CPU time in ms.
    let flusher = ("flusher", 4.7, 1.0, 25.0);
    let collector = ("collector", 7.3, 0.0, 35.0);
    let check = ("rhn_check", 5.9, 0.0, 30.0);
    let injected = [
        Daemon::start(&["pulse", flusher.0, "1", "4700", "25", "200"]),
        Daemon::start(&["pulse", collector.0, "1", "7300", "35", "0"]),
        Daemon::start(&["born", check.0, "1", "5900", "30"]),
    ];
    let all_found = |found: &Value| {
        [flusher, collector, check].into_iter().try_for_each(|(name, every, usual, long)| {
            let row = cutoff(found, name).ok_or(format!("{name} was not found"))?;
            let ns = row["cutoff"]["short"].as_f64().unwrap();
            assert!(ns > usual * 1e6 && ns < long * 1e6, "{name}: a cutoff of {ns} ns is not between usual and long");
            let p = period(row).ok_or(format!("{name} has no period: {row:#}"))?;
            if (p / every - 1.0).abs() < 0.05 { Ok(()) } else { Err(format!("{name}: {p} s, truth {every} s")) }
        })
    };
    // A neighbour on the host may drown them for a minute, not every minute.
    let mut found = Value::Null;
    for attempt in 1.. {
        run(&mut profile(&dir, &["--name", "injected", "--short", "0.05sx1000", "--cpus", "1"]), 0);
        found = shown(&dir, "injected");
        match all_found(&found) {
            Ok(()) => break,
            Err(e) if attempt == 3 => panic!("{e}: {:#}", found["learned"]["cutoffs"]),
            Err(e) => eprintln!("attempt {attempt}: {e}"),
        }
    }
    // A run discards the samples that they disturbed, and names them.
    let words = ["run", "-r", "250", "--cpus", "1", "--no-account", "--json"];
    let inc = "inc 0.05 --quiet";
    let program = format!("{} {inc}", common::TARE);
    let measured = json(tare(&dir).args(words).arg(program), 0);
    drop(injected);
    let label = format!("injected@{}", found["profile"]["version"]);
    assert_eq!(measured["report"]["profile"]["Ok"], label.as_str());
    let cutoffs: Vec<(String, f64)> = found["profile"]["cutoffs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["daemon"].as_str().unwrap().to_owned(), c["short"].as_f64().unwrap()))
        .collect();
    let spoiled = |s: &Value| {
        let ran = s["daemons"]["value"]["list"].as_array().unwrap();
        ran.iter().any(|d| {
            // Kernel threads of one kind are folded: `kworker/0:1` is `kworker`.
            let folded =
                |name: &str| d["kind"] == "kernel" && d["name"].as_str().unwrap().starts_with(&format!("{name}/"));
            let limit = cutoffs.iter().find(|(name, _)| d["name"] == name.as_str() || folded(name));
            limit.is_some_and(|(_, limit)| d["cpu"].as_f64().unwrap() > *limit)
        })
    };
    let counted = measured["samples"].as_array().unwrap().iter().filter(|s| s["phase"] == "counted");
    let truth: Vec<u64> = counted.filter(|s| spoiled(s)).map(|s| s["index"].as_u64().unwrap()).collect();
    let discards = measured["report"]["series"][0]["discards"].as_array().unwrap();
    let by_cutoff = discards.iter().filter(|d| d["reason"]["kind"] == "cutoff" && d["measure"] == "et");
    let mut discarded: Vec<u64> = by_cutoff.map(|d| d["index"].as_u64().unwrap()).collect();
    discarded.sort_unstable();
    assert_eq!(discarded, truth, "the spoiled samples and only those");
    assert!(truth.len() >= 5, "{truth:?}: six and more bursts fell into the run");
}

/// Kills the learning of a profile as soon as `samples` counted samples are stored.
fn kill_after(dir: &TempDir, args: &[&str], samples: u64) {
    let mut child = profile(dir, args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    loop {
        let listed = json(tare(dir).args(["list", "--json"]), 0);
        let there: u64 = listed.as_array().unwrap().iter().filter_map(|r| r["counted"].as_u64()).sum();
        if there >= samples {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        assert!(began.elapsed() < Duration::from_secs(120), "no sample came");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_profile_goes_on_in_either_part() {
    let _shared = shared();
    let dir = folder();
    run(tare(&dir).args(["inc", "--calibrate"]), 0);
    let begin = ["--name", "k", "--short", "0.02sx40", "--long", "0.06sx14"];
    kill_after(&dir, &begin, 18);
    // The samples so far can be used, and a second start does not hide the first one.
    let out = run(&mut profile(&dir, &["list"]), 0);
    assert!(text(&out.stderr).contains("tare profile resume k"), "{}", text(&out.stderr));
    let out = run(&mut profile(&dir, &begin), 2);
    assert!(text(&out.stderr).contains("is unfinished"), "{}", text(&out.stderr));
    run(&mut profile(&dir, &["learn", "k"]), 0);
    let partial = shown(&dir, "k");
    assert!((12..40).contains(&samples(&partial, "short")), "{}", samples(&partial, "short"));
    // The short part's other samples, then into the long part.
    kill_after(&dir, &["resume"], 44);
    run(&mut profile(&dir, &["resume", "k"]), 0);
    let whole = shown(&dir, "k");
    assert_eq!((samples(&whole, "short"), samples(&whole, "long")), (40, 14));
    assert_eq!((&whole["profile"]["version"], &whole["profile"]["method"]), (&2.into(), &"active".into()));
    let numbers: Vec<u64> = whole["profile"]["short"]["observations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    // The same work in both sessions: the long part has three times the increments of the short one. By process time, as elapsed time
    // also has what other tests and the tracing of a start take.
    let out = run(&mut profile(&dir, &["resume"]), 2);
    assert!(text(&out.stderr).contains("no unfinished profile"), "{}", text(&out.stderr));
    let lengths = |i: usize| {
        let all = whole["profile"][["short", "long"][i]]["observations"].as_array().unwrap();
        let mut times: Vec<f64> = all.iter().map(|o| o["process_time"].as_f64().unwrap()).collect();
        times.sort_by(f64::total_cmp);
        times[0]
    };
    let ratio = lengths(1) / lengths(0);
    assert!((1.5..6.0).contains(&ratio), "{ratio}");
}

#[test]
fn profiles_are_kept_exported_merged_and_checked() {
    let _shared = shared();
    let dir = folder();
    run(tare(&dir).args(["inc", "--calibrate"]), 0);
    for name in ["one", "two"] {
        run(&mut profile(&dir, &["--name", name, "--short", "0.01sx14"]), 0);
    }
    run(&mut profile(&dir, &["--name", "other", "--short", "0.02sx14"]), 0);
    let listed = json(&mut profile(&dir, &["list", "--json"]), 0);
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["other", "two", "one"]);
    // Merged, its samples are all there; of two task lengths it is refused.
    run(&mut profile(&dir, &["merge", "one", "two", "--name", "both"]), 0);
    assert_eq!(samples(&shown(&dir, "both"), "short"), 28);
    let out = run(&mut profile(&dir, &["merge", "one", "other"]), 2);
    assert!(text(&out.stderr).contains("task lengths differ"), "{}", text(&out.stderr));
    let out = run(&mut profile(&dir, &["merge", "one", "both"]), 2);
    assert!(text(&out.stderr).contains("contain the same run"), "{}", text(&out.stderr));
    // Through a file into another store, byte by byte the same.
    let file = dir.path().join("both.json");
    run(profile(&dir, &["export", "both", "-o"]).arg(&file), 0);
    let elsewhere = folder();
    run(profile(&elsewhere, &["import"]).arg(&file), 0);
    let out = run(&mut profile(&elsewhere, &["export", "both@1"]), 0);
    assert_eq!(out.stdout, std::fs::read(&file).unwrap());
    run(profile(&elsewhere, &["import"]).arg(&file), 2);
    // Of another machine: shown, but not the newest of this one's.
    let mut foreign: Value = serde_json::from_slice(&out.stdout).unwrap();
    (foreign["head"]["uuid"], foreign["doc"]["name"]) = ("f".repeat(32).into(), "far".into());
    foreign["doc"]["machine"] = "f".repeat(16).into();
    std::fs::write(&file, foreign.to_string()).unwrap();
    run(profile(&elsewhere, &["import"]).arg(&file), 0);
    let out = run(&mut profile(&elsewhere, &["show", "far"]), 0);
    assert!(text(&out.stdout).contains("of another machine"), "{}", text(&out.stdout));
    assert_eq!(json(&mut profile(&elsewhere, &["show", "both", "--json"]), 0)["profile"]["name"], "both");
    // Imported, also one of this machine is used by its name only.
    for mut c in [profile(&elsewhere, &["show"]), profile(&elsewhere, &["check"])] {
        let said = text(&run(&mut c, 2).stderr);
        assert!(said.contains("that was not imported") && said.contains("by their names"), "{said}");
    }
    let out = run(tare(&elsewhere).args(["report", "--profile"]), 2);
    assert!(text(&out.stderr).contains("--profile NAME"), "{}", text(&out.stderr));
    // A run after it, with a daemon that it never saw.
    let out = run(&mut profile(&dir, &["check", "both"]), 0);
    assert!(text(&out.stderr).contains("no runs"), "{}", text(&out.stderr));
    if is_root() {
        let _new = Daemon::start(&["pulse", "newcomer", "0", "100", "20", "0"]);
        run(tare(&dir).args(["run", "-r", "3", "--no-account", "--style", "none", "--", "sleep", "0.3"]), 0);
        let out = run(&mut profile(&dir, &["check", "both"]), 1);
        assert!(text(&out.stdout).contains("newcomer"), "{}", text(&out.stdout));
    }
    // Removed, in all versions.
    run(&mut profile(&dir, &["rm", "one", "two", "both"]), 0);
    run(&mut profile(&dir, &["rm", "other", "both"]), 2);
    run(&mut profile(&dir, &["show", "other"]), 0);
    for (args, says) in [
        (&["--name", "a@b", "--short", "0.01sx14"][..], "without `@`"),
        (&["--short", "0.01x5"][..], "at least 12 samples"),
        (&["--short", "2s"][..], "task length and samples"),
        (&["--short", "1sx20", "--long", "1sx20"][..], "greater than the short"),
        (&["--watch", "--for", "20s"][..], "too short"),
        (&["show", "nobody"][..], "no profile nobody"),
    ] {
        let out = run(&mut profile(&dir, args), 2);
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
    let out = run(profile(&dir, &["--short", "0.01sx14"]).args(["--db", "none"]), 0);
    assert!(text(&out.stderr).contains("the profile is not kept"), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("14 samples of INC"), "{}", text(&out.stdout));
}

/// CPU time by daemon in all slices of the newest recording, ns, and how many slices there are.
fn recorded(dir: &TempDir, name: &str) -> (f64, usize) {
    let out = run(tare(dir).arg("export"), 0);
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let (mut sum, mut slices) = (0.0, 0);
    for chunk in document["recording"].as_array().unwrap() {
        let is = |at: &Value| chunk["tasks"][at.as_u64().unwrap() as usize]["name"] == name;
        for slice in chunk["slices"].as_array().unwrap() {
            slices += 1;
            assert!(slice.get("incomplete").is_none(), "{slice}");
            let ran = slice["ran"].as_array().unwrap().iter().filter(|r| is(&r[0]));
            sum += ran.map(|r| r[1].as_f64().unwrap()).sum::<f64>();
        }
    }
    (sum, slices)
}

#[test]
#[ignore = "slow: 23 s of recording, up to three times (make slow)"]
fn watching_finds_what_runs_and_goes_on_after_a_kill() {
    if !is_root() {
        return skip("needs root, to see short-lived processes");
    }
    let _alone = alone();
    let dir = folder();
    let lasting = Daemon::start(&["pulse", "lasting", "1", "4900", "60", "0"]);
    let born = Daemon::start(&["born", "short-lived", "0", "3700", "60"]);
    // The kill, the gap after it and the end fall between the bursts, which begin every 3.7 s.
    let watch = ["--watch", "--for", "23s", "--interval", "100ms", "--short", "200ms", "--name", "w"];
    let mut child = profile(&dir, &watch).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(9_500));
    // After an interruption, the recording so far is stored; the rest is recorded later.
    // SAFETY: a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("tare profile resume w"), "{said}");
    run(&mut profile(&dir, &["resume", "w"]), 0);
    let (cpu, slices) = recorded(&dir, "short-lived");
    assert!((220..=232).contains(&slices), "{slices} slices of 100 ms in 23 s");
    // Every execution of the short-lived process is there: whole bursts.
    let bursts = (cpu / 60e6).round();
    assert!((5.0..=8.0).contains(&bursts) && (cpu / 60e6 - bursts).abs() < 0.15, "{cpu} ns");
    assert_eq!(shown(&dir, "w")["profile"]["method"], "watched");
    // What else runs on the machine may hide a daemon in 23 s: up to two recordings more.
    let daemons = [("lasting", 4.9), ("short-lived", 3.7)];
    let all_found = |found: &Value| daemons.iter().all(|(name, _)| cutoff(found, name).is_some());
    let mut found = shown(&dir, "w");
    for again in ["w2", "w3"] {
        if !all_found(&found) {
            run(
                &mut profile(
                    &dir,
                    &["--watch", "--for", "23s", "--interval", "100ms", "--short", "200ms", "--name", again],
                ),
                0,
            );
            found = shown(&dir, again);
        }
    }
    drop((lasting, born));
    for (name, every) in daemons {
        let row =
            cutoff(&found, name).unwrap_or_else(|| panic!("{name} was not found: {:#}", found["learned"]["cutoffs"]));
        if let Some(p) = period(row) {
            assert!((p / every - 1.0).abs() < 0.1, "{name}: period {p} s, truth {every} s");
        }
    }
    // The same recording serves other task lengths.
    run(&mut profile(&dir, &["learn", "w", "--short", "1s"]), 0);
    let again = shown(&dir, "w");
    assert_eq!(again["profile"]["version"], 2);
    // Samples of 1 s in the parts before and after the interruption: 23 only where it fell on a whole second.
    assert!((22..=23).contains(&samples(&again, "short")), "{}", samples(&again, "short"));
}

#[test]
fn a_killed_recording_keeps_all_but_its_last_seconds() {
    let _shared = shared();
    let dir = folder();
    let watch = ["--watch", "--for", "60s", "--interval", "100ms", "--short", "500ms", "--name", "w"];
    let mut child = profile(&dir, &watch).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let slices = || {
        let out = tare(&dir).arg("export").output().unwrap();
        let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        let chunks = document["recording"].as_array().cloned().unwrap_or_default();
        chunks.iter().map(|c| c["slices"].as_array().unwrap().len()).sum::<usize>()
    };
    while slices() == 0 {
        assert!(began.elapsed() < Duration::from_secs(45), "nothing was kept");
        std::thread::sleep(Duration::from_millis(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(slices() >= 80, "{} slices of 100 ms are ten seconds", slices());
    run(&mut profile(&dir, &["learn", "w"]), 0);
    assert!(samples(&shown(&dir, "w"), "short") >= 16);
    let out = run(tare(&dir).args(["resume", "last"]), 2);
    assert!(text(&out.stderr).contains("tare profile resume w"), "{}", text(&out.stderr));
}

/// So many ends in a slice that a buffer may not hold them: all are there, or the slice says that some may be missing.
#[test]
#[ignore = "slow: 24 s of recording (make slow)"]
fn a_burst_of_exits_is_complete_or_marked() {
    if !is_root() {
        return skip("needs root, to see short-lived processes");
    }
    let _alone = alone();
    let dir = folder();
    let watch = ["--watch", "--for", "24s", "--interval", "2s", "--short", "2s", "--name", "b"];
    let mut child = profile(&dir, &watch).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let done = Command::new(burner()).args(["short", "20000"]).status().unwrap();
    assert!(done.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let out = run(tare(&dir).arg("export"), 0);
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let (mut ended, mut marked) = (0, 0);
    for chunk in document["recording"].as_array().unwrap() {
        let tasks = chunk["tasks"].as_array().unwrap();
        ended += tasks.iter().filter(|t| t["name"] == "burner").count();
        marked += chunk["slices"].as_array().unwrap().iter().filter(|s| s.get("incomplete").is_some()).count();
    }
    assert!(ended >= 20_000 || marked > 0, "{ended} of 20,000 processes, and nothing is said to be missing");
}
