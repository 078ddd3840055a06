//! Which CPUs share a core, and which ones this process can be moved to.

use crate::cpu::{self, CpuSet};
use crate::procfs::{parse_cpu_list, read_below, read_text_below};
use crate::{SysError, SysResult};
use std::collections::BTreeSet;
use std::path::Path;

/// The hyper-threads of a CPU's core, itself among them; only itself where that cannot be read.
pub fn core_of(root: &Path, cpu: u32) -> Vec<u32> {
    // The second name came with Linux 5.3, and is to replace the first.
    let names = ["thread_siblings_list", "core_cpus_list"];
    let place = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}");
    let read = |name: &&str| parse_cpu_list(&String::from_utf8_lossy(&read_below(root, &place(name)).ok()?));
    names.iter().find_map(read).filter(|core| core.contains(&cpu)).unwrap_or_else(|| vec![cpu])
}

/// The cores of which two or more of these CPUs are hyper-threads: the CPUs of each that are among these.
pub fn shared_cores(root: &Path, cpus: &[u32]) -> Vec<Vec<u32>> {
    let among = |cpu: &u32| -> Vec<u32> { core_of(root, *cpu).into_iter().filter(|c| cpus.contains(c)).collect() };
    let cores: BTreeSet<Vec<u32>> = cpus.iter().map(among).filter(|core| core.len() > 1).collect();
    cores.into_iter().collect()
}

/// Those of `allowed` that are none of `cpus`; without the other hyper-threads of their cores, if some are left then.
pub fn apart_from(root: &Path, allowed: &[u32], cpus: &[u32]) -> Vec<u32> {
    let near: BTreeSet<u32> = cpus.iter().flat_map(|cpu| core_of(root, *cpu)).collect();
    let without =
        |taken: &dyn Fn(&u32) -> bool| -> Vec<u32> { allowed.iter().copied().filter(|c| !taken(c)).collect() };
    let far = without(&|c| near.contains(c) || cpus.contains(c));
    if far.is_empty() { without(&|c| cpus.contains(c)) } else { far }
}

/// CPUs that the machine may have, as a list in the kernel's form (`0-3`). Without sysfs, those that are online.
///
/// # Errors
/// Without procfs, too.
pub fn possible(root: &Path) -> SysResult<String> {
    read_text_below(root, "sys/devices/system/cpu/possible").or_else(|_| online(root))
}

/// CPUs that are online, likewise.
///
/// # Errors
/// Without procfs, too.
pub fn online(root: &Path) -> SysResult<String> {
    if let Ok(list) = read_text_below(root, "sys/devices/system/cpu/online") {
        return Ok(list);
    }
    let stat = read_text_below(root, "proc/stat")?;
    let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()).filter(|n| !n.is_empty());
    Ok(numbers.collect::<Vec<_>>().join(","))
}

/// How many CPUs a table needs that has a place for each of [`possible`].
///
/// # Errors
/// As there, and if it is no list.
pub fn possible_count(root: &Path) -> SysResult<u32> {
    let list = possible(root)?;
    let highest = parse_cpu_list(&list).and_then(|cpus| cpus.into_iter().max());
    highest.map(|n| n + 1).ok_or_else(|| SysError::format("possible CPUs", "a list such as 0-3", list.as_bytes()))
}

/// CPUs to which this process can be moved. That are more than it may use now ([`cpu::allowed`]) where the kernel isolates CPUs
/// (`isolcpus`): these are for what asks for them. What its cpuset leaves out is not among them.
pub fn reachable() -> SysResult<Vec<u32>> {
    let before = cpu::allowed()?;
    let all: Vec<u32> = (0..libc::CPU_SETSIZE as u32).collect();
    let (wanted, own) = (CpuSet::new(&all)?, CpuSet::new(&before)?);
    // SAFETY: the sets are valid for reading.
    unsafe {
        if libc::sched_setaffinity(0, size_of_val(&wanted.0), &wanted.0) != 0 {
            return Ok(before);
        }
        let reachable = cpu::allowed();
        if libc::sched_setaffinity(0, size_of_val(&own.0), &own.0) != 0 {
            return Err(SysError::last("put tare's CPUs back"));
        }
        reachable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets with two cores of two threads, numbered as Linux does on such machines.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for cpu in 0..8_u32 {
            let folder = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            std::fs::create_dir_all(&folder).unwrap();
            let first = cpu % 4;
            std::fs::write(folder.join("thread_siblings_list"), format!("{first},{}\n", first + 4)).unwrap();
        }
        root
    }

    #[test]
    fn hyper_threads_of_a_core_are_found() {
        let root = machine();
        assert_eq!(core_of(root.path(), 6), [2, 6]);
        assert_eq!(shared_cores(root.path(), &[1, 2, 3]), Vec::<Vec<u32>>::new());
        assert_eq!(shared_cores(root.path(), &[1, 2, 5, 6, 7]), [[1, 5], [2, 6]]);
        // Nothing is known of a CPU that is not there.
        assert_eq!(core_of(root.path(), 9), [9]);
    }

    #[test]
    fn without_sysfs_the_cpus_that_are_online_are_known() {
        let root = machine();
        assert!(possible(root.path()).is_err());
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/stat"), "cpu  1 2\ncpu0 1 2\ncpu3 1 2\nintr 5\n").unwrap();
        assert_eq!((possible(root.path()).unwrap().as_str(), possible_count(root.path()).unwrap()), ("0,3", 4));
        std::fs::write(root.path().join("sys/devices/system/cpu/possible"), "0-7\n").unwrap();
        assert_eq!((possible(root.path()).unwrap().as_str(), possible_count(root.path()).unwrap()), ("0-7", 8));
    }

    #[test]
    fn tare_leaves_the_core_of_the_program() {
        let root = machine();
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(apart_from(root.path(), &all, &[7]), [0, 1, 2, 4, 5, 6]);
        assert_eq!(apart_from(root.path(), &[3, 7], &[7]), [3], "the other thread is better than the same");
        assert_eq!(apart_from(root.path(), &[7], &[7]), Vec::<u32>::new());
        assert_eq!(apart_from(Path::new("/nonexistent"), &[0, 1], &[1]), [0]);
    }

    #[test]
    fn more_than_the_present_cpus_can_be_reached() {
        let before = cpu::allowed().unwrap();
        let reachable = reachable().unwrap();
        assert!(before.iter().all(|c| reachable.contains(c)), "{before:?} {reachable:?}");
        assert_eq!(cpu::allowed().unwrap(), before, "they are put back");
    }
}
