//! Commands whose output is read, like [`std::process::Command::output`], whose wait ends at a signal.

use crate::memory_file::memory_file;
use crate::signals;
use crate::{SysError, pidfd, process};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked whether a signal has come.
const EVERY_MS: libc::c_int = 50;
/// How long a command may take to end after SIGTERM.
const ENDING: Duration = Duration::from_secs(2);

/// Why there is no output.
#[derive(Debug)]
pub enum NoOutput {
    /// It could not be started or waited for.
    Failed(std::io::Error),
    /// This signal asked tare to end.
    Interrupted(i32),
}

/// Runs a command to its end, with a standard input of its own, and returns what it printed. It gets signals as after a login.
///
/// # Errors
/// [`NoOutput`]; an interrupted command has ended, too.
pub fn output(command: &mut Command) -> Result<Output, NoOutput> {
    let failed = |e: SysError| NoOutput::Failed(std::io::Error::other(e));
    let (mut printed, mut errors) = (memory_file().map_err(failed)?, memory_file().map_err(failed)?);
    let handed = |file: &File| file.try_clone().map(|f| Stdio::from(OwnedFd::from(f))).map_err(NoOutput::Failed);
    command.stdin(Stdio::null()).stdout(handed(&printed)?).stderr(handed(&errors)?);
    // SAFETY: async-signal-safe calls on a valid set.
    unsafe {
        command.pre_exec(|| {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(NoOutput::Failed)?;
    let status = ended(&mut child)?;
    let read = |file: &mut File| {
        let mut all = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut all)).map_err(NoOutput::Failed)?;
        Ok(all)
    };
    Ok(Output { status, stdout: read(&mut printed)?, stderr: read(&mut errors)? })
}

fn ended(child: &mut Child) -> Result<ExitStatus, NoOutput> {
    let process = pidfd::open(child.id() as i32).ok();
    loop {
        if let Some(status) = child.try_wait().map_err(NoOutput::Failed)? {
            return Ok(status);
        }
        if let Some(signal) = signals::pending() {
            end(child);
            return Err(NoOutput::Interrupted(signal));
        }
        match &process {
            Some(process) => {
                let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one valid pollfd.
                unsafe { libc::poll(&mut poll, 1, EVERY_MS) };
            }
            None => process::sleep(Duration::from_millis(5)),
        }
    }
}

fn end(child: &mut Child) {
    let _ = process::kill(child.id() as i32, libc::SIGTERM);
    let began = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && began.elapsed() < ENDING {
        process::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_output_is_read() {
        let lines = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done; echo bad >&2; exit 3";
        let out = output(Command::new("sh").args(["-c", lines])).unwrap();
        assert_eq!((out.status.code(), out.stderr.as_slice()), (Some(3), &b"bad\n"[..]));
        assert!(out.stdout.ends_with(b"\n19999\n") && out.stdout.starts_with(b"0\n1\n"));
        assert!(
            matches!(output(&mut Command::new("/no such")), Err(NoOutput::Failed(e)) if e.kind() == std::io::ErrorKind::NotFound)
        );
    }
}
