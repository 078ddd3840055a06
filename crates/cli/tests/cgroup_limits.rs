//! Quotas of CPU time and limits of memory of tare's own cgroup: what they did to a program is told. Cgroup v1; `make machines` tries v2.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A cgroup of a v1 hierarchy with two levels, of which the upper one has a limit; removed in the end.
struct Group {
    above: PathBuf,
    /// As tare names the upper one.
    name: String,
}

impl Group {
    /// `None` without that hierarchy, or without the privilege.
    fn new(controller: &str, limit: (&str, &str)) -> Option<Group> {
        let hierarchy = Path::new("/sys/fs/cgroup").join(controller);
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own =
            own.lines().find_map(|l| l.split_once(&format!(":{controller}:")).map(|(_, path)| path.to_owned()))?;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/tare-test-{}-{number}", own.trim_end_matches('/'), std::process::id());
        let group = Group { above: hierarchy.join(name.trim_start_matches('/')), name };
        std::fs::create_dir_all(group.below()).ok()?;
        std::fs::write(group.above.join(limit.0), limit.1).ok()?;
        Some(group)
    }

    fn below(&self) -> PathBuf {
        self.above.join("a b")
    }

    /// A tare that is started in the lower one, by this user.
    fn tare(&self, dir: &TempDir, user: &[&str]) -> Command {
        let enter = "echo $$ >\"$0/cgroup.procs\" && exec \"$@\"";
        let below = self.below();
        let words = ["sh", "-c", enter, below.to_str().unwrap()];
        via(dir, &words.iter().chain(user).copied().collect::<Vec<_>>())
    }

    fn count(&self, file: &str, key: &str) -> f64 {
        let text = std::fs::read_to_string(self.above.join(file)).unwrap();
        text.lines().find_map(|l| l.strip_prefix(key)?.trim().parse().ok()).unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        until("the cgroup is empty", || std::fs::remove_dir(self.below()).is_ok());
        let _ = std::fs::remove_dir(&self.above);
    }
}

fn with_quota() -> Option<Group> {
    let group = Group::new("cpu", ("cpu.cfs_quota_us", "20000"));
    if group.is_none() {
        skip("needs root and the cgroup v1 hierarchy cpu");
    }
    group
}

/// What the quota of the parent did to the samples, ns: of each at most as long as it took.
fn throttled(group: &Group, samples: &[Value]) -> f64 {
    let of = |sample: &Value| {
        let all = sample["cgroup_limits"]["value"]["throttled"].as_array().unwrap_or_else(|| panic!("{sample:#}"));
        assert_eq!((all.len(), all[0][0].as_str()), (1, Some(group.name.as_str())), "{all:?}");
        let time = all[0][1]["time"].as_f64().unwrap();
        // 60 ms of work in periods of 100 ms with 20 ms each.
        assert!(time > 100e6 && time < 2.0 * elapsed(sample), "{time} ns of {}", elapsed(sample));
        time
    };
    samples.iter().map(of).sum()
}

#[test]
fn a_quota_has_its_own_entry_in_the_account() {
    let _lock = alone();
    let Some(group) = with_quota() else { return };
    let dir = folder();
    let samples = dir.path().join("samples.csv");
    let run = ["run", "--json", "-w0", "-r3", "--export-samples", samples.to_str().unwrap()];
    let document = json(group.tare(&dir, &[]).args(run).args(["--", burner(), "burn-self", "60"]), 0);
    let found = throttled(&group, document["samples"].as_array().unwrap());
    let kernel = group.count("cpu.stat", "throttled_time ");
    assert!(found <= kernel, "{found} of {kernel} ns");
    // Beside the quota there is hardly any wait; all entries and elapsed time add up.
    let table = std::fs::read_to_string(&samples).unwrap();
    let mut lines = table.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let mut rows = 0;
    for row in lines {
        let of = |name: &str| -> f64 {
            row[heads.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name}"))].parse().unwrap()
        };
        let (held, innocent) = (of("main_throttled_ns"), of("main_waited_for_others_ns"));
        assert!(held > 100e6 && held <= of("throttled_ns"), "{held}");
        assert!(innocent < 0.2 * held, "{innocent} ns are booked to others, {held} to the quota");
        assert!(of("unattributed_ns").abs() < 0.001 * of("et_ns"), "{}", of("unattributed_ns"));
        rows += 1;
    }
    assert_eq!(rows, 3);
    let shown = text(&common::run(tare(&dir).args(["show", "last", "--full"]), 0).stdout);
    assert!(shown.contains("throttled by the quota of cgroup "), "{shown}");
    assert!(shown.contains(&format!("The quota of CPU time of cgroup {}", group.name)), "{shown}");
}

/// Who cannot trace is told of it, too.
#[test]
fn a_quota_is_told_without_privilege() {
    let _lock = alone();
    let Some(group) = with_quota() else { return };
    let dir = folder();
    let run = ["run", "-w0", "-r3", "--account", "--", burner(), "burn-self", "60"];
    let shown = text(&common::run(group.tare(&dir, NOBODY).args(run), 0).stdout).replace("\n  ", " ");
    assert!(shown.contains(&format!("The quota of CPU time of cgroup {}", group.name)), "{shown}");
    assert!(shown.contains("of it throttled by the"), "{shown}");
    let document = json(via(&dir, NOBODY).args(["export", "last"]), 0);
    assert!(throttled(&group, document["samples"].as_array().unwrap()) > 0.0);
}

#[test]
fn without_a_quota_nothing_is_said() {
    let _lock = shared();
    let dir = folder();
    let document = json(tare(&dir).args(["run", "--json", "-w0", "-r1", "--", burner(), "burn-self", "20"]), 0);
    let limits = &only_sample(&document)["cgroup_limits"]["value"];
    assert_eq!(limits["throttled"].as_array().map(Vec::len), Some(0), "{limits}");
    let shown = text(&run(tare(&dir).args(["show", "last", "--full"]), 0).stdout);
    assert!(!shown.contains("quota") && !shown.contains("emory ran out"), "{shown}");
}

/// Takes 400 MiB where there are 200.
const HOG: &str = "dd if=/dev/zero of=/dev/null bs=400M count=1 2>/dev/null";

fn with_little_memory() -> Option<Group> {
    let group = Group::new("memory", ("memory.limit_in_bytes", "200M"));
    if group.is_none() {
        skip("needs root and the cgroup v1 hierarchy memory");
    }
    group
}

#[test]
fn a_lack_of_memory_is_the_cause_of_the_failure() {
    let _lock = shared();
    let Some(group) = with_little_memory() else { return };
    for user in [&[][..], NOBODY] {
        let dir = folder();
        let hog = format!("exec {HOG}");
        let out = run(group.tare(&dir, user).args(["run", "-w0", "-r2", "-S", "sh", &hog]), 1);
        let said = text(&out.stderr);
        let cause = format!("killed by SIGKILL, as memory ran out at the limit of cgroup {}", group.name);
        assert!(said.contains(&cause), "{said}");
        assert!(said.contains("raise the limit of memory") && !said.contains("-i"), "{said}");
    }
}

#[test]
fn a_program_that_survives_a_lack_of_memory_is_warned_of() {
    let _lock = shared();
    let Some(group) = with_little_memory() else { return };
    let dir = folder();
    let out = run(group.tare(&dir, &[]).args(["run", "-w0", "-r2", "-S", "sh", &format!("{HOG}; true")]), 0);
    let shown = text(&out.stdout).replace("\n  ", " ");
    let warning = format!("Memory ran out at the limit of cgroup {} in 2 of 2 samples", group.name);
    assert!(shown.contains(&warning), "{shown}");
}
