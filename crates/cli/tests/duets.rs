//! Duets of real programs: what their ratio says, and what becomes of programs that fail, hang, stop or leave something behind.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Whether a second execution alone is not wanted either.
const ONCE: &[&str] = &["-w0", "-r1"];

/// `tare run --order duet`, with its programs one string each.
fn duets(dir: &TempDir, before: &[&str], options: &[&str], programs: &[String]) -> Command {
    let mut c = via(dir, before);
    c.args(["run", "--json", "--order", "duet"]).args(options).args(programs);
    c
}

fn burns(args: &str) -> String {
    format!("{} {args}", burner())
}

/// Each of the duets that are stored.
fn stored(dir: &TempDir, before: &[&str]) -> Vec<Value> {
    let mut c = via(dir, before);
    let archive = json(c.args(["export", "last"]), 0);
    archive["duets"].as_array().cloned().unwrap_or_default()
}

fn outcome(side: &Value) -> &str {
    side["outcome"]["kind"].as_str().expect("an outcome")
}

fn source(side: &Value) -> &str {
    side["process_times"]["value"]["source"].as_str().expect("a source")
}

/// Process time, ns.
fn time(side: &Value) -> f64 {
    let source = source(side);
    side["process_times"]["value"][source]["value"]["total"].as_f64().expect("a time")
}

fn ratio(document: &Value) -> f64 {
    document["report"]["comparisons"][0]["ratio"].as_f64().expect("a ratio")
}

/// Programs of which one does so many times the work of the other.
fn the_ratio_is(share: f64) {
    // What other tests do on the neighbouring CPU is in the ratio.
    let _lock = alone();
    // Long, as a start is in both times: 1 to 3 ms here, more in company than alone.
    let rounds = rounds(240);
    let loops = |share: f64| burns(&format!("loop {}", (rounds as f64 * share) as u64));
    comes_near(&format!("ratio of {share}"), 0.01, || {
        let dir = folder();
        let alone = |program: String| {
            let run = json(tare(&dir).args(["run", "--json", "-w0", "-r1", &program]), 0);
            process_time(only_sample(&run))
        };
        let (start, whole) = (alone(burns("loop 1")), alone(loops(1.0)));
        let truth = (start + share * (whole - start)) / whole;
        let d = json(&mut duets(&dir, &[], &["-r8"], &[loops(1.0), loops(share)]), 0);
        let c = &d["report"]["comparisons"][0];
        assert_eq!((c["basis"].as_str(), c["pairs"].as_u64()), (Some("duets"), Some(8)));
        // Both end together, so that they run together nearly all the time.
        let overlap = c["duets"]["Ok"]["overlap"].as_f64().expect("an overlap");
        assert!(overlap > 0.75, "{overlap}");
        // What the machine does differs from duet to duet: where the interval says that 1% is not known, it decides.
        let interval = &c["interval"]["Ok"];
        let bound = |name: &str| interval[name].as_f64().expect("a bound");
        let (low, high) = (bound("low"), bound("high"));
        assert!(high - low < 0.1 * truth, "{c}");
        let found = if high - low > 0.02 * truth { truth.clamp(low, high) } else { ratio(&d) };
        // In billionths, as times are compared no finer than 1 ms.
        (found * 1e9, truth * 1e9)
    });
}

#[test]
fn the_ratio_is_that_of_the_work() {
    the_ratio_is(1.02);
}

#[test]
#[ignore = "slow: up to five comparisons of eight long duets (make slow)"]
fn a_large_ratio_is_that_of_the_work() {
    the_ratio_is(2.0);
}

/// The scheduler's account of two trees at once against what the programs themselves know.
#[test]
fn each_tree_has_its_own_process_time() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    for tree in ["child-unwaited 150", "daemon 150", "threads 4 40", "setsid 150"] {
        comes_near(tree, 0.01, || {
            let dir = folder();
            let d = json(&mut duets(&dir, &[], ONCE, &[burns("burn-self 150"), burns(tree)]), 0);
            let alone: f64 = d["samples"].as_array().expect("samples").iter().map(process_time).sum();
            let duets = stored(&dir, &[]);
            let sides = duets[0]["sides"].as_array().expect("sides");
            assert!(sides.iter().all(|s| source(s) == "cgroup"), "{sides:?}");
            (alone + sides.iter().map(time).sum::<f64>(), truth(&dir).0)
        });
    }
}

#[test]
fn without_privilege_nice_values_and_wait4_are_used() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    comes_near("ratio without privilege", 0.02, || {
        let dir = folder();
        let programs = [burns("burn-self 60"), burns("burn-self 120")];
        let d = json(&mut duets(&dir, NOBODY, &["-r6"], &programs), 0);
        let duets = stored(&dir, NOBODY);
        assert_eq!(duets.len(), 6);
        for side in duets.iter().flat_map(|d| d["sides"].as_array().unwrap()) {
            assert_eq!((source(side), outcome(side)), ("wait4", "exited"));
            let absent = &side["together"]["absent"]["reason"];
            assert!(absent.is_null() || *absent == "no_permission", "{absent}");
        }
        // By the warm-ups: the reference, which is shorter, is lowered, by the levels of 1.25 that are nearest.
        let warmup = |series: u64| {
            let all = d["samples"].as_array().unwrap();
            process_time(all.iter().find(|s| s["phase"] == "warmup" && s["series"] == series).expect("a warm-up"))
        };
        let levels = (warmup(1) / warmup(0)).log(1.25).round() as i64;
        assert!((1..=5).contains(&levels), "{levels}");
        assert_eq!((&duets[0]["sides"][0]["series"], &duets[0]["sides"][0]["weight"]["value"]), (&1.into(), &0.into()));
        assert_eq!(duets[0]["sides"][1]["weight"]["value"], levels);
        (ratio(&d) * 1e9, 2e9)
    });
}

/// From the fourth block on there are no executions alone, so that this program misbehaves in a duet only.
fn misbehaves(how: &str) -> String {
    format!("sh -c 'case $TARE_ITERATION in 3) {how};; esac; exec {} burn-self 60'", burner())
}

fn fourth(dir: &TempDir) -> Value {
    stored(dir, &[]).into_iter().find(|d| d["index"] == 3).expect("a fourth duet")
}

#[test]
fn programs_that_fail_hang_stop_or_die_end_and_the_other_is_measured() {
    let _lock = shared();
    let cases = [
        ("exit 7", "exited"),
        ("exec sleep 97531", "timed_out"),
        ("kill -STOP $$", "stopped"),
        ("kill -9 $$", "signaled"),
    ];
    for (how, expected) in cases {
        let dir = folder();
        let programs = [burns("burn-self 60"), misbehaves(how)];
        let mut c = duets(&dir, &[], &["-w1", "-r6", "--timeout", "1s"], &programs);
        run(&mut c, 1);
        let duet = fourth(&dir);
        let [reference, program] = [1, 0].map(|i| &duet["sides"][i]);
        assert_eq!((outcome(program), outcome(reference)), (expected, "exited"), "{how}");
        assert_eq!(reference["outcome"]["code"], 0, "{how}");
        assert!(time(reference) > 55e6, "{how}");
        assert_eq!(stored(&dir, &[]).len(), 4, "its series has ended: {how}");
    }
    assert_eq!(processes_with("97531"), Vec::<u32>::new());
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_named() {
    let _lock = shared();
    let dir = folder();
    let leaves = format!("sh -c 'sleep 97532 & exec {} burn-self 50'", burner());
    run(&mut duets(&dir, &[], ONCE, &[burns("burn-self 50"), leaves]), 0);
    let survivors: Vec<Value> =
        stored(&dir, &[])[0]["sides"].as_array().unwrap().iter().map(|s| s["survivors"].clone()).collect();
    assert_eq!(survivors.iter().filter_map(|s| s[0]["name"].as_str()).collect::<Vec<_>>(), ["sleep"]);
    assert_eq!(processes_with("97532"), Vec::<u32>::new());
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let _lock = shared();
    let dir = folder();
    let gone = dir.path().join("gone");
    std::fs::copy(burner(), &gone).unwrap();
    let removes =
        format!("sh -c 'case $TARE_ITERATION in 2) rm -f {};; esac; exec {} burn-self 45'", gone.display(), burner());
    let programs = [removes, format!("{} burn-self 45", gone.display())];
    run(&mut duets(&dir, &[], &["-w0", "-r5", "--seed", "3"], &programs), 1);
}

#[test]
fn sigkill_of_tare_ends_both_programs_and_the_run_is_resumed() {
    let _lock = shared();
    let dir = folder();
    let programs = [burns("burn-self 70"), format!("sh -c '{} burn-self 70; true'", burner())];
    let mut c = duets(&dir, &[], &["-w1", "-r8"], &programs);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    until("there are duets", || {
        let mut c = tare(&dir);
        let out = c.args(["export", "last"]).output().expect("export");
        serde_json::from_slice::<Value>(&out.stdout).is_ok_and(|a| a["duets"].as_array().is_some_and(|d| d.len() >= 4))
    });
    child.kill().expect("kill");
    child.wait().expect("reap");
    let d = json(tare(&dir).args(["resume", "last", "--json"]), 0);
    assert_eq!(d["report"]["comparisons"][0]["pairs"], 8);
    let duets = stored(&dir, &[]);
    let mut blocks: Vec<u64> = duets.iter().map(|d| d["index"].as_u64().unwrap()).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, (0..8).collect::<Vec<_>>());
    assert_eq!(leaves_of(child.id()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_interrupt_ends_both() {
    let _lock = shared();
    let dir = folder();
    let sleeps =
        |n: u32| format!("sh -c 'case $TARE_ITERATION in 3) exec sleep {n};; esac; exec {} burn-self 45'", burner());
    let programs = [sleeps(97533), sleeps(97534)];
    let mut c = duets(&dir, &[], &["-w0", "-r5"], &programs);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    // Arguments of one process: the words stand in the command lines of tare and of the shells, too.
    let both = || processes_with("sleep\x0097533").len() + processes_with("sleep\x0097534").len();
    until("both sleep", || both() == 2);
    signal(child.id(), libc::SIGINT);
    let status = child.wait().expect("reap");
    assert_eq!(status.code(), Some(130));
    assert_eq!(both(), 0);
    assert_eq!(stored(&dir, &[]).len(), 3);
}

/// Where a duet makes no sense, the rounds answer, and the report says why.
#[test]
fn unsuitable_programs_are_compared_by_rounds() {
    let _lock = shared();
    let sleeps = format!("sh -c 'sleep 0.3; exec {} burn-self 45'", burner());
    for (program, why) in [(burns("burn-self 5"), "duet needs 40 ms"), (sleeps, "of its elapsed time")] {
        let dir = folder();
        let programs = [program.clone(), program];
        let mut c = via(&dir, &[]);
        let out = run(c.args(["run", "--full", "--order", "auto", "-r6"]).args(&programs), 0);
        let said = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("no duets, the ratio is that of rounds") && said.contains(why), "{said}");
        assert_eq!(stored(&dir, &[]).len(), 0, "{said}");
    }
}

#[test]
fn real_time_programs_have_no_duets() {
    let dir = folder();
    let out = run(&mut duets(&dir, &[], &["--sched", "fifo:5"], &["true".to_owned(), "true".to_owned()]), 2);
    assert!(text(&out.stderr).contains("do not alternate"), "{}", text(&out.stderr));
}

#[test]
fn duets_are_exported_and_imported() {
    let _lock = shared();
    let (dir, other) = (folder(), folder());
    let programs = [burns("burn-self 45"), burns("burn-self 50")];
    run(&mut duets(&dir, &[], &["-w0", "-r6"], &programs), 0);
    let file = dir.path().join("run.json");
    run(tare(&dir).args(["export", "last", "-o"]).arg(&file), 0);
    run(tare(&other).arg("import").arg(&file), 0);
    assert_eq!(stored(&dir, &[]), stored(&other, &[]));
    let shown = |dir: &TempDir| json(tare(dir).args(["show", "last", "--json"]), 0)["report"]["comparisons"].clone();
    assert_eq!(shown(&dir), shown(&other));
}

/// Nobody has to ask for them, and they are in no one's way: not where they say nothing, and not where programs may share files.
#[test]
fn duets_are_made_by_default_where_they_make_sense() {
    let _lock = shared();
    let made = |options: &[&str], program: &str| {
        let dir = folder();
        let mut c = tare(&dir);
        c.args(["run", "--json"]).args(options).args([burns(program), burns(program)]);
        let order = json(&mut c, 0)["report"]["run"]["plan"]["order"].as_str().expect("an order").to_owned();
        (order, stored(&dir, &[]).len())
    };
    assert_eq!(made(&["-w1", "-r6"], "burn-self 60"), ("auto".to_owned(), 6));
    assert_eq!(made(&["-w1", "-r2"], "burn-self 3"), ("auto".to_owned(), 0));
    assert_eq!(made(&["-w1", "-r2", "-p", "true"], "burn-self 60"), ("rounds".to_owned(), 0));
    assert_eq!(made(&["-w1", "-r2", "--order", "random"], "burn-self 60"), ("random".to_owned(), 0));
}

/// Both work alone, and need the same lock.
#[test]
fn programs_that_cannot_run_together_are_compared_by_rounds() {
    let _lock = shared();
    if Command::new("flock").arg("--version").output().is_err() {
        return skip("needs flock");
    }
    let dir = folder();
    let lock = dir.path().join("lock");
    let locked = format!("flock -n -F -E 9 {} {} burn-self 60", lock.display(), burner());
    let out = run(tare(&dir).args(["run", "-w1", "-r6", &locked, &locked]), 0);
    let said = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("! no duets: ") && said.contains("failed when both ran together"), "{said}");
    assert_eq!(stored(&dir, &[]).len(), 1, "it is not tried again");
    let c = json(tare(&dir).args(["show", "last", "--json"]), 0)["report"]["comparisons"][0].clone();
    assert_eq!((&c["basis"], &c["duets"]["Err"]["kind"]), (&"alone".into(), &"fails".into()));
}

#[test]
fn duets_are_rows_and_elements_of_exports() {
    let _lock = shared();
    let dir = folder();
    let programs = [burns("burn-self 45"), burns("burn-self 45")];
    let d = json(&mut duets(&dir, &[], &["-w0", "-r6"], &programs), 0);
    let seqs = |all: &[Value]| all.iter().map(|d| d["seq"].as_u64().expect("a position")).collect::<Vec<_>>();
    assert_eq!(seqs(d["duets"].as_array().expect("duets")), seqs(&stored(&dir, &[])));
    let rows = text(&run(tare(&dir).args(["show", "last", "--export-duets", "-"]), 0).stdout);
    assert_eq!(rows.lines().count(), 1 + 6, "{rows}");
    let at = rows.lines().next().expect("a head").split(',').position(|name| name == "ratio").expect("a column");
    let ratios = rows.lines().skip(1).filter(|row| row.split(',').nth(at).is_some_and(|r| r.parse::<f64>().is_ok()));
    assert_eq!(ratios.count(), 6, "{rows}");
    // Executions alone stay by themselves.
    let samples = text(&run(tare(&dir).args(["show", "last", "--export-samples", "-"]), 0).stdout);
    assert_eq!(samples.lines().count(), 1 + 6, "three blocks of both: {samples}");
    let programs = text(&run(tare(&dir).args(["show", "last", "--export-csv", "-"]), 0).stdout);
    assert!(programs.lines().nth(2).is_some_and(|row| row.contains(",duets,")), "{programs}");
    let page = text(&run(tare(&dir).args(["report", "last", "-o", "-"]), 0).stdout);
    assert!(page.contains("\"id\":\"duets-2\""));
}
