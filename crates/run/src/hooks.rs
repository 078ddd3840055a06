//! Hooks: shell commands around samples, not timed, whose failure names its cause.

use crate::last_words::{KEPT, last_lines};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;
use tarebench_core::base::name::Name;
use tarebench_core::base::signal::Signal;
use tarebench_sys::signals::Signals;
use tarebench_sys::spawn::{Child, Launch, resolve, spawn};
use tarebench_sys::wait::{ProcessEnd, Woken, has_ended, is_stopped, reap, wait};
use tarebench_sys::{SysError, process};

/// Why a hook failed.
#[derive(Debug, PartialEq, Eq)]
pub enum HookError {
    /// Its command failed: how, with the end of its standard error.
    Failed(String),
    /// Tare was asked to end while it ran.
    Interrupted(i32),
}

/// The shell, folder and environment of a hook.
pub struct HookContext<'a> {
    /// The shell and its arguments before `-c`; empty: `/bin/sh`.
    pub shell: &'a [Name],
    pub cwd: &'a [u8],
    /// The whole environment, `KEY=value`.
    pub env: &'a [Vec<u8>],
    /// Show its output on tare's standard error rather than discard it.
    pub show: bool,
}

/// Runs `script` by the shell and waits for it. The end of a discarded standard error is kept for the message.
pub fn run(kind: &str, script: &str, place: &HookContext<'_>, signals: &Signals) -> Result<(), HookError> {
    let broken = |e: SysError| HookError::Failed(format!("{kind} command `{script}` could not be run: {e}"));
    let mut launch = launch_of(script, place).map_err(broken)?;
    launch.cwd(place.cwd).map_err(broken)?;
    let open_null = || File::options().read(true).write(true).open("/dev/null");
    let io = |e| broken(SysError::io("open /dev/null", e));
    launch.stdio(0, open_null().map_err(io)?.into());
    let mut errors = None;
    if place.show {
        launch.stdio(1, standard_error().map_err(io)?);
    } else {
        launch.stdio(1, open_null().map_err(io)?.into());
        let file = tarebench_sys::memory_file::memory_file().map_err(broken)?;
        launch.stdio(2, file.try_clone().map_err(io)?.into());
        errors = Some(file);
    }
    launch.own_group();
    // Background processes of a hook may outlive a killed tare; the hook itself must not.
    launch.die_with_parent();
    // Conclude and cleanup run after an interruption, too: only a new one aborts a hook.
    let times = signals.times();
    let child = spawn(&launch, None, signals).map_err(broken)?;
    loop {
        match wait(&child, None, signals, &mut |_| {}) {
            Woken::Ended => break,
            Woken::Signal(_) if signals.times() == times && !is_stopped(&child) => {}
            Woken::Signal(signal) if signals.times() != times => {
                end(&child);
                return Err(HookError::Interrupted(signal));
            }
            Woken::Signal(_) | Woken::Stopped(_) | Woken::TimedOut => {
                let _ = process::kill(-child.pid, 9);
            }
        }
    }
    let how = match reap(child.pid, true).map_err(broken)?.map(|r| r.ended) {
        Some(ProcessEnd::Exited(0)) => return Ok(()),
        Some(ProcessEnd::Exited(code)) => format!("exit status {code}"),
        Some(ProcessEnd::Signaled(signal)) => format!("killed by {}", Signal(signal)),
        None => "an unknown status".to_owned(),
    };
    let said = errors.map(last_words).unwrap_or_default();
    Err(HookError::Failed(format!("{kind} command `{script}` failed with {how}{said}")))
}

fn launch_of(script: &str, place: &HookContext<'_>) -> Result<Launch, SysError> {
    use std::os::unix::ffi::OsStrExt;
    let env = place.env.iter().map(Vec::as_slice);
    let Some(name) = place.shell.first() else {
        return Launch::new(Path::new("/bin/sh"), [&b"sh"[..], b"-c", script.as_bytes()], env);
    };
    let path = place.env.iter().find_map(|v| v.strip_prefix(b"PATH=")).unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
    let cwd = Path::new(std::ffi::OsStr::from_bytes(place.cwd));
    let shell = resolve(name.as_bytes(), path, cwd)?;
    let words = place.shell.iter().map(Name::as_bytes);
    Launch::new(&shell, words.chain([&b"-c"[..], script.as_bytes()]), env)
}

/// Asks a hook and its process group to end; kills them after half a second.
fn end(child: &Child) {
    let _ = process::kill(-child.pid, 15);
    for _ in 0..100 {
        if has_ended(child) {
            break;
        }
        process::sleep(std::time::Duration::from_millis(5));
    }
    if !has_ended(child) {
        let _ = process::kill(-child.pid, 9);
    }
    let _ = reap(child.pid, true);
}

fn standard_error() -> std::io::Result<OwnedFd> {
    use std::os::fd::AsFd;
    std::io::stderr().as_fd().try_clone_to_owned()
}

/// The last lines of what a command wrote, for a message.
fn last_words(mut file: File) -> String {
    let mut text = Vec::new();
    let len = file.metadata().map_or(0, |m| m.len());
    let read = file.seek(SeekFrom::Start(len.saturating_sub(KEPT))).and_then(|_| file.read_to_end(&mut text));
    read.ok().and_then(|_| last_lines(&text)).map_or_else(String::new, |lines| format!(": {lines}"))
}
