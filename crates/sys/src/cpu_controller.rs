//! The CPU controller for the leaves of this process, in a cgroup that was delegated to it.
//!
//! A cgroup that has processes itself gives no controller to those below it (kernel: Documentation/admin-guide/cgroup-v2.rst,
//! "No Internal Process Constraint"). This process moves to a cgroup beside its leaves, and back at the end.

use crate::cgroup::{own_part, own_place};
use crate::procfs::{parse_int, parse_stat};
use crate::{SysError, SysResult, process};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Leaves of this process have `cpu.weight` for as long as this exists.
#[derive(Debug)]
pub struct CpuController {
    folder: PathBuf,
    own: PathBuf,
}

impl CpuController {
    /// Gives it to the leaves, those that exist included. `None` where that is not for this process to do: nobody delegated the cgroup,
    /// it has no such controller, or it holds processes that are not this one's.
    ///
    /// # Errors
    /// The system's; all is as before then.
    pub fn enable() -> SysResult<Option<CpuController>> {
        let (folder, name) = own_place(Path::new("/"))?;
        // The root of the hierarchy, where the controller is nobody's to enable but the administrator's.
        if name == b"/" || !has_cpu(&folder.join("cgroup.controllers")) || !is_delegated(&folder) {
            return Ok(None);
        }
        let Some(processes) = own_processes(&folder)? else { return Ok(None) };
        let own = folder.join(own_part());
        match std::fs::create_dir(&own) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(SysError::io(format!("make cgroup {}", own.display()), e));
            }
            _ => {}
        }
        // Undone when it is dropped.
        let made = CpuController { folder, own };
        for pid in processes {
            // One of its children may have ended.
            let moved = move_to(&made.own, pid);
            if pid == process::own_pid() {
                moved?;
            }
        }
        write(&made.folder.join("cgroup.subtree_control"), "+cpu")?;
        Ok(Some(made))
    }
}

impl Drop for CpuController {
    fn drop(&mut self) {
        let _ = write(&self.folder.join("cgroup.subtree_control"), "-cpu");
        for pid in processes(&self.own).unwrap_or_default() {
            let _ = move_to(&self.folder, pid);
        }
        let _ = std::fs::remove_dir(&self.own);
    }
}

fn write(path: &Path, text: &str) -> SysResult<()> {
    std::fs::write(path, text).map_err(|e| SysError::io(format!("write {}", path.display()), e))
}

fn move_to(folder: &Path, pid: i32) -> SysResult<()> {
    write(&folder.join("cgroup.procs"), &pid.to_string())
}

fn has_cpu(list: &Path) -> bool {
    std::fs::read_to_string(list).is_ok_and(|text| text.split_whitespace().any(|name| name == "cpu"))
}

fn processes(folder: &Path) -> SysResult<Vec<i32>> {
    let path = folder.join("cgroup.procs");
    let data = std::fs::read(&path).map_err(|e| SysError::io(format!("read {}", path.display()), e))?;
    Ok(data.split(|&b| b == b'\n').filter_map(parse_int).collect())
}

/// This process and its children, if no other process is in the cgroup.
fn own_processes(folder: &Path) -> SysResult<Option<Vec<i32>>> {
    let all = processes(folder)?;
    let own = process::own_pid();
    let is_child = |pid: i32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok();
        stat.is_none_or(|s| parse_stat(&s).is_some_and(|s| s.ppid == own))
    };
    Ok(all.iter().all(|pid| *pid == own || is_child(*pid)).then_some(all))
}

/// Whether whoever manages the cgroup has left it to this process. An ordinary user has no others; a user's systemd does not mark
/// them. For root there is only the mark that systemd makes (Delegate= in systemd.resource-control(5)): to the cgroups of its other
/// units it may give or take controllers at any time.
fn is_delegated(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    let marked = |name: &CStr| {
        let mut value = [0_u8; 8];
        // SAFETY: C strings, and a buffer with its length.
        let n = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        n == 1 && value[0] == b'1'
    };
    let user = process::effective_uid();
    user != 0 && std::fs::metadata(folder.join("cgroup.subtree_control")).is_ok_and(|file| file.uid() == user)
        || [c"user.delegate", c"trusted.delegate"].into_iter().any(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_a_whole_word() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("cgroup.controllers");
        assert!(!has_cpu(&list));
        std::fs::write(&list, "cpuset io memory\n").unwrap();
        assert!(!has_cpu(&list));
        std::fs::write(&list, "cpuset cpu io\n").unwrap();
        assert!(has_cpu(&list));
    }

    #[test]
    fn nobody_elses_processes_are_moved() {
        let dir = tempfile::tempdir().unwrap();
        let list = |pids: &[i32]| {
            let text: String = pids.iter().map(|p| format!("{p}\n")).collect();
            std::fs::write(dir.path().join("cgroup.procs"), text).unwrap();
            own_processes(dir.path()).unwrap()
        };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (own, below) = (process::own_pid(), child.id() as i32);
        assert_eq!(list(&[own, below]), Some(vec![own, below]));
        assert_eq!(list(&[own, 1]), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_is_not_delegated_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_delegated(dir.path()));
    }
}
