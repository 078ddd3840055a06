//! A snapshot of all processes: which there are, and how much CPU time each has used so far.
//!
//! The CPU time comes from each process's CPU clock (one clock_gettime(2) without privilege, exact to the nanosecond,
//! threads that have ended included). Names and start times are read only for processes that are new or whose
//! clock has moved since the last snapshot: an idle process costs one call. So does a pid that was reused: its clock
//! differs.

use crate::procfs::{Comm, Stat, parse_int, parse_schedstat, parse_stat};
use crate::taskstats::Query;
use crate::{SysError, SysResult, clock};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use tarebench_core::base::units::Nanos;

/// One process in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry {
    pub pid: i32,
    /// Parent, when the process was last read.
    pub ppid: i32,
    /// Start time since boot, in 1 / USER_HZ s; with `pid` it identifies the process.
    pub start_ticks: u64,
    pub comm: Comm,
    pub kernel_thread: bool,
    /// CPU time so far.
    pub cpu: Nanos,
    /// Tick-sampled CPU time so far; `None` without permission for taskstats.
    pub interval_counted: Option<Nanos>,
}

impl SnapshotEntry {
    /// Start time since boot, resolution 10 ms.
    pub fn start(&self) -> Nanos {
        Nanos((self.start_ticks as i64).saturating_mul(1_000_000_000 / crate::procfs::USER_HZ))
    }
}

/// All processes at a moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub entries: Vec<SnapshotEntry>,
    /// How long it took to make.
    pub took: Nanos,
}

/// Where CPU times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuSource {
    /// The process's CPU clock.
    Clock,
    /// The sum of `task/*/schedstat` below a root folder (threads that have ended are not in it).
    Schedstat,
}

pub struct SnapshotReader {
    proc_path: PathBuf,
    proc: File,
    source: CpuSource,
    query: Option<Query>,
    last: Vec<SnapshotEntry>,
    pids: Vec<i32>,
    buffer: Vec<u8>,
}

impl SnapshotReader {
    /// Of this machine. Tick-sampled times are read, too, if taskstats is permitted.
    ///
    /// # Errors
    /// If `/proc` cannot be opened.
    pub fn of_this_machine() -> SysResult<SnapshotReader> {
        let mut reader = Self::below(Path::new("/"))?;
        if clock::process_cpu(crate::process::own_pid()).is_some() {
            reader.source = CpuSource::Clock;
        }
        reader.query = Query::open().ok();
        Ok(reader)
    }

    /// Of the files below a root folder, e.g. another machine's.
    ///
    /// # Errors
    /// If `proc` cannot be opened there.
    pub fn below(root: &Path) -> SysResult<SnapshotReader> {
        let proc_path = root.join("proc");
        let proc = File::open(&proc_path).map_err(|e| SysError::io(format!("open {}", proc_path.display()), e))?;
        Ok(SnapshotReader {
            proc_path,
            proc,
            source: CpuSource::Schedstat,
            query: None,
            last: Vec::new(),
            pids: Vec::new(),
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Whether other users' processes can be seen (`hidepid` may hide them).
    pub fn sees_all(&self) -> bool {
        self.source == CpuSource::Schedstat || self.proc_path.join("1/stat").exists()
    }

    /// Takes a snapshot.
    ///
    /// # Errors
    /// If `/proc` cannot be listed; single processes that vanish meanwhile are omitted.
    pub fn capture(&mut self) -> SysResult<Snapshot> {
        let began = clock::monotonic();
        self.list_pids()?;
        let pids = std::mem::take(&mut self.pids);
        let last = std::mem::take(&mut self.last);
        let mut entries = Vec::with_capacity(pids.len() + 16);
        let mut known = last.iter().peekable();
        for &pid in &pids {
            while known.next_if(|e| e.pid < pid).is_some() {}
            let known = known.next_if(|e| e.pid == pid);
            let Some(cpu) = self.cpu_of(pid) else { continue };
            match known {
                Some(e) if e.cpu == cpu && self.source == CpuSource::Clock => entries.push(*e),
                _ => entries.extend(self.look_at(pid, cpu)),
            }
        }
        self.pids = pids;
        self.last.clone_from(&entries);
        Ok(Snapshot { entries, took: clock::monotonic() - began })
    }

    fn cpu_of(&mut self, pid: i32) -> Option<Nanos> {
        if self.source == CpuSource::Clock {
            return clock::process_cpu(pid);
        }
        let tasks = std::fs::read_dir(self.proc_path.join(format!("{pid}/task"))).ok()?;
        let of_task = |t: std::fs::DirEntry| parse_schedstat(&std::fs::read(t.path().join("schedstat")).ok()?);
        Some(tasks.flatten().filter_map(of_task).sum())
    }

    fn look_at(&mut self, pid: i32, cpu: Nanos) -> Option<SnapshotEntry> {
        let stat = self.stat_of(pid)?;
        let counted = self.query.as_mut().and_then(|q| q.process(pid).ok().flatten());
        Some(SnapshotEntry {
            pid,
            ppid: stat.ppid,
            start_ticks: stat.start_ticks,
            comm: stat.comm,
            kernel_thread: stat.kernel_thread,
            cpu,
            interval_counted: counted.map(|r| r.interval_counted),
        })
    }

    /// Opened relative to `/proc`, which saves the walk from the root.
    fn stat_of(&mut self, pid: i32) -> Option<Stat> {
        let name = format!("{pid}/stat\0");
        // SAFETY: `name` is NUL-terminated; the descriptor, if there is one, is new and ours.
        let mut file = unsafe {
            let flags = libc::O_RDONLY | libc::O_CLOEXEC;
            let fd = libc::openat(self.proc.as_raw_fd(), name.as_ptr().cast(), flags);
            if fd < 0 {
                return None;
            }
            File::from_raw_fd(fd)
        };
        let n = file.read(&mut self.buffer).ok()?;
        parse_stat(self.buffer.get(..n)?)
    }

    /// Lists the numeric names of `/proc` by getdents64, as std's read_dir allocates for every entry.
    fn list_pids(&mut self) -> SysResult<()> {
        let fail = |path: &Path| SysError::last(format!("list {}", path.display()));
        self.pids.clear();
        // SAFETY: a valid descriptor and buffer.
        unsafe {
            if libc::lseek(self.proc.as_raw_fd(), 0, libc::SEEK_SET) < 0 {
                return Err(fail(&self.proc_path));
            }
        }
        loop {
            // SAFETY: the buffer is valid for its length.
            let n = unsafe {
                libc::syscall(libc::SYS_getdents64, self.proc.as_raw_fd(), self.buffer.as_mut_ptr(), self.buffer.len())
            };
            if n < 0 {
                return Err(fail(&self.proc_path));
            }
            let Some(d) = self.buffer.get(..n as usize).filter(|d| !d.is_empty()) else { break };
            parse_dirents(d, &mut self.pids);
        }
        self.pids.sort_unstable();
        self.pids.dedup();
        Ok(())
    }
}

/// Numeric names of a `linux_dirent64` buffer: record length at 16, name from 19, NUL-terminated.
pub fn parse_dirents(mut d: &[u8], pids: &mut Vec<i32>) {
    while let Some(len) = d.get(16..18).map(|l| usize::from(u16::from_ne_bytes([l[0], l[1]]))) {
        let Some(record) = d.get(..len).filter(|r| r.len() > 19) else { return };
        let name = &record[19..];
        let name = &name[..name.iter().position(|&b| b == 0).unwrap_or(name.len())];
        if name.first().is_some_and(u8::is_ascii_digit) {
            pids.extend(parse_int::<i32>(name));
        }
        d = &d[len..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_this_process_and_its_time() {
        let mut reader = SnapshotReader::of_this_machine().unwrap();
        let a = reader.capture().unwrap();
        let t = clock::own_cpu();
        while clock::own_cpu() - t < Nanos::from_millis(2) {}
        let b = reader.capture().unwrap();
        let own = std::process::id() as i32;
        let find = |i: &Snapshot| *i.entries.iter().find(|e| e.pid == own).unwrap();
        let (a, b) = (find(&a), find(&b));
        assert!(b.cpu - a.cpu >= Nanos::from_millis(2));
        assert_eq!(a.start_ticks, b.start_ticks);
        assert!(!b.kernel_thread && !b.comm.as_bytes().is_empty());
    }

    #[test]
    fn reads_another_machines_files() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("proc/7/task/7");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::create_dir_all(root.path().join("proc/7/task/8")).unwrap();
        std::fs::create_dir_all(root.path().join("proc/sys")).unwrap();
        std::fs::write(root.path().join("proc/7/stat"), b"7 (a) b) S 1 7 7 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 42 0 0\n")
            .unwrap();
        std::fs::write(task.join("schedstat"), b"1000 5 3\n").unwrap();
        std::fs::write(root.path().join("proc/7/task/8/schedstat"), b"500 5 3\n").unwrap();
        let image = SnapshotReader::below(root.path()).unwrap().capture().unwrap();
        let e = image.entries[0];
        assert_eq!((e.pid, e.cpu, e.start_ticks, e.comm.as_bytes()), (7, Nanos(1500), 42, &b"a) b"[..]));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(data in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse_dirents(&data, &mut Vec::new());
        }
    }
}
