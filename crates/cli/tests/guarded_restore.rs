//! What other users of the machine may not do to root through the journal of `tare tune`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "../../host/tests/common/machines.rs"]
mod machines;
#[path = "common/tuning.rs"]
mod tuning;

use common::{NOBODY, is_root, run, skip, text, until};
use machines::intel_laptop;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use tuning::Machine;

const SWAPPINESS: &str = "proc/sys/vm/swappiness";
const USER: u32 = 65534;

/// A line of a journal with its checksum, FNV-1a, which anybody can compute.
fn line(record: &serde_json::Value, boot: &str) -> String {
    let text = format!("{{\"boot\":{},\"record\":{record}}}", serde_json::json!(boot));
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{{\"sum\":\"{sum:016x}\",{}\n", text.trim_start_matches('{'))
}

/// A journal that says of each target that it was `old` before.
fn forged(targets: &[&str], old: &str) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let header = serde_json::json!({"kind": "header", "format": "tare-journal", "version": 1, "pid": 1, "start": 0, "created": 0});
    let change = |target: &&str| {
        serde_json::json!({"kind": "change", "change": "value", "factor": "test",
            "target": {"kind": "file", "name": target}, "old": old, "new": null, "survives_reboot": true})
    };
    let records = std::iter::once(header).chain(targets.iter().map(change));
    records.map(|r| line(&r, boot.trim())).collect()
}

/// A file that must stay as it is, and the ways in which a journal could name it.
fn victim(dir: &Path) -> (std::path::PathBuf, [String; 3]) {
    let path = dir.join("victim");
    std::fs::write(&path, "precious\n").unwrap();
    let below = path.strip_prefix("/").unwrap().display().to_string();
    let names = [format!("proc/self/root/{below}"), format!("proc/1/root/{below}"), format!("proc/../{below}")];
    (path, names)
}

#[test]
fn a_journal_of_another_user_is_not_restored_by_root() {
    if !is_root() {
        return skip("needs root");
    }
    let m = Machine::real();
    let (victim, names) = victim(m.dir.path());
    let journal = forged(&names.each_ref().map(String::as_str), "overwritten");
    let give = |path: &Path, owner: u32, mode: u32| {
        chown(path, Some(owner), Some(owner)).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // The folder, the journal or the folder above belongs to another user, or is writable by all.
    let cases: [(u32, u32, u32, u32, &str); 5] = [
        (USER, 0o755, USER, 0o644, "the folder belongs to user 65534"),
        (USER, 0o755, 0, 0o644, "the folder belongs to user 65534"),
        (0, 0o755, USER, 0o644, "journal belongs to user 65534"),
        (0, 0o777, 0, 0o644, "the folder is writable by others"),
        (0, 0o755, 0, 0o666, "journal is writable by others"),
    ];
    for (folder, folder_mode, owner, mode, said) in cases {
        let _ = std::fs::remove_dir_all(m.state());
        std::fs::create_dir(m.state()).unwrap();
        std::fs::write(m.journal(), &journal).unwrap();
        give(&m.journal(), owner, mode);
        give(&m.state(), folder, folder_mode);
        for command in [&["restore"][..], &["restore", "--force"], &["tune", "--only", "aslr"]] {
            let out = m.tare(command, 4);
            assert!(text(&out.stderr).contains(said), "{said}: {}", text(&out.stderr));
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious\n", "{said}");
        }
    }
    // A link to a folder of root's, made by another user.
    let _ = std::fs::rename(m.state(), m.dir.path().join("real"));
    std::os::unix::fs::symlink(m.dir.path().join("real"), m.state()).unwrap();
    let out = m.tare(&["restore"], 4);
    assert!(text(&out.stderr).contains("symbolic link"), "{}", text(&out.stderr));
}

#[test]
fn even_a_journal_of_roots_names_only_what_factors_set() {
    if !is_root() {
        return skip("needs root");
    }
    let m = Machine::real();
    let (victim, names) = victim(m.dir.path());
    // Harmless to write to, though no factor sets it.
    let kernel = "proc/self/coredump_filter";
    let targets: Vec<&str> = names.iter().map(String::as_str).chain([kernel]).collect();
    for force in [&["restore"][..], &["restore", "--force"]] {
        std::fs::create_dir_all(m.state()).unwrap();
        std::fs::write(m.journal(), forged(&targets, "00000077")).unwrap();
        let report = m.json(force, 1);
        for item in report["items"].as_array().unwrap() {
            let refused = item["state"] == "refused" || item["state"] == "gone";
            assert!(refused, "{item}");
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious\n");
    }
}

#[test]
fn a_file_system_in_the_place_of_the_kernels_is_not_written_to() {
    if !is_root() || !Path::new("/sys/kernel/mm/transparent_hugepage").is_dir() {
        return skip("needs root and huge pages");
    }
    let m = Machine::real().set(&[("sys/kernel/mm/transparent_hugepage/enabled", "never")]);
    let words = |c: &Command| {
        let all = std::iter::once(c.get_program()).chain(c.get_args());
        all.map(|w| shell_words::quote(&w.to_string_lossy()).into_owned()).collect::<Vec<_>>().join(" ")
    };
    let tune = m.command(&["tune"]);
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let script = format!(
        "mount -t tmpfs none {folder} && echo always > {folder}/enabled && {}; echo $?; cat {folder}/enabled",
        words(&tune)
    );
    let mut c = Command::new("unshare");
    c.args(["--mount", "--propagation", "private", "sh", "-c", &script]).env("TARE_STATE", m.state());
    let out = run(&mut c, 0);
    let said = text(&out.stdout);
    assert!(said.contains("not on the kernel's file system"), "{said}{}", text(&out.stderr));
    assert!(said.ends_with("1\nalways\n"), "{said}");
}

#[test]
fn what_cannot_be_read_is_never_written() {
    let m = Machine::fake(intel_laptop).set(&[(SWAPPINESS, "1")]);
    m.tare(&["tune"], 0);
    // Two lines are no value: whatever this is, it is not what tune has set.
    m.put(SWAPPINESS, "1\n2");
    let report = m.json(&["restore", "--force"], 1);
    assert_eq!(report["items"][0]["state"], "refused", "{report:#}");
    assert_eq!(m.value(SWAPPINESS), "1\n2");
    assert!(m.journal().exists(), "it is still known");
    m.put(SWAPPINESS, "1");
    m.tare(&["restore"], 0);
    assert_eq!(m.value(SWAPPINESS), "60");
}

#[test]
fn nobody_else_can_hold_the_lock() {
    if !is_root() {
        return skip("needs root");
    }
    let m = Machine::fake(intel_laptop).set(&[(SWAPPINESS, "1")]);
    // The way down to it is open to all.
    std::fs::set_permissions(m.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    m.tare(&["tune"], 0);
    let lock = m.state().join("lock");
    assert_eq!(std::fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o600);
    let mut c = Command::new(NOBODY[0]);
    c.args(&NOBODY[1..]).args(["flock", "--nonblock"]).arg(&lock).args(["sh", "-c", "echo held; exec sleep 60"]);
    let mut other = c.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Either it cannot open it and ends, or it holds it and says so.
    let mut first = [0];
    let _ = std::io::Read::read(other.stdout.as_mut().unwrap(), &mut first);
    let out = m.command(&["restore"]).output().unwrap();
    let _ = other.kill();
    let _ = other.wait();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(m.value(SWAPPINESS), "60");
}

#[test]
fn who_holds_the_lock_is_told_to_others() {
    let m = Machine::fake(intel_laptop).set(&[(SWAPPINESS, "1")]);
    let mut c = m.command(&["run", "--tune", "-r1", "-w0", "--style", "none"]);
    c.args(["--", "sleep", "60"]);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let holder = m.state().join("holder");
    until("it is tuned", || m.value(SWAPPINESS) == "1" && holder.exists());
    assert_eq!(std::fs::metadata(&holder).unwrap().permissions().mode() & 0o777, 0o644);
    let out = m.tare(&["restore"], 4);
    assert!(text(&out.stderr).contains(&format!("process {} (tare tune)", child.id())), "{}", text(&out.stderr));
    common::signal(child.id(), libc::SIGINT);
    child.wait().unwrap();
    assert!(!holder.exists());
}

#[test]
fn a_pending_journal_that_is_no_file_does_not_hold_up_a_command() {
    let dir = common::folder();
    for (what, make) in [
        ("a FIFO", "mkfifo journal"),
        ("an endless file", "ln -s /dev/zero journal"),
        ("a file with a hole", "truncate -s 1T journal"),
    ] {
        let state = dir.path().join("state");
        let _ = std::fs::remove_dir_all(&state);
        std::fs::create_dir(&state).unwrap();
        run(Command::new("sh").args(["-c", make]).current_dir(&state), 0);
        // An address space of 2 GB, so that a file that is read without end does not take the machine's memory.
        let mut c = common::via(&dir, &["timeout", "20", "prlimit", "--as=2000000000"]);
        let out = c.args(["list"]).env("TARE_STATE", &state).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{what}: {}", text(&out.stderr));
    }
}
