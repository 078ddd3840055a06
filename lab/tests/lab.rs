//! Labs: a PostgreSQL server as the store, and as the queue of agents.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "../../crates/cli/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use common::{folder, json, run, shared, skip, tare, text};
use serde_json::Value;
use server::TestServer;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server with an empty lab, and a folder for the local stores.
struct TestLab {
    server: TestServer,
    url: String,
    dir: TempDir,
}

impl TestLab {
    fn new() -> Option<TestLab> {
        let Some(server) = TestServer::start() else {
            skip("needs PostgreSQL (Debian's package postgresql)");
            return None;
        };
        let database = server.database();
        let url = server.url("postgres", &database);
        let lab = TestLab { server, url, dir: folder() };
        let out = run(lab.tare(&["lab", "init"]).arg(&lab.url), 0);
        let said = text(&out.stdout);
        assert!(said.contains("is a lab") && said.contains("tare_agent"), "{said}");
        let again = text(&run(lab.tare(&["lab", "init"]).arg(&lab.url), 0).stdout);
        assert!(again.contains("up to date"), "{again}");
        Some(lab)
    }

    fn tare(&self, words: &[&str]) -> Command {
        let mut command = tare(&self.dir);
        command.args(words);
        for name in ["PGSERVICE", "PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGPORT"] {
            command.env_remove(name);
        }
        command
    }

    /// A command of the lab.
    fn lab(&self, words: &[&str]) -> Command {
        let (name, rest) = words.split_first().unwrap();
        let mut command = self.tare(&["lab", name, "--db", &self.url]);
        // Callers may add to the last option.
        command.args(rest);
        command
    }

    /// An agent that takes one task.
    fn agent(&self, name: &str) -> Command {
        let mut command = self.lab(&["agent", "--once", "--poll", "0.2s", "--name", name]);
        command.arg("--local").arg(self.dir.path().join(format!("{name}.db")));
        command
    }

    fn submit(&self, campaign: &str) -> Value {
        let file = self.dir.path().join("campaign.toml");
        std::fs::write(&file, campaign).unwrap();
        json(self.lab(&["submit", "--json"]).arg(&file), 0)
    }

    fn status(&self, campaign: &str) -> Value {
        json(&mut self.lab(&["status", campaign, "--json"]), 0)
    }

    fn samples(&self, run: &str, store: &Path) -> Value {
        let out = common::run(self.tare(&["export", run]).arg("--db").arg(store), 0);
        let archive: Value = serde_json::from_slice(&out.stdout).unwrap();
        archive["samples"].clone()
    }
}

const SMALL: &str = "name = 'small'\nsamples = 3\norder = 'rounds'\noptions = ['--warmup', '0']\ntags = { of = 'test' }\n\
                     [[program]]\nlabel = 'a'\ncommand = 'true'\n[[program]]\nlabel = 'b'\ncommand = 'true b'\n";

#[test]
fn a_campaign_is_measured_by_an_agent_and_read_from_the_server() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    let submitted = lab.submit(SMALL);
    assert_eq!((&submitted["summary"]["name"], &submitted["summary"]["tasks"]), (&"small".into(), &1.into()));

    // A paused campaign gives no task.
    run(&mut lab.lab(&["pause", "small"]), 0);
    let out = run(&mut lab.agent("n1"), 0);
    assert!(text(&out.stderr).contains("no task waits for this machine"), "{}", text(&out.stderr));
    run(&mut lab.lab(&["continue", "small"]), 0);
    // Neither does a machine that is drained get one.
    run(&mut lab.lab(&["drain", "n1"]), 0);
    run(&mut lab.agent("n1"), 0);
    assert_eq!(lab.status("small")["summary"]["waiting"], 1);
    run(&mut lab.lab(&["drain", "n1", "--undo"]), 0);

    let out = run(&mut lab.agent("n1"), 0);
    assert!(text(&out.stderr).contains("done: 6 executions"), "{}", text(&out.stderr));
    let status = lab.status("small");
    assert_eq!((&status["summary"]["state"], &status["summary"]["done"]), (&"finished".into(), &1.into()));
    let task = &status["tasks"][0];
    assert_eq!((&task["state"], &task["agent"], &task["attempts"]), (&"done".into(), &"n1".into(), &1.into()));
    let uuid = task["runs"][0].as_str().unwrap().to_owned();

    let results = json(&mut lab.lab(&["results", "small", "--json"]), 0);
    assert_eq!((&results[0]["uuid"], &results[0]["counted"]), (&uuid.as_str().into(), &6.into()));
    assert_eq!(results.as_array().map(Vec::len), Some(1));
    assert_eq!(results[0]["tags"]["of"], "test");
    let exported = lab.dir.path().join("exported");
    run(lab.lab(&["results", "small", "--export"]).arg(&exported), 0);
    assert!(exported.join(format!("run-{uuid}.json")).exists());

    // Other commands read it from the server; both stores have the same samples.
    let listed = json(&mut lab.tare(&["list", "--json", "--db", &lab.url]), 0);
    assert_eq!(listed[0]["uuid"], uuid.as_str());
    let shown = json(&mut lab.tare(&["show", &uuid, "--json", "--db", &lab.url]), 0);
    assert_eq!(shown["samples"].as_array().map(Vec::len), Some(6));
    let local = lab.samples(&uuid, &lab.dir.path().join("n1.db"));
    assert_eq!(local, lab.samples(&uuid, Path::new(&lab.url)));
    assert_eq!(local.as_array().map(Vec::len), Some(6));

    let machines = json(&mut lab.lab(&["machines", "--json"]), 0);
    assert_eq!(machines["machines"][0]["name"], "n1");
    let nodes = json(&mut lab.lab(&["nodes", "small", "--json"]), 0);
    assert_eq!(nodes["report"]["runs"], 1);
    for words in [&["status"][..], &["status", "small"], &["machines"], &["results", "small"], &["nodes", "small"]] {
        let shown = text(&run(&mut lab.lab(words), 0).stdout);
        assert!(
            shown.contains("small") || shown.contains("n1") || shown.contains(&lab.server.url("postgres", "t0")),
            "{shown}"
        );
    }
}

/// It takes connections, and says nothing.
#[test]
fn an_agent_of_a_silent_server_ends_at_a_signal() {
    let _lock = shared();
    let dir = folder();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgresql://me@{}/lab?sslmode=disable", server.local_addr().unwrap());
    let mut agent = tare(&dir);
    agent.args(["lab", "agent", "--db", &url]).env("PGPASSWORD", "secret").stdout(Stdio::null()).stderr(Stdio::piped());
    let agent = agent.spawn().unwrap();
    let _held = server.accept().unwrap();
    common::signal(agent.id(), libc::SIGTERM);
    let began = Instant::now();
    let out = agent.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("interrupted while it waited"), "{}", text(&out.stderr));
}

#[test]
fn what_fails_is_tried_again_and_can_be_cancelled() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    lab.submit("name = 'bad'\nretries = 1\nsamples = 2\noptions = ['-w', '0']\n[[program]]\ncommand = 'false'\n");
    run(&mut lab.agent("n1"), 1);
    let status = lab.status("bad");
    assert_eq!((&status["tasks"][0]["state"], &status["tasks"][0]["attempts"]), (&"waiting".into(), &1.into()));
    let out = run(&mut lab.agent("n1"), 1);
    assert!(text(&out.stderr).contains("failed: "), "{}", text(&out.stderr));
    let status = lab.status("bad");
    assert_eq!((&status["tasks"][0]["state"], &status["summary"]["state"]), (&"failed".into(), &"finished".into()));
    assert!(status["tasks"][0]["message"].as_str().is_some_and(|m| m.contains("exit")), "{status:#}");

    let said = json(&mut lab.lab(&["retry", "bad", "--json"]), 0);
    assert_eq!(said["tasks"], 1);
    assert_eq!(lab.status("bad")["tasks"][0]["state"], "waiting");
    run(&mut lab.lab(&["cancel", "bad"]), 0);
    assert_eq!(lab.status("bad")["tasks"][0]["state"], "cancelled");
    let out = run(&mut lab.agent("n1"), 0);
    assert!(text(&out.stderr).contains("no task waits"), "{}", text(&out.stderr));

    // What is needed and missing fails the task, with what it is.
    let needs = "name = 'needs'\nretries = 0\n[[program]]\ncommand = 'true'\n[needs]\nfiles = ['/no/such/file']\n";
    lab.submit(needs);
    run(&mut lab.agent("n1"), 1);
    let message = lab.status("needs")["tasks"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("/no/such/file"), "{message}");
}

/// An agent that was killed resumes its run from its own store.
#[test]
fn a_killed_agent_resumes_its_task() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    let slow = "name = 'slow'\nsamples = 12\noptions = ['-w', '0']\n[[program]]\ncommand = 'sleep 0.2'\n";
    lab.submit(slow);
    let mut killed = lab.agent("n1").spawn().unwrap();
    let store = lab.dir.path().join("n1.db");
    common::until("three samples are stored", || {
        let out = lab.tare(&["list", "--json", "--db"]).arg(&store).output().unwrap();
        serde_json::from_slice::<Value>(&out.stdout).is_ok_and(|runs| runs[0]["counted"].as_u64() >= Some(3))
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let out = run(&mut lab.agent("n1"), 0);
    assert!(text(&out.stderr).contains("resumes run 1"), "{}", text(&out.stderr));
    let status = lab.status("slow");
    assert_eq!((&status["summary"]["done"], &status["summary"]["samples"]), (&1.into(), &12.into()));
    let listed = json(&mut lab.tare(&["list", "--json", "--db", &lab.url]), 0);
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["counted"]), (Some(1), &12.into()));
}

#[test]
fn a_wrong_campaign_is_refused_before_it_is_queued() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    let refused = |campaign: &str, expected: &str| {
        let file = lab.dir.path().join("wrong.toml");
        std::fs::write(&file, campaign).unwrap();
        let out = run(lab.lab(&["submit"]).arg(&file), 2);
        assert!(text(&out.stderr).contains(expected), "{campaign}: {}", text(&out.stderr));
    };
    refused("sample = 3\n[[program]]\ncommand = 'a'\n", "wrong.toml, line 1, column 1: unknown field `sample`");
    refused("options = ['--no-such']\n[[program]]\ncommand = 'true'\n", "--no-such");
    refused("options = ['--export-csv', 'a']\n[[program]]\ncommand = 'true'\n", "--export-");
    refused("[machines]\nall = true\n[[program]]\ncommand = 'true'\n", "no machine of the lab fits");
    assert_eq!(json(&mut lab.lab(&["status", "--json"]), 0)["campaigns"], serde_json::json!([]));
    let out = run(&mut lab.lab(&["status", "nothing"]), 2);
    assert!(text(&out.stderr).contains("there is no campaign"), "{}", text(&out.stderr));
    // A file is no lab, and neither is a database without the queue.
    let out = run(lab.tare(&["lab", "status", "--db"]).arg(lab.dir.path().join("tare.db")), 2);
    assert!(text(&out.stderr).contains("a lab is a PostgreSQL database"), "{}", text(&out.stderr));
    let other = lab.server.url("postgres", &lab.server.database());
    let out = run(&mut lab.tare(&["lab", "status", "--db", &other]), 2);
    assert!(text(&out.stderr).contains("tare lab init URL"), "{}", text(&out.stderr));
}

#[test]
fn runs_are_pushed_and_pulled() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    run(&mut lab.tare(&["run", "-r", "4", "-w", "0", "--", "true"]), 0);
    let push = ["push", "last", "--json", "--to", &lab.url];
    let pushed = json(&mut lab.tare(&push), 0);
    assert_eq!((&pushed[0]["samples"], &pushed[0]["added"]), (&4.into(), &4.into()));
    assert_eq!(json(&mut lab.tare(&push), 0)[0]["added"], 0);

    // With --push, and with --db, it is measured here and pushed at the end.
    let out = run(&mut lab.tare(&["run", "-r", "3", "-w", "0", "--push", &lab.url, "--", "true"]), 0);
    let said = text(&out.stderr);
    assert!(said.contains("run 2 there, 3 executions, digest equal"), "{said}");
    let out = run(lab.tare(&["run", "-r", "2", "-w", "0", "--db", &lab.url, "--", "true"]).env_remove("TARE_DB"), 0);
    assert!(text(&out.stderr).contains("run 3 there, 2 executions, digest equal"), "{}", text(&out.stderr));

    let copy = lab.dir.path().join("copy.db");
    let pulled = json(lab.tare(&["pull", "--all", "--json", "--from", &lab.url, "--db"]).arg(&copy), 0);
    let samples: Vec<u64> = pulled.as_array().unwrap().iter().map(|r| r["samples"].as_u64().unwrap()).collect();
    assert_eq!(samples, [4, 3, 2]);
    let again = json(lab.tare(&["pull", "--all", "--json", "--from", &lab.url, "--db"]).arg(&copy), 0);
    assert!(again.as_array().unwrap().iter().all(|r| r["added"] == 0), "{again:#}");
    assert_eq!(lab.samples("1", &copy), lab.samples("1", &lab.dir.path().join("tare.db")));
    // Its commands may be another user's, so that `tare resume` shows them first.
    let marked = |out: std::process::Output| text(&out.stdout).contains("1 was imported on");
    assert!(marked(run(lab.tare(&["show", "1", "--db"]).arg(&copy), 0)));
    assert!(
        !marked(run(&mut lab.tare(&["show", "1"]), 0))
            && !marked(run(&mut lab.tare(&["show", "1", "--db", &lab.url]), 0))
    );

    // The result is printed though the server is away.
    let gone = "postgresql://postgres@/lab?host=/no/such/folder";
    let out = run(&mut lab.tare(&["run", "-r", "2", "-w", "0", "--push", gone, "--", "true"]), 4);
    let (shown, said) = (text(&out.stdout), text(&out.stderr));
    assert!(shown.contains("true") && said.contains("was not pushed") && said.contains("tare push 3 --to"), "{said}");
    run(&mut lab.tare(&["run", "--push", "/tmp/file", "--", "true"]), 2);
    run(&mut lab.tare(&["push", "--to", &lab.url]), 2);
    // A password is in no message.
    let secret = "postgresql://postgres:geheim@/lab?host=/no/such/folder";
    let out = run(&mut lab.tare(&["list", "--db", secret]), 4);
    assert!(!text(&out.stderr).contains("geheim"), "{}", text(&out.stderr));
}

/// Whatever measures does so into the local file, also if `TARE_DB` names the server, and pushes what it finished.
#[test]
fn every_measurement_is_stored_here_and_pushed() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    let home = lab.dir.path().join("data");
    let here = home.join("tarebench/tare.db");
    let with_server = |words: &[&str]| {
        let mut c = lab.tare(words);
        c.env("TARE_DB", &lab.url).env("XDG_DATA_HOME", &home).env("TARE_STATE", lab.dir.path().join("state"));
        c
    };
    let uuids = |words: &[&str]| {
        let listed = json(&mut with_server(words), 0);
        listed.as_array().unwrap().iter().map(|r| r["uuid"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let both = |wanted: usize| {
        let there = uuids(&["list", "--json", "--limit", "1000"]);
        assert_eq!(there, uuids(&["list", "--json", "--limit", "1000", "--db", here.to_str().unwrap()]));
        assert_eq!(there.len(), wanted, "{there:?}");
    };
    let pushed = |words: &[&str], what: &str| {
        let out = run(&mut with_server(words), 0);
        assert!(text(&out.stderr).contains(&format!(": {what} there, ")), "{}", text(&out.stderr));
    };
    pushed(&["noise", "--for", "100ms", "--calibrations", "200"], "n1");
    both(1);
    pushed(&["study", "interval-counting", "--rounds", "1", "--longest", "5ms"], "s1");
    both(2);
    // A study's runs are stored for themselves, too.
    pushed(&["study", "et-pt", "--samples", "6", "--longest", "125ms"], "s2");
    both(4);
    assert_eq!(uuids(&["list", "--json", "--kind", "run"]).len(), 1);
    let mut stopped = with_server(&["run", "-r", "30", "-w", "0", "sleep 0.1"]);
    let child = stopped.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    // SAFETY: a plain call; the process has not been waited for.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) };
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    let hint = "resume with: `tare resume 2`";
    assert!(text(&out.stderr).contains(hint), "{}", text(&out.stderr));
    assert_eq!(uuids(&["list", "--json", "--limit", "1000"]).len(), 4, "a run is pushed when it is complete");
    pushed(&["resume", "2"], "run 2");
    both(5);
}

/// Slurm's commands are scripts here: only what tare does with them is tested.
#[test]
fn tasks_of_slurm_leave_archives_that_are_collected() {
    let _shared = shared();
    let Some(lab) = TestLab::new() else { return };
    let programs = lab.dir.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    let scripts = [
        ("sbatch", "echo \"$*\" >>\"$SLURM_LOG\"; echo 77".to_owned()),
        ("squeue", "echo '77_1|RUNNING|node2'".to_owned()),
        ("sacct", "echo 'sacct: error: Problem talking to the database' >&2; exit 1".to_owned()),
        ("scontrol", "echo 'JobId=77 OverSubscribe=NO'".to_owned()),
        ("scancel", "echo \"cancelled $*\" >>\"$SLURM_LOG\"".to_owned()),
    ];
    for (name, text) in scripts {
        let file = programs.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let (log, shared) = (lab.dir.path().join("log"), lab.dir.path().join("shared"));
    let by_slurm = |mut command: Command| {
        command.env("PATH", &path).env("SLURM_LOG", &log).env("TMPDIR", lab.dir.path());
        command
    };
    let file = lab.dir.path().join("campaign.toml");
    std::fs::write(&file, format!("{SMALL}[machines]\ncount = 2\n")).unwrap();
    let mut submit = by_slurm(lab.lab(&["submit", "--engine", "slurm", "--archive", "--account", "of us", "--folder"]));
    run(submit.arg(&shared).arg(&file), 0);
    let asked = std::fs::read_to_string(&log).unwrap();
    for expected in ["--array=0-1", "--exclusive", "--nodes=1", "--acctg-freq=0", "--account=of us"] {
        assert!(asked.contains(expected), "{expected}: {asked}");
    }

    let mut task = by_slurm(lab.tare(&["lab", "task"]));
    let out = run(task.arg(&shared).arg("0").env("SLURM_JOB_ID", "77").env("SLURMD_NODENAME", "node1"), 0);
    assert!(text(&out.stderr).contains("its archive is"), "{}", text(&out.stderr));
    assert!(shared.join("results/task-0.json").exists());
    // Accounting does not answer, which is said, and changes nothing.
    let out = run(&mut by_slurm(lab.lab(&["status", "small", "--json"])), 0);
    assert!(text(&out.stderr).contains("states may be old: sacct failed"), "{}", text(&out.stderr));
    let status: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&status["tasks"][0]["state"], &status["tasks"][1]["state"]), (&"waiting".into(), &"leased".into()));

    let collected = json(&mut by_slurm(lab.lab(&["collect", "small", "--json"])), 0);
    assert_eq!((&collected["collected"], &collected["left"]), (&serde_json::json!([[0, 6]]), &1.into()));
    let task = lab.status("small")["tasks"][0].clone();
    assert_eq!((&task["state"], &task["exclusive"]), (&"done".into(), &true.into()));
    assert!(shared.join("collected/task-0.json").exists() && !shared.join("results/task-0.json").exists());
    let again = json(&mut by_slurm(lab.lab(&["collect", "small", "--json"])), 0);
    assert_eq!(again["collected"], serde_json::json!([]));

    // Another task's archive is no result of this one.
    std::fs::copy(shared.join("collected/task-0.json"), shared.join("results/task-1.json")).unwrap();
    let out = run(&mut by_slurm(lab.lab(&["collect", "small"])), 4);
    assert!(text(&out.stderr).contains("is no run of this task"), "{}", text(&out.stderr));
    std::fs::remove_file(shared.join("results/task-1.json")).unwrap();
    // A node that reaches the lab pushes by itself.
    let mut task = by_slurm(lab.tare(&["lab", "task"]));
    task.arg(&shared).args(["1", "--push", &lab.url]).env("SLURM_JOB_ID", "78").env("SLURMD_NODENAME", "node2");
    let out = run(&mut task, 0);
    assert!(text(&out.stderr).contains("done: 6 executions"), "{}", text(&out.stderr));
    let summary = lab.status("small")["summary"].clone();
    assert_eq!((&summary["done"], &summary["samples"]), (&2.into(), &12.into()));
}

/// The small command goes on as this program, with the same arguments and exit code, wherever a lab or a server is named.
#[test]
fn tare_goes_on_as_the_larger_program() {
    let _beside = shared();
    let Some(lab) = TestLab::new() else { return };
    let small = Path::new(common::TARE).with_file_name("tare");
    assert!(small.exists(), "cargo test --workspace builds {}", small.display());
    let call = |words: &[&str], code: i32| {
        let mut c = Command::new(&small);
        c.args(words).env("TARE_DB", lab.dir.path().join("small.db")).env("HOME", lab.dir.path());
        text(&run(&mut c, code).stdout)
    };
    call(&["run", "-w0", "-r2", "--push", &lab.url, "--", "/bin/true"], 0);
    assert!(call(&["list", "--db", &lab.url], 0).contains("/bin/true"));
    assert!(call(&["lab", "machines", "--db", &lab.url], 0).contains("no machine"));
    assert!(call(&["lab", "--help"], 0).contains("Usage: tare lab <COMMAND>"));
    assert!(call(&["help", "lab"], 0).contains("submit") && call(&["help", "study"], 0).contains("et-pt"));
    call(&["lab", "status", "none", "--db", &lab.url], 2);
    // The commands of both.
    assert!(call(&["completions", "bash"], 0).contains("tare__subcmd__lab__subcmd__submit"));
}
