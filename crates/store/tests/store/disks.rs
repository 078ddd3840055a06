//! Disks that are full or read-only. These are mounted in a namespace of the child's own, so that whatever happens to it
//! nothing stays mounted.

use crate::children::{asked, wrapped};
use crate::data;
use crate::data::{place, run, sample};
use crate::migration::v3;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use tarebench_core::documents::head::{Id, Status};
use tarebench_core::run::notes::readings;
use tarebench_store::{DocumentFilter, SqliteStore, Store, StoreError};

const UNSHARE: &[&str] = &["unshare", "--mount", "--propagation", "private"];

fn succeeds(words: &[&str]) -> bool {
    let quiet = Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|s| s.success())
}

/// Runs the test `name` as a child that may mount; says so if that cannot be.
fn with_mounts(name: &str) {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: {name} needs root, to mount a small disk");
        return;
    }
    let can = "mount -t tmpfs -o size=64k tmpfs /mnt";
    if !succeeds(&[UNSHARE, &["sh", "-c", can]].concat()) {
        println!("skipped: {name} needs to mount a tmpfs (CAP_SYS_ADMIN; unshare and mount of util-linux)");
        return;
    }
    let (dir, _) = place();
    let exe = std::env::current_exe().unwrap();
    let out = wrapped(UNSHARE, &exe, name, dir.path()).output().unwrap();
    let said = [out.stdout, out.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

fn mount(arguments: &[&str], folder: &Path) {
    let status = Command::new("mount").args(arguments).arg(folder).status().unwrap();
    assert!(status.success());
}

#[test]
fn full() {
    with_mounts("disks::child_full");
}

#[test]
fn child_full() {
    let Some((folder, _)) = asked() else { return };
    mount(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &folder);
    let path = folder.join("tare.db");
    let rubbish = folder.join("rubbish");
    std::fs::write(&rubbish, vec![1; 512 << 10]).unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    let mut stored = Vec::new();
    let failed = loop {
        let next = sample(stored.len() as u32, 300);
        match store.add_sample(id, &next) {
            Ok(()) => stored.push(next),
            Err(e) => break e,
        }
        assert!(stored.len() < 1_000);
    };
    assert!(matches!(failed, StoreError::Full { .. }), "{failed:?}");
    assert!(stored.len() > 5);
    assert!(store.samples(id).unwrap() == stored, "the same store still reads");
    assert!(SqliteStore::open_read_only(&path).unwrap().samples(id).unwrap() == stored);

    // To the last byte.
    let filler = folder.join("filler");
    assert!(std::fs::write(&filler, vec![1; 4 << 20]).is_err());
    assert!(matches!(store.add_sample(id, &sample(9_999, 3_000)), Err(StoreError::Full { .. })));
    assert!(matches!(SqliteStore::open(&folder.join("new.db")), Err(StoreError::Full { .. })));
    assert!(matches!(SqliteStore::open(&folder.join("new/tare.db")), Err(StoreError::Full { .. })));
    drop(store);
    assert!(SqliteStore::open_read_only(&path).unwrap().samples(id).unwrap() == stored);
    match SqliteStore::open(&path) {
        Ok(store) => assert!(store.samples(id).unwrap() == stored),
        Err(e) => assert!(matches!(e, StoreError::Full { .. }), "{e:?}"),
    }

    // With free space again, it continues.
    std::fs::remove_file(&filler).unwrap();
    std::fs::remove_file(&rubbish).unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    store.add_sample(id, &sample(9_999, 1)).unwrap();
    assert_eq!(store.samples(id).unwrap().len(), stored.len() + 1);
    drop(store);
    crate::data::assert_sound(&path);
}

#[test]
fn read_only() {
    with_mounts("disks::child_read_only");
}

#[test]
fn child_read_only() {
    let Some((folder, _)) = asked() else { return };
    mount(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], &folder);
    let in_folder = |name: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.join("tare.db")
    };
    let (clean, logged) = (in_folder("clean"), in_folder("logged"));
    let mut store = SqliteStore::open(&clean).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    store.add_sample(id, &sample(0, 3)).unwrap();
    store.add_sample(id, &sample(1, 3)).unwrap();
    // As after a crash: all of it in the log, which has no index.
    for suffix in ["", "-wal"] {
        let file = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(file(&clean), file(&logged)).unwrap();
    }
    drop(store);
    assert!(!folder.join("clean/tare.db-wal").exists(), "the last one to close takes the log in");
    // A log and an index, as left by a killed process.
    let both = in_folder("both");
    for suffix in ["", "-wal"] {
        let file = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(file(&logged), file(&both)).unwrap();
    }
    std::fs::write(folder.join("both/tare.db-shm"), vec![0; 32 * 1024]).unwrap();

    let old = in_folder("old");
    drop(v3(&old));

    mount(&["-o", "remount,ro"], &folder);
    reads_an_old_store(&old);
    for path in [&clean, &logged, &both] {
        let mut store = SqliteStore::open_read_only(path).unwrap();
        assert_eq!(store.samples(id).unwrap(), [sample(0, 3), sample(1, 3)], "{}", path.display());
        assert_eq!(data::archive(&store, id).samples.len(), 2);
        assert!(matches!(store.set_status(Id::run(id), Status::Finished), Err(StoreError::ReadOnly { .. })));
        drop(store);
        let e = SqliteStore::open(path).unwrap_err();
        assert!(matches!(e, StoreError::ReadOnly { .. }), "{}: {e:?}", path.display());
    }
    for new in ["new.db", "new/tare.db"] {
        let e = SqliteStore::open(&folder.join(new)).unwrap_err();
        assert!(matches!(e, StoreError::ReadOnly { .. }), "{new}: {e:?}");
    }
}

/// What an earlier version wrote is read as if it had been brought up to date, and stays as it is.
fn reads_an_old_store(path: &Path) {
    let before = std::fs::read(path).unwrap();
    let mut store = SqliteStore::open_read_only(path).unwrap();
    let p1 = store.document("p1".parse().unwrap()).unwrap();
    assert_eq!((p1.head.title.as_str(), store.list(&DocumentFilter::default()).unwrap().len()), ("p@1", 6));
    assert_eq!(readings(&store.run(1).unwrap().notes).count(), 2);
    assert!(matches!(store.set_status(Id::run(1), Status::Finished), Err(StoreError::ReadOnly { .. })));
    drop(store);
    assert!(std::fs::read(path).unwrap() == before, "reading has changed it");
}

/// Permission bits do not bind root, so this is done as nobody.
#[test]
fn not_permitted() {
    let setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    if !succeeds(&[&setpriv[..], &["true"]].concat()) {
        println!("skipped: disks::not_permitted needs root, to become nobody (setpriv of util-linux)");
        return;
    }
    let (dir, path) = place();
    let mut store = SqliteStore::open(&path).unwrap();
    let id = store.begin_run(&run(1)).unwrap();
    store.add_sample(id, &sample(0, 3)).unwrap();
    drop(store);
    let hidden = dir.path().join("hidden.db");
    std::fs::copy(&path, &hidden).unwrap();
    let exe = dir.path().join("child");
    std::fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    let old = dir.path().join("old.db");
    drop(v3(&old));
    for (path, mode) in [(dir.path(), 0o755), (&path, 0o644), (&old, 0o644), (&hidden, 0o600)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let out = wrapped(&setpriv, &exe, "disks::child_not_permitted", dir.path()).output().unwrap();
    let said = [out.stdout, out.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn child_not_permitted() {
    let Some((folder, _)) = asked() else { return };
    let path = folder.join("tare.db");
    assert_eq!(SqliteStore::open_read_only(&path).unwrap().samples(1).unwrap(), [sample(0, 3)]);
    reads_an_old_store(&folder.join("old.db"));
    for path in [path, folder.join("new.db"), folder.join("new/tare.db")] {
        let e = SqliteStore::open(&path).unwrap_err();
        assert!(matches!(e, StoreError::ReadOnly { .. }), "{}: {e:?}", path.display());
    }
    let e = SqliteStore::open_read_only(&folder.join("hidden.db")).unwrap_err();
    assert!(e.to_string().contains("Permission denied"), "{e:?}");
}
