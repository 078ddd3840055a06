//! Small things about processes: signals to them, this one's role, users.

use crate::procfs::{Stat, parse_int, parse_schedstat_waits, parse_stat};
use crate::spawn::Identity;
use crate::{SysError, SysResult};
use std::ffi::{CStr, CString};
use std::path::Path;
use tarebench_core::base::units::Nanos;

/// This process's id.
pub fn own_pid() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::getpid() }
}

/// Thread id of the calling thread.
pub fn own_tid() -> i32 {
    // SAFETY: no preconditions, cannot fail.
    unsafe { libc::gettid() }
}

pub fn effective_uid() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

/// Whether a process of this id exists (a zombie counts).
pub fn exists(pid: i32) -> bool {
    // SAFETY: signal 0 only checks.
    unsafe { libc::kill(pid, 0) == 0 || *libc::__errno_location() == libc::EPERM }
}

/// Sends a signal to a process, or to a process group if `pid` is negative.
pub fn kill(pid: i32, signal: i32) -> SysResult<()> {
    // SAFETY: no memory involved.
    if unsafe { libc::kill(pid, signal) } != 0 {
        return Err(SysError::last(format!("send signal {signal} to process {pid}")));
    }
    Ok(())
}

/// Orphans of the program become children of tare, so that none is missed.
pub fn become_subreaper() -> SysResult<()> {
    // SAFETY: no memory involved.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } != 0 {
        return Err(SysError::last("become a child subreaper"));
    }
    Ok(())
}

/// Living children of a process, all its threads' (zombies too). Empty if it is gone.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_task = |task: std::fs::DirEntry| std::fs::read(task.path().join("children"));
    let lists: Vec<_> = tasks.flatten().map(of_task).collect();
    if lists.iter().any(Result::is_err) && Path::new(&format!("/proc/{pid}")).exists() {
        return children_by_scan(pid);
    }
    lists.iter().flatten().flat_map(|l| l.split(|&b| b == b' ').filter_map(parse_int)).collect()
}

/// For kernels without CONFIG_PROC_CHILDREN.
fn children_by_scan(parent: i32) -> Vec<i32> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = all.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|s| s.ppid == parent)).collect()
}

/// Time of a process's main thread on a CPU, and runnable without one; a zombie has them, too.
///
/// # Errors
/// ENOENT on kernels without CONFIG_SCHED_INFO, or if there is no such process.
pub fn schedstat(pid: i32) -> SysResult<(Nanos, Nanos)> {
    let path = format!("/proc/{pid}/schedstat");
    let data = std::fs::read(&path).map_err(|e| SysError::io(format!("read {path}"), e))?;
    parse_schedstat_waits(&data).ok_or_else(|| SysError::format(&path, "two numbers and more", &data))
}

/// `/proc/PID/stat` of a process, if it exists.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether the process with this pid is alive and the one that is meant, by its `stat`. One whose `stat` this user may not see (`hidepid` of
/// /proc) counts as that one.
pub fn is_alive(pid: i32, is_meant: impl Fn(&Stat) -> bool) -> bool {
    stat(pid).map_or_else(|| exists(pid), |s| is_meant(&s) && !s.has_ended())
}

/// Whether a process is a descendant of another; a zombie counts.
pub fn descends(pid: i32, ancestor: i32) -> bool {
    // Deeper than any usual tree of processes.
    const DEEPEST: usize = 1 << 16;
    let parents = std::iter::successors(stat(pid), |s| stat(s.ppid)).map(|s| s.ppid);
    parents.take(DEEPEST).any(|ppid| ppid == ancestor)
}

/// Sleeps; returns early if a signal comes.
pub fn sleep(time: std::time::Duration) {
    let t = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    // SAFETY: a valid timespec; the remainder is not wanted.
    unsafe { libc::nanosleep(&t, std::ptr::null_mut()) };
}

/// Longest entry of the user database that is read.
const LONGEST_ENTRY: usize = 16 << 20;

/// Looks a user up by name or number, with all its groups.
///
/// # Errors
/// If there is no such user.
pub fn user(name: &str) -> SysResult<Identity> {
    let unknown = || SysError::format(format!("user `{name}`"), "a user of this machine", name.as_bytes());
    let c_name = CString::new(name).map_err(|_| unknown())?;
    let look = |entry: *mut libc::passwd, buffer: &mut [libc::c_char], out: *mut *mut libc::passwd| {
        // SAFETY: all pointers are valid for the lengths given.
        unsafe {
            match name.parse::<u32>() {
                Ok(uid) => libc::getpwuid_r(uid, entry, buffer.as_mut_ptr(), buffer.len(), out),
                Err(_) => libc::getpwnam_r(c_name.as_ptr(), entry, buffer.as_mut_ptr(), buffer.len(), out),
            }
        }
    };
    look_up(look, unknown)
}

/// Home folder of the user that this process runs as, by the user database.
fn database_home() -> Option<Vec<u8>> {
    let look = |entry: *mut libc::passwd, buffer: &mut [libc::c_char], out: *mut *mut libc::passwd| {
        // SAFETY: all pointers are valid for the lengths given.
        unsafe { libc::getpwuid_r(effective_uid(), entry, buffer.as_mut_ptr(), buffer.len(), out) }
    };
    let unknown = || SysError::format("the home folder", "an entry for this user", b"");
    look_up(look, unknown).ok().map(|user| user.home)
}

/// Calls a function of the user database with as large a buffer as it needs.
fn look_up(
    look: impl Fn(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> libc::c_int,
    unknown: impl Fn() -> SysError,
) -> SysResult<Identity> {
    let mut buffer = vec![0 as libc::c_char; 1024];
    loop {
        let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        let code = look(entry.as_mut_ptr(), &mut buffer, &mut found);
        if code == libc::ERANGE && buffer.len() < LONGEST_ENTRY {
            buffer.resize(buffer.len() * 4, 0);
            continue;
        }
        if found.is_null() {
            return Err(unknown());
        }
        // SAFETY: `found` points to `entry`, whose strings lie in `buffer`.
        return unsafe {
            let bytes = |text: *const libc::c_char| CStr::from_ptr(text).to_bytes().to_vec();
            let (uid, gid) = ((*found).pw_uid, (*found).pw_gid);
            let (home, shell) = (bytes((*found).pw_dir), bytes((*found).pw_shell));
            let groups = groups(CStr::from_ptr((*found).pw_name), gid);
            let name = bytes((*found).pw_name);
            Ok(Identity { uid, gid, groups, name, home, shell, new_privileges: false })
        };
    }
}

/// All groups of a user.
fn groups(user: &CStr, gid: u32) -> Vec<u32> {
    let mut groups = vec![0u32; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: room for `count` groups; it is set to how many there are.
        let fits = unsafe { libc::getgrouplist(user.as_ptr(), gid, groups.as_mut_ptr(), &mut count) } >= 0;
        let count = usize::try_from(count).unwrap_or(0);
        if fits {
            groups.truncate(count);
            return groups;
        }
        // NGROUPS_MAX is 65536; a database that claims more is not asked again.
        if groups.len() > 65_536 {
            return vec![gid];
        }
        groups.resize(count.max(groups.len() * 2), 0);
    }
}

/// A folder by a variable of the environment, to keep files in. For root, one that belongs to another user is ignored:
/// with sudo and HOME kept, root's files would be in that user's home.
pub fn own_folder(variable: &str) -> Option<std::ffi::OsString> {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::MetadataExt;
    let value = std::env::var_os(variable)?;
    let owner = Path::new(&value).ancestors().find_map(|p| std::fs::metadata(p).ok()).map(|m| m.uid());
    if effective_uid() != 0 || owner.is_none_or(|uid| uid == 0) {
        return Some(value);
    }
    (variable == "HOME").then(database_home).flatten().map(std::ffi::OsString::from_vec)
}

/// The nice value of this process, -20 to 19.
pub fn own_nice() -> i8 {
    // SAFETY: no memory involved. It cannot fail for this process; -1 may be a value.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    i8::try_from(nice).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_if_it_is_the_one_that_is_meant() {
        let start = stat(own_pid()).unwrap().start_ticks;
        assert!(is_alive(own_pid(), |s| s.start_ticks == start) && !is_alive(own_pid(), |s| s.start_ticks != start));
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let pid = ended.id() as i32;
        while !stat(pid).unwrap().has_ended() {
            std::thread::yield_now();
        }
        assert!(!is_alive(pid, |_| true), "a zombie");
        ended.wait().unwrap();
        assert!(!is_alive(pid, |_| true));
    }
}
