//! How much memory new processes may use.

use crate::cgroup;
use crate::procfs::{flat_keyed, parse_int, read_below};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files of a cgroup that say how much memory it may use and how much it uses, and the key in `memory.stat` of that part of it which
/// is only a cache of files.
struct LimitFiles {
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

const VERSION_2: LimitFiles = LimitFiles { limit: "memory.max", usage: "memory.current", cache: "inactive_file" };
const VERSION_1: LimitFiles =
    LimitFiles { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_inactive_file" };

/// Bytes that can be used without swapping: what the machine has, or what is left below the limit of this process's cgroup or of one
/// above it. `None` if the machine does not say.
pub fn available(root: &Path) -> Option<u64> {
    let machine = mem_available(&read_below(root, "proc/meminfo").ok()?)?;
    let version_2 = cgroup::own_folder(root).ok();
    let version_2 = version_2.iter().flat_map(|f| groups(f)).filter_map(|f| room(&f, &VERSION_2));
    let version_1 = version_1_folder(root);
    let version_1 = version_1.iter().flat_map(|f| groups(f)).filter_map(|f| room(&f, &VERSION_1));
    version_2.chain(version_1).chain([machine]).min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn mem_available(info: &[u8]) -> Option<u64> {
    let line = info.split(|b| *b == b'\n').find_map(|l| l.strip_prefix(b"MemAvailable:"))?;
    let kib: u64 = parse_int(line.trim_ascii().split(|b| *b == b' ').next()?)?;
    kib.checked_mul(1024)
}

/// This folder of a hierarchy of cgroups and those above it.
fn groups(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let above: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
    above.into_iter().take_while(|f| f.join("cgroup.procs").exists())
}

/// Folder of this process in the hierarchy of the memory controller, version 1.
fn version_1_folder(root: &Path) -> Option<PathBuf> {
    let cgroups = read_below(root, "proc/self/cgroup").ok()?;
    let own = cgroups.split(|b| *b == b'\n').find_map(|line| {
        let mut fields = line.splitn(3, |b| *b == b':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers.split(|b| *b == b',').any(|c| c == b"memory").then_some(path)
    })?;
    // Where distributions mount it.
    let folder = root.join("sys/fs/cgroup/memory").join(OsStr::from_bytes(own.strip_prefix(b"/").unwrap_or(own)));
    folder.is_dir().then_some(folder)
}

/// What is left below the limit of a cgroup; `None` if it has none. A cache of files makes room when it is needed.
fn room(folder: &Path, files: &LimitFiles) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { parse_int(std::fs::read(folder.join(name)).ok()?.trim_ascii()) };
    let (limit, usage) = (number(files.limit)?, number(files.usage)?);
    let stat = std::fs::read(folder.join("memory.stat")).unwrap_or_default();
    let cache = flat_keyed(&stat, files.cache).unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn put(root: &Path, path: &str, text: &str) {
        let full = root.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    #[test]
    fn the_tightest_limit_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(available(root), None);
        put(root, "proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\nCached: 7 kB\n");
        assert_eq!(available(root), Some(4096 * MIB));
        put(root, "proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put(root, "proc/self/cgroup", "0::/a/b\n");
        for group in ["", "a/", "a/b/"] {
            put(root, &format!("sys/fs/cgroup/{group}cgroup.procs"), "");
        }
        put(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(available(root), Some(4096 * MIB), "no limit is none");
        // 1,000 MiB, of which 300 are used, 100 of them for files.
        put(root, "sys/fs/cgroup/a/memory.max", &format!("{}\n", 1000 * MIB));
        put(root, "sys/fs/cgroup/a/memory.current", &format!("{}\n", 300 * MIB));
        put(root, "sys/fs/cgroup/a/memory.stat", &format!("anon 1\ninactive_file {}\nfile 2\n", 100 * MIB));
        assert_eq!(available(root), Some(800 * MIB));
        put(root, "sys/fs/cgroup/a/b/memory.max", &format!("{}\n", 10 * MIB));
        put(root, "sys/fs/cgroup/a/b/memory.current", &format!("{}\n", 20 * MIB));
        assert_eq!(available(root), Some(0), "beyond the limit nothing is left");
    }

    #[test]
    fn limits_of_version_1_count_too() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "proc/meminfo", "MemAvailable:    4194304 kB\n");
        put(root, "proc/self/cgroup", "4:cpu,memory:/x\n0::/\n");
        put(root, "sys/fs/cgroup/memory/cgroup.procs", "");
        put(root, "sys/fs/cgroup/memory/x/cgroup.procs", "");
        // None.
        put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
        assert_eq!(available(root), Some(4096 * MIB));
        put(root, "sys/fs/cgroup/memory/x/memory.limit_in_bytes", &format!("{}\n", 512 * MIB));
        put(root, "sys/fs/cgroup/memory/x/memory.usage_in_bytes", &format!("{}\n", 500 * MIB));
        put(root, "sys/fs/cgroup/memory/x/memory.stat", &format!("total_inactive_file {}\n", 8 * MIB));
        assert_eq!(available(root), Some(20 * MIB));
    }

    #[test]
    fn this_machine_says() {
        assert!(available(Path::new("/")).unwrap() > 0);
    }
}
