//! Duets of programs that use several CPUs: what their ratio says, what stops and continues them, and that nothing stays stopped.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Whether a program can use two CPUs here.
fn has_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !two {
        skip("needs two CPUs");
    }
    two
}

/// As the user of the tests.
const ROOT: &[&str] = &[];

fn burns(args: &str) -> String {
    format!("{} {args}", burner())
}

/// `tare run --order duet`, with its programs one string each.
fn duets(dir: &TempDir, before: &[&str], options: &[&str], programs: &[String]) -> Command {
    let mut c = via(dir, before);
    c.args(["run", "--json", "--order", "duet"]).args(options).args(programs);
    c
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

/// Process time, ns.
fn time(side: &Value) -> f64 {
    let source = side["process_times"]["value"]["source"].as_str().expect("a source");
    side["process_times"]["value"][source]["value"]["total"].as_f64().expect("a time")
}

/// Ratio of the only comparison in billionths, as [`comes_near`] compares times no finer than 1 ms.
fn ratio(document: &Value) -> f64 {
    document["report"]["comparisons"][0]["ratio"].as_f64().expect("a ratio") * 1e9
}

/// Every duet was made of gangs, by this, and both had about the same share of the time.
#[track_caller]
fn took_turns(duets: &[Value], by: &str) {
    for duet in duets {
        let slices = &duet["slices"];
        assert_eq!((slices["by"].as_str(), &duet["void"]), (Some(by), &Value::Null), "{duet:#}");
        assert!(slices["cpus"].as_array().unwrap().len() >= 2);
        // 100 ms and more of each, in slices of 5 to 10 ms.
        let ran = [0, 1].map(|i| slices["ran"][i].as_f64().unwrap());
        assert!(ran.iter().all(|ns| *ns > 20e6), "{ran:?}");
        let switches = slices["switches"].as_f64().unwrap();
        assert!(switches >= 2.0 && switches <= ran.iter().sum::<f64>() / 5e6 + 1.0, "{slices:#}");
        for what in ["stopping", "continuing"] {
            let [median, largest] = ["median", "largest"].map(|key| slices[what][key].as_i64().unwrap());
            assert!(0 < median && median <= largest, "{what}: {slices:#}");
        }
        let switched = duet["own"]["cpu"].as_i64().unwrap();
        assert!(switched > 0, "tare has woken for each switch");
    }
    // In single duets the hypervisor may wake tare late.
    let mut switches: Vec<f64> = duets.iter().map(|d| d["slices"]["switches"].as_f64().unwrap()).collect();
    switches.sort_by(f64::total_cmp);
    assert!(switches[switches.len() / 2] >= 8.0, "{switches:?}");
}

/// The bound is 1%: single gang duets spread by up to 1.3% (12 pairs of each of four kinds of work), so that the standard error of
/// eight is below 0.5%; and three of five tries decide.
#[test]
#[ignore = "slow: three to five comparisons of each of three kinds (make slow)"]
fn the_ratio_is_that_of_the_work() {
    ratios_are_near(0.01, &[("loop-threads", 1.02), ("loop-forks", 1.02), ("loop-forks", 2.0)]);
}

#[test]
fn the_ratio_of_threads_is_about_that_of_the_work() {
    ratios_are_near(0.05, &[("loop-threads", 1.2)]);
}

fn ratios_are_near(within: f64, kinds: &[(&str, f64)]) {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let rounds = rounds(100);
    for &(kind, share) in kinds {
        let loops = |share: f64| burns(&format!("{kind} 2 {}", (rounds as f64 * share) as u64));
        comes_near(&format!("{kind}: ratio of {share}"), within, || {
            let dir = folder();
            let d = json(&mut duets(&dir, &[], &["-r8"], &[loops(1.0), loops(share)]), 0);
            took_turns(&stored(&dir, &[]), "freezer");
            let c = &d["report"]["comparisons"][0];
            assert_eq!((c["basis"].as_str(), c["pairs"].as_u64()), (Some("duets"), Some(8)));
            let found = &c["duets"]["Ok"];
            assert_eq!((found["gangs"]["by"].as_str(), found["gangs"]["duets"].as_u64()), (Some("freezer"), Some(8)));
            // The longer one has more turns, so that both end together.
            let overlap = found["overlap"].as_f64().expect("an overlap");
            assert!(overlap > 0.75, "{overlap}");
            (ratio(&d), share * 1e9)
        });
    }
}

/// What the programs themselves know of their CPU time, in two trees of which one is always stopped.
#[test]
fn each_tree_has_its_own_process_time() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    for tree in ["threads 2 100", "threads 4 50", "child-unwaited 200"] {
        comes_near(tree, 0.01, || {
            let dir = folder();
            let programs = [burns("threads 2 100"), burns(tree)];
            let d = json(&mut duets(&dir, &[], &["-w0", "-r1"], &programs), 0);
            let alone: f64 = d["samples"].as_array().expect("samples").iter().map(process_time).sum();
            let duets = stored(&dir, &[]);
            let sides = duets[0]["sides"].as_array().expect("sides");
            (alone + sides.iter().map(time).sum::<f64>(), truth(&dir).0)
        });
    }
}

/// Without the right to cgroups. Programs of one process only, whose CPU time wait4 has; its clock is as fine. As above, the bound of a
/// calm machine is of the slow test: on a noisy one, ratios of 1.5 came out as 1.41 to 1.50.
#[test]
fn a_plain_user_stops_by_signals() {
    ratio_by_signals(0.05);
}

#[test]
#[ignore = "slow: up to five comparisons, on a calm machine (make slow)"]
fn the_ratio_by_signals_is_that_of_the_work() {
    ratio_by_signals(0.02);
}

fn ratio_by_signals(within: f64) {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    let rounds = rounds(100);
    comes_near("ratio by signals", within, || {
        let dir = folder();
        let programs = [1.0, 1.5].map(|share| burns(&format!("loop-threads 2 {}", (rounds as f64 * share) as u64)));
        let d = json(&mut duets(&dir, NOBODY, &["-r6"], &programs), 0);
        took_turns(&stored(&dir, NOBODY), "signals");
        (ratio(&d), 1.5e9)
    });
}

/// Signals reach the process group only: of a program that leaves it nothing is claimed. The freezer stops it whole.
#[test]
fn a_tree_that_leaves_its_group_is_no_gang_by_signals() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    let rounds = rounds(150);
    let stays = burns(&format!("loop-threads 2 {rounds}"));
    let leaves = format!("setsid -w {} loop-threads 2 {rounds}", burner());
    let dir = folder();
    let d = json(&mut duets(&dir, NOBODY, &["-r6"], &[stays.clone(), leaves.clone()]), 0);
    let c = &d["report"]["comparisons"][0];
    assert_eq!((c["basis"].as_str(), c["duets"]["Err"]["kind"].as_str()), (Some("alone"), Some("left_group")), "{c:#}");
    assert_eq!(c["duets"]["Err"]["series"], 1);
    let void = stored(&dir, NOBODY);
    assert_eq!(void.len(), 1, "there are no more of them");
    assert!(void[0]["sides"].as_array().unwrap().iter().all(|s| outcome(s) == "exited"), "both ran on to their ends");
    let dir = folder();
    let d = json(&mut duets(&dir, &[], &["-r2"], &[stays, leaves]), 0);
    assert_eq!(d["report"]["comparisons"][0]["basis"], "duets");
    took_turns(&stored(&dir, &[]), "freezer");
}

/// Programs that read tare's standard input are in its process group, which must not be stopped.
#[test]
fn programs_in_tares_own_group_are_not_stopped_by_signals() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    let program = burns(&format!("loop-threads 2 {}", rounds(100)));
    let programs = [program.clone(), program];
    let dir = folder();
    let d = json(&mut duets(&dir, NOBODY, &["-r2", "--input", "inherit"], &programs), 0);
    assert_eq!(d["report"]["comparisons"][0]["duets"]["Err"]["kind"], "several_cpus");
    let dir = folder();
    json(&mut duets(&dir, &[], &["-r2", "--input", "inherit"], &programs), 0);
    took_turns(&stored(&dir, &[]), "freezer");
}

/// From the fourth block on there are no executions alone, so that this program misbehaves in a duet only.
fn misbehaves(how: &str, rounds: u64) -> String {
    format!("sh -c 'case $TARE_ITERATION in 3) {how};; esac; exec {} loop-threads 2 {rounds}'", burner())
}

fn fourth(dir: &TempDir, before: &[&str]) -> Value {
    stored(dir, before).into_iter().find(|d| d["index"] == 3).expect("a fourth duet")
}

#[test]
fn programs_that_hang_stop_or_wait_end_and_the_other_is_measured() {
    let waits = format!("exec {} stop-continue 1", burner());
    the_other_is_measured_beside(&[
        ("exec sleep 97541", "timed_out", 1),
        ("kill -STOP $$", "stopped", 1),
        // Stopped, and continued by a process of its own tree.
        (waits.as_str(), "exited", 0),
    ]);
}

#[test]
#[ignore = "slow: three measurements of gangs (make slow)"]
fn programs_that_end_early_or_die_end_and_the_other_is_measured() {
    the_other_is_measured_beside(&[("exit 0", "exited", 0), ("exit 7", "exited", 1), ("kill -9 $$", "signaled", 1)]);
}

/// Programs that misbehave so in the fourth duet; how the program ended then, and the exit code.
fn the_other_is_measured_beside(cases: &[(&str, &str, i32)]) {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let rounds = rounds(100);
    for (how, expected, code) in cases.iter().copied() {
        let dir = folder();
        let programs = [burns(&format!("loop-threads 2 {rounds}")), misbehaves(how, rounds)];
        // Longer than tare waits for a program that stands still.
        let timeout = if expected == "stopped" { "10s" } else { "1s" };
        run(&mut duets(&dir, &[], &["-w1", "-r6", "--timeout", timeout], &programs), code);
        let duet = fourth(&dir, &[]);
        assert_eq!(duet["slices"]["by"], "freezer", "{how}");
        let [reference, program] = [1, 0].map(|i| &duet["sides"][i]);
        assert_eq!((outcome(program), outcome(reference)), (expected, "exited"), "{how}");
        assert_eq!(reference["outcome"]["code"], 0, "{how}");
        // Its rest ran alone: it has done all its work, as in the duet before.
        let before = stored(&dir, &[]).into_iter().find(|d| d["index"] == 2).expect("a third duet");
        assert!(time(reference) > 0.5 * time(&before["sides"][1]), "{how}");
        assert_eq!(stored(&dir, &[]).len(), if code == 0 { 6 } else { 4 }, "a failure ends its series: {how}");
    }
    assert_eq!(processes_with("97541"), Vec::<u32>::new());
}

/// Continuing it at its next turn would undo its own stop.
#[test]
fn a_program_that_stops_itself_is_no_gang_by_signals() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    let rounds = rounds(100);
    let dir = folder();
    let programs = [burns(&format!("loop-threads 2 {rounds}")), misbehaves("kill -STOP $$", rounds)];
    run(&mut duets(&dir, NOBODY, &["-w1", "-r6", "--timeout", "10s"], &programs), 1);
    let duet = fourth(&dir, NOBODY);
    assert_eq!((duet["void"]["kind"].as_str(), duet["void"]["series"].as_u64()), (Some("stopped_itself"), Some(1)));
    assert_eq!([0, 1].map(|i| outcome(&duet["sides"][i])), ["stopped", "exited"]);
}

/// Two programs that, in a duet, compute for a minute, each beside a process of its own that sleeps; once both are there.
fn long_duet(dir: &TempDir, before: &[&str], marks: [u32; 2]) -> Child {
    let rounds = rounds(100);
    let program = |mark: u32| misbehaves(&format!("sleep {mark} & exec {} threads 2 60000", burner()), rounds);
    let mut c = duets(dir, before, &["-w1", "-r5"], &marks.map(program));
    let child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    until("both are there", || marks.iter().all(|mark| !sleeping(*mark).is_empty()));
    // Some turns later.
    std::thread::sleep(std::time::Duration::from_millis(50));
    child
}

/// Arguments of one process: the word stands in the command lines of tare and of the shells, too.
fn sleeping(mark: u32) -> Vec<u32> {
    processes_with(&format!("sleep\0{mark}"))
}

/// Those that compute.
fn computing() -> Vec<u32> {
    processes_with("threads\x002\x0060000")
}

fn frozen(leaves: &[PathBuf]) -> bool {
    let events = |leaf: &PathBuf| std::fs::read_to_string(leaf.join("cgroup.events")).unwrap_or_default();
    leaves.iter().any(|leaf| events(leaf).contains("frozen 1"))
}

/// Where leaves can be made, and where they cannot.
#[test]
fn sigkill_of_tare_leaves_nothing_stopped() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup and to become nobody");
    }
    for (before, marks) in [(ROOT, [97_542, 97_543]), (NOBODY, [97_544, 97_545])] {
        let dir = folder();
        let mut child = long_duet(&dir, before, marks);
        let leaves = leaves_of(child.id());
        assert_eq!(!leaves.is_empty(), before.is_empty(), "{leaves:?}");
        child.kill().expect("kill");
        child.wait().expect("reap");
        until("both trees have ended", || {
            computing().is_empty() && marks.iter().all(|mark| sleeping(*mark).is_empty()) && !frozen(&leaves)
        });
        run(via(&dir, before).args(["run", "-w0", "-r1", "--", "true"]), 0);
        assert!(!leaves.iter().any(|l| l.exists()), "a cgroup is still there: {leaves:?}");
    }
}

#[test]
fn an_interrupt_ends_both_also_the_one_that_is_stopped() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup and to become nobody");
    }
    for (before, marks) in [(ROOT, [97_546, 97_547]), (NOBODY, [97_548, 97_549])] {
        let dir = folder();
        let mut child = long_duet(&dir, before, marks);
        signal(child.id(), libc::SIGINT);
        assert_eq!(child.wait().expect("reap").code(), Some(130));
        assert_eq!((computing(), marks.map(sleeping)), (vec![], [vec![], vec![]]));
        assert_eq!(leaves_of(child.id()), Vec::<PathBuf>::new());
        assert_eq!(stored(&dir, before).len(), 3);
    }
}

/// Ctrl-Z and SIGSTOP stop tare, not what it measures: the one whose turn it is goes on, and turns go on afterwards.
#[test]
fn a_tare_that_is_stopped_for_a_moment_goes_on() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let dir = folder();
    let mut child = long_duet(&dir, &[], [97_550, 97_551]);
    signal(child.id(), libc::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(computing().len(), 2, "nothing ends because tare is stopped");
    signal(child.id(), libc::SIGCONT);
    signal(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().expect("reap").code(), Some(130));
    assert_eq!(computing(), Vec::<u32>::new());
}

/// Unasked, such programs are compared by duets, and the full output says how.
#[test]
fn several_cpus_are_compared_by_gangs_unasked() {
    let _lock = alone();
    if !has_cpus() {
        return;
    }
    // A duet of them needs 75 ms, and the clock may be faster by a third than while it was calibrated.
    let rounds = rounds(150);
    let dir = folder();
    let program = burns(&format!("loop-threads 2 {rounds}"));
    let out = run(tare(&dir).args(["run", "--full", "--order", "auto", "-r6"]).args([&program, &program]), 0);
    let said = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("both were stopped and continued alternately"), "{said}");
    assert_eq!(stored(&dir, &[]).len(), 6);
    // Of one CPU only nothing uses several.
    let dir = folder();
    run(tare(&dir).args(["run", "--cpus", "0", "--order", "auto", "-r2"]).args([&program, &program]), 0);
    assert!(stored(&dir, &[]).iter().all(|d| d["slices"].is_null()));
}
