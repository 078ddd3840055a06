//! A profile by the account on this machine: a short-lived process that takes the program's CPU is found by what the program waited for
//! it, and later samples of elapsed time, and of no other, are discarded for it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{alone, burner, folder, is_root, json, run, skip, tare, text};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A process that ends with the test.
struct Injected(Child);

impl Injected {
    fn start(args: &[&str]) -> Injected {
        Injected(Command::new(burner()).args(args).stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Injected {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds between two executions of the injected process, and milliseconds of CPU time that each takes. The samples take a third of the 5%
/// of the period up to which the cutoff for short programs applies, so that a slow clock does not matter.
const EVERY: f64 = 3.0;
const TAKES: f64 = 60.0;

fn profile(dir: &TempDir, args: &[&str]) -> Command {
    let mut c = tare(dir);
    c.arg("profile").args(args);
    c
}

fn shown(dir: &TempDir, label: &str) -> Value {
    json(&mut profile(dir, &["show", label, "--json"]), 0)
}

/// The cutoff of the injected process for waiting, ns, or what is wrong with the profile.
fn waiting_cutoff(found: &Value) -> Result<f64, String> {
    let rows = found["learned"]["cutoffs"].as_array().unwrap();
    let row = rows.iter().find(|r| r["daemon"] == "zz").ok_or("zz was not found")?;
    let cutoff = row["cutoff"]["effect"]["waiting"]["short"].as_f64().ok_or(format!("no waiting: {row:#}"))?;
    if !(cutoff > 1e6 && cutoff < TAKES * 1e6) {
        return Err(format!("a waiting cutoff of {cutoff} ns"));
    }
    let period = row["periodicity"]["period"].as_f64().ok_or(format!("no period: {row:#}"))? / 1e9;
    if (period / EVERY - 1.0).abs() < 0.1 { Ok(cutoff) } else { Err(format!("a period of {period} s")) }
}

/// What a command prints, in one line.
fn printed(command: &mut Command) -> String {
    text(&run(command, 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the program waited for the injected process in a sample, ns.
fn waited(sample: &Value) -> f64 {
    let ledgers = ["outside", "main", "others"].map(|l| &sample["account"]["value"][l]["preemptors"]);
    let all = ledgers.into_iter().filter_map(Value::as_array).flatten().filter(|p| p["name"] == "zz");
    all.filter_map(|p| p["share"]["time"].as_f64()).sum()
}

#[test]
#[ignore = "slow: half a minute of learning, two or three times (make slow)"]
fn a_short_lived_process_is_found_by_what_the_program_waited() {
    if !is_root() {
        return skip("needs root, to trace the kernel");
    }
    let _alone = alone();
    let dir = folder();
    run(tare(&dir).args(["inc", "--calibrate"]), 0);
    let every = format!("{:.0}", 1000.0 * EVERY);
    let injected = Injected::start(&["born", "zz", "1", &every, &format!("{TAKES:.0}")]);
    let mut limit = 0.0;
    // A neighbour on the host may drown it for a minute, not most of the time: two of three attempts decide.
    let (mut hits, mut misses) = (0, 0);
    while hits < 2 {
        run(&mut profile(&dir, &["--name", "acc", "--short", "0.03sx400", "--cpus", "1"]), 0);
        let found = shown(&dir, "acc");
        if found["learned"]["short"].get("account").is_none() {
            return skip("needs the kernel's tracing");
        }
        match waiting_cutoff(&found) {
            Ok(cutoff) => {
                limit = cutoff;
                hits += 1;
            }
            Err(e) => {
                misses += 1;
                eprintln!("{misses} of {} attempts: {e}", hits + misses);
                assert!(misses < 2, "{e}: {:#}", found["learned"]["short"]["account"]);
            }
        }
    }
    let said = printed(&mut profile(&dir, &["show", "acc", "--full"]));
    assert!(said.contains("What the cutoffs guard") && said.contains("By the account of"), "{said}");
    // A run discards the elapsed times that it spoiled, and says what it did.
    let program = format!("{} inc 0.03 --quiet", common::TARE);
    let measured = json(tare(&dir).args(["run", "-r", "200", "--cpus", "1", "--json"]).arg(&program), 0);
    drop(injected);
    let counted = measured["samples"].as_array().unwrap().iter().filter(|s| s["phase"] == "counted");
    let truth: Vec<&Value> = counted.filter(|s| waited(s) > limit).map(|s| &s["index"]).collect();
    assert!(!truth.is_empty(), "it came several times");
    let discards = measured["report"]["series"][0]["discards"].as_array().unwrap();
    let by_effect = |measure: &str| -> Vec<&Value> {
        let of = discards.iter().filter(|d| d["measure"] == measure && d["reason"]["kind"] == "effect");
        of.map(|d| &d["index"]).collect()
    };
    let elapsed = by_effect("et");
    assert!(truth.iter().all(|i| elapsed.contains(i)), "{truth:?} {discards:#?}");
    assert!(by_effect("pt").len() <= elapsed.len());
    let said = printed(tare(&dir).args(["show", "--full"]));
    assert!(said.contains("waited for zz"), "{said}");
    // By the papers' rule each of these samples is lost for every time.
    let words = ["run", "-r", "3", "--cpus", "1", "--discard", "papers", "--sigma", "none", "--json"];
    let measured = json(tare(&dir).args(words).arg(&program), 0);
    assert_eq!(measured["report"]["run"]["plan"]["discard"], "papers");
    assert_eq!(measured["report"]["run"]["plan"]["sigma"], 0.0);
    let said = printed(tare(&dir).args(["show", "--full"]));
    assert!(said.contains("check 2") && said.contains("`none` was given"), "{said}");
    // A profile by the papers' rule, from the same samples.
    run(&mut profile(&dir, &["learn", "acc", "--rule", "papers"]), 0);
    let papers = shown(&dir, "acc");
    assert_eq!(papers["profile"]["rule"], "papers");
    assert!(papers["learned"]["short"].get("account").is_none());
}
