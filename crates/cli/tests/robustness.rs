//! Bad programs, bad places, bad moments: what `tare run` does then.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ONCE: &[&str] = &["run", "--json", "-w0", "-r1"];

/// One sample of `burner ARGS`.
fn once(dir: &TempDir, options: &[&str], args: &[&str], code: i32) -> Value {
    let mut c = tare(dir);
    c.args(ONCE).args(options).arg("--").arg(burner()).args(args);
    json(&mut c, code)
}

fn outcome(document: &Value) -> (&str, &Value) {
    let o = &only_sample(document)["outcome"];
    (o["kind"].as_str().expect("kind"), o)
}

fn spawn(c: &mut Command) -> Child {
    c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start tare")
}

/// The end of a tare after a signal; it must not take long.
#[track_caller]
fn soon(mut child: Child, seconds: u64) -> Output {
    use std::io::Read;
    // Read meanwhile: a pipe that is full would hold it up.
    let (out, err) = (child.stdout.take().expect("stdout"), child.stderr.take().expect("stderr"));
    let read = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            bytes
        })
    };
    let (out, err) = (read(Box::new(out)), read(Box::new(err)));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if began.elapsed() > Duration::from_secs(seconds) {
            child.kill().expect("kill");
            panic!("still there after {seconds} s");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (stdout, stderr) = (out.join().expect("stdout"), err.join().expect("stderr"));
    Output { status, stdout, stderr }
}

/// Waits for the burner's word that it runs; its pid.
fn started(dir: &TempDir) -> u32 {
    let path = dir.path().join("truth");
    until("the program runs", || std::fs::read_to_string(&path).is_ok_and(|t| t.ends_with('\n')));
    let text = std::fs::read_to_string(&path).expect("truth");
    text.lines().last().expect("a line").split(' ').nth(1).expect("pid").parse().expect("a pid")
}

/// Samples of the newest run, and its status.
fn stored(dir: &TempDir) -> (usize, String) {
    let document = json(tare(dir).args(["show", "--json"]), 0);
    let status = document["report"]["run"]["status"].as_str().expect("status").to_owned();
    (document["samples"].as_array().expect("samples").len(), status)
}

// ---- Interruptions ----

#[test]
fn signals_end_the_tree_keep_the_samples_and_say_how_to_go_on() {
    let _lock = shared();
    for (name, number) in [("INT", libc::SIGINT), ("TERM", libc::SIGTERM), ("HUP", libc::SIGHUP)] {
        let dir = folder();
        let count = dir.path().join("count");
        // The third execution does not end; it has a child.
        let script = format!(
            "echo x >> {0}; [ $(wc -l < {0}) -lt 3 ] && exit 0; {1} never & exec {1} never",
            count.display(),
            burner()
        );
        let child = spawn(tare(&dir).args(["run", "-w0", "-r5", "--", "sh", "-c", &script]));
        let pid = started(&dir);
        signal(child.id(), number);
        let tare_pid = child.id();
        let out = soon(child, 10);
        assert_eq!(out.status.code(), Some(130), "{name}");
        assert!(!lives(pid), "{name}");
        assert_eq!(processes_with(&format!("{}\0never", burner())).iter().filter(|p| **p == pid).count(), 0);
        assert!(text(&out.stderr).contains("tare resume 1"), "{name}: {}", text(&out.stderr));
        assert!(text(&out.stdout).contains("2 samples"), "{name}: what was measured is printed: {}", text(&out.stdout));
        assert_eq!(stored(&dir), (2, "interrupted".to_owned()), "{name}");
        assert_eq!(leaves_of(tare_pid), Vec::<std::path::PathBuf>::new(), "{name}");
    }
}

#[test]
fn a_program_that_ignores_sigterm_is_ended_on_the_first_and_on_the_second_interrupt() {
    let _lock = shared();
    for times in [1, 2] {
        let dir = folder();
        let child = spawn(tare(&dir).args(["run", "-w0", "--", burner(), "ignore-term"]));
        let pid = started(&dir);
        for _ in 0..times {
            signal(child.id(), libc::SIGINT);
            std::thread::sleep(Duration::from_millis(30));
        }
        assert_eq!(soon(child, 5).status.code(), Some(130));
        assert!(!lives(pid));
    }
}

/// A program that its own user's `nohup` protects: a signal that was ignored from the start stays ignored.
#[test]
fn nohup_is_respected() {
    let _lock = shared();
    let dir = folder();
    let mut c = tare(&dir);
    // SAFETY: one async-signal-safe call.
    unsafe {
        c.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let child = spawn(c.args(["run", "-w0", "-r2", "--", burner(), "sleep", "300"]));
    std::thread::sleep(Duration::from_millis(200));
    signal(child.id(), libc::SIGHUP);
    assert_eq!(soon(child, 10).status.code(), Some(0));
}

/// Conclude and cleanup run after an interruption, to their end; leftover processes of the interrupted program do not
/// disturb them.
#[test]
fn conclude_and_cleanup_run_to_their_end_after_an_interrupt() {
    let _lock = shared();
    let dir = folder();
    let said = |what: &str| format!("sleep 0.2; (sleep 0.05 &); sleep 0.2; touch {}", dir.path().join(what).display());
    let mut c = tare(&dir);
    c.args(["run", "-w0", "-C", &said("concluded"), "-c", &said("cleaned"), "--", burner(), "never"]);
    let child = spawn(&mut c);
    started(&dir);
    signal(child.id(), libc::SIGINT);
    let out = soon(child, 10);
    assert_eq!(out.status.code(), Some(130));
    let there = ["concluded", "cleaned"].map(|f| dir.path().join(f).exists());
    assert_eq!(there, [true, true], "{}", text(&out.stderr));
}

#[test]
fn an_interrupt_ends_hooks_also_those_that_ignore_sigterm() {
    let _lock = shared();
    for (option, code) in [("-s", 130), ("-p", 130), ("-C", 0), ("-c", 0)] {
        let dir = folder();
        let pid_file = dir.path().join("hook");
        let hook = format!("trap '' TERM; echo $$ > {}; {} ignore-term; {1} ignore-term", pid_file.display(), burner());
        let child = spawn(tare(&dir).args(["run", "-w0", "-r1", option, &hook, "--", "true"]));
        let program = started(&dir);
        signal(child.id(), libc::SIGINT);
        let out = soon(child, 10);
        // After the last sample all are there already.
        assert!([Some(code), Some(130)].contains(&out.status.code()), "{option}: {}", text(&out.stderr));
        let pid: u32 = std::fs::read_to_string(&pid_file).expect("pid").trim().parse().expect("a pid");
        until("the hook has ended", || !lives(pid) && !lives(program));
    }
}

#[test]
fn sigkill_of_tare_kills_the_program_and_the_next_run_cleans_up() {
    let _lock = shared();
    let dir = folder();
    let script = format!("{0} never & exec {0} never", burner());
    let mut child = spawn(tare(&dir).args(["run", "-w0", "--", "sh", "-c", &script]));
    let path = dir.path().join("truth");
    until("both run", || std::fs::read_to_string(&path).is_ok_and(|t| t.lines().count() == 2 && t.ends_with('\n')));
    let pids: Vec<u32> = std::fs::read_to_string(&path)
        .expect("truth")
        .lines()
        .map(|l| l.split(' ').nth(1).expect("pid").parse().expect("a pid"))
        .collect();
    let leaves = leaves_of(child.id());
    child.kill().expect("kill");
    child.wait().expect("wait");
    until("one of them has died with tare", || pids.iter().any(|p| !lives(*p)));
    if !is_root() {
        pids.iter().filter(|p| lives(**p)).for_each(|p| signal(*p, libc::SIGKILL));
        return skip("needs root, for a cgroup");
    }
    assert!(!leaves.is_empty() && leaves.iter().any(|l| l.exists()), "{leaves:?}");
    run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
    until("the rest is ended by the next run", || pids.iter().all(|p| !lives(*p)));
    run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
    assert!(!leaves.iter().any(|l| l.exists()), "a cgroup is still there: {leaves:?}");
}

/// A hook dies with tare; a server that it has started does not.
#[test]
fn sigkill_of_tare_kills_a_running_hook() {
    let _lock = shared();
    let dir = folder();
    let hook = format!("exec {} never", burner());
    let mut child = spawn(tare(&dir).args(["run", "-p", &hook, "--", "true"]));
    let pid = started(&dir);
    child.kill().expect("kill");
    child.wait().expect("wait");
    let began = Instant::now();
    while lives(pid) && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let alive = lives(pid);
    if alive {
        signal(pid, libc::SIGKILL);
    }
    assert!(!alive, "the hook outlived tare");
}

/// Ctrl-Z reaches tare between samples only, and does not disturb a sample.
#[test]
fn a_stop_from_the_terminal_waits_for_the_end_of_the_sample() {
    let _lock = shared();
    let dir = folder();
    let child = spawn(tare(&dir).args(["run", "--json", "-w0", "-r2", "--", burner(), "sleep", "600"]));
    std::thread::sleep(Duration::from_millis(300));
    signal(child.id(), libc::SIGTSTP);
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        stat.rsplit(')').next().and_then(|s| s.trim_start().chars().next()).unwrap_or('?')
    };
    // An orphaned process group is never stopped, so there is nothing to check.
    let began = Instant::now();
    while state() != 'T' && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(child.id(), libc::SIGCONT);
    let out = soon(child, 10);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    for sample in document["samples"].as_array().expect("samples") {
        assert!((600e6..1_200e6).contains(&elapsed(sample)), "{}", elapsed(sample));
    }
}

// ---- Programs ----

#[test]
fn outcomes_are_named() {
    let _lock = shared();
    let dir = folder();
    let document = once(&dir, &[], &["exit", "3"], 1);
    assert_eq!((outcome(&document).0, &outcome(&document).1["code"]), ("exited", &3.into()));
    let document = once(&dir, &[], &["raise", "9"], 1);
    assert_eq!((outcome(&document).0, &outcome(&document).1["signal"]), ("signaled", &9.into()));
    let document = once(&dir, &[], &["raise", "11"], 1);
    assert_eq!((outcome(&document).0, &outcome(&document).1["signal"]), ("signaled", &11.into()));
    let document = once(&dir, &[], &["stop"], 1);
    assert_eq!((outcome(&document).0, &outcome(&document).1["signal"]), ("stopped", &libc::SIGSTOP.into()));
    for program in ["never", "ignore-term", "stop"] {
        let began = Instant::now();
        let document = once(&dir, &["--timeout", "300ms"], &[program], 1);
        assert!(["timed_out", "stopped"].contains(&outcome(&document).0), "{program}");
        assert!(began.elapsed() < Duration::from_secs(5), "{program}");
    }
    let document = once(&dir, &["--timeout", "300ms", "--pt-source", "wait4"], &["ignore-term"], 1);
    assert_eq!(outcome(&document).0, "timed_out");
}

/// A program that is stopped for a moment, also more than once, ends by itself, and its elapsed time is its own.
#[test]
fn a_program_that_is_continued_is_measured() {
    let _lock = shared();
    let dir = folder();
    for times in ["1", "3"] {
        let document = once(&dir, &[], &["stop-continue", times], 0);
        let n: f64 = times.parse().expect("a number");
        let took = elapsed(only_sample(&document));
        assert!(took >= n * 200e6 && took < n * 200e6 + 500e6, "{times}: {took}");
    }
}

/// Orphans that come to tare and end do not pile up as zombies: a program may have as many as without tare.
#[test]
fn orphans_do_not_use_up_the_processes_that_a_user_may_have() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to become a user of few processes");
    }
    let dir = folder();
    // An unused user id, and a first process that reaps at once, as some do not.
    let script = "prlimit --nproc=100 setpriv --reuid=64321 --regid=64321 --clear-groups \"$@\"; exit $?";
    let limited: &[&str] =
        &["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script, "bash"];
    let orphans = ["orphans", "250", "5"];
    let bare = Command::new(limited[0]).args(&limited[1..]).arg(burner()).args(orphans).output().expect("run");
    assert!(bare.status.success(), "without tare: {}", text(&bare.stderr));
    let mut c = via(&dir, limited);
    run(c.args(ONCE).args(["--", burner()]).args(orphans), 0);
}

/// Orphans that are reparented to tare and end must not restart the time limit.
#[test]
fn the_time_limit_holds_for_a_program_with_orphans() {
    let _lock = shared();
    let dir = folder();
    let document = once(&dir, &["--timeout", "1s"], &["orphans", "40", "100"], 1);
    assert_eq!(outcome(&document).0, "timed_out");
    assert!(elapsed(only_sample(&document)) < 2.5e9, "{} s", elapsed(only_sample(&document)) / 1e9);
}

#[test]
fn what_cannot_be_started_is_told_and_the_others_are_measured() {
    let _lock = shared();
    let dir = folder();
    let at = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let file = |name: &str, content: &[u8], mode: u32| {
        std::fs::write(at(name), content).expect("write");
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).expect("chmod");
    };
    file("plain", b"echo", 0o644);
    file("garbage", b"\x7fELF\x02\x01\x01garbage", 0o755);
    file("bad-interpreter", b"#!/no/such/interpreter\n", 0o755);
    file("script", b"exit 7\n", 0o755);
    file("empty", b"", 0o755);
    std::fs::create_dir(at("folder")).expect("mkdir");
    let cases = [
        ("no-such-program-at-all".to_owned(), "No such file"),
        (at("missing"), "No such file"),
        (at("plain"), "Permission denied"),
        (at("folder"), "Permission denied"),
        (at("bad-interpreter"), "No such file"),
    ];
    for (program, why) in cases {
        let mut c = tare(&dir);
        // With a setup command, which might make it, it is only found when it is started.
        c.args(ONCE).args(["--order", "rounds", "-s", "true", &program, "true"]);
        let document = json(&mut c, 2);
        let samples = document["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), 2, "{program}");
        assert_eq!(samples[0]["outcome"]["kind"], "not_started", "{program}");
        let error = samples[0]["outcome"]["error"].as_str().expect("error");
        assert!(error.contains(why) && error.contains(&program), "{program}: {error}");
        assert_eq!(samples[1]["outcome"]["kind"], "exited");
        assert!(samples[0]["process_times"]["value"].is_null(), "absent, not zero");
        // Without one it is found before the first sample.
        let out = run(tare(&dir).args(["run", "-w0", &program]), 2);
        let said = text(&out.stderr);
        assert!(said.contains(&program) && said.contains("cannot be started") && out.stdout.is_empty(), "{said}");
    }
    // As execvp(3) does: a script without an interpreter's name is the shell's.
    let document = json(tare(&dir).args(ONCE).args(["--", &at("script")]), 1);
    assert_eq!(outcome(&document).1["code"], 7);
    run(tare(&dir).args(ONCE).args(["--", &at("empty")]), 0);
    run(tare(&dir).args(ONCE).args(["--", &at("garbage")]), 1);
}

#[test]
fn arguments_arrive_byte_by_byte_and_never_reach_the_terminal_raw() {
    let _lock = shared();
    let dir = folder();
    let long = "x".repeat(100_000);
    let words: &[&[u8]] = &[
        b"\xff\xfe",
        b"new\nline",
        b"\x1b[31mred\x1b]0;title\x07",
        b"",
        b" ",
        b"'\"`$(touch hacked)\\",
        b"{n}",
        long.as_bytes(),
        "\u{202e}rtl".as_bytes(),
        b"\r\x08\x7f\x9b31m",
    ];
    let file = dir.path().join("args");
    let mut c = tare(&dir);
    c.args(["run", "-w0", "-r1", "--full", "--", burner(), "args"]).arg(&file);
    c.args(words.iter().map(|w| std::ffi::OsStr::from_bytes(w)));
    let out = run(&mut c, 0);
    let found = std::fs::read_to_string(&file).expect("args");
    let hex = |w: &[u8]| w.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert_eq!(found.lines().map(str::to_owned).collect::<Vec<_>>(), words.iter().map(|w| hex(w)).collect::<Vec<_>>());
    let harmless = |what: &str, bytes: &[u8]| {
        let shown = std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
        let bad = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None, "{what}: {}", shown.escape_debug());
    };
    harmless("the result", &out.stdout);
    harmless("messages", &out.stderr);
    for args in [&["show"][..], &["list"], &["show", "--export-markdown", "-"], &["show", "--export-csv", "-"]] {
        harmless(&format!("{args:?}"), &run(tare(&dir).args(args), 0).stdout);
    }
    for args in [&["show", "--json"][..], &["list", "--json"], &["show", "--export-hyperfine", "-"]] {
        let out = run(tare(&dir).args(args), 0);
        harmless(&format!("{args:?}"), &out.stdout);
        serde_json::from_slice::<Value>(&out.stdout).expect("JSON");
    }
    // The progress line, forced.
    let mut c = tare(&dir);
    c.args(["run", "--style", "full", "-w0", "-r2", "--", burner(), "args"]).arg(&file).arg("\x1b]0;title\x07\n");
    let out = run(&mut c, 0);
    assert!(!text(&out.stderr).contains("]0;title\x07"), "{}", text(&out.stderr).escape_debug());
    // And one that cannot be started.
    let out = run(tare(&dir).args(["run", "-w0", "--", "no\x1b[31msuch\nprogram"]), 2);
    harmless("a failure", &out.stdout);
    harmless("a failure", &out.stderr);
    let out = run(tare(&dir).args(["run", "-w0", "-p", "echo '\x1b[31mred' >&2; exit 1", "--", "true"]), 1);
    harmless("a hook's words", &out.stdout);
    harmless("a hook's words", &out.stderr);
}

#[test]
fn too_long_arguments_are_a_failure_that_is_named() {
    let _lock = shared();
    let dir = folder();
    // Beyond the kernel's limit for one word only when the parameter has been put in.
    let half = "x".repeat(70_000);
    let out = run(tare(&dir).args(["run", "-w0", "-r1", "-L", "x", &half, "true {x}{x}"]), 4);
    let said = text(&out.stderr);
    assert!(said.contains("an argument or variable of 140000 bytes, of 131072 at most"), "{}", said.replace('x', ""));
}

#[test]
fn a_program_may_close_everything_and_change_its_session() {
    let _lock = shared();
    let dir = folder();
    for program in [&["close-all", "20"][..], &["setsid", "20"], &["daemon", "20"]] {
        comes_near(program[0], 0.01, || {
            let document = once(&dir, &[], program, 0);
            (process_time(only_sample(&document)), truth(&dir).0)
        });
    }
}

#[test]
fn thousands_of_processes_take_a_bounded_time() {
    let _lock = alone();
    let dir = folder();
    let began = Instant::now();
    let document = once(&dir, &[], &["leave", "5000"], 0);
    let sample = only_sample(&document);
    let survivors = sample["survivors"].as_array().expect("survivors");
    assert_eq!(survivors.len(), 5000);
    assert!(survivors.iter().all(|s| s["fate"]["kind"] == "ended"));
    assert_eq!(processes_with(&format!("{}\0leave\0", burner())), [0u32; 0]);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let shown = text(&run(tare(&dir).args(["show"]), 0).stdout);
    assert!(shown.len() < 20_000, "5000 survivors are summed up");
}

// ---- The clock ----

#[test]
fn a_step_of_the_clock_does_not_change_elapsed_time() {
    let _lock = alone();
    let now = || {
        // SAFETY: a valid timespec to write to.
        unsafe {
            let mut t: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_REALTIME, &mut t);
            t
        }
    };
    let step = |seconds: i64| {
        let mut t = now();
        t.tv_sec += seconds;
        // SAFETY: a valid timespec.
        unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &t) == 0 }
    };
    if !is_root() {
        return skip("needs root, to set the clock");
    }
    let dir = folder();
    let child = spawn(tare(&dir).args(ONCE).args(["--", burner(), "sleep", "500"]));
    std::thread::sleep(Duration::from_millis(250));
    let stepped = step(-5);
    std::thread::sleep(Duration::from_millis(20));
    if stepped {
        step(5);
    }
    let out = soon(child, 20);
    if !stepped {
        return skip("the clock cannot be set");
    }
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let took = elapsed(only_sample(&document));
    assert!((500e6..1_500e6).contains(&took), "{took}");
}

// ---- Two at once ----

#[test]
fn two_tares_at_once_do_not_mix() {
    let _lock = shared();
    let dir = folder();
    let start = |ms: &str| spawn(tare(&dir).args(["run", "--json", "-w0", "-r5", "--", burner(), "burn-self", ms]));
    let (a, b) = (start("40"), start("80"));
    let documents = [a, b].map(|c| {
        let out = soon(c, 60);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).expect("JSON")
    });
    for (document, ms) in documents.iter().zip([40.0, 80.0]) {
        // A hypervisor may steal in one or two; were they mixed, most would have the other's 40 or 80 ms.
        let times: Vec<f64> = document["samples"].as_array().expect("samples").iter().map(process_time).collect();
        assert!(times.iter().all(|&pt| pt >= ms * 1e6), "{times:?} for {ms} ms");
        assert!(times.iter().filter(|&&pt| pt < ms * 1e6 + 8e6).count() >= 3, "{times:?} for {ms} ms");
    }
    let ids: Vec<&Value> = documents.iter().map(|d| &d["report"]["run"]["id"]).collect();
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        let document = json(tare(&dir).args(["show", "--json", &id.to_string()]), 0);
        assert_eq!(document["samples"].as_array().map(Vec::len), Some(5));
    }
}

/// A tare in another pid namespace sees the cgroup of this one but not its owner: it must leave it alone.
#[test]
fn a_tare_in_another_pid_namespace_does_not_end_this_ones_program() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a pid namespace");
    }
    let dir = folder();
    let inside = Inside::start(&dir, ONCE);
    let other = folder();
    let before = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let out = via(&other, &before).args(["run", "-w0", "-r1", "--", "true"]).output().expect("run");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    inside.let_go();
    let out = soon(inside.child, 10);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stdout));
}

// ---- Places ----

#[test]
fn exports_to_places_that_cannot_be_written_are_refused_before_measuring() {
    let _lock = shared();
    let dir = folder();
    for place in ["/no/such/folder/x.json", "/proc/x.json", "/"] {
        let out = run(tare(&dir).args(["run", "--export-json", place, "--", "true"]), 2);
        assert!(text(&out.stderr).contains(place), "{}", text(&out.stderr));
        assert!(out.stdout.is_empty());
    }
    // A full device is detected only when it is written to: the result is still printed and stored.
    let out = run(tare(&dir).args(["run", "-w0", "-r1", "--export-json", "/dev/full", "--", "true"]), 4);
    assert!(text(&out.stderr).contains("/dev/full") && text(&out.stdout).contains("CPU"), "{}", text(&out.stderr));
    assert_eq!(stored(&dir).0, 1);
}

#[test]
fn readers_that_go_away_are_no_failure() {
    let _lock = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-w0", "-r2", "--", "true"]), 0);
    for args in ["show", "show --json", "show --full", "list", "list --json", "export", "show --export-csv -"] {
        let script = format!("{TARE} {args} | true; exec 3>&1; {{ {TARE} {args}; echo $? >&3; }} 3>&1 >/dev/full");
        let out = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {script}")])
            .env("TARE_DB", dir.path().join("tare.db"))
            .output()
            .expect("bash");
        let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
        assert!(!stderr.contains("panicked"), "{args}: {stderr}");
        assert!(!stdout.contains("101"), "{args}: {stdout}");
        let out = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {TARE} {args} | head -c1 > /dev/null")])
            .env("TARE_DB", dir.path().join("tare.db"))
            .output()
            .expect("bash");
        assert_eq!(out.status.code(), Some(0), "{args}: {}", text(&out.stderr));
    }
}

/// Nobody reads standard error any more: a message is lost, not the exit code.
#[test]
fn a_standard_error_that_is_full_or_gone_changes_no_exit_code() {
    let _lock = shared();
    let dir = folder();
    let cases = [
        ("run -w0 -r1 -c 'exit 3' -- true", 0),
        ("show 99", 2),
        ("run -w0 -r1 --style full -- false", 1),
        ("rm last", 0),
        ("list", 0),
    ];
    for (args, code) in cases {
        run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
        for redirect in ["2>/dev/full", "2>&-", "2> >(exec true)"] {
            let script = format!("{TARE} {args} > /dev/null {redirect}; exit $?");
            let mut c = Command::new("bash");
            c.args(["-c", &script]).env("TARE_DB", dir.path().join("tare.db"));
            let found = c.status().expect("bash").code();
            if args == "rm last" && redirect != "2>/dev/full" {
                continue;
            }
            // A cleanup that fails: 0 or 1, but no panic.
            assert!(
                found == Some(code) || (args.contains("exit 3") && found == Some(1)),
                "{args} {redirect}: {found:?}"
            );
        }
    }
}

// ---- Hooks and failures ----

#[test]
fn a_failing_hook_names_its_cause_and_the_others_are_measured() {
    let _lock = shared();
    for option in ["-s", "-p", "-C"] {
        let dir = folder();
        let cleaned = dir.path().join("cleaned");
        let hook = "case $X in bad) echo the cause of it >&2; exit 9;; esac";
        let mut c = tare(&dir);
        c.args(["run", "--json", "-w0", "-r3", "-L", "X", "bad,good", option, &hook.replace("$X", "{X}")]);
        c.args(["-c", &format!("echo {{X}} >> {}", cleaned.display()), "true {X}"]);
        let document = json(&mut c, 1);
        let samples = document["samples"].as_array().expect("samples");
        let samples_of = |series: i64| samples.iter().filter(|s| s["series"] == series).collect::<Vec<_>>();
        assert_eq!(samples_of(1).len(), 3, "{option}");
        assert!(samples_of(1).iter().all(|s| s["outcome"]["code"] == 0), "{option}");
        assert_eq!(samples_of(0).len(), 1, "{option}: it is not tried again");
        let error = samples_of(0)[0]["outcome"]["error"].as_str().expect("error");
        assert!(error.contains("exit status 9") && error.contains("the cause of it"), "{option}: {error}");
        assert_eq!(std::fs::read_to_string(&cleaned).expect("cleaned"), "bad\ngood\n", "{option}");
        let shown = text(&run(tare(&dir).args(["show"]), 0).stdout);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("the cause of it"), "{option}: {shown}");
    }
    let dir = folder();
    let out = tare(&dir).args(["run", "-w0", "-r1", "-c", "echo why >&2; exit 5", "--", "true"]).output().expect("run");
    assert!(text(&out.stderr).contains("exit status 5") && text(&out.stderr).contains("why"), "{}", text(&out.stderr));
}

#[test]
fn cleanup_runs_after_a_program_that_fails() {
    let _lock = shared();
    let dir = folder();
    let cleaned = dir.path().join("cleaned");
    let cleanup = format!("touch {}", cleaned.display());
    let document = json(tare(&dir).args(["run", "--json", "-w1", "-r3", "-c", &cleanup, "false", "true"]), 1);
    assert!(cleaned.exists());
    let counted = document["samples"].as_array().expect("samples").iter().filter(|s| s["series"] == 1).count();
    assert_eq!(counted, 4, "the other program is measured");
}

#[test]
fn failures_are_accepted_as_asked() {
    let _lock = shared();
    let dir = folder();
    let cases: &[(&[&str], &str, i32, usize)] = &[
        (&[], "exit 3", 1, 1),
        (&["-i"], "exit 3", 0, 3),
        (&["--ignore-failure"], "exit 3", 0, 3),
        (&["-i=3"], "exit 3", 0, 3),
        (&["-i=2,3"], "exit 3", 0, 3),
        (&["--ignore-failure=all-non-zero"], "exit 3", 0, 3),
        (&["-i=4"], "exit 3", 1, 1),
        (&["-i"], "kill -9 $$", 0, 3),
        (&["-i=137"], "kill -9 $$", 0, 3),
    ];
    for (options, script, code, samples) in cases {
        let mut c = tare(&dir);
        c.args(["run", "--json", "-w0", "-r3"]).args(*options).args(["--", "sh", "-c", script]);
        let document = json(&mut c, *code);
        assert_eq!(document["samples"].as_array().map(Vec::len), Some(*samples), "{options:?} {script}");
    }
    run(tare(&dir).args(["run", "-i=x", "--", "true"]), 2);
    // A program that cannot be started is no failing program.
    run(tare(&dir).args(["run", "-i", "-w0", "-r1", "--", "/no/such/program"]), 2);
}

#[test]
fn hyperfines_options_are_understood() {
    let _lock = shared();
    let dir = folder();
    let file = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (h, m, c) = (file("h.json"), file("m.md"), file("c.csv"));
    let mut command = tare(&dir);
    command.args(["run", "--warmup", "1", "--runs", "3", "--setup", "true", "--prepare", "true", "--conclude", "true"]);
    command.args(["--cleanup", "true", "-P", "n", "1", "2", "-D", "1", "-i", "-n", "name {n}", "--reference", "true"]);
    command.args(["--output", "null", "--input", "null", "--style", "basic", "-u", "millisecond", "--sort", "command"]);
    command.args(["--export-hyperfine", &h, "--export-markdown", &m, "--export-csv", &c, "-N", "true {n}"]);
    run(&mut command, 0);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&h).expect("file")).expect("JSON");
    let results = document["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    for result in results {
        for key in ["command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes"] {
            assert!(!result[key].is_null(), "{key}: {result:#}");
        }
        assert_eq!(result["times"].as_array().map(Vec::len), Some(3));
    }
    assert_eq!(results[1]["command"], "name 1");
    assert_eq!(results[2]["parameters"]["n"], "2");
    assert!(std::fs::read_to_string(&m).expect("file").lines().count() >= 4);
    assert!(std::fs::read_to_string(&c).expect("file").lines().count() >= 4);
    for options in
        [&["-m", "2", "-M", "3"][..], &["--shell", "none"], &["-S", "default"], &["--shell=bash"], &["-L", "x", "a,b"]]
    {
        run(tare(&dir).args(["run", "-w0"]).args(options).arg("true"), 0);
    }
    let out = run(tare(&dir).args(["run", "-w0", "-r1", "--show-output", "--", "echo", "shown"]), 0);
    assert!(text(&out.stdout).starts_with("shown\n"));
    run(tare(&dir).args(["run", "-w0", "-r1", "--output", &file("out"), "--", "echo", "kept"]), 0);
    assert_eq!(std::fs::read_to_string(file("out")).expect("file"), "kept\n");
    run(tare(&dir).args(["run", "-w0", "-r1", "--output", "pipe", "--", "sh", "-c", "yes | head -c 1000000"]), 0);
    run(tare(&dir).args(["run", "-w0", "-r1", "--input", &file("out"), "-S", "sh", "grep -q kept"]), 0);
}

#[test]
fn wrong_usage_is_refused_with_code_2() {
    let dir = folder();
    let wrong: &[&[&str]] = &[
        &["run"],
        &["run", ""],
        &["run", "a 'b"],
        &["run", "-r0", "true"],
        &["run", "--sigma", "0", "true"],
        &["run", "--cpus", "9999", "true"],
        &["run", "--cpus", "x", "true"],
        &["run", "--cwd", "/no/such", "true"],
        &["run", "--user", "no-such-user", "true"],
        &["run", "--timeout", "0", "true"],
        &["run", "-m", "5", "-M", "3", "true"],
        &["run", "--sched", "fifo:100", "true"],
        &["run", "--input", "/no/such", "true"],
        &["run", "--profile", "no-such", "true"],
        &["run", "--json", "--export-json", "-", "true"],
        &["show", "99"],
        &["no-such-command"],
    ];
    run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
    for args in wrong {
        let out = tare(&dir).args(*args).output().expect("run");
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
        assert!(!out.stderr.is_empty() && out.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(
        json(tare(&dir).args(["list", "--json"]), 0).as_array().map(Vec::len),
        Some(1),
        "nothing of it is stored"
    );
    run(tare(&dir).args(["run", "--require", "v6", "-r3", "--", "true"]), 3);
}

#[test]
fn conditions_are_those_asked_for() {
    let _lock = shared();
    let dir = folder();
    let shell = |options: &[&str], script: &str| {
        let file = dir.path().join("said");
        let mut c = tare(&dir);
        c.args(["run", "-w0", "-r1", "--output"]).arg(&file).args(options).args(["--", "sh", "-c", script]);
        run(&mut c, 0);
        let said = std::fs::read_to_string(&file).expect("said");
        std::fs::remove_file(&file).expect("remove");
        said.trim().to_owned()
    };
    assert_eq!(shell(&["--cwd", "/"], "pwd"), "/");
    assert_eq!(shell(&["--env", "A=b c"], "echo \"$A\""), "b c");
    assert_eq!(shell(&["--cpus", "0"], "grep Cpus_allowed_list /proc/self/status | cut -f2"), "0");
    assert_eq!(shell(&["--sched", "nice:7"], "nice"), "7");
    // Signals as a shell would have them.
    let script = "while read n v; do case $n in SigBlk:|SigIgn:) echo $v;; esac; done < /proc/self/status";
    let mut usual = Command::new("sh");
    // SAFETY: async-signal-safe calls only.
    unsafe {
        usual.pre_exec(|| {
            default_signals();
            Ok(())
        });
    }
    let usual = usual.args(["-c", script]).output().expect("sh");
    // The C library's own signals, from 32 on, are as it likes.
    let masks = |said: &str| -> Vec<u64> {
        said.lines().map(|l| u64::from_str_radix(l, 16).expect("a mask") & 0x7fff_ffff).collect()
    };
    assert_eq!(masks(&shell(&[], script)), masks(text(&usual.stdout).trim()));
    if !is_root() {
        return skip("needs root, for --user and fifo");
    }
    assert_eq!(shell(&["--user", "nobody"], "id -u; id -g; id -G").lines().next(), Some("65534"));
    assert!(shell(&["--sched", "fifo:5"], "chrt -p $$").contains("SCHED_FIFO"));
    assert!(Path::new("/proc/self").exists());
}
