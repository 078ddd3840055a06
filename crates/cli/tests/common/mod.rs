//! What the end-to-end tests share: the commands under test, their JSON, and a burner that knows the truth.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The command: that of the tests' crate, which may be a larger program.
pub const TARE: &str = match (
    option_env!("CARGO_BIN_EXE_tare"),
    option_env!("CARGO_BIN_EXE_tare-papers"),
    option_env!("CARGO_BIN_EXE_tare-lab"),
) {
    (Some(tare), ..) | (_, Some(tare), _) | (.., Some(tare)) => tare,
    (None, None, None) => panic!("cargo names no command"),
};

/// Says why a test cannot be made here; with TARE_NO_SKIP=1 that is a failure.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("TARE_NO_SKIP").is_none_or(|v| v != "1"), "must not be skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// Root, in a cgroup v2 folder where leaves can be made, with taskstats.
pub fn is_root() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// The program `burner` of crate tarebench-testbed: that of the variable TARE_BURNER, or built on first use.
pub fn burner() -> &'static str {
    static BURNER: OnceLock<String> = OnceLock::new();
    BURNER.get_or_init(|| {
        if let Ok(built) = std::env::var("TARE_BURNER") {
            return built;
        }
        let bin = Path::new(TARE).parent().expect("a folder");
        let target = bin.parent().expect("the target folder");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "-p", "tarebench-testbed", "--target-dir"]).arg(target);
        // Set by scripts/run-test-program.py for this program; cargo would compile everything anew with it.
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RUSTC_BOOTSTRAP");
        if bin.ends_with("release") {
            cargo.arg("--release");
        }
        let out = cargo.output().expect("run cargo");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        bin.join("burner").to_str().expect("a path in UTF-8").to_owned()
    })
}

/// A lock between all tests of all processes: shared by most, exclusive for those that need the machine's pids.
pub struct Lock(#[allow(dead_code)] std::fs::File);

/// One lock for the whole machine: tests of another checkout measure, and change settings, on the same one.
fn lock(how: i32) -> Lock {
    use std::os::unix::fs::OpenOptionsExt;
    let path = std::env::temp_dir().join("tare-tests.lock");
    let made = std::fs::File::options().read(true).write(true).create(true).truncate(false).mode(0o644).open(&path);
    // Another user's is locked as well by one that only reads it.
    let file = made.or_else(|_| std::fs::File::open(&path)).expect("the lock file");
    // SAFETY: a valid descriptor.
    while unsafe { libc::flock(file.as_raw_fd(), how) } != 0 {}
    Lock(file)
}

/// Beside other tests.
pub fn shared() -> Lock {
    lock(libc::LOCK_SH)
}

/// Alone.
pub fn alone() -> Lock {
    lock(libc::LOCK_EX)
}

/// A folder that every user may write to.
pub fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o1777)).expect("chmod");
    dir
}

/// A `tare` with a store in the folder, without the settings of this environment.
pub fn tare(dir: &TempDir) -> Command {
    via(dir, &[])
}

/// The same, started by another program (`setpriv …`).
pub fn via(dir: &TempDir, before: &[&str]) -> Command {
    let mut c = match before {
        [] => Command::new(TARE),
        [first, rest @ ..] => {
            let mut c = Command::new(first);
            c.args(rest).arg(TARE);
            c
        }
    };
    c.env("TARE_DB", dir.path().join("tare.db")).env("BURNER_TRUTH", dir.path().join("truth"));
    c.env("XDG_DATA_HOME", dir.path()).env("HOME", dir.path());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "LC_ALL", "COLUMNS", "TARE_CALIBRATION"] {
        c.env_remove(name);
    }
    c.stdin(Stdio::null());
    // Whatever happens to the test, tare does not outlive it. Signals as after a login: a background job of a script
    // has SIGINT ignored.
    // SAFETY: async-signal-safe calls only.
    unsafe {
        c.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            default_signals();
            Ok(())
        });
    }
    c
}

/// To be called between fork and exec: the tests may have been started with signals ignored, as a shell does for what
/// it runs in the background.
pub fn default_signals() {
    for s in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: async-signal-safe, no memory involved.
        unsafe { libc::signal(s, libc::SIG_DFL) };
    }
}

/// As user nobody, without any privilege.
pub const NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];

/// Without the capabilities of root.
pub const NO_CAPABILITIES: &[&str] = &["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];

/// Runs it and checks its exit code.
#[track_caller]
pub fn run(c: &mut Command, code: i32) -> Output {
    let out = c.output().expect("start");
    let shown = text(&out.stdout).chars().take(2_000).collect::<String>();
    assert_eq!(out.status.code(), Some(code), "{c:?}\n{shown}\n{}", text(&out.stderr));
    out
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it with `--json` and gives the document.
#[track_caller]
pub fn json(c: &mut Command, code: i32) -> Value {
    let out = run(c, code);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", text(&out.stdout), text(&out.stderr)))
}

/// The one counted sample.
pub fn only_sample(document: &Value) -> &Value {
    let samples = document["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 1, "{samples:?}");
    &samples[0]
}

/// Process time of a sample by the run's source, ns.
pub fn process_time(sample: &Value) -> f64 {
    let times = &sample["process_times"]["value"];
    let source = times["source"].as_str().unwrap_or_else(|| panic!("no process time: {sample:#}"));
    let value = &times[source]["value"];
    let ns = value["total"].as_f64().or(value.as_f64());
    ns.unwrap_or_else(|| panic!("no {source}: {times:#}"))
}

pub fn elapsed(sample: &Value) -> f64 {
    let at = |which: &str| sample[which]["monotonic"].as_f64().expect("a stamp");
    at("end") - at("start")
}

/// Sum of the burners' own clocks, ns, and how many there were; the file is emptied.
pub fn truth(dir: &TempDir) -> (f64, usize) {
    let path = dir.path().join("truth");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    let each: Vec<f64> = text.lines().map(|l| l.rsplit(' ').next().expect("ns").parse().expect("a number")).collect();
    (each.iter().sum(), each.len())
}

/// What [`assert_near`] allows: a share of the truth, or 1 ms.
fn bound(truth: f64, share: f64) -> f64 {
    (truth * share).max(1e6)
}

/// Within a share of the truth, or 1 ms.
pub fn is_near(found: f64, truth: f64, share: f64) -> bool {
    (found - truth).abs() <= bound(truth, share)
}

/// Within a share of the truth, or 1 ms.
#[track_caller]
pub fn assert_near(what: &str, found: f64, truth: f64, share: f64) {
    let bound = bound(truth, share);
    let ms = |ns: f64| ns / 1e6;
    let off = found - truth;
    assert!(
        is_near(found, truth, share),
        "{what}: {:.3} ms, truth {:.3} ms: off by {:+.3} ms, allowed {:.3} ms",
        ms(found),
        ms(truth),
        ms(off),
        ms(bound)
    );
}

/// Measures up to five times, and the majority decides whether what is found is within a share of the truth, or 1 ms; it is near if
/// the first two tries are. The truth is the burner's own clock: what it took before its exec and after the last look at that clock is
/// in one and not in the other, and a hypervisor may steal there. So a source may be off at times, but not most of the time. A try
/// that is off by no more than the hypervisor stole meanwhile counts on neither side.
#[track_caller]
pub fn comes_near(what: &str, share: f64, measure: impl FnMut() -> (f64, f64)) {
    let (near, off, tries) = tries(share, measure);
    assert!(near > off, "{what}: {off} of {} tries: found, truth (ns), stolen (ticks): {tries:?}", tries.len());
}

/// As [`comes_near`], for a source that contains stolen time: where the hypervisor steals in every try, none may be off by more.
#[track_caller]
pub fn comes_near_but_for_steal(what: &str, share: f64, measure: impl FnMut() -> (f64, f64)) {
    let (near, off, tries) = tries(share, measure);
    assert!(near >= off, "{what}: {off} of {} tries: found, truth (ns), stolen (ticks): {tries:?}", tries.len());
}

/// How many tries were near, how many were off, and all of them: found, truth, stolen ticks.
fn tries(share: f64, mut measure: impl FnMut() -> (f64, f64)) -> (usize, usize, Vec<(f64, f64, u64)>) {
    const TRIES: usize = 5;
    let (mut near, mut tries, mut off) = (0, Vec::new(), 0);
    while tries.len() < TRIES && near.max(off) <= TRIES / 2 && !(near == 2 && off == 0) {
        let before = stolen_ticks();
        let (found, truth) = measure();
        let stolen = stolen_ticks() - before;
        if is_near(found, truth, share) {
            near += 1;
        } else if (found - truth).abs() > bound(truth, share) + explained(stolen) {
            off += 1;
        } else {
            wait_for_calm();
        }
        tries.push((found, truth, stolen));
    }
    (near, off, tries)
}

/// What so much steal time may be off by, in ns: the kernel reports it in ticks of 10 ms, for each CPU.
fn explained(ticks: u64) -> f64 {
    if ticks == 0 { 0.0 } else { (ticks + 2) as f64 * 10e6 }
}

/// Until the hypervisor took less than 3% of a second of any CPU, and no longer than 20 s: a neighbour on the host comes and goes.
pub fn wait_for_calm() {
    for _ in 0..20 {
        let before = stolen_ticks();
        std::thread::sleep(std::time::Duration::from_secs(1));
        if stolen_ticks() - before < 3 {
            return;
        }
    }
}

/// Steal time of all CPUs since the machine started, in ticks.
fn stolen_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    stat.lines().next().and_then(|l| l.split_whitespace().nth(8)?.parse().ok()).expect("steal")
}

/// Daemons of this name in a sample.
pub fn daemons<'a>(sample: &'a Value, name: &str) -> Vec<&'a Value> {
    let list = sample["daemons"]["value"]["list"].as_array().unwrap_or_else(|| panic!("no daemons: {sample:#}"));
    list.iter().filter(|d| d["name"] == name).collect()
}

/// CPU time of another process, a zombie too, by its exact clock.
pub fn cpu_of(pid: u32) -> f64 {
    // The clock of a process by its pid: clock_getcpuclockid(3).
    let id = (!(pid as i32) << 3) | 2;
    // SAFETY: a valid timespec to write to.
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(id, &mut t), 0, "clock of process {pid}");
        t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
    }
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A named process that burns CPU time on request.
pub struct Helper {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Helper {
    pub fn start(name: &[u8]) -> Helper {
        let hex: String = name.iter().map(|b| format!("{b:02x}")).collect();
        let mut c = Command::new(burner());
        c.args(["helper", &hex]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: one async-signal-safe call.
        unsafe {
            c.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                Ok(())
            });
        }
        let mut child = c.spawn().expect("start the helper");
        let input = child.stdin.take().expect("stdin");
        let output = BufReader::new(child.stdout.take().expect("stdout"));
        let mut helper = Helper { child, input, output };
        helper.answer();
        helper
    }

    fn answer(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        assert!(!line.is_empty(), "the helper has died");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn burn(&mut self, ms: u32) {
        writeln!(self.input, "burn {ms}").expect("to the helper");
        self.answer();
    }

    /// Burns without reading a clock.
    pub fn burn_blindly(&mut self, count: u64) {
        writeln!(self.input, "loop {count}").expect("to the helper");
        self.answer();
    }

    /// Waits until it is off the CPU, so that its clock stands still.
    pub fn cpu(&self) -> f64 {
        let mut last = cpu_of(self.pid());
        loop {
            std::thread::sleep(Duration::from_millis(2));
            let now = cpu_of(self.pid());
            if now == last {
                return now;
            }
            last = now;
        }
    }

    /// Ends it and reaps it; all that it used, read from the zombie.
    pub fn end(mut self) -> f64 {
        let _ = writeln!(self.input, "exit");
        let pid = self.pid();
        // SAFETY: an all-zero siginfo is valid to write to; the child is not reaped.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT);
        }
        let cpu = cpu_of(pid);
        self.child.wait().expect("reap");
        cpu
    }
}

/// Rounds of the blind loop that take `ms` milliseconds.
pub fn rounds(ms: u32) -> u64 {
    let out = Command::new(burner()).args(["calibrate", &ms.to_string()]).output().expect("calibrate");
    text(&out.stdout).trim().parse().expect("a number")
}

/// A tare whose program waits inside a sample until it is let go.
pub struct Inside {
    pub child: Child,
    gate: PathBuf,
}

impl Inside {
    /// Starts `tare ARGS -- burner gate` with its output on a pipe, and waits until the sample has started.
    pub fn start(dir: &TempDir, args: &[&str]) -> Inside {
        let gate = dir.path().join("gate");
        std::fs::create_dir_all(&gate).expect("a folder");
        let _ = (std::fs::remove_file(gate.join("in")), std::fs::remove_file(gate.join("out")));
        let mut c = tare(dir);
        c.args(args).arg("--").arg(burner()).arg("gate").arg(&gate);
        let child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start tare");
        until("the sample has begun", || gate.join("in").exists());
        Inside { child, gate }
    }

    pub fn let_go(&self) {
        std::fs::write(self.gate.join("out"), "").expect("open the gate");
    }

    /// Ends the sample; the JSON document.
    pub fn finish(self) -> Value {
        self.let_go();
        let out = self.child.wait_with_output().expect("tare");
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    }
}

pub fn signal(pid: u32, signal: i32) {
    // SAFETY: no memory involved.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0, "signal {signal} to {pid}");
}

/// A process exists and is no zombie.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|s| !s.trim_start().starts_with(['Z', 'X']) && !s.is_empty())
}

/// The cgroup leaves of a tare.
pub fn leaves_of(tare: u32) -> Vec<PathBuf> {
    fn walk(folder: &Path, prefix: &[String], depth: u32, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|t| t.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if prefix.iter().any(|p| name.starts_with(p)) {
                found.push(entry.path());
            } else if depth > 0 {
                walk(&entry.path(), prefix, depth - 1, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), &[format!("tare.{tare}-"), format!("tare-kept.{tare}-")], 6, &mut found);
    found
}

/// Processes whose command line holds a word; this process is not among them.
pub fn processes_with(word: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() && text(&line).contains(word) && lives(*pid)
    };
    pids.filter(has).collect()
}
