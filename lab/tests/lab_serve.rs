//! `tare lab serve` against a PostgreSQL server: every page, its headers, live events, and what is refused.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "../../crates/cli/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use common::{TARE, folder, run, skip, tare, text};
use server::TestServer;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tarebench::core::base::reading::Reading;
use tarebench::core::base::units::Nanos;
use tarebench::core::machine::data::Host;
use tarebench_lab::data::campaign::{Campaign, CampaignNeeds, CampaignProgram, CampaignRepeat, MachineChoice};
use tarebench_lab::data::state::{LabEngine, LabMachine, LabMachineState};
use tarebench_lab::data::tasks::LabTaskPlan;
use tarebench_lab::postgres::PostgresPlace;
use tarebench_lab::server::Lab;
use tempfile::TempDir;

const HOSTILE: &str = "<script>window.hacked = 1</script>\"'> \u{202e}gnp";
const MACHINES: usize = 100;
const TASKS: u32 = 1_000;

/// `tare lab serve`, and its port.
struct Serving {
    child: Child,
    port: u16,
}

impl Serving {
    fn start(dir: &TempDir, url: &str, more: &[&str]) -> Serving {
        let mut c = tare(dir);
        c.args(["lab", "serve", "--db", url, "--listen", "127.0.0.1:0"]).args(more).stdout(Stdio::piped());
        let mut child = c.spawn().expect("start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening on http://127.0.0.1:").expect(&line);
        Serving { port: port.trim_end_matches('/').parse().unwrap(), child }
    }

    fn signalled(mut self, signal: i32) -> Option<i32> {
        // SAFETY: a plain call; the process has not been waited for.
        unsafe { libc::kill(i32::try_from(self.child.id()).unwrap(), signal) };
        self.child.wait().unwrap().code()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Answer::read(&text(&all))
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", self.port))
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answer {
    fn read(all: &str) -> Answer {
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {all:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(k, v)| (k.to_lowercase(), v.to_owned())).unwrap();
        Answer { status, headers: lines.map(header).collect(), body: body.to_owned() }
    }
}

fn machine(name: &str) -> LabMachine {
    let known = |t: &str| Reading::Value(t.to_owned());
    let host = Host {
        name: name.to_owned(),
        machine: "1".repeat(16),
        boot: known("b"),
        kernel: "6.1.0".to_owned(),
        kernel_version: "#1".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: known("Debian"),
        cpu: known("a CPU"),
        microcode: known("0x1"),
        cpus: 2,
        memory: Reading::Value(1 << 30),
        hypervisor: known("none"),
        clock_source: known("tsc"),
        cycle_counter_hz: Reading::Value(1e9),
    };
    LabMachine {
        name: name.to_owned(),
        owner: String::new(),
        tags: BTreeMap::from([("rack".to_owned(), HOSTILE.to_owned())]),
        machine: "1".repeat(16),
        fingerprint: "f".repeat(16),
        host,
        factors: Vec::new(),
        version: "0.1.0".to_owned(),
        state: LabMachineState::Idle,
        load: Some(0.5),
        first_seen: Nanos(0),
        heartbeat: Nanos(0),
        task: None,
        draining: false,
    }
}

/// 100 machines, one with a hostile name, and 1,000 tasks, of which some were taken and one failed. Returns the
/// campaign's number.
fn fill(lab: &mut Lab) -> i64 {
    lab.announce(&machine(HOSTILE)).unwrap();
    for i in 1..MACHINES {
        lab.announce(&machine(&format!("node{i:03}"))).unwrap();
    }
    let program = CampaignProgram { command: format!("echo '{HOSTILE}'"), ..CampaignProgram::default() };
    let campaign = Campaign {
        name: HOSTILE.to_owned(),
        programs: vec![program],
        parameters: BTreeMap::new(),
        options: Vec::new(),
        tags: BTreeMap::new(),
        machines: MachineChoice::All,
        repeat: CampaignRepeat::Once,
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 0,
    };
    let task = |ordinal: u32| LabTaskPlan {
        uuid: format!("{ordinal:032x}"),
        ordinal,
        repetition: ordinal / 100,
        not_before: Nanos(0),
        machine: None,
        fits: MachineChoice::All,
        arguments: vec!["true".to_owned()],
        needs: CampaignNeeds::default(),
        time_limit: None,
        retries: 0,
        tags: BTreeMap::new(),
    };
    let tasks: Vec<LabTaskPlan> = (0..TASKS).map(task).collect();
    let submitted = lab.submit(&campaign, LabEngine::Agents, "name = \"x\"\n", &tasks, None).unwrap();
    let minute = Nanos::from_secs_f64(60.0);
    for name in ["node001", "node002"] {
        assert!(lab.take(name, minute).unwrap().is_some());
    }
    let failed = lab.take(HOSTILE, minute).unwrap().unwrap();
    lab.fail(&failed.held, &format!("no such file: {HOSTILE}")).unwrap();
    submitted.id
}

fn lab(url: &str) -> Lab {
    Lab::connect(&PostgresPlace::parse(url, &|_| None).unwrap()).unwrap()
}

fn has_headers(answer: &Answer) {
    let csp = &answer.headers["content-security-policy"];
    assert!(csp.contains("default-src 'none'") && csp.contains("frame-ancestors 'none'"), "{csp}");
    let scripts = csp.split("; ").find(|d| d.starts_with("script-src")).unwrap_or_default();
    assert!(!scripts.contains("unsafe") && !csp.contains("http"), "{csp}");
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cache-control", "no-store")]
    {
        assert_eq!(answer.headers.get(name).map(String::as_str), Some(value), "{name}");
    }
}

fn is_harmless(body: &str) {
    assert!(body.contains("&lt;script&gt;window.hacked"), "the hostile name is not shown");
    assert!(!body.contains("<script>window") && !body.contains('\u{202e}'), "the hostile name is not text");
}

#[test]
fn a_lab_is_served() {
    let Some(mut cluster) = TestServer::start() else { return skip("PostgreSQL is not installed") };
    let (dir, url) = (folder(), cluster.url("postgres", &cluster.database()));
    run(tare(&dir).args(["lab", "init", &url]), 0);
    for name in ["one", "two"] {
        run(tare(&dir).args(["run", "--runs", "6", "--style", "none", "-n", name, "true"]), 0);
    }
    run(tare(&dir).args(["push", "--all", "--to", &url]), 0);
    let mut lab = lab(&url);
    let id = fill(&mut lab);
    let serving = Serving::start(&dir, &url, &["--host", "lab.example"]);

    pages(&serving, id);
    refusals(&serving);
    events(&serving, &mut lab, id);
    away(&serving, &mut cluster);
    assert_eq!(serving.signalled(libc::SIGTERM), Some(0));
}

fn pages(serving: &Serving, id: i64) {
    let board = serving.get("/");
    assert_eq!(board.status, 200, "{}", board.body);
    has_headers(&board);
    is_harmless(&board.body);
    assert!(
        board.body.contains("997 tasks waiting in the queue, 2 running, 100 of 100 machines alive"),
        "{}",
        board.body
    );
    let campaign = serving.get(&format!("/campaign/{id}"));
    is_harmless(&campaign.body);
    assert_eq!(campaign.body.matches("<tr>").count(), 1 + 500 + 2, "a page of tasks, and a program");
    assert!(campaign.body.contains("Page 1 of 2"));
    let failed = serving.get(&format!("/campaign/{id}?state=failed"));
    assert!(failed.body.contains("no such file") && failed.body.matches("<tr>").count() == 4);
    let machine = serving.get("/machine/%3Cscript%3Ewindow.hacked%20%3D%201%3C%2Fscript%3E%22%27%3E%20%E2%80%AEgnp");
    assert_eq!(machine.status, 200);
    is_harmless(&machine.body);
    for path in [
        format!("/campaign/{id}/nodes"),
        "/results".to_owned(),
        "/results?tag=a=b".to_owned(),
        "/compare".to_owned(),
        "/history".to_owned(),
        "/run/1".to_owned(),
        "/compare?run=1&run=2".to_owned(),
        "/?campaigns=all".to_owned(),
    ] {
        let page = serving.get(&path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        has_headers(&page);
    }
    let report = serving.get("/run/1");
    assert!(report.headers["content-security-policy"].contains("script-src 'sha256-"), "the report's own script runs");
    let shared = serving.get("/compare?run=1.one&run=2.two").body;
    assert!(shared.contains("link to share") && shared.contains("/compare?run="), "{shared}");
    for (path, status) in [
        ("/campaign/999999", 404),
        ("/campaign/x/y/z", 404),
        ("/machine/nobody", 404),
        ("/run/999", 404),
        ("/document/x", 404),
        ("/document/b7", 404),
        ("/compare?run=1&run=1", 400),
        ("/nowhere", 404),
    ] {
        let answer = serving.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        has_headers(&answer);
        assert!(answer.body.contains("role=\"alert\""), "{path}");
    }
    assert_eq!(serving.get("/healthz").body, "ok\n");
    let metrics = serving.get("/metrics");
    assert_eq!(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "tare_lab_up 1",
        "tare_lab_queue_length 997",
        "tare_lab_tasks{state=\"failed\"} 1",
        "tare_lab_agents_alive 100",
    ] {
        assert!(metrics.body.lines().any(|l| l == line), "{line}: {}", metrics.body);
    }
    prometheus_reads(&metrics.body);
    assert!(serving.get("/app.js").headers["content-type"].starts_with("text/javascript"));
    assert!(serving.get("/style.css").headers["content-type"].starts_with("text/css"));
}

/// The parser of Prometheus' client library finds every figure, and each family with its type and help.
fn prometheus_reads(text: &str) {
    let script = "
import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
found = [family for family in families(sys.stdin.read())]
assert all(family.documentation and family.type in ('gauge', 'counter') for family in found), found
print(json.dumps([[sample.name, sample.labels, sample.value] for family in found for sample in family.samples]))
";
    if !Command::new("/usr/bin/python3")
        .args(["-c", "import prometheus_client"])
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return skip("needs python3-prometheus-client");
    }
    let mut reader = Command::new("/usr/bin/python3");
    reader.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = reader.spawn().unwrap();
    reader.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let read = reader.wait_with_output().unwrap();
    assert!(read.status.success());
    let samples: Vec<(String, BTreeMap<String, String>, f64)> = serde_json::from_slice(&read.stdout).unwrap();
    let of = |name: &str| samples.iter().filter(|(n, ..)| n == name).collect::<Vec<_>>();
    let tasks: BTreeMap<&str, f64> =
        of("tare_lab_tasks").iter().map(|(_, l, value)| (l["state"].as_str(), *value)).collect();
    let wanted = [("cancelled", 0.0), ("done", 0.0), ("failed", 1.0), ("leased", 2.0), ("waiting", 997.0)];
    assert_eq!(tasks, BTreeMap::from(wanted));
    for (name, label) in [("tare_lab_campaign_tasks", "name"), ("tare_lab_heartbeat_age_seconds", "machine")] {
        assert!(of(name).iter().any(|(_, labels, _)| labels[label] == HOSTILE), "{samples:?}");
    }
}

fn refusals(serving: &Serving) {
    let port = serving.port;
    let ask = |line: &str, host: &str, more: &str| {
        serving.ask(&format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
    };
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = ask(&format!("{method} /"), "localhost", "");
        assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "GET, HEAD"), "{method}");
    }
    let head = ask("HEAD /", "localhost", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for host in ["evil.example", "evil.example:8080", "10.1.2.3", "localhost.evil.example"] {
        let answer = ask("GET /", host, "");
        assert_eq!(answer.status, 421, "{host}");
        has_headers(&answer);
        assert!(!answer.body.contains("node001"));
    }
    assert_eq!(ask("GET /", &format!("127.0.0.1:{port}"), "").status, 200);
    assert_eq!(ask("GET /", "LAB.example", "").status, 200);
    assert_eq!(ask("GET http://evil.example/", "localhost", "").status, 421);
    assert_eq!(ask("GET /", "localhost", "Host: localhost\r\n").status, 400);
    assert_eq!(ask(&format!("GET /{}", "x".repeat(5_000)), "localhost", "").status, 414);
    assert_eq!(ask("GET /", "localhost", "Content-Length: 3\r\n").status, 413);
    // It is closed before all of it was read, so that the answer may be lost.
    let mut stream = serving.connect();
    let _ = write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    assert!(all.is_empty() || Answer::read(&text(&all)).status == 431, "{}", text(&all));
}

/// Reads a stream of events until one with a version; returns it.
fn next_version(events: &mut impl BufRead) -> i64 {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the stream has ended");
        if let Some(version) = line.trim().strip_prefix("data: ") {
            return version.parse().unwrap();
        }
    }
}

fn listen(serving: &Serving) -> BufReader<TcpStream> {
    let mut stream = serving.connect();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn events(serving: &Serving, lab: &mut Lab, id: i64) {
    let mut events = listen(serving);
    let first = next_version(&mut events);
    lab.pause(id, true).unwrap();
    let second = next_version(&mut events);
    assert!(second > first, "{second} after {first}");
    assert!(serving.get("/").body.contains(">paused</span>"));
    lab.pause(id, false).unwrap();
    assert!(next_version(&mut events) > second);
}

fn away(serving: &Serving, cluster: &mut TestServer) {
    cluster.stop();
    let page = serving.get("/");
    assert_eq!(page.status, 503, "{}", page.body);
    has_headers(&page);
    assert!(page.body.contains("database does not answer"), "{}", page.body);
    assert_eq!(page.headers["refresh"], "10");
    assert_eq!(serving.get("/healthz").status, 503);
    let metrics = serving.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(metrics.body.contains("\ntare_lab_up 0\n"), "{}", metrics.body);
    cluster.begin();
    let until = Instant::now() + Duration::from_secs(60);
    while serving.get("/").status != 200 {
        assert!(Instant::now() < until, "it does not recover");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn it_ends_in_order_and_starts_without_a_database() {
    let dir = folder();
    let nowhere = format!("postgresql://u@/db?host={}", dir.path().display());
    let serving = Serving::start(&dir, &nowhere, &[]);
    assert_eq!(serving.get("/").status, 503);
    // A page that listens does not hold it back.
    let mut events = listen(&serving);
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    assert_eq!(serving.signalled(libc::SIGINT), Some(130));

    let refused = |args: &[&str], says: &str, code: i32| {
        let out = run(tare(&dir).args(["lab", "serve"]).args(args), code);
        assert!(text(&out.stderr).contains(says), "{}", text(&out.stderr));
    };
    refused(&["--db", "lab.db"], "a lab is a PostgreSQL database", 2);
    refused(&["--db", &nowhere, "--listen", "8080"], "expected ADDRESS:PORT", 2);
    refused(&["--db", &nowhere, "--listen", "unix:/nowhere/tare.sock"], "listen on unix:/nowhere/tare.sock", 4);
    assert!(Path::new(TARE).exists());
}
