//! What `tare tune --freeze` has stopped runs again: when the guard's time is over, when tare is stopped, when all that
//! is in its cgroup is killed. Only processes that this test has started are ever frozen.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/tuning.rs"]
mod tuning;

use common::{is_root, skip, until};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tuning::Machine;

fn mount() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|l| l.contains(" - cgroup2 "))?;
    Some(PathBuf::from(line.split(' ').nth(4)?))
}

/// A cgroup of this test with one process in a separate session.
struct Frozen {
    group: PathBuf,
    child: Child,
}

impl Frozen {
    fn start(mount: &Path, name: &str) -> Frozen {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|l| l.strip_prefix("0::/")).unwrap().to_owned();
        let group = mount.join(own).join(format!("tare-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&group).unwrap();
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
        let child = c.spawn().unwrap();
        std::fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        Frozen { group, child }
    }

    fn only(&self) -> String {
        format!("--freeze-only={}", self.child.id())
    }

    fn is_frozen(&self) -> bool {
        std::fs::read_to_string(self.group.join("cgroup.events")).unwrap().contains("frozen 1")
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = std::fs::write(self.group.join("cgroup.freeze"), "0");
        let _ = self.child.kill();
        let _ = self.child.wait();
        until("the group is empty", || std::fs::remove_dir(&self.group).is_ok());
    }
}

/// Cgroups of guards that are there.
fn guards(mount: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(mount).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    names.filter(|n| n.starts_with("tare-guard.")).collect()
}

#[test]
fn all_that_is_frozen_runs_again() {
    let Some(mount) = mount().filter(|_| is_root()) else {
        return skip("needs root and cgroup v2");
    };
    let _alone = common::alone();
    let frozen = Frozen::start(&mount, "ends");
    let m = Machine::real().set(&[]);
    let before = guards(&mount);

    // `tare tune` leaves it frozen, until the limit.
    m.tare(&["tune", "--freeze", &frozen.only(), "--freeze-limit", "1"], 0);
    assert!(frozen.is_frozen());
    until("the limit has passed", || !frozen.is_frozen());
    let out = m.tare(&["restore"], 0);
    assert!(common::text(&out.stdout).contains("ran again before this"), "{}", common::text(&out.stdout));
    // A restore ends the guard long before the limit; then another process may freeze it.
    m.tare(&["tune", "--freeze", &frozen.only(), "--freeze-limit", "600"], 0);
    m.tare(&["restore"], 0);
    std::fs::write(frozen.group.join("cgroup.freeze"), "1").unwrap();
    until("the guard has ended", || guards(&mount).is_subset(&before));
    assert!(frozen.is_frozen(), "it was not the guard's to thaw");
    std::fs::write(frozen.group.join("cgroup.freeze"), "0").unwrap();

    // A sample may last longer than the limit.
    let run = |seconds: &str, limit: &str| {
        let mut c = m.command(&["run", "--tune", "--freeze", &frozen.only(), "--freeze-limit", limit]);
        c.args(["-r1", "-w0", "--style", "none", "--no-account", "--no-images", "--", "sleep", seconds])
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut child = run("2.5", "1");
    until("it is frozen", || frozen.is_frozen());
    std::thread::sleep(std::time::Duration::from_millis(1_800));
    assert!(frozen.is_frozen(), "the sample lasts");
    assert!(child.wait().unwrap().success());
    assert!(!frozen.is_frozen());

    // Stopped, as by Ctrl-Z.
    let mut child = run("60", "600");
    until("it is frozen", || frozen.is_frozen());
    common::signal(child.id(), libc::SIGSTOP);
    until("it is thawed", || !frozen.is_frozen());
    child.kill().unwrap();
    child.wait().unwrap();
    m.tare(&["restore"], 0);

    // All of tare's cgroup is killed at once; the guard is not in it.
    let own = frozen.group.with_file_name(format!("tare-test-own-{}", std::process::id()));
    std::fs::create_dir(&own).unwrap();
    let kill = own.join("cgroup.kill");
    if kill.exists() {
        let mut run = m.command(&["run", "--tune", "--freeze", &frozen.only()]);
        run.args(["-r1", "-w0", "--style", "none", "--", "sleep", "60"]);
        let mut c = Command::new("sh");
        c.args(["-c", &format!("echo $$ > {}/cgroup.procs; exec \"$@\"", own.display()), "sh"]);
        c.arg(run.get_program()).args(run.get_args()).stderr(Stdio::null());
        c.envs(run.get_envs().filter_map(|(k, v)| Some((k, v?))));
        let mut child = c.spawn().unwrap();
        until("it is frozen", || frozen.is_frozen());
        std::fs::write(&kill, "1").unwrap();
        child.wait().unwrap();
        until("the guard has thawed it", || !frozen.is_frozen());
        m.tare(&["restore"], 0);
    }
    for entry in std::fs::read_dir(&own).unwrap().flatten() {
        let _ = std::fs::remove_dir(entry.path());
    }
    until("its cgroup is gone", || std::fs::remove_dir(&own).is_ok());
    until("no guard is left", || guards(&mount).is_subset(&before));
}
