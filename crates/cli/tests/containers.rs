//! What containers and sandboxes lack: system calls, sysfs, a first process that reaps; and waits that a signal must end.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// System calls that filters refuse, each with both errors that filters answer.
const CALLS: &[&str] = &[
    "bpf",
    "clone3",
    "close_range",
    "memfd_create",
    "openat2",
    "perf_event_open",
    "pidfd_open",
    "pidfd_send_signal",
    "sched_setaffinity",
    "statx",
];

fn measured(c: &mut Command) -> f64 {
    let document = json(c.args(["run", "--json", "-w0", "-r1", "--", burner(), "burn-self", "50"]), 0);
    process_time(only_sample(&document))
}

/// Each is measured rightly all the same, by the processes' own account.
#[test]
fn refused_system_calls_leave_a_measurement() {
    let _lock = shared();
    let users =
        if is_root() { &[("ENOSYS", &[][..]), ("EPERM", NOBODY)][..] } else { &[("ENOSYS", &[][..]), ("EPERM", &[])] };
    for call in CALLS {
        for (errno, user) in users {
            let dir = folder();
            let before: Vec<&str> = user.iter().copied().chain([burner(), "refusing", call, errno]).collect();
            let found = measured(&mut via(&dir, &before));
            let (truth, n) = truth(&dir);
            assert_eq!(n, 1);
            assert!(found >= 0.99 * truth && found < 2.0 * truth, "{call} {errno} {user:?}: {found} of {truth} ns");
        }
    }
}

/// By the cgroup, which the process joins before its exec, and so with a child that nobody waits for.
#[test]
fn without_clone3_the_cgroup_counts_all_the_same() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    for errno in ["ENOSYS", "EPERM"] {
        let dir = folder();
        let mut c = via(&dir, &[burner(), "refusing", "clone3", errno]);
        let document = json(c.args(["run", "--json", "-w0", "-r1", "--", burner(), "child-unwaited", "50"]), 0);
        assert_eq!(document["report"]["run"]["pt_source"], "cgroup");
        let found = process_time(only_sample(&document));
        let (truth, n) = truth(&dir);
        assert!(n == 2 && found >= 0.99 * truth, "{errno}: {found} of {truth} ns in {n} processes");
    }
}

/// A process that may not be made at all is one sentence.
#[test]
fn what_cannot_be_done_without_is_said() {
    let _lock = shared();
    let dir = folder();
    let mut c = via(&dir, &[burner(), "refusing", "prctl", "EPERM"]);
    let said = text(&run(c.args(["run", "-r1", "true"]), 4).stderr);
    assert!(said.contains("become a child subreaper: Operation not permitted"), "{said}");
}

#[test]
fn a_system_without_sysfs_is_measured() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, for a mount name space");
    }
    let hidden = ["unshare", "--mount", "sh", "-c", "umount -l /sys && exec \"$@\"", "sh"];
    let dir = folder();
    let found = measured(&mut via(&dir, &hidden));
    let (truth, _) = truth(&dir);
    assert!(found >= 0.99 * truth, "{found} of {truth} ns");
    let sample = json(via(&dir, &hidden).args(["show", "last", "--json"]), 0)["samples"][0].clone();
    let why = sample["account"]["absent"]["detail"].as_str().expect("a reason").to_owned();
    assert!(why.contains("sysfs is not mounted"), "{why}");
    // All CPUs are there, by procfs.
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    let doctor = via(&dir, &hidden).args(["doctor"]).output().expect("doctor");
    assert!(text(&doctor.stdout).contains(&format!(": {cpus} × ")), "{}", text(&doctor.stdout));
    for command in [
        &["noise", "--calibrations", "30", "--grain", "1ms", "--phases", "20"][..],
        &["trace", "--for", "10ms"],
        &["clocks"],
    ] {
        run(via(&dir, &hidden).args(command), 0);
    }
}

/// Where the parent of a killed tare does not reap it, it stays as a zombie; what it has left is ended by the next one.
#[test]
fn leftovers_of_a_tare_that_nobody_reaps_are_ended() {
    let _lock = alone();
    if !is_root() {
        return skip("needs root, for a cgroup");
    }
    let dir = folder();
    let pids = dir.path().join("pid");
    let script = format!("{} never & echo $! >{}; wait", burner(), pids.display());
    let mut c = tare(&dir);
    let mut killed =
        c.args(["run", "-w0", "-r1", "--", "sh", "-c", &script]).stdout(Stdio::null()).spawn().expect("tare");
    let began = Instant::now();
    let pid = loop {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not start");
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<u32>() {
            break pid;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    killed.kill().expect("kill");
    std::thread::sleep(Duration::from_millis(200));
    assert!(lives(pid), "the test shows nothing: what was left has ended by itself");
    run(tare(&dir).args(["run", "-w0", "-r1", "true"]), 0);
    let ended = !lives(pid);
    if !ended {
        signal(pid, libc::SIGKILL);
    }
    killed.wait().expect("wait");
    assert!(ended, "process {pid} is still there");
}

fn fifo(dir: &TempDir) -> String {
    let path = dir.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

/// Waiting for the other end of a FIFO ends at Ctrl-C and SIGTERM, and when the other end comes.
#[test]
fn the_other_end_of_a_fifo_is_waited_for() {
    let _lock = shared();
    for option in ["--input", "--output"] {
        for number in [libc::SIGINT, libc::SIGTERM] {
            let dir = folder();
            let mut c = tare(&dir);
            c.args(["run", "-w0", "-r1", option, &fifo(&dir), "true"]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = c.spawn().expect("tare");
            std::thread::sleep(Duration::from_millis(500));
            assert!(child.try_wait().expect("wait").is_none(), "{option}: it does not wait");
            signal(child.id(), number);
            let began = Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().expect("wait") {
                    break status;
                }
                if began.elapsed() > Duration::from_secs(20) {
                    child.kill().expect("kill");
                    child.wait().expect("wait");
                    panic!("{option}: deaf to signal {number}");
                }
                std::thread::sleep(Duration::from_millis(10));
            };
            assert_eq!(status.code(), Some(130), "{option}, signal {number}");
        }
    }
    let dir = folder();
    let path = fifo(&dir);
    let copy = dir.path().join("copy");
    let mut c = tare(&dir);
    let script = format!("cat >{}", copy.display());
    let mut child = c
        .args(["run", "-w0", "-r1", "--input", &path, "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .spawn()
        .expect("tare");
    let mut writer = std::fs::File::options().write(true).custom_flags(0).open(&path).expect("open");
    writer.write_all(b"through\n").expect("write");
    drop(writer);
    assert!(child.wait().expect("wait").success());
    assert_eq!(std::fs::read_to_string(copy).expect("read"), "through\n");
}

/// Near the system's limit the padding of the environment is left out, in all samples; beyond it a sentence says what is too long.
#[test]
fn long_arguments_are_measured_without_padding() {
    let _lock = shared();
    let dir = folder();
    // A shell's own list is shorter than what it gives to the program.
    let limit = 2 << 20;
    let of = |bytes: usize| -> Vec<String> { vec!["y".repeat(100_000); bytes / 100_000] };
    let near = of(limit - 150_000);
    let mut c = tare(&dir);
    let document = json(c.args(["run", "--json", "-w0", "-r4", "--", "true"]).args(&near), 0);
    let paddings = |d: &serde_json::Value| -> Vec<u64> {
        d["samples"]
            .as_array()
            .expect("samples")
            .iter()
            .map(|s| s["environment_padding"].as_u64().expect("bytes"))
            .collect()
    };
    assert!(paddings(&document).iter().any(|p| *p > 0), "there is room");
    // With a smaller stack the limit is lower.
    let small = |args: &[&str]| {
        let mut c = via(&dir, &["sh", "-c", "ulimit -s 2048; exec \"$@\"", "sh"]);
        c.args(args);
        c
    };
    let environment: usize = std::env::vars_os().map(|(k, v)| k.len() + v.len() + 10).sum();
    let fill = "z".repeat(100_000);
    let rest = (512 << 10) - environment - 6_500 - 4 * 100_010;
    let last = "z".repeat(rest.min(120_000));
    let args = ["run", "--json", "-w0", "-r4", "--", "true", &fill, &fill, &fill, &fill, &last];
    let out = run(&mut small(&args), 0);
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(paddings(&document), [0, 0, 0, 0]);
    assert!(text(&out.stderr).contains("the environment is not padded"), "{}", text(&out.stderr));
}

/// `ulimit` before tare; a program has the limits that tare was started with.
fn limited(dir: &TempDir, limit: &str, user: &[&str]) -> Command {
    let script = format!("ulimit {limit} && exec \"$@\"");
    let before: Vec<&str> = user.iter().copied().chain(["sh", "-c", &script, "sh"]).collect();
    via(dir, &before)
}

#[test]
fn small_limits_leave_a_measurement_or_a_sentence() {
    let _lock = shared();
    let users = if is_root() { &[&[][..], NOBODY][..] } else { &[&[][..]] };
    for user in users {
        let dir = folder();
        let seen = dir.path().join("seen");
        for limit in ["-n 16", "-S -n 16", "-s 128"] {
            let program = format!("ulimit -n >{}", seen.display());
            let mut c = limited(&dir, limit, user);
            run(c.args(["run", "-w0", "-r2", "-S", "sh", &program]), 0);
            let wanted = if limit.contains("16") { "16\n" } else { "" };
            assert!(std::fs::read_to_string(&seen).expect("a number").starts_with(wanted), "{limit}");
            std::fs::remove_file(&seen).expect("remove");
        }
        // A store that cannot grow is told, and tare is not killed.
        let file = dir.path().join("small");
        let mut c = limited(&dir, "-f 4", user);
        let said = text(&run(c.args(["run", "-r2", "--db"]).arg(&file).arg("true"), 4).stderr);
        assert!(said.contains("tare: "), "{said}");
    }
    if is_root() {
        // One process is tare itself.
        let dir = folder();
        let user = ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "prlimit", "--nproc=1"];
        let mut c = via(&dir, &user);
        let said = text(&run(c.args(["run", "-w0", "-r1", "--db", "none", "true"]), 4).stderr);
        assert!(said.contains("the limit of processes is reached: `ulimit -u`"), "{said}");
    }
}

/// Where users see their own processes only, a measurement is complete.
#[test]
fn hidden_processes_are_alive() {
    let _lock = shared();
    if !is_root() {
        return skip("needs root, to mount a /proc");
    }
    let dir = folder();
    let hidden = ["unshare", "--mount", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"", "sh"];
    let before: Vec<&str> = hidden.iter().chain(NOBODY).copied().collect();
    let document = json(via(&dir, &before).args(["run", "--json", "-w0", "-r1", "--", burner(), "burn-self", "50"]), 0);
    let (truth, _) = truth(&dir);
    let found = process_time(only_sample(&document));
    assert!(found >= 0.99 * truth && found < 2.0 * truth, "{found} of {truth} ns");
}

/// A reader that never reads: the output does not fit into the pipe.
fn with_full_pipe(c: &mut Command) -> (std::process::Child, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: a valid descriptor; a page is the smallest pipe.
    assert!(unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&writer), libc::F_SETPIPE_SZ, 4096) } > 0);
    (c.stdout(writer).stderr(Stdio::null()).spawn().unwrap(), reader)
}

/// Sends it SIGTERM, which must end it.
fn ends_at_sigterm(what: &str, mut child: std::process::Child) {
    signal(child.id(), libc::SIGTERM);
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(10) {
            let _ = child.kill();
            panic!("{what} did not end at SIGTERM");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is in a system call of this number.
fn waits_in(pid: u32, call: libc::c_long) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()) == Some(call)
}

#[test]
fn a_full_pipe_is_left_at_a_signal() {
    let _lock = shared();
    let dir = folder();
    let run = ["run", "--json", "-w0", "-r30", "--", "true"];
    let (child, reader) = with_full_pipe(tare(&dir).args(run));
    until("the pipe is full", || waits_in(child.id(), libc::SYS_write));
    ends_at_sigterm("tare run", child);
    drop(reader);
    // What was measured is stored.
    let stored = json(tare(&dir).args(["export", "last"]), 0);
    assert_eq!(stored["samples"].as_array().map(Vec::len), Some(30));
}

/// A lock of another process, for which SQLite waits.
#[test]
fn a_locked_store_is_left_at_a_signal() {
    let _lock = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-w0", "-r1", "--", "true"]), 0);
    let other = rusqlite::Connection::open(dir.path().join("tare.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let child =
        tare(&dir).args(["run", "-w0", "-r1", "--", "true"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    until("it waits for the lock", || waits_in(child.id(), libc::SYS_clock_nanosleep));
    let pid = child.id();
    signal(pid, libc::SIGTERM);
    let out = child.wait_with_output().unwrap();
    assert!(text(&out.stderr).contains("interrupted by SIGTERM") || out.status.code().is_none(), "{out:?}");
}

/// Of a gate, whose work tree git makes.
#[test]
fn a_git_that_hangs_is_left_at_a_signal() {
    let _lock = shared();
    let dir = folder();
    let place = dir.path();
    let tools = place.join("tools");
    std::fs::create_dir(&tools).unwrap();
    let hanging =
        "#!/bin/sh\ncase \" $* \" in\n*\" worktree add \"*) exec sleep 60 ;;\n*) exec /usr/bin/git \"$@\" ;;\nesac\n";
    std::fs::write(tools.join("git"), hanging).unwrap();
    std::fs::set_permissions(tools.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let git = |args: &[&str]| {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        assert!(Command::new("git").arg("-C").arg(place).args(set).args(args).output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let mut c = tare(&dir);
    c.current_dir(place).env("PATH", path).args(["gate", "true", "--base", "HEAD~1"]);
    let child = c.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    until("git hangs", || processes_with("sleep").iter().any(|p| parent(*p) == pid));
    signal(pid, libc::SIGTERM);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("interrupted by SIGTERM"), "{}", text(&out.stderr));
}

fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok()).unwrap_or(0)
}

/// SQLite knows of an input/output error only.
#[test]
fn the_limit_of_a_files_size_is_named() {
    let _lock = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-w0", "-r30", "--", "true"]), 0);
    let size = std::fs::metadata(dir.path().join("tare.db")).unwrap().len();
    let blocks = size.div_ceil(512);
    let limited = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let out = run(via(&dir, &["sh", "-c", &limited]).args(["run", "-w0", "-r200", "--", "true"]), 4);
    let said = text(&out.stderr);
    assert!(said.contains("ulimit -f") && said.contains("may not grow"), "{said}");
}

/// Of a hook the end of its standard error is kept, in a file that has no name.
#[test]
fn a_hook_is_told_of_without_files_in_memory() {
    let _lock = shared();
    for errno in ["ENOSYS", "EPERM"] {
        let dir = folder();
        let refusing = [burner(), "refusing", "memfd_create", errno];
        run(via(&dir, &refusing).args(["run", "-w0", "-r1", "--prepare", "true", "--", "true"]), 0);
        let out = run(via(&dir, &refusing).args(["run", "-w0", "-r1", "--prepare", "echo why >&2; false", "true"]), 1);
        assert!(text(&out.stderr).contains("why"), "{}", text(&out.stderr));
    }
}
