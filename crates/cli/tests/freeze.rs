//! `tare tune --freeze`: only processes that this test has started are ever frozen.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/tuning.rs"]
mod tuning;

use common::{is_root, lives, skip, until};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tuning::Machine;

/// Where cgroup v2 is, and where in it this test runs.
fn own_group() -> Option<(PathBuf, String)> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|l| l.contains(" - cgroup2 "))?;
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|l| l.strip_prefix("0::"))?.to_owned();
    Some((PathBuf::from(line.split(' ').nth(4)?), own))
}

/// A process in a separate session.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        let mut c = Command::new("sleep");
        c.arg("1000").stdin(Stdio::null());
        // SAFETY: async-signal-safe calls only.
        unsafe {
            c.pre_exec(|| {
                libc::setsid();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                Ok(())
            });
        }
        Sleeper(c.spawn().expect("sleep"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn group(&self) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/cgroup", self.pid())).expect("alive");
        text.lines().find_map(|l| l.strip_prefix("0::")).expect("v2").to_owned()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn frozen(group: &Path) -> bool {
    std::fs::read_to_string(group.join("cgroup.events")).is_ok_and(|t| t.contains("frozen 1"))
}

/// A cgroup of this test's own, removed with it.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("cgroup.freeze"), "0");
        until("the group is empty", || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn others_are_frozen_and_go_on_where_they_were() {
    let Some((mount, own)) = own_group().filter(|_| is_root()) else {
        return skip("needs root and cgroup v2");
    };
    let _alone = common::alone();
    // Processes can only be moved out of the root cgroup; elsewhere they are in groups that are frozen whole.
    let moves = own == "/";
    let group = Group(mount.join(own.trim_start_matches('/')).join(format!("tare-test-{}", std::process::id())));
    std::fs::create_dir(&group.0).expect("a cgroup");
    let (loose, inside) = (Sleeper::start(), Sleeper::start());
    std::fs::write(group.0.join("cgroup.procs"), inside.pid().to_string()).expect("move");
    let (old_loose, old_inside) = (loose.group(), inside.group());
    let leaf = mount.join("tare-frozen");
    let m = Machine::real().set(&[]);
    let only = format!("--freeze-only={},{}", loose.pid(), inside.pid());
    let as_before = |when: &str| {
        assert_eq!((loose.group(), inside.group()), (old_loose.clone(), old_inside.clone()), "{when}");
        assert!(lives(loose.pid()) && lives(inside.pid()), "{when}");
        assert!(!frozen(&group.0) && !leaf.exists(), "{when}");
    };

    let report = m.json(&["tune", "--dry-run", "--freeze", &only], 0);
    assert_eq!(report["freeze"]["processes"], if moves { 2 } else { 1 }, "{report:#}");
    as_before("after a dry run");
    let report = m.json(&["tune", "--freeze", &only], 0);
    assert_eq!(report["freeze"]["refused"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert!(frozen(&group.0));
    if moves {
        assert_eq!(loose.group(), "/tare-frozen");
        assert!(frozen(&leaf));
    }
    m.tare(&["restore"], 0);
    as_before("after restore");

    // Killed at every step of both.
    for n in 1.. {
        let killed = m.killed(&["tune", "--freeze", &only], n);
        m.tare(&["restore"], 0);
        as_before(&format!("tune killed at step {n}"));
        if !killed {
            break;
        }
    }
    for n in 1.. {
        m.tare(&["tune", "--freeze", &only], 0);
        let killed = m.killed(&["restore"], n);
        m.tare(&["restore"], 0);
        as_before(&format!("restore killed at step {n}"));
        if !killed {
            break;
        }
    }

    // Around a run: frozen while it lasts, thawed by the guard when tare is killed.
    let run = |program: &[&str]| {
        let mut c = m.command(&["run", "--tune", "--freeze", &only, "-r1", "-w0", "--style", "none"]);
        c.arg("--").args(program).stderr(Stdio::null()).spawn().expect("tare")
    };
    let mut child = run(&["sleep", "0.3"]);
    until("it is frozen", || frozen(&group.0));
    assert!(child.wait().expect("tare").success());
    as_before("after a run");
    let mut child = run(&["sleep", "60"]);
    until("it is frozen", || frozen(&group.0) && (!moves || frozen(&leaf)));
    child.kill().expect("kill");
    child.wait().expect("tare");
    until("the guard has thawed it", || !frozen(&group.0) && !frozen(&leaf));
    m.tare(&["restore"], 0);
    as_before("after SIGKILL");
}

/// Cgroups with one process each, in a cgroup with another process that is never frozen: none of them is frozen with the one above.
struct Groups {
    above: PathBuf,
    groups: Vec<PathBuf>,
    pids: Vec<i32>,
    spared: Sleeper,
}

impl Groups {
    fn start(above: PathBuf, number: usize) -> Groups {
        std::fs::create_dir(&above).expect("a cgroup");
        let spared = Sleeper::start();
        std::fs::write(above.join("cgroup.procs"), spared.pid().to_string()).expect("move");
        let mut all = Groups { above, groups: Vec::new(), pids: Vec::new(), spared };
        for i in 0..number {
            let group = all.above.join(i.to_string());
            std::fs::create_dir(&group).expect("a cgroup");
            all.groups.push(group.clone());
            let pid = waiting_process();
            all.pids.push(pid);
            std::fs::write(group.join("cgroup.procs"), pid.to_string()).expect("move");
        }
        // SAFETY: no memory involved.
        until("each has a session", || all.pids.iter().all(|p| unsafe { libc::getsid(*p) } == *p));
        all
    }

    fn all_frozen(&self) -> bool {
        self.groups.iter().all(|g| frozen(g))
    }

    fn none_frozen(&self) -> bool {
        !self.groups.iter().any(|g| frozen(g))
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (group, pid) in self.groups.iter().zip(&self.pids) {
            let _ = std::fs::write(group.join("cgroup.freeze"), "0");
            // SAFETY: this process's own child, which is not reaped before; no status is asked for.
            unsafe {
                libc::kill(*pid, libc::SIGKILL);
                libc::waitpid(*pid, std::ptr::null_mut(), 0);
            }
        }
        for group in &self.groups {
            until("the group is empty", || std::fs::remove_dir(group).is_ok());
        }
        let _ = self.spared.0.kill();
        let _ = self.spared.0.wait();
        until("the group is empty", || std::fs::remove_dir(&self.above).is_ok());
    }
}

/// A child in a separate session that waits for its end. It holds no file open, as those of another program would.
fn waiting_process() -> i32 {
    // SAFETY: the child makes async-signal-safe calls only.
    unsafe {
        match libc::fork() {
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                libc::prctl(libc::PR_SET_NAME, c"tare-test-waits".as_ptr());
                libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
                libc::setsid();
                loop {
                    libc::pause();
                }
            }
            pid => {
                assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
                pid
            }
        }
    }
}

/// A limit of open files that is usual for a login, for a command and what it starts.
fn with_usual_file_limit(c: &mut Command) -> &mut Command {
    // SAFETY: async-signal-safe calls on a valid structure.
    unsafe {
        c.pre_exec(|| {
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            limit.rlim_cur = 1_024;
            match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

/// A busy server has more cgroups than a process may have open files.
#[test]
fn more_cgroups_than_open_files_are_frozen() {
    let Some((mount, own)) = own_group().filter(|_| is_root()) else {
        return skip("needs root and cgroup v2");
    };
    let _alone = common::alone();
    let name = format!("tare-test-many-{}", std::process::id());
    let groups = Groups::start(mount.join(own.trim_start_matches('/')).join(name), 1_500);
    let m = Machine::real().set(&[]);
    let pids: Vec<String> = groups.pids.iter().map(i32::to_string).collect();
    let only = format!("--freeze-only={}", pids.join(","));

    let out = common::run(with_usual_file_limit(&mut m.command(&["tune", "--freeze", &only, "--json"])), 0);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["freeze"]["refused"].as_array().map(Vec::len), Some(0), "{}", report["freeze"]["refused"]);
    assert_eq!(report["freeze"]["processes"], 1_500);
    assert!(groups.all_frozen());
    common::run(with_usual_file_limit(&mut m.command(&["restore"])), 0);
    assert!(groups.none_frozen());

    // The guard thaws all of them, too; the program has the limit that tare was started with.
    let limit = common::folder();
    let said = limit.path().join("limit");
    let mut c = m.command(&["run", "--tune", "--freeze", &only, "-r1", "-w0", "--style", "none"]);
    c.args(["--", "sh", "-c", "ulimit -Sn >\"$0\"; exec sleep 60"]).arg(&said).stderr(Stdio::null());
    let mut child = with_usual_file_limit(&mut c).spawn().expect("tare");
    until("the program runs", || std::fs::read_to_string(&said).is_ok_and(|t| t.ends_with('\n')));
    assert_eq!(std::fs::read_to_string(&said).expect("the limit").trim(), "1024");
    assert!(groups.all_frozen());
    child.kill().expect("kill");
    child.wait().expect("tare");
    until("the guard has thawed them", || groups.none_frozen());
    m.tare(&["restore"], 0);
}

#[test]
fn what_keeps_the_machine_alive_is_not_frozen() {
    let Some(_) = own_group().filter(|_| is_root()) else {
        return skip("needs root and cgroup v2");
    };
    // By a plan only: this test, its ancestors and init are spared, whatever else runs here.
    let m = Machine::real().set(&[]);
    let line = std::iter::successors(Some(std::process::id()), |pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok().filter(|p| *p > 0)
    });
    for pid in line {
        let only = format!("--freeze-only={pid}");
        let report = m.json(&["tune", "--dry-run", "--freeze", &only], 0);
        assert_eq!(report["freeze"]["processes"], 0, "{pid}: {report:#}");
    }
}
