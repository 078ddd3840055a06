//! `tare gate` with real repositories: its verdicts and exit codes, its builds, and what is left of it after a kill.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

fn git(repo: &Path, args: &[&str]) -> String {
    let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let out = Command::new("git").arg("-C").arg(repo).args(set).args(args).output().expect("git");
    assert!(out.status.success(), "git {args:?}: {}", text(&out.stderr));
    text(&out.stdout).trim().to_owned()
}

/// A repository in the folder `repo` without commits.
fn repository(dir: &TempDir) -> PathBuf {
    let repo = dir.path().join("repo");
    fs::create_dir(&repo).expect("a folder");
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    repo
}

fn commit(repo: &Path, message: &str) -> String {
    git(repo, &["add", "."]);
    git(repo, &["commit", "--quiet", "--allow-empty", "-m", message]);
    git(repo, &["rev-parse", "HEAD"])
}

fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).expect("write");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
}

/// `tare gate` started in a folder, with its cache below the test's folder.
fn gate(dir: &TempDir, start: &Path) -> Command {
    let mut c = started_in(dir, start);
    c.arg("gate");
    c
}

fn started_in(dir: &TempDir, start: &Path) -> Command {
    let mut c = tare(dir);
    c.current_dir(start).env("XDG_CACHE_HOME", dir.path().join("cache"));
    for name in ["GITHUB_STEP_SUMMARY", "CARGO_TARGET_DIR"] {
        c.env_remove(name);
    }
    c
}

/// Entries of the cache: names of work trees, and of other files.
fn cached(dir: &TempDir) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let repositories = below(&dir.path().join("cache/tare/gate")).filter(|p| p.is_dir());
    repositories.flat_map(|r| below(&r).collect::<Vec<_>>()).partition(|p| p.is_dir())
}

/// Work trees without the mark of a whole build.
fn half_made(dir: &TempDir) -> Vec<PathBuf> {
    let (trees, _) = cached(dir);
    trees.into_iter().filter(|t| !PathBuf::from(format!("{}.built", t.display())).exists()).collect()
}

fn benchmark<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["report"]["benchmarks"].as_array().expect("benchmarks");
    all.iter().find(|b| b["name"] == name).unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

fn logs(document: &Value, number: usize) -> usize {
    document["gate"]["measured"][number]["logs"].as_array().expect("logs").len()
}

/// Google Benchmark's own `compare.py` reads both files, and finds the change of CPU time.
fn compared_by_google_benchmark(folder: &Path) {
    let script = "/usr/share/benchmark/compare.py";
    if !Path::new(script).exists() {
        return skip("needs compare.py of libbenchmark-tools");
    }
    let mut c = Command::new("/usr/bin/python3");
    let said = text(
        &run(c.args([script, "--no-color", "benchmarks", "base.json", "head.json"]).current_dir(folder), 0).stdout,
    );
    let row =
        |name: &str| said.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}: {said}")).to_owned();
    for (name, change) in [("slower", 0.25), ("same", 0.0), ("faster", -0.25)] {
        let row = row(name);
        let cpu: f64 = row.split_whitespace().nth(2).expect("a column").parse().expect("a change");
        assert!((cpu - change).abs() < 0.06, "{row}");
    }
}

/// The program reads its amount of work from a file of its build, in a folder of the repository, so that it must be built and
/// started where it belongs. Work that differs by 25% is twelve times beyond the bound of 2%, and a block's ratio varies by a per cent
/// or so, beside other tests by up to ten. Unchanged work has a bound of 20% for the same reason.
#[test]
fn each_benchmark_of_a_suite_has_its_verdict() {
    let _lock = shared();
    // Programs of less than 40 ms have no duets, and the machine may be faster now than when the rounds were counted.
    let (dir, rounds) = (folder(), rounds(80));
    let repo = repository(&dir);
    let sub = repo.join("sub");
    fs::create_dir(&sub).unwrap();
    script(&sub.join("prog"), &format!("read count < built.$1\nexec {} loop $count", burner()));
    let work = |name: &str, share: f64| {
        fs::write(sub.join(name), format!("{}\n", (rounds as f64 * share) as u64)).unwrap();
    };
    for name in ["slower", "same", "faster"] {
        work(name, 1.0);
    }
    let suite = "
        name = 'suite'
        base = 'old'
        build = 'for f in slower same faster; do cp $f built.$f; done'
        max-blocks = 54
        [[benchmark]]
        name = 'slower'
        command = './prog slower'
        [[benchmark]]
        name = 'same'
        command = './prog same'
        threshold = '20%'
        [[benchmark]]
        name = 'faster'
        command = './prog faster'
    ";
    fs::write(sub.join("tare.toml"), suite).unwrap();
    let base = commit(&repo, "base");
    git(&repo, &["branch", "old"]);
    work("slower", 1.25);
    work("faster", 0.75);
    let head = commit(&repo, "head\n\nwith a body");
    let job = dir.path().join("job.md");
    fs::write(&job, "before\n").unwrap();
    let exports =
        ["--summary", "s.md", "--google-benchmark", "google", "--bmf", "b.json", "--custom-smaller", "c.json"];
    let mut c = gate(&dir, &sub);
    c.args(["tare.toml", "--json", "-"]).args(exports).env("GITHUB_STEP_SUMMARY", &job);
    let d = json(&mut c, 5);
    assert_eq!(d["report"]["verdict"], "regression");
    for (name, verdict, ratio) in
        [("slower", "regression", 1.25), ("same", "pass", 1.0), ("faster", "improvement", 0.75)]
    {
        let b = benchmark(&d, name);
        assert_eq!(b["verdict"], verdict, "{b:#}");
        // Other tests run beside it: then the interval says how well the ratio is known.
        let interval = &b["interval"]["Ok"];
        let holds = (interval["low"].as_f64().unwrap()..=interval["high"].as_f64().unwrap()).contains(&ratio);
        assert!(holds || (b["ratio"].as_f64().unwrap() - ratio).abs() < 0.03, "{b:#}");
        assert!(b["blocks"].as_u64().unwrap() >= 10);
    }
    let plan = &d["gate"]["plan"];
    assert_eq!((plan["base"]["commit"].as_str(), plan["head"]["commit"].as_str()), (Some(&*base), Some(&*head)));
    assert_eq!((plan["base"]["name"].as_str(), plan["head"]["subject"].as_str()), (Some("old"), Some("head")));
    assert!(plan["base"]["folder"].as_str().unwrap().ends_with("/sub"));
    let measured = &d["gate"]["measured"][0];
    assert_eq!(measured["basis"], "duets", "{measured:#}");
    // What others read.
    let summary = fs::read_to_string(sub.join("s.md")).unwrap();
    let job = fs::read_to_string(job).unwrap();
    assert!(summary.contains("slower") && job.starts_with("before\n") && job.ends_with(&summary), "{job}");
    for file in ["google/base.json", "google/head.json", "b.json", "c.json"] {
        let text = fs::read_to_string(sub.join(file)).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok() && text.contains("slower"), "{file}: {text}");
    }
    compared_by_google_benchmark(&sub.join("google"));
    // What is stored.
    let (trees, files) = cached(&dir);
    assert_eq!((trees.len(), half_made(&dir).len()), (1, 0), "{trees:?} {files:?}");
    assert!(trees[0].file_name().unwrap().to_string_lossy().starts_with(&base));
    let run_number = d["gate"]["measured"][0]["run"].as_i64().unwrap().to_string();
    let shown = text(&run(tare(&dir).args(["show", &run_number, "--full"]), 0).stdout);
    assert!(shown.contains("slower (head)") && shown.contains("/repo/sub"), "{shown}");
    let refused = run(started_in(&dir, &sub).args(["resume", "g1"]), 2);
    assert!(text(&refused.stderr).contains("g1 is finished"), "{}", text(&refused.stderr));
}

/// The steps of both templates, as their runners execute them, with this command: a regression fails the job, after the results were
/// kept; unchanged work passes.
#[test]
fn both_templates_run_a_gate() {
    let _lock = shared();
    let (dir, rounds) = (folder(), rounds(60));
    let repo = repository(&dir);
    script(&repo.join("prog"), &format!("read count < built\nexec {} loop $count", burner()));
    let work = |share: f64| fs::write(repo.join("count"), format!("{}\n", (rounds as f64 * share) as u64)).unwrap();
    work(1.0);
    let first = commit(&repo, "first");
    work(1.2);
    let slower = commit(&repo, "slower");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let result = dir.path().join("result");
    let template = |runner: &str, inputs: &[(&str, &str)], context: [&str; 2], code: i32| {
        let mut c = Command::new("/usr/bin/python3");
        c.arg(root.join("scripts/run-ci-template.py")).arg(runner).arg("--repository").arg(&repo);
        c.args(["--tare", TARE]).args(context).arg("--result").arg(&result);
        c.arg("--artifacts").arg(dir.path().join("kept")).arg("--summary").arg(dir.path().join("summary"));
        for (name, value) in inputs {
            c.arg("--input").arg(format!("{name}={value}"));
        }
        for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME"] {
            c.env(name, dir.path());
        }
        run(c.env("TARE_DB", dir.path().join("tare.db")).env_remove("CARGO_TARGET_DIR"), code);
        let read = |path: &Path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
        (read(&result), read(&dir.path().join("kept/tare-gate/gate.json"))["report"]["verdict"].clone())
    };
    let build = "cp count built";
    let github = [("commands", "./prog"), ("build", build), ("options", "--max-blocks\n54")];
    let before = format!("event.before={first}");
    let (kept, verdict) = template("github", &github, ["--context", &before], 5);
    assert_eq!((&verdict, &kept["outputs"]["exit-code"]), (&"regression".into(), &"5".into()), "{kept:#}");
    let summary = fs::read_to_string(dir.path().join("summary")).unwrap();
    assert!(summary.contains("./prog") && summary.contains("regression"), "{summary}");
    let gitlab =
        [("TARE_GATE_COMMANDS", "./prog"), ("TARE_GATE_BUILD", build), ("TARE_GATE_OPTIONS", "--max-blocks\n54")];
    let since = format!("CI_MERGE_REQUEST_DIFF_BASE_SHA={first}");
    let (kept, verdict) = template("gitlab", &gitlab, ["--env", &since], 5);
    assert_eq!((&verdict, &kept["steps"][0]["conclusion"]), (&"regression".into(), &"failure".into()), "{kept:#}");
    commit(&repo, "the same work");
    let unchanged = [github[0], github[1], ("options", "--max-blocks\n54\n--threshold\n20%")];
    let before = format!("event.before={slower}");
    let (kept, verdict) = template("github", &unchanged, ["--context", &before], 0);
    assert_eq!(verdict, "pass", "{kept:#}");
}

/// Without git, and with as many builds as folders.
#[test]
fn unchanged_folders_pass() {
    let _lock = shared();
    let dir = folder();
    for side in ["old", "new"] {
        fs::create_dir(dir.path().join(side)).unwrap();
    }
    let command = format!("{} burn-self 60", burner());
    let mut c = gate(&dir, &dir.path().join("new"));
    c.args([
        "--base-dir",
        "../old",
        "--threshold",
        "20%",
        "--max-blocks",
        "24",
        "--build",
        "touch built",
        "--no-control",
    ]);
    let d = json(c.args(["--json", "-", "-n", "burn"]).arg(&command), 0);
    assert_eq!((&d["report"]["verdict"], benchmark(&d, "burn")["control"].is_null()), (&"pass".into(), true));
    assert!(d["gate"]["plan"]["base"]["commit"].is_null());
    for side in ["old", "new"] {
        assert!(dir.path().join(side).join("built").exists(), "{side}");
    }
    assert_eq!(cached(&dir).0, Vec::<PathBuf>::new());
    // The same folder is no base.
    let same = run(gate(&dir, &dir.path().join("new")).args(["--base-dir", ".", "true"]), 2);
    assert!(text(&same.stderr).contains("it is the folder of the head"), "{}", text(&same.stderr));
}

#[test]
fn a_program_that_fails_is_exit_code_1_and_the_others_are_measured() {
    let _lock = shared();
    let dir = folder();
    let repo = repository(&dir);
    script(&repo.join("fails"), "exit 0");
    commit(&repo, "base");
    script(&repo.join("fails"), "echo no such luck >&2; exit 3");
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD", "--threshold", "50%", "--max-blocks", "10", "./fails", "true"]);
    let out = run(&mut c, 1);
    let said = text(&out.stderr);
    assert!(said.contains("./fails could not be measured") && said.contains("no such luck"), "{said}");
    let mut c = gate(&dir, &repo);
    let options = ["--base", "HEAD", "--threshold", "50%", "--max-blocks", "10", "--json", "-", "--db", "none"];
    let d = json(c.args(options).args(["./fails", "true"]), 1);
    assert_eq!((&d["report"]["verdict"], logs(&d, 0), logs(&d, 1)), (&"failed".into(), 0, 10));
    assert_eq!(
        (&d["gate"]["plan"]["head"]["modified"], &d["gate"]["measured"][1]["run"]),
        (&true.into(), &Value::Null)
    );
    // A misspelled program is found before anything is measured.
    let out = run(gate(&dir, &repo).args(["--base", "HEAD", "./fials"]), 2);
    assert!(text(&out.stderr).contains("`./fials` cannot be started"), "{}", text(&out.stderr));
}

/// Both need the same lock, which they have one after the other.
#[test]
fn programs_that_fail_together_only_are_compared_in_rounds() {
    // Beside others on its CPU it seems to sleep.
    let _lock = alone();
    let dir = folder();
    let repo = repository(&dir);
    let lock = dir.path().join("lock");
    let (lock, burner) = (lock.display(), burner());
    script(&repo.join("prog"), &format!("mkdir {lock} || exit 7\n{burner} burn-self 60\nrmdir {lock}"));
    commit(&repo, "base");
    let mut c = gate(&dir, &repo);
    let options = ["--base", "HEAD", "--max-blocks", "6", "--no-control", "--threshold", "50%", "--json", "-"];
    let d = json(c.args(options).arg("./prog"), 0);
    let measured = &d["gate"]["measured"][0];
    assert_eq!((&measured["no_duets"]["kind"], &measured["basis"]), (&"fails".into(), &"alone".into()), "{measured:#}");
    assert_eq!(logs(&d, 0), 6);
}

#[test]
fn a_build_that_fails_is_exit_code_1_and_nothing_is_measured() {
    let _lock = shared();
    let dir = folder();
    let repo = repository(&dir);
    commit(&repo, "base");
    fs::write(repo.join("new"), "").unwrap();
    commit(&repo, "head");
    let build = |command: &str| {
        let out = run(gate(&dir, &repo).args(["--base", "HEAD~1", "--build", command, "true"]), 1);
        text(&out.stderr)
    };
    let said = build("echo oops; exit 3");
    assert!(said.contains("oops\n") && said.contains("the head could not be built"), "{said}");
    assert!(said.contains("exit status 3") && cached(&dir).0.is_empty(), "{said}");
    let said = build("test -e new || { echo not here >&2; exit 4; }");
    assert!(said.contains("not here\n") && said.contains("the base could not be built"), "{said}");
    assert_eq!(half_made(&dir).len(), 1);
    assert_eq!(text(&run(tare(&dir).args(["list", "--json"]), 0).stdout).trim(), "[]");
    // The next start removes it.
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD~1", "--budget", "1us", "--inconclusive", "fail", "true"]);
    let said = text(&run(&mut c, 6).stderr);
    assert!(said.contains("1 of 1 benchmarks could not be decided") && said.contains("raise --budget"), "{said}");
    assert_eq!((cached(&dir).0.len(), half_made(&dir).len()), (1, 0));
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let _lock = shared();
    let dir = folder();
    let repo = repository(&dir);
    let refused = |start: &Path, args: &[&str], said: &str| {
        let out = run(gate(&dir, start).args(args), 2);
        let stderr = text(&out.stderr);
        assert!(stderr.contains(said), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().filter(|l| l.starts_with("tare:")).count(), 1, "{args:?}: {stderr}");
    };
    refused(&repo, &["--base", "HEAD", "true"], "has no commit yet");
    commit(&repo, "first");
    refused(&repo, &["true"], "there is no base to compare with");
    refused(&repo, &["--base", "nowhere", "true"], "there is no revision `nowhere`");
    refused(&repo, &["--base", "", "true"], "expected a revision");
    refused(dir.path(), &["--base", "HEAD", "true"], "is in no git repository");
    refused(&repo, &["--base-dir", "none", "true"], "the base none: No such file");
    refused(&repo, &["--base", "HEAD", "true", "true"], "two benchmarks have the name `true`");
    refused(&repo, &["--base", "HEAD", "-n", "a", "-n", "b", "true"], "2 names (-n) for 1 commands");
    refused(&repo, &["--base", "HEAD", "echo 'a"], "a quote is not closed");
    refused(&repo, &["--base", "HEAD", "--cpus", "4000", "true"], "CPU 4000 is not among");
    refused(&repo, &["--base", "HEAD", "--summary", "-", "--json", "-", "true"], "more than one export");
    refused(&repo, &["--base", "HEAD", "--bmf", "/proc/none", "true"], "export file /proc/none");
    refused(&repo, &["none.toml", "--base", "HEAD"], "none.toml: No such file");
    fs::write(repo.join("bad.toml"), "[[benchmark]]\ncommand = 'true'\nthreshold = '2'\n").unwrap();
    refused(&repo, &["bad.toml", "--base", "HEAD"], "bad.toml, line 3, column 13: `2`: expected a share");
    refused(&repo, &["bad.toml", "-n", "a"], "--name with a suite file");
    let mut no_git = gate(&dir, &repo);
    no_git.args(["--base", "HEAD", "true"]).env("PATH", dir.path());
    assert!(text(&run(&mut no_git, 2).stderr).contains("git is not installed"));
    assert_eq!(text(&run(tare(&dir).args(["list", "--json"]), 0).stdout).trim(), "[]");
}

/// The newest builds stay, a build that another process holds stays, and what is half made goes.
#[test]
fn old_builds_are_removed() {
    let _lock = shared();
    let dir = folder();
    let repo = repository(&dir);
    let commits: Vec<String> = (0..6).map(|n| commit(&repo, &format!("number {n}"))).collect();
    let compare_with = |revision: &str| {
        let mut c = gate(&dir, &repo);
        text(&run(c.args(["--base", revision, "--build", "true", "--budget", "1us", "true"]), 0).stderr)
    };
    let built = |commit: &str| cached(&dir).0.iter().any(|t| t.to_string_lossy().contains(commit));
    compare_with(&commits[0]);
    let (trees, _) = cached(&dir);
    let held = fs::File::open(format!("{}.lock", trees[0].display())).unwrap();
    // SAFETY: a valid descriptor.
    assert_eq!(unsafe { libc::flock(held.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }, 0);
    let left = trees[0].with_file_name(format!("{}-0123456789abcdef", commits[5]));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("file"), "").unwrap();
    for revision in &commits[1..5] {
        compare_with(revision);
    }
    assert!(!left.exists());
    assert!(built(&commits[0]) && !built(&commits[1]) && built(&commits[2]) && built(&commits[4]));
    assert_eq!(cached(&dir).0.len(), 4);
    assert_eq!(git(&repo, &["worktree", "list"]).lines().count(), 5);
    assert!(compare_with(&commits[4]).contains("is used again"));
    drop(held);
    compare_with(&commits[4]);
    assert!(!built(&commits[0]) && cached(&dir).0.len() == 3);
    assert_eq!(git(&repo, &["worktree", "list"]).lines().count(), 4);
}

/// What a build has started ends with tare, or when the next one starts.
#[test]
fn a_kill_in_a_build_leaves_nothing() {
    let _lock = shared();
    let dir = folder();
    let repo = repository(&dir);
    commit(&repo, "base");
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD", "--build", "sleep 97541; true", "true"]).stderr(Stdio::null());
    let mut child = c.spawn().expect("start tare");
    let sleeps = || processes_with("sleep\x0097541").len();
    until("the build runs", || sleeps() == 1);
    child.kill().expect("kill");
    child.wait().expect("reap");
    let mut c = gate(&dir, &repo);
    run(c.args(["--base", "HEAD", "--budget", "1us", "true"]), 0);
    assert_eq!((sleeps(), half_made(&dir).len()), (0, 0));
    // An interrupt ends the build at once.
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD", "--build", "sleep 97541; true", "true"]).stderr(Stdio::piped());
    let child = c.spawn().expect("start tare");
    until("the build runs", || sleeps() == 1);
    signal(child.id(), libc::SIGINT);
    let out = child.wait_with_output().expect("reap");
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    until("the build has ended", || sleeps() == 0);
}

/// A repository of which both commits are the same program.
fn burning(dir: &TempDir, ms: u32) -> PathBuf {
    let repo = repository(dir);
    script(&repo.join("prog"), &format!("exec {} burn-self {ms}", burner()));
    commit(&repo, "base");
    commit(&repo, "head");
    repo
}

#[test]
fn a_gate_is_resumed_after_a_kill() {
    let _lock = shared();
    let dir = folder();
    let repo = burning(&dir, 60);
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD~1", "--max-blocks", "12", "--threshold", "50%", "./prog"]);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    until("there are duets", || {
        let out = tare(&dir).args(["export", "last"]).output().expect("export");
        serde_json::from_slice::<Value>(&out.stdout).is_ok_and(|a| a["duets"].as_array().is_some_and(|d| d.len() >= 6))
    });
    child.kill().expect("kill");
    child.wait().expect("reap");
    let d = json(started_in(&dir, &repo).args(["resume", "g1", "--json"]), 0);
    assert_eq!((&d["report"]["verdict"], logs(&d, 0)), (&"pass".into(), 12));
    assert_eq!(d["gate"]["measured"][0]["control_logs"].as_array().map(Vec::len), Some(12));
    let runs = text(&run(tare(&dir).args(["list", "--json"]), 0).stdout);
    let runs: Value = serde_json::from_str(&runs).unwrap();
    let programs = runs.as_array().unwrap().iter().filter(|r| r["kind"] == "run").count();
    assert_eq!(programs, 1, "the same run: {runs:#}");
    assert_eq!(leaves_of(child.id()), Vec::<PathBuf>::new());
    // Another head is another gate.
    let mut c = gate(&dir, &repo);
    c.args(["--base", "HEAD~1", "--max-blocks", "100", "--threshold", "50%", "--budget", "10min", "sleep 97542"]);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
    until("it measures", || !processes_with("sleep\x0097542").is_empty());
    child.kill().expect("kill");
    child.wait().expect("reap");
    commit(&repo, "another");
    let out = run(started_in(&dir, &repo).args(["resume", "g2"]), 2);
    assert!(text(&out.stderr).contains("is not the revision that it was"), "{}", text(&out.stderr));
    until("its programs have ended", || processes_with("sleep\x0097542").is_empty());
}

/// Numbers below `most`, the same in every run of the test.
fn random(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

/// Kills at random moments of a duet run and of a gate with its builds: afterwards, at the latest when the next tare starts, there
/// is no process of it, no cgroup and no half-made work tree, and resuming completes the measurement.
#[test]
#[ignore = "slow: a hundred kills, each with a resumption (make slow)"]
fn a_hundred_kills_leave_nothing_behind() {
    let _lock = shared();
    let (mut state, mut resumed) = (7, [0; 2]);
    for round in 0..100 {
        let dir = folder();
        let repo = burning(&dir, 50);
        // Their command lines name the folder.
        let marked = dir.path().join("repo/program").display().to_string();
        fs::copy(burner(), &marked).unwrap();
        let command = format!("{marked} burn-self 50");
        let is_gate = round % 2 == 1;
        let mut c = if is_gate { gate(&dir, &repo) } else { started_in(&dir, &repo) };
        let build = "sleep 0.2; true";
        match is_gate {
            true => {
                c.args(["--base", "HEAD~1", "--max-blocks", "6", "--threshold", "50%", "--build", build]).arg(&command)
            }
            false => c.args(["run", "--order", "duet", "-w1", "-r6"]).args([&command, &command]),
        };
        let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start tare");
        std::thread::sleep(Duration::from_micros(random(&mut state, if is_gate { 3_500_000 } else { 2_000_000 })));
        child.kill().expect("kill");
        child.wait().expect("reap");
        let what = if is_gate { "g1" } else { "1" };
        let exists = tare(&dir).args(["export", what]).output().expect("export").status.success();
        let next = started_in(&dir, &repo).args(["resume", what, "--json"]).output().expect("resume");
        match next.status.code() {
            // It had ended before the kill, or had not begun.
            Some(2 | 4) if !exists || text(&next.stderr).contains("is finished") => {
                let mut c = gate(&dir, &repo);
                run(c.args(["--base", "HEAD~1", "--budget", "200ms", "--build", build]).arg(&command), 0);
            }
            Some(0) => {
                resumed[usize::from(is_gate)] += 1;
                let d: Value = serde_json::from_slice(&next.stdout).expect("JSON");
                match is_gate {
                    true => assert_eq!(logs(&d, 0), 6, "round {round}"),
                    false => assert_eq!(d["report"]["comparisons"][0]["pairs"], 6, "round {round}"),
                }
            }
            code => panic!("round {round}: {code:?}: {}", text(&next.stderr)),
        }
        assert_eq!(processes_with(&marked), Vec::<u32>::new(), "round {round}");
        assert_eq!(leaves_of(child.id()), Vec::<PathBuf>::new(), "round {round}");
        assert_eq!(half_made(&dir), Vec::<PathBuf>::new(), "round {round}");
    }
    eprintln!("resumed: {} duet runs, {} gates", resumed[0], resumed[1]);
    assert!(resumed.iter().all(|n| *n >= 20), "too few of the kills hit a measurement: {resumed:?}");
}
