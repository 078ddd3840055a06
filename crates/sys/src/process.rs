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

/// Effective user id.
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
///
/// # Errors
/// The system's.
pub fn kill(pid: i32, signal: i32) -> SysResult<()> {
    // SAFETY: no memory involved.
    if unsafe { libc::kill(pid, signal) } != 0 {
        return Err(SysError::last(format!("send signal {signal} to process {pid}")));
    }
    Ok(())
}

/// Orphans of the program become children of tare, so that none escapes notice.
///
/// # Errors
/// The system's.
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

/// Sleeps; returns early if a signal comes.
pub fn sleep(time: std::time::Duration) {
    let t = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    // SAFETY: a valid timespec; the remainder is not wanted.
    unsafe { libc::nanosleep(&t, std::ptr::null_mut()) };
}

/// Looks a user up by name or number, with all its groups.
///
/// # Errors
/// If there is no such user.
pub fn user(name: &str) -> SysResult<Identity> {
    let unknown = || SysError::format(format!("user `{name}`"), "a user of this machine", name.as_bytes());
    let c_name = CString::new(name).map_err(|_| unknown())?;
    let mut buffer = vec![0 as libc::c_char; 16 * 1024];
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
    let mut found: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the lengths given; on success `found` points to `entry`, whose strings lie in `buffer`.
    unsafe {
        let (len, out) = (buffer.len(), &mut found);
        match name.parse::<u32>() {
            Ok(uid) => libc::getpwuid_r(uid, entry.as_mut_ptr(), buffer.as_mut_ptr(), len, out),
            Err(_) => libc::getpwnam_r(c_name.as_ptr(), entry.as_mut_ptr(), buffer.as_mut_ptr(), len, out),
        };
        if found.is_null() {
            return Err(unknown());
        }
        let (uid, gid) = ((*found).pw_uid, (*found).pw_gid);
        let user_name = CStr::from_ptr((*found).pw_name);
        let mut count = 256;
        let mut groups = vec![0u32; count as usize];
        let n = libc::getgrouplist(user_name.as_ptr(), gid, groups.as_mut_ptr(), &mut count);
        groups.truncate(usize::try_from(n).unwrap_or(0));
        Ok(Identity { uid, gid, groups })
    }
}
