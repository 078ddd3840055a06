//! Files that results are written to: replaced as a whole, or left as they were.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;

use common::{NOBODY, folder, is_root, run, shared, skip, tare, text, via};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A store with a run whose name has 100,000 letters.
fn long_run() -> TempDir {
    let dir = folder();
    let name = "x".repeat(100_000);
    run(tare(&dir).args(["run", "-r", "2", "-w", "0", "--no-account", "-n", &name, "--", "true"]), 0);
    dir
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

fn mode(file: &Path) -> u32 {
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

/// Files that tare left in a folder.
fn temporary(dir: &TempDir) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
    all.filter(|f| f.extension().is_some_and(|e| e == "tmp")).collect()
}

/// No file may grow beyond 64 KiB, as on a disk that is full.
#[test]
fn an_export_that_fails_leaves_the_old_file() {
    let _lock = shared();
    let dir = long_run();
    let file = dir.path().join("out");
    std::fs::write(&file, "old").unwrap();
    for args in [
        &["show", "1", "--export-json"][..],
        &["show", "1", "--export-csv"],
        &["export", "1", "-o"],
        &["report", "1", "-o"],
    ] {
        let mut limited = via(&dir, &["sh", "-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""]);
        let out = run(limited.args(args).arg(&file), 4);
        assert!(text(&out.stderr).contains("write ") && text(&out.stderr).contains("out"), "{}", text(&out.stderr));
        assert_eq!((read(&file).as_str(), temporary(&dir)), ("old", Vec::new()), "{args:?}");
    }
    run(tare(&dir).args(["show", "1", "--export-json"]).arg(&file), 0);
    assert!(read(&file).starts_with('{') && temporary(&dir).is_empty());
}

/// What was written before the damage is not taken for the run.
#[test]
fn an_export_of_a_damaged_run_leaves_the_old_file() {
    let _lock = shared();
    let dir = folder();
    run(tare(&dir).args(["run", "-r", "3", "-w", "0", "--no-account", "--", "true"]), 0);
    let store = rusqlite::Connection::open(dir.path().join("tare.db")).unwrap();
    store.execute("UPDATE sample SET doc = '{' WHERE seq = 2", []).unwrap();
    let file = dir.path().join("out");
    std::fs::write(&file, "old").unwrap();
    let out = run(tare(&dir).args(["export", "1", "-o"]).arg(&file), 4);
    let told = text(&out.stderr);
    assert!(told.contains("is damaged") && told.contains("sample 2 of run 1") && !told.contains("write "), "{told}");
    assert_eq!((read(&file).as_str(), temporary(&dir)), ("old", Vec::new()));
    assert!(text(&run(tare(&dir).args(["export", "1"]), 4).stderr).contains("is damaged"));
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_links() {
    let _lock = shared();
    let dir = long_run();
    let export = |file: &Path| {
        run(tare(&dir).args(["show", "1", "--export-csv"]).arg(file), 0);
    };
    let (file, link, other) = (dir.path().join("out"), dir.path().join("link"), dir.path().join("other"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("out", &link).unwrap();
    let before = std::fs::metadata(&file).unwrap();
    export(&link);
    assert!(read(&file).starts_with("command,") && mode(&file) == 0o640);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let after = std::fs::metadata(&file).unwrap();
    assert_ne!(before.ino(), after.ino(), "it was written in place");
    assert_eq!((before.uid(), before.gid()), (after.uid(), after.gid()));

    // Both names stay names of one file.
    std::fs::hard_link(&file, &other).unwrap();
    std::fs::write(&file, "old").unwrap();
    export(&file);
    assert!(read(&other).starts_with("command,"));

    // A link that leads nowhere leads to the new file.
    std::fs::remove_file(&file).unwrap();
    export(&link);
    assert!(read(&file).starts_with("command,") && link.symlink_metadata().unwrap().is_symlink());
    assert!(temporary(&dir).is_empty());
}

#[test]
fn special_files_are_written_in_place() {
    let _lock = shared();
    let dir = long_run();
    let script = "mkfifo fifo
                  cat fifo > read &
                  \"$0\" export 1 -o fifo
                  wait
                  \"$0\" export 1 -o /dev/stdout > out
                  \"$0\" export 1 -o /proc/self/fd/5 5> five";
    run(via(&dir, &["sh", "-ec", script]).current_dir(dir.path()), 0);
    for name in ["read", "out", "five"] {
        assert!(read(&dir.path().join(name)).ends_with("}\n"), "{name}");
    }
    assert!(temporary(&dir).is_empty());
}

/// A file that may be written to is, also where no file can be created beside it; one that may not is not replaced.
#[test]
fn permissions_of_files_and_folders_are_kept() {
    if !is_root() {
        return skip("not root");
    }
    let _lock = shared();
    let dir = long_run();
    let below = dir.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let (open, closed) = (below.join("open"), dir.path().join("closed"));
    for (file, mode) in [(&open, 0o666), (&closed, 0o444)] {
        std::fs::write(file, "old").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::set_permissions(dir.path().join("tare.db"), std::fs::Permissions::from_mode(0o644)).unwrap();
    run(via(&dir, NOBODY).args(["export", "1", "-o"]).arg(&open), 0);
    assert!(read(&open).starts_with('{'));
    run(via(&dir, NOBODY).args(["export", "1", "-o"]).arg(&closed), 4);
    assert_eq!(read(&closed), "old");
}

/// The kernel's protection of links in shared folders, as before when this is dropped.
struct LinkProtection(String);

impl LinkProtection {
    const FILE: &str = "/proc/sys/fs/protected_symlinks";

    fn on() -> LinkProtection {
        let before = read(Path::new(LinkProtection::FILE));
        std::fs::write(LinkProtection::FILE, "1").unwrap();
        LinkProtection(before)
    }
}

impl Drop for LinkProtection {
    fn drop(&mut self) {
        let _ = std::fs::write(LinkProtection::FILE, &self.0);
    }
}

/// In a shared folder, a link of another user's leads root to none of its files, as for every other program
/// (protected_symlinks in proc_sys_fs(5)).
#[test]
fn links_of_others_in_shared_folders_are_not_followed() {
    if !is_root() {
        return skip("not root");
    }
    let _lock = common::alone();
    let dir = long_run();
    let own = dir.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let (file, link) = (own.join("file"), dir.path().join("link"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65_534), Some(65_534)).unwrap();
    let protection = LinkProtection::on();
    let out = run(tare(&dir).args(["export", "1", "-o"]).arg(&link), 4);
    drop(protection);
    assert!(text(&out.stderr).contains("Permission denied"), "{}", text(&out.stderr));
    assert_eq!((read(&file).as_str(), temporary(&dir)), ("old", Vec::new()));
}
