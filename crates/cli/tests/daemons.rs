//! Daemons of a sample, against processes whose CPU time is read from their own clocks.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::process::{Command, Stdio};

const OPTIONS: &[&str] = &["run", "--json", "-w0", "-r1"];

/// The only daemon of that name.
#[track_caller]
fn one<'a>(sample: &'a Value, name: &str) -> &'a Value {
    let found = daemons(sample, name);
    assert_eq!(found.len(), 1, "{name}: {found:#?}");
    found[0]
}

fn flags(daemon: &Value) -> (bool, bool) {
    (daemon["born"].as_bool().expect("born"), daemon["died"].as_bool().expect("died"))
}

fn cpu(daemon: &Value) -> f64 {
    daemon["cpu"].as_f64().expect("cpu")
}

#[test]
fn helpers_before_across_and_inside_appear_once_with_their_time() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    let dir = folder();
    let count = rounds(33);
    let (mut before, mut across, mut dies) =
        (Helper::start(b"t-before"), Helper::start(b"t-across"), Helper::start(b"t-dies"));
    before.burn(40);
    across.burn(20);
    dies.burn(20);
    let (before_cpu, across_cpu, dies_cpu) = (before.cpu(), across.cpu(), dies.cpu());
    let inside = Inside::start(&dir, OPTIONS);
    across.burn(55);
    dies.burn(45);
    let dies_used = dies.end() - dies_cpu;
    let mut born = Helper::start(b"t-born");
    born.burn(30);
    let mut both = Helper::start(b"t-inside");
    both.burn(25);
    let both_used = both.end();
    // These make no clock reading, as real programs do not; one after the other, so that the phase of the tick varies.
    let blind: Vec<f64> = (0..6)
        .map(|i| {
            let mut helper = Helper::start(format!("t-blind{i}").as_bytes());
            helper.burn_blindly(count);
            helper.end()
        })
        .collect();
    let (across_used, born_used) = (across.cpu() - across_cpu, born.cpu());
    let document = inside.finish();
    let sample = only_sample(&document);
    assert!(sample["daemons"]["value"]["incomplete"].is_null(), "{:#}", sample["daemons"]["value"]["incomplete"]);
    assert_eq!(before.cpu(), before_cpu);
    assert_eq!(daemons(sample, "t-before").len(), 0, "it did nothing inside");
    let wanted = [
        ("t-across", across_used, (false, false)),
        ("t-dies", dies_used, (false, true)),
        ("t-born", born_used, (true, false)),
        ("t-inside", both_used, (true, true)),
    ];
    for (name, used, how) in wanted {
        assert_near(name, cpu(one(sample, name)), used, 0.02);
        assert_eq!(flags(one(sample, name)), how, "{name}");
    }
    for (i, used) in blind.iter().enumerate() {
        let name = format!("t-blind{i}");
        assert_near(&name, cpu(one(sample, &name)), *used, 0.02);
        assert_eq!(flags(one(sample, &name)), (true, true), "{name}");
    }
}

#[test]
fn a_daemon_with_threads_is_counted_whole() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    let dir = folder();
    comes_near("eight threads", 0.02, || {
        let inside = Inside::start(&dir, OPTIONS);
        let mut c = Command::new(burner());
        c.args(["threads", "8", "20"]).env("BURNER_TRUTH", dir.path().join("truth"));
        let mut child = c.spawn().expect("start");
        let pid = u64::from(child.id());
        child.wait().expect("wait");
        let document = inside.finish();
        let found: Vec<_> = daemons(only_sample(&document), "burner").into_iter().filter(|d| d["pid"] == pid).collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        (cpu(found[0]), truth(&dir).0)
    });
}

#[test]
fn any_name_is_kept_and_shown_safely() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    let dir = folder();
    let names: &[(&[u8], &str)] = &[
        (b"t a b", "t a b"),
        (b"t) S 1 (x", "t) S 1 (x"),
        (b"t\nnew\tline", r"t\nnew\tline"),
        (b"t\xff\xfe", r"t\xff\xfe"),
        (b"t\x1b[31mred", r"t\x1b[31mred"),
        ("t-日本語".as_bytes(), "t-日本語"),
        (b"t\\back", r"t\\back"),
        (b"", ""),
    ];
    let mut living: Vec<Helper> = names.iter().map(|(n, _)| Helper::start(n)).collect();
    let inside = Inside::start(&dir, OPTIONS);
    let mut dead = Vec::new();
    for ((name, _), living) in names.iter().zip(&mut living) {
        living.burn(5);
        let mut helper = Helper::start(name);
        helper.burn(5);
        dead.push((helper.pid(), helper.end()));
    }
    let document = inside.finish();
    let sample = only_sample(&document);
    for (((_, shown), living), (dead, used)) in names.iter().zip(&living).zip(&dead) {
        let pids: Vec<u64> = daemons(sample, shown).iter().map(|d| d["pid"].as_u64().expect("pid")).collect();
        for pid in [living.pid(), *dead] {
            assert_eq!(pids.iter().filter(|p| **p == u64::from(pid)).count(), 1, "{shown}: {pids:?}");
        }
        let found = daemons(sample, shown).into_iter().find(|d| d["pid"] == *dead).expect("there");
        assert_near(shown, cpu(found), *used, 0.02);
    }
    // Nothing of it reaches the terminal raw.
    let out = run(tare(&dir).args(["show", "--full"]), 0);
    assert!(out.stdout.iter().all(|b| *b == b'\n' || !b.is_ascii_control()), "{}", text(&out.stdout).escape_debug());
    assert!(std::str::from_utf8(&out.stdout).is_ok());
}

/// Starts a helper with a given pid, if the kernel lets it.
fn with_pid(pid: u32, name: &[u8]) -> Option<Helper> {
    for _ in 0..50 {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let helper = Helper::start(name);
        if helper.pid() == pid {
            return Some(helper);
        }
        helper.end();
    }
    None
}

#[test]
fn a_reused_pid_is_two_processes() {
    let _lock = alone();
    if !is_root() {
        return skip("needs root, to choose pids");
    }
    let dir = folder();
    let mut first = Helper::start(b"t-first");
    first.burn(10);
    let (pid, first_before) = (first.pid(), first.cpu());
    let inside = Inside::start(&dir, OPTIONS);
    first.burn(20);
    let first_used = first.end() - first_before;
    let Some(mut second) = with_pid(pid, b"t-second") else { return skip("pid could not be reused") };
    second.burn(30);
    let second_used = second.end();
    let Some(mut third) = with_pid(pid, b"t-third") else { return skip("pid could not be reused") };
    third.burn(15);
    let third_used = third.cpu();
    let document = inside.finish();
    let sample = only_sample(&document);
    let wanted = [
        ("t-first", first_used, (false, true)),
        ("t-second", second_used, (true, true)),
        ("t-third", third_used, (true, false)),
    ];
    for (name, used, how) in wanted {
        assert_near(name, cpu(one(sample, name)), used, 0.02);
        assert_eq!(flags(one(sample, name)), how, "{name}");
        assert_eq!(one(sample, name)["pid"], pid);
    }
}

/// A pid of the program's tree that a daemon has later, inside the same sample, does not make it part of the tree.
#[test]
fn a_daemon_with_a_former_pid_of_the_tree_is_a_daemon() {
    let _lock = alone();
    if !is_root() {
        return skip("needs root, to choose pids");
    }
    for source in ["cgroup", "wait4"] {
        let dir = folder();
        let gate = dir.path();
        let script = format!("sh -c 'echo $$ > {0}/pid'; exec {1} gate {0}", gate.display(), burner());
        let mut c = tare(&dir);
        c.args(OPTIONS).args(["--pt-source", source, "--", "sh", "-c", &script]);
        let child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tare");
        until("the sample has begun", || gate.join("in").exists());
        let pid: u32 = std::fs::read_to_string(gate.join("pid")).expect("pid").trim().parse().expect("a pid");
        let reused = with_pid(pid, b"t-reuser").map(|mut h| {
            h.burn(30);
            h.end()
        });
        std::fs::write(gate.join("out"), "").expect("open the gate");
        let out = child.wait_with_output().expect("tare");
        let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let Some(used) = reused else { return skip("pid could not be reused") };
        let sample = only_sample(&document);
        assert_eq!(daemons(sample, "t-reuser").len(), 1, "process times from {source}");
        assert_near(source, cpu(one(sample, "t-reuser")), used, 0.02);
        assert!(process_time(sample) < 25e6, "{source}: it is counted to the program");
    }
}

#[test]
fn two_thousand_idle_processes_are_no_daemons() {
    let _lock = alone();
    let dir = folder();
    let mut c = Command::new(burner());
    let mut crowd = c.args(["idle", "2000"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(crowd.stdout.take().expect("stdout")), &mut line)
        .expect("ready");
    let mut helper = Helper::start(b"t-one");
    let before = helper.cpu();
    let inside = Inside::start(&dir, OPTIONS);
    helper.burn(20);
    let used = helper.cpu() - before;
    let document = inside.finish();
    drop(crowd.stdin.take());
    crowd.wait().expect("end");
    let sample = only_sample(&document);
    let daemons_value = &sample["daemons"]["value"];
    assert!(daemons_value["processes"].as_u64().is_some_and(|n| n > 2000), "{:#}", daemons_value["processes"]);
    assert_near("the one that worked", cpu(one(sample, "t-one")), used, 0.02);
    let idle = daemons(sample, "burner").len();
    assert!(idle < 20, "{idle} of the idle ones are listed");
    for image in ["image_before", "image_after"] {
        let ms = daemons_value[image].as_f64().expect("ns") / 1e6;
        assert!(ms < 100.0, "{image} of 2000 processes took {ms} ms");
    }
}

/// Complete, or honestly marked incomplete.
#[test]
fn twenty_thousand_short_lived_processes_are_listed_or_missed_by_name() {
    let _lock = alone();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    let dir = folder();
    let inside = Inside::start(&dir, OPTIONS);
    let status = Command::new(burner()).args(["short", "20000"]).status().expect("run");
    assert!(status.success());
    let document = inside.finish();
    let sample = only_sample(&document);
    let short = daemons(sample, "burner").into_iter().filter(|d| flags(d) == (true, true)).count();
    let incomplete = &sample["daemons"]["value"]["incomplete"];
    if incomplete.is_null() {
        assert!(short >= 20_000, "{short} of 20001 listed, and called complete");
    } else {
        assert_eq!(incomplete["reason"], "lost", "{incomplete}");
        eprintln!("incomplete: {short} of 20001 listed");
    }
}

/// Twenty thousand children of the program itself: its process time has them all.
#[test]
fn twenty_thousand_children_of_the_program_are_its_own() {
    let _lock = alone();
    let dir = folder();
    let mut c = tare(&dir);
    c.args(OPTIONS).args(["--", burner(), "short", "20000"]);
    let document = json(&mut c, 0);
    let sample = only_sample(&document);
    let times = &sample["process_times"]["value"];
    let wait4 = times["wait4"]["value"]["total"].as_f64().expect("wait4");
    assert_near("against wait4", process_time(sample), wait4, 0.05);
    let burners = daemons(sample, "burner").into_iter().filter(|d| flags(d) == (true, true)).count();
    assert!(burners < 100, "{burners} of the program's children are listed as daemons");
}

/// A process that a prepare command has started is a daemon, alive or dead, and is not killed.
#[test]
fn what_a_hook_leaves_running_is_a_daemon_and_lives_on() {
    let _lock = shared();
    let dir = folder();
    let pid_file = dir.path().join("pid");
    for source in ["cgroup", "task-clock"] {
        if source == "cgroup" && !is_root() {
            skip("needs root, for a cgroup");
            continue;
        }
        // A server that comes to its daemon state only while the sample runs.
        let prepare = format!(
            "setsid sh -c 'sleep 0.3; {} burn-self 20; sleep 20 & echo $! > {}; exit' > /dev/null 2>&1 &",
            burner(),
            pid_file.display()
        );
        let mut c = tare(&dir);
        c.args(OPTIONS).args(["--pt-source", source, "-p", &prepare, "--", burner(), "sleep", "900"]);
        let document = json(&mut c, 0);
        let sample = only_sample(&document);
        let pid: u32 = std::fs::read_to_string(&pid_file).expect("pid").trim().parse().expect("a pid");
        let alive = lives(pid);
        if alive {
            signal(pid, libc::SIGKILL);
        }
        assert!(process_time(sample) < 15e6, "{source}: counted to the program: {}", process_time(sample));
        if source == "cgroup" {
            assert!(alive, "{source}: it was ended");
            assert_eq!(sample["survivors"], serde_json::json!([]), "{source}");
        }
    }
}
