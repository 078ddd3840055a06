//! Processes of builds that outlived a tare that was killed: they are ended at the next start.
//!
//! While a gate builds, a file names its process, and the processes of the builds carry the same name in their environment. Where the
//! file is there and its process is not, tare was killed meanwhile. What a completed build leaves running (a compiler's server) is
//! not concerned, as the file is removed after it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tarebench_sys::{pidfd, process};

/// The variable that processes of builds carry.
pub const VARIABLE: &str = "TARE_GATE_BUILD";
const PREFIX: &str = "building-";
const SIGKILL: i32 = 9;

/// The mark of builds in progress; it is removed with this value.
pub struct BuildMark {
    /// Without a folder for it there is none.
    file: Option<PathBuf>,
    value: String,
}

impl BuildMark {
    /// Marks that this process builds, in a folder that all tares of this user share.
    pub fn begin(folder: Option<&Path>) -> BuildMark {
        let pid = process::own_pid();
        let value = format!("{pid}-{}", process::stat(pid).map_or(0, |s| s.start_ticks));
        let file = folder.map(|f| f.join(format!("{PREFIX}{value}")));
        // Without it a killed tare leaves more behind, which is no reason to measure nothing.
        let file = file.filter(|f| std::fs::create_dir_all(folder.unwrap_or(f)).is_ok() && File::create(f).is_ok());
        BuildMark { file, value }
    }

    /// What the variable is set to.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl Drop for BuildMark {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Ends what builds of killed tares have left running.
pub fn end_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(value) = name.to_str().and_then(|n| n.strip_prefix(PREFIX)) else { continue };
        if is_alive(value) == Some(false) {
            end_marked(value);
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether the tare of a mark is alive; `None` if tare makes no such marks.
fn is_alive(value: &str) -> Option<bool> {
    let (pid, start) = value.split_once('-')?;
    let (pid, start) = (pid.parse::<i32>().ok()?, start.parse::<u64>().ok()?);
    Some(process::is_alive(pid, |s| s.start_ticks == start))
}

/// Ends all processes with this mark, also those that they start meanwhile.
fn end_marked(value: &str) {
    let own = process::own_pid();
    let is_marked = |pid: i32| pid != own && carries(pid, value);
    for _ in 0..200 {
        let found: Vec<i32> = pids().filter(|pid| is_marked(*pid)).collect();
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = pidfd::signal_if(pid, SIGKILL, || is_marked(pid));
        }
        process::sleep(Duration::from_millis(5));
    }
}

fn pids() -> impl Iterator<Item = i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process was started with this mark; those of other users cannot be read.
fn carries(pid: i32, value: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mark = format!("{VARIABLE}={value}");
    environment.split(|b| *b == 0).any(|variable| variable == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn builds_of_killed_tares_are_ended() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("gate");
        let sleeper = |value: &str| Command::new("sleep").arg("60").env(VARIABLE, value).spawn().unwrap();
        let mark = BuildMark::begin(Some(&folder));
        // A process that has this pid started at another time.
        let killed = format!("{}-1", process::own_pid());
        let (mut own, mut left, mut completed) = (sleeper(mark.value()), sleeper(&killed), sleeper("1-2"));
        File::create(folder.join(format!("{PREFIX}{killed}"))).unwrap();
        File::create(folder.join(format!("{PREFIX}x"))).unwrap();
        end_leftovers(&folder);
        assert!(!left.wait().unwrap().success());
        assert!(own.try_wait().unwrap().is_none() && completed.try_wait().unwrap().is_none());
        let names = || std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names(), 2);
        drop(mark);
        assert_eq!(names(), 1);
        for child in [&mut own, &mut completed] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // No folder, no mark.
        end_leftovers(&dir.path().join("none"));
        assert!(BuildMark::begin(None).file.is_none());
    }
}
