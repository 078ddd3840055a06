//! Process time of the whole tree, against programs that know what they burn.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use tempfile::TempDir;

/// One sample of `burner ARGS`, without a warm-up.
fn measure(dir: &TempDir, before: &[&str], options: &[&str], args: &[&str]) -> Value {
    let mut c = via(dir, before);
    c.args(["run", "--json", "-w0", "-r1"]).args(options).arg("--").arg(burner()).args(args);
    json(&mut c, 0)
}

fn source(document: &Value) -> String {
    document["report"]["run"]["pt_source"]
        .as_str()
        .unwrap_or_else(|| panic!("{:#}", document["report"]["run"]))
        .to_owned()
}

fn survivors(sample: &Value) -> Vec<(u32, String)> {
    let list = sample["survivors"].as_array().expect("survivors");
    let one =
        |s: &Value| (s["pid"].as_u64().expect("pid") as u32, s["fate"]["kind"].as_str().expect("a fate").to_owned());
    list.iter().map(one).collect()
}

/// Every kind of tree, with the number of processes that report their time.
const TREES: &[(&[&str], usize)] = &[
    (&["burn-self", "150"], 1),
    (&["child-waited", "150"], 2),
    (&["child-unwaited", "150"], 2),
    (&["child-ignored", "150"], 2),
    (&["daemon", "150"], 3),
    (&["threads", "8", "30"], 1),
    (&["setsid", "150"], 2),
    (&["close-all", "150"], 1),
];

fn check_trees(before: &[&str], options: &[&str], wanted: &str, trees: &[(&[&str], usize)]) {
    for (args, count) in trees {
        let once = || {
            let dir = folder();
            let document = measure(&dir, before, options, args);
            assert_eq!(source(&document), wanted);
            let (truth, n) = truth(&dir);
            assert_eq!(n, *count, "{args:?}");
            (process_time(only_sample(&document)), truth)
        };
        let what = format!("{wanted} {args:?}");
        // perf's clock goes on while the hypervisor runs something else (docs/account.md); the burner's own does not.
        if wanted == "task_clock" { comes_near_but_for_steal(&what, 0.01, once) } else { comes_near(&what, 0.01, once) }
    }
}

#[test]
fn cgroup_counts_every_tree() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    check_trees(&[], &[], "cgroup", TREES);
    check_trees(&[], &[], "cgroup", &[(&["setuid", "150"], 2)]);
}

#[test]
fn task_clock_counts_every_tree_without_privilege() {
    let _lock = shared();
    check_trees(&[], &["--pt-source", "task-clock"], "task_clock", TREES);
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    check_trees(NOBODY, &[], "task_clock", TREES);
    check_trees(&[], &["--pt-source", "task-clock"], "task_clock", &[(&["setuid", "150"], 2)]);
}

/// The program's exec enables the clock; other processes of tare, and leftover processes, are not counted.
#[test]
fn task_clock_counts_this_samples_program_only() {
    let _lock = shared();
    let dir = folder();
    let pids = dir.path().join("pids");
    let background = format!("timeout 3 {} burn-self 2500 & echo $! >> {}", burner(), pids.display());
    let mut c = tare(&dir);
    c.args([
        "run",
        "--json",
        "-w0",
        "-r1",
        "--pt-source",
        "task-clock",
        "-p",
        &background,
        "--",
        burner(),
        "sleep",
        "400",
    ]);
    let document = json(&mut c, 0);
    for pid in std::fs::read_to_string(&pids).expect("pids").lines() {
        signal(pid.parse().expect("a pid"), libc::SIGTERM);
    }
    let found = process_time(only_sample(&document));
    assert!(found < 50e6, "the prepare command's child was counted: {} ms", found / 1e6);

    let mut c = tare(&dir);
    let never = format!("timeout 3 {} burn-self 2500 & echo $! >> {}; sleep 0.3", burner(), pids.display());
    c.args(["run", "--json", "-w0", "-r2", "--pt-source", "task-clock", "--leave-running", "--", "sh", "-c", &never]);
    let document = json(&mut c, 0);
    for pid in std::fs::read_to_string(&pids).expect("pids").lines() {
        if lives(pid.parse().expect("a pid")) {
            signal(pid.parse().expect("a pid"), libc::SIGTERM);
        }
    }
    // On two CPUs and more the second sample has its own 300 ms of burning, not those of the first one's child, too.
    let second = &document["samples"][1];
    let limit = elapsed(second) + 20e6;
    assert!(process_time(second) < limit, "the first sample's child was counted: {} ms", process_time(second) / 1e6);
}

#[test]
fn exit_records_count_every_tree() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    check_trees(&[], &["--pt-source", "exit-records"], "exit_records", TREES);
}

/// A program that never looks at its clock has not had its last slice accounted when its exit record is made.
#[test]
fn exit_records_are_exact_for_programs_that_read_no_clock() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for exit records");
    }
    let dir = folder();
    let count = rounds(23).to_string();
    for _ in 0..5 {
        let mut c = tare(&dir);
        c.args(["run", "--json", "-w0", "-r1", "--", burner(), "loop", &count]);
        let document = json(&mut c, 0);
        let sample = only_sample(&document);
        let exits = sample["process_times"]["value"]["exit_records"]["value"].as_f64().expect("exit records");
        // The cgroup has all of it, to the microsecond.
        assert_near("exit record", exits, process_time(sample), 0.01);
    }
}

/// wait4 misses what the kernel reaps by itself, and says so; orphans come to tare, a subreaper.
#[test]
fn wait4_counts_what_is_reaped_and_says_what_it_misses() {
    let _lock = shared();
    let options = &["--pt-source", "wait4"];
    let reaped: Vec<_> = TREES.iter().filter(|t| t.0[0] != "child-ignored").copied().collect();
    check_trees(&[], options, "wait4", &reaped);
    let dir = folder();
    let document = measure(&dir, &[], options, &["child-ignored", "150"]);
    assert!(process_time(only_sample(&document)) < 20e6, "the kernel gives nobody the rusage of such a child");
    let out = run(tare(&dir).args(["run", "-w0", "-r1", "--full", "--pt-source", "wait4", "--", "true"]), 0);
    let shown = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("wait4") && shown.contains("no process waited for"), "{shown}");
}

#[test]
fn a_setuid_program_is_counted_or_its_lack_is_named() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to make a setuid program");
    }
    use std::os::unix::fs::{PermissionsExt, chown};
    let dir = folder();
    let copy = dir.path().join("setuid-burner");
    std::fs::copy(burner(), &copy).expect("copy");
    chown(&copy, Some(65_534), Some(65_534)).expect("chown");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o6755)).expect("chmod");
    // It must be able to write the truth as the user nobody.
    comes_near("setuid, cgroup", 0.01, || {
        let mut c = tare(&dir);
        c.args(["run", "--json", "-w0", "-r1", "--"]).arg(&copy).args(["burn-self", "150"]);
        let document = json(&mut c, 0);
        (process_time(only_sample(&document)), truth(&dir).0)
    });
    let mut c = tare(&dir);
    c.args(["run", "-w0", "-r1", "--pt-source", "task-clock", "--"]).arg(&copy).args(["burn-self", "50"]);
    let shown = text(&run(&mut c, 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("setuid"), "{shown}");
}

#[test]
fn without_privilege_the_source_falls_back_and_says_so() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to give up privileges");
    }
    for before in [NOBODY, NO_CAPABILITIES] {
        let dir = folder();
        let document = measure(&dir, before, &[], &["child-unwaited", "60"]);
        let run = &document["report"]["run"];
        let notes = run["pt_source_notes"].to_string();
        if before == NOBODY {
            assert_eq!(run["pt_source"], "task_clock");
            assert!(notes.contains("cgroup") && notes.contains("needs permission"), "{notes}");
        }
        truth(&dir);
        comes_near("PT", 0.01, || {
            let document = measure(&dir, before, &[], &["child-unwaited", "60"]);
            (process_time(only_sample(&document)), truth(&dir).0)
        });
        let daemons = &only_sample(&document)["daemons"]["value"];
        assert!(daemons["list"].as_array().is_some_and(|l| !l.is_empty()));
        assert_eq!(daemons["incomplete"]["reason"], "no_permission", "{daemons:#}");
        let out = run_shown(&dir, before);
        assert!(out.contains("CAP_"), "says what is needed: {out}");
    }
}

fn run_shown(dir: &TempDir, before: &[&str]) -> String {
    let out = run(via(dir, before).args(["run", "-w0", "-r1", "--full", "--", "true"]), 0);
    text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn without_cgroup_and_perf_wait4_is_used_and_says_what_it_misses() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to give up privileges");
    }
    // An empty mount over the cgroup tree, and a user without privilege.
    let dir = folder();
    let script = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
    let mut before = vec!["unshare", "--mount", "sh", "-c", script, "sh"];
    before.extend_from_slice(NOBODY);
    let mut c = via(&dir, &before);
    c.args(["run", "--json", "-w0", "-r1", "--pt-source", "wait4", "--", burner(), "burn-self", "50"]);
    let document = json(&mut c, 0);
    assert_eq!(source(&document), "wait4");
    let mut c = via(&dir, &before);
    c.args(["run", "--json", "-w0", "-r1", "--", burner(), "burn-self", "50"]);
    let document = json(&mut c, 0);
    assert_eq!(source(&document), "task_clock");
}

/// Exit records need snapshots: without them, the fall-back is named.
#[test]
fn a_fall_back_from_exit_records_is_named() {
    let _lock = shared();
    let dir = folder();
    let document = measure(&dir, &[], &["--pt-source", "exit-records", "--no-images"], &["burn-self", "20"]);
    assert_eq!(source(&document), "wait4");
    assert!(
        document["report"]["run"]["pt_source_notes"].to_string().contains("exit"),
        "{:#}",
        document["report"]["run"]
    );
}

#[test]
fn what_outlives_the_program_is_reported_and_ended_or_left() {
    let _lock = shared();
    for source in ["cgroup", "task-clock", "wait4"] {
        if source == "cgroup" && !is_root() {
            skip("needs root, for a cgroup");
            continue;
        }
        let dir = folder();
        let document = measure(&dir, &[], &["--pt-source", source], &["leave", "3"]);
        let found = survivors(only_sample(&document));
        assert_eq!(found.len(), 3, "{source}: {found:?}");
        for (pid, fate) in found {
            assert_eq!(fate, "ended", "{source}");
            assert!(!lives(pid), "{source}: {pid} lives on");
        }
        let document = measure(&dir, &[], &["--pt-source", source, "--leave-running"], &["leave", "3"]);
        let found = survivors(only_sample(&document));
        let alive = found.iter().filter(|(pid, fate)| fate == "left" && lives(*pid)).count();
        for (pid, _) in &found {
            if lives(*pid) {
                signal(*pid, libc::SIGKILL);
            }
        }
        assert_eq!((found.len(), alive), (3, 3), "{source}: {found:?}");
    }
}

/// A process that leaves the sample's cgroup is still killed, or reported as living.
#[test]
fn a_process_that_leaves_the_cgroup_is_not_called_ended_while_it_lives() {
    let _lock = shared();
    let root = ["/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"];
    let Some(root) = root.iter().find(|p| std::path::Path::new(p).exists()).filter(|_| is_root()) else {
        return skip("needs root and cgroup v2");
    };
    let dir = folder();
    let script = format!("{} never & echo $! > {root}; echo $! > {}", burner(), dir.path().join("pid").display());
    let mut c = tare(&dir);
    c.args(["run", "--json", "-w0", "-r1", "--", "sh", "-c", &script]);
    let document = json(&mut c, 0);
    let pid: u32 = std::fs::read_to_string(dir.path().join("pid")).expect("pid").trim().parse().expect("a pid");
    let alive = lives(pid);
    if alive {
        signal(pid, libc::SIGKILL);
    }
    let found = survivors(only_sample(&document));
    assert_eq!((found, alive), (vec![(pid, "ended".to_owned())], false), "survivors as reported; it lives");
}

/// A program with leftover processes that keep forking: all are killed.
#[test]
fn a_tree_that_goes_on_forking_is_ended() {
    let _lock = shared();
    for source in ["cgroup", "task-clock"] {
        if source == "cgroup" && !is_root() {
            skip("needs root, for a cgroup");
            continue;
        }
        let dir = folder();
        measure(&dir, &[], &["--pt-source", source], &["leave-forking"]);
        let document = measure(&dir, &[], &["--pt-source", source], &["leave", "300"]);
        let found = survivors(only_sample(&document));
        assert_eq!(found.len(), 300, "{source}");
        assert!(found.iter().all(|(pid, fate)| fate == "ended" && !lives(*pid)), "{source}");
        assert_eq!(processes_with(&format!("{}\0leave-forking", burner())), [0u32; 0], "{source}");
    }
}

/// As the other tests here use it.
#[test]
fn the_majority_of_tries_decides() {
    let decide = |tries: &[bool]| {
        let mut left = tries.iter();
        // Off by more than what a few stolen ticks explain.
        let measure = || (if *left.next().expect("a try") { 100e6 } else { 600e6 }, 100e6);
        let decided = std::panic::AssertUnwindSafe(|| comes_near("made up", 0.01, measure));
        let near = std::panic::catch_unwind(decided).is_ok();
        (near, left.len())
    };
    assert_eq!(decide(&[true, true, false]), (true, 1), "the first two agree");
    assert_eq!(decide(&[false, false, false, true, true]), (false, 2), "three agree");
    assert_eq!(decide(&[false, true, false, true, true]), (true, 0));
    assert_eq!(decide(&[true, false, false, false, true]), (false, 1), "the first good one is not enough");
    assert_eq!(decide(&[true, false, true, false, false]), (false, 0));
}

/// As user nobody, who may run set-user-ID programs.
const NOBODY_WITH_SETUID: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

#[test]
fn a_set_user_id_program_has_the_time_that_wait4_saw() {
    use std::os::unix::fs::PermissionsExt;
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a set-user-ID program");
    }
    let dir = folder();
    let program = dir.path().join("set-user-id");
    std::fs::copy(burner(), &program).expect("copy");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("chmod");
    let taken = |options: &[&str]| {
        let mut c = via(&dir, NOBODY_WITH_SETUID);
        c.args(["run", "--json", "-r2"]).args(options).arg("--").arg(&program).args(["burn-self", "30"]);
        json(&mut c, 0)
    };
    let document = taken(&["-w1"]);
    if source(&document) != "task_clock" {
        return skip("needs perf events for ordinary users");
    }
    for sample in document["samples"].as_array().expect("samples") {
        let times = &sample["process_times"]["value"];
        assert_eq!(
            (&times["source"], &times["check"]["replaced"]),
            (&"wait4".into(), &"task_clock".into()),
            "{times:#}"
        );
        assert!(process_time(sample) >= 0.030, "{times:#}");
    }
    // Without a warm-up the first sample decides.
    for sample in taken(&["-w0"])["samples"].as_array().expect("samples") {
        assert_eq!(sample["process_times"]["value"]["source"], "wait4");
    }
    let mut c = via(&dir, NOBODY_WITH_SETUID);
    c.args(["run", "-w1", "-r2", "--"]).arg(&program).args(["burn-self", "30"]);
    let said = text(&run(&mut c, 0).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("CPU time is from wait4, because perf task-clock counted only"), "{said}");
}

/// A cgroup beside tare's, and its removal.
struct Elsewhere(std::path::PathBuf);

impl Elsewhere {
    fn make(name: &str) -> Elsewhere {
        let own = std::fs::read_to_string("/proc/self/cgroup").expect("own cgroup");
        let own = own.lines().find_map(|l| l.strip_prefix("0::")).expect("cgroup v2");
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let mount = mounts.lines().find(|l| l.contains(" - cgroup2 ")).and_then(|l| l.split(' ').nth(4));
        let path = format!("{}{own}/{name}-{}", mount.expect("cgroup v2"), std::process::id());
        std::fs::create_dir(&path).expect("a cgroup");
        Elsewhere(path.into())
    }

    fn processes(&self) -> String {
        std::fs::read_to_string(self.0.join("cgroup.procs")).expect("its processes")
    }

    /// A shell script that moves there first.
    fn script(&self, then: &str) -> [String; 3] {
        let moves = format!("echo $$ > {}/cgroup.procs || exit 9; {then}", self.0.display());
        ["sh".to_owned(), "-c".to_owned(), moves]
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        for pid in self.processes().lines().filter_map(|l| l.parse().ok()) {
            signal(pid, libc::SIGKILL);
        }
        until("the cgroup is removed", || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_program_that_moves_to_another_cgroup_has_all_its_time() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let (dir, elsewhere) = (folder(), Elsewhere::make("tare-test-time"));
    // Its leftover process has a session of its own, so that only its ancestry tells whose it is.
    let burner = burner();
    let script = elsewhere.script(&format!("{burner} burn-self 40; setsid sleep 1000 & exit 0"));
    let mut c = tare(&dir);
    let document = json(c.args(["run", "--json", "-w0", "-r2", "--"]).args(&script), 0);
    assert_eq!(source(&document), "cgroup");
    for sample in document["samples"].as_array().expect("samples") {
        let times = &sample["process_times"]["value"];
        assert_eq!((&times["source"], &times["check"]["replaced"]), (&"wait4".into(), &"cgroup".into()), "{times:#}");
        assert!(process_time(sample) >= 0.040, "{times:#}");
        let to = times["check"]["moved_to"]["value"].as_str().expect("where it ended");
        assert!(elsewhere.0.ends_with(to.trim_start_matches('/')), "{to}");
        // The exit records count it as the program's, and it is no daemon.
        let exits = times["exit_records"]["value"].as_f64().expect("exit records");
        assert!(exits >= 0.99 * 40e6, "{times:#}");
        assert!(daemons(sample, "burner").is_empty() && daemons(sample, "sh").is_empty(), "{:#}", sample["daemons"]);
        let ended = survivors(sample);
        assert!(ended.len() == 1 && ended[0].1 == "ended" && !lives(ended[0].0), "{ended:?}");
    }
    assert_eq!(elsewhere.processes(), "", "leftover processes end");
    let mut c = tare(&dir);
    let said = text(&run(c.args(["run", "-w0", "-r2", "--"]).args(&script), 0).stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("CPU time is from wait4, because cgroup v2 cpu.stat counted only"), "{said}");
    assert!(said.contains("The program moved to another cgroup"), "{said}");
}

#[test]
fn a_time_limit_ends_a_program_that_moved_to_another_cgroup() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let (dir, elsewhere) = (folder(), Elsewhere::make("tare-test-limit"));
    let mut c = tare(&dir);
    c.args(["run", "--json", "-w0", "-r1", "--timeout", "0.3", "-i", "--"]).args(elsewhere.script("exec sleep 1000"));
    let out = c.output().expect("tare runs");
    assert_eq!(elsewhere.processes(), "", "{}", text(&out.stderr));
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(only_sample(&document)["outcome"]["kind"], "timed_out");
}
