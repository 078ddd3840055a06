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
